/* qq_crypto.c — see qq_crypto.h. */
#include "qq_crypto.h"

#include "sma/text.h"

#include <openssl/evp.h>
#include <stdlib.h>

#define SIGNATURE_BYTES 64u

static void free_key(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}
static void free_digest(EVP_MD_CTX **digest)
{
    EVP_MD_CTX_free(*digest);
}

enum sma_err qq_seed_make(struct sma_str secret, unsigned char ret_seed[32])
{
    if (secret.len == 0)
        return SMA_ERR_BADINPUT;
    for (size_t i = 0; i < 32; i++)
        ret_seed[i] = (unsigned char)secret.ptr[i % secret.len];
    return SMA_ERR_OK;
}

static EVP_PKEY *make_key(struct sma_str secret)
{
    unsigned char seed[32];
    if (qq_seed_make(secret, seed) != SMA_ERR_OK)
        return NULL;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
    OPENSSL_cleanse(seed, sizeof seed);
    return key;
}

/* Ed25519 signs a whole message at once, so the two parts must lie side by side. */
static SMA_CHECKED enum sma_err join(struct sma_str a, struct sma_str b, struct sma_buf *joined)
{
    sma_buf_init(joined, a.len + b.len + 1);
    sma_buf_put_str(joined, a);
    sma_buf_put_str(joined, b);
    return joined->err;
}

enum sma_err qq_sign(struct sma_str secret, struct sma_str a, struct sma_str b, struct sma_buf *hex)
{
    SMA_AUTO(free_key) EVP_PKEY *key = make_key(secret);
    if (key == NULL)
        return SMA_ERR_BADINPUT;
    SMA_AUTO(free_digest) EVP_MD_CTX *digest = EVP_MD_CTX_new();
    SMA_AUTO(sma_buf_fini) struct sma_buf joined = {0};
    enum sma_err err = join(a, b, &joined);
    if (err != SMA_ERR_OK)
        return err;
    unsigned char signature[SIGNATURE_BYTES];
    size_t len = sizeof signature;
    if (digest == NULL || EVP_DigestSignInit(digest, NULL, NULL, NULL, key) != 1 ||
        EVP_DigestSign(digest, signature, &len,
                       (const unsigned char *)(joined.len == 0 ? "" : joined.ptr), joined.len) != 1)
        return SMA_ERR_IO;
    for (size_t i = 0; i < len; i++)
        sma_buf_printf(hex, "%02x", signature[i]);
    return hex->err;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    char lower = (char)(digit | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool read_signature(struct sma_str hex, unsigned char ret_signature[SIGNATURE_BYTES])
{
    if (hex.len != 2 * SIGNATURE_BYTES)
        return false;
    for (size_t i = 0; i < SIGNATURE_BYTES; i++) {
        int high = hex_digit(hex.ptr[2 * i]), low = hex_digit(hex.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_signature[i] = (unsigned char)(high * 16 + low);
    }
    /* A scalar has its upper three bits clear; others would make signatures malleable. */
    return (ret_signature[SIGNATURE_BYTES - 1] & 0xe0) == 0;
}

static bool is_in_window(struct sma_str timestamp, int64_t now_wall_ms)
{
    int64_t signed_s;
    if (sma_parse_i64(timestamp, 0, INT64_MAX / 1000, &signed_s) != SMA_ERR_OK)
        return false;
    int64_t age_s = now_wall_ms / 1000 - signed_s;
    return age_s <= QQ_REPLAY_WINDOW_S && age_s >= -QQ_REPLAY_WINDOW_S;
}

enum sma_err qq_verify(struct sma_str secret, struct sma_str signature_hex,
                       struct sma_str timestamp, struct sma_str body, int64_t now_wall_ms)
{
    unsigned char signature[SIGNATURE_BYTES];
    if (timestamp.len == 0 || !read_signature(signature_hex, signature))
        return SMA_ERR_BADINPUT;
    SMA_AUTO(free_key) EVP_PKEY *key = make_key(secret);
    if (key == NULL)
        return SMA_ERR_BADINPUT;
    SMA_AUTO(free_digest) EVP_MD_CTX *digest = EVP_MD_CTX_new();
    SMA_AUTO(sma_buf_fini) struct sma_buf joined = {0};
    SMA_TRY(join(timestamp, body, &joined));
    if (digest == NULL || EVP_DigestVerifyInit(digest, NULL, NULL, NULL, key) != 1 ||
        EVP_DigestVerify(digest, signature, sizeof signature, (const unsigned char *)joined.ptr,
                         joined.len) != 1)
        return SMA_ERR_BADINPUT;
    return is_in_window(timestamp, now_wall_ms) ? SMA_ERR_OK : SMA_ERR_TIMEOUT;
}
