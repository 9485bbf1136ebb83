/*
 * hooks.h — `hooks` of ship.json: addresses that are told when a run has ended. Made by
 * runtime/config, read by the store (which ends are told where) and the adapter `hooks` (which
 * sends them).
 *
 * A hook is a place of its own, like a chat: its events are rows of the outbox under the channel
 * SMA_HOOK_CHANNEL and the key "hook:<name>", go out in order, one at a time, and wait over
 * restarts.
 * Threads: immutable.
 * Limits:  SMA_HOOK_COUNT_MAX hooks, SMA_HOOK_TEXT_BYTES_MAX of an answer's text.
 */
#ifndef SMA_HOOKS_H
#define SMA_HOOKS_H

#include "sma/base.h"

#define SMA_HOOK_CHANNEL "hook"
#define SMA_HOOK_KEY_PREFIX "hook:"
#define SMA_HOOK_SECRET_PREFIX "whsec_" /* of a key in base64, as Standard Webhooks writes it */

/* How a run ends, as the words of hooks.<name>.ends. */
enum sma_hook_end
{
    SMA_HOOK_ANSWERED,
    SMA_HOOK_FAILED,
    SMA_HOOK_CANCELLED,
    SMA_HOOK_GIVEN_UP,
    SMA_HOOK_END_COUNT
};
#define SMA_HOOK_END_WORDS "answered,failed,cancelled,given_up"

struct sma_hook
{
    const char *name, *url, *secret;
    const char *const *chats; /* patterns as in `chats`; none = every chat */
    size_t chat_count;
    uint32_t ends; /* bit = enum sma_hook_end */
    bool has_text; /* what was answered is sent, too */
};

/** Is this the channel of hooks, where no people are? */
static inline bool sma_hook_is_channel(struct sma_str channel)
{
    return sma_str_is_equal(channel, SMA_STR(SMA_HOOK_CHANNEL));
}

#endif
