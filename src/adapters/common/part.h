/*
 * part.h — the bytes of a part, as render makes them and an ATTEMPT brings them back.
 *
 * One form for every adapter. A card or a reaction is a mark and its text. A text in two forms
 * (marked and plain) and a file are 'T', 4 bytes length of the marked form (little-endian), marked
 * form, plain form; or 'F', kind, 4 bytes length of the target, target, caption. The store keeps no
 * such bytes, only how many parts are out: who cuts or counts differently raises renderer_version.
 * Threads: any; no state.
 */
#ifndef SMA_ADAPTERS_COMMON_PART_H
#define SMA_ADAPTERS_COMMON_PART_H

#include "sma/adapter.h"
#include "sma/buf.h"

#define SMA_RENDERED_TEXT 'T'
#define SMA_RENDERED_TEXT_HEAD_BYTES 5
#define SMA_RENDERED_FILE 'F'
#define SMA_RENDERED_CARD 'C'
#define SMA_RENDERED_REACTION 'R'
#define SMA_RENDERED_OWN_CARD 'J' /* the model's, in the platform's JSON */

/**
 * A row that is not text: a reaction, a request for approval or its outcome, as one part.
 * @return  whether it was one and *ret_err tells how it went (OK, NOMEM, TOOBIG); false: render it
 *          as text, which what calls itself a card and is none is, too: better read than lost
 */
bool sma_part_render_whole(const struct sma_deliver *row, sma_part_fn *each, void *user,
                           enum sma_err *ret_err);

/** Clear bytes and begin a text: put the marked form, if there is one; end it; put the plain
 *  form. */
void sma_part_begin_text(struct sma_buf *bytes);
void sma_part_end_marked(struct sma_buf *bytes);
/** Clear bytes and begin a file; put the caption. kind: one of attach.h. */
void sma_part_begin_file(struct sma_buf *bytes, const char *kind, struct sma_str target);

/** is_file of the adapters' tables. */
bool sma_part_is_file(struct sma_str bytes);

struct sma_rendered_part
{
    char mark;
    struct sma_str first;  /* marked form, target, card, reaction */
    struct sma_str second; /* plain form, caption */
    const char *file_kind; /* FILE: "photo" "document" "voice" "audio" */
};
/** Slices point into bytes. A file has a target; a text may be empty. OK | BADINPUT: these are no
 *  such bytes. */
SMA_CHECKED enum sma_err sma_part_decode(struct sma_str bytes, struct sma_rendered_part *ret_part);

#endif
