/* chat_markdown.c — see chat_markdown.h. The marks of runtime/markup as styles. */
#include "chat_markdown.h"

#include "chat_screen.h"
#include "runtime/markup/markup.h"
#include "sma/text.h"

#define DEPTH_MAX 16
#define TAIL_BYTES 16384 /* more than any screen shows */

static const char *const styles[SMA_MARK_KIND_COUNT] = {
    [SMA_MARK_BOLD] = "\x1b[1m",  [SMA_MARK_ITALIC] = "\x1b[3m", [SMA_MARK_STRIKE] = "\x1b[9m",
    [SMA_MARK_QUOTE] = "\x1b[2m", [SMA_MARK_LINK] = "\x1b[4m",   [SMA_MARK_CODE] = "\x1b[36m",
    [SMA_MARK_PRE] = "\x1b[36m",
};

struct pen
{
    struct sma_buf *buf;
    const struct sma_markup *markup;
    const struct sma_mark *open[DEPTH_MAX]; /* outer first */
    size_t open_count;
    bool is_table; /* in a PRE that is one: its head is bold, nothing is coloured */
    bool is_head;
    bool is_line_begin;
};

static void put_styles(struct pen *pen)
{
    sma_buf_put_text(pen->buf, "\x1b[0m");
    for (size_t i = 0; i < pen->open_count; i++)
        if (!(pen->is_table && pen->open[i]->kind == SMA_MARK_PRE))
            sma_buf_put_text(pen->buf, styles[pen->open[i]->kind]);
    if (pen->is_head)
        sma_buf_put_text(pen->buf, "\x1b[1m");
}

static bool is_in_quote(const struct pen *pen)
{
    for (size_t i = 0; i < pen->open_count; i++)
        if (pen->open[i]->kind == SMA_MARK_QUOTE)
            return true;
    return false;
}

/* "-----+------": what stands under the head of a table. */
static bool is_rule(struct sma_str line)
{
    size_t dashes = 0;
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] != '-' && line.ptr[i] != '+')
            return false;
        dashes += line.ptr[i] == '-';
    }
    return dashes > 0;
}

static struct sma_str line_at(struct sma_str text, size_t at)
{
    const char *end = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
    size_t to = end == NULL ? text.len : (size_t)(end - text.ptr);
    return (struct sma_str){text.ptr + at, to - at};
}

static void put_line(struct pen *pen, struct sma_str line)
{
    if (pen->is_table && is_rule(line)) {
        pen->is_head = false;
        put_styles(pen);
        for (size_t i = 0; i < line.len; i++)
            sma_buf_put_text(pen->buf, line.ptr[i] == '+' ? "┼" : "─");
        return;
    }
    sma_chat_put_clean(pen->buf, line);
}

static void put_text(struct pen *pen, struct sma_str text)
{
    for (size_t at = 0; at < text.len;) {
        struct sma_str line = line_at(text, at);
        if (pen->is_line_begin && is_in_quote(pen))
            sma_buf_put_text(pen->buf, "│ ");
        put_line(pen, line);
        at += line.len;
        pen->is_line_begin = at < text.len;
        if (at < text.len) {
            sma_buf_put_char(pen->buf, '\n');
            at++;
        }
    }
}

static bool is_table(const struct pen *pen, const struct sma_mark *mark)
{
    struct sma_str text = {pen->markup->text.ptr + mark->from, mark->to - mark->from};
    struct sma_str head = line_at(text, 0);
    return mark->detail.len == 0 && head.len < text.len && is_rule(line_at(text, head.len + 1));
}

static void open_mark(struct pen *pen, const struct sma_mark *mark)
{
    if (pen->open_count == DEPTH_MAX)
        return; /* deeper nesting keeps the looks of what is around it */
    if (mark->kind == SMA_MARK_PRE)
        pen->is_head = pen->is_table = is_table(pen, mark);
    pen->open[pen->open_count++] = mark;
    put_styles(pen);
}

/* Where a link goes, unless its text says so. */
static void put_target(struct pen *pen, const struct sma_mark *mark)
{
    struct sma_str text = {pen->markup->text.ptr + mark->from, mark->to - mark->from};
    if (sma_str_is_equal(text, mark->detail))
        return;
    sma_buf_put_text(pen->buf, " \x1b[2m(");
    sma_chat_put_clean(pen->buf, mark->detail);
    sma_buf_put_text(pen->buf, ")");
    put_styles(pen);
}

static void close_marks(struct pen *pen, size_t at)
{
    while (pen->open_count > 0 && pen->open[pen->open_count - 1]->to <= at) {
        const struct sma_mark *mark = pen->open[--pen->open_count];
        if (mark->kind == SMA_MARK_PRE)
            pen->is_table = pen->is_head = false;
        put_styles(pen);
        if (mark->kind == SMA_MARK_LINK)
            put_target(pen, mark);
    }
}

/* The next byte at which a mark begins or ends. */
static size_t next_stop(const struct pen *pen, uint32_t next)
{
    size_t stop = pen->markup->text.len;
    if (next < pen->markup->mark_count && pen->markup->marks[next].from < stop)
        stop = pen->markup->marks[next].from;
    if (pen->open_count > 0 && pen->open[pen->open_count - 1]->to < stop)
        stop = pen->open[pen->open_count - 1]->to;
    return stop;
}

static void put_markup(struct sma_buf *buf, const struct sma_markup *markup)
{
    struct pen pen = {.buf = buf, .markup = markup, .is_line_begin = true};
    uint32_t next = 0;
    for (size_t at = 0; at < markup->text.len;) {
        close_marks(&pen, at);
        for (; next < markup->mark_count && markup->marks[next].from <= at; next++)
            open_mark(&pen, &markup->marks[next]);
        size_t stop = next_stop(&pen, next);
        put_text(&pen, (struct sma_str){markup->text.ptr + at, stop - at});
        if (stop > 0 && stop > at)
            pen.is_line_begin = markup->text.ptr[stop - 1] == '\n';
        at = stop;
    }
    close_marks(&pen, markup->text.len);
}

void sma_chat_put_markdown(struct sma_buf *buf, struct sma_str text)
{
    struct sma_markup markup;
    sma_markup_init(&markup);
    if (sma_markup_parse(&markup, text, NULL) == SMA_ERR_OK && !markup.is_plain)
        put_markup(buf, &markup);
    else
        sma_chat_put_clean(buf, text);
    sma_markup_fini(&markup);
}

/* Whether a block of code is open behind text[0..len). */
static bool is_in_fence(struct sma_str text)
{
    bool is_open = false;
    for (size_t at = 0; at < text.len;) {
        struct sma_str line = line_at(text, at), trimmed = sma_str_trim(line);
        if (sma_str_starts_with(trimmed, SMA_STR("```")))
            is_open = !is_open;
        at += line.len + 1;
    }
    return is_open;
}

void sma_chat_put_markdown_tail(struct sma_buf *buf, struct sma_str text)
{
    struct sma_buf tail;
    if (text.len <= 2 * (size_t)TAIL_BYTES) {
        sma_chat_put_markdown(buf, text);
        return;
    }
    size_t from = text.len - TAIL_BYTES;
    const char *newline = memchr(text.ptr + from, '\n', text.len - from);
    from = newline == NULL ? from : (size_t)(newline - text.ptr) + 1;
    while (from < text.len && ((unsigned char)text.ptr[from] & 0xC0) == 0x80)
        from++;
    sma_buf_init(&tail, 2 * (size_t)TAIL_BYTES);
    sma_buf_put_text(&tail, is_in_fence((struct sma_str){text.ptr, from}) ? "```\n" : "");
    sma_buf_put(&tail, text.ptr + from, text.len - from);
    sma_chat_put_markdown(buf, sma_buf_str(&tail));
    sma_buf_fini(&tail);
}
