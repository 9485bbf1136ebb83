/*
 * exec_cases.h — what a command may rely on, in a sandbox and without one: the same cases,
 * PERMISSIONS decide.
 */
#include "world.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void results_are_those_of_the_shell(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record = world_do(world, "echo out; echo err >&2; pwd; exit 3");
    CHECK_INT(SMA_TOOL_ALLOWED, record->verdict);
    CHECK(record->is_error);
    CHECK_TEXT("false", world_member(world, record, "success"));
    CHECK_TEXT("3", world_member(world, record, "exitCode"));
    char expected[128];
    snprintf(expected, sizeof expected, "out\n%s", world_dir(world));
    CHECK_TEXT(expected, world_member(world, record, "stdout"));
    CHECK_TEXT("err", world_member(world, record, "stderr"));
    CHECK_TEXT("false", world_member(world, record, "timedOut"));
    CHECK_TEXT("false", world_member(world, record, "truncated"));
    CHECK_TEXT("", world_member(world, record, "note"));
    const char *log = world_member(world, record, "logPath");
    CHECK(strncmp(log, ".ship/logs/exec/", 16) == 0);
    CHECK(strstr(world_get_file(world, log), "\n--- stderr ---\nerr\n") != NULL);
    record = world_do(world, "true");
    CHECK_TEXT("true", world_member(world, record, "success"));
    CHECK_TEXT("", world_member(world, record, "logPath"));
    CHECK_TEXT("", world_member(world, record, "stdout"));
    CHECK(!record->is_error);
    record = world_do(world, "  \n ");
    CHECK_TEXT("true", world_member(world, record, "success"));
    record = world_do(world, "no-such-program-here");
    CHECK_TEXT("127", world_member(world, record, "exitCode"));
    record = world_do(world, "--help");
    CHECK_TEXT("127", world_member(world, record, "exitCode"));
    record = world_do(world, "cat; echo over"); /* stdin is empty */
    CHECK_TEXT("over", world_member(world, record, "stdout"));
    record = world_do(world, "ls /proc/self/fd | tr '\\n' ' '");
    CHECK_TEXT("0 1 2 3 ", world_member(world, record, "stdout")); /* 3 is the folder itself */
    world_destroy(world);
}

/* What a library opens without close-on-exec, whenever it does: here, all the time. By plain system
 * calls, as libuv closes by
 * them: the thread sanitizer does not see those and takes a number that is used again for a
 * race. */
static void *open_and_close(void *argument)
{
    const int *is_over = argument;
    while (__atomic_load_n(is_over, __ATOMIC_RELAXED) == 0) {
        long fds[4] = {syscall(SYS_socket, AF_INET, SOCK_STREAM, 0),
                       syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0),
                       syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY), syscall(SYS_dup, 0)};
        sched_yield();
        for (size_t i = 0; i < SMA_COUNT_OF(fds); i++)
            CHECK(fds[i] >= 0 && syscall(SYS_close, fds[i]) == 0);
    }
    return NULL;
}

static void descriptors_of_the_service_are_not_inherited(void)
{
    int kept = socket(AF_INET, SOCK_STREAM, 0), high = fcntl(kept, F_DUPFD, 900), is_over = 0;
    CHECK(kept >= 0 && high >= 900);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, open_and_close, &is_over) == 0);
    struct world *world = world_create(PERMISSIONS);
    size_t records[SMA_EXEC_COUNT_MAX];
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        records[i] = world_run(world, "for fd in /proc/$$/fd/*; do readlink $fd; done", 120000);
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++) {
        const char *out = world_member(world, world_await(world, records[i]), "stdout");
        if (strncmp(out, "/dev/null\npipe:", 15) != 0 || strstr(out, "socket:") != NULL)
            fprintf(stderr, "a command has: %s\n", out);
        size_t lines = 1;
        for (const char *at = out; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        CHECK_INT(3, lines); /* no input, output, errors */
        CHECK(strncmp(out, "/dev/null\npipe:", 15) == 0 && strstr(out, "socket:") == NULL);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    world_destroy(world);
    close(kept);
    close(high);
}

/* A few plain files are a repository to git, with a program in its configuration. */
static void a_repository_made_of_files_runs_nothing(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record = world_do(
        world,
        "mkdir -p sub/objects sub/refs; echo 'ref: refs/heads/main' > sub/HEAD; "
        "printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=.\\nfsmonitor=touch "
        "hit\\n' "
        "> sub/config; cd sub; git status; find .. -name hit");
    CHECK_TEXT("", world_member(world, record, "stdout"));
    world_destroy(world);
}

#define BEGIN_TRIES 5
#define BEGIN_MS ((unsigned)sma_clock_of_machine(1500 * PATIENCE))

/* Run a command that says `word` when it has begun, and then goes on for ever, up to its time. On a
 * machine so busy that the time was over before it had begun, again. */
static const struct world_record *run_begun(struct world *world, const char *command,
                                            const char *word)
{
    const struct world_record *record = NULL;
    for (int tries = 0; tries < BEGIN_TRIES; tries++) {
        record = world_await(world, world_run(world, command, BEGIN_MS));
        if (strcmp(world_member(world, record, "stdout"), word) == 0)
            break;
    }
    return record;
}

static void a_timeout_ends_the_whole_family(void)
{
    struct world *world = world_create(PERMISSIONS);
    char command[512], mark[32]; /* a number that nobody else sleeps for */
    snprintf(mark, sizeof mark, "300.%d", (int)getpid());
    snprintf(command, sizeof command,
             "echo begun; sleep %s1 & (sh -c 'sleep %s2; : %s' &) ; sleep %s3", mark, mark,
             world_dir(world), mark);
    const struct world_record *record = run_begun(world, command, "begun");
    CHECK_TEXT("true", world_member(world, record, "timedOut"));
    CHECK_TEXT("", world_member(world, record, "exitCode"));
    CHECK_TEXT("begun", world_member(world, record, "stdout"));
    char time[32];
    snprintf(time, sizeof time, "%u ms", BEGIN_MS);
    CHECK(strstr(world_member(world, record, "note"), time) != NULL);
    CHECK_INT(0, world_count_processes(mark));
    CHECK_INT(0, world_count_processes(world_dir(world)));
    world_destroy(world);
}

static void a_deaf_command_is_killed(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *answer =
        run_begun(world, "trap '' TERM; echo deaf; while :; do sleep 0.05; done", "deaf");
    CHECK_TEXT("true", world_member(world, answer, "timedOut"));
    CHECK_TEXT("deaf", world_member(world, answer, "stdout"));
    uint64_t took_ms = (answer->answered_ns - answer->asked_ns) / 1000000;
    CHECK(took_ms >= SMA_EXEC_KILL_MS && took_ms < sma_clock_of_machine(10000 * PATIENCE));
    world_destroy(world);
}

static void a_polite_command_may_finish(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record = run_begun(world,
                                                  "trap 'echo tidied > tidied; exit 0' TERM; "
                                                  "echo polite; while :; do sleep 0.05; done",
                                                  "polite");
    CHECK_TEXT("true", world_member(world, record, "timedOut"));
    CHECK(world_has_file(world, "tidied"));
    uint64_t took_ms = (record->answered_ns - record->asked_ns) / 1000000;
    CHECK(took_ms < BEGIN_MS + sma_clock_of_machine(SMA_EXEC_KILL_MS * PATIENCE));
    world_destroy(world);
}

static void daemons_do_not_survive(void)
{
    struct world *world = world_create(PERMISSIONS);
    char command[512];
    snprintf(command, sizeof command,
             "setsid sh -c 'setsid sh -c \"while :; do sleep 0.1; done; : %s\" "
             ">/dev/null 2>&1 </dev/null &' >/dev/null 2>&1 & echo gone",
             world_dir(world));
    const struct world_record *record = world_do(world, command);
    CHECK_TEXT("gone", world_member(world, record, "stdout"));
    CHECK_TEXT("true", world_member(world, record, "success"));
    CHECK(strstr(world_member(world, record, "note"), "left behind") != NULL);
    CHECK_INT(0, world_count_processes(world_dir(world)));
    snprintf(command, sizeof command,
             "(setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done; : %s' &) ; sleep 300",
             world_dir(world));
    record = world_await(world, world_run(world, command, 300));
    CHECK_TEXT("true", world_member(world, record, "timedOut"));
    CHECK_INT(0, world_count_processes(world_dir(world)));
    world_destroy(world);
}

static void children_in_the_background_do_not_hang_the_call(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record = world_do(world, "sleep 300 & echo started");
    CHECK_TEXT("started", world_member(world, record, "stdout"));
    CHECK_TEXT("0", world_member(world, record, "exitCode"));
    CHECK(strstr(world_member(world, record, "note"), "left behind") != NULL);
    CHECK((record->answered_ns - record->asked_ns) / 1000000 <
          sma_clock_of_machine(5000 * PATIENCE));
    /* Within the grace it counts. A busy machine may be later than that: then it was left behind,
     * and that is said. */
    bool is_in_time = false;
    for (int tries = 0; tries < 20 && !is_in_time; tries++) {
        record = world_do(world, "(sleep 0.05; echo late) & echo early");
        is_in_time = strcmp(world_member(world, record, "stdout"), "early\nlate") == 0;
        CHECK(is_in_time || strstr(world_member(world, record, "note"), "left behind") != NULL);
    }
    CHECK(is_in_time);
    world_destroy(world);
}

static void long_output_is_cut_in_the_middle(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record = world_do(
        world, "printf 'BEGIN'; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "
               "printf '\xe4\xb8\xad%.0s' $(seq 1000); done; printf 'END'; "
               "printf 'FIRST' >&2; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do "
               "printf 'x\xf0\x9f\x98\x80%.0s' $(seq 1000) >&2; done; printf 'LAST' >&2");
    CHECK(strlen(record->content) <= SMA_TOOL_RESULT_BYTES_MAX);
    CHECK(strlen(record->content) > SMA_TOOL_RESULT_BYTES_MAX / 2);
    CHECK_TEXT("true", world_member(world, record, "truncated"));
    const char *out = world_member(world, record, "stdout");
    const char *err = world_member(world, record, "stderr");
    CHECK(strncmp(out, "BEGIN", 5) == 0 && strcmp(out + strlen(out) - 3, "END") == 0);
    CHECK(strncmp(err, "FIRST", 5) == 0 && strcmp(err + strlen(err) - 4, "LAST") == 0);
    CHECK(sma_utf8_is_valid(sma_str(out)) && sma_utf8_is_valid(sma_str(err)));
    CHECK(strstr(out, "\xef\xbf\xbd") == NULL && strstr(err, "\xef\xbf\xbd") == NULL);
    CHECK(strstr(out, "read_more with handle \".ship/logs/exec/") != NULL);
    const char *log = world_get_file(world, world_member(world, record, "logPath"));
    CHECK(strlen(log) >= 5 + 36000 + 3 + 5 + 90000 + 4);
    world_destroy(world);
}

static void megabytes_go_to_the_log_alone(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record =
        world_do(world, "head -c 3000000 /dev/zero | tr '\\0' a; echo; echo END");
    CHECK_TEXT("0", world_member(world, record, "exitCode"));
    const char *out = world_member(world, record, "stdout");
    CHECK(strcmp(out + strlen(out) - 3, "END") == 0);
    CHECK_INT(3000005, strlen(world_get_file(world, world_member(world, record, "logPath"))));
    record = world_do(world, "head -c 200000 /dev/urandom; printf '\\377\\376 ok'");
    CHECK_TEXT("0", world_member(world, record, "exitCode"));
    CHECK(sma_utf8_is_valid(sma_str(record->content)));
    world_destroy(world);
}

static void secrets_are_not_shown(void)
{
    struct world *world = world_create(PERMISSIONS);
    const struct world_record *record =
        world_do(world, "printf 'a sk-canary-01'; sleep 0.1; echo '23456789 b'; "
                        "echo sk-canary-0123456789 >&2");
    CHECK_TEXT("a [redacted] b", world_member(world, record, "stdout"));
    CHECK_TEXT("[redacted]", world_member(world, record, "stderr"));
    CHECK(strstr(world_get_file(world, world_member(world, record, "logPath")), "0123456789") ==
          NULL);
    world_destroy(world);
}

static void fifty_run_at_once(void)
{
    struct world *world = world_create(PERMISSIONS);
    size_t records[50];
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++) {
        char command[128];
        snprintf(command, sizeof command,
                 "touch %zu; while [ $(ls | grep -c '^[0-9]') -lt 50 ]; do sleep 0.1; done; "
                 "echo %zu",
                 i, i);
        records[i] = world_run(world, command, 50000 * PATIENCE);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++) {
        const struct world_record *record = world_await(world, records[i]);
        char expected[16];
        snprintf(expected, sizeof expected, "%zu", i);
        CHECK_TEXT(expected, world_member(world, record, "stdout"));
    }
    world_destroy(world);
}

static void further_ones_wait_for_a_place(void)
{
    struct world *world = world_create(PERMISSIONS);
    size_t first[SMA_EXEC_COUNT_MAX];
    for (size_t i = 0; i < SMA_COUNT_OF(first); i++)
        first[i] = world_run(world, "while ! [ -e go ]; do sleep 0.2; done", 0);
    size_t waiting = world_run(world, "echo in", 0), stopped = world_run(world, "echo never", 0);
    world_cancel(world, stopped + 1);
    CHECK_INT(SMA_TOOL_STOPPED, world_await(world, stopped)->verdict);
    CHECK(!world_is_answered(world, waiting));
    world_put_file(world, "go", "");
    for (size_t i = 0; i < SMA_COUNT_OF(first); i++)
        CHECK_INT(SMA_TOOL_ALLOWED, world_await(world, first[i])->verdict);
    CHECK_TEXT("in", world_member(world, world_await(world, waiting), "stdout"));
    world_destroy(world);
}

static void a_cancel_ends_one_run_only(void)
{
    struct world *world = world_create(PERMISSIONS);
    size_t one = world_run(world, "touch one; sleep 300", 0);
    size_t other =
        world_run(world, "touch other; while ! [ -e go ]; do sleep 0.05; done; echo fine", 0);
    world_await_file(world, "one");
    world_await_file(world, "other");
    world_cancel(world, one + 1);
    const struct world_record *record = world_await(world, one);
    CHECK_INT(SMA_TOOL_STOPPED, record->verdict);
    CHECK(record->is_error && strstr(record->content, "Stopped") != NULL);
    CHECK(!world_is_answered(world, other));
    world_put_file(world, "go", "");
    CHECK_TEXT("fine", world_member(world, world_await(world, other), "stdout"));
    world_destroy(world);
}

static void the_end_of_the_service_ends_commands(void)
{
    struct world *world = world_create(PERMISSIONS);
    size_t record = world_run(world, "touch one; sleep 300", 0);
    size_t deaf = world_run(world, "trap '' TERM; touch two; while :; do sleep 0.1; done", 0);
    world_await_file(world, "one");
    world_await_file(world, "two");
    world_drain(world);
    CHECK_INT(SMA_TOOL_STOPPED, world_await(world, record)->verdict);
    CHECK_INT(SMA_TOOL_STOPPED, world_await(world, deaf)->verdict);
    world_destroy(world);
}

static void an_end_at_once_leaves_nothing_either(void)
{
    struct world *world = world_create_hurried(PERMISSIONS);
    char command[256];
    snprintf(command, sizeof command,
             "setsid sh -c 'while :; do sleep 0.1; done; : %s' & touch one; echo out; "
             "trap '' TERM; while :; do sleep 0.1; done",
             world_dir(world));
    (void)world_run(world, command, 0);
    (void)world_run(world, "touch two; yes", 0); /* in the middle of a write */
    world_await_file(world, "one");
    world_await_file(world, "two");
    world_destroy(world);
}

static void the_environment_is_clean(void)
{
    setenv("PLAIN_VALUE", "plain", 1);
    setenv("MY_API_KEY", "abcdefgh12345", 1);
    setenv("LD_PRELOAD_X", "x", 1);
    setenv("BASH_ENV", "/tmp/x", 1);
    struct world *world = world_create(PERMISSIONS);
    const char *out = world_member(world, world_do(world, "env"), "stdout");
    CHECK(strstr(out, "PLAIN_VALUE=plain") != NULL);
    CHECK(strstr(out, "MY_API_KEY") == NULL && strstr(out, "abcdefgh12345") == NULL);
    CHECK(strstr(out, "LD_PRELOAD_X") == NULL && strstr(out, "BASH_ENV") == NULL);
    CHECK(strstr(out, "PATH=") != NULL);
    world_destroy(world);
    unsetenv("BASH_ENV");
}

/* Counted and ended; or, where a limit on the user's tasks comes first, it chokes on that. */
static void a_fork_bomb_is_contained(void)
{
    struct world *world = world_create(PERMISSIONS);
    size_t bomb =
        world_run(world, "touch lit; bomb() { bomb | bomb & }; bomb; sleep 300", 5000 * PATIENCE);
    world_await_file(world, "lit");
    const struct world_record *record = world_await(world, bomb);
    CHECK_TEXT("", world_member(world, record, "exitCode"));
    CHECK(strstr(world_member(world, record, "note"), "more than 256 processes") != NULL ||
          strstr(world_member(world, record, "stderr"), "fork") != NULL);
    CHECK_TEXT("usable", world_member(world, world_do(world, "echo usable"), "stdout"));
    world_destroy(world);
}

/* One process meets its own limit; several together are measured. */
static void a_memory_hog_is_contained(void)
{
    struct world *world = world_create(SMALL_PERMISSIONS);
    const struct world_record *record =
        world_do(world, "head -c 400000000 /dev/zero | tail -c 399999999 | wc -c");
    CHECK(strstr(world_member(world, record, "stderr"), "memory") != NULL);
    record = world_await(world, world_run(world,
                                          "for i in 1 2 3 4 5 6 7 8; do "
                                          "(head -c 60000000 /dev/zero; sleep 300) | "
                                          "tail -c 50000000 & done; wait",
                                          60000));
    CHECK(strstr(world_member(world, record, "note"), "MB of memory together") != NULL);
    world_destroy(world);
}

/* In groups, so that they run beside each other. */
static void run_results(void)
{
    RUN(results_are_those_of_the_shell);
    RUN(children_in_the_background_do_not_hang_the_call);
    RUN(long_output_is_cut_in_the_middle);
    RUN(megabytes_go_to_the_log_alone);
    RUN(secrets_are_not_shown);
    RUN(the_environment_is_clean);
    RUN(a_repository_made_of_files_runs_nothing);
    RUN(a_cancel_ends_one_run_only);
}

static void run_ends(void)
{
    RUN(a_timeout_ends_the_whole_family);
    RUN(a_deaf_command_is_killed);
    RUN(a_polite_command_may_finish);
    RUN(daemons_do_not_survive);
    RUN(the_end_of_the_service_ends_commands);
}

static void run_limits(void)
{
    RUN(descriptors_of_the_service_are_not_inherited);
    RUN(fifty_run_at_once);
    RUN(further_ones_wait_for_a_place);
}

/* By themselves: nothing beside them is to pay for it, nor to take the two seconds that are left
 * to a thread when the time to end is over. */
static void run_floods(void)
{
    RUN(an_end_at_once_leaves_nothing_either);
    RUN(a_fork_bomb_is_contained);
    RUN(a_memory_hog_is_contained);
}

int main(int argc, char **argv)
{
    const char *group = argc > 1 ? argv[1] : "";
    if (group[0] == '\0' || strcmp(group, "results") == 0)
        run_results();
    if (group[0] == '\0' || strcmp(group, "ends") == 0)
        run_ends();
    if (group[0] == '\0' || strcmp(group, "limits") == 0)
        run_limits();
    if (group[0] == '\0' || strcmp(group, "floods") == 0)
        run_floods();
    return check_summary();
}
