/*
 * Lists that somebody asks for, requests, permissions and usage, in slices between batches: nobody's answer waits for them.
 * Several are made one after the other. What ends meanwhile may be missing or still be in it; nothing is twice.
 */
#include "consent.h"
#include "consent_priv.h"
#include "runs.h"
#include "store.h"

#include "runtime/approval/consent.h"

#include <stdlib.h>

#define LIST_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define GRANT_SLICE_COUNT 256

struct store_list
{
    struct store_list *next;
    struct sma_msg *question;
    struct sma_buf json;
    uint64_t *runs; /* of the requests: those that were open when it began */
    uint32_t run_count, run_at;
    uint64_t grant_at; /* of the permissions: the last one that was looked at */
    struct store_usage_sum *usage;
    bool has_begun, has_item, is_cut;
};

static bool is_of_usage(const struct store_list *list)
{
    return SMA_MSG_BODY(list->question, struct sma_query)->kind == SMA_QUERY_USAGE;
}

static bool is_of_grants(const struct store_list *list)
{
    return SMA_MSG_BODY(list->question, struct sma_query)->kind == SMA_QUERY_GRANTS;
}

static struct sma_str wanted_chat(const struct store_list *list)
{
    return SMA_MSG_BODY(list->question, struct sma_query)->chat_key;
}

/* -- requests --------------------------------------------------------------------------------------------------- */
static void note_runs(struct sma_store *store, struct store_list *list)
{
    struct sma_str key = wanted_chat(list);
    const struct sma_state_chat *chat = key.len > 0 ? sma_state_chat_get(store->state, key) : NULL;
    list->runs = calloc(store->consent->count + 1, sizeof *list->runs);
    sma_store_need(store, list->runs != NULL);
    for (const struct store_approval *at = store->consent->first; at != NULL; at = at->next)
        if (key.len == 0 || at->chat->state == chat)
            list->runs[list->run_count++] = at->seq;
}

static void put_item(struct store_list *list, const struct sma_buf *one)
{
    if (one->len == 0)
        return;
    list->is_cut = one->err != SMA_ERR_OK || list->json.len + one->len + 64 > LIST_BYTES_MAX;
    if (list->is_cut)
        return;
    if (list->has_item)
        sma_buf_put_char(&list->json, ',');
    list->has_item = true;
    sma_buf_put_str(&list->json, sma_buf_str(one));
}

/* One of them. @return none is left */
static bool put_request(struct sma_store *store, struct store_list *list)
{
    if (list->run_at == list->run_count)
        return true;
    struct store_approval *approval = sma_store_approval_of_run(store, list->runs[list->run_at++]);
    struct store_case it;
    if (approval == NULL || sma_store_case_open(store, approval, &it) != SMA_ERR_OK)
        return false;
    struct sma_buf one;
    sma_buf_init(&one, LIST_BYTES_MAX);
    sma_store_put_case(&it, &one);
    sma_store_case_fini(&it);
    put_item(list, &one);
    sma_buf_fini(&one);
    return list->is_cut;
}

/* -- permissions ------------------------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err read_grants(struct sma_store *store, struct store_list *list,
                                            struct sma_state_rows *rows,
                                            struct sma_state_grants *ret_grants)
{
    struct sma_str key = wanted_chat(list);
    if (key.len > 0)
        return sma_state_grants_read(store->state, sma_state_chat_get(store->state, key), rows,
                                     ret_grants);
    return sma_state_grants_next(store->state, list->grant_at, GRANT_SLICE_COUNT, rows, ret_grants);
}

/* Some of them. @return none is left; what cannot be read ends the list */
static bool put_grants(struct sma_store *store, struct store_list *list)
{
    struct sma_state_rows rows = {0};
    struct sma_state_grants grants = {NULL, 0};
    struct sma_buf one;
    int64_t now_ms = sma_ctx_wall(store->ctx);
    enum sma_err err = read_grants(store, list, &rows, &grants);
    sma_buf_init(&one, LIST_BYTES_MAX);
    for (size_t i = 0; err == SMA_ERR_OK && i < grants.count && !list->is_cut; i++) {
        const struct sma_state_grant *at = &grants.items[i];
        list->grant_at = at->seq;
        if (at->is_damaged || !sma_grant_holds(at->created_ms, at->until_ms, now_ms))
            continue;
        sma_buf_clear(&one);
        sma_store_put_grant(&one, at);
        put_item(list, &one);
    }
    bool is_over = err != SMA_ERR_OK || list->is_cut || wanted_chat(list).len > 0 ||
                   grants.count < GRANT_SLICE_COUNT;
    sma_buf_fini(&one);
    sma_state_rows_free(&rows);
    return is_over;
}

/* -- slices ----------------------------------------------------------------------------------------------------- */
static void begin(struct sma_store *store, struct store_list *list)
{
    list->has_begun = true;
    sma_buf_init(&list->json, LIST_BYTES_MAX + 64);
    if (is_of_usage(list)) {
        list->usage = sma_store_usage_begin(store, SMA_MSG_BODY(list->question, struct sma_query));
        return;
    }
    sma_buf_put_text(&list->json, is_of_grants(list) ? "{\"grants\":[" : "{\"approvals\":[");
    if (!is_of_grants(list))
        note_runs(store, list);
}

/* @return nothing is left */
static bool put_some(struct sma_store *store, struct store_list *list)
{
    if (is_of_usage(list))
        return sma_store_usage_next(store, list->usage);
    return is_of_grants(list) ? put_grants(store, list) : put_request(store, list);
}

static void free_list(struct store_list *list)
{
    sma_msg_destroyp(&list->question);
    sma_buf_fini(&list->json);
    sma_store_usage_end(list->usage);
    free(list->runs);
    free(list);
}

static void answer(struct sma_store *store, struct store_list *list)
{
    if (is_of_usage(list))
        sma_store_usage_put(store, &list->json, list->usage);
    else
        sma_buf_put_text(&list->json, list->is_cut ? "],\"isCut\":true}" : "]}");
    struct sma_str json = list->json.err == SMA_ERR_OK ? sma_buf_str(&list->json) : SMA_STR("{}");
    struct sma_msg *msg = STORE_MSG(store, QUERY_RESULT, struct sma_query_result, json.len + 1);
    SMA_MSG_BODY(msg, struct sma_query_result)->json = sma_msg_dup(msg, json);
    sma_ctx_answer(store->ctx, list->question, &msg);
}

void sma_store_list(struct sma_store *store, struct sma_msg **question)
{
    struct store_list *list = calloc(1, sizeof *list);
    sma_store_need(store, list != NULL);
    list->question = *question;
    *question = NULL;
    struct store_list **link = &store->consent->lists;
    while (*link != NULL)
        link = &(*link)->next;
    *link = list;
}

void sma_store_list_slice(struct sma_store *store, uint64_t budget_ns)
{
    uint64_t begun = store->sys->now_ns(store->sys->self);
    /* Stopping: everybody gets an answer. */
    while (store->consent->lists != NULL &&
           (store->is_draining || store->sys->now_ns(store->sys->self) - begun < budget_ns)) {
        struct store_list *list = store->consent->lists;
        if (!list->has_begun)
            begin(store, list);
        if (!put_some(store, list))
            continue;
        answer(store, list);
        store->consent->lists = list->next;
        free_list(list);
    }
}

void sma_store_drop_lists(struct sma_store *store)
{
    while (store->consent->lists != NULL) {
        struct store_list *list = store->consent->lists;
        store->consent->lists = list->next;
        free_list(list);
    }
}
