/*
 * Parked runs: open requests to people, their clock, their end.
 *
 * The row in state.db is the truth; what is in memory is made from it, at start and after a failed transaction. A
 * request's clock starts when its card was delivered (or will not be), stands while the service is down or somebody's
 * words are judged, and is written down when it starts and at an orderly end: after a crash it has a little more left.
 * Whoever comes first ends a request: the store handles one message after the other, and expiry is looked at before
 * each decision.
 */
#include "consent.h"
#include "consent_priv.h"
#include "record.h"
#include "store.h"

#include <stdlib.h>

#define KEY_MARK "approval.key"
#define MS_NS UINT64_C(1000000)

/* -- the key of the buttons ------------------------------------------------------------------------------------- */
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

enum sma_err sma_store_sweep_approvals(struct sma_store *store)
{
    int64_t before_ms = store->sys->wall_ms(store->sys->self) - STORE_APPROVAL_KEPT_MS;
    return sma_state_approvals_forget(store->state, before_ms);
}

/* -- the list --------------------------------------------------------------------------------------------------- */
struct store_approval *sma_store_approval_add(struct sma_store *store, const char *id,
                                              struct store_chat *chat, uint64_t seq, uint32_t step)
{
    struct store_approval *approval = calloc(1, sizeof *approval);
    if (approval == NULL)
        return NULL;
    snprintf(approval->id, sizeof approval->id, "%s", id);
    approval->chat = chat;
    approval->seq = seq;
    approval->step = step;
    approval->left_ms = -1;
    approval->prev = store->consent->last;
    *(store->consent->last != NULL ? &store->consent->last->next : &store->consent->first) =
        approval;
    store->consent->last = approval;
    store->consent->count++;
    chat->approval_count++;
    return approval;
}

enum sma_err sma_store_approval_show(struct store_approval *approval, struct store_chat *chat)
{
    if (chat == approval->chat)
        return SMA_ERR_OK;
    for (uint32_t i = 0; i < approval->shown_count; i++)
        if (approval->shown[i] == chat)
            return SMA_ERR_OK;
    if (approval->shown_count == SMA_APPROVAL_HOME_COUNT_MAX)
        return SMA_ERR_TOOBIG;
    approval->shown[approval->shown_count++] = chat;
    chat->approval_count++;
    return SMA_ERR_OK;
}

static void unlink_approval(struct sma_store *store, struct store_approval *approval)
{
    *(approval->prev != NULL ? &approval->prev->next : &store->consent->first) = approval->next;
    *(approval->next != NULL ? &approval->next->prev : &store->consent->last) = approval->prev;
    store->consent->count--;
    approval->chat->approval_count--;
    for (uint32_t i = 0; i < approval->shown_count; i++)
        approval->shown[i]->approval_count--;
}

void sma_store_approval_end(struct sma_store *store, struct store_approval *approval)
{
    unlink_approval(store, approval);
    approval->next = store->consent->ended;
    store->consent->ended = approval;
}

struct store_approval *sma_store_approval_by_id(const struct sma_store *store, struct sma_str id)
{
    struct store_approval *approval = store->consent->first;
    while (approval != NULL && !sma_str_is_equal(sma_str(approval->id), id))
        approval = approval->next;
    return approval;
}

struct store_approval *sma_store_approval_of_run(const struct sma_store *store, uint64_t seq)
{
    struct store_approval *approval = store->consent->first;
    while (approval != NULL && approval->seq != seq)
        approval = approval->next;
    return approval;
}

struct store_approval *sma_store_approval_of_chat(const struct sma_store *store,
                                                  const struct store_chat *chat)
{
    struct store_approval *approval = chat->approval_count > 0 ? store->consent->first : NULL;
    while (approval != NULL && approval->chat != chat)
        approval = approval->next;
    return approval;
}

static bool is_shown_in(const struct store_approval *approval, const struct store_chat *chat,
                        bool may_be_buried)
{
    for (uint32_t i = 0; i < approval->shown_count; i++)
        if (approval->shown[i] == chat && (may_be_buried || !approval->is_buried[i]))
            return true;
    return approval->chat == chat;
}

static struct store_approval *find_meant(const struct sma_store *store,
                                         const struct store_chat *chat, bool may_be_buried,
                                         uint32_t *ret_count)
{
    struct store_approval *meant = NULL;
    *ret_count = 0;
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next)
        if (is_shown_in(at, chat, may_be_buried) && (*ret_count)++ == 0)
            meant = at;
    return meant;
}

struct store_approval *sma_store_approval_meant(const struct sma_store *store,
                                                const struct store_chat *chat, uint32_t *ret_count)
{
    *ret_count = 0;
    if (chat->approval_count == 0)
        return NULL;
    /* Nobody takes up what is buried while something is asked after it. */
    struct store_approval *meant = find_meant(store, chat, false, ret_count);
    return meant != NULL ? meant : find_meant(store, chat, true, ret_count);
}

bool sma_store_is_shown_in(const struct store_approval *approval, const struct store_chat *chat)
{
    return is_shown_in(approval, chat, true);
}

/* Where it is written down that we said something else below the card of this request in its own chat. */
static struct sma_str burial_key(const struct store_approval *approval,
                                 char key[SMA_STATE_APPROVAL_ID_BYTES + 8])
{
    int len = snprintf(key, SMA_STATE_APPROVAL_ID_BYTES + 8, "buried/%s", approval->id);
    return (struct sma_str){key, (size_t)len};
}

enum sma_err sma_store_bury_approvals(struct sma_store *store, const struct store_chat *chat)
{
    char key[SMA_STATE_APPROVAL_ID_BYTES + 8];
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next) {
        for (uint32_t i = 0; i < at->shown_count; i++)
            at->is_buried[i] = at->is_buried[i] || at->shown[i] == chat;
        if (at->chat != chat || at->is_own_buried)
            continue;
        enum sma_err err = sma_state_access_set(store->state, burial_key(at, key), SMA_STR("1"));
        if (err != SMA_ERR_OK)
            return err;
        at->is_own_buried = true; /* a batch that fails reads it again from its row */
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_forget_burial(struct sma_store *store, const struct store_approval *approval)
{
    char key[SMA_STATE_APPROVAL_ID_BYTES + 8];
    return approval->is_own_buried
               ? sma_state_access_set(store->state, burial_key(approval, key), SMA_STR(""))
               : SMA_ERR_OK;
}

bool sma_store_is_approval_fresh(const struct sma_store *store,
                                 const struct store_approval *approval,
                                 const struct store_chat *chat)
{
    if (approval->chat == chat)
        return !approval->is_own_buried;
    for (uint32_t i = 0; i < approval->shown_count; i++)
        if (approval->shown[i] == chat)
            return !approval->is_buried[i] && !sma_queue_is_busy(store->queue, chat->id);
    return false;
}

/* -- the clock -------------------------------------------------------------------------------------------------- */
static void run_clock(struct sma_store *store, struct store_approval *approval, uint64_t now)
{
    if (approval->left_ms < 0 || approval->judged_count > 0 || approval->deadline_ns != 0 ||
        store->config->approvals_expire_s <= 0)
        return;
    approval->deadline_ns = now + (uint64_t)approval->left_ms * MS_NS;
    if (approval->deadline_ns < store->consent->wake_ns)
        store->consent->wake_ns = approval->deadline_ns;
}

static void stop_clock(struct store_approval *approval, uint64_t now)
{
    if (approval->deadline_ns == 0)
        return;
    approval->left_ms =
        approval->deadline_ns > now ? (int64_t)((approval->deadline_ns - now) / MS_NS) : 0;
    approval->deadline_ns = 0;
}

enum sma_err sma_store_approval_start_clock(struct sma_store *store,
                                            struct store_approval *approval)
{
    if (approval->left_ms >= 0 || store->config->approvals_expire_s <= 0)
        return SMA_ERR_OK;
    approval->left_ms = store->config->approvals_expire_s * 1000;
    run_clock(store, approval, sma_ctx_now(store->ctx));
    return sma_state_approval_set_left(store->state, sma_str(approval->id), approval->left_ms);
}

enum sma_err sma_store_approval_delivered(struct sma_store *store, uint64_t outbox_id)
{
    struct store_approval *approval =
        sma_store_approval_of_run(store, sma_state_outbox_seq(outbox_id));
    if (approval == NULL || approval->step != sma_state_outbox_step(outbox_id))
        return SMA_ERR_OK;
    return sma_store_approval_start_clock(store, approval);
}

void sma_store_approval_judging(struct sma_store *store, struct store_approval *approval,
                                int change)
{
    approval->judged_count += (uint32_t)change;
    if (store->ctx == NULL)
        return; /* before the start all clocks stand */
    uint64_t now = sma_ctx_now(store->ctx);
    if (approval->judged_count > 0)
        stop_clock(approval, now);
    else
        run_clock(store, approval, now);
}

static SMA_CHECKED enum sma_err expire(struct sma_store *store, struct store_approval *approval)
{
    struct store_case it;
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_store_case_open(store, approval, &it);
    if (approval->is_broken)
        return sma_store_abandon(store, approval);
    if (err != SMA_ERR_OK)
        return err;
    for (uint32_t i = 0; i < it.request.item_count; i++)
        if (it.items[i].outcome == SMA_REQUEST_OPEN)
            it.items[i] = (struct store_case_item){.outcome = SMA_REQUEST_EXPIRED,
                                                   .via = SMA_STR("clock"),
                                                   .response = SMA_STR("expired"),
                                                   .at_ms = sma_ctx_wall(store->ctx)};
    err = sma_store_case_close(store, &it, SMA_STATE_APPROVAL_EXPIRED, SMA_STR(""));
    sma_store_case_fini(&it);
    return err;
}

enum sma_err sma_store_expire_approvals(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx), wake = UINT64_MAX;
    if (store->is_draining || sma_store_disk_level(store) >= 2 || now < store->consent->wake_ns)
        return SMA_ERR_OK;
    for (struct store_approval *at = store->consent->first, *next; at != NULL; at = next) {
        next = at->next;
        if (store->config->approvals_expire_s <= 0)
            stop_clock(at, now); /* a reload said never */
        run_clock(store, at, now);
        if (at->is_broken || (at->deadline_ns != 0 && at->deadline_ns <= now)) {
            enum sma_err err = expire(store, at);
            if (err != SMA_ERR_OK)
                return err;
        } else if (at->deadline_ns != 0 && at->deadline_ns < wake) {
            wake = at->deadline_ns;
        }
    }
    store->consent->wake_ns = wake;
    return SMA_ERR_OK;
}

enum sma_err sma_store_save_clocks(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next) {
        stop_clock(at, now);
        if (at->left_ms < 0)
            continue;
        enum sma_err err = sma_store_begin(store);
        if (err == SMA_ERR_OK)
            err = sma_state_approval_set_left(store->state, sma_str(at->id), at->left_ms);
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

/* -- reading the rows again ------------------------------------------------------------------------------------- */
void sma_store_reset_approvals(struct sma_store *store)
{
    while (store->consent->first != NULL) {
        struct store_approval *approval = store->consent->first;
        unlink_approval(store, approval);
        approval->next = store->consent->stale;
        store->consent->stale = approval;
    }
    while (store->consent->ended != NULL) {
        struct store_approval *approval = store->consent->ended;
        store->consent->ended = approval->next;
        approval->next = store->consent->stale;
        store->consent->stale = approval;
    }
    for (uint32_t i = 0; i < store->consent->judgement_count; i++) {
        store->consent->judgements[i].chat = NULL;
        store->consent->judgements[i].is_seen = false;
    }
    store->consent->projected_count = 0;
}

static void drop_stale(struct sma_store *store)
{
    while (store->consent->stale != NULL) {
        struct store_approval *approval = store->consent->stale;
        store->consent->stale = approval->next;
        free(approval);
    }
}

void sma_store_settle_approvals(struct sma_store *store)
{
    while (store->consent->ended != NULL) {
        struct store_approval *approval = store->consent->ended;
        store->consent->ended = approval->next;
        free(approval);
    }
}

void sma_store_forget_approvals(struct sma_store *store)
{
    sma_store_reset_approvals(store);
    drop_stale(store);
    free(store->consent->judgements);
    free(store->consent->projected);
}

struct showing
{
    struct sma_store *store;
    struct store_approval *approval;
};

static enum sma_err note_shown(void *user, const struct sma_state_delivery *delivery)
{
    struct showing *showing = user;
    if (delivery->intent != SMA_INTENT_APPROVAL_REQUEST ||
        sma_state_outbox_step(delivery->outbox_id) != showing->approval->step)
        return SMA_ERR_OK;
    struct store_chat *chat = sma_store_chat(showing->store, delivery->chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = sma_store_approval_show(showing->approval, chat);
    if (showing->approval->shown_count > 0) /* what was said there since, nobody remembers */
        showing->approval->is_buried[showing->approval->shown_count - 1] = true;
    return err == SMA_ERR_TOOBIG ? SMA_ERR_OK : err;
}

static enum sma_err load_approval(void *user, const struct sma_state_approval *row)
{
    struct sma_store *store = user;
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
    snprintf(id, sizeof id, "%.*s", (int)row->id.len, row->id.ptr);
    struct store_chat *chat = sma_store_chat(store, row->chat);
    struct store_approval *approval =
        chat == NULL ? NULL : sma_store_approval_add(store, id, chat, row->run_seq, row->step);
    if (approval == NULL)
        return SMA_ERR_NOMEM;
    approval->left_ms = row->left_ms;
    char key[SMA_STATE_APPROVAL_ID_BYTES + 8];
    sma_buf_clear(&store->facts_buf);
    enum sma_err err =
        sma_state_access_get(store->state, burial_key(approval, key), &store->facts_buf);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    approval->is_own_buried = err == SMA_ERR_OK;
    const struct store_approval *was_here = NULL;
    for (const struct store_approval *old = store->consent->stale; old != NULL; old = old->next) {
        if (strcmp(old->id, id) != 0)
            continue;
        approval->is_told = old->is_told;
        was_here = old;
        if (row->left_ms >= 0 && old->left_ms >= 0) {
            approval->deadline_ns = old->deadline_ns;
            approval->left_ms = old->left_ms;
        }
    }
    struct showing showing = {.store = store, .approval = approval};
    err = sma_state_each_delivery(store->state, row->run_seq, note_shown, &showing);
    if (was_here != NULL && was_here->shown_count == approval->shown_count)
        memcpy(approval->is_buried, was_here->is_buried, sizeof approval->is_buried);
    return err;
}

enum sma_err sma_store_load_approvals(struct sma_store *store)
{
    sma_store_reset_approvals(store);
    enum sma_err err = sma_state_each_approval_open(store->state, load_approval, store);
    drop_stale(store);
    store->consent->wake_ns = 0; /* clocks start with the next batch: time is known then */
    return err;
}

uint32_t sma_store_count_approvals(const struct sma_store *store)
{
    return store->consent->count;
}

/* -- the part --------------------------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->consent = calloc(1, sizeof *store->consent);
    return store->consent != NULL ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static uint64_t wake(const struct sma_store *store)
{
    return sma_store_may_write(store) && store->consent->first != NULL ? store->consent->wake_ns
                                                                       : UINT64_MAX;
}

static void fini(struct sma_store *store)
{
    sma_store_forget_approvals(store);
    free(store->consent);
}

static void forget(struct sma_store *store, const struct store_marks *to)
{
    (void)to;
    sma_store_reset_approvals(store);
}

static void follow(struct sma_store *store)
{
    sma_store_send_judgements(store);
    sma_store_project(store);
}

const struct store_part sma_store_consent_part = {.name = "consent",
                                                  .create = create,
                                                  .load = sma_store_load_approvals,
                                                  .forget = forget,
                                                  .expire = sma_store_expire_approvals,
                                                  .settle = sma_store_settle_approvals,
                                                  .follow = follow,
                                                  .wake = wake,
                                                  .fini = fini};

const uint8_t *sma_store_approval_key(const struct sma_store *store)
{
    return store->consent->key;
}
