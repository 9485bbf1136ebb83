/*
 * msg.h — one message: one allocation that holds header, fields and strings, and moves between
 * actors.
 *
 * Invariants: a message has exactly one owner; nobody changes it after sending; its slices point
 * into itself.
 * Ownership:  sending moves it (the sender's pointer becomes NULL); the receiver owns it until its
 *             handler returns, then the runtime destroys it unless the handler took it (set *msg =
 *             NULL after keeping the pointer).
 * The kinds and bodies are in messages.h.
 */
#ifndef SMA_MSG_H
#define SMA_MSG_H

#include "sma/base.h"

struct sma_msg
{
    uint32_t magic;
    uint16_t kind;    /* enum sma_msg_kind */
    uint8_t from, to; /* enum sma_actor_id, set by sending */
    uint64_t ask_id;  /* of an ask and of its answer; 0 otherwise. Set by sma_ctx_ask */
    /* of an ask: when the asker stops caring; informational for the answerer; 0 = none */
    uint64_t deadline_ns;
    uint64_t sent_ns; /* when it was pushed */
    uint32_t body_bytes;
    uint32_t space_bytes, space_used; /* room behind the body for strings */
    uint32_t reserved;
    max_align_t body[];
};

/**
 * A new message of this kind with a zeroed body and room for `space` bytes of strings and arrays.
 * Messages of the table are made by sma_msg_make_<name> (messages.h), which reckons all this.
 * Each sma_msg_dup costs len + 1 bytes of the room; each sma_msg_space costs up to 15 more for
 * alignment.
 * @return NULL when out of memory.  Thread: any.  Allocates: once.
 */
struct sma_msg *sma_msg_create(unsigned kind, size_t body_bytes, size_t space);
#define SMA_MSG_NEW(KIND, TYPE, space) sma_msg_create((KIND), sizeof(TYPE), (space))
/** Accepts NULL. */
void sma_msg_destroy(struct sma_msg *msg);
void sma_msg_destroyp(struct sma_msg **msg); /* for SMA_AUTO */
/** Body as TYPE: asserts magic and that the body was created at least that large. */
#define SMA_MSG_BODY(msg, TYPE) ((TYPE *)sma_msg_body((msg), sizeof(TYPE)))
void *sma_msg_body(struct sma_msg *msg, size_t at_least);
/** Copy text (plus a NUL) into the message's own room and return the slice there; asserts that it
 *  fits. With ptr NULL and a length: room of that length, not written. */
struct sma_str sma_msg_dup(struct sma_msg *msg, struct sma_str text);
/** Zeroed, 16-byte aligned room inside the message; asserts that it fits. */
void *sma_msg_space(struct sma_msg *msg, size_t bytes);
/** The bytes of a slice of this message, to be written by its maker before it is sent; asserts that
 *  they are its own. */
char *sma_msg_fill(struct sma_msg *msg, struct sma_str slice);

#endif
