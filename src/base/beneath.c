/* beneath.c — see beneath.h. */
#include "sma/beneath.h"

#include "sma/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RACE_COUNT_MAX 16 /* openat2 gives EAGAIN while something is renamed */

/* openat2 refuses other flags together with O_PATH */
static int whole_flags(int flags)
{
    return flags | O_CLOEXEC | ((flags & O_PATH) != 0 ? 0 : O_NONBLOCK | O_NOCTTY);
}

/* ".." would lead out as soon as a folder is moved. */
int sma_open_by_parts(int root, const char *path, int flags)
{
    int fd = openat(root, ".",
                    O_CLOEXEC | (path[0] == '\0' ? whole_flags(flags) : O_PATH | O_DIRECTORY));
    while (fd >= 0 && *path != '\0') {
        size_t len = strcspn(path, "/");
        const char *rest = path + len + strspn(path + len, "/");
        char name[NAME_MAX + 1];
        bool is_last = *rest == '\0', is_up = len == 2 && memcmp(path, "..", 2) == 0;
        if (len > NAME_MAX || is_up || len == 0) {
            close(fd);
            errno = len > NAME_MAX ? ENAMETOOLONG : EXDEV;
            return -1;
        }
        memcpy(name, path, len);
        name[len] = '\0';
        int next =
            openat(fd, name,
                   O_CLOEXEC | O_NOFOLLOW | (is_last ? whole_flags(flags) : O_PATH | O_DIRECTORY));
        int os_errno = errno;
        struct stat facts;
        /* a folder that is a link is ENOTDIR here, and a link with O_PATH is opened itself */
        bool is_link = next < 0 ? fstatat(fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0
                                : (flags & O_PATH) != 0 && fstat(next, &facts) == 0;
        if (is_link && S_ISLNK(facts.st_mode)) {
            if (next >= 0)
                close(next);
            next = -1;
            os_errno = ELOOP;
        }
        close(fd);
        errno = os_errno;
        fd = next;
        path = rest;
    }
    return fd;
}

int sma_open_beneath(int root, const char *path, int flags, enum sma_beneath_links links)
{
    flags = whole_flags(flags);
    bool follows = links == SMA_BENEATH_INNER_LINKS;
    struct open_how how = {.flags = (uint64_t)(unsigned)flags,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
                                      (follows ? 0 : RESOLVE_NO_SYMLINKS)};
    const char *name = path[0] == '\0' ? "." : path;
    for (int i = 0; i < RACE_COUNT_MAX; i++) {
        int fd = (int)syscall(SYS_openat2, root, name, &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR && errno != ENOSYS && errno != EPERM))
            return fd;
        if (errno == ENOSYS || errno == EPERM) /* EPERM: a filter that does not know it */
            break;
    }
    if (errno != ENOSYS && errno != EPERM)
        return -1;
    return sma_open_by_parts(root, path, flags);
}

int sma_open_in(const char *folder, const char *path, int flags)
{
    int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    int fd = sma_open_beneath(root, path, flags, SMA_BENEATH_NO_LINKS);
    int os_errno = errno;
    close(root);
    errno = os_errno;
    return fd;
}

/* -- whole files ------------------------------------------------------------------------------- */
static enum sma_err refuse_open(const char *folder, const char *path, int os_errno,
                                struct sma_error *error)
{
    if (os_errno == ELOOP || os_errno == EXDEV)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s/%s is, or lies behind, a symbolic link, and links in the project are "
                        "not followed: put the file itself there",
                        folder, path);
    return sma_fail_os(error, os_errno, "cannot open %s/%s", folder, path);
}

enum sma_err sma_read_beneath(const char *folder, const char *path, size_t max, char **ret_bytes,
                              size_t *ret_len, struct sma_error *error)
{
    char shown[PATH_MAX];
    struct stat facts;
    int fd = sma_open_in(folder, path, O_RDONLY);
    if (fd < 0)
        return refuse_open(folder, path, errno, error);
    (void)snprintf(shown, sizeof shown, "%s/%s", folder, path); /* cut: as well */
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
        return sma_sys_read_open(sma_sys_real(), fd, shown, max, ret_bytes, ret_len, error);
    close(fd);
    return sma_fail(error, SMA_ERR_BADINPUT, "%s is no regular file", shown);
}
