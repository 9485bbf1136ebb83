/*
 * restore.c — `shipmyagent restore FILE FOLDER`: a project from what `backup` has made. It is
 * unpacked and looked at beside the folder, and only then is there.
 */
#include "archive.h"
#include "cli.h"
#include "commands.h"
#include "runtime/chat/state_keep.h"
#include "sma/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct restore
{
    const char *file, *folder;
    struct sma_stage stage;
};

static bool is_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;
    if (dir == NULL)
        return false;
    while ((entry = readdir(dir)) != NULL)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(dir); /* was only read */
    return count == 0;
}

static SMA_CHECKED enum sma_err check_place(const struct restore *restore, struct sma_error *error)
{
    if (access(restore->file, R_OK) != 0)
        return sma_fail_os(error, errno, "cannot read %s", restore->file);
    struct stat status;
    if (lstat(restore->folder, &status) != 0)
        return errno == ENOENT ? SMA_ERR_OK
                               : sma_fail_os(error, errno, "cannot look at %s", restore->folder);
    if (is_empty(restore->folder))
        return SMA_ERR_OK; /* the new one takes its place */
    return sma_fail(error, SMA_ERR_EXISTS,
                    "%s is there already; name a folder that is not, or move it away",
                    restore->folder);
}

static SMA_CHECKED enum sma_err unpack(const struct restore *restore, struct sma_error *error)
{
    /* who is in the archive does not matter here, and rights are the umask's */
    const char *argv[] = {"tar",
                          "--extract",
                          "--force-local", /* a colon in its name is no other machine's */
                          "--no-same-owner",
                          "--no-same-permissions",
                          "--file",
                          restore->file,
                          "-C",
                          restore->stage.path,
                          NULL};
    return sma_archive_tar((char *const *)(uintptr_t)argv, error);
}

/* -- what was unpacked ------------------------------------------------------------------------- */
#define FOLDERS_OPEN_MAX 16

static char unfit[PATH_MAX]; /* nftw hands nothing on */
static size_t stage_len;

/* In .ship the program writes: a link there would let it write elsewhere, a pipe let it wait. The
 * rest is the owner's, who may have links; but no backup makes a device, and root's tar would. */
static int find_unfit(const char *path, const struct stat *status, int kind, struct FTW *level)
{
    static const char state[] = "/.ship";
    const char *below = path + stage_len;
    char end = strncmp(below, state, sizeof state - 1) == 0 ? below[sizeof state - 1] : 'x';
    bool is_state = end == '\0' || end == '/';
    bool is_plain = S_ISREG(status->st_mode) || S_ISDIR(status->st_mode);
    bool is_device = S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode);
    bool is_folder_wanted = end == '\0' && !S_ISDIR(status->st_mode);
    (void)kind;
    (void)level;
    if (!is_device && !is_folder_wanted && (is_plain || !is_state))
        return 0;
    snprintf(unfit, sizeof unfit, "%s", below + 1);
    return 1;
}

static SMA_CHECKED enum sma_err check_kinds(const struct restore *restore, struct sma_error *error)
{
    stage_len = strlen(restore->stage.path);
    int found = nftw(restore->stage.path, find_unfit, FOLDERS_OPEN_MAX, FTW_PHYS);
    if (found < 0)
        return sma_fail_os(error, errno, "cannot look through %s", restore->stage.path);
    return found == 0
               ? SMA_ERR_OK
               : sma_fail(error, SMA_ERR_BADINPUT,
                          "%s holds a link, pipe or device where only files and folders may be: "
                          "%.200s",
                          restore->file, unfit);
}

static bool is_kind(const struct restore *restore, const char *name, mode_t kind)
{
    char path[PATH_MAX];
    struct stat status;
    return sma_stage_path(&restore->stage, name, path) && lstat(path, &status) == 0 &&
           (status.st_mode & S_IFMT) == kind;
}

static SMA_CHECKED enum sma_err look(const struct restore *restore, struct sma_error *error)
{
    char path[PATH_MAX];
    if (!is_kind(restore, "Agent.md", S_IFREG) && !is_kind(restore, "ship.json", S_IFREG))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s holds neither Agent.md nor ship.json: it is not a backup of a project",
                        restore->file);
    SMA_TRY(check_kinds(restore, error));
    if (!sma_stage_path(&restore->stage, ".ship/state.db", path))
        return sma_fail(error, SMA_ERR_TOOBIG, "the path %.60s... is too long", restore->folder);
    if (access(path, F_OK) != 0)
        return SMA_ERR_OK; /* of a project that was never started */
    if (!is_kind(restore, ".ship/state.db", S_IFREG))
        return sma_fail(error, SMA_ERR_BADINPUT, "%s: .ship/state.db is not a file", restore->file);
    return sma_state_check(path, error);
}

static SMA_CHECKED enum sma_err put_in_place(const struct restore *restore, struct sma_error *error)
{
    int fd = open(restore->stage.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_synced = fd >= 0 && syncfs(fd) == 0;
    int why = errno;
    if (fd >= 0)
        (void)close(fd); /* what was written is synced */
    if (!is_synced)
        return sma_fail_os(error, why, "cannot write %s", restore->stage.path);
    if (rename(restore->stage.path, restore->folder) != 0)
        return sma_fail_os(error, errno, "cannot make %s", restore->folder);
    return sma_sys_sync_parent(sma_sys_real(), restore->folder, error);
}

static SMA_CHECKED enum sma_err run(struct restore *restore, struct sma_error *error)
{
    SMA_TRY(check_place(restore, error));
    (void)umask(077);
    SMA_TRY(sma_stage_make(restore->folder, &restore->stage, error));
    enum sma_err err = unpack(restore, error);
    if (err == SMA_ERR_OK)
        err = look(restore, error);
    if (err == SMA_ERR_OK)
        err = put_in_place(restore, error);
    if (err != SMA_ERR_OK)
        sma_stage_remove(&restore->stage);
    return err;
}

static int sma_cli_restore(int argc, char **argv)
{
    struct restore restore = {0};
    struct sma_error error = {0};
    if (sma_cli_option(&sma_cli_command_restore, argc, argv) != -1)
        return 1;
    if (argc - optind != 2)
        return sma_cli_fail("restore: name the backup and the folder to make; see `shipmyagent "
                            "help restore`");
    restore.file = argv[optind];
    restore.folder = argv[optind + 1];
    if (run(&restore, &error) != SMA_ERR_OK)
        return sma_cli_fail("restore: %s", error.text);
    printf("%s is as it was when the backup was made. Stop the old service before you start this "
           "one: both would answer.\n",
           restore.folder);
    return 0;
}

const struct sma_cli_command sma_cli_command_restore = {
    .name = "restore",
    .run = sma_cli_restore,
    .place = "FILE FOLDER",
    .summary = "make a project of a backup",
    .usage = "shipmyagent restore FILE FOLDER\n",
    .text = "Unpacks what `backup` has made into FOLDER, which must not be there or be empty, and "
            "checks it first.\n"
            "Never serve the same bot from two folders. Exit status 0: done; 1: not done, nothing "
            "was made.\n",
    .first = SMA_VALUE_FILE,
    .second = SMA_VALUE_FOLDER,
};
