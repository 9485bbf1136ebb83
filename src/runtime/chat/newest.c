/*
 * Ids stand one after the other in `bytes`. At half as much again as is kept, the older ones go;
 * what is older than the oldest that stayed is not even copied from then on, so that sorting
 * becomes rarer the more is added.
 */
#include "runtime/chat/newest.h"

#include <stdlib.h>

struct item
{
    int64_t wall_ms;
    uint32_t chat, len;
    size_t at;
};
struct sma_newest
{
    struct item *items;
    size_t count, cap, count_max;
    char *bytes;
    size_t byte_count, byte_cap;
    int64_t floor_ms; /* older ones cannot be among the newest any more */
    uint64_t dropped;
};

enum sma_err sma_newest_create(size_t count_max, struct sma_newest **ret_newest)
{
    struct sma_newest *newest = calloc(1, sizeof *newest);
    if (newest == NULL)
        return SMA_ERR_NOMEM;
    newest->count_max = count_max;
    newest->floor_ms = INT64_MIN;
    *ret_newest = newest;
    return SMA_ERR_OK;
}

void sma_newest_destroy(struct sma_newest *newest)
{
    if (newest == NULL)
        return;
    free(newest->items);
    free(newest->bytes);
    free(newest);
}

/* Those of one time in the order in which they came. */
static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->wall_ms != y->wall_ms)
        return x->wall_ms < y->wall_ms ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Index of the first item that stays, of sorted ones. */
static size_t first_kept(const struct sma_newest *newest)
{
    size_t bytes = 0, at = newest->count;
    while (at > 0 && newest->count - at < newest->count_max &&
           bytes + newest->items[at - 1].len <= SMA_NEWEST_BYTES_MAX)
        bytes += newest->items[--at].len;
    return at;
}

static SMA_CHECKED enum sma_err drop_older(struct sma_newest *newest)
{
    qsort(newest->items, newest->count, sizeof *newest->items, compare);
    size_t first = first_kept(newest), len = 0;
    if (first == 0)
        return SMA_ERR_OK;
    char *bytes = malloc(newest->byte_cap);
    if (bytes == NULL)
        return SMA_ERR_NOMEM;
    newest->dropped += first;
    newest->count -= first;
    memmove(newest->items, newest->items + first, newest->count * sizeof *newest->items);
    for (size_t i = 0; i < newest->count; i++) {
        memcpy(bytes + len, newest->bytes + newest->items[i].at, newest->items[i].len);
        newest->items[i].at = len;
        len += newest->items[i].len;
    }
    free(newest->bytes);
    newest->bytes = bytes;
    newest->byte_count = len;
    if (newest->count > 0)
        newest->floor_ms = newest->items[0].wall_ms;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err reserve(struct sma_newest *newest, size_t len)
{
    if (newest->count == newest->cap) {
        size_t cap = newest->cap == 0 ? 1024 : newest->cap * 2;
        struct item *items = realloc(newest->items, cap * sizeof *items);
        if (items == NULL)
            return SMA_ERR_NOMEM;
        newest->items = items;
        newest->cap = cap;
    }
    size_t cap = newest->byte_cap == 0 ? 65536 : newest->byte_cap;
    while (cap < newest->byte_count + len)
        cap += cap / 2;
    char *bytes = cap == newest->byte_cap ? newest->bytes : realloc(newest->bytes, cap);
    if (bytes == NULL)
        return SMA_ERR_NOMEM;
    newest->bytes = bytes;
    newest->byte_cap = cap;
    return SMA_ERR_OK;
}

enum sma_err sma_newest_add(struct sma_newest *newest, const struct sma_newest_item *item)
{
    if (item->wall_ms < newest->floor_ms) {
        newest->dropped++;
        return SMA_ERR_OK;
    }
    enum sma_err err = SMA_ERR_OK;
    if (newest->count >= newest->count_max + newest->count_max / 2 ||
        newest->byte_count >= SMA_NEWEST_BYTES_MAX + SMA_NEWEST_BYTES_MAX / 2)
        err = drop_older(newest);
    if (err == SMA_ERR_OK)
        err = reserve(newest, item->id.len);
    if (err != SMA_ERR_OK)
        return err;
    if (item->id.len > 0)
        memcpy(newest->bytes + newest->byte_count, item->id.ptr, item->id.len);
    newest->items[newest->count++] = (struct item){.wall_ms = item->wall_ms,
                                                   .chat = item->chat,
                                                   .len = (uint32_t)item->id.len,
                                                   .at = newest->byte_count};
    newest->byte_count += item->id.len;
    return SMA_ERR_OK;
}

size_t sma_newest_sort(struct sma_newest *newest)
{
    if (newest->count > 1)
        qsort(newest->items, newest->count, sizeof *newest->items, compare);
    size_t first = first_kept(newest);
    newest->dropped += first;
    newest->count -= first;
    if (first > 0)
        memmove(newest->items, newest->items + first, newest->count * sizeof *newest->items);
    return newest->count;
}

struct sma_newest_item sma_newest_get(const struct sma_newest *newest, size_t at)
{
    SMA_ASSERT(at < newest->count);
    const struct item *item = &newest->items[at];
    return (struct sma_newest_item){
        .wall_ms = item->wall_ms, .chat = item->chat, .id = {newest->bytes + item->at, item->len}};
}

uint64_t sma_newest_dropped(const struct sma_newest *newest)
{
    return newest->dropped;
}

uint64_t sma_newest_bytes(const struct sma_newest *newest)
{
    return newest->cap * sizeof *newest->items + newest->byte_cap;
}
