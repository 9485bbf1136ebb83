/*
 * backup.c — `shipmyagent backup FILE [FOLDER]`: a project in one file, also while it is served.
 *
 * state.db is copied first, as it is at one moment; the rest is read after it. History files may so
 * be newer than the database, never older: that is what a crash leaves, too, and a start mends it.
 */
#include "archive.h"
#include "cli.h"
#include "commands.h"
#include "runtime/chat/state_keep.h"
#include "sma/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENT_COUNT_MAX 4096
#define COPY_NAME ".state.db-of-this-backup" /* beside it: not a name that the folder may have */

struct backup
{
    const char *file;
    char folder[PATH_MAX]; /* absolute: tar takes a second -C from the first one */
    bool takes_all, takes_logs, is_forced;
    struct sma_stage stage;
    char archive[PATH_MAX], state[PATH_MAX], copy[PATH_MAX];
    char left_out[2][PATH_MAX]; /* the archive, and the folder beside it, as in the project */
    char *argv[ARGUMENT_COUNT_MAX];
    size_t argc;
    bool has_too_many;
};

static void put(struct backup *backup, const char *word)
{
    backup->has_too_many |= backup->argc + 1 == ARGUMENT_COUNT_MAX;
    if (!backup->has_too_many)
        backup->argv[backup->argc++] = (char *)(uintptr_t)word;
}

static bool is_there(const struct backup *backup, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    int len = snprintf(path, sizeof path, "%s/%s", backup->folder, name);
    return len > 0 && (size_t)len < sizeof path && lstat(path, &status) == 0;
}

/* What the program reads in a project; the rest of the folder is its owner's. */
static void put_own_names(struct backup *backup)
{
    static const char *const names[] = {"Agent.md", "ship.json", ".env", ".ship"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (is_there(backup, names[i]))
            put(backup, names[i]);
}

/* An archive is no part of itself, nor is what it is made of: where it lies in the project. */
static void leave_out(struct backup *backup, const char *path, char ret_name[PATH_MAX])
{
    char parent[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/'), *file = slash == NULL ? path : slash + 1;
    size_t len = slash == NULL ? 0 : (size_t)(slash - path) + 1, root = strlen(backup->folder);
    ret_name[0] = '\0';
    snprintf(parent, sizeof parent, "%.*s", (int)len, path);
    if (realpath(len == 0 ? "." : parent, real) == NULL || strncmp(real, backup->folder, root) != 0)
        return;
    const char *below = real + (root == 1 ? 0 : root);
    if (below[0] != '\0' && below[0] != '/')
        return; /* a neighbour whose name begins alike */
    below += below[0] == '/';
    int made = snprintf(ret_name, PATH_MAX, "%s%s%s", below, below[0] == '\0' ? "" : "/", file);
    if (made < 0 || made >= PATH_MAX)
        ret_name[0] = '\0';
}

static void put_left_out(struct backup *backup)
{
    leave_out(backup, backup->file, backup->left_out[0]);
    leave_out(backup, backup->stage.path, backup->left_out[1]);
    put(backup, "--no-wildcards");
    for (size_t i = 0; i < SMA_COUNT_OF(backup->left_out); i++)
        if (backup->left_out[i][0] != '\0') {
            put(backup, "--exclude");
            put(backup, backup->left_out[i]);
        }
}

static SMA_CHECKED enum sma_err put_all_names(struct backup *backup, struct dirent ***ret_names,
                                              int *ret_count, struct sma_error *error)
{
    *ret_count = scandir(backup->folder, ret_names, NULL, alphasort);
    if (*ret_count < 0)
        return sma_fail_os(error, errno, "cannot read %s", backup->folder);
    for (int i = 0; i < *ret_count; i++) {
        const char *name = (*ret_names)[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            put(backup, name);
    }
    return SMA_ERR_OK;
}

static void put_options(struct backup *backup, bool has_state)
{
    static const char *const words[] = {
        "tar", "--create", "--gzip", "--force-local", "--owner=root:0", "--group=root:0",
        "--anchored", "--warning=no-file-changed", "--warning=no-file-removed",
        "--warning=no-file-ignored",
        /* of the service that runs, and what its start makes anew */
        "--exclude=.ship/state.db*", "--exclude=.ship/lock", "--exclude=.ship/service.json",
        "--exclude=.ship/chat.sock",
        "--transform=s,^[.]state[.]db-of-this-backup$,.ship/state.db,SH"};
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        put(backup, words[i]);
    if (!backup->takes_logs)
        put(backup, "--exclude=.ship/logs");
    put_left_out(backup);
    put(backup, "--file");
    put(backup, backup->archive);
    if (has_state) {
        put(backup, "-C");
        put(backup, backup->stage.path);
        put(backup, COPY_NAME);
    }
    put(backup, "-C");
    put(backup, backup->folder);
    put(backup, "--"); /* names of files may begin with a dash */
}

static SMA_CHECKED enum sma_err write_archive(struct backup *backup, struct sma_error *error)
{
    struct dirent **names = NULL;
    int count = 0;
    bool has_state = access(backup->state, F_OK) == 0;
    enum sma_err err = SMA_ERR_OK;
    if (has_state)
        err = sma_state_snapshot(backup->state, backup->copy, error);
    if (err == SMA_ERR_OK)
        put_options(backup, has_state);
    if (err == SMA_ERR_OK && backup->takes_all)
        err = put_all_names(backup, &names, &count, error);
    else if (err == SMA_ERR_OK)
        put_own_names(backup);
    if (err == SMA_ERR_OK && backup->has_too_many)
        err = sma_fail(error, SMA_ERR_TOOBIG,
                       "%s holds more than %d files and folders; without "
                       "--all only the program's own are taken",
                       backup->folder, ARGUMENT_COUNT_MAX);
    if (err == SMA_ERR_OK)
        err = sma_archive_tar(backup->argv, error);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return err;
}

/* On the disk, and only then under its name. */
static SMA_CHECKED enum sma_err put_in_place(const struct backup *backup, off_t *ret_bytes,
                                             struct sma_error *error)
{
    struct stat status;
    int fd = open(backup->archive, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot open %s", backup->archive);
    bool is_synced = fchmod(fd, 0600) == 0 && fsync(fd) == 0 && fstat(fd, &status) == 0;
    int why = errno;
    (void)close(fd); /* what was written is synced */
    if (!is_synced)
        return sma_fail_os(error, why, "cannot write %s", backup->archive);
    *ret_bytes = status.st_size;
    if (rename(backup->archive, backup->file) != 0)
        return sma_fail_os(error, errno, "cannot make %s", backup->file);
    return sma_sys_sync_parent(sma_sys_real(), backup->file, error);
}

/* A link would be kept and not what it leads to: a backup without its histories, which is noticed
 * when it is needed. */
static SMA_CHECKED enum sma_err refuse_links(const struct backup *backup, struct sma_error *error)
{
    static const char *const names[] = {".ship", ".ship/chats", ".ship/state.db", ".ship/.cache"};
    char path[PATH_MAX];
    struct stat status;
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        int len = snprintf(path, sizeof path, "%s/%s", backup->folder, names[i]);
        if (len > 0 && (size_t)len < sizeof path && lstat(path, &status) == 0 &&
            S_ISLNK(status.st_mode))
            return sma_fail(error, SMA_ERR_UNSUPPORTED,
                            "%s is a link, and what it leads to would not be in the backup: put "
                            "the folder itself there (a bind mount does, too), or stop the service "
                            "and copy the project with cp -aL",
                            path);
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err check(const struct backup *backup, struct sma_error *error)
{
    struct stat status;
    if (!is_there(backup, "Agent.md") && !is_there(backup, "ship.json"))
        return sma_fail(error, SMA_ERR_NOTFOUND,
                        "%s has neither Agent.md nor ship.json: is it a project?", backup->folder);
    if (lstat(backup->file, &status) != 0)
        return SMA_ERR_OK;        /* what else is wrong with it is seen when it is made */
    if (!S_ISREG(status.st_mode)) /* /dev/stdout and /dev/null would be replaced, not written */
        return sma_fail(error, SMA_ERR_EXISTS, "%s is not a file: name one that can be replaced",
                        backup->file);
    if (!backup->is_forced)
        return sma_fail(error, SMA_ERR_EXISTS, "%s is there already; --force replaces it",
                        backup->file);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err run(struct backup *backup, struct sma_error *error)
{
    off_t bytes = 0;
    SMA_TRY(check(backup, error));
    SMA_TRY(refuse_links(backup, error));
    (void)umask(077); /* it holds keys and what people said */
    SMA_TRY(sma_stage_make(backup->file, &backup->stage, error));
    int len = snprintf(backup->state, sizeof backup->state, "%s/.ship/state.db", backup->folder);
    bool fits = len > 0 && (size_t)len < sizeof backup->state &&
                sma_stage_path(&backup->stage, "archive", backup->archive) &&
                sma_stage_path(&backup->stage, COPY_NAME, backup->copy);
    enum sma_err err =
        fits ? write_archive(backup, error)
             : sma_fail(error, SMA_ERR_TOOBIG, "the path %.60s... is too long", backup->folder);
    if (err == SMA_ERR_OK)
        err = put_in_place(backup, &bytes, error);
    sma_stage_remove(&backup->stage);
    if (err == SMA_ERR_OK)
        printf("%s: %.1f MB, with its keys and everything that was said: keep it as safe as the "
               "project.\n%s",
               backup->file, (double)bytes / 1e6,
               backup->takes_all ? ""
                                 : "Agent.md, ship.json, .env and .ship are in it; other files of "
                                   "the folder with --all.\n");
    return err;
}

static int sma_cli_backup(int argc, char **argv)
{
    static struct backup backup; /* too large for a stack */
    struct sma_error error = {0};
    int option;
    while ((option = sma_cli_option(&sma_cli_command_backup, argc, argv)) != -1) {
        backup.takes_all |= option == 'a';
        backup.takes_logs |= option == 'l';
        backup.is_forced |= option == 'f';
        if (option == '?')
            return 1;
    }
    if (optind == argc || argc - optind > 2)
        return sma_cli_fail("backup: name the file to make, and perhaps the folder of the project; "
                            "see `shipmyagent help backup`");
    backup.file = argv[optind];
    const char *folder = optind + 1 < argc ? argv[optind + 1] : ".";
    if (realpath(folder, backup.folder) == NULL)
        return sma_cli_fail("backup: cannot open %s: %s", folder, strerror(errno));
    return run(&backup, &error) == SMA_ERR_OK ? 0 : sma_cli_fail("backup: %s", error.text);
}

const struct sma_cli_command sma_cli_command_backup = {
    .name = "backup",
    .run = sma_cli_backup,
    .place = "FILE [FOLDER]",
    .summary = "the project in one file, also while it is served",
    .usage = "shipmyagent backup FILE [FOLDER] [options]\n",
    .options =
        (const struct sma_cli_command_option[]){
            {"all", 'a', .text = "the whole folder, not only what belongs to the program"},
            {"logs", 'l', .text = "with .ship/logs"},
            {"force", 'f', .text = "replace FILE when it is there"},
            {0}},
    .text = "Agent.md, ship.json, .env and .ship in a tar.gz: conversations, permissions, people, "
            "open questions.\n"
            "It holds keys, so only you may read it. `shipmyagent restore FILE FOLDER` makes a "
            "project of it.\n"
            "Exit status 0: done; 1: not done, and FILE is as it was.\n",
    .first = SMA_VALUE_FILE,
    .second = SMA_VALUE_FOLDER,
};
