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
#include <unistd.h>

static void send_part(struct telegram_attempt *attempt);

/* -- the answer -------------------------------------------------------------------------------- */
static void release(struct telegram_attempt *attempt)
{
    sma_msg_destroy(attempt->msg);
    if (attempt->fd >= 0)
        close(attempt->fd);
    sma_buf_fini(&attempt->reply_parameters);
    telegram_card_fini(&attempt->card);
    *attempt = (struct telegram_attempt){.fd = -1};
}

static void answer(struct telegram_attempt *attempt, const struct telegram_outcome *outcome)
{
    const struct sma_attempt_result result = {.attempt_class = outcome->attempt_class,
                                              .is_adapter_wide = outcome->is_adapter_wide,
                                              .is_likely_unsent = outcome->is_likely_unsent,
                                              .is_content_refused = outcome->is_content_refused,
                                              .retry_after_ms = outcome->retry_after_ms,
                                              .platform_message_id = sma_str(outcome->message_id),
                                              .sent_ms = outcome->sent_ms,
                                              .error = sma_str(outcome->error)};
    sma_adapter_answer_attempt(attempt->telegram->ctx, attempt->msg, &result);
    release(attempt);
}

static void answer_class(struct telegram_attempt *attempt, enum sma_attempt_class attempt_class,
                         const char *error)
{
    struct telegram_outcome outcome = {.attempt_class = (uint8_t)attempt_class};
    snprintf(outcome.error, sizeof outcome.error, "%.250s", error);
    answer(attempt, &outcome);
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
    char chat_id[24], chat_key[48], event_key[40];
    snprintf(chat_id, sizeof chat_id, "%lld", (long long)to);
    snprintf(chat_key, sizeof chat_key, "telegram:chat:%lld", (long long)to);
    snprintf(event_key, sizeof event_key, "migrate:%lld",
             (long long)from); /* as the service messages' own */
    struct sma_ingress ingress = {
        .route = {.adapter = (uint8_t)sma_ctx_self(telegram->ctx),
                  .channel = SMA_STR("telegram"),
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
    sma_ctx_log(telegram->ctx, SMA_LOG_INFO, "telegram: group %lld became supergroup %lld",
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
static bool mend(struct telegram_attempt *attempt, const struct telegram_outcome *outcome)
{
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
    if (outcome->is_markup_refused && !attempt->is_plain &&
        attempt->part.kind != TELEGRAM_PART_REACTION) {
        attempt->is_plain = true;
        return true;
    }
    if (outcome->is_edit_gone && is_edit(attempt))
        return attempt->is_edit_gone = true;
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
        note_moved(attempt->telegram, &asked->route, outcome->migrate_to);
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
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
    int64_t chat_id = attempt->moved_to;
    bool is_number = chat_id != 0 || sma_parse_i64(asked->route.chat_id, INT64_MIN, INT64_MAX,
                                                   &chat_id) == SMA_ERR_OK;
    if (outcome->attempt_class != SMA_ATTEMPT_SENT || outcome->chat_id == 0 || !is_number ||
        outcome->chat_id == chat_id)
        return;
    outcome->attempt_class = SMA_ATTEMPT_GIVE_UP;
    outcome->message_id[0] = '\0';
    snprintf(outcome->error, sizeof outcome->error,
             "Telegram answered with a message of another chat");
}

static void on_sent(struct telegram *telegram, void *user, const struct sma_net_answer *net_answer)
{
    struct telegram_attempt *attempt = user;
    struct telegram_outcome outcome;
    attempt->call = NULL;
    SMA_CRASH_POINT("telegram.after_send");
    telegram_classify(net_answer, &outcome);
    check_chat(attempt, &outcome);
    uint64_t now_ns = sma_ctx_now(telegram->ctx);
    if (is_edit(attempt) && outcome.attempt_class == SMA_ATTEMPT_SENT)
        snprintf(outcome.message_id, sizeof outcome.message_id, "%.*s",
                 (int)attempt->card.card.message_id.len, attempt->card.card.message_id.ptr);
    if (is_edit(attempt) || attempt->part.kind == TELEGRAM_PART_REACTION)
        outcome.is_likely_unsent |= outcome.attempt_class == SMA_ATTEMPT_UNKNOWN;
    if (mend(attempt, &outcome)) {
        if (now_ns + TELEGRAM_MEND_MS * TELEGRAM_NS_PER_MS < attempt->until_ns)
            send_part(attempt);
        else
            answer_class(attempt, SMA_ATTEMPT_RETRY,
                         outcome.error); /* refused, so certainly not sent */
        return;
    }
    if (outcome.is_bot_refused)
        telegram_bot_refused(telegram, net_answer->status);
    else if (outcome.attempt_class == SMA_ATTEMPT_SENT)
        sma_adapter_health_heal(&telegram->base.health, SMA_CAUSE_LOGIN);
    answer(attempt, &outcome);
}

/* -- the request ------------------------------------------------------------------------------- */
/* @return the method */
static const char *put_body(struct sma_buf *body, const struct telegram_attempt *attempt,
                            const struct telegram_send *send)
{
    if (is_edit(attempt)) {
        telegram_put_edit_message(body, send, attempt->card.card.message_id);
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

static void send_json(struct telegram_attempt *attempt, const struct telegram_send *send,
                      uint32_t total_ms)
{
    struct sma_buf body;
    sma_buf_init(&body, 256 * 1024);
    const char *method = put_body(&body, attempt, send);
    if (body.err == SMA_ERR_OK) {
        SMA_CRASH_POINT("telegram.before_send");
        attempt->call = telegram_call_start(attempt->telegram, &(struct telegram_call_options){
                                                                   .method = method,
                                                                   .body = sma_buf_str(&body),
                                                                   .is_once = true,
                                                                   .total_ms = total_ms,
                                                                   .done = on_sent,
                                                                   .user = attempt,
                                                               });
    }
    sma_buf_fini(&body);
    if (attempt->call == NULL)
        answer_class(attempt, SMA_ATTEMPT_RETRY, "out of memory while sending");
}

static void send_upload(struct telegram_attempt *attempt, const struct telegram_send *send,
                        uint32_t total_ms)
{
    struct sma_error error = {0};
    attempt->call = telegram_upload_start(attempt, send, total_ms, on_sent, &error);
    if (attempt->call == NULL)
        answer_class(attempt, error.code == SMA_ERR_NOMEM ? SMA_ATTEMPT_RETRY : SMA_ATTEMPT_GIVE_UP,
                     error.text);
}

static void send_part(struct telegram_attempt *attempt)
{
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
    struct sma_route route = asked->route;
    if (attempt->moved_to != 0) {
        snprintf(attempt->chat_id, sizeof attempt->chat_id, "%lld", (long long)attempt->moved_to);
        route.chat_id = sma_str(attempt->chat_id);
    }
    struct telegram_send send = {.route = &route,
                                 .part = &attempt->part,
                                 .part_index = asked->part,
                                 .is_plain = attempt->is_plain,
                                 .is_no_reply = attempt->is_no_reply,
                                 .is_no_thread = attempt->is_no_thread,
                                 .card = attempt->is_keyboard_refused ? NULL : &attempt->card.card};
    uint64_t now_ns = sma_ctx_now(attempt->telegram->ctx);
    uint64_t left_ns = attempt->until_ns > now_ns ? attempt->until_ns - now_ns : TELEGRAM_NS_PER_MS;
    uint32_t total_ms = (uint32_t)(left_ns / TELEGRAM_NS_PER_MS);
    if (attempt->part.kind == TELEGRAM_PART_FILE && !telegram_target_is_url(attempt->part.target))
        send_upload(attempt, &send, total_ms);
    else
        send_json(attempt, &send, total_ms);
}

static struct telegram_attempt *free_place(struct telegram *telegram)
{
    for (size_t i = 0; i < TELEGRAM_ATTEMPT_COUNT_MAX; i++)
        if (telegram->attempts[i].msg == NULL)
            return &telegram->attempts[i];
    return NULL;
}

/* A part that can never be sent: why, in *error. @return whether it can */
static bool check_reaction(const struct telegram_part *part, const struct sma_route *route,
                           char *error, size_t error_size)
{
    int64_t id;
    if (telegram_reaction_find(part->emoji) == NULL)
        snprintf(error, error_size,
                 "Telegram has no reaction \"%.*s\": take one of its own, like 👍 👎 ❤ 🔥 🎉 👀 👌 "
                 "🤔 🙏 💯, or say it in words",
                 (int)sma_utf8_cut(part->emoji, 32), part->emoji.ptr);
    else if (sma_parse_i64(route->message_id, 1, INT64_MAX, &id) != SMA_ERR_OK)
        snprintf(error, error_size, "there is no message here to react to");
    else
        return true;
    return false;
}

/* What the part's bytes say. @return OK, or *error for people */
static SMA_CHECKED enum sma_err read_part(struct telegram_attempt *attempt, char *error,
                                          size_t error_size)
{
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
    struct telegram_part *part = &attempt->part;
    enum sma_err err = telegram_part_decode(asked->part_bytes, part);
    if (err == SMA_ERR_OK && part->kind == TELEGRAM_PART_CARD)
        err = telegram_card_open(part, &attempt->card);
    if (err != SMA_ERR_OK) {
        snprintf(error, error_size, "%s",
                 err == SMA_ERR_NOMEM
                     ? "out of memory while sending"
                     : "a stored part cannot be read: it was not made by this program");
        return err;
    }
    if (part->kind == TELEGRAM_PART_CARD)
        *part = (struct telegram_part){.kind = TELEGRAM_PART_TEXT,
                                       .html = sma_buf_str(&attempt->card.html),
                                       .plain = sma_buf_str(&attempt->card.plain)};
    if (part->kind == TELEGRAM_PART_REACTION &&
        !check_reaction(part, &asked->route, error, error_size))
        return SMA_ERR_BADINPUT;
    return SMA_ERR_OK;
}

void telegram_attempt_take(struct telegram *telegram, struct sma_msg **msg)
{
    struct telegram_attempt *attempt = free_place(telegram);
    SMA_ASSERT(attempt != NULL); /* as many places as the edge has questions */
    const struct sma_attempt *asked = SMA_MSG_BODY(*msg, struct sma_attempt);
    *attempt = (struct telegram_attempt){.telegram = telegram, .msg = SMA_TAKE(*msg), .fd = -1};
    sma_buf_init(&attempt->reply_parameters, 4096);
    bool is_beside = asked->intent == SMA_INTENT_APPROVAL_OUTCOME ||
                     asked->intent == SMA_INTENT_REACTION; /* the run goes on writing */
    attempt->is_held = !is_beside && telegram_progress_note_attempt(telegram, asked->seq);
    char error[256];
    enum sma_err err = read_part(attempt, error, sizeof error);
    if (err != SMA_ERR_OK) {
        answer_class(attempt, err == SMA_ERR_NOMEM ? SMA_ATTEMPT_RETRY : SMA_ATTEMPT_GIVE_UP,
                     error);
        return;
    }
    uint32_t total_ms =
        attempt->part.kind == TELEGRAM_PART_FILE ? TELEGRAM_UPLOAD_MS : TELEGRAM_SEND_MS;
    attempt->until_ns = sma_ctx_now(telegram->ctx) + total_ms * TELEGRAM_NS_PER_MS;
    attempt->moved_to = moved_chat(telegram, asked->route.chat_id);
    attempt->is_no_reply = attempt->moved_to != 0;
    if (!attempt->is_held)
        send_part(attempt);
}

void telegram_attempts_go_on(struct telegram *telegram, uint64_t seq)
{
    for (size_t i = 0; i < TELEGRAM_ATTEMPT_COUNT_MAX; i++) {
        struct telegram_attempt *attempt = &telegram->attempts[i];
        if (attempt->msg == NULL || !attempt->is_held ||
            SMA_MSG_BODY(attempt->msg, struct sma_attempt)->seq != seq)
            continue;
        attempt->is_held = false;
        send_part(attempt);
    }
}

void telegram_attempts_drop(struct telegram *telegram)
{
    for (size_t i = 0; i < TELEGRAM_ATTEMPT_COUNT_MAX; i++) {
        struct telegram_attempt *attempt = &telegram->attempts[i];
        if (attempt->msg == NULL)
            continue;
        telegram_call_cancel(attempt->call);
        release(attempt);
    }
}
