/*
 * exec_spawn.h — start a program that gets what is meant for it, and nothing else of ours.
 *
 * The child closes every descriptor but those it is given before its program begins, so that it
 * does not matter which library opens a socket without close-on-exec, or when: nothing that another
 * thread opens meanwhile can slip through. posix_spawn does it on one copy of the address space's
 * tables less than fork, and needs no program in between.
 * Threads: any. Blocks: until the program has begun or could not.
 */
#ifndef SMA_TOOLS_EXEC_SPAWN_H
#define SMA_TOOLS_EXEC_SPAWN_H

#include "sma/base.h"
#include <sys/types.h>

#define SMA_SPAWN_FD_COUNT_MAX 16

struct sma_spawn
{
    char *const *
        /* NULL-terminated; the first one without '/' is looked for in the PATH of `variables` */
        arguments;
    char *const *variables; /* NULL-terminated "NAME=value" */
    const char *dir;        /* NULL = ours */
    /* fds[n] becomes the child's descriptor n; stay the caller's */
    int fds[SMA_SPAWN_FD_COUNT_MAX];
    size_t fd_count;  /* at least 3 */
    bool has_session; /* of its own, without a terminal */
    bool has_group;   /* of its own, in our session; not with has_session */
};

/** @return 0 and *ret_pid, to be waited for | errno */
SMA_CHECKED int sma_spawn(const struct sma_spawn *spawn, pid_t *ret_pid);

#endif
