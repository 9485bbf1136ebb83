/*
 * telegram_send.c — one ATTEMPT, one request, one answer. A second request follows only when the
 * first was certainly not carried out: markup or buttons refused, the message replied to or to be
 * changed gone, the group moved.
 *
 * A changed message and a reaction are the same when they are done twice, so an unknown outcome of
 * theirs may be repeated.
 */
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
    return card->is_outcome && !attempt->is_edit_gone && attempt->moved_to == 0 &&
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

/* @return whether there is one */
static bool take_other_kind(struct telegram_attempt *attempt)
{
    struct sma_str kind =
        sma_str(telegram_file_other_kind(attempt->part.file_kind, attempt->part.target));
    if (sma_str_is_equal(kind, attempt->part.file_kind))
        return false;
    attempt->part.file_kind = kind;
    return true;
}

/* @return whether the same part goes out once more, differently */
static bool mend(struct sma_sending *sending)
{
    struct telegram_attempt *attempt = attempt_of(sending);
    const struct telegram_outcome *outcome = &attempt->outcome;
    if (outcome->is_markup_refused && !attempt->is_plain &&
        attempt->part.kind != TELEGRAM_PART_REACTION) {
        attempt->is_plain = true;
        return true;
    }
    if (outcome->is_edit_gone && is_edit(attempt))
        return attempt->is_edit_gone = true;
    if (outcome->is_edit_gone && stream_of(attempt) != NULL) {
        sma_streams_drop_claim(&sending->platform->streams, sending->asked);
        return true;
    }
    if (outcome->is_keyboard_refused && attempt->card.card.button_count > 0 &&
        !attempt->is_keyboard_refused) {
        telegram_card_without_buttons(&attempt->card);
        attempt->part.plain = sma_buf_str(&attempt->card.plain);
        return attempt->is_plain = attempt->is_keyboard_refused = true;
    }
    if (outcome->is_thread_gone && !attempt->is_no_thread)
        return attempt->is_no_thread = true;
    if (outcome->is_kind_refused && attempt->part.kind == TELEGRAM_PART_FILE)
        return take_other_kind(attempt);
    if (outcome->is_fetch_failed && attempt->part.kind == TELEGRAM_PART_FILE && !attempt->is_link)
        return attempt->is_link = true;
    if (outcome->is_reply_gone && !attempt->is_no_reply) {
        attempt->is_no_reply = true;
        return true;
    }
    if (outcome->is_migrated && attempt->moved_to != outcome->migrate_to &&
        outcome->migrate_to != 0) {
        bool is_second = attempt->moved_to != 0;
        note_moved(telegram_of(attempt), &sending->asked->route, outcome->migrate_to);
        attempt->moved_to = outcome->migrate_to;
        attempt->is_no_reply = true; /* message ids are counted anew in the supergroup */
        return !is_second;
    }
    return false;
}

/* A message of another chat than the one asked for is not believed: it would be changed later on as
 * if it were ours. It is not asked for again either, for something was sent. */
static void check_chat(const struct telegram_attempt *attempt, struct telegram_outcome *outcome)
{
    int64_t chat_id = attempt->moved_to;
    bool is_number = chat_id != 0 || sma_parse_i64(attempt->base.asked->route.chat_id, INT64_MIN,
                                                   INT64_MAX, &chat_id) == SMA_ERR_OK;
    if (outcome->attempt_class != SMA_ATTEMPT_SENT || outcome->chat_id == 0 || !is_number ||
        outcome->chat_id == chat_id)
        return;
    outcome->attempt_class = SMA_ATTEMPT_GIVE_UP;
    outcome->message_id[0] = '\0';
    snprintf(outcome->error, sizeof outcome->error,
             "Telegram answered with a message of another chat");
}

static void read_answer(struct sma_sending *sending, const struct sma_net_answer *answer)
{
    struct telegram_attempt *attempt = attempt_of(sending);
    struct telegram *telegram = telegram_of(attempt);
    struct telegram_outcome *outcome = &attempt->outcome;
    telegram_classify(answer, outcome);
    check_chat(attempt, outcome);
    bool is_sent = outcome->attempt_class == SMA_ATTEMPT_SENT;
    struct sma_str edited = edited_id(attempt);
    if (edited.len > 0 && is_sent)
        snprintf(outcome->message_id, sizeof outcome->message_id, "%.*s", (int)edited.len,
                 edited.ptr);
    if (edited.len > 0 || attempt->part.kind == TELEGRAM_PART_REACTION)
        outcome->is_likely_unsent |= outcome->attempt_class == SMA_ATTEMPT_UNKNOWN;
    if (outcome->is_bot_refused)
        telegram_bot_refused(telegram, answer->status);
    else if (is_sent)
        sma_adapter_health_heal(&telegram->base.health, SMA_CAUSE_LOGIN);
}

static struct sma_attempt_result result(const struct sma_sending *sending)
{
    const struct telegram_outcome *outcome =
        &((const struct telegram_attempt *)(const void *)sending)->outcome;
    return (struct sma_attempt_result){.attempt_class = outcome->attempt_class,
                                       .is_adapter_wide = outcome->is_adapter_wide,
                                       .is_likely_unsent = outcome->is_likely_unsent,
                                       .is_content_refused = outcome->is_content_refused,
                                       .retry_after_ms = outcome->retry_after_ms,
                                       .platform_message_id = sma_str(outcome->message_id),
                                       .sent_ms = outcome->sent_ms,
                                       .error = sma_str(outcome->error)};
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
    if (attempt->is_link) {
        telegram_put_link(body, send);
        return "sendMessage";
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
    struct telegram_send send = {.route = &route,
                                 .part = &attempt->part,
                                 .part_index = sending->asked->part,
                                 .is_plain = attempt->is_plain,
                                 .is_no_reply = attempt->is_no_reply,
                                 .is_no_thread = attempt->is_no_thread,
                                 .card = attempt->is_keyboard_refused ? NULL : &attempt->card.card};
    if (attempt->part.kind == TELEGRAM_PART_FILE && !telegram_target_is_url(attempt->part.target))
        telegram_upload_start(attempt, &send);
    else
        send_json(attempt, &send);
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
    attempt->moved_to = moved_chat(telegram_of(attempt), sending->asked->route.chat_id);
    attempt->is_no_reply = attempt->moved_to != 0;
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
    .mend = mend,
    .result = result,
    .release = release,
};
