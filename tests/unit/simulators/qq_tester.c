/* qq_tester.c — see qq_tester.h. */
#include "qq_tester.h"

#include "scenario/talk.h"

#include <stdarg.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX (1 << 20)

struct qq_tester tester;

void qq_start(void)
{
    static const char *const chats[] = {ANN_CHAT, TEAM_CHAT, PLACE_CHAT, DM_CHAT};
    tester = (struct qq_tester){.fake = fake_qq_start(0)};
    tester.client = fake_qq_client(tester.fake);
    tester.port = fake_qq_port(tester.fake);
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        platform_tell(&tester.client, "{s:s,s:s}", "do", "chat", "chat", chats[i]);
    qq_log_in();
}

void qq_stop(void)
{
    fake_qq_stop(tester.fake);
}

static struct http_answer read_answer(int fd)
{
    struct http_answer none = {0};
    char *bytes = calloc(1, ANSWER_BYTES_MAX + 1), *end = NULL;
    size_t len = 0;
    ssize_t got = 1;
    CHECK(bytes != NULL);
    while (len < ANSWER_BYTES_MAX && got > 0) {
        end = strstr(bytes, "\r\n\r\n");
        const char *length = strstr(bytes, "Content-Length: ");
        size_t want = length == NULL ? 0 : strtoul(length + 16, NULL, 10);
        if (end != NULL && len >= (size_t)(end + 4 - bytes) + want) {
            struct http_answer answer = {
                .status = (int)strtol(bytes + 9, NULL, 10), .body = bytes, .len = want};
            memmove(bytes, end + 4, want);
            bytes[want] = '\0';
            return answer;
        }
        got = recv(fd, bytes + len, ANSWER_BYTES_MAX - len, 0);
        len += got > 0 ? (size_t)got : 0;
    }
    free(bytes);
    return none;
}

struct http_answer qq_ask(const char *method, const char *path, const char *token, const char *body)
{
    char head[1024];
    int fd = raw_connect(tester.port);
    struct timeval limit = {2, 0};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    int len = snprintf(
        head, sizeof head, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n%s%s%s\r\n",
        method, path, body == NULL ? 0 : strlen(body),
        token[0] == '\0' ? "" : "Authorization: ", token, token[0] == '\0' ? "" : "\r\n");
    CHECK(raw_send(fd, head, (size_t)len));
    if (body != NULL)
        CHECK(raw_send(fd, body, strlen(body)));
    struct http_answer answer = read_answer(fd);
    close(fd);
    return answer;
}

json_t *qq_call(int status, const char *method, const char *path, const char *body)
{
    char token[96];
    snprintf(token, sizeof token, "QQBot %s", tester.token);
    struct http_answer answer = qq_ask(method, path, token, body);
    if (answer.status != status)
        fprintf(stderr, "%s %s %s: %s\n", method, path, body == NULL ? "" : body,
                answer.body == NULL ? "no answer" : answer.body);
    CHECK_INT(status, answer.status);
    json_t *tree = answer.len == 0 ? NULL : json_loadb(answer.body, answer.len, 0, NULL);
    http_answer_fini(&answer);
    return tree;
}

void qq_refused(int status, int64_t code, const char *method, const char *path, const char *body)
{
    json_t *tree = qq_call(status, method, path, body);
    CHECK_INT(code, platform_number(tree, "code", 0));
    CHECK_INT(code, platform_number(tree, "err_code", 0));
    CHECK(platform_text(tree, "trace_id", "")[0] != '\0');
    CHECK(platform_text(tree, "message", "")[0] != '\0');
    json_decref(tree);
}

void qq_log_in(void)
{
    struct http_answer answer =
        qq_ask("POST", "/app/getAppAccessToken", "",
               "{\"appId\":\"" FAKE_QQ_APP_ID "\",\"clientSecret\":\"" FAKE_QQ_SECRET "\"}");
    CHECK_INT(200, answer.status);
    json_t *tree = json_loadb(answer.body, answer.len, 0, NULL);
    snprintf(tester.token, sizeof tester.token, "%s", platform_text(tree, "access_token", ""));
    CHECK(tester.token[0] != '\0');
    json_decref(tree);
    http_answer_fini(&answer);
}

static void put_path(char *path, size_t size, const char *chat)
{
    static const char *const starts[][2] = {{"c2c:", "/v2/users/"},
                                            {"group:", "/v2/groups/"},
                                            {"channel:", "/channels/"},
                                            {"dm:", "/dms/"}};
    for (size_t i = 0; i < SMA_COUNT_OF(starts); i++)
        if (strncmp(chat, starts[i][0], strlen(starts[i][0])) == 0)
            snprintf(path, size, "%s%s/messages", starts[i][1], chat + strlen(starts[i][0]));
}

json_t *qq_sent(const char *chat, const char *members)
{
    char path[160] = "";
    put_path(path, sizeof path, chat);
    char *body = qq_fill("{%s}", members);
    json_t *tree = qq_call(200, "POST", path, body);
    free(body);
    return tree;
}

void qq_not_sent(int64_t code, const char *chat, const char *members)
{
    char path[160] = "";
    put_path(path, sizeof path, chat);
    char *body = qq_fill("{%s}", members);
    qq_refused(code == 22009 ? 429 : 400, code, "POST", path, body);
    free(body);
}

char *qq_fill(const char *format, const char *text)
{
    const char *mark = strstr(format, "%s");
    size_t len = strlen(format) + strlen(text);
    char *filled = calloc(1, len + 1);
    CHECK(filled != NULL && mark != NULL);
    memcpy(filled, format, (size_t)(mark - format));
    memcpy(filled + (mark - format), text, strlen(text));
    memcpy(filled + (mark - format) + strlen(text), mark + 2, strlen(mark + 2));
    return filled;
}

char *qq_say(const char *chat, const char *text)
{
    json_t *said =
        platform_do(&tester.client, "{s:s,s:s,s:s}", "do", "say", "chat", chat, "text", text);
    char *id = platform_copy(sma_str(platform_text(said, "id", "")));
    json_decref(said);
    return id;
}

int64_t qq_count(const char *counter)
{
    return platform_get(&tester.client, counter, "{s:s}", "do", "counters");
}

/* -- gateway ----------------------------------------------------------------------------------- */
void qq_put(struct raw_ws *ws, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    CHECK(len > 0 && (size_t)len < sizeof text);
    raw_ws_send(ws, (struct sma_str){text, (size_t)len}, false);
}

json_t *qq_take(struct raw_ws *ws, int timeout_ms)
{
    struct sma_buf bytes;
    sma_buf_init(&bytes, 16u << 20);
    bool is_there = raw_ws_take(ws, timeout_ms, &bytes) && ws->opcode != 8;
    json_t *tree = is_there ? json_loadb(bytes.ptr, bytes.len, 0, NULL) : NULL;
    CHECK(!is_there || tree != NULL);
    sma_buf_fini(&bytes);
    return tree;
}

json_t *qq_expect(struct raw_ws *ws, int op, const char *type)
{
    json_t *tree = qq_take(ws, ANSWER_MS);
    CHECK(tree != NULL);
    CHECK_INT(op, platform_number(tree, "op", -1));
    if (type[0] != '\0')
        CHECK_TEXT(type, platform_text(tree, "t", ""));
    return tree;
}

void qq_expect_close(struct raw_ws *ws, unsigned code)
{
    struct sma_buf bytes;
    sma_buf_init(&bytes, 16u << 20);
    bool is_there = raw_ws_take(ws, ANSWER_MS, &bytes);
    while (is_there && ws->opcode != 8) {
        sma_buf_clear(&bytes);
        is_there = raw_ws_take(ws, ANSWER_MS, &bytes);
    }
    CHECK(is_there && bytes.len >= 2);
    CHECK_INT(code, (unsigned char)bytes.ptr[0] << 8 | (unsigned char)bytes.ptr[1]);
    sma_buf_fini(&bytes);
    raw_ws_close(ws);
}

void qq_connect(struct raw_ws *ws)
{
    raw_ws_open(ws, tester.port, "/websocket");
    CHECK_INT(101, ws->status);
    json_t *hello = qq_expect(ws, 10, "");
    CHECK(platform_number(json_object_get(hello, "d"), "heartbeat_interval", 0) > 0);
    json_decref(hello);
}

void qq_identify(struct raw_ws *ws, int64_t intents)
{
    qq_put(ws, "{\"op\":2,\"d\":{\"token\":\"QQBot %s\",\"intents\":%lld,\"shard\":[0,1]}}",
           tester.token, (long long)intents);
}

char *qq_ready(struct raw_ws *ws)
{
    qq_connect(ws);
    qq_identify(ws, USUAL_INTENTS);
    json_t *ready = qq_expect(ws, 0, "READY");
    CHECK_INT(1, platform_number(ready, "s", 0));
    char *id = platform_copy(sma_str(platform_text(json_object_get(ready, "d"), "session_id", "")));
    CHECK(id[0] != '\0');
    json_decref(ready);
    return id;
}

void qq_resume(struct raw_ws *ws, const char *session, int64_t seq)
{
    qq_put(ws, "{\"op\":6,\"d\":{\"token\":\"QQBot %s\",\"session_id\":\"%s\",\"seq\":%lld}}",
           tester.token, session, (long long)seq);
}

int64_t qq_seq(json_t *payload)
{
    int64_t seq = platform_number(payload, "s", -1);
    json_decref(payload);
    return seq;
}

void qq_expect_content(struct raw_ws *ws, const char *text, int64_t seq)
{
    json_t *event = qq_expect(ws, 0, "");
    CHECK_TEXT(text, platform_text(json_object_get(event, "d"), "content", ""));
    CHECK_INT(seq, qq_seq(event));
}
