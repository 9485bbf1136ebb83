/*
 * model_priv.h — the state of the model actor: one target per place that questions name, one
 * request per open question, and the network beneath.
 *
 * A request is RUNNING (on the network), WAITING (for its next attempt, or the offline model's
 * delay) or LINGERING (answered; the rest of the response is read so that the connection can be
 * used again).
 *
 * Invariants: every question is answered exactly once, by model_answer; a LINGERING request holds
 *             no question that is open; a request in no state lies in the pool. A connection whose
 *             answer was not read to its end is closed, not used again. A target that a request
 *             uses is not freed.
 * Threads:    the actor's.
 * Limits:     MODEL_TARGET_COUNT_MAX targets: the one that was idle longest gives way; of a
 * replaced configuration they go
 *             when nothing uses them.
 */
#ifndef SMA_ACTORS_MODEL_PRIV_H
#define SMA_ACTORS_MODEL_PRIV_H

#include "runtime/model/decode.h"
#include "runtime/model/keys.h"
#include "runtime/model/retry.h"
#include "runtime/model/target.h"
#include "runtime/secrets/secrets.h"
#include "sma/actors.h"
#include "sma/messages.h"

#define MODEL_DELTA_NS 50000000u /* between two streamed texts of one request */
#define MODEL_DELTA_STEP_BYTES \
    65536 /* per this much text the pause grows by one more MODEL_DELTA_NS */
#define MODEL_FINISHING_S \
    5 /* from the reason to stop to the end of the stream; for the body of an error */
#define MODEL_LINGER_NS 1000000000u /* to read the rest of an answered response */
#define MODEL_POOL_COUNT_MAX 64     /* idle request objects kept */
#define MODEL_TARGET_COUNT_MAX 32 /* two configurations of SMA_TARGET_COUNT_MAX and their judges */
#define MODEL_ERROR_BODY_BYTES_MAX 65536
#define MODEL_HANG_COUNT_MAX 2 /* attempts of one question that may hear nothing at all */

enum model_state
{
    MODEL_IDLE,
    MODEL_RUNNING,
    MODEL_WAITING,
    MODEL_LINGERING,
};

/* Where questions with this llm go: made when the first one comes. */
struct model_target
{
    struct model_target *next;
    const struct sma_config_llm *llm;
    struct sma_profile profile;
    char name[SMA_TARGET_KEY_BYTES_MAX]; /* target.h: key */
    char *url;
    const char *keys[SMA_KEYS_COUNT_MAX];           /* borrowed from llm */
    uint64_t key_ids[SMA_KEYS_COUNT_MAX], model_id; /* keys.h */
    size_t key_count;                               /* 0: none is configured */
    void *headers
        [SMA_KEYS_COUNT_MAX]; /* struct curl_slist, one a key; without a key the first alone */
    uint64_t connect_ns, first_byte_ns, idle_ns, total_ns;
    bool is_local;
    /* local, and no other time is configured: slow at first, and alive as long as it sends signs;
     * what it was given it is not given again */
    bool is_patient;
    bool is_serial;   /* it said that it is busy with another request: one at a time */
    size_t use_count; /* open requests */
    uint64_t used_ns;
    bool is_old; /* of a configuration that was replaced */
};

/* The request's bytes on their way out: its text and its files in turn. */
struct model_body
{
    uint64_t offset, total;
    int file;        /* open while its bytes go out; 0 = none */
    uint32_t number; /* of the file that is open */
    bool is_lost;    /* files[number] is gone, changed or cannot be read */
};

struct model_request
{
    struct model_request *next, *previous; /* in the list of open requests, or next in the pool */
    struct model_request *next_ready;      /* touched by the network in this round */
    bool is_ready;
    bool is_queued; /* WAITING for the request that its server is busy with */
    enum model_state state;
    struct sma_model *model;
    struct model_target *target;
    struct sma_msg *question; /* kept: the body is sent from it */
    const struct sma_model_ask *ask;
    struct sma_decoder *decoder;
    const struct sma_config_llm *decoder_llm; /* whom the decoder is made for */
    unsigned attempt_count;                   /* begun */
    unsigned repeat_count,
        hang_count;         /* of them: repeats with the same key; those that heard nothing */
    size_t key;             /* index of the one in use */
    uint64_t block_id;      /* of the request log; 0 = not there */
    struct sma_usage usage; /* of attempts that failed */
    uint64_t begin_ns, attempt_ns, sent_ns,
        event_ns; /* question taken; this attempt begun; connected; latest data event, 0 = none */
    uint64_t event_count;
    uint64_t out_ns, first_token_ns;
    uint64_t due_ns; /* WAITING: when to go on; LINGERING: when to give up reading */
    uint64_t delta_ns, delta_due_ns; /* when the last text was shown; when the next may be */
    size_t delta_len;                /* how much of it */
    bool is_delta_send, has_delta;   /* has_delta: more text than shown */

    /* network, model_curl.c */
    void *easy;
    bool is_added;
    bool is_nameless; /* the host was not found: libcurl 8.14 leaks the name with easy */
    struct model_body body;
    bool needs_new_connection; /* the one before heard nothing: it may be dead */
    int http_status;
    bool has_length; /* the response tells where its body ends */
    int64_t retry_after_ms;
    bool has_retry_after_ms, has_should_retry, should_retry;
    struct sma_buf error_body;
    char curl_error[256];
};

/* How a question ends: what the answer and the log say. */
struct model_outcome
{
    enum sma_model_status status;
    const struct sma_decoded *decoded; /* OK */
    int http_status;
    struct sma_str error;           /* one line; FAILED, CONTEXT_LENGTH, CANCELLED */
    enum sma_model_failure trouble; /* FAILED */
    int64_t retry_after_ms;         /* FAILED; -1 = not said */
    struct sma_str refused_member;
    bool is_unexplained;
    uint64_t window_tokens;
    struct sma_usage usage;
    bool is_usage_guessed;
    unsigned attempt_count;
    uint64_t block_id;                         /* of the request log; 0 = not there */
    uint64_t begin_ns, out_ns, first_token_ns; /* 0 = not reached */
};

struct model_net; /* model_curl.c */

struct sma_model
{
    uint32_t magic;
    const struct sma_config *config;
    struct sma_ctx *ctx;
    struct model_target *targets; /* the one used last first */
    size_t target_count;
    struct sma_keys keys;
    struct model_request open; /* head of a ring */
    size_t open_count;
    struct model_request *pool;
    size_t pool_count;
    struct sma_decoder *offline_decoder;
    struct sma_buf offline_answer;
    bool is_draining;
    uint64_t wake_ns;      /* what the runtime was last asked for */
    struct model_net *net; /* opened for the first target that needs it */
    const struct model_net_events *events;
    struct sma_secrets *secrets;
    struct model_blocks *blocks;           /* model_block.c */
    const struct sma_config_llm *troubled; /* whom the trouble line is about; NULL = nobody */
};

/* -- model_request.c --------------------------------------------------------------------------- */
/** Make sure that wake() comes at this time or earlier. */
void model_wake_by(struct sma_model *model, uint64_t at_ns);
/** An open request of this question for this target, IDLE; takes *question. NULL: no memory. */
struct model_request *model_open_request(struct sma_model *model, struct model_target *target,
                                         struct sma_msg **question);
/** Put the request back into the pool; its question, if any, must be answered. */
void model_release(struct model_request *request);
/** Free a request that is in no list any more. */
void model_destroy_request(struct model_request *request);
/** By which the calls of an answer are named. */
uint64_t model_id_seed(const struct sma_model_ask *ask);

/* -- model_target.c ---------------------------------------------------------------------------- */
/** The target of this llm, made when it is not there. NULL: no memory, or all are in use. */
struct model_target *model_target_get(struct sma_model *model, const struct sma_config_llm *llm);
/** Another configuration rules: those that nothing uses go now, the others when they are let go. */
void model_targets_replace(struct sma_model *model);
void model_target_use(struct model_target *target, uint64_t now_ns);
void model_target_let_go(struct sma_model *model, struct model_target *target);
void model_targets_destroy(struct sma_model *model);

/* -- model_attempt.c --------------------------------------------------------------------------- */
/** The first attempt of an open request. It may be over, and the request released, on return. */
void model_begin(struct model_request *request);
/** The request's time has come. */
void model_go_on(struct model_request *request, uint64_t now_ns);
/** The earliest time at which this request must be looked at. */
uint64_t model_due(const struct model_request *request);
/** An attempt failed: try again later, or answer. Takes the request off the network. */
void model_fail(struct model_request *request, const struct sma_failure *failure);
/** The decoder has its final result: answer, or fail. is_network_done: nothing more to read. */
void model_conclude(struct model_request *request, bool is_network_done);
/** A file of the body cannot be sent. */
void model_end_lost(struct model_request *request);
/** Add what the provider has said so far of this attempt to the usage; once, before its end. */
void model_count_attempt(struct model_request *request);
/** Answer with what is known about the request so far, and release it. */
void model_end(struct model_request *request, struct model_outcome *outcome);
/** An error status has come, and as much of its body as will be read. */
void model_fail_http(struct model_request *request);

/* -- model_offline.c --------------------------------------------------------------------------- */
/** Answer, or open a request that waits as long as the text says. */
void model_offline_ask(struct sma_model *model, struct model_target *target, struct sma_msg **msg);
/** The wait is over: answer. */
void model_offline_answer(struct sma_model *model, struct model_target *target,
                          const struct sma_msg *question);

/* -- model_answer.c ---------------------------------------------------------------------------- */
/** Answer the question and log how it ended. target: NULL when there is none. */
void model_answer(struct sma_model *model, const struct model_target *target,
                  const struct sma_msg *question, const struct model_outcome *outcome);
/** The same for what failed before any attempt. */
void model_refuse(struct sma_model *model, const struct model_target *target,
                  const struct sma_msg *question, struct sma_str error);
/** Show streamed text; at most every MODEL_DELTA_NS, else has_delta is left for later. */
void model_show(struct model_request *request, uint64_t now_ns);
void model_signal_delta(struct sma_model *model, const struct sma_msg *question,
                        struct sma_str text, bool is_send_text);

/* -- model_log.c ------------------------------------------------------------------------------- */
/** One line about how a question ended, and what stands in the way of this target. */
void model_log_call(struct sma_model *model, const struct model_target *target,
                    const struct sma_msg *question, const struct model_outcome *outcome);
/** A line about an attempt that failed. */
void model_log_attempt(const struct model_request *request, struct sma_str error, bool is_again);
void model_log_reloaded(struct sma_model *model);
/** "ok", "cancelled", "rate", ... */
const char *model_outcome_word(const struct model_outcome *outcome);

/* -- model_block.c ----------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err model_blocks_create(struct sma_model *model);
void model_blocks_destroy(struct sma_model *model);
/** Into the request log, when llm.logMessages says so. The request is under way already. */
void model_block_request(struct model_request *request);
void model_block_response(struct sma_model *model, const struct sma_msg *question,
                          const struct model_outcome *outcome);

/* -- model_body.c ------------------------------------------------------------------------------ */
/** From the beginning: are all files there with the length that they had? false: is_lost. */
bool model_body_begin(struct model_request *request);
/** The next bytes; SIZE_MAX: is_lost. 0: that was all. */
size_t model_body_read(struct model_request *request, char *bytes, size_t room);
bool model_body_seek(struct model_request *request, uint64_t offset);
void model_body_end(struct model_request *request);
/** What people may read of the body between two of its offsets: a note where a file stands. */
void model_body_show(const struct sma_model_ask *ask, size_t begin, size_t end,
                     struct sma_buf *out);

/* -- model_events.c ---------------------------------------------------------------------------- */
/* Whom the network tells, after libcurl has returned. */
struct model_net_events
{
    void (*on_ended)(struct model_request *request, int result); /* a CURLcode */
    void (*on_bytes)(struct model_request *request); /* for its decoder or its error body */
};
extern const struct model_net_events model_net_events;

/* -- model_curl.c ------------------------------------------------------------------------------ */
/** Open the network unless it is open. IO: the actor is on no loop. */
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
