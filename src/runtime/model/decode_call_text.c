/*
 * decode_call_text.c — calls that a server left in the text, in the model's own notation.
 *
 * decode_marks.h tells where such calls may begin, decode_call_read.h reads what follows. Where a
 * mark may stand the call is meant, and words behind it, which the model wrote before it knew the
 * result, are dropped; in the middle of a sentence only where nothing but calls of offered tools
 * follows. A block that stands in the request already is quoted: people, files or results have
 * shown it to the model, and it repeats it. What begins like a call and cannot be read is a call
 * that failed: nobody is shown it.
 */
#include "decode_call_read.h"

#include "sma/text.h"

/* Of a text full of marks only so many are looked into: each may be read to the end of the text. */
#define TRY_COUNT_MAX 32

static void add_parts(struct sma_decoder *decoder, const json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls) && decoder->status == SMA_DECODED_OK; i++) {
        const json_t *call = json_array_get(calls, i);
        struct sma_answer_part *part = sma_decode_add_part(decoder, SMA_ANSWER_PART_CALL);
        if (part == NULL)
            return;
        sma_decode_set_name(decoder, part, sma_json_str(call, "name"));
        sma_decode_add_arguments_value(decoder, part, json_object_get(call, "arguments"));
    }
}

/* What began like a call and is none: the model is told, people are not shown it. */
static void add_unreadable(struct sma_decoder *decoder)
{
    struct sma_answer_part *part = sma_decode_add_part(decoder, SMA_ANSWER_PART_CALL);
    if (part == NULL)
        return;
    sma_decode_set_name(decoder, part, SMA_STR(SMA_UNREADABLE_CALL));
    part->is_unreadable = true;
    sma_buf_put_text(&part->problem, "the text of your answer looked like a call that could not be "
                                     "read; call tools by the interface, not in the text");
}

/* Was it told so already, since the last message of a person? Then it is no call, whatever it looks
 * like: the text is the answer. */
static bool is_told_unreadable(struct sma_str request)
{
    static const char said[] = "\"" SMA_UNREADABLE_CALL "\"";
    const char *at = request.ptr, *last = NULL, *end = request.ptr + request.len;
    while (at != NULL && request.len > 0 &&
           (at = memmem(at, (size_t)(end - at), said, sizeof said - 1)) != NULL)
        last = at++;
    size_t left = last == NULL ? 0 : (size_t)(end - last);
    return last != NULL && (memmem(last, left, "\"role\":\"user\"", 13) == NULL ||
                            memmem(last, left, "\"tool_result\"", 13) != NULL);
}

static bool are_tools(struct sma_decoder *decoder, const json_t *calls)
{
    bool are = json_array_size(calls) > 0;
    for (size_t i = 0; i < json_array_size(calls) && are; i++) {
        struct sma_str name = sma_json_str(json_array_get(calls, i), "name");
        are = sma_decode_resolve(decoder, name).len > 0;
    }
    return are;
}

/* Was the model shown these words? */
static bool is_in_request(const struct sma_decoder *decoder, struct sma_str words)
{
    struct sma_buf quoted;
    sma_buf_init(&quoted, 6 * words.len + 64);
    sma_buf_put_json_escaped(&quoted, trim_end(words));
    struct sma_str request = decoder->request;
    bool is = quoted.len > 0 && request.len > 0 &&
              memmem(request.ptr, request.len, quoted.ptr, quoted.len) != NULL;
    sma_buf_fini(&quoted);
    return is;
}

/* The text is a call in JSON or Python, or holds a line that begins with a tool: without any mark
 * only offered tools are meant. */
static bool read_bare(struct sma_call_reader *reader)
{
    struct sma_str text = reader->text;
    reader->at = sma_notation_skip_space(text, 0);
    struct sma_str word = slice(text, reader->at, word_end(text, reader->at));
    if (reader->at < text.len && strchr("{[", text.ptr[reader->at]) == NULL &&
        !sma_decode_is_tool(reader->decoder, word, false))
        reader->at = sma_decode_find_tool_line(reader->decoder, text, true);
    if (reader->at >= text.len)
        return false;
    size_t begin = reader->at;
    bool is_all = (sma_call_read_all(reader) || text.ptr[begin] == '[') &&
                  are_tools(reader->decoder, reader->calls) &&
                  !is_in_request(reader->decoder, slice(text, begin, text.len));
    reader->at = begin;
    return is_all;
}

/* Where a line begins with a mark whose bytes are written as entities. */
static size_t find_escaped(struct sma_str text)
{
    struct sma_notation_cursor cursor = {.is_line_start = true};
    for (size_t at = sma_notation_skip_space(text, 0); at < text.len;) {
        struct sma_str head = slice(text, at, text.len < at + 256 ? text.len : at + 256);
        struct sma_buf plain;
        sma_buf_init(&plain, 512);
        const char *last = memrchr(head.ptr, '&', head.len); /* half of an entity may stand there */
        size_t len = last == NULL || memchr(last, ';', head.len - (size_t)(last - head.ptr)) != NULL
                         ? head.len
                         : (size_t)(last - head.ptr);
        if (head.ptr[0] == '&')
            sma_call_put_unescaped(&plain, slice(head, 0, len));
        struct sma_notation mark = {0};
        if (plain.len > 0)
            mark = sma_notation_at(sma_buf_str(&plain), 0, SMA_NOTATIONS_OF_CALLS);
        bool is_mark = mark.kind != SMA_NOTATION_NONE || mark.is_open ||
                       sma_str_starts_with(SMA_STR("&lt;"), head);
        sma_buf_fini(&plain);
        if (is_mark && !sma_notation_is_code(&cursor, text, at))
            return at;
        const char *line = memchr(text.ptr + at, '\n', text.len - at);
        at = line == NULL ? text.len : sma_notation_skip_space(text, (size_t)(line - text.ptr));
    }
    return text.len;
}

/* Nothing but calls of offered tools, in entities. @return the text before them */
static struct sma_str take_escaped(struct sma_decoder *decoder, struct sma_str text)
{
    size_t at = find_escaped(text);
    if (at == text.len || is_in_request(decoder, slice(text, at, text.len)))
        return text;
    struct sma_buf plain;
    sma_buf_init(&plain, text.len + 64);
    sma_call_put_unescaped(&plain, slice(text, at, text.len));
    struct sma_call_reader reader = {
        .decoder = decoder, .text = sma_buf_str(&plain), .is_in_block = true};
    bool is_call = plain.err == SMA_ERR_OK && sma_call_read_all(&reader) &&
                   are_tools(decoder, reader.calls) &&
                   !sma_notation_is_block_quoted(decoder->request, reader.text);
    if (is_call)
        add_parts(decoder, reader.calls);
    json_decref(reader.calls);
    sma_buf_fini(&plain);
    return is_call ? trim_end((struct sma_str){text.ptr, at}) : text;
}

/* What a mark at `begin` announces: 0 = words, else how many bytes from it on are no text. */
static size_t read_block(struct sma_call_reader *reader, size_t begin,
                         const struct sma_notation *mark)
{
    size_t count = json_array_size(reader->calls);
    struct sma_str request = reader->decoder->request;
    reader->at = begin;
    reader->is_in_block = true;
    bool is_all = sma_call_read_all(reader);
    bool is_read = json_array_size(reader->calls) > count;
    bool is_meant = mark->stands && !mark->is_weak;
    if (is_read && !is_meant && !(is_all && are_tools(reader->decoder, reader->calls)))
        is_read = is_meant = false;
    if (!is_read && (!is_meant || mark->is_inline)) /* "the mark <x> opens": a sentence */
        return 0;
    if (is_read ? sma_notation_is_block_quoted(request, slice(reader->text, begin, reader->at))
                : sma_notation_is_quoted(request, mark))
        return 0;
    return reader->at > begin ? reader->at - begin : mark->text.len;
}

/* Without ends of calls that never began; one that is code or a quotation stays. */
static struct sma_str without_ends(struct sma_decoder *decoder, struct sma_str text)
{
    for (bool is_last = true;; is_last = false) {
        struct sma_str left = trim_end(text);
        struct sma_notation_cursor cursor = {.is_line_start = true};
        size_t at = left.len;
        while (at > 0 && text.ptr[at - 1] != '<' && text.ptr[at - 1] != '[')
            at--;
        struct sma_notation mark = {0};
        if (at > 0)
            mark = sma_notation_at(left, at - 1, SMA_NOTATIONS(SMA_NOTATION_CALLS_END));
        if (mark.kind == SMA_NOTATION_NONE || at - 1 + mark.text.len < left.len ||
            sma_notation_is_quoted(decoder->request, &mark) ||
            (is_last && sma_notation_is_code(&cursor, left, at - 1)))
            return text;
        text = trim_end((struct sma_str){text.ptr, at - 1});
    }
}

struct sma_str sma_decode_take_call_text(struct sma_decoder *decoder, struct sma_str text,
                                         bool is_dropped)
{
    static const unsigned kinds = SMA_NOTATIONS_OF_CALLS | SMA_NOTATIONS(SMA_NOTATION_RESULT) |
                                  SMA_NOTATIONS(SMA_NOTATION_BETWEEN);
    struct sma_notation_cursor cursor = {.is_line_start = true};
    struct sma_call_reader reader = {.decoder = decoder, .text = text};
    struct sma_str left = text;
    struct sma_notation mark;
    bool is_broken = false, has_mark = false, has_any = false;
    size_t begin = 0, try_count = 0, len;
    while (try_count++ < TRY_COUNT_MAX &&
           (mark = sma_notation_next(&cursor, text, kinds, &begin)).kind != 0) {
        if (mark.kind == SMA_NOTATION_BETWEEN && !mark.is_control)
            continue;
        while (mark.kind == SMA_NOTATION_BETWEEN && begin > 0 && text.ptr[begin - 1] != '\n')
            begin--; /* its beginning was left out */
        size_t count = json_array_size(reader.calls);
        len = read_block(&reader, begin, &mark);
        has_mark |= mark.stands && !mark.is_weak;
        has_any = true;
        if (len == 0)
            while (json_array_size(reader.calls) > count)
                (void)json_array_remove(reader.calls, count);
        if (len == 0)
            continue;
        if (left.len == text.len)
            left = trim_end((struct sma_str){text.ptr, begin});
        is_broken |= json_array_size(reader.calls) == count;
        cursor = (struct sma_notation_cursor){.at = begin + len, .is_line_start = true};
        const struct sma_notation made = sma_notation_at(
            text, sma_notation_skip_space(text, cursor.at), SMA_NOTATIONS(SMA_NOTATION_RESULT));
        if (made.kind != SMA_NOTATION_NONE)
            break;
    }
    if (!is_dropped && left.len < text.len) {
        add_parts(decoder, reader.calls);
        if (is_broken && json_array_size(reader.calls) == 0 && is_told_unreadable(decoder->request))
            left = text;
        else if (is_broken && json_array_size(reader.calls) == 0)
            add_unreadable(decoder);
    } else if (!has_mark && !is_dropped && read_bare(&reader)) {
        add_parts(decoder, reader.calls);
        left = trim_end((struct sma_str){text.ptr, reader.at});
    }
    json_decref(reader.calls);
    if (left.len == text.len && !has_mark && !is_dropped)
        left = take_escaped(decoder, text);
    return left.len == text.len && !has_any ? without_ends(decoder, text) : left;
}

struct sma_str sma_decode_before_call_text(struct sma_decoder *decoder, struct sma_str text,
                                           bool is_whole)
{
    static const unsigned kinds = SMA_NOTATIONS_OF_CALLS | SMA_NOTATIONS(SMA_NOTATION_RESULT) |
                                  SMA_NOTATIONS(SMA_NOTATION_CALLS_END) |
                                  SMA_NOTATIONS(SMA_NOTATION_END);
    struct sma_notation_cursor cursor = {.is_line_start = true};
    size_t at = 0, start = sma_notation_skip_space(text, 0), end = word_end(text, start);
    struct sma_notation mark;
    char byte = start < text.len && !is_whole ? text.ptr[start] : '\0';
    if (byte == '[')
        end = word_end(text, start + 1);
    /* It may be a call as a whole. */
    bool is_python = byte == '[' && (end == text.len || strchr("({", text.ptr[end]) != NULL);
    bool is_named = byte != '\0' && end > start &&
                    sma_decode_is_tool(decoder, slice(text, start, end), end == text.len);
    if (byte == '{' || is_python || is_named)
        return (struct sma_str){text.ptr, 0};
    while ((mark = sma_notation_next(&cursor, text, kinds, &at)).kind != SMA_NOTATION_NONE)
        if (mark.stands || !is_whole)
            return trim_end((struct sma_str){text.ptr, at});
    at = is_whole ? text.len : sma_decode_find_tool_line(decoder, text, false);
    size_t escaped = is_whole ? text.len : find_escaped(text);
    at = escaped < at ? escaped : at;
    return at < text.len ? trim_end((struct sma_str){text.ptr, at})
           : is_whole    ? text
                         : (struct sma_str){text.ptr, sma_notation_hold(text)};
}
