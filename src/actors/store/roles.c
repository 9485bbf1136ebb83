/* roles.c — what is known of a person's role and of a group, for rules to look at. See people.h. */
#include "outbox.h"
#include "people_priv.h"
#include "store.h"

/* Of the chat, whatever topic of it: the part of its key that all topics share. */
uint64_t sma_store_hash_person(const struct sma_store *store, const struct store_chat *chat,
                               struct sma_str user_id)
{
    struct sma_str key = sma_store_chat_base(sma_store_chat_key(chat));
    uint64_t place = sma_siphash(store->hash_key, key.ptr, key.len);
    char bytes[sizeof place + SMA_ID_BYTES_MAX];
    size_t len = user_id.len < SMA_ID_BYTES_MAX ? user_id.len : SMA_ID_BYTES_MAX;
    memcpy(bytes, &place, sizeof place);
    if (len > 0)
        memcpy(bytes + sizeof place, user_id.ptr, len);
    return sma_siphash(store->hash_key, bytes, len + sizeof place);
}

bool sma_store_find_role(const struct sma_store *store, const struct store_chat *chat,
                         struct sma_str user_id, enum sma_role *ret_role)
{
    uint64_t hash = sma_store_hash_person(store, chat, user_id);
    const struct store_role *known = &store->people->roles[hash % STORE_ROLE_COUNT];
    if (known->hash != hash || known->until_ns <= sma_ctx_now(store->ctx))
        return false;
    *ret_role = (enum sma_role)known->role;
    return true;
}

const struct sma_access_rules *sma_store_rules_of(const struct sma_store *store,
                                                  const struct sma_route *route)
{
    int adapter = sma_store_adapter_of(store, route);
    if (adapter < 0)
        return store->people->default_rules;
    const struct sma_access_rules *own = sma_store_chat_rules(store, (size_t)adapter, route);
    return own != NULL ? own : store->people->rules[adapter];
}

enum sma_err sma_store_group_word(struct sma_store *store, const struct sma_route *route,
                                  enum store_group_word *ret_word)
{
    if (sma_access_is_trusted_channel(route->channel) ||
        sma_access_is_listed_group(sma_store_rules_of(store, route), route->chat_id)) {
        *ret_word = STORE_GROUP_LET_IN;
        return SMA_ERR_OK;
    }
    enum store_group_word word = STORE_GROUP_UNKNOWN;
    enum sma_err err = route->chat_id.len == 0
                           ? SMA_ERR_NOTFOUND
                           : sma_store_people_key(store, "group/", route->channel, route->chat_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err == SMA_ERR_OK) {
        json_t *root = json_loadb(store->people->value.ptr, store->people->value.len, 0, NULL);
        const char *via = json_string_value(json_object_get(root, "via"));
        /* What cannot be read lets nobody in. */
        if (via != NULL)
            word = strcmp(via, "rejected") == 0 ? STORE_GROUP_REJECTED : STORE_GROUP_LET_IN;
        json_decref(root);
    }
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    *ret_word = word;
    return SMA_ERR_OK;
}

bool sma_store_is_let_in(struct sma_store *store, const struct sma_route *route)
{
    enum store_group_word word = STORE_GROUP_UNKNOWN;
    if (sma_store_group_word(store, route, &word) != SMA_ERR_OK)
        sma_ctx_log(store->ctx, SMA_LOG_ERROR, "whether a group is let in cannot be read: %s",
                    sma_state_error(store->state)->text);
    return word == STORE_GROUP_LET_IN;
}

enum sma_err sma_store_people_key(struct sma_store *store, const char *prefix,
                                  struct sma_str channel, struct sma_str user_id)
{
    struct sma_buf *key = &store->people->key;
    sma_buf_clear(key);
    sma_buf_put_text(key, prefix);
    sma_buf_put_str(key, channel);
    sma_buf_put_char(key, '/');
    sma_buf_put_str(key, user_id);
    return key->err;
}

enum sma_err sma_store_people_read(struct sma_store *store)
{
    struct store_people *people = store->people;
    sma_buf_clear(&people->value);
    return sma_state_access_get(store->state, sma_buf_str(&people->key), &people->value);
}
