/*
 * feishu_webhook.c — events that the platform brings over HTTP: decrypted and authenticated. Only a
 * button is not brought again, so its answer is always one.
 */
#include "feishu_priv.h"

struct taking
{
    struct feishu *feishu;
    struct sma_origin origin;
    int status;
};

static void on_event(void *user, const struct feishu_event *event)
{
    struct taking *taking = user;
    enum sma_took took = feishu_take(taking->feishu, event, &taking->origin);
    taking->status = sma_webhook_status(took, &taking->origin);
}

static int take_event(struct feishu *feishu, struct sma_webhook_slot *slot, uint64_t read_ns,
                      struct sma_str json)
{
    bool has_identity =
        feishu->identity.bot.open_id[0] != '\0'; /* who was addressed cannot be said without */
    if (feishu->base.is_intake_off || !has_identity)
        return 503;
    struct taking taking = {
        .feishu = feishu, .origin = {.slot = slot, .read_ns = read_ns}, .status = 200};
    struct feishu_event_options options = feishu_event_options_now(feishu, read_ns);
    struct sma_error error = {0};
    enum sma_err err = feishu_event_parse(&options, json, on_event, &taking, &error);
    if (err == SMA_ERR_OK)
        return taking.status;
    return err == SMA_ERR_NOMEM
               ? 503
               : sma_webhook_drop(&feishu->base.webhooks,
                                  err == SMA_ERR_TOOBIG ? sma_err_text(err) : error.text);
}

static int take(void *state, const struct sma_webhook *webhook, struct sma_webhook_slot *slot,
                struct sma_buf *body)
{
    struct feishu *feishu = state;
    const struct feishu_settings *settings = &feishu->settings;
    if (webhook->is_get)
        return 405;
    struct feishu_webhook_secrets secrets = {sma_str(settings->encrypt_key),
                                             sma_str(settings->verification_token)};
    struct feishu_webhook_request request = {
        .timestamp = sma_webhook_header(webhook, "X-Lark-Request-Timestamp"),
        .nonce = sma_webhook_header(webhook, "X-Lark-Request-Nonce"),
        .signature = sma_webhook_header(webhook, "X-Lark-Signature"),
        .body = webhook->body,
        .now_wall_ms = sma_ctx_wall(feishu->ctx),
    };
    struct sma_buf plain;
    struct feishu_webhook_verdict verdict;
    int status = 503;
    sma_buf_init(&plain, FEISHU_WEBHOOK_BYTES_MAX + 1024);
    if (feishu_webhook_read(&secrets, &request, &plain, &verdict) != SMA_ERR_OK) {
        status = 503; /* out of memory */
    } else if (verdict.kind == FEISHU_WEBHOOK_CHALLENGE) {
        sma_buf_put_str(body, sma_buf_str(&plain));
        status = 200;
    } else if (verdict.kind == FEISHU_WEBHOOK_REJECTED) {
        status = sma_webhook_refuse(&feishu->base.webhooks, verdict.status, verdict.why);
    } else {
        status = take_event(feishu, slot, webhook->read_ns, sma_buf_str(&plain));
    }
    sma_buf_fini(&plain);
    return status;
}

const struct sma_webhook_ops feishu_webhook_ops = {.take = take};
