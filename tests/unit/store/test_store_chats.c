/*
 * Aim: what `chats` says of a chat holds there and nowhere else: who is answered.
 * Method: the store actor between actors that keep what they get.
 */
#include "people_support.h"

#include "sma/adapter.h"
#include "sma/chats.h"

static void reload(struct world *world)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 0);
    SMA_MSG_BODY(msg, struct sma_reload)->config = &world->config;
    sma_store_actor_ops.handle(world->store, &msg, world->store->ctx);
    sma_msg_destroyp(&msg);
    run(world);
}

static int verdict_in(struct world *world, const char *chat, const char *id, const char *user)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = chat, .id = id, .text = "hello", .user = user});
    run(world);
    int verdict = accepted(&world->test).verdict;
    while (run_seq(world) != 0)
        continue;
    return verdict;
}

/* One platform, three chats, three rules. */
CASE(access_is_the_chats_own_where_it_says_so)
{
    static const struct sma_chat_rule rules[] = {
        {.pattern = "test:chat:open*", .access_json = "{\"access\":\"anyone\"}"},
        {.pattern = "test:chat:few", .access_json = "{\"access\":[\"ann\"]}"},
        {.pattern = "other:chat:*", .access_json = "{\"access\":\"anyone\"}"}};
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.config.agent_concurrency = 8;
    world.test_json = "{}"; /* paired */
    world.config.chats = rules;
    world.config.chat_count = SMA_COUNT_OF(rules);
    open_world(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "one", "1", "ann"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, verdict_in(&world, "open1", "2", "bob"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, verdict_in(&world, "few", "3", "ann"));
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "few", "4", "bob"));
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "other", "5", "bob"));
    world.config.chat_count = 0; /* SIGHUP with fewer entries, and with none */
    reload(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "open2", "6", "eve"));
    world.config.chat_count = 1;
    reload(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, verdict_in(&world, "open3", "7", "joe"));
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "few", "8", "ann2"));
}

/* -- /model ------------------------------------------------------------------------------------ */
static const struct sma_config_llm llms[] = {
    {.provider = "p", .model = "big"},
    {.provider = "p", .model = "small", .name = "cheap"},
    {.provider = "q", .model = "local"},
};

/* Three models; "boss" is the owner, everybody may talk. */
static void open_with_models(struct world *world)
{
    make_world(world);
    world->test_json = "{\"access\":\"anyone\",\"groupAccess\":\"anyone\",\"groups\":[\"g\"]}";
    world->config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]}}";
    for (size_t i = 0; i < SMA_COUNT_OF(llms); i++)
        world->config.models[i] = &llms[i];
    world->config.model_count = SMA_COUNT_OF(llms);
    open_world(world);
}

/* What is answered, if it is answered now. */
static const char *answer_of(struct world *world)
{
    static char text[2048];
    run(world);
    text[0] = '\0';
    for (struct sma_msg *msg; (msg = deliver(world)) != NULL; run(world)) {
        const struct sma_deliver *row = SMA_MSG_BODY(msg, struct sma_deliver);
        snprintf(text, sizeof text, "%.*s", (int)row->text.len, row->text.ptr);
        receipt(world, &(struct sma_receipt){.outbox_id = row->outbox_id,
                                             .state = SMA_DELIVERY_SENT,
                                             .is_final = true,
                                             .platform_message_id = SMA_STR("p")});
        sma_msg_destroy(msg);
    }
    return text;
}

static const char *command_with(struct world *world, const struct saying *saying)
{
    struct saying full = *saying;
    full.kind = SMA_EVENT_CONTROL;
    full.control = (uint8_t)sma_control_parse(sma_str(strchr(saying->text, '/')));
    CHECK(full.control != SMA_CONTROL_NONE);
    (void)say_as(world, TEST, &full);
    return answer_of(world);
}

static unsigned message_number;
static const char *model_of(struct world *world, const char *chat)
{
    static char model[64];
    char id[16];
    snprintf(id, sizeof id, "m%u", ++message_number);
    (void)say_as(world, TEST, &(struct saying){.chat = chat, .id = id, .text = "hello"});
    run(world);
    struct sma_msg *msg = take(&world->agent, SMA_MSG_RUN);
    CHECK(msg != NULL);
    struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    snprintf(model, sizeof model, "%.*s", (int)order->model.len, order->model.ptr);
    uint64_t seq = order->seq;
    sma_msg_destroy(msg);
    done(world, seq, "ok", NULL, 0);
    expect_durable(world, SMA_MSG_DONE_DONE);
    return model;
}

#define GIVE(who, where, ...) \
    (&(struct saying){.chat = (where), .user = (who), .id = next_id(), __VA_ARGS__})
static const char *next_id(void)
{
    static char ids[100][8];
    static unsigned count;
    snprintf(ids[count], sizeof ids[0], "c%u", count);
    return ids[count++];
}

CASE(the_owner_chooses_a_model_for_one_chat)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    const char *text = command_with(&world, GIVE("boss", "a", .text = "/model"));
    CHECK(strstr(text, "\n1. p/big (in use)\n2. cheap\n3. q/local\n") != NULL);
    CHECK_TEXT("", model_of(&world, "a"));
    text = command_with(&world, GIVE("boss", "a", .text = "@bot /model@bot  CHEAP "));
    CHECK_TEXT("From the next message on cheap answers here.", text);
    CHECK_TEXT("cheap", model_of(&world, "a"));
    CHECK_TEXT("", model_of(&world, "b")); /* of this chat alone */
    text = command_with(&world, GIVE("boss", "a", .text = "/model"));
    CHECK(strstr(text, "\n1. p/big\n2. cheap (in use)\n") != NULL);
    text = command_with(&world, GIVE("boss", "a", .text = "/model 3"));
    CHECK(strstr(text, "q/local answers here") != NULL);
    crash_world(&world);
    CHECK_TEXT("q/local", model_of(&world, "a"));
    text = command_with(&world, GIVE("boss", "a", .text = "/model loca"));
    CHECK_TEXT("I have no model called \"loca\". Did you mean q/local?", text);
    text = command_with(&world, GIVE("boss", "a", .text = "/model 4"));
    CHECK(strstr(text, "I have no model called \"4\"") != NULL);
    CHECK_TEXT("q/local", model_of(&world, "a"));
    text = command_with(&world, GIVE("boss", "a", .text = "/模型 默认"));
    CHECK(strstr(text, "configured model answers here again: p/big") != NULL);
    CHECK_TEXT("", model_of(&world, "a"));
}

CASE(others_choose_only_where_the_configuration_lets_them)
{
    static const struct sma_chat_rule rules[] = {
        {.pattern = "test:chat:free", .says_choice = true, .is_choice_free = true}};
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    const char *text = command_with(&world, GIVE("ann", "a", .text = "/model 2"));
    CHECK_TEXT("Only an owner or administrator can choose the model here.", text);
    text = command_with(&world, GIVE("ann", "a", .text = "/model"));
    CHECK(strstr(text, "2. cheap") != NULL);
    CHECK_TEXT("", model_of(&world, "a"));
    world.config.chats = rules;
    world.config.chat_count = 1;
    reload(&world);
    (void)command_with(&world, GIVE("ann", "free", .text = "/model 2"));
    CHECK_TEXT("cheap", model_of(&world, "free"));
    text = command_with(&world, GIVE("ann", "a", .text = "/model 2"));
    CHECK(strstr(text, "Only an owner") != NULL);
}

/* In a group the platform is asked who is an administrator, before the command is carried out. */
CASE(an_administrator_of_the_group_chooses_there)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    const char *text =
        command_with(&world, GIVE("ann", "g", .text = "@bot /model 2", .is_group = true,
                                  .addressed = SMA_ADDRESSED_MENTION));
    CHECK_TEXT("", text); /* not yet */
    CHECK(prepare(&world, SMA_ROLE_MEMBER, "") != 0);
    CHECK_TEXT("Only an owner or administrator can choose the model here.", answer_of(&world));
    text = command_with(&world, GIVE("bob", "g", .text = "@bot /model 3", .is_group = true,
                                     .addressed = SMA_ADDRESSED_MENTION));
    crash_world(&world); /* before the platform has said it: asked again */
    run(&world);
    CHECK(prepare(&world, SMA_ROLE_ADMIN, "") != 0);
    CHECK_TEXT("From the next message on q/local answers here.", answer_of(&world));
    text = command_with(&world, GIVE("bob", "g", .text = "/model 2", .is_group = true,
                                     .addressed = SMA_ADDRESSED_MENTION));
    CHECK(strstr(text, "cheap answers here") != NULL); /* known by now */
    text = command_with(&world, GIVE("ann", "g", .text = "/model", .is_group = true,
                                     .addressed = SMA_ADDRESSED_MENTION));
    CHECK(strstr(text, "2. cheap (in use)") != NULL);
}

CASE(a_choice_goes_with_its_chat_and_with_its_model)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    (void)command_with(&world, GIVE("boss", "old", .text = "/model cheap"));
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "new",
                                  .id = "move",
                                  .text = "",
                                  .kind = SMA_EVENT_NOTE,
                                  .migrated_from = "test:chat:old"});
    run(&world);
    CHECK_TEXT("cheap", model_of(&world, "new"));
    world.config.model_count = 1; /* one model: nothing to choose, nothing read */
    reload(&world);
    CHECK_TEXT("", model_of(&world, "new"));
}

CASE(a_new_conversation_says_so_and_keeps_the_history)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    CHECK_TEXT("", model_of(&world, "a"));
    const char *text = command_with(&world, GIVE("ann", "a", .text = "/new"));
    CHECK(strstr(text, "A new conversation begins.") == text);
    struct sma_msg *order = take(&world.agent, SMA_MSG_CONTROL);
    CHECK(order != NULL);
    CHECK_INT(SMA_CONTROL_CLEAR, SMA_MSG_BODY(order, struct sma_control_order)->control);
    sma_msg_destroy(order);
    CHECK(!sma_state_has_past(world.store->state,
                              sma_state_chat_get(world.store->state, SMA_STR("test:chat:a"))));
}

/* -- /retry ------------------------------------------------------------------------------------ */
/* The next run: its text is checked, its seq returned; it is open. */
static uint64_t expect_run(struct world *world, const char *text)
{
    run(world);
    struct sma_msg *msg = take(&world->agent, SMA_MSG_RUN);
    CHECK(msg != NULL);
    struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK_STR(text, order->text);
    uint64_t seq = order->seq;
    sma_msg_destroy(msg);
    return seq;
}

static void end_run(struct world *world, uint64_t seq, const char *tool_calls)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DONE, struct sma_done, 4096);
    struct sma_done *body = SMA_MSG_BODY(msg, struct sma_done);
    *body = (struct sma_done){.seq = seq, .outcome = SMA_OUTCOME_OK};
    body->output = sma_msg_dup(msg, SMA_STR("ok"));
    body->tool_calls_json = sma_msg_dup(msg, sma_str(tool_calls));
    body->turn = sma_msg_dup(msg, SMA_STR("{\"turn\":1}"));
    body->wire = sma_msg_dup(msg, SMA_STR("chat"));
    ask_as_agent(world, msg);
    expect_durable(world, SMA_MSG_DONE_DONE);
}

static uint64_t ask_and_answer(struct world *world, const char *who, const char *text,
                               const char *tool_calls)
{
    (void)say_as(world, TEST, GIVE(who, "a", .text = text));
    uint64_t seq = expect_run(world, text);
    end_run(world, seq, tool_calls);
    drop_kept(&world->test);
    return seq;
}

static void check_forgotten(struct world *world, uint64_t seq)
{
    struct sma_msg *msg = take(&world->agent, SMA_MSG_CONTROL);
    CHECK(msg != NULL);
    const struct sma_control_order *order = SMA_MSG_BODY(msg, struct sma_control_order);
    CHECK_INT(SMA_CONTROL_RETRY, order->control);
    CHECK_INT(seq, order->mark_seq);
    CHECK_STR("test:chat:a", order->chat_key);
    sma_msg_destroy(msg);
}

static bool has_past(struct world *world)
{
    return sma_state_has_past(world->store->state,
                              sma_state_chat_get(world->store->state, SMA_STR("test:chat:a")));
}

CASE(the_last_message_is_answered_again)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    uint64_t first = ask_and_answer(&world, "ann", "one", "[]");
    uint64_t second = ask_and_answer(&world, "ann", "two", "[{\"tool\":\"read_file\"}]");
    CHECK_TEXT("", command_with(&world, GIVE("ann", "a", .text = "/retry")));
    check_forgotten(&world, second);
    uint64_t third = expect_run(&world, "two");
    CHECK(third > second);
    CHECK(has_past(&world)); /* the first one's turn */
    end_run(&world, third, "[]");
    CHECK_TEXT("", command_with(&world, GIVE("ann", "a", .text = "/retry"))); /* and again */
    check_forgotten(&world, third);
    end_run(&world, expect_run(&world, "two"), "[]");
    CHECK(strstr(history(&world, "test%3Achat%3Aa"), "/retry") != NULL);
    CHECK(first < second);
}

/* At each step the program is killed: the message is answered again all the same, and once. */
CASE(a_retry_survives_every_death)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    uint64_t asked = ask_and_answer(&world, "ann", "one", "[]");
    (void)say_as(&world, TEST, GIVE("bob", "b", .text = "busy")); /* takes the only place */
    (void)expect_run(&world, "busy");
    CHECK_TEXT("", command_with(&world, GIVE("ann", "a", .text = "/retry")));
    CHECK(run_seq(&world) == 0); /* it waits */
    CHECK(!has_past(&world));
    crash_world(&world);
    end_run(&world, expect_run(&world, "busy"), "[]");
    uint64_t again = expect_run(&world, "one");
    CHECK(again > asked);
    crash_world(&world); /* begun */
    CHECK_INT(again, expect_run(&world, "one"));
    end_run(&world, again, "[]");
    crash_world(&world); /* over */
    run(&world);
    CHECK(run_seq(&world) == 0);
    CHECK(has_past(&world));
}

CASE(pieces_and_what_they_brought_are_answered_together)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    for (int i = 0; i < 3; i++) {
        static const char *const texts[] = {"", "look", "at these"};
        (void)say_as(&world, TEST,
                     GIVE("ann", "a", .text = texts[i], .group_key = "album",
                          .context = i == 1 ? "quoted" : NULL));
    }
    pass(&world, 10);
    struct sma_msg *msg = take(&world.agent, SMA_MSG_RUN);
    CHECK(msg != NULL);
    uint64_t seq = SMA_MSG_BODY(msg, struct sma_run_order)->seq;
    CHECK_INT(2, SMA_MSG_BODY(msg, struct sma_run_order)->collected_count);
    sma_msg_destroy(msg);
    end_run(&world, seq, "[]");
    drop_kept(&world.test);
    CHECK_TEXT("", command_with(&world, GIVE("ann", "a", .text = "/重试")));
    run(&world);
    msg = take(&world.agent, SMA_MSG_RUN);
    CHECK(msg != NULL);
    CHECK_STR("look\n\nat these", SMA_MSG_BODY(msg, struct sma_run_order)->text);
    CHECK_STR("quoted", SMA_MSG_BODY(msg, struct sma_run_order)->context);
    sma_msg_destroy(msg);
}

CASE(what_has_changed_something_is_repeated_only_when_that_is_said)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    uint64_t seq = ask_and_answer(&world, "ann", "one",
                                  "[{\"tool\":\"write_file\"},{\"tool\":\"read_file\"},"
                                  "{\"tool\":\"exec_shell\"},{\"tool\":\"write_file\"}]");
    const char *text = command_with(&world, GIVE("ann", "a", .text = "/retry"));
    CHECK(strstr(text, "(write_file, exec_shell)") != NULL);
    CHECK(run_seq(&world) == 0 && has_past(&world));
    CHECK_TEXT("", command_with(&world, GIVE("ann", "a", .text = "/retry Anyway")));
    check_forgotten(&world, seq);
    end_run(&world, expect_run(&world, "one"), "[]");
    seq = ask_and_answer(&world, "ann", "two", "[{\"tool\":"); /* cannot be read */
    text = command_with(&world, GIVE("ann", "a", .text = "/retry"));
    CHECK(strstr(text, "(?)") != NULL);
}

CASE(what_cannot_be_answered_again_is_said)
{
    SMA_AUTO(end_world) struct world world;
    open_with_models(&world);
    static const char nothing[] = "There is no message here that I could answer again.";
    CHECK_TEXT(nothing, command_with(&world, GIVE("ann", "a", .text = "/retry")));
    (void)ask_and_answer(&world, "ann", "mine", "[]");
    const char *text = command_with(&world, GIVE("boss", "a", .text = "/retry"));
    CHECK(strstr(text, "somebody else's") !=
          NULL); /* not even the owner: it would be in his name */
    (void)say_as(&world, TEST, GIVE("ann", "a", .text = "more"));
    uint64_t seq = expect_run(&world, "more");
    text = command_with(&world, GIVE("ann", "a", .text = "/retry"));
    CHECK_TEXT("I am not done here yet. /stop cancels what is running.", text);
    end_run(&world, seq, "[]");
    (void)command_with(&world, GIVE("ann", "a", .text = "/clear"));
    CHECK_TEXT(nothing, command_with(&world, GIVE("ann", "a", .text = "/retry")));
    CHECK(run_seq(&world) == 0);
}

CASES_MAIN
