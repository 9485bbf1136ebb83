/*
 * feishu_socket.c — the long connection: asked for, opened, kept alive, replaced.
 *
 * Every attempt asks for a new URL. A loss is followed by a try within a second; then tries stay a
 * few seconds apart for the better part of a minute, so that a short outage costs a short time, and
 * after that they grow apart up to the interval the server has named. It never ends; what will fail
 * for ever (a wrong secret) is tried every ten minutes. A ping follows the opening at once; one
 * that is not answered is repeated, and twice unanswered means dead.
 */
#include "feishu_priv.h"

#include "adapters/common/answers.h"

#include <stdio.h>

#define CLOSE_NORMAL 1000
#define CLOSE_TOO_BIG 1009
#define CONNECT_MS 10000

static void ask_endpoint(struct feishu *feishu);

/* -- when to try again ------------------------------------------------------------------------- */
static uint64_t random_ns(struct feishu *feishu, uint64_t max_ns)
{
    return sma_ctx_random(feishu->ctx) % (max_ns + 1);
}

/* failure_count counts this failure. */
static uint64_t retry_delay_ns(struct feishu *feishu)
{
    const struct feishu_socket *socket = &feishu->socket;
    const struct feishu_client_config *config = &socket->config;
    unsigned count = socket->failure_count;
    if (count <= 1) {
        uint64_t nonce_ns = config->reconnect_nonce_s * SMA_NS_PER_S;
        return random_ns(feishu, nonce_ns < SMA_NS_PER_S ? nonce_ns : SMA_NS_PER_S);
    }
    if (config->reconnect_count >= 0 &&
        count > (unsigned)config->reconnect_count) /* asked to stop: go slowly */
        return config->reconnect_interval_s * SMA_NS_PER_S +
               random_ns(feishu, config->reconnect_nonce_s * SMA_NS_PER_S);
    return sma_adapter_eager_backoff_ns(feishu->ctx, count - 1, config->reconnect_interval_s);
}

static void try_later(struct feishu *feishu, const struct sma_login_error *error, bool is_fatal)
{
    struct feishu_socket *socket = &feishu->socket;
    socket->state = FEISHU_SOCKET_IDLE;
    socket->due_ns = UINT64_MAX;
    sma_ctx_request_batch_end(feishu->ctx);
    if (feishu->base.is_intake_off)
        return;
    sma_adapter_health_down(&feishu->base.health, error->text);
    socket->failure_count++;
    uint64_t delay_ns = retry_delay_ns(feishu);
    uint64_t ordered_ns =
        error->retry_after_ms > 0 ? (uint64_t)error->retry_after_ms * SMA_NS_PER_MS : 0;
    if (is_fatal) {
        if (!sma_adapter_health_has(&feishu->base.health,
                                    SMA_CAUSE_LOGIN)) /* else the reason has been said */
            feishu_trouble(feishu, SMA_CAUSE_LINK, error->text);
        delay_ns = FEISHU_FATAL_S * SMA_NS_PER_S;
    } else if (sma_adapter_is_worth_telling(socket->failure_count)) {
        sma_platform_log(&feishu->base, SMA_LOG_WARN, "%s (%u times); connecting again",
                         error->text, socket->failure_count);
    }
    socket->due_ns = sma_ctx_now(feishu->ctx) + (ordered_ns > delay_ns ? ordered_ns : delay_ns);
}

/* -- frames ------------------------------------------------------------------------------------ */
static void send_ping(struct feishu *feishu)
{
    struct feishu_socket *socket = &feishu->socket;
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    uint32_t interval_s = socket->config.ping_interval_s;
    uint32_t probe_s = interval_s < FEISHU_PROBE_S_MAX ? interval_s : FEISHU_PROBE_S_MAX;
    struct sma_buf frame;
    socket->ping_due_ns = now_ns + interval_s * SMA_NS_PER_S;
    socket->probe_due_ns = now_ns + probe_s * SMA_NS_PER_S;
    feishu_fragments_expire(socket->fragments, now_ns);
    sma_buf_init(&frame, 256);
    enum sma_err err = feishu_frame_put_ping(&frame, socket->service_id);
    if (err == SMA_ERR_OK)
        err = sma_ws_send(socket->conn, sma_buf_str(&frame), true);
    sma_buf_fini(&frame);
    if (err == SMA_ERR_FULL)
        sma_ws_end(socket->conn, 0); /* a server that does not read any more is none */
}

static void on_pong(struct feishu *feishu, const struct feishu_frame *frame)
{
    if (frame->payload.len == 0)
        return;
    (void)feishu_client_config_merge(&feishu->socket.config,
                                     frame->payload); /* counts from the next ping on */
}

static void on_data(struct feishu *feishu, const struct feishu_frame *frame, uint64_t read_ns)
{
    struct sma_str payload;
    switch (feishu_fragments_take(feishu->socket.fragments, frame, sma_ctx_now(feishu->ctx),
                                  &payload)) {
    case FEISHU_FRAGMENT_WHOLE:
        feishu_intake_frame(feishu, frame, payload, read_ns);
        return;
    case FEISHU_FRAGMENT_REFUSED:
        if (sma_adapter_is_worth_telling(++feishu->socket.garbage_count))
            sma_platform_log(&feishu->base, SMA_LOG_WARN,
                             "part of a split event makes no sense (%u times); not taken",
                             feishu->socket.garbage_count);
        return;
    default:
        return; /* held, or it comes again */
    }
}

static void on_garbage(struct feishu *feishu, enum sma_err err)
{
    struct feishu_socket *socket = &feishu->socket;
    if (err == SMA_ERR_NOMEM)
        return; /* not answered, so it comes again */
    if (sma_adapter_is_worth_telling(++socket->garbage_count))
        sma_platform_log(&feishu->base, SMA_LOG_WARN,
                         "the connection brought something that is not a frame (%s, %u times)",
                         sma_err_text(err), socket->garbage_count);
    if (err == SMA_ERR_TOOBIG)
        sma_ws_end(socket->conn, CLOSE_TOO_BIG);
}

static void on_message(void *user, struct sma_str bytes, bool is_binary, uint64_t read_ns)
{
    struct feishu *feishu = user;
    struct feishu_socket *socket = &feishu->socket;
    struct feishu_frame frame;
    socket->heard_ns = sma_ctx_now(feishu->ctx);
    socket->probe_due_ns = UINT64_MAX;
    socket->unanswered_count = 0;
    sma_ctx_request_batch_end(feishu->ctx);
    enum sma_err err = is_binary ? feishu_frame_decode(bytes, &frame) : SMA_ERR_BADINPUT;
    if (err != SMA_ERR_OK) {
        on_garbage(feishu, err);
        return;
    }
    enum feishu_frame_type type = feishu_frame_type(&frame);
    if (type == FEISHU_FRAME_PONG)
        on_pong(feishu, &frame);
    else if (type == FEISHU_FRAME_EVENT && !socket->is_leaving)
        on_data(feishu, &frame, read_ns);
    feishu_frame_fini(&frame);
}

/* -- opened, closed ---------------------------------------------------------------------------- */
static void on_opened(void *user)
{
    struct feishu *feishu = user;
    struct feishu_socket *socket = &feishu->socket;
    socket->state = FEISHU_SOCKET_OPEN;
    socket->opened_ns = socket->heard_ns = sma_ctx_now(feishu->ctx);
    socket->unanswered_count = 0;
    feishu_fragments_clear(socket->fragments);
    sma_adapter_health_up(&feishu->base.health);
    bool is_first = !socket->is_ready_told;
    socket->is_ready_told = true;
    sma_platform_log(&feishu->base, SMA_LOG_INFO, "%s as %s (%s), connection %s",
                     is_first ? "connected" : "connected again",
                     feishu->identity.bot.name[0] == '\0' ? "the bot" : feishu->identity.bot.name,
                     feishu->identity.bot.open_id, socket->device_id);
    send_ping(feishu);
    sma_ctx_request_batch_end(feishu->ctx);
}

/* @return whether it will fail for ever */
static bool describe(const struct sma_ws_closed *closed, struct sma_login_error *error)
{
    *error = (struct sma_login_error){.code = -1, .retry_after_ms = -1};
    if (closed->end == SMA_WS_NOT_CONNECTED && closed->http_status != 0) {
        struct feishu_handshake handshake = {
            .http_status = closed->http_status,
            .status = sma_ws_closed_header(closed, "Handshake-Status"),
            .message = sma_ws_closed_header(closed, "Handshake-Msg"),
            .auth_code = sma_ws_closed_header(closed, "Handshake-Autherrcode"),
        };
        return feishu_handshake_classify(&handshake, error) == SMA_LOGIN_FATAL;
    }
    const char *what = closed->end == SMA_WS_NOT_CONNECTED    ? "no connection"
                       : closed->end == SMA_WS_CLOSED_BY_PEER ? "the server closed the connection"
                       : closed->end == SMA_WS_PROTOCOL       ? "the connection broke the protocol"
                       : closed->end == SMA_WS_LOST           ? "the connection was lost"
                                                              : "the connection was given up";
    snprintf(error->text, sizeof error->text, "%s%s%.*s", what, closed->reason.len > 0 ? ": " : "",
             (int)(closed->reason.len < 160 ? closed->reason.len : 160),
             closed->reason.len == 0 ? "" : closed->reason.ptr);
    for (char *at = error->text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20)
            *at = ' ';
    return false;
}

static void on_closed(void *user, const struct sma_ws_closed *closed)
{
    struct feishu *feishu = user;
    struct feishu_socket *socket = &feishu->socket;
    struct sma_login_error error;
    bool was_open = socket->state == FEISHU_SOCKET_OPEN;
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    socket->conn = NULL;
    socket->generation++; /* what is still at the store is not acknowledged: it comes again */
    socket->ping_due_ns = socket->probe_due_ns = UINT64_MAX;
    socket->is_paused = false;
    if (was_open && now_ns - socket->opened_ns >= FEISHU_STEADY_S * SMA_NS_PER_S)
        socket->failure_count = 0;
    bool is_fatal = describe(closed, &error);
    try_later(feishu, &error, is_fatal);
}

/* -- asking for it ----------------------------------------------------------------------------- */
static void connect_to(struct feishu *feishu, struct feishu_endpoint *endpoint)
{
    struct feishu_socket *socket = &feishu->socket;
    if (endpoint->has_config)
        socket->config = endpoint->config;
    socket->service_id = endpoint->service_id;
    memcpy(socket->device_id, endpoint->device_id, sizeof socket->device_id);
    socket->state = FEISHU_SOCKET_CONNECTING;
    static const char *const why_refused[] = {"Handshake-Status", "Handshake-Msg",
                                              "Handshake-Autherrcode"};
    struct sma_ws_ask ask = {
        .url = endpoint->url,
        .kept_headers = why_refused,
        .kept_header_count = SMA_COUNT_OF(why_refused),
        .connect_ms = CONNECT_MS,
        .message_bytes_max = FEISHU_FRAME_BYTES_MAX,
        .opened = on_opened,
        .message = on_message,
        .closed = on_closed,
        .user = feishu,
    };
    enum sma_err err = sma_ws_connect(feishu->base.ws, &ask, &socket->conn);
    if (err == SMA_ERR_OK)
        return;
    struct sma_login_error error = {.retry_after_ms = -1};
    snprintf(error.text, sizeof error.text, "no connection: %s",
             err == SMA_ERR_BADINPUT ? "the platform gave something that is not an address"
                                     : sma_err_text(err));
    try_later(feishu, &error, false);
}

static void on_endpoint(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct feishu_socket *socket = &feishu->socket;
    struct feishu_endpoint endpoint = {0};
    struct sma_login_error error = {0};
    (void)user;
    socket->call = NULL;
    enum sma_login login = feishu_endpoint_parse(answer, &socket->config, &endpoint, &error);
    if (login != SMA_LOGIN_OK)
        try_later(feishu, &error, login == SMA_LOGIN_FATAL);
    else if (!feishu->base.is_intake_off)
        connect_to(feishu, &endpoint);
    explicit_bzero(&endpoint, sizeof endpoint); /* the URL holds a secret */
}

static void ask_endpoint(struct feishu *feishu)
{
    struct feishu_socket *socket = &feishu->socket;
    struct sma_buf body;
    socket->due_ns = UINT64_MAX;
    sma_buf_init(&body, 8192);
    feishu_put_endpoint_body(&body, sma_str(feishu->settings.app_id),
                             sma_str(feishu->settings.app_secret));
    if (body.err == SMA_ERR_OK)
        socket->call = sma_call_start(
            feishu->base.calls, &(struct sma_call_options){.method = "POST",
                                                           .path = SMA_STR(FEISHU_ENDPOINT_PATH),
                                                           .body = &body,
                                                           .has_no_token = true,
                                                           .may_repeat = true,
                                                           .total_ms = FEISHU_CONTROL_MS,
                                                           .done = on_endpoint});
    if (body.ptr != NULL)
        explicit_bzero(body.ptr, body.len);
    sma_buf_fini(&body);
    if (socket->call != NULL)
        socket->state = FEISHU_SOCKET_ASKING;
    else
        socket->due_ns = sma_ctx_now(feishu->ctx) + SMA_NS_PER_S; /* out of memory */
}

void feishu_socket_begin(struct feishu *feishu)
{
    struct feishu_socket *socket = &feishu->socket;
    if (feishu->settings.is_webhook || feishu->base.is_intake_off || socket->generation > 0)
        return;
    socket->generation = 1;
    ask_endpoint(feishu);
}

/* -- what is at the store ---------------------------------------------------------------------- */
void feishu_socket_ack(struct feishu *feishu, unsigned generation, struct sma_str stub,
                       const struct feishu_ack *ack)
{
    struct feishu_socket *socket = &feishu->socket;
    if (socket->state != FEISHU_SOCKET_OPEN || generation != socket->generation)
        return;
    struct sma_buf bytes;
    sma_buf_init(&bytes, FEISHU_FRAME_BYTES_MAX);
    enum sma_err err = feishu_frame_put_ack(stub, ack, &bytes);
    if (err == SMA_ERR_OK)
        err = sma_ws_send(socket->conn, sma_buf_str(&bytes), true);
    sma_buf_fini(&bytes);
    if (err == SMA_ERR_FULL) { /* a server that does not read any more is none */
        sma_platform_log(&feishu->base, SMA_LOG_WARN,
                         "the server takes no acknowledgements; connecting anew");
        sma_ws_end(socket->conn, 0);
    }
}

static void pause_reading(struct feishu *feishu, bool is_paused)
{
    struct feishu_socket *socket = &feishu->socket;
    if (socket->state != FEISHU_SOCKET_OPEN || socket->is_paused == is_paused)
        return;
    socket->is_paused = is_paused;
    sma_ws_pause(socket->conn, is_paused);
    if (is_paused)
        return;
    socket->heard_ns = sma_ctx_now(feishu->ctx); /* its silence was ours */
    socket->unanswered_count = 0;
    send_ping(feishu);
}

void feishu_socket_note_room(struct feishu *feishu)
{
    struct feishu_socket *socket = &feishu->socket;
    const struct sma_intake *intake = &feishu->base.intake;
    if (!socket->is_leaving && !sma_intake_has_room(intake))
        pause_reading(feishu, true);
    else if (sma_intake_is_roomy(intake) && !socket->is_leaving)
        pause_reading(feishu, false);
    if (socket->is_leaving && sma_intake_count(intake) == 0 && socket->conn != NULL)
        sma_ws_end(socket->conn, CLOSE_NORMAL);
}

void feishu_socket_leave(struct feishu *feishu)
{
    struct feishu_socket *socket = &feishu->socket;
    sma_call_cancel(socket->call);
    socket->call = NULL;
    socket->due_ns = UINT64_MAX;
    socket->is_leaving = true;
    if (socket->state == FEISHU_SOCKET_CONNECTING)
        sma_ws_end(socket->conn, 0);
    else
        feishu_socket_note_room(feishu);
}

/* -- time -------------------------------------------------------------------------------------- */
static void tick_open(struct feishu *feishu, uint64_t now_ns)
{
    struct feishu_socket *socket = &feishu->socket;
    if (socket->probe_due_ns <= now_ns) {
        if (++socket->unanswered_count >= 2) {
            socket->ping_due_ns = socket->probe_due_ns = UINT64_MAX;
            sma_platform_log(&feishu->base, SMA_LOG_WARN,
                             "the connection is silent (no pong); connecting anew");
            sma_ws_end(socket->conn, 0);
            return;
        }
        send_ping(feishu);
    }
    if (socket->ping_due_ns <= now_ns)
        send_ping(feishu);
}

uint64_t feishu_socket_tick(struct feishu *feishu, uint64_t now_ns)
{
    struct feishu_socket *socket = &feishu->socket;
    if (socket->due_ns <= now_ns && socket->state == FEISHU_SOCKET_IDLE)
        ask_endpoint(feishu);
    if (socket->state != FEISHU_SOCKET_OPEN || socket->is_paused)
        return socket->due_ns;
    tick_open(feishu, now_ns);
    return socket->ping_due_ns < socket->probe_due_ns ? socket->ping_due_ns : socket->probe_due_ns;
}
