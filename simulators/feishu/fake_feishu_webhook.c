/*
 * fake_feishu_webhook.c — events by HTTP: encrypted, signed, sent, and forged ones that nobody may
 * believe.
 */
#include "fake_feishu_priv.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#define SENDER_THREADS 8
#define TAG_CHALLENGE (1ull << 62)
#define TAG_FORGED (1ull << 61)

/* -- encryption and signature ------------------------------------------------------------------ */
static void sha256(const char *const *parts, size_t count, unsigned char digest[32])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    (void)EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
    for (size_t i = 0; i < count; i++)
        (void)EVP_DigestUpdate(ctx, parts[i], strlen(parts[i]));
    (void)EVP_DigestFinal_ex(ctx, digest, NULL);
    EVP_MD_CTX_free(ctx);
}

/* {"encrypt":"..."} of text; free it. */
static char *encrypt(struct fake_feishu *fake, const char *text)
{
    unsigned char key[32];
    size_t len = strlen(text);
    unsigned char *raw = calloc(1, len + 64), *coded = calloc(1, (len + 64) * 2);
    int first = 0, last = 0;
    if (raw == NULL || coded == NULL)
        abort();
    sha256((const char *const[]){fake->hook_key}, 1, key);
    for (size_t i = 0; i < 16; i++)
        raw[i] = (unsigned char)((++fake->number * 0x9E3779B97F4A7C15u) >> 40);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    (void)EVP_EncryptInit_ex(ctx, EVP_aes_256_cbc(), NULL, key, raw);
    (void)EVP_EncryptUpdate(ctx, raw + 16, &first, (const unsigned char *)text, (int)len);
    (void)EVP_EncryptFinal_ex(ctx, raw + 16 + first, &last);
    EVP_CIPHER_CTX_free(ctx);
    (void)EVP_EncodeBlock(coded, raw, 16 + first + last);
    struct sma_buf out;
    sma_buf_init(&out, FEISHU_JSON_MAX);
    sma_buf_printf(&out, "{\"encrypt\":\"%s\"}", (const char *)coded);
    free(raw);
    free(coded);
    return sma_buf_take(&out);
}

/* Header lines; age_s: how old the time stamp is. */
static char *sign(struct fake_feishu *fake, const char *body, int64_t age_s, bool is_wrong)
{
    char time[24], nonce[32], hex[65];
    unsigned char digest[32];
    struct sma_buf out;
    snprintf(time, sizeof time, "%lld", (long long)(platform_wall_ms() / 1000 - age_s));
    snprintf(nonce, sizeof nonce, "%llx",
             (unsigned long long)(++fake->number * 0x9E3779B97F4A7C15u));
    sha256((const char *const[]){time, nonce, fake->hook_key, body}, 4, digest);
    digest[0] ^= is_wrong ? 1 : 0;
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    sma_buf_init(&out, 4096);
    sma_buf_printf(
        &out,
        "X-Lark-Request-Timestamp: %s\r\nX-Lark-Request-Nonce: %s\r\nX-Lark-Signature: %s\r\n",
        time, nonce, hex);
    return sma_buf_take(&out);
}

/* -- what comes back --------------------------------------------------------------------------- */
static void answered(void *user, uint64_t tag, const struct http_answer *answer, uint64_t took_ms)
{
    struct fake_feishu *fake = user;
    ws_server_lock(fake->server);
    if ((tag & TAG_CHALLENGE) != 0) {
        char wanted[64];
        json_t *tree =
            answer->status == 200 ? json_loadb(answer->body, answer->len, 0, NULL) : NULL;
        snprintf(wanted, sizeof wanted, "challenge-%llx",
                 (unsigned long long)(tag & ~TAG_CHALLENGE));
        fake->challenge_count++;
        fake->challenge_good_count += strcmp(platform_text(tree, "challenge", ""), wanted) == 0;
        json_decref(tree);
    } else if ((tag & TAG_FORGED) != 0) {
        json_object_set_new(json_array_get(fake->forged, (size_t)(tag & ~TAG_FORGED)), "status",
                            json_integer(answer->status));
    } else {
        struct delivery *delivery = fake->deliveries[tag - 1];
        bool is_good = answer->status == 200 && took_ms <= (uint64_t)fake->ack_ms;
        json_t *result =
            is_good && answer->len > 0 ? json_loadb(answer->body, answer->len, 0, NULL) : NULL;
        delivery->conn = 0;
        if (answer->status == 0) {
            delivery->is_over = true;
            fake_feishu_delivery_failed(fake, delivery->event);
        } else {
            fake_feishu_delivery_answered(fake, delivery,
                                          is_good                 ? 200
                                          : answer->status == 200 ? 504
                                                                  : answer->status,
                                          result);
        }
    }
    ws_server_unlock(fake->server);
}

/* Takes headers and body over. */
static void post(struct fake_feishu *fake, char *headers, char *body, uint64_t tag)
{
    if (fake->sender == NULL)
        fake->sender = platform_sender_create(SENDER_THREADS);
    struct platform_post letter = {.port = fake->hook_port,
                                   .path = platform_copy(sma_str(fake->hook_path)),
                                   .headers = headers,
                                   .body = body,
                                   .timeout_ms = (int)fake->ack_ms + 1000,
                                   .tag = tag,
                                   .done = answered,
                                   .user = fake};
    platform_sender_post(fake->sender, &letter);
}

static void post_text(struct fake_feishu *fake, const char *text, uint64_t tag)
{
    if (fake->hook_key[0] == '\0') {
        post(fake, platform_copy(SMA_STR("")), platform_copy(sma_str(text)), tag);
        return;
    }
    char *body = encrypt(fake, text);
    post(fake, sign(fake, body, 0, false), body, tag);
}

void fake_feishu_post_event(struct fake_feishu *fake, struct event *event, size_t delivery)
{
    post_text(fake, event->json, delivery);
}

/* -- commands ---------------------------------------------------------------------------------- */
json_t *fake_feishu_set_webhook(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const char *url = platform_text(command, "url", "");
    fake->is_hook = url[0] != '\0';
    if (fake->is_hook &&
        !platform_parse_url(url, &fake->hook_port, fake->hook_path, sizeof fake->hook_path))
        return platform_problem("no URL of the form http://127.0.0.1:port/path");
    snprintf(fake->hook_key, sizeof fake->hook_key, "%s", platform_text(command, "key", ""));
    snprintf(fake->hook_token, sizeof fake->hook_token, "%s", platform_text(command, "token", ""));
    return platform_done();
}

json_t *fake_feishu_challenge(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    char text[512];
    uint64_t number = ++fake->number;
    if (!fake->is_hook)
        return platform_problem("no webhook is set");
    snprintf(text, sizeof text,
             "{\"challenge\":\"challenge-%llx\",\"token\":\"%s\",\"type\":\"url_verification\"}",
             (unsigned long long)number, platform_text(command, "token", fake->hook_token));
    char *body = fake->hook_key[0] == '\0' ? platform_copy(sma_str(text)) : encrypt(fake, text);
    post(fake, platform_copy(SMA_STR("")), body,
         TAG_CHALLENGE | number); /* it needs no signature */
    return platform_done();
}

/* kind: signature (wrong), unsigned, old (signature), token (wrong), key (another), plain (not
 * encrypted, signed by somebody without the key), garbage */
json_t *fake_feishu_forge(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    const char *kind = platform_text(command, "kind", "signature");
    char kept_key[sizeof fake->hook_key], *body, *headers, text[1024];
    if (!fake->is_hook)
        return platform_problem("no webhook is set");
    unsigned long long number = ++fake->number;
    memcpy(kept_key, fake->hook_key, sizeof kept_key);
    if (strcmp(kind, "key") == 0)
        snprintf(fake->hook_key, sizeof fake->hook_key, "another key");
    snprintf(text, sizeof text,
             "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"forged%llx\",\"event_type\":\"im."
             "message.receive_v1\","
             "\"create_time\":\"%lld\",\"token\":\"%s\",\"app_id\":\"%s"
             "\",\"tenant_key\":\"x\"},"
             "\"event\":{\"sender\":{\"sender_id\":{\"open_id\":\"ou_forger\"},\"sender_type\":"
             "\"user\"},\"message\":{"
             "\"message_id\":\"om_forged%llx\",\"chat_id\":\"%s\",\"chat_type\":\"p2p\",\"message_"
             "type\":\"text\","
             "\"content\":\"{\\\"text\\\":\\\"forged words\\\"}\"}}}",
             number, (long long)platform_wall_ms(),
             strcmp(kind, "token") == 0 ? "wrong token" : fake->hook_token, fake->app, number,
             platform_text(command, "chat", "oc_forged"));
    if (strcmp(kind, "garbage") == 0)
        body = platform_copy(SMA_STR("{\"encrypt\":\"AAAA%%%\"}"));
    else
        body = fake->hook_key[0] == '\0' || strcmp(kind, "plain") == 0
                   ? platform_copy(sma_str(text))
                   : encrypt(fake, text);
    headers = strcmp(kind, "unsigned") == 0
                  ? platform_copy(SMA_STR(""))
                  : sign(fake, body, strcmp(kind, "old") == 0 ? 86400 : 0,
                         strcmp(kind, "signature") == 0 || strcmp(kind, "plain") == 0);
    memcpy(fake->hook_key, kept_key, sizeof kept_key);
    json_array_append_new(fake->forged, json_pack("{s:s,s:i}", "kind", kind, "status", -1));
    post(fake, headers, body, TAG_FORGED | (json_array_size(fake->forged) - 1));
    return platform_done();
}
