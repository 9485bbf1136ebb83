/* traffic.c — see traffic.h. */
#include "traffic.h"

#include "sma/text.h"

#include <stdio.h>

/* Everything or nothing: half a member would be no JSON. One place is kept for the closing
 * brace. */
static bool put(char *room, size_t *len, size_t at, const char *bytes, size_t count)
{
    if (at + count + 2 > SMA_TRAFFIC_BYTES_MAX)
        return false;
    memcpy(room + at, bytes, count);
    *len = at + count;
    return true;
}

/* A value that needs no escaping, and its plain form. */
static void put_member(struct sma_traffic *line, const char *key, const char *json, size_t json_len,
                       struct sma_str plain)
{
    char head[64];
    int count = snprintf(head, sizeof head, "%s\"%s\":", line->len > 1 ? "," : "", key);
    SMA_ASSERT(count > 0 && (size_t)count < sizeof head);
    size_t len = line->len;
    if (!put(line->json, &len, len, head, (size_t)count) ||
        !put(line->json, &len, len, json, json_len)) {
        line->is_cut = true;
        return;
    }
    line->len = len;
    count = snprintf(head, sizeof head, ", %s ", key);
    size_t text_len = line->text_len;
    if (put(line->text, &text_len, text_len, head, (size_t)count) &&
        put(line->text, &text_len, text_len, plain.ptr, plain.len))
        line->text_len = text_len;
}

/* Source: RFC 8259, 7. Control characters become blanks: no id of ours has any. */
static size_t escape(char *out, struct sma_str value)
{
    size_t len = 0;
    out[len++] = '"';
    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char)value.ptr[i];
        if (byte == '"' || byte == '\\')
            out[len++] = '\\';
        out[len++] = (char)(byte < 0x20 || byte == 0x7f ? ' ' : byte);
    }
    out[len++] = '"';
    return len;
}

void sma_traffic_str(struct sma_traffic *line, const char *key, struct sma_str value)
{
    char json[2 * SMA_TRAFFIC_VALUE_BYTES_MAX + 2];
    value.len = sma_utf8_cut(value, SMA_TRAFFIC_VALUE_BYTES_MAX);
    if (value.len == 0)
        return;
    if (!sma_utf8_is_valid(value))
        value = SMA_STR("?");
    size_t len = escape(json, value);
    put_member(line, key, json, len, (struct sma_str){json + 1, len - 2});
}

void sma_traffic_u64(struct sma_traffic *line, const char *key, uint64_t value)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    put_member(line, key, digits, (size_t)len, (struct sma_str){digits, (size_t)len});
}

void sma_traffic_bool(struct sma_traffic *line, const char *key, bool value)
{
    const char *word = value ? "true" : "false";
    put_member(line, key, word, strlen(word), sma_str(value ? "yes" : "no"));
}

void sma_traffic_ms(struct sma_traffic *line, const char *key, uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns != 0 && to_ns >= from_ns)
        sma_traffic_u64(line, key, (to_ns - from_ns) / 1000000);
}

bool sma_traffic_begin(struct sma_traffic *line, struct sma_ctx *ctx, enum sma_log_level level,
                       const char *event, uint64_t seq, struct sma_str chat_key)
{
    if (!sma_ctx_may_log_traffic(ctx, level))
        return false;
    line->ctx = ctx;
    line->level = level;
    line->is_cut = false;
    line->json[0] = '{';
    line->len = 1;
    line->text_len = 0;
    char run[24];
    snprintf(run, sizeof run, "%llu", (unsigned long long)seq);
    sma_traffic_str(line, "event", sma_str(event));
    sma_traffic_str(line, "chatKey", chat_key);
    if (seq != 0)
        sma_traffic_str(line, "runId", sma_str(run));
    line->text_len = (size_t)snprintf(line->text, sizeof line->text, "%s", event);
    for (size_t i = 0; i < line->text_len; i++)
        line->text[i] = line->text[i] == '_' ? ' ' : line->text[i];
    if (seq != 0)
        line->text_len += (size_t)snprintf(line->text + line->text_len, 32, " #%s", run);
    size_t text_len = line->text_len;
    chat_key.len = sma_utf8_cut(chat_key, SMA_TRAFFIC_VALUE_BYTES_MAX);
    if (chat_key.len > 0 && put(line->text, &text_len, text_len, " ", 1) &&
        put(line->text, &text_len, text_len, chat_key.ptr, chat_key.len))
        line->text_len = text_len;
    return true;
}

void sma_traffic_end(struct sma_traffic *line)
{
    line->json[line->len++] = '}';
    sma_ctx_log_traffic(line->ctx, line->level, (struct sma_str){line->text, line->text_len},
                        (struct sma_str){line->json, line->len});
}
