/*
 * say.c — POST /api/chats/:chatKey/messages: a message of the owner's program to a chat that the
 * project knows. The token is the owner's word, so `permissions.send_elsewhere` asks nobody; where
 * it says "refuse", nothing is sent.
 */
#include "http_priv.h"

#include "runtime/files/file_rules.h"
#include "runtime/json/json_read.h"

#include <stdio.h>

static const uint8_t text_key[16] = {'s', 'm', 'a', '-', 'h', 't', 't', 'p',
                                     '-', 's', 'a', 'y', '-', '-', '0', '1'};

static bool may_send(const struct sma_http *http)
{
    struct sma_file_rules *rules = NULL;
    struct sma_error error;
    if (sma_file_rules_parse(http->config->permissions_json, &rules, &error) != SMA_ERR_OK)
        return false;
    bool may = sma_file_rules_send(rules) != SMA_FILE_REFUSE;
    sma_file_rules_destroy(rules);
    return may;
}

/* What is wrong with the body, or NULL. */
static const char *read_body(const json_t *root, struct sma_str *ret_text, struct sma_str *ret_id)
{
    const char *name;
    json_t *value;
    if (!json_is_object(root))
        return "The request body must be a JSON object: {\"text\": \"…\"}";
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        bool is_text = strcmp(name, "text") == 0;
        if (!is_text && strcmp(name, "messageId") != 0)
            return "This request takes the members text and messageId, and no others";
        if (!json_is_string(value))
            return "The members text and messageId must be strings";
        *(is_text ? ret_text : ret_id) = sma_json_str_of(value);
    }
    if (sma_str_trim(*ret_text).len == 0)
        return "Missing text: send {\"text\": \"…\"}";
    return ret_id->len > SMA_ID_BYTES_MAX ? "Member \"messageId\" is too long" : NULL;
}

static void ask(struct http_conn *conn, struct sma_str chat_key, struct sma_str text)
{
    struct sma_http *http = conn->server;
    const char *colon = memchr(chat_key.ptr, ':', chat_key.len);
    struct sma_str id = {conn->message_id, conn->message_id_len};
    struct sma_ingress ingress = {
        .route = {.adapter = (uint8_t)sma_ctx_self(http->ctx),
                  .channel = {chat_key.ptr,
                              colon == NULL ? chat_key.len : (size_t)(colon - chat_key.ptr)},
                  .chat_key = chat_key,
                  .user_id = SMA_STR("api"),
                  .message_id = id},
        .event_key = id,
        .text = text,
        .body_hash = sma_siphash(text_key, text.ptr, text.len) | 1,
        .wall_ms = sma_ctx_wall(http->ctx),
        .kind = SMA_EVENT_SAY,
        .stamps = {.read_ns = conn->read_ns, .parsed_ns = http_now(http)},
    };
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = sma_msg_make_ingress(&ingress);
    enum sma_err err =
        msg == NULL ? SMA_ERR_NOMEM : http_ask_store(http, HTTP_ASK_SAY, conn, 0, &msg);
    if (err != SMA_ERR_OK)
        http_respond_error(conn, 503, "Retry-After: 1\r\n",
                           "The service is busy (%s): send the message again", sma_err_text(err));
}

void http_say(struct http_conn *conn, const struct sma_http_request *request, struct sma_str part,
              struct sma_str body)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    struct sma_str text = SMA_STR(""), id = SMA_STR("");
    struct sma_error error = {0};
    struct sma_buf key;
    sma_buf_init(&key, SMA_CHAT_KEY_BYTES_MAX);
    bool is_key = sma_http_path_get(part, &key) == SMA_ERR_OK &&
                  sma_utf8_is_valid(sma_buf_str(&key)) && memchr(key.ptr, '\0', key.len) == NULL;
    const char *wrong = sma_json_load(body, &root) != SMA_ERR_OK ? "The request body is not JSON"
                                                                 : read_body(root, &text, &id);
    if (!may_send(conn->server))
        http_respond_error(conn, 403, NULL,
                           "Sending to chats is switched off (permissions.send_elsewhere in "
                           "ship.json)");
    else if (!is_key)
        http_respond_error(conn, 404, NULL, "There is no such chat: GET /api/chats lists them");
    else if (wrong != NULL)
        http_respond_error(conn, 400, NULL, "%s", wrong);
    else if (text.len > SMA_TEXT_BYTES_MAX)
        http_respond_error(conn, 413, NULL, "text is %zu bytes long, the limit is %d", text.len,
                           SMA_TEXT_BYTES_MAX);
    else if (http_choose_id(conn, request, id, &error) != SMA_ERR_OK)
        http_respond_error(conn, 400, NULL, "%s", error.text);
    else
        ask(conn, sma_buf_str(&key), text);
    sma_buf_fini(&key);
}

/* -- the answer of the store ------------------------------------------------------------------- */
static void respond_taken(struct http_conn *conn, const struct sma_accepted *accepted)
{
    char extra[64];
    struct sma_buf json;
    bool is_known = accepted->verdict == SMA_VERDICT_DUPLICATE;
    sma_buf_init(&json, 65536);
    (void)snprintf(extra, sizeof extra, "Location: /api/deliveries/%llu\r\n",
                   (unsigned long long)accepted->outbox_id);
    sma_buf_put_text(&json, "{\"success\":true");
    sma_buf_put_json_member(&json, "status", sma_str(is_known ? "duplicate" : "accepted"));
    sma_buf_put_json_member(&json, "chatKey", accepted->chat_key);
    sma_buf_put_json_member(&json, "messageId",
                            (struct sma_str){conn->message_id, conn->message_id_len});
    sma_buf_put_json_number(&json, "outboxId", accepted->outbox_id);
    sma_buf_printf(&json, ",\"location\":\"/api/deliveries/%llu\"}",
                   (unsigned long long)accepted->outbox_id);
    http_respond(conn, 202, HTTP_JSON, sma_buf_str(&json), extra);
    sma_buf_fini(&json);
}

void http_said(struct sma_http *http, const struct http_pending *pending, struct sma_msg *msg)
{
    const struct sma_accepted *accepted = SMA_MSG_BODY(msg, struct sma_accepted);
    struct http_conn *conn = http_conn_find(http, pending->conn, pending->generation);
    if (conn == NULL || conn->state != HTTP_BUSY)
        return; /* the client has left; what was accepted is delivered */
    bool has_room = accepted->reason.len < 500;
    const char *why = has_room && accepted->reason.len > 0 ? accepted->reason.ptr : "try again";
    switch (accepted->verdict) {
    case SMA_VERDICT_ACCEPTED:
    case SMA_VERDICT_DUPLICATE:
        respond_taken(conn, accepted);
        return;
    case SMA_VERDICT_NO_CHAT:
        http_respond_error(conn, 404, NULL, "%s", why);
        return;
    case SMA_VERDICT_CONFLICT:
        http_respond_error(conn, conn->has_idempotency_key ? 422 : 409, NULL, "%s", why);
        return;
    default:
        http_respond_error(conn, 503, "Retry-After: 5\r\n", "%s", why);
    }
}
