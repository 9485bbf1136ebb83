/*
 * Deliveries: each chat's rows in order, one at a time, at most so many per adapter with the
 * dispatcher.
 *
 * A row is handed out only after a commit that says "begun". A row whose turn comes at once is
 * begun by the very transaction that adds it; the next row of a chat is begun by the transaction
 * that finishes the one before.
 */
#include "consent.h"
#include "outbox_priv.h"
#include "record.h"
#include "store.h"

#include <stdlib.h>

/* -- lists ------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err add_row(struct sma_store *store, struct store_chat *chat,
                                        uint64_t id, struct store_row **ret_row)
{
    struct store_row *row = calloc(1, sizeof *row);
    if (row == NULL || !sma_store_map_put(&store->outbox->rows, id, row)) {
        free(row);
        return SMA_ERR_NOMEM;
    }
    row->id = id;
    row->chat = chat;
    row->adapter = STORE_NO_ADAPTER;
    row->prev = chat->last;
    if (chat->last != NULL)
        chat->last->next = row;
    else
        chat->first = row;
    chat->last = row;
    chat->row_count++;
    store->outbox->open_count++;
    *ret_row = row;
    return SMA_ERR_OK;
}

static enum sma_err read_state(void *user, const struct sma_state_delivery *delivery)
{
    struct sma_step_delivery_state *state = user;
    state->state = delivery->state;
    return SMA_ERR_OK;
}

/* The caller of a tool hears at once that nobody can be reached there, and can say so; what is said
 * for others waits. */
static bool is_told_at_once(const struct store_delivery_facts *facts,
                            const struct sma_step_delivery *asked)
{
    return facts->has_waiter && asked->call < STORE_CARD_CALL;
}

/* Where a new row stands: sent (stored delivery), failed, begun or waiting. */
static uint8_t decide_state(const struct sma_store *store, const struct store_chat *chat,
                            int adapter, struct sma_str *error)
{
    *error = SMA_STR("");
    if (adapter >= 0 && store->adapters[adapter].adapter->ops->capabilities.is_stored_delivery)
        return SMA_DELIVERY_SENT;
    if (chat->row_count >= SMA_OUTBOX_CHAT_COUNT_MAX) {
        *error = SMA_STR("too many messages are waiting to be delivered to this chat");
        return SMA_DELIVERY_FAILED;
    }
    if (adapter < 0)
        return SMA_DELIVERY_WAITING;
    bool is_turn = sma_store_first_row(chat) == NULL && store->outbox->lanes[adapter].credits > 0 &&
                   sma_store_may_write(store);
    return is_turn ? SMA_DELIVERY_BEGUN : SMA_DELIVERY_WAITING;
}

static SMA_CHECKED enum sma_err enter_row(struct sma_store *store,
                                          const struct store_delivery_facts *facts,
                                          const struct sma_step_delivery *from,
                                          const struct sma_state_delivery *delivery, int adapter)
{
    struct store_chat *chat = delivery->chat->user;
    struct store_row *row;
    store->outbox->is_changed = true;
    SMA_TRY(add_row(store, chat, delivery->outbox_id, &row));
    row->made_ms = delivery->made_ms;
    row->has_waiter = facts->has_waiter;
    if (adapter < 0) {
        sma_store_set_row_aside(store, row, from->route.channel);
        return SMA_ERR_OK;
    }
    row->adapter = (uint8_t)adapter;
    if (delivery->state == SMA_DELIVERY_WAITING) {
        if (sma_store_first_row(chat) == row)
            sma_store_wait_for_credit(store, chat);
        return SMA_ERR_OK;
    }
    return sma_store_hand_out_new(store, row, &from->route, delivery, facts->stamps);
}

enum sma_err sma_store_deliver(struct sma_store *store, const struct store_delivery_facts *facts,
                               const struct sma_step_delivery *asked,
                               struct sma_step_delivery_state *ret_state)
{
    struct sma_state_chat *state_chat;
    enum sma_err err =
        sma_state_chat_open(store->state, asked->route.chat_key, asked->route.channel, &state_chat);
    if (err != SMA_ERR_OK)
        return err;
    struct store_chat *chat = sma_store_chat(store, state_chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    bool is_card = asked->intent == SMA_INTENT_APPROVAL_REQUEST ||
                   asked->intent == SMA_INTENT_APPROVAL_OUTCOME;
    if (chat->approval_count > 0 && !is_card && !facts->is_about_cards)
        err = sma_store_supersede_approvals(store, chat);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_step_delivery led = *asked;
    sma_store_follow_route(state_chat, &led.route);
    const struct sma_step_delivery *from = &led;
    int adapter = sma_store_adapter_of(store, &from->route);
    uint64_t id = sma_state_outbox_id(facts->seq, facts->step, from->call);
    *ret_state =
        (struct sma_step_delivery_state){.step = facts->step, .call = from->call, .outbox_id = id};
    ret_state->state = decide_state(store, chat, adapter, &ret_state->error);
    if (adapter < 0 && is_told_at_once(facts, from)) {
        ret_state->state = SMA_DELIVERY_FAILED;
        ret_state->error = SMA_STR("this channel is not configured");
    }

    sma_buf_clear(&store->scratch.facts);
    sma_store_facts_put(
        &store->scratch.facts,
        &(struct store_facts){.route = from->route, .is_fallback = from->is_fallback});
    if (store->scratch.facts.err != SMA_ERR_OK)
        return store->scratch.facts.err;
    struct sma_state_delivery delivery = {.outbox_id = id,
                                          .chat = state_chat,
                                          .channel = from->route.channel,
                                          .route = sma_buf_str(&store->scratch.facts),
                                          .text = from->text,
                                          .intent = from->intent,
                                          .state = ret_state->state,
                                          .is_part_begun = ret_state->state == SMA_DELIVERY_BEGUN,
                                          .error = ret_state->error,
                                          .made_ms = sma_ctx_wall(store->ctx)};
    err = sma_state_outbox_add(store->state, &delivery);
    if (err == SMA_ERR_EXISTS) {
        ret_state->error = SMA_STR("");
        return sma_state_outbox_get(store->state, id, read_state, ret_state);
    }
    if (err != SMA_ERR_OK)
        return err;
    if (delivery.state == SMA_DELIVERY_SENT) {
        SMA_METRIC_ADD(deliveries_sent_total, 1);
        return sma_store_delivery_line(store, chat,
                                       &(struct store_said){.route = &from->route,
                                                            .text = from->text,
                                                            .intent = from->intent,
                                                            .is_fallback = from->is_fallback,
                                                            .run_seq = facts->seq,
                                                            .wall_ms = sma_ctx_wall(store->ctx)});
    }
    if (delivery.state == SMA_DELIVERY_FAILED)
        return SMA_ERR_OK;
    return enter_row(store, facts, from, &delivery, adapter);
}

/* -- ending ------------------------------------------------------------------------------------ */

/* The dispatcher has it and ends it, unless it is on its way back. */
static SMA_CHECKED enum sma_err note_stop(struct sma_store *store, struct store_row *row)
{
    if (!row->is_handed || row->is_stopped)
        return SMA_ERR_OK;
    row->is_stopped = true;
    return sma_store_note_out(store, row, STORE_OUT_STOPPED);
}

enum sma_err sma_store_cancel_rows(struct sma_store *store, struct store_chat *chat, uint64_t mark)
{
    for (struct store_row *row = chat->first, *next; row != NULL; row = next) {
        next = row->next;
        if (sma_state_outbox_seq(row->id) >= mark)
            continue;
        enum sma_err err = sma_store_row_is_unseen(row) ? sma_store_give_up_row(store, row)
                                                        : note_stop(store, row);
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_cancel_rows_of(struct sma_store *store, struct store_chat *chat,
                                      uint64_t seq)
{
    for (struct store_row *row = chat->first, *next; row != NULL; row = next) {
        next = row->next;
        if (sma_state_outbox_seq(row->id) == seq && sma_store_row_is_unseen(row))
            SMA_TRY(sma_store_give_up_row(store, row));
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_withdraw(struct sma_store *store, uint64_t outbox_id, bool *ret_is_gone)
{
    struct store_row *row = sma_store_map_get(&store->outbox->rows, outbox_id);
    *ret_is_gone = row != NULL && sma_store_row_is_unseen(row);
    return *ret_is_gone ? sma_store_give_up_row(store, row) : SMA_ERR_OK;
}

void sma_store_merge_rows(struct sma_store *store, struct store_chat *chat,
                          struct store_chat *other)
{
    for (struct store_row *row = other->first; row != NULL; row = row->next)
        row->chat = chat;
    if (other->first != NULL) {
        other->first->prev = chat->last;
        *(chat->last != NULL ? &chat->last->next : &chat->first) = other->first;
        chat->last = other->last;
    }
    chat->row_count += other->row_count;
    other->first = other->last = NULL;
    other->row_count = 0;
    sma_store_drop_waiters(store);
    sma_store_wait_for_credit(store, chat);
}

/* -- after the commit -------------------------------------------------------------------------- */
static struct store_out *make_out(struct sma_store *store, const struct store_change *change)
{
    struct store_out *out = calloc(1, sizeof *out);
    sma_store_need(store, out != NULL && sma_store_map_put(&store->outbox->outs, change->id, out));
    struct store_row *row = sma_store_map_get(&store->outbox->rows, change->id);
    if (row != NULL)
        row->out = out;
    *out = (struct store_out){.id = change->id, .adapter = change->adapter};
    return out;
}

static void settle_change(struct sma_store *store, const struct store_change *change)
{
    struct store_out *out = sma_store_map_get(&store->outbox->outs, change->id);
    switch (change->what) {
    case STORE_OUT_HANDED:
        out = out != NULL ? out : make_out(store, change);
        out->is_out = true;
        out->due_ns = 0;
        break;
    case STORE_OUT_STOPPED:
        if (out != NULL)
            out->is_stopped = true;
        break;
    default:
        sma_store_map_remove(&store->outbox->outs, change->id);
        free(out);
        break;
    }
}

static void settle(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->outbox->change_count; i++)
        settle_change(store, &store->outbox->changes[i]);
    store->outbox->change_count = 0;
    store->outbox->is_changed = false;
}

/* -- read again -------------------------------------------------------------------------------- */
static void mark(const struct sma_store *store, struct store_marks *marks)
{
    marks->deliveries = store->outbox->change_count;
}

static void forget(struct sma_store *store, const struct store_marks *to)
{
    struct store_outbox *outbox = store->outbox;
    outbox->change_count = to->deliveries;
    sma_store_forget_aside_messages(store);
    if (!outbox->is_changed)
        return; /* memory is as the rows are */
    sma_store_drop_waiters(store);
    for (uint32_t i = 0; i < outbox->rows.cap; i++) {
        struct store_row *row = outbox->rows.keys[i] != 0 ? outbox->rows.values[i] : NULL;
        if (row == NULL)
            continue;
        row->chat->first = row->chat->last = NULL;
        row->chat->row_count = 0;
        free(row);
    }
    sma_store_map_fini(&outbox->rows);
    outbox->rows = (struct store_map){0};
    outbox->held_first = NULL;
    outbox->open_count = outbox->held_count = outbox->lost_count = 0;
    sma_store_forget_aside_rows(store);
    outbox->is_loaded = outbox->is_changed = false;
}

/* A chat whose rows were all undone must not wait for a credit: it may be gone in a moment. */
void sma_store_drop_waiters(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->adapter_count; i++) {
        struct store_lane *lane = &store->outbox->lanes[i];
        for (struct store_chat *chat = lane->waiting_first; chat != NULL; chat = chat->credit_next)
            chat->is_credit_waiting = false;
        lane->waiting_first = lane->waiting_last = NULL;
    }
}

/* What was begun was the first row of its chat, whatever message it belongs to: its next part comes
 * before the others. */
static void move_to_front(struct store_row *row)
{
    struct store_chat *chat = row->chat;
    if (row->prev == NULL)
        return;
    row->prev->next = row->next;
    *(row->next != NULL ? &row->next->prev : &chat->last) = row->prev;
    row->prev = NULL;
    row->next = chat->first;
    chat->first->prev = row;
    chat->first = row;
}

/* It cannot be read so much as to whom it goes. */
static SMA_CHECKED enum sma_err lose_row(struct sma_store *store, uint64_t id)
{
    struct store_outbox *outbox = store->outbox;
    if (!sma_store_grow(&outbox->lost, outbox->lost_count, &outbox->lost_cap, sizeof *outbox->lost))
        return SMA_ERR_NOMEM;
    outbox->lost[outbox->lost_count++] = id;
    return SMA_ERR_OK;
}

/* The chat's platform; the row's own word for it is for chats of an old version, which have
 * none. */
static int adapter_of_row(const struct sma_store *store, const struct sma_state_delivery *delivery)
{
    int adapter =
        sma_store_adapter_of(store, &(struct sma_route){.channel = delivery->chat->channel});
    return adapter >= 0
               ? adapter
               : sma_store_adapter_of(store, &(struct sma_route){.channel = delivery->channel});
}

/* What the dispatcher has of it, or gave back, is no business of state.db. */
static void take_up_out(struct sma_store *store, struct store_row *row)
{
    struct store_out *out = row->out;
    row->is_handed = out->is_out;
    row->is_stopped = out->is_stopped;
    row->steps_aside = out->steps_aside;
    row->is_repeat = false;
    if (out->is_out)
        store->outbox->lanes[row->adapter].credits--;
    else if (out->due_ns > sma_ctx_now(store->ctx))
        sma_store_hold_row(store, row, out->due_ns);
}

static SMA_CHECKED enum sma_err load_row(struct sma_store *store,
                                         const struct sma_state_delivery *delivery)
{
    struct store_chat *chat = sma_store_chat(store, delivery->chat);
    struct store_row *row;
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    SMA_TRY(add_row(store, chat, delivery->outbox_id, &row));
    int adapter = adapter_of_row(store, delivery);
    row->made_ms = delivery->made_ms;
    /* The agent asks for the outcome of what its resumed run had sent. */
    row->has_waiter = sma_state_outbox_step(row->id) != STORE_NOTICE_STEP &&
                      sma_state_outbox_call(row->id) < STORE_CARD_CALL;
    row->is_repeat = delivery->is_part_begun;
    if (row->is_repeat)
        move_to_front(row);
    if (adapter < 0) {
        sma_store_set_row_aside(store, row, delivery->chat->channel);
        return SMA_ERR_OK;
    }
    row->adapter = (uint8_t)adapter;
    row->out = sma_store_map_get(&store->outbox->outs, row->id);
    if (row->out != NULL)
        take_up_out(store, row);
    if (sma_store_first_row(chat) == row)
        sma_store_wait_for_credit(store, chat);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err load_id(struct sma_store *store, uint64_t id)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_delivery delivery;
    enum sma_err err = id == 0 ? SMA_ERR_CORRUPT
                               : sma_state_delivery_head_read(store->state, id, &rows, &delivery);
    if (sma_store_is_row_damage(store, err))
        return lose_row(store, id);
    return err == SMA_ERR_OK ? load_row(store, &delivery) : err;
}

/* A row that the dispatcher has and that is not there any more: its credit is free. */
static void drop_stray_outs(struct sma_store *store)
{
    struct store_map kept = {0}, *outs = &store->outbox->outs;
    for (uint32_t i = 0; i < outs->cap; i++) {
        struct store_out *out = outs->keys[i] != 0 ? outs->values[i] : NULL;
        if (out == NULL)
            continue;
        if (sma_store_map_get(&store->outbox->rows, out->id) != NULL)
            sma_store_need(store, sma_store_map_put(&kept, out->id, out));
        else
            free(out);
    }
    sma_store_map_fini(outs);
    *outs = kept;
}

/* One item of the open transaction was undone, what stands before it stays. */
static void repeat_changes(struct sma_store *store)
{
    struct store_outbox *outbox = store->outbox;
    for (uint32_t i = 0; i < outbox->change_count; i++) {
        struct store_row *row = sma_store_map_get(&outbox->rows, outbox->changes[i].id);
        if (row == NULL)
            continue;
        if (outbox->changes[i].what == STORE_OUT_STOPPED)
            row->is_stopped = true;
        if (outbox->changes[i].what != STORE_OUT_HANDED || row->is_handed)
            continue;
        sma_store_unhold_row(store, row);
        row->is_handed = true;
        outbox->lanes[row->adapter].credits--;
    }
}

static enum sma_err load(struct sma_store *store)
{
    struct store_outbox *outbox = store->outbox;
    if (outbox->is_loaded)
        return SMA_ERR_OK;
    for (uint32_t i = 0; i < store->adapter_count; i++)
        outbox->lanes[i].credits = SMA_DELIVER_CREDIT_COUNT;
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_ids ids;
    SMA_TRY(sma_state_outbox_open_read(store->state, &rows, &ids));
    for (size_t i = 0; i < ids.count; i++)
        SMA_TRY(load_id(store, ids.items[i]));
    outbox->is_loaded = true;
    outbox->is_changed = sma_state_is_in_transaction(store->state);
    if (outbox->is_changed)
        repeat_changes(store);
    else
        drop_stray_outs(store);
    return SMA_ERR_OK;
}

/* -- the part ---------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->outbox = calloc(1, sizeof *store->outbox);
    return store->outbox != NULL ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static uint64_t wake(const struct sma_store *store)
{
    return sma_store_is_retrying(store) || sma_store_disk_level(store) >= 2
               ? UINT64_MAX
               : sma_store_held_rows_wake(store);
}

static void free_values(struct store_map *map)
{
    for (uint32_t i = 0; i < map->cap; i++)
        if (map->keys[i] != 0)
            free(map->values[i]);
    sma_store_map_fini(map);
}

static void fini(struct sma_store *store)
{
    free_values(&store->outbox->rows);
    free_values(&store->outbox->outs);
    free(store->outbox->changes);
    free(store->outbox->lost);
    free(store->outbox->ours);
    free(store->outbox);
}

static enum sma_err expire(struct sma_store *store)
{
    sma_store_expire_held_rows(store);
    return SMA_ERR_OK;
}

const struct store_part sma_store_outbox_part = {.name = "outbox",
                                                 .create = create,
                                                 .fini = fini,
                                                 .load = load,
                                                 .forget = forget,
                                                 .mark = mark,
                                                 .expire = expire,
                                                 .complete = sma_store_pump_outbox,
                                                 .settle = settle,
                                                 .follow = sma_store_tell_asides,
                                                 .wake = wake};
