/*
 * Parked runs: the open requests to people, as they are read from the rows, at start and when a
 * transaction was undone.
 *
 * The rows in state.db are the truth. Two things are in no row and outlive the reading: how far a
 * clock is (a failed commit gives nobody more time, and its chat is not reminded again), and which
 * messages the agent is reading for us. Whoever comes first ends a request: the store handles one
 * message after the other, and each decision looks at the clock.
 */
#include "consent.h"
#include "consent_priv.h"
#include "outbox.h"
#include "record.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#include <stdlib.h>

#define KEY_MARK "approval.key"
#define SLICE_NS UINT64_C(4000000) /* of files between two batches */

/* -- the key of the buttons -------------------------------------------------------------------- */
static bool read_hex(const char *text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        bytes[i] = (uint8_t)byte;
    }
    return strlen(text) == 2 * count;
}

enum sma_err sma_store_load_approval_key(struct sma_store *store)
{
    char text[2 * SMA_CARD_KEY_BYTES + 2];
    enum sma_err err = sma_state_meta_get(store->state, SMA_STR(KEY_MARK), text, sizeof text);
    if (err == SMA_ERR_OK && read_hex(text, store->consent->key, SMA_CARD_KEY_BYTES))
        return SMA_ERR_OK;
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    store->sys->random_bytes(store->sys->self, store->consent->key, SMA_CARD_KEY_BYTES);
    for (size_t i = 0; i < SMA_CARD_KEY_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", store->consent->key[i]);
    err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK)
        err = sma_state_meta_set(store->state, SMA_STR(KEY_MARK), sma_str(text));
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    return err == SMA_ERR_NOSPACE ? SMA_ERR_OK : err; /* the next start makes another one */
}

/* -- reading the rows -------------------------------------------------------------------------- */
void sma_store_forget_consent(struct sma_store *store)
{
    struct store_consent *consent = store->consent;
    while (consent->first != NULL)
        sma_store_approval_end(store, consent->first);
    sma_store_keep_judgements(store);
}

/* A run with a chat, whose request cannot be used: the next batch gives it up. */
static SMA_CHECKED enum sma_err load_broken(struct sma_store *store, struct store_chat *chat,
                                            const struct sma_state_asked *row)
{
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
    struct store_approval *approval;
    snprintf(id, sizeof id, "%032llx", (unsigned long long)row->run_seq); /* no id of a card */
    enum sma_err err = sma_store_approval_add(
        store,
        &(struct store_approval_facts){
            .id = sma_str(id), .chat = chat, .seq = row->run_seq, .step = row->step},
        &approval);
    if (err == SMA_ERR_OK)
        sma_store_approval_break(store, approval);
    return err == SMA_ERR_EXISTS ? SMA_ERR_OK : err; /* the other one of the run stands for it */
}

/* The homes in which it is shown; in its own chat it is in any case. */
static SMA_CHECKED enum sma_err load_homes(struct sma_store *store, struct store_approval *approval,
                                           struct sma_state_rows *rows)
{
    struct sma_state_places places;
    uint64_t first = sma_state_outbox_id(approval->seq, approval->step, STORE_CARD_CALL + 1);
    enum sma_err err =
        sma_state_places_read(store->state, first, first + SMA_APPROVAL_HOME_COUNT_MAX - 1,
                              SMA_INTENT_APPROVAL_REQUEST, rows, &places);
    for (size_t i = 0; i < places.count && err == SMA_ERR_OK; i++) {
        const struct sma_state_place *at = &places.items[i];
        struct store_chat *chat = at->chat != NULL ? sma_store_chat(store, at->chat) : NULL;
        if (chat != NULL)
            err = sma_store_approval_show(store, approval, chat,
                                          (uint8_t)(at->outbox_id - first + 1));
        else if (at->chat != NULL)
            err = SMA_ERR_NOMEM;
    }
    return err == SMA_ERR_CORRUPT && !sma_state_is_fatal(store->state) ? SMA_ERR_OK : err;
}

static SMA_CHECKED enum sma_err load_one(struct sma_store *store, const struct sma_state_asked *row,
                                         struct sma_state_rows *rows)
{
    struct store_approval *approval;
    if (row->is_lost) {
        sma_store_boot_line(store, SMA_LOG_WARN,
                            "approval: a request belongs to no run that waits and is left alone");
        return SMA_ERR_OK;
    }
    struct store_chat *chat = sma_store_chat(store, row->chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    if (row->is_damaged || row->id.len != SMA_STATE_APPROVAL_ID_BYTES)
        return load_broken(store, chat, row);
    enum sma_err err = sma_store_approval_add(
        store,
        &(struct store_approval_facts){
            .id = row->id, .chat = chat, .seq = row->run_seq, .step = row->step},
        &approval);
    if (err == SMA_ERR_EXISTS)
        return load_broken(store, chat, row);
    if (err != SMA_ERR_OK)
        return err;
    approval->left_ms = row->left_ms;
    return load_homes(store, approval, rows);
}

enum sma_err sma_store_load_consent(struct sma_store *store)
{
    struct sma_state_rows rows = {0};
    struct sma_state_asked_list list;
    enum sma_err err = sma_state_asked_read(store->state, &rows, &list);
    for (size_t i = 0; i < list.count && err == SMA_ERR_OK; i++)
        err = load_one(store, &list.items[i], &rows);
    sma_state_rows_free(&rows);
    if (err == SMA_ERR_OK)
        err = sma_store_load_supersessions(store);
    sma_store_take_clocks(store);
    return err;
}

/* -- the part ---------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->consent = calloc(1, sizeof *store->consent);
    return store->consent != NULL ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static void fini(struct sma_store *store)
{
    struct store_consent *consent = store->consent;
    while (consent->first != NULL)
        sma_store_approval_end(store, consent->first);
    sma_store_map_fini(&consent->by_id);
    sma_store_map_fini(&consent->by_run);
    sma_store_map_fini(&consent->by_chat);
    free((void *)consent->clocks);
    free(consent->kept);
    free(consent->judgements);
    free(consent->out);
    free(consent->projected);
    free(consent);
}

static void forget(struct sma_store *store, const struct store_marks *to)
{
    (void)to;
    sma_store_forget_consent(store);
}

static void follow(struct sma_store *store)
{
    sma_store_send_judgements(store);
    sma_store_project(store, SLICE_NS);
}

static uint64_t wake(const struct sma_store *store)
{
    const struct store_consent *consent = store->consent;
    bool has_slice = consent->projected_at < consent->projected_count;
    return has_slice ? 0 : sma_store_clock_wake(store);
}

const struct store_part sma_store_consent_part = {.name = "consent",
                                                  .create = create,
                                                  .load = sma_store_load_consent,
                                                  .forget = forget,
                                                  .expire = sma_store_expire_approvals,
                                                  .settle = sma_store_drop_kept_clocks,
                                                  .follow = follow,
                                                  .wake = wake,
                                                  .fini = fini};
