/* log_file.c — see log_file.h. */
#include "log_file.h"

#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_BYTES_MAX (4 * 1024 * 1024)

enum sma_err log_file_init(struct log_file *file, char *dir, int days_kept)
{
    *file = (struct log_file){.dir = dir, .days_kept = days_kept, .fd = -1};
    sma_buf_init(&file->batch, BATCH_BYTES_MAX);
    return dir == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

void log_file_fini(struct log_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    sma_buf_fini(&file->batch);
    free(file->dir);
    file->dir = NULL;
    file->fd = -1;
}

static void report_failure(struct log_file *file, const char *what)
{
    if (!file->is_failing)
        fprintf(stderr, "log: %s %s: %s; the log goes to the terminal only\n", what, file->dir,
                strerror(errno));
    file->is_failing = true;
}

/* Names are dates, so the alphabet is the calendar: everything before the cut-off goes. */
static void prune_old(const struct log_file *file, const struct sma_sys *sys, int64_t wall_ms)
{
    struct sma_buf cutoff;
    sma_buf_init(&cutoff, 64);
    sma_buf_put_iso_time(&cutoff, wall_ms - (int64_t)file->days_kept * 86400 * 1000);
    DIR *dir = opendir(file->dir);
    const struct dirent *entry;
    while (dir != NULL && cutoff.err == SMA_ERR_OK && (entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (len != 16 || strcmp(entry->d_name + 10, ".jsonl") != 0 ||
            memcmp(entry->d_name, cutoff.ptr, 10) >= 0)
            continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", file->dir, entry->d_name);
        (void)sys->unlink(sys->self, path); /* tried again tomorrow */
    }
    if (dir != NULL)
        closedir(dir);
    sma_buf_fini(&cutoff);
}

static bool open_day(struct log_file *file, const struct sma_sys *sys, const char *date)
{
    char path[4096];
    struct sma_error error;
    log_file_close(file, sys); /* every line was written already */
    snprintf(path, sizeof path, "%s/%s.jsonl", file->dir, date);
    if (sma_sys_make_dirs(sys, file->dir, &error) == SMA_ERR_OK)
        file->fd = sys->open(sys->self, path, O_WRONLY | O_CREAT, 0600);
    else
        errno = error.os_errno;
    if (file->fd < 0) {
        report_failure(file, "cannot open a file in");
        return false;
    }
    file->size = lseek(file->fd, 0, SEEK_END);
    snprintf(file->date, sizeof file->date, "%s", date);
    return true;
}

bool log_file_open(struct log_file *file, const struct sma_sys *sys, int64_t wall_ms,
                   bool *ret_is_new)
{
    char text[64] = "";
    struct sma_buf date;
    sma_buf_init(&date, 64);
    sma_buf_put_iso_time(&date, wall_ms);
    if (date.err == SMA_ERR_OK)
        snprintf(text, sizeof text, "%.10s", date.ptr);
    sma_buf_fini(&date);
    *ret_is_new = strcmp(file->date, text) != 0;
    if (text[0] == '\0')
        return false;
    if (*ret_is_new)
        log_file_write(file, sys); /* what is pending belongs to the old day */
    if (file->fd >= 0 && !*ret_is_new)
        return true;
    if (!open_day(file, sys, text))
        return false;
    prune_old(file, sys, wall_ms);
    return true;
}

size_t log_file_len(const struct log_file *file)
{
    return (size_t)file->size + file->batch.len;
}

void log_file_write(struct log_file *file, const struct sma_sys *sys)
{
    if (file->batch.len == 0)
        return;
    struct sma_error error;
    if (file->fd >= 0 && sma_sys_write_all(sys, file->fd, file->batch.ptr, file->batch.len,
                                           file->size, &error) == SMA_ERR_OK) {
        file->size += (off_t)file->batch.len;
        file->is_failing = false;
    } else if (file->fd >= 0) {
        errno = error.os_errno;
        report_failure(file, "cannot write to");
    }
    sma_buf_clear(&file->batch);
}

void log_file_close(struct log_file *file, const struct sma_sys *sys)
{
    if (file->fd >= 0)
        (void)sys->close(sys->self, file->fd); /* all lines are written */
    file->fd = -1;
}
