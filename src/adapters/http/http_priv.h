/*
 * http_priv.h — what the files of this folder share.
 *
 * A connection is a slot of the server; slots are reused and never freed before stop, and carry a
 * generation. What waits for an answer of the store is a `pending` (by ask id) or a `watch` (by
 * run, one open AWAIT a run however many callers wait for it); both name connections by slot and
 * generation, so an answer for a client that has left finds nobody and is dropped. One request at a
 * time per connection: what a client pipelines stays in its buffer.
 *
 *   HEAD -> (BODY) -> BUSY -> (WAIT) -> written -> HEAD          keep-alive
 *                          -> STREAM -> written -> LINGER -> closed
 * LINGER: everything is answered, the rest of what the client sends is read and thrown away for a
 * moment, so that a reset does not destroy the answer on its way.
 *
 * Threads: the actor's only.
 */
#ifndef SMA_HTTP_PRIV_H
#define SMA_HTTP_PRIV_H

#include "chunked.h"
#include "http.h"
#include "request.h"

#include "adapters/common/given.h"

#include "sma/metrics.h"
#include "sma/text.h"
#include "sma/ws.h"

#include <stdatomic.h>
#include <uv.h>

#define HTTP_SERVICE_FILE_PAUSE_NS SMA_NS_PER_S
#define HTTP_REFUSAL_COUNT_MAX 32 /* connections over the limit that may hear a 503 at one time */
#define HTTP_SLOT_COUNT(connections) ((connections) + HTTP_REFUSAL_COUNT_MAX * 2)
#define HTTP_BUFFERED_BYTES_MAX \
    (64u * 1024 * 1024) /* request bytes of all connections; over it 503 */
#define HTTP_SMALLER_BYTES_MAX \
    (8u * 1024 * 1024) /* so much more for bodies that bring no files: events of platforms */
#define HTTP_RESPONSE_BYTES_MAX \
    (24u * 1024 * 1024) /* one response; a stored result fits with escapes */
#define HTTP_STREAM_BACKLOG_BYTES \
    (256u * 1024) /* unsent bytes of an event stream; progress is dropped over it */
#define HTTP_FEED_PIECE_BYTES \
    8192 /* of a run's text for one reader in a turn of the loop; the next when it is written */
#define HTTP_PIPELINE_BYTES_MAX 16384      /* read ahead while a request is being answered */
#define HTTP_KEPT_BUFFER_BYTES 65536       /* a larger buffer is given back after its request */
#define HTTP_READ_BYTES 4096               /* room for one read */
#define HTTP_BODY_READ_BYTES (256u * 1024) /* the same of a large body */
#define HTTP_LINGER_S 2
#define HTTP_STREAM_BEAT_S 15
#define HTTP_HALF_CLOSED_S 5 /* a client that sends no more is waited with this long */
#define HTTP_POLL_S_MAX 60   /* GET /api/runs/:id?wait= */
#define HTTP_RETRY_S 1       /* Retry-After where the store gave none */
#define HTTP_PENDING_COUNT_MAX                             \
    (SMA_ASK_INGRESS_COUNT_MAX + SMA_ASK_AWAIT_COUNT_MAX + \
     SMA_ADAPTER_COUNT_MAX * SMA_ASK_WEBHOOK_COUNT_MAX)
#define HTTP_WEBHOOK_S 30 /* an adapter answers within this time, else 503 */
#define HTTP_WEBHOOK_BYTES_MAX \
    (16u * 1024 * 1024) /* bodies one adapter has not answered yet; over it 503 */
#define HTTP_BUCKET_COUNT 4096
#define HTTP_STATIC_BYTES_MAX (4u * 1024 * 1024)
#define HTTP_TOKEN_BYTES_MAX 4096
#define HTTP_ORIGIN_BYTES_MAX 255u
#define HTTP_NONE UINT32_MAX

enum http_state
{
    HTTP_FREE,
    HTTP_HEAD,   /* between requests, or part of a head is there */
    HTTP_BODY,   /* the head is accepted, the body is coming */
    HTTP_BUSY,   /* asked the store: accept, peek or query */
    HTTP_WAIT,   /* waits for a run's result */
    HTTP_STREAM, /* an event stream is open */
    HTTP_DONE,   /* answered inside its own dispatch */
    HTTP_LINGER,
    HTTP_CLOSING,
};

enum http_route
{
    HTTP_ROUTE_NONE,
    HTTP_ROUTE_EXECUTE,
    HTTP_ROUTE_RUN,
    HTTP_ROUTE_HEALTH,
    HTTP_ROUTE_STATUS,
    HTTP_ROUTE_METRICS,
    HTTP_ROUTE_HISTORY,
    HTTP_ROUTE_STATIC,
    HTTP_ROUTE_WEBHOOK,
    HTTP_ROUTE_APPROVALS,
    HTTP_ROUTE_GRANTS,
    HTTP_ROUTE_PAIRINGS,
    HTTP_ROUTE_DECIDE,
    HTTP_ROUTE_USAGE,
    HTTP_ROUTE_TRACE,
    HTTP_ROUTE_PAGE,
    HTTP_ROUTE_RUNS,
    HTTP_ROUTE_CANCEL,
    HTTP_ROUTE_CHATS,
    HTTP_ROUTE_OPENAI, /* POST /v1/chat/completions, /v1/responses */
    HTTP_ROUTE_MODELS,
    HTTP_ROUTE_LOGS,
    HTTP_ROUTE_EVENTS,
    HTTP_ROUTE_TICKETS,
    HTTP_ROUTE_SAY,
    HTTP_ROUTE_FILE,
    HTTP_ROUTE_FILES,
    HTTP_ROUTE_OLD_WEBHOOK,
    HTTP_ROUTE_OPENAPI,
    HTTP_ROUTE_DELIVERY,
    HTTP_ROUTE_MCP,
    HTTP_ROUTE_WEB, /* the page's own files */
    HTTP_ROUTE_SIGN_IN,
    HTTP_ROUTE_SIGN_IN_CODES,
    HTTP_ROUTE_SIGN_OUT,
};
/* Whose words errors and answers are in. */
enum http_dialect
{
    HTTP_DIALECT_OWN,
    HTTP_DIALECT_CHAT, /* chat completions of OpenAI; also its models */
    HTTP_DIALECT_RESPONSES,
};
#define HTTP_ROUTE_IS_OPEN 1u      /* needs no token */
#define HTTP_ROUTE_IS_WORK 2u      /* begins or changes something: not while the service stops */
#define HTTP_ROUTE_TAKES_TICKET 4u /* ?ticket= does in place of the token */
struct http_route_row
{
    enum sma_http_method method;
    const char *pattern;
    enum http_route route;
    unsigned traits;
};

struct http_conn;
struct http_openai;
struct http_mcp;
struct http_openai_talk;
struct sma_http;
/* Who speaks for a request in place of the API's own answers; set while it is carried out. */
struct http_guise
{
    void (*respond)(struct http_conn *conn, int status, struct sma_str body);
    void (*event)(struct http_conn *conn, const char *name, struct sma_str json);
    void (*progress)(struct http_conn *conn, const struct sma_progress *progress);
    void (*drop)(struct http_conn *conn);
};
/* What conn.c leaves to whoever gave the connection its place. */
struct http_conn_ops
{
    void (*advance)(struct http_conn *conn);      /* bytes of a request have come */
    void (*next_request)(struct http_conn *conn); /* the answer is written, another may follow */
    void (*place_free)(struct sma_http *http);    /* a connection is closed */
};
struct http_conn
{
    uv_tcp_t tcp;
    uv_write_t write;
    struct sma_http *server;
    const struct http_conn_ops *ops;
    uint32_t index, generation;
    uint32_t next_free;
    uint32_t watch, watch_next, watch_previous; /* HTTP_NONE = none */
    enum http_state state;
    uint64_t number, address; /* in order of arrival; whence, see http_room_address */
    bool is_known;            /* has shown the token */
    bool is_page;             /* this request is of a page that is signed in */
    bool is_refusal;          /* over the connection limit: only ever hears a 503 */
    bool is_reading, is_writing, is_advancing, has_eof;
    bool is_admitted;  /* the head has passed every check */
    bool is_head_only; /* HEAD: the body is left out */
    bool closes_after; /* no further request on this connection */
    bool wants_stream, wants_async, has_idempotency_key;
    bool is_poll; /* GET /api/runs/:id?wait: answers 200 at its deadline, not 202 */
    uint32_t wait_s;
    struct sma_buf in, out, sending;
    size_t scanned, sent, counted_bytes;
    uint64_t deadline_ns; /* UINT64_MAX = none */
    uint64_t read_ns, wait_end_ns;
    bool is_feed;     /* GET /api/runs/:id/events */
    bool feed_resets; /* the next text is told whole */
    bool is_paced;    /* what is sent now waits for its turn of the loop, like that of others */
    size_t feed_told; /* bytes of the text of now */
    char last_event[80];
    size_t origin_len; /* of the page that asks, when it is of api.cors; else 0 */
    char origin[HTTP_ORIGIN_BYTES_MAX];
    struct sma_http_chunks chunks; /* of the body, when it comes so */
    size_t body_bytes_max;
    uint64_t seq;            /* the run waited for */
    uint64_t webhook_ask_id; /* the webhook question waited for, 0 = none */
    size_t message_id_len;
    char message_id[SMA_ID_BYTES_MAX];
    uint8_t dialect;                /* enum http_dialect, of this request */
    struct http_openai *openai;     /* of this request, from its body on; NULL in our own dialect */
    const struct http_guise *guise; /* the API's answer goes through it; NULL: as it is */
    struct http_mcp *mcp; /* the tool call that this request is carried out for, or NULL */
};

enum http_ask
{
    HTTP_ASK_INGRESS,
    HTTP_ASK_AWAIT,
    HTTP_ASK_PEEK,
    HTTP_ASK_STATUS,
    HTTP_ASK_HISTORY,
    HTTP_ASK_WEBHOOK,
    HTTP_ASK_APPROVALS,
    HTTP_ASK_GRANTS,
    HTTP_ASK_PAIRINGS,
    HTTP_ASK_DECIDE,
    HTTP_ASK_USAGE,
    HTTP_ASK_TRACE,
    HTTP_ASK_PAGES,
    HTTP_ASK_RUNS,
    HTTP_ASK_CHATS,
    HTTP_ASK_SAY,
    HTTP_ASK_DELIVERY,
};
struct http_pending
{
    uint64_t ask_id;
    uint64_t seq; /* of a webhook: bytes of its body */
    uint32_t conn, generation, next;
    enum http_ask kind;
    uint8_t to; /* enum sma_actor_id */
};
struct http_webhook
{
    const char *name;
    enum sma_actor_id actor;
    uint64_t open_bytes; /* bodies of questions not answered yet */
};
struct http_watch
{
    uint64_t seq;
    uint32_t first_conn, next; /* next in bucket or free list */
    bool is_behind;            /* a question: its AWAIT goes on over it */
    struct http_tale *tale;    /* what it has told, when somebody reads its events; or NULL */
};

#define HTTP_TOKEN_DIGEST_WORDS 2 /* 128 bits */
struct http_auth
{
    bool is_any_host;
    uint8_t keys[HTTP_TOKEN_DIGEST_WORDS][16], ticket_keys[HTTP_TOKEN_DIGEST_WORDS][16];
    uint64_t digests[2][HTTP_TOKEN_DIGEST_WORDS]; /* of the tokens that let in */
    size_t digest_count;
    char names[4][256]; /* Host values allowed, without port */
    int port;
    uint8_t session_key[32]; /* of the tokens: a new one ends every session */
};

#define HTTP_SESSION_COUNT_MAX 32u /* browsers that are signed in; the oldest leaves */
#define HTTP_CODE_COUNT_MAX 3u
#define HTTP_CODE_BYTES 32u
#define HTTP_SIGN_IN_BYTES_MAX 8192u /* of a body that anybody may send */
struct http_sessions
{
    struct http_session
    {
        uint8_t digest[32]; /* of both halves */
        int64_t made_s;
    } list[HTTP_SESSION_COUNT_MAX]; /* the oldest first */
    size_t count;
    struct
    {
        char text[HTTP_CODE_BYTES];
        uint64_t end_ns; /* 0 = none */
    } codes[HTTP_CODE_COUNT_MAX];
    size_t next_code;
    uint64_t refused_since_ns; /* how many tokens, and of tokens and codes, were wrong since */
    unsigned refused_tokens, refused_count;
};

#define HTTP_PAGE_COUNT_MAX 512
#define HTTP_PAGE_MESSAGE_BYTES_MAX 4096 /* of what a page says: nobody listens */
struct http_pages
{
    struct sma_ws *ws;       /* made for the first page */
    struct http_page *first; /* open ones */
    size_t count;
    uv_poll_t news;   /* watched while there are pages */
    uv_timer_t timer; /* runs while somebody is to be told, or asked, later */
    bool has_timer, is_asked, has_news;
    uint64_t answered_ns;  /* the store, last */
    unsigned leave_count;  /* times it is looked at again whether all have left */
    uint64_t hash, number; /* of what was told last, without its time */
    struct sma_buf text;
};

struct sma_http
{
    uint32_t magic;
    const struct sma_config *config;
    struct sma_ctx *ctx;
    const struct sma_sys *sys;
    uv_loop_t *loop;
    uv_tcp_t listener;
    bool is_listening, is_intake_off, is_closing, is_close_reported, is_intake_reported,
        has_service_file;
    struct sockaddr_storage address;
    bool is_loopback;
    atomic_int port;
    uint64_t request_deadline_ns, webhook_deadline_ns, wake_ns;
    uint64_t service_file_ns; /* when it is tried again; 0 = it is there */
    uint32_t connection_count_max;
    struct http_conn **conns;
    uint32_t conn_count, open_count, refusal_count, free_conn;
    uint32_t closing_count; /* those whose place is not free yet */
    bool is_accept_waiting; /* for one of these places */
    uint64_t arrived_count;
    size_t buffered_bytes;
    struct http_pending *pendings;
    uint32_t free_pending, *pending_buckets, pending_ingress_count; /* messages and decisions */
    uint32_t pending_used; /* places ever taken; those above are untouched */
    struct http_webhook webhooks[SMA_ADAPTER_COUNT_MAX];
    size_t webhook_count;
    struct http_watch *watches;
    uint32_t free_watch, *watch_buckets, watch_count;
    struct http_auth auth;
    struct http_sessions sessions;
    struct http_pages pages;
    struct http_openai_talk *talks; /* made for the first */
    uint64_t talk_count;
    struct sma_secrets *secrets; /* made when `status` is asked for first */
    void (*format_metrics)(void *user, struct sma_buf *buf);
    void *metrics_user;
    unsigned char random[256];
    size_t random_used;
    struct sma_buf scratch, scratch_headers; /* of short answers */
    char thrown_away[4096];                  /* where lingering connections read to */
};

/* -- listen.c ---------------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err http_server_listen(struct sma_http *http, struct sma_error *error);
void http_server_stop_listening(struct sma_http *http);

/* -- server.c: requests, deadlines ------------------------------------------------------------- */
/** libuv's callback: a connection waits on the listener. */
void http_on_connection(uv_stream_t *listener, int status);
void http_server_tick(struct sma_http *http);

/* -- conn.c: one connection -------------------------------------------------------------------- */
uint64_t http_now(const struct sma_http *http);
struct http_conn *http_conn_find(struct sma_http *http, uint32_t index, uint32_t generation);
void http_conn_deadline(struct http_conn *conn, uint64_t deadline_ns);
void http_conn_deadline_in(struct http_conn *conn, uint64_t ns);
void http_conn_start_reading(struct http_conn *conn);
/** Forget the first bytes of conn->in. */
void http_conn_consume(struct http_conn *conn, size_t bytes);
/** Send what stands in conn->out. */
void http_conn_flush(struct http_conn *conn);
/** The response to the current request is complete in conn->out: send it, then the next request or
 *  the end. */
void http_conn_finish(struct http_conn *conn);
void http_conn_close(struct http_conn *conn);

/* -- room.c: who has to leave ------------------------------------------------------------------ */
/** What stands for one machine in the count of its connections: the IPv4 address, or the first half
 *  of the other. */
uint64_t http_room_address(const struct sockaddr_storage *peer);
/** Close a connection that waits for nothing of ours. false: there is none. */
bool http_room_make(struct sma_http *http);

/* -- response.c -------------------------------------------------------------------------------- */
/** Append a whole response and finish the request. `extra` = further header lines, each with CR LF;
 *  may be NULL. */
void http_respond(struct http_conn *conn, int status, const char *type, struct sma_str body,
                  const char *extra);
/** The same with other header lines in place of the API's. */
void http_respond_as(struct http_conn *conn, int status, const char *type, struct sma_str body,
                     const char *policy, const char *extra);
/** The same for a file of public/. */
void http_respond_page(struct http_conn *conn, const char *type, struct sma_str body);
/** {"success":false,"message":...} (protocols/project.md §4.1). */
void http_respond_error(struct http_conn *conn, int status, const char *extra, const char *format,
                        ...) SMA_PRINTF(4, 5);
/** Refuse a request whose rest is not read: answers and ends the connection. */
void http_reject(struct http_conn *conn, int status, const char *extra, const char *format, ...)
    SMA_PRINTF(4, 5);
/** 404: JSON under /api/, elsewhere the text of the old program. */
void http_respond_not_found(struct http_conn *conn, struct sma_str path);
/** 204. */
void http_respond_empty(struct http_conn *conn, const char *extra);
void http_put_stream_head(struct http_conn *conn);
/** `event: name`, `data: json` and an empty line. */
void http_put_event(struct http_conn *conn, const char *name, struct sma_str json);
#define HTTP_JSON "application/json; charset=utf-8"

/* -- auth.c: who may come in ------------------------------------------------------------------- */
/** Read the token's file, or make it; fills http->auth. */
SMA_CHECKED enum sma_err http_auth_load(struct sma_http *http, struct sma_error *error);
bool http_auth_has_token(const struct http_auth *auth, const struct sma_http_request *request);
/** This is one of the tokens. */
bool http_auth_is_token(const struct http_auth *auth, struct sma_str token);
bool http_auth_allows_host(const struct http_auth *auth, const struct sma_http_request *request);
bool http_auth_allows_origin(const struct sma_http_request *request);

/* -- cors.c: pages of other origins ------------------------------------------------------------ */
bool http_cors_allows(const struct sma_http *http, struct sma_str origin);
/** Keep the origin of this request's page for its answer, when it is one of api.cors. */
void http_cors_note(struct http_conn *conn, const struct sma_http_request *request);
/** Append the header lines for that page. */
void http_put_cors(const struct http_conn *conn, struct sma_buf *out);

/* -- routes.c ---------------------------------------------------------------------------------- */
/** Check a complete head before its body is read. false: refused and answered. */
bool http_route_admit(struct http_conn *conn, const struct sma_http_request *request);
/** Carry the request out; answers now or later. */
void http_route_run(struct http_conn *conn, const struct sma_http_request *request,
                    struct sma_str body);

/* -- route_table.c ----------------------------------------------------------------------------- */
/** The row of this method and path; NULL: there is none. *ret_value: into path, the last variable
 *  part of the pattern. HEAD is served like GET. */
const struct http_route_row *http_route_find(enum sma_http_method method, struct sma_str path,
                                             struct sma_str *ret_value);
/** Append the methods that are served on this path: "GET, HEAD, OPTIONS". false: none. */
bool http_route_allow(struct sma_str path, struct sma_buf *allow);
/** All rows; for tests. */
const struct http_route_row *http_route_rows(size_t *ret_count);

/* -- queries.c: GET requests that the store answers -------------------------------------------- */
bool http_query_is_route(enum http_route route);
void http_query_ask(struct http_conn *conn, enum http_route route,
                    const struct sma_http_request *request);
/** The one thing of this id. */
void http_query_one(struct http_conn *conn, enum http_ask ask, struct sma_str id);
void http_query_result(struct sma_http *http, const struct http_pending *pending,
                       struct sma_msg *msg);

/* -- phases.c -------------------------------------------------------------------------------- */
/** Tell the supervisor which phase of the end is over. */
void http_report_when_done(struct sma_http *http);

/* -- pages.c: /ws ------------------------------------------------------------------------------ */
/** The upgrade of a page that was let in: its socket leaves this server. */
void http_page_open(struct http_conn *conn, const struct sma_http_request *request);
/** The store has answered: tell the pages what is new. */
void http_pages_tell(struct sma_http *http, struct sma_str store_json);
/** End every page; who may still come in comes again. */
void http_pages_end(struct sma_http *http);
/** Say goodbye to all. */
void http_pages_leave(struct sma_http *http);
void http_pages_stop(struct sma_http *http);

/* -- status.c ---------------------------------------------------------------------------------- */
/** Append "timestamp":"...", the time of day. */
void http_put_timestamp(struct sma_http *http, struct sma_buf *buf);
/** Append what GET /api/status answers. */
void http_put_status(struct sma_http *http, struct sma_buf *body, struct sma_str store_json);
void http_respond_logs(struct http_conn *conn, const struct sma_http_request *request);
/** Append "reasons":[...]: words that tell everybody what is not well, without why. */
void http_put_parts(const struct sma_http *http, struct sma_buf *buf);

/* -- seen.c ------------------------------------------------------------------------------------ */
/** Append ,"platforms":{...},"models":{...} without secrets; nothing when memory is out. */
void http_put_seen(struct sma_http *http, struct sma_buf *body);
/** Answer with JSON of the store, without secrets. */
void http_respond_clean(struct http_conn *conn, struct sma_str json);
/** Answer with a trace as the store told it, without secrets; {} = 404. */
void http_respond_trace(struct http_conn *conn, struct sma_str json);
/** GET /api/runs/<id>/trace and /api/trace?message=... ask for: as in SMA_QUERY_TRACE, appended.
 *  false: nothing. */
bool http_trace_asked(const struct sma_http_request *request, struct sma_buf *asked);

/* -- execute.c and runs.c: messages in, results out -------------------------------------------- */
void http_execute(struct http_conn *conn, const struct sma_http_request *request,
                  struct sma_str body);
/** The id of a message, of the header Idempotency-Key or of its body, made up without either. */
SMA_CHECKED enum sma_err http_choose_id(struct http_conn *conn,
                                        const struct sma_http_request *request,
                                        struct sma_str body_id, struct sma_error *error);
void http_execute_accepted(struct sma_http *http, const struct http_pending *pending,
                           struct sma_msg *msg);
void http_run_get(struct http_conn *conn, const struct sma_http_request *request,
                  struct sma_str id);
void http_run_peeked(struct sma_http *http, const struct http_pending *pending,
                     struct sma_msg *msg);
/** Ask for the state of the run with this id, for http_run_peeked; 404 when it is none. */
void http_run_ask(struct http_conn *conn, struct sma_str id);
/** Wait for run `seq` on behalf of conn. is_behind: it is known to wait behind a question. FULL:
 *  too many are waited for. */
SMA_CHECKED enum sma_err http_watch_join(struct http_conn *conn, uint64_t seq, bool is_behind);
void http_watch_result(struct sma_http *http, const struct http_pending *pending,
                       struct sma_msg *msg);
void http_watch_progress(struct sma_http *http, const struct sma_progress *progress);
/** The caller has waited long enough, or the service stops: say where the result will be. */
void http_run_later(struct http_conn *conn, const char *why);
bool http_watch_has_room(const struct sma_http *http);

/* -- tale.c: what a run has told --------------------------------------------------------------- */
struct http_tale;
struct http_tale *http_tale_create(uint32_t epoch); /* NULL: no memory */
void http_tale_destroy(struct http_tale *tale);     /* NULL: nothing */

/* -- feed.c: GET /api/runs/:id/events ---------------------------------------------------------- */
/** Note what the reader has heard. false: answered; else the run's state is to be asked for. */
bool http_feed_open(struct http_conn *conn, const struct sma_http_request *request);
/** The run's state is known: json is the answer of GET /api/runs/:id. false: answered; else the
 *  run is to be waited for. */
bool http_feed_peeked(struct http_conn *conn, const struct sma_result *result, struct sma_str json);
/** It is waited for: tell what there is. */
void http_feed_begin(struct http_conn *conn, struct sma_str json);
/** The run has told something, this event; readers of its events hear it. */
void http_feed_progress(struct sma_http *http, uint32_t watch, const struct sma_progress *progress,
                        const char *name, struct sma_str json);
/** The run is over or waits for people; or nothing is known, and the reader comes again. */
/** What was told is written: the next piece. */
void http_feed_more(struct http_conn *conn);
void http_feed_end(struct http_conn *conn, const struct sma_result *result, struct sma_str json);

/* -- sessions.c: pages that are signed in ------------------------------------------------------ */
/** Read the file of sessions. What cannot be read is nobody's: they sign in again. */
void http_sessions_load(struct sma_http *http);
/** The cookie and the page's key of this request belong together and to somebody who is signed in;
 *  for paths under /api/ alone. */
bool http_session_opens(const struct sma_http *http, const struct sma_http_request *request);
/** POST /sign-in, POST /sign-in/codes, POST /api/sign-out */
void http_sign_in(struct http_conn *conn, const struct sma_http_request *request,
                  struct sma_str body);
void http_sign_in_code(struct http_conn *conn, const struct sma_http_request *request);
void http_sign_out(struct http_conn *conn, const struct sma_http_request *request,
                   struct sma_str body);

/* -- web.c: the files of the page -------------------------------------------------------------- */
/** GET /ui/... */
void http_web(struct http_conn *conn, const struct sma_http_request *request);
/** Where a person who asks for "/" finds the page. */
void http_web_lead(struct http_conn *conn);

/* -- tickets.c --------------------------------------------------------------------------------- */
/** POST /api/tickets */
void http_ticket_give(struct http_conn *conn, struct sma_str body);
/** ?ticket= of this request is one for its path, and its time is not over. */
bool http_ticket_opens(const struct sma_http *http, const struct sma_http_request *request);

/* -- say.c: messages to chats ------------------------------------------------------------------ */
void http_say(struct http_conn *conn, const struct sma_http_request *request, struct sma_str part,
              struct sma_str body);
void http_said(struct sma_http *http, const struct http_pending *pending, struct sma_msg *msg);

/* -- project_files.c: routes that pages of the old program ask for ----------------------------- */
void http_project_file(struct http_conn *conn, struct sma_str part);
void http_project_files(struct http_conn *conn, struct sma_str query);
void http_old_webhook(struct http_conn *conn, struct sma_str type, size_t body_bytes);

/* -- webhooks.c -------------------------------------------------------------------------------- */
/** The path is /webhooks/<name> of a registered adapter; NULL otherwise. */
struct http_webhook *http_webhook_find(struct sma_http *http, struct sma_str path);
void http_webhook_run(struct http_conn *conn, const struct sma_http_request *request,
                      struct sma_str body);
void http_webhook_answered(struct sma_http *http, const struct http_pending *pending,
                           struct sma_msg *msg);
/** The adapter has not answered in time. */
void http_webhook_late(struct http_conn *conn);

/* -- decide.c: approvals, pairings, grants ----------------------------------------------------- */
/** POST /api/approvals/<id>/approve and the like, DELETE /api/runs/<id>. */
void http_decide(struct http_conn *conn, const struct sma_http_request *request,
                 struct sma_str body);
void http_decided(struct sma_http *http, const struct http_pending *pending, struct sma_msg *msg);

/* -- asks.c: open questions -------------------------------------------------------------------- */
SMA_CHECKED enum sma_err http_tables_create(struct sma_http *http);
void http_tables_destroy(struct sma_http *http);
SMA_CHECKED enum sma_err http_ask_store(struct sma_http *http, enum http_ask kind,
                                        const struct http_conn *conn, uint64_t seq,
                                        struct sma_msg **msg);
SMA_CHECKED enum sma_err http_ask_adapter(struct http_conn *conn, struct http_webhook *webhook,
                                          uint64_t body_bytes, struct sma_msg **msg);
/** Forget the question and copy what was known of it. NOTFOUND when it is none of ours. */
SMA_CHECKED enum sma_err http_pending_take(struct sma_http *http, uint64_t ask_id,
                                           struct http_pending *ret_pending);

/* -- watches.c: runs that are waited for ------------------------------------------------------- */
uint32_t http_watch_find(const struct sma_http *http, uint64_t seq);
uint32_t http_watch_create(struct sma_http *http, uint64_t seq);
void http_watch_destroy(struct sma_http *http, uint32_t watch);
/** What the connection waits for stands behind a question. */
bool http_watch_is_behind(const struct http_conn *conn);
/** The connection waits for its run no more. */
void http_watch_leave(struct http_conn *conn);

/* -- body.c: the JSON of POST /api/execute. Pure ----------------------------------------------- */
struct http_execute_body
{
    struct sma_str instructions, chat_id, user_id,
        message_id;          /* into root; message_id may be empty */
    struct sma_str said;     /* of instructions, what must be equal under one message id */
    const void *attachments; /* json_t array of well-formed members, see attachments.c; or NULL */
    void *root;
};
/**
 * Decode any JSON within the bounds of depth.
 * @ret_root  json_t; given back with http_execute_fini before the next load of this thread
 * @return OK, or BADINPUT with *error to show to the caller
 */
SMA_CHECKED enum sma_err http_body_load(struct sma_str body, void **ret_root,
                                        struct sma_error *error);
/**
 * Decode and check.
 * @ret_body to be given back with http_execute_fini before the next parse of this thread
 * @return OK, or BADINPUT | TOOBIG with *error to show to the caller
 */
SMA_CHECKED enum sma_err http_execute_parse(struct sma_str body, struct http_execute_body *ret_body,
                                            struct sma_error *error);
void http_execute_fini(struct http_execute_body *body);

/* -- attachments.c: the files of POST /api/execute --------------------------------------------- */
struct http_attachments
{
    uint32_t count;
    struct sma_given items[SMA_ATTACHMENT_COUNT_MAX];
};
/** Are these attachments as documented? Nothing is looked at or kept yet. OK | BADINPUT */
SMA_CHECKED enum sma_err http_attachments_check(const void *array, struct sma_error *error);
/**
 * Look at those that are paths, keep those that are bytes.
 * @ret_list  to be freed
 * @return    OK | BADINPUT, NOTFOUND, TOOBIG: the caller's mistake | NOSPACE, IO, NOMEM
 */
SMA_CHECKED enum sma_err http_attachments_take(struct sma_http *http, const void *array,
                                               struct http_attachments **ret_list,
                                               struct sma_error *error);

/* -- openai*.c: /v1, as clients of OpenAI's API know it (openai.h) ---------------------------- */
/** As http_execute_parse, of a body of conn->dialect; what else it says is in conn->openai. */
SMA_CHECKED enum sma_err http_openai_parse(struct http_conn *conn,
                                           const struct sma_http_request *request,
                                           struct sma_str body, struct http_execute_body *ret_body,
                                           struct sma_error *error);
/** The message is accepted: open its stream. */
void http_openai_stream(struct http_conn *conn, uint64_t seq);
void http_openai_progress(struct http_conn *conn, const struct sma_progress *progress);
/** Answer with a result; the run is over, waits for people, or the service stops. */
void http_openai_result(struct http_conn *conn, const struct sma_result *result);
/** The message was an answer to a question: the run that waited for it, else 0. */
uint64_t http_openai_follows(struct http_conn *conn, const struct sma_result *result);
/** The message waits behind a question. */
void http_openai_behind(struct http_conn *conn);
void http_openai_later(struct http_conn *conn, const char *why);
/** extra: header lines, or NULL. */
void http_openai_refused(struct http_conn *conn, int status, struct sma_str why, const char *extra);
/** id: empty = the list. */
void http_openai_models(struct http_conn *conn, struct sma_str id);
void http_openai_put_error(struct sma_buf *buf, const struct http_conn *conn, int status,
                           struct sma_str message);
/** A new state for the request of conn; NULL: no memory. */
struct http_openai *http_openai_begin(struct http_conn *conn);
void http_openai_drop(struct http_conn *conn); /* accepts none */

/* -- mcp.c: POST /mcp -------------------------------------------------------------------------- */
typedef void http_run_fn(struct http_conn *conn, const struct sma_http_request *request,
                         struct sma_str body);
/** run: carries out the request that a tool call is. */
void http_mcp_run(struct http_conn *conn, const struct sma_http_request *request,
                  struct sma_str body, http_run_fn *run);

/* -- files.c: service.json, the token, the public folder --------------------------------------- */
SMA_CHECKED enum sma_err http_service_file_write(struct sma_http *http, struct sma_error *error);
/** The disk was full: try again in a while, until it is written. */
void http_service_file_later(struct sma_http *http);
void http_service_file_retry(struct sma_http *http, uint64_t now_ns);
void http_service_file_remove(struct sma_http *http);
/** <state>/api-token: read, or made from 256 random bits with mode 0600. */
SMA_CHECKED enum sma_err http_token_file_read(struct sma_http *http, struct sma_buf *ret_token,
                                              struct sma_error *error);
/** <project>/public/<name>. NOTFOUND | TOOBIG | IO. */
SMA_CHECKED enum sma_err http_static_read(struct sma_http *http, const char *name,
                                          struct sma_buf *buf);

#endif
