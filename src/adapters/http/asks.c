/* asks.c — the two tables behind every open question: pending by ask id, watch by run. Fixed pools,
 * no allocation. */
#include "http_priv.h"

#include <stdlib.h>

enum sma_err http_tables_create(struct sma_http *http)
{
    http->pendings = calloc(HTTP_PENDING_COUNT_MAX, sizeof *http->pendings);
    http->pending_buckets = malloc(HTTP_BUCKET_COUNT * sizeof *http->pending_buckets);
    http->watches = calloc(SMA_ASK_AWAIT_COUNT_MAX, sizeof *http->watches);
    http->watch_buckets = malloc(HTTP_BUCKET_COUNT * sizeof *http->watch_buckets);
    if (http->pendings == NULL || http->pending_buckets == NULL || http->watches == NULL ||
        http->watch_buckets == NULL)
        return SMA_ERR_NOMEM;
    http->free_pending = HTTP_NONE;
    for (uint32_t i = 0; i < SMA_ASK_AWAIT_COUNT_MAX; i++)
        http->watches[i].next = i + 1 == SMA_ASK_AWAIT_COUNT_MAX ? HTTP_NONE : i + 1;
    for (uint32_t i = 0; i < HTTP_BUCKET_COUNT; i++)
        http->pending_buckets[i] = http->watch_buckets[i] = HTTP_NONE;
    return SMA_ERR_OK;
}

void http_tables_destroy(struct sma_http *http)
{
    for (uint32_t i = 0; http->watches != NULL && i < SMA_ASK_AWAIT_COUNT_MAX; i++)
        http_tale_destroy(http->watches[i].tale);
    free(http->pendings);
    free(http->pending_buckets);
    free(http->watches);
    free(http->watch_buckets);
}

/* Begins or changes something: what has to be over before the service goes. */
static bool is_work(enum http_ask kind)
{
    return kind == HTTP_ASK_INGRESS || kind == HTTP_ASK_DECIDE || kind == HTTP_ASK_SAY;
}

static uint32_t take_place(struct sma_http *http)
{
    uint32_t index = http->free_pending;
    if (index == HTTP_NONE)
        return http->pending_used++;
    http->free_pending = http->pendings[index].next;
    return index;
}

/* `like` gives what is to be known of the question; ask_id (for the caller, too) and next are
 * filled in. */
static enum sma_err ask(struct sma_http *http, struct http_pending *like, uint64_t deadline_ns,
                        struct sma_msg **msg)
{
    if (http->free_pending == HTTP_NONE && http->pending_used == HTTP_PENDING_COUNT_MAX)
        return SMA_ERR_FULL;
    enum sma_err err =
        sma_ctx_ask(http->ctx, (enum sma_actor_id)like->to, msg, deadline_ns, &like->ask_id);
    if (err != SMA_ERR_OK)
        return err;
    uint32_t index = take_place(http);
    uint32_t *bucket = &http->pending_buckets[like->ask_id % HTTP_BUCKET_COUNT];
    like->next = *bucket;
    http->pendings[index] = *like;
    *bucket = index;
    return SMA_ERR_OK;
}

enum sma_err http_ask_adapter(struct http_conn *conn, struct http_webhook *webhook,
                              uint64_t body_bytes, struct sma_msg **msg)
{
    struct sma_http *http = conn->server;
    struct http_pending like = {.seq = body_bytes,
                                .conn = conn->index,
                                .generation = conn->generation,
                                .kind = HTTP_ASK_WEBHOOK,
                                .to = (uint8_t)webhook->actor};
    uint64_t deadline_ns = http_now(http) + http->webhook_deadline_ns;
    conn->webhook_ask_id = 0;
    SMA_TRY(ask(http, &like, deadline_ns, msg));
    conn->webhook_ask_id = like.ask_id;
    webhook->open_bytes += body_bytes;
    http_conn_deadline(conn, deadline_ns);
    return SMA_ERR_OK;
}

enum sma_err http_ask_store(struct sma_http *http, enum http_ask kind, const struct http_conn *conn,
                            uint64_t seq, struct sma_msg **msg)
{
    struct http_pending like = {.seq = seq,
                                .conn = conn == NULL ? HTTP_NONE : conn->index,
                                .generation = conn == NULL ? 0 : conn->generation,
                                .kind = kind,
                                .to = SMA_ACTOR_STORE};
    SMA_TRY(ask(http, &like, 0, msg));
    if (is_work(kind))
        http->pending_ingress_count++;
    return SMA_ERR_OK;
}

enum sma_err http_pending_take(struct sma_http *http, uint64_t ask_id,
                               struct http_pending *ret_pending)
{
    uint32_t *link = &http->pending_buckets[ask_id % HTTP_BUCKET_COUNT];
    while (*link != HTTP_NONE && http->pendings[*link].ask_id != ask_id)
        link = &http->pendings[*link].next;
    if (*link == HTTP_NONE)
        return SMA_ERR_NOTFOUND;
    uint32_t index = *link;
    struct http_pending *pending = &http->pendings[index];
    *link = pending->next;
    *ret_pending = *pending;
    pending->next = http->free_pending;
    http->free_pending = index;
    if (is_work(ret_pending->kind))
        http->pending_ingress_count--;
    return SMA_ERR_OK;
}
