/*
 * The answer to QUERY_USAGE: sums of many days by day, chat, person, platform and target. A year is
 * 400,000 rows, two seconds; so a day is read in a slice, and what it adds is kept in memory.
 * Beyond so many names the rest is one row without a name.
 */
#include "budget.h"
#include "map.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include <stdlib.h>

#define DAY_MS INT64_C(86400000)
#define STORE_USAGE_DAYS 30         /* asked for, when nobody says how many */
#define STORE_USAGE_LIST_COUNT 100u /* chats, people, platforms, targets */
#define SUM_COUNT_MAX 65536u        /* of each of them */

struct sum
{
    struct sma_usage usage;
    int64_t key;
    uint32_t name_len;
    char name[];
};

struct store_usage_sum
{
    int64_t from, today, at;
    uint32_t chat_id;
    uint64_t name_key[2]; /* of the hash */
    struct store_map sums[SMA_STATE_USAGE_BY_COUNT];
    bool is_failed;
};

static const struct
{
    const char *list, *key;
    uint32_t row_max;
} lists[SMA_STATE_USAGE_BY_COUNT] = {
    [SMA_STATE_USAGE_BY_DAY] = {"days", "day", SMA_USAGE_DAYS},
    [SMA_STATE_USAGE_BY_CHAT] = {"chats", "chatKey", STORE_USAGE_LIST_COUNT},
    [SMA_STATE_USAGE_BY_PERSON] = {"persons", "person", STORE_USAGE_LIST_COUNT},
    [SMA_STATE_USAGE_BY_PLATFORM] = {"platforms", "platform", STORE_USAGE_LIST_COUNT},
    [SMA_STATE_USAGE_BY_TARGET] = {"targets", "target", STORE_USAGE_LIST_COUNT},
    [SMA_STATE_USAGE_TOTAL] = {"total", NULL, 1},
};

/* -- adding ------------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err add(struct store_map *sums, int64_t key, struct sma_str name,
                                    const struct sma_usage *usage, const void *hash_key)
{
    uint64_t hash = name.len > 0 ? sma_siphash(hash_key, name.ptr, name.len) | 1
                                 : (uint64_t)key * 2 + 2; /* even: never that of a name */
    struct sum *sum = sma_store_map_get(sums, hash);
    if (sum == NULL && sums->count >= SUM_COUNT_MAX) {
        key = 0;
        name = SMA_STR("");
        sum = sma_store_map_get(sums, hash = 2);
    }
    if (sum == NULL) {
        sum = calloc(1, sizeof *sum + name.len + 1);
        if (sum == NULL || !sma_store_map_put(sums, hash, sum)) {
            free(sum);
            return SMA_ERR_NOMEM;
        }
        sum->key = key;
        sum->name_len = (uint32_t)name.len;
        if (name.len > 0)
            memcpy(sum->name, name.ptr, name.len);
    }
    sma_usage_add(&sum->usage, usage);
    return SMA_ERR_OK;
}

static enum sma_err add_row(void *user, const struct sma_state_usage_key *key,
                            const struct sma_usage *usage)
{
    struct store_usage_sum *all = user;
    const struct sma_str none = SMA_STR("");
    const struct
    {
        int64_t key;
        struct sma_str name;
    } to[SMA_STATE_USAGE_BY_COUNT] = {
        [SMA_STATE_USAGE_BY_DAY] = {key->day, none},
        [SMA_STATE_USAGE_BY_CHAT] = {key->chat_id, none},
        [SMA_STATE_USAGE_BY_PERSON] = {0, key->person},
        [SMA_STATE_USAGE_BY_PLATFORM] = {0, key->platform},
        [SMA_STATE_USAGE_BY_TARGET] = {0, key->target},
        [SMA_STATE_USAGE_TOTAL] = {0, none},
    };
    enum sma_err err = SMA_ERR_OK;
    for (size_t by = 0; by < SMA_STATE_USAGE_BY_COUNT && err == SMA_ERR_OK; by++)
        err = add(&all->sums[by], to[by].key, to[by].name, usage, all->name_key);
    return err;
}

struct store_usage_sum *sma_store_usage_begin(struct sma_store *store,
                                              const struct sma_query *query)
{
    struct store_usage_sum *sum = calloc(1, sizeof *sum);
    sma_store_need(store, sum != NULL);
    uint32_t days = query->limit == 0               ? STORE_USAGE_DAYS
                    : query->limit > SMA_USAGE_DAYS ? SMA_USAGE_DAYS
                                                    : query->limit;
    const struct sma_state_chat *chat =
        query->chat_key.len > 0 ? sma_state_chat_get(store->state, query->chat_key) : NULL;
    sum->today = sma_store_today(store)->day;
    sum->from = sum->at = sum->today - days + 1;
    sum->chat_id = chat != NULL ? chat->id : 0;
    memcpy(sum->name_key, store->hash_key, sizeof sum->name_key);
    if (query->chat_key.len > 0 && chat == NULL)
        sum->at = sum->today + 1; /* nobody has written there */
    return sum;
}

bool sma_store_usage_next(struct sma_store *store, struct store_usage_sum *sum)
{
    if (sum->at > sum->today)
        return true;
    enum sma_err err = sma_state_usage_of_day(store->state, sum->at++, sum->chat_id, add_row, sum);
    sma_store_need(store, err != SMA_ERR_NOMEM);
    sum->is_failed = err != SMA_ERR_OK;
    return sum->is_failed;
}

void sma_store_usage_end(struct store_usage_sum *sum)
{
    for (size_t by = 0; sum != NULL && by < SMA_STATE_USAGE_BY_COUNT; by++) {
        for (uint32_t i = 0; i < sum->sums[by].cap; i++)
            if (sum->sums[by].keys[i] != 0)
                free(sum->sums[by].values[i]);
        sma_store_map_fini(&sum->sums[by]);
    }
    free(sum);
}

/* -- telling ----------------------------------------------------------------------------------- */
static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_days(const void *a, const void *b)
{
    const struct sum *one = *(struct sum *const *)a, *two = *(struct sum *const *)b;
    return one->key < two->key ? 1 : one->key > two->key ? -1 : 0;
}

static uint64_t tokens(const struct sma_usage *usage)
{
    return usage->input + usage->cached + usage->written + usage->output;
}

/* The dearest first, then most tokens. */
static int compare_costs(const void *a, const void *b)
{
    const struct sum *one = *(struct sum *const *)a, *two = *(struct sum *const *)b;
    int order = compare_numbers(one->usage.cost_nano, two->usage.cost_nano);
    if (order == 0)
        order = compare_numbers(tokens(&one->usage), tokens(&two->usage));
    if (order == 0)
        order = one->key < two->key ? -1 : one->key > two->key;
    return order != 0 ? order : strcmp(one->name, two->name);
}

static void put_day(struct sma_buf *buf, int64_t day)
{
    char text[40];
    struct sma_buf time;
    sma_buf_init(&time, 64);
    sma_buf_put_iso_time(&time, day * DAY_MS);
    snprintf(text, sizeof text, "%.*s", time.len < 10 ? (int)time.len : 10, time.ptr);
    sma_buf_fini(&time);
    sma_buf_put_json_string(buf, sma_str(text));
}

static void put_sum(struct sma_store *store, struct sma_buf *buf, enum sma_state_usage_by by,
                    const struct sum *sum)
{
    sma_buf_put_char(buf, '{');
    if (lists[by].key != NULL)
        sma_buf_put_json_key(buf, lists[by].key);
    if (by == SMA_STATE_USAGE_BY_DAY) {
        put_day(buf, sum->key);
    } else if (by == SMA_STATE_USAGE_BY_CHAT) {
        const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, (uint32_t)sum->key);
        sma_buf_put_json_string(buf, chat != NULL ? chat->key : SMA_STR(""));
    } else if (by != SMA_STATE_USAGE_TOTAL) {
        sma_buf_put_json_string(buf, (struct sma_str){sum->name, sum->name_len});
    }
    sma_store_put_usage_members(buf, &sum->usage);
    sma_buf_put_char(buf, '}');
}

static void put_list(struct sma_store *store, struct sma_buf *buf, enum sma_state_usage_by by,
                     const struct store_map *sums)
{
    struct sum **sorted = calloc(sums->count + 1, sizeof(struct sum *));
    uint32_t count = 0;
    sma_store_need(store, sorted != NULL);
    for (uint32_t i = 0; i < sums->cap; i++)
        if (sums->keys[i] != 0)
            sorted[count++] = sums->values[i];
    qsort((void *)sorted, count, sizeof *sorted,
          by == SMA_STATE_USAGE_BY_DAY ? compare_days : compare_costs);
    for (uint32_t i = 0; i < count && i < lists[by].row_max; i++) {
        if (i > 0)
            sma_buf_put_char(buf, ',');
        put_sum(store, buf, by, sorted[i]);
    }
    free((void *)sorted);
}

void sma_store_usage_put(struct sma_store *store, struct sma_buf *buf,
                         const struct store_usage_sum *sum)
{
    const struct sum nothing = {0};
    const struct sum *total = sma_store_map_get(&sum->sums[SMA_STATE_USAGE_TOTAL], 2);
    if (sum->is_failed)
        buf->err = SMA_ERR_IO;
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "from");
    put_day(buf, sum->from);
    sma_buf_put_json_key(buf, "to");
    put_day(buf, sum->today);
    sma_buf_put_json_key(buf, "total");
    put_sum(store, buf, SMA_STATE_USAGE_TOTAL, total != NULL ? total : &nothing);
    for (enum sma_state_usage_by by = 0; by < SMA_STATE_USAGE_TOTAL; by++) {
        sma_buf_put_json_key(buf, lists[by].list);
        sma_buf_put_char(buf, '[');
        put_list(store, buf, by, &sum->sums[by]);
        sma_buf_put_char(buf, ']');
    }
    sma_buf_put_char(buf, '}');
}
