/* feishu_webhook_read.c — from a webhook request to an authenticated event. See feishu_crypto.h. */
#include "feishu_crypto.h"
#include "runtime/json/json_read.h"

/* What the checks need to know of a body. Slices point into `root`. */
struct envelope
{
    json_t *root;
    struct sma_str token, challenge;
    bool is_challenge, is_encrypted, is_old_card;
};

static enum sma_err reject(struct feishu_webhook_verdict *verdict, int status, const char *why)
{
    *verdict = (struct feishu_webhook_verdict){FEISHU_WEBHOOK_REJECTED, status, why};
    return SMA_ERR_OK;
}

static enum sma_err read_envelope(struct sma_str json, struct envelope *envelope)
{
    SMA_TRY(sma_json_load_tolerant(json, true, &envelope->root));
    if (!json_is_object(envelope->root))
        return SMA_ERR_BADINPUT;
    const json_t *header = sma_json_get(envelope->root, "header");
    envelope->token = header != NULL && sma_json_get(envelope->root, "schema") != NULL
                          ? sma_json_str(header, "token")
                          : sma_json_str(envelope->root, "token");
    envelope->challenge = sma_json_str(envelope->root, "challenge");
    envelope->is_challenge =
        sma_str_is_equal(sma_json_str(envelope->root, "type"), SMA_STR("url_verification"));
    envelope->is_old_card = header == NULL && sma_json_get(envelope->root, "action") != NULL;
    return SMA_ERR_OK;
}

/* The plain JSON into `plain`: the body itself, or what its member "encrypt" holds. */
static enum sma_err open_body(const struct feishu_webhook_secrets *secrets, struct sma_str body,
                              struct sma_buf *plain, bool *ret_is_encrypted)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    enum sma_err err = sma_json_load_tolerant(body, true, &root);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_str encrypted = sma_json_str(root, "encrypt");
    *ret_is_encrypted = encrypted.len > 0;
    if (encrypted.len > 0)
        return secrets->encrypt_key.len == 0
                   ? SMA_ERR_UNSUPPORTED
                   : feishu_decrypt(secrets->encrypt_key, encrypted, plain);
    sma_buf_put_str(plain, body);
    return plain->err;
}

static enum sma_err answer_challenge(const struct feishu_webhook_secrets *secrets,
                                     const struct envelope *envelope, struct sma_buf *plain,
                                     struct feishu_webhook_verdict *verdict)
{
    bool has_token = feishu_secret_is_equal(secrets->verification_token, envelope->token);
    if (!has_token && (secrets->verification_token.len > 0 || !envelope->is_encrypted))
        return reject(verdict, 401, "the challenge does not carry the verification token");
    if (envelope->challenge.len == 0)
        return reject(verdict, 400, "the challenge is empty");
    sma_buf_clear(plain);
    sma_buf_put_text(plain, "{\"challenge\":");
    sma_buf_put_json_string(plain, envelope->challenge);
    sma_buf_put_char(plain, '}');
    *verdict = (struct feishu_webhook_verdict){FEISHU_WEBHOOK_CHALLENGE, 200, ""};
    return plain->err;
}

/* The old card webhook signs with SHA-1 and the verification token; everything else with SHA-256
 * and the encrypt key. */
static enum sma_err check_signature(const struct feishu_webhook_secrets *secrets,
                                    const struct feishu_webhook_request *request, bool is_old_card,
                                    bool *ret_is_valid)
{
    char hex[FEISHU_SIGNATURE_HEX + 1];
    struct feishu_signed parts = {request->timestamp, request->nonce,
                                  is_old_card ? secrets->verification_token : secrets->encrypt_key,
                                  request->body};
    if (parts.secret.len == 0) { /* nothing to sign with: no signature is valid */
        *ret_is_valid = false;
        return SMA_ERR_OK;
    }
    enum sma_err err =
        is_old_card ? feishu_card_signature(&parts, hex) : feishu_signature(&parts, hex);
    if (err == SMA_ERR_OK)
        *ret_is_valid = feishu_secret_is_equal(sma_str(hex), request->signature);
    return err;
}

static enum sma_err check_event(const struct feishu_webhook_secrets *secrets,
                                const struct feishu_webhook_request *request,
                                const struct envelope *envelope,
                                struct feishu_webhook_verdict *verdict)
{
    bool is_signed_by_token =
        envelope->is_old_card && request->signature.len == FEISHU_CARD_SIGNATURE_HEX;
    if (secrets->encrypt_key.len > 0 || is_signed_by_token) {
        bool is_valid = false;
        SMA_TRY(check_signature(secrets, request, is_signed_by_token, &is_valid));
        if (!is_valid)
            return reject(verdict, 401,
                          "the signature does not match: compare adapters.feishu.encryptKey "
                          "with the developer console");
        if (!feishu_timestamp_is_fresh(request->timestamp, request->now_wall_ms))
            return reject(
                verdict, 401,
                "the signature is too old or from the future: check this machine's clock");
    }
    bool has_token = feishu_secret_is_equal(secrets->verification_token, envelope->token);
    /* An old card's own token is the card's; its signature was made with the verification token. */
    if (secrets->verification_token.len > 0 && !has_token && !is_signed_by_token)
        return reject(verdict, 401,
                      "the verification token does not match: compare "
                      "adapters.feishu.verificationToken with the developer console");
    *verdict = (struct feishu_webhook_verdict){FEISHU_WEBHOOK_EVENT, 200, ""};
    return SMA_ERR_OK;
}

/* Errors of the input are a verdict, those of the machine are the caller's. */
static enum sma_err reject_by(enum sma_err err, struct feishu_webhook_verdict *verdict)
{
    switch (err) {
    case SMA_ERR_BADINPUT:
        return reject(verdict, 400, "the body is not JSON, or was encrypted with another key");
    case SMA_ERR_UNSUPPORTED:
        return reject(verdict, 401,
                      "the body is encrypted, but adapters.feishu.encryptKey is not set");
    case SMA_ERR_TOOBIG:
        return reject(verdict, 413, "the body is too large");
    default:
        return err;
    }
}

enum sma_err feishu_webhook_read(const struct feishu_webhook_secrets *secrets,
                                 const struct feishu_webhook_request *request,
                                 struct sma_buf *plain, struct feishu_webhook_verdict *ret_verdict)
{
    SMA_ASSERT(plain->len == 0 && plain->max >= FEISHU_WEBHOOK_BYTES_MAX);
    if (secrets->encrypt_key.len == 0 && secrets->verification_token.len == 0)
        return reject(ret_verdict, 401, "neither encryptKey nor verificationToken is configured");
    if (request->body.len > FEISHU_WEBHOOK_BYTES_MAX)
        return reject(ret_verdict, 413, "the body is too large");
    struct envelope envelope = {0};
    enum sma_err err = open_body(secrets, request->body, plain, &envelope.is_encrypted);
    if (err == SMA_ERR_OK)
        err = read_envelope(sma_buf_str(plain), &envelope);
    if (err != SMA_ERR_OK)
        err = reject_by(err, ret_verdict);
    else if (envelope.is_challenge)
        err = answer_challenge(secrets, &envelope, plain, ret_verdict);
    else
        err = check_event(secrets, request, &envelope, ret_verdict);
    json_decref(envelope.root);
    return err;
}
