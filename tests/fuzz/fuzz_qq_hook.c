/*
 * Webhook requests of QQ. The first byte chooses: '0' everything as it comes: a time, a line feed,
 * a signature, a line feed, the body; '1' a body that is signed here, so that what lies behind the
 * signature is reached.
 * Promises: what is not signed with the secret is answered 4xx; an answer is JSON-sized and has a
 * status; and nothing that is signed for a stranger can be used as the signature of an event.
 */
#include "fuzz.h"

#include "adapters/qq/qq_hook.h"
#include "sma/text.h"

#include <stdlib.h>

#define NOW_MS INT64_C(1763755010000)
#define TIME "1763755000"

static const struct sma_str secret = {"DG5g3B4j9X2KOErG", 16};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_hook(const struct qq_hook *hook, bool is_signed)
{
    if (hook->kind == QQ_HOOK_EVENT) {
        require(is_signed && hook->frame.op == QQ_OP_DISPATCH);
        return;
    }
    require(hook->status >= 200 && hook->status < 600 && hook->body.len > 0);
    require((hook->status == 200) == (hook->why[0] == '\0'));
    require(is_signed || hook->status == 401 || hook->status == 403);
    if (hook->frame.op == QQ_OP_VALIDATION && hook->status == 200)
        require(memmem(hook->body.ptr, hook->body.len, "\\", 1) == NULL);
}

static void ask(struct sma_str time, struct sma_str signature, struct sma_str body, bool is_signed)
{
    struct sma_buf headers;
    struct qq_hook hook;
    sma_buf_init(&headers, 64 + time.len + signature.len + 128);
    sma_buf_put_text(&headers, "X-Signature-Timestamp: ");
    sma_buf_put_str(&headers, time);
    sma_buf_put_text(&headers, "\r\nX-Signature-Ed25519: ");
    sma_buf_put_str(&headers, signature);
    sma_buf_put_text(&headers, "\r\n");
    require(headers.err == SMA_ERR_OK);
    struct sma_webhook webhook = {.headers = sma_buf_str(&headers), .body = body};
    require(qq_hook_read(&webhook, secret, SMA_STR(""), NOW_MS, &hook) == SMA_ERR_OK);
    check_hook(&hook, is_signed);
    qq_hook_fini(&hook);
    sma_buf_fini(&headers);
}

static struct sma_str take_line(struct sma_str *rest)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->ptr, '\n', rest->len);
    struct sma_str line = {rest->ptr, end == NULL ? rest->len : (size_t)(end - rest->ptr)};
    size_t used = line.len + (end != NULL);
    rest->ptr += used;
    rest->len -= used;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    if (bytes[0] == '0') {
        struct sma_str time = take_line(&rest), signature = take_line(&rest);
        struct sma_buf own;
        sma_buf_init(&own, 256);
        require(qq_sign(secret, time, rest, &own) == SMA_ERR_OK);
        bool is_signed = sma_str_is_equal_nocase(sma_buf_str(&own), sma_str_trim(signature));
        sma_buf_fini(&own);
        ask(time, signature, rest, is_signed);
    } else if (bytes[0] == '1') {
        struct sma_buf own;
        sma_buf_init(&own, 256);
        require(qq_sign(secret, SMA_STR(TIME), rest, &own) == SMA_ERR_OK);
        ask(SMA_STR(TIME), sma_buf_str(&own), rest, true);
        sma_buf_fini(&own);
    }
    return 0;
}
