/*
 * Webhook requests of Feishu. The first byte chooses the secrets ('0' none, '1' key, '2' token, '3'
 * both; with 's' instead the rest is signed rightly, with 'd' it is an encrypted text alone).
 * Promises under test, besides not crashing: without a secret nothing passes; with a key nothing
 * unsigned passes as an event.
 */
#include "fuzz.h"

#include "adapters/feishu/feishu_crypto.h"
#include "adapters/feishu/feishu_event.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void ignore(void *user, const struct feishu_event *event)
{
    (void)user;
    (void)event;
}

static void check_request(char mode, struct sma_str body)
{
    struct feishu_webhook_secrets secrets = {{0}, {0}};
    if (mode == '1' || mode == '3' || mode == 's')
        secrets.encrypt_key = SMA_STR("encrypt-key-0001");
    if (mode == '2' || mode == '3')
        secrets.verification_token = SMA_STR("verif-token-0001");
    struct feishu_webhook_request request = {SMA_STR("1763755000"), SMA_STR("nonce-1"), SMA_STR(""),
                                             body, 1763755000000};
    char hex[FEISHU_SIGNATURE_HEX + 1];
    struct feishu_signed parts = {request.timestamp, request.nonce, secrets.encrypt_key, body};
    if (mode == 's') {
        require(feishu_signature(&parts, hex) == SMA_ERR_OK);
        request.signature = (struct sma_str){hex, FEISHU_SIGNATURE_HEX};
    }
    struct sma_buf plain;
    struct feishu_webhook_verdict verdict = {0};
    sma_buf_init(&plain, FEISHU_WEBHOOK_BYTES_MAX);
    require(feishu_webhook_read(&secrets, &request, &plain, &verdict) == SMA_ERR_OK);
    require(mode != '0' || verdict.kind == FEISHU_WEBHOOK_REJECTED);
    require((mode != '1' && mode != '3') || verdict.kind != FEISHU_WEBHOOK_EVENT);
    if (verdict.kind == FEISHU_WEBHOOK_EVENT) {
        struct feishu_event_options options = {.adapter = 9, .now_wall_ms = 1763755100000};
        struct sma_error error;
        enum sma_err err = feishu_event_parse(&options, sma_buf_str(&plain), ignore, NULL, &error);
        require(err == SMA_ERR_OK || error.text[0] != '\0');
    }
    sma_buf_fini(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    char mode = (char)bytes[0];
    if (mode == 'd') {
        struct sma_buf plain;
        sma_buf_init(&plain, FEISHU_WEBHOOK_BYTES_MAX);
        enum sma_err err = feishu_decrypt(SMA_STR("encrypt-key-0001"), rest, &plain);
        require(err == SMA_ERR_OK || (err == SMA_ERR_BADINPUT && plain.len == 0));
        sma_buf_fini(&plain);
    } else if ((mode >= '0' && mode <= '3') || mode == 's') {
        check_request(mode, rest);
    }
    return 0;
}
