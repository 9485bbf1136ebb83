/* qq_answer.c — what an answer of the platform means for an attempt. See qq_out.h. */
#include "qq_code.h"
#include "qq_event.h"
#include "qq_out.h"

#include "adapters/common/answers.h"

#define RATE_WAIT_MS 1000u  /* when the platform does not say how long */
#define CHAT_WAIT_MS 10000u /* muted, too many to one chat: short waits only use up attempts */
#define QUOTA_WAIT_MS 60000u
#define REFUSED_WAIT_MS \
    30000u /* as long as the owner has not mended it; rows must not run out of attempts */

static void classify_as(struct qq_outcome *outcome, enum sma_attempt_class attempt_class)
{
    outcome->attempt_class = (uint8_t)attempt_class;
}

enum whom
{
    WHOM_ALL,
    WHOM_CHAT,
    WHOM_UNSAID, /* the chat's or the bot's limit: the dispatcher judges */
};

static void wait_for(struct qq_outcome *outcome, const struct sma_net_answer *answer,
                     uint32_t otherwise_ms, enum whom whom)
{
    classify_as(outcome, SMA_ATTEMPT_RETRY_AFTER);
    outcome->retry_after_ms =
        sma_adapter_wait_ms(answer->retry_after_ms, otherwise_ms, whom != WHOM_ALL);
    outcome->is_adapter_wide = whom == WHOM_ALL;
    outcome->is_chat_only = whom == WHOM_CHAT;
}

/* What the platform has plainly refused, and what may help. */
static void act_on_refusal(enum qq_code_act act, const struct qq_asked *asked,
                           struct qq_outcome *outcome)
{
    classify_as(outcome, SMA_ATTEMPT_GIVE_UP);
    outcome->is_plain_wanted = act == QQ_CODE_PLAIN;
    outcome->is_link_refused = act == QQ_CODE_LINK;
    outcome->is_too_long = act == QQ_CODE_LONG;
    outcome->is_chat_closed = act == QQ_CODE_CHAT;
    outcome->is_active_refused = act == QQ_CODE_ACTIVE;
    bool is_unknown = qq_code_find(outcome->code)->words[0] == '\0';
    outcome->is_content_refused = act == QQ_CODE_CONTENT || act == QQ_CODE_LINK ||
                                  act == QQ_CODE_LONG || act == QQ_CODE_PLAIN || is_unknown;
    outcome->is_window_closed =
        !asked->is_active && (act == QQ_CODE_WINDOW || act == QQ_CODE_QUOTA);
    if (act == QQ_CODE_DUPLICATE && asked->may_be_sent)
        classify_as(outcome, SMA_ATTEMPT_SENT);
}

static void act_on_code(const struct sma_net_answer *answer, const struct qq_asked *asked,
                        struct qq_outcome *outcome)
{
    enum qq_code_act act = qq_code_find(outcome->code)->act;
    switch (act) {
    case QQ_CODE_AGAIN:
        classify_as(outcome, SMA_ATTEMPT_RETRY);
        break;
    case QQ_CODE_TOKEN:
        classify_as(outcome, SMA_ATTEMPT_RETRY);
        outcome->is_token_invalid = true;
        break;
    case QQ_CODE_FILE:
        classify_as(outcome, SMA_ATTEMPT_RETRY);
        outcome->is_file_stale = true;
        break;
    case QQ_CODE_RATE:
        wait_for(outcome, answer, RATE_WAIT_MS, WHOM_UNSAID);
        break;
    case QQ_CODE_RATE_CHAT:
        wait_for(outcome, answer, CHAT_WAIT_MS, WHOM_CHAT);
        break;
    case QQ_CODE_OFFLINE:
        wait_for(outcome, answer, RATE_WAIT_MS, WHOM_ALL);
        break;
    case QQ_CODE_BOT:
        wait_for(outcome, answer, REFUSED_WAIT_MS, WHOM_ALL);
        outcome->is_bot_refused = true;
        break;
    case QQ_CODE_AUDIT:
        classify_as(outcome, SMA_ATTEMPT_SENT);
        outcome->is_audit = true;
        break;
    case QQ_CODE_QUOTA:
        if (asked->is_active)
            wait_for(outcome, answer, QUOTA_WAIT_MS, WHOM_CHAT);
        else
            act_on_refusal(act, asked, outcome);
        break;
    default:
        act_on_refusal(act, asked, outcome);
        break;
    }
}

/* No code that says more: the status alone. */
static void act_on_status(const struct sma_net_answer *answer, struct qq_outcome *outcome)
{
    int status = answer->status;
    if (status == 401) {
        classify_as(outcome, SMA_ATTEMPT_RETRY);
        outcome->is_token_invalid = true;
    } else if (status == 429) {
        wait_for(outcome, answer, RATE_WAIT_MS, WHOM_UNSAID);
    } else if (status == 404 || status == 405 || (status >= 300 && status < 400)) {
        wait_for(outcome, answer, REFUSED_WAIT_MS, WHOM_ALL); /* apiRoot leads elsewhere */
        outcome->is_bot_refused = true;
    } else if (status == 408 || status == 425) {
        classify_as(outcome, SMA_ATTEMPT_RETRY);
    } else if (status == 503) {
        if (answer->retry_after_ms > 0)
            wait_for(outcome, answer, RATE_WAIT_MS, WHOM_ALL);
        else
            classify_as(outcome, SMA_ATTEMPT_RETRY);
    } else if (status >= 400 && status < 500) {
        classify_as(outcome, SMA_ATTEMPT_GIVE_UP);
    } else {
        classify_as(outcome, SMA_ATTEMPT_UNKNOWN);
    }
}

static void act_on_end(enum sma_net_end end, struct qq_outcome *outcome)
{
    classify_as(outcome, end == SMA_NET_NOT_SENT      ? SMA_ATTEMPT_RETRY
                         : end == SMA_NET_FILE_FAILED ? SMA_ATTEMPT_GIVE_UP
                                                      : SMA_ATTEMPT_UNKNOWN);
}

static void note_message_id(const struct qq_reply *reply, struct qq_outcome *outcome)
{
    struct sma_str id = sma_json_str(reply->root, "id");
    if (outcome->is_audit) {
        const json_t *data = sma_json_get(reply->root, "data");
        id = sma_json_str(sma_json_get(data, "message_audit"), "audit_id");
    }
    if (id.len == 0 || id.len > QQ_MESSAGE_ID_BYTES_MAX || memchr(id.ptr, '\0', id.len) != NULL)
        return;
    memcpy(outcome->message_id, id.ptr, id.len);
    outcome->message_id[id.len] = '\0';
    struct sma_str index = sma_json_str(sma_json_get(reply->root, "ext_info"), "ref_idx");
    outcome->sent_ms = qq_timestamp_ms(reply->root);
    if (index.len > QQ_MESSAGE_ID_BYTES_MAX || memchr(index.ptr, '\0', index.len) != NULL)
        return;
    memcpy(outcome->reply_id, index.ptr, index.len);
    outcome->reply_id[index.len] = '\0';
}

static void act_on_answer(const struct sma_net_answer *answer, const struct qq_reply *reply,
                          const struct qq_asked *asked, struct qq_outcome *outcome)
{
    bool is_2xx = answer->status >= 200 && answer->status < 300;
    bool is_known = qq_code_find(reply->code)->words[0] != '\0';
    if (is_2xx && reply->code == 0)
        classify_as(outcome, reply->is_unreadable ? SMA_ATTEMPT_UNKNOWN : SMA_ATTEMPT_SENT);
    else if (is_known || (reply->code != 0 && answer->status < 500 && answer->status != 401 &&
                          answer->status != 429))
        act_on_code(answer, asked, outcome);
    else
        act_on_status(answer, outcome);
}

/* Answers of c2c and groups name no chat; one of a channel is the message with its channel. */
static bool is_elsewhere(const struct qq_reply *reply, const struct qq_asked *asked)
{
    struct sma_str named = sma_json_str(reply->root, "channel_id");
    return asked->channel_id.len > 0 && named.len > 0 &&
           !sma_str_is_equal(named, asked->channel_id);
}

void qq_classify(const struct sma_net_answer *answer, const struct qq_asked *asked,
                 struct qq_outcome *ret_outcome)
{
    struct qq_reply reply = qq_reply_read(answer);
    struct qq_outcome outcome = {.code = reply.code};
    if (answer->end == SMA_NET_ANSWERED)
        act_on_answer(answer, &reply, asked, &outcome);
    else
        act_on_end(answer->end, &outcome);
    if (outcome.attempt_class == SMA_ATTEMPT_SENT && is_elsewhere(&reply, asked)) {
        classify_as(&outcome, SMA_ATTEMPT_GIVE_UP);
        snprintf(outcome.error, sizeof outcome.error,
                 "QQ answered with a message of another channel");
    } else if (outcome.attempt_class == SMA_ATTEMPT_SENT)
        note_message_id(&reply, &outcome);
    else
        qq_reply_explain("sending to QQ", answer, &reply, outcome.error, sizeof outcome.error);
    json_decref(reply.root);
    *ret_outcome = outcome;
}
