/*
 * Aim: a key goes to the provider whose it is, and to nobody else, whatever else stands in the
 * environment.
 * Method: the real binary with several keys in its environment; a listener of the test's own stands
 *         where the provider should be and reads the head of the request as it was sent.
 *   scenario_provider_keys BINARY
 */
#include "process.h"
#include "support/check.h"
#include "talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_BYTES 16384
#define WAIT_MS 20000
#define ANTHROPIC_KEY "sk-ant-SECRET-1111"
#define OPENAI_KEY "sk-openai-SECRET-2222"
#define DEEPSEEK_KEY "sk-deepseek-SECRET-3333"

static char *binary;

/* -- the listener ------------------------------------------------------------------------------ */
static int listen_here(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(fd, 16) == 0 && getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* The head of one request, which is refused: no second one follows. */
static void read_head(int listener, char *head)
{
    static const char refusal[] = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n"
                                  "Content-Length: 2\r\nConnection: close\r\n\r\n{}";
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    CHECK(poll(&wait, 1, WAIT_MS) == 1);
    wait.fd = accept(listener, NULL, NULL);
    CHECK(wait.fd >= 0);
    size_t len = 0;
    for (head[0] = '\0'; strstr(head, "\r\n\r\n") == NULL; head[len] = '\0') {
        CHECK(poll(&wait, 1, WAIT_MS) == 1 && len < HEAD_BYTES - 1);
        ssize_t got = recv(wait.fd, head + len, HEAD_BYTES - 1 - len, 0);
        CHECK(got > 0);
        len += (size_t)got;
    }
    CHECK(send(wait.fd, refusal, sizeof refusal - 1, MSG_NOSIGNAL) == (ssize_t)sizeof refusal - 1);
    CHECK(shutdown(wait.fd, SHUT_WR) == 0);
    while (recv(wait.fd, (char[4096]){0}, 4096, 0) > 0) {
    }
    close(wait.fd);
}

static bool was_left_alone(int listener)
{
    return accept(listener, NULL, NULL) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* -- the service ------------------------------------------------------------------------------- */
static void configure(struct folder *folder, const char *provider, const char *url,
                      const char *more)
{
    char json[1000];
    snprintf(
        json, sizeof json,
        "{\"name\":\"keys\",\"llm\":{\"provider\":\"%s\",\"model\":\"m-1\",\"baseUrl\":\"%s\"%s}}",
        provider, url, more);
    folder_create(folder, json);
}

static void set_keys(const char *anthropic, const char *openai, const char *deepseek)
{
    const char *const pairs[][2] = {{"ANTHROPIC_API_KEY", anthropic},
                                    {"OPENAI_API_KEY", openai},
                                    {"DEEPSEEK_API_KEY", deepseek},
                                    {"LLM_API_KEY", NULL},
                                    {"API_KEY", NULL}};
    for (size_t i = 0; i < SMA_COUNT_OF(pairs); i++)
        CHECK((pairs[i][1] == NULL ? unsetenv(pairs[i][0]) : setenv(pairs[i][0], pairs[i][1], 1)) ==
              0);
}

/* What the provider's place is asked when somebody writes to the agent. */
static void ask_once(const char *provider, const char *more, char *head)
{
    struct folder folder;
    struct service service;
    struct talk talk;
    int port, listener = listen_here(&port);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", port);
    configure(&folder, provider, url, more);
    service_start(&service, binary, &folder);
    CHECK(was_left_alone(listener)); /* no key is tried out before somebody asks */
    char *body = talk_body("me", NULL, "hello");
    talk_start(&talk, service.port, "/api/execute", "", body);
    read_head(listener, head);
    talk_wait(&talk);
    CHECK_INT(200, talk.answer.status);
    CHECK(strstr(talk.answer.body, "SECRET") == NULL);
    CHECK(was_left_alone(listener));
    talk_fini(&talk);
    free(body);
    CHECK_INT(0, service_stop(&service));
    char *log = folder_read(&folder, "service.log");
    CHECK(log != NULL && strstr(log, "SECRET") == NULL);
    free(log);
    close(listener);
    folder_remove(&folder);
}

static void expect_head(const char *head, const char *wanted)
{
    if (strcasestr(head, wanted) == NULL)
        fprintf(stderr, "wanted %s in:\n%.600s\n", wanted, head);
    CHECK(strcasestr(head, wanted) != NULL);
}

/* Of several keys in a developer's shell one provider sees one. */
CASE(each_provider_is_sent_its_own_key)
{
    char head[HEAD_BYTES];
    set_keys(ANTHROPIC_KEY, OPENAI_KEY, DEEPSEEK_KEY);
    ask_once("openai", "", head);
    expect_head(head, "\r\nAuthorization: Bearer " OPENAI_KEY "\r\n");
    CHECK(strstr(head, ANTHROPIC_KEY) == NULL && strstr(head, DEEPSEEK_KEY) == NULL);
    ask_once("anthropic", "", head);
    expect_head(head, "\r\nx-api-key: " ANTHROPIC_KEY "\r\n");
    CHECK(strstr(head, OPENAI_KEY) == NULL && strstr(head, DEEPSEEK_KEY) == NULL);
    ask_once("deepseek", "", head);
    expect_head(head, "\r\nAuthorization: Bearer " DEEPSEEK_KEY "\r\n");
    CHECK(strstr(head, OPENAI_KEY) == NULL && strstr(head, ANTHROPIC_KEY) == NULL);
}

/* A server of this machine may need no key: it gets none rather than another's. */
CASE(a_local_server_gets_no_key_of_others)
{
    char head[HEAD_BYTES];
    set_keys(ANTHROPIC_KEY, OPENAI_KEY, NULL);
    ask_once("deepseek", ",\"apiKey\":\"${LLM_API_KEY}\"", head);
    CHECK(strstr(head, "SECRET") == NULL);
    ask_once("deepseek", "", head);
    CHECK(strstr(head, "SECRET") == NULL);
    ask_once("custom", "", head);
    CHECK(strstr(head, "SECRET") == NULL);
}

/* The address is this machine's, but not by its name: it counts as one elsewhere. */
CASE(a_named_key_that_is_not_set_ends_the_start)
{
    struct folder folder;
    int port, listener = listen_here(&port);
    char url[64], *output = NULL;
    snprintf(url, sizeof url, "http://0.0.0.0:%d/v1", port);
    set_keys(ANTHROPIC_KEY, OPENAI_KEY, NULL);
    static const char *const settings[] = {",\"apiKey\":\"${LLM_API_KEY}\"", ""};
    static const char *const named[] = {"LLM_API_KEY", "DEEPSEEK_API_KEY"};
    for (size_t i = 0; i < SMA_COUNT_OF(settings); i++) {
        configure(&folder, "deepseek", url, settings[i]);
        const char *argv[] = {binary, "start", folder.path, "--port", "0", NULL};
        CHECK_INT(1, run_to_end((char *const *)argv, "", &output, WAIT_MS));
        CHECK(strstr(output, named[i]) != NULL && strstr(output, "SECRET") == NULL);
        free(output);
        CHECK(was_left_alone(listener));
        folder_remove(&folder);
    }
    close(listener);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    check_run_cases(NULL);
    return check_summary();
}
