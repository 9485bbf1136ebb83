/* archive.c — see archive.h. */
#include "archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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

/* -- what was left ----------------------------------------------------------------------------- */
#define LETTER_COUNT 6

static bool has_mark(const char *name)
{
    size_t len = strlen(name), mark = sizeof SMA_STAGE_MARK - 1;
    return len > mark + LETTER_COUNT &&
           memcmp(name + len - LETTER_COUNT - mark, SMA_STAGE_MARK, mark) == 0;
}

bool sma_stage_is_left(const char *path)
{
    struct stat status;
    if (!has_mark(path))
        return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is_left = fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
                   (status.st_mode & 077) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                   status.st_mtime + SMA_STAGE_LEFT_S <= time(NULL);
    if (fd >= 0)
        (void)close(fd); /* was only looked at */
    return is_left;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    (void)remove(path); /* what stays makes its folder stay, which is seen */
    return 0;
}

/* Of what is made now: PARENT/NAME.unfinished-XXXXXX. */
static void remove_left(const char *beside, size_t len)
{
    char parent[PATH_MAX], path[PATH_MAX];
    size_t at = len;
    while (at > 0 && beside[at - 1] != '/')
        at--;
    size_t name_len = len - at;
    if (snprintf(parent, sizeof parent, "%.*s", (int)at, beside) >= PATH_MAX)
        return;
    DIR *folder = opendir(at == 0 ? "." : parent);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        bool is_its = strlen(name) == name_len + sizeof SMA_STAGE_MARK - 1 + LETTER_COUNT &&
                      memcmp(name, beside + at, name_len) == 0;
        if (is_its && snprintf(path, sizeof path, "%s%s", parent, name) < PATH_MAX &&
            sma_stage_is_left(path))
            (void)nftw(path, remove_one, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
    }
    if (folder != NULL)
        (void)closedir(folder); /* was only read */
}

enum sma_err sma_stage_make(const char *beside, struct sma_stage *ret_stage,
                            struct sma_error *error)
{
    size_t len = strlen(beside);
    while (len > 1 && beside[len - 1] == '/')
        len--;
    int made = snprintf(ret_stage->path, sizeof ret_stage->path, "%.*s" SMA_STAGE_MARK "XXXXXX",
                        (int)len, beside);
    if (made < 0 || (size_t)made >= sizeof ret_stage->path)
        return sma_fail(error, SMA_ERR_TOOBIG, "the path %.60s... is too long", beside);
    remove_left(beside, len);
    if (mkdtemp(ret_stage->path) == NULL)
        return sma_fail_os(error, errno, "cannot make a folder beside %s", beside);
    /* tar has it, too: what it still writes is not taken away below it */
    ret_stage->lock_fd = open(ret_stage->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (ret_stage->lock_fd >= 0)
        (void)flock(ret_stage->lock_fd, LOCK_SH); /* new: nobody has it for longer than a look */
    answer_signals(SIG_IGN);
    return SMA_ERR_OK;
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
