/*
 * load_place.c — the copy's folder, the processes that run on it, and what they cost.
 */
#include "load.h"

#include "platform/http_client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY_MS 60000
#define STOP_MS 30000
#define LOG_TAIL_BYTES 2000

static bool fail(const char *what)
{
    load_complain("%s: %s", what, strerror(errno));
    return false;
}

static void pause_ms(long ms)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
}

bool load_place_make(struct load_place *place)
{
    const char *root = getenv("TMPDIR");
    uint8_t bytes[16];
    struct statfs status;
    /* not /tmp, which is memory on many machines: what is written there costs nothing */
    snprintf(place->folder, sizeof place->folder, "%s/shipmyagent-bench-XXXXXX",
             root == NULL || root[0] == '\0' ? "/var/tmp" : root);
    if (mkdtemp(place->folder) == NULL) {
        bool is_made = fail(place->folder);
        place->folder[0] = '\0';
        return is_made;
    }
    place->is_in_memory = statfs(place->folder, &status) == 0 && status.f_type == TMPFS_MAGIC;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return fail("getrandom");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(place->token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* -- processes --------------------------------------------------------------------------------- */
/* Nothing of the user's environment but what a process needs to run: a key there is a key, too. */
static void clear_environment(const char *home)
{
    static const char *const kept[] = {
        "PATH",         "LANG",          "LC_ALL",       "TZ",          "TMPDIR",
        "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"};
    char *values[SMA_COUNT_OF(kept)];
    for (size_t i = 0; i < SMA_COUNT_OF(kept); i++) {
        const char *value = getenv(kept[i]);
        values[i] = value == NULL ? NULL : strdup(value);
    }
    clearenv();
    for (size_t i = 0; i < SMA_COUNT_OF(kept); i++)
        if (values[i] != NULL)
            setenv(kept[i], values[i], 1);
    setenv("HOME", home, 1);
}

/* `out`: where its output goes; `err`: its complaints. */
static pid_t start(const struct load_place *place, const char *const *argv, int out, int err)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); /* Ctrl-C is for this program, which ends the others in order */
    if (getppid() != parent || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(127);
    clear_environment(place->folder);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    load_complain("%s: %s", argv[0], strerror(errno));
    _exit(127);
}

void load_stop(struct load_child *child)
{
    if (child->pid <= 0)
        return;
    kill(child->pid, SIGCONT); /* somebody may have stopped it */
    kill(child->pid, SIGTERM);
    for (int ms = 0; ms < STOP_MS; ms += 5) {
        if (waitpid(child->pid, NULL, WNOHANG) == child->pid) {
            child->pid = 0;
            return;
        }
        pause_ms(5);
    }
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    child->pid = 0;
}

/* simulate-model stands beside this program. */
bool load_start_model(struct load_place *place, const struct load_plan *plan)
{
    char path[PATH_MAX + 32], delay[32], line[64] = "";
    int pipes[2];
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *slash = len <= 0 ? NULL : memrchr(path, '/', (size_t)len);
    if (slash == NULL || pipe2(pipes, O_CLOEXEC) != 0)
        return fail("start");
    snprintf(slash, sizeof path - (size_t)(slash - path), "/simulate-model");
    snprintf(delay, sizeof delay, "%ld", plan->model_ms);
    const char *argv[] = {path, "--lax", "--plain", "--delay-ms", delay, NULL};
    place->model.pid = start(place, argv, pipes[1], STDERR_FILENO);
    close(pipes[1]);
    for (size_t have = 0; have < sizeof line - 1 && strchr(line, '\n') == NULL;) {
        ssize_t got = read(pipes[0], line + have, sizeof line - 1 - have);
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    close(pipes[0]);
    if (sscanf(line, "PORT %d", &place->model.port) == 1)
        return true;
    load_complain("the simulated model did not start");
    return false;
}

static int read_port(const char *path)
{
    char text[1024];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    const char *port = strstr(text, "\"port\":");
    return port == NULL ? 0 : (int)strtol(port + 7, NULL, 10);
}

void load_show_output(const struct load_place *place)
{
    char path[PATH_MAX + 32], text[LOG_TAIL_BYTES + 1];
    size_t len = 0;
    snprintf(path, sizeof path, "%s/output.log", place->folder);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fseek(file, -LOG_TAIL_BYTES, SEEK_END) != 0)
            rewind(file);
        len = fread(text, 1, LOG_TAIL_BYTES, file);
        fclose(file);
    }
    text[len] = '\0';
    fprintf(stderr, "%s\n", text);
}

bool load_spawn_service(struct load_place *place, const struct load_plan *plan)
{
    char log[PATH_MAX + 32], path[PATH_MAX + 32];
    snprintf(log, sizeof log, "%s/output.log", place->folder);
    snprintf(path, sizeof path, "%s/.ship/service.json", place->folder);
    (void)unlink(path); /* may be left by a killed one */
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(log);
    const char *argv[] = {plan->program, "start", place->folder, "--port", "0", NULL};
    place->service.pid = start(place, argv, fd, fd);
    close(fd);
    return place->service.pid > 0 || fail("fork");
}

bool load_is_ready(struct load_place *place)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/.ship/service.json", place->folder);
    place->service.port = read_port(path);
    return place->service.port > 0;
}

bool load_start_service(struct load_place *place, const struct load_plan *plan)
{
    if (!load_spawn_service(place, plan))
        return false;
    for (uint64_t until = load_now_ns() + READY_MS * 1000000ull;
         load_now_ns() < until && !load_is_interrupted; pause_ms(2)) {
        if (load_is_ready(place))
            return true;
        if (waitpid(place->service.pid, NULL, WNOHANG) == place->service.pid) {
            place->service.pid = 0;
            break;
        }
    }
    if (load_is_interrupted)
        return false;
    load_complain("the copy of the configuration did not start:");
    load_show_output(place);
    return false;
}

void load_place_remove(struct load_place *place)
{
    load_stop(&place->service);
    load_stop(&place->model);
    if (place->folder[0] == '\0')
        return;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", place->folder, (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

/* -- what it costs ----------------------------------------------------------------------------- */
static uint64_t read_written(pid_t pid)
{
    char path[64], line[256];
    unsigned long long value = 0;
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "write_bytes: %llu", &value) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return value;
}

static double read_cpu(pid_t pid)
{
    char path[64];
    unsigned long long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL &&
        fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
               &system) != 2)
        user = system = 0;
    if (file != NULL)
        fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

bool load_read(const struct load_place *place, struct load_reading *ret)
{
    char header[64];
    snprintf(header, sizeof header, "X-Api-Token: %s\r\n", place->token);
    struct http_request request = {.port = place->service.port,
                                   .method = "GET",
                                   .path = "/metrics",
                                   .headers = header,
                                   .timeout_ms = STOP_MS};
    struct http_answer answer = http_exchange(&request);
    if (answer.status != 200) {
        load_complain("GET /metrics was answered with %d", answer.status);
        http_answer_fini(&answer);
        return false;
    }
    *ret = (struct load_reading){answer.body, read_cpu(place->service.pid),
                                 read_written(place->service.pid)};
    return true;
}

void load_reading_fini(struct load_reading *reading)
{
    free(reading->metrics);
    reading->metrics = NULL;
}

bool load_is_quiet(const struct load_place *place)
{
    struct load_reading reading;
    if (!load_read(place, &reading))
        return false;
    bool is_quiet = strstr(reading.metrics, "\nsma_inbox_waiting 0\n") != NULL &&
                    strstr(reading.metrics, "\nsma_runs_open 0\n") != NULL &&
                    strstr(reading.metrics, "\nsma_outbox_open 0\n") != NULL;
    load_reading_fini(&reading);
    return is_quiet;
}
