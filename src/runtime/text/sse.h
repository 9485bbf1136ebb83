/*
 * sse.h — bytes to server-sent events, fed in any pieces.
 *
 * Rules (protocols/llm.md §1): LF, CRLF or lone CR ends a line; an empty line dispatches; lines
 * that start with ':' are comments; one space after the colon is dropped; several data lines join
 * with LF; a BOM may stand at the start; events without data are skipped, but what they say of
 * `id` counts.
 * Invariants: the events do not depend on how the bytes were split.
 * Limits:     SMA_SSE_LINE_BYTES_MAX for a line and for an event's data; over it the parser stops
 *             with TOOBIG.
 * Threads:    the owner only.
 */
#ifndef SMA_TEXT_SSE_H
#define SMA_TEXT_SSE_H

#include "sma/buf.h"
#include "sma/limits.h"

/** One event. `name` is empty when the stream named none; both slices are valid during the call
 *  only. */
typedef void sma_sse_event_fn(void *user, struct sma_str name, struct sma_str data);

struct sma_sse
{
    sma_sse_event_fn *on_event;
    void *user;
    struct sma_buf line, name, data;
    char id[SMA_SSE_ID_BYTES_MAX + 1]; /* of the newest whole event that named one; "" = none */
    char next_id[SMA_SSE_ID_BYTES_MAX + 1];
    int64_t retry_ms; /* what the stream asks to wait before it is asked again; -1 = nothing */
    bool is_started, is_lf_skipped, has_data, has_next_id;
    enum sma_err err;
};

void sma_sse_init(struct sma_sse *sse, sma_sse_event_fn *on_event, void *user);
void sma_sse_fini(struct sma_sse *sse);
/** Take less than SMA_SSE_LINE_BYTES_MAX for a line and for an event's data. */
void sma_sse_limit(struct sma_sse *sse, size_t bytes_max);
/** Forget everything, keep the allocations: ready for another stream. */
void sma_sse_reset(struct sma_sse *sse);
/**
 * @return OK, or TOOBIG | NOMEM (sticky: later calls do nothing)
 * Allocates: grows its buffers. Blocks: never.
 */
SMA_CHECKED enum sma_err sma_sse_feed(struct sma_sse *sse, const char *bytes, size_t len);
/** The stream has ended: an unfinished last line and event are dispatched too (the consumer judges
 *  them). */
SMA_CHECKED enum sma_err sma_sse_finish(struct sma_sse *sse);

#endif
