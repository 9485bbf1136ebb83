/* Aim: a stranger gets a code and nothing else; what he wrote is kept and runs once an owner, and
 * nobody else, has said yes.
 * Method: the store actor between actors that keep what they get. */
#include "people_support.h"

#include <ctype.h>

/* -- the life of a code ------------------------------------------------------------------------ */
CASE(a_stranger_gets_a_code_and_nothing_else)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "1", "hello"));
    CHECK(run_seq(&world) == 0);
    const char *text = told(&world, "eve");
    CHECK(strstr(text, "shipmyagent pair approve ") != NULL);
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(text));
    for (const char *at = code; *at != '\0'; at++)
        CHECK(strchr("0O1IL5S8B2Z", *at) == NULL && (isupper(*at) || isdigit(*at)));
    /* no second notice within the interval, and no command is carried out */
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "2", "hello?"));
    CHECK_INT(SMA_VERDICT_IGNORED, command_as(&world, "eve", "3", SMA_CONTROL_STATUS));
    CHECK_INT(SMA_VERDICT_IGNORED, command_as(&world, "eve", "4", SMA_CONTROL_CLEAR));
    CHECK_TEXT("", told(&world, "eve"));
    CHECK_INT(0, (int)count_kept(&world.agent, SMA_MSG_CONTROL));
    /* the same code later; help is answered with it */
    pass(&world, SMA_NOTICE_INTERVAL_S + 1);
    CHECK_INT(SMA_VERDICT_IGNORED, command_as(&world, "eve", "5", SMA_CONTROL_HELP));
    CHECK_TEXT(code, code_in(told(&world, "eve")));
    /* somebody else gets another */
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "mallory", "6", "hello"));
    CHECK(strcmp(code, code_in(told(&world, "mallory"))) != 0);
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    CHECK_INT(5, (int)count_of(history(&world, "test%3Achat%3Aeve"), "\"role\":\"user\""));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
}

CASE(what_was_kept_runs_once_the_code_is_confirmed)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "first question");
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    (void)write_as(&world, "eve", "2", "second question");
    CHECK(strstr(listed(&world), code) != NULL);
    restart_world(&world);
    CHECK(run_seq(&world) == 0);
    CHECK_INT(200, approve(&world, code));
    CHECK(strstr(decided_text, "Ann") != NULL && strstr(decided_text, "member") != NULL);
    CHECK(strstr(told(&world, "eve"), "You can talk to me now. I am answering") != NULL);
    struct sma_msg *order = next_run(&world);
    CHECK(order != NULL);
    CHECK_STR("first question", SMA_MSG_BODY(order, struct sma_run_order)->text);
    uint64_t seq = SMA_MSG_BODY(order, struct sma_run_order)->seq;
    sma_msg_destroy(order);
    done(&world, seq, "ok", NULL, 0);
    expect_durable(&world, SMA_MSG_DONE_DONE);
    finish_next(&world);
    CHECK(run_seq(&world) == 0);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "eve", "3", "third question"));
    finish_next(&world);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    CHECK(
        strstr(listed(&world),
               "\"userId\":\"eve\",\"role\":\"member\",\"userName\":\"Ann\",\"via\":\"paired\"") !=
        NULL);
    /* a code is answered once */
    CHECK_INT(404, approve(&world, code));
    restart_world(&world);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
}

CASE(too_many_messages_are_not_all_kept)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    char id[8], code[16];
    for (int i = 0; i < SMA_PAIRING_KEPT_COUNT_MAX + 3; i++) {
        snprintf(id, sizeof id, "%d", i);
        (void)write_as(&world, "eve", id, "hello");
    }
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    CHECK_INT(200, approve(&world, code));
    CHECK(strstr(told(&world, "eve"), "send again") != NULL);
    for (int i = 0; i < SMA_PAIRING_KEPT_COUNT_MAX; i++)
        finish_next(&world);
    CHECK(run_seq(&world) == 0);
}

CASE(a_kept_message_is_prepared_and_an_album_goes_alone)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "eve",
                                  .user = "eve",
                                  .id = "1",
                                  .text = "look",
                                  .preparation = "photo",
                                  .group_key = "album"});
    run(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "") == 0);
    CHECK_INT(200, approve(&world, code_in(told(&world, "eve"))));
    CHECK(run_seq(&world) == 0);
    CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "the photo") != 0);
    run(&world);
    struct sma_msg *order = next_run(&world);
    CHECK(order != NULL);
    CHECK_STR("the photo", SMA_MSG_BODY(order, struct sma_run_order)->context);
    sma_msg_destroy(order);
}

CASE(codes_grow_old)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    sma_sim_shift_wall(world.system, SMA_PAIRING_S * INT64_C(1000) - 1000);
    pass(&world, SMA_NOTICE_INTERVAL_S + 1);
    sma_sim_shift_wall(world.system, -SMA_NOTICE_INTERVAL_S * INT64_C(1000) - 1500);
    (void)write_as(&world, "eve", "2", "hello");
    CHECK_TEXT(code, code_in(told(&world, "eve")));
    sma_sim_shift_wall(world.system, 5000 + SMA_NOTICE_INTERVAL_S * INT64_C(1000));
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    CHECK_INT(410, approve(&world, code));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    CHECK(run_seq(&world) == 0);
    pass(&world, SMA_NOTICE_INTERVAL_S + 1);
    (void)write_as(&world, "eve", "3", "hello");
    const char *fresh = code_in(told(&world, "eve"));
    CHECK(strcmp(code, fresh) != 0);
    CHECK_INT(200, approve(&world, fresh));
}

CASE(a_refused_person_gets_no_further_code)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    const char *code = code_in(told(&world, "eve"));
    CHECK_INT(200, decide_person(&world, &(struct decision){.id = code, .is_refused = true}));
    CHECK(strstr(decided_text, "refused") != NULL);
    CHECK_TEXT("", told(&world, "eve"));
    pass(&world, SMA_NOTICE_INTERVAL_S + 1);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "2", "hello"));
    CHECK(strstr(told(&world, "eve"), "allowed") != NULL);
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    CHECK(run_seq(&world) == 0);
    /* until somebody changes his mind, by the person's key */
    CHECK_INT(200, approve(&world, "test:eve"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "eve", "3", "hello"));
    finish_next(&world);
    /* and back again */
    CHECK_INT(200, decide_person(&world, &(struct decision){.id = "test:eve", .is_refused = true}));
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "4", "hello"));
}

CASE(the_oldest_code_goes_at_the_bound)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    char who[16], id[16], first[16] = "";
    for (int i = 0; i <= SMA_PAIRING_COUNT_MAX; i++) {
        snprintf(who, sizeof who, "p%d", i);
        snprintf(id, sizeof id, "m%d", i);
        (void)say_as(&world, TEST,
                     &(struct saying){.chat = who, .user = who, .id = id, .text = "hello"});
        if (i % 50 != 0)
            continue; /* fifty in one transaction */
        run(&world);
        if (i == 0)
            snprintf(first, sizeof first, "%s", code_in(told(&world, who)));
        drop_kept(&world.test);
        drop_kept(&world.dispatcher);
        sma_sim_shift_wall(world.system, 10);
    }
    const char *text = listed(&world);
    CHECK_INT(SMA_PAIRING_COUNT_MAX, (int)count_of(text, "\"code\""));
    CHECK(strstr(text, first) == NULL && strstr(text, "\"p0\"") == NULL);
    CHECK_INT(404, approve(&world, first));
}

/* -- who may answer ---------------------------------------------------------------------------- */
CASE(only_owners_answer)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    char code[16], lower[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    CHECK_INT(403, decide_person(&world, &(struct decision){.id = code, .user = "eve"}));
    CHECK_INT(403, decide_person(&world, &(struct decision){.id = code, .user = ""}));
    CHECK_INT(200, approve(&world, "test:ann"));
    CHECK_INT(403, decide_person(&world, &(struct decision){.id = code, .user = "ann"}));
    CHECK_INT(200, decide_person(&world, &(struct decision){.id = "test:adm",
                                                            .standing = SMA_STANDING_ADMIN}));
    CHECK_INT(403, decide_person(&world, &(struct decision){.id = code, .user = "adm"}));
    static const struct
    {
        const char *id;
        int status, standing;
    } wrong[] = {
        {"", 404, 1},
        {"AAAA", 404, 1},
        {"AAAAAAAA", 404, 1},
        {"../../..", 404, 1},
        {"test:", 400, 1},
        {":x", 400, 1},
        {"api:x", 400, 1},
        {"test:a b", 400, 1},
        {"person/test/eve", 404, 1},
        {"test:chat:1:user:2", 400, 1},
        {"test:x", 400, 9},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK_INT(wrong[i].status,
                  decide_person(&world, &(struct decision){
                                            .id = wrong[i].id,
                                            .standing = (enum sma_standing)wrong[i].standing}));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    /* typed in small letters, by an owner of the configuration, as an owner */
    for (size_t i = 0; i < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)code[i]);
    CHECK_INT(200, decide_person(&world, &(struct decision){.id = lower,
                                                            .user = "boss",
                                                            .standing = SMA_STANDING_OWNER}));
    CHECK_INT(SMA_STANDING_OWNER, standing_of(&world, "eve"));
}

/* An administrator of the platform, by configuration as by pairing, answers no pairing and makes
 * nobody anything. */
CASE(an_administrator_lets_nobody_in)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{}";
    world.config.permissions_json =
        "{\"roles\":{\"owner\":[\"test:boss\"],\"admin\":[\"test:named\"]}}";
    open_world(&world);
    CHECK_INT(200, decide_person(&world, &(struct decision){.id = "test:paired",
                                                            .standing = SMA_STANDING_ADMIN}));
    (void)write_as(&world, "eve", "1", "let me in");
    char code[16], text[64], id[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    static const char *const admins[] = {"named", "paired"};
    static const char *const words[] = {"pair", "approve", "配对", "reject"};
    for (size_t i = 0; i < SMA_COUNT_OF(admins); i++) {
        CHECK_INT(SMA_STANDING_ADMIN, standing_of(&world, admins[i]));
        for (int standing = SMA_STANDING_STRANGER; standing <= SMA_STANDING_OWNER; standing++) {
            const char *const ids[] = {code, "test:eve", "test:named", "test:paired",
                                       "test:chat:-1"};
            for (size_t k = 0; k < SMA_COUNT_OF(ids); k++)
                for (int is_refused = 0; is_refused < 2; is_refused++)
                    CHECK_INT(403,
                              decide_person(&world, &(struct decision){
                                                        .id = ids[k],
                                                        .user = admins[i],
                                                        .is_refused = is_refused != 0,
                                                        .standing = (enum sma_standing)standing}));
        }
        for (size_t k = 0; k < SMA_COUNT_OF(words); k++) {
            snprintf(text, sizeof text, "%s %s", words[k], code);
            snprintf(id, sizeof id, "%zu-%zu", i, k);
            CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, admins[i], id, text));
            finish_next(&world); /* words for the agent, like any others */
            CHECK_TEXT("", told(&world, "eve"));
        }
        CHECK_INT(SMA_STANDING_ADMIN, standing_of(&world, admins[i]));
    }
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    CHECK(strstr(listed(&world), code) != NULL); /* it waits for an owner still */
    snprintf(text, sizeof text, "pair %s", code);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "boss", "9", text));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
}

CASE(owners_hear_of_a_code_and_answer_in_their_chat)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    /* home is where an owner last wrote in private */
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "boss", "1", "hello"));
    finish_next(&world);
    (void)write_as(&world, "eve", "2", "let me in");
    char code[16], text[64];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    const char *news = told(&world, "boss");
    CHECK(strstr(news, "wants to talk to me on test") != NULL && strstr(news, code) != NULL);
    CHECK(strstr(news, "\"Ann\"") != NULL);
    /* ordinary words stay ordinary; so do those of somebody else */
    static const char *const ordinary[] = {"pair", "pair up the numbers", "approve", "pairing",
                                           "approve AAAAAAAA"};
    for (size_t i = 0; i < SMA_COUNT_OF(ordinary); i++) {
        snprintf(text, sizeof text, "o%zu", i);
        CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "boss", text, ordinary[i]));
        finish_next(&world);
    }
    snprintf(text, sizeof text, "pair %s", code);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "3", text));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    /* A stranger's words that the owner passes on, or changes afterwards, are not his own. */
    for (int i = 0; i < 2; i++) {
        (void)say_as(&world, TEST,
                     &(struct saying){.chat = "boss",
                                      .user = "boss",
                                      .id = i == 0 ? "f1" : "f2",
                                      .text = text,
                                      .is_forward = i == 0,
                                      .is_edited = i == 1});
        expect_accepted(&world);
        finish_next(&world); /* an ordinary message */
        CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    }
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "boss", "4", "pair AAAAAAAA"));
    CHECK(strstr(told(&world, "boss"), "no such pairing code") != NULL);
    CHECK(run_seq(&world) == 0);
    snprintf(text, sizeof text, " Pair  %s\n", code);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "boss", "5", text));
    CHECK(strstr(told(&world, "eve"), "You can talk") != NULL);
    CHECK(strstr(told(&world, "boss"), "may talk to me now") != NULL);
    finish_next(&world); /* "let me in" */
    finish_next(&world); /* "pair ..." */
    CHECK(run_seq(&world) == 0);
    /* the words in Chinese, and no */
    pass(&world, SMA_NOTICE_INTERVAL_S + 1);
    (void)write_as(&world, "zoe", "6", "hello");
    snprintf(text, sizeof text, "配对%s", code_in(told(&world, "zoe")));
    CHECK(strstr(told(&world, "boss"), "wants to talk") != NULL);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "boss", "7", text));
    CHECK(strstr(told(&world, "zoe"), "You can talk") != NULL);
    CHECK(strstr(told(&world, "boss"), "may talk to me now") != NULL);
    finish_next(&world);
    pass(&world, SMA_NOTICE_INTERVAL_S + 1);
    (void)write_as(&world, "tim", "8", "hello");
    snprintf(text, sizeof text, "reject %s", code_in(told(&world, "tim")));
    (void)told(&world, "boss");
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "boss", "9", text));
    CHECK(strstr(told(&world, "boss"), "may not talk") != NULL);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "tim"));
    CHECK(run_seq(&world) == 0);
}

/* Whoever has made a bot writes to it first: without an owner the code comes with the command that
 * makes him one, from every folder. */
CASE(the_first_person_learns_how_to_become_owner)
{
    SMA_AUTO(end_world) struct world world;
    char command[600];
    make_world(&world);
    world.test_json = "{}";
    world.config.project_dir = "/srv/my bots/ann's";
    open_world(&world);
    (void)write_as(&world, "ann", "1", "hello");
    const char *text = told(&world, "ann");
    snprintf(command, sizeof command,
             "shipmyagent pair approve %s '/srv/my bots/ann'\\''s' --role owner", code_in(text));
    CHECK(strstr(text, command) != NULL);
    CHECK_INT(200, decide_person(&world, &(struct decision){.id = code_in(text),
                                                            .standing = SMA_STANDING_OWNER}));
    (void)told(&world, "ann");
    finish_next(&world);
    /* from then on nobody is told how to become one */
    (void)write_as(&world, "eve", "2", "hello");
    text = told(&world, "eve");
    CHECK(strstr(text, "Ask the owner") != NULL && strstr(text, "--role") == NULL);
    CHECK(strstr(text, "/srv") == NULL);
}

/* Neither a stranger nor a flood of his words is answered each time, and he is never left without a
 * word for good. */
CASE(a_stranger_is_reminded_for_as_long_as_his_code_lives)
{
    SMA_AUTO(end_world) struct world world;
    char id[16];
    start_paired(&world);
    for (int i = 0; i < SMA_PAIRING_SHOWN_COUNT_MAX; i++) {
        snprintf(id, sizeof id, "m%d", i);
        (void)write_as(&world, "eve", id, "hello?");
        CHECK(strstr(told(&world, "eve"), "pair approve") != NULL);
        pass(&world, SMA_NOTICE_INTERVAL_S + 1);
    }
    (void)write_as(&world, "eve", "n1", "hello?");
    CHECK_TEXT("", told(&world, "eve"));
    for (int hour = 0; hour < 3; hour++) {
        pass(&world, 3600);
        snprintf(id, sizeof id, "h%d", hour);
        (void)write_as(&world, "eve", id, "hello?");
        CHECK(strstr(told(&world, "eve"), "pair approve") != NULL);
    }
}

CASE(start_greets_and_whoami_tells_the_id)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{}";
    world.config.name = "Helper";
    world.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]}}";
    open_world(&world);
    (void)command_as(&world, "boss", "1", SMA_CONTROL_START);
    const char *text = told(&world, "boss");
    CHECK(strstr(text, "Hello, I am Helper.") == text && strstr(text, "\n/status — ") != NULL);
    (void)command_as(&world, "boss", "2", SMA_CONTROL_WHOAMI);
    CHECK_TEXT("You are Ann, id test:boss, role owner. This chat is test:chat:boss.",
               told(&world, "boss"));
    /* a stranger's first word is often /start: he is shown the way in */
    (void)command_as(&world, "eve", "3", SMA_CONTROL_START);
    CHECK(strstr(told(&world, "eve"), "pair approve") != NULL);
}

CASE(a_flood_of_strangers_is_told_once_to_the_owner)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)write_as(&world, "boss", "1", "hello");
    finish_next(&world);
    for (int i = 0; i < 20; i++) {
        char who[8], id[8];
        snprintf(who, sizeof who, "s%d", i);
        snprintf(id, sizeof id, "s%d", i);
        (void)write_as(&world, who, id, "hello");
    }
    size_t owner_count = 0, count = count_kept(&world.dispatcher, SMA_MSG_DELIVER);
    for (struct sma_msg *msg; (msg = deliver(&world)) != NULL; sma_msg_destroy(msg))
        owner_count +=
            sma_str_is_equal(SMA_MSG_BODY(msg, struct sma_deliver)->route.chat_id, SMA_STR("boss"));
    CHECK_INT(21, (int)count);
    CHECK_INT(1, (int)owner_count);
    CHECK_INT(20, (int)count_of(listed(&world), "\"code\""));
}

CASE(names_of_strangers_are_shown_harmless)
{
    static const struct
    {
        const char *name, *shown;
    } rows[] = {
        {"Ann_Lee", "Ann_Lee"},
        {"李雷", "李雷"},
        {"a\nb\"c\\", "a b c "},
        {"[here](http://x)", " here (http://x)"},
        {"<b>*x*</b>`~|", " b  x  /b    "},
        {"x\xE2\x80\xAEy\xE2\x81\xA6z\xC2\x9B", "x   y   z  "},
    };
    char text[SMA_PAIRING_NAME_BYTES_MAX + 1];
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        sma_store_pairing_name(text, &(struct sma_route){.user_name = sma_str(rows[i].name)});
        CHECK_TEXT(rows[i].shown, text);
    }
    char endless[400] = "";
    for (int i = 0; i < 100; i++)
        strncat(endless, "字", sizeof endless - strlen(endless) - 1);
    sma_store_pairing_name(text, &(struct sma_route){.user_name = sma_str(endless)});
    CHECK(strlen(text) <= SMA_PAIRING_NAME_BYTES_MAX && strlen(text) % 3 == 0);
    sma_store_pairing_name(text, &(struct sma_route){.user_id = SMA_STR("42")});
    CHECK_TEXT("42", text);
}

CASES_MAIN
