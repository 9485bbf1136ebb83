/*
 * fake_model — a model server on 127.0.0.1 for tests and benchmarks: one thread, epoll,
 * keep-alive.
 *
 * It behaves like the offline model unless told otherwise: by "[[fault:NAME key=value ...]]" in
 * the user's text (obeyed for the first `times` requests of that text, default 1), by "[[plain]]"
 * (answer as plain text, no chat_send), by what
 * fake_model_calls.c reads, or by a script: a JSON list with one entry a request, each
 * null, "NAME key=value ...", or {"fault":"...","text":"...","calls":[{"name":
 * "...","arguments":{}}]}; after its end the default returns.
 */
#include "fake_model.h"

#include "fake_model_errors.h"
#include "fake_model_profile.h"

#include "sma/clock.h"
#include "sma/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX (64u << 20)
#define SEEN_COUNT_MAX 8192

struct connection
{
    int fd;
    uint64_t number;
    struct sma_buf in;
    struct fake_response response;
    size_t sent_bytes, next_pause;
    uint64_t resume_ms; /* 0 = not pausing */
    bool is_answering, is_writing_watched;
    struct connection *next_paused;
    bool is_paused;
};

struct seen /* a text with a fault */
{
    uint64_t key;
    long count;
};

static struct
{
    int epoll_fd, listen_fd;
    uint64_t connection_count, request_count;
    struct connection *paused;
    json_t *script;
    size_t script_at;
    FILE *log;
    const char *key;
    long delay_ms;
    bool is_deepseek, is_blind, is_lax, checks_prefix, logs_bodies, is_plain;
    const struct fake_profile *profile;
    size_t window;
    struct seen faults[SEEN_COUNT_MAX];
} fake;

static uint64_t now_ms(void)
{
    return sma_clock_now_ns() / 1000000;
}

static uint64_t hash_of(struct sma_str text)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.ptr[i]) * 1099511628211u;
    return hash == 0 ? 1 : hash;
}

static struct seen *find_seen(struct seen *table, uint64_t key)
{
    for (size_t i = 0; i < SEEN_COUNT_MAX; i++) {
        struct seen *seen = &table[(key + i) % SEEN_COUNT_MAX];
        if (seen->key == key || seen->key == 0) {
            seen->key = key;
            return seen;
        }
    }
    return NULL;
}

/* -- connections ------------------------------------------------------------------------------- */
static void pause_connection(struct connection *connection, uint64_t ms)
{
    connection->resume_ms = now_ms() + ms;
    if (connection->is_paused)
        return;
    connection->is_paused = true;
    connection->next_paused = fake.paused;
    fake.paused = connection;
}

static void close_connection(struct connection *connection)
{
    for (struct connection **at = &fake.paused; *at != NULL; at = &(*at)->next_paused)
        if (*at == connection) {
            *at = connection->next_paused;
            break;
        }
    close(connection->fd);
    sma_buf_fini(&connection->in);
    sma_buf_fini(&connection->response.bytes);
    free(connection);
}

static void accept_connections(void)
{
    for (;;) {
        int fd = accept4(fake.listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct connection *connection = calloc(1, sizeof *connection);
        if (connection == NULL) {
            close(fd);
            return;
        }
        connection->fd = fd;
        connection->number = ++fake.connection_count;
        sma_buf_init(&connection->in, REQUEST_BYTES_MAX);
        sma_buf_init(&connection->response.bytes, 128u << 20);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(fake.epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static void watch_writing(struct connection *connection, bool is_wanted)
{
    if (connection->is_writing_watched == is_wanted)
        return;
    connection->is_writing_watched = is_wanted;
    struct epoll_event event = {.events = EPOLLIN | (is_wanted ? EPOLLOUT : 0),
                                .data.ptr = connection};
    epoll_ctl(fake.epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
}

/* How far this connection may write now, and how long to wait there. */
static size_t write_limit(struct connection *connection, uint64_t *ret_pause_ms)
{
    struct fake_response *response = &connection->response;
    size_t limit = response->bytes.len;
    *ret_pause_ms = 0;
    if (response->drip_bytes > 0 && limit > response->drip_offset) {
        size_t from = connection->sent_bytes < response->drip_offset ? response->drip_offset
                                                                     : connection->sent_bytes;
        if (from + response->drip_bytes < limit) {
            limit = from + response->drip_bytes;
            *ret_pause_ms = response->drip_ms;
        }
    }
    if (connection->next_pause < response->pause_count &&
        response->pauses[connection->next_pause].offset < limit) {
        limit = response->pauses[connection->next_pause].offset;
        *ret_pause_ms = response->pauses[connection->next_pause].ms;
    }
    return limit;
}

/* @return false when the connection was closed */
static bool write_some(struct connection *connection)
{
    struct fake_response *response = &connection->response;
    while (connection->is_answering && !connection->is_paused) {
        uint64_t pause_ms = 0;
        size_t limit = write_limit(connection, &pause_ms);
        while (connection->sent_bytes < limit) {
            ssize_t count = send(connection->fd, response->bytes.ptr + connection->sent_bytes,
                                 limit - connection->sent_bytes, MSG_NOSIGNAL);
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
                watch_writing(connection, true);
                return true;
            }
            if (count < 0) {
                close_connection(connection);
                return false;
            }
            connection->sent_bytes += (size_t)count;
        }
        watch_writing(connection, false);
        if (connection->sent_bytes == response->bytes.len) {
            connection->is_answering = false;
            if (response->is_closed) {
                close_connection(connection);
                return false;
            }
            return true;
        }
        if (connection->next_pause < response->pause_count &&
            response->pauses[connection->next_pause].offset == connection->sent_bytes)
            connection->next_pause++;
        if (pause_ms > 0)
            pause_connection(connection, pause_ms);
    }
    return true;
}

/* -- deciding ---------------------------------------------------------------------------------- */
struct request
{
    enum sma_llm_api api;
    bool is_known_path, is_list;
    const struct fake_profile *profile; /* by --profile or the path; NULL = the plain server */
    struct sma_str head, body, path;
};

/* The value of a header, trimmed; empty when it is not there. */
static struct sma_str find_header(struct sma_str head, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = head.ptr; at + len < head.ptr + head.len; at++) {
        if (at[0] != '\n' || strncasecmp(at + 1, name, len) != 0 || at[len + 1] != ':')
            continue;
        const char *value = at + len + 2;
        const char *end = memchr(value, '\r', (size_t)(head.ptr + head.len - value));
        return sma_str_trim((struct sma_str){value, (size_t)(end - value)});
    }
    return (struct sma_str){"", 0};
}

static bool has_header(struct sma_str head, const char *name, const char *wanted)
{
    struct sma_str text = find_header(head, name);
    return wanted == NULL ? text.len > 0 : sma_str_starts_with(text, sma_str(wanted));
}

/* As the platforms do, it quotes the key and is long. */
static void refuse_key(struct fake_response *response, const struct request *request)
{
    bool is_messages = request->api == SMA_LLM_MESSAGES;
    struct sma_str key = find_header(request->head, is_messages ? "x-api-key" : "authorization");
    size_t skip = !is_messages && key.len > 7 ? 7 : 0; /* "Bearer " */
    char message[300];
    snprintf(message, sizeof message,
             "Incorrect API key provided: %.*s. You can find your API key at "
             "https://platform.example.com/account/settings/organization/api-keys, or ask your "
             "administrator.",
             key.len > 100 ? 100 : (int)(key.len - skip), key.ptr + skip);
    fake_put_error(response, request->api, 401, "invalid_api_key", message, "");
}

static bool is_authorised(const struct request *request)
{
    char wanted[512];
    bool is_messages = request->api == SMA_LLM_MESSAGES;
    if (is_messages && !has_header(request->head, "anthropic-version", "20"))
        return false;
    if (is_messages && request->profile != NULL && find_header(request->head, "x-api-key").len == 0)
        is_messages = false; /* the newer libraries send Bearer */
    snprintf(wanted, sizeof wanted, "%s%s", is_messages ? "" : "Bearer ",
             fake.key == NULL ? "" : fake.key);
    return has_header(request->head, is_messages ? "x-api-key" : "authorization",
                      wanted[0] == '\0' ? NULL : wanted);
}

/* Only the newest turn, found from the end: for benchmarks. */
static json_t *parse_tail(struct sma_str body)
{
    static const char mark[] = "{\"role\":\"user\"",
                      result[] = "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\"";
    for (size_t at = body.len; at > 0; at--) {
        struct sma_str rest = {body.ptr + at - 1, body.len - at + 1};
        if (rest.ptr[0] != '{' || !sma_str_starts_with(rest, sma_str(mark)) ||
            sma_str_starts_with(rest, sma_str(result)))
            continue;
        struct sma_buf list;
        sma_buf_init(&list, REQUEST_BYTES_MAX + 16);
        sma_buf_put_char(&list, '[');
        sma_buf_put(&list, rest.ptr, rest.len - 1); /* its own "]" closes ours */
        json_t *messages = list.err == SMA_ERR_OK ? json_loadb(list.ptr, list.len, 0, NULL) : NULL;
        sma_buf_fini(&list);
        return messages;
    }
    return NULL;
}

/* The fault this request is to meet: from the script, else from the text. Written into `fault`. */
static const json_t *choose_fault(const struct sma_offline_turn *turn, char *fault, size_t size)
{
    fault[0] = '\0';
    const json_t *entry = json_array_get(fake.script, fake.script_at);
    if (entry != NULL) {
        fake.script_at++;
        const char *name = json_is_string(entry)
                               ? json_string_value(entry)
                               : json_string_value(json_object_get(entry, "fault"));
        snprintf(fault, size, "%s", name == NULL ? "" : name);
        return json_is_object(entry) ? entry : NULL;
    }
    const char *start = turn->has_result || turn->text.len == 0
                            ? NULL
                            : memmem(turn->text.ptr, turn->text.len, "[[fault:", 8);
    const char *end =
        start == NULL ? NULL
                      : memmem(start, (size_t)(turn->text.ptr + turn->text.len - start), "]]", 2);
    if (end == NULL || (size_t)(end - start) - 8 >= size)
        return NULL;
    struct seen *seen = find_seen(fake.faults, hash_of(turn->text));
    memcpy(fault, start + 8, (size_t)(end - start) - 8);
    fault[end - start - 8] = '\0';
    if (seen == NULL || seen->count++ >= fake_option(fault, "times", 1))
        fault[0] = '\0';
    return NULL;
}

static void script_answer(const json_t *entry, struct fake_answer *answer,
                          struct sma_buf *arguments)
{
    const json_t *text = json_object_get(entry, "text"), *calls = json_object_get(entry, "calls");
    if (json_is_string(text))
        answer->text = (struct sma_str){json_string_value(text), json_string_length(text)};
    size_t starts[FAKE_CALL_COUNT_MAX + 1] = {0};
    for (size_t i = 0; i < json_array_size(calls) && i < FAKE_CALL_COUNT_MAX; i++) {
        const json_t *call = json_array_get(calls, i), *value = json_object_get(call, "arguments");
        char *dump = json_is_string(value) ? strdup(json_string_value(value))
                                           : json_dumps(value, JSON_COMPACT);
        sma_buf_put_text(arguments, dump == NULL ? "{}" : dump);
        free(dump);
        starts[i + 1] = arguments->len;
        answer->calls[i].name = sma_str(json_string_value(json_object_get(call, "name")));
        answer->call_count = i + 1;
    }
    for (size_t i = 0; i < answer->call_count; i++)
        answer->calls[i].arguments =
            (struct sma_str){arguments->ptr + starts[i], starts[i + 1] - starts[i]};
}

static void default_answer(struct fake_answer *answer, const struct sma_offline_turn *turn,
                           struct sma_offline_decision *decision)
{
    if (fake_answer_calls(turn, answer, &decision->arguments))
        return;
    sma_offline_decide(turn, decision);
    bool is_plain = fake.is_plain || (turn->text.len > 0 && memmem(turn->text.ptr, turn->text.len,
                                                                   "[[plain]]", 9) != NULL);
    if (!turn->has_result && is_plain)
        answer->text = turn->text;
    else if (decision->tool == NULL) /* a final text would be delivered, too */
        answer->text =
            sma_str_is_equal(turn->tool, SMA_STR("chat_send")) ? SMA_STR("") : SMA_STR("Done.");
    else {
        answer->calls[0].name = sma_str(decision->tool);
        answer->calls[0].arguments = sma_buf_str(&decision->arguments);
        answer->call_count = 1;
    }
}

static void answer_messages(struct connection *connection, const struct request *request,
                            const json_t *messages, bool is_stream, char *fault, size_t fault_size)
{
    struct fake_response *response = &connection->response;
    struct sma_offline_turn turn;
    struct sma_offline_decision decision;
    struct fake_answer answer = {.number = (uint64_t)getpid() * 1000000 + fake.request_count,
                                 .input_tokens = request->body.len / 4};
    sma_buf_init(&decision.arguments, 16u << 20);
    fake_read_turn(request->api, messages, &turn);
    const json_t *entry = choose_fault(&turn, fault, fault_size);
    bool has_tools = memmem(request->body.ptr, request->body.len, "\"tools\":", 8) != NULL;
    if (!has_tools && fake_answer_judgement(request->body, &answer))
        ; /* said */
    else if (!has_tools && fake_answer_extraction(request->body, &answer, &decision.arguments))
        ; /* likewise */
    else if (json_object_get(entry, "text") != NULL || json_object_get(entry, "calls") != NULL)
        script_answer(entry, &answer, &decision.arguments);
    else
        default_answer(&answer, &turn, &decision);
    if (fault[0] == '\0' || !fake_put_fault(response, request->api, fault))
        fake_put_answer(response, request->api, is_stream, &answer,
                        fault[0] == '\0' ? NULL : fault);
    if (fake.delay_ms > 0 && response->pause_count == 0) {
        response->pauses[0].offset = 0;
        response->pauses[0].ms = (uint64_t)fake.delay_ms;
        response->pause_count = 1;
    }
    sma_buf_fini(&decision.arguments);
}

static void put_visit(struct sma_buf *line, const struct fake_visit *visit)
{
    sma_buf_printf(line,
                   ",\"profile\":\"%s\",\"model\":\"%s\",\"misses\":%zu,\"tokens\":%zu,"
                   "\"read\":%zu,\"written\":%zu,\"paid\":%.9f,\"perfect\":%.9f",
                   visit->profile->name, visit->model, visit->echo_misses, visit->price.tokens,
                   visit->price.read, visit->price.written, visit->price.paid,
                   visit->price.perfect);
}

static void write_log(const struct connection *connection, const struct request *request,
                      const struct fake_visit *visit)
{
    const char *fault = visit->fault, *complaint = visit->complaint;
    if (fake.log == NULL)
        return;
    struct sma_buf line;
    sma_buf_init(&line, 128u << 20);
    sma_buf_printf(&line,
                   "{\"n\":%llu,\"connection\":%llu,\"ms\":%llu,\"status\":%d,\"bytes\":%zu,"
                   "\"hash\":\"%016llx\",\"path\":",
                   (unsigned long long)fake.request_count, (unsigned long long)connection->number,
                   (unsigned long long)now_ms(), connection->response.status, request->body.len,
                   (unsigned long long)hash_of(request->body));
    sma_buf_put_json_string(&line, request->path);
    sma_buf_put_text(&line, ",\"fault\":");
    sma_buf_put_json_string(&line, sma_str(fault));
    sma_buf_put_text(&line, ",\"complaint\":");
    sma_buf_put_json_string(&line, sma_str(complaint));
    if (visit->profile != NULL)
        put_visit(&line, visit);
    if (fake.logs_bodies) {
        sma_buf_put_text(&line, ",\"body\":");
        sma_buf_put_json_string(&line, request->body);
    }
    sma_buf_put_text(&line, "}\n");
    if (line.err == SMA_ERR_OK)
        fwrite(line.ptr, 1, line.len, fake.log);
    fflush(fake.log);
    sma_buf_fini(&line);
}

static void answer_plain(struct connection *connection, const struct request *request,
                         const json_t *root, struct fake_visit *visit)
{
    struct fake_check_options options = {.is_deepseek = fake.is_deepseek,
                                         .is_blind = fake.is_blind};
    const char *complaint = fake_check(request->api, root, &options);
    if (complaint == NULL && fake.checks_prefix && fake_has_moved_prefix(request->body))
        complaint = "the prefix of this conversation has moved";
    snprintf(visit->complaint, sizeof visit->complaint, "%s", complaint == NULL ? "" : complaint);
    if (complaint != NULL)
        fake_put_error(&connection->response, request->api, 400, "invalid_request_error", complaint,
                       "");
    else
        answer_messages(connection, request, fake_messages(request->api, root),
                        json_is_true(json_object_get(root, "stream")), visit->fault,
                        sizeof visit->fault);
}

static void answer_lax(struct connection *connection, const struct request *request,
                       struct fake_visit *visit)
{
    json_t *messages = parse_tail(request->body);
    bool is_stream = memmem(request->body.ptr, request->body.len, ",\"stream\":true", 14) != NULL;
    answer_messages(connection, request, messages, is_stream, visit->fault, sizeof visit->fault);
    json_decref(messages);
}

static void answer_profile(struct connection *connection, const struct request *request,
                           const json_t *root, struct fake_visit *visit)
{
    visit->api = request->api;
    visit->head = request->head;
    visit->body = request->body;
    visit->root = root;
    visit->number = (uint64_t)getpid() * 100000 + fake.request_count;
    visit->now_ms = now_ms();
    visit->window = fake.window;
    fake_visit(visit, &connection->response);
}

/* GET /fake/state */
static void put_state(struct fake_response *response)
{
    json_t *state = fake_state();
    char *text = json_dumps(state, JSON_COMPACT);
    fake_put_head(response, 200, "application/json", "", text == NULL ? 0 : (long)strlen(text));
    sma_buf_put_text(&response->bytes, text == NULL ? "" : text);
    free(text);
    json_decref(state);
}

static void answer_request(struct connection *connection, const struct request *request)
{
    struct fake_response *response = &connection->response;
    struct fake_visit visit = {.profile = request->profile};
    if (sma_str_is_equal(request->path, SMA_STR("/fake/state"))) {
        put_state(response);
        return;
    }
    fake.request_count++;
    if (!request->is_known_path) {
        fake_put_error(response, request->api, 404, "not_found", "no such path", "");
    } else if (!is_authorised(request)) {
        refuse_key(response, request);
    } else if (request->is_list) {
        fake_put_models(response);
    } else if (!has_header(request->head, "content-type", "application/json")) {
        fake_put_error(response, request->api, 415, "invalid_request_error",
                       "content-type must be application/json", "");
    } else if (fake.is_lax) {
        answer_lax(connection, request, &visit);
    } else {
        json_t *root =
            json_loadb(request->body.ptr, request->body.len, JSON_REJECT_DUPLICATES, NULL);
        if (request->profile != NULL)
            answer_profile(connection, request, root, &visit);
        else
            answer_plain(connection, request, root, &visit);
        json_decref(root);
    }
    write_log(connection, request, &visit);
}

/* -- HTTP -------------------------------------------------------------------------------------- */
/* "/NAME/v1/..." is that provider, wherever its own API begins. */
static void read_profile(struct request *request, struct sma_str *path)
{
    const char *slash = path->len < 2 ? NULL : memchr(path->ptr + 1, '/', path->len - 1);
    request->profile = fake.profile;
    if (slash == NULL)
        return;
    size_t len = (size_t)(slash - path->ptr) - 1;
    const struct fake_profile *profile = fake_profile_find(path->ptr + 1, len);
    if (profile == NULL)
        return;
    request->profile = profile;
    *path = (struct sma_str){slash, path->len - len - 1};
}

static struct request read_head(const struct sma_buf *in, size_t head_len)
{
    struct request request = {.head = {in->ptr, head_len}};
    const char *path = memchr(in->ptr, ' ', head_len),
               *end = path == NULL ? NULL
                                   : memchr(path + 1, ' ', head_len - (size_t)(path + 1 - in->ptr));
    if (end == NULL)
        return request;
    request.path = (struct sma_str){path + 1, (size_t)(end - path - 1)};
    struct sma_str bare = request.path;
    const char *query = memchr(bare.ptr, '?', bare.len);
    if (query != NULL)
        bare.len = (size_t)(query - bare.ptr);
    request.is_known_path = true;
    read_profile(&request, &bare);
    if (sma_str_is_equal(bare, SMA_STR("/v1/responses")))
        request.api = SMA_LLM_RESPONSES;
    else if (sma_str_is_equal(bare, SMA_STR("/v1/messages")))
        request.api = SMA_LLM_MESSAGES;
    else if (sma_str_is_equal(bare, SMA_STR("/v1/models")))
        request.is_list = true;
    else
        request.is_known_path = sma_str_is_equal(bare, SMA_STR("/v1/chat/completions"));
    if (request.is_list && has_header(request.head, "anthropic-version", NULL))
        request.api = SMA_LLM_MESSAGES; /* its header for the key */
    return request;
}

static size_t content_length(struct sma_str head)
{
    for (const char *at = head.ptr; at + 16 < head.ptr + head.len; at++)
        if (at[0] == '\n' && strncasecmp(at + 1, "content-length:", 15) == 0)
            return strtoul(at + 16, NULL, 10);
    return 0;
}

/* Answer whole requests at the start of the input. @return false when the connection was closed */
static bool serve(struct connection *connection)
{
    struct sma_buf *in = &connection->in;
    while (!connection->is_answering && in->len > 0) {
        const char *end = memmem(in->ptr, in->len, "\r\n\r\n", 4);
        if (end == NULL)
            return true;
        size_t head_len = (size_t)(end - in->ptr) + 2;
        struct request request = read_head(in, head_len);
        size_t body_len = content_length(request.head);
        if (body_len > REQUEST_BYTES_MAX) {
            close_connection(connection);
            return false;
        }
        if (in->len < head_len + 2 + body_len)
            return true;
        request.body = (struct sma_str){in->ptr + head_len + 2, body_len};
        struct fake_response *response = &connection->response;
        sma_buf_clear(&response->bytes);
        response->pause_count = response->drip_bytes = response->drip_offset = 0;
        response->is_closed = false;
        connection->sent_bytes = connection->next_pause = 0;
        answer_request(connection, &request);
        size_t used = head_len + 2 + body_len;
        memmove(in->ptr, in->ptr + used, in->len - used);
        in->len -= used;
        connection->is_answering = true;
        if (!write_some(connection))
            return false;
    }
    return true;
}

static void read_some(struct connection *connection)
{
    for (;;) {
        char *room = sma_buf_reserve(&connection->in, 65536);
        ssize_t count = room == NULL ? 0 : recv(connection->fd, room, 65536, 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (count <= 0) {
            close_connection(connection);
            return;
        }
        connection->in.len += (size_t)count;
        if (count < 65536)
            break;
    }
    (void)serve(connection); /* a closed connection needs nothing more */
}

static volatile sig_atomic_t is_silence_over;

static void end_silence(int number)
{
    (void)number;
    is_silence_over = 1;
}

/* @return how long to wait at most; NULL = until something comes */
static const struct timespec *resume_paused(struct timespec *wait)
{
    uint64_t now = now_ms(), next = UINT64_MAX;
    bool is_over = is_silence_over != 0;
    is_silence_over = 0;
    struct connection *list = fake.paused;
    fake.paused = NULL;
    while (list != NULL) {
        struct connection *connection = list;
        list = connection->next_paused;
        if (connection->resume_ms > now && !is_over) {
            connection->next_paused = fake.paused;
            fake.paused = connection;
            continue;
        }
        connection->is_paused = false;
        if (write_some(connection) && !connection->is_paused && !connection->is_answering)
            (void)serve(connection);
    }
    for (struct connection *at = fake.paused; at != NULL; at = at->next_paused)
        if (at->resume_ms < next)
            next = at->resume_ms;
    if (next == UINT64_MAX)
        return NULL;
    now = now_ms();
    uint64_t wait_ns = next <= now ? 0 : sma_clock_machine_ns((next - now) * 1000000u);
    *wait = (struct timespec){(time_t)(wait_ns / 1000000000u), (long)(wait_ns % 1000000000u)};
    return wait;
}

static void run(void)
{
    struct epoll_event events[64];
    sigset_t usual, blocked; /* SIGUSR1 arrives while there is nothing to do, and only then */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &usual);
    signal(SIGUSR1, end_silence);
    for (;;) {
        struct timespec wait;
        int count =
            epoll_pwait2(fake.epoll_fd, events, SMA_COUNT_OF(events), resume_paused(&wait), &usual);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection == NULL)
                accept_connections();
            else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_some(connection);
            else if (write_some(connection) && !connection->is_answering)
                (void)serve(connection);
        }
    }
}

static int listen_on(long port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof address;
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fake.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    fake.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    setsockopt(fake.listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fake.listen_fd, (struct sockaddr *)&address, len) != 0 ||
        listen(fake.listen_fd, 1024) != 0 ||
        getsockname(fake.listen_fd, (struct sockaddr *)&address, &len) != 0) {
        perror("fake_model");
        return 1;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(fake.epoll_fd, EPOLL_CTL_ADD, fake.listen_fd, &event);
    int port_told = ntohs(address.sin_port);
    printf("PORT %d\n", port_told);
    fflush(stdout); /* a test reads no further */
    printf("\nFor the bot, in ship.json:\n"
           "  \"llm\": { \"provider\": \"custom\", \"model\": \"fake-1\", \"baseUrl\": "
           "\"http://127.0.0.1:%d/v1\", \"apiKey\": \"${LLM_API_KEY}\" }\n"
           "and in .env:\nLLM_API_KEY=%s\n\n",
           port_told, fake.key == NULL ? "any" : fake.key);
    fflush(stdout);
    return 0;
}

static void print_usage(FILE *to)
{
    fputs(
        "shipmyagent simulate model [--port N] [--key KEY] [--script FILE] [--log FILE] "
        "[--log-bodies] "
        "[--delay-ms N]\n"
        "           [--profile NAME] [--window TOKENS] [--deepseek] [--blind] [--prefix] [--lax] "
        "[--plain]\n"
        "  prints PORT n. --profile: refuses, answers and counts as this provider does; so does "
        "the path\n"
        "  /NAME/v1/... --window: longer requests are refused. --deepseek: reasoning_content must "
        "be echoed.\n"
        "  --blind: pictures are refused. Pictures and files are judged by their bytes.\n"
        "  --prefix: 400 when the bytes of a conversation's earlier requests change. --lax: no "
        "checks,\n"
        "  reads the newest turn only (benchmarks). --plain: answers are plain text. GET "
        "/fake/state: sums, with what was paid and "
        "what a\n"
        "  perfectly cached client would have paid.\n"
        "  Faults: 4xx/5xx [retry-after=S retry-after-ms=N should-retry=0|1] quota context html "
        "page200 reset cut\n"
        "  nodone silence[ms] stall[ms] drip[bytes ms] comments[count ms] garbage error200 json "
        "shortlength\n"
        "  hugeline[bytes] hang[ms] split; each also times=N. With a profile also: rate "
        "overloaded billing\n"
        "  window spend ramp minute-quota key key-limit nomodel overflow silent-overflow, and "
        "for=MS at=STEP\n"
        "  on=NAME. SIGUSR1 ends the pauses of now. More: simulators/model/README.md\n",
        to);
    fake_profile_list(to);
}

static bool take_option(const char *name, const char *value, long *port)
{
    if (strcmp(name, "--port") == 0)
        *port = strtol(value, NULL, 10);
    else if (strcmp(name, "--key") == 0)
        fake.key = value;
    else if (strcmp(name, "--delay-ms") == 0)
        fake.delay_ms = strtol(value, NULL, 10);
    else if (strcmp(name, "--window") == 0)
        fake.window = strtoul(value, NULL, 10);
    else if (strcmp(name, "--profile") == 0)
        return (fake.profile = fake_profile_find(value, strlen(value))) != NULL;
    else if (strcmp(name, "--script") == 0)
        return json_is_array(fake.script = json_load_file(value, 0, NULL));
    else if (strcmp(name, "--log") == 0)
        return (fake.log = fopen(value, "ae")) != NULL;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    long port = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--blind") == 0)
            fake.is_blind = true;
        else if (strcmp(argv[i], "--deepseek") == 0)
            fake.is_deepseek = true;
        else if (strcmp(argv[i], "--prefix") == 0)
            fake.checks_prefix = true;
        else if (strcmp(argv[i], "--lax") == 0)
            fake.is_lax = true;
        else if (strcmp(argv[i], "--plain") == 0)
            fake.is_plain = true;
        else if (strcmp(argv[i], "--log-bodies") == 0)
            fake.logs_bodies = true;
        else if (i + 1 >= argc || !take_option(argv[i], argv[i + 1], &port)) {
            bool is_help = strcmp(argv[i], "--help") == 0;
            print_usage(is_help ? stdout : stderr);
            return is_help ? 0 : 2;
        } else
            i++;
    }
    signal(SIGPIPE, SIG_IGN);
    if (listen_on(port) != 0)
        return 1;
    run();
    return 0;
}
