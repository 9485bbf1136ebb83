/* approval_support.c — requests for approval as the agent and people make them. */
#include "approval_support.h"

const char *item_program_rule = "";

void open_people(struct world *world)
{
    make_world(world);
    world->config.permissions_json = PEOPLE;
    world->config.approvals_expire_s = 3600;
    open_world(world);
}

static void put_request(struct sma_buf *json, const struct item *items, uint32_t count)
{
    struct sma_buf bytes[4];
    struct sma_str texts[4];
    uint32_t calls[4] = {0, 1, 2, 3};
    CHECK(count <= 4);
    for (uint32_t i = 0; i < count; i++) {
        bool is_command = strcmp(items[i].tool, "exec_shell") == 0;
        char details[4096];
        snprintf(details, sizeof details,
                 is_command ? "{\"command\":\"%s\"}" : "{\"receiver\":\"%s\",\"text\":\"hi\"}",
                 items[i].title);
        struct sma_request_item item = {
            .type = is_command ? SMA_STR("exec_shell") : SMA_STR("send"),
            .tool = sma_str(items[i].tool),
            .title = sma_str(items[i].title),
            .input_json = SMA_STR("{\"command\":\"x\"}"),
            .details_json = sma_str(details),
            .grant_rule = sma_str(items[i].grant_rule != NULL ? items[i].grant_rule : ""),
            .program_rule = sma_str(item_program_rule),
            .is_admin_only = !items[i].is_for_all,
            .is_owner_only = items[i].is_owner_only};
        memset(item.digest, (int)(i + 1), sizeof item.digest);
        sma_buf_init(&bytes[i], 65536);
        sma_request_put_item(&bytes[i], &item);
        texts[i] = sma_buf_str(&bytes[i]);
    }
    CHECK_OK(sma_request_put(json, texts, calls, count));
    for (uint32_t i = 0; i < count; i++)
        sma_buf_fini(&bytes[i]);
}

void park_step(struct world *world, uint64_t seq, uint32_t number, const struct item *items,
               uint32_t count)
{
    struct sma_buf json;
    sma_buf_init(&json, 65536);
    put_request(&json, items, count);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 64 + json.len);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = number;
    body->kind = SMA_STEP_ANSWER;
    body->data = sma_msg_dup(msg, SMA_STR("answer"));
    body->request_json = sma_msg_dup(msg, sma_buf_str(&json));
    sma_buf_fini(&json);
    ask_as_agent(world, msg);
}

uint64_t park_in(struct world *world, const struct saying *saying, const struct item *items,
                 uint32_t count)
{
    (void)say_as(world, TEST, saying);
    run(world);
    uint64_t seq = accepted(&world->test).seq;
    CHECK(seq != 0 && run_seq(world) == seq);
    park_step(world, seq, 1, items, count);
    run(world);
    CHECK_INT(SMA_STEP_PARKED, verdict(world, SMA_MSG_STEP_DONE));
    return seq;
}

uint64_t park(struct world *world, const char *chat, const char *id, const struct item *items,
              uint32_t count)
{
    return park_in(world, &(struct saying){.chat = chat, .id = id, .text = "do it"}, items, count);
}

void take_card(struct world *world, uint8_t intent, const char *chat_key, struct sma_card *ret_card)
{
    struct sma_msg *msg = deliver(world);
    CHECK(msg != NULL);
    const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
    CHECK_INT(intent, body->intent);
    CHECK_STR(chat_key, body->route.chat_key);
    CHECK_OK(sma_card_parse(body->text, ret_card));
    char id[16];
    snprintf(id, sizeof id, "m%u", sma_state_outbox_call(body->outbox_id));
    receipt(world, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                         .part_count = 1,
                                         .state = SMA_DELIVERY_SENT,
                                         .is_final = true,
                                         .platform_message_id = sma_str(id)});
    run(world);
    sma_msg_destroy(msg);
}

void show_all_at(struct world *world, int64_t sent_ms)
{
    for (struct sma_msg *msg; (msg = deliver(world)) != NULL; run(world)) {
        const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
        char id[16], reply_id[16];
        snprintf(id, sizeof id, "m%u", sma_state_outbox_call(body->outbox_id));
        snprintf(reply_id, sizeof reply_id, "r%u", sma_state_outbox_call(body->outbox_id));
        receipt(world, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                             .part_count = 1,
                                             .state = SMA_DELIVERY_SENT,
                                             .is_final = true,
                                             .platform_message_id = sma_str(id),
                                             .reply_id = sma_str(reply_id),
                                             .sent_ms = sent_ms});
        sma_msg_destroy(msg);
    }
}

void show_all(struct world *world)
{
    show_all_at(world, 0);
}

const char *button(const struct world *world, const char *id, uint32_t item,
                   enum sma_card_action action)
{
    static char data[SMA_CARD_DATA_BYTES_MAX + 1];
    struct sma_card_press press = {.item = item, .action = action};
    for (size_t i = 0; i < 16; i++) {
        unsigned byte = 0;
        CHECK(sscanf(id + 2 * i, "%2x", &byte) == 1);
        press.id[i] = (uint8_t)byte;
    }
    sma_card_sign(world->store->consent->key, &press, data);
    return data;
}

const char *press_as(struct world *world, const struct saying *saying)
{
    static char notice[1024];
    struct saying pressed = *saying;
    pressed.kind = SMA_EVENT_CALLBACK;
    (void)say_as(world, TEST, &pressed);
    run(world);
    struct sma_msg *msg = take(&world->test, SMA_MSG_ACCEPTED);
    CHECK(msg != NULL);
    const struct sma_accepted *answer = SMA_MSG_BODY(msg, struct sma_accepted);
    snprintf(notice, sizeof notice, "%.*s", (int)answer->notice.len,
             answer->notice.len == 0 ? "" : answer->notice.ptr);
    /* Platforms show a refusal in another way than a thing done: the verdict must say which it
     * was. */
    static const char *const done[] = {"Approved", "Refused", "Noted", "Got it."};
    bool is_done = false;
    for (size_t i = 0; i < SMA_COUNT_OF(done); i++)
        is_done = is_done || strncmp(notice, done[i], strlen(done[i])) == 0;
    CHECK_INT(is_done ? SMA_VERDICT_ACCEPTED : SMA_VERDICT_IGNORED, answer->verdict);
    sma_msg_destroy(msg);
    return notice;
}

const char *press(struct world *world, const char *chat, const char *user, const char *event,
                  const char *data)
{
    return press_as(world, &(struct saying){.chat = chat, .user = user, .id = event, .text = data});
}

const char *open_id(const struct world *world)
{
    static char id[64];
    CHECK(world->store->consent->first != NULL);
    snprintf(id, sizeof id, "%s", world->store->consent->first->id);
    return id;
}

int decide(struct world *world, const struct sma_decide *decide, char text[512])
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DECIDE, struct sma_decide, 4096);
    struct sma_decide *body = SMA_MSG_BODY(msg, struct sma_decide);
    *body = *decide;
    struct sma_route route = route_of(API, "api:chat:desk");
    route.user_id = SMA_STR("root");
    body->route = sma_route_dup(msg, &route);
    body->id = sma_msg_dup(msg, decide->id);
    body->response = sma_msg_dup(msg, decide->response);
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(world);
    struct sma_msg *answer = take(&world->api, SMA_MSG_DECIDED);
    CHECK(answer != NULL);
    const struct sma_decided *decided = SMA_MSG_BODY(answer, struct sma_decided);
    int status = decided->status;
    if (text != NULL)
        snprintf(text, 512, "%.*s", (int)decided->text.len,
                 decided->text.len == 0 ? "" : decided->text.ptr);
    sma_msg_destroy(answer);
    return status;
}

int decide_all(struct world *world, const char *id, bool is_approved)
{
    return decide(world, &(struct sma_decide){.id = sma_str(id), .is_approved = is_approved}, NULL);
}

const char *resumed(struct world *world, uint64_t seq)
{
    static char text[2048];
    struct sma_msg *msg = next_run(world);
    if (msg == NULL)
        return "no run";
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK(order->seq == seq);
    CHECK(order->is_resumed && order->step_count >= 2);
    CHECK_INT(0, order->delivery_count);
    const struct sma_stored_step *last = &order->steps[order->step_count - 1];
    CHECK_INT(SMA_STEP_DECISION, last->kind);
    struct sma_stored_decisions list;
    CHECK_OK(sma_codec_get_decisions(last->data, &list));
    size_t len = (size_t)snprintf(text, sizeof text, "%s", order->is_decided ? "" : "late ");
    for (uint32_t i = 0; i < list.count; i++) {
        CHECK_INT((int)(list.list[i].call + 1), list.list[i].digest[0]);
        len += (size_t)snprintf(text + len, sizeof text - len, "%u:%s:%.*s;", list.list[i].call,
                                list.list[i].is_approved ? "yes" : "no",
                                (int)list.list[i].response.len,
                                list.list[i].response.len == 0 ? "" : list.list[i].response.ptr);
    }
    sma_stored_decisions_fini(&list);
    sma_msg_destroy(msg);
    return text;
}

bool resumed_by_owner(struct world *world, uint64_t seq)
{
    run(world);
    struct sma_msg *msg = next_run(world);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK(order->seq == seq);
    struct sma_stored_decisions list;
    CHECK_OK(sma_codec_get_decisions(order->steps[order->step_count - 1].data, &list));
    bool is_by_owner = list.list[0].is_by_owner;
    CHECK(list.list[0].is_approved);
    sma_stored_decisions_fini(&list);
    sma_msg_destroy(msg);
    return is_by_owner;
}

const char *query(struct world *world, uint8_t kind, const char *chat_key)
{
    static char json[65536];
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, 256);
    struct sma_query *body = SMA_MSG_BODY(msg, struct sma_query);
    body->kind = kind;
    body->chat_key = sma_msg_dup(msg, sma_str(chat_key));
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(world);
    struct sma_msg *answer = take(&world->api, SMA_MSG_QUERY_RESULT);
    CHECK(answer != NULL);
    struct sma_str from = SMA_MSG_BODY(answer, struct sma_query_result)->json;
    snprintf(json, sizeof json, "%.*s", (int)from.len, from.ptr);
    sma_msg_destroy(answer);
    return json;
}

bool has_projection(const struct world *world, const char *id)
{
    char path[256];
    snprintf(path, sizeof path, "%s/approvals/%s.json", world->state_dir, id);
    return access(path, F_OK) == 0;
}

unsigned count_grants(struct world *world, const char *chat, const char *id, char rule[64])
{
    say(world, chat, id, "next");
    run(world);
    struct sma_msg *msg = next_run(world);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    unsigned count = order->grant_count;
    if (count > 0)
        snprintf(rule, 64, "%.*s %.*s", (int)order->grants[0].tool.len, order->grants[0].tool.ptr,
                 (int)order->grants[0].rule.len, order->grants[0].rule.ptr);
    uint64_t seq = order->seq;
    sma_msg_destroy(msg);
    done(world, seq, "", NULL, 0);
    run(world);
    return count;
}
