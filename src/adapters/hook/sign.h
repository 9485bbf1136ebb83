/*
 * sign.h — how an event is signed: HMAC-SHA256 over "<id>.<seconds>.<body>", as Standard Webhooks
 * has it, for which receivers find libraries in every language.
 *
 * Source: github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Signature
 *         scheme". The time is signed, so that an old event cannot be sent again; the id is the key
 *         by which a receiver knows a repeat.
 * Threads: pure.
 */
#ifndef SMA_ADAPTERS_HOOK_SIGN_H
#define SMA_ADAPTERS_HOOK_SIGN_H

#include "sma/base.h"

#define HOOK_SIGNATURE_BYTES 64 /* "v1,", 44 of base64, NUL */

struct hook_event
{
    struct sma_str id, body;
    int64_t seconds; /* since 1970 */
};
/** secret: as in ship.json; what stands behind "whsec_" is base64. @return OK | BADINPUT: it is
 *  not, or longer than 512 bytes | NOMEM */
SMA_CHECKED enum sma_err hook_sign(const char *secret, const struct hook_event *event,
                                   char ret_signature[HOOK_SIGNATURE_BYTES]);

#endif
