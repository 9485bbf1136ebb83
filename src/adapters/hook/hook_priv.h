/*
 * hook_priv.h — what the files of the adapter `hooks` share.
 *
 * hook.c         the actor: one ATTEMPT, one signed POST, one class
 * hook_health.c  how each receiver stands: when to try again, what people are told
 * sign.c         the signature
 *
 * Threads: the actor's.
 * Limits:  SMA_ASK_ATTEMPT_COUNT_MAX attempts at once (the dispatcher has one open a hook);
 *          SMA_HOOK_* of limits.h.
 */
#ifndef SMA_ADAPTERS_HOOK_PRIV_H
#define SMA_ADAPTERS_HOOK_PRIV_H

#include "sma/adapter.h"
#include "sma/hooks.h"
#include "sma/limits.h"
#include "sma/net.h"
#include "sma/proxy.h"

#define HOOK_ERROR_BYTES 200

/* How the receiver of one hook stands. */
struct hook_standing
{
    unsigned failure_count; /* in a row */
    int64_t since_ms;       /* wall time of the first of them */
    uint32_t refused_count; /* events that it refused for good, since the start */
    char error[HOOK_ERROR_BYTES];
};

struct hooks;
/* One attempt on its way. */
struct hook_attempt
{
    struct hooks *hooks;
    struct sma_msg *msg; /* the question; NULL = free place */
    struct sma_net_request *request;
    size_t index; /* of the hook */
};

struct hooks
{
    uint32_t magic;
    const struct sma_config *config; /* of the start */
    struct sma_proxy proxy;
    struct sma_ctx *ctx;
    struct sma_net *net;
    bool is_closed;
    struct hook_standing standings[SMA_HOOK_COUNT_MAX]; /* as config->hooks */
    struct hook_attempt attempts[SMA_ASK_ATTEMPT_COUNT_MAX];
};

/* -- hook_health.c ----------------------------------------------------------------------------- */
/** It took an event. */
void hook_note_taken(struct hooks *hooks, size_t index);
/** It did not, and may yet: an attempt later. @return ms until the next one; said_ms: what it asks
 *  for itself, -1 = nothing */
uint32_t hook_note_failed(struct hooks *hooks, size_t index, int64_t said_ms, const char *error);
/** It refuses this event for good: the next one's turn. */
void hook_note_refused(struct hooks *hooks, size_t index, const char *error);

#endif
