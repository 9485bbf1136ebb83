/* telegram_codes.c — what answers of the Bot API mean (adapters/common/verdict.h). */
#include "telegram_out.h"

#include "runtime/json/json_read.h"

#include <jansson.h>
#include <stdio.h>

#define NO_API \
    "no Bot API answers there: check adapters.telegram.botToken and adapters.telegram.apiRoot"

#define NO_RIGHT "the bot may not write in this chat; an administrator of it can allow that"
#define NO_RIGHT_TO "an administrator of this chat has not allowed the bot to send "

/* In the order in which they are tried. Source: Bot API (as documented); the error vectors of
 * tests/golden/telegram and reports of its users (as seen). */
static const struct sma_verdict_row rows[] = {
    {404, 404, "method not found", SMA_ACT_FINAL, SMA_MEND_METHOD,
     .words = "this Bot API server does not know the method"},
    {401, 401, NULL, SMA_ACT_OWNER, 0,
     .words = "Telegram refuses the bot token (401): it was revoked or is mistyped; set "
              "adapters.telegram.botToken to the one BotFather shows and restart"},
    {404, 404, NULL, SMA_ACT_OWNER, 0, .words = NO_API},
    {0, 399, NULL, SMA_ACT_OWNER, 0, .words = NO_API},
    {409, 409, NULL, SMA_ACT_RETRY, 0, .when = 0},
    {413, 413, NULL, SMA_ACT_REFUSED, SMA_MEND_CUT | SMA_MEND_INSTEAD,
     .words = "it is larger than Telegram takes (10 MB a photo, 50 MB others)"},
    {403, 403, "blocked by the user", SMA_ACT_FINAL, 0, .words = "the user has blocked the bot"},
    {403, 403, "deactivated", SMA_ACT_FINAL, 0, .words = "the user's account no longer exists"},
    {403, 403, "kicked|not a member", SMA_ACT_FINAL, 0,
     .words = "the bot is no longer a member of this chat; add it again"},
    {403, 403, "initiate conversation", SMA_ACT_FINAL, 0,
     .words = "the user has never written to the bot; bots cannot write first"},
    {400, 499, "message is not modified", SMA_ACT_SENT, 0, .when = 0},
    {400, 499,
     "message to be replied not found|message to reply not found|replied message not found|reply "
     "message not found|REPLY_MESSAGE_ID_INVALID",
     SMA_ACT_REFUSED, SMA_MEND_REPLY, .words = "the message to reply to is gone"},
    {400, 499, "message to edit not found|message can't be edited|MESSAGE_ID_INVALID",
     SMA_ACT_REFUSED, SMA_MEND_EDIT, .words = "the message to edit is gone or too old"},
    {400, 499, "message to react not found|message not found", SMA_ACT_REFUSED, 0,
     .words = "the message to react to is gone"},
    {400, 499, "REACTION_INVALID|REACTION_EMPTY|REACTIONS_TOO_MANY", SMA_ACT_FINAL, 0,
     .words =
         "this chat does not take that emoji as a reaction; try another one, or say it in words"},
    {400, 499, "BUTTON_|inline keyboard|reply markup", SMA_ACT_REFUSED, SMA_MEND_BUTTONS,
     .words = "Telegram did not take the buttons"},
    {400, 499, "message is too long|MESSAGE_TOO_LONG|text is too long", SMA_ACT_REFUSED,
     SMA_MEND_CUT, .words = "Telegram found the message too long"},
    {400, 499, "caption is too long|MEDIA_CAPTION_TOO_LONG", SMA_ACT_REFUSED, SMA_MEND_CAPTION,
     .words = "Telegram found the caption too long"},
    {400, 499,
     "can't parse entities|can't parse message text|can't parse caption|ENTITY_|ENTITIES_TOO_LONG|"
     "wrong HTTP URL|URL host is empty",
     SMA_ACT_REFUSED, SMA_MEND_MARKS, .words = "Telegram did not take the text's formatting"},
    {400, 499, "thread not found|TOPIC_DELETED|TOPIC_ID_INVALID", SMA_ACT_FINAL, SMA_MEND_THREAD,
     .words = "the topic of this chat was deleted; write from another topic"},
    {400, 499, "TOPIC_CLOSED|topic is closed|topic closed", SMA_ACT_FINAL, SMA_MEND_THREAD,
     .words = "the topic of this chat was closed; write from another topic"},
    {400, 499,
     "PHOTO_INVALID_DIMENSIONS|PHOTO_SAVE_FILE_INVALID|PHOTO_EXT_INVALID|IMAGE_PROCESS_FAILED|"
     "PHOTO_CONTENT_TYPE_INVALID|too big for a photo",
     SMA_ACT_REFUSED, SMA_MEND_KIND, .words = "Telegram does not take this picture as a photo"},
    {400, 499, "VOICE_MESSAGES_FORBIDDEN", SMA_ACT_REFUSED, SMA_MEND_KIND,
     .words = "the user takes no voice messages"},
    {400, 499, "chat not found|PEER_ID_INVALID|user not found", SMA_ACT_FINAL, 0,
     .words = "Telegram knows no such chat, or the bot was never in it"},
    /* A right to one form is none to the others: what is plainer is tried. */
    {400, 499,
     "CHAT_SEND_WEBPAGE|CHAT_SEND_EMBED|send web page|send previews|send link|add web page",
     SMA_ACT_REFUSED, SMA_MEND_LINKS | SMA_MEND_CAPTION, .words = NO_RIGHT_TO "links"},
    {400, 499, "CHAT_SEND_INLINE|send inline|via inline", SMA_ACT_REFUSED, SMA_MEND_BUTTONS,
     .words = NO_RIGHT_TO "buttons"},
    {400, 499, "CHAT_SEND_PLAIN|send text messages", SMA_ACT_FINAL,
     SMA_MEND_CAPTION | SMA_MEND_FILE, .words = NO_RIGHT_TO "text"},
    {400, 499, "CHAT_SEND_|rights to send ", SMA_ACT_FINAL,
     SMA_MEND_REPLY | SMA_MEND_KIND | SMA_MEND_INSTEAD,
     .words = NO_RIGHT_TO "this kind of message"},
    {400, 499,
     "not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|need administrator "
     "rights|CHAT_RESTRICTED",
     SMA_ACT_FINAL, SMA_MEND_KIND | SMA_MEND_INSTEAD, .words = NO_RIGHT},
    {403, 403, NULL, SMA_ACT_FINAL, SMA_MEND_INSTEAD, .words = NO_RIGHT},
    {400, 499,
     "failed to get HTTP URL content|wrong file identifier|wrong type of the web page "
     "content|WEBPAGE_",
     SMA_ACT_REFUSED, SMA_MEND_INSTEAD,
     .words = "Telegram could not fetch the file from its address"},
    {500, 502, NULL, SMA_ACT_LIKELY_UNSENT, 0, .when = 0},
    {504, 599, NULL, SMA_ACT_LIKELY_UNSENT, 0, .when = 0},
};

static void read_said(const json_t *root, const struct sma_net_answer *answer,
                      struct sma_said *said)
{
    const json_t *parameters = sma_json_get(root, "parameters"), *ok = sma_json_get(root, "ok");
    int64_t retry_s = sma_json_int(parameters, "retry_after", 0, INT64_MAX, -1);
    if (!json_is_boolean(ok)) {
        said->is_silent = true;
        return;
    }
    said->is_success = json_is_true(ok);
    said->words = sma_json_str(root, "description");
    said->code = said->is_success ? 0 : sma_json_int(root, "error_code", 400, 599, 0);
    said->retry_ms = retry_s > INT32_MAX ? INT64_MAX : retry_s < 0 ? -1 : retry_s * 1000;
    if ((said->code != 0 ? said->code : answer->status) == 400)
        said->moved_to = sma_json_int(parameters, "migrate_to_chat_id", INT64_MIN, INT64_MAX, 0);
}

static void note_sent(const json_t *root, struct sma_answered *answered)
{
    const json_t *message = sma_json_get(root, "result");
    if (json_is_array(message))
        message = json_array_get(message, 0);
    int64_t id = sma_json_int(message, "message_id", INT64_MIN, INT64_MAX, -1);
    int64_t chat_id = sma_json_int(sma_json_get(message, "chat"), "id", INT64_MIN, INT64_MAX, 0);
    if (id != -1)
        snprintf(answered->message_id, sizeof answered->message_id, "%lld", (long long)id);
    if (chat_id != 0)
        snprintf(answered->chat_id, sizeof answered->chat_id, "%lld", (long long)chat_id);
    answered->sent_ms = sma_json_int(message, "date", 1, INT64_MAX / 1000 - 1, 0) * 1000;
}

const struct sma_verdicts telegram_verdicts = {
    .platform = "Telegram",
    .doubt = "; whether the message arrived is unknown",
    .rows = rows,
    .count = SMA_COUNT_OF(rows),
    .read = read_said,
    .note = note_sent,
};
