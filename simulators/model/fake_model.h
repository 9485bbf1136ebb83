/*
 * fake_model.h — parts of the program fake_model, a model server for tests and benchmarks.
 *
 * It speaks the three wires at /v1/chat/completions, /v1/responses and /v1/messages, streamed and
 * whole, refuses what real platforms refuse, and misbehaves on demand. See --help.
 */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include "fake_model_meter.h"
#include "runtime/model/offline.h"
#include "sma/buf.h"
#include "sma/config.h"

#include <jansson.h>

#define FAKE_PAUSE_COUNT_MAX 8
#define FAKE_CALL_COUNT_MAX 8

/* What an answer is made of. */
struct fake_call
{
    struct sma_str name, arguments;
};
struct fake_answer
{
    struct sma_str text;
    struct fake_call calls[FAKE_CALL_COUNT_MAX];
    size_t call_count;
    uint64_t number; /* of the request: makes ids unique */
    size_t input_tokens, cached_tokens;
    const struct fake_question *question; /* of a profile; NULL = the plain server */
    struct fake_price price;
    const char *stop; /* "length", "refusal", "filter", "window"; NULL = as it should */
};

/* Bytes of the response, and when they may leave. */
struct fake_response
{
    struct sma_buf bytes;
    struct
    {
        size_t offset;
        uint64_t ms;
    } pauses[FAKE_PAUSE_COUNT_MAX]; /* before the byte at offset */
    size_t pause_count;
    size_t drip_bytes,
        drip_offset; /* from drip_offset on, drip_bytes at a time with drip_ms between; 0 = no */
    uint64_t drip_ms;
    bool is_closed; /* close the connection behind it */
    int status;
};

/* -- fake_model_check.c ------------------------------------------------------------------------ */
struct fake_check_options
{
    bool is_deepseek; /* reasoning must be echoed */
    bool has_profile; /* members and roles are its affair */
    bool is_blind;    /* takes no pictures */
};
/** What every strict platform would say against this request, or NULL. */
const char *fake_check(enum sma_llm_api api, const json_t *root,
                       const struct fake_check_options *options);
/** The list of messages (or input items) of a request. */
json_t *fake_messages(enum sma_llm_api api, const json_t *root);
/** Read the newest user message and the last result after it; slices live as long as the tree. */
void fake_read_turn(enum sma_llm_api api, const json_t *messages, struct sma_offline_turn *turn);

/* -- fake_model_parts.c ------------------------------------------------------------------------ */
/** A text, picture, file or sound in a list of content: NULL, or what is wrong with it. */
const char *fake_check_block(enum sma_llm_api api, const json_t *block);
/** All pictures of the messages together. */
const char *fake_check_pictures(const json_t *messages, bool is_blind);
size_t fake_count_pictures(const json_t *value);
/** Bytes of base64 in it, which no provider counts as text. */
size_t fake_count_base64(const json_t *value);
/** GLM takes bare base64 as the URL of a picture and refuses data: URLs: false. */
bool fake_take_bare_pictures(const json_t *messages);

/* -- fake_model_prefix.c ----------------------------------------------------------------------- */
/** Does this request begin otherwise than the one before it in its conversation? Marks of caches
 *  are no content. */
bool fake_has_moved_prefix(struct sma_str body);

/* -- fake_model_calls.c ------------------------------------------------------------------------ */
/** The answer that the user's text asks for by [[call ...]]; false: it asks for none. `arguments`
 *  is scratch. */
bool fake_answer_calls(const struct sma_offline_turn *turn, struct fake_answer *answer,
                       struct sma_buf *arguments);
/** Likewise by [[judge ...]]. */
bool fake_answer_judgement(struct sma_str text, struct fake_answer *answer);
/* false: the request reads no conversation. said: holds the answer. */
bool fake_answer_extraction(struct sma_str text, struct fake_answer *answer, struct sma_buf *said);

/* -- fake_model_reply.c ------------------------------------------------------------------------ */
void fake_put_head(struct fake_response *response, int status, const char *type, const char *more,
                   long length);
/** A whole 200 answer, streamed (chunked, one chunk an event) or as one document. `fault` may bend
 *  it; NULL = none. */
void fake_put_answer(struct fake_response *response, enum sma_llm_api api, bool is_stream,
                     const struct fake_answer *answer, const char *fault);
/** An error in the shape of the platform. */
void fake_put_error(struct fake_response *response, enum sma_llm_api api, int status,
                    const char *code, const char *message, const char *more_headers);
/** GET /v1/models, as all of them understand it; one of the names cannot talk. */
void fake_put_models(struct fake_response *response);
/** Value of key= in a fault text such as "429 retry-after=2 times=1", or fallback. */
long fake_option(const char *fault, const char *key, long fallback);
/** Is this the named fault? */
bool fake_is(const char *fault, const char *name);
/** Apply a fault that replaces the answer. false: the fault only bends the answer, see
 *  fake_put_answer. */
bool fake_put_fault(struct fake_response *response, enum sma_llm_api api, const char *fault);

#endif
