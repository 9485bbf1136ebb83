/*
 * json_read.h — reading a platform's JSON: bounded, tolerant, without surprises.
 *
 * Slices borrow from the tree. A missing member, null and one of another type read alike: empty.
 * Threads: no state. Limits: SMA_JSON_DEPTH_MAX, checked before the parser (which recurses) sees
 * the text.
 */
#ifndef SMA_RUNTIME_JSON_READ_H
#define SMA_RUNTIME_JSON_READ_H

#include <jansson.h>

#include "sma/buf.h"

#define SMA_JSON_BYTES_MAX (4 * 1024 * 1024)

/** At most SMA_JSON_DEPTH_MAX levels: jansson recurses for each. */
bool sma_json_is_shallow(struct sma_str text);
/** The value of \uXXXX at `at`, or UINT32_MAX. */
uint32_t sma_json_escape(struct sma_str json, size_t at);
/** Parse any JSON value. Invalid UTF-8 is replaced by U+FFFD. @return OK | BADINPUT | TOOBIG |
 *  NOMEM */
SMA_CHECKED enum sma_err sma_json_load(struct sma_str text, json_t **ret_root);
/**
 * The same for what a stranger sent, which must not be lost for one bad character: halves of
 * surrogate pairs become U+FFFD too, control bytes inside strings become blanks.
 * @keeps_nul  a NUL stays one (ids that hold one can be refused); else it becomes U+FFFD
 */
SMA_CHECKED enum sma_err sma_json_load_tolerant(struct sma_str text, bool keeps_nul,
                                                json_t **ret_root);
static inline void sma_json_freep(json_t **root)
{
    json_decref(*root);
}
/** The member; NULL when it is missing, null, or `object` is no object (or NULL). */
const json_t *sma_json_get(const json_t *object, const char *key);
/** The member's bytes when it is a string, else an empty slice. */
struct sma_str sma_json_str(const json_t *object, const char *key);
struct sma_str sma_json_str_of(const json_t *value);
/** The member as an integer: a JSON integer, or decimal text, in [low, high]; else `otherwise`. */
int64_t sma_json_int(const json_t *object, const char *key, int64_t low, int64_t high,
                     int64_t otherwise);
/** Append compact JSON with members in their order. Errors stay in buf->err. */
void sma_json_put(struct sma_buf *buf, const json_t *value);

#endif
