/*
 * oracle_names.c — is a file that was written one that the list of the reader names?
 *
 * A name is the target of a redirection or of a touch (an operand, the value of an option). It is
 * seen from the project's folder and from everywhere the list may have gone with cd; links are
 * followed as they lie when the command has ended.
 */
#include "oracle_names.h"

#include "runtime/policy/shell.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER_COUNT_MAX 24

struct naming
{
    const struct saw *saw;
    char folders[FOLDER_COUNT_MAX][PATH_MAX]; /* where the list may be, absolute */
    size_t folder_count;
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool is_at_or_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* The absolute path of `name` in `folder`, "." and double slashes out, ".." by name. */
static void make_absolute(const char *folder, const char *name, char to[PATH_MAX])
{
    char joined[2 * PATH_MAX];
    size_t len = 0;
    snprintf(joined, sizeof joined, "%s/%s", name[0] == '/' ? "" : folder, name);
    for (char *save, *part = strtok_r(joined, "/", &save); part != NULL;
         part = strtok_r(NULL, "/", &save)) {
        if (strcmp(part, "..") == 0)
            while (len > 0 && to[--len] != '/')
                ;
        else if (strcmp(part, ".") != 0 && len + strlen(part) + 2 < PATH_MAX)
            len += (size_t)sprintf(to + len, "/%s", part);
        to[len] = '\0';
    }
    to[len] = '\0';
}

/* The name may be the file itself, a folder above it, or, for what makes folders, one below it. */
static bool is_met(const struct saw *saw, const char *name)
{
    return is_at_or_below(saw->path, name) ||
           (strncmp(saw->call, "mkdir", 5) == 0 && is_at_or_below(name, saw->path));
}

/* Files beside the named one that a program makes while it writes it. */
static bool is_beside(const struct saw *saw, const char *name)
{
    static const struct
    {
        const char *by, *base; /* patterns; %s is the base of the name */
    } BESIDE[] = {
        {"sed", "sed??????"},
        {"busybox", "%s??????"}, /* its sed */
        {"gzip", "%s.gz"},
        {"busybox", "%s.gz"},
        {"ln", "Cu??????"},
        {"cp", "Cu??????"},
        {"zip", "zi??????"},
        {"rsync", ".%s.??????"},
        {"wget", "%s.tmp*"},
        {"curl", "[0-9a-f][0-9a-f]*[0-9a-f].tmp"}, /* --cookie-jar */
        /* --backup without a suffix; the variable of its suffix is asked about */
        {"cp", "%s~"},
        {"mv", "%s~"},
        {"ln", "%s~"},
        {"install", "%s~"},
        {"rsync", "%s~"},
        {"cp", "%s.~[0-9]*~"},
        {"mv", "%s.~[0-9]*~"},
        {"ln", "%s.~[0-9]*~"},
        {"install", "%s.~[0-9]*~"},
    };
    char pattern[4 * PATH_MAX];
    size_t len = (size_t)(base_of(name) - name);
    if (strncmp(saw->path, name, len) != 0 || strchr(saw->path + len, '/') != NULL)
        return false;
    for (size_t i = 0; i < sizeof BESIDE / sizeof BESIDE[0]; i++) {
        const char *hole = strstr(BESIDE[i].base, "%s");
        int lead = hole == NULL ? (int)strlen(BESIDE[i].base) : (int)(hole - BESIDE[i].base);
        snprintf(pattern, sizeof pattern, "%.*s%s%s", lead, BESIDE[i].base,
                 hole == NULL ? "" : base_of(name), hole == NULL ? "" : hole + 2);
        if (strcmp(base_of(saw->by), BESIDE[i].by) == 0 &&
            fnmatch(pattern, saw->path + len, 0) == 0)
            return true;
    }
    return false;
}

static bool is_met_or_beside(const struct saw *saw, const char *name)
{
    return is_met(saw, name) || is_beside(saw, name);
}

/* Through the links of the folders above, and through its own. */
static bool is_met_by_links(const struct saw *saw, const char *name)
{
    char real[PATH_MAX], above[PATH_MAX], joined[4 * PATH_MAX];
    if (is_met_or_beside(saw, name) ||
        (realpath(name, real) != NULL && is_met_or_beside(saw, real)))
        return true;
    snprintf(above, sizeof above, "%.*s", (int)(base_of(name) - name), name);
    if (realpath(above, real) == NULL)
        return false;
    snprintf(joined, sizeof joined, "%s/%s", real, base_of(name));
    return is_met_or_beside(saw, joined);
}

/* Every part of the pattern (with its '/') fits the beginning of the path: the file or one below
 * what it meets. */
static bool is_met_by_pattern(const struct saw *saw, const char *pattern)
{
    return fnmatch(pattern, saw->path, FNM_PATHNAME | FNM_LEADING_DIR) == 0;
}

static bool is_name_in(const struct saw *saw, const struct sma_shell_word *word, const char *folder)
{
    char text[PATH_MAX], name[2 * PATH_MAX];
    uint32_t len = word->len;
    bool is_open =
        (word->flags & (SMA_WORD_DYNAMIC | SMA_WORD_SPLITS | SMA_WORD_BRACE | SMA_WORD_TILDE)) != 0;
    if (is_open && word->fixed_len < len)
        len = word->fixed_len;
    snprintf(text, sizeof text, "%.*s", (int)len, word->text);
    if (sma_shell_word_is_constant(word) || (word->flags & SMA_WORD_VOUCHED) != 0) {
        make_absolute(folder, text, name);
        if (is_met_by_links(saw, name))
            return true;
        if (sma_shell_word_is_constant(word))
            return false;
    }
    if (!is_open) {
        make_absolute(folder, text, name);
        return is_met_by_pattern(saw, name) || is_beside(saw, name);
    }
    /* whatever begins so */
    if (strchr(text, '/') == NULL)
        snprintf(name, sizeof name, "%s/%s", folder, strcmp(text, ".") == 0 ? "" : text);
    else {
        make_absolute(folder, text, name);
        if (text[len - 1] == '/' && strlen(name) + 1 < sizeof name)
            strcat(name, "/");
    }
    return strncmp(saw->path, name, strlen(name)) == 0 || is_beside(saw, name);
}

static bool is_name(const struct naming *naming, const struct sma_shell_word *word)
{
    for (size_t i = 0; i < naming->folder_count; i++)
        if (is_name_in(naming->saw, word, naming->folders[i]))
            return true;
    return false;
}

static void add_folder(struct naming *naming, const char *from, const struct sma_shell_word *word)
{
    char text[PATH_MAX], name[PATH_MAX], real[PATH_MAX];
    snprintf(text, sizeof text, "%.*s", (int)word->len, word->text);
    make_absolute(from, text, name);
    const char *found = realpath(name, real) == NULL ? name : real;
    for (size_t i = 0; i < naming->folder_count; i++)
        if (strcmp(naming->folders[i], found) == 0)
            return;
    if (naming->folder_count < FOLDER_COUNT_MAX)
        snprintf(naming->folders[naming->folder_count++], PATH_MAX, "%s", found);
}

/* The project, and each cd (env -C, git -C) from each folder that was reached before it. */
static void find_folders(struct naming *naming, const struct sma_shell *shell)
{
    snprintf(naming->folders[naming->folder_count++], PATH_MAX, "%s", OBSERVER_PROJECT);
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        const struct sma_shell_word *words = sma_shell_words(shell, command);
        bool is_cd =
            command->word_count > 1 && words[0].len == 2 && memcmp(words[0].text, "cd", 2) == 0;
        for (uint32_t k = 1; k < command->word_count; k++) {
            bool is_option =
                k > 1 && words[k - 1].len == 2 && memcmp(words[k - 1].text, "-C", 2) == 0;
            size_t reached = naming->folder_count;
            for (size_t from = 0; (is_cd || is_option) && from < reached; from++)
                add_folder(naming, naming->folders[from], &words[k]);
        }
    }
}

/* What a target of make, or of its built-in rules, may be. */
static bool is_target(const struct naming *naming, const struct sma_shell_touch *touch)
{
    return strcmp(base_of(naming->saw->by), "make") == 0 && is_name(naming, &touch->target);
}

bool oracle_is_named(const struct sma_shell *shell, const struct saw *saw)
{
    static struct naming naming;
    naming.saw = saw;
    naming.folder_count = 0;
    find_folders(&naming, shell);
    for (uint32_t i = 0; i < shell->redirect_count; i++)
        if (shell->redirects[i].kind == SMA_REDIRECT_WRITE &&
            is_name(&naming, &shell->redirects[i].target))
            return true;
    for (uint32_t i = 0; i < shell->touch_count; i++) {
        const struct sma_shell_touch *touch = &shell->touches[i];
        if (touch->kind == SMA_TOUCH_MAKE
                ? is_target(&naming, touch)
                : touch->kind != SMA_TOUCH_READ && is_name(&naming, &touch->target))
            return true;
    }
    return false;
}
