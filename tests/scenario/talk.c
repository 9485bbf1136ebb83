/*
 * talk.c — see talk.h.
 */
#include "talk.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static void *run(void *argument)
{
    struct talk *talk = argument;
    talk->answer = http_ask(talk->port, talk->path, talk->headers, talk->body, TALK_MS);
    talk->ended_ms = process_now_ms();
    return NULL;
}

void talk_start(struct talk *talk, int port, const char *path, const char *headers,
                const char *body)
{
    *talk = (struct talk){.port = port, .headers = headers, .path = strdup(path)};
    talk->body = body == NULL ? NULL : strdup(body);
    talk->started_ms = process_now_ms();
    CHECK(talk->path != NULL && (talk->body != NULL || body == NULL));
    CHECK(pthread_create(&talk->thread, NULL, run, talk) == 0);
}

void talk_wait(struct talk *talk)
{
    CHECK(pthread_join(talk->thread, NULL) == 0);
}

void talk_fini(struct talk *talk)
{
    free(talk->path);
    free(talk->body);
    http_answer_fini(&talk->answer);
}

char *talk_body(const char *chat_id, const char *message_id, const char *text)
{
    json_t *root = json_pack("{s:s, s:s, s:s*}", "chatId", chat_id, "instructions", text,
                             "messageId", message_id);
    char *body = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    CHECK(body != NULL);
    return body;
}

json_t *talk_json(const struct http_answer *answer)
{
    json_error_t error;
    json_t *root = answer->body == NULL ? NULL : json_loads(answer->body, 0, &error);
    if (root == NULL)
        fprintf(stderr, "status %d, no JSON: %s\n", answer->status,
                answer->body == NULL ? "-" : answer->body);
    CHECK(root != NULL);
    return root;
}

json_t *talk_execute(int port, int status, const char *chat_id, const char *message_id,
                     const char *text)
{
    char *body = talk_body(chat_id, message_id, text);
    struct http_answer answer = http_ask(port, "/api/execute", "", body, TALK_MS);
    if (answer.status != status)
        fprintf(stderr, "%s: %s\n", body, answer.body == NULL ? "no answer" : answer.body);
    CHECK_INT(status, answer.status);
    json_t *root = talk_json(&answer);
    http_answer_fini(&answer);
    free(body);
    return root;
}

const char *talk_text(const json_t *root, const char *member)
{
    const char *text = json_string_value(json_object_get(root, member));
    return text == NULL ? "" : text;
}

void talk_expect(int port, const char *chat_id, const char *text, const char *part)
{
    json_t *root = talk_execute(port, 200, chat_id, NULL, text);
    if (!json_is_true(json_object_get(root, "success")) ||
        strstr(talk_text(root, "output"), part) == NULL)
        fprintf(stderr, "%s: \"%s\" gave \"%s\", wanted \"%s\"\n", chat_id, text,
                talk_text(root, "output"), part);
    CHECK(json_is_true(json_object_get(root, "success")));
    CHECK(strstr(talk_text(root, "output"), part) != NULL);
    json_decref(root);
}

json_t *talk_get(int port, const char *path)
{
    struct http_answer answer = http_ask(port, path, "", NULL, TALK_MS);
    CHECK_INT(200, answer.status);
    json_t *root = talk_json(&answer);
    http_answer_fini(&answer);
    return root;
}

/* -- bytes ------------------------------------------------------------------------------------- */
int raw_connect(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

bool raw_send(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        struct pollfd wait = {fd, POLLOUT, 0};
        CHECK(poll(&wait, 1, 20000) == 1);
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        len -= (size_t)sent;
    }
    return true;
}

char *raw_read(int fd, const char *part, int timeout_ms)
{
    size_t len = 0, size = 65536;
    char *text = calloc(1, size);
    CHECK(text != NULL);
    long long until = process_now_ms() + timeout_ms;
    while (part == NULL || strstr(text, part) == NULL) {
        long long left = until - process_now_ms();
        struct pollfd wait = {fd, POLLIN, 0};
        if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
            break;
        if (size - len < 4096) {
            size *= 2;
            text = realloc(text, size);
            CHECK(text != NULL);
        }
        ssize_t got = recv(fd, text + len, size - len - 1, 0);
        if (got <= 0)
            break;
        len += (size_t)got;
        text[len] = '\0';
    }
    return text;
}
