/*
 * bot.h — names of bots: a platform may have several, each a channel of its own.
 *
 * The first bot of a platform (its block in ship.json is an object, or names no `id`) is called as
 * the platform is: "telegram". Another one is "telegram@<id>". That name is its channel in routes,
 * history and records, the head of its chat keys ("telegram@support:chat:1001"), the name of its
 * actor, folder and cursor, and what status, /health, /metrics and log lines call it. No '@' stands
 * in the name of a platform, so the two can be told apart without a table.
 *
 * Threads: pure.
 */
#ifndef SMA_BOT_H
#define SMA_BOT_H

#include "sma/base.h"

#define SMA_BOT_ID_BYTES_MAX 16 /* what people read in a line, and file names hold */
#define SMA_BOT_ID_RULE "1 to 16 of a-z 0-9 _ -, a letter or digit first"
#define SMA_BOT_NAME_BYTES_MAX 64 /* platform, '@', id, NUL; platforms are ours and short */

/** The platform of a channel: "telegram" of "telegram@support", and of "telegram". */
static inline struct sma_str sma_bot_platform(struct sma_str name)
{
    const char *at = name.len == 0 ? NULL : (const char *)memchr(name.ptr, '@', name.len);
    return at == NULL ? name : (struct sma_str){name.ptr, (size_t)(at - name.ptr)};
}

/** Its id: "support"; empty: the first of its platform. */
static inline struct sma_str sma_bot_id(struct sma_str name)
{
    size_t head = sma_bot_platform(name).len;
    return head == name.len ? SMA_STR("")
                            : (struct sma_str){name.ptr + head + 1, name.len - head - 1};
}

static inline bool sma_bot_is_of(struct sma_str name, const char *platform)
{
    return sma_str_is_equal(sma_bot_platform(name), sma_str(platform));
}

/** A platform's name speaks of all its bots, a bot's of that one. */
static inline bool sma_bot_is_named(struct sma_str word, struct sma_str channel)
{
    return sma_str_is_equal(word, channel) || sma_str_is_equal(word, sma_bot_platform(channel));
}

/** Lower case alone: there are file systems that know no capitals. */
static inline bool sma_bot_id_is_good(struct sma_str id)
{
    bool is_good = id.len > 0 && id.len <= SMA_BOT_ID_BYTES_MAX;
    for (size_t i = 0; is_good && i < id.len; i++) {
        char byte = id.ptr[i];
        is_good = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                  (i > 0 && (byte == '_' || byte == '-'));
    }
    return is_good;
}

/**
 * Does what somebody wrote for `written` speak of who comes by `channel`? At Telegram an id is one
 * person's for every bot, so "telegram:1001" holds at all of them, and "telegram@support:1001" at
 * one. Elsewhere each bot has ids of its own for the same people: only its own name names it.
 */
static inline bool sma_bot_is_meant(struct sma_str written, struct sma_str channel)
{
    return sma_str_is_equal(written, channel) ||
           (sma_str_is_equal(written, SMA_STR("telegram")) && sma_bot_is_of(channel, "telegram"));
}

#endif
