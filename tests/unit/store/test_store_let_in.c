/* Aim: in a group that a stranger has made he is a stranger, whatever the platform says; an owner's
 * side lets a group in, and from then on its administrators are such. Method: the store actor
 * between actors that keep what they get. */
#include "people_support.h"

#define GROUP(who, how, ...)                            \
    (&(struct saying){.chat = "x",                      \
                      .user = (who),                    \
                      .addressed = SMA_ADDRESSED_##how, \
                      .is_group = true,                 \
                      __VA_ARGS__})
#define COMMAND(who, number, word)                                            \
    GROUP(who, NONE, .id = (number), .text = "/x", .kind = SMA_EVENT_CONTROL, \
          .control = SMA_CONTROL_##word, .role = SMA_ROLE_ADMIN)

static struct world w;

static int hear(const struct saying *saying)
{
    (void)say_as(&w, TEST, saying);
    run(&w);
    return accepted(&w.test).verdict;
}

static bool has_run(void)
{
    struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
    sma_msg_destroy(msg);
    return msg != NULL;
}

/* The standing that the next run has; it is finished. */
static int standing_of_run(void)
{
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    int standing = SMA_MSG_BODY(msg, struct sma_run_order)->standing;
    uint64_t seq = SMA_MSG_BODY(msg, struct sma_run_order)->seq;
    sma_msg_destroy(msg);
    done(&w, seq, "ok", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    return standing;
}

static enum sma_standing standing_in_group(const char *who)
{
    struct sma_state_chat *chat = sma_state_chat_get(w.store->state, SMA_STR("test:chat:x"));
    struct sma_route route = route_of(TEST, "test:chat:x");
    route.user_id = sma_str(who);
    return sma_store_standing(w.store, chat == NULL ? NULL : sma_store_chat(w.store, chat), &route,
                              true);
}

AFTER_EACH(end_world(&w))

/* -- nobody has let it in ---------------------------------------------------------------------- */
CASE(a_strangers_own_group_gives_him_nothing)
{
    start_paired(&w);
    static const struct saying *said[7];
    said[0] = COMMAND("eve", "1", CLEAR);
    said[1] = GROUP("eve", MENTION, .id = "2", .text = "ls", .role = SMA_ROLE_ADMIN);
    said[2] = GROUP("eve", REPLY, .id = "3", .text = "yes");
    said[3] = COMMAND("eve", "4", STOP);
    said[4] = COMMAND("eve", "5", STATUS);
    said[5] = COMMAND("eve", "6", HELP);
    said[6] = GROUP("mallory", MENTION, .id = "7", .text = "what is this?");
    for (size_t i = 0; i < SMA_COUNT_OF(said); i++)
        CHECK_INT(SMA_VERDICT_IGNORED, hear(said[i]));
    CHECK(!has_run());
    CHECK_INT(0, (int)count_kept(&w.agent, SMA_MSG_CONTROL));
    CHECK_INT(0, (int)count_kept(&w.test, SMA_MSG_PREPARE));
    CHECK_INT(SMA_STANDING_STRANGER, standing_in_group("eve"));
    /* one notice says how it is let in, to this group and not to the stranger in private */
    const char *text = told(&w, "x");
    CHECK(strstr(text, "writes to me here once") != NULL);
    CHECK(strstr(text, "shipmyagent pair approve ") != NULL);
    CHECK_TEXT("", told(&w, "x"));
    CHECK_INT(0, (int)sma_state_open_count(w.store->state));
    restart_world(&w);
    CHECK(!has_run());
}

CASE(the_code_of_a_group_is_not_shown_for_ever)
{
    start_paired(&w);
    int notices = 0;
    for (int i = 0; i < 40; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        CHECK_INT(SMA_VERDICT_IGNORED, hear(GROUP("eve", MENTION, .id = id, .text = "hello?")));
        notices += told(&w, "x")[0] != '\0';
        pass(&w, SMA_NOTICE_INTERVAL_S + 1);
    }
    CHECK_INT(SMA_PAIRING_GROUP_SHOWN_COUNT_MAX, notices);
}

CASE(a_member_is_answered_as_what_he_is)
{
    make_world(&w);
    w.test_json = "{}";
    w.config.permissions_json = "{\"roles\":{\"member\":[\"test:mem\"]}}";
    open_world(&w);
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              hear(GROUP("mem", MENTION, .id = "1", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of_run());
    /* each answer is asked for: no window, and the group is nobody's by it */
    CHECK_INT(SMA_VERDICT_IGNORED, hear(GROUP("mem", NONE, .id = "2", .text = "why?")));
    CHECK_INT(SMA_VERDICT_IGNORED,
              hear(GROUP("eve", MENTION, .id = "3", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK(!has_run());
    CHECK_INT(SMA_VERDICT_ACCEPTED, hear(GROUP("mem", MENTION, .id = "4", .text = "again")));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of_run());
}

/* -- how it is let in -------------------------------------------------------------------------- */
CASE(an_owner_lets_it_in_by_speaking_there)
{
    start_paired(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, hear(GROUP("boss", NONE, .id = "1", .text = "lunch?")));
    CHECK_INT(SMA_VERDICT_IGNORED,
              hear(GROUP("eve", MENTION, .id = "2", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK(!has_run());
    CHECK_INT(SMA_VERDICT_ACCEPTED, hear(GROUP("boss", MENTION, .id = "3", .text = "hello")));
    CHECK_INT(SMA_STANDING_OWNER, standing_of_run());
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              hear(GROUP("eve", MENTION, .id = "4", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK_INT(SMA_STANDING_ADMIN, standing_of_run());
    /* it stays so, and who is first is answered, as a stranger */
    crash_world(&w);
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              hear(GROUP("mallory", MENTION, .id = "5", .text = "hi", .role = SMA_ROLE_MEMBER)));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of_run());
    CHECK(strstr(listed(&w),
                 "\"groups\":[{\"channel\":\"test\",\"chatId\":\"x\",\"via\":\"spoke\"}]") != NULL);
}

CASE(a_command_of_an_administrator_lets_it_in)
{
    make_world(&w);
    w.test_json = "{}";
    w.config.permissions_json = "{\"roles\":{\"admin\":[\"test:adm\"]}}";
    open_world(&w);
    CHECK_INT(SMA_VERDICT_ACCEPTED, hear(COMMAND("adm", "1", STATUS)));
    CHECK(strstr(listed(&w), "\"via\":\"spoke\"") != NULL);
    CHECK_INT(SMA_VERDICT_ACCEPTED, hear(COMMAND("eve", "2", CLEAR)));
}

/* What others wrote, and what may be meant for another bot, is no word of an owner's for the
 * group. */
CASE(only_an_owners_own_words_for_us_let_it_in)
{
    start_paired(&w);
    static const struct saying *said[4];
    said[0] = GROUP("boss", MENTION, .id = "1", .text = "hi", .is_forward = true);
    said[1] = GROUP("boss", REPLY, .id = "2", .text = "hi", .is_edited = true);
    said[2] = GROUP("boss", MENTION, .id = "3", .text = "/play", .kind = SMA_EVENT_CONTROL,
                    .control = SMA_CONTROL_UNKNOWN);
    said[3] = GROUP("boss", MENTION, .id = "4", .text = "/help", .kind = SMA_EVENT_CONTROL,
                    .control = SMA_CONTROL_HELP);
    for (size_t i = 0; i < SMA_COUNT_OF(said); i++) {
        CHECK_INT(SMA_VERDICT_ACCEPTED, hear(said[i]));
        CHECK(strstr(listed(&w), "\"groups\":[]") != NULL);
    }
    CHECK_INT(SMA_STANDING_STRANGER, standing_in_group("eve"));
}

/* Whoever the platform calls an administrator lets no group in, not even from one that is. */
CASE(the_platforms_word_lets_nothing_in)
{
    make_world(&w);
    w.test_json = "{\"groups\":[\"g\"]}";
    open_world(&w);
    CHECK_INT(SMA_VERDICT_ACCEPTED, hear(&(struct saying){.chat = "g",
                                                          .user = "eve",
                                                          .id = "1",
                                                          .text = "hi",
                                                          .addressed = SMA_ADDRESSED_MENTION,
                                                          .is_group = true,
                                                          .role = SMA_ROLE_ADMIN}));
    CHECK_INT(SMA_STANDING_ADMIN, standing_of_run());
    CHECK_INT(SMA_VERDICT_IGNORED,
              hear(GROUP("eve", MENTION, .id = "2", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK(!has_run());
    CHECK(strstr(listed(&w), "\"groups\":[]") != NULL);
}

CASE(an_owner_confirms_its_code)
{
    start_paired(&w);
    (void)write_as(&w, "boss", "0", "hello"); /* has a home */
    finish_next(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, hear(GROUP("eve", MENTION, .id = "1", .text = "hi")));
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&w, "x")));
    const char *text = told(&w, "boss");
    CHECK(strstr(text, "in the group x on test") != NULL && strstr(text, code) != NULL);
    CHECK(strstr(text, "administrators") != NULL);
    CHECK(strstr(listed(&w), "\"group\":\"x\"") != NULL);
    /* the stranger's own word, or a role for it, change nothing */
    CHECK_INT(403, decide_person(&w, &(struct decision){.id = code, .user = "eve"}));
    CHECK_INT(400,
              decide_person(&w, &(struct decision){.id = code, .standing = SMA_STANDING_OWNER}));
    CHECK(strstr(decided_text, "--role") != NULL);
    CHECK_INT(SMA_VERDICT_IGNORED,
              hear(GROUP("eve", MENTION, .id = "2", .text = "hi", .role = SMA_ROLE_ADMIN)));
    char words[32];
    snprintf(words, sizeof words, "pair %s", code);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "boss", "3", words));
    CHECK(strstr(told(&w, "x"), "send again") != NULL);
    CHECK(strstr(told(&w, "boss"), "I talk in the group") != NULL);
    CHECK(!has_run()); /* nothing was kept */
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&w, "eve"));
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              hear(GROUP("eve", MENTION, .id = "4", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK_INT(SMA_STANDING_ADMIN, standing_of_run());
    CHECK_INT(404, approve(&w, code));
}

CASE(a_refused_group_stays_so_until_an_owner_lets_it_in)
{
    start_paired(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, hear(GROUP("eve", MENTION, .id = "1", .text = "hi")));
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&w, "x")));
    CHECK_INT(200, decide_person(&w, &(struct decision){.id = code, .is_refused = true}));
    pass(&w, SMA_NOTICE_INTERVAL_S + 1);
    CHECK_INT(SMA_VERDICT_IGNORED,
              hear(GROUP("eve", MENTION, .id = "2", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK(strstr(told(&w, "x"), "approve") == NULL);
    CHECK(strstr(listed(&w), "\"pairings\":[]") != NULL);
    /* the owner is answered there, and says nothing about the others by it */
    CHECK_INT(SMA_VERDICT_ACCEPTED, hear(GROUP("boss", MENTION, .id = "3", .text = "hi")));
    CHECK_INT(SMA_STANDING_OWNER, standing_of_run());
    CHECK_INT(SMA_VERDICT_IGNORED,
              hear(GROUP("eve", MENTION, .id = "4", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK_INT(200, approve(&w, "test:chat:x"));
    CHECK_INT(SMA_STANDING_ADMIN, standing_in_group("eve")); /* as the platform has said before */
    CHECK_INT(200, decide_person(&w, &(struct decision){.id = "test:group:x", .is_refused = true}));
    CHECK_INT(SMA_STANDING_STRANGER, standing_in_group("eve"));
    static const char *const bad[] = {"test:group:",      "test:chat:a:b",  "api:chat:x",
                                      ":group:x",         "test:group:a b", "telegram:chat:1001",
                                      "telegram:-1001234" /* its anonymous administrators */};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_INT(400, approve(&w, bad[i]));
    CHECK_INT(200, approve(&w, "telegram:chat:-1001234"));
    CHECK_INT(200, approve(&w, "telegram:1001"));
}

/* -- what is remembered ------------------------------------------------------------------------ */
/* What was accepted while a group was in is done as what its author is when it runs. */
CASE(a_row_from_before_gives_no_rank)
{
    start_paired(&w);
    CHECK_INT(200, approve(&w, "test:group:x"));
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              hear(GROUP("eve", MENTION, .id = "1", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              hear(GROUP("eve", MENTION, .id = "2", .text = "more", .role = SMA_ROLE_ADMIN)));
    CHECK_INT(SMA_STANDING_ADMIN, standing_of_run());
    /* the second waited in its row */
    sma_msg_destroy(take(&w.agent, SMA_MSG_RUN));
    CHECK_INT(200, decide_person(&w, &(struct decision){.id = "test:group:x", .is_refused = true}));
    crash_world(&w);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of_run());
}

/* The first who speaks, and everybody where all may: the platform is asked what he may have done,
 * and its word counts for this message; no answer of it is none. */
CASE(who_may_talk_is_asked_what_he_may_do)
{
    static const enum sma_role roles[] = {SMA_ROLE_ADMIN, SMA_ROLE_MEMBER, SMA_ROLE_UNKNOWN};
    for (size_t i = 0; i < SMA_COUNT_OF(roles); i++) {
        bool is_admin = roles[i] == SMA_ROLE_ADMIN;
        start_paired(&w);
        CHECK_INT(200, approve(&w, "test:group:x"));
        (void)hear(GROUP("eve", MENTION, .id = "1", .text = "make the file"));
        CHECK(!has_run());
        CHECK(prepare(&w, roles[i], "") != 0);
        run(&w);
        CHECK_INT(is_admin ? SMA_STANDING_ADMIN : SMA_STANDING_STRANGER, standing_of_run());
        (void)hear(GROUP("eve", MENTION, .id = "2", .text = "once more")); /* remembered */
        CHECK((prepare(&w, roles[i], "") == 0) == (roles[i] != SMA_ROLE_UNKNOWN));
        run(&w);
        CHECK_INT(is_admin ? SMA_STANDING_ADMIN : SMA_STANDING_STRANGER, standing_of_run());
        end_world(&w);
    }
}

/* A copy of what was only recorded, now to the bot: no less is it his turn, and his window. */
CASE(who_is_heard_by_a_second_copy_is_answered_whatever_he_is)
{
    static const enum sma_role roles[] = {SMA_ROLE_ADMIN, SMA_ROLE_MEMBER, SMA_ROLE_UNKNOWN};
    for (size_t i = 0; i < SMA_COUNT_OF(roles); i++) {
        start_paired(&w);
        CHECK_INT(200, approve(&w, "test:group:x"));
        CHECK_INT(SMA_VERDICT_IGNORED, hear(GROUP("eve", NONE, .id = "1", .text = "the file")));
        CHECK_INT(SMA_VERDICT_ACCEPTED, hear(GROUP("eve", MENTION, .id = "1", .text = "the file")));
        CHECK(!has_run());
        CHECK(prepare(&w, roles[i], "") != 0);
        run(&w);
        CHECK_INT(roles[i] == SMA_ROLE_ADMIN ? SMA_STANDING_ADMIN : SMA_STANDING_STRANGER,
                  standing_of_run());
        CHECK_INT(SMA_VERDICT_ACCEPTED, hear(GROUP("eve", NONE, .id = "2", .text = "why?")));
        end_world(&w);
    }
}

CASE(an_answer_of_the_platform_comes_too_late)
{
    start_paired(&w);
    CHECK_INT(200, approve(&w, "test:group:x"));
    (void)hear(GROUP("ann", MENTION, .id = "1", .text = "first", .role = SMA_ROLE_MEMBER));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of_run());
    CHECK_INT(SMA_VERDICT_ACCEPTED, hear(GROUP("eve", MENTION, .id = "2", .text = "ls")));
    CHECK_INT(200, decide_person(&w, &(struct decision){.id = "test:group:x", .is_refused = true}));
    CHECK(prepare(&w, SMA_ROLE_ADMIN, "") != 0);
    run(&w);
    CHECK(!has_run());
    CHECK_INT(0, (int)sma_state_open_count(w.store->state));
}

CASE(a_failed_commit_lets_nothing_in)
{
    start_paired(&w);
    CHECK_OK(sma_store_begin(w.store));
    struct sma_route route = route_of(TEST, "test:chat:x"), boss = route;
    boss.user_id = SMA_STR("boss");
    CHECK_OK(sma_store_group_say(w.store, &route, "spoke", &boss));
    CHECK(sma_store_is_let_in(w.store, &route));
    sma_store_fail_batch(w.store, SMA_ERR_NOSPACE);
    run_for(&w, 2 * SECOND);
    CHECK(!sma_store_is_let_in(w.store, &route));
}

CASE(a_group_keeps_its_place_under_another_id)
{
    start_paired(&w);
    CHECK_INT(200, approve(&w, "test:group:x"));
    (void)hear(GROUP("eve", MENTION, .id = "1", .text = "hi", .role = SMA_ROLE_ADMIN));
    CHECK_INT(SMA_STANDING_ADMIN, standing_of_run());
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "new",
                                  .user = "eve",
                                  .id = "m",
                                  .text = "",
                                  .kind = SMA_EVENT_NOTE,
                                  .is_group = true,
                                  .migrated_from = "test:chat:x"});
    run(&w);
    (void)accepted(&w.test);
    struct sma_route route = route_of(TEST, "test:chat:new");
    CHECK(sma_store_is_let_in(w.store, &route));
    /* one that was refused is not let in by becoming another */
    CHECK_INT(200, decide_person(&w, &(struct decision){.id = "test:group:y", .is_refused = true}));
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "newer",
                                  .user = "eve",
                                  .id = "n",
                                  .text = "",
                                  .kind = SMA_EVENT_NOTE,
                                  .is_group = true,
                                  .migrated_from = "test:chat:y"});
    run(&w);
    route = route_of(TEST, "test:chat:newer");
    CHECK(!sma_store_is_let_in(w.store, &route));
}

/* -- how much of strangers is kept ------------------------------------------------------------- */
static size_t bytes_of_history(const char *file)
{
    return strlen(history(&w, file));
}

/* A long message is kept in part, never runs, and its author is asked to send it again when he is
 * let in. */
CASE(a_strangers_long_message_is_cut)
{
    static char text[100001];
    start_paired(&w);
    memset(text, 'x', sizeof text - 1);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "eve", "1", text));
    CHECK(bytes_of_history("test%3Achat%3Aeve") < SMA_STRANGER_TEXT_BYTES_MAX + 512);
    CHECK(strstr(history(&w, "test%3Achat%3Aeve"), "xxx [...]") != NULL);
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&w, "eve")));
    CHECK_INT(SMA_VERDICT_DUPLICATE, write_as(&w, "eve", "1", text));
    CHECK_INT(200, approve(&w, code));
    CHECK(strstr(told(&w, "eve"), "send again") != NULL);
    CHECK(!has_run());
    /* who is known is bound by nothing of this */
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "eve", "2", text));
    struct sma_msg *msg = next_run(&w);
    CHECK_INT((int)sizeof text - 1, (int)SMA_MSG_BODY(msg, struct sma_run_order)->text.len);
    sma_msg_destroy(msg);
}

CASE(an_attachment_of_a_stranger_is_not_fetched)
{
    start_paired(&w);
    CHECK_INT(SMA_VERDICT_IGNORED,
              hear(&(struct saying){
                  .chat = "eve", .user = "eve", .id = "1", .text = "see", .preparation = "[1]"}));
    CHECK_INT(SMA_VERDICT_IGNORED,
              hear(GROUP("eve", MENTION, .id = "2", .text = "see", .preparation = "[1]")));
    CHECK_INT(0, (int)count_kept(&w.test, SMA_MSG_PREPARE));
    restart_world(&w);
    CHECK_INT(0, (int)count_kept(&w.test, SMA_MSG_PREPARE));
}

/* At the bound the text goes, the claim stays; the next day begins anew. */
CASE(a_flood_of_one_stranger_is_not_kept)
{
    start_paired(&w);
    char id[16];
    for (int i = 0; i < SMA_STRANGER_MESSAGE_COUNT_MAX + 30; i++) {
        snprintf(id, sizeof id, "%d", i);
        CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "eve", id, "flood"));
        (void)told(&w, "eve");
    }
    CHECK_INT(SMA_STRANGER_MESSAGE_COUNT_MAX,
              (int)count_of(history(&w, "test%3Achat%3Aeve"), "\"role\":\"user\""));
    CHECK_INT(SMA_VERDICT_DUPLICATE, write_as(&w, "eve", id, "flood"));
    /* another one is not touched by it */
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "mallory", "m", "hello"));
    CHECK(strstr(told(&w, "mallory"), "pair approve") != NULL);
    pass(&w, 86401);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "eve", "next day", "hello"));
    CHECK_INT(SMA_STRANGER_MESSAGE_COUNT_MAX + 1,
              (int)count_of(history(&w, "test%3Achat%3Aeve"), "\"role\":\"user\""));
}

/* What nobody addresses to the bot in a group of strangers, which it may have to hear, is bound
 * too; with access "anyone" as well. In a group that is let in everything is kept. */
CASE(chatter_of_a_strange_group_is_not_kept_without_end)
{
    for (int i = 0; i < 2; i++) {
        make_world(&w);
        w.test_json = i == 0 ? "{\"groups\":[\"g\"]}" : EVERYBODY;
        open_world(&w);
        for (int k = 0; k < SMA_STRANGER_MESSAGE_COUNT_MAX + 20; k++) {
            char id[16];
            snprintf(id, sizeof id, "%d", k);
            CHECK_INT(SMA_VERDICT_IGNORED, hear(GROUP("eve", NONE, .id = id, .text = "chatter")));
            struct saying ours = *GROUP("eve", NONE, .id = id, .text = "chatter");
            ours.chat = "g";
            CHECK_INT(SMA_VERDICT_IGNORED, hear(&ours));
        }
        CHECK_INT(SMA_STRANGER_MESSAGE_COUNT_MAX,
                  (int)count_of(history(&w, "test%3Achat%3Ax"), "chatter"));
        CHECK_INT(SMA_STRANGER_MESSAGE_COUNT_MAX + 20,
                  (int)count_of(history(&w, "test%3Achat%3Ag"), "chatter"));
        end_world(&w);
    }
}

/* Each stranger comes once, in a chat of his own: beyond the bound not even a chat is remembered of
 * him. */
CASE(many_strangers_leave_no_more_than_a_bound)
{
    start_paired(&w);
    char who[16];
    for (int i = 0; i < SMA_STRANGERS_CHAT_COUNT_MAX + 20; i++) {
        snprintf(who, sizeof who, "e%d", i);
        CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, who, "1", "hello"));
        drop_kept(&w.dispatcher);
    }
    CHECK(sma_state_chat_get(w.store->state, SMA_STR("test:chat:e0")) != NULL);
    char key[64];
    snprintf(key, sizeof key, "test:chat:%s", who);
    CHECK(sma_state_chat_get(w.store->state, sma_str(key)) == NULL);
    /* an owner is none of them */
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "boss", "1", "hello"));
}

/* Many strangers, none of whom writes too much: at the bound of all no text is kept, and everybody
 * still hears how to get in. */
CASE(all_strangers_together_are_bound)
{
    start_paired(&w);
    char who[16], id[16], file[64];
    int kept = 0, people = SMA_STRANGERS_MESSAGE_COUNT_MAX / SMA_STRANGER_MESSAGE_COUNT_MAX;
    for (int i = 0; i <= people; i++) {
        snprintf(who, sizeof who, "e%d", i);
        for (int k = 0; k < (i < people ? SMA_STRANGER_MESSAGE_COUNT_MAX : 3); k++) {
            snprintf(id, sizeof id, "%d", k);
            CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, who, id, "flood"));
            const char *text = told(&w, who);
            CHECK(k > 0 || strstr(text, "pair approve") != NULL);
        }
        snprintf(file, sizeof file, "test%%3Achat%%3A%s", who);
        kept += count_of(history(&w, file), "flood");
    }
    CHECK_INT(SMA_STRANGERS_MESSAGE_COUNT_MAX, kept);
    CHECK_INT(SMA_VERDICT_DUPLICATE, write_as(&w, who, "0", "flood"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "boss", "1", "hello")); /* none of them */
    finish_next(&w);
    pass(&w, 86401);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, who, "next day", "flood"));
    CHECK_INT(1, (int)count_of(history(&w, file), "flood"));
}

/* Each time costs a message of the platform: whoever writes on and on hears nothing more of his
 * code. */
CASE(the_code_of_a_person_is_not_shown_for_ever)
{
    start_paired(&w);
    int notices = 0;
    for (int i = 0; i < SMA_PAIRING_SHOWN_COUNT_MAX + 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "eve", id, "hello?"));
        notices += told(&w, "eve")[0] != '\0';
        pass(&w, SMA_NOTICE_INTERVAL_S + 1);
    }
    CHECK_INT(SMA_PAIRING_SHOWN_COUNT_MAX, notices);
    CHECK_INT(1, (int)count_of(listed(&w), "\"code\"")); /* it holds all the same */
}

CASES_MAIN
