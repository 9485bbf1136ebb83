/*
 * trace.h — the life of a run in a few bytes: what happened to it, when, and how long it took.
 *
 * The run notes records as they happen; each STEP and the DONE carry those since the one before to
 * the store, which keeps them without reading them and joins them in the run's result. No words of
 * people, models or commands are in them.
 *
 *   record   kind u8, size u8, `size` bytes: wall ms as i64, then numbers and names as the kind has
 *   them. A number is
 *            LEB128, a name its length as a number and its bytes. A reader passes over kinds that
 *            it does not know.
 *
 * Limits: SMA_TRACE_BYTES_MAX between two steps; further records are left out, and a record says
 * so.
 * Threads: the owner's.
 */
#ifndef SMA_RUNTIME_AGENT_TRACE_H
#define SMA_RUNTIME_AGENT_TRACE_H

#include "sma/buf.h"
#include "sma/messages.h"

#define SMA_TRACE_BYTES_MAX 1024
#define SMA_TRACE_NAME_BYTES_MAX 100 /* cut beyond */

struct sma_trace
{
    uint32_t len;
    bool is_cut;
    char bytes[SMA_TRACE_BYTES_MAX];
};

/** The run begins, or goes on after waiting or after a restart. stamps: of this life, 0 = not
 *  known. */
void sma_trace_begin(struct sma_trace *trace, int64_t wall_ms, uint64_t now_ns,
                     const struct sma_run_order *order);
struct sma_trace_model
{
    uint32_t round;
    uint64_t asked_ns, now_ns; /* now_ns: of wall_ms */
    struct sma_str target;
};
/** The model has answered. */
void sma_trace_model(struct sma_trace *trace, int64_t wall_ms, const struct sma_trace_model *about,
                     const struct sma_model_answer *answer);
/** A call has its result; ms: since it was asked for. */
void sma_trace_tool(struct sma_trace *trace, int64_t wall_ms, struct sma_str tool, uint64_t ms,
                    bool is_error);
/** A call brought the same result as before, so often in a row. */
void sma_trace_repeated(struct sma_trace *trace, int64_t wall_ms, struct sma_str tool,
                        uint32_t times);
/** The run waits: for people, or for a model and so long. */
void sma_trace_wait(struct sma_trace *trace, int64_t wall_ms, uint64_t wait_ms);
/** The store: a message's claim became durable. */
void sma_trace_durable(struct sma_trace *trace, int64_t wall_ms);
struct sma_stored_past;
/** The conversation was made smaller, or it failed. */
void sma_trace_compaction(struct sma_trace *trace, int64_t wall_ms,
                          const struct sma_stored_past *past, bool is_done);
void sma_trace_end(struct sma_trace *trace, int64_t wall_ms, uint8_t outcome);
static inline struct sma_str sma_trace_bytes(const struct sma_trace *trace)
{
    return (struct sma_str){trace->bytes, trace->len};
}
static inline void sma_trace_clear(struct sma_trace *trace)
{
    trace->len = 0;
    trace->is_cut = false;
}

/** Append {"stage":...},... of these records; what is no record ends it. */
void sma_trace_put_json(struct sma_buf *json, struct sma_str bytes);

#endif
