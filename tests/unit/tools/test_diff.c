/*
 * Aim: a diff shows the change: applied to the old text it gives the new one, always; it is small
 * for small changes and bounded.
 * Method: goldens; seeded random texts with a patcher of its own.
 */
#include "runtime/files/file_tools.h"
#include "sma/text.h"
#include "support/check.h"

static char *diff_of(const char *before, const char *after, size_t max)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 22);
    sma_file_tools_put_diff(&buf, SMA_STR("a.txt"), before, after, max);
    CHECK(buf.err == SMA_ERR_OK);
    CHECK(buf.len <= max);
    char *text = sma_buf_take(&buf);
    CHECK(text != NULL);
    sma_buf_fini(&buf);
    return text;
}

CASE(small_changes_are_small)
{
    static const struct
    {
        const char *before, *after, *diff;
    } rows[] = {
        {NULL, "x\n", "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+x\n"},
        {"x\n", "", "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +0,0 @@\n-x\n"},
        {"x\n", "x\n", "--- a/a.txt\n+++ b/a.txt\n"},
        {"x", "x\n",
         "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+x\n"},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
         "--- a/a.txt\n+++ b/a.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
        {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
         "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n "
         "7\n-b\n+B\n"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char *diff = diff_of(rows[i].before, rows[i].after, 10000);
        CHECK_STR(rows[i].diff, sma_str(diff));
        free(diff);
    }
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    CHECK(end != NULL);
    return end + 1;
}

/* Apply a diff the plain way; every kept and every removed line must stand in the old text. */
static char *patch(const char *before, const char *diff)
{
    struct sma_buf out;
    sma_buf_init(&out, 1 << 22);
    const char *old = before, *at = next_line(next_line(diff));
    size_t old_line = 1;
    while (*at != '\0') {
        size_t from, count, to, to_count;
        CHECK(sscanf(at, "@@ -%zu,%zu +%zu,%zu @@", &from, &count, &to, &to_count) == 4);
        from += count == 0;
        for (; old_line < from; old_line++) {
            const char *next = next_line(old);
            sma_buf_put(&out, old, (size_t)(next - old));
            old = next;
        }
        for (at = next_line(at); *at != '\0' && *at != '@'; at = next_line(at)) {
            size_t len = (size_t)(next_line(at) - at) - 1;
            bool has_end = at[len + 1] != '\\';
            size_t text_len = has_end ? len : len - 1;
            if (*at != '+') {
                CHECK(strncmp(old, at + 1, text_len) == 0);
                old += text_len;
                old_line++;
                count--;
            }
            if (*at != '-') {
                sma_buf_put(&out, at + 1, text_len);
                to_count--;
            }
            if (!has_end)
                at = next_line(at);
        }
        CHECK_INT(0, count);
        CHECK_INT(0, to_count);
    }
    sma_buf_put_text(&out, old);
    sma_buf_put_text(&out, "");
    char *text = out.len == 0 ? strdup("") : sma_buf_take(&out);
    CHECK(text != NULL);
    sma_buf_fini(&out);
    return text;
}

static uint32_t state = 12345;
static uint32_t chance(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void put_random(char *text, size_t line_count, uint32_t alphabet)
{
    size_t len = 0;
    for (size_t i = 0; i < line_count; i++) {
        for (uint32_t k = chance(3); k > 0; k--)
            text[len++] = (char)('a' + chance(alphabet));
        text[len++] = '\n';
    }
    if (len > 0 && chance(3) == 0)
        len--;
    text[len] = '\0';
}

CASE(every_diff_gives_the_new_text)
{
    for (int i = 0; i < 3000; i++) {
        char before[4000], after[4000];
        uint32_t alphabet = 1 + chance(4);
        put_random(before, chance(i % 10 == 0 ? 800 : 12), alphabet);
        if (chance(2) == 0)
            put_random(after, chance(i % 10 == 0 ? 800 : 12), alphabet);
        else { /* the same with some of it gone, doubled, changed */
            size_t len = 0;
            for (const char *at = before; *at != '\0' && len < sizeof after - 10; at++) {
                uint32_t what = chance(20);
                if (what != 0)
                    after[len++] = *at;
                if (what == 1)
                    after[len++] = '\n';
            }
            after[len] = '\0';
        }
        char *diff = diff_of(before, after, 1 << 20);
        char *patched = patch(before, diff);
        CHECK_STR(after, sma_str(patched));
        free(patched);
        free(diff);
    }
}

CASE(long_changes_are_cut)
{
    char *before = malloc(1 << 20), *after = malloc(1 << 20);
    CHECK(before != NULL && after != NULL);
    size_t len = 0;
    for (int i = 0; i < 20000; i++) {
        len += (size_t)snprintf(before + len, 32, "line %d\n", i);
    }
    len = 0;
    for (int i = 0; i < 20000; i++)
        len += (size_t)snprintf(after + len, 32, "other \xe4\xbd\xa0 %d\n", i);
    char *diff = diff_of(before, after, 3000);
    CHECK(strlen(diff) > 2900);
    CHECK_STR("\n...", sma_str(diff + strlen(diff) - 4));
    CHECK(sma_utf8_is_valid(sma_str(diff)));
    free(diff);
    free(before);
    free(after);
}

CASES_MAIN
