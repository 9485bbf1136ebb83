/* qq_hook.c — see qq_hook.h. */
#include "qq_hook.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#define PLAIN_TOKEN_BYTES_MAX 256
#define ANSWER_BYTES_MAX 4096

static void answer(struct qq_hook *hook, int status, const char *why, const char *body)
{
    hook->kind = QQ_HOOK_ANSWERED;
    hook->status = status;
    hook->why = why;
    sma_buf_put_text(&hook->body, body);
}

static void refuse(struct qq_hook *hook, int status, const char *why)
{
    answer(hook, status, why, "{\"code\":1,\"message\":\"");
    sma_buf_put_text(&hook->body, why);
    sma_buf_put_text(&hook->body, "\"}");
}

static bool is_plain(struct sma_str token)
{
    for (size_t i = 0; i < token.len; i++) {
        char byte = token.ptr[i], lower = (char)(byte | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(byte >= '0' && byte <= '9') && byte != '-' &&
            byte != '_' && byte != '.' && byte != '=')
            return false;
    }
    return token.len > 0 && token.len <= PLAIN_TOKEN_BYTES_MAX;
}

/*
 * We sign event_ts and plain_token with the key that proves events to come from the platform. Only
 * a number and a plain word are signed, so that no answer of ours can ever be used as the signature
 * of an event's body.
 */
static void validate(struct qq_hook *hook, struct sma_str secret)
{
    const json_t *data = hook->frame.data;
    struct sma_str token = sma_json_str(data, "plain_token"), time = sma_json_str(data, "event_ts");
    int64_t seconds;
    if (!is_plain(token) || sma_parse_i64(time, 0, INT64_MAX, &seconds) != SMA_ERR_OK) {
        refuse(hook, 400, "an address validation without usable plain_token and event_ts");
        return;
    }
    answer(hook, 200, "", "{\"plain_token\":");
    sma_buf_put_json_string(&hook->body, token);
    sma_buf_put_text(&hook->body, ",\"signature\":\"");
    enum sma_err err = qq_sign(secret, time, token, &hook->body);
    sma_buf_put_text(&hook->body, "\"}");
    if (err == SMA_ERR_OK)
        return;
    sma_buf_clear(&hook->body);
    refuse(hook, 500, "the answer to an address validation could not be signed");
}

static void answer_beat(struct qq_hook *hook)
{
    answer(hook, 200, "", "{\"op\":11,\"d\":");
    if (json_is_integer(hook->frame.data))
        sma_buf_put_i64(&hook->body, json_integer_value(hook->frame.data));
    else
        sma_buf_put_char(&hook->body, '0');
    sma_buf_put_char(&hook->body, '}');
}

static enum sma_err read_frame(struct sma_str body, struct sma_str secret, struct qq_hook *hook)
{
    enum sma_err err = qq_frame_parse(body, &hook->frame);
    if (err == SMA_ERR_NOMEM)
        return err;
    if (err != SMA_ERR_OK)
        refuse(hook, err == SMA_ERR_TOOBIG ? 413 : 400, "a signed body that is not a payload");
    else if (hook->frame.op == QQ_OP_VALIDATION)
        validate(hook, secret);
    else if (hook->frame.op == QQ_OP_HEARTBEAT)
        answer_beat(hook);
    else if (hook->frame.op == QQ_OP_DISPATCH)
        hook->kind = QQ_HOOK_EVENT;
    else
        answer(hook, 200, "",
               QQ_HOOK_ANSWER_OK); /* of no use to us, and none when it comes again */
    return hook->body.err;
}

/* @return false: refused */
static bool is_believed(const struct sma_webhook *webhook, struct sma_str secret,
                        struct sma_str app_id, int64_t now_wall_ms, struct qq_hook *hook,
                        enum sma_err *err)
{
    struct sma_str signature = sma_webhook_header(webhook, "X-Signature-Ed25519");
    struct sma_str time = sma_webhook_header(webhook, "X-Signature-Timestamp");
    struct sma_str bot = sma_webhook_header(webhook, "X-Bot-Appid");
    if (webhook->is_get) {
        refuse(hook, 405, "a GET, where the platform sends POST");
        return false;
    }
    *err = qq_verify(secret, signature, time, webhook->body, now_wall_ms);
    if (*err == SMA_ERR_NOMEM)
        return false;
    if (*err == SMA_ERR_TIMEOUT)
        refuse(hook, 401,
               "a signature that is too old or from the future: check this computer's clock");
    else if (*err != SMA_ERR_OK)
        refuse(hook, 401, "not signed with this bot's secret");
    else if (app_id.len > 0 && bot.len > 0 && !sma_str_is_equal(app_id, bot))
        refuse(hook, 403, "meant for another bot");
    else
        return true;
    *err = SMA_ERR_OK;
    return false;
}

enum sma_err qq_hook_read(const struct sma_webhook *webhook, struct sma_str secret,
                          struct sma_str app_id, int64_t now_wall_ms, struct qq_hook *ret_hook)
{
    struct qq_hook hook = {.why = "", .frame = {.op = -1}};
    enum sma_err err = SMA_ERR_OK;
    sma_buf_init(&hook.body, ANSWER_BYTES_MAX);
    if (is_believed(webhook, secret, app_id, now_wall_ms, &hook, &err))
        err = read_frame(webhook->body, secret, &hook);
    if (err == SMA_ERR_OK)
        err = hook.body.err;
    if (err == SMA_ERR_OK)
        *ret_hook = hook;
    else
        qq_hook_fini(&hook);
    return err;
}

void qq_hook_fini(struct qq_hook *hook)
{
    qq_frame_fini(&hook->frame);
    sma_buf_fini(&hook->body);
}
