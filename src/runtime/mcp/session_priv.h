/*
 * session_priv.h — the state of a session among its files.
 */
#ifndef SMA_RUNTIME_MCP_SESSION_PRIV_H
#define SMA_RUNTIME_MCP_SESSION_PRIV_H

#include "session.h"

#define SESSION_MODERN_VERSION "2026-07-28"
#define SESSION_LEGACY_VERSION "2025-11-25"
#define SESSION_TEXT_BYTES_MAX 300 /* of a line for the log */
#define SESSION_LEFT_BYTES_MAX 240 /* of the names of what is left out */

enum session_state
{
    SESSION_NEW,
    SESSION_PROBING,      /* server/discover was asked */
    SESSION_INITIALIZING, /* initialize was asked */
    SESSION_LISTING,      /* the first list */
    SESSION_READY,
    SESSION_FAILED,
};

/* What one of our requests is. The lists stand in the order in which they are asked for. */
enum session_kind
{
    SESSION_FREE, /* the slot is */
    SESSION_DISCOVER,
    SESSION_INITIALIZE,
    SESSION_TOOLS,
    SESSION_RESOURCES,
    SESSION_TEMPLATES,
    SESSION_PROMPTS,
    SESSION_LISTEN, /* subscriptions/listen: open as long as the connection */
    SESSION_PING,   /* is it still there? */
    SESSION_CALL,
};

struct session_request
{
    uint64_t id; /* on the wire */
    enum session_kind kind;
    uint64_t deadline_ns, limit_ns, renewal_ns;
    /* CALL */
    uint64_t call_id; /* the owner's: the id of its first request */
    enum sma_mcp_call_kind call_kind;
    uint64_t group;
    unsigned rounds, asking, asked; /* questions to people: open, in all */
    unsigned sampled;               /* questions to the model, in all; open ones are in asking */
    uint64_t paused_ns;             /* since when some are open */
    json_t *params;                 /* to be repeated; modern alone */
    json_t *responses, *state;      /* with these */
};

/* To people, or to the model, for a call. */
struct session_question
{
    uint64_t id; /* 0 = free */
    uint64_t call_id, deadline_ns;
    json_t *form;
    json_t *wire_id; /* the server's request; NULL: asked in a result, under key */
    char *key;
};

struct session_listing
{
    bool is_open;
    bool is_wanted; /* list anew at due_ns */
    uint64_t due_ns;
    struct sma_mcp_builder *builder;
    size_t bytes, resources, prompts;
    uint64_t left_out;
    const char *why;                         /* the item at hand is left out */
    char left_names[SESSION_LEFT_BYTES_MAX]; /* the first of them, each with why */
    unsigned pages;
    uint64_t cursors[SMA_MCP_PAGE_COUNT_MAX]; /* hashes */
};

struct sma_mcp_session
{
    uint32_t magic;
    struct sma_mcp_session_options options;
    const struct sma_mcp_session_ops *ops;
    void *user;
    enum session_state state;
    bool is_modern;
    char version[16];
    bool has_tools, has_resources, has_prompts, tells_changes;
    char *instructions;                                      /* clean; NULL = none */
    struct session_request open[SMA_MCP_OPEN_COUNT_MAX + 3]; /* calls, one list, LISTEN, PING */
    struct session_question questions[SMA_MCP_ELICIT_COUNT_MAX + 1]; /* the last: to the model */
    uint64_t last_question;
    size_t call_count;
    uint64_t last_id;
    uint64_t probe_id;     /* of a server/discover that was not answered in time */
    uint64_t handshake_ns; /* until when it has to be ready; UINT64_MAX = it was */
    uint64_t listen_ns;    /* when to listen to changes again; UINT64_MAX = not */
    uint64_t now_ns;       /* of the entry that is at work */
    unsigned garbage_run, log_count;
    uint64_t log_ns;
    bool is_pinged;
    unsigned unclear_count; /* calls in a row without a readable answer */
    bool has_answered;      /* the message at work was asked for */
    bool is_cut;            /* it was too deep: what is below is left out */
    unsigned unasked_count;
    uint64_t unasked_bytes, unasked_ns; /* since when they are counted */
    struct session_listing listing;
    const struct sma_mcp_catalogue *offer;
    struct sma_mcp_session_counts counts;
    char left_names[SESSION_LEFT_BYTES_MAX]; /* of the listing that offer is */
};

/* -- session.c --------------------------------------------------------------------------------- */
void session_log(struct sma_mcp_session *session, enum sma_log_level level, const char *format, ...)
    SMA_PRINTF(3, 4);
void session_fail(struct sma_mcp_session *session, const char *why);
/** A free slot with an id and its times; NULL: all are taken. */
struct session_request *session_open(struct sma_mcp_session *session, enum session_kind kind,
                                     uint64_t timeout_ms);
void session_close(struct sma_mcp_session *session, struct session_request *request);
struct session_request *session_find(struct sma_mcp_session *session, uint64_t id);
struct session_request *session_find_call(struct sma_mcp_session *session, uint64_t call_id);
/** Its end: the slot is free, the owner is told. */
void session_answer(struct sma_mcp_session *session, struct session_request *request,
                    enum sma_mcp_outcome outcome, const json_t *result, struct sma_str why);
const char *session_call_method(enum sma_mcp_call_kind kind);
/** The first list is there, or cannot be had. */
void session_become_ready(struct sma_mcp_session *session);

/* -- session_read.c ---------------------------------------------------------------------------- */
/** One message as a tree; numbers that no machine word holds become the nearest that one does, and
 *  what is nested deeper than SMA_JSON_DEPTH_MAX is empty (*ret_is_cut): a server must not lose all
 *  that it lists by one of them. OK | BADINPUT | NOMEM. */
SMA_CHECKED enum sma_err session_read(struct sma_str message, json_t **ret_root, bool *ret_is_cut);

/* -- session_out.c ----------------------------------------------------------------------------- */
/** {"jsonrpc","id","method","params"}: adds _meta (modern, and the token of progress for calls);
 *  takes params, which may be NULL. @return false: it could not be made, nothing was sent */
bool session_put_request(struct sma_mcp_session *session, const struct session_request *request,
                         const char *method, json_t *params);
void session_put_notification(struct sma_mcp_session *session, const char *method, json_t *params);
void session_put_cancelled(struct sma_mcp_session *session, uint64_t id, const char *reason);
/** What this client can do for the server; NULL: no memory. */
json_t *session_capabilities(const struct sma_mcp_session *session);
/** Takes result. */
void session_put_result(struct sma_mcp_session *session, const json_t *id, json_t *result);
void session_put_error(struct sma_mcp_session *session, const json_t *id, int code,
                       const char *message);

/* -- session_ask.c ----------------------------------------------------------------------------- */
void session_take_notification(struct sma_mcp_session *session, struct sma_str method,
                               const json_t *params);
void session_take_request(struct sma_mcp_session *session, const json_t *id, struct sma_str method,
                          const json_t *params);
/** A result that is not the end of a call: what it asks for is said, perhaps by people, and the
 *  call repeated. @return NULL, or why that cannot be */
const char *session_take_inputs(struct sma_mcp_session *session, struct session_request *request,
                                const json_t *result);
/** Questions whose time is over. */
void session_tick_questions(struct sma_mcp_session *session);
/** The call is over, and so are its questions. */
void session_drop_questions(struct sma_mcp_session *session, uint64_t call_id);

/* -- session_sample.c -------------------------------------------------------------------------- */
/* What a server wants the model asked, clean. lines[].text points into text. */
struct session_sample
{
    struct sma_buf system, text;
    struct sma_mcp_sample_line lines[SMA_MCP_SAMPLE_MESSAGE_COUNT_MAX];
    uint32_t line_count, tokens_max;
};
/** Read params of sampling/createMessage. @return NULL, or why it is refused; fini in both cases */
const char *session_sample_read(struct session_sample *sample, const json_t *params);
void session_sample_fini(struct session_sample *sample);
/** The result of sampling/createMessage; NULL: no memory. */
json_t *session_sample_reply(const struct sma_mcp_sampled *sampled);

/* -- session_list.c ---------------------------------------------------------------------------- */
/** Ask for all lists, from the first on. */
void session_list(struct sma_mcp_session *session);
/** Something of it has changed: soon. */
void session_list_soon(struct sma_mcp_session *session);
/** A page came, or an error in its place (NULL). The request's slot is free already. */
void session_take_page(struct sma_mcp_session *session, enum session_kind kind,
                       const json_t *result);
void session_drop_listing(struct sma_mcp_session *session);

#endif
