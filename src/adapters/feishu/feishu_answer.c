/* feishu_answer.c — what an answer of the REST interface means for an attempt. See feishu_out.h. */
#include "feishu_code.h"
#include "feishu_out.h"

#include "adapters/common/answers.h"

#define RATE_WAIT_MS 1000u /* when the platform does not say how long */

static void wait_for(struct feishu_outcome *outcome, const struct sma_net_answer *answer,
                     bool is_chat_only)
{
    outcome->attempt_class = SMA_ATTEMPT_RETRY_AFTER;
    outcome->retry_after_ms = sma_adapter_wait_ms(answer->retry_after_ms, RATE_WAIT_MS, true);
    outcome->is_chat_only = is_chat_only;
}

/* The platform has answered with a code of its own. */
static void act_on_code(const struct sma_net_answer *answer, struct feishu_outcome *outcome)
{
    outcome->attempt_class = SMA_ATTEMPT_GIVE_UP;
    switch (feishu_code_find(outcome->code)->act) {
    case FEISHU_CODE_TOKEN:
        outcome->is_token_invalid = true;
        outcome->attempt_class = SMA_ATTEMPT_RETRY;
        break;
    case FEISHU_CODE_RATE:
        wait_for(outcome, answer, false);
        break;
    case FEISHU_CODE_RATE_CHAT:
    case FEISHU_CODE_SOON:
        wait_for(outcome, answer, true);
        break;
    case FEISHU_CODE_NO_REPLY:
        outcome->is_reply_gone = true;
        break;
    case FEISHU_CODE_NO_CARD:
        outcome->is_card_refused = outcome->is_content_refused = true;
        break;
    case FEISHU_CODE_SCOPE:
        outcome->is_scope_missing = true;
        break;
    case FEISHU_CODE_BUSY:
        outcome->attempt_class = SMA_ATTEMPT_UNKNOWN;
        break;
    case FEISHU_CODE_CONTENT:
        outcome->is_content_refused = true;
        break;
    case FEISHU_CODE_LONG:
        outcome->is_too_long = outcome->is_content_refused = true;
        break;
    case FEISHU_CODE_GIVE_UP: /* it may be about what was replied to: nobody lists all of these */
        outcome->is_reply_doubtful = true;
        break;
    case FEISHU_CODE_CHAT:
        break;
    }
}

/* No code to go by: the status alone. */
static void act_on_status(const struct sma_net_answer *answer, struct feishu_outcome *outcome)
{
    int status = answer->status;
    if (status == 429)
        wait_for(outcome, answer, false);
    else if (status == 408 || status == 425)
        outcome->attempt_class = SMA_ATTEMPT_RETRY;
    else if (status >= 400 && status < 500)
        outcome->attempt_class = SMA_ATTEMPT_GIVE_UP;
    /* 5xx, or a success nobody can read: it may have been sent; the uuid makes a repeat harmless */
    else
        outcome->attempt_class = SMA_ATTEMPT_UNKNOWN;
}

static void act_on_end(const struct sma_net_answer *answer, struct feishu_outcome *outcome)
{
    switch (answer->end) {
    case SMA_NET_NOT_SENT:
        outcome->attempt_class = SMA_ATTEMPT_RETRY;
        break;
    case SMA_NET_FILE_FAILED:
        outcome->attempt_class = SMA_ATTEMPT_GIVE_UP;
        break;
    case SMA_NET_ANSWERED:
    case SMA_NET_UNKNOWN:
    case SMA_NET_TOO_BIG:
        outcome->attempt_class = SMA_ATTEMPT_UNKNOWN;
        break;
    }
}

static void note_id(const struct feishu_reply *reply, const char *member, char *to, size_t size)
{
    struct sma_str id = sma_json_str(sma_json_get(reply->root, "data"), member);
    if (id.len >= size || memchr(id.ptr, '\0', id.len) != NULL)
        return;
    memcpy(to, id.ptr, id.len);
    to[id.len] = '\0';
}

bool feishu_is_elsewhere(const struct feishu_outcome *outcome, struct sma_str chat_id)
{
    return outcome->attempt_class == SMA_ATTEMPT_SENT && outcome->chat_id[0] != '\0' &&
           !sma_str_is_equal(sma_str(outcome->chat_id), chat_id);
}

void feishu_classify(const struct sma_net_answer *answer, struct feishu_outcome *ret_outcome)
{
    struct feishu_outcome outcome = {.code = -1};
    struct feishu_reply reply = feishu_reply_read(answer);
    outcome.code = reply.code;
    bool is_success = reply.code == 0 && answer->status >= 200 && answer->status < 300;
    if (is_success) {
        outcome.attempt_class = SMA_ATTEMPT_SENT;
        note_id(&reply, "message_id", outcome.message_id, sizeof outcome.message_id);
        outcome.sent_ms = feishu_raw_time_ms(sma_json_get(reply.root, "data"), "create_time");
        note_id(&reply, "chat_id", outcome.chat_id, sizeof outcome.chat_id);
    } else if (answer->end != SMA_NET_ANSWERED) {
        act_on_end(answer, &outcome);
    } else if (reply.code > 0 && answer->status < 500 && answer->status != 429) {
        act_on_code(answer, &outcome);
    } else {
        act_on_status(answer, &outcome);
    }
    if (!is_success)
        feishu_reply_explain("sending to Feishu", answer, &reply, outcome.error,
                             sizeof outcome.error);
    json_decref(reply.root);
    *ret_outcome = outcome;
}
