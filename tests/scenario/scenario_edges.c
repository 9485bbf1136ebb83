/*
 * Aim: the edges of the program between its user and the machine: start files of shells, tokens and
 * keys that change while it runs, few descriptors, a broken configuration, names that hold control
 * characters.
 * Method: run the real binary in private folders.
 *   scenario_edges BINARY
 */
#include "http_client.h"
#include "process.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEGIN "# >>> shipmyagent alias >>>\n"
#define LINE "alias sma=\"shipmyagent\"\n"
#define END "# <<< shipmyagent alias <<<\n"

static char *binary;

static void expect(int status, const char *text, const char *const *words)
{
    char *argv[16] = {binary};
    for (int i = 0; words[i] != NULL; i++)
        argv[i + 1] = (char *)(size_t)words[i];
    char *output = NULL;
    int actual = run_to_end(argv, "", &output, 30000);
    if (actual != status || strstr(output, text) == NULL)
        fprintf(stderr, "status %d, wanted %d and \"%s\":\n%s\n", actual, status, text, output);
    CHECK(actual == status && strstr(output, text) != NULL);
    CHECK(strchr(output, '\x1b') == NULL && strstr(output, "\xc2\x9b") == NULL);
    free(output);
}
#define EXPECT(status, text, ...) expect((status), (text), (const char *const[]){__VA_ARGS__, NULL})

static void must_hold(const struct folder *folder, const char *name, const char *wanted)
{
    char *text = folder_read(folder, name);
    CHECK(text != NULL);
    CHECK_TEXT(wanted, text);
    free(text);
}

/* -- alias ------------------------------------------------------------------------------------- */
CASE(alias_keeps_links_and_modes)
{
    struct folder home;
    char link_path[256], path[256];
    folder_create(&home, NULL);
    CHECK_INT(0, setenv("HOME", home.path, 1));
    folder_write(&home, "dotfiles-bashrc", "export A=1\n");
    snprintf(path, sizeof path, "%s/dotfiles-bashrc", home.path);
    snprintf(link_path, sizeof link_path, "%s/.bashrc", home.path);
    CHECK_INT(0, chmod(path, 0600));
    CHECK_INT(0, symlink("dotfiles-bashrc", link_path));
    EXPECT(0, "changed", "alias", "--shell", "bash");
    struct stat status;
    CHECK(lstat(link_path, &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
    must_hold(&home, "dotfiles-bashrc", "export A=1\n" BEGIN LINE END);
    folder_remove(&home);
}

CASE(alias_never_eats_what_is_not_its_own)
{
    struct folder home;
    folder_create(&home, NULL);
    CHECK_INT(0, setenv("HOME", home.path, 1));
    folder_write(&home, ".bashrc", BEGIN "export MINE=1\n");
    EXPECT(0, "changed", "alias", "--shell", "bash");
    EXPECT(0, "already there", "alias", "--shell", "bash");
    must_hold(&home, ".bashrc", BEGIN "export MINE=1\n" BEGIN LINE END);
    EXPECT(1, "--shell takes bash, zsh or both, not fish", "alias", "--shell", "fish");
    EXPECT(1, "alias: nothing is expected after the options", "alias", "bash");
    char path[256];
    snprintf(path, sizeof path, "%s/.zshrc", home.path);
    CHECK(access(path, F_OK) != 0);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fwrite("a=1\0b=2\n", 1, 8, file) == 8 && fclose(file) == 0);
    EXPECT(1, "not a text file", "alias", "--shell", "zsh");
    struct stat status;
    CHECK(stat(path, &status) == 0 && status.st_size == 8);
    folder_remove(&home);
}

CASE(init_keeps_its_state_to_the_owner)
{
    static const char *const names[] = {".ship/mcp/mcp.json", ".ship/schema/ship.schema.json"};
    struct folder folder;
    char path[256];
    folder_create(&folder, NULL);
    EXPECT(0, "Next:", "init", folder.path, "--yes", "--force", "--provider", "offline");
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", folder.path, names[i]);
        CHECK_INT(0, stat(path, &status));
        CHECK_INT(0600, (long long)(status.st_mode & 0777));
    }
    folder_remove(&folder);
}

/* -- a running service ------------------------------------------------------------------------- */
static int ask_status(const struct service *service, const char *headers)
{
    struct http_answer answer = http_ask(service->port, "/api/status", headers, NULL, 10000);
    int status = answer.status;
    http_answer_fini(&answer);
    return status;
}

static void await_status(const struct service *service, const char *headers, int wanted)
{
    long long until = process_now_ms() + 20000;
    while (ask_status(service, headers) != wanted && process_now_ms() < until)
        process_pause_ms(10);
    CHECK_INT(wanted, ask_status(service, headers));
}

#define OFFLINE "\"llm\":{\"provider\":\"offline\"}"

CASE(a_reload_takes_tokens_from_the_env_file)
{
    struct folder folder;
    struct service service;
    folder_create(&folder, "{" OFFLINE ",\"api\":{\"token\":\"${EDGE_TOKEN}\"}}");
    folder_write(&folder, ".env", "EDGE_TOKEN=first-token-of-two\n");
    CHECK_INT(0, unsetenv("EDGE_TOKEN"));
    service_start(&service, binary, &folder);
    CHECK_INT(200, ask_status(&service, "X-Api-Token: first-token-of-two\r\n"));
    folder_write(&folder, ".env", "EDGE_TOKEN=second-token-of-two\n");
    CHECK_INT(0, kill(service.pid, SIGHUP));
    await_status(&service, "X-Api-Token: second-token-of-two\r\n", 200);
    CHECK_INT(401, ask_status(&service, "X-Api-Token: first-token-of-two\r\n"));
    folder_write(&folder, "ship.json", "{ this is broken");
    CHECK_INT(0, kill(service.pid, SIGHUP));
    process_pause_ms(100);
    CHECK_INT(200, ask_status(&service, "X-Api-Token: second-token-of-two\r\n"));
    CHECK_INT(0, service_stop(&service));
    folder_remove(&folder);
}

CASE(status_knows_long_tokens_and_hides_control_characters)
{
    struct folder folder;
    struct service service;
    char token[1001], json[1400];
    memset(token, 't', sizeof token - 1);
    token[sizeof token - 1] = '\0';
    snprintf(json, sizeof json,
             "{\"name\":\"evil\\u001b[31m\\u009b31m\\nname\"," OFFLINE
             ",\"api\":{\"token\":\"%s\"}}",
             token);
    folder_create(&folder, json);
    service_start(&service, binary, &folder);
    EXPECT(0, "evil[31m31m name", "status", folder.path);
    CHECK_INT(0, service_stop(&service));
    folder_remove(&folder);
}

/* Whoever clones a project runs its ship.json past a terminal before having read it. */
CASE(names_of_a_project_cannot_write_to_the_terminal)
{
    struct folder folder;
    folder_create(&folder, "{\"x\\u001b]0;gone\":1,\"llm\":{\"provider\":\"no\\u009b31mne\"},"
                           "\"adapters\":{\"a\\u001b[2J\":{\"enabled\":true}}}");
    EXPECT(1, "no31mne", "start", folder.path, "--port", "0");
    EXPECT(1, "x]0;gone", "start", folder.path, "--port", "0");
    folder_remove(&folder);
}

/* The lock is taken first, the terminal listens last; in between stands all of recovery. */
CASE(chat_waits_for_a_service_that_starts)
{
    struct folder folder;
    int ready[2];
    char path[264], dir[256], byte;
    folder_create(&folder, "{" OFFLINE "}");
    snprintf(dir, sizeof dir, "%s/.ship", folder.path);
    snprintf(path, sizeof path, "%s/lock", dir);
    CHECK(mkdir(dir, 0700) == 0 && pipe(ready) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)alarm(60);
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready[1], "1", 1) != 1)
            _exit(1);
        process_pause_ms(300);
        close(fd); /* and at once it is the real one's */
        execl(binary, binary, "start", folder.path, "--port", "0", (char *)NULL);
        _exit(1);
    }
    CHECK_INT(1, read(ready[0], &byte, 1));
    char *argv[] = {binary, (char[]){"chat"}, folder.path, NULL}, *output = NULL;
    int status = run_to_end(argv, "hello\n", &output, 30000);
    if (status != 0)
        fprintf(stderr, "status %d: %s\n", status, output);
    CHECK(status == 0 && strstr(output, "You said: hello") != NULL);
    free(output);
    (void)kill(child, SIGTERM); /* it may have found the chat's own service serving */
    CHECK_INT(child, waitpid(child, NULL, 0));
    close(ready[0]);
    close(ready[1]);
    folder_remove(&folder);
}

/* The usual soft limit of a shell is as large as the connection limit alone. */
CASE(few_descriptors_are_raised_at_start)
{
    struct folder folder;
    struct service service;
    struct rlimit before, few;
    folder_create(&folder, "{" OFFLINE "}");
    CHECK_INT(0, getrlimit(RLIMIT_NOFILE, &before));
    few = (struct rlimit){64, before.rlim_max};
    CHECK(few.rlim_max >= 512);
    CHECK_INT(0, setrlimit(RLIMIT_NOFILE, &few));
    service_start(&service, binary, &folder);
    CHECK_INT(0, setrlimit(RLIMIT_NOFILE, &before));
    int fds[150];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)service.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < SMA_COUNT_OF(fds); i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(fds[i] >= 0);
        CHECK_INT(0, connect(fds[i], (struct sockaddr *)&address, sizeof address));
    }
    struct http_answer answer =
        http_ask(service.port, "/api/execute", "", "{\"instructions\":\"hello\"}", 20000);
    CHECK_INT(200, answer.status);
    http_answer_fini(&answer);
    for (size_t i = 0; i < SMA_COUNT_OF(fds); i++)
        close(fds[i]);
    CHECK_INT(0, service_stop(&service));
    folder_remove(&folder);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    check_run_cases(NULL);
    return check_summary();
}
