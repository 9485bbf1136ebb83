/*
 * store_stranger.h — bounds of what is kept of strangers: SMA_STRANGER_TEXT_BYTES_MAX of a message,
 * SMA_STRANGER_MESSAGE_COUNT_MAX messages of one in a day, SMA_STRANGERS_MESSAGE_COUNT_MAX of all of them, and
 * SMA_STRANGERS_CHAT_COUNT_MAX new chats. A stranger here: nobody by himself, in private where `access` does not let
 * everybody talk, or in a group that is not let in.
 */
#ifndef SMA_STORE_STRANGER_H
#define SMA_STORE_STRANGER_H

#include "actors/store_priv.h"

enum store_stranger_fate
{
    STORE_STRANGER_KEPT,
    STORE_STRANGER_CUT,    /* recorded in part; it never runs */
    STORE_STRANGER_UNKEPT, /* too many of all: claimed, without text; he is still answered how to get in */
    STORE_STRANGER_SILENT, /* too many of one: claimed, and that is all */
};
struct store_stranger
{
    enum store_stranger_fate fate;
    struct sma_ingress in; /* what is recorded; slices in the message and in text */
    char text[SMA_STRANGER_TEXT_BYTES_MAX + 16];
};

/** Count a stranger's message, and what is kept of it. */
void sma_store_bound_stranger(struct sma_store *store, const struct sma_ingress *in,
                              struct store_stranger *ret_said);
/** Was it written by a stranger as above? @return OK | IO | CORRUPT | NOMEM */
SMA_CHECKED enum sma_err sma_store_is_stranger(struct sma_store *store,
                                               const struct sma_ingress *in,
                                               bool *ret_is_stranger);
/** May a chat that is not known get a record? Counted. */
SMA_CHECKED enum sma_err sma_store_may_open_chat(struct sma_store *store,
                                                 const struct sma_ingress *in, bool *ret_may);
void sma_store_free_strangers(struct sma_store *store);

#endif
