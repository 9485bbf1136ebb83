/* result.c — see result.h. */
#include "result.h"

#include "catalogue.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdlib.h>

#define CUT_TEXT "\n[cut here: the result is longer]"
#define TEXT_BYTES_MAX (SMA_TOOL_RESULT_BYTES_MAX - 200)
#define PART_COUNT_MAX 1000

struct rendering
{
    struct sma_buf *buf;
    size_t begin;
    sma_mcp_picture_fn *picture;
    void *user;
    unsigned pictures;
    bool is_cut, has_any;
};

static void put(struct rendering *rendering, struct sma_str text)
{
    size_t used = rendering->buf->len - rendering->begin;
    size_t room = used < TEXT_BYTES_MAX ? TEXT_BYTES_MAX - used : 0;
    rendering->is_cut = rendering->is_cut || text.len > room;
    sma_mcp_put_clean(rendering->buf, text, room);
}

static void begin_part(struct rendering *rendering)
{
    if (rendering->has_any)
        put(rendering, SMA_STR("\n"));
    rendering->has_any = true;
}

/* A type is one word; more than that would be words of the server outside of what it said. */
static bool is_type(struct sma_str mime)
{
    for (size_t i = 0; i < mime.len; i++)
        if ((unsigned char)mime.ptr[i] <= ' ' || mime.ptr[i] == ']')
            return false;
    return mime.len > 0 && mime.len <= 100;
}

static void put_named(struct rendering *rendering, const char *what, struct sma_str mime)
{
    put(rendering, SMA_STR("["));
    put(rendering, sma_str(what));
    put(rendering, SMA_STR(": "));
    put(rendering, is_type(mime) ? mime : SMA_STR("unknown"));
    put(rendering, SMA_STR("]"));
}

static void put_picture(struct rendering *rendering, struct sma_str mime, struct sma_str base64)
{
    put_named(rendering, "Image", mime);
    if (base64.len > 0 && rendering->picture != NULL &&
        rendering->pictures++ < SMA_MCP_PICTURE_COUNT_MAX)
        rendering->picture(rendering->user, mime, base64);
}

/* What a resource holds: its text, or its kind when it is none. */
static void put_resource(struct rendering *rendering, const json_t *resource, bool is_read)
{
    struct sma_str mime = sma_json_str(resource, "mimeType"), text = sma_json_str(resource, "text");
    bool is_picture = sma_str_starts_with(mime, SMA_STR("image/"));
    begin_part(rendering);
    if (is_picture && sma_json_str(resource, "blob").len > 0) {
        put_picture(rendering, mime, sma_json_str(resource, "blob"));
        return;
    }
    if (!is_read || text.len == 0)
        put_named(rendering, "Resource", mime);
    if (!is_read && text.len > 0)
        put(rendering, SMA_STR("\n"));
    put(rendering, text);
}

static void put_link(struct rendering *rendering, const json_t *item)
{
    begin_part(rendering);
    put_named(rendering, "Resource", sma_json_str(item, "mimeType"));
    put(rendering, SMA_STR(" "));
    put(rendering, sma_json_str(item, "uri"));
}

static void put_item(struct rendering *rendering, const json_t *item)
{
    struct sma_str type = sma_json_str(item, "type");
    if (sma_str_is_equal(type, SMA_STR("text"))) {
        begin_part(rendering);
        put(rendering, sma_json_str(item, "text"));
    } else if (sma_str_is_equal(type, SMA_STR("image"))) {
        begin_part(rendering);
        put_picture(rendering, sma_json_str(item, "mimeType"), sma_json_str(item, "data"));
    } else if (sma_str_is_equal(type, SMA_STR("audio"))) {
        begin_part(rendering);
        put_named(rendering, "Audio", sma_json_str(item, "mimeType"));
    } else if (sma_str_is_equal(type, SMA_STR("resource"))) {
        put_resource(rendering, sma_json_get(item, "resource"), false);
    } else if (sma_str_is_equal(type, SMA_STR("resource_link"))) {
        put_link(rendering, item);
    } else {
        begin_part(rendering);
        put_named(rendering, "Content", type);
    }
}

static void put_message(struct rendering *rendering, const json_t *message)
{
    if (sma_str_is_equal(sma_json_str(message, "role"), SMA_STR("assistant"))) {
        begin_part(rendering);
        put(rendering, SMA_STR("assistant:"));
    }
    put_item(rendering, sma_json_get(message, "content"));
}

void sma_mcp_put_result(struct sma_buf *buf, enum sma_mcp_call_kind kind, const json_t *result,
                        sma_mcp_picture_fn *picture, void *user)
{
    static const char *const members[] = {
        [SMA_MCP_TOOL] = "content", [SMA_MCP_RESOURCE] = "contents", [SMA_MCP_PROMPT] = "messages"};
    struct rendering rendering = {.buf = buf, .begin = buf->len, .picture = picture, .user = user};
    const json_t *items = sma_json_get(result, members[kind]);
    for (size_t i = 0; i < json_array_size(items) && i < PART_COUNT_MAX; i++) {
        const json_t *item = json_array_get(items, i);
        if (kind == SMA_MCP_TOOL)
            put_item(&rendering, item);
        else if (kind == SMA_MCP_RESOURCE)
            put_resource(&rendering, item, true);
        else
            put_message(&rendering, item);
    }
    const json_t *structured = sma_json_get(result, "structuredContent");
    if (!rendering.has_any && structured != NULL) { /* elsewhere the text says the same */
        SMA_AUTO(sma_freep) char *text = json_dumps(structured, JSON_COMPACT | JSON_ENCODE_ANY);
        put(&rendering, sma_str(text));
    }
    if (rendering.is_cut || json_array_size(items) > PART_COUNT_MAX)
        sma_buf_put_text(buf, CUT_TEXT);
}

static int value_of(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return byte - 'A';
    if (byte >= 'a' && byte <= 'z')
        return byte - 'a' + 26;
    if (byte >= '0' && byte <= '9')
        return byte - '0' + 52;
    return byte == '+' || byte == '-' ? 62 : byte == '/' || byte == '_' ? 63 : -1;
}

bool sma_mcp_put_decoded(struct sma_buf *buf, struct sma_str base64)
{
    uint32_t bits = 0;
    unsigned count = 0;
    size_t at = 0;
    char *to = sma_buf_reserve(buf, base64.len / 4 * 3 + 3);
    if (to == NULL)
        return false;
    for (; at < base64.len && base64.ptr[at] != '='; at++) {
        char byte = base64.ptr[at];
        if (byte == '\n' || byte == '\r' || byte == ' ')
            continue;
        int value = value_of(byte);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            *to++ = (char)(bits >> count & 0xFF);
        }
    }
    for (; at < base64.len; at++)
        if (strchr("= \r\n", base64.ptr[at]) == NULL || base64.ptr[at] == '\0')
            return false;
    buf->len = (size_t)(to - buf->ptr);
    *to = '\0';
    return true;
}
