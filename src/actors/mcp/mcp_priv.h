/*
 * mcp_priv.h — the state of the mcp actor: a server each, what is asked of it, how it is reached.
 *
 * A server is opened (mcp_link: its transport), spoken to (sma_mcp_session), lost and opened again
 * after a while that doubles. A call belongs to one session and is answered once: when the session
 * ends, everything open ends as UNKNOWN. Transports know messages and bytes, sessions know the
 * protocol, this actor knows servers.
 *
 * Adding a transport: a table of struct mcp_transport and an entry in mcp_server.c. It calls
 * mcp_link_opened once, mcp_link_message for each message, mcp_link_lost at most once, and
 * mcp_link_closed once after close() when no handle and no process of it is left.
 *
 * Invariants: at most one catalogue is on its way to the agent; a link is closed before its server
 *             is opened again.
 * Threads:    the actor's.
 */
#ifndef SMA_ACTORS_MCP_PRIV_H
#define SMA_ACTORS_MCP_PRIV_H

#include "runtime/exec/exec_options.h"
#include "runtime/exec/sandbox.h"
#include "runtime/mcp/mcp_config.h"
#include "runtime/mcp/session.h"
#include "runtime/secrets/secrets.h"
#include "sma/actors.h"
#include "sma/messages.h"

#include <uv.h>

#define MCP_RETRY_MIN_NS (1 * SMA_NS_PER_S) /* from a server's end to its next start; doubles */
#define MCP_RETRY_MAX_NS (300 * SMA_NS_PER_S)
#define MCP_STEADY_NS (60 * SMA_NS_PER_S) /* ready for so long, it begins with the least again */
#define MCP_HELD_NS (15 * SMA_NS_PER_S)   /* looked at again: the owner may have accepted it */
#define MCP_TROUBLE_COUNT 3               /* failures in a row: state "error", and in health */
#define MCP_ANEW_NS (60 * SMA_NS_PER_S)   /* so long calls wait for a server that is started anew */
#define MCP_TELL_NS (50 * SMA_NS_PER_MS)  /* changes within it are one catalogue */
#define MCP_TROUBLE_BYTES_MAX 256
#define MCP_CONFIG_COUNT_MAX 65 /* the first and as many reloads as the service takes */

struct mcp_server;

struct mcp_transport
{
    bool probes_modern; /* begin with server/discover */
    /** Begin. On an error nothing is left and no event comes. */
    SMA_CHECKED enum sma_err (*open)(struct mcp_server *server, struct sma_error *error);
    /** Say this; the text is the caller's. What cannot be said is mcp_link_lost or
     *  mcp_link_refused. */
    void (*send)(struct mcp_server *server, const struct sma_mcp_out *out);
    /** Before a call leaves: is the link to be opened anew first, and why? May be NULL. */
    bool (*is_outgrown)(struct mcp_server *server, char why[MCP_TROUBLE_BYTES_MAX]);
    /** End it, soon or at once; again with is_at_once when it takes too long. */
    void (*close)(struct mcp_server *server, bool is_at_once);
};
extern const struct mcp_transport mcp_stdio, mcp_http, mcp_sse;

enum mcp_phase
{
    MCP_WAITS,   /* to be opened at due_ns; UINT64_MAX = not by itself */
    MCP_OPEN,    /* a link and a session */
    MCP_CLOSING, /* the session is gone, the link is going */
};

struct mcp_server
{
    struct sma_mcp *mcp;
    char name[SMA_MCP_SERVER_NAME_BYTES_MAX + 1];
    const struct sma_mcp_config_server *config;
    const struct mcp_transport *transport;
    void *link; /* the transport's; NULL = closed */
    struct sma_mcp_session *session;
    uint64_t session_serial; /* counts its sessions */
    enum mcp_phase phase;
    enum sma_mcp_state state;
    bool is_lost;    /* the session is to be ended as soon as nobody is inside it */
    bool is_removed; /* mcp.json does not name it any more */
    bool is_held;    /* its program is not the one that was accepted (mcp_spawn.c) */
    /* its walls are of before: it is started anew when its open calls have ended, or was and is not
     * ready yet; until then calls wait, but not beyond anew_until_ns */
    bool is_outgrown, is_anew;
    uint64_t anew_until_ns;
    const struct sma_config *walls_config; /* of its walls, and what they show besides */
    uint64_t walls_shown;
    bool was_ready;
    bool is_doubtful; /* as it was told: its session does not answer readably */
    /* for the log, once the agent has the list: the first one, a later one */
    bool is_newly_listed, is_relisted;
    uint64_t relisted_ns; /* when the log was told last; 0 = never */
    uint64_t due_ns, ready_ns;
    unsigned failures; /* in a row */
    /* sampling: requests since sampled_ns, of this minute */
    uint64_t sampled_ns;
    unsigned sampled_count;
    char trouble[MCP_TROUBLE_BYTES_MAX];
};

struct mcp_call
{
    bool is_used;
    enum sma_actor_id asker;
    uint64_t ask_id, seq, id; /* id: the session's */
    uint32_t call;
    enum sma_mcp_call_kind kind;
    struct mcp_server *server;
    struct sma_msg *waits; /* the question, while its server is started anew; NULL: it has left */
};

/* A question that a server asks people, or the model: at the agent. */
struct mcp_question
{
    uint64_t ask_id; /* 0 = free */
    uint64_t id;     /* the session's */
    struct mcp_server *server;
    uint64_t session_serial;
};

struct sma_mcp
{
    uint32_t magic;
    struct sma_ctx *ctx;
    const struct sma_config *config;
    struct sma_mcp_config *configs[MCP_CONFIG_COUNT_MAX]; /* the newest last */
    size_t config_count;
    struct sma_exec_options options;
    struct sma_sandbox sandbox;
    bool has_sandbox;                      /* it was looked for */
    struct sma_policy *rules;              /* of rules_config */
    const struct sma_config *rules_config; /* NULL: they are to be loaded */
    struct sma_secrets *secrets;
    struct mcp_server *servers[SMA_MCP_SERVER_COUNT_MAX * 2]; /* those that go, too */
    size_t server_count;
    struct mcp_call *calls; /* SMA_ASK_MCP_COUNT_MAX */
    size_t call_count;
    struct mcp_question questions[SMA_ASK_ELICIT_COUNT_MAX];
    struct mcp_question samples[SMA_ASK_SAMPLE_COUNT_MAX];
    const struct sma_mcp_catalogue *told; /* on its way, or the last one */
    uint64_t tell_ns;                     /* when to make one; UINT64_MAX = nothing has changed */
    uint64_t version, session_serial;
    bool is_telling; /* MCP_TAKEN has not come */
    bool is_draining, has_drained, has_children;
    unsigned placeholders;
    uv_signal_t children;  /* SIGCHLD */
    struct mcp_http *http; /* what servers over HTTP share; NULL before the first */
    char marker_prefix[20];
};

/* -- mcp_seen.c -------------------------------------------------------------------------------- */
/** Something has changed that models or people see. */
void mcp_note_change(struct sma_mcp *mcp);
/** How all of them stand, as last told, for /api/status, /prompts and the log: the agent has it. */
void mcp_seen_put(struct sma_mcp *mcp);
/** Do tools.allow and tools.deny of the entry let this enum sma_mcp_kind be used? Reading counts as
 *  "resources/read", a prompt as "prompts/<name>". */
bool mcp_entry_lets(const struct sma_mcp_config_server *config, uint8_t kind, struct sma_str name);

/* -- mcp_server.c ------------------------------------------------------------------------------ */
/** A server of mcp.json, to be opened at once. NULL: out of memory. */
struct mcp_server *mcp_server_create(struct sma_mcp *mcp,
                                     const struct sma_mcp_config_server *config);
void mcp_server_destroy(struct mcp_server *server);
/** What is due: open, tick, end what is lost. @return when it is due next */
uint64_t mcp_server_look(struct mcp_server *server, uint64_t now_ns);
/** Are its walls what they would be now? Else it is started anew before anything is asked. */
void mcp_server_check(struct mcp_server *server);
/** End it; it is opened again unless it was removed or the actor drains. */
void mcp_server_end(struct mcp_server *server, const char *why, bool is_trouble);
/* Events of transports: */
void mcp_link_opened(struct mcp_server *server);
void mcp_link_message(struct mcp_server *server, struct sma_str message);
/** One that was too long: its beginning and its end. */
void mcp_link_skipped(struct mcp_server *server, struct sma_str head, struct sma_str tail);
/** Request `id` could not be carried, or its answer. */
void mcp_link_refused(struct mcp_server *server, uint64_t id, enum sma_mcp_outcome outcome,
                      struct sma_str why);
/** Nothing more comes. */
void mcp_link_lost(struct mcp_server *server, const char *why);
void mcp_link_closed(struct mcp_server *server);
/** The actor drains: say so once nothing is open any more. */
void mcp_tell_drained(struct sma_mcp *mcp);

/* -- mcp_call.c -------------------------------------------------------------------------------- */
void mcp_call_take(struct sma_mcp *mcp, struct sma_msg **question);
/** Calls of this server that have left and are not answered. */
size_t mcp_call_count(const struct mcp_server *server);
/** Those that wait for it are asked as if they came now. */
void mcp_call_release(struct mcp_server *server);
void mcp_call_cancel(struct sma_mcp *mcp, uint64_t seq, uint32_t call, const char *reason);
void mcp_call_answered(struct mcp_server *server, uint64_t id, enum sma_mcp_outcome outcome,
                       const json_t *result, struct sma_str why);
/** Whose call it is. @return false: it is over */
bool mcp_call_find(struct mcp_server *server, uint64_t id, uint64_t *ret_seq, uint32_t *ret_call);
void mcp_call_progress(struct mcp_server *server, uint64_t id, struct sma_str text);

/* -- mcp_elicit.c ------------------------------------------------------------------------------ */
/** A server asks people: to the agent. @return false: nobody can be asked */
bool mcp_elicit_ask(struct mcp_server *server, const struct sma_mcp_question *question);
/** MCP_ELICITED came. */
void mcp_elicit_take(struct sma_mcp *mcp, struct sma_msg *answer);

/** A server wants the model asked: to the agent. @return NULL, or why it is refused */
const char *mcp_sample_ask(struct mcp_server *server, const struct sma_mcp_wish *wish);
/** MCP_SAMPLED came. */
void mcp_sample_take(struct sma_mcp *mcp, struct sma_msg *answer);

/* -- mcp_picture.c ----------------------------------------------------------------------------- */
/** Decode a picture into .ship/.cache/mcp/<server>/<sha256>; *path: relative to the project.
 *  @return false: it is none, or there is no room for it. Blocks: writes a file to the page
 *  cache. */
bool mcp_picture_keep(struct mcp_server *server, struct sma_str base64, struct sma_buf *path,
                      char hash[65]);

/* -- mcp_spawn.c ------------------------------------------------------------------------------- */
/** The server's process, in the sandbox; ends: its stdin, stdout, stderr, and where bubblewrap says
 *  who is inside. The caller's. */
SMA_CHECKED enum sma_err mcp_spawn(struct mcp_server *server, const int ends[4],
                                   struct sma_sandbox_plan *ret_plan, pid_t *ret_pid,
                                   struct sma_error *error);
/** Would its walls be others now? Then what they do not know. */
bool mcp_spawn_is_outgrown(struct mcp_server *server, struct sma_sandbox_plan *plan,
                           char ret_path[PATH_MAX]);
/** An owner has accepted the program of this digest: recorded if it still is that, and started. */
void mcp_spawn_ruled(struct mcp_server *server, struct sma_str accepted_digest);
/** Kill what it left behind where there was no sandbox. @return how many of pids are to be waited
 *  for */
size_t mcp_spawn_end_marked(struct mcp_server *server, pid_t *pids, size_t pid_count_max);

/* -- mcp_stdio.c ------------------------------------------------------------------------------- */
/** Some process has ended. */
void mcp_stdio_children(struct sma_mcp *mcp);

/* -- mcp_http.c -------------------------------------------------------------------------------- */
/** Every link over HTTP is closed or being closed: no request any more. */
void mcp_http_stop(struct sma_mcp *mcp);

/* -- mcp_log.c --------------------------------------------------------------------------------- */
/** A line of the log, with the server's name; secrets are taken out. */
void mcp_log(struct mcp_server *server, enum sma_log_level level, const char *format, ...)
    SMA_PRINTF(3, 4);
/* What a server writes to stderr: .ship/logs/mcp/<name>.log, and its last line for people. */
struct mcp_stderr
{
    int fd; /* -1 = not open, or it cannot be */
    uint64_t bytes, budget, budget_ns, dropped;
    struct sma_secrets_stream stream;
    char last[160]; /* newest line that is not empty, clean */
    size_t last_len;
    bool is_at_end; /* the next byte begins a line */
};
void mcp_stderr_init(struct mcp_stderr *log);
void mcp_stderr_put(struct mcp_server *server, struct mcp_stderr *log, struct sma_str text);
void mcp_stderr_fini(struct mcp_server *server, struct mcp_stderr *log);

#endif
