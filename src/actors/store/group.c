/*
 * Albums: messages of one chat with the same key, sent as pieces, are one message to the agent.
 *
 * The first piece that speaks to us is the leader: it waits in the queue, held, until no further
 * piece has come for the quiet time and every piece is prepared. The other pieces are rows that
 * wait for the leader's run and are not in the queue; they join it like collected messages. What
 * came before the leader and was only recorded is remembered for the quiet time and joins then.
 */
#include "facts.h"
#include "intake.h"
#include "intake_priv.h"
#include "item.h"
#include "map.h"
#include "runs.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#include <stdlib.h>

/* People write behind what they forward, and clients cut long texts; an album comes at once. */
static uint64_t quiet_ns(const struct store_group *group)
{
    struct sma_str key = {group->key, group->key_len};
    bool is_gesture = sma_str_starts_with(key, SMA_STR(SMA_GROUP_KEY_PASTE)) ||
                      sma_str_starts_with(key, SMA_STR(SMA_GROUP_KEY_FORWARD));
    return (is_gesture ? SMA_GROUP_GESTURE_QUIET_MS : SMA_GROUP_QUIET_MS) * SMA_NS_PER_MS;
}

/* -- finding ----------------------------------------------------------------------------------- */
static uint64_t hash_group(const struct sma_store *store, const struct store_chat *chat,
                           struct sma_str key)
{
    char bytes[4 + SMA_ID_BYTES_MAX];
    size_t len = key.len < SMA_ID_BYTES_MAX ? key.len : SMA_ID_BYTES_MAX;
    memcpy(bytes, &chat->id, 4);
    memcpy(bytes + 4, key.ptr, len);
    uint64_t hash = sma_siphash(store->hash_key, bytes, len + 4);
    return hash == 0 ? 1 : hash;
}

struct store_group *sma_store_group_find(struct sma_store *store, const struct store_chat *chat,
                                         struct sma_str key)
{
    struct store_group *group =
        sma_store_map_get(&store->intake->groups, hash_group(store, chat, key));
    bool is_it = group != NULL && group->chat == chat &&
                 sma_str_is_equal((struct sma_str){group->key, group->key_len}, key);
    return is_it && group->piece_count < SMA_GROUP_COUNT_MAX ? group : NULL;
}

struct store_group *sma_store_group_of_leader(const struct sma_store *store, uint64_t leader)
{
    return sma_store_map_get(&store->intake->leaders, leader);
}

/* -- life -------------------------------------------------------------------------------------- */
/* Those within their quiet time stand in one list, ordered by its end; the others in another. */
static struct store_groups *list_of(struct sma_store *store, const struct store_group *group)
{
    return group->is_gathering ? &store->intake->gathering : &store->intake->gathered;
}

static void unlink_group(struct sma_store *store, struct store_group *group)
{
    struct store_groups *list = list_of(store, group);
    *(group->prev != NULL ? &group->prev->next : &list->first) = group->next;
    *(group->next != NULL ? &group->next->prev : &list->last) = group->prev;
    group->prev = group->next = NULL;
}

static void link_group(struct sma_store *store, struct store_group *group)
{
    struct store_groups *list = list_of(store, group);
    struct store_group *before = list->last;
    while (group->is_gathering && before != NULL && before->deadline_ns > group->deadline_ns &&
           group->deadline_ns != 0)
        before = before->prev;
    group->prev = before;
    group->next = before == NULL ? list->first : before->next;
    *(before != NULL ? &before->next : &list->first) = group;
    *(group->next != NULL ? &group->next->prev : &list->last) = group;
}

static void move_to(struct sma_store *store, struct store_group *group, bool is_gathering)
{
    unlink_group(store, group);
    group->is_gathering = is_gathering;
    link_group(store, group);
}

struct store_group *sma_store_group_begin(struct sma_store *store, struct store_chat *chat,
                                          struct sma_str key)
{
    struct store_group *group = calloc(1, sizeof *group + key.len + 1);
    if (group == NULL)
        return NULL;
    group->chat = chat;
    group->hash = hash_group(store, chat, key);
    group->key_len = (uint32_t)key.len;
    memcpy(group->key, key.ptr, key.len);
    group->is_gathering = true;
    /* An older one with this key is full, or has the hash by chance: from now on pieces join this
     * one. */
    if (!sma_store_map_put(&store->intake->groups, group->hash, group)) {
        free(group);
        return NULL;
    }
    link_group(store, group);
    chat->held_count++;
    store->intake->group_count++;
    return group;
}

void sma_store_group_drop(struct sma_store *store, struct store_group *group)
{
    unlink_group(store, group);
    if (sma_store_map_get(&store->intake->groups, group->hash) == group)
        sma_store_map_remove(&store->intake->groups, group->hash);
    if (group->leader != 0)
        sma_store_map_remove(&store->intake->leaders, group->leader);
    group->chat->held_count--;
    store->intake->group_count--;
    free(group);
}

void sma_store_groups_reset(struct sma_store *store, bool is_all)
{
    uint64_t durable = sma_state_durable_seq(store->state);
    while (store->intake->gathered.first != NULL)
        sma_store_group_drop(store, store->intake->gathered.first);
    for (struct store_group *group = store->intake->gathering.first, *next; group != NULL;
         group = next) {
        next = group->next;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < group->recorded_count; i++)
            if (group->recorded[i] <= durable)
                group->recorded[kept++] = group->recorded[i];
        group->recorded_count = group->piece_count = kept;
        /* A leader is made again from the rows, with an album of its own; where its row was undone
         * it comes again, and finds what was recorded before it. */
        if (group->leader != 0)
            sma_store_map_remove(&store->intake->leaders, group->leader);
        group->leader = 0;
        group->question_count = 0;
        if (is_all || kept == 0)
            sma_store_group_drop(store, group);
    }
}

/* -- pieces ------------------------------------------------------------------------------------ */
void sma_store_group_touch(struct sma_store *store, struct store_group *group)
{
    group->piece_count++;
    group->deadline_ns = store->ctx != NULL ? sma_ctx_now(store->ctx) + quiet_ns(group) : 0;
    move_to(store, group, group->piece_count < SMA_GROUP_COUNT_MAX);
}

void sma_store_group_record(struct sma_store *store, struct store_group *group, uint64_t seq)
{
    if (group->recorded_count < SMA_COUNT_OF(group->recorded))
        group->recorded[group->recorded_count++] = seq;
    sma_store_group_touch(store, group);
}

/* A recorded piece waits now; one that was upgraded by itself in the meantime goes its own way, and
 * one that cannot be read stays what it is. */
static SMA_CHECKED enum sma_err wake_recorded(struct sma_store *store, struct store_group *group,
                                              uint64_t seq)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct store_facts facts;
    enum sma_err err = sma_state_message_read(store->state, seq, &rows, &message);
    bool is_read = err == SMA_ERR_OK && sma_store_facts_get(message.facts, &facts) == SMA_ERR_OK;
    if (!is_read && (err == SMA_ERR_OK || sma_store_is_damage(store, err))) {
        sma_ctx_log(store->ctx, SMA_LOG_ERROR,
                    "message %llu of %s cannot be read and is left out of its album",
                    (unsigned long long)seq, group->chat->key);
        return SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK || message.state != SMA_ROW_IGNORED)
        return err;
    err = sma_state_set_run(store->state, seq, SMA_ROW_WAITING, group->leader);
    if (err == SMA_ERR_OK)
        err = sma_store_add_collected(store, group->leader, seq);
    if (err == SMA_ERR_OK && facts.preparation.len > 0)
        err = sma_store_hold(store, group->chat, seq, &facts.route, group, false);
    return err;
}

enum sma_err sma_store_group_lead(struct sma_store *store, struct store_group *group, uint64_t seq)
{
    SMA_ASSERT(group->leader == 0);
    if (!sma_store_map_put(&store->intake->leaders, seq, group))
        return SMA_ERR_NOMEM;
    group->leader = seq;
    sma_store_group_touch(store, group);
    for (uint32_t i = 0; i < group->recorded_count; i++) {
        SMA_TRY(wake_recorded(store, group, group->recorded[i]));
    }
    return SMA_ERR_OK; /* they stay in the list: the leader may be undone */
}

enum sma_err sma_store_group_join(struct sma_store *store, struct store_group *group, uint64_t seq)
{
    SMA_ASSERT(group->leader != 0);
    sma_store_group_touch(store, group);
    sma_queue_set_held(store->queue, group->chat->id, group->leader, true);
    return sma_store_add_collected(store, group->leader, seq);
}

void sma_store_group_settle(struct sma_store *store, struct store_group *group)
{
    if (group->leader != 0)
        sma_queue_set_held(store->queue, group->chat->id, group->leader,
                           group->is_gathering || group->question_count > 0);
}

/* -- time -------------------------------------------------------------------------------------- */
void sma_store_expire_groups(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    for (struct store_group *group = store->intake->gathering.first, *next; group != NULL;
         group = next) {
        next = group->next;
        if (group->deadline_ns == 0)
            group->deadline_ns = now + quiet_ns(group); /* from before this start */
        else if (group->deadline_ns > now)
            return;
        else if (group->leader == 0)
            sma_store_group_drop(store, group);
        else {
            move_to(store, group, false);
            sma_store_group_settle(store, group);
        }
    }
}

uint64_t sma_store_groups_wake(const struct sma_store *store)
{
    return store->intake->gathering.first != NULL ? store->intake->gathering.first->deadline_ns
                                                  : UINT64_MAX;
}

uint32_t sma_store_count_albums(const struct sma_store *store)
{
    return store->intake->group_count;
}
