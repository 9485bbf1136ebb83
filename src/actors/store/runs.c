/*
 * Which run starts, and what its steps and its end do.
 *
 * A started message is RUNNING in its row by the same transaction that accepts it or that ends the run before it, so
 * that a crash finds it as begun. RUN itself leaves before the commit only for a message that just came in (no effect
 * can follow: the first step is answered by a later commit), otherwise after it.
 */
#include "runs.h"
#include "consent.h"
#include "facts.h"
#include "intake.h"
#include "item.h"
#include "outbox.h"
#include "runs_priv.h"
#include "store.h"
#include "trouble.h"

#include "runtime/chat/state_read.h"

#include <stdlib.h>

static uint32_t concurrency(const struct sma_store *store)
{
    int wanted = store->config->agent_concurrency;
    return wanted < 1 ? 1 : wanted > SMA_CONCURRENCY_MAX ? SMA_CONCURRENCY_MAX : (uint32_t)wanted;
}

bool sma_store_has_room(const struct sma_store *store)
{
    return sma_store_may_write(store) && store->runs->suspect_run == NULL &&
           sma_store_deferred_count(store) == 0 && store->runs->open_count < concurrency(store);
}

bool sma_store_may_start_now(const struct sma_store *store, const struct store_chat *chat)
{
    uint32_t other_chat;
    uint64_t other_seq;
    /* run_count includes runs that end in this very batch: the agent still has them. */
    return sma_store_has_room(store) && store->runs->count < concurrency(store) &&
           store->runs->suspect_count == 0 && !store->runs->is_cautious && !chat->has_ending &&
           chat->run == NULL && !sma_queue_is_busy(store->queue, chat->id) &&
           sma_queue_chat_waiting(store->queue, chat->id) == 0 &&
           !sma_queue_peek(store->queue, &other_chat, &other_seq);
}

struct store_run *sma_store_run_find(struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->runs->count; i++)
        if (store->runs->entries[i]->seq == seq && !store->runs->entries[i]->is_ending)
            return store->runs->entries[i];
    return NULL;
}

static SMA_CHECKED enum sma_err add_run(struct sma_store *store, struct store_chat *chat,
                                        uint64_t seq, struct store_run **ret_run)
{
    SMA_ASSERT(store->runs->count < SMA_COUNT_OF(store->runs->entries));
    struct store_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return SMA_ERR_NOMEM;
    run->seq = seq;
    run->chat = chat;
    run->started_ns = sma_ctx_now(store->ctx);
    run->stamps.run_ns = run->started_ns;
    chat->run = run;
    store->runs->entries[store->runs->count++] = run;
    store->runs->open_count++;
    store->runs->has_run_change = true;
    *ret_run = run;
    return SMA_ERR_OK;
}

/* Another open run of the same chat; only after two chats became one. */
static struct store_run *find_twin(struct sma_store *store, const struct store_run *run)
{
    for (uint32_t i = 0; i < store->runs->count; i++)
        if (store->runs->entries[i] != run && store->runs->entries[i]->chat == run->chat &&
            !store->runs->entries[i]->is_ending)
            return store->runs->entries[i];
    run->chat->has_twins = false;
    return NULL;
}

void sma_store_run_end(struct sma_store *store, struct store_run *run)
{
    SMA_ASSERT(!run->is_ending && run->chat->run != NULL);
    run->is_ending = true;
    run->chat->run = run->chat->has_twins ? find_twin(store, run) : NULL;
    run->chat->has_ending = true;
    store->runs->open_count--;
    store->runs->has_run_change = true;
    if (store->runs->suspect_run == run)
        store->runs->suspect_run = NULL;
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
    for (uint32_t i = 0; i < store->runs->suspect_count; i++)
        if (store->runs->suspects[i] == seq)
            return true;
    return false;
}

void sma_store_forget_suspect(struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->runs->suspect_count; i++) {
        if (store->runs->suspects[i] != seq)
            continue;
        store->runs->suspects[i] = store->runs->suspects[--store->runs->suspect_count];
        return;
    }
}

enum sma_err sma_store_add_orphan(struct sma_store *store, uint64_t run_seq, uint64_t seq)
{
    if (!sma_store_grow(&store->runs->orphans, store->runs->orphan_count, &store->runs->orphan_cap,
                        sizeof *store->runs->orphans))
        return SMA_ERR_NOMEM;
    store->runs->orphans[store->runs->orphan_count++] =
        (struct store_orphan){.run_seq = run_seq, .seq = seq};
    return SMA_ERR_OK;
}

uint32_t sma_store_count_orphans(const struct sma_store *store, uint64_t run_seq)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->runs->orphan_count; i++)
        count += store->runs->orphans[i].run_seq == run_seq;
    return count;
}

void sma_store_note_asks(struct store_run *run)
{
    run->end = STORE_END_ASKS;
}

bool sma_store_next_orphan(const struct sma_store *store, uint64_t run_seq, uint32_t *place,
                           uint64_t *ret_seq)
{
    const struct store_runs *runs = store->runs;
    while (*place < runs->orphan_count) {
        const struct store_orphan *orphan = &runs->orphans[(*place)++];
        if (orphan->run_seq != run_seq)
            continue;
        *ret_seq = orphan->seq;
        return true;
    }
    return false;
}

bool sma_store_take_orphan(struct sma_store *store, uint64_t run_seq, uint64_t *ret_seq)
{
    for (uint32_t i = 0; i < store->runs->orphan_count; i++) {
        struct store_orphan *orphan = &store->runs->orphans[i];
        if (orphan->run_seq != run_seq)
            continue;
        *ret_seq = orphan->seq;
        memmove(orphan, orphan + 1, (--store->runs->orphan_count - i) * sizeof *orphan);
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

enum sma_err sma_store_finish_run(struct sma_store *store, struct store_run *run,
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

static enum sma_err add_sent_text(void *user, const struct sma_state_delivery *delivery)
{
    struct store_sent_texts *sent = user;
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
enum sma_err sma_store_collect_output(struct sma_store *store, struct store_run *run,
                                      struct sma_str otherwise, struct store_sent_texts *sent)
{
    sma_buf_clear(&store->text_buf);
    *sent = (struct store_sent_texts){.buf = &store->text_buf, .chat = run->chat->state};
    enum sma_err err = sma_state_each_delivery(store->state, run->seq, add_sent_text, sent);
    if (err == SMA_ERR_OK && !sent->is_any)
        sma_buf_put_str(&store->text_buf, otherwise);
    return err == SMA_ERR_OK ? store->text_buf.err : err;
}

/* The run is not handed out: too many attempts, or its row cannot be read. */
enum sma_err sma_store_give_up_run(struct sma_store *store, struct store_run *run, const char *why)
{
    sma_ctx_log(store->ctx, SMA_LOG_ERROR, "message %llu of %s is given up: %s",
                (unsigned long long)run->seq, run->chat->key, why);
    sma_store_note_error(store, why);
    SMA_METRIC_ADD(runs_given_up_total, 1);
    struct given_up_route told = {.store = store, .seq = run->seq};
    /* Who has the answer already is not told to send the message again. */
    struct store_sent_texts sent;
    enum sma_err err = sma_store_collect_output(store, run, SMA_STR(""), &sent);
    if (err == SMA_ERR_OK && !sent.is_any)
        err = sma_state_message_get(store->state, run->seq, tell_given_up, &told);
    if (err != SMA_ERR_OK && err != SMA_ERR_CORRUPT && err != SMA_ERR_NOTFOUND)
        return err;
    struct sma_state_finish finish = {.seq = run->seq,
                                      .state = SMA_ROW_GIVEN_UP,
                                      .outcome = SMA_OUTCOME_GIVEN_UP,
                                      .output = sma_buf_str(&store->text_buf)};
    return sma_store_finish_run(store, run, &finish);
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
        return sma_store_give_up_run(store, run, "interrupted three times without a step");

    struct sma_msg *msg;
    err = sma_store_order_from_rows(store, &order, &msg);
    if (err == SMA_ERR_CORRUPT || err == SMA_ERR_NOTFOUND)
        return sma_state_is_fatal(store->state)
                   ? err
                   : sma_store_give_up_run(store, run, "its row cannot be read");
    if (err != SMA_ERR_OK)
        return err;
    if (run->is_suspect)
        store->runs->suspect_run = run;
    SMA_METRIC_ADD(runs_started_total, 1);
    sma_store_send_later(store, SMA_ACTOR_AGENT, &msg);
    return SMA_ERR_OK;
}

static enum sma_err pump(struct sma_store *store)
{
    uint32_t chat_id;
    uint64_t seq;
    while (sma_store_has_room(store) && store->runs->count < SMA_COUNT_OF(store->runs->entries) &&
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
            store->runs->open_count++;
            if (run->is_suspect)
                store->runs->suspect_run = run;
        }
        return true;
    }
    if (run->is_sent)
        take_back(store, run);
    if (run->is_ending)
        run->chat->has_ending = false;
    else
        store->runs->open_count--;
    if (run->chat->run == run)
        run->chat->run = NULL;
    if (store->runs->suspect_run == run)
        store->runs->suspect_run = NULL;
    return false;
}

static void settle_runs(struct sma_store *store, bool is_undone)
{
    if (!store->runs->has_run_change)
        return;
    store->runs->has_run_change = false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < store->runs->count; i++) {
        struct store_run *run = store->runs->entries[i];
        if (settle_run(store, run, is_undone))
            store->runs->entries[kept++] = run;
        else
            free(run);
    }
    store->runs->count = kept;
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
    if (sma_store_is_aside(store, message->chat)) { /* nobody could get its answer */
        sma_store_note_aside_message(store, message->chat);
        return sma_queue_hold(store->queue, chat);
    }
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

static void tell_unreadable(struct sma_store *store, uint64_t seq)
{
    char what[120];
    snprintf(what, sizeof what, "message %llu cannot be read and is left alone",
             (unsigned long long)seq);
    sma_store_trouble(store,
                      &(struct store_trouble){
                          .name = "message",
                          .what = what,
                          .remedy = "its author may send it again; if there are more, restore "
                                    ".ship/state.db from a backup",
                          .is_over = true});
}

enum sma_err sma_store_each_open(struct sma_store *store, sma_state_message_fn *each, void *user)
{
    for (uint64_t seq = 0; (seq = sma_state_open_next(store->state, seq)) != 0;) {
        SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
        struct sma_state_message message;
        enum sma_err err = sma_state_message_read(store->state, seq, &rows, &message);
        if (err == SMA_ERR_OK)
            err = each(user, &message);
        if (sma_store_is_damage(store, err))
            tell_unreadable(store, seq);
        else if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

static enum sma_err load(struct sma_store *store)
{
    sma_queue_clear(store->queue);
    store->runs->orphan_count = 0;
    enum sma_err err = sma_store_load_waits(store);
    return err == SMA_ERR_OK ? sma_store_each_open(store, queue_row, store) : err;
}

void sma_store_publish_runs(struct sma_store *store)
{
    SMA_METRIC_SET(inbox_waiting, sma_queue_waiting(store->queue));
    SMA_METRIC_SET(runs_open, store->runs->open_count);
    SMA_METRIC_SET(runs_waiting_for_model, store->runs->wait_count);
    SMA_METRIC_SET(claims, (int64_t)sma_state_claim_count(store->state));
}

void sma_store_add_suspect(struct sma_store *store, uint64_t seq)
{
    if (store->runs->suspect_count < STORE_SUSPECT_COUNT_MAX)
        store->runs->suspects[store->runs->suspect_count++] = seq;
}

void sma_store_set_cautious(struct sma_store *store, bool is_cautious)
{
    store->runs->is_cautious = is_cautious;
}

void sma_store_runs_move(struct sma_store *store, const struct store_chat *from,
                         struct store_chat *to)
{
    for (uint32_t i = 0; i < store->runs->count; i++)
        if (store->runs->entries[i]->chat == from)
            store->runs->entries[i]->chat = to;
}

struct store_run_counts sma_store_run_counts(const struct sma_store *store)
{
    return (struct store_run_counts){.open = store->runs->open_count,
                                     .suspects = store->runs->suspect_count,
                                     .waiting_for_model = store->runs->wait_count};
}

/* -- the part --------------------------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->runs = calloc(1, sizeof *store->runs);
    return store->runs != NULL ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static uint64_t wake(const struct sma_store *store)
{
    return sma_store_is_retrying(store) ? UINT64_MAX : sma_store_waits_wake(store);
}

static void fini(struct sma_store *store)
{
    sma_store_forget_waits(store);
    for (uint32_t i = 0; i < store->runs->count; i++)
        free(store->runs->entries[i]);
    free(store->runs->orphans);
    free(store->runs);
}

static void forget(struct sma_store *store, const struct store_marks *to)
{
    (void)to;
    settle_runs(store, true);
    sma_store_reset_waits(store);
}

static void settle(struct sma_store *store)
{
    settle_runs(store, false);
}

const struct store_part sma_store_runs_part = {.name = "runs",
                                               .create = create,
                                               .load = load,
                                               .forget = forget,
                                               .expire = sma_store_expire_waits,
                                               .complete = pump,
                                               .settle = settle,
                                               .wake = wake,
                                               .fini = fini};
