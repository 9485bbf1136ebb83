/*
 * openai.h — what a request of the OpenAI-compatible API keeps until its answer is written.
 *
 * A connection that speaks it has one of these from its parsed body on; what asks for it by its
 * connection is declared in http_priv.h. docs/http-api.md says what clients see, docs/adr/0052 why.
 *
 * Threads: the actor's only.
 * Limits: HTTP_OPENAI_MODEL_BYTES_MAX, HTTP_OPENAI_ITEM_COUNT_MAX; texts as everywhere; of
 *         conversations without a name the newest HTTP_OPENAI_TALK_COUNT are known by their words.
 */
#ifndef SMA_HTTP_OPENAI_H
#define SMA_HTTP_OPENAI_H

#include "http_priv.h"

#define HTTP_OPENAI_MODEL_BYTES_MAX 256
#define HTTP_OPENAI_ITEM_COUNT_MAX 10000u /* of messages in one request */
#define HTTP_OPENAI_TALK_COUNT 4096u
#define HTTP_OPENAI_TALK_WAYS 4u
#define HTTP_OPENAI_CHAT_BYTES 20 /* of a conversation without a name: "v1-" and 16 digits */

/* A digest of the words of a conversation so far, of its name, or of one text. */
struct http_openai_key
{
    uint64_t words[2];
};

/* What is remembered of a conversation. */
struct http_openai_talk
{
    struct http_openai_key key; /* of its words up to its last answer, or of its name */
    uint64_t system;            /* digest of the instructions it was given last */
    uint64_t next_id;           /* digest of the message id that went on from here; 0 = none has */
    uint64_t parked_seq;        /* a run of it waits for the answer to a question; 0 = none */
    uint64_t number;            /* order of use; 0 = no entry */
    char chat_id[HTTP_OPENAI_CHAT_BYTES];
};

struct http_openai
{
    bool is_responses, wants_stream, wants_usage;
    bool is_named;     /* the caller has named its conversation */
    bool has_begun;    /* the stream's first events are written */
    const char *param; /* the member of the body that is wrong; NULL = none */
    char model[HTTP_OPENAI_MODEL_BYTES_MAX + 1];
    char chat_id[SMA_ID_BYTES_MAX + 1], conversation[SMA_ID_BYTES_MAX + 1],
        previous[2 * SMA_ID_BYTES_MAX + 32], user_id[SMA_ID_BYTES_MAX + 1];
    struct http_openai_key key; /* after the new message */
    uint64_t system, parked_seq;
    int64_t created_s;
    uint32_t number;     /* of the next event */
    struct sma_buf text; /* the new message, as the agent is told it */
    struct sma_buf told; /* of the answer, what is written to the client */
    size_t from;         /* where the piece of `told` begins that grows now */
};

/* -- openai_parts.c: what a message holds. Pure ------------------------------------------------ */
/**
 * Append the words of a message's content, a string or a list of parts.
 * @files   json_t array for what is attached, or NULL: files are named and left out
 * @return OK | BADINPUT with *error
 */
SMA_CHECKED enum sma_err http_openai_content(const void *content, struct sma_buf *text, void *files,
                                             struct sma_error *error);
/** Append what the agent has said in this run: what it sent on the way, and its last word. */
void http_openai_put_answer(struct sma_buf *text, const struct sma_result *result);

/* -- openai_talks.c: conversations --- */
/** Go on from `key` with a text of `role`; white space at its ends does not count. */
void http_openai_key_add(struct http_openai_key *key, char role, struct sma_str text);
/** The conversation with this key; NULL: unknown. */
struct http_openai_talk *http_openai_talk_find(struct sma_http *http,
                                               const struct http_openai_key *key);
/** The same, or a new one in place of one that was not used for long. NULL: no memory. */
struct http_openai_talk *http_openai_talk_put(struct sma_http *http,
                                              const struct http_openai_key *key);

/* -- openai_json.c: the formats. Pure --- */
struct http_openai_end
{
    uint64_t seq;
    struct sma_str text;
    const struct sma_usage *usage; /* NULL = none is known */
    const char *status;            /* of a response: "completed" "failed" "cancelled" */
};
/** Append a whole chat.completion or response. */
void http_openai_put_whole(struct sma_buf *buf, const struct http_openai *openai,
                           const struct http_openai_end *end);
/** Append the first events of a stream. */
void http_openai_put_begin(struct sma_buf *buf, struct http_openai *openai, uint64_t seq);
void http_openai_put_delta(struct sma_buf *buf, struct http_openai *openai, uint64_t seq,
                           struct sma_str text);
/** Append the last ones; end->text is all that was told. */
void http_openai_put_end(struct sma_buf *buf, struct http_openai *openai,
                         const struct http_openai_end *end);
/** Append the event of a stream that ends with an error. */
void http_openai_put_failure(struct sma_buf *buf, struct http_openai *openai,
                             const struct http_openai_end *end);

#endif
