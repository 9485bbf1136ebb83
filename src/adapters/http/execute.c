/* execute.c — POST /api/execute: from a body to one INGRESS, from ACCEPTED to an answer, a wait or
 * a stream. */
#include "http_priv.h"

#include "runtime/text/budget_text.h"

#include <stdio.h>
#include <stdlib.h>

/* Fixed: equal bodies must hash alike after a restart. It guards against mistakes of callers, not
 * against attackers, who would need to be the same authorised caller anyway. */
static const uint8_t body_key[16] = {'s', 'm', 'a', '-', 'h', 't', 't', 'p',
                                     '-', 'b', 'o', 'd', 'y', '-', '0', '1'};

static void make_message_id(struct sma_http *http, char hex[32])
{
    static const char digits[] = "0123456789abcdef";
    if (http->random_used + 16 > sizeof http->random) {
        http->sys->random_bytes(http->sys->self, http->random, sizeof http->random);
        http->random_used = 0;
    }
    for (size_t i = 0; i < 16; i++) {
        unsigned char byte = http->random[http->random_used++];
        hex[2 * i] = digits[byte >> 4];
        hex[2 * i + 1] = digits[byte & 15];
    }
}
/* Whose conversation it is: of a program that has the token, or a room of the page, whose person is
 * the owner that is signed in, whatever the body says. */
struct side
{
    const char *channel, *prefix, *user; /* user NULL: as the body says */
};
static const struct side sides[] = {{"api", "api:chat:", NULL}, {"web", "web:room:", "owner"}};
#define CHAT_KEY_PREFIX_BYTES 9

/* siphash(user, instructions, and of each attachment its bytes or path and its name): what must be
 * equal under one message id. 0 would mean "not compared". */
static uint64_t hash_body(const struct http_execute_body *body,
                          const struct http_attachments *files)
{
    uint64_t parts[2 + 2 * SMA_ATTACHMENT_COUNT_MAX] = {
        sma_siphash(body_key, body->user_id.ptr, body->user_id.len),
        sma_siphash(body_key, body->said.ptr, body->said.len),
    };
    size_t count = 2;
    for (uint32_t i = 0; files != NULL && i < files->count; i++) {
        const struct sma_given *file = &files->items[i];
        parts[count++] = file->hash;
        parts[count++] = sma_siphash(body_key, file->name, strlen(file->name));
    }
    uint64_t hash = sma_siphash(body_key, parts, count * sizeof *parts);
    return hash == 0 ? 1 : hash;
}

/* files: NULL = none. text: the instructions, and a line for each of the files. */
static struct sma_msg *make_ingress(struct http_conn *conn, const struct http_execute_body *body,
                                    const struct http_attachments *files, struct sma_str text)
{
    struct sma_part parts[SMA_ATTACHMENT_COUNT_MAX];
    uint32_t part_count = files == NULL ? 0 : files->count;
    for (uint32_t i = 0; i < part_count; i++)
        parts[i] = sma_given_part(&files->items[i]);
    struct sma_http *http = conn->server;
    const struct side *side = &sides[conn->is_page];
    char chat_key[CHAT_KEY_PREFIX_BYTES + SMA_ID_BYTES_MAX];
    memcpy(chat_key, side->prefix, CHAT_KEY_PREFIX_BYTES);
    memcpy(chat_key + CHAT_KEY_PREFIX_BYTES, body->chat_id.ptr, body->chat_id.len);
    struct sma_str message_id = {conn->message_id, conn->message_id_len};
    enum sma_control control = sma_control_parse(body->instructions);
    struct sma_ingress ingress = {
        .route = {.adapter = (uint8_t)sma_ctx_self(http->ctx),
                  .channel = sma_str(side->channel),
                  .chat_key = {chat_key, CHAT_KEY_PREFIX_BYTES + body->chat_id.len},
                  .chat_id = body->chat_id,
                  .user_id = side->user == NULL ? body->user_id : sma_str(side->user),
                  .message_id = message_id},
        .event_key = message_id,
        .text = text,
        .body_hash = hash_body(body, files),
        .part_count = part_count,
        .parts = parts,
        .wall_ms = sma_ctx_wall(http->ctx),
        .control = (uint8_t)control,
        .kind = control == SMA_CONTROL_NONE ? SMA_EVENT_MESSAGE : SMA_EVENT_CONTROL,
        .addressed = SMA_ADDRESSED_PRIVATE,
        .stamps = {.read_ns = conn->read_ns, .parsed_ns = http_now(http)},
    };
    return sma_msg_make_ingress(&ingress);
}

/* OK, also without memory for the message | TOOBIG */
static SMA_CHECKED enum sma_err make_with_files(struct http_conn *conn,
                                                const struct http_execute_body *body,
                                                const struct http_attachments *files,
                                                struct sma_msg **ret_msg, struct sma_error *error)
{
    struct sma_buf text;
    sma_buf_init(&text, SMA_TEXT_BYTES_MAX);
    sma_given_put_text(&text, files->items, files->count, body->instructions);
    enum sma_err err = SMA_ERR_OK;
    if (text.err == SMA_ERR_OK)
        *ret_msg = make_ingress(conn, body, files, sma_buf_str(&text));
    else if (text.err == SMA_ERR_TOOBIG)
        err = sma_fail(error, SMA_ERR_TOOBIG,
                       "instructions and the names of the attachments are longer than %d bytes",
                       SMA_TEXT_BYTES_MAX);
    sma_buf_fini(&text);
    return err;
}

static void set_message_id(struct http_conn *conn, struct sma_str id)
{
    if (id.len == 0) {
        make_message_id(conn->server, conn->message_id);
        conn->message_id_len = 32;
        return;
    }
    memcpy(conn->message_id, id.ptr, id.len);
    conn->message_id_len = id.len;
}

/* The message's id: of the header Idempotency-Key, or of the body. */
enum sma_err http_choose_id(struct http_conn *conn, const struct sma_http_request *request,
                            struct sma_str body_id, struct sma_error *error)
{
    struct sma_str id = body_id;
    conn->has_idempotency_key = request->has_idempotency_key;
    if (request->has_idempotency_key) {
        if (sma_http_string_get(request->idempotency_key, &id) != SMA_ERR_OK ||
            id.len > SMA_ID_BYTES_MAX)
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "The header Idempotency-Key must be a string of 1 to %d plain "
                            "characters, for example \"8e03978e-40d5\"",
                            SMA_ID_BYTES_MAX);
        if (body_id.len > 0 && !sma_str_is_equal(id, body_id))
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "The header Idempotency-Key and the member messageId are the same "
                            "thing; here they differ");
    }
    set_message_id(conn, id);
    return SMA_ERR_OK;
}

/* @return OK: *ret_msg is the message, or NULL without memory; else as http_attachments_take */
static SMA_CHECKED enum sma_err read_body(struct http_conn *conn,
                                          const struct sma_http_request *request,
                                          struct sma_str text, struct sma_msg **ret_msg,
                                          struct sma_error *error)
{
    struct http_execute_body body;
    struct http_attachments *files = NULL;
    SMA_TRY(conn->dialect == HTTP_DIALECT_OWN
                ? http_execute_parse(text, &body, error)
                : http_openai_parse(conn, request, text, &body, error));
    enum sma_err err = http_choose_id(conn, request, body.message_id, error);
    if (err != SMA_ERR_OK) {
        http_execute_fini(&body);
        return err;
    }
    if (body.attachments == NULL)
        *ret_msg = make_ingress(conn, &body, NULL, body.instructions);
    else
        err = http_attachments_take(conn->server, body.attachments, &files, error);
    if (files != NULL)
        err = make_with_files(conn, &body, files, ret_msg, error);
    free(files);
    http_execute_fini(&body);
    return err;
}

static void respond_wrong(struct http_conn *conn, const struct sma_error *error)
{
    bool is_ours =
        error->code == SMA_ERR_NOSPACE || error->code == SMA_ERR_IO || error->code == SMA_ERR_NOMEM;
    http_respond_error(conn,
                       is_ours                         ? 503
                       : error->code == SMA_ERR_TOOBIG ? 413
                                                       : 400,
                       is_ours ? "Retry-After: 5\r\n" : NULL, "%s", error->text);
}

void http_execute(struct http_conn *conn, const struct sma_http_request *request,
                  struct sma_str text)
{
    struct sma_http *http = conn->server;
    struct sma_error error;
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = NULL;
    enum sma_err err = read_body(conn, request, text, &msg, &error);
    if (err != SMA_ERR_OK) {
        respond_wrong(conn, &error);
        return;
    }
    err = msg == NULL ? SMA_ERR_NOMEM : http_ask_store(http, HTTP_ASK_INGRESS, conn, 0, &msg);
    if (err != SMA_ERR_OK)
        http_respond_error(conn, 503, "Retry-After: 1\r\n",
                           "The service is busy (%s): send the message again", sma_err_text(err));
}

/* -- the answer of the store ------------------------------------------------------------------- */

/* A caller's id may hold anything a JSON string may; a header line may not. */
static bool is_header_safe(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < 0x21 || text.ptr[i] > 0x7e)
            return false;
    return text.len > 0;
}

static void put_ids(struct http_conn *conn, const struct sma_accepted *accepted,
                    struct sma_buf *buf)
{
    sma_buf_put_json_key(buf, "runId");
    sma_buf_put_char(buf, '"');
    sma_buf_put_u64(buf, accepted->seq);
    sma_buf_put_char(buf, '"');
    sma_buf_put_json_key(buf, "messageId");
    sma_buf_put_json_string(buf, (struct sma_str){conn->message_id, conn->message_id_len});
}

/* The hot path: two kept buffers, no printf. */
static void respond_accepted(struct http_conn *conn, const struct sma_accepted *accepted)
{
    struct sma_buf *body = &conn->server->scratch, *extra = &conn->server->scratch_headers;
    struct sma_str id = {conn->message_id, conn->message_id_len};
    sma_buf_clear(extra);
    sma_buf_put_text(extra, "Location: /api/runs/");
    sma_buf_put_u64(extra, accepted->seq);
    sma_buf_put_text(extra, "\r\nPreference-Applied: respond-async\r\n");
    if (is_header_safe(id)) {
        sma_buf_put_text(extra, "X-Message-Id: ");
        sma_buf_put_str(extra, id);
        sma_buf_put_text(extra, "\r\n");
    }
    sma_buf_clear(body);
    sma_buf_put_text(body, "{\"success\":true,\"status\":");
    sma_buf_put_text(body,
                     accepted->verdict == SMA_VERDICT_DUPLICATE ? "\"duplicate\"" : "\"accepted\"");
    put_ids(conn, accepted, body);
    sma_buf_put_text(body, ",\"position\":");
    sma_buf_put_u64(body, accepted->position);
    sma_buf_put_text(body, ",\"location\":\"/api/runs/");
    sma_buf_put_u64(body, accepted->seq);
    sma_buf_put_text(body, "\"}");
    if (body->err == SMA_ERR_OK && extra->err == SMA_ERR_OK)
        http_respond(conn, 202, HTTP_JSON, sma_buf_str(body), extra->ptr);
    else
        http_conn_close(conn); /* no memory: the client asks again with the same id */
}

/* Which budget, for programs. */
static void put_over(const struct sma_budget_over *over, struct sma_buf *body)
{
    bool is_rate = over->kind == SMA_BUDGET_MESSAGES;
    sma_buf_put_text(body, ",\"reason\":{");
    sma_buf_put_json_member(body, "code", sma_str(is_rate ? "rate" : "budget"));
    sma_buf_put_json_member(body, "scope", sma_str(sma_budget_scope_name(over->scope)));
    sma_buf_put_json_member(body, "kind", sma_str(sma_budget_kind_name(over->kind)));
    sma_buf_put_json_member(body, "period", sma_str(sma_budget_period_name(over->period)));
    sma_buf_put_json_key(body, "renewed");
    sma_buf_put_char(body, '"');
    sma_buf_put_iso_time(body, over->renewed_ms);
    sma_buf_put_text(body, "\"}");
}

static void respond_refused(struct http_conn *conn, const struct sma_accepted *accepted, int status,
                            const char *fallback)
{
    char extra[64];
    struct sma_buf body;
    unsigned retry_s =
        accepted->retry_after_ms == 0 ? HTTP_RETRY_S : (accepted->retry_after_ms + 999) / 1000;
    snprintf(extra, sizeof extra, "Retry-After: %u\r\n", retry_s);
    sma_buf_init(&body, 65536);
    sma_buf_put_text(&body, "{\"success\":false,\"message\":");
    sma_buf_put_json_string(&body, accepted->reason.len > 0 ? accepted->reason : sma_str(fallback));
    if (accepted->over.scope != SMA_BUDGET_NONE)
        put_over(&accepted->over, &body);
    if (accepted->seq != 0)
        put_ids(conn, accepted, &body);
    sma_buf_put_char(&body, '}');
    bool is_final = status == 409 || status == 422;
    if (conn->dialect != HTTP_DIALECT_OWN) {
        http_openai_refused(conn, status,
                            accepted->reason.len > 0 ? accepted->reason : sma_str(fallback),
                            is_final ? NULL : extra);
        sma_buf_fini(&body);
        return;
    }
    http_respond(conn, status, HTTP_JSON, sma_buf_str(&body), is_final ? NULL : extra);
    sma_buf_fini(&body);
}

static void respond_ignored(struct http_conn *conn, const struct sma_accepted *accepted)
{
    struct sma_buf body;
    if (conn->dialect != HTTP_DIALECT_OWN) {
        http_openai_refused(conn, 403,
                            accepted->reason.len > 0
                                ? accepted->reason
                                : SMA_STR("By the project's policy this message is not run"),
                            NULL);
        return;
    }
    sma_buf_init(&body, 65536);
    sma_buf_put_text(
        &body,
        "{\"success\":false,\"output\":\"\",\"toolCalls\":[],\"status\":\"ignored\",\"message\":");
    sma_buf_put_json_string(
        &body, accepted->reason.len > 0
                   ? accepted->reason
                   : SMA_STR("The message is recorded and not run, by the project's policy"));
    put_ids(conn, accepted, &body);
    sma_buf_put_char(&body, '}');
    http_respond(conn, 200, HTTP_JSON, sma_buf_str(&body), NULL);
    sma_buf_fini(&body);
}

static void open_stream(struct http_conn *conn, const struct sma_accepted *accepted)
{
    struct sma_buf json;
    if (conn->dialect != HTTP_DIALECT_OWN) {
        http_openai_stream(conn, accepted->seq);
        return;
    }
    sma_buf_init(&json, 8192);
    sma_buf_put_char(&json, '{');
    put_ids(conn, accepted, &json);
    sma_buf_printf(&json, ",\"position\":%u}", accepted->position);
    http_put_stream_head(conn);
    http_put_event(conn, "accepted", sma_buf_str(&json));
    sma_buf_fini(&json);
    conn->state = HTTP_STREAM;
    http_conn_flush(conn);
}

static void wait_for_result(struct http_conn *conn, const struct sma_accepted *accepted)
{
    uint64_t now = http_now(conn->server);
    conn->seq = accepted->seq;
    conn->is_poll = false;
    conn->wait_end_ns = now + SMA_HTTP_WAIT_S * SMA_NS_PER_S;
    if (conn->wants_stream)
        open_stream(conn, accepted);
    else
        conn->state = HTTP_WAIT;
    if (conn->state != HTTP_STREAM && conn->state != HTTP_WAIT)
        return; /* the client has left while its stream was opened */
    uint64_t patience_s = conn->state == HTTP_STREAM ? HTTP_STREAM_BEAT_S
                          : conn->has_eof            ? HTTP_HALF_CLOSED_S
                                                     : SMA_HTTP_WAIT_S;
    http_conn_deadline(conn, now + patience_s * SMA_NS_PER_S);
    if (http_watch_join(conn, accepted->seq, false) != SMA_ERR_OK)
        http_run_later(conn, "Too many callers are waiting");
    else if (conn->state == HTTP_WAIT && http_watch_is_behind(conn)) /* known from another caller */
        http_run_later(conn, "It waits until the question of this chat is answered");
}

void http_execute_accepted(struct sma_http *http, const struct http_pending *pending,
                           struct sma_msg *msg)
{
    const struct sma_accepted *accepted = SMA_MSG_BODY(msg, struct sma_accepted);
    struct http_conn *conn = http_conn_find(http, pending->conn, pending->generation);
    if (conn == NULL || conn->state != HTTP_BUSY)
        return; /* the client has left; what was accepted runs */
    switch (accepted->verdict) {
    case SMA_VERDICT_ACCEPTED:
    case SMA_VERDICT_DUPLICATE:
        if (conn->wants_async)
            respond_accepted(conn, accepted);
        else
            wait_for_result(conn, accepted);
        return;
    case SMA_VERDICT_IGNORED:
        respond_ignored(conn, accepted);
        return;
    case SMA_VERDICT_CONFLICT:
        respond_refused(conn, accepted, conn->has_idempotency_key ? 422 : 409,
                        "This messageId was used for another message: choose a new one");
        return;
    case SMA_VERDICT_BUSY:
        respond_refused(conn, accepted, accepted->over.scope != SMA_BUDGET_NONE ? 429 : 503,
                        "Too many messages are waiting; this one is recorded and will not run");
        return;
    default:
        respond_refused(conn, accepted, 503, "The message could not be stored: send it again");
        return;
    }
}
