/* Aim: what was said is not said twice, and what says more, or something else, is never
 * swallowed. */
#include "runtime/agent/same_text.h"
#include "support/check.h"

#include <stdlib.h>

struct row
{
    const char *text, *said;
};

static bool is_said(const char *text, const char *said)
{
    return sma_text_is_said(sma_str(text), sma_str(said), 0);
}

CASE(the_same_in_other_clothes_is_said)
{
    static const struct row rows[] = {
        {"Done.", "Done"},
        {"done!", "**Done.**"},
        {"The build  passed", "The build\npassed."},
        {"## Result\n\n- all *green*", "result\n- all green"},
        {"`make` is fine", "make is fine."},
        {"\xe5\xa5\xbd\xe4\xba\x86\xe3\x80\x82", "\xe5\xa5\xbd\xe4\xba\x86\xef\xbc\x81"},
        {"It is 5 pm.", "I looked. It is 5 pm. Anything else?"},
        {"Anything else?", "It is 5 pm. Anything else?"},
        {"***", " *** "},
        {"All 12 tests of the parser pass now",
         "## Result\n\nall 12 tests of the parser pass now\nnext"},
        {"5", "5."},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(is_said(rows[i].text, rows[i].said));
}

CASE(what_says_more_or_something_else_is_not)
{
    static const struct row rows[] = {
        {"The build failed.", "One moment, I look into it."},
        {"delete it", "I did not delete it."},
        {"Not done", "Done"},
        {"Done", "Not done yet"},
        {"Deploy now.", "Deploy now?"},
        {"It is 5 pm. Rain comes later.", "It is 5 pm."},
        {"Yes", "Yesterday I wrote it."},
        {"It costs 1.5", "It costs 1"},
        {"It costs 5", "It costs 5.50"},
        {"***", "it is done"},
        {"a", ""},
        {"C#", "C"},
        {"x 5", "x > 5"},
        {"Use a_b", "Use ab"},
        {"23", "2*3"},
        {"5", "~5"},
        /* the answer is one of those that were listed */
        {"SQLite", "I compare:\n1. Postgres\n2. SQLite\n3. Mongo\nLet me look."},
        {"SQLite.", "I compare:\n1. Postgres\n2. SQLite"},
        {"No", "Which of\nyes\nno\nmaybe\nis it? I look."},
        {"SQLite", "The default: SQLite\nI look whether it fits."},
        {"\xe5\x8f\xaf\xe4\xbb\xa5", "\xe9\x80\x89\xe9\xa1\xb9\xef\xbc\x9a\n\xe5\x8f\xaf\xe4\xbb"
                                     "\xa5\n\xe4\xb8\x8d\xe8\xa1\x8c"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(!is_said(rows[i].text, rows[i].said));
}

/* "Working on it", then the result, and at last the first words again: they may be news by then. */
CASE(only_what_reaches_into_the_newest_text_counts)
{
    const char *said = "Tests fail.\n\nI mended it.";
    size_t last = 13;
    CHECK(!sma_text_is_said(SMA_STR("Tests fail"), sma_str(said), last));
    CHECK(sma_text_is_said(SMA_STR("I mended it"), sma_str(said), last));
    CHECK(sma_text_is_said(SMA_STR("Tests fail. I mended it."), sma_str(said), last));
    CHECK(!sma_text_is_said(SMA_STR("I mended"), sma_str(said), last));
}

CASE(same_means_both_ways)
{
    CHECK(sma_text_is_same(SMA_STR("Part 1 of 2."), SMA_STR("part 1 of 2")));
    CHECK(!sma_text_is_same(SMA_STR("Done."), SMA_STR("Done. Bye.")));
    CHECK(!sma_text_is_same(SMA_STR("Done. Bye."), SMA_STR("Done.")));
}

/* A text that is nearly everywhere in the other, at the bounds of a message. */
CASE(large_texts_are_compared_in_time)
{
    size_t len = 60000;
    char *text = malloc(len), *said = malloc(len);
    CHECK(text != NULL && said != NULL);
    for (size_t i = 0; i < len; i++)
        text[i] = said[i] = i % 2 == 0 ? 'a' : '\n';
    text[len / 2] = 'b';
    CHECK(!sma_text_is_said((struct sma_str){text, len / 2 + 1}, (struct sma_str){said, len}, 0));
    text[len / 2] = said[len / 2];
    CHECK(sma_text_is_said((struct sma_str){text, len / 2 + 1}, (struct sma_str){said, len}, 0));
    free(text);
    free(said);
}

CASES_MAIN
