/* html_reader.c — see html_reader.h. */
#include "html_reader.h"

#include "sma/text.h"

#include <stdlib.h>

struct cursor
{
    struct sma_str rest;
    size_t open[SMA_MARK_KIND_COUNT * 2];
    size_t open_count;
};

static bool skip(struct sma_str *rest, const char *text)
{
    struct sma_str wanted = sma_str(text);
    if (!sma_str_starts_with(*rest, wanted))
        return false;
    *rest = (struct sma_str){rest->ptr + wanted.len, rest->len - wanted.len};
    return true;
}

static bool take_reference(struct sma_str *rest, struct sma_buf *buf)
{
    static const struct
    {
        const char *name;
        char byte;
    } names[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        if (skip(rest, names[i].name)) {
            sma_buf_put_char(buf, names[i].byte);
            return true;
        }
    }
    return false;
}

static const char *take_text(struct sma_str *rest, struct sma_buf *buf, char end)
{
    while (rest->len > 0 && rest->ptr[0] != end) {
        char byte = rest->ptr[0];
        if (byte == '&') {
            if (!take_reference(rest, buf))
                return "a & that begins no reference";
            continue;
        }
        if (byte == '>' || byte == '<')
            return "an unescaped < or >";
        sma_buf_put_char(buf, byte);
        *rest = (struct sma_str){rest->ptr + 1, rest->len - 1};
    }
    return NULL;
}

static const char *const names[SMA_MARK_KIND_COUNT] = {
    [SMA_MARK_BOLD] = "b",           [SMA_MARK_ITALIC] = "i", [SMA_MARK_STRIKE] = "s",
    [SMA_MARK_QUOTE] = "blockquote", [SMA_MARK_LINK] = "a",   [SMA_MARK_CODE] = "code",
    [SMA_MARK_PRE] = "pre",
};

static int take_name(struct sma_str *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] >= 'a' && rest->ptr[len] <= 'z')
        len++;
    struct sma_str name = {rest->ptr, len};
    for (int kind = 0; kind < SMA_MARK_KIND_COUNT; kind++) {
        if (sma_str_is_equal(name, sma_str(names[kind]))) {
            *rest = (struct sma_str){rest->ptr + len, rest->len - len};
            return kind;
        }
    }
    return -1;
}

static const char *check_nesting(const struct cursor *cursor, const struct html *html, int kind)
{
    for (size_t i = 0; i < cursor->open_count; i++) {
        uint8_t outer = html->marks[cursor->open[i]].kind;
        if (outer == kind)
            return "a tag inside itself";
        if (outer == SMA_MARK_PRE || outer == SMA_MARK_CODE)
            return "a tag inside code";
        if (kind == SMA_MARK_QUOTE && outer != SMA_MARK_QUOTE)
            return "a quote inside another tag";
    }
    return NULL;
}

static const char *open_tag(struct cursor *cursor, struct html *html)
{
    struct sma_str *rest = &cursor->rest;
    int kind = take_name(rest);
    if (kind < 0)
        return "an unknown tag";
    const char *wrong = check_nesting(cursor, html, kind);
    if (wrong != NULL)
        return wrong;
    if (html->mark_count == HTML_MARK_COUNT_MAX)
        return "too many tags";
    struct html_mark *mark = &html->marks[html->mark_count];
    *mark = (struct html_mark){(uint8_t)kind, html->text.len, 0, {0}};
    sma_buf_init(&mark->detail, 1 << 20);
    cursor->open[cursor->open_count++] = html->mark_count++;
    bool is_class = kind == SMA_MARK_PRE && skip(rest, "><code class=\"language-");
    if (is_class || (kind == SMA_MARK_LINK && skip(rest, " href=\""))) {
        wrong = take_text(rest, &mark->detail, '"');
        if (wrong != NULL)
            return wrong;
        if (!skip(rest, "\"") || mark->detail.len == 0)
            return "an attribute without end or value";
    } else if (kind == SMA_MARK_LINK) {
        return "a link without target";
    }
    return skip(rest, ">") ? NULL : "a tag without end";
}

static const char *close_tag(struct cursor *cursor, struct html *html)
{
    if (cursor->open_count == 0)
        return "a closing tag without its opening one";
    struct html_mark *mark = &html->marks[cursor->open[--cursor->open_count]];
    bool has_class = mark->kind == SMA_MARK_PRE && mark->detail.len > 0;
    if (has_class && !skip(&cursor->rest, "code></"))
        return "a pre whose code is not closed";
    if (take_name(&cursor->rest) != mark->kind)
        return "tags that cross";
    if (!skip(&cursor->rest, ">"))
        return "a closing tag without end";
    if (mark->from == html->text.len)
        return "a tag around nothing";
    mark->to = html->text.len;
    return NULL;
}

const char *html_read(struct sma_str source, struct html *html)
{
    struct cursor cursor = {.rest = source};
    html->mark_count = 0;
    sma_buf_init(&html->text, 1 << 20);
    if (!sma_utf8_is_valid(source))
        return "invalid UTF-8";
    while (cursor.rest.len > 0) {
        const char *wrong = take_text(&cursor.rest, &html->text, '<');
        if (wrong == NULL && skip(&cursor.rest, "</"))
            wrong = close_tag(&cursor, html);
        else if (wrong == NULL && skip(&cursor.rest, "<"))
            wrong = open_tag(&cursor, html);
        if (wrong != NULL)
            return wrong;
    }
    if (cursor.open_count > 0)
        return "a tag that is never closed";
    return html->text.err == SMA_ERR_OK ? NULL : "text too long";
}

void html_free(struct html *html)
{
    for (size_t i = 0; i < html->mark_count; i++)
        sma_buf_fini(&html->marks[i].detail);
    sma_buf_fini(&html->text);
    html->mark_count = 0;
}
