/*
 * diff.c — a unified diff of two texts, for people who are asked. See file_tools.h.
 *
 * Common lines at both ends are set aside; between them the shortest way is searched (Myers, "An
 * O(ND) Difference Algorithm",
 * 1986) as long as it is short; a longer change is shown as all old lines out, all new lines in.
 */
#include "runtime/files/file_tools.h"

#include "sma/text.h"

#include <stdlib.h>

#define DISTANCE_MAX 200 /* lines out and in that are searched for; memory grows with its square */
#define CONTEXT_LINES 3

struct lines
{
    struct sma_str *items; /* with their line ends */
    size_t count;
};

enum op
{
    OP_SAME,
    OP_OUT,
    OP_IN,
};
struct script
{
    uint8_t *ops; /* enum op */
    size_t count;
};

static bool split(const char *text, struct lines *lines)
{
    size_t len = text == NULL ? 0 : strlen(text), cap = 1;
    for (size_t i = 0; i < len; i++)
        cap += text[i] == '\n';
    lines->items = calloc(cap, sizeof *lines->items);
    if (lines->items == NULL)
        return false;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t next = end == NULL ? len : (size_t)(end + 1 - text);
        lines->items[lines->count++] = (struct sma_str){text + at, next - at};
        at = next;
    }
    return true;
}

/* Walk the recorded frontiers back to the beginning. trace: for each distance d, the row of 2d+1
 * furthest points. */
static void walk_back(const int *trace, int distance, size_t old_count, size_t new_count,
                      struct script *script, size_t at)
{
    int x = (int)old_count, y = (int)new_count;
    for (int d = distance; d > 0; d--) {
        const int *row =
            trace + (size_t)(d - 1) * (size_t)(d - 1); /* of distance d - 1: k = -(d-1)..d-1 */
        int k = x - y;
        bool is_in = k == -d || (k != d && row[k - 1 + (d - 1)] < row[k + 1 + (d - 1)]);
        if (d == 1)
            is_in = k == -1;
        int from_k = is_in ? k + 1 : k - 1;
        int from_x = row[from_k + (d - 1)];
        int from_y = from_x - from_k;
        int start_x = is_in ? from_x : from_x + 1;
        for (; x > start_x; x--, y--)
            script->ops[--at] = OP_SAME;
        script->ops[--at] = is_in ? OP_IN : OP_OUT;
        x = from_x;
        y = from_y;
    }
    for (; x > 0; x--)
        script->ops[--at] = OP_SAME;
}

/* The shortest script for the middle, appended to script; false: longer than DISTANCE_MAX. Row d of
 * the trace holds the furthest x on the diagonals -d..d and begins at d*d. */
static bool find_script(const struct sma_str *old_lines, size_t old_count,
                        const struct sma_str *new_lines, size_t new_count, struct script *script)
{
    int *trace = malloc(sizeof *trace * (DISTANCE_MAX + 1) * (DISTANCE_MAX + 1));
    bool is_found = false;
    for (int d = 0; trace != NULL && !is_found && d <= DISTANCE_MAX; d++) {
        int *row = trace + (size_t)d * (size_t)d;
        const int *last = d == 0 ? NULL : trace + (size_t)(d - 1) * (size_t)(d - 1);
        for (int k = -d; k <= d && !is_found; k += 1) {
            int x = 0;
            if (((k + d) & 1) != 0) { /* not reached with this distance */
                row[k + d] = -1;
                continue;
            }
            if (d > 0) {
                int in_x = k + 1 <= d - 1 ? last[k + 1 + d - 1] : -1;
                int out_x = k - 1 >= -(d - 1) ? last[k - 1 + d - 1] : -1;
                bool is_in = k == -d || (k != d && out_x < in_x);
                x = is_in ? in_x : out_x + 1;
            }
            int y = x - k;
            while (x >= 0 && y >= 0 && (size_t)x < old_count && (size_t)y < new_count &&
                   sma_str_is_equal(old_lines[x], new_lines[y])) {
                x++;
                y++;
            }
            row[k + d] = x;
            if ((size_t)x >= old_count && y >= 0 && (size_t)y >= new_count) {
                size_t total = (old_count + new_count + (size_t)d) / 2; /* same + out + in */
                walk_back(trace, d, old_count, new_count, script, script->count + total);
                script->count += total;
                is_found = true;
            }
        }
    }
    free(trace);
    return is_found;
}

static bool make_script(const struct lines *before, const struct lines *after,
                        struct script *script)
{
    script->ops = calloc(before->count + after->count + 1, 1);
    if (script->ops == NULL)
        return false;
    size_t head = 0, tail = 0;
    size_t least = before->count < after->count ? before->count : after->count;
    while (head < least && sma_str_is_equal(before->items[head], after->items[head]))
        head++;
    while (tail < least - head && sma_str_is_equal(before->items[before->count - 1 - tail],
                                                   after->items[after->count - 1 - tail]))
        tail++;
    size_t old_count = before->count - head - tail, new_count = after->count - head - tail;
    script->count = head; /* OP_SAME is 0 */
    if (!find_script(before->items + head, old_count, after->items + head, new_count, script)) {
        memset(script->ops + script->count, OP_OUT, old_count);
        memset(script->ops + script->count + old_count, OP_IN, new_count);
        script->count += old_count + new_count;
    }
    memset(script->ops + script->count, OP_SAME, tail);
    script->count += tail;
    return true;
}

static void put_line(struct sma_buf *buf, char mark, struct sma_str line)
{
    sma_buf_put_char(buf, mark);
    bool has_end = line.len > 0 && line.ptr[line.len - 1] == '\n';
    sma_buf_put_str(buf, line);
    if (!has_end)
        sma_buf_put_text(buf, "\n\\ No newline at end of file\n");
}

/* One hunk: the operations [from, to). x and y: lines before it in both texts. */
static void put_hunk(struct sma_buf *buf, const struct lines *before, const struct lines *after,
                     const struct script *script, size_t from, size_t to, size_t x, size_t y)
{
    size_t old_count = 0, new_count = 0;
    for (size_t i = from; i < to; i++) {
        old_count += script->ops[i] != OP_IN;
        new_count += script->ops[i] != OP_OUT;
    }
    sma_buf_printf(buf, "@@ -%zu,%zu +%zu,%zu @@\n", x + (old_count > 0), old_count,
                   y + (new_count > 0), new_count);
    for (size_t i = from; i < to; i++) {
        if (script->ops[i] == OP_IN)
            put_line(buf, '+', after->items[y++]);
        else
            put_line(buf, script->ops[i] == OP_OUT ? '-' : ' ', before->items[x++]);
        y += script->ops[i] == OP_SAME;
    }
}

/* The end of the hunk whose first change is at `at`: changes nearer than two contexts belong
 * together. */
static size_t find_hunk_end(const struct script *script, size_t at)
{
    size_t last = at;
    for (size_t i = at; i < script->count && i <= last + 2 * CONTEXT_LINES; i++)
        if (script->ops[i] != OP_SAME)
            last = i;
    return last + 1 + CONTEXT_LINES < script->count ? last + 1 + CONTEXT_LINES : script->count;
}

static void put_hunks(struct sma_buf *buf, const struct lines *before, const struct lines *after,
                      const struct script *script, size_t max)
{
    size_t x = 0, y = 0, at = 0; /* lines of both texts before operation `at` */
    while (at < script->count && buf->len <= max && buf->err == SMA_ERR_OK) {
        size_t change = at;
        while (change < script->count && script->ops[change] == OP_SAME)
            change++;
        if (change == script->count)
            return;
        size_t from = change - at > CONTEXT_LINES ? change - CONTEXT_LINES : at;
        size_t to = find_hunk_end(script, change);
        x += from - at;
        y += from - at;
        put_hunk(buf, before, after, script, from, to, x, y);
        for (at = from; at < to; at++) {
            x += script->ops[at] != OP_IN;
            y += script->ops[at] != OP_OUT;
        }
    }
}

void sma_file_tools_put_diff(struct sma_buf *buf, struct sma_str path, const char *before,
                             const char *after, size_t max)
{
    struct lines old_lines = {0}, new_lines = {0};
    struct script script = {0};
    struct sma_buf diff;
    size_t room = (before == NULL ? 0 : strlen(before)) + strlen(after);
    sma_buf_init(&diff, room * 3 + path.len * 2 + 4096);
    sma_buf_put_text(&diff, before == NULL ? "--- /dev/null\n+++ b/" : "--- a/");
    sma_buf_put_str(&diff, path);
    if (before != NULL) {
        sma_buf_put_text(&diff, "\n+++ b/");
        sma_buf_put_str(&diff, path);
    }
    sma_buf_put_char(&diff, '\n');
    if (split(before, &old_lines) && split(after, &new_lines) &&
        make_script(&old_lines, &new_lines, &script))
        put_hunks(&diff, &old_lines, &new_lines, &script, max);
    else
        sma_buf_put_text(&diff, "(no memory to compare)\n");
    struct sma_str whole = sma_buf_str(&diff);
    if (whole.len > max) {
        size_t cut = sma_utf8_cut(whole, max > 4 ? max - 4 : 0);
        sma_buf_put(buf, whole.ptr, cut);
        sma_buf_put_text(buf, "\n...");
    } else {
        sma_buf_put_str(buf, whole);
    }
    sma_buf_fini(&diff);
    free(script.ops);
    free(old_lines.items);
    free(new_lines.items);
}
