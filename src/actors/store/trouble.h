/*
 * trouble.h — what stands in the way of somebody: named, with a remedy, until it is healed. Part of
 * the spine; its thread.
 *
 * It is in the log once, in STATUS (/api/status, `shipmyagent status`), and makes /health say
 * "degraded".
 */
#ifndef SMA_STORE_TROUBLE_H
#define SMA_STORE_TROUBLE_H

#include "sma/buf.h"

struct sma_store;

struct store_trouble
{
    const char *name;        /* of the kind, constant: "history"; with chat_key: which one */
    struct sma_str chat_key; /* whose; empty: everybody's */
    const char *what, *remedy;
    bool is_over; /* the damage was done: shown for a day */
};
/** The same again only counts. Logs an ERROR the first time; also before start(). */
void sma_store_trouble(struct sma_store *store, const struct store_trouble *trouble);
/** It is no more, if it was. */
void sma_store_healed(struct sma_store *store, const char *name, struct sma_str chat_key);
bool sma_store_has_trouble(const struct sma_store *store, const char *name,
                           struct sma_str chat_key);
/** Append [{"name":...,"chatKey":...,"what":...,"remedy":...,"since":...,"count":n}]. */
void sma_store_put_troubles(const struct sma_store *store, struct sma_buf *json);

/* For the spine. */
void sma_store_drop_old_troubles(struct sma_store *store);
void sma_store_free_troubles(struct sma_store *store);

#endif
