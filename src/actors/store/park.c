/*
 * A step that parks its run: the step, the request, the state of the row and the cards are one
 * transaction; the run's slot is free with it, its chat stays busy.
 *
 * Cards go to the run's own chat, and when nobody there may decide, to the private chats of owners,
 * then administrators. Outcomes go wherever a card went.
 */
#include "consent_priv.h"
#include "intake.h"
#include "outbox.h"
#include "people.h"
#include "runs.h"
#include "store.h"

#include "runtime/agent/codec.h"

#define STORAGE_BYTES_MAX (64 * 1024)

/* -- cards ------------------------------------------------------------------------------------- */

static SMA_CHECKED enum sma_err send_request(struct sma_store *store, struct store_case *it,
                                             const struct sma_route *to, uint32_t call,
                                             bool may_chat_decide)
{
    struct sma_card_facts card;
    struct sma_buf text;
    bool is_waiting = false;
    sma_store_fill_card(store, it, to, &card);
    card.may_chat_decide = may_chat_decide;
    sma_buf_init(&text, STORE_CARD_BYTES_MAX);
    sma_card_put_request(&text, &card);
    enum sma_err err = text.err;
    if (err == SMA_ERR_OK)
        err = sma_store_send_card(store, it,
                                  &(struct sma_step_delivery){.call = call,
                                                              .intent = SMA_INTENT_APPROVAL_REQUEST,
                                                              .route = *to,
                                                              .text = sma_buf_str(&text)},
                                  it->approval->step, &is_waiting);
    sma_buf_fini(&text);
    /* Delivered by being stored, or never to be delivered: nothing tells later that the clock may
     * start. */
    if (err == SMA_ERR_OK && !is_waiting)
        err = sma_store_approval_start_clock(store, it->approval);
    return err;
}

/* Owners and administrators who are told at home. */
static SMA_CHECKED enum sma_err send_to_approvers(struct sma_store *store, struct store_case *it)
{
    struct sma_route homes[SMA_APPROVAL_HOME_COUNT_MAX];
    struct sma_buf storage;
    bool is_role_open;
    sma_buf_init(&storage, STORAGE_BYTES_MAX);
    uint32_t count = sma_store_approver_routes(store, sma_store_chat_key(it->approval->chat), homes,
                                               SMA_APPROVAL_HOME_COUNT_MAX, &storage);
    enum sma_err err = SMA_ERR_OK;
    for (uint32_t i = 0; i < count && err == SMA_ERR_OK; i++) {
        struct sma_state_chat *chat = NULL;
        if (sma_store_permitted(store, it, &homes[i], &is_role_open) == 0)
            continue;
        err = send_request(store, it, &homes[i], STORE_CARD_CALL + 1 + i, true);
        if (err == SMA_ERR_OK)
            chat = sma_state_chat_get(store->state, homes[i].chat_key);
        if (chat != NULL && chat->user != NULL)
            err = sma_store_approval_show(store, it->approval, chat->user, (uint8_t)(1 + i));
    }
    sma_buf_fini(&storage);
    return err;
}

/* In a group an administrator may always come, but no owner need be in it. */
static bool has_owner_item(const struct store_case *it)
{
    for (uint32_t i = 0; i < it->request.item_count; i++)
        if (it->request.items[i].is_owner_only)
            return true;
    return false;
}

/* In a group somebody may always come who may; in private only its one person. */
static SMA_CHECKED enum sma_err send_cards(struct sma_store *store, struct store_case *it)
{
    bool is_role_open;
    uint64_t all = sma_store_case_mask(it);
    uint64_t own = sma_store_permitted(store, it, &it->facts.route, &is_role_open);
    bool may_chat_decide = it->facts.is_group || own != 0;
    enum sma_err err = send_request(store, it, &it->facts.route, STORE_CARD_CALL, may_chat_decide);
    if (err == SMA_ERR_OK && own != all && (!it->facts.is_group || has_owner_item(it)))
        err = send_to_approvers(store, it);
    return err;
}

/* -- outcomes ---------------------------------------------------------------------------------- */

/* -- parking ----------------------------------------------------------------------------------- */
static void make_id(struct sma_store *store, char id[SMA_STATE_APPROVAL_ID_BYTES + 1])
{
    uint8_t bytes[SMA_STATE_APPROVAL_ID_BYTES / 2];
    store->sys->random_bytes(store->sys->self, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
}

/* It is asked about now, for as long as people like: whoever waits for the result, or for that of
 * a message behind it, is told so. */
static void tell_waiters(struct sma_store *store, const struct store_run *run)
{
    uint32_t place = 0;
    uint64_t seq;
    bool is_held;
    while (sma_queue_each(store->queue, run->chat->id, &place, &seq, &is_held))
        sma_store_note_finished(store, seq);
    sma_store_note_finished(store, run->seq);
    for (uint32_t i = 0; i < run->collected_count; i++)
        sma_store_note_finished(store, run->collected[i]);
}

static void audit_request(struct sma_store *store, const struct store_case *it)
{
    struct sma_buf *buf = &store->scratch.text;
    sma_buf_clear(buf);
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "id");
    sma_buf_put_json_string(buf, sma_str(it->approval->id));
    sma_buf_put_json_key(buf, "chat");
    sma_buf_put_json_string(buf, sma_store_chat_key(it->approval->chat));
    sma_buf_put_json_key(buf, "asker");
    sma_buf_put_json_string(buf, sma_store_name_of(&it->facts.route));
    sma_buf_put_json_key(buf, "items");
    sma_buf_put_char(buf, '[');
    for (uint32_t i = 0; i < it->request.item_count; i++) {
        const struct sma_request_item *item = &it->request.items[i];
        sma_buf_put_text(buf, i == 0 ? "{" : ",{");
        sma_buf_put_json_key(buf, "tool");
        sma_buf_put_json_string(buf, item->tool);
        sma_buf_put_json_key(buf, "title");
        sma_buf_put_json_string(buf, item->title);
        sma_buf_put_json_key(buf, "rule");
        sma_buf_put_json_string(buf, item->rule);
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_text(buf, "]}");
    sma_store_audit(store, "approval: asked", sma_buf_str(buf));
}

static SMA_CHECKED enum sma_err ask_people(struct sma_store *store, struct store_run *run,
                                           const struct sma_step *step)
{
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
    make_id(store, id);
    enum sma_err err = sma_state_approval_add(
        store->state, &(struct sma_state_approval){.id = sma_str(id),
                                                   .run_seq = run->seq,
                                                   .chat = run->chat->state,
                                                   .step = step->number,
                                                   .created_ms = sma_ctx_wall(store->ctx),
                                                   .left_ms = -1,
                                                   .request = step->request_json});
    struct store_approval *approval;
    if (err == SMA_ERR_OK)
        err = sma_store_approval_add(
            store,
            &(struct store_approval_facts){
                .id = sma_str(id), .chat = run->chat, .seq = run->seq, .step = step->number},
            &approval);
    if (err != SMA_ERR_OK)
        return err;
    struct store_case it;
    err = sma_store_case_open(store, approval, &it);
    if (err != SMA_ERR_OK)
        return err;
    err = send_cards(store, &it);
    audit_request(store, &it);
    sma_store_case_fini(&it);
    sma_store_touch_projection(store, id);
    return err;
}

/* Nobody can be asked: everything is refused, and the run goes on at once. */
static SMA_CHECKED enum sma_err refuse_all(struct sma_store *store, const struct store_run *run,
                                           const struct sma_step *step,
                                           const struct sma_request *request, struct sma_str why)
{
    struct sma_stored_decision list[SMA_TOOL_CALL_COUNT_MAX];
    struct sma_buf data;
    for (uint32_t i = 0; i < request->item_count; i++)
        list[i] = (struct sma_stored_decision){.call = request->items[i].call, .response = why};
    sma_buf_init(&data, SMA_STEP_BYTES_MAX);
    sma_codec_put_decisions(&data, list, request->item_count);
    enum sma_err err = data.err;
    if (err == SMA_ERR_OK)
        err = sma_state_step_add(store->state, run->seq, step->number + 1, SMA_STEP_DECISION,
                                 sma_buf_str(&data));
    sma_buf_fini(&data);
    sma_ctx_log(store->ctx, SMA_LOG_WARN, "approval: a request of %s is refused: %.*s",
                run->chat->key, (int)why.len, why.ptr);
    return err;
}

enum sma_err sma_store_park(struct sma_store *store, struct store_run *run,
                            const struct sma_step *step)
{
    struct sma_request request = {0};
    struct store_chat *chat = run->chat;
    uint64_t seq = run->seq;
    enum sma_err err = sma_request_parse(step->request_json, &request);
    bool is_full = store->consent->count >= SMA_APPROVAL_COUNT_MAX ||
                   step->number >= SMA_STATE_STEP_NUMBER_MAX - 1;
    if (err == SMA_ERR_OK)
        err = sma_store_park_rows(store, run);
    tell_waiters(store, run);
    if (err == SMA_ERR_OK)
        err = is_full ? refuse_all(store, run, step, &request,
                                   SMA_STR("too many requests wait for a decision"))
                      : ask_people(store, run, step);
    sma_request_fini(&request);
    if (err == SMA_ERR_OK)
        err = sma_store_leave_run(store, run);
    sma_store_note_asks(run);
    if (err == SMA_ERR_OK && is_full) {
        sma_store_free_chat(store, chat);
        err = sma_queue_push_resumed(store->queue, chat->id, seq);
    }
    return err;
}

/* -- what HTTP callers are told ---------------------------------------------------------------- */
enum sma_err sma_store_put_explanation(struct sma_store *store,
                                       const struct store_approval *approval, struct sma_buf *text)
{
    struct sma_state_rows rows = {0};
    struct sma_state_delivery delivery;
    struct sma_card card = {0};
    uint64_t id = sma_state_outbox_id(approval->seq, approval->step, STORE_CARD_CALL);
    enum sma_err err = sma_state_delivery_read(store->state, id, &rows, &delivery);
    if (err == SMA_ERR_OK)
        err = sma_card_parse(delivery.text, &card);
    if (err == SMA_ERR_OK) {
        sma_buf_put_str(text, card.plain.len > 0 ? card.plain : card.text);
        err = text->err;
    }
    sma_card_fini(&card);
    sma_state_rows_free(&rows);
    return err;
}
