/*
 * lists.h — answers that are long: made in slices between batches, so that nobody's answer waits
 * for them. Several are made one after the other. What ends meanwhile may be missing or still be in
 * one; nothing is twice. Part of the store; its thread.
 */
#ifndef SMA_STORE_LISTS_H
#define SMA_STORE_LISTS_H

#include "store.h"

#define STORE_LIST_BYTES_MAX ((size_t)8 * 1024 * 1024)

struct store_list
{
    struct store_list *next;
    const struct store_list_kind *kind;
    struct sma_msg *question; /* QUERY */
    struct sma_buf json;
    void *own; /* of its kind */
    bool has_begun;
};
struct store_list_kind
{
    size_t own_bytes; /* zeros at first */
    void (*begin)(struct sma_store *store, struct store_list *list);
    /* Some of it, in about a millisecond. @return it is whole; an error of json answers {} */
    bool (*step)(struct sma_store *store, struct store_list *list);
    void (*fini)(struct store_list *list); /* of what own holds; NULL: nothing */
};
extern const struct store_list_kind sma_store_list_of_requests, sma_store_list_of_grants,
    sma_store_list_of_people, sma_store_list_of_usage, sma_store_list_of_chats,
    sma_store_list_of_runs;

/** Takes *question. */
void sma_store_list(struct sma_store *store, struct sma_msg **question,
                    const struct store_list_kind *kind);
const struct sma_query *sma_store_list_asked(const struct store_list *list);
/** Some of the lists that wait, for about so long; while stopping all of them. Between
 *  transactions. */
void sma_store_list_slice(struct sma_store *store, uint64_t budget_ns);
void sma_store_drop_lists(struct sma_store *store); /* the end */

#endif
