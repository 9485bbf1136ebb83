/*
 * dispatcher_attempt.c — whose turn it is, one attempt at a time per chat, and what follows from
 * its outcome.
 *
 * An attempt past its deadline stays open: its late success still counts as long as the part is not
 * finished, any other late answer is of no interest, because another attempt has taken its place.
 */
#include "dispatcher_priv.h"

#include "sma/text.h"

#include <stdio.h>

static void copy_text(char *to, size_t size, struct sma_str from)
{
    size_t len = from.len < size - 1 ? from.len : size - 1;
    if (len > 0)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* -- whose turn -------------------------------------------------------------------------------- */
static void rest(struct sma_dispatcher *dispatcher, struct chat *chat, uint64_t now)
{
    if (chat->phase != CHAT_IDLE) {
        chat->phase = CHAT_IDLE;
        dispatcher->chat_idle_count++;
    }
    uint64_t until = later_of(chat->taken_ns, chat->hold_until_ns);
    if (until <= now || dispatcher->chat_idle_count > SMA_DISPATCHER_IDLE_CHAT_COUNT_MAX) {
        sma_dispatcher_forget_chat(dispatcher, chat);
        return;
    }
    sma_timers_set(&dispatcher->timers, &chat->timer, until);
}

static void set_phase(struct sma_dispatcher *dispatcher, struct chat *chat, enum chat_phase phase)
{
    if (chat->phase == CHAT_IDLE)
        dispatcher->chat_idle_count--;
    chat->phase = (uint8_t)phase;
}

static bool is_long(uint64_t wait_ns)
{
    return wait_ns >= SMA_DELIVERY_LONG_HOLD_S * SMA_NS_PER_S;
}

static void hold(struct sma_dispatcher *dispatcher, struct chat *chat, uint64_t until_ns)
{
    set_phase(dispatcher, chat, CHAT_HELD);
    sma_timers_set(&dispatcher->timers, &chat->timer, until_ns);
}

static void queue_ready(struct sma_dispatcher *dispatcher, struct chat *chat)
{
    struct platform *platform = chat->platform;
    set_phase(dispatcher, chat, CHAT_READY);
    sma_timers_clear(&dispatcher->timers, &chat->timer);
    chat->next_ready = NULL;
    if (platform->ready_last == NULL)
        platform->ready_first = chat;
    else
        platform->ready_last->next_ready = chat;
    platform->ready_last = chat;
}

static struct chat *take_ready(struct platform *platform)
{
    struct chat *chat = platform->ready_first;
    platform->ready_first = chat->next_ready;
    if (platform->ready_first == NULL)
        platform->ready_last = NULL;
    chat->next_ready = NULL;
    return chat;
}

static void leave_ready(struct chat *chat)
{
    struct platform *platform = chat->platform;
    struct chat *before = NULL;
    for (struct chat *other = platform->ready_first; other != chat; other = other->next_ready)
        before = other;
    if (before == NULL)
        platform->ready_first = chat->next_ready;
    else
        before->next_ready = chat->next_ready;
    if (platform->ready_last == chat)
        platform->ready_last = before;
    chat->next_ready = NULL;
    chat->phase = CHAT_HELD;
}

/* Render the row. false: it has ended (busy with its last receipt) or must wait (held). */
static bool prepare(struct sma_dispatcher *dispatcher, struct row *row, struct sma_ctx *ctx)
{
    const struct sma_deliver *deliver = row->deliver;
    enum sma_err err = sma_dispatcher_render(dispatcher, row);
    if (err == SMA_ERR_NOMEM) {
        hold(dispatcher, row->chat, sma_ctx_now(ctx) + SMA_DISPATCHER_RETRY_S * SMA_NS_PER_S);
        return false;
    }
    bool is_new_version = deliver->part_done_count > 0 && deliver->renderer_version != 0 &&
                          deliver->renderer_version != row->platform->ops->renderer_version;
    char text[DISPATCHER_ERROR_BYTES_MAX] = "";
    enum sma_delivery_state state = SMA_DELIVERY_FAILED;
    if (err != SMA_ERR_OK)
        snprintf(text, sizeof text, "adapter %s could not render this text: %s",
                 row->platform->name, sma_err_text(err));
    else if (row->part >= row->part_count) {
        state = SMA_DELIVERY_UNKNOWN; /* parts are out, so "failed" would be wrong */
        snprintf(text, sizeof text, "%u parts were sent before a restart; %u are known now",
                 deliver->part_done_count, row->part_count);
    }
    if (text[0] != '\0') {
        set_phase(dispatcher, row->chat, CHAT_BUSY);
        sma_dispatcher_end_row(dispatcher, row, state, sma_str(text), ctx);
        return false;
    }
    if (is_new_version)
        sma_ctx_log(ctx, SMA_LOG_WARN,
                    "delivery %llu: parts 1-%u were cut by an older version of adapter %s; going "
                    "on with part %u",
                    (unsigned long long)deliver->outbox_id, deliver->part_done_count,
                    row->platform->name, row->part + 1);
    return true;
}

/* Nothing of it can be on its way: an attempt whose outcome is unknown may still be answered, and
 * that counts. */
static bool may_give_back(const struct row *row, uint64_t wait_ns)
{
    return (row->platform->row_count > DISPATCHER_HELD_COUNT || is_long(wait_ns)) &&
           row->try.unknown_count == 0 && row->next_in_chat == NULL;
}

/* The platform takes nothing here until the row is too old to be worth sending. @return whether it
 * has ended */
static bool end_expired(struct sma_dispatcher *dispatcher, struct row *row, struct sma_ctx *ctx)
{
    uint64_t until = later_of(row->chat->hold_until_ns, row->platform->hold_until_ns);
    if (until <= sma_ctx_now(ctx) || until <= row->expires_ns)
        return false;
    bool is_certain = row->try.unknown_count == 0;
    set_phase(dispatcher, row->chat, CHAT_BUSY);
    sma_dispatcher_end_row(dispatcher, row, is_certain ? SMA_DELIVERY_FAILED : SMA_DELIVERY_UNKNOWN,
                           SMA_STR("the platform takes no message here until this one is too old"),
                           ctx);
    return true;
}

void sma_dispatcher_advance(struct sma_dispatcher *dispatcher, struct chat *chat,
                            struct sma_ctx *ctx)
{
    if (chat->phase == CHAT_BUSY || chat->phase == CHAT_READY)
        return;
    struct row *row = chat->first;
    uint64_t now = sma_ctx_now(ctx);
    if (row == NULL) {
        rest(dispatcher, chat, now);
        return;
    }
    if (dispatcher->is_draining) {
        set_phase(dispatcher, chat,
                  CHAT_HELD); /* no new attempt: the row stays open in the store */
        sma_timers_clear(&dispatcher->timers, &chat->timer);
        return;
    }
    if (end_expired(dispatcher, row, ctx) || (!row->is_rendered && !prepare(dispatcher, row, ctx)))
        return;
    uint64_t gate = later_of(chat->hold_until_ns, sma_rate_ready_at(chat->rate, chat->taken_ns));
    uint64_t platform_gate = chat->platform->hold_until_ns;
    bool is_platform_held =
        platform_gate > gate && platform_gate > now && is_long(platform_gate - now);
    gate = is_platform_held ? platform_gate : gate;
    if (gate > now && may_give_back(row, gate - now)) {
        set_phase(dispatcher, chat, CHAT_BUSY);
        row->is_platform_held = is_platform_held;
        sma_dispatcher_give_back(dispatcher, row, gate, ctx);
        return;
    }
    if (gate > now) {
        hold(dispatcher, chat, gate);
        return;
    }
    queue_ready(dispatcher, chat);
}

/* -- late files -------------------------------------------------------------------------------- */
static struct sma_str part_bytes(const struct row *row, uint32_t part)
{
    size_t from = part == 0 ? 0 : row->part_ends[part - 1];
    return (struct sma_str){row->bytes.ptr + from, row->part_ends[part] - from};
}

static bool is_file(const struct row *row, uint32_t part)
{
    const struct sma_adapter_ops *ops = row->platform->ops;
    return ops->is_file != NULL && ops->is_file(part_bytes(row, part));
}

static bool has_words_behind(const struct row *row)
{
    uint32_t part = row->part + 1;
    while (part < row->part_count && is_file(row, part))
        part++;
    return part < row->part_count;
}

static uint64_t late_at(const struct row *row)
{
    return row->msg->sent_ns + SMA_DELIVERY_FILE_S * SMA_NS_PER_S;
}

/* What its chat is to be sent goes on, while the file is out or waits; so does the run that asked
 * how it ends. */
static void step_aside(struct sma_dispatcher *dispatcher, struct row *row, struct sma_ctx *ctx)
{
    struct chat *chat = row->chat;
    if (!row->is_aside && sma_dispatcher_set_aside(dispatcher, row)) {
        set_phase(dispatcher, row->chat, CHAT_BUSY);
        chat->phase = CHAT_HELD;
        sma_dispatcher_advance(dispatcher, chat, ctx);
    }
    (void)sma_dispatcher_tell_waiting(dispatcher, row, SMA_SEND_QUEUED, ctx);
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg =
        sma_msg_make_late(&(struct sma_late){.outbox_id = row->deliver->outbox_id});
    if (msg != NULL)
        sma_ctx_signal(ctx, SMA_ACTOR_STORE, &msg);
}

/* -- one attempt ------------------------------------------------------------------------------- */
static void put_key(const struct sma_deliver *deliver, uint32_t part, struct sma_buf *key)
{
    sma_buf_printf(key, "%llu.%u", (unsigned long long)deliver->outbox_id, part);
    if (deliver->salt != 0)
        sma_buf_printf(key, ".%016llx", (unsigned long long)deliver->salt);
}

static struct sma_msg *make_attempt(const struct row *row)
{
    const struct sma_deliver *deliver = row->deliver;
    const struct sma_adapter_ops *ops = row->platform->ops;
    struct sma_buf key;
    sma_buf_init(&key, SMA_ID_BYTES_MAX);
    if (ops->key != NULL)
        ops->key(deliver, row->part, &key);
    else
        put_key(deliver, row->part, &key);
    struct sma_msg *msg = NULL;
    if (key.err == SMA_ERR_OK)
        msg = sma_msg_make_attempt(&(struct sma_attempt){
            .outbox_id = deliver->outbox_id,
            .seq = deliver->seq,
            .part = row->part,
            .part_count = row->part_count,
            .route = deliver->route,
            .part_bytes = part_bytes(row, row->part),
            .idempotency_key = sma_buf_str(&key),
            .intent = deliver->intent,
            .is_repeat = row->try.unknown_count > 0,
            .reply_count = deliver->reply_count,
            .is_interim = deliver->is_interim,
            .is_late = row->is_aside && is_file(row, row->part) && has_words_behind(row),
        });
    sma_buf_fini(&key);
    return msg;
}

static void start_attempt(struct sma_dispatcher *dispatcher, struct chat *chat, struct sma_ctx *ctx)
{
    struct row *row = chat->first;
    struct platform *platform = chat->platform;
    uint64_t now = sma_ctx_now(ctx);
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = make_attempt(row);
    uint64_t deadline = now + SMA_ATTEMPT_TIMEOUT_S * SMA_NS_PER_S;
    SMA_CRASH_POINT("dispatcher.before_attempt");
    if (msg == NULL ||
        sma_ctx_ask(ctx, platform->actor, &msg, deadline, &row->ask_id) != SMA_ERR_OK) {
        hold(dispatcher, chat,
             now + SMA_DISPATCHER_RETRY_S * SMA_NS_PER_S); /* no memory, or the adapter has ended */
        return;
    }
    if (row->try.unknown_count > 0)
        SMA_METRIC_ADD(deliveries_repeated_total, 1);
    else if (row->try.attempt_count > 0 || row->try.waited_ns > 0)
        SMA_METRIC_ADD(deliveries_retried_total, 1);
    row->phase = ROW_ATTEMPT;
    row->is_attempted = true;
    row->attempt_total++;
    row->attempt_ns = now;
    set_phase(dispatcher, chat, CHAT_BUSY);
    bool is_timely = is_file(row, row->part) && !row->is_aside && late_at(row) < deadline;
    sma_timers_set(&dispatcher->timers, &row->timer, is_timely ? late_at(row) : deadline);
    chat->taken_ns = sma_rate_take(chat->rate, chat->taken_ns, now);
    platform->taken_ns = sma_rate_take(&platform->rate, platform->taken_ns, now);
    dispatcher->attempt_open_count++;
}

void sma_dispatcher_pump(struct sma_dispatcher *dispatcher, struct platform *platform,
                         struct sma_ctx *ctx)
{
    while (platform->ready_first != NULL && !dispatcher->is_draining) {
        uint64_t gate = later_of(platform->hold_until_ns,
                                 sma_rate_ready_at(&platform->rate, platform->taken_ns));
        if (gate > sma_ctx_now(ctx)) {
            sma_timers_set(&dispatcher->timers, &platform->timer, gate);
            return;
        }
        if (sma_ctx_ask_room(ctx, platform->actor) == 0)
            /* attempts past their deadline hold all the room: the next answer pumps again */
            return;
        struct chat *chat = take_ready(platform);
        chat->phase = CHAT_HELD;
        if (chat->first == NULL || !chat->first->is_rendered ||
            chat->hold_until_ns > sma_ctx_now(ctx))
            sma_dispatcher_advance(dispatcher, chat,
                                   ctx); /* its first row was cancelled meanwhile */
        else
            start_attempt(dispatcher, chat, ctx);
    }
}

/* -- outcomes ---------------------------------------------------------------------------------- */
static void close_attempt(struct sma_dispatcher *dispatcher, struct row *row, struct sma_ctx *ctx)
{
    SMA_ASSERT(dispatcher->attempt_open_count > 0);
    dispatcher->attempt_open_count--;
    sma_timers_clear(&dispatcher->timers, &row->timer);
    SMA_METRIC_TIME(delivery_attempt, sma_ctx_now(ctx) - row->attempt_ns);
    row->phase = ROW_QUEUED;
    row->ask_id = 0;
}

void sma_dispatcher_part_sent(struct sma_dispatcher *dispatcher, struct row *row,
                              struct sma_ctx *ctx)
{
    const struct sma_stamps *stamps = &row->deliver->stamps;
    uint64_t now = sma_ctx_now(ctx);
    if (row->chat->phase == CHAT_READY)
        leave_ready(row->chat); /* an older attempt's success came before the repeat was made */
    set_phase(dispatcher, row->chat, CHAT_BUSY);
    sma_timers_clear(&dispatcher->timers, &row->chat->timer);
    row->is_late_sent = false;
    row->reply_ns = now;
    row->error[0] = '\0';
    if (row->part == 0 && stamps->read_ns != 0 && stamps->read_ns <= now)
        SMA_METRIC_TIME(read_to_reply, now - stamps->read_ns);
    if (row->part + 1 == row->part_count) {
        sma_dispatcher_end_row(dispatcher, row, SMA_DELIVERY_SENT, SMA_STR(""), ctx);
        return;
    }
    row->try = (struct sma_delivery_try){0}; /* the next part begins afresh */
    sma_dispatcher_send_receipt(dispatcher, row, SMA_DELIVERY_SENT, ctx);
}

/* Whom the platform has told to wait: it says so, or it shows in whom else it tells. */
static bool is_for_all(struct sma_dispatcher *dispatcher, const struct chat *chat,
                       const struct sma_attempt_result *result, uint64_t until_ns, uint64_t now_ns)
{
    if (result->is_adapter_wide || result->is_chat_only)
        return result->is_adapter_wide;
    struct sma_str key = chat->first->deliver->route.chat_key; /* of a late file, too */
    uint64_t hash = sma_siphash(dispatcher->hash_key, key.ptr, key.len);
    return sma_limits_note(&chat->platform->limits, hash, chat->rate == &chat->platform->group_rate,
                           until_ns, now_ns);
}

/* What is ordered holds whatever becomes of the row: asking on would make the wait longer. */
static void note_hold(struct sma_dispatcher *dispatcher, struct row *row,
                      const struct sma_delivery_decision *decision,
                      const struct sma_attempt_result *result, struct sma_ctx *ctx)
{
    uint64_t now = sma_ctx_now(ctx), until = now + decision->delay_ns;
    struct chat *chat = row->chat;
    if (decision->is_ordered && is_for_all(dispatcher, chat, result, until, now))
        chat->platform->hold_until_ns = later_of(chat->platform->hold_until_ns, until);
    else if (decision->delay_ns > 0)
        chat->hold_until_ns = until;
}

static void delay(struct sma_dispatcher *dispatcher, struct row *row,
                  const struct sma_delivery_decision *decision, struct sma_ctx *ctx)
{
    struct chat *chat = row->chat;
    /* certainly not sent: let the store keep the count of attempts; a wait by order costs none */
    if (decision->next == SMA_DELIVERY_NEXT_WAIT && !decision->is_ordered) {
        sma_dispatcher_send_receipt(dispatcher, row, SMA_DELIVERY_WAITING, ctx);
        return;
    }
    chat->phase = CHAT_HELD;
    sma_dispatcher_advance(dispatcher, chat, ctx);
}

static void note_sent(struct row *row, const struct sma_attempt_result *result)
{
    copy_text(row->platform_id, sizeof row->platform_id, result->platform_message_id);
    copy_text(row->reply_id, sizeof row->reply_id, result->reply_id);
    row->sent_ms = result->sent_ms;
}

static void decide(struct sma_dispatcher *dispatcher, struct row *row,
                   const struct sma_attempt_result *result, struct sma_ctx *ctx)
{
    uint64_t now = sma_ctx_now(ctx);
    if (result->attempt_class == SMA_ATTEMPT_UNKNOWN)
        SMA_METRIC_ADD(deliveries_unknown_total, 1);
    row->try.left_ns = row->expires_ns > now ? row->expires_ns - now : 0;
    struct sma_delivery_decision decision = sma_delivery_decide(
        &row->try, (enum sma_attempt_class)result->attempt_class, result->retry_after_ms,
        row->platform->ops->capabilities.has_idempotency || result->is_likely_unsent,
        sma_ctx_random(ctx));
    copy_text(row->error, sizeof row->error, result->error);
    bool is_late_file =
        is_file(row, row->part) &&
        (row->try.attempt_count >= SMA_DELIVERY_FILE_ATTEMPT_COUNT || late_at(row) <= now);
    if (is_late_file && result->attempt_class != SMA_ATTEMPT_SENT)
        step_aside(dispatcher, row, ctx);
    note_hold(dispatcher, row, &decision, result, ctx);
    switch (decision.next) {
    case SMA_DELIVERY_NEXT_SENT:
        note_sent(row, result);
        sma_dispatcher_part_sent(dispatcher, row, ctx);
        return;
    case SMA_DELIVERY_NEXT_WAIT:
    case SMA_DELIVERY_NEXT_REPEAT:
        delay(dispatcher, row, &decision, ctx);
        return;
    case SMA_DELIVERY_NEXT_FAILED:
        row->is_content_refused = result->is_content_refused || is_file(row, row->part);
        sma_dispatcher_end_row(dispatcher, row, SMA_DELIVERY_FAILED, result->error, ctx);
        return;
    case SMA_DELIVERY_NEXT_UNKNOWN:
        row->is_content_refused = is_file(row, row->part);
        sma_dispatcher_end_row(dispatcher, row, SMA_DELIVERY_UNKNOWN, result->error, ctx);
        return;
    }
}

/* An answer to an attempt that is no longer waited for. Only a success changes anything. */
static void on_late(struct sma_dispatcher *dispatcher, struct row *row,
                    const struct sma_attempt_result *result, struct sma_ctx *ctx)
{
    if (result->attempt_class != SMA_ATTEMPT_SENT)
        return;
    if (row == NULL || row->is_ended || !row->is_attempted || result->part != row->part) {
        if (row == NULL || (row->is_ended && row->receipt_state != SMA_DELIVERY_SENT))
            sma_ctx_log(ctx, SMA_LOG_INFO,
                        "delivery %llu: an attempt given up on had reached the platform",
                        (unsigned long long)result->outbox_id);
        return;
    }
    if (row->phase == ROW_RECEIPT || row->phase == ROW_RECEIPT_HELD) {
        if (row->receipt_state != SMA_DELIVERY_WAITING)
            return; /* this part's success is being stored already */
        row->is_late_sent = true;
        note_sent(row, result);
        return;
    }
    if (row->phase == ROW_ATTEMPT)
        close_attempt(dispatcher, row, ctx); /* the repeat's own answer will come as a late one */
    note_sent(row, result);
    sma_dispatcher_part_sent(dispatcher, row, ctx);
}

void sma_dispatcher_on_result(struct sma_dispatcher *dispatcher, const struct sma_msg *msg,
                              const struct sma_attempt_result *result, struct sma_ctx *ctx)
{
    SMA_CRASH_POINT("dispatcher.after_attempt");
    struct row *row = sma_dispatcher_find_row(dispatcher, result->outbox_id);
    if (row == NULL || row->phase != ROW_ATTEMPT || row->ask_id != msg->ask_id) {
        on_late(dispatcher, row, result, ctx);
        return;
    }
    close_attempt(dispatcher, row, ctx);
    decide(dispatcher, row, result, ctx);
}

void sma_dispatcher_time_out(struct sma_dispatcher *dispatcher, struct row *row,
                             struct sma_ctx *ctx)
{
    uint64_t deadline = row->attempt_ns + SMA_ATTEMPT_TIMEOUT_S * SMA_NS_PER_S;
    if (sma_ctx_now(ctx) < deadline) {
        step_aside(dispatcher, row, ctx);
        sma_timers_set(&dispatcher->timers, &row->timer, deadline);
        return;
    }
    struct sma_attempt_result result = {
        .outbox_id = row->deliver->outbox_id,
        .part = row->part,
        .attempt_class = SMA_ATTEMPT_UNKNOWN,
        .error = SMA_STR("no answer from the platform in time"),
    };
    close_attempt(dispatcher, row, ctx);
    decide(dispatcher, row, &result, ctx);
}
