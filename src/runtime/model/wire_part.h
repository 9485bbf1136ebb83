/*
 * wire_part.h — pictures, files and sounds in requests: what a target takes of them and how much,
 * what they cost, the line that stands for one, the marker that stands for its bytes.
 *
 * A fragment holds the marker "sma-part:<hash>" where the base64 text goes; the text itself lies in
 * .ship/.cache/parts/<hash>.b64 and is put in when the request is sent.
 * Source: protocols/models.md §4. Threads: any; no state.
 */
#ifndef SMA_MODEL_WIRE_PART_H
#define SMA_MODEL_WIRE_PART_H

#include "runtime/model/target.h"
#include "sma/buf.h"
#include "sma/messages.h"

#define SMA_PART_MARKER "sma-part:"

#define SMA_PARTS_TOO_MANY "content.too_many" /* a refusal for their number, not their kind */

/* What a target takes in one request. */
struct sma_part_limits
{
    uint32_t max_side;    /* of a picture, pixels */
    uint64_t max_bytes;   /* of one part's base64 */
    uint32_t count_max;   /* parts of a request */
    uint64_t total_bytes; /* of all their base64 */
};
void sma_part_limits_of(const struct sma_target *target, struct sma_part_limits *ret_limits);

/** Would this target take parts of this kind and type? mime may be empty: not known yet. */
bool sma_part_is_taken(const struct sma_target *target, uint8_t kind, struct sma_str mime);
/** Does it stand in requests to this target as what it is? Else as its line. */
bool sma_part_is_shown(const struct sma_target *target, const struct sma_part *part);
/** One line in brackets: what was attached, where it lies, why it is not shown. */
void sma_part_put_line(struct sma_buf *buf, const struct sma_target *target,
                       const struct sma_part *part);
/** Tokens that a shown part costs, more or less. */
uint32_t sma_part_tokens(const struct sma_profile *profile, const struct sma_part *part);

void sma_part_put_marker(struct sma_buf *buf, const struct sma_part *part);
/** The next marker in text from *at on that stands where a part's bytes go: *at is behind it then.
 *  false: there is none. */
bool sma_part_find_marker(struct sma_str text, size_t *at, size_t *ret_start,
                          struct sma_str *ret_hash);
/** "wav" or "mp3". */
struct sma_str sma_part_sound_format(const struct sma_part *part);
/** "picture", "file", "sound". */
const char *sma_part_word(uint8_t kind);

#endif
