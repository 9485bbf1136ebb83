/*
 * decode_call_read.h — calls in a model's own notation, read form by form.
 *
 * JSON (one call, a list, in any of the members that models use), elements (a call's name in the
 * element, its arguments as JSON or as elements), a name with arguments behind a mark, a line of
 * Python. Who reads decides whether what was read is meant: decode_call_text.c.
 * Threads: any; no state.
 */
#ifndef SMA_MODEL_DECODE_CALL_READ_H
#define SMA_MODEL_DECODE_CALL_READ_H

#include "decode_priv.h"

#include <ctype.h>

struct sma_call_reader
{
    struct sma_decoder *decoder;
    struct sma_str text;
    size_t at;
    json_t *calls;    /* [{"name":...,"arguments":...}]; NULL: none yet */
    bool is_in_block; /* it stopped behind a mark that begins calls */
};

/** Read calls from `at` on; what was read stands in `calls`, which the caller gives back.
 *  @return true: nothing else stands there to the end of the text */
bool sma_call_read_all(struct sma_call_reader *reader);
/** &lt; and its like, as a page writes them, are the bytes that they stand for. */
void sma_call_put_unescaped(struct sma_buf *buf, struct sma_str text);

/* -- slices ------------------------------------------------------------------------------------ */
static inline struct sma_str slice(struct sma_str text, size_t from, size_t to)
{
    return (struct sma_str){text.ptr + from, to - from};
}

static inline struct sma_str trim_end(struct sma_str text)
{
    while (text.len > 0 && isspace((unsigned char)text.ptr[text.len - 1]))
        text.len--;
    return text;
}

static inline size_t word_end(struct sma_str text, size_t at)
{
    while (at < text.len && (isalnum((unsigned char)text.ptr[at]) ||
                             (text.ptr[at] != '\0' && strchr("_.-", text.ptr[at]) != NULL)))
        at++;
    return at;
}

#endif
