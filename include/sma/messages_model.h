/*
 * messages_model.h — questions to the model and what comes back; a part of messages.h, whose
 * conventions hold.
 */
#ifndef SMA_MESSAGES_MODEL_H
#define SMA_MESSAGES_MODEL_H

#include "sma/messages.h" /* which reads this header where it is needed */

struct sma_config_llm;
struct sma_model_ask
{
    /* where it goes: of an immutable configuration, lives until the program ends */
    const struct sma_config_llm *llm;
    uint64_t seq;
    struct sma_str chat_key; /* whose run it is, for logs; empty = nobody's (the judge) */
    uint32_t round;          /* 0 = first request of the run */
    struct sma_str body;     /* the whole request, ready for the wire */
    /* body[turn_offset, turn_end): the current turn's messages, comma-joined JSON */
    uint32_t turn_offset;
    uint32_t turn_end;
    uint64_t read_ns; /* when the bytes of the user's message were read */
};
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
struct sma_model_call
{
    struct sma_str id, name, arguments; /* arguments: JSON text, "{}" when the model sent none */
    bool is_invalid;                    /* arguments are not a JSON object */
    bool is_cut;                        /* the answer ended inside of them */
    /* is_invalid: what is wrong and where, for the model; may be empty */
    struct sma_str problem;
};
struct sma_model_answer
{
    uint64_t seq;
    uint8_t status;      /* enum sma_model_status */
    uint8_t finish;      /* enum sma_finish */
    struct sma_str text; /* visible text, may be empty */
    /* the assistant message(s) as they go back on the wire, comma-joined JSON */
    struct sma_str fragment;
    uint32_t call_count;
    struct sma_model_call *calls;
    /* FAILED: one line for the owner and the log: what, where, what to do. Not for strangers */
    struct sma_str error;
    int http_status;
    uint8_t trouble; /* FAILED: enum sma_model_failure */
    /* FAILED: what the server asked for, or when a key is back; -1 = not said */
    int64_t retry_after_ms;
    /* TROUBLE_MEMBER: name or path ("temperature", "reasoning.effort") */
    struct sma_str refused_member;
    /* CONTEXT_LENGTH: the model's window when the server told it, else 0 */
    uint64_t window_tokens;
    struct sma_usage usage;          /* OK; all attempts together */
    uint64_t out_ns, first_token_ns; /* stamps */
};
struct sma_model_cancel
{
    /* of the MODEL question; it is still answered, with CANCELLED (or what came first) */
    uint64_t ask_id;
};
struct sma_model_delta
{
    uint64_t seq;
    bool is_send_text;   /* text of a chat_send call being written, else plain content */
    struct sma_str text; /* everything so far of this answer, not only the new piece */
};

#endif
