/*
 * sandbox_machine.c — what of the machine is there within the walls: what a row names, what the
 * owner names, and nothing else.
 *
 * The root is an empty folder in memory. System folders are put into it read-only, HOME as an empty
 * folder of its own, and what permissions.exec_shell.paths names. A program that reads files of the
 * user (keys of another tool, another bot's folder) finds none, whatever its name is.
 * Of /proc whatever is one for the whole machine is read-only: the kernel lets the owner of a file
 * there write it whatever capabilities he has, and under root that is the sandboxed command.
 */
#include "program.h"
#include "sandbox_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ETC_ENTRY_COUNT_MAX 16384 /* that are looked at; folders beyond it are not shown */
#define SAID_BYTES_MAX 4096
#define ETC_FOLDER_COUNT_MAX 1024

/* -- what is shown ----------------------------------------------------------------------------- */
/* A link is shown as one, so that /bin is what it is outside. What is not there is left out. */
static const struct row
{
    const char *path, *what_for;
} SHOWN[] = {
    {"/usr", "programs, libraries, authorities, zones, locales"},
    {"/bin", "programs"},
    {"/sbin", "programs"},
    {"/lib", "libraries"},
    {"/lib32", "libraries"},
    {"/lib64", "libraries, and the loader that every program names"},
    {"/libx32", "libraries"},
    {"/etc", "settings, alternatives, certificates; what only root reads is taken out again"},
    {"/nix/store", "programs of NixOS"},
    {"/gnu/store", "programs of Guix"},
    {"/run/current-system", "programs of NixOS: a link into the store"},
    {"/var/run", "a link to /run"},
    {"/var/lock", "a link to /run/lock"},
    {"/var/lib/dpkg", "which packages are installed: dpkg-query"},
    {"/var/lib/ghc", "packages of the Haskell compiler"},
    {"/var/lib/texmf", "formats of TeX"},
    {"/var/cache/fontconfig", "fonts: without it every program looks through them again"},
    {"/sys/devices/system", "how many processors there are: make -j, runtimes of Java and Go"},
    {"/sys/kernel/mm/transparent_hugepage", "memory of Java, allocators"},
};

bool sandbox_is_folder(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool sma_sandbox_is_inside(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static void show_rows(struct sma_sandbox_plan *plan)
{
    for (size_t i = 0; i < SMA_COUNT_OF(SHOWN); i++) {
        const char *path = SHOWN[i].path;
        char target[PATH_MAX];
        ssize_t len = readlink(path, target, sizeof target - 1);
        if (len > 0) {
            target[len] = '\0';
            sandbox_add_bind(plan, "--symlink", target, path);
        } else if (sandbox_is_folder(path)) {
            sandbox_add_bind(plan, "--ro-bind", path, path);
        }
    }
}

/* The names of hosts are often described in a file under /run. */
static void show_resolver(struct sma_sandbox_plan *plan)
{
    char real[PATH_MAX];
    if (realpath("/etc/resolv.conf", real) != NULL && sma_sandbox_is_inside(real, "/run"))
        sandbox_add_bind(plan, "--ro-bind", real, real);
}

/* Where it lies and where its name leads, which may be elsewhere. */
void sandbox_show(struct sma_sandbox_plan *plan, const char *path, const char *real)
{
    sandbox_add_bind(plan, "--ro-bind", real, real);
    if (strcmp(real, path) != 0)
        sandbox_add_bind(plan, "--ro-bind", real, path);
}

static bool is_in_rows(const char *real)
{
    for (size_t i = 0; i < SMA_COUNT_OF(SHOWN); i++)
        if (sma_sandbox_is_inside(real, SHOWN[i].path))
            return true;
    return false;
}

/* By its words. */
static bool is_shown(const struct sma_config *config, const struct sma_exec_options *options,
                     const char *path)
{
    if (is_in_rows(path) || sma_sandbox_is_inside(path, config->project_dir))
        return true;
    for (size_t i = 0; i < options->path_count; i++)
        if (sma_sandbox_is_inside(path, options->paths[i]) ||
            (options->real_paths[i] != NULL && sma_sandbox_is_inside(path, options->real_paths[i])))
            return true;
    return false;
}

bool sma_sandbox_shows(const struct sma_config *config, const struct sma_exec_options *options,
                       const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) != NULL && is_shown(config, options, real);
}

bool sma_sandbox_hides(const struct sma_config *config, const struct sma_exec_options *options,
                       const char *path, char ret_folder[PATH_MAX])
{
    static const char *const of_programs[] = {"bin", "sbin", "shims", "libexec"};
    char real[PATH_MAX];
    if (path[0] != '/' || realpath(path, real) == NULL)
        return false;
    bool is_name_shown = is_shown(config, options, path);
    if (is_name_shown && is_shown(config, options, real))
        return false;
    (void)snprintf(ret_folder, PATH_MAX, "%s", is_name_shown ? real : path);
    char *slash = strrchr(ret_folder, '/');
    if (slash == ret_folder || sandbox_is_folder(ret_folder))
        return true;
    *slash = '\0';
    /* Programs need what lies beside their folder, but ~/.local is all that a desktop keeps. */
    slash = strrchr(ret_folder, '/');
    for (size_t i = 0; i < SMA_COUNT_OF(of_programs); i++)
        if (strcmp(slash + 1, of_programs[i]) == 0 && slash - ret_folder > 7 &&
            strncmp(slash - 7, "/.local", 7) != 0) {
            *slash = '\0';
            break;
        }
    return true;
}

/* A shell, env and make each say it in words of their own; the program's name is one of them. */
bool sma_sandbox_find_hidden(const struct sma_config *config,
                             const struct sma_exec_options *options, const char *path,
                             struct sma_str said, char ret_program[PATH_MAX],
                             char ret_folder[PATH_MAX])
{
    static const char between[] =
        " \t\r\n:;,'\"`()[]\xe2\x80\x98\x99"; /* typographic quotes, too */
    const char *at = said.ptr,
               *end = said.ptr + (said.len < SAID_BYTES_MAX ? said.len : SAID_BYTES_MAX);
    while (at < end) {
        char word[NAME_MAX + 1], file[PATH_MAX];
        size_t len = 0;
        while (at + len < end && at[len] != '\0' && strchr(between, at[len]) == NULL)
            len++;
        if (len > 0 && len < sizeof word) {
            memcpy(word, at, len);
            word[len] = '\0';
            const char *slash = strrchr(word, '/');
            const char *name = slash == NULL ? word : slash + 1;
            /* By PATH alone: else it would tell which files lie in folders that are hidden. */
            if (name[0] != '\0' && sma_program_find(name, path, "", file) &&
                (slash == NULL || strcmp(word, file) == 0) &&
                sma_sandbox_hides(config, options, file, ret_folder)) {
                (void)snprintf(ret_program, PATH_MAX, "%s", name);
                return true;
            }
        }
        at += len + 1;
    }
    return false;
}

/* -- what is not for everybody ----------------------------------------------------------------- */
/* Keys of certificates, of wireguard, of networks: under root a command could read them. */
static const struct place
{
    const char *path;
    unsigned depth_max;
    bool is_for_root; /* others own nothing there */
} PLACES[] = {{"/etc", 64, false}, {"/usr/local", 3, true}};

/* One look. Letters of record->names: F a folder that was looked through, D and R a folder and a
 * file that are hidden. */
struct look
{
    struct sma_sandbox_plan *plan; /* NULL: nothing is added */
    struct sma_sandbox_private *record;
    const char *project;
    char *folders[ETC_FOLDER_COUNT_MAX];
    size_t count, entry_count;
    bool is_full; /* the record */
};

static void record(struct look *look, char letter, const char *path)
{
    struct sma_sandbox_private *record = look->record;
    size_t size = strlen(path) + 2;
    if (record == NULL || look->is_full || size > sizeof record->names - record->len) {
        look->is_full = true;
        return;
    }
    record->names[record->len] = letter;
    memcpy(record->names + record->len + 1, path, size - 1);
    record->len += size;
}

static void hide(struct look *look, const char *path, bool is_folder_there)
{
    record(look, is_folder_there ? 'D' : 'R', path);
    if (look->plan == NULL)
        return;
    if (is_folder_there)
        sandbox_add_empty_folder(look->plan, path);
    else /* a device of a mount without devices: it cannot be opened */
        sandbox_add_bind(look->plan, "--ro-bind", "/dev/null", path);
}

static void look_at_entry(struct look *look, int folder, const char *path, bool may_descend)
{
    struct stat facts;
    const char *name = strrchr(path, '/') + 1;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        (!S_ISDIR(facts.st_mode) && !S_ISREG(facts.st_mode)))
        return;
    bool is_dir = S_ISDIR(facts.st_mode),
         holds_project = sma_sandbox_is_inside(look->project, path);
    mode_t wanted = is_dir ? S_IROTH | S_IXOTH : S_IROTH;
    bool is_for_all = (facts.st_mode & wanted) == wanted || holds_project;
    /* What this user cannot read anyway needs no mount. */
    if (!is_for_all && faccessat(folder, name, is_dir ? X_OK : R_OK, AT_EACCESS) == 0)
        hide(look, path, is_dir);
    if (!is_for_all || !is_dir || !may_descend)
        return;
    char *copy = look->count < ETC_FOLDER_COUNT_MAX ? strdup(path) : NULL;
    if (copy != NULL)
        look->folders[look->count++] = copy;
    else
        hide(look, path, true);
}

static void look_through(struct look *look, const struct place *place)
{
    look->count = look->entry_count = 0;
    look->folders[look->count++] = strdup(place->path);
    for (size_t i = 0; i < look->count; i++) {
        const char *path = look->folders[i];
        bool is_beyond = look->entry_count > ETC_ENTRY_COUNT_MAX;
        unsigned depth = 0;
        for (const char *at = path == NULL ? "" : path + strlen(place->path); *at != '\0'; at++)
            depth += *at == '/';
        if (path != NULL && i > 0 && is_beyond)
            hide(look, path, true);
        DIR *dir = path == NULL || is_beyond ? NULL : opendir(path);
        if (dir != NULL)
            record(look, 'F', path);
        for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
            char inner[PATH_MAX];
            look->entry_count++;
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner)
                look_at_entry(look, dirfd(dir), inner, depth + 1 < place->depth_max);
        }
        if (dir != NULL)
            closedir(dir);
        free(look->folders[i]);
    }
}

static void look_through_all(struct sma_sandbox_plan *plan, struct sma_sandbox_private *record,
                             const char *project)
{
    struct look look = {.plan = plan, .record = record, .project = project};
    for (size_t i = 0; i < SMA_COUNT_OF(PLACES); i++)
        if (!PLACES[i].is_for_root || geteuid() == 0)
            look_through(&look, &PLACES[i]);
    if (record != NULL && look.is_full)
        record->len = 0;
}

/* Of the folders: what comes, goes and is renamed in one changes it, and its own mode does. A file
 * that was for all and is closed where it lies does not: it is seen until the next load. */
static uint64_t stamp_folders(const struct sma_sandbox_private *private)
{
    uint64_t stamp = 1469598103934665603u; /* FNV-1a */
    for (size_t at = 0; at < private->len; at += strlen(private->names + at) + 1) {
        struct stat facts;
        if (private->names[at] != 'F')
            continue;
        bool is_there = stat(private->names + at + 1, &facts) == 0;
        const int64_t values[] = {
            is_there, is_there ? (int64_t)facts.st_dev : 0, is_there ? (int64_t)facts.st_ino : 0,
            is_there ? facts.st_ctim.tv_sec : 0, is_there ? facts.st_ctim.tv_nsec : 0};
        for (size_t i = 0; i < sizeof values; i++)
            stamp = (stamp ^ ((const unsigned char *)values)[i]) * 1099511628211u;
    }
    return stamp;
}

void sandbox_find_private(struct sma_sandbox_private *private, const char *project)
{
    private->len = 0;
    look_through_all(NULL, private, project);
    private->stamp = stamp_folders(private);
}

static void hide_private(struct sma_sandbox_plan *plan, const struct sma_sandbox_private *known,
                         const char *project)
{
    struct look look = {.plan = plan};
    if (known == NULL || known->len == 0 || stamp_folders(known) != known->stamp) {
        look_through_all(plan, NULL, project);
        return;
    }
    for (size_t at = 0; at < known->len; at += strlen(known->names + at) + 1)
        if (known->names[at] != 'F')
            hide(&look, known->names + at + 1, known->names[at] == 'D');
}

/* -- /proc ------------------------------------------------------------------------------------- */
/* Folders of the machine as a whole, and files that somebody may write. Those of processes are
 * theirs: the others are not there. */
static void keep_kernel_settings(struct sma_sandbox_plan *plan)
{
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        struct stat facts;
        char path[PATH_MAX];
        if (entry->d_name[0] == '.' || isdigit((unsigned char)entry->d_name[0]) ||
            fstatat(dirfd(dir), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool is_writable = S_ISREG(facts.st_mode) && (facts.st_mode & 0222) != 0;
        if (!S_ISDIR(facts.st_mode) && !is_writable)
            continue;
        (void)snprintf(path, sizeof path, "/proc/%s", entry->d_name);
        sandbox_add_bind(plan, "--ro-bind", path, path);
    }
    if (dir != NULL)
        closedir(dir);
}

/* -- together ---------------------------------------------------------------------------------- */
void sandbox_add_machine(struct sma_sandbox_plan *plan, const struct sma_sandbox *sandbox,
                         bool has_network)
{
    static const char *const walls[] = {"--unshare-pid",
                                        "--unshare-ipc",
                                        "--unshare-uts",
                                        "--unshare-cgroup-try",
                                        "--new-session",
                                        "--die-with-parent",
                                        "--cap-drop",
                                        "ALL",
                                        "--proc",
                                        "/proc",
                                        "--dev",
                                        "/dev",
                                        NULL};
    sandbox_add(plan, sandbox->path);
    sandbox_add_all(plan, walls);
    if (sandbox->is_userns_last)
        sandbox_add_all(plan, (const char *const[]){"--unshare-user", "--disable-userns", NULL});
    else
        sandbox_add(plan, "--unshare-user-try");
    if (!has_network)
        sandbox_add(plan, "--unshare-net");
    keep_kernel_settings(plan);
}

/* The settings of git that are about the person, not about programs to run: HOME's own file, for
 * keys and helpers are named in it, is not there. */
static void put_git_settings(struct sma_sandbox_plan *plan, const char *home)
{
    char path[PATH_MAX];
    SMA_AUTO(sma_freep) char *text = NULL;
    if (sma_sandbox_git_settings(home, &text) != SMA_ERR_OK)
        plan->is_out_of_memory = true;
    if (text == NULL || snprintf(path, sizeof path, "%s/.gitconfig", home) >= (int)sizeof path)
        return;
    int fd = sma_sandbox_data_open(text, strlen(text));
    if (fd < 0) /* commands run without them, too */
        return;
    sandbox_add_data(plan, "--file", fd);
    sandbox_add(plan, path);
}

/* "": there is none, or what stands there is shown: the project, a system folder. */
const char *sma_sandbox_home(const struct sma_config *config)
{
    const char *home = getenv("HOME");
    bool is_of_system = home == NULL || home[0] != '/' || strlen(home) >= PATH_MAX ||
                        strspn(home, "/") == strlen(home) || is_in_rows(home) ||
                        sma_sandbox_is_inside(home, config->project_dir) ||
                        sma_sandbox_is_inside(home, "/proc") || sma_sandbox_is_inside(home, "/dev");
    for (size_t i = 0; !is_of_system && i < SMA_COUNT_OF(SHOWN); i++)
        is_of_system = sma_sandbox_is_inside(SHOWN[i].path, home);
    return is_of_system ? "" : home;
}

void sandbox_add_system(struct sma_sandbox_plan *plan, const struct sma_sandbox_private *known,
                        const char *project, bool has_network)
{
    show_rows(plan);
    hide_private(plan, known, project);
    if (has_network)
        show_resolver(plan);
}

void sandbox_add_folders(struct sma_sandbox_plan *plan, const struct sma_sandbox *sandbox,
                         const struct sma_config *config, const struct sma_exec_options *options)
{
    const char *home = sma_sandbox_home(config);
    char size[24];
    for (size_t i = 0; i < sma_sandbox_tmpfs_count(); i++) {
        const char *path = sma_sandbox_tmpfs(i, config, options->memory_mb, size);
        bool is_new = strncmp(path, "/dev/", 5) == 0; /* made just now */
        if (path[0] != '\0' && path != home && (is_new || sandbox_is_folder(path)))
            sandbox_add_tmpfs(plan, path, size);
    }
    sandbox_add_all(plan, (const char *const[]){"--remount-ro", "/dev", NULL});
    if (sandbox_is_folder("/run/lock")) /* /var/lock leads there */
        sandbox_add_all(plan, (const char *const[]){"--perms", "1777", "--dir", "/run/lock", NULL});
    sandbox_add_system(plan, &sandbox->private, config->project_dir, options->has_network);
    if (home[0] != '\0') {
        (void)sma_sandbox_tmpfs(sma_sandbox_tmpfs_count() - 1, config, options->memory_mb, size);
        sandbox_add_all(plan, (const char *const[]){"--perms", "0700", NULL});
        sandbox_add_tmpfs(plan, home, size);
        put_git_settings(plan, home);
    }
    for (size_t i = 0; i < options->path_count; i++)
        if (options->real_paths[i] != NULL && access(options->real_paths[i], F_OK) == 0)
            sandbox_show(plan, options->paths[i], options->real_paths[i]);
}

/* -- what a server of mcp.json names ----------------------------------------------------------- */
static bool may_show(const char *path, bool is_for_program)
{
    static const char *const others[] = {"/tmp", "/var/tmp", "/run", "/dev", "/proc", "/sys"};
    const char *home = getenv("HOME");
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++)
        if (sma_sandbox_is_inside(path, others[i]))
            return false;
    return strcmp(path, "/") != 0 &&
           !(is_for_program && home != NULL && sma_sandbox_is_inside(home, path));
}

void sma_sandbox_show_named(const struct sma_config *config, struct sma_exec_options *options,
                            const char *command, const char *const *args, size_t arg_count,
                            sma_sandbox_named_fn *tell, void *user)
{
    for (size_t i = 0; i < arg_count + 1; i++) {
        const char *word = i == 0 ? command : args[i - 1];
        char path[PATH_MAX], unused[PATH_MAX];
        if (word[0] != '/' || !sma_sandbox_hides(config, options, word, unused) ||
            snprintf(path, sizeof path, "%s", word) >= (int)sizeof path)
            continue;
        bool is_shown = !sma_exec_path_is_exchangeable(word, config->project_dir);
        char *slash = strrchr(path, '/');
        if (i == 0 && slash > path) {
            *slash = '\0';
            if (!may_show(path, true))
                *slash = '/';
        }
        if (is_shown && (!may_show(path, false) || options->path_count == SMA_EXEC_PATH_COUNT_MAX))
            continue;
        char *copy = is_shown ? strdup(path) : NULL;
        if (copy != NULL) {
            options->real_paths[options->path_count] = realpath(copy, NULL);
            options->paths[options->path_count++] = copy;
        }
        if (tell != NULL)
            tell(user, i, word, is_shown);
    }
}
