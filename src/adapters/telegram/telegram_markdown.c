/*
 * telegram_markdown.c — one part of a marked text as HTML.
 *
 * Source: Bot API, Formatting options, HTML style: b i s a code pre blockquote are known, any other
 * tag is refused; < > & are escaped in text, and " in attributes.
 */
#include "telegram_out_priv.h"

static void put_escaped(struct sma_buf *buf, struct sma_str text, bool is_attribute)
{
    size_t done = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *escape;
        switch (text.ptr[i]) {
        case '<':
            escape = "&lt;";
            break;
        case '>':
            escape = "&gt;";
            break;
        case '&':
            escape = "&amp;";
            break;
        case '"':
            escape = is_attribute ? "&quot;" : NULL;
            break;
        default:
            escape = NULL;
        }
        if (escape == NULL)
            continue;
        sma_buf_put(buf, text.ptr + done, i - done);
        sma_buf_put_text(buf, escape);
        done = i + 1;
    }
    sma_buf_put(buf, text.ptr + done, text.len - done);
}

static const char *const names[SMA_MARK_KIND_COUNT] = {
    [SMA_MARK_BOLD] = "b",           [SMA_MARK_ITALIC] = "i", [SMA_MARK_STRIKE] = "s",
    [SMA_MARK_QUOTE] = "blockquote", [SMA_MARK_LINK] = "a",   [SMA_MARK_CODE] = "code",
    [SMA_MARK_PRE] = "pre",
};

static void put_open(struct sma_buf *buf, const struct sma_mark *mark)
{
    sma_buf_put_char(buf, '<');
    sma_buf_put_text(buf, names[mark->kind]);
    if (mark->kind == SMA_MARK_LINK) {
        sma_buf_put_text(buf, " href=\"");
        put_escaped(buf, mark->detail, true);
        sma_buf_put_char(buf, '"');
    }
    if (mark->kind == SMA_MARK_PRE && mark->detail.len > 0) {
        sma_buf_put_text(buf, "><code class=\"language-");
        put_escaped(buf, mark->detail, true);
        sma_buf_put_char(buf, '"');
    }
    sma_buf_put_char(buf, '>');
}

static void put_close(struct sma_buf *buf, const struct sma_mark *mark)
{
    if (mark->kind == SMA_MARK_PRE && mark->detail.len > 0)
        sma_buf_put_text(buf, "</code>");
    sma_buf_put_text(buf, "</");
    sma_buf_put_text(buf, names[mark->kind]);
    sma_buf_put_char(buf, '>');
}

void telegram_put_html(struct sma_buf *buf, const struct sma_markup_part *part)
{
    const struct sma_mark *open[SMA_MARK_KIND_COUNT];
    uint32_t open_count = 0, next = 0;
    size_t at = 0;
    while (at < part->text.len || open_count > 0) {
        while (open_count > 0 && open[open_count - 1]->to == at)
            put_close(buf, open[--open_count]);
        for (; next < part->mark_count && part->marks[next].from == at; next++) {
            SMA_ASSERT(open_count < SMA_MARK_KIND_COUNT);
            open[open_count++] = &part->marks[next];
            put_open(buf, &part->marks[next]);
        }
        size_t until = open_count > 0 ? open[open_count - 1]->to : part->text.len;
        if (next < part->mark_count && part->marks[next].from < until)
            until = part->marks[next].from;
        SMA_ASSERT(until <= part->text.len);
        put_escaped(buf, (struct sma_str){part->text.ptr + at, until - at}, false);
        at = until;
    }
}
