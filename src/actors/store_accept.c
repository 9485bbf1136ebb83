/*
 * One event comes in: is it known, is it allowed, is there room; then its row, its history line and its cursor go into
 * the open transaction, and its answer is kept until that is durable.
 */
#include "store_priv.h"

#include <stdlib.h>

#define NOTICE_INTERVAL_NS (SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000))

static bool is_channel_quiet(const struct sma_route *route)
{
    /* Callers of these see the verdict and the progress themselves. */
    return sma_str_is_equal(route->channel, SMA_STR("api")) ||
           sma_str_is_equal(route->channel, SMA_STR("cli"));
}

enum sma_language sma_store_language(const struct sma_store *store, const struct sma_route *route)
{
    int adapter = sma_store_adapter_of(store, route);
    bool is_chinese = adapter >= 0 && store->adapters[adapter].adapter->ops->is_chinese_by_default;
    return sma_notice_language(store->config->language, route->language, is_chinese);
}

/* -- answers ---------------------------------------------------------------------------------------------------- */
static void refuse_now(struct sma_store *store, const struct sma_msg *question,
                       uint32_t retry_after_ms, struct sma_str reason)
{
    struct sma_msg *answer = STORE_MSG(store, ACCEPTED, struct sma_accepted, 0);
    *SMA_MSG_BODY(answer, struct sma_accepted) = (struct sma_accepted){
        .verdict = SMA_VERDICT_REFUSED, .retry_after_ms = retry_after_ms, .reason = reason};
    SMA_METRIC_ADD(ingress_refused_total, 1);
    sma_ctx_answer(store->ctx, question, &answer);
}

static void accept_later(struct sma_store *store, const struct sma_msg *question,
                         const struct sma_accepted *accepted)
{
    const struct sma_ingress *ingress =
        SMA_MSG_BODY((struct sma_msg *)question, struct sma_ingress);
    struct sma_msg *answer = STORE_MSG(store, ACCEPTED, struct sma_accepted, 0);
    *SMA_MSG_BODY(answer, struct sma_accepted) = *accepted;
    sma_store_answer_later(store, question, &answer, ingress->stamps.read_ns);
}

/* Empty when everything is within its limits. */
static struct sma_str find_excess(const struct sma_ingress *in)
{
    const struct sma_route *route = &in->route;
    if (route->chat_key.len == 0 || route->chat_key.len > SMA_CHAT_KEY_BYTES_MAX)
        return SMA_STR("the chat key is empty or too long");
    if (in->event_key.len == 0 || in->event_key.len > SMA_ID_BYTES_MAX)
        return SMA_STR("the message id is empty or too long");
    if (in->text.len > SMA_TEXT_BYTES_MAX || in->context.len > SMA_TEXT_BYTES_MAX)
        return SMA_STR("the message text is too long");
    if (in->meta_json.len > SMA_META_BYTES_MAX)
        return SMA_STR("the message's meta data is too long");
    const struct sma_str ids[] = {route->channel,   route->chat_id,    route->chat_type,
                                  route->thread_id, route->message_id, route->user_id,
                                  route->user_name, route->language,   in->cursor_name};
    for (size_t i = 0; i < SMA_COUNT_OF(ids); i++)
        if (ids[i].len > SMA_ID_BYTES_MAX)
            return SMA_STR("an id of the message is too long");
    return (struct sma_str){NULL, 0};
}

/* -- what is written -------------------------------------------------------------------------------------------- */
static struct sma_str message_id_of(const struct sma_ingress *in)
{
    if (in->kind == SMA_EVENT_MESSAGE || in->kind == SMA_EVENT_CONTROL)
        return in->event_key;
    return in->route.message_id;
}

static void format_facts(struct sma_store *store, const struct sma_ingress *in)
{
    struct store_facts facts = {
        .route = in->route,
        .context = in->context,
        .wall_ms = in->wall_ms,
        /* The line would give back something else than what came. */
        .has_text = !sma_utf8_is_valid(in->text),
        .text = in->text,
    };
    if (facts.route.message_id.len == 0)
        facts.route.message_id = message_id_of(in);
    sma_buf_clear(&store->facts_buf);
    sma_store_facts_put(&store->facts_buf, &facts);
}

static SMA_CHECKED enum sma_err remember_person(struct sma_store *store,
                                                const struct sma_ingress *in)
{
    const struct sma_route *route = &in->route;
    if (route->user_name.len == 0 || sma_str_is_equal(route->channel, SMA_STR("api")))
        return SMA_ERR_OK;
    store->has_contact_change = store->has_unflushed = true;
    return sma_state_contact_put(store->state,
                                 &(struct sma_state_contact){.channel = route->channel,
                                                             .user_name = route->user_name,
                                                             .chat_id = route->chat_id,
                                                             .chat_key = route->chat_key,
                                                             .chat_type = route->chat_type,
                                                             .thread_id = route->thread_id,
                                                             .user_id = route->user_id,
                                                             .message_id = message_id_of(in),
                                                             .wall_ms = in->wall_ms});
}

static SMA_CHECKED enum sma_err save_cursor(struct sma_store *store, const struct sma_ingress *in)
{
    if (in->cursor_name.len == 0)
        return SMA_ERR_OK;
    enum sma_err err = sma_store_begin(store);
    return err != SMA_ERR_OK
               ? err
               : sma_state_cursor_set(store->state, in->cursor_name, in->cursor_value);
}

static SMA_CHECKED enum sma_err place_user_line(struct sma_store *store, struct store_chat *chat,
                                                const struct sma_ingress *in, int64_t *ret_offset)
{
    if (in->text.len == 0 && in->kind != SMA_EVENT_MESSAGE) {
        *ret_offset = SMA_STATE_NO_LINE;
        sma_buf_clear(&store->line_buf);
        return SMA_ERR_OK;
    }
    return sma_store_place_line(store, chat,
                                &(struct sma_history_entry){.wall_ms = in->wall_ms,
                                                            .channel = in->route.channel,
                                                            .chat_id = in->route.chat_id,
                                                            .chat_key = in->route.chat_key,
                                                            .user_id = in->route.user_id,
                                                            .message_id = message_id_of(in),
                                                            .role = SMA_STR("user"),
                                                            .text = in->text,
                                                            .meta_json = in->meta_json},
                                ret_offset);
}

static SMA_CHECKED enum sma_err write_row(struct sma_store *store, struct store_chat *chat,
                                          const struct sma_ingress *in,
                                          enum sma_row_state row_state, uint64_t *ret_seq)
{
    int64_t offset;
    enum sma_err err = place_user_line(store, chat, in, &offset);
    if (err != SMA_ERR_OK) {
        /* Nothing of the message is in the transaction yet: the others may go on. */
        store->is_refused_alone = store->has_no_place;
        return err;
    }
    err = save_cursor(store, in);
    if (err != SMA_ERR_OK)
        return err;
    format_facts(store, in);
    if (store->facts_buf.err != SMA_ERR_OK)
        return store->facts_buf.err;
    err = sma_state_accept(store->state,
                           &(struct sma_state_message){.chat = chat->state,
                                                       .kind = in->kind,
                                                       .state = (uint8_t)row_state,
                                                       .body_hash = in->body_hash,
                                                       .event_key = in->event_key,
                                                       .user_id = in->route.user_id,
                                                       .generation = chat->state->generation,
                                                       .history_offset = offset,
                                                       .line = sma_buf_str(&store->line_buf),
                                                       .facts = sma_buf_str(&store->facts_buf)},
                           ret_seq);
    if (err == SMA_ERR_OK)
        err = remember_person(store, in);
    return err;
}

/* -- notices ---------------------------------------------------------------------------------------------------- */
static bool may_notice(uint64_t *last_ns, uint64_t now)
{
    if (*last_ns != 0 && now - *last_ns < NOTICE_INTERVAL_NS)
        return false;
    *last_ns = now == 0 ? 1 : now;
    return true;
}

static SMA_CHECKED enum sma_err deliver_notice(struct sma_store *store,
                                               const struct sma_route *route, uint64_t seq,
                                               struct sma_str text)
{
    struct sma_step_delivery delivery = {
        .intent = SMA_INTENT_NOTICE, .route = *route, .text = text};
    struct sma_step_delivery_state state;
    return sma_store_deliver(store,
                             &(struct store_delivery_facts){.seq = seq, .step = STORE_NOTICE_STEP},
                             &delivery, &state);
}

static SMA_CHECKED enum sma_err refuse_visibly(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_ingress *in, uint64_t seq)
{
    if (is_channel_quiet(&in->route) || !may_notice(&chat->full_notice_ns, sma_ctx_now(store->ctx)))
        return SMA_ERR_OK;
    sma_buf_clear(&store->text_buf);
    sma_notice_format(&store->text_buf, sma_store_language(store, &in->route),
                      SMA_NOTICE_QUEUE_FULL);
    return deliver_notice(store, &in->route, seq, sma_buf_str(&store->text_buf));
}

/* The message that came may have to wait; whether it does is known only at the end of the batch. */
static void consider_busy_notice(struct sma_store *store, struct store_chat *chat,
                                 struct sma_msg **msg, uint64_t seq)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    uint64_t now = sma_ctx_now(store->ctx);
    if (is_channel_quiet(&in->route) ||
        (chat->busy_notice_ns != 0 && now - chat->busy_notice_ns < NOTICE_INTERVAL_NS))
        return;
    if (!sma_store_grow(&store->busy, store->busy_count, &store->busy_cap, sizeof *store->busy))
        return; /* a notice is not worth more */
    store->busy[store->busy_count++] = (struct store_busy){.msg = *msg, .seq = seq, .chat = chat};
    *msg = NULL;
}

static bool is_waiting(const struct sma_store *store, const struct store_chat *chat, uint64_t seq)
{
    struct sma_state_head head;
    return sma_queue_chat_waiting(store->queue, chat->id) > 0 &&
           sma_state_head_get(store->state, seq, &head) == SMA_ERR_OK &&
           head.state == SMA_ROW_WAITING;
}

enum sma_err sma_store_busy_notices(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->busy_count; i++) {
        struct store_busy *busy = &store->busy[i];
        if (!is_waiting(store, busy->chat, busy->seq) ||
            !may_notice(&busy->chat->busy_notice_ns, sma_ctx_now(store->ctx)))
            continue;
        const struct sma_route *route = &SMA_MSG_BODY(busy->msg, struct sma_ingress)->route;
        uint32_t position = sma_queue_position(store->queue, busy->chat->id, busy->seq);
        enum sma_language language = sma_store_language(store, route);
        sma_buf_clear(&store->text_buf);
        if (position > 0)
            sma_notice_format(&store->text_buf, language, SMA_NOTICE_BUSY_POSITION, position);
        else
            sma_notice_format(&store->text_buf, language, SMA_NOTICE_BUSY);
        enum sma_err err = deliver_notice(store, route, busy->seq, sma_buf_str(&store->text_buf));
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

void sma_store_drop_busy(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->busy_count; i++)
        sma_msg_destroyp(&store->busy[i].msg);
    store->busy_count = 0;
}

/* -- decisions -------------------------------------------------------------------------------------------------- */
static enum sma_access_decision decide(const struct sma_ingress *in)
{
    const char *reason;
    return sma_access_decide(
        &(struct sma_access_event){.channel = in->route.channel,
                                   .chat_type = in->route.chat_type,
                                   .user_id = in->route.user_id,
                                   .address = (enum sma_access_address)in->addressed,
                                   .is_record_only = in->is_record_only,
                                   .is_note = in->kind != SMA_EVENT_MESSAGE},
        &reason);
}

static SMA_CHECKED enum sma_err queue_message(struct sma_store *store, struct store_chat *chat,
                                              struct sma_msg **msg, uint64_t seq, bool is_started)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    struct sma_accepted accepted = {.verdict = SMA_VERDICT_ACCEPTED, .seq = seq};
    if (is_started) {
        sma_store_start_now(store, chat, in, seq);
        accept_later(store, *msg, &accepted);
        return SMA_ERR_OK;
    }
    enum sma_err err = sma_queue_push_accepted(store->queue, chat->id, seq);
    if (err != SMA_ERR_OK)
        return err;
    accepted.position = sma_queue_waiting(store->queue) - 1; /* it is the newest */
    accept_later(store, *msg, &accepted);
    consider_busy_notice(store, chat, msg, seq);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err accept_message(struct sma_store *store, struct store_chat *chat,
                                               struct sma_msg **msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    uint64_t seq;
    if (decide(in) != SMA_ACCESS_RUN) {
        bool may_be_upgraded = in->kind == SMA_EVENT_MESSAGE;
        enum sma_err err =
            write_row(store, chat, in, may_be_upgraded ? SMA_ROW_IGNORED : SMA_ROW_DONE, &seq);
        if (err == SMA_ERR_OK)
            accept_later(store, *msg,
                         &(struct sma_accepted){.verdict = SMA_VERDICT_IGNORED, .seq = seq});
        return err;
    }
    if (sma_queue_check(store->queue, chat->id) != SMA_ERR_OK) {
        enum sma_err err = write_row(store, chat, in, SMA_ROW_BUSY, &seq);
        if (err == SMA_ERR_OK)
            err = refuse_visibly(store, chat, in, seq);
        if (err == SMA_ERR_OK)
            accept_later(
                store, *msg,
                &(struct sma_accepted){.verdict = SMA_VERDICT_BUSY,
                                       .seq = seq,
                                       .retry_after_ms = SMA_NOTICE_INTERVAL_S * 1000,
                                       .reason = SMA_STR("too many messages are waiting")});
        return err;
    }
    bool is_started = sma_store_may_start_now(store, chat);
    enum sma_err err =
        write_row(store, chat, in, is_started ? SMA_ROW_RUNNING : SMA_ROW_WAITING, &seq);
    return err != SMA_ERR_OK ? err : queue_message(store, chat, msg, seq, is_started);
}

static SMA_CHECKED enum sma_err accept_new(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    enum sma_err err = sma_store_begin(store);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_state_chat *state_chat;
    err = sma_state_chat_open(store->state, in->route.chat_key, in->route.channel, &state_chat);
    if (err != SMA_ERR_OK)
        return err;
    struct store_chat *chat = sma_store_chat(store, state_chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    if (in->kind != SMA_EVENT_CONTROL)
        return accept_message(store, chat, msg);

    uint64_t seq;
    err = write_row(store, chat, in, SMA_ROW_RUNNING, &seq);
    if (err == SMA_ERR_OK)
        err = sma_store_control(store, chat, in, seq);
    if (err == SMA_ERR_OK)
        accept_later(store, *msg,
                     &(struct sma_accepted){.verdict = SMA_VERDICT_ACCEPTED, .seq = seq});
    return err;
}

/* -- known events ----------------------------------------------------------------------------------------------- */
struct old_row
{
    struct sma_store *store;
    uint32_t generation;
    int64_t offset;
};

static enum sma_err copy_old(void *user, const struct sma_state_message *message)
{
    struct old_row *old = user;
    old->generation = message->generation;
    old->offset = message->history_offset;
    sma_buf_clear(&old->store->line_buf);
    sma_buf_put_str(&old->store->line_buf, message->line);
    return old->store->line_buf.err;
}

/* A copy that is addressed to us of something we had only recorded: now it runs. Its line stays where it is. */
static SMA_CHECKED enum sma_err upgrade(struct sma_store *store, struct store_chat *chat,
                                        struct sma_msg **msg, uint64_t seq)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    struct old_row old = {.store = store};
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_message_get(store->state, seq, copy_old, &old);
    if (err != SMA_ERR_OK)
        return err;
    bool is_started = sma_store_may_start_now(store, chat);
    format_facts(store, in);
    if (store->facts_buf.err != SMA_ERR_OK)
        return store->facts_buf.err;
    err = sma_state_upgrade(
        store->state,
        &(struct sma_state_message){.seq = seq,
                                    .chat = chat->state,
                                    .kind = in->kind,
                                    .state = is_started ? SMA_ROW_RUNNING : SMA_ROW_WAITING,
                                    .body_hash = in->body_hash,
                                    .event_key = in->event_key,
                                    .user_id = in->route.user_id,
                                    .generation = old.generation,
                                    .history_offset = old.offset,
                                    .line = sma_buf_str(&store->line_buf),
                                    .facts = sma_buf_str(&store->facts_buf)});
    return err != SMA_ERR_OK ? err : queue_message(store, chat, msg, seq, is_started);
}

static bool is_other_event(const struct sma_ingress *in, const struct sma_state_head *head)
{
    if (in->body_hash == 0 || head->body_hash == 0)
        return false;
    return in->body_hash != head->body_hash || !sma_str_is_equal(in->route.user_id, head->user_id);
}

static SMA_CHECKED enum sma_err answer_known(struct sma_store *store, struct store_chat *chat,
                                             struct sma_msg **msg,
                                             const struct sma_state_head *head)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    uint64_t seq = head->seq;
    if (is_other_event(in, head)) {
        accept_later(
            store, *msg,
            &(struct sma_accepted){
                .verdict = SMA_VERDICT_CONFLICT,
                .seq = seq,
                .reason = SMA_STR(
                    "this message id was used before with another body or by another user")});
        return SMA_ERR_OK;
    }
    bool is_upgrade = head->state == SMA_ROW_IGNORED && in->kind == SMA_EVENT_MESSAGE &&
                      decide(in) == SMA_ACCESS_RUN && store->disk_level == 0 &&
                      sma_queue_check(store->queue, chat->id) == SMA_ERR_OK;
    enum sma_err err = save_cursor(store, in);
    if (err != SMA_ERR_OK)
        return err;
    if (is_upgrade)
        return upgrade(store, chat, msg, seq);
    accept_later(store, *msg, &(struct sma_accepted){.verdict = SMA_VERDICT_DUPLICATE, .seq = seq});
    return SMA_ERR_OK;
}

/* OK: *ret_head is the older row; NOTFOUND: the event is new. */
static SMA_CHECKED enum sma_err find_known(struct sma_store *store, const struct sma_ingress *in,
                                           struct store_chat **ret_chat,
                                           struct sma_state_head *ret_head)
{
    struct sma_state_chat *state_chat = sma_state_chat_get(store->state, in->route.chat_key);
    if (state_chat == NULL)
        return SMA_ERR_NOTFOUND;
    enum sma_err err =
        sma_state_claim_find(store->state, state_chat, in->kind, in->event_key, ret_head);
    if (err != SMA_ERR_OK)
        return err;
    *ret_chat = sma_store_chat(store, state_chat);
    return *ret_chat == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

/* Why nothing new can be taken now; empty = it can. */
static struct sma_str find_obstacle(struct sma_store *store, const struct sma_ingress *in)
{
    sma_store_check_disk(store);
    bool is_control = in->kind == SMA_EVENT_CONTROL;
    if (store->disk_level > (is_control ? 1 : 0) || store->is_history_stuck)
        return SMA_STR("the disk is full; please try again later");
    if (sma_state_is_claims_full(store->state))
        return SMA_STR(
            "too many message ids are remembered; intake resumes when old ones may be forgotten");
    if (store->deferred_count >= SMA_BATCH_COUNT_MAX)
        return SMA_STR("too many commands at once; please try again");
    return (struct sma_str){NULL, 0};
}

void sma_store_ingress(struct sma_store *store, struct sma_msg **msg)
{
    struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    in->stamps.claimed_ns = sma_ctx_now(store->ctx);
    struct sma_str reason = find_excess(in);
    if (reason.len > 0) {
        refuse_now(store, *msg, 0, reason);
        return;
    }
    if (store->is_draining) {
        refuse_now(store, *msg, STORE_RETRY_MS, SMA_STR("the service is stopping"));
        return;
    }
    struct store_chat *chat = NULL;
    struct sma_state_head head;
    enum sma_err err = find_known(store, in, &chat, &head);
    if (err == SMA_ERR_OK) {
        err = answer_known(store, chat, msg, &head);
    } else if (err == SMA_ERR_NOTFOUND) {
        reason = find_obstacle(store, in);
        if (reason.len > 0) {
            refuse_now(store, *msg, STORE_RETRY_MS, reason);
            return;
        }
        err = accept_new(store, msg);
    }
    if (err == SMA_ERR_OK)
        return;
    if (store->is_refused_alone) {
        store->is_refused_alone = store->has_no_place = false;
        refuse_now(store, *msg, STORE_RETRY_MS,
                   SMA_STR("the history of this chat cannot be written; the log says why"));
        return;
    }
    /* The answer is held last, so this message has none yet; the others of the batch are refused with it. */
    sma_store_fail_batch(store, err);
    refuse_now(store, *msg, STORE_RETRY_MS,
               SMA_STR("the message could not be stored; please try again"));
}
