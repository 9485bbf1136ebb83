/*
 * archive.h — what `backup` and `restore` share: tar, and a folder of one's own beside a file.
 */
#ifndef SMA_CLI_ARCHIVE_H
#define SMA_CLI_ARCHIVE_H

#include "sma/base.h"

#include <limits.h>

/* A new folder, only ours, beside what will be made: on its disk, and renamed from there. It is
 * locked while somebody works on it, tar included, so that what a killed one has left is known. */
struct sma_stage
{
    char path[PATH_MAX];
    int lock_fd; /* open until the process ends */
};
#define SMA_STAGE_MARK ".unfinished-" /* what will be made, this, and six letters: its name */
#define SMA_STAGE_LEFT_S 60           /* a folder that nobody locks and that is younger is let be */
/** Is this a folder that a killed backup or restore of this user has left? Changes nothing. */
bool sma_stage_is_left(const char *path);
/** Removes first what was left of making the same.
 *  From here to its removal Ctrl-C and its like end tar, not us.
 * @param beside  the file or folder that will be made. OK | IO, NOTFOUND, TOOBIG with *error */
SMA_CHECKED enum sma_err sma_stage_make(const char *beside, struct sma_stage *ret_stage,
                                        struct sma_error *error);
/** With all that is in it. */
void sma_stage_remove(const struct sma_stage *stage);
/** "STAGE/name"; false when that is too long. */
SMA_CHECKED bool sma_stage_path(const struct sma_stage *stage, const char *name,
                                char ret_path[PATH_MAX]);

/**
 * Run Debian's tar, which says on stderr what is wrong. Files that grow while they are read are no
 * error.
 * @param argv  argv[0] is "tar"; NULL ends it
 */
SMA_CHECKED enum sma_err sma_archive_tar(char *const *argv, struct sma_error *error);

#endif
