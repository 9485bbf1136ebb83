/* qq_codes.c — what answers of QQ's interface mean (adapters/common/verdict.h). Source:
 * protocols/qq.md §1.1, §1.2, §6.3, §6.7, §6.8 (as documented); 40034012, 50056 and 304041 from
 * reports to other programs (as seen: tencent-connect/openclaw-qqbot#83,
 * nonebot/adapter-qq#154). */
#include "qq_code.h"

#include "qq_event.h"
#include "sma/text.h"

#define SEE_APP "check appId and appSecret of adapters.qq"
#define SEE_ROOT "no QQ interface answers there: check adapters.qq.apiRoot"
#define FINAL SMA_ACT_FINAL, 0
#define OWNER SMA_ACT_OWNER, 0
#define RIGHT SMA_ACT_FINAL, SMA_MEND_INSTEAD /* of a file: words may be taken */
#define TOKEN SMA_ACT_RETRY, SMA_MEND_TOKEN
#define ONLY_ANSWER SMA_ACT_FINAL, SMA_MEND_ANSWER /* no message of its own here */
#define WINDOW SMA_ACT_FINAL, SMA_MEND_ACTIVE      /* no answer to this message any more */
#define NO_MARKDOWN SMA_ACT_REFUSED, SMA_MEND_MARKS | SMA_MEND_HOURS
#define NO_BUTTONS SMA_ACT_REFUSED, SMA_MEND_BUTTONS | SMA_MEND_HOURS
/* Buttons or Markdown: where there are buttons, they may be what is refused. */
#define PLAIN_FOR_HOURS SMA_ACT_REFUSED, SMA_MEND_BUTTONS | SMA_MEND_MARKS | SMA_MEND_HOURS

static const struct sma_verdict_row rows[] = {
    {10004, 10004, NULL, OWNER, .words = "the bot does not exist: " SEE_APP},
    {11241, 11241, NULL, TOKEN, .words = "the request carried no token"},
    {11242, 11242, NULL, SMA_ACT_RETRY, 0, .words = "the platform could not check the token"},
    {11243, 11243, NULL, TOKEN, .words = "the access token is wrong"},
    {11244, 11244, NULL, TOKEN, .words = "the access token has ended"},
    {11251, 11251, NULL, OWNER, .words = "the app id is wrong: " SEE_APP},
    {11252, 11252, NULL, SMA_ACT_RETRY, 0,
     .words = "the platform could not check the bot's rights"},
    {11253, 11253, NULL, RIGHT,
     .words = "the bot has no right to this call: apply for it in the console"},
    {11254, 11254, NULL, RIGHT, .words = "the platform has blocked this call for the bot"},
    {11261, 11261, NULL, OWNER, .words = "the app id is wrong: " SEE_APP},
    {11264, 11264, NULL, RIGHT, .words = "the guild has not granted this right to the bot"},
    {11265, 11265, NULL, OWNER, .words = "the bot is banned: see the platform's console"},
    {11275, 11275, NULL, OWNER, .words = "the app id is missing or wrong: " SEE_APP},
    {11281, 11281, NULL, SMA_ACT_RETRY, 0,
     .words = "the platform could not check the bot's rights in the guild"},
    {11282, 11282, NULL, RIGHT, .words = "the bot must be an administrator of the guild for that"},
    {12002, 12002, NULL, SMA_ACT_REFUSED, 0, .words = "the platform could not read the request"},
    {20028, 20028, NULL, SMA_ACT_WAIT_CHAT, 0, .words = "too many messages to this channel",
     .wait_s = 10},
    {22006, 22006, NULL, SMA_ACT_REFUSED, SMA_MEND_MARKS,
     .words = "the kind of message and its content do not match"},
    {22009, 22009, NULL, SMA_ACT_WAIT_CHAT, 0, .words = "no more messages are allowed here now",
     .wait_s = 60, .when = QQ_WHEN_ACTIVE},
    {22009, 22009, NULL, WINDOW, .words = "no more messages are allowed here now"},
    {50001, 50001, NULL, SMA_ACT_RETRY, 0, .words = "the platform had an internal error"},
    {50002, 50002, NULL, SMA_ACT_WAIT_CHAT, 0, .words = "too many messages at once", .wait_s = 10},
    {50006, 50006, NULL, SMA_ACT_REFUSED, 0, .words = "the message is empty"},
    {50056, 50056, NULL, NO_MARKDOWN, .words = "the bot may not send Markdown of its own"},
    {100001, 100001, NULL, SMA_ACT_WAIT, 0, .words = "too many requests"},
    {100007, 100007, NULL, OWNER, .words = "the app id is wrong, or the bot is banned: " SEE_APP},
    {100016, 100016, NULL, OWNER, .words = "app id or secret is wrong: " SEE_APP},
    {304003, 304003, NULL, SMA_ACT_REFUSED, SMA_MEND_LINKS | SMA_MEND_CAPTION,
     .words = "a link's domain is not registered for the bot in the console"},
    {304004, 304004, NULL, PLAIN_FOR_HOURS,
     .words = "the bot has no right to this kind of message"},
    {304006, 304009, NULL, SMA_ACT_RETRY, 0, .words = "the platform had an internal error"},
    {304010, 304010, NULL, SMA_ACT_REFUSED, SMA_MEND_INSTEAD,
     .words = "the platform could not fetch the file from its address"},
    {304016, 304017, NULL, SMA_ACT_RETRY, 0, .words = "the platform could not send it"},
    {304018, 304018, NULL, SMA_ACT_WAIT_ALL, 0, .words = "the bot is not connected to the gateway"},
    {304020, 304021, NULL, SMA_ACT_REFUSED, SMA_MEND_INSTEAD,
     .words = "the file is too large, or could not be fetched"},
    {304022, 304022, NULL, ONLY_ANSWER, .words = "no messages of its own at this hour"},
    {304023, 304024, NULL, SMA_ACT_SENT, 0, .words = "the message waits for audit"},
    {304025, 304025, NULL, SMA_ACT_WORDS, SMA_MEND_CAPTION,
     .words = "the platform refused the content"},
    {304026, 304026, NULL, WINDOW, .words = "the message that is answered is unknown or too old"},
    {304027, 304027, NULL, WINDOW, .words = "the message that is answered is too old"},
    {304028, 304028, NULL, WINDOW, .words = "a message that names somebody else is not answered"},
    {304031, 304034, NULL, FINAL, .words = "the user has closed direct messages"},
    {304035, 304035, NULL, ONLY_ANSWER, .words = "messages to so many channels are not allowed"},
    {304036, 304036, NULL, NO_MARKDOWN, .words = "the bot has no right to send Markdown"},
    {304037, 304037, NULL, NO_BUTTONS, .words = "the bot has no right to send buttons"},
    {304038, 304040, NULL, SMA_ACT_REFUSED, SMA_MEND_BUTTONS, .words = "the buttons were refused"},
    {304041, 304041, NULL, NO_MARKDOWN, .words = "an answer to a message may not be Markdown here"},
    {304045, 304050, NULL, ONLY_ANSWER,
     .words = "the day's messages without a question are used up"},
    {304080, 304080, NULL, SMA_ACT_RETRY, SMA_MEND_UPLOAD,
     .words = "the uploaded file is no longer known"},
    {304082, 304083, NULL, SMA_ACT_RETRY, 0, .words = "the upload failed"},
    {304103, 304103, NULL, WINDOW, .words = "the message that is answered is unknown"},
    {305007, 305007, NULL, SMA_ACT_REFUSED, SMA_MEND_BUTTONS | SMA_MEND_MARKS,
     .words = "the buttons were refused"},
    {610013, 610013, NULL, SMA_ACT_WAIT, 0, .words = "too many requests"},
    {620006, 620006, NULL, SMA_ACT_WAIT, 0, .words = "too many requests"},
    {630006, 630006, NULL, OWNER, .words = "the app id does not match: " SEE_APP},
    {850018, 850018, NULL, SMA_ACT_WAIT_CHAT, 0, .words = "the bot is muted here", .wait_s = 10},
    {850019, 850019, NULL, SMA_ACT_REFUSED, SMA_MEND_INSTEAD,
     .words = "the platform does not take this format of file"},
    {850026, 850026, NULL, SMA_ACT_REFUSED, SMA_MEND_INSTEAD,
     .words = "the platform could not fetch the file from its address"},
    {850027, 850027, NULL, SMA_ACT_RETRY, 0, .words = "the platform was too slow with the file"},
    {850031, 850031, NULL, SMA_ACT_REFUSED, SMA_MEND_INSTEAD, .words = "the file is too large"},
    {1100100, 1100100, NULL, SMA_ACT_WAIT_CHAT, 0,
     .words = "the platform's security check asks to slow down", .wait_s = 10},
    {1100101, 1100101, NULL, SMA_ACT_WORDS, SMA_MEND_CAPTION,
     .words = "the platform's security check refused the content"},
    {1100103, 1100104, NULL, FINAL, .words = "the group no longer exists"},
    {40034004, 40034004, NULL, SMA_ACT_RETRY, 0,
     .words = "the platform could not transfer the file"},
    {40034005, 40034005, NULL, WINDOW,
     .words = "the message that is answered is unknown or too old"},
    {40034006, 40034006, NULL, SMA_ACT_WORDS, SMA_MEND_CAPTION,
     .words = "the platform refused the content"},
    {40034008, 40034011, NULL, SMA_ACT_REFUSED, SMA_MEND_MARKS,
     .words = "the Markdown was refused"},
    {40034012, 40034012, NULL, NO_MARKDOWN, .words = "the bot may not send Markdown of its own"},
    {40034024, 40034024, NULL, WINDOW,
     .words = "the message that is answered is unknown or too old"},
    {40034025, 40034025, NULL, WINDOW, .words = "the event that is answered is unknown"},
    {40034026, 40034026, NULL, WINDOW, .words = "the event that is answered is too old"},
    {40034027, 40034027, NULL, WINDOW, .words = "this event cannot be answered"},
    {40034028, 40034028, NULL, SMA_ACT_REFUSED, SMA_MEND_LINKS | SMA_MEND_CAPTION,
     .words = "links are not allowed in this message"},
    {40034029, 40034029, NULL, SMA_ACT_REFUSED, SMA_MEND_BUTTONS | SMA_MEND_MARKS,
     .words = "the buttons were refused"},
    {40034090, 40034090, NULL, PLAIN_FOR_HOURS,
     .words = "the bot has no right to this kind of message"},
    {40034100, 40034100, NULL, SMA_ACT_WAIT_CHAT, 0,
     .words = "too many messages without a question", .wait_s = 10},
    {40034101, 40034101, NULL, FINAL, .words = "the bot is not in this group: add it again"},
    {40034102, 40034102, NULL, ONLY_ANSWER, .words = "the bot may only answer, not write first"},
    {40034105, 40034105, NULL, ONLY_ANSWER, .words = "the bot may only answer, not write first"},
    {40034122, 40034122, NULL, ONLY_ANSWER,
     .words = "the wake-up message of this period is used up"},
    {40034123, 40034123, NULL, ONLY_ANSWER, .words = "no wake-up message is possible"},
    {40034124, 40034124, NULL, SMA_ACT_REFUSED, SMA_MEND_MARKS,
     .words = "the Markdown was refused"},
    {40034127, 40034127, NULL, PLAIN_FOR_HOURS,
     .words = "the bot has no right to this kind of message"},
    {40034128, 40034128, NULL, WINDOW,
     .words = "the time or the number of answers to this message is used up"},
    {40054002, 40054002, NULL, SMA_ACT_WAIT_CHAT, 0, .words = "the bot is muted here",
     .wait_s = 10},
    {40054003, 40054003, NULL, FINAL, .words = "the bot is not in this group: add it again"},
    {40054004, 40054004, NULL, FINAL, .words = "the user has removed the bot"},
    {40054005, 40054005, NULL, SMA_ACT_SENT, 0, .when = QQ_WHEN_REPEAT},
    {40054005, 40054005, NULL, SMA_ACT_FINAL, SMA_MEND_KEY,
     .words = "the number of this answer was used before"},
    {40054007, 40054007, NULL, SMA_ACT_REFUSED, SMA_MEND_CUT | SMA_MEND_CAPTION,
     .words = "the message is too long"},
    {40054010, 40054010, NULL, SMA_ACT_REFUSED, SMA_MEND_LINKS | SMA_MEND_CAPTION,
     .words = "links are not allowed: register their domain in the console"},
    {40054013, 40054013, NULL, FINAL, .words = "the user has switched off the bot's messages"},
    {40054016, 40054016, NULL, OWNER,
     .words = "the bot is offline on the platform: see its console"},
    {40054018, 40054018, NULL, SMA_ACT_REFUSED, SMA_MEND_CUT | SMA_MEND_CAPTION,
     .words = "the message is too long"},
    {40093001, 40093001, NULL, SMA_ACT_RETRY, 0, .words = "the platform asks to try again"},
    {40093002, 40093002, NULL, SMA_ACT_REFUSED, SMA_MEND_INSTEAD,
     .words = "the day's volume of files is used up"},
    {50055001, 50055002, NULL, SMA_ACT_RETRY, 0, .words = "the platform could not send it"},
    {50055006, 50055006, NULL, SMA_ACT_RETRY, 0, .words = "the platform could not send it"},
    {300, 399, NULL, OWNER, .words = SEE_ROOT},
    {401, 401, NULL, TOKEN, .when = 0},
    {404, 405, NULL, OWNER, .words = SEE_ROOT},
};

struct qq_reply qq_reply_read(const struct sma_net_answer *answer)
{
    struct qq_reply reply = {0};
    json_t *root = NULL;
    if (answer->end != SMA_NET_ANSWERED || sma_json_load(answer->body, &root) != SMA_ERR_OK)
        return reply;
    if (!json_is_object(root)) {
        json_decref(root);
        return reply;
    }
    reply.root = root;
    int64_t code = sma_json_int(root, "code", INT64_MIN, INT64_MAX, 0);
    reply.code = sma_json_int(root, "err_code", INT64_MIN, INT64_MAX, code);
    if (reply.code == 0)
        reply.code = code;
    return reply;
}

static void read_said(const json_t *root, const struct sma_net_answer *answer,
                      struct sma_said *said)
{
    struct qq_reply reply = qq_reply_read(answer);
    json_decref(reply.root);
    said->is_silent = !json_is_object(root);
    said->code = reply.code;
    said->is_success = said->code == 0 && (!said->is_silent || sma_str_trim(answer->body).len == 0);
    said->words = sma_json_str(root, "message");
    said->trace = sma_json_str(root, "trace_id");
    if (said->trace.len == 0)
        said->trace = answer->log_id;
}

static void note_sent(const json_t *root, struct sma_answered *answered)
{
    const json_t *audit = sma_json_get(sma_json_get(root, "data"), "message_audit");
    bool is_audit = answered->code == 304023 || answered->code == 304024;
    sma_verdict_copy(answered->message_id, sizeof answered->message_id,
                     is_audit ? sma_json_str(audit, "audit_id") : sma_json_str(root, "id"));
    /* c2c and groups name no chat; what a channel answers is the message with its channel */
    sma_verdict_copy(answered->chat_id, sizeof answered->chat_id, sma_json_str(root, "channel_id"));
    if (answered->message_id[0] == '\0')
        return;
    sma_verdict_copy(answered->reply_id, sizeof answered->reply_id,
                     sma_json_str(sma_json_get(root, "ext_info"), "ref_idx"));
    answered->sent_ms = qq_timestamp_ms(root);
}

const struct sma_verdicts qq_verdicts = {
    .platform = "QQ",
    .trace = "trace",
    .rows = rows,
    .count = SMA_COUNT_OF(rows),
    .is_busy_wide = true,
    .read = read_said,
    .note = note_sent,
};
