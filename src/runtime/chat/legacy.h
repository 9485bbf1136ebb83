/*
 * legacy.h — what the old program left under `.ship/.cache`, given to callbacks once, at the first
 * start of a project.
 *
 * Read: ingress markers, Telegram's last update id, Feishu's seen message ids, the initiators of
 * group threads (protocols/project.md §1.4, §5.6). Nothing is changed. Whatever is not as expected
 * is left
 * out: old state must never keep a project from starting.
 * Threads: the owner only. Blocks on the disk.
 */
#ifndef SMA_RUNTIME_CHAT_LEGACY_H
#define SMA_RUNTIME_CHAT_LEGACY_H

#include "sma/sys.h"

#define SMA_LEGACY_FILE_BYTES_MAX (4 * 1024 * 1024) /* larger files are left out */
#define SMA_LEGACY_MARKER_COUNT_MAX \
    4000000 /* markers beyond are not read: CLAIM_COUNT_MAX leaves room */

struct sma_legacy_sink
{
    void *self;
    /* One message that was already accepted. claimed_ms is 0 when it is not known. */
    enum sma_err (*claim)(void *self, struct sma_str channel, struct sma_str chat_key,
                          struct sma_str message_id, int64_t claimed_ms);
    /* Highest update_id that was fetched; > 0. */
    enum sma_err (*telegram_update)(void *self, int64_t update_id);
    /* Who started a group's thread. channel is "telegram" or "feishu". */
    enum sma_err (*initiator)(void *self, struct sma_str channel, struct sma_str chat_key,
                              struct sma_str user_id);
};
struct sma_legacy_counts
{
    uint64_t claims, initiators;
    uint64_t skipped; /* files that could not be used */
};

/**
 * Walk `<ship_directory>/.cache`. Slices are valid during a callback only; a NULL callback is not
 * called. An error from a callback ends the walk with that error. A missing folder is an empty one.
 * @ret_counts  may be NULL
 * @return OK | NOMEM | TOOBIG (more than SMA_LEGACY_MARKER_COUNT_MAX markers; what was given
 * stands) | the callback's
 */
SMA_CHECKED enum sma_err sma_legacy_walk(const struct sma_sys *sys, const char *ship_directory,
                                         const struct sma_legacy_sink *sink,
                                         struct sma_legacy_counts *ret_counts,
                                         struct sma_error *error);

#endif
