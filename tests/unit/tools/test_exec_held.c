/*
 * Aim: a command whose processes the kernel does not let go (uninterruptible sleep on a disk or
 *      server that does not answer) is answered, gives its slot back, holds up nobody's drain, and
 *      is waited for until it has ended.
 * Method: the program's waitpid is this file's (-Wl,--wrap=waitpid): for one process it says "still
 *      there" until it is let go, which is all that the service sees of such a sleep.
 */
#include "world.h"

#include "sma/limits.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_holding; /* the next process that is waited for is held */
static int held_pid;

pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    int none = 0;
    if (pid > 0 && __atomic_load_n(&is_holding, __ATOMIC_ACQUIRE) != 0)
        (void)__atomic_compare_exchange_n(&held_pid, &none, (int)pid, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE);
    if (pid > 0 && pid == __atomic_load_n(&held_pid, __ATOMIC_ACQUIRE))
        return 0;
    return __real_waitpid(pid, status, options);
}

static void hold_next(void)
{
    __atomic_store_n(&held_pid, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&is_holding, 1, __ATOMIC_RELEASE);
}

static void let_go(void)
{
    __atomic_store_n(&is_holding, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&held_pid, 0, __ATOMIC_RELEASE);
    CHECK(kill(getpid(), SIGCHLD) == 0);
}

static void check_held_answer(struct world *world, const struct world_record *record)
{
    CHECK(record->is_error);
    CHECK(strstr(world_member(world, record, "note"), "could not be ended") != NULL);
}

CASE(a_command_that_cannot_be_ended_is_answered)
{
    SMA_AUTO(world_destroyp)
    struct world *world = world_create("{\"exec_shell\":{\"sandbox\":\"off\"}}");
    hold_next();
    const struct world_record *record = world_await(world, world_run(world, "sleep 60", 100));
    check_held_answer(world, record);
    CHECK_TEXT("true", world_member(world, record, "timedOut"));
    CHECK(world_has_logged(world, "do not end"));
    __atomic_store_n(&is_holding, 0, __ATOMIC_RELEASE); /* others end as ever */
    size_t records[SMA_EXEC_COUNT_MAX];
    for (size_t i = 0; i < SMA_COUNT_OF(records);
         i++) /* all slots are free: each waits for the last */
        records[i] = world_run(
            world,
            i + 1 < SMA_EXEC_COUNT_MAX ? "while ! test -e last; do sleep 0.05; done" : "touch last",
            120000);
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        CHECK_TEXT("0", world_member(world, world_await(world, records[i]), "exitCode"));
    CHECK(!world_has_logged(world, "has ended"));
    let_go();
    for (int i = 0; i < PATIENCE_AWAIT_MS / 5 && !world_has_logged(world, "ended has ended"); i++)
        usleep(5000);
    CHECK(world_has_logged(world, "a command that could not be ended has ended"));
}

CASE(a_command_that_cannot_be_ended_does_not_hold_up_the_stop)
{
    SMA_AUTO(world_destroyp)
    struct world *world = world_create("{\"exec_shell\":{\"sandbox\":\"off\"}}");
    hold_next();
    size_t record = world_run(world, "touch begun; sleep 60", 60000);
    world_await_file(world, "begun");
    world_drain(world);
    check_held_answer(world, world_await(world, record));
    let_go();
}

CASES_MAIN
