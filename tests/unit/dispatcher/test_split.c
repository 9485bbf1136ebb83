/*
 * Aim: a text of any kind is cut into parts a platform takes, and nothing of it is lost, doubled or
 * broken.
 * Method: named cases for each rule, then random texts of hard pieces at many limits against the
 * invariants.
 */
#include "runtime/delivery/split.h"
#include "sma/buf.h"
#include "sma/text.h"
#include "support/check.h"

#include <utf8proc.h>

#define PART_COUNT_MAX 70000

struct collected
{
    struct sma_buf bodies;
    struct sma_str bodies_of[PART_COUNT_MAX];
    char *wholes[PART_COUNT_MAX];
    uint32_t count;
    uint32_t units_max;
};

static struct collected got;

static void collect(void *user, const struct sma_split_part *part)
{
    CHECK(user == &got);
    CHECK_INT(got.count, part->index);
    CHECK(got.count < PART_COUNT_MAX);
    CHECK(part->body.len > 0);
    struct sma_buf whole;
    sma_buf_init(&whole, SIZE_MAX / 2);
    sma_buf_put_str(&whole, part->prefix);
    sma_buf_put_str(&whole, part->body);
    sma_buf_put_str(&whole, part->suffix);
    if (got.units_max != 0)
        CHECK(sma_utf16_length(sma_buf_str(&whole)) <= got.units_max);
    sma_buf_put_str(&got.bodies, part->body);
    got.bodies_of[got.count] = part->body;
    got.wholes[got.count++] = sma_buf_take(&whole);
}

static void split(struct sma_str text, uint32_t units_max)
{
    for (uint32_t i = 0; i < got.count; i++)
        free(got.wholes[i]);
    got.count = 0;
    got.units_max = units_max;
    sma_buf_fini(&got.bodies);
    sma_buf_init(&got.bodies, SIZE_MAX / 2);
    CHECK_OK(sma_text_split(text, units_max, collect, &got));
    CHECK(sma_str_is_equal(text, sma_buf_str(&got.bodies)));
}

static void repeat(struct sma_buf *buf, const char *piece, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sma_buf_put_text(buf, piece);
}

CASE(limits_at_one_less_equal_one_more)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 10000);
    repeat(&buf, "x", 4095);
    split(sma_buf_str(&buf), 4096);
    CHECK_INT(1, got.count);
    repeat(&buf, "x", 1);
    split(sma_buf_str(&buf), 4096);
    CHECK_INT(1, got.count);
    repeat(&buf, "x", 1);
    split(sma_buf_str(&buf), 4096);
    CHECK_INT(2, got.count);
    CHECK_INT(4096, got.bodies_of[0].len);
}

CASE(units_are_utf16)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 10000);
    repeat(&buf, "\xF0\x9F\x98\x80", 8); /* two units each */
    split(sma_buf_str(&buf), 16);
    CHECK_INT(1, got.count);
    sma_buf_put_text(&buf, "a");
    split(sma_buf_str(&buf), 16);
    CHECK_INT(2, got.count);
    split(sma_buf_str(&buf), 17);
    CHECK_INT(1, got.count);
}

CASE(empty_and_unlimited)
{
    split(SMA_STR(""), 100);
    CHECK_INT(0, got.count);
    split(SMA_STR(""), 0);
    CHECK_INT(0, got.count);
    split(SMA_STR("any\nlength"), 0);
    CHECK_INT(1, got.count);
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_text_split(SMA_STR("a"), SMA_SPLIT_UNITS_MIN - 1, collect, &got));
}

CASE(prefers_paragraph_then_line_then_word)
{
    split(SMA_STR("one two three four\n\nfive six seven"), 24);
    CHECK_STR("one two three four\n\n", got.bodies_of[0]);
    split(SMA_STR("one two three four\nfive six seven"), 24);
    CHECK_STR("one two three four\n", got.bodies_of[0]);
    split(SMA_STR("one two three four five six seven"), 20);
    CHECK_STR("one two three four ", got.bodies_of[0]);
    split(SMA_STR("\xE4\xB8\x80\xE4\xB8\x80\xE4\xB8\x80\xE4\xB8\x80\xE4\xB8\x80\xE4\xB8\x80\xE4\xB8"
                  "\x80\xE4\xB8\x80"
                  "\xE4\xB8\x80\xE3\x80\x82\xE4\xB8\x80\xE4\xB8\x80\xE4\xB8\x80\xE4\xB8\x80\xE4\xB8"
                  "\x80\xE4\xB8\x80\xE4\xB8\x80"),
          16); /* Chinese: after the full stop */
    CHECK_INT(30, got.bodies_of[0].len);
}

CASE(keeps_clusters_whole)
{
    static const char *const clusters[] = {
        /* family, zero width joiners */
        "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7",
        "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA", /* flag: two indicators */
        "e\xCC\x81\xCC\xA3",                /* e with two marks */
        "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD", /* thumb, skin tone */
        "\r\n",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(clusters); i++) {
        struct sma_buf buf;
        sma_buf_init(&buf, 10000);
        repeat(&buf, clusters[i], 50);
        for (uint32_t max = 16; max < 40; max++) {
            split(sma_buf_str(&buf), max);
            for (uint32_t part = 0; part < got.count; part++)
                CHECK_INT(0, got.bodies_of[part].len % strlen(clusters[i]));
        }
        sma_buf_fini(&buf);
    }
}

CASE(a_cluster_longer_than_a_part_is_cut_between_code_points)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 10000);
    sma_buf_put_text(&buf, "e");
    repeat(&buf, "\xCC\x81", 500);
    split(sma_buf_str(&buf), 20);
    for (uint32_t i = 0; i < got.count; i++)
        CHECK(sma_utf8_is_valid(got.bodies_of[i]));
}

CASE(a_fence_is_closed_and_opened_again)
{
    split(SMA_STR("```python\nprint(1)\nprint(2)\nprint(3)\nprint(4)\nprint(5)\n```\nafter"), 50);
    CHECK(got.count >= 2);
    CHECK_TEXT("```python\nprint(1)\nprint(2)\nprint(3)\nprint(4)\n```", got.wholes[0]);
    CHECK_TEXT("```python\nprint(5)\n```\nafter", got.wholes[1]);
    /* in the middle of a line: the closing fence stands on a line of its own */
    split(SMA_STR("~~~\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n~~~\n"), 40);
    for (uint32_t i = 0; i < 1; i++)
        CHECK(strcmp("\n~~~", got.wholes[i] + strlen(got.wholes[i]) - 4) == 0);
    CHECK(strncmp("~~~\na", got.wholes[1], 5) == 0);
}

CASE(a_cut_falls_before_a_block_rather_than_into_it)
{
    split(SMA_STR("some words before the block\n```\ncode code code\ncode code code\n```\n"), 45);
    CHECK_STR("some words before the block\n", got.bodies_of[0]);
    CHECK(strncmp("```\ncode", got.wholes[1], 8) == 0);
}

/* Every part must show balanced fences when the whole text does. */
static void check_balance(const char *whole)
{
    unsigned fences = 0;
    for (const char *line = whole; line != NULL && *line != '\0';) {
        fences += strncmp(line, "```", 3) == 0;
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    CHECK_INT(0, fences % 2);
}

CASE(fences_are_balanced_in_every_part)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 1000000);
    for (int i = 0; i < 40; i++) {
        repeat(&buf, "Some prose that goes on for a while. ", (size_t)(i % 5));
        sma_buf_put_text(&buf, "\n```c\n");
        repeat(&buf, "int x = 1;\n", (size_t)(i % 17));
        sma_buf_put_text(&buf, "```\n");
    }
    for (uint32_t max = 60; max < 400; max++) {
        split(sma_buf_str(&buf), max);
        for (uint32_t i = 0; i < got.count; i++)
            check_balance(got.wholes[i]);
    }
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Invalid UTF-8 among the pieces: bodies must still join, and terminate. */
CASE(random_texts_join_exactly)
{
    static const char *const pieces[] = {
        "word ",
        "\n",
        "\n\n",
        "```",
        "```c\n",
        "```\n",
        "~~~~\n",
        "\xF0\x9F\x98\x80",
        "\xE4\xB8\xAD",
        "\xFF",
        "\xE4\xB8",
        "e\xCC\x81",
        "\xF0\x9F\x87\xA9",
        "\xE2\x80\x8D",
        "\r\n",
        "    ",
        "averyveryveryverylongwordindeed",
        "\xE3\x80\x82",
        "\x01",
        "`x`",
        "``````````````````````````````````````````````````````````````````````````\n",
        "```abcdefghijklmnop`\n",
    };
    uint64_t seed = 88172645463325252ull;
    for (int round = 0; round < 1500; round++) {
        struct sma_buf buf;
        sma_buf_init(&buf, 1000000);
        size_t count = random_next(&seed) % 200;
        for (size_t i = 0; i < count; i++)
            sma_buf_put_text(&buf, pieces[random_next(&seed) % SMA_COUNT_OF(pieces)]);
        split(sma_buf_str(&buf), (uint32_t)(16 + random_next(&seed) % 100));
        sma_buf_fini(&buf);
    }
}

CASE(a_megabyte_without_a_line_end_is_linear)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 2000000);
    repeat(&buf, "x", 1024 * 1024);
    split(sma_buf_str(&buf), 16);
    CHECK_INT(65536, got.count);
}

int main(void)
{
    check_run_cases(NULL);
    split(SMA_STR(""), 0);
    sma_buf_fini(&got.bodies);
    return check_summary();
}
