/*
 * rate.c — limits.perPersonPerMinute: when each person's last messages began work. In memory only:
 * a restart forgets a minute. People who were quiet for a minute are let go of.
 */
#include "budget_priv.h"

#include <stdlib.h>

#define MINUTE_NS (60 * SMA_NS_PER_S)
#define PEOPLE_COUNT_MAX 65536u /* beyond it new ones are not counted until others are quiet */

struct person
{
    uint64_t told_ns, newest_ns; /* 0 = never */
    uint32_t count, next, cap;   /* a ring of the newest moments */
    uint64_t at_ns[];
};

struct store_rate
{
    struct store_map people;
    uint64_t swept_ns;
};

static void sweep(struct store_rate *rate, uint64_t now)
{
    struct store_map old = rate->people;
    rate->people = (struct store_map){0};
    for (uint32_t i = 0; i < old.cap; i++) {
        struct person *person = old.keys[i] == 0 ? NULL : old.values[i];
        if (person != NULL && (now - person->newest_ns >= MINUTE_NS ||
                               !sma_store_map_put(&rate->people, old.keys[i], person)))
            free(person);
    }
    sma_store_map_fini(&old);
    rate->swept_ns = now;
}

static uint32_t limit_of(const struct sma_store *store)
{
    return (uint32_t)store->config->per_person_per_minute;
}

/* NULL: nothing is known of him, or of another limit. */
static struct person *find(const struct sma_store *store, uint64_t key)
{
    const struct store_rate *rate = store->budget->rate;
    struct person *person = rate == NULL ? NULL : sma_store_map_get(&rate->people, key);
    return person;
}

uint64_t sma_store_rate_wait_ns(struct sma_store *store, uint64_t key)
{
    uint64_t now = sma_ctx_now(store->ctx);
    const struct person *person = find(store, key);
    uint32_t limit = limit_of(store);
    if (person == NULL || person->count < limit)
        return 0;
    /* The moment that is `limit` messages back. */
    uint64_t at = person->at_ns[(person->next + person->cap - limit) % person->cap];
    return now - at >= MINUTE_NS ? 0 : at + MINUTE_NS - now;
}

/* With room for the limit of now; a former limit's moments go over. */
static struct person *renew(struct store_rate *rate, uint64_t key, struct person *old, uint32_t cap)
{
    struct person *person = calloc(1, sizeof *person + cap * sizeof person->at_ns[0]);
    if (person == NULL)
        return NULL;
    person->cap = cap;
    for (uint32_t i = old == NULL ? 0 : old->count; i > 0; i--) {
        person->at_ns[person->next++ % cap] = old->at_ns[(old->next + old->cap - i) % old->cap];
        person->count = person->count < cap ? person->count + 1 : cap;
    }
    person->next %= cap;
    if (old != NULL) {
        person->told_ns = old->told_ns;
        sma_store_map_remove(&rate->people, key);
        free(old);
    }
    if (sma_store_map_put(&rate->people, key, person))
        return person;
    free(person);
    return NULL;
}

void sma_store_rate_count(struct sma_store *store, uint64_t key)
{
    struct store_budget *budget = store->budget;
    uint64_t now = sma_ctx_now(store->ctx);
    if (budget->rate == NULL)
        budget->rate = calloc(1, sizeof *budget->rate);
    sma_store_need(store, budget->rate != NULL);
    if (now - budget->rate->swept_ns >= MINUTE_NS)
        sweep(budget->rate, now);
    struct person *person = find(store, key);
    if (person == NULL && budget->rate->people.count >= PEOPLE_COUNT_MAX)
        return;
    if (person == NULL || person->cap != limit_of(store))
        person = renew(budget->rate, key, person, limit_of(store));
    sma_store_need(store, person != NULL);
    person->at_ns[person->next] = person->newest_ns = now;
    person->next = (person->next + 1) % person->cap;
    person->count = person->count < person->cap ? person->count + 1 : person->cap;
}

bool sma_store_rate_may_tell(struct sma_store *store, uint64_t key)
{
    uint64_t now = sma_ctx_now(store->ctx);
    struct person *person = find(store, key);
    if (person == NULL || (person->told_ns != 0 && now - person->told_ns < MINUTE_NS))
        return false;
    person->told_ns = now | 1;
    return true;
}

void sma_store_rate_forget(struct sma_store *store)
{
    struct store_rate *rate = store->budget->rate;
    for (uint32_t i = 0; rate != NULL && i < rate->people.cap; i++)
        if (rate->people.keys[i] != 0)
            free(rate->people.values[i]);
    if (rate != NULL)
        sma_store_map_fini(&rate->people);
    free(rate);
    store->budget->rate = NULL;
}
