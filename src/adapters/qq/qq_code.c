/* qq_code.c — see qq_code.h. */
#include "qq_code.h"

#include <inttypes.h>

#include "sma/text.h"

#define MESSAGE_BYTES_MAX 96
#define TRACE_BYTES_MAX 48

#define SEE_APP "check appId and appSecret of adapters.qq"

static const struct qq_code codes[] = {
    {10004, QQ_CODE_BOT, "the bot does not exist: " SEE_APP},
    {11241, QQ_CODE_TOKEN, "the request carried no token"},
    {11242, QQ_CODE_AGAIN, "the platform could not check the token"},
    {11243, QQ_CODE_TOKEN, "the access token is wrong"},
    {11244, QQ_CODE_TOKEN, "the access token has ended"},
    {11251, QQ_CODE_BOT, "the app id is wrong: " SEE_APP},
    {11252, QQ_CODE_AGAIN, "the platform could not check the bot's rights"},
    {11253, QQ_CODE_GIVE_UP, "the bot has no right to this call: apply for it in the console"},
    {11254, QQ_CODE_GIVE_UP, "the platform has blocked this call for the bot"},
    {11261, QQ_CODE_BOT, "the app id is wrong: " SEE_APP},
    {11264, QQ_CODE_GIVE_UP, "the guild has not granted this right to the bot"},
    {11265, QQ_CODE_BOT, "the bot is banned: see the platform's console"},
    {11275, QQ_CODE_BOT, "the app id is missing or wrong: " SEE_APP},
    {11281, QQ_CODE_AGAIN, "the platform could not check the bot's rights in the guild"},
    {11282, QQ_CODE_GIVE_UP, "the bot must be an administrator of the guild for that"},
    {12002, QQ_CODE_GIVE_UP, "the platform could not read the request"},
    {20028, QQ_CODE_RATE_CHAT, "too many messages to this channel"},
    {22006, QQ_CODE_PLAIN, "the kind of message and its content do not match"},
    {22009, QQ_CODE_QUOTA, "no more messages are allowed here now"},
    {50001, QQ_CODE_AGAIN, "the platform had an internal error"},
    {50002, QQ_CODE_RATE_CHAT, "too many messages at once"},
    {50006, QQ_CODE_GIVE_UP, "the message is empty"},
    {100001, QQ_CODE_RATE, "too many requests"},
    {100007, QQ_CODE_BOT, "the app id is wrong, or the bot is banned: " SEE_APP},
    {100016, QQ_CODE_BOT, "app id or secret is wrong: " SEE_APP},
    {304003, QQ_CODE_LINK, "a link's domain is not registered for the bot in the console"},
    {304004, QQ_CODE_PLAIN, "the bot has no right to this kind of message"},
    {304018, QQ_CODE_OFFLINE, "the bot is not connected to the gateway"},
    {304023, QQ_CODE_AUDIT, "the message waits for audit"},
    {304024, QQ_CODE_AUDIT, "the message waits for audit"},
    {304026, QQ_CODE_WINDOW, "the message that is answered is unknown or too old"},
    {304027, QQ_CODE_WINDOW, "the message that is answered is too old"},
    {304036, QQ_CODE_PLAIN, "the bot has no right to send Markdown"},
    {304037, QQ_CODE_PLAIN, "the bot has no right to send buttons"},
    {304045, QQ_CODE_ACTIVE, "the day's messages without a question are used up"},
    {304046, QQ_CODE_ACTIVE, "the day's messages without a question are used up"},
    {304047, QQ_CODE_ACTIVE, "the day's messages without a question are used up"},
    {304048, QQ_CODE_ACTIVE, "the day's messages without a question are used up"},
    {304049, QQ_CODE_ACTIVE, "the day's messages without a question are used up"},
    {304050, QQ_CODE_ACTIVE, "the day's messages without a question are used up"},
    {304080, QQ_CODE_FILE, "the uploaded file is no longer known"},
    {304082, QQ_CODE_AGAIN, "the upload failed"},
    {304083, QQ_CODE_AGAIN, "the upload failed"},
    {304103, QQ_CODE_WINDOW, "the message that is answered is unknown"},
    {305007, QQ_CODE_PLAIN, "the buttons were refused"},
    {610013, QQ_CODE_RATE, "too many requests"},
    {620006, QQ_CODE_RATE, "too many requests"},
    {630006, QQ_CODE_BOT, "the app id does not match: " SEE_APP},
    {850018, QQ_CODE_RATE_CHAT, "the bot is muted here"},
    {850019, QQ_CODE_GIVE_UP, "the platform does not take this format of file"},
    {850026, QQ_CODE_GIVE_UP, "the platform could not fetch the file from its address"},
    {850027, QQ_CODE_AGAIN, "the platform was too slow with the file"},
    {850031, QQ_CODE_GIVE_UP, "the file is too large"},
    {1100100, QQ_CODE_RATE_CHAT, "the platform's security check asks to slow down"},
    {1100101, QQ_CODE_CONTENT, "the platform's security check refused the content"},
    {1100103, QQ_CODE_CHAT, "the group no longer exists"},
    {1100104, QQ_CODE_CHAT, "the group no longer exists"},
    {40034004, QQ_CODE_AGAIN, "the platform could not transfer the file"},
    {40034005, QQ_CODE_WINDOW, "the message that is answered is unknown or too old"},
    {40034006, QQ_CODE_CONTENT, "the platform refused the content"},
    {40034008, QQ_CODE_PLAIN, "the Markdown was refused"},
    {40034009, QQ_CODE_PLAIN, "the Markdown was refused"},
    {40034010, QQ_CODE_PLAIN, "the Markdown was refused"},
    {40034011, QQ_CODE_PLAIN, "the Markdown was refused"},
    {40034024, QQ_CODE_WINDOW, "the message that is answered is unknown or too old"},
    {40034025, QQ_CODE_WINDOW, "the event that is answered is unknown"},
    {40034026, QQ_CODE_WINDOW, "the event that is answered is too old"},
    {40034027, QQ_CODE_WINDOW, "this event cannot be answered"},
    {40034028, QQ_CODE_LINK, "links are not allowed in this message"},
    {40034029, QQ_CODE_PLAIN, "the buttons were refused"},
    {40034090, QQ_CODE_PLAIN, "the bot has no right to this kind of message"},
    {40034100, QQ_CODE_RATE_CHAT, "too many messages without a question"},
    {40034101, QQ_CODE_CHAT, "the bot is not in this group: add it again"},
    {40034102, QQ_CODE_ACTIVE, "the bot may only answer, not write first"},
    {40034105, QQ_CODE_ACTIVE, "the bot may only answer, not write first"},
    {40034122, QQ_CODE_ACTIVE, "the wake-up message of this period is used up"},
    {40034123, QQ_CODE_ACTIVE, "no wake-up message is possible"},
    {40034124, QQ_CODE_PLAIN, "the Markdown was refused"},
    {40034127, QQ_CODE_PLAIN, "the bot has no right to this kind of message"},
    {40034128, QQ_CODE_WINDOW, "the time or the number of answers to this message is used up"},
    {40054002, QQ_CODE_RATE_CHAT, "the bot is muted here"},
    {40054003, QQ_CODE_CHAT, "the bot is not in this group: add it again"},
    {40054004, QQ_CODE_CHAT, "the user has removed the bot"},
    {40054005, QQ_CODE_DUPLICATE, "the number of this answer was used before"},
    {40054007, QQ_CODE_LONG, "the message is too long"},
    {40054010, QQ_CODE_LINK, "links are not allowed: register their domain in the console"},
    {40054013, QQ_CODE_CHAT, "the user has switched off the bot's messages"},
    {40054016, QQ_CODE_BOT, "the bot is offline on the platform: see its console"},
    {40054018, QQ_CODE_LONG, "the message is too long"},
    {40093001, QQ_CODE_AGAIN, "the platform asks to try again"},
    {40093002, QQ_CODE_GIVE_UP, "the day's volume of files is used up"},
    {50055001, QQ_CODE_AGAIN, "the platform could not send it"},
    {50055002, QQ_CODE_AGAIN, "the platform could not send it"},
    {50055006, QQ_CODE_AGAIN, "the platform could not send it"},
};

const struct qq_code *qq_code_find(int64_t code)
{
    static const struct qq_code unknown = {0, QQ_CODE_GIVE_UP, ""};
    for (size_t i = 0; i < SMA_COUNT_OF(codes); i++)
        if (codes[i].code == code)
            return &codes[i];
    return &unknown;
}

struct qq_reply qq_reply_read(const struct sma_net_answer *answer)
{
    struct qq_reply reply = {.message = {"", 0}};
    json_t *root = NULL;
    if (answer->end != SMA_NET_ANSWERED || sma_str_trim(answer->body).len == 0)
        return reply;
    if (sma_json_load(answer->body, &root) != SMA_ERR_OK || !json_is_object(root)) {
        json_decref(root);
        reply.is_unreadable = true;
        return reply;
    }
    reply.root = root;
    int64_t code = sma_json_int(root, "code", INT64_MIN, INT64_MAX, 0);
    reply.code = sma_json_int(root, "err_code", INT64_MIN, INT64_MAX, code);
    if (reply.code == 0)
        reply.code = code;
    reply.message = sma_json_str(root, "message");
    return reply;
}

static void put_line(struct sma_buf *buf, struct sma_str text, size_t max)
{
    text.len = sma_utf8_cut(text, max);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        sma_buf_put_char(buf, byte < 0x20 || byte == 0x7f ? ' ' : (char)byte);
    }
}

static void put_answer(struct sma_buf *line, const struct sma_net_answer *answer,
                       const struct qq_reply *reply)
{
    const char *words = qq_code_find(reply->code)->words;
    struct sma_str trace = sma_json_str(reply->root, "trace_id");
    if (words[0] != '\0')
        sma_buf_printf(line, ": %s", words);
    else if (reply->is_unreadable)
        sma_buf_put_text(line, ": the answer could not be read");
    sma_buf_put_text(line, " (");
    if (reply->code != 0)
        sma_buf_printf(line, "code %" PRId64 ": ", reply->code);
    put_line(line, reply->message, MESSAGE_BYTES_MAX);
    sma_buf_printf(line, "%sHTTP %d", reply->message.len > 0 ? "; " : "", answer->status);
    if (trace.len == 0)
        trace = answer->log_id;
    if (trace.len > 0) {
        sma_buf_put_text(line, "; trace ");
        put_line(line, trace, TRACE_BYTES_MAX);
    }
    sma_buf_put_char(line, ')');
}

void qq_reply_explain(const char *what, const struct sma_net_answer *answer,
                      const struct qq_reply *reply, char *text, size_t text_size)
{
    struct sma_buf line;
    sma_buf_init(&line, 2048);
    sma_buf_printf(&line, "%s failed", what);
    if (answer->end == SMA_NET_ANSWERED) {
        put_answer(&line, answer, reply);
    } else {
        sma_buf_put_text(&line, ": ");
        put_line(&line, sma_str(answer->error), 2 * MESSAGE_BYTES_MAX);
    }
    size_t len = sma_utf8_cut(sma_buf_str(&line), text_size - 1);
    if (len > 0)
        memcpy(text, line.ptr, len);
    text[len] = '\0';
    sma_buf_fini(&line);
}
