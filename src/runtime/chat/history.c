/*
 * history.c — the directory, the chats in memory, their open files, and sync.
 */
#include "history_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define HISTORY_MAGIC 0x48495354u

/* -- open and close --------------------------------------------------------------------------------------------- */
static size_t table_size_for(uint32_t chat_count_max)
{
    size_t size = 64;
    while (size < chat_count_max)
        size *= 2;
    return size;
}

static enum sma_err check_directory(const struct sma_sys *sys, const char *directory,
                                    struct sma_error *error)
{
    if (strlen(directory) > HISTORY_PATH_BYTES_MAX - 512)
        return sma_fail(error, SMA_ERR_TOOBIG, "the path %.60s... is too long", directory);
    return sma_sys_make_dirs(sys, directory, error);
}

enum sma_err sma_history_open(const struct sma_history_options *options,
                              struct sma_history **ret_history, struct sma_error *error)
{
    enum sma_err err = check_directory(options->sys, options->directory, error);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_history *history = calloc(1, sizeof *history);
    if (history == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the history");
    history->magic = HISTORY_MAGIC;
    history->options = *options;
    history->sys = options->sys;
    if (history->options.fd_count_max == 0)
        history->options.fd_count_max = SMA_HISTORY_FD_COUNT_MAX;
    if (history->options.chat_count_max == 0)
        history->options.chat_count_max = SMA_HISTORY_CHAT_COUNT_MAX;
    if (history->options.lines_max == 0)
        history->options.lines_max = SMA_HISTORY_LINES_MAX;
    size_t size = table_size_for(history->options.chat_count_max);
    history->table_mask = size - 1;
    history->table = calloc(size, sizeof *history->table);
    history->directory = strdup(options->directory);
    if (history->table == NULL || history->directory == NULL) {
        sma_history_close(history);
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the history");
    }
    history->options.directory = history->directory;
    *ret_history = history;
    return SMA_ERR_OK;
}

static void free_chat(struct history_chat *chat)
{
    if (chat == NULL)
        return;
    free(chat->stem);
    free(chat->key);
    free(chat);
}

static void unlink_open(struct sma_history *history, struct history_chat *chat)
{
    if (chat->open_newer != NULL)
        chat->open_newer->open_older = chat->open_older;
    if (chat->open_older != NULL)
        chat->open_older->open_newer = chat->open_newer;
    if (history->newest_open == chat)
        history->newest_open = chat->open_older;
    if (history->oldest_open == chat)
        history->oldest_open = chat->open_newer;
    chat->open_newer = chat->open_older = NULL;
}

static void link_open(struct sma_history *history, struct history_chat *chat)
{
    chat->open_older = history->newest_open;
    if (history->newest_open != NULL)
        history->newest_open->open_newer = chat;
    history->newest_open = chat;
    if (history->oldest_open == NULL)
        history->oldest_open = chat;
}

void history_close_main(struct sma_history *history, struct history_chat *chat)
{
    if (chat->fd < 0)
        return;
    (void)history->sys->close(history->sys->self,
                              chat->fd); /* what matters was synced, or is still in state.db */
    chat->fd = -1;
    history->fd_count--;
    unlink_open(history, chat);
}

void sma_history_close(struct sma_history *history)
{
    if (history == NULL)
        return;
    SMA_ASSERT(history->magic == HISTORY_MAGIC);
    while (history->newest != NULL) {
        struct history_chat *chat = history->newest;
        history->newest = chat->older;
        history_close_main(history, chat);
        free_chat(chat);
    }
    history->magic = 0;
    free(history->archives);
    free(history->table);
    free(history->directory);
    free(history);
}

/* -- chats in memory -------------------------------------------------------------------------------------------- */
static void unlink_use(struct sma_history *history, struct history_chat *chat)
{
    if (chat->newer != NULL)
        chat->newer->older = chat->older;
    if (chat->older != NULL)
        chat->older->newer = chat->newer;
    if (history->newest == chat)
        history->newest = chat->older;
    if (history->oldest == chat)
        history->oldest = chat->newer;
    chat->newer = chat->older = NULL;
}

static void link_newest(struct sma_history *history, struct history_chat *chat)
{
    chat->older = history->newest;
    if (history->newest != NULL)
        history->newest->newer = chat;
    history->newest = chat;
    if (history->oldest == NULL)
        history->oldest = chat;
}

static uint64_t key_hash(struct sma_str chat_key)
{
    return history_hash(chat_key.ptr == NULL ? "" : chat_key.ptr, chat_key.len);
}

struct history_chat *history_find_chat(const struct sma_history *history, struct sma_str chat_key)
{
    SMA_ASSERT(history->magic == HISTORY_MAGIC);
    uint64_t hash = key_hash(chat_key);
    struct history_chat *chat = history->table[hash & history->table_mask];
    while (chat != NULL &&
           !(chat->hash == hash &&
             sma_str_is_equal((struct sma_str){chat->key, chat->key_len}, chat_key)))
        chat = chat->hash_next;
    return chat;
}

static void forget_chat(struct sma_history *history, struct history_chat *chat)
{
    SMA_ASSERT(!chat->is_dirty && chat->reserved == chat->written);
    struct history_chat **link = &history->table[chat->hash & history->table_mask];
    while (*link != chat)
        link = &(*link)->hash_next;
    *link = chat->hash_next;
    unlink_use(history, chat);
    history_close_main(history, chat);
    history->chat_count--;
    free_chat(chat);
}

/* Forget the least recently used chat that owes nothing. When all owe something the table grows past its bound:
 * what was promised must be kept, and the caller's batches bound that. */
static void make_room(struct sma_history *history)
{
    if (history->chat_count < history->options.chat_count_max)
        return;
    struct history_chat *chat = history->oldest;
    for (int tries = 0; chat != NULL && tries < 64; tries++, chat = chat->newer) {
        if (!chat->is_dirty && chat->reserved == chat->written) {
            forget_chat(history, chat);
            return;
        }
    }
}

static struct history_chat *create_chat(struct sma_str chat_key)
{
    struct sma_buf stem;
    sma_buf_init(&stem, SMA_CHAT_KEY_BYTES_MAX * 4);
    sma_history_put_file_stem(&stem, chat_key);
    struct history_chat *chat = calloc(1, sizeof *chat);
    char *key = malloc(chat_key.len + 1);
    if (chat == NULL || key == NULL || stem.err != SMA_ERR_OK) {
        free(chat);
        free(key);
        sma_buf_fini(&stem);
        return NULL;
    }
    memcpy(key, chat_key.ptr == NULL ? "" : chat_key.ptr, chat_key.len);
    key[chat_key.len] = '\0';
    chat->key = key;
    chat->key_len = chat_key.len;
    chat->hash = key_hash(chat_key);
    chat->stem = sma_buf_take(&stem);
    chat->fd = -1;
    sma_buf_fini(&stem);
    if (chat->stem != NULL)
        return chat;
    free_chat(chat);
    return NULL;
}

enum sma_err history_get_chat(struct sma_history *history, struct sma_str chat_key,
                              struct history_chat **ret_chat)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat != NULL) {
        unlink_use(history, chat);
        link_newest(history, chat);
        *ret_chat = chat;
        return SMA_ERR_OK;
    }
    if (chat_key.len > SMA_CHAT_KEY_BYTES_MAX)
        return SMA_ERR_TOOBIG;
    make_room(history);
    chat = create_chat(chat_key);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    struct history_chat **head = &history->table[chat->hash & history->table_mask];
    chat->hash_next = *head;
    *head = chat;
    link_newest(history, chat);
    history->chat_count++;
    *ret_chat = chat;
    return SMA_ERR_OK;
}

/* -- open files ------------------------------------------------------------------------------------------------- */
enum sma_err history_open_main(struct sma_history *history, struct history_chat *chat, bool create,
                               struct sma_error *error)
{
    if (chat->fd >= 0) {
        unlink_open(history, chat);
        link_open(history, chat);
        return SMA_ERR_OK;
    }
    /* A dirty file may be closed: a later fdatasync through a new descriptor writes the same pages, and the kernel
     * reports a failed write-back that nobody has seen to the next one who opens the file. */
    while (history->fd_count >= history->options.fd_count_max)
        history_close_main(history, history->oldest_open);
    enum sma_err err = SMA_ERR_OK;
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_path(&path, history, chat->stem, ".jsonl");
    if (path.err != SMA_ERR_OK) {
        err = sma_fail(error, path.err, "no memory for a path");
        sma_buf_fini(&path);
        return err;
    }
    const struct sma_sys *sys = history->sys;
    int fd = sys->open(sys->self, path.ptr, O_RDWR, 0);
    if (fd < 0 && errno == ENOENT && create) {
        fd = sys->open(sys->self, path.ptr, O_RDWR | O_CREAT, 0600);
        history->is_directory_dirty = history->is_directory_dirty || fd >= 0;
    }
    if (fd < 0)
        err = errno == ENOENT ? SMA_ERR_NOTFOUND
                              : sma_fail_os(error, errno, "cannot open %s", path.ptr);
    sma_buf_fini(&path);
    if (err != SMA_ERR_OK)
        return err;
    chat->fd = fd;
    history->fd_count++;
    link_open(history, chat);
    return SMA_ERR_OK;
}

enum sma_err history_sync_directory(struct sma_history *history, struct sma_error *error)
{
    if (!history->is_directory_dirty)
        return SMA_ERR_OK;
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_path(&path, history, "x", "");
    enum sma_err err = path.err == SMA_ERR_OK ? sma_sys_sync_parent(history->sys, path.ptr, error)
                                              : sma_fail(error, path.err, "no memory for a path");
    sma_buf_fini(&path);
    if (err == SMA_ERR_OK)
        history->is_directory_dirty = false;
    return err;
}

enum sma_err history_sync_chat(struct sma_history *history, struct history_chat *chat,
                               struct sma_error *error)
{
    if (!chat->is_dirty)
        return SMA_ERR_OK;
    enum sma_err err = history_open_main(history, chat, false, error);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    /* NOTFOUND: somebody removed the file, and its lines with it: nothing is left to sync */
    if (err == SMA_ERR_OK && history->sys->fdatasync(history->sys->self, chat->fd) != 0)
        return sma_fail_os(error, errno, "cannot sync history file %s", chat->stem);
    chat->is_dirty = false;
    history->dirty_count--;
    return SMA_ERR_OK;
}

enum sma_err sma_history_sync(struct sma_history *history, struct sma_str chat_key,
                              struct sma_error *error)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat == NULL || !chat->is_dirty)
        return history_sync_directory(history, error);
    enum sma_err err = history_sync_chat(history, chat, error);
    return err == SMA_ERR_OK ? history_sync_directory(history, error) : err;
}

enum sma_err sma_history_sync_all(struct sma_history *history, struct sma_error *error)
{
    for (struct history_chat *chat = history->newest; chat != NULL && history->dirty_count > 0;
         chat = chat->older) {
        enum sma_err err = history_sync_chat(history, chat, error);
        if (err != SMA_ERR_OK)
            return err;
    }
    return history_sync_directory(history, error);
}

uint32_t sma_history_dirty_count(const struct sma_history *history)
{
    return history->dirty_count;
}
