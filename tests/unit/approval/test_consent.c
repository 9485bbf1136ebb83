/*
 * Aim: the rules of consent, case by case: whose item it is, what follows from what is said, which
 * permissions hold.
 * Method: tables; the rules are functions of what they are told.
 */
#include "runtime/approval/consent.h"
#include "sma/buf.h"
#include "sma/messages.h"
#include "support/check.h"

#define MINUTE INT64_C(60000)
#define DAY (INT64_C(86400) * 1000)

CASE(a_permission_holds_for_its_time_by_any_clock)
{
    static const struct
    {
        int64_t created, until, now;
        bool holds;
    } rows[] = {
        {1000, 0, 0, true}, /* for good, whatever the clock says */
        {1000, 0, INT64_MAX, true},
        {1000, 601000, 1000, true},
        {1000, 601000, 600999, true},
        {1000, 601000, 601000, false},
        {1000, 601000, 10 * DAY, false},
        {DAY, 2 * DAY, DAY - MINUTE, true}, /* the clock was put right a little */
        {DAY, 2 * DAY, DAY - MINUTE - 1, false},
        {DAY, 2 * DAY, 0, false},
        {DAY, -1, DAY, false},
        {INT64_MAX, INT64_MAX, DAY, false},
        {INT64_MIN, 2 * DAY, DAY, true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(sma_grant_holds(rows[i].created, rows[i].until, rows[i].now) == rows[i].holds);
}

CASE(any_length_of_a_permission_has_an_end_that_can_be_told)
{
    static const struct
    {
        int64_t length_s, until;
    } rows[] = {
        {SMA_GRANT_ALWAYS, 0},
        {1, DAY + 1000},
        {600, DAY + 600000},
        {0, DAY},
        {-2, DAY},
        {INT64_MIN, DAY},
        {3660 * 86400, 3661 * DAY},
        {3660 * INT64_C(86400) + 1, 3661 * DAY},
        {INT64_MAX, 3661 * DAY},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].until, sma_grant_until(DAY, rows[i].length_s));
}

/* -- which request words mean ------------------------------------------------------------------ */
CASE(the_receipt_of_a_card_is_read_as_it_was_written)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 256);
    sma_card_mark_put(&buf,
                      &(struct sma_receipt){.platform_message_id = SMA_STR("17"),
                                            .reply_id = SMA_STR("r17"),
                                            .sent_ms = 5000},
                      9000);
    struct sma_card_mark mark = sma_card_mark_parse(sma_buf_str(&buf));
    CHECK_STR("17", mark.id);
    CHECK_STR("r17", mark.reply_id);
    CHECK(mark.sent_ms == 5000 && !mark.is_our_clock);
    sma_buf_clear(&buf);
    sma_card_mark_put(&buf, &(struct sma_receipt){.platform_message_id = SMA_STR("a\nb")}, 9000);
    mark = sma_card_mark_parse(sma_buf_str(&buf));
    CHECK(mark.id.len == 0 && mark.reply_id.len == 0 && mark.sent_ms == 9000 && mark.is_our_clock);
    sma_buf_fini(&buf);
    static const char *const bad[] = {
        "",        "17",        "17\n",      "17\nr",
        "17\nr\n", "17\nr\n-4", "17\nr\n~x", "17\nr\n9223372036854775807"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK(sma_card_mark_parse(sma_str(bad[i])).sent_ms == 0);
}

CASE(words_are_dated_after_the_card)
{
    static const struct
    {
        int64_t said, card;
        bool is_our_clock, is_after;
    } rows[] = {
        {10000, 10000, false, true}, {9999, 10000, false, false}, {14999, 10000, true, false},
        {15000, 10000, true, true},  {0, 10000, false, false}, /* the platform dates, he does not */
        {0, 10000, true, true},      {0, 0, false, true},         {10000, 0, false, false},
        {-1, 10000, false, false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(sma_said_is_after(&(struct sma_said){.sent_ms = rows[i].said},
                                &(struct sma_card_mark){.sent_ms = rows[i].card,
                                                        .is_our_clock = rows[i].is_our_clock}) ==
              rows[i].is_after);
}

CASE(words_answer_the_card_that_they_name)
{
    const struct sma_card_mark mark = {.id = SMA_STR("17"), .reply_id = SMA_STR("r17")};
    const struct sma_card_mark nameless = {0};
    CHECK(sma_said_answers(&(struct sma_said){.reply_to_id = SMA_STR("17")}, &mark));
    CHECK(sma_said_answers(&(struct sma_said){.reply_to_id = SMA_STR("r17")}, &mark));
    CHECK(!sma_said_answers(&(struct sma_said){.reply_to_id = SMA_STR("1")}, &mark));
    CHECK(!sma_said_answers(&(struct sma_said){.reply_to_id = SMA_STR("")}, &nameless));
    CHECK(sma_said_is_own(&(struct sma_said){.is_reply = true}));
    CHECK(!sma_said_is_own(&(struct sma_said){.is_forward = true}));
    CHECK(!sma_said_is_own(&(struct sma_said){.is_edited = true}));
}

CASE(what_words_mean_depends_on_where_they_are_said)
{
    static const struct
    {
        bool is_group;
        uint8_t addressed;
        uint32_t count;
        bool is_fresh;
        enum sma_meant meant;
    } rows[] = {
        {false, SMA_ADDRESSED_NONE, 1, true, SMA_MEANT_BELOW},
        {false, SMA_ADDRESSED_NONE, 1, false, SMA_MEANT_BURIED},
        {false, SMA_ADDRESSED_NONE, 2, true, SMA_MEANT_ONE_OF_SEVERAL},
        {true, SMA_ADDRESSED_NONE, 1, true, SMA_MEANT_TALK},
        {true, SMA_ADDRESSED_MENTION, 1, true, SMA_MEANT_MENTION},
        {true, SMA_ADDRESSED_MENTION, 1, false, SMA_MEANT_MENTION},
        {true, SMA_ADDRESSED_MENTION, 2, true, SMA_MEANT_ONE_OF_SEVERAL},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].meant, sma_said_means(&(struct sma_said){.is_group = rows[i].is_group,
                                                                   .addressed = rows[i].addressed},
                                                rows[i].count, rows[i].is_fresh));
}

/* -- who may decide what ----------------------------------------------------------------------- */
CASE(each_decides_what_is_his_to_decide)
{
    static const struct
    {
        enum sma_standing standing;
        bool is_same_platform, is_asker;
        uint64_t mask; /* 1: anybody's who asked; 2: an administrator's; 4: an owner's; 8: both */
    } rows[] = {
        {SMA_STANDING_OWNER, true, false, 15},    {SMA_STANDING_OWNER, false, false, 15},
        {SMA_STANDING_ADMIN, true, false, 3},     {SMA_STANDING_ADMIN, true, true, 3},
        {SMA_STANDING_ADMIN, false, false, 0},    {SMA_STANDING_ADMIN, false, true, 0},
        {SMA_STANDING_MEMBER, true, true, 1},     {SMA_STANDING_MEMBER, true, false, 0},
        {SMA_STANDING_MEMBER, false, true, 0},    {SMA_STANDING_STRANGER, true, true, 0},
        {SMA_STANDING_STRANGER, false, false, 0},
    };
    struct sma_request request = {.item_count = 4};
    request.items[1].is_admin_only = true;
    request.items[2].is_owner_only = true;
    request.items[3].is_admin_only = request.items[3].is_owner_only = true;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(
            (long long)rows[i].mask,
            (long long)sma_consent_permitted(
                &request, &(struct sma_consent_person){.standing = rows[i].standing,
                                                       .is_same_platform = rows[i].is_same_platform,
                                                       .is_asker = rows[i].is_asker}));
}

CASE(a_word_decides_what_is_open_and_his)
{
    static const struct
    {
        uint64_t approved, refused, permitted, open;
        bool is_late;
        enum sma_consent_verdict verdict;
        uint64_t approves, refuses;
    } rows[] = {
        {3, 0, 3, 3, false, SMA_CONSENT_DECIDES, 3, 0},
        {3, 0, 1, 3, false, SMA_CONSENT_DECIDES, 1, 0},
        {3, 0, 3, 2, false, SMA_CONSENT_DECIDES, 2, 0},
        {3, 1, 3, 3, false, SMA_CONSENT_DECIDES, 2, 1}, /* both were said: no */
        {1, 0, 2, 3, false, SMA_CONSENT_NOT_YOURS, 0, 0},
        {0, 0, 3, 3, false, SMA_CONSENT_NOT_YOURS, 0, 0},
        {1, 0, 3, 2, false, SMA_CONSENT_ALREADY, 0, 0},
        {1, 0, 3, 3, true, SMA_CONSENT_TOO_LATE, 1, 0},
        {1, 0, 0, 0, true, SMA_CONSENT_TOO_LATE, 0, 0},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_consent_word counts;
        CHECK_INT(rows[i].verdict,
                  sma_consent_rule(&(struct sma_consent_word){.approved = rows[i].approved,
                                                              .refused = rows[i].refused,
                                                              .permitted = rows[i].permitted,
                                                              .open = rows[i].open,
                                                              .is_out_of_time = rows[i].is_late},
                                   &counts));
        CHECK(counts.approved == rows[i].approves && counts.refused == rows[i].refuses);
    }
}

/* Words in short: kind, what they say, whose items, how meant; then flags: a addressed, o role
 * open, c cut, r may run, k asks for the role, f full. */
struct said_row
{
    char kind;
    uint64_t approved, refused, permitted;
    enum sma_meant meant;
    const char *flags;
    enum sma_words_fate fate;
};

CASE(words_are_weighed)
{
    static const struct said_row rows[] = {
        {'d', 1, 0, 1, SMA_MEANT_CARD, "r", SMA_WORDS_DECIDE},
        {'d', 1, 0, 1, SMA_MEANT_BELOW, "r", SMA_WORDS_DECIDE},
        {'d', 1, 0, 1, SMA_MEANT_BELOW, "rc", SMA_WORDS_TOO_LITTLE},
        {'d', 1, 0, 1, SMA_MEANT_MENTION, "ra", SMA_WORDS_TOO_LITTLE},
        {'d', 0, 1, 1, SMA_MEANT_MENTION, "ra", SMA_WORDS_DECIDE},
        {'d', 0, 1, 1, SMA_MEANT_TALK, "r", SMA_WORDS_TOO_LITTLE},
        {'d', 1, 0, 0, SMA_MEANT_TALK, "o", SMA_WORDS_ORDINARY},
        {'d', 1, 0, 1, SMA_MEANT_BURIED, "r", SMA_WORDS_UNCLEAR},
        {'d', 1, 0, 0, SMA_MEANT_BURIED, "ra", SMA_WORDS_ORDINARY},
        {'d', 1, 0, 1, SMA_MEANT_ONE_OF_SEVERAL, "r", SMA_WORDS_UNCLEAR},
        {'d', 1, 0, 2, SMA_MEANT_CARD, "ao", SMA_WORDS_WAIT_FOR_ROLE},
        {'d', 1, 0, 2, SMA_MEANT_MENTION, "ao", SMA_WORDS_TOO_LITTLE},
        {'d', 1, 0, 0, SMA_MEANT_CARD, "ar", SMA_WORDS_REFUSED},
        {'d', 1, 0, 0, SMA_MEANT_BELOW, "r", SMA_WORDS_ORDINARY},
        {'m', 0, 0, 1, SMA_MEANT_CARD, "r", SMA_WORDS_JUDGED},
        {'m', 0, 0, 1, SMA_MEANT_MENTION, "ra", SMA_WORDS_JUDGED},
        {'m', 0, 0, 1, SMA_MEANT_BELOW, "rf", SMA_WORDS_ORDINARY},
        {'m', 0, 0, 1, SMA_MEANT_BELOW, "", SMA_WORDS_ORDINARY},
        {'m', 0, 0, 1, SMA_MEANT_TALK, "r", SMA_WORDS_ORDINARY},
        {'m', 0, 0, 1, SMA_MEANT_BURIED, "r", SMA_WORDS_ORDINARY},
        {'m', 0, 0, 0, SMA_MEANT_CARD, "r", SMA_WORDS_ORDINARY},
        {'m', 0, 0, 0, SMA_MEANT_CARD, "ro", SMA_WORDS_WAIT_FOR_ROLE},
        {'m', 0, 0, 1, SMA_MEANT_CARD, "ko", SMA_WORDS_WAIT_FOR_ROLE},
        {'m', 0, 0, 1, SMA_MEANT_CARD, "k", SMA_WORDS_ORDINARY},
        {'n', 1, 0, 1, SMA_MEANT_CARD, "rao", SMA_WORDS_ORDINARY},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const struct said_row *row = &rows[i];
        struct sma_words words = {.kind = row->kind == 'd'   ? SMA_ANSWER_DECIDES
                                          : row->kind == 'm' ? SMA_ANSWER_MAYBE
                                                             : SMA_ANSWER_NO,
                                  .approved = row->approved,
                                  .refused = row->refused,
                                  .permitted = row->permitted,
                                  .meant = row->meant,
                                  .is_addressed = strchr(row->flags, 'a') != NULL,
                                  .is_role_open = strchr(row->flags, 'o') != NULL,
                                  .is_cut = strchr(row->flags, 'c') != NULL,
                                  .may_run = strchr(row->flags, 'r') != NULL,
                                  .asks_role = strchr(row->flags, 'k') != NULL,
                                  .is_full = strchr(row->flags, 'f') != NULL};
        if (row->fate != sma_words_weigh(&words))
            fprintf(stderr, "row %zu\n", i);
        CHECK_INT(row->fate, sma_words_weigh(&words));
    }
}

CASE(the_run_hears_who_refused)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 256);
    sma_consent_put_response(&buf, SMA_REQUEST_REFUSED, SMA_STR("Eve"), SMA_STR("too risky"));
    sma_buf_put_char(&buf, '|');
    sma_consent_put_response(&buf, SMA_REQUEST_REFUSED, SMA_STR("Eve"), SMA_STR(""));
    sma_buf_put_char(&buf, '|');
    sma_consent_put_response(&buf, SMA_REQUEST_EXPIRED, SMA_STR(""), SMA_STR("expired"));
    sma_buf_put_char(&buf, '|');
    sma_consent_put_response(&buf, SMA_REQUEST_APPROVED, SMA_STR("Eve"), SMA_STR("go"));
    CHECK_STR("refused by Eve: too risky|refused by Eve|expired|go", sma_buf_str(&buf));
}

CASES_MAIN
