/*
 * decode.h — the answer of a model, streamed or whole, in any of the three formats, into one
 * neutral struct.
 *
 * The decoder is fed the bytes of the HTTP body in any pieces; whether they are a stream of events
 * or one JSON document is decided by the first byte that is not white space ('{' and '[' begin a
 * document), because servers answer stream requests with either. Source: protocols/llm.md §1–§5.
 *
 * Invariants: the result does not depend on how the bytes were split; calls are present only in an
 *             answer that is complete and was not cut by a limit or filter; every call has an id,
 *             unique in its answer.
 * Limits:     SMA_ANSWER_BYTES_MAX for all text, reasoning and arguments together,
 *             SMA_DECODE_CALL_COUNT_MAX calls and blocks, SMA_SSE_LINE_BYTES_MAX for a line or a
 *             document, SMA_JSON_DEPTH_MAX.
 * Threads:    the owner only.
 */
#ifndef SMA_MODEL_DECODE_H
#define SMA_MODEL_DECODE_H

#include "sma/config.h"
#include "sma/messages.h"

#define SMA_DECODE_CALL_COUNT_MAX 256
/* The name of what began like a call in the text and could not be read; problem says it. */
#define SMA_UNREADABLE_CALL "unreadable_call"

#define SMA_WIRE_SAID_BYTES_MAX 2048

/* What a server said went wrong. Empty strings where it said nothing; all 0 is a legal value. */
struct sma_wire_error
{
    int status;    /* an HTTP status named inside the error object, else 0 */
    char type[64]; /* "invalid_request_error", "overloaded_error" ... */
    char code[64]; /* its code, error.details.error_code or error.status where that says more */
    /* the member of the request it names: path with dots, e.g. "reasoning.effort" */
    char param[96];
    char message[320]; /* one line for people, cut at a character boundary */
    char said
        /* all its words in lower case (details, the error of an upstream, quota names): what
         * retry.h reads */
        [SMA_WIRE_SAID_BYTES_MAX];
    /* the limit of an overflow when it is told as a number (n_ctx), else 0 */
    uint64_t window_tokens;
    bool has_retry_after; /* the body tells how long to wait: */
    int64_t retry_after_ms;
    int64_t reset_ms; /* the body tells when it is over: wall clock, 0 = not told */
};

enum sma_decoded_status
{
    SMA_DECODED_OK,
    SMA_DECODED_TRUNCATED, /* the connection ended before the answer did */
    SMA_DECODED_ERROR,     /* the server reported an error; see error */
    SMA_DECODED_GARBAGE,   /* neither events nor JSON of the expected kind */
    SMA_DECODED_TOOBIG,
    SMA_DECODED_NOMEM,
};

/* Slices belong to the decoder and live until its next reset or destruction. */
struct sma_decoded
{
    enum sma_decoded_status status;
    enum sma_finish finish;
    struct sma_str text;      /* visible text: without thoughts and calls that were left in it */
    struct sma_str reasoning; /* for tests and logs */
    /* as it goes back on the wire; empty when there is nothing to send back */
    struct sma_str fragment;
    struct sma_model_call
        *calls; /* LENGTH: also those that were cut (is_cut, is_invalid); they are in the fragment,
                                     so every one needs a result. REFUSED, FILTERED: none */
    size_t call_count;
    /* of this attempt, also of a failed one as far as it was told; request_count is 0 */
    struct sma_usage usage;
    struct sma_wire_error error;
};

struct sma_decoder;

/** @return NULL when out of memory. Destroy with sma_decoder_destroy. */
struct sma_decoder *sma_decoder_create(const struct sma_config_llm *llm);
void sma_decoder_destroy(struct sma_decoder *decoder); /* accepts NULL */
/** Ready for another answer. `id_seed` goes into ids made up for calls without one: unique in a
 *  conversation. */
void sma_decoder_reset(struct sma_decoder *decoder, uint64_t id_seed);
/** What is answered, the body of the request: a call that stands in it as text is quoted, not made.
 *  Borrowed until the next reset. Not told: nothing is quoted. */
void sma_decoder_set_request(struct sma_decoder *decoder, struct sma_str request);
/** How the answer goes back: SMA_ANSWER_*; until the next reset. */
void sma_decoder_set_forms(struct sma_decoder *decoder, uint8_t forms);
/** The body of an error that holds what the model wrote (Groq: failed_generation) and the server
 *  could not read as a call: is it one? Then sma_decoder_finish gives it as an answer. */
bool sma_decoder_read_failed(struct sma_decoder *decoder, struct sma_str body);
/** More bytes of the body. Trouble is kept and shows in the result. */
void sma_decoder_feed(struct sma_decoder *decoder, const char *bytes, size_t len);
/** Nothing that follows can change the result: the terminal event, or trouble, was seen. */
bool sma_decoder_is_done(const struct sma_decoder *decoder);
/** The reason to stop was seen, only the formal end of the stream is missing. */
bool sma_decoder_is_finishing(const struct sma_decoder *decoder);
/** Data events seen; comments and empty events do not count. Of a document: its pieces. */
uint64_t sma_decoder_event_count(const struct sma_decoder *decoder);
/**
 * What could be shown by now: the text of the latest chat_send call if there is one
 * (*ret_is_send_text), else the
 * visible text. Empty when there is none. Valid until the next feed.
 */
struct sma_str sma_decoder_progress(struct sma_decoder *decoder, bool *ret_is_send_text);
/** The body has ended as its length, its last chunk or the end of its stream told: whoever left out
 *  the formal end of the answer meant it. Before sma_decoder_finish. */
void sma_decoder_end_cleanly(struct sma_decoder *decoder);
/** The body has ended (or is_done): the result, borrowed until reset. */
const struct sma_decoded *sma_decoder_finish(struct sma_decoder *decoder);

/** "6m0s", "30.6s", "2 seconds", "1 hour 5 minutes" at the start of *text, which then is behind it;
 *  -1 = no duration. */
double sma_wire_duration_ms(const char **text);
/** Read an error body of any known shape, or HTML, or plain text, into *ret_error. Never fails. */
void sma_wire_error_parse(struct sma_str body, struct sma_wire_error *ret_error);

#endif
