/*
 * qq_hook.h — one webhook request: is it the platform's, and what is to be answered. Pure.
 *
 * Invariants: nothing of the body is believed before its signature and age are right; an address
 *             validation is answered only when it is signed too.
 * Threads: no state. Source: protocols/qq.md §7.
 */
#ifndef SMA_QQ_HOOK_H
#define SMA_QQ_HOOK_H

#include "qq_crypto.h"
#include "qq_frame.h"
#include "sma/messages.h"

#define QQ_HOOK_ANSWER_OK "{\"op\":12,\"d\":0}"    /* an event: after it is durable */
#define QQ_HOOK_ANSWER_AGAIN "{\"op\":12,\"d\":1}" /* with status 503: deliver it again */

enum qq_hook_kind
{
    QQ_HOOK_ANSWERED, /* answer with status and body of the hook; nothing else is to be done */
    QQ_HOOK_EVENT,    /* frame is a dispatch: hand it on, answer when it is durable */
};
struct qq_hook
{
    enum qq_hook_kind kind;
    int status;            /* ANSWERED */
    struct sma_buf body;   /* ANSWERED: JSON */
    const char *why;       /* ANSWERED with a refusal: constant text for the log; else "" */
    struct qq_frame frame; /* EVENT */
};
/**
 * @secret  the bot's; empty: every request is refused
 * @app_id  when not empty, a header X-Bot-Appid that names another bot is refused
 * @return  OK (release with qq_hook_fini) | NOMEM
 */
SMA_CHECKED enum sma_err qq_hook_read(const struct sma_webhook *webhook, struct sma_str secret,
                                      struct sma_str app_id, int64_t now_wall_ms,
                                      struct qq_hook *ret_hook);
void qq_hook_fini(struct qq_hook *hook); /* accepts a zeroed struct */

#endif
