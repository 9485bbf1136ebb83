/*
 * Handing a delivery out: its row is read, "begun" is written, DELIVER leaves with the commit.
 *
 * A row whose bytes cannot be made out concerns its own chat: it is finished as failed, the chat's
 * next one goes. What is read is read before anything is written, so that a damaged row leaves
 * nothing behind in the open transaction.
 */
#include "consent.h"
#include "facts.h"
#include "intake.h"
#include "item.h"
#include "outbox.h"
#include "outbox_priv.h"
#include "record.h"
#include "runs.h"
#include "store.h"
#include "trouble.h"

#include "runtime/approval/card.h"
#include "runtime/approval/consent.h"
#include "runtime/chat/state_read.h"
#include "sma/hooks.h"

#define CARD_BYTES_MAX ((size_t)8 * 1024 * 1024)

void sma_store_follow_route(const struct sma_state_chat *chat, struct sma_route *route)
{
    route->chat_key = chat->key;
    if (chat->place.len == 0 || sma_str_is_equal(chat->place, route->chat_id))
        return;
    route->chat_id = chat->place;
    route->message_id = SMA_STR(""); /* the same number may be another message there */
}

bool sma_store_is_row_damage(const struct sma_store *store, enum sma_err err)
{
    return err != SMA_ERR_UNSUPPORTED && sma_store_is_damage(store, err);
}

#define STORE_STEP_LAST 1023u /* of an outbox id */

/* -- DELIVER ----------------------------------------------------------------------------------- */
/* How many parts with a smaller id answered message seq in its chat. The rows of a chat go out one
 * after the other, so every earlier one is settled by now and the count is the same when a row is
 * handed out again after a restart. What cannot be read is not known: the row goes. */
static SMA_CHECKED enum sma_err count_replies(struct sma_store *store,
                                              const struct store_chat *chat, uint64_t before_id,
                                              uint32_t *ret_count)
{
    *ret_count = 0;
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_deliveries deliveries;
    enum sma_err err = sma_state_deliveries_read(store->state, sma_state_outbox_seq(before_id),
                                                 &rows, &deliveries);
    for (size_t i = 0; err == SMA_ERR_OK && i < deliveries.count; i++) {
        const struct sma_state_delivery *delivery = &deliveries.items[i];
        bool is_before = delivery->outbox_id < before_id && delivery->chat == chat->state;
        if (is_before &&
            (delivery->state == SMA_DELIVERY_SENT || delivery->state == SMA_DELIVERY_UNKNOWN))
            *ret_count += delivery->part_done_count > 0 ? delivery->part_done_count : 1;
    }
    return sma_store_is_row_damage(store, err) ? SMA_ERR_OK : err;
}

uint32_t sma_store_replies_left(struct sma_store *store, const struct store_chat *chat,
                                uint64_t seq, const struct sma_route *route)
{
    uint32_t count = 0;
    int adapter = sma_store_adapter_of(store, route);
    if (adapter < 0 || store->adapters[adapter].adapter->ops->replies_max == NULL)
        return 0;
    uint32_t max = store->adapters[adapter].adapter->ops->replies_max(route);
    uint64_t behind_all = sma_state_outbox_id(seq, STORE_STEP_LAST, 0);
    if (count_replies(store, chat, behind_all, &count) != SMA_ERR_OK || count >= max)
        return 1; /* the platform may count otherwise: it is worth a try */
    return max - count;
}

/* DONE's row is handed out by the transaction that ends the run, so an open run has made texts
 * before its last one only. */
bool sma_store_is_interim(struct sma_store *store, const struct store_row *row)
{
    uint64_t seq = sma_state_outbox_seq(row->id);
    struct sma_state_head head;
    if (!row->has_waiter || sma_state_outbox_call(row->id) >= STORE_CARD_CALL)
        return false;
    for (const struct store_row *later = row->next; later != NULL; later = later->next)
        if (sma_state_outbox_seq(later->id) == seq &&
            sma_state_outbox_step(later->id) != STORE_NOTICE_STEP)
            return true;
    return sma_state_head_get(store->state, seq, &head) == SMA_ERR_OK &&
           sma_row_is_open(head.state);
}

/* Words of a run that its end makes old: a text, or that it waits for its model. Not what it asks
 * people, which it waits for. */
static bool is_passing(const struct store_row *row, uint8_t intent)
{
    return intent == SMA_INTENT_ASSISTANT_TEXT ||
           (intent == SMA_INTENT_NOTICE &&
            sma_state_outbox_call(row->id) < SMA_TOOL_CALL_COUNT_MAX);
}

static SMA_CHECKED enum sma_err send_row(struct sma_store *store, const struct store_row *row,
                                         const struct sma_route *route,
                                         const struct sma_state_delivery *delivery,
                                         const struct sma_stamps *stamps)
{
    uint32_t reply_count = 0;
    if (store->adapters[row->adapter].adapter->ops->replies_max != NULL)
        SMA_TRY(count_replies(store, row->chat, row->id, &reply_count));
    struct sma_route to = *route;
    to.adapter = (uint8_t)store->adapters[row->adapter].adapter->actor;
    const struct sma_deliver deliver = {
        .outbox_id = row->id,
        .seq = sma_state_outbox_seq(row->id),
        .route = to,
        .text = delivery->text,
        .language = sma_str(sma_store_language(store, &to) == SMA_LANGUAGE_ZH ? "zh" : "en"),
        .intent = delivery->intent,
        .renderer_version = delivery->renderer_version,
        .part_done_count = delivery->part_done_count,
        .is_repeat = row->is_repeat,
        .has_waiter = row->has_waiter,
        .salt = delivery->salt,
        .attempt_count = delivery->attempt_count,
        .waited_ms = row->out != NULL ? row->out->waited_ms : 0,
        .made_wall_ms = row->made_ms,
        .reply_count = reply_count,
        .is_interim = is_passing(row, delivery->intent) && sma_store_is_interim(store, row),
        .is_aside = row->steps_aside,
        .stamps = stamps != NULL ? *stamps : (struct sma_stamps){0},
    };
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_deliver(&deliver));
    sma_store_send_later(store, SMA_ACTOR_DISPATCHER, &msg);
    return SMA_ERR_OK;
}

/* The last thing that can be refused, and the first that is seen: nothing of the row leaves when it
 * is. */
static SMA_CHECKED enum sma_err take_credit(struct sma_store *store, struct store_row *row)
{
    SMA_TRY(sma_store_note_out(store, row, STORE_OUT_HANDED));
    row->is_handed = true;
    store->outbox->lanes[row->adapter].credits--;
    return SMA_ERR_OK;
}

enum sma_err sma_store_hand_out_new(struct sma_store *store, struct store_row *row,
                                    const struct sma_route *route,
                                    const struct sma_state_delivery *delivery,
                                    const struct sma_stamps *stamps)
{
    enum sma_err err = take_credit(store, row);
    return err != SMA_ERR_OK ? err : send_row(store, row, route, delivery, stamps);
}

/* -- a row's turn ------------------------------------------------------------------------------ */
/* What its row says, and what is sent. */
struct hand_out
{
    struct sma_store *store;
    struct store_row *row;
    struct sma_state_rows rows;
    struct sma_state_delivery delivery;
    struct store_facts facts;
    struct sma_buf card_id; /* the platform's id of the card that this outcome is about */
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

/* A card that was still on its way when it was decided about has arrived by now: a chat's rows go
 * one after the other. One that cannot be read is not found: the outcome is a message of its
 * own. */
static SMA_CHECKED enum sma_err find_card(struct hand_out *out)
{
    uint64_t id = out->row->id;
    uint32_t step = sma_state_outbox_step(id), call = sma_state_outbox_call(id);
    if (call < STORE_CARD_CALL || step < 2)
        return SMA_ERR_OK;
    struct sma_state_delivery request;
    enum sma_err err = sma_state_delivery_read(
        out->store->state, sma_state_outbox_id(sma_state_outbox_seq(id), step - 1, call),
        &out->rows, &request);
    if (err == SMA_ERR_OK)
        err = sma_store_card_id(&request, &out->card_id);
    return sma_store_is_row_damage(out->store, err) ? SMA_ERR_OK : err;
}

/* A card that cannot be shown is as bad as a route that leads nowhere. */
static SMA_CHECKED enum sma_err complete_card(struct hand_out *out)
{
    struct sma_state_delivery *delivery = &out->delivery;
    struct sma_card card;
    if (delivery->intent != SMA_INTENT_APPROVAL_REQUEST &&
        delivery->intent != SMA_INTENT_APPROVAL_OUTCOME)
        return SMA_ERR_OK;
    enum sma_err err = sma_card_parse(delivery->text, &card);
    if (err != SMA_ERR_OK)
        return err;
    if (delivery->intent == SMA_INTENT_APPROVAL_OUTCOME && out->card_id.len > 0) {
        card.message_id = sma_buf_str(&out->card_id);
        sma_card_put(&out->text, &card);
        delivery->text = sma_buf_str(&out->text);
    }
    sma_card_fini(&card);
    return out->text.err;
}

/* @return OK | UNSUPPORTED: of a newer version | row damage | weather */
static SMA_CHECKED enum sma_err read_row(struct hand_out *out)
{
    struct sma_state_delivery *delivery = &out->delivery;
    enum sma_err err =
        sma_state_delivery_read(out->store->state, out->row->id, &out->rows, delivery);
    if (err != SMA_ERR_OK)
        return err;
    if (sma_store_facts_is_newer(delivery->route))
        return SMA_ERR_UNSUPPORTED;
    if (delivery->intent > SMA_INTENT_OUTPUT || delivery->chat != out->row->chat->state)
        return SMA_ERR_CORRUPT;
    err = sma_store_facts_get(delivery->route, &out->facts);
    if (err == SMA_ERR_OK)
        err = find_card(out);
    if (err == SMA_ERR_OK)
        err = complete_card(out);
    if (err == SMA_ERR_OK)
        sma_store_follow_route(delivery->chat, &out->facts.route);
    return err;
}

static SMA_CHECKED enum sma_err begin_row(struct hand_out *out)
{
    struct sma_store *store = out->store;
    struct store_row *row = out->row;
    bool is_given_back = row->out != NULL;
    /* Given back: it was begun, but nothing of it can have arrived. */
    row->is_repeat = out->delivery.is_part_begun && !is_given_back;
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK && !is_given_back) { /* otherwise its row says "begun" already */
        struct sma_state_delivery begun = out->delivery;
        begun.state = SMA_DELIVERY_BEGUN;
        begun.is_part_begun = true;
        begun.error = SMA_STR("");
        err = sma_state_outbox_update(store->state, &begun);
    }
    if (err == SMA_ERR_OK)
        err = take_credit(store, row);
    if (err != SMA_ERR_OK)
        return err;
    const struct store_run *run = sma_store_run_find(store, sma_state_outbox_seq(row->id));
    return send_row(store, row, &out->facts.route, &out->delivery,
                    run != NULL ? &run->stamps : NULL);
}

static SMA_CHECKED enum sma_err hand_out(struct sma_store *store, struct store_row *row,
                                         enum sma_err *ret_read)
{
    struct hand_out out = {.store = store, .row = row};
    sma_buf_init(&out.card_id, SMA_ID_BYTES_MAX);
    sma_buf_init(&out.text, CARD_BYTES_MAX);
    *ret_read = read_row(&out);
    enum sma_err err = *ret_read == SMA_ERR_OK ? begin_row(&out) : SMA_ERR_OK;
    sma_buf_fini(&out.card_id);
    sma_buf_fini(&out.text);
    sma_state_rows_free(&out.rows);
    return err;
}

static SMA_CHECKED enum sma_err end_damaged(struct sma_store *store, uint64_t id,
                                            struct sma_str chat_key)
{
    char what[300];
    snprintf(what, sizeof what, "delivery %llu of %.*s cannot be read and was given up",
             (unsigned long long)id, chat_key.len > 0 ? (int)chat_key.len : 24,
             chat_key.len > 0 ? chat_key.ptr : "a chat that is not known");
    sma_store_note_error(store, what);
    sma_store_trouble(
        store,
        &(struct store_trouble){
            .name = "delivery",
            .chat_key = chat_key,
            .what = what,
            .remedy =
                "ask the agent again; if there are more, restore .ship/state.db from a backup",
            .is_over = true});
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_outbox_fail(store->state, id, SMA_STR("damaged"), sma_ctx_wall(store->ctx));
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static SMA_CHECKED enum sma_err end_damaged_row(struct sma_store *store, struct store_row *row)
{
    enum sma_err err = end_damaged(store, row->id, sma_store_chat_key(row->chat));
    return err == SMA_ERR_OK ? sma_store_finish_row(store, row) : err;
}

/* The first open row of a chat, if it is not out already and there is a credit. */
static SMA_CHECKED enum sma_err pump_chat(struct sma_store *store, struct store_chat *chat)
{
    struct store_row *row;
    store->outbox->is_changed = true; /* the chat has left its line */
    while ((row = sma_store_first_row(chat)) != NULL && !row->is_handed && row->due_ns == 0) {
        if (store->outbox->lanes[row->adapter].credits == 0) {
            sma_store_wait_for_credit(store, chat);
            return SMA_ERR_OK;
        }
        enum sma_err read, err = hand_out(store, row, &read);
        if (read == SMA_ERR_OK)
            return err;
        if (read == SMA_ERR_UNSUPPORTED)
            sma_store_set_row_aside(store, row, SMA_STR(""));
        else if (sma_store_is_row_damage(store, read))
            err = end_damaged_row(store, row);
        else
            err = read;
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

static struct store_chat *take_waiting(struct store_lane *lane)
{
    struct store_chat *chat = lane->waiting_first;
    lane->waiting_first = chat->credit_next;
    if (lane->waiting_first == NULL)
        lane->waiting_last = NULL;
    chat->is_credit_waiting = false;
    return chat;
}

static SMA_CHECKED enum sma_err end_lost_rows(struct sma_store *store)
{
    struct store_outbox *outbox = store->outbox;
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && outbox->lost_count > 0) {
        outbox->is_changed = true;
        err = end_damaged(store, outbox->lost[outbox->lost_count - 1], SMA_STR(""));
        outbox->lost_count--;
    }
    return err;
}

enum sma_err sma_store_pump_outbox(struct sma_store *store)
{
    if (!sma_store_may_write(store))
        return SMA_ERR_OK;
    enum sma_err err = end_lost_rows(store);
    if (err == SMA_ERR_OK)
        err = sma_store_expire_aside_rows(store);
    for (uint32_t i = 0; i < store->adapter_count; i++) {
        struct store_lane *lane = &store->outbox->lanes[i];
        while (err == SMA_ERR_OK && lane->credits > 0 && lane->waiting_first != NULL)
            err = pump_chat(store, take_waiting(lane));
    }
    return err;
}

/* -- the history line -------------------------------------------------------------------------- */
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

enum sma_err sma_store_delivery_line(struct sma_store *store, struct store_chat *chat,
                                     const struct store_said *what)
{
    const struct sma_route *route = what->route;
    uint8_t intent = what->intent;
    if (intent == SMA_INTENT_REACTION || sma_hook_is_channel(route->channel))
        return SMA_ERR_OK;
    struct sma_buf meta;
    char bytes[SMA_ID_BYTES_MAX * 6 + 64];
    sma_buf_init(&meta, sizeof bytes);
    sma_buf_put_text(&meta, is_notice(intent) ? "{\"notice\":true,\"via\":" : "{\"via\":");
    sma_buf_put_text(&meta,
                     what->is_fallback ? "\"fallback\",\"channel\":" : "\"tool\",\"channel\":");
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
    enum sma_err err = is_notice(intent) ? put_line_text(&said, intent, what->text) : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = sma_store_add_line(
            store, chat,
            &(struct sma_history_entry){.wall_ms = what->wall_ms,
                                        .channel = route->channel,
                                        .chat_id = route->chat_id,
                                        .chat_key = sma_store_chat_key(chat),
                                        .user_id = SMA_STR("bot"),
                                        .role = SMA_STR("assistant"),
                                        .text = is_notice(intent) ? sma_buf_str(&said) : what->text,
                                        .meta_json = meta_json},
            what->run_seq);
    sma_buf_fini(&said);
    return err == SMA_ERR_BADINPUT ? SMA_ERR_OK : err; /* not a card: nothing was shown */
}
