/*
 * telegram_stream.c — answers that grow in groups: drafts are for private chats, so it is a
 * message that is edited.
 *
 * It begins with nothing but an ellipsis: the platform knows no key under which a message is sent
 * once, so a crash between the request and its answer leaves a message that nobody can find again,
 * and that one shall hold no half of an answer. Edits count as messages of the group; deliveries
 * are sent as if there were no stream, and the stream takes three quarters of what they leave.
 */
#include "telegram_priv.h"

#include "runtime/markup/markup.h"
#include "runtime/text/attach_text.h"
#include "sma/text.h"

#include <stdio.h>

#define FIRST_MS 1500
#define CHANGE_MS 1000 /* the platform's for one chat */
#define PER_SECOND 12  /* of the 30 that a bot has */
#define ELLIPSIS "\xE2\x80\xA6"
#define PLAIN "plain" /* entity: the text is sent without markup, which was refused */

static struct telegram *telegram_of(const struct sma_stream *stream)
{
    return stream->streams->home.state;
}

/* -- how often --------------------------------------------------------------------------------- */
static uint64_t interval_ns(const struct telegram *telegram)
{
    uint64_t per_minute = telegram->settings.per_group_minute;
    uint64_t ns = per_minute == 0 ? 0 : 80 * SMA_NS_PER_S / per_minute; /* 60 s, a third more */
    return ns > SMA_NS_PER_S ? ns : SMA_NS_PER_S;
}

static struct telegram_pace *pace_of(struct telegram *telegram, struct sma_str chat_id)
{
    int64_t id = 0;
    struct telegram_pace *place = &telegram->paces[0]; /* of this chat, else the idlest */
    if (sma_parse_i64(chat_id, INT64_MIN, INT64_MAX, &id) != SMA_ERR_OK)
        id = 0; /* "@name": they share a place */
    for (size_t i = 0; i < TELEGRAM_PACE_COUNT_MAX; i++) {
        if (telegram->paces[i].chat_id == id && telegram->paces[i].next_ns != 0)
            return &telegram->paces[i];
        if (telegram->paces[i].next_ns < place->next_ns)
            place = &telegram->paces[i];
    }
    *place = (struct telegram_pace){.chat_id = id};
    return place;
}

static void charge(struct telegram *telegram, struct telegram_pace *pace, uint64_t now_ns)
{
    uint64_t from_ns = pace->next_ns > now_ns ? pace->next_ns : now_ns;
    pace->next_ns = from_ns + interval_ns(telegram);
}

/* One may come early: the first words after the ellipsis. */
static uint64_t pace(void *state, const struct sma_stream *stream, uint64_t now_ns)
{
    struct telegram *telegram = state;
    struct telegram_pace *place = pace_of(telegram, sma_str(stream->chat_id));
    uint64_t spare_ns = interval_ns(telegram);
    if (place->next_ns > now_ns + spare_ns)
        return place->next_ns - spare_ns;
    charge(telegram, place, now_ns);
    return now_ns;
}

void telegram_stream_note_attempt(struct telegram *telegram, const struct sma_route *route)
{
    if (!telegram->base.is_streaming_off && telegram_is_group(route))
        charge(telegram, pace_of(telegram, route->chat_id), sma_ctx_now(telegram->ctx));
}

/* -- requests ---------------------------------------------------------------------------------- */
static bool shows(const void *state, const struct sma_progress *progress)
{
    const struct telegram *telegram = state;
    return progress->kind == SMA_PROGRESS_TEXT && progress->text.len > 0 &&
           telegram->settings.progress == TELEGRAM_PROGRESS_AUTO &&
           !telegram->base.is_streaming_off && telegram_is_group(&progress->route);
}

static void put_make(struct sma_stream *stream, struct sma_buf *body)
{
    stream->is_news = true; /* the words are still to come */
    struct sma_route route = sma_stream_route(stream);
    struct telegram_part part = {.kind = TELEGRAM_PART_TEXT, .plain = SMA_STR(ELLIPSIS)};
    telegram_put_send_message(body, &(struct telegram_send){.route = &route, .part = &part});
}

/* The text so far without what may become an attachment, and a mark that there is more to come. */
static bool render(const struct sma_stream *stream, struct sma_buf *bytes)
{
    struct sma_buf rest;
    sma_buf_init(&rest, stream->text.len + 16);
    (void)sma_attach_put_rest(&rest, sma_buf_str(&stream->text), true);
    bool is_blank = sma_text_is_blank(sma_buf_str(&rest));
    sma_buf_put_text(&rest, " " ELLIPSIS);
    bool is_made = !is_blank && rest.err == SMA_ERR_OK &&
                   sma_stream_put_part(stream, telegram_render, sma_buf_str(&rest), bytes);
    sma_buf_fini(&rest);
    return is_made;
}

/* @return whether it differs from what is shown */
static bool put_change(struct sma_stream *stream, struct sma_buf *body)
{
    struct sma_route route = sma_stream_route(stream);
    struct telegram_part part;
    struct sma_buf bytes;
    sma_buf_init(&bytes, 4 * SMA_STREAM_TEXT_BYTES_MAX);
    bool is_text = render(stream, &bytes) &&
                   telegram_part_decode(sma_buf_str(&bytes), &part) == SMA_ERR_OK &&
                   part.kind == TELEGRAM_PART_TEXT;
    bool is_new = is_text && !sma_str_is_equal(part.plain, sma_buf_str(&stream->shown));
    if (is_new) {
        bool is_plain = strcmp(stream->entity, PLAIN) == 0;
        telegram_put_edit_message(
            body, &(struct telegram_send){.route = &route, .part = &part, .is_plain = is_plain},
            sma_str(stream->handle));
        sma_buf_clear(&stream->shown);
        sma_buf_put_str(&stream->shown, part.plain);
    }
    sma_buf_fini(&bytes);
    return is_new;
}

static const char *put(struct sma_stream *stream, enum sma_stream_step step, struct sma_buf *path,
                       struct sma_buf *body)
{
    struct sma_route route = sma_stream_route(stream);
    if (step == SMA_STREAM_PREPARE || (step == SMA_STREAM_CHANGE && !put_change(stream, body)))
        return NULL;
    if (step == SMA_STREAM_MAKE)
        put_make(stream, body);
    if (step == SMA_STREAM_END)
        telegram_put_delete(body, &route, sma_str(stream->handle));
    sma_buf_put_text(path, step == SMA_STREAM_MAKE     ? "sendMessage"
                           : step == SMA_STREAM_CHANGE ? "editMessageText"
                                                       : "deleteMessage");
    return "POST";
}

/* -- answers ----------------------------------------------------------------------------------- */
/* A message of another chat is not believed, one of a group that has moved not looked for. */
static void read_made(struct sma_stream *stream, struct sma_answered *answered)
{
    int64_t chat_id, named;
    bool is_elsewhere =
        sma_parse_i64(sma_str(stream->chat_id), INT64_MIN, INT64_MAX, &chat_id) == SMA_ERR_OK &&
        sma_parse_i64(sma_str(answered->chat_id), INT64_MIN, INT64_MAX, &named) == SMA_ERR_OK &&
        chat_id != named;
    if (is_elsewhere || answered->moved_to != 0)
        answered->attempt_class = SMA_ATTEMPT_GIVE_UP;
    else if (answered->attempt_class == SMA_ATTEMPT_SENT)
        SMA_STREAM_SET(stream->handle, sma_str(answered->message_id));
}

static void read_changed(struct sma_stream *stream, struct sma_answered *answered)
{
    if (answered->attempt_class == SMA_ATTEMPT_SENT)
        return;
    sma_buf_clear(&stream->shown);
    if ((answered->mend & SMA_MEND_MARKS) == 0 || stream->entity[0] != '\0')
        return;
    SMA_STREAM_SET(stream->entity, SMA_STR(PLAIN));
    answered->attempt_class = SMA_ATTEMPT_RETRY;
}

static void read_answer(struct sma_stream *stream, enum sma_stream_step step,
                        const struct sma_net_answer *answer, struct sma_stream_outcome *ret_outcome)
{
    struct telegram *telegram = telegram_of(stream);
    struct sma_answered answered;
    sma_verdict(&telegram_verdicts, NULL, answer, 0, &answered);
    if (step == SMA_STREAM_MAKE)
        read_made(stream, &answered);
    else if (step == SMA_STREAM_CHANGE)
        read_changed(stream, &answered);
    *ret_outcome = (struct sma_stream_outcome){.attempt_class = answered.attempt_class,
                                               .retry_after_ms = answered.retry_after_ms,
                                               .is_for_all = answered.is_adapter_wide};
    snprintf(ret_outcome->error, sizeof ret_outcome->error, "%.190s", answered.error);
    if (answered.attempt_class == SMA_ATTEMPT_RETRY_AFTER) /* topics of one group share its limit */
        pace_of(telegram, sma_str(stream->chat_id))->next_ns =
            sma_ctx_now(telegram->ctx) + answered.retry_after_ms * SMA_NS_PER_MS +
            interval_ns(telegram);
}

const struct sma_stream_ops telegram_stream_ops = {
    .file = "streams.json",
    .first_ms = FIRST_MS,
    .change_ms = CHANGE_MS,
    .rest_ms = CHANGE_MS,
    .per_second = PER_SECOND,
    .shows = shows,
    .pace = pace,
    .put = put,
    .read = read_answer,
};
