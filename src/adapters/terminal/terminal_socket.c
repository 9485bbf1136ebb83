/* terminal_socket.c — unix sockets at paths of any length. */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* An address for path. Too long for one: the folder is opened (*ret_dir_fd, else -1) and named by
 * its descriptor. */
static enum sma_err make_address(const char *path, struct sockaddr_un *address, int *ret_dir_fd,
                                 struct sma_error *error)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *ret_dir_fd = -1;
    if (strlen(path) < sizeof address->sun_path) {
        memcpy(address->sun_path, path, strlen(path) + 1);
        return SMA_ERR_OK;
    }
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    if (slash == NULL || (size_t)(slash - path) >= sizeof dir)
        return sma_fail(error, SMA_ERR_TOOBIG, "%.200s...: the path is too long for a socket",
                        path);
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
    int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return sma_fail_os(error, errno, "cannot open %.300s", dir);
    int len =
        snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d%s", dir_fd, slash);
    if (len < 0 || (size_t)len >= sizeof address->sun_path) {
        close(dir_fd);
        return sma_fail(error, SMA_ERR_TOOBIG, "%.200s...: the name is too long for a socket",
                        path);
    }
    *ret_dir_fd = dir_fd;
    return SMA_ERR_OK;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

enum sma_err sma_terminal_connect(const char *path, int *ret_fd, struct sma_error *error)
{
    struct sockaddr_un address;
    int dir_fd;
    SMA_TRY(make_address(path, &address, &dir_fd, error));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int status = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&address, sizeof address);
    int os_errno = errno;
    close_if_open(dir_fd);
    if (status == 0) {
        *ret_fd = fd;
        return SMA_ERR_OK;
    }
    close_if_open(fd);
    if (os_errno == ENOENT || os_errno == ECONNREFUSED)
        return sma_fail(error, SMA_ERR_NOTFOUND,
                        "no service listens on %.300s: start it with `shipmyagent start`", path);
    return sma_fail_os(error, os_errno, "cannot connect to %.300s", path);
}

static int bind_private(int fd, const struct sockaddr_un *address)
{
    /* Linux gives the new name the mode of the socket itself: never a moment at which others could
     * connect */
    if (fchmod(fd, 0600) != 0)
        return -1;
    return bind(fd, (const struct sockaddr *)address, sizeof *address);
}

enum sma_err sma_terminal_listen(const char *path, int *ret_fd, struct sma_error *error)
{
    int other;
    enum sma_err err = sma_terminal_connect(path, &other, NULL);
    if (err == SMA_ERR_OK) {
        close(other);
        return sma_fail(error, SMA_ERR_EXISTS, "another service listens on %.300s: stop it first",
                        path);
    }
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        (void)unlink(path); /* left by a service that was killed; bind says so if it cannot go */
    struct sockaddr_un address;
    int dir_fd;
    err = make_address(path, &address, &dir_fd, error);
    if (err != SMA_ERR_OK)
        return err;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_bound = fd >= 0 && bind_private(fd, &address) == 0;
    int os_errno = errno;
    close_if_open(dir_fd);
    if (!is_bound) {
        close_if_open(fd);
        return sma_fail_os(error, os_errno, "cannot listen on %.300s", path);
    }
    *ret_fd = fd;
    return SMA_ERR_OK;
}
