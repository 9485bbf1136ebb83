/*
 * bench_ingress — messages into the real program over HTTP.
 *   saturated: accepted messages/s and latency with 64 kept connections (Prefer: respond-async),
 *              against a bare libwebsockets server that only answers and against the same HTTP
 *              adapter before a store that keeps nothing; the three take turns, medians of the
 *              turns are compared.
 *   idle:      one message at a time. Client's send -> 202 (durable), against a bare write +
 *   fdatasync; client's send ->
 *              first byte of the model request at a sink, with a session of 50 messages, against
 *              bare_chain.
 *   bench_ingress --binary PATH [--quick] [--json FILE]; the bare_* programs are looked for beside
 *   this one.
 */
#include "bench.h"
#include "ingress_load.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CONNECTION_COUNT 64
#define TURN_COUNT_MAX 5
#define WARM_UP_S 0.5
#define IDLE_ROUND_COUNT 5
#define SYNC_COUNT_MAX 100
#define CHILD_COUNT_MAX 64
#define SESSION_TURN_COUNT 26 /* 52 messages: a question and an answer each */

extern char **environ;
static char work_dir[] = "/tmp/sma-ingress-XXXXXX";
static char here[PATH_MAX];

static pid_t children[CHILD_COUNT_MAX];

/* However this ends, nothing it started stays. */
static void kill_children(void)
{
    for (size_t i = 0; i < CHILD_COUNT_MAX; i++)
        if (children[i] > 0)
            kill(children[i], SIGKILL);
}

static void keep_child(pid_t pid, pid_t instead_of)
{
    for (size_t i = 0; i < CHILD_COUNT_MAX; i++)
        if (children[i] == instead_of) {
            children[i] = pid;
            return;
        }
}

static void die(const char *what)
{
    fprintf(stderr, "bench_ingress: %s (%s)\n", what, strerror(errno));
    exit(2);
}

/* -- processes --------------------------------------------------------------------------------- */

struct process
{
    pid_t pid;
    int port, out;
};

static pid_t spawn(const char *const argv[], int *ret_out)
{
    int pipes[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        die("pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) != 0)
        die(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    *ret_out = pipes[0];
    keep_child(pid, 0);
    return pid;
}

static struct process start_bare(const char *name, const char *argument)
{
    char path[PATH_MAX + 64], line[32] = "";
    snprintf(path, sizeof path, "%s/%s", here, name);
    const char *argv[] = {path, argument, NULL};
    struct process process;
    process.pid = spawn(argv, &process.out);
    size_t have = 0;
    while (have < sizeof line - 1 && strchr(line, '\n') == NULL) {
        ssize_t got = read(process.out, line + have, sizeof line - 1 - have);
        if (got <= 0)
            die(name);
        have += (size_t)got;
    }
    process.port = (int)strtol(line, NULL, 10);
    return process;
}

static void stop(struct process *process)
{
    int status;
    kill(process->pid, SIGTERM);
    waitpid(process->pid, &status, 0);
    keep_child(0, process->pid);
    close(process->out);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "we");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        die(path);
}

/* A fresh project; sink_port 0 = the offline model. */
static struct process start_service(const char *binary, const char *name, int sink_port)
{
    char dir[200], json[500], path[300], text[512];
    snprintf(dir, sizeof dir, "%s/%s", work_dir, name);
    if (mkdir(dir, 0700) != 0)
        die(dir);
    write_file(dir, "Agent.md", "# Role\nYou answer briefly.\n");
    if (sink_port == 0)
        snprintf(json, sizeof json,
                 "{\"llm\":{\"provider\":\"offline\",\"model\":\"offline\"},"
                 "\"queue\":{\"chatWaitingMax\":100000},\"api\":{\"token\":\"" BENCH_TOKEN "\"}}");
    else
        snprintf(json, sizeof json,
                 "{\"llm\":{\"provider\":\"custom\",\"model\":\"m\",\"apiKey\":\"k\","
                 "\"baseUrl\":\"http://127.0.0.1:%d/v1\"},\"api\":{\"token\":\"" BENCH_TOKEN "\"}}",
                 sink_port);
    write_file(dir, "ship.json", json);
    const char *argv[] = {binary, "start", dir, "--port", "0", NULL};
    struct process process = {.port = 0};
    process.pid = spawn(argv, &process.out);
    snprintf(path, sizeof path, "%s/.ship/service.json", dir);
    for (int tries = 0; tries < 1000 && process.port == 0; tries++) {
        usleep(10000);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        if (fd >= 0)
            close(fd);
        text[got > 0 ? got : 0] = '\0';
        const char *port = strstr(text, "\"port\":");
        process.port = port == NULL ? 0 : (int)strtol(port + 7, NULL, 10);
    }
    if (process.port == 0)
        die("the service did not start");
    return process;
}

/* -- saturated --------------------------------------------------------------------------------- */

struct figures
{
    double rate, p50, p99, p999;
};

static struct figures measure(int port, double seconds, size_t *refused)
{
    struct load_result result = load_run(port, CONNECTION_COUNT, WARM_UP_S);
    load_fini(&result);
    result = load_run(port, CONNECTION_COUNT, seconds);
    struct figures figures = {
        result.per_second, (double)bench_quantile(result.latencies_ns, result.count, 0.5) / 1e3,
        (double)bench_quantile(result.latencies_ns, result.count, 0.99) / 1e3,
        (double)bench_quantile(result.latencies_ns, result.count, 0.999) / 1e3};
    *refused += result.refused_count;
    load_fini(&result);
    return figures;
}

static struct figures median_of(struct figures *all, size_t count)
{
    double rate[TURN_COUNT_MAX], p50[TURN_COUNT_MAX], p99[TURN_COUNT_MAX], p999[TURN_COUNT_MAX];
    for (size_t i = 0; i < count; i++) {
        rate[i] = all[i].rate;
        p50[i] = all[i].p50;
        p99[i] = all[i].p99;
        p999[i] = all[i].p999;
    }
    return (struct figures){bench_median(rate, count), bench_median(p50, count),
                            bench_median(p99, count), bench_median(p999, count)};
}

static void bench_saturated(const char *binary)
{
    struct figures ours[TURN_COUNT_MAX], lws[TURN_COUNT_MAX], bare[TURN_COUNT_MAX];
    size_t turns = bench_is_quick ? 3 : TURN_COUNT_MAX, refused = 0, ignored = 0;
    double seconds = bench_is_quick ? 0.7 : 2;
    struct process bare_lws = start_bare("bare_lws", NULL),
                   bare_nostore = start_bare("bare_nostore", NULL);
    for (size_t i = 0; i < turns;
         i++) { /* a fresh service a turn: its backlog does not weigh on the others' turns */
        char name[32];
        snprintf(name, sizeof name, "saturated%zu", i);
        lws[i] = measure(bare_lws.port, seconds, &ignored);
        bare[i] = measure(bare_nostore.port, seconds, &ignored);
        struct process service = start_service(binary, name, 0);
        ours[i] = measure(service.port, seconds, &refused);
        kill(service.pid, SIGKILL); /* what waits there is of no use to anybody */
        stop(&service);
    }
    stop(&bare_lws);
    stop(&bare_nostore);
    struct figures our = median_of(ours, turns), their = median_of(lws, turns),
                   chain = median_of(bare, turns);
    bench_row("accepted, 64 connections (vs bare lws)", our.rate, "msg/s", their.rate,
              our.rate / their.rate, ">= 0.45");
    bench_row("accepted, 64 connections (vs no store)", our.rate, "msg/s", chain.rate,
              our.rate / chain.rate, ">= 0.75");
    bench_row("send to durable p50, saturated (vs bare lws)", our.p50, "us", their.p50,
              our.p50 / their.p50, NULL);
    bench_row("send to durable p99, saturated", our.p99, "us", their.p99, our.p99 / their.p99,
              NULL);
    bench_row("send to durable p99.9, saturated", our.p999, "us", their.p999, our.p999 / their.p999,
              NULL);
    bench_row("refused while saturated", (double)refused, "msg", NAN, NAN, NULL);
}

/* -- idle -------------------------------------------------------------------------------------- */

/* p50 of `count` bare appends, each synced; microseconds. */
static double bare_sync_p50(size_t count)
{
    static char line[300];
    uint64_t samples[SYNC_COUNT_MAX];
    char path[200];
    snprintf(path, sizeof path, "%s/bare.log", work_dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    memset(line, 'x', sizeof line);
    for (size_t i = 0; i < count; i++) {
        usleep(2000);
        uint64_t before = bench_now_ns();
        if (write(fd, line, sizeof line) != sizeof line || fdatasync(fd) != 0)
            die("write and fdatasync");
        samples[i] = bench_now_ns() - before;
    }
    close(fd);
    bench_sort(samples, count);
    return (double)bench_quantile(samples, count, 0.5) / 1e3;
}

static void bench_idle_durable(const char *binary)
{
    double bare[IDLE_ROUND_COUNT], p50s[IDLE_ROUND_COUNT], p99s[IDLE_ROUND_COUNT];
    struct process service = start_service(binary, "idle", 0);
    struct load_result warm = load_paced(service.port, 50, 5000);
    load_fini(&warm);
    struct load_histogram before = load_histogram_read(service.port, "sma_read_to_durable_seconds");
    for (size_t i = 0; i < IDLE_ROUND_COUNT; i++) { /* taking turns */
        bare[i] = bare_sync_p50(bench_is_quick ? 40 : SYNC_COUNT_MAX);
        struct load_result result = load_paced(service.port, bench_is_quick ? 60 : 300, 5000);
        p50s[i] = (double)bench_quantile(result.latencies_ns, result.count, 0.5) / 1e3;
        p99s[i] = (double)bench_quantile(result.latencies_ns, result.count, 0.99) / 1e3;
        load_fini(&result);
    }
    struct load_histogram after = load_histogram_read(service.port, "sma_read_to_durable_seconds");
    stop(&service);
    double sync = bench_median(bare, IDLE_ROUND_COUNT),
           p50 = load_histogram_quantile(&before, &after, 0.5);
    bench_row("bytes read to durable p50, idle (vs fdatasync)", p50, "us", sync, p50 / sync,
              "<= 3");
    bench_row("bytes read to durable p99, idle", load_histogram_quantile(&before, &after, 0.99),
              "us", NAN, NAN, NULL);
    bench_row("bytes read to durable p99.9, idle", load_histogram_quantile(&before, &after, 0.999),
              "us", NAN, NAN, NULL);
    bench_row("send to durable p50, idle, at the client", bench_median(p50s, IDLE_ROUND_COUNT),
              "us", NAN, NAN, NULL);
    bench_row("send to durable p99, idle, at the client", bench_median(p99s, IDLE_ROUND_COUNT),
              "us", NAN, NAN, NULL);
}

/* One message: from the client's send to the first byte of the model request at the sink. */
static uint64_t one_turn(int fd, int port, bool has_runs)
{
    char id[32] = "", path[80], answer[8192];
    uint64_t before = bench_now_ns();
    if (load_post(fd, port, "talk", id) / 100 != 2)
        die("message not accepted");
    uint64_t seen = sink_wait(before);
    if (seen == 0)
        die("no model request came");
    if (has_runs) {
        snprintf(path, sizeof path, "/api/runs/%s?wait=10", id);
        if (load_get(fd, port, path, answer, sizeof answer) != 200)
            die("run not finished");
    }
    usleep(3000);
    return seen - before;
}

static void bench_idle_model(const char *binary)
{
    size_t count = bench_is_quick ? 200 : 1000;
    int sink_port = sink_start();
    char argument[16];
    snprintf(argument, sizeof argument, "%d", sink_port);
    struct process chain = start_bare("bare_chain", argument);
    struct process service = start_service(binary, "model", sink_port);
    uint64_t *ours = calloc(count, sizeof *ours), *bare = calloc(count, sizeof *bare);
    int to_service = load_connect(service.port), to_chain = load_connect(chain.port);
    if (ours == NULL || bare == NULL)
        die("calloc");
    for (int i = 0; i < SESSION_TURN_COUNT; i++)
        (void)one_turn(to_service, service.port, true);
    for (size_t i = 0; i < count; i++) { /* taking turns: both see the same neighbours */
        bare[i] = one_turn(to_chain, chain.port, false);
        ours[i] = one_turn(to_service, service.port, true);
    }
    close(to_service);
    close(to_chain);
    stop(&chain);
    stop(&service);
    bench_sort(ours, count);
    bench_sort(bare, count);
    double p50 = (double)bench_quantile(ours, count, 0.5) / 1e3,
           p99 = (double)bench_quantile(ours, count, 0.99) / 1e3;
    double p999 = (double)bench_quantile(ours, count, 0.999) / 1e3;
    double bare_p50 = (double)bench_quantile(bare, count, 0.5) / 1e3;
    double bare_p99 = (double)bench_quantile(bare, count, 0.99) / 1e3;
    bench_row("send to model request p50, idle (vs chain)", p50, "us", bare_p50, p50 / bare_p50,
              "<= 2");
    bench_row("send to model request p99 (vs own p50)", p99, "us", p50, p99 / p50, "<= 10");
    bench_row("send to model request p99.9", p999, "us", bare_p99, NAN, NULL);
    bench_row("bare chain p50", bare_p50, "us", NAN, NAN, "<= 350 us");
    free(ours);
    free(bare);
}

/* --binary is ours, the rest belongs to bench.h. */
static const char *take_binary(int *argc, char **argv)
{
    const char *binary = NULL;
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--binary") == 0 && i + 1 < *argc)
            binary = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
    return binary;
}

int main(int argc, char **argv)
{
    static char self[PATH_MAX];
    const char *binary = take_binary(&argc, argv);
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (binary == NULL || len <= 0) {
        fprintf(stderr, "usage: bench_ingress --binary PATH [--quick] [--json FILE]\n");
        return 2;
    }
    snprintf(here, sizeof here, "%s", dirname(self));
    signal(SIGPIPE, SIG_IGN);
    atexit(kill_children);
    if (mkdtemp(work_dir) == NULL)
        die("mkdtemp");
    bench_open(argc, argv, "ingress");
    bench_saturated(binary);
    bench_idle_durable(binary);
    bench_idle_model(binary);
    const char *argv_rm[] = {"/bin/rm", "-rf", work_dir, NULL};
    int out, status;
    pid_t pid = spawn(argv_rm, &out);
    waitpid(pid, &status, 0);
    keep_child(0, pid);
    close(out);
    return bench_close();
}
