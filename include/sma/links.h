/*
 * links.h — how each platform's connection stands: since when, when it last brought an event, what
 * went wrong last. For /api/status and /metrics.
 *
 * Written by the platform's adapter, read by whoever is asked. A platform is known from its first
 * word here on.
 * Threads: any; times are relaxed atomics, texts stand under a lock of their own (held for a copy).
 *          Limits: as many platforms as labels.h has places; SMA_LINK_ERROR_BYTES_MAX of a text,
 *          cut beyond.
 */
#ifndef SMA_LINKS_H
#define SMA_LINKS_H

#include "sma/buf.h"

#define SMA_LINK_ERROR_BYTES_MAX 320

/** platform: as in ship.json. The connection stands (again); nothing when it did already. */
void sma_link_up(const char *platform, int64_t wall_ms);
/** It does not; text says why, empty = it was to end. */
void sma_link_down(const char *platform, int64_t wall_ms, struct sma_str text);
/** Something went wrong without ending it. */
void sma_link_error(const char *platform, int64_t wall_ms, struct sma_str text);
/** The proxy it goes through, without user and password; "" = none. */
void sma_link_via(const char *platform, const char *proxy);
/** It brought an event. */
void sma_link_event(const char *platform, int64_t wall_ms);
/** Its messages are dated so long before our clock (< 0: after it); 0 = they agree. */
void sma_link_clock(const char *platform, int64_t offset_ms);
/** Append
 *  {"telegram":{"connected":true,"since":"...","lastEventAt":"...",
 *   "clockOffsetS":-90,"proxy":"...","lastError":{"time":"...","text":"..."}},...};
 *  members that are not known are left out. The texts may hold what the platform or a URL did:
 *  redact them. */
void sma_links_format(struct sma_buf *json);

/* -- where requests to a model go, by key (runtime/model/target.h) ----------------------------- */
/** It is configured. */
void sma_target_known(struct sma_str key);
void sma_target_answered(struct sma_str key, int64_t wall_ms);
/** until_ms: wall time before which it is not asked again; 0 = it is. */
void sma_target_failed(struct sma_str key, int64_t wall_ms, int64_t until_ms, struct sma_str text);
/** Append {"<key>":{"state":"ok","lastAnswerAt":...,"lastError":{...}},...}: state is "unused",
 *  "ok", "failing", or "cooled" with "cooledUntil". */
void sma_targets_format(struct sma_buf *json, int64_t wall_ms);

/* -- MCP servers, by name ---------------------------------------------------------------------- */
#define SMA_SERVERS_BYTES_MAX (32 * 1024) /* further ones are not shown */
/** What the mcp actor knows of them: a JSON object, replaces the last one. Empty: there is no such
 *  actor. */
void sma_servers_put(struct sma_str json);
/** Append it, {} when there is none. */
void sma_servers_format(struct sma_buf *json);
#define SMA_PROMPTS_BYTES_MAX (32 * 1024) /* further ones are counted */
/** Their prompts for /prompts: lines "<trust>/server:prompt argument - what it does\n", trust a
 *  digit (enum sma_mcp_trust); at the end maybe "<count>\n" of those left out. Replaces those
 *  before. Clean, but said by servers. */
void sma_prompts_put(struct sma_str lines);
/** Append them; nothing when there are none. */
void sma_prompts_format(struct sma_buf *lines);
void sma_links_reset(void); /* tests only */

#endif
