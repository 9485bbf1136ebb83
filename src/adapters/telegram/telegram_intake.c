/*
 * telegram_intake.c — what is Telegram's own about events at the store: numbers that two bots count
 * alike, and how a button's wheel is stopped. Words about what was not done stay on the screen
 * until they are closed; others pass by.
 */
#include "telegram_priv.h"

#include "sma/text.h"

#include <stdio.h>

struct telegram_in_options telegram_in_options_now(struct telegram *telegram, uint64_t read_ns)
{
    return (struct telegram_in_options){
        .bot = &telegram->bot,
        .home = &telegram->base.home,
        .adapter = (uint8_t)sma_ctx_self(telegram->ctx),
        .now_wall_ms = sma_ctx_wall(telegram->ctx),
        .read_ns = read_ns,
        .attachment_bytes_max = telegram->settings.attachment_bytes_max,
    };
}

/* -- whose message it is ----------------------------------------------------------------------- */
static bool is_shared(const struct telegram *telegram, int64_t update_id)
{
    for (size_t i = 0; i < TELEGRAM_SHARED_COUNT_MAX; i++)
        if (update_id > 0 && telegram->shared.update_ids[i] == update_id)
            return true;
    return false;
}

/* The store knows this number as a message of another bot: the update comes again, and is told
 * apart then. */
static void note_shared(struct telegram *telegram, int64_t update_id)
{
    struct telegram_shared *shared = &telegram->shared;
    shared->update_ids[shared->next] = update_id;
    shared->next = (shared->next + 1) % TELEGRAM_SHARED_COUNT_MAX;
    if (!shared->is_told)
        sma_platform_log(&telegram->base, SMA_LOG_WARN,
                         "another bot was used in this project before, and its messages had "
                         "the same numbers; message ids hold the bot's id where they meet");
    shared->is_told = true;
}

/* Two bots count the messages of one person's chat each for itself. */
static uint64_t hash_bot(const struct telegram *telegram)
{
    static const uint8_t key[16] = "telegram bot id"; /* no secret: it only has to spread */
    return sma_siphash(key, &telegram->bot.id, sizeof telegram->bot.id) | 1;
}

/* -- to the store ------------------------------------------------------------------------------ */
enum sma_took telegram_take(struct telegram *telegram, const struct telegram_event *event,
                            const struct sma_origin *origin)
{
    struct sma_ingress ingress = event->ingress;
    struct sma_platform_event taken = {.ingress = event->kind == TELEGRAM_INGRESS ? &ingress : NULL,
                                       .why = event->why,
                                       .chat_key = event->chat_key,
                                       .user_id = event->user_id,
                                       .message_id = event->message_id};
    char event_key[64];
    struct sma_origin here = *origin;
    here.number = event->update_id;
    here.press_id = event->callback_id;
    bool is_counted = taken.ingress != NULL &&
                      (ingress.kind == SMA_EVENT_MESSAGE || ingress.kind == SMA_EVENT_CONTROL);
    if (is_counted)
        ingress.body_hash = hash_bot(telegram);
    if (is_counted && is_shared(telegram, event->update_id)) {
        snprintf(event_key, sizeof event_key, "%lld:%.*s", (long long)telegram->bot.id,
                 (int)ingress.event_key.len, ingress.event_key.ptr);
        ingress.event_key = sma_str(event_key);
    }
    return sma_intake_take(&telegram->base.intake, &taken, &here);
}

/* What has no number cannot be told apart when it comes again, so it is taken for the other. */
static void judge(void *state, const struct sma_origin *origin, struct sma_accepted *accepted)
{
    if (accepted->verdict != SMA_VERDICT_CONFLICT)
        return;
    if (origin->number > 0)
        note_shared(state, origin->number);
    else
        accepted->verdict = SMA_VERDICT_DUPLICATE;
}

static void settle(void *state, const struct sma_origin *origin,
                   const struct sma_accepted *accepted, struct sma_str result)
{
    (void)result;
    telegram_poll_settle(state, origin->place, accepted);
}

/* -- buttons ----------------------------------------------------------------------------------- */
static void on_press_answered(void *state, void *user, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    (void)user;
    (void)answer; /* too late, or the platform is away: the wheel stops by itself */
    sma_press_answered(&telegram->base.intake);
}

static bool answer_press(void *state, const struct sma_press *press)
{
    bool is_alert = press->verdict == SMA_VERDICT_IGNORED || press->verdict == SMA_VERDICT_BUSY;
    struct sma_buf body;
    sma_buf_init(&body, 4096);
    telegram_put_callback_answer(&body, sma_str(press->id), sma_str(press->text), is_alert);
    bool is_asked =
        sma_call_start(((struct telegram *)state)->base.calls,
                       &(struct sma_call_options){.method = "POST",
                                                  .path = SMA_STR("answerCallbackQuery"),
                                                  .body = &body,
                                                  .may_repeat = true,
                                                  .total_ms = TELEGRAM_CALLBACK_MS,
                                                  .done = on_press_answered}) != NULL;
    return is_asked;
}

const struct sma_intake_ops telegram_intake_ops = {
    .count_max = TELEGRAM_ASK_COUNT_MAX,
    .press_late_ms = TELEGRAM_CALLBACK_LATE_MS,
    .settle = settle,
    .answer_press = answer_press,
    .judge = judge,
};
