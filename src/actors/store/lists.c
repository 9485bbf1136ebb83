/* Answers that are made in slices: who is next, and when a slice is over. */
#include "lists.h"
#include "query_priv.h"

#include <stdlib.h>

const struct sma_query *sma_store_list_asked(const struct store_list *list)
{
    return SMA_MSG_BODY(list->question, struct sma_query);
}

void sma_store_list(struct sma_store *store, struct sma_msg **question,
                    const struct store_list_kind *kind)
{
    struct store_list *list = calloc(1, sizeof *list);
    void *own = calloc(1, kind->own_bytes);
    sma_store_need(store, list != NULL && own != NULL);
    *list = (struct store_list){.kind = kind, .question = *question, .own = own};
    *question = NULL;
    struct store_list **link = &store->query->lists;
    while (*link != NULL)
        link = &(*link)->next;
    *link = list;
}

static void free_first(struct sma_store *store)
{
    struct store_list *list = store->query->lists;
    store->query->lists = list->next;
    if (list->has_begun && list->kind->fini != NULL)
        list->kind->fini(list);
    sma_msg_destroyp(&list->question);
    sma_buf_fini(&list->json);
    free(list->own);
    free(list);
}

static void answer(struct sma_store *store, struct store_list *list)
{
    const struct sma_query_result result = {
        .json = list->json.err == SMA_ERR_OK ? sma_buf_str(&list->json) : SMA_STR("{}")};
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_query_result(&result));
    sma_ctx_answer(store->ctx, list->question, &msg);
}

void sma_store_list_slice(struct sma_store *store, uint64_t budget_ns)
{
    uint64_t begun = store->sys->now_ns(store->sys->self);
    /* Stopping: everybody gets an answer. */
    while (store->query->lists != NULL &&
           (store->is_draining || store->sys->now_ns(store->sys->self) - begun < budget_ns)) {
        struct store_list *list = store->query->lists;
        if (!list->has_begun) {
            list->has_begun = true;
            sma_buf_init(&list->json, STORE_LIST_BYTES_MAX + 64);
            list->kind->begin(store, list);
        }
        if (!list->kind->step(store, list))
            continue;
        answer(store, list);
        free_first(store);
    }
}

void sma_store_drop_lists(struct sma_store *store)
{
    while (store->query->lists != NULL)
        free_first(store);
}
