/*
 * Chats: read when they are asked for, found by a chained hash of the key and one of the id, and
 * kept for a while.
 *
 * What is kept goes when a transaction begins, the longest unused first, until
 * SMA_STATE_CHAT_KEPT_MAX are left: no undo log points to one then. Not a chat with a `user`, and
 * not one that has moved or its former records: those hold pointers to each other and are few; they
 * are read at start (state_move.c).
 */
#include "runtime/chat/state_priv.h"
#include "sma/text.h"

#include <stdlib.h>

#define DAY_MS 86400000

static uint64_t hash_key(const struct sma_state *state, struct sma_str key)
{
    return sma_siphash(state->key, key.ptr, key.len);
}

static struct sma_state_chat_entry *entry_of(struct sma_state_chat *chat)
{
    return (struct sma_state_chat_entry *)(void *)chat;
}

static uint32_t today(const struct sma_state *state)
{
    int64_t now_ms = state->sys->wall_ms(state->sys->self);
    return now_ms > 0 ? (uint32_t)(now_ms / DAY_MS) : 0;
}

/* -- what is kept ------------------------------------------------------------------------------ */

static struct sma_state_chat_entry **key_bucket(const struct sma_state *state, uint64_t hash)
{
    return &state->chats.by_key[hash & (state->chats.bucket_count - 1)];
}

static struct sma_state_chat_entry **id_bucket(const struct sma_state *state, uint32_t id)
{
    return &state->chats.by_id[id & (state->chats.bucket_count - 1)];
}

static SMA_CHECKED enum sma_err grow_buckets(struct sma_state *state)
{
    struct sma_state_chats *chats = &state->chats;
    if (chats->count < chats->bucket_count)
        return SMA_ERR_OK;
    size_t wanted = chats->bucket_count == 0 ? 64 : chats->bucket_count * 4;
    struct sma_state_chat_entry **by_key = calloc(wanted, sizeof *by_key);
    struct sma_state_chat_entry **by_id = calloc(wanted, sizeof *by_id);
    if (by_key == NULL || by_id == NULL) {
        free((void *)by_key);
        free((void *)by_id);
        return SMA_ERR_NOMEM;
    }
    free((void *)chats->by_key);
    free((void *)chats->by_id);
    chats->by_key = by_key;
    chats->by_id = by_id;
    chats->bucket_count = wanted;
    for (struct sma_state_chat_entry *chat = chats->newest; chat != NULL; chat = chat->older) {
        chat->next = *key_bucket(state, chat->hash);
        *key_bucket(state, chat->hash) = chat;
        chat->next_id = *id_bucket(state, chat->pub.id);
        *id_bucket(state, chat->pub.id) = chat;
    }
    return SMA_ERR_OK;
}

static void unlink_use(struct sma_state_chats *chats, struct sma_state_chat_entry *chat)
{
    *(chat->newer == NULL ? &chats->newest : &chat->newer->older) = chat->older;
    *(chat->older == NULL ? &chats->oldest : &chat->older->newer) = chat->newer;
}

static void link_use(struct sma_state_chats *chats, struct sma_state_chat_entry *chat)
{
    chat->newer = NULL;
    chat->older = chats->newest;
    *(chats->newest == NULL ? &chats->oldest : &chats->newest->newer) = chat;
    chats->newest = chat;
}

static void touch(struct sma_state *state, struct sma_state_chat_entry *chat)
{
    if (state->chats.newest == chat)
        return;
    unlink_use(&state->chats, chat);
    link_use(&state->chats, chat);
}

static void link_key(struct sma_state *state, struct sma_state_chat_entry *chat)
{
    struct sma_state_chat_entry **bucket = key_bucket(state, chat->hash);
    chat->next = *bucket;
    *bucket = chat;
}

static void unlink_key(struct sma_state *state, const struct sma_state_chat_entry *chat)
{
    struct sma_state_chat_entry **link = key_bucket(state, chat->hash);
    while (*link != chat)
        link = &(*link)->next;
    *link = chat->next;
}

/* Room was made by grow_buckets. */
void sma_state_chat_link(struct sma_state *state, struct sma_state_chat_entry *chat)
{
    link_key(state, chat);
    struct sma_state_chat_entry **bucket = id_bucket(state, chat->pub.id);
    chat->next_id = *bucket;
    *bucket = chat;
    link_use(&state->chats, chat);
    state->chats.count++;
}

void sma_state_chat_unlink(struct sma_state *state, struct sma_state_chat_entry *chat)
{
    unlink_key(state, chat);
    struct sma_state_chat_entry **link = id_bucket(state, chat->pub.id);
    while (*link != chat)
        link = &(*link)->next_id;
    *link = chat->next_id;
    unlink_use(&state->chats, chat);
    state->chats.count--;
}

void sma_state_chat_relink(struct sma_state *state, struct sma_state_chat_entry *chat,
                           struct sma_str key)
{
    unlink_key(state, chat);
    chat->pub.key = key;
    chat->hash = hash_key(state, key);
    link_key(state, chat);
}

void sma_state_chat_free(struct sma_state_chat_entry *chat)
{
    free((char *)(uintptr_t)chat->pub.rotation.ptr);
    free((char *)(uintptr_t)chat->pub.place.ptr);
    free(chat);
}

void sma_state_chat_unmake(struct sma_state *state, struct sma_state_chat_entry *chat)
{
    sma_state_chat_unlink(state, chat);
    SMA_ASSERT(chat->pub.id == state->chats.last_id);
    state->chats.last_id--;
    sma_state_chat_free(chat);
}

void sma_state_chats_free(struct sma_state *state)
{
    while (state->chats.newest != NULL) {
        struct sma_state_chat_entry *chat = state->chats.newest;
        state->chats.newest = chat->older;
        sma_state_chat_free(chat);
    }
    free((void *)state->chats.by_key);
    free((void *)state->chats.by_id);
}

static bool is_needed(const struct sma_state_chat_entry *chat)
{
    return chat->pub.user != NULL || chat->moved_to != NULL || chat->next_former != NULL;
}

/* Those that are needed are put to the front and cost a step, so that the steps are bounded by what
 * was read. */
void sma_state_chats_sweep(struct sma_state *state)
{
    struct sma_state_chats *chats = &state->chats;
    SMA_ASSERT(state->undo.count == 0);
    uint64_t steps = 32 + 2 * (chats->reads - chats->reads_swept);
    chats->reads_swept = chats->reads;
    for (; chats->count > chats->kept_max && steps > 0; steps--) {
        struct sma_state_chat_entry *chat = chats->oldest;
        if (is_needed(chat)) {
            touch(state, chat);
            continue;
        }
        sma_state_chat_unlink(state, chat);
        sma_state_chat_free(chat);
    }
}

void sma_state_set_chats_kept(struct sma_state *state, uint32_t count)
{
    state->chats.kept_max = count;
}

/* -- reading ----------------------------------------------------------------------------------- */

static SMA_CHECKED enum sma_err copy_rotation(struct sma_state_chat *chat, struct sma_str plan)
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

static struct sma_state_chat_entry *make_entry(const struct sma_state *state, uint32_t id,
                                               struct sma_str key, struct sma_str channel)
{
    struct sma_state_chat_entry *chat = calloc(1, sizeof *chat + key.len + channel.len + 2);
    if (chat == NULL)
        return NULL;
    char *bytes = (char *)(chat + 1);
    if (key.len > 0)
        memcpy(bytes, key.ptr, key.len);
    if (channel.len > 0)
        memcpy(bytes + key.len + 1, channel.ptr, channel.len);
    chat->pub.key = (struct sma_str){bytes, key.len};
    chat->pub.channel = (struct sma_str){bytes + key.len + 1, channel.len};
    chat->pub.id = chat->pub.claim_id = id;
    chat->hash = hash_key(state, key);
    return chat;
}

static SMA_CHECKED enum sma_err fill_entry(struct sma_state_chat_entry *chat, sqlite3_stmt *stmt)
{
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
    chat->pub.seen_day = (uint32_t)sqlite3_column_int64(stmt, 10);
    return copy_rotation(&chat->pub, sma_state_column(stmt, 6));
}

enum sma_err sma_state_chat_read(struct sma_state *state, sqlite3_stmt *stmt,
                                 struct sma_state_chat_entry **ret_chat)
{
    int64_t id = sqlite3_column_int64(stmt, 0);
    struct sma_str key = sma_state_column(stmt, 1), channel = sma_state_column(stmt, 2);
    if (id < 1 || id > UINT32_MAX)
        return sma_state_damaged(state, "read a chat: its number");
    if (grow_buckets(state) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    struct sma_state_chat_entry *chat = make_entry(state, (uint32_t)id, key, channel);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = fill_entry(chat, stmt);
    if (err != SMA_ERR_OK) {
        sma_state_chat_free(chat);
        return err;
    }
    sma_state_chat_link(state, chat);
    state->chats.reads++;
    *ret_chat = chat;
    return SMA_ERR_OK;
}

/* The row of a bound statement. */
static SMA_CHECKED enum sma_err read_one(struct sma_state *state, sqlite3_stmt *stmt,
                                         struct sma_state_chat_entry **ret_chat)
{
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_NOTFOUND;
    if (rc == SQLITE_ROW)
        err = sma_state_chat_read(state, stmt, ret_chat);
    else if (rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read a chat");
    sma_state_done(stmt);
    return err == SMA_ERR_NOMEM ? sma_state_fail(state, SQLITE_NOMEM, "read a chat") : err;
}

static struct sma_state_chat_entry *find_kept(const struct sma_state *state, uint32_t id)
{
    struct sma_state_chat_entry *chat = state->chats.count == 0 ? NULL : *id_bucket(state, id);
    while (chat != NULL && chat->pub.id != id)
        chat = chat->next_id;
    return chat;
}

static SMA_CHECKED enum sma_err find_record(struct sma_state *state, struct sma_str key,
                                            struct sma_state_chat_entry **ret_record)
{
    uint64_t hash = hash_key(state, key);
    struct sma_state_chat_entry *chat = state->chats.count == 0 ? NULL : *key_bucket(state, hash);
    while (chat != NULL && (chat->hash != hash || !sma_str_is_equal(chat->pub.key, key)))
        chat = chat->next;
    if (chat != NULL) {
        touch(state, chat);
        *ret_record = chat;
        return SMA_ERR_OK;
    }
    if (key.len == 0 || key.len > SMA_CHAT_KEY_BYTES_MAX)
        return SMA_ERR_NOTFOUND;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_BY_KEY);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, key, true);
    return read_one(state, stmt, ret_record);
}

enum sma_err sma_state_chat_record(struct sma_state *state, uint32_t id,
                                   struct sma_state_chat_entry **ret_record)
{
    struct sma_state_chat_entry *chat = find_kept(state, id);
    if (chat != NULL) {
        touch(state, chat);
        *ret_record = chat;
        return SMA_ERR_OK;
    }
    if (id == 0 || id > state->chats.last_id)
        return SMA_ERR_NOTFOUND;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_BY_ID);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, id); /* a valid index cannot fail */
    return read_one(state, stmt, ret_record);
}

/* Chains end: what a record was moved to was a chat of its own then. */
static struct sma_state_chat *follow(struct sma_state_chat_entry *chat)
{
    while (chat->moved_to != NULL)
        chat = chat->moved_to;
    return &chat->pub;
}

enum sma_err sma_state_chat_find(struct sma_state *state, struct sma_str key,
                                 struct sma_state_chat **ret_chat)
{
    struct sma_state_chat_entry *record;
    enum sma_err err = find_record(state, key, &record);
    if (err == SMA_ERR_OK)
        *ret_chat = follow(record);
    return err;
}

/* A read that fails is noted in the state and, with a transaction open, fails that: nothing is
 * built on "there is none". */
struct sma_state_chat *sma_state_chat_get(struct sma_state *state, struct sma_str key)
{
    struct sma_state_chat *chat = NULL;
    return sma_state_chat_find(state, key, &chat) == SMA_ERR_OK ? chat : NULL;
}

uint32_t sma_state_claim_id(struct sma_state *state, struct sma_str key)
{
    struct sma_state_chat_entry *record;
    return find_record(state, key, &record) == SMA_ERR_OK ? record->pub.claim_id : 0;
}

struct sma_state_chat *sma_state_chat_by_id(struct sma_state *state, uint32_t id)
{
    struct sma_state_chat_entry *record;
    return sma_state_chat_record(state, id, &record) == SMA_ERR_OK ? follow(record) : NULL;
}

/* All that have moved are kept. */
uint32_t sma_state_chat_id_of(const struct sma_state *state, uint32_t record_id)
{
    struct sma_state_chat_entry *record = find_kept(state, record_id);
    return record == NULL ? record_id : follow(record)->id;
}

static SMA_CHECKED enum sma_err read_number(struct sma_state *state, enum sma_state_sql sql,
                                            uint64_t argument, uint64_t *ret_number)
{
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    if (stmt == NULL)
        return state->error.code;
    if (sqlite3_bind_parameter_count(stmt) > 0)
        (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)argument); /* a valid index cannot fail */
    int rc = sqlite3_step(stmt);
    *ret_number = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    sma_state_done(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SMA_ERR_OK
                                                 : sma_state_fail(state, rc, "read chats");
}

/* Two numbers and those that have moved: a start does not depend on how many chats there are. */
enum sma_err sma_state_chats_load(struct sma_state *state)
{
    uint64_t last = 0;
    char removed[24] = "";
    enum sma_err err = read_number(state, SMA_SQL_CHAT_LAST, 0, &last);
    if (err != SMA_ERR_OK)
        return err;
    if (last > UINT32_MAX)
        return sma_state_fail(state, SQLITE_CORRUPT, "read chats: a number");
    state->chats.last_id = (uint32_t)last;
    err = sma_state_meta_get(state, SMA_STR(SMA_STATE_CHATS_REMOVED), removed, sizeof removed);
    if (err == SMA_ERR_OK)
        state->chats.removed = strtoull(removed, NULL, 10);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

/* -- changes ----------------------------------------------------------------------------------- */

static SMA_CHECKED enum sma_err insert_row(struct sma_state *state,
                                           const struct sma_state_chat *chat)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_INSERT);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, chat->id); /* valid indexes cannot fail */
    sma_state_bind(stmt, 2, chat->key, true);
    sma_state_bind(stmt, 3, chat->channel, true);
    (void)sqlite3_bind_int64(stmt, 4, chat->seen_day);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_chat_open(struct sma_state *state, struct sma_str key,
                                 struct sma_str channel, struct sma_state_chat **ret_chat)
{
    enum sma_err err = sma_state_chat_find(state, key, ret_chat);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    if (key.len == 0 || key.len > SMA_CHAT_KEY_BYTES_MAX || channel.len > SMA_ID_BYTES_MAX ||
        state->chats.last_id == UINT32_MAX)
        return SMA_ERR_BADINPUT;
    err = sma_state_change(state);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_state_chat_entry *chat =
        grow_buckets(state) != SMA_ERR_OK
            ? NULL
            : make_entry(state, state->chats.last_id + 1, key, channel);
    if (chat == NULL)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    err = sma_state_undo_push(state, (struct sma_state_undo){.kind = SMA_UNDO_CHAT_ADD, .p = chat});
    if (err != SMA_ERR_OK) {
        sma_state_chat_free(chat);
        return err;
    }
    chat->saved_in = state->save_number; /* undone as a whole: no copy is needed */
    chat->pub.seen_day = today(state);
    sma_state_chat_link(state, chat);
    state->chats.last_id++;
    state->chats.reads++;
    err = insert_row(state, &chat->pub);
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

enum sma_err sma_state_chat_begin(struct sma_state *state, struct sma_state_chat *chat)
{
    enum sma_err err = sma_state_change(state);
    return err == SMA_ERR_OK ? sma_state_chat_save(state, chat) : err;
}

enum sma_err sma_state_chat_write(struct sma_state *state, const struct sma_state_chat *chat)
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
    enum sma_err err = sma_state_chat_begin(state, chat);
    if (err != SMA_ERR_OK || seq <= chat->stop_mark)
        return err;
    chat->stop_mark = seq;
    return sma_state_chat_write(state, chat);
}

/* Give the chat another plan; the old one is freed when the transaction ends, unless it was made in
 * it. */
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
    enum sma_err err = sma_state_chat_begin(state, chat);
    if (err == SMA_ERR_OK)
        err = replace_rotation(state, chat, plan);
    return err == SMA_ERR_OK ? sma_state_chat_write(state, chat) : err;
}

enum sma_err sma_state_chat_set_generation(struct sma_state *state, struct sma_state_chat *chat,
                                           uint32_t generation)
{
    SMA_TRY(sma_state_chat_begin(state, chat));
    SMA_TRY(replace_rotation(state, chat, (struct sma_str){NULL, 0}));
    chat->generation = generation;
    return sma_state_chat_write(state, chat);
}

enum sma_err sma_state_chat_seen(struct sma_state *state, struct sma_state_chat *chat)
{
    uint32_t day = today(state);
    if (chat->seen_day == day)
        return SMA_ERR_OK;
    SMA_TRY(sma_state_chat_begin(state, chat));
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_SEEN);
    if (stmt == NULL)
        return state->error.code;
    chat->seen_day = day;
    (void)sqlite3_bind_int64(stmt, 1, chat->id); /* valid indexes cannot fail */
    (void)sqlite3_bind_int64(stmt, 2, day);
    return sma_state_run(state, stmt);
}

/* -- all of them ------------------------------------------------------------------------------- */

/* A record that was read for this look only is not kept, so that a walk over a million needs no
 * memory. */
enum sma_err sma_state_chat_visit(struct sma_state *state, uint32_t id, sma_state_chat_fn *each,
                                  void *user)
{
    struct sma_state_chat_entry *record;
    bool was_kept = find_kept(state, id) != NULL;
    enum sma_err err = sma_state_chat_record(state, id, &record);
    if (err != SMA_ERR_OK)
        return err;
    err = each(user, &record->pub);
    if (!was_kept && !state->is_in_transaction && find_kept(state, id) == record &&
        !is_needed(record)) {
        sma_state_chat_unlink(state, record);
        sma_state_chat_free(record);
    }
    return err;
}

static SMA_CHECKED enum sma_err each_found(struct sma_state *state, enum sma_state_sql sql,
                                           sma_state_chat_fn *each, void *user)
{
    uint64_t id = 0;
    enum sma_err err = read_number(state, sql, 0, &id);
    while (err == SMA_ERR_OK && id != 0) {
        uint64_t next = 0;
        err = sma_state_chat_visit(state, (uint32_t)id, each, user);
        if (err == SMA_ERR_OK)
            err = read_number(state, sql, id, &next);
        id = next;
    }
    return err;
}

enum sma_err sma_state_chat_below(struct sma_state *state, uint32_t below, sma_state_chat_fn *each,
                                  void *user)
{
    uint64_t id = 0;
    SMA_TRY(read_number(state, SMA_SQL_CHAT_BELOW, below == 0 ? INT64_C(1) << 31 : below, &id));
    return id == 0 ? SMA_ERR_NOTFOUND : sma_state_chat_visit(state, (uint32_t)id, each, user);
}

enum sma_err sma_state_chat_answered(struct sma_state *state, const struct sma_state_chat *chat,
                                     int64_t *ret_wall_ms)
{
    uint64_t wall_ms = 0;
    SMA_TRY(read_number(state, SMA_SQL_CHAT_ANSWERED, chat->id, &wall_ms));
    *ret_wall_ms = (int64_t)wall_ms;
    return SMA_ERR_OK;
}

enum sma_err sma_state_each_rotating(struct sma_state *state, sma_state_chat_fn *each, void *user)
{
    return each_found(state, SMA_SQL_CHAT_ROTATING, each, user);
}

uint64_t sma_state_chat_count(const struct sma_state *state)
{
    return state->chats.last_id - state->chats.removed;
}
