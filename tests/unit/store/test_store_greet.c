/* Aim: a group into which the bot was taken is told who it is, how it is talked to and who lets it
 * in: once, in its language, and not when that was long ago or when the owner's side does not want
 * it. Method: the store actor between actors that keep what they get, under a clock of its own. */
#include "people_support.h"

#define SECOND_MS INT64_C(1000)

static struct world w;

static int64_t now_ms(void)
{
    return sma_ctx_wall(sma_system_ctx(w.system, TEST));
}

static int join_at(const char *who, const char *id, int64_t sent_ms)
{
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "x",
                                  .user = who,
                                  .id = id,
                                  .text = "[added]",
                                  .kind = SMA_EVENT_NOTE,
                                  .addressed = SMA_ADDRESSED_NONE,
                                  .is_group = true,
                                  .has_joined = true,
                                  .sent_ms = sent_ms});
    run(&w);
    return accepted(&w.test).verdict;
}

static void open_with(const char *adapter_json)
{
    make_world(&w);
    w.test_json = adapter_json;
    w.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]}}";
    open_world(&w);
}

static const char *greeting_with(const char *adapter_json)
{
    open_with(adapter_json);
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("eve", "1", now_ms()));
    const char *text = told(&w, "x");
    CHECK_INT(0, (int)count_kept(&w.agent, SMA_MSG_RUN));
    end_world(&w);
    return text;
}

AFTER_EACH(end_world(&w))

CASE(a_group_is_told_who_came_and_who_lets_it_in)
{
    const char *text = greeting_with("{}");
    CHECK(strstr(text, "mention me or reply") != NULL && strstr(text, "/help") != NULL);
    CHECK(strstr(text, "my owner, or an administrator of mine, mentions me here once") != NULL);
}

CASE(a_group_that_is_let_in_is_told_whom_it_answers)
{
    const char *text = greeting_with("{\"groups\":[\"x\"]}");
    CHECK(strstr(text, "mention me or reply") != NULL);
    CHECK(strstr(text, "speaks to me first here, and the administrators") != NULL);
    CHECK(strstr(text, "let in") == NULL);
    text = greeting_with("{\"groups\":[\"x\"],\"groupAccess\":\"anyone\"}");
    CHECK(strstr(text, "mention me or reply") != NULL && strstr(text, "/help") != NULL);
    CHECK(strstr(text, "first") == NULL && strstr(text, "let in") == NULL);
    /* where strangers are answered, too, nobody has to let it in */
    CHECK(strstr(greeting_with("{\"access\":\"anyone\"}"), "let in") == NULL);
    CHECK(strstr(greeting_with("{\"access\":[\"u1\"]}"), "let in") != NULL);
}

/* Some platforms say it twice, in two kinds of events with dates of their own; the second may come
 * when it likes, also to another process. Who was sent away and is taken in again is greeted. */
CASE(each_join_is_greeted_once)
{
    start_paired(&w);
    int64_t first_ms = now_ms();
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "1", first_ms));
    CHECK(told(&w, "x")[0] != '\0');
    CHECK_INT(SMA_VERDICT_DUPLICATE, join_at("boss", "1", first_ms));
    crash_world(&w);
    CHECK_INT(SMA_VERDICT_DUPLICATE, join_at("boss", "1", first_ms));
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "2", first_ms + SECOND_MS));
    CHECK_TEXT("", told(&w, "x"));
    pass(&w, SMA_NOTICE_INTERVAL_S + 1);
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "3", first_ms - SECOND_MS));
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "4", first_ms - 60 * SECOND_MS));
    CHECK_TEXT("", told(&w, "x"));
    int64_t second_ms = now_ms();
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "5", second_ms));
    CHECK(told(&w, "x")[0] != '\0');
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "6", second_ms));
    CHECK_TEXT("", told(&w, "x"));
    /* a date that has not come yet keeps no later one silent */
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "7", second_ms + 3600 * SECOND_MS));
    CHECK(told(&w, "x")[0] != '\0');
    pass(&w, SMA_NOTICE_INTERVAL_S + 1);
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "8", now_ms()));
    CHECK(told(&w, "x")[0] != '\0');
}

CASE(what_came_long_ago_is_not_greeted)
{
    static const struct
    {
        int64_t age_ms;
        bool is_greeted;
    } rows[] = {{SMA_GREETING_AGE_S_MAX * SECOND_MS - 1, true},
                {SMA_GREETING_AGE_S_MAX * SECOND_MS, true},
                {SMA_GREETING_AGE_S_MAX * SECOND_MS + 1, false},
                {-SECOND_MS, true}}; /* its clock is a little ahead of ours */
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        start_paired(&w);
        CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "1", now_ms() - rows[i].age_ms));
        CHECK_INT(rows[i].is_greeted, told(&w, "x")[0] != '\0');
        end_world(&w);
    }
    start_paired(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("boss", "1", 0)); /* nobody says when */
    CHECK_TEXT("", told(&w, "x"));
}

CASE(where_it_is_not_wanted_it_is_silent)
{
    CHECK_TEXT("", greeting_with("{\"groupGreeting\":\"off\"}"));
    start_paired(&w); /* an owner has said no to the group */
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "x",
                                  .user = "eve",
                                  .id = "1",
                                  .text = "hi",
                                  .addressed = SMA_ADDRESSED_MENTION,
                                  .is_group = true});
    run(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&w, "x")));
    (void)decide_person(
        &w, &(struct decision){.id = code, .is_refused = true, .standing = SMA_STANDING_OWNER});
    while (told(&w, "x")[0] != '\0')
        continue;
    CHECK_INT(SMA_VERDICT_IGNORED, join_at("eve", "2", now_ms()));
    CHECK_TEXT("", told(&w, "x"));
}

/* One person who takes the bot in and throws it out all day is not answered all day. */
CASE(a_stranger_gets_no_greetings_without_end)
{
    start_paired(&w);
    int greetings = 0;
    for (int i = 0; i < 2 * SMA_STRANGER_MESSAGE_COUNT_MAX; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        CHECK_INT(SMA_VERDICT_IGNORED, join_at("eve", id, now_ms()));
        greetings += told(&w, "x")[0] != '\0';
        pass(&w, SMA_NOTICE_INTERVAL_S + 1);
    }
    CHECK_INT(SMA_STRANGER_MESSAGE_COUNT_MAX, greetings);
}

CASES_MAIN
