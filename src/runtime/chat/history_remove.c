/*
 * history_remove.c — a chat that is forgotten: its files go. The main file goes last, so that a
 * chat that still has one may have archives, never the other way round.
 */
#include "history_priv.h"

#include <errno.h>

/* A file that is not there needs no removing. */
static SMA_CHECKED enum sma_err remove_path(struct sma_history *history, struct sma_buf *path,
                                            struct sma_error *error)
{
    enum sma_err err = path->err;
    if (err != SMA_ERR_OK)
        err = sma_fail(error, err, "no memory for a path");
    else if (history->sys->unlink(history->sys->self, path->ptr) != 0 && errno != ENOENT)
        err = sma_fail_os(error, errno, "cannot remove %s", path->ptr);
    sma_buf_clear(path);
    return err;
}

static SMA_CHECKED enum sma_err remove_files(struct sma_history *history, const char *stem,
                                             uint32_t archive_count, struct sma_error *error)
{
    enum sma_err err = SMA_ERR_OK;
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    for (uint32_t i = 1; i <= archive_count && err == SMA_ERR_OK; i++) {
        history_put_archive_path(&path, history, stem, i, "");
        err = remove_path(history, &path, error);
    }
    static const char *const endings[] = {".jsonl.damaged", ".jsonl"};
    for (size_t i = 0; i < SMA_COUNT_OF(endings) && err == SMA_ERR_OK; i++) {
        history_put_path(&path, history, stem, endings[i]);
        err = remove_path(history, &path, error);
    }
    sma_buf_fini(&path);
    return err;
}

enum sma_err sma_history_remove(struct sma_history *history, struct sma_str chat_key,
                                struct sma_error *error)
{
    struct history_chat *chat = NULL;
    enum sma_err err = history_get_chat(history, chat_key, &chat);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "no memory to remove a history");
    if (chat->is_dirty || (chat->is_checked && chat->reserved != chat->written))
        return sma_fail(error, SMA_ERR_BUSY, "chat %s has lines that are not synced", chat->stem);
    uint32_t archive_count = 0;
    err = history_archive_max(history, chat->stem, &archive_count, error);
    if (err != SMA_ERR_OK)
        return err;
    history_forget_main(history, chat);
    history->is_directory_dirty = true;
    return remove_files(history, chat->stem, archive_count, error);
}
