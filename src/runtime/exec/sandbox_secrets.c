/*
 * sandbox_secrets.c — keys and logins are not there for commands, wherever they lie: what the one
 * table of names (secret_names.h) finds in the project and in folders that are shown besides.
 *
 * Mounted behind whatever else is there: what is read-only is hidden all the same.
 */
#include "runtime/secrets/secret_files.h"
#include "sandbox_priv.h"

#include "sma/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN_ENTRY_COUNT_MAX 5000 /* of a folder that the owner shows besides */
#define SETTINGS_BYTES_MAX ((size_t)2 * 1024 * 1024)

/* Nothing can be mounted into a folder that is empty already, and nothing of it is to be seen. */
static bool is_covered(const struct sma_sandbox_plan *plan, const char *project_dir,
                       const char *path)
{
    for (size_t i = 0; i + 1 < plan->argument_count; i++)
        if (strcmp(plan->arguments[i], "--remount-ro") == 0 &&
            sma_sandbox_is_inside(plan->arguments[i + 1], project_dir) &&
            sma_sandbox_is_inside(path, plan->arguments[i + 1]))
            return true;
    return false;
}

/* A link's target is hidden, the link itself is watched: bubblewrap mounts over what a path leads
 * to. Only below the project's folder: a command may make links as well, and none of them may
 * choose what of the machine is covered. */
void sandbox_hide(struct sma_sandbox_plan *plan, const char *project_dir, const char *empty,
                  const char *path)
{
    char real[PATH_MAX], real_dir[PATH_MAX];
    struct stat facts;
    if (realpath(path, real) == NULL || realpath(project_dir, real_dir) == NULL ||
        stat(real, &facts) != 0 || strcmp(real, real_dir) == 0 ||
        !sma_sandbox_is_inside(real, real_dir) || is_covered(plan, real_dir, real))
        return;
    if (S_ISDIR(facts.st_mode))
        sandbox_add_empty_folder(plan, real);
    else
        sandbox_add_bind(plan, "--ro-bind", empty, real);
}

static bool is_named_itself(const struct sma_exec_options *options, const char *path)
{
    for (size_t i = 0; i < options->path_count; i++)
        if (sma_sandbox_is_inside(options->paths[i], path))
            return true;
    return false;
}

struct hiding
{
    struct sma_sandbox_plan *plan;
    const struct sma_sandbox_limits *limits;
    const struct sma_exec_options *options;
    const struct sma_config *config;
    const char *dir;   /* the folder that is looked through */
    const char *alias; /* where it is shown as well; NULL: nowhere */
    char empty[PATH_MAX];
    bool is_project;
    size_t left;
    struct sma_error *error;
    enum sma_err err;
};

/* As a word, or behind the = of an option or a variable; absolute, or relative to the folder. */
static bool is_among(const char *const *texts, const char *folder, const char *path)
{
    size_t len = strlen(folder);
    const char *inner = strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : path;
    for (; texts != NULL && *texts != NULL; texts++) {
        const char *equals = strchr(*texts, '=');
        const char *names[] = {*texts, equals == NULL ? *texts : equals + 1};
        for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
            const char *name = names[i] + 2 * (strncmp(names[i], "./", 2) == 0);
            if (strcmp(name, path) == 0 || strcmp(name, inner) == 0)
                return true;
        }
    }
    return false;
}

/* A configuration without the lines with logins, as far as there are descriptors; else none. */
static void show_settings(struct hiding *hiding, const char *path, const struct sma_secret_row *row)
{
    struct sma_sandbox_plan *plan = hiding->plan;
    struct sma_buf text;
    plan->hides_login = true;
    int fd = plan->data_count == SMA_SANDBOX_DATA_COUNT_MAX
                 ? -1
                 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        if (sma_sandbox_is_inside(path, hiding->dir))
            sandbox_hide(plan, hiding->dir, hiding->empty, path);
        else
            sandbox_add_bind(plan, "--ro-bind", hiding->empty, path);
        return;
    }
    sma_buf_init(&text, SETTINGS_BYTES_MAX);
    if (sma_secret_file_show(fd, row, &text) != SMA_ERR_OK)
        plan->is_out_of_memory = true;
    close(fd);
    sandbox_add_all(plan, (const char *const[]){"--perms", "0444", NULL});
    sandbox_add_data(plan, "--ro-bind-data", sma_sandbox_data_open(text.ptr, text.len));
    sandbox_add(plan, path);
    sma_buf_fini(&text);
}

static uint64_t digest_path(const char *path)
{
    static const uint8_t key[16];
    return sma_siphash(key, path, strlen(path));
}

static bool is_env_of_top(const char *project_dir, const char *path)
{
    const char *name = path + strlen(project_dir) + 1;
    return strncasecmp(name, ".env", 4) == 0 && strchr(name, '/') == NULL;
}

/* Whatever names it and whoever has agreed. `.env` itself is hidden already (sandbox.c). */
static bool hide_env(struct hiding *hiding, const char *path)
{
    if (strcmp(path + strlen(hiding->dir), "/.env") == 0)
        return true;
    sandbox_hide(hiding->plan, hiding->dir, hiding->empty, path);
    hiding->err = sandbox_guard(hiding->plan, path, hiding->error);
    return hiding->err == SMA_ERR_OK;
}

static bool hide_secret(void *user, const char *path, const struct sma_secret_row *row,
                        bool is_folder_there)
{
    struct hiding *hiding = user;
    char real[PATH_MAX];
    if (hiding->left == 0)
        return false;
    hiding->left--;
    bool is_inside = sma_sandbox_is_inside(path, hiding->dir); /* else settings include it */
    if (hiding->is_project && is_inside) {
        hiding->plan->secrets[hiding->plan->secret_count++] = digest_path(path);
        if (is_env_of_top(hiding->dir, path))
            return hide_env(hiding, path);
    }
    bool shows_keys = hiding->is_project && hiding->limits->shows_keys;
    if (hiding->is_project && is_inside && !shows_keys && realpath(path, real) != NULL &&
        sma_sandbox_is_inside(real, hiding->dir))
        sandbox_pin_above(hiding->plan, hiding->dir, real);
    if (shows_keys || is_named_itself(hiding->options, path) ||
        is_among(hiding->limits->words, hiding->dir, path) ||
        is_among(hiding->limits->named, hiding->dir, path))
        return true;
    if (!is_inside) {
        if (sma_sandbox_shows(hiding->config, hiding->options, path))
            show_settings(hiding, path, row);
        return true;
    }
    if (row->is_login && realpath(path, real) != NULL && strcmp(path, real) == 0)
        show_settings(hiding, path, row);
    else
        sandbox_hide(hiding->plan, hiding->dir, hiding->empty, path);
    if (hiding->alias != NULL && snprintf(real, sizeof real, "%s%s", hiding->alias,
                                          path + strlen(hiding->dir)) < (int)sizeof real) {
        if (is_folder_there)
            sandbox_add_empty_folder(hiding->plan, real);
        else
            sandbox_add_bind(hiding->plan, "--ro-bind", hiding->empty, real);
    }
    return true;
}

/* Of a folder outside the project, as far as that goes: its owner has named it. */
static void hide_shown(struct hiding *hiding, const char *dir, const char *alias)
{
    hiding->is_project = false;
    hiding->dir = dir;
    hiding->alias = alias;
    hiding->left = SMA_SANDBOX_SECRET_COUNT_MAX;
    (void)sma_secret_files_find(dir, SHOWN_ENTRY_COUNT_MAX, false, hide_secret, hiding);
}

/* What no other folder has: the table of names (secret_names.h) knows the rest. Whoever shows HOME
 * for its programs does not mean the keys that lie beside them. */
static void hide_keys(const struct hiding *hiding, const struct sma_config *config)
{
    static const char of_home[] =
        ".config/gcloud .config/gh .config/op .config/chromium .config/google-chrome "
        ".config/rclone "
        ".config/doctl .config/hub .config/glab-cli .config/containers/auth.json "
        ".config/git/credentials .cargo/credentials .cargo/credentials.toml .gem/credentials "
        ".local/share/keyrings .mozilla .terraform.d .cache/huggingface/token .huggingface .claude "
        ".claude.json .codex .gemini .m2/settings.xml .gradle/gradle.properties .bash_history "
        ".zsh_history";
    const char *home = getenv("HOME");
    if (home == NULL || home[0] != '/')
        return;
    for (const char *at = of_home; *at != '\0';) {
        char path[PATH_MAX], real[PATH_MAX];
        int len = (int)(strchrnul(at, ' ') - at);
        int size = snprintf(path, sizeof path, "%s/%.*s", home, len, at);
        at += len + (at[len] == ' ');
        if (size >= (int)sizeof path || is_named_itself(hiding->options, path) ||
            !sma_sandbox_shows(config, hiding->options, path) || realpath(path, real) == NULL ||
            sma_sandbox_is_inside(config->project_dir, real) ||
            sma_sandbox_is_inside(real, config->project_dir))
            continue;
        if (sandbox_is_folder(real))
            sandbox_add_empty_folder(hiding->plan, real);
        else
            sandbox_add_bind(hiding->plan, "--ro-bind", hiding->empty, real);
    }
}

enum sma_err sandbox_hide_secrets(struct sma_sandbox_plan *plan, const struct sma_config *config,
                                  const struct sma_exec_options *options,
                                  const struct sma_sandbox_limits *limits, struct sma_error *error)
{
    struct hiding hiding = {.plan = plan,
                            .limits = limits,
                            .options = options,
                            .config = config,
                            .dir = config->project_dir,
                            .is_project = true,
                            .left = SMA_SANDBOX_SECRET_COUNT_MAX,
                            .error = error};
    if (!sandbox_join(hiding.empty, config->state_dir, SANDBOX_EMPTY))
        return sma_fail(error, SMA_ERR_TOOBIG, "the path of the project is too long");
    plan->is_cut = !sma_secret_files_find(config->project_dir, SMA_SECRET_FILES_ENTRY_COUNT_MAX,
                                          true, hide_secret, &hiding);
    if (hiding.err != SMA_ERR_OK)
        return hiding.err;
    if (plan->is_cut && !limits->is_agreed)
        return sma_fail(error, SMA_ERR_FULL,
                        "Not run unasked: the project has too many files (more than %d, or %d with "
                        "secrets) to hide all of its secrets from the command.",
                        SMA_SECRET_FILES_ENTRY_COUNT_MAX, SMA_SANDBOX_SECRET_COUNT_MAX);
    for (size_t i = 0; i < options->path_count; i++) {
        const char *real = options->real_paths[i], *named = options->paths[i];
        if (real != NULL)
            hide_shown(&hiding, real, strcmp(named, real) == 0 ? NULL : named);
    }
    for (size_t i = 0; i < limits->shown_count; i++) /* skills */
        hide_shown(&hiding, limits->shown[i], NULL);
    if (options->path_count > 0)
        hide_keys(&hiding, config);
    return SMA_ERR_OK;
}

/* -- later ------------------------------------------------------------------------------------- */
struct looking_for_new
{
    const struct sma_sandbox_plan *plan;
    const char *project_dir;
    char *ret_path;
};

static bool is_known(void *user, const char *path, const struct sma_secret_row *row, bool is_folder)
{
    const struct looking_for_new *looking = user;
    (void)row;
    (void)is_folder;
    if (!sma_sandbox_is_inside(path, looking->project_dir))
        return true; /* what the owner includes from elsewhere is his to change */
    uint64_t digest = digest_path(path);
    for (size_t i = 0; i < looking->plan->secret_count; i++)
        if (looking->plan->secrets[i] == digest)
            return true;
    (void)snprintf(looking->ret_path, PATH_MAX, "%s", path);
    return false;
}

/* Where not all of them could be hidden, no start hides more. */
bool sandbox_has_new_secret(const struct sma_sandbox_plan *plan, const char *project_dir,
                            char ret_path[PATH_MAX])
{
    struct looking_for_new looking = {
        .plan = plan, .project_dir = project_dir, .ret_path = ret_path};
    (void)snprintf(ret_path, PATH_MAX, "%s", project_dir); /* it has outgrown what is looked at */
    return !plan->is_cut && !sma_secret_files_find(project_dir, SMA_SECRET_FILES_ENTRY_COUNT_MAX,
                                                   true, is_known, &looking);
}
