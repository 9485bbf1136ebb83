/* attach_text.c — see attach_text.h. */
#include "runtime/text/attach_text.h"

#include "sma/text.h"

#define RUN_LENGTH_MAX 32 /* a longer run of backticks opens no span for us */

static struct sma_str slice(struct sma_str text, size_t from, size_t to)
{
    return (struct sma_str){text.ptr + from, to - from};
}

static size_t line_end(struct sma_str text, size_t from)
{
    const char *end = from < text.len ? memchr(text.ptr + from, '\n', text.len - from) : NULL;
    return end == NULL ? text.len : (size_t)(end - text.ptr) + 1;
}

static size_t run_length(struct sma_str text, size_t at)
{
    size_t to = at;
    while (to < text.len && text.ptr[to] == text.ptr[at])
        to++;
    return to - at;
}

static size_t skip_blanks(struct sma_str line, size_t at)
{
    while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t'))
        at++;
    return at;
}

/* -- fenced code ------------------------------------------------------------------------------- */
/* Behind the marks of list items ("- ", "1. ") and blanks at the head of a line. */
static size_t skip_list_marks(struct sma_str line)
{
    for (size_t at = skip_blanks(line, 0);;) {
        size_t to = at;
        while (to < line.len && line.ptr[to] >= '0' && line.ptr[to] <= '9')
            to++;
        bool is_mark =
            to < line.len && memchr(to > at ? ".)" : "-*+", line.ptr[to], to > at ? 2 : 3) != NULL;
        if (!is_mark || to + 1 >= line.len || line.ptr[to + 1] != ' ')
            return at;
        at = skip_blanks(line, to + 1);
    }
}

static bool opens_fence(struct sma_attach_reader *reader, struct sma_str line)
{
    size_t at = skip_list_marks(line);
    if (at == line.len || (line.ptr[at] != '`' && line.ptr[at] != '~'))
        return false;
    size_t len = run_length(line, at), rest = line.len - at - len;
    bool is_span =
        line.ptr[at] == '`' && rest > 0 && memchr(line.ptr + at + len, '`', rest) != NULL;
    if (len < 3 || is_span)
        return false;
    reader->fence_len = len;
    reader->fence_indent = at;
    reader->fence_mark = line.ptr[at];
    return true;
}

static bool closes_fence(const struct sma_attach_reader *reader, struct sma_str line)
{
    size_t at = skip_blanks(line, 0);
    if (at == line.len || line.ptr[at] != reader->fence_mark || at > reader->fence_indent + 3)
        return false;
    size_t len = run_length(line, at);
    return len >= reader->fence_len && sma_str_trim(slice(line, at + len, line.len)).len == 0;
}

/* -- code spans -------------------------------------------------------------------------------- */
/* Whether this line begins another block than the paragraph before it. */
static bool begins_block(struct sma_str line)
{
    struct sma_attach_reader none = {0};
    size_t at = skip_blanks(line, 0);
    return sma_str_trim(line).len == 0 || line.ptr[at] == '#' || line.ptr[at] == '>' ||
           skip_list_marks(line) > at || opens_fence(&none, line);
}

/* Where the run of `len` backticks is that closes a span opened before `from`, in its paragraph; 0
 * = nowhere. */
static size_t find_close(struct sma_str text, size_t from, size_t len)
{
    size_t at = from;
    while (at < text.len) {
        if (text.ptr[at] == '\n' && begins_block(slice(text, at + 1, line_end(text, at + 1))))
            return 0;
        size_t run = text.ptr[at] == '`' ? run_length(text, at) : 1;
        if (text.ptr[at] == '`' && run == len)
            return at + len;
        at += run;
    }
    return 0;
}

/* Look for spans that a line opens; [from, to) of the text is outside of them at its start. */
static void scan_spans(struct sma_attach_reader *reader, size_t from, size_t to)
{
    for (size_t at = from; at < to;) {
        if (reader->text.ptr[at] != '`') {
            at += reader->text.ptr[at] == '\\' ? 2 : 1;
            continue;
        }
        size_t len = run_length(reader->text, at);
        at += len;
        if (len >= RUN_LENGTH_MAX || (reader->unended & (UINT32_C(1) << len)) != 0)
            continue;
        size_t end = find_close(reader->text, at, len);
        if (end == 0) {
            reader->unended |= UINT32_C(1) << len;
            continue;
        }
        reader->span_end = end;
        at = end;
    }
}

/* -- lines ------------------------------------------------------------------------------------- */
void sma_attach_reader_init(struct sma_attach_reader *reader, struct sma_str text)
{
    *reader = (struct sma_attach_reader){.text = text};
}

/* @return whether the line is of fenced code */
static bool step_fence(struct sma_attach_reader *reader, struct sma_str line)
{
    if (reader->fence_len == 0)
        return opens_fence(reader, line);
    if (closes_fence(reader, line))
        reader->fence_len = 0;
    return true;
}

bool sma_attach_next(struct sma_attach_reader *reader, struct sma_attach_item *ret_item)
{
    size_t from = reader->at, to = line_end(reader->text, from);
    if (from >= reader->text.len)
        return false;
    struct sma_attach_item item = {.line = slice(reader->text, from, to)};
    reader->at = to;
    bool is_in_span = from < reader->span_end;
    if (!is_in_span && begins_block(item.line))
        reader->unended = 0;
    item.is_fenced = !is_in_span && step_fence(reader, item.line);
    item.is_code = item.is_fenced || is_in_span;
    item.is_attachment = !item.is_code && sma_attach_read_line(item.line, &item.attachment);
    if (!item.is_fenced && !item.is_attachment)
        scan_spans(reader, is_in_span ? reader->span_end : from, to);
    *ret_item = item;
    return true;
}

bool sma_attach_next_file(struct sma_attach_reader *reader, struct sma_attach_line *ret_line)
{
    struct sma_attach_item item;
    while (sma_attach_next(reader, &item)) {
        if (!item.is_attachment)
            continue;
        *ret_line = item.attachment;
        return true;
    }
    return false;
}

/* Could this line, whose end is still to come, become one? */
static bool is_begun(struct sma_str line)
{
    struct sma_str name = SMA_STR("@attach"), rest = sma_str_trim(line);
    size_t len = rest.len < name.len ? rest.len : name.len;
    bool is_word_over = rest.len > len && (rest.ptr[len] == ' ' || rest.ptr[len] == '\t');
    return len > 0 && sma_str_is_equal_nocase(slice(rest, 0, len), slice(name, 0, len)) &&
           (rest.len == len || is_word_over);
}

size_t sma_attach_put_rest(struct sma_buf *buf, struct sma_str text, bool is_growing)
{
    struct sma_attach_reader reader;
    struct sma_attach_item item;
    size_t count = 0;
    sma_attach_reader_init(&reader, text);
    while (sma_attach_next(&reader, &item)) {
        bool is_last = is_growing && item.line.ptr[item.line.len - 1] != '\n';
        count += item.is_attachment;
        if (!item.is_attachment && !(is_last && !item.is_code && is_begun(item.line)))
            sma_buf_put_str(buf, item.line);
    }
    return count;
}
