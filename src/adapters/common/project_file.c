/* project_file.c — see project_file.h. */
#include "project_file.h"

#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_COUNT_MAX 64

/* Never sent: they hold secrets, or the state itself. Compared by identity, so that no spelling and no link helps. */
static const char *const FORBIDDEN[] = {
    ".env",           "ship.json", ".ship/state.db", ".ship/state.db-wal", ".ship/state.db-shm",
    ".ship/api-token"};

static bool is_forbidden(int root_fd, const struct stat *file)
{
    for (size_t i = 0; i < SMA_COUNT_OF(FORBIDDEN); i++) {
        struct stat other;
        if (fstatat(root_fd, FORBIDDEN[i], &other, 0) == 0 && other.st_dev == file->st_dev &&
            other.st_ino == file->st_ino)
            return true;
    }
    return false;
}

/* The names of a path, "." and ".." resolved by text alone: exact, because no link is followed. */
struct names
{
    struct sma_str items[NAME_COUNT_MAX];
    size_t count;
};

static bool split(struct sma_str path, struct names *names)
{
    names->count = 0;
    for (size_t at = 0; at < path.len;) {
        size_t end = at;
        while (end < path.len && path.ptr[end] != '/')
            end++;
        struct sma_str name = {path.ptr + at, end - at};
        at = end + 1;
        if (name.len == 0 || sma_str_is_equal(name, SMA_STR(".")))
            continue;
        if (sma_str_is_equal(name, SMA_STR(".."))) {
            if (names->count == 0)
                return false;
            names->count--;
            continue;
        }
        if (names->count == NAME_COUNT_MAX || name.len > NAME_MAX ||
            memchr(name.ptr, '\0', name.len) != NULL)
            return false;
        names->items[names->count++] = name;
    }
    return names->count > 0;
}

static int walk(int root_fd, const struct names *names)
{
    int fd = root_fd;
    for (size_t i = 0; i < names->count && fd >= 0; i++) {
        char name[NAME_MAX + 1];
        memcpy(name, names->items[i].ptr, names->items[i].len);
        name[names->items[i].len] = '\0';
        bool is_last = i + 1 == names->count;
        int flags = is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY
                            : O_PATH | O_DIRECTORY; /* a pipe would hang */
        int next = openat(fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
        int os_errno = errno;
        if (fd != root_fd)
            close(fd);
        errno = os_errno;
        fd = next;
    }
    return fd;
}

/* Variants of it (.env.local ...) are no state of ours, but secrets all the same. */
static bool is_secret_name(const struct names *names)
{
    return sma_str_starts_with(names->items[names->count - 1], SMA_STR(".env"));
}

/* What was said in other chats, their files, logs. Attachments that came in may go back out. */
static bool is_of_service(const struct names *names)
{
    if (!sma_str_is_equal(names->items[0], SMA_STR(".ship")))
        return false;
    return names->count < 3 || (!sma_str_is_equal(names->items[1], SMA_STR(".cache")) &&
                                !sma_str_is_equal(names->items[1], SMA_STR("public")));
}

static enum sma_err check(int root_fd, int fd, size_t bytes_max, const char *shown,
                          struct sma_error *error)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return sma_fail_os(error, errno, "cannot read %s", shown);
    if (!S_ISREG(file.st_mode))
        return sma_fail(error, SMA_ERR_BADINPUT, "%s is not a file", shown);
    if (is_forbidden(root_fd, &file))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s holds secrets or the service's state: it is never sent", shown);
    if (file.st_size == 0)
        return sma_fail(error, SMA_ERR_BADINPUT, "%s is empty: there is nothing to send", shown);
    if ((uint64_t)file.st_size > bytes_max)
        return sma_fail(error, SMA_ERR_TOOBIG, "%s has %lld bytes, the platform takes at most %zu",
                        shown, (long long)file.st_size, bytes_max);
    return SMA_ERR_OK;
}

static enum sma_err explain(int os_errno, const char *shown, struct sma_error *error)
{
    if (os_errno == ENOENT || os_errno == ENOTDIR)
        return sma_fail(error, SMA_ERR_NOTFOUND, "there is no file %s in the project", shown);
    if (os_errno == ELOOP)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s leads over a symbolic link: only files of the project are sent", shown);
    return sma_fail_os(error, os_errno, "cannot open %s", shown);
}

enum sma_err sma_project_file_open(const char *root, struct sma_str target, size_t bytes_max,
                                   int *ret_fd, struct sma_error *error)
{
    char shown[128];
    size_t len = sma_utf8_cut(target, sizeof shown - 1);
    snprintf(shown, sizeof shown, "%.*s", (int)len, target.ptr);
    struct sma_str base = sma_str(root), path = target;
    if (path.len > 0 && path.ptr[0] == '/') {
        if (!sma_str_starts_with(path, base) || path.len <= base.len || path.ptr[base.len] != '/')
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "%s is outside the project: only files of the project are sent", shown);
        path = (struct sma_str){path.ptr + base.len, path.len - base.len};
    }
    struct names names;
    if (!split(path, &names))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s is outside the project: only files of the project are sent", shown);
    if (is_secret_name(&names))
        return sma_fail(error, SMA_ERR_BADINPUT, "%s holds secrets: it is never sent", shown);
    if (is_of_service(&names))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s is the service's own (conversations, logs, state): it is never sent",
                        shown);
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = root_fd < 0 ? -1 : walk(root_fd, &names);
    enum sma_err err =
        fd < 0 ? explain(errno, shown, error) : check(root_fd, fd, bytes_max, shown, error);
    if (root_fd >= 0)
        close(root_fd);
    if (err == SMA_ERR_OK)
        *ret_fd = fd;
    else if (fd >= 0)
        close(fd);
    return err;
}

void sma_project_file_name(struct sma_str target, char *name, size_t name_size)
{
    const char *slash = target.len == 0 ? NULL : memrchr(target.ptr, '/', target.len);
    if (slash != NULL)
        target = (struct sma_str){slash + 1, target.len - (size_t)(slash + 1 - target.ptr)};
    size_t len = sma_utf8_cut(target, name_size - 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)target.ptr[i];
        name[i] = byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f ? '_' : target.ptr[i];
    }
    name[len] = '\0';
}
