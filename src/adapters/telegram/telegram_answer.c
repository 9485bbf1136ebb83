/* telegram_answer.c — what an answer of the Bot API means for the part that was sent. The classes
 * are in telegram_out.h. */
#include "telegram_out_priv.h"

#include "adapters/common/answers.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define RETRY_REFUSED_BOT_MS 30000
#define DESCRIPTION_BYTES_MAX 160

/* One line of valid UTF-8 that ends at a character. */
static void set_error(struct telegram_outcome *outcome, const char *format, ...) SMA_PRINTF(2, 3);
static void set_error(struct telegram_outcome *outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(outcome->error, sizeof outcome->error, format, arguments);
    va_end(arguments);
    size_t len = sma_utf8_cut(sma_str(outcome->error), sizeof outcome->error - 1);
    /* snprintf cuts anywhere: drop a character that was begun at the very end */
    while (len > 0 && !sma_utf8_is_valid((struct sma_str){outcome->error, len}))
        len--;
    outcome->error[len] = '\0';
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)outcome->error[i] < 0x20 || outcome->error[i] == 0x7F)
            outcome->error[i] = ' ';
}

static void classify_as(struct telegram_outcome *outcome, enum sma_attempt_class attempt_class)
{
    outcome->attempt_class = (uint8_t)attempt_class;
}

/* -- the pieces of an answer ------------------------------------------------------------------- */
struct reading
{
    int code;                /* error_code, else the HTTP status */
    const char *description; /* "" when there is none */
    int64_t retry_after_s;   /* -1 = none */
    int64_t migrate_to;      /* 0 = none */
    bool is_envelope, is_ok;
    json_t *result;    /* borrowed */
    const char *doubt; /* behind what may have been done all the same; "" of a question */
};
#define DOUBT "; whether the message arrived is unknown"

static struct reading read_answer(json_t *root, const struct sma_net_answer *answer)
{
    struct reading reading = {.code = answer->status, .description = "", .retry_after_s = -1};
    json_t *ok = json_object_get(root, "ok");
    if (!json_is_boolean(ok))
        return reading;
    reading.is_envelope = true;
    reading.is_ok = json_is_true(ok);
    reading.result = json_object_get(root, "result");
    json_t *code = json_object_get(root, "error_code");
    if (!reading.is_ok && json_is_integer(code) && json_integer_value(code) >= 400 &&
        json_integer_value(code) < 600)
        reading.code = (int)json_integer_value(code);
    const char *description = json_string_value(json_object_get(root, "description"));
    reading.description = description == NULL ? "" : description;
    json_t *parameters = json_object_get(root, "parameters");
    json_t *retry_after = json_object_get(parameters, "retry_after");
    if (json_is_integer(retry_after) && json_integer_value(retry_after) >= 0)
        reading.retry_after_s = json_integer_value(retry_after);
    reading.migrate_to = json_integer_value(json_object_get(parameters, "migrate_to_chat_id"));
    return reading;
}

static bool says(const struct reading *reading, const char *words)
{
    return strcasestr(reading->description, words) != NULL;
}

static bool says_one_of(const struct reading *reading, const char *const *words)
{
    for (; *words != NULL; words++)
        if (says(reading, *words))
            return true;
    return false;
}

static uint32_t wait_ms(const struct reading *reading, const struct sma_net_answer *answer)
{
    bool is_limit = reading->code == 429;
    int64_t said_ms = answer->retry_after_ms;
    if (reading->retry_after_s >= 0)
        said_ms = reading->retry_after_s > INT32_MAX ? INT64_MAX : reading->retry_after_s * 1000;
    uint32_t ms = sma_adapter_wait_ms(said_ms, 1000, is_limit);
    return ms < 1000 ? 1000 : ms;
}

/* -- successes --------------------------------------------------------------------------------- */
static void on_success(const struct reading *reading, struct telegram_outcome *outcome)
{
    json_t *message = reading->result;
    if (json_is_array(message))
        message = json_array_get(message, 0);
    json_t *id = json_object_get(message, "message_id");
    classify_as(outcome, SMA_ATTEMPT_SENT);
    if (json_is_integer(id))
        snprintf(outcome->message_id, sizeof outcome->message_id, "%" PRId64,
                 (int64_t)json_integer_value(id));
    outcome->chat_id =
        (int64_t)json_integer_value(json_object_get(json_object_get(message, "chat"), "id"));
    json_t *date = json_object_get(message, "date");
    if (json_is_integer(date) && json_integer_value(date) > 0 &&
        json_integer_value(date) < INT64_MAX / 1000)
        outcome->sent_ms = json_integer_value(date) * 1000;
}

/* -- refusals ---------------------------------------------------------------------------------- */
static void give_up(struct telegram_outcome *outcome, const struct reading *reading,
                    const char *what)
{
    classify_as(outcome, SMA_ATTEMPT_GIVE_UP);
    set_error(outcome, "%s (Telegram: %.*s)", what, DESCRIPTION_BYTES_MAX, reading->description);
}

static void on_bot_refused(const struct reading *reading, struct telegram_outcome *outcome)
{
    classify_as(outcome, SMA_ATTEMPT_RETRY_AFTER);
    outcome->is_adapter_wide = outcome->is_bot_refused = true;
    outcome->retry_after_ms = RETRY_REFUSED_BOT_MS;
    if (reading->code == 401)
        set_error(outcome,
                  "Telegram refuses the bot token (401): it was revoked or is mistyped; set "
                  "adapters.telegram.botToken to the one BotFather shows and restart");
    else
        set_error(outcome,
                  "no Bot API answers there (HTTP %d): check adapters.telegram.botToken and "
                  "adapters.telegram.apiRoot",
                  reading->code);
}

/* Changes, buttons and reactions. @return whether it is about one of these */
static bool on_bad_card(const struct reading *reading, struct telegram_outcome *outcome)
{
    static const char *const no_edit[] = {"message to edit not found", "message can't be edited",
                                          "MESSAGE_ID_INVALID", NULL};
    static const char *const no_target[] = {"message to react not found", "message not found",
                                            NULL};
    static const char *const no_emoji[] = {"REACTION_INVALID", "REACTION_EMPTY",
                                           "REACTIONS_TOO_MANY", NULL};
    static const char *const no_keyboard[] = {"BUTTON_", "inline keyboard", "reply markup", NULL};
    if (says_one_of(reading, no_edit)) {
        give_up(outcome, reading, "the message to edit is gone or too old");
        outcome->is_edit_gone = true;
    } else if (says_one_of(reading, no_target)) {
        give_up(outcome, reading, "the message to react to is gone");
    } else if (says_one_of(reading, no_emoji)) {
        give_up(outcome, reading,
                "this chat does not take that emoji as a reaction; try another one, or say it in "
                "words");
    } else if (says_one_of(reading, no_keyboard)) {
        give_up(outcome, reading, "Telegram did not take the buttons");
        outcome->is_keyboard_refused = true;
    } else {
        return false;
    }
    return true;
}

/* A file that does not go as what it was sent as. @return whether it is about that */
static bool on_bad_kind(const struct reading *reading, struct telegram_outcome *outcome)
{
    static const char *const no_photo[] = {"PHOTO_INVALID_DIMENSIONS",
                                           "PHOTO_SAVE_FILE_INVALID",
                                           "PHOTO_EXT_INVALID",
                                           "IMAGE_PROCESS_FAILED",
                                           "PHOTO_CONTENT_TYPE_INVALID",
                                           "too big for a photo",
                                           NULL};
    static const char *const no_voice[] = {"VOICE_MESSAGES_FORBIDDEN", NULL};
    if (says_one_of(reading, no_photo))
        give_up(outcome, reading, "Telegram does not take this picture as a photo");
    else if (says_one_of(reading, no_voice))
        give_up(outcome, reading, "the user takes no voice messages");
    else
        return false;
    outcome->is_kind_refused = true;
    return true;
}

/* What the descriptions of 400 say, in the order in which they are tried. */
static void on_bad_request(const struct reading *reading, struct telegram_outcome *outcome)
{
    static const char *const no_chat[] = {"chat not found", "PEER_ID_INVALID", "user not found",
                                          NULL};
    static const char *const no_thread[] = {"message thread not found", "TOPIC_DELETED",
                                            "TOPIC_ID_INVALID", NULL};
    static const char *const no_reply[] = {
        "message to be replied not found", "message to reply not found",
        "replied message not found",       "reply message not found",
        "REPLY_MESSAGE_ID_INVALID",        NULL};
    static const char *const markup[] = {"can't parse entities",
                                         "can't parse message text",
                                         "can't parse caption",
                                         "text is too long",
                                         "ENTITY_BOUNDS_INVALID",
                                         "ENTITIES_TOO_LONG",
                                         NULL};
    static const char *const no_right[] = {"not enough rights",
                                           "have no rights",
                                           "CHAT_WRITE_FORBIDDEN",
                                           "CHAT_SEND_",
                                           "need administrator rights",
                                           "CHAT_RESTRICTED",
                                           NULL};
    static const char *const closed[] = {"TOPIC_CLOSED", NULL};
    static const char *const no_fetch[] = {"failed to get HTTP URL content",
                                           "wrong file identifier",
                                           "wrong type of the web page content", "WEBPAGE_", NULL};
    if (reading->migrate_to != 0) {
        classify_as(outcome, SMA_ATTEMPT_RETRY);
        outcome->is_migrated = true;
        outcome->migrate_to = reading->migrate_to;
        set_error(outcome, "the group became supergroup %" PRId64, reading->migrate_to);
    } else if (says(reading, "message is not modified")) {
        classify_as(outcome, SMA_ATTEMPT_SENT);
    } else if (says_one_of(reading, no_reply)) {
        give_up(outcome, reading, "the message to reply to is gone");
        outcome->is_reply_gone = true;
    } else if (on_bad_card(reading, outcome)) {
        return;
    } else if (says_one_of(reading, markup)) {
        give_up(outcome, reading, "Telegram did not take the text's formatting");
        outcome->is_markup_refused = outcome->is_content_refused = true;
    } else if (says_one_of(reading, no_thread)) {
        give_up(outcome, reading, "the topic of this chat was deleted; write from another topic");
        outcome->is_thread_gone = true;
    } else if (says_one_of(reading, closed)) {
        give_up(outcome, reading, "the topic of this chat was closed; write from another topic");
    } else if (on_bad_kind(reading, outcome)) {
        return;
    } else if (says_one_of(reading, no_chat)) {
        give_up(outcome, reading, "Telegram knows no such chat, or the bot was never in it");
    } else if (says_one_of(reading, no_right)) {
        give_up(outcome, reading,
                "the bot may not write in this chat; an administrator of it can allow that");
    } else if (says_one_of(reading, no_fetch)) {
        give_up(outcome, reading, "Telegram could not fetch the file from its address");
        outcome->is_fetch_failed = true;
    } else {
        give_up(outcome, reading, "Telegram refused the message");
        outcome->is_content_refused = true;
    }
}

static void on_forbidden(const struct reading *reading, struct telegram_outcome *outcome)
{
    const char *what = "the bot may not write to this chat";
    if (says(reading, "blocked by the user"))
        what = "the user has blocked the bot";
    else if (says(reading, "deactivated"))
        what = "the user's account no longer exists";
    else if (says(reading, "kicked") || says(reading, "not a member"))
        what = "the bot is no longer a member of this chat; add it again";
    else if (says(reading, "initiate conversation"))
        what = "the user has never written to the bot; bots cannot write first";
    give_up(outcome, reading, what);
}

static void on_server_error(const struct reading *reading, const struct sma_net_answer *answer,
                            struct telegram_outcome *outcome)
{
    bool is_timed = reading->retry_after_s >= 0 || answer->retry_after_ms >= 0;
    classify_as(outcome, SMA_ATTEMPT_UNKNOWN);
    outcome->is_likely_unsent = reading->code != 503;
    if (reading->code == 503) {
        classify_as(outcome, is_timed ? SMA_ATTEMPT_RETRY_AFTER : SMA_ATTEMPT_RETRY);
        outcome->retry_after_ms = is_timed ? wait_ms(reading, answer) : 0;
        set_error(outcome, "Telegram is not available (HTTP 503)");
        return;
    }
    set_error(outcome, "Telegram answered HTTP %d%s%s%.*s", reading->code, reading->doubt,
              reading->description[0] == '\0' ? "" : ": ", DESCRIPTION_BYTES_MAX,
              reading->description);
}

static void on_refusal(const struct reading *reading, const struct sma_net_answer *answer,
                       struct telegram_outcome *outcome)
{
    if (reading->code == 404 && says(reading, "method not found")) {
        give_up(outcome, reading, "this Bot API server does not know the method");
        outcome->is_unsupported = true;
    } else if (reading->code == 401 || reading->code == 404 || reading->code < 400) {
        on_bot_refused(reading, outcome);
    } else if (reading->code == 429) {
        classify_as(outcome, SMA_ATTEMPT_RETRY_AFTER);
        outcome->retry_after_ms = wait_ms(reading, answer);
        set_error(outcome, "Telegram asks to wait %u s before the next message",
                  (outcome->retry_after_ms + 999) / 1000);
    } else if (reading->code == 403) {
        on_forbidden(reading, outcome);
    } else if (reading->code == 409) {
        classify_as(outcome, SMA_ATTEMPT_RETRY);
        set_error(outcome, "Telegram: %.*s", DESCRIPTION_BYTES_MAX, reading->description);
    } else if (reading->code == 413) {
        give_up(outcome, reading,
                "the file is larger than Telegram takes (10 MB a photo, 50 MB others)");
    } else if (reading->code >= 500) {
        on_server_error(reading, answer, outcome);
    } else {
        on_bad_request(reading, outcome);
    }
}

/* -- the whole --------------------------------------------------------------------------------- */
static void on_answer(const struct sma_net_answer *answer, const char *doubt,
                      struct telegram_outcome *outcome)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (sma_json_load(answer->body, &root) != SMA_ERR_OK)
        root = NULL; /* as an answer without words */
    struct reading reading = read_answer(root, answer);
    reading.doubt = doubt;
    bool is_2xx = answer->status >= 200 && answer->status < 300;
    bool is_no_error = reading.code < 400; /* says nothing, or contradicts itself */
    if (is_2xx && reading.is_ok) {
        on_success(&reading, outcome);
    } else if (is_2xx && is_no_error) {
        classify_as(outcome, SMA_ATTEMPT_UNKNOWN);
        set_error(outcome, "Telegram's answer (HTTP %d) could not be read%s", answer->status,
                  doubt);
    } else {
        on_refusal(&reading, answer, outcome);
    }
}

static void classify(const struct sma_net_answer *answer, const char *doubt,
                     struct telegram_outcome *ret_outcome)
{
    struct telegram_outcome outcome = {0};
    const char *error = answer->error == NULL ? "" : answer->error;
    switch (answer->end) {
    case SMA_NET_ANSWERED:
        on_answer(answer, doubt, &outcome);
        break;
    case SMA_NET_NOT_SENT:
        classify_as(&outcome, SMA_ATTEMPT_RETRY);
        set_error(&outcome, "Telegram was not reached: %s", error);
        break;
    case SMA_NET_FILE_FAILED:
        classify_as(&outcome, SMA_ATTEMPT_GIVE_UP);
        set_error(&outcome, "the file could not be read: %s", error);
        break;
    case SMA_NET_TOO_BIG:
    case SMA_NET_UNKNOWN:
    default:
        classify_as(&outcome, SMA_ATTEMPT_UNKNOWN);
        set_error(&outcome, "no whole answer from Telegram%s: %s", doubt, error);
        break;
    }
    *ret_outcome = outcome;
}

void telegram_classify(const struct sma_net_answer *answer, struct telegram_outcome *ret_outcome)
{
    classify(answer, DOUBT, ret_outcome);
}

void telegram_classify_read(const struct sma_net_answer *answer,
                            struct telegram_outcome *ret_outcome)
{
    classify(answer, "", ret_outcome);
}
