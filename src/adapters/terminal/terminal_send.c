/* terminal_send.c — lines to clients: errors, progress, deliveries. Nothing here waits for a
 * client. */
#include "terminal_priv.h"

#include "runtime/approval/card.h"
#include "sma/chats.h"

#include <stdio.h>
#include <stdlib.h>

struct out
{
    uv_write_t write;
    struct client *client;
    struct delivery *delivery;
    char text[];
};

/* -- the outcome of a delivery ----------------------------------------------------------------- */
static void answer_attempt(const struct delivery *delivery)
{
    struct sma_attempt_result result = {.outbox_id = delivery->outbox_id,
                                        .part = delivery->part,
                                        .attempt_class = SMA_ATTEMPT_SENT};
    if (!delivery->is_sent) {
        result.attempt_class = SMA_ATTEMPT_GIVE_UP;
        result.error = SMA_STR("no terminal is connected to this chat");
    }
    struct sma_msg *msg = sma_msg_make_attempt_result(&result);
    if (msg == NULL)
        sma_ctx_fatal(delivery->ctx, "out of memory while answering a delivery");
    sma_ctx_answer_to(delivery->ctx, (enum sma_actor_id)delivery->asker, delivery->ask_id, &msg);
}

static void release(struct delivery *delivery)
{
    if (delivery == NULL || --delivery->write_count > 0)
        return;
    answer_attempt(delivery);
    free(delivery);
}

/* -- writing ----------------------------------------------------------------------------------- */
static void on_written(uv_write_t *write, int status)
{
    struct out *out = write->data;
    struct client *client = out->client;
    if (status == 0 && out->delivery != NULL)
        out->delivery->is_sent = true;
    if (status == 0 && client->stalled_since_ns != 0) {
        bool is_empty = uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe) == 0;
        client->stalled_since_ns = is_empty ? 0 : sma_ctx_now(client->terminal->ctx);
    }
    release(out->delivery);
    free(out);
    sma_ctx_request_batch_end(client->terminal->ctx);
}

bool sma_terminal_put(struct client *client, struct sma_str line, struct delivery *delivery)
{
    if (!sma_terminal_is_live(client))
        return false;
    uv_stream_t *stream = (uv_stream_t *)&client->pipe;
    struct out *out = NULL;
    if (uv_stream_get_write_queue_size(stream) + line.len <= TERMINAL_QUEUE_BYTES_MAX)
        out = malloc(sizeof *out + line.len);
    if (out == NULL) {
        sma_terminal_close_client(client);
        return false;
    }
    memcpy(out->text, line.ptr, line.len);
    out->client = client;
    out->delivery = delivery;
    out->write.data = out;
    uv_buf_t bytes = uv_buf_init(out->text, (unsigned)line.len);
    if (uv_write(&out->write, stream, &bytes, 1, on_written) != 0) {
        free(out);
        sma_terminal_close_client(client);
        return false;
    }
    if (delivery != NULL)
        delivery->write_count++;
    if (client->stalled_since_ns == 0 && uv_stream_get_write_queue_size(stream) > 0) {
        client->stalled_since_ns = sma_ctx_now(client->terminal->ctx);
        sma_ctx_request_batch_end(client->terminal->ctx);
    }
    return true;
}

bool sma_terminal_check_stalled(struct terminal *terminal, uint64_t now)
{
    bool has_stalled = false;
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX; i++) {
        struct client *client = &terminal->clients[i];
        if (!sma_terminal_is_live(client) || client->stalled_since_ns == 0)
            continue;
        if (now - client->stalled_since_ns > TERMINAL_STALL_NS) {
            sma_ctx_log(terminal->ctx, SMA_LOG_WARN,
                        "terminal of chat %s does not read: disconnected", client->chat);
            sma_terminal_close_client(client);
            continue;
        }
        has_stalled = true;
    }
    return has_stalled;
}

static void begin_line(struct sma_buf *buf, const char *type)
{
    sma_buf_init(buf, 8 * SMA_TEXT_BYTES_MAX); /* a text of control characters grows sixfold */
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "type");
    sma_buf_put_json_string(buf, sma_str(type));
}

static void put_error(struct client *client, const char *id, const char *text, bool is_stopping)
{
    struct sma_buf buf;
    begin_line(&buf, "error");
    sma_buf_put_json_member(&buf, "id", sma_str(id));
    sma_buf_put_json_member(&buf, "text", sma_str(text));
    sma_buf_put_text(&buf, is_stopping ? ",\"stopping\":true}\n" : "}\n");
    if (buf.err == SMA_ERR_OK)
        (void)sma_terminal_put(client, sma_buf_str(&buf), NULL); /* false: it is closing already */
    sma_buf_fini(&buf);
}

void sma_terminal_put_error(struct client *client, const char *id, const char *text)
{
    put_error(client, id, text, false);
}

void sma_terminal_put_stopping(struct client *client, const char *id, const char *text)
{
    put_error(client, id, text, true);
}

void sma_terminal_put_welcome(struct client *client)
{
    const struct sma_config *config = client->terminal->config;
    char chat_key[SMA_TERMINAL_CHAT_BYTES_MAX + 16];
    struct sma_buf buf, label;
    snprintf(chat_key, sizeof chat_key, "cli:chat:%s", client->chat);
    struct sma_chat_rules rules = sma_chat_rules_find(config, sma_str(chat_key), false);
    sma_buf_init(&label, 4096);
    sma_model_put_label(&label, rules.model != NULL ? rules.model->model : &config->llm);
    begin_line(&buf, "welcome");
    sma_buf_put_json_member(&buf, "agent", sma_str(config->name == NULL ? "" : config->name));
    sma_buf_put_json_member(&buf, "model", label.len == 0 ? SMA_STR("") : sma_buf_str(&label));
    sma_buf_put_text(&buf, "}\n");
    if (buf.err == SMA_ERR_OK)
        (void)sma_terminal_put(client, sma_buf_str(&buf), NULL); /* false: it is closing already */
    sma_buf_fini(&buf);
    sma_buf_fini(&label);
}

/* -- deliveries and progress ------------------------------------------------------------------- */
static const char *intent_name(uint8_t intent)
{
    switch (intent) {
    case SMA_INTENT_NOTICE:
        return "notice";
    case SMA_INTENT_ERROR:
        return "error";
    case SMA_INTENT_APPROVAL_REQUEST:
        return "approval";
    case SMA_INTENT_APPROVAL_OUTCOME:
        return "outcome";
    default:
        return "text";
    }
}

static void put_card(struct sma_buf *buf, const struct sma_card *card)
{
    sma_buf_put_json_member(buf, "id", card->id);
    sma_buf_put_json_member(buf, "title", card->title);
    sma_buf_put_json_member(buf, "text", card->text);
    sma_buf_put_json_member(buf, "plain", card->plain);
    sma_buf_put_json_key(buf, "buttons");
    sma_buf_put_char(buf, '[');
    for (uint32_t i = 0; i < card->button_count; i++) {
        const struct sma_card_button *button = &card->buttons[i];
        sma_buf_put_text(buf, i == 0 ? "{" : ",{");
        sma_buf_put_json_member(buf, "text", button->text);
        sma_buf_put_json_member(buf, "data", button->data);
        sma_buf_put_text(buf,
                         button->is_approval ? ",\"isApproval\":true" : ",\"isApproval\":false");
        sma_buf_put_json_key(buf, "row");
        sma_buf_put_u64(buf, button->row);
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_char(buf, ']');
}

/* What is no card, whatever its intent says, is shown as the text that it is. */
static void put_content(struct sma_buf *buf, const struct sma_attempt *attempt)
{
    bool may_be_card = attempt->intent == SMA_INTENT_APPROVAL_REQUEST ||
                       attempt->intent == SMA_INTENT_APPROVAL_OUTCOME;
    struct sma_card card = {0};
    bool is_card = may_be_card && sma_card_parse(attempt->part_bytes, &card) == SMA_ERR_OK;
    const char *name = may_be_card && !is_card ? "text" : intent_name(attempt->intent);
    sma_buf_put_json_member(buf, "intent", sma_str(name));
    if (is_card)
        put_card(buf, &card);
    else
        sma_buf_put_json_member(buf, "text", attempt->part_bytes);
    sma_card_fini(&card);
}

void sma_terminal_take_attempt(struct terminal *terminal, const struct sma_msg *msg,
                               const struct sma_attempt *attempt)
{
    struct delivery *delivery = calloc(1, sizeof *delivery);
    struct sma_buf buf;
    begin_line(&buf, "message");
    sma_buf_put_json_key(&buf, "seq");
    sma_buf_put_u64(&buf, attempt->seq);
    put_content(&buf, attempt);
    sma_buf_put_text(&buf, "}\n");
    if (delivery == NULL || buf.err == SMA_ERR_NOMEM)
        sma_ctx_fatal(terminal->ctx,
                      "out of memory while delivering; it is kept and sent after a restart");
    *delivery =
        (struct delivery){.ask_id = msg->ask_id,
                          .outbox_id = attempt->outbox_id,
                          .seq = attempt->seq,
                          .part = attempt->part,
                          .write_count = 1, /* held here until all clients have their write */
                          .asker = msg->from,
                          .ctx = terminal->ctx};
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX && buf.err == SMA_ERR_OK; i++)
        if (sma_terminal_listens(&terminal->clients[i], attempt->route.chat_id))
            (void)sma_terminal_put(&terminal->clients[i], sma_buf_str(&buf),
                                   delivery); /* counted in the delivery */
    sma_buf_fini(&buf);
    release(delivery);
    sma_terminal_note_delivered(terminal, attempt->seq, attempt->part_bytes);
}

void sma_terminal_take_progress(struct terminal *terminal, const struct sma_progress *progress)
{
    static const char *const kinds[] = {"started", "text", "tool", "finished", "compaction"};
    if (progress->kind >= SMA_COUNT_OF(kinds))
        return;
    struct sma_buf buf;
    begin_line(&buf, "progress");
    sma_buf_put_json_key(&buf, "seq");
    sma_buf_put_u64(&buf, progress->seq);
    sma_buf_put_json_key(&buf, "kind");
    sma_buf_put_json_string(&buf, sma_str(kinds[progress->kind]));
    sma_buf_put_json_key(&buf, "text");
    sma_buf_put_json_string(&buf, progress->text);
    if (progress->detail.len > 0)
        sma_buf_put_json_member(&buf, "detail", progress->detail);
    sma_buf_put_text(&buf, "}\n");
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX && buf.err == SMA_ERR_OK; i++) {
        struct client *client = &terminal->clients[i];
        if (sma_terminal_listens(client, progress->route.chat_id) &&
            uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe) <
                TERMINAL_PROGRESS_QUEUE_BYTES)
            (void)sma_terminal_put(client, sma_buf_str(&buf), NULL); /* progress may be lost */
    }
    sma_buf_fini(&buf);
}
