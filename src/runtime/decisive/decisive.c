/* decisive.c — the set: kept, and what a path is to it. See decisive.h. */
#include "decisive_priv.h"

#include "runtime/mcp/mcp_config.h"
#include "runtime/policy/programs.h"
#include "sma/text.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* -- the list ---------------------------------------------------------------------------------- */
void sma_decisive_list_fini(struct sma_decisive_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free((char *)(uintptr_t)list->items[i].path);
        free((char *)(uintptr_t)list->items[i].server);
    }
    free(list->items);
    *list = (struct sma_decisive_list){0};
}

bool sma_decisive_clean(const char *project_dir, const char *path, char room[PATH_MAX])
{
    size_t len = strlen(project_dir), used = 0;
    if (path[0] == '/') {
        if (strncmp(path, project_dir, len) != 0 || (path[len] != '/' && path[len] != '\0'))
            return false;
        path += len;
    }
    room[0] = '\0';
    while (*path != '\0') {
        size_t part = strcspn(path, "/");
        if (part == 2 && memcmp(path, "..", 2) == 0) {
            if (used == 0)
                return false;
            char *slash = memrchr(room, '/', used);
            used = slash == NULL ? 0 : (size_t)(slash - room);
        } else if (part > 0 && !(part == 1 && path[0] == '.')) {
            if (used + part + 2 > PATH_MAX)
                return false;
            if (used > 0)
                room[used++] = '/';
            memcpy(room + used, path, part);
            used += part;
        }
        room[used] = '\0';
        path += part + (path[part] == '/');
    }
    return true;
}

static bool is_same(const struct sma_decisive *a, const struct sma_decisive *b)
{
    bool is_one_kind = (a->suffixes == NULL) == (b->suffixes == NULL) &&
                       (a->suffixes == NULL || strcmp(a->suffixes, b->suffixes) == 0);
    return is_one_kind && strcmp(a->path, b->path) == 0 && a->is_library == b->is_library &&
           (a->server == NULL ? b->server == NULL
                              : b->server != NULL && strcmp(a->server, b->server) == 0);
}

static bool grow(struct sma_decisive_list *list)
{
    if (list->count < list->capacity)
        return true;
    size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
    struct sma_decisive *items = realloc(list->items, capacity * sizeof *items);
    if (items == NULL)
        return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

bool sma_decisive_add(struct sma_decisive_list *list, const char *project_dir,
                      const struct sma_decisive *item)
{
    char path[PATH_MAX];
    struct sma_decisive added = *item;
    if (!sma_decisive_clean(project_dir, item->path, path) ||
        (path[0] == '\0' && item->suffixes == NULL))
        return false;
    added.path = path;
    for (size_t i = 0; i < list->count; i++)
        if (is_same(&list->items[i], &added)) {
            list->items[i].is_awaited |= added.is_awaited;
            return true;
        }
    if (list->count >= SMA_DECISIVE_COUNT_MAX) {
        list->is_cut = true;
        return false;
    }
    added.path = strdup(path);
    added.server = item->server == NULL ? NULL : strdup(item->server);
    if (added.path == NULL || (item->server != NULL && added.server == NULL) || !grow(list)) {
        free((char *)(uintptr_t)added.path);
        free((char *)(uintptr_t)added.server);
        list->is_out_of_memory = true;
        return false;
    }
    list->items[list->count++] = added;
    return true;
}

/* -- judging ----------------------------------------------------------------------------------- */
/* The next part of a path; false at the end. */
static bool next_part(struct sma_str *rest, struct sma_str *ret_part)
{
    while (rest->len > 0) {
        const char *slash = memchr(rest->ptr, '/', rest->len);
        size_t len = slash == NULL ? rest->len : (size_t)(slash - rest->ptr);
        *ret_part = (struct sma_str){rest->ptr, len};
        size_t gone = len + (slash != NULL);
        *rest = (struct sma_str){rest->ptr + gone, rest->len - gone};
        if (ret_part->len > 0)
            return true;
    }
    return false;
}

/* May this part of a path be that name? Without case: some file systems are. */
static bool may_be(struct sma_str part, struct sma_str name)
{
    char pattern[NAME_MAX * 2 + 1], text[NAME_MAX + 1];
    size_t len = 0;
    if (name.len >= sizeof text)
        return false;
    for (size_t i = 0; i < part.len && len + 2 < sizeof pattern; i++) {
        bool is_wild = part.ptr[i] == '\1' || part.ptr[i] == '\2';
        if (is_wild && len > 0 && pattern[len - 1] == '*')
            continue;
        if (!is_wild && strchr("*?[]\\", part.ptr[i]) != NULL)
            pattern[len++] = '\\'; /* a file may be called so */
        pattern[len++] = is_wild ? '*' : part.ptr[i];
    }
    pattern[len] = '\0';
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
}

/* What no program runs or imports. What is not here may be code or steer it: no suffix, JSON, YAML,
 * pages with scripts or templates. */
static const char DATA_SUFFIXES[] =
    "md txt rst csv tsv log png jpg jpeg gif webp bmp ico svg pdf mp3 mp4 wav ogg webm db sqlite "
    "sqlite3 db3 duckdb parquet docx xlsx pptx";

bool sma_decisive_is_data(struct sma_str path)
{
    return sma_list_has(DATA_SUFFIXES, sma_path_suffix(path));
}

bool sma_decisive_is_open(const struct sma_config *config, const char *server)
{
    for (size_t i = 0; i < config->decisive_count; i++) {
        const struct sma_decisive *item = &config->decisive[i];
        if (item->server != NULL && strcmp(item->server, server) == 0 && item->suffixes != NULL &&
            strcmp(item->suffixes, SMA_DECISIVE_NO_DATA) == 0)
            return true;
    }
    return false;
}

/* As far as its words tell. */
static bool runs_project(const struct sma_config *config, const char *server)
{
    for (size_t i = 0; i < config->decisive_count; i++)
        if (config->decisive[i].server != NULL && strcmp(config->decisive[i].server, server) == 0)
            return true;
    return false;
}

const char *sma_decisive_warning(const struct sma_config *config,
                                 const struct sma_mcp_config_server *server,
                                 const char **ret_remedy)
{
    if (sma_decisive_is_open(config, server->name)) {
        *ret_remedy = "give it a folder outside of the project, or walls";
        return "runs from the project without walls: what a command writes there may run in it";
    }
    if (!server->is_sandboxed || !sma_decisive_has_means(server) ||
        !runs_project(config, server->name))
        return NULL;
    *ret_remedy = "install it outside of the project, and name it by its whole path";
    return "runs from the project with a network or keys of its own: what a command or the agent "
           "writes there may run in it and use them";
}

static bool is_loaded(const struct sma_decisive *item, struct sma_str path)
{
    struct sma_str suffix = sma_path_suffix(path);
    bool is_open = suffix.len > 0 && (memchr(suffix.ptr, '\1', suffix.len) != NULL ||
                                      memchr(suffix.ptr, '\2', suffix.len) != NULL);
    bool is_wild = path.len > 0 && memchr("\1\2", path.ptr[path.len - 1], 2) != NULL;
    if (strcmp(item->suffixes, SMA_DECISIVE_NO_DATA) == 0)
        return is_open || is_wild || !sma_decisive_is_data(path);
    return is_open || is_wild || strcmp(item->suffixes, SMA_DECISIVE_ALL) == 0 ||
           sma_list_has(item->suffixes, suffix);
}

static enum sma_policy_write judge_one(const struct sma_decisive *item, struct sma_str path)
{
    struct sma_str item_rest = sma_str(item->path), path_rest = path, name, part;
    for (;;) {
        bool has_name = next_part(&item_rest, &name), has_part = next_part(&path_rest, &part);
        if (!has_part) /* it, or a folder above it */
            return SMA_POLICY_WRITE_OWNER;
        if (!has_name) { /* below it */
            bool is_direct = item->path[0] != '\0' && path_rest.len == 0;
            if (item->suffixes == NULL)
                return SMA_POLICY_WRITE_FREE;
            if (is_loaded(item, path) || (is_direct && !sma_decisive_is_data(path)))
                return SMA_POLICY_WRITE_OWNER;
            return is_direct ? SMA_POLICY_WRITE_ASKED : SMA_POLICY_WRITE_FREE;
        }
        if (!may_be(part, name))
            return SMA_POLICY_WRITE_FREE;
    }
}

enum sma_policy_write sma_decisive_judge(const struct sma_config *config, struct sma_str path,
                                         const char **ret_why)
{
    enum sma_policy_write worst = SMA_POLICY_WRITE_FREE;
    *ret_why = "";
    for (size_t i = 0; path.len > 0 && i < config->decisive_count; i++) {
        const struct sma_decisive *item = &config->decisive[i];
        enum sma_policy_write found = judge_one(item, path);
        if (found <= worst)
            continue;
        worst = found;
        *ret_why = item->server != NULL ? "an MCP server runs it, or loads it"
                   : item->is_of_git    ? "the settings of git name it"
                                        : "ship.json names it: it decides what this agent is";
    }
    return worst;
}
