/*
 * buf.h — a growing byte buffer that cannot be created without a maximum, and the text writers on
 * it.
 *
 * Errors are sticky: after the first failed append `err` is set, later appends do nothing, and the
 * writer is checked once at the end (`if (buf.err) ...`). Contents are always NUL-terminated after
 * a successful append.
 * Threads: the owner only.
 */
#ifndef SMA_BUF_H
#define SMA_BUF_H

#include "sma/base.h"

struct sma_buf
{
    char *ptr; /* NULL until the first append */
    size_t len, cap, max;
    enum sma_err err; /* OK, NOMEM, or TOOBIG when max would be passed */
};

/** Prepare an empty buffer that refuses to grow beyond max bytes. Allocates: no. */
void sma_buf_init(struct sma_buf *buf, size_t max);
/** Free the bytes; the buffer may be initialised again. Accepts a zeroed struct. */
void sma_buf_fini(struct sma_buf *buf);
/** Forget contents and error, keep the allocation. */
void sma_buf_clear(struct sma_buf *buf);
/** Make room for `extra` more bytes and return where they go (add to len yourself), or NULL with
 *  err set. */
char *sma_buf_reserve(struct sma_buf *buf, size_t extra);
void sma_buf_put(struct sma_buf *buf, const void *bytes, size_t len);
void sma_buf_put_str(struct sma_buf *buf, struct sma_str text);
void sma_buf_put_text(struct sma_buf *buf, const char *text);
void sma_buf_put_char(struct sma_buf *buf, char byte);
void sma_buf_put_u64(struct sma_buf *buf, uint64_t number);
void sma_buf_put_i64(struct sma_buf *buf, int64_t number);
void sma_buf_printf(struct sma_buf *buf, const char *format, ...) SMA_PRINTF(2, 3);
/** Append text as a JSON string with quotes. Escapes exactly what ECMAScript's JSON.stringify
 *  escapes (quote, backslash, control characters as \b \f \n \r \t or \u00xx); invalid UTF-8
 *  becomes U+FFFD per maximal subpart. */
void sma_buf_put_json_string(struct sma_buf *buf, struct sma_str text);
/** The same without the surrounding quotes. */
void sma_buf_put_json_escaped(struct sma_buf *buf, struct sma_str text);
/** Append `,"key":` (or `"key":` directly after '{' or '['): the separator is decided from the last
 *  byte. */
void sma_buf_put_json_key(struct sma_buf *buf, const char *key);
/** A key and a text: `,"key":"text"`, escaped. */
void sma_buf_put_json_member(struct sma_buf *buf, const char *key, struct sma_str text);
void sma_buf_put_json_number(struct sma_buf *buf, const char *key, uint64_t number);
static inline struct sma_str sma_buf_str(const struct sma_buf *buf)
{
    return (struct sma_str){buf->ptr, buf->len};
}
/** Take the bytes as a malloc'ed NUL-terminated string (never NULL unless err or empty allocation
 *  failed). */
char *sma_buf_take(struct sma_buf *buf);

#endif
