/*
 * sim_run — the whole service under the seeded scheduler, judged against its promises
 * (docs/notes/simulation.md).
 *
 *   sim_run --seed S [--steps N] [--crashes K] [--verbose]   one run; exit status 0 and a line with
 *   the trace hash
 *   sim_run --twice S                                        the same seed in two processes, and a
 *   neighbour
 *   sim_run --soak SECONDS [--first S] [--seeds FILE]        the seeds of the file, then from S on
 *   (SMA_SEED goes before S), or fresh ones
 *
 * Runs of --twice and --soak are processes of their own: a crash or a hang of one names its seed
 * too.
 */
#include "sim.h"

#include "sma/clock.h"

#include <errno.h>
#include <jansson.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS_DEFAULT 4000
#define REST_STEPS_MAX 3000000
#define RUN_SECONDS_MAX 100 /* wall time of one run: it hangs */

static struct world world;

/* -- one run ----------------------------------------------------------------------------------- */
static void act(void)
{
    struct chance *chance = &world.chance;
    uint64_t number = draw(chance, 100);
    if (number < 70)
        for (uint64_t burst = 1 + (draw(chance, 8) == 0 ? draw(chance, 12) : 0); burst > 0; burst--)
            load_new_event(&world);
    else if (number < 85)
        (void)load_redeliver(&world);
    else
        load_duplicate(&world);
    if (world.has_changes && draw(chance, 3) == 0)
        change_new_event(&world);
    if (world.prepare_count > 0 && draw(chance, 2) == 0)
        (void)load_answer_prepare(&world);
    if (world.has_consent && draw(chance, 4) == 0)
        (void)consent_decide(&world);
    if (draw_percent(chance, world.shift_percent))
        sma_sim_shift_wall(world.system, ((int64_t)draw(chance, 48) - 24) * 3600 * 1000);
    if (draw_percent(chance, world.disk_percent))
        world.disk_free = draw(chance, 4) * SMA_DISK_RESERVE_BYTES;
    else if (draw(chance, 10) == 0)
        world.disk_free = UINT64_C(1) << 40;
    if (draw(chance, 20) == 0)
        sma_sim_advance(world.system, draw(chance, 2000) * MS);
}

/* @return false: the folder was copied in the middle of a write, the life ends here */
static bool step_once(void)
{
    if (!sma_sim_step(world.system) && draw(&world.chance, 2) == 0)
        load_new_event(&world);
    world.step_count++;
    return !world.has_snapshot;
}

static void live(uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++) {
        if (draw(&world.chance, world.event_period) == 0)
            act();
        if (!step_once())
            return;
    }
}

static bool has_answer_left(void)
{
    for (uint32_t i = 0; i < world.prepare_count; i++)
        if (!world.is_prepare_silent[i])
            return true;
    return false;
}

static void answer_all(void)
{
    while (load_answer_prepare(&world)) {
    }
}

/* Retention looks once an hour, also at rest: whoever waits for longer than anything else does,
 * waits for that. */
#define REST_NS (UINT64_C(540) * 1000000000)
static bool step_before_rest(void)
{
    return sma_sim_run(world.system, 1, sma_sim_now(world.system) + REST_NS) > 0;
}

/* Until everything was acknowledged and nothing moves any more. */
static void rest(void)
{
    world.disk_free = UINT64_C(1) << 40;
    uint64_t steps = 0;
    do {
        while (load_redeliver(&world)) {
        }
        answer_all();
        do {
            while (step_before_rest() && ++steps < REST_STEPS_MAX)
                answer_all();
        } while (consent_decide(&world) && ++steps < REST_STEPS_MAX);
        world.step_count++;
    } while ((!load_is_all_acked(&world) || has_answer_left()) && steps < REST_STEPS_MAX &&
             ++steps);
    if (steps >= REST_STEPS_MAX)
        complain(&world, "the service does not come to rest");
}

static void start_life(bool may_tear)
{
    if (may_tear && draw(&world.chance, 2) == 0)
        world.torn_countdown =
            1 + (uint32_t)draw(&world.chance, draw(&world.chance, 2) == 0 ? 10 : 600);
    world_open(&world);
    if (!world.has_snapshot)
        check_started(&world);
}

static void end_life(void)
{
    bool is_clean = !world.has_snapshot && draw(&world.chance, 3) == 0;
    world.torn_countdown = 0;
    if (is_clean)
        world_stop(&world);
    else
        world_crash(&world);
}

static void run(void)
{
    world_make(&world);
    for (uint32_t life = 0; life + 1 < world.life_count; life++) {
        start_life(true);
        if (!world.has_snapshot)
            live(1 + draw(&world.chance, 2 * world.options.steps / world.life_count));
        end_life();
    }
    start_life(false);
    live(world.options.steps / world.life_count);
    rest();
    check_rest(&world);
    world_stop(&world);
    check_history(&world, true);
    world_end(&world);
}

static int run_one(const struct sim_options *options)
{
    world.options = *options;
    run();
    printf(
        "seed %" PRIu64 " trace %016" PRIx64 " steps %" PRIu64
        " lives %u crashes %u events %u shown %u window %u "
        "duplicates %u refused %u busy %u cancelled %u given-up %u agreed %u declined %u pictures "
        "%u edited %u told %u broken %u\n",
        options->seed, world.trace_hash, world.step_count, world.life, world.crash_count,
        world.event_count, world.shown_count, world.window_count, world.duplicate_count,
        world.refused_count, world.busy_count, world.cancelled_count, world.given_up_count,
        world.approved_count, world.declined_count, world.shown_picture_count, world.edited_count,
        world.told_count, world.broken_count);
    return world.broken_count == 0 ? 0 : 1;
}

/* -- runs as processes ------------------------------------------------------------------------- */
static void put_command(char *text, size_t size, const struct sim_options *options)
{
    int len = snprintf(text, size, "sim_run --seed %" PRIu64 " --steps %zu", options->seed,
                       options->steps);
    if (options->crashes >= 0)
        snprintf(text + len, size - (size_t)len, " --crashes %d", options->crashes);
}

static void become(const struct sim_options *options, int out)
{
    char seed[32], steps[32], crashes[32];
    snprintf(seed, sizeof seed, "%" PRIu64, options->seed);
    snprintf(steps, sizeof steps, "%zu", options->steps);
    snprintf(crashes, sizeof crashes, "%d", options->crashes);
    (void)alarm(RUN_SECONDS_MAX);
    if (dup2(out, STDOUT_FILENO) >= 0)
        execl("/proc/self/exe", "sim_run", "--seed", seed, "--steps", steps, "--crashes", crashes,
              (char *)NULL);
    _exit(127);
}

/* The run's own line goes to *ret_line. @return whether it succeeded; otherwise how to repeat it
 * was printed */
static bool run_process(const struct sim_options *options, char *line, size_t size)
{
    int ends[2], status = 0;
    SMA_ASSERT(pipe(ends) == 0);
    fflush(NULL);
    pid_t pid = fork();
    SMA_ASSERT(pid >= 0);
    if (pid == 0)
        become(options, ends[1]);
    close(ends[1]);
    size_t len = 0;
    ssize_t part;
    while ((part = read(ends[0], line + len, size - 1 - len)) > 0)
        len += (size_t)part;
    line[len] = '\0';
    close(ends[0]);
    SMA_ASSERT(waitpid(pid, &status, 0) == pid);
    bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!is_good) {
        char command[128];
        put_command(command, sizeof command, options);
        printf("%sFAILED (%s %d), repeat with: %s\n", line,
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), command);
    }
    return is_good;
}

static int run_twice(const struct sim_options *options)
{
    char first[512], second[512], other[512];
    struct sim_options neighbour = *options;
    neighbour.seed++;
    if (!run_process(options, first, sizeof first) ||
        !run_process(options, second, sizeof second) ||
        !run_process(&neighbour, other, sizeof other))
        return 1;
    printf("%s%s%s", first, second, other);
    if (strcmp(first, second) != 0) {
        printf("one seed gave two runs\n");
        return 1;
    }
    const char *trace = strstr(first, "trace "), *other_trace = strstr(other, "trace ");
    if (trace == NULL || other_trace == NULL || strncmp(trace, other_trace, 22) == 0) {
        printf("two seeds gave one run\n");
        return 1;
    }
    return 0;
}

/* -- many seeds -------------------------------------------------------------------------------- */
struct soak
{
    unsigned runs, failures;
    bool is_twice;
};

static void soak_one(struct soak *soak, const struct sim_options *options)
{
    char line[512], again[512];
    soak->runs++;
    if (!run_process(options, line, sizeof line)) {
        soak->failures++;
        return;
    }
    printf("%s", line);
    if (soak->runs % 8 != 0 || !run_process(options, again, sizeof again) ||
        strcmp(line, again) == 0)
        return;
    printf("again %sFAILED: one seed gave two runs\n", again);
    soak->failures++;
}

/* A line of the file: SEED [STEPS [CRASHES]], '#' begins a remark. */
static bool soak_file(struct soak *soak, const char *path)
{
    char line[256];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "sim_run: cannot read %s: %s\n", path, strerror(errno));
        return false;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        struct sim_options options = {.steps = STEPS_DEFAULT, .crashes = -1};
        if (line[0] != '#' && sscanf(line, "%" SCNu64 " %zu %d", &options.seed, &options.steps,
                                     &options.crashes) >= 1)
            soak_one(soak, &options);
    }
    fclose(file);
    return true;
}

static int run_soak(unsigned seconds, uint64_t first, size_t steps, const char *seeds_path)
{
    struct soak soak = {0};
    if (seeds_path != NULL && !soak_file(&soak, seeds_path))
        return 2;
    /* Of the machine: these runs compute, they do not wait. */
    uint64_t until = sma_clock_machine_ns(sma_clock_now_ns()) + seconds * SECOND;
    for (uint64_t seed = first;
         sma_clock_machine_ns(sma_clock_now_ns()) < until && soak.failures < 5; seed++)
        soak_one(&soak, &(struct sim_options){.seed = seed, .steps = steps, .crashes = -1});
    printf("%u runs, %u failed\n", soak.runs, soak.failures);
    return soak.failures == 0 && soak.runs > 0 ? 0 : 1;
}

/* -- command line ------------------------------------------------------------------------------ */
static int usage(void)
{
    fprintf(stderr, "usage: sim_run --seed S [--steps N] [--crashes K] [--verbose]\n"
                    "       sim_run --twice S [--steps N] [--crashes K]\n"
                    "       sim_run --soak SECONDS [--first S] [--steps N] [--seeds FILE]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct sim_options options = {.steps = STEPS_DEFAULT, .crashes = -1};
    const char *seed = getenv("SMA_SEED");
    uint64_t first = (uint64_t)time(NULL) * 1000;
    const char *mode = NULL, *seeds_path = NULL;
    unsigned seconds = 0;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--verbose") == 0) {
            options.is_verbose = true;
            continue;
        }
        if (value == NULL)
            return usage();
        i++;
        if (strcmp(name, "--seed") == 0 || strcmp(name, "--twice") == 0)
            mode = name, options.seed = strtoull(value, NULL, 10);
        else if (strcmp(name, "--soak") == 0)
            mode = name, seconds = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(name, "--steps") == 0)
            options.steps = strtoull(value, NULL, 10);
        else if (strcmp(name, "--crashes") == 0)
            options.crashes = (int)strtol(value, NULL, 10);
        else if (strcmp(name, "--first") == 0)
            first = strtoull(seed != NULL ? seed : value, NULL, 10);
        else if (strcmp(name, "--seeds") == 0)
            seeds_path = value;
        else
            return usage();
    }
    if (mode == NULL || options.steps == 0)
        return usage();
    (void)setenv("TZ", "UTC", 1);
    json_object_seed(1);
    if (strcmp(mode, "--seed") == 0)
        return run_one(&options);
    return strcmp(mode, "--twice") == 0 ? run_twice(&options)
                                        : run_soak(seconds, first, options.steps, seeds_path);
}
