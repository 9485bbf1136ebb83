/*
 * history_place.c — lines at their places: reserving, writing, replaying.
 *
 * A chat has two ends: `reserved`, up to which places were given away, and `written`, up to which they were dealt
 * with. Both equal the size of the file when nothing is outstanding. When somebody else changes the file they part
 * from its size; lines whose place is taken are then appended, and once every promise is kept both ends are the size
 * of the file again.
 */
#include "history_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* -- places ----------------------------------------------------------------------------------------------------- */
/* The chat with its end known. create: with its main file open, too. */
static enum sma_err touch_chat(struct sma_history *history, struct sma_str chat_key, bool create,
                               struct history_chat **ret_chat, struct sma_error *error)
{
    struct history_chat *chat = NULL;
    enum sma_err err = history_get_chat(history, chat_key, &chat);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "cannot remember a chat whose key is %zu bytes", chat_key.len);
    *ret_chat = chat;
    if (chat->is_checked && !create)
        return SMA_ERR_OK;
    err = history_open_main(history, chat, create, error);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    if (chat->is_checked)
        return SMA_ERR_OK;
    uint64_t end = 0;
    if (err == SMA_ERR_OK)
        err = history_check_main(history, chat, &end, error);
    else
        err = SMA_ERR_OK; /* a new chat: its file comes with its first line */
    if (err != SMA_ERR_OK)
        return err;
    chat->is_checked = true;
    chat->written = chat->reserved = end;
    return SMA_ERR_OK;
}

enum sma_err sma_history_reserve(struct sma_history *history, struct sma_str chat_key, size_t len,
                                 uint64_t *ret_offset, struct sma_error *error)
{
    struct history_chat *chat = NULL;
    enum sma_err err = touch_chat(history, chat_key, false, &chat, error);
    if (err != SMA_ERR_OK)
        return err;
    *ret_offset = chat->reserved;
    chat->reserved += len;
    return SMA_ERR_OK;
}

void sma_history_release(struct sma_history *history, struct sma_str chat_key, uint64_t offset)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat == NULL || offset >= chat->reserved)
        return;
    SMA_ASSERT(offset >= chat->written);
    chat->reserved = offset;
}

static uint64_t count_newlines(struct sma_str bytes)
{
    uint64_t count = 0;
    const char *end = bytes.ptr + bytes.len;
    for (const char *p = bytes.ptr; p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL;
         p++)
        count++;
    return count;
}

static void note_dirty(struct sma_history *history, struct history_chat *chat)
{
    if (chat->is_dirty)
        return;
    chat->is_dirty = true;
    history->dirty_count++;
}

/* The place that ends here has been dealt with. When it was the last promised one, both ends are the file's again. */
static enum sma_err note_written(struct history_chat *chat, uint64_t end, struct sma_error *error)
{
    if (chat->written < end)
        chat->written = end;
    if (chat->written < chat->reserved)
        return SMA_ERR_OK;
    uint64_t size = 0;
    enum sma_err err = history_file_size(chat->fd, &size, error);
    if (err == SMA_ERR_OK)
        chat->written = chat->reserved = size;
    return err;
}

static enum sma_err put_bytes(struct sma_history *history, struct history_chat *chat,
                              uint64_t offset, struct sma_str bytes, struct sma_error *error)
{
    note_dirty(history, chat); /* also when it fails: a part may have been written */
    return sma_sys_write_all(history->sys, chat->fd, bytes.ptr, bytes.len, (off_t)offset, error);
}

/* What stands at a place, compared with the line that belongs there. */
enum place_state
{
    PLACE_HOLDS, /* all of it */
    PLACE_OPEN,  /* a prefix of it, up to the end of the file; zero bytes count as never written */
    PLACE_TAKEN, /* something else */
};

/*
 * A file that was cut by a crash may have grown without all of its pages having been written: those read as zero
 * bytes, which no line ever contains. So zero bytes are places that still wait for their line.
 */
static bool is_unwritten_or_equal(const char *file_bytes, const char *line_bytes, size_t len,
                                  bool *ret_has_hole)
{
    for (size_t i = 0; i < len; i++) {
        if (file_bytes[i] == line_bytes[i])
            continue;
        if (file_bytes[i] != '\0')
            return false;
        *ret_has_hole = true;
    }
    return true;
}

static enum sma_err look_at_place(struct sma_history *history, struct history_chat *chat,
                                  uint64_t size, uint64_t offset, struct sma_str line,
                                  enum place_state *ret_state, struct sma_error *error)
{
    *ret_state = PLACE_TAKEN;
    if (offset > size)
        return SMA_ERR_OK;
    bool has_hole = size - offset < line.len;
    size_t overlap = has_hole ? (size_t)(size - offset) : line.len;
    char block[4096];
    for (size_t at = 0; at < overlap;) {
        size_t want = overlap - at < sizeof block ? overlap - at : sizeof block;
        enum sma_err err =
            history_read_exact(history->sys, chat->fd, block, want, offset + at, error);
        if (err != SMA_ERR_OK)
            return err;
        if (!is_unwritten_or_equal(block, line.ptr + at, want, &has_hole))
            return SMA_ERR_OK;
        at += want;
    }
    *ret_state = has_hole ? PLACE_OPEN : PLACE_HOLDS;
    return SMA_ERR_OK;
}

/* Is exactly this line in the file? The file is read in overlapping blocks. */
static enum sma_err find_in_file(struct sma_history *history, int fd, struct sma_str line,
                                 bool *ret_found, struct sma_error *error)
{
    uint64_t size = 0;
    enum sma_err err = history_file_size(fd, &size, error);
    size_t room = HISTORY_BLOCK_BYTES + line.len;
    SMA_AUTO(sma_freep) char *block = err == SMA_ERR_OK ? malloc(room) : NULL;
    if (err != SMA_ERR_OK)
        return err;
    if (block == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory to read a history file");
    for (uint64_t at = 0; at + line.len <= size; at += HISTORY_BLOCK_BYTES) {
        size_t want = size - at < room ? (size_t)(size - at) : room;
        err = history_read_exact(history->sys, fd, block, want, at, error);
        if (err != SMA_ERR_OK)
            return err;
        if (memmem(block, want, line.ptr, line.len) != NULL) {
            *ret_found = true;
            return SMA_ERR_OK;
        }
    }
    return SMA_ERR_OK;
}

/* The place is lost. The line carries time and ids, so the same bytes anywhere in the chat are the same line. */
static enum sma_err find_elsewhere(struct sma_history *history, struct history_chat *chat,
                                   struct sma_str line, bool *ret_found, struct sma_error *error)
{
    *ret_found = false;
    enum sma_err err = find_in_file(history, chat->fd, line, ret_found, error);
    uint32_t number = 0;
    if (err == SMA_ERR_OK && !*ret_found)
        err = history_archive_max(history, chat->stem, &number, error);
    for (; err == SMA_ERR_OK && !*ret_found && number > 0; number--) {
        struct sma_buf path;
        sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
        history_put_archive_path(&path, history, chat->stem, number, "");
        int fd = path.err == SMA_ERR_OK
                     ? history->sys->open(history->sys->self, path.ptr, O_RDONLY, 0)
                     : -1;
        sma_buf_fini(&path);
        if (fd < 0)
            continue; /* archives may be taken away by people */
        err = find_in_file(history, fd, line, ret_found, error);
        (void)history->sys->close(history->sys->self, fd); /* only read */
    }
    return err;
}

static void report_moved(struct sma_history *history, const struct history_chat *chat,
                         uint64_t offset)
{
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_path(&path, history, chat->stem, ".jsonl");
    if (path.err == SMA_ERR_OK)
        history_report(history, SMA_HISTORY_LINE_MOVED, path.ptr, offset, 0,
                       "the place of a line holds other bytes: somebody changed this file; the "
                       "line was appended");
    sma_buf_fini(&path);
}

/* The slow way of one line whose place is not free: skip, or append at the repaired end. */
static enum sma_err append_line(struct sma_history *history, struct history_chat *chat,
                                uint64_t offset, struct sma_str line,
                                enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    bool is_found;
    enum sma_err err = find_elsewhere(history, chat, line, &is_found, error);
    if (err != SMA_ERR_OK)
        return err;
    if (is_found) {
        *ret_outcome = SMA_HISTORY_SKIPPED;
        return SMA_ERR_OK;
    }
    uint64_t end = 0;
    err = history_check_main(history, chat, &end, error);
    if (err == SMA_ERR_OK)
        err = put_bytes(history, chat, end, line, error);
    if (err != SMA_ERR_OK)
        return err;
    chat->line_count++;
    report_moved(history, chat, offset);
    *ret_outcome = SMA_HISTORY_APPENDED;
    return SMA_ERR_OK;
}

/* Make one line stand in the file once, at its place if that is free. */
static enum sma_err place_line(struct sma_history *history, struct history_chat *chat,
                               uint64_t offset, struct sma_str line,
                               enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    uint64_t size = 0;
    enum sma_err err = history_file_size(chat->fd, &size, error);
    enum place_state state = PLACE_TAKEN;
    if (err == SMA_ERR_OK)
        err = look_at_place(history, chat, size, offset, line, &state, error);
    if (err != SMA_ERR_OK)
        return err;
    if (state == PLACE_TAKEN)
        return append_line(history, chat, offset, line, ret_outcome, error);
    if (state == PLACE_OPEN)
        err = put_bytes(history, chat, offset, line, error);
    if (err != SMA_ERR_OK)
        return err;
    chat->line_count += offset + line.len > chat->written ? 1 : 0; /* else it was counted before */
    *ret_outcome = state == PLACE_OPEN ? SMA_HISTORY_WRITTEN : SMA_HISTORY_SKIPPED;
    return SMA_ERR_OK;
}

static enum sma_err place_lines(struct sma_history *history, struct history_chat *chat,
                                uint64_t offset, struct sma_str lines,
                                enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    enum sma_history_outcome worst = SMA_HISTORY_WRITTEN;
    while (lines.len > 0) {
        const char *newline = memchr(lines.ptr, '\n', lines.len);
        size_t len = newline == NULL ? lines.len : (size_t)(newline - lines.ptr) + 1;
        enum sma_history_outcome outcome;
        enum sma_err err =
            place_line(history, chat, offset, (struct sma_str){lines.ptr, len}, &outcome, error);
        note_dirty(history, chat); /* what was found there may still wait for its sync */
        if (err == SMA_ERR_OK)
            err = note_written(chat, offset + len, error);
        if (err != SMA_ERR_OK)
            return err;
        worst = outcome > worst ? outcome : worst;
        lines.ptr += len;
        lines.len -= len;
        offset += len;
    }
    *ret_outcome = worst;
    return SMA_ERR_OK;
}

/* Open the file anew when somebody replaced or removed it: bytes written to the old one would be lost. */
static enum sma_err follow_replaced(struct sma_history *history, struct history_chat *chat,
                                    uint64_t *ret_size, struct sma_error *error)
{
    struct stat status;
    if (fstat(chat->fd, &status) != 0)
        return sma_fail_os(error, errno, "cannot stat history file %s", chat->stem);
    *ret_size = (uint64_t)status.st_size;
    if (status.st_nlink > 0)
        return SMA_ERR_OK;
    enum sma_err err = history_sync_chat(history, chat, error);
    if (err != SMA_ERR_OK)
        return err;
    history_close_main(history, chat);
    err = history_open_main(history, chat, true, error);
    return err == SMA_ERR_OK ? history_file_size(chat->fd, ret_size, error) : err;
}

enum sma_err sma_history_write(struct sma_history *history, struct sma_str chat_key,
                               uint64_t offset, struct sma_str lines,
                               enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    SMA_ASSERT(lines.len > 0 && lines.ptr[lines.len - 1] == '\n');
    struct history_chat *chat = NULL;
    uint64_t size = 0;
    enum sma_err err = touch_chat(history, chat_key, true, &chat, error);
    if (err == SMA_ERR_OK)
        err = follow_replaced(history, chat, &size, error);
    if (err != SMA_ERR_OK)
        return err;
    if (offset > chat->written)
        return sma_fail(error, SMA_ERR_BUSY, "an earlier line of chat %s is not written yet",
                        chat->stem);
    if (size != offset)
        return place_lines(history, chat, offset, lines, ret_outcome, error);
    err = put_bytes(history, chat, offset, lines, error);
    if (err != SMA_ERR_OK)
        return err;
    chat->line_count += count_newlines(lines);
    chat->written = offset + lines.len;
    if (chat->reserved < chat->written)
        chat->reserved = chat->written;
    *ret_outcome = SMA_HISTORY_WRITTEN;
    return SMA_ERR_OK;
}

enum sma_err sma_history_replay(struct sma_history *history, struct sma_str chat_key,
                                uint64_t generation, uint64_t current_generation, uint64_t offset,
                                struct sma_str line, enum sma_history_outcome *ret_outcome,
                                struct sma_error *error)
{
    SMA_ASSERT(line.len > 0 && line.ptr[line.len - 1] == '\n');
    struct history_chat *chat = NULL;
    enum sma_err err = history_get_chat(history, chat_key, &chat);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "cannot remember a chat whose key is %zu bytes", chat_key.len);
    SMA_ASSERT(!chat->is_checked || chat->reserved == chat->written);
    err = history_open_main(history, chat, true, error);
    if (err != SMA_ERR_OK)
        return err;
    history->is_directory_dirty =
        true; /* the file may have been created and not synced before the crash */
    if (generation == current_generation)
        err = place_line(history, chat, offset, line, ret_outcome, error);
    else
        err = append_line(history, chat, offset, line, ret_outcome, error);
    note_dirty(history, chat);
    chat->is_checked = false; /* the next reserve counts lines and looks at the end of the file */
    return err;
}
