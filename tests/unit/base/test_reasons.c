/*
 * Aim: the table of reasons can be relied on: words that scripts may use, sentences that people
 * understand, numbers that Prometheus reads.
 * Method: every row of the table, and what adapters put in front of their own words.
 */
#include "sma/labels.h"
#include "sma/reasons.h"
#include "sma/text.h"
#include "support/check.h"

#include <ctype.h>

CASE(every_reason_has_a_word_a_sentence_and_a_remedy)
{
    for (unsigned i = 1; i < SMA_REASON_COUNT; i++) {
        const struct sma_reason_text *text = sma_reason_text((enum sma_reason)i);
        CHECK(text->word[0] != '\0');
        for (const char *at = text->word; *at != '\0'; at++)
            CHECK(islower((unsigned char)*at) || *at == '_');
        CHECK(isupper((unsigned char)text->sentence[0]));
        CHECK(text->sentence[strlen(text->sentence) - 1] == '.');
        CHECK(text->remedy[strlen(text->remedy) - 1] == '.');
        CHECK_INT(i, (long long)sma_reason_of_word(sma_str(text->word))); /* no word twice */
    }
    CHECK_INT(SMA_REASON_NONE, (long long)sma_reason_of_word(SMA_STR("")));
    CHECK_INT(SMA_REASON_NONE, (long long)sma_reason_of_word(SMA_STR("no_such_word")));
}

CASE(what_an_adapter_says_begins_with_a_reason)
{
    static const struct
    {
        const char *why;
        enum sma_reason reason;
    } rows[] = {{SMA_WHY_OWN "x", SMA_REASON_OWN_MESSAGE},
                {SMA_WHY_BOT "x", SMA_REASON_BOT_MESSAGE},
                {SMA_WHY_OTHER "x", SMA_REASON_OTHER_COMMAND},
                {SMA_WHY_UNSUPPORTED "x", SMA_REASON_UNSUPPORTED},
                {SMA_WHY_MALFORMED "x", SMA_REASON_MALFORMED},
                {SMA_WHY_EMPTY "x", SMA_REASON_EMPTY},
                {SMA_WHY_LIMIT "x", SMA_REASON_OVER_LIMIT},
                {SMA_WHY_NO_AUTHOR "x", SMA_REASON_NO_AUTHOR}};
    const char *more;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        CHECK_INT(rows[i].reason, (long long)sma_reason_of_why(rows[i].why, &more));
        CHECK_TEXT("x", more);
    }
    CHECK_INT(SMA_REASON_UNSUPPORTED, (long long)sma_reason_of_why("said: plainly", &more));
    CHECK_TEXT("said: plainly", more);
}

CASE(reasons_are_counted_by_platform)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    sma_labels_reset();
    sma_reason_count(SMA_STR("telegram"), SMA_REASON_RATE);
    sma_reason_count(SMA_STR("telegram"), SMA_REASON_RATE);
    sma_reason_count(SMA_STR("qq"), SMA_REASON_BOT_MESSAGE);
    sma_buf_init(&text, 1 << 16);
    sma_labels_format(&text);
    CHECK(strstr(text.ptr, "\nsma_platform_ignored_total{platform=\"telegram\",reason=\"rate\"} 2"
                           "\n") != NULL);
    CHECK(strstr(text.ptr, "platform=\"qq\",reason=\"bot_message\"} 1\n") != NULL);
    CHECK(strstr(text.ptr, "platform=\"qq\",reason=\"rate\"") == NULL);
    CHECK(strstr(strstr(text.ptr, "# HELP sma_platform_ignored") + 1,
                 "# HELP sma_platform_ignored") == NULL);
    sma_labels_reset();
    sma_buf_clear(&text);
    sma_labels_format(&text);
    CHECK(strstr(text.ptr, "sma_platform_ignored_total{") == NULL);
}

CASES_MAIN
