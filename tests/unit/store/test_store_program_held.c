/*
 * Aim: owners are asked once about a program of an MCP server that has changed; an owner's yes, in
 * private and by himself, counts for what was shown, and outlives a kill.
 * Method: the store actor between actors that keep what they get.
 */
#include "people_support.h"

#define QUESTION "The MCP server \"box\" is not started"

static struct world w;

/* The actor of the servers looks. @return was it told to accept it? */
static bool look(const char *digest)
{
    const struct sma_mcp_held held = {.server = SMA_STR("box"),
                                      .digest = sma_str(digest),
                                      .changes = SMA_STR("changed tools/srv.py\nnew t/<b>\"x\n"
                                                         "| -old\n| +```new\x1b[31m\n")};
    struct sma_msg *msg = sma_msg_make_mcp_held(&held);
    CHECK(msg != NULL);
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, SMA_ACTOR_MCP), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(&w);
    msg = take(&w.mcp, SMA_MSG_MCP_RULED);
    CHECK(msg != NULL);
    const struct sma_mcp_ruled *ruled = SMA_MSG_BODY(msg, struct sma_mcp_ruled);
    bool is_accepted = ruled->is_accepted;
    CHECK_STR("box", ruled->server);
    CHECK_STR(digest, ruled->digest);
    sma_msg_destroy(msg);
    return is_accepted;
}

static void keep_code(char code[16], const char *text)
{
    CHECK(strstr(text, QUESTION) != NULL);
    CHECK(strstr(text, "M tools/srv.py\nA t/") != NULL && strstr(text, "<b>") == NULL);
    /* what changed, so that it cannot pass for our own words */
    CHECK(strstr(text, "```\n-old\n+'''new") != NULL && strchr(text, '\x1b') == NULL);
    snprintf(code, 16, "%s", code_in(text));
}

static void say_code(const char *who, const char *id, const char *word, const char *code)
{
    char text[64];
    snprintf(text, sizeof text, "%s %s", word, code);
    (void)write_as(&w, who, id, text);
}

static void meet_the_owner(const char *id)
{
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "boss", id, "hello"));
    uint64_t seq = run_seq(&w);
    done(&w, seq, "ok", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
}

AFTER_EACH(end_world(&w))

CASE(an_owner_is_asked_once_and_his_yes_is_for_what_was_shown)
{
    char first[16], second[16];
    start_paired(&w);
    CHECK(!look("one")); /* nobody can be reached yet */
    CHECK_TEXT("", told(&w, "boss"));
    meet_the_owner("1");
    CHECK(!look("one"));
    keep_code(first, told(&w, "boss"));
    CHECK(!look("one"));
    crash_world(&w);
    CHECK(!look("one"));
    CHECK_TEXT("", told(&w, "boss"));
    say_code("eve", "2", "approve", first); /* a stranger gets what strangers get */
    CHECK(strstr(told(&w, "eve"), "pair approve") != NULL);
    CHECK(strstr(told(&w, "boss"), "wants to talk to me") != NULL);
    CHECK(!look("one"));
    say_code("boss", "3", "reject", first);
    for (int i = 0; i < 2; i++) /* the card, and the answer to the words */
        CHECK(strstr(told(&w, "boss"), "\"box\" is not started. To accept") != NULL);
    CHECK(!look("one"));
    /* another change is another question; the answer to the one before is void */
    CHECK(!look("two"));
    keep_code(second, told(&w, "boss"));
    CHECK(strcmp(first, second) != 0);
    say_code("boss", "4", "approve", first);
    CHECK(strstr(told(&w, "boss"), "that answer is void") != NULL);
    CHECK(!look("two"));
    say_code("boss", "5", "approve", second);
    for (int i = 0; i < 2; i++)
        CHECK(strstr(told(&w, "boss"), "Accepted: \"box\"") != NULL);
    crash_world(&w);
    CHECK(look("two"));
    CHECK(look("two")); /* a kill before it was recorded */
    say_code("boss", "6", "reject", second);
    CHECK(strstr(told(&w, "boss"), "was accepted before") != NULL);
}

CASE(an_administrators_word_counts_for_nothing)
{
    static const char *const words[] = {"approve", "/approve", "reject", "yes"};
    char code[16], text[64];
    make_world(&w);
    w.test_json = "{}";
    w.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"],\"admin\":[\"test:ann\"]}}";
    open_world(&w);
    meet_the_owner("1");
    CHECK(!look("one"));
    keep_code(code, told(&w, "boss"));
    CHECK_TEXT("", told(&w, "ann")); /* nor is he asked */
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++) {
        char id[8];
        snprintf(id, sizeof id, "%zu", i + 2);
        snprintf(text, sizeof text, "%s %s", words[i], code);
        (void)write_as(&w, "ann", id, text);
        const char *said = told(&w, "ann");
        CHECK(strstr(said, "Accepted") == NULL && strstr(said, "\"box\"") == NULL);
        CHECK(!look("one"));
    }
    say_code("boss", "9", "approve", code);
    CHECK(strstr(told(&w, "boss"), "Accepted: \"box\"") != NULL);
    CHECK(look("one"));
    end_world(&w);
}

CASE(a_change_between_question_and_yes_makes_the_yes_void)
{
    char code[16];
    start_paired(&w);
    meet_the_owner("1");
    CHECK(!look("one"));
    keep_code(code, told(&w, "boss"));
    say_code("boss", "2", "approve", code);
    for (int i = 0; i < 2; i++)
        CHECK(strstr(told(&w, "boss"), "Accepted") != NULL);
    CHECK(!look("two"));
    const char *text = told(&w, "boss");
    CHECK(strstr(text, "that answer is void") != NULL && strstr(text, QUESTION) != NULL);
    CHECK(!look("two"));
}

static int press_as(const char *who, const char *id, const char *data, bool is_group)
{
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = is_group ? "team" : who,
                                  .user = who,
                                  .id = id,
                                  .text = data,
                                  .is_group = is_group,
                                  .kind = SMA_EVENT_CALLBACK});
    run(&w);
    return accepted(&w.test).verdict;
}

/* The same rules as for words: an owner, in private, about what was shown. */
CASE(buttons_count_as_the_words_do)
{
    char first[2][SMA_CARD_DATA_BYTES_MAX + 1], second[2][SMA_CARD_DATA_BYTES_MAX + 1];
    char forged[SMA_CARD_DATA_BYTES_MAX + 1];
    start_paired(&w);
    meet_the_owner("1");
    CHECK(!look("one"));
    CHECK(strstr(told(&w, "boss"), QUESTION) != NULL);
    memcpy(first, told_buttons, sizeof first);
    CHECK_INT(SMA_VERDICT_IGNORED, press_as("eve", "2", first[0], false));
    CHECK_INT(SMA_VERDICT_IGNORED, press_as("boss", "3", first[0], true));
    snprintf(forged, sizeof forged, "%s", first[1]);
    forged[strlen(forged) - 18] = SMA_CARD_APPROVE; /* the other button's, with this signature */
    CHECK_INT(SMA_VERDICT_IGNORED, press_as("boss", "4", forged, false));
    CHECK(!look("one"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, press_as("boss", "5", first[1], false));
    CHECK(strstr(told(&w, "boss"), "\"box\" is not started.") != NULL);
    CHECK(!look("one"));
    CHECK(!look("two")); /* another change: the first card's buttons are void */
    CHECK(strstr(told(&w, "boss"), QUESTION) != NULL);
    memcpy(second, told_buttons, sizeof second);
    CHECK_INT(SMA_VERDICT_ACCEPTED, press_as("boss", "6", first[0], false));
    CHECK(strstr(told(&w, "boss"), "that answer is void") != NULL);
    CHECK(!look("two"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, press_as("boss", "7", second[0], false));
    CHECK(strstr(told(&w, "boss"), "Accepted: \"box\"") != NULL);
    crash_world(&w);
    CHECK(look("two"));
}

/* No message is between them: each has a key of its own. What nobody has seen is not sent. */
CASE(many_changes_are_each_asked_about)
{
    char digest[16], code[16];
    start_paired(&w);
    meet_the_owner("1");
    for (int i = 0; i < 7; i++) {
        snprintf(digest, sizeof digest, "number %d", i);
        CHECK(!look(digest));
    }
    keep_code(code, told(&w, "boss")); /* the first was on its way */
    CHECK(strstr(told(&w, "boss"), "that answer is void") != NULL);
    keep_code(code, told(&w, "boss"));
    CHECK_TEXT("", told(&w, "boss"));
    say_code("boss", "2", "approve", code);
    CHECK(strstr(told(&w, "boss"), "Accepted") != NULL);
    CHECK(look(digest));
}

CASES_MAIN
