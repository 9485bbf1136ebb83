/*
 * compact_talk.h — a long talk with one run after the other: store, tools and a scripted model with
 * a window. The store keeps turns and what was before them as the real one does; a cut loses
 * everything else. The model counts four bytes as a token, refuses what is over its window, knows
 * only what stands in the request, and makes summaries of the facts that it was sent.
 */
#ifndef TEST_COMPACT_TALK_H
#define TEST_COMPACT_TALK_H

#include "unit/agent/run_driver.h"

#define TALK_TURN_MAX 5000
#define TALK_FACT_MAX 64

enum talk_summary /* what the model makes of a request for a summary */
{
    TALK_GOOD,
    TALK_FAILS,
    TALK_CUT,
    TALK_CALLS,
    TALK_EMPTY,
    TALK_CHATS, /* without the sections */
    TALK_OVERFLOWS,
};

struct talk_turn
{
    uint64_t seq;
    char *bytes, *wire;
    size_t len;
};
struct talk
{
    struct driver d;
    struct sma_config_llm llm;
    struct talk_turn turns[TALK_TURN_MAX];
    uint32_t turn_count;
    char *past;
    size_t past_len;
    uint64_t past_count; /* COMPACTION steps that became durable */

    /* the model */
    size_t window; /* tokens */
    enum talk_summary summary;
    uint32_t summary_count, overflow_count, answer_count, window_told;
    uint32_t tool_rounds; /* of the run: so many calls, each with a result of tool_bytes */
    size_t tool_bytes;
    char *last; /* the last request for an answer */
    size_t last_len;
    uint32_t prefix_breaks; /* answers' requests that did not begin with the one before */
    uint64_t past_seen;
    uint64_t covered_seq;    /* the run whose first rounds a durable summary stands for */
    bool may_break;          /* after an overflow results are left out without a step, too */
    char said[4096];         /* the answer of the last run */
    char event[512];         /* the last SMA_PROGRESS_COMPACTION */
    uint32_t usage_requests; /* of all steps and ends */

    /* cuts */
    int cut_at; /* > 0: after so many commits or answers the program ends; 0 = never */
    uint32_t cut_count;
};

void talk_init(struct talk *talk, enum sma_llm_api api, size_t window);
void talk_fini(struct talk *talk);
/* One message from its first event to its end, over all cuts. */
void talk_say(struct talk *talk, const char *text);
/* /compact with these words. */
void talk_compact(struct talk *talk, const char *words);
/* Forget the session, as eviction does. */
void talk_evict(struct talk *talk);
/* A message of about so many bytes that says nothing. */
char *talk_filler(unsigned number, size_t bytes);

#endif
