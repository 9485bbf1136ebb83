/* holds.c — messages that wait in their place for something: a question to their adapter, a
 * judgement. See intake_priv.h. */
#include "intake_priv.h"
#include "outbox.h"
#include "store.h"

#include <stdlib.h>

static struct store_questions *list_of(struct sma_store *store,
                                       const struct store_question *question)
{
    struct store_desk *desk = &store->intake->desks[question->adapter];
    if (question->is_damaged)
        return &store->intake->damaged;
    return question->ask_id != 0 ? &desk->asked : &desk->unasked;
}

void sma_store_question_link(struct sma_store *store, struct store_question *question)
{
    struct store_questions *list = list_of(store, question);
    question->prev = list->last;
    question->next = NULL;
    *(list->last != NULL ? &list->last->next : &list->first) = question;
    list->last = question;
    list->count++;
}

void sma_store_question_unlink(struct sma_store *store, struct store_question *question)
{
    struct store_questions *list = list_of(store, question);
    *(question->prev != NULL ? &question->prev->next : &list->first) = question->next;
    *(question->next != NULL ? &question->next->prev : &list->last) = question->prev;
    list->count--;
}

static uint64_t now_or_unknown(const struct sma_store *store)
{
    return store->ctx != NULL ? sma_ctx_now(store->ctx) : 0;
}

static void set_place(struct store_question *question, struct store_chat *chat,
                      struct store_group *group, bool is_control)
{
    question->chat = chat;
    question->group = group;
    question->is_control = is_control;
    question->is_seen = true;
    chat->held_count++;
    if (group != NULL)
        group->question_count++;
}

enum sma_err sma_store_hold(struct sma_store *store, struct store_chat *chat, uint64_t seq,
                            const struct sma_route *route, struct store_group *group,
                            bool is_control)
{
    struct store_question *known = sma_store_map_get(&store->intake->questions, seq);
    if (known != NULL) { /* asked before the queue was read again */
        set_place(known, chat, group, is_control);
        return SMA_ERR_OK;
    }
    int adapter = sma_store_adapter_of(store, route);
    struct store_question *question = calloc(1, sizeof *question);
    if (question == NULL || !sma_store_map_put(&store->intake->questions, seq, question)) {
        free(question);
        return SMA_ERR_NOMEM;
    }
    question->seq = seq;
    question->since_ns = now_or_unknown(store);
    question->adapter = (uint8_t)(adapter < 0 ? SMA_ADAPTER_COUNT_MAX : adapter);
    set_place(question, chat, group, is_control);
    sma_store_question_link(store, question);
    return SMA_ERR_OK;
}

void sma_store_question_remove(struct sma_store *store, struct store_question *question)
{
    sma_store_question_unlink(store, question);
    sma_store_map_remove(&store->intake->questions, question->seq);
    if (question->chat != NULL)
        question->chat->held_count--;
    if (question->group != NULL)
        question->group->question_count--;
    free(question);
}

/* The album ends before its pieces are prepared: their questions go on alone, until each is
 * released itself. */
static void leave_group(struct sma_store *store, struct store_group *group)
{
    for (uint32_t i = 0; i <= SMA_ADAPTER_COUNT_MAX; i++) {
        struct store_question *lists[] = {store->intake->desks[i].asked.first,
                                          store->intake->desks[i].unasked.first,
                                          store->intake->damaged.first};
        for (size_t k = 0; k < SMA_COUNT_OF(lists); k++)
            for (struct store_question *at = lists[k]; at != NULL; at = at->next)
                if (at->group == group)
                    at->group = NULL;
    }
    group->question_count = 0;
}

void sma_store_release(struct sma_store *store, uint64_t seq)
{
    struct store_question *question = sma_store_map_get(&store->intake->questions, seq);
    if (question != NULL)
        sma_store_question_remove(store, question);
    struct store_group *group = sma_store_group_of_leader(store, seq);
    if (group == NULL)
        return;
    if (group->question_count > 0)
        leave_group(store, group);
    sma_store_group_drop(store, group);
}
