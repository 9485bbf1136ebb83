/*
 * pairing_priv.h — codes of pairing, for pairing.c, paired.c and people_keep.c. Thread: the
 * store's.
 */
#ifndef SMA_STORE_PAIRING_PRIV_H
#define SMA_STORE_PAIRING_PRIV_H

#include "people.h"

#include <jansson.h>

/* One record pair/<code>. Slices point into root. */
struct store_pairing
{
    json_t *root;
    char code[SMA_PAIRING_CODE_LEN + 1];
    int64_t created_ms;
    struct sma_route route;
    uint64_t seq;  /* of the message that brought the code */
    bool has_more; /* more was written than is kept */
    bool is_group; /* the chat of route is to be let in; its author only asked */
};
/** Read a code's record; release it with fini. @return OK | NOTFOUND | IO | NOMEM */
SMA_CHECKED enum sma_err sma_store_pairing_read(struct sma_store *store, const char *code,
                                                struct store_pairing *ret_pairing);
/** The live code of the author of this route, or of its chat. @return OK | NOTFOUND | IO | NOMEM */
SMA_CHECKED enum sma_err sma_store_pairing_of(struct sma_store *store,
                                              const struct sma_route *route, bool is_group,
                                              struct store_pairing *ret_pairing);
void sma_store_pairing_fini(struct store_pairing *pairing); /* accepts a zeroed struct */
/** The code is answered or too old. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_pairing_remove(struct sma_store *store,
                                                  const struct store_pairing *pairing);
/** The same for a record pair/<code>, without reading all of it. */
bool sma_store_pairing_is_over(const struct sma_store *store, struct sma_str value);
/** Give up the code of the record with this key, read or not. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_pairing_drop(struct sma_store *store, struct sma_str key);
bool sma_store_pairing_is_old(const struct sma_store *store, int64_t created_ms);
/** sma_pairing_name of the person of this route. */
void sma_store_pairing_name(char *text, const struct sma_route *route);
/** The notice in scratch.text goes to `route`, once for each seq and call. In the open
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_pairing_say(struct sma_store *store,
                                               const struct sma_route *route, uint64_t seq,
                                               uint32_t call);
/** One line for the audit: what happened to whom; by whom may be NULL. */
void sma_store_pairing_audit(struct sma_store *store, const char *what,
                             const struct sma_route *person, const char *code, const char *role,
                             const struct sma_route *by);

#endif
