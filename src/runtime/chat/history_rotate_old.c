/*
 * history_rotate_old.c — rotations that an older version began: it copied the two halves of a file,
 * renamed the copy of the older one to the archive and then that of the newer one to the main file.
 * One cut before the second renaming is
 * undone: the archive is a copy of what the main file still holds. One cut behind it is done.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/* Hash of file bytes [0, to), block by block, each keyed by the hash before it; as the plans hold
 * it. */
static enum sma_err hash_head(struct sma_history *history, int fd, uint64_t to, uint64_t *ret_hash,
                              struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *block = malloc(HISTORY_BLOCK_BYTES);
    if (block == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory to read a history file");
    uint64_t key[2] = {0x726F74617465ull, 0};
    for (uint64_t from = 0; from < to;) {
        size_t want = to - from < HISTORY_BLOCK_BYTES ? (size_t)(to - from) : HISTORY_BLOCK_BYTES;
        SMA_TRY(history_read_exact(history->sys, fd, block, want, from, error));
        uint8_t key_bytes[16];
        memcpy(key_bytes, key, sizeof key_bytes);
        key[1] = sma_siphash(key_bytes, block, want);
        from += want;
    }
    *ret_hash = key[1];
    return SMA_ERR_OK;
}

/* Is the archive of this number there, how long is it, and what does it hash to? NOTFOUND. */
static enum sma_err look_at_archive(struct sma_history *history, const char *path,
                                    uint64_t *ret_size, uint64_t *ret_hash, struct sma_error *error)
{
    int fd = -1;
    enum sma_err err = history_open_file(history, path, O_RDONLY, &fd, error);
    if (err != SMA_ERR_OK)
        return err;
    err = history_file_size(fd, ret_size, error);
    if (err == SMA_ERR_OK)
        err = hash_head(history, fd, *ret_size, ret_hash, error);
    (void)history->sys->close(history->sys->self, fd); /* only read */
    return err;
}

/* Does the main file begin with what the archive holds, and go on? */
static enum sma_err is_head_of_main(struct sma_history *history, struct history_chat *chat,
                                    uint64_t len, uint64_t hash, bool *ret_is,
                                    struct sma_error *error)
{
    uint64_t size = 0, head = 0;
    *ret_is = false;
    enum sma_err err = history_open_main(history, chat, false, error);
    if (err == SMA_ERR_OK)
        err = history_file_size(chat->fd, &size, error);
    if (err != SMA_ERR_OK || len == 0 || len >= size)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    err = hash_head(history, chat->fd, len, &head, error);
    *ret_is = err == SMA_ERR_OK && head == hash;
    return err;
}

static enum sma_err remove_archive(struct sma_history *history, const char *path,
                                   struct sma_error *error)
{
    if (history->sys->unlink(history->sys->self, path) != 0)
        return sma_fail_os(error, errno, "cannot remove %s", path);
    history->is_directory_dirty = true;
    history_index_drop(history);
    return history_sync_directory(history, error);
}

static void drop_temporaries(struct sma_history *history, const char *stem, uint32_t number)
{
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_path(&path, history, stem, ".jsonl.tmp");
    if (path.err == SMA_ERR_OK)
        (void)history->sys->unlink(history->sys->self, path.ptr); /* only copies */
    sma_buf_clear(&path);
    history_put_archive_path(&path, history, stem, number, ".tmp");
    if (path.err == SMA_ERR_OK)
        (void)history->sys->unlink(history->sys->self, path.ptr);
    sma_buf_fini(&path);
}

/* planned_hash NULL: the plan is lost. *ret_is_undone: the archive was a copy, and is removed. */
static enum sma_err undo(struct sma_history *history, struct history_chat *chat, uint32_t number,
                         const struct sma_history_plan *plan, bool *ret_is_undone,
                         struct sma_error *error)
{
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_archive_path(&path, history, chat->stem, number, "");
    uint64_t size = 0, hash = 0;
    bool is_copy = false;
    enum sma_err err = path.err == SMA_ERR_OK
                           ? look_at_archive(history, path.ptr, &size, &hash, error)
                           : sma_fail(error, path.err, "no memory for a path");
    bool is_ours = plan == NULL || (size == plan->split_offset && hash == plan->archive_hash);
    if (err == SMA_ERR_OK)
        err = is_head_of_main(history, chat, size, hash, &is_copy, error);
    if (err == SMA_ERR_OK && is_copy && is_ours)
        err = remove_archive(history, path.ptr, error);
    /* No archive, or one of somebody else: the main file was not touched. */
    *ret_is_undone = err == SMA_ERR_NOTFOUND || is_copy || !is_ours;
    sma_buf_fini(&path);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err history_rotate_halves(struct sma_history *history, const struct sma_history_plan *plan,
                                   struct history_chat *chat,
                                   enum sma_history_rotation *ret_rotation, struct sma_error *error)
{
    bool is_undone = false;
    enum sma_err err = undo(history, chat, plan->archive_number, plan, &is_undone, error);
    if (err == SMA_ERR_OK)
        drop_temporaries(history, chat->stem, plan->archive_number);
    history_forget_main(history, chat);
    *ret_rotation = is_undone ? SMA_HISTORY_UNDONE : SMA_HISTORY_ROTATED;
    return err;
}

enum sma_err history_undo_halves(struct sma_history *history, struct sma_str chat_key,
                                 uint32_t number, struct sma_error *error)
{
    struct history_chat *chat = NULL;
    bool is_undone = false;
    enum sma_err err = history_get_chat(history, chat_key, &chat);
    return err == SMA_ERR_OK ? undo(history, chat, number, NULL, &is_undone, error) : err;
}
