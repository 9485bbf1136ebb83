/*
 * What RUN carries: from the event itself when it starts at once, otherwise from the rows.
 *
 * Loading puts every string into one scratch buffer and remembers offsets; the message then takes
 * the buffer in one piece and the offsets become slices of it.
 */
#include "consent.h"
#include "facts.h"
#include "outbox.h"
#include "people.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#include "runtime/approval/card.h"

#include <stdlib.h>

struct step_item
{
    uint32_t number;
    uint8_t kind;
    struct sma_str data; /* ptr is an offset until the message is made, like every slice below */
};
struct load
{
    struct sma_store *store;
    struct sma_buf *buf;
    struct store_facts main;
    struct sma_collected *collected;
    uint32_t collected_count;
    enum sma_standing standing; /* the least so far */
    struct step_item *steps;
    uint32_t step_count;
    struct sma_step_delivery_state *deliveries;
    uint32_t delivery_count;
};

/* -- what its author may do -------------------------------------------------------------------- */
static enum sma_standing standing_of(struct sma_store *store, const struct store_chat *chat,
                                     const struct sma_route *route, bool is_group, bool is_admin)
{
    enum sma_standing standing = sma_store_standing(store, chat, route, is_group);
    bool counts = is_admin && is_group && standing < SMA_STANDING_ADMIN;
    return counts && sma_store_is_let_in(store, route) ? SMA_STANDING_ADMIN : standing;
}

static size_t grants_space(const struct sma_state_grants *grants)
{
    size_t space = 0;
    for (size_t i = 0; i < grants->count; i++)
        space += sizeof(struct sma_grant) + grants->items[i].id.len + grants->items[i].tool.len +
                 grants->items[i].rule.len + 3;
    return space == 0 ? 0 : space + 16;
}

static void put_grants(const struct sma_state_grants *grants, struct sma_msg *msg,
                       struct sma_run_order *order)
{
    if (grants->count == 0)
        return;
    order->grants = sma_msg_space(msg, grants->count * sizeof *order->grants);
    for (size_t i = 0; i < grants->count; i++) {
        const struct sma_state_grant *at = &grants->items[i];
        order->grants[order->grant_count++] = (struct sma_grant){.id = sma_msg_dup(msg, at->id),
                                                                 .tool = sma_msg_dup(msg, at->tool),
                                                                 .rule = sma_msg_dup(msg, at->rule),
                                                                 .until_ms = at->until_ms};
    }
}

/* Made from the key of the buttons, which is kept: the same in every life, so that sessions stay as
 * they were sent. */
static uint64_t facts_word(const struct sma_store *store)
{
    static const char purpose[] = "facts";
    _Static_assert(SMA_CARD_KEY_BYTES >= 16, "the key is long enough");
    return sma_siphash(sma_store_approval_key(store), purpose, sizeof purpose) | 1;
}

static void fill_order(const struct sma_store *store, struct sma_run_order *order,
                       const struct store_run *run)
{
    order->facts_word = facts_word(store);
    order->seq = run->seq;
    order->has_past = sma_state_has_past(store->state, run->chat->state);
    order->attempt = 1;
    order->stamps = run->stamps;
}

struct sma_msg *sma_store_order_from_ingress(struct sma_store *store, const struct store_run *run,
                                             const struct sma_ingress *ingress)
{
    struct sma_route route = ingress->route;
    route.chat_key = sma_store_chat_key(run->chat); /* it may have come under a former one */
    if (route.message_id.len == 0)
        route.message_id = ingress->event_key; /* as in the facts of the row */
    struct sma_state_rows rows = {0};
    struct sma_state_grants grants;
    sma_store_grants_read(store, run->chat, &rows, &grants);
    struct sma_msg *msg = STORE_MSG(store, RUN, struct sma_run_order,
                                    sma_route_space(&route) + ingress->text.len +
                                        ingress->context.len + 2 + grants_space(&grants));
    struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    fill_order(store, order, run);
    order->route = sma_route_dup(msg, &route);
    order->text = sma_msg_dup(msg, ingress->text);
    order->context = sma_msg_dup(msg, ingress->context);
    order->wall_ms = ingress->wall_ms;
    order->standing = (uint8_t)standing_of(store, run->chat, &route, ingress->is_group,
                                           ingress->role == SMA_ROLE_ADMIN);
    put_grants(&grants, msg, order);
    sma_state_rows_free(&rows);
    return msg;
}

/* -- loading ----------------------------------------------------------------------------------- */
static struct sma_str keep(struct load *load, struct sma_str text)
{
    size_t at = load->buf->len;
    sma_buf_put_str(load->buf, text);
    return (struct sma_str){(const char *)at, text.len};
}

static SMA_CHECKED enum sma_err load_message(struct load *load, uint64_t seq,
                                             struct store_facts *to)
{
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
    if (standing < load->standing)
        load->standing = standing;
    *to = (struct store_facts){.wall_ms = facts.wall_ms};
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
    load->steps = calloc(list.count, sizeof *load->steps);
    if (load->steps == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < list.count; i++)
        load->steps[load->step_count++] =
            (struct step_item){.number = list.items[i].number,
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
    load->deliveries = calloc(list.count, sizeof *load->deliveries);
    if (load->deliveries == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < list.count; i++) {
        const struct sma_state_delivery *from = &list.items[i];
        bool is_error = from->state == SMA_DELIVERY_FAILED || from->state == SMA_DELIVERY_UNKNOWN;
        if (is_of_run(from))
            load->deliveries[load->delivery_count++] = (struct sma_step_delivery_state){
                .step = sma_state_outbox_step(from->outbox_id),
                .call = sma_state_outbox_call(from->outbox_id),
                .outbox_id = from->outbox_id,
                .state = from->state,
                .error = keep(load, is_error ? from->error : SMA_STR(""))};
    }
    return load->buf->err;
}

static SMA_CHECKED enum sma_err load_collected(struct load *load, struct store_order *order)
{
    const struct store_run *run = order->run;
    if (run->collected_count == 0)
        return SMA_ERR_OK;
    load->collected = calloc(run->collected_count, sizeof *load->collected);
    if (load->collected == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < run->collected_count; i++) {
        struct store_facts facts;
        enum sma_err err = load_message(load, run->collected[i], &facts);
        if (err != SMA_ERR_OK) {
            order->blamed_seq = run->collected[i];
            return err;
        }
        load->collected[load->collected_count++] =
            (struct sma_collected){.seq = run->collected[i],
                                   .wall_ms = facts.wall_ms,
                                   .user_id = facts.route.user_id,
                                   .user_name = facts.route.user_name,
                                   .message_id = facts.route.message_id,
                                   .text = facts.text,
                                   .context = facts.context};
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err load_all(struct load *load, struct store_order *order)
{
    uint64_t seq = order->run->seq;
    order->blamed_seq = seq;
    SMA_TRY(load_message(load, seq, &load->main));
    SMA_TRY(load_collected(load, order));
    if (order->is_resumed)
        SMA_TRY(load_steps(load, seq));
    if (order->is_resumed)
        SMA_TRY(load_deliveries(load, seq));
    return SMA_ERR_OK;
}

/* -- the message ------------------------------------------------------------------------------- */
static struct sma_str place(const char *base, struct sma_str text)
{
    return (struct sma_str){base + (size_t)text.ptr, text.len};
}

static struct sma_route place_route(const char *base, const struct sma_route *route)
{
    return (struct sma_route){.adapter = route->adapter,
                              .channel = place(base, route->channel),
                              .chat_key = place(base, route->chat_key),
                              .chat_id = place(base, route->chat_id),
                              .chat_type = place(base, route->chat_type),
                              .thread_id = place(base, route->thread_id),
                              .message_id = place(base, route->message_id),
                              .user_id = place(base, route->user_id),
                              .user_name = place(base, route->user_name),
                              .language = place(base, route->language)};
}

static void put_lists(struct sma_msg *msg, struct sma_run_order *order, const struct load *load,
                      const char *base)
{
    order->step_count = load->step_count;
    order->steps = sma_msg_space(msg, load->step_count * sizeof *order->steps);
    for (uint32_t i = 0; i < load->step_count; i++)
        order->steps[i] = (struct sma_stored_step){.number = load->steps[i].number,
                                                   .kind = load->steps[i].kind,
                                                   .data = place(base, load->steps[i].data)};
    order->delivery_count = load->delivery_count;
    order->deliveries = sma_msg_space(msg, load->delivery_count * sizeof *order->deliveries);
    for (uint32_t i = 0; i < load->delivery_count; i++) {
        order->deliveries[i] = load->deliveries[i];
        order->deliveries[i].error = place(base, load->deliveries[i].error);
    }
    order->collected_count = load->collected_count;
    order->collected = sma_msg_space(msg, load->collected_count * sizeof *order->collected);
    for (uint32_t i = 0; i < load->collected_count; i++) {
        const struct sma_collected *from = &load->collected[i];
        order->collected[i] = (struct sma_collected){.seq = from->seq,
                                                     .wall_ms = from->wall_ms,
                                                     .user_id = place(base, from->user_id),
                                                     .user_name = place(base, from->user_name),
                                                     .message_id = place(base, from->message_id),
                                                     .text = place(base, from->text),
                                                     .context = place(base, from->context)};
    }
}

static struct sma_msg *build(const struct load *load, const struct store_order *from)
{
    struct sma_state_rows rows = {0};
    struct sma_state_grants grants;
    sma_store_grants_read(load->store, from->run->chat, &rows, &grants);
    size_t space = load->buf->len + 1 + 3 * 16 + load->step_count * sizeof(struct sma_stored_step) +
                   load->delivery_count * sizeof(struct sma_step_delivery_state) +
                   load->collected_count * sizeof(struct sma_collected) + grants_space(&grants);
    struct sma_msg *msg = STORE_MSG(load->store, RUN, struct sma_run_order, space);
    struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    const char *base = sma_msg_dup(msg, sma_buf_str(load->buf)).ptr;
    /* Also when nothing but what waited from before made it begin. */
    load->store->has_worked = true;
    fill_order(load->store, order, from->run);
    order->route = place_route(base, &load->main.route);
    order->text = place(base, load->main.text);
    order->context = place(base, load->main.context);
    order->wall_ms = load->main.wall_ms;
    order->is_resumed = from->is_resumed;
    order->is_suspect = from->run->is_suspect;
    order->attempt = from->attempt;
    order->is_decided = from->is_decided;
    order->standing = (uint8_t)load->standing;
    put_grants(&grants, msg, order);
    sma_state_rows_free(&rows);
    put_lists(msg, order, load, base);
    return msg;
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
    free(load.steps);
    free(load.deliveries);
    free(load.collected);
    return err;
}
