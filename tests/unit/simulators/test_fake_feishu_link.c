/*
 * Aim: the fake Feishu hands events out as the platform does, refuses what it refuses, and
 * misbehaves as told.
 * Method: one server on a thread; a client of the test's own on the long connection, every kind of
 * weather once.
 */
#include "fake_feishu_test.h"
#include "feishu/fake_feishu_frame.h"
#include "raw_ws.h"

#define ENDPOINT "/callback/ws/endpoint"
#define GOOD_LOGIN "{\"AppID\":\"" FAKE_FEISHU_APP "\",\"AppSecret\":\"" FAKE_FEISHU_SECRET "\"}"

/* -- the long connection ----------------------------------------------------------------------- */
static json_t *endpoint(int64_t code, const char *body)
{
    return call_as("", 200, code, "POST", ENDPOINT, body);
}

/* The path of a fresh URL; static. */
static const char *fresh_path(void)
{
    static char path[512];
    json_t *tree = endpoint(0, GOOD_LOGIN);
    const char *url = talk_text(json_object_get(tree, "data"), "URL"), *at = strstr(url, "/ws/v2");
    CHECK(at != NULL && strncmp(url, "ws://127.0.0.1:", 15) == 0);
    snprintf(path, sizeof path, "%s", at);
    json_decref(tree);
    return path;
}

static void open_link(struct raw_ws *ws)
{
    raw_ws_open(ws, port, fresh_path());
    CHECK_INT(101, ws->status);
}

static void send_frame(struct raw_ws *ws, const struct fake_frame *frame)
{
    struct sma_buf bytes;
    sma_buf_init(&bytes, 1u << 20);
    fake_frame_encode(frame, &bytes);
    raw_ws_send(ws, sma_buf_str(&bytes), true);
    sma_buf_fini(&bytes);
}

static void ping(struct raw_ws *ws, int32_t service)
{
    struct fake_frame frame = {.service = service};
    fake_frame_add(&frame, "type", SMA_STR("ping"));
    send_frame(ws, &frame);
}

/* Bytes of the next message in *bytes, read as a frame. */
static void take_frame(struct raw_ws *ws, struct sma_buf *bytes, struct fake_frame *ret_frame)
{
    sma_buf_clear(bytes);
    CHECK(raw_ws_take(ws, WAIT_MS, bytes));
    CHECK_INT(2, ws->opcode);
    const char *wrong = fake_frame_decode(sma_buf_str(bytes), ret_frame);
    CHECK_TEXT("", wrong == NULL ? "" : wrong);
}

static void acknowledge(struct raw_ws *ws, struct fake_frame *frame, const char *payload)
{
    fake_frame_add(frame, "biz_rt", SMA_STR("0"));
    frame->payload = sma_str(payload);
    send_frame(ws, frame);
}

static void say(const char *text)
{
    platform_tell(&feishu, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", "oc_ann", "user", "ou_ann",
                  "text", text);
}

static void endpoints_are_for_the_app_only(void)
{
    start();
    json_decref(endpoint(514, "{\"AppID\":\"" FAKE_FEISHU_APP "\",\"AppSecret\":\"wrong\"}"));
    json_decref(endpoint(514, "{\"app_id\":\"" FAKE_FEISHU_APP
                              "\",\"app_secret\":\"" FAKE_FEISHU_SECRET "\"}"));
    json_decref(endpoint(514, "nonsense"));
    platform_tell(&feishu, "{s:s,s:b}", "do", "forbid", "on", 1);
    json_decref(endpoint(403, GOOD_LOGIN));
    platform_tell(&feishu, "{s:s,s:b}", "do", "forbid", "on", 0);
    platform_tell(&feishu, "{s:s,s:s,s:s,s:i,s:I}", "do", "fault", "method", "endpoint", "kind",
                  "status", "status", 200, "code", (json_int_t)1000040343);
    json_decref(endpoint(1000040343, GOOD_LOGIN));
    json_t *tree = endpoint(0, GOOD_LOGIN);
    CHECK_INT(120, platform_number(json_object_get(json_object_get(tree, "data"), "ClientConfig"),
                                   "PingInterval", 0));
    json_decref(tree);
    stop();
}

static void handshakes_are_refused_with_a_reason(void)
{
    struct raw_ws one, two;
    char path[512];
    start();
    snprintf(path, sizeof path, "%s", fresh_path());
    raw_ws_open(&one, port, path);
    CHECK_INT(101, one.status);
    raw_ws_open(&two, port, path); /* the same ticket again */
    CHECK_INT(403, two.status);
    CHECK(strstr(two.head, "Handshake-Status: 514") != NULL);
    raw_ws_close(&two);
    raw_ws_open(&two, port, "/ws/v2?ticket=invented&service_id=33554678");
    CHECK_INT(403, two.status);
    raw_ws_close(&two);
    platform_tell(&feishu, "{s:s,s:i}", "do", "connections", "max", 1);
    raw_ws_open(&two, port, fresh_path());
    CHECK_INT(403, two.status);
    CHECK(strstr(two.head, "Handshake-Autherrcode: 1000040350") != NULL);
    raw_ws_close(&two);
    raw_ws_close(&one);
    await_counter("connections", 0);
    platform_tell(&feishu, "{s:s,s:i,s:i}", "do", "refuse_handshake", "status", 403, "http", 500);
    raw_ws_open(&two, port, fresh_path());
    CHECK_INT(500, two.status);
    CHECK(strstr(two.head, "Handshake-Status: 403") != NULL);
    raw_ws_close(&two);
    platform_tell(&feishu, "{s:s,s:s}", "do", "bad_tls", "kind", "self_signed");
    json_t *tree = endpoint(0, GOOD_LOGIN);
    CHECK(strncmp(talk_text(json_object_get(tree, "data"), "URL"), "wss://", 6) == 0);
    json_decref(tree);
    (void)fresh_path(); /* once only */
    stop();
}

static void pings_are_wanted_and_answered(void)
{
    struct raw_ws ws;
    struct sma_buf bytes;
    struct fake_frame frame;
    sma_buf_init(&bytes, 1u << 20);
    start();
    open_link(&ws);
    ping(&ws, 33554678);
    take_frame(&ws, &bytes, &frame);
    CHECK_STR("pong", fake_frame_header(&frame, "type"));
    CHECK(memmem(frame.payload.ptr, frame.payload.len, "\"PingInterval\":120", 18) != NULL);
    platform_tell(&feishu, "{s:s,s:b,s:b}", "do", "pongs", "on", 1, "config", 0);
    ping(&ws, 33554678);
    take_frame(&ws, &bytes, &frame);
    CHECK_INT(0, frame.payload.len);
    CHECK_INT(0, counter("complaints"));
    platform_tell(&feishu, "{s:s,s:b}", "do", "pongs", "on", 0);
    ping(&ws, 1);
    complained("a ping for service 1");
    CHECK(!raw_ws_take(&ws, 20, &bytes));
    platform_tell(&feishu, "{s:s,s:i}", "do", "ping_limit", "ms", 30);
    CHECK(!raw_ws_take(&ws, WAIT_MS, &bytes)); /* cut off */
    CHECK_INT(-1, ws.fd);
    raw_ws_close(&ws);
    sma_buf_fini(&bytes);
    stop();
}

static void nonsense_of_the_client_is_noted(void)
{
    static const char no_service[] = "\x08\x00\x10\x00\x20\x00",
                      lone[] = "\x08\x00\x10\x00\x18\x01\x20\x00\x2a\x03\x0a\x01x";
    static const struct
    {
        struct sma_str bytes;
        bool is_binary;
        const char *complaint;
    } cases[] = {{{"hello", 5}, false, "text"},
                 {{"\xff\xff", 2}, true, "no frame at all"},
                 {{no_service, sizeof no_service - 1}, true, "required field"},
                 {{lone, sizeof lone - 1}, true, "header without"},
                 {{"\x08\x00\x10\x00\x18\x01\x20\x05", 8}, true, "method 5"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct raw_ws ws;
        start();
        open_link(&ws);
        raw_ws_send(&ws, cases[i].bytes, cases[i].is_binary);
        complained(cases[i].complaint);
        raw_ws_close(&ws);
        stop();
    }
}

static void events_are_acknowledged(void)
{
    struct raw_ws ws;
    struct sma_buf bytes;
    struct fake_frame frame;
    sma_buf_init(&bytes, 1u << 20);
    start();
    open_link(&ws);
    say("hello @{bot} and @{ou_bob}");
    take_frame(&ws, &bytes, &frame);
    CHECK_STR("event", fake_frame_header(&frame, "type"));
    CHECK_STR("1", fake_frame_header(&frame, "sum"));
    CHECK(frame.log_id > 1ull << 53);
    json_t *event = json_loadb(frame.payload.ptr, frame.payload.len, 0, NULL);
    const json_t *message = json_object_get(json_object_get(event, "event"), "message");
    CHECK_TEXT("{\"text\":\"hello @_user_1 and @_user_2\"}", talk_text(message, "content"));
    CHECK_INT(2, json_array_size(json_object_get(message, "mentions")));
    CHECK_TEXT("p2p", talk_text(message, "chat_type"));
    json_decref(event);
    CHECK_INT(1, counter("unacked"));
    acknowledge(&ws, &frame, "{\"code\":200}");
    await_counter("acked", 1);
    CHECK_INT(0, counter("queued"));
    acknowledge(&ws, &frame,
                "{\"code\":200}"); /* biz_rt is there twice now, but all has been answered */
    await_counter("repeats", 1);
    CHECK_INT(0, counter("complaints"));
    raw_ws_close(&ws);
    sma_buf_fini(&bytes);
    stop();
}

static void wrong_acknowledgements_are_none(void)
{
    static const char *const complaints[] = {"does not repeat", "without biz_rt", "without a code",
                                             "never sent"};
    for (size_t i = 0; i < SMA_COUNT_OF(complaints); i++) {
        struct raw_ws ws;
        struct sma_buf bytes;
        struct fake_frame frame;
        sma_buf_init(&bytes, 1u << 20);
        start();
        open_link(&ws);
        say("hello");
        take_frame(&ws, &bytes, &frame);
        frame.log_id += i == 0;
        if (i == 1) {
            frame.payload = SMA_STR("{\"code\":200}");
            send_frame(&ws, &frame);
        } else {
            if (i == 3)
                frame.headers[1].value = SMA_STR("6b8d7c1e-0f42-4e6f-9a55-0000000000ff");
            acknowledge(&ws, &frame, i == 2 ? "{}" : "{\"code\":200}");
        }
        complained(complaints[i]);
        CHECK_INT(1, counter("unacked"));
        raw_ws_close(&ws);
        sma_buf_fini(&bytes);
        stop();
    }
}

static void what_is_not_acknowledged_comes_again(void)
{
    struct raw_ws ws;
    struct sma_buf bytes;
    struct fake_frame frame;
    struct sma_str id;
    sma_buf_init(&bytes, 1u << 20);
    start();
    platform_tell(&feishu, "{s:s,s:i}", "do", "ack_limit", "ms", 20);
    platform_tell(&feishu, "{s:s,s:i}", "do", "scale", "factor", 1000000);
    open_link(&ws);
    say("hello");
    take_frame(&ws, &bytes, &frame);
    id = fake_frame_header(&frame, "message_id");
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)id.len, id.ptr);
    take_frame(&ws, &bytes, &frame); /* after its time */
    id = fake_frame_header(&frame, "message_id");
    CHECK(!sma_str_is_equal(id, sma_str(first)));
    acknowledge(&ws, &frame, "{\"code\":500}");
    take_frame(&ws, &bytes, &frame); /* it could not be handled */
    platform_tell(&feishu, "{s:s,s:i}", "do", "lose_acks", "count", 1);
    acknowledge(&ws, &frame, "{\"code\":200}");
    take_frame(&ws, &bytes, &frame);
    take_frame(&ws, &bytes, &frame); /* the last time */
    await_counter("lost", 1);
    CHECK_INT(4, counter("retries"));
    acknowledge(&ws, &frame, "{\"code\":200}");
    await_counter("late_acks", 1);
    CHECK_INT(0, counter("complaints"));
    raw_ws_close(&ws);
    say("while nobody is there");
    await_counter("connections", 0);
    say("nor now");
    platform_tell(&feishu, "{s:s,s:i}", "do", "scale", "factor", 1000);
    sma_buf_fini(&bytes);
    stop();
}

static void events_wait_for_a_connection(void)
{
    struct raw_ws ws[2];
    struct sma_buf bytes;
    struct fake_frame frame;
    sma_buf_init(&bytes, 1u << 20);
    start();
    platform_tell(&feishu, "{s:s,s:i}", "do", "scale", "factor", 300);
    say("while nobody is there");
    CHECK_INT(1, counter("waiting"));
    open_link(&ws[0]);
    take_frame(&ws[0], &bytes, &frame);
    acknowledge(&ws[0], &frame, "{\"code\":200}");
    open_link(&ws[1]);
    for (int i = 0; i < 4; i++)
        say("shared out");
    for (int i = 0; i < 4; i++) {
        take_frame(&ws[i % 2], &bytes, &frame);
        acknowledge(&ws[i % 2], &frame, "{\"code\":200}");
    }
    await_counter("acked", 5);
    CHECK_INT(0, counter("complaints"));
    platform_tell(&feishu, "{s:s,s:i}", "do", "redeliver", "count", 1); /* hours later */
    take_frame(&ws[1], &bytes, &frame);
    acknowledge(&ws[1], &frame, "{\"code\":200}");
    platform_tell(&feishu, "{s:s,s:i}", "do", "double", "count", 1);
    say("twice at once");
    for (int i = 0; i < 2; i++) {
        take_frame(&ws[0], &bytes, &frame);
        acknowledge(&ws[0], &frame, "{\"code\":200}");
    }
    await_counter("delivered", 8);
    CHECK_INT(0, counter("complaints"));
    for (int i = 0; i < 2; i++)
        raw_ws_close(&ws[i]);
    sma_buf_fini(&bytes);
    stop();
}

/* Put the pieces of one event together by their numbers. @return their count */
static int take_pieces(struct raw_ws *ws, struct sma_buf *whole, struct fake_frame *ret_last,
                       struct sma_buf *bytes)
{
    char parts[8][2048];
    size_t lens[8] = {0};
    int count = 0, sum = 1;
    bool is_cut_inside = false;
    while (count < sum) {
        take_frame(ws, bytes, ret_last);
        sum = (int)strtol(fake_frame_header(ret_last, "sum").ptr, NULL, 10);
        size_t seq = strtoul(fake_frame_header(ret_last, "seq").ptr, NULL, 10);
        CHECK(sum <= 8 && (int)seq < sum && lens[seq] == 0 &&
              ret_last->payload.len < sizeof parts[0]);
        memcpy(parts[seq], ret_last->payload.ptr, ret_last->payload.len);
        lens[seq] = ret_last->payload.len;
        is_cut_inside |= ((unsigned char)ret_last->payload.ptr[0] & 0xc0) == 0x80;
        count++;
    }
    CHECK(is_cut_inside);
    for (int i = 0; i < sum; i++)
        sma_buf_put(whole, parts[i], lens[i]);
    return count;
}

static void events_come_in_pieces(void)
{
    static const char *const orders[] = {"", "reverse", "shuffle"};
    struct raw_ws ws;
    struct sma_buf bytes, whole;
    struct fake_frame frame;
    char text[1200] = "";
    sma_buf_init(&bytes, 1u << 20);
    sma_buf_init(&whole, 1u << 20);
    for (int i = 0; i < 300; i++)
        memcpy(text + 3 * i, "\xe4\xbd\xa0", 4);
    start();
    open_link(&ws);
    for (size_t i = 0; i < SMA_COUNT_OF(orders); i++) {
        platform_tell(&feishu, "{s:s,s:i,s:s}", "do", "pieces", "parts", 4, "order", orders[i]);
        say(text);
        sma_buf_clear(&whole);
        CHECK_INT(4, take_pieces(&ws, &whole, &frame, &bytes));
        json_t *event = json_loadb(whole.ptr, whole.len, 0, NULL);
        CHECK(event != NULL &&
              strstr(
                  talk_text(json_object_get(json_object_get(event, "event"), "message"), "content"),
                  text) != NULL);
        json_decref(event);
        acknowledge(&ws, &frame, "{\"code\":200}");
        await_counter("acked", (int64_t)i + 1);
    }
    platform_tell(&feishu, "{s:s,s:i,s:s}", "do", "pieces", "parts", 2, "order", "missing");
    say(text);
    take_frame(&ws, &bytes, &frame);
    CHECK(!raw_ws_take(&ws, 20, &bytes));
    CHECK_INT(0, counter("complaints"));
    raw_ws_close(&ws);
    sma_buf_fini(&bytes);
    sma_buf_fini(&whole);
    stop();
}

static void groups_are_told_when_the_bot_is_meant(void)
{
    struct raw_ws ws;
    struct sma_buf bytes;
    struct fake_frame frame;
    sma_buf_init(&bytes, 1u << 20);
    start();
    open_link(&ws);
    json_t *said = platform_do(&feishu, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", "oc_team", "user",
                               "ou_ann", "text", "@{ou_bob} hi");
    CHECK(json_is_false(json_object_get(said, "is_queued")));
    json_decref(said);
    said = platform_do(&feishu, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", "oc_team", "user",
                       "ou_ann", "text", "@{bot} hi");
    CHECK(json_is_true(json_object_get(said, "is_queued")));
    json_decref(said);
    take_frame(&ws, &bytes, &frame);
    platform_tell(&feishu, "{s:s,s:b}", "do", "reads_all", "on", 1);
    said = platform_do(&feishu, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", "oc_team", "user",
                       "ou_ann", "text", "hi");
    CHECK(json_is_true(json_object_get(said, "is_queued")));
    json_decref(said);
    raw_ws_close(&ws);
    sma_buf_fini(&bytes);
    stop();
}

static void buttons_are_pressed_once(void)
{
    struct raw_ws ws;
    struct sma_buf bytes;
    struct fake_frame frame;
    sma_buf_init(&bytes, 1u << 20);
    start();
    log_in();
    platform_tell(&feishu, "{s:s,s:i}", "do", "ack_limit", "ms", 200);
    platform_tell(&feishu, "{s:s,s:i}", "do", "scale", "factor", 1000000);
    open_link(&ws);
    const char *card = sent("oc_ann", "interactive",
                            CARD("{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\",\"content\":"
                                 "\"Yes\"},\"behaviors\":"
                                 "[{\"type\":\"callback\",\"value\":{\"k\":\"v\"}}]}"),
                            NULL);
    platform_tell(&feishu, "{s:s,s:s,s:s,s:i}", "do", "press", "message_id", card, "user", "ou_ann",
                  "value", 0);
    take_frame(&ws, &bytes, &frame);
    CHECK(memmem(frame.payload.ptr, frame.payload.len, "\"value\":{\"k\":\"v\"}", 17) != NULL);
    acknowledge(&ws, &frame, "{\"code\":200,\"data\":\"eyJ0b2FzdCI6e319\"}");
    await_counter("acked", 1);
    json_t *events = platform_do(&feishu, "{s:s}", "do", "events");
    CHECK(json_is_object(json_object_get(
        json_object_get(json_array_get(json_object_get(events, "events"), 0), "result"), "toast")));
    json_decref(events);
    platform_tell(&feishu, "{s:s,s:s,s:s,s:i}", "do", "press", "message_id", card, "user", "ou_ann",
                  "value", 0);
    take_frame(&ws, &bytes, &frame);
    await_counter("lost", 1); /* never again */
    CHECK_INT(0, counter("retries"));
    raw_ws_close(&ws);
    sma_buf_fini(&bytes);
    stop();
}

static void connections_break_as_told(void)
{
    static const struct
    {
        const char *how;
        bool is_over;
        unsigned opcode;
    } cases[] = {{"drop", true, 0},  {"reset", true, 0},    {"close", false, 8}, {"half", true, 0},
                 {"text", false, 1}, {"garbage", false, 2}, {"freeze", true, 0}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct raw_ws ws;
        struct sma_buf bytes;
        bool is_frozen = strcmp(cases[i].how, "freeze") == 0;
        sma_buf_init(&bytes, 1u << 20);
        start();
        open_link(&ws);
        CHECK_INT(1, platform_get(&feishu, "count", "{s:s,s:s,s:i}", "do", "break", "how",
                                  cases[i].how, "code", 1001));
        bool has_come = raw_ws_take(&ws, is_frozen ? 30 : WAIT_MS, &bytes);
        CHECK(has_come != cases[i].is_over);
        if (has_come)
            CHECK_INT(cases[i].opcode, ws.opcode);
        if (cases[i].opcode == 8)
            CHECK_INT(1001, (unsigned char)bytes.ptr[0] << 8 | (unsigned char)bytes.ptr[1]);
        CHECK(is_frozen ? ws.fd >= 0 : ws.fd < 0 || has_come);
        raw_ws_close(&ws);
        sma_buf_fini(&bytes);
        stop();
    }
}

static void a_restart_cuts_and_comes_back(void)
{
    struct raw_ws ws;
    struct sma_buf bytes;
    sma_buf_init(&bytes, 1024);
    start();
    open_link(&ws);
    platform_tell(&feishu, "{s:s,s:i}", "do", "restart", "ms", 50);
    CHECK(!raw_ws_take(&ws, WAIT_MS, &bytes));
    raw_ws_close(&ws);
    struct http_answer answer = {0};
    for (int i = 0; i < 200 && answer.status == 0; i++, process_pause_ms(5))
        answer = http_call(port, "GET", "/nothing", "", NULL, 0, 1000);
    CHECK_INT(404, answer.status);
    http_answer_fini(&answer);
    sma_buf_fini(&bytes);
    stop();
}

static void frames_are_those_of_the_platform(void)
{
    json_t *root = json_load_file(SMA_SOURCE_DIR "/tests/vectors/feishu/feishu_ws_frames.json", 0,
                                  NULL),
           *vector;
    size_t i, count = 0;
    CHECK(root != NULL);
    json_array_foreach(json_object_get(root, "vectors"), i, vector)
    {
        const char *hex = talk_text(vector, "hex");
        struct sma_buf bytes, again;
        struct fake_frame frame;
        sma_buf_init(&bytes, 1u << 20);
        sma_buf_init(&again, 1u << 20);
        for (const char *at = hex; at[0] != '\0'; at += 2) {
            char two[3] = {at[0], at[1], '\0'};
            sma_buf_put_char(&bytes, (char)strtol(two, NULL, 16));
        }
        CHECK(fake_frame_decode(sma_buf_str(&bytes), &frame) == NULL);
        fake_frame_encode(&frame, &again);
        CHECK(sma_str_is_equal(sma_buf_str(&bytes), sma_buf_str(&again)));
        sma_buf_fini(&bytes);
        sma_buf_fini(&again);
        count++;
    }
    CHECK(count > 10);
    json_decref(root);
}

/* -- webhooks, load ---------------------------------------------------------------------------- */
static struct ws_server *bot;
static int bot_requests, bot_signed;

/* The bot's side: counts, answers a challenge, fails the first event. */
static void on_hook(void *user, struct ws_server *server, const struct ws_server_request *request)
{
    json_t *tree = json_loadb(request->body.ptr, request->body.len, 0, NULL);
    (void)user;
    bot_requests++;
    bot_signed += ws_server_header(request, "X-Lark-Signature").len == 64 &&
                  platform_text(tree, "encrypt", NULL) != NULL;
    if (platform_text(tree, "challenge", NULL) != NULL)
        (void)ws_server_answer(server, request->conn, 200, "application/json", request->body);
    else
        (void)ws_server_answer(server, request->conn, bot_requests == 2 ? 500 : 200,
                               "application/json", SMA_STR("{}"));
    json_decref(tree);
}

static void webhooks_are_sent_signed_and_again(void)
{
    static const struct ws_server_hooks hooks = {.request = on_hook};
    static const char *const kinds[] = {"signature", "unsigned", "old",    "token",
                                        "key",       "plain",    "garbage"};
    char url[128];
    start();
    bot = ws_server_start(&(struct ws_server_options){.hooks = &hooks});
    snprintf(url, sizeof url, "http://127.0.0.1:%d/feishu", ws_server_port(bot));
    platform_tell(&feishu, "{s:s,s:i}", "do", "scale", "factor", 100000);
    platform_tell(&feishu, "{s:s,s:s,s:s}", "do", "webhook", "url", url, "token", "verify");
    platform_tell(&feishu, "{s:s}", "do", "challenge");
    await_counter("challenges_good", 1);
    platform_tell(&feishu, "{s:s,s:s,s:s,s:s}", "do", "webhook", "url", url, "token", "verify",
                  "key", "secret");
    say("by webhook");
    await_counter("acked", 1);
    CHECK_INT(1, counter("retries"));
    CHECK_INT(2, bot_signed);
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
        platform_tell(&feishu, "{s:s,s:s}", "do", "forge", "kind", kinds[i]);
    for (long long until = process_now_ms() + WAIT_MS; process_now_ms() < until;
         process_pause_ms(1)) {
        ws_server_lock(bot);
        bool is_done = bot_requests == 3 + (int)SMA_COUNT_OF(kinds);
        ws_server_unlock(bot);
        if (is_done)
            break;
    }
    ws_server_lock(bot);
    CHECK_INT(3 + SMA_COUNT_OF(kinds), bot_requests);
    ws_server_unlock(bot);
    stop();
    ws_server_stop(bot);
}

static void a_flood_is_quick(void)
{
    enum
    {
        COUNT = 3000
    };
    struct raw_ws ws;
    struct sma_buf bytes;
    struct fake_frame frame;
    sma_buf_init(&bytes, 1u << 20);
    start();
    open_link(&ws);
    platform_tell(&feishu, "{s:s,s:i,s:i,s:i}", "do", "flood", "total", COUNT, "window", 100,
                  "chats", 7);
    for (int i = 0; i < COUNT; i++) {
        take_frame(&ws, &bytes, &frame);
        acknowledge(&ws, &frame, "{\"code\":200}");
    }
    await_counter("finished", COUNT);
    CHECK_INT(0, counter("complaints"));
    json_t *list = platform_do(&feishu, "{s:s,s:i}", "do", "latencies", "skip", 100);
    CHECK_INT(COUNT - 100, json_array_size(json_object_get(list, "acks")));
    json_decref(list);
    raw_ws_close(&ws);
    sma_buf_fini(&bytes);
    stop();
}

int main(void)
{
    RUN(frames_are_those_of_the_platform);
    RUN(endpoints_are_for_the_app_only);
    RUN(handshakes_are_refused_with_a_reason);
    RUN(pings_are_wanted_and_answered);
    RUN(nonsense_of_the_client_is_noted);
    RUN(events_are_acknowledged);
    RUN(wrong_acknowledgements_are_none);
    RUN(what_is_not_acknowledged_comes_again);
    RUN(events_wait_for_a_connection);
    RUN(events_come_in_pieces);
    RUN(groups_are_told_when_the_bot_is_meant);
    RUN(buttons_are_pressed_once);
    RUN(connections_break_as_told);
    RUN(a_restart_cuts_and_comes_back);
    RUN(webhooks_are_sent_signed_and_again);
    RUN(a_flood_is_quick);
    return check_summary();
}
