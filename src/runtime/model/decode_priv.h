/*
 * decode_priv.h — what the three decoders share: the accumulators, and helpers over jansson
 * values.
 */
#ifndef SMA_MODEL_DECODE_PRIV_H
#define SMA_MODEL_DECODE_PRIV_H

#include "runtime/model/decode.h"
#include "runtime/model/send_text.h"
#include "runtime/model/sse.h"
#include "sma/buf.h"
#include "sma/limits.h"

#include <jansson.h>

enum sma_part_kind
{
    SMA_PART_CALL,
    SMA_PART_TEXT,
    SMA_PART_THINKING,
    SMA_PART_OTHER, /* sent back verbatim (raw), or not at all */
};

/* One call, content block or output item, in the order of arrival. */
struct sma_part
{
    enum sma_part_kind kind;
    bool has_index, is_closed, is_send, is_object;
    int64_t index;
    struct sma_buf id, item_id, name;
    struct sma_buf content;   /* arguments of a call, else text */
    struct sma_buf signature; /* of a thinking block */
    struct sma_buf raw;       /* the item as JSON, when it goes back verbatim */
    size_t last_piece;        /* offset of the latest piece in content */
    bool is_invalid;
    struct sma_send_text send_text;
};

struct sma_decoder
{
    enum sma_llm_api api;
    bool is_reasoning_echoed; /* the provider wants the member even when it is empty */
    uint64_t id_seed;
    uint64_t event_count;
    struct sma_sse sse;
    struct sma_buf document;
    bool is_decided, is_document, is_done, is_finishing, is_finished;
    bool is_length, is_filtered;
    enum sma_decoded_status status; /* OK until trouble */
    size_t answer_bytes;
    struct sma_buf content, reasoning, reasoning_details, refusal;
    char reasoning_name[24];
    bool has_content;
    struct sma_part *parts;
    size_t part_count, part_cap;
    size_t latest_send_at; /* number of the latest chat_send part + 1; 0 = none */
    struct sma_buf fragment;
    struct sma_model_call *calls;
    size_t call_count;
    struct sma_decoded decoded;
};

/* Each format: one event (or document) of the stream. `name` is the SSE event name. */
void sma_decode_chat_event(struct sma_decoder *decoder, struct sma_str name, json_t *event);
void sma_decode_chat_document(struct sma_decoder *decoder, json_t *document);
void sma_decode_chat_fragment(struct sma_decoder *decoder);
void sma_decode_responses_event(struct sma_decoder *decoder, struct sma_str name, json_t *event);
void sma_decode_responses_document(struct sma_decoder *decoder, json_t *document);
void sma_decode_responses_fragment(struct sma_decoder *decoder);
void sma_decode_messages_event(struct sma_decoder *decoder, struct sma_str name, json_t *event);
void sma_decode_messages_document(struct sma_decoder *decoder, json_t *document);
void sma_decode_messages_fragment(struct sma_decoder *decoder);

/* -- helpers ----------------------------------------------------------------------------------- */
/** Trouble: the first one is kept and ends decoding. */
void sma_decode_fail(struct sma_decoder *decoder, enum sma_decoded_status status);
/** The server's own error, from an object that holds one in any known shape. */
void sma_decode_fail_with(struct sma_decoder *decoder, const json_t *root);
/** Append answer bytes to one of the buffers, counted against SMA_ANSWER_BYTES_MAX. */
void sma_decode_add(struct sma_decoder *decoder, struct sma_buf *buf, struct sma_str piece);
/** A new part, or NULL after failing the decoder. The pointer lives until the next one is added. */
struct sma_part *sma_decode_add_part(struct sma_decoder *decoder, enum sma_part_kind kind);
/** The latest part with this index, or NULL. */
struct sma_part *sma_decode_find_part(struct sma_decoder *decoder, int64_t index);
/** Set a call's name (and watch it when it is chat_send). */
void sma_decode_set_name(struct sma_decoder *decoder, struct sma_part *part, struct sma_str name);
/** A piece of a call's arguments. */
void sma_decode_add_arguments(struct sma_decoder *decoder, struct sma_part *part,
                              struct sma_str piece);
/** Arguments from a JSON value: a string is appended, an object serialised, null ignored. */
void sma_decode_add_arguments_value(struct sma_decoder *decoder, struct sma_part *part,
                                    const json_t *value);
/** Replace a call's arguments (the server repeats them whole). */
void sma_decode_set_arguments(struct sma_decoder *decoder, struct sma_part *part,
                              struct sma_str whole);
/** The arguments as one JSON value for formats that want an object: invalid text is wrapped. */
void sma_decode_put_input(struct sma_buf *buf, const struct sma_part *part);
/** May the calls of this answer run? */
bool sma_decode_has_calls(const struct sma_decoder *decoder);

struct sma_str sma_json_text_of(const json_t *value); /* empty slice unless a string */
struct sma_str sma_json_get_str(const json_t *object, const char *key);
uint64_t sma_json_get_u64(const json_t *object, const char *key);
/** Is the string member `key` equal to text? */
bool sma_json_is(const json_t *object, const char *key, const char *text);
/** Compact dump, member order kept. */
void sma_json_dump(struct sma_buf *buf, const json_t *value);
/** Parse JSON of at most SMA_JSON_DEPTH_MAX levels; broken UTF-8 and lone surrogates are repaired.
 *  NULL when it is not
 *  JSON. Free with json_decref. */
json_t *sma_json_parse(struct sma_str text);

#endif
