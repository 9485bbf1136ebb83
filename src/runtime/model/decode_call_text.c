/*
 * decode_call_text.c — calls that a server did not take out of the text:
 * <tool_call>{"name":...,"arguments":...}</tool_call> as Qwen and Hermes write them, or the same in
 * a fence.
 *
 * A call is meant only where such blocks, each beginning a line, are all that follows to the end of
 * the text. In the middle of a text, in quotes, without name and arguments they are words; and so
 * is a block that stands in the request already: people, files or results have shown it to the
 * model, and it repeats it.
 */
#include "decode_priv.h"

#include "sma/text.h"

struct tag
{
    struct sma_str open, close;
};
/* Of a text full of tags only so many are looked into: each may be read to the end of the text. */
#define TRY_COUNT_MAX 32

static const struct tag tags[] = {
    {{"<tool_call>", 11}, {"</tool_call>", 12}},
    {{"```tool_call", 12}, {"\n```", 4}},
};

static struct sma_str rest_of(struct sma_str text, size_t at)
{
    return (struct sma_str){text.ptr + at, text.len - at};
}

static const struct tag *tag_at(struct sma_str text, size_t at)
{
    for (size_t i = 0; i < SMA_COUNT_OF(tags); i++)
        if (sma_str_starts_with(rest_of(text, at), tags[i].open))
            return &tags[i];
    return NULL;
}

/* The next beginning of a line at or behind `at` (but for blanks), or text.len. */
static size_t next_line(struct sma_str text, size_t at)
{
    if (at > 0) {
        const char *end = memchr(text.ptr + at - 1, '\n', text.len - at + 1);
        if (end == NULL)
            return text.len;
        at = (size_t)(end - text.ptr) + 1;
    }
    while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t'))
        at++;
    return at;
}

static size_t skip_space(struct sma_str text, size_t at)
{
    while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t' || text.ptr[at] == '\n' ||
                             text.ptr[at] == '\r'))
        at++;
    return at;
}

static struct sma_str trim_end(struct sma_str text)
{
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]) != NULL &&
           text.ptr[text.len - 1] != '\0')
        text.len--;
    return text;
}

/* The call in one block, or NULL. */
static json_t *read_call(struct sma_str inner)
{
    struct sma_buf fixed;
    sma_buf_init(&fixed, 6 * (inner.len + 64));
    json_t *call = sma_arguments_repair(inner, &fixed) ? sma_json_parse(sma_buf_str(&fixed)) : NULL;
    sma_buf_fini(&fixed);
    const json_t *arguments = json_object_get(call, "arguments");
    if (arguments == NULL)
        arguments = json_object_get(call, "parameters");
    if (sma_json_get_str(call, "name").len > 0 &&
        (json_is_object(arguments) || json_is_string(arguments)))
        return call;
    json_decref(call);
    return NULL;
}

/* Reads the block at `at`; returns where it ends, or 0 when it is none. */
static size_t read_block(struct sma_str text, size_t at, json_t **ret_call)
{
    const struct tag *tag = tag_at(text, at);
    if (tag == NULL)
        return 0;
    size_t start = at + tag->open.len;
    const char *close = memmem(text.ptr + start, text.len - start, tag->close.ptr, tag->close.len);
    size_t end = close == NULL ? text.len : (size_t)(close - text.ptr);
    *ret_call = read_call((struct sma_str){text.ptr + start, end - start});
    if (*ret_call == NULL)
        return 0;
    return close == NULL ? text.len : end + tag->close.len;
}

/* Are there only blocks from here to the end? *ret_stop is where that ends otherwise. */
static bool is_all_blocks(struct sma_str text, size_t at, size_t *ret_stop)
{
    size_t count = 0;
    while (at < text.len) {
        json_t *call = NULL;
        size_t end = read_block(text, at, &call);
        json_decref(call);
        if (end == 0 || ++count > SMA_DECODE_CALL_COUNT_MAX) {
            *ret_stop = at;
            return false;
        }
        at = skip_space(text, end);
    }
    return true;
}

/* -- quoted ------------------------------------------------------------------------------------ */
/* The next byte that counts, of a JSON string: white space and what is written as an escape of it
 * does not. 0 = the end. */
static char next_of_json(struct sma_str json, size_t *at)
{
    while (*at < json.len) {
        char c = json.ptr[(*at)++];
        if (c == '\\' && *at < json.len) {
            c = json.ptr[(*at)++];
            if (strchr("nrt", c) != NULL)
                continue;
        }
        if (strchr(" \t\r\n", c) == NULL)
            return c;
    }
    return '\0';
}

static bool is_block_at(struct sma_str json, size_t at, struct sma_str block)
{
    for (size_t i = 0; i < block.len; i++) {
        if (block.ptr[i] == '\0' || strchr(" \t\r\n", block.ptr[i]) != NULL)
            continue;
        if (next_of_json(json, &at) != block.ptr[i])
            return false;
    }
    return true;
}

/* Of a request full of tags only so many are compared. */
#define QUOTE_COUNT_MAX 1024

static bool is_quoted(struct sma_str request, struct sma_str block)
{
    const struct tag *tag = tag_at(block, 0);
    size_t at = 0;
    for (size_t count = 0; tag != NULL && at < request.len && count < QUOTE_COUNT_MAX; count++) {
        const char *found =
            memmem(request.ptr + at, request.len - at, tag->open.ptr, tag->open.len);
        if (found == NULL)
            return false;
        at = (size_t)(found - request.ptr);
        if (is_block_at(request, at, block))
            return true;
        at += tag->open.len;
    }
    return at < request.len && tag != NULL; /* too many to tell */
}

/* Is one of the blocks from here to the end a quotation? */
static bool is_any_quoted(struct sma_str request, struct sma_str text, size_t at)
{
    while (at < text.len) {
        json_t *call = NULL;
        size_t end = read_block(text, at, &call);
        json_decref(call);
        if (end == 0 || is_quoted(request, trim_end((struct sma_str){text.ptr + at, end - at})))
            return end != 0;
        at = skip_space(text, end);
    }
    return false;
}

static void add_calls(struct sma_decoder *decoder, struct sma_str text, size_t at)
{
    while (at < text.len && decoder->status == SMA_DECODED_OK) {
        json_t *call = NULL;
        at = skip_space(text, read_block(text, at, &call));
        struct sma_answer_part *part = sma_decode_add_part(decoder, SMA_ANSWER_PART_CALL);
        if (part != NULL) {
            const json_t *arguments = json_object_get(call, "arguments");
            sma_decode_set_name(decoder, part, sma_json_get_str(call, "name"));
            sma_decode_add_arguments_value(
                decoder, part, arguments != NULL ? arguments : json_object_get(call, "parameters"));
        }
        json_decref(call);
    }
}

struct sma_str sma_decode_take_call_text(struct sma_decoder *decoder, struct sma_str text)
{
    size_t stop = 0, try_count = 0;
    for (size_t at = next_line(text, 0); at < text.len && try_count < TRY_COUNT_MAX;
         at = next_line(text, at + 1)) {
        if (at < stop || tag_at(text, at) == NULL)
            continue;
        try_count++;
        stop = at;
        if (!is_all_blocks(text, at, &stop))
            continue; /* every block up to the one that is none would meet the same one */
        if (is_any_quoted(decoder->request, text, at))
            return text;
        struct sma_str before = trim_end((struct sma_str){text.ptr, at});
        add_calls(decoder, text, at);
        return before;
    }
    return text;
}

struct sma_str sma_decode_before_call_text(struct sma_str text)
{
    for (size_t at = next_line(text, 0); at < text.len; at = next_line(text, at + 1)) {
        struct sma_str rest = rest_of(text, at);
        for (size_t i = 0; i < SMA_COUNT_OF(tags); i++) {
            struct sma_str open = tags[i].open;
            size_t inner = at + open.len;
            bool is_begun = rest.len < open.len && memcmp(open.ptr, rest.ptr, rest.len) == 0;
            if (sma_str_starts_with(rest, open)) {
                inner = skip_space(text, inner);
                is_begun = inner == text.len || text.ptr[inner] == '{';
            }
            if (is_begun)
                return trim_end((struct sma_str){text.ptr, at});
        }
    }
    return text;
}
