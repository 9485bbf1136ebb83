/*
 * exec_processes.h — which processes of the machine belong to which command: counted, measured,
 * ended, found again.
 *
 * One look at /proc serves all commands. A process belongs to a command when it is one of its
 * roots, has its session, descends from one of its processes, or (adopted by us, since we are a
 * subreaper) carries the command's marker in its environment. In a sandbox everything descends from
 * the first process of its pid namespace, so that nothing can get away.
 * Threads: the owner of the table. Blocks: reads /proc.
 */
#ifndef SMA_TOOLS_EXEC_PROCESSES_H
#define SMA_TOOLS_EXEC_PROCESSES_H

#include "sma/base.h"
#include <sys/types.h>

#define SMA_PROCESS_NONE (-1)
#define SMA_PROCESS_SERVER_MARK "-mcp-" /* in the marker of what MCP servers start */

struct sma_process
{
    pid_t pid, parent, session;
    char state; /* as in /proc/PID/stat; 'Z' = dead and not waited for */
    int owner;  /* index of the command, SMA_PROCESS_NONE */
    uint64_t rss_bytes;
};
struct sma_process_table
{
    struct sma_process *items; /* by pid */
    size_t count, capacity;
};
/* What a command is known by. */
struct sma_process_root
{
    pid_t pid;          /* the child itself, also its session; 0 = it has been waited for */
    pid_t session;      /* stays when the child has gone */
    pid_t inside;       /* first process of the sandbox; 0 = none or not known */
    const char *marker; /* SMA_EXEC_ID; NULL: in a sandbox, nothing can get away */
};
struct sma_process_load
{
    size_t count;
    uint64_t rss_bytes;
};

/** Read /proc. Processes that come or go meanwhile may be missed. OK | NOMEM | IO. */
SMA_CHECKED enum sma_err sma_processes_scan(struct sma_process_table *table);
void sma_processes_fini(struct sma_process_table *table); /* accepts a zeroed struct */
/** Give every process its owner. takes_strays: what we adopted and nobody claims belongs to the
 *  last root that has a marker. */
void sma_processes_own(struct sma_process_table *table, const struct sma_process_root *roots,
                       size_t root_count, bool takes_strays);
/** Living processes of one command. `skip`: not counted (the sandbox's own outer process). */
struct sma_process_load sma_processes_measure(const struct sma_process_table *table, int owner,
                                              pid_t skip);
/** Memory that the command's processes really hold: shared pages once. 0 when the kernel does not
 *  say. */
uint64_t sma_processes_exact_bytes(const struct sma_process_table *table, int owner);
/** Signal every living process of one command except `skip`. @return how many */
size_t sma_processes_signal(const struct sma_process_table *table, int owner, int signo,
                            pid_t skip);
/** Wait for the dead that we adopted: not those in `roots`, not children of our own session.
 *  @gone  called for each */
void sma_processes_reap(const struct sma_process_table *table, const struct sma_process_root *roots,
                        size_t root_count, void (*gone)(void *user, pid_t pid), void *user);
/** Wait for the dead that we adopted and that nobody keeps account of: all but sandboxes' first
 *  processes, whose commands do. */
void sma_processes_reap_strays(void);
/** End whatever carries a marker that begins with `prefix`: left by a service that was killed.
 *  @return how many */
size_t sma_processes_end_marked(const char *prefix);
/** The same; the first of them into pids: they are to be waited for. */
size_t sma_processes_end_marked_to(const char *prefix, pid_t *pids, size_t pid_count_max);
/** Tasks of this user on the machine: what a limit on their number has to be added to. */
size_t sma_processes_user_tasks(const struct sma_process_table *table);

#endif
