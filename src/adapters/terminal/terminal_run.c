/*
 * terminal_run.c — a client's message from INGRESS to "done".
 *
 * The result of a run may be known before its text was delivered (the final text is a row like any
 * other), so "done" waits for the run's delivery, for a bounded time.
 */
#include "terminal_priv.h"

#include "sma/notices.h"
#include "sma/text.h"

#include <stdio.h>

static struct run *find_run(struct terminal *terminal, uint64_t ask_id, struct client **ret_client)
{
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX; i++) {
        struct client *client = &terminal->clients[i];
        for (size_t j = 0; sma_terminal_is_live(client) && j < TERMINAL_RUN_COUNT_MAX; j++) {
            struct run *run = &client->runs[j];
            if ((run->phase == RUN_ASKED || run->phase == RUN_AWAITED) && run->ask_id == ask_id) {
                *ret_client = client;
                return run;
            }
        }
    }
    return NULL;
}

static void free_run(struct run *run)
{
    sma_msg_destroy(run->result);
    *run = (struct run){0};
}

void sma_terminal_drop_runs(struct client *client)
{
    for (size_t i = 0; i < TERMINAL_RUN_COUNT_MAX; i++)
        free_run(&client->runs[i]);
}

/* -- a message comes in ------------------------------------------------------------------------ */
static struct sma_msg *make_ingress(const struct client *client, struct sma_str id,
                                    const struct said *said)
{
    struct sma_ctx *ctx = client->terminal->ctx;
    struct sma_part parts[SMA_ATTACHMENT_COUNT_MAX];
    for (uint32_t i = 0; i < said->file_count; i++)
        parts[i] = sma_given_part(&said->files[i]);
    char chat_key[SMA_TERMINAL_CHAT_BYTES_MAX + 16];
    snprintf(chat_key, sizeof chat_key, "cli:chat:%s", client->chat);
    enum sma_control control = said->is_press ? SMA_CONTROL_NONE : sma_control_parse(said->text);
    return sma_msg_make_ingress(&(struct sma_ingress){
        .route = {.adapter = (uint8_t)sma_ctx_self(ctx),
                  .channel = SMA_STR("cli"),
                  .chat_key = sma_str(chat_key),
                  .chat_id = sma_str(client->chat),
                  .chat_type = SMA_STR("private"),
                  .message_id = id,
                  .user_id = sma_str(client->user),
                  .user_name = sma_str(client->user)},
        .event_key = id,
        .text = said->text,
        .part_count = said->file_count,
        .parts = parts,
        .control = (uint8_t)control,
        .kind = said->is_press                ? SMA_EVENT_CALLBACK
                : control == SMA_CONTROL_NONE ? SMA_EVENT_MESSAGE
                                              : SMA_EVENT_CONTROL,
        .addressed = SMA_ADDRESSED_PRIVATE,
        .wall_ms = sma_ctx_wall(ctx),
        .stamps = {.read_ns = said->read_ns, .parsed_ns = sma_ctx_now(ctx)},
    });
}

static struct run *take_slot(struct client *client)
{
    for (size_t i = 0; i < TERMINAL_RUN_COUNT_MAX; i++)
        if (client->runs[i].phase == RUN_FREE)
            return &client->runs[i];
    return NULL;
}

void sma_terminal_ask_ingress(struct client *client, const struct said *said)
{
    struct terminal *terminal = client->terminal;
    const char *id = said->id, *reply_id = id == NULL ? "" : id;
    if (terminal->is_intake_off) {
        sma_terminal_put_stopping(
            client, reply_id, "the service is stopping: send the message again when it is back");
        return;
    }
    char made_id[40];
    snprintf(made_id, sizeof made_id, "%016llx%016llx",
             (unsigned long long)sma_ctx_random(terminal->ctx),
             (unsigned long long)sma_ctx_random(terminal->ctx));
    struct run *run = take_slot(client);
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg =
        run == NULL ? NULL : make_ingress(client, sma_str(id == NULL ? made_id : id), said);
    if (msg == NULL) {
        sma_terminal_put_error(
            client, reply_id, "too many messages of this terminal are waiting: wait for an answer");
        return;
    }
    bool is_control = SMA_MSG_BODY(msg, struct sma_ingress)->kind != SMA_EVENT_MESSAGE;
    uint64_t ask_id;
    if (sma_ctx_ask(terminal->ctx, SMA_ACTOR_STORE, &msg, 0, &ask_id) != SMA_ERR_OK) {
        sma_terminal_put_error(client, reply_id,
                               "the service is busy: send the message again in a moment");
        return;
    }
    terminal->ingress_open_count++;
    run->phase = RUN_ASKED;
    run->ask_id = ask_id;
    run->is_control = is_control;
    run->is_silent = id == NULL;
    snprintf(run->id, sizeof run->id, "%s", reply_id);
}

/* -- accepted ---------------------------------------------------------------------------------- */
static const char *const verdict_names[] = {"accepted", "duplicate", "ignored",
                                            "busy",     "conflict",  "refused"};

static void put_accepted(struct client *client, const struct run *run,
                         const struct sma_accepted *accepted)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    sma_buf_put_text(&buf, "{\"type\":\"accepted\"");
    sma_buf_put_json_key(&buf, "id");
    sma_buf_put_json_string(&buf, sma_str(run->id));
    sma_buf_put_json_key(&buf, "seq");
    sma_buf_put_u64(&buf, accepted->seq);
    sma_buf_put_json_key(&buf, "verdict");
    sma_buf_put_json_string(&buf, sma_str(verdict_names[accepted->verdict]));
    sma_buf_put_json_key(&buf, "position");
    sma_buf_put_u64(&buf, accepted->position);
    if (accepted->notice.len > 0)
        sma_buf_put_json_member(&buf, "notice", accepted->notice);
    sma_buf_put_text(&buf, "}\n");
    if (buf.err == SMA_ERR_OK)
        (void)sma_terminal_put(client, sma_buf_str(&buf), NULL); /* false: it is closing already */
    sma_buf_fini(&buf);
}

/* Is this the delivery that ends the run? chat_send of before is not: the client would leave
 * without the answer. */
static bool is_last(const struct delivered *delivered, const struct run *run)
{
    if (delivered->seq != run->seq)
        return false;
    if (run->result == NULL)
        return true; /* the notice of a command */
    const struct sma_result *result = SMA_MSG_BODY(run->result, struct sma_result);
    struct sma_str output = sma_str_trim(result->output);
    if (output.len == 0 || result->state == SMA_RUN_PARKED)
        return true;
    return delivered->tail_len <= output.len &&
           memcmp(output.ptr + output.len - delivered->tail_len, delivered->tail,
                  delivered->tail_len) == 0;
}

static bool was_delivered(const struct terminal *terminal, const struct run *run)
{
    for (size_t i = 0; i < TERMINAL_DELIVERED_COUNT; i++)
        if (is_last(&terminal->delivered[i], run))
            return true;
    return false;
}

static const char *state_name(uint8_t state)
{
    static const char *const names[] = {"unknown", "waiting", "running",  "parked",
                                        "done",    "failed",  "cancelled"};
    return state < SMA_COUNT_OF(names) ? names[state] : "unknown";
}

static void put_done(struct client *client, struct run *run)
{
    struct sma_result none = {.state = SMA_RUN_DONE, .is_success = true};
    const struct sma_result *result =
        run->result == NULL ? &none : SMA_MSG_BODY(run->result, struct sma_result);
    struct sma_buf buf;
    sma_buf_init(&buf, 8 * SMA_TEXT_BYTES_MAX);
    sma_buf_put_text(&buf, "{\"type\":\"done\"");
    sma_buf_put_json_key(&buf, "id");
    sma_buf_put_json_string(&buf, sma_str(run->id));
    sma_buf_put_json_key(&buf, "seq");
    sma_buf_put_u64(&buf, run->seq);
    sma_buf_put_json_key(&buf, "success");
    sma_buf_put_text(&buf, result->is_success ? "true" : "false");
    sma_buf_put_json_key(&buf, "state");
    sma_buf_put_json_string(&buf, sma_str(state_name(result->state)));
    sma_buf_put_json_key(&buf, "output");
    sma_buf_put_json_string(&buf, result->output);
    sma_buf_put_text(&buf, "}\n");
    if (buf.err != SMA_ERR_OK)
        sma_terminal_put_error(client, run->id,
                               "the result is too long for a terminal; the history has it");
    else
        (void)sma_terminal_put(client, sma_buf_str(&buf), NULL); /* false: it is closing already */
    sma_buf_fini(&buf);
    free_run(run);
}

static void hold(struct terminal *terminal, struct client *client, struct run *run)
{
    if (was_delivered(terminal, run)) {
        put_done(client, run);
        return;
    }
    run->phase = RUN_HELD;
    run->hold_until_ns = sma_ctx_now(terminal->ctx) + TERMINAL_HOLD_NS;
    sma_ctx_request_batch_end(terminal->ctx);
}

static void await_run(struct terminal *terminal, struct client *client, struct run *run)
{
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg = sma_msg_make_await(
        &(struct sma_await){.seq = run->seq, .ends_at_question = !run->is_behind});
    if (msg == NULL ||
        sma_ctx_ask(terminal->ctx, SMA_ACTOR_STORE, &msg, 0, &run->ask_id) != SMA_ERR_OK) {
        sma_terminal_put_error(client, run->id,
                               "too many callers wait for answers; the message runs all the same");
        free_run(run);
        return;
    }
    run->phase = RUN_AWAITED;
}

static void put_refused(struct client *client, const struct run *run,
                        const struct sma_accepted *accepted)
{
    char text[400];
    struct sma_str reason = accepted->reason;
    if (reason.len == 0)
        reason = SMA_STR("the message was not taken");
    snprintf(text, sizeof text, "%.*s", (int)(reason.len < 390 ? reason.len : 390), reason.ptr);
    sma_terminal_put_error(client, run->id, text);
}

void sma_terminal_take_accepted(struct terminal *terminal, const struct sma_msg *msg,
                                const struct sma_accepted *accepted)
{
    SMA_ASSERT(terminal->ingress_open_count > 0);
    SMA_ASSERT(accepted->verdict < SMA_COUNT_OF(verdict_names));
    terminal->ingress_open_count--;
    if (terminal->first_seq == 0 && accepted->verdict == SMA_VERDICT_ACCEPTED)
        terminal->first_seq = accepted->seq;
    struct client *client;
    struct run *run = find_run(terminal, msg->ask_id, &client);
    if (run == NULL)
        return; /* the client has gone; the message runs */
    run->seq = accepted->seq;
    bool is_taken =
        accepted->verdict == SMA_VERDICT_ACCEPTED || accepted->verdict == SMA_VERDICT_DUPLICATE;
    if (run->is_silent && is_taken) {
        free_run(run);
        return;
    }
    put_accepted(client, run, accepted);
    if (!is_taken) {
        put_refused(client, run, accepted);
        free_run(run);
        return;
    }
    if (run->is_control)
        hold(terminal, client,
             run); /* carried out with its acceptance; the notice about it follows */
    else
        await_run(terminal, client, run);
}

/* -- the end of the run ------------------------------------------------------------------------ */
/* What the question is about, of {"id","type","description","data"}. */
static void put_waiting(struct client *client, const struct run *run, struct sma_str pending)
{
    const struct sma_config *config = client->terminal->config;
    json_t *root = json_loadb(pending.ptr, pending.len, 0, NULL);
    const char *about = json_string_value(json_object_get(root, "description"));
    struct sma_buf buf, text;
    sma_buf_init(&text, 65536);
    sma_notice_format(&text, sma_notice_language(config->language, SMA_STR(""), false),
                      SMA_NOTICE_APPROVAL_WAITING, about == NULL ? "?" : about);
    sma_buf_init(&buf, 8 * 65536);
    sma_buf_put_text(&buf, "{\"type\":\"waiting\"");
    sma_buf_put_json_member(&buf, "id", sma_str(run->id));
    sma_buf_put_json_number(&buf, "seq", run->seq);
    sma_buf_put_json_member(&buf, "text", text.len == 0 ? SMA_STR("") : sma_buf_str(&text));
    sma_buf_put_text(&buf, "}\n");
    if (buf.err == SMA_ERR_OK)
        (void)sma_terminal_put(client, sma_buf_str(&buf), NULL); /* false: it is closing already */
    sma_buf_fini(&buf);
    sma_buf_fini(&text);
    json_decref(root);
}

void sma_terminal_take_result(struct terminal *terminal, struct sma_msg **msg)
{
    const struct sma_result *result = SMA_MSG_BODY(*msg, struct sma_result);
    struct client *client;
    struct run *run = find_run(terminal, (*msg)->ask_id, &client);
    if (run == NULL)
        return;
    if (result->state == SMA_RUN_WAITING && result->pending_json.len > 0) {
        put_waiting(client, run, result->pending_json);
        run->is_behind = true;
        await_run(terminal, client, run);
        return;
    }
    bool is_over = result->state == SMA_RUN_DONE || result->state == SMA_RUN_FAILED ||
                   result->state == SMA_RUN_CANCELLED;
    bool is_parked = result->state == SMA_RUN_PARKED; /* people are asked; it goes on by itself */
    if (!is_over && !is_parked) {
        sma_terminal_put_stopping(
            client, run->id,
            "the service is stopping; the message is kept and answered when it is back");
        free_run(run);
        return;
    }
    bool has_delivery = is_parked || result->state == SMA_RUN_FAILED || result->output.len > 0;
    run->result = SMA_TAKE(*msg);
    if (has_delivery && result->state != SMA_RUN_CANCELLED)
        hold(terminal, client, run);
    else
        put_done(client, run);
}

void sma_terminal_note_delivered(struct terminal *terminal, uint64_t seq, struct sma_str text)
{
    if (seq == 0)
        return;
    struct delivered *delivered = &terminal->delivered[terminal->delivered_next];
    text = sma_str_trim(text);
    delivered->seq = seq;
    delivered->tail_len = text.len < sizeof delivered->tail ? text.len : sizeof delivered->tail;
    if (delivered->tail_len > 0)
        memcpy(delivered->tail, text.ptr + text.len - delivered->tail_len, delivered->tail_len);
    terminal->delivered_next = (terminal->delivered_next + 1) % TERMINAL_DELIVERED_COUNT;
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX; i++) {
        struct client *client = &terminal->clients[i];
        for (size_t j = 0; sma_terminal_is_live(client) && j < TERMINAL_RUN_COUNT_MAX; j++)
            if (client->runs[j].phase == RUN_HELD && is_last(delivered, &client->runs[j]))
                put_done(client, &client->runs[j]);
    }
}

bool sma_terminal_release_held(struct terminal *terminal, uint64_t now)
{
    bool has_held = false;
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX; i++) {
        struct client *client = &terminal->clients[i];
        for (size_t j = 0; sma_terminal_is_live(client) && j < TERMINAL_RUN_COUNT_MAX; j++) {
            struct run *run = &client->runs[j];
            if (run->phase == RUN_HELD && run->hold_until_ns <= now)
                put_done(client, run);
            else if (run->phase == RUN_HELD)
                has_held = true;
        }
    }
    return has_held;
}
