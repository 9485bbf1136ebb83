/*
 * dispatcher_send.c — the agent's questions "how did row X end". They may come before the row, with
 * it, or after it has ended; every one is answered exactly once, at its deadline at the latest.
 */
#include "dispatcher_priv.h"

#include <stdlib.h>

static struct send **send_bucket(struct sma_dispatcher *dispatcher, uint64_t outbox_id)
{
    return &dispatcher->sends[outbox_id % DISPATCHER_TABLE_SIZE];
}

static struct send *add_send(struct sma_dispatcher *dispatcher, uint64_t outbox_id,
                             struct sma_str error)
{
    struct send *send = calloc(1, sizeof *send + error.len + 1);
    if (send == NULL)
        return NULL;
    send->outbox_id = outbox_id;
    send->timer.kind = TIMER_SEND;
    if (error.len > 0)
        memcpy(send->error, error.ptr, error.len);
    /* at the end of its bucket: two questions for one row are answered in their order */
    struct send **place = send_bucket(dispatcher, outbox_id);
    while (*place != NULL)
        place = &(*place)->next_in_table;
    *place = send;
    dispatcher->send_count++;
    return send;
}

static void remove_send(struct sma_dispatcher *dispatcher, struct send *send)
{
    struct send **place = send_bucket(dispatcher, send->outbox_id);
    while (*place != send)
        place = &(*place)->next_in_table;
    *place = send->next_in_table;
    sma_timers_clear(&dispatcher->timers, &send->timer);
    if (send->ask_id == 0) {
        *(send->older == NULL ? &dispatcher->outcome_oldest : &send->older->newer) = send->newer;
        *(send->newer == NULL ? &dispatcher->outcome_newest : &send->newer->older) = send->older;
        dispatcher->outcome_count--;
    }
    dispatcher->send_count--;
    free(send);
}

struct answer
{
    enum sma_actor_id asker;
    uint64_t ask_id, seq, outbox_id;
    enum sma_send_state state;
    struct sma_str error;
};

static void answer_send(struct sma_ctx *ctx, const struct answer *answer)
{
    struct sma_msg *msg =
        sma_msg_make_send_result(&(struct sma_send_result){.seq = answer->seq,
                                                           .outbox_id = answer->outbox_id,
                                                           .state = (uint8_t)answer->state,
                                                           .error = answer->error});
    if (msg == NULL)
        sma_ctx_fatal(ctx, "out of memory while answering a delivery question");
    sma_ctx_answer_to(ctx, answer->asker, answer->ask_id, &msg);
}

static enum sma_send_state send_state(uint8_t delivery_state)
{
    switch (delivery_state) {
    case SMA_DELIVERY_SENT:
        return SMA_SEND_SENT;
    case SMA_DELIVERY_FAILED:
        return SMA_SEND_FAILED;
    case SMA_DELIVERY_UNKNOWN:
        return SMA_SEND_UNKNOWN;
    default:
        return SMA_SEND_QUEUED;
    }
}

static void keep_question(struct sma_dispatcher *dispatcher, const struct sma_msg *msg,
                          const struct sma_send *question, struct sma_ctx *ctx)
{
    struct answer queued = {.asker = (enum sma_actor_id)msg->from,
                            .ask_id = msg->ask_id,
                            .seq = question->seq,
                            .outbox_id = question->outbox_id,
                            .state = SMA_SEND_QUEUED};
    uint64_t now = sma_ctx_now(ctx);
    uint64_t deadline =
        msg->deadline_ns != 0 ? msg->deadline_ns : now + SMA_SEND_WAIT_S * SMA_NS_PER_S;
    struct send *send = NULL;
    /* the edge allows no more questions than this: more would be the kernel's mistake, not a reason
     * to fail */
    bool has_room = dispatcher->send_count - dispatcher->outcome_count < SMA_ASK_SEND_COUNT_MAX;
    if (deadline > now && has_room)
        send = add_send(dispatcher, question->outbox_id, SMA_STR(""));
    if (send == NULL) {
        answer_send(ctx, &queued);
        return;
    }
    send->seq = question->seq;
    send->ask_id = msg->ask_id;
    send->asker = msg->from;
    sma_timers_set(&dispatcher->timers, &send->timer, deadline);
}

void sma_dispatcher_on_send(struct sma_dispatcher *dispatcher, const struct sma_msg *msg,
                            const struct sma_send *question, struct sma_ctx *ctx)
{
    struct answer answer = {.asker = (enum sma_actor_id)msg->from,
                            .ask_id = msg->ask_id,
                            .seq = question->seq,
                            .outbox_id = question->outbox_id};
    struct send *outcome = *send_bucket(dispatcher, question->outbox_id);
    while (outcome != NULL && (outcome->outbox_id != question->outbox_id || outcome->ask_id != 0))
        outcome = outcome->next_in_table;
    if (outcome != NULL) {
        answer.state = send_state(outcome->state);
        answer.error = sma_str(outcome->error);
        answer_send(ctx, &answer);
        remove_send(dispatcher, outcome);
        return;
    }
    const struct row *row = sma_dispatcher_find_row(dispatcher, question->outbox_id);
    if (row != NULL && (row->is_ended || row->is_aside)) {
        answer.state = row->is_ended ? send_state(row->receipt_state) : SMA_SEND_QUEUED;
        answer.error = sma_str(row->error);
        answer_send(ctx, &answer);
        return;
    }
    keep_question(dispatcher, msg, question, ctx);
}

static void keep_outcome(struct sma_dispatcher *dispatcher, const struct row *row)
{
    if (dispatcher->outcome_count == SMA_ASK_SEND_COUNT_MAX)
        remove_send(dispatcher,
                    dispatcher->outcome_oldest); /* whoever asks for it later hears "queued" */
    struct send *send = add_send(dispatcher, row->deliver->outbox_id, sma_str(row->error));
    if (send == NULL)
        return; /* no memory: the question will be answered "queued", which is what it is for */
    send->state = row->receipt_state;
    send->older = dispatcher->outcome_newest;
    *(send->older == NULL ? &dispatcher->outcome_oldest : &send->older->newer) = send;
    dispatcher->outcome_newest = send;
    dispatcher->outcome_count++;
}

static void settle(struct sma_dispatcher *dispatcher, struct send *send, enum sma_send_state state,
                   struct sma_str error, struct sma_ctx *ctx)
{
    struct answer answer = {.asker = (enum sma_actor_id)send->asker,
                            .ask_id = send->ask_id,
                            .seq = send->seq,
                            .outbox_id = send->outbox_id,
                            .state = state,
                            .error = error};
    answer_send(ctx, &answer);
    remove_send(dispatcher, send);
}

bool sma_dispatcher_tell_waiting(struct sma_dispatcher *dispatcher, const struct row *row,
                                 enum sma_send_state state, struct sma_ctx *ctx)
{
    bool is_told = false;
    struct send *send = *send_bucket(dispatcher, row->deliver->outbox_id);
    while (send != NULL) {
        struct send *next = send->next_in_table;
        if (send->outbox_id == row->deliver->outbox_id && send->ask_id != 0) {
            settle(dispatcher, send, state, sma_str(row->error), ctx);
            is_told = true;
        }
        send = next;
    }
    return is_told;
}

void sma_dispatcher_tell_outcome(struct sma_dispatcher *dispatcher, const struct row *row,
                                 struct sma_ctx *ctx)
{
    enum sma_send_state state = send_state(row->receipt_state);
    if (!sma_dispatcher_tell_waiting(dispatcher, row, state, ctx) && row->deliver->has_waiter)
        keep_outcome(dispatcher, row);
}

void sma_dispatcher_expire_send(struct sma_dispatcher *dispatcher, struct send *send,
                                struct sma_ctx *ctx)
{
    settle(dispatcher, send, SMA_SEND_QUEUED, SMA_STR(""), ctx);
}

void sma_dispatcher_drop_sends(struct sma_dispatcher *dispatcher)
{
    for (size_t i = 0; i < DISPATCHER_TABLE_SIZE; i++)
        while (dispatcher->sends[i] != NULL)
            remove_send(dispatcher, dispatcher->sends[i]);
}
