/*
 * config.c — a project folder becomes one immutable struct sma_config, or one line that says what
 * to mend.
 */
#include "config_load.h"

#include "runtime/access/roles.h"
#include "runtime/web/rules.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void ignore_warning(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static enum sma_err load_agent_md(struct loading *loading)
{
    enum sma_err err = config_read_prompt(loading, "Agent.md", &loading->config->agent_md);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    /* whoever types it in a fresh shell must not make an agent of all that is theirs */
    const char *dir = loading->config->project_dir, *home = getenv("HOME");
    bool is_home = home != NULL && strcmp(home, dir) == 0;
    return sma_fail(loading->error, SMA_ERR_NOTFOUND,
                    "%s: no Agent.md here; run `shipmyagent init %s` or name the project folder",
                    dir, is_home ? "my-agent" : dir);
}

/* What the parser's words meant, most of the time. */
static const char *explain_json(const json_error_t *where)
{
    static const struct
    {
        const char *said, *means;
    } rows[] = {
        {"expected near '}'", "a comma too many or a ] missing before the }"},
        {"unexpected token near ']'", "a comma too many before the ]"},
        {"string or '}' expected near end of file", "a } is missing"},
        {"'[' or '{' expected near end of file", "the file is empty; it must hold at least {}"},
        {"string or '}' expected near '/'", "JSON knows no comments; take it out"},
        {"string or '}' expected near", "a name in double quotes must stand here"},
        {"'}' expected near", "a comma or a } is missing before this"},
        {"']' expected near", "a comma or a ] is missing before this"},
        {"':' expected near", "a : is missing before this"},
        {"invalid token near", "text must stand in double quotes"},
        {"duplicate object key", "take one of the two out"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (strstr(where->text, rows[i].said) != NULL)
            return rows[i].means;
    return "correct that line";
}

/* Rules of commands and patterns of names may mean those very characters; not folders. */
static bool is_pattern(const char *path)
{
    static const char *const lists[] = {
        "permissions.exec_shell.allow", "permissions.exec_shell.deny",
        "permissions.read_repo.paths", "permissions.write_repo.paths", "permissions.mcp."};
    for (size_t i = 0; i < SMA_COUNT_OF(lists); i++)
        if (strncmp(path, lists[i], strlen(lists[i])) == 0)
            return true;
    return false;
}

static void warn_inside(void *user, const char *path, const char *variable)
{
    struct loading *loading = user;
    if (!is_pattern(path))
        config_warn(loading,
                    "%s: %s holds ${%s} within a longer text, and keeps it as it stands: only a "
                    "value that is nothing else is replaced; put the whole value into .env",
                    loading->file, path, variable);
}

static void warn_unknown(void *user, const char *path, const char *text)
{
    struct loading *loading = user;
    if (!is_pattern(path))
        config_warn(loading,
                    "%s: %s is \"%.80s\" and keeps that text: a variable is written ${NAME} or "
                    "${NAME:-otherwise}, its name of A-Z, 0-9 and _",
                    loading->file, path, text);
}

static enum sma_err load_ship_json(struct loading *loading)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    enum sma_err err = config_read_project_file(loading, "ship.json", &bytes, &len);
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
        return sma_fail(loading->error, SMA_ERR_BADINPUT, "%s:%d:%d: not valid JSON: %s; %s",
                        loading->file, where.line, where.column,
                        json_error_code(&where) == json_error_null_character
                            ? "\\u0000 is not allowed here" /* jansson names its own flag */
                            : where.text,
                        explain_json(&where));
    loading->llm_written = json_deep_copy(json_object_get(loading->root, "llm"));
    loading->chats_written = json_deep_copy(json_object_get(loading->root, "chats"));
    struct sma_variables variables = {.find = config_find_variable,
                                      .missing = config_note_missing,
                                      .inside = warn_inside,
                                      .unknown = warn_unknown,
                                      .user = loading};
    if (sma_config_substitute(loading->root, &variables) != SMA_ERR_OK)
        return sma_fail(loading->error, SMA_ERR_BADINPUT, "%s: nested too deeply", loading->file);
    struct config_check check = {loading->file,  loading->platforms, loading->warn,  loading->user,
                                 loading->error, &loading->unused,   &loading->late, NULL,
                                 &loading->live};
    return sma_config_validate(&check, loading->root);
}

/* -- the rest ---------------------------------------------------------------------------------- */
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

static const char *keep_member(struct loading *loading, const char *name)
{
    const json_t *member = json_object_get(loading->root, name);
    char *text = member == NULL ? NULL : json_dumps(member, JSON_COMPACT);
    const char *kept = text == NULL ? "" : config_keep_text(loading, text);
    loading->is_out_of_memory = loading->is_out_of_memory || (member != NULL && text == NULL);
    free(text);
    return kept;
}

static enum sma_err read_web(struct loading *loading)
{
    struct sma_config_web *web = &loading->config->web;
    struct sma_web_rules *rules = NULL;
    struct sma_error error = {0};
    const char *url, *key;
    web->json = keep_member(loading, "web");
    enum sma_err err =
        sma_web_rules_parse(loading->config->permissions_json, web->json, &rules, &error);
    if (err != SMA_ERR_OK)
        return sma_fail(loading->error, err, "%s: %s", loading->file, error.text);
    web->has_fetch = sma_web_rules_has_fetch(rules);
    web->has_search = sma_web_rules_search(rules, &url, &key) != SMA_WEB_SEARCH_NONE;
    sma_web_rules_destroy(rules);
    return SMA_ERR_OK;
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
    if (config->agent_is_strict)
        config->agent_concurrency = 1;
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
    SMA_TRY(config_load_env(loading));
    SMA_TRY(load_ship_json(loading));
    SMA_TRY(config_read_llm(loading, overrides));
    SMA_TRY(config_add_adapters(loading, "adapters"));
    SMA_TRY(config_add_adapters(loading, "integrations"));
    SMA_TRY(read_general(loading, overrides));
    SMA_TRY(config_check_header_value(loading, "api.token", loading->config->api_token));
    SMA_TRY(config_read_cors(loading));
    SMA_TRY(config_read_hooks(loading));
    SMA_TRY(config_read_skills(loading));
    SMA_TRY(read_permissions(loading));
    SMA_TRY(read_web(loading));
    SMA_TRY(config_read_decisive(loading));
    config_warn_missing_secrets(loading);
    config_warn_unused(loading);
    config_warn_prices(loading->config, loading->warn, loading->user);
    loading->config->late_values =
        config_keep_text(loading, loading->late.ptr == NULL ? "" : loading->late.ptr);
    loading->config->live_values =
        config_keep_text(loading, loading->live.ptr == NULL ? "" : loading->live.ptr);
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
    sma_buf_init(&loading.late, CONFIG_FILE_BYTES_MAX * 2);
    sma_buf_init(&loading.live, CONFIG_FILE_BYTES_MAX * 2);
    enum sma_err err = fill(&loading, dir, overrides);
    json_decref(loading.root);
    json_decref(loading.llm_written);
    json_decref(loading.chats_written);
    config_env_fini(&loading.env);
    sma_buf_fini(&loading.unused);
    sma_buf_fini(&loading.late);
    sma_buf_fini(&loading.live);
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
    config_free_room(config);
    free(config);
}
