/*
 * decode_priv.h — what the three decoders share: the accumulators, and helpers over jansson
 * values.
 */
#ifndef SMA_MODEL_DECODE_PRIV_H
#define SMA_MODEL_DECODE_PRIV_H

#include "runtime/json/json_read.h"
#include "runtime/model/decode.h"
#include "runtime/model/decode_marks.h"
#include "runtime/model/profile.h"
#include "runtime/model/send_text.h"
#include "runtime/text/sse.h"
#include "sma/buf.h"
#include "sma/limits.h"

#include <jansson.h>

enum sma_answer_part_kind
{
    SMA_ANSWER_PART_CALL,
    SMA_ANSWER_PART_TEXT,
    SMA_ANSWER_PART_THINKING,
    SMA_ANSWER_PART_OTHER, /* sent back verbatim (raw), or not at all */
};

/* One call, content block or output item, in the order of arrival. */
struct sma_answer_part
{
    enum sma_answer_part_kind kind;
    bool has_index, is_closed, is_send, is_object;
    int64_t index;
    struct sma_buf id, item_id, name;
    struct sma_buf name_rest; /* later pieces of the name; most servers repeat it */
    struct sma_buf content;   /* arguments of a call, else text */
    struct sma_buf signature; /* of a thinking block */
    struct sma_buf raw;       /* the item as JSON, when it goes back verbatim */
    json_t *extra;            /* members we do not know, of the call or block; NULL = none */
    json_t *extra_function;   /* the same of a chat call's "function" */
    size_t last_piece;        /* offset of the latest piece in content */
    bool is_invalid, is_cut;
    bool is_unreadable;     /* text that began like a call */
    struct sma_buf problem; /* of invalid arguments */
    struct sma_send_text send_text;
};

/* One entry of reasoning_details, put together from its pieces. */
struct sma_detail
{
    json_t *object;       /* everything but the text that grows */
    const char *text_key; /* "text", "summary"; NULL = nothing grows */
    struct sma_buf text;
};

struct sma_decoder
{
    enum sma_llm_api api;
    char model[128];
    struct sma_profile profile;
    struct sma_sse sse;
    struct sma_buf document;
    json_t *tools; /* that the request offers; has_tools: it was looked for */
    bool has_tools;
    uint64_t id_seed;       /* from here to shown: 0 in a new answer */
    struct sma_str request; /* borrowed */
    uint64_t event_count;
    uint8_t forms;      /* SMA_ANSWER_* */
    bool is_clean_end;  /* the body ended as its length or its last chunk told */
    uint64_t odd_count; /* events that are none */
    bool is_decided, is_document, is_done, is_finishing, is_finished;
    bool is_length, is_filtered, is_refused;
    bool has_reason, is_odd_reason; /* a reason to stop was told; one that nobody knows */
    enum sma_decoded_status status; /* OK until trouble */
    size_t answer_bytes;
    char reasoning_name[24];
    bool has_content;
    size_t latest_send_at; /* number of the latest chat_send part + 1; 0 = none */
    size_t call_count;
    struct sma_decoded decoded;
    struct sma_str shown; /* at the end: what of content is for people; goes back, too */
    struct sma_buf content, reasoning, refusal;
    struct sma_buf visible; /* content without thoughts, where that is not one piece of it */
    bool forgets_begin;     /* over answers: this model ends thoughts that it never began */
    json_t *extra;          /* members of the message we do not know */
    struct sma_detail *details;
    size_t detail_count, detail_cap;
    struct sma_answer_part *parts;
    size_t part_count, part_cap;
    struct sma_buf fragment;
    struct sma_model_call *calls;
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
/* The same for an error of ours; OK is nothing. */
void sma_decode_fail_for(struct sma_decoder *decoder, enum sma_err err);
/** The server's own error, from an object that holds one in any known shape. */
void sma_decode_fail_with(struct sma_decoder *decoder, const json_t *root);
/** Does a document or event tell of an error instead of being (a part of) an answer? */
bool sma_decode_is_error(const json_t *event);
/** Append answer bytes to one of the buffers, counted against SMA_ANSWER_BYTES_MAX. */
void sma_decode_add(struct sma_decoder *decoder, struct sma_buf *buf, struct sma_str piece);
/** Append a piece; halves of a character that came in two pieces become one. */
void sma_decode_put(struct sma_buf *buf, struct sma_str piece);
/** Bytes at the end that stand for half a character. */
size_t sma_decode_half_length(const struct sma_buf *buf);
/** A new part, or NULL after failing the decoder. The pointer lives until the next one is added. */
struct sma_answer_part *sma_decode_add_part(struct sma_decoder *decoder,
                                            enum sma_answer_part_kind kind);
/** The latest part with this index, or NULL. */
struct sma_answer_part *sma_decode_find_part(struct sma_decoder *decoder, int64_t index);
/** Set a call's name (and watch it when it is chat_send). */
void sma_decode_set_name(struct sma_decoder *decoder, struct sma_answer_part *part,
                         struct sma_str name);
/** A piece of a call's arguments. */
void sma_decode_add_arguments(struct sma_decoder *decoder, struct sma_answer_part *part,
                              struct sma_str piece);
/** Arguments from a JSON value: a string is appended, an object serialised, null ignored. */
void sma_decode_add_arguments_value(struct sma_decoder *decoder, struct sma_answer_part *part,
                                    const json_t *value);
/** Replace a call's arguments (the server repeats them whole). */
void sma_decode_set_arguments(struct sma_decoder *decoder, struct sma_answer_part *part,
                              struct sma_str whole);
/** The arguments as one JSON value for formats that want an object: invalid text is wrapped. */
void sma_decode_put_input(struct sma_buf *buf, const struct sma_answer_part *part);
/** The same as a JSON string, for formats that want text: several servers parse old arguments when
 *  they render their template, and broken ones would fail every later request of the session. */
void sma_decode_put_arguments(struct sma_buf *buf, const struct sma_answer_part *part);
/** Keep a member that we do not know in *extra (made when NULL): the latest value, objects merged,
 *  lists joined. */
void sma_decode_keep(struct sma_decoder *decoder, json_t **extra, const char *key, json_t *value);
/** `,"key":value` for every kept member. */
void sma_decode_put_extra(struct sma_buf *buf, const json_t *extra);
/** Count bytes that are kept elsewhere against SMA_ANSWER_BYTES_MAX. */
void sma_decode_count(struct sma_decoder *decoder, size_t len);
/** A piece of reasoning_details: joined to its entry, or a new one. */
void sma_decode_add_detail(struct sma_decoder *decoder, const json_t *piece);
/** The list, `[{...},...]`. */
void sma_decode_put_details(struct sma_buf *buf, const struct sma_decoder *decoder);
/** The server told why the answer ended, in words that no rule knows. */
void sma_decode_odd_reason(struct sma_decoder *decoder, struct sma_str reason);
/** May the calls of this answer run? */
bool sma_decode_has_calls(const struct sma_decoder *decoder);

/** Of all that was sent, what came from the cache and went into it; no more than all, whatever the
 *  server says. */
void sma_decode_set_prompt(struct sma_usage *usage, uint64_t prompt, uint64_t cached,
                           uint64_t written);

/* -- decode_repair.c --------------------------------------------------------------------------- */
/** Make broken arguments an object where that can be meant in one way only. false: not possible;
 *  *fixed is then undefined. */
bool sma_arguments_repair(struct sma_str text, struct sma_buf *fixed);
/** What is wrong with arguments, and where: for the model. */
void sma_arguments_problem(struct sma_str text, struct sma_buf *problem);
bool sma_json_is_object(struct sma_str text);

/* -- decode_call_text.c ------------------------------------------------------------------------ */
/** Calls written as text become parts; returns the text in front of them, or all of it.
 *  is_dropped: they only go out of the text, since the answer has others. */
struct sma_str sma_decode_take_call_text(struct sma_decoder *decoder, struct sma_str text,
                                         bool is_dropped);
/** The text in front of the first mark of calls. Unless is_whole, more arrives: nothing that may
 *  become such a mark either. */
struct sma_str sma_decode_before_call_text(struct sma_decoder *decoder, struct sma_str text,
                                           bool is_whole);

/* -- decode_tools.c ---------------------------------------------------------------------------- */
/** The tools that the request offers, as it writes them; NULL: none is known. */
const json_t *sma_decode_tools(struct sma_decoder *decoder);
/** Is one of them called just so? is_open: or begins so. */
bool sma_decode_is_tool(struct sma_decoder *decoder, struct sma_str name, bool is_open);
/** Where a line begins with one, as an element `<read_file>` or in a list of Python `[read_file(`;
 *  text.len: none does. Unless is_whole, it may be the beginning of its name. */
size_t sma_decode_find_tool_line(struct sma_decoder *decoder, struct sma_str text, bool is_whole);
/** The one that a name means; empty when it is none, or not one alone. */
struct sma_str sma_decode_resolve(struct sma_decoder *decoder, struct sma_str name);
/** Give a call the name of the tool that it means. */
void sma_decode_settle_name(struct sma_decoder *decoder, struct sma_answer_part *part);
/** Arguments that hold the call once more become those of the call. */
void sma_decode_unwrap(struct sma_decoder *decoder, struct sma_answer_part *part);
/** A value that was written as text, of the type that the tool's schema tells. */
json_t *sma_decode_value(struct sma_decoder *decoder, struct sma_str tool, struct sma_str key,
                         struct sma_str text);

uint64_t sma_json_get_u64(const json_t *object, const char *key);
/** Is the string member `key` equal to text? */
bool sma_json_is(const json_t *object, const char *key, const char *text);
/** Parse JSON of at most SMA_JSON_DEPTH_MAX levels; broken UTF-8 and lone surrogates are repaired.
 *  NULL when it is not
 *  JSON. Free with json_decref. */
json_t *sma_json_parse(struct sma_str text);
/** The first value of several, of any type; *ret_len bytes of text. */
json_t *sma_json_parse_first(struct sma_str text, size_t *ret_len);
/** The same without repairs. *ret_error (may be NULL) stays untouched when the text is empty or too
 *  deep. */
json_t *sma_json_parse_strict(struct sma_str text, json_error_t *ret_error);

#endif
