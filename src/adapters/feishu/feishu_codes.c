/* feishu_codes.c — what answers of the REST interface mean (adapters/common/verdict.h). Source:
 * protocols/feishu.md §3, §9.6 (as documented). */
#include "feishu_code.h"

/* One code, or one code after another. */
#define ONE(code) (code), (code), NULL
#define SEE_CONSOLE "grant it in the developer console and release a version"
#define SEE_SECRET "app id or app secret is wrong: check adapters.feishu"
#define CHAT SMA_ACT_FINAL, 0
#define SCOPE SMA_ACT_FINAL, SMA_MEND_TELL_OWNER | SMA_MEND_INSTEAD /* of a file: words may go */
#define REPLY SMA_ACT_REFUSED, SMA_MEND_REPLY
#define BUSY SMA_ACT_UNKNOWN, 0 /* the uuid makes a repeat harmless */
#define TOKEN SMA_ACT_RETRY, SMA_MEND_TOKEN

static const struct sma_verdict_row rows[] = {
    {ONE(1), BUSY, .words = "the platform is busy"},
    {ONE(403), CHAT,
     .words = "forbidden: choose the long connection as the way to receive events in the developer "
              "console"},
    {ONE(514), CHAT, .words = SEE_SECRET},
    {ONE(10003), CHAT, .words = SEE_SECRET},
    {ONE(10014), CHAT, .words = SEE_SECRET},
    {ONE(1000040343), BUSY, .words = "the platform had an internal error"},
    {ONE(1000040344), CHAT,
     .words = "no credentials arrived: check appId and appSecret of adapters.feishu"},
    {ONE(1000040350), CHAT,
     .words = "too many connections of this app: stop other programs that use it"},
    {ONE(99991400), SMA_ACT_WAIT, 0, .words = "too many requests"},
    {ONE(99991543), CHAT, .words = SEE_SECRET},
    {ONE(99991661), TOKEN, .words = "the request carried no token"},
    {ONE(99991662), SCOPE, .words = "the app is disabled: enable it in the developer console"},
    {99991663, 99991664, NULL, TOKEN, .words = "the token has ended"},
    {ONE(99991671), TOKEN, .words = "the token is malformed"},
    {ONE(99991672), SCOPE, .words = "the app lacks a permission: " SEE_CONSOLE},
    {ONE(99991673), SCOPE,
     .words = "the app cannot be used in this organisation: release a version for it"},
    {ONE(99991676), SCOPE, .words = "the token lacks a permission: " SEE_CONSOLE},
    {ONE(99991679), SCOPE, .words = "a permission is missing: " SEE_CONSOLE},
    {ONE(230001), REPLY, .words = "a parameter is wrong"},
    {ONE(230002), CHAT, .words = "the bot is not in this chat: add it again"},
    {ONE(230006), SCOPE,
     .words = "the app has no bot: enable the bot ability in the developer console"},
    {ONE(230011), REPLY, .words = "the message replied to was recalled"},
    {ONE(230013), CHAT,
     .words = "the user is outside the app's availability: widen it in the developer console"},
    {ONE(230015), CHAT, .words = "the group's settings forbid it"},
    {ONE(230017), REPLY, .words = "the bot does not own this resource"},
    {ONE(230018), CHAT, .words = "the group's settings forbid it"},
    {ONE(230019), REPLY, .words = "the topic does not exist any more"},
    {ONE(230020), SMA_ACT_WAIT_CHAT, 0, .words = "too many messages to this chat"},
    {ONE(230022), SMA_ACT_WORDS, 0, .words = "the platform found sensitive content"},
    {ONE(230025), SMA_ACT_REFUSED, SMA_MEND_CUT, .words = "the message is too long"},
    {ONE(230027), SCOPE, .words = "the app lacks a permission: " SEE_CONSOLE},
    {ONE(230028), SMA_ACT_WORDS, 0, .words = "the organisation's content audit refused it"},
    {ONE(230029), CHAT, .words = "the user has left the organisation"},
    {ONE(230031), REPLY, .words = "the message is too old to be changed"},
    {ONE(230034), CHAT, .words = "the chat does not exist"},
    {ONE(230035), CHAT, .words = "sending is denied"},
    {ONE(230038), CHAT, .words = "direct messages to other organisations are not allowed"},
    {ONE(230049), SMA_ACT_WAIT_CHAT, 0, .words = "the message is still being sent"},
    {ONE(230053), CHAT, .words = "the user has stopped the bot"},
    {ONE(230054), REPLY, .words = "this kind of message does not allow it"},
    {ONE(230055), REPLY, .words = "the file does not fit its kind of message"},
    {ONE(230099), SMA_ACT_REFUSED, SMA_MEND_MARKS, .words = "the card was refused"},
    {ONE(231001), SMA_ACT_FINAL, 0, .words = "this reaction does not exist"},
    {ONE(231003), REPLY, .words = "the message was deleted"},
    {ONE(232009), CHAT, .words = "the group was dissolved"},
    {ONE(234001), REPLY, .words = "a parameter of the file is wrong"},
    {ONE(234002), SCOPE,
     .words = "the app may not read or write files: grant the permission in the developer console"},
    {ONE(234008), REPLY, .words = "the file belongs to another app"},
    {ONE(234043), REPLY, .words = "files of this kind of message cannot be fetched"},
    {300, 399, NULL, BUSY, .when = 0},
    {500, 599, NULL, BUSY, .when = 0},
    /* unknown ones may be about what was replied to, too: nobody lists all of these */
    {600, INT64_MAX, NULL, REPLY, .when = 0},
};

bool feishu_is_elsewhere(const struct sma_answered *answered, struct sma_str chat_id)
{
    return answered->attempt_class == SMA_ATTEMPT_SENT && answered->chat_id[0] != '\0' &&
           !sma_str_is_equal(sma_str(answered->chat_id), chat_id);
}

struct feishu_reply feishu_reply_read(const struct sma_net_answer *answer)
{
    struct feishu_reply reply = {.code = -1};
    json_t *root = NULL;
    if (answer->end != SMA_NET_ANSWERED || sma_json_load(answer->body, &root) != SMA_ERR_OK)
        return reply;
    if (!json_is_object(root)) {
        json_decref(root);
        return reply;
    }
    reply.root = root;
    reply.code = sma_json_int(root, "code", 0, INT64_MAX, -1);
    return reply;
}

static void read_said(const json_t *root, const struct sma_net_answer *answer,
                      struct sma_said *said)
{
    int64_t code = sma_json_int(root, "code", 0, INT64_MAX, -1);
    bool is_telling = code > 0 && answer->status < 500 && answer->status != 429;
    said->is_silent = code < 0;
    said->is_success = code == 0;
    said->code = is_telling ? code : 0;
    said->words = sma_json_str(root, "msg");
    said->trace = answer->log_id;
}

static void note_sent(const json_t *root, struct sma_answered *answered)
{
    const json_t *data = sma_json_get(root, "data");
    struct sma_str id = sma_json_str(data, "message_id");
    if (id.len <= FEISHU_MESSAGE_ID_BYTES_MAX)
        sma_verdict_copy(answered->message_id, sizeof answered->message_id, id);
    sma_verdict_copy(answered->chat_id, sizeof answered->chat_id, sma_json_str(data, "chat_id"));
    answered->sent_ms = feishu_raw_time_ms(data, "create_time");
}

const struct sma_verdicts feishu_verdicts = {
    .platform = "Feishu",
    .trace = "log id",
    .rows = rows,
    .count = SMA_COUNT_OF(rows),
    .read = read_said,
    .note = note_sent,
};
