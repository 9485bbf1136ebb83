/* Lists that somebody asks for: a request, so many permissions, or a day of usage at a time. */
#include "consent.h"
#include "consent_priv.h"
#include "lists.h"
#include "runs.h"
#include "store.h"

#include "runtime/approval/consent.h"

#include <stdlib.h>

#define GRANT_SLICE_COUNT 256

struct requests
{
    uint64_t *runs; /* those that were open when it began */
    uint32_t run_count, run_at;
    bool has_item, is_cut;
};
struct grants
{
    uint64_t at; /* the last one that was looked at */
    bool has_item, is_cut;
};

/* *has_item, *is_cut: of the list so far. */
static void put_item(struct sma_buf *json, const struct sma_buf *one, bool *has_item, bool *is_cut)
{
    if (one->len == 0)
        return;
    *is_cut = one->err != SMA_ERR_OK || json->len + one->len + 64 > STORE_LIST_BYTES_MAX;
    if (*is_cut)
        return;
    if (*has_item)
        sma_buf_put_char(json, ',');
    *has_item = true;
    sma_buf_put_str(json, sma_buf_str(one));
}

static void put_end(struct sma_buf *json, bool is_cut)
{
    sma_buf_put_text(json, is_cut ? "],\"isCut\":true}" : "]}");
}

/* -- requests ---------------------------------------------------------------------------------- */
static void begin_requests(struct sma_store *store, struct store_list *list)
{
    struct requests *own = list->own;
    struct sma_str key = sma_store_list_asked(list)->chat_key;
    const struct sma_state_chat *chat = key.len > 0 ? sma_state_chat_get(store->state, key) : NULL;
    sma_buf_put_text(&list->json, "{\"approvals\":[");
    own->runs = calloc(store->consent->count + 1, sizeof *own->runs);
    sma_store_need(store, own->runs != NULL);
    for (const struct store_approval *at = store->consent->first; at != NULL; at = at->next)
        if (key.len == 0 || at->chat->state == chat)
            own->runs[own->run_count++] = at->seq;
}

/* One of them. */
static bool put_request(struct sma_store *store, struct store_list *list)
{
    struct requests *own = list->own;
    if (own->run_at == own->run_count || own->is_cut) {
        put_end(&list->json, own->is_cut);
        return true;
    }
    struct store_approval *approval = sma_store_approval_of_run(store, own->runs[own->run_at++]);
    struct store_case it;
    if (approval == NULL || sma_store_case_open(store, approval, &it) != SMA_ERR_OK)
        return false;
    struct sma_buf one;
    sma_buf_init(&one, STORE_LIST_BYTES_MAX);
    sma_store_put_case(&it, &one);
    sma_store_case_fini(&it);
    put_item(&list->json, &one, &own->has_item, &own->is_cut);
    sma_buf_fini(&one);
    return false;
}

static void end_requests(struct store_list *list)
{
    free(((struct requests *)list->own)->runs);
}

const struct store_list_kind sma_store_list_of_requests = {.own_bytes = sizeof(struct requests),
                                                           .begin = begin_requests,
                                                           .step = put_request,
                                                           .fini = end_requests};

/* -- permissions ------------------------------------------------------------------------------- */
static void begin_grants(struct sma_store *store, struct store_list *list)
{
    (void)store;
    sma_buf_put_text(&list->json, "{\"grants\":[");
}

static SMA_CHECKED enum sma_err read_grants(struct sma_store *store, const struct store_list *list,
                                            struct sma_state_rows *rows,
                                            struct sma_state_grants *ret_grants)
{
    struct sma_str key = sma_store_list_asked(list)->chat_key;
    const struct grants *own = list->own;
    if (key.len > 0)
        return sma_state_grants_read(store->state, sma_state_chat_get(store->state, key), rows,
                                     ret_grants);
    return sma_state_grants_next(store->state, own->at, GRANT_SLICE_COUNT, rows, ret_grants);
}

/* Some of them; what cannot be read ends the list. */
static bool put_grants(struct sma_store *store, struct store_list *list)
{
    struct grants *own = list->own;
    struct sma_state_rows rows = {0};
    struct sma_state_grants grants = {NULL, 0};
    struct sma_buf one;
    int64_t now_ms = sma_ctx_wall(store->ctx);
    enum sma_err err = read_grants(store, list, &rows, &grants);
    sma_buf_init(&one, STORE_LIST_BYTES_MAX);
    for (size_t i = 0; err == SMA_ERR_OK && i < grants.count && !own->is_cut; i++) {
        const struct sma_state_grant *at = &grants.items[i];
        own->at = at->seq;
        if (at->is_damaged || !sma_grant_holds(at->created_ms, at->until_ms, now_ms))
            continue;
        sma_buf_clear(&one);
        sma_store_put_grant(&one, at);
        put_item(&list->json, &one, &own->has_item, &own->is_cut);
    }
    bool is_over = err != SMA_ERR_OK || own->is_cut ||
                   sma_store_list_asked(list)->chat_key.len > 0 || grants.count < GRANT_SLICE_COUNT;
    if (is_over)
        put_end(&list->json, own->is_cut);
    sma_buf_fini(&one);
    sma_state_rows_free(&rows);
    return is_over;
}

const struct store_list_kind sma_store_list_of_grants = {
    .own_bytes = sizeof(struct grants), .begin = begin_grants, .step = put_grants};

/* -- usage ------------------------------------------------------------------------------------- */
struct usage
{
    struct store_usage_sum *sum;
};

static void begin_usage(struct sma_store *store, struct store_list *list)
{
    ((struct usage *)list->own)->sum = sma_store_usage_begin(store, sma_store_list_asked(list));
}

static bool put_usage(struct sma_store *store, struct store_list *list)
{
    struct store_usage_sum *sum = ((struct usage *)list->own)->sum;
    bool is_whole = sma_store_usage_next(store, sum);
    if (is_whole)
        sma_store_usage_put(store, &list->json, sum);
    return is_whole;
}

static void end_usage(struct store_list *list)
{
    sma_store_usage_end(((struct usage *)list->own)->sum);
}

const struct store_list_kind sma_store_list_of_usage = {
    .own_bytes = sizeof(struct usage), .begin = begin_usage, .step = put_usage, .fini = end_usage};
