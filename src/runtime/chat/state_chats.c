/* Chats: all of them in memory, found by a chained hash of the key. */
#include "runtime/chat/state_priv.h"
#include "sma/text.h"

#include <stdlib.h>

static uint64_t hash_key(const struct sma_state *state, struct sma_str key)
{
    return sma_siphash(state->key, key.ptr, key.len);
}

static struct sma_state_chat_entry *entry_of(struct sma_state_chat *chat)
{
    return (struct sma_state_chat_entry *)(void *)chat;
}

static struct sma_state_chat_entry *find_record(const struct sma_state *state, struct sma_str key)
{
    if (state->chat_bucket_count == 0)
        return NULL;
    uint64_t hash = hash_key(state, key);
    struct sma_state_chat_entry *chat = state->chat_buckets[hash & (state->chat_bucket_count - 1)];
    while (chat != NULL && (chat->hash != hash || !sma_str_is_equal(chat->pub.key, key)))
        chat = chat->next;
    return chat;
}

/* Chains end: what a record was moved to was a chat of its own then. */
static struct sma_state_chat *follow(struct sma_state_chat_entry *chat)
{
    while (chat != NULL && chat->moved_to != NULL)
        chat = chat->moved_to;
    return chat == NULL ? NULL : &chat->pub;
}

struct sma_state_chat *sma_state_chat_get(struct sma_state *state, struct sma_str key)
{
    return follow(find_record(state, key));
}

uint32_t sma_state_claim_id(const struct sma_state *state, struct sma_str key)
{
    const struct sma_state_chat_entry *record = find_record(state, key);
    return record == NULL ? 0 : record->pub.claim_id;
}

struct sma_state_chat *sma_state_chat_by_id(struct sma_state *state, uint32_t id)
{
    return id == 0 || id > state->chats.count ? NULL : follow(state->chats.items[id - 1]);
}

static enum sma_err grow_buckets(struct sma_state *state)
{
    if (state->chats.count < state->chat_bucket_count)
        return SMA_ERR_OK;
    size_t wanted = state->chat_bucket_count == 0 ? 64 : state->chat_bucket_count * 4;
    struct sma_state_chat_entry **buckets = calloc(wanted, sizeof(struct sma_state_chat_entry *));
    if (buckets == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < state->chats.count; i++) {
        struct sma_state_chat_entry *chat = state->chats.items[i];
        chat->next = buckets[chat->hash & (wanted - 1)];
        buckets[chat->hash & (wanted - 1)] = chat;
    }
    free((void *)state->chat_buckets);
    state->chat_buckets = buckets;
    state->chat_bucket_count = wanted;
    return SMA_ERR_OK;
}

/* Make the chat with the next id and put it into both tables. */
static enum sma_err link_new(struct sma_state *state, struct sma_str key, struct sma_str channel,
                             struct sma_state_chat_entry **ret_chat)
{
    if (grow_buckets(state) != SMA_ERR_OK || SMA_STATE_RESERVE(state->chats) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    struct sma_state_chat_entry *chat = calloc(1, sizeof *chat + key.len + channel.len + 2);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    char *bytes = (char *)(chat + 1);
    memcpy(bytes, key.ptr, key.len);
    if (channel.len > 0)
        memcpy(bytes + key.len + 1, channel.ptr, channel.len);
    chat->pub.key = (struct sma_str){bytes, key.len};
    chat->pub.channel = (struct sma_str){bytes + key.len + 1, channel.len};
    chat->pub.id = chat->pub.claim_id = (uint32_t)state->chats.count + 1;
    chat->hash = hash_key(state, key);
    struct sma_state_chat_entry **bucket =
        &state->chat_buckets[chat->hash & (state->chat_bucket_count - 1)];
    chat->next = *bucket;
    *bucket = chat;
    SMA_STATE_PUSH(state->chats, chat);
    *ret_chat = chat;
    return SMA_ERR_OK;
}

static void free_chat(struct sma_state_chat_entry *chat)
{
    free((char *)(uintptr_t)chat->pub.rotation.ptr);
    free((char *)(uintptr_t)chat->pub.place.ptr);
    free(chat);
}

static void unlink_record(struct sma_state *state, struct sma_state_chat_entry *chat)
{
    struct sma_state_chat_entry **link =
        &state->chat_buckets[chat->hash & (state->chat_bucket_count - 1)];
    while (*link != chat)
        link = &(*link)->next;
    *link = chat->next;
}

void sma_state_chat_relink(struct sma_state *state, struct sma_state_chat_entry *chat,
                           struct sma_str key)
{
    unlink_record(state, chat);
    chat->pub.key = key;
    chat->hash = hash_key(state, key);
    struct sma_state_chat_entry **bucket =
        &state->chat_buckets[chat->hash & (state->chat_bucket_count - 1)];
    chat->next = *bucket;
    *bucket = chat;
}

void sma_state_chat_unlink_last(struct sma_state *state)
{
    SMA_ASSERT(state->chats.count > 0);
    struct sma_state_chat_entry *chat = state->chats.items[--state->chats.count];
    unlink_record(state, chat);
    free_chat(chat);
}

void sma_state_chats_free(struct sma_state *state)
{
    for (size_t i = 0; i < state->chats.count; i++)
        free_chat(state->chats.items[i]);
    free((void *)state->chats.items);
    free((void *)state->chat_buckets);
}

static enum sma_err copy_rotation(struct sma_state_chat *chat, struct sma_str plan)
{
    char *copy = NULL;
    if (plan.len > 0) {
        copy = malloc(plan.len);
        if (copy == NULL)
            return SMA_ERR_NOMEM;
        memcpy(copy, plan.ptr, plan.len);
    }
    chat->rotation = (struct sma_str){copy, plan.len};
    return SMA_ERR_OK;
}

static enum sma_err load_row(struct sma_state *state, sqlite3_stmt *stmt)
{
    if (sqlite3_column_int64(stmt, 0) != (sqlite3_int64)state->chats.count + 1)
        return sma_state_fail(state, SQLITE_CORRUPT, "read chats: ids have a gap");
    struct sma_state_chat_entry *chat = NULL;
    enum sma_err err = link_new(state, sma_state_column(stmt, 1), sma_state_column(stmt, 2), &chat);
    if (err != SMA_ERR_OK)
        return err;
    chat->pub.generation = (uint32_t)sqlite3_column_int64(stmt, 3);
    chat->pub.stop_mark = (uint64_t)sqlite3_column_int64(stmt, 4);
    chat->pub.clear_mark = (uint64_t)sqlite3_column_int64(stmt, 5);
    chat->moved_id = (uint32_t)sqlite3_column_int64(stmt, 7);
    uint32_t claim_id = (uint32_t)sqlite3_column_int64(stmt, 8);
    if (claim_id != 0)
        chat->pub.claim_id = claim_id;
    struct sma_str place = sma_state_column(stmt, 9);
    if (place.len > 0) {
        char *copy = malloc(place.len);
        if (copy == NULL)
            return SMA_ERR_NOMEM;
        memcpy(copy, place.ptr, place.len);
        chat->pub.place = (struct sma_str){copy, place.len};
    }
    return copy_rotation(&chat->pub, sma_state_column(stmt, 6));
}

enum sma_err sma_state_chats_load(struct sma_state *state)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_EACH);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = load_row(state, stmt);
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read chats");
    sma_state_done(stmt);
    return err == SMA_ERR_OK ? sma_state_moves_load(state) : err;
}

enum sma_err sma_state_chat_open(struct sma_state *state, struct sma_str key,
                                 struct sma_str channel, struct sma_state_chat **ret_chat)
{
    struct sma_state_chat *known = sma_state_chat_get(state, key);
    if (known != NULL) {
        *ret_chat = known;
        return SMA_ERR_OK;
    }
    if (key.len == 0 || key.len > SMA_CHAT_KEY_BYTES_MAX || channel.len > SMA_ID_BYTES_MAX)
        return SMA_ERR_BADINPUT;
    enum sma_err err = sma_state_change(state);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_state_chat_entry *chat = NULL;
    err = link_new(state, key, channel, &chat);
    if (err != SMA_ERR_OK)
        return sma_state_fail_change(state, err);
    err = sma_state_undo_push(state, (struct sma_state_undo){.kind = SMA_UNDO_CHAT_ADD});
    if (err != SMA_ERR_OK) {
        sma_state_chat_unlink_last(state);
        return err;
    }
    chat->saved_in = state->save_number; /* undone as a whole: no copy is needed */
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_INSERT);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, chat->pub.id); /* a valid index cannot fail */
    sma_state_bind(stmt, 2, key, true);
    sma_state_bind(stmt, 3, channel, true);
    err = sma_state_run(state, stmt);
    if (err == SMA_ERR_OK)
        *ret_chat = &chat->pub;
    return err;
}

enum sma_err sma_state_chat_save(struct sma_state *state, struct sma_state_chat *chat)
{
    struct sma_state_chat_entry *entry = entry_of(chat);
    if (entry->saved_in >= state->save_floor)
        return SMA_ERR_OK;
    if (SMA_STATE_RESERVE(state->saves) != SMA_ERR_OK)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    enum sma_err err =
        sma_state_undo_push(state, (struct sma_state_undo){.kind = SMA_UNDO_CHAT_CHANGE,
                                                           .a = state->saves.count,
                                                           .b = entry->saved_in,
                                                           .p = entry});
    if (err != SMA_ERR_OK)
        return err;
    SMA_STATE_PUSH(state->saves, *chat);
    entry->saved_in = state->save_number;
    return SMA_ERR_OK;
}

static enum sma_err begin_update(struct sma_state *state, struct sma_state_chat *chat)
{
    enum sma_err err = sma_state_change(state);
    return err == SMA_ERR_OK ? sma_state_chat_save(state, chat) : err;
}

static enum sma_err write_row(struct sma_state *state, const struct sma_state_chat *chat)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_UPDATE);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, chat->id); /* valid indexes cannot fail */
    (void)sqlite3_bind_int64(stmt, 2, chat->generation);
    (void)sqlite3_bind_int64(stmt, 3, (sqlite3_int64)chat->stop_mark);
    (void)sqlite3_bind_int64(stmt, 4, (sqlite3_int64)chat->clear_mark);
    sma_state_bind(stmt, 5, chat->rotation, false);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_chat_set_stop_mark(struct sma_state *state, struct sma_state_chat *chat,
                                          uint64_t seq)
{
    enum sma_err err = begin_update(state, chat);
    if (err != SMA_ERR_OK || seq <= chat->stop_mark)
        return err;
    chat->stop_mark = seq;
    return write_row(state, chat);
}

enum sma_err sma_state_chat_set_clear_mark(struct sma_state *state, struct sma_state_chat *chat,
                                           uint64_t seq)
{
    enum sma_err err = begin_update(state, chat);
    if (err != SMA_ERR_OK || seq <= chat->clear_mark)
        return err;
    chat->clear_mark = seq;
    err = write_row(state, chat);
    return err == SMA_ERR_OK ? sma_state_turns_clear(state, chat, seq) : err;
}

/* Give the chat another plan; the old one is freed when the transaction ends, unless it was made in it. */
static enum sma_err replace_rotation(struct sma_state *state, struct sma_state_chat *chat,
                                     struct sma_str plan)
{
    struct sma_str before = chat->rotation;
    if (copy_rotation(chat, plan) != SMA_ERR_OK)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    bool is_saved = false;
    for (size_t i = state->saves.count; i-- > 0 && !is_saved;)
        is_saved = state->saves.items[i].id == chat->id &&
                   state->saves.items[i].rotation.ptr == before.ptr;
    if (!is_saved)
        free((char *)(uintptr_t)before.ptr);
    return SMA_ERR_OK;
}

enum sma_err sma_state_chat_set_rotation(struct sma_state *state, struct sma_state_chat *chat,
                                         struct sma_str plan)
{
    if (plan.len > 65536)
        return SMA_ERR_TOOBIG;
    enum sma_err err = begin_update(state, chat);
    if (err == SMA_ERR_OK)
        err = replace_rotation(state, chat, plan);
    return err == SMA_ERR_OK ? write_row(state, chat) : err;
}

enum sma_err sma_state_chat_set_generation(struct sma_state *state, struct sma_state_chat *chat,
                                           uint32_t generation)
{
    enum sma_err err = begin_update(state, chat);
    if (err == SMA_ERR_OK)
        err = replace_rotation(state, chat, (struct sma_str){NULL, 0});
    if (err != SMA_ERR_OK)
        return err;
    chat->generation = generation;
    return write_row(state, chat);
}

enum sma_err sma_state_each_chat(struct sma_state *state, sma_state_chat_fn *each, void *user)
{
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < state->chats.count && err == SMA_ERR_OK; i++)
        err = each(user, &state->chats.items[i]->pub);
    return err;
}
