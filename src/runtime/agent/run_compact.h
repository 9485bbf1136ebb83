/*
 * run_compact.h — a run makes its conversation smaller: old results are cleared, or what is old
 * becomes a summary. Part of run_priv.h; the order of relief: context.h, docs/notes/run.md.
 *
 * A summary is asked for in state COMPACTING and kept as a step of its own. A summary that fails
 * changes nothing: the run goes on as it would without.
 */
#ifndef SMA_RUNTIME_AGENT_RUN_COMPACT_H
#define SMA_RUNTIME_AGENT_RUN_COMPACT_H

#include "runtime/agent/codec.h"
#include "runtime/agent/context.h"

struct sma_run;

struct run_compact
{
    struct sma_buf request; /* COMPACTING: the question for a summary; else empty */
    size_t turn_offset, turn_end;
    size_t saved_bytes;              /* of what the summary stands for */
    struct sma_stored_past past;     /* what the step says; slices into note, text, chat */
    struct sma_buf note, text, chat; /* of the newest summary */
    struct sma_buf event;            /* of SMA_PROGRESS_COMPACTION */
    struct sma_context_size sent;    /* the last request for an answer */
    uint32_t skip_count;             /* oldest turns that this target is not sent */
    size_t skip_bytes;               /* ... with their commas */
    uint32_t count;                  /* summaries asked for in this life */
    uint32_t command_turns;          /* /compact: so many turns in all */
    uint64_t command_before;         /* ... and tokens before the first of its summaries */
    uint32_t round_count;            /* durable: rounds that a summary stands for */
    uint32_t cleared_round_count;    /* durable: rounds whose results are cleared */
    bool is_step;                    /* STORING: it is this that is being stored */
    bool is_void;                    /* the session was cleared under it */
    bool has_failed, was_forced;
    bool is_forced; /* what is asked for now */
};
void run_compact_init(struct run_compact *compact);
void run_compact_fini(struct run_compact *compact);

/* Before a request: is it too large for the model? true: something was begun, or the run ended. */
bool run_compact_when_due(struct sma_run *run);
/* The model has said "too long": old results are cleared, or, once in the life of a run, a summary
 * is asked for. true: something was begun, or the run ended. */
bool run_compact_forced(struct sma_run *run);
/* A person wants it. false: there is nothing to make smaller. */
bool run_compact_command(struct sma_run *run);
/* COMPACTING: the answer. false: there is no summary, the run goes on without. */
bool run_compact_answered(struct sma_run *run, const struct sma_model_answer *answer);
/* Its step is durable. */
void run_compact_durable(struct sma_run *run);
/* The same read again. false: damaged. */
bool run_compact_resume(struct sma_run *run, struct sma_str data);
/* The session lost its turns under the run. */
void run_compact_cleared(struct sma_run *run);
/* This turn is not sent to the target that is asked. */
bool run_is_skipped(const struct sma_run *run, uint32_t index);
struct sma_context_size run_context_size(const struct sma_run *run);

#endif
