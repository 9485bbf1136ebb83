/*
 * run.h — one run: the state machine that takes a message to its answer. Events in, actions out.
 *
 *   LOADING -> (PREPARING) -> MODEL -> (CHECKING) -> STORING -> TOOLS -> MODEL -> ... -> FINISHING
 *                |                       |                                           -> over
 *      before MODEL, when the conversation is too large: COMPACTING -> STORING
 *                |                    parked: over here; resumed with a DECISION step -> TOOLS ->
 *                ...
 *                no model answers: STORING a WAIT step, over here; resumed when it is due -> MODEL
 *                -> ...
 *
 * Invariants:
 * - No effect of an answer before the step that holds it is durable: ASK_TOOL to run, ASK_SEND,
 *   ASK_HISTORY and lookups by the model come only out of STEP_DONE DURABLE or of a fresh decision.
 *   (Checks, and the lookup that a chat_contact_send needs for its outbox row, come before; they
 *   change nothing.)
 * - When people must be asked about one call of an answer, none of its calls is carried out before
 *   the decision, except messages to the chat itself.
 * - What a decision allows is started at most once: in the run that is handed out with is_decided,
 *   and never again.
 * - Every call of an answer has exactly one result, in the order of the calls.
 * - A call that was under way when the program ended is never carried out again: it is answered
 *   "interrupted", or by the state of its outbox row.
 * - Exactly one STORE_DONE (repeated after NO_DISK) ends a run that is not stopped.
 * Resume: the stored steps are read by the same functions that read the live ones.
 * Threads: the owner only. Time and chance are arguments.
 */
#ifndef SMA_RUNTIME_AGENT_RUN_H
#define SMA_RUNTIME_AGENT_RUN_H

#include "runtime/agent/session.h"
#include "runtime/agent/targets.h"
#include "runtime/model/target.h"
#include "runtime/tools/tools.h"
#include "sma/config.h"
#include "sma/messages.h"
#include "sma/wire.h"

struct sma_mcp_catalogue;
struct sma_mcp_policy;
struct sma_secrets;

/* Everything of a request before its messages: what one target is sent of one set of tools and one
 * prompt. The longest unused goes first: SMA_RUN_HEAD_COUNT_MAX, SMA_RUN_HEAD_BYTES_MAX. */
#define SMA_RUN_HEAD_COUNT_MAX 64
#define SMA_RUN_HEAD_BYTES_MAX (8 * 1024 * 1024)
struct sma_run_head_key
{
    size_t target;
    uint64_t offers;                    /* enum sma_tool_offer */
    const struct sma_chat_rule *prompt; /* NULL: Agent.md alone */
    /* tools of MCP servers, 0 = none: the catalogue's, and whose `tools` hold in the chat */
    uint64_t catalogue;
    const struct sma_chat_rule *tools;
    uint64_t names; /* a sub-agent that has some of them alone: a hash of which */
};
struct sma_run_head
{
    struct sma_run_head_key key;
    struct sma_buf bytes; /* empty: a free place */
    uint64_t used;        /* when, as a count */
};

/* What all runs of one configuration share: whom to ask, what is known of them, and the head and
 * tail of every request, built once. */
struct sma_run_settings
{
    const struct sma_config *config;
    /* every model (chats.h): llm and its fallbacks first, in the order of the configuration */
    struct sma_target targets[SMA_MODEL_COUNT_MAX];
    struct sma_cooldown cooldowns[SMA_MODEL_COUNT_MAX];
    size_t target_count;      /* of llm and its fallbacks */
    size_t model_count;       /* of all */
    struct sma_target vision; /* who describes pictures for those that have no eyes */
    bool has_vision;
    struct sma_target small; /* who reads conversations for what is to be remembered */
    bool has_small;
    struct sma_target judge; /* who reads what may be an answer to a request */
    /* made when first needed; one for each way in which they differ, not for each chat */
    struct sma_run_head heads[SMA_RUN_HEAD_COUNT_MAX];
    size_t head_bytes;
    uint64_t head_use;
    struct sma_buf tails[SMA_MODEL_COUNT_MAX]; /* likewise */
    size_t key_offsets[SMA_MODEL_COUNT_MAX];   /* where the chat's cache key goes in the tail */
    uint64_t facts_word;                       /* that the heads name; 0 until the first run */
    struct sma_buf skills;                     /* lines of the heads; of the newest look at them */
    struct sma_context_known known[SMA_MODEL_COUNT_MAX]; /* what their answers have taught */
    /* of MCP servers; what is taken out of questions about their tools: NULL until there are
     * some */
    const struct sma_mcp_catalogue *catalogue;
    struct sma_mcp_policy *mcp_policy;
    struct sma_secrets *mcp_secrets;
    bool is_configured; /* there is a model to ask */
    uint32_t use_count; /* the owner's */
};
/** OK | NOMEM | TOOBIG (Agent.md over the request's bound). `config` must outlive the settings.
 *  @before: of the configuration until now, or NULL: what is known of targets that stay the same is
 *  taken over. */
SMA_CHECKED enum sma_err sma_run_settings_create(const struct sma_config *config,
                                                 const struct sma_run_settings *before,
                                                 struct sma_run_settings **ret_settings);
void sma_run_settings_destroy(struct sma_run_settings *settings); /* accepts NULL */
/** The target of this key is tried with this form (target.h) again. */
void sma_run_settings_allow(struct sma_run_settings *settings, struct sma_str target,
                            const char *form);
/** What the heads say of the project's skills: others are made when it changes. */
void sma_run_settings_set_skills(struct sma_run_settings *settings, struct sma_str lines);
/** What MCP servers offer from now on, for runs that begin; takes a reference of its own. OK |
 *  NOMEM: it stays as it was. */
SMA_CHECKED enum sma_err sma_run_settings_offer(struct sma_run_settings *settings,
                                                const struct sma_mcp_catalogue *catalogue);
/** The target of this key refuses this member: its requests are made without it from now on. false:
 *  nothing new. */
bool sma_run_settings_learn(struct sma_run_settings *settings, struct sma_str target,
                            struct sma_str member);

enum sma_run_event_kind
{
    SMA_RUN_START,      /* once, first */
    SMA_RUN_SESSION,    /* turns */
    SMA_RUN_MODEL,      /* call, model */
    SMA_RUN_CONTACT,    /* call, contact */
    SMA_RUN_HISTORY,    /* call, history */
    SMA_RUN_MEMORY,     /* call, memory */
    SMA_RUN_FETCHED,    /* call, fetched */
    SMA_RUN_SENT,       /* call, sent */
    SMA_RUN_TOOL,       /* call, tool */
    SMA_RUN_MCP,        /* call, mcp */
    SMA_RUN_ELICIT,     /* call, elicit: lives until ELICITED or the run's end */
    SMA_RUN_ELICIT_END, /* call: nobody has answered in time */
    SMA_RUN_ENCODED,    /* call, part; NULL: there is nobody to ask */
    SMA_RUN_STEP_DONE,  /* step */
    SMA_RUN_DONE_DONE,  /* step */
    SMA_RUN_ADDED,      /* steer: it and its messages outlive the run */
    SMA_RUN_RETRY,      /* the second asked for by WAIT is over */
    SMA_RUN_STOP,       /* the store has ended the run: drop it */
    SMA_RUN_CLEARED,    /* the session lost its turns under this run, which goes on */
    SMA_RUN_DRAIN,      /* the program ends: reach a durable point */
    SMA_RUN_DRAIN_HARD, /* do not wait for the model any longer */
};
struct sma_run_event
{
    enum sma_run_event_kind kind;
    uint64_t now_ns;
    uint32_t call;   /* as in the action that asked */
    bool is_by_user; /* STOP: by /stop, so that what was done stays in the conversation */
    union
    {
        const struct sma_steer *steer;
        const struct sma_session_turns *turns;
        const struct sma_model_answer *model;
        const struct sma_contact_result *contact;
        const struct sma_history_lines *history;
        const struct sma_memory_result *memory;
        const struct sma_fetched *fetched;
        const struct sma_send_result *sent;
        const struct sma_tool_answer *tool;
        const struct sma_mcp_answer *mcp;
        const struct sma_mcp_elicit *elicit;
        const struct sma_part *part;
        const struct sma_step_done *step;
    };
};

enum sma_run_action_kind
{
    SMA_RUN_ASK_SESSION, /* session */
    /* call (sma_run_asker); the request: sma_run_request_size / _write, before the next event */
    SMA_RUN_ASK_MODEL,
    SMA_RUN_CANCEL_MODEL, /* the open question of this call; its answer is not wanted */
    SMA_RUN_ASK_CONTACT,  /* call, contact */
    SMA_RUN_ASK_HISTORY,  /* call, history */
    SMA_RUN_ASK_MEMORY,   /* call, memory */
    SMA_RUN_ASK_FETCH,    /* call, fetch */
    SMA_RUN_ASK_SEND,     /* call, outbox_id; deadline at most SMA_SEND_WAIT_S */
    SMA_RUN_STORE_STEP,   /* step */
    SMA_RUN_STORE_DONE,   /* done */
    SMA_RUN_PROGRESS,     /* progress, text: a signal */
    SMA_RUN_WAIT,         /* send RETRY in a second */
    SMA_RUN_END,          /* over: destroy the run. outcome; is_counted: its DONE is durable */
    /* call, tool (mode, is_approved, digest, name, arguments, receiver; the rest is the order's) */
    SMA_RUN_ASK_TOOL,
    SMA_RUN_CANCEL_TOOLS, /* every open question to the tools; their answers are not wanted */
    SMA_RUN_ASK_ENCODE,   /* call, encode */
    SMA_RUN_LEARN,        /* learned: a target refuses a member; the settings know it already */
    SMA_RUN_ASK_MCP,      /* call, mcp */
    SMA_RUN_CANCEL_MCP,   /* every open call at a server; their answers are not wanted */
    SMA_RUN_ELICITED,     /* call, elicited: of the oldest question of this call */
};
/* Slices live until the next event or the end of the run. */
struct sma_run_action
{
    enum sma_run_action_kind kind;
    uint32_t call;
    uint64_t outbox_id;
    union
    {
        struct sma_session_ask session;
        struct sma_contact_ask contact;
        struct sma_history_ask history;
        struct sma_memory_ask memory;
        struct sma_fetch_ask fetch;
        struct sma_tool_ask tool;
        struct sma_mcp_call mcp;
        struct sma_mcp_elicited elicited;
        struct sma_encode_ask encode;
        struct sma_step step;
        struct sma_done done;
        struct sma_learned_fact learned;
        struct
        {
            uint8_t progress; /* enum sma_progress_kind */
            struct sma_str text, detail;
        };
        struct
        {
            uint8_t outcome; /* enum sma_outcome */
            bool is_counted;
        };
    };
};
/* of a run and of each of its sub-agents */
#define SMA_RUN_ACTION_COUNT_MAX ((2 * SMA_TOOL_CALL_COUNT_MAX + 16) * (1 + SMA_HELPER_COUNT_MAX))
struct sma_run_actions
{
    uint32_t count;
    struct sma_run_action list[SMA_RUN_ACTION_COUNT_MAX];
};

struct sma_run;
struct sma_trace;
struct sma_run_options
{
    const struct sma_run_order *order;             /* borrowed, outlives the run */
    struct sma_sessions *sessions;                 /* borrowed */
    struct sma_session *session;                   /* borrowed, pinned */
    struct sma_run_settings *settings;             /* borrowed */
    bool is_chinese_by_default;                    /* of the adapter: language of notices */
    bool has_files, has_reactions, has_cards;      /* of the adapter: send_file, react, send_card */
    bool has_files_elsewhere, has_cards_elsewhere; /* some adapter has them: the tools are there */
    bool has_markdown, is_stored; /* of the adapter: what becomes of a text (prompt.h) */
    uint32_t part_chars_max;      /* of the adapter */
    int64_t wall_ms;              /* now, for the facts */
    uint64_t random[2];           /* what nobody can guess */
};
/** OK | NOMEM | TOOBIG (the request's head). */
SMA_CHECKED enum sma_err sma_run_create(const struct sma_run_options *options,
                                        struct sma_run **ret_run);
void sma_run_destroy(struct sma_run *run); /* accepts NULL */
/** One event: *actions is emptied and filled with what is to be done, in order. Events that do not
 *  fit are ignored. */
void sma_run_event(struct sma_run *run, const struct sma_run_event *event,
                   struct sma_run_actions *actions);

/** Who asks: ASK_MODEL with this call. The run itself, or one of its sub-agents, which is not to be
 *  given events: its answers go to `run` under the same call. */
const struct sma_run *sma_run_asker(const struct sma_run *run, uint32_t call);
/** Bytes that the request that ASK_MODEL is about needs at most. */
size_t sma_run_request_size(const struct sma_run *run);
/** The files whose bytes it takes in; their offsets are told by writing it. */
const struct sma_body_file *sma_run_request_files(const struct sma_run *run, uint32_t *ret_count);
/** Write it: fills ask->body, the numbers of *ask, and the offsets of ask->files, which are those
 *  of sma_run_request_files. */
void sma_run_request_write(const struct sma_run *run, char *bytes, struct sma_model_ask *ask);
/** What was noted since it was cleared last; for STEP and DONE. */
struct sma_trace *sma_run_trace(struct sma_run *run);
/** Wall time of an event's now_ns, as this run counts it. */
int64_t sma_run_wall_ms(const struct sma_run *run, uint64_t now_ns);
/** What the newest SMA_PROGRESS_COMPACTION was about. */
const struct sma_stored_past *sma_run_past(const struct sma_run *run);
const struct sma_run_order *sma_run_order_of(const struct sma_run *run);
/** Of the model that it asks now, as in sums of usage. The run's. */
const char *sma_run_target_key(const struct sma_run *run);
/** The name of a call that is at a server now; empty: it is not. */
struct sma_str sma_run_mcp_name(const struct sma_run *run, uint32_t call);
/** For an answer to its message; not for a summary, which nobody is shown. */
bool sma_run_waits_for_model(const struct sma_run *run);

#endif
