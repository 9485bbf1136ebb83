/* http_mcp.c — see http_mcp.h. */
#include "support/http_mcp.h"

#include "support/check.h"
#include "support/patience.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_COUNT_MAX 4096
#define REQUEST_BYTES_MAX 65536
#define CONNECTION_COUNT_MAX 1024
#define SESSION "5e55-10n"

struct http_mcp
{
    int listener, port;
    int stop[2];
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_t connections[CONNECTION_COUNT_MAX];
    size_t connection_count;
    char *requests[REQUEST_COUNT_MAX];
    size_t request_count, breaches;
    atomic_size_t calls, grown;
    int old_stream; /* of HTTP+SSE; -1 = none */
    char url[128];
    bool is_settled; /* /late */
    http_mcp_hook *hook;
    void *hook_user;
};

/* One request while it is answered. */
struct asked
{
    struct http_mcp *server;
    int fd;
    char method[16], path[2048];
    char *head, *body;
    size_t body_len;
    json_t *message;
    bool is_last; /* the connection ends */
};

static bool put(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t done = send(fd, at, len, MSG_NOSIGNAL);
        if (done <= 0)
            return false;
        at += done;
        len -= (size_t)done;
    }
    return true;
}

__attribute__((format(printf, 2, 3))) static bool say(int fd, const char *format, ...)
{
    char text[16384];
    va_list values;
    va_start(values, format);
    int len = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return put(fd, text, (size_t)len);
}

static bool is_stopped(const struct http_mcp *server, int wait_ms)
{
    struct pollfd watch = {.fd = server->stop[0], .events = POLLIN};
    return poll(&watch, 1, wait_ms) > 0;
}

static bool is_at(const struct asked *asked, const char *path)
{
    size_t len = strcspn(asked->path, "?");
    return strlen(path) == len && strncmp(asked->path, path, len) == 0;
}

/* -- headers ----------------------------------------------------------------------------------- */
/* The value of a header; "" = it is not there. Good until the next one. */
static const char *header(const struct asked *asked, const char *name)
{
    static _Thread_local char values[16][2048];
    static _Thread_local unsigned next;
    char *value = values[next++ % 16];
    value[0] = '\0';
    size_t len = strlen(name);
    for (const char *line = strstr(asked->head, "\r\n"); line != NULL;
         line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, len) != 0 || line[2 + len] != ':')
            continue;
        const char *at = line + 3 + len;
        at += strspn(at, " ");
        snprintf(value, 2048, "%.*s", (int)strcspn(at, "\r"), at);
    }
    return value;
}

__attribute__((format(printf, 2, 3))) static void breach(struct asked *asked, const char *format,
                                                         ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fprintf(stderr, "http_mcp: %s %s: %s\n%s\n", asked->method, asked->path, text,
            asked->body == NULL ? "" : asked->body);
    pthread_mutex_lock(&asked->server->mutex);
    asked->server->breaches++;
    pthread_mutex_unlock(&asked->server->mutex);
}

static const char *method_of(const struct asked *asked)
{
    const char *method = json_string_value(json_object_get(asked->message, "method"));
    return method == NULL ? "" : method;
}

static void check_post(struct asked *asked)
{
    const char *accept = header(asked, "Accept");
    if (strcmp(header(asked, "Content-Type"), "application/json") != 0)
        breach(asked, "Content-Type is %s", header(asked, "Content-Type"));
    if (strstr(accept, "application/json") == NULL || strstr(accept, "text/event-stream") == NULL)
        breach(asked, "Not Acceptable: %s", accept);
    if (!json_is_object(asked->message) ||
        strcmp(json_string_value(json_object_get(asked->message, "jsonrpc")), "2.0") != 0)
        breach(asked, "no JSON-RPC object");
    if (header(asked, "Origin")[0] != '\0')
        breach(asked, "an Origin");
}

static void check_legacy(struct asked *asked)
{
    bool is_first = strcmp(method_of(asked), "initialize") == 0;
    bool has_session = !is_at(asked, "/stateless");
    const char *version = header(asked, "MCP-Protocol-Version");
    if (is_first && (header(asked, "Mcp-Session-Id")[0] != '\0' || version[0] != '\0'))
        breach(asked, "initialize with the headers of a session");
    if (!is_first && has_session && strcmp(header(asked, "Mcp-Session-Id"), SESSION) != 0)
        breach(asked, "Mcp-Session-Id is %s", header(asked, "Mcp-Session-Id"));
    if (!is_first && strcmp(version, "2025-11-25") != 0)
        breach(asked, "MCP-Protocol-Version is %s", version);
    if (header(asked, "Mcp-Method")[0] != '\0')
        breach(asked, "a header of another era");
}

static void check_modern(struct asked *asked)
{
    const json_t *params = json_object_get(asked->message, "params");
    const json_t *meta = json_object_get(params, "_meta");
    const char *name = json_string_value(json_object_get(params, "name"));
    const char *region =
        json_string_value(json_object_get(json_object_get(params, "arguments"), "region"));
    const char *version =
        json_string_value(json_object_get(meta, "io.modelcontextprotocol/protocolVersion"));
    if (version == NULL || strcmp(version, header(asked, "MCP-Protocol-Version")) != 0)
        breach(asked, "header and _meta disagree about the version");
    if (strcmp(header(asked, "Mcp-Method"), method_of(asked)) != 0)
        breach(asked, "Mcp-Method is %s", header(asked, "Mcp-Method"));
    if (strcmp(header(asked, "Mcp-Name"), name == NULL ? "" : name) != 0)
        breach(asked, "Mcp-Name is %s", header(asked, "Mcp-Name"));
    const char *wanted = region == NULL                     ? ""
                         : strcmp(region, "z\xc3\xbc") == 0 ? "=?base64?esO8?="
                                                            : region;
    if (strcmp(header(asked, "Mcp-Param-Region"), wanted) != 0)
        breach(asked, "Mcp-Param-Region is %s", header(asked, "Mcp-Param-Region"));
    if (header(asked, "Mcp-Session-Id")[0] != '\0')
        breach(asked, "a session");
    if (json_object_get(asked->message, "id") == NULL)
        breach(asked, "a notification by POST");
}

/* -- answers ----------------------------------------------------------------------------------- */
static void answer(struct asked *asked, int status, const char *type, const char *body,
                   const char *more)
{
    (void)say(asked->fd, "HTTP/1.1 %d Word\r\nContent-Type: %s\r\n%sContent-Length: %zu\r\n\r\n%s",
              status, type, more, strlen(body), body);
}

static void begin_stream(struct asked *asked, const char *more)
{
    (void)say(asked->fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%s\r\n", more);
    asked->is_last = true; /* it ends with the connection */
}

static void say_event(int fd, const char *id, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    CHECK(text != NULL);
    if (id != NULL)
        (void)say(fd, "id: %s\n", id);
    (void)say(fd, "event: message\ndata: %s\n\n", text);
    free(text);
}

static json_t *result(const json_t *id, json_t *made)
{
    return json_pack("{s:s,s:O,s:o}", "jsonrpc", "2.0", "id", id, "result", made);
}

static json_t *error_of(const json_t *id, int code, const char *text)
{
    return json_pack("{s:s,s:O?,s:{s:i,s:s}}", "jsonrpc", "2.0", "id", id, "error", "code", code,
                     "message", text);
}

static json_t *note(const char *method, json_t *params)
{
    return json_pack("{s:s,s:s,s:o*}", "jsonrpc", "2.0", "method", method, "params", params);
}

static json_t *text_result(const char *text, bool is_error)
{
    return json_pack("{s:[{s:s,s:s}],s:b}", "content", "type", "text", "text", text, "isError",
                     is_error);
}

static json_t *list_tools(const struct asked *asked)
{
    static const char *const names[] = {"echo", "fail", "slow", "grow"};
    json_t *tools = json_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        json_array_append_new(
            tools, json_pack("{s:s,s:{s:s}}", "name", names[i], "inputSchema", "type", "object"));
    json_array_append_new(tools, json_pack("{s:s,s:{s:s,s:{s:{s:s,s:s}}}}", "name", "mark",
                                           "inputSchema", "type", "object", "properties", "region",
                                           "type", "string", "x-mcp-header", "Region"));
    json_array_append_new(tools, json_pack("{s:s,s:{s:s,s:{s:{s:s,s:s}}}}", "name", "badmark",
                                           "inputSchema", "type", "object", "properties", "region",
                                           "type", "object", "x-mcp-header", "Bad Name"));
    if (asked->server->grown > 0)
        json_array_append_new(
            tools, json_pack("{s:s,s:{s:s}}", "name", "grown", "inputSchema", "type", "object"));
    return json_pack("{s:o}", "tools", tools);
}

static json_t *do_call(struct asked *asked, const json_t *id)
{
    const json_t *params = json_object_get(asked->message, "params");
    const json_t *arguments = json_object_get(params, "arguments");
    const char *name = json_string_value(json_object_get(params, "name"));
    const char *message = json_string_value(json_object_get(arguments, "message"));
    asked->server->calls++;
    if (strcmp(name, "grow") == 0)
        asked->server->grown++;
    if (strcmp(name, "fail") == 0)
        return result(id, text_result("it did not work", true));
    if (strcmp(name, "echo") != 0 && strcmp(name, "slow") != 0 && strcmp(name, "grow") != 0 &&
        strcmp(name, "mark") != 0)
        return error_of(id, -32602, "Unknown tool");
    return result(id, text_result(message == NULL ? name : message, false));
}

static json_t *make_answer(struct asked *asked, const json_t *id)
{
    const char *method = method_of(asked);
    bool is_modern = is_at(asked, "/modern");
    if (strcmp(method, "server/discover") == 0 && is_modern)
        return result(id, json_pack("{s:[s],s:{s:{s:b}},s:s}", "supportedVersions", "2026-07-28",
                                    "capabilities", "tools", "listChanged", 1, "resultType",
                                    "complete"));
    if (strcmp(method, "initialize") == 0 && !is_modern)
        return result(id, json_pack("{s:s,s:{s:{s:b}},s:{s:s,s:s}}", "protocolVersion",
                                    "2025-11-25", "capabilities", "tools", "listChanged", 1,
                                    "serverInfo", "name", "fake", "version", "1"));
    if (strcmp(method, "tools/list") == 0)
        return result(id, list_tools(asked));
    if (strcmp(method, "tools/call") == 0)
        return do_call(asked, id);
    return error_of(id, -32601, "Method not found");
}

static void say_progress(struct asked *asked)
{
    const json_t *meta = json_object_get(json_object_get(asked->message, "params"), "_meta");
    json_t *token = json_object_get(meta, "progressToken");
    say_event(asked->fd, "e-2",
              note("notifications/progress", json_pack("{s:O,s:f,s:s}", "progressToken", token,
                                                       "progress", 0.5, "message", "half way")));
}

static bool is_tool(const struct asked *asked, const char *tool)
{
    const char *name =
        json_string_value(json_object_get(json_object_get(asked->message, "params"), "name"));
    return strcmp(method_of(asked), "tools/call") == 0 && name != NULL && strcmp(name, tool) == 0;
}

static void answer_json(struct asked *asked, json_t *made, int status, const char *more)
{
    char *text = json_dumps(made, JSON_COMPACT);
    json_decref(made);
    answer(asked, status, "application/json", text, more);
    free(text);
}

/* -- the honest ones --------------------------------------------------------------------------- */
static void be_legacy(struct asked *asked, const json_t *id, bool has_events)
{
    const char *more = strcmp(method_of(asked), "initialize") == 0 && !is_at(asked, "/stateless")
                           ? "Mcp-Session-Id: " SESSION "\r\n"
                           : "";
    if (strcmp(method_of(asked), "server/discover") == 0) {
        answer_json(asked, error_of(NULL, -32000, "Bad Request: Server not initialized"), 400, "");
        return;
    }
    check_legacy(asked);
    if (id == NULL && is_at(asked, "/late")) { /* it takes its time with what it is told */
        (void)is_stopped(asked->server, 200);
        asked->server->is_settled = true;
    }
    if (is_at(asked, "/late") && strcmp(method_of(asked), "tools/list") == 0 &&
        !asked->server->is_settled)
        breach(asked, "work before notifications/initialized");
    if (id == NULL) {
        answer(asked, 202, "text/plain", "", "");
    } else if (has_events) {
        begin_stream(asked, more);
        (void)say(asked->fd, ": hello\nid: e-1\ndata: \n\n");
        if (is_tool(asked, "slow"))
            say_progress(asked);
        say_event(asked->fd, "e-3", make_answer(asked, id));
    } else {
        answer_json(asked, make_answer(asked, id), 200, more);
    }
}

static void be_modern(struct asked *asked, const json_t *id)
{
    const char *method = method_of(asked);
    if (strcmp(method, "initialize") == 0) {
        answer_json(asked, error_of(id, -32601, "Method not found"), 404, "");
        return;
    }
    check_modern(asked);
    if (strcmp(method, "subscriptions/listen") == 0) {
        begin_stream(asked, "");
        say_event(asked->fd, NULL, note("notifications/subscriptions/acknowledged", NULL));
        size_t grown = asked->server->grown;
        while (!is_stopped(asked->server, 20) && asked->server->grown == grown)
            continue;
        say_event(asked->fd, NULL, note("notifications/tools/list_changed", NULL));
        (void)is_stopped(asked->server, 60000);
    } else if (is_tool(asked, "slow")) {
        begin_stream(asked, "");
        say_progress(asked);
        say_event(asked->fd, NULL, make_answer(asked, id));
    } else {
        answer_json(asked, make_answer(asked, id), 200, "");
    }
}

/* GET of a legacy server: the standing stream, or the rest of a broken one. */
static void be_stream(struct asked *asked)
{
    const char *last = header(asked, "Last-Event-ID");
    if (strcmp(header(asked, "Accept"), "text/event-stream") != 0)
        breach(asked, "Accept is %s", header(asked, "Accept"));
    check_legacy(asked);
    if (is_at(asked, "/drops") && strncmp(last, "call-", 5) == 0) {
        begin_stream(asked, "");
        say_event(asked->fd, "e-9",
                  json_pack("{s:s,s:I,s:o}", "jsonrpc", "2.0", "id", (json_int_t)atoi(last + 5),
                            "result", text_result("after all", false)));
        (void)is_stopped(asked->server, 60000); /* as server-everything: it stays open */
        return;
    }
    if (!is_at(asked, "/sse")) {
        answer(asked, 405, "text/plain", "", "");
        return;
    }
    begin_stream(asked, "");
    size_t grown = asked->server->grown;
    while (!is_stopped(asked->server, 20) && asked->server->grown == grown)
        continue;
    say_event(asked->fd, NULL, note("notifications/tools/list_changed", NULL));
    (void)is_stopped(asked->server, 60000);
}

/* HTTP+SSE: everything comes on the stream. */
static void be_old(struct asked *asked, const json_t *id)
{
    struct http_mcp *server = asked->server;
    bool is_get = strcmp(asked->method, "GET") == 0;
    if (is_get) {
        begin_stream(asked, "");
        pthread_mutex_lock(&server->mutex);
        server->old_stream = asked->fd;
        pthread_mutex_unlock(&server->mutex);
        (void)say(asked->fd, "event: endpoint\ndata: %s\n\n",
                  is_at(asked, "/oldaway") ? "http://127.0.0.1:1/message" : "/message?s=1");
        struct pollfd watch[2] = {{.fd = server->stop[0], .events = POLLIN},
                                  {.fd = asked->fd, .events = POLLIN}};
        (void)poll(watch, 2, 60000);
        pthread_mutex_lock(&server->mutex);
        server->old_stream = -1;
        pthread_mutex_unlock(&server->mutex);
        return;
    }
    if (!is_at(asked, "/message")) {
        answer(asked, 404, "text/html", "<h1>Cannot POST</h1>", "");
        return;
    }
    answer(asked, 202, "text/plain", "Accepted", "");
    if (id == NULL)
        return;
    json_t *made = make_answer(asked, id);
    pthread_mutex_lock(&server->mutex);
    if (server->old_stream >= 0)
        say_event(server->old_stream, NULL, made);
    else
        json_decref(made);
    pthread_mutex_unlock(&server->mutex);
}

/* -- the hostile ones -------------------------------------------------------------------------- */
static void drip(struct asked *asked)
{
    (void)say(asked->fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                         "Content-Length: 100000\r\n\r\n");
    while (!is_stopped(asked->server, 50) && put(asked->fd, " ", 1))
        continue;
    asked->is_last = true;
}

static void repeat(struct asked *asked, const char *begin, const char *text)
{
    bool is_on = put(asked->fd, begin, strlen(begin));
    while (is_on && !is_stopped(asked->server, 0))
        for (int i = 0; is_on && i < 200; i++)
            is_on = put(asked->fd, text, strlen(text));
    asked->is_last = true;
}

#define OK_STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

static void be_hostile_at_call(struct asked *asked)
{
    if (is_at(asked, "/closes")) {
        asked->is_last = true;
    } else if (is_at(asked, "/endless")) {
        repeat(asked, OK_STREAM,
               "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"
               "{\"level\":\"info\",\"data\":\"x\"}}\n\n");
    } else if (is_at(asked, "/big")) {
        repeat(asked, OK_STREAM "data: {\"jsonrpc\":\"2.0\",\"x\":\"",
               "xxxxxxxxxxxxxxxxxxxxxxxx"
               "xxxxxxxxxxxxxxxxxxxxxxxx");
    } else if (is_at(asked, "/heads")) {
        repeat(asked, "HTTP/1.1 200 OK\r\n", "X-More: of this and that, again and again\r\n");
    } else if (is_at(asked, "/drip")) {
        drip(asked);
    } else if (is_at(asked, "/html")) {
        answer(asked, 200, "text/html", "<html>hello</html>", "");
    } else if (is_at(asked, "/empty")) {
        answer(asked, 202, "text/plain", "", "");
    } else if (is_at(asked, "/refuses")) {
        answer(asked, 500, "application/json", "{\"message\":\"out of order\"}", "");
    } else if (is_at(asked, "/packed")) {
        answer(asked, 200, "application/json", "\x1f\x8b\x08 not what it seems",
               "Content-Encoding: gzip\r\n");
    } else if (is_at(asked, "/silent")) {
        (void)is_stopped(asked->server, 60000);
        asked->is_last = true;
    } else if (is_at(asked, "/drops")) {
        const json_t *id = json_object_get(asked->message, "id");
        begin_stream(asked, "");
        (void)say(asked->fd, "id: call-%lld\nretry: 50\ndata: \n\n",
                  (long long)json_integer_value(id));
    }
}

static bool is_hostile_at_call(const struct asked *asked)
{
    static const char *const paths[] = {"/closes", "/endless", "/big",   "/heads",
                                        "/drip",   "/html",    "/empty", "/refuses",
                                        "/packed", "/silent",  "/drops"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (is_at(asked, paths[i]) && strcmp(method_of(asked), "tools/call") == 0)
            return true;
    return false;
}

/* @return was it answered? */
static bool be_strange(struct asked *asked, const json_t *id)
{
    char to[128];
    bool is_call = strcmp(method_of(asked), "tools/call") == 0;
    snprintf(to, sizeof to, "Location: %s\r\n",
             is_at(asked, "/moved") ? "/json" : "http://127.0.0.1:1/json");
    if (is_at(asked, "/moved") || is_at(asked, "/away")) {
        answer(asked, 307, "text/plain", "", to);
    } else if (is_at(asked, "/key") &&
               strcmp(header(asked, "Authorization"), "Bearer let-me-in") != 0) {
        answer(asked, 401, "application/json", "{\"message\":\"no\"}",
               "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n");
    } else if (is_at(asked, "/badsession") && strcmp(method_of(asked), "initialize") == 0) {
        answer_json(asked, make_answer(asked, id), 200, "Mcp-Session-Id: a b\r\n");
    } else if ((is_at(asked, "/forgets") || is_at(asked, "/forgets400")) && is_call &&
               asked->server->calls > 0 && http_mcp_count(asked->server, "\"initialize\"") == 1) {
        answer_json(asked, error_of(NULL, -32000, "Bad Request: No valid session ID provided"),
                    is_at(asked, "/forgets") ? 404 : 400, "");
    } else if (is_hostile_at_call(asked)) {
        be_hostile_at_call(asked);
    } else {
        return false;
    }
    return true;
}

/* -- connections ------------------------------------------------------------------------------- */
static bool is_hooked(struct asked *asked)
{
    int status = 0;
    char more[1024] = "";
    pthread_mutex_lock(&asked->server->mutex);
    http_mcp_hook *hook = asked->server->hook;
    void *user = asked->server->hook_user;
    pthread_mutex_unlock(&asked->server->mutex);
    char *body = hook == NULL ? NULL
                              : hook(user, asked->method, asked->path, asked->head, asked->body,
                                     &status, more);
    if (status != 0)
        answer(asked, status, "application/json", body == NULL ? "" : body, more);
    free(body);
    return status != 0;
}

static void serve(struct asked *asked)
{
    if (is_hooked(asked))
        return;
    const json_t *id = json_object_get(asked->message, "id");
    bool is_get = strcmp(asked->method, "GET") == 0;
    bool is_old = is_at(asked, "/old") || is_at(asked, "/oldaway") || is_at(asked, "/message") ||
                  is_at(asked, "/plain");
    if (!is_get && strcmp(asked->method, "DELETE") != 0)
        check_post(asked);
    if (is_old)
        be_old(asked, id);
    else if (is_get)
        be_stream(asked);
    else if (strcmp(asked->method, "DELETE") == 0)
        answer(asked, 200, "text/plain", "", "");
    else if (be_strange(asked, id))
        return;
    else if (is_at(asked, "/modern"))
        be_modern(asked, id);
    else
        be_legacy(asked, id, is_at(asked, "/sse") || is_at(asked, "/drops"));
}

static void keep(struct http_mcp *server, const char *text)
{
    pthread_mutex_lock(&server->mutex);
    if (server->request_count < REQUEST_COUNT_MAX)
        server->requests[server->request_count++] = strdup(text);
    pthread_mutex_unlock(&server->mutex);
}

/* @return false: the connection is over */
static bool read_one(struct asked *asked, char *bytes)
{
    size_t len = 0, head_len = 0, body_len = 0;
    for (;;) {
        struct pollfd watch[2] = {{.fd = asked->server->stop[0], .events = POLLIN},
                                  {.fd = asked->fd, .events = POLLIN}};
        if (poll(watch, 2, -1) < 0 || watch[0].revents != 0)
            return false;
        ssize_t got = recv(asked->fd, bytes + len, REQUEST_BYTES_MAX - 1 - len, 0);
        if (got <= 0)
            return false;
        len += (size_t)got;
        bytes[len] = '\0';
        const char *end = head_len > 0 ? NULL : strstr(bytes, "\r\n\r\n");
        if (end != NULL) {
            head_len = (size_t)(end - bytes) + 4;
            const char *length = strcasestr(bytes, "\r\nContent-Length:");
            body_len = length == NULL || length > end ? 0 : (size_t)atol(length + 17);
        }
        if (head_len > 0 && len >= head_len + body_len)
            break;
    }
    keep(asked->server, bytes);
    if (getenv("HTTP_MCP_SHOW") != NULL)
        fprintf(stderr, "--> %s\n", bytes);
    sscanf(bytes, "%15s %2047s", asked->method, asked->path);
    asked->head = strndup(bytes, head_len);
    asked->body = strndup(bytes + head_len, body_len);
    asked->body_len = body_len;
    asked->message = json_loadb(asked->body, body_len, 0, NULL);
    return true;
}

struct connection
{
    struct http_mcp *server;
    int fd;
};

static void *run_connection(void *argument)
{
    struct connection *connection = argument;
    char *bytes = malloc(REQUEST_BYTES_MAX);
    bool is_last = false;
    while (!is_last) {
        struct asked asked = {.server = connection->server, .fd = connection->fd};
        if (!read_one(&asked, bytes))
            break;
        serve(&asked);
        is_last = asked.is_last;
        free(asked.head);
        free(asked.body);
        json_decref(asked.message);
    }
    close(connection->fd);
    free(bytes);
    free(connection);
    return NULL;
}

static void *run(void *argument)
{
    struct http_mcp *server = argument;
    for (;;) {
        struct pollfd watch[2] = {{.fd = server->stop[0], .events = POLLIN},
                                  {.fd = server->listener, .events = POLLIN}};
        if (poll(watch, 2, -1) < 0 || watch[0].revents != 0)
            return NULL;
        struct connection *connection = calloc(1, sizeof *connection);
        connection->server = server;
        connection->fd = accept(server->listener, NULL, NULL);
        CHECK(connection->fd >= 0 && server->connection_count < CONNECTION_COUNT_MAX);
        CHECK(pthread_create(&server->connections[server->connection_count++], NULL, run_connection,
                             connection) == 0);
    }
}

/* -- life -------------------------------------------------------------------------------------- */
struct http_mcp *http_mcp_start(void)
{
    struct http_mcp *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    server->old_stream = -1;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(server->listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(server->listener, 64) == 0);
    CHECK(getsockname(server->listener, (struct sockaddr *)&address, &len) == 0);
    server->port = ntohs(address.sin_port);
    CHECK(pipe(server->stop) == 0);
    pthread_mutex_init(&server->mutex, NULL);
    CHECK(pthread_create(&server->thread, NULL, run, server) == 0);
    return server;
}

void http_mcp_stop(struct http_mcp *server)
{
    CHECK(write(server->stop[1], "x", 1) == 1);
    pthread_join(server->thread, NULL);
    for (size_t i = 0; i < server->connection_count; i++)
        pthread_join(server->connections[i], NULL);
    for (size_t i = 0; i < server->request_count; i++)
        free(server->requests[i]);
    CHECK_INT(0, server->breaches);
    close(server->listener);
    close(server->stop[0]);
    close(server->stop[1]);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}

void http_mcp_set_hook(struct http_mcp *server, http_mcp_hook *hook, void *user)
{
    pthread_mutex_lock(&server->mutex);
    server->hook = hook;
    server->hook_user = user;
    pthread_mutex_unlock(&server->mutex);
}

int http_mcp_port(const struct http_mcp *server)
{
    return server->port;
}

const char *http_mcp_url(struct http_mcp *server, const char *path)
{
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d%s", server->port, path);
    return server->url;
}

size_t http_mcp_count(struct http_mcp *server, const char *part)
{
    size_t count = 0;
    pthread_mutex_lock(&server->mutex);
    for (size_t i = 0; i < server->request_count; i++)
        count += strstr(server->requests[i], part) != NULL;
    pthread_mutex_unlock(&server->mutex);
    return count;
}

void http_mcp_await(struct http_mcp *server, const char *part, size_t count)
{
    for (int waited = 0; http_mcp_count(server, part) < count; waited += 10) {
        CHECK(waited < PATIENCE_AWAIT_MS);
        (void)is_stopped(server, 10);
    }
}
