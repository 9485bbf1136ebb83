/* rows.c — a row of the outbox in memory: its place in its chat, its change in this batch, its end.
 * See outbox.h. */
#include "outbox_priv.h"
#include "runtime/chat/state_read.h"
#include "store.h"

#include <stdlib.h>

int sma_store_adapter_of(const struct sma_store *store, const struct sma_route *route)
{
    struct sma_str home = sma_channel_home(route->channel);
    for (uint32_t i = 0; i < store->adapter_count; i++)
        if (sma_str_is_equal(sma_str(sma_adapter_channel(store->adapters[i].adapter)), home))
            return (int)i;
    return -1;
}

static void drop_row(struct sma_store *store, struct store_row *row)
{
    struct store_chat *chat = row->chat;
    *(row->prev != NULL ? &row->prev->next : &chat->first) = row->next;
    *(row->next != NULL ? &row->next->prev : &chat->last) = row->prev;
    chat->row_count--;
    store->outbox->open_count--;
    sma_store_unhold_row(store, row);
    sma_store_unset_row_aside(store, row);
    sma_store_map_remove(&store->outbox->rows, row->id);
    free(row);
}

struct store_row *sma_store_first_row(const struct store_chat *chat)
{
    struct store_row *row = chat->first;
    while (row != NULL &&
           (row->aside != 0 || (row->steps_aside && (row->due_ns != 0 || row->is_handed))))
        row = row->next;
    return row;
}

void sma_store_wait_for_credit(struct sma_store *store, struct store_chat *chat)
{
    const struct store_row *row = sma_store_first_row(chat);
    if (chat->is_credit_waiting || row == NULL)
        return;
    struct store_lane *lane = &store->outbox->lanes[row->adapter];
    chat->is_credit_waiting = true;
    chat->credit_next = NULL;
    if (lane->waiting_last != NULL)
        lane->waiting_last->credit_next = chat;
    else
        lane->waiting_first = chat;
    lane->waiting_last = chat;
}

enum sma_err sma_store_note_out(struct sma_store *store, const struct store_row *row,
                                enum store_out_change what)
{
    struct store_outbox *outbox = store->outbox;
    outbox->is_changed = true;
    if (!sma_store_grow(&outbox->changes, outbox->change_count, &outbox->change_cap,
                        sizeof *outbox->changes))
        return SMA_ERR_NOMEM;
    outbox->changes[outbox->change_count++] =
        (struct store_change){.id = row->id, .adapter = row->adapter, .what = (uint8_t)what};
    return SMA_ERR_OK;
}

enum sma_err sma_store_finish_row(struct sma_store *store, struct store_row *row)
{
    struct store_chat *chat = row->chat;
    SMA_TRY(sma_store_note_out(store, row, STORE_OUT_FINISHED));
    if (row->is_handed)
        store->outbox->lanes[row->adapter].credits++;
    drop_row(store, row);
    sma_store_wait_for_credit(store, chat); /* it may have stood in the way of the next one */
    return SMA_ERR_OK;
}

/* One that was begun before this start may have been seen: it is repeated, not called failed. */
bool sma_store_row_is_unseen(const struct store_row *row)
{
    return !row->is_handed && !row->is_repeat && !(row->out != NULL && row->out->is_attempted);
}

enum sma_err sma_store_give_up_row(struct sma_store *store, struct store_row *row)
{
    enum sma_err err =
        sma_state_outbox_fail(store->state, row->id, SMA_STR("stopped"), sma_ctx_wall(store->ctx));
    return err == SMA_ERR_OK ? sma_store_finish_row(store, row) : err;
}

void sma_store_unhold_row(struct sma_store *store, struct store_row *row)
{
    if (row->due_ns == 0)
        return;
    *(row->held_prev != NULL ? &row->held_prev->held_next : &store->outbox->held_first) =
        row->held_next;
    if (row->held_next != NULL)
        row->held_next->held_prev = row->held_prev;
    row->held_prev = row->held_next = NULL;
    row->due_ns = 0;
    store->outbox->held_count--;
}

void sma_store_unset_row_aside(struct sma_store *store, struct store_row *row)
{
    if (row->aside == 0)
        return;
    store->outbox->asides[row->aside - 1].deliveries--;
    store->outbox->aside_rows--;
    row->aside = 0;
}

struct store_outbox_counts sma_store_outbox_counts(const struct sma_store *store)
{
    const struct store_outbox *outbox = store->outbox;
    return (struct store_outbox_counts){.open = outbox->open_count - outbox->aside_rows,
                                        .held = outbox->held_count};
}
