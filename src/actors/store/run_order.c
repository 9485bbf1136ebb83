/*
 * What RUN carries: from the event itself when it starts at once, otherwise from the rows.
 *
 * Loading puts every string into one scratch buffer and remembers offsets, which become slices of
 * it when the message is made.
 */
#include "consent.h"
#include "facts.h"
#include "memory.h"
#include "message_parts.h"
#include "outbox.h"
#include "people.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_asides.h"
#include "runtime/chat/state_read.h"

#include "runtime/approval/card.h"

#include <stdlib.h>

struct load
{
    struct sma_store *store;
    struct sma_buf *buf;
    struct sma_run_order order; /* ptr of a slice is an offset into buf until everything is there */
    enum sma_standing standing; /* the least so far */
    bool has_pieces;            /* of a text that was cut by who sent it */
};

/* -- what its author may do -------------------------------------------------------------------- */
static enum sma_standing standing_of(struct sma_store *store, const struct store_chat *chat,
                                     const struct sma_route *route, bool is_group, bool is_admin)
{
    enum sma_standing standing = sma_store_standing(store, chat, route, is_group);
    bool counts = is_admin && is_group && standing < SMA_STANDING_ADMIN;
    return counts && sma_store_is_let_in(store, route) ? SMA_STANDING_ADMIN : standing;
}

/* Makes the message, with what the chat has been granted. */
static struct sma_msg *make_order(struct sma_store *store, const struct store_run *run,
                                  struct sma_run_order *order)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_grants grants;
    sma_store_grants_read(store, run->chat, &rows, &grants);
    SMA_AUTO(sma_freep) struct sma_grant *copies = NULL;
    if (grants.count > 0) {
        copies = calloc(grants.count, sizeof *copies);
        sma_store_need(store, copies != NULL);
    }
    for (size_t i = 0; i < grants.count; i++) {
        const struct sma_state_grant *at = &grants.items[i];
        copies[i] = (struct sma_grant){
            .id = at->id, .tool = at->tool, .rule = at->rule, .until_ms = at->until_ms};
    }
    order->grant_count = (uint32_t)grants.count;
    order->grants = copies;
    return sma_store_made(store, sma_msg_make_run(order));
}

/* Made from the key of the buttons, which is kept: the same in every life, so that sessions stay as
 * they were sent. */
static uint64_t facts_word(const struct sma_store *store)
{
    static const char purpose[] = "facts";
    _Static_assert(SMA_CARD_KEY_BYTES >= 16, "the key is long enough");
    return sma_siphash(sma_store_approval_key(store), purpose, sizeof purpose) | 1;
}

/* A choice that cannot be read chooses nothing: the chat is answered by the configured model. */
static struct sma_str choice_of(struct sma_store *store, const struct store_chat *chat)
{
    struct sma_buf *label = &store->scratch.model;
    sma_buf_clear(label);
    enum sma_err err = sma_store_read_choice(store, chat, label);
    if (err != SMA_ERR_OK)
        sma_ctx_log(store->ctx, SMA_LOG_ERROR, "which model was chosen cannot be read: %s",
                    sma_state_error(store->state)->text);
    return err == SMA_ERR_OK ? sma_buf_str(label) : SMA_STR("");
}

/* An imported project, or one whose state.db is lost: nothing is stored of what was said, but its
 * line is not the first of the chat. What was cleared stays so. */
static bool has_lines_before(struct sma_store *store, const struct store_run *run)
{
    struct sma_state_head head;
    return run->chat->state->clear_mark == 0 &&
           sma_state_head_get(store->state, run->seq, &head) == SMA_ERR_OK &&
           head.history_offset != SMA_STATE_NO_LINE &&
           head.history_offset != SMA_STATE_LINE_WAITS &&
           (head.history_offset > 0 || head.generation > 0);
}

static void fill_order(struct sma_store *store, struct sma_run_order *order,
                       const struct store_run *run)
{
    order->replies_left = sma_store_replies_left(store, run->chat, run->seq, &order->route);
    order->facts_word = facts_word(store);
    order->model = choice_of(store, run->chat);
    order->seq = run->seq;
    order->has_past = sma_state_has_past(store->state, run->chat->state);
    order->has_lines = !order->has_past && has_lines_before(store, run);
    order->attempt = 1;
    order->stamps = run->stamps;
    order->has_memory = sma_store_has_memory(store, order);
}

struct sma_msg *sma_store_order_from_ingress(struct sma_store *store, const struct store_run *run,
                                             const struct sma_ingress *ingress)
{
    struct sma_route route = ingress->route;
    route.chat_key = sma_store_chat_key(run->chat); /* it may have come under a former one */
    if (route.message_id.len == 0)
        route.message_id = ingress->event_key; /* as in the facts of the row */
    struct sma_run_order order = {
        .route = route,
        .text = ingress->text,
        .context = ingress->context,
        .wall_ms = ingress->wall_ms,
        .is_group = ingress->is_group,
        .standing = (uint8_t)standing_of(store, run->chat, &route, ingress->is_group,
                                         ingress->role == SMA_ROLE_ADMIN),
        .is_compaction =
            ingress->kind == SMA_EVENT_CONTROL && ingress->control == SMA_CONTROL_COMPACT,
        .part_count = ingress->part_count,
        .parts = ingress->parts,
    };
    fill_order(store, &order, run);
    return make_order(store, run, &order);
}

/* -- loading ----------------------------------------------------------------------------------- */
static struct sma_str keep(struct load *load, struct sma_str text)
{
    size_t at = load->buf->len;
    sma_buf_put_str(load->buf, text);
    return (struct sma_str){(const char *)at, text.len};
}

struct loaded_parts
{
    uint32_t count;
    struct sma_part *items; /* NULL = none */
};

static SMA_CHECKED enum sma_err load_parts(struct load *load, struct sma_str bytes,
                                           struct loaded_parts *to)
{
    struct sma_part parts[SMA_ATTACHMENT_COUNT_MAX];
    *to = (struct loaded_parts){0};
    SMA_TRY(sma_store_message_parts_get(bytes, parts, &to->count));
    if (to->count == 0)
        return SMA_ERR_OK;
    to->items = calloc(to->count, sizeof *to->items);
    if (to->items == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < to->count; i++)
        to->items[i] = (struct sma_part){.kind = parts[i].kind,
                                         .path = keep(load, parts[i].path),
                                         .name = keep(load, parts[i].name),
                                         .mime = keep(load, parts[i].mime)};
    return SMA_ERR_OK;
}

/* parts: also when it fails the caller's to free. */
static SMA_CHECKED enum sma_err load_message(struct load *load, uint64_t seq,
                                             struct store_facts *to, struct loaded_parts *parts)
{
    *parts = (struct loaded_parts){0};
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message copy;
    const struct sma_state_message *message = &copy;
    struct store_facts facts;
    enum sma_err err = sma_state_message_read(load->store->state, seq, &rows, &copy);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(message->facts, &facts);
    if (err != SMA_ERR_OK)
        return err;
    struct store_chat *chat = sma_store_chat(load->store, message->chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    enum sma_standing standing =
        standing_of(load->store, chat, &facts.route, facts.is_group, facts.is_admin);
    if (standing < load->standing && facts.change != SMA_CHANGE_RECALL)
        load->standing = standing;
    *to = (struct store_facts){.wall_ms = facts.wall_ms,
                               .control = facts.control,
                               .change = facts.change,
                               .is_behind = facts.is_behind,
                               .is_group = facts.is_group};
    if (sma_str_starts_with(facts.group_key, SMA_STR(SMA_GROUP_KEY_PASTE)))
        to->group_key = SMA_STR(SMA_GROUP_KEY_PASTE);
    to->route.chat_key = keep(load, message->chat->key);
    to->route.channel = keep(load, facts.route.channel);
    to->route.chat_id = keep(load, facts.route.chat_id);
    to->route.chat_type = keep(load, facts.route.chat_type);
    to->route.thread_id = keep(load, facts.route.thread_id);
    to->route.message_id = keep(load, facts.route.message_id);
    to->route.user_id = keep(load, facts.route.user_id);
    to->route.user_name = keep(load, facts.route.user_name);
    to->route.language = keep(load, facts.route.language);
    to->context = keep(load, facts.context);
    SMA_TRY(load_parts(load, facts.parts, parts));
    int adapter = sma_store_adapter_of(load->store, &facts.route);
    to->route.adapter = adapter < 0 ? 0 : (uint8_t)load->store->adapters[adapter].adapter->actor;
    if (facts.has_text) {
        to->text = keep(load, facts.text);
        return load->buf->err;
    }
    size_t start = load->buf->len;
    err = sma_store_line_text(message->line, load->buf);
    to->text = (struct sma_str){(const char *)start, load->buf->len - start};
    return err;
}

static SMA_CHECKED enum sma_err load_steps(struct load *load, uint64_t seq)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_steps list;
    enum sma_err err = sma_state_steps_read(load->store->state, seq, &rows, &list);
    if (err != SMA_ERR_OK || list.count == 0)
        return err;
    struct sma_run_order *order = &load->order;
    order->steps = calloc(list.count, sizeof *order->steps);
    if (order->steps == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < list.count; i++)
        order->steps[order->step_count++] =
            (struct sma_stored_step){.number = list.items[i].number,
                                     .kind = list.items[i].kind,
                                     .data = keep(load, list.items[i].data)};
    return load->buf->err;
}

/* No call of the run made the store's own. */
static bool is_of_run(const struct sma_state_delivery *delivery)
{
    return sma_state_outbox_step(delivery->outbox_id) != STORE_NOTICE_STEP &&
           sma_state_outbox_call(delivery->outbox_id) < STORE_CARD_CALL;
}

static SMA_CHECKED enum sma_err load_deliveries(struct load *load, uint64_t seq)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_deliveries list;
    enum sma_err err = sma_state_deliveries_read(load->store->state, seq, &rows, &list);
    if (err != SMA_ERR_OK || list.count == 0)
        return err;
    struct sma_run_order *order = &load->order;
    order->deliveries = calloc(list.count, sizeof *order->deliveries);
    if (order->deliveries == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < list.count; i++) {
        const struct sma_state_delivery *from = &list.items[i];
        bool is_error = from->state == SMA_DELIVERY_FAILED || from->state == SMA_DELIVERY_UNKNOWN;
        if (is_of_run(from))
            order->deliveries[order->delivery_count++] = (struct sma_step_delivery_state){
                .step = sma_state_outbox_step(from->outbox_id),
                .call = sma_state_outbox_call(from->outbox_id),
                .outbox_id = from->outbox_id,
                .state = from->state,
                .error = keep(load, is_error ? from->error : SMA_STR(""))};
    }
    return load->buf->err;
}

static struct sma_collected collected_of(uint64_t seq, const struct store_facts *facts,
                                         const struct loaded_parts *parts)
{
    return (struct sma_collected){.seq = seq,
                                  .change = facts->change,
                                  .is_behind = facts->is_behind,
                                  .wall_ms = facts->wall_ms,
                                  .user_id = facts->route.user_id,
                                  .user_name = facts->route.user_name,
                                  .message_id = facts->route.message_id,
                                  .text = facts->text,
                                  .context = facts->context,
                                  .part_count = parts->count,
                                  .parts = parts->items};
}

static SMA_CHECKED enum sma_err load_collected(struct load *load, struct store_order *order)
{
    const struct store_run *run = order->run;
    struct sma_run_order *to = &load->order;
    if (run->collected_count == 0)
        return SMA_ERR_OK;
    to->collected = calloc(run->collected_count, sizeof *to->collected);
    if (to->collected == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < run->collected_count; i++) {
        struct store_facts facts;
        struct loaded_parts parts;
        enum sma_err err = load_message(load, run->collected[i], &facts, &parts);
        if (err != SMA_ERR_OK) {
            order->blamed_seq = run->collected[i];
            free(parts.items);
            return err;
        }
        to->collected[to->collected_count++] = collected_of(run->collected[i], &facts, &parts);
        load->has_pieces |= facts.group_key.len > 0;
        to->collected[to->collected_count - 1].is_piece = facts.group_key.len > 0;
    }
    return SMA_ERR_OK;
}

static void add_bytes(struct sma_buf *buf, struct sma_str *text)
{
    size_t at = (size_t)text->ptr; /* an offset; the text may move */
    char *room = sma_buf_reserve(buf, text->len);
    if (room != NULL && text->len > 0)
        memcpy(room, buf->ptr + at, text->len);
    buf->len += room == NULL ? 0 : text->len;
}

/* A text that the platform's client cut because it is long is one again, in the order in which it
 * was sent, with nothing between. The pieces stay, without words: their ids are still answered. */
static void join_pieces(struct load *load, uint64_t seq)
{
    struct sma_run_order *to = &load->order;
    size_t start = load->buf->len;
    bool is_put = false;
    for (uint32_t i = 0; i <= to->collected_count; i++) {
        bool is_behind = i < to->collected_count && to->collected[i].seq < seq;
        if (!is_behind && !is_put) {
            add_bytes(load->buf, &to->text);
            is_put = true;
        }
        if (i < to->collected_count && to->collected[i].is_piece) {
            add_bytes(load->buf, &to->collected[i].text);
            to->collected[i].text = SMA_STR("");
        }
    }
    to->text = (struct sma_str){(const char *)start, load->buf->len - start};
}

static SMA_CHECKED enum sma_err load_all(struct load *load, struct store_order *order)
{
    uint64_t seq = order->run->seq;
    order->blamed_seq = seq;
    struct store_facts facts;
    struct loaded_parts parts;
    enum sma_err err = load_message(load, seq, &facts, &parts);
    load->order.part_count = parts.count;
    load->order.parts = parts.items;
    SMA_TRY(err);
    load->order.route = facts.route;
    load->order.text = facts.text;
    load->order.context = facts.context;
    load->order.wall_ms = facts.wall_ms;
    load->order.is_forward = facts.is_apart || facts.change != SMA_CHANGE_NONE;
    load->order.is_group = facts.is_group;
    load->order.is_compaction = sma_store_is_run_command(&facts);
    SMA_TRY(load_collected(load, order));
    if (load->has_pieces && facts.group_key.len > 0)
        join_pieces(load, seq);
    if (order->is_resumed)
        SMA_TRY(load_steps(load, seq));
    if (order->is_resumed)
        SMA_TRY(load_deliveries(load, seq));
    return SMA_ERR_OK;
}

enum sma_err sma_store_steer_from_row(struct sma_store *store, const struct store_run *run,
                                      uint64_t seq, struct sma_msg **ret_msg)
{
    struct load load = {
        .store = store, .buf = &store->scratch.load, .standing = SMA_STANDING_OWNER};
    struct store_facts facts;
    struct loaded_parts parts;
    sma_buf_clear(load.buf);
    enum sma_err err = load_message(&load, seq, &facts, &parts);
    if (err == SMA_ERR_OK)
        err = load.buf->err;
    if (err == SMA_ERR_OK) {
        struct sma_collected message = collected_of(seq, &facts, &parts);
        bool is_new = run->steering.is_asking && seq > run->steering.asked_seq;
        struct sma_steer steer = {.seq = run->seq,
                                  .standing = (uint8_t)load.standing,
                                  .is_answer = is_new && message.change == SMA_CHANGE_NONE,
                                  .message_count = 1,
                                  .messages = &message};
        sma_msg_place(SMA_MSG_STEER, &steer, load.buf->ptr);
        *ret_msg = sma_store_made(store, sma_msg_make_steer(&steer));
    }
    free(parts.items);
    return err;
}

/* -- the message ------------------------------------------------------------------------------- */
static struct sma_msg *build(struct load *load, const struct store_order *from)
{
    struct sma_run_order *order = &load->order;
    sma_msg_place(SMA_MSG_RUN, order, load->buf->ptr);
    /* Also when nothing but what waited from before made it begin. */
    load->store->has_worked = true;
    order->standing = (uint8_t)load->standing;
    fill_order(load->store, order, from->run);
    order->is_resumed = from->is_resumed;
    order->is_suspect = from->run->is_suspect;
    order->attempt = from->attempt;
    order->is_decided = from->is_decided;
    return make_order(load->store, from->run, order);
}

enum sma_err sma_store_order_from_rows(struct sma_store *store, struct store_order *order,
                                       struct sma_msg **ret_msg)
{
    struct load load = {
        .store = store, .buf = &store->scratch.load, .standing = SMA_STANDING_OWNER};
    sma_buf_clear(load.buf);
    enum sma_err err = load_all(&load, order);
    if (err == SMA_ERR_OK)
        err = load.buf->err;
    if (err == SMA_ERR_OK)
        *ret_msg = build(&load, order);
    for (uint32_t i = 0; i < load.order.collected_count; i++)
        free(load.order.collected[i].parts);
    free(load.order.parts);
    free(load.order.steps);
    free(load.order.deliveries);
    free(load.order.collected);
    return err;
}
