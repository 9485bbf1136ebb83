/*
 * sandbox_owner.c — what only an owner may change is read-only for commands that no owner has
 * agreed to.
 *
 * The policy judges what can be told from a command's text; what a program does by itself ends at
 * these mounts. In the project's folder every file of owner_files.h; of a repository its hooks
 * (also where core.hooksPath puts them) and its configuration, while commits still work; of scripts
 * that rules run their folder, or the script alone where it lies in the project's folder; what
 * ship.json and the servers of mcp.json make decisive (decisive.h).
 * Not kept: what does not exist yet, and recipes deeper in the tree; nor, where a server without
 * walls may load all of the project, files below its folders.
 */
#include "runtime/decisive/decisive.h"
#include "runtime/policy/owner_files.h"
#include "runtime/policy/policy.h"
#include "runtime/secrets/secret_files.h"
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
    size_t left;       /* so many more */
    bool is_top_known; /* what lies right in the folder is kept: only what is named elsewhere */
    struct sma_error *error;
};

static bool is_inside(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}

enum bound
{
    BOUND_NOT,
    BOUND_WRITABLE,
    BOUND_OTHERWISE /* read-only, empty or in memory: nothing below it can be moved */
};

/* What is mounted last counts. */
static enum bound find_bound(const struct sma_sandbox_plan *plan, const char *path)
{
    for (size_t i = plan->argument_count; i-- > 0;)
        if (strcmp(plan->arguments[i], path) == 0)
            return i >= 2 && strcmp(plan->arguments[i - 2], "--bind") == 0 ? BOUND_WRITABLE
                                                                           : BOUND_OTHERWISE;
    return BOUND_NOT;
}

void sandbox_pin_above(struct sma_sandbox_plan *plan, const char *project_dir, const char *path)
{
    char folder[PATH_MAX];
    bool is_writable = true; /* by the nearest mount above: .git may be where the project is not */
    (void)snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder + strlen(project_dir); slash != NULL;
         *slash = '/', slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        enum bound bound = find_bound(plan, folder);
        if (bound != BOUND_NOT)
            is_writable = bound == BOUND_WRITABLE;
        else if (is_writable)
            sandbox_pin(plan, folder);
    }
}

/* `name` of the project, as somebody wrote it: a mount of "project/./x" would cover those of the
 * whole project. A link is left alone: what it leads to is another file. */
static enum sma_err keep(struct keeping *keeping, const char *name)
{
    char path[PATH_MAX], clean[PATH_MAX];
    struct stat facts;
    if (!sma_decisive_clean(keeping->project_dir, name, clean) || clean[0] == '\0' ||
        snprintf(path, sizeof path, "%s/%s", keeping->project_dir, clean) >= (int)sizeof path ||
        lstat(path, &facts) != 0 || (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)))
        return SMA_ERR_OK;
    if (keeping->left == 0) /* else decoys would push the others out of the list */
        return SMA_ERR_FULL;
    keeping->left--;
    sandbox_pin_above(keeping->plan, keeping->project_dir, path);
    return sandbox_keep(keeping->plan, path, keeping->error);
}

/* -- the repository ---------------------------------------------------------------------------- */
/* Each value of core.hooksPath that settings say plainly. */
static enum sma_err keep_hooks(struct keeping *keeping, const char *name)
{
    char path[PATH_MAX], text[CONFIG_BYTES_MAX + 1];
    int fd = snprintf(path, sizeof path, "%s/%s", keeping->project_dir, name) < (int)sizeof path
                 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                 : -1;
    ssize_t len = fd < 0 ? -1 : read(fd, text, CONFIG_BYTES_MAX);
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    for (char *at = text; (at = strcasestr(at, "hookspath")) != NULL;) {
        at += strlen("hookspath") + strspn(at + strlen("hookspath"), " \t");
        if (*at != '=')
            continue;
        if (sma_secret_files_value(at + 1, path) > 0)
            SMA_TRY(keep(keeping, path));
    }
    return SMA_ERR_OK;
}

/* What settings include. Where that is not a plain file, which a mount could keep, nothing of the
 * project is written. */
static enum sma_err keep_included(struct keeping *keeping, const char *name)
{
    char path[PATH_MAX];
    struct stat facts;
    bool is_plain =
        snprintf(path, sizeof path, "%s/%s", keeping->project_dir, name) < (int)sizeof path &&
        lstat(path, &facts) == 0 && S_ISREG(facts.st_mode);
    bool is_shut = keeping->plan->is_read_only && !is_inside(name, ".git");
    if (!is_plain && keeping->plan->is_read_only && !is_shut)
        return sma_fail(
            keeping->error, SMA_ERR_UNSUPPORTED,
            "Not run: the settings of git include %s, which is no plain file: a command "
            "could put another in its place.",
            path);
    if (!is_plain && !is_shut)
        return SMA_ERR_FULL;
    return is_shut ? SMA_ERR_OK : keep(keeping, name);
}

static enum sma_err keep_repository(struct keeping *keeping, const struct sma_config *config)
{
    char git[PATH_MAX], hooks[PATH_MAX];
    struct stat facts;
    if (snprintf(git, sizeof git, "%s/.git", keeping->project_dir) >= (int)sizeof git ||
        snprintf(hooks, sizeof hooks, "%s/.git/hooks", keeping->project_dir) >= (int)sizeof hooks ||
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
    SMA_TRY(keep_hooks(keeping, ".git/config"));
    SMA_TRY(keep_hooks(keeping, ".git/config.worktree"));
    for (size_t i = 0; i < config->decisive_count; i++)
        if (config->decisive[i].is_setting) {
            SMA_TRY(keep_included(keeping, config->decisive[i].path));
            SMA_TRY(keep_hooks(keeping, config->decisive[i].path));
        } else if (config->decisive[i].is_of_git && is_inside(config->decisive[i].path, ".git")) {
            SMA_TRY(keep(keeping, config->decisive[i].path));
        }
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
    DIR *dir = keeping->is_top_known ? NULL : opendir(keeping->project_dir);
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
        if (script == NULL || !sma_decisive_clean(keeping->project_dir, script, path))
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

/* What ship.json names, and what MCP servers run and load. */
static enum sma_err keep_decisive(struct keeping *keeping, const struct sma_config *config)
{
    for (size_t i = 0; i < config->decisive_count; i++) {
        const struct sma_decisive *item = &config->decisive[i];
        char path[PATH_MAX];
        bool is_kept = item->path[0] == '\0' || item->is_unwalled || item->is_setting ||
                       snprintf(path, sizeof path, "%s/%s", keeping->project_dir, item->path) >=
                           (int)sizeof path;
        for (size_t k = 0; k < keeping->plan->guard_count && !is_kept; k++) {
            const char *known = keeping->plan->guards[k].path;
            is_kept = strcmp(path, known) == 0 || is_inside(path, known);
        }
        if (!is_kept)
            SMA_TRY(keep(keeping, item->path));
    }
    return SMA_ERR_OK;
}

/* Where a server without walls may load all of the project: what lies right in its folder, but
 * data. As far as the list goes; what is not kept is told where such a server is started. */
static enum sma_err keep_files_of_top(struct keeping *keeping, const struct sma_config *config)
{
    bool is_open = false;
    for (size_t i = 0; !keeping->is_top_known && i < config->decisive_count && !is_open; i++)
        is_open = config->decisive[i].server != NULL &&
                  sma_decisive_is_open(config, config->decisive[i].server);
    DIR *dir = is_open ? opendir(keeping->project_dir) : NULL;
    enum sma_err err = SMA_ERR_OK;
    if (dir == NULL)
        return SMA_ERR_OK;
    for (struct dirent *entry;
         err == SMA_ERR_OK && keeping->left > 0 && (entry = readdir(dir)) != NULL;) {
        char path[PATH_MAX];
        bool is_kept = entry->d_type != DT_REG || is_seen_to(entry->d_name) ||
                       sma_decisive_is_data(sma_str(entry->d_name)) ||
                       snprintf(path, sizeof path, "%s/%s", keeping->project_dir, entry->d_name) >=
                           (int)sizeof path;
        for (size_t i = 0; i < keeping->plan->guard_count && !is_kept; i++)
            is_kept = strcmp(keeping->plan->guards[i].path, path) == 0;
        if (!is_kept)
            err = keep(keeping, entry->d_name);
    }
    closedir(dir);
    return err;
}

static enum sma_err keep_each(struct keeping *keeping, const struct sma_config *config,
                              const struct sma_policy *policy)
{
    SMA_TRY(keep_repository(keeping, config));
    SMA_TRY(keep_top(keeping));
    SMA_TRY(keep_skills(keeping, config));
    SMA_TRY(keep_decisive(keeping, config));
    if (policy != NULL)
        SMA_TRY(keep_scripts(keeping, policy));
    return keep_files_of_top(keeping, config);
}

/* Too many for mounts of their own: none of the project is written then, but the repository, so
 * that commits still work. */
static enum sma_err keep_whole(struct keeping *keeping, const struct sma_config *config)
{
    keeping->plan->is_read_only = true;
    keeping->left = SANDBOX_KEPT_COUNT_MAX;
    sandbox_add_all(keeping->plan,
                    (const char *const[]){"--remount-ro", keeping->project_dir, NULL});
    return keep_repository(keeping, config);
}

enum sma_err sandbox_keep_owner_files(struct sma_sandbox_plan *plan,
                                      const struct sma_config *config,
                                      const struct sma_policy *policy, bool is_top_known,
                                      struct sma_error *error)
{
    struct keeping keeping = {.plan = plan,
                              .project_dir = config->project_dir,
                              .left = SANDBOX_KEPT_COUNT_MAX,
                              .is_top_known = is_top_known,
                              .error = error};
    size_t argument_count = plan->argument_count, guard_count = plan->guard_count;
    enum sma_err err = keep_each(&keeping, config, policy);
    if (err != SMA_ERR_FULL)
        return err;
    sandbox_cut(plan, argument_count, guard_count);
    return keep_whole(&keeping, config);
}
