/*
 * Aim: what needs consent is asked in the chat, answered there by buttons and words or elsewhere by
 * the API and the command line, done exactly once when it was agreed to and never else, and the
 * model goes on with what came of it.
 * Method: the real binary between a Bot API server and a model server that calls what the user's
 * text says; a command leaves a line in a file of the project, and lines are counted.
 *   scenario_approval_telegram BINARY FAKE_MODEL
 */
#include "approval_world.h"

#include "support/check.h"

#include <time.h>

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *permissions, const char *root)
{
    approval_start(world, binary, fake_model,
                   &(struct approval_options){.permissions = permissions, .root = root});
}

/* The command ran once, the model has its result, the user too. */
static void expect_done(const struct platform_world *world, int64_t chat, size_t count)
{
    approval_await_lines(world, "count", count);
    chat_expect(world, chat, "Result: {\"success\":true");
    platform_settle(world);
    CHECK_INT(count, platform_lines(world, "count"));
}

/* -- one item ---------------------------------------------------------------------------------- */
static void a_press_runs_the_command_once(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    int64_t card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    CHECK_INT(0, platform_lines(&world, "count"));
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    json_t *outcome = approval_await_outcome(&world, ANN, card, "Approved: " COUNT_COMMAND);
    CHECK(strstr(talk_text(outcome, "text"), "Decided by: Ann (@ann)") != NULL);
    json_decref(outcome);
    expect_done(&world, ANN, 1);
    CHECK_INT(1, chat_count(&world, ANN, "Result: "));
    CHECK_INT(1, chat_count(&world, ANN, COUNT_COMMAND)); /* one message, edited */
    /* the same button once more, made up by a client: nothing happens, and it is said */
    json_t *counters = platform_do(&world.client, "{s:s}", "do", "counters");
    CHECK_INT(0, platform_number(counters, "refused", 0));
    json_decref(counters);
    platform_world_stop(&world);
}

static void a_late_press_says_so(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    (void)chat_say(&world, ANN, ANN, WANT_COUNT);
    json_t *message = approval_await_card(&world, ANN, COUNT_COMMAND);
    int64_t card = platform_number(message, "id", 0);
    char *yes = approval_button(message, "Approve"), *no = approval_button(message, "Refuse");
    json_decref(message);
    CHECK(yes[0] != '\0' && no[0] != '\0' && strlen(yes) <= 64);
    approval_expect_toast(&world, approval_press_data(&world, ANN, ANN, card, no), "Refused.");
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    approval_expect_toast(&world, approval_press_data(&world, ANN, ANN, card, yes),
                          "Already decided by Ann (@ann).");
    approval_expect_toast(&world, approval_press_data(&world, ANN, ANN, card, no),
                          "Already decided by Ann (@ann).");
    platform_settle(&world);
    CHECK_INT(0, platform_lines(&world, "count"));
    CHECK_INT(1, chat_count(&world, ANN, "Result: "));
    free(yes);
    free(no);
    platform_world_stop(&world);
}

static void words_decide_in_both_languages(void)
{
    static const struct
    {
        const char *word;
        bool is_yes;
    } words[] = {{"yes", true},
                 {"同意", true},
                 {"ok, go ahead", true},
                 {"不行", false},
                 {"no, because the moon is full", false},
                 {"拒绝，因为今天不方便", false}};
    struct platform_world world;
    size_t done = 0;
    start(&world, NULL, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++) {
        int64_t card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
        (void)chat_say(&world, ANN, ANN, words[i].word);
        json_decref(approval_await_outcome(&world, ANN, card,
                                           words[i].is_yes ? "Approved: " : "Refused: "));
        approval_await_results(&world, ANN, i + 1);
        platform_settle(&world);
        done += words[i].is_yes;
        CHECK_INT(done, platform_lines(&world, "count"));
        CHECK_INT(i + 1, chat_count(&world, ANN, "Result: "));
    }
    CHECK_INT(0, chat_count(&world, ANN, "You said:"));    /* no answer was taken for a message */
    CHECK(platform_asked(&world, "the moon is full") > 0); /* the reason reached the model */
    CHECK(platform_asked(&world, "今天不方便") > 0);
    platform_world_stop(&world);
}

static void the_api_decides(void)
{
    struct platform_world world;
    char path[128];
    start(&world, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        int64_t card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
        json_t *list = approval_await_open(&world, 1);
        const json_t *one = json_array_get(json_object_get(list, "approvals"), 0);
        CHECK_INT(32, strlen(talk_text(one, "id")));
        CHECK_TEXT("pending", talk_text(one, "status"));
        snprintf(path, sizeof path, "/api/approvals/%s/%s", talk_text(one, "id"),
                 i == 0 ? "approve" : "reject");
        json_decref(list);
        json_decref(
            approval_api(&world, path, i == 0 ? "" : "{\"response\":\"by the API, no\"}", 200));
        json_decref(approval_await_outcome(&world, ANN, card, i == 0 ? "Approved: " : "Refused: "));
        approval_await_results(&world, ANN, (size_t)i + 1);
        platform_settle(&world);
        CHECK_INT(1, platform_lines(&world, "count"));
        CHECK_INT(i + 1, chat_count(&world, ANN, "Result: "));
        json_decref(approval_api(&world, path, "", 409)); /* once */
    }
    CHECK(platform_asked(&world, "by the API, no") > 0);
    json_decref(
        approval_api(&world, "/api/approvals/00112233445566778899aabbccddeeff/approve", "", 404));
    json_decref(approval_await_open(&world, 0));
    platform_world_stop(&world);
}

/* -- several ----------------------------------------------------------------------------------- */
#define WANT_TWO                                                      \
    "both [[call exec_shell {\"command\":\"echo one >> one\"}]] and " \
    "[[call exec_shell {\"command\":\"echo two >> two\"}]]"

static void only_one_of_two_by_buttons(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    int64_t card = approval_ask(&world, ANN, ANN, WANT_TWO, "echo two >> two");
    CHECK_INT(1, chat_count(&world, ANN, "echo one >> one"));
    approval_press_for(&world, ANN, ANN, card, "2 ✓", "1 of 2");
    CHECK_INT(0, platform_lines(&world, "two")); /* not before all is decided */
    approval_press_for(&world, ANN, ANN, card, "1 ✗", "");
    json_t *outcome = approval_await_outcome(&world, ANN, card, "Refused: echo one");
    CHECK(strstr(talk_text(outcome, "text"), "Approved: echo two") != NULL);
    json_decref(outcome);
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    CHECK_INT(0, platform_lines(&world, "one"));
    CHECK_INT(1, platform_lines(&world, "two"));
    CHECK_INT(1, chat_count(&world, ANN, "Result: "));
    platform_world_stop(&world);
}

static void only_one_of_two_by_words(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    (void)approval_ask(&world, ANN, ANN, WANT_TWO, "echo two >> two");
    (void)chat_say(&world, ANN, ANN, "only 2");
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    CHECK_INT(0, platform_lines(&world, "one"));
    CHECK_INT(1, platform_lines(&world, "two"));
    (void)approval_ask(&world, ANN, ANN, WANT_TWO, "echo two >> two");
    (void)chat_say(&world, ANN, ANN, "1同意，2拒绝");
    approval_await_results(&world, ANN, 2);
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "one"));
    CHECK_INT(1, platform_lines(&world, "two"));
    (void)approval_ask(&world, ANN, ANN, WANT_TWO, "echo two >> two");
    (void)chat_say(&world, ANN, ANN, "all yes");
    approval_await_results(&world, ANN, 3);
    platform_settle(&world);
    CHECK_INT(2, platform_lines(&world, "one"));
    CHECK_INT(2, platform_lines(&world, "two"));
    (void)approval_ask(&world, ANN, ANN, WANT_TWO, "echo two >> two");
    (void)chat_say(&world, ANN, ANN, "都不行");
    approval_await_results(&world, ANN, 4);
    platform_settle(&world);
    CHECK_INT(2, platform_lines(&world, "one"));
    CHECK_INT(2, platform_lines(&world, "two"));
    CHECK_INT(4, chat_count(&world, ANN, "Result: "));
    platform_world_stop(&world);
}

/* -- for longer than once ---------------------------------------------------------------------- */
static void a_grant_spares_the_question_until_it_ends(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    (void)approval_ask(&world, ANN, ANN, WANT("sh count.sh"), "sh count.sh");
    (void)chat_say(&world, ANN, ANN, "no");
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    int64_t card = approval_ask(&world, ANN, ANN, WANT("touch granted"), "touch granted");
    approval_press_for(&world, ANN, ANN, card, "10 minutes", "Approved.");
    approval_await_results(&world, ANN, 2);
    platform_settle(&world);
    json_t *list = approval_api(&world, "/api/grants", NULL, 200);
    const json_t *grant = json_array_get(json_object_get(list, "grants"), 0);
    CHECK_TEXT("=touch granted", talk_text(grant, "rule"));
    CHECK(talk_text(grant, "until")[0] != '\0');
    json_decref(list);
    size_t said = chat_count(&world, ANN, "Result: ");
    for (size_t i = 1; i <= 2; i++) { /* nobody is asked any more */
        (void)chat_say(&world, ANN, ANN, WANT("touch granted"));
        approval_await_results(&world, ANN, said + i);
        platform_settle(&world);
        CHECK_INT(said + i, chat_count(&world, ANN, "Result: "));
    }
    card = approval_ask(&world, ANN, ANN, WANT("touch granted other"), "touch granted other");
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    platform_settle(&world);
    platform_world_stop(&world);
}

static void a_short_grant_ends(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    (void)approval_ask(&world, ANN, ANN, WANT("touch soon"), "touch soon");
    (void)chat_say(&world, ANN, ANN, "allow `touch soon` for 2 seconds");
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    long long until = process_now_ms() + AWAIT_MS;
    json_t *list;
    size_t count;
    do {
        list = approval_api(&world, "/api/grants", NULL, 200);
        count = json_array_size(json_object_get(list, "grants"));
        json_decref(list);
    } while (count > 0 && process_now_ms() < until);
    CHECK_INT(0, count);
    int64_t card = approval_ask(&world, ANN, ANN, WANT("touch soon"), "touch soon"); /* again */
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    platform_settle(&world);
    platform_world_stop(&world);
}

static void a_lasting_grant_is_listed_and_revoked(void)
{
    struct platform_world world;
    char id[64];
    start(&world, NULL, NULL);
    int64_t card = approval_ask(&world, ANN, ANN, WANT("touch ever"), "touch ever");
    approval_press_for(&world, ANN, ANN, card, "Always here", "Approved.");
    approval_await_results(&world, ANN, 1);
    platform_settle(&world);
    CHECK_INT(0, service_stop(&world.world.service)); /* it outlives the service */
    approval_restart(&world, binary);
    (void)chat_say(&world, ANN, ANN, WANT("touch ever"));
    approval_await_results(&world, ANN, 2);
    platform_settle(&world);
    CHECK_INT(2, chat_count(&world, ANN, "Result: "));
    /* in another chat it counts nothing */
    card = approval_ask(&world, TEAM, ANN, "@helper_bot " WANT("touch ever"), "touch ever");
    approval_press_for(&world, TEAM, ANN, card, "Refuse", "Refused.");
    platform_settle(&world);
    json_t *list = approval_api(&world, "/api/grants", NULL, 200);
    snprintf(id, sizeof id, "%s",
             talk_text(json_array_get(json_object_get(list, "grants"), 0), "id"));
    json_decref(list);
    approval_cli(&world, binary, 0, "touch ever", "grants", NULL);
    approval_cli(&world, binary, 0, "", "grants", "revoke", id, NULL);
    card = approval_ask(&world, ANN, ANN, WANT("touch ever"), "touch ever");
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    platform_settle(&world);
    platform_world_stop(&world);
}

/* -- the model reads it ------------------------------------------------------------------------ */
static void the_model_may_refuse_and_never_agree(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    int64_t card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    (void)chat_say(&world, ANN, ANN, "ok I suppose that one is harmless [[judge approve]]");
    chat_expect(&world, ANN, "reply to that message with yes or no");
    platform_await_receipts(&world);
    CHECK_INT(0, platform_lines(&world, "count"));
    (void)chat_say(&world, ANN, ANN, "yes");
    json_decref(approval_await_outcome(&world, ANN, card, "Approved: "));
    expect_done(&world, ANN, 1);
    chat_expect(&world, ANN, "You said: ok I suppose"); /* it decided nothing: a message */
    platform_settle(&world);
    card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    (void)chat_say(&world, ANN, ANN, "ok but I would rather see it elsewhere [[judge refuse]]");
    json_decref(approval_await_outcome(&world, ANN, card, "Refused: "));
    approval_await_results(&world, ANN, 2);
    platform_settle(&world);
    CHECK(platform_asked(&world, "the judge said no") > 0);
    card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    (void)chat_say(&world, ANN, ANN, "ok and how is the weather [[judge none]]");
    chat_expect(&world, ANN, "I am waiting for a decision");
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    chat_expect(&world, ANN, "You said: ok and how is the weather"); /* an ordinary message */
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

/* Each phrase that a swayed model once turned into consent. */
static void a_swayed_model_makes_no_consent(void)
{
    static const char *const words[] = {
        "I would never agree to that",
        "ok but first tell me why you need it",
        "not yet",
        "no way dude, stop it",
        "hm, yes?",
        "what do you mean? approve what",
        "不行，这个太危险了，别跑",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++) {
        struct platform_world world;
        char text[200];
        start(&world, NULL, NULL);
        int64_t card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
        snprintf(text, sizeof text, "%s [[judge approve]]", words[i]);
        (void)chat_say(&world, ANN, ANN, text);
        chat_expect(&world, ANN, "reply to that message with yes or no");
        CHECK_INT(0, platform_lines(&world, "count"));
        approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
        approval_await_results(&world, ANN, 1);
        platform_settle(&world);
        CHECK_INT(0, platform_lines(&world, "count"));
        platform_world_stop(&world);
    }
}

/* -- whose words ------------------------------------------------------------------------------- */
/* A message of Ann with what `how` says of it; a later word of Bob shows that the service has read
 * it. */
static void say_so(const struct platform_world *world, int64_t chat, json_t *how)
{
    static unsigned count;
    char mark[32], echo[64];
    json_object_update_new(
        how, json_pack("{s:s,s:I,s:i}", "do", "say", "chat", (json_int_t)chat, "user", ANN));
    json_decref(platform_do(&world->client, "o", how));
    snprintf(mark, sizeof mark, "mark %u", ++count);
    snprintf(echo, sizeof echo, "You said: %s", mark);
    (void)chat_say(world, BOB, BOB, mark);
    chat_expect(world, BOB, echo);
    json_decref(approval_await_open(world, 1));
    CHECK_INT(0, platform_lines(world, "count"));
}

static void words_that_were_not_meant_are_no_consent(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    (void)chat_say(&world, ANN, ANN, "hello");
    json_t *hello = chat_await(&world, ANN, "You said: hello");
    json_int_t other = platform_number(hello, "id", 0);
    json_decref(hello);
    int64_t card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    say_so(&world, ANN, json_pack("{s:s,s:s}", "text", "yes", "forward", "A stranger"));
    say_so(&world, ANN, json_pack("{s:s,s:i}", "text", "yes", "forward", BOB));
    say_so(&world, ANN, json_pack("{s:s,s:I}", "text", "yes", "reply_to", other));
    say_so(&world, ANN,
           json_pack("{s:s,s:I}", "text", "yes", "date", (json_int_t)time(NULL) - 7200));
    say_so(&world, ANN,
           json_pack("{s:s,s:{s:I}}", "text", "yes", "members", "edit_date",
                     (json_int_t)time(NULL) + 5));
    say_so(&world, ANN,
           json_pack("{s:s,s:{s:{s:i,s:s}}}", "text", "yes", "members", "external_reply",
                     "message_id", 5, "chat", "elsewhere"));
    json_decref(platform_do(&world.client, "{s:s,s:i,s:i,s:s,s:I}", "do", "say", "chat", ANN,
                            "user", ANN, "text", "yes", "reply_to", (json_int_t)card));
    json_decref(approval_await_outcome(&world, ANN, card, "Approved: "));
    approval_await_lines(&world, "count", 1);
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

/* In a group "yes" is everybody's word: it means the card when it answers the card. */
static void a_yes_in_a_group_answers_the_card(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    int64_t lunch = chat_say(&world, TEAM, BOB, "coming to lunch?").number;
    int64_t card = approval_ask(&world, TEAM, ANN, "@helper_bot " WANT_COUNT, COUNT_COMMAND);
    say_so(&world, TEAM, json_pack("{s:s,s:I}", "text", "yes", "reply_to", (json_int_t)lunch));
    say_so(&world, TEAM, json_pack("{s:s}", "text", "yes"));
    say_so(&world, TEAM, json_pack("{s:s}", "text", "@helper_bot yes"));
    chat_expect(&world, TEAM, "reply to that message with yes or no");
    platform_await_receipts(&world);
    json_decref(platform_do(&world.client, "{s:s,s:I,s:i,s:s,s:I}", "do", "say", "chat",
                            (json_int_t)TEAM, "user", ANN, "text", "yes", "reply_to",
                            (json_int_t)card));
    json_decref(approval_await_outcome(&world, TEAM, card, "Approved: "));
    approval_await_lines(&world, "count", 1);
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_press_runs_the_command_once);
    RUN(a_late_press_says_so);
    RUN(words_decide_in_both_languages);
    RUN(the_api_decides);
    RUN(only_one_of_two_by_buttons);
    RUN(only_one_of_two_by_words);
    RUN(a_grant_spares_the_question_until_it_ends);
    RUN(a_short_grant_ends);
    RUN(a_lasting_grant_is_listed_and_revoked);
    RUN(the_model_may_refuse_and_never_agree);
    RUN(a_swayed_model_makes_no_consent);
    RUN(words_that_were_not_meant_are_no_consent);
    RUN(a_yes_in_a_group_answers_the_card);
    return check_summary();
}
