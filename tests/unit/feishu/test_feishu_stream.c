/*
 * Aim: an answer is typed into a card and is in the end the card that would have been sent; the
 * platform's order and rates hold; whatever happens meanwhile, there is one answer.
 * Method: progress signals through the real dispatcher, the simulated platform's CardKit, chats and
 * clock. The adapter is ended and begun again with what it wrote down.
 */
#include "adapters/feishu/feishu.h"
#include "feishu/fake_feishu.h"
#include "sma/text.h"
#include "support/adapter_world.h"
#include "support/cards.h"

#include <string.h>
#include <time.h>

#define CHAT "oc_ada"
#define GROUP "oc_team"
#define BEGUN_TEXT "once upon a time"

static struct fake_feishu *fake;
static struct platform_client client;

/* -- the world --------------------------------------------------------------------------------- */
static struct sma_route route_of(const struct world_order *order, char key[WORLD_KEY_SIZE],
                                 char type[WORLD_TYPE_SIZE])
{
    bool is_group = strncmp(order->chat, "oc_team", 7) == 0;
    snprintf(type, WORLD_TYPE_SIZE, "%s", is_group ? "group" : "p2p");
    snprintf(key, WORLD_KEY_SIZE, "feishu:chat:%s", order->chat);
    return (struct sma_route){.adapter = SMA_ACTOR_ADAPTER_0,
                              .channel = SMA_STR("feishu"),
                              .chat_key = sma_str(key),
                              .chat_id = sma_str(order->chat),
                              .chat_type = sma_str(type),
                              .message_id = sma_str(order->reply)};
}

static void begin_adapter(const char *members)
{
    static char config[1024];
    static const struct adapter_world world = {.ops = &sma_feishu_adapter_ops,
                                               .config = config,
                                               .secrets = {FAKE_FEISHU_SECRET, "ticket="},
                                               .route = route_of};
    snprintf(config, sizeof config,
             "{\"enabled\":true,\"appId\":\"" FAKE_FEISHU_APP
             "\",\"appSecret\":\"" FAKE_FEISHU_SECRET "\",\"domain\":\"http://127.0.0.1:%d\"%s}",
             fake_feishu_port(fake), members);
    world_start(&world);
    WORLD_WAIT(world_log_count("connected") >= 1);
}

static void open_world(const char *members)
{
    fake = fake_feishu_start(0);
    client = fake_feishu_client(fake);
    platform_tell(&client, "{s:s,s:s}", "do", "user", "id", "ou_ada");
    platform_tell(&client, "{s:s,s:s}", "do", "user", "id", "ou_bob");
    platform_tell(&client, "{s:s,s:s,s:[s]}", "do", "chat", "id", GROUP, "members", "ou_ada");
    begin_adapter(members);
}

static void end_adapter(void)
{
    world_end();
}

static int64_t counter(const char *name)
{
    return platform_get(&client, name, "{s:s}", "do", "counters");
}

static void close_world(void)
{
    CHECK_INT(0, counter("complaints"));
    world_end();
    fake_feishu_stop(fake);
    world_remove_project();
}

/* -- looking ----------------------------------------------------------------------------------- */
/* The at-th card of CardKit; decref. NULL: there are fewer. */
static json_t *card_at(size_t at)
{
    json_t *list = platform_do(&client, "{s:s}", "do", "cards");
    json_t *card = json_incref(json_array_get(json_object_get(list, "cards"), at));
    json_decref(list);
    return card;
}

static int64_t number_of_card(size_t at, const char *member)
{
    json_t *card = card_at(at), *value = json_object_get(card, member);
    int64_t number =
        json_is_boolean(value) ? (int64_t)json_is_true(value) : json_integer_value(value);
    json_decref(card);
    return card == NULL ? -1 : number;
}

/* The at-th message of ours in a chat that is not recalled; decref. */
static json_t *message_at(const char *chat, size_t at)
{
    json_t *list = platform_do(&client, "{s:s,s:s}", "do", "list", "chat", chat), *message;
    json_t *found = NULL;
    size_t i;
    json_array_foreach(json_object_get(list, "messages"), i, message)
    {
        bool is_seen = json_is_true(json_object_get(message, "is_ours")) &&
                       !json_is_true(json_object_get(message, "is_recalled"));
        if (is_seen && found == NULL && at-- == 0)
            found = json_incref(message);
    }
    json_decref(list);
    return found;
}

static size_t message_count(const char *chat)
{
    for (size_t count = 0;; count++) {
        json_t *message = message_at(chat, count);
        json_decref(message);
        if (message == NULL)
            return count;
    }
}

static bool shows(const char *chat, size_t at, const char *words)
{
    json_t *message = message_at(chat, at);
    const char *text = json_string_value(json_object_get(message, "text"));
    bool is_there = text != NULL && strstr(text, words) != NULL;
    json_decref(message);
    return is_there;
}

/* -- doing ------------------------------------------------------------------------------------- */
static uint64_t deliver(uint64_t seq, const char *chat, const char *text, uint64_t again)
{
    return world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                            .id = again,
                                            .is_repeat = again != 0,
                                            .seq = seq,
                                            .chat = chat,
                                            .text = text});
}

static struct world_receipt wait_sent(uint64_t row)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(row, &receipt));
    CHECK_INT(SMA_DELIVERY_SENT, receipt.state);
    return receipt;
}

static void begin(uint64_t seq, const char *chat)
{
    world_progress(seq, SMA_PROGRESS_TEXT, chat, BEGUN_TEXT);
    WORLD_WAIT(shows(chat, 0, BEGUN_TEXT));
}

/* -- the promises ------------------------------------------------------------------------------ */
static void the_text_is_typed_and_becomes_the_answer(void)
{
    open_world("");
    world_progress(7, SMA_PROGRESS_STARTED, CHAT, "");
    begin(7, CHAT);
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, BEGUN_TEXT " there was");
    WORLD_WAIT(shows(CHAT, 0, BEGUN_TEXT " there was"));
    CHECK(number_of_card(0, "typed") >= 1);
    CHECK_INT(1, number_of_card(0, "is_streaming"));
    struct world_receipt receipt = wait_sent(deliver(7, CHAT, "once **upon** a time", 0));
    json_t *message = message_at(CHAT, 0);
    CHECK_TEXT(json_string_value(json_object_get(message, "id")), receipt.platform_id);
    json_decref(message);
    world_progress(7, SMA_PROGRESS_FINISHED, CHAT, "");
    CHECK(shows(CHAT, 0, "once **upon** a time"));
    CHECK_INT(1, message_count(CHAT));
    CHECK_INT(0, number_of_card(0, "is_streaming") + counter("unfinished") +
                     counter("wrong_sequences") + counter("refused"));
    close_world();
}

/* The Markdown of a card as the platform has it; free it. */
static char *markdown_of(const char *chat, size_t at)
{
    json_t *message = message_at(chat, at);
    json_t *card = json_loads(json_string_value(json_object_get(message, "raw")), 0, NULL);
    const json_t *element =
        json_array_get(json_object_get(json_object_get(card, "body"), "elements"), 0);
    const char *content = json_string_value(json_object_get(element, "content"));
    char *copy = strdup(content == NULL ? "" : content);
    json_decref(card);
    json_decref(message);
    return copy;
}

/* More tables than a card takes, and a file. */
static void typed_or_not_the_answer_is_the_same(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 65536);
    for (int i = 0; i < 4; i++)
        sma_buf_printf(&text, "## Table %d\n\n| a | b |\n|---|---|\n| **%d** | `2` |\n\n", i, i);
    sma_buf_put_text(&text, "![p](https://example.org/p.png) <at id=all></at>\n"
                            "@attach document https://example.org/a.pdf\n");
    sma_buf_put_char(&text, '\0');
    open_world("");
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, "## Table 0\n\n| a");
    WORLD_WAIT(shows(CHAT, 0, "Table 0"));
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, text.ptr);
    WORLD_WAIT(shows(CHAT, 0, "Table 2"));
    CHECK(!shows(CHAT, 0, "**3**") && !shows(CHAT, 0, "attach"));
    wait_sent(deliver(7, CHAT, text.ptr, 0));
    wait_sent(deliver(8, "oc_bob", text.ptr, 0));
    CHECK_INT(3, message_count("oc_bob"));
    CHECK_INT(3, message_count(CHAT));
    for (size_t i = 0; i < 2; i++) {
        char *typed = markdown_of(CHAT, i), *whole = markdown_of("oc_bob", i);
        CHECK(strlen(whole) > 10);
        CHECK_TEXT(whole, typed);
        free(typed);
        free(whole);
    }
    sma_buf_fini(&text);
    close_world();
}

static void a_group_sees_it_typed_too(void)
{
    open_world("");
    world_progress(7, SMA_PROGRESS_STARTED, GROUP, "");
    world_progress(7, SMA_PROGRESS_TOOL, GROUP, "read_file");
    world_rest(2300);
    CHECK_INT(0, message_count(GROUP)); /* the reaction says that it works */
    begin(7, GROUP);
    wait_sent(deliver(7, GROUP, "the answer", 0));
    CHECK(shows(GROUP, 0, "the answer"));
    CHECK_INT(1, message_count(GROUP));
    close_world();
}

static void after_a_restart_the_same_card_becomes_the_answer(void)
{
    open_world("");
    begin(7, CHAT);
    end_adapter();
    begin_adapter("");
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, BEGUN_TEXT " there was");
    WORLD_WAIT(shows(CHAT, 0, BEGUN_TEXT " there was"));
    uint64_t row = deliver(7, CHAT, "the answer", 0);
    wait_sent(row);
    end_adapter();
    begin_adapter("");
    wait_sent(deliver(7, CHAT, "the answer", row));
    CHECK(shows(CHAT, 0, "the answer"));
    CHECK_INT(1, message_count(CHAT));
    CHECK_INT(0, counter("unfinished") + counter("wrong_sequences"));
    close_world();
}

static void a_run_that_ends_without_words_takes_it_back(void)
{
    open_world("");
    begin(7, CHAT);
    world_progress(7, SMA_PROGRESS_FINISHED, CHAT, "");
    WORLD_WAIT(message_count(CHAT) == 0);
    CHECK_INT(0, counter("unfinished"));
    close_world();
}

static void a_run_that_asks_for_approval_takes_it_back(void)
{
    open_world("");
    begin(7, CHAT);
    char *json = card_request(NULL, NULL);
    world_set_intent(SMA_INTENT_APPROVAL_REQUEST);
    wait_sent(deliver(7, CHAT, json, 0));
    world_set_intent(SMA_INTENT_ASSISTANT_TEXT);
    free(json);
    WORLD_WAIT(message_count(CHAT) == 1);
    CHECK(!shows(CHAT, 0, BEGUN_TEXT));
    close_world();
}

/* The platform ends the typing by itself: the card is replaced instead. */
static void a_long_answer_outlives_the_streaming(void)
{
    open_world("");
    platform_tell(&client, "{s:s,s:i}", "do", "kit_life", "ms", 300);
    begin(7, CHAT);
    world_rest(400);
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, BEGUN_TEXT " there was");
    WORLD_WAIT(shows(CHAT, 0, BEGUN_TEXT " there was"));
    wait_sent(deliver(7, CHAT, "the answer", 0));
    CHECK(shows(CHAT, 0, "the answer"));
    CHECK_INT(1, message_count(CHAT));
    close_world();
}

static void without_the_right_to_cardkit_a_plain_card_is_changed(void)
{
    open_world("");
    platform_tell(&client, "{s:s,s:s,s:s,s:i,s:i,s:i,s:s}", "do", "fault", "method", "card_create",
                  "kind", "status", "status", 400, "code", 99991672, "times", 9, "text",
                  "Access denied. scope cardkit:card:write");
    begin(7, CHAT);
    CHECK_INT(1, world_log_count("the app has no right to CardKit"));
    wait_sent(deliver(7, CHAT, "the answer", 0));
    CHECK(shows(CHAT, 0, "the answer"));
    CHECK_INT(1, message_count(CHAT));
    world_progress(8, SMA_PROGRESS_TEXT, GROUP, BEGUN_TEXT);
    world_rest(2300);
    CHECK_INT(0, message_count(GROUP)); /* there a change of a plain card counts as a message */
    close_world();
}

/* Sent again, its number would be refused: the next one is far behind it. */
static void an_unheard_answer_costs_a_number_and_no_card(void)
{
    open_world("");
    begin(7, CHAT);
    platform_tell(&client, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "card_content", "kind",
                  "lose_answer", "times", 1);
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, BEGUN_TEXT " there was");
    WORLD_WAIT(shows(CHAT, 0, BEGUN_TEXT " there was"));
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, BEGUN_TEXT " there was an");
    WORLD_WAIT(shows(CHAT, 0, BEGUN_TEXT " there was an"));
    platform_tell(&client, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "card_replace", "kind",
                  "lose_answer", "times", 1);
    wait_sent(deliver(7, CHAT, "the answer", 0));
    CHECK(shows(CHAT, 0, "the answer"));
    CHECK_INT(1, message_count(CHAT));
    close_world();
}

static void a_limit_pauses_the_typing_and_no_delivery(void)
{
    open_world("");
    begin(7, CHAT);
    platform_tell(&client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", "card_content",
                  "kind", "status", "status", 429, "seconds", 30, "times", 1);
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, BEGUN_TEXT " there was");
    WORLD_WAIT(counter("floods") == 1);
    int64_t sequence = number_of_card(0, "sequence");
    world_progress(7, SMA_PROGRESS_TEXT, CHAT, BEGUN_TEXT " there was an");
    world_rest(1500);
    CHECK_INT(sequence, number_of_card(0, "sequence"));
    wait_sent(deliver(8, "oc_bob", "another chat", 0));
    wait_sent(deliver(7, CHAT, "the answer", 0));
    CHECK(shows(CHAT, 0, "the answer"));
    close_world();
}

#define MANY 50

static void fifty_cards_are_typed_within_the_rates(void)
{
    char users[MANY][16], chats[MANY][16], text[64];
    uint64_t rows[MANY];
    open_world("");
    for (int i = 0; i < MANY; i++) {
        snprintf(users[i], sizeof users[i], "ou_n%d", i);
        snprintf(chats[i], sizeof chats[i], "oc_n%d", i);
        platform_tell(&client, "{s:s,s:s}", "do", "user", "id", users[i]);
    }
    for (int round = 0; round < 60; round++) {
        snprintf(text, sizeof text, BEGUN_TEXT " %d", round);
        for (int i = 0; i < MANY; i++)
            world_progress((uint64_t)i + 1, SMA_PROGRESS_TEXT, chats[i], text);
        world_rest(50);
    }
    for (int i = 0; i < MANY; i++)
        WORLD_WAIT(shows(chats[i], 0, BEGUN_TEXT " 59"));
    CHECK_INT(0, counter("floods") + counter("wrong_sequences"));
    CHECK_INT(MANY, counter("unfinished"));
    for (int i = 0; i < MANY; i++)
        rows[i] = deliver((uint64_t)i + 1, chats[i], "the answer", 0);
    for (int i = 0; i < MANY; i++) {
        wait_sent(rows[i]);
        CHECK(shows(chats[i], 0, "the answer"));
        CHECK_INT(1, message_count(chats[i]));
    }
    CHECK_INT(0, counter("unfinished"));
    close_world();
}

int main(void)
{
    RUN(the_text_is_typed_and_becomes_the_answer);
    RUN(typed_or_not_the_answer_is_the_same);
    RUN(a_group_sees_it_typed_too);
    RUN(after_a_restart_the_same_card_becomes_the_answer);
    RUN(a_run_that_ends_without_words_takes_it_back);
    RUN(a_run_that_asks_for_approval_takes_it_back);
    RUN(a_long_answer_outlives_the_streaming);
    RUN(without_the_right_to_cardkit_a_plain_card_is_changed);
    RUN(an_unheard_answer_costs_a_number_and_no_card);
    RUN(a_limit_pauses_the_typing_and_no_delivery);
    RUN(fifty_cards_are_typed_within_the_rates);
    return check_summary();
}
