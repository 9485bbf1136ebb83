/*
 * feishu_crypto.h — webhook mode: decryption, signature, replay window, verification token, and
 * their order.
 *
 * Never open by default: without an encrypt key and without a verification token every request is
 * rejected. Secrets are compared in constant time.
 *
 * Threads: no state; the caller's.
 * Limits:  FEISHU_WEBHOOK_BYTES_MAX of a body; over it TOOBIG.
 * Source:  protocols/feishu.md §5.
 */
#ifndef SMA_FEISHU_CRYPTO_H
#define SMA_FEISHU_CRYPTO_H

#include "sma/buf.h"

#define FEISHU_WEBHOOK_BYTES_MAX (4 * 1024 * 1024)
#define FEISHU_REPLAY_WINDOW_S \
    3600 /* signatures older or newer than this are rejected; redeliveries are signed anew */
#define FEISHU_SIGNATURE_HEX 64      /* SHA-256 */
#define FEISHU_CARD_SIGNATURE_HEX 40 /* SHA-1, old card webhook */

/**
 * Append the plain text of an "encrypt" member.
 * @return OK | BADINPUT: not base64, shorter than 32 bytes, not whole blocks, wrong padding
 *         (usually: another key) | TOOBIG | NOMEM | IO: libcrypto failed
 */
SMA_CHECKED enum sma_err feishu_decrypt(struct sma_str encrypt_key, struct sma_str base64,
                                        struct sma_buf *plain);

/* What is hashed, in this order; raw_body is the body as received, still encrypted. */
struct feishu_signed
{
    struct sma_str timestamp, nonce, secret, raw_body;
};
/** Lower-case hex SHA-256 and a NUL. secret = encrypt key. */
SMA_CHECKED enum sma_err feishu_signature(const struct feishu_signed *parts,
                                          char ret_hex[FEISHU_SIGNATURE_HEX + 1]);
/** The old card webhook's: lower-case hex SHA-1. secret = verification token. */
SMA_CHECKED enum sma_err feishu_card_signature(const struct feishu_signed *parts,
                                               char ret_hex[FEISHU_CARD_SIGNATURE_HEX + 1]);
/** Whether two secrets are equal; the time depends on lengths only. An empty `wanted` equals
 *  nothing. */
bool feishu_secret_is_equal(struct sma_str wanted, struct sma_str given);
/** Whether timestamp (decimal seconds) lies within FEISHU_REPLAY_WINDOW_S of now_wall_ms. */
bool feishu_timestamp_is_fresh(struct sma_str timestamp, int64_t now_wall_ms);

/* -- the whole way from a request to an event -------------------------------------------------- */
struct feishu_webhook_secrets
{
    struct sma_str encrypt_key, verification_token; /* empty = not configured */
};
struct feishu_webhook_request
{
    struct sma_str timestamp, nonce,
        signature; /* headers X-Lark-Request-Timestamp, -Nonce, X-Lark-Signature */
    struct sma_str body;
    int64_t now_wall_ms;
};
enum feishu_webhook_kind
{
    FEISHU_WEBHOOK_EVENT,     /* plain = event JSON, authenticated; for feishu_event_parse */
    FEISHU_WEBHOOK_CHALLENGE, /* plain = the JSON body to answer with status 200 */
    FEISHU_WEBHOOK_REJECTED,  /* answer `status`, empty body; why = constant text for the log */
};
struct feishu_webhook_verdict
{
    enum feishu_webhook_kind kind;
    int status;      /* HTTP status to answer when REJECTED (400, 401, 413) */
    const char *why; /* "" unless REJECTED */
};
/**
 * Decrypt, answer a challenge, check signature, replay window and token. A challenge needs no
 * signature, but must have come encrypted or carry the verification token. With an encrypt key
 * every event needs a valid signature; with a verification token every event needs that token; with
 * neither all fail.
 * @plain   empty, with a maximum of at least FEISHU_WEBHOOK_BYTES_MAX; holds the verdict's bytes
 * @return  OK with *ret_verdict | NOMEM | IO (libcrypto): answer 503, the platform delivers again
 */
SMA_CHECKED enum sma_err feishu_webhook_read(const struct feishu_webhook_secrets *secrets,
                                             const struct feishu_webhook_request *request,
                                             struct sma_buf *plain,
                                             struct feishu_webhook_verdict *ret_verdict);

#endif
