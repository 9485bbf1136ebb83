/*
 * bench_footprint — what the program costs while nothing happens, and what stays after much has
 * happened.
 *   start to ready (exec to READY=1), resident memory and CPU of the idle service, against a bare
 *   process that only initialises the same libraries, alternately in the same run; then messages
 *   over many chats, and memory again. bench_footprint --binary PATH --bare PATH [--quick] [--json
 *   FILE]
 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_COUNT 7
#define CHAT_COUNT 1000
#define SENDER_COUNT 8
#define SAMPLE_COUNT 20

struct options
{
    const char *binary, *bare;
};

struct running
{
    pid_t pid;
    uint64_t ready_ns;
};

static char dir[] = "/tmp/sma-footprint-XXXXXX";

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static int listen_notify(char *path, size_t path_max)
{
    snprintf(path, path_max, "%s/notify", dir);
    (void)unlink(path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    struct timeval limit = {20, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("notify socket");
    return fd;
}

static struct running start(const char *const *argv)
{
    char path[128], text[256];
    int notify = listen_notify(path, sizeof path);
    fflush(stdout); /* or the child repeats what is buffered */
    uint64_t begin = bench_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        setenv("NOTIFY_SOCKET", path, 1);
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
            _exit(2);
        execv(argv[0], (char *const *)argv);
        _exit(2);
    }
    ssize_t len;
    do {
        len = recv(notify, text, sizeof text - 1, 0);
        if (len < 0)
            die("the process did not say READY=1");
        text[len] = '\0';
    } while (strstr(text, "READY=1") == NULL);
    uint64_t ready = bench_now_ns() - begin;
    close(notify);
    return (struct running){pid, ready};
}

static void stop(const struct running *running, int number)
{
    kill(running->pid, number);
    waitpid(running->pid, NULL, 0);
}

static uint64_t rss_kib(pid_t pid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    unsigned long long kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmRSS: %llu", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib;
}

/* Voluntary context switches of the actors: what wakes up while nothing happens. The main thread,
 * the supervisor, is left
 * out: it looks at the heartbeats every ten seconds. */
static uint64_t switch_count(pid_t pid)
{
    char command[96];
    snprintf(command, sizeof command, "cat /proc/%d/task/*/status", (int)pid);
    FILE *pipe = popen(command, "r");
    char line[256];
    unsigned long long sum = 0, one, task = 0;
    while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL)
        if (sscanf(line, "Pid: %llu", &one) == 1)
            task = one;
        else if (sscanf(line, "voluntary_ctxt_switches: %llu", &one) == 1 &&
                 task != (unsigned long long)pid)
            sum += one;
    if (pipe != NULL)
        pclose(pipe);
    return sum;
}

static uint64_t cpu_ticks(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    unsigned long long user = 0, system = 0;
    if (file == NULL ||
        fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
               &system) != 2)
        user = system = 0;
    if (file != NULL)
        fclose(file);
    return user + system;
}

/* -- load -------------------------------------------------------------------------------------- */
struct sender
{
    int port;
    unsigned first, count;
};

static atomic_uint refused_count;

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {30, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    return fd;
}

/* One request on a kept connection; the answer's head and body fit one buffer. @return its
 * status */
static int exchange(int fd, const char *request, size_t len, char *answer, size_t answer_max)
{
    if (send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
        return 0;
    size_t have = 0;
    for (;;) {
        ssize_t got = recv(fd, answer + have, answer_max - 1 - have, 0);
        if (got <= 0)
            return 0;
        have += (size_t)got;
        answer[have] = '\0';
        const char *end = strstr(answer, "\r\n\r\n");
        const char *length = strcasestr(answer, "content-length:");
        if (end != NULL && length != NULL &&
            have >= (size_t)(end + 4 - answer) + strtoul(length + 15, NULL, 10))
            return atoi(answer + 9);
    }
}

static void *send_messages(void *user)
{
    const struct sender *sender = user;
    int fd = connect_to(sender->port);
    static _Thread_local char answer[65536];
    for (unsigned i = 0; i < sender->count; i++) {
        unsigned number = sender->first + i;
        char body[256], request[768];
        int body_len =
            snprintf(body, sizeof body,
                     "{\"instructions\":\"message number %u, please answer\",\"chatId\":\"c%u\","
                     "\"messageId\":\"m%u\"}",
                     number, number % CHAT_COUNT, number);
        int len = snprintf(request, sizeof request,
                           "POST /api/execute HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" BENCH_TOKEN_LINE
                           "Prefer: respond-async\r\n"
                           "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                           sender->port, body_len, body);
        int status = exchange(fd, request, (size_t)len, answer, sizeof answer);
        if (status == 202)
            continue;
        atomic_fetch_add(&refused_count, 1);
        i--;
        usleep(2000);
        if (status == 0) {
            close(fd);
            fd = connect_to(sender->port);
        }
    }
    close(fd);
    return NULL;
}

static long metric(int port, const char *name)
{
    static char answer[262144];
    char request[256], wanted[128];
    int fd = connect_to(port);
    int len =
        snprintf(request, sizeof request,
                 "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" BENCH_TOKEN_LINE "\r\n", port);
    int status = exchange(fd, request, (size_t)len, answer, sizeof answer);
    close(fd);
    snprintf(wanted, sizeof wanted, "\n%s ", name);
    const char *hit = status == 200 ? strstr(answer, wanted) : NULL;
    return hit == NULL ? -1 : strtol(hit + strlen(wanted), NULL, 10);
}

static void load(int port, unsigned first, unsigned count)
{
    pthread_t threads[SENDER_COUNT];
    struct sender senders[SENDER_COUNT];
    for (unsigned i = 0; i < SENDER_COUNT; i++) {
        senders[i] =
            (struct sender){port, first + i * (count / SENDER_COUNT), count / SENDER_COUNT};
        pthread_create(&threads[i], NULL, send_messages, &senders[i]);
    }
    for (unsigned i = 0; i < SENDER_COUNT; i++)
        pthread_join(threads[i], NULL);
    while (metric(port, "sma_inbox_waiting") != 0 || metric(port, "sma_runs_open") != 0)
        usleep(20000);
}

/* -- the run ----------------------------------------------------------------------------------- */
static void write_text(const char *project, const char *name, const char *text)
{
    char file[256];
    snprintf(file, sizeof file, "%s/%s", project, name);
    FILE *out = fopen(file, "w");
    if (out == NULL || fputs(text, out) < 0 || fclose(out) != 0)
        die(file);
}

/* A provider that is never asked, so that the HTTP client is initialised as in a real service. */
static const char WITH_PROVIDER[] =
    "{\"llm\":{\"provider\":\"custom\",\"model\":\"m\",\"baseUrl\":\"http://127.0.0.1:9/v1\"}}";
static const char OFFLINE[] =
    "{\"llm\":{\"provider\":\"offline\"},\"queue\":{\"chatWaitingMax\":100000},"
    "\"agent\":{\"concurrency\":8},\"api\":{\"token\":\"" BENCH_TOKEN "\"}}";

static int read_port(const char *project)
{
    char path[256], text[512] = "";
    snprintf(path, sizeof path, "%s/.ship/service.json", project);
    FILE *file = fopen(path, "r");
    if (file == NULL || fread(text, 1, sizeof text - 1, file) == 0)
        die(path);
    fclose(file);
    const char *port = strstr(text, "\"port\":");
    return port == NULL ? 0 : atoi(port + 7);
}

static double median(uint64_t *values)
{
    bench_sort(values, RUN_COUNT);
    return (double)bench_quantile(values, RUN_COUNT, 0.5);
}

static void compare_starts(const struct options *options, const char *project)
{
    uint64_t ours[RUN_COUNT], bare[RUN_COUNT], ours_kib[RUN_COUNT], bare_kib[RUN_COUNT];
    char database[128];
    snprintf(database, sizeof database, "%s/bare.db", dir);
    const char *const our_argv[] = {options->binary, "start", project, "--port", "0", NULL};
    const char *const bare_argv[] = {options->bare, database, NULL};
    for (int i = 0; i < RUN_COUNT; i++) {
        struct running running = start(our_argv);
        usleep(300000);
        ours[i] = running.ready_ns;
        ours_kib[i] = rss_kib(running.pid);
        stop(&running, SIGTERM);
        running = start(bare_argv);
        usleep(300000);
        bare[i] = running.ready_ns;
        bare_kib[i] = rss_kib(running.pid);
        stop(&running, SIGKILL);
    }
    double our_ms = median(ours) / 1e6, bare_ms = median(bare) / 1e6;
    bench_row("start to ready", our_ms, "ms", bare_ms, our_ms / bare_ms, "<= 1.5");
    double our_mib = median(ours_kib) / 1024, bare_mib = median(bare_kib) / 1024;
    bench_row("idle RSS, all adapters", our_mib, "MiB", bare_mib, our_mib / bare_mib, "<= 1.5");
}

static void measure_idle(pid_t pid, unsigned seconds)
{
    sleep(6); /* an actor may wake within its first five seconds */
    uint64_t ticks = cpu_ticks(pid), switches = switch_count(pid);
    sleep(seconds);
    double cpu = (double)(cpu_ticks(pid) - ticks) / (double)sysconf(_SC_CLK_TCK) / seconds * 100;
    bench_row("idle CPU", cpu, "%", NAN, NAN, "<= 0 %");
    bench_row("idle wake-ups of all actors", (double)(switch_count(pid) - switches) / seconds,
              "per s", NAN, NAN, "<= 0 per s");
}

static void measure_growth(pid_t pid, int port, unsigned count, uint64_t idle_kib)
{
    uint64_t begin = bench_now_ns();
    uint64_t samples[SAMPLE_COUNT];
    for (unsigned i = 0; i < SAMPLE_COUNT; i++) {
        load(port, i * (count / SAMPLE_COUNT), count / SAMPLE_COUNT);
        samples[i] = rss_kib(pid);
    }
    double seconds = (double)(bench_now_ns() - begin) / 1e9;
    bench_row("messages answered", count / seconds, "per s", NAN, NAN, NULL);
    bench_row("RSS after them, above idle",
              ((double)samples[SAMPLE_COUNT - 1] - (double)idle_kib) / 1024, "MiB", NAN, NAN,
              "<= 20 MiB");
    bench_row("RSS growth over the last half",
              ((double)samples[SAMPLE_COUNT - 1] - (double)samples[SAMPLE_COUNT / 2]) / 1024, "MiB",
              NAN, NAN, "<= 2 MiB");
    bench_row("requests refused and repeated", (double)atomic_load(&refused_count), "", NAN, NAN,
              NULL);
}

int main(int argc, char **argv)
{
    /* the binaries first, so that the rest are the options every benchmark has */
    struct options options = {0};
    if (argc < 5 || strcmp(argv[1], "--binary") != 0 || strcmp(argv[3], "--bare") != 0) {
        fprintf(stderr,
                "usage: bench_footprint --binary PATH --bare PATH [--quick] [--json FILE]\n");
        return 2;
    }
    options.binary = argv[2];
    options.bare = argv[4];
    bench_open(argc - 4, argv + 4, "footprint");
    if (mkdtemp(dir) == NULL)
        return 2;
    char project[128];
    snprintf(project, sizeof project, "%s/project", dir);
    if (mkdir(project, 0700) != 0)
        die("mkdir");
    write_text(project, "Agent.md", "You answer.\n");
    write_text(project, "ship.json", WITH_PROVIDER);
    compare_starts(&options, project);
    write_text(project, "ship.json", OFFLINE);
    const char *const our_argv[] = {options.binary, "start", project, "--port", "0", NULL};
    struct running running = start(our_argv);
    measure_idle(running.pid, bench_is_quick ? 3 : 10);
    measure_growth(running.pid, read_port(project), bench_is_quick ? 8000 : 100000,
                   rss_kib(running.pid));
    stop(&running, SIGTERM);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    FILE *remove = popen(command, "r");
    if (remove == NULL || pclose(remove) != 0)
        return 1;
    return bench_close();
}
