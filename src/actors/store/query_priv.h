/*
 * query_priv.h — what the files of the part "query" share. Thread: the store's.
 */
#ifndef SMA_STORE_QUERY_PRIV_H
#define SMA_STORE_QUERY_PRIV_H

#include "map.h"
#include "query.h"

#include <jansson.h>

#define STORE_SEARCH_COUNT_MAX 16 /* searches read at once; further ones wait */

struct store_waiter
{
    uint64_t seq, ask_id;
    uint32_t next;
    uint8_t asker;
    bool ends_at_question;
};

struct store_search
{
    struct store_search *next;
    struct sma_msg *question; /* HISTORY, QUERY, FETCH or CONTACT */
    struct sma_history_reader *reader;
};

struct store_query
{
    struct sma_msg **asked; /* questions of the open batch: looked at after its commit */
    uint32_t asked_count, asked_cap;
    struct store_waiter *waiters;
    uint32_t waiter_count, waiter_cap, waiter_free; /* free list and heads: index + 1, 0 = none */
    struct store_map waiter_heads;                  /* seq -> index + 1 */
    struct store_list *lists;                       /* lists.h */
    struct store_search *search_first, *search_last;
    uint32_t search_count;                    /* with an open reader */
    struct store_platform_ask *platform_asks; /* platform_ask.c */
};

/* -- place.c ----------------------------------------------------------------------------------- */
struct sma_history_query;
void sma_store_place_query(struct sma_store *store, const struct sma_msg *question,
                           struct sma_history_query *ret_query);
/** Its search is over: answered. */
void sma_store_place_found(struct sma_store *store, struct store_search *search, enum sma_err err,
                           const struct sma_error *error);

/* -- fetch_again.c ----------------------------------------------------------------------------- */
void sma_store_fetch_query(const struct sma_fetch_ask *ask, struct sma_history_query *ret_query);
/** Its search is over: answered, or the adapter is asked and the question is kept. */
void sma_store_fetch_found(struct sma_store *store, struct store_search *search, enum sma_err err,
                           const struct sma_error *error);

/* -- query.c ----------------------------------------------------------------------------------- */
void sma_store_enqueue_search(struct sma_store *store, struct sma_msg **msg);

#endif
