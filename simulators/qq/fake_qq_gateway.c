/*
 * fake_qq_gateway.c — sessions and the WebSockets that carry them: hello, identify, resume,
 * heartbeats, events.
 *
 * A session outlives its WebSocket: what happens meanwhile is kept and replayed with its numbers.
 * Every refusal is a close code of the platform's.
 */
#include "fake_qq_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define KNOWN_INTENTS                                                               \
    (UINT32_C(0x3) | UINT32_C(0x3) << 9 | UINT32_C(1) << 12 | UINT32_C(0x3) << 18 | \
     UINT32_C(0x7F) << 23 | UINT32_C(1) << 30)
#define INTRODUCE_MS_MAX 30000 /* hello unanswered */
#define CLOSE_MS_MAX 3000      /* our close frame unanswered */
#define WINDOW_MS 60000
#define WINDOW_COUNT_MAX 120 /* messages of a client, beside its heartbeats */
#define IDENTIFY_WINDOW_MS 5000

/* -- links ------------------------------------------------------------------------------------- */
struct link *fake_qq_link(const struct fake_qq *fake, unsigned conn)
{
    struct link *link = fake->links;
    while (link != NULL && link->conn != conn)
        link = link->next;
    return link;
}

static void send_text(struct fake_qq *fake, unsigned conn, const char *text)
{
    (void)ws_server_send(fake->server, conn, sma_str(text), false);
}

void fake_qq_end_session(struct session *session)
{
    session->is_ended = true;
}

static void part(struct link *link, uint64_t now_ms)
{
    if (link->session != NULL && link->session->conn == link->conn) {
        link->session->conn = 0;
        link->session->lost_ms = now_ms;
    }
    link->session = NULL;
}

/* Resume is of no use after these. */
static bool ends_session(unsigned code)
{
    switch (code) {
    case 4001:
    case 4002:
    case 4006:
    case 4007:
    case 4010:
    case 4011:
    case 4012:
    case 4013:
    case 4014:
    case 4914:
    case 4915:
        return true;
    default:
        return code >= 4900 && code <= 4913;
    }
}

void fake_qq_close_link(struct fake_qq *fake, struct link *link, unsigned code, const char *reason)
{
    if (link->is_closing)
        return;
    if (link->session != NULL && ends_session(code))
        fake_qq_end_session(link->session);
    part(link, fake_qq_ticks_ms());
    link->is_closing = true;
    link->close_code = code;
    link->close_at_ms = fake_qq_ticks_ms() + CLOSE_MS_MAX;
    fake->closed_by_us_count++;
    (void)ws_server_close(fake->server, link->conn, code, reason);
}

bool fake_qq_has_ready_link(const struct fake_qq *fake)
{
    for (const struct link *link = fake->links; link != NULL; link = link->next)
        if (link->session != NULL && !link->is_closing)
            return true;
    return false;
}

void fake_qq_upgrade(struct fake_qq *fake, const struct ws_server_request *request)
{
    char hello[96];
    if (!sma_str_is_equal(request->path, SMA_STR("/websocket"))) {
        (void)ws_server_answer(fake->server, request->conn, 404, "text/plain", SMA_STR("not here"));
        return;
    }
    if (fake->upgrade_refusals > 0) {
        fake->upgrade_refusals--;
        if (fake->upgrade_status != 0)
            (void)ws_server_answer(fake->server, request->conn, fake->upgrade_status, "text/html",
                                   SMA_STR("<html>Bad Gateway</html>"));
        return;
    }
    struct link *link = calloc(1, sizeof *link);
    if (link == NULL)
        abort();
    uint64_t now_ms = fake_qq_ticks_ms();
    *link = (struct link){.next = fake->links,
                          .conn = request->conn,
                          .opened_ms = now_ms,
                          .beat_ms = now_ms,
                          .window_ms = now_ms};
    fake->links = link;
    (void)ws_server_accept(fake->server, request->conn);
    snprintf(hello, sizeof hello, "{\"op\":10,\"d\":{\"heartbeat_interval\":%llu}}",
             (unsigned long long)fake->heartbeat_ms);
    if (!fake->is_hello_off)
        send_text(fake, request->conn, hello);
}

void fake_qq_link_closed(struct fake_qq *fake, unsigned conn, unsigned code)
{
    struct link **at = &fake->links;
    while (*at != NULL && (*at)->conn != conn)
        at = &(*at)->next;
    struct link *link = *at;
    if (link == NULL)
        return;
    if (code != 0 && !link->is_closing)
        fake->client_close_code = code;
    part(link, fake_qq_ticks_ms());
    *at = link->next;
    free(link);
}

/* -- events ------------------------------------------------------------------------------------ */
void fake_qq_put_frame(struct sma_buf *out, int64_t seq, const struct payload *payload)
{
    sma_buf_put_text(out, "{\"op\":0,");
    if (seq >= 0)
        sma_buf_printf(out, "\"s\":%lld,", (long long)seq);
    sma_buf_printf(out, "\"t\":\"%s\",\"id\":\"%s\",\"d\":", payload->type, payload->id);
    sma_buf_put_text(out, payload->data);
    sma_buf_put_char(out, '}');
}

static void send_event(struct fake_qq *fake, struct session *session, const struct entry *entry)
{
    struct sma_buf frame;
    struct payload *payload = &fake->payloads[entry->payload];
    sma_buf_init(&frame, 32u << 20);
    fake_qq_put_frame(&frame, entry->seq, payload);
    if (fake->fragment_count > 1)
        (void)ws_server_send_fragments(fake->server, session->conn, sma_buf_str(&frame), false,
                                       fake->fragment_count, true);
    else
        (void)ws_server_send(fake->server, session->conn, sma_buf_str(&frame), false);
    sma_buf_fini(&frame);
    if (payload->pushed_ns == 0)
        payload->pushed_ns = platform_now_ns();
}

static const struct entry *keep(struct session *session, size_t payload)
{
    session->entries = platform_grow(session->entries, session->entry_count, &session->entry_room,
                                     sizeof *session->entries);
    struct entry *entry = &session->entries[session->entry_count++];
    *entry = (struct entry){.seq = ++session->last_seq, .payload = payload};
    return entry;
}

static bool can_resume(const struct fake_qq *fake, const struct session *session)
{
    return !session->is_ended &&
           (session->conn != 0 || fake_qq_ticks_ms() - session->lost_ms <= fake->session_ms);
}

bool fake_qq_push(struct fake_qq *fake, size_t index)
{
    struct payload *payload = &fake->payloads[index];
    fake->event_count++;
    if (fake->webhook_port != 0) {
        fake_qq_post_event(fake, index);
        return true;
    }
    for (struct session *session = fake->sessions; session != NULL; session = session->next) {
        if (!can_resume(fake, session) ||
            payload->shard_key % session->shard_count != session->shard)
            continue;
        if (payload->intent != 0 && (session->intents & payload->intent) == 0) {
            fake->filtered_count++;
            return false;
        }
        const struct entry *entry = keep(session, index);
        payload->session = session;
        if (session->conn != 0)
            send_event(fake, session, entry);
        return true;
    }
    fake->lost_count++;
    return false;
}

/* -- identify and resume ----------------------------------------------------------------------- */
static bool is_token(const struct fake_qq *fake, const char *text, bool may_lack_prefix)
{
    int64_t now_ms = fake_qq_now_ms(fake);
    if (strncmp(text, "QQBot ", 6) == 0)
        text += 6;
    else if (!may_lack_prefix)
        return false;
    return (fake->token[0] != '\0' && strcmp(text, fake->token) == 0 &&
            now_ms < fake->token_until_ms) ||
           (fake->old_token[0] != '\0' && strcmp(text, fake->old_token) == 0 &&
            now_ms < fake->old_token_until_ms);
}

static void send_ready(struct fake_qq *fake, struct session *session)
{
    char text[512];
    (void)keep(session, QQ_NO_PAYLOAD);
    snprintf(text, sizeof text,
             "{\"op\":0,\"s\":1,\"t\":\"READY\",\"id\":\"READY:%s\",\"d\":{\"version\":1,"
             "\"session_id\":\"%s\",\"user\":{\"id\":\"%s\",\"username\":\"%s\",\"bot\":true,"
             "\"status\":1},\"shard\":[%u,%u]}}",
             session->id, session->id, FAKE_QQ_BOT_ID, FAKE_QQ_BOT_NAME, session->shard,
             session->shard_count);
    send_text(fake, session->conn, text);
}

/* Only so many in five seconds and in a day. */
static bool may_identify(struct fake_qq *fake)
{
    uint64_t now_ms = fake_qq_ticks_ms();
    if (now_ms - fake->identify_window_ms >= IDENTIFY_WINDOW_MS) {
        fake->identify_window_ms = now_ms;
        fake->identify_window_count = 0;
    }
    bool is_free =
        fake->identify_concurrency == 0 || fake->identify_window_count < fake->identify_concurrency;
    if (!is_free || fake->identify_remaining <= 0)
        return false;
    fake->identify_window_count++;
    fake->identify_remaining--;
    return true;
}

static void identify(struct fake_qq *fake, struct link *link, const json_t *data)
{
    const json_t *shard = json_object_get(data, "shard"),
                 *intents = json_object_get(data, "intents");
    json_int_t wanted = json_integer_value(intents);
    json_int_t index = json_integer_value(json_array_get(shard, 0)),
               count = shard == NULL ? 1 : json_integer_value(json_array_get(shard, 1));
    if (!is_token(fake, platform_text(data, "token", ""), false))
        fake_qq_close_link(fake, link, 4004, "authentication fail");
    else if (!json_is_integer(intents) || wanted <= 0 || (wanted & ~(json_int_t)KNOWN_INTENTS) != 0)
        fake_qq_close_link(fake, link, 4013, "invalid intents");
    else if ((wanted & ~(json_int_t)fake->intents_allowed) != 0)
        fake_qq_close_link(fake, link, 4014, "disallowed intents");
    else if (count < 1 || index < 0 || index >= count)
        fake_qq_close_link(fake, link, 4010, "invalid shard");
    else if (!may_identify(fake))
        send_text(fake, link->conn, "{\"op\":9,\"d\":false}");
    else {
        struct session *session = calloc(1, sizeof *session);
        if (session == NULL)
            abort();
        *session = (struct session){.next = fake->sessions,
                                    .shard = (unsigned)index,
                                    .shard_count = (unsigned)count,
                                    .intents = (uint32_t)wanted,
                                    .conn = link->conn,
                                    .resumed_from = -1};
        snprintf(session->id, sizeof session->id, "082ee18c-0000-4000-8000-%012llx",
                 (unsigned long long)++fake->number);
        fake->sessions = session;
        link->session = session;
        link->beat_ms = fake_qq_ticks_ms();
        fake->identify_count++;
        send_ready(fake, session);
    }
}

static void refuse_resume(struct fake_qq *fake, struct link *link, const char *how)
{
    fake->resume_refused_count++;
    if (strcmp(how, "4006") == 0 || strcmp(how, "4007") == 0)
        fake_qq_close_link(fake, link, how[3] == '6' ? 4006 : 4007, "invalid session");
    else if (strcmp(how, "op9true") == 0)
        send_text(fake, link->conn, "{\"op\":9,\"d\":true}");
    else
        send_text(fake, link->conn, "{\"op\":9,\"d\":false}");
}

static void replay(struct fake_qq *fake, struct session *session, int64_t seq)
{
    char resumed[96];
    size_t count = session->entry_count;
    for (size_t i = 0; i < count; i++)
        if (session->entries[i].seq > seq && session->entries[i].payload != QQ_NO_PAYLOAD) {
            fake->replay_count += fake->payloads[session->entries[i].payload].pushed_ns != 0;
            send_event(fake, session, &session->entries[i]);
        }
    const struct entry *entry = keep(session, QQ_NO_PAYLOAD);
    snprintf(resumed, sizeof resumed, "{\"op\":0,\"s\":%lld,\"t\":\"RESUMED\",\"d\":\"\"}",
             (long long)entry->seq);
    send_text(fake, session->conn, resumed);
}

static void resume(struct fake_qq *fake, struct link *link, const json_t *data)
{
    const char *id = platform_text(data, "session_id", "");
    const json_t *seq = json_object_get(data, "seq");
    struct session *session = fake->sessions;
    bool is_refused = fake->resume_refusal[0] == '!'; /* whatever it may be */
    while (session != NULL && strcmp(session->id, id) != 0)
        session = session->next;
    if (!is_token(fake, platform_text(data, "token", ""), true)) {
        fake_qq_close_link(fake, link, 4004, "authentication fail");
        return;
    }
    if (session == NULL || !can_resume(fake, session) || is_refused) {
        refuse_resume(fake, link, fake->resume_refusal + is_refused);
        return;
    }
    if (!json_is_integer(seq) || json_integer_value(seq) < 0 ||
        json_integer_value(seq) > session->last_seq) {
        fake_qq_end_session(session);
        fake_qq_close_link(fake, link, 4007, "seq error");
        return;
    }
    struct link *old = session->conn == 0 ? NULL : fake_qq_link(fake, session->conn);
    if (old != NULL)
        fake_qq_close_link(fake, old, 4009, "resumed elsewhere");
    session->conn = link->conn;
    session->resumed_from = json_integer_value(seq);
    link->session = session;
    link->beat_ms = fake_qq_ticks_ms();
    fake->resume_count++;
    replay(fake, session, session->resumed_from);
}

/* -- messages of the client -------------------------------------------------------------------- */
static void beat(struct fake_qq *fake, struct link *link, const json_t *data)
{
    struct session *session = link->session;
    fake->beat_count++;
    if (json_is_integer(data)) {
        if (json_integer_value(data) > session->last_seq) {
            fake_qq_close_link(fake, link, 4007, "seq error");
            return;
        }
        session->beat_seq = json_integer_value(data);
    } else if (!json_is_null(data)) {
        fake_qq_close_link(fake, link, 4002, "payload error");
        return;
    }
    link->beat_ms = fake_qq_ticks_ms();
    if (!fake->is_ack_off)
        send_text(fake, link->conn, "{\"op\":11}");
}

/* Known opcode, unknown state: 4003 before, 4005 behind the introduction. */
static void handle(struct fake_qq *fake, struct link *link, int64_t op, const json_t *data)
{
    bool is_start = op == 2 || op == 6;
    if (link->session == NULL && !is_start)
        fake_qq_close_link(fake, link, 4003, "not authenticated");
    else if (link->session != NULL && is_start)
        fake_qq_close_link(fake, link, 4005, "already authenticated");
    else if (op == 2)
        identify(fake, link, data);
    else if (op == 6)
        resume(fake, link, data);
    else if (op == 1)
        beat(fake, link, data);
    else
        fake_qq_close_link(fake, link, 4001, "invalid opcode");
}

/* Heartbeats that come up to twice as often as asked for are no reason. */
static bool is_too_fast(const struct fake_qq *fake, struct link *link)
{
    uint64_t now_ms = fake_qq_ticks_ms();
    if (now_ms - link->window_ms >= WINDOW_MS) {
        link->window_ms = now_ms;
        link->window_count = 0;
    }
    return ++link->window_count > WINDOW_COUNT_MAX + 2 * WINDOW_MS / fake->heartbeat_ms;
}

void fake_qq_link_message(struct fake_qq *fake, unsigned conn, struct sma_str bytes, bool is_binary)
{
    struct link *link = fake_qq_link(fake, conn);
    if (link == NULL || link->is_closing)
        return;
    json_t *tree = is_binary ? NULL : json_loadb(bytes.ptr, bytes.len, 0, NULL);
    const json_t *op = json_object_get(tree, "op");
    if (!json_is_integer(op))
        fake_qq_close_link(fake, link, 4002, "payload error");
    else if (is_too_fast(fake, link))
        fake_qq_close_link(fake, link, 4008, "payloads too fast");
    else
        handle(fake, link, json_integer_value(op), json_object_get(tree, "d"));
    json_decref(tree);
}

/* -- time -------------------------------------------------------------------------------------- */
void fake_qq_tick_links(struct fake_qq *fake, uint64_t now_ms)
{
    for (struct link *link = fake->links; link != NULL; link = link->next) {
        if (link->is_closing) {
            if (now_ms >= link->close_at_ms)
                (void)ws_server_reset(fake->server, link->conn);
        } else if (link->session == NULL) {
            if (now_ms - link->opened_ms > INTRODUCE_MS_MAX)
                fake_qq_close_link(fake, link, 4009, "session timed out");
        } else if (now_ms - link->beat_ms > 2 * fake->heartbeat_ms + 200) {
            fake_qq_close_link(fake, link, 4009, "session timed out");
        } else if (link->close_at_ms != 0 && now_ms >= link->close_at_ms) {
            fake_qq_close_link(fake, link, 4009, "asked to reconnect");
        }
    }
}
