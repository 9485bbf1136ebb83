/*
 * log_file.h — a series of files, one a UTC day, in a folder of their own: <date>.jsonl.
 *
 * What comes is collected and written when the caller says so. Files older than days_kept go when a
 * new day begins.
 * Invariants: every byte that was put is written once, or told as failed on stderr. Mode 0600.
 * Threads: the log actor's. Blocks: for the disk, in log_file_write.
 */
#ifndef SMA_ACTORS_LOG_FILE_H
#define SMA_ACTORS_LOG_FILE_H

#include "sma/buf.h"
#include "sma/sys.h"

#include <sys/types.h>

struct log_file
{
    char *dir;
    int days_kept;
    int fd;        /* -1 = none is open */
    char date[16]; /* of the open file */
    off_t size;    /* what is written; see log_file_len */
    bool is_failing;
    struct sma_buf batch;
};

/** dir: taken over (free'd by fini), may be NULL after a failed asprintf: NOMEM. */
SMA_CHECKED enum sma_err log_file_init(struct log_file *file, char *dir, int days_kept);
void log_file_fini(struct log_file *file); /* accepts a zeroed struct with fd -1 */
/** The day of this moment: what was put before goes to its own day, then the file is opened, its
 *  folder made if need be.
 *  *ret_is_new: it is another day than before. false: there is no file, say so and go on. */
bool log_file_open(struct log_file *file, const struct sma_sys *sys, int64_t wall_ms,
                   bool *ret_is_new);
/** Written and waiting. */
size_t log_file_len(const struct log_file *file);
void log_file_write(struct log_file *file, const struct sma_sys *sys);
void log_file_close(struct log_file *file, const struct sma_sys *sys);

#endif
