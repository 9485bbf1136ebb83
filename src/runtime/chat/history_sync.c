/*
 * history_sync.c — making bytes durable. One fdatasync may take as long as the disk likes, and
 * thousands of files may be
 * dirty: so a thread of our own does it, and the store only looks now and then whether it has come
 * to a ticket.
 *
 * The thread gets duplicates of descriptors, in the order they were handed over, and nothing else.
 * Lock rank: leaf; nothing is called while it is held. It sleeps when there is nothing to do.
 * Without it (simulation) and at start and end files are synced by the caller.
 *
 * A sync that fails is never repeated: the kernel has dropped the pages, the next one would say
 * "fine" of nothing. It is CORRUPT, for the caller to end the program; what is above the replay
 * watermark is then written again.
 */
#include "history_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define JOB_COUNT_MAX 64 /* descriptors that wait for the thread */

struct history_syncer
{
    const struct sma_sys *sys;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    int jobs[JOB_COUNT_MAX]; /* a ring: job n is at n % JOB_COUNT_MAX */
    uint64_t handed, done;   /* tickets */
    int failed_errno;        /* 0 = none failed */
    bool is_closing;
};

/* -- the thread -------------------------------------------------------------------------------- */
static void *run(void *argument)
{
    struct history_syncer *self = argument;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        if (self->done == self->handed) {
            if (self->is_closing)
                break;
            pthread_cond_wait(&self->changed, &self->lock);
            continue;
        }
        int fd = self->jobs[self->done % JOB_COUNT_MAX];
        bool is_good = self->failed_errno == 0;
        pthread_mutex_unlock(&self->lock);
        int os_errno = 0;
        if (is_good && self->sys->fdatasync(self->sys->self, fd) != 0)
            os_errno = errno;
        (void)self->sys->close(self->sys->self, fd); /* a duplicate */
        pthread_mutex_lock(&self->lock);
        self->failed_errno = self->failed_errno != 0 ? self->failed_errno : os_errno;
        self->done++;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

enum sma_err history_syncer_start(struct sma_history *history, struct sma_error *error)
{
    struct history_syncer *self = calloc(1, sizeof *self);
    if (self == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the history");
    self->sys = history->sys;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    sigset_t all, before; /* signals belong to the supervisor */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int os_errno = pthread_create(&self->thread, NULL, run, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (os_errno == 0) {
        (void)pthread_setname_np(self->thread, "history sync"); /* for people who look */
        history->syncer = self;
        return SMA_ERR_OK;
    }
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self);
    return sma_fail_os(error, os_errno, "cannot start the thread that syncs history files");
}

void history_syncer_stop(struct sma_history *history)
{
    struct history_syncer *self = history->syncer;
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->is_closing = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self);
    history->syncer = NULL;
}

/* -- tickets ----------------------------------------------------------------------------------- */
enum sma_err history_sync_failed(struct sma_error *error, int os_errno)
{
    (void)sma_fail_os(error, os_errno, "a history file cannot be synced");
    if (error != NULL)
        error->code = SMA_ERR_CORRUPT;
    return SMA_ERR_CORRUPT;
}

/* Wait until the thread has done everything. */
static enum sma_err wait_for_all(struct sma_history *history, struct sma_error *error)
{
    struct history_syncer *self = history->syncer;
    if (self == NULL)
        return SMA_ERR_OK;
    pthread_mutex_lock(&self->lock);
    while (self->done < self->handed && self->failed_errno == 0)
        pthread_cond_wait(&self->changed, &self->lock);
    int os_errno = self->failed_errno;
    pthread_mutex_unlock(&self->lock);
    return os_errno == 0 ? SMA_ERR_OK : history_sync_failed(error, os_errno);
}

uint64_t sma_history_sync_ticket(const struct sma_history *history)
{
    return history->syncer == NULL ? 0 : history->syncer->handed; /* only we hand over */
}

enum sma_err sma_history_sync_look(const struct sma_history *history, uint64_t ticket,
                                   bool *ret_is_done, struct sma_error *error)
{
    struct history_syncer *self = history->syncer;
    *ret_is_done = true;
    if (self == NULL)
        return SMA_ERR_OK;
    pthread_mutex_lock(&self->lock);
    *ret_is_done = self->done >= ticket;
    int os_errno = self->failed_errno;
    pthread_mutex_unlock(&self->lock);
    return os_errno == 0 ? SMA_ERR_OK : history_sync_failed(error, os_errno);
}

static bool has_place(struct history_syncer *self)
{
    pthread_mutex_lock(&self->lock);
    bool has = self->handed - self->done < JOB_COUNT_MAX;
    pthread_mutex_unlock(&self->lock);
    return has;
}

/* Takes fd. Somebody made sure that there is a place. */
static void hand_over(struct history_syncer *self, int fd)
{
    pthread_mutex_lock(&self->lock);
    SMA_ASSERT(self->handed - self->done < JOB_COUNT_MAX);
    self->jobs[self->handed++ % JOB_COUNT_MAX] = fd;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static enum sma_err sync_here(struct sma_history *history, int fd, struct sma_error *error)
{
    return history->sys->fdatasync(history->sys->self, fd) == 0 ? SMA_ERR_OK
                                                                : history_sync_failed(error, errno);
}

enum sma_err history_sync_file(struct sma_history *history, int fd, struct sma_error *error)
{
    struct history_syncer *self = history->syncer;
    int copy = self == NULL || !has_place(self) ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return sync_here(history, fd, error); /* also when it has its hands full */
    hand_over(self, copy);
    return SMA_ERR_OK;
}

/* -- files ------------------------------------------------------------------------------------- */
/* Dirty and still there under its name. GONE: the name is another file's, and dirty bytes may be in
 * the old one only. */
static enum sma_err open_dirty(struct sma_history *history, struct history_chat *chat,
                               struct sma_error *error)
{
    enum sma_err err = history_open_main(history, chat, false, error);
    if (err == SMA_ERR_OK && history_is_main_replaced(history, chat))
        chat->is_replaced = true;
    return err;
}

static enum sma_err note_synced(struct sma_history *history, struct history_chat *chat,
                                struct sma_error *error)
{
    bool is_replaced = chat->is_replaced;
    history_note_clean(history, chat);
    return is_replaced ? sma_fail(error, SMA_ERR_GONE,
                                  "another file has taken the place of %s.jsonl", chat->stem)
                       : SMA_ERR_OK;
}

enum sma_err history_sync_chat(struct sma_history *history, struct history_chat *chat,
                               struct sma_error *error)
{
    if (!chat->is_dirty)
        return SMA_ERR_OK;
    enum sma_err err = open_dirty(history, chat, error);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    /* NOTFOUND: somebody removed the file, and its lines with it: nothing is left to sync */
    if (err == SMA_ERR_OK)
        err = sync_here(history, chat->fd, error);
    return err == SMA_ERR_CORRUPT ? err : note_synced(history, chat, error);
}

enum sma_err history_sync_directory(struct sma_history *history, struct sma_error *error)
{
    if (!history->is_directory_dirty)
        return SMA_ERR_OK;
    const struct sma_sys *sys = history->sys;
    int fd = sys->open(sys->self, history->directory, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot open directory %s", history->directory);
    enum sma_err err =
        sys->fsync(sys->self, fd) == 0 ? SMA_ERR_OK : history_sync_failed(error, errno);
    (void)sys->close(sys->self, fd); /* only synced */
    if (err == SMA_ERR_OK)
        history->is_directory_dirty = false;
    return err;
}

enum sma_err sma_history_sync(struct sma_history *history, struct sma_str chat_key,
                              struct sma_error *error)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    enum sma_err err = chat == NULL ? SMA_ERR_OK : history_sync_chat(history, chat, error);
    if (err == SMA_ERR_OK)
        err = history_sync_directory(history, error);
    return err == SMA_ERR_OK ? wait_for_all(history, error) : err;
}

enum sma_err sma_history_sync_all(struct sma_history *history, struct sma_error *error)
{
    enum sma_err err = SMA_ERR_OK;
    for (struct history_chat *chat = history->newest;
         err == SMA_ERR_OK && chat != NULL && history->dirty_count > 0; chat = chat->older)
        err = history_sync_chat(history, chat, error);
    if (err == SMA_ERR_OK)
        err = history_sync_directory(history, error);
    return err == SMA_ERR_OK ? wait_for_all(history, error) : err;
}

enum sma_err sma_history_sync_begin(struct sma_history *history, struct sma_str chat_key,
                                    struct sma_error *error)
{
    struct history_chat *chat = history_find_chat(history, chat_key);
    if (chat == NULL || !chat->is_dirty)
        return SMA_ERR_OK;
    if (history->syncer != NULL && !has_place(history->syncer))
        return SMA_ERR_BUSY;
    enum sma_err err = open_dirty(history, chat, error);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    if (err == SMA_ERR_OK)
        err = history_sync_file(history, chat->fd, error);
    return err == SMA_ERR_CORRUPT ? err : note_synced(history, chat, error);
}

enum sma_err sma_history_sync_directory_begin(struct sma_history *history, struct sma_error *error)
{
    if (!history->is_directory_dirty)
        return SMA_ERR_OK;
    if (history->syncer == NULL)
        return history_sync_directory(history, error);
    if (!has_place(history->syncer))
        return SMA_ERR_BUSY;
    const struct sma_sys *sys = history->sys;
    int fd = sys->open(sys->self, history->directory, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot open directory %s", history->directory);
    history->is_directory_dirty = false;
    hand_over(history->syncer, fd); /* fdatasync of a directory is its fsync */
    return SMA_ERR_OK;
}

uint32_t sma_history_dirty_count(const struct sma_history *history)
{
    return history->dirty_count;
}
