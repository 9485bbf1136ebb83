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
static void access_is_the_chats_own_where_it_says_so(void)
{
    static const struct sma_chat_rule rules[] = {
        {.pattern = "test:chat:open*", .access_json = "{\"access\":\"anyone\"}"},
        {.pattern = "test:chat:few", .access_json = "{\"access\":[\"ann\"]}"},
        {.pattern = "other:chat:*", .access_json = "{\"access\":\"anyone\"}"}};
    struct world world;
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
    end_world(&world);
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
    run(world);
    CHECK_INT(SMA_STEP_DURABLE, verdict(world, SMA_MSG_DONE_DONE));
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

static void the_owner_chooses_a_model_for_one_chat(void)
{
    struct world world;
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
    end_world(&world);
}

static void others_choose_only_where_the_configuration_lets_them(void)
{
    static const struct sma_chat_rule rules[] = {
        {.pattern = "test:chat:free", .says_choice = true, .is_choice_free = true}};
    struct world world;
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
    end_world(&world);
}

/* In a group the platform is asked who is an administrator, before the command is carried out. */
static void an_administrator_of_the_group_chooses_there(void)
{
    struct world world;
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
    end_world(&world);
}

static void a_choice_goes_with_its_chat_and_with_its_model(void)
{
    struct world world;
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
    end_world(&world);
}

static void a_new_conversation_says_so_and_keeps_the_history(void)
{
    struct world world;
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
    end_world(&world);
}

int main(void)
{
    RUN(the_owner_chooses_a_model_for_one_chat);
    RUN(others_choose_only_where_the_configuration_lets_them);
    RUN(an_administrator_of_the_group_chooses_there);
    RUN(a_choice_goes_with_its_chat_and_with_its_model);
    RUN(a_new_conversation_says_so_and_keeps_the_history);
    RUN(access_is_the_chats_own_where_it_says_so);
    return check_summary();
}
