/*
 * session.c — the states of a session, its open requests and their times.
 */
#include "session_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SESSION_MAGIC 0x6d637073u
#define LOG_COUNT_MAX 20 /* lines of one server in LOG_NS; the rest is not said */
#define LOG_NS (60 * SMA_NS_PER_S)
#define TOO_DEEP "the server's answer is no JSON, or too deep"

_Static_assert(SMA_MCP_MESSAGE_BYTES_MAX <= SMA_JSON_BYTES_MAX, "a message can be read");

/* -- life -------------------------------------------------------------------------------------- */
struct sma_mcp_session *sma_mcp_session_create(const struct sma_mcp_session_options *options,
                                               const struct sma_mcp_session_ops *ops, void *user)
{
    struct sma_mcp_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->magic = SESSION_MAGIC;
    session->options = *options;
    session->ops = ops;
    session->user = user;
    session->is_modern = options->is_modern;
    session->handshake_ns = session->listing.due_ns = session->listen_ns = UINT64_MAX;
    return session;
}

void sma_mcp_session_destroy(struct sma_mcp_session *session)
{
    if (session == NULL)
        return;
    SMA_ASSERT(session->magic == SESSION_MAGIC);
    session->state = SESSION_FAILED; /* says nothing any more */
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++)
        if (session->open[i].kind != SESSION_FREE)
            session_close(session, &session->open[i]);
    session_drop_listing(session);
    sma_mcp_catalogue_unref(session->offer);
    free(session->instructions);
    session->magic = 0;
    free(session);
}

static void enter(struct sma_mcp_session *session, uint64_t now_ns)
{
    SMA_ASSERT(session->magic == SESSION_MAGIC);
    session->now_ns = now_ns;
}

void session_log(struct sma_mcp_session *session, enum sma_log_level level, const char *format, ...)
{
    if (session->now_ns - session->log_ns >= LOG_NS) {
        session->log_ns = session->now_ns;
        session->log_count = 0;
    }
    if (session->log_count++ >= LOG_COUNT_MAX)
        return;
    char text[SESSION_TEXT_BYTES_MAX * 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut: as well */
    va_end(arguments);
    struct sma_buf line;
    sma_buf_init(&line, sizeof text * 2);
    sma_mcp_put_clean(&line, sma_str(text), SESSION_TEXT_BYTES_MAX);
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] == '\n')
            line.ptr[i] = ' ';
    if (line.err == SMA_ERR_OK)
        session->ops->log(session->user, level, sma_buf_str(&line));
    sma_buf_fini(&line);
}

void session_fail(struct sma_mcp_session *session, const char *why)
{
    if (session->state == SESSION_FAILED)
        return;
    session->state = SESSION_FAILED;
    session->ops->failed(session->user, why);
}

/* -- open requests ----------------------------------------------------------------------------- */
struct session_request *session_open(struct sma_mcp_session *session, enum session_kind kind,
                                     uint64_t timeout_ms)
{
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++) {
        struct session_request *request = &session->open[i];
        if (request->kind != SESSION_FREE)
            continue;
        uint64_t renewal_ns = timeout_ms * SMA_NS_PER_MS;
        *request = (struct session_request){
            .id = ++session->last_id,
            .kind = kind,
            .deadline_ns = timeout_ms == 0 ? UINT64_MAX : session->now_ns + renewal_ns,
            .limit_ns = session->now_ns + renewal_ns * SMA_MCP_RENEWED_COUNT_MAX,
            .renewal_ns = renewal_ns,
        };
        request->call_id = request->id;
        session->call_count += kind == SESSION_CALL;
        return request;
    }
    return NULL;
}

void session_close(struct sma_mcp_session *session, struct session_request *request)
{
    SMA_ASSERT(request->kind != SESSION_FREE);
    session->call_count -= request->kind == SESSION_CALL;
    if (request->kind == SESSION_PING)
        session->is_pinged = false;
    if (request->asking > 0)
        session_drop_questions(session, request->call_id);
    json_decref(request->params);
    json_decref(request->responses);
    json_decref(request->state);
    *request = (struct session_request){.kind = SESSION_FREE};
}

struct session_request *session_find(struct sma_mcp_session *session, uint64_t id)
{
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++)
        if (session->open[i].kind != SESSION_FREE && session->open[i].id == id)
            return &session->open[i];
    return NULL;
}

struct session_request *session_find_call(struct sma_mcp_session *session, uint64_t call_id)
{
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++)
        if (session->open[i].kind == SESSION_CALL && session->open[i].call_id == call_id)
            return &session->open[i];
    return NULL;
}

void session_answer(struct sma_mcp_session *session, struct session_request *request,
                    enum sma_mcp_outcome outcome, const json_t *result, struct sma_str why)
{
    uint64_t call_id = request->call_id;
    session_close(session, request);
    session->ops->answered(session->user, call_id, outcome, result, why);
}

/* -- opening ----------------------------------------------------------------------------------- */
static void initialize(struct sma_mcp_session *session)
{
    struct session_request *request =
        session_open(session, SESSION_INITIALIZE, SMA_MCP_HANDSHAKE_MS);
    session->state = SESSION_INITIALIZING;
    session->is_modern = false;
    (void)snprintf(session->version, sizeof session->version, "%s", SESSION_LEGACY_VERSION);
    json_t *params =
        json_pack("{s:s,s:o*,s:{s:s,s:s,s:s}}", "protocolVersion", SESSION_LEGACY_VERSION,
                  "capabilities", session_capabilities(session), "clientInfo", "name",
                  "shipmyagent", "title", "ShipMyAgent", "version", SMA_VERSION);
    if (request == NULL || params == NULL ||
        !session_put_request(session, request, "initialize", params))
        session_fail(session, "out of memory");
}

static void discover(struct sma_mcp_session *session)
{
    struct session_request *request =
        session_open(session, SESSION_DISCOVER,
                     session->options.is_modern ? SMA_MCP_HANDSHAKE_MS : SMA_MCP_PROBE_MS);
    session->state = SESSION_PROBING;
    session->is_modern = true;
    (void)snprintf(session->version, sizeof session->version, "%s", SESSION_MODERN_VERSION);
    if (request == NULL || !session_put_request(session, request, "server/discover", NULL))
        session_fail(session, "out of memory");
}

void sma_mcp_session_begin(struct sma_mcp_session *session, uint64_t now_ns)
{
    enter(session, now_ns);
    SMA_ASSERT(session->state == SESSION_NEW);
    session->handshake_ns = now_ns + SMA_MCP_HANDSHAKE_MS * SMA_NS_PER_MS;
    if (session->options.is_modern || session->options.probes_modern)
        discover(session);
    else
        initialize(session);
}

/* What both eras announce alike. */
static void take_capabilities(struct sma_mcp_session *session, const json_t *result)
{
    const json_t *capabilities = sma_json_get(result, "capabilities");
    const json_t *tools = sma_json_get(capabilities, "tools");
    session->has_tools = tools != NULL;
    session->has_resources = sma_json_get(capabilities, "resources") != NULL;
    session->has_prompts = sma_json_get(capabilities, "prompts") != NULL;
    session->tells_changes = json_is_true(sma_json_get(tools, "listChanged"));
    struct sma_buf text;
    sma_buf_init(&text, SMA_MCP_DESCRIPTION_BYTES_MAX * 2);
    sma_mcp_put_clean(&text, sma_json_str(result, "instructions"), SMA_MCP_DESCRIPTION_BYTES_MAX);
    free(session->instructions);
    session->instructions = text.len == 0 ? NULL : sma_buf_take(&text);
    sma_buf_fini(&text);
}

static void listen_for_changes(struct sma_mcp_session *session)
{
    session->listen_ns = UINT64_MAX;
    struct session_request *request = session_open(session, SESSION_LISTEN, 0);
    json_t *params = json_pack("{s:{s:b}}", "notifications", "toolsListChanged", 1);
    if (request != NULL && !session_put_request(session, request, "subscriptions/listen", params))
        session_close(session, request); /* changes are not heard of: the list stays as it is */
}

void session_become_ready(struct sma_mcp_session *session)
{
    if (session->state != SESSION_LISTING)
        return;
    session->state = SESSION_READY;
    session->handshake_ns = UINT64_MAX;
    if (session->is_modern && session->tells_changes)
        listen_for_changes(session);
}

static bool speaks_modern(const json_t *versions)
{
    for (size_t i = 0; i < json_array_size(versions); i++) {
        const char *version = json_string_value(json_array_get(versions, i));
        if (version != NULL && strcmp(version, SESSION_MODERN_VERSION) == 0)
            return true;
    }
    return false;
}

static void begin_work(struct sma_mcp_session *session, const json_t *result)
{
    take_capabilities(session, result);
    session->state = SESSION_LISTING;
    session_list(session);
}

static void on_discover(struct sma_mcp_session *session, const json_t *result)
{
    if (session->state != SESSION_PROBING)
        return;
    if (speaks_modern(sma_json_get(result, "supportedVersions")))
        begin_work(session, result);
    else if (session->options.is_modern)
        session_fail(session, "it does not answer server/discover with " SESSION_MODERN_VERSION);
    else
        initialize(session);
}

static void on_initialize(struct sma_mcp_session *session, const json_t *result)
{
    static const char *const known[] = {SESSION_LEGACY_VERSION, "2025-06-18", "2025-03-26",
                                        "2024-11-05"};
    const char *version = json_string_value(sma_json_get(result, "protocolVersion"));
    for (size_t i = 0; version != NULL && i < SMA_COUNT_OF(known); i++) {
        if (strcmp(version, known[i]) != 0)
            continue;
        (void)snprintf(session->version, sizeof session->version, "%s", known[i]);
        session_put_notification(session, "notifications/initialized", NULL);
        begin_work(session, result);
        return;
    }
    char why[160];
    (void)snprintf(why, sizeof why, "it wants a version of the protocol that is not known: %.60s",
                   version == NULL ? "none" : version);
    session_fail(session, why);
}

/* -- answers ----------------------------------------------------------------------------------- */
static void on_call_error(struct sma_mcp_session *session, struct session_request *request,
                          const json_t *error)
{
    struct sma_buf why;
    sma_buf_init(&why, SMA_TOOL_RESULT_BYTES_MAX * 2);
    sma_buf_put_text(&why, "MCP error ");
    sma_buf_put_i64(&why, sma_json_int(error, "code", INT32_MIN, INT32_MAX, 0));
    sma_buf_put_text(&why, ": ");
    sma_mcp_put_clean(&why, sma_json_str(error, "message"), SMA_MCP_DESCRIPTION_BYTES_MAX);
    session_answer(session, request, SMA_MCP_PROTOCOL_ERROR, NULL, sma_buf_str(&why));
    sma_buf_fini(&why);
}

const char *session_call_method(enum sma_mcp_call_kind kind)
{
    return kind == SMA_MCP_TOOL       ? "tools/call"
           : kind == SMA_MCP_RESOURCE ? "resources/read"
                                      : "prompts/get";
}

static void on_call_result(struct sma_mcp_session *session, struct session_request *request,
                           const json_t *result)
{
    if (session->is_cut) {
        session_answer(session, request, SMA_MCP_PROTOCOL_ERROR, NULL, SMA_STR(TOO_DEEP));
        return;
    }
    bool wants_more = session->is_modern && sma_str_is_equal(sma_json_str(result, "resultType"),
                                                             SMA_STR("input_required"));
    if (wants_more) {
        const char *why = session_take_inputs(session, request, result);
        if (why != NULL)
            session_answer(session, request, SMA_MCP_PROTOCOL_ERROR, NULL, sma_str(why));
        return;
    }
    if (result == NULL) {
        session_answer(session, request, SMA_MCP_PROTOCOL_ERROR, NULL,
                       SMA_STR("the server's answer holds neither a result nor an error"));
        return;
    }
    const json_t *flag = sma_json_get(result, "isError");
    bool is_error = json_is_true(flag) || json_number_value(flag) != 0 ||
                    sma_str_is_equal_nocase(sma_json_str_of(flag), SMA_STR("true"));
    session_answer(session, request, is_error ? SMA_MCP_TOOL_ERROR : SMA_MCP_OK, result,
                   SMA_STR(""));
}

/* The probe was given up and a handshake begun, and now it is answered: a server that starts slowly
 * speaks the modern era all the same. @return is it that? */
static bool take_late_discovery(struct sma_mcp_session *session, uint64_t id, const json_t *result)
{
    if (session->state != SESSION_INITIALIZING || id != session->probe_id ||
        !speaks_modern(sma_json_get(result, "supportedVersions")))
        return false;
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++)
        if (session->open[i].kind == SESSION_INITIALIZE)
            session_close(session, &session->open[i]); /* its answer is to nothing */
    session->has_answered = true;
    session->is_modern = true;
    (void)snprintf(session->version, sizeof session->version, "%s", SESSION_MODERN_VERSION);
    begin_work(session, result);
    return true;
}

static void on_answer(struct sma_mcp_session *session, const json_t *message)
{
    const json_t *id = sma_json_get(message, "id");
    struct session_request *request = json_is_integer(id) && json_integer_value(id) > 0
                                          ? session_find(session, (uint64_t)json_integer_value(id))
                                          : NULL;
    const json_t *error = sma_json_get(message, "error");
    const json_t *result = error == NULL ? sma_json_get(message, "result") : NULL;
    if (request == NULL && json_is_integer(id) && json_integer_value(id) > 0 &&
        take_late_discovery(session, (uint64_t)json_integer_value(id), result))
        return;
    if (request == NULL) {
        session->counts.stray++;
        if (error != NULL)
            session_log(session, SMA_LOG_WARN, "an error that names no request: %.200s",
                        sma_json_str(error, "message").ptr == NULL
                            ? ""
                            : sma_json_str(error, "message").ptr);
        return;
    }
    enum session_kind kind = request->kind;
    session->has_answered = true;
    session->unclear_count = 0;
    if (kind == SESSION_CALL && error != NULL) {
        on_call_error(session, request, error);
        return;
    }
    if (kind == SESSION_CALL) { /* null: it was done, and there is nothing to say */
        json_t *empty = json_is_null(json_object_get(message, "result")) ? json_object() : NULL;
        on_call_result(session, request, empty != NULL ? empty : result);
        json_decref(empty);
        return;
    }
    session_close(session, request);
    if (kind == SESSION_DISCOVER)
        on_discover(session, result);
    else if (kind == SESSION_INITIALIZE)
        on_initialize(session, result);
    else if (kind != SESSION_LISTEN && kind != SESSION_PING)
        session_take_page(session, kind, result);
}

static void count_garbage(struct sma_mcp_session *session, struct sma_str text)
{
    session->counts.garbage++;
    if (session->counts.garbage <= 3)
        session_log(session, SMA_LOG_WARN, "it writes what is no message: %.*s",
                    (int)(text.len < 120 ? text.len : 120), text.len == 0 ? "" : text.ptr);
    if (++session->garbage_run >= SMA_MCP_GARBAGE_COUNT_MAX)
        session_fail(session, "it writes nothing but garbage");
}

/* A server that talks without end would keep us busy with nothing. */
static void count_unasked(struct sma_mcp_session *session, unsigned count, size_t bytes)
{
    if (session->now_ns - session->unasked_ns >= SMA_MCP_UNASKED_MS * SMA_NS_PER_MS) {
        session->unasked_ns = session->now_ns;
        session->unasked_count = 0;
        session->unasked_bytes = 0;
    }
    session->unasked_bytes += bytes;
    session->unasked_count += count;
    if (session->unasked_count > SMA_MCP_UNASKED_COUNT_MAX ||
        session->unasked_bytes > SMA_MCP_UNASKED_BYTES_MAX)
        session_fail(session, "it talks without end, unasked");
}

/* Whatever it says: it is there. */
static void note_life(struct sma_mcp_session *session)
{
    for (size_t i = 0; session->is_pinged && i < SMA_COUNT_OF(session->open); i++)
        if (session->open[i].kind == SESSION_PING)
            session->open[i].deadline_ns = session->now_ns + SMA_MCP_PING_MS * SMA_NS_PER_MS;
}

/* A call was not answered in time: is anybody there? Also that is how a server is found out whose
 * pipes somebody else holds. */
static void ping(struct sma_mcp_session *session)
{
    if (session->is_pinged || session->state != SESSION_READY)
        return;
    struct session_request *request = session_open(session, SESSION_PING, SMA_MCP_PING_MS);
    if (request == NULL)
        return;
    session->is_pinged = true;
    if (!session_put_request(session, request, session->is_modern ? "server/discover" : "ping",
                             NULL))
        session_close(session, request); /* no memory: not now */
}

/* Judged by what works, whatever the failure was called: a session that the server has forgotten
 * ends in many words. Then a ping decides. */
static void note_unclear(struct sma_mcp_session *session)
{
    session->unclear_count++;
    if (sma_mcp_session_is_doubtful(session))
        ping(session);
}

static void take_one(struct sma_mcp_session *session, const json_t *message, struct sma_str text)
{
    const json_t *id = sma_json_get(message, "id");
    struct sma_str method = sma_json_str(message, "method");
    bool is_answer = json_object_get(message, "result") != NULL || /* null is one, too */
                     sma_json_get(message, "error") != NULL;
    session->has_answered = false;
    if (method.len > 0 && session->is_cut)
        count_garbage(session, text);
    else if (method.len > 0 && id == NULL)
        session_take_notification(session, method, sma_json_get(message, "params"));
    else if (method.len > 0 && (json_is_string(id) || json_is_integer(id)))
        session_take_request(session, id, method, sma_json_get(message, "params"));
    else if (method.len == 0 && is_answer)
        on_answer(session, message);
    else {
        count_garbage(session, text);
        return;
    }
    session->garbage_run = 0;
    if (!session->has_answered)
        count_unasked(session, 1, 0);
}

/* "id": and a number: of the first of them, where a message begins or ends with it. */
static uint64_t sniff_id(struct sma_str text)
{
    static const char key[] = "\"id\":";
    const char *at = text.len == 0 ? NULL : memmem(text.ptr, text.len, key, sizeof key - 1);
    if (at == NULL)
        return 0;
    uint64_t id = 0;
    const char *end = text.ptr + text.len;
    for (at += sizeof key - 1; at < end && *at == ' ';)
        at++;
    for (; at < end && *at >= '0' && *at <= '9' && id < UINT32_MAX; at++)
        id = id * 10 + (uint64_t)(*at - '0');
    return id;
}

/* A message that cannot be read: what it answers, by its beginning and its end, is over. */
static bool fail_unread(struct sma_mcp_session *session, struct sma_str head, struct sma_str tail,
                        const char *why)
{
    uint64_t id = sniff_id(head);
    if (session_find(session, id) == NULL)
        id = sniff_id(tail);
    if (session_find(session, id) == NULL)
        return false;
    sma_mcp_session_fail(session, id, SMA_MCP_PROTOCOL_ERROR, sma_str(why));
    return true;
}

static void fail_broken(struct sma_mcp_session *session, struct sma_str message)
{
    size_t edge = message.len < SESSION_TEXT_BYTES_MAX ? message.len : SESSION_TEXT_BYTES_MAX;
    struct sma_str head = {message.ptr, edge}, tail = {message.ptr + message.len - edge, edge};
    bool is_request = memmem(head.ptr, edge, "\"method\"", 8) != NULL;
    bool is_answer = memmem(head.ptr, edge, "\"result\"", 8) != NULL ||
                     memmem(head.ptr, edge, "\"error\"", 7) != NULL;
    if (is_answer && !is_request)
        (void)fail_unread(session, head, tail, TOO_DEEP);
}

void sma_mcp_session_skip(struct sma_mcp_session *session, struct sma_str head, struct sma_str tail,
                          uint64_t now_ns)
{
    enter(session, now_ns);
    session_log(session, SMA_LOG_WARN, "a message of more than %d bytes was skipped",
                SMA_MCP_MESSAGE_BYTES_MAX);
    if (!fail_unread(session, head, tail, "the server's answer is too large to be read"))
        session->counts.garbage++;
}

void sma_mcp_session_take(struct sma_mcp_session *session, struct sma_str message, uint64_t now_ns)
{
    enter(session, now_ns);
    message = sma_str_trim(message);
    if (message.len == 0 || session->state == SESSION_FAILED)
        return;
    json_t *root = NULL;
    bool is_text = message.ptr[0] == '{' || message.ptr[0] == '[';
    enum sma_err err = is_text && message.len <= SMA_MCP_MESSAGE_BYTES_MAX
                           ? session_read(message, &root, &session->is_cut)
                           : SMA_ERR_BADINPUT;
    if (err != SMA_ERR_OK) {
        if (message.ptr[0] == '{') /* an answer, too deep or broken: nobody need wait for it */
            fail_broken(session, message);
        count_garbage(session, message);
        count_unasked(session, 1, message.len);
        return;
    }
    session->has_answered = false;
    note_life(session);
    bool may_batch = strcmp(session->version, "2025-03-26") == 0; /* this revision alone */
    if (json_is_object(root))
        take_one(session, root, message);
    else if (json_is_array(root) && may_batch && json_array_size(root) > 0)
        for (size_t i = 0; i < json_array_size(root) && session->state != SESSION_FAILED; i++)
            take_one(session, json_array_get(root, i), message);
    else
        count_garbage(session, message);
    if (!session->has_answered)
        count_unasked(session, 0, message.len);
    json_decref(root);
}

/* -- times ------------------------------------------------------------------------------------- */
uint64_t sma_mcp_session_due(const struct sma_mcp_session *session)
{
    if (session->state == SESSION_FAILED || session->state == SESSION_NEW)
        return UINT64_MAX;
    uint64_t due = session->handshake_ns;
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++)
        if (session->open[i].kind != SESSION_FREE && session->open[i].asking == 0 &&
            session->open[i].deadline_ns < due)
            due = session->open[i].deadline_ns;
    for (size_t i = 0; i < SMA_COUNT_OF(session->questions); i++)
        if (session->questions[i].id != 0 && session->questions[i].deadline_ns < due)
            due = session->questions[i].deadline_ns;
    due = session->listen_ns < due ? session->listen_ns : due;
    if (session->listing.is_wanted && !session->listing.is_open && session->listing.due_ns < due)
        due = session->listing.due_ns;
    return due;
}

static void tell_cancelled(struct sma_mcp_session *session, uint64_t id, const char *reason)
{
    session_put_cancelled(session, id, reason);
}

static void time_out(struct sma_mcp_session *session, struct session_request *request)
{
    if (request->kind == SESSION_CALL) {
        bool is_at_limit = request->deadline_ns == request->limit_ns;
        tell_cancelled(session, request->id, "timeout");
        session_answer(session, request, SMA_MCP_UNKNOWN, NULL,
                       is_at_limit ? SMA_STR("it took too long, whatever progress it told of")
                                   : SMA_STR("no answer in time"));
        session->unclear_count++;
        ping(session);
        return;
    }
    enum session_kind kind = request->kind;
    if (kind == SESSION_DISCOVER)
        session->probe_id = request->id; /* it may just be slow to start */
    session_close(session, request);
    if (kind == SESSION_DISCOVER)
        on_discover(session, NULL);
    else if (kind == SESSION_INITIALIZE)
        session_fail(session, "it does not answer the handshake");
    else if (kind == SESSION_PING)
        session_fail(session, "it does not answer any more");
    else
        session_take_page(session, kind, NULL);
}

void sma_mcp_session_tick(struct sma_mcp_session *session, uint64_t now_ns)
{
    enter(session, now_ns);
    if (session->state == SESSION_FAILED || session->state == SESSION_NEW)
        return;
    if (now_ns >= session->handshake_ns) {
        session_fail(session, "it was not ready in time");
        return;
    }
    session_tick_questions(session);
    for (size_t i = 0; i < SMA_COUNT_OF(session->open) && session->state != SESSION_FAILED; i++)
        if (session->open[i].kind != SESSION_FREE && session->open[i].asking == 0 &&
            session->open[i].deadline_ns <= now_ns)
            time_out(session, &session->open[i]);
    struct session_listing *listing = &session->listing;
    if (session->listen_ns <= now_ns) { /* what changed meanwhile was not heard of */
        listen_for_changes(session);
        session_list_soon(session);
    }
    if (session->state == SESSION_READY && listing->is_wanted && !listing->is_open &&
        listing->due_ns <= now_ns)
        session_list(session);
}

/* -- calls ------------------------------------------------------------------------------------- */
static json_t *call_params(const struct sma_mcp_session_call *call, json_t *arguments)
{
    if (call->kind == SMA_MCP_RESOURCE) {
        json_decref(arguments);
        return json_pack("{s:s%}", "uri", call->name.ptr, call->name.len);
    }
    return json_pack("{s:s%,s:o}", "name", call->name.ptr, call->name.len, "arguments", arguments);
}

enum sma_err sma_mcp_session_call(struct sma_mcp_session *session,
                                  const struct sma_mcp_session_call *call, uint64_t now_ns,
                                  uint64_t *ret_id)
{
    enter(session, now_ns);
    if (session->state != SESSION_READY)
        return SMA_ERR_BUSY;
    if (session->call_count >= SMA_MCP_OPEN_COUNT_MAX)
        return SMA_ERR_FULL;
    json_t *arguments = NULL;
    if (call->arguments.len > 0)
        SMA_TRY(sma_json_load(call->arguments, &arguments));
    else
        arguments = json_object();
    if (!json_is_object(arguments)) {
        json_decref(arguments);
        return arguments == NULL ? SMA_ERR_NOMEM : SMA_ERR_BADINPUT;
    }
    json_t *params = call_params(call, arguments);
    struct session_request *request =
        params == NULL ? NULL : session_open(session, SESSION_CALL, (uint64_t)call->timeout_ms);
    if (request == NULL) {
        json_decref(params);
        return params == NULL ? SMA_ERR_BADINPUT : SMA_ERR_FULL;
    }
    request->call_kind = call->kind;
    request->group = call->group;
    request->params = session->is_modern ? json_deep_copy(params) : NULL;
    uint64_t id = request->id;
    if (!session_put_request(session, request, session_call_method(call->kind), params)) {
        session_close(session, request);
        return SMA_ERR_NOMEM;
    }
    *ret_id = id;
    return SMA_ERR_OK;
}

void sma_mcp_session_cancel(struct sma_mcp_session *session, uint64_t id, const char *reason)
{
    struct session_request *request = session_find_call(session, id);
    if (request == NULL)
        return;
    tell_cancelled(session, request->id, reason);
    session_answer(session, request, SMA_MCP_CANCELLED, NULL, sma_str(reason));
}

void sma_mcp_session_fail(struct sma_mcp_session *session, uint64_t id,
                          enum sma_mcp_outcome outcome, struct sma_str why)
{
    struct session_request *request = session_find(session, id);
    if (request == NULL || session->state == SESSION_FAILED)
        return;
    enum session_kind kind = request->kind;
    if (kind == SESSION_CALL) {
        session_answer(session, request, outcome, NULL, why);
        if (outcome != SMA_MCP_NOT_CONNECTED) /* that was said clearly */
            note_unclear(session);
        return;
    }
    session_close(session, request);
    if (kind == SESSION_DISCOVER)
        on_discover(session, NULL);
    else if (kind == SESSION_INITIALIZE)
        session_fail(session, "the handshake failed");
    else if (kind == SESSION_PING && sma_mcp_session_is_doubtful(session))
        session_fail(session, "it gives no readable answers any more");
    else if (kind == SESSION_LISTEN && outcome != SMA_MCP_PROTOCOL_ERROR)
        session->listen_ns = session->now_ns + SMA_MCP_LISTEN_MS * SMA_NS_PER_MS; /* it broke */
    else if (kind != SESSION_LISTEN && kind != SESSION_PING)
        session_take_page(session, kind, NULL);
}

void sma_mcp_session_end(struct sma_mcp_session *session, struct sma_str why)
{
    session->state = SESSION_FAILED;
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++)
        if (session->open[i].kind == SESSION_CALL)
            session_answer(session, &session->open[i], SMA_MCP_UNKNOWN, NULL, why);
}

/* -- looking ----------------------------------------------------------------------------------- */
bool sma_mcp_session_is_doubtful(const struct sma_mcp_session *session)
{
    return session->state == SESSION_READY && session->unclear_count >= SMA_MCP_UNCLEAR_COUNT_MAX;
}

bool sma_mcp_session_is_ready(const struct sma_mcp_session *session)
{
    return session->state == SESSION_READY;
}

const char *sma_mcp_session_version(const struct sma_mcp_session *session)
{
    return session->version;
}

const struct sma_mcp_catalogue *sma_mcp_session_offer(const struct sma_mcp_session *session)
{
    return session->offer;
}

bool sma_mcp_session_has_open(const struct sma_mcp_session *session, uint64_t id)
{
    for (size_t i = 0; i < SMA_COUNT_OF(session->open); i++)
        if (session->open[i].kind != SESSION_FREE && session->open[i].id == id)
            return true;
    return false;
}

const char *sma_mcp_session_left_names(const struct sma_mcp_session *session)
{
    return session->left_names;
}

struct sma_mcp_session_counts sma_mcp_session_count(const struct sma_mcp_session *session)
{
    return session->counts;
}
