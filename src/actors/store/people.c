/* Who somebody is: by configuration, by what is recorded of people, by the platform's word; and
 * where to reach them. */
#include "people.h"
#include "outbox.h"
#include "people_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#include <stdlib.h>

/* -- records ----------------------------------------------------------------------------------- */

/* "<channel>/<user id>" is somebody's place. */
static struct store_known *place_of_key(struct sma_store *store, struct sma_str key,
                                        uint64_t *ret_hash)
{
    uint64_t hash = sma_siphash(store->hash_key, key.ptr, key.len);
    *ret_hash = hash == 0 ? 1 : hash;
    return &store->people->known[*ret_hash % STORE_PERSON_COUNT];
}

enum sma_err sma_store_people_write(struct sma_store *store, struct sma_str value)
{
    struct sma_str key = sma_buf_str(&store->people->key);
    const char *slash = memchr(key.ptr, '/', key.len);
    if (slash != NULL) { /* of whomever it is: what is remembered of him is read again */
        uint64_t hash;
        size_t prefix = (size_t)(slash + 1 - key.ptr);
        struct store_known *known =
            place_of_key(store, (struct sma_str){slash + 1, key.len - prefix}, &hash);
        if (known->hash == hash)
            *known = (struct store_known){0};
    }
    return sma_state_access_set(store->state, key, value);
}

/* The place where a person is remembered; NULL: nowhere. */
static struct store_known *place_of(struct sma_store *store, struct sma_str channel,
                                    struct sma_str user_id, uint64_t *ret_hash)
{
    char bytes[2 * SMA_ID_BYTES_MAX + 1];
    if (channel.len > SMA_ID_BYTES_MAX || user_id.len > SMA_ID_BYTES_MAX || user_id.len == 0)
        return NULL;
    memcpy(bytes, channel.ptr, channel.len);
    bytes[channel.len] = '/';
    memcpy(bytes + channel.len + 1, user_id.ptr, user_id.len);
    return place_of_key(store, (struct sma_str){bytes, channel.len + 1 + user_id.len}, ret_hash);
}

static bool is_word(const json_t *root, const char *name, const char *word)
{
    const char *value = json_string_value(json_object_get(root, name));
    return value != NULL && strcmp(value, word) == 0;
}

static enum sma_err read_person(struct sma_store *store, struct sma_str channel,
                                struct sma_str user_id, struct store_person *person)
{
    enum sma_err err = sma_store_people_key(store, "person/", channel, user_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    json_t *root = json_loadb(store->people->value.ptr, store->people->value.len, 0, NULL);
    const char *standing = json_string_value(json_object_get(root, "standing"));
    if (!sma_access_standing_read(sma_str(standing), &person->standing))
        person->standing = SMA_ACCESS_STRANGER; /* what cannot be read gives nobody anything */
    person->is_from_history = is_word(root, "via", "history");
    person->is_rejected = is_word(root, "via", "rejected");
    json_decref(root);
    return SMA_ERR_OK;
}

enum sma_err sma_store_person_get(struct sma_store *store, struct sma_str channel,
                                  struct sma_str user_id, struct store_person *ret_person)
{
    uint64_t hash = 0;
    *ret_person = (struct store_person){.standing = SMA_ACCESS_STRANGER};
    if (user_id.len == 0)
        return SMA_ERR_OK;
    struct store_known *known = place_of(store, channel, user_id, &hash);
    if (known != NULL && known->hash == hash) {
        *ret_person = known->person;
        return SMA_ERR_OK;
    }
    enum sma_err err = read_person(store, channel, user_id, ret_person);
    if (err == SMA_ERR_OK)
        err = sma_store_read_alias(store, channel, user_id, ret_person);
    if (err == SMA_ERR_OK && known != NULL)
        *known = (struct store_known){.hash = hash, .person = *ret_person};
    return err;
}

enum sma_err sma_store_person_put(struct sma_store *store, struct sma_str channel,
                                  struct sma_str user_id, enum sma_access_standing standing,
                                  const char *via)
{
    char value[128];
    int64_t now =
        store->ctx != NULL ? sma_ctx_wall(store->ctx) : store->sys->wall_ms(store->sys->self);
    (void)snprintf(value, sizeof value, "{\"standing\":\"%s\",\"via\":\"%s\",\"since\":%lld}",
                   sma_access_standing_name(standing), via, (long long)now);
    enum sma_err err = sma_store_people_key(store, "person/", channel, user_id);
    return err == SMA_ERR_OK ? sma_store_people_write(store, sma_str(value)) : err;
}

/* -- standing ---------------------------------------------------------------------------------- */
static enum sma_access_standing higher(enum sma_access_standing a, enum sma_access_standing b)
{
    return a > b ? a : b;
}

/* Without the platform's role. */
static enum sma_err find_standing(struct sma_store *store, const struct sma_route *route,
                                  struct sma_access_facts *facts)
{
    const struct sma_access_roles *named = store->people->named;
    facts->standing = sma_access_roles_find(named, route->channel, route->chat_id, route->user_id);
    if (facts->standing == SMA_ACCESS_OWNER)
        return SMA_ERR_OK;
    struct store_person person;
    SMA_TRY(sma_store_person_get(store, route->channel, route->user_id, &person));
    struct sma_str alias = sma_str(person.alias);
    if (alias.len > 0)
        facts->standing = higher(
            facts->standing, sma_access_roles_find(named, route->channel, route->chat_id, alias));
    const struct sma_access_rules *rules = sma_store_rules_of(store, route);
    bool is_list = sma_access_opening(rules) == SMA_ACCESS_OPEN_LIST;
    /* A list says who may talk; having been there before the upgrade does not outweigh it. */
    if (!(is_list && person.is_from_history))
        facts->standing = higher(facts->standing, person.standing);
    if (is_list && (sma_access_is_listed(rules, route->channel, route->user_id) ||
                    sma_access_is_listed(rules, route->channel, alias)))
        facts->standing = higher(facts->standing, SMA_ACCESS_MEMBER);
    facts->is_rejected = person.is_rejected;
    facts->alias_is_admin = alias.len > 0 && sma_access_is_group_admin(rules, alias);
    return SMA_ERR_OK;
}

enum sma_err sma_store_find_person(struct sma_store *store, const struct sma_route *route,
                                   struct sma_access_facts *facts)
{
    return find_standing(store, route, facts);
}

enum sma_standing sma_store_standing(struct sma_store *store, const struct store_chat *chat,
                                     const struct sma_route *route, bool is_group)
{
    struct sma_access_facts facts = {0};
    if (find_standing(store, route, &facts) != SMA_ERR_OK) {
        sma_ctx_log(store->ctx, SMA_LOG_ERROR, "who somebody is cannot be read: %s",
                    sma_state_error(store->state)->text);
        facts.standing = SMA_ACCESS_STRANGER;
    }
    enum sma_role role = SMA_ROLE_UNKNOWN;
    if (is_group && facts.standing < SMA_ACCESS_ADMIN && route->user_id.len > 0 &&
        (facts.alias_is_admin ||
         sma_access_is_group_admin(sma_store_rules_of(store, route), route->user_id) ||
         (chat != NULL && sma_store_find_role(store, chat, route->user_id, &role) &&
          role == SMA_ROLE_ADMIN && sma_store_is_let_in(store, route))))
        facts.standing = SMA_ACCESS_ADMIN;
    return (enum sma_standing)facts.standing;
}

bool sma_store_role_is_known(struct sma_store *store, const struct store_chat *chat,
                             const struct sma_route *route, bool is_group)
{
    enum sma_role role;
    return !is_group || route->user_id.len == 0 ||
           sma_store_standing(store, chat, route, is_group) >= SMA_STANDING_ADMIN ||
           (chat != NULL && sma_store_find_role(store, chat, route->user_id, &role)) ||
           !sma_store_is_let_in(store, route);
}

/* -- homes ------------------------------------------------------------------------------------- */
void sma_store_people_put_route(struct sma_buf *buf, const struct sma_route *route)
{
    sma_buf_put_json_member(buf, "channel", route->channel);
    sma_buf_put_json_member(buf, "chatKey", route->chat_key);
    sma_buf_put_json_member(buf, "chatId", route->chat_id);
    sma_buf_put_json_member(buf, "chatType", route->chat_type);
    sma_buf_put_json_member(buf, "threadId", route->thread_id);
    sma_buf_put_json_member(buf, "userId", route->user_id);
    sma_buf_put_json_member(buf, "userName", route->user_name);
    sma_buf_put_json_member(buf, "language", route->language);
}

static struct sma_str member_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct sma_str){json_is_string(value) ? json_string_value(value) : "",
                            json_string_length(value)};
}

struct sma_route sma_store_people_get_route(const json_t *object)
{
    return (struct sma_route){.channel = member_of(object, "channel"),
                              .chat_key = member_of(object, "chatKey"),
                              .chat_id = member_of(object, "chatId"),
                              .chat_type = member_of(object, "chatType"),
                              .thread_id = member_of(object, "threadId"),
                              .user_id = member_of(object, "userId"),
                              .user_name = member_of(object, "userName"),
                              .language = member_of(object, "language")};
}

enum sma_err sma_store_note_home(struct sma_store *store, const struct sma_route *route)
{
    struct sma_buf home;
    sma_buf_init(&home, 16 * SMA_CHAT_KEY_BYTES_MAX * 6);
    sma_buf_put_char(&home, '{');
    sma_store_people_put_route(&home, route);
    sma_buf_put_char(&home, '}');
    uint64_t person_hash = 0, hash = sma_siphash(store->hash_key, home.ptr, home.len) | 1;
    struct store_known *known = place_of(store, route->channel, route->user_id, &person_hash);
    enum sma_err err = home.err;
    bool is_same = known != NULL && known->hash == person_hash && known->home_hash == hash;
    if (err == SMA_ERR_OK && !is_same) {
        err = sma_store_people_key(store, "home/", route->channel, route->user_id);
        if (err == SMA_ERR_OK)
            err = sma_store_people_read(store);
        is_same = err == SMA_ERR_OK &&
                  sma_str_is_equal(sma_buf_str(&store->people->value), sma_buf_str(&home));
        if (err == SMA_ERR_NOTFOUND)
            err = SMA_ERR_OK;
        if (err == SMA_ERR_OK && !is_same)
            err = sma_store_people_write(store, sma_buf_str(&home));
        else if (is_same && known != NULL && known->hash == person_hash)
            known->home_hash = hash;
    }
    sma_buf_fini(&home);
    return err;
}

enum sma_err sma_store_note_person(struct sma_store *store, const struct store_chat *chat,
                                   const struct sma_ingress *in)
{
    (void)chat;
    if (in->is_group || in->is_record_only || in->kind == SMA_EVENT_NOTE ||
        in->route.user_id.len == 0 || sma_access_is_trusted_channel(in->route.channel))
        return SMA_ERR_OK;
    struct sma_access_facts facts = {0};
    enum sma_err err = find_standing(store, &in->route, &facts);
    if (err != SMA_ERR_OK || facts.standing < SMA_ACCESS_ADMIN)
        return err;
    return sma_store_note_home(store, &in->route);
}

#define HOME_COUNT_MAX \
    256 /* looked at; of people who have one no more than a few are named or paired as owners */

#define USER_FIELD 5 /* of a route in the storage */

struct home_list
{
    struct sma_str not_chat_key, channel; /* of the chat that asks */
    enum sma_access_standing wanted;
    struct sma_buf *storage; /* the routes, field by field, each with a NUL */
    size_t starts[SMA_APPROVAL_HOME_COUNT_MAX * 2];
    uint32_t count, max;
};

/* One person at several bots of Telegram is asked once: by the bot that the request comes from, or
 * by the first that is listed. */
static SMA_CHECKED enum sma_err is_asked_elsewhere(struct sma_store *store,
                                                   const struct home_list *list,
                                                   const struct sma_route *route, bool *ret_is)
{
    *ret_is = false;
    if (!sma_bot_is_of(route->channel, "telegram") ||
        sma_str_is_equal(route->channel, list->channel))
        return SMA_ERR_OK;
    for (uint32_t i = 0; i < list->count; i++) {
        const char *at = list->storage->ptr + list->starts[i];
        struct sma_str channel = sma_str(at), user = {0};
        for (unsigned field = 0; field <= USER_FIELD; field++) {
            user = sma_str(at);
            at += user.len + 1;
        }
        *ret_is = *ret_is ||
                  (sma_bot_is_of(channel, "telegram") && sma_str_is_equal(user, route->user_id));
    }
    if (*ret_is || !sma_bot_is_of(list->channel, "telegram"))
        return SMA_ERR_OK;
    SMA_TRY(sma_store_people_key(store, "home/", list->channel, route->user_id));
    enum sma_err err = sma_store_people_read(store);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    struct sma_access_facts facts = {0};
    struct sma_route own = *route;
    own.channel = list->channel;
    SMA_TRY(find_standing(store, &own, &facts));
    *ret_is = facts.standing >= list->wanted;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err note_home(struct sma_store *store, struct home_list *list,
                                          struct sma_str value)
{
    json_t *root = json_loadb(value.ptr, value.len, 0, NULL);
    struct sma_route route = sma_store_people_get_route(root);
    struct sma_access_facts facts = {0};
    bool is_wanted =
        list->count < list->max && route.chat_key.len > 0 &&
        !sma_str_is_equal(route.chat_key, list->not_chat_key) &&
        sma_store_adapter_of(store, &route) >= 0 &&
        find_standing(store, &route, &facts) == SMA_ERR_OK && facts.standing == list->wanted &&
        (list->wanted == SMA_ACCESS_OWNER || sma_str_is_equal(route.channel, list->channel));
    bool is_asked = false;
    enum sma_err err = is_wanted ? is_asked_elsewhere(store, list, &route, &is_asked) : SMA_ERR_OK;
    if (is_wanted && !is_asked && err == SMA_ERR_OK) {
        const struct sma_str fields[] = {route.channel,   route.chat_key,  route.chat_id,
                                         route.chat_type, route.thread_id, route.user_id,
                                         route.user_name, route.language};
        list->starts[list->count++] = list->storage->len;
        for (size_t i = 0; i < SMA_COUNT_OF(fields); i++) {
            sma_buf_put_str(list->storage, fields[i]);
            sma_buf_put_char(list->storage, '\0');
        }
    }
    json_decref(root);
    return err == SMA_ERR_OK ? list->storage->err : err;
}

static SMA_CHECKED enum sma_err list_homes(struct sma_store *store, struct home_list *list)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records pairs = {0};
    enum sma_err err = sma_state_access_page(
        store->state,
        &(struct sma_state_page){.prefix = SMA_STR("home/"), .count_max = HOME_COUNT_MAX}, &rows,
        &pairs);
    for (list->wanted = SMA_ACCESS_OWNER; list->wanted >= SMA_ACCESS_ADMIN; list->wanted--)
        for (size_t i = 0; i < pairs.count && err == SMA_ERR_OK; i++)
            err = note_home(store, list, pairs.items[i].value);
    return err;
}

static struct sma_str next_field(const char **at)
{
    struct sma_str field = sma_str(*at);
    *at += field.len + 1;
    return field;
}

uint32_t sma_store_approver_routes(struct sma_store *store, struct sma_str not_chat_key,
                                   struct sma_route *ret_routes, uint32_t max,
                                   struct sma_buf *storage)
{
    struct home_list list = {.not_chat_key = not_chat_key, .storage = storage};
    const char *colon =
        not_chat_key.len == 0 ? NULL : memchr(not_chat_key.ptr, ':', not_chat_key.len);
    list.channel =
        (struct sma_str){not_chat_key.ptr, colon == NULL ? 0 : (size_t)(colon - not_chat_key.ptr)};
    list.max = max < SMA_COUNT_OF(list.starts) ? max : (uint32_t)SMA_COUNT_OF(list.starts);
    enum sma_err err = list_homes(store, &list);
    if (err != SMA_ERR_OK) {
        sma_ctx_log(store->ctx, SMA_LOG_WARN, "where owners can be reached cannot be read: %s",
                    sma_err_text(err));
        return 0;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        const char *at = storage->ptr + list.starts[i];
        struct sma_route *route = &ret_routes[i];
        *route = (struct sma_route){.channel = next_field(&at)};
        route->chat_key = next_field(&at);
        route->chat_id = next_field(&at);
        route->chat_type = next_field(&at);
        route->thread_id = next_field(&at);
        route->user_id = next_field(&at);
        route->user_name = next_field(&at);
        route->language = next_field(&at);
        route->adapter =
            (uint8_t)store->adapters[sma_store_adapter_of(store, route)].adapter->actor;
    }
    return list.count;
}

enum sma_err sma_store_is_stranger(struct sma_store *store, const struct sma_ingress *in,
                                   bool *ret_is_stranger)
{
    *ret_is_stranger = false;
    const struct sma_access_rules *rules = sma_store_rules_of(store, &in->route);
    bool is_open = sma_access_opening(rules) == SMA_ACCESS_OPEN_ANYONE;
    if (sma_access_is_trusted_channel(in->route.channel) || (!in->is_group && is_open))
        return SMA_ERR_OK;
    enum store_group_word word = STORE_GROUP_UNKNOWN;
    enum sma_err err = in->is_group ? sma_store_group_word(store, &in->route, &word) : SMA_ERR_OK;
    if (err != SMA_ERR_OK || word == STORE_GROUP_LET_IN)
        return err;
    struct sma_access_facts facts = {0};
    err = sma_store_find_person(store, &in->route, &facts);
    *ret_is_stranger = err == SMA_ERR_OK && facts.standing == SMA_ACCESS_STRANGER &&
                       !sma_access_is_group_admin(rules, in->route.user_id);
    return err;
}
