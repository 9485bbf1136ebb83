/*
 * feishu_intake.c — what is Feishu's own about events at the store: how they are acknowledged on
 * the connection, and the words under a button.
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

/* -- verdicts ---------------------------------------------------------------------------------- */
/* What the core says to whoever pressed; without its words, the fewest of our own. */
static void put_toast(void *state, const struct sma_origin *origin,
                      const struct sma_accepted *accepted, struct sma_buf *json)
{
    struct feishu *feishu = state;
    (void)origin;
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

static void acknowledge(struct feishu *feishu, const struct sma_origin *origin,
                        struct sma_str result)
{
    uint64_t handled_ns = sma_ctx_now(feishu->ctx) - origin->read_ns;
    if (handled_ns > FEISHU_ACK_LATE_MS * SMA_NS_PER_MS)
        return; /* the platform may have given it up: then it comes again, and its claim is known */
    SMA_CRASH_POINT("feishu.before_ack");
    feishu_socket_ack(
        feishu, (unsigned)origin->link, origin->stub,
        &(struct feishu_ack){.result = result, .handled_ms = handled_ns / SMA_NS_PER_MS});
}

static void settle(void *state, const struct sma_origin *origin,
                   const struct sma_accepted *accepted, struct sma_str result)
{
    if (accepted->verdict != SMA_VERDICT_REFUSED || origin->is_press)
        acknowledge(state, origin, result);
}

static void note_room(void *state)
{
    feishu_socket_note_room(state);
}

const struct sma_intake_ops feishu_intake_ops = {
    .count_max = FEISHU_ASK_COUNT_MAX,
    .settle = settle,
    .put_result = put_toast,
    .note_room = note_room,
};

/* -- one event --------------------------------------------------------------------------------- */
static struct feishu_thread *thread_of(struct feishu *feishu, struct sma_str thread_id,
                                       bool may_make)
{
    static const uint8_t key[16] = "feishu threads"; /* no secret: it only has to spread */
    uint64_t hash = sma_siphash(key, thread_id.ptr, thread_id.len) | 1;
    for (size_t i = 0; i < FEISHU_TOPIC_COUNT_MAX; i++)
        if (feishu->threads[i].hash == hash)
            return &feishu->threads[i];
    if (!may_make)
        return NULL;
    struct feishu_thread *place = &feishu->threads[feishu->thread_next];
    feishu->thread_next = (feishu->thread_next + 1) % FEISHU_TOPIC_COUNT_MAX;
    *place = (struct feishu_thread){.hash = hash};
    return place;
}

void feishu_note_thread(struct feishu *feishu, const struct sma_ingress *ingress)
{
    const struct sma_route *route = &ingress->route;
    if (route->thread_id.len == 0 || route->message_id.len == 0)
        return;
    struct feishu_thread *thread = thread_of(feishu, route->thread_id, true);
    struct sma_str first = ingress->reply_to_id.len > 0 ? ingress->reply_to_id : route->message_id;
    if (thread->first[0] == '\0')
        sma_verdict_copy(thread->first, sizeof thread->first, first);
    sma_verdict_copy(thread->newest, sizeof thread->newest, route->message_id);
}

struct sma_str feishu_topic_message(struct feishu *feishu, const struct sma_route *route)
{
    const struct feishu_thread *thread =
        route->thread_id.len == 0 ? NULL : thread_of(feishu, route->thread_id, false);
    if (thread == NULL)
        return SMA_STR("");
    bool is_first = sma_str_is_equal(sma_str(thread->first), route->message_id);
    struct sma_str other = sma_str(is_first ? thread->newest : thread->first);
    return sma_str_is_equal(other, route->message_id) ? SMA_STR("") : other;
}

enum sma_took feishu_take(struct feishu *feishu, const struct feishu_event *event,
                          struct sma_origin *origin)
{
    bool is_ignored = event->kind == FEISHU_EVENT_IGNORED;
    struct sma_platform_event taken = {.ingress = is_ignored ? NULL : &event->ingress,
                                       .why = event->why,
                                       .type = event->event_type,
                                       .chat_key = event->ingress.route.chat_key,
                                       .user_id = event->ingress.route.user_id,
                                       .message_id = event->ingress.route.message_id};
    origin->is_press = event->is_callback;
    if (!is_ignored)
        feishu_note_thread(feishu, &event->ingress);
    return sma_intake_take(&feishu->base.intake, &taken, origin);
}

struct taking
{
    struct feishu *feishu;
    struct sma_origin origin;
    bool is_handled; /* nothing is to be waited for: acknowledge now */
};

static void on_event(void *user, const struct feishu_event *event)
{
    struct taking *taking = user;
    taking->is_handled = feishu_take(taking->feishu, event, &taking->origin) == SMA_TOOK_FINISHED;
}

/* What is needed to answer is the frame without its payload. */
void feishu_intake_frame(struct feishu *feishu, const struct feishu_frame *frame,
                         struct sma_str payload, uint64_t read_ns)
{
    struct sma_buf stub;
    sma_buf_init(&stub, FEISHU_FRAME_BYTES_MAX);
    enum sma_err err = feishu_frame_put_stub(frame, &stub);
    struct taking taking = {.feishu = feishu,
                            .origin = {.link = feishu->socket.generation,
                                       .read_ns = read_ns,
                                       .stub = sma_buf_str(&stub)}};
    struct feishu_event_options options = feishu_event_options_now(feishu, read_ns);
    struct sma_error error = {0};
    if (err == SMA_ERR_OK)
        err = feishu_event_parse(&options, payload, on_event, &taking, &error);
    if (err == SMA_ERR_BADINPUT || err == SMA_ERR_TOOBIG) {
        sma_platform_log(&feishu->base, SMA_LOG_WARN, "an event cannot be read (%s); dropped",
                         err == SMA_ERR_TOOBIG ? sma_err_text(err) : error.text);
        taking.is_handled = true; /* the fifth time it would read no better */
    }
    if (taking.is_handled)
        acknowledge(feishu, &taking.origin, SMA_STR(""));
    sma_buf_fini(&stub);
    feishu_socket_note_room(feishu);
}
