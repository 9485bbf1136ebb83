/*
 * item.h — one item of a batch under a savepoint: what is wrong with it is its own end and nobody
 * else's. Part of the spine; its thread.
 *
 *     struct store_item item = {.step = start_one, .on_damage = give_up_one, .ctx = &start, .name =
 *     "message", ...}; enum sma_err err = sma_store_item(store, &item); if (err != SMA_ERR_OK)
 *         return err;            weather: the batch is undone and tried again
 *     if (item.damage != SMA_ERR_OK)
 *         ...                    the item is over as failed; the list it was in was read again:
 *         begin anew
 *
 * After damage every part has read its rows again, inside the transaction: pointers to runs,
 * deliveries, requests, questions are gone (chats that were there before are still there). So ctx
 * holds numbers, and on_damage finds by them.
 */
#ifndef SMA_STORE_ITEM_H
#define SMA_STORE_ITEM_H

#include "sma/base.h"

struct sma_store;

typedef enum sma_err store_step_fn(struct sma_store *store, void *ctx);

struct store_item
{
    store_step_fn *step;
    store_step_fn *on_damage; /* end its row as failed, tell whom it concerns; NULL: it has none */
    void *ctx;
    const char *name;   /* of the kind, constant: "delivery" */
    const char *remedy; /* constant: what somebody may do */
    uint64_t number;
    struct sma_str chat_key; /* whom it concerns; empty: nobody in particular */
    /* out */
    enum sma_err damage; /* OK: none */
    bool is_stuck;       /* on_damage failed too: its owner must not take it up again */
};

/** Carry out one item of the open transaction, or open it. Inside another item: just its step,
 *  whose errors are the outer one's. @return OK: done, or damaged (*item says) | anything else:
 *  weather, the batch must be undone. */
SMA_CHECKED enum sma_err sma_store_item(struct sma_store *store, struct store_item *item);
/** Is an error of an item its own, for good? CORRUPT (not fatal), NOTFOUND, BADINPUT, TOOBIG,
 *  UNSUPPORTED. */
bool sma_store_is_damage(const struct sma_store *store, enum sma_err err);

#endif
