/* split.c — see split.h. One pass over each part: remember the best place of every kind, then
 * choose. */
#include "runtime/delivery/split.h"

#include <utf8proc.h>

#define FENCE_LINE_BYTES_MAX \
    64 /* an opening line longer than this is opened again by its marker alone */
#define LINE_LOOK_BYTES_MAX \
    1024 /* bytes of a line that are looked at for a fence: keeps long lines linear */

/* An open fence: its marker and the line to open it again with; len 0 = no fence is open. */
struct fence
{
    struct sma_str marker, line;
};

/* Where a part could end: bytes from the start of its body, with the fence open at that place. 0 =
 * no such place. */
struct cut
{
    size_t at;
    struct fence fence;
};

struct scan
{
    struct cut paragraph, line, space, cluster, code_point, fence_start;
    size_t end;        /* bytes looked at */
    size_t marker_max; /* longest marker of a fence that was open anywhere in it */
    bool is_complete;  /* the whole rest fits */
};

static struct sma_str slice(struct sma_str text, size_t from, size_t to)
{
    return (struct sma_str){text.ptr + from, to - from};
}

static size_t line_end(struct sma_str text, size_t from)
{
    size_t look = text.len - from < LINE_LOOK_BYTES_MAX ? text.len - from : LINE_LOOK_BYTES_MAX;
    const char *newline = look > 0 ? memchr(text.ptr + from, '\n', look) : NULL;
    return newline == NULL ? from + look : (size_t)(newline - text.ptr);
}

/* The run of ` or ~ that opens or closes a fence at the start of this line; len 0 = none
 * (CommonMark, section 4.5). */
static struct sma_str marker_of(struct sma_str line)
{
    size_t from = 0;
    while (from < 3 && from < line.len && line.ptr[from] == ' ')
        from++;
    size_t to = from;
    while (to < line.len && (line.ptr[from] == '`' || line.ptr[from] == '~') &&
           line.ptr[to] == line.ptr[from])
        to++;
    if (to - from < 3)
        return (struct sma_str){NULL, 0};
    return slice(line, from, to);
}

/* The fence after this line, when `open` was open before it. */
static struct fence fence_after(struct fence open, struct sma_str line)
{
    struct sma_str marker = marker_of(line);
    if (marker.len == 0)
        return open;
    struct sma_str rest = slice(line, (size_t)(marker.ptr - line.ptr) + marker.len, line.len);
    if (open.marker.len != 0) {
        bool is_blank = true;
        for (size_t i = 0; i < rest.len; i++)
            is_blank =
                is_blank && (rest.ptr[i] == ' ' || rest.ptr[i] == '\t' || rest.ptr[i] == '\r');
        bool is_closing =
            is_blank && marker.ptr[0] == open.marker.ptr[0] && marker.len >= open.marker.len;
        return is_closing ? (struct fence){{NULL, 0}, {NULL, 0}} : open;
    }
    if (marker.ptr[0] == '`' && rest.len > 0 && memchr(rest.ptr, '`', rest.len) != NULL)
        return open; /* inline code that fills a line, not a fence */
    struct sma_str again = line.len <= FENCE_LINE_BYTES_MAX ? line : marker;
    if (again.len > 0 && again.ptr[again.len - 1] == '\r')
        again.len--;
    return (struct fence){marker, again};
}

/* UTF-16 units of the code point at `at`; *ret_len its bytes, *ret_code its number (-1 = an invalid
 * byte). */
static size_t step(struct sma_str text, size_t at, size_t *ret_len, utf8proc_int32_t *ret_code)
{
    utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                            (utf8proc_ssize_t)(text.len - at), ret_code);
    if (len <= 0) {
        *ret_code = -1;
        *ret_len = 1;
        return 1;
    }
    *ret_len = (size_t)len;
    return *ret_code > 0xFFFF ? 2 : 1;
}

static size_t units_of(struct sma_str text)
{
    size_t units = 0, len;
    utf8proc_int32_t code;
    for (size_t at = 0; at < text.len; at += len)
        units += step(text, at, &len, &code);
    return units;
}

static bool is_word_end(utf8proc_int32_t code)
{
    switch (code) {
    case ' ':
    case '\t':
    /* ideographic space, then full stop, !, ?, ; of Chinese and Japanese, which use no spaces */
    case 0x3000:
    case 0x3002:
    case 0xFF01:
    case 0xFF1F:
    case 0xFF1B:
        return true;
    default:
        return false;
    }
}

/* Note the places at `at`, which is before the code point `code` and after `before` (0 at the
 * start). */
static void note_place(struct scan *scan, struct sma_str rest, size_t at, utf8proc_int32_t before,
                       struct fence fence)
{
    struct cut cut = {at, fence};
    scan->cluster = cut;
    if (is_word_end(before))
        scan->space = cut;
    if (before != '\n')
        return;
    scan->space = scan->line = cut;
    if (at >= 2 && rest.ptr[at - 2] == '\n')
        scan->paragraph = cut;
    if (fence.marker.len == 0 && marker_of(slice(rest, at, line_end(rest, at))).len != 0)
        scan->fence_start = cut; /* the next line opens a block */
}

/* Walk over at most units_max units of rest; `fence` is open at its start. */
static void scan_part(struct scan *scan, struct sma_str rest, size_t units_max, struct fence fence)
{
    *scan = (struct scan){0};
    size_t units = 0, len;
    utf8proc_int32_t before = 0, code, state = 0;
    struct sma_str line = slice(rest, 0, line_end(rest, 0));
    for (size_t at = 0; at < rest.len; at += len) {
        if (before ==
            '\n') { /* a new line begins here: the one before may have opened or closed a fence */
            fence = fence_after(fence, line);
            line = slice(rest, at, line_end(rest, at));
        }
        if (fence.marker.len > scan->marker_max)
            scan->marker_max = fence.marker.len;
        size_t wide = step(rest, at, &len, &code);
        bool is_break = code < 0 || before < 0 || at == 0 ||
                        utf8proc_grapheme_break_stateful(before, code, &state);
        if (code < 0 || before < 0)
            state = 0;
        if (at > 0) {
            scan->code_point = (struct cut){at, fence};
            if (is_break)
                note_place(scan, rest, at, before, fence);
        }
        scan->end = at;
        if (units + wide > units_max)
            return;
        units += wide;
        before = code;
    }
    scan->end = rest.len;
    scan->is_complete = true;
}

static struct cut choose(const struct scan *scan)
{
    size_t most = scan->end;
    if (scan->fence_start.at > most / 2 && scan->cluster.fence.marker.len != 0)
        return scan->fence_start;
    if (scan->paragraph.at > most / 10 * 6)
        return scan->paragraph;
    if (scan->line.at > most / 10 * 6)
        return scan->line;
    if (scan->space.at > most / 2)
        return scan->space;
    return scan->cluster.at > 0 ? scan->cluster : scan->code_point;
}

struct part_bytes
{
    char text[2 * FENCE_LINE_BYTES_MAX];
    struct sma_str str;
};

static void put_line(struct part_bytes *bytes, const char *before, struct sma_str line,
                     const char *after)
{
    size_t before_len = strlen(before), after_len = strlen(after);
    SMA_ASSERT(before_len + line.len + after_len <= sizeof bytes->text);
    memcpy(bytes->text, before, before_len);
    if (line.len > 0)
        memcpy(bytes->text + before_len, line.ptr, line.len);
    memcpy(bytes->text + before_len + line.len, after, after_len);
    bytes->str = (struct sma_str){bytes->text, before_len + line.len + after_len};
}

/* Prefix and suffix must leave most of a part to the text, or the text is cut as if it had no
 * fences. */
static bool is_fence_small(const struct fence *fence, size_t units_max)
{
    return fence->marker.len <= FENCE_LINE_BYTES_MAX &&
           (units_of(fence->line) + fence->marker.len + 2) * 2 <= units_max;
}

/* Cut one part off rest. *fence: open before, then open after. */
static size_t take_part(struct sma_str rest, size_t units_max, struct fence *fence,
                        struct sma_split_part *part, struct part_bytes room[2])
{
    room[0].str = room[1].str = (struct sma_str){"", 0};
    if (fence->marker.len != 0 && is_fence_small(fence, units_max))
        put_line(&room[0], "", fence->line, "\n");
    part->prefix = room[0].str;
    size_t budget = units_max - units_of(part->prefix);
    struct scan scan;
    scan_part(&scan, rest, budget, *fence);
    size_t reserve = scan.marker_max + 1;
    struct cut cut = scan.is_complete ? (struct cut){.at = rest.len} : choose(&scan);
    if (cut.fence.marker.len != 0 && is_fence_small(&cut.fence, units_max) &&
        reserve * 2 < budget) {
        /* the closing line needs room: look again with less, the cut may then fall before the
         * block */
        scan_part(&scan, rest, budget - reserve, *fence);
        cut = choose(&scan);
        if (cut.fence.marker.len != 0 && is_fence_small(&cut.fence, units_max)) {
            bool ends_line = rest.ptr[cut.at - 1] == '\n';
            put_line(&room[1], ends_line ? "" : "\n", cut.fence.marker, "");
        }
    }
    part->body = slice(rest, 0, cut.at);
    part->suffix = room[1].str;
    *fence = cut.fence;
    return cut.at;
}

enum sma_err sma_text_split(struct sma_str text, uint32_t units_max, sma_split_fn *each, void *user)
{
    if (units_max != 0 && units_max < SMA_SPLIT_UNITS_MIN)
        return SMA_ERR_BADINPUT;
    struct sma_split_part part = {{"", 0}, text, {"", 0}, 0};
    if (units_max == 0 && text.len > 0)
        each(user, &part);
    if (units_max == 0)
        return SMA_ERR_OK;
    struct fence fence = {{NULL, 0}, {NULL, 0}};
    struct part_bytes room[2];
    for (size_t at = 0; at < text.len; part.index++) {
        size_t taken = take_part(slice(text, at, text.len), units_max, &fence, &part, room);
        SMA_ASSERT(taken > 0);
        at += taken;
        each(user, &part);
    }
    return SMA_ERR_OK;
}
