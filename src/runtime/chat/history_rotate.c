/*
 * history_rotate.c — a full main file becomes the newest archive, by its name alone: no byte is
 * read or copied, so a rotation takes the same time for every file.
 *
 * The caller records the plan together with generation + 1, then the file is renamed, then the
 * directory is synced, then the plan is dropped. A plan found at start is carried out again: the
 * archive is there, then it was renamed; it is not, then it is renamed now. Between the two the
 * lines that were not known to be synced find their place by their generation.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <errno.h>
#include <stdlib.h>

#define TAKEN_COUNT_MAX 1000 /* names that somebody else has taken since the directory was read */

/* -- plans ------------------------------------------------------------------------------------- */
bool sma_history_is_rotation_due(const struct sma_history *history, struct sma_str chat_key)
{
    const struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat == NULL || !chat->is_checked || chat->reserved != chat->written ||
        memchr(chat->key, '\0', chat->key_len) != NULL) /* a plan cannot hold such a key */
        return false;
    bool is_counted = chat->counted_to >= chat->count_end;
    return chat->written >= history->options.bytes_max ||
           (is_counted && chat->line_count > history->options.lines_max);
}

static void put_archive_of(struct sma_buf *path, const struct sma_history *history,
                           const struct history_chat *chat, uint32_t number)
{
    sma_buf_init(path, HISTORY_PATH_BYTES_MAX);
    history_put_archive_path(path, history, chat->stem, number, "");
}

/* Is something of that name there? */
static enum sma_err has_archive(const struct sma_history *history, const struct history_chat *chat,
                                uint32_t number, bool *ret_has, struct sma_error *error)
{
    struct sma_buf path;
    struct stat status;
    put_archive_of(&path, history, chat, number);
    enum sma_err err = path.err;
    if (err != SMA_ERR_OK) {
        err = sma_fail(error, err, "no memory for a path");
    } else {
        *ret_has = lstat(path.ptr, &status) == 0;
        if (!*ret_has && errno != ENOENT)
            err = sma_fail_os(error, errno, "cannot look at %s", path.ptr);
    }
    sma_buf_fini(&path);
    return err;
}

static enum sma_err choose_number(struct sma_history *history, struct history_chat *chat,
                                  uint32_t *ret_number, struct sma_error *error)
{
    uint32_t number = 0;
    enum sma_err err = history_archive_max(history, chat->stem, &number, error);
    bool is_taken = true;
    for (int tries = 0; err == SMA_ERR_OK && is_taken && tries < TAKEN_COUNT_MAX; tries++)
        err = has_archive(history, chat, ++number, &is_taken, error);
    if (err == SMA_ERR_OK && is_taken)
        return sma_fail(error, SMA_ERR_TOOBIG, "no name is free for an archive of %s", chat->stem);
    *ret_number = number;
    return err;
}

enum sma_err sma_history_plan_rotation(struct sma_history *history, struct sma_str chat_key,
                                       uint64_t generation, struct sma_history_plan *ret_plan,
                                       struct sma_error *error)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat == NULL || !chat->is_checked || memchr(chat->key, '\0', chat->key_len) != NULL)
        return SMA_ERR_EMPTY;
    if (chat->reserved != chat->written)
        return sma_fail(error, SMA_ERR_BUSY, "chat %s has lines that are not written", chat->stem);
    if (chat->written == 0)
        return SMA_ERR_EMPTY;
    memset(ret_plan, 0, sizeof *ret_plan);
    memcpy(ret_plan->chat_key, chat->key, chat->key_len);
    ret_plan->generation = generation;
    ret_plan->end_offset = chat->written;
    return choose_number(history, chat, &ret_plan->archive_number, error);
}

enum sma_err sma_history_rotation_step(struct sma_history *history, bool *ret_is_ready,
                                       struct sma_error *error)
{
    return history_index_step(history, ret_is_ready, error);
}

void sma_history_plan_format(struct sma_buf *buf, const struct sma_history_plan *plan)
{
    sma_buf_put_str(buf, SMA_STR("{\"chatKey\":"));
    sma_buf_put_json_string(buf, sma_str(plan->chat_key));
    sma_buf_printf(buf, ",\"generation\":%llu,\"archive\":%u,\"end\":%llu}",
                   (unsigned long long)plan->generation, plan->archive_number,
                   (unsigned long long)plan->end_offset);
}

static bool read_number(const json_t *object, const char *key, uint64_t max, uint64_t *ret_number)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max)
        return false;
    *ret_number = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_hash(const json_t *object, const char *key, uint64_t *ret_hash)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *ret_hash = strtoull(text, NULL, 16);
    return true;
}

/* What an older version planned: two halves of the file, known by their hashes. */
static bool fill_halves(const json_t *root, struct sma_history_plan *plan)
{
    uint64_t split = 0;
    if (!read_number(root, "split", INT64_MAX, &split) || split == 0 || split >= plan->end_offset ||
        !read_hash(root, "archiveHash", &plan->archive_hash) ||
        !read_hash(root, "restHash", &plan->rest_hash))
        return false;
    plan->split_offset = split;
    return true;
}

static bool fill_parsed_plan(const json_t *root, struct sma_history_plan *plan)
{
    const json_t *key = json_object_get(root, "chatKey");
    uint64_t number;
    if (!json_is_string(key) || json_string_length(key) > SMA_CHAT_KEY_BYTES_MAX ||
        !read_number(root, "archive", UINT32_MAX, &number) || number == 0)
        return false;
    memset(plan, 0, sizeof *plan);
    memcpy(plan->chat_key, json_string_value(key), json_string_length(key));
    plan->archive_number = (uint32_t)number;
    return read_number(root, "generation", INT64_MAX - 1, &plan->generation) &&
           read_number(root, "end", INT64_MAX, &plan->end_offset) &&
           (json_object_get(root, "split") == NULL || fill_halves(root, plan));
}

enum sma_err sma_history_plan_parse(struct sma_str json, struct sma_history_plan *ret_plan)
{
    json_t *root = json_loadb(json.ptr == NULL ? "" : json.ptr, json.len, 0, NULL);
    struct sma_history_plan plan;
    bool is_good = fill_parsed_plan(root, &plan);
    json_decref(root);
    if (!is_good)
        return SMA_ERR_BADINPUT;
    *ret_plan = plan;
    return SMA_ERR_OK;
}

/* -- carrying out ------------------------------------------------------------------------------ */
bool sma_history_plan_is_of_halves(const struct sma_history_plan *plan)
{
    return plan->split_offset != 0;
}

/* Its bytes must be durable whatever name they have. */
static enum sma_err sync_main(struct sma_history *history, struct history_chat *chat,
                              struct sma_error *error)
{
    if (!chat->is_dirty)
        return SMA_ERR_OK;
    enum sma_err err = history_open_main(history, chat, false, error);
    if (err == SMA_ERR_OK)
        err = history_sync_file(history, chat->fd, error);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static enum sma_err rename_main(struct sma_history *history, struct history_chat *chat,
                                uint32_t number, struct sma_error *error)
{
    struct sma_buf from, to;
    sma_buf_init(&from, HISTORY_PATH_BYTES_MAX);
    history_put_path(&from, history, chat->stem, ".jsonl");
    put_archive_of(&to, history, chat, number);
    enum sma_err err = from.err != SMA_ERR_OK ? from.err : to.err;
    if (err != SMA_ERR_OK)
        err = sma_fail(error, err, "no memory for a path");
    else if (history->sys->rename(history->sys->self, from.ptr, to.ptr) != 0 && errno != ENOENT)
        err = sma_fail_os(error, errno, "cannot rename %s to %s", from.ptr, to.ptr);
    sma_buf_fini(&from);
    sma_buf_fini(&to);
    return err; /* a file that is gone was taken away by somebody: nothing is left to rotate */
}

enum sma_err sma_history_rotate(struct sma_history *history, const struct sma_history_plan *plan,
                                enum sma_history_rotation *ret_rotation, struct sma_error *error)
{
    struct history_chat *chat = NULL;
    enum sma_err err = history_get_chat(history, sma_str(plan->chat_key), &chat);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "no memory to rotate a history file");
    SMA_ASSERT(!chat->is_checked || chat->reserved == chat->written);
    if (sma_history_plan_is_of_halves(plan))
        return history_rotate_halves(history, plan, chat, ret_rotation, error);
    bool is_renamed = false;
    err = has_archive(history, chat, plan->archive_number, &is_renamed, error);
    if (err == SMA_ERR_OK && !is_renamed)
        err = sync_main(history, chat, error);
    if (err == SMA_ERR_OK && !is_renamed)
        err = rename_main(history, chat, plan->archive_number, error);
    if (err != SMA_ERR_OK)
        return err;
    history_archive_note(history, chat->stem, plan->archive_number);
    history->is_directory_dirty = true;
    history_forget_main(history, chat);
    *ret_rotation = SMA_HISTORY_ROTATED;
    return SMA_ERR_OK;
}
