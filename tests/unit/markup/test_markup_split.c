/*
 * Cutting marked text: seeded random Markdown, cut at random limits. For every cut: parts are
 * within their limits, in order, what lies between them is white space, no grapheme cluster is
 * broken, marks nest, and the marks of all parts put together are the marks of the whole.
 */
#include "runtime/markup/markup.h"
#include "support/check.h"

#include "sma/text.h"

#include <utf8proc.h>

#define ROUND_COUNT 1500
#define MARK_BYTES 48

static uint64_t seed = 0x9E3779B97F4A7C15u;

static size_t below(size_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % limit);
}

/* -- random Markdown --------------------------------------------------------------------------- */
static const char *const words[] = {"word",
                                    "a",
                                    "longerword",
                                    "中文字",
                                    "你好，世界。",
                                    "👩‍👩‍👧‍👦",
                                    "🇨🇳🇩🇪",
                                    "👍🏽",
                                    "e\xCC\x8A",
                                    "שלום",
                                    "ᄒ\xE1\x85\xA1\xE1\x86\xAB",
                                    "<&>\"",
                                    "नमस्ते",
                                    "x\xCD\x9Fy",
                                    "\\*",
                                    "1234567890123456789012345678901234567890"};
static const char *const openers[] = {"**", "*", "~~", "`", "***", "[", "_"};
static const char *const closers[] = {"**", "*", "~~", "`", "***", "](https://e.com/?a=1&b=2)",
                                      "_"};
static const char *const blocks[] = {"\n\n",
                                     "\n",
                                     "\n\n",
                                     "\n- ",
                                     "\n  - ",
                                     "\n1. ",
                                     "\n> ",
                                     "\n\n# ",
                                     "\n\n```c\n",
                                     "\n```\n",
                                     "\n\n| a | b |\n|---|---|\n| c | ",
                                     " |\n\n",
                                     "\n    ",
                                     "\n***\n",
                                     "\n> > "};

static void put_random(struct sma_buf *buf, size_t piece_count)
{
    size_t open[16], open_count = 0;
    for (size_t i = 0; i < piece_count; i++) {
        size_t what = below(20);
        if (what < 2 && open_count < SMA_COUNT_OF(open)) {
            open[open_count] = below(SMA_COUNT_OF(openers));
            sma_buf_put_text(buf, openers[open[open_count++]]);
        } else if (what < 4 && open_count > 0) {
            sma_buf_put_text(buf, closers[open[--open_count]]);
            sma_buf_put_char(buf, ' ');
        } else if (what == 4) {
            sma_buf_put_text(buf, blocks[below(SMA_COUNT_OF(blocks))]);
        } else {
            sma_buf_put_text(buf, words[below(SMA_COUNT_OF(words))]);
            if (below(4) > 0)
                sma_buf_put_char(buf, ' ');
        }
    }
}

/* -- what must hold ---------------------------------------------------------------------------- */
struct whole
{
    const struct sma_markup *markup;
    const struct sma_markup_limits *limits;
    uint8_t *marks;    /* of each byte: bit per kind, as put together from the parts */
    bool *is_boundary; /* of each byte: a grapheme cluster begins here */
    size_t end;        /* of the last part */
    uint32_t part_count;
};

static void find_boundaries(struct whole *whole)
{
    struct sma_str text = sma_buf_str(&whole->markup->text);
    utf8proc_int32_t before = -1, code, state = 0;
    for (size_t at = 0; at < text.len;) {
        utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                                (utf8proc_ssize_t)(text.len - at), &code);
        CHECK(len > 0);
        whole->is_boundary[at] =
            before < 0 || utf8proc_grapheme_break_stateful(before, code, &state);
        before = code;
        at += (size_t)len;
    }
    whole->is_boundary[text.len] = true;
}

static void check_gap(const struct whole *whole, size_t from, size_t to)
{
    CHECK(sma_text_is_blank((struct sma_str){whole->markup->text.ptr + from, to - from}));
}

static void check_nesting(const struct sma_markup_part *part)
{
    uint32_t ends[SMA_MARK_KIND_COUNT];
    uint8_t kinds[SMA_MARK_KIND_COUNT];
    size_t depth = 0;
    for (uint32_t i = 0; i < part->mark_count; i++) {
        const struct sma_mark *mark = &part->marks[i];
        CHECK(mark->from < mark->to && mark->to <= part->text.len);
        CHECK(i == 0 || mark->from >= part->marks[i - 1].from);
        while (depth > 0 && ends[depth - 1] <= mark->from)
            depth--;
        CHECK(depth == 0 || mark->to <= ends[depth - 1]);
        for (size_t outer = 0; outer < depth; outer++)
            CHECK(kinds[outer] != mark->kind && kinds[outer] != SMA_MARK_CODE &&
                  kinds[outer] != SMA_MARK_PRE);
        CHECK(depth < SMA_MARK_KIND_COUNT);
        kinds[depth] = mark->kind;
        ends[depth++] = mark->to;
    }
}

static size_t cost_of(const struct sma_markup_part *part)
{
    size_t cost = 0;
    for (size_t i = 0; i < part->text.len; i++)
        cost += strchr("&<>\"", part->text.ptr[i]) != NULL ? 6 : 1;
    for (uint32_t i = 0; i < part->mark_count; i++)
        cost += MARK_BYTES + part->marks[i].detail.len * 6;
    return cost;
}

static void take_part(void *user, const struct sma_markup_part *part)
{
    struct whole *whole = user;
    CHECK_INT(whole->part_count, part->index);
    whole->part_count++;
    CHECK(part->from >= whole->end);
    CHECK(part->text.ptr == whole->markup->text.ptr + part->from);
    check_gap(whole, whole->end, part->from);
    whole->end = part->from + part->text.len;
    CHECK(whole->end <= whole->markup->text.len);
    CHECK(!sma_text_is_blank(part->text) && sma_utf8_is_valid(part->text));
    CHECK(sma_utf16_length(part->text) <= whole->limits->units_max);
    CHECK(whole->limits->bytes_max == 0 || cost_of(part) <= whole->limits->bytes_max);
    CHECK(whole->is_boundary[part->from] && whole->is_boundary[whole->end]);
    check_nesting(part);
    for (uint32_t i = 0; i < part->mark_count; i++)
        for (uint32_t at = part->marks[i].from; at < part->marks[i].to; at++)
            whole->marks[part->from + at] |= (uint8_t)(1u << part->marks[i].kind);
}

static void check_marks(const struct whole *whole, const uint8_t *is_given)
{
    const struct sma_markup *markup = whole->markup;
    uint8_t *wanted = calloc(markup->text.len + 1, 1);
    CHECK(wanted != NULL);
    for (uint32_t i = 0; i < markup->mark_count; i++)
        for (uint32_t at = markup->marks[i].from; at < markup->marks[i].to; at++)
            wanted[at] |= (uint8_t)(1u << markup->marks[i].kind);
    for (size_t at = 0; at < markup->text.len; at++)
        CHECK(!is_given[at] || whole->marks[at] == wanted[at]);
    free(wanted);
}

/* Which bytes are in some part. */
static void note_given(void *user, const struct sma_markup_part *part)
{
    memset((uint8_t *)user + part->from, 1, part->text.len);
}

static void check_split(const struct sma_markup *markup, const struct sma_markup_limits *limits)
{
    struct whole whole = {.markup = markup, .limits = limits};
    whole.marks = calloc(markup->text.len + 1, 1);
    whole.is_boundary = calloc(markup->text.len + 1, sizeof(bool));
    uint8_t *is_given = calloc(markup->text.len + 1, 1);
    CHECK(whole.marks != NULL && whole.is_boundary != NULL && is_given != NULL);
    find_boundaries(&whole);
    CHECK_OK(sma_markup_split(markup, limits, take_part, &whole));
    check_gap(&whole, whole.end, markup->text.len);
    CHECK_OK(sma_markup_split(markup, limits, note_given, is_given));
    check_marks(&whole, is_given);
    free(whole.marks);
    free(whole.is_boundary);
    free(is_given);
}

CASE(parts_put_together_are_the_whole)
{
    SMA_AUTO(sma_markup_fini) struct sma_markup markup;
    struct sma_buf source;
    sma_markup_init(&markup);
    sma_buf_init(&source, 1 << 20);
    size_t parted = 0;
    for (int round = 0; round < ROUND_COUNT; round++) {
        sma_buf_clear(&source);
        put_random(&source, 1 + below(round % 50 == 0 ? 3000 : 120));
        CHECK_OK(sma_markup_parse(&markup, sma_buf_str(&source), NULL));
        struct sma_markup_limits limits = {
            .units_max = (uint32_t)(64 + below(400))}; /* a cluster always fits */
        if (below(4) == 0)
            limits = (struct sma_markup_limits){(uint32_t)(500 + below(4000)), 16384, MARK_BYTES};
        check_split(&markup, &limits);
        parted += markup.text.len > limits.units_max;
    }
    CHECK(parted > ROUND_COUNT / 3); /* the test does cut */
    sma_buf_fini(&source);
}

/* -- chosen places ----------------------------------------------------------------------------- */
struct texts
{
    struct sma_buf all; /* parts joined by '|' */
};

static void join(void *user, const struct sma_markup_part *part)
{
    struct texts *texts = user;
    if (part->index > 0)
        sma_buf_put_char(&texts->all, '|');
    sma_buf_put_str(&texts->all, part->text);
}

static void expect(const char *source, uint32_t units_max, const char *wanted)
{
    struct sma_markup markup;
    struct texts texts;
    struct sma_markup_limits limits = {.units_max = units_max};
    sma_buf_init(&texts.all, 1 << 16);
    sma_markup_init(&markup);
    CHECK_OK(sma_markup_parse(&markup, sma_str(source), NULL));
    CHECK_OK(sma_markup_split(&markup, &limits, join, &texts));
    CHECK_STR(wanted, sma_buf_str(&texts.all));
    sma_markup_fini(&markup);
    sma_buf_fini(&texts.all);
}

CASE(cuts_fall_at_the_best_place)
{
    expect("aaaa bbbb cccc d", 16, "aaaa bbbb cccc d");
    expect("aaaa bbbb cccc dd", 16, "aaaa bbbb cccc|dd");
    expect("aaaa bbbbbb\n\ncc dd ee", 16, "aaaa bbbbbb|cc dd ee");
    expect("aaaa bbbbbb\ncc dd ee", 16, "aaaa bbbbbb|cc dd ee");
    expect("abcdefghijklmnopqrstuvwxyz", 16, "abcdefghijklmnop|qrstuvwxyz");
    expect("一二三四五六七八九。一二三四五六七八", 16, "一二三四五六七八九。|一二三四五六七八");
    expect("aaaaaaaa [bb cc dd ee](http://x) ffff", 20, "aaaaaaaa bb cc dd ee|ffff");
    expect("aaaaaaaaaa aa [bb cc dd ee](http://x)", 20, "aaaaaaaaaa aa|bb cc dd ee");
}

CASE(code_is_cut_before_it_or_at_line_ends)
{
    expect("intro text\n\n```\nline one\nline two\n```", 24, "intro text|line one\nline two");
    expect("```\n  one\n    two\n      three\n```", 20, "  one\n    two|      three");
}

CASE(clusters_longer_than_a_part_are_cut_between_code_points)
{
    char source[2 + 40 * 2 + 1] = "xa";
    for (int i = 0; i < 40; i++)
        memcpy(source + 2 + i * 2, "\xCC\x8A", 2);
    struct sma_markup markup;
    struct sma_markup_limits limits = {.units_max = 16};
    struct texts texts;
    sma_buf_init(&texts.all, 4096);
    sma_markup_init(&markup);
    CHECK_OK(sma_markup_set_plain(&markup, sma_str(source)));
    CHECK_OK(sma_markup_split(&markup, &limits, join, &texts));
    CHECK(sma_utf8_is_valid(sma_buf_str(&texts.all)));
    CHECK(texts.all.len >= strlen(source) + 3); /* nothing lost, three cuts or more */
    sma_markup_fini(&markup);
    sma_buf_fini(&texts.all);
}

CASE(limits_below_their_minimum_are_refused)
{
    SMA_AUTO(sma_markup_fini) struct sma_markup markup;
    struct sma_markup_limits limits = {.units_max = SMA_MARKUP_UNITS_MIN - 1};
    sma_markup_init(&markup);
    CHECK_OK(sma_markup_set_plain(&markup, SMA_STR("x")));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_markup_split(&markup, &limits, join, NULL));
    limits = (struct sma_markup_limits){.bytes_max = 16383};
    CHECK_ERR(SMA_ERR_BADINPUT, sma_markup_split(&markup, &limits, join, NULL));
}

CASES_MAIN
