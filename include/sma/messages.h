/*
 * messages.h — every message: kinds, bodies, and how one is made. The only words actors share.
 *
 * Kinds, lanes and bodies are rows of message_table.h; here are the enums and plain structs that
 * the bodies use, and what is made of the table. A message's number, `seq`, is its acceptance order
 * in the store, > 0, unique for ever; a run has the seq of the message it answers.
 *
 * Invariants: every slice of a made message points into the message itself, and a NUL stands behind
 *             each text; a list of no items is NULL.
 * Ownership:  msg.h. What is made from may be changed or freed at once.
 * Threads:    any.
 */
#ifndef SMA_MESSAGES_H
#define SMA_MESSAGES_H

#include "sma/actor.h"

enum sma_msg_kind
{
    SMA_MSG_NONE,
#define MSG(kind, name, class, from, to, body) SMA_MSG_##kind,
#include "sma/message_table.h"
    SMA_MSG_KIND_COUNT
};
const char *sma_msg_kind_name(unsigned kind);

struct sma_config;
struct sma_config_llm;

/* -- life cycle -------------------------------------------------------------------------------- */
enum sma_phase
{
    /* adapters: accept nothing new; done when no INGRESS question is open */
    SMA_PHASE_INTAKE_OFF = 1,
    /* agent, then dispatcher, then model, then store: reach a durable point */
    SMA_PHASE_DRAIN,
    SMA_PHASE_CLOSE, /* adapters: answer or close what waits, close sockets */
};

/* When things happened to one message, monotonic ns, 0 = not yet. Carried along for the
 * histograms. */
struct sma_stamps
{
    uint64_t read_ns, parsed_ns, claimed_ns, durable_ns, run_ns, model_out_ns, first_token_ns,
        reply_ns;
};

/* -- parts ------------------------------------------------------------------------------------- */
enum sma_part_kind
{
    SMA_PART_NONE,
    SMA_PART_IMAGE,
    SMA_PART_FILE, /* a PDF, or what the model gets as a note */
    SMA_PART_AUDIO,
};

/* -- ingress ----------------------------------------------------------------------------------- */
enum sma_event_kind
{
    SMA_EVENT_MESSAGE,  /* runs, when addressed and allowed */
    SMA_EVENT_CONTROL,  /* /stop /clear /status /help: does not wait in the queue */
    SMA_EVENT_CALLBACK, /* a button was pressed: text = its data; see ACCEPTED notice */
    SMA_EVENT_NOTE,     /* claimed and recorded only (join, leave, edit) */
    SMA_EVENT_SAY,      /* the owner's program says it to the chat: delivered, nothing runs */
};
/* What an event says of a message that came before it. */
enum sma_change
{
    SMA_CHANGE_NONE,
    SMA_CHANGE_EDIT,   /* its author wrote it anew */
    SMA_CHANGE_RECALL, /* it is there no more: taken back by its author, or by who may there */
};
enum sma_control
{
    SMA_CONTROL_NONE,
    SMA_CONTROL_STOP,
    SMA_CONTROL_CLEAR,
    SMA_CONTROL_STATUS,
    SMA_CONTROL_HELP,
    SMA_CONTROL_UNKNOWN, /* a command nobody knows: answered with the list of commands */
    /* what the models used here; numbers are stored: new ones go behind the last */
    SMA_CONTROL_USAGE,
    SMA_CONTROL_COMPACT, /* the conversation so far is summed up */
    SMA_CONTROL_MODEL,   /* which model answers this chat */
    SMA_CONTROL_NEW,     /* as CLEAR, and says that it begins anew */
    SMA_CONTROL_RETRY,   /* the last message is answered again */
    SMA_CONTROL_START,   /* somebody is here for the first time: a greeting and the commands */
    SMA_CONTROL_WHOAMI,  /* who the writer is, by name, id and role */
    SMA_CONTROL_APPROVE, /* a request, by its id */
    SMA_CONTROL_REJECT,
    SMA_CONTROL_APPROVALS, /* the requests that the writer may see */
    SMA_CONTROL_TASKS,     /* what .ship/tasks holds: this version does not run it */
    SMA_CONTROL_LOGS,      /* the newest lines of the log: for its readers, in private */
    SMA_CONTROL_MEMORY,    /* what is remembered of the writer, in a group of the group */
    SMA_CONTROL_FORGET,    /* ... and is to be deleted */
    SMA_CONTROL_MORE,      /* what the platform did not show of the last answer */
    SMA_CONTROL_FULL,      /* the last answer, whole, as a file */
    SMA_CONTROL_PROMPTS,   /* what MCP servers have ready to be asked for */
};
enum sma_memory_op
{
    SMA_MEMORY_RECALL, /* what fits this message */
    SMA_MEMORY_SEARCH,
    SMA_MEMORY_UPSERT,
    SMA_MEMORY_TALKED,    /* a run of this chat is over */
    SMA_MEMORY_EXTRACTED, /* what EXTRACT asked for */
};
/* A group_key that begins so: pieces of one text, joined with nothing between. */
#define SMA_GROUP_KEY_PASTE "paste:"
#define SMA_GROUP_KEY_FORWARD "forward:"
enum sma_addressed
{
    SMA_ADDRESSED_PRIVATE,
    SMA_ADDRESSED_MENTION,
    SMA_ADDRESSED_REPLY,
    SMA_ADDRESSED_NONE, /* group chatter: claimed; recorded; run only inside a follow-up window */
};
enum sma_role
{
    SMA_ROLE_UNKNOWN, /* not asked, or the platform did not say: counts as MEMBER */
    SMA_ROLE_MEMBER,
    SMA_ROLE_ADMIN, /* administrator or owner of the chat */
};
/* What a person may do, made by the store from permissions.roles, pairing and the platform's role.
 * Ordered. */
enum sma_standing
{
    SMA_STANDING_STRANGER, /* may talk where access "anyone" lets everybody talk; no tools */
    SMA_STANDING_MEMBER,   /* may talk; what the policy asks for is asked of somebody else */
    /* decides in chats of the platform where the platform or permissions.roles says so */
    SMA_STANDING_ADMIN,
    SMA_STANDING_OWNER, /* decides everywhere; the holder of the API token and of the terminal */
};
enum sma_verdict
{
    SMA_VERDICT_ACCEPTED,  /* durable, will run (or the control message was carried out) */
    SMA_VERDICT_DUPLICATE, /* accepted before; seq is the first one's */
    SMA_VERDICT_IGNORED,   /* durable, by policy not run */
    /* durable and recorded, but over a queue bound: visibly refused, will not run */
    SMA_VERDICT_BUSY,
    SMA_VERDICT_CONFLICT, /* same event key, other body_hash: HTTP 409 */
    /* not durable: do not acknowledge, the platform delivers again; reason says why */
    SMA_VERDICT_REFUSED,
    SMA_VERDICT_NO_CHAT, /* SAY: not durable; there is no such chat, or no way to it is known */
};

/* -- results and lists ------------------------------------------------------------------------- */
enum sma_run_state
{
    SMA_RUN_UNKNOWN,
    SMA_RUN_WAITING,
    SMA_RUN_RUNNING,
    SMA_RUN_PARKED,
    SMA_RUN_DONE,
    SMA_RUN_FAILED,
    SMA_RUN_CANCELLED,
    SMA_RUN_WAITS_FOR_MODEL, /* no model can be reached; it goes on by itself */
};
enum sma_query_kind
{
    SMA_QUERY_STATUS,  /* JSON object: queue, runs, outbox, chats, claims, disk, last errors */
    SMA_QUERY_HISTORY, /* chat_key + limit: JSON array of history entries, newest last */
    /* {"approvals":[...]}: pending ones, as protocols/project.md §10.4 plus items; chat_key narrows
     * when not empty */
    SMA_QUERY_APPROVALS,
    SMA_QUERY_GRANTS, /* {"grants":[{id,tool,rule,chatKey,until,by,created}]} */
    /* {"pairings":[{code,channel,userId,userName,created}],"people":[{channel,userId,role,via}]} */
    SMA_QUERY_PAIRINGS,
    /* limit = days (0: 30), chat_key narrows when not empty:
     * {"from","to","total":{...},"days":[{"day",...}],
     * "chats":[{"chatKey",...}],"persons":[{"person",...}],
     *   "platforms":[{"platform",...}],"targets":[{"target",...}]};
     * ... = requests, input, cached, written, output, reasoning, costNano as in sma_usage */
    SMA_QUERY_USAGE,
    /* chat_key = a run's number, or "m:" and a message's id of its platform: its life as in
     * docs/http-api.md */
    SMA_QUERY_TRACE,
    /* chat_key = name of a platform cursor: {"value":n}, or {} when it was never set */
    SMA_QUERY_CURSOR,
    /* {"runs":[{...}],"next":"17"}: newest first, `limit` of them that `filter` lets through and
     * whose number is below `before` (0: all); chat_key narrows when not empty. Members as in
     * docs/http-api.md */
    SMA_QUERY_RUNS,
    /* chat_key = the number of a delivery: its state as in a trace, and its chat; {}: unknown */
    SMA_QUERY_DELIVERY,
    /* {"chats":[{...}],"next":"17"}: by number, the newest record first; limit, before likewise */
    SMA_QUERY_CHATS,
};
enum sma_runs_filter
{
    SMA_RUNS_ALL,
    SMA_RUNS_OPEN, /* waiting, running, parked, waiting for a model */
    SMA_RUNS_WAITING,
    SMA_RUNS_PARKED, /* for people, or for a model */
    SMA_RUNS_FAILED, /* refused ones, too */
    SMA_RUNS_DONE,
    SMA_RUNS_CANCELLED,
};

/* -- decisions of people ----------------------------------------------------------------------- */
enum sma_decide_kind
{
    /* id = approval id, or an unambiguous beginning of at least 6 characters */
    SMA_DECIDE_APPROVAL,
    SMA_DECIDE_PAIRING, /* id = code */
    SMA_DECIDE_REVOKE,  /* id = grant id */
    SMA_DECIDE_CANCEL,  /* id = number of a run: it is stopped, whatever it waits for */
};
#define SMA_GRANT_NONE 0
#define SMA_GRANT_ALWAYS (-1)
#define SMA_GRANT_PROGRAM (-2) /* for good, and whatever the program only reads (read_rules.h) */

/* -- steps ------------------------------------------------------------------------------------- */
enum sma_step_kind
{
    SMA_STEP_ANSWER = 1, /* the model's answer, before its calls are carried out */
    SMA_STEP_RESULTS,    /* results of the calls */
    SMA_STEP_NOTE,       /* anything else worth keeping: deliveries that were approved, ... */
    /* written by the store: what was decided about the calls of the answer before it (codec.h) */
    SMA_STEP_DECISION,
    /* no model could be reached: the run waits for one (wait_ms), its slot is free (codec.h) */
    SMA_STEP_WAIT,
    /* older turns became a summary, or their results were cleared (codec.h: past) */
    SMA_STEP_COMPACTION,
    /* one of the steps above of a sub-agent of this run, or its end (codec.h: child) */
    SMA_STEP_CHILD,
};
enum sma_intent
{
    SMA_INTENT_ASSISTANT_TEXT,
    /* from the notices table; recorded in history with meta.notice, never given to the model */
    SMA_INTENT_NOTICE,
    /* text is a card (runtime/approval/card.h): rendered by capability */
    SMA_INTENT_APPROVAL_REQUEST,
    SMA_INTENT_ERROR,
    /* text is a card: the request's message is changed to it, or it is sent as a new one */
    SMA_INTENT_APPROVAL_OUTCOME,
    SMA_INTENT_REACTION, /* text is an emoji put on route.message_id; no history line */
    SMA_INTENT_CARD,     /* text is a card of the model's in the platform's JSON (card_check.h) */
    /* text is the @attach line of a file that the store made for this row, in .ship/output: what
     * sends it and nothing else opens that file */
    SMA_INTENT_OUTPUT,
};
/** Are attach lines of the text files, and is the rest Markdown? */
static inline bool sma_intent_is_answer(uint8_t intent)
{
    return intent == SMA_INTENT_ASSISTANT_TEXT || intent == SMA_INTENT_OUTPUT;
}
enum sma_delivery_state
{
    SMA_DELIVERY_WAITING, /* in the store, not handed out */
    SMA_DELIVERY_BEGUN,   /* handed to the dispatcher, an attempt may have been made */
    SMA_DELIVERY_SENT,
    SMA_DELIVERY_FAILED,
    SMA_DELIVERY_UNKNOWN, /* given up with unknown outcome */
};
enum sma_step_verdict
{
    SMA_STEP_DURABLE,
    /* stored, and the run waits for people or for a model: it is over in the agent, send no DONE.
     * RUN comes again */
    SMA_STEP_PARKED,
    SMA_STEP_STOPPED, /* the run was stopped, cleared or is not open: drop it, send no DONE */
    SMA_STEP_NO_DISK, /* not stored: wait a second and ask again */
};
enum sma_outcome
{
    SMA_OUTCOME_OK,
    SMA_OUTCOME_FAILED,
    SMA_OUTCOME_CANCELLED,
    SMA_OUTCOME_GIVEN_UP,
};

/* -- working tools ----------------------------------------------------------------------------- */
enum sma_tool_mode
{
    SMA_TOOL_CHECK,  /* may it be done? Nothing is done */
    SMA_TOOL_RUN,    /* check again and do it */
    SMA_TOOL_SKILLS, /* of no call: the lines of the prompt that name the project's skills */
};
enum sma_tool_verdict
{
    SMA_TOOL_ALLOWED, /* CHECK: may be done. RUN: was done, content is the result */
    /* CHECK: people must agree to item_json. RUN: not done, it is not what was agreed to (content
     * says so) */
    SMA_TOOL_ASKS,
    SMA_TOOL_REFUSED, /* not done and may not be; content says why */
    SMA_TOOL_STOPPED, /* RUN: cancelled or the program ends; it may have been begun */
};

/* -- MCP servers ------------------------------------------------------------------------------- */
struct sma_mcp_catalogue;
enum sma_mcp_call_kind
{
    SMA_MCP_TOOL,
    SMA_MCP_RESOURCE, /* name = uri */
    SMA_MCP_PROMPT,
};
#define SMA_MCP_CALL_ALL UINT32_MAX
enum sma_mcp_outcome
{
    SMA_MCP_OK,
    SMA_MCP_TOOL_ERROR,     /* the tool says that it failed (isError): text is its result */
    SMA_MCP_PROTOCOL_ERROR, /* the server refused the request, or its answer cannot be read */
    /* the request did not leave: certainly not done */
    SMA_MCP_NOT_CONNECTED,
    /* it left, and the server died or did not answer in time: may be done */
    SMA_MCP_UNKNOWN,
    /* MCP_CANCEL, or the program ends, after it left; may be done */
    SMA_MCP_CANCELLED,
};
/* What people did with a question of a server. */
enum sma_mcp_action
{
    SMA_MCP_ACCEPT,  /* with content */
    SMA_MCP_DECLINE, /* they said no */
    SMA_MCP_DISMISS, /* nobody answered, or nobody can */
};

/* -- model ------------------------------------------------------------------------------------- */
enum sma_model_status
{
    SMA_MODEL_OK,
    SMA_MODEL_CONTEXT_LENGTH, /* the request is too long for the model */
    SMA_MODEL_FAILED,         /* after retries; error says what and what to do */
    SMA_MODEL_CANCELLED,
};
/* FAILED: what kind of failure, so that the run knows what may help. Source: protocols of the
 * providers; retry.h decides. */
enum sma_model_failure
{
    /* network, overload, 5xx, hung, cut: the same request may pass later */
    SMA_MODEL_FAILURE_TRANSIENT,
    /* a limit of requests or tokens per time; retry_after_ms when it was told */
    SMA_MODEL_FAILURE_RATE,
    /* no money, or a limit of days: another key or target may help, this one not soon */
    SMA_MODEL_FAILURE_QUOTA,
    SMA_MODEL_FAILURE_AUTH,     /* key wrong, revoked or without the right */
    SMA_MODEL_FAILURE_NO_MODEL, /* the model does not exist (any more) */
    /* a member of the request is refused: refused_member; repeat without it */
    SMA_MODEL_FAILURE_MEMBER,
    /* the conversation is refused (foreign reasoning, signatures, images): repeat it in plain
     * form */
    SMA_MODEL_FAILURE_SESSION,
    SMA_MODEL_FAILURE_REQUEST, /* any other 4xx: it will not pass */
    /* our own side: address, certificate, nothing configured, no memory */
    SMA_MODEL_FAILURE_SETUP,
    /* a picture, file or sound of the request is refused; refused_member: what of them the target
     * never takes (target.h), "content.too_many", or empty: nobody says which or why */
    SMA_MODEL_FAILURE_PICTURE,
    SMA_MODEL_FAILURE_FILE, /* a file of the body is gone or changed: refused_member is its path */
};
enum sma_finish
{
    SMA_FINISH_STOP,
    SMA_FINISH_TOOLS,
    /* truncated: calls must not run; those that were cut are is_invalid and is_cut */
    SMA_FINISH_LENGTH,
    SMA_FINISH_FILTERED, /* a content filter of the platform: calls must not run */
    /* the model refuses (text says why, may be empty): calls must not run, and the turn is not
     * replayed */
    SMA_FINISH_REFUSED,
};

/* -- delivery ---------------------------------------------------------------------------------- */
enum sma_send_state
{
    SMA_SEND_SENT,
    SMA_SEND_QUEUED, /* not yet; it will be delivered, or visibly given up */
    SMA_SEND_FAILED,
    SMA_SEND_UNKNOWN,
};
enum sma_attempt_class
{
    SMA_ATTEMPT_SENT,
    /* rate limited: retry_after_ms, whom it is for: is_adapter_wide, is_chat_only, or not said */
    SMA_ATTEMPT_RETRY_AFTER,
    /* refused or not reached: certainly not sent, try again with back-off */
    SMA_ATTEMPT_RETRY,
    SMA_ATTEMPT_GIVE_UP, /* will never work; error says why */
    SMA_ATTEMPT_UNKNOWN, /* may have been sent (time-out after the request left) */
};
enum sma_progress_kind
{
    SMA_PROGRESS_STARTED,  /* a run on this chat has started: typing */
    SMA_PROGRESS_TEXT,     /* streamed text so far, replaces the last one */
    SMA_PROGRESS_TOOL,     /* text = name of a tool being used */
    SMA_PROGRESS_FINISHED, /* the run is over (answers come as deliveries) */
    /* the conversation is made smaller; text = {"state":"begun"|"done"|"failed",...} */
    SMA_PROGRESS_COMPACTION,
};

/* -- usage ------------------------------------------------------------------------------------- */
/* Tokens of one or several model requests as the providers count them. input, cached and written
 * are disjoint: together they are what was sent. */
struct sma_usage
{
    uint64_t request_count;
    uint64_t input;     /* neither read from the provider's prompt cache nor written to it */
    uint64_t cached;    /* read from it */
    uint64_t written;   /* written to it, where the provider counts that apart; else 0 */
    uint64_t output;    /* reasoning included */
    uint64_t reasoning; /* of output; 0 where the provider does not tell */
    /* 1e-9 of the prices' currency (US dollars by default); 0 = no price is known */
    uint64_t cost_nano;
};
static inline void sma_usage_add(struct sma_usage *sum, const struct sma_usage *more)
{
    sum->request_count += more->request_count;
    sum->input += more->input;
    sum->cached += more->cached;
    sum->written += more->written;
    sum->output += more->output;
    sum->reasoning += more->reasoning;
    sum->cost_nano += more->cost_nano;
}
static inline bool sma_usage_is_empty(const struct sma_usage *usage)
{
    return (usage->request_count | usage->input | usage->cached | usage->written | usage->output |
            usage->reasoning | usage->cost_nano) == 0;
}

/* -- budgets ----------------------------------------------------------------------------------- */
/* Which budget is used up, and when it is renewed; in words: runtime/text/budget_text.h. */
struct sma_budget_over
{
    uint8_t scope;      /* enum sma_budget_scope; NONE: none is */
    uint8_t kind;       /* enum sma_budget_kind */
    uint8_t period;     /* enum sma_budget_period */
    int64_t renewed_ms; /* wall clock */
    int64_t left_ms;    /* until then, when it was found */
};

/* -- the bodies -------------------------------------------------------------------------------- */
/* clang-format off */
#define BODY(struct_name) struct struct_name {
#define FIELD(type, name) type name;
#define FIXED(type, name, count) type name[count];
#define TEXT(name) struct sma_str name;
#define TEXTS(count, names) uint32_t count; struct sma_str *names;
#define PART(struct_name, name) struct struct_name name;
#define LIST(struct_name, count, names) uint32_t count; struct struct_name *names;
#define END };
#include "sma/message_table.h"
/* clang-format on */

/**
 * sma_msg_make_<name>(&body): a message of that kind with a copy of the body and of everything that
 * its texts and lists point at. A text or list of some length whose pointer is NULL is room
 * instead, zeroed in lists, for the maker to fill before it sends (sma_msg_fill).
 * @return NULL when out of memory: nothing was made.  Blocks: never.  Allocates: once.
 */
#define MSG(kind, name, class, from, to, body)                                           \
    static inline SMA_CHECKED struct sma_msg *sma_msg_make_##name(const struct body *it) \
    {                                                                                    \
        return sma_msg_make(SMA_MSG_##kind, it);                                         \
    }
SMA_CHECKED struct sma_msg *sma_msg_make(unsigned kind, const void *body);
#include "sma/message_table.h"
/**
 * For bodies that are collected into one growing buffer: their slices hold offsets until it is
 * whole. Turns every slice of the body and of its lists (arrays of the caller) into one of `base`.
 */
void sma_msg_place(unsigned kind, void *body, const char *base);

/** Bytes of message room that sma_route_dup needs. */
size_t sma_route_space(const struct sma_route *route);
/** Copy a route into msg's room. */
struct sma_route sma_route_dup(struct sma_msg *msg, const struct sma_route *route);
/** Value of a header of a webhook request, trimmed; ptr NULL when it is absent. Name without colon,
 *  any case. */
struct sma_str sma_webhook_header(const struct sma_webhook *webhook, const char *name);

#endif
