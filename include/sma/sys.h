/*
 * sys.h — the table through which time, chance and files reach the rest of the program.
 *
 * Production uses sma_sys_real(). Tests use tables that count, fail or die at the n-th call, and
 * the simulation uses one with a virtual clock and a seeded generator. Elapsed time is monotonic
 * nanoseconds; wall time is for stored stamps and display only. File calls mirror POSIX (return -1
 * and set errno); every write of history, archives and projections goes here.
 */
#ifndef SMA_SYS_H
#define SMA_SYS_H

#include "sma/base.h"
#include <sys/types.h>

struct sma_sys
{
    void *self; /* passed to every call */
    uint64_t (*now_ns)(void *self);
    int64_t (*wall_ms)(void *self);
    /* cannot fail: aborts if the kernel has none */
    void (*random_bytes)(void *self, void *bytes, size_t len);
    int (*open)(void *self, const char *path, int flags, mode_t mode); /* O_CLOEXEC is added */
    int (*close)(void *self, int fd);
    ssize_t (*pread)(void *self, int fd, void *bytes, size_t len, off_t offset);
    ssize_t (*pwrite)(void *self, int fd, const void *bytes, size_t len, off_t offset);
    int (*ftruncate)(void *self, int fd, off_t len);
    int (*fdatasync)(void *self, int fd);
    int (*fsync)(void *self, int fd);
    int (*rename)(void *self, const char *from, const char *to);
    int (*unlink)(void *self, const char *path);
    int (*mkdir)(void *self, const char *path, mode_t mode);
};

/** The table over the real system. Constant, shared, thread-safe. */
const struct sma_sys *sma_sys_real(void);

/** This descriptor leads to journald, which dates lines itself and reads "<N>" before them as their
 *  priority. Source: sd-daemon(3), systemd.exec(5) on JOURNAL_STREAM. */
bool sma_sys_is_journal(int fd);

/** Write all of bytes at offset, continuing after short writes and EINTR. IO or NOSPACE with *error
 *  filled. */
SMA_CHECKED enum sma_err sma_sys_write_all(const struct sma_sys *sys, int fd, const void *bytes,
                                           size_t len, off_t offset, struct sma_error *error);
/** Read a whole regular file of at most max bytes. NOTFOUND | TOOBIG | IO | NOMEM. *ret_bytes is
 *  malloc'ed, NUL-terminated. */
SMA_CHECKED enum sma_err sma_sys_read_file(const struct sma_sys *sys, const char *path, size_t max,
                                           char **ret_bytes, size_t *ret_len,
                                           struct sma_error *error);
/** The same of what is open already; closes fd. @path  for errors */
SMA_CHECKED enum sma_err sma_sys_read_open(const struct sma_sys *sys, int fd, const char *path,
                                           size_t max, char **ret_bytes, size_t *ret_len,
                                           struct sma_error *error);
/** Replace path atomically: temporary beside it, fsync, rename, fsync of the directory. */
SMA_CHECKED enum sma_err sma_sys_write_file_atomic(const struct sma_sys *sys, const char *path,
                                                   struct sma_str bytes, mode_t mode,
                                                   struct sma_error *error);
/** The same without waiting for the disk: survives the end of the program, perhaps not that of the
 *  machine. For actors, which do not block, and for what can be had again. */
SMA_CHECKED enum sma_err sma_sys_write_file_unsynced(const struct sma_sys *sys, const char *path,
                                                     struct sma_str bytes, mode_t mode,
                                                     struct sma_error *error);
/** mkdir -p, for ourselves alone: what is made has mode 0700. */
SMA_CHECKED enum sma_err sma_sys_make_dirs(const struct sma_sys *sys, const char *path,
                                           struct sma_error *error);
/** The same for what is not ours alone, a new project: with the modes that the umask leaves. */
SMA_CHECKED enum sma_err sma_sys_make_shared_dirs(const struct sma_sys *sys, const char *path,
                                                  struct sma_error *error);
/** fsync the directory that holds path. */
SMA_CHECKED enum sma_err sma_sys_sync_parent(const struct sma_sys *sys, const char *path,
                                             struct sma_error *error);

/* A named place where a test may end the process: `SMA_CRASH_AT=store.after_commit:3` ends it with
 * SIGKILL at the third passage. Without the variable this is one predictable branch. Compiled in
 * always, so that the binary that is tested is the binary that is shipped. */
extern bool sma_crash_is_armed;
void sma_crash_hit(const char *point);
/** Read SMA_CRASH_AT once; called first thing in main. */
void sma_crash_init(void);
#define SMA_CRASH_POINT(point)                       \
    do {                                             \
        if (__builtin_expect(sma_crash_is_armed, 0)) \
            sma_crash_hit(point);                    \
    } while (0)

#endif
