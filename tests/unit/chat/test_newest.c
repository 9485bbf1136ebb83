/* Aim: of any number of ids the newest stay, in order, in bounded memory. Method: random times
 * against a sorted list. */
#include "runtime/chat/newest.h"
#include "support/check.h"

#include <stdlib.h>

#define COUNT 50000
#define KEPT 1000

static int64_t walls[COUNT];

static int newer_first(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x > *y ? -1 : *x < *y;
}

CASE(the_newest_stay_whatever_the_order)
{
    struct sma_newest *newest = NULL;
    CHECK_OK(sma_newest_create(KEPT, &newest));
    uint32_t state = 1;
    uint64_t bytes_max = 0;
    for (int i = 0; i < COUNT; i++) {
        char id[32];
        state = state * 1664525u + 1013904223u;
        walls[i] = (int64_t)(state >> 2); /* hardly two of one time */
        snprintf(id, sizeof id, "id-%lld", (long long)walls[i]);
        CHECK_OK(sma_newest_add(
            newest, &(struct sma_newest_item){.wall_ms = walls[i], .chat = 7, .id = sma_str(id)}));
        if (sma_newest_bytes(newest) > bytes_max)
            bytes_max = sma_newest_bytes(newest);
    }
    CHECK(bytes_max < 256 * 1024);
    CHECK_INT(KEPT, (long long)sma_newest_sort(newest));
    CHECK_INT(COUNT - KEPT, (long long)sma_newest_dropped(newest));
    qsort(walls, COUNT, sizeof walls[0], newer_first);
    for (size_t i = 0; i < KEPT; i++) {
        char id[32];
        struct sma_newest_item item = sma_newest_get(newest, i);
        CHECK_INT(walls[KEPT - 1 - i], item.wall_ms);
        snprintf(id, sizeof id, "id-%lld", (long long)item.wall_ms);
        CHECK_STR(id, item.id);
        CHECK_INT(7, item.chat);
    }
    sma_newest_destroy(newest);
}

CASE(fewer_than_fit_all_stay)
{
    struct sma_newest *newest = NULL;
    CHECK_OK(sma_newest_create(4, &newest));
    CHECK_INT(0, (long long)sma_newest_sort(newest));
    for (int i = 0; i < 4; i++)
        CHECK_OK(
            sma_newest_add(newest, &(struct sma_newest_item){.wall_ms = 5, .id = SMA_STR("")}));
    CHECK_INT(4, (long long)sma_newest_sort(newest));
    CHECK_INT(0, (long long)sma_newest_dropped(newest));
    CHECK_INT(5, sma_newest_get(newest, 3).wall_ms);
    sma_newest_destroy(newest);
}

CASES_MAIN
