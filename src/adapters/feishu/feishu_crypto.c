/* feishu_crypto.c — see feishu_crypto.h. */
#include "feishu_crypto.h"

#include <limits.h>
#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "sma/text.h"

#define BLOCK_BYTES 16
#define KEY_BYTES 32

static void free_cipher(EVP_CIPHER_CTX **context)
{
    EVP_CIPHER_CTX_free(*context);
}

static void free_digest(EVP_MD_CTX **context)
{
    EVP_MD_CTX_free(*context);
}

static bool is_base64(struct sma_str text)
{
    if (text.len == 0 || text.len % 4 != 0)
        return false;
    size_t padding = text.ptr[text.len - 1] != '=' ? 0 : text.ptr[text.len - 2] != '=' ? 1 : 2;
    for (size_t i = 0; i < text.len - padding; i++) {
        char byte = text.ptr[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        if (!is_letter && !(byte >= '0' && byte <= '9') && byte != '+' && byte != '/')
            return false;
    }
    return true;
}

/* EVP_DecodeBlock skips blanks and gives no length without padding: the form is checked before. */
static enum sma_err decode_base64(struct sma_str base64, unsigned char **ret_bytes, size_t *ret_len)
{
    if (!is_base64(base64))
        return SMA_ERR_BADINPUT;
    SMA_AUTO(sma_freep) unsigned char *bytes = malloc(base64.len / 4 * 3 + 1);
    if (bytes == NULL)
        return SMA_ERR_NOMEM;
    int len = EVP_DecodeBlock(bytes, (const unsigned char *)base64.ptr, (int)base64.len);
    if (len < 0)
        return SMA_ERR_BADINPUT;
    size_t padding = base64.ptr[base64.len - 1] != '='   ? 0
                     : base64.ptr[base64.len - 2] != '=' ? 1
                                                         : 2;
    *ret_len = (size_t)len - padding;
    *ret_bytes = SMA_TAKE(bytes);
    return SMA_ERR_OK;
}

static enum sma_err decrypt_blocks(const unsigned char key[KEY_BYTES], const unsigned char *raw,
                                   size_t raw_len, struct sma_buf *plain)
{
    SMA_AUTO(free_cipher) EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context == NULL)
        return SMA_ERR_NOMEM;
    if (EVP_DecryptInit_ex(context, EVP_aes_256_cbc(), NULL, key, raw) != 1)
        return SMA_ERR_IO;
    char *room = sma_buf_reserve(plain, raw_len); /* a block more than can come out */
    if (room == NULL)
        return plain->err;
    int len = 0, last_len = 0;
    if (EVP_DecryptUpdate(context, (unsigned char *)room, &len, raw + BLOCK_BYTES,
                          (int)(raw_len - BLOCK_BYTES)) != 1)
        return SMA_ERR_IO;
    if (EVP_DecryptFinal_ex(context, (unsigned char *)room + len, &last_len) != 1)
        return SMA_ERR_BADINPUT; /* padding: the key is another one, or bytes were changed */
    plain->len += (size_t)len + (size_t)last_len;
    plain->ptr[plain->len] = '\0';
    return SMA_ERR_OK;
}

enum sma_err feishu_decrypt(struct sma_str encrypt_key, struct sma_str base64,
                            struct sma_buf *plain)
{
    if (base64.len > FEISHU_WEBHOOK_BYTES_MAX)
        return SMA_ERR_TOOBIG;
    SMA_AUTO(sma_freep) unsigned char *raw = NULL;
    size_t raw_len = 0;
    enum sma_err err = decode_base64(base64, &raw, &raw_len);
    if (err != SMA_ERR_OK)
        return err;
    if (raw_len < 2 * BLOCK_BYTES || raw_len % BLOCK_BYTES != 0)
        return SMA_ERR_BADINPUT;
    unsigned char key[EVP_MAX_MD_SIZE];
    unsigned key_len = 0;
    if (EVP_Digest(encrypt_key.len == 0 ? "" : encrypt_key.ptr, encrypt_key.len, key, &key_len,
                   EVP_sha256(), NULL) != 1 ||
        key_len != KEY_BYTES)
        return SMA_ERR_IO;
    err = decrypt_blocks(key, raw, raw_len, plain);
    OPENSSL_cleanse(key, sizeof key);
    return err;
}

static enum sma_err hash_parts(const EVP_MD *algorithm, const struct feishu_signed *parts,
                               char *hex, size_t hex_len)
{
    static const char digits[] = "0123456789abcdef";
    const struct sma_str pieces[] = {parts->timestamp, parts->nonce, parts->secret,
                                     parts->raw_body};
    SMA_AUTO(free_digest) EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context == NULL)
        return SMA_ERR_NOMEM;
    if (EVP_DigestInit_ex(context, algorithm, NULL) != 1)
        return SMA_ERR_IO;
    for (size_t i = 0; i < SMA_COUNT_OF(pieces); i++) {
        if (pieces[i].len > 0 && EVP_DigestUpdate(context, pieces[i].ptr, pieces[i].len) != 1)
            return SMA_ERR_IO;
    }
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned hash_len = 0;
    if (EVP_DigestFinal_ex(context, hash, &hash_len) != 1 || 2 * (size_t)hash_len != hex_len)
        return SMA_ERR_IO;
    for (unsigned i = 0; i < hash_len; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }
    hex[hex_len] = '\0';
    return SMA_ERR_OK;
}

enum sma_err feishu_signature(const struct feishu_signed *parts,
                              char ret_hex[FEISHU_SIGNATURE_HEX + 1])
{
    return hash_parts(EVP_sha256(), parts, ret_hex, FEISHU_SIGNATURE_HEX);
}

enum sma_err feishu_card_signature(const struct feishu_signed *parts,
                                   char ret_hex[FEISHU_CARD_SIGNATURE_HEX + 1])
{
    return hash_parts(EVP_sha1(), parts, ret_hex, FEISHU_CARD_SIGNATURE_HEX);
}

bool feishu_secret_is_equal(struct sma_str wanted, struct sma_str given)
{
    return wanted.len > 0 && wanted.len == given.len &&
           CRYPTO_memcmp(wanted.ptr, given.ptr, wanted.len) == 0;
}

bool feishu_timestamp_is_fresh(struct sma_str timestamp, int64_t now_wall_ms)
{
    int64_t then_s = 0;
    if (sma_parse_i64(timestamp, 0, INT64_MAX / 2000, &then_s) != SMA_ERR_OK)
        return false;
    int64_t distance_s = now_wall_ms / 1000 - then_s;
    return distance_s <= FEISHU_REPLAY_WINDOW_S && distance_s >= -FEISHU_REPLAY_WINDOW_S;
}
