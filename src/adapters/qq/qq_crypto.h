/*
 * qq_crypto.h — the signatures of webhook requests: Ed25519 with a key made from the bot's secret.
 *
 * Invariants: an empty secret is refused (never a key anybody can make); a request is only believed
 *             when signature and age are right; bytes are verified as received.
 * Threads: no state. Source: protocols/qq.md §7.
 */
#ifndef SMA_QQ_CRYPTO_H
#define SMA_QQ_CRYPTO_H

#include "sma/buf.h"

#define QQ_REPLAY_WINDOW_S 300 /* a signed time further away from ours than this is refused */

/** 32 bytes of seed: the secret repeated. @return OK | BADINPUT: the secret is empty */
SMA_CHECKED enum sma_err qq_seed_make(struct sma_str secret, unsigned char ret_seed[32]);
/** Hex signature over `a` followed by `b`. @return OK | BADINPUT | IO (libcrypto) */
SMA_CHECKED enum sma_err qq_sign(struct sma_str secret, struct sma_str a, struct sma_str b,
                                 struct sma_buf *hex);
/**
 * Is this request the platform's?
 * @signature_hex, @timestamp  headers X-Signature-Ed25519 and X-Signature-Timestamp, as received
 * @return OK | BADINPUT: not signed with this secret | TIMEOUT: signed, but too old or from the
 * future
 */
SMA_CHECKED enum sma_err qq_verify(struct sma_str secret, struct sma_str signature_hex,
                                   struct sma_str timestamp, struct sma_str body,
                                   int64_t now_wall_ms);

#endif
