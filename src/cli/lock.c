/*
 * lock.c — see lock.h. The file's content is only the holder's process id, for the message; the
 * kernel's lock decides, so a file left behind by a crash means nothing.
 */
#include "lock.h"

#include "sma/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRY_COUNT 100
#define LOCK_TRY_NS 1000000

static int open_lock(const char *state_dir, int flags)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/lock", state_dir);
    return open(path, flags | O_CLOEXEC, 0600);
}

static enum sma_err report_holder(int fd, const char *state_dir, struct sma_error *error)
{
    char holder[32] = "";
    ssize_t len = pread(fd, holder, sizeof holder - 1, 0);
    if (len <= 0)
        snprintf(holder, sizeof holder, "unknown");
    holder[strcspn(holder, "\n")] = '\0';
    return sma_fail(error, SMA_ERR_BUSY,
                    "%s: another shipmyagent (process %s) already serves this project; stop it, or "
                    "talk to it with `shipmyagent chat`",
                    state_dir, holder);
}

/* Whoever asks whether a service runs holds the lock shared for an instant: only one that lasts is
 * a service. */
static bool lock_soon(int fd)
{
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EINTR && (errno != EWOULDBLOCK || tries >= LOCK_TRY_COUNT))
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = LOCK_TRY_NS}, NULL);
    }
    return true;
}

enum sma_err sma_lock_take(const char *state_dir, int *ret_fd, struct sma_error *error)
{
    enum sma_err err = sma_sys_make_dirs(sma_sys_real(), state_dir, error);
    if (err != SMA_ERR_OK)
        return err;
    int fd = open_lock(state_dir, O_RDWR | O_CREAT);
    if (fd < 0)
        return sma_fail_os(error, errno, "%s/lock: cannot open", state_dir);
    if (!lock_soon(fd)) {
        err = errno == EWOULDBLOCK ? report_holder(fd, state_dir, error)
                                   : sma_fail_os(error, errno, "%s/lock: cannot lock", state_dir);
        close(fd);
        return err;
    }
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len) {
        err = sma_fail_os(error, errno, "%s/lock: cannot write", state_dir);
        close(fd);
        return err;
    }
    *ret_fd = fd;
    return SMA_ERR_OK;
}

bool sma_lock_is_held(const char *state_dir)
{
    int fd = open_lock(state_dir, O_RDONLY);
    if (fd < 0)
        return false;
    bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return is_held;
}
