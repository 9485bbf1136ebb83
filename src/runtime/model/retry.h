/*
 * retry.h — what kind of failure a model request met, what may help, and how to say it.
 *
 * sma_failure_judge is the one place that reads the words of providers. Its verdict goes two ways:
 * `retry` to the model actor (is a quick repeat of the same bytes worth a try?), everything else
 * unchanged into struct sma_model_answer (trouble, retry_after_ms, refused_member, window_tokens),
 * from which the run decides what comes next.
 *
 * Rules by host come first: one sentence ("You exceeded your current quota") means three things at
 * three providers.
 * Source: protocols/models.md §6; protocols/llm.md §2 "Errors and retry", §4 "Errors".
 * Threads: any; no state.
 */
#ifndef SMA_MODEL_RETRY_H
#define SMA_MODEL_RETRY_H

#include "runtime/model/decode.h"

#define SMA_RETRY_AFTER_MAX_MS 60000 /* a server that asks for more is not waited for */

#define SMA_RETRY_MEMBER_BYTES_MAX 80

enum sma_retry
{
    SMA_RETRY_NO,  /* not by a quick repeat; see the trouble for what else may help */
    SMA_RETRY_YES, /* the same bytes may pass, now or after retry_after_ms (then at most 60 s) */
    SMA_RETRY_CONTEXT_LENGTH, /* the request is too long for the model: shorten it */
};

struct sma_failure_verdict
{
    enum sma_retry retry;
    enum sma_model_failure trouble; /* for CONTEXT_LENGTH without meaning */
    int64_t retry_after_ms; /* what the server asked for, whatever its length; -1 = nothing */
    char refused_member
        /* TROUBLE_MEMBER: as the server names it ("temperature", "reasoning.effort",
         * "thinking.type"), or a tool (SMA_REFUSES_TOOL); else empty */
        [SMA_RETRY_MEMBER_BYTES_MAX];
    bool is_unexplained;    /* SESSION, CONTEXT_LENGTH: no rule knows why it was refused */
    uint8_t repeat_max;     /* YES: no more repeats than these; 0 = as always */
    uint64_t window_tokens; /* CONTEXT_LENGTH: how much may be sent, when that was told; else 0 */
};

enum sma_failure_cause
{
    SMA_FAILURE_HTTP,        /* an HTTP status that is not 2xx */
    SMA_FAILURE_EVENT,       /* an error object inside a 200 answer */
    SMA_FAILURE_UNREACHABLE, /* no connection, or it broke before the answer; detail says how */
    SMA_FAILURE_SETUP,  /* trying again will not help: bad URL, certificate refused; see detail */
    SMA_FAILURE_SILENT, /* a deadline on data passed; detail says which */
    SMA_FAILURE_TRUNCATED, /* the connection ended in the middle of the answer */
    SMA_FAILURE_GARBAGE,   /* 200, but not an answer of the configured format */
    SMA_FAILURE_TOOBIG,
    SMA_FAILURE_NOMEM,
};

struct sma_failure
{
    enum sma_failure_cause trouble;
    /* who was asked: rules go by host, provider and format; NULL = unknown */
    const struct sma_config_llm *llm;
    int http_status;                     /* 0 = none */
    bool has_should_retry, should_retry; /* header x-should-retry */
    int64_t retry_after_ms;              /* from the headers; -1 = not said */
    int64_t wall_ms; /* now, for servers that tell a time instead of a wait; 0 = unknown */
    struct sma_wire_error error;
    struct sma_str tools; /* JSON of the request's tools; empty: it held none */
    bool has_files;       /* the request held pictures, files or sounds */
    const char *detail;   /* for UNREACHABLE, SETUP, SILENT; may be NULL */
};

/** A server that does one request at a time, and has one. */
bool sma_failure_says_busy(const struct sma_failure *failure);
void sma_failure_judge(const struct sma_failure *failure, struct sma_failure_verdict *ret_verdict);
/** Value of `x-ratelimit-reset-*` or `anthropic-ratelimit-*-reset` in ms from now, or -1: "6m0s",
 *  "120ms", "1.5" (seconds), seconds or milliseconds since 1970, RFC 3339. */
int64_t sma_retry_reset_parse(struct sma_str value, int64_t wall_ms);
/** How long to wait before attempt number `attempt` (1 = the first repetition): what the server
 *  asked for, else
 *  0.5 s doubling to 8 s, of which up to a quarter is taken off by `random`. */
uint64_t sma_retry_delay_ms(unsigned attempt, int64_t retry_after_ms, uint64_t random);
/** One line for people: what happened, where, what to do. The API key never appears in it. */
void sma_failure_describe(struct sma_buf *buf, const struct sma_failure *failure,
                          const struct sma_config_llm *llm, const char *url);
/** What to do about an answer of the server's (HTTP, EVENT): the end of that line. */
const char *sma_failure_remedy(const struct sma_failure *failure);

#endif
