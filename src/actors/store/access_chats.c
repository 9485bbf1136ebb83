/*
 * access_chats.c — chats whose access is not their platform's (`chats.<pattern>.access`).
 *
 * Rules are made once for each platform and entry that speaks of access, with the configuration;
 * which entry holds is found for each event, by the key of its chat.
 */
#include "people_priv.h"
#include "record.h"
#include "store.h"

#include "sma/chats.h"

struct sma_str sma_store_block_of(const struct sma_config *config, const char *name)
{
    for (size_t i = 0; i < config->adapter_count; i++)
        if (strcmp(config->adapters[i].name, name) == 0)
            return sma_str(config->adapters[i].json);
    return SMA_STR("");
}

enum sma_err sma_store_load_rules_of(struct sma_store *store, struct sma_str json, const char *name,
                                     struct sma_access_rules **rules)
{
    struct sma_access_rules *fresh;
    struct sma_error error = {0};
    enum sma_err err = sma_access_rules_parse(json, &fresh, &error);
    if (err == SMA_ERR_BADINPUT) {
        sma_store_boot_line(store, SMA_LOG_ERROR, "ship.json: %s: %s; in groups the defaults hold",
                            name, error.text);
        err = sma_access_rules_parse(SMA_STR(""), &fresh, &error);
    }
    if (err != SMA_ERR_OK)
        return err;
    sma_access_rules_destroy(*rules);
    *rules = fresh;
    return SMA_ERR_OK;
}

void sma_store_free_chat_rules(struct sma_store *store)
{
    struct store_people *people = store->people;
    for (size_t i = 0; people->chat_rules != NULL && i < store->adapter_count * people->chat_count;
         i++)
        sma_access_rules_destroy(people->chat_rules[i]);
    free((void *)people->chat_rules);
    people->chat_rules = NULL;
    people->chat_count = 0;
}

/* Can it speak of chats of this platform? */
static bool may_fit(const char *pattern, const char *channel)
{
    size_t len = strcspn(pattern, ":");
    return memchr(pattern, '*', len) != NULL ||
           sma_bot_is_named((struct sma_str){pattern, len}, sma_str(channel));
}

static SMA_CHECKED enum sma_err load_one(struct sma_store *store, struct sma_str block,
                                         const struct sma_chat_rule *entry,
                                         struct sma_access_rules **rules)
{
    json_t *root = block.len == 0 ? json_object() : json_loadb(block.ptr, block.len, 0, NULL);
    json_t *own = json_loads(entry->access_json, 0, NULL);
    bool is_good = root != NULL && own != NULL && json_object_update(root, own) == 0;
    char *text = is_good ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(own);
    json_decref(root);
    if (text == NULL)
        return SMA_ERR_NOMEM;
    char place[512];
    snprintf(place, sizeof place, "chats.%s.access", entry->pattern);
    enum sma_err err = sma_store_load_rules_of(store, sma_str(text), place, rules);
    free(text);
    return err;
}

enum sma_err sma_store_load_chat_rules(struct sma_store *store)
{
    const struct sma_config *config = store->config;
    struct store_people *people = store->people;
    sma_store_free_chat_rules(store);
    if (config->chat_count == 0)
        return SMA_ERR_OK;
    people->chat_rules =
        calloc(store->adapter_count * config->chat_count + 1, sizeof(struct sma_access_rules *));
    if (people->chat_rules == NULL)
        return SMA_ERR_NOMEM;
    people->chat_count = config->chat_count;
    for (size_t i = 0; i < store->adapter_count; i++) {
        const struct sma_adapter *adapter = store->adapters[i].adapter;
        struct sma_str block = sma_store_block_of(config, sma_adapter_name(adapter));
        for (size_t k = 0; k < config->chat_count; k++) {
            const struct sma_chat_rule *entry = &config->chats[k];
            if (entry->access_json != NULL && may_fit(entry->pattern, sma_adapter_channel(adapter)))
                SMA_TRY(
                    load_one(store, block, entry, &people->chat_rules[i * config->chat_count + k]));
        }
    }
    return SMA_ERR_OK;
}

const struct sma_access_rules *sma_store_chat_rules(const struct sma_store *store, size_t adapter,
                                                    const struct sma_route *route)
{
    const struct store_people *people = store->people;
    if (people->chat_count == 0)
        return NULL;
    const struct sma_config *config = store->config;
    struct sma_chat_rules found =
        sma_chat_rules_find(config, route->chat_key, sma_chat_type_is_group(route->chat_type));
    if (found.access == NULL)
        return NULL;
    return people
        ->chat_rules[adapter * people->chat_count + (size_t)(found.access - config->chats)];
}
