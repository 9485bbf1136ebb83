/*
 * What is kept of people, and for how long: one round over all records of people, in slices between
 * batches.
 *
 * A record goes when it says nothing any more: windows that have closed, codes that nobody answered
 * in time, marks that lead to no code, homes of people who are no longer owners or administrators.
 * What somebody of the owner's side has said (person/, group/) stays for ever. A round begins with
 * each start; while the service works, one begins every hour.
 */
#include "item.h"
#include "people.h"
#include "people_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#define LOOK_COUNT_MAX 256

/* -- what is over ------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err remove_pair(struct sma_store *store,
                                            const struct sma_state_record *pair)
{
    struct sma_buf *key = &store->people->key;
    sma_buf_clear(key);
    sma_buf_put_str(key, pair->key);
    return key->err != SMA_ERR_OK ? key->err : sma_store_people_write(store, SMA_STR(""));
}

static enum sma_err keep_window(struct sma_store *store, const struct sma_state_record *pair)
{
    int64_t until;
    bool is_open = sma_parse_i64(pair->value, 0, INT64_MAX, &until) == SMA_ERR_OK &&
                   until > sma_ctx_wall(store->ctx);
    return is_open ? SMA_ERR_OK : remove_pair(store, pair);
}

static enum sma_err keep_code(struct sma_store *store, const struct sma_state_record *pair)
{
    return sma_store_pairing_is_over(store, pair->value) ? sma_store_pairing_drop(store, pair->key)
                                                         : SMA_ERR_OK;
}

/* pairing/ and grouping/: the code of somebody. */
static enum sma_err keep_subject(struct sma_store *store, const struct sma_state_record *pair)
{
    struct sma_buf *key = &store->people->key;
    sma_buf_clear(key);
    sma_buf_put_text(key, "pair/");
    sma_buf_put_str(key, pair->value);
    enum sma_err err = key->err != SMA_ERR_OK ? key->err : sma_store_people_read(store);
    return err == SMA_ERR_NOTFOUND ? remove_pair(store, pair) : err;
}

static enum sma_err keep_home(struct sma_store *store, const struct sma_state_record *pair)
{
    json_t *root = json_loadb(pair->value.ptr, pair->value.len, 0, NULL);
    struct sma_route route = sma_store_people_get_route(root);
    struct sma_access_facts facts = {0};
    enum sma_err err = root == NULL ? SMA_ERR_OK : sma_store_find_person(store, &route, &facts);
    json_decref(root);
    if (err != SMA_ERR_OK || facts.standing >= SMA_ACCESS_ADMIN)
        return err;
    return remove_pair(store, pair);
}

/* value: of a record person/... */
static bool is_owner(struct sma_str value)
{
    json_t *root = json_loadb(value.ptr, value.len, 0, NULL);
    const char *standing = json_string_value(json_object_get(root, "standing"));
    bool is_owner =
        standing != NULL && strcmp(standing, sma_access_standing_name(SMA_ACCESS_OWNER)) == 0;
    json_decref(root);
    return is_owner;
}

static enum sma_err look_for_owner(struct sma_store *store, const struct sma_state_record *pair)
{
    struct store_people_round *round = &store->people->round;
    round->has_owner = round->has_owner || is_owner(pair->value);
    return SMA_ERR_OK;
}

static const struct
{
    const char *prefix;
    enum sma_err (*keep)(struct sma_store *store, const struct sma_state_record *pair);
} kinds[] = {
    {"grouping/", keep_subject}, {"home/", keep_home},        {"pair/", keep_code},
    {"pairing/", keep_subject},  {"person/", look_for_owner}, {"window:", keep_window},
};

/* -- nobody is owner --------------------------------------------------------------------------- */
bool sma_store_has_owner(struct sma_store *store)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records people = {0};
    if (sma_access_roles_have_owner(store->people->named))
        return true;
    enum sma_err err = sma_state_access_page(
        store->state,
        &(struct sma_state_page){.prefix = SMA_STR("person/"), .count_max = LOOK_COUNT_MAX}, &rows,
        &people);
    /* So many people were let in by somebody. */
    bool has_owner = err != SMA_ERR_OK || people.count == LOOK_COUNT_MAX;
    for (size_t i = 0; i < people.count && !has_owner; i++)
        has_owner = is_owner(people.items[i].value);
    return has_owner;
}

static const struct sma_adapter *find_platform(const struct sma_store *store)
{
    for (uint32_t i = 0; i < store->adapter_count; i++)
        if (!sma_access_is_trusted_channel(
                sma_str(sma_adapter_channel(store->adapters[i].adapter))))
            return store->adapters[i].adapter;
    return NULL;
}

/* Everybody was looked at: once a start, say how to become the owner. */
static void say_owner(struct sma_store *store)
{
    struct store_people_round *round = &store->people->round;
    const struct sma_adapter *platform = find_platform(store);
    bool has_owner =
        round->has_owner || platform == NULL || sma_access_roles_have_owner(store->people->named);
    if (!has_owner && !round->is_owner_told)
        sma_ctx_log(store->ctx, SMA_LOG_INFO,
                    "nobody is owner yet: write to the bot on %s, then run `shipmyagent pair "
                    "approve CODE %s --role owner` with the code it shows, or with "
                    "%s:<your user id> if it shows none",
                    sma_adapter_name(platform), store->config->project_dir,
                    sma_adapter_channel(platform));
    round->is_owner_told = true;
}

/* -- one slice --------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err keep_pair(struct sma_store *store,
                                          const struct sma_state_record *pair)
{
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
        if (sma_str_starts_with(pair->key, sma_str(kinds[i].prefix)))
            return kinds[i].keep(store, pair);
    return SMA_ERR_OK;
}

static void end_round(struct sma_store *store)
{
    struct store_people_round *round = &store->people->round;
    say_owner(store);
    round->has_owner = false;
    sma_buf_clear(&round->after);
}

enum sma_err sma_store_people_keep(struct sma_store *store, uint32_t budget, bool *ret_is_round)
{
    struct store_people_round *round = &store->people->round;
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records pairs = {0};
    enum sma_err err = sma_store_begin_lazy(store);
    if (err == SMA_ERR_OK)
        err = sma_state_access_page(
            store->state,
            &(struct sma_state_page){.after = sma_buf_str(&round->after), .count_max = budget},
            &rows, &pairs);
    for (size_t i = 0; i < pairs.count && err == SMA_ERR_OK; i++)
        err = keep_pair(store, &pairs.items[i]);
    if (err != SMA_ERR_OK)
        return err;
    *ret_is_round = pairs.count < budget;
    sma_buf_clear(&round->after);
    if (*ret_is_round)
        end_round(store);
    else
        sma_buf_put_str(&round->after, pairs.items[pairs.count - 1].key);
    return round->after.err;
}

/* -- when -------------------------------------------------------------------------------------- */
#define SLICE_COUNT 256
#define SLICE_NS UINT64_C(20000000) /* between two slices of a round */
#define ROUND_NS (UINT64_C(3600) * 1000000000)

static enum sma_err keep_slice(struct sma_store *store, void *ctx)
{
    return sma_store_people_keep(store, SLICE_COUNT, ctx);
}

enum sma_err sma_store_people_expire(struct sma_store *store)
{
    struct store_people_round *round = &store->people->round;
    uint64_t now = sma_ctx_now(store->ctx);
    if (now < round->due_ns || !sma_store_may_write(store))
        return SMA_ERR_OK;
    bool is_round = true;
    struct store_item item = {.step = keep_slice,
                              .ctx = &is_round,
                              .name = "slice of people",
                              .remedy = "nothing is lost by it; look for other signs of damage in "
                                        "state.db"};
    enum sma_err err = sma_store_item(store, &item);
    round->is_resting = is_round; /* damage: the round begins anew, later */
    round->due_ns = now + (is_round ? ROUND_NS : SLICE_NS);
    return err;
}

/* An idle store sleeps: a round is begun by whatever comes next. */
uint64_t sma_store_people_wake(const struct sma_store *store)
{
    const struct store_people_round *round = &store->people->round;
    return round->is_resting || !sma_store_may_write(store) ? UINT64_MAX : round->due_ns;
}
