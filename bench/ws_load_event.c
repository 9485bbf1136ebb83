/* ws_load_event.c — see ws_load_event.h. */
#include "ws_load_event.h"

#include "bench.h"
#include "feishu/fake_feishu.h"
#include "feishu/fake_feishu_frame.h"

#define NUMBER "NNNNNNNNNNNN" /* twelve digits, hexadecimal */
#define CHAT "CCCCCCCCCCCC"
#define SEQ "777777777777" /* twelve digits, decimal */
#define PLACE_LEN 12
#define PLACES_MAX 16
#define ACK_MARK "6b8d7c1e-0f42-4e6f-9a55-"

struct template
{
    char bytes[EVENT_BYTES_MAX];
    size_t len, places[3][PLACES_MAX], place_counts[3];
};
static struct template templates[WS_LOAD_KIND_COUNT];

static const char feishu_json[] =
    "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"5e3702a84e847582be8d" NUMBER
    "\",\"event_type\":\"im.message.receive_v1\",\"create_time\":\"%lld\",\"token\":\"\","
    "\"app_id\":\"" FAKE_FEISHU_APP "\",\"tenant_key\":\"736588c9260f175e\"},"
    "\"event\":{\"sender\":{\"sender_id\":{\"union_id\":\"on_8ed6aa67826108097d9e" CHAT
    "\",\"user_id\":\"e33ggbyz\",\"open_id\":\"ou_84aad35d084aa403a838" CHAT
    "\"},\"sender_type\":\"user\",\"tenant_key\":\"736588c9260f175e\"},"
    "\"message\":{\"message_id\":\"om_5ce6d572455d361153b7" NUMBER
    "\",\"create_time\":\"%lld\",\"update_time\":\"%lld\","
    "\"chat_id\":\"oc_5ce6d572455d361153b7" CHAT
    "\",\"chat_type\":\"p2p\",\"message_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"please "
    "look up what the meeting of " NUMBER " decided, \xe8\xb0\xa2\xe8\xb0\xa2\\\"}\","
    "\"user_agent\":\"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 "
    "(KHTML, like Gecko) Safari/537.36 Lark/6.7.5 LarkLocale/en_US SDK-Version/6.7.8\"}}}";

static const char qq_json[] =
    "{\"op\":0,\"s\":" SEQ
    ",\"t\":\"C2C_MESSAGE_CREATE\",\"id\":\"C2C_MESSAGE_CREATE:d8c7zcgbk" NUMBER
    "\",\"d\":{\"id\":\"ROBOT1.0_d8c7zcgbkIFWvV1sJb" NUMBER
    "\",\"content\":\"please look up what the meeting of " NUMBER
    " decided, \xe8\xb0\xa2\xe8\xb0\xa2\",\"timestamp\":\"%s\","
    "\"author\":{\"id\":\"E4F4AEA33253A2797FB8" CHAT
    "\",\"user_openid\":\"E4F4AEA33253A2797FB8" CHAT
    "\",\"union_openid\":\"CF0EA4A9A3E7B4B0D1C2" CHAT "\",\"username\":\"\",\"bot\":false},"
    "\"message_scene\":{\"source\":\"default\",\"ext\":[\"msg_idx=REFIDX_" NUMBER
    "\"]},\"message_type\":0}}";

/* -- making ------------------------------------------------------------------------------------ */
static size_t put_head(char *out, size_t len, unsigned first)
{
    out[0] = (char)first;
    if (len < 126) {
        out[1] = (char)len;
        return 2;
    }
    out[1] = 126;
    out[2] = (char)(len >> 8);
    out[3] = (char)len;
    return 4;
}

static void set_template(enum ws_load_kind kind, const char *bytes, size_t len, unsigned first)
{
    static const char *const marks[] = {NUMBER, CHAT, SEQ};
    struct template *template = &templates[kind];
    size_t head = put_head(template->bytes, len, first);
    if (head + len > sizeof template->bytes)
        abort();
    memcpy(template->bytes + head, bytes, len);
    template->len = head + len;
    for (size_t i = 0; i < SMA_COUNT_OF(marks); i++)
        for (const char *at = template->bytes;
             (at = memmem(at, (size_t)(template->bytes + template->len - at), marks[i],
                          PLACE_LEN)) != NULL;
             at += PLACE_LEN) {
            if (template->place_counts[i] == PLACES_MAX)
                abort();
            template->places[i][template->place_counts[i]++] = (size_t)(at - template->bytes);
        }
}

static long long wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void prepare_feishu(void)
{
    char json[EVENT_BYTES_MAX];
    long long now = wall_ms();
    snprintf(json, sizeof json, feishu_json, now, now, now);
    struct fake_frame frame = {.seq_id = 1,
                               .log_id = UINT64_C(0xF000000000000001),
                               .service = 33554678,
                               .method = 1,
                               .payload_encoding = SMA_STR(""),
                               .payload_type = SMA_STR(""),
                               .payload = sma_str(json),
                               .log_id_new = SMA_STR("trace")};
    fake_frame_add(&frame, "type", SMA_STR("event"));
    fake_frame_add(&frame, "message_id", SMA_STR(ACK_MARK NUMBER));
    fake_frame_add(&frame, "sum", SMA_STR("1"));
    fake_frame_add(&frame, "seq", SMA_STR("0"));
    fake_frame_add(&frame, "trace_id", SMA_STR("0123456789abcdef0123456789abcdef"));
    fake_frame_add(&frame, "timestamp", SMA_STR("1608725989000"));
    struct sma_buf bytes;
    sma_buf_init(&bytes, EVENT_BYTES_MAX);
    fake_frame_encode(&frame, &bytes);
    set_template(WS_LOAD_FEISHU, bytes.ptr, bytes.len, 0x82);
    sma_buf_fini(&bytes);
}

void event_prepare(void)
{
    char json[EVENT_BYTES_MAX], time_text[40];
    time_t now = time(NULL) + 8 * 3600;
    struct tm there;
    gmtime_r(&now, &there);
    strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%S+08:00", &there);
    memset(templates, 0, sizeof templates);
    prepare_feishu();
    int len = snprintf(json, sizeof json, qq_json, time_text);
    set_template(WS_LOAD_QQ, json, (size_t)len, 0x81);
    memset(json, 'x', 62);
    set_template(WS_LOAD_SMALL, json, 62, 0x82);
}

/* -- one --------------------------------------------------------------------------------------- */
static void put_digits(char digits[PLACE_LEN], uint64_t number, unsigned base)
{
    for (size_t i = PLACE_LEN; i-- > 0; number /= base)
        digits[i] = "0123456789abcdef"[number % base];
}

size_t event_put(enum ws_load_kind kind, uint64_t number, unsigned chat, uint64_t seq, char *out)
{
    const struct template *template = &templates[kind];
    char digits[3][PLACE_LEN];
    put_digits(digits[0], number, 16);
    put_digits(digits[1], chat, 16);
    put_digits(digits[2], seq, 10);
    memcpy(out, template->bytes, template->len);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < template->place_counts[i]; j++)
            memcpy(out + template->places[i][j], digits[i], PLACE_LEN);
    return template->len;
}

uint64_t event_acknowledged(const char *bytes, size_t len)
{
    const char *mark = memmem(bytes, len, ACK_MARK, sizeof ACK_MARK - 1);
    char digits[PLACE_LEN + 1];
    if (mark == NULL || (size_t)(bytes + len - mark) < sizeof ACK_MARK - 1 + PLACE_LEN)
        return 0;
    memcpy(digits, mark + sizeof ACK_MARK - 1, PLACE_LEN);
    digits[PLACE_LEN] = '\0';
    return strtoull(digits, NULL, 16);
}

size_t event_put_pong(char *out)
{
    struct fake_frame frame = {.service = 33554678};
    struct sma_buf bytes;
    fake_frame_add(&frame, "type", SMA_STR("pong"));
    sma_buf_init(&bytes, 256);
    fake_frame_encode(&frame, &bytes);
    size_t head = put_head(out, bytes.len, 0x82), len = bytes.len;
    memcpy(out + head, bytes.ptr, len);
    sma_buf_fini(&bytes);
    return head + len;
}

size_t event_put_text(const char *text, char *out, size_t out_max)
{
    size_t len = strlen(text);
    if (len + 4 > out_max)
        abort();
    size_t head = put_head(out, len, 0x81);
    memcpy(out + head, text, len);
    return head + len;
}
