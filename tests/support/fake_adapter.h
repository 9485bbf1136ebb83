/*
 * fake_adapter.h — a platform that does what a test tells it, and remembers what it saw.
 *
 * fake_adapter_ops is the table (copy it to change capabilities); the state is made with
 * fake_adapter_create. Under the simulation or on a thread, without a loop. scripted_adapter_ops is
 * the same platform with a unix socket for events, for a real binary (see there).
 *
 * Parts: render() cuts the text at every '|'. Chat keys: "<channel>:chat:<chat>".
 * What happens to an attempt: the plan callback decides; without one, the part's own text does. A
 * text that begins with "{word word ...}" gives the outcomes of the first, second, ... attempt of
 * that part; after the last word, and without braces, "sent". Words:
 *   sent | retry | giveup | after:<ms> | wide:<ms> (whole adapter) | chat:<ms> (this chat alone) |
 *   unknown (seen, answered unknown) |
 *   lost (not seen, answered unknown) | slow:<ms> (seen at once, answered "sent" late) | never
 *   (seen, no answer) | file (retry) filedown (as if answered 502) filehang:<ms> (answered
 *   "unknown" late): a part that begins so is a file
 *
 * What the platform saw is recorded before the answer: in memory, and as a line `SAW <chat> <key>
 * <text as JSON>` in a file when saw_path is given (O_APPEND, one write). With is_idempotent a key
 * that was seen before (also in that file) is not seen again.
 *
 * Threads: the adapter's actor; the getters when it does not run.
 */
#ifndef SMA_TEST_FAKE_ADAPTER_H
#define SMA_TEST_FAKE_ADAPTER_H

#include "sma/adapter.h"

#define FAKE_NEVER UINT64_MAX

struct fake_plan
{
    uint8_t attempt_class; /* enum sma_attempt_class */
    bool is_seen;          /* the platform takes it, whatever the answer says */
    bool is_adapter_wide, is_chat_only, is_likely_unsent;
    uint32_t retry_after_ms;
    uint64_t delay_ns; /* until the answer; FAKE_NEVER = none */
};
/* number: 1 for the first attempt under this key since create. *plan is filled with "sent" before
 * the call. */
typedef void fake_plan_fn(void *user, const struct sma_attempt *attempt, unsigned number,
                          struct fake_plan *plan);

struct fake_saw
{
    struct fake_saw *next;
    uint64_t at_ns;
    bool is_repeat;
    char *chat, *key, *text;
};
struct fake_event
{
    const char *channel, *id, *chat, *user, *text;
    uint8_t addressed; /* enum sma_addressed */
};
struct fake_accepted
{
    uint64_t ask_id, seq;
    uint8_t verdict;
    uint8_t adapter; /* enum sma_actor_id: who had asked */
};
typedef void fake_accepted_fn(void *user, const struct fake_accepted *accepted);

struct fake_options
{
    bool is_idempotent;
    fake_plan_fn *plan; /* NULL: the text decides */
    fake_accepted_fn *on_accepted;
    void *user;
    const char *saw_path; /* NULL: memory only */
};
struct fake_adapter;

/** Asserts on failure: a test has no use for less. */
struct fake_adapter *fake_adapter_create(const struct fake_options *options);
void fake_adapter_destroy(struct fake_adapter *fake);
/** Oldest first; follow next. */
const struct fake_saw *fake_adapter_first_saw(const struct fake_adapter *fake);
size_t fake_adapter_saw_count(const struct fake_adapter *fake);
/** Repeats that idempotency hid. */
size_t fake_adapter_hidden_count(const struct fake_adapter *fake);
size_t fake_adapter_attempt_count(const struct fake_adapter *fake);
size_t fake_adapter_progress_count(const struct fake_adapter *fake);
/** Ask the store to accept an event, as the actor of ctx. FULL when too many questions are open. */
SMA_CHECKED enum sma_err fake_adapter_inject(struct sma_ctx *ctx, const struct fake_event *event,
                                             uint64_t *ret_ask_id);

/* For adapters built on this one: the actor's functions. */
void fake_adapter_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx);
void fake_adapter_wake(void *state, struct sma_ctx *ctx);
SMA_CHECKED enum sma_err fake_adapter_render(const struct sma_deliver *row, sma_part_fn *each,
                                             void *user);

extern const struct sma_actor_ops fake_adapter_actor_ops;
/* name and channel "fake", no limits, not idempotent */
extern const struct sma_adapter_ops fake_adapter_ops;

#endif
