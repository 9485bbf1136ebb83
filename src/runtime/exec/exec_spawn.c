/*
 * exec_spawn.c — posix_spawn with everything closed that is not given on purpose.
 */
#include "exec_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <unistd.h>

/* The PATH of the child: ours may hold folders that commands must not name programs from. */
static bool find_program(const struct sma_spawn *spawn, char *path, size_t size)
{
    const char *name = spawn->arguments[0], *folders = NULL;
    if (strchr(name, '/') != NULL)
        return snprintf(path, size, "%s", name) < (int)size;
    for (char *const *entry = spawn->variables; *entry != NULL && folders == NULL; entry++)
        if (strncmp(*entry, "PATH=", 5) == 0)
            folders = *entry + 5;
    for (const char *at = folders == NULL ? "/usr/bin:/bin" : folders; *at != '\0';) {
        size_t len = strcspn(at, ":");
        if (len > 0 && snprintf(path, size, "%.*s/%s", (int)len, at, name) < (int)size &&
            access(path, X_OK) == 0)
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}

/* As if nobody had blocked or ignored a signal before: a command that ignored SIGPIPE would never
 * end. */
static int set_attributes(posix_spawnattr_t *attributes, const struct sma_spawn *spawn)
{
    sigset_t all, none;
    (void)sigfillset(&all);   /* cannot fail */
    (void)sigemptyset(&none); /* cannot fail */
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    int status = posix_spawnattr_setsigdefault(attributes, &all);
    if (status == 0)
        status = posix_spawnattr_setsigmask(attributes, &none);
    if (spawn->has_session)
        flags |= POSIX_SPAWN_SETSID;
    if (spawn->has_group) /* its number is the child's, which is what 0 means */
        flags |= POSIX_SPAWN_SETPGROUP;
    return status == 0 ? posix_spawnattr_setflags(attributes, flags) : status;
}

static int set_actions(posix_spawn_file_actions_t *actions, const struct sma_spawn *spawn,
                       const int *fds)
{
    int status = 0;
    for (size_t i = 0; i < spawn->fd_count && status == 0; i++)
        status = posix_spawn_file_actions_adddup2(actions, fds[i], (int)i);
    if (status == 0)
        status = posix_spawn_file_actions_addclosefrom_np(actions, (int)spawn->fd_count);
    if (status == 0 && spawn->dir != NULL)
        status = posix_spawn_file_actions_addchdir_np(actions, spawn->dir);
    return status;
}

static int start(const struct sma_spawn *spawn, const int *fds, pid_t *ret_pid)
{
    char path[PATH_MAX];
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    if (!find_program(spawn, path, sizeof path))
        return ENOENT;
    int status = posix_spawnattr_init(&attributes);
    if (status != 0)
        return status;
    status = posix_spawn_file_actions_init(&actions);
    if (status == 0) {
        status = set_attributes(&attributes, spawn);
        if (status == 0)
            status = set_actions(&actions, spawn, fds);
        if (status == 0)
            status = posix_spawn(ret_pid, path, &actions, &attributes, spawn->arguments,
                                 spawn->variables);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return status;
}

int sma_spawn(const struct sma_spawn *spawn, pid_t *ret_pid)
{
    SMA_ASSERT(spawn->fd_count >= 3 && spawn->fd_count <= SMA_SPAWN_FD_COUNT_MAX);
    /* Above the numbers the child gets, so that none is overwritten by another before its turn. */
    int fds[SMA_SPAWN_FD_COUNT_MAX], status = 0;
    size_t count = 0;
    for (; count < spawn->fd_count && status == 0; count++) {
        bool is_high = spawn->fds[count] >= SMA_SPAWN_FD_COUNT_MAX;
        fds[count] = is_high ? spawn->fds[count]
                             : fcntl(spawn->fds[count], F_DUPFD_CLOEXEC, SMA_SPAWN_FD_COUNT_MAX);
        if (fds[count] < 0)
            status = errno;
    }
    if (status == 0)
        status = start(spawn, fds, ret_pid);
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0 && fds[i] != spawn->fds[i])
            close(fds[i]);
    return status;
}
