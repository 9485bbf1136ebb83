/*
 * telegram_intake.c — events on their way through the store: asked, remembered, settled with
 * whoever waits.
 *
 * A button is answered with the verdict and its words, or when that is late without them: the
 * person sees a turning wheel meanwhile. Words about what was not done stay on the screen until
 * they are closed; others pass by.
 */
#include "telegram_priv.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

struct telegram_in_options telegram_in_options_now(struct telegram *telegram, uint64_t read_ns)
{
    return (struct telegram_in_options){
        .bot = &telegram->bot,
        .adapter = (uint8_t)sma_ctx_self(telegram->ctx),
        .now_wall_ms = sma_ctx_wall(telegram->ctx),
        .read_ns = read_ns,
        .backlog_records = telegram->settings.backlog_records,
        .start_wall_ms = telegram->start_wall_ms,
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
        sma_ctx_log(telegram->ctx, SMA_LOG_WARN,
                    "telegram: another bot was used in this project before, and its messages had "
                    "the same numbers; message ids hold the bot's id where they meet");
    shared->is_told = true;
}

/* Two bots count the messages of one person's chat each for itself. */
static uint64_t hash_bot(const struct telegram *telegram)
{
    static const uint8_t key[16] = "telegram bot id"; /* no secret: it only has to spread */
    return sma_siphash(key, &telegram->bot.id, sizeof telegram->bot.id) | 1;
}

/* A clock that is a day ahead makes everything old: people would wait for answers and nobody would
 * know why. */
static void tell_age(struct telegram *telegram, const struct sma_ingress *ingress)
{
    int64_t age_ms = sma_ctx_wall(telegram->ctx) - ingress->wall_ms;
    if (telegram->is_age_told || age_ms <= TELEGRAM_BACKLOG_AGE_MS)
        return;
    telegram->is_age_told = true;
    sma_ctx_log(telegram->ctx, SMA_LOG_WARN,
                "telegram: a message is dated %lld hours ago; what is older than a day is recorded "
                "and not answered. If people write it now, the clock of this machine is wrong",
                (long long)(age_ms / 3600000));
}

/* -- to the store ------------------------------------------------------------------------------ */
enum sma_err telegram_intake_ask(struct telegram *telegram, const struct telegram_intake *intake)
{
    if (telegram->ask_count == TELEGRAM_ASK_COUNT_MAX)
        return SMA_ERR_FULL;
    struct sma_ingress ingress = *intake->ingress;
    tell_age(telegram, &ingress);
    struct sma_str callback_id = intake->callback_id;
    char event_key[64];
    if (ingress.kind == SMA_EVENT_MESSAGE || ingress.kind == SMA_EVENT_CONTROL) {
        ingress.body_hash = hash_bot(telegram);
        if (is_shared(telegram, intake->update_id)) {
            snprintf(event_key, sizeof event_key, "%lld:%.*s", (long long)telegram->bot.id,
                     (int)ingress.event_key.len, ingress.event_key.ptr);
            ingress.event_key = sma_str(event_key);
        }
    }
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg = sma_adapter_make_ingress(telegram->ctx, &ingress);
    if (msg == NULL)
        return SMA_ERR_NOMEM;
    struct telegram_ask *ask = &telegram->asks[telegram->ask_count];
    SMA_CRASH_POINT("telegram.before_ask");
    SMA_TRY(sma_ctx_ask(telegram->ctx, SMA_ACTOR_STORE, &msg, 0, &ask->ask_id));
    ask->asker = (uint8_t)intake->asker;
    ask->index = intake->index;
    ask->update_id = intake->update_id;
    ask->callback_id[0] = '\0';
    ask->callback_due_ns = UINT64_MAX;
    if (callback_id.len > 0 && callback_id.len < sizeof ask->callback_id) {
        memcpy(ask->callback_id, callback_id.ptr, callback_id.len);
        ask->callback_id[callback_id.len] = '\0';
        ask->callback_due_ns =
            sma_ctx_now(telegram->ctx) + TELEGRAM_CALLBACK_LATE_S * TELEGRAM_NS_PER_S;
    }
    telegram->ask_count++;
    return SMA_ERR_OK;
}

/* -- buttons ----------------------------------------------------------------------------------- */
static void answer_presses(struct telegram *telegram);

static void on_press_answered(struct telegram *telegram, void *user,
                              const struct sma_net_answer *answer)
{
    (void)user;
    (void)answer; /* too late, or the platform is away: the wheel stops by itself */
    telegram->presses.call_count--;
    answer_presses(telegram);
}

static bool answer_press(struct telegram *telegram, const struct telegram_press *press)
{
    struct sma_buf body;
    bool is_asked = false;
    sma_buf_init(&body, 4096);
    telegram_put_callback_answer(&body, sma_str(press->id), sma_str(press->text), press->is_alert);
    if (body.err == SMA_ERR_OK)
        is_asked =
            telegram_call_start(telegram,
                                &(struct telegram_call_options){.method = "answerCallbackQuery",
                                                                .body = sma_buf_str(&body),
                                                                .total_ms = TELEGRAM_CALLBACK_MS,
                                                                .done = on_press_answered}) != NULL;
    sma_buf_fini(
        &body); /* without memory the wheel turns until the client gives up: nothing is lost */
    return is_asked;
}

/* A few at a time: each holds a connection, and people press faster than a platform that hangs
 * answers. */
static void answer_presses(struct telegram *telegram)
{
    struct telegram_presses *presses = &telegram->presses;
    while (presses->count > 0 && presses->call_count < TELEGRAM_CALLBACK_CALL_COUNT_MAX) {
        const struct telegram_press *press = &presses->line[presses->first];
        presses->first = (presses->first + 1) % TELEGRAM_CALLBACK_LINE_COUNT_MAX;
        presses->count--;
        presses->call_count += answer_press(telegram, press);
    }
}

void telegram_answer_callback(struct telegram *telegram, struct sma_str callback_id,
                              struct sma_str text, bool is_alert)
{
    struct telegram_presses *presses = &telegram->presses;
    if (callback_id.len >= TELEGRAM_CALLBACK_ID_BYTES_MAX)
        return;
    if (presses->count == TELEGRAM_CALLBACK_LINE_COUNT_MAX) {
        presses->first = (presses->first + 1) % TELEGRAM_CALLBACK_LINE_COUNT_MAX;
        presses->count--;
    }
    struct telegram_press *press =
        &presses->line[(presses->first + presses->count) % TELEGRAM_CALLBACK_LINE_COUNT_MAX];
    snprintf(press->id, sizeof press->id, "%.*s", (int)callback_id.len, callback_id.ptr);
    text.len = sma_utf8_cut(text, sizeof press->text - 1);
    if (text.len > 0)
        memcpy(press->text, text.ptr, text.len);
    press->text[text.len] = '\0';
    press->is_alert = is_alert;
    presses->count++;
    answer_presses(telegram);
}

/* -- verdicts ---------------------------------------------------------------------------------- */
static void settle(struct telegram *telegram, const struct telegram_ask *ask,
                   const struct sma_accepted *accepted)
{
    struct sma_accepted known = *accepted;
    if (accepted->verdict == SMA_VERDICT_CONFLICT && ask->update_id > 0) {
        note_shared(telegram, ask->update_id);
        /* could not be told apart then, either */
    } else if (accepted->verdict == SMA_VERDICT_CONFLICT) {
        known.verdict = SMA_VERDICT_DUPLICATE;
        accepted = &known;
    }
    if (ask->callback_due_ns != UINT64_MAX && accepted->verdict != SMA_VERDICT_REFUSED)
        telegram_answer_callback(telegram, sma_str(ask->callback_id), accepted->notice,
                                 accepted->verdict == SMA_VERDICT_IGNORED ||
                                     accepted->verdict == SMA_VERDICT_BUSY);
    /* refused: it comes again */
    if (ask->asker == TELEGRAM_ASKER_POLL)
        telegram_poll_settle(telegram, ask->index, accepted);
    else if (ask->asker == TELEGRAM_ASKER_HOOK)
        telegram_webhook_settle(telegram, ask->index, accepted);
}

void telegram_on_accepted(struct telegram *telegram, const struct sma_msg *msg,
                          const struct sma_accepted *accepted)
{
    for (size_t i = 0; i < telegram->ask_count; i++) {
        if (telegram->asks[i].ask_id != msg->ask_id)
            continue;
        struct telegram_ask ask = telegram->asks[i];
        telegram->asks[i] =
            telegram->asks[--telegram->ask_count]; /* first: settling may ask again */
        SMA_CRASH_POINT("telegram.after_accepted");
        settle(telegram, &ask, accepted);
        break;
    }
    sma_platform_note_drained(&telegram->base);
}

uint64_t telegram_intake_tick(struct telegram *telegram, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < telegram->ask_count; i++) {
        struct telegram_ask *ask = &telegram->asks[i];
        if (ask->callback_due_ns <= now_ns) {
            telegram_answer_callback(telegram, sma_str(ask->callback_id), SMA_STR(""), false);
            ask->callback_due_ns = UINT64_MAX;
        }
        next_ns = ask->callback_due_ns < next_ns ? ask->callback_due_ns : next_ns;
    }
    return next_ns;
}
