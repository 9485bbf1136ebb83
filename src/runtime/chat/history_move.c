/*
 * history_move.c — a chat's files get another name. Each file is renamed once; a file that is not
 * there any more was renamed before a crash. So the plan, which names every target, can be repeated
 * until all are moved.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* -- the plan ---------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err copy_key(char *to, struct sma_str key, struct sma_error *error)
{
    if (key.len > SMA_CHAT_KEY_BYTES_MAX || memchr(key.ptr, '\0', key.len) != NULL)
        return sma_fail(error, SMA_ERR_BADINPUT, "a chat key cannot be used for a file");
    memcpy(to, key.ptr, key.len);
    to[key.len] = '\0';
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err settle(struct sma_history *history, struct sma_str chat_key,
                                       struct history_chat **ret_chat, struct sma_error *error)
{
    enum sma_err err = history_get_chat(history, chat_key, ret_chat);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "no memory to rename history files");
    if ((*ret_chat)->is_checked && (*ret_chat)->reserved != (*ret_chat)->written)
        return sma_fail(error, SMA_ERR_BUSY, "chat %s has lines that are not written",
                        (*ret_chat)->stem);
    return sma_history_sync(history, chat_key, error);
}

static SMA_CHECKED enum sma_err has_main(struct sma_history *history, struct history_chat *chat,
                                         bool *ret_has, struct sma_error *error)
{
    enum sma_err err = history_open_main(history, chat, false, error);
    uint64_t size = 0;
    if (err == SMA_ERR_OK)
        err = history_file_size(chat->fd, &size, error);
    *ret_has = err == SMA_ERR_OK && size > 0;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err sma_history_plan_move(struct sma_history *history, struct sma_str from_key,
                                   struct sma_str to_key, struct sma_history_move *ret_move,
                                   struct sma_error *error)
{
    struct history_chat *from, *to;
    bool is_taken = false;
    enum sma_err err = copy_key(ret_move->from_key, from_key, error);
    if (err == SMA_ERR_OK)
        err = copy_key(ret_move->to_key, to_key, error);
    if (err == SMA_ERR_OK)
        err = settle(history, from_key, &from, error);
    if (err == SMA_ERR_OK)
        err = history_archive_max(history, from->stem, &ret_move->archive_count, error);
    if (err == SMA_ERR_OK)
        err = settle(history, to_key, &to, error);
    if (err == SMA_ERR_OK)
        err = history_archive_max(history, to->stem, &ret_move->archive_base, error);
    if (err == SMA_ERR_OK)
        err = has_main(history, to, &is_taken, error);
    if (err == SMA_ERR_OK)
        ret_move->main_number = is_taken ? ret_move->archive_base + ret_move->archive_count + 1 : 0;
    return err;
}

void sma_history_move_format(struct sma_buf *buf, const struct sma_history_move *move)
{
    sma_buf_put_text(buf, "{\"moveFrom\":");
    sma_buf_put_json_string(buf, sma_str(move->from_key));
    sma_buf_put_text(buf, ",\"moveTo\":");
    sma_buf_put_json_string(buf, sma_str(move->to_key));
    sma_buf_printf(buf, ",\"archives\":%u,\"base\":%u,\"main\":%u}", move->archive_count,
                   move->archive_base, move->main_number);
}

static bool read_key(const json_t *root, const char *name, char *to)
{
    const json_t *value = json_object_get(root, name);
    return json_is_string(value) &&
           copy_key(to, (struct sma_str){json_string_value(value), json_string_length(value)},
                    NULL) == SMA_ERR_OK;
}

static bool read_number(const json_t *root, const char *name, uint32_t *to)
{
    json_int_t number = json_integer_value(json_object_get(root, name));
    *to = (uint32_t)number;
    return json_is_integer(json_object_get(root, name)) && number >= 0 && number <= 2000000;
}

enum sma_err sma_history_move_parse(struct sma_str json, struct sma_history_move *ret_move)
{
    json_t *root = json_loadb(json.ptr, json.len, 0, NULL);
    bool is_good = read_key(root, "moveFrom", ret_move->from_key) &&
                   read_key(root, "moveTo", ret_move->to_key) &&
                   read_number(root, "archives", &ret_move->archive_count) &&
                   read_number(root, "base", &ret_move->archive_base) &&
                   read_number(root, "main", &ret_move->main_number);
    json_decref(root);
    return is_good ? SMA_ERR_OK : SMA_ERR_BADINPUT;
}

/* -- moving ------------------------------------------------------------------------------------ */
static void put_file(struct sma_buf *buf, const struct sma_history *history, const char *stem,
                     uint32_t number)
{
    if (number == 0)
        history_put_path(buf, history, stem, ".jsonl");
    else
        history_put_archive_path(buf, history, stem, number, "");
}

/* number 0 = the main file. A file that is not there needs no moving. */
static SMA_CHECKED enum sma_err move_file(struct sma_history *history, const char *const stems[2],
                                          uint32_t from_number, uint32_t to_number,
                                          struct sma_error *error)
{
    struct sma_buf from, to;
    sma_buf_init(&from, HISTORY_PATH_BYTES_MAX);
    sma_buf_init(&to, HISTORY_PATH_BYTES_MAX);
    put_file(&from, history, stems[0], from_number);
    put_file(&to, history, stems[1], to_number);
    enum sma_err err = from.err != SMA_ERR_OK ? from.err : to.err;
    if (err != SMA_ERR_OK)
        err = sma_fail(error, err, "no memory for a path");
    else if (history->sys->rename(history->sys->self, from.ptr, to.ptr) != 0 && errno != ENOENT)
        err = sma_fail_os(error, errno, "cannot rename %s to %s", from.ptr, to.ptr);
    sma_buf_fini(&from);
    sma_buf_fini(&to);
    return err;
}

enum sma_err sma_history_move(struct sma_history *history, const struct sma_history_move *move,
                              struct sma_error *error)
{
    struct history_chat *from, *to;
    enum sma_err err = settle(history, sma_str(move->from_key), &from, error);
    if (err == SMA_ERR_OK)
        err = settle(history, sma_str(move->to_key), &to, error);
    if (err != SMA_ERR_OK)
        return err;
    const char *const stems[2] = {from->stem, to->stem};
    history_forget_main(history, from); /* they may be other files now */
    history_forget_main(history, to);
    for (uint32_t i = 1; i <= move->archive_count && err == SMA_ERR_OK; i++)
        err = move_file(history, stems, i, move->archive_base + i, error);
    if (err == SMA_ERR_OK)
        err = move_file(history, stems, 0, move->main_number, error);
    /* Which archives there are is read again when it is needed. */
    history_index_drop(history);
    history->is_directory_dirty = true;
    return err == SMA_ERR_OK ? history_sync_directory(history, error) : err;
}
