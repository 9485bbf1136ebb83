/*
 * doctor_walls.c — what walls cannot help against, or keep out though it is wanted: a service that
 * is root, files of the project that lie elsewhere under a second name, programs in folders that
 * commands do not see.
 */
#include "doctor_priv.h"

#include "runtime/exec/exec_options.h"
#include "runtime/exec/sandbox.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- root -------------------------------------------------------------------------------------- */
/* Whose .ship is, is who the service runs as; one that never ran will be who starts it. */
static void look_for_root(struct doctor *doctor)
{
    struct stat facts;
    bool is_known = lstat(doctor->config->state_dir, &facts) == 0;
    if (is_known ? facts.st_uid != 0 : geteuid() != 0)
        return;
    doctor_say(&doctor->report, SMA_PROBE_WARNING, "user",
               "give the folder to a user of its own (useradd --system --create-home agent; chown "
               "-R agent FOLDER) and run the service as that one: User= of the unit",
               "the service runs as root: whatever gets out of the sandbox, or is run without it, "
               "has the whole machine");
}

/* -- folders that commands see ----------------------------------------------------------------- */
static void look_at_paths(struct doctor *doctor, const struct sma_exec_options *options)
{
    for (size_t i = 0; i < options->path_count; i++)
        if (access(options->paths[i], F_OK) != 0)
            doctor_say(&doctor->report, SMA_PROBE_WARNING, "sandbox",
                       "correct permissions.exec_shell.paths of ship.json",
                       "%.300s is to be shown to commands, and is not there", options->paths[i]);
}

static bool has_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t count = 0;
    while (dir != NULL && count <= 2 && readdir(dir) != NULL)
        count++; /* "." and ".." are two */
    if (dir != NULL)
        (void)closedir(dir);
    return count > 2;
}

/* Where people have programs of their own: nvm, pyenv, cargo, /opt. */
static void look_at_programs(struct doctor *doctor, const struct sma_exec_options *options)
{
    char folder[PATH_MAX], named[PATH_MAX];
    struct sma_buf list;
    sma_buf_init(&list, SMA_PROBE_TEXT_BYTES_MAX / 2);
    for (const char *at = getenv("PATH"); at != NULL && *at != '\0';) {
        size_t len = strcspn(at, ":");
        bool is_whole = len > 0 && len < sizeof folder && at[0] == '/';
        (void)snprintf(folder, sizeof folder, "%.*s", is_whole ? (int)len : 0, at);
        at += len + (at[len] == ':');
        if (!is_whole || !has_entries(folder) ||
            !sma_sandbox_hides(doctor->config, options, folder, named) ||
            (list.len > 0 && strstr(list.ptr, folder) != NULL)) /* once is enough */
            continue;
        sma_buf_printf(&list, "%s%s", list.len > 0 ? ", " : "", folder);
    }
    if (list.len > 0)
        doctor_say(&doctor->report, SMA_PROBE_OK, "programs", "",
                   "commands in the sandbox do not find what lies in %s%s; if they are to: "
                   "permissions.exec_shell.paths of ship.json",
                   list.ptr, list.err == SMA_ERR_OK ? "" : " ...");
    sma_buf_fini(&list);
}

/* -- hard links -------------------------------------------------------------------------------- */
#define LINK_COUNT_MAX 1024
#define LOOKED_AT_MAX 100000

/* A file with more names than the project has of it: who writes into it here, writes there. */
struct linked
{
    dev_t device;
    ino_t inode;
    nlink_t left; /* names that were not seen in the project */
    char *path;
};

/* nftw hands no pointer through; this is one thread. */
static struct
{
    struct linked items[LINK_COUNT_MAX];
    size_t count, looked_at;
    const char *git;
} links;

static int look_at_link(const char *path, const struct stat *facts, int type, struct FTW *walk)
{
    (void)walk;
    if (++links.looked_at > LOOKED_AT_MAX)
        return FTW_STOP;
    /* Objects are never written in place, and `git clone -l` shares them. */
    if (type == FTW_D && strcmp(path, links.git) == 0)
        return FTW_SKIP_SUBTREE;
    if (type != FTW_F || !S_ISREG(facts->st_mode) || facts->st_nlink < 2)
        return FTW_CONTINUE;
    for (size_t i = 0; i < links.count; i++) {
        struct linked *item = &links.items[i];
        if (item->device == facts->st_dev && item->inode == facts->st_ino) {
            item->left--;
            return FTW_CONTINUE;
        }
    }
    if (links.count == LINK_COUNT_MAX)
        return FTW_STOP;
    links.items[links.count++] = (struct linked){.device = facts->st_dev,
                                                 .inode = facts->st_ino,
                                                 .left = facts->st_nlink - 1,
                                                 .path = strdup(path)};
    return FTW_CONTINUE;
}

static void look_for_links(struct doctor *doctor)
{
    char git[PATH_MAX];
    const char *first = NULL;
    size_t count = 0;
    (void)snprintf(git, sizeof git, "%s/.git/objects", doctor->config->project_dir);
    links.count = links.looked_at = 0;
    links.git = git;
    int status = nftw(doctor->config->project_dir, look_at_link, 16,
                      FTW_PHYS | FTW_MOUNT | FTW_ACTIONRETVAL);
    for (size_t i = 0; i < links.count; i++)
        if (links.items[i].left > 0 && ++count == 1)
            first = links.items[i].path;
    if (count > 0)
        doctor_say(
            &doctor->report, SMA_PROBE_WARNING, "hard links",
            "copy those whose other name matters: cp FILE new && mv new FILE",
            "%zu file%s of the project %s a second name outside of it, like %.300s: a command "
            "that writes into one changes the file there%s",
            count, count == 1 ? "" : "s", count == 1 ? "has" : "have", first == NULL ? "?" : first,
            status == FTW_STOP ? " (not every file was looked at)" : "");
    for (size_t i = 0; i < links.count; i++)
        free(links.items[i].path);
}

void doctor_look_at_walls(struct doctor *doctor)
{
    struct sma_exec_options options;
    struct sma_error error;
    if (doctor->config == NULL)
        return;
    look_for_root(doctor);
    look_for_links(doctor);
    /* what cannot be read is told by the line about the sandbox */
    if (sma_exec_options_parse(doctor->config->permissions_json, doctor->config->project_dir,
                               &options, &error) != SMA_ERR_OK)
        return;
    if (options.is_possible && options.mode != SMA_SANDBOX_OFF) {
        look_at_paths(doctor, &options);
        look_at_programs(doctor, &options);
    }
    sma_exec_options_fini(&options);
}
