/*
 * Aim: init offers what the provider itself serves with the key that is there, and takes any name
 * that is typed.
 * Method: the real binary on a pseudo terminal; a server of this process answers GET /v1/models,
 *   with the key only. init_wizard BINARY
 */
#include "process.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static char *binary;

struct wizard
{
    pid_t pid, server;
    int terminal, port;
    char text[65536];
    size_t len;
};

static const char list[] = "{\"object\":\"list\",\"data\":[{\"id\":\"text-embedding-9\"},"
                           "{\"id\":\"house-model-1\"},{\"id\":\"house-model-2\"}]}";

static void serve_one(int listener)
{
    char request[8192] = "", answer[1024];
    int fd = accept(listener, NULL, NULL);
    size_t len = 0;
    while (strstr(request, "\r\n\r\n") == NULL && len < sizeof request - 1) {
        ssize_t done = read(fd, request + len, sizeof request - 1 - len);
        if (done <= 0)
            break;
        len += (size_t)done;
        request[len] = '\0';
    }
    bool is_good = strncmp(request, "GET /v1/models ", 15) == 0 &&
                   strstr(request, "Authorization: Bearer key-of-the-house\r\n") != NULL;
    const char *body = is_good ? list : "{\"error\":{\"message\":\"who are you\"}}";
    int count = snprintf(answer, sizeof answer,
                         "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: "
                         "%zu\r\nConnection: close\r\n\r\n%s",
                         is_good ? "200 OK" : "401 Unauthorized", strlen(body), body);
    CHECK(write(fd, answer, (size_t)count) == count);
    close(fd);
}

static void start_server(struct wizard *wizard)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 8) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    wizard->port = ntohs(address.sin_port);
    wizard->server = fork();
    CHECK(wizard->server >= 0);
    while (wizard->server == 0)
        serve_one(listener);
    close(listener);
}

static void begin(struct wizard *wizard, const struct folder *folder)
{
    *wizard = (struct wizard){0};
    start_server(wizard);
    wizard->pid = forkpty(&wizard->terminal, NULL, NULL, NULL);
    CHECK(wizard->pid >= 0);
    if (wizard->pid == 0) {
        execl(binary, binary, "init", folder->path, "--force", (char *)NULL);
        _exit(127);
    }
}

/* Read until the question is there, then type the answer. */
static void answer(struct wizard *wizard, const char *question, const char *line)
{
    while (strstr(wizard->text, question) == NULL) {
        struct pollfd ready = {.fd = wizard->terminal, .events = POLLIN};
        ssize_t done = poll(&ready, 1, PATIENCE_MS) == 1
                           ? read(wizard->terminal, wizard->text + wizard->len,
                                  sizeof wizard->text - 1 - wizard->len)
                           : 0;
        if (done <= 0) {
            fprintf(stderr, "waited in vain for \"%s\"; so far: %s\n", question, wizard->text);
            exit(1);
        }
        wizard->len += (size_t)done;
        wizard->text[wizard->len] = '\0';
    }
    wizard->len = 0;
    CHECK(dprintf(wizard->terminal, "%s\n", line) > 0);
}

static void end(struct wizard *wizard)
{
    int status;
    char rest[4096];
    while (read(wizard->terminal, rest, sizeof rest) > 0)
        continue;
    CHECK(waitpid(wizard->pid, &status, 0) == wizard->pid && status == 0);
    CHECK(kill(wizard->server, SIGKILL) == 0 && waitpid(wizard->server, NULL, 0) > 0);
    close(wizard->terminal);
}

/* key: in the environment of the command; wanted: what must be offered; typed: what is answered. */
static void talk_to_wizard(const char *key, const char *wanted, const char *typed,
                           const char *model)
{
    struct folder folder;
    struct wizard wizard;
    char url[64], line[128];
    folder_create(&folder, NULL);
    setenv("LLM_API_KEY", key, 1);
    begin(&wizard, &folder);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", wizard.port);
    answer(&wizard, "Name of the agent", "");
    answer(&wizard, "Who answers?", "custom");
    answer(&wizard, "Address of the server", url);
    answer(&wizard, wanted, typed);
    answer(&wizard, "Platform to connect:", "none");
    end(&wizard);
    char *json = folder_read(&folder, "ship.json");
    snprintf(line, sizeof line, "\"model\": \"%s\"", model);
    CHECK(json != NULL && strstr(json, line) != NULL && strstr(json, url) != NULL);
    CHECK(strstr(json, "key-of-the-house") == NULL);
    free(json);
    folder_remove(&folder);
}

static void models_of_the_provider_are_offered(void)
{
    talk_to_wizard("key-of-the-house", "2) house-model-2", "2", "house-model-2");
    /* what cannot talk is left out, so that this is the first */
    talk_to_wizard("key-of-the-house", "1) house-model-1", "1", "house-model-1");
}

static void any_name_is_taken(void)
{
    talk_to_wizard("key-of-the-house", "or any name", "of-tomorrow:9b", "of-tomorrow:9b");
}

static void a_refused_key_leaves_the_name_to_be_typed(void)
{
    talk_to_wizard("wrong", "or any name", "mine", "mine");
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    RUN(models_of_the_provider_are_offered);
    RUN(any_name_is_taken);
    RUN(a_refused_key_leaves_the_name_to_be_typed);
    return 0;
}
