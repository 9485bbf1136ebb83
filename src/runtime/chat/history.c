/*
 * history.c — the directory, the chats in memory, and their open files.
 */
#include "history_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define HISTORY_MAGIC 0x48495354u

/* -- open and close ---------------------------------------------------------------------------- */
static size_t table_size_for(uint32_t chat_count_max)
{
    size_t size = 64;
    while (size < chat_count_max)
        size *= 2;
    return size * 4; /* many dirty chats at once take it past its bound */
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
    if (history->options.bytes_max == 0)
        history->options.bytes_max = SMA_HISTORY_FILE_BYTES_MAX;
    size_t size = table_size_for(history->options.chat_count_max);
    history->table_mask = size - 1;
    history->table = calloc(size, sizeof *history->table);
    history->directory = strdup(options->directory);
    if (history->table == NULL || history->directory == NULL) {
        sma_history_close(history);
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the history");
    }
    history->options.directory = history->directory;
    err = options->is_single_threaded ? SMA_ERR_OK : history_syncer_start(history, error);
    if (err != SMA_ERR_OK) {
        sma_history_close(history);
        return err;
    }
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
    history_syncer_stop(history);
    while (history->newest != NULL) {
        struct history_chat *chat = history->newest;
        history->newest = chat->older;
        history_close_main(history, chat);
        free_chat(chat);
    }
    history->magic = 0;
    history_index_drop(history);
    free(history->counts);
    free(history->table);
    free(history->directory);
    free(history);
}

/* -- chats in memory --------------------------------------------------------------------------- */
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

static void remember_count(struct sma_history *history, const struct history_chat *chat)
{
    if (!chat->is_checked || chat->counted_to < chat->count_end || chat->line_count == 0)
        return;
    if (history->counts == NULL)
        history->counts = calloc(HISTORY_COUNT_MEMORY, sizeof *history->counts);
    if (history->counts != NULL) /* else it is counted again */
        history->counts[chat->hash % HISTORY_COUNT_MEMORY] =
            (struct history_count){chat->hash, chat->written, (uint32_t)chat->line_count};
}

static void forget_chat(struct sma_history *history, struct history_chat *chat)
{
    SMA_ASSERT(!chat->is_dirty && chat->reserved == chat->written);
    struct history_chat **link = &history->table[chat->hash & history->table_mask];
    while (*link != chat)
        link = &(*link)->hash_next;
    *link = chat->hash_next;
    unlink_use(history, chat);
    remember_count(history, chat);
    history_close_main(history, chat);
    history->chat_count--;
    free_chat(chat);
}

/* Forget the least recently used chat that owes nothing. When all owe something the table grows
 * past its bound: what was promised must be kept, and the caller's batches bound that. */
static void make_room(struct sma_history *history)
{
    if (history->chat_count < history->options.chat_count_max)
        return;
    struct history_chat *chat = history->oldest, *newer;
    int forgotten = 0; /* two for each one that comes: so it shrinks again */
    for (int tries = 0; chat != NULL && tries < 16 && forgotten < 2; tries++, chat = newer) {
        newer = chat->newer;
        if (chat->is_dirty || chat->reserved != chat->written)
            continue;
        forget_chat(history, chat);
        forgotten++;
        if (history->chat_count < history->options.chat_count_max)
            return;
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

/* -- open files -------------------------------------------------------------------------------- */
void history_note_dirty(struct sma_history *history, struct history_chat *chat)
{
    if (chat->is_dirty)
        return;
    chat->is_dirty = true;
    history->dirty_count++;
}

void history_note_clean(struct sma_history *history, struct history_chat *chat)
{
    chat->is_replaced = false;
    if (!chat->is_dirty)
        return;
    chat->is_dirty = false;
    history->dirty_count--;
}

void history_forget_main(struct sma_history *history, struct history_chat *chat)
{
    history_close_main(history, chat);
    history_note_clean(history, chat);
    chat->inode = 0;
    chat->is_checked = false;
    chat->written = chat->reserved = 0;
    chat->line_count = chat->counted_to = chat->count_end = 0;
}

void sma_history_abandon(struct sma_history *history, struct sma_str chat_key)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat != NULL)
        history_forget_main(history, chat);
}

bool history_is_main_replaced(struct sma_history *history, const struct history_chat *chat)
{
    struct sma_buf path;
    struct stat status;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_path(&path, history, chat->stem, ".jsonl");
    bool is_same = path.err == SMA_ERR_OK && stat(path.ptr, &status) == 0 &&
                   status.st_ino == chat->inode && status.st_dev == chat->device;
    sma_buf_fini(&path);
    return !is_same;
}

/* The folder may have been removed while we run; lines are worth a new one. */
static int create_main(struct sma_history *history, const char *path)
{
    const struct sma_sys *sys = history->sys;
    int flags = O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY;
    int fd = sys->open(sys->self, path, flags, 0600);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    if (sma_sys_make_dirs(sys, history->directory, NULL) == SMA_ERR_OK &&
        sma_sys_sync_parent(sys, history->directory, NULL) == SMA_ERR_OK)
        fd = sys->open(sys->self, path, flags, 0600);
    errno = fd < 0 ? ENOTDIR : 0; /* not "there is no such file", which is no error */
    return fd;
}

static enum sma_err open_path(struct sma_history *history, const char *path, bool create,
                              int *ret_fd, struct sma_error *error)
{
    enum sma_err err;
    /* Out of descriptors: ours are a cache. */
    while ((err = history_open_file(history, path, O_RDWR, ret_fd, error)) == SMA_ERR_IO &&
           error != NULL && (error->os_errno == EMFILE || error->os_errno == ENFILE) &&
           history->oldest_open != NULL)
        history_close_main(history, history->oldest_open);
    if (err != SMA_ERR_NOTFOUND || !create)
        return err;
    *ret_fd = create_main(history, path);
    if (*ret_fd < 0)
        return sma_fail_os(error, errno, "cannot create %s", path);
    history->is_directory_dirty = true;
    return SMA_ERR_OK;
}

static enum sma_err note_opened(struct sma_history *history, struct history_chat *chat, int fd,
                                struct sma_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        enum sma_err err = sma_fail_os(error, errno, "cannot stat history file %s", chat->stem);
        (void)history->sys->close(history->sys->self, fd); /* nothing was written */
        return err;
    }
    if (chat->is_dirty && chat->inode != 0 &&
        (status.st_ino != chat->inode || status.st_dev != chat->device))
        chat->is_replaced = true;
    chat->inode = status.st_ino;
    chat->device = status.st_dev;
    chat->fd = fd;
    history->fd_count++;
    link_open(history, chat);
    return SMA_ERR_OK;
}

enum sma_err history_open_main(struct sma_history *history, struct history_chat *chat, bool create,
                               struct sma_error *error)
{
    if (chat->fd >= 0) {
        unlink_open(history, chat);
        link_open(history, chat);
        return SMA_ERR_OK;
    }
    /* A dirty file may be closed: a later fdatasync through a new descriptor writes the same pages,
     * and the kernel reports a failed write-back that nobody has seen to the next one who opens the
     * file. */
    while (history->fd_count >= history->options.fd_count_max)
        history_close_main(history, history->oldest_open);
    struct sma_error own = {0};
    if (error == NULL)
        error = &own;
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_path(&path, history, chat->stem, ".jsonl");
    int fd = -1;
    enum sma_err err = path.err == SMA_ERR_OK ? open_path(history, path.ptr, create, &fd, error)
                                              : sma_fail(error, path.err, "no memory for a path");
    sma_buf_fini(&path);
    return err == SMA_ERR_OK ? note_opened(history, chat, fd, error) : err;
}
