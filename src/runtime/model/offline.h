/*
 * offline.h — the built-in model for provider "offline": small, deterministic, without network,
 * and really going through the tool loop. It answers with chat_send, asks chat_load_history about
 * the past, and ends the run after the result.
 *
 * It produces the bytes a server of the chat format would stream; they go through the same decoder
 * as all others. For tests: "/slow N" or "wait N ms" in the user's text delays the first answer by
 * N ms; "fail model" makes it fail.
 * Threads: any; no state.
 */
#ifndef SMA_MODEL_OFFLINE_H
#define SMA_MODEL_OFFLINE_H

#include "sma/buf.h"

#define SMA_OFFLINE_DELAY_MAX_MS 600000

/* What the model is asked: the newest user message and the last tool result since. */
struct sma_offline_turn
{
    struct sma_str text;  /* the user's words */
    struct sma_str facts; /* the block beside them; may be empty */
    bool has_result;
    struct sma_str tool; /* whose result */
    struct sma_str result;
};
struct sma_offline_decision
{
    const char *tool;         /* to call; NULL = end the run with no text */
    struct sma_buf arguments; /* JSON object; the caller's, initialised by it */
    uint64_t delay_ms;
    bool is_failure;
};

/** Did the program itself say this in the middle of a run (sma_prompt_put_note)? The user's words
 *  before it still stand. */
bool sma_offline_is_note(struct sma_str text);
/** Pure: the same turn gives the same decision. decision->arguments must be initialised and
 *  empty. */
void sma_offline_decide(const struct sma_offline_turn *turn, struct sma_offline_decision *decision);
/**
 * Answer a turn given as comma-joined chat messages, as event-stream text appended to *answer.
 * @id_seed   makes the call's id unique in the conversation
 * @ret_delay_ms, @ret_is_failure   what the decision says; nothing is appended when it is a failure
 * @return OK | BADINPUT (not chat messages) | NOMEM
 */
SMA_CHECKED enum sma_err sma_offline_answer(struct sma_str turn, uint64_t id_seed,
                                            struct sma_buf *answer, uint64_t *ret_delay_ms,
                                            bool *ret_is_failure);

#endif
