/*
 * test_exec_processes.c — whose a process is, by family, session and marker; real processes of this
 * test.
 */
#include "runtime/exec/exec_processes.h"

#include "support/check.h"
#include "support/patience.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* @return the child; it is a session of its own when it has written to the pipe */
static pid_t start(const char *script, const char *marker)
{
    int ends[2];
    char byte;
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        setsid();
        setenv("SMA_EXEC_ID", marker, 1);
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    CHECK(read(ends[0], &byte, 1) == 1);
    close(ends[0]);
    return pid;
}

static size_t count_of(struct sma_process_table *table, const struct sma_process_root *roots,
                       size_t count, int owner)
{
    CHECK_OK(sma_processes_scan(table));
    sma_processes_own(table, roots, count, false);
    return sma_processes_measure(table, owner, 0).count;
}

static void await_count(struct sma_process_table *table, const struct sma_process_root *roots,
                        size_t count, int owner, size_t wanted)
{
    for (int i = 0; i < PATIENCE_AWAIT_MS / 5 && count_of(table, roots, count, owner) != wanted;
         i++) {
        sma_processes_reap(table, roots, count, NULL, NULL);
        poll(NULL, 0, 5);
    }
    CHECK_INT(wanted, count_of(table, roots, count, owner));
}

CASE(families_daemons_and_strangers_are_told_apart)
{
    struct sma_process_table table = {.items = NULL};
    pid_t first = start("sleep 300 & (setsid sleep 300 &) ; echo; exec sleep 300", "test-first");
    pid_t second = start("echo; exec sleep 300", "test-second");
    struct sma_process_root roots[2] = {{first, first, 0, "test-first"},
                                        {second, second, 0, "test-second"}};
    await_count(&table, roots, 2, 0, 3); /* one of them was adopted by us: its marker tells */
    CHECK_INT(1, count_of(&table, roots, 2, 1));
    CHECK(sma_processes_measure(&table, 0, 0).rss_bytes > 0);
    CHECK(sma_processes_exact_bytes(&table, 0) <= sma_processes_measure(&table, 0, 0).rss_bytes);
    CHECK(sma_processes_user_tasks(&table) >= 5);
    CHECK_INT(2, sma_processes_measure(&table, 0, first).count);
    CHECK_INT(3, sma_processes_signal(&table, 0, SIGKILL, 0));
    CHECK(waitpid(first, NULL, 0) == first);
    roots[0].pid = 0;
    await_count(&table, roots, 2, 0, 0);
    CHECK_INT(1, count_of(&table, roots, 2, 1));
    CHECK(kill(second, SIGKILL) == 0 && waitpid(second, NULL, 0) == second);
    sma_processes_fini(&table);
}

/* What a service that was killed left behind is found by the next one of the same project, and
 * nothing else is. */
CASE(leftovers_are_ended_by_their_marker)
{
    char mine[64], other[64];
    snprintf(mine, sizeof mine, "test%d-mine", (int)getpid());
    snprintf(other, sizeof other, "test%d-other", (int)getpid());
    pid_t first = start("echo; exec sleep 300", mine),
          second = start("echo; exec sleep 300", other);
    snprintf(mine, sizeof mine, "test%d-m", (int)getpid());
    CHECK_INT(1, sma_processes_end_marked(mine));
    CHECK(waitpid(first, NULL, 0) == first);
    CHECK(waitpid(second, NULL, WNOHANG) == 0);
    CHECK(kill(second, SIGKILL) == 0 && waitpid(second, NULL, 0) == second);
}

int main(void)
{
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    check_run_cases(NULL);
    return check_summary();
}
