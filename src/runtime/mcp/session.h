/*
 * session.h — what is said with one MCP server: JSON-RPC requests, answers, notifications, in both
 * eras of the protocol. No I/O and no clock: messages and the time come in, messages go out.
 *
 * Legacy (2024-11-05 .. 2025-11-25): initialize, notifications/initialized, then work. Modern
 * (2026-07-28): no handshake, every request carries _meta. Which one it is, is found out with
 * server/discover where the transport cannot tell (probes_modern); an error or silence means
 * legacy, in the same connection. Then tools, resources, templates and prompts are listed, as the
 * server's capabilities announce; list_changed lists anew, once a burst.
 * Source: the specification of these revisions; vectors of real servers in tests.
 *
 * Everything a server says is untrusted. Each side has its own ids: `method` decides what a message
 * is. What is not JSON, not JSON-RPC, or an answer to nothing is counted and skipped; so is all
 * that nobody asked for, and whoever says too much of it is given up. Requests of the server are
 * always answered: ping, roots/list (the project), elicitation (by people), and sampling (by the
 * model) where mcp.json allows it, else by a polite no. After a call's time-out the server must say
 * something, or it is given up. No $ref of a schema is ever followed.
 *
 * Invariants: each call that was begun is answered exactly once through `answered`, unless the
 *             session is destroyed; its time is renewed by progress, up to
 *             SMA_MCP_RENEWED_COUNT_MAX times it in all.
 * Threads:    the owner's. Callbacks are made inside the functions below and must not enter the
 *             session again.
 * Limits:     see limits.h, SMA_MCP_*.
 */
#ifndef SMA_RUNTIME_MCP_SESSION_H
#define SMA_RUNTIME_MCP_SESSION_H

#include <jansson.h>

#include "catalogue.h"
#include "sma/messages.h"

struct sma_mcp_session;

/* What goes out. */
struct sma_mcp_out
{
    struct sma_str text;   /* one JSON text on one line, without line end */
    struct sma_str method; /* empty: an answer to the server */
    struct sma_str name;   /* tools/call, prompts/get: name; resources/read: uri; else empty */
    uint64_t id;           /* of a request; 0 = no answer is expected */
    uint64_t cancels;      /* notifications/cancelled: this request; else 0 */
    const char *version;   /* of the protocol, as far as it is known */
    bool is_modern;
};

/* To people, for an open call (elicitation): sma_mcp_elicit. */
struct sma_mcp_question
{
    uint64_t id, call_id;
    struct sma_str text, schema; /* clean, bounded */
    uint64_t deadline_ns;        /* then it is dismissed */
};

/* To the model, for an open call (sampling): sma_mcp_sample. */
struct sma_mcp_wish
{
    uint64_t id, call_id;
    struct sma_str system;
    const struct sma_mcp_sample_line *lines;
    uint32_t line_count, tokens_max;
    uint64_t deadline_ns; /* then it is refused */
};

struct sma_mcp_session_ops
{
    /* Say this. What cannot be said ends the session sooner or later (sma_mcp_session_end). */
    void (*send)(void *user, const struct sma_mcp_out *out);
    /* What the server offers was listed (anew): sma_mcp_session_offer. */
    void (*listed)(void *user);
    /* One of ours is over. result: the result object, borrowed, or NULL; why: what went wrong. */
    void (*answered)(void *user, uint64_t id, enum sma_mcp_outcome outcome, const json_t *result,
                     struct sma_str why);
    void (*progress)(void *user, uint64_t id, struct sma_str text);         /* clean, bounded */
    void (*log)(void *user, enum sma_log_level level, struct sma_str text); /* clean, bounded */
    /* Ask people for a call. Answered by sma_mcp_session_elicited, unless the call ends before.
     * false: nobody can be asked. May be NULL. */
    bool (*elicit)(void *user, const struct sma_mcp_question *question);
    /* Ask the model for a call. Answered by sma_mcp_session_sampled, unless the call ends before.
     * NULL: it is asked; else why not, for the server. Not called unless may_sample. */
    const char *(*sample)(void *user, const struct sma_mcp_wish *wish);
    /* Nothing more comes of this connection: start anew. why: for people. */
    void (*failed)(void *user, const char *why);
};

struct sma_mcp_session_options
{
    const char *server;      /* its name in mcp.json */
    const char *project_dir; /* the one root */
    bool probes_modern;      /* begin with server/discover */
    bool is_modern;          /* it is known to be; probes_modern is not looked at */
    bool may_sample;         /* sampling is announced, and done */
    bool has_headers;        /* HTTP: tools whose x-mcp-header marks are wrong are left out */
};

/** NULL when out of memory. ops and the texts of options must outlive it. */
struct sma_mcp_session *sma_mcp_session_create(const struct sma_mcp_session_options *options,
                                               const struct sma_mcp_session_ops *ops, void *user);
void sma_mcp_session_destroy(struct sma_mcp_session *session); /* accepts NULL; answers nothing */
/** The connection stands: say the first word. */
void sma_mcp_session_begin(struct sma_mcp_session *session, uint64_t now_ns);
/** One message came. Longer than SMA_MCP_MESSAGE_BYTES_MAX: use _skip. */
void sma_mcp_session_take(struct sma_mcp_session *session, struct sma_str message, uint64_t now_ns);
/** One came that was too long to be kept: its beginning and its end, by which it may be told what
 *  it answers. */
void sma_mcp_session_skip(struct sma_mcp_session *session, struct sma_str head, struct sma_str tail,
                          uint64_t now_ns);
/** When sma_mcp_session_tick is wanted next; UINT64_MAX = never. */
uint64_t sma_mcp_session_due(const struct sma_mcp_session *session);
void sma_mcp_session_tick(struct sma_mcp_session *session, uint64_t now_ns);
/** The transport could not carry request `id` or its answer: it is over. */
void sma_mcp_session_fail(struct sma_mcp_session *session, uint64_t id,
                          enum sma_mcp_outcome outcome, struct sma_str why);
/** The connection is gone: whatever is open is answered UNKNOWN with this. */
void sma_mcp_session_end(struct sma_mcp_session *session, struct sma_str why);

struct sma_mcp_session_call
{
    enum sma_mcp_call_kind kind;
    struct sma_str name;      /* RESOURCE: uri */
    struct sma_str arguments; /* JSON object text; empty = {} */
    int64_t timeout_ms;
    uint64_t group; /* whose it is; a question for people is asked where it is clear for whom */
};
/**
 * Ask something of the server.
 * @return OK and *ret_id, answered later | FULL: too much is open | BUSY: it is not ready
 *         | BADINPUT: arguments are no JSON object | NOMEM. On an error nothing was sent.
 */
SMA_CHECKED enum sma_err sma_mcp_session_call(struct sma_mcp_session *session,
                                              const struct sma_mcp_session_call *call,
                                              uint64_t now_ns, uint64_t *ret_id);
/** Give a call up: the server is told, `answered` comes at once. Unknown ids: nothing. */
void sma_mcp_session_cancel(struct sma_mcp_session *session, uint64_t id, const char *reason);

/** What people did with a question. content: ACCEPT: JSON; what does not fit the form is not sent.
 *  Unknown ids: nothing. */
void sma_mcp_session_elicited(struct sma_mcp_session *session, uint64_t id,
                              enum sma_mcp_action action, struct sma_str content, uint64_t now_ns);

/** What the model said. why: not empty: it was not asked, or said nothing. Unknown ids: nothing. */
void sma_mcp_session_sampled(struct sma_mcp_session *session, uint64_t id,
                             const struct sma_mcp_sampled *sampled, uint64_t now_ns);

/** Calls in a row had no readable answer, and the ping that asks what that means has none yet. */
bool sma_mcp_session_is_doubtful(const struct sma_mcp_session *session);
/** The handshake is over and the first list is there. */
bool sma_mcp_session_is_ready(const struct sma_mcp_session *session);
/** "2025-11-25"; "" = not known yet. */
const char *sma_mcp_session_version(const struct sma_mcp_session *session);
/** What it offers, as a catalogue of this server alone (is_allowed is true everywhere); NULL before
 *  the first list. The session's: take a reference to keep it. */
const struct sma_mcp_catalogue *sma_mcp_session_offer(const struct sma_mcp_session *session);
/** Is request `id`, as it went out, still to be answered? */
bool sma_mcp_session_has_open(const struct sma_mcp_session *session, uint64_t id);

struct sma_mcp_session_counts
{
    uint64_t garbage;  /* what was no message */
    uint64_t stray;    /* answers and progress to nothing that is open */
    uint64_t refused;  /* requests of the server that were declined */
    uint64_t left_out; /* tools that could not be offered */
};
struct sma_mcp_session_counts sma_mcp_session_count(const struct sma_mcp_session *session);
/** The first of what was left out, by name, each with why: "a (...), b (...)"; clean, may be empty.
 *  The session's, until the next list. */
const char *sma_mcp_session_left_names(const struct sma_mcp_session *session);

#endif
