/*
 * history_files.c — names of files, which archives there are, exact reads, and reports of damage.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ARCHIVE_COUNT_MAX (1u << 20) /* archives of one directory that are looked at */
#define ARCHIVE_NUMBER_MAX 999999    /* a file with a higher number is nobody's archive */

/* -- paths and reports ------------------------------------------------------------------------------------------ */
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

/* Number of the line that starts at offset. 0 when it cannot be read. */
static uint64_t line_number_at(const struct sma_history *history, int fd, uint64_t offset)
{
    char block[4096];
    uint64_t number = 1;
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
                   line_number_at(history, fd, offset),
                   "this line is not a history entry of its chat; it is left in place and skipped");
}

/* -- archives --------------------------------------------------------------------------------------------------- */
static int compare_archives(const void *a, const void *b)
{
    const struct history_archive *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

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

static struct history_archive *find_archive(const struct sma_history *history, uint64_t hash)
{
    struct history_archive wanted = {.hash = hash};
    return history->archive_count == 0 ? NULL
                                       : bsearch(&wanted, history->archives, history->archive_count,
                                                 sizeof wanted, compare_archives);
}

static bool push_archive(struct sma_history *history, struct history_archive archive)
{
    if (history->archive_count == history->archive_capacity) {
        size_t capacity = history->archive_capacity == 0 ? 64 : history->archive_capacity * 2;
        struct history_archive *grown = realloc(history->archives, capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        history->archives = grown;
        history->archive_capacity = capacity;
    }
    history->archives[history->archive_count++] = archive;
    return true;
}

/* Sort, and keep the highest number of each stem. */
static void settle_archives(struct sma_history *history)
{
    if (history->archive_count == 0)
        return;
    qsort(history->archives, history->archive_count, sizeof *history->archives, compare_archives);
    size_t kept = 0;
    for (size_t i = 1; i < history->archive_count; i++) {
        struct history_archive *last = &history->archives[kept];
        if (history->archives[i].hash != last->hash)
            history->archives[++kept] = history->archives[i];
        else if (history->archives[i].number_max > last->number_max)
            last->number_max = history->archives[i].number_max;
    }
    history->archive_count = kept + 1;
}

static enum sma_err read_archive_index(struct sma_history *history, struct sma_error *error)
{
    DIR *directory = opendir(history->directory);
    if (directory == NULL)
        return sma_fail_os(error, errno, "cannot read directory %s", history->directory);
    enum sma_err err = SMA_ERR_OK;
    for (struct dirent *item; err == SMA_ERR_OK && (item = readdir(directory)) != NULL;) {
        size_t stem_len;
        uint32_t number;
        if (!history_parse_archive_name(sma_str(item->d_name), &stem_len, &number))
            continue;
        struct history_archive archive = {history_hash(item->d_name, stem_len), number};
        if (history->archive_count >= ARCHIVE_COUNT_MAX)
            err = sma_fail(error, SMA_ERR_TOOBIG, "over %u archives in %s: move some away",
                           ARCHIVE_COUNT_MAX, history->directory);
        else if (!push_archive(history, archive))
            err = sma_fail(error, SMA_ERR_NOMEM, "no memory for the list of archives");
    }
    (void)closedir(directory);
    settle_archives(history);
    history->is_archive_index_read = err == SMA_ERR_OK;
    if (err != SMA_ERR_OK)
        history->archive_count = 0;
    return err;
}

enum sma_err history_archive_max(struct sma_history *history, const char *stem,
                                 uint32_t *ret_number, struct sma_error *error)
{
    if (!history->is_archive_index_read) {
        enum sma_err err = read_archive_index(history, error);
        if (err != SMA_ERR_OK)
            return err;
    }
    const struct history_archive *archive = find_archive(history, history_hash(stem, strlen(stem)));
    *ret_number = archive == NULL ? 0 : archive->number_max;
    return SMA_ERR_OK;
}

void history_archive_note(struct sma_history *history, const char *stem, uint32_t number)
{
    struct history_archive fresh = {history_hash(stem, strlen(stem)), number};
    struct history_archive *archive = find_archive(history, fresh.hash);
    if (archive != NULL) {
        archive->number_max = archive->number_max > number ? archive->number_max : number;
        return;
    }
    if (!push_archive(history, fresh)) { /* no memory: read the directory again when it is needed */
        history->archive_count = 0;
        history->is_archive_index_read = false;
        return;
    }
    settle_archives(history);
}
