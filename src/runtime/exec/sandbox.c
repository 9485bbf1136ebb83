/*
 * sandbox.c — the arguments that put a command between walls.
 */
#include "sandbox.h"

#include "runtime/decisive/decisive.h"
#include "runtime/secrets/secret_files.h"
#include "sandbox_priv.h"

#include "sma/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (4LL << 30)
#define FOLDER_MODE 01755 /* nobody makes an empty one like that */
#define ENV_PLACEHOLDER SMA_DECISIVE_STAND_IN
/* Git takes configuration and hooks of the folder that .git/commondir names: a file that says
 * "here" keeps others out. It reads config.worktree as soon as its owner uses worktrees. */
static const struct placeholder
{
    unsigned which;
    const char *name, *text; /* NULL: an empty folder, known by its mode */
} PLACEHOLDERS[] = {{SMA_PLACEHOLDER_ENV, ".env", ENV_PLACEHOLDER},
                    {SMA_PLACEHOLDER_SHIP, "ship.json", "{}\n"},
                    {SMA_PLACEHOLDER_COMMONDIR, ".git/commondir", ".\n"},
                    {SMA_PLACEHOLDER_WORKTREE, ".git/config.worktree", ENV_PLACEHOLDER}};

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
void sandbox_add(struct sma_sandbox_plan *plan, const char *text)
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

void sandbox_add_all(struct sma_sandbox_plan *plan, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        sandbox_add(plan, *texts);
}

void sandbox_cut(struct sma_sandbox_plan *plan, size_t argument_count, size_t guard_count)
{
    while (plan->argument_count > argument_count)
        free(plan->arguments[--plan->argument_count]);
    if (plan->arguments != NULL)
        plan->arguments[argument_count] = NULL;
    while (plan->guard_count > guard_count)
        free(plan->guards[--plan->guard_count].path);
}

void sandbox_add_bind(struct sma_sandbox_plan *plan, const char *how, const char *from,
                      const char *to)
{
    sandbox_add(plan, how);
    sandbox_add(plan, from);
    sandbox_add(plan, to);
}

void sandbox_add_tmpfs(struct sma_sandbox_plan *plan, const char *path, const char *size)
{
    sandbox_add_all(plan, (const char *const[]){"--size", size, "--tmpfs", path, NULL});
}

void sandbox_add_empty_folder(struct sma_sandbox_plan *plan, const char *path)
{
    sandbox_add_tmpfs(plan, path, "4096");
    sandbox_add_all(plan, (const char *const[]){"--remount-ro", path, NULL});
}

void sandbox_add_data(struct sma_sandbox_plan *plan, const char *option, int fd)
{
    char number[16];
    SMA_ASSERT(plan->data_count < SMA_SANDBOX_DATA_COUNT_MAX);
    snprintf(number, sizeof number, "%zu", SMA_SANDBOX_STATE_FD + 1 + plan->data_count);
    plan->data_fds[plan->data_count++] = fd;
    plan->is_out_of_memory = plan->is_out_of_memory || fd < 0;
    sandbox_add(plan, option);
    sandbox_add(plan, number);
}

/* -- who needs the placeholders ----------------------------------------------------------------
 * A plan guards those that lie there, whoever has put them: a command's, a server's, a trial's.
 * They are taken away when no plan is left; so those that should go may have to wait. Files of one
 * project, plans of several threads (workers of the tools actor, the actor of servers) without an
 * owner in common: hence the only lock of this folder. */
static pthread_mutex_t placeholder_lock = PTHREAD_MUTEX_INITIALIZER; /* nothing is locked inside */
static size_t placeholder_plan_count;
static unsigned placeholders_to_go;

static void enter_plan(struct sma_sandbox_plan *plan)
{
    pthread_mutex_lock(&placeholder_lock);
    placeholder_plan_count++;
    plan->needs_placeholders = true;
    pthread_mutex_unlock(&placeholder_lock);
}

void sma_sandbox_plan_leave(struct sma_sandbox_plan *plan)
{
    if (!plan->needs_placeholders)
        return;
    pthread_mutex_lock(&placeholder_lock);
    placeholder_plan_count--;
    plan->needs_placeholders = false;
    pthread_mutex_unlock(&placeholder_lock);
}

void sma_sandbox_plan_fini(struct sma_sandbox_plan *plan)
{
    sma_sandbox_plan_leave(plan);
    sandbox_cut(plan, 0, 0);
    free(plan->arguments);
    for (size_t i = 0; i < plan->data_count; i++)
        if (plan->data_fds[i] >= 0)
            close(plan->data_fds[i]);
    *plan = (struct sma_sandbox_plan){.arguments = NULL};
}

/* -- guards ------------------------------------------------------------------------------------ */
enum sma_err sandbox_guard(struct sma_sandbox_plan *plan, const char *path, struct sma_error *error)
{
    if (plan->guard_count == SMA_SANDBOX_GUARD_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG,
                        "Not run: more than %d files in the project's folder must be kept from "
                        "commands (.env* and what only its owner may change). The owner should "
                        "remove those that are not needed.",
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

static bool is_guarded(const struct sma_sandbox_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->guard_count; i++)
        if (strcmp(plan->guards[i].path, path) == 0)
            return true;
    return false;
}

bool sma_sandbox_plan_is_outgrown(struct sma_sandbox_plan *plan, const struct sma_config *config,
                                  const struct sma_policy *policy, char ret_path[PATH_MAX])
{
    struct sma_sandbox_plan now = {.arguments = NULL};
    struct sma_error error = {.code = SMA_ERR_OK};
    uint64_t stamp = sma_secret_files_stamp(config->project_dir); /* before it is listed */
    bool is_top_known = stamp != 0 && stamp == plan->top_stamp && !plan->is_read_only;
    bool is_outgrown =
        sandbox_keep_owner_files(&now, config, policy, is_top_known, &error) != SMA_ERR_OK ||
        (now.is_read_only && !plan->is_read_only);
    if (is_outgrown) /* in the first case it is not started either, and says why */
        (void)snprintf(ret_path, PATH_MAX, "%s", config->project_dir);
    for (size_t i = 0; i < now.guard_count && !is_outgrown; i++) {
        is_outgrown = !is_guarded(plan, now.guards[i].path);
        (void)snprintf(ret_path, PATH_MAX, "%s", now.guards[i].path);
    }
    sma_sandbox_plan_fini(&now);
    plan->top_stamp = is_outgrown ? 0 : stamp;
    return is_outgrown || sandbox_has_new_secret(plan, config->project_dir, ret_path);
}

/* -- the project ------------------------------------------------------------------------------- */
struct project
{
    const char *dir;
    char ship[PATH_MAX];
};

bool sandbox_join(char path[PATH_MAX], const char *dir, const char *name)
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

static enum sma_err put_placeholder(struct sma_sandbox_plan *plan, const char *dir,
                                    const struct placeholder *row, struct sma_error *error)
{
    char path[PATH_MAX];
    struct stat facts;
    if (!sandbox_join(path, dir, row->name))
        return sma_fail(error, SMA_ERR_TOOBIG, "the path of the project is too long");
    if (lstat(path, &facts) == 0)
        return SMA_ERR_OK;
    bool is_made = row->text == NULL
                       ? mkdir(path, FOLDER_MODE) == 0
                       : make_file(path, row->text, 0600, row->which == SMA_PLACEHOLDER_ENV);
    if (is_made)
        plan->placeholders |= row->which;
    else if (errno != EEXIST)
        return sma_fail_os(error, errno, "%s cannot be kept from commands", path);
    return SMA_ERR_OK;
}

/* What git or a server would run outside of the walls as soon as it is there. */
static bool find_stand_in(const struct sma_decisive *item, struct placeholder *ret_row)
{
    size_t len = strlen(item->path);
    bool is_json = len > 5 && strcmp(item->path + len - 5, ".json") == 0;
    const char *text = is_json ? SMA_DECISIVE_STAND_IN_JSON : SMA_DECISIVE_STAND_IN;
    *ret_row = (struct placeholder){SMA_PLACEHOLDER_DECISIVE, item->path,
                                    item->suffixes == NULL ? text : NULL};
    return item->is_awaited && len > 0;
}

static enum sma_err put_placeholders(struct sma_sandbox_plan *plan, const struct sma_config *config,
                                     struct sma_error *error)
{
    char git[PATH_MAX];
    bool has_git = sandbox_join(git, config->project_dir, ".git") && sandbox_is_folder(git);
    for (size_t i = 0; i < SMA_COUNT_OF(PLACEHOLDERS); i++)
        if (has_git || strncmp(PLACEHOLDERS[i].name, ".git/", 5) != 0)
            SMA_TRY(put_placeholder(plan, config->project_dir, &PLACEHOLDERS[i], error));
    for (size_t i = 0; i < config->decisive_count; i++) {
        struct placeholder row;
        /* where it fails for a setting nothing is written: sandbox_owner.c */
        if (find_stand_in(&config->decisive[i], &row))
            (void)put_placeholder(plan, config->project_dir, &row, NULL);
    }
    return SMA_ERR_OK;
}

static enum sma_err keep_from_writing(struct sma_sandbox_plan *plan, const struct project *project,
                                      const char *name, struct sma_error *error)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (!sandbox_join(path, project->dir, name) || realpath(path, real) == NULL)
        return SMA_ERR_OK;
    sandbox_add_bind(plan, "--ro-bind", real, real);
    return sandbox_guard(plan, path, error);
}

/* Read-only, and without the secrets that are written into it. */
static enum sma_err show_ship_json(struct sma_sandbox_plan *plan, const struct project *project,
                                   const struct sma_secrets *secrets, struct sma_error *error)
{
    char path[PATH_MAX];
    SMA_AUTO(sma_freep) char *text = NULL;
    if (!sandbox_join(path, project->dir, "ship.json") ||
        sma_sandbox_show_ship(path, secrets, &text) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (text == NULL)
        return keep_from_writing(plan, project, "ship.json", error);
    sandbox_add_all(plan, (const char *const[]){"--perms", "0444", NULL});
    sandbox_add_data(plan, "--ro-bind-data", sma_sandbox_data_open(text, strlen(text)));
    sandbox_add(plan, path);
    return sandbox_guard(plan, path, error);
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
    if (!sandbox_join(parts, path, "parts") || (mkdir(parts, 0700) != 0 && errno != EEXIST))
        return;
    sandbox_add_bind(plan, "--ro-bind", path, path);
    sandbox_add_empty_folder(plan, parts);
}

/* .ship as an empty folder into which what may be read is put: what comes later is not there. */
static enum sma_err lay_out_ship(struct sma_sandbox_plan *plan, const struct project *project,
                                 struct sma_error *error)
{
    sandbox_add_tmpfs(plan, project->ship, "4096");
    DIR *dir = opendir(project->ship);
    if (dir == NULL)
        return sma_fail_os(error, errno, "%s cannot be read", project->ship);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[PATH_MAX];
        struct stat facts;
        if (!is_shown_in_ship(entry->d_name) || !sandbox_join(path, project->ship, entry->d_name) ||
            lstat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))
            continue;
        if (strcmp(entry->d_name, ".cache") == 0)
            show_cache(plan, path);
        else
            sandbox_add_bind(plan, "--ro-bind", path, path);
    }
    closedir(dir);
    sandbox_add(plan, "--remount-ro");
    sandbox_add(plan, project->ship);
    return SMA_ERR_OK;
}

enum sma_err sma_sandbox_refuse_links(const struct sma_config *config, struct sma_error *error)
{
    static const char *const names[] = {".env", "ship.json", "Agent.md", ".ship"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char path[PATH_MAX];
        struct stat facts;
        if (sandbox_join(path, config->project_dir, names[i]) && lstat(path, &facts) == 0 &&
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
    char env[PATH_MAX], empty[PATH_MAX];
    if (!sandbox_join(env, project.dir, ".env") ||
        !sandbox_join(empty, config->state_dir, SANDBOX_EMPTY) ||
        snprintf(project.ship, PATH_MAX, "%s", config->state_dir) >= PATH_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "the path of the project is too long");
    struct stat facts;
    if (!make_file(empty, "", 0400, true) &&
        (lstat(empty, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size != 0))
        return sma_fail_os(error, errno, "%s cannot be made", empty);
    SMA_TRY(put_placeholders(plan, config, error));
    sandbox_add_bind(plan, "--bind", project.dir, project.dir);
    SMA_TRY(lay_out_ship(plan, &project, error));
    sandbox_hide(plan, project.dir, empty, env);
    SMA_TRY(sandbox_guard(plan, env, error));
    return show_ship_json(plan, &project, secrets, error);
}

enum sma_err sandbox_keep(struct sma_sandbox_plan *plan, const char *path, struct sma_error *error)
{
    sandbox_add_bind(plan, "--ro-bind", path, path);
    return sandbox_guard(plan, path, error);
}

void sandbox_pin(struct sma_sandbox_plan *plan, const char *path)
{
    sandbox_add_bind(plan, "--bind", path, path);
}

static void remove_placeholder(const char *dir, const struct placeholder *row)
{
    char path[PATH_MAX], bytes[128];
    struct stat facts;
    if (!sandbox_join(path, dir, row->name))
        return;
    if (row->text == NULL) {
        if (lstat(path, &facts) == 0 && facts.st_mode == (S_IFDIR | FOLDER_MODE))
            (void)rmdir(path); /* no longer empty: it stays */
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t len = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    bool is_empty = len == 0 && row->which == SMA_PLACEHOLDER_ENV; /* made on a full disk */
    if (is_empty ||
        (len == (ssize_t)strlen(row->text) && memcmp(bytes, row->text, (size_t)len) == 0))
        (void)unlink(path); /* gone already: as well */
    if (fd >= 0)
        close(fd);
}

static void remove_placeholders(const struct sma_config *config, unsigned placeholders)
{
    for (size_t i = 0; i < SMA_COUNT_OF(PLACEHOLDERS); i++)
        if ((placeholders & PLACEHOLDERS[i].which) != 0)
            remove_placeholder(config->project_dir, &PLACEHOLDERS[i]);
    for (size_t i = 0; i < config->decisive_count; i++) {
        struct placeholder row;
        if ((placeholders & SMA_PLACEHOLDER_DECISIVE) != 0 &&
            find_stand_in(&config->decisive[i], &row))
            remove_placeholder(config->project_dir, &row);
    }
}

void sma_sandbox_remove_placeholders(const struct sma_config *config, unsigned placeholders)
{
    pthread_mutex_lock(&placeholder_lock);
    placeholders_to_go |= placeholders;
    if (placeholder_plan_count == 0) {
        remove_placeholders(config, placeholders_to_go);
        placeholders_to_go = 0;
    }
    pthread_mutex_unlock(&placeholder_lock);
}

/* Folders of accepted skills. */
static void show_folders(struct sma_sandbox_plan *plan, const struct sma_sandbox_limits *limits)
{
    for (size_t i = 0; i < limits->shown_count; i++)
        if (sandbox_is_folder(limits->shown[i]))
            sandbox_add_bind(plan, "--ro-bind", limits->shown[i], limits->shown[i]);
}

/* -- together ---------------------------------------------------------------------------------- */
static void add_limits(struct sma_sandbox_plan *plan, const struct sma_exec_options *options,
                       const struct sma_sandbox_limits *limits)
{
    char text[64];
    sandbox_add(plan, "prlimit");
    sandbox_add(plan, "--core=0");
    /* Runtimes (node, Java, Wasm) reserve far more address space than they use: what can be written
     * counts. */
    snprintf(text, sizeof text, "--data=%lld", (long long)options->memory_mb * 1024 * 1024);
    sandbox_add(plan, text);
    snprintf(text, sizeof text, "--fsize=%lld", FILE_BYTES_MAX);
    sandbox_add(plan, text);
    if (limits->cpu_s > 0) {
        snprintf(text, sizeof text, "--cpu=%lld", (long long)limits->cpu_s);
        sandbox_add(plan, text);
    }
    if (limits->task_count > 0) {
        snprintf(text, sizeof text, "--nproc=%zu", limits->task_count);
        sandbox_add(plan, text);
    }
    sandbox_add(plan, "--");
}

static enum sma_err fill(struct sma_sandbox_plan *plan, const struct sma_config *config,
                         const struct sma_exec_options *options, const struct sma_sandbox *sandbox,
                         const struct sma_sandbox_limits *limits, struct sma_error *error)
{
    sandbox_add_machine(plan, sandbox, options->has_network);
    if (sandbox->is_filtered)
        sandbox_add_data(plan, "--seccomp", sma_sandbox_filter_open());
    sandbox_add_folders(plan, sandbox, config, options);
    SMA_TRY(add_project(plan, config, sandbox->secrets, error));
    if (!limits->is_by_owner)
        SMA_TRY(sandbox_keep_owner_files(plan, config, sandbox->policy, false, error));
    show_folders(plan, limits); /* before what is hidden, which may lie in them */
    SMA_TRY(sandbox_hide_secrets(plan, config, options, limits, error));
    /* The root itself is a folder in memory, into which whatever comes above was put. */
    sandbox_add_all(plan, (const char *const[]){"--remount-ro", "/", NULL});
    char info_fd[16];
    snprintf(info_fd, sizeof info_fd, "%d", SMA_SANDBOX_INFO_FD);
    sandbox_add_all(plan, (const char *const[]){"--chdir", config->project_dir, "--info-fd",
                                                info_fd, "--", NULL});
    return SMA_ERR_OK;
}

static enum sma_err begin_plan(struct sma_sandbox_plan *plan, const struct sma_config *config,
                               const struct sma_exec_options *options,
                               const struct sma_sandbox *sandbox,
                               const struct sma_sandbox_limits *limits, struct sma_error *error)
{
    *plan = (struct sma_sandbox_plan){.is_boxed = sandbox->is_on};
    if (sandbox->is_on)
        enter_plan(plan); /* before it looks whether they are there */
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
        unsigned placeholders = plan->placeholders;
        sma_sandbox_plan_fini(plan);
        sma_sandbox_remove_placeholders(config, placeholders);
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
    sandbox_add_all(&plan, (const char *const[]){"sh", "-c", "--", NULL});
    if (sandbox->is_on) {
        sandbox_add(&plan, WAITING_SHELL);
        sandbox_add(&plan, "sh");
    }
    sandbox_add(&plan, command);
    return end_plan(&plan, config, err, ret_plan, error);
}

enum sma_err sma_sandbox_plan_create_program(const struct sma_config *config,
                                             const struct sma_exec_options *options,
                                             const struct sma_sandbox *sandbox,
                                             const char *const *words, const char *const *named,
                                             struct sma_sandbox_plan *ret_plan,
                                             struct sma_error *error)
{
    struct sma_sandbox_plan plan;
    struct sma_sandbox_limits limits = {
        .cpu_s = 0, .is_agreed = true, .words = words, .named = named};
    enum sma_err err = begin_plan(&plan, config, options, sandbox, &limits, error);
    /* Our two descriptors are not its. */
    sandbox_add_all(&plan, (const char *const[]){"sh", "-c", "exec \"$@\" 3>&- 4>&-", "sh", NULL});
    sandbox_add_all(&plan, words);
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
    if (sandbox->hole[0] != '\0')
        sma_buf_printf(buf, ", A HOLE: %s opens for writing inside", sandbox->hole);
    sma_buf_put_text(buf, sandbox->is_filtered
                              ? ", system calls filtered"
                              : ", NO filter of system calls (bubblewrap or the kernel lacks it)");
    sma_buf_put_text(buf, sandbox->is_userns_last
                              ? ", no user namespaces"
                              : ", user namespaces by the filter alone at most (bubblewrap lacks "
                                "--disable-userns or may not use it)");
}
