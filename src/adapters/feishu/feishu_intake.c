/*
 * feishu_intake.c — events on their way through the store: asked, remembered, settled with whoever
 * waits.
 *
 * What the store does not keep is acknowledged at once; what it keeps, when it has it, and not at
 * all when that comes later than the platform waits. A button's answer carries a toast; it is not
 * delivered again, so a refused one is told to the person who pressed it.
 */
#include "feishu_priv.h"

#include "adapters/common/answers.h"
#include "sma/notices.h"
#include "sma/text.h"

#include <stdlib.h>

#define TOAST_BYTES_MAX 2048
#define NOTICE_BYTES_MAX 300 /* a toast is a line or two; escaped it may take six times as much */

struct feishu_event_options feishu_event_options_now(struct feishu *feishu, uint64_t read_ns)
{
    return (struct feishu_event_options){
        .bot_open_id = sma_str(feishu->identity.bot.open_id),
        .app_id = sma_str(feishu->settings.app_id),
        .adapter = (uint8_t)sma_ctx_self(feishu->ctx),
        .now_wall_ms = sma_ctx_wall(feishu->ctx),
        .read_ns = read_ns,
    };
}

/* -- asking ------------------------------------------------------------------------------------ */
/* What is needed to answer later: the frame without its payload. */
static SMA_CHECKED enum sma_err keep_stub(const struct feishu_frame *frame, struct feishu_ask *ask)
{
    struct sma_buf stub;
    sma_buf_init(&stub, FEISHU_FRAME_BYTES_MAX);
    enum sma_err err = feishu_frame_put_stub(frame, &stub);
    if (err == SMA_ERR_OK) {
        ask->stub_len = stub.len;
        ask->stub = sma_buf_take(&stub);
    }
    sma_buf_fini(&stub);
    return err == SMA_ERR_OK && ask->stub == NULL ? SMA_ERR_NOMEM : err;
}

enum sma_err feishu_intake_ask(struct feishu *feishu, const struct feishu_event *event,
                               const struct feishu_origin *origin)
{
    if (feishu->ask_count == FEISHU_ASK_COUNT_MAX)
        return SMA_ERR_FULL;
    struct feishu_ask ask = {.read_ns = origin->read_ns,
                             .index = origin->index,
                             .asker = (uint8_t)origin->asker,
                             .is_callback = event->is_callback};
    enum sma_err err = origin->frame == NULL ? SMA_ERR_OK : keep_stub(origin->frame, &ask);
    if (err != SMA_ERR_OK)
        return err;
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg = sma_adapter_make_ingress(feishu->ctx, &event->ingress);
    SMA_CRASH_POINT("feishu.before_ask");
    err = msg == NULL ? SMA_ERR_NOMEM
                      : sma_ctx_ask(feishu->ctx, SMA_ACTOR_STORE, &msg, 0, &ask.ask_id);
    if (err != SMA_ERR_OK) {
        free(ask.stub);
        return err;
    }
    feishu->asks[feishu->ask_count++] = ask;
    return SMA_ERR_OK;
}

/* -- verdicts ---------------------------------------------------------------------------------- */
/* What the core says to whoever pressed; without its words, the fewest of our own. */
static void put_toast(struct feishu *feishu, struct sma_buf *json,
                      const struct sma_accepted *accepted)
{
    uint8_t verdict = accepted->verdict;
    bool is_taken = verdict == SMA_VERDICT_ACCEPTED || verdict == SMA_VERDICT_DUPLICATE;
    bool is_late = verdict == SMA_VERDICT_REFUSED || verdict == SMA_VERDICT_BUSY;
    if (accepted->notice.len > 0) {
        struct sma_str notice = accepted->notice;
        notice.len = sma_utf8_cut(notice, NOTICE_BYTES_MAX);
        feishu_put_toast(json, is_taken ? "success" : "warning", notice);
        return;
    }
    if (!is_taken && !is_late) {
        sma_buf_put_text(json, "{}"); /* nothing changes on the screen */
        return;
    }
    struct sma_buf text;
    sma_buf_init(&text, TOAST_BYTES_MAX / 2);
    sma_notice_format(&text, sma_notice_language(feishu->base.config->language, SMA_STR(""), true),
                      is_taken ? SMA_NOTICE_BUTTON_TAKEN : SMA_NOTICE_BUTTON_LATER);
    feishu_put_toast(json, is_taken ? "success" : "warning", sma_buf_str(&text));
    sma_buf_fini(&text);
}

static void acknowledge(struct feishu *feishu, const struct feishu_ask *ask, struct sma_str result)
{
    uint64_t handled_ns = sma_ctx_now(feishu->ctx) - ask->read_ns;
    if (handled_ns > FEISHU_ACK_LATE_MS * FEISHU_NS_PER_MS)
        return; /* the platform may have given it up: then it comes again, and its claim is known */
    SMA_CRASH_POINT("feishu.before_ack");
    feishu_socket_ack(
        feishu, ask->index, (struct sma_str){ask->stub, ask->stub_len},
        &(struct feishu_ack){.result = result, .handled_ms = handled_ns / FEISHU_NS_PER_MS});
}

static void settle(struct feishu *feishu, const struct feishu_ask *ask,
                   const struct sma_accepted *accepted)
{
    struct sma_buf result;
    bool is_refused = accepted->verdict == SMA_VERDICT_REFUSED;
    sma_buf_init(&result, TOAST_BYTES_MAX);
    if (ask->is_callback)
        put_toast(feishu, &result, accepted);
    if (result.err != SMA_ERR_OK)
        sma_buf_clear(&result);
    if (ask->asker == FEISHU_ASKER_HOOK)
        feishu_webhook_settle(feishu, ask->index, accepted, sma_buf_str(&result));
    else if (!is_refused || ask->is_callback)
        acknowledge(feishu, ask, sma_buf_str(&result));
    sma_buf_fini(&result);
}

void feishu_on_accepted(struct feishu *feishu, const struct sma_msg *msg,
                        const struct sma_accepted *accepted)
{
    for (size_t i = 0; i < feishu->ask_count; i++) {
        if (feishu->asks[i].ask_id != msg->ask_id)
            continue;
        struct feishu_ask ask = feishu->asks[i];
        feishu->asks[i] = feishu->asks[--feishu->ask_count];
        SMA_CRASH_POINT("feishu.after_accepted");
        settle(feishu, &ask, accepted);
        free(ask.stub);
        break;
    }
    feishu_socket_note_room(feishu);
    sma_platform_note_drained(&feishu->base);
}

/* -- one event of the connection --------------------------------------------------------------- */
struct taking
{
    struct feishu *feishu;
    struct feishu_origin origin;
    bool is_handled; /* nothing is to be waited for: acknowledge now */
};

static void on_event(void *user, const struct feishu_event *event)
{
    struct taking *taking = user;
    struct feishu *feishu = taking->feishu;
    sma_adapter_health_event(&feishu->base.health);
    if (event->kind == FEISHU_EVENT_IGNORED) {
        sma_ctx_log(feishu->ctx, SMA_LOG_DEBUG, "feishu: event %.*s ignored: %s",
                    (int)event->event_type.len,
                    event->event_type.len == 0 ? "" : event->event_type.ptr, event->why);
        taking->is_handled = true;
        return;
    }
    /* not asked: not acknowledged, it comes again */
    if (!feishu->base.is_intake_off &&
        feishu_intake_ask(feishu, event, &taking->origin) != SMA_ERR_OK)
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN,
                    "feishu: no room for an event; the platform brings it again");
}

void feishu_intake_frame(struct feishu *feishu, const struct feishu_frame *frame,
                         struct sma_str payload, uint64_t read_ns)
{
    struct taking taking = {.feishu = feishu,
                            .origin = {.asker = FEISHU_ASKER_SOCKET,
                                       .index = feishu->socket.generation,
                                       .read_ns = read_ns,
                                       .frame = frame}};
    struct feishu_event_options options = feishu_event_options_now(feishu, read_ns);
    struct sma_error error = {0};
    enum sma_err err = feishu_event_parse(&options, payload, on_event, &taking, &error);
    if (err == SMA_ERR_BADINPUT || err == SMA_ERR_TOOBIG) {
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN, "feishu: an event cannot be read (%s); dropped",
                    err == SMA_ERR_TOOBIG ? sma_err_text(err) : error.text);
        taking.is_handled = true; /* the fifth time it would read no better */
    }
    struct feishu_ask ask = {.read_ns = read_ns, .index = feishu->socket.generation};
    if (taking.is_handled && keep_stub(frame, &ask) == SMA_ERR_OK)
        acknowledge(feishu, &ask, SMA_STR(""));
    free(ask.stub);
    feishu_socket_note_room(feishu);
}

void feishu_intake_drop(struct feishu *feishu)
{
    for (size_t i = 0; i < feishu->ask_count; i++)
        free(feishu->asks[i].stub);
    feishu->ask_count = 0;
}
