/*
 * run_question.h — questions that servers ask people while they work on a call of the run, or of
 * one of its sub-agents (elicitation of MCP).
 *
 *   waits -> its text is a delivery of a NOTE step -> durable: asked -> answered | declined | left
 *                                                                      | out of time | call over
 *
 * One at a time: nobody could tell which one an answer means. The words of an answer are a message
 * like any other (STEER is_answer): the server gets what fits its form, and the message stands
 * behind the results of the round, so the model knows what was said.
 *
 * Invariants:
 * - Each question that came is answered once (SMA_RUN_ELICITED), by its owner at the latest when
 *   the run ends.
 * - A round is not over while a NOTE of this is on its way: numbers of steps stay in order.
 * - After a restart the server's request is gone: the call says "interrupted", and the chat is told
 *   once that the question is over. Nothing is passed on any more.
 * Limits: SMA_MCP_ELICIT_COUNT_MAX that wait, RUN_QUESTION_TRY_COUNT answers that do not fit.
 */
#ifndef SMA_RUNTIME_AGENT_RUN_QUESTION_H
#define SMA_RUNTIME_AGENT_RUN_QUESTION_H

#include "runtime/agent/run.h"

#define RUN_QUESTION_TRY_COUNT 3

struct run_question
{
    uint32_t call;                      /* as in the event */
    const struct sma_mcp_elicit *asked; /* the owner's, until it is answered */
    uint32_t try_count;
};
struct run_questions
{
    struct run_question list[SMA_MCP_ELICIT_COUNT_MAX]; /* the first is asked */
    uint32_t count;
    bool is_asked;         /* its note is durable */
    bool is_storing;       /* a note is on its way ... */
    bool is_first_asked;   /* ... and asks the first */
    bool was_asked;        /* resumed: one was open when the program ended */
    char over_server[201]; /* whose question ended while its note was on its way; empty: none */
    struct sma_buf text;
    struct sma_step_delivery delivery;
};

void run_question_ask(struct sma_run *run, uint32_t call, const struct sma_mcp_elicit *asked);
/* What the run's person has written since. */
void run_question_words(struct sma_run *run, const struct sma_steer *steer);
/* Before any other handling of an event: a call that is answered takes its questions along. */
void run_question_before(struct sma_run *run, const struct sma_run_event *event);
/* Nobody answers any more; likewise all of them. */
void run_question_expire(struct sma_run *run, uint32_t call);
void run_question_dismiss_all(struct sma_run *run);
/* A NOTE of this is durable. */
void run_question_durable(struct sma_run *run);
/* Resuming: a NOTE step was read; a round was over; calls are resumed. */
void run_question_resume(struct sma_run *run, struct sma_str note);
void run_question_tell_lost(struct sma_run *run);
void run_question_fini(struct sma_run *run);

#endif
