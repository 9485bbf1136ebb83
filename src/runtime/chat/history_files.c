/*
 * history_files.c — names of files, which archives there are, exact reads, and reports of damage.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define ARCHIVE_COUNT_MAX (1u << 20)            /* archives of one directory that are looked at */
#define INDEX_STEP_COUNT 1000                   /* names read in one step: about a millisecond */
#define LINE_NUMBER_BYTES_MAX (4 * 1024 * 1024) /* lines before a damaged one are counted so far */
#define ARCHIVE_NUMBER_MAX 999999 /* a file with a higher number is nobody's archive */

/* -- paths and reports ------------------------------------------------------------------------- */
void history_put_path(struct sma_buf *buf, const struct sma_history *history, const char *stem,
                      const char *ending)
{
    sma_buf_printf(buf, "%s/%s%s", history->directory, stem, ending);
}

void history_put_archive_path(struct sma_buf *buf, const struct sma_history *history,
                              const char *stem, uint32_t number, const char *ending)
{
    sma_buf_printf(buf, "%s/%s.archive-%u.jsonl%s", history->directory, stem, number, ending);
}

void history_report(struct sma_history *history, enum sma_history_report_kind kind,
                    const char *path, uint64_t offset, uint64_t line_number, const char *text)
{
    if (history->options.report == NULL)
        return;
    struct sma_history_report report = {kind, path, offset, line_number, text};
    history->options.report(history->options.self, &report);
}

enum sma_err history_file_size(int fd, uint64_t *ret_size, struct sma_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return sma_fail_os(error, errno, "cannot stat a history file");
    *ret_size = (uint64_t)status.st_size;
    return SMA_ERR_OK;
}

enum sma_err history_read_exact(const struct sma_sys *sys, int fd, void *bytes, size_t len,
                                uint64_t offset, struct sma_error *error)
{
    char *at = bytes;
    while (len > 0) {
        ssize_t got = sys->pread(sys->self, fd, at, len, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sma_fail_os(error, errno, "cannot read a history file");
        if (got == 0)
            return sma_fail(error, SMA_ERR_IO, "a history file became shorter while it was read");
        at += got;
        len -= (size_t)got;
        offset += (uint64_t)got;
    }
    return SMA_ERR_OK;
}

/* A directory, a pipe or a device may have the name: what is opened may not block, and must be a
 * file. */
enum sma_err history_open_file(struct sma_history *history, const char *path, int flags,
                               int *ret_fd, struct sma_error *error)
{
    const struct sma_sys *sys = history->sys;
    int fd = sys->open(sys->self, path, flags | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return errno == ENOENT ? SMA_ERR_NOTFOUND
                               : sma_fail_os(error, errno, "cannot open %s", path);
    struct stat status;
    enum sma_err err = SMA_ERR_OK;
    if (fstat(fd, &status) != 0)
        err = sma_fail_os(error, errno, "cannot stat %s", path);
    else if (!S_ISREG(status.st_mode))
        err = sma_fail(error, SMA_ERR_IO, "%s is not a regular file", path);
    if (err == SMA_ERR_OK)
        *ret_fd = fd;
    else
        (void)sys->close(sys->self, fd); /* nothing was done with it */
    return err;
}

/* Number of the line that starts at offset. 0 when it cannot be read, or is far from the start of
 * the file. */
uint64_t history_line_number(const struct sma_history *history, int fd, uint64_t offset)
{
    char block[4096];
    uint64_t number = 1;
    if (offset > LINE_NUMBER_BYTES_MAX)
        return 0;
    for (uint64_t at = 0; at < offset;) {
        size_t want = offset - at < sizeof block ? (size_t)(offset - at) : sizeof block;
        if (history_read_exact(history->sys, fd, block, want, at, NULL) != SMA_ERR_OK)
            return 0;
        for (const char *p = block; (p = memchr(p, '\n', want - (size_t)(p - block))) != NULL; p++)
            number++;
        at += want;
    }
    return number;
}

void history_report_line(struct sma_history *history, const char *path, int fd, uint64_t offset)
{
    uint64_t mark = (history_hash(path, strlen(path)) ^ offset * 0x9E3779B97F4A7C15u) | 1;
    uint64_t *slot = &history->reported[mark >> 8 & (HISTORY_REPORT_MEMORY - 1)];
    if (*slot == mark || history->options.report == NULL)
        return;
    *slot = mark;
    history_report(history, SMA_HISTORY_LINE_DAMAGED, path, offset,
                   history_line_number(history, fd, offset),
                   "this line is not a history entry of its chat; it is left in place and skipped");
}

/* -- archives ---------------------------------------------------------------------------------- */
bool history_parse_archive_name(struct sma_str name, size_t *ret_stem_len, uint32_t *ret_number)
{
    static const char mark[] = ".archive-";
    size_t mark_len = sizeof mark - 1;
    if (name.len < 6 || memcmp(name.ptr + name.len - 6, ".jsonl", 6) != 0)
        return false;
    size_t end = name.len - 6, at = end;
    while (at > 0 && name.ptr[at - 1] >= '0' && name.ptr[at - 1] <= '9')
        at--;
    int64_t number;
    if (at < mark_len || memcmp(name.ptr + at - mark_len, mark, mark_len) != 0 ||
        sma_parse_i64((struct sma_str){name.ptr + at, end - at}, 1, ARCHIVE_NUMBER_MAX, &number) !=
            SMA_ERR_OK)
        return false;
    *ret_stem_len = at - mark_len;
    *ret_number = (uint32_t)number;
    return true;
}

/* The place of this stem in the table, or the free place where it belongs. */
static struct history_archive *find_archive(const struct sma_history *history, uint64_t hash)
{
    size_t mask = history->archive_capacity - 1, at = hash & mask;
    while (history->archives[at].hash != 0 && history->archives[at].hash != hash)
        at = (at + 1) & mask;
    return &history->archives[at];
}

static uint64_t stem_hash(const char *stem, size_t len)
{
    uint64_t hash = history_hash(stem, len);
    return hash == 0 ? 1 : hash;
}

static bool grow_index(struct sma_history *history)
{
    if (history->archive_count * 4 < history->archive_capacity * 3)
        return true;
    size_t old_capacity = history->archive_capacity;
    struct history_archive *old = history->archives;
    size_t capacity = old_capacity == 0 ? 64 : old_capacity * 2;
    struct history_archive *grown = calloc(capacity, sizeof *grown);
    if (grown == NULL)
        return false;
    history->archives = grown;
    history->archive_capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].hash != 0)
            *find_archive(history, old[i].hash) = old[i];
    }
    free(old);
    return true;
}

static bool put_archive(struct sma_history *history, uint64_t hash, uint32_t number)
{
    if (!grow_index(history))
        return false;
    struct history_archive *archive = find_archive(history, hash);
    history->archive_count += archive->hash == 0 ? 1 : 0;
    archive->hash = hash;
    archive->number_max = archive->number_max > number ? archive->number_max : number;
    return true;
}

void history_index_drop(struct sma_history *history)
{
    if (history->index_directory != NULL)
        (void)closedir(history->index_directory);
    free(history->archives);
    history->index_directory = NULL;
    history->archives = NULL;
    history->archive_count = history->archive_capacity = 0;
    history->index_count = 0;
    history->is_archive_index_read = false;
}

static enum sma_err index_name(struct sma_history *history, const char *name,
                               struct sma_error *error)
{
    size_t stem_len;
    uint32_t number;
    if (!history_parse_archive_name(sma_str(name), &stem_len, &number))
        return SMA_ERR_OK;
    if (history->index_count++ >= ARCHIVE_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "over %u archives in %s: move some away",
                        ARCHIVE_COUNT_MAX, history->directory);
    return put_archive(history, stem_hash(name, stem_len), number)
               ? SMA_ERR_OK
               : sma_fail(error, SMA_ERR_NOMEM, "no memory for the list of archives");
}

/* What is made while the index is being read is noted by whoever makes it. */
enum sma_err history_index_step(struct sma_history *history, bool *ret_is_read,
                                struct sma_error *error)
{
    if (!history->is_archive_index_read && history->index_directory == NULL) {
        history->index_directory = opendir(history->directory);
        if (history->index_directory == NULL)
            return sma_fail_os(error, errno, "cannot read directory %s", history->directory);
    }
    enum sma_err err = SMA_ERR_OK;
    for (int i = 0; err == SMA_ERR_OK && !history->is_archive_index_read && i < INDEX_STEP_COUNT;
         i++) {
        struct dirent *item = readdir(history->index_directory);
        if (item == NULL)
            history->is_archive_index_read = true;
        else
            err = index_name(history, item->d_name, error);
    }
    if (err != SMA_ERR_OK) {
        history_index_drop(history);
        return err;
    }
    if (history->is_archive_index_read && history->index_directory != NULL) {
        (void)closedir(history->index_directory);
        history->index_directory = NULL;
    }
    *ret_is_read = history->is_archive_index_read;
    return SMA_ERR_OK;
}

enum sma_err history_archive_max(struct sma_history *history, const char *stem,
                                 uint32_t *ret_number, struct sma_error *error)
{
    for (bool is_read = history->is_archive_index_read; !is_read;) {
        SMA_TRY(history_index_step(history, &is_read, error));
    }
    const struct history_archive *archive =
        history->archive_capacity == 0 ? NULL
                                       : find_archive(history, stem_hash(stem, strlen(stem)));
    *ret_number = archive == NULL ? 0 : archive->number_max;
    return SMA_ERR_OK;
}

void history_archive_note(struct sma_history *history, const char *stem, uint32_t number)
{
    if (!put_archive(history, stem_hash(stem, strlen(stem)), number))
        history_index_drop(history); /* no memory: read again when it is needed */
}
