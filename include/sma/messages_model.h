/*
 * messages_model.h — questions to the model and what comes back; a part of messages.h, whose conventions hold.
 */
#ifndef SMA_MESSAGES_MODEL_H
#define SMA_MESSAGES_MODEL_H

#include "sma/messages.h" /* which reads this header where it is needed */

struct sma_config_llm;
struct sma_model_ask
{
    const struct sma_config_llm *llm; /* where it goes: of an immutable configuration, lives until the program ends */
    uint64_t seq;
    struct sma_str chat_key; /* whose run it is, for logs; empty = nobody's (the judge) */
    uint32_t round;          /* 0 = first request of the run */
    struct sma_str body;     /* the whole request, ready for the wire */
    uint32_t turn_offset;    /* body[turn_offset, turn_end): the current turn's messages, comma-joined JSON */
    uint32_t turn_end;
    uint64_t read_ns;        /* when the bytes of the user's message were read */
};
enum sma_model_status
{
    SMA_MODEL_OK,
    SMA_MODEL_CONTEXT_LENGTH, /* the request is too long for the model */
    SMA_MODEL_FAILED,         /* after retries; error says what and what to do */
    SMA_MODEL_CANCELLED,
};
/* FAILED: what kind of failure, so that the run knows what may help. Source: protocols of the providers; retry.h decides. */
enum sma_model_trouble
{
    SMA_MODEL_TROUBLE_TRANSIENT, /* network, overload, 5xx, hung, cut: the same request may pass later */
    SMA_MODEL_TROUBLE_RATE,      /* a limit of requests or tokens per time; retry_after_ms when it was told */
    SMA_MODEL_TROUBLE_QUOTA,     /* no money, or a limit of days: another key or target may help, this one not soon */
    SMA_MODEL_TROUBLE_AUTH,      /* key wrong, revoked or without the right */
    SMA_MODEL_TROUBLE_NO_MODEL,  /* the model does not exist (any more) */
    SMA_MODEL_TROUBLE_MEMBER,    /* a member of the request is refused: refused_member; repeat without it */
    SMA_MODEL_TROUBLE_SESSION,   /* the conversation is refused (foreign reasoning, signatures, images): repeat it in plain form */
    SMA_MODEL_TROUBLE_REQUEST,   /* any other 4xx: it will not pass */
    SMA_MODEL_TROUBLE_SETUP,     /* our own side: address, certificate, nothing configured, no memory */
};
enum sma_finish
{
    SMA_FINISH_STOP,
    SMA_FINISH_TOOLS,
    SMA_FINISH_LENGTH,   /* truncated: calls must not run; those that were cut are is_invalid and is_cut */
    SMA_FINISH_FILTERED, /* a content filter of the platform: calls must not run */
    SMA_FINISH_REFUSED,  /* the model refuses (text says why, may be empty): calls must not run, and the turn is not replayed */
};
struct sma_model_call
{
    struct sma_str id, name, arguments; /* arguments: JSON text, "{}" when the model sent none */
    bool is_invalid;                    /* arguments are not a JSON object */
    bool is_cut;                        /* the answer ended inside of them */
    struct sma_str problem;             /* is_invalid: what is wrong and where, for the model; may be empty */
};
struct sma_model_answer
{
    uint64_t seq;
    uint8_t status; /* enum sma_model_status */
    uint8_t finish; /* enum sma_finish */
    struct sma_str text;     /* visible text, may be empty */
    struct sma_str fragment; /* the assistant message(s) as they go back on the wire, comma-joined JSON */
    uint32_t call_count;
    struct sma_model_call *calls;
    struct sma_str error; /* FAILED: one line for the owner and the log: what, where, what to do. Not for strangers */
    int http_status;
    uint8_t trouble;               /* FAILED: enum sma_model_trouble */
    int64_t retry_after_ms;        /* FAILED: what the server asked for, or when a key is back; -1 = not said */
    struct sma_str refused_member; /* TROUBLE_MEMBER: name or path ("temperature", "reasoning.effort") */
    uint64_t window_tokens;        /* CONTEXT_LENGTH: the model's window when the server told it, else 0 */
    struct sma_usage usage;        /* OK; all attempts together */
    uint64_t out_ns, first_token_ns; /* stamps */
};
struct sma_model_cancel
{
    uint64_t ask_id; /* of the MODEL question; it is still answered, with CANCELLED (or what came first) */
};
struct sma_model_delta
{
    uint64_t seq;
    bool is_send_text;   /* text of a chat_send call being written, else plain content */
    struct sma_str text; /* everything so far of this answer, not only the new piece */
};

#endif
