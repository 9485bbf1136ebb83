/*
 * messages.h — every message kind, its body, and every edge with its bounds. The only words actors
 * share.
 *
 * Kind of edge: A = ask / its answer, S = signal, H = durable hand-off or control message on the
 * main lane. All slices in a body point into the message itself (sma_msg_dup). Times are monotonic
 * ns unless named _ms. A message's number, `seq`, is its acceptance order in the store, > 0, unique
 * for ever; a run has the seq of the message it answers.
 */
#ifndef SMA_MESSAGES_H
#define SMA_MESSAGES_H

#include "sma/actor.h"

/*      kind                from -> to                       edge  body                    */
#define SMA_MSG_MAP(X)                                                                        \
    X(LIFE)           /* supervisor -> every actor           H     sma_life                */ \
    X(LIFE_DONE)      /* every actor -> supervisor           H     sma_life                */ \
    X(RELOAD)         /* supervisor -> every actor           H     sma_reload              */ \
    X(LOG)            /* every actor -> log                  S     sma_log_line            */ \
    X(INGRESS)        /* adapter -> store                    A     sma_ingress             */ \
    X(ACCEPTED)       /* store -> adapter                    A     sma_accepted            */ \
    X(PREPARE)        /* store -> adapter                    A     sma_prepare             */ \
    X(PREPARED)       /* adapter -> store                    A     sma_prepared            */ \
    X(WEBHOOK)        /* http adapter -> adapter             A     sma_webhook             */ \
    X(WEBHOOK_ANSWER) /* adapter -> http adapter             A     sma_webhook_answer      */ \
    X(AWAIT)          /* adapter -> store                    A     sma_await               */ \
    X(RESULT)         /* store -> adapter                    A     sma_result              */ \
    X(QUERY)          /* adapter -> store                    A     sma_query               */ \
    X(QUERY_RESULT)   /* store -> adapter                    A     sma_query_result        */ \
    X(RUN)            /* store -> agent                      H     sma_run_order           */ \
    X(CONTROL)        /* store -> agent                      H     sma_control_order       */ \
    X(SESSION)        /* agent -> store                      A     sma_session_ask         */ \
    X(SESSION_TURNS)  /* store -> agent                      A     sma_session_turns       */ \
    X(STEP)           /* agent -> store                      A     sma_step                */ \
    X(STEP_DONE)      /* store -> agent                      A     sma_step_done           */ \
    X(DONE)           /* agent -> store                      A     sma_done                */ \
    X(DONE_DONE)      /* store -> agent                      A     sma_step_done           */ \
    X(HISTORY)        /* agent -> store                      A     sma_history_ask         */ \
    X(HISTORY_LINES)  /* store -> agent                      A     sma_history_lines       */ \
    X(CONTACT)        /* agent -> store                      A     sma_contact_ask         */ \
    X(CONTACT_RESULT) /* store -> agent                      A     sma_contact_result      */ \
    X(MODEL)          /* agent -> model                      A     sma_model_ask           */ \
    X(MODEL_ANSWER)   /* model -> agent                      A     sma_model_answer        */ \
    X(MODEL_CANCEL)   /* agent -> model                      H     sma_model_cancel        */ \
    X(MODEL_DELTA)    /* model -> agent                      S     sma_model_delta         */ \
    X(SEND)           /* agent -> dispatcher                 A     sma_send                */ \
    X(SEND_RESULT)    /* dispatcher -> agent                 A     sma_send_result         */ \
    X(DELIVER)        /* store -> dispatcher                 H     sma_deliver             */ \
    X(CANCEL_DELIVER) /* store -> dispatcher                 H     sma_cancel_deliver      */ \
    X(RECEIPT)        /* dispatcher -> store                 A     sma_receipt             */ \
    X(RECEIPT_DONE)   /* store -> dispatcher                 A     sma_receipt_done        */ \
    X(ATTEMPT)        /* dispatcher -> adapter               A     sma_attempt             */ \
    X(ATTEMPT_RESULT) /* adapter -> dispatcher               A     sma_attempt_result      */ \
    X(PROGRESS)       /* agent -> dispatcher -> adapter      S     sma_progress            */ \
    X(TOOL)           /* agent -> tools                      A     sma_tool_ask            */ \
    X(TOOL_ANSWER)    /* tools -> agent                      A     sma_tool_answer         */ \
    X(TOOL_CANCEL)    /* agent -> tools                      H     sma_tool_cancel         */ \
    X(JUDGE)          /* store -> agent                      H     sma_judge               */ \
    X(JUDGED)         /* agent -> store                      A     sma_judged              */ \
    X(JUDGED_DONE)    /* store -> agent                      A     sma_step_done           */ \
    X(DECIDE)         /* adapter -> store                    A     sma_decide              */ \
    X(DECIDED)        /* store -> adapter                    A     sma_decided             */ \
    X(LEARNED)        /* store -> agent                      H     sma_learned             */ \
    X(LEARN)          /* agent -> store                      H     sma_learned             */

enum sma_msg_kind
{
    SMA_MSG_NONE,
#define X(name) SMA_MSG_##name,
    SMA_MSG_MAP(X)
#undef X
        SMA_MSG_KIND_COUNT
};
const char *sma_msg_kind_name(unsigned kind);

/*
 * The edges. Capacity = slots of the main lane from -> to; asks = questions `from` may have open at
 * `to`; signals = slots of the separate signal lane. A lane that carries answers is at least as
 * large as the questions they answer. ADAPTER stands for every adapter, and ADAPTER -> ADAPTER for
 * every pair of different ones. Supervisor and log edges exist for every actor and are added by the
 * runtime.
 */
#define SMA_EDGE_MAP(X) /* from, to, capacity, asks, signals */                     \
    X(ADAPTER, STORE, 4096, SMA_ASK_INGRESS_COUNT_MAX + SMA_ASK_AWAIT_COUNT_MAX, 0) \
    X(STORE, ADAPTER, 4096, SMA_ASK_PREPARE_COUNT_MAX, 0)                           \
    X(ADAPTER, ADAPTER, 256, SMA_ASK_WEBHOOK_COUNT_MAX, 0)                          \
    X(STORE, AGENT, 8192, 0, 0)                                                     \
    X(AGENT, STORE, 4096, SMA_ASK_STORE_COUNT_MAX, 0)                               \
    X(STORE, DISPATCHER, 2048, 0, 0)                                                \
    X(DISPATCHER, STORE, 1024, SMA_ASK_RECEIPT_COUNT_MAX, 0)                        \
    X(AGENT, MODEL, 2048, SMA_ASK_MODEL_COUNT_MAX, 0)                               \
    X(MODEL, AGENT, 1024, 0, SMA_SIGNAL_COUNT_MAX)                                  \
    X(AGENT, DISPATCHER, 4096, SMA_ASK_SEND_COUNT_MAX, SMA_SIGNAL_COUNT_MAX)        \
    X(DISPATCHER, AGENT, 4096, 0, 0)                                                \
    X(DISPATCHER, ADAPTER, 64, SMA_ASK_ATTEMPT_COUNT_MAX, SMA_SIGNAL_COUNT_MAX)     \
    X(ADAPTER, DISPATCHER, 64, 0, 0)                                                \
    X(AGENT, TOOLS, 4096, SMA_ASK_TOOL_COUNT_MAX, 0)                                \
    X(TOOLS, AGENT, 2048, 0, 0)

/* -- life cycle -------------------------------------------------------------------------------- */
enum sma_phase
{
    /* adapters: accept nothing new; done when no INGRESS question is open */
    SMA_PHASE_INTAKE_OFF = 1,
    /* agent, then dispatcher, then model, then store: reach a durable point */
    SMA_PHASE_DRAIN,
    SMA_PHASE_CLOSE, /* adapters: answer or close what waits, close sockets */
};
struct sma_life
{
    unsigned phase;
};
struct sma_config;
struct sma_reload
{
    const struct sma_config *config; /* immutable snapshot, lives until the program ends */
};
struct sma_log_line
{
    int level; /* enum sma_log_level */
    /* a request to a model, or its answer: for the files in .ship/logs/llm alone */
    bool is_block;
    /* ordinary traffic: the terminal shows the text alone, which says what the details do */
    bool is_traffic;
    int64_t wall_ms;
    struct sma_str text, details_json;
};

/* -- where a message comes from and an answer goes --------------------------------------------- */
struct sma_route
{
    uint8_t adapter;           /* enum sma_actor_id */
    struct sma_str channel;    /* "telegram" "feishu" "qq" "api" "cli" "web" or a test's own */
    struct sma_str chat_key;   /* protocols/project.md §5.1; decides order and session */
    struct sma_str chat_id;    /* where the talk happens, platform's id */
    struct sma_str chat_type;  /* platform's word ("private", "group", "c2c" ...); may be empty */
    struct sma_str thread_id;  /* topic; may be empty */
    struct sma_str message_id; /* what is replied to; may be empty */
    struct sma_str user_id;    /* who speaks; may be empty */
    struct sma_str user_name;  /* display or handle; may be empty */
    struct sma_str language;   /* what the platform says of the user: "zh..." "en..." or empty */
};
/** Bytes of message room that sma_route_dup needs. */
size_t sma_route_space(const struct sma_route *route);
/** Copy a route into msg's room. */
struct sma_route sma_route_dup(struct sma_msg *msg, const struct sma_route *route);

/* When things happened to one message, monotonic ns, 0 = not yet. Carried along for the
 * histograms. */
struct sma_stamps
{
    uint64_t read_ns, parsed_ns, claimed_ns, durable_ns, run_ns, model_out_ns, first_token_ns,
        reply_ns;
};

/* -- ingress ----------------------------------------------------------------------------------- */
enum sma_event_kind
{
    SMA_EVENT_MESSAGE,  /* runs, when addressed and allowed */
    SMA_EVENT_CONTROL,  /* /stop /clear /status /help: does not wait in the queue */
    SMA_EVENT_CALLBACK, /* a button was pressed: text = its data; see ACCEPTED notice */
    SMA_EVENT_NOTE,     /* claimed and recorded only (join, leave, edit) */
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
};
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
struct sma_ingress
{
    struct sma_route route;
    /* claim key besides channel, chat key and kind: message id, callback id, event id */
    struct sma_str event_key;
    struct sma_str text; /* what goes to history and to the model, untouched */
    /* more for the model (quoted message, forward, attachments), not in history text; may be
     * empty */
    struct sma_str context;
    struct sma_str meta_json; /* history entry's meta object; empty = omit */
    /* platform cursor saved with this commit, e.g. "telegram.offset"; empty = none */
    struct sma_str cursor_name;
    int64_t cursor_value;
    int64_t wall_ms; /* history ts */
    /* of what must be equal under one event key (HTTP); 0 = not compared */
    uint64_t body_hash;
    uint8_t kind;        /* enum sma_event_kind */
    uint8_t control;     /* enum sma_control */
    uint8_t addressed;   /* enum sma_addressed */
    bool is_record_only; /* backlog policy: claim and record, do not run */
    /* several people talk here: group access and follow-up windows apply */
    bool is_group;
    /* enum sma_role, when the event itself says what rights its author has here */
    uint8_t role;
    /* opaque to the core: what the adapter must fetch before the run; empty = nothing */
    struct sma_str preparation;
    /* messages of a chat that share it are one message (an album); empty = on its own */
    struct sma_str group_key;
    struct sma_str migrated_from; /* NOTE: the chat key that this chat had before; empty = none */
    /* Whose words these are and what they are about: consent is read from nothing else
     * (docs/notes/approvals.md). */
    /* is_reply: the message it answers, as the platform names it; empty = nobody says which */
    struct sma_str reply_to_id;
    int64_t sent_ms; /* the platform's date of it, as it came; 0 = not said */
    bool is_reply;   /* it answers or quotes a message */
    /* not its sender's own words: forwarded, or made by another program */
    bool is_forward;
    bool is_edited; /* not as it was sent */
    struct sma_stamps stamps;
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
};
struct sma_accepted
{
    uint8_t verdict;         /* enum sma_verdict */
    uint64_t seq;            /* 0 when REFUSED */
    uint32_t position;       /* waiting messages before it, 0 = next */
    uint32_t retry_after_ms; /* REFUSED, BUSY */
    struct sma_str reason;   /* text for REFUSED, BUSY, CONFLICT */
    uint64_t durable_ns;     /* stamp */
    /* CALLBACK: what the person who pressed is shown (language chosen); may be empty */
    struct sma_str notice;
    struct sma_str chat_key, user_id; /* of the question, for the log */
};
/*
 * Store -> adapter: get ready what the run of an accepted message needs, before it starts: download
 * its attachments, look up whether its author administers the chat. Asked again after a restart, so
 * it must be repeatable. The adapter answers within SMA_PREPARE_S; without an answer by then the
 * run starts with what there is.
 */
struct sma_prepare
{
    uint64_t seq;
    struct sma_route route;
    struct sma_str preparation; /* as in INGRESS; empty = only the role is wanted */
    bool wants_role;
};
struct sma_prepared
{
    uint64_t seq;
    uint8_t role; /* enum sma_role */
    /* added to the message's context: what failed, what was found; may be empty */
    struct sma_str context;
};

/*
 * http adapter -> adapter: a request to /webhooks/<adapter's name>. The body is the bytes as they
 * came; no token was
 * checked: the adapter authenticates the platform by its own secret and answers once, after the
 * event is durable.
 */
struct sma_webhook
{
    struct sma_str path, query; /* query without '?' */
    /* the header lines as received, each ending in CR LF; see sma_webhook_header */
    struct sma_str headers;
    struct sma_str body;
    uint64_t read_ns;
    bool is_get; /* a challenge in the query; else POST */
};
struct sma_webhook_answer
{
    int status;             /* HTTP status */
    uint32_t retry_after_s; /* header Retry-After when > 0 */
    struct sma_str body;    /* JSON, may be empty */
};
/** Value of a header of a webhook request, trimmed; ptr NULL when it is absent. Name without colon,
 *  any case. */
struct sma_str sma_webhook_header(const struct sma_webhook *webhook, const char *name);

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

/* The result of a run, as stored. An AWAIT stays open until the run is finished, or is answered at
 * once if is_peek. */
struct sma_await
{
    uint64_t seq;
    bool is_peek;
    /* empty = any; otherwise NOTFOUND unless the run's message came from this user */
    struct sma_str user_id;
};
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
struct sma_result
{
    uint64_t seq;
    /* enum sma_run_state; a stopping store answers open AWAITs with the state of now */
    uint8_t state;
    bool is_success;
    uint32_t position;              /* when WAITING */
    struct sma_str output;          /* sent texts joined by a blank line, else the final text */
    struct sma_str tool_calls_json; /* protocols/project.md §4.3: [{tool,input,output}] */
    struct sma_str message_id;      /* the event key it came under */
    struct sma_str chat_id;
    /* PARKED: {"id","type","description","data":{...}} (protocols/project.md §10.5) */
    struct sma_str pending_json;
    struct sma_usage usage; /* of the whole run; zeros = not known */
    /* DONE, FAILED, CANCELLED: from its acceptance to its end; 0 = not known */
    uint64_t duration_ms;
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
};
struct sma_query
{
    uint8_t kind;
    uint32_t limit;
    struct sma_str chat_key;
};
struct sma_query_result
{
    struct sma_str json;
};

/* -- decisions of people ----------------------------------------------------------------------- */
enum sma_decide_kind
{
    /* id = approval id, or an unambiguous beginning of at least 6 characters */
    SMA_DECIDE_APPROVAL,
    SMA_DECIDE_PAIRING, /* id = code */
    SMA_DECIDE_REVOKE,  /* id = grant id */
};
#define SMA_GRANT_NONE 0
#define SMA_GRANT_ALWAYS (-1)
/* From whoever the adapter has authenticated (route.channel, route.user_id). Text and buttons do
 * not come this way: they are INGRESS, and the store makes the same decision of them. */
struct sma_decide
{
    uint8_t kind;
    struct sma_route route;
    struct sma_str id;
    /* items by index; APPROVAL: both 0 = all, as is_approved says */
    uint64_t approved_mask, refused_mask;
    bool is_approved;
    struct sma_str response; /* words for the model, or the reason of a refusal; may be empty */
    int64_t grant_s;         /* SMA_GRANT_NONE, SMA_GRANT_ALWAYS (in this chat), or seconds */
    uint8_t standing;        /* PAIRING: MEMBER, ADMIN or OWNER */
};
struct sma_decided
{
    int status;          /* as in HTTP: 200, 400, 403, 404, 409 decided before, 410 expired, 503 */
    struct sma_str text; /* one line for people: what happened, by whom */
};

/* Store -> agent: a message came to a chat that waits for a decision and may be the answer; the
 * words alone do not tell. The agent asks the model and says JUDGED; nothing else of the message is
 * done. */
struct sma_judge
{
    uint64_t seq; /* of the message */
    struct sma_str approval_id, chat_key, text;
    struct sma_str request_json; /* runtime/approval/request.h */
};
struct sma_judged
{
    uint64_t seq;
    struct sma_str approval_id;
    /* the model takes it for consent: it is asked for in words that need no reading */
    bool seems_to_agree;
    uint64_t refused_mask; /* items; 0 = none: an ordinary message after all */
    struct sma_str response;
};

/* A standing permission: this tool with this rule (runtime/policy/policy.h) in this chat until
 * then. */
struct sma_grant
{
    struct sma_str id, tool, rule;
    int64_t until_ms; /* wall clock; 0 = until it is revoked */
};

/* What a target refuses. Store -> agent: all that is known, before the first RUN of this start of
 * the program. Agent ->
 * store: learned now, kept over restarts; not answered, and lost without harm when there is no
 * disk. */
struct sma_learned_fact
{
    struct sma_str target; /* key of runtime/model/target.h */
    struct sma_str member; /* member of the request that it refuses */
};
struct sma_learned
{
    uint32_t fact_count;
    struct sma_learned_fact *facts;
};

/* -- runs -------------------------------------------------------------------------------------- */
struct sma_stored_step
{
    uint32_t number;     /* 1, 2, ... */
    uint8_t kind;        /* enum sma_step_kind */
    struct sma_str data; /* opaque to the store; written and read by runtime/agent */
};
struct sma_collected
{
    uint64_t seq;
    int64_t wall_ms;
    struct sma_str user_id, user_name, message_id, text, context;
};
/* Store -> agent: run this message. One credit = one open run; DONE returns it. */
struct sma_run_order
{
    uint64_t seq;
    struct sma_route route;
    struct sma_str text, context;
    int64_t wall_ms;
    bool is_resumed; /* was begun before this start of the program */
    /* begun before an unclean exit and no step since: the attempt is committed already */
    bool is_suspect;
    /* the chat has stored turns: ask SESSION if no session is in memory */
    bool has_past;
    uint32_t attempt;    /* 1.. ; counts unclean attempts without a step */
    uint32_t step_count; /* durable steps to continue from, oldest first */
    struct sma_stored_step *steps;
    uint32_t delivery_count; /* outbox rows this run has already made */
    struct sma_step_delivery_state *deliveries;
    /* queue.mode collect: earlier messages that this run answers too, oldest first */
    uint32_t collected_count;
    struct sma_collected *collected;
    /* was parked; the last step is DECISION and what it approves has not been started */
    bool is_decided;
    uint8_t standing; /* enum sma_standing: the least of those who wrote the messages */
    /* of this installation, always the same: by it the model knows our blocks of facts; 0 = none */
    uint64_t facts_word;
    uint32_t grant_count; /* that hold in this chat now */
    struct sma_grant *grants;
    struct sma_stamps stamps;
};
/* Store -> agent, already durable. Acts on everything of the chat with seq < mark_seq. */
struct sma_control_order
{
    uint8_t control; /* STOP: cancel the running run. CLEAR: cancel it and drop the session */
    uint64_t mark_seq;
    struct sma_str chat_key;
};
/* The last turns of a chat, to rebuild its session. */
struct sma_session_ask
{
    struct sma_str chat_key;
    uint64_t before_seq; /* the run that wants it */
    uint32_t turns_max;
    uint32_t bytes_max;
};
struct sma_turn
{
    uint64_t seq;
    /* whose bytes they are: key of a target (runtime/model/target.h), or of old turns a wire's
     * name */
    struct sma_str wire;
    struct sma_str message_id; /* of the user's message */
    struct sma_str bytes;      /* the turn as runtime/agent encoded it in DONE */
};
struct sma_session_turns
{
    struct sma_str chat_key;
    uint32_t turn_count; /* oldest first; only turns after the chat's clear mark */
    struct sma_turn *turns;
};

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
};
struct sma_step_delivery
{
    uint32_t call;          /* index of the call in the step; the key is (seq, step number, call) */
    uint8_t intent;         /* enum sma_intent */
    struct sma_route route; /* usually the run's own; another chat for chat_contact_send */
    struct sma_str text;
};
enum sma_delivery_state
{
    SMA_DELIVERY_WAITING, /* in the store, not handed out */
    SMA_DELIVERY_BEGUN,   /* handed to the dispatcher, an attempt may have been made */
    SMA_DELIVERY_SENT,
    SMA_DELIVERY_FAILED,
    SMA_DELIVERY_UNKNOWN, /* given up with unknown outcome */
};
struct sma_step_delivery_state
{
    uint32_t step, call;
    uint64_t outbox_id; /* > 0 */
    /* enum sma_delivery_state; SENT at once where delivery means stored (channel api) */
    uint8_t state;
    struct sma_str error;
};
/* Agent -> store. The answer comes after the commit: it is the gate before every effect of the
 * step. */
struct sma_step
{
    uint64_t seq;
    /* 1, 2, ...: must be the next; a number already stored is answered as stored (idempotent) */
    uint32_t number;
    uint8_t kind; /* enum sma_step_kind */
    struct sma_str data;
    uint32_t delivery_count;
    struct sma_step_delivery *deliveries;
    /* not empty: park the run and ask people (runtime/approval/request.h). ANSWER only */
    struct sma_str request_json;
    /* WAIT only, > 0: the answer is PARKED, and RUN comes again after this time, over restarts */
    uint32_t wait_ms;
    struct sma_usage usage; /* of the model requests since the step before; all 0 = none */
    struct sma_str target;  /* who answered them (runtime/model/target.h: key); empty = nobody */
    /* what happened since the step before (runtime/agent/trace.h); opaque to the store */
    struct sma_str trace;
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
struct sma_step_done
{
    uint64_t seq;
    uint32_t number;
    uint8_t verdict; /* enum sma_step_verdict */
    uint32_t delivery_count;
    struct sma_step_delivery_state *deliveries; /* in the order of the question's deliveries */
};
enum sma_outcome
{
    SMA_OUTCOME_OK,
    SMA_OUTCOME_FAILED,
    SMA_OUTCOME_CANCELLED,
    SMA_OUTCOME_GIVEN_UP,
};
/* Agent -> store: the run is over. Outcome, turn and fallback row are one transaction; the credit
 * returns. */
struct sma_done
{
    uint64_t seq;
    uint8_t outcome;                /* enum sma_outcome */
    struct sma_str output;          /* final text of the run, for the stored result */
    struct sma_str tool_calls_json; /* [{tool,input,output}] */
    struct sma_str turn;            /* the session's new turn, empty = none */
    /* its format: key of the target (runtime/model/target.h) whose bytes it holds */
    struct sma_str wire;
    /* fallback text or notice: 0 or 1 row; call = 0, step = last step + 1 */
    uint32_t delivery_count;
    struct sma_step_delivery *deliveries;
    struct sma_usage usage; /* as in STEP: since the last one */
    struct sma_str target, trace;
    struct sma_stamps stamps;
};

/* -- tools answered by the store --------------------------------------------------------------- */
/*
 * Newest entries first considered, given back in chronological order. Excluded: lines at or after
 * the current message's place by its own id; and, from the line of session_first_seq on, assistant
 * lines and the user lines whose messageId is in `session_ids` (they are in the live session
 * already). Notices are never given.
 */
struct sma_history_ask
{
    struct sma_str chat_key;
    uint32_t limit; /* 1..200 */
    /* empty = recent; else regular expression (PCRE2 with match limits), or plain substring when it
     * does not compile; case-insensitive */
    struct sma_str keyword;
    uint64_t current_seq;
    uint64_t session_first_seq; /* 0 = the session is empty */
    uint32_t session_id_count;
    struct sma_str *session_ids;
};
struct sma_history_line
{
    int64_t wall_ms;
    bool is_user; /* else assistant */
    struct sma_str user_id, user_name, text;
};
struct sma_history_lines
{
    uint8_t err; /* enum sma_err; OK, or what went wrong with `error` */
    struct sma_str error;
    uint32_t line_count; /* oldest first */
    struct sma_history_line *lines;
    bool is_cut; /* more matched than limit or bytes allowed */
};
struct sma_contact_ask
{
    struct sma_str user_name; /* or an actor key, "telegram:1001", when several share a name */
    struct sma_str channel;   /* empty = any */
};
struct sma_contact_result
{
    bool is_found;
    struct sma_route route;      /* of the contact's last message */
    struct sma_str contact_json; /* protocols/project.md §7.6, and "standing"; of several a list */
    uint32_t count;              /* people who have this name: of more than one none is meant */
    /* a stranger, or somebody who has another name by now: sending is always asked */
    bool is_doubtful;
    struct sma_str whom; /* for people: "member, telegram:1001" */
};

/* -- working tools ----------------------------------------------------------------------------- */
enum sma_tool_mode
{
    SMA_TOOL_CHECK, /* may it be done? Nothing is done */
    SMA_TOOL_RUN,   /* check again and do it */
};
struct sma_tool_ask
{
    uint64_t seq;
    uint32_t call;
    uint8_t mode;     /* enum sma_tool_mode */
    uint8_t standing; /* enum sma_standing of whom it is done for */
    bool is_approved; /* RUN: people agreed to what has this digest */
    bool is_by_owner; /* is_approved: it was an owner who agreed */
    uint8_t digest[32];
    struct sma_str name, arguments; /* arguments: JSON that the schema allows */
    struct sma_str chat_key;        /* whose run it is */
    /* sends elsewhere: chat key it goes to, then a blank and the name for people */
    struct sma_str receiver;
    bool is_receiver_doubtful; /* as in struct sma_contact_result */
    uint32_t grant_count;
    struct sma_grant *grants;
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
struct sma_tool_answer
{
    uint64_t seq;
    uint32_t call;
    uint8_t verdict; /* enum sma_tool_verdict */
    bool is_error;
    struct sma_str content;   /* for the model: JSON, at most SMA_TOOL_RESULT_BYTES_MAX */
    struct sma_str item_json; /* ASKS in CHECK: one item of runtime/approval/request.h */
};
struct sma_tool_cancel
{
    uint64_t seq; /* every open TOOL question of this run: killed, still answered */
};

/* -- model: messages_model.h ------------------------------------------------------------------- */
#include "sma/messages_model.h"

/* -- delivery ---------------------------------------------------------------------------------- */
/* Agent -> dispatcher: tell me how outbox row `outbox_id` ended. Answered at the latest at the
 * deadline ("queued"). */
struct sma_send
{
    uint64_t seq, outbox_id;
};
enum sma_send_state
{
    SMA_SEND_SENT,
    SMA_SEND_QUEUED, /* not yet; it will be delivered, or visibly given up */
    SMA_SEND_FAILED,
    SMA_SEND_UNKNOWN,
};
struct sma_send_result
{
    uint64_t seq, outbox_id;
    uint8_t state;
    struct sma_str error;
};
/* Store -> dispatcher: one outbox row, the next of its chat only when this one is over or given
 * back. One credit of the row's adapter; the final RECEIPT returns it, or one that says is_held. */
struct sma_deliver
{
    uint64_t outbox_id, seq;
    struct sma_route route;
    struct sma_str text;
    struct sma_str language;   /* of notices: "zh" or "en" */
    uint8_t intent;            /* enum sma_intent */
    uint32_t renderer_version; /* 0 = not rendered before */
    uint32_t part_done_count;  /* parts with a receipt */
    /* the next part was begun before a crash: attempt it under the same key, count it */
    bool is_repeat;
    bool has_waiter; /* the agent will ask SEND for it */
    /* of the row, for its idempotency keys; 0 = it is older than salts */
    uint64_t salt;
    uint32_t attempt_count;
    /* spent on the platform's orders to wait, before the row was given back */
    uint32_t waited_ms;
    /* parts already used in answer to the same message before this row; for platforms that count
     * replies */
    uint32_t reply_count;
    int64_t message_wall_ms; /* when the message that is answered was written; 0 = unknown */
    struct sma_stamps stamps;
};
struct sma_cancel_deliver
{
    /* /stop: rows of this chat with seq < mark that are not begun are given up by the store; */
    struct sma_str chat_key;
    /* the dispatcher drops those it holds and has not attempted (RECEIPT FAILED "stopped") */
    uint64_t mark_seq;
};
/* Dispatcher -> store. Answered after the commit. For a row of several parts the next part starts
 * after the answer. */
struct sma_receipt
{
    uint64_t outbox_id;
    uint32_t part, part_count; /* part index from 0 */
    uint32_t renderer_version;
    /* enum sma_delivery_state: SENT, FAILED, UNKNOWN; WAITING = still trying (attempt count
     * kept) */
    uint8_t state;
    /* WAITING: nothing is open, and nothing may be tried for hold_ms: the row is given back with
     * its credit and comes again when it is due. Answered at once, nothing is written */
    bool is_held;
    uint32_t hold_ms, waited_ms;
    /* the row is finished: returns the credit, writes the history line if SENT or UNKNOWN */
    bool is_final;
    uint32_t attempt_count;
    struct sma_str platform_message_id, error;
    struct sma_str reply_id; /* as in ATTEMPT_RESULT, with sent_ms */
    int64_t sent_ms;
    uint64_t reply_ns;
};
struct sma_receipt_done
{
    uint64_t outbox_id;
    /* enum sma_step_verdict: DURABLE; STOPPED = the row was cancelled, drop it; NO_DISK = ask
     * again */
    uint8_t verdict;
};
enum sma_attempt_class
{
    SMA_ATTEMPT_SENT,
    /* rate limited: retry_after_ms, for the chat or (is_adapter_wide) the whole adapter */
    SMA_ATTEMPT_RETRY_AFTER,
    /* refused or not reached: certainly not sent, try again with back-off */
    SMA_ATTEMPT_RETRY,
    SMA_ATTEMPT_GIVE_UP, /* will never work; error says why */
    SMA_ATTEMPT_UNKNOWN, /* may have been sent (time-out after the request left) */
};
struct sma_attempt
{
    uint64_t outbox_id, seq;
    uint32_t part, part_count;
    struct sma_route route;
    struct sma_str part_bytes;      /* what render() made, adapter's own format */
    struct sma_str idempotency_key; /* same for every attempt of this part, stable over restarts */
    uint8_t intent;
    bool is_repeat;
    /* as in DELIVER: before this row, so this part is reply number reply_count + part */
    uint32_t reply_count;
    int64_t message_wall_ms; /* as in DELIVER */
};
struct sma_attempt_result
{
    uint64_t outbox_id;
    uint32_t part;
    uint8_t attempt_class; /* enum sma_attempt_class */
    bool is_adapter_wide;
    /* of UNKNOWN: the platform itself answered that it failed, or hides a repeat: repeat until it
     * has healed */
    bool is_likely_unsent;
    uint32_t retry_after_ms;
    struct sma_str platform_message_id, error;
    /* by which messages that answer it name it, where that is not platform_message_id; may be
     * empty */
    struct sma_str reply_id;
    int64_t sent_ms; /* the platform's date of it; 0 = not said */
};
enum sma_progress_kind
{
    SMA_PROGRESS_STARTED, /* a run on this chat has started: typing */
    SMA_PROGRESS_TEXT,    /* streamed text so far, replaces the last one */
    SMA_PROGRESS_TOOL,    /* text = name of a tool being used */
    SMA_PROGRESS_FINISHED /* the run is over (answers come as deliveries) */
};
struct sma_progress
{
    uint64_t seq;
    uint8_t kind; /* enum sma_progress_kind */
    struct sma_route route;
    struct sma_str text;
};

#endif
