/*
 * git_settings.c — what the settings of the project's repository include and name: every git that
 * works there outside of the walls obeys it. Those of submodules and of further trees, too.
 */
#include "decisive_priv.h"

#include "runtime/secrets/secret_files.h"

#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTINGS_BYTES_MAX ((size_t)64 * 1024)
#define TREE_ENTRY_COUNT_MAX 10000 /* looked at for submodules and further trees */

struct including
{
    struct sma_decisive_list *list;
    const char *project_dir;
    char tree[PATH_MAX]; /* absolute: where what they name is looked for */
};

/* It, and what a link of that name leads to. */
static void add_place(const struct including *including, const char *path, const char *suffixes)
{
    char real[PATH_MAX];
    struct sma_decisive item = {
        .path = path, .suffixes = suffixes, .is_of_git = true, .is_awaited = true};
    (void)sma_decisive_add(including->list, including->project_dir, &item);
    item.path = real;
    if (realpath(path, real) != NULL)
        (void)sma_decisive_add(including->list, including->project_dir, &item);
}

/* A word that is a way or a file there: attributes, and the programs of aliases, filters, monitors,
 * helpers and whatever a later git may run. @return a folder: what follows may lie in it */
static bool add_named(const struct including *including, const char *folder, const char *word)
{
    char path[2 * PATH_MAX];
    struct stat facts;
    bool is_whole = word[0] == '/', is_tree = folder == including->tree;
    (void)snprintf(path, sizeof path, "%s%s%s", is_whole ? "" : folder, is_whole ? "" : "/", word);
    bool is_there = stat(path, &facts) == 0;
    bool is_ref = strncmp(word + (word[0] == '+'), "refs/", 5) == 0 || strstr(word, "://") != NULL;
    if (is_there ? S_ISREG(facts.st_mode) : is_tree && strchr(word, '/') != NULL && !is_ref)
        add_place(including, path, NULL);
    return is_there && S_ISDIR(facts.st_mode);
}

static void add_hooks(const struct including *including, const char *value)
{
    const char *home = getenv("HOME");
    char named[PATH_MAX], path[2 * PATH_MAX];
    if (sma_secret_files_value(value, named) == 0)
        return;
    bool is_of_home = strncmp(named, "~/", 2) == 0 && home != NULL;
    const char *folder = is_of_home ? home : named[0] == '/' ? "" : including->tree;
    (void)snprintf(path, sizeof path, "%s%s%s", folder, folder[0] == '\0' ? "" : "/",
                   named + 2 * is_of_home);
    add_place(including, path, SMA_DECISIVE_ALL);
}

static void add_words(const struct including *including, char *line)
{
    static const char between[] = " \t\r\"'`=!;|&(){},<>";
    char folder[PATH_MAX] = "";
    for (char *word; (word = strsep(&line, between)) != NULL;) {
        if (word[0] == '\0')
            continue;
        if (folder[0] != '\0') /* cd folder && ./program */
            (void)add_named(including, folder, word);
        if (add_named(including, including->tree, word))
            (void)snprintf(folder, sizeof folder, "%s%s%s", word[0] == '/' ? "" : including->tree,
                           word[0] == '/' ? "" : "/", word);
    }
}

static void add_all_named(const struct including *including, const char *settings)
{
    char *text = malloc(SETTINGS_BYTES_MAX + 1), *rest = text;
    int fd = text == NULL ? -1 : open(settings, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t len = fd < 0 ? -1 : read(fd, text, SETTINGS_BYTES_MAX);
    if (fd >= 0)
        close(fd);
    if (len > 0)
        text[len] = '\0';
    for (char *line; len > 0 && (line = strsep(&rest, "\n")) != NULL;) {
        line += strspn(line, " \t");
        if (*line == '[')
            line = strchrnul(line, ']') + (strchr(line, ']') != NULL);
        line += strspn(line, " \t");
        char *equals = strchr(line, '=');
        if (strncasecmp(line, "hookspath", 9) == 0 && equals != NULL)
            add_hooks(including, equals + 1);
        else if (*line != ';' && *line != '#')
            add_words(including, line);
    }
    free(text);
}

static bool add_included(void *user, const char *named, const char *path)
{
    const struct including *including = user;
    struct sma_decisive item = {
        .path = named, .is_of_git = true, .is_setting = true, .is_awaited = true};
    (void)sma_decisive_add(including->list, including->project_dir, &item);
    item.path = path; /* a link leads there */
    if (path != NULL && sma_decisive_add(including->list, including->project_dir, &item))
        add_all_named(including, path);
    return true;
}

/* Settings of one repository, seen from one of its trees. */
static void add_settings(struct including *including, const char *git_dir)
{
    /* git reads the second file only where the first says so */
    static const char *const names[] = {"config", "config.worktree"};
    char path[2 * PATH_MAX];
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", git_dir, names[i]);
        (void)sma_secret_files_included(path, add_included, including); /* it wants all */
        add_all_named(including, path);
    }
}

/* Where a submodule lies (core.worktree of its settings), or a tree beside the first (its .git). */
static bool find_tree(const char *path, bool is_module, char tree[PATH_MAX])
{
    char text[PATH_MAX] = "", value[PATH_MAX], named[2 * PATH_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    const char *at = is_module ? strcasestr(text, "worktree =") : text;
    if (at == NULL || sma_secret_files_value(at + (is_module ? 10 : 0), value) == 0)
        return false;
    int above = (int)(strrchr(path, '/') - path) + 1;
    (void)snprintf(named, sizeof named, "%.*s%s", value[0] == '/' ? 0 : above, path, value);
    if (!is_module)
        *strrchr(named, '/') = '\0';
    return realpath(named, tree) != NULL;
}

/* Submodules have settings of their own; those of the repository hold for further trees, too. */
static void add_trees(struct including *including, char *git_dir)
{
    char modules[2 * PATH_MAX], worktrees[2 * PATH_MAX], own[2 * PATH_MAX];
    (void)snprintf(modules, sizeof modules, "%s/modules", git_dir);
    (void)snprintf(worktrees, sizeof worktrees, "%s/worktrees", git_dir);
    FTS *tree =
        fts_open((char *const[]){modules, worktrees, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t left = TREE_ENTRY_COUNT_MAX;
    for (FTSENT *entry; tree != NULL && left-- > 0 && (entry = fts_read(tree)) != NULL;) {
        bool is_module = strcmp(entry->fts_name, "config") == 0;
        if (entry->fts_info == FTS_D &&
            (strcmp(entry->fts_name, "objects") == 0 || strcmp(entry->fts_name, "logs") == 0))
            (void)fts_set(tree, entry, FTS_SKIP);
        if (entry->fts_info != FTS_F || (!is_module && strcmp(entry->fts_name, "gitdir") != 0) ||
            !find_tree(entry->fts_path, is_module, including->tree))
            continue;
        if (!is_module)
            add_settings(including, git_dir);
        (void)snprintf(own, sizeof own, "%.*s", (int)entry->fts_parent->fts_pathlen,
                       entry->fts_path);
        add_settings(including, own);
    }
    if (tree != NULL)
        fts_close(tree);
}

void sma_decisive_add_git(struct sma_decisive_list *list, const char *project_dir)
{
    struct including including = {list, project_dir, ""};
    char git_dir[PATH_MAX];
    if (snprintf(git_dir, sizeof git_dir, "%s/.git", project_dir) >= (int)sizeof git_dir)
        return;
    (void)snprintf(including.tree, sizeof including.tree, "%s", project_dir);
    add_settings(&including, git_dir);
    add_trees(&including, git_dir);
}
