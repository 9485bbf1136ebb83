/*
 * Who was there before people were paired: everybody with a line in a history, in the contacts or as the author of a row
 * becomes a member, once in the life of a project.
 *
 * A mark in state.db says that it was done, and so does a file beside it: strangers write into histories too, so a
 * project that has lost its state.db must not take them for members. Interrupted, it begins again and finds those that
 * it has written.
 */
#include "store_people.h"

#include <stdlib.h>

#define KNOWN_MARK "people.imported"
#define KNOWN_BATCH_COUNT 2000

struct knowing
{
    struct sma_store *store;
    uint64_t count;
    uint32_t batch_count;
    bool may_commit;     /* no statement is being read */
    struct sma_buf last; /* "<channel>/<user id>" of the line before */
};

static SMA_CHECKED enum sma_err know(struct knowing *knowing, struct sma_str channel,
                                     struct sma_str user_id, const char *via)
{
    struct sma_store *store = knowing->store;
    if (channel.len == 0 || channel.len > SMA_ID_BYTES_MAX || user_id.len == 0 ||
        user_id.len > SMA_ID_BYTES_MAX || sma_access_is_trusted_channel(channel) ||
        sma_str_is_equal(channel, SMA_STR("scheduler")))
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
    if (err != SMA_ERR_OK || ++knowing->batch_count < KNOWN_BATCH_COUNT || !knowing->may_commit)
        return err;
    knowing->batch_count = 0;
    err = sma_state_commit(store->state);
    return err == SMA_ERR_OK ? sma_state_begin(store->state) : err;
}

/* -- where they are found --------------------------------------------------------------------------------------- */
/* Who speaks in a private chat whose line does not say it, as old lines do not: there the chat's id is the person's. */
static struct sma_str person_of_chat(const struct sma_history_entry *entry)
{
    int64_t number;
    bool is_person = (sma_str_is_equal(entry->channel, SMA_STR("telegram")) &&
                      sma_parse_i64(entry->chat_id, 1, INT64_MAX, &number) == SMA_ERR_OK) ||
                     sma_str_starts_with(entry->chat_key, SMA_STR("qq:c2c:"));
    return is_person ? entry->chat_id : SMA_STR("");
}

static enum sma_err know_author_of_line(void *user, const struct sma_history_record *record)
{
    const struct sma_history_entry *entry = &record->entry;
    if (!sma_str_is_equal(entry->role, SMA_STR("user")))
        return SMA_ERR_OK;
    return know(user, entry->channel,
                entry->user_id.len > 0 ? entry->user_id : person_of_chat(entry), "history");
}

static enum sma_err know_contact(void *user, const struct sma_state_contact *contact)
{
    return know(user, contact->channel, contact->user_id, "history");
}

static enum sma_err know_author_of_row(void *user, const struct sma_state_chat *chat,
                                       struct sma_str user_id)
{
    return know(user, chat->channel, user_id, "history");
}

/* telegram.chatId of old files: the operator's own chat, which the old program wrote down and never used. */
static SMA_CHECKED enum sma_err know_operator(struct knowing *knowing)
{
    const struct sma_config *config = knowing->store->config;
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < config->adapter_count && err == SMA_ERR_OK; i++) {
        if (strcmp(config->adapters[i].name, "telegram") != 0)
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
            err = know(knowing, SMA_STR("telegram"), sma_str(text), "config");
        }
        json_decref(block);
    }
    return err;
}

/* -- once ------------------------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err know_all(struct knowing *knowing, struct sma_error *error)
{
    struct sma_store *store = knowing->store;
    knowing->may_commit = true;
    enum sma_err err = know_operator(knowing);
    if (err == SMA_ERR_OK)
        err = sma_history_walk(store->history, know_author_of_line, knowing, error);
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

/* The file is made once the mark is durable: with it and without the mark nobody would be let in again. */
static void make_file(struct sma_store *store, const char *path)
{
    struct sma_error error = {0};
    if (!has_file(store, path) &&
        sma_sys_write_file_atomic(
            store->sys, path,
            SMA_STR("People of the history were made members once; see docs/notes/roles.md.\n"),
            0600, &error) != SMA_ERR_OK)
        sma_store_boot_line(store, SMA_LOG_WARN, "%s cannot be written: %s", path, error.text);
}

static SMA_CHECKED enum sma_err import(struct sma_store *store, bool is_lost,
                                       struct sma_error *error)
{
    struct knowing knowing = {.store = store};
    sma_buf_init(&knowing.last, 4 * SMA_ID_BYTES_MAX);
    enum sma_err err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK && !is_lost)
        err = know_all(&knowing, error);
    if (err == SMA_ERR_OK)
        err = sma_state_meta_set(store->state, SMA_STR(KNOWN_MARK), SMA_STR("1"));
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    sma_buf_fini(&knowing.last);
    if (err == SMA_ERR_OK && knowing.count > 0)
        sma_store_boot_line(store, SMA_LOG_INFO,
                            "%llu people who were here before are members from now on; strangers "
                            "are paired (docs/notes/roles.md)",
                            (unsigned long long)knowing.count);
    return err;
}

enum sma_err sma_store_import_people(struct sma_store *store, struct sma_error *error)
{
    char done[8], path[4096];
    (void)snprintf(path, sizeof path, "%s/people.imported", store->config->state_dir);
    enum sma_err err = sma_state_meta_get(store->state, SMA_STR(KNOWN_MARK), done, sizeof done);
    bool is_done = err == SMA_ERR_OK && strcmp(done, "1") == 0;
    if (err == SMA_ERR_NOTFOUND)
        err = SMA_ERR_OK;
    if (err == SMA_ERR_OK && !is_done) {
        bool is_lost = has_file(store, path);
        if (is_lost)
            sma_store_boot_line(store, SMA_LOG_WARN,
                                "state.db is new: who was paired is forgotten and has to be "
                                "paired again; permissions.roles holds as before");
        err = import(store, is_lost, error);
    }
    if (err == SMA_ERR_OK) {
        make_file(store, path);
        return SMA_ERR_OK;
    }
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    if (err == SMA_ERR_NOSPACE)
        return SMA_ERR_OK; /* the service starts, says that the disk is full, and imports at the next start */
    return error->text[0] != '\0' ? err
                                  : sma_fail(error, err, "people cannot be imported: %s",
                                             sma_state_error(store->state)->text);
}
