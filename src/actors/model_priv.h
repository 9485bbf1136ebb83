/*
 * model_priv.h — the state of the model actor: one request per open question, and the network
 * beneath.
 *
 * A request is RUNNING (on the network), WAITING (for its next attempt, or the offline model's
 * delay) or LINGERING (answered; the rest of the response is read so that the connection can be
 * used again).
 *
 * Invariants: every question is answered exactly once; a LINGERING request holds no question; a
 *             request in no state lies in the pool. A connection whose answer was not read to its
 *             end is closed, not used again.
 * Threads:    the actor's.
 */
#ifndef SMA_ACTORS_MODEL_PRIV_H
#define SMA_ACTORS_MODEL_PRIV_H

#include "runtime/model/decode.h"
#include "runtime/model/retry.h"
#include "sma/actors.h"
#include "sma/messages.h"

#define MODEL_DELTA_NS 50000000u /* between two streamed texts of one request */
#define MODEL_DELTA_STEP_BYTES \
    65536                   /* per this much text the pause grows by one more MODEL_DELTA_NS */
#define MODEL_FINISHING_S 5 /* from the reason to stop to the end of the stream */
#define MODEL_LINGER_NS 1000000000u    /* to read the rest of an answered response */
#define MODEL_POOL_COUNT_MAX 64        /* idle request objects kept */
#define MODEL_ERROR_BODY_BYTES_MAX 65536

enum model_state
{
    MODEL_IDLE,
    MODEL_RUNNING,
    MODEL_WAITING,
    MODEL_LINGERING,
};

/* Where requests go: made from the configuration, replaced (not changed) on reload. */
struct model_target
{
    struct model_target *next;
    const struct sma_config_llm *llm;
    char *url;
    void *headers; /* struct curl_slist; NULL for the offline model */
    uint64_t connect_ns, first_byte_ns, idle_ns, total_ns;
};

struct model_request
{
    struct model_request *next, *previous; /* in the list of open requests, or next in the pool */
    struct model_request *next_ready;      /* touched by the network in this round */
    bool is_ready;
    enum model_state state;
    struct sma_model *model;
    const struct model_target *target;
    struct sma_msg *question; /* kept: the body is sent from it */
    const struct sma_model_ask *ask;
    struct sma_decoder *decoder;
    unsigned attempt; /* 0 = the first */
    uint64_t begin_ns, attempt_ns,
        event_ns; /* question taken; this attempt begun; latest data event, 0 = none */
    uint64_t event_count;
    uint64_t out_ns, first_token_ns;
    uint64_t due_ns; /* WAITING: when to go on; LINGERING: when to give up reading */
    uint64_t delta_ns, delta_due_ns; /* when the last text was shown; when the next may be */
    size_t delta_len;                /* how much of it */
    bool is_delta_send, has_delta;   /* has_delta: more text than shown */

    /* network, model_curl.c */
    void *easy;
    bool is_added;
    int http_status;
    int64_t retry_after_ms;
    bool has_retry_after_ms, has_should_retry, should_retry;
    struct sma_buf error_body;
    char curl_error[256];
};

struct model_net; /* model_curl.c */

struct sma_model
{
    uint32_t magic;
    const struct sma_config *config;
    struct sma_ctx *ctx;
    struct model_target *target, *targets; /* current; all ever made */
    struct model_request open;             /* head of a ring */
    size_t open_count;
    struct model_request *pool;
    size_t pool_count;
    struct sma_decoder *offline_decoder;
    struct sma_buf offline_answer;
    bool is_draining;
    uint64_t wake_ns; /* what the runtime was last asked for */
    struct model_net *net;
};

/* -- model.c ----------------------------------------------------------------------------------- */
/** Make sure that wake() comes at this time or earlier. */
void model_wake_by(struct sma_model *model, uint64_t at_ns);
/** Put the request back into the pool; its question, if any, must be answered. */
void model_release(struct model_request *request);
/** The earliest time at which this request must be looked at. */
uint64_t model_due(const struct model_request *request);
/** An attempt failed: try again later, or answer. Takes the request off the network. */
void model_fail(struct model_request *request, const struct sma_failure *failure);
/** The decoder has its final result: answer, or fail. is_network_done: nothing more to read. */
void model_conclude(struct model_request *request, bool is_network_done);

/* -- model_answer.c ---------------------------------------------------------------------------- */
void model_answer_decoded(struct sma_model *model, const struct sma_msg *question,
                          const struct sma_decoded *decoded, uint64_t out_ns,
                          uint64_t first_token_ns);
void model_answer_status(struct sma_model *model, const struct sma_msg *question,
                         enum sma_model_status status, int http_status, struct sma_str error);
/** Show streamed text; at most every MODEL_DELTA_NS, else has_delta is left for later. */
void model_show(struct model_request *request, uint64_t now_ns);
void model_signal_delta(struct sma_model *model, const struct sma_msg *question,
                        struct sma_str text, bool is_send_text);

/* -- model_curl.c ------------------------------------------------------------------------------ */
SMA_CHECKED enum sma_err model_net_open(struct sma_model *model, struct sma_error *error);
/** Ends all transfers. Accepts a model without network. */
void model_net_close(struct sma_model *model);
/** Headers for a target; NOMEM. */
SMA_CHECKED enum sma_err model_net_prepare(struct model_target *target);
void model_net_forget(struct model_target *target);
/** Start the transfer of the request's question. NOMEM | IO. */
SMA_CHECKED enum sma_err model_net_start(struct model_request *request);
/** End the transfer if there is one; an unfinished one closes its connection. */
void model_net_stop(struct model_request *request);
/** Free what the request holds of the network. */
void model_net_drop(struct model_request *request);

#endif
