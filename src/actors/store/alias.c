/*
 * People who were known by another id: a platform's event names both (ingress.user_alias), and what
 * is kept under the older one goes over to the newer (adr 0033). Records of state.db:
 *
 *   alias/<channel>/<user id>   the older id; the configuration may still name it
 *
 * The record of a person and his home move with the first event that names both. Rows of before
 * keep the id that they were written with.
 */
#include "people.h"
#include "people_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

static SMA_CHECKED enum sma_err read_value(struct sma_store *store, const char *prefix,
                                           struct sma_str channel, struct sma_str user_id,
                                           bool *ret_is_there)
{
    enum sma_err err = sma_store_people_key(store, prefix, channel, user_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    *ret_is_there = err == SMA_ERR_OK && store->people->value.len > 0;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static int64_t since_of(struct sma_str value)
{
    json_t *root = json_loadb(value.ptr, value.len, 0, NULL);
    int64_t since = json_integer_value(json_object_get(root, "since"));
    json_decref(root);
    return since;
}

/* What the owner's side said of him goes over; of two words the newer one counts. */
static SMA_CHECKED enum sma_err move_person(struct sma_store *store, const struct sma_route *route,
                                            struct sma_str alias)
{
    bool is_old, is_new;
    const struct sma_buf *value = &store->people->value;
    SMA_TRY(read_value(store, "person/", route->channel, route->user_id, &is_new));
    int64_t since = is_new ? since_of(sma_buf_str(value)) : -1;
    SMA_TRY(read_value(store, "person/", route->channel, alias, &is_old));
    if (!is_old)
        return SMA_ERR_OK;
    if (since_of(sma_buf_str(value)) > since) {
        SMA_TRY(sma_store_people_key(store, "person/", route->channel, route->user_id));
        SMA_TRY(sma_store_people_write(store, sma_buf_str(value)));
    }
    SMA_TRY(sma_store_people_key(store, "person/", route->channel, alias));
    return sma_store_people_write(store, SMA_STR(""));
}

/* Where he can be told something, unless he has been there under his newer id, too. */
static SMA_CHECKED enum sma_err move_home(struct sma_store *store, const struct sma_route *route,
                                          struct sma_str alias)
{
    bool is_old, is_new;
    const struct sma_buf *value = &store->people->value;
    SMA_TRY(read_value(store, "home/", route->channel, route->user_id, &is_new));
    SMA_TRY(read_value(store, "home/", route->channel, alias, &is_old));
    json_t *home = is_old ? json_loadb(value->ptr, value->len, 0, NULL) : NULL;
    if (home != NULL && !is_new) {
        struct sma_route old = sma_store_people_get_route(home);
        old.user_id = route->user_id;
        enum sma_err err = sma_store_note_home(store, &old);
        if (err != SMA_ERR_OK) {
            json_decref(home);
            return err;
        }
    }
    json_decref(home);
    if (!is_old)
        return SMA_ERR_OK;
    SMA_TRY(sma_store_people_key(store, "home/", route->channel, alias));
    return sma_store_people_write(store, SMA_STR(""));
}

/* Is anything known of the older id? Of strangers nothing is kept. */
static SMA_CHECKED enum sma_err is_somebody(struct sma_store *store, const struct sma_route *route,
                                            struct sma_str alias, bool *ret_is)
{
    struct sma_route older = *route;
    struct sma_access_facts facts = {0};
    older.user_id = alias;
    SMA_TRY(sma_store_find_person(store, &older, &facts));
    *ret_is = facts.standing > SMA_ACCESS_STRANGER || facts.is_rejected ||
              sma_access_is_group_admin(sma_store_rules_of(store, route), alias);
    return SMA_ERR_OK;
}

enum sma_err sma_store_adopt(struct sma_store *store, const struct sma_ingress *in)
{
    const struct sma_route *route = &in->route;
    struct sma_str alias = in->user_alias;
    struct store_person person;
    bool is;
    if (alias.len == 0 || alias.len >= sizeof person.alias || route->user_id.len == 0)
        return SMA_ERR_OK;
    SMA_TRY(sma_store_person_get(store, route->channel, route->user_id, &person));
    if (sma_str_is_equal(sma_str(person.alias), alias))
        return SMA_ERR_OK;
    SMA_TRY(is_somebody(store, route, alias, &is));
    if (!is)
        return SMA_ERR_OK;
    SMA_TRY(move_person(store, route, alias));
    SMA_TRY(move_home(store, route, alias));
    SMA_TRY(sma_store_people_key(store, "alias/", route->channel, route->user_id));
    store->people->has_aliases = true;
    return sma_store_people_write(store, alias);
}

enum sma_err sma_store_read_alias(struct sma_store *store, struct sma_str channel,
                                  struct sma_str user_id, struct store_person *person)
{
    bool is_there;
    person->alias[0] = '\0';
    if (!store->people->has_aliases)
        return SMA_ERR_OK;
    SMA_TRY(read_value(store, "alias/", channel, user_id, &is_there));
    const struct sma_buf *value = &store->people->value;
    if (is_there && value->len < sizeof person->alias)
        memcpy(person->alias, value->ptr, value->len + 1);
    return SMA_ERR_OK;
}

enum sma_err sma_store_look_for_aliases(struct sma_store *store)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records pairs = {0};
    enum sma_err err = sma_state_access_page(
        store->state, &(struct sma_state_page){.prefix = SMA_STR("alias/"), .count_max = 1}, &rows,
        &pairs);
    store->people->has_aliases = err == SMA_ERR_OK && pairs.count > 0;
    return err;
}
