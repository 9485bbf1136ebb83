/* result.c — see result.h. */
#include "result.h"

#include "catalogue.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define CUT_TEXT "\n[cut here: the result is longer]"
#define TEXT_BYTES_MAX (SMA_TOOL_RESULT_BYTES_MAX - 200)
#define PART_COUNT_MAX 1000
#define DATA_BYTES_MIN 4096 /* a word as long as that is no word */

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

/* Base64, by its letters: what is as long, of one case or without digits, may mean something. */
static size_t data_length(struct sma_str text)
{
    size_t len = 0;
    bool has_upper = false, has_lower = false, has_digit = false;
    for (; len < text.len; len++) {
        char byte = text.ptr[len];
        bool is_upper = byte >= 'A' && byte <= 'Z', is_lower = byte >= 'a' && byte <= 'z';
        bool is_digit = byte >= '0' && byte <= '9';
        if (!is_upper && !is_lower && !is_digit && strchr("+/=-_", byte) == NULL)
            break;
        has_upper |= is_upper;
        has_lower |= is_lower;
        has_digit |= is_digit;
    }
    return len >= DATA_BYTES_MIN && has_upper && has_lower && has_digit ? len : 0;
}

/* What has no form of its own: as JSON, without the bytes of files that stand in it. */
static void put_json(struct rendering *rendering, const json_t *value)
{
    SMA_AUTO(sma_freep) char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    struct sma_str left = text == NULL ? SMA_STR("[no memory for the rest]") : sma_str(text);
    for (size_t at = 0; at < left.len;) {
        bool begins = at == 0 || strchr("\",", left.ptr[at - 1]) != NULL;
        size_t data = begins ? data_length((struct sma_str){left.ptr + at, left.len - at}) : 0;
        if (data == 0) {
            at++;
            continue;
        }
        char said[64];
        int len = snprintf(said, sizeof said, "[%zu letters of data]", data);
        put(rendering, (struct sma_str){left.ptr, at});
        put(rendering, (struct sma_str){said, (size_t)len});
        left = (struct sma_str){left.ptr + at + data, left.len - at - data};
        at = 0;
    }
    put(rendering, left);
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
    if (!is_read || text.len == 0) {
        put_named(rendering, "Resource", mime);
        put(rendering, is_read ? SMA_STR("") : SMA_STR(" "));
        put(rendering, is_read ? SMA_STR("") : sma_json_str(resource, "uri"));
    }
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
    static const char *const members[] = {"title", "name", "description"};
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        struct sma_str text = sma_json_str(item, members[i]);
        put(rendering, text.len > 0 ? SMA_STR(" — ") : SMA_STR(""));
        put(rendering, text);
    }
}

/* Words, wherever a server writes them: the text of a part, or the part itself. */
static bool put_words(struct rendering *rendering, struct sma_str type, const json_t *item)
{
    const json_t *text = json_is_object(item) ? sma_json_get(item, "text") : item;
    bool is_text = sma_str_is_equal(type, SMA_STR("text"));
    if (text == NULL || (type.len > 0 && !is_text))
        return false;
    begin_part(rendering);
    if (json_is_string(text))
        put(rendering, sma_json_str_of(text));
    else
        put_json(rendering, text);
    return true;
}

static void put_item(struct rendering *rendering, const json_t *item)
{
    struct sma_str type = sma_json_str(item, "type");
    const json_t *resource = sma_json_get(item, "resource");
    if (json_is_null(item) || put_words(rendering, type, item))
        return;
    if (sma_str_is_equal(type, SMA_STR("image"))) {
        begin_part(rendering);
        put_picture(rendering, sma_json_str(item, "mimeType"), sma_json_str(item, "data"));
    } else if (sma_str_is_equal(type, SMA_STR("audio"))) {
        begin_part(rendering);
        put_named(rendering, "Audio", sma_json_str(item, "mimeType"));
    } else if (sma_str_is_equal(type, SMA_STR("resource")) && json_is_object(resource)) {
        put_resource(rendering, resource, false);
    } else if (sma_str_is_equal(type, SMA_STR("resource_link"))) {
        put_link(rendering, item);
    } else {
        begin_part(rendering);
        put_named(rendering, "Content", type);
        put_json(rendering, item);
    }
}

static void put_message(struct rendering *rendering, const json_t *message)
{
    if (sma_str_is_equal(sma_json_str(message, "role"), SMA_STR("assistant"))) {
        begin_part(rendering);
        put(rendering, SMA_STR("assistant:"));
    }
    const json_t *content = sma_json_get(message, "content");
    for (size_t i = 0; i < json_array_size(content) && i < PART_COUNT_MAX; i++)
        put_item(rendering, json_array_get(content, i));
    if (content != NULL && !json_is_array(content))
        put_item(rendering, content);
}

/* A text part holds the same: servers repeat it for older clients. A summary is not the same. */
static bool is_said(const json_t *items, const json_t *structured)
{
    for (size_t i = 0; i < json_array_size(items) && i < PART_COUNT_MAX; i++) {
        struct sma_str text = sma_json_str(json_array_get(items, i), "text");
        SMA_AUTO(sma_json_freep)
        json_t *said = json_loads(text.len > 0 ? text.ptr : "", JSON_DECODE_ANY, NULL);
        if (said != NULL && json_equal((json_t *)(uintptr_t)structured, said))
            return true;
    }
    return false;
}

/* The parts are a list, as they should be, or what a server wrote in place of one. */
static void put_part(struct rendering *rendering, enum sma_mcp_call_kind kind, const json_t *item)
{
    if (kind == SMA_MCP_PROMPT && json_is_object(item))
        put_message(rendering, item);
    else if (kind == SMA_MCP_RESOURCE && json_is_object(item))
        put_resource(rendering, item, true);
    else
        put_item(rendering, item);
}

/* toolResult of 2024, and what else is in no version. */
static bool has_other_members(const json_t *result)
{
    static const char known[] = " content structuredContent isError _meta resultType ";
    char name[64];
    void *at = json_object_iter((json_t *)(uintptr_t)result);
    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)result, at)) {
        int len = snprintf(name, sizeof name, " %s ", json_object_iter_key(at));
        if (len >= (int)sizeof name || strstr(known, name) == NULL)
            return true;
    }
    return false;
}

void sma_mcp_put_result(struct sma_buf *buf, enum sma_mcp_call_kind kind, const json_t *result,
                        sma_mcp_picture_fn *picture, void *user)
{
    static const char *const members[] = {
        [SMA_MCP_TOOL] = "content", [SMA_MCP_RESOURCE] = "contents", [SMA_MCP_PROMPT] = "messages"};
    struct rendering rendering = {.buf = buf, .begin = buf->len, .picture = picture, .user = user};
    const json_t *items = json_is_object(result) ? sma_json_get(result, members[kind]) : result;
    for (size_t i = 0; i < json_array_size(items) && i < PART_COUNT_MAX; i++)
        put_part(&rendering, kind, json_array_get(items, i));
    if (items != NULL && !json_is_array(items))
        put_part(&rendering, kind, items);
    const json_t *structured = sma_json_get(result, "structuredContent");
    if (items == NULL && structured == NULL && kind == SMA_MCP_TOOL && has_other_members(result))
        structured = result;
    if (structured != NULL && !is_said(items, structured)) {
        begin_part(&rendering);
        put_json(&rendering, structured);
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
