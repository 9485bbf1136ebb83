/*
 * net.h — HTTP out, for actors on a libuv loop: one libcurl multi handle an actor, driven by the
 * loop's sockets and one timer of its own. An idle connection costs no wake-up.
 *
 * Two layers. `sma_net_add` drives an easy handle the caller has set up (the model actor, which
 * reads streams); `sma_net_ask` is one request with one answer in memory or in a file (platform
 * REST, downloads, uploads). Callbacks run on the actor's thread, never inside libcurl, so they may
 * start and cancel requests.
 * Secrets: a URL may hold a token; nothing here logs a URL, and errors name the host only.
 * Thread: the actor's. Blocks: never (name look-ups run on libcurl's own threads).
 */
#ifndef SMA_NET_H
#define SMA_NET_H

#include "sma/actor.h"

struct sma_net;
struct sma_net_request;

/** For the actor of ctx, which must be on a loop. @return OK | NOMEM | IO with *error. */
SMA_CHECKED enum sma_err sma_net_open(struct sma_ctx *ctx, struct sma_net **ret_net,
                                      struct sma_error *error);
/** Ends everything: open requests are dropped without a callback. Not from inside a callback. The
 *  loop must still run to close its handles. NULL is fine. */
void sma_net_close(struct sma_net *net);

/** Trust the authorities in this file (PEM) beside the system's directory of them, to be told
 *  before the first sma_net_ask. OK | NOMEM. At first: the environment's SSL_CERT_FILE, when it is
 *  set. The directory is SSL_CERT_DIR or libcurl's. */
SMA_CHECKED enum sma_err sma_net_trust(struct sma_net *net, const char *ca_file);

/** Go through this proxy (copied), to be told before the first sma_net_ask; NONE at first. */
struct sma_proxy;
void sma_net_use_proxy(struct sma_net *net, const struct sma_proxy *proxy);

/* -- one request, one answer ------------------------------------------------------------------ */
enum sma_net_end
{
    SMA_NET_ANSWERED, /* a whole HTTP answer, any status */
    /* certainly did not reach the server: no name, no connection, TLS refused, bad URL */
    SMA_NET_NOT_SENT,
    SMA_NET_UNKNOWN,     /* the request (or part of it) left and no whole answer came */
    SMA_NET_TOO_BIG,     /* the answer is over answer_bytes_max */
    SMA_NET_FILE_FAILED, /* the answer could not be written to, or the upload read from, its file */
};
/* Where on the way it failed, for people who are to mend it. */
enum sma_net_cause
{
    SMA_NET_CAUSE_NONE,        /* it did not */
    SMA_NET_CAUSE_NAME,        /* no address for the server's name */
    SMA_NET_CAUSE_PROXY,       /* the proxy: its name, its port, or it refuses */
    SMA_NET_CAUSE_CONNECT,     /* nobody takes connections there */
    SMA_NET_CAUSE_CERTIFICATE, /* TLS: the certificate is not trusted or not the server's */
    SMA_NET_CAUSE_TLS,         /* TLS: anything else */
    SMA_NET_CAUSE_TIME,        /* a time limit */
    SMA_NET_CAUSE_OTHER,
};
/* One field of a multipart/form-data body. Slices are borrowed until done. */
struct sma_net_field
{
    const char *name;
    struct sma_str value;         /* or, */
    const char *path;             /* when not NULL: the content of this file, streamed */
    const char *file_name, *type; /* of a file */
};
struct sma_net_answer
{
    enum sma_net_end end;
    int status;          /* 0 unless ANSWERED (or TOO_BIG after a status) */
    struct sma_str body; /* valid during the callback; empty when it went to a file */
    uint64_t body_bytes;
    int64_t retry_after_ms; /* header Retry-After, or X-Ogw-Ratelimit-Reset; -1 = none */
    /* header X-Tt-Logid, X-Tps-trace-ID or X-Request-Id: to quote to the platform; may be empty */
    struct sma_str log_id;
    struct sma_str type; /* header Content-Type, cut; may be empty */
    struct sma_str date; /* header Date, as it came; may be empty */
    const char *error;   /* "" when ANSWERED: one line without the URL's path */
    enum sma_net_cause cause;
};
#define SMA_NET_NO_LIMIT UINT32_MAX
struct sma_net_ask
{
    const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *url;
    const char *const *headers; /* "Name: value"; copied */
    size_t header_count;
    struct sma_str body; /* borrowed until done (callers hold the message it is in) */
    const struct sma_net_field *fields; /* multipart instead of body; borrowed until done */
    size_t field_count;
    /* total: from start to the last byte; 0 = 10 s and 60 s; total SMA_NET_NO_LIMIT: none */
    uint32_t connect_ms, total_ms;
    /* give up when nothing arrives for this long after the first byte; 0 = none */
    uint32_t idle_ms;
    size_t answer_bytes_max; /* 0 = 4 MiB */
    /* a second sending does no harm (an idempotency key); true for GET. See sma_net_ask */
    bool may_repeat;
    /* > 0: a 2xx body is written to this descriptor (owned by the caller), else -1 or 0 */
    int file;
    /*
     * A stream: nothing is collected and nothing unpacked, what comes is handed on at once.
     * These two run inside libcurl: they take notes and start or cancel nothing (sma_net_on_pass is
     * the time for that). false ends the request as TOO_BIG. head may be NULL; it gets each header
     * of the answer, and an empty name where an answer begins anew.
     */
    bool (*head)(void *user, struct sma_str name, struct sma_str value);
    bool (*bytes)(void *user, int status, struct sma_str bytes);
    /* exactly once, unless cancelled */
    void (*done)(void *user, const struct sma_net_answer *answer);
    void *user;
};
/**
 * Start. `done` never runs from inside this call. A body without a Content-Type is
 * application/json. A kept connection may turn out to be closed by the server. When nothing of the
 * request had left, it goes out on another connection; when some had, it is repeated only if
 * may_repeat, else the end is UNKNOWN.
 * @return OK, or NOMEM | BADINPUT (not an http or https URL, another method, a header that is none,
 *         more than 64 or 16 KiB of them); then done is not called.
 */
SMA_CHECKED enum sma_err sma_net_ask(struct sma_net *net, const struct sma_net_ask *ask,
                                     struct sma_net_request **ret_request);
/** Drop it: done is not called (inside its own done: nothing happens); whether the server saw it is
 *  unknown. */
void sma_net_cancel(struct sma_net_request *request);
/** Requests in flight. */
size_t sma_net_count(const struct sma_net *net);

/* -- for whoever brings an easy handle of his own --------------------------------------------- */
typedef void CURL_handle; /* CURL of <curl/curl.h> */
/** Drive `easy` until it ends; ended(user, CURLcode) then runs once, after the handle was removed
 *  and never from inside this call. CURLOPT_PRIVATE is used here until then. OK | NOMEM. */
SMA_CHECKED enum sma_err sma_net_add(struct sma_net *net, CURL_handle *easy,
                                     void (*ended)(void *user, int code), void *user);
/** Take it out again before its end; ended is not called. */
void sma_net_remove(struct sma_net *net, CURL_handle *easy);
/** Let `easy` trust what this net trusts, and nobody else. NOMEM: do not use it. */
SMA_CHECKED enum sma_err sma_net_set_trust(const struct sma_net *net, CURL_handle *easy);
/** Called after every entry into libcurl, when its callbacks have taken their notes; one per net,
 *  may be NULL. */
void sma_net_on_pass(struct sma_net *net, void (*pass)(void *user), void *user);

#endif
