/*
 * traffic.h — the log lines of ordinary traffic: one for a message accepted, a run begun, a model
 * asked, a tool used, an answer delivered, a run ended. What each says: docs/notes/seen.md.
 *
 *     struct sma_traffic line;
 *     if (sma_traffic_begin(&line, ctx, SMA_LOG_INFO, "tool_call", seq, chat_key)) {
 *         sma_traffic_str(&line, "tool", name);
 *         sma_traffic_u64(&line, "ms", ms);
 *         sma_traffic_end(&line);
 *     }
 *
 * They hold ids, names of ours, numbers and outcomes: never what people, models or commands wrote.
 * Invariants: a line costs no allocation but its message. Under load an actor says at most
 *             SMA_TRAFFIC_LINE_COUNT_S of them a second and leaves half of its log lane to
 *             warnings; what is left out is counted (log_dropped_total) and said by the log actor.
 * Thread:     the actor's.
 */
#ifndef SMA_ACTORS_TRAFFIC_H
#define SMA_ACTORS_TRAFFIC_H

#include "sma/actor.h"

#define SMA_TRAFFIC_BYTES_MAX 1024
#define SMA_TRAFFIC_VALUE_BYTES_MAX 200 /* of one text; cut beyond */

struct sma_traffic
{
    struct sma_ctx *ctx;
    enum sma_log_level level;
    bool is_cut; /* a member did not fit and was left out */
    size_t len;
    char json[SMA_TRAFFIC_BYTES_MAX];
    size_t text_len;
    char text
        /* the same for people: "tool_call telegram:1 run 7 tool exec_shell ms 12" */
        [SMA_TRAFFIC_BYTES_MAX];
};

/** false: not wanted at this level, or too much for now; nothing more to do. seq 0: no run. event:
 *  a name of ours. */
bool sma_traffic_begin(struct sma_traffic *line, struct sma_ctx *ctx, enum sma_log_level level,
                       const char *event, uint64_t seq, struct sma_str chat_key);
/** A text of ours, an id or a name. Empty ones are left out. */
void sma_traffic_str(struct sma_traffic *line, const char *key, struct sma_str value);
void sma_traffic_u64(struct sma_traffic *line, const char *key, uint64_t value);
void sma_traffic_bool(struct sma_traffic *line, const char *key, bool value);
/** Nanoseconds between two moments as whole milliseconds; left out when `from` is 0 or later than
 *  `to`. */
void sma_traffic_ms(struct sma_traffic *line, const char *key, uint64_t from_ns, uint64_t to_ns);
void sma_traffic_end(struct sma_traffic *line);

#endif
