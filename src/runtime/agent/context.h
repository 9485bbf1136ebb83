/*
 * context.h — how much of a model's window a conversation takes, and where its relief begins. Pure.
 *
 * Nothing counts tokens here: bytes over a rate of the model, put right by what the provider has
 * counted. The last good answer tells what the request took; only what came after it is guessed.
 * Where nothing was measured yet, everything is guessed, by the ratio that this model's answers had
 * so far.
 * Source: protocols/models.md §7.1, §7.2. Threads: any; no state.
 */
#ifndef SMA_RUNTIME_AGENT_CONTEXT_H
#define SMA_RUNTIME_AGENT_CONTEXT_H

#include "runtime/model/target.h"
#include "sma/messages.h"

/* What the answers of one target have taught. All zero: nothing yet. */
struct sma_context_known
{
    uint32_t ratio;    /* counted over guessed, in thousandths; 0 = nothing was counted */
    uint32_t window;   /* what an answer "too long" told; 0 = none did */
    bool has_seen;     /* it has answered to a picture */
    bool has_answered; /* at all: what it refuses from now on is something new */
    size_t largest;    /* bytes of the largest request that it has answered */
    uint64_t counted;  /* of the newest answer, and of how many bytes */
    size_t counted_bytes;
    uint64_t most;  /* that was ever counted: no window is smaller */
    bool was_short; /* the newest answer counted far less than was sent */
};
/* What was counted last of a conversation: its first `bytes` took `tokens`. */
struct sma_context_measure
{
    uint64_t target; /* sma_context_target_id of who counted; 0 = nothing is known */
    uint64_t tokens;
    size_t bytes;
    uint64_t part_tokens;
};
/* The parts of a request, in bytes. */
struct sma_context_size
{
    size_t head;     /* options, tools, system text, tail */
    size_t messages; /* the conversation */
    uint32_t message_count;
    uint64_t part_tokens; /* of pictures, files and sounds that are shown; not in the bytes */
};

uint64_t sma_context_target_id(const struct sma_target *target);
/** Tokens of the window: of the profile or llm.contextTokens, or less when an answer said so. */
uint32_t sma_context_window(const struct sma_target *target, const struct sma_context_known *known);
/** Above so many tokens the conversation is made smaller: 80 % of the window, less where the room
 *  for the answer, which the request reserves, takes more. */
uint32_t sma_context_limit(const struct sma_target *target, const struct sma_context_known *known);
/** The newest part of so many tokens stays word for word. */
uint32_t sma_context_keep(uint32_t window);
/** The newest part of so many tokens keeps its results when older ones are cleared. */
uint32_t sma_context_protected(uint32_t window);
/** Clearing must save so many tokens: the provider's cache is lost by it. */
uint32_t sma_context_clear_min(uint32_t window);
/** The most bytes of one result of a tool: more would crowd everything else out. */
size_t sma_context_result_bytes(const struct sma_target *target,
                                const struct sma_context_known *known);
/** Tokens of so many bytes of a conversation, put right by what is known. */
uint64_t sma_context_tokens(const struct sma_target *target, const struct sma_context_known *known,
                            size_t bytes);
/** Bytes of a conversation that take so many tokens. */
size_t sma_context_bytes(const struct sma_target *target, const struct sma_context_known *known,
                         uint64_t tokens);
/** Tokens of the request; measure: of its conversation. */
uint64_t sma_context_request(const struct sma_target *target, const struct sma_context_known *known,
                             const struct sma_context_measure *measure,
                             const struct sma_context_size *size);
/** Does the server cut requests in silence? It counted the same as before of a larger request, or
 *  far less than was sent: at once where that is just a window's size, else the second time. A
 *  gateway that counts only what no cache had counts less as well, yet never twice the same, and
 *  more before. Before sma_context_learn, whose arguments these are; the window is
 *  learned then. @return it, when that is news; else 0 */
uint32_t sma_context_find_cut(const struct sma_target *target, struct sma_context_known *known,
                              const struct sma_context_size *sent, const struct sma_usage *usage);
/** An answer has come: what it counted. sent: the request it answers; answer_bytes: of the answer
 *  as it goes back. Counts that cannot be true are passed over. */
void sma_context_learn(const struct sma_target *target, struct sma_context_known *known,
                       struct sma_context_measure *measure, const struct sma_context_size *sent,
                       const struct sma_usage *usage, size_t answer_bytes);
/** "Too long": told is what the answer said of the window, 0 = nothing; tokens: of the request that
 *  was refused. */
void sma_context_learn_window(const struct sma_target *target, struct sma_context_known *known,
                              uint64_t told, uint64_t tokens);

#endif
