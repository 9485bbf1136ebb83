/* run_table.c — the runs in memory, and the messages whose run is another's. See runs.h. */
#include "consent.h"
#include "outbox.h"
#include "runs_priv.h"
#include "store.h"
#include "trouble.h"

#include <stdlib.h>

struct store_run *sma_store_run_find(struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->runs->open_count; i++)
        if (store->runs->entries[i]->seq == seq)
            return store->runs->entries[i];
    return NULL;
}

enum sma_err sma_store_add_collected(struct sma_store *store, uint64_t run_seq, uint64_t seq)
{
    if (!sma_store_grow(&store->runs->orphans, store->runs->orphan_count, &store->runs->orphan_cap,
                        sizeof *store->runs->orphans))
        return SMA_ERR_NOMEM;
    store->runs->orphans[store->runs->orphan_count++] =
        (struct store_collected){.run_seq = run_seq, .seq = seq};
    return SMA_ERR_OK;
}

uint32_t sma_store_count_collected(const struct sma_store *store, uint64_t run_seq)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->runs->orphan_count; i++)
        count += store->runs->orphans[i].run_seq == run_seq;
    return count;
}

bool sma_store_next_collected(const struct sma_store *store, uint64_t run_seq, uint32_t *place,
                              uint64_t *ret_seq)
{
    const struct store_runs *runs = store->runs;
    while (*place < runs->orphan_count) {
        const struct store_collected *orphan = &runs->orphans[(*place)++];
        if (orphan->run_seq != run_seq)
            continue;
        *ret_seq = orphan->seq;
        return true;
    }
    return false;
}

bool sma_store_take_collected(struct sma_store *store, uint64_t run_seq, uint64_t *ret_seq)
{
    for (uint32_t i = 0; i < store->runs->orphan_count; i++) {
        struct store_collected *orphan = &store->runs->orphans[i];
        if (orphan->run_seq != run_seq)
            continue;
        *ret_seq = orphan->seq;
        memmove(orphan, orphan + 1, (--store->runs->orphan_count - i) * sizeof *orphan);
        return true;
    }
    return false;
}

void sma_store_drop_collected(struct sma_store *store, uint64_t seq)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < store->runs->orphan_count; i++)
        if (store->runs->orphans[i].seq != seq)
            store->runs->orphans[kept++] = store->runs->orphans[i];
    store->runs->orphan_count = kept;
}

void sma_store_publish_runs(struct sma_store *store)
{
    SMA_METRIC_SET(inbox_waiting, sma_queue_waiting(store->queue));
    SMA_METRIC_SET(runs_open, store->runs->open_count);
    SMA_METRIC_SET(outbox_open, sma_store_outbox_counts(store).open);
    SMA_METRIC_SET(runs_waiting_for_model, store->runs->wait_count);
    SMA_METRIC_SET(claims, (int64_t)sma_state_claim_count(store->state));
}

void sma_store_set_cautious(struct sma_store *store, bool is_cautious)
{
    store->runs->is_cautious = is_cautious;
}

void sma_store_free_kept_runs(struct sma_store *store)
{
    while (store->runs->kept != NULL) {
        struct store_run *run = store->runs->kept;
        store->runs->kept = run->next;
        free(run);
    }
}

bool sma_store_is_stuck(const struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->runs->stuck_count; i++)
        if (store->runs->stuck[i] == seq)
            return true;
    return false;
}

void sma_store_set_stuck(struct sma_store *store, uint64_t seq, struct sma_str chat_key,
                         const char *why)
{
    char what[300];
    if (sma_store_is_stuck(store, seq) ||
        !sma_store_grow(&store->runs->stuck, store->runs->stuck_count, &store->runs->stuck_cap,
                        sizeof seq))
        return;
    store->runs->stuck[store->runs->stuck_count++] = seq;
    snprintf(what, sizeof what, "message %llu cannot be read (%s): it is left alone",
             (unsigned long long)seq, why);
    sma_store_trouble(store, &(struct store_trouble){
                                 .name = "unreadable message",
                                 .chat_key = chat_key,
                                 .what = what,
                                 .remedy = "state.db is damaged: look at the disk; to begin anew, "
                                           "stop the service and move state.db away"});
}

/* Another open run of the same chat; only after two chats became one. */
static struct store_run *find_other_run(struct sma_store *store, struct store_chat *chat)
{
    for (uint32_t i = 0; i < store->runs->open_count; i++)
        if (store->runs->entries[i]->chat == chat)
            return store->runs->entries[i];
    chat->has_two_runs = false;
    return NULL;
}

void sma_store_run_end(struct sma_store *store, struct store_run *run)
{
    struct store_runs *runs = store->runs;
    struct store_chat *chat = run->chat;
    uint32_t place = 0;
    while (runs->entries[place] != run)
        SMA_ASSERT(++place < runs->open_count);
    memmove(&runs->entries[place], &runs->entries[place + 1],
            (--runs->open_count - place) * sizeof run);
    sma_store_need(store, sma_store_grow(&runs->ended, runs->ended_count, &runs->ended_cap,
                                         sizeof(struct store_run *)));
    runs->ended[runs->ended_count++] = run;
    chat->run = chat->has_two_runs ? find_other_run(store, chat) : NULL;
    if (chat->run == NULL)
        sma_queue_finish(store->queue, chat->id);
}

enum sma_err sma_store_leave_run(struct sma_store *store, struct store_run *run)
{
    sma_store_run_end(store, run);
    return sma_queue_hold(store->queue, run->chat->id, 0);
}

enum sma_err sma_store_park_rows(struct sma_store *store, struct store_run *run)
{
    enum sma_err err = sma_state_set_row_state(store->state, run->seq, SMA_ROW_PARKED);
    for (uint32_t i = 0; i < run->collected_count && err == SMA_ERR_OK; i++) {
        err = sma_state_set_run(store->state, run->collected[i], SMA_ROW_PARKED, run->seq);
        if (err == SMA_ERR_OK)
            err = sma_store_add_collected(store, run->seq, run->collected[i]);
    }
    return err;
}
