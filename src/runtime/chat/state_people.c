/* Cursors, access records, contacts. */
#include "runtime/chat/state_priv.h"
#include "sma/text.h"

#include <stdlib.h>

/* ---- cursors and access --------------------------------------------------------------------------------------- */

enum sma_err sma_state_cursor_set(struct sma_state *state, struct sma_str name, int64_t value)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_CURSOR_SET) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind(stmt, 1, name, true);
    (void)sqlite3_bind_int64(stmt, 2, value); /* valid index */
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_cursor_get(struct sma_state *state, struct sma_str name, int64_t *ret_value)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CURSOR_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, name, true);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_NOTFOUND;
    if (rc == SQLITE_ROW) {
        *ret_value = sqlite3_column_int64(stmt, 0);
        err = SMA_ERR_OK;
    } else if (rc != SQLITE_DONE) {
        err = sma_state_fail(state, rc, "read a cursor");
    }
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_access_set(struct sma_state *state, struct sma_str key, struct sma_str value)
{
    enum sma_err err = sma_state_change(state);
    enum sma_state_sql sql = value.len == 0 ? SMA_SQL_ACCESS_DELETE : SMA_SQL_ACCESS_SET;
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, sql) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind(stmt, 1, key, true);
    if (value.len > 0)
        sma_state_bind(stmt, 2, value, true);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_access_get(struct sma_state *state, struct sma_str key,
                                  struct sma_buf *value)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_ACCESS_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, key, true);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_NOTFOUND;
    if (rc == SQLITE_ROW) {
        sma_buf_put_str(value, sma_state_column(stmt, 0));
        err = value->err;
    } else if (rc != SQLITE_DONE) {
        err = sma_state_fail(state, rc, "read an access record");
    }
    sma_state_done(stmt);
    return err;
}

/* Each row of a bound statement: two texts. */
static enum sma_err each_pair(struct sma_state *state, sqlite3_stmt *stmt, sma_state_pair_fn *each,
                              void *user)
{
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    state->live_reads++;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = each(user, sma_state_column(stmt, 0), sma_state_column(stmt, 1));
    state->live_reads--;
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read access records");
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_each_access_under(struct sma_state *state, struct sma_str prefix,
                                         sma_state_pair_fn *each, void *user)
{
    char end[64];
    SMA_ASSERT(prefix.len > 0 && prefix.len <= sizeof end && prefix.ptr[prefix.len - 1] == '/');
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_ACCESS_UNDER);
    if (stmt == NULL)
        return state->error.code;
    memcpy(end, prefix.ptr, prefix.len);
    end[prefix.len - 1] = '/' + 1;
    sma_state_bind(stmt, 1, prefix, true);
    sma_state_bind(stmt, 2, (struct sma_str){end, prefix.len}, true);
    return each_pair(state, stmt, each, user);
}

struct author
{
    const struct sma_state_chat *chat;
    struct sma_str name;
    char *own;
};

enum sma_err sma_state_each_author(struct sma_state *state, sma_state_author_fn *each, void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_AUTHORS);
    if (stmt == NULL)
        return state->error.code;
    SMA_STATE_ARRAY(struct author) authors = {NULL, 0, 0};
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct author author = {
            .chat = sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 0)),
            .name = sma_state_column(stmt, 1)};
        struct sma_str *const slices[] = {&author.name};
        if (author.chat == NULL)
            continue;
        err = SMA_STATE_RESERVE(authors);
        if (err == SMA_ERR_OK && (author.own = sma_state_own(slices, 1)) == NULL)
            err = SMA_ERR_NOMEM;
        if (err == SMA_ERR_OK)
            SMA_STATE_PUSH(authors, author);
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read the authors of messages");
    sma_state_done(stmt); /* the read is over: the callback writes down who they are */
    for (size_t i = 0; i < authors.count; i++) {
        if (err == SMA_ERR_OK)
            err = each(user, authors.items[i].chat, authors.items[i].name);
        free(authors.items[i].own);
    }
    free(authors.items);
    return err;
}

/* ---- contacts ------------------------------------------------------------------------------------------------- */

#define NAME_BYTES_MAX SMA_NAME_BYTES_MAX

/* By the name alone, so that one without channel is found the same way. */
static uint64_t hash_name(const struct sma_state *state, struct sma_str name)
{
    char lower[NAME_BYTES_MAX];
    size_t len = name.len < sizeof lower ? name.len : sizeof lower;
    for (size_t i = 0; i < len; i++)
        lower[i] =
            (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] + 32 : name.ptr[i]);
    return sma_siphash(state->key, lower, len);
}

static struct sma_state_contact_entry **bucket_of(struct sma_state *state, uint64_t hash)
{
    return &state->contact_buckets[hash & (state->contact_bucket_count - 1)];
}

static enum sma_err grow_buckets(struct sma_state *state)
{
    if (state->contact_count < state->contact_bucket_count)
        return SMA_ERR_OK;
    size_t wanted = state->contact_bucket_count == 0 ? 64 : state->contact_bucket_count * 4;
    struct sma_state_contact_entry **buckets =
        calloc(wanted, sizeof(struct sma_state_contact_entry *));
    if (buckets == NULL)
        return SMA_ERR_NOMEM;
    for (size_t i = 0; i < state->contact_bucket_count; i++) {
        struct sma_state_contact_entry *next;
        for (struct sma_state_contact_entry *at = state->contact_buckets[i]; at != NULL;
             at = next) {
            next = at->next;
            at->next = buckets[at->hash & (wanted - 1)];
            buckets[at->hash & (wanted - 1)] = at;
        }
    }
    free((void *)state->contact_buckets);
    state->contact_buckets = buckets;
    state->contact_bucket_count = wanted;
    return SMA_ERR_OK;
}

static struct sma_state_contact_entry *find_contact(struct sma_state *state, struct sma_str channel,
                                                    struct sma_str name)
{
    if (state->contact_bucket_count == 0)
        return NULL;
    uint64_t hash = hash_name(state, name);
    struct sma_state_contact_entry *best = NULL;
    for (struct sma_state_contact_entry *at = *bucket_of(state, hash); at != NULL; at = at->next) {
        if (at->hash != hash || !sma_str_is_equal_nocase(at->pub.user_name, name))
            continue;
        if (channel.len > 0 && !sma_str_is_equal(at->pub.channel, channel))
            continue;
        if (best == NULL || at->pub.wall_ms > best->pub.wall_ms)
            best = at;
    }
    return best;
}

/* Where an old file does not say who it is, the chat tells. */
static bool is_same_person(const struct sma_state_contact *a, const struct sma_state_contact *b)
{
    if ((a->user_id.len == 0) != (b->user_id.len == 0))
        return sma_str_is_equal(a->chat_id, b->chat_id);
    return sma_str_is_equal(a->user_id, b->user_id);
}

/* What this one takes the place of: the same person under the same name or, when too many share it, the longest unseen. */
static struct sma_state_contact_entry *find_former(struct sma_state *state,
                                                   const struct sma_state_contact *contact)
{
    if (state->contact_bucket_count == 0)
        return NULL;
    uint64_t hash = hash_name(state, contact->user_name);
    struct sma_state_contact_entry *oldest = NULL;
    uint32_t count = 0;
    for (struct sma_state_contact_entry *at = *bucket_of(state, hash); at != NULL; at = at->next) {
        if (at->hash != hash || !sma_str_is_equal(at->pub.channel, contact->channel) ||
            !sma_str_is_equal_nocase(at->pub.user_name, contact->user_name))
            continue;
        if (is_same_person(&at->pub, contact))
            return at;
        count++;
        if (oldest == NULL || at->pub.wall_ms < oldest->pub.wall_ms)
            oldest = at;
    }
    return count >= SMA_STATE_NAMESAKE_COUNT_MAX ? oldest : NULL;
}

static struct sma_str append(char **at, struct sma_str from)
{
    struct sma_str to = {*at, from.len};
    if (from.len > 0)
        memcpy(*at, from.ptr, from.len);
    *at += from.len;
    return to;
}

static struct sma_state_contact_entry *
make_contact(const struct sma_state *state, const struct sma_state_contact *from, int64_t id)
{
    size_t room =
        from->message_id.len < 40 ? 40 : from->message_id.len; /* so that newer ids fit in place */
    size_t bytes = from->channel.len + from->user_name.len + from->chat_id.len +
                   from->chat_key.len + from->chat_type.len + from->thread_id.len +
                   from->user_id.len + room;
    struct sma_state_contact_entry *made = malloc(sizeof *made + bytes);
    if (made == NULL)
        return NULL;
    char *at = made->bytes;
    made->next = NULL;
    made->hash = hash_name(state, from->user_name);
    made->id = id;
    made->is_late = false;
    made->message_id_capacity = room;
    made->pub = (struct sma_state_contact){
        .channel = append(&at, from->channel),
        .user_name = append(&at, from->user_name),
        .chat_id = append(&at, from->chat_id),
        .chat_key = append(&at, from->chat_key),
        .chat_type = append(&at, from->chat_type),
        .thread_id = append(&at, from->thread_id),
        .user_id = append(&at, from->user_id),
        .message_id = append(&at, from->message_id),
        .wall_ms = from->wall_ms,
    };
    return made;
}

static void forget_late(struct sma_state *state, const struct sma_state_contact_entry *contact)
{
    for (size_t i = 0; contact->is_late && i < state->late.count; i++) {
        if (state->late.items[i] != contact)
            continue;
        state->late.items[i] = state->late.items[--state->late.count];
        return;
    }
}

void sma_state_contact_swap(struct sma_state *state, struct sma_state_contact_entry *out,
                            struct sma_state_contact_entry *in)
{
    if (out != NULL) {
        struct sma_state_contact_entry **link = bucket_of(state, out->hash);
        while (*link != out)
            link = &(*link)->next;
        *link = out->next;
        state->contact_count--;
        forget_late(state, out);
    }
    if (in != NULL) {
        /* One that comes back by undoing may still be waiting to be written. */
        in->is_late = in->is_late && SMA_STATE_RESERVE(state->late) == SMA_ERR_OK;
        if (in->is_late)
            SMA_STATE_PUSH(state->late, in);
        in->next = *bucket_of(state, in->hash);
        *bucket_of(state, in->hash) = in;
        state->contact_count++;
    }
}

void sma_state_contacts_free(struct sma_state *state)
{
    for (size_t i = 0; i < state->contact_bucket_count; i++) {
        struct sma_state_contact_entry *next;
        for (struct sma_state_contact_entry *at = state->contact_buckets[i]; at != NULL;
             at = next) {
            next = at->next;
            free(at);
        }
    }
    free((void *)state->contact_buckets);
    free((void *)state->late.items);
}

static enum sma_err write_contact(struct sma_state *state,
                                  const struct sma_state_contact_entry *contact)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_SET);
    if (stmt == NULL)
        return state->error.code;
    const struct sma_state_contact *pub = &contact->pub;
    (void)sqlite3_bind_int64(stmt, 1, contact->id); /* valid indexes cannot fail */
    sma_state_bind(stmt, 2, pub->channel, true);
    sma_state_bind(stmt, 3, pub->user_name, true);
    sma_state_bind(stmt, 4, pub->chat_id, true);
    sma_state_bind(stmt, 5, pub->chat_key, true);
    sma_state_bind(stmt, 6, pub->chat_type, true);
    sma_state_bind(stmt, 7, pub->thread_id, true);
    sma_state_bind(stmt, 8, pub->user_id, true);
    sma_state_bind(stmt, 9, pub->message_id, true);
    (void)sqlite3_bind_int64(stmt, 10, pub->wall_ms);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_contacts_flush(struct sma_state *state, size_t count_max)
{
    enum sma_err err = SMA_ERR_OK;
    for (; count_max > 0 && state->late.count > 0 && err == SMA_ERR_OK; count_max--) {
        struct sma_state_contact_entry *contact = state->late.items[state->late.count - 1];
        err = write_contact(state, contact);
        contact->is_late = err != SMA_ERR_OK;
        state->late.count -=
            err == SMA_ERR_OK; /* should the commit fail, the row stays a little old */
    }
    return err;
}

static bool is_same_place(const struct sma_state_contact *a, const struct sma_state_contact *b)
{
    return sma_str_is_equal(a->user_name, b->user_name) &&
           sma_str_is_equal(a->chat_id, b->chat_id) && sma_str_is_equal(a->chat_key, b->chat_key) &&
           sma_str_is_equal(a->chat_type, b->chat_type) &&
           sma_str_is_equal(a->thread_id, b->thread_id) && sma_str_is_equal(a->user_id, b->user_id);
}

/* Same place, newer message: change it in memory, write it by and by. */
static enum sma_err touch(struct sma_state *state, struct sma_state_contact_entry *known,
                          const struct sma_state_contact *contact)
{
    if (!known->is_late) {
        if (SMA_STATE_RESERVE(state->late) != SMA_ERR_OK)
            return SMA_ERR_OK; /* only the row stays a little old */
        known->is_late = true;
        SMA_STATE_PUSH(state->late, known);
    }
    if (contact->message_id.len > 0)
        memmove((char *)(uintptr_t)known->pub.message_id.ptr, contact->message_id.ptr,
                contact->message_id.len);
    known->pub.message_id.len = contact->message_id.len;
    known->pub.wall_ms = contact->wall_ms;
    return SMA_ERR_OK;
}

enum sma_err sma_state_contact_put(struct sma_state *state, const struct sma_state_contact *contact)
{
    struct sma_state_contact wanted = *contact;
    wanted.user_name = sma_str_trim(contact->user_name);
    if (wanted.user_name.len == 0 || wanted.user_name.len > NAME_BYTES_MAX ||
        wanted.channel.len == 0 || wanted.chat_key.len == 0 || wanted.chat_id.len == 0)
        return SMA_ERR_OK;
    struct sma_state_contact_entry *known = find_former(state, &wanted);
    if (known != NULL && is_same_place(&known->pub, &wanted) &&
        wanted.message_id.len <= known->message_id_capacity)
        return touch(state, known, &wanted);
    enum sma_err err = sma_state_change(state);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_state_contact_entry *made =
        grow_buckets(state) != SMA_ERR_OK
            ? NULL
            : make_contact(state, &wanted, known != NULL ? known->id : state->contact_last_id + 1);
    if (made == NULL)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    err = sma_state_undo_push(
        state, (struct sma_state_undo){.kind = SMA_UNDO_CONTACT, .p = known, .q = made});
    if (err != SMA_ERR_OK) {
        free(made);
        return err;
    }
    if (known == NULL)
        state->contact_last_id++;
    sma_state_contact_swap(state, known, made);
    return write_contact(state, made);
}

enum sma_err sma_state_contact_find(struct sma_state *state, struct sma_str channel,
                                    struct sma_str user_name, struct sma_state_contact *ret_contact)
{
    const struct sma_state_contact_entry *found =
        find_contact(state, channel, sma_str_trim(user_name));
    if (found == NULL)
        return SMA_ERR_NOTFOUND;
    *ret_contact = found->pub;
    return SMA_ERR_OK;
}

uint32_t sma_state_contacts_named(struct sma_state *state, struct sma_str channel,
                                  struct sma_str user_name, struct sma_state_contact *ret_contacts,
                                  uint32_t max)
{
    uint32_t count = 0;
    user_name = sma_str_trim(user_name);
    if (state->contact_bucket_count == 0)
        return 0;
    uint64_t hash = hash_name(state, user_name);
    for (struct sma_state_contact_entry *at = *bucket_of(state, hash); at != NULL; at = at->next) {
        if (at->hash != hash || !sma_str_is_equal_nocase(at->pub.user_name, user_name) ||
            (channel.len > 0 && !sma_str_is_equal(at->pub.channel, channel)))
            continue;
        uint32_t place = count < max ? count : max;
        while (place > 0 && ret_contacts[place - 1].wall_ms < at->pub.wall_ms) {
            if (place < max)
                ret_contacts[place] = ret_contacts[place - 1];
            place--;
        }
        if (place < max)
            ret_contacts[place] = at->pub;
        count += count < max;
    }
    return count;
}

enum sma_err sma_state_contact_of(struct sma_state *state, struct sma_str channel,
                                  struct sma_str user_id, struct sma_state_contact *ret_contact)
{
    const struct sma_state_contact_entry *best = NULL;
    for (size_t i = 0; i < state->contact_bucket_count; i++) {
        const struct sma_state_contact_entry *at = state->contact_buckets[i];
        for (; at != NULL; at = at->next)
            if (sma_str_is_equal(at->pub.user_id, user_id) &&
                sma_str_is_equal(at->pub.channel, channel) &&
                (best == NULL || at->pub.wall_ms > best->pub.wall_ms))
                best = at;
    }
    if (best == NULL || user_id.len == 0)
        return SMA_ERR_NOTFOUND;
    *ret_contact = best->pub;
    return SMA_ERR_OK;
}

static enum sma_err load_contact(struct sma_state *state, sqlite3_stmt *stmt)
{
    const struct sma_state_contact from = {
        .channel = sma_state_column(stmt, 1),
        .user_name = sma_state_column(stmt, 2),
        .chat_id = sma_state_column(stmt, 3),
        .chat_key = sma_state_column(stmt, 4),
        .chat_type = sma_state_column(stmt, 5),
        .thread_id = sma_state_column(stmt, 6),
        .user_id = sma_state_column(stmt, 7),
        .message_id = sma_state_column(stmt, 8),
        .wall_ms = sqlite3_column_int64(stmt, 9),
    };
    int64_t id = sqlite3_column_int64(stmt, 0);
    struct sma_state_contact_entry *made =
        grow_buckets(state) == SMA_ERR_OK ? make_contact(state, &from, id) : NULL;
    if (made == NULL)
        return SMA_ERR_NOMEM;
    state->contact_last_id = id;
    sma_state_contact_swap(state, NULL, made);
    return SMA_ERR_OK;
}

enum sma_err sma_state_contacts_load(struct sma_state *state)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_EACH);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = load_contact(state, stmt);
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read contacts");
    sma_state_done(stmt);
    return err;
}
