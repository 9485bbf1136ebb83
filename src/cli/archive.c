/* archive.c — see archive.h. */
#include "archive.h"

#include <errno.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDERS_OPEN_MAX 16
#define TAR_FILES_CHANGED 1 /* its exit status when a file was written while it was read */

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
}

bool sma_stage_path(const struct sma_stage *stage, const char *name, char ret_path[PATH_MAX])
{
    int len = snprintf(ret_path, PATH_MAX, "%s/%s", stage->path, name);
    return len > 0 && len < PATH_MAX;
}

enum sma_err sma_archive_tar(char *const *argv, struct sma_error *error)
{
    static char locale[] = "LC_ALL=C", path[] = "PATH=/usr/bin:/bin";
    char *const environment[] = {locale, path, NULL};
    pid_t child;
    int status = 0, spawned = posix_spawnp(&child, argv[0], NULL, NULL, argv, environment);
    if (spawned != 0)
        return sma_fail_os(error, spawned, "cannot run tar (package tar)");
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return sma_fail_os(error, errno, "cannot wait for tar");
    if (WIFEXITED(status) && WEXITSTATUS(status) <= TAR_FILES_CHANGED)
        return SMA_ERR_OK;
    return sma_fail(error, SMA_ERR_IO, "tar has failed; its lines above say why");
}
