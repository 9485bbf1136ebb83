/*
 * Aim: nothing accepted is lost and nothing is answered twice, whenever the process dies.
 * Method: the real core under load from HTTP callers and a scripted platform; SIGKILL at random
 * moments, at named points and during start-up, SIGTERM in mid-burst now and then; restart on the
 * same folder each time. At the end one quiet run answers what is left, then `checker` reads what
 * the clients saw and what is on disk. With --telegram the load comes from the chats of a Bot API
 * server instead, with --sockets from those of Feishu and QQ, and those are what the checker reads.
 *   crash_loop --binary PATH --checker PATH [--telegram | --sockets] [--kills N] [--seed S]
 *   [--keep]
 */
#include "scenario/http_client.h"
#include "world.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLER_COUNT 10
#define READY_MS 15000
#define STOP_MS 25000
#define QUIET_MS 30000

struct options
{
    const char *binary, *checker;
    unsigned kills;
    uint64_t seed;
    bool is_kept;
    enum world_kind kind;
};

/* Those of the core, then those of each platform. */
static const char *const CORE_POINTS[] = {"store.before_commit",      "store.after_commit",
                                          "store.after_history",      "store.after_answer",
                                          "store.step_committed",     "store.done_committed",
                                          "store.receipt_committed",  "dispatcher.before_attempt",
                                          "dispatcher.after_attempt", "dispatcher.after_receipt"};
static const char *const TELEGRAM_POINTS[] = {"telegram.before_ask", "telegram.after_accepted",
                                              "telegram.before_offset", "telegram.before_send",
                                              "telegram.after_send"};
static const char *const SOCKET_POINTS[] = {
    "feishu.before_ask",  "feishu.after_accepted", "feishu.before_ack",
    "feishu.before_send", "feishu.after_send",     "qq.before_ask",
    "qq.after_accepted",  "qq.before_send",        "qq.after_send"};

static pthread_mutex_t note_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *note_file;

/* -- world ------------------------------------------------------------------------------------- */
uint64_t world_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void world_sleep_ms(unsigned ms)
{
    struct timespec wait = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&wait, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_ms(void)
{
    return now_ns() / 1000000;
}

__attribute__((format(printf, 1, 0))) static void put_note(const char *format, va_list arguments)
{
    pthread_mutex_lock(&note_lock);
    vfprintf(note_file, format, arguments);
    fputc('\n', note_file);
    fflush(note_file);
    pthread_mutex_unlock(&note_lock);
}

void world_note(struct world *world, const char *format, ...)
{
    (void)world;
    va_list arguments;
    va_start(arguments, format);
    put_note(format, arguments);
    va_end(arguments);
}

void world_fail(struct world *world, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "BROKEN: %s\n", text);
    world_note(world, "BROKEN %s", text);
    atomic_fetch_add(&world->failures, 1);
}

static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* -- the service ------------------------------------------------------------------------------- */
static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        die(path);
}

static void make_project(struct world *world)
{
    snprintf(world->project, sizeof world->project, "%s/project", world->dir);
    snprintf(world->socket, sizeof world->socket, "%s/platform.sock", world->dir);
    snprintf(world->saw, sizeof world->saw, "%s/saw.log", world->dir);
    if (mkdir(world->project, 0700) != 0)
        die("mkdir");
    char path[400], text[2048], adapter[1024];
    snprintf(path, sizeof path, "%s/Agent.md", world->project);
    write_text(path, "You repeat what you are told.\n");
    if (world->kind == WORLD_SOCKETS)
        sockets_put_config(world, adapter, sizeof adapter);
    else if (world->kind == WORLD_TELEGRAM)
        snprintf(adapter, sizeof adapter,
                 "\"telegram\":{\"enabled\":true,\"botToken\":\"%s\",\"apiRoot\":\"http://"
                 "127.0.0.1:%d\","
                 "\"groups\":[\"-5000\"],"
                 "\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0,\"perGroupPerMinute\":0}}",
                 FAKE_TELEGRAM_TOKEN, world->telegram.port);
    else
        snprintf(adapter, sizeof adapter,
                 "\"scripted\":{\"enabled\":true,\"socket\":\"%s\",\"saw\":\"%s\"}", world->socket,
                 world->saw);
    snprintf(text, sizeof text,
             "{\"name\":\"crash\",\"llm\":{\"provider\":\"offline\"},\"agent\":{\"concurrency\":3},"
             "\"queue\":{\"chatWaitingMax\":1000,\"mode\":\"serial\"},"
             "\"access\":\"anyone\","
             "\"budgets\":{\"perPerson\":{\"runs\":{\"day\":1000000000}},"
             "\"total\":{\"tokens\":{\"month\":1000000000000}}},"
             "\"adapters\":{\"http\":{\"enabled\":true},\"terminal\":{\"enabled\":false},%s}}",
             adapter);
    snprintf(path, sizeof path, "%s/ship.json", world->project);
    write_text(path, text);
}

static pid_t start_service(struct world *world, const struct options *options, const char *point)
{
    char path[400];
    snprintf(path, sizeof path, "%s/.ship/service.json", world->project);
    (void)unlink(path); /* so that only the new process's port is read */
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (point != NULL)
        setenv("SMA_CRASH_AT", point, 1);
    else
        unsetenv("SMA_CRASH_AT");
    char log[400];
    snprintf(log, sizeof log, "%s/service.log", world->dir);
    FILE *out = freopen(log, "a", stdout);
    if (out == NULL || dup2(fileno(out), STDERR_FILENO) < 0)
        _exit(2);
    execl(options->binary, options->binary, "start", world->project, "--port", "0", (char *)NULL);
    _exit(2);
}

static int read_port(const struct world *world)
{
    char path[400], text[1024];
    snprintf(path, sizeof path, "%s/.ship/service.json", world->project);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    const char *port = strstr(text, "\"port\":");
    return port == NULL ? 0 : atoi(port + 7);
}

/* @return false when the process has ended first; *ret_status then holds how */
static bool wait_ready(struct world *world, pid_t child, int *ret_status)
{
    for (uint64_t until = now_ms() + READY_MS; now_ms() < until; world_sleep_ms(1)) {
        int port = read_port(world);
        if (port > 0) {
            http_use_token_of(port, world->project);
            atomic_store(&world->port, port);
            return true;
        }
        if (waitpid(child, ret_status, WNOHANG) == child)
            return false;
    }
    world_fail(world, "not ready in %d ms", READY_MS);
    kill(child, SIGKILL);
    waitpid(child, ret_status, 0);
    return false;
}

static void expect_killed(struct world *world, int status)
{
    if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        world_fail(world, "the service ended by itself: %s %d (see service.log)",
                   WIFSIGNALED(status) ? "signal" : "exit status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void stop_in_order(struct world *world, pid_t child)
{
    int status;
    kill(child, SIGTERM);
    for (uint64_t until = now_ms() + STOP_MS; now_ms() < until; world_sleep_ms(2))
        if (waitpid(child, &status, WNOHANG) == child) {
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                world_fail(world, "an orderly stop ended with %s %d",
                           WIFSIGNALED(status) ? "signal" : "status",
                           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            return;
        }
    world_fail(world, "did not stop in %d ms", STOP_MS);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

static void choose_point(const struct world *world, uint64_t *random, char *point, size_t size)
{
    const char *const *points = world->kind == WORLD_SOCKETS ? SOCKET_POINTS : TELEGRAM_POINTS;
    size_t core = sizeof CORE_POINTS / sizeof CORE_POINTS[0],
           count = world->kind == WORLD_SOCKETS ? sizeof SOCKET_POINTS / sizeof SOCKET_POINTS[0]
                   : world->kind == WORLD_TELEGRAM
                       ? sizeof TELEGRAM_POINTS / sizeof TELEGRAM_POINTS[0]
                       : 0;
    size_t choice = world_random(random) % (core + count);
    snprintf(point, size, "%s:%u", choice < core ? CORE_POINTS[choice] : points[choice - core],
             1 + (unsigned)(world_random(random) % 25));
}

/* One life of the service: started, put under load, ended. @return false: it ended in order */
static bool live_once(struct world *world, const struct options *options, uint64_t *random)
{
    unsigned kind = (unsigned)(world_random(random) % 20);
    char point[96];
    bool is_named = kind < 7;
    choose_point(world, random, point, sizeof point);
    pid_t child = start_service(world, options, is_named ? point : NULL);
    int status = 0;
    if (kind == 7 || kind == 8) { /* while it starts and recovers */
        struct timespec wait = {0, (long)(world_random(random) % 30000) * 1000};
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        expect_killed(world, status);
        return true;
    }
    if (!wait_ready(world, child, &status)) {
        expect_killed(world, status); /* a named point may lie in recovery */
        return true;
    }
    if (kind == 9) {
        world_sleep_ms((unsigned)(world_random(random) % 80));
        stop_in_order(world, child);
        atomic_store(&world->port, 0);
        return false;
    }
    uint64_t until = now_ms() + (is_named ? 1500 : world_random(random) % 120);
    while (now_ms() < until && waitpid(child, &status, WNOHANG) == 0)
        world_sleep_ms(1);
    if (kill(child, 0) == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    atomic_store(&world->port, 0);
    expect_killed(world, status);
    return true;
}

static void live_and_note(struct world *world, const struct options *options, uint64_t *random)
{
    if (world->life_count == WORLD_LIFE_COUNT_MAX)
        return;
    struct life *life = &world->lives[world->life_count++];
    if (world->kind == WORLD_TELEGRAM)
        telegram_catch_up(world);
    life->start_ns = now_ns();
    life->is_killed = live_once(world, options, random);
    life->end_ns = now_ns();
}

/* -- the whole --------------------------------------------------------------------------------- */
static unsigned run_checker(const struct world *world, const struct options *options)
{
    pid_t child = fork();
    if (child == 0) {
        execl(options->checker, options->checker, world->dir, (char *)NULL);
        _exit(2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 99;
}

static void remove_dir(const struct world *world)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", world->dir, (char *)NULL);
        _exit(2);
    }
    waitpid(child, NULL, 0);
}

static bool is_quiet(const struct world *world)
{
    struct http_answer answer = http_ask(atomic_load(&world->port), "/metrics", "", NULL, 4000);
    bool result = answer.status == 200 && strstr(answer.body, "\nsma_inbox_waiting 0\n") != NULL &&
                  strstr(answer.body, "\nsma_runs_open 0\n") != NULL &&
                  strstr(answer.body, "\nsma_outbox_open 0\n") != NULL &&
                  strstr(answer.body, "\nsma_budget_shares 0\n") != NULL &&
                  (world->kind != WORLD_TELEGRAM || telegram_is_drained(world)) &&
                  (world->kind != WORLD_SOCKETS || sockets_are_drained(world));
    http_answer_fini(&answer);
    return result;
}

/* Budgets are on, and so large that nobody is refused: nothing is reserved for nobody. */
static void check_budgets(struct world *world)
{
    struct http_answer answer = http_ask(atomic_load(&world->port), "/api/status", "", NULL, 4000);
    const char *all = strstr(answer.body, "\"budgets\":{\"shares\":0,\"total\":{\"tokens\":{"
                                          "\"reserved\":0,");
    const char *runs =
        all == NULL ? NULL : strstr(all, "\"runs\":{\"reserved\":0,\"day\":{\"used\":");
    if (answer.status != 200 || runs == NULL ||
        strstr(runs, "\"used\":0}") == strstr(runs, "\"used\":"))
        world_fail(world, "budgets at rest: shares are left, or no run was counted");
    http_answer_fini(&answer);
}

/* One quiet life answers what is left. */
static void live_to_the_end(struct world *world, const struct options *options, pthread_t *threads,
                            unsigned thread_count)
{
    atomic_store(&world->is_stopping, true);
    struct life *life = &world->lives[world->life_count++];
    if (world->kind == WORLD_TELEGRAM)
        telegram_catch_up(world);
    life->start_ns = now_ns();
    pid_t child = start_service(world, options, NULL);
    int status;
    if (!wait_ready(world, child, &status)) {
        world_fail(world, "the last start failed");
        exit(1);
    }
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    for (uint64_t until = now_ms() + QUIET_MS; now_ms() < until && !is_quiet(world);)
        world_sleep_ms(100);
    check_budgets(world);
    stop_in_order(world, child);
    life->end_ns = now_ns();
}

static int drive(struct world *world, const struct options *options)
{
    pthread_t threads[CALLER_COUNT + 1];
    struct caller callers[CALLER_COUNT + 1];
    unsigned thread_count = world->kind == WORLD_SCRIPTED ? CALLER_COUNT + 1 : 1;
    uint64_t random = options->seed;
    for (unsigned i = 0; i < thread_count; i++) {
        void *(*run)(void *) = world->kind == WORLD_TELEGRAM  ? telegram_run
                               : world->kind == WORLD_SOCKETS ? sockets_run
                               : i < CALLER_COUNT             ? caller_run
                                                              : scripted_run;
        callers[i] = (struct caller){world, i, world_random(&random)};
        if (pthread_create(&threads[i], NULL, run, &callers[i]) != 0)
            die("pthread_create");
    }
    for (unsigned i = 0; i < options->kills && atomic_load(&world->failures) == 0; i++)
        live_and_note(world, options, &random);
    live_to_the_end(world, options, threads, thread_count);
    if (world->kind == WORLD_TELEGRAM)
        telegram_report(world);
    if (world->kind == WORLD_SOCKETS)
        sockets_report(world);
    unsigned verdict = run_checker(world, options);
    printf("crash_loop: %u kills, seed %llu, %llu accepted, %llu HTTP answers, %llu broken "
           "promises seen by clients\n",
           options->kills, (unsigned long long)options->seed,
           (unsigned long long)atomic_load(&world->accepted),
           (unsigned long long)atomic_load(&world->answered),
           (unsigned long long)atomic_load(&world->failures));
    return verdict == 0 && atomic_load(&world->failures) == 0 ? 0 : 1;
}

static void parse_options(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"binary", required_argument, NULL, 'b'}, {"checker", required_argument, NULL, 'c'},
        {"kills", required_argument, NULL, 'n'},  {"seed", required_argument, NULL, 's'},
        {"keep", no_argument, NULL, 'k'},         {"telegram", no_argument, NULL, 't'},
        {"sockets", no_argument, NULL, 'w'},      {NULL, 0, NULL, 0}};
    const char *kills = getenv("SMA_KILLS");
    options->kills = kills != NULL && kills[0] != '\0' ? (unsigned)strtoul(kills, NULL, 10) : 200;
    const char *seed = getenv("SMA_SEED");
    options->seed = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    int option;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == 'b')
            options->binary = optarg;
        else if (option == 'c')
            options->checker = optarg;
        else if (option == 'n')
            options->kills = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 's')
            options->seed = strtoull(optarg, NULL, 10);
        else if (option == 'k')
            options->is_kept = true;
        else if (option == 't')
            options->kind = WORLD_TELEGRAM;
        else if (option == 'w')
            options->kind = WORLD_SOCKETS;
        else
            exit(2);
    }
    if (options->binary == NULL || options->checker == NULL) {
        fprintf(stderr, "crash_loop: --binary and --checker are needed\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct options options = {0};
    parse_options(argc, argv, &options);
    signal(SIGPIPE, SIG_IGN);
    static struct world world;
    snprintf(world.dir, sizeof world.dir, "/tmp/sma-crash-XXXXXX");
    if (mkdtemp(world.dir) == NULL)
        die("mkdtemp");
    char path[300];
    snprintf(path, sizeof path, "%s/clients.log", world.dir);
    note_file = fopen(path, "w");
    if (note_file == NULL)
        die(path);
    world.kind = options.kind;
    world.lives = calloc(WORLD_LIFE_COUNT_MAX + 1, sizeof *world.lives);
    if (world.lives == NULL)
        die("calloc");
    if (world.kind == WORLD_TELEGRAM)
        telegram_open(&world);
    if (world.kind == WORLD_SOCKETS)
        sockets_open(&world);
    make_project(&world);
    int status = drive(&world, &options);
    fclose(note_file);
    free(world.lives);
    if (world.kind == WORLD_TELEGRAM)
        fake_telegram_stop(world.telegram.fake);
    if (world.kind == WORLD_SOCKETS)
        sockets_close(&world);
    if (status == 0 && !options.is_kept)
        remove_dir(&world);
    else
        printf("crash_loop: everything is kept in %s\n", world.dir);
    return status;
}
