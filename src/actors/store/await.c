/* AWAIT and RESULT: who waits for which run. Questions are looked at after the batch they came in,
 * so that no answer tells of a run whose end is not durable. */
#include "consent.h"
#include "consent_priv.h"
#include "facts.h"
#include "map.h"
#include "query.h"
#include "query_priv.h"
#include "runs.h"
#include "store.h"

#include <stdlib.h>

/* -- the answer -------------------------------------------------------------------------------- */
struct result_facts
{
    struct sma_store *store;
    const struct store_waiter *waiter;
    struct sma_state_head head;
    struct sma_str message_id, chat_id, pending_json;
    bool is_answered;
    uint64_t run_seq; /* the message whose run answers this one */
    int64_t accepted_ms;
    char event_key[SMA_ID_BYTES_MAX + 1], chat[SMA_ID_BYTES_MAX + 1];
};

static uint64_t run_of(const struct sma_state_head *head)
{
    return head->run_seq != 0 ? head->run_seq : head->seq;
}

static uint8_t run_state_of_row(uint8_t row_state)
{
    switch (row_state) {
    case SMA_ROW_WAITING:
        return SMA_RUN_WAITING;
    case SMA_ROW_RUNNING:
        return SMA_RUN_RUNNING;
    case SMA_ROW_PARKED:
        return SMA_RUN_PARKED;
    case SMA_ROW_DONE:
    case SMA_ROW_IGNORED:
        return SMA_RUN_DONE;
    case SMA_ROW_CANCELLED:
        return SMA_RUN_CANCELLED;
    case SMA_ROW_LINE:
        return SMA_RUN_UNKNOWN;
    default:
        return SMA_RUN_FAILED;
    }
}

/* seq: of the message whose run answers it. */
static uint8_t run_state_of(const struct sma_store *store, uint8_t row_state, uint64_t seq)
{
    bool waits = row_state == SMA_ROW_PARKED && sma_store_is_waiting_run(store, seq);
    return waits ? SMA_RUN_WAITS_FOR_MODEL : run_state_of_row(row_state);
}

static uint64_t duration_of(const struct result_facts *facts, const struct sma_state_result *result)
{
    bool is_known = facts->accepted_ms != 0 && result->wall_ms > facts->accepted_ms;
    return is_known ? (uint64_t)(result->wall_ms - facts->accepted_ms) : 0;
}

static enum sma_err answer_with(void *user, const struct sma_state_result *result)
{
    struct result_facts *facts = user;
    struct sma_store *store = facts->store;
    struct sma_result answer = {
        .seq = facts->waiter->seq,
        .state = run_state_of(store, facts->head.state, run_of(&facts->head)),
        .is_success = result->is_success,
        .output = result->output,
        .tool_calls_json = result->tool_calls_json,
        .message_id = facts->message_id,
        .chat_id = facts->chat_id,
        .pending_json = facts->pending_json,
        .duration_ms = duration_of(facts, result),
    };
    if (result->usage != NULL)
        answer.usage = *result->usage;
    if (answer.state == SMA_RUN_WAITING)
        answer.position = sma_queue_position(store->queue, facts->head.chat_id, answer.seq);
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_result(&answer));
    sma_ctx_answer_to(store->ctx, facts->waiter->asker, facts->waiter->ask_id, &msg);
    facts->is_answered = true;
    return SMA_ERR_OK;
}

static void copy_ids(struct result_facts *facts)
{
    snprintf(facts->event_key, sizeof facts->event_key, "%.*s", (int)facts->message_id.len,
             facts->message_id.len == 0 ? "" : facts->message_id.ptr);
    snprintf(facts->chat, sizeof facts->chat, "%.*s", (int)facts->chat_id.len,
             facts->chat_id.len == 0 ? "" : facts->chat_id.ptr);
    facts->message_id = sma_str(facts->event_key);
    facts->chat_id = sma_str(facts->chat);
}

/* A parked run: what is asked, and how to answer. */
static SMA_CHECKED enum sma_err answer_parked(struct result_facts *facts)
{
    struct sma_store *store = facts->store;
    struct store_approval *approval = sma_store_approval_of_run(store, facts->run_seq);
    struct sma_buf pending, output;
    sma_buf_init(&pending, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&output, SMA_REQUEST_BYTES_MAX);
    struct store_case it;
    enum sma_err err = SMA_ERR_OK;
    if (approval != NULL)
        err = sma_store_case_open(store, approval, &it);
    if (approval != NULL && err == SMA_ERR_OK) {
        sma_store_put_pending(&it, &pending);
        sma_store_case_fini(&it);
        err = sma_store_put_explanation(store, approval, &output);
    }
    if (pending.err == SMA_ERR_OK)
        facts->pending_json = sma_buf_str(&pending);
    enum sma_err answered = answer_with(
        facts, &(struct sma_state_result){.output = output.err == SMA_ERR_OK ? sma_buf_str(&output)
                                                                             : SMA_STR("")});
    sma_buf_fini(&pending);
    sma_buf_fini(&output);
    return answered != SMA_ERR_OK ? answered : err;
}

/* What a message that waits in this chat waits behind; NULL: nobody is asked. */
static const struct store_approval *question_before(struct sma_store *store,
                                                    const struct sma_state_chat *chat)
{
    const struct store_chat *live = chat->user;
    return live == NULL ? NULL : sma_store_approval_of_chat(store, live);
}

static enum sma_err with_message(void *user, const struct sma_state_message *message)
{
    struct result_facts *facts = user;
    struct store_facts stored = {0};
    if (sma_store_facts_get(message->facts, &stored) != SMA_ERR_OK)
        stored =
            (struct store_facts){0}; /* a claim without facts (imported): the rest is still true */
    facts->message_id = message->event_key;
    facts->chat_id = stored.route.chat_id;
    facts->accepted_ms = stored.accepted_ms;
    uint64_t seq =
        message->run_seq != 0 && message->state != SMA_ROW_LINE ? message->run_seq : message->seq;
    if (message->state == SMA_ROW_WAITING && facts->waiter->ends_at_question) {
        const struct store_approval *asked = question_before(facts->store, message->chat);
        seq = asked != NULL ? asked->seq : seq;
        facts->run_seq = asked != NULL ? seq : 0;
    } else if (message->state == SMA_ROW_PARKED) {
        facts->run_seq = seq;
    }
    if (facts->run_seq != 0) { /* what is asked is in other rows: read after this one */
        copy_ids(facts);
        return SMA_ERR_OK;
    }
    if (!sma_row_is_open(message->state)) {
        enum sma_err err = sma_state_result_get(facts->store->state, seq, answer_with, facts);
        if (facts->is_answered || (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND))
            return err;
    }
    bool is_done = message->state == SMA_ROW_DONE || message->state == SMA_ROW_IGNORED;
    return answer_with(facts, &(struct sma_state_result){.seq = seq, .is_success = is_done});
}

static void answer_unknown(struct sma_store *store, const struct store_waiter *waiter)
{
    struct sma_msg *msg =
        sma_store_made(store, sma_msg_make_result(&(struct sma_result){.seq = waiter->seq}));
    sma_ctx_answer_to(store->ctx, waiter->asker, waiter->ask_id, &msg);
}

/* -- who waits --------------------------------------------------------------------------------- */
static bool add_waiter(struct sma_store *store, const struct store_waiter *waiter)
{
    uint32_t index = store->query->waiter_free;
    if (index != 0) {
        store->query->waiter_free = store->query->waiters[index - 1].next;
    } else {
        if (!sma_store_grow(&store->query->waiters, store->query->waiter_count,
                            &store->query->waiter_cap, sizeof *store->query->waiters))
            return false;
        index = ++store->query->waiter_count;
    }
    uintptr_t head = (uintptr_t)sma_store_map_get(&store->query->waiter_heads, waiter->seq);
    store->query->waiters[index - 1] = *waiter;
    store->query->waiters[index - 1].next = (uint32_t)head;
    if (sma_store_map_put(&store->query->waiter_heads, waiter->seq, (void *)(uintptr_t)index))
        return true;
    store->query->waiters[index - 1] = (struct store_waiter){.next = store->query->waiter_free};
    store->query->waiter_free = index;
    return false;
}

void sma_store_answer_all_waiters(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->query->waiter_count; i++)
        if (store->query->waiters[i].seq != 0)
            sma_store_answer_waiters(store, store->query->waiters[i].seq);
}

void sma_store_await(struct sma_store *store, struct sma_msg **msg)
{
    if (!sma_store_grow(&store->query->asked, store->query->asked_count, &store->query->asked_cap,
                        sizeof *store->query->asked)) {
        const struct sma_await *await = SMA_MSG_BODY(*msg, struct sma_await);
        answer_unknown(store, &(struct store_waiter){.seq = await->seq,
                                                     .ask_id = (*msg)->ask_id,
                                                     .asker = (*msg)->from});
        return;
    }
    store->query->asked[store->query->asked_count++] = *msg;
    *msg = NULL;
}

static void answer_waiter(struct sma_store *store, const struct store_waiter *waiter)
{
    struct result_facts facts = {.store = store, .waiter = waiter};
    enum sma_err err = sma_state_head_get(store->state, waiter->seq, &facts.head);
    if (err == SMA_ERR_OK)
        err = sma_state_message_get(store->state, waiter->seq, with_message, &facts);
    if (err == SMA_ERR_OK && facts.run_seq != 0)
        err = answer_parked(&facts);
    if (!facts.is_answered)
        answer_unknown(store, waiter);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        sma_ctx_log(store->ctx, SMA_LOG_ERROR, "the result of message %llu cannot be read: %s",
                    (unsigned long long)waiter->seq, sma_state_error(store->state)->text);
}

/* A question has come before it, and that does not concern this waiter. */
static bool waits_on(struct sma_store *store, const struct store_waiter *waiter)
{
    struct sma_state_head head;
    return !waiter->ends_at_question && !store->is_draining &&
           sma_state_head_get(store->state, waiter->seq, &head) == SMA_ERR_OK &&
           head.state == SMA_ROW_WAITING;
}

void sma_store_answer_waiters(struct sma_store *store, uint64_t seq)
{
    uint32_t index = (uint32_t)(uintptr_t)sma_store_map_get(&store->query->waiter_heads, seq);
    if (index == 0)
        return;
    sma_store_map_remove(&store->query->waiter_heads, seq);
    while (index != 0) {
        struct store_waiter waiter = store->query->waiters[index - 1];
        store->query->waiters[index - 1] = (struct store_waiter){.next = store->query->waiter_free};
        store->query->waiter_free = index;
        index = waiter.next;
        if (!waits_on(store, &waiter) || !add_waiter(store, &waiter))
            answer_waiter(store, &waiter);
    }
}

static void look_at(struct sma_store *store, struct sma_msg *msg)
{
    const struct sma_await *await = SMA_MSG_BODY(msg, struct sma_await);
    struct store_waiter waiter = {.seq = await->seq,
                                  .ask_id = msg->ask_id,
                                  .asker = msg->from,
                                  .ends_at_question = await->ends_at_question};
    struct sma_state_head head;
    if (await->seq == 0 || sma_state_head_get(store->state, await->seq, &head) != SMA_ERR_OK ||
        (await->user_id.len > 0 && !sma_str_is_equal(await->user_id, head.user_id))) {
        answer_unknown(store, &waiter);
        return;
    }
    /* A decided run goes on as soon as there is room for it; one that is not may wait for days. */
    bool is_asking =
        head.state == SMA_ROW_PARKED && sma_store_approval_of_run(store, run_of(&head)) != NULL;
    if (head.state == SMA_ROW_WAITING && await->ends_at_question) {
        const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, head.chat_id);
        is_asking = chat != NULL && question_before(store, chat) != NULL;
    }
    bool stays =
        sma_row_is_open(head.state) && !is_asking && !await->is_peek && !store->is_draining;
    if (!stays || !add_waiter(store, &waiter))
        answer_waiter(store, &waiter);
}

void sma_store_answer_asked(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->query->asked_count; i++) {
        look_at(store, store->query->asked[i]);
        sma_msg_destroy(store->query->asked[i]);
    }
    store->query->asked_count = 0;
}
