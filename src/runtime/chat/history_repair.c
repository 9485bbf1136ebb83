/*
 * history_repair.c — the first look at a main file: make its end whole. It costs the same for every
 * length; how many lines there are is counted later, in steps, and only in a file that may be due
 * for a rotation.
 *
 * A crash can leave the last line torn: without its newline, or followed by zero bytes of pages
 * never written. What follows the last newline is completed when it is a whole entry, else moved to
 * "<file>.damaged" and cut off. Bytes before the last newline are never changed.
 */
#include "history_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define TAIL_BLOCK_BYTES 4096
#define COUNT_STEP_BYTES (1024 * 1024)

/* Offset behind the last newline; a tail longer than any line is looked at no further back. */
static enum sma_err find_tail(struct sma_history *history, int fd, uint64_t size,
                              uint64_t *ret_offset, struct sma_error *error)
{
    char block[TAIL_BLOCK_BYTES];
    uint64_t end = size;
    while (end > 0 && size - end <= SMA_HISTORY_LINE_BYTES_MAX) {
        size_t want = end < sizeof block ? (size_t)end : sizeof block;
        SMA_TRY(history_read_exact(history->sys, fd, block, want, end - want, error));
        const char *newline = memrchr(block, '\n', want);
        end -= want;
        if (newline == NULL)
            continue;
        end += (uint64_t)(newline - block) + 1;
        break;
    }
    *ret_offset = end;
    return SMA_ERR_OK;
}

static size_t without_zeros(const char *bytes, size_t len)
{
    while (len > 0 && bytes[len - 1] == '\0')
        len--;
    return len;
}

/* Does the file already end with these bytes? Then a crash came between saving and cutting. */
static bool is_saved(struct sma_history *history, int fd, uint64_t size, struct sma_str tail)
{
    if (size < tail.len)
        return false;
    SMA_AUTO(sma_freep) char *end = malloc(tail.len);
    return end != NULL &&
           history_read_exact(history->sys, fd, end, tail.len, size - tail.len, NULL) ==
               SMA_ERR_OK &&
           memcmp(end, tail.ptr, tail.len) == 0;
}

/* Append tail to "<main>.damaged" and make it durable. tail ends with a newline. */
static enum sma_err save_tail(struct sma_history *history, const struct history_chat *chat,
                              struct sma_str tail, struct sma_error *error)
{
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_path(&path, history, chat->stem, ".jsonl.damaged");
    if (path.err != SMA_ERR_OK)
        return sma_fail(error, path.err, "no memory for a path");
    const struct sma_sys *sys = history->sys;
    int fd = sys->open(sys->self, path.ptr, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY, 0600);
    enum sma_err err = fd >= 0 ? SMA_ERR_OK : sma_fail_os(error, errno, "cannot open %s", path.ptr);
    sma_buf_fini(&path);
    if (err != SMA_ERR_OK)
        return err;
    uint64_t size = 0;
    err = history_file_size(fd, &size, error);
    if (err == SMA_ERR_OK && !is_saved(history, fd, size, tail))
        err = sma_sys_write_all(sys, fd, tail.ptr, tail.len, (off_t)size, error);
    if (err == SMA_ERR_OK && sys->fsync(sys->self, fd) != 0)
        err = history_sync_failed(error, errno);
    (void)sys->close(sys->self, fd); /* synced, or failed already */
    history->is_directory_dirty = true;
    return err == SMA_ERR_OK ? history_sync_directory(history, error) : err;
}

static void report_tail(struct sma_history *history, const struct history_chat *chat,
                        uint64_t offset, bool is_moved)
{
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_path(&path, history, chat->stem, ".jsonl");
    if (path.err == SMA_ERR_OK)
        history_report(history, is_moved ? SMA_HISTORY_TAIL_MOVED : SMA_HISTORY_TAIL_COMPLETED,
                       path.ptr, offset, history_line_number(history, chat->fd, offset),
                       is_moved ? "the last line was torn; it was moved to a file of the same name "
                                  "with .damaged added"
                                : "the last line lacked its newline and got it");
    sma_buf_fini(&path);
}

static enum sma_err cut_tail(struct sma_history *history, struct history_chat *chat, char *tail,
                             size_t len, uint64_t offset, struct sma_error *error)
{
    enum sma_err err = SMA_ERR_OK;
    if (len > 0) {
        tail[len] = '\n'; /* the caller's buffer has room for it */
        err = save_tail(history, chat, (struct sma_str){tail, len + 1}, error);
    }
    const struct sma_sys *sys = history->sys;
    if (err == SMA_ERR_OK && sys->ftruncate(sys->self, chat->fd, (off_t)offset) != 0)
        err = sma_fail_os(error, errno, "cannot cut the torn end of history file %s", chat->stem);
    if (err == SMA_ERR_OK && sys->fdatasync(sys->self, chat->fd) != 0)
        err = history_sync_failed(error, errno);
    return err;
}

/* Write the missing newline; cut zero bytes behind it. */
static enum sma_err complete_tail(struct sma_history *history, struct history_chat *chat,
                                  uint64_t end, uint64_t size, struct sma_error *error)
{
    const struct sma_sys *sys = history->sys;
    SMA_TRY(sma_sys_write_all(sys, chat->fd, "\n", 1, (off_t)end, error));
    if (size > end + 1 && sys->ftruncate(sys->self, chat->fd, (off_t)(end + 1)) != 0)
        SMA_TRY(
            sma_fail_os(error, errno, "cannot cut zero bytes from history file %s", chat->stem));
    if (sys->fdatasync(sys->self, chat->fd) != 0)
        SMA_TRY(history_sync_failed(error, errno));
    return SMA_ERR_OK;
}

static bool is_whole_entry(const struct history_chat *chat, const char *tail, size_t len,
                           bool is_first)
{
    struct history_parsed parsed;
    struct sma_str line = history_trim_line((struct sma_str){tail, len}, is_first);
    if (history_parse(line, (struct sma_str){chat->key, chat->key_len}, &parsed) != SMA_ERR_OK)
        return false;
    json_decref(parsed.root);
    return true;
}

static enum sma_err repair_tail(struct sma_history *history, struct history_chat *chat,
                                uint64_t offset, uint64_t size, uint64_t *ret_end,
                                struct sma_error *error)
{
    bool is_whole = false;
    enum sma_err err;
    if (size - offset > SMA_HISTORY_LINE_BYTES_MAX) {
        /* longer than any line: not read into memory, but closed and left as one damaged line */
        err = complete_tail(history, chat, size, size, error);
        is_whole = true;
        *ret_end = size + 1;
    } else {
        SMA_AUTO(sma_freep) char *tail = malloc((size_t)(size - offset) + 1);
        if (tail == NULL)
            return sma_fail(error, SMA_ERR_NOMEM, "no memory to read a history file");
        err = history_read_exact(history->sys, chat->fd, tail, (size_t)(size - offset), offset,
                                 error);
        if (err != SMA_ERR_OK)
            return err;
        size_t len = without_zeros(tail, (size_t)(size - offset));
        is_whole = is_whole_entry(chat, tail, len, offset == 0);
        err = is_whole ? complete_tail(history, chat, offset + len, size, error)
                       : cut_tail(history, chat, tail, len, offset, error);
        *ret_end = is_whole ? offset + len + 1 : offset;
    }
    if (err == SMA_ERR_OK)
        report_tail(history, chat, offset, !is_whole);
    return err;
}

enum sma_err history_check_main(struct sma_history *history, struct history_chat *chat,
                                uint64_t *ret_end, struct sma_error *error)
{
    uint64_t size = 0, tail = 0;
    enum sma_err err = history_file_size(chat->fd, &size, error);
    if (err == SMA_ERR_OK)
        err = find_tail(history, chat->fd, size, &tail, error);
    if (err != SMA_ERR_OK)
        return err;
    uint64_t end = size;
    if (tail < size)
        err = repair_tail(history, chat, tail, size, &end, error);
    if (err != SMA_ERR_OK)
        return err;
    const struct history_count *known =
        history->counts == NULL ? NULL : &history->counts[chat->hash % HISTORY_COUNT_MEMORY];
    bool is_known = known != NULL && known->hash == chat->hash && known->size == end;
    chat->line_count = is_known ? known->line_count : 0;
    chat->counted_to = is_known ? end : 0;
    chat->count_end = end;
    *ret_end = end;
    return SMA_ERR_OK;
}

/* -- counting ---------------------------------------------------------------------------------- */
/* No line is shorter: what is small enough needs no counting. */
#define LINE_BYTES_MIN 64

bool sma_history_needs_count(const struct sma_history *history, struct sma_str chat_key)
{
    const struct history_chat *chat = history_find_chat(history, chat_key);
    return chat != NULL && chat->is_checked && chat->counted_to < chat->count_end &&
           chat->written < history->options.bytes_max &&
           chat->written > (uint64_t)history->options.lines_max * LINE_BYTES_MIN;
}

enum sma_err sma_history_count_step(struct sma_history *history, struct sma_str chat_key,
                                    struct sma_error *error)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat == NULL || !chat->is_checked || chat->counted_to >= chat->count_end)
        return SMA_ERR_OK;
    SMA_AUTO(sma_freep) char *block = malloc(HISTORY_BLOCK_BYTES);
    enum sma_err err = block == NULL
                           ? sma_fail(error, SMA_ERR_NOMEM, "no memory to read a history file")
                           : history_open_main(history, chat, false, error);
    uint64_t stop = chat->counted_to + COUNT_STEP_BYTES;
    if (stop > chat->count_end)
        stop = chat->count_end;
    while (err == SMA_ERR_OK && chat->counted_to < stop) {
        uint64_t left = stop - chat->counted_to;
        size_t want = left < HISTORY_BLOCK_BYTES ? (size_t)left : HISTORY_BLOCK_BYTES;
        err = history_read_exact(history->sys, chat->fd, block, want, chat->counted_to, error);
        if (err != SMA_ERR_OK)
            break;
        chat->line_count += history_count_newlines((struct sma_str){block, want});
        chat->counted_to += want;
    }
    if (err != SMA_ERR_OK && err != SMA_ERR_NOMEM)
        chat->counted_to = chat->count_end; /* it became shorter: a guess will do */
    return err;
}
