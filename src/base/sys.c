/* sys.c — the real system-call table, the file helpers on any table, and the named crash points. */
#include "sma/sys.h"
#include "sma/buf.h"
#include "sma/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t real_now_ns(void *self)
{
    (void)self;
    return sma_clock_now_ns();
}

static int64_t real_wall_ms(void *self)
{
    (void)self;
    return sma_clock_wall_ms();
}

static void real_random_bytes(void *self, void *bytes, size_t len)
{
    (void)self;
    unsigned char *at = bytes;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fputs("getrandom failed: the kernel gives no random bytes\n", stderr);
            abort();
        }
        at += got;
        len -= (size_t)got;
    }
}

static int real_open(void *self, const char *path, int flags, mode_t mode)
{
    (void)self;
    return open(path, flags | O_CLOEXEC, mode);
}

static int real_close(void *self, int fd)
{
    (void)self;
    return close(fd);
}

static ssize_t real_pread(void *self, int fd, void *bytes, size_t len, off_t offset)
{
    (void)self;
    return pread(fd, bytes, len, offset);
}

static ssize_t real_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    (void)self;
    return pwrite(fd, bytes, len, offset);
}

static int real_ftruncate(void *self, int fd, off_t len)
{
    (void)self;
    return ftruncate(fd, len);
}

static int real_fdatasync(void *self, int fd)
{
    (void)self;
    return fdatasync(fd);
}

static int real_fsync(void *self, int fd)
{
    (void)self;
    return fsync(fd);
}

static int real_rename(void *self, const char *from, const char *to)
{
    (void)self;
    return rename(from, to);
}

static int real_unlink(void *self, const char *path)
{
    (void)self;
    return unlink(path);
}

static int real_mkdir(void *self, const char *path, mode_t mode)
{
    (void)self;
    return mkdir(path, mode);
}

const struct sma_sys *sma_sys_real(void)
{
    static const struct sma_sys real = {
        .now_ns = real_now_ns,
        .wall_ms = real_wall_ms,
        .random_bytes = real_random_bytes,
        .open = real_open,
        .close = real_close,
        .pread = real_pread,
        .pwrite = real_pwrite,
        .ftruncate = real_ftruncate,
        .fdatasync = real_fdatasync,
        .fsync = real_fsync,
        .rename = real_rename,
        .unlink = real_unlink,
        .mkdir = real_mkdir,
    };
    return &real;
}

enum sma_err sma_sys_write_all(const struct sma_sys *sys, int fd, const void *bytes, size_t len,
                               off_t offset, struct sma_error *error)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t done = sys->pwrite(sys->self, fd, at, len, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return sma_fail_os(error, errno, "write of %zu bytes at offset %lld", len,
                               (long long)offset);
        if (done == 0)
            return sma_fail(error, SMA_ERR_IO, "write of %zu bytes at offset %lld made no progress",
                            len, (long long)offset);
        at += done;
        len -= (size_t)done;
        offset += done;
    }
    return SMA_ERR_OK;
}

/* Everything from fd into *buf, refused when more than buf->max. */
static enum sma_err read_into(const struct sma_sys *sys, int fd, const char *path,
                              struct sma_buf *buf, struct sma_error *error)
{
    size_t chunk = 4096;
    for (;;) {
        size_t room = buf->max - buf->len;
        size_t want = room < chunk ? room : chunk;
        char beyond; /* at the maximum one more byte decides between "exactly full" and "too big" */
        char *to = want == 0 ? &beyond : sma_buf_reserve(buf, want);
        if (to == NULL)
            return sma_fail(error, buf->err, "%s: no memory to read it", path);
        ssize_t got = sys->pread(sys->self, fd, to, want == 0 ? 1 : want, (off_t)buf->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sma_fail_os(error, errno, "cannot read %s", path);
        if (got == 0)
            return SMA_ERR_OK;
        if (want == 0)
            return sma_fail(error, SMA_ERR_TOOBIG, "%s is larger than %zu bytes", path, buf->max);
        buf->len += (size_t)got;
        chunk = chunk < (1u << 20) ? chunk * 2 : chunk;
    }
}

enum sma_err sma_sys_read_file(const struct sma_sys *sys, const char *path, size_t max,
                               char **ret_bytes, size_t *ret_len, struct sma_error *error)
{
    /* Non-blocking: a FIFO put where a file should be must not hang the program. */
    int fd = sys->open(sys->self, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot open %s", path);
    return sma_sys_read_open(sys, fd, path, max, ret_bytes, ret_len, error);
}

enum sma_err sma_sys_read_open(const struct sma_sys *sys, int fd, const char *path, size_t max,
                               char **ret_bytes, size_t *ret_len, struct sma_error *error)
{
    struct sma_buf buf;
    sma_buf_init(&buf, max);
    enum sma_err err = read_into(sys, fd, path, &buf, error);
    (void)sys->close(sys->self, fd); /* only read: nothing to lose */
    size_t len = buf.len;
    char *bytes = err == SMA_ERR_OK ? sma_buf_take(&buf) : NULL;
    sma_buf_fini(&buf);
    if (err != SMA_ERR_OK)
        return err;
    if (bytes == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "%s: no memory to read it", path);
    *ret_bytes = bytes;
    *ret_len = len;
    return SMA_ERR_OK;
}

enum sma_err sma_sys_sync_parent(const struct sma_sys *sys, const char *path,
                                 struct sma_error *error)
{
    const char *slash = strrchr(path, '/');
    SMA_AUTO(sma_freep)
    char *parent =
        slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (parent == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory");
    int fd = sys->open(sys->self, parent, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot open directory %s", parent);
    int status = sys->fsync(sys->self, fd);
    int os_errno = errno;
    (void)sys->close(sys->self, fd); /* nothing was written through it */
    if (status != 0)
        return sma_fail_os(error, os_errno, "cannot sync directory %s", parent);
    return SMA_ERR_OK;
}

/* Write and close a fresh file; the caller removes it on failure. */
static enum sma_err write_fresh(const struct sma_sys *sys, const char *path, struct sma_str bytes,
                                mode_t mode, bool is_synced, struct sma_error *error)
{
    int fd = sys->open(sys->self, path, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot create %s", path);
    enum sma_err err = sma_sys_write_all(sys, fd, bytes.ptr, bytes.len, 0, error);
    if (err == SMA_ERR_OK && is_synced && sys->fsync(sys->self, fd) != 0)
        err = sma_fail_os(error, errno, "cannot sync %s", path);
    if (sys->close(sys->self, fd) != 0 && err == SMA_ERR_OK)
        err = sma_fail_os(error, errno, "cannot close %s", path);
    return err;
}

static enum sma_err replace(const struct sma_sys *sys, const char *path, struct sma_str bytes,
                            mode_t mode, bool is_synced, struct sma_error *error)
{
    uint64_t nonce;
    sys->random_bytes(sys->self, &nonce, sizeof nonce);
    SMA_AUTO(sma_freep) char *temporary = NULL;
    if (asprintf(&temporary, "%s.tmp.%016llx", path, (unsigned long long)nonce) < 0) {
        temporary = NULL;
        return sma_fail(error, SMA_ERR_NOMEM, "no memory");
    }
    enum sma_err err = write_fresh(sys, temporary, bytes, mode, is_synced, error);
    if (err == SMA_ERR_OK && sys->rename(sys->self, temporary, path) != 0)
        err = sma_fail_os(error, errno, "cannot rename %s to %s", temporary, path);
    if (err != SMA_ERR_OK) {
        (void)sys->unlink(sys->self, temporary); /* best effort: a leftover is harmless */
        return err;
    }
    return is_synced ? sma_sys_sync_parent(sys, path, error) : SMA_ERR_OK;
}

enum sma_err sma_sys_write_file_atomic(const struct sma_sys *sys, const char *path,
                                       struct sma_str bytes, mode_t mode, struct sma_error *error)
{
    return replace(sys, path, bytes, mode, true, error);
}

enum sma_err sma_sys_write_file_unsynced(const struct sma_sys *sys, const char *path,
                                         struct sma_str bytes, mode_t mode, struct sma_error *error)
{
    return replace(sys, path, bytes, mode, false, error);
}

static enum sma_err make_dirs(const struct sma_sys *sys, const char *path, mode_t mode,
                              struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *copy = strdup(path);
    if (copy == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory");
    size_t len = strlen(copy);
    for (size_t i = 1; i <= len; i++) {
        if (i < len && copy[i] != '/')
            continue;
        char kept = copy[i];
        copy[i] = '\0';
        if (sys->mkdir(sys->self, copy, mode) != 0 && errno != EEXIST)
            return sma_fail_os(error, errno, "cannot create directory %s", copy);
        copy[i] = kept;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_sys_make_dirs(const struct sma_sys *sys, const char *path, struct sma_error *error)
{
    return make_dirs(sys, path, 0700, error);
}

enum sma_err sma_sys_make_shared_dirs(const struct sma_sys *sys, const char *path,
                                      struct sma_error *error)
{
    return make_dirs(sys, path, 0777, error);
}

/* -- crash points ------------------------------------------------------------------------------ */
bool sma_crash_is_armed;
static char crash_point[128];
static long crash_countdown;

void sma_crash_init(void)
{
    const char *wanted = getenv("SMA_CRASH_AT");
    if (wanted == NULL || wanted[0] == '\0')
        return;
    const char *colon = strrchr(wanted, ':');
    size_t len = colon == NULL ? strlen(wanted) : (size_t)(colon - wanted);
    if (len >= sizeof crash_point)
        return;
    memcpy(crash_point, wanted, len);
    crash_point[len] = '\0';
    crash_countdown = colon == NULL ? 1 : strtol(colon + 1, NULL, 10);
    sma_crash_is_armed = crash_countdown > 0;
}

void sma_crash_hit(const char *point)
{
    if (strcmp(point, crash_point) != 0)
        return;
    if (__atomic_sub_fetch(&crash_countdown, 1, __ATOMIC_RELAXED) == 0)
        (void)kill(getpid(), SIGKILL); /* does not return */
}

bool sma_sys_is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM"); /* "<device>:<inode>" */
    struct stat facts;
    char own[64];
    if (stream == NULL || fstat(fd, &facts) != 0)
        return false;
    snprintf(own, sizeof own, "%llu:%llu", (unsigned long long)facts.st_dev,
             (unsigned long long)facts.st_ino);
    return strcmp(own, stream) == 0;
}
