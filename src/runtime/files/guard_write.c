/* guard_write.c — files are replaced by handle: a new one beside the old one, renamed over it. See
 * guard.h. */
#include "runtime/files/guard_priv.h"

#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define FOLDER_MODE 0777 /* less what the umask takes */
#define FILE_MODE 0666

/* The folder that holds the file, made with those above it when it is not there; through no link.
 * -1 and errno. */
static int open_folder(const struct sma_guard *guard, char *path, bool may_make,
                       const char **ret_name)
{
    char *at = path, *slash;
    int fd = guard_open_plain(guard, "", O_RDONLY | O_DIRECTORY);
    while (fd >= 0 && (slash = strchr(at, '/')) != NULL) {
        *slash = '\0';
        int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int next = openat(fd, at, flags);
        if (next < 0 && errno == ENOENT && may_make) {
            if (mkdirat(fd, at, FOLDER_MODE) == 0 || errno == EEXIST)
                next = openat(fd, at, flags);
        }
        int saved = errno;
        close(fd);
        errno = saved;
        fd = next;
        at = slash + 1;
    }
    *ret_name = at;
    return fd;
}

static enum sma_err write_bytes(int fd, struct sma_str bytes)
{
    for (size_t done = 0; done < bytes.len;) {
        ssize_t count = write(fd, bytes.ptr + done, bytes.len - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return errno == ENOSPC || errno == EDQUOT ? SMA_ERR_NOSPACE : SMA_ERR_IO;
        done += (size_t)count;
    }
    return SMA_ERR_OK;
}

static bool make_name(char name[40])
{
    uint8_t bytes[8];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    size_t len = (size_t)snprintf(name, 40, ".write-");
    for (size_t i = 0; i < sizeof bytes; i++)
        len += (size_t)snprintf(name + len, 40 - len, "%02x", bytes[i]);
    snprintf(name + len, 40 - len, ".tmp");
    return true;
}

/* What stands there now: a regular file, or nothing. */
static enum sma_err look(const struct sma_guard *guard, int folder, const char *name,
                         struct sma_str path, mode_t *ret_mode, bool *ret_is_new,
                         struct sma_buf *why)
{
    struct stat stat;
    *ret_is_new = fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) != 0;
    *ret_mode = FILE_MODE;
    if (*ret_is_new)
        return errno == ENOENT ? SMA_ERR_OK : guard_tell_errno(why, path);
    if (S_ISDIR(stat.st_mode))
        return guard_refuse(why, path, " is a folder: expected a file.");
    if (S_ISLNK(stat.st_mode))
        return guard_refuse(why, path, " is a link: write the file it names instead.");
    if (!S_ISREG(stat.st_mode))
        return guard_refuse(why, path, " is a pipe, a socket or a device: expected a file.");
    if (guard_is_protected_link(guard, &stat, SMA_GUARD_WRITE))
        return guard_refuse(why, path, " is, or may be, another name of a protected file.");
    *ret_mode = stat.st_mode & 0777;
    return SMA_ERR_OK;
}

/* Does it still hold what was seen? */
static bool is_as_seen(int folder, const char *name, struct sma_str seen)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT && seen.ptr == NULL;
    char *bytes = NULL;
    size_t len = 0;
    bool is_same = seen.ptr != NULL &&
                   sma_guard_read_fd(fd, seen.len, &bytes, &len) == SMA_ERR_OK &&
                   sma_str_is_equal((struct sma_str){bytes, len}, seen);
    free(bytes);
    close(fd);
    return is_same;
}

static enum sma_err rename_over(int folder, const char *temporary, const char *name,
                                const struct sma_str *seen)
{
    if (seen != NULL && !is_as_seen(folder, name, *seen))
        return SMA_ERR_BUSY;
    /* Where there was nothing, the kernel itself sees to it that there is nothing. */
    unsigned flags = seen != NULL && seen->ptr == NULL ? RENAME_NOREPLACE : 0;
    if (renameat2(folder, temporary, folder, name, flags) == 0)
        return SMA_ERR_OK;
    if (flags != 0 && errno == EEXIST)
        return SMA_ERR_BUSY;
    bool is_unknown = flags != 0 && (errno == EINVAL || errno == ENOSYS); /* to this file system */
    return is_unknown && renameat(folder, temporary, folder, name) == 0 ? SMA_ERR_OK : SMA_ERR_IO;
}

/* What is to be written: over anything, or over what was seen. */
struct writing
{
    struct sma_str path, bytes;
    const struct sma_str *seen; /* NULL = over anything */
};

static enum sma_err replace(int folder, const char *name, const struct writing *writing,
                            const mode_t *old_mode, struct sma_buf *why)
{
    struct sma_str path = writing->path, bytes = writing->bytes;
    mode_t first_mode = old_mode == NULL ? FILE_MODE : 0600;
    char temporary[40];
    if (!make_name(temporary))
        return guard_tell_errno(why, path);
    int fd =
        openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, first_mode);
    if (fd < 0)
        return guard_tell_errno(why, path);
    enum sma_err err = write_bytes(fd, bytes);
    if (err == SMA_ERR_OK && ((old_mode != NULL && fchmod(fd, *old_mode) != 0) || fsync(fd) != 0))
        err = errno == ENOSPC || errno == EDQUOT ? SMA_ERR_NOSPACE : SMA_ERR_IO;
    if (err == SMA_ERR_OK)
        err = rename_over(folder, temporary, name, writing->seen);
    int saved = errno;
    close(fd);
    if (err == SMA_ERR_OK) {
        (void)fsync(folder); /* the file is whole either way */
        return SMA_ERR_OK;
    }
    (void)unlinkat(folder, temporary, 0); /* nothing else can be done */
    errno = saved;
    if (err != SMA_ERR_BUSY)
        (void)guard_tell_errno(why, path); /* the code is known */
    return err;
}

static enum sma_err tell_no_folder(struct sma_buf *why, struct sma_str path)
{
    bool is_link = errno == ENOTDIR || errno == ELOOP;
    return is_link ? guard_refuse(why, path, ": a part of the path is a link or a file.")
                   : guard_tell_errno(why, path);
}

enum sma_err sma_guard_may_write(const struct sma_guard *guard, struct sma_str path,
                                 struct sma_buf *why)
{
    if (path.len == 0 || sma_guard_classify(path, SMA_GUARD_WRITE) == SMA_GUARD_PROTECTED)
        return guard_refuse_protected(why, path);
    char *copy = strndup(path.ptr, path.len);
    if (copy == NULL)
        return SMA_ERR_NOMEM;
    const char *name = copy;
    mode_t mode;
    bool is_new;
    int folder = open_folder(guard, copy, false, &name);
    enum sma_err err = SMA_ERR_OK; /* a folder that is not there will be made */
    if (folder >= 0) {
        err = look(guard, folder, name, path, &mode, &is_new, why);
        close(folder);
    } else if (errno != ENOENT) {
        err = tell_no_folder(why, path);
    }
    free(copy);
    return err;
}

enum sma_guard_place sma_guard_look(const struct sma_guard *guard, struct sma_str path)
{
    char *copy = strndup(path.ptr, path.len);
    enum sma_guard_place place = SMA_GUARD_ITSELF;
    bool is_end = copy == NULL;
    if (copy == NULL)
        return SMA_GUARD_ANOTHER;
    for (size_t i = 0; i <= path.len && !is_end; i++) {
        if (i < path.len && copy[i] != '/')
            continue;
        struct stat stat;
        copy[i] = '\0';
        bool is_last = i == path.len;
        bool is_there = fstatat(guard->root_fd, copy, &stat, AT_SYMLINK_NOFOLLOW) == 0;
        if (!is_last)
            copy[i] = '/';
        is_end = true;
        if (!is_there)
            place = errno == ENOENT ? SMA_GUARD_ITSELF : SMA_GUARD_ANOTHER;
        else if (S_ISDIR(stat.st_mode))
            is_end = is_last;
        else if (!S_ISREG(stat.st_mode) || stat.st_nlink > 1)
            place = SMA_GUARD_ANOTHER;
        else if (!is_last)
            place = SMA_GUARD_NOWHERE;
    }
    free(copy);
    return place;
}

static enum sma_err write_as(const struct sma_guard *guard, const struct writing *writing,
                             bool *ret_is_new, struct sma_buf *why)
{
    struct sma_str path = writing->path;
    if (path.len == 0 || sma_guard_classify(path, SMA_GUARD_WRITE) == SMA_GUARD_PROTECTED)
        return guard_refuse_protected(why, path);
    char *copy = strndup(path.ptr, path.len);
    if (copy == NULL)
        return SMA_ERR_NOMEM;
    const char *name = copy;
    int folder = open_folder(guard, copy, true, &name);
    if (folder < 0) {
        enum sma_err err = tell_no_folder(why, path);
        free(copy);
        return err;
    }
    mode_t mode;
    bool is_new;
    enum sma_err err = look(guard, folder, name, path, &mode, &is_new, why);
    if (err == SMA_ERR_OK)
        err = replace(folder, name, writing, is_new ? NULL : &mode, why);
    close(folder);
    free(copy);
    if (err == SMA_ERR_OK && ret_is_new != NULL)
        *ret_is_new = is_new;
    return err;
}

enum sma_err sma_guard_write(const struct sma_guard *guard, struct sma_str path,
                             struct sma_str bytes, bool *ret_is_new, struct sma_buf *why)
{
    struct writing writing = {.path = path, .bytes = bytes};
    return write_as(guard, &writing, ret_is_new, why);
}

enum sma_err sma_guard_write_over(const struct sma_guard *guard, struct sma_str path,
                                  struct sma_str seen, struct sma_str bytes, struct sma_buf *why)
{
    struct writing writing = {.path = path, .bytes = bytes, .seen = &seen};
    return write_as(guard, &writing, NULL, why);
}
