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

static bool has_markdown(const struct qq_attempt *attempt)
{
    return qq_of(attempt)->settings.is_markdown && !is_guild(&attempt->base.asked->route) &&
           attempt->part.kind == QQ_PART_TEXT && attempt->part.markdown.len > 0;
}

static uint32_t forms(const struct sma_sending *sending)
{
    const struct qq_attempt *attempt = (const struct qq_attempt *)(const void *)sending;
    if (stream_of(attempt) != NULL)
        return SMA_MEND_EDIT;
    uint32_t bits = attempt->way == QQ_PASSIVE         ? SMA_MEND_ACTIVE | SMA_MEND_KEY
                    : may_answer_all_the_same(attempt) ? SMA_MEND_ANSWER
                                                       : 0;
    if (attempt->file_info != NULL)
        bits |= SMA_MEND_UPLOAD;
    if (has_markdown(attempt))
        bits |= attempt->card.card.button_count > 0 ? SMA_MEND_MARKS | SMA_MEND_BUTTONS
                                                    : SMA_MEND_MARKS;
    if (attempt->part.kind == QQ_PART_FILE)
        bits |= SMA_MEND_INSTEAD | (attempt->part.caption.len > 0 ? SMA_MEND_CAPTION : 0);
    if (attempt->part.kind == QQ_PART_FILE && attempt->part.caption.len > 0)
        bits |= SMA_MEND_LINKS;
    return bits;
}

static struct sma_str text(const struct sma_sending *sending)
{
    const struct qq_part *part = &((const struct qq_attempt *)(const void *)sending)->part;
    return part->kind == QQ_PART_TEXT ? part->plain : SMA_STR("");
}

/* Neither an answer nor a message on our own: say both, so that model and owner know what to do. */
static void explain_no_answer(struct qq_attempt *attempt)
{
    struct sma_answered *answered = &attempt->base.answered;
    char reason[sizeof answered->error];
    snprintf(reason, sizeof reason, "%s", answered->error);
    const struct sma_attempt *asked = attempt->base.asked;
    bool is_answer = asked->route.message_id.len > 0; /* or it goes to somebody else's chat */
    if (!attempt->was_window_closed && is_answer && asked->is_interim)
        snprintf(answered->error, sizeof answered->error,
                 "QQ takes one more answer to this message, which is kept for your final text: say "
                 "it there. %.140s",
                 reason);
    else if (attempt->was_window_closed || attempt->was_answer_tried)
        snprintf(answered->error, sizeof answered->error,
                 "QQ takes no further answer to this message (its time or number is used up), and "
                 "no message without one: ask the user to write again. %.110s",
                 reason);
}

/* The last piece was refused. After a crash the one before it may not have been sent: then its
 * number is the next one. Else the part is a message of its own, and the streamed one goes. */
static bool leave_stream(struct qq_attempt *attempt, struct sma_stream *stream)
{
    if (stream->is_left && !attempt->is_stream_again && stream->number > 0) {
        attempt->base.without &= ~(uint32_t)SMA_MEND_EDIT;
        return attempt->is_stream_again = true;
    }
    sma_streams_disclaim(&attempt->base.platform->streams, attempt->base.asked);
    return true;
}

/* No answer to this message any more: to a newer one, else without one. */
static bool close_window(struct qq_attempt *attempt)
{
    bool is_answered = attempt->answered[0] == '\0' &&
                       qq_fresh_take(qq_of(attempt), attempt->base.asked, attempt->answered);
    attempt->way = is_answered ? QQ_PASSIVE : QQ_ACTIVE;
    attempt->was_window_closed = true;
    if (is_answered)
        attempt->base.without &= ~(uint32_t)SMA_MEND_ACTIVE;
    else if (attempt->was_answer_tried) /* without one was refused already */
        explain_no_answer(attempt);
    return is_answered || !attempt->was_answer_tried;
}

static bool step(struct sma_sending *sending, enum sma_mend taken)
{
    struct qq_attempt *attempt = attempt_of(sending);
    struct qq_part *part = &attempt->part;
    switch ((int)taken) {
    case SMA_MEND_EDIT:
        return leave_stream(attempt, stream_of(attempt));
    case SMA_MEND_BUTTONS: /* the other form says how to answer by words */
        sending->without |= SMA_MEND_MARKS;
        return true;
    case SMA_MEND_ANSWER:
        attempt->way = QQ_PASSIVE;
        return attempt->was_answer_tried = true;
    case SMA_MEND_ACTIVE:
        return close_window(attempt);
    case SMA_MEND_UPLOAD:
        free(SMA_TAKE(attempt->file_info));
        return true;
    case SMA_MEND_FILE:
        if (is_guild(&sending->asked->route))
            return false; /* takes no files */
        *part = (struct qq_part){.kind = QQ_PART_FILE,
                                 .file_kind = SMA_STR("document"),
                                 .target = SMA_STR(SMA_SENDING_FILE_NAME)};
        return true;
    case SMA_MEND_INSTEAD:
        sma_sending_put_instead(sending, part->caption, part->target, &attempt->words);
        *part = (struct qq_part){.kind = QQ_PART_TEXT, .plain = sma_buf_str(&attempt->words)};
        return attempt->words.err == SMA_ERR_OK;
    case SMA_MEND_REST:
        *part = (struct qq_part){.kind = QQ_PART_TEXT, .plain = part->caption};
        free(SMA_TAKE(attempt->file_info));
        return true;
    default:
        return true;
    }
}

static void note_rights(struct qq *qq, const struct sma_answered *answered)
{
    if (answered->attempt_class == SMA_ATTEMPT_SENT)
        sma_adapter_health_heal(&qq->base.health, SMA_CAUSE_RIGHTS);
    else if (answered->act == SMA_ACT_OWNER &&
             sma_adapter_health_set(&qq->base.health, SMA_CAUSE_RIGHTS, answered->error))
        sma_platform_log(&qq->base, SMA_LOG_ERROR, "the bot may not send: %s", answered->error);
}

static void read_answer(struct sma_sending *sending, const struct sma_net_answer *answer)
{
    struct qq_attempt *attempt = attempt_of(sending);
    struct sma_answered *answered = &sending->answered;
    const struct sma_route *route = &sending->asked->route;
    bool is_channel = sma_str_is_equal(route->chat_type, SMA_STR("channel"));
    uint8_t when = (attempt->way == QQ_ACTIVE ? QQ_WHEN_ACTIVE : 0) |
                   (sending->asked->is_repeat ? QQ_WHEN_REPEAT : 0);
    sma_verdict(&qq_verdicts, NULL, answer, when, answered);
    const struct sma_stream *stream = stream_of(attempt);
    bool is_sent = answered->attempt_class == SMA_ATTEMPT_SENT;
    bool is_open = (answered->mend & forms(sending) & ~sending->without) != 0;
    if (is_sent && is_channel && answered->chat_id[0] != '\0' &&
        !sma_str_is_equal(sma_str(answered->chat_id), route->chat_id))
        *answered = (struct sma_answered){.attempt_class = SMA_ATTEMPT_GIVE_UP,
                                          .act = SMA_ACT_FINAL,
                                          .error = "QQ answered with a message of another channel"};
    else if (stream != NULL && is_sent) /* its own number, whatever a piece is answered with */
        SMA_STREAM_SET(answered->message_id, sma_str(stream->handle));
    else if (is_sent && attempt->way == QQ_PASSIVE)
        qq_stream_note_answer(qq_of(attempt), sending->asked->seq);
    else if (answered->act == SMA_ACT_FINAL && !is_open &&
             ((answered->mend & SMA_MEND_ANSWER) != 0 || attempt->was_window_closed))
        explain_no_answer(attempt);
    answered->is_likely_unsent = answered->attempt_class == SMA_ATTEMPT_UNKNOWN &&
                                 attempt->way == QQ_PASSIVE && !is_guild(route);
    note_rights(qq_of(attempt), answered);
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
    else
        qq_put_image_message(body, send);
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

/* Pieces of a part that was too long count from behind: a text has a few parts and up to 64
 * places. */
static uint32_t part_number(const struct sma_sending *sending)
{
    if (sending->piece == 0)
        return sending->asked->part;
    return SMA_PART_COUNT_MAX - 1 - (sending->asked->part * 8 + sending->piece - 1) % 32;
}

static void send_message(struct qq_attempt *attempt)
{
    struct sma_sending *sending = &attempt->base;
    const struct sma_attempt *asked = sending->asked;
    struct qq_button buttons[SMA_CARD_BUTTON_COUNT_MAX];
    size_t button_count = qq_card_put_buttons(&attempt->card, buttons);
    struct sma_route route = asked->route;
    if (attempt->answered[0] != '\0')
        route.message_id = sma_str(attempt->answered);
    struct qq_part part = attempt->part;
    struct sma_buf words;
    sma_buf_init(&words, BODY_BYTES_MAX);
    struct sma_str *own = part.kind == QQ_PART_TEXT ? &part.plain : &part.caption;
    sma_sending_put_words(sending, *own, &words);
    *own = words.err == SMA_ERR_OK ? sma_buf_str(&words) : *own;
    struct qq_send send = {
        .route = &route,
        .part = &part,
        .way = attempt->way,
        .msg_seq = qq_msg_seq(asked->outbox_id, part_number(sending), sma_sending_form(sending)),
        .is_markdown = has_markdown(attempt) && (sending->without & SMA_MEND_MARKS) == 0,
        .is_captionless = (sending->without & SMA_MEND_CAPTION) != 0,
        .buttons = buttons,
        .button_count = button_count};
    struct sma_buf path, body;
    sma_buf_init(&path, PATH_BYTES_MAX);
    sma_buf_init(&body, BODY_BYTES_MAX);
    qq_put_send_path(&path, &asked->route);
    put_body(&body, attempt, &send);
    sma_buf_fini(&words);
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
                        !is_guild(&sending->asked->route);
    if (needs_upload)
        qq_upload_begin(attempt);
    else
        send_message(attempt);
}

void qq_upload_ended(struct qq_attempt *attempt, const struct sma_answered *answered)
{
    if (answered == NULL) {
        send_message(attempt);
        return;
    }
    attempt->base.answered = *answered;
    sma_sending_conclude(&attempt->base);
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
    sma_buf_init(&attempt->words, BODY_BYTES_MAX);
    SMA_TRY(read_part(attempt));
    bool is_picture = sma_str_is_equal(attempt->part.file_kind, SMA_STR("photo")) &&
                      attempt->part.kind == QQ_PART_FILE && qq_media_of(&attempt->part).is_url;
    if (attempt->part.kind == QQ_PART_FILE && is_guild(&sending->asked->route) && !is_picture)
        (void)step(sending, SMA_MEND_INSTEAD); /* guilds take no files */
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
    sma_buf_fini(&attempt->words);
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
    .forms = forms,
    .step = step,
    .text = text,
    .release = release,
};
