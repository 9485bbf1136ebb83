/*
 * run_added.h — what a person adds while their run is open (queue.mode steer).
 *
 * It waits here, and in its row, until the next request of the run. Then the step before that
 * request (the results of a round, or an answer that would have been the end) names it, and it
 * stands behind them in the turn. The store marks the rows with that step, so a crash finds a
 * message either waiting or given, never both.
 *
 * Invariants: list[0..given_count) is in the turn, in this order; no seq is twice in the list.
 */
#ifndef SMA_RUNTIME_AGENT_RUN_ADDED_H
#define SMA_RUNTIME_AGENT_RUN_ADDED_H

#include "runtime/agent/run.h"

#define RUN_ADDED_COUNT_MAX 64    /* further ones wait for a run of their own */
#define RUN_ADDED_END_COUNT_MAX 8 /* so often a run goes on instead of ending */
#define RUN_ADDED_BLOCKS 3        /* header, context, text */

struct run_round;
struct sma_run;

struct run_addition
{
    uint64_t seq;
    const struct sma_collected *message; /* NULL: a step names it, and its row is gone */
    uint8_t standing;                    /* enum sma_standing of who wrote it */
    struct sma_buf bytes;                /* once given: its blocks for the model */
    size_t ends[RUN_ADDED_BLOCKS];
    uint32_t block_count;
};
/* What a step that is being stored holds, until it is durable. */
struct run_added_asked
{
    struct sma_seq seqs[RUN_ADDED_COUNT_MAX];
    uint32_t count;
};
struct run_added_room
{
    struct run_addition list[RUN_ADDED_COUNT_MAX];
    struct run_added_asked results, answer;
};
struct run_added
{
    struct run_added_room *room; /* made when something comes */
    uint32_t count, given_count;
    uint32_t end_count;              /* answers that were not the end because something waited */
    bool is_going_on;                /* such an answer is being stored */
    struct sma_collected *collected; /* resumed: of the order, without what steps gave */
    struct sma_buf text;             /* of such an answer, as it is sent */
};

void run_added_init(struct sma_run *run);
void run_added_fini(struct sma_run *run);
/* STEER came: steer lives as long as the run. */
void run_added_take(struct sma_run *run, const struct sma_steer *steer);
/* Before the first step is resumed: what steps gave is no part of the user's message. false: out
 * of memory. */
bool run_added_resume(struct sma_run *run);
/* Something waits, and may go with the next request. */
bool run_added_is_due(const struct sma_run *run);
/* Before results are stored: what waits goes behind them. */
void run_added_put(struct sma_run *run, struct sma_buf *results);
/* What was written of the answer before, and this. */
struct sma_str run_added_text(struct sma_run *run, struct sma_str text);
/* The answer would be the end: it is stored and sent, and the run goes on with what was added.
 * false: it is the end. */
bool run_added_go_on(struct sma_run *run, const struct sma_model_answer *answer);
/* Part of storing that answer: what comes behind it, and its text as a delivery of the step. */
void run_added_close_answer(struct sma_run *run);
/* What this step holds, for the store. */
void run_added_tell(const struct sma_run *run, struct sma_step *step);
/* A round is over: what its bytes name is in the turn from now on, behind it. */
void run_added_give(struct sma_run *run, struct run_round *round);
/* Blocks of what was given, slices of its bytes: room for RUN_ADDED_BLOCKS each. */
uint32_t run_added_blocks(const struct sma_run *run, uint32_t first, uint32_t count,
                          struct sma_str *blocks);
/* Which of the stored turn's blocks is the first of addition - 1; 0: of the user's message. */
uint32_t run_added_first_block(const struct sma_run *run, uint32_t addition);
/* Ids of what was given, behind the others of the stored turn. */
uint32_t run_added_ids(const struct sma_run *run, struct sma_str *ids);

#endif
