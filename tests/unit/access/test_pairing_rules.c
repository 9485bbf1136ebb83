/* Aim: the rules of pairing.h, each as a table. Method: what goes in, what comes out; bounds at
 * max-1, max, max+1. */
#include "runtime/access/pairing.h"
#include "sma/limits.h"
#include "support/check.h"

#define DAY_MS INT64_C(86400000)
#define NOTICE_NS (SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000))
#define HOUR_NS (3600 * SMA_NS_PER_S)

CASE(codes_are_of_the_alphabet_and_read_as_people_type_them)
{
    static const uint64_t numbers[] = {0, 1, 24, 25, 390624, 390625, UINT64_MAX};
    for (size_t i = 0; i < SMA_COUNT_OF(numbers); i++) {
        struct sma_pairing_code code = sma_pairing_draw(numbers[i], UINT64_MAX - numbers[i]), read;
        CHECK_INT(SMA_PAIRING_CODE_LEN, (int)strlen(code.text));
        CHECK(sma_pairing_read_code(sma_str(code.text), &read));
        CHECK(strcmp(code.text, read.text) == 0);
    }
    /* Both numbers count, every place of them. */
    CHECK(strcmp(sma_pairing_draw(25, 0).text, "ACAAAAAA") == 0);
    CHECK(strcmp(sma_pairing_draw(0, 1).text, "AAAACAAA") == 0);
    CHECK(strcmp(sma_pairing_draw(24, 24).text, "9AAA9AAA") == 0);
    static const struct
    {
        const char *typed, *code; /* NULL: none */
    } rows[] = {
        {"ACDEFGHJ", "ACDEFGHJ"}, {"acdefghj", "ACDEFGHJ"}, {"ACDEFGH", NULL},  {"ACDEFGHJK", NULL},
        {"ACDEFGH1", NULL},       {"ACDEFGHO", NULL},       {"ACDE GHJ", NULL}, {"", NULL}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_pairing_code read;
        bool is_code = sma_pairing_read_code(sma_str(rows[i].typed), &read);
        CHECK(is_code == (rows[i].code != NULL));
        CHECK(!is_code || strcmp(rows[i].code, read.text) == 0);
    }
    struct sma_pairing_code read;
    CHECK(!sma_pairing_read_code((struct sma_str){"ACDEFGH\0", 8}, &read));
}

CASE(owners_answer_with_a_word_and_a_code)
{
    static const struct
    {
        const char *text;
        bool is_answer, is_approved, is_only_pairing;
    } rows[] = {
        {"pair ACDEFGHJ", true, true, true},     {"  PAIR  acdefghj ", true, true, true},
        {"配对ACDEFGHJ", true, true, true},      {"approve ACDEFGHJ", true, true, false},
        {"同意 ACDEFGHJ", true, true, false},    {"reject ACDEFGHJ", true, false, false},
        {"refuse ACDEFGHJ", true, false, false}, {"拒绝ACDEFGHJ", true, false, false},
        {"pairACDEFGHJ", false, false, false},   {"pair ACDEFGHJ please", false, false, false},
        {"pair", false, false, false},           {"please pair ACDEFGHJ", false, false, false},
        {"approve git", false, false, false},    {"", false, false, false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_pairing_words words = {.is_approved = false};
        CHECK(sma_pairing_read_words(sma_str(rows[i].text), &words) == rows[i].is_answer);
        CHECK(words.is_approved == rows[i].is_approved);
        CHECK(words.is_only_pairing == rows[i].is_only_pairing);
        CHECK(!rows[i].is_answer || strcmp(words.code.text, "ACDEFGHJ") == 0);
    }
}

CASE(a_code_is_good_for_a_day_whatever_the_clock_does)
{
    static const struct
    {
        int64_t age_ms;
        bool is_old;
    } rows[] = {{0, false},           {DAY_MS - 1, false}, {DAY_MS, true},
                {DAY_MS * 400, true}, {-DAY_MS, false},    {-DAY_MS - 1, true}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(sma_pairing_is_old(1000 * DAY_MS - rows[i].age_ms, 1000 * DAY_MS) == rows[i].is_old);
}

CASE(a_code_is_shown_once_in_a_while_and_later_hourly)
{
    static const struct
    {
        struct sma_pairing_shown shown;
        bool may;
    } rows[] = {
        {{.now_ns = 5}, true},
        {{.has_last = true, .last_ns = 5, .now_ns = 5 + NOTICE_NS - 1}, false},
        {{.has_last = true, .last_ns = 5, .now_ns = 5 + NOTICE_NS}, true},
        {{.count = 19}, true},
        /* then hourly, instead of silence */
        {{.count = 20, .has_last = true, .last_ns = 5, .now_ns = 5 + NOTICE_NS}, false},
        {{.count = 20, .has_last = true, .last_ns = 5, .now_ns = 5 + HOUR_NS - 1}, false},
        {{.count = 20, .has_last = true, .last_ns = 5, .now_ns = 5 + HOUR_NS}, true},
        {{.is_group = true, .count = 4}, true},
        {{.is_group = true, .count = 5}, false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(sma_pairing_may_show(&rows[i].shown) == rows[i].may);
}

CASE(four_whole_private_messages_are_kept)
{
    static const struct
    {
        struct sma_pairing_message message;
        enum sma_pairing_kept kept;
    } rows[] = {
        {{.is_message = true, .is_whole = true}, SMA_PAIRING_KEPT},
        {{.is_message = true, .is_whole = true, .kept_count = 3}, SMA_PAIRING_KEPT},
        {{.is_message = true, .is_whole = true, .kept_count = 4}, SMA_PAIRING_IS_MORE},
        {{.is_message = true}, SMA_PAIRING_IS_MORE},
        {{.is_message = true, .is_whole = true, .has_more = true}, SMA_PAIRING_NOT_KEPT},
        {{.is_message = true, .is_whole = true, .is_group = true}, SMA_PAIRING_NOT_KEPT},
        {{.is_whole = true}, SMA_PAIRING_NOT_KEPT},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].kept, sma_pairing_keep(&rows[i].message));
}

CASE(names_are_shown_harmless)
{
    static const struct
    {
        const char *name, *shown;
    } rows[] = {{"Ann", "Ann"},
                {"a\nb\"c<d>`e", "a b c d  e"},
                {"x\xE2\x80\xAEy", "x   y"},
                {"x\xC2\x85y", "x  y"},
                {"", ""}};
    char text[SMA_PAIRING_NAME_BYTES_MAX + 1], name[200];
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        sma_pairing_name(text, sma_str(rows[i].name));
        CHECK(strcmp(rows[i].shown, text) == 0);
    }
    memset(name, 'n', sizeof name);
    sma_pairing_name(text, (struct sma_str){name, sizeof name});
    CHECK_INT(SMA_PAIRING_NAME_BYTES_MAX, (int)strlen(text));
}

CASE(of_strangers_only_so_much_is_kept)
{
    static const struct
    {
        uint32_t of_one, of_all;
        enum sma_stranger_fate fate;
    } rows[] = {{1, 1, SMA_STRANGER_KEPT},       {50, 5000, SMA_STRANGER_KEPT},
                {51, 1, SMA_STRANGER_SILENT},    {1, 5001, SMA_STRANGER_UNKEPT},
                {51, 5001, SMA_STRANGER_SILENT}, {UINT32_MAX, 1, SMA_STRANGER_SILENT}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].fate, sma_stranger_fate(rows[i].of_one, rows[i].of_all));
}

int main(void)
{
    check_run_cases(NULL);
    return 0;
}
