/* sign.c — see sign.h. */
#include "sign.h"

#include "sma/hooks.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <stdio.h>

#define KEY_BYTES_MAX 512
#define DIGEST_BYTES 32

struct key
{
    unsigned char bytes[KEY_BYTES_MAX + 4];
    size_t len;
};

static SMA_CHECKED enum sma_err read_key(const char *secret, struct key *ret_key)
{
    size_t head = strlen(SMA_HOOK_SECRET_PREFIX), len = strlen(secret);
    if (len == 0 || len > KEY_BYTES_MAX)
        return SMA_ERR_BADINPUT;
    if (strncmp(secret, SMA_HOOK_SECRET_PREFIX, head) != 0) {
        memcpy(ret_key->bytes, secret, len);
        ret_key->len = len;
        return SMA_ERR_OK;
    }
    const char *text = secret + head;
    len -= head;
    int count = len == 0 || len % 4 != 0
                    ? -1
                    : EVP_DecodeBlock(ret_key->bytes, (const unsigned char *)text, (int)len);
    if (count < 0)
        return SMA_ERR_BADINPUT;
    for (size_t i = len; i > len - 2 && text[i - 1] == '='; i--)
        count--; /* padding is no byte of the key */
    ret_key->len = (size_t)count;
    return SMA_ERR_OK;
}

static bool digest(EVP_MAC_CTX *mac, const struct key *key, const struct hook_event *event,
                   unsigned char ret_digest[DIGEST_BYTES])
{
    char hash[] = "SHA256", middle[32];
    size_t len = 0;
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, hash, 0),
                                 OSSL_PARAM_construct_end()};
    int middle_len = snprintf(middle, sizeof middle, ".%lld.", (long long)event->seconds);
    return EVP_MAC_init(mac, key->bytes, key->len, params) == 1 &&
           EVP_MAC_update(mac, (const unsigned char *)event->id.ptr, event->id.len) == 1 &&
           EVP_MAC_update(mac, (const unsigned char *)middle, (size_t)middle_len) == 1 &&
           EVP_MAC_update(mac, (const unsigned char *)event->body.ptr, event->body.len) == 1 &&
           EVP_MAC_final(mac, ret_digest, &len, DIGEST_BYTES) == 1 && len == DIGEST_BYTES;
}

enum sma_err hook_sign(const char *secret, const struct hook_event *event,
                       char ret_signature[HOOK_SIGNATURE_BYTES])
{
    struct key key = {.len = 0};
    unsigned char bytes[DIGEST_BYTES];
    SMA_TRY(read_key(secret, &key));
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *mac = hmac == NULL ? NULL : EVP_MAC_CTX_new(hmac);
    bool is_made = mac != NULL && digest(mac, &key, event, bytes);
    EVP_MAC_CTX_free(mac);
    EVP_MAC_free(hmac);
    explicit_bzero(&key, sizeof key);
    if (!is_made)
        return SMA_ERR_NOMEM;
    memcpy(ret_signature, "v1,", 3);
    (void)EVP_EncodeBlock((unsigned char *)ret_signature + 3, bytes, DIGEST_BYTES);
    return SMA_ERR_OK;
}
