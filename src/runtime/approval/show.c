/* show.c — untrusted text made visible. See approval_priv.h. */
#include "approval_priv.h"

#include "sma/notices.h"
#include "sma/text.h"

#define FENCE_LEN_MAX 64u
#define BLANK_RUN_MAX 40u /* deeper than anybody indents */

struct range
{
    uint32_t first, last;
};

/* Sorted. Controls, blanks that are none, marks that turn the direction of writing, and what has no
 * shape at all. */
static const struct range invisible[] = {
    {0x00, 0x1F},     {0x7F, 0xA0},     {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},
    {0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180B, 0x180F},   {0x2000, 0x200F},   {0x2028, 0x202F},
    {0x205F, 0x206F}, {0x2800, 0x2800}, {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFC}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

static bool is_invisible(uint32_t point)
{
    for (size_t i = 0; i < SMA_COUNT_OF(invisible) && invisible[i].first <= point; i++)
        if (point <= invisible[i].last)
            return true;
    return sma_point_misleads(point, 0);
}

/* One code point at text[at]; bytes that are no UTF-8 are taken one by one, as points beyond
 * Unicode. */
static uint32_t take_point(struct sma_str text, size_t *at)
{
    unsigned char lead = (unsigned char)text.ptr[*at];
    size_t len = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    struct sma_str piece = {text.ptr + *at, len};
    if (len == 1) {
        ++*at;
        return lead;
    }
    if (*at + len > text.len || !sma_utf8_is_valid(piece)) {
        ++*at;
        return 0x110000u + lead;
    }
    uint32_t point = lead & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)piece.ptr[i] & 0x3Fu);
    *at += len;
    return point;
}

static void put_point(struct sma_buf *buf, struct sma_str text, bool keeps_lines, size_t *at)
{
    size_t from = *at;
    uint32_t point = take_point(text, at);
    if (point >= 0x110000)
        sma_buf_printf(buf, "\\x%02x", point - 0x110000);
    else if (keeps_lines && (point == '\n' || point == '\t'))
        sma_buf_put_char(buf, (char)point);
    else if (!is_invisible(point))
        sma_buf_put(buf, text.ptr + from, *at - from);
    else if (point == '\n')
        sma_buf_put_text(buf, "\\n");
    else if (point == '\t')
        sma_buf_put_text(buf, "\\t");
    else if (point == '\r')
        sma_buf_put_text(buf, "\\r");
    else if (point < 0x80)
        sma_buf_printf(buf, "\\x%02x", point);
    else
        sma_buf_printf(buf, "\\u{%04X}", point);
}

/* Blanks that push what follows out of sight are counted instead of shown. */
static void put_collapsed(struct sma_buf *buf, struct sma_str text)
{
    for (size_t at = 0; at < text.len;) {
        size_t run = 0;
        while (at + run < text.len && memchr(" \t\n\r\v\f", text.ptr[at + run], 6) != NULL)
            run++;
        if (run > BLANK_RUN_MAX)
            sma_buf_printf(buf, "[%zu blanks]", run);
        else if (run > 0)
            sma_buf_put(buf, text.ptr + at, run);
        else
            sma_buf_put_char(buf, text.ptr[at]);
        at += run > 0 ? run : 1;
    }
}

static void put_points(struct sma_buf *buf, struct sma_str text, bool keeps_lines)
{
    for (size_t at = 0; at < text.len;)
        put_point(buf, text, keeps_lines, &at);
}

/* What a command does may stand at its end: of what is too long both ends are shown. */
bool sma_display_text(struct sma_buf *buf, struct sma_str text, size_t bytes_max, bool keeps_lines,
                      enum sma_language language)
{
    struct sma_buf collapsed;
    sma_buf_init(&collapsed, text.len + 64);
    put_collapsed(&collapsed, text);
    struct sma_str whole = sma_buf_str(&collapsed);
    bool is_cut = whole.len > bytes_max;
    if (collapsed.err != SMA_ERR_OK && buf->err == SMA_ERR_OK)
        buf->err = collapsed.err;
    if (!is_cut) {
        put_points(buf, whole, keeps_lines);
    } else {
        size_t head = sma_utf8_cut(whole, bytes_max - bytes_max / 3);
        size_t tail = whole.len - (bytes_max - head);
        while (tail < whole.len && ((unsigned char)whole.ptr[tail] & 0xC0) == 0x80)
            tail++; /* not in the middle of a character */
        put_points(buf, (struct sma_str){whole.ptr, head}, keeps_lines);
        sma_buf_put_char(buf, keeps_lines ? '\n' : ' ');
        sma_notice_format(buf, language, SMA_NOTICE_CARD_CUT, (unsigned)(tail - head));
        sma_buf_put_char(buf, keeps_lines ? '\n' : ' ');
        put_points(buf, (struct sma_str){whole.ptr + tail, whole.len - tail}, keeps_lines);
    }
    sma_buf_fini(&collapsed);
    return is_cut;
}

void sma_card_put_line(struct sma_buf *buf, struct sma_str text)
{
    for (size_t at = 0; at < text.len;) {
        if ((unsigned char)text.ptr[at] < 0x20 || text.ptr[at] == 0x7f) {
            sma_buf_put_char(buf, ' ');
            at++;
        } else {
            put_point(buf, text, false, &at);
        }
    }
}

static size_t longest_run(struct sma_str text)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < text.len; i++) {
        run = text.ptr[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void put_fence(struct sma_buf *buf, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sma_buf_put_char(buf, '`');
}

/* Longer runs than a fence may have are broken up. */
static void put_unfenced(struct sma_buf *buf, struct sma_str text)
{
    size_t run = 0;
    for (size_t i = 0; i < text.len; i++) {
        run = text.ptr[i] == '`' ? run + 1 : 0;
        if (run == FENCE_LEN_MAX) {
            sma_buf_put_char(buf, ' ');
            run = 1;
        }
        sma_buf_put_char(buf, text.ptr[i]);
    }
}

bool sma_display_span(struct sma_buf *buf, struct sma_str text, size_t bytes_max,
                      enum sma_language language)
{
    struct sma_buf shown;
    sma_buf_init(&shown, 16 * bytes_max + 256);
    bool is_cut = sma_display_text(&shown, text, bytes_max, false, language);
    size_t fence = longest_run(sma_buf_str(&shown)) + 1;
    fence = fence > FENCE_LEN_MAX ? FENCE_LEN_MAX : fence;
    put_fence(buf, fence);
    /* a blank on both sides keeps a tick at the edge, and an empty span, in shape */
    bool is_padded = shown.len == 0 || shown.ptr[0] == '`' || shown.ptr[shown.len - 1] == '`' ||
                     shown.ptr[0] == ' ';
    sma_buf_put_text(buf, is_padded ? " " : "");
    put_unfenced(buf, sma_buf_str(&shown));
    sma_buf_put_text(buf, is_padded ? " " : "");
    put_fence(buf, fence);
    if (shown.err != SMA_ERR_OK && buf->err == SMA_ERR_OK)
        buf->err = shown.err;
    sma_buf_fini(&shown);
    return is_cut;
}

static void put_behind_bars(struct sma_buf *buf, struct sma_str text)
{
    sma_buf_put_text(buf, "| ");
    for (size_t i = 0; i < text.len; i++) {
        sma_buf_put_char(buf, text.ptr[i]);
        if (text.ptr[i] == '\n')
            sma_buf_put_text(buf, "| ");
    }
    sma_buf_put_char(buf, '\n');
}

bool sma_display_block(struct sma_buf *buf, struct sma_str text, size_t bytes_max, const char *info,
                       bool is_markdown, enum sma_language language)
{
    struct sma_buf shown;
    sma_buf_init(&shown, 16 * bytes_max + 256);
    while (text.len > 0 && text.ptr[text.len - 1] == '\n')
        text.len--;
    bool is_cut = sma_display_text(&shown, text, bytes_max, true, language);
    if (is_markdown) {
        size_t fence = longest_run(sma_buf_str(&shown)) + 1;
        fence = fence < 3 ? 3 : fence > FENCE_LEN_MAX ? FENCE_LEN_MAX : fence;
        put_fence(buf, fence);
        sma_buf_put_text(buf, info);
        sma_buf_put_char(buf, '\n');
        put_unfenced(buf, sma_buf_str(&shown));
        sma_buf_put_char(buf, '\n');
        put_fence(buf, fence);
        sma_buf_put_char(buf, '\n');
    } else {
        put_behind_bars(buf, sma_buf_str(&shown));
    }
    if (shown.err != SMA_ERR_OK && buf->err == SMA_ERR_OK)
        buf->err = shown.err;
    sma_buf_fini(&shown);
    return is_cut;
}
