/*
 * oracle.c — see oracle.h.
 */
#include "oracle.h"

#include "oracle_names.h"
#include "project.h"

#include "runtime/policy/shell.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define GIT_CORE "/usr/lib/git-core/"

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* -- programs ---------------------------------------------------------------------------------- */
static bool is_same_text(const struct sma_shell_word *word, const char *text)
{
    return strlen(text) == word->len && memcmp(word->text, text, word->len) == 0;
}

/* Which positions in the arguments can be reached behind each word: constant words take one, equal;
 * others what they can. */
static uint64_t step(const struct sma_shell_word *word, const struct saw *saw, uint64_t reached)
{
    uint64_t next = 0;
    bool is_constant = sma_shell_word_is_constant(word);
    bool is_many = (word->flags & (SMA_WORD_SPLITS | SMA_WORD_GLOB | SMA_WORD_BRACE)) != 0;
    /* find puts paths for {}, also for one that was composed; they are never options */
    bool is_found = !is_constant && strcmp(base_of(saw->by), "find") == 0;
    for (uint32_t at = 0; at <= saw->arg_count; at++) {
        if ((reached >> at & 1) == 0)
            continue;
        if (is_constant) {
            if (at < saw->arg_count && is_same_text(word, saw->args[at]))
                next |= UINT64_C(1) << (at + 1);
            continue;
        }
        for (uint32_t to = at; is_found && to < saw->arg_count && saw->args[to][0] != '-'; to++)
            next |= UINT64_C(1) << (to + 1);
        bool is_first_right = at < saw->arg_count && strlen(saw->args[at]) >= word->fixed_len &&
                              ((word->flags & SMA_WORD_BRACE) != 0 ||
                               memcmp(saw->args[at], word->text, word->fixed_len) == 0);
        if (is_first_right)
            next |= UINT64_C(1) << (at + 1);
        for (uint32_t to = at + 2; is_many && is_first_right && to <= saw->arg_count; to++)
            next |= UINT64_C(1) << to;
        if (is_many)
            next |= UINT64_C(1) << at;
    }
    return next;
}

static bool is_program(const struct sma_shell_word *word, const char *path)
{
    const char *slash = memrchr(word->text, '/', word->len);
    if (!sma_shell_word_is_constant(word))
        return false;
    if (slash == NULL) { /* by PATH */
        const char *base = base_of(path);
        return is_same_text(word, base) && (is_below(path, "/usr/bin") || is_below(path, "/bin") ||
                                            is_below(path, "/home/bin"));
    }
    if (strncmp(path, "/usr", 4) == 0 && word->text[0] == '/' && is_same_text(word, path + 4))
        return true; /* /bin is a link */
    /* by its place: from whichever folder, the last part is the same */
    const char *last = strrchr(path, '/');
    size_t len = word->len - (size_t)(slash - word->text);
    return word->text[0] == '/' ? is_same_text(word, path)
                                : is_below(path, OBSERVER_PROJECT) && strlen(last) == len &&
                                      memcmp(last, slash, len) == 0;
}

static bool is_listed(const struct sma_shell *shell, const struct saw *saw)
{
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        const struct sma_shell_word *words = sma_shell_words(shell, command);
        if (command->word_count == 0 || !is_program(&words[0], saw->path))
            continue;
        uint64_t reached = 2; /* the name, whatever argv[0] says */
        bool is_at_cut = false;
        for (uint32_t k = 1; k < command->word_count && reached != 0; k++) {
            reached = step(&words[k], saw, reached);
            is_at_cut |= saw->is_cut && (reached >> saw->arg_count & 1) != 0;
        }
        if ((reached >> saw->arg_count & 1) != 0 || is_at_cut ||
            (reached != 0 && command->has_more_words))
            return true;
    }
    return false;
}

/* The n-th word of the program that starts another, "" behind the last. */
static const char *by_word(const struct saw *saw, uint32_t index)
{
    size_t at = 0;
    for (uint32_t i = 0; i < index && at < saw->by_len; i++)
        at += strlen(saw->by_args + at) + 1;
    return at < saw->by_len ? saw->by_args + at : "";
}

/* What programs start by themselves. `by` and `child` are names, `words` (if any) the pattern of
 * all words but the first. */
static const struct
{
    const char *by, *child, *words, *why;
} NATURE[] = {
    {"make", "recipe-make", "*", "the project's own recipe"},
    {"tar", "sh", "-c gzip", "-z, when it packs"},
    {"tar", "sh", "-c bzip2", "-j"},
    {"tar", "sh", "-c xz", "-J"},
    {"tar", "sh", "-c zstd", "--zstd"},
    {"tar", "sh", "-c lzma", "--lzma"},
    {"tar", "sh", "-c lzip", "--lzip"},
    {"tar", "sh", "-c lzop", "--lzop"},
    {"tar", "sh", "-c compress", "-Z"},
    {"dash", "gzip", "", "the shell of tar"},
    {"dash", "bzip2", "", "the same"},
    {"dash", "xz", "", "the same"},
    {"dash", "zstd", "", "the same"},
    {"dash", "lzma", "", "the same"},
    {"dash", "lzip", "", "the same"},
    {"dash", "lzop", "", "the same"},
    {"dash", "compress", "", "the same"},
    {"busybox", "gzip", "-*", "tar czf of busybox"},
    {"tar", "gzip", "*", "-z"},
    {"tar", "bzip2", "*", "-j"},
    {"tar", "xz", "*", "-J"},
    {"tar", "zstd", "*", "--zstd"},
    {"tar", "lzma", "*", "--lzma"},
    {"tar", "lzip", "*", "--lzip"},
    {"tar", "lzop", "*", "--lzop"},
    {"tar", "compress", "*", "-Z"},
    {"env", "node", "/usr/*/npm*", "npm is a script of node"},
    {"node", "sh", "-c recipe-npm", "the project's own script"},
    {"dash", "recipe-npm", "*", "the same"},
    {"bash", "recipe-npm", "*", "the same"},
    {"git", "git", "*", "git calls itself by name"},
    {"git", "sh", "-c git-receive-pack *", "the other side of a local push"},
    {"git", "sh", "-c git-upload-pack *", "the other side of a local fetch"},
    {"git", "sh", "-c git-upload-archive *", "the same for an archive"},
    {"dash", "git-receive-pack", "*", "the same"},
    {"dash", "git-upload-pack", "*", "the same"},
    {"git", "git-receive-pack", "*", "the same"},
    {"git", "git-upload-pack", "*", "the same"},
};

static void join_words(const struct saw *saw, char *to, size_t size)
{
    size_t len = 0;
    to[0] = '\0';
    for (uint32_t i = 1; i < saw->arg_count && len < size; i++)
        len += (size_t)snprintf(to + len, size - len, "%s%s", i == 1 ? "" : " ", saw->args[i]);
}

/* A script of the system (git-submodule, egrep) may start what it is known to. */
static bool is_script_nature(const struct saw *saw, const char *child)
{
    const char *script = by_word(saw, 1);
    if (strncmp(script, GIT_CORE, strlen(GIT_CORE)) == 0)
        return fnmatch("git*", child, 0) == 0 || strcmp(child, "sed") == 0 ||
               strcmp(child, "uname") == 0 || strcmp(child, "basename") == 0 ||
               strcmp(child, "dirname") == 0 || strcmp(child, "gettext") == 0 ||
               strcmp(child, "envsubst") == 0;
    if (strcmp(script, "/usr/bin/egrep") == 0 || strcmp(script, "/usr/bin/fgrep") == 0)
        return strcmp(child, "grep") == 0;
    return false;
}

/* Behind a cd that the verdict lists the recipes of that folder count: they are an owner's to
 * write, at any depth. By no other
 * way: not make -C, not find -execdir. */
static bool is_recipe_behind_cd(const struct sma_shell *shell, const struct saw *saw)
{
    const char *child = base_of(saw->path);
    bool is_recipe =
        strcmp(child, "folder-canary") == 0 || (strcmp(child, "sh") == 0 && saw->arg_count == 3 &&
                                                strcmp(saw->args[2], "folder-canary") == 0);
    for (uint32_t i = 0; is_recipe && i < shell->command_count; i++) {
        const struct sma_shell_word *word = sma_shell_words(shell, &shell->commands[i]);
        if (shell->commands[i].word_count > 1 && is_same_text(word, "cd"))
            return true;
    }
    return false;
}

/* ./run.sh where the policy allows it: what a script of the project starts is its own affair. */
static bool is_by_listed_script(const struct sma_shell *shell, const struct saw *saw)
{
    const char *by = base_of(saw->by), *script = by_word(saw, 1);
    if ((strcmp(by, "dash") != 0 && strcmp(by, "bash") != 0) || strchr(script, '/') == NULL)
        return false;
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_word *word = sma_shell_words(shell, &shell->commands[i]);
        if (shell->commands[i].word_count > 0 && sma_shell_word_is_constant(word) &&
            (is_same_text(word, script) || is_program(word, script)))
            return true;
    }
    return false;
}

static bool is_nature(const struct saw *saw)
{
    const char *by = base_of(saw->by), *child = base_of(saw->path);
    char words[4096];
    if (!is_below(saw->path, "/usr") && !is_below(saw->path, "/home/bin"))
        return false;
    if (strncmp(saw->path, GIT_CORE, strlen(GIT_CORE)) == 0 &&
        (strcmp(by, "git") == 0 || strncmp(by, "git-", 4) == 0))
        return true;
    join_words(saw, words, sizeof words);
    for (size_t i = 0; i < sizeof NATURE / sizeof NATURE[0]; i++)
        if (strcmp(by, NATURE[i].by) == 0 && strcmp(child, NATURE[i].child) == 0 &&
            fnmatch(NATURE[i].words, words, 0) == 0)
            return true;
    return is_script_nature(saw, child);
}

/* -- files ------------------------------------------------------------------------------------- */
static bool has_hidden_part(const char *path)
{
    return path[0] == '.' || strstr(path, "/.") != NULL;
}

static bool is_by_git(const struct saw *saw)
{
    return strncmp(base_of(saw->by), "git", 3) == 0;
}

/* What git writes by itself into repositories, new ones too: all but hooks that are more than
 * samples. */
static bool is_kept_by_git(const char *path)
{
    const char *folder = strncmp(path, ".git", 4) == 0 ? path : strstr(path, "/.git");
    if (folder == NULL) { /* a bare one */
        const char *base = base_of(path);
        return strcmp(base, "config") == 0 || fnmatch("*/hooks/*.sample*", path, 0) == 0;
    }
    const char *end = folder + (folder == path ? 4 : 5);
    bool is_hook = strncmp(end, "/hooks/", 7) == 0 && fnmatch("*.sample*", end, 0) != 0;
    return (*end == '/' || *end == '\0') && !is_hook;
}

/* Programs that keep files for themselves. */
static bool is_own_file(const struct saw *saw)
{
    const char *by = base_of(saw->by);
    if (is_below(saw->path, "/tmp")) /* what lies in a command's /tmp ends with it */
        return true;
    if (strcmp(by, "node") == 0 && is_below(saw->path, OBSERVER_HOME "/.npm"))
        return true;
    return is_by_git(saw) && is_below(saw->path, OBSERVER_HOME "/.cache");
}

/* Why the path may not be written, or NULL. */
static const char *find_fault(const struct saw *saw, unsigned policy)
{
    const char *path = saw->path;
    if (is_below(path, "/dev") || strncmp(path, "/proc/self/fd/", 14) == 0 || is_own_file(saw))
        return NULL;
    if (!is_below(path, OBSERVER_PROJECT))
        return "outside of the project";
    path += strlen(OBSERVER_PROJECT);
    if (path[0] == '\0')
        return saw->kind == SAW_CHANGE || saw->kind == SAW_WRITE ? NULL : "the project itself";
    path++;
    bool is_git = is_by_git(saw) && is_kept_by_git(path);
    bool is_folder =
        strncmp(saw->call, "mkdir", 5) == 0; /* a folder called Makefile is no recipe */
    const char *guard =
        is_git || (is_folder && !has_hidden_part(path)) ? NULL : project_guards(path, policy);
    if (guard != NULL)
        return guard;
    return !is_git && has_hidden_part(path) ? "a hidden file" : NULL;
}

/* A plain file of the project, which some redirection or touch of the list must name; git's own
 * files need not. */
static bool is_of_project(const struct saw *saw)
{
    const char *path = saw->path;
    if (!is_below(path, OBSERVER_PROJECT) || path[strlen(OBSERVER_PROJECT)] == '\0')
        return false;
    return !(is_by_git(saw) && is_kept_by_git(path + strlen(OBSERVER_PROJECT) + 1));
}

/* -- all --------------------------------------------------------------------------------------- */
static bool may_connect(const struct saw *saw)
{
    static const char *const networkers[] = {"curl", "busybox", "wget", "git-remote-http",
                                             "node", "rsync",   "ssh",  "cargo"};
    for (size_t i = 0; i < sizeof networkers / sizeof networkers[0]; i++)
        if (strcmp(base_of(saw->by), networkers[i]) == 0)
            return true;
    return false;
}

static void tell(const struct saw *saw, const char *why, struct violation *violation)
{
    char words[300];
    join_words(saw, words, sizeof words);
    snprintf(violation->what, sizeof violation->what, "%s %s%s%s by %s (%s): %s",
             saw_kind_name(saw->kind), saw->path, words[0] == '\0' ? "" : " ", words, saw->by,
             saw->call, why);
    const char *named = saw->kind == SAW_EXEC ? base_of(saw->path) : why;
    snprintf(violation->signature, sizeof violation->signature, "%s:%s:%s",
             saw_kind_name(saw->kind), base_of(saw->by), named);
}

bool oracle_find(const struct sma_shell *shell, unsigned policy, const struct observation *seen,
                 struct violation *ret_violation)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        const struct saw *saw = &seen->items[i];
        const char *why = NULL;
        if (saw->kind == SAW_EXEC)
            why = is_listed(shell, saw) || is_nature(saw) || is_by_listed_script(shell, saw) ||
                          is_recipe_behind_cd(shell, saw)
                      ? NULL
                      : "the verdict does not name it";
        else if (saw->kind == SAW_CODE)
            why = is_below(saw->path, "/home/bin") ? NULL : "code of the project";
        else if (saw->kind == SAW_CONNECT)
            why = may_connect(saw) ? NULL : "no program of the network";
        else if ((why = find_fault(saw, policy)) == NULL && is_of_project(saw) &&
                 !oracle_is_named(shell, saw))
            why = "the verdict does not name this file";
        if (why != NULL) {
            tell(saw, why, ret_violation);
            return true;
        }
    }
    return false;
}
