/*
 * Runs that wait for a model.
 *
 * A STEP of kind WAIT parks its run until a time: the step, its deliveries, the row's state and the
 * time are one transaction. The row in state.db is the truth: it says when, by the wall clock, and
 * how long it was to be, so that a clock that was set back makes it no longer. While the program
 * runs, monotonic time counts. A run that is due stands at the head of its chat until a slot is
 * free; its row goes with the transaction that hands it out.
 */
#include "consent.h"
#include "map.h"
#include "outbox.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include <stdlib.h>

/* -- the list ---------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err add_wait(struct sma_store *store, struct store_chat *chat,
                                         const struct sma_state_wait *row)
{
    struct store_wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL || !sma_store_map_put(&store->runs->waits, row->run_seq, wait)) {
        free(wait);
        return SMA_ERR_NOMEM;
    }
    wait->seq = row->run_seq;
    wait->chat = chat;
    wait->due_ms = row->due_ms;
    wait->length_ms = row->length_ms;
    wait->prev = store->runs->wait_last;
    *(store->runs->wait_last != NULL ? &store->runs->wait_last->next : &store->runs->wait_first) =
        wait;
    store->runs->wait_last = wait;
    store->runs->wait_count++;
    chat->wait_count++;
    store->runs->wait_wake_ns = 0; /* when that is, is found with the end of the batch */
    return SMA_ERR_OK;
}

static void drop_wait(struct sma_store *store, struct store_wait *wait)
{
    *(wait->prev != NULL ? &wait->prev->next : &store->runs->wait_first) = wait->next;
    *(wait->next != NULL ? &wait->next->prev : &store->runs->wait_last) = wait->prev;
    store->runs->wait_count--;
    wait->chat->wait_count -= !wait->is_due;
    sma_store_map_remove(&store->runs->waits, wait->seq);
    free(wait);
}

bool sma_store_is_waiting_run(const struct sma_store *store, uint64_t seq)
{
    return sma_store_map_get(&store->runs->waits, seq) != NULL;
}

void sma_store_free_chat(struct sma_store *store, struct store_chat *chat)
{
    if (chat->run == NULL && sma_store_approval_of_chat(store, chat) == NULL &&
        chat->wait_count == 0 && !sma_store_is_aside(store, chat->state))
        sma_queue_finish(store->queue, chat->id);
}

enum sma_err sma_store_end_wait(struct sma_store *store, uint64_t seq)
{
    struct store_wait *wait = sma_store_map_get(&store->runs->waits, seq);
    if (wait == NULL)
        return SMA_ERR_OK;
    struct store_chat *chat = wait->chat;
    bool held_chat = !wait->is_due;
    drop_wait(store, wait);
    if (held_chat)
        sma_store_free_chat(store, chat);
    return sma_state_wait_remove(store->state, seq);
}

/* -- parking ----------------------------------------------------------------------------------- */
enum sma_err sma_store_wait_for_model(struct sma_store *store, struct store_run *run,
                                      const struct sma_step *step)
{
    const struct sma_state_wait row = {.run_seq = run->seq,
                                       .due_ms = sma_ctx_wall(store->ctx) + step->wait_ms,
                                       .length_ms = step->wait_ms};
    enum sma_err err = sma_state_wait_set(store->state, &row);
    if (err == SMA_ERR_OK)
        err = sma_store_park_rows(store, run);
    if (err == SMA_ERR_OK)
        err = sma_store_leave_run(store, run);
    run->end = STORE_END_WAITS;
    if (err == SMA_ERR_OK)
        err = add_wait(store, run->chat, &row);
    if (err == SMA_ERR_OK)
        SMA_METRIC_ADD(runs_waited_total, 1);
    return err;
}

/* -- time -------------------------------------------------------------------------------------- */
static void run_clock(struct sma_store *store, struct store_wait *wait, uint64_t now)
{
    if (wait->due_ns != 0)
        return;
    int64_t left_ms = wait->due_ms - sma_ctx_wall(store->ctx);
    left_ms = left_ms < 0 ? 0 : left_ms > wait->length_ms ? wait->length_ms : left_ms;
    wait->due_ns = now + (uint64_t)left_ms * SMA_NS_PER_MS;
}

enum sma_err sma_store_expire_waits(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx), wake = UINT64_MAX;
    if (store->runs->wait_first == NULL || store->is_draining || now < store->runs->wait_wake_ns)
        return SMA_ERR_OK;
    for (struct store_wait *at = store->runs->wait_first; at != NULL; at = at->next) {
        run_clock(store, at, now);
        if (at->is_due)
            continue;
        if (at->due_ns > now) {
            wake = at->due_ns < wake ? at->due_ns : wake;
            continue;
        }
        at->is_due = true;
        at->chat->wait_count--;
        sma_store_free_chat(store, at->chat);
        SMA_TRY(sma_queue_push_resumed(store->queue, at->chat->id, at->seq));
    }
    store->runs->wait_wake_ns = wake;
    return SMA_ERR_OK;
}

uint64_t sma_store_waits_wake(const struct sma_store *store)
{
    return store->runs->wait_first == NULL || store->is_draining ? UINT64_MAX
                                                                 : store->runs->wait_wake_ns;
}

/* -- /stop and /clear -------------------------------------------------------------------------- */
enum sma_err sma_store_cancel_waits(struct sma_store *store, struct store_chat *chat, uint64_t mark,
                                    uint32_t *count)
{
    if (chat->wait_count == 0)
        return SMA_ERR_OK;
    for (struct store_wait *at = store->runs->wait_first, *next; at != NULL; at = next) {
        next = at->next;
        if (at->chat != chat || at->is_due || at->seq >= mark)
            continue;
        SMA_TRY(sma_store_cancel_run(store, at->seq));
        (*count)++;
    }
    return SMA_ERR_OK;
}

/* -- reading the rows again -------------------------------------------------------------------- */
void sma_store_reset_waits(struct sma_store *store)
{
    while (store->runs->wait_first != NULL)
        drop_wait(store, store->runs->wait_first);
}

static enum sma_err load_wait(void *user, const struct sma_state_wait *row)
{
    struct sma_store *store = user;
    struct sma_state_head head;
    enum sma_err err = sma_state_head_get(store->state, row->run_seq, &head);
    if (err == SMA_ERR_NOTFOUND || (err == SMA_ERR_OK && head.state != SMA_ROW_PARKED))
        return SMA_ERR_OK; /* swept with the next start */
    if (err != SMA_ERR_OK)
        return err;
    struct sma_state_chat *state_chat = sma_state_chat_by_id(store->state, head.chat_id);
    if (state_chat == NULL)
        return SMA_ERR_OK; /* damaged: its run is left alone, and told, as one that is stuck */
    struct store_chat *chat = sma_store_chat(store, state_chat);
    return chat == NULL ? SMA_ERR_NOMEM : add_wait(store, chat, row);
}

enum sma_err sma_store_load_waits(struct sma_store *store)
{
    sma_store_reset_waits(store);
    return sma_state_each_wait(store->state, load_wait, store);
}

void sma_store_forget_waits(struct sma_store *store)
{
    sma_store_reset_waits(store);
    sma_store_map_fini(&store->runs->waits);
}
