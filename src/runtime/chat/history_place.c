/*
 * history_place.c — lines at their places: reserving, writing, replaying.
 *
 * A chat has two ends: `reserved`, up to which places were given away, and `written`, up to which
 * they were dealt with. Both equal the size of the file when nothing is outstanding. When somebody
 * else changes the file they part from its size; lines whose place is taken are then appended, and
 * once every promise is kept both ends are the size of the file again.
 *
 * A line that is written at once is new, so it is looked for at its place only. One that is
 * replayed may have been written before: when its place holds something else it is looked for in
 * the files that it can be in.
 */
#include "history_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* -- places ------------------------------------------------------------------------------------ */
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
    if (end == 0)
        chat->line_count = chat->counted_to = chat->count_end = 0;
    chat->is_checked = true;
    chat->written = chat->reserved = end;
    return SMA_ERR_OK;
}

enum sma_err sma_history_reserve(struct sma_history *history, struct sma_str chat_key, size_t len,
                                 uint64_t *ret_offset, struct sma_error *error)
{
    struct history_chat *chat = NULL;
    SMA_TRY(touch_chat(history, chat_key, false, &chat, error));
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

uint64_t history_count_newlines(struct sma_str bytes)
{
    uint64_t count = 0;
    const char *end = bytes.ptr + bytes.len;
    for (const char *p = bytes.ptr; p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL;
         p++)
        count++;
    return count;
}

/* The place that ends here has been dealt with. When it was the last promised one, both ends are
 * the file's again. */
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
    history_note_dirty(history, chat); /* also when it fails: a part may have been written */
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
 * A file that was cut by a crash may have grown without all of its pages having been written: those
 * read as zero bytes, which no line ever contains. So zero bytes are places that still wait for
 * their line.
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

static enum sma_err look_at_place(struct sma_history *history, int fd, uint64_t size,
                                  uint64_t offset, struct sma_str line, enum place_state *ret_state,
                                  struct sma_error *error)
{
    *ret_state = PLACE_TAKEN;
    if (offset > size)
        return SMA_ERR_OK;
    bool has_hole = size - offset < line.len;
    size_t overlap = has_hole ? (size_t)(size - offset) : line.len;
    char block[4096];
    for (size_t at = 0; at < overlap;) {
        size_t want = overlap - at < sizeof block ? overlap - at : sizeof block;
        SMA_TRY(history_read_exact(history->sys, fd, block, want, offset + at, error));
        if (!is_unwritten_or_equal(block, line.ptr + at, want, &has_hole))
            return SMA_ERR_OK;
        at += want;
    }
    *ret_state = has_hole ? PLACE_OPEN : PLACE_HOLDS;
    return SMA_ERR_OK;
}

/* Where exactly this line is in the file; false: nowhere. The file is read in overlapping
 * blocks. */
static enum sma_err find_in_file(struct sma_history *history, int fd, struct sma_str line,
                                 bool *ret_found, uint64_t *ret_offset, struct sma_error *error)
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
        const char *found = memmem(block, want, line.ptr, line.len);
        if (found != NULL) {
            *ret_found = true;
            *ret_offset = at + (uint64_t)(found - block);
            return SMA_ERR_OK;
        }
    }
    return SMA_ERR_OK;
}

/* -- replaying into an archive ----------------------------------------------------------------- */
/* Write the line where it stands, or belongs, in an archive; the pages that are there may never
 * have reached the disk. */
static enum sma_err write_again(struct sma_history *history, int fd, uint64_t offset,
                                struct sma_str line, struct sma_error *error)
{
    enum sma_err err =
        sma_sys_write_all(history->sys, fd, line.ptr, line.len, (off_t)offset, error);
    return err == SMA_ERR_OK ? history_sync_file(history, fd, error) : err;
}

/* At its place when is_placed, else wherever it is in the archive. *ret_outcome is set when the
 * line stands there now. */
static enum sma_err place_in_archive(struct sma_history *history, int fd, bool is_placed,
                                     uint64_t offset, struct sma_str line,
                                     enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    uint64_t size = 0;
    bool is_found = false;
    enum place_state state = PLACE_TAKEN;
    enum sma_err err = history_file_size(fd, &size, error);
    if (err == SMA_ERR_OK && is_placed)
        err = look_at_place(history, fd, size, offset, line, &state, error);
    if (err == SMA_ERR_OK && state == PLACE_TAKEN)
        err = find_in_file(history, fd, line, &is_found, &offset, error);
    if (err != SMA_ERR_OK || (state == PLACE_TAKEN && !is_found))
        return err;
    err = write_again(history, fd, offset, line, error);
    if (err == SMA_ERR_OK)
        *ret_outcome = state == PLACE_OPEN ? SMA_HISTORY_WRITTEN : SMA_HISTORY_SKIPPED;
    return err;
}

static enum sma_err open_archive(struct sma_history *history, const struct history_chat *chat,
                                 uint32_t number, int *ret_fd, struct sma_error *error)
{
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_archive_path(&path, history, chat->stem, number, "");
    enum sma_err err = path.err == SMA_ERR_OK
                           ? history_open_file(history, path.ptr, O_RDWR, ret_fd, error)
                           : sma_fail(error, path.err, "no memory for a path");
    sma_buf_fini(&path);
    return err;
}

/*
 * A line of an older generation: each rotation since made one archive of the whole file, the newest
 * ones in order, so the place tells which; the others made since are searched, too (an older
 * version made two halves of a file).
 */
static enum sma_err replay_in_archives(struct sma_history *history, struct history_chat *chat,
                                       uint64_t rotations, uint64_t offset, struct sma_str line,
                                       enum sma_history_outcome *ret_outcome,
                                       struct sma_error *error)
{
    uint32_t newest = 0;
    enum sma_err err = history_archive_max(history, chat->stem, &newest, error);
    if (err != SMA_ERR_OK || newest == 0)
        return err;
    uint32_t first = rotations >= newest ? 1 : newest - (uint32_t)rotations + 1;
    for (uint32_t number = first;
         err == SMA_ERR_OK && *ret_outcome == SMA_HISTORY_APPENDED && number <= newest; number++) {
        int fd = -1;
        err = open_archive(history, chat, number, &fd, error);
        if (err == SMA_ERR_NOTFOUND) {
            err = SMA_ERR_OK; /* archives may be taken away by people */
            continue;
        }
        if (err != SMA_ERR_OK)
            return err;
        err = place_in_archive(history, fd, number == first, offset, line, ret_outcome, error);
        (void)history->sys->close(history->sys->self, fd); /* a duplicate is synced */
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

/* At the repaired end. */
static enum sma_err append_line(struct sma_history *history, struct history_chat *chat,
                                uint64_t offset, struct sma_str line,
                                enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    uint64_t end = 0;
    SMA_TRY(history_check_main(history, chat, &end, error));
    SMA_TRY(put_bytes(history, chat, end, line, error));
    chat->line_count++;
    report_moved(history, chat, offset);
    *ret_outcome = SMA_HISTORY_APPENDED;
    return SMA_ERR_OK;
}

/* Make one new line stand in the file, at its place if that is free. */
static enum sma_err place_line(struct sma_history *history, struct history_chat *chat,
                               uint64_t offset, struct sma_str line,
                               enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    uint64_t size = 0;
    enum sma_err err = history_file_size(chat->fd, &size, error);
    enum place_state state = PLACE_TAKEN;
    if (err == SMA_ERR_OK)
        err = look_at_place(history, chat->fd, size, offset, line, &state, error);
    if (err != SMA_ERR_OK)
        return err;
    if (state == PLACE_TAKEN)
        return append_line(history, chat, offset, line, ret_outcome, error);
    if (state == PLACE_OPEN)
        err = put_bytes(history, chat, offset, line, error);
    if (err != SMA_ERR_OK)
        return err;
    chat->line_count++;
    *ret_outcome = state == PLACE_OPEN ? SMA_HISTORY_WRITTEN : SMA_HISTORY_SKIPPED;
    return SMA_ERR_OK;
}

static enum sma_err place_lines(struct sma_history *history, struct history_chat *chat,
                                uint64_t offset, struct sma_str lines,
                                enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    enum sma_history_outcome worst = SMA_HISTORY_WRITTEN;
    for (size_t len; lines.len > 0; lines.ptr += len, lines.len -= len, offset += len) {
        const char *newline = memchr(lines.ptr, '\n', lines.len);
        len = newline == NULL ? lines.len : (size_t)(newline - lines.ptr) + 1;
        enum sma_history_outcome outcome = SMA_HISTORY_SKIPPED;
        enum sma_err err = SMA_ERR_OK;
        /* Dealt with before: an earlier attempt came so far. */
        if (offset + len > chat->written)
            err = place_line(history, chat, offset, (struct sma_str){lines.ptr, len}, &outcome,
                             error);
        history_note_dirty(history, chat); /* what was found there may still wait for its sync */
        if (err == SMA_ERR_OK)
            err = note_written(chat, offset + len, error);
        if (err != SMA_ERR_OK)
            return err;
        worst = outcome > worst ? outcome : worst;
    }
    *ret_outcome = worst;
    return SMA_ERR_OK;
}

/*
 * Open the file anew when somebody replaced or removed it: what is written to the old one would
 * stand in an editor's backup only. Looked at with the first write after each sync; the sync itself
 * looks again.
 */
static enum sma_err follow_replaced(struct sma_history *history, struct history_chat *chat,
                                    uint64_t *ret_size, struct sma_error *error)
{
    struct stat status;
    if (fstat(chat->fd, &status) != 0)
        return sma_fail_os(error, errno, "cannot stat history file %s", chat->stem);
    *ret_size = (uint64_t)status.st_size;
    if (status.st_nlink > 0 && (chat->is_dirty || !history_is_main_replaced(history, chat)))
        return SMA_ERR_OK;
    history_close_main(history, chat);
    enum sma_err err = history_open_main(history, chat, true, error);
    return err == SMA_ERR_OK ? history_file_size(chat->fd, ret_size, error) : err;
}

enum sma_err sma_history_write(struct sma_history *history, struct sma_str chat_key,
                               uint64_t offset, struct sma_str lines,
                               enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    SMA_ASSERT(lines.len > 0 && lines.ptr[lines.len - 1] == '\n');
    struct history_chat *chat = NULL;
    uint64_t size = 0;
    SMA_TRY(touch_chat(history, chat_key, true, &chat, error));
    SMA_TRY(follow_replaced(history, chat, &size, error));
    if (offset > chat->written)
        return sma_fail(error, SMA_ERR_BUSY, "an earlier line of chat %s is not written yet",
                        chat->stem);
    if (size != offset)
        return place_lines(history, chat, offset, lines, ret_outcome, error);
    SMA_TRY(put_bytes(history, chat, offset, lines, error));
    chat->line_count += history_count_newlines(lines);
    chat->written = offset + lines.len;
    if (chat->reserved < chat->written)
        chat->reserved = chat->written;
    *ret_outcome = SMA_HISTORY_WRITTEN;
    return SMA_ERR_OK;
}

/* -- replay ------------------------------------------------------------------------------------ */
/*
 * The page cache is not asked: after a failed sync Linux keeps the pages, clean and never written,
 * and the next sync of them succeeds. So a line that "stands there" is written again.
 */
static enum sma_err replay_in_main(struct sma_history *history, struct history_chat *chat,
                                   bool is_placed, uint64_t offset, struct sma_str line,
                                   enum sma_history_outcome *ret_outcome, struct sma_error *error)
{
    uint64_t size = 0, place = offset;
    bool is_found = false;
    enum place_state state = PLACE_TAKEN;
    SMA_TRY(history_file_size(chat->fd, &size, error));
    if (is_placed)
        SMA_TRY(look_at_place(history, chat->fd, size, offset, line, &state, error));
    if (state == PLACE_TAKEN)
        SMA_TRY(find_in_file(history, chat->fd, line, &is_found, &place, error));
    if (state == PLACE_TAKEN && !is_found)
        return append_line(history, chat, offset, line, ret_outcome, error);
    *ret_outcome = state == PLACE_OPEN ? SMA_HISTORY_WRITTEN : SMA_HISTORY_SKIPPED;
    return put_bytes(history, chat, place, line, error);
}

bool sma_history_is_line(struct sma_str line)
{
    const char *newline = line.len == 0 ? NULL : memchr(line.ptr, '\n', line.len);
    return newline != NULL && newline == line.ptr + line.len - 1;
}

enum sma_err sma_history_replay(struct sma_history *history, struct sma_str chat_key,
                                uint64_t generation, uint64_t current_generation, uint64_t offset,
                                struct sma_str line, enum sma_history_outcome *ret_outcome,
                                struct sma_error *error)
{
    if (!sma_history_is_line(line))
        return sma_fail(error, SMA_ERR_BADINPUT, "the stored line is not one line");
    struct history_chat *chat = NULL;
    enum sma_err err = history_get_chat(history, chat_key, &chat);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "cannot remember a chat whose key is %zu bytes", chat_key.len);
    SMA_ASSERT(!chat->is_checked || chat->reserved == chat->written);
    *ret_outcome = SMA_HISTORY_APPENDED; /* until it was found */
    if (generation < current_generation)
        err = replay_in_archives(history, chat, current_generation - generation, offset, line,
                                 ret_outcome, error);
    /* The file may have been created and not synced before the crash. */
    history->is_directory_dirty = true;
    if (err != SMA_ERR_OK || *ret_outcome != SMA_HISTORY_APPENDED)
        return err;
    err = history_open_main(history, chat, true, error);
    if (err != SMA_ERR_OK)
        return err;
    err = replay_in_main(history, chat, generation == current_generation, offset, line, ret_outcome,
                         error);
    chat->is_checked = false; /* the next reserve looks at the end of the file */
    return err;
}
