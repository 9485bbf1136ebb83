/*
 * memory_priv.h — what the files of the memory share. Thread: its owner's.
 */
#ifndef SMA_RUNTIME_MEMORY_PRIV_H
#define SMA_RUNTIME_MEMORY_PRIV_H

#include "runtime/memory/memory_index.h"

#define MEMORY_PATH_BYTES_MAX 4096
#define MEMORY_BEST_COUNT_MAX 256
#define MEMORY_PROJECT_FILE "project.md"

struct sma_memory
{
    char folder[MEMORY_PATH_BYTES_MAX - 512];
    const struct sma_sys *sys;
    const struct sma_secrets *secrets;
    struct memory_index index;
    uint64_t looked_ns; /* when it was last looked whether there is a file; 0 = never */
    bool has_any, has_looked, is_guest, is_thorough;
    uint32_t follow_count; /* of a guest */
    bool is_behind;        /* a guest: more has changed than it may take into the index */
    bool wants_scrub, is_scrubbing;
    struct sma_error error;
    char shown[496]; /* of the error, for who has asked for it */
};

/** The index is open, and made anew when it was found damaged. */
SMA_CHECKED enum sma_err memory_open(struct sma_memory *memory);
/** Follow one file: name relative to the folder. */
SMA_CHECKED enum sma_err memory_follow(struct sma_memory *memory, struct sma_str name,
                                       struct sma_str person);
/**
 * The rows of these audiences that fit a text best, best first: memory_rank.c. best has room for
 * *count, at most MEMORY_BEST_COUNT_MAX; *count becomes how many there are.
 */
SMA_CHECKED enum sma_err memory_rank(struct sma_memory *memory, const int64_t *audiences,
                                     uint32_t audience_count, struct sma_str text, int64_t *best,
                                     uint32_t *count);
/** "project.md", "users/telegram%3A1001.md" */
void memory_put_name(struct sma_buf *buf, struct sma_str person);
/**
 * Read a file of ours.
 * @return OK | NOTFOUND | CORRUPT (no plain file, no UTF-8, too large: left alone) | IO | NOMEM
 */
SMA_CHECKED enum sma_err memory_read(struct sma_memory *memory, struct sma_str name,
                                     char **ret_bytes, size_t *ret_len);
/** What makes a file another one. "" = it is not there. */
void memory_stamp(const struct sma_memory *memory, struct sma_str name,
                  char stamp[MEMORY_STAMP_BYTES]);
bool memory_path(const struct sma_memory *memory, struct sma_str name, char *path);

#endif
