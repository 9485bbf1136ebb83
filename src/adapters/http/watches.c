/* watches.c — the runs that connections wait for: one open AWAIT a run. */
#include "http_priv.h"

uint32_t http_watch_find(const struct sma_http *http, uint64_t seq)
{
    uint32_t watch = http->watch_buckets[seq % HTTP_BUCKET_COUNT];
    while (watch != HTTP_NONE && http->watches[watch].seq != seq)
        watch = http->watches[watch].next;
    return watch;
}

bool http_watch_has_room(const struct sma_http *http)
{
    return http->free_watch != HTTP_NONE;
}

uint32_t http_watch_create(struct sma_http *http, uint64_t seq)
{
    uint32_t watch = http->free_watch;
    if (watch == HTTP_NONE)
        return HTTP_NONE;
    http->free_watch = http->watches[watch].next;
    uint32_t *bucket = &http->watch_buckets[seq % HTTP_BUCKET_COUNT];
    http->watches[watch] =
        (struct http_watch){.seq = seq, .first_conn = HTTP_NONE, .next = *bucket};
    *bucket = watch;
    http->watch_count++;
    return watch;
}

void http_watch_destroy(struct sma_http *http, uint32_t watch)
{
    uint32_t *link = &http->watch_buckets[http->watches[watch].seq % HTTP_BUCKET_COUNT];
    while (*link != watch) {
        SMA_ASSERT(*link != HTTP_NONE);
        link = &http->watches[*link].next;
    }
    SMA_ASSERT(http->watches[watch].first_conn == HTTP_NONE);
    http_tale_destroy(http->watches[watch].tale);
    http->watches[watch].tale = NULL;
    *link = http->watches[watch].next;
    http->watches[watch].next = http->free_watch;
    http->free_watch = watch;
    http->watch_count--;
}

bool http_watch_is_behind(const struct http_conn *conn)
{
    return conn->watch != HTTP_NONE && conn->server->watches[conn->watch].is_behind;
}

void http_watch_leave(struct http_conn *conn)
{
    struct sma_http *http = conn->server;
    if (conn->watch == HTTP_NONE)
        return;
    if (conn->watch_previous == HTTP_NONE)
        http->watches[conn->watch].first_conn = conn->watch_next;
    else
        http->conns[conn->watch_previous]->watch_next = conn->watch_next;
    if (conn->watch_next != HTTP_NONE)
        http->conns[conn->watch_next]->watch_previous = conn->watch_previous;
    conn->watch = conn->watch_next = conn->watch_previous = HTTP_NONE;
}
