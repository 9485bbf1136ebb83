/*
 * sandbox.c — the arguments that put a command between walls.
 */
#include "sandbox.h"

#include "sandbox_priv.h"

#include "sma/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (4LL << 30)
#define ENV_PLACEHOLDER "# Empty: put here while commands run, so that none of them can make it.\n"
#define SHIP_PLACEHOLDER "{}\n"
#define COMMONDIR_PLACEHOLDER ".\n"

/* Around the command, in the sandbox: when it is over but has left processes behind, they get a
 * moment to finish before everything is ended with this shell. A trap is not inherited as one: the
 * command still dies of SIGTERM. */
static const char WAITING_SHELL[] =
    "trap : TERM INT HUP\n"
    "sh -c -- \"$1\" 4>&-\n"
    "c=$? n=0\n"
    "while set -- /proc/[0-9]*; [ $# -gt 2 ] && [ $n -lt 20 ]; do sleep 0.01; n=$((n + 1)); done\n"
    "[ $# -gt 2 ] && echo \"left $(($# - 2))\" >&4\n"
    "exit $c";

/* -- a list of arguments ----------------------------------------------------------------------- */
static void add(struct sma_sandbox_plan *plan, const char *text)
{
    if (plan->argument_count + 2 > plan->argument_capacity) {
        size_t capacity = plan->argument_capacity == 0 ? 64 : plan->argument_capacity * 2;
        char **items = realloc(plan->arguments, capacity * sizeof *items);
        if (items == NULL) {
            plan->is_out_of_memory = true;
            return;
        }
        plan->arguments = items;
        plan->argument_capacity = capacity;
    }
    char *copy = strdup(text);
    if (copy == NULL) {
        plan->is_out_of_memory = true;
        return;
    }
    plan->arguments[plan->argument_count++] = copy;
    plan->arguments[plan->argument_count] = NULL;
}

static void add_all(struct sma_sandbox_plan *plan, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        add(plan, *texts);
}

static void add_bind(struct sma_sandbox_plan *plan, const char *how, const char *from,
                     const char *to)
{
    add(plan, how);
    add(plan, from);
    add(plan, to);
}

static void add_tmpfs(struct sma_sandbox_plan *plan, const char *path, const char *size)
{
    add_all(plan, (const char *const[]){"--size", size, "--tmpfs", path, NULL});
}

/* In the place of what is hidden: nothing can be put into it. */
static void add_empty_folder(struct sma_sandbox_plan *plan, const char *path)
{
    add_tmpfs(plan, path, "4096");
    add_all(plan, (const char *const[]){"--remount-ro", path, NULL});
}

/* Moves the descriptor into the plan. */
static void add_data(struct sma_sandbox_plan *plan, const char *option, int fd)
{
    char number[16];
    SMA_ASSERT(plan->data_count < SMA_SANDBOX_DATA_COUNT_MAX);
    snprintf(number, sizeof number, "%zu", SMA_SANDBOX_STATE_FD + 1 + plan->data_count);
    plan->data_fds[plan->data_count++] = fd;
    plan->is_out_of_memory = plan->is_out_of_memory || fd < 0;
    add(plan, option);
    add(plan, number);
}

void sma_sandbox_plan_fini(struct sma_sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->argument_count; i++)
        free(plan->arguments[i]);
    free(plan->arguments);
    for (size_t i = 0; i < plan->data_count; i++)
        if (plan->data_fds[i] >= 0)
            close(plan->data_fds[i]);
    for (size_t i = 0; i < plan->guard_count; i++)
        free(plan->guards[i].path);
    *plan = (struct sma_sandbox_plan){.arguments = NULL};
}

/* -- guards ------------------------------------------------------------------------------------ */
static enum sma_err guard(struct sma_sandbox_plan *plan, const char *path, struct sma_error *error)
{
    if (plan->guard_count == SMA_SANDBOX_GUARD_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "more than %d files of the project must be hidden",
                        SMA_SANDBOX_GUARD_COUNT_MAX);
    struct sma_sandbox_guard *slot = &plan->guards[plan->guard_count];
    struct stat facts;
    slot->path = strdup(path);
    if (slot->path == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    plan->guard_count++;
    slot->is_missing = lstat(path, &facts) != 0;
    if (!slot->is_missing) {
        slot->device = facts.st_dev;
        slot->inode = facts.st_ino;
    }
    return SMA_ERR_OK;
}

const char *sma_sandbox_plan_breach(const struct sma_sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->guard_count; i++) {
        const struct sma_sandbox_guard *slot = &plan->guards[i];
        struct stat facts;
        bool is_missing = lstat(slot->path, &facts) != 0;
        if (is_missing != slot->is_missing ||
            (!is_missing && (facts.st_dev != slot->device || facts.st_ino != slot->inode)))
            return slot->path;
    }
    return NULL;
}

/* -- the project ------------------------------------------------------------------------------- */
struct project
{
    const char *dir;
    char ship[PATH_MAX], empty[PATH_MAX];
};

static bool join(char *path, const char *dir, const char *name)
{
    int len = snprintf(path, PATH_MAX, "%s/%s", dir, name);
    return len > 0 && len < PATH_MAX;
}

static bool make_file(const char *path, const char *text, mode_t mode, bool may_be_empty)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return false;
    size_t len = strlen(text);
    bool is_written = write(fd, text, len) == (ssize_t)len;
    int write_errno = errno;
    /* On a full disk an empty one does as well where its text is for people only: the service
     * starts all the same. */
    if (!is_written && may_be_empty)
        is_written = ftruncate(fd, 0) == 0;
    close(fd);
    if (!is_written)
        (void)unlink(path); /* then it is missing, which is refused */
    errno = write_errno;
    return is_written;
}

static enum sma_err put_placeholder(struct sma_sandbox_plan *plan, const char *path,
                                    const char *text, unsigned which, struct sma_error *error)
{
    struct stat facts;
    if (lstat(path, &facts) == 0)
        return SMA_ERR_OK;
    if (make_file(path, text, 0600, which == SMA_PLACEHOLDER_ENV))
        plan->placeholders |= which;
    else if (errno != EEXIST)
        return sma_fail_os(error, errno, "%s cannot be kept from commands", path);
    return SMA_ERR_OK;
}

/* Git takes configuration and hooks of the folder that .git/commondir names: a file that says
 * "here" keeps others out. */
static enum sma_err put_commondir(struct sma_sandbox_plan *plan, const struct project *project,
                                  struct sma_error *error)
{
    char git[PATH_MAX], path[PATH_MAX];
    struct stat facts;
    if (!join(git, project->dir, ".git") || !join(path, git, "commondir") ||
        lstat(git, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return SMA_ERR_OK;
    return put_placeholder(plan, path, COMMONDIR_PLACEHOLDER, SMA_PLACEHOLDER_COMMONDIR, error);
}

/* A link's target is hidden, the link itself is watched: bubblewrap mounts over what a path leads
 * to. */
static void hide(struct sma_sandbox_plan *plan, const struct project *project, const char *path)
{
    char real[PATH_MAX];
    struct stat facts;
    if (realpath(path, real) == NULL || stat(real, &facts) != 0)
        return;
    if (S_ISDIR(facts.st_mode))
        add_empty_folder(plan, real);
    else
        add_bind(plan, "--ro-bind", project->empty, real);
}

/* Every .env* of the project's folder. */
static enum sma_err hide_env(struct sma_sandbox_plan *plan, const struct project *project,
                             struct sma_error *error)
{
    DIR *dir = opendir(project->dir);
    if (dir == NULL)
        return sma_fail_os(error, errno, "%s cannot be read", project->dir);
    enum sma_err err = SMA_ERR_OK;
    for (struct dirent *entry; err == SMA_ERR_OK && (entry = readdir(dir)) != NULL;) {
        char path[PATH_MAX];
        if (strncasecmp(entry->d_name, ".env", 4) != 0 || !join(path, project->dir, entry->d_name))
            continue;
        hide(plan, project, path);
        err = guard(plan, path, error);
    }
    closedir(dir);
    return err;
}

static enum sma_err keep_from_writing(struct sma_sandbox_plan *plan, const struct project *project,
                                      const char *name, struct sma_error *error)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (!join(path, project->dir, name) || realpath(path, real) == NULL)
        return SMA_ERR_OK;
    add_bind(plan, "--ro-bind", real, real);
    return guard(plan, path, error);
}

/* Read-only, and without the secrets that are written into it. */
static enum sma_err show_ship_json(struct sma_sandbox_plan *plan, const struct project *project,
                                   const struct sma_secrets *secrets, struct sma_error *error)
{
    char path[PATH_MAX];
    SMA_AUTO(sma_freep) char *text = NULL;
    if (!join(path, project->dir, "ship.json") ||
        sma_sandbox_show_ship(path, secrets, &text) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (text == NULL)
        return keep_from_writing(plan, project, "ship.json", error);
    add_all(plan, (const char *const[]){"--perms", "0444", NULL});
    add_data(plan, "--ro-bind-data", sma_sandbox_data_open(text, strlen(text)));
    add(plan, path);
    return guard(plan, path, error);
}

/* What stands in .ship for everybody to read. Whatever else lies there, today or in a later
 * version, is a secret or what other chats say: whoever may start a search must not read the talks
 * of everybody. */
static bool is_shown_in_ship(const char *name)
{
    static const char *const names[] = {".cache", "public", "schema", "skills", "tasks"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* What models were shown in any chat lies in .cache, too (guard.c). The folder is made, so that
 * none can come later where nothing covers it. */
static void show_cache(struct sma_sandbox_plan *plan, const char *path)
{
    char parts[PATH_MAX];
    if (!join(parts, path, "parts") || (mkdir(parts, 0700) != 0 && errno != EEXIST))
        return;
    add_bind(plan, "--ro-bind", path, path);
    add_empty_folder(plan, parts);
}

/* .ship as an empty folder into which what may be read is put: what comes later is not there. */
static enum sma_err lay_out_ship(struct sma_sandbox_plan *plan, const struct project *project,
                                 struct sma_error *error)
{
    add_tmpfs(plan, project->ship, "4096");
    DIR *dir = opendir(project->ship);
    if (dir == NULL)
        return sma_fail_os(error, errno, "%s cannot be read", project->ship);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[PATH_MAX];
        struct stat facts;
        if (!is_shown_in_ship(entry->d_name) || !join(path, project->ship, entry->d_name) ||
            lstat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))
            continue;
        if (strcmp(entry->d_name, ".cache") == 0)
            show_cache(plan, path);
        else
            add_bind(plan, "--ro-bind", path, path);
    }
    closedir(dir);
    add(plan, "--remount-ro");
    add(plan, project->ship);
    return SMA_ERR_OK;
}

enum sma_err sma_sandbox_refuse_links(const struct sma_config *config, struct sma_error *error)
{
    static const char *const names[] = {".env", "ship.json", "Agent.md", ".ship"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char path[PATH_MAX];
        struct stat facts;
        if (join(path, config->project_dir, names[i]) && lstat(path, &facts) == 0 &&
            S_ISLNK(facts.st_mode))
            return sma_fail(error, SMA_ERR_UNSUPPORTED,
                            "Not run: %s is a symbolic link, and a command could put another in "
                            "its place. The owner should put the file itself there (or switch the "
                            "sandbox off: permissions.exec_shell.sandbox).",
                            path);
    }
    return SMA_ERR_OK;
}

static enum sma_err add_project(struct sma_sandbox_plan *plan, const struct sma_config *config,
                                const struct sma_secrets *secrets, struct sma_error *error)
{
    struct project project = {.dir = config->project_dir};
    char env[PATH_MAX], ship_json[PATH_MAX];
    if (!join(env, project.dir, ".env") || !join(ship_json, project.dir, "ship.json") ||
        !join(project.empty, config->state_dir, ".empty") ||
        snprintf(project.ship, PATH_MAX, "%s", config->state_dir) >= PATH_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "the path of the project is too long");
    struct stat facts;
    if (!make_file(project.empty, "", 0400, true) &&
        (lstat(project.empty, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size != 0))
        return sma_fail_os(error, errno, "%s cannot be made", project.empty);
    SMA_TRY(put_placeholder(plan, env, ENV_PLACEHOLDER, SMA_PLACEHOLDER_ENV, error));
    SMA_TRY(put_placeholder(plan, ship_json, SHIP_PLACEHOLDER, SMA_PLACEHOLDER_SHIP, error));
    SMA_TRY(put_commondir(plan, &project, error));
    add_bind(plan, "--bind", project.dir, project.dir);
    SMA_TRY(lay_out_ship(plan, &project, error));
    SMA_TRY(hide_env(plan, &project, error));
    return show_ship_json(plan, &project, secrets, error);
}

enum sma_err sandbox_keep(struct sma_sandbox_plan *plan, const char *path, struct sma_error *error)
{
    add_bind(plan, "--ro-bind", path, path);
    return guard(plan, path, error);
}

void sandbox_pin(struct sma_sandbox_plan *plan, const char *path)
{
    add_bind(plan, "--bind", path, path);
}

void sma_sandbox_remove_placeholders(const struct sma_config *config, unsigned placeholders)
{
    static const struct
    {
        unsigned which;
        const char *name, *text;
    } rows[] = {{SMA_PLACEHOLDER_ENV, ".env", ENV_PLACEHOLDER},
                {SMA_PLACEHOLDER_SHIP, "ship.json", SHIP_PLACEHOLDER},
                {SMA_PLACEHOLDER_COMMONDIR, ".git/commondir", COMMONDIR_PLACEHOLDER}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char path[PATH_MAX], bytes[128];
        if ((placeholders & rows[i].which) == 0 || !join(path, config->project_dir, rows[i].name))
            continue;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        ssize_t len = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
        bool is_empty = len == 0 && rows[i].which == SMA_PLACEHOLDER_ENV; /* made on a full disk */
        if (is_empty ||
            (len == (ssize_t)strlen(rows[i].text) && memcmp(bytes, rows[i].text, (size_t)len) == 0))
            (void)unlink(path); /* gone already: as well */
        if (fd >= 0)
            close(fd);
    }
}

/* -- the rest of the machine ------------------------------------------------------------------- */
static bool is_folder(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static bool is_inside(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* What is to be read there; with a folder, which was hidden just now: what lies in it. */
static void show_folders(struct sma_sandbox_plan *plan, const struct sma_sandbox_limits *limits,
                         const char *folder)
{
    for (size_t i = 0; i < limits->shown_count; i++) {
        const char *shown = limits->shown[i];
        if (is_folder(shown) &&
            (folder == NULL || (is_inside(shown, folder) && strcmp(shown, folder) != 0)))
            add_bind(plan, "--ro-bind", shown, shown);
    }
}

static void hide_secret(struct sma_sandbox_plan *plan, const struct sma_sandbox_limits *limits,
                        const struct sma_config *config, const char *path)
{
    char real[PATH_MAX], empty[PATH_MAX];
    struct stat facts;
    if (realpath(path, real) == NULL || stat(real, &facts) != 0 ||
        is_inside(config->project_dir, real) || !join(empty, config->state_dir, ".empty"))
        return;
    if (S_ISDIR(facts.st_mode)) {
        add_tmpfs(plan, real, "4096");
        show_folders(plan, limits, real);
        add_all(plan, (const char *const[]){"--remount-ro", real, NULL});
    } else if (S_ISREG(facts.st_mode))
        add_bind(plan, "--ro-bind", empty, real);
}

static void hide_secrets(struct sma_sandbox_plan *plan, const struct sma_sandbox_limits *limits,
                         const struct sma_config *config)
{
    static const char *const of_home[] = {".ssh",
                                          ".aws",
                                          ".azure",
                                          ".config/gcloud",
                                          ".config/gh",
                                          ".netrc",
                                          ".gnupg",
                                          ".docker",
                                          ".kube",
                                          ".git-credentials",
                                          ".npmrc",
                                          ".pypirc",
                                          ".pgpass",
                                          ".my.cnf",
                                          ".config/op",
                                          ".password-store",
                                          ".mozilla",
                                          ".config/chromium",
                                          ".config/google-chrome",
                                          ".local/share/keyrings",
                                          ".config/git/credentials",
                                          ".config/rclone",
                                          ".config/doctl",
                                          ".config/hub",
                                          ".config/glab-cli",
                                          ".config/containers/auth.json",
                                          ".cargo/credentials",
                                          ".cargo/credentials.toml",
                                          ".gem/credentials",
                                          ".terraform.d",
                                          ".terraformrc",
                                          ".vault-token",
                                          ".s3cfg",
                                          ".boto",
                                          ".kaggle",
                                          ".cache/huggingface/token",
                                          ".huggingface",
                                          ".claude",
                                          ".claude.json",
                                          ".codex",
                                          ".gemini",
                                          ".yarnrc.yml",
                                          ".m2/settings.xml",
                                          ".gradle/gradle.properties",
                                          ".bash_history",
                                          ".zsh_history"};
    static const char *const of_system[] = {"/etc/shadow",     "/etc/shadow-",     "/etc/gshadow",
                                            "/etc/gshadow-",   "/etc/ssl/private", "/etc/sudoers",
                                            "/etc/krb5.keytab"};
    const char *home = getenv("HOME");
    for (size_t i = 0; home != NULL && home[0] == '/' && i < SMA_COUNT_OF(of_home); i++) {
        char path[PATH_MAX];
        if (join(path, home, of_home[i]))
            hide_secret(plan, limits, config, path);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(of_system); i++)
        if (access(of_system[i], R_OK) == 0)
            hide_secret(plan, limits, config, of_system[i]);
}

/* The names of hosts are often described in a file under /run. */
static void show_resolver(struct sma_sandbox_plan *plan)
{
    char real[PATH_MAX];
    if (realpath("/etc/resolv.conf", real) != NULL && is_inside(real, "/run"))
        add_bind(plan, "--ro-bind", real, real);
}

static void add_machine(struct sma_sandbox_plan *plan, const struct sma_exec_options *options,
                        const struct sma_sandbox *sandbox)
{
    static const char *const walls[] = {"--unshare-pid",
                                        "--unshare-ipc",
                                        "--unshare-uts",
                                        "--unshare-cgroup-try",
                                        "--new-session",
                                        "--die-with-parent",
                                        "--cap-drop",
                                        "ALL",
                                        "--ro-bind",
                                        "/",
                                        "/",
                                        "--proc",
                                        "/proc",
                                        "--dev",
                                        "/dev",
                                        NULL};
    add_all(plan, walls);
    if (sandbox->is_userns_last)
        add_all(plan, (const char *const[]){"--unshare-user", "--disable-userns", NULL});
    else
        add(plan, "--unshare-user-try");
    if (sandbox->is_filtered)
        add_data(plan, "--seccomp", sma_sandbox_filter_open());
    if (!options->has_network)
        add(plan, "--unshare-net");
    for (size_t i = 0; i < sma_sandbox_tmpfs_count(); i++) {
        char size[24];
        const char *path = sma_sandbox_tmpfs(i, options->memory_mb, size);
        if (strncmp(path, "/dev/", 5) == 0 || is_folder(path)) /* /dev is new in there */
            add_tmpfs(plan, path, size);
    }
    add(plan, "--remount-ro");
    add(plan, "/dev");
    if (options->has_network)
        show_resolver(plan);
}

/* -- together ---------------------------------------------------------------------------------- */
static void add_limits(struct sma_sandbox_plan *plan, const struct sma_exec_options *options,
                       const struct sma_sandbox_limits *limits)
{
    char text[64];
    add(plan, "prlimit");
    add(plan, "--core=0");
    /* What runs for long reserves more address space than it uses: what it writes counts. */
    snprintf(text, sizeof text, "--%s=%lld", limits->cpu_s == 0 ? "data" : "as",
             (long long)options->memory_mb * 1024 * 1024);
    add(plan, text);
    snprintf(text, sizeof text, "--fsize=%lld", FILE_BYTES_MAX);
    add(plan, text);
    if (limits->cpu_s > 0) {
        snprintf(text, sizeof text, "--cpu=%lld", (long long)limits->cpu_s);
        add(plan, text);
    }
    if (limits->task_count > 0) {
        snprintf(text, sizeof text, "--nproc=%zu", limits->task_count);
        add(plan, text);
    }
    add(plan, "--");
}

static enum sma_err fill(struct sma_sandbox_plan *plan, const struct sma_config *config,
                         const struct sma_exec_options *options, const struct sma_sandbox *sandbox,
                         const struct sma_sandbox_limits *limits, struct sma_error *error)
{
    add(plan, sandbox->path);
    add_machine(plan, options, sandbox);
    SMA_TRY(add_project(plan, config, sandbox->secrets, error));
    if (!limits->is_by_owner)
        SMA_TRY(sandbox_keep_owner_files(plan, config, limits->policy, error));
    show_folders(plan, limits, NULL); /* before what is hidden, which may lie in them */
    hide_secrets(plan, limits, config);
    char info_fd[16];
    snprintf(info_fd, sizeof info_fd, "%d", SMA_SANDBOX_INFO_FD);
    add_all(plan, (const char *const[]){"--chdir", config->project_dir, "--info-fd", info_fd, "--",
                                        NULL});
    return SMA_ERR_OK;
}

static enum sma_err begin_plan(struct sma_sandbox_plan *plan, const struct sma_config *config,
                               const struct sma_exec_options *options,
                               const struct sma_sandbox *sandbox,
                               const struct sma_sandbox_limits *limits, struct sma_error *error)
{
    *plan = (struct sma_sandbox_plan){.is_boxed = sandbox->is_on};
    enum sma_err err =
        sandbox->is_on ? fill(plan, config, options, sandbox, limits, error) : SMA_ERR_OK;
    add_limits(plan, options, limits);
    return err;
}

static enum sma_err end_plan(struct sma_sandbox_plan *plan, const struct sma_config *config,
                             enum sma_err err, struct sma_sandbox_plan *ret_plan,
                             struct sma_error *error)
{
    if (err == SMA_ERR_OK && plan->is_out_of_memory)
        err = sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (err != SMA_ERR_OK) {
        sma_sandbox_remove_placeholders(config, plan->placeholders);
        sma_sandbox_plan_fini(plan);
        return err;
    }
    *ret_plan = *plan;
    return SMA_ERR_OK;
}

enum sma_err sma_sandbox_plan_create(const struct sma_config *config,
                                     const struct sma_exec_options *options,
                                     const struct sma_sandbox *sandbox,
                                     const struct sma_sandbox_limits *limits, const char *command,
                                     struct sma_sandbox_plan *ret_plan, struct sma_error *error)
{
    struct sma_sandbox_plan plan;
    enum sma_err err = begin_plan(&plan, config, options, sandbox, limits, error);
    add_all(&plan, (const char *const[]){"sh", "-c", "--", NULL});
    if (sandbox->is_on) {
        add(&plan, WAITING_SHELL);
        add(&plan, "sh");
    }
    add(&plan, command);
    return end_plan(&plan, config, err, ret_plan, error);
}

enum sma_err sma_sandbox_plan_create_program(const struct sma_config *config,
                                             const struct sma_exec_options *options,
                                             const struct sma_sandbox *sandbox,
                                             const char *const *words,
                                             struct sma_sandbox_plan *ret_plan,
                                             struct sma_error *error)
{
    struct sma_sandbox_plan plan;
    struct sma_sandbox_limits limits = {.cpu_s = 0};
    enum sma_err err = begin_plan(&plan, config, options, sandbox, &limits, error);
    /* Our two descriptors are not its. */
    add_all(&plan, (const char *const[]){"sh", "-c", "exec \"$@\" 3>&- 4>&-", "sh", NULL});
    add_all(&plan, words);
    return end_plan(&plan, config, err, ret_plan, error);
}

void sma_sandbox_describe(const struct sma_sandbox *sandbox, const struct sma_exec_options *options,
                          struct sma_buf *buf)
{
    if (!options->is_possible) {
        sma_buf_put_text(buf, "exec_shell: switched off");
        return;
    }
    if (sandbox->is_on)
        sma_buf_printf(buf, "exec_shell: bubblewrap (%s)",
                       options->has_network ? "with network" : "no network");
    else
        sma_buf_printf(buf, "exec_shell: NOT sandboxed (%s)", sandbox->why);
    sma_buf_printf(buf, ", memory %lld MB, %d processes a command, %d commands at once",
                   (long long)options->memory_mb, SMA_EXEC_PROCESS_COUNT_MAX, SMA_EXEC_COUNT_MAX);
    if (!sandbox->is_on)
        return;
    sma_buf_put_text(buf, sandbox->is_filtered
                              ? ", system calls filtered"
                              : ", NO filter of system calls (bubblewrap or the kernel lacks it)");
    sma_buf_put_text(buf, sandbox->is_userns_last
                              ? ", no user namespaces"
                              : ", user namespaces by the filter alone at most (bubblewrap lacks "
                                "--disable-userns or may not use it)");
}
