/*
 * run_child.h — sub-agents: runs behind calls of agent_run, inside of the run that called.
 *
 *   the call --CALL_CHILD--> waits for a place -> open -> its END step is durable -> has its result
 *                                                 |  held: it asks people, or waits for a model
 *
 * A sub-agent is a struct sma_run of its own with an empty session and fewer tools. Its actions
 * become actions of its run: questions bear its number in the upper bits of their call, a step
 * becomes a CHILD step (codec.h) of its run, with the next of its run's numbers; its DONE becomes
 * the CHILD step that says END and holds the call's result.
 *
 * Invariants:
 * - What holds for steps of a run holds for these: no effect before its step is durable, and a
 *   resumed run gives each sub-agent its own steps back, so that it goes on behind the last.
 * - A sub-agent has no tool that its run has not, never agent_run, and sends nothing unless the
 *   call lists such a tool.
 * - People are asked, and a model is waited for, by parking the run: only when nothing else of it
 *   is under way. What other sub-agents were about to ask is asked again afterwards; results of
 *   other calls that nobody else keeps are stored with it.
 * - It ends with its run: stopped, drained, left.
 * Limits:  agent.helpers at once, SMA_HELPER_TOTAL_MAX of one run, agent.helperSteps answers each,
 *          the budget of its run.
 * Threads: the owner only.
 */
#ifndef SMA_RUNTIME_AGENT_RUN_CHILD_H
#define SMA_RUNTIME_AGENT_RUN_CHILD_H

#include "runtime/agent/codec.h"
#include "runtime/agent/run.h"

#define RUN_CHILD_SHIFT 20 /* of a question's call: above are the bits of the sub-agent's number */
#define RUN_CHILD_CALL_MASK ((UINT32_C(1) << RUN_CHILD_SHIFT) - 1)

enum run_child_state
{
    CHILD_NONE,
    CHILD_WAITING, /* for a place */
    CHILD_OPEN,
    CHILD_HELD,   /* its next step parks the run: until nothing else is under way */
    CHILD_ENDING, /* its END step is on its way */
    CHILD_LEFT,   /* the run ends or the program does: as far as its steps */
};

/* The run machine itself: what runs call when they are in the middle of it knows its parts
 * alone. */
struct run_machine
{
    enum sma_err (*create)(const struct sma_run_options *options, struct sma_run **ret_run);
    void (*handle)(struct sma_run *run, const struct sma_run_event *event);
    void (*destroy)(struct sma_run *run);
};

struct run_child
{
    enum run_child_state state;
    uint32_t number, call;
    struct sma_run *run;
    struct sma_sessions *sessions; /* its own, with one session */
    struct sma_run_order order;
    struct sma_stored_step *steps; /* resumed: its own; slices into the order of its run */
    uint32_t step_count, step_room;
    struct sma_step_delivery_state *deliveries;
    bool has_end, is_error;
    struct sma_str end;   /* resumed: the result */
    struct sma_step held; /* slices of its run */
    struct sma_buf result;
};

/* A CHILD step on its way to the disk. */
struct run_child_step
{
    struct sma_step step;
    struct sma_buf bytes;
    struct run_child *child; /* NULL: the result of another call of the run */
    uint32_t local;          /* its number among the sub-agent's */
    bool is_asked, is_end, is_note;
    struct run_child_step *next;
};

/* Of the answer that is open. */
struct run_children
{
    struct run_child list[SMA_TOOL_CALL_COUNT_MAX]; /* by call */
    struct run_child_step *first, *last;            /* in the order of their numbers */
    bool has_cancelled;      /* one of them does not wait for its tools any longer */
    bool has_cancelled_mcp;  /* nor for a server */
    bool has_asked;          /* resumed: the newest step asks people about a call of this one */
    uint32_t asked_call;     /* likewise */
    bool is_decision_newest; /* resumed: and the decision is the newest step */
};

/* run_child.c: their lives */
/* What can be said of a call before anything is done: its result, when it will not be carried
 * out. */
void run_child_check(struct sma_run *run, uint32_t index);
/* The answer is durable. */
void run_child_begin(struct sma_run *run, uint32_t index);
/* Is it an answer to a question of a sub-agent? Then it has been given to it. */
bool run_child_event(struct sma_run *run, const struct sma_run_event *event);
/* DRAIN or DRAIN_HARD to each. */
void run_child_tell_all(struct sma_run *run, enum sma_run_event_kind kind);
/* run_child_leave.c: with their run */
struct run_children *run_child_room(struct sma_run *run); /* NULL: out of memory */
struct run_child *run_child_find(const struct sma_run *run, uint32_t number);
/* Its run ends: what is on its way is not wanted any more. */
void run_child_leave_all(struct sma_run *run);
/* Nothing of it is under way: a draining run may leave it. */
bool run_child_is_at_rest(const struct sma_run *run, uint32_t index);
/* Their questions to the tools are not wanted any more. */
bool run_child_has_cancelled(const struct sma_run *run);
bool run_child_has_cancelled_mcp(const struct sma_run *run);
/* Of a sub-agent: what it is, behind the facts. */
void run_child_put_role(struct sma_run *run);
void run_child_drop(struct sma_run *run);
/* For run_child_steps.c: after something has changed, whose turn it is. */
void run_child_pump(struct sma_run *run);
void run_child_feed(struct sma_run *run, struct run_child *child, struct sma_run_event event);

/* run_child_steps.c: their steps */
/* A step of it, or with `report` its end, becomes a step of the run, in this action. false: out of
 * memory. */
bool run_child_put_step(struct sma_run *run, struct run_child *child, const struct sma_step *from,
                        struct sma_run_action *action);
bool run_child_put_end(struct sma_run *run, struct run_child *child, const struct sma_done *done,
                       struct sma_run_action *action);
/* A NOTE of the run itself goes the same way, in the order of the numbers. false: out of memory. */
bool run_child_put_note(struct sma_run *run, const struct sma_step *note);
/* Nothing but this is under way: the run parks for it. */
void run_child_park(struct sma_run *run, struct run_child *child);
void run_child_durable(struct sma_run *run, const struct sma_step_done *step);
void run_child_no_disk(struct sma_run *run, uint32_t number);
/* Those that were not stored for want of disk, with numbers below this. */
void run_child_store_again(struct sma_run *run, uint32_t below);
void run_child_drop_steps(struct run_children *children);
/* Stored steps are read again: a CHILD step (false: damage), a decision (false: it is about calls
 * of the run itself). */
bool run_child_resume(struct sma_run *run, const struct sma_stored_step *step);
bool run_child_decided(struct sma_run *run, const struct sma_stored_step *step);
/* The result of this call is in a step. */
bool run_child_resume_end(struct sma_run *run, uint32_t index);
/* The newest step is a decision about a sub-agent's calls. */
bool run_child_is_decided(const struct sma_run *run);
/* Is this a CHILD step of the order? */
bool run_child_has_step(const struct sma_run *run, uint32_t number);
/* Fill child->deliveries; false: out of memory. */
bool run_child_take_deliveries(struct sma_run *run, struct run_child *child);

#endif
