/* transcript.c — see transcript.h. */
#include "runtime/agent/transcript.h"

#include "sma/text.h"

#include <jansson.h>

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

void sma_transcript_put_cut(struct sma_buf *buf, struct sma_str text, size_t bytes_max)
{
    if (text.len <= bytes_max) {
        sma_buf_put_str(buf, text);
        return;
    }
    size_t head = sma_utf8_cut(text, bytes_max / 10 * 7), tail = text.len - bytes_max / 10 * 3;
    while (tail < text.len && is_continuation(text.ptr[tail]))
        tail++;
    sma_buf_put(buf, text.ptr, head);
    sma_buf_put_text(buf, " [... ");
    sma_buf_put_u64(buf, tail - head);
    sma_buf_put_text(buf, " bytes ...] ");
    sma_buf_put(buf, text.ptr + tail, text.len - tail);
}

static void put_said(struct sma_buf *buf, const char *who, struct sma_str text)
{
    text = sma_str_trim(text);
    if (text.len == 0)
        return;
    sma_buf_put_text(buf, who);
    sma_buf_put_str(buf, text);
    sma_buf_put_char(buf, '\n');
}

static void put_call(struct sma_buf *buf, struct sma_str name, struct sma_str arguments)
{
    sma_buf_put_text(buf, "[call ");
    sma_buf_put_str(buf, name);
    sma_buf_put_text(buf, "] ");
    sma_transcript_put_cut(buf, arguments, SMA_TRANSCRIPT_RESULT_BYTES);
    sma_buf_put_char(buf, '\n');
}

static void put_result(struct sma_buf *buf, struct sma_str content)
{
    sma_buf_put_text(buf, "[result] ");
    sma_transcript_put_cut(buf, sma_str_trim(content), SMA_TRANSCRIPT_RESULT_BYTES);
    sma_buf_put_char(buf, '\n');
}

/* -- fragments of a wire ----------------------------------------------------------------------- */
static struct sma_str text_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

static bool is_type(const json_t *object, const char *wanted)
{
    return sma_str_is_equal(text_of(object, "type"), sma_str(wanted));
}

/* Pictures and files: that there was one. */
static void put_other(struct sma_buf *buf, const json_t *part)
{
    static const char *const types[] = {"image",      "image_url", "input_image", "file",
                                        "input_file", "document",  "input_audio"};
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++) {
        if (!is_type(part, types[i]))
            continue;
        sma_buf_put_text(buf, "[attached ");
        sma_buf_put_text(buf, types[i]);
        sma_buf_put_text(buf, "]\n");
    }
}

static void put_json_call(struct sma_buf *buf, struct sma_str name, const json_t *arguments)
{
    char *text = json_dumps(arguments, JSON_COMPACT | JSON_ENCODE_ANY);
    put_call(buf, name, text == NULL ? SMA_STR("{}") : sma_str(text));
    free(text);
}

/* One part of a list. */
static void put_part(struct sma_buf *buf, const char *who, const json_t *part)
{
    if (is_type(part, "tool_use"))
        put_json_call(buf, text_of(part, "name"), json_object_get(part, "input"));
    else if (is_type(part, "text") || is_type(part, "input_text") || is_type(part, "output_text"))
        put_said(buf, who, text_of(part, "text"));
    else
        put_other(buf, part);
}

/* A result's content: a text, or a list of parts one level down. */
static void put_result_content(struct sma_buf *buf, const json_t *content)
{
    size_t i;
    json_t *part;
    if (json_is_string(content))
        put_result(buf, (struct sma_str){json_string_value(content), json_string_length(content)});
    json_array_foreach(content, i, part)
    {
        if (is_type(part, "text") || is_type(part, "input_text"))
            put_result(buf, text_of(part, "text"));
        else
            put_other(buf, part);
    }
}

static void put_content(struct sma_buf *buf, const char *who, const json_t *content)
{
    size_t i;
    json_t *part;
    if (json_is_string(content))
        put_said(buf, who,
                 (struct sma_str){json_string_value(content), json_string_length(content)});
    json_array_foreach(content, i, part)
    {
        if (is_type(part, "tool_result"))
            put_result_content(buf, json_object_get(part, "content"));
        else
            put_part(buf, who, part);
    }
}

static void put_message(struct sma_buf *buf, const json_t *message)
{
    size_t i;
    json_t *call;
    bool is_user = sma_str_is_equal(text_of(message, "role"), SMA_STR("user"));
    if (is_type(message, "function_call")) {
        put_call(buf, text_of(message, "name"), text_of(message, "arguments"));
    } else if (is_type(message, "function_call_output")) {
        put_result_content(buf, json_object_get(message, "output"));
    } else if (sma_str_is_equal(text_of(message, "role"), SMA_STR("tool"))) {
        put_result_content(buf, json_object_get(message, "content"));
    } else {
        put_content(buf, is_user ? "[user] " : "[assistant] ", json_object_get(message, "content"));
        json_array_foreach(json_object_get(message, "tool_calls"), i, call)
        {
            const json_t *function = json_object_get(call, "function");
            put_call(buf, text_of(function, "name"), text_of(function, "arguments"));
        }
    }
}

static void put_fragment(struct sma_buf *buf, struct sma_str fragment)
{
    struct sma_buf list;
    size_t i;
    json_t *message;
    sma_buf_init(&list, fragment.len + 2);
    sma_buf_put_char(&list, '[');
    sma_buf_put_str(&list, fragment);
    sma_buf_put_char(&list, ']');
    json_t *root =
        list.err == SMA_ERR_OK ? json_loadb(list.ptr, list.len, JSON_ALLOW_NUL, NULL) : NULL;
    json_array_foreach(root, i, message)
    {
        put_message(buf, message);
    }
    json_decref(root);
    sma_buf_fini(&list);
}

/* -- turns and rounds -------------------------------------------------------------------------- */
void sma_transcript_put_turn(struct sma_buf *buf, const struct sma_stored_turn *turn)
{
    for (uint32_t i = 0; i < turn->block_count; i++)
        put_said(buf, i == 0 ? "\n[user] " : "", turn->blocks[i]);
    size_t before = buf->len;
    for (uint32_t i = turn->block_count > 0; i < turn->fragment_count; i++)
        put_fragment(buf, turn->fragments[i]);
    if (buf->len == before) /* there are none, or none that can be read */
        put_said(buf, "[assistant] ", turn->text);
}

void sma_transcript_put_round(struct sma_buf *buf, const struct sma_stored_answer *answer,
                              const struct sma_stored_results *results)
{
    sma_buf_put_text(buf, "[step]\n");
    put_said(buf, "[assistant] ", answer->text);
    for (uint32_t i = 0; i < answer->call_count; i++) {
        put_call(buf, answer->calls[i].name, answer->calls[i].arguments);
        if (i < results->count)
            put_result(buf, results->results[i].content);
    }
    put_said(buf, "[program] ", answer->line);
}
