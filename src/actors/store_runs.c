/*
 * Which run starts, and what its steps and its end do.
 *
 * A started message is RUNNING in its row by the same transaction that accepts it or that ends the run before it, so
 * that a crash finds it as begun. RUN itself leaves before the commit only for a message that just came in (no effect
 * can follow: the first step is answered by a later commit), otherwise after it.
 */
#include "store_model.h"
#include "store_seen.h"

#include <stdlib.h>

static uint32_t concurrency(const struct sma_store *store)
{
    int wanted = store->config->agent_concurrency;
    return wanted < 1 ? 1 : wanted > SMA_CONCURRENCY_MAX ? SMA_CONCURRENCY_MAX : (uint32_t)wanted;
}

bool sma_store_has_room(const struct sma_store *store)
{
    return !store->is_draining && store->disk_level < 2 && store->suspect_run == NULL &&
           store->retry_ns == 0 && store->deferred_count == 0 &&
           store->runs_open < concurrency(store);
}

bool sma_store_may_start_now(const struct sma_store *store, const struct store_chat *chat)
{
    uint32_t other_chat;
    uint64_t other_seq;
    /* run_count includes runs that end in this very batch: the agent still has them. */
    return sma_store_has_room(store) && store->run_count < concurrency(store) &&
           store->suspect_count == 0 && !store->is_cautious && !chat->has_ending &&
           chat->run == NULL && !sma_queue_is_busy(store->queue, chat->id) &&
           sma_queue_chat_waiting(store->queue, chat->id) == 0 &&
           !sma_queue_peek(store->queue, &other_chat, &other_seq);
}

struct store_run *sma_store_run_find(struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->run_count; i++)
        if (store->runs[i]->seq == seq && !store->runs[i]->is_ending)
            return store->runs[i];
    return NULL;
}

static SMA_CHECKED enum sma_err add_run(struct sma_store *store, struct store_chat *chat,
                                        uint64_t seq, struct store_run **ret_run)
{
    SMA_ASSERT(store->run_count < SMA_COUNT_OF(store->runs));
    struct store_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return SMA_ERR_NOMEM;
    run->seq = seq;
    run->chat = chat;
    run->started_ns = sma_ctx_now(store->ctx);
    run->stamps.run_ns = run->started_ns;
    chat->run = run;
    store->runs[store->run_count++] = run;
    store->runs_open++;
    store->has_run_change = true;
    *ret_run = run;
    return SMA_ERR_OK;
}

/* Another open run of the same chat; only after two chats became one. */
static struct store_run *find_twin(struct sma_store *store, const struct store_run *run)
{
    for (uint32_t i = 0; i < store->run_count; i++)
        if (store->runs[i] != run && store->runs[i]->chat == run->chat &&
            !store->runs[i]->is_ending)
            return store->runs[i];
    run->chat->has_twins = false;
    return NULL;
}

void sma_store_run_end(struct sma_store *store, struct store_run *run)
{
    SMA_ASSERT(!run->is_ending && run->chat->run != NULL);
    run->is_ending = true;
    run->chat->run = run->chat->has_twins ? find_twin(store, run) : NULL;
    run->chat->has_ending = true;
    store->runs_open--;
    store->has_run_change = true;
    if (store->suspect_run == run)
        store->suspect_run = NULL;
    if (run->chat->run == NULL)
        sma_queue_finish(store->queue, run->chat->id);
}

/* -- starting --------------------------------------------------------------------------------------------------- */
void sma_store_start_now(struct sma_store *store, struct store_chat *chat,
                         const struct sma_ingress *ingress, uint64_t seq)
{
    struct store_run *run;
    if (sma_queue_hold(store->queue, chat->id) != SMA_ERR_OK ||
        add_run(store, chat, seq, &run) != SMA_ERR_OK)
        sma_ctx_fatal(store->ctx, "out of memory");
    run->stamps = ingress->stamps;
    run->stamps.run_ns = run->started_ns;
    run->is_sent = true;
    struct sma_msg *msg = sma_store_order_from_ingress(store, run, ingress);
    SMA_METRIC_ADD(runs_started_total, 1);
    sma_store_send_now(store, SMA_ACTOR_AGENT, &msg);
}

static bool is_suspect(const struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->suspect_count; i++)
        if (store->suspects[i] == seq)
            return true;
    return false;
}

void sma_store_forget_suspect(struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->suspect_count; i++) {
        if (store->suspects[i] != seq)
            continue;
        store->suspects[i] = store->suspects[--store->suspect_count];
        return;
    }
}

enum sma_err sma_store_add_orphan(struct sma_store *store, uint64_t run_seq, uint64_t seq)
{
    if (!sma_store_grow(&store->orphans, store->orphan_count, &store->orphan_cap,
                        sizeof *store->orphans))
        return SMA_ERR_NOMEM;
    store->orphans[store->orphan_count++] = (struct store_orphan){.run_seq = run_seq, .seq = seq};
    return SMA_ERR_OK;
}

uint32_t sma_store_count_orphans(const struct sma_store *store, uint64_t run_seq)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->orphan_count; i++)
        count += store->orphans[i].run_seq == run_seq;
    return count;
}

bool sma_store_take_orphan(struct sma_store *store, uint64_t run_seq, uint64_t *ret_seq)
{
    for (uint32_t i = 0; i < store->orphan_count; i++) {
        struct store_orphan *orphan = &store->orphans[i];
        if (orphan->run_seq != run_seq)
            continue;
        *ret_seq = orphan->seq;
        memmove(orphan, orphan + 1, (--store->orphan_count - i) * sizeof *orphan);
        return true;
    }
    return false;
}

static void adopt_orphans(struct sma_store *store, struct store_run *run)
{
    uint64_t seq;
    while (run->collected_count < STORE_COLLECT_COUNT_MAX &&
           sma_store_take_orphan(store, run->seq, &seq))
        run->collected[run->collected_count++] = seq;
}

static int compare_seqs(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static bool may_collect_more(const struct sma_store *store, const struct store_run *run)
{
    uint64_t next;
    return store->config->queue_is_collect && sma_queue_first(store->queue, run->chat->id, &next) &&
           run->collected_count + 1 + sma_store_count_orphans(store, next) <=
               STORE_COLLECT_COUNT_MAX;
}

/* Everything that one run answers: the pieces of an album, which its first one names; with queue.mode collect all that
 * waits for the chat, which the newest message names. */
static SMA_CHECKED enum sma_err collect(struct sma_store *store, struct store_run *run)
{
    uint64_t seq;
    adopt_orphans(store, run);
    sma_store_release(store, run->seq);
    while (may_collect_more(store, run) && sma_queue_take_more(store->queue, run->chat->id, &seq)) {
        run->collected[run->collected_count++] = run->seq;
        run->seq = seq;
        adopt_orphans(store, run);
        sma_store_release(store, seq);
    }
    if (run->collected_count > 1)
        qsort(run->collected, run->collected_count, sizeof *run->collected, compare_seqs);
    for (uint32_t i = 0; i < run->collected_count; i++) {
        enum sma_err err =
            sma_state_set_run(store->state, run->collected[i], SMA_ROW_RUNNING, run->seq);
        if (err != SMA_ERR_OK)
            return err;
    }
    return sma_state_set_row_state(store->state, run->seq, SMA_ROW_RUNNING);
}

struct given_up_route
{
    struct sma_store *store;
    uint64_t seq;
};

static enum sma_err tell_given_up(void *user, const struct sma_state_message *message)
{
    struct given_up_route *told = user;
    struct sma_store *store = told->store;
    struct store_facts facts;
    enum sma_err err = sma_store_facts_get(message->facts, &facts);
    if (err != SMA_ERR_OK)
        return err;
    facts.route.chat_key = message->chat->key;
    sma_buf_clear(&store->text_buf);
    sma_notice_format(&store->text_buf, sma_store_language(store, &facts.route),
                      SMA_NOTICE_GIVEN_UP);
    struct sma_step_delivery delivery = {.call = STORE_GIVEN_UP_CALL,
                                         .intent = SMA_INTENT_NOTICE,
                                         .route = facts.route,
                                         .text = sma_buf_str(&store->text_buf)};
    struct sma_step_delivery_state state;
    return sma_store_deliver(
        store, &(struct store_delivery_facts){.seq = told->seq, .step = STORE_NOTICE_STEP},
        &delivery, &state);
}

static SMA_CHECKED enum sma_err finish_all(struct sma_store *store, struct store_run *run,
                                           struct sma_state_finish *finish)
{
    finish->wall_ms = sma_ctx_wall(store->ctx);
    finish->usage = &run->usage;
    enum sma_err err = sma_state_finish(store->state, finish);
    if (err != SMA_ERR_OK)
        return err;
    sma_store_note_finished(store, run->seq);
    finish->turn = finish->tool_calls_json = finish->output = finish->trace = SMA_STR("");
    finish->usage = NULL;
    for (uint32_t i = 0; i < run->collected_count; i++) {
        finish->seq = run->collected[i];
        err = sma_state_finish(store->state, finish);
        if (err != SMA_ERR_OK)
            return err;
        sma_store_note_finished(store, run->collected[i]);
    }
    sma_store_forget_suspect(store, run->seq);
    sma_store_run_end(store, run);
    run->end = (uint8_t)(STORE_END_OK + finish->outcome);
    SMA_METRIC_ADD(runs_done_total, 1);
    if (finish->outcome != SMA_OUTCOME_OK && finish->outcome != SMA_OUTCOME_CANCELLED)
        SMA_METRIC_ADD(runs_failed_total, 1);
    return SMA_ERR_OK;
}

/* -- the stored result ------------------------------------------------------------------------------------------ */
struct sent_texts
{
    struct sma_buf *buf;
    const struct sma_state_chat *chat;
    bool is_any;
};

static enum sma_err add_sent_text(void *user, const struct sma_state_delivery *delivery)
{
    struct sent_texts *sent = user;
    bool is_text = delivery->intent != SMA_INTENT_APPROVAL_REQUEST &&
                   delivery->intent != SMA_INTENT_APPROVAL_OUTCOME &&
                   delivery->intent != SMA_INTENT_REACTION;
    if (!is_text || delivery->chat != sent->chat || delivery->state == SMA_DELIVERY_FAILED ||
        sma_state_outbox_step(delivery->outbox_id) == STORE_NOTICE_STEP)
        return SMA_ERR_OK;
    if (sent->is_any)
        sma_buf_put_text(sent->buf, "\n\n");
    sma_buf_put_str(sent->buf, delivery->text);
    sent->is_any = true;
    return sent->buf->err;
}

/* What the run has sent to its own chat, or will, into text_buf; otherwise its final text. */
static SMA_CHECKED enum sma_err collect_output(struct sma_store *store, struct store_run *run,
                                               struct sma_str otherwise, struct sent_texts *sent)
{
    sma_buf_clear(&store->text_buf);
    *sent = (struct sent_texts){.buf = &store->text_buf, .chat = run->chat->state};
    enum sma_err err = sma_state_each_delivery(store->state, run->seq, add_sent_text, sent);
    if (err == SMA_ERR_OK && !sent->is_any)
        sma_buf_put_str(&store->text_buf, otherwise);
    return err == SMA_ERR_OK ? store->text_buf.err : err;
}

/* The run is not handed out: too many attempts, or its row cannot be read. */
static SMA_CHECKED enum sma_err give_up(struct sma_store *store, struct store_run *run,
                                        const char *why)
{
    sma_ctx_log(store->ctx, SMA_LOG_ERROR, "message %llu of %s is given up: %s",
                (unsigned long long)run->seq, run->chat->key, why);
    sma_store_note_error(store, why);
    SMA_METRIC_ADD(runs_given_up_total, 1);
    struct given_up_route told = {.store = store, .seq = run->seq};
    /* Who has the answer already is not told to send the message again. */
    struct sent_texts sent;
    enum sma_err err = collect_output(store, run, SMA_STR(""), &sent);
    if (err == SMA_ERR_OK && !sent.is_any)
        err = sma_state_message_get(store->state, run->seq, tell_given_up, &told);
    if (err != SMA_ERR_OK && err != SMA_ERR_CORRUPT && err != SMA_ERR_NOTFOUND)
        return err;
    struct sma_state_finish finish = {.seq = run->seq,
                                      .state = SMA_ROW_GIVEN_UP,
                                      .outcome = SMA_OUTCOME_GIVEN_UP,
                                      .output = sma_buf_str(&store->text_buf)};
    return finish_all(store, run, &finish);
}

/* Begun before this start of the program. A suspect's attempt is written down before it is made. */
static SMA_CHECKED enum sma_err prepare_resumed(struct sma_store *store, struct store_run *run,
                                                const struct sma_state_head *head,
                                                uint32_t *ret_attempt)
{
    adopt_orphans(store, run);
    SMA_METRIC_ADD(runs_resumed_total, 1);
    *ret_attempt = 1;
    enum sma_err err = sma_state_step_last(store->state, run->seq, &run->last_step);
    if (err != SMA_ERR_OK)
        return err;
    run->last_step_durable = run->last_step;
    err = sma_state_steps_usage(store->state, run->seq, &run->usage);
    if (err != SMA_ERR_OK)
        return err;
    run->usage_durable = run->usage;
    if (!is_suspect(store, run->seq))
        return SMA_ERR_OK;
    /* No attempt is on record in the first life of a run: it counts unless it made a step. */
    uint32_t before = head->attempt == 0 && run->last_step == 0 ? 1 : head->attempt;
    *ret_attempt = before + 1;
    run->is_suspect = true;
    return sma_state_set_attempt(store->state, run->seq, *ret_attempt);
}

/* What was approved counts as started from this commit on: it is never carried out twice. */
static SMA_CHECKED enum sma_err unpark(struct sma_store *store, const struct store_run *run)
{
    enum sma_err err = sma_store_end_wait(store, run->seq);
    if (err == SMA_ERR_OK)
        err = sma_state_set_row_state(store->state, run->seq, SMA_ROW_RUNNING);
    for (uint32_t i = 0; i < run->collected_count && err == SMA_ERR_OK; i++)
        err = sma_state_set_run(store->state, run->collected[i], SMA_ROW_RUNNING, run->seq);
    return err;
}

static SMA_CHECKED enum sma_err start_queued(struct sma_store *store, uint32_t chat_id)
{
    struct sma_state_chat *state_chat = sma_state_chat_by_id(store->state, chat_id);
    SMA_ASSERT(state_chat != NULL);
    struct store_chat *chat = sma_store_chat(store, state_chat);
    uint64_t seq;
    struct store_run *run;
    struct sma_state_head head;
    if (chat == NULL || !sma_queue_start(store->queue, chat_id, &seq))
        return SMA_ERR_NOMEM;
    enum sma_err err = add_run(store, chat, seq, &run);
    if (err == SMA_ERR_OK)
        err = sma_state_head_get(store->state, seq, &head);
    if (err != SMA_ERR_OK)
        return err;
    struct store_order order = {.run = run,
                                .attempt = 1,
                                .is_resumed = head.state != SMA_ROW_WAITING,
                                .is_decided = head.state == SMA_ROW_PARKED &&
                                              !sma_store_is_waiting_run(store, seq)};
    err =
        order.is_resumed ? prepare_resumed(store, run, &head, &order.attempt) : collect(store, run);
    if (err == SMA_ERR_OK && head.state == SMA_ROW_PARKED)
        err = unpark(store, run);
    if (err != SMA_ERR_OK)
        return err;
    if (order.attempt > SMA_RUN_ATTEMPT_COUNT_MAX)
        return give_up(store, run, "interrupted three times without a step");

    struct sma_msg *msg;
    err = sma_store_order_from_rows(store, &order, &msg);
    if (err == SMA_ERR_CORRUPT || err == SMA_ERR_NOTFOUND)
        return sma_state_is_fatal(store->state) ? err
                                                : give_up(store, run, "its row cannot be read");
    if (err != SMA_ERR_OK)
        return err;
    if (run->is_suspect)
        store->suspect_run = run;
    SMA_METRIC_ADD(runs_started_total, 1);
    sma_store_send_later(store, SMA_ACTOR_AGENT, &msg);
    return SMA_ERR_OK;
}

enum sma_err sma_store_pump_runs(struct sma_store *store)
{
    uint32_t chat_id;
    uint64_t seq;
    while (sma_store_has_room(store) && store->run_count < SMA_COUNT_OF(store->runs) &&
           sma_queue_peek(store->queue, &chat_id, &seq)) {
        enum sma_err err = sma_store_begin(store);
        if (err == SMA_ERR_OK)
            err = start_queued(store, chat_id);
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

/* -- after the commit or its failure ---------------------------------------------------------------------------- */
static void take_back(struct sma_store *store, const struct store_run *run)
{
    struct sma_msg *msg =
        STORE_MSG(store, CONTROL, struct sma_control_order, run->chat->key_len + 1);
    struct sma_control_order *order = SMA_MSG_BODY(msg, struct sma_control_order);
    order->control = SMA_CONTROL_STOP;
    order->mark_seq = run->seq + 1;
    order->chat_key = sma_msg_dup(msg, sma_store_chat_key(run->chat));
    sma_store_send_now(store, SMA_ACTOR_AGENT, &msg);
}

/* @return whether the run stays */
static bool settle_run(struct sma_store *store, struct store_run *run, bool is_undone)
{
    if (!is_undone) {
        run->is_committed = run->is_sent = true;
        run->last_step_durable = run->last_step;
        run->usage_durable = run->usage;
        if (run->is_ending) {
            run->chat->has_ending = false;
            sma_store_log_end(store, run);
        }
        return !run->is_ending;
    }
    if (run->is_committed) {
        run->last_step = run->last_step_durable;
        run->usage = run->usage_durable;
        if (run->is_ending) {
            run->is_ending = false;
            run->chat->has_ending = false;
            run->chat->has_twins = run->chat->run != NULL || run->chat->has_twins;
            run->chat->run = run;
            store->runs_open++;
            if (run->is_suspect)
                store->suspect_run = run;
        }
        return true;
    }
    if (run->is_sent)
        take_back(store, run);
    if (run->is_ending)
        run->chat->has_ending = false;
    else
        store->runs_open--;
    if (run->chat->run == run)
        run->chat->run = NULL;
    if (store->suspect_run == run)
        store->suspect_run = NULL;
    return false;
}

void sma_store_settle_runs(struct sma_store *store, bool is_undone)
{
    if (!store->has_run_change)
        return;
    store->has_run_change = false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < store->run_count; i++) {
        struct store_run *run = store->runs[i];
        if (settle_run(store, run, is_undone))
            store->runs[kept++] = run;
        else
            free(run);
    }
    store->run_count = kept;
}

/* A piece of an album waits for the message that leads it, a command for the role of its author. */
static SMA_CHECKED enum sma_err queue_waiting(struct sma_store *store,
                                              const struct sma_state_message *message)
{
    bool is_held;
    enum sma_err err = sma_store_hold_again(store, message, &is_held);
    if (err != SMA_ERR_OK || message->kind != SMA_EVENT_MESSAGE)
        return err;
    if (message->run_seq != 0)
        return sma_store_add_orphan(store, message->run_seq, message->seq);
    return is_held ? sma_queue_push_held(store->queue, message->chat->id, message->seq)
                   : sma_queue_push_accepted(store->queue, message->chat->id, message->seq);
}

static enum sma_err queue_row(void *user, const struct sma_state_message *message)
{
    struct sma_store *store = user;
    uint32_t chat = message->chat->id;
    bool is_parked = message->state == SMA_ROW_PARKED;
    if (is_parked && message->run_seq == 0 &&
        (sma_store_is_waiting_run(store, message->seq) ||
         sma_store_approval_of_run(store, message->seq) != NULL))
        return sma_queue_hold(store->queue, chat);
    if (sma_store_run_find(store, message->seq) != NULL)
        return sma_queue_hold(store->queue, chat);
    if (message->state == SMA_ROW_WAITING)
        return queue_waiting(store, message);
    if (message->run_seq != 0 && sma_store_run_find(store, message->run_seq) != NULL)
        return SMA_ERR_OK;
    if (message->run_seq == 0)
        return sma_queue_push_resumed(store->queue, chat, message->seq);
    return sma_store_add_orphan(store, message->run_seq, message->seq);
}

enum sma_err sma_store_load_queue(struct sma_store *store)
{
    sma_queue_clear(store->queue);
    store->orphan_count = 0;
    enum sma_err err = sma_store_load_approvals(store);
    if (err == SMA_ERR_OK)
        err = sma_store_load_waits(store);
    if (err == SMA_ERR_OK)
        err = sma_state_each_open(store->state, queue_row, store);
    sma_store_drop_lost_questions(store);
    return err;
}

void sma_store_publish_runs(struct sma_store *store)
{
    SMA_METRIC_SET(inbox_waiting, sma_queue_waiting(store->queue));
    SMA_METRIC_SET(runs_open, store->runs_open);
    SMA_METRIC_SET(runs_waiting_for_model, store->wait_count);
    SMA_METRIC_SET(outbox_open, store->outbox_open);
    SMA_METRIC_SET(claims, (int64_t)sma_state_claim_count(store->state));
}

/* -- STEP and DONE ---------------------------------------------------------------------------------------------- */
static struct sma_msg *make_answer(struct sma_store *store, unsigned kind, uint64_t seq,
                                   uint32_t number, uint32_t delivery_count)
{
    struct sma_msg *answer =
        sma_store_msg(store, kind, sizeof(struct sma_step_done),
                      delivery_count * sizeof(struct sma_step_delivery_state) + 16);
    struct sma_step_done *done = SMA_MSG_BODY(answer, struct sma_step_done);
    done->seq = seq;
    done->number = number;
    done->verdict = SMA_STEP_DURABLE;
    done->delivery_count = delivery_count;
    done->deliveries = sma_msg_space(answer, delivery_count * sizeof *done->deliveries);
    return answer;
}

static void answer_verdict(struct sma_store *store, const struct sma_msg *question, unsigned kind,
                           uint64_t seq, enum sma_step_verdict verdict)
{
    struct sma_msg *answer = make_answer(store, kind, seq, 0, 0);
    SMA_MSG_BODY(answer, struct sma_step_done)->verdict = (uint8_t)verdict;
    /* NO_DISK depends on no transaction; STOPPED may be the doing of the open one. */
    if (verdict == SMA_STEP_NO_DISK)
        sma_ctx_answer(store->ctx, question, &answer);
    else
        sma_store_answer_later(store, question, &answer, 0);
}

static SMA_CHECKED enum sma_err deliver_all(struct sma_store *store, struct store_run *run,
                                            uint32_t step,
                                            const struct sma_step_delivery *deliveries,
                                            struct sma_step_done *done)
{
    bool is_step = step != 0 && done->number != 0;
    for (uint32_t i = 0; i < done->delivery_count; i++) {
        struct store_delivery_facts facts = {
            .seq = run->seq, .step = step, .has_waiter = is_step, .stamps = &run->stamps};
        enum sma_err err = sma_store_deliver(store, &facts, &deliveries[i], &done->deliveries[i]);
        if (err != SMA_ERR_OK)
            return err;
        run->delivery_count++;
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err clear_suspicion(struct sma_store *store, struct store_run *run)
{
    enum sma_err err = sma_state_set_attempt(store->state, run->seq, 0);
    if (err == SMA_ERR_OK) {
        run->is_suspect = false;
        store->suspect_run = NULL;
        sma_store_forget_suspect(store, run->seq);
    }
    return err;
}

static SMA_CHECKED enum sma_err write_step(struct sma_store *store, struct store_run *run,
                                           const struct sma_step *step, struct sma_step_done *done)
{
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_step_add_used(store->state, &(struct sma_state_step){.seq = run->seq,
                                                                             .number = step->number,
                                                                             .kind = step->kind,
                                                                             .data = step->data,
                                                                             .usage = &step->usage,
                                                                             .trace = step->trace});
    if (err == SMA_ERR_EXISTS) {
        err = SMA_ERR_OK; /* asked again: answered as stored */
    } else if (err == SMA_ERR_OK) {
        SMA_METRIC_ADD(steps_total, 1);
        run->last_step = step->number;
        store->has_run_change = true;
        err = sma_store_count_usage(store, run, &step->usage, step->target);
    }
    if (err == SMA_ERR_OK)
        err = deliver_all(store, run, step->number, step->deliveries, done);
    if (err == SMA_ERR_OK && run->is_suspect)
        err = clear_suspicion(store, run);
    bool waits = step->kind == SMA_STEP_WAIT && step->wait_ms > 0;
    if (err == SMA_ERR_OK && waits) {
        done->verdict = SMA_STEP_PARKED;
        return sma_store_wait_for_model(store, run, step);
    }
    if (err != SMA_ERR_OK || step->request_json.len == 0)
        return err;
    done->verdict = SMA_STEP_PARKED;
    err = sma_store_park(store, run, step);
    if (err != SMA_ERR_BADINPUT)
        return err;
    /* Nobody can be asked, and nothing of it may be done without. */
    done->verdict = SMA_STEP_STOPPED;
    return give_up(store, run, "its request for consent cannot be read");
}

void sma_store_step(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_step *step = SMA_MSG_BODY(*msg, struct sma_step);
    struct store_run *run = sma_store_run_find(store, step->seq);
    if (run == NULL) {
        answer_verdict(store, *msg, SMA_MSG_STEP_DONE, step->seq, SMA_STEP_STOPPED);
        return;
    }
    sma_store_check_disk(store);
    /* The one before it was refused while it was on its way: it comes again behind that one. */
    bool is_ahead = step->number > run->last_step + 1;
    if (store->disk_level >= 2 || is_ahead) {
        answer_verdict(store, *msg, SMA_MSG_STEP_DONE, step->seq, SMA_STEP_NO_DISK);
        return;
    }
    struct sma_msg *answer =
        make_answer(store, SMA_MSG_STEP_DONE, step->seq, step->number, step->delivery_count);
    enum sma_err err = write_step(store, run, step, SMA_MSG_BODY(answer, struct sma_step_done));
    if (err == SMA_ERR_OK) {
        store->has_step = true;
        sma_store_answer_later(store, *msg, &answer, 0);
        return;
    }
    sma_msg_destroy(answer);
    sma_store_fail_batch(store, err);
    answer_verdict(store, *msg, SMA_MSG_STEP_DONE, step->seq, SMA_STEP_NO_DISK);
}

struct run_message
{
    struct sma_store *store;
    const struct sma_done *done;
    struct sma_str *message_id;
    bool wants_line;
};

/* Channel api: a result that nobody "sent" is written to the history like an answer (reference §4.3). */
static SMA_CHECKED enum sma_err write_result_line(struct run_message *wanted,
                                                  const struct sma_state_message *message,
                                                  const struct store_facts *facts)
{
    struct sma_store *store = wanted->store;
    bool is_success = wanted->done->outcome == SMA_OUTCOME_OK;
    struct store_chat *chat = sma_store_chat(store, message->chat);
    return sma_store_add_line(store, chat,
                              &(struct sma_history_entry){
                                  .wall_ms = sma_ctx_wall(store->ctx),
                                  .channel = facts->route.channel,
                                  .chat_id = facts->route.chat_id,
                                  .chat_key = message->chat->key,
                                  .user_id = SMA_STR("bot"),
                                  .message_id = message->event_key,
                                  .role = SMA_STR("assistant"),
                                  .text = sma_buf_str(&store->text_buf),
                                  .meta_json = is_success ? SMA_STR("{\"success\":true}")
                                                          : SMA_STR("{\"success\":false}"),
                              },
                              message->seq);
}

static enum sma_err look_at_message(void *user, const struct sma_state_message *message)
{
    struct run_message *wanted = user;
    sma_buf_clear(&wanted->store->facts_buf);
    sma_buf_put_str(&wanted->store->facts_buf, message->event_key);
    *wanted->message_id = sma_buf_str(&wanted->store->facts_buf);
    if (!wanted->wants_line)
        return wanted->store->facts_buf.err;
    struct store_facts facts;
    enum sma_err err = sma_store_facts_get(message->facts, &facts);
    int adapter = err == SMA_ERR_OK ? sma_store_adapter_of(wanted->store, &facts.route) : -1;
    if (adapter < 0 ||
        !wanted->store->adapters[adapter].adapter->ops->capabilities.is_stored_delivery)
        return wanted->store->facts_buf.err;
    return write_result_line(wanted, message, &facts);
}

static enum sma_row_state row_state_of(uint8_t outcome)
{
    switch (outcome) {
    case SMA_OUTCOME_OK:
        return SMA_ROW_DONE;
    case SMA_OUTCOME_CANCELLED:
        return SMA_ROW_CANCELLED;
    case SMA_OUTCOME_GIVEN_UP:
        return SMA_ROW_GIVEN_UP;
    default:
        return SMA_ROW_FAILED;
    }
}

static SMA_CHECKED enum sma_err write_done(struct sma_store *store, struct store_run *run,
                                           const struct sma_done *done,
                                           struct sma_step_done *answer)
{
    uint32_t last = 0;
    struct sent_texts sent;
    struct sma_str message_id = {NULL, 0};
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK && done->delivery_count > 0)
        err = sma_state_step_last(store->state, run->seq, &last);
    if (err == SMA_ERR_OK)
        err = deliver_all(store, run, last + 1, done->deliveries, answer);
    if (err == SMA_ERR_OK)
        err = sma_store_count_usage(store, run, &done->usage, done->target);
    if (err == SMA_ERR_OK)
        err = collect_output(store, run, done->output, &sent);
    if (err != SMA_ERR_OK)
        return err;
    struct run_message wanted = {.store = store,
                                 .done = done,
                                 .message_id = &message_id,
                                 .wants_line = !sent.is_any && store->text_buf.len > 0};
    err = sma_state_message_get(store->state, run->seq, look_at_message, &wanted);
    if (err != SMA_ERR_OK)
        return err;
    return finish_all(store, run,
                      &(struct sma_state_finish){.seq = run->seq,
                                                 .state = row_state_of(done->outcome),
                                                 .outcome = done->outcome,
                                                 .is_success = done->outcome == SMA_OUTCOME_OK,
                                                 .output = sma_buf_str(&store->text_buf),
                                                 .tool_calls_json = done->tool_calls_json,
                                                 .wire = done->wire,
                                                 .turn = done->turn,
                                                 .message_id = message_id,
                                                 .trace = done->trace});
}

void sma_store_done(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_done *done = SMA_MSG_BODY(*msg, struct sma_done);
    struct store_run *run = sma_store_run_find(store, done->seq);
    if (run == NULL) {
        sma_store_keep_late_turn(store, done);
        answer_verdict(store, *msg, SMA_MSG_DONE_DONE, done->seq, SMA_STEP_STOPPED);
        return;
    }
    sma_store_check_disk(store);
    if (store->disk_level >= 2 && done->delivery_count > 0) {
        answer_verdict(store, *msg, SMA_MSG_DONE_DONE, done->seq, SMA_STEP_NO_DISK);
        return;
    }
    uint64_t started_ns = run->started_ns;
    struct sma_msg *answer =
        make_answer(store, SMA_MSG_DONE_DONE, done->seq, 0, done->delivery_count);
    enum sma_err err = write_done(store, run, done, SMA_MSG_BODY(answer, struct sma_step_done));
    if (err == SMA_ERR_OK) {
        store->has_done = true;
        store->done_count++;
        SMA_METRIC_TIME(run_total, sma_ctx_now(store->ctx) - started_ns);
        sma_store_answer_later(store, *msg, &answer, 0);
        return;
    }
    sma_msg_destroy(answer);
    sma_store_fail_batch(store, err);
    answer_verdict(store, *msg, SMA_MSG_DONE_DONE, done->seq, SMA_STEP_NO_DISK);
}
