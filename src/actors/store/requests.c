/*
 * The open requests in memory: found by id, by run and by the chats that see them, whatever their
 * number.
 *
 * Words below a card mean it until we say something else there: the card is superseded then. The
 * mark of it is a record "buried/<id>" that lists the places, so that a restart and a failed commit
 * leave it as it was.
 */
#include "consent_priv.h"
#include "store.h"

#include <stdlib.h>

#define SUPERSEDED "buried/" /* rows on disk are called so */
#define KEY_BYTES (sizeof SUPERSEDED + SMA_STATE_APPROVAL_ID_BYTES)

/* -- sights ------------------------------------------------------------------------------------ */
static uint64_t chat_place(const struct store_chat *chat)
{
    return (uint64_t)chat->id + 1;
}

struct store_sight *sma_store_first_sight(const struct sma_store *store,
                                          const struct store_chat *chat)
{
    return chat->approval_count == 0
               ? NULL
               : sma_store_map_get(&store->consent->by_chat, chat_place(chat));
}

static SMA_CHECKED enum sma_err link_sight(struct sma_store *store, struct store_sight *sight)
{
    struct store_sight *first = sma_store_first_sight(store, sight->chat);
    if (first == NULL) {
        sight->prev = sight;
        if (!sma_store_map_put(&store->consent->by_chat, chat_place(sight->chat), sight))
            return SMA_ERR_NOMEM;
    } else {
        sight->prev = first->prev;
        first->prev->next = sight;
        first->prev = sight;
    }
    sight->next = NULL;
    sight->chat->approval_count++;
    return SMA_ERR_OK;
}

static void unlink_sight(struct sma_store *store, struct store_sight *sight)
{
    struct store_sight *first = sma_store_first_sight(store, sight->chat);
    if (sight->next != NULL)
        sight->next->prev = sight->prev;
    else
        first->prev = sight->prev; /* sight was the last */
    if (sight != first) {
        sight->prev->next = sight->next;
    } else if (sight->next == NULL) {
        sma_store_map_remove(&store->consent->by_chat, chat_place(sight->chat));
    } else {
        /* There is room: the key is there. */
        bool is_put =
            sma_store_map_put(&store->consent->by_chat, chat_place(sight->chat), sight->next);
        SMA_ASSERT(is_put);
    }
    sight->chat->approval_count--;
}

enum sma_err sma_store_approval_show(struct sma_store *store, struct store_approval *approval,
                                     struct store_chat *chat, uint8_t place)
{
    for (uint32_t i = 0; i < approval->sight_count; i++)
        if (approval->sights[i].chat == chat)
            return SMA_ERR_OK;
    if (approval->sight_count == SMA_COUNT_OF(approval->sights))
        return SMA_ERR_TOOBIG;
    struct store_sight *sight = &approval->sights[approval->sight_count];
    *sight = (struct store_sight){.approval = approval, .chat = chat, .place = place};
    enum sma_err err = link_sight(store, sight);
    if (err == SMA_ERR_OK)
        approval->sight_count++;
    return err;
}

/* -- the list ---------------------------------------------------------------------------------- */
/* Ids are random: half of one is as good as the whole to find it by. */
static uint64_t id_place(struct sma_str id)
{
    uint64_t place = 0;
    for (size_t i = 0; i < id.len && i < 16; i++) {
        char c = id.ptr[i];
        place = place << 4 | (unsigned)((c >= 'a' ? c - 'a' + 10 : c - '0') & 15);
    }
    return place | 1;
}

struct store_approval *sma_store_approval_by_id(const struct sma_store *store, struct sma_str id)
{
    struct store_approval *approval = sma_store_map_get(&store->consent->by_id, id_place(id));
    return approval != NULL && sma_str_is_equal(sma_str(approval->id), id) ? approval : NULL;
}

struct store_approval *sma_store_approval_of_run(const struct sma_store *store, uint64_t seq)
{
    return sma_store_map_get(&store->consent->by_run, seq);
}

struct store_approval *sma_store_approval_of_chat(const struct sma_store *store,
                                                  const struct store_chat *chat)
{
    struct store_sight *sight = sma_store_first_sight(store, chat);
    while (sight != NULL && sight->place != 0)
        sight = sight->next;
    return sight == NULL ? NULL : sight->approval;
}

uint32_t sma_store_count_approvals(const struct sma_store *store)
{
    return store->consent->count;
}

bool sma_store_approval_is_told(const struct store_approval *approval)
{
    return approval->is_told;
}

void sma_store_approval_note_told(struct store_approval *approval)
{
    approval->is_told = true;
}

/* -- damage ------------------------------------------------------------------------------------ */
void sma_store_approval_break(struct sma_store *store, struct store_approval *approval)
{
    if (approval->is_broken)
        return;
    approval->is_broken = true;
    sma_store_drop_clock(store, approval);
    approval->broken_next = store->consent->broken;
    store->consent->broken = approval;
}

static struct store_condemned *find_condemned(struct store_consent *consent, uint64_t seq)
{
    for (uint32_t i = 0; i < consent->condemned_count; i++)
        if (consent->condemned[i].seq == seq)
            return &consent->condemned[i];
    return NULL;
}

void sma_store_condemn(struct sma_store *store, uint64_t seq, bool is_stuck)
{
    struct store_consent *consent = store->consent;
    struct store_approval *approval = sma_store_approval_of_run(store, seq);
    struct store_condemned *known = find_condemned(consent, seq);
    /* The oldest of too many is found damaged again. */
    if (known == NULL)
        known = consent->condemned_count < STORE_CONDEMNED_COUNT_MAX
                    ? &consent->condemned[consent->condemned_count++]
                    : &consent->condemned[0];
    *known = (struct store_condemned){.seq = seq, .is_stuck = is_stuck};
    if (approval == NULL)
        return;
    sma_store_approval_break(store, approval);
    approval->is_stuck = is_stuck;
}

void sma_store_pardon(struct sma_store *store, uint64_t seq)
{
    struct store_condemned *known = find_condemned(store->consent, seq);
    if (known != NULL)
        *known = store->consent->condemned[--store->consent->condemned_count];
}

/* It was found damaged before its rows were read again. */
static void break_condemned(struct sma_store *store, struct store_approval *approval)
{
    const struct store_condemned *known = find_condemned(store->consent, approval->seq);
    if (known == NULL)
        return;
    sma_store_approval_break(store, approval);
    approval->is_stuck = known->is_stuck;
}

/* -- coming and going -------------------------------------------------------------------------- */
static void append(struct store_consent *consent, struct store_approval *approval)
{
    approval->prev = consent->last;
    *(consent->last != NULL ? &consent->last->next : &consent->first) = approval;
    consent->last = approval;
    consent->count++;
    SMA_METRIC_SET(approvals_waiting, consent->count);
}

enum sma_err sma_store_approval_add(struct sma_store *store,
                                    const struct store_approval_facts *facts,
                                    struct store_approval **ret_approval)
{
    struct store_consent *consent = store->consent;
    if (facts->seq == 0 || sma_store_map_get(&consent->by_id, id_place(facts->id)) != NULL ||
        sma_store_map_get(&consent->by_run, facts->seq) != NULL)
        return SMA_ERR_EXISTS;
    struct store_approval *approval = calloc(1, sizeof *approval);
    if (approval == NULL)
        return SMA_ERR_NOMEM;
    snprintf(approval->id, sizeof approval->id, "%.*s", (int)facts->id.len, facts->id.ptr);
    approval->chat = facts->chat;
    approval->seq = facts->seq;
    approval->step = facts->step;
    approval->left_ms = -1;
    append(consent, approval);
    bool has_room = sma_store_map_put(&consent->by_id, id_place(facts->id), approval) &&
                    sma_store_map_put(&consent->by_run, facts->seq, approval) &&
                    sma_store_approval_show(store, approval, facts->chat, 0) == SMA_ERR_OK;
    if (!has_room) {
        sma_store_approval_end(store, approval);
        return SMA_ERR_NOMEM;
    }
    break_condemned(store, approval);
    *ret_approval = approval;
    return SMA_ERR_OK;
}

void sma_store_approval_end(struct sma_store *store, struct store_approval *approval)
{
    struct store_consent *consent = store->consent;
    for (uint32_t i = 0; i < approval->sight_count; i++)
        unlink_sight(store, &approval->sights[i]);
    sma_store_keep_clock(store, approval);
    sma_store_drop_clock(store, approval);
    struct store_approval **link = approval->is_broken ? &consent->broken : NULL;
    while (link != NULL && *link != approval)
        link = &(*link)->broken_next;
    if (link != NULL)
        *link = approval->broken_next;
    sma_store_map_remove(&consent->by_id, id_place(sma_str(approval->id)));
    sma_store_map_remove(&consent->by_run, approval->seq);
    *(approval->prev != NULL ? &approval->prev->next : &consent->first) = approval->next;
    *(approval->next != NULL ? &approval->next->prev : &consent->last) = approval->prev;
    consent->count--;
    SMA_METRIC_SET(approvals_waiting, consent->count);
    free(approval);
}

/* -- which one words mean ---------------------------------------------------------------------- */
static struct store_sight *find_meant(struct store_sight *sight, bool may_be_superseded,
                                      uint32_t *ret_count)
{
    struct store_sight *meant = NULL;
    *ret_count = 0;
    for (; sight != NULL; sight = sight->next)
        if ((sight->place == 0 || may_be_superseded || !sight->is_superseded) &&
            (*ret_count)++ == 0)
            meant = sight;
    return meant;
}

struct store_sight *sma_store_sight_meant(const struct sma_store *store,
                                          const struct store_chat *chat, uint32_t *ret_count)
{
    struct store_sight *first = sma_store_first_sight(store, chat);
    /* Nobody takes up what is superseded while something is asked after it. */
    struct store_sight *meant = find_meant(first, false, ret_count);
    return meant != NULL ? meant : find_meant(first, true, ret_count);
}

/* -- superseded -------------------------------------------------------------------------------- */
static struct sma_str superseded_key(const struct store_approval *approval, char key[KEY_BYTES])
{
    int len = snprintf(key, KEY_BYTES, SUPERSEDED "%s", approval->id);
    return (struct sma_str){key, (size_t)len};
}

/* One bit a place. */
static unsigned superseded_mask(const struct store_approval *approval)
{
    unsigned mask = 0;
    for (uint32_t i = 0; i < approval->sight_count; i++)
        mask |= approval->sights[i].is_superseded ? 1u << approval->sights[i].place : 0;
    return mask;
}

enum sma_err sma_store_supersede_approvals(struct sma_store *store, const struct store_chat *chat)
{
    char key[KEY_BYTES], value[16];
    for (struct store_sight *at = sma_store_first_sight(store, chat); at != NULL; at = at->next) {
        if (at->is_superseded)
            continue;
        at->is_superseded = true; /* a batch that fails reads it again */
        snprintf(value, sizeof value, "%u", superseded_mask(at->approval));
        enum sma_err err =
            sma_state_access_set(store->state, superseded_key(at->approval, key), sma_str(value));
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_forget_superseded(struct sma_store *store,
                                         const struct store_approval *approval)
{
    char key[KEY_BYTES];
    return superseded_mask(approval) != 0
               ? sma_state_access_set(store->state, superseded_key(approval, key), SMA_STR(""))
               : SMA_ERR_OK;
}

/* What cannot be read supersedes everywhere: the card is answered then, which is never wrong. */
static enum sma_err load_supersession(void *user, struct sma_str key, struct sma_str value)
{
    const struct sma_str prefix = SMA_STR(SUPERSEDED);
    struct sma_str id = {key.ptr + prefix.len, key.len - prefix.len};
    struct store_approval *approval = sma_store_approval_by_id(user, id);
    int64_t mask;
    if (sma_parse_i64(value, 1, 255, &mask) != SMA_ERR_OK)
        mask = 255;
    for (uint32_t i = 0; approval != NULL && i < approval->sight_count; i++)
        approval->sights[i].is_superseded = (mask >> approval->sights[i].place & 1) != 0;
    return SMA_ERR_OK;
}

enum sma_err sma_store_load_supersessions(struct sma_store *store)
{
    return store->consent->count == 0
               ? SMA_ERR_OK
               : sma_state_each_access_under(store->state, SMA_STR(SUPERSEDED), load_supersession,
                                             store);
}

const uint8_t *sma_store_approval_key(const struct sma_store *store)
{
    return store->consent->key;
}

void sma_store_touch_projection(struct sma_store *store, const char *id)
{
    struct store_consent *consent = store->consent;
    struct store_approval *approval = sma_store_approval_by_id(store, sma_str(id));
    if (approval != NULL && approval->is_touched)
        return;
    if (!sma_store_grow(&consent->projected, consent->projected_count, &consent->projected_cap,
                        sizeof *consent->projected))
        return; /* the next start makes it again */
    if (approval != NULL)
        approval->is_touched = true;
    snprintf(consent->projected[consent->projected_count++], sizeof *consent->projected, "%s", id);
}
