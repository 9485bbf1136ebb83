/*
 * sandbox_owner.c — what only an owner may change is read-only for commands that no owner has
 * agreed to.
 *
 * The policy judges what can be told from a command's text; what a program does by itself ends at
 * these mounts. In the project's folder every file of owner_files.h; of a repository its hooks
 * (also where core.hooksPath puts them) and its configuration, while commits still work; of scripts
 * that rules run their folder, or the script alone where it lies in the project's folder.
 * Not kept: what does not exist yet, and recipes deeper in the tree.
 */
#include "runtime/policy/owner_files.h"
#include "runtime/policy/policy.h"
#include "runtime/skills/places.h"
#include "sandbox_priv.h"
#include "sma/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_BYTES_MAX 65536

struct keeping
{
    struct sma_sandbox_plan *plan;
    const char *project_dir;
    size_t left; /* so many more */
    struct sma_error *error;
};

static bool is_inside(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}

/* `name` relative to the project. A link is left alone: what it leads to is another file. */
static enum sma_err keep(struct keeping *keeping, const char *name)
{
    char path[PATH_MAX];
    struct stat facts;
    int len = snprintf(path, sizeof path, "%s/%s", keeping->project_dir, name);
    if (len <= 0 || (size_t)len >= sizeof path || lstat(path, &facts) != 0 ||
        (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)))
        return SMA_ERR_OK;
    if (keeping->left == 0) /* else decoys would push the others out of the list */
        return sma_fail(keeping->error, SMA_ERR_TOOBIG,
                        "Not run: more than %d files of the project's owner (recipes, CI, hooks) "
                        "lie in its folder.",
                        SANDBOX_KEPT_COUNT_MAX);
    keeping->left--;
    return sandbox_keep(keeping->plan, path, keeping->error);
}

/* -- the repository ---------------------------------------------------------------------------- */
/* The value of core.hooksPath, when the configuration says it plainly. */
static bool find_hooks_path(const char *config, char *ret_path, size_t size)
{
    char text[CONFIG_BYTES_MAX + 1];
    int fd = open(config, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t len = fd < 0 ? -1 : read(fd, text, CONFIG_BYTES_MAX);
    if (fd >= 0)
        close(fd);
    if (len <= 0)
        return false;
    text[len] = '\0';
    const char *at = strcasestr(text, "hookspath");
    at = at == NULL ? NULL : at + strlen("hookspath") + strspn(at + strlen("hookspath"), " \t");
    if (at == NULL || *at != '=')
        return false;
    at += 1 + strspn(at + 1, " \t\"");
    size_t count = strcspn(at, "\"\r\n;#");
    while (count > 0 && (at[count - 1] == ' ' || at[count - 1] == '\t' || at[count - 1] == '/'))
        count--;
    if (count == 0 || count >= size || *at == '/' || strstr(at, "..") == at)
        return false;
    memcpy(ret_path, at, count);
    ret_path[count] = '\0';
    return true;
}

static enum sma_err keep_repository(struct keeping *keeping)
{
    char git[PATH_MAX], hooks[PATH_MAX], config[PATH_MAX], named[PATH_MAX];
    struct stat facts;
    if (snprintf(git, sizeof git, "%s/.git", keeping->project_dir) >= (int)sizeof git ||
        snprintf(hooks, sizeof hooks, "%s/.git/hooks", keeping->project_dir) >= (int)sizeof hooks ||
        snprintf(config, sizeof config, "%s/.git/config", keeping->project_dir) >=
            (int)sizeof config ||
        lstat(git, &facts) != 0)
        return SMA_ERR_OK;
    if (!S_ISDIR(facts.st_mode))
        return keep(keeping, ".git");
    sandbox_pin(keeping->plan, git); /* else it could be moved away, mounts and all */
    (void)mkdir(hooks, 0755);        /* there already, as a rule: then nobody else can make it */
    /* commondir names the folder whose configuration counts; worktrees and modules have their own
     * ones */
    static const char *const names[] = {".git/hooks",     ".git/config",    ".git/config.worktree",
                                        ".git/commondir", ".git/worktrees", ".git/modules"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        SMA_TRY(keep(keeping, names[i]));
    if (find_hooks_path(config, named, sizeof named))
        SMA_TRY(keep(keeping, named));
    return SMA_ERR_OK;
}

/* -- the project's folder ---------------------------------------------------------------------- */
/* What sandbox.c looks after itself, and .git as a whole. */
static bool is_seen_to(const char *name)
{
    return strncasecmp(name, ".env", 4) == 0 || strcasecmp(name, ".ship") == 0 ||
           strcasecmp(name, "ship.json") == 0 || strcasecmp(name, ".git") == 0;
}

static enum sma_err keep_top(struct keeping *keeping)
{
    DIR *dir = opendir(keeping->project_dir);
    enum sma_err err = SMA_ERR_OK;
    if (dir == NULL)
        return SMA_ERR_OK; /* sandbox.c has read it already, or says why it cannot */
    for (struct dirent *entry; err == SMA_ERR_OK && (entry = readdir(dir)) != NULL;)
        if (entry->d_type != DT_LNK && !is_seen_to(entry->d_name) &&
            sma_file_is_owner_only(sma_str(entry->d_name)))
            err = keep(keeping, entry->d_name);
    closedir(dir);
    return err;
}

static enum sma_err keep_scripts(struct keeping *keeping, const struct sma_policy *policy)
{
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; err == SMA_ERR_OK && i < sma_policy_allow_count(policy); i++) {
        char path[PATH_MAX];
        const char *script = sma_policy_script(policy, i);
        if (script == NULL || script[0] == '/' || strstr(script, "..") != NULL)
            continue;
        while (script[0] == '.' && script[1] == '/')
            script += 2;
        if (snprintf(path, sizeof path, "%s", script) >= (int)sizeof path)
            continue;
        char *slash = strrchr(path, '/');
        if (slash != NULL)
            *slash = '\0';
        bool is_known = false; /* one mount for the scripts of one folder */
        for (size_t k = 0; k < keeping->plan->guard_count && !is_known; k++) {
            const char *known = keeping->plan->guards[k].path;
            is_known = is_inside(known, keeping->project_dir) &&
                       strcmp(known + strlen(keeping->project_dir) + 1, path) == 0;
        }
        if (!is_known)
            err = keep(keeping, path);
    }
    return err;
}

/* Folders of skills.paths in the project: what lies there guides the agent. */
static enum sma_err keep_skills(struct keeping *keeping, const struct sma_config *config)
{
    char place[PATH_MAX];
    for (size_t i = 0; sma_skill_place(config, i, place, sizeof place); i++)
        if (place[0] != '\0')
            SMA_TRY(keep(keeping, place));
    return SMA_ERR_OK;
}

enum sma_err sandbox_keep_owner_files(struct sma_sandbox_plan *plan,
                                      const struct sma_config *config,
                                      const struct sma_policy *policy, struct sma_error *error)
{
    struct keeping keeping = {.plan = plan,
                              .project_dir = config->project_dir,
                              .left = SANDBOX_KEPT_COUNT_MAX,
                              .error = error};
    SMA_TRY(keep_repository(&keeping));
    SMA_TRY(keep_top(&keeping));
    SMA_TRY(keep_skills(&keeping, config));
    if (policy != NULL)
        SMA_TRY(keep_scripts(&keeping, policy));
    return SMA_ERR_OK;
}
