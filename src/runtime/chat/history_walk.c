/*
 * history_walk.c — every entry of every chat, for a store that has lost its database.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_COUNT_MAX 2000000 /* history files of one project */

/* One history file by name. number 0 = the main file. */
struct walk_file
{
    char *stem;
    uint32_t number;
};
struct walk
{
    struct sma_history *history;
    enum sma_err (*each)(void *self, const struct sma_history_record *record);
    void *self;
    struct sma_error *error;
    enum sma_err each_err; /* of the callback: ends the walk, whatever it is */
    struct walk_file *files;
    size_t file_count, file_capacity;
};

/* -- the directory ----------------------------------------------------------------------------- */
static int compare_files(const void *a, const void *b)
{
    const struct walk_file *x = a, *y = b;
    int order = strcmp(x->stem, y->stem);
    if (order != 0)
        return order;
    uint32_t left = x->number - 1, right = y->number - 1; /* the main file, 0, comes last */
    return left < right ? -1 : left > right;
}

static enum sma_err push_file(struct walk *walk, const char *name, size_t stem_len, uint32_t number)
{
    if (walk->file_count == FILE_COUNT_MAX)
        return sma_fail(walk->error, SMA_ERR_TOOBIG, "over %d history files", FILE_COUNT_MAX);
    if (walk->file_count == walk->file_capacity) {
        size_t capacity = walk->file_capacity == 0 ? 256 : walk->file_capacity * 2;
        struct walk_file *grown = realloc(walk->files, capacity * sizeof *grown);
        if (grown == NULL)
            return sma_fail(walk->error, SMA_ERR_NOMEM, "no memory for the list of history files");
        walk->files = grown;
        walk->file_capacity = capacity;
    }
    char *stem = strndup(name, stem_len);
    if (stem == NULL)
        return sma_fail(walk->error, SMA_ERR_NOMEM, "no memory for the list of history files");
    walk->files[walk->file_count++] = (struct walk_file){stem, number};
    return SMA_ERR_OK;
}

static bool has_ending(struct sma_str name, struct sma_str ending)
{
    return name.len > ending.len &&
           memcmp(name.ptr + name.len - ending.len, ending.ptr, ending.len) == 0;
}

static enum sma_err note_name(struct walk *walk, struct sma_str name)
{
    size_t stem_len;
    uint32_t number;
    if (history_parse_archive_name(name, &stem_len, &number))
        return push_file(walk, name.ptr, stem_len, number);
    if (has_ending(name, SMA_STR(".jsonl")))
        return push_file(walk, name.ptr, name.len - 6, 0);
    return SMA_ERR_OK;
}

static enum sma_err list_files(struct walk *walk)
{
    DIR *directory = opendir(walk->history->directory);
    if (directory == NULL)
        return sma_fail_os(walk->error, errno, "cannot read directory %s",
                           walk->history->directory);
    enum sma_err err = SMA_ERR_OK;
    for (struct dirent *item; err == SMA_ERR_OK && (item = readdir(directory)) != NULL;)
        err = note_name(walk, sma_str(item->d_name));
    (void)closedir(directory);
    if (walk->file_count > 0)
        qsort(walk->files, walk->file_count, sizeof *walk->files, compare_files);
    return err;
}

/* -- lines of one file, oldest first ----------------------------------------------------------- */
struct line_source
{
    struct sma_history *history;
    int fd;
    struct sma_buf path;
    char *block;
    size_t capacity, start, len; /* unread: block[start, start + len) */
    uint64_t offset;             /* of the first unread byte */
    uint64_t size;
    bool is_skipping;
};

static enum sma_err open_source(struct sma_history *history, const struct walk_file *file,
                                struct line_source *source, struct sma_error *error)
{
    *source = (struct line_source){.history = history, .fd = -1};
    sma_buf_init(&source->path, HISTORY_PATH_BYTES_MAX);
    if (file->number == 0)
        history_put_path(&source->path, history, file->stem, ".jsonl");
    else
        history_put_archive_path(&source->path, history, file->stem, file->number, "");
    if (source->path.err != SMA_ERR_OK)
        return sma_fail(error, source->path.err, "no memory for a path");
    enum sma_err err = history_open_file(history, source->path.ptr, O_RDONLY, &source->fd, error);
    return err == SMA_ERR_OK ? history_file_size(source->fd, &source->size, error) : err;
}

static void close_source(struct line_source *source)
{
    if (source->fd >= 0)
        (void)source->history->sys->close(source->history->sys->self, source->fd); /* only read */
    sma_buf_fini(&source->path);
    free(source->block);
}

/* Read more behind the unread bytes. */
static enum sma_err fill_source(struct line_source *source, struct sma_error *error)
{
    if (source->len == source->capacity) {
        size_t capacity = source->capacity == 0 ? HISTORY_BLOCK_BYTES : source->capacity * 2;
        char *grown = realloc(source->block, capacity);
        if (grown == NULL)
            return sma_fail(error, SMA_ERR_NOMEM, "no memory to read a history file");
        source->block = grown;
        source->capacity = capacity;
    }
    if (source->len > 0)
        memmove(source->block, source->block + source->start, source->len);
    source->start = 0;
    uint64_t at = source->offset + source->len;
    size_t room = source->capacity - source->len;
    size_t want = source->size - at < room ? (size_t)(source->size - at) : room;
    enum sma_err err = history_read_exact(source->history->sys, source->fd,
                                          source->block + source->len, want, at, error);
    if (err == SMA_ERR_OK)
        source->len += want;
    return err;
}

static void drop(struct line_source *source, size_t len)
{
    source->start += len;
    source->len -= len;
    source->offset += len;
}

/* The next line without newline; *ret_bytes counts the newline. EMPTY at the end of the file. */
static enum sma_err next_line(struct line_source *source, struct sma_str *ret_line,
                              size_t *ret_bytes, struct sma_error *error)
{
    for (;;) {
        const char *line = source->block == NULL ? NULL : source->block + source->start;
        const char *newline = source->len == 0 ? NULL : memchr(line, '\n', source->len);
        bool is_end = source->offset + source->len >= source->size;
        size_t bytes = newline == NULL ? source->len : (size_t)(newline - line) + 1;
        if (is_end && source->len == 0)
            return SMA_ERR_EMPTY;
        if ((newline != NULL || is_end) && !source->is_skipping) {
            *ret_line = (struct sma_str){line, newline == NULL ? bytes : bytes - 1};
            *ret_bytes = bytes;
            drop(source, bytes);
            return SMA_ERR_OK;
        }
        if (newline == NULL && source->len > SMA_HISTORY_LINE_BYTES_MAX && !source->is_skipping) {
            history_report_line(source->history, source->path.ptr, source->fd, source->offset);
            source->is_skipping = true;
        }
        if (source->is_skipping) { /* drop the rest of an over-long line */
            source->is_skipping = newline == NULL;
            drop(source, bytes);
        }
        SMA_TRY(newline == NULL ? fill_source(source, error) : SMA_ERR_OK);
    }
}

/* Parse, and check that the chat key belongs to the file. */
static enum sma_err parse_of_stem(struct sma_str line, const char *stem,
                                  struct history_parsed *ret_parsed)
{
    struct history_parsed parsed;
    enum sma_err err = history_parse(line, (struct sma_str){NULL, 0}, &parsed);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_buf name;
    sma_buf_init(&name, SMA_CHAT_KEY_BYTES_MAX * 4);
    sma_history_put_file_stem(&name, parsed.entry.chat_key);
    bool is_own = name.err == SMA_ERR_OK && sma_str_is_equal(sma_buf_str(&name), sma_str(stem));
    sma_buf_fini(&name);
    if (!is_own) {
        json_decref(parsed.root);
        return SMA_ERR_BADINPUT;
    }
    *ret_parsed = parsed;
    return SMA_ERR_OK;
}

static enum sma_err give_line(struct walk *walk, const struct walk_file *file,
                              struct line_source *source, struct sma_str raw, size_t bytes)
{
    uint64_t offset = source->offset - bytes;
    struct sma_str line = history_trim_line(raw, offset == 0);
    if (sma_str_trim(line).len == 0)
        return SMA_ERR_OK;
    struct history_parsed parsed;
    if (parse_of_stem(line, file->stem, &parsed) != SMA_ERR_OK) {
        history_report_line(walk->history, source->path.ptr, source->fd, offset);
        return SMA_ERR_OK;
    }
    struct sma_history_record record = {
        .entry = parsed.entry,
        .is_notice = parsed.is_notice,
        .is_archived = file->number != 0,
        .offset = offset,
        .line_bytes = bytes,
    };
    enum sma_err err = walk->each(walk->self, &record);
    json_decref(parsed.root);
    walk->each_err = err;
    return err;
}

static enum sma_err walk_file(struct walk *walk, const struct walk_file *file)
{
    struct line_source source;
    enum sma_err err = open_source(walk->history, file, &source, walk->error);
    while (err == SMA_ERR_OK) {
        struct sma_str line;
        size_t bytes;
        err = next_line(&source, &line, &bytes, walk->error);
        if (err == SMA_ERR_OK)
            err = give_line(walk, file, &source, line, bytes);
        else if (err == SMA_ERR_EMPTY)
            break;
    }
    close_source(&source);
    return err == SMA_ERR_EMPTY || err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

/* -- half-done rotations and torn ends --------------------------------------------------------- */
/* The chat key of a file, from its first good entry; EMPTY when it has none. Appended to key with a
 * NUL. */
static enum sma_err find_key(struct walk *walk, const struct walk_file *file, struct sma_buf *key)
{
    struct line_source source;
    enum sma_err err = open_source(walk->history, file, &source, walk->error);
    while (err == SMA_ERR_OK) {
        struct sma_str line;
        size_t bytes;
        struct history_parsed parsed;
        err = next_line(&source, &line, &bytes, walk->error);
        if (err != SMA_ERR_OK || parse_of_stem(history_trim_line(line, source.offset == bytes),
                                               file->stem, &parsed) != SMA_ERR_OK)
            continue;
        sma_buf_put_str(key, parsed.entry.chat_key);
        err = key->err;
        json_decref(parsed.root);
        break;
    }
    close_source(&source);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_EMPTY : err;
}

/* Before the entries of a chat are given: files[first, end) are its archives and, last, its main
 * file if it has one. */
static enum sma_err mend_chat(struct walk *walk, size_t first, size_t end)
{
    const struct walk_file *main_file = &walk->files[end - 1];
    if (main_file->number != 0)
        return SMA_ERR_OK;
    struct sma_buf key;
    sma_buf_init(&key, SMA_HISTORY_LINE_BYTES_MAX);
    enum sma_err err = find_key(walk, main_file, &key);
    if (err == SMA_ERR_EMPTY && end - first >= 2) /* a torn line may be all that it has */
        err = find_key(walk, &walk->files[end - 2], &key);
    struct sma_str chat_key = sma_buf_str(&key);
    if (err == SMA_ERR_OK && end - first >= 2 && chat_key.len > 0 &&
        chat_key.len <= SMA_CHAT_KEY_BYTES_MAX && memchr(chat_key.ptr, '\0', chat_key.len) == NULL)
        err =
            history_undo_halves(walk->history, chat_key, walk->files[end - 2].number, walk->error);
    uint64_t offset;
    if (err == SMA_ERR_OK && chat_key.len <= SMA_CHAT_KEY_BYTES_MAX)
        err = sma_history_reserve(walk->history, chat_key, 0, &offset,
                                  walk->error); /* repairs a torn end */
    sma_buf_fini(&key);
    return err == SMA_ERR_EMPTY ? SMA_ERR_OK : err;
}

static void report_unreadable(struct walk *walk, const struct walk_file *file)
{
    char text[sizeof(struct sma_error) + 64];
    snprintf(text, sizeof text, "the files of this chat cannot be read and are left out: %s",
             walk->error != NULL ? walk->error->text : "see the log");
    history_report(walk->history, SMA_HISTORY_FILE_UNREADABLE, file->stem, 0, 0, text);
    if (walk->error != NULL)
        *walk->error = (struct sma_error){0};
}

static enum sma_err walk_chats(struct walk *walk)
{
    size_t first = 0;
    while (first < walk->file_count) {
        size_t end = first + 1;
        while (end < walk->file_count &&
               strcmp(walk->files[end].stem, walk->files[first].stem) == 0)
            end++;
        enum sma_err err = mend_chat(walk, first, end);
        for (size_t i = first; err == SMA_ERR_OK && i < end; i++)
            err = walk_file(walk, &walk->files[i]);
        if (err == SMA_ERR_IO && walk->each_err == SMA_ERR_OK)
            report_unreadable(walk, &walk->files[first]); /* the trouble of this chat alone */
        else if (err != SMA_ERR_OK)
            return err;
        first = end;
    }
    return SMA_ERR_OK;
}

/* Temporaries of rotations hold only copies of what the files themselves hold. */
static void remove_temporaries(struct walk *walk)
{
    DIR *directory = opendir(walk->history->directory);
    if (directory == NULL)
        return;
    const struct sma_sys *sys = walk->history->sys;
    for (struct dirent *item; (item = readdir(directory)) != NULL;) {
        if (!has_ending(sma_str(item->d_name), SMA_STR(".jsonl.tmp")))
            continue;
        struct sma_buf path;
        sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
        history_put_path(&path, walk->history, item->d_name, "");
        if (path.err == SMA_ERR_OK)
            (void)sys->unlink(sys->self, path.ptr); /* a leftover is harmless */
        sma_buf_fini(&path);
    }
    (void)closedir(directory);
}

enum sma_err sma_history_walk(struct sma_history *history,
                              enum sma_err (*each)(void *self,
                                                   const struct sma_history_record *record),
                              void *self, struct sma_error *error)
{
    struct walk walk = {.history = history, .each = each, .self = self, .error = error};
    enum sma_err err = list_files(&walk);
    if (err == SMA_ERR_OK)
        err = walk_chats(&walk);
    if (err == SMA_ERR_OK)
        remove_temporaries(&walk);
    for (size_t i = 0; i < walk.file_count; i++)
        free(walk.files[i].stem);
    free(walk.files);
    return err;
}
