/* keys.c — see keys.h. */
#include "runtime/model/keys.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static uint64_t add_bytes(uint64_t hash, struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
    return hash;
}

uint64_t sma_keys_id(struct sma_str owner, struct sma_str name)
{
    uint64_t hash = add_bytes(UINT64_C(1469598103934665603), owner);
    hash = mix(add_bytes(hash * 31, name));
    return hash == 0 ? 1 : hash;
}

/* -- rests ------------------------------------------------------------------------------------- */
static struct sma_key_rest *find_rest(struct sma_keys *keys, uint64_t key, uint64_t model)
{
    for (size_t i = 0; i < SMA_KEYS_REST_COUNT_MAX; i++)
        if (keys->rests[i].key == key && keys->rests[i].model == model)
            return &keys->rests[i];
    return NULL;
}

static struct sma_key_rest *add_rest(struct sma_keys *keys, uint64_t key, uint64_t model)
{
    struct sma_key_rest *place = &keys->rests[0];
    for (size_t i = 0; i < SMA_KEYS_REST_COUNT_MAX && place->key != 0; i++)
        if (keys->rests[i].key == 0 || keys->rests[i].begin_ns < place->begin_ns)
            place = &keys->rests[i];
    *place = (struct sma_key_rest){.key = key, .model = model};
    return place;
}

/* The rest that holds this key back now, the later one of two; NULL = it may be used. */
static struct sma_key_rest *rest_of(struct sma_keys *keys, const struct sma_key_ask *ask, size_t at)
{
    struct sma_key_rest *whole = find_rest(keys, ask->keys[at], 0);
    struct sma_key_rest *model = find_rest(keys, ask->keys[at], ask->model);
    if (whole != NULL && whole->end_ns <= ask->now_ns)
        whole = NULL;
    if (model != NULL && model->end_ns <= ask->now_ns)
        model = NULL;
    if (whole == NULL || model == NULL)
        return whole == NULL ? model : whole;
    return whole->end_ns > model->end_ns ? whole : model;
}

static uint64_t rest_ns(const struct sma_key_rest *rest, int64_t retry_after_ms)
{
    static const uint64_t steps_s[] = {30, 60, 300};
    size_t step = rest->count < SMA_COUNT_OF(steps_s) ? rest->count : SMA_COUNT_OF(steps_s);
    uint64_t told_ns = retry_after_ms < 0 ? 0 : (uint64_t)retry_after_ms * MS;
    if (told_ns > SMA_KEYS_REST_MAX_S * SECOND)
        told_ns = SMA_KEYS_REST_MAX_S * SECOND;
    if (rest->trouble != SMA_MODEL_FAILURE_RATE)
        return told_ns > SMA_KEYS_REST_S * SECOND ? told_ns : SMA_KEYS_REST_S * SECOND;
    if (retry_after_ms < 0)
        return steps_s[step - 1] * SECOND;
    return told_ns < SECOND ? SECOND : told_ns; /* "at once" would send every key round and round */
}

void sma_keys_cool(struct sma_keys *keys, const struct sma_key_rest *refusal,
                   int64_t retry_after_ms)
{
    uint64_t now_ns = refusal->begin_ns;
    uint64_t model = refusal->trouble == SMA_MODEL_FAILURE_RATE ? refusal->model : 0;
    struct sma_key_rest *rest = find_rest(keys, refusal->key, model);
    if (rest == NULL)
        rest = add_rest(keys, refusal->key, model);
    /* Requests that were under way together fail together: that is one failure. */
    if (rest->count == 0 || now_ns >= rest->end_ns)
        rest->count++;
    rest->trouble = refusal->trouble;
    rest->begin_ns = now_ns;
    uint64_t end_ns = now_ns + rest_ns(rest, retry_after_ms);
    rest->end_ns = end_ns > rest->end_ns ? end_ns : rest->end_ns;
}

static void praise(struct sma_key_rest *rest, uint64_t begin_ns)
{
    if (rest != NULL && begin_ns >= rest->begin_ns)
        *rest = (struct sma_key_rest){0};
}

void sma_keys_praise(struct sma_keys *keys, uint64_t key, uint64_t model, uint64_t begin_ns)
{
    praise(find_rest(keys, key, 0), begin_ns);
    praise(find_rest(keys, key, model), begin_ns);
}

void sma_keys_forgive(struct sma_keys *keys)
{
    for (size_t i = 0; i < SMA_KEYS_REST_COUNT_MAX; i++)
        if (keys->rests[i].trouble != SMA_MODEL_FAILURE_RATE)
            keys->rests[i] = (struct sma_key_rest){0};
}

/* -- choosing ---------------------------------------------------------------------------------- */
bool sma_keys_pick(struct sma_keys *keys, const struct sma_key_ask *ask, size_t *ret_index,
                   struct sma_key_rest *ret_rest)
{
    const struct sma_key_rest *first = NULL;
    size_t best = SIZE_MAX;
    uint64_t best_weight = 0;
    for (size_t i = 0; i < ask->count; i++) {
        const struct sma_key_rest *rest = rest_of(keys, ask, i);
        uint64_t weight = mix(ask->keys[i] ^ ask->chat);
        if (rest != NULL)
            first = first == NULL || rest->end_ns < first->end_ns ? rest : first;
        else if (best == SIZE_MAX || weight > best_weight) {
            best = i;
            best_weight = weight;
        }
    }
    if (best == SIZE_MAX) {
        *ret_rest = first == NULL ? (struct sma_key_rest){0} : *first;
        return false;
    }
    struct sma_key_rest *over = find_rest(keys, ask->keys[best], 0);
    if (over != NULL) { /* this one is the probe: others do not follow until it is known */
        over->begin_ns = ask->now_ns;
        over->end_ns = ask->now_ns + SMA_KEYS_PROBE_S * SECOND;
    }
    *ret_index = best;
    return true;
}
