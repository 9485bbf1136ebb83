/*
 * config_decisive.c — the files that this configuration makes decisive (runtime/decisive): those it
 * names itself, what the servers of mcp.json run, and what the settings of git include and name.
 */
#include "config_load.h"

#include "runtime/decisive/decisive.h"
#include "runtime/mcp/mcp_config.h"
#include "sma/chats.h"
#include "sma/param.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
    sma_decisive_add_git(&list, loading->config->project_dir);
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
