/*
 * history_search.c — reading one chat from its newest line backwards, in slices.
 *
 * The reader has its own descriptor of the file it is in, so that a rotation between two slices
 * does not concern it: the main file it began with stays readable, and it goes on into the archives
 * that existed then.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LONG_LINE_CHARGE ((size_t)SMA_HISTORY_BYTES_MAX / 4)
#define MAIN_FILE UINT32_MAX /* sorts after every archive */
#define SLICE_NS 2000000u
#define ROTATED_COUNT_MAX 4 /* rotations of one chat within two slices */
#define FIRST_BLOCK_BYTES (64 * 1024)

/* A position in the whole history of a chat: which file, and the byte in it. */
struct position
{
    bool is_set;
    uint32_t file;
    uint64_t offset;
};

struct sma_history_reader
{
    struct sma_history *history;
    char *strings; /* chat key, session ids and marks, one allocation */
    struct sma_str chat_key, *session_ids, given, message_id, attached_path;
    bool accepts_any_key;
    uint32_t session_id_count, limit;
    bool is_raw, ends_at_clear, wants_attachments;
    int64_t from_ms, to_ms;
    char *stem;
    struct history_matcher *matcher; /* NULL = recent */
    struct position before, session_first;
    /* where it is */
    uint32_t file, archive_next; /* current file; the next one to open, 0 = none */
    int fd;
    struct sma_buf path;
    uint64_t block_offset; /* file offset of block[0] */
    size_t block_len;      /* bytes not yet looked at; they end at a line's end */
    char *block;
    size_t block_capacity;
    bool is_skipping; /* in a line longer than any line */
    bool is_done, is_cut;
    bool is_placed; /* the archives are known, and where the query's places are in them */
    uint64_t generation;
    struct sma_history_place before_place, session_place;
    /* The line that the keyword is being looked for in: a long one takes several slices. root NULL
     * = none. */
    struct history_parsed parsed;
    struct sma_str line; /* in the block, which stays while it is looked at */
    uint64_t line_offset;
    size_t matched_to;
    /* what was found, filled from the end */
    struct sma_history_item *items;
    json_t **roots;
    char **lines;
    uint32_t item_count;
    size_t item_bytes;
};

/* -- begin ------------------------------------------------------------------------------------- */
static uint64_t archive_size(const struct sma_history *history, const char *stem, uint32_t number,
                             bool *ret_exists)
{
    struct sma_buf path;
    sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
    history_put_archive_path(&path, history, stem, number, "");
    struct stat status;
    *ret_exists = path.err == SMA_ERR_OK && stat(path.ptr, &status) == 0;
    sma_buf_fini(&path);
    return *ret_exists ? (uint64_t)status.st_size : 0;
}

/* Each rotation since the place's generation made one archive, the newest ones in order: walk the
 * place through them. */
static struct position translate(const struct sma_history *history, const char *stem,
                                 uint32_t archive_max, uint64_t generation,
                                 const struct sma_history_place *place)
{
    struct position position = {place->is_set, MAIN_FILE, place->offset};
    if (!place->is_set || place->generation >= generation)
        return position;
    uint64_t moves = generation - place->generation;
    uint32_t first = moves >= archive_max ? 1 : archive_max - (uint32_t)moves + 1;
    for (uint32_t number = first; number <= archive_max && archive_max > 0; number++) {
        bool exists;
        uint64_t size = archive_size(history, stem, number, &exists);
        if (!exists || position.offset < size) {
            position.file = number;
            return position;
        }
        position.offset -= size;
    }
    return position;
}

static bool is_at_or_after(const struct position *position, uint32_t file, uint64_t offset)
{
    return position->is_set &&
           (file > position->file || (file == position->file && offset >= position->offset));
}

static struct sma_str copy_to(char **at, struct sma_str text)
{
    struct sma_str copy = {*at, text.len};
    if (text.len > 0)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

static enum sma_err copy_strings(struct sma_history_reader *reader,
                                 const struct sma_history_query *query)
{
    size_t total = query->chat_key.len + query->given.len + query->message_id.len +
                   query->attached_path.len + 1;
    for (uint32_t i = 0; i < query->session_id_count; i++)
        total += query->session_ids[i].len;
    reader->strings = malloc(total);
    reader->session_ids = calloc((size_t)query->session_id_count + 1, sizeof *reader->session_ids);
    if (reader->strings == NULL || reader->session_ids == NULL)
        return SMA_ERR_NOMEM;
    char *at = reader->strings;
    reader->chat_key = copy_to(&at, query->chat_key);
    reader->accepts_any_key = query->accepts_any_key;
    for (uint32_t i = 0; i < query->session_id_count; i++)
        reader->session_ids[i] = copy_to(&at, query->session_ids[i]);
    reader->session_id_count = query->session_id_count;
    reader->given = copy_to(&at, query->given);
    reader->message_id = copy_to(&at, query->message_id);
    reader->attached_path = copy_to(&at, query->attached_path);
    return SMA_ERR_OK;
}

static enum sma_err make_stem(struct sma_history_reader *reader)
{
    struct sma_buf stem;
    sma_buf_init(&stem, SMA_CHAT_KEY_BYTES_MAX * 4);
    sma_history_put_file_stem(&stem, reader->chat_key);
    enum sma_err err = stem.err;
    if (err == SMA_ERR_OK && (reader->stem = sma_buf_take(&stem)) == NULL)
        err = SMA_ERR_NOMEM;
    sma_buf_fini(&stem);
    return err;
}

static enum sma_err fill_reader(struct sma_history_reader *reader,
                                const struct sma_history_query *query, struct sma_error *error)
{
    reader->limit = query->limit < 1 ? 1 : query->limit;
    if (reader->limit > SMA_HISTORY_LOAD_COUNT_MAX)
        reader->limit = SMA_HISTORY_LOAD_COUNT_MAX;
    reader->is_raw = query->is_raw;
    reader->ends_at_clear = query->ends_at_clear;
    reader->wants_attachments = query->wants_attachments;
    reader->from_ms = query->from_ms;
    reader->to_ms = query->to_ms;
    reader->items = calloc(reader->limit, sizeof *reader->items);
    reader->roots = calloc(reader->limit, sizeof(json_t *));
    reader->lines = calloc(reader->limit, sizeof(char *));
    enum sma_err err = reader->items == NULL || reader->roots == NULL || reader->lines == NULL
                           ? SMA_ERR_NOMEM
                           : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = copy_strings(reader, query);
    if (err == SMA_ERR_OK)
        err = make_stem(reader);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "cannot prepare to read the history");
    reader->generation = query->generation;
    reader->before_place = query->before;
    reader->session_place = query->session_first;
    if (query->keyword.len > 0)
        err = history_matcher_create(query->keyword, &reader->matcher, error);
    return err;
}

/* A rotation since the begin gave the main file, which was opened then, the name of an archive: go
 * on before that. */
static uint32_t first_archive(const struct sma_history_reader *reader, uint32_t archive_max)
{
    struct stat main_file, archive;
    if (reader->fd < 0 || fstat(reader->fd, &main_file) != 0)
        return archive_max;
    for (uint32_t number = archive_max; number > 0 && number + ROTATED_COUNT_MAX > archive_max;
         number--) {
        struct sma_buf path;
        sma_buf_init(&path, HISTORY_PATH_BYTES_MAX);
        history_put_archive_path(&path, reader->history, reader->stem, number, "");
        bool is_same = path.err == SMA_ERR_OK && stat(path.ptr, &archive) == 0 &&
                       archive.st_ino == main_file.st_ino && archive.st_dev == main_file.st_dev;
        sma_buf_fini(&path);
        if (is_same)
            return number - 1;
    }
    return archive_max;
}

/* Once the names of all archives are known. */
static enum sma_err find_places(struct sma_history_reader *reader, struct sma_error *error)
{
    bool is_read = false;
    enum sma_err err = history_index_step(reader->history, &is_read, error);
    if (err != SMA_ERR_OK || !is_read)
        return err;
    uint32_t archive_max = 0;
    err = history_archive_max(reader->history, reader->stem, &archive_max, error);
    if (err != SMA_ERR_OK)
        return err;
    reader->before = translate(reader->history, reader->stem, archive_max, reader->generation,
                               &reader->before_place);
    reader->session_first = translate(reader->history, reader->stem, archive_max,
                                      reader->generation, &reader->session_place);
    reader->archive_next = first_archive(reader, archive_max);
    reader->is_placed = true;
    return SMA_ERR_OK;
}

/* Open the current file and stand at its end. A file that is not there is an empty one. */
static enum sma_err open_file(struct sma_history_reader *reader, struct sma_error *error)
{
    sma_buf_clear(&reader->path);
    if (reader->file == MAIN_FILE)
        history_put_path(&reader->path, reader->history, reader->stem, ".jsonl");
    else
        history_put_archive_path(&reader->path, reader->history, reader->stem, reader->file, "");
    if (reader->path.err != SMA_ERR_OK)
        return sma_fail(error, reader->path.err, "no memory for a path");
    reader->block_len = 0;
    reader->block_offset = 0;
    enum sma_err err =
        history_open_file(reader->history, reader->path.ptr, O_RDONLY, &reader->fd, error);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK;
    return err == SMA_ERR_OK ? history_file_size(reader->fd, &reader->block_offset, error) : err;
}

enum sma_err sma_history_read_begin(struct sma_history *history,
                                    const struct sma_history_query *query,
                                    struct sma_history_reader **ret_reader, struct sma_error *error)
{
    if (query->chat_key.len > SMA_CHAT_KEY_BYTES_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT, "a chat key is at most %d bytes",
                        SMA_CHAT_KEY_BYTES_MAX);
    struct sma_history_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory to read the history");
    reader->history = history;
    reader->fd = -1;
    reader->file = MAIN_FILE;
    sma_buf_init(&reader->path, HISTORY_PATH_BYTES_MAX);
    enum sma_err err = fill_reader(reader, query, error);
    if (err == SMA_ERR_OK)
        err = open_file(reader, error);
    if (err != SMA_ERR_OK) {
        sma_history_read_end(reader);
        return err;
    }
    *ret_reader = reader;
    return SMA_ERR_OK;
}

static void close_file(struct sma_history_reader *reader)
{
    if (reader->fd >= 0)
        (void)reader->history->sys->close(reader->history->sys->self, reader->fd); /* only read */
    reader->fd = -1;
}

void sma_history_read_end(struct sma_history_reader *reader)
{
    if (reader == NULL)
        return;
    close_file(reader);
    json_decref(reader->parsed.root);
    for (uint32_t i = 0; i < reader->limit && reader->roots != NULL && reader->lines != NULL; i++) {
        json_decref(reader->roots[i]);
        free(reader->lines[i]);
    }
    history_matcher_destroy(reader->matcher);
    sma_buf_fini(&reader->path);
    free(reader->items);
    free(reader->roots);
    free(reader->lines);
    free(reader->block);
    free(reader->stem);
    free(reader->session_ids);
    free(reader->strings);
    free(reader);
}

/* -- one line ---------------------------------------------------------------------------------- */
static bool is_blank(struct sma_str text)
{
    return sma_str_trim(text).len == 0;
}

static bool is_in_session(const struct sma_history_reader *reader,
                          const struct sma_history_entry *entry, bool is_user)
{
    if (!is_user)
        return true;
    for (uint32_t i = 0; i < reader->session_id_count; i++) {
        if (entry->message_id.len > 0 &&
            sma_str_is_equal(reader->session_ids[i], entry->message_id))
            return true;
    }
    return false;
}

static bool is_given(const struct sma_history_reader *reader, const struct sma_history_entry *entry,
                     bool is_user)
{
    uint64_t mark = 0, wanted = 0;
    if (reader->given.len < sizeof mark)
        return false;
    wanted = sma_line_mark(entry->wall_ms, is_user, entry->message_id);
    for (size_t at = 0; at + sizeof mark <= reader->given.len; at += sizeof mark) {
        memcpy(&mark, reader->given.ptr + at, sizeof mark);
        if (mark == wanted)
            return true;
    }
    return false;
}

/* Does it say how its files are asked for, and is the one that is meant among them? */
static bool has_attachments(const struct sma_history_reader *reader,
                            const struct history_parsed *parsed)
{
    json_t *item, *list = json_object_get(json_object_get(parsed->root, "meta"), "files");
    size_t i;
    if (json_array_size(list) == 0)
        return false;
    json_array_foreach(list, i, item)
    {
        const char *path = json_string_value(json_object_get(item, "path"));
        if (path != NULL && sma_str_is_equal(reader->attached_path, sma_str(path)))
            return true;
    }
    return reader->attached_path.len == 0;
}

static bool is_wanted(const struct sma_history_reader *reader, const struct history_parsed *parsed,
                      uint64_t offset)
{
    const struct sma_history_entry *entry = &parsed->entry;
    bool is_user = sma_str_is_equal(entry->role, SMA_STR("user"));
    if (reader->message_id.len > 0 && !sma_str_is_equal(reader->message_id, entry->message_id))
        return false;
    if (reader->wants_attachments && (!is_user || !has_attachments(reader, parsed)))
        return false;
    bool is_assistant = sma_str_is_equal(entry->role, SMA_STR("assistant"));
    if (!reader->is_raw && (parsed->is_notice || parsed->is_aside || !(is_user || is_assistant) ||
                            is_blank(entry->text) || is_given(reader, entry, is_user)))
        return false;
    if ((reader->from_ms != 0 && entry->wall_ms < reader->from_ms) ||
        (reader->to_ms != 0 && entry->wall_ms > reader->to_ms))
        return false;
    return !((is_user || is_assistant) &&
             is_at_or_after(&reader->session_first, reader->file, offset) &&
             is_in_session(reader, entry, is_user));
}

static void stop(struct sma_history_reader *reader, bool is_cut)
{
    reader->is_done = true;
    reader->is_cut = is_cut;
}

static bool has_more(const struct sma_history_reader *reader, uint64_t offset)
{
    return offset > 0 || reader->archive_next > 0;
}

/* A line as JSON with the beginning of its words, or NULL. */
static char *make_shortened(const json_t *root, struct sma_str text, bool has_meta)
{
    json_t *copy = json_copy((json_t *)root); /* its members are shared and not changed */
    char *line = NULL;
    if (!has_meta)
        (void)json_object_del(copy, "meta"); /* or there is none */
    if (json_object_set_new(copy, "text", json_stringn(text.ptr, text.len)) == 0 &&
        json_object_set_new(copy, "isShortened", json_true()) == 0)
        line = json_dumps(copy, JSON_COMPACT);
    json_decref(copy);
    return line;
}

/*
 * What the item takes of the answer: whole, or, when it would leave no room for others, the
 * beginning of its words. ret_line: a copy of its line when lines are asked for.
 * @return OK | TOOBIG: long in what is not words | NOMEM
 */
static enum sma_err shape_item(const struct sma_history_reader *reader, struct sma_str line,
                               struct sma_history_item *item, char **ret_line, size_t *ret_bytes)
{
    size_t others = item->user_id.len + item->user_name.len + item->message_id.len;
    size_t bytes = reader->is_raw ? line.len : others + item->text.len;
    SMA_AUTO(sma_freep) char *copy = NULL;
    if (bytes > SMA_HISTORY_WHOLE_LINE_BYTES_MAX) {
        item->text.len = sma_utf8_cut(item->text, SMA_HISTORY_SHORTENED_BYTES);
        bytes = others + item->text.len;
        for (int i = 0; i < 2 && reader->is_raw; i++) {
            free(copy);
            copy = make_shortened(reader->parsed.root, item->text, i == 0);
            bytes = copy == NULL ? 0 : strlen(copy);
            if (bytes <= SMA_HISTORY_WHOLE_LINE_BYTES_MAX)
                break;
        }
        if (bytes > SMA_HISTORY_WHOLE_LINE_BYTES_MAX)
            return SMA_ERR_TOOBIG;
    } else if (reader->is_raw) {
        copy = strndup(line.ptr, line.len); /* JSON: no NUL in it */
    }
    if (reader->is_raw && copy == NULL)
        return SMA_ERR_NOMEM;
    *ret_line = SMA_TAKE(copy);
    *ret_bytes = bytes;
    return SMA_ERR_OK;
}

/* Takes reader->parsed.root. */
static enum sma_err add_item(struct sma_history_reader *reader, struct sma_str line,
                             uint64_t offset)
{
    const struct history_parsed *parsed = &reader->parsed;
    struct sma_history_item item = {
        .wall_ms = parsed->entry.wall_ms,
        .is_user = sma_str_is_equal(parsed->entry.role, SMA_STR("user")),
        .role = parsed->entry.role,
        .user_id = parsed->entry.user_id,
        .user_name = parsed->user_name,
        .message_id = parsed->entry.message_id,
        .text = parsed->entry.text,
    };
    size_t bytes = 0;
    SMA_AUTO(sma_freep) char *copy = NULL;
    enum sma_err err = shape_item(reader, line, &item, &copy, &bytes);
    if (err == SMA_ERR_TOOBIG) {
        history_report_line(reader->history, reader->path.ptr, reader->fd, offset);
        return SMA_ERR_OK;
    }
    /* A long line is dear to read, however short it is made: four of them at most. */
    size_t charge = line.len <= SMA_HISTORY_WHOLE_LINE_BYTES_MAX || bytes > LONG_LINE_CHARGE
                        ? bytes
                        : LONG_LINE_CHARGE;
    if (err == SMA_ERR_OK && charge > SMA_HISTORY_BYTES_MAX - reader->item_bytes)
        stop(reader, true);
    if (err != SMA_ERR_OK || reader->is_done)
        return err;
    reader->item_bytes += charge;
    uint32_t slot = reader->limit - ++reader->item_count;
    item.line = (struct sma_str){copy, copy == NULL ? 0 : bytes};
    reader->lines[slot] = SMA_TAKE(copy);
    reader->items[slot] = item;
    reader->roots[slot] = reader->parsed.root;
    reader->parsed.root = NULL;
    if (reader->item_count == reader->limit)
        stop(reader, has_more(reader, offset));
    return SMA_ERR_OK;
}

/* The line that was looked at is an item, or it is not. */
static enum sma_err take_parsed(struct sma_history_reader *reader, bool is_match,
                                struct sma_error *error)
{
    enum sma_err err = is_match ? add_item(reader, reader->line, reader->line_offset) : SMA_ERR_OK;
    json_decref(reader->parsed.root); /* NULL when an item has it */
    reader->parsed = (struct history_parsed){0};
    return err == SMA_ERR_OK ? err : sma_fail(error, err, "no memory for the history");
}

/* Look at one line; *ret_is_parsed says that it cost something. */
static enum sma_err consider(struct sma_history_reader *reader, struct sma_str raw, uint64_t offset,
                             bool *ret_is_parsed, struct sma_error *error)
{
    struct sma_str line = history_trim_line(raw, offset == 0);
    *ret_is_parsed = false;
    if (is_blank(line) || is_at_or_after(&reader->before, reader->file, offset))
        return SMA_ERR_OK;
    if (reader->matcher != NULL && !history_matcher_may_match(reader->matcher, line))
        return SMA_ERR_OK;
    *ret_is_parsed = true;
    struct history_parsed parsed;
    struct sma_str key = reader->accepts_any_key ? (struct sma_str){NULL, 0} : reader->chat_key;
    if (history_parse(line, key, &parsed) != SMA_ERR_OK) {
        history_report_line(reader->history, reader->path.ptr, reader->fd, offset);
        return SMA_ERR_OK;
    }
    if (!is_wanted(reader, &parsed, offset)) {
        if (parsed.is_clear && reader->ends_at_clear)
            stop(reader, false);
        json_decref(parsed.root);
        return SMA_ERR_OK;
    }
    reader->parsed = parsed;
    reader->line = line;
    reader->line_offset = offset;
    reader->matched_to = 0;
    return reader->matcher != NULL ? SMA_ERR_OK : take_parsed(reader, true, error);
}

/* One more window of the line that is being looked at. */
static enum sma_err match_on(struct sma_history_reader *reader, struct sma_error *error)
{
    bool is_match = false;
    enum sma_err err = history_matcher_match(reader->matcher, reader->parsed.entry.text,
                                             &reader->matched_to, &is_match, error);
    if (err != SMA_ERR_OK || (!is_match && reader->matched_to < reader->parsed.entry.text.len))
        return err;
    return take_parsed(reader, is_match, error);
}

/* -- blocks ------------------------------------------------------------------------------------ */
static enum sma_err grow_block(struct sma_history_reader *reader, size_t capacity,
                               struct sma_error *error)
{
    if (capacity <= reader->block_capacity)
        return SMA_ERR_OK;
    char *grown = realloc(reader->block, capacity);
    if (grown == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory to read a history file");
    reader->block = grown;
    reader->block_capacity = capacity;
    return SMA_ERR_OK;
}

/* How much to read next: a longer block when the last one held no whole line. */
static size_t next_capacity(const struct sma_history_reader *reader)
{
    size_t capacity = reader->block_capacity == 0 ? FIRST_BLOCK_BYTES : reader->block_capacity;
    if (reader->block_len == reader->block_capacity && reader->block_len > 0)
        return capacity * 2;
    return capacity < HISTORY_BLOCK_BYTES && reader->block_capacity > 0 ? HISTORY_BLOCK_BYTES
                                                                        : capacity;
}

/*
 * Read the block that ends where the unread part of the current one ends. Bytes of a line that is
 * longer than any line are dropped instead, so that memory stays bounded.
 */
static enum sma_err load_block(struct sma_history_reader *reader, size_t *ret_bytes,
                               struct sma_error *error)
{
    if (reader->block_len > SMA_HISTORY_LINE_BYTES_MAX) {
        reader->is_skipping = true;
        reader->block_len = 0;
    }
    SMA_TRY(grow_block(reader, next_capacity(reader), error));
    uint64_t end = reader->block_offset + reader->block_len;
    size_t want = end < reader->block_capacity ? (size_t)end : reader->block_capacity;
    SMA_TRY(history_read_exact(reader->history->sys, reader->fd, reader->block, want, end - want,
                               error));
    reader->block_offset = end - want;
    reader->block_len = want;
    *ret_bytes = want;
    return SMA_ERR_OK;
}

/* Leave the over-long line: drop its bytes from the end of the block. */
static void skip_bytes(struct sma_history_reader *reader)
{
    const char *newline = memrchr(reader->block, '\n', reader->block_len);
    if (newline == NULL) {
        reader->block_len = 0;
        if (reader->block_offset > 0)
            return;
    } else {
        reader->block_len = (size_t)(newline - reader->block) + 1;
    }
    reader->is_skipping = false;
    history_report_line(reader->history, reader->path.ptr, reader->fd,
                        reader->block_offset + reader->block_len);
}

/* The last whole line of the block, without newline; removes it. False when more must be read
 * first. */
static bool take_line(struct sma_history_reader *reader, struct sma_str *ret_line,
                      uint64_t *ret_offset)
{
    if (reader->is_skipping)
        skip_bytes(reader);
    if (reader->is_skipping || reader->block_len == 0)
        return false;
    size_t end = reader->block_len;
    if (reader->block[end - 1] == '\n')
        end--;
    const char *newline = end == 0 ? NULL : memrchr(reader->block, '\n', end);
    if (newline == NULL && reader->block_offset > 0)
        return false;
    size_t start = newline == NULL ? 0 : (size_t)(newline - reader->block) + 1;
    *ret_line = (struct sma_str){reader->block + start, end - start};
    *ret_offset = reader->block_offset + start;
    reader->block_len = start;
    return true;
}

/* The current file is read: go on to the archive before it. */
static enum sma_err next_file(struct sma_history_reader *reader, struct sma_error *error)
{
    close_file(reader);
    if (reader->archive_next == 0) {
        reader->is_done = true;
        return SMA_ERR_OK;
    }
    reader->file = reader->archive_next--;
    return open_file(reader, error);
}

/* Get more bytes, or the next file. Does nothing and says so when the slice is used up. */
static enum sma_err advance(struct sma_history_reader *reader, size_t *budget, bool *ret_is_spent,
                            struct sma_error *error)
{
    if (*budget == 0) {
        *ret_is_spent = true;
        return SMA_ERR_OK;
    }
    if (reader->fd < 0 || reader->block_offset == 0) {
        *budget -= *budget < 4096 ? *budget : 4096; /* opening a file is work, too */
        return next_file(reader, error);
    }
    size_t bytes = 0;
    enum sma_err err = load_block(reader, &bytes, error);
    *budget -= bytes < *budget ? bytes : *budget;
    return err;
}

/* One bit of work. *ret_is_costly: look at the clock. */
static enum sma_err read_on(struct sma_history_reader *reader, size_t *budget, bool *ret_is_spent,
                            bool *ret_is_costly, struct sma_error *error)
{
    struct sma_str line;
    uint64_t offset;
    *ret_is_costly = true;
    if (!reader->is_placed)
        return find_places(reader, error);
    if (reader->parsed.root != NULL)
        return match_on(reader, error);
    if (take_line(reader, &line, &offset))
        return consider(reader, line, offset, ret_is_costly, error);
    *ret_is_costly = false;
    return advance(reader, budget, ret_is_spent, error);
}

enum sma_err sma_history_read_step(struct sma_history_reader *reader, bool *ret_is_done,
                                   struct sma_error *error)
{
    const struct sma_sys *sys = reader->history->sys;
    uint64_t deadline = sys->now_ns(sys->self) + SLICE_NS;
    size_t budget = SMA_SEARCH_SLICE_BYTES;
    bool is_spent = false;
    while (!reader->is_done && !is_spent) {
        bool is_costly;
        SMA_TRY(read_on(reader, &budget, &is_spent, &is_costly, error));
        is_spent = is_spent || (is_costly && sys->now_ns(sys->self) > deadline);
    }
    *ret_is_done = reader->is_done;
    return SMA_ERR_OK;
}

const struct sma_history_item *sma_history_read_items(struct sma_history_reader *reader,
                                                      uint32_t *ret_count, bool *ret_is_cut)
{
    *ret_count = reader->item_count;
    *ret_is_cut = reader->is_cut;
    return reader->items + (reader->limit - reader->item_count);
}
