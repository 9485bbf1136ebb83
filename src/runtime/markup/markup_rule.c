/*
 * markup_rule.c — the rule under a table's head. md4c 0.4.8 wants three characters a column
 * ("|---|:-:|"); models write "|-|-|" and "|--|--|" as well, which GitHub takes. Such a rule is
 * written with three dashes before it is parsed.
 */
#include "markup_priv.h"

#include "sma/text.h"

static bool is_rule(struct sma_str line)
{
    bool has_bar = false, has_dash = false;
    for (size_t i = 0; i < line.len; i++) {
        char byte = line.ptr[i];
        if (byte != '|' && byte != '-' && byte != ':' && byte != ' ' && byte != '\t' &&
            byte != '\r')
            return false;
        has_bar = has_bar || byte == '|';
        has_dash = has_dash || byte == '-';
    }
    return has_bar && has_dash;
}

static bool is_fence(struct sma_str line)
{
    line = sma_str_trim(line);
    return sma_str_starts_with(line, SMA_STR("```")) || sma_str_starts_with(line, SMA_STR("~~~"));
}

static void put_rule(struct sma_buf *buf, struct sma_str line)
{
    size_t dashes = 0;
    for (size_t i = 0; i < line.len; i++) {
        bool is_dash = line.ptr[i] == '-';
        dashes = is_dash ? dashes + 1 : 0;
        sma_buf_put_char(buf, line.ptr[i]);
        bool is_last = i + 1 == line.len || line.ptr[i + 1] != '-';
        for (; is_dash && is_last && dashes < 3; dashes++)
            sma_buf_put_char(buf, '-');
    }
}

void sma_markup_put_widened(struct sma_buf *buf, struct sma_str text)
{
    size_t done = 0;
    bool is_in_fence = false, has_head = false; /* the line before has a bar */
    if (text.len == 0 || memchr(text.ptr, '|', text.len) == NULL) {
        sma_buf_put_str(buf, text);
        return;
    }
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t to = end == NULL ? text.len : (size_t)(end - text.ptr);
        struct sma_str line = {text.ptr + at, to - at};
        if (is_fence(line)) {
            is_in_fence = !is_in_fence; /* what is shown as code stays as it is */
        } else if (has_head && !is_in_fence && is_rule(line)) {
            sma_buf_put(buf, text.ptr + done, at - done);
            put_rule(buf, line);
            done = to;
        }
        has_head = line.len > 0 && memchr(line.ptr, '|', line.len) != NULL;
        at = to + 1;
    }
    sma_buf_put(buf, text.ptr + done, text.len - done);
}
