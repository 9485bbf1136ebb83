/* people_support.c — people who are let in, named and asked. */
#include "people_support.h"

char decided_text[256];
char told_buttons[2][SMA_CARD_DATA_BYTES_MAX + 1];

int write_as(struct world *world, const char *who, const char *id, const char *text)
{
    (void)say_as(world, TEST, &(struct saying){.chat = who, .user = who, .id = id, .text = text});
    run(world);
    return accepted(&world->test).verdict;
}

int command_as(struct world *world, const char *who, const char *id, enum sma_control control)
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

const char *told(struct world *world, const char *who)
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
    struct sma_card card = {0};
    told_buttons[0][0] = told_buttons[1][0] = '\0';
    if (body->intent == SMA_INTENT_APPROVAL_REQUEST) {
        CHECK_OK(sma_card_parse(body->text, &card));
        CHECK_INT(2, card.button_count);
        for (size_t i = 0; i < 2; i++)
            snprintf(told_buttons[i], sizeof told_buttons[i], "%.*s", (int)card.buttons[i].data.len,
                     card.buttons[i].data.ptr);
    } else if (body->intent == SMA_INTENT_APPROVAL_OUTCOME) {
        CHECK_OK(sma_card_parse(body->text, &card));
        CHECK(card.is_outcome && card.button_count == 0);
    } else {
        CHECK_INT(SMA_INTENT_NOTICE, body->intent);
    }
    struct sma_str said = card.root != NULL ? card.plain : body->text;
    snprintf(text, sizeof text, "%.*s", (int)said.len, said.ptr);
    sma_card_fini(&card);
    receipt(world, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                         .part_count = 1,
                                         .state = SMA_DELIVERY_SENT,
                                         .is_final = true});
    sma_msg_destroy(msg);
    run(world);
    sma_msg_destroy(take(&world->dispatcher, SMA_MSG_RECEIPT_DONE));
    return text;
}

const char *code_in(const char *text)
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

int decide_person(struct world *world, const struct decision *decision)
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

int approve(struct world *world, const char *id)
{
    return decide_person(world, &(struct decision){.id = id, .standing = SMA_STANDING_MEMBER});
}

const char *listed(struct world *world)
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

enum sma_standing standing_of(struct world *world, const char *who)
{
    char key[64];
    snprintf(key, sizeof key, "test:chat:%s", who);
    struct sma_route route = route_of(TEST, key);
    route.user_id = sma_str(who);
    return sma_store_standing(world->store, NULL, &route, false);
}

void start_paired(struct world *world)
{
    make_world(world);
    world->test_json = "{}";
    world->config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]}}";
    open_world(world);
}
