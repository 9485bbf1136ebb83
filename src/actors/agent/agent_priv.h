/*
 * agent_priv.h — inside of the agent actor: agent.c (messages in), agent_ask.c (messages out),
 * agent_table.c (runs and open questions by number), agent_learn.c (what targets refuse),
 * agent_judge.c (is this message an answer?), agent_elicit.c (questions of servers),
 * agent_sample.c (what servers want the model asked), agent_extract.c (what is worth
 * remembering?).
 */
#ifndef SMA_ACTORS_AGENT_PRIV_H
#define SMA_ACTORS_AGENT_PRIV_H

#include "runtime/agent/run.h"
#include "sma/actors.h"
#include "sma/messages.h"
#include "sma/metrics.h"

#define AGENT_BUCKET_COUNT 4096 /* a power of two */
#define AGENT_RETRY_NS UINT64_C(1000000000)
#define AGENT_DRAIN_NS \
    (UINT64_C(3) * 1000000000) /* how long a draining agent waits for the model */

#define AGENT_SEND_WAIT_FULL_NS \
    (UINT64_C(5) * 1000000000) /* for a receipt while every slot is taken; else SMA_SEND_WAIT_S */
#define AGENT_LEARNED_COUNT_MAX 256 /* more is not kept: it is learned again */
#define AGENT_JUDGE_COUNT_MAX 64    /* questions to the model at once; further ones wait */
#define AGENT_JUDGE_NS \
    (UINT64_C(45) *    \
     1000000000) /* from JUDGE to JUDGED, at most: models that think need more than 20 s */

/* An open MODEL question of a run (call 0) or of one of its sub-agents. */
struct agent_model_ask
{
    uint64_t id;
    uint32_t call;
};

/* One open run. */
struct agent_run
{
    uint64_t seq;
    uint64_t serial; /* of this object: a refused batch can make the store hand out one seq twice */
    struct sma_run *run;
    struct sma_msg *order;   /* the RUN message; the run borrows from it */
    struct sma_msg **steers; /* STEER messages: likewise */
    uint32_t steer_count, steer_room;
    struct sma_run_settings *settings;
    struct sma_session *session;
    struct agent_model_ask models[1 + SMA_HELPER_COUNT_MAX]; /* open MODEL questions; id 0: free */
    uint64_t retry_ns;                                       /* in the retry list when not 0 */
    struct agent_run *hash_next;
    struct agent_run *chat_next; /* runs of the same chat; the session's `user` is the first */
    struct agent_run *retry_next;
};

/* One question: to which run, and which of its calls, the answer belongs. */
struct agent_ask
{
    uint64_t id, seq, serial;
    uint32_t call; /* of a STEP: its number */
    /* of a MODEL question that was cancelled: which target's tokens its answer tells of; owned */
    char *spent_target;
    struct agent_ask *next;
};

/* A question that found its edge full; asked when an answer comes back over that edge, in order. */
struct agent_blocked
{
    struct sma_msg *msg;
    uint64_t seq, serial, deadline_ns;
    uint32_t call;
    uint8_t kind; /* enum sma_msg_kind: what is asked */
    struct agent_blocked *next;
};

/* A message that may be the answer to a request. Waits for a place, then for the model, then for
 * the store. */
struct agent_judge
{
    struct sma_msg *order;            /* JUDGE */
    uint64_t due_ns;                  /* when the model is not waited for any longer */
    uint64_t ask_id;                  /* the open MODEL or JUDGED question */
    uint64_t retry_ns;                /* JUDGED is not asked before this */
    const struct sma_config_llm *llm; /* of the target that was asked last */
    size_t refused_count;             /* members that this target refused by then */
    bool has_failed;                  /* its target: another one is asked */
    bool seems_to_agree;
    uint64_t refused_mask;
    struct sma_buf response;
    struct sma_usage usage; /* of all whom it was asked of */
    char target_key[SMA_TARGET_KEY_BYTES_MAX];
    struct agent_judge *next;
};
struct agent_judges
{
    struct agent_judge *first, *last;
    uint32_t count;
};

enum agent_extract_stage
{
    AGENT_EXTRACT_NONE,
    AGENT_EXTRACT_WAITS,   /* for a moment in which no run does */
    AGENT_EXTRACT_HISTORY, /* asked the store */
    AGENT_EXTRACT_MODEL,   /* asked the model */
    AGENT_EXTRACT_TELLS,   /* to tell the memory */
};
/* A conversation that is read for what is worth remembering; one at a time. */
struct agent_extract
{
    enum agent_extract_stage stage;
    struct sma_msg *order; /* EXTRACT */
    uint64_t ask_id;       /* the open question */
    uint64_t due_ns;       /* the model is not waited for any longer; 0 = nothing is */
    bool is_failed, is_put_off, is_partial, is_own_model;
    int64_t until_ms;
    struct sma_buf talk, text, users; /* users: ended by NUL */
    uint32_t user_count, cancel_count;
    const struct sma_target *target;
    char target_key[SMA_TARGET_KEY_BYTES_MAX];
};

/* That a target refuses a member of requests. */
struct agent_learned
{
    char target[SMA_TARGET_KEY_BYTES_MAX], member[SMA_REFUSED_BYTES_MAX];
    uint64_t end_ns; /* then it is tried again */
};

/* A question of a server; the run borrows from the message until it has answered. */
struct agent_elicit
{
    struct sma_msg *msg; /* MCP_ELICIT */
    uint64_t serial;     /* of its run */
    uint64_t deadline_ns;
};

/* What a server wants the model asked in a call of a run. */
struct agent_sample
{
    uint64_t ask_id; /* the open MODEL question; 0 = free */
    /* MCP_SAMPLE; NULL: it was answered (the call is over), and the model is waited for because of
     * what it used */
    struct sma_msg *msg;
    uint64_t seq, serial; /* of its run */
    uint64_t deadline_ns;
    char target_key[SMA_TARGET_KEY_BYTES_MAX];
    const char *model; /* of an immutable configuration */
    size_t refused_count;
};

struct sma_agent
{
    uint32_t magic;
    const struct sma_config *config;
    const struct sma_adapter *adapters;
    size_t adapter_count;
    bool has_files_somewhere, has_cards_somewhere; /* one of them takes files, has cards */
    struct sma_run_settings *settings;
    struct agent_learned *learned; /* all that is known, for configurations to come */
    uint32_t learned_count, learned_room;
    struct sma_sessions *sessions;
    struct sma_ctx *ctx; /* of the message being handled */
    uint64_t run_count, next_serial;
    struct agent_run *runs[AGENT_BUCKET_COUNT];
    struct agent_ask *asks[AGENT_BUCKET_COUNT];
    struct agent_ask *free_asks;
    struct agent_blocked *blocked_first[SMA_ACTOR_ADAPTER_0], *blocked_last[SMA_ACTOR_ADAPTER_0];
    struct agent_blocked *gone_first,
        /* calls whose question found no tools actor: answered at the end of the message */
        *gone_last;
    struct agent_extract extract;
    bool has_judges; /* something is in these lists, or was before this message */
    struct agent_judges judges_waiting, judges_asked, judges_ready, judges_told;
    struct agent_run *retry_first,
        *retry_last; /* all wait the same time, so the order is the order of due times */
    struct agent_elicit elicits[SMA_ASK_ELICIT_COUNT_MAX]; /* in the order they came */
    uint32_t elicit_count;
    struct agent_sample samples[SMA_ASK_SAMPLE_COUNT_MAX];
    bool is_draining, has_drained;
    uint64_t drain_ns; /* when the model is not waited for any longer */
    struct sma_run_actions actions;
};

/* agent_table.c */
struct agent_run *agent_run_find(const struct sma_agent *agent, uint64_t seq);
void agent_run_put(struct sma_agent *agent, struct agent_run *entry);
void agent_run_remove(struct sma_agent *agent, struct agent_run *entry);
void agent_ask_put(struct sma_agent *agent, const struct agent_ask *question);
/* Takes the question out; false when it is unknown (its run was dropped). */
bool agent_ask_take(struct sma_agent *agent, uint64_t id, struct agent_ask *ret_ask);
void agent_retry_add(struct sma_agent *agent, struct agent_run *entry, uint64_t at_ns);
void agent_retry_remove(struct sma_agent *agent, struct agent_run *entry);
void agent_tables_fini(struct sma_agent *agent);

/* agent_learn.c */
/* The settings of now and of later know it. */
void agent_learn(struct sma_agent *agent, const struct sma_learned_fact *fact);
void agent_learn_by(struct sma_run_settings *settings, const struct agent_learned *learned);
/* What was learned SMA_LEARNED_DAYS ago is tried again: providers change. */
void agent_forget_learned(struct sma_agent *agent, uint64_t now_ns);
/* A run has learned it: the others, and the store. */
void agent_tell_learned(struct sma_agent *agent, const struct sma_learned_fact *fact);

/* agent_ask.c: an action of a run as a message */
void agent_carry_out(struct sma_agent *agent, struct agent_run *entry,
                     const struct sma_run_action *action);
void agent_ask_blocked(struct sma_agent *agent, enum sma_actor_id to);
void agent_drop_blocked(struct sma_agent *agent, uint64_t seq);
/* Takes the oldest call whose question found nobody; false: there is none. */
bool agent_take_gone(struct sma_agent *agent, struct agent_ask *ret_ask, uint8_t *ret_kind);
struct sma_msg *agent_need(struct sma_agent *agent, struct sma_msg *msg);
/* The open MODEL question of this call is over. @return its id, 0 = there was none */
uint64_t agent_take_model(struct agent_run *entry, uint32_t call);
/* A run of this chat is over, or is about to sum up what was said: the memory may want it read. */
void agent_tell_talked(struct sma_agent *agent, const struct agent_run *entry, bool is_urgent);
void agent_cancel_model(struct sma_agent *agent, uint64_t ask_id);
void agent_progress(struct sma_agent *agent, const struct agent_run *entry,
                    enum sma_progress_kind kind, struct sma_str text, struct sma_str detail);

/* agent_extract.c: tokens that no run's step tells of */
void agent_tell_spent(struct sma_agent *agent, const struct sma_spent *spent);

/* agent_elicit.c */
/* Takes the question, or answers that nobody can be asked (NULL). */
const struct sma_mcp_elicit *agent_elicit_keep(struct sma_agent *agent,
                                               const struct agent_run *entry, struct sma_msg **msg);
/* The oldest open one of this call, if there is one. */
void agent_elicit_answer(struct sma_agent *agent, const struct agent_run *entry,
                         const struct sma_mcp_elicited *what);
void agent_elicit_end_run(struct sma_agent *agent, uint64_t serial);
uint64_t agent_elicit_wake_ns(const struct sma_agent *agent);
/* One that nobody has answered in time. */
bool agent_elicit_take_due(struct sma_agent *agent, uint64_t now_ns, uint64_t *ret_seq,
                           uint32_t *ret_call);
void agent_elicit_fini(struct sma_agent *agent);

/* agent_sample.c */
/* MCP_SAMPLE: asks the model, or answers why not. entry: its run, or NULL. */
void agent_sample_ask(struct sma_agent *agent, struct agent_run *entry, struct sma_msg **msg);
/* The model's answer to one of these? Then it is taken. */
bool agent_sample_answer(struct sma_agent *agent, struct sma_msg *msg);
/* This call of the run is over, or all of it (SMA_MCP_CALL_ALL): so is what is asked for it. */
void agent_sample_end(struct sma_agent *agent, uint64_t serial, uint32_t call);
/* Those whose time is over end. */
void agent_sample_pump(struct sma_agent *agent);
uint64_t agent_sample_wake_ns(const struct sma_agent *agent);
void agent_sample_fini(struct sma_agent *agent);

/* agent_extract.c */
void agent_extract_on_order(struct sma_agent *agent, struct sma_msg **msg);
/* An answer to one of its questions? Then it is taken. */
bool agent_extract_answer(struct sma_agent *agent, struct sma_msg *msg);
/* What can be done now; after every message and wake. */
void agent_extract_pump(struct sma_agent *agent);
void agent_extract_fini(struct sma_agent *agent);

/* agent_judge.c */
void agent_judge_on_answer(struct sma_agent *agent, struct sma_msg **msg);
/* An answer of the model or of the store to one of these questions? Then it is taken. */
bool agent_judge_answer(struct sma_agent *agent, struct sma_msg *msg);
/* Ask, give up and tell what can be now; after every message and wake. */
void agent_judge_pump(struct sma_agent *agent);
/* The program ends: what the model has not said by now is not an answer. */
void agent_judge_hurry(struct sma_agent *agent);
/* When pump must be called; UINT64_MAX = not for time. */
uint64_t agent_judge_wake_ns(const struct sma_agent *agent);
bool agent_judge_is_idle(const struct sma_agent *agent);
void agent_judge_fini(struct sma_agent *agent);

#endif
