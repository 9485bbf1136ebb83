/*
 * fake_platform_rest.c — weather of REST calls, the control request, and a sender of webhooks. See
 * fake_platform.h.
 */
#include "fake_platform.h"

#include "sma/buf.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD_BYTES_MAX 4096

/* An answer that goes out later, or bit by bit. */
struct platform_slow
{
    struct platform_slow *next;
    struct platform *platform;
    unsigned conn;
    struct sma_buf bytes;
    size_t sent, step;
    unsigned ms;
};

void platform_init(struct platform *platform)
{
    *platform = (struct platform){.counts = json_object()};
}

static void free_slow(struct platform_slow *slow)
{
    struct platform_slow **at = &slow->platform->slow;
    while (*at != slow)
        at = &(*at)->next;
    *at = slow->next;
    sma_buf_fini(&slow->bytes);
    free(slow);
}

void platform_fini(struct platform *platform)
{
    while (platform->slow != NULL)
        free_slow(platform->slow);
    json_decref(platform->counts);
    free(platform->faults);
}

/* -- faults ------------------------------------------------------------------------------------ */
static const char *const kind_names[] = {"none", "close",   "half_open", "lose_answer",
                                         "cut",  "slow",    "delay",     "status",
                                         "html", "garbage", "token"};

json_t *platform_add_fault(struct platform *platform, const json_t *command)
{
    struct platform_fault fault = {.times = platform_number(command, "times", 1),
                                   .skip = platform_number(command, "skip", 0),
                                   .ms = platform_number(command, "ms", 1),
                                   .bytes = platform_number(command, "bytes", 1),
                                   .status = platform_number(command, "status", 502),
                                   .code = platform_number(command, "code", 0),
                                   .seconds = platform_number(command, "seconds", 0)};
    const char *kind = platform_text(command, "kind", "");
    bool is_unknown = strcmp(kind, "unknown") == 0;
    if (is_unknown) {
        kind = "status";
        fault.status = platform_number(command, "status", 400);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(kind_names); i++)
        if (strcmp(kind, kind_names[i]) == 0)
            fault.kind = (enum platform_fault_kind)i;
    if (fault.kind == PLATFORM_FAULT_NONE)
        return platform_problem("no such kind of fault");
    snprintf(fault.method, sizeof fault.method, "%s", platform_text(command, "method", "*"));
    snprintf(fault.chat, sizeof fault.chat, "%s", platform_text(command, "chat", ""));
    snprintf(fault.text, sizeof fault.text, "%s", platform_text(command, "text", ""));
    snprintf(fault.holds, sizeof fault.holds, "%s", platform_text(command, "holds", ""));
    if (is_unknown)
        platform_make_unknown(platform_number(command, "seed", 1), &fault.code, fault.text,
                              sizeof fault.text);
    platform->faults = platform_grow(platform->faults, platform->fault_count, &platform->fault_room,
                                     sizeof *platform->faults);
    platform->faults[platform->fault_count++] = fault;
    return platform_done();
}

void platform_clear_faults(struct platform *platform)
{
    platform->fault_count = 0;
}

int64_t platform_faults_left(const struct platform *platform)
{
    int64_t count = 0;
    for (size_t i = 0; i < platform->fault_count; i++)
        count += platform->faults[i].times;
    return count;
}

static void choose_fault(struct platform *platform, struct platform_call *call, struct sma_str body,
                         const char *method, const char *chat)
{
    for (size_t i = 0; i < platform->fault_count; i++) {
        struct platform_fault *fault = &platform->faults[i];
        if (fault->times <= 0 ||
            (strcmp(fault->method, "*") != 0 && strcmp(fault->method, method) != 0) ||
            (fault->chat[0] != '\0' && strcmp(fault->chat, chat) != 0) ||
            (fault->holds[0] != '\0' &&
             memmem(body.ptr, body.len, fault->holds, strlen(fault->holds)) == NULL))
            continue;
        if (fault->skip > 0) {
            fault->skip--;
            continue;
        }
        fault->times--;
        call->fault = *fault;
        return;
    }
}

enum platform_weather platform_begin(struct platform *platform, struct platform_call *call,
                                     const struct ws_server_request *request, const char *method,
                                     const char *chat)
{
    unsigned conn = request->conn;
    static const char page[] = "<html><head><title>502 Bad Gateway</title></head>"
                               "<body><center>nginx</center></body></html>";
    *call = (struct platform_call){.platform = platform, .conn = conn};
    json_object_set_new(platform->counts, method,
                        json_integer(platform_number(platform->counts, method, 0) + 1));
    choose_fault(platform, call, request->body, method, chat);
    switch (call->fault.kind) {
    case PLATFORM_FAULT_CLOSE:
        (void)ws_server_drop(platform->server, conn);
        return PLATFORM_OVER;
    case PLATFORM_FAULT_HALF_OPEN:
        return PLATFORM_OVER;
    case PLATFORM_FAULT_HTML:
        (void)ws_server_answer(platform->server, conn, (int)call->fault.status, "text/html",
                               sma_str(page));
        return PLATFORM_OVER;
    case PLATFORM_FAULT_STATUS:
    case PLATFORM_FAULT_TOKEN:
        return PLATFORM_REFUSE;
    default:
        return PLATFORM_GO_ON;
    }
}

/* -- answers ----------------------------------------------------------------------------------- */
static void send_more(void *user, struct ws_server *server)
{
    struct platform_slow *slow = user;
    size_t left = slow->bytes.len - slow->sent, len = left < slow->step ? left : slow->step;
    if (!ws_server_send_raw(server, slow->conn,
                            (struct sma_str){slow->bytes.ptr + slow->sent, len})) {
        free_slow(slow); /* the client has gone */
        return;
    }
    slow->sent += len;
    if (slow->sent < slow->bytes.len) {
        ws_server_after(server, slow->ms, send_more, slow);
        return;
    }
    (void)ws_server_drop(server, slow->conn);
    free_slow(slow);
}

static void respond_slowly(struct platform_call *call, struct sma_buf *bytes, size_t step)
{
    struct platform_slow *slow = calloc(1, sizeof *slow);
    if (slow == NULL)
        abort();
    *slow = (struct platform_slow){.next = call->platform->slow,
                                   .platform = call->platform,
                                   .conn = call->conn,
                                   .bytes = *bytes,
                                   .step = step,
                                   .ms = (unsigned)call->fault.ms};
    sma_buf_init(bytes, HEAD_BYTES_MAX);
    call->platform->slow = slow;
    ws_server_after(call->platform->server, slow->ms, send_more, slow);
}

void platform_respond(struct platform_call *call, int status, const char *headers,
                      struct sma_str body)
{
    struct ws_server *server = call->platform->server;
    const struct platform_fault *fault = &call->fault;
    if (fault->kind == PLATFORM_FAULT_LOSE_ANSWER) {
        (void)ws_server_drop(server, call->conn);
        return;
    }
    if (fault->kind == PLATFORM_FAULT_GARBAGE)
        body = SMA_STR("<<this is no JSON>>");
    if (fault->kind != PLATFORM_FAULT_CUT && fault->kind != PLATFORM_FAULT_SLOW &&
        fault->kind != PLATFORM_FAULT_DELAY) {
        (void)ws_server_answer_with(server, call->conn, status, headers, body);
        return;
    }
    struct sma_buf bytes;
    sma_buf_init(&bytes, body.len + HEAD_BYTES_MAX);
    sma_buf_printf(&bytes, "HTTP/1.1 %d Test\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n",
                   status, body.len, headers);
    sma_buf_put(&bytes, body.ptr, fault->kind == PLATFORM_FAULT_CUT ? body.len / 2 : body.len);
    if (fault->kind == PLATFORM_FAULT_CUT) {
        (void)ws_server_send_raw(server, call->conn, sma_buf_str(&bytes));
        (void)ws_server_drop(server, call->conn);
    } else {
        bool is_slow = fault->kind == PLATFORM_FAULT_SLOW;
        respond_slowly(call, &bytes, is_slow && fault->bytes > 0 ? (size_t)fault->bytes : SIZE_MAX);
    }
    sma_buf_fini(&bytes);
}

bool platform_serve_control(struct ws_server *server, const struct ws_server_request *request,
                            json_t *(*run)(void *fake, const json_t *command), void *fake)
{
    if (!sma_str_is_equal(request->path, SMA_STR("/control")))
        return false;
    json_t *command = json_loadb(request->body.ptr, request->body.len, 0, NULL);
    json_t *answer = run(fake, command);
    char *text = json_dumps(answer, JSON_COMPACT);
    (void)ws_server_answer(server, request->conn, 200, "application/json", sma_str(text));
    free(text);
    json_decref(answer);
    json_decref(command);
    return true;
}

/* -- webhooks ---------------------------------------------------------------------------------- */
struct waiting
{
    struct waiting *next;
    struct platform_post post;
};
struct platform_sender
{
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    struct waiting *first, **last;
    bool is_stopping;
    size_t thread_count;
    pthread_t threads[16];
};

static void free_waiting(struct waiting *waiting)
{
    free(waiting->post.path);
    free(waiting->post.headers);
    free(waiting->post.body);
    free(waiting);
}

static void *send_posts(void *user)
{
    struct platform_sender *sender = user;
    pthread_mutex_lock(&sender->lock);
    while (!sender->is_stopping) {
        struct waiting *waiting = sender->first;
        if (waiting == NULL) {
            pthread_cond_wait(&sender->has_work, &sender->lock);
            continue;
        }
        sender->first = waiting->next;
        if (sender->first == NULL)
            sender->last = &sender->first;
        pthread_mutex_unlock(&sender->lock);
        const struct platform_post *post = &waiting->post;
        uint64_t began = platform_now_ns();
        struct http_answer answer =
            http_post(post->port, post->path, post->headers, post->body, post->timeout_ms);
        post->done(post->user, post->tag, &answer, (platform_now_ns() - began) / 1000000);
        http_answer_fini(&answer);
        free_waiting(waiting);
        pthread_mutex_lock(&sender->lock);
    }
    pthread_mutex_unlock(&sender->lock);
    return NULL;
}

struct platform_sender *platform_sender_create(size_t thread_count)
{
    struct platform_sender *sender = calloc(1, sizeof *sender);
    if (sender == NULL || thread_count > SMA_COUNT_OF(sender->threads))
        abort();
    pthread_mutex_init(&sender->lock, NULL);
    pthread_cond_init(&sender->has_work, NULL);
    sender->last = &sender->first;
    for (size_t i = 0; i < thread_count; i++)
        if (pthread_create(&sender->threads[sender->thread_count++], NULL, send_posts, sender) != 0)
            abort();
    return sender;
}

void platform_sender_post(struct platform_sender *sender, const struct platform_post *post)
{
    struct waiting *waiting = calloc(1, sizeof *waiting);
    if (waiting == NULL)
        abort();
    waiting->post = *post;
    pthread_mutex_lock(&sender->lock);
    *sender->last = waiting;
    sender->last = &waiting->next;
    pthread_cond_signal(&sender->has_work);
    pthread_mutex_unlock(&sender->lock);
}

void platform_sender_destroy(struct platform_sender *sender)
{
    if (sender == NULL)
        return;
    pthread_mutex_lock(&sender->lock);
    sender->is_stopping = true;
    pthread_cond_broadcast(&sender->has_work);
    pthread_mutex_unlock(&sender->lock);
    for (size_t i = 0; i < sender->thread_count; i++)
        pthread_join(sender->threads[i], NULL);
    while (sender->first != NULL) {
        struct waiting *waiting = sender->first;
        sender->first = waiting->next;
        free_waiting(waiting);
    }
    pthread_mutex_destroy(&sender->lock);
    pthread_cond_destroy(&sender->has_work);
    free(sender);
}

bool platform_parse_url(const char *url, int *ret_port, char *ret_path, size_t path_size)
{
    static const char start[] = "http://127.0.0.1:";
    if (strncmp(url, start, sizeof start - 1) != 0)
        return false;
    char *end;
    long port = strtol(url + sizeof start - 1, &end, 10);
    if (port < 1 || port > 65535 || (*end != '/' && *end != '\0'))
        return false;
    *ret_port = (int)port;
    snprintf(ret_path, path_size, "%s", *end == '\0' ? "/" : end);
    return true;
}
