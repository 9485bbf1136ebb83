/*
 * config_bots.c — the blocks of `adapters`: a platform's is an object or, with several bots, a list
 * of them. Here a list becomes a block for each bot, under the bot's name (sma/bot.h), so that
 * nobody behind this file knows of lists.
 */
#include "config_load.h"

#include "param_priv.h"
#include "sma/bot.h"

#include <stdio.h>
#include <stdlib.h>

/* -- names ------------------------------------------------------------------------------------- */
static const char *id_of(const json_t *bot)
{
    const char *id = json_string_value(json_object_get(bot, "id"));
    return id == NULL ? "" : id;
}

void config_put_bot_name(char room[SMA_BOT_NAME_BYTES_MAX], const char *platform, const json_t *bot)
{
    const char *id = id_of(bot);
    (void)snprintf(room, SMA_BOT_NAME_BYTES_MAX, "%.40s%s%.*s", platform, id[0] == '\0' ? "" : "@",
                   SMA_BOT_ID_BYTES_MAX, id);
}

static const json_t *list_of(const json_t *root, struct sma_str platform)
{
    static const char *const blocks[] = {"adapters", "integrations"};
    for (size_t i = 0; i < SMA_COUNT_OF(blocks); i++) {
        const json_t *list =
            json_object_getn(json_object_get(root, blocks[i]), platform.ptr, platform.len);
        if (list != NULL)
            return list;
    }
    return NULL;
}

bool config_has_bot(const json_t *root, struct sma_str name)
{
    size_t i;
    const json_t *bot;
    json_array_foreach(list_of(root, sma_bot_platform(name)), i, bot)
    {
        if (sma_str_is_equal(sma_str(id_of(bot)), sma_bot_id(name)))
            return true;
    }
    return false;
}

/* -- what a list must be ----------------------------------------------------------------------- */
static enum sma_err check_id(const struct config_check *check, const char *shown, size_t index,
                             const json_t *bot)
{
    const json_t *id = json_object_get(bot, "id");
    if (!json_is_object(bot))
        return sma_fail(check->error, SMA_ERR_BADINPUT, "%s: %s.%zu must be an object", check->file,
                        shown, index);
    if (json_is_null(id))
        id = NULL;
    if (id == NULL && index == 0)
        return SMA_ERR_OK; /* the bot that was there before the list */
    if (id == NULL)
        return sma_fail(check->error, SMA_ERR_BADINPUT,
                        "%s: %s.%zu has no id; every bot but the first of the list needs one, "
                        "such as \"id\": \"support\"",
                        check->file, shown, index);
    if (!sma_bot_id_is_good((struct sma_str){json_string_value(id), json_string_length(id)}))
        return sma_fail(check->error, SMA_ERR_BADINPUT, "%s: %s.%zu.id must be " SMA_BOT_ID_RULE,
                        check->file, shown, index);
    return SMA_ERR_OK;
}

enum sma_err config_check_bots(const struct config_check *check, const char *shown,
                               const json_t *list)
{
    if (json_array_size(list) == 0)
        return sma_fail(check->error, SMA_ERR_BADINPUT,
                        "%s: %s is an empty list; write an object, or one for each bot",
                        check->file, shown);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *bot = json_array_get(list, i);
        SMA_TRY(check_id(check, shown, i, bot));
        for (size_t k = 0; k < i; k++)
            if (strcmp(id_of(bot), id_of(json_array_get(list, k))) == 0)
                return sma_fail(check->error, SMA_ERR_BADINPUT,
                                "%s: %s: two bots have the id \"%s\"; chats, files and status tell "
                                "them apart by it",
                                check->file, shown, id_of(bot));
    }
    return SMA_ERR_OK;
}

/* -- one account, one bot ---------------------------------------------------------------------- */
static bool is_true(const json_t *value)
{
    const char *text = json_string_value(value);
    return json_is_true(value) || (text != NULL && strcmp(text, "true") == 0);
}

/* What this key is for the bot; the variable is the first bot's. */
static const char *value_of(struct loading *loading, const struct sma_param *row, const json_t *bot)
{
    const char *text = json_string_value(json_object_get(bot, row->path));
    if ((text == NULL || text[0] == '\0') && row->env != NULL && id_of(bot)[0] == '\0')
        text = config_find_variable(loading, row->env);
    return text == NULL || !is_true(json_object_get(bot, "enabled")) ? "" : text;
}

static enum sma_err refuse_twins(struct loading *loading, const char *platform, const json_t *list,
                                 const struct sma_param *row)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        for (size_t k = 0; k < i; k++) {
            const json_t *a = json_array_get(list, k), *b = json_array_get(list, i);
            const char *text = value_of(loading, row, b);
            char names[2][SMA_BOT_NAME_BYTES_MAX];
            if (text[0] == '\0' || strcmp(text, value_of(loading, row, a)) != 0)
                continue;
            config_put_bot_name(names[0], platform, a);
            config_put_bot_name(names[1], platform, b);
            return sma_fail(loading->error, SMA_ERR_BADINPUT,
                            "%s: adapters.%s: %s and %s have one %s, so both would take the same "
                            "messages; each bot needs its own",
                            loading->file, platform, names[0], names[1], row->path);
        }
    return SMA_ERR_OK;
}

static enum sma_err check_accounts(struct loading *loading, const char *platform,
                                   const json_t *list)
{
    for (const struct sma_params *const *at = loading->platforms; at != NULL && *at != NULL; at++)
        for (size_t i = 0; strcmp((*at)->name, platform) == 0 && i < (*at)->count; i++)
            if (((*at)->rows[i].traits & SMA_PARAM_ACCOUNT) != 0)
                SMA_TRY(refuse_twins(loading, platform, list, &(*at)->rows[i]));
    return SMA_ERR_OK;
}

/* -- blocks ------------------------------------------------------------------------------------ */
/* What `access` says for all platforms stands in the blocks of those that do not say it themselves.
 */
static enum sma_err spread_access(struct loading *loading, const char *name, json_t *block)
{
    json_t *everywhere = json_object_get(loading->root, "access");
    if (strcmp(name, "http") == 0 || strcmp(name, "terminal") == 0 || everywhere == NULL ||
        json_object_get(block, "access") != NULL)
        return SMA_ERR_OK;
    return json_object_set(block, "access", everywhere) == 0 ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static enum sma_err add_block(struct loading *loading, const char *platform, json_t *bot)
{
    struct sma_config *config = loading->config;
    char name[SMA_BOT_NAME_BYTES_MAX];
    if (config->adapter_count == SMA_COUNT_OF(config->adapters))
        return sma_fail(loading->error, SMA_ERR_TOOBIG, "%s: adapters has more than %zu entries",
                        loading->file, SMA_COUNT_OF(config->adapters));
    SMA_TRY(spread_access(loading, platform, bot));
    char *text = json_dumps(bot, JSON_COMPACT);
    if (text == NULL)
        return SMA_ERR_NOMEM;
    config_put_bot_name(name, platform, bot);
    struct sma_config_adapter *adapter = &config->adapters[config->adapter_count++];
    adapter->name = config_keep_text(loading, id_of(bot)[0] == '\0' ? platform : name);
    adapter->is_enabled = is_true(json_object_get(bot, "enabled"));
    adapter->says_enabled = json_object_get(bot, "enabled") != NULL;
    adapter->json = config_keep_text(loading, text);
    free(text);
    return SMA_ERR_OK;
}

static bool has_platform(const struct sma_config *config, const char *platform)
{
    for (size_t i = 0; i < config->adapter_count; i++)
        if (strcmp(config->adapters[i].name, platform) == 0 ||
            sma_bot_is_of(sma_str(config->adapters[i].name), platform))
            return true;
    return false;
}

enum sma_err config_add_adapters(struct loading *loading, const char *block)
{
    const char *platform;
    json_t *value;
    json_object_foreach(json_object_get(loading->root, block), platform, value)
    {
        size_t i;
        json_t *bot;
        if (has_platform(loading->config, platform) || strchr(platform, '@') != NULL)
            continue; /* `adapters` is read first and wins over `integrations`; '@' is for bots */
        if (!json_is_array(value)) {
            (void)json_object_del(value, "id"); /* one bot is the platform's first: told by check */
            SMA_TRY(add_block(loading, platform, value));
            continue;
        }
        SMA_TRY(check_accounts(loading, platform, value));
        json_array_foreach(value, i, bot)
        {
            SMA_TRY(add_block(loading, platform, bot));
        }
    }
    return SMA_ERR_OK;
}

/* -- secrets that are not there ---------------------------------------------------------------- */
/* "adapters.telegram.botToken" or "adapters.telegram.1.botToken": is this bot switched on? */
static bool is_of_enabled(const struct loading *loading, const char *path)
{
    char platform[64] = "";
    unsigned index = 0;
    if (sscanf(path, "adapters.%63[^.].%u.", platform, &index) < 1 &&
        sscanf(path, "integrations.%63[^.].%u.", platform, &index) < 1)
        return false;
    const json_t *value = list_of(loading->root, sma_str(platform));
    const json_t *bot = json_is_array(value) ? json_array_get(value, index) : value;
    return is_true(json_object_get(bot, "enabled"));
}

void config_warn_missing_secrets(struct loading *loading)
{
    for (size_t i = 0; i < loading->missing_count; i++)
        if (is_of_enabled(loading, loading->missing_path[i]))
            config_warn(loading, "%s: %s uses ${%s}, which is not set; put %s=... into .env",
                        loading->file, loading->missing_path[i], loading->missing_name[i],
                        loading->missing_name[i]);
}
