/* archive.c — see archive.h. */
#include "archive.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDERS_OPEN_MAX 16
#define TAR_FILES_CHANGED 1 /* its exit status when a file was written while it was read */

/* Ctrl-C ends tar, and that its caller, who tidies up. */
static const int ENDING[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void answer_signals(void (*answer)(int))
{
    for (size_t i = 0; i < SMA_COUNT_OF(ENDING); i++)
        (void)signal(ENDING[i], answer); /* known signals */
}

enum sma_err sma_stage_make(const char *beside, struct sma_stage *ret_stage,
                            struct sma_error *error)
{
    size_t len = strlen(beside);
    while (len > 1 && beside[len - 1] == '/')
        len--;
    int made = snprintf(ret_stage->path, sizeof ret_stage->path, "%.*s.XXXXXX", (int)len, beside);
    if (made < 0 || (size_t)made >= sizeof ret_stage->path)
        return sma_fail(error, SMA_ERR_TOOBIG, "the path %.60s... is too long", beside);
    if (mkdtemp(ret_stage->path) == NULL)
        return sma_fail_os(error, errno, "cannot make a folder beside %s", beside);
    answer_signals(SIG_IGN);
    return SMA_ERR_OK;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    (void)remove(path); /* what stays makes its folder stay, which is seen */
    return 0;
}

void sma_stage_remove(const struct sma_stage *stage)
{
    (void)nftw(stage->path, remove_one, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
    answer_signals(SIG_DFL);
}

bool sma_stage_path(const struct sma_stage *stage, const char *name, char ret_path[PATH_MAX])
{
    int len = snprintf(ret_path, PATH_MAX, "%s/%s", stage->path, name);
    return len > 0 && len < PATH_MAX;
}

static int spawn(char *const *argv, pid_t *ret_child)
{
    static char locale[] = "LC_ALL=C", path[] = "PATH=/usr/bin:/bin";
    char *const environment[] = {locale, path, NULL};
    posix_spawnattr_t attributes;
    sigset_t heard;
    sigemptyset(&heard);
    for (size_t i = 0; i < SMA_COUNT_OF(ENDING); i++)
        sigaddset(&heard, ENDING[i]);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &heard);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int spawned = posix_spawnp(ret_child, argv[0], NULL, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    return spawned;
}

enum sma_err sma_archive_tar(char *const *argv, struct sma_error *error)
{
    pid_t child;
    int status = 0, spawned = spawn(argv, &child);
    if (spawned != 0)
        return sma_fail_os(error, spawned, "cannot run tar (package tar)");
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return sma_fail_os(error, errno, "cannot wait for tar");
    if (WIFEXITED(status) && WEXITSTATUS(status) <= TAR_FILES_CHANGED)
        return SMA_ERR_OK;
    return sma_fail(error, SMA_ERR_IO, "tar has failed; its lines above say why");
}
