/*
 * markup_split.c — flat text with marks into parts. One pass over each part: remember the best
 * place of every kind, then choose; then trim, and clip the marks to what is left.
 */
#include "markup_priv.h"

#include <stdlib.h>
#include <utf8proc.h>

#define BYTES_MIN (16 * 1024) /* every mark that can be open at once, and one more, cost less */
#define ESCAPED_BYTES 6       /* the longest that one byte becomes: &quot; */

struct splitter
{
    const struct sma_markup *markup;
    const struct sma_markup_limits *limits;
    struct sma_mark *clipped; /* room for all that one part may have */
    uint32_t next;            /* first mark that begins at or after the part's beginning */
    uint32_t open_count;      /* marks that began before it and go on; outer first */
    uint32_t open[SMA_MARK_KIND_COUNT];
};

/* Where a part could end; 0 = no such place. */
struct scan
{
    size_t pre_start, paragraph, line, space, inner_space, cluster, code_point;
    size_t end;     /* where it had to stop */
    bool is_in_pre; /* it stopped inside a PRE */
    bool is_complete;
};
/* The walk of one part. */
struct walk
{
    size_t units, bytes;
    uint32_t next;                     /* mark */
    size_t pre_from, pre_to, inner_to; /* the last PRE; the end of the last link or code */
};

static struct sma_str slice(struct sma_str text, size_t from, size_t to)
{
    return (struct sma_str){text.ptr + from, to - from};
}

/* UTF-16 units of the code point at `at`. */
static size_t step(struct sma_str text, size_t at, size_t *ret_len, utf8proc_int32_t *ret_code)
{
    unsigned char byte = (unsigned char)text.ptr[at];
    if (byte < 0x80) {
        *ret_code = byte;
        *ret_len = 1;
        return 1;
    }
    utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                            (utf8proc_ssize_t)(text.len - at), ret_code);
    if (len <= 0) {
        *ret_code = 0xFFFD;
        *ret_len = 1;
        return 1;
    }
    *ret_len = (size_t)len;
    return *ret_code > 0xFFFF ? 2 : 1;
}

static bool is_simple(utf8proc_int32_t code) /* never joins with a neighbour of the same sort */
{
    return (code >= 0x20 && code < 0x7F) || code == '\n' || (code >= 0x4E00 && code <= 0x9FFF);
}

static bool is_boundary(utf8proc_int32_t before, utf8proc_int32_t code, utf8proc_int32_t *state)
{
    if (is_simple(before) && is_simple(code)) {
        *state = 0;
        return true;
    }
    return utf8proc_grapheme_break_stateful(before, code, state);
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static bool is_word_end(utf8proc_int32_t code)
{
    switch (code) {
    case ' ':
    case '\t':
    /* ideographic space, comma, full stop, then ! , ? ; of Chinese and Japanese, which use no
     * spaces */
    case 0x3000:
    case 0x3001:
    case 0x3002:
    case 0xFF01:
    case 0xFF0C:
    case 0xFF1F:
    case 0xFF1B:
        return true;
    default:
        return false;
    }
}

static size_t mark_cost(const struct splitter *splitter, const struct sma_mark *mark)
{
    return splitter->limits->mark_bytes + mark->detail.len * ESCAPED_BYTES;
}

static size_t byte_cost(utf8proc_int32_t code, size_t len)
{
    return code == '&' || code == '<' || code == '>' || code == '"' ? ESCAPED_BYTES : len;
}

/* -- where to cut ------------------------------------------------------------------------------ */
static void note_mark(const struct splitter *splitter, struct walk *walk,
                      const struct sma_mark *mark)
{
    walk->bytes += mark_cost(splitter, mark);
    if (mark->kind == SMA_MARK_PRE) {
        walk->pre_from = mark->from;
        walk->pre_to = mark->to;
    } else if (mark->kind == SMA_MARK_LINK || mark->kind == SMA_MARK_CODE) {
        walk->inner_to = mark->to > walk->inner_to ? mark->to : walk->inner_to;
    }
}

/* A boundary of clusters, after `before` and before `code`. White space on either side is left out
 * at a cut. */
static void note_place(struct scan *scan, const struct walk *walk, struct sma_str text, size_t at,
                       utf8proc_int32_t before, utf8proc_int32_t code)
{
    scan->cluster = at;
    bool is_in_pre = at > walk->pre_from && at < walk->pre_to;
    if (before == '\n' || code == '\n') {
        scan->line = scan->space = at;
        bool is_after = before == '\n' && at >= 2 && text.ptr[at - 2] == '\n';
        bool is_before = code == '\n' && at + 1 < text.len && text.ptr[at + 1] == '\n';
        if (!is_in_pre && (is_after || is_before))
            scan->paragraph = at;
    } else if (is_word_end(before) || code == ' ') {
        if (is_in_pre || at < walk->inner_to)
            scan->inner_space = at;
        else
            scan->space = at;
    }
}

static void start_walk(const struct splitter *splitter, struct walk *walk)
{
    *walk = (struct walk){.next = splitter->next};
    for (uint32_t i = 0; i < splitter->open_count; i++)
        note_mark(splitter, walk, &splitter->markup->marks[splitter->open[i]]);
}

/* Take the marks that begin at `at`. */
static void walk_marks(const struct splitter *splitter, struct walk *walk, struct scan *scan,
                       size_t at, size_t start)
{
    const struct sma_markup *markup = splitter->markup;
    for (; walk->next < markup->mark_count && markup->marks[walk->next].from <= at; walk->next++) {
        const struct sma_mark *mark = &markup->marks[walk->next];
        note_mark(splitter, walk, mark);
        if (mark->kind == SMA_MARK_PRE && at > start)
            scan->pre_start = at;
    }
}

static void scan_part(const struct splitter *splitter, size_t start, struct scan *scan)
{
    *scan = (struct scan){0};
    struct sma_str text = sma_buf_str(&splitter->markup->text);
    size_t units_max = splitter->limits->units_max == 0 ? SIZE_MAX : splitter->limits->units_max;
    size_t bytes_max = splitter->limits->bytes_max == 0 ? SIZE_MAX : splitter->limits->bytes_max;
    struct walk walk;
    start_walk(splitter, &walk);
    size_t len;
    utf8proc_int32_t before = 0, code, state = 0;
    for (size_t at = start; at < text.len; at += len) {
        walk_marks(splitter, &walk, scan, at, start);
        size_t wide = step(text, at, &len, &code);
        size_t cost = byte_cost(code, len);
        if (at > start) {
            scan->code_point = at;
            if (is_boundary(before, code, &state))
                note_place(scan, &walk, text, at, before, code);
        }
        if (at > start && (walk.units + wide > units_max || walk.bytes + cost > bytes_max)) {
            scan->end = at;
            scan->is_in_pre = at > walk.pre_from && at < walk.pre_to;
            return;
        }
        walk.units += wide;
        walk.bytes += cost;
        before = code;
    }
    scan->end = text.len;
    scan->is_complete = true;
}

static size_t choose(const struct scan *scan, size_t start)
{
    size_t most = scan->end - start;
    if (scan->is_complete)
        return scan->end;
    if (scan->is_in_pre && scan->pre_start > start + most / 3)
        return scan->pre_start;
    if (scan->is_in_pre && scan->line > start + most / 10 * 3)
        return scan->line;
    if (scan->paragraph > start + most / 10 * 6)
        return scan->paragraph;
    if (scan->line > start + most / 10 * 6)
        return scan->line;
    if (scan->space > start + most / 2)
        return scan->space;
    if (scan->inner_space > start + most / 2)
        return scan->inner_space;
    return scan->cluster > start ? scan->cluster : scan->code_point;
}

/* -- the part ---------------------------------------------------------------------------------- */
static bool is_inside_pre(const struct splitter *splitter, size_t at)
{
    const struct sma_mark *marks = splitter->markup->marks;
    for (uint32_t i = 0; i < splitter->open_count; i++)
        if (marks[splitter->open[i]].kind == SMA_MARK_PRE)
            return at > marks[splitter->open[i]].from && at < marks[splitter->open[i]].to;
    return false;
}

/* First byte of the next part when it begins at `at`: behind the white space there. */
static size_t skip_space(const struct splitter *splitter, size_t at)
{
    struct sma_str text = sma_buf_str(&splitter->markup->text);
    if (is_inside_pre(splitter, at))
        return at < text.len && text.ptr[at] == '\n' ? at + 1 : at;
    size_t from = at;
    const struct sma_markup *markup = splitter->markup;
    uint32_t next = splitter->next;
    while (at < text.len && is_space(text.ptr[at])) {
        while (next < markup->mark_count && markup->marks[next].from < at)
            next++;
        if (next < markup->mark_count && markup->marks[next].from == at &&
            markup->marks[next].kind == SMA_MARK_PRE)
            return at; /* a block's own indentation */
        at++;
    }
    if (at == from || at == text.len)
        return at;
    size_t len;
    utf8proc_int32_t code;
    (void)step(text, at, &len, &code);
    bool is_joined =
        !is_simple(code) && !utf8proc_grapheme_break((unsigned char)text.ptr[at - 1], code);
    return is_joined ? at - 1 : at;
}

/* Marks passed by moving on to `at`: those that go on are open. */
static void move_to(struct splitter *splitter, size_t at)
{
    const struct sma_markup *markup = splitter->markup;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < splitter->open_count; i++)
        if (markup->marks[splitter->open[i]].to > at)
            splitter->open[kept++] = splitter->open[i];
    for (; splitter->next < markup->mark_count && markup->marks[splitter->next].from < at;
         splitter->next++) {
        if (markup->marks[splitter->next].to <= at)
            continue;
        SMA_ASSERT(kept < SMA_MARK_KIND_COUNT);
        splitter->open[kept++] = splitter->next;
    }
    splitter->open_count = kept;
}

static uint32_t clip(struct splitter *splitter, uint32_t count, const struct sma_mark *mark,
                     size_t from, size_t to)
{
    size_t mark_from = mark->from > from ? mark->from : from;
    size_t mark_to = mark->to < to ? mark->to : to;
    if (mark_from >= mark_to)
        return count;
    struct sma_mark *clipped = &splitter->clipped[count];
    *clipped = *mark;
    clipped->from = (uint32_t)(mark_from - from);
    clipped->to = (uint32_t)(mark_to - from);
    return count + 1;
}

/* `cut` is where the part's bytes end. Does the place lie inside a PRE? */
static bool ends_in_pre(const struct splitter *splitter, size_t cut)
{
    if (is_inside_pre(splitter, cut))
        return true;
    const struct sma_markup *markup = splitter->markup;
    bool is_in = false;
    for (uint32_t i = splitter->next; i < markup->mark_count && markup->marks[i].from < cut; i++)
        is_in = is_in || (markup->marks[i].kind == SMA_MARK_PRE && markup->marks[i].to >= cut);
    return is_in;
}

static size_t trim_end(const struct splitter *splitter, size_t from, size_t cut)
{
    const char *text = splitter->markup->text.ptr;
    bool is_pre = ends_in_pre(splitter, cut);
    while (cut > from && (is_pre ? text[cut - 1] == '\n' : is_space(text[cut - 1])))
        cut--;
    return cut;
}

/* @return whether it was given out: a blank one is not */
static bool give(struct splitter *splitter, size_t from, size_t cut, uint32_t index,
                 sma_markup_part_fn *each, void *user)
{
    const struct sma_markup *markup = splitter->markup;
    size_t to = trim_end(splitter, from, cut);
    struct sma_str text = slice(sma_buf_str(&markup->text), from, to);
    if (sma_text_is_blank(text))
        return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < splitter->open_count; i++)
        count = clip(splitter, count, &markup->marks[splitter->open[i]], from, to);
    for (uint32_t i = splitter->next; i < markup->mark_count && markup->marks[i].from < to; i++)
        count = clip(splitter, count, &markup->marks[i], from, to);
    struct sma_markup_part part = {index, (uint32_t)from, text, splitter->clipped, count};
    each(user, &part);
    return true;
}

/* Certainly one part, without looking at it. */
static bool is_small(const struct sma_markup *markup, const struct sma_markup_limits *limits)
{
    size_t bytes = (markup->text.len + markup->details.len) * ESCAPED_BYTES +
                   (size_t)markup->mark_count * limits->mark_bytes;
    return (limits->units_max == 0 || markup->text.len <= limits->units_max) &&
           (limits->bytes_max == 0 || bytes <= limits->bytes_max);
}

enum sma_err sma_markup_split(const struct sma_markup *markup,
                              const struct sma_markup_limits *limits, sma_markup_part_fn *each,
                              void *user)
{
    if ((limits->units_max != 0 && limits->units_max < SMA_MARKUP_UNITS_MIN) ||
        (limits->bytes_max != 0 && limits->bytes_max < BYTES_MIN))
        return SMA_ERR_BADINPUT;
    if (markup->text.len == 0)
        return SMA_ERR_OK;
    struct splitter splitter = {.markup = markup, .limits = limits};
    splitter.clipped = malloc((markup->mark_count + 1) * sizeof *splitter.clipped);
    if (splitter.clipped == NULL)
        return SMA_ERR_NOMEM;
    bool is_whole = is_small(markup, limits);
    uint32_t index = 0;
    size_t at = skip_space(&splitter, 0);
    while (at < markup->text.len) {
        move_to(&splitter, at);
        struct scan scan = {.end = markup->text.len, .is_complete = true};
        if (!is_whole)
            scan_part(&splitter, at, &scan);
        size_t cut = choose(&scan, at);
        SMA_ASSERT(cut > at);
        if (give(&splitter, at, cut, index, each, user))
            index++;
        move_to(&splitter, cut);
        at = skip_space(&splitter, cut);
    }
    free(splitter.clipped);
    return SMA_ERR_OK;
}
