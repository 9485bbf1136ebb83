/*
 * init_stage.h — a project that appears whole or not at all: written into a temporary folder
 * beside, then renamed into place.
 *
 * A project folder that is not there yet comes with one rename. Into one that is there each file
 * is renamed, the one it replaces put aside until the last; when one of them cannot be, all are put
 * back. From begin to end the signals that end a program wait, and root in somebody's folder is
 * that somebody: what is made is theirs, and no link of theirs leads further than they may go.
 *
 * Invariants: after a failed commit, or without one, the folder holds what it held before.
 * Limits:     INIT_STAGE_COUNT_MAX files and folders.
 */
#ifndef SMA_CLI_INIT_STAGE_H
#define SMA_CLI_INIT_STAGE_H

#include "sma/base.h"

#include <limits.h>
#include <signal.h>
#include <sys/types.h>

#define INIT_STAGE_COUNT_MAX 24
#define INIT_STAGE_GROUP_COUNT_MAX 64

struct init_stage
{
    char stage[PATH_MAX];  /* the temporary folder */
    char root[PATH_MAX];   /* where the project is made */
    char first[PATH_MAX];  /* a new folder: the part of it that is renamed ... */
    char target[PATH_MAX]; /* ... to this */
    const char *dir;       /* borrowed */
    bool is_new;
    struct
    {
        char name[64];
        bool is_folder, is_made, is_put_aside;
    } items[INIT_STAGE_COUNT_MAX];
    size_t count;
    bool is_other; /* we are root, and act as the owner of the folder until the end */
    gid_t groups_before[INIT_STAGE_GROUP_COUNT_MAX];
    int group_count;
    sigset_t mask_before;
};

/** OK, or *error and nothing is there. After OK: init_stage_end in any case. */
SMA_CHECKED enum sma_err init_stage_begin(struct init_stage *stage, const char *dir,
                                          struct sma_error *error);
/** A folder of the project, for its owner alone; its parent is added before it. */
SMA_CHECKED enum sma_err init_stage_add_folder(struct init_stage *stage, const char *name,
                                               struct sma_error *error);
SMA_CHECKED enum sma_err init_stage_add_file(struct init_stage *stage, const char *name,
                                             struct sma_str text, mode_t mode,
                                             struct sma_error *error);
/** Everything into place, in the order it was added. */
SMA_CHECKED enum sma_err init_stage_commit(struct init_stage *stage, struct sma_error *error);
/** What is left of the temporary folder goes; signals come again. */
void init_stage_end(struct init_stage *stage);

#endif
