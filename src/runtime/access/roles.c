/* roles.h: the lists of the configuration, sorted for looking up. */
#include "runtime/access/roles.h"

#include "sma/bot.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

#define ROLE_COUNT_MAX 10000 /* entries of all lists together; more is refused */

static const char *const standing_names[] = {"stranger", "member", "admin", "owner"};

/* One entry: a person everywhere on a platform, or (chat not empty) in one chat. Slices point into
 * `root`. */
struct entry
{
    struct sma_str channel, chat, user;
    enum sma_access_standing standing;
};
struct sma_access_roles
{
    json_t *root; /* owns the texts */
    size_t count;
    struct entry entries[];
};

const char *sma_access_standing_name(enum sma_access_standing standing)
{
    return standing_names[standing];
}

bool sma_access_standing_read(struct sma_str name, enum sma_access_standing *ret_standing)
{
    for (size_t i = 0; i < SMA_COUNT_OF(standing_names); i++)
        if (sma_str_is_equal(name, sma_str(standing_names[i]))) {
            *ret_standing = (enum sma_access_standing)i;
            return true;
        }
    return false;
}

bool sma_access_is_trusted_channel(struct sma_str channel)
{
    return sma_str_is_equal(channel, SMA_STR("api")) || sma_str_is_equal(channel, SMA_STR("cli")) ||
           sma_str_is_equal(channel, SMA_STR("web"));
}

/* -- one key ----------------------------------------------------------------------------------- */
static bool is_plain(struct sma_str text)
{
    if (text.len == 0 || text.len > SMA_ID_BYTES_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == 127 || text.ptr[i] == '*')
            return false;
    return true;
}

/* "chat:<id>:user:<user id>", the form of old files. */
static bool split_long_form(struct sma_str rest, struct sma_str *ret_chat, struct sma_str *ret_user)
{
    const struct sma_str mark = SMA_STR(":user:");
    rest.ptr += strlen("chat:");
    rest.len -= strlen("chat:");
    const char *at = memmem(rest.ptr, rest.len, mark.ptr, mark.len);
    if (at == NULL)
        return false;
    *ret_chat = (struct sma_str){rest.ptr, (size_t)(at - rest.ptr)};
    *ret_user = (struct sma_str){at + mark.len, rest.len - ret_chat->len - mark.len};
    return is_plain(*ret_chat);
}

bool sma_access_key_split(struct sma_str key, struct sma_str *ret_channel, struct sma_str *ret_chat,
                          struct sma_str *ret_user)
{
    const char *colon = key.len == 0 ? NULL : memchr(key.ptr, ':', key.len);
    if (colon == NULL)
        return false;
    *ret_channel = (struct sma_str){key.ptr, (size_t)(colon - key.ptr)};
    struct sma_str rest = {colon + 1, key.len - ret_channel->len - 1};
    *ret_chat = SMA_STR("");
    *ret_user = rest;
    if (sma_str_starts_with(rest, SMA_STR("chat:")) && !split_long_form(rest, ret_chat, ret_user))
        return false;
    return is_plain(*ret_channel) && is_plain(*ret_user);
}

/* -- the lists --------------------------------------------------------------------------------- */
static int compare_text(struct sma_str a, struct sma_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len == 0 ? 0 : memcmp(a.ptr, b.ptr, len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = compare_text(a->user, b->user);
    if (order == 0)
        order = compare_text(a->channel, b->channel);
    if (order == 0)
        order = compare_text(a->chat, b->chat);
    return order != 0 ? order : (int)b->standing - (int)a->standing;
}

static bool is_number(struct sma_str user)
{
    int64_t number;
    return sma_parse_i64(user, INT64_MIN, INT64_MAX, &number) == SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_entry(const char *role, size_t index, const json_t *item,
                                           struct entry *ret_entry, struct sma_error *error)
{
    struct sma_str key = {json_string_value(item), json_string_length(item)};
    if (!json_is_string(item))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.roles.%s[%zu] must be text such as \"telegram:1001\"", role,
                        index);
    if (!sma_access_key_split(key, &ret_entry->channel, &ret_entry->chat, &ret_entry->user))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.roles.%s[%zu] \"%.80s\" is not a person; write "
                        "\"<channel>:<user id>\", for example \"telegram:1001\"",
                        role, index, key.ptr);
    if (ret_entry->user.ptr[0] == '@' ||
        (sma_bot_is_of(ret_entry->channel, "telegram") && !is_number(ret_entry->user)))
        return sma_fail(
            error, SMA_ERR_BADINPUT,
            "permissions.roles.%s[%zu] \"%.80s\" is not a person's id: user names change hands "
            "and are not ids; write the number, for example \"telegram:1001\" (`shipmyagent "
            "pair` lists the ids of those who have written)",
            role, index, key.ptr);
    if (sma_access_is_trusted_channel(ret_entry->channel))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.roles.%s[%zu] \"%.80s\": who comes by api, cli or web is an "
                        "owner already; take the entry out",
                        role, index, key.ptr);
    if (memmem(ret_entry->chat.ptr, ret_entry->chat.len, ":topic:", strlen(":topic:")) != NULL)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.roles.%s[%zu] \"%.80s\": a role holds for a whole chat; leave "
                        "out \":topic:...\"",
                        role, index, key.ptr);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_list(const char *role, const json_t *list,
                                          struct sma_access_roles *roles, struct sma_error *error)
{
    struct entry entry = {0};
    if (!sma_access_standing_read(sma_str(role), &entry.standing) ||
        entry.standing == SMA_ACCESS_STRANGER)
        return sma_fail(
            error, SMA_ERR_BADINPUT,
            "permissions.roles.%.80s is not a role; the roles are owner, admin and member", role);
    if (!json_is_array(list))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "permissions.roles.%s must be a list such as [\"telegram:1001\"]", role);
    for (size_t i = 0; i < json_array_size(list); i++) {
        SMA_TRY(read_entry(role, i, json_array_get(list, i), &entry, error));
        roles->entries[roles->count++] = entry;
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_lists(const json_t *lists, struct sma_access_roles *roles,
                                           struct sma_error *error)
{
    const char *role;
    const json_t *list;
    json_object_foreach((json_t *)lists, role, list)
    {
        if (json_is_null(list))
            continue;
        SMA_TRY(read_list(role, list, roles, error));
    }
    qsort(roles->entries, roles->count, sizeof *roles->entries, compare_entries);
    return SMA_ERR_OK;
}

static size_t count_entries(const json_t *lists)
{
    size_t count = 0;
    const char *role;
    const json_t *list;
    json_object_foreach((json_t *)lists, role, list) count += json_array_size(list);
    return count;
}

/* Takes root. */
static SMA_CHECKED enum sma_err build(json_t *root, struct sma_access_roles **ret_roles,
                                      struct sma_error *error)
{
    const json_t *lists = json_object_get(root, "roles");
    size_t count = count_entries(lists);
    struct sma_access_roles *roles = NULL;
    enum sma_err err = SMA_ERR_OK;
    if (!json_is_object(root))
        err = sma_fail(error, SMA_ERR_BADINPUT, "permissions must be a JSON object");
    else if (lists != NULL && !json_is_null(lists) && !json_is_object(lists))
        err = sma_fail(error, SMA_ERR_BADINPUT,
                       "permissions.roles must be an object such as {\"owner\": "
                       "[\"telegram:1001\"]}");
    else if (count > ROLE_COUNT_MAX)
        err = sma_fail(error, SMA_ERR_BADINPUT,
                       "permissions.roles names %zu people, at most %d are possible; pair them "
                       "instead",
                       count, ROLE_COUNT_MAX);
    else if ((roles = calloc(1, sizeof *roles + count * sizeof *roles->entries)) == NULL)
        err = sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (roles == NULL) {
        json_decref(root);
        return err;
    }
    roles->root = root;
    err = read_lists(lists, roles, error);
    if (err != SMA_ERR_OK) {
        sma_access_roles_destroy(roles);
        return err;
    }
    *ret_roles = roles;
    return SMA_ERR_OK;
}

enum sma_err sma_access_roles_parse(struct sma_str permissions_json,
                                    struct sma_access_roles **ret_roles, struct sma_error *error)
{
    json_t *root = permissions_json.len == 0
                       ? json_object()
                       : json_loadb(permissions_json.ptr, permissions_json.len, 0, NULL);
    return build(root, ret_roles, error);
}

void sma_access_roles_destroy(struct sma_access_roles *roles)
{
    if (roles == NULL)
        return;
    json_decref(roles->root);
    free(roles);
}

/* -- looking up -------------------------------------------------------------------------------- */
static size_t find_first(const struct sma_access_roles *roles, struct sma_str user_id)
{
    size_t low = 0, high = roles->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_text(roles->entries[middle].user, user_id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum sma_access_standing sma_access_roles_find(const struct sma_access_roles *roles,
                                               struct sma_str channel, struct sma_str chat_id,
                                               struct sma_str user_id)
{
    if (sma_access_is_trusted_channel(channel))
        return SMA_ACCESS_OWNER;
    enum sma_access_standing best = SMA_ACCESS_STRANGER;
    if (user_id.len == 0)
        return best;
    for (size_t i = find_first(roles, user_id);
         i < roles->count && sma_str_is_equal(roles->entries[i].user, user_id); i++) {
        const struct entry *entry = &roles->entries[i];
        if (entry->standing > best && sma_bot_is_meant(entry->channel, channel) &&
            (entry->chat.len == 0 || sma_str_is_equal(entry->chat, chat_id)))
            best = entry->standing;
    }
    return best;
}

bool sma_access_roles_have_owner(const struct sma_access_roles *roles)
{
    for (size_t i = 0; i < roles->count; i++)
        if (roles->entries[i].standing == SMA_ACCESS_OWNER)
            return true;
    return false;
}
