/*
 * telegram_poll.c — long polling: updates become questions to the store, and the next poll confirms
 * what is finished.
 *
 * The next poll leaves when every update of this one has its verdict, without any timer in between;
 * its offset is behind the updates that are finished, counted from the front. Arrival decides the
 * order, not the number: after a quiet week the platform starts from another one, possibly lower.
 */
#include "telegram_priv.h"

#include "sma/plural.h"

#include <stdio.h>

#define CONFLICT_TELL_S 60

enum telegram_entry_state
{
    ENTRY_OPEN,
    ENTRY_FINISHED,
    ENTRY_REFUSED,
    ENTRY_AGAIN, /* not this way: it comes again at once */
};

static void poll_again(struct telegram *telegram, uint64_t delay_ns)
{
    if (telegram->base.is_intake_off)
        return;
    if (delay_ns == 0)
        telegram_poll_start(telegram);
    else
        telegram->poll.due_ns = sma_ctx_now(telegram->ctx) + delay_ns;
}

/* -- what is finished -------------------------------------------------------------------------- */
/* The offset behind the finished entries at the front. */
static int64_t finished_offset(const struct telegram_poll *poll)
{
    int64_t offset = poll->offset;
    for (size_t i = 0; i < poll->entry_count && poll->entries[i].state == ENTRY_FINISHED; i++)
        if (poll->entries[i].update_id > 0)
            offset = poll->entries[i].update_id + 1;
    return offset;
}

static bool has_one(const struct telegram_poll *poll, enum telegram_entry_state state)
{
    for (size_t i = 0; i < poll->entry_count; i++)
        if (poll->entries[i].state == state)
            return true;
    return false;
}

/* Every entry has its verdict. Refused: the disk needs time. Nothing moved: the same ones would
 * come at once. */
static void end_batch(struct telegram *telegram)
{
    struct telegram_poll *poll = &telegram->poll;
    int64_t offset = finished_offset(poll);
    bool needs_pause =
        has_one(poll, ENTRY_REFUSED) || (offset == poll->offset && !has_one(poll, ENTRY_AGAIN));
    poll->offset = offset;
    poll->entry_count = 0;
    SMA_CRASH_POINT("telegram.before_offset");
    poll_again(telegram, needs_pause ? SMA_NS_PER_S : 0);
}

void telegram_poll_settle(struct telegram *telegram, uint32_t index,
                          const struct sma_accepted *accepted)
{
    struct telegram_poll *poll = &telegram->poll;
    SMA_ASSERT(index < poll->entry_count && poll->open_count > 0);
    SMA_ASSERT(poll->entries[index].state == ENTRY_OPEN);
    poll->entries[index].state = accepted->verdict == SMA_VERDICT_REFUSED    ? ENTRY_REFUSED
                                 : accepted->verdict == SMA_VERDICT_CONFLICT ? ENTRY_AGAIN
                                                                             : ENTRY_FINISHED;
    if (--poll->open_count == 0 && poll->call == NULL)
        end_batch(telegram);
}

/* -- one answer -------------------------------------------------------------------------------- */
static void on_event(void *user, const struct telegram_event *event)
{
    struct telegram *telegram = user;
    struct telegram_poll *poll = &telegram->poll;
    struct telegram_event taken = *event;
    taken.ingress.cursor_value = finished_offset(poll);
    taken.ingress.cursor_name =
        taken.ingress.cursor_value > 0 ? sma_str(telegram->poll.cursor_name) : SMA_STR("");
    struct sma_origin origin = {.place = (uint32_t)poll->entry_count};
    enum sma_took took = SMA_TOOK_NOT;
    if (!poll->is_cut && poll->entry_count < TELEGRAM_POLL_COUNT && !telegram->base.is_intake_off)
        took = telegram_take(telegram, &taken, &origin);
    if (took == SMA_TOOK_NOT) {
        poll->is_cut = true; /* this one and all behind it come again */
        return;
    }
    bool is_open = took == SMA_TOOK_ASKED;
    poll->open_count += is_open;
    poll->entries[poll->entry_count++] = (struct telegram_entry){
        .update_id = event->update_id, .state = is_open ? ENTRY_OPEN : ENTRY_FINISHED};
}

static void be_alone(struct telegram *telegram)
{
    telegram->poll.conflict_count = 0;
    sma_adapter_health_heal(&telegram->base.health, SMA_CAUSE_BOT);
}

/* A server that does not wait would have us ask without end. */
static uint64_t delay_of_empty(struct telegram *telegram)
{
    struct telegram_poll *poll = &telegram->poll;
    uint64_t waited_ns = sma_ctx_now(telegram->ctx) - poll->asked_ns;
    bool has_waited = waited_ns > SMA_NS_PER_S / 2;
    if (waited_ns + SMA_NS_PER_S > telegram->settings.poll_timeout_s * SMA_NS_PER_S)
        be_alone(telegram); /* nobody took a whole long poll away */
    poll->empty_count = has_waited ? 0 : poll->empty_count + 1;
    return poll->empty_count > TELEGRAM_EMPTY_COUNT_MAX ? SMA_NS_PER_S : 0;
}

static void on_updates(struct telegram *telegram)
{
    struct telegram_poll *poll = &telegram->poll;
    if (poll->failure_count > 0)
        sma_platform_log(&telegram->base, SMA_LOG_INFO, "polling works again after %u failure%s",
                         poll->failure_count, SMA_S(poll->failure_count));
    poll->failure_count = 0;
    sma_adapter_health_up(&telegram->base.health);
    sma_adapter_health_heal(&telegram->base.health, SMA_CAUSE_LOGIN);
    if (poll->entry_count == 0 && !poll->is_cut) {
        poll_again(telegram, delay_of_empty(telegram));
        return;
    }
    poll->empty_count = 0;
    if (poll->open_count == 0)
        end_batch(telegram);
}

/* -- failures ---------------------------------------------------------------------------------- */
static void on_conflict(struct telegram *telegram, const char *description)
{
    struct telegram_poll *poll = &telegram->poll;
    poll->conflict_count++;
    uint64_t delay_ns = telegram_backoff_ns(telegram, poll->conflict_count);
    if (strstr(description, "ebhook") != NULL) {
        bool is_often = poll->conflict_count >
                        TELEGRAM_CONFLICT_COUNT_MAX; /* somebody sets it again and again */
        sma_platform_log(&telegram->base, SMA_LOG_WARN,
                         "a webhook was set for this bot; removing it to poll");
        telegram_bot_unhook(telegram, is_often ? delay_ns : 0);
        return;
    }
    uint64_t now_ns = sma_ctx_now(telegram->ctx);
    bool is_due = poll->conflict_told_ns == 0 ||
                  now_ns - poll->conflict_told_ns >= CONFLICT_TELL_S * SMA_NS_PER_S;
    if (poll->conflict_count > TELEGRAM_CONFLICT_COUNT_MAX && is_due) {
        static const char text[] =
            "another program is polling with the same bot token (409), so messages go to either at "
            "random. Stop the other one, or give this project a bot of its own";
        poll->conflict_told_ns = now_ns;
        (void)sma_adapter_health_set(&telegram->base.health, SMA_CAUSE_BOT, text);
        sma_platform_log(&telegram->base, SMA_LOG_ERROR, "%s", text);
    }
    poll_again(telegram, delay_ns);
}

static void on_failure(struct telegram *telegram, const struct sma_net_answer *answer,
                       const char *why)
{
    struct telegram_poll *poll = &telegram->poll;
    struct sma_answered outcome;
    char description[200];
    sma_verdict(&telegram_verdicts, "asking Telegram", answer, SMA_WHEN_QUESTION, &outcome);
    telegram_describe(answer, description);
    sma_adapter_health_down(&telegram->base.health, why != NULL ? why : outcome.error);
    if (answer->end == SMA_NET_ANSWERED && answer->status == 409) {
        on_conflict(telegram, description);
        return;
    }
    uint64_t delay_ns = telegram_backoff_ns(telegram, ++poll->failure_count);
    if (outcome.act == SMA_ACT_OWNER) {
        telegram_bot_refused(telegram, answer->status);
        delay_ns = TELEGRAM_BACKOFF_MAX_S * SMA_NS_PER_S;
    } else if (sma_adapter_is_worth_telling(poll->failure_count)) {
        sma_platform_log(&telegram->base, SMA_LOG_WARN,
                         "getUpdates failed (%u in a row): %s; trying again", poll->failure_count,
                         why != NULL ? why : outcome.error);
    }
    uint64_t ordered_ns = outcome.act == SMA_ACT_OWNER ? 0 : outcome.retry_after_ms * SMA_NS_PER_MS;
    poll_again(telegram, ordered_ns > delay_ns ? ordered_ns : delay_ns);
}

static void on_polled(void *state, void *user, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    (void)user;
    struct telegram_poll *poll = &telegram->poll;
    poll->entry_count = 0;
    poll->is_cut = false;
    if (telegram->base.is_intake_off) {
        poll->call = NULL;
        return;
    }
    struct sma_error error = {0};
    enum sma_err err = SMA_ERR_BADINPUT;
    bool is_good = answer->end == SMA_NET_ANSWERED && answer->status == 200;
    if (is_good) {
        struct telegram_in_options options =
            telegram_in_options_now(telegram, sma_ctx_now(telegram->ctx));
        err = telegram_updates_parse(&options, answer->body, on_event, telegram, &error);
    }
    poll->call = NULL;
    if (err == SMA_ERR_NOMEM)
        poll->is_cut = true; /* the rest comes again */
    if (err == SMA_ERR_OK || err == SMA_ERR_NOMEM)
        on_updates(telegram);
    else
        on_failure(telegram, answer, is_good ? error.text : NULL);
}

/* -- asking ------------------------------------------------------------------------------------ */
void telegram_poll_start(struct telegram *telegram)
{
    struct telegram_poll *poll = &telegram->poll;
    poll->due_ns = UINT64_MAX;
    if (telegram->base.is_intake_off || poll->call != NULL || poll->open_count > 0 ||
        telegram->phase != TELEGRAM_PHASE_READY)
        return;
    struct sma_buf body;
    sma_buf_init(&body, 256);
    sma_buf_put_char(&body, '{');
    if (poll->offset > 0)
        sma_buf_printf(&body, "\"offset\":%lld,", (long long)poll->offset);
    sma_buf_printf(&body,
                   "\"limit\":%d,\"timeout\":%u,"
                   "\"allowed_updates\":[\"message\",\"edited_message\",\"callback_query\",\"my_"
                   "chat_member\"]}",
                   TELEGRAM_POLL_COUNT, telegram->settings.poll_timeout_s);
    poll->asked_ns = sma_ctx_now(telegram->ctx);
    poll->call = sma_call_start(
        telegram->base.calls,
        &(struct sma_call_options){
            .method = "POST",
            .path = SMA_STR("getUpdates"),
            .body = &body,
            .may_repeat = true,
            .total_ms = (telegram->settings.poll_timeout_s + TELEGRAM_POLL_GRACE_S) * 1000,
            .answer_bytes_max = TELEGRAM_POLL_BYTES_MAX,
            .done = on_polled,
        });
    if (poll->call == NULL)
        poll->due_ns = poll->asked_ns + SMA_NS_PER_S; /* out of memory */
}

void telegram_poll_stop(struct telegram *telegram)
{
    sma_call_cancel(telegram->poll.call);
    telegram->poll.call = NULL;
    telegram->poll.due_ns = UINT64_MAX;
}

void telegram_poll_tick(struct telegram *telegram, uint64_t now_ns)
{
    if (telegram->poll.due_ns <= now_ns)
        telegram_poll_start(telegram);
}
