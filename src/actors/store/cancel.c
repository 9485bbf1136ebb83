/*
 * cancel.c — one run is stopped from outside its chat (DELETE /api/runs/:id), whatever it waits
 * for.
 *
 * As /stop, for this run alone: others of the chat go on, and no mark is set. One transaction; the
 * agent is told by the hand-off that leaves with it.
 */
#include "consent.h"
#include "facts.h"
#include "intake.h"
#include "item.h"
#include "outbox.h"
#include "record.h"
#include "runs.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#define CANCELLED_CALL 8u /* outbox key of the notice to its chat */

struct cancelling
{
    uint64_t seq;
    struct store_chat *chat;
    int status;
    char text[160];
};

static void say(struct cancelling *it, int status, const char *text)
{
    it->status = status;
    snprintf(it->text, sizeof it->text, "%s", text);
}

/* Whoever waits for the answer hears that none comes. */
static SMA_CHECKED enum sma_err tell_chat(struct sma_store *store, const struct cancelling *it)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct store_facts facts;
    enum sma_err err = sma_state_message_read(store->state, it->seq, &rows, &message);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(message.facts, &facts);
    if (err != SMA_ERR_OK)
        return sma_store_is_damage(store, err) ? SMA_ERR_OK : err;
    sma_store_follow_route(message.chat, &facts.route);
    if (sma_store_is_channel_quiet(&facts.route))
        return SMA_ERR_OK;
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, &facts.route),
                      SMA_NOTICE_STOPPED);
    struct sma_step_delivery delivery = {.call = CANCELLED_CALL,
                                         .intent = SMA_INTENT_NOTICE,
                                         .route = facts.route,
                                         .text = sma_buf_str(&store->scratch.text)};
    struct sma_step_delivery_state state;
    return sma_store_deliver(
        store, &(struct store_delivery_facts){.seq = it->seq, .step = STORE_NOTICE_STEP}, &delivery,
        &state);
}

/* It is in the agent: that drops it when it hears of it, and nothing it says later is stored. */
static SMA_CHECKED enum sma_err stop_open(struct sma_store *store, struct store_run *run)
{
    uint32_t count = 0;
    const struct sma_control_order order = {.control = SMA_CONTROL_STOP,
                                            .mark_seq = run->seq + 1,
                                            .only_seq = run->seq,
                                            .chat_key = {run->key, run->key_len}};
    SMA_TRY(sma_store_cancel_open(store, run, &count));
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_control(&order));
    sma_store_send_later(store, SMA_ACTOR_AGENT, &msg);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err stop_parked(struct sma_store *store, const struct cancelling *it)
{
    struct store_approval *approval = sma_store_approval_of_run(store, it->seq);
    if (approval != NULL)
        return sma_store_cancel_asking(store, approval);
    (void)sma_queue_remove(store->queue, it->chat->id,
                           it->seq); /* decided, or due: it has a place */
    return sma_store_cancel_run(store, it->seq);
}

static SMA_CHECKED enum sma_err stop(struct sma_store *store, struct cancelling *it,
                                     const struct sma_state_head *head)
{
    struct store_run *run = sma_store_run_find(store, it->seq);
    SMA_TRY(sma_store_begin(store));
    SMA_TRY(sma_store_cancel_rows_of(store, it->chat, it->seq));
    if (run != NULL) {
        SMA_TRY(stop_open(store, run));
    } else if (head->state == SMA_ROW_PARKED) {
        SMA_TRY(stop_parked(store, it));
    } else {
        sma_store_take_back_addition(store, it->chat, it->seq);
        (void)sma_queue_remove(store->queue, it->chat->id, it->seq);
        SMA_TRY(sma_store_cancel_run(store, it->seq));
    }
    say(it, 200, "cancelled");
    return tell_chat(store, it);
}

/* The run that answers this message: itself, or the one that has taken it up. */
static SMA_CHECKED enum sma_err find(struct sma_store *store, struct cancelling *it,
                                     struct sma_state_head *ret_head)
{
    enum sma_err err = sma_state_head_get(store->state, it->seq, ret_head);
    if (err == SMA_ERR_OK && ret_head->state == SMA_ROW_LINE)
        return SMA_ERR_NOTFOUND;
    if (err != SMA_ERR_OK || ret_head->run_seq == 0)
        return err;
    it->seq = ret_head->run_seq;
    return sma_state_head_get(store->state, it->seq, ret_head);
}

static SMA_CHECKED enum sma_err cancel(struct sma_store *store, struct cancelling *it)
{
    struct sma_state_head head;
    enum sma_err err = find(store, it, &head);
    if (err == SMA_ERR_NOTFOUND) {
        say(it, 404, "No such run");
        return SMA_ERR_OK;
    }
    SMA_TRY(err);
    if (!sma_row_is_open(head.state)) {
        say(it, 200, head.state == SMA_ROW_CANCELLED ? "cancelled before" : "it had ended before");
        return SMA_ERR_OK;
    }
    struct sma_state_chat *state_chat = sma_state_chat_by_id(store->state, head.chat_id);
    it->chat = state_chat == NULL ? NULL : sma_store_chat(store, state_chat);
    if (it->chat == NULL)
        return SMA_ERR_CORRUPT;
    return stop(store, it, &head);
}

void sma_store_cancel(struct sma_store *store, const struct sma_msg *question)
{
    struct sma_str id = SMA_MSG_BODY((struct sma_msg *)question, struct sma_decide)->id;
    struct cancelling it = {.status = 503, .text = "the service cannot write now; try again"};
    int64_t seq;
    sma_store_check_disk(store);
    if (sma_parse_i64(id, 1, INT64_MAX, &seq) != SMA_ERR_OK) {
        say(&it, 404, "No such run");
    } else if (sma_store_may_write(store)) {
        it.seq = (uint64_t)seq;
        enum sma_err err = cancel(store, &it);
        if (err != SMA_ERR_OK) {
            sma_store_fail_batch(store, err);
            say(&it, 503, "it could not be stored; try again");
        }
    }
    const struct sma_decided decided = {.status = it.status, .text = sma_str(it.text)};
    struct sma_msg *answer = sma_store_made(store, sma_msg_make_decided(&decided));
    sma_store_answer_later(store, question, &answer, 0);
}
