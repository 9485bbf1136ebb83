/*
 * qq_send.c — one ATTEMPT, one message, one answer. A second request follows only when the first
 * was certainly not shown: Markdown or a link refused, too long, no answer allowed any more, the
 * uploaded file forgotten.
 *
 * A passive answer in c2c and group carries a msg_seq that is the same in every attempt, so the
 * platform refuses what it has shown already, and an unknown outcome may be repeated without end.
 * Active messages and guild messages carry none: their unknown outcomes are reported as such, and
 * the dispatcher repeats them once.
 */
#include "qq_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define BODY_BYTES_MAX (512 * 1024)
#define PATH_BYTES_MAX 2048

static struct qq_attempt *attempt_of(struct sma_sending *sending)
{
    return (struct qq_attempt *)(void *)sending;
}

static struct qq *qq_of(const struct qq_attempt *attempt)
{
    return (struct qq *)attempt->base.platform;
}

static bool is_guild(const struct sma_route *route)
{
    return sma_str_is_equal(route->chat_type, SMA_STR("channel")) ||
           sma_str_is_equal(route->chat_type, SMA_STR("dm"));
}

/* -- the outcome ------------------------------------------------------------------------------- */
static void note_refused(struct qq *qq, const struct qq_outcome *outcome)
{
    if (outcome->attempt_class == SMA_ATTEMPT_SENT)
        sma_adapter_health_heal(&qq->base.health, SMA_CAUSE_RIGHTS);
    else if (outcome->is_bot_refused &&
             sma_adapter_health_set(&qq->base.health, SMA_CAUSE_RIGHTS, outcome->error))
        sma_platform_log(&qq->base, SMA_LOG_ERROR, "the bot may not send: %s", outcome->error);
}

/* By our count no answer is left, and nothing may be said without one: the platform's own count is
 * what holds. */
static bool may_answer_all_the_same(const struct qq_attempt *attempt)
{
    const struct sma_attempt *asked = attempt->base.asked;
    return attempt->way == QQ_ACTIVE && !attempt->was_window_closed && !attempt->was_answer_tried &&
           asked->route.message_id.len > 0 && !qq_is_answer_kept(asked);
}

/* The message that was streamed and becomes this part; NULL = none. */
static struct sma_stream *stream_of(const struct qq_attempt *attempt)
{
    return sma_streams_of(&attempt->base.platform->streams, attempt->base.asked);
}

/* The last piece was refused. After a crash the one before it may not have been sent: then its
 * number is the next one. Else the part is a message of its own, and the streamed one goes. */
static bool leave_stream(struct qq_attempt *attempt, struct sma_stream *stream)
{
    if (attempt->outcome.attempt_class != SMA_ATTEMPT_GIVE_UP)
        return false;
    if (stream->is_left && !attempt->is_stream_again && stream->number > 0)
        return attempt->is_stream_again = true;
    sma_streams_disclaim(&attempt->base.platform->streams, attempt->base.asked);
    return true;
}

/* @return whether the same part goes out once more, differently */
static bool change(struct qq_attempt *attempt)
{
    struct qq *qq = qq_of(attempt);
    const struct qq_outcome *outcome = &attempt->outcome;
    struct sma_stream *stream = stream_of(attempt);
    if (stream != NULL)
        return leave_stream(attempt, stream);
    if (outcome->is_plain_wanted && !attempt->is_plain) {
        bool has_buttons =
            attempt->card.card.button_count > 0; /* then they may be what is refused */
        attempt->is_plain = true;
        *(has_buttons ? &qq->wordy_until_ns : &qq->plain_until_ns) =
            sma_ctx_now(qq->ctx) + QQ_PLAIN_S * SMA_NS_PER_S;
        return true;
    }
    if (outcome->is_link_refused && !attempt->is_without_links)
        return attempt->is_without_links = true;
    if (outcome->is_too_long && !attempt->is_short)
        return attempt->is_short = true;
    if (outcome->is_content_refused && attempt->part.caption.len > 0 && !attempt->is_captionless)
        return attempt->is_captionless = true;
    if (outcome->is_active_refused && may_answer_all_the_same(attempt)) {
        attempt->way = QQ_PASSIVE;
        return attempt->was_answer_tried = true;
    }
    if (outcome->is_window_closed && attempt->way == QQ_PASSIVE) {
        bool is_answered = attempt->answered[0] == '\0' &&
                           qq_fresh_take(qq, attempt->base.asked, attempt->answered);
        attempt->way = is_answered ? QQ_PASSIVE : QQ_ACTIVE;
        attempt->was_window_closed = true;
        return is_answered || !attempt->was_answer_tried; /* without one was refused already */
    }
    if (outcome->is_file_stale && !attempt->is_uploaded_again && attempt->file_info != NULL) {
        free(attempt->file_info);
        attempt->file_info = NULL;
        return attempt->is_uploaded_again = true;
    }
    return false;
}

/* Neither an answer nor a message on our own: say both, so that model and owner know what to do. */
static void explain_no_answer(const struct qq_attempt *attempt, struct qq_outcome *outcome)
{
    char reason[sizeof outcome->error];
    snprintf(reason, sizeof reason, "%s", outcome->error);
    const struct sma_attempt *asked = attempt->base.asked;
    bool is_answer = asked->route.message_id.len > 0; /* or it goes to somebody else's chat */
    if (!attempt->was_window_closed && is_answer && asked->is_interim)
        snprintf(outcome->error, sizeof outcome->error,
                 "QQ takes one more answer to this message, which is kept for your final text: say "
                 "it there. %.140s",
                 reason);
    else if (attempt->was_window_closed || attempt->was_answer_tried)
        snprintf(outcome->error, sizeof outcome->error,
                 "QQ takes no further answer to this message (its time or number is used up), and "
                 "no message without one: ask the user to write again. %.110s",
                 reason);
}

static bool mend(struct sma_sending *sending)
{
    struct qq_attempt *attempt = attempt_of(sending);
    struct qq_outcome *outcome = &attempt->outcome;
    if (change(attempt))
        return true;
    bool is_unanswerable = outcome->is_active_refused || attempt->was_window_closed;
    if (is_unanswerable && outcome->attempt_class == SMA_ATTEMPT_GIVE_UP)
        explain_no_answer(attempt, outcome);
    return false;
}

static void read_answer(struct sma_sending *sending, const struct sma_net_answer *answer)
{
    struct qq_attempt *attempt = attempt_of(sending);
    const struct sma_route *route = &sending->asked->route;
    bool is_channel = sma_str_is_equal(route->chat_type, SMA_STR("channel"));
    struct qq_asked how = {.is_active = attempt->way == QQ_ACTIVE,
                           .may_be_sent = sending->asked->is_repeat,
                           .channel_id = is_channel ? route->chat_id : SMA_STR("")};
    qq_classify(answer, &how, &attempt->outcome);
    const struct sma_stream *stream = stream_of(attempt);
    bool is_sent = attempt->outcome.attempt_class == SMA_ATTEMPT_SENT;
    if (stream != NULL && is_sent) /* its own number, whatever a piece is answered with */
        SMA_STREAM_SET(attempt->outcome.message_id, sma_str(stream->handle));
    else if (is_sent && attempt->way == QQ_PASSIVE)
        qq_stream_note_answer(qq_of(attempt), sending->asked->seq);
    note_refused(qq_of(attempt), &attempt->outcome);
}

static struct sma_attempt_result result(const struct sma_sending *sending)
{
    const struct qq_attempt *attempt = (const struct qq_attempt *)(const void *)sending;
    const struct qq_outcome *outcome = &attempt->outcome;
    bool is_hidden = attempt->way == QQ_PASSIVE && !is_guild(&sending->asked->route);
    return (struct sma_attempt_result){
        .attempt_class = outcome->attempt_class,
        .is_adapter_wide = outcome->is_adapter_wide,
        .is_chat_only = outcome->is_chat_only,
        .is_likely_unsent = outcome->attempt_class == SMA_ATTEMPT_UNKNOWN && is_hidden,
        .is_content_refused = outcome->is_content_refused,
        .retry_after_ms = outcome->retry_after_ms,
        .platform_message_id = sma_str(outcome->message_id),
        .reply_id = sma_str(outcome->reply_id),
        .sent_ms = outcome->sent_ms,
        .error = sma_str(outcome->error)};
}

/* -- the request ------------------------------------------------------------------------------- */
static void put_body(struct sma_buf *body, const struct qq_attempt *attempt,
                     const struct qq_send *send)
{
    const struct qq_part *part = &attempt->part;
    if (part->kind == QQ_PART_TEXT)
        qq_put_message(body, send);
    else if (attempt->file_info != NULL)
        qq_put_media_message(body, send, sma_str(attempt->file_info));
    else if (sma_str_is_equal(part->file_kind, SMA_STR("photo")) && qq_media_of(part).is_url)
        qq_put_image_message(body, send);
    else
        qq_put_file_as_text(body, send);
}

/* Takes path and body. */
static void post(struct sma_sending *sending, struct sma_buf *path, struct sma_buf *body)
{
    if (path->err == SMA_ERR_OK) {
        sma_sending_before(sending);
        sending->call =
            sma_call_start(sending->platform->calls,
                           &(struct sma_call_options){.method = "POST",
                                                      .path = sma_buf_str(path),
                                                      .body = body,
                                                      .may_repeat = false,
                                                      .total_ms = sma_sending_left_ms(sending),
                                                      .done = sma_sending_on_answer,
                                                      .user = sending});
    }
    sma_buf_fini(path);
    sma_buf_fini(body);
    sma_sending_check_call(sending);
}

static void send_message(struct qq_attempt *attempt)
{
    struct qq *qq = qq_of(attempt);
    struct sma_sending *sending = &attempt->base;
    const struct sma_attempt *asked = sending->asked;
    struct qq_button buttons[SMA_CARD_BUTTON_COUNT_MAX];
    size_t button_count = qq_card_put_buttons(&attempt->card, buttons);
    struct sma_route route = asked->route;
    if (attempt->answered[0] != '\0')
        route.message_id = sma_str(attempt->answered);
    bool may_be_markdown =
        qq->settings.is_markdown && !is_guild(&asked->route) && attempt->part.markdown.len > 0;
    /* A repeat asks again: its number must be the one of the form that may have been shown. */
    uint64_t now_ns = sma_ctx_now(qq->ctx);
    bool is_known_plain = !asked->is_repeat && (now_ns < qq->plain_until_ns ||
                                                (button_count > 0 && now_ns < qq->wordy_until_ns));
    bool is_plain = attempt->is_plain || (may_be_markdown && is_known_plain);
    uint32_t form = (uint32_t)is_plain + attempt->is_without_links + attempt->is_short +
                    attempt->is_captionless; /* counts up with each mend */
    struct qq_send send = {.route = &route,
                           .part = &attempt->part,
                           .way = attempt->way,
                           .msg_seq = qq_msg_seq(asked->outbox_id, asked->part, form),
                           .is_markdown = may_be_markdown && !is_plain,
                           .is_without_links = attempt->is_without_links,
                           .is_short = attempt->is_short,
                           .is_captionless = attempt->is_captionless,
                           .language = asked->route.language,
                           .buttons = buttons,
                           .button_count = button_count};
    struct sma_buf path, body;
    sma_buf_init(&path, PATH_BYTES_MAX);
    sma_buf_init(&body, BODY_BYTES_MAX);
    qq_put_send_path(&path, &asked->route);
    put_body(&body, attempt, &send);
    post(sending, &path, &body);
}

/* The part is what the streamed message ends as. */
static void send_last_piece(struct qq_attempt *attempt, const struct sma_stream *stream)
{
    struct sma_sending *sending = &attempt->base;
    struct sma_buf path, body;
    sma_buf_init(&path, PATH_BYTES_MAX);
    sma_buf_init(&body, BODY_BYTES_MAX);
    qq_stream_put_path(stream, &path);
    qq_stream_put_last(stream, qq_stream_words(&attempt->part), attempt->is_stream_again, &body);
    post(sending, &path, &body);
}

static void send_part(struct sma_sending *sending)
{
    struct qq_attempt *attempt = attempt_of(sending);
    const struct sma_stream *stream = stream_of(attempt);
    if (stream != NULL) {
        send_last_piece(attempt, stream);
        return;
    }
    if (sending->asked->intent == SMA_INTENT_APPROVAL_OUTCOME && attempt->way == QQ_ACTIVE) {
        sma_sending_end(sending, SMA_ATTEMPT_SENT, ""); /* left out: see qq_way_choose */
        return;
    }
    bool needs_upload = attempt->part.kind == QQ_PART_FILE && attempt->file_info == NULL &&
                        !attempt->is_link && !is_guild(&sending->asked->route);
    if (needs_upload)
        qq_upload_begin(attempt);
    else
        send_message(attempt);
}

/* An address that the platform cannot fetch goes as words: people may be able to open it. */
void qq_upload_ended(struct qq_attempt *attempt, const struct qq_outcome *outcome)
{
    attempt->is_link = outcome != NULL && outcome->attempt_class == SMA_ATTEMPT_GIVE_UP &&
                       !outcome->is_chat_closed && qq_media_of(&attempt->part).is_url;
    if (outcome == NULL || attempt->is_link) {
        send_message(attempt);
        return;
    }
    attempt->outcome = *outcome;
    sma_sending_answer(&attempt->base);
}

/* -- the question ------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err read_part(struct qq_attempt *attempt)
{
    SMA_TRY(qq_part_decode(attempt->base.asked->part_bytes, &attempt->part));
    if (attempt->part.kind != QQ_PART_CARD)
        return SMA_ERR_OK;
    SMA_TRY(qq_card_open(&attempt->part, &attempt->card));
    bool has_keyboard =
        qq_of(attempt)->settings.is_keyboard && qq_gateway_hears_buttons(qq_of(attempt));
    attempt->part = (struct qq_part){.kind = QQ_PART_TEXT,
                                     .markdown = has_keyboard ? sma_buf_str(&attempt->card.markdown)
                                                              : SMA_STR(""),
                                     .plain = sma_buf_str(&attempt->card.plain)};
    return SMA_ERR_OK;
}

static enum sma_err open_part(struct sma_sending *sending, struct sma_error *error)
{
    struct qq_attempt *attempt = attempt_of(sending);
    SMA_TRY(read_part(attempt));
    if (attempt->part.kind == QQ_PART_REACTION)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "QQ has no reactions where bots talk: say it in words");
    attempt->way = qq_way_choose(sending->asked);
    if (attempt->way == QQ_ACTIVE &&
        qq_fresh_take(qq_of(attempt), sending->asked, attempt->answered))
        attempt->way = QQ_PASSIVE;
    return SMA_ERR_OK;
}

static void release(struct sma_sending *sending)
{
    struct qq_attempt *attempt = attempt_of(sending);
    qq_upload_cancel(attempt);
    free(attempt->file_info);
    qq_card_fini(&attempt->card);
}

static bool is_file(const struct sma_sending *sending)
{
    return ((const struct qq_attempt *)(const void *)sending)->part.kind == QQ_PART_FILE;
}

/* A text of the run that answers the same message. */
static bool can_be_streamed(const struct qq_attempt *attempt)
{
    uint8_t intent = attempt->base.asked->intent;
    return attempt->part.kind == QQ_PART_TEXT && attempt->way == QQ_PASSIVE &&
           attempt->answered[0] == '\0' &&
           (intent == SMA_INTENT_ASSISTANT_TEXT || intent == SMA_INTENT_NOTICE ||
            intent == SMA_INTENT_ERROR);
}

/* The run's message becomes the part where it begins like it, or is on its way: then the part
 * waits for it. */
static bool hold(struct sma_sending *sending)
{
    struct qq_attempt *attempt = attempt_of(sending);
    struct sma_streams *streams = &sending->platform->streams;
    bool is_beside = sending->asked->intent == SMA_INTENT_APPROVAL_OUTCOME ||
                     sending->asked->intent == SMA_INTENT_REACTION; /* the run goes on writing */
    if (is_beside)
        return false;
    enum sma_stream_claim claim =
        sma_streams_claim(streams, sending->asked, can_be_streamed(attempt));
    const struct sma_stream *stream = stream_of(attempt);
    if (stream != NULL && !qq_stream_may_become(stream, &attempt->part))
        sma_streams_disclaim(streams, sending->asked);
    return claim == SMA_STREAM_CLAIM_WAIT;
}

const struct sma_sending_ops qq_sending_ops = {
    .size = sizeof(struct qq_attempt),
    .open = open_part,
    .is_file = is_file,
    .hold = hold,
    .send = send_part,
    .read = read_answer,
    .mend = mend,
    .result = result,
    .release = release,
};
