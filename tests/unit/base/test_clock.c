/*
 * Aim: in a test build the program's time passes K times as fast, wall and elapsed alike, from one
 *      beginning for all processes of a test; no wait ends early; a wrong K is told. In any other
 *      build the variable means nothing.
 * Method: this program runs itself with SMA_TEST_SCALE set.
 */
#include "sma/clock.h"
#include "sma/sys.h"
#include "support/check.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *self;

#define BEGIN_MS INT64_C(1700000000000)

static int64_t machine_wall_ms(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* @return the exit status of this program as `role` with that variable */
static int run_as(const char *role, const char *scale)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (setenv("SMA_TEST_SCALE", scale, 1) == 0)
            execl(self, self, role, (char *)NULL);
        _exit(99);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void waits_are_never_early(void)
{
    uint64_t scale = sma_clock_scale();
    CHECK(sma_clock_wait_ms(0) == 0);
    for (uint64_t ms = 1; ms < 3000; ms++)
        CHECK(sma_clock_wait_ms(ms) * scale >= ms && (sma_clock_wait_ms(ms) - 1) * scale < ms);
    CHECK(sma_clock_poll_ms(-1) == -1);
    CHECK(sma_clock_machine_ns(UINT64_MAX) == UINT64_MAX);
    CHECK(sma_clock_machine_ns(sma_clock_of_machine(12345)) == 12345);
}

/* Some real time passes; how much of the program's is that? */
static void both_clocks_keep_pace(void)
{
    const struct sma_sys *sys = sma_sys_real();
    uint64_t scale = sma_clock_scale(), before_ns = sys->now_ns(sys->self);
    int64_t before_ms = sys->wall_ms(sys->self), machine_ms = machine_wall_ms();
    CHECK(nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL) == 0);
    uint64_t passed_ms = (sys->now_ns(sys->self) - before_ns) / 1000000;
    int64_t wall_passed_ms = sys->wall_ms(sys->self) - before_ms;
    int64_t machine_passed_ms = machine_wall_ms() - machine_ms;
    CHECK(passed_ms >= 20 * scale);
    CHECK(wall_passed_ms >= 19 * (int64_t)scale &&
          wall_passed_ms <= (machine_passed_ms + 2) * (int64_t)scale);
}

#ifdef SMA_TEST_CLOCK
/* A process that is told where the beginning lies agrees with every other that is. */
static int be_scaled(void)
{
    CHECK_INT(10, sma_clock_scale());
    CHECK_INT(BEGIN_MS, sma_clock_wall_of(BEGIN_MS));
    CHECK_INT(BEGIN_MS + 50000, sma_clock_wall_of(BEGIN_MS + 5000));
    CHECK_TEXT("10@1700000000000", getenv("SMA_TEST_SCALE"));
    waits_are_never_early();
    both_clocks_keep_pace();
    return 0;
}

/* The first one of a test makes the beginning, which is now, and tells its children. */
static int be_first(void)
{
    int64_t now_ms = machine_wall_ms(), begin_ms = 0;
    CHECK(sscanf(getenv("SMA_TEST_SCALE"), "10@%" SCNd64, &begin_ms) == 1);
    CHECK(begin_ms <= now_ms && begin_ms > now_ms - 60000);
    CHECK_INT(begin_ms, sma_clock_wall_of(begin_ms));
    return 0;
}

static void a_process_agrees_with_the_others(void)
{
    CHECK_INT(0, run_as("scaled", "10@1700000000000"));
    CHECK_INT(0, run_as("first", "10"));
}

static void a_wrong_factor_is_told(void)
{
    static const char *const wrong[] = {"0", "", "ten", "10x", "5000", "-3"};
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK_INT(2, run_as("scaled", wrong[i]));
}
#endif

static int be_plain(void)
{
    CHECK_INT(1, sma_clock_scale());
    CHECK_INT(BEGIN_MS, sma_clock_wall_of(BEGIN_MS));
    waits_are_never_early();
    both_clocks_keep_pace();
    return 0;
}

static void one_is_the_time_of_the_machine(void)
{
    CHECK_INT(0, run_as("plain", "1"));
#ifndef SMA_TEST_CLOCK
    CHECK_INT(0, run_as("plain", "10"));
#endif
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1 && strcmp(argv[1], "plain") == 0)
        return be_plain();
#ifdef SMA_TEST_CLOCK
    if (argc > 1)
        return strcmp(argv[1], "scaled") == 0 ? be_scaled() : be_first();
    RUN(a_process_agrees_with_the_others);
    RUN(a_wrong_factor_is_told);
#endif
    RUN(one_is_the_time_of_the_machine);
    return check_summary();
}
