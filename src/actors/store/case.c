/*
 * One request: read from its rows, written back with what was decided, ended. The end appends the
 * decision to the steps of the run and lets the run go on, or cancels it; both tell every place
 * where the request was shown.
 */
#include "consent_priv.h"
#include "intake.h"
#include "outbox.h"
#include "runs_priv.h"
#include "store.h"
#include "trouble.h"

#include "runtime/agent/codec.h"
#include "runtime/json/json_read.h"

#define CASE_BYTES_MAX ((size_t)96 * 1024 * 1024)

/* -- one request ------------------------------------------------------------------------------- */
/* What was decided, one object for each item. */
static SMA_CHECKED enum sma_err read_doc(struct store_case *it, json_t *root)
{
    size_t index;
    json_t *item;
    json_array_foreach(root, index, item)
    {
        if (index >= it->request.item_count)
            break;
        it->items[index] = (struct store_case_item){
            .outcome =
                (uint8_t)sma_json_int(item, "outcome", 0, SMA_REQUEST_CANCELLED, SMA_REQUEST_OPEN),
            .by = sma_json_str(item, "by"),
            .actor = sma_json_str(item, "actor"),
            .via = sma_json_str(item, "via"),
            .response = sma_json_str(item, "response"),
            .at_ms = sma_json_int(item, "at", 0, INT64_MAX, 0),
            .is_by_owner = json_is_true(json_object_get(item, "byOwner"))};
    }
    it->doc = root; /* the slices point into it */
    return json_is_array(root) ? SMA_ERR_OK : SMA_ERR_CORRUPT;
}

static SMA_CHECKED enum sma_err parse_case(struct store_case *it,
                                           const struct sma_state_message *message,
                                           const struct sma_state_approval *row)
{
    json_t *root = NULL;
    it->created_ms = row->created_ms;
    enum sma_err err = sma_store_facts_get(message->facts, &it->facts);
    if (err == SMA_ERR_OK)
        err = sma_request_parse(row->request, &it->request);
    if (err == SMA_ERR_OK && row->doc.len > 0)
        err = sma_json_load(row->doc, &root);
    if (err == SMA_ERR_OK && root != NULL)
        err = read_doc(it, root);
    if (err == SMA_ERR_OK)
        sma_store_follow_route(it->approval->chat->state, &it->facts.route);
    return err == SMA_ERR_BADINPUT ? SMA_ERR_CORRUPT : err;
}

enum sma_err sma_store_case_open(struct sma_store *store, struct store_approval *approval,
                                 struct store_case *ret_case)
{
    struct store_case *it = ret_case;
    struct sma_state_message message;
    struct sma_state_approval row;
    memset(it, 0, sizeof *it);
    it->approval = approval;
    enum sma_err err = approval->is_broken ? SMA_ERR_CORRUPT : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = sma_state_message_read(store->state, approval->seq, &it->rows, &message);
    if (err == SMA_ERR_OK)
        err = sma_state_approval_read(store->state, sma_str(approval->id), &it->rows, &row);
    if (err == SMA_ERR_OK && row.state != SMA_STATE_APPROVAL_OPEN)
        err = SMA_ERR_CORRUPT;
    if (err == SMA_ERR_OK)
        err = parse_case(it, &message, &row);
    if (err == SMA_ERR_OK)
        return err;
    sma_store_case_fini(it);
    bool is_gone = err == SMA_ERR_NOTFOUND || err == SMA_ERR_CORRUPT;
    if (!is_gone || sma_state_is_fatal(store->state))
        return err;
    sma_store_approval_break(store, approval);
    return SMA_ERR_CORRUPT;
}

void sma_store_case_fini(struct store_case *it)
{
    sma_request_fini(&it->request);
    json_decref(it->doc);
    sma_state_rows_free(&it->rows);
}

uint64_t sma_store_case_mask(const struct store_case *it)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < it->request.item_count; i++)
        if (it->items[i].outcome == SMA_REQUEST_OPEN)
            mask |= UINT64_C(1) << i;
    return mask;
}

/* -- writing ----------------------------------------------------------------------------------- */
static void put_doc(struct sma_buf *buf, const struct store_case *it)
{
    sma_buf_put_char(buf, '[');
    for (uint32_t i = 0; i < it->request.item_count; i++) {
        const struct store_case_item *item = &it->items[i];
        sma_buf_put_text(buf, i == 0 ? "{" : ",{");
        sma_buf_put_json_key(buf, "outcome");
        sma_buf_put_u64(buf, item->outcome);
        sma_buf_put_json_key(buf, "by");
        sma_buf_put_json_string(buf, item->by);
        sma_buf_put_json_key(buf, "actor");
        sma_buf_put_json_string(buf, item->actor);
        sma_buf_put_json_key(buf, "via");
        sma_buf_put_json_string(buf, item->via);
        sma_buf_put_json_key(buf, "response");
        sma_buf_put_json_string(buf, item->response);
        sma_buf_put_json_key(buf, "at");
        sma_buf_put_i64(buf, item->at_ms);
        sma_buf_put_json_key(buf, "byOwner");
        sma_buf_put_text(buf, item->is_by_owner ? "true" : "false");
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_char(buf, ']');
}

static SMA_CHECKED enum sma_err write_row(struct sma_store *store, const struct store_case *it,
                                          enum sma_state_approval_state state)
{
    struct sma_buf doc;
    sma_buf_init(&doc, CASE_BYTES_MAX);
    put_doc(&doc, it);
    enum sma_err err = doc.err;
    bool is_open = state == SMA_STATE_APPROVAL_OPEN;
    if (err == SMA_ERR_OK)
        err = sma_state_approval_update(
            store->state,
            &(struct sma_state_approval){.id = sma_str(it->approval->id),
                                         .state = (uint8_t)state,
                                         .left_ms = it->approval->left_ms,
                                         .responded_ms = is_open ? 0 : sma_ctx_wall(store->ctx),
                                         .doc = sma_buf_str(&doc)});
    sma_buf_fini(&doc);
    if (err == SMA_ERR_OK)
        sma_store_touch_projection(store, it->approval->id);
    return err;
}

static SMA_CHECKED enum sma_err add_decision(struct sma_store *store, const struct store_case *it,
                                             uint32_t number)
{
    struct sma_stored_decision list[SMA_TOOL_CALL_COUNT_MAX];
    size_t starts[SMA_TOOL_CALL_COUNT_MAX + 1];
    struct sma_buf words, data;
    sma_buf_init(&words, CASE_BYTES_MAX);
    sma_buf_init(&data, SMA_STEP_BYTES_MAX);
    sma_buf_put_text(&words, "");
    for (uint32_t i = 0; i < it->request.item_count; i++) {
        starts[i] = words.len;
        sma_consent_put_response(&words, (enum sma_request_outcome)it->items[i].outcome,
                                 it->items[i].by, it->items[i].response);
    }
    starts[it->request.item_count] = words.len;
    for (uint32_t i = 0; i < it->request.item_count && words.err == SMA_ERR_OK; i++) {
        list[i] = (struct sma_stored_decision){
            .call = it->request.items[i].call,
            .is_approved = it->items[i].outcome == SMA_REQUEST_APPROVED,
            .is_by_owner = it->items[i].outcome == SMA_REQUEST_APPROVED && it->items[i].is_by_owner,
            .response = {words.ptr + starts[i], starts[i + 1] - starts[i]}};
        memcpy(list[i].digest, it->request.items[i].digest, sizeof list[i].digest);
    }
    enum sma_err err = words.err;
    if (err == SMA_ERR_OK) {
        sma_codec_put_decisions(&data, list, it->request.item_count);
        err = data.err;
    }
    if (err == SMA_ERR_OK)
        err = sma_state_step_add(store->state, it->approval->seq, number, SMA_STEP_DECISION,
                                 sma_buf_str(&data));
    if (err == SMA_ERR_EXISTS) /* its row names another step than the one that asks */
        err = SMA_ERR_CORRUPT;
    sma_buf_fini(&words);
    sma_buf_fini(&data);
    return err;
}

/* The chat is free for the run, unless it waits for another one too (two chats became one). */
static SMA_CHECKED enum sma_err resume(struct sma_store *store, struct store_chat *chat,
                                       uint64_t seq)
{
    sma_store_free_chat(store, chat);
    return seq == 0 ? SMA_ERR_OK : sma_queue_push_resumed(store->queue, chat->id, seq);
}

static void audit_end(struct sma_store *store, const struct store_approval *approval,
                      enum sma_state_approval_state state)
{
    struct sma_buf *buf = &store->scratch.text;
    sma_buf_clear(buf);
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "id");
    sma_buf_put_json_string(buf, sma_str(approval->id));
    sma_buf_put_json_key(buf, "chat");
    sma_buf_put_json_string(buf, sma_store_chat_key(approval->chat));
    sma_buf_put_char(buf, '}');
    if (state == SMA_STATE_APPROVAL_EXPIRED)
        sma_store_audit(store, "approval: expired", sma_buf_str(buf));
    if (state == SMA_STATE_APPROVAL_CANCELLED)
        sma_store_audit(store, "approval: cancelled", sma_buf_str(buf));
}

enum sma_err sma_store_case_close(struct sma_store *store, struct store_case *it,
                                  enum sma_state_approval_state state, struct sma_str by)
{
    struct store_approval *approval = it->approval;
    uint32_t number = approval->step + 1;
    bool goes_on = state != SMA_STATE_APPROVAL_CANCELLED;
    SMA_TRY(goes_on ? add_decision(store, it, number) : SMA_ERR_OK);
    SMA_TRY(write_row(store, it, state));
    SMA_TRY(sma_store_forget_superseded(store, it->approval));
    SMA_TRY(sma_store_send_outcome(store, it, number, by));
    audit_end(store, approval, state);
    struct store_chat *chat = approval->chat;
    uint64_t seq = approval->seq;
    sma_store_approval_end(store, approval);
    it->approval = NULL;
    return resume(store, chat, goes_on ? seq : 0);
}

enum sma_err sma_store_case_write(struct sma_store *store, struct store_case *it, struct sma_str by,
                                  bool *ret_is_closed)
{
    *ret_is_closed = sma_store_case_mask(it) == 0;
    return *ret_is_closed ? sma_store_case_close(store, it, SMA_STATE_APPROVAL_DECIDED, by)
                          : write_row(store, it, SMA_STATE_APPROVAL_OPEN);
}

/* -- damage ------------------------------------------------------------------------------------ */
enum sma_err sma_store_cancel_run(struct sma_store *store, uint64_t seq)
{
    uint64_t collected;
    enum sma_err err = sma_store_cancel_message(store, seq);
    if (err == SMA_ERR_NOTFOUND)
        err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && sma_store_take_collected(store, seq, &collected))
        err = sma_store_cancel_message(store, collected);
    return err;
}

/* Whoever asked for it hears that nothing comes of it; unless nobody can read who that was. */
static SMA_CHECKED enum sma_err tell_abandoned(struct sma_store *store, uint64_t seq)
{
    struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct store_facts facts;
    enum sma_err err = sma_state_message_read(store->state, seq, &rows, &message);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(message.facts, &facts);
    bool is_unknown = err != SMA_ERR_OK && sma_store_is_damage(store, err);
    if (err == SMA_ERR_OK) {
        sma_store_follow_route(message.chat, &facts.route);
        sma_buf_clear(&store->scratch.text);
        sma_notice_format(&store->scratch.text, sma_store_language(store, &facts.route),
                          SMA_NOTICE_GIVEN_UP);
        err = sma_store_tell(store, &facts.route, seq, sma_buf_str(&store->scratch.text));
    }
    sma_state_rows_free(&rows);
    return is_unknown ? SMA_ERR_OK : err;
}

enum sma_err sma_store_abandon(struct sma_store *store, struct store_approval *approval)
{
    struct store_chat *chat = approval->chat;
    uint64_t seq = approval->seq;
    char what[300];
    snprintf(what, sizeof what,
             "request %s of %s cannot be used; its run, message %llu, is given up", approval->id,
             chat->key, (unsigned long long)seq);
    sma_store_trouble(store, &(struct store_trouble){.name = "request",
                                                     .chat_key = sma_store_chat_key(chat),
                                                     .what = what,
                                                     .remedy = "the message has to be sent again",
                                                     .is_over = true});
    enum sma_err err = sma_state_approval_update(
        store->state, &(struct sma_state_approval){.id = sma_str(approval->id),
                                                   .state = SMA_STATE_APPROVAL_CANCELLED,
                                                   .responded_ms = sma_ctx_wall(store->ctx),
                                                   .doc = SMA_STR("[]")});
    if (err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND) /* its id may be what is damaged */
        err = sma_state_asked_drop(store->state, seq);
    if (err == SMA_ERR_OK)
        err = sma_store_forget_superseded(store, approval);
    if (err != SMA_ERR_OK)
        return err;
    sma_store_touch_projection(store, approval->id);
    sma_store_approval_end(store, approval);
    err = sma_store_cancel_run(store, seq);
    if (err == SMA_ERR_OK)
        err = tell_abandoned(store, seq);
    if (err == SMA_ERR_OK)
        sma_store_pardon(store, seq);
    return err == SMA_ERR_OK ? resume(store, chat, 0) : err;
}

/* -- as an item of the batch ------------------------------------------------------------------- */
struct on_request
{
    store_step_fn *step;
    void *ctx;
    uint64_t seq;
};

static enum sma_err do_step(struct sma_store *store, void *ctx)
{
    struct on_request *on = ctx;
    enum sma_err err = sma_store_begin(store);
    return err == SMA_ERR_OK ? on->step(store, on->ctx) : err;
}

static enum sma_err give_up(struct sma_store *store, void *ctx)
{
    const struct on_request *on = ctx;
    struct store_approval *approval = sma_store_approval_of_run(store, on->seq);
    enum sma_err err = sma_store_begin(store);
    return err == SMA_ERR_OK && approval != NULL ? sma_store_abandon(store, approval) : err;
}

enum sma_err sma_store_on_request(struct sma_store *store, struct store_approval *approval,
                                  store_step_fn *step, void *ctx, bool *ret_is_damaged)
{
    struct on_request on = {.step = step, .ctx = ctx, .seq = approval->seq};
    struct store_item item = {.step = do_step,
                              .on_damage = give_up,
                              .ctx = &on,
                              .name = "request",
                              .remedy = "its run is given up; the message has to be sent again",
                              .number = on.seq,
                              .chat_key = approval->chat->state->key};
    enum sma_err err = sma_store_item(store, &item);
    *ret_is_damaged = item.damage != SMA_ERR_OK;
    /* Inside another item that one goes back: the next batch gives the request up. */
    if (err != SMA_ERR_OK && sma_store_is_damage(store, err))
        sma_store_condemn(store, on.seq, false);
    if (item.is_stuck)
        sma_store_condemn(store, on.seq, true);
    return err;
}

/* -- /stop and /clear -------------------------------------------------------------------------- */
static enum sma_err cancel_one(struct sma_store *store, void *ctx)
{
    struct store_approval *approval = sma_store_approval_of_run(store, *(const uint64_t *)ctx);
    struct store_case it;
    uint64_t seq = approval->seq;
    enum sma_err err = sma_store_case_open(store, approval, &it);
    if (approval->is_broken)
        return sma_store_abandon(store, approval);
    if (err != SMA_ERR_OK)
        return err;
    for (uint32_t i = 0; i < it.request.item_count; i++)
        if (it.items[i].outcome == SMA_REQUEST_OPEN)
            it.items[i] = (struct store_case_item){.outcome = SMA_REQUEST_CANCELLED,
                                                   .via = SMA_STR("stop"),
                                                   .at_ms = sma_ctx_wall(store->ctx)};
    err = sma_store_case_close(store, &it, SMA_STATE_APPROVAL_CANCELLED, SMA_STR(""));
    sma_store_case_fini(&it);
    return err == SMA_ERR_OK ? sma_store_cancel_run(store, seq) : err;
}

/* Decided, and waiting for its slot: it stands first in the queue of its chat. */
static SMA_CHECKED enum sma_err cancel_decided(struct sma_store *store, struct store_chat *chat,
                                               uint64_t mark, uint32_t *count)
{
    struct sma_state_head head;
    uint64_t seq;
    while (sma_queue_first(store->queue, chat->id, &seq) && seq < mark) {
        enum sma_err err = sma_state_head_get(store->state, seq, &head);
        if (err != SMA_ERR_OK || head.state != SMA_ROW_PARKED)
            return err;
        (void)sma_queue_remove(store->queue, chat->id, seq); /* it is the first */
        err = sma_store_cancel_run(store, seq);
        if (err != SMA_ERR_OK)
            return err;
        (*count)++;
    }
    return SMA_ERR_OK;
}

static struct store_approval *next_parked(const struct sma_store *store,
                                          const struct store_chat *chat, uint64_t mark)
{
    struct store_sight *at = sma_store_first_sight(store, chat);
    while (at != NULL && (at->place != 0 || at->approval->seq >= mark || at->approval->is_stuck))
        at = at->next;
    return at == NULL ? NULL : at->approval;
}

enum sma_err sma_store_cancel_asking(struct sma_store *store, struct store_approval *approval)
{
    uint64_t seq = approval->seq;
    bool is_damaged;
    return sma_store_on_request(store, approval, cancel_one, &seq, &is_damaged);
}

enum sma_err sma_store_cancel_parked(struct sma_store *store, struct store_chat *chat,
                                     uint64_t mark, uint32_t *count)
{
    enum sma_err cancelled = cancel_decided(store, chat, mark, count);
    if (cancelled == SMA_ERR_OK)
        cancelled = sma_store_cancel_waits(store, chat, mark, count);
    if (cancelled != SMA_ERR_OK || chat->approval_count == 0)
        return cancelled;
    for (struct store_approval *at; (at = next_parked(store, chat, mark)) != NULL;) {
        SMA_TRY(sma_store_cancel_asking(store, at));
        (*count)++;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_cancel_message(struct sma_store *store, uint64_t seq)
{
    sma_store_forget_suspect(store, seq);
    sma_store_release(store, seq);
    sma_store_drop_judgement(store, seq);
    struct sma_usage usage = {0}; /* of the steps, which go now */
    const struct sma_state_finish finish = {.seq = seq,
                                            .state = SMA_ROW_CANCELLED,
                                            .outcome = SMA_OUTCOME_CANCELLED,
                                            .wall_ms = sma_ctx_wall(store->ctx),
                                            .usage = &usage};
    enum sma_err err = sma_store_end_wait(store, seq);
    if (err == SMA_ERR_OK)
        err = sma_state_steps_usage(store->state, seq, &usage);
    if (err == SMA_ERR_OK)
        err = sma_state_finish(store->state, &finish);
    if (err == SMA_ERR_OK) {
        sma_store_note_finished(store, seq);
        err = sma_store_tell_hooks(store, &finish);
    }
    return err == SMA_ERR_EXISTS ? SMA_ERR_OK : err;
}
