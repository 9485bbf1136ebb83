/*
 * fake_feishu_link.c — the long connection: endpoint, handshake, frames, acknowledgements,
 * redelivery.
 */
#include "fake_feishu_frame.h"
#include "fake_feishu_priv.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#define PIECES_MAX 32

static const uint64_t retry_after_ms[FEISHU_RETRY_COUNT] = {15000, 300000, 3600000, 21600000};

/* -- endpoint ---------------------------------------------------------------------------------- */
json_t *fake_feishu_pong_config(const struct fake_feishu *fake)
{
    return json_pack("{s:i,s:I,s:I,s:I}", "ReconnectCount", -1, "ReconnectInterval",
                     (json_int_t)fake->reconnect_interval_s, "ReconnectNonce",
                     (json_int_t)fake->reconnect_nonce_s, "PingInterval",
                     (json_int_t)fake->ping_interval_s);
}

static void answer_endpoint(struct platform_call *call, int64_t code, const char *message,
                            json_t *data)
{
    json_t *tree =
        json_pack("{s:I,s:s,s:o}", "code", (json_int_t)code, "msg", message, "data", data);
    char *text = json_dumps(tree, JSON_COMPACT);
    platform_respond(call, 200, "Content-Type: application/json\r\n", sma_str(text));
    free(text);
    json_decref(tree);
}

static const char *ticket_base(struct fake_feishu *fake)
{
    if (fake->bad_tls == NULL || fake->bad_tls_times == 0)
        return ws_server_url(fake->server);
    fake->bad_tls_times--;
    return ws_server_url(fake->bad_tls);
}

void fake_feishu_serve_endpoint(struct fake_feishu *fake, struct platform_call *call,
                                const json_t *body)
{
    const char *app = platform_text(body, "AppID", NULL),
               *secret = platform_text(body, "AppSecret", NULL);
    if (app == NULL || secret == NULL || strcmp(app, fake->app) != 0 ||
        strcmp(secret, fake->secret) != 0) {
        answer_endpoint(call, 514, "auth failed", json_object());
        return;
    }
    if (fake->is_app_disabled || fake->is_long_connection_off) {
        answer_endpoint(call, 403, "forbidden", json_object());
        return;
    }
    fake->tickets =
        platform_grow(fake->tickets, fake->ticket_count, &fake->ticket_room, sizeof *fake->tickets);
    struct ticket *ticket = &fake->tickets[fake->ticket_count++];
    snprintf(ticket->text, sizeof ticket->text, "8f14e45f-ceea-467a-9575-%012zx",
             fake->ticket_count);
    char url
        /* service_id is not first: one of the platform's own clients could not read it there */
        [512];
    snprintf(
        url, sizeof url,
        "%s/ws/"
        "v2?fpid=493&aid=552564&device_id=74%014zu&access_key=Q%%2Bx%%3D&service_id=%d&ticket=%s",
        ticket_base(fake), fake->ticket_count, fake->service, ticket->text);
    json_t *data = json_pack("{s:s}", "URL", url);
    if (!fake->is_config_hidden)
        json_object_set_new(data, "ClientConfig", fake_feishu_pong_config(fake));
    answer_endpoint(call, 0, "", data);
}

/* -- handshake --------------------------------------------------------------------------------- */
static void refuse_handshake(struct fake_feishu *fake, unsigned conn, const struct refusal *refusal)
{
    char headers[256];
    int len = snprintf(headers, sizeof headers, "Handshake-Status: %lld\r\nHandshake-Msg: %s\r\n",
                       (long long)refusal->status, refusal->message);
    if (refusal->auth_code[0] != '\0')
        snprintf(headers + len, sizeof headers - (size_t)len, "Handshake-Autherrcode: %s\r\n",
                 refusal->auth_code);
    fake->refused_count++;
    (void)ws_server_answer_with(fake->server, conn, (int)refusal->http, headers, SMA_STR(""));
}

static struct ticket *find_ticket(struct fake_feishu *fake, const char *text)
{
    size_t len = strlen(text), place = len < 12 ? 0 : strtoull(text + len - 12, NULL, 16);
    if (place == 0 || place > fake->ticket_count ||
        strcmp(fake->tickets[place - 1].text, text) != 0)
        return NULL;
    return &fake->tickets[place - 1];
}

/* What was kept while nobody was there keeps its own time: see fake_feishu_tick. */
static void open_link(struct fake_feishu *fake, unsigned conn, const char *device)
{
    struct link *link = &fake->links[fake->link_count++];
    *link = (struct link){.conn = conn, .opened_ns = platform_now_ns()};
    link->ping_ns = link->opened_ns;
    snprintf(link->device, sizeof link->device, "%s", device);
    fake->opened_count++;
    (void)ws_server_accept(fake->server, conn);
}

void fake_feishu_serve_handshake(struct fake_feishu *fake, const struct ws_server_request *request)
{
    json_t *query = json_object();
    platform_decode_form(query, request->query);
    struct ticket *ticket = find_ticket(fake, platform_text(query, "ticket", ""));
    char service[16];
    snprintf(service, sizeof service, "%d", fake->service);
    if (!request->is_upgrade) {
        fake_feishu_complain(fake, "the URL of the long connection was asked for something else");
        (void)ws_server_answer(fake->server, request->conn, 400, "text/plain",
                               SMA_STR("upgrade wanted"));
    } else if (fake->refusal.times > 0) {
        fake->refusal.times--;
        if (ticket != NULL)
            ticket->is_used = true;
        refuse_handshake(fake, request->conn, &fake->refusal);
    } else if (ticket == NULL || ticket->is_used ||
               strcmp(platform_text(query, "access_key", ""), "Q+x=") != 0 ||
               strcmp(platform_text(query, "service_id", ""), service) != 0) {
        fake_feishu_complain(fake, "a URL of the long connection was used twice, or changed");
        refuse_handshake(
            fake, request->conn,
            &(struct refusal){
                .http = 403, .status = 514, .message = "auth failed", .auth_code = "1000040347"});
    } else if (fake->link_count >= fake->link_max || fake->link_count == FEISHU_LINKS_MAX) {
        ticket->is_used = true;
        refuse_handshake(
            fake, request->conn,
            &(struct refusal){.http = 403,
                              .status = 514,
                              .message = "the number of connections exceeded the limit",
                              .auth_code = "1000040350"});
    } else {
        ticket->is_used = true;
        open_link(fake, request->conn, platform_text(query, "device_id", ""));
    }
    json_decref(query);
}

static struct link *find_link(struct fake_feishu *fake, unsigned conn)
{
    for (size_t i = 0; i < fake->link_count; i++)
        if (fake->links[i].conn == conn)
            return &fake->links[i];
    return NULL;
}

void fake_feishu_link_closed(struct fake_feishu *fake, unsigned conn, unsigned code)
{
    struct link *link = find_link(fake, conn);
    (void)code;
    if (link == NULL)
        return;
    fake->ended_count++;
    *link = fake->links[--fake->link_count];
    /* What was handed out there and not answered runs into its time limit like anything else. */
}

/* -- handing out ------------------------------------------------------------------------------- */
static struct link *choose_link(struct fake_feishu *fake)
{
    if (fake->link_count == 0)
        return NULL;
    return &fake->links[fake->link_turn++ % fake->link_count];
}

static struct delivery *add_delivery(struct fake_feishu *fake, struct event *event, unsigned conn)
{
    struct delivery *delivery = calloc(1, sizeof *delivery);
    if (delivery == NULL)
        abort();
    *delivery = (struct delivery){.event = event, .conn = conn, .sent_ns = platform_now_ns()};
    sma_buf_init(&delivery->stub, 65536);
    fake->deliveries = platform_grow(fake->deliveries, fake->delivery_count, &fake->delivery_room,
                                     sizeof(struct delivery *));
    fake->deliveries[fake->delivery_count++] = delivery;
    return delivery;
}

/* The order in which `count` pieces go out; @return how many */
static size_t order_pieces(struct fake_feishu *fake, size_t count, size_t *order)
{
    const char *how = fake->pieces_order;
    for (size_t i = 0; i < count; i++)
        order[i] = strcmp(how, "reverse") == 0 ? count - 1 - i : i;
    for (size_t i = count; strcmp(how, "shuffle") == 0 && i > 1; i--) {
        size_t j = (size_t)((++fake->number * 0x9E3779B97F4A7C15u) >> 33) % i, kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    if (strcmp(how, "double") == 0) /* the first piece once more */
        order[count++] = order[0];
    return strcmp(how, "missing") == 0 ? count - 1 : count;
}

/* Where to cut: about equal parts, the first cut inside a character of more bytes where there is
 * one. */
static size_t piece_end(struct sma_str text, size_t piece, size_t count)
{
    size_t at = text.len * (piece + 1) / count;
    if (piece + 1 == count)
        return text.len;
    for (size_t i = text.len * piece / count + 1;
         piece == 0 && i < text.len * 2 / count && i < text.len; i++)
        if (((unsigned char)text.ptr[i] & 0xc0) == 0x80)
            return i;
    return at;
}

static void send_frames(struct fake_feishu *fake, struct delivery *delivery, size_t number)
{
    struct sma_str text = sma_str(delivery->event->json);
    size_t count = 1, order[PIECES_MAX + 1] = {0};
    char id[64], sum[24], seq[24], time[24], trace[40];
    bool is_cut = fake->pieces_times > 0;
    if (is_cut) {
        fake->pieces_times--;
        count = fake->pieces;
    }
    size_t piece_count = is_cut ? order_pieces(fake, count, order) : 1;
    snprintf(id, sizeof id, "6b8d7c1e-0f42-4e6f-9a55-%012zx", number);
    snprintf(time, sizeof time, "%lld", (long long)platform_wall_ms());
    snprintf(trace, sizeof trace, "trace%zx", number);
    for (size_t i = 0; i < piece_count; i++) {
        size_t piece = order[i], start = piece == 0 ? 0 : piece_end(text, piece - 1, count);
        struct fake_frame frame = {.seq_id = number,
                                   .log_id = 0xF000000000000000u + number,
                                   .service = fake->service,
                                   .method = 1,
                                   .payload_encoding = {"", 0},
                                   .payload_type = {"", 0},
                                   .log_id_new = sma_str(trace)};
        snprintf(sum, sizeof sum, "%zu", count);
        snprintf(seq, sizeof seq, "%zu", piece);
        fake_frame_add(&frame, "type", SMA_STR("event"));
        fake_frame_add(&frame, "message_id", sma_str(id));
        fake_frame_add(&frame, "sum", sma_str(sum));
        fake_frame_add(&frame, "seq", sma_str(seq));
        fake_frame_add(&frame, "trace_id", sma_str(trace));
        fake_frame_add(&frame, "timestamp", sma_str(time));
        if (i < count) { /* the piece that completes it is answered; one that comes twice is not */
            sma_buf_clear(&delivery->stub);
            fake_frame_encode(&frame, &delivery->stub);
        }
        frame.payload = (struct sma_str){text.ptr + start, piece_end(text, piece, count) - start};
        struct sma_buf bytes;
        sma_buf_init(&bytes, FEISHU_JSON_MAX);
        fake_frame_encode(&frame, &bytes);
        (void)ws_server_send(fake->server, delivery->conn, sma_buf_str(&bytes), true);
        sma_buf_fini(&bytes);
    }
}

static void wait_for(struct fake_feishu *fake, struct event *event, uint64_t ms)
{
    event->state = EVENT_WAITING;
    event->due_ns = platform_now_ns() + (uint64_t)((double)ms / fake->scale * 1e6);
    event->next = fake->waiting;
    fake->waiting = event;
}

void fake_feishu_delivery_failed(struct fake_feishu *fake, struct event *event)
{
    if (event->state == EVENT_DONE || event->state == EVENT_LOST ||
        (event->state == EVENT_WAITING && event->due_ns != 0))
        return;
    if (event->is_callback || event->retry_count == FEISHU_RETRY_COUNT) {
        event->state = EVENT_LOST;
        fake->lost_events++;
        return;
    }
    fake->retries++;
    wait_for(fake, event, retry_after_ms[event->retry_count++]);
}

void fake_feishu_deliver(struct fake_feishu *fake, struct event *event)
{
    struct link *link = fake->is_hook ? NULL : choose_link(fake);
    event->due_ns = 0; /* not in the list of those that wait */
    if (!fake->is_hook && link == NULL) {
        fake_feishu_delivery_failed(fake, event);
        return;
    }
    event->state = EVENT_SENT;
    size_t times = 1;
    if (fake->doubles > 0) {
        fake->doubles--;
        times = 2;
    }
    for (size_t i = 0; i < times; i++) {
        struct delivery *delivery = add_delivery(fake, event, link == NULL ? 0 : link->conn);
        event->sent_count++;
        fake->sent_total++;
        if (event->first_sent_ns == 0)
            event->first_sent_ns = delivery->sent_ns;
        if (fake->is_hook) {
            fake_feishu_post_event(fake, event, fake->delivery_count);
        } else {
            link->event_count++;
            send_frames(fake, delivery, fake->delivery_count);
        }
    }
}

/* -- answers ----------------------------------------------------------------------------------- */
static void finish(struct fake_feishu *fake, struct event *event)
{
    struct note *note = event->note == 0 ? NULL : fake->notes[event->note - 1];
    event->state = EVENT_DONE;
    event->done_ns = platform_now_ns();
    fake->acked_total++;
    if (!event->is_load)
        return;
    free(event->json);
    event->json = NULL;
    if (fake->load.is_flood && note != NULL)
        fake_feishu_load_next(fake, note->room);
}

void fake_feishu_delivery_answered(struct fake_feishu *fake, struct delivery *delivery, int code,
                                   json_t *result)
{
    struct event *event = delivery->event;
    event->answer_code = code;
    event->ack_count++;
    if (delivery->is_over) { /* too late: what follows from that has begun */
        fake->late_acks++;
        json_decref(result);
        return;
    }
    if (fake->lost_acks > 0) { /* as if nothing had come: its time runs on */
        fake->lost_acks--;
        json_decref(result);
        return;
    }
    delivery->is_over = true;
    sma_buf_fini(&delivery->stub);
    if (event->state == EVENT_DONE || event->state == EVENT_LOST) {
        json_decref(result);
        return;
    }
    json_decref(event->result);
    event->result = result;
    const char *wrong = code == 200 && event->is_callback && result != NULL
                            ? fake_feishu_check_answer(fake, result)
                            : NULL;
    if (wrong != NULL)
        fake_feishu_complain(fake, "the answer to a button: %s", wrong);
    if (code == 200)
        finish(fake, event);
    else
        fake_feishu_delivery_failed(fake, event);
}

static json_t *decode_result(struct fake_feishu *fake, const json_t *payload)
{
    const char *text = json_string_value(json_object_get(payload, "data"));
    if (text == NULL)
        return NULL;
    size_t len = strlen(text);
    unsigned char *bytes = malloc(len + 4);
    if (bytes == NULL)
        abort();
    int count = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)len);
    while (count > 0 && len > 0 && text[len - 1] == '=') {
        count--;
        len--;
    }
    json_t *tree =
        count < 0 ? NULL : json_loadb((char *)bytes, (size_t)count, JSON_DECODE_ANY, NULL);
    free(bytes);
    if (tree == NULL)
        fake_feishu_complain(fake, "data of an answer is no JSON in base64: %s", text);
    return tree;
}

/* The delivery this frame answers, when it repeats what was sent. */
static struct delivery *find_delivery(struct fake_feishu *fake, unsigned conn,
                                      struct fake_frame *frame)
{
    struct sma_str id = fake_frame_header(frame, "message_id"), last = {"", 0};
    char tail[16];
    if (id.len >= 12)
        snprintf(tail, sizeof tail, "%.12s", id.ptr + id.len - 12);
    else
        tail[0] = '\0';
    size_t number = strtoull(tail, NULL, 16);
    if (number == 0 || number > fake->delivery_count) {
        fake_feishu_complain(fake, "an answer to something that was never sent");
        return NULL;
    }
    struct delivery *delivery = fake->deliveries[number - 1];
    if (delivery->conn != conn) {
        fake_feishu_complain(fake, "an answer on another connection than the event came by");
        return NULL;
    }
    if (frame->header_count > 0)
        last = frame->headers[frame->header_count - 1].key;
    if (!sma_str_is_equal(last, SMA_STR("biz_rt"))) {
        fake_feishu_complain(fake, "an answer without biz_rt at its end");
        return NULL;
    }
    if (delivery->stub.len == 0) { /* answered before */
        fake->repeat_count++;
        return delivery;
    }
    frame->header_count--;
    frame->payload.ptr = NULL;
    struct sma_buf stub;
    sma_buf_init(&stub, 65536);
    fake_frame_encode(frame, &stub);
    bool is_same = sma_str_is_equal(sma_buf_str(&stub), sma_buf_str(&delivery->stub));
    sma_buf_fini(&stub);
    if (!is_same) {
        fake_feishu_complain(fake, "an answer that does not repeat the frame it answers");
        return NULL;
    }
    return delivery;
}

static void take_answer(struct fake_feishu *fake, unsigned conn, struct fake_frame *frame)
{
    json_t *payload = json_loadb(frame->payload.ptr, frame->payload.len, 0, NULL);
    const json_t *code = json_object_get(payload, "code");
    struct delivery *delivery = find_delivery(fake, conn, frame);
    if (!json_is_integer(code))
        fake_feishu_complain(fake, "an answer without a code: %.*s", (int)frame->payload.len,
                             frame->payload.ptr);
    else if (delivery != NULL)
        fake_feishu_delivery_answered(fake, delivery, (int)json_integer_value(code),
                                      decode_result(fake, payload));
    json_decref(payload);
}

static void take_ping(struct fake_feishu *fake, struct link *link, const struct fake_frame *frame)
{
    if (frame->service != fake->service)
        fake_feishu_complain(fake, "a ping for service %d, this is %d", frame->service,
                             fake->service);
    if (frame->payload.len > 0 || frame->seq_id != 0 || frame->log_id != 0)
        fake_feishu_complain(fake, "a ping with payload or ids");
    link->ping_ns = platform_now_ns();
    link->ping_count++;
    fake->ping_count++;
    if (!fake->has_pongs)
        return;
    struct fake_frame pong = {.service = fake->service};
    struct sma_buf bytes;
    json_t *config = fake->has_pong_config ? fake_feishu_pong_config(fake) : NULL;
    char *text = config == NULL ? NULL : json_dumps(config, JSON_COMPACT);
    fake_frame_add(&pong, "type", SMA_STR("pong"));
    if (text != NULL)
        pong.payload = sma_str(text);
    sma_buf_init(&bytes, 65536);
    fake_frame_encode(&pong, &bytes);
    (void)ws_server_send(fake->server, link->conn, sma_buf_str(&bytes), true);
    sma_buf_fini(&bytes);
    free(text);
    json_decref(config);
}

void fake_feishu_take_frame(struct fake_feishu *fake, unsigned conn, struct sma_str bytes,
                            bool is_binary)
{
    struct fake_frame frame;
    struct link *link = find_link(fake, conn);
    const char *wrong = is_binary ? fake_frame_decode(bytes, &frame) : "a text message";
    if (link == NULL)
        return;
    if (wrong != NULL) {
        fake_feishu_complain(fake, "a message on the long connection: %s", wrong);
        return;
    }
    struct sma_str type = fake_frame_header(&frame, "type");
    if (frame.method == 0 && sma_str_is_equal(type, SMA_STR("ping")))
        take_ping(fake, link, &frame);
    else if (frame.method == 1 && sma_str_is_equal(type, SMA_STR("event")))
        take_answer(fake, conn, &frame);
    else
        fake_feishu_complain(fake, "a frame of method %d and type %.*s", frame.method,
                             (int)type.len, type.ptr);
}

/* -- time -------------------------------------------------------------------------------------- */
static void expire_deliveries(struct fake_feishu *fake, uint64_t now)
{
    while (fake->ack_first < fake->delivery_count) {
        struct delivery *delivery = fake->deliveries[fake->ack_first];
        if (!delivery->is_over && delivery->conn != 0 &&
            delivery->sent_ns + (uint64_t)fake->ack_ms * SMA_NS_PER_MS > now)
            return;
        fake->ack_first++;
        if (delivery->is_over || delivery->conn == 0)
            continue;
        delivery->is_over = true;
        fake_feishu_delivery_failed(fake, delivery->event);
    }
}

static void retry_waiting(struct fake_feishu *fake, uint64_t now)
{
    struct event *due = NULL;
    for (struct event **at = &fake->waiting; *at != NULL;) {
        struct event *event = *at;
        if (event->due_ns > now) {
            at = &event->next;
            continue;
        }
        *at = event->next;
        event->next = due;
        due = event;
    }
    while (due != NULL) { /* the list was newest first: now it is oldest first */
        struct event *event = due;
        due = event->next;
        fake_feishu_deliver(fake, event);
    }
}

void fake_feishu_tick(struct fake_feishu *fake)
{
    uint64_t now = platform_now_ns();
    int64_t limit_ms =
        fake->ping_limit_ms != 0 ? fake->ping_limit_ms : fake->ping_interval_s * 2000 + 1000;
    expire_deliveries(fake, now);
    retry_waiting(fake, now);
    for (size_t i = 0; i < fake->link_count; i++) {
        struct link *link = &fake->links[i];
        if (link->ping_ns + (uint64_t)limit_ms * SMA_NS_PER_MS > now)
            continue;
        link->ping_ns = now;
        if (link->is_deaf) { /* the platform gives a silent one up as well */
            (void)ws_server_reset(fake->server, link->conn);
            continue;
        }
        fake_feishu_complain(fake, "no ping for %lld ms", (long long)limit_ms);
        (void)ws_server_drop(fake->server, link->conn);
    }
}

/* -- what is done to connections --------------------------------------------------------------- */
/* half: a frame that ends in the middle; lie: its length is more than comes; text; garbage;
 * oversize: 64 MiB announced. */
static void send_nonsense(struct fake_feishu *fake, unsigned conn, const char *how)
{
    static const char half[] = "\x82\x7e\x02\x00\x08\x01\x10\x02",
                      huge[] = "\x82\x7f\x00\x00\x00\x00\x04\x00\x00\x00\x08\x01";
    if (strcmp(how, "half") == 0) {
        (void)ws_server_send_raw(fake->server, conn, (struct sma_str){half, sizeof half - 1});
        (void)ws_server_drop(fake->server, conn);
    } else if (strcmp(how, "oversize") == 0) {
        (void)ws_server_send_raw(fake->server, conn, (struct sma_str){huge, sizeof huge - 1});
    } else if (strcmp(how, "text") == 0) {
        (void)ws_server_send(fake->server, conn, SMA_STR("{\"hello\":1}"), false);
    } else if (strcmp(how, "garbage") == 0) {
        (void)ws_server_send(fake->server, conn, SMA_STR("\xff\xff\xff\xff no protobuf"), true);
        (void)ws_server_send(fake->server, conn, SMA_STR(""), true);
    } else { /* rubbish: no WebSocket at all */
        (void)ws_server_send_raw(fake->server, conn, SMA_STR("HTTP/1.1 400 Bad Request\r\n\r\n"));
    }
}

static void break_one(struct fake_feishu *fake, struct link *link, const char *how, unsigned code)
{
    bool is_thaw = strcmp(how, "thaw") == 0;
    if (strcmp(how, "drop") == 0) {
        (void)ws_server_drop(fake->server, link->conn);
    } else if (strcmp(how, "reset") == 0) {
        (void)ws_server_reset(fake->server, link->conn);
    } else if (strcmp(how, "close") == 0) {
        (void)ws_server_close(fake->server, link->conn, code, "go away");
    } else if (strcmp(how, "freeze") == 0 || is_thaw) {
        link->is_deaf = !is_thaw;
        (void)ws_server_freeze(fake->server, link->conn, !is_thaw);
    } else if (strcmp(how, "ping") == 0) {
        (void)ws_server_ping(fake->server, link->conn, SMA_STR("are you there"));
    } else {
        send_nonsense(fake, link->conn, how);
    }
}

json_t *fake_feishu_break_link(void *user, const json_t *command)
{
    static const char *const ways[] = {"drop", "reset", "close",   "freeze",   "thaw",   "ping",
                                       "half", "text",  "garbage", "oversize", "rubbish"};
    struct fake_feishu *fake = user;
    const char *how = platform_text(command, "how", "drop");
    unsigned code = (unsigned)platform_number(command, "code", 1000);
    size_t way = 0, count = 0;
    while (way < SMA_COUNT_OF(ways) && strcmp(ways[way], how) != 0)
        way++;
    if (way == SMA_COUNT_OF(ways))
        return platform_problem("no such way to break a connection");
    for (size_t i = fake->link_count; i > 0; i--, count++)
        break_one(fake, &fake->links[i - 1], how, code);
    return json_pack("{s:i}", "count", (int)count);
}
