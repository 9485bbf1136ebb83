/*
 * openai_parts.c — the content of a message: a string, or a list of parts of either API.
 *
 * Pictures, files and sounds come as bytes (data: URLs, base64). Addresses are not fetched: whoever
 * may talk to the agent would make this machine ask any address it can reach.
 * And what an answer holds: the agent may have said it with its tool chat_send, before its last
 * word.
 */
#include "openai.h"

#include "runtime/json/json_read.h"

#include <stdio.h>

static struct sma_str string_in(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

static bool is_type(const json_t *part, const char *type)
{
    return sma_str_is_equal(string_in(part, "type"), sma_str(type));
}

/* -- what is attached -------------------------------------------------------------------------- */
/* data: {"data","name"} as attachments.c takes them; the bytes stay where they are. */
static SMA_CHECKED enum sma_err attach(json_t *files, const json_t *data, const char *name,
                                       struct sma_error *error)
{
    json_t *item = json_object();
    if (json_object_set(item, "data", (json_t *)(uintptr_t)data) != 0 ||
        json_object_set_new(item, "name", json_string(name)) != 0) {
        json_decref(item);
        return sma_fail(error, SMA_ERR_NOMEM, "Out of memory: send it again");
    }
    if (json_array_append_new(files, item) != 0)
        return sma_fail(error, SMA_ERR_NOMEM, "Out of memory: send it again");
    return SMA_ERR_OK;
}

/* "data:image/png;base64,..." -> "png" */
static struct sma_str subtype_of(struct sma_str url)
{
    const char *slash = memchr(url.ptr, '/', url.len < 64 ? url.len : 64);
    if (slash == NULL)
        return SMA_STR("bin");
    size_t len = 0, left = url.len - (size_t)(slash + 1 - url.ptr);
    while (len < left && len < 16 && slash[1 + len] >= '0' && slash[1 + len] <= 'z')
        len++;
    return (struct sma_str){
        slash + 1, (size_t)(strcspn(slash + 1, ";,+") < len ? strcspn(slash + 1, ";,+") : len)};
}

static SMA_CHECKED enum sma_err take_image(const json_t *part, json_t *files,
                                           struct sma_error *error)
{
    const json_t *url = json_object_get(part, "image_url");
    if (json_is_object(url))
        url = json_object_get(url, "url");
    struct sma_str text = {json_string_value(url), json_string_length(url)};
    if (!sma_str_starts_with(text, SMA_STR("data:")))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "Pictures are taken as data: URLs (data:image/png;base64,...): this "
                        "service fetches no addresses and knows no file ids");
    char name[64];
    struct sma_str subtype = subtype_of(text);
    snprintf(name, sizeof name, "picture-%zu.%.*s", json_array_size(files) + 1, (int)subtype.len,
             subtype.ptr);
    return attach(files, url, name, error);
}

/* Of chat completions {"file":{...}}, of responses the members themselves. */
static SMA_CHECKED enum sma_err take_file(const json_t *part, json_t *files,
                                          struct sma_error *error)
{
    const json_t *file = json_object_get(part, "file");
    file = file == NULL ? part : file;
    const json_t *data = json_object_get(file, "file_data");
    struct sma_str given = string_in(file, "filename");
    char name[SMA_GIVEN_NAME_BYTES_MAX + 1];
    if (!json_is_string(data))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "Files are taken as file_data (base64, or a data: URL): this service "
                        "fetches no addresses and knows no file ids");
    if (given.len == 0)
        snprintf(name, sizeof name, "file-%zu", json_array_size(files) + 1);
    else
        snprintf(name, sizeof name, "%.*s", (int)sma_utf8_cut(given, SMA_GIVEN_NAME_BYTES_MAX),
                 given.ptr);
    return attach(files, data, name, error);
}

static SMA_CHECKED enum sma_err take_audio(const json_t *part, json_t *files,
                                           struct sma_error *error)
{
    const json_t *audio = json_object_get(part, "input_audio");
    const json_t *data = json_object_get(audio, "data");
    bool is_mp3 = sma_str_is_equal(string_in(audio, "format"), SMA_STR("mp3"));
    char name[64];
    if (!json_is_string(data))
        return sma_fail(error, SMA_ERR_BADINPUT, "input_audio needs data, as base64");
    snprintf(name, sizeof name, "audio-%zu.%s", json_array_size(files) + 1, is_mp3 ? "mp3" : "wav");
    return attach(files, data, name, error);
}

/* -- content ----------------------------------------------------------------------------------- */
static void put_paragraph(struct sma_buf *text, struct sma_str words, size_t from)
{
    if (words.len == 0)
        return;
    if (text->len > from)
        sma_buf_put_text(text, "\n");
    sma_buf_put_str(text, words);
}

typedef enum sma_err take_fn(const json_t *part, json_t *files, struct sma_error *error);

static SMA_CHECKED enum sma_err take_part(const json_t *part, struct sma_buf *text, size_t from,
                                          json_t *files, struct sma_error *error)
{
    static const struct
    {
        const char *type, *mark;
        take_fn *take;
    } kinds[] = {{"image_url", "[picture]", take_image},
                 {"input_image", "[picture]", take_image},
                 {"file", "[file]", take_file},
                 {"input_file", "[file]", take_file},
                 {"input_audio", "[sound]", take_audio}};
    if (is_type(part, "text") || is_type(part, "input_text") || is_type(part, "output_text")) {
        put_paragraph(text, string_in(part, "text"), from);
        return SMA_ERR_OK;
    }
    if (is_type(part, "refusal")) {
        put_paragraph(text, string_in(part, "refusal"), from);
        return SMA_ERR_OK;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        if (!is_type(part, kinds[i].type))
            continue;
        if (files != NULL)
            return kinds[i].take(part, files, error);
        put_paragraph(text, sma_str(kinds[i].mark), from);
        return SMA_ERR_OK;
    }
    struct sma_str type = string_in(part, "type");
    return sma_fail(error, SMA_ERR_BADINPUT,
                    "A part of a message has the type \"%.*s\"; taken are "
                    "text, pictures, files and sounds",
                    (int)sma_utf8_cut(type, 60), type.len == 0 ? "" : type.ptr);
}

enum sma_err http_openai_content(const void *content, struct sma_buf *text, void *files,
                                 struct sma_error *error)
{
    const json_t *value = content;
    size_t from = text->len;
    if (value == NULL || json_is_null(value))
        return SMA_ERR_OK;
    if (json_is_string(value)) {
        sma_buf_put(text, json_string_value(value), json_string_length(value));
        return SMA_ERR_OK;
    }
    if (!json_is_array(value))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "The content of a message must be a string or a list of parts");
    for (size_t i = 0; i < json_array_size(value); i++)
        SMA_TRY(take_part(json_array_get(value, i), text, from, files, error));
    return SMA_ERR_OK;
}

/* -- answers ---------------------------------------------------------------------------------- */
/* What this call has sent to the chat; empty: nothing. */
static struct sma_str sent_by(const json_t *call)
{
    struct sma_str output = string_in(call, "output"), none = SMA_STR("");
    struct sma_str tool = string_in(call, "tool");
    bool is_send = sma_str_is_equal(tool, SMA_STR("chat_send")) ||
                   sma_str_is_equal(tool, SMA_STR("send_message"));
    bool is_sent = is_send && output.len > 0 &&
                   memmem(output.ptr, output.len, "\"success\":true", 14) != NULL &&
                   memmem(output.ptr, output.len, "\"sentTo\":", 9) == NULL;
    return is_sent ? sma_str_trim(string_in(json_object_get(call, "input"), "text")) : none;
}

void http_openai_put_answer(struct sma_buf *text, const struct sma_result *result)
{
    struct sma_str calls = result->tool_calls_json, output = result->output;
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    bool has_sent = calls.len > 0 && (memmem(calls.ptr, calls.len, "\"chat_send\"", 11) != NULL ||
                                      memmem(calls.ptr, calls.len, "\"send_message\"", 14) != NULL);
    if (has_sent && sma_json_load(calls, &root) != SMA_ERR_OK)
        root = NULL; /* no memory: the last word alone */
    for (size_t i = 0; i < json_array_size(root); i++) {
        struct sma_str sent = sent_by(json_array_get(root, i));
        bool is_said =
            sent.len == 0 ||
            (output.len >= sent.len && memmem(output.ptr, output.len, sent.ptr, sent.len) != NULL);
        if (is_said)
            continue;
        sma_buf_put_text(text, text->len > 0 ? "\n\n" : "");
        sma_buf_put_str(text, sent);
    }
    sma_buf_put_text(text, text->len > 0 && output.len > 0 ? "\n\n" : "");
    sma_buf_put_str(text, output);
}
