/*
 * config.c — a project folder becomes one immutable struct sma_config, or one line that says what
 * to mend.
 */
#include "config_load.h"

#include "runtime/access/roles.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_BYTES_MAX (4 * 1024 * 1024)
static const char DEFAULT_ROLE[] = "You are a helpful project assistant.\n"
                                   "Help the people who talk to you with this project.";

/* Owns every string of a config: a list of blocks freed together. */
struct storage
{
    struct storage *next;
    _Alignas(void *) char bytes[];
};

static void ignore_warning(void *user, const char *line)
{
    (void)user;
    (void)line;
}

/* Room that lives as long as the configuration, aligned for pointers; NULL without memory. */
void *config_keep_room(struct loading *loading, size_t len)
{
    struct storage *block = malloc(sizeof *block + len);
    if (block == NULL) {
        loading->is_out_of_memory = true;
        return NULL;
    }
    block->next = loading->config->storage;
    loading->config->storage = block;
    return block->bytes;
}

static const char *keep(struct loading *loading, const char *bytes, size_t len)
{
    char *room = config_keep_room(loading, len + 1);
    if (room == NULL)
        return "";
    memcpy(room, bytes, len);
    room[len] = '\0';
    return room;
}

const char *config_keep_text(struct loading *loading, const char *text)
{
    return keep(loading, text, strlen(text));
}

void config_warn(struct loading *loading, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    loading->warn(loading->user, line);
}

/* -- missing variables ------------------------------------------------------------------------- */
void config_note_missing(void *user, const char *path, const char *variable)
{
    struct loading *loading = user;
    if (loading->missing_count == SMA_COUNT_OF(loading->missing_path))
        return;
    snprintf(loading->missing_path[loading->missing_count], 128, "%s", path);
    snprintf(loading->missing_name[loading->missing_count], 128, "%s", variable);
    loading->missing_count++;
}

/* The variable whose absence removed `path`, or NULL. */
const char *config_missing_variable(const struct loading *loading, const char *path)
{
    for (size_t i = 0; i < loading->missing_count; i++)
        if (strcmp(loading->missing_path[i], path) == 0)
            return loading->missing_name[i];
    return NULL;
}

/* -- files ------------------------------------------------------------------------------------- */
static enum sma_err read_project_file(struct loading *loading, const char *name, char **ret_bytes,
                                      size_t *ret_len)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", loading->config->project_dir, name);
    return sma_sys_read_file(sma_sys_real(), path, FILE_BYTES_MAX, ret_bytes, ret_len,
                             loading->error);
}

/* -- variables --------------------------------------------------------------------------------- */
static struct env_variable *find_in(const struct env_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->items[i].name, name) == 0)
            return &table->items[i];
    return NULL;
}

static bool reserve_one(struct env_table *table)
{
    if (table->count < table->capacity)
        return true;
    size_t capacity = table->capacity == 0 ? 16 : table->capacity * 2;
    struct env_variable *items = realloc(table->items, capacity * sizeof *items);
    if (items == NULL)
        return false;
    table->items = items;
    table->capacity = capacity;
    return true;
}

/* dotenv: the last duplicate wins. */
static void set_variable(void *user, const char *name, const char *value)
{
    struct env_table *table = user;
    struct env_variable *variable = find_in(table, name);
    char *copy = strdup(value);
    if (variable != NULL && copy != NULL) {
        free(variable->value);
        variable->value = copy;
        return;
    }
    char *name_copy = copy != NULL && reserve_one(table) ? strdup(name) : NULL;
    if (name_copy == NULL) {
        free(copy);
        table->is_out_of_memory = true;
        return;
    }
    table->items[table->count++] = (struct env_variable){name_copy, copy};
}

static void env_table_fini(struct env_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->items[i].name);
        free(table->items[i].value);
    }
    free(table->items);
}

/* What the first load put into the environment for the libraries that read it (proxies, say). Later
 * loads, which run beside other threads, must not touch the environment; they only have to know
 * which values of it are not the user's. */
static struct env_table exported;
static bool has_exported;

static void export_once(struct env_table *table)
{
    if (has_exported)
        return;
    has_exported = true;
    for (size_t i = 0; i < table->count; i++) {
        const struct env_variable *variable = &table->items[i];
        if (getenv(variable->name) != NULL)
            continue;
        if (setenv(variable->name, variable->value, 0) != 0)
            table->is_out_of_memory = true;
        set_variable(&exported, variable->name, variable->value);
    }
    table->is_out_of_memory = table->is_out_of_memory || exported.is_out_of_memory;
}

/* dotenv: a variable of the real environment wins over the file. */
const char *config_find_variable(void *user, const char *name)
{
    const struct loading *loading = user;
    const char *value = getenv(name);
    const struct env_variable *ours = value == NULL ? NULL : find_in(&exported, name);
    if (value != NULL && (ours == NULL || strcmp(ours->value, value) != 0))
        return value;
    const struct env_variable *variable = find_in(&loading->env, name);
    return variable == NULL ? NULL : variable->value;
}

/* The names of this .env and of the one that was exported, so that no child process gets what a
 * .env brought. */
static void keep_env_names(struct loading *loading)
{
    size_t count = loading->env.count + exported.count;
    const char **names = config_keep_room(loading, (count + 1) * sizeof *names);
    if (names == NULL)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < loading->env.count; i++)
        names[kept++] = config_keep_text(loading, loading->env.items[i].name);
    for (size_t i = 0; i < exported.count; i++)
        if (find_in(&loading->env, exported.items[i].name) == NULL)
            names[kept++] = config_keep_text(loading, exported.items[i].name);
    loading->config->dotenv_names = names;
    loading->config->dotenv_count = kept;
}

static enum sma_err load_env(struct loading *loading)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    enum sma_err err = read_project_file(loading, ".env", &bytes, &len);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    if (err == SMA_ERR_OK)
        err = sma_env_parse((struct sma_str){bytes, len}, set_variable, &loading->env);
    export_once(&loading->env);
    keep_env_names(loading);
    return loading->env.is_out_of_memory ? SMA_ERR_NOMEM
           : err == SMA_ERR_NOTFOUND     ? SMA_ERR_OK
                                         : err;
}

enum sma_err config_read_prompt(struct loading *loading, const char *name, const char **ret_text)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    SMA_TRY(read_project_file(loading, name, &bytes, &len));
    struct sma_str text = {bytes, len};
    if (text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0)
        text = (struct sma_str){text.ptr + 3, text.len - 3};
    text = sma_str_trim(text);
    if (!sma_utf8_is_valid(text))
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s/%s: is not valid UTF-8; save it as UTF-8", loading->config->project_dir,
                        name);
    *ret_text = text.len == 0 ? DEFAULT_ROLE : keep(loading, text.ptr, text.len);
    return SMA_ERR_OK;
}

static enum sma_err load_agent_md(struct loading *loading)
{
    enum sma_err err = config_read_prompt(loading, "Agent.md", &loading->config->agent_md);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    return sma_fail(loading->error, SMA_ERR_NOTFOUND,
                    "%s: no Agent.md here; run `shipmyagent init %s` or name the project folder",
                    loading->config->project_dir, loading->config->project_dir);
}

static enum sma_err load_ship_json(struct loading *loading)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    enum sma_err err = read_project_file(loading, "ship.json", &bytes, &len);
    if (err == SMA_ERR_NOTFOUND) {
        loading->root = json_object();
        return loading->root == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK)
        return err;
    const char *text = bytes;
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        len -= 3;
    }
    json_error_t where;
    loading->root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    if (loading->root == NULL)
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s:%d:%d: not valid JSON: %s; mend that line", loading->file, where.line,
                        where.column,
                        json_error_code(&where) == json_error_null_character
                            ? "\\u0000 is not allowed here" /* jansson names its own flag */
                            : where.text);
    loading->llm_written = json_deep_copy(json_object_get(loading->root, "llm"));
    loading->chats_written = json_deep_copy(json_object_get(loading->root, "chats"));
    struct sma_variables variables = {config_find_variable, config_note_missing, loading};
    if (sma_config_substitute(loading->root, &variables) != SMA_ERR_OK)
        return sma_fail(loading->error, SMA_ERR_BADINPUT, "%s: nested too deeply", loading->file);
    struct config_check check = {loading->file,  loading->platforms, loading->warn,  loading->user,
                                 loading->error, &loading->unused,   &loading->late, NULL};
    return sma_config_validate(&check, loading->root);
}

/* -- the rest ---------------------------------------------------------------------------------- */
/* What `access` says for all platforms stands in the blocks of those that do not say it themselves.
 * */
static enum sma_err spread_access(struct loading *loading, const char *name, json_t *block)
{
    json_t *everywhere = json_object_get(loading->root, "access");
    if (strcmp(name, "http") == 0 || strcmp(name, "terminal") == 0 || everywhere == NULL ||
        json_object_get(block, "access") != NULL)
        return SMA_ERR_OK;
    return json_object_set(block, "access", everywhere) == 0 ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static bool is_true(const json_t *value)
{
    const char *text = json_string_value(value);
    return json_is_true(value) || (text != NULL && strcmp(text, "true") == 0);
}

static enum sma_err add_adapters(struct loading *loading, const char *block)
{
    struct sma_config *config = loading->config;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(loading->root, block), name, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < config->adapter_count; i++)
            is_known = is_known || strcmp(config->adapters[i].name, name) == 0;
        if (is_known) /* `adapters` is read first and wins over `integrations` */
            continue;
        if (config->adapter_count == SMA_COUNT_OF(config->adapters))
            return sma_fail(loading->error, SMA_ERR_TOOBIG, "%s: %s has more than %zu entries",
                            loading->file, block, SMA_COUNT_OF(config->adapters));
        SMA_TRY(spread_access(loading, name, value));
        char *text = json_dumps(value, JSON_COMPACT);
        if (text == NULL)
            return SMA_ERR_NOMEM;
        struct sma_config_adapter *adapter = &config->adapters[config->adapter_count++];
        adapter->name = config_keep_text(loading, name);
        adapter->is_enabled = is_true(json_object_get(value, "enabled"));
        adapter->says_enabled = json_object_get(value, "enabled") != NULL;
        adapter->json = config_keep_text(loading, text);
        free(text);
    }
    return SMA_ERR_OK;
}

static void warn_missing_secrets(struct loading *loading)
{
    for (size_t i = 0; i < loading->missing_count; i++) {
        char name[64] = "";
        if (sscanf(loading->missing_path[i], "adapters.%63[^.]", name) != 1 &&
            sscanf(loading->missing_path[i], "integrations.%63[^.]", name) != 1)
            continue;
        for (size_t k = 0; k < loading->config->adapter_count; k++)
            if (strcmp(loading->config->adapters[k].name, name) == 0 &&
                loading->config->adapters[k].is_enabled)
                config_warn(loading, "%s: %s uses ${%s}, which is not set; put %s=... into .env",
                            loading->file, loading->missing_path[i], loading->missing_name[i],
                            loading->missing_name[i]);
    }
}

static enum sma_err read_permissions(struct loading *loading)
{
    loading->config->permissions_json = "";
    const json_t *permissions = json_object_get(loading->root, "permissions");
    if (permissions == NULL)
        return SMA_ERR_OK;
    char *text = json_dumps(permissions, JSON_COMPACT);
    if (text == NULL) {
        loading->is_out_of_memory = true;
        return SMA_ERR_OK;
    }
    loading->config->permissions_json = config_keep_text(loading, text);
    free(text);
    struct sma_access_roles *roles = NULL;
    struct sma_error error = {0};
    enum sma_err err =
        sma_access_roles_parse(sma_str(loading->config->permissions_json), &roles, &error);
    sma_access_roles_destroy(roles);
    return err == SMA_ERR_OK ? SMA_ERR_OK
                             : sma_fail(loading->error, err, "%s: %s", loading->file, error.text);
}

static char *keep_for_row(void *user, const char *text)
{
    return (char *)(uintptr_t)config_keep_text(user, text);
}

/* Where rows of this file are read from. */
struct sma_param_source config_source(struct loading *loading, const json_t *root,
                                      const char *place)
{
    return (struct sma_param_source){.root = (json_t *)(uintptr_t)root,
                                     .file = loading->file,
                                     .place = place,
                                     .project_dir = loading->config->project_dir,
                                     .keep = keep_for_row,
                                     .user = loading,
                                     .error = loading->error};
}

static enum sma_err read_general(struct loading *loading,
                                 const struct sma_config_overrides *overrides)
{
    struct sma_config *config = loading->config;
    struct sma_param_source source = config_source(loading, loading->root, "");
    const char *slash = strrchr(config->project_dir, '/');
    SMA_TRY(sma_params_set_defaults(&config_params, &source, config));
    SMA_TRY(sma_params_read(&config_params, &source, config));
    if (config->name[0] == '\0')
        config->name = config_keep_text(loading, slash == NULL ? "agent" : slash + 1);
    config->sandbox = "";
    if (overrides == NULL)
        return SMA_ERR_OK;
    if (overrides->sandbox != NULL)
        config->sandbox = config_keep_text(loading, overrides->sandbox);
    if (overrides->host != NULL)
        config->start_host = config_keep_text(loading, overrides->host);
    if (overrides->port != 0)
        config->start_port = overrides->port < 0 ? 0 : overrides->port;
    return SMA_ERR_OK;
}

static enum sma_err resolve_dir(struct loading *loading, const char *dir)
{
    char path[PATH_MAX];
    if (realpath(dir, path) == NULL)
        return sma_fail_os(loading->error, errno, "%s: not a folder", dir);
    loading->config->project_dir = config_keep_text(loading, path);
    char state[PATH_MAX + 8];
    snprintf(state, sizeof state, "%s/.ship", path);
    loading->config->state_dir = config_keep_text(loading, state);
    char file[PATH_MAX + 16];
    snprintf(file, sizeof file, "%s/ship.json", path);
    loading->file = config_keep_text(loading, file);
    return SMA_ERR_OK;
}

static enum sma_err fill(struct loading *loading, const char *dir,
                         const struct sma_config_overrides *overrides)
{
    SMA_TRY(resolve_dir(loading, dir));
    SMA_TRY(load_agent_md(loading));
    SMA_TRY(load_env(loading));
    SMA_TRY(load_ship_json(loading));
    SMA_TRY(config_read_llm(loading, overrides));
    SMA_TRY(add_adapters(loading, "adapters"));
    SMA_TRY(add_adapters(loading, "integrations"));
    SMA_TRY(read_general(loading, overrides));
    SMA_TRY(config_check_header_value(loading, "api.token", loading->config->api_token));
    SMA_TRY(read_permissions(loading));
    warn_missing_secrets(loading);
    config_warn_unused(loading);
    config_warn_prices(loading->config, loading->warn, loading->user);
    loading->config->late_values =
        config_keep_text(loading, loading->late.ptr == NULL ? "" : loading->late.ptr);
    return loading->is_out_of_memory ? sma_fail(loading->error, SMA_ERR_NOMEM, "out of memory")
                                     : SMA_ERR_OK;
}

enum sma_err sma_config_load(const char *dir, const struct sma_config_overrides *overrides,
                             sma_config_warn_fn *warn, void *user, struct sma_config **ret_config,
                             struct sma_error *error)
{
    struct sma_config *config = calloc(1, sizeof *config);
    if (config == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    struct loading loading = {.config = config,
                              .platforms = overrides == NULL ? NULL : overrides->platforms,
                              .warn = warn == NULL ? ignore_warning : warn,
                              .user = user,
                              .error = error};
    sma_buf_init(&loading.unused, 4096);
    sma_buf_init(&loading.late, FILE_BYTES_MAX * 2);
    enum sma_err err = fill(&loading, dir, overrides);
    json_decref(loading.root);
    json_decref(loading.llm_written);
    json_decref(loading.chats_written);
    env_table_fini(&loading.env);
    sma_buf_fini(&loading.unused);
    sma_buf_fini(&loading.late);
    if (err != SMA_ERR_OK) {
        sma_config_destroy(config);
        return err;
    }
    *ret_config = config;
    return SMA_ERR_OK;
}

void sma_config_destroy(struct sma_config *config)
{
    if (config == NULL)
        return;
    struct storage *block = config->storage;
    while (block != NULL) {
        struct storage *next = block->next;
        free(block);
        block = next;
    }
    free(config);
}
