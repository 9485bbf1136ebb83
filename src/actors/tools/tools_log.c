/*
 * tools_log.c — the whole output of a command in .ship/logs/exec: written by workers, one write at
 * a time.
 *
 * A line "--- stderr ---" or "--- stdout ---" stands where the stream changes.
 */
#include "tools_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEPT_COUNT_MAX \
    1000 /* files; the names begin with the time, so that the first are the oldest */
#define KEPT_BYTES_MAX (1024LL * 1024 * 1024)
#define SCAN_COUNT_MAX 16384

void tools_log_init(struct tools_log *log, struct sma_ctx *ctx)
{
    time_t now = (time_t)(sma_ctx_wall(ctx) / 1000);
    struct tm parts;
    gmtime_r(&now, &parts);
    char stamp[32];
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", &parts);
    snprintf(log->name, sizeof log->name, "%s-%016llx.log", stamp,
             (unsigned long long)sma_ctx_random(ctx));
    log->fd = -1;
    log->last_stream = -1;
    sma_buf_init(&log->pending, (size_t)4 * TOOLS_LOG_PENDING_BYTES_MAX);
    sma_buf_init(&log->writing, (size_t)4 * TOOLS_LOG_PENDING_BYTES_MAX);
}

void tools_log_fini(struct tools_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
    sma_buf_fini(&log->pending);
    sma_buf_fini(&log->writing);
}

bool tools_log_is_full(const struct tools_log *log)
{
    return log->pending.len >= TOOLS_LOG_PENDING_BYTES_MAX;
}

/* -- on the worker ----------------------------------------------------------------------------- */
static int open_log(const struct tools_job *job)
{
    char path[PATH_MAX];
    const char *state_dir = job->setup->config->state_dir;
    snprintf(path, sizeof path, "%s/logs/exec", state_dir);
    if (sma_sys_make_dirs(sma_sys_real(), path, NULL) != SMA_ERR_OK)
        return -1;
    snprintf(path, sizeof path, "%s/logs/exec/%s", state_dir, job->command->log.name);
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void work(uv_work_t *request)
{
    struct tools_job *job = request->data;
    struct tools_log *log = &job->command->log;
    if (log->fd < 0)
        log->fd = open_log(job);
    for (size_t at = 0; at < log->writing.len;) {
        ssize_t len =
            log->fd < 0 ? -1 : write(log->fd, log->writing.ptr + at, log->writing.len - at);
        if (len <= 0) {
            log->has_failed = true;
            return;
        }
        at += (size_t)len;
    }
}

/* -- on the loop ------------------------------------------------------------------------------- */
static void write_next(struct tools_job *job);

static void after(uv_work_t *request, int status)
{
    struct tools_job *job = request->data;
    struct tools_log *log = &job->command->log;
    (void)status; /* never cancelled */
    log->is_busy = false;
    if (log->has_failed)
        log->is_cut = true;
    sma_buf_clear(&log->writing);
    write_next(job);
    if (job->state == TOOLS_ANSWERED)
        tools_leave(job);
    else
        tools_exec_try_finish(job);
}

static void write_next(struct tools_job *job)
{
    struct tools_log *log = &job->command->log;
    if (log->is_busy || log->pending.len == 0)
        return;
    if (log->has_failed) {
        sma_buf_clear(&log->pending);
        return;
    }
    struct sma_buf spare = log->writing;
    log->writing = log->pending;
    log->pending = spare;
    log->is_busy = true;
    log->work.data = job;
    int status = uv_queue_work(sma_ctx_loop(job->tools->ctx), &log->work, work, after);
    SMA_ASSERT(status == 0);
}

void tools_log_put(struct tools_job *job, int stream, struct sma_str text)
{
    struct tools_log *log = &job->command->log;
    if (text.len == 0 || log->is_cut)
        return;
    if (log->last_stream != stream) {
        if (log->last_stream >= 0 || stream == 1)
            sma_buf_put_text(&log->pending,
                             stream == 1 ? "\n--- stderr ---\n" : "\n--- stdout ---\n");
        log->last_stream = stream;
    }
    size_t room = SMA_EXEC_LOG_BYTES_MAX - (size_t)log->bytes;
    size_t len = text.len < room ? text.len : room;
    sma_buf_put(&log->pending, text.ptr, len);
    log->bytes += len;
    if (len < text.len) {
        log->is_cut = true;
        sma_buf_put_text(&log->pending, "\n--- the rest was dropped: the log is full ---\n");
    }
    if (log->pending.err != SMA_ERR_OK) { /* no memory: better a gap than an end */
        log->is_cut = true;
        sma_buf_clear(&log->pending);
    }
    write_next(job);
}

/* -- old files --------------------------------------------------------------------------------- */
struct kept_file
{
    char *name;
    struct timespec changed;
    long long bytes;
};

static int newest_first(const void *a, const void *b)
{
    const struct kept_file *left = a, *right = b;
    if (left->changed.tv_sec != right->changed.tv_sec)
        return left->changed.tv_sec > right->changed.tv_sec ? -1 : 1;
    return left->changed.tv_nsec > right->changed.tv_nsec   ? -1
           : left->changed.tv_nsec < right->changed.tv_nsec ? 1
                                                            : 0;
}

/* Logs of commands, and long results of other tools. */
static bool is_ours(const char *name)
{
    size_t len = strlen(name);
    return len > 4 && (strcmp(name + len - 4, ".log") == 0 || strcmp(name + len - 4, ".txt") == 0);
}

static size_t list(DIR *dir, struct kept_file *files)
{
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && count < SCAN_COUNT_MAX;) {
        struct stat facts;
        if (!is_ours(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        files[count] = (struct kept_file){strdup(entry->d_name), facts.st_mtim, facts.st_size};
        count += files[count].name != NULL;
    }
    qsort(files, count, sizeof *files, newest_first);
    return count;
}

void tools_log_prune(const char *state_dir)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/logs/exec", state_dir);
    DIR *dir = opendir(folder);
    struct kept_file *files = dir == NULL ? NULL : calloc(SCAN_COUNT_MAX, sizeof *files);
    size_t count = files == NULL ? 0 : list(dir, files);
    long long bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += files[i].bytes;
        if (i >= KEPT_COUNT_MAX || bytes > KEPT_BYTES_MAX)
            (void)unlinkat(dirfd(dir), files[i].name, 0); /* tried again the next time */
        free(files[i].name);
    }
    free(files);
    if (dir != NULL)
        closedir(dir);
}
