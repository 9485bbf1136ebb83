/*
 * Aim: words behind a prompt's name become its arguments, or it is said which one is missing.
 * Method: rows of words and what becomes of them.
 */
#include "runtime/mcp/prompt_words.h"
#include "support/check.h"

static const struct sma_mcp_prompt two = {
    .server = SMA_STR("box"),
    .name = SMA_STR("greet"),
    .arguments = {{.name = SMA_STR("topic"), .is_required = true}, {.name = SMA_STR("style")}},
    .argument_count = 2};
static const struct sma_mcp_prompt one = {
    .server = SMA_STR("box"),
    .name = SMA_STR("ask"),
    .arguments = {{.name = SMA_STR("text"), .is_required = true}},
    .argument_count = 1};
static const struct sma_mcp_prompt none = {.server = SMA_STR("box"), .name = SMA_STR("plain")};

CASE(words_become_arguments)
{
    static const struct
    {
        const struct sma_mcp_prompt *prompt;
        const char *words, *json; /* NULL: "-" missing, "+" too many */
    } rows[] = {
        {&two, "a b", "{\"topic\":\"a\",\"style\":\"b\"}"},
        {&two, "a", "{\"topic\":\"a\"}"},
        {&two, "  a   b c  d ", "{\"topic\":\"a\",\"style\":\"b c  d\"}"},
        {&two, "\"a b\" 'c d'", "{\"topic\":\"a b\",\"style\":\"c d\"}"},
        {&two, "“早上 好” b", "{\"topic\":\"早上 好\",\"style\":\"b\"}"},
        {&two, "style=b a", "{\"topic\":\"a\",\"style\":\"b\"}"},
        {&two, "style=\"b c\" topic=a", "{\"topic\":\"a\",\"style\":\"b c\"}"},
        {&two, "topic= b", "{\"topic\":\"\",\"style\":\"b\"}"},
        {&two, "other=1", "{\"topic\":\"other=1\"}"},
        {&two, "\"open a", "{\"topic\":\"\\\"open\",\"style\":\"a\"}"},
        {&two, "", "-"},
        {&two, "style=b", "-"},
        {&two, "topic=a topic=b", "+"},
        {&two, "topic=a style=b more", "+"},
        {&one, "all of this \"as it is\"", "{\"text\":\"all of this \\\"as it is\\\"\"}"},
        {&one, "\"quoted whole\"", "{\"text\":\"quoted whole\"}"},
        {&none, "", "{}"},
        {&none, "word", "+"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf json;
        struct sma_str missing = {0};
        sma_buf_init(&json, 4096);
        enum sma_prompt_words found =
            sma_prompt_words_read(rows[i].prompt, sma_str(rows[i].words), &json, &missing);
        if (rows[i].json[0] == '-') {
            CHECK_INT(SMA_PROMPT_MISSES, found);
            CHECK_STR("topic", missing);
        } else if (rows[i].json[0] == '+') {
            CHECK_INT(SMA_PROMPT_SURPLUS, found);
        } else {
            CHECK_INT(SMA_PROMPT_FIT, found);
            CHECK_STR(rows[i].json, sma_buf_str(&json));
        }
        sma_buf_fini(&json);
    }
}

CASE(usage_says_what_is_needed)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    sma_prompt_words_put_usage(&buf, &two);
    CHECK_STR("/box:greet topic [style]", sma_buf_str(&buf));
}

CASES_MAIN
