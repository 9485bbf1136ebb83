/*
 * config_decisive.c — the files that this configuration makes decisive (runtime/decisive): those it
 * names itself, what the servers of mcp.json run, and what the settings of git include and name.
 */
#include "config_load.h"

#include "runtime/decisive/decisive.h"
#include "runtime/mcp/mcp_config.h"
#include "runtime/secrets/secret_files.h"
#include "sma/chats.h"
#include "sma/param.h"

#include <fcntl.h>
#include <fts.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add(const struct loading *loading, struct sma_decisive_list *list, const char *path,
                const char *suffixes)
{
    if (path != NULL && path[0] != '\0') /* outside of the project: no tool writes there */
        (void)sma_decisive_add(list, loading->config->project_dir,
                               &(struct sma_decisive){.path = path, .suffixes = suffixes});
}

/* Every row of this kind, of every platform and bot: caFile. */
static void add_files_of_bot(const struct loading *loading, struct sma_decisive_list *list,
                             const struct sma_config_adapter *adapter)
{
    json_t *block = json_loads(adapter->json, 0, NULL);
    struct sma_str platform = sma_bot_platform(sma_str(adapter->name));
    for (const struct sma_params *const *at = loading->platforms; at != NULL && *at != NULL; at++)
        for (size_t i = 0; sma_str_is_equal(platform, sma_str((*at)->name)) && i < (*at)->count;
             i++)
            if ((*at)->rows[i].type == SMA_PARAM_TYPE_FILE)
                add(loading, list, json_string_value(json_object_get(block, (*at)->rows[i].path)),
                    NULL);
    add(loading, list, json_string_value(json_object_get(block, "caFile")), NULL); /* no tables */
    json_decref(block);
}

static const char *find_variable(void *user, const char *name)
{
    return config_find_variable(user, name);
}

/* A file that cannot be read is told by who starts the servers: none of them is started then. */
static void add_servers(struct loading *loading, struct sma_decisive_list *list)
{
    struct sma_mcp_config_options options = {
        .project_dir = loading->config->project_dir, .find = find_variable, .user = loading};
    struct sma_mcp_config *servers = NULL;
    if (sma_mcp_config_load(&options, &servers, NULL) != SMA_ERR_OK)
        return;
    for (size_t i = 0; i < servers->server_count; i++)
        sma_decisive_add_server(list, options.project_dir, &servers->servers[i]);
    sma_mcp_config_destroy(servers);
}

/* -- settings of git --------------------------------------------------------------------------- */
#define SETTINGS_BYTES_MAX ((size_t)64 * 1024)
#define TREE_ENTRY_COUNT_MAX 10000 /* looked at for submodules and further trees */

struct including
{
    const struct loading *loading;
    struct sma_decisive_list *list;
    char tree[PATH_MAX]; /* absolute: where what they name is looked for */
};

/* It, and what a link of that name leads to. */
static void add_place(const struct including *including, const char *path, const char *suffixes)
{
    const char *project_dir = including->loading->config->project_dir;
    char real[PATH_MAX];
    struct sma_decisive item = {
        .path = path, .suffixes = suffixes, .is_of_git = true, .is_awaited = true};
    (void)sma_decisive_add(including->list, project_dir, &item);
    item.path = real;
    if (realpath(path, real) != NULL)
        (void)sma_decisive_add(including->list, project_dir, &item);
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
    const char *project_dir = including->loading->config->project_dir;
    struct sma_decisive item = {
        .path = named, .is_of_git = true, .is_setting = true, .is_awaited = true};
    (void)sma_decisive_add(including->list, project_dir, &item);
    item.path = path; /* a link leads there */
    if (path != NULL && sma_decisive_add(including->list, project_dir, &item))
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

static void add_git_settings(const struct loading *loading, struct sma_decisive_list *list)
{
    struct including including = {loading, list, ""};
    char git_dir[PATH_MAX];
    const char *project_dir = loading->config->project_dir;
    if (snprintf(git_dir, sizeof git_dir, "%s/.git", project_dir) >= (int)sizeof git_dir)
        return;
    (void)snprintf(including.tree, sizeof including.tree, "%s", project_dir);
    add_settings(&including, git_dir);
    add_trees(&including, git_dir);
}

/* Into the room of the configuration. */
static void keep(struct loading *loading, const struct sma_decisive_list *list)
{
    struct sma_decisive *kept =
        list->count == 0 ? NULL : config_keep_room(loading, list->count * sizeof *kept);
    if (kept == NULL)
        return;
    for (size_t i = 0; i < list->count; i++) {
        kept[i] = list->items[i];
        kept[i].path = config_keep_text(loading, kept[i].path);
        if (kept[i].server != NULL)
            kept[i].server = config_keep_text(loading, kept[i].server);
    }
    loading->config->decisive = kept;
    loading->config->decisive_count = list->count;
}

enum sma_err config_read_decisive(struct loading *loading)
{
    const struct sma_config *config = loading->config;
    struct sma_decisive_list list = {0};
    for (size_t i = 0; i < config->chat_count; i++)
        add(loading, &list, config->chats[i].prompt_file, NULL);
    for (size_t i = 0; i < config->adapter_count; i++)
        add_files_of_bot(loading, &list, &config->adapters[i]);
    add(loading, &list, config_find_variable(loading, "SSL_CERT_FILE"), NULL);
    add(loading, &list, config_find_variable(loading, "SSL_CERT_DIR"), SMA_DECISIVE_ALL);
    add_servers(loading, &list);
    add_git_settings(loading, &list);
    if (list.is_cut)
        config_warn(loading,
                    "%s: its MCP servers name more than %d files of the project; those beyond are "
                    "not kept from being written",
                    config->project_dir, SMA_DECISIVE_COUNT_MAX);
    loading->is_out_of_memory |= list.is_out_of_memory;
    keep(loading, &list);
    sma_decisive_list_fini(&list);
    return SMA_ERR_OK;
}
