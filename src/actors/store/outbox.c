/*
 * Deliveries: each chat's rows in order, one at a time, at most so many per adapter with the dispatcher.
 *
 * A row is handed out only after a commit that says "begun". A row whose turn comes at once is begun by the very
 * transaction that adds it; the next row of a chat is begun by the transaction that finishes the one before.
 */
#include "outbox.h"
#include "consent.h"
#include "consent_priv.h"
#include "facts.h"
#include "intake.h"
#include "map.h"
#include "outbox_priv.h"
#include "record.h"
#include "runs.h"
#include "store.h"

#include "runtime/approval/consent.h"

#include <stdlib.h>

int sma_store_adapter_of(const struct sma_store *store, const struct sma_route *route)
{
    for (uint32_t i = 0; i < store->adapter_count; i++)
        if (sma_str_is_equal(sma_str(store->adapters[i].adapter->ops->channel), route->channel))
            return (int)i;
    return -1;
}

/* -- lists ------------------------------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err touch(struct sma_store *store, struct store_row *row)
{
    if (row->is_touched)
        return SMA_ERR_OK;
    if (!sma_store_grow(&store->outbox->touched, store->outbox->touched_count,
                        &store->outbox->touched_cap, sizeof *store->outbox->touched))
        return SMA_ERR_NOMEM;
    store->outbox->touched[store->outbox->touched_count++] = row;
    row->is_touched = true;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err add_row(struct sma_store *store, struct store_chat *chat,
                                        uint64_t id, int adapter, struct store_row **ret_row)
{
    struct store_row *row = calloc(1, sizeof *row);
    if (row == NULL || !sma_store_map_put(&store->outbox->rows, id, row)) {
        free(row);
        return SMA_ERR_NOMEM;
    }
    row->id = id;
    row->chat = chat;
    row->adapter = (uint8_t)adapter;
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

static void drop_row(struct sma_store *store, struct store_row *row)
{
    struct store_chat *chat = row->chat;
    *(row->prev != NULL ? &row->prev->next : &chat->first) = row->next;
    *(row->next != NULL ? &row->next->prev : &chat->last) = row->prev;
    chat->row_count--;
    sma_store_unhold_row(store, row);
    sma_store_map_remove(&store->outbox->rows, row->id);
    free(row);
}

static struct store_row *first_open(const struct store_chat *chat)
{
    struct store_row *row = chat->first;
    while (row != NULL && row->is_finished)
        row = row->next;
    return row;
}

void sma_store_wait_for_credit(struct store_lane *lane, struct store_chat *chat)
{
    if (chat->is_credit_waiting)
        return;
    chat->is_credit_waiting = true;
    chat->credit_next = NULL;
    if (lane->waiting_last != NULL)
        lane->waiting_last->credit_next = chat;
    else
        lane->waiting_first = chat;
    lane->waiting_last = chat;
}

static struct store_chat *take_waiting(struct store_lane *lane)
{
    struct store_chat *chat = lane->waiting_first;
    if (chat == NULL)
        return NULL;
    lane->waiting_first = chat->credit_next;
    if (lane->waiting_first == NULL)
        lane->waiting_last = NULL;
    chat->is_credit_waiting = false;
    return chat;
}

/* -- handing out ------------------------------------------------------------------------------------------------ */
static bool may_hand_out(const struct sma_store *store)
{
    return sma_store_may_write(store);
}

void sma_store_follow_route(const struct sma_state_chat *chat, struct sma_route *route)
{
    route->chat_key = chat->key;
    if (chat->place.len == 0 || sma_str_is_equal(chat->place, route->chat_id))
        return;
    route->chat_id = chat->place;
    route->message_id = SMA_STR(""); /* the same number may be another message there */
}

struct replies
{
    const struct store_row *row;
    uint32_t count;
    int64_t wall_ms;
};

static enum sma_err count_reply(void *user, const struct sma_state_delivery *delivery)
{
    struct replies *replies = user;
    bool is_before =
        delivery->outbox_id < replies->row->id && delivery->chat == replies->row->chat->state;
    bool is_shown = delivery->state == SMA_DELIVERY_SENT || delivery->state == SMA_DELIVERY_UNKNOWN;
    if (is_before && is_shown)
        replies->count += delivery->part_done_count > 0 ? delivery->part_done_count : 1;
    return SMA_ERR_OK;
}

static enum sma_err read_message_time(void *user, const struct sma_state_message *message)
{
    struct replies *replies = user;
    struct store_facts facts;
    enum sma_err err = sma_store_facts_get(message->facts, &facts);
    if (err == SMA_ERR_OK)
        replies->wall_ms = facts.wall_ms;
    return err;
}

/* The rows of a chat go out one after the other, so every earlier answer to the same message is settled by now and the
 * count is the same when this row is handed out again after a restart. */
static SMA_CHECKED enum sma_err count_replies(struct sma_store *store, const struct store_row *row,
                                              struct replies *replies)
{
    *replies = (struct replies){.row = row};
    if (!store->adapters[row->adapter].adapter->ops->capabilities.counts_replies)
        return SMA_ERR_OK;
    uint64_t seq = sma_state_outbox_seq(row->id);
    enum sma_err err = sma_state_each_delivery(store->state, seq, count_reply, replies);
    if (err == SMA_ERR_OK)
        err = sma_state_message_get(store->state, seq, read_message_time, replies);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static SMA_CHECKED enum sma_err send_row(struct sma_store *store, const struct store_row *row,
                                         const struct sma_route *route,
                                         const struct sma_state_delivery *delivery,
                                         const struct sma_stamps *stamps)
{
    struct sma_route to = *route;
    to.adapter = (uint8_t)store->adapters[row->adapter].adapter->actor;
    struct sma_msg *msg = STORE_MSG(store, DELIVER, struct sma_deliver,
                                    sma_route_space(&to) + delivery->text.len + 1);
    struct sma_deliver *deliver = SMA_MSG_BODY(msg, struct sma_deliver);
    deliver->outbox_id = row->id;
    deliver->seq = sma_state_outbox_seq(row->id);
    deliver->route = sma_route_dup(msg, &to);
    deliver->text = sma_msg_dup(msg, delivery->text);
    deliver->language =
        sma_store_language(store, &to) == SMA_LANGUAGE_ZH ? SMA_STR("zh") : SMA_STR("en");
    deliver->intent = delivery->intent;
    deliver->renderer_version = delivery->renderer_version;
    deliver->part_done_count = delivery->part_done_count;
    deliver->is_repeat = row->is_repeat;
    deliver->salt = delivery->salt;
    deliver->has_waiter = row->has_waiter;
    deliver->attempt_count = delivery->attempt_count;
    deliver->waited_ms = row->waited_ms;
    if (stamps != NULL)
        deliver->stamps = *stamps;
    /* Everything is copied by now: the route may be a slice of the very row that is read for this. */
    struct replies replies;
    enum sma_err err = count_replies(store, row, &replies);
    if (err != SMA_ERR_OK) {
        sma_msg_destroy(msg);
        return err;
    }
    deliver->reply_count = replies.count;
    deliver->message_wall_ms = replies.wall_ms;
    sma_store_send_later(store, SMA_ACTOR_DISPATCHER, &msg);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err take_credit(struct sma_store *store, struct store_row *row)
{
    enum sma_err err = touch(store, row);
    if (err != SMA_ERR_OK)
        return err;
    row->is_handed = row->is_handed_now = true;
    store->outbox->lanes[row->adapter].credits--;
    return SMA_ERR_OK;
}

struct hand_out
{
    struct sma_store *store;
    struct store_row *row;
    struct sma_state_delivery begun; /* what is written back */
    struct sma_buf card_id;          /* the platform's id of the card that this outcome is about */
    struct sma_buf text;
};

enum sma_err sma_store_card_id(const struct sma_state_delivery *request, struct sma_buf *id)
{
    struct store_facts facts;
    const struct sma_state_chat *chat = request->chat;
    if (request->intent != SMA_INTENT_APPROVAL_REQUEST || request->state != SMA_DELIVERY_SENT)
        return SMA_ERR_OK;
    enum sma_err err = sma_store_facts_get(request->route, &facts);
    if (err != SMA_ERR_OK)
        return err;
    /* The card stands where the chat was before it moved: it cannot be changed from here. */
    if (chat->place.len == 0 || sma_str_is_equal(chat->place, facts.route.chat_id))
        sma_buf_put_str(id, sma_card_mark_parse(request->error).id);
    return id->err;
}

static enum sma_err copy_card_id(void *user, const struct sma_state_delivery *request)
{
    return sma_store_card_id(request, user);
}

/* A card that was still on its way when it was decided about has arrived by now: a chat's rows go one after the other. */
static SMA_CHECKED enum sma_err find_card(struct hand_out *out)
{
    uint64_t id = out->row->id;
    uint32_t step = sma_state_outbox_step(id), call = sma_state_outbox_call(id);
    if (call < STORE_CARD_CALL || step < 2)
        return SMA_ERR_OK;
    enum sma_err err = sma_state_outbox_get(
        out->store->state, sma_state_outbox_id(sma_state_outbox_seq(id), step - 1, call),
        copy_card_id, &out->card_id);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static SMA_CHECKED enum sma_err name_card(struct hand_out *out, struct sma_str *text)
{
    struct sma_card card;
    enum sma_err err = sma_card_parse(*text, &card);
    if (err != SMA_ERR_OK)
        return err;
    card.message_id = sma_buf_str(&out->card_id);
    sma_card_put(&out->text, &card);
    sma_card_fini(&card);
    *text = sma_buf_str(&out->text);
    return out->text.err;
}

static enum sma_err send_stored(void *user, const struct sma_state_delivery *delivery)
{
    struct hand_out *out = user;
    struct store_facts facts;
    enum sma_err err = sma_store_facts_get(delivery->route, &facts);
    if (err != SMA_ERR_OK)
        return err;
    sma_store_follow_route(delivery->chat, &facts.route);
    /* Given back: it was begun, but nothing of it can have arrived. */
    out->row->is_repeat = delivery->is_part_begun && !out->row->is_given_back;
    out->begun = *delivery;
    struct sma_state_delivery sent = *delivery;
    if (delivery->intent == SMA_INTENT_APPROVAL_OUTCOME && out->card_id.len > 0)
        err = name_card(out, &sent.text);
    if (err != SMA_ERR_OK)
        return err;
    struct store_run *run =
        sma_store_run_find(out->store, sma_state_outbox_seq(delivery->outbox_id));
    return send_row(out->store, out->row, &facts.route, &sent, run != NULL ? &run->stamps : NULL);
}

/* The first open row of a chat, if it is not out already and there is a credit. */
enum sma_err sma_store_pump_chat(struct sma_store *store, struct store_chat *chat)
{
    struct store_row *row = first_open(chat);
    if (row == NULL || row->is_handed || row->due_ns != 0)
        return SMA_ERR_OK;
    struct store_lane *lane = &store->outbox->lanes[row->adapter];
    if (lane->credits == 0 || !may_hand_out(store)) {
        sma_store_wait_for_credit(lane, chat);
        return SMA_ERR_OK;
    }
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = take_credit(store, row);
    if (err != SMA_ERR_OK)
        return err;
    struct hand_out out = {.store = store, .row = row};
    sma_buf_init(&out.card_id, SMA_ID_BYTES_MAX);
    sma_buf_init(&out.text, STORE_CARD_BYTES_MAX);
    err = find_card(&out);
    if (err == SMA_ERR_OK)
        err = sma_state_outbox_get(store->state, row->id, send_stored, &out);
    sma_buf_fini(&out.card_id);
    sma_buf_fini(&out.text);
    if (err != SMA_ERR_OK || row->is_given_back)
        return err; /* its row says "begun" already: nothing is written, nothing synced */
    out.begun.state = SMA_DELIVERY_BEGUN;
    out.begun.is_part_begun = true;
    out.begun.error = SMA_STR("");
    return sma_state_outbox_update(store->state, &out.begun);
}

static enum sma_err pump(struct sma_store *store)
{
    if (!may_hand_out(store))
        return SMA_ERR_OK;
    for (uint32_t i = 0; i < store->adapter_count; i++) {
        struct store_lane *lane = &store->outbox->lanes[i];
        while (lane->credits > 0 && lane->waiting_first != NULL) {
            enum sma_err err = sma_store_pump_chat(store, take_waiting(lane));
            if (err != SMA_ERR_OK)
                return err;
        }
    }
    return SMA_ERR_OK;
}

/* What a card says; everything else is its own text. */
static SMA_CHECKED enum sma_err put_line_text(struct sma_buf *buf, uint8_t intent,
                                              struct sma_str text)
{
    if (intent != SMA_INTENT_APPROVAL_REQUEST && intent != SMA_INTENT_APPROVAL_OUTCOME) {
        sma_buf_put_str(buf, text);
        return buf->err;
    }
    struct sma_card card;
    enum sma_err err = sma_card_parse(text, &card);
    if (err == SMA_ERR_OK) {
        sma_buf_put_str(buf, card.text);
        err = buf->err;
    }
    sma_card_fini(&card);
    return err;
}

static bool is_notice(uint8_t intent)
{
    return intent == SMA_INTENT_NOTICE || intent == SMA_INTENT_APPROVAL_REQUEST ||
           intent == SMA_INTENT_APPROVAL_OUTCOME;
}

/* -- adding ----------------------------------------------------------------------------------------------------- */
enum sma_err sma_store_delivery_line(struct sma_store *store, struct store_chat *chat,
                                     const struct sma_route *route, struct sma_str text,
                                     uint8_t intent, uint64_t run_seq, int64_t wall_ms)
{
    if (intent == SMA_INTENT_REACTION)
        return SMA_ERR_OK;
    struct sma_buf meta;
    char bytes[SMA_ID_BYTES_MAX * 6 + 64];
    sma_buf_init(&meta, sizeof bytes);
    sma_buf_put_text(&meta, is_notice(intent) ? "{\"notice\":true,\"via\":\"tool\",\"channel\":"
                                              : "{\"via\":\"tool\",\"channel\":");
    sma_buf_put_json_string(&meta, route->channel);
    sma_buf_put_char(&meta, '}');
    if (meta.err != SMA_ERR_OK || meta.len > sizeof bytes) {
        enum sma_err err = meta.err != SMA_ERR_OK ? meta.err : SMA_ERR_TOOBIG;
        sma_buf_fini(&meta);
        return err;
    }
    memcpy(bytes, meta.ptr, meta.len);
    struct sma_str meta_json = {bytes, meta.len};
    sma_buf_fini(&meta);
    struct sma_buf said;
    sma_buf_init(&said, SMA_REQUEST_BYTES_MAX);
    enum sma_err err = is_notice(intent) ? put_line_text(&said, intent, text) : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = sma_store_add_line(
            store, chat,
            &(struct sma_history_entry){.wall_ms = wall_ms,
                                        .channel = route->channel,
                                        .chat_id = route->chat_id,
                                        .chat_key = sma_store_chat_key(chat),
                                        .user_id = SMA_STR("bot"),
                                        .role = SMA_STR("assistant"),
                                        .text = is_notice(intent) ? sma_buf_str(&said) : text,
                                        .meta_json = meta_json},
            run_seq);
    sma_buf_fini(&said);
    return err == SMA_ERR_BADINPUT ? SMA_ERR_OK : err; /* not a card: nothing was shown */
}

static enum sma_err read_state(void *user, const struct sma_state_delivery *delivery)
{
    struct sma_step_delivery_state *state = user;
    state->state = delivery->state;
    return SMA_ERR_OK;
}

/* Where a new row stands: sent (stored delivery), failed, begun or waiting. */
static uint8_t decide_state(const struct sma_store *store, const struct store_chat *chat,
                            int adapter, struct sma_str *error)
{
    *error = SMA_STR("");
    if (adapter < 0) {
        *error = SMA_STR("this channel is not configured");
        return SMA_DELIVERY_FAILED;
    }
    if (store->adapters[adapter].adapter->ops->capabilities.is_stored_delivery)
        return SMA_DELIVERY_SENT;
    if (chat->row_count >= SMA_OUTBOX_CHAT_COUNT_MAX) {
        *error = SMA_STR("too many messages are waiting to be delivered to this chat");
        return SMA_DELIVERY_FAILED;
    }
    bool is_turn = first_open(chat) == NULL && store->outbox->lanes[adapter].credits > 0 &&
                   may_hand_out(store);
    return is_turn ? SMA_DELIVERY_BEGUN : SMA_DELIVERY_WAITING;
}

static SMA_CHECKED enum sma_err enter_row(struct sma_store *store,
                                          const struct store_delivery_facts *facts,
                                          const struct sma_step_delivery *from,
                                          const struct sma_state_delivery *delivery, int adapter)
{
    struct store_chat *chat = delivery->chat->user;
    struct store_row *row;
    enum sma_err err = add_row(store, chat, delivery->outbox_id, adapter, &row);
    if (err != SMA_ERR_OK)
        return err;
    row->is_new = true;
    row->has_waiter = facts->has_waiter;
    err = touch(store, row);
    if (err != SMA_ERR_OK) {
        drop_row(store, row);
        store->outbox->open_count--;
        return err;
    }
    if (delivery->state == SMA_DELIVERY_WAITING) {
        if (first_open(chat) == row)
            sma_store_wait_for_credit(&store->outbox->lanes[adapter], chat);
        return SMA_ERR_OK;
    }
    err = take_credit(store, row);
    return err != SMA_ERR_OK ? err : send_row(store, row, &from->route, delivery, facts->stamps);
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
        err = sma_store_bury_approvals(store, chat);
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

    sma_buf_clear(&store->facts_buf);
    sma_store_facts_put(&store->facts_buf, &(struct store_facts){.route = from->route});
    if (store->facts_buf.err != SMA_ERR_OK)
        return store->facts_buf.err;
    struct sma_state_delivery delivery = {.outbox_id = id,
                                          .chat = state_chat,
                                          .channel = from->route.channel,
                                          .route = sma_buf_str(&store->facts_buf),
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
        return sma_store_delivery_line(store, chat, &from->route, from->text, from->intent,
                                       facts->seq, sma_ctx_wall(store->ctx));
    }
    if (delivery.state == SMA_DELIVERY_FAILED)
        return SMA_ERR_OK;
    return enter_row(store, facts, from, &delivery, adapter);
}

/* -- ending ----------------------------------------------------------------------------------------------------- */
enum sma_err sma_store_finish_row(struct sma_store *store, struct store_row *row)
{
    enum sma_err err = touch(store, row);
    if (err != SMA_ERR_OK)
        return err;
    row->is_finished = true;
    store->outbox->open_count--;
    if (row->is_handed)
        store->outbox->lanes[row->adapter].credits++;
    return SMA_ERR_OK;
}

/* One that was begun before this start may have been seen: it is repeated, not called failed. */
static bool is_unseen(const struct store_row *row)
{
    return !row->is_finished && !row->is_handed && !row->is_repeat && !row->is_attempted;
}

enum sma_err sma_store_give_up_row(struct sma_store *store, struct store_row *row)
{
    struct sma_state_delivery stopped = {.outbox_id = row->id,
                                         .state = SMA_DELIVERY_FAILED,
                                         .error = SMA_STR("stopped"),
                                         .ended_ms = sma_ctx_wall(store->ctx)};
    enum sma_err err = sma_state_outbox_update(store->state, &stopped);
    if (err == SMA_ERR_OK) /* it may have stood in the way of the next one */
        sma_store_wait_for_credit(&store->outbox->lanes[row->adapter], row->chat);
    return err == SMA_ERR_OK ? sma_store_finish_row(store, row) : err;
}

/* The dispatcher has it and ends it, unless it is on its way back. */
static SMA_CHECKED enum sma_err note_stop(struct sma_store *store, struct store_row *row)
{
    if (row->is_finished || !row->is_handed || row->is_stopped)
        return SMA_ERR_OK;
    enum sma_err err = touch(store, row);
    if (err == SMA_ERR_OK)
        row->is_stopped = row->is_stopped_now = true;
    return err;
}

enum sma_err sma_store_cancel_rows(struct sma_store *store, struct store_chat *chat, uint64_t mark)
{
    for (struct store_row *row = chat->first; row != NULL; row = row->next) {
        if (sma_state_outbox_seq(row->id) >= mark)
            continue;
        enum sma_err err =
            is_unseen(row) ? sma_store_give_up_row(store, row) : note_stop(store, row);
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_withdraw(struct sma_store *store, uint64_t outbox_id, bool *ret_is_gone)
{
    struct store_row *row = sma_store_map_get(&store->outbox->rows, outbox_id);
    *ret_is_gone = row != NULL && is_unseen(row);
    return *ret_is_gone ? sma_store_give_up_row(store, row) : SMA_ERR_OK;
}

/* -- after the commit or its failure ---------------------------------------------------------------------------- */
static void settle_row(struct sma_store *store, struct store_row *row, bool is_undone)
{
    if (!is_undone) {
        if (row->is_finished) {
            drop_row(store, row);
            return;
        }
        row->is_touched = row->is_new = row->is_handed_now = row->is_stopped_now = false;
        return;
    }
    struct store_chat *chat = row->chat;
    struct store_lane *lane = &store->outbox->lanes[row->adapter];
    if (row->is_finished) {
        store->outbox->open_count++;
        if (row->is_handed)
            lane->credits--;
    }
    if (row->is_handed_now)
        lane->credits++;
    if (row->is_new) {
        store->outbox->open_count--;
        drop_row(store, row);
        return;
    }
    if (row->is_handed_now)
        row->is_handed = false;
    if (row->is_stopped_now)
        row->is_stopped = row->is_stopped_now = false;
    row->is_touched = row->is_handed_now = row->is_finished = false;
    if (!row->is_handed)
        sma_store_wait_for_credit(lane, chat);
}

/* A chat whose rows were all undone must not wait for a credit: it may be gone in a moment. */
static void drop_idle_waiters(struct store_lane *lane)
{
    struct store_chat *list = lane->waiting_first;
    lane->waiting_first = lane->waiting_last = NULL;
    while (list != NULL) {
        struct store_chat *chat = list;
        list = chat->credit_next;
        chat->is_credit_waiting = false;
        if (first_open(chat) != NULL)
            sma_store_wait_for_credit(lane, chat);
    }
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
    for (uint32_t i = 0; i < store->adapter_count; i++)
        drop_idle_waiters(&store->outbox->lanes[i]);
    const struct store_row *first = first_open(chat);
    if (first != NULL && !first->is_handed)
        sma_store_wait_for_credit(&store->outbox->lanes[first->adapter], chat);
}

static void settle_rows(struct sma_store *store, bool is_undone)
{
    for (uint32_t i = 0; i < store->outbox->touched_count; i++)
        settle_row(store, store->outbox->touched[i], is_undone);
    store->outbox->touched_count = 0;
    for (uint32_t i = 0; is_undone && i < store->adapter_count; i++)
        drop_idle_waiters(&store->outbox->lanes[i]);
}

/* -- start ------------------------------------------------------------------------------------------------------ */
/* What was begun was the first row of its chat, whatever message it belongs to: its next part comes before the others. */
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

static enum sma_err load_row(void *user, const struct sma_state_delivery *delivery)
{
    struct sma_store *store = user;
    int adapter = sma_store_adapter_of(store, &(struct sma_route){.channel = delivery->channel});
    if (adapter < 0)
        return SMA_ERR_OK; /* its channel is not configured now: the row waits for a start with it */
    struct store_chat *chat = sma_store_chat(store, delivery->chat);
    struct store_row *row;
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = add_row(store, chat, delivery->outbox_id, adapter, &row);
    if (err != SMA_ERR_OK)
        return err;
    /* The agent asks for the outcome of what its resumed run had sent. */
    row->has_waiter = sma_state_outbox_step(delivery->outbox_id) != STORE_NOTICE_STEP &&
                      sma_state_outbox_call(delivery->outbox_id) < STORE_CARD_CALL;
    row->is_repeat = delivery->is_part_begun;
    if (row->is_repeat)
        move_to_front(row);
    if (first_open(chat) == row)
        sma_store_wait_for_credit(&store->outbox->lanes[adapter], chat);
    return SMA_ERR_OK;
}

/* The rows that are open stay in memory after an undo; what was undone is reversed there. */
static enum sma_err load(struct sma_store *store)
{
    if (store->outbox->is_loaded)
        return SMA_ERR_OK;
    store->outbox->is_loaded = true;
    return sma_state_each_outbox_open(store->state, load_row, store);
}

struct store_outbox_counts sma_store_outbox_counts(const struct sma_store *store)
{
    return (struct store_outbox_counts){.open = store->outbox->open_count,
                                        .held = store->outbox->held_count};
}

/* -- the part --------------------------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->outbox = calloc(1, sizeof *store->outbox);
    if (store->outbox == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < store->adapter_count; i++)
        store->outbox->lanes[i].credits = SMA_DELIVER_CREDIT_COUNT;
    return SMA_ERR_OK;
}

static uint64_t wake(const struct sma_store *store)
{
    return sma_store_is_retrying(store) || sma_store_disk_level(store) >= 2
               ? UINT64_MAX
               : sma_store_held_rows_wake(store);
}

static void fini(struct sma_store *store)
{
    for (struct store_chat *chat = store->chats; chat != NULL; chat = chat->next)
        while (chat->first != NULL) {
            struct store_row *row = chat->first;
            chat->first = row->next;
            free(row);
        }
    sma_store_map_fini(&store->outbox->rows);
    free(store->outbox->touched);
    free(store->outbox);
}

static void forget(struct sma_store *store, const struct store_marks *to)
{
    (void)to;
    settle_rows(store, true);
}

static enum sma_err expire(struct sma_store *store)
{
    sma_store_expire_held_rows(store);
    return SMA_ERR_OK;
}

static void settle(struct sma_store *store)
{
    settle_rows(store, false);
}

const struct store_part sma_store_outbox_part = {.name = "outbox",
                                                 .create = create,
                                                 .load = load,
                                                 .forget = forget,
                                                 .expire = expire,
                                                 .complete = pump,
                                                 .settle = settle,
                                                 .wake = wake,
                                                 .fini = fini};
