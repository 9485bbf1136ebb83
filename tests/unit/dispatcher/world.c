/* world.c — see world.h. */
#include "world.h"

#include "actors/dispatcher/dispatcher_priv.h"

#define STORE_CTX(world) sma_system_ctx((world)->system, SMA_ACTOR_STORE)

static struct world_row *row_of(struct world *world, uint64_t id)
{
    CHECK(id >= 1 && id <= world->row_count);
    return &world->rows[id - 1];
}

static void hand_out(struct world *world, struct world_row *row)
{
    char chat_key[128];
    snprintf(chat_key, sizeof chat_key, "fake:chat:%s", row->chat);
    struct sma_route route = {.adapter = (uint8_t)(SMA_ACTOR_ADAPTER_0 + row->adapter),
                              .channel = SMA_STR("fake"),
                              .chat_key = sma_str(chat_key),
                              .chat_id = sma_str(row->chat)};
    struct sma_str text = sma_str(row->text);
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_DELIVER, struct sma_deliver, sma_route_space(&route) + text.len + 1);
    CHECK(msg != NULL);
    struct sma_deliver *deliver = SMA_MSG_BODY(msg, struct sma_deliver);
    *deliver = (struct sma_deliver){.outbox_id = row->id,
                                    .seq = row->seq,
                                    .intent = row->intent,
                                    .renderer_version = row->renderer_version,
                                    .part_done_count = row->part_done_count + row->part_sent_count,
                                    .is_repeat = row->is_repeat && !row->is_given_back,
                                    .has_waiter = row->has_waiter,
                                    .attempt_count = row->is_given_back ? row->attempts_told
                                                                        : row->attempt_count,
                                    .waited_ms = row->waited_ms,
                                    .made_wall_ms = row->made_wall_ms,
                                    .is_aside = row->steps_aside};
    deliver->route = sma_route_dup(msg, &route);
    deliver->text = sma_msg_dup(msg, text);
    deliver->stamps.read_ns = world_now(world);
    CHECK_OK(sma_ctx_send(STORE_CTX(world), SMA_ACTOR_DISPATCHER, &msg));
    row->is_handed = true;
}

/* Of a chat the oldest goes first. */
static bool is_behind(const struct world *world, const struct world_row *row)
{
    for (const struct world_row *other = world->rows; other < row; other++)
        if (!other->is_over && !other->steps_aside &&
            (world->hands_one_of_a_chat || (!other->is_handed && other->is_given_back)) &&
            other->adapter == row->adapter && strcmp(other->chat, row->chat) == 0)
            return true;
    return false;
}

void world_hand_out(struct world *world)
{
    for (size_t i = 0; i < world->row_count; i++) {
        struct world_row *row = &world->rows[i];
        if (row->is_handed || row->is_over || world->credits[row->adapter] == 0 ||
            row->due_ns > world_now(world) || is_behind(world, row))
            continue;
        world->credits[row->adapter]--;
        if (world->credits[row->adapter] < world->credits_least[row->adapter])
            world->credits_least[row->adapter] = world->credits[row->adapter];
        hand_out(world, row);
    }
}

static void answer_receipt(struct world *world, uint64_t ask_id, uint64_t outbox_id,
                           uint8_t verdict)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RECEIPT_DONE, struct sma_receipt_done, 0);
    CHECK(msg != NULL);
    *SMA_MSG_BODY(msg, struct sma_receipt_done) =
        (struct sma_receipt_done){.outbox_id = outbox_id, .verdict = verdict};
    sma_ctx_answer_to(STORE_CTX(world), SMA_ACTOR_DISPATCHER, ask_id, &msg);
}

static void book(struct world *world, struct world_row *row, const struct sma_receipt *receipt)
{
    row->receipt_count++;
    row->attempts_told = receipt->attempt_count;
    row->part_count = receipt->part_count;
    if (receipt->state == SMA_DELIVERY_SENT) {
        CHECK_INT(row->part_done_count + row->part_sent_count,
                  receipt->part); /* every part once, in order */
        row->part_sent_count++;
        CHECK_INT(receipt->part + 1 == receipt->part_count, receipt->is_final);
    }
    row->waiting_count += receipt->state == SMA_DELIVERY_WAITING;
    snprintf(row->error, sizeof row->error, "%.*s", (int)receipt->error.len, receipt->error.ptr);
    snprintf(row->platform_id, sizeof row->platform_id, "%.*s",
             (int)receipt->platform_message_id.len, receipt->platform_message_id.ptr);
    if (!receipt->is_final)
        return;
    CHECK(receipt->state == SMA_DELIVERY_SENT || receipt->state == SMA_DELIVERY_FAILED ||
          receipt->state == SMA_DELIVERY_UNKNOWN);
    row->is_over = true;
    row->state = receipt->state;
    row->over_ns = world_now(world);
    row->is_content_refused = receipt->is_content_refused;
    world->credits[row->adapter]++;
}

static void stop_row(struct world_row *row)
{
    row->is_over = true;
    row->state = SMA_DELIVERY_FAILED;
}

/* Its credit is free with the answer. @return whether the row was stopped meanwhile */
static bool take_back(struct world *world, struct world_row *row, const struct sma_receipt *receipt)
{
    CHECK_INT(SMA_DELIVERY_WAITING, receipt->state);
    CHECK(!receipt->is_final);
    CHECK_INT(row->part_done_count + row->part_sent_count, receipt->part);
    row->given_back_count++;
    row->attempts_told = receipt->attempt_count;
    row->is_attempted = receipt->attempt_count > 0 || receipt->waited_ms > 0 || receipt->part > 0;
    row->waited_ms = receipt->waited_ms;
    row->is_handed = false;
    row->is_given_back = true;
    row->is_platform_held = receipt->is_platform_held;
    row->due_ns = world_now(world) + receipt->hold_ms * 1000000ull;
    world->credits[row->adapter]++;
    if (row->is_cancelled && !row->is_attempted)
        stop_row(row);
    return row->is_over;
}

/* The next time something is due. */
static void set_wake(struct world *world, struct sma_ctx *ctx)
{
    uint64_t at = UINT64_MAX;
    for (size_t i = 0; i < world->row_count; i++) {
        const struct world_row *row = &world->rows[i];
        if (!row->is_over && !row->is_handed && row->due_ns > sma_ctx_now(ctx) && row->due_ns < at)
            at = row->due_ns;
    }
    sma_ctx_wake_at(ctx, at);
}

static void store_wake(void *state, struct sma_ctx *ctx)
{
    world_hand_out(state);
    set_wake(state, ctx);
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct world *world = state;
    if ((*msg)->kind == SMA_MSG_LATE) {
        row_of(world, SMA_MSG_BODY(*msg, struct sma_late)->outbox_id)->steps_aside = true;
        world_hand_out(world);
    }
    if ((*msg)->kind != SMA_MSG_RECEIPT)
        return;
    const struct sma_receipt *receipt = SMA_MSG_BODY(*msg, struct sma_receipt);
    struct world_row *row = row_of(world, receipt->outbox_id);
    CHECK(row->is_handed && !row->is_over);
    uint8_t verdict = SMA_STEP_DURABLE;
    if (row->is_stopped) {
        verdict = SMA_STEP_STOPPED;
        row->is_over = true;
        row->state = SMA_DELIVERY_FAILED;
        world->credits[row->adapter]++;
    } else if (row->no_disk_count > 0) {
        row->no_disk_count--;
        verdict = SMA_STEP_NO_DISK;
    } else if (receipt->is_held) {
        verdict = take_back(world, row, receipt) ? SMA_STEP_STOPPED : SMA_STEP_DURABLE;
    } else {
        book(world, row, receipt);
    }
    if (world->is_silent_store) {
        CHECK(world->held_count < SMA_COUNT_OF(world->held_asks));
        world->held_asks[world->held_count++] = (*msg)->ask_id;
        return;
    }
    answer_receipt(world, (*msg)->ask_id, receipt->outbox_id, verdict);
    world_hand_out(world);
    set_wake(world, ctx);
}

static void agent_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct world *world = state;
    if ((*msg)->kind != SMA_MSG_SEND_RESULT)
        return;
    const struct sma_send_result *result = SMA_MSG_BODY(*msg, struct sma_send_result);
    CHECK(world->answer_count < SMA_COUNT_OF(world->answers));
    struct world_answer *answer = &world->answers[world->answer_count++];
    *answer = (struct world_answer){
        .outbox_id = result->outbox_id, .state = result->state, .at_ns = sma_ctx_now(ctx)};
    snprintf(answer->error, sizeof answer->error, "%.*s", (int)result->error.len,
             result->error.ptr);
}

static const struct sma_actor_ops store_ops = {
    .name = "store", .handle = store_handle, .wake = store_wake};
static const struct sma_actor_ops agent_ops = {.name = "agent", .handle = agent_handle};

void world_open(struct world *world, uint64_t seed, struct sma_capabilities capabilities,
                fake_plan_fn *plan, void *user)
{
    *world = (struct world){0};
    sma_metrics_reset();
    struct sma_system_options options = {.is_simulated = true, .seed = seed};
    world->system = sma_system_create(&options);
    CHECK(world->system != NULL);
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_STORE, &store_ops, world));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_AGENT, &agent_ops, world));
    for (unsigned i = 0; i < 2; i++) {
        struct fake_options fake = {
            .is_idempotent = capabilities.has_idempotency, .plan = plan, .user = user};
        enum sma_actor_id id = (enum sma_actor_id)(SMA_ACTOR_ADAPTER_0 + i);
        world->fakes[i] = fake_adapter_create(&fake);
        world->ops[i] = fake_adapter_ops;
        world->ops[i].capabilities = capabilities;
        world->adapters[i] =
            (struct sma_adapter){.ops = &world->ops[i], .state = world->fakes[i], .actor = id};
        world->credits[i] = world->credits_least[i] = SMA_DELIVER_CREDIT_COUNT;
        CHECK_OK(sma_system_add(world->system, id, &fake_adapter_actor_ops, world->fakes[i]));
    }
    struct sma_dispatcher_options dispatcher = {&world->config, world->adapters, 2};
    struct sma_error error;
    CHECK_OK(sma_dispatcher_create(&dispatcher, &world->dispatcher, &error));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_DISPATCHER, &sma_dispatcher_actor_ops,
                            world->dispatcher));
    CHECK_OK(sma_system_start(world->system, &error));
}

void world_close(struct world *world)
{
    sma_system_destroy(world->system);
    sma_dispatcher_destroy(world->dispatcher);
    for (unsigned i = 0; i < 2; i++)
        fake_adapter_destroy(world->fakes[i]);
}

struct world_row *world_add(struct world *world, const char *chat, const char *text)
{
    CHECK(world->row_count < WORLD_ROW_COUNT_MAX);
    struct world_row *row = &world->rows[world->row_count++];
    row->id = world->row_count;
    row->seq = row->id * 10;
    row->chat = chat;
    row->text = text;
    return row;
}

void world_ask_send(struct world *world, uint64_t outbox_id, uint64_t deadline_ns)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_SEND, struct sma_send, 0);
    CHECK(msg != NULL);
    *SMA_MSG_BODY(msg, struct sma_send) =
        (struct sma_send){.seq = outbox_id * 10, .outbox_id = outbox_id};
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, SMA_ACTOR_AGENT), SMA_ACTOR_DISPATCHER, &msg,
                         deadline_ns, NULL));
}

void world_cancel(struct world *world, const char *chat, uint64_t mark_seq)
{
    for (size_t i = 0; i < world->row_count; i++) {
        struct world_row *row = &world->rows[i];
        if (strcmp(row->chat, chat) != 0 || row->is_over || row->seq >= mark_seq)
            continue;
        if (row->is_given_back && !row->is_handed && !row->is_attempted)
            stop_row(row);
        row->is_cancelled = row->is_handed;
    }
    char chat_key[128];
    snprintf(chat_key, sizeof chat_key, "fake:chat:%s", chat);
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_CANCEL_DELIVER, struct sma_cancel_deliver, strlen(chat_key) + 1);
    CHECK(msg != NULL);
    struct sma_cancel_deliver *cancel = SMA_MSG_BODY(msg, struct sma_cancel_deliver);
    cancel->mark_seq = mark_seq;
    cancel->chat_key = sma_msg_dup(msg, sma_str(chat_key));
    CHECK_OK(sma_ctx_send(STORE_CTX(world), SMA_ACTOR_DISPATCHER, &msg));
}

void world_run(struct world *world, uint64_t ns)
{
    (void)sma_sim_run(world->system, 10000000,
                      world_now(world) + ns); /* at rest or at that time: both are fine */
}

uint64_t world_now(const struct world *world)
{
    return sma_sim_now(world->system);
}

size_t world_answer_count_of(const struct world *world, uint64_t outbox_id)
{
    size_t count = 0;
    for (size_t i = 0; i < world->answer_count; i++)
        count += world->answers[i].outbox_id == outbox_id;
    return count;
}

const struct world_answer *world_answer_of(const struct world *world, uint64_t outbox_id)
{
    CHECK_INT(1, world_answer_count_of(world, outbox_id));
    size_t i = 0;
    while (world->answers[i].outbox_id != outbox_id)
        i++;
    return &world->answers[i];
}

void world_run_all(struct world *world)
{
    world_hand_out(world);
    world_run(world, 10000 * WORLD_SECOND);
    for (size_t i = 0; i < world->row_count; i++)
        CHECK(world->rows[i].is_over);
    CHECK_INT(SMA_DELIVER_CREDIT_COUNT, world->credits[0]);
    CHECK_INT(SMA_DELIVER_CREDIT_COUNT, world->credits[1]);
    CHECK_INT(0, world->dispatcher->row_count);
    CHECK_INT(0, world->dispatcher->chat_idle_count); /* no chat is remembered for ever */
}

const struct fake_saw *world_saw_at(const struct world *world, unsigned adapter, size_t index)
{
    const struct fake_saw *saw = fake_adapter_first_saw(world->fakes[adapter]);
    for (; index > 0 && saw != NULL; index--)
        saw = saw->next;
    CHECK(saw != NULL);
    return saw;
}
