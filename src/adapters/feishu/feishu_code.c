/* feishu_code.c — see feishu_code.h. */
#include "feishu_code.h"

#include <inttypes.h>
#include <stdio.h>

#include "sma/text.h"

#define MSG_BYTES_MAX 96
#define LOG_ID_BYTES_MAX 48

static const struct feishu_code codes[] = {
    {1, FEISHU_CODE_BUSY, "the platform is busy"},
    {403, FEISHU_CODE_CHAT,
     "forbidden: choose the long connection as the way to receive events in the developer console"},
    {514, FEISHU_CODE_CHAT, "app id or app secret is wrong: check adapters.feishu"},
    {10003, FEISHU_CODE_CHAT, "app id or app secret is wrong: check adapters.feishu"},
    {10014, FEISHU_CODE_CHAT, "app id or app secret is wrong: check adapters.feishu"},
    {1000040343, FEISHU_CODE_BUSY, "the platform had an internal error"},
    {1000040344, FEISHU_CODE_CHAT,
     "no credentials arrived: check appId and appSecret of adapters.feishu"},
    {1000040350, FEISHU_CODE_CHAT,
     "too many connections of this app: stop other programs that use it"},
    {99991400, FEISHU_CODE_RATE, "too many requests"},
    {99991543, FEISHU_CODE_CHAT, "app id or app secret is wrong: check adapters.feishu"},
    {99991661, FEISHU_CODE_TOKEN, "the request carried no token"},
    {99991662, FEISHU_CODE_SCOPE, "the app is disabled: enable it in the developer console"},
    {99991663, FEISHU_CODE_TOKEN, "the token has ended"},
    {99991664, FEISHU_CODE_TOKEN, "the token has ended"},
    {99991671, FEISHU_CODE_TOKEN, "the token is malformed"},
    {99991672, FEISHU_CODE_SCOPE,
     "the app lacks a permission: grant it in the developer console and release a version"},
    {99991673, FEISHU_CODE_SCOPE,
     "the app cannot be used in this organisation: release a version for it"},
    {99991676, FEISHU_CODE_SCOPE,
     "the token lacks a permission: grant it in the developer console and release a version"},
    {99991679, FEISHU_CODE_SCOPE,
     "a permission is missing: grant it in the developer console and release a version"},
    {230001, FEISHU_CODE_GIVE_UP, "a parameter is wrong"},
    {230002, FEISHU_CODE_CHAT, "the bot is not in this chat: add it again"},
    {230006, FEISHU_CODE_SCOPE,
     "the app has no bot: enable the bot ability in the developer console"},
    {230011, FEISHU_CODE_NO_REPLY, "the message replied to was recalled"},
    {230013, FEISHU_CODE_CHAT,
     "the user is outside the app's availability: widen it in the developer console"},
    {230015, FEISHU_CODE_CHAT, "the group's settings forbid it"},
    {230017, FEISHU_CODE_GIVE_UP, "the bot does not own this resource"},
    {230018, FEISHU_CODE_CHAT, "the group's settings forbid it"},
    {230019, FEISHU_CODE_GIVE_UP, "the topic does not exist any more"},
    {230020, FEISHU_CODE_RATE_CHAT, "too many messages to this chat"},
    {230022, FEISHU_CODE_CONTENT, "the platform found sensitive content"},
    {230025, FEISHU_CODE_LONG, "the message is too long"},
    {230027, FEISHU_CODE_SCOPE,
     "the app lacks a permission: grant it in the developer console and release a version"},
    {230028, FEISHU_CODE_CONTENT, "the organisation's content audit refused it"},
    {230029, FEISHU_CODE_CHAT, "the user has left the organisation"},
    {230031, FEISHU_CODE_GIVE_UP, "the message is too old to be changed"},
    {230034, FEISHU_CODE_CHAT, "the chat does not exist"},
    {230035, FEISHU_CODE_CHAT, "sending is denied"},
    {230038, FEISHU_CODE_CHAT, "direct messages to other organisations are not allowed"},
    {230049, FEISHU_CODE_SOON, "the message is still being sent"},
    {230053, FEISHU_CODE_CHAT, "the user has stopped the bot"},
    {230054, FEISHU_CODE_GIVE_UP, "this kind of message does not allow it"},
    {230055, FEISHU_CODE_GIVE_UP, "the file does not fit its kind of message"},
    {230099, FEISHU_CODE_NO_CARD, "the card was refused"},
    {231001, FEISHU_CODE_GIVE_UP, "this reaction does not exist"},
    {231003, FEISHU_CODE_NO_REPLY, "the message was deleted"},
    {232009, FEISHU_CODE_CHAT, "the group was dissolved"},
    {234001, FEISHU_CODE_GIVE_UP, "a parameter of the file is wrong"},
    {234002, FEISHU_CODE_SCOPE,
     "the app may not read or write files: grant the permission in the developer console"},
    {234008, FEISHU_CODE_GIVE_UP, "the file belongs to another app"},
    {234043, FEISHU_CODE_GIVE_UP, "files of this kind of message cannot be fetched"},
};

const struct feishu_code *feishu_code_find(int64_t code)
{
    static const struct feishu_code unknown = {0, FEISHU_CODE_GIVE_UP, ""};
    for (size_t i = 0; i < SMA_COUNT_OF(codes); i++) {
        if (codes[i].code == code)
            return &codes[i];
    }
    return &unknown;
}

struct feishu_reply feishu_reply_read(const struct sma_net_answer *answer)
{
    struct feishu_reply reply = {.code = -1, .msg = {"", 0}};
    json_t *root = NULL;
    if (answer->end != SMA_NET_ANSWERED || sma_json_load(answer->body, &root) != SMA_ERR_OK)
        return reply;
    if (!json_is_object(root)) {
        json_decref(root);
        return reply;
    }
    reply.root = root;
    reply.code = sma_json_int(root, "code", 0, INT64_MAX, -1);
    reply.msg = sma_json_str(root, "msg");
    return reply;
}

static void put_line(struct sma_buf *buf, struct sma_str text, size_t max)
{
    text.len = sma_utf8_cut(text, max);
    for (size_t i = 0; i < text.len; i++)
        sma_buf_put_char(buf, (unsigned char)text.ptr[i] < 0x20 ? ' ' : text.ptr[i]);
}

void feishu_reply_explain(const char *what, const struct sma_net_answer *answer,
                          const struct feishu_reply *reply, char *text, size_t text_size)
{
    const struct feishu_code *code = feishu_code_find(reply->code);
    struct sma_buf line;
    sma_buf_init(&line, 1024);
    sma_buf_printf(&line, "%s failed", what);
    if (answer->end != SMA_NET_ANSWERED) {
        sma_buf_put_text(&line, ": ");
        put_line(&line, sma_str(answer->error), 2 * MSG_BYTES_MAX);
    } else {
        if (code->words[0] != '\0')
            sma_buf_printf(&line, ": %s", code->words);
        sma_buf_put_text(&line, " (");
        if (reply->code >= 0)
            sma_buf_printf(&line, "code %" PRId64 ": ", reply->code);
        put_line(&line, reply->msg, MSG_BYTES_MAX);
        sma_buf_printf(&line, "%sHTTP %d", reply->msg.len > 0 ? "; " : "", answer->status);
        if (answer->log_id.len > 0) {
            sma_buf_put_text(&line, "; log id ");
            put_line(&line, answer->log_id, LOG_ID_BYTES_MAX);
        }
        sma_buf_put_char(&line, ')');
    }
    size_t len = line.err == SMA_ERR_OK ? sma_utf8_cut(sma_buf_str(&line), text_size - 1) : 0;
    if (len > 0)
        memcpy(text, line.ptr, len);
    else
        len = (size_t)snprintf(text, text_size, "%s failed", what);
    text[len < text_size ? len : text_size - 1] = '\0';
    sma_buf_fini(&line);
}
