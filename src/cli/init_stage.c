/* init_stage.c — see init_stage.h. */
#include "init_stage.h"

#include "sma/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where what is replaced waits. */
#define ASIDE "old"

static enum sma_err fail_errno(struct sma_error *error, const char *path)
{
    int number = errno;
    return sma_fail(error, number == ENOSPC || number == EDQUOT ? SMA_ERR_NOSPACE : SMA_ERR_IO,
                    "%s: %s", path, strerror(number));
}

static enum sma_err join(char *path, const char *folder, const char *name, struct sma_error *error)
{
    if (snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX)
        return SMA_ERR_OK;
    return sma_fail(error, SMA_ERR_TOOBIG, "%s/%s: the path is too long", folder, name);
}

/* -- begin ------------------------------------------------------------------------------------- */
static void block_signals(struct init_stage *stage)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigaddset(&ends, SIGQUIT);
    sigaddset(&ends, SIGTSTP);
    pthread_sigmask(SIG_BLOCK, &ends, &stage->mask_before);
}

/* Root, in a folder that somebody else can change under its hands. */
static enum sma_err become_owner(struct init_stage *stage, const char *there,
                                 struct sma_error *error)
{
    struct stat status;
    if (geteuid() != 0 || stat(there, &status) != 0 || status.st_uid == 0)
        return SMA_ERR_OK;
    const struct passwd *owner = getpwuid(status.st_uid);
    gid_t group = owner == NULL ? status.st_gid : owner->pw_gid;
    stage->group_count = getgroups(INIT_STAGE_GROUP_COUNT_MAX, stage->groups_before);
    if (stage->group_count < 0)
        return fail_errno(error, "groups");
    stage->is_other = true;
    if (setgroups(0, NULL) != 0 || setegid(group) != 0 || seteuid(status.st_uid) != 0)
        return fail_errno(error, there);
    return SMA_ERR_OK;
}

static void become_root(struct init_stage *stage)
{
    if (!stage->is_other)
        return;
    stage->is_other = false;
    /* It was allowed before; going on as somebody else would be wrong in what follows. */
    if (seteuid(0) != 0 || setegid(getgid()) != 0 ||
        setgroups((size_t)stage->group_count, stage->groups_before) != 0)
        abort();
}

/* The part of dir that is there: cut off before the first folder that is not. @return the rest */
static const char *split(const char *dir, char *there)
{
    struct stat status;
    const char *rest = dir + strlen(dir);
    snprintf(there, PATH_MAX, "%s", dir);
    while (there[0] != '\0' && stat(there, &status) != 0) {
        char *slash = strrchr(there, '/');
        size_t len = slash == NULL ? 0 : (size_t)(slash - there);
        rest = slash == NULL ? dir : dir + len + 1;
        there[slash == there ? 1 : len] = '\0';
        if (slash == there)
            break;
    }
    if (there[0] == '\0')
        snprintf(there, PATH_MAX, ".");
    return rest;
}

static enum sma_err place_new(struct init_stage *stage, const char *there, const char *rest,
                              struct sma_error *error)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "/"), rest);
    SMA_TRY(join(stage->root, stage->stage, rest, error));
    SMA_TRY(join(stage->first, stage->stage, name, error));
    SMA_TRY(join(stage->target, there, name, error));
    return sma_sys_make_shared_dirs(sma_sys_real(), stage->root, error);
}

static enum sma_err place_there(struct init_stage *stage, struct sma_error *error)
{
    char aside[PATH_MAX];
    SMA_TRY(join(stage->root, stage->stage, "new", error));
    SMA_TRY(join(aside, stage->stage, ASIDE, error));
    if (mkdir(stage->root, 0700) != 0 || mkdir(aside, 0700) != 0)
        return fail_errno(error, stage->stage);
    return SMA_ERR_OK;
}

/* A power cut may leave the folder, and the next `git add` would take the key in it. */
static enum sma_err hide_from_git(const struct init_stage *stage, struct sma_error *error)
{
    char path[PATH_MAX];
    SMA_TRY(join(path, stage->stage, ".gitignore", error));
    return sma_sys_write_file_unsynced(sma_sys_real(), path, SMA_STR("*\n"), 0600, error);
}

static enum sma_err make_folder(struct init_stage *stage, const char *there,
                                struct sma_error *error)
{
    SMA_TRY(join(stage->stage, there, ".ship-init-XXXXXX", error));
    if (mkdtemp(stage->stage) != NULL)
        return SMA_ERR_OK;
    stage->stage[0] = '\0';
    return fail_errno(error, there);
}

enum sma_err init_stage_begin(struct init_stage *stage, const char *dir, struct sma_error *error)
{
    char there[PATH_MAX], clean[PATH_MAX];
    *stage = (struct init_stage){.dir = dir};
    snprintf(clean, sizeof clean, "%s", dir);
    for (size_t len = strlen(clean); len > 1 && clean[len - 1] == '/'; len--)
        clean[len - 1] = '\0';
    const char *rest = split(clean, there);
    while (*rest == '/')
        rest++;
    stage->is_new = *rest != '\0';
    block_signals(stage);
    enum sma_err err = become_owner(stage, there, error);
    if (err == SMA_ERR_OK)
        err = make_folder(stage, there, error);
    if (err == SMA_ERR_OK)
        err = hide_from_git(stage, error);
    if (err == SMA_ERR_OK)
        err = stage->is_new ? place_new(stage, there, rest, error) : place_there(stage, error);
    if (err != SMA_ERR_OK)
        init_stage_end(stage);
    return err;
}

/* -- contents ---------------------------------------------------------------------------------- */
static enum sma_err add_item(struct init_stage *stage, const char *name, bool is_folder,
                             struct sma_error *error)
{
    if (stage->count == INIT_STAGE_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "%s: too many files", name);
    snprintf(stage->items[stage->count].name, sizeof stage->items[0].name, "%s", name);
    stage->items[stage->count++].is_folder = is_folder;
    return SMA_ERR_OK;
}

enum sma_err init_stage_add_folder(struct init_stage *stage, const char *name,
                                   struct sma_error *error)
{
    char path[PATH_MAX];
    SMA_TRY(add_item(stage, name, true, error));
    SMA_TRY(join(path, stage->root, name, error));
    return mkdir(path, 0700) == 0 ? SMA_ERR_OK : fail_errno(error, path);
}

enum sma_err init_stage_add_file(struct init_stage *stage, const char *name, struct sma_str text,
                                 mode_t mode, struct sma_error *error)
{
    char path[PATH_MAX];
    SMA_TRY(add_item(stage, name, false, error));
    SMA_TRY(join(path, stage->root, name, error));
    return sma_sys_write_file_atomic(sma_sys_real(), path, text, mode, error);
}

/* -- commit ------------------------------------------------------------------------------------ */
static enum sma_err move_folder(struct init_stage *stage, size_t index, const char *to,
                                struct sma_error *error)
{
    if (mkdir(to, 0700) == 0) {
        stage->items[index].is_made = true;
        return SMA_ERR_OK;
    }
    return errno == EEXIST ? SMA_ERR_OK : fail_errno(error, to);
}

static enum sma_err aside_path(const struct init_stage *stage, size_t index, char *path)
{
    int len = snprintf(path, PATH_MAX, "%s/" ASIDE "/%zu", stage->stage, index);
    return len < PATH_MAX ? SMA_ERR_OK : SMA_ERR_TOOBIG;
}

static enum sma_err move_file(struct init_stage *stage, size_t index, const char *to,
                              struct sma_error *error)
{
    char from[PATH_MAX], aside[PATH_MAX];
    struct stat status;
    SMA_CRASH_POINT("init.before_aside");
    SMA_TRY(join(from, stage->root, stage->items[index].name, error));
    SMA_TRY(aside_path(stage, index, aside));
    if (lstat(to, &status) == 0) {
        if (S_ISDIR(status.st_mode)) /* nobody means to lose what is in it */
            return sma_fail(error, SMA_ERR_IO, "%s is a folder", to);
        /* By a second name, so that whenever the power goes there is one file or the other. */
        if (link(to, aside) != 0 && rename(to, aside) != 0)
            return fail_errno(error, to);
        stage->items[index].is_put_aside = true;
    }
    SMA_CRASH_POINT("init.before_move");
    if (rename(from, to) != 0)
        return fail_errno(error, to);
    stage->items[index].is_made = true;
    return SMA_ERR_OK;
}

static enum sma_err move_one(struct init_stage *stage, size_t index, struct sma_error *error)
{
    char to[PATH_MAX];
    SMA_TRY(join(to, stage->dir, stage->items[index].name, error));
    return stage->items[index].is_folder ? move_folder(stage, index, to, error)
                                         : move_file(stage, index, to, error);
}

/* What was moved goes back, the last first. */
static void undo(struct init_stage *stage)
{
    char to[PATH_MAX], aside[PATH_MAX];
    for (size_t i = stage->count; i-- > 0;) {
        if (join(to, stage->dir, stage->items[i].name, NULL) != SMA_ERR_OK ||
            aside_path(stage, i, aside) != SMA_ERR_OK)
            continue; /* then it was not moved either */
        if (stage->items[i].is_put_aside && rename(aside, to) == 0)
            stage->items[i].is_put_aside = false;
        else if (stage->items[i].is_made)
            (void)(stage->items[i].is_folder ? rmdir(to) : unlink(to)); /* as much as can be */
        stage->items[i].is_made = false;
    }
}

enum sma_err init_stage_commit(struct init_stage *stage, struct sma_error *error)
{
    if (stage->is_new) {
        if (rename(stage->first, stage->target) != 0)
            return fail_errno(error, stage->target);
        return sma_sys_sync_parent(sma_sys_real(), stage->target, error);
    }
    char file[PATH_MAX];
    enum sma_err err = join(file, stage->dir, "ship.json", error);
    for (size_t i = 0; i < stage->count && err == SMA_ERR_OK; i++)
        err = move_one(stage, i, error);
    if (err == SMA_ERR_OK)
        return sma_sys_sync_parent(sma_sys_real(), file, error);
    undo(stage);
    return err;
}

/* -- end --------------------------------------------------------------------------------------- */
static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    (void)remove(path); /* the others all the same */
    return 0;
}

static bool holds_something_old(const struct init_stage *stage)
{
    for (size_t i = 0; i < stage->count; i++)
        if (stage->items[i].is_put_aside && !stage->items[i].is_made)
            return true;
    return false;
}

void init_stage_end(struct init_stage *stage)
{
    /* What could not be put back stays where it can be found. */
    if (stage->stage[0] != '\0' && !holds_something_old(stage))
        (void)nftw(stage->stage, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    become_root(stage);
    pthread_sigmask(SIG_SETMASK, &stage->mask_before, NULL);
}
