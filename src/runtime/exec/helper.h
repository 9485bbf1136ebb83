/*
 * helper.h — the programs of ours that read what strangers made (shrink-picture, fetch-page):
 * found, started between walls, read with a deadline, ended, and waited for.
 *
 * A helper has an open file as its input and a pipe as its output, PATH as its whole environment,
 * and bubblewrap's walls where commands have them: no file can be written, other processes are not
 * seen, there is no network unless it is its task. What it gives up besides is its own
 * (src/confine).
 * Invariants: after sma_helper_end nothing of it is left, neither bubblewrap nor the first process
 *             of its namespace, which falls to the service when bubblewrap ends before it.
 * Threads:    a helper belongs to one thread. Blocks: reading and ending, no longer than wait_ms
 *             and some.
 */
#ifndef SMA_EXEC_HELPER_H
#define SMA_EXEC_HELPER_H

#include "sma/buf.h"

#include <sys/types.h>

#define SMA_HELPER_ARGUMENT_COUNT_MAX 8

/** Append the path of the helper with this name, as it is installed beside this program. @return is
 *  it there? */
bool sma_helper_find(const char *name, struct sma_buf *ret_path);

struct sma_helper_place
{
    const char *program;
    const char *bubblewrap; /* NULL: no walls but its own */
    bool is_userns_last;    /* bubblewrap can forbid further user namespaces */
    bool has_network;
};
struct sma_helper
{
    pid_t pid;
    int out, info;
    uint64_t until_ms;
    const volatile int *is_stopped; /* NULL, or set to non-zero when nobody wants it any more */
};
/**
 * @arguments  NULL at the end, without the program itself; at most SMA_HELPER_ARGUMENT_COUNT_MAX
 * @in         its standard input; stays the caller's
 * @wait_ms    after which it is ended
 * @return     false: it could not be started. Else sma_helper_end is due.
 */
SMA_CHECKED bool sma_helper_start(const struct sma_helper_place *place,
                                  const char *const *arguments, int in, uint32_t wait_ms,
                                  struct sma_helper *helper);
/** Up to len bytes of its output; fewer when it ended, its time is up or it is stopped. */
size_t sma_helper_read(struct sma_helper *helper, char *bytes, size_t len);
/** @return its exit code; -1: it was killed. Killed it is in any case. */
int sma_helper_end(struct sma_helper *helper);
/** Is its time up? */
bool sma_helper_is_late(const struct sma_helper *helper);

/** Wait for the first process in bubblewrap's namespace, when it has fallen to us: info is the read
 *  end of what --info-fd was given, bubblewrap itself has ended and was waited for. Ends it if it
 *  has not ended. */
void sma_helper_reap_inside(int info);

#endif
