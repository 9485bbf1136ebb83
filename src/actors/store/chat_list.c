/* chat_list.c — the answer to SMA_QUERY_CHATS: which chats there are, and what goes on in each. */
#include "consent.h"
#include "lists.h"
#include "query.h"
#include "store.h"

#include "sma/hooks.h"

#define SLICE_COUNT 32
#define DAY_MS INT64_C(86400000)

struct chats
{
    uint32_t below, count; /* the number of the last one; how many are in the list */
};
struct chat_facts
{
    struct sma_store *store;
    struct store_list *list;
};

/* Day and night of a chat without answers are known to the day. */
static int64_t active_ms(struct sma_store *store, const struct sma_state_chat *chat)
{
    int64_t answered_ms = 0, seen_ms = (int64_t)chat->seen_day * DAY_MS;
    if (sma_state_chat_answered(store->state, chat, &answered_ms) != SMA_ERR_OK)
        return seen_ms;
    return answered_ms > seen_ms ? answered_ms : seen_ms;
}

static enum sma_err put_chat(void *user, struct sma_state_chat *chat)
{
    struct chat_facts *facts = user;
    struct sma_store *store = facts->store;
    struct sma_buf *json = &facts->list->json;
    struct chats *own = facts->list->own;
    const struct store_chat *live = chat->user;
    own->below = chat->id;
    if (sma_hook_is_channel(chat->channel))
        return SMA_ERR_OK; /* nobody talks there */
    sma_buf_put_text(json, own->count++ == 0 ? "{" : ",{");
    sma_buf_put_json_member(json, "chatKey", chat->key);
    sma_buf_put_json_member(json, "platform", chat->channel);
    sma_buf_put_json_key(json, "lastActiveAt");
    sma_buf_put_char(json, '"');
    sma_buf_put_iso_time(json, active_ms(store, chat));
    sma_buf_put_char(json, '"');
    sma_buf_put_json_number(json, "waiting", sma_queue_chat_waiting(store->queue, chat->id));
    sma_buf_put_json_number(json, "waitingForModel", live == NULL ? 0 : live->wait_count);
    sma_buf_put_json_number(json, "approvals", live == NULL ? 0 : live->approval_count);
    sma_buf_put_json_number(json, "undelivered", live == NULL ? 0 : live->row_count);
    sma_buf_put_json_key(json, "isRunning");
    sma_buf_put_text(json, live != NULL && live->run != NULL ? "true}" : "false}");
    return json->err;
}

static void begin(struct sma_store *store, struct store_list *list)
{
    const struct sma_query *asked = sma_store_list_asked(list);
    struct chats *own = list->own;
    (void)store;
    /* What is above the largest number that there can be is all of them. */
    own->below = asked->before > UINT32_MAX / 2 ? 0 : (uint32_t)asked->before;
    sma_buf_put_text(&list->json, "{\"chats\":[");
}

/* There are more below: their reader says this number. */
static enum sma_err put_next(void *user, struct sma_state_chat *chat)
{
    const struct chat_facts *facts = user;
    (void)chat;
    sma_buf_put_text(&facts->list->json, "],\"next\":");
    sma_buf_printf(&facts->list->json, "\"%u\"}", ((struct chats *)facts->list->own)->below);
    return SMA_ERR_OK;
}

static bool step(struct sma_store *store, struct store_list *list)
{
    struct chat_facts facts = {.store = store, .list = list};
    struct chats *own = list->own;
    const uint32_t limit = sma_store_list_asked(list)->limit;
    for (uint32_t i = 0; i < SLICE_COUNT && own->count < limit; i++) {
        enum sma_err err = sma_state_chat_below(store->state, own->below, put_chat, &facts);
        if (err == SMA_ERR_OK)
            continue;
        /* One that cannot be read ends the list: what was read is true. */
        sma_buf_put_text(&list->json, err == SMA_ERR_NOTFOUND ? "]}" : "],\"isCut\":true}");
        return true;
    }
    if (own->count < limit)
        return false;
    if (sma_state_chat_below(store->state, own->below, put_next, &facts) != SMA_ERR_OK)
        sma_buf_put_text(&list->json, "]}");
    return true;
}

const struct store_list_kind sma_store_list_of_chats = {
    .own_bytes = sizeof(struct chats), .begin = begin, .step = step};
