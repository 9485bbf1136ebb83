/*
 * qq_intake.c — what is QQ's own about events at the store: the last word of each chat, and how a
 * button's wheel is stopped. The platform shows no words then, only what a code means.
 */
#include "qq_priv.h"

#include "sma/text.h"

struct qq_event_options qq_event_options_now(const struct qq *qq, uint64_t read_ns)
{
    return (struct qq_event_options){.home = &qq->base.home,
                                     .bot_id = sma_str(qq->bot_id),
                                     .adapter = (uint8_t)sma_ctx_self(qq->ctx),
                                     .now_wall_ms = sma_ctx_wall(qq->ctx),
                                     .read_ns = read_ns};
}

enum sma_took qq_take(struct qq *qq, const struct qq_event *event,
                      const struct sma_ingress *ingress, const struct sma_origin *origin)
{
    struct sma_platform_event taken = {.ingress = event->kind == QQ_EVENT_IGNORED ? NULL : ingress,
                                       .why = event->why,
                                       .chat_key = ingress->route.chat_key,
                                       .user_id = ingress->route.user_id,
                                       .message_id = ingress->event_key};
    if (event->is_audit_refused)
        sma_platform_log(
            &qq->base, SMA_LOG_WARN,
            "the platform's audit has refused a message of ours in channel %.*s: nobody "
            "sees it",
            (int)sma_utf8_cut(event->audit_place, 64), event->audit_place.ptr);
    struct sma_origin here = *origin;
    here.press_id = event->interaction_id;
    enum sma_took took = sma_intake_take(&qq->base.intake, &taken, &here);
    if (took == SMA_TOOK_ASKED)
        qq_fresh_note(qq, ingress);
    return took;
}

static void settle(void *state, const struct sma_origin *origin,
                   const struct sma_accepted *accepted, struct sma_str result)
{
    (void)result;
    qq_gateway_settle(state, origin, accepted);
}

static void note_room(void *state)
{
    struct qq *qq = state;
    if (sma_intake_is_roomy(&qq->base.intake))
        qq_gateway_resume_reading(qq);
}

/* -- buttons ----------------------------------------------------------------------------------- */
static void on_press_answered(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq *qq = state;
    (void)user;
    (void)answer; /* too late, or the platform is away: the wheel stops by itself */
    sma_press_answered(&qq->base.intake);
}

static int code_of(const struct sma_press *press)
{
    if (press->verdict == SMA_VERDICT_IGNORED && press->text[0] != '\0')
        return QQ_INTERACTION_NOT_ALLOWED; /* the core has words for it, so it is a refusal */
    return press->verdict == SMA_VERDICT_BUSY ? QQ_INTERACTION_TOO_OFTEN : QQ_INTERACTION_DONE;
}

static bool answer_press(void *state, const struct sma_press *press)
{
    struct sma_buf path, body;
    bool is_asked = false;
    sma_buf_init(&path, 1024);
    sma_buf_init(&body, 64);
    qq_put_interaction_path(&path, sma_str(press->id));
    qq_put_interaction(&body, code_of(press));
    if (path.err == SMA_ERR_OK)
        is_asked = sma_call_start(((struct qq *)state)->base.calls,
                                  &(struct sma_call_options){.method = "PUT",
                                                             .path = sma_buf_str(&path),
                                                             .body = &body,
                                                             .may_repeat = true,
                                                             .total_ms = QQ_CONTROL_MS,
                                                             .done = on_press_answered}) != NULL;
    sma_buf_fini(&path);
    sma_buf_fini(&body);
    return is_asked;
}

const struct sma_intake_ops qq_intake_ops = {
    .count_max = QQ_ASK_COUNT_MAX,
    .press_late_ms = QQ_INTERACTION_LATE_MS,
    .settle = settle,
    .answer_press = answer_press,
    .note_room = note_room,
};
