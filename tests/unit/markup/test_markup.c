/* Markdown into flat text and marks: what the golden files of a platform do not show. */
#include "runtime/markup/markup.h"
#include "support/check.h"

#include "sma/text.h"

static struct sma_markup markup;

static void parse(const char *source)
{
    CHECK_OK(sma_markup_parse(&markup, sma_str(source), NULL));
}

static void check_mark(uint32_t index, enum sma_mark_kind kind, const char *text,
                       const char *detail)
{
    CHECK(index < markup.mark_count);
    const struct sma_mark *mark = &markup.marks[index];
    CHECK_INT(kind, mark->kind);
    CHECK_STR(text, ((struct sma_str){markup.text.ptr + mark->from, mark->to - mark->from}));
    CHECK_STR(detail, mark->detail);
}

CASE(marks_name_their_ranges)
{
    parse("a **b *c* d** [e `f`](http://g) ~~h~~\n\n> i\n\n```c\nj\n```");
    CHECK_STR("a b c d e f h\n\ni\n\nj", sma_buf_str(&markup.text));
    CHECK_INT(7, markup.mark_count);
    check_mark(0, SMA_MARK_BOLD, "b c d", "");
    check_mark(1, SMA_MARK_ITALIC, "c", "");
    check_mark(2, SMA_MARK_LINK, "e f", "http://g");
    check_mark(3, SMA_MARK_CODE, "f", "");
    check_mark(4, SMA_MARK_STRIKE, "h", "");
    check_mark(5, SMA_MARK_QUOTE, "i", "");
    check_mark(6, SMA_MARK_PRE, "j", "c");
    CHECK(!markup.is_plain);
}

CASE(empty_marks_vanish)
{
    parse("a [](x) >\n\n>\n\n#\n\n- \n\nb ****");
    for (uint32_t i = 0; i < markup.mark_count; i++)
        CHECK(markup.marks[i].from < markup.marks[i].to);
}

CASE(a_text_of_which_nothing_would_be_seen_is_kept)
{
    static const char *const texts[] = {"***", "---\n***", "[a]: http://b", "&nbsp;", "```\n```",
                                        "#",   "> ",       "&#8203;",       ">>>",    "- \n- "};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        parse(texts[i]);
        CHECK(markup.is_plain);
        CHECK_STR(texts[i], sma_buf_str(&markup.text));
        CHECK_INT(0, markup.mark_count);
    }
}

CASE(schemes_are_the_callers)
{
    static const char *const schemes[] = {"gopher:", NULL};
    struct sma_markup_options options = {schemes};
    CHECK_OK(sma_markup_parse(&markup, SMA_STR("[a](gopher://b) [c](https://d)"), &options));
    CHECK_STR("a c (https://d)", sma_buf_str(&markup.text));
    CHECK_INT(1, markup.mark_count);
}

static struct sma_str repeat(const char *text, size_t bytes)
{
    size_t len = strlen(text);
    char *all = malloc(bytes + 1);
    CHECK(all != NULL);
    for (size_t i = 0; i < bytes; i++)
        all[i] = text[i % len];
    return (struct sma_str){all, bytes};
}

CASE(a_source_over_its_limit_is_kept)
{
    for (size_t bytes = SMA_MARKUP_SOURCE_BYTES_MAX - 1; bytes <= SMA_MARKUP_SOURCE_BYTES_MAX + 1;
         bytes++) {
        struct sma_str source = repeat("**a** ", bytes);
        CHECK_OK(sma_markup_parse(&markup, source, NULL));
        CHECK(markup.is_plain ==
              (bytes > SMA_MARKUP_SOURCE_BYTES_MAX || bytes / 6 > SMA_MARKUP_COUNT_MAX));
        free((void *)(uintptr_t)source.ptr);
    }
}

CASE(marks_over_their_limit_leave_the_text_plain)
{
    struct sma_str source = repeat("*a* ", (SMA_MARKUP_COUNT_MAX + 1) * 4);
    CHECK_OK(
        sma_markup_parse(&markup, (struct sma_str){source.ptr, SMA_MARKUP_COUNT_MAX * 4}, NULL));
    CHECK(!markup.is_plain);
    CHECK_INT(SMA_MARKUP_COUNT_MAX, markup.mark_count);
    CHECK_OK(sma_markup_parse(&markup, source, NULL));
    CHECK(markup.is_plain && sma_str_is_equal(source, sma_buf_str(&markup.text)));
    free((void *)(uintptr_t)source.ptr);
}

CASE(a_long_target_stands_in_the_text)
{
    for (size_t bytes = SMA_MARKUP_TARGET_BYTES_MAX - 1; bytes <= SMA_MARKUP_TARGET_BYTES_MAX + 1;
         bytes++) {
        struct sma_str target = repeat("http://e/", bytes);
        struct sma_buf source;
        sma_buf_init(&source, 4096);
        sma_buf_printf(&source, "[x](%.*s)", (int)target.len, target.ptr);
        CHECK_OK(sma_markup_parse(&markup, sma_buf_str(&source), NULL));
        CHECK_INT(bytes <= SMA_MARKUP_TARGET_BYTES_MAX, markup.mark_count);
        CHECK_INT(bytes <= SMA_MARKUP_TARGET_BYTES_MAX ? 1 : bytes + 4, markup.text.len);
        sma_buf_fini(&source);
        free((void *)(uintptr_t)target.ptr);
    }
}

CASE(columns_over_their_limit_leave_the_text_plain)
{
    for (unsigned columns = 63; columns <= 65; columns++) {
        struct sma_buf source;
        sma_buf_init(&source, 4096);
        for (unsigned row = 0; row < 2; row++) {
            for (unsigned i = 0; i < columns; i++)
                sma_buf_put_text(&source, row == 0 ? "|a" : "|---");
            sma_buf_put_text(&source, "|\n");
        }
        CHECK_OK(sma_markup_parse(&markup, sma_buf_str(&source), NULL));
        CHECK(markup.is_plain == (columns > 64));
        sma_buf_fini(&source);
    }
}

CASE(a_table_that_grows_without_end_is_kept)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf source;
    sma_buf_init(&source, SMA_MARKUP_SOURCE_BYTES_MAX);
    for (unsigned row = 0; row < 2; row++) {
        for (unsigned i = 0; i < 60; i++)
            sma_buf_put_text(&source, row == 0 ? "|a" : "|---");
        sma_buf_put_text(&source, "|\n");
    }
    while (source.len < SMA_MARKUP_SOURCE_BYTES_MAX - 8)
        sma_buf_put_text(&source, "|\n");
    CHECK_OK(sma_markup_parse(&markup, sma_buf_str(&source), NULL));
    CHECK(markup.is_plain && sma_str_is_equal(sma_buf_str(&source), sma_buf_str(&markup.text)));
}

CASE(blank_means_nothing_to_see)
{
    CHECK(sma_text_is_blank(SMA_STR("")));
    CHECK(sma_text_is_blank(
        SMA_STR(" \n\t\r\xC2\xA0\xE2\x80\x8B\xE3\x80\x80\xEF\xBB\xBF\xE2\x81\xA0")));
    CHECK(!sma_text_is_blank(SMA_STR("  .")));
    CHECK(!sma_text_is_blank(SMA_STR("\xFF")));
}

int main(void)
{
    sma_markup_init(&markup);
    check_run_cases(NULL);
    sma_markup_fini(&markup);
    return check_summary();
}
