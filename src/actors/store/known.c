/*
 * Who was there before people were paired: everybody with a line in a history, in the contacts or
 * as the author of a row becomes a member, once in the life of a project. And the chats that were
 * there before groups were let in stay in, once too.
 *
 * A mark in state.db says that each was done, and so does a file beside it: strangers write into
 * histories too, so a project that has lost its state.db must not take them for members, nor their
 * groups for ours. Interrupted, it begins again and finds those that it has written.
 */
#include "people.h"
#include "people_priv.h"
#include "record.h"
#include "store.h"

#include <stdlib.h>

#define KNOWN_MARK "people.imported"
#define GROUPS_MARK "groups.imported"
#define KNOWN_BATCH_COUNT 2000

struct knowing
{
    struct sma_store *store;
    bool wants_people, wants_groups;
    uint64_t count, group_count;
    uint32_t batch_count;
    bool may_commit;          /* no statement is being read */
    struct sma_buf last;      /* "<channel>/<user id>" of the line before */
    struct sma_buf last_chat; /* likewise, of the chat */
};

/* So many were written that they are committed. */
static SMA_CHECKED enum sma_err end_one(struct knowing *knowing)
{
    struct sma_store *store = knowing->store;
    if (++knowing->batch_count < KNOWN_BATCH_COUNT || !knowing->may_commit)
        return SMA_ERR_OK;
    knowing->batch_count = 0;
    enum sma_err err = sma_state_commit(store->state);
    return err == SMA_ERR_OK ? sma_state_begin(store->state) : err;
}

static bool is_platform(struct sma_str channel)
{
    return channel.len > 0 && channel.len <= SMA_ID_BYTES_MAX &&
           !sma_access_is_trusted_channel(channel) &&
           !sma_str_is_equal(channel, SMA_STR("scheduler"));
}

/* What kind of chat it is old lines do not say. The record of a private one means nothing: nobody
 * asks for it. */
static SMA_CHECKED enum sma_err know_chat(struct knowing *knowing, struct sma_str channel,
                                          struct sma_str chat_id)
{
    struct sma_store *store = knowing->store;
    bool is_new;
    if (!knowing->wants_groups || !is_platform(channel) || chat_id.len == 0 ||
        chat_id.len > SMA_ID_BYTES_MAX)
        return SMA_ERR_OK;
    enum sma_err err = sma_store_people_key(store, "", channel, chat_id);
    if (err != SMA_ERR_OK ||
        sma_str_is_equal(sma_buf_str(&store->people->key), sma_buf_str(&knowing->last_chat)))
        return err;
    sma_buf_clear(&knowing->last_chat);
    sma_buf_put_str(&knowing->last_chat, sma_buf_str(&store->people->key));
    err = sma_store_group_keep(store, channel, chat_id, &is_new);
    knowing->group_count += err == SMA_ERR_OK && is_new;
    return err == SMA_ERR_OK && is_new ? end_one(knowing) : err;
}

static SMA_CHECKED enum sma_err know(struct knowing *knowing, struct sma_str channel,
                                     struct sma_str user_id, const char *via)
{
    struct sma_store *store = knowing->store;
    if (!knowing->wants_people || !is_platform(channel) || user_id.len == 0 ||
        user_id.len > SMA_ID_BYTES_MAX)
        return SMA_ERR_OK;
    enum sma_err err = sma_store_people_key(store, "", channel, user_id);
    if (err != SMA_ERR_OK ||
        sma_str_is_equal(sma_buf_str(&store->people->key), sma_buf_str(&knowing->last)))
        return err;
    sma_buf_clear(&knowing->last);
    sma_buf_put_str(&knowing->last, sma_buf_str(&store->people->key));
    err = sma_store_people_key(store, "person/", channel, user_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    err = sma_store_person_put(store, channel, user_id, SMA_ACCESS_MEMBER, via);
    knowing->count++;
    return err == SMA_ERR_OK ? end_one(knowing) : err;
}

/* -- where they are found ---------------------------------------------------------------------- */
/* Who speaks in a private chat whose line does not say it, as old lines do not: there the chat's id
 * is the person's. */
static struct sma_str person_of_chat(const struct sma_history_entry *entry)
{
    int64_t number;
    struct sma_str key = entry->chat_key;
    bool is_person = (sma_bot_is_of(entry->channel, "telegram") &&
                      sma_parse_i64(entry->chat_id, 1, INT64_MAX, &number) == SMA_ERR_OK) ||
                     (sma_bot_is_of(entry->channel, "qq") && key.len > 0 &&
                      memmem(key.ptr, key.len, ":c2c:", 5) != NULL);
    return is_person ? entry->chat_id : SMA_STR("");
}

static enum sma_err know_line(void *user, const struct sma_history_record *record)
{
    const struct sma_history_entry *entry = &record->entry;
    /* In a private chat of Telegram the chat's id is the person's; no group has such a one. */
    enum sma_err err = person_of_chat(entry).len > 0
                           ? SMA_ERR_OK
                           : know_chat(user, entry->channel, entry->chat_id);
    if (err != SMA_ERR_OK || !sma_str_is_equal(entry->role, SMA_STR("user")))
        return err;
    return know(user, entry->channel,
                entry->user_id.len > 0 ? entry->user_id : person_of_chat(entry), "history");
}

static enum sma_err know_contact(void *user, const struct sma_state_contact *contact)
{
    SMA_TRY(sma_str_is_equal(contact->chat_id, contact->user_id)
                ? SMA_ERR_OK
                : know_chat(user, contact->channel, contact->chat_id));
    return know(user, contact->channel, contact->user_id, "history");
}

static enum sma_err know_author_of_row(void *user, const struct sma_state_chat *chat,
                                       struct sma_str user_id)
{
    return know(user, chat->channel, user_id, "history");
}

/* telegram.chatId of old files: the operator's own chat, which the old program wrote down and never
 * used. */
static SMA_CHECKED enum sma_err know_operator(struct knowing *knowing)
{
    const struct sma_config *config = knowing->store->config;
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < config->adapter_count && err == SMA_ERR_OK; i++) {
        struct sma_str name = sma_str(config->adapters[i].name);
        if (!sma_bot_is_of(name, "telegram"))
            continue;
        json_t *block = json_loads(config->adapters[i].json, 0, NULL);
        const json_t *value = json_object_get(block, "chatId");
        char text[32] = "";
        int64_t number = json_is_integer(value) ? json_integer_value(value) : 0;
        if (json_is_string(value) &&
            sma_parse_i64(sma_str(json_string_value(value)), 1, INT64_MAX, &number) != SMA_ERR_OK)
            number = 0;
        if (number > 0) {
            (void)snprintf(text, sizeof text, "%lld", (long long)number);
            err = know(knowing, name, sma_str(text), "config");
        }
        json_decref(block);
    }
    return err;
}

/* -- once -------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err know_all(struct knowing *knowing, struct sma_error *error)
{
    struct sma_store *store = knowing->store;
    knowing->may_commit = true;
    enum sma_err err = know_operator(knowing);
    if (err == SMA_ERR_OK)
        err = sma_history_walk(store->history, know_line, knowing, error);
    knowing->may_commit = false;
    if (err == SMA_ERR_OK)
        err = sma_state_each_contact(store->state, know_contact, knowing);
    if (err == SMA_ERR_OK)
        err = sma_state_each_author(store->state, know_author_of_row, knowing);
    return err;
}

static bool has_file(struct sma_store *store, const char *path)
{
    char *bytes = NULL;
    size_t len;
    enum sma_err err = sma_sys_read_file(store->sys, path, 4096, &bytes, &len, NULL);
    free(bytes);
    return err != SMA_ERR_NOTFOUND;
}

/* The file is made once the mark is durable: with it and without the mark nobody would be let in
 * again. */
static void make_file(struct sma_store *store, const char *path, const char *text)
{
    struct sma_error error = {0};
    if (!has_file(store, path) &&
        sma_sys_write_file_atomic(store->sys, path, sma_str(text), 0600, &error) != SMA_ERR_OK)
        sma_store_boot_line(store, SMA_LOG_WARN, "%s cannot be written: %s", path, error.text);
}

static SMA_CHECKED enum sma_err set_mark(struct sma_store *store, const char *mark)
{
    return sma_state_meta_set(store->state, sma_str(mark), SMA_STR("1"));
}

/* Both marks are set, whatever was wanted: what is lost is not looked for again. */
static SMA_CHECKED enum sma_err import(struct knowing *knowing, struct sma_error *error)
{
    struct sma_store *store = knowing->store;
    sma_buf_init(&knowing->last, 4 * SMA_ID_BYTES_MAX);
    sma_buf_init(&knowing->last_chat, 4 * SMA_ID_BYTES_MAX);
    enum sma_err err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK && (knowing->wants_people || knowing->wants_groups))
        err = know_all(knowing, error);
    if (err == SMA_ERR_OK)
        err = set_mark(store, KNOWN_MARK);
    if (err == SMA_ERR_OK)
        err = set_mark(store, GROUPS_MARK);
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    sma_buf_fini(&knowing->last);
    sma_buf_fini(&knowing->last_chat);
    if (err == SMA_ERR_OK && knowing->count > 0)
        sma_store_boot_line(store, SMA_LOG_INFO,
                            "%llu people who were here before are members from now on; strangers "
                            "are paired (docs/notes/roles.md)",
                            (unsigned long long)knowing->count);
    if (err == SMA_ERR_OK && knowing->group_count > 0)
        sma_store_boot_line(store, SMA_LOG_INFO,
                            "%llu chats of the history stay let in, should they be groups: their "
                            "administrators count as such; `shipmyagent pair` lists them, `pair "
                            "reject` takes one out (docs/notes/roles.md)",
                            (unsigned long long)knowing->group_count);
    return err;
}

static SMA_CHECKED enum sma_err has_mark(struct sma_store *store, const char *mark, bool *ret_has)
{
    char done[8];
    enum sma_err err = sma_state_meta_get(store->state, sma_str(mark), done, sizeof done);
    *ret_has = err == SMA_ERR_OK && strcmp(done, "1") == 0;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

struct marks
{
    bool has_people, has_groups;
    char people_path[4096], groups_path[4096];
};

static SMA_CHECKED enum sma_err import_missing(struct sma_store *store, const struct marks *marks,
                                               struct sma_error *error)
{
    bool is_lost = !marks->has_people && has_file(store, marks->people_path);
    bool are_groups_lost = !marks->has_groups && (is_lost || has_file(store, marks->groups_path));
    if (is_lost || are_groups_lost)
        sma_store_boot_line(store, SMA_LOG_WARN,
                            "state.db is new or old: who was paired, or which group was let in, "
                            "is forgotten and has to be confirmed again; the roles and groups of "
                            "ship.json hold as before");
    struct knowing knowing = {.store = store,
                              .wants_people = !marks->has_people && !is_lost,
                              .wants_groups = !marks->has_groups && !are_groups_lost};
    return import(&knowing, error);
}

enum sma_err sma_store_import_people(struct sma_store *store, struct sma_error *error)
{
    struct marks marks = {0};
    const char *dir = store->config->state_dir;
    (void)snprintf(marks.people_path, sizeof marks.people_path, "%s/people.imported", dir);
    (void)snprintf(marks.groups_path, sizeof marks.groups_path, "%s/groups.imported", dir);
    enum sma_err err = has_mark(store, KNOWN_MARK, &marks.has_people);
    if (err == SMA_ERR_OK)
        err = has_mark(store, GROUPS_MARK, &marks.has_groups);
    if (err == SMA_ERR_OK && !(marks.has_people && marks.has_groups))
        err = import_missing(store, &marks, error);
    if (err == SMA_ERR_OK) {
        make_file(store, marks.people_path,
                  "People of the history were made members once; see docs/notes/roles.md.\n");
        make_file(store, marks.groups_path,
                  "Groups of the history were let in once; see docs/notes/roles.md.\n");
        return SMA_ERR_OK;
    }
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    if (err == SMA_ERR_NOSPACE)
        /* the service starts, says that the disk is full, and imports at the next start */
        return SMA_ERR_OK;
    return error->text[0] != '\0' ? err
                                  : sma_fail(error, err, "people cannot be imported: %s",
                                             sma_state_error(store->state)->text);
}
