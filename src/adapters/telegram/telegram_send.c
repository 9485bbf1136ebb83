/*
 * telegram_send.c — one ATTEMPT, one request, one answer. A second request follows only when the
 * first was certainly not carried out: markup or buttons refused, the message replied to or to be
 * changed gone, the group moved.
 *
 * A changed message and a reaction are the same when they are done twice, so an unknown outcome of
 * theirs may be repeated.
 */
#include "telegram_in.h"
#include "telegram_priv.h"

#include "sma/text.h"

#include <stdio.h>

static struct telegram_attempt *attempt_of(struct sma_sending *sending)
{
    return (struct telegram_attempt *)(void *)sending;
}

static struct telegram *telegram_of(const struct telegram_attempt *attempt)
{
    return (struct telegram *)attempt->base.platform;
}

/* -- groups that moved ------------------------------------------------------------------------- */
static int64_t moved_chat(const struct telegram *telegram, struct sma_str chat_id)
{
    int64_t id;
    if (sma_parse_i64(chat_id, INT64_MIN, INT64_MAX, &id) != SMA_ERR_OK)
        return 0;
    for (size_t i = 0; i < TELEGRAM_MOVED_COUNT_MAX; i++)
        if (telegram->moved[i].from == id && id != 0)
            return telegram->moved[i].to;
    return 0;
}

/* Tell the store under which key the chat goes on. Lost for want of room, it comes with the next
 * attempt there. */
static void note_moved(struct telegram *telegram, const struct sma_route *route, int64_t to)
{
    int64_t from;
    if (sma_parse_i64(route->chat_id, INT64_MIN, INT64_MAX, &from) != SMA_ERR_OK ||
        moved_chat(telegram, route->chat_id) == to)
        return;
    char chat_id[24], chat_key[128], event_key[40];
    const char *channel = telegram->base.home.name;
    snprintf(chat_id, sizeof chat_id, "%lld", (long long)to);
    snprintf(chat_key, sizeof chat_key, "%s:chat:%lld", channel, (long long)to);
    snprintf(event_key, sizeof event_key, "migrate:%lld",
             (long long)from); /* as the service messages' own */
    struct sma_ingress ingress = {
        .route = {.adapter = (uint8_t)sma_ctx_self(telegram->ctx),
                  .channel = sma_str(channel),
                  .chat_key = sma_str(chat_key),
                  .chat_id = sma_str(chat_id),
                  .chat_type = SMA_STR("supergroup")},
        .event_key = sma_str(event_key),
        .wall_ms = sma_ctx_wall(telegram->ctx),
        .kind = SMA_EVENT_NOTE,
        .addressed = SMA_ADDRESSED_NONE,
        .is_group = true,
        .migrated_from = route->chat_key,
    };
    struct sma_origin origin = {.is_nobody = true};
    if (sma_intake_ask(&telegram->base.intake, &ingress, &origin) != SMA_ERR_OK)
        return;
    telegram->moved[telegram->moved_next] = (struct telegram_moved){from, to};
    telegram->moved_next = (telegram->moved_next + 1) % TELEGRAM_MOVED_COUNT_MAX;
    sma_platform_log(&telegram->base, SMA_LOG_INFO, "group %lld became supergroup %lld",
                     (long long)from, (long long)to);
}

/* -- the outcome ------------------------------------------------------------------------------- */
static bool is_edit(const struct telegram_attempt *attempt)
{
    const struct sma_card *card = &attempt->card.card;
    int64_t id; /* ids are counted anew in a group that has moved */
    return card->is_outcome && (attempt->base.without & SMA_MEND_EDIT) == 0 &&
           attempt->moved_to == 0 &&
           sma_parse_i64(card->message_id, 1, INT64_MAX, &id) == SMA_ERR_OK;
}

/* The message that was streamed and becomes this part; NULL = none. */
static struct sma_stream *stream_of(const struct telegram_attempt *attempt)
{
    return attempt->moved_to != 0
               ? NULL
               : sma_streams_of(&attempt->base.platform->streams, attempt->base.asked);
}

/* The message that is changed instead of a new one being sent; empty = none. */
static struct sma_str edited_id(const struct telegram_attempt *attempt)
{
    const struct sma_stream *stream = stream_of(attempt);
    if (is_edit(attempt))
        return attempt->card.card.message_id;
    return stream == NULL ? SMA_STR("") : sma_str(stream->handle);
}

static struct sma_str other_kind(const struct telegram_attempt *attempt)
{
    return sma_str(telegram_file_other_kind(attempt->part.file_kind, attempt->part.target));
}

static uint32_t forms(const struct sma_sending *sending)
{
    const struct telegram_attempt *attempt = (const struct telegram_attempt *)(const void *)sending;
    const struct telegram_part *part = &attempt->part;
    uint32_t bits = attempt->moved_to != sending->answered.moved_to ? SMA_MEND_MOVED : 0;
    int64_t thread;
    if (part->kind == TELEGRAM_PART_REACTION)
        return bits;
    bool is_direct = sma_str_is_equal(sending->asked->route.chat_type, SMA_STR(TELEGRAM_DIRECT));
    if (!is_direct && /* there the topic is the person */
        sma_parse_i64(sending->asked->route.thread_id, 2, INT64_MAX, &thread) == SMA_ERR_OK)
        bits |= SMA_MEND_THREAD;
    if (edited_id(attempt).len > 0)
        bits |= SMA_MEND_EDIT;
    if (attempt->card.card.button_count > 0)
        bits |= SMA_MEND_BUTTONS;
    if (telegram_is_group(&sending->asked->route) && sending->asked->part == 0 &&
        sending->asked->route.message_id.len > 0)
        bits |= SMA_MEND_REPLY;
    if (part->kind == TELEGRAM_PART_TEXT)
        return part->html.len > 0 ? bits | SMA_MEND_MARKS : bits;
    if (!sma_str_is_equal(other_kind(attempt), part->file_kind))
        bits |= SMA_MEND_KIND;
    return bits | SMA_MEND_INSTEAD | (part->caption.len > 0 ? SMA_MEND_CAPTION : 0);
}

static struct sma_str text(const struct sma_sending *sending)
{
    const struct telegram_part *part =
        &((const struct telegram_attempt *)(const void *)sending)->part;
    return part->kind == TELEGRAM_PART_TEXT ? part->plain : SMA_STR("");
}

static bool move(struct telegram_attempt *attempt)
{
    bool is_second = attempt->moved_to != 0;
    note_moved(telegram_of(attempt), &attempt->base.asked->route, attempt->base.answered.moved_to);
    attempt->moved_to = attempt->base.answered.moved_to;
    attempt->base.without |= SMA_MEND_REPLY; /* ids are counted anew in the supergroup */
    return !is_second;
}

static bool step(struct sma_sending *sending, enum sma_mend taken)
{
    struct telegram_attempt *attempt = attempt_of(sending);
    struct telegram_part *part = &attempt->part;
    struct sma_streams *streams = &sending->platform->streams;
    if (taken == SMA_MEND_MOVED)
        return move(attempt);
    if (taken == SMA_MEND_THREAD) /* a reply would stand in the topic again */
        sending->without |= SMA_MEND_REPLY;
    if (taken == SMA_MEND_EDIT && stream_of(attempt) != NULL) {
        if ((sending->answered.mend & SMA_MEND_EDIT) != 0)
            sma_streams_drop_claim(streams, sending->asked); /* it is gone already */
        else
            sma_streams_disclaim(streams, sending->asked);
    }
    if (taken == SMA_MEND_BUTTONS) {
        telegram_card_without_buttons(&attempt->card);
        part->plain = sma_buf_str(&attempt->card.plain);
        sending->without |= SMA_MEND_MARKS;
    }
    if (taken == SMA_MEND_KIND) {
        part->file_kind = other_kind(attempt);
        if (!sma_str_is_equal(other_kind(attempt), part->file_kind))
            sending->without &= ~(uint32_t)SMA_MEND_KIND; /* there is one more */
    }
    if (taken == SMA_MEND_FILE)
        *part = (struct telegram_part){.kind = TELEGRAM_PART_FILE,
                                       .file_kind = SMA_STR("document"),
                                       .target = SMA_STR(SMA_SENDING_FILE_NAME)};
    if (taken == SMA_MEND_INSTEAD || taken == SMA_MEND_REST) {
        if (taken == SMA_MEND_INSTEAD)
            sma_sending_put_instead(sending, part->caption, part->target, &attempt->words);
        *part = (struct telegram_part){
            .kind = TELEGRAM_PART_TEXT,
            .plain = taken == SMA_MEND_REST ? part->caption : sma_buf_str(&attempt->words)};
    }
    return attempt->words.err == SMA_ERR_OK;
}

/* A message of another chat than the one asked for is not believed: it would be changed later on as
 * if it were ours. It is not asked for again either, for something was sent. */
static void check_chat(const struct telegram_attempt *attempt, struct sma_answered *answered)
{
    int64_t chat_id = attempt->moved_to, named = 0;
    bool is_number = chat_id != 0 || sma_parse_i64(attempt->base.asked->route.chat_id, INT64_MIN,
                                                   INT64_MAX, &chat_id) == SMA_ERR_OK;
    bool is_named =
        sma_parse_i64(sma_str(answered->chat_id), INT64_MIN, INT64_MAX, &named) == SMA_ERR_OK;
    if (answered->attempt_class != SMA_ATTEMPT_SENT || !is_named || !is_number || named == chat_id)
        return;
    *answered = (struct sma_answered){
        .attempt_class = SMA_ATTEMPT_GIVE_UP,
        .act = SMA_ACT_FINAL,
        .error = "Telegram answered with a message of another chat",
    };
}

static void read_answer(struct sma_sending *sending, const struct sma_net_answer *answer)
{
    struct telegram_attempt *attempt = attempt_of(sending);
    struct telegram *telegram = telegram_of(attempt);
    struct sma_answered *answered = &sending->answered;
    sma_verdict(&telegram_verdicts, NULL, answer, 0, answered);
    check_chat(attempt, answered);
    bool is_sent = answered->attempt_class == SMA_ATTEMPT_SENT;
    struct sma_str edited = edited_id(attempt);
    if (edited.len > 0 && is_sent)
        sma_verdict_copy(answered->message_id, sizeof answered->message_id, edited);
    if (edited.len > 0 || attempt->part.kind == TELEGRAM_PART_REACTION)
        answered->is_likely_unsent |= answered->attempt_class == SMA_ATTEMPT_UNKNOWN;
    if (answered->act == SMA_ACT_OWNER)
        telegram_bot_refused(telegram, answer->status);
    else if (is_sent)
        sma_adapter_health_heal(&telegram->base.health, SMA_CAUSE_LOGIN);
}

/* -- the request ------------------------------------------------------------------------------- */
/* @return the method */
static const char *put_body(struct sma_buf *body, const struct telegram_attempt *attempt,
                            const struct telegram_send *send)
{
    struct sma_str edited = edited_id(attempt);
    if (edited.len > 0) {
        telegram_put_edit_message(body, send, edited);
        return "editMessageText";
    }
    if (attempt->part.kind == TELEGRAM_PART_TEXT) {
        telegram_put_send_message(body, send);
        return "sendMessage";
    }
    if (attempt->part.kind == TELEGRAM_PART_REACTION) {
        telegram_put_reaction(body, send->route, telegram_reaction_find(attempt->part.emoji));
        return "setMessageReaction";
    }
    telegram_put_send_file(body, send);
    return telegram_file_method(attempt->part.file_kind);
}

static void send_json(struct telegram_attempt *attempt, const struct telegram_send *send)
{
    struct sma_sending *sending = &attempt->base;
    struct sma_buf body;
    sma_buf_init(&body, 256 * 1024);
    const char *method = put_body(&body, attempt, send);
    if (body.err == SMA_ERR_OK) {
        sma_sending_before(sending);
        sending->call =
            sma_call_start(sending->platform->calls,
                           &(struct sma_call_options){.method = "POST",
                                                      .path = sma_str(method),
                                                      .body = &body,
                                                      .may_repeat = false,
                                                      .total_ms = sma_sending_left_ms(sending),
                                                      .done = sma_sending_on_answer,
                                                      .user = sending});
    }
    sma_buf_fini(&body);
    sma_sending_check_call(sending);
}

static void send_part(struct sma_sending *sending)
{
    struct telegram_attempt *attempt = attempt_of(sending);
    struct sma_route route = sending->asked->route;
    if (attempt->moved_to != 0) {
        snprintf(attempt->chat_id, sizeof attempt->chat_id, "%lld", (long long)attempt->moved_to);
        route.chat_id = sma_str(attempt->chat_id);
    }
    telegram_stream_note_attempt(telegram_of(attempt), &route);
    struct telegram_part part = attempt->part;
    struct sma_buf words;
    sma_buf_init(&words, 4 * part.plain.len + 64);
    if (part.kind == TELEGRAM_PART_TEXT) {
        sma_sending_put_words(sending, part.plain, &words);
        part.plain = words.err == SMA_ERR_OK ? sma_buf_str(&words) : part.plain;
    }
    uint32_t without = sending->without;
    struct telegram_send send = {.route = &route,
                                 .part = &part,
                                 .part_index = sending->asked->part + sending->piece,
                                 .is_plain = (without & SMA_MEND_MARKS) != 0,
                                 .is_no_reply = (without & SMA_MEND_REPLY) != 0,
                                 .is_no_thread = (without & SMA_MEND_THREAD) != 0,
                                 .is_captionless = (without & SMA_MEND_CAPTION) != 0,
                                 .card = (without & SMA_MEND_BUTTONS) != 0 ? NULL
                                                                           : &attempt->card.card};
    if (part.kind == TELEGRAM_PART_FILE && !telegram_target_is_url(part.target))
        telegram_upload_start(attempt, &send);
    else
        send_json(attempt, &send);
    sma_buf_fini(&words);
}

/* -- the question ------------------------------------------------------------------------------ */
/* A part that can never be sent: why, in *error. */
static SMA_CHECKED enum sma_err check_reaction(const struct telegram_part *part,
                                               const struct sma_route *route,
                                               struct sma_error *error)
{
    int64_t id;
    if (telegram_reaction_find(part->emoji) == NULL)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "Telegram has no reaction \"%.*s\": take one of its own, like 👍 👎 ❤ 🔥 🎉 "
                        "👀 👌 🤔 🙏 💯, or say it in words",
                        (int)sma_utf8_cut(part->emoji, 32), part->emoji.ptr);
    if (sma_parse_i64(route->message_id, 1, INT64_MAX, &id) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_BADINPUT, "there is no message here to react to");
    return SMA_ERR_OK;
}

static enum sma_err open_part(struct sma_sending *sending, struct sma_error *error)
{
    struct telegram_attempt *attempt = attempt_of(sending);
    struct telegram_part *part = &attempt->part;
    sma_buf_init(&attempt->reply_parameters, 4096);
    sma_buf_init(&attempt->words, 64 * 1024);
    attempt->moved_to = moved_chat(telegram_of(attempt), sending->asked->route.chat_id);
    if (attempt->moved_to != 0)
        sending->without |= SMA_MEND_REPLY;
    SMA_TRY(telegram_part_decode(sending->asked->part_bytes, part));
    if (part->kind == TELEGRAM_PART_CARD) {
        SMA_TRY(telegram_card_open(part, &attempt->card));
        *part = (struct telegram_part){.kind = TELEGRAM_PART_TEXT,
                                       .html = sma_buf_str(&attempt->card.html),
                                       .plain = sma_buf_str(&attempt->card.plain)};
    }
    if (part->kind == TELEGRAM_PART_REACTION)
        return check_reaction(part, &sending->asked->route, error);
    return SMA_ERR_OK;
}

static void release(struct sma_sending *sending)
{
    struct telegram_attempt *attempt = attempt_of(sending);
    sma_buf_fini(&attempt->reply_parameters);
    sma_buf_fini(&attempt->words);
    telegram_card_fini(&attempt->card);
}

static bool is_file(const struct sma_sending *sending)
{
    return ((const struct telegram_attempt *)(const void *)sending)->part.kind ==
           TELEGRAM_PART_FILE;
}

/* What a streamed message may become: words of the run, not a request with buttons. */
static bool can_be_streamed(const struct telegram_attempt *attempt)
{
    uint8_t intent = attempt->base.asked->intent;
    return attempt->part.kind == TELEGRAM_PART_TEXT && attempt->moved_to == 0 &&
           (intent == SMA_INTENT_ASSISTANT_TEXT || intent == SMA_INTENT_NOTICE ||
            intent == SMA_INTENT_ERROR);
}

/* A preview of the run is on its way: the answer must come after it. */
static bool hold(struct sma_sending *sending)
{
    bool is_beside = sending->asked->intent == SMA_INTENT_APPROVAL_OUTCOME ||
                     sending->asked->intent == SMA_INTENT_REACTION; /* the run goes on writing */
    if (is_beside)
        return false;
    struct telegram_attempt *attempt = attempt_of(sending);
    bool has_draft = telegram_progress_note_attempt(telegram_of(attempt), sending->asked->seq);
    return sma_streams_claim(&sending->platform->streams, sending->asked,
                             can_be_streamed(attempt)) == SMA_STREAM_CLAIM_WAIT ||
           has_draft;
}

const struct sma_sending_ops telegram_sending_ops = {
    .size = sizeof(struct telegram_attempt),
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
