/*
 * fake_telegram_http.c — HTTP/1.1 of the fake Bot API: keep-alive, bodies by Content-Length or in
 * chunks, JSON, forms, multipart; answers that are bent by faults.
 */
#include "fake_telegram_priv.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_BYTES_MAX 65536

/* -- connections ------------------------------------------------------------------------------- */
struct connection *fake_open_connection(struct fake_telegram *fake, enum peer_kind kind, int fd)
{
    struct connection *connection = calloc(1, sizeof *connection);
    int one = 1;
    if (connection == NULL)
        abort();
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connection->kind = kind;
    connection->fd = fd;
    sma_buf_init(&connection->in, BODY_BYTES_MAX + HEAD_BYTES_MAX);
    sma_buf_init(&connection->out, BODY_BYTES_MAX + HEAD_BYTES_MAX);
    connection->next = fake->connections;
    if (connection->next != NULL)
        connection->next->previous = connection;
    fake->connections = connection;
    struct epoll_event event = {.events = kind == PEER_CLIENT ? EPOLLIN : EPOLLOUT,
                                .data.ptr = connection};
    epoll_ctl(fake->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    return connection;
}

void fake_close_connection(struct fake_telegram *fake, struct connection *connection)
{
    if (fake->poll == connection)
        fake->poll = NULL;
    if (connection->resume_ns > 0)
        fake->paused_count--;
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        fake->connections = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    /* by hand: a child between fork and exec holds the descriptor too */
    epoll_ctl(fake->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    close(connection->fd);
    connection->is_closed = true;
    connection->next = fake->closed;
    fake->closed = connection;
}

void fake_bury(struct fake_telegram *fake)
{
    while (fake->closed != NULL) {
        struct connection *connection = fake->closed;
        fake->closed = connection->next;
        sma_buf_fini(&connection->in);
        sma_buf_fini(&connection->out);
        free(connection);
    }
}

void fake_accept(struct fake_telegram *fake)
{
    for (;;) {
        int fd = accept4(fake->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        (void)fake_open_connection(fake, PEER_CLIENT, fd);
    }
}

/* -- writing ----------------------------------------------------------------------------------- */
static void pause_for(struct fake_telegram *fake, struct connection *connection, long ms)
{
    if (connection->resume_ns == 0)
        fake->paused_count++;
    connection->resume_ns = fake_now_ns() + (uint64_t)ms * 1000000u;
}

void fake_respond(struct fake_telegram *fake, struct connection *connection, int status,
                  const char *type, const char *headers, struct sma_str body)
{
    const struct fault *fault = &connection->fault;
    struct sma_buf *out = &connection->out;
    sma_buf_clear(out);
    connection->sent = 0;
    connection->is_busy = true;
    if (fault->kind == FAULT_LOSE_ANSWER) {
        connection->is_closing = true;
        return;
    }
    if (fault->kind == FAULT_GARBAGE)
        body = SMA_STR("<<this is no JSON>>");
    if (fault->kind == FAULT_OTHER_CHAT)
        body = SMA_STR("{\"ok\":true,\"result\":{\"message_id\":4711,\"date\":1784600000,"
                       "\"chat\":{\"id\":99000099,\"type\":\"private\"},\"text\":\"x\"}}");
    sma_buf_printf(
        out,
        "HTTP/1.1 %d Status\r\nServer: nginx\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
        status, type, body.len, headers);
    sma_buf_put(out, body.ptr, fault->kind == FAULT_CUT ? body.len / 2 : body.len);
    connection->is_closing |= fault->kind == FAULT_CUT;
    bool is_late = fault->kind == FAULT_DELAY || (fault->kind == FAULT_STATUS && fault->ms > 1);
    if (is_late)
        pause_for(fake, connection, fault->ms);
}

static void watch_writing(struct fake_telegram *fake, struct connection *connection, bool is_wanted)
{
    if (connection->is_writing_watched == is_wanted)
        return;
    connection->is_writing_watched = is_wanted;
    struct epoll_event event = {.events = EPOLLIN | (is_wanted ? EPOLLOUT : 0),
                                .data.ptr = connection};
    epoll_ctl(fake->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
}

bool fake_write_some(struct fake_telegram *fake, struct connection *connection)
{
    struct sma_buf *out = &connection->out;
    while (connection->is_busy && !connection->is_polling && connection->resume_ns == 0 &&
           connection->sent < out->len) {
        size_t want = out->len - connection->sent;
        bool is_slow = connection->fault.kind == FAULT_SLOW;
        if (is_slow && want > (size_t)connection->fault.bytes)
            want = (size_t)connection->fault.bytes;
        ssize_t count = send(connection->fd, out->ptr + connection->sent, want, MSG_NOSIGNAL);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            watch_writing(fake, connection, true);
            return true;
        }
        if (count < 0) {
            fake_close_connection(fake, connection);
            return false;
        }
        connection->sent += (size_t)count;
        if (is_slow && connection->sent < out->len)
            pause_for(fake, connection, connection->fault.ms);
    }
    watch_writing(fake, connection, false);
    if (!connection->is_busy || connection->is_polling || connection->resume_ns != 0)
        return true;
    connection->is_busy = false;
    connection->fault = (struct fault){.kind = FAULT_NONE};
    if (connection->is_closing) {
        fake_close_connection(fake, connection);
        return false;
    }
    return true;
}

/* -- reading a request ------------------------------------------------------------------------- */
static struct sma_str find_header(struct sma_str head, const char *name)
{
    size_t len = strlen(name);
    const char *at = head.ptr, *limit = head.ptr + head.len;
    while ((at = memchr(at, '\n', (size_t)(limit - at))) != NULL && at + len + 2 < limit) {
        at++;
        if (strncasecmp(at, name, len) != 0 || at[len] != ':')
            continue;
        const char *end = memchr(at, '\r', (size_t)(limit - at));
        return sma_str_trim(
            (struct sma_str){at + len + 1, (size_t)((end == NULL ? limit : end) - at) - len - 1});
    }
    return (struct sma_str){"", 0};
}

/* Undo chunked coding. @return bytes used, 0: not whole yet */
static size_t unchunk(struct sma_str in, struct sma_buf *body)
{
    size_t at = 0;
    for (;;) {
        const char *line = memmem(in.ptr + at, in.len - at, "\r\n", 2);
        if (line == NULL)
            return 0;
        size_t len = strtoul(in.ptr + at, NULL, 16);
        size_t start = (size_t)(line + 2 - in.ptr);
        if (len > BODY_BYTES_MAX || start + len + 2 > in.len)
            return 0;
        sma_buf_put(body, in.ptr + start, len);
        at = start + len + 2;
        if (len == 0)
            return at;
    }
}

/* -- routing ----------------------------------------------------------------------------------- */
static const struct fault *choose_fault(struct fake_telegram *fake, const char *method,
                                        const json_t *params)
{
    for (size_t i = 0; i < fake->fault_count; i++) {
        struct fault *fault = &fake->faults[i];
        const json_t *chat = json_object_get(params, "chat_id");
        if (fault->times <= 0 ||
            (strcmp(fault->method, "*") != 0 && strcmp(fault->method, method) != 0))
            continue;
        if (fault->chat_id != 0 && json_integer_value(chat) != fault->chat_id)
            continue;
        char *text = fault->holds[0] == '\0' ? NULL : json_dumps(params, JSON_COMPACT);
        bool is_other =
            fault->holds[0] != '\0' && (text == NULL || strstr(text, fault->holds) == NULL);
        free(text);
        if (is_other)
            continue;
        if (fault->skip > 0) {
            fault->skip--;
            continue;
        }
        fault->times--;
        return fault;
    }
    return NULL;
}

/* @return false: the fault is all that happens */
static bool apply_fault(struct fake_telegram *fake, struct connection *connection,
                        const struct fault *fault)
{
    if (fault == NULL)
        return true;
    connection->fault = *fault;
    if (fault->kind == FAULT_CLOSE) {
        connection->is_busy = connection->is_closing = true;
        sma_buf_clear(&connection->out);
        connection->sent = 0;
        return false;
    }
    if (fault->kind == FAULT_HALF_OPEN) {
        connection->is_dead = true;
        return false;
    }
    if (fault->kind == FAULT_HTML) {
        static const char page[] =
            "<html><head><title>502 Bad "
            "Gateway</title></head><body><center>nginx</center></body></html>";
        fake_respond(fake, connection, (int)fault->status, "text/html", "", sma_str(page));
        return false;
    }
    if (fault->kind != FAULT_STATUS)
        return true;
    char text[128] = "Internal Server Error: restart";
    if (fault->text[0] != '\0')
        snprintf(text, sizeof text, "%s", fault->text);
    else if (fault->status == 429)
        snprintf(text, sizeof text, "Too Many Requests: retry after %ld", fault->seconds);
    else if (fault->status == 409)
        snprintf(text, sizeof text,
                 "Conflict: terminated by other getUpdates request; make sure that only one bot "
                 "instance is running");
    else if (fault->status == 403)
        snprintf(text, sizeof text, "Forbidden: bot was blocked by the user");
    else if (fault->status == 400)
        snprintf(text, sizeof text, "Bad Request: asked to fail");
    fake_answer_error(fake, connection, (int)fault->status, text, fault->seconds, 0);
    return false;
}

static bool is_ours(const struct fake_telegram *fake, struct sma_str token)
{
    return !fake->is_revoked && sma_str_is_equal(token, sma_str(fake->token));
}

static bool is_well_formed(struct sma_str token)
{
    const char *colon = memchr(token.ptr, ':', token.len);
    if (colon == NULL || colon == token.ptr || (size_t)(token.ptr + token.len - colon) < 30)
        return false;
    for (const char *at = token.ptr; at < colon; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    return true;
}

static void send_file(struct fake_telegram *fake, struct connection *connection,
                      struct sma_str path)
{
    char name[512];
    snprintf(name, sizeof name, "%.*s", (int)path.len, path.ptr);
    const struct file *file = fake_find_file(fake, NULL, name);
    if (!apply_fault(fake, connection, choose_fault(fake, "file", NULL)))
        return;
    if (file == NULL)
        fake_answer_error(fake, connection, 404, "Not Found", 0, 0);
    else
        fake_respond(fake, connection, 200, "application/octet-stream", "",
                     (struct sma_str){file->bytes, file->len});
}

struct request
{
    struct sma_str head, path, query, body;
};

static void call_method(struct fake_telegram *fake, struct connection *connection,
                        const struct request *request, struct sma_str name)
{
    char method[64] = "", boundary[128] = "";
    struct platform_upload uploads[UPLOAD_COUNT_MAX];
    size_t upload_count = 0;
    for (size_t i = 0; i < name.len && i < sizeof method - 1; i++)
        method[i] = (char)tolower((unsigned char)name.ptr[i]);
    struct sma_str type = find_header(request->head, "content-type");
    json_t *params = NULL;
    if (sma_str_starts_with(type, SMA_STR("application/json")))
        params = json_loadb(request->body.ptr, request->body.len, 0, NULL);
    if (params == NULL && request->body.len > 0 &&
        sma_str_starts_with(type, SMA_STR("application/json"))) {
        fake_answer_error(fake, connection, 400, "Bad Request: can't parse JSON object", 0, 0);
        return;
    }
    if (!json_is_object(params)) {
        json_decref(params);
        params = json_object();
    }
    platform_decode_form(params, request->query);
    if (sma_str_starts_with(type, SMA_STR("application/x-www-form-urlencoded")))
        platform_decode_form(params, request->body);
    const char *mark = type.len == 0 ? NULL : memmem(type.ptr, type.len, "boundary=", 9);
    if (mark != NULL) {
        snprintf(boundary, sizeof boundary, "%.*s", (int)(type.ptr + type.len - mark - 9),
                 mark + 9);
        upload_count = platform_decode_multipart(params, request->body, boundary, "", uploads,
                                                 UPLOAD_COUNT_MAX);
    }
    json_t *count = json_object_get(fake->counts, method);
    if (count == NULL)
        json_object_set_new(fake->counts, method, json_integer(1));
    else
        json_integer_set(count, json_integer_value(count) + 1);
    if (apply_fault(fake, connection, choose_fault(fake, method, params)))
        fake_call(fake, connection, method, params, uploads, upload_count);
    json_decref(params);
}

static void route(struct fake_telegram *fake, struct connection *connection,
                  const struct request *request)
{
    struct sma_str path = request->path;
    if (sma_str_is_equal(path, SMA_STR("/control"))) {
        json_t *command = json_loadb(request->body.ptr, request->body.len, 0, NULL);
        json_t *answer = fake_control(fake, command);
        char *text = json_dumps(answer, JSON_COMPACT);
        fake_respond(fake, connection, 200, "application/json", "", sma_str(text));
        free(text);
        json_decref(answer);
        json_decref(command);
        return;
    }
    bool is_file = sma_str_starts_with(path, SMA_STR("/file/bot"));
    if (!is_file && !sma_str_starts_with(path, SMA_STR("/bot"))) {
        fake_answer_error(fake, connection, 404, "Not Found", 0, 0);
        return;
    }
    struct sma_str token = {path.ptr + (is_file ? 9 : 4), path.len - (is_file ? 9 : 4)};
    const char *slash = memchr(token.ptr, '/', token.len);
    struct sma_str rest = {"", 0};
    if (slash != NULL) {
        rest = (struct sma_str){slash + 1, (size_t)(token.ptr + token.len - slash) - 1};
        token.len = (size_t)(slash - token.ptr);
    }
    if (!is_well_formed(token))
        fake_answer_error(fake, connection, 401, "Unauthorized: invalid token specified", 0, 0);
    else if (!is_ours(fake, token))
        fake_answer_error(fake, connection, 401, "Unauthorized", 0, 0);
    else if (is_file)
        send_file(fake, connection, rest);
    else
        call_method(fake, connection, request, rest);
}

/* -- input ------------------------------------------------------------------------------------- */
static bool parse_head(struct request *request)
{
    const char *limit = request->head.ptr + request->head.len;
    const char *path = memchr(request->head.ptr, ' ', request->head.len);
    const char *end = path == NULL ? NULL : memchr(path + 1, ' ', (size_t)(limit - path - 1));
    if (end == NULL)
        return false;
    request->path = (struct sma_str){path + 1, (size_t)(end - path - 1)};
    request->query = (struct sma_str){"", 0};
    const char *mark = memchr(request->path.ptr, '?', request->path.len);
    if (mark != NULL) {
        request->query = (struct sma_str){mark + 1, (size_t)(end - mark - 1)};
        request->path.len = (size_t)(mark - request->path.ptr);
    }
    return true;
}

/* Whole requests at the start of the input. @return false when the connection was closed */
static bool serve(struct fake_telegram *fake, struct connection *connection)
{
    struct sma_buf *in = &connection->in;
    while (!connection->is_busy && !connection->is_dead && in->len > 0) {
        const char *end = memmem(in->ptr, in->len, "\r\n\r\n", 4);
        if (end == NULL)
            return true;
        struct request request = {.head = {in->ptr, (size_t)(end - in->ptr) + 2}};
        size_t head_len = request.head.len + 2, used = head_len;
        struct sma_str length = find_header(request.head, "content-length");
        if (!connection->is_continued && find_header(request.head, "expect").len > 0) {
            static const char go[] = "HTTP/1.1 100 Continue\r\n\r\n";
            connection->is_continued = true;
            (void)!send(connection->fd, go, sizeof go - 1, MSG_NOSIGNAL);
        }
        struct sma_buf unchunked;
        sma_buf_init(&unchunked, BODY_BYTES_MAX);
        if (find_header(request.head, "transfer-encoding").len > 0) {
            size_t len =
                unchunk((struct sma_str){in->ptr + head_len, in->len - head_len}, &unchunked);
            used += len;
            request.body = sma_buf_str(&unchunked);
            if (len == 0) {
                sma_buf_fini(&unchunked);
                return true;
            }
        } else {
            size_t len = length.len == 0 ? 0 : strtoul(length.ptr, NULL, 10);
            if (len > BODY_BYTES_MAX) {
                fake_close_connection(fake, connection);
                return false;
            }
            if (in->len - head_len < len)
                return true;
            used += len;
            request.body = (struct sma_str){in->ptr + head_len, len};
        }
        connection->is_continued = false;
        connection->is_busy = true;
        connection->is_closing =
            sma_str_is_equal_nocase(find_header(request.head, "connection"), SMA_STR("close"));
        if (parse_head(&request))
            route(fake, connection, &request);
        else
            connection->is_closing = true;
        sma_buf_fini(&unchunked);
        memmove(in->ptr, in->ptr + used, in->len - used);
        in->len -= used;
        if (!connection->is_dead && !fake_write_some(fake, connection))
            return false;
    }
    return true;
}

void fake_handle_event(struct fake_telegram *fake, struct connection *connection, uint32_t events)
{
    if (connection->is_closed)
        return;
    if (connection->kind == PEER_WEBHOOK) {
        fake_webhook_event(fake, connection, events);
        return;
    }
    if ((events & EPOLLOUT) != 0 && !fake_write_some(fake, connection))
        return;
    while ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        char *room = sma_buf_reserve(&connection->in, 65536);
        ssize_t count = room == NULL ? 0 : recv(connection->fd, room, 65536, 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (count <= 0) {
            fake_close_connection(fake, connection);
            return;
        }
        connection->in.len += (size_t)count;
        if (count < 65536)
            break;
    }
    (void)serve(fake, connection);
}

int fake_resume(struct fake_telegram *fake, uint64_t now)
{
    uint64_t soonest = UINT64_MAX;
    for (struct connection *at = fake->connections, *next; at != NULL && fake->paused_count > 0;
         at = next) {
        next = at->next;
        if (at->resume_ns > 0 && at->resume_ns <= now) {
            at->resume_ns = 0;
            fake->paused_count--;
            if (!fake_write_some(fake, at))
                continue;
            if (!at->is_busy && !serve(fake, at))
                continue;
        }
        if (at->resume_ns > 0 && at->resume_ns < soonest)
            soonest = at->resume_ns;
    }
    if (soonest == UINT64_MAX)
        return -1;
    return soonest <= now ? 0 : (int)((soonest - now) / 1000000 + 1);
}
