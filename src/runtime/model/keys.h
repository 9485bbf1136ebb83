/*
 * keys.h — several API keys of one provider: which one a request goes with, and which ones rest
 * after a refusal.
 *
 * A chat keeps its key while that may be used (the provider's prompt cache belongs to a key): every
 * key gets a weight from the chat's name, the heaviest one that does not rest is taken; when a key
 * rests, only its own chats move. A limit of rate rests a key for one model, 30 s, 1 min, 5 min, or
 * as long as the server said; no money and a refused key rest it for all models, 10 min, then one
 * request goes out as a probe while it rests for the others. A key is known by a number
 * (sma_keys_id), never by its text. Source: protocols/models.md §8.
 * Invariants: a success after the rest began ends it; failures during a rest do not lengthen the
 * next one.
 * Threads: the owner only. Limits: SMA_KEYS_REST_COUNT_MAX rests, the oldest gives way.
 */
#ifndef SMA_MODEL_KEYS_H
#define SMA_MODEL_KEYS_H

#include "sma/base.h"
#include "sma/messages.h"

#define SMA_KEYS_COUNT_MAX 32 /* of one target: as many as the configuration keeps */
#define SMA_KEYS_REST_COUNT_MAX 128
#define SMA_KEYS_REST_S 600      /* no money, or refused */
#define SMA_KEYS_PROBE_S 60      /* how long a probe may take before the next one */
#define SMA_KEYS_REST_MAX_S 3600 /* whatever a server says */

struct sma_key_rest
{
    uint64_t key, model; /* model 0: for all models. key 0: free */
    uint64_t begin_ns, end_ns;
    unsigned count;  /* rests since the last success */
    uint8_t trouble; /* enum sma_model_failure: RATE, QUOTA or AUTH */
};

/* All zero at the beginning. */
struct sma_keys
{
    struct sma_key_rest rests[SMA_KEYS_REST_COUNT_MAX];
};

struct sma_key_ask
{
    const uint64_t *keys;
    size_t count;
    uint64_t model, chat; /* sma_keys_id of their names */
    uint64_t now_ns;
};

/** A number for a name that belongs to an owner (a key and its host); never 0. */
uint64_t sma_keys_id(struct sma_str owner, struct sma_str name);
/** true: *ret_index of the key to use. false: all rest; *ret_rest is the one that ends first. */
bool sma_keys_pick(struct sma_keys *keys, const struct sma_key_ask *ask, size_t *ret_index,
                   struct sma_key_rest *ret_rest);
/** The provider refused this key: RATE, QUOTA or AUTH. retry_after_ms: what it asked for, -1 =
 *  nothing. */
void sma_keys_cool(struct sma_keys *keys, const struct sma_key_rest *refusal,
                   int64_t retry_after_ms);
/** A request with this key that began at begin_ns was answered. */
void sma_keys_praise(struct sma_keys *keys, uint64_t key, uint64_t model, uint64_t begin_ns);
/** Somebody may have paid, or given other rights: no key rests for QUOTA or AUTH any more. */
void sma_keys_forgive(struct sma_keys *keys);

#endif
