/* Aim: a stranger gets a code and nothing else; what he wrote is kept and runs once an owner has said yes; all of it is
 * as durable as the messages. Method: the store actor between actors that keep what they get. */
#include "store_support.h"

#include "actors/store_people.h"
#include "runtime/chat/state_vfs.h"

#include <ctype.h>

static void pass(struct world *world, uint64_t seconds)
{
    run(world);
    sma_sim_advance(world->system, seconds * SECOND);
    run(world);
}

/* In a private chat of the person's own. */
static int write_as(struct world *world, const char *who, const char *id, const char *text)
{
    (void)say_as(world, TEST, &(struct saying){.chat = who, .user = who, .id = id, .text = text});
    run(world);
    return accepted(&world->test).verdict;
}

static int command_as(struct world *world, const char *who, const char *id,
                      enum sma_control control)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = who,
                                  .user = who,
                                  .id = id,
                                  .text = "/x",
                                  .kind = SMA_EVENT_CONTROL,
                                  .control = (uint8_t)control});
    run(world);
    return accepted(&world->test).verdict;
}

static void finish_next(struct world *world)
{
    uint64_t seq = run_seq(world);
    CHECK(seq != 0);
    done(world, seq, "ok", NULL, 0);
    run(world);
    CHECK_INT(SMA_STEP_DURABLE, verdict(world, SMA_MSG_DONE_DONE));
}

/* The text of the next delivery, which goes to this chat; it is delivered. */
static const char *told(struct world *world, const char *who)
{
    static char text[4096];
    struct sma_msg *msg = deliver(world);
    text[0] = '\0';
    if (msg == NULL)
        return text;
    const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
    char key[64];
    snprintf(key, sizeof key, "test:chat:%s", who);
    CHECK_STR(key, body->route.chat_key);
    CHECK_INT(SMA_INTENT_NOTICE, body->intent);
    snprintf(text, sizeof text, "%.*s", (int)body->text.len, body->text.ptr);
    receipt(world, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                         .part_count = 1,
                                         .state = SMA_DELIVERY_SENT,
                                         .is_final = true});
    sma_msg_destroy(msg);
    run(world);
    sma_msg_destroy(take(&world->dispatcher, SMA_MSG_RECEIPT_DONE));
    return text;
}

/* The code in a notice, in static memory. */
static const char *code_in(const char *text)
{
    static char code[16];
    const char *at = strstr(text, "approve ");
    at = at != NULL ? at + strlen("approve ") : strstr(text, "\"pair ");
    if (at != NULL && at[0] == '"')
        at += strlen("\"pair ");
    CHECK(at != NULL);
    snprintf(code, sizeof code, "%.8s", at == NULL ? "" : at);
    CHECK_INT(8, (int)strlen(code));
    return code;
}

struct decision
{
    const char *id;
    const char *user; /* NULL: by the API */
    bool is_refused;
    enum sma_standing standing;
};

/* Status of the answer; its text in static memory. */
static char decided_text[256];
static int decide(struct world *world, const struct decision *decision)
{
    unsigned adapter = decision->user == NULL ? API : TEST;
    struct sma_route route = route_of(adapter, adapter == API ? "api:chat:x" : "test:chat:x");
    route.user_id = sma_str(decision->user == NULL ? "token" : decision->user);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DECIDE, struct sma_decide,
                                      sma_route_space(&route) + strlen(decision->id) + 16);
    struct sma_decide *body = SMA_MSG_BODY(msg, struct sma_decide);
    body->kind = SMA_DECIDE_PAIRING;
    body->route = sma_route_dup(msg, &route);
    body->id = sma_msg_dup(msg, sma_str(decision->id));
    body->is_approved = !decision->is_refused;
    body->standing = (uint8_t)decision->standing;
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, (enum sma_actor_id)adapter), SMA_ACTOR_STORE,
                         &msg, 0, NULL));
    run(world);
    struct sma_msg *answer = take(adapter == API ? &world->api : &world->test, SMA_MSG_DECIDED);
    CHECK(answer != NULL);
    const struct sma_decided *decided = SMA_MSG_BODY(answer, struct sma_decided);
    int status = decided->status;
    snprintf(decided_text, sizeof decided_text, "%.*s", (int)decided->text.len, decided->text.ptr);
    sma_msg_destroy(answer);
    CHECK(decided_text[0] != '\0');
    return status;
}

static int approve(struct world *world, const char *id)
{
    return decide(world, &(struct decision){.id = id, .standing = SMA_STANDING_MEMBER});
}

/* What SMA_QUERY_PAIRINGS says, in static memory. */
static const char *listed(struct world *world)
{
    static char text[1 << 20];
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, 16);
    SMA_MSG_BODY(msg, struct sma_query)->kind = SMA_QUERY_PAIRINGS;
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(world);
    struct sma_msg *answer = take(&world->api, SMA_MSG_QUERY_RESULT);
    CHECK(answer != NULL);
    struct sma_str json = SMA_MSG_BODY(answer, struct sma_query_result)->json;
    snprintf(text, sizeof text, "%.*s", (int)json.len, json.ptr);
    sma_msg_destroy(answer);
    json_t *root = json_loads(text, 0, NULL);
    CHECK(json_is_array(json_object_get(root, "pairings")));
    CHECK(json_is_array(json_object_get(root, "people")));
    json_decref(root);
    return text;
}

static enum sma_standing standing_of(struct world *world, const char *who)
{
    char key[64];
    snprintf(key, sizeof key, "test:chat:%s", who);
    struct sma_route route = route_of(TEST, key);
    route.user_id = sma_str(who);
    return sma_store_standing(world->store, NULL, &route, false);
}

static void start_paired(struct world *world)
{
    make_world(world);
    world->test_json = "{}";
    world->config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]}}";
    open_world(world);
}

/* -- the life of a code ----------------------------------------------------------------------------------------- */
static void a_stranger_gets_a_code_and_nothing_else(void)
{
    struct world world;
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
    end_world(&world);
}

static void what_was_kept_runs_once_the_code_is_confirmed(void)
{
    struct world world;
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
    run(&world);
    CHECK_INT(SMA_STEP_DURABLE, verdict(&world, SMA_MSG_DONE_DONE));
    finish_next(&world);
    CHECK(run_seq(&world) == 0);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "eve", "3", "third question"));
    finish_next(&world);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    CHECK(strstr(listed(&world), "\"userId\":\"eve\",\"role\":\"member\",\"via\":\"paired\"") !=
          NULL);
    /* a code is answered once */
    CHECK_INT(404, approve(&world, code));
    restart_world(&world);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
    end_world(&world);
}

static void too_many_messages_are_not_all_kept(void)
{
    struct world world;
    start_paired(&world);
    char id[8], code[16];
    for (int i = 0; i < STORE_KEPT_COUNT_MAX + 3; i++) {
        snprintf(id, sizeof id, "%d", i);
        (void)write_as(&world, "eve", id, "hello");
    }
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    CHECK_INT(200, approve(&world, code));
    CHECK(strstr(told(&world, "eve"), "send again") != NULL);
    for (int i = 0; i < STORE_KEPT_COUNT_MAX; i++)
        finish_next(&world);
    CHECK(run_seq(&world) == 0);
    end_world(&world);
}

static void a_kept_message_is_prepared_and_an_album_goes_alone(void)
{
    struct world world;
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
    end_world(&world);
}

static void codes_grow_old(void)
{
    struct world world;
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
    end_world(&world);
}

static void a_refused_person_gets_no_further_code(void)
{
    struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    const char *code = code_in(told(&world, "eve"));
    CHECK_INT(200, decide(&world, &(struct decision){.id = code, .is_refused = true}));
    CHECK(strstr(decided_text, "refused") != NULL);
    CHECK_TEXT("", told(&world, "eve"));
    pass(&world, SMA_NOTICE_INTERVAL_S + 1);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "2", "hello"));
    CHECK(strstr(told(&world, "eve"), "let in") != NULL);
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    CHECK(run_seq(&world) == 0);
    /* until somebody changes his mind, by the person's key */
    CHECK_INT(200, approve(&world, "test:eve"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "eve", "3", "hello"));
    finish_next(&world);
    /* and back again */
    CHECK_INT(200, decide(&world, &(struct decision){.id = "test:eve", .is_refused = true}));
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "4", "hello"));
    end_world(&world);
}

static void the_oldest_code_goes_at_the_bound(void)
{
    struct world world;
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
    end_world(&world);
}

/* -- who may answer --------------------------------------------------------------------------------------------- */
static void only_owners_answer(void)
{
    struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    char code[16], lower[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    CHECK_INT(403, decide(&world, &(struct decision){.id = code, .user = "eve"}));
    CHECK_INT(403, decide(&world, &(struct decision){.id = code, .user = ""}));
    CHECK_INT(200, approve(&world, "test:ann"));
    CHECK_INT(403, decide(&world, &(struct decision){.id = code, .user = "ann"}));
    CHECK_INT(200,
              decide(&world, &(struct decision){.id = "test:adm", .standing = SMA_STANDING_ADMIN}));
    CHECK_INT(403, decide(&world, &(struct decision){.id = code, .user = "adm"}));
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
        CHECK_INT(
            wrong[i].status,
            decide(&world, &(struct decision){.id = wrong[i].id,
                                              .standing = (enum sma_standing)wrong[i].standing}));
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    /* typed in small letters, by an owner of the configuration, as an owner */
    for (size_t i = 0; i < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)code[i]);
    CHECK_INT(200,
              decide(&world, &(struct decision){
                                 .id = lower, .user = "boss", .standing = SMA_STANDING_OWNER}));
    CHECK_INT(SMA_STANDING_OWNER, standing_of(&world, "eve"));
    end_world(&world);
}

static void owners_hear_of_a_code_and_answer_in_their_chat(void)
{
    struct world world;
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
    end_world(&world);
}

static void a_flood_of_strangers_is_told_once_to_the_owner(void)
{
    struct world world;
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
    end_world(&world);
}

/* -- homes ------------------------------------------------------------------------------------------------------ */
static void homes_are_owners_then_administrators(void)
{
    struct world world;
    make_world(&world);
    world.test_json = "{}";
    world.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\",\"test:second\"],"
                                    "\"admin\":[\"test:adm\"],\"member\":[\"test:mem\"]}}";
    open_world(&world);
    static const char *const people[] = {"adm", "boss", "mem", "second"};
    for (size_t i = 0; i < SMA_COUNT_OF(people); i++) {
        CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, people[i], people[i], "hello"));
        finish_next(&world);
    }
    restart_world(&world);
    struct sma_route homes[4];
    struct sma_buf storage;
    sma_buf_init(&storage, 1 << 16);
    CHECK_INT(3, (int)sma_store_homes(world.store, SMA_STR("test:group:g"), homes, 4, &storage));
    CHECK_STR("boss", homes[0].user_id);
    CHECK_STR("test:chat:boss", homes[0].chat_key);
    CHECK_INT(TEST, homes[0].adapter);
    CHECK_STR("second", homes[1].chat_id);
    CHECK_STR("adm", homes[2].user_id);
    CHECK_INT(1, (int)sma_store_homes(world.store, SMA_STR("test:chat:boss"), homes, 1, &storage));
    CHECK_STR("second", homes[0].user_id);
    /* an administrator's word ends with the platform */
    CHECK_INT(2, (int)sma_store_homes(world.store, SMA_STR("other:chat:1"), homes, 4, &storage));
    sma_buf_fini(&storage);
    end_world(&world);
}

static void a_home_is_written_when_it_changes(void)
{
    struct world world;
    start_paired(&world);
    struct sma_buf value;
    sma_buf_init(&value, 4096);
    (void)write_as(&world, "boss", "1", "hello");
    finish_next(&world);
    CHECK_OK(sma_state_access_get(world.store->state, SMA_STR("home/test/boss"), &value));
    CHECK(strstr(value.ptr, "\"chatKey\":\"test:chat:boss\"") != NULL);
    /* from another chat: the last one counts */
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "elsewhere", .user = "boss", .id = "2", .text = "hi"});
    run(&world);
    finish_next(&world);
    sma_buf_clear(&value);
    CHECK_OK(sma_state_access_get(world.store->state, SMA_STR("home/test/boss"), &value));
    CHECK(strstr(value.ptr, "\"chatKey\":\"test:chat:elsewhere\"") != NULL);
    /* a group is no home */
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "g",
                                  .user = "boss",
                                  .id = "3",
                                  .text = "hi",
                                  .is_group = true,
                                  .addressed = SMA_ADDRESSED_MENTION});
    run(&world);
    finish_next(&world);
    sma_buf_clear(&value);
    CHECK_OK(sma_state_access_get(world.store->state, SMA_STR("home/test/boss"), &value));
    CHECK(strstr(value.ptr, "elsewhere") != NULL);
    sma_buf_fini(&value);
    end_world(&world);
}

/* -- standing --------------------------------------------------------------------------------------------------- */
static void standing_is_the_highest_that_somebody_has(void)
{
    struct world world;
    make_world(&world);
    world.test_json = "{\"access\":[\"lis\"],\"adminUserIds\":[\"gad\"]}";
    world.config.permissions_json = "{\"roles\":{\"admin\":[\"test:chat:g:user:long\"]}}";
    open_world(&world);
    CHECK_OK(sma_store_begin(world.store));
    struct sma_state_chat *chat;
    CHECK_OK(
        sma_state_chat_open(world.store->state, SMA_STR("test:chat:g"), SMA_STR("test"), &chat));
    struct store_chat *group = sma_store_chat(world.store, chat);
    CHECK_OK(sma_store_person_put(world.store, SMA_STR("test"), SMA_STR("old"), SMA_ACCESS_MEMBER,
                                  "history"));
    CHECK_OK(sma_store_person_put(world.store, SMA_STR("test"), SMA_STR("prd"), SMA_ACCESS_MEMBER,
                                  "paired"));
    sma_store_note_role(world.store, group, SMA_STR("pla"), SMA_ROLE_ADMIN);
    sma_store_note_role(world.store, group, SMA_STR("prd"), SMA_ROLE_MEMBER);
    static const struct
    {
        const char *user;
        enum sma_standing in_private, in_group;
        bool is_role_known;
    } rows[] = {
        {"lis", SMA_STANDING_MEMBER, SMA_STANDING_MEMBER, false},
        {"gad", SMA_STANDING_STRANGER, SMA_STANDING_ADMIN, true},
        {"long", SMA_STANDING_STRANGER, SMA_STANDING_ADMIN, true},
        {"old", SMA_STANDING_STRANGER, SMA_STANDING_STRANGER, false}, /* the list outweighs it */
        {"prd", SMA_STANDING_MEMBER, SMA_STANDING_MEMBER, true},
        {"pla", SMA_STANDING_STRANGER, SMA_STANDING_ADMIN, true},
        {"new", SMA_STANDING_STRANGER, SMA_STANDING_STRANGER, false},
        {"", SMA_STANDING_STRANGER, SMA_STANDING_STRANGER, true},
    };
    for (int twice = 0; twice < 2; twice++) { /* read, then remembered */
        for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
            struct sma_route route = route_of(TEST, "test:chat:p");
            route.user_id = sma_str(rows[i].user);
            CHECK_INT(rows[i].in_private, sma_store_standing(world.store, NULL, &route, false));
            route = route_of(TEST, "test:chat:g");
            route.user_id = sma_str(rows[i].user);
            CHECK_INT(rows[i].in_group, sma_store_standing(world.store, group, &route, true));
            CHECK_INT(rows[i].is_role_known,
                      sma_store_role_is_known(world.store, group, &route, true));
        }
        if (twice == 0)
            sma_store_end_batch(world.store);
    }
    struct sma_route api = route_of(API, "api:chat:x");
    CHECK_INT(SMA_STANDING_OWNER, sma_store_standing(world.store, NULL, &api, false));
    /* roles of the platform are forgotten */
    sma_sim_advance(world.system, 601 * SECOND);
    struct sma_route route = route_of(TEST, "test:chat:g");
    route.user_id = SMA_STR("pla");
    CHECK_INT(SMA_STANDING_STRANGER, sma_store_standing(world.store, group, &route, true));
    CHECK(!sma_store_role_is_known(world.store, group, &route, true));
    end_world(&world);
}

/* A role that is taken away counts no more with the next message, nor does the home that came with it. */
static void roles_are_read_again(void)
{
    struct world world;
    start_paired(&world);
    (void)write_as(&world, "boss", "1", "hello");
    finish_next(&world);
    struct sma_config changed = world.config;
    changed.permissions_json = "{\"roles\":{\"owner\":[\"test:second\"]}}";
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 0);
    SMA_MSG_BODY(msg, struct sma_reload)->config = &changed;
    sma_store_actor_ops.handle(world.store, &msg, world.store->ctx);
    sma_msg_destroyp(&msg);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "boss"));
    CHECK_INT(SMA_STANDING_OWNER, standing_of(&world, "second"));
    struct sma_route homes[4];
    struct sma_buf storage;
    sma_buf_init(&storage, 1 << 16);
    CHECK_INT(0, (int)sma_store_homes(world.store, SMA_STR("test:chat:x"), homes, 4, &storage));
    sma_buf_fini(&storage);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "boss", "2", "hello"));
    CHECK(strstr(told(&world, "boss"), "paired") != NULL);
    /* what cannot be read gives nobody anything */
    changed.permissions_json = "{\"roles\":{\"owner\":[\"second\"]}}";
    msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 0);
    SMA_MSG_BODY(msg, struct sma_reload)->config = &changed;
    sma_store_actor_ops.handle(world.store, &msg, world.store->ctx);
    sma_msg_destroyp(&msg);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "second"));
    end_world(&world);
}

static void lists_refuse_politely(void)
{
    struct world world;
    make_world(&world);
    world.test_json = "{\"access\":[\"lis\"]}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "lis", "1", "hello"));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "2", "hello"));
    CHECK(strstr(told(&world, "eve"), "let in") != NULL);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "3", "hello"));
    CHECK_TEXT("", told(&world, "eve"));
    CHECK_INT(SMA_VERDICT_IGNORED, command_as(&world, "eve", "4", SMA_CONTROL_STOP));
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    CHECK(run_seq(&world) == 0);
    end_world(&world);
}

static void anyone_may_talk_and_is_nobody_by_it(void)
{
    struct world world;
    make_world(&world);
    world.test_json = "{\"access\":\"anyone\"}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "eve", "1", "hello"));
    finish_next(&world);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    restart_world(&world);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    end_world(&world);
}

/* -- durability ------------------------------------------------------------------------------------------------- */
static void a_crash_loses_neither_code_nor_confirmation(void)
{
    struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    crash_world(&world);
    CHECK(strstr(listed(&world), code) != NULL);
    CHECK_INT(200, approve(&world, code));
    crash_world(&world);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
    CHECK(count_kept(&world.dispatcher, SMA_MSG_DELIVER) == 1);
    finish_next(&world);
    CHECK(run_seq(&world) == 0);
    end_world(&world);
}

/* The transaction of a confirmation fails: nothing of it has happened, and it can be said again. */
static void a_failed_commit_confirms_nothing(void)
{
    struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    struct sma_route route = route_of(API, "api:chat:x");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DECIDE, struct sma_decide, 512);
    struct sma_decide *body = SMA_MSG_BODY(msg, struct sma_decide);
    *body = (struct sma_decide){.kind = SMA_DECIDE_PAIRING, .is_approved = true, .standing = 1};
    body->route = sma_route_dup(msg, &route);
    body->id = sma_msg_dup(msg, sma_str(code));
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    CHECK_OK(sma_store_begin(world.store));
    CHECK_OK(sma_store_person_put(world.store, SMA_STR("test"), SMA_STR("eve"), SMA_ACCESS_OWNER,
                                  "paired"));
    CHECK_INT(SMA_STANDING_OWNER, standing_of(&world, "eve"));
    sma_store_fail_batch(world.store, SMA_ERR_IO);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    run(&world);
    sma_msg_destroy(take(&world.api, SMA_MSG_DECIDED));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
    end_world(&world);
}

/* The program dies at the n-th write below SQLite, for every n; with it the write fails. In the end the person is a member, has
 * been told, and what he wrote has been started once. */
static int writes_left;
static bool is_dead;
static enum sma_state_vfs_action die_at_write(enum sma_state_vfs_role role,
                                              enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    if (!is_wal || call != SMA_STATE_VFS_WRITE)
        return SMA_STATE_VFS_PASS;
    if (!is_dead && writes_left-- > 0)
        return SMA_STATE_VFS_PASS;
    is_dead = true;
    return SMA_STATE_VFS_FAIL_FULL;
}

static void collect(struct world *world, char *code, int *codes, int *welcomes, int *runs)
{
    for (struct sma_msg *msg; (msg = deliver(world)) != NULL; sma_msg_destroy(msg)) {
        const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
        char text[512];
        snprintf(text, sizeof text, "%.*s", (int)body->text.len, body->text.ptr);
        if (strstr(text, "approve ") != NULL) {
            snprintf(code, 16, "%s", code_in(text));
            (*codes)++;
        }
        *welcomes += strstr(text, "You can talk") != NULL;
        receipt(world, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                             .part_count = 1,
                                             .state = SMA_DELIVERY_SENT,
                                             .is_final = true});
        run(world);
    }
    for (struct sma_msg *msg; (msg = next_run(world)) != NULL; sma_msg_destroy(msg)) {
        CHECK_STR("hello", SMA_MSG_BODY(msg, struct sma_run_order)->text);
        (*runs)++;
        done(world, SMA_MSG_BODY(msg, struct sma_run_order)->seq, "ok", NULL, 0);
        run(world);
    }
}

static void say_hello(struct world *world)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = "eve", .user = "eve", .id = "1", .text = "hello"});
    run(world);
}

static void try_to_approve(struct world *world, const char *code)
{
    struct sma_route route = route_of(API, "api:chat:x");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DECIDE, struct sma_decide, 512);
    struct sma_decide *body = SMA_MSG_BODY(msg, struct sma_decide);
    *body = (struct sma_decide){.kind = SMA_DECIDE_PAIRING, .is_approved = true, .standing = 1};
    body->route = sma_route_dup(msg, &route);
    body->id = sma_msg_dup(msg, sma_str(code));
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(world);
}

static bool die_once(int write)
{
    struct world world;
    char code[16] = "";
    int codes = 0, welcomes = 0, runs = 0;
    start_paired(&world);
    writes_left = write;
    is_dead = false;
    sma_state_vfs_set_hook(die_at_write);
    for (int life = 0; life < 2; life++) {
        say_hello(&world); /* the platform delivers again what was not accepted */
        if (code[0] == '\0')
            collect(&world, code, &codes, &welcomes, &runs);
        if (code[0] != '\0' && standing_of(&world, "eve") == SMA_STANDING_STRANGER)
            try_to_approve(&world, code);
        if (life == 0)
            collect(&world, code, &codes, &welcomes, &runs);
        bool has_died = is_dead;
        sma_state_vfs_set_hook(NULL);
        if (life == 0)
            crash_world(&world);
        if (life == 0 && !has_died) {
            collect(&world, code, &codes, &welcomes, &runs);
            CHECK_INT(1, welcomes);
            CHECK(runs == 1);
            end_world(&world);
            return false;
        }
    }
    collect(&world, code, &codes, &welcomes, &runs);
    restart_world(&world);
    collect(&world, code, &codes, &welcomes, &runs);
    CHECK(code[0] != '\0');
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
    CHECK(codes >= 1 && welcomes >= 1 && runs >= 1);
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    CHECK_INT(1, (int)count_of(history(&world, "test%3Achat%3Aeve"), "\"text\":\"hello\""));
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    end_world(&world);
    return true;
}

static void death_at_any_write_loses_nothing(void)
{
    int write = 0;
    while (die_once(write))
        write++;
    CHECK(write >= 4);
}

static void names_of_strangers_are_shown_harmless(void)
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
    char text[STORE_NAME_SHOWN_BYTES_MAX + 1];
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        sma_store_pairing_name(text, sizeof text,
                               &(struct sma_route){.user_name = sma_str(rows[i].name)});
        CHECK_TEXT(rows[i].shown, text);
    }
    char endless[400] = "";
    for (int i = 0; i < 100; i++)
        strncat(endless, "字", sizeof endless - strlen(endless) - 1);
    sma_store_pairing_name(text, sizeof text, &(struct sma_route){.user_name = sma_str(endless)});
    CHECK(strlen(text) <= STORE_NAME_SHOWN_BYTES_MAX && strlen(text) % 3 == 0);
    sma_store_pairing_name(text, sizeof text, &(struct sma_route){.user_id = SMA_STR("42")});
    CHECK_TEXT("42", text);
}

int main(void)
{
    RUN(death_at_any_write_loses_nothing);
    RUN(names_of_strangers_are_shown_harmless);
    RUN(a_stranger_gets_a_code_and_nothing_else);
    RUN(what_was_kept_runs_once_the_code_is_confirmed);
    RUN(too_many_messages_are_not_all_kept);
    RUN(a_kept_message_is_prepared_and_an_album_goes_alone);
    RUN(codes_grow_old);
    RUN(a_refused_person_gets_no_further_code);
    RUN(the_oldest_code_goes_at_the_bound);
    RUN(only_owners_answer);
    RUN(owners_hear_of_a_code_and_answer_in_their_chat);
    RUN(a_flood_of_strangers_is_told_once_to_the_owner);
    RUN(homes_are_owners_then_administrators);
    RUN(a_home_is_written_when_it_changes);
    RUN(standing_is_the_highest_that_somebody_has);
    RUN(roles_are_read_again);
    RUN(lists_refuse_politely);
    RUN(anyone_may_talk_and_is_nobody_by_it);
    RUN(a_crash_loses_neither_code_nor_confirmation);
    RUN(a_failed_commit_confirms_nothing);
    return check_summary();
}
