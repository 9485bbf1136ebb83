/*
 * process.c — see process.h. Waiting is for an event with a deadline.
 */
#include "process.h"

#include "http_client.h"

#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY_MS PATIENCE_AWAIT_MS
#define STOP_MS PATIENCE_AWAIT_MS

long long process_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void process_pause_ms(int ms)
{
    clock_rest((unsigned)ms);
}

void folder_create(struct folder *folder, const char *ship_json)
{
    snprintf(folder->path, sizeof folder->path, "/tmp/sma-scenario-XXXXXX");
    CHECK(mkdtemp(folder->path) != NULL);
    folder_write(folder, "Agent.md", "You are being tested.\n");
    if (ship_json != NULL)
        folder_write(folder, "ship.json", ship_json);
}

void folder_write(const struct folder *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

char *folder_read(const struct folder *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    char *text = malloc(4 * 1024 * 1024);
    CHECK(text != NULL);
    size_t len = fread(text, 1, 4 * 1024 * 1024 - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

void folder_remove(struct folder *folder)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", folder->path, (char *)NULL);
        _exit(2);
    }
    CHECK(waitpid(child, NULL, 0) == child);
}

static int read_port(const struct folder *folder)
{
    char *text = folder_read(folder, ".ship/service.json");
    const char *port = text == NULL ? NULL : strstr(text, "\"port\":");
    int number = port == NULL ? 0 : (int)strtol(port + 7, NULL, 10);
    free(text);
    return number;
}

/* -- what the services of this test printed, when it fails ------------------------------------- */
#define TOLD_LOGS_MAX 16
#define TOLD_BYTES 6000
static char told_logs[TOLD_LOGS_MAX][160];
static int told_log_count;

/* The end of a log, or its part from what a sanitizer or an assertion says. */
static void tell_log(const char *path)
{
    static char text[4 * 1024 * 1024];
    static const char *const FINAL[] = {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
                                        "WARNING: ThreadSanitizer",
                                        "runtime error: ", "assertion failed: "};
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    fclose(file);
    const char *from = len > TOLD_BYTES ? text + len - TOLD_BYTES : text;
    for (size_t i = 0; i < SMA_COUNT_OF(FINAL); i++) {
        const char *found = strstr(text, FINAL[i]);
        from = found != NULL ? found : from;
    }
    fprintf(stderr, "-- %s:\n%.*s\n", path, TOLD_BYTES, from);
}

static void tell_logs(int status, void *unused)
{
    (void)unused;
    for (int i = 0; status != 0 && i < told_log_count; i++)
        tell_log(told_logs[i]);
}

/* A test ends at its first failed check and leaves its folders: its output must say why. */
static void remember_log(const char *path)
{
    if (told_log_count == 0)
        CHECK(on_exit(tell_logs, NULL) == 0);
    for (int i = 0; i < told_log_count; i++)
        if (strcmp(told_logs[i], path) == 0)
            return;
    if (told_log_count < TOLD_LOGS_MAX)
        snprintf(told_logs[told_log_count++], sizeof told_logs[0], "%s", path);
}

void service_start(struct service *service, const char *binary, const struct folder *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/.ship/service.json", folder->path);
    (void)unlink(path); /* may be left by a killed one */
    snprintf(service->log, sizeof service->log, "%s/service.log", folder->path);
    remember_log(service->log);
    service->pid = fork();
    CHECK(service->pid >= 0);
    if (service->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int fd = open(service->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
            _exit(2);
        execl(binary, binary, "start", folder->path, "--port", "0", (char *)NULL);
        _exit(2);
    }
    for (long long until = process_now_ms() + READY_MS; process_now_ms() < until;
         process_pause_ms(2)) {
        service->port = read_port(folder);
        if (service->port > 0) {
            http_use_token_of(service->port, folder->path);
            return;
        }
        int status;
        if (waitpid(service->pid, &status, WNOHANG) == service->pid)
            break;
    }
    fprintf(stderr, "the service did not come up\n");
    exit(1); /* its log is told */
}

static int wait_end(pid_t pid, int timeout_ms)
{
    int status;
    for (long long until = process_now_ms() + timeout_ms; process_now_ms() < until;
         process_pause_ms(2))
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, &status, 0) == pid);
    fprintf(stderr, "process %d did not end in %d ms\n", (int)pid, timeout_ms);
    return 255;
}

int service_stop(struct service *service)
{
    kill(service->pid, SIGTERM);
    return wait_end(service->pid, STOP_MS);
}

void service_kill(struct service *service)
{
    kill(service->pid, SIGKILL);
    CHECK(waitpid(service->pid, NULL, 0) == service->pid);
}

int process_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

int server_start(char *const *argv, pid_t *ret_pid)
{
    int pipes[2];
    CHECK(pipe2(pipes, O_CLOEXEC) == 0);
    *ret_pid = fork();
    CHECK(*ret_pid >= 0);
    if (*ret_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pipes[1], STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(2);
    }
    close(pipes[1]);
    char line[64] = "";
    size_t len = 0;
    while (len < sizeof line - 1 && strchr(line, '\n') == NULL) {
        ssize_t got = read(pipes[0], line + len, sizeof line - 1 - len);
        CHECK(got > 0);
        len += (size_t)got;
        line[len] = '\0';
    }
    close(pipes[0]);
    int port = 0;
    CHECK(sscanf(line, "PORT %d", &port) == 1);
    return port;
}

void server_stop(pid_t pid)
{
    kill(pid, SIGTERM);
    (void)wait_end(pid, STOP_MS); /* its verdict is in its log */
}

int run_to_end(char *const *argv, const char *input, char **ret_output, int timeout_ms)
{
    int in[2], out[2];
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        execv(argv[0], argv);
        _exit(2);
    }
    close(in[0]);
    close(out[1]);
    size_t input_len = strlen(input);
    CHECK(input_len < 60000); /* fits a pipe: no deadlock */
    ssize_t written = write(in[1], input, input_len);
    (void)written; /* the program may leave without reading */
    close(in[1]);
    char *text = calloc(1, 1024 * 1024);
    CHECK(text != NULL);
    size_t len = 0;
    struct pollfd wait = {out[0], POLLIN, 0};
    for (long long until = process_now_ms() + timeout_ms;
         process_now_ms() < until && len < 1024 * 1024 - 1;) {
        if (poll(&wait, 1, 50) <= 0)
            continue;
        ssize_t got = read(out[0], text + len, 1024 * 1024 - 1 - len);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    close(out[0]);
    *ret_output = text;
    return wait_end(pid, timeout_ms);
}
