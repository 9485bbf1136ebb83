/*
 * qq_intake.c — events on their way through the store: asked, remembered, settled with whoever
 * waits.
 *
 * Answers mostly come in the order of the questions, so the questions stand in a ring and the
 * oldest is looked at first. A button is acknowledged with the verdict, or when that is late
 * without it: the person sees a turning wheel meanwhile. The platform shows no words then, only
 * what a code means.
 */
#include "qq_priv.h"

#include <stdlib.h>

static struct qq_ask *ask_at(const struct qq *qq, size_t offset)
{
    return &qq->asks[(qq->ask_first + offset) % QQ_ASK_COUNT_MAX];
}

struct qq_event_options qq_event_options_now(const struct qq *qq, uint64_t read_ns)
{
    return (struct qq_event_options){.bot_id = sma_str(qq->bot_id),
                                     .adapter = (uint8_t)sma_ctx_self(qq->ctx),
                                     .now_wall_ms = sma_ctx_wall(qq->ctx),
                                     .read_ns = read_ns};
}

bool qq_intake_has_room(const struct qq *qq)
{
    return qq->ask_span < QQ_ASK_COUNT_MAX && !qq->base.is_intake_off;
}

static void note_interaction(struct qq *qq, struct qq_ask *ask, struct sma_str id)
{
    ask->interaction_due_ns = UINT64_MAX;
    if (id.len == 0 || id.len >= sizeof ask->interaction_id)
        return;
    memcpy(ask->interaction_id, id.ptr, id.len);
    ask->interaction_id[id.len] = '\0';
    ask->interaction_due_ns = sma_ctx_now(qq->ctx) + QQ_INTERACTION_LATE_MS * QQ_NS_PER_MS;
    qq->interaction_count++;
}

enum sma_err qq_intake_ask(struct qq *qq, const struct qq_event *event,
                           const struct sma_ingress *ingress, const struct qq_ask *ask)
{
    if (!qq_intake_has_room(qq))
        return SMA_ERR_FULL;
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = sma_adapter_make_ingress(qq->ctx, ingress);
    if (msg == NULL)
        return SMA_ERR_NOMEM;
    struct qq_ask *place = ask_at(qq, qq->ask_span);
    *place = *ask;
    SMA_CRASH_POINT("qq.before_ask");
    SMA_TRY(sma_ctx_ask(qq->ctx, SMA_ACTOR_STORE, &msg, 0, &place->ask_id));
    place->is_open = true;
    qq_fresh_note(qq, ingress);
    note_interaction(qq, place, event->interaction_id);
    qq->ask_span++;
    qq->ask_count++;
    return SMA_ERR_OK;
}

/* -- buttons ----------------------------------------------------------------------------------- */
/* Without memory the wheel turns until the client gives up: nothing is lost. */
void qq_acknowledge(struct qq *qq, struct sma_str interaction_id, int code)
{
    struct sma_buf path, body;
    sma_buf_init(&path, 1024);
    sma_buf_init(&body, 64);
    qq_put_interaction_path(&path, interaction_id);
    qq_put_interaction(&body, code);
    if (path.err == SMA_ERR_OK)
        (void)qq_call_start(qq, &(struct qq_call_options){.method = "PUT",
                                                          .path = sma_buf_str(&path),
                                                          .body = &body,
                                                          .total_ms = QQ_CONTROL_MS});
    sma_buf_fini(&path);
    sma_buf_fini(&body);
}

static void acknowledge_ask(struct qq *qq, struct qq_ask *ask, bool is_wanted, int code)
{
    if (ask->interaction_due_ns == UINT64_MAX)
        return;
    ask->interaction_due_ns = UINT64_MAX;
    qq->interaction_count--;
    if (is_wanted)
        qq_acknowledge(qq, sma_str(ask->interaction_id), code);
}

uint64_t qq_intake_tick(struct qq *qq, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < qq->ask_span && qq->interaction_count > 0; i++) {
        struct qq_ask *ask = ask_at(qq, i);
        if (!ask->is_open)
            continue;
        if (ask->interaction_due_ns <= now_ns)
            acknowledge_ask(qq, ask, true, QQ_INTERACTION_DONE);
        next_ns = ask->interaction_due_ns < next_ns ? ask->interaction_due_ns : next_ns;
    }
    return next_ns;
}

static int code_of(const struct sma_accepted *accepted)
{
    if (accepted->verdict == SMA_VERDICT_IGNORED && accepted->notice.len > 0)
        return QQ_INTERACTION_NOT_ALLOWED; /* the core has words for it, so it is a refusal */
    return accepted->verdict == SMA_VERDICT_BUSY ? QQ_INTERACTION_TOO_OFTEN : QQ_INTERACTION_DONE;
}

/* -- verdicts ---------------------------------------------------------------------------------- */
static void settle(struct qq *qq, const struct qq_ask *ask, const struct sma_accepted *accepted)
{
    if (ask->asker == QQ_ASKER_GATEWAY)
        qq_gateway_settle(&qq->shards[ask->index], ask->seq, ask->epoch, ask->link, accepted);
    else
        qq_webhook_settle(qq, ask->index, accepted);
}

void qq_on_accepted(struct qq *qq, const struct sma_msg *msg, const struct sma_accepted *accepted)
{
    size_t i = 0;
    while (i < qq->ask_span && !(ask_at(qq, i)->is_open && ask_at(qq, i)->ask_id == msg->ask_id))
        i++;
    if (i == qq->ask_span)
        return;
    struct qq_ask *ask = ask_at(qq, i);
    bool is_refused = accepted->verdict == SMA_VERDICT_REFUSED;
    acknowledge_ask(qq, ask, !is_refused, code_of(accepted)); /* refused: it comes again */
    struct qq_ask settled = *ask;
    ask->is_open = false;
    qq->ask_count--;
    while (qq->ask_span > 0 && !ask_at(qq, 0)->is_open) {
        qq->ask_first = (qq->ask_first + 1) % QQ_ASK_COUNT_MAX;
        qq->ask_span--;
    }
    SMA_CRASH_POINT("qq.after_accepted");
    settle(qq, &settled, accepted);
    if (qq_intake_has_room(qq) && qq->ask_span < QQ_ASK_COUNT_MAX / 2)
        qq_gateway_resume_reading(qq);
    sma_platform_note_drained(&qq->base);
}
