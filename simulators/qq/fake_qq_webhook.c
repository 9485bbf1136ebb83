/*
 * fake_qq_webhook.c — the other way of events: signed posts to the bot, again when it did not take
 * them; and posts that a bot must refuse.
 */
#include "fake_qq_priv.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_MS_MAX 5000

/* -- signatures -------------------------------------------------------------------------------- */
static EVP_PKEY *make_key(const char *secret)
{
    unsigned char seed[32];
    for (size_t i = 0; i < sizeof seed; i++)
        seed[i] = (unsigned char)secret[i % strlen(secret)];
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
}

void fake_qq_sign(const char *secret, const char *timestamp, const char *body, char *ret_hex)
{
    struct sma_buf whole;
    unsigned char signature[64];
    size_t len = sizeof signature;
    EVP_PKEY *key = make_key(secret);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    sma_buf_init(&whole, 64u << 20);
    sma_buf_put_text(&whole, timestamp);
    sma_buf_put_text(&whole, body);
    if (key == NULL || digest == NULL || EVP_DigestSignInit(digest, NULL, NULL, NULL, key) != 1 ||
        EVP_DigestSign(digest, signature, &len, (const unsigned char *)whole.ptr, whole.len) != 1)
        abort();
    for (size_t i = 0; i < sizeof signature; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", signature[i]);
    EVP_MD_CTX_free(digest);
    EVP_PKEY_free(key);
    sma_buf_fini(&whole);
}

static void put_headers(struct sma_buf *out, const char *app_id, const char *timestamp,
                        const char *signature)
{
    sma_buf_put_text(out, "User-Agent: QQBot-Callback\r\n");
    if (app_id[0] != '\0')
        sma_buf_printf(out, "X-Bot-Appid: %s\r\n", app_id);
    if (signature[0] != '\0')
        sma_buf_printf(out, "X-Signature-Ed25519: %s\r\nX-Signature-Method: Ed25519\r\n",
                       signature);
    if (timestamp[0] != '\0')
        sma_buf_printf(out, "X-Signature-Timestamp: %s\r\n", timestamp);
    sma_buf_put_char(out, '\0');
}

/* -- events ------------------------------------------------------------------------------------ */
static bool is_taken(const struct http_answer *answer)
{
    if (answer->status != 200)
        return false;
    json_t *tree = json_loadb(answer->body, answer->len, 0, NULL);
    bool wants_again = platform_number(tree, "op", 12) == 12 && platform_number(tree, "d", 0) == 1;
    json_decref(tree);
    return !wants_again;
}

/* On a thread of the sender. */
static void on_answer(void *user, uint64_t tag, const struct http_answer *answer, uint64_t took_ms)
{
    (void)took_ms;
    struct fake_qq *fake = user;
    bool is_good = is_taken(answer);
    ws_server_lock(fake->server);
    struct payload *payload = &fake->payloads[tag];
    if (is_good) {
        payload->is_webhook_done = true;
        fake->webhook_taken_count++;
    } else {
        fake->webhook_failed_count++;
        if (payload->webhook_tries < fake->webhook_tries_max) {
            fake->webhook_retries =
                platform_grow(fake->webhook_retries, fake->webhook_retry_count,
                              &fake->webhook_retry_room, sizeof *fake->webhook_retries);
            fake->webhook_retries[fake->webhook_retry_count++] = (struct webhook_retry){
                (size_t)tag, fake_qq_ticks_ms() + (uint64_t)fake->webhook_retry_ms};
        } else {
            fake->lost_count++;
        }
    }
    ws_server_unlock(fake->server);
}

void fake_qq_post_event(struct fake_qq *fake, size_t index)
{
    struct payload *payload = &fake->payloads[index];
    struct sma_buf body, headers;
    char timestamp[32], signature[129];
    sma_buf_init(&body, 32u << 20);
    sma_buf_init(&headers, 4096);
    fake_qq_put_frame(&body, -1, payload);
    sma_buf_put_char(&body, '\0');
    snprintf(timestamp, sizeof timestamp, "%lld", (long long)(fake_qq_now_ms(fake) / 1000));
    fake_qq_sign(FAKE_QQ_SECRET, timestamp, body.ptr, signature);
    put_headers(&headers, fake->app, timestamp, signature);
    payload->webhook_tries++;
    if (payload->pushed_ns == 0)
        payload->pushed_ns = platform_now_ns();
    fake->webhook_sent_count++;
    platform_sender_post(fake->sender,
                         &(struct platform_post){.port = fake->webhook_port,
                                                 .path = platform_copy(sma_str(fake->webhook_path)),
                                                 .headers = platform_copy(sma_str(headers.ptr)),
                                                 .body = platform_copy(sma_str(body.ptr)),
                                                 .timeout_ms = ANSWER_MS_MAX,
                                                 .tag = index,
                                                 .done = on_answer,
                                                 .user = fake});
    sma_buf_fini(&body);
    sma_buf_fini(&headers);
}

void fake_qq_tick_webhook(struct fake_qq *fake, uint64_t now_ms)
{
    size_t kept = 0, count = fake->webhook_retry_count;
    for (size_t i = 0; i < count; i++) {
        struct webhook_retry retry = fake->webhook_retries[i];
        if (retry.at_ms > now_ms || fake->webhook_port == 0)
            fake->webhook_retries[kept++] = retry;
        else
            fake_qq_post_event(fake, retry.payload);
    }
    fake->webhook_retry_count = kept;
}

/* -- posts of a test --------------------------------------------------------------------------- */
static json_t *post(int port, const char *path, const char *headers, const char *body)
{
    struct http_answer answer = http_post(port, path, headers, body, ANSWER_MS_MAX);
    json_t *result = json_pack("{s:i,s:s}", "status", answer.status, "body",
                               answer.body == NULL ? "" : answer.body);
    http_answer_fini(&answer);
    return result;
}

/*
 * {body, [secret, seconds, signature, app_id, without]}: seconds is added to the time; signature
 * replaces the right one;
 * without: "signature", "timestamp", "app_id" leaves that header out.
 */
static json_t *post_signed(int port, const char *path, int64_t now_ms, const json_t *command)
{
    const char *body = platform_text(command, "body", "{}"),
               *without = platform_text(command, "without", "");
    char timestamp[32], signature[129];
    struct sma_buf headers;
    snprintf(timestamp, sizeof timestamp, "%lld",
             (long long)(now_ms / 1000 + platform_number(command, "seconds", 0)));
    fake_qq_sign(platform_text(command, "secret", FAKE_QQ_SECRET), timestamp, body, signature);
    sma_buf_init(&headers, 4096);
    put_headers(
        &headers,
        strcmp(without, "app_id") == 0 ? "" : platform_text(command, "app_id", FAKE_QQ_APP_ID),
        strcmp(without, "timestamp") == 0 ? "" : timestamp,
        strcmp(without, "signature") == 0 ? "" : platform_text(command, "signature", signature));
    json_t *result = post(port, path, headers.ptr, body);
    json_object_set_new(result, "signature", json_string(signature));
    sma_buf_fini(&headers);
    return result;
}

/* {plain_token, event_ts}: is the address the bot's? -> status, body, is_valid */
static json_t *validate(int port, const char *path, int64_t now_ms, const json_t *command)
{
    char body[512], signature[129];
    const char *token = platform_text(command, "plain_token", "Arq0D5A61EgUu4OxUvOp"),
               *time = platform_text(command, "event_ts", "1725442341");
    snprintf(body, sizeof body, "{\"op\":13,\"d\":{\"plain_token\":\"%s\",\"event_ts\":\"%s\"}}",
             token, time);
    json_t *with_body = json_copy((json_t *)command);
    json_object_set_new(with_body, "body", json_string(body));
    json_t *result = post_signed(port, path, now_ms, with_body);
    json_decref(with_body);
    fake_qq_sign(FAKE_QQ_SECRET, time, token, signature);
    json_t *answer = json_loads(platform_text(result, "body", ""), 0, NULL);
    bool is_valid = platform_number(result, "status", 0) == 200 &&
                    strcmp(platform_text(answer, "plain_token", ""), token) == 0 &&
                    strcmp(platform_text(answer, "signature", ""), signature) == 0;
    json_object_set_new(result, "is_valid", json_boolean(is_valid));
    json_decref(answer);
    return result;
}

json_t *fake_qq_talk(struct fake_qq *fake, const json_t *command)
{
    const char *what = platform_text(command, "do", "");
    bool is_post = strcmp(what, "post") == 0;
    if (!is_post && strcmp(what, "validate") != 0)
        return NULL;
    char path[256];
    ws_server_lock(fake->server);
    int port = fake->webhook_port;
    int64_t now_ms = fake_qq_now_ms(fake);
    memcpy(path, fake->webhook_path, sizeof path);
    ws_server_unlock(fake->server);
    if (port == 0)
        return platform_problem("no webhook is set");
    return is_post ? post_signed(port, path, now_ms, command)
                   : validate(port, path, now_ms, command);
}
