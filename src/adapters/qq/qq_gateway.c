/*
 * qq_gateway.c — one WebSocket per shard, driven by its struct qq_session: the session says what is
 * to be done, this file does it and tells what came of it.
 *
 * Reading pauses while the store has as many questions as it may; a frame that cannot be read, or
 * an event that could not be handed on, ends the link, so that the platform brings it again from
 * the last durable number.
 */
#include "qq_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define SEND_BYTES_MAX 8192

static void settle_shard(struct qq_shard *shard);

static uint64_t now_of(const struct qq_shard *shard)
{
    return sma_ctx_now(shard->qq->ctx);
}

static uint64_t chance_of(const struct qq_shard *shard)
{
    return sma_ctx_random(shard->qq->ctx);
}

static void not_connected(struct qq_shard *shard, const char *why)
{
    qq_session_not_connected(&shard->session, why, now_of(shard), chance_of(shard));
}

/* -- events ------------------------------------------------------------------------------------ */
struct taking
{
    struct qq_shard *shard;
    int64_t seq;
    bool is_lost; /* could not be handed on */
};

static void on_event(void *user, const struct qq_event *event)
{
    struct taking *taking = user;
    struct qq_shard *shard = taking->shard;
    struct sma_ingress ingress = event->ingress;
    int64_t durable = shard->session.durable_seq;
    if (durable >= 0 && shard->epoch != 0) {
        ingress.cursor_name = sma_str(shard->cursor_name);
        ingress.cursor_value = qq_cursor_make(shard->epoch, durable);
    }
    struct sma_origin origin = {
        .place = shard->index, .epoch = shard->epoch, .link = shard->link, .number = taking->seq};
    enum sma_took took = qq_take(shard->qq, event, &ingress, &origin);
    taking->is_lost = took == SMA_TOOK_NOT;
    if (took == SMA_TOOK_FINISHED)
        qq_session_done(&shard->session, taking->seq);
}

static void take_event(struct qq_shard *shard, const struct qq_frame *frame, uint64_t read_ns)
{
    struct taking taking = {.shard = shard, .seq = frame->seq};
    struct qq_event_options options = qq_event_options_now(shard->qq, read_ns);
    enum sma_err err = qq_event_parse(&options, frame, on_event, &taking);
    if (err != SMA_ERR_OK || taking.is_lost)
        qq_session_refused(&shard->session, now_of(shard));
}

void qq_gateway_settle(struct qq *qq, const struct sma_origin *origin,
                       const struct sma_accepted *accepted)
{
    struct qq_shard *shard = &qq->shards[origin->place];
    if (accepted->verdict != SMA_VERDICT_REFUSED) {
        if (origin->epoch == shard->epoch) /* another session's numbers mean nothing in this one */
            qq_session_done(&shard->session, origin->number);
        return;
    }
    if (origin->link == shard->link && shard->conn != NULL)
        qq_session_refused(&shard->session, now_of(shard));
    settle_shard(shard);
}

/* -- frames ------------------------------------------------------------------------------------ */
static void copy_word(char *to, size_t size, struct sma_str from)
{
    size_t len = sma_utf8_cut(from, size - 1);
    snprintf(to, size, "%.*s", (int)len, len == 0 ? "" : from.ptr);
}

static void note_bot(struct qq *qq, const struct qq_frame *frame)
{
    const json_t *user = sma_json_get(frame->data, "user");
    struct sma_str id = sma_json_str(user, "id");
    if (id.len == 0 || id.len >= sizeof qq->bot_id)
        return;
    copy_word(qq->bot_id, sizeof qq->bot_id, id);
    copy_word(qq->bot_name, sizeof qq->bot_name, sma_json_str(user, "username"));
}

static void on_garbage(struct qq_shard *shard, size_t len)
{
    bool is_last = ++shard->garbage_count > QQ_GARBAGE_COUNT_MAX;
    sma_platform_log(&shard->qq->base, SMA_LOG_WARN,
                     "the gateway sent %zu bytes that are not a payload; %s", len,
                     is_last ? "passed over" : "asking for them again");
    sma_adapter_health_error(&shard->qq->base.health,
                             "the gateway sent bytes that are not a payload");
    if (!is_last)
        qq_session_refused(&shard->session, now_of(shard));
}

static void on_message(void *user, struct sma_str bytes, bool is_binary, uint64_t read_ns)
{
    struct qq_shard *shard = user;
    struct qq_frame frame;
    (void)is_binary;
    if (qq_frame_parse(bytes, &frame) != SMA_ERR_OK) {
        on_garbage(shard, bytes.len);
        settle_shard(shard);
        return;
    }
    qq_record_raw(shard->qq, &frame, bytes);
    if (frame.op == QQ_OP_DISPATCH && sma_str_is_equal(frame.type, SMA_STR("READY")))
        note_bot(shard->qq, &frame);
    if (qq_session_frame(&shard->session, &frame, now_of(shard), chance_of(shard))) {
        shard->garbage_count = 0;
        take_event(shard, &frame, read_ns);
    }
    qq_frame_fini(&frame);
    settle_shard(shard);
}

/* -- the socket -------------------------------------------------------------------------------- */
static void on_opened(void *user)
{
    struct qq_shard *shard = user;
    qq_session_opened(&shard->session, now_of(shard));
    settle_shard(shard);
}

static void explain_refusal(const struct sma_ws_closed *closed, char why[200])
{
    int len = (int)sma_utf8_cut(closed->reason, 120);
    if (closed->http_status != 0)
        snprintf(why, 200, "the gateway refused the connection: HTTP %d %.*s", closed->http_status,
                 len, closed->reason.len == 0 ? "" : closed->reason.ptr);
    else
        snprintf(why, 200, "the gateway cannot be reached: %.*s", len,
                 closed->reason.len == 0 ? "" : closed->reason.ptr);
}

static void on_closed(void *user, const struct sma_ws_closed *closed)
{
    struct qq_shard *shard = user;
    struct qq *qq = shard->qq;
    char why[200];
    shard->conn = NULL;
    shard->is_paused = false;
    if (closed->end == SMA_WS_NOT_CONNECTED && shard->session.state == QQ_CONNECTING) {
        if (closed->http_status == 401)
            sma_calls_drop_token(qq->base.calls);
        explain_refusal(closed, why);
        not_connected(shard, why);
    } else {
        unsigned code = closed->end == SMA_WS_CLOSED_BY_PEER ? closed->code : 0;
        qq_session_closed(&shard->session, code, now_of(shard), chance_of(shard));
    }
    settle_shard(shard);
}

static void open_link(struct qq_shard *shard, const char *url)
{
    shard->link++;
    struct sma_ws_ask ask = {.url = url,
                             .message_bytes_max = QQ_FRAME_BYTES_MAX,
                             .opened = on_opened,
                             .message = on_message,
                             .closed = on_closed,
                             .user = shard};
    enum sma_err err = sma_ws_connect(shard->qq->base.ws, &ask, &shard->conn);
    if (err == SMA_ERR_OK)
        return;
    shard->conn = NULL;
    not_connected(shard, err == SMA_ERR_NOMEM
                             ? "out of memory"
                             : "the gateway's address is not a ws:// or wss:// URL");
}

/* -- its address ------------------------------------------------------------------------------- */
static void ask_address(struct qq_shard *shard, const char *path, sma_call_fn *done)
{
    struct sma_call_options options = {.method = "GET",
                                       .path = sma_str(path),
                                       .is_token_only = path[0] == '\0',
                                       .total_ms = QQ_CONTROL_MS,
                                       .done = done,
                                       .user = shard};
    shard->call = sma_call_start(shard->qq->base.calls, &options);
    if (shard->call == NULL)
        not_connected(shard, "out of memory");
}

static bool is_new_session(const struct qq_shard *shard)
{
    return shard->session.session_id_len == 0;
}

static void take_address(struct qq_shard *shard, const struct qq_gateway *gateway)
{
    struct qq *qq = shard->qq;
    qq->gateway = *gateway;
    int64_t wait_ms = is_new_session(shard) ? qq_gateway_identify_wait_ms(gateway) : 0;
    if (wait_ms > 0) {
        qq_session_hold(&shard->session, "the platform allows no further log-in today",
                        (uint64_t)wait_ms * SMA_NS_PER_MS, now_of(shard));
        return;
    }
    open_link(shard, gateway->url);
}

/* The platform's REST side may be down while its gateway is up. */
static const char *fallback_url(const struct qq *qq)
{
    if (qq->gateway.url[0] != '\0')
        return qq->gateway.url;
    if (!qq->settings.is_api_default)
        return NULL;
    return qq->settings.is_sandbox ? QQ_GATEWAY_SANDBOX : QQ_GATEWAY_DEFAULT;
}

static void on_no_address(struct qq_shard *shard, const struct sma_login_error *error)
{
    const char *url = fallback_url(shard->qq);
    if (error->retry_after_ms > 0)
        qq_session_hold(&shard->session, error->text,
                        (uint64_t)(error->retry_after_ms > QQ_BACKOFF_MAX_S * 1000
                                       ? QQ_BACKOFF_MAX_S * 1000
                                       : error->retry_after_ms) *
                            SMA_NS_PER_MS,
                        now_of(shard));
    else if (url != NULL && sma_calls_token(shard->qq->base.calls).len > 0)
        open_link(shard, url);
    else
        not_connected(shard, error->text);
}

static void on_plain_address(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq_shard *shard = user;
    struct qq_gateway gateway;
    struct sma_login_error error;
    (void)state;
    shard->call = NULL;
    if (qq_gateway_parse(answer, &gateway, &error) == SMA_LOGIN_OK)
        take_address(shard, &gateway);
    else
        on_no_address(shard, &error);
    settle_shard(shard);
}

static void on_address(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq_shard *shard = user;
    struct qq_gateway gateway;
    struct sma_login_error error;
    (void)state;
    shard->call = NULL;
    if (qq_gateway_parse(answer, &gateway, &error) == SMA_LOGIN_OK)
        take_address(shard, &gateway);
    else if (answer->end == SMA_NET_ANSWERED && !error.is_token_invalid &&
             error.retry_after_ms <= 0)
        ask_address(shard, QQ_GATEWAY_PATH, on_plain_address);
    else
        on_no_address(shard, &error);
    settle_shard(shard);
}

/* The address is configured: only a token is wanted. */
static void on_token(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq *qq = state;
    struct qq_shard *shard = user;
    shard->call = NULL;
    if (answer->end == SMA_NET_ANSWERED)
        open_link(shard, qq->settings.gateway_url);
    else
        not_connected(shard, answer->error);
    settle_shard(shard);
}

/* -- what the session wants -------------------------------------------------------------------- */
/* Shards that begin a session take turns: the platform allows so many in five seconds. */
static void take_turn(struct qq *qq, uint64_t now_ns)
{
    unsigned at_once = qq->gateway.max_concurrency > 0 ? qq->gateway.max_concurrency : 1;
    qq->identify_next_ns = now_ns + QQ_IDENTIFY_PAUSE_S * SMA_NS_PER_S / at_once;
}

static void connect(struct qq_shard *shard)
{
    struct qq *qq = shard->qq;
    uint64_t now_ns = now_of(shard);
    shard->connect_due_ns = UINT64_MAX;
    if (is_new_session(shard) && qq->settings.shard_count > 1) {
        if (qq->identify_next_ns > now_ns) {
            shard->connect_due_ns = qq->identify_next_ns;
            return;
        }
        take_turn(qq, now_ns);
    }
    if (qq->settings.gateway_url[0] == '\0')
        ask_address(shard, QQ_GATEWAY_BOT_PATH, on_address);
    else if (sma_calls_token(qq->base.calls).len > 0)
        open_link(shard, qq->settings.gateway_url);
    else
        ask_address(shard, "", on_token);
}

static void send_payload(struct qq_shard *shard, enum qq_action_kind kind)
{
    struct qq *qq = shard->qq;
    const struct qq_session *session = &shard->session;
    struct sma_str token = sma_calls_token(qq->base.calls);
    struct sma_buf buf;
    sma_buf_init(&buf, SEND_BYTES_MAX);
    if (kind == QQ_ACTION_IDENTIFY) /* the platform counts from here: the way may have been long */
        take_turn(qq, now_of(shard));
    if (kind == QQ_ACTION_BEAT)
        qq_put_heartbeat(&buf, session->last_seq);
    else if (kind == QQ_ACTION_IDENTIFY)
        qq_put_identify(&buf, token, session->intents, shard->index, qq->settings.shard_count);
    else
        qq_put_resume(&buf, token, (struct sma_str){session->session_id, session->session_id_len},
                      session->durable_seq);
    /* what could not be sent is missed by its deadline, and the link is made anew */
    if (shard->conn != NULL && buf.err == SMA_ERR_OK)
        (void)!sma_ws_send(shard->conn, sma_buf_str(&buf), false);
    sma_buf_fini(&buf);
}

static void close_link(struct qq_shard *shard, unsigned code)
{
    if (shard->conn == NULL) {
        qq_session_closed(&shard->session, 0, now_of(shard), chance_of(shard));
        return;
    }
    if (shard->is_paused)
        sma_ws_pause(shard->conn, false); /* a paused link would not tell its end */
    shard->is_paused = false;
    sma_ws_end(shard->conn, code);
}

static void keep_session(struct qq_shard *shard)
{
    if (shard->session.session_id_len > 0)
        shard->epoch = qq_epoch_make(sma_ctx_wall(shard->qq->ctx), shard->epoch);
    qq_keep_write(shard);
}

static void act(struct qq_shard *shard, const struct qq_action *action)
{
    switch (action->kind) {
    case QQ_ACTION_CONNECT:
        connect(shard);
        return;
    case QQ_ACTION_IDENTIFY:
    case QQ_ACTION_RESUME:
    case QQ_ACTION_BEAT:
        send_payload(shard, action->kind);
        return;
    case QQ_ACTION_CLOSE:
        close_link(shard, action->close_code);
        return;
    case QQ_ACTION_DROP_TOKEN:
        sma_calls_drop_token(shard->qq->base.calls);
        return;
    case QQ_ACTION_SAVE:
        keep_session(shard);
        return;
    }
}

/* Connected is who has every shard. */
static void tell_link(struct qq *qq, const char *trouble)
{
    for (uint32_t i = 0; i < qq->settings.shard_count; i++) {
        if (!qq->shards[i].is_up) {
            sma_adapter_health_down(&qq->base.health, trouble);
            return;
        }
    }
    sma_adapter_health_up(&qq->base.health);
}

/* -- what people are told ---------------------------------------------------------------------- */
static void tell_intents(struct qq_shard *shard)
{
    struct qq *qq = shard->qq;
    uint32_t refused = qq->settings.intents & ~shard->session.intents;
    if (refused == shard->told_intents)
        return;
    shard->told_intents = refused;
    struct sma_buf names;
    sma_buf_init(&names, 256);
    qq_put_intents(&names, refused);
    sma_platform_log(&qq->base, SMA_LOG_ERROR,
                     "the bot has no right to all of adapters.qq.intents: connected without %s%s; "
                     "apply for it in the platform's console, or take it out of the list",
                     names.err == SMA_ERR_OK ? names.ptr : "some of them",
                     (refused & QQ_INTENT_INTERACTION) != 0
                         ? " (no press of a button arrives, so requests are answered by words)"
                         : "");
    sma_buf_fini(&names);
}

bool qq_gateway_hears_buttons(const struct qq *qq)
{
    if (qq->settings.is_webhook)
        return true; /* what is pushed there is chosen in the console */
    for (unsigned i = 0; i < qq->settings.shard_count; i++)
        if ((qq->shards[i].session.intents & QQ_INTENT_INTERACTION) == 0)
            return false;
    return true;
}

/* A link that comes and goes is told at its first, second, fourth ... loss, until one has lasted.
 * */
static void tell_ready(struct qq_shard *shard)
{
    struct qq *qq = shard->qq;
    bool is_first = shard->ready_ns == 0;
    shard->ready_ns = now_of(shard);
    shard->is_up = true;
    tell_link(qq, "");
    if (is_first || sma_adapter_is_worth_telling(shard->trouble_count))
        sma_platform_log(&qq->base, SMA_LOG_INFO, "%s as %s (%s), shard %u of %u, %s",
                         is_first ? "connected" : "connected again",
                         qq->bot_name[0] == '\0' ? "the bot" : qq->bot_name, qq->bot_id,
                         shard->index + 1, qq->settings.shard_count,
                         shard->session.is_resuming ? "session resumed" : "new session");
    tell_intents(shard);
}

static void tell_trouble(struct qq_shard *shard)
{
    const struct qq_session *session = &shard->session;
    bool has_lasted = shard->is_up && now_of(shard) - shard->ready_ns >= QQ_STABLE_S * SMA_NS_PER_S;
    shard->is_up = false;
    tell_link(shard->qq, session->trouble);
    shard->trouble_count = has_lasted ? 1 : shard->trouble_count + 1;
    if (session->is_fatal)
        (void)sma_adapter_health_set(&shard->qq->base.health, SMA_CAUSE_LINK, session->trouble);
    bool is_due = session->is_fatal || sma_adapter_is_worth_telling(shard->trouble_count);
    if (session->trouble[0] == '\0' || !is_due)
        return;
    sma_platform_log(&shard->qq->base, session->is_fatal ? SMA_LOG_ERROR : SMA_LOG_WARN,
                     "shard %u of %u is not connected (%u in a row): %s; trying again%s",
                     shard->index + 1, shard->qq->settings.shard_count, shard->trouble_count,
                     session->trouble, session->is_fatal ? " every few minutes" : "");
}

/* Do what is to be done; then say what has changed. */
static void settle_shard(struct qq_shard *shard)
{
    struct qq_action action;
    while (qq_session_next(&shard->session, &action))
        act(shard, &action);
    uint8_t state = (uint8_t)shard->session.state;
    if (state != shard->seen_state && state == QQ_READY)
        tell_ready(shard);
    else if (state != shard->seen_state && state == QQ_WAITING)
        tell_trouble(shard);
    shard->seen_state = state;
    bool must_pause =
        !sma_intake_has_room(&shard->qq->base.intake) || qq_session_is_full(&shard->session);
    if (must_pause && shard->conn != NULL && !shard->is_paused && state >= QQ_STARTING &&
        state != QQ_CLOSING) {
        shard->is_paused = true;
        sma_ws_pause(shard->conn, true);
    }
    sma_ctx_request_batch_end(shard->qq->ctx); /* the wake time may have changed */
}

/* -- time and back-pressure -------------------------------------------------------------------- */
static uint64_t tick_shard(struct qq_shard *shard, uint64_t now_ns)
{
    struct qq_session *session = &shard->session;
    if (!shard->is_started)
        return UINT64_MAX;
    if (shard->is_paused)
        qq_session_note_paused(session, now_ns);
    if (shard->connect_due_ns <= now_ns)
        connect(shard);
    if (qq_session_wake_at(session) <= now_ns)
        qq_session_tick(session, now_ns, chance_of(shard));
    if (session->action_count > 0 || session->state != shard->seen_state)
        settle_shard(shard);
    uint64_t wake_ns = qq_session_wake_at(session);
    return wake_ns < shard->connect_due_ns ? wake_ns : shard->connect_due_ns;
}

uint64_t qq_gateway_tick(struct qq *qq, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (unsigned i = 0; qq->shards != NULL && i < qq->settings.shard_count; i++) {
        uint64_t due_ns = tick_shard(&qq->shards[i], now_ns);
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

void qq_gateway_resume_reading(struct qq *qq)
{
    for (unsigned i = 0; qq->shards != NULL && i < qq->settings.shard_count; i++) {
        struct qq_shard *shard = &qq->shards[i];
        if (!shard->is_paused || qq_session_is_full(&shard->session))
            continue;
        shard->is_paused = false;
        sma_ws_pause(shard->conn, false);
    }
}

void qq_gateway_stop_reading(struct qq *qq)
{
    for (unsigned i = 0; qq->shards != NULL && i < qq->settings.shard_count; i++)
        settle_shard(&qq->shards[i]);
}

void qq_gateway_keep(struct qq *qq)
{
    for (unsigned i = 0; qq->shards != NULL && i < qq->settings.shard_count; i++)
        if (qq->shards[i].is_started && qq->shards[i].session.session_id_len > 0)
            qq_keep_write(&qq->shards[i]);
}

/* -- beginning and end ------------------------------------------------------------------------- */
static void start_shard(struct qq_shard *shard, int64_t cursor)
{
    int64_t seq = qq_cursor_seq(shard->epoch, cursor);
    seq = seq > shard->kept_seq ? seq : shard->kept_seq;
    if (shard->is_started || shard->qq->base.is_intake_off)
        return;
    shard->is_started = true;
    qq_session_restore(&shard->session, sma_str(shard->kept_id), seq);
    qq_session_start(&shard->session, now_of(shard));
    shard->seen_state = (uint8_t)shard->session.state;
    settle_shard(shard);
}

void qq_gateway_on_cursor(struct qq *qq, uint64_t ask_id, struct sma_str json)
{
    json_t *root = NULL;
    int64_t cursor = -1;
    if (json.len > 0 && sma_json_load(json, &root) == SMA_ERR_OK)
        cursor = sma_json_int(root, "value", 0, INT64_MAX, -1);
    json_decref(root);
    for (unsigned i = 0; qq->shards != NULL && i < qq->settings.shard_count; i++)
        if (qq->shards[i].cursor_ask_id == ask_id)
            start_shard(&qq->shards[i], cursor);
}

static void ask_cursor(struct qq_shard *shard)
{
    if (!sma_platform_ask_cursor(&shard->qq->base, shard->cursor_name, &shard->cursor_ask_id))
        start_shard(shard, -1); /* what comes again is known by its claim */
}

void qq_gateway_begin(struct qq *qq)
{
    for (unsigned i = 0; i < qq->settings.shard_count; i++) {
        struct qq_shard *shard = &qq->shards[i];
        shard->kept_seq = -1;
        qq_keep_read(shard);
        ask_cursor(shard);
    }
}

void qq_gateway_close(struct qq *qq)
{
    for (unsigned i = 0; qq->shards != NULL && i < qq->settings.shard_count; i++) {
        struct qq_shard *shard = &qq->shards[i];
        shard->is_started = false;
        shard->conn =
            NULL; /* closed with the context; without a close frame the session can be resumed */
        shard->call = NULL;
        shard->connect_due_ns = UINT64_MAX;
    }
}
