/*
 * Contacts: who was seen where. Those of one name are read together when the name is asked for, and
 * kept for a while; nothing else of them is in memory.
 *
 * A newer message in the same place changes memory at once and its row by and by ("late"), so that
 * an ordinary message writes no page of this table. What is late is kept until it is written;
 * beyond LATE_MAX the row stays a little old.
 */
#include "runtime/chat/state_priv.h"
#include "sma/text.h"

#include <stdlib.h>

#define NAME_BYTES_MAX SMA_NAME_BYTES_MAX
#define NAMES_KEPT_MAX 4096
#define LATE_MAX 8192

struct sma_state_name
{
    struct sma_state_name *next;          /* with the same hash */
    struct sma_state_name *newer, *older; /* in order of use */
    struct sma_state_contact_entry *first;
    uint64_t hash; /* of the lower-cased name */
    size_t len;
    char bytes[]; /* lower-cased */
};

static size_t lower(struct sma_str name, char bytes[NAME_BYTES_MAX])
{
    size_t len = name.len < NAME_BYTES_MAX ? name.len : NAME_BYTES_MAX;
    for (size_t i = 0; i < len; i++)
        bytes[i] =
            (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] + 32 : name.ptr[i]);
    return len;
}

static struct sma_state_name **bucket_of(struct sma_state *state, uint64_t hash)
{
    return &state->names.buckets[hash & (SMA_STATE_NAME_BUCKETS - 1)];
}

/* -- what is kept ------------------------------------------------------------------------------ */

static void unlink_use(struct sma_state_names *names, struct sma_state_name *name)
{
    *(name->newer == NULL ? &names->newest : &name->newer->older) = name->older;
    *(name->older == NULL ? &names->oldest : &name->older->newer) = name->newer;
}

static void link_use(struct sma_state_names *names, struct sma_state_name *name)
{
    name->newer = NULL;
    name->older = names->newest;
    *(names->newest == NULL ? &names->oldest : &names->newest->newer) = name;
    names->newest = name;
}

static void free_name(struct sma_state_name *name)
{
    for (struct sma_state_contact_entry *at = name->first, *next; at != NULL; at = next) {
        next = at->next;
        free(at);
    }
    free(name);
}

static bool has_late(const struct sma_state_name *name)
{
    for (const struct sma_state_contact_entry *at = name->first; at != NULL; at = at->next)
        if (at->is_late)
            return true;
    return false;
}

static void drop_name(struct sma_state *state, struct sma_state_name *name)
{
    struct sma_state_name **link = bucket_of(state, name->hash);
    while (*link != name)
        link = &(*link)->next;
    *link = name->next;
    unlink_use(&state->names, name);
    state->names.count--;
    free_name(name);
}

/* As with chats: when a transaction begins, no undo log points to them. */
void sma_state_contacts_sweep(struct sma_state *state)
{
    struct sma_state_names *names = &state->names;
    uint64_t steps = 32 + 2 * (names->reads - names->reads_swept);
    names->reads_swept = names->reads;
    for (; names->count > names->kept_max && steps > 0; steps--) {
        struct sma_state_name *name = names->oldest;
        if (!has_late(name)) {
            drop_name(state, name);
            continue;
        }
        unlink_use(names, name);
        link_use(names, name);
    }
}

void sma_state_set_names_kept(struct sma_state *state, uint32_t count)
{
    state->names.kept_max = count;
}

void sma_state_contacts_free(struct sma_state *state)
{
    while (state->names.newest != NULL) {
        struct sma_state_name *name = state->names.newest;
        state->names.newest = name->older;
        free_name(name);
    }
    free((void *)state->names.buckets);
    free((void *)state->late.items);
}

static struct sma_str append(char **at, struct sma_str from)
{
    struct sma_str to = {*at, from.len};
    if (from.len > 0)
        memcpy(*at, from.ptr, from.len);
    *at += from.len;
    return to;
}

static struct sma_state_contact_entry *make_contact(const struct sma_state_contact *from,
                                                    int64_t id)
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
    made->name = NULL;
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

/* The row under the statement. */
static struct sma_state_contact_entry *read_contact(sqlite3_stmt *stmt)
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
    return make_contact(&from, sqlite3_column_int64(stmt, 0));
}

static struct sma_state_name *find_kept(struct sma_state *state, struct sma_str lowered)
{
    uint64_t hash = sma_siphash(state->key, lowered.ptr, lowered.len);
    struct sma_state_name *name = *bucket_of(state, hash);
    while (name != NULL && (name->hash != hash || name->len != lowered.len ||
                            memcmp(name->bytes, lowered.ptr, lowered.len) != 0))
        name = name->next;
    return name;
}

static SMA_CHECKED enum sma_err read_all(struct sma_state *state, struct sma_state_name *name)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_NAMED);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, (struct sma_str){name->bytes, name->len}, true);
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct sma_state_contact_entry *made = read_contact(stmt);
        if (made == NULL) {
            err = sma_state_fail(state, SQLITE_NOMEM, "read contacts");
            continue;
        }
        made->name = name;
        made->next = name->first;
        name->first = made;
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read contacts");
    sma_state_done(stmt);
    return err;
}

/* Everybody of this name, read if need be. */
static SMA_CHECKED enum sma_err open_name(struct sma_state *state, struct sma_str user_name,
                                          struct sma_state_name **ret_name)
{
    char bytes[NAME_BYTES_MAX];
    struct sma_str lowered = {bytes, lower(user_name, bytes)};
    struct sma_state_name *name = find_kept(state, lowered);
    if (name != NULL) {
        unlink_use(&state->names, name);
        link_use(&state->names, name);
        *ret_name = name;
        return SMA_ERR_OK;
    }
    name = calloc(1, sizeof *name + lowered.len);
    if (name == NULL)
        return sma_state_fail(state, SQLITE_NOMEM, "read contacts");
    name->hash = sma_siphash(state->key, lowered.ptr, lowered.len);
    name->len = lowered.len;
    memcpy(name->bytes, bytes, lowered.len);
    enum sma_err err = read_all(state, name);
    if (err != SMA_ERR_OK) {
        free_name(name);
        return err;
    }
    struct sma_state_name **bucket = bucket_of(state, name->hash);
    name->next = *bucket;
    *bucket = name;
    link_use(&state->names, name);
    state->names.count++;
    state->names.reads++;
    *ret_name = name;
    return SMA_ERR_OK;
}

enum sma_err sma_state_contacts_load(struct sma_state *state)
{
    state->names.kept_max = NAMES_KEPT_MAX;
    state->names.buckets = calloc(SMA_STATE_NAME_BUCKETS, sizeof *state->names.buckets);
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_LAST);
    if (stmt == NULL || state->names.buckets == NULL)
        return stmt == NULL ? state->error.code : SMA_ERR_NOMEM;
    int rc = sqlite3_step(stmt);
    state->contact_last_id = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    sma_state_done(stmt);
    return rc == SQLITE_ROW ? SMA_ERR_OK : sma_state_fail(state, rc, "read contacts");
}

/* -- changes ----------------------------------------------------------------------------------- */

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
        struct sma_state_contact_entry **link = &out->name->first;
        while (*link != out)
            link = &(*link)->next;
        *link = out->next;
        forget_late(state, out);
    }
    if (in != NULL) {
        /* One that comes back by undoing may still be waiting to be written. */
        in->is_late = in->is_late && SMA_STATE_RESERVE(state->late) == SMA_ERR_OK;
        if (in->is_late)
            SMA_STATE_PUSH(state->late, in);
        in->next = in->name->first;
        in->name->first = in;
    }
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

static enum sma_err write_late(struct sma_state *state,
                               const struct sma_state_contact_entry *contact)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_TOUCH);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, contact->id); /* valid indexes cannot fail */
    sma_state_bind(stmt, 2, contact->pub.message_id, true);
    (void)sqlite3_bind_int64(stmt, 3, contact->pub.wall_ms);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_contacts_flush(struct sma_state *state, size_t count_max)
{
    enum sma_err err = SMA_ERR_OK;
    for (; count_max > 0 && state->late.count > 0 && err == SMA_ERR_OK; count_max--) {
        struct sma_state_contact_entry *contact = state->late.items[state->late.count - 1];
        err = write_late(state, contact);
        contact->is_late = err != SMA_ERR_OK;
        state->late.count -=
            err == SMA_ERR_OK; /* should the commit fail, the row stays a little old */
    }
    return err;
}

/* Where an old file does not say who it is, the chat tells. */
static bool is_same_person(const struct sma_state_contact *a, const struct sma_state_contact *b)
{
    if ((a->user_id.len == 0) != (b->user_id.len == 0))
        return sma_str_is_equal(a->chat_id, b->chat_id);
    return sma_str_is_equal(a->user_id, b->user_id);
}

/* What this one takes the place of: the same person under the same name or, when too many share it,
 * the longest unseen. */
static struct sma_state_contact_entry *find_former(const struct sma_state_name *name,
                                                   const struct sma_state_contact *contact)
{
    struct sma_state_contact_entry *oldest = NULL;
    uint32_t count = 0;
    for (struct sma_state_contact_entry *at = name->first; at != NULL; at = at->next) {
        if (!sma_str_is_equal(at->pub.channel, contact->channel))
            continue;
        if (is_same_person(&at->pub, contact))
            return at;
        count++;
        if (oldest == NULL || at->pub.wall_ms < oldest->pub.wall_ms)
            oldest = at;
    }
    return count >= SMA_STATE_NAMESAKE_COUNT_MAX ? oldest : NULL;
}

static bool is_same_place(const struct sma_state_contact *a, const struct sma_state_contact *b)
{
    return sma_str_is_equal(a->user_name, b->user_name) &&
           sma_str_is_equal(a->chat_id, b->chat_id) && sma_str_is_equal(a->chat_key, b->chat_key) &&
           sma_str_is_equal(a->chat_type, b->chat_type) &&
           sma_str_is_equal(a->thread_id, b->thread_id) && sma_str_is_equal(a->user_id, b->user_id);
}

/* Same place, newer message: change it in memory, write it by and by. */
static void touch(struct sma_state *state, struct sma_state_contact_entry *known,
                  const struct sma_state_contact *contact)
{
    if (!known->is_late && state->late.count < LATE_MAX &&
        SMA_STATE_RESERVE(state->late) == SMA_ERR_OK) {
        known->is_late = true;
        SMA_STATE_PUSH(state->late, known);
    }
    if (contact->message_id.len > 0)
        memmove((char *)(uintptr_t)known->pub.message_id.ptr, contact->message_id.ptr,
                contact->message_id.len);
    known->pub.message_id.len = contact->message_id.len;
    known->pub.wall_ms = contact->wall_ms;
}

static SMA_CHECKED enum sma_err replace(struct sma_state *state, struct sma_state_name *name,
                                        struct sma_state_contact_entry *known,
                                        const struct sma_state_contact *wanted)
{
    struct sma_state_contact_entry *made =
        make_contact(wanted, known != NULL ? known->id : state->contact_last_id + 1);
    if (made == NULL)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    made->name = name;
    enum sma_err err = sma_state_undo_push(
        state, (struct sma_state_undo){.kind = SMA_UNDO_CONTACT, .p = known, .q = made});
    if (err != SMA_ERR_OK) {
        free(made);
        return err;
    }
    if (known == NULL)
        state->contact_last_id++;
    state->contact_news++;
    sma_state_contact_swap(state, known, made);
    return write_contact(state, made);
}

enum sma_err sma_state_contact_put(struct sma_state *state, const struct sma_state_contact *contact)
{
    struct sma_state_contact wanted = *contact;
    struct sma_state_name *name = NULL;
    wanted.user_name = sma_str_trim(contact->user_name);
    if (wanted.user_name.len == 0 || wanted.user_name.len > NAME_BYTES_MAX ||
        wanted.channel.len == 0 || wanted.chat_key.len == 0 || wanted.chat_id.len == 0)
        return SMA_ERR_OK;
    enum sma_err err = open_name(state, wanted.user_name, &name);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_state_contact_entry *known = find_former(name, &wanted);
    if (known != NULL && is_same_place(&known->pub, &wanted) &&
        wanted.message_id.len <= known->message_id_capacity) {
        touch(state, known, &wanted);
        return SMA_ERR_OK;
    }
    err = sma_state_change(state);
    return err == SMA_ERR_OK ? replace(state, name, known, &wanted) : err;
}

/* One row at a time: the next look finds the next one. */
static SMA_CHECKED enum sma_err forget_first(struct sma_state *state, struct sma_str chat_key,
                                             bool *ret_was_there)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_OF_CHAT);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, chat_key, true);
    int rc = sqlite3_step(stmt);
    int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    struct sma_state_name *name = NULL;
    enum sma_err err = rc == SQLITE_ROW    ? open_name(state, sma_state_column(stmt, 1), &name)
                       : rc == SQLITE_DONE ? SMA_ERR_OK
                                           : sma_state_fail(state, rc, "look for contacts");
    sma_state_done(stmt);
    *ret_was_there = name != NULL;
    if (err != SMA_ERR_OK || name == NULL)
        return err;
    struct sma_state_contact_entry *known = name->first;
    while (known != NULL && known->id != id)
        known = known->next;
    stmt = sma_state_statement(state, SMA_SQL_CONTACT_DELETE);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, id); /* a valid index cannot fail */
    err = sma_state_run(state, stmt);
    if (err == SMA_ERR_OK && known != NULL)
        err = sma_state_undo_push(state,
                                  (struct sma_state_undo){.kind = SMA_UNDO_CONTACT, .p = known});
    if (err == SMA_ERR_OK && known != NULL)
        sma_state_contact_swap(state, known, NULL);
    state->contact_news++;
    return err;
}

enum sma_err sma_state_contacts_forget(struct sma_state *state, struct sma_str chat_key,
                                       uint32_t rows_max, uint32_t *ret_removed)
{
    enum sma_err err = SMA_ERR_OK;
    bool was_there = true;
    for (*ret_removed = 0; err == SMA_ERR_OK && was_there && *ret_removed < rows_max;) {
        err = forget_first(state, chat_key, &was_there);
        *ret_removed += was_there;
    }
    return err;
}

uint64_t sma_state_contact_news(const struct sma_state *state)
{
    return state->contact_news;
}

/* -- questions --------------------------------------------------------------------------------- */

uint32_t sma_state_contacts_named(struct sma_state *state, struct sma_str channel,
                                  struct sma_str user_name, struct sma_state_contact *ret_contacts,
                                  uint32_t max)
{
    uint32_t count = 0;
    struct sma_state_name *name = NULL;
    if (open_name(state, sma_str_trim(user_name), &name) != SMA_ERR_OK)
        return 0;
    for (struct sma_state_contact_entry *at = name->first; at != NULL; at = at->next) {
        if (channel.len > 0 && !sma_str_is_equal(at->pub.channel, channel))
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

enum sma_err sma_state_contact_find(struct sma_state *state, struct sma_str channel,
                                    struct sma_str user_name, struct sma_state_contact *ret_contact)
{
    return sma_state_contacts_named(state, channel, user_name, ret_contact, 1) == 0
               ? SMA_ERR_NOTFOUND
               : SMA_ERR_OK;
}

/* The contact of this row as it is in memory, if it is there. */
static const struct sma_state_contact_entry *kept_of(struct sma_state *state,
                                                     struct sma_str user_name, int64_t id)
{
    char bytes[NAME_BYTES_MAX];
    const struct sma_state_name *name =
        find_kept(state, (struct sma_str){bytes, lower(user_name, bytes)});
    const struct sma_state_contact_entry *at = name == NULL ? NULL : name->first;
    while (at != NULL && at->id != id)
        at = at->next;
    return at;
}

/* Rows of one person are few: one for each name they bore. */
enum sma_err sma_state_contact_of(struct sma_state *state, struct sma_str channel,
                                  struct sma_str user_id, struct sma_state_contact *ret_contact)
{
    sqlite3_stmt *stmt =
        user_id.len == 0 ? NULL : sma_state_statement(state, SMA_SQL_CONTACT_PERSON);
    if (stmt == NULL)
        return user_id.len == 0 ? SMA_ERR_NOTFOUND : state->error.code;
    sma_state_bind(stmt, 1, user_id, true);
    sma_state_bind(stmt, 2, channel, true);
    const struct sma_state_contact_entry *best = NULL;
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct sma_state_name *name = NULL;
        err = open_name(state, sma_state_column(stmt, 1), &name);
        const struct sma_state_contact_entry *at =
            err == SMA_ERR_OK
                ? kept_of(state, sma_state_column(stmt, 1), sqlite3_column_int64(stmt, 0))
                : NULL;
        if (at != NULL && (best == NULL || at->pub.wall_ms > best->pub.wall_ms))
            best = at;
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "look for a contact");
    sma_state_done(stmt);
    if (err != SMA_ERR_OK || best == NULL)
        return err != SMA_ERR_OK ? err : SMA_ERR_NOTFOUND;
    *ret_contact = best->pub;
    return SMA_ERR_OK;
}

enum sma_err sma_state_contact_get(struct sma_state *state, int64_t id, sma_state_contact_fn *each,
                                   void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_GET);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, id); /* a valid index cannot fail */
    int rc = sqlite3_step(stmt);
    struct sma_state_contact_entry *made = rc == SQLITE_ROW ? read_contact(stmt) : NULL;
    sma_state_done(stmt); /* the read is over: the callback may act */
    if (made == NULL)
        return rc == SQLITE_DONE
                   ? SMA_ERR_NOTFOUND
                   : sma_state_fail(state, rc == SQLITE_ROW ? SQLITE_NOMEM : rc, "read a contact");
    const struct sma_state_contact_entry *kept = kept_of(state, made->pub.user_name, id);
    enum sma_err err = each(user, kept != NULL ? &kept->pub : &made->pub);
    free(made);
    return err;
}

enum sma_err sma_state_contact_in(struct sma_state *state, struct sma_str chat_key,
                                  sma_state_contact_fn *each, void *user)
{
    uint64_t id;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_OF_CHAT);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, chat_key, true);
    SMA_TRY(sma_state_ask_number(state, stmt, &id));
    return sma_state_contact_get(state, (int64_t)id, each, user);
}

enum sma_err sma_state_contact_times(struct sma_state *state, int64_t after_id,
                                     struct sma_state_contact_time *times, uint32_t max,
                                     uint32_t *ret_count)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CONTACT_TIMES);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, after_id); /* valid indexes cannot fail */
    (void)sqlite3_bind_int64(stmt, 2, max);
    uint32_t count = 0;
    int rc = SQLITE_ROW;
    while (count < max && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        times[count++] = (struct sma_state_contact_time){.id = sqlite3_column_int64(stmt, 0),
                                                         .wall_ms = sqlite3_column_int64(stmt, 1)};
    sma_state_done(stmt);
    *ret_count = count;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SMA_ERR_OK
                                                 : sma_state_fail(state, rc, "read contacts");
}

enum sma_err sma_state_each_contact(struct sma_state *state, sma_state_contact_fn *each, void *user)
{
    struct sma_state_contact_time times[64];
    uint32_t count = 1;
    int64_t last = 0;
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && count > 0) {
        err = sma_state_contact_times(state, last, times, SMA_COUNT_OF(times), &count);
        for (uint32_t i = 0; i < count && err == SMA_ERR_OK; i++) {
            last = times[i].id;
            err = sma_state_contact_get(state, last, each, user);
        }
    }
    return err;
}
