/* Roles of the configuration: who is found by which entry, and what is said about entries that name
 * nobody. */
#include "runtime/access/roles.h"
#include "support/check.h"

static struct sma_access_roles *roles_of(const char *json)
{
    struct sma_access_roles *roles = NULL;
    struct sma_error error = {0};
    if (sma_access_roles_parse(sma_str(json), &roles, &error) != SMA_ERR_OK) {
        fprintf(stderr, "%s: %s\n", json, error.text);
        CHECK(false);
    }
    return roles;
}

static enum sma_access_standing find(const struct sma_access_roles *roles, const char *channel,
                                     const char *chat, const char *user)
{
    return sma_access_roles_find(roles, sma_str(channel), sma_str(chat), sma_str(user));
}

CASE(names_go_both_ways)
{
    static const char *const names[] = {"stranger", "member", "admin", "owner"};
    for (int i = 0; i < 4; i++) {
        enum sma_access_standing standing = SMA_ACCESS_STRANGER;
        CHECK_STR(names[i], sma_str(sma_access_standing_name((enum sma_access_standing)i)));
        CHECK(sma_access_standing_read(sma_str(names[i]), &standing));
        CHECK_INT(i, standing);
    }
    enum sma_access_standing standing;
    CHECK(!sma_access_standing_read(SMA_STR("Owner"), &standing));
    CHECK(!sma_access_standing_read(SMA_STR(""), &standing));
}

CASE(people_are_found_by_their_keys)
{
    struct sma_access_roles *roles =
        roles_of("{\"exec_shell\":true,\"roles\":{"
                 "\"owner\":[\"telegram:1001\",\"feishu:ou_a\"],"
                 "\"admin\":[\"telegram:chat:-100:user:7\",\"telegram:1001\",\"qq:AB\"],"
                 "\"member\":[\"telegram:7\",\"telegram:8\",\"feishu:chat:oc_1:user:ou_b\"]}}");
    static const struct
    {
        const char *channel, *chat, *user;
        enum sma_access_standing standing;
    } rows[] = {
        {"telegram", "1001", "1001", SMA_ACCESS_OWNER},
        {"telegram", "-5", "1001", SMA_ACCESS_OWNER},
        {"feishu", "x", "1001", SMA_ACCESS_STRANGER},
        {"feishu", "x", "ou_a", SMA_ACCESS_OWNER},
        {"qq", "x", "AB", SMA_ACCESS_ADMIN},
        {"qq", "x", "ab", SMA_ACCESS_STRANGER},
        {"telegram", "-100", "7", SMA_ACCESS_ADMIN},  /* the long form holds in that chat, */
        {"telegram", "-101", "7", SMA_ACCESS_MEMBER}, /* elsewhere the short one */
        {"telegram", "-100", "8", SMA_ACCESS_MEMBER},
        {"feishu", "oc_1", "ou_b", SMA_ACCESS_MEMBER},
        {"feishu", "oc_2", "ou_b", SMA_ACCESS_STRANGER},
        {"telegram", "1", "", SMA_ACCESS_STRANGER},
        {"telegram", "1", "100", SMA_ACCESS_STRANGER},
        {"telegram", "1", "10011", SMA_ACCESS_STRANGER},
        {"api", "x", "anybody", SMA_ACCESS_OWNER},
        {"cli", "x", "", SMA_ACCESS_OWNER},
        {"web", "x", "u", SMA_ACCESS_OWNER},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].standing, find(roles, rows[i].channel, rows[i].chat, rows[i].user));
    sma_access_roles_destroy(roles);
}

CASE(nothing_configured_names_nobody)
{
    static const char *const nothing[] = {"", "{}", "{\"roles\":null}", "{\"roles\":{}}",
                                          "{\"roles\":{\"owner\":null,\"admin\":[]}}"};
    for (size_t i = 0; i < SMA_COUNT_OF(nothing); i++) {
        struct sma_access_roles *roles = roles_of(nothing[i]);
        CHECK_INT(SMA_ACCESS_STRANGER, find(roles, "telegram", "1", "1"));
        CHECK_INT(SMA_ACCESS_OWNER, find(roles, "api", "1", "1"));
        sma_access_roles_destroy(roles);
    }
}

CASE(wrong_entries_are_named_with_the_remedy)
{
    static const struct
    {
        const char *json, *entry, *remedy;
    } rows[] = {
        {"{", "permissions", "object"},
        {"[]", "permissions", "object"},
        {"{\"roles\":[]}", "permissions.roles", "owner"},
        {"{\"roles\":\"x\"}", "permissions.roles", "owner"},
        {"{\"roles\":{\"boss\":[]}}", "permissions.roles.boss", "owner, admin and member"},
        {"{\"roles\":{\"stranger\":[]}}", "permissions.roles.stranger", "owner, admin and member"},
        {"{\"roles\":{\"owner\":\"telegram:1\"}}", "permissions.roles.owner", "list"},
        {"{\"roles\":{\"owner\":[\"telegram:1\",5]}}", "permissions.roles.owner[1]",
         "telegram:1001"},
        {"{\"roles\":{\"owner\":[\"1001\"]}}", "owner[0] \"1001\"", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\":1001\"]}}", "owner[0]", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\"telegram:\"]}}", "owner[0]", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\"\"]}}", "owner[0]", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\"telegram:*\"]}}", "owner[0]", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\"telegram: 1001\"]}}", "owner[0]", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\"telegram:chat:5\"]}}", "owner[0]", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\"telegram:chat::user:5\"]}}", "owner[0]", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\"telegram:chat:5:user:\"]}}", "owner[0]", "<channel>:<user id>"},
        {"{\"roles\":{\"owner\":[\"telegram:chat:5:topic:2:user:1\"]}}", "owner[0]", "topic"},
        {"{\"roles\":{\"owner\":[\"telegram:@alice\"]}}", "owner[0] \"telegram:@alice\"",
         "write the number"},
        {"{\"roles\":{\"owner\":[\"telegram:alice\"]}}", "owner[0]", "write the number"},
        {"{\"roles\":{\"admin\":[\"telegram:chat:-5:user:@alice\"]}}", "admin[0]",
         "write the number"},
        {"{\"roles\":{\"owner\":[\"feishu:@alice\"]}}", "owner[0]", "are not ids"},
        {"{\"roles\":{\"member\":[\"api:me\"]}}", "member[0] \"api:me\"", "take the entry out"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_access_roles *roles = NULL;
        struct sma_error error = {0};
        CHECK_INT(SMA_ERR_BADINPUT, sma_access_roles_parse(sma_str(rows[i].json), &roles, &error));
        if (strstr(error.text, rows[i].entry) == NULL ||
            strstr(error.text, rows[i].remedy) == NULL) {
            fprintf(stderr, "%s: %s\n", rows[i].json, error.text);
            CHECK(false);
        }
        CHECK(roles == NULL);
    }
}

CASE(keys_are_split)
{
    struct sma_str channel, chat, user;
    CHECK(sma_access_key_split(SMA_STR("feishu:ou_1"), &channel, &chat, &user));
    CHECK_STR("feishu", channel);
    CHECK_STR("", chat);
    CHECK_STR("ou_1", user);
    CHECK(sma_access_key_split(SMA_STR("a:chat:b:user:c:d"), &channel, &chat, &user));
    CHECK_STR("b", chat);
    CHECK_STR("c:d", user);
    CHECK(!sma_access_key_split(SMA_STR(""), &channel, &chat, &user));
    CHECK(!sma_access_key_split(SMA_STR("x"), &channel, &chat, &user));
}

CASE(an_owner_is_found)
{
    static const struct
    {
        const char *json;
        bool has_owner;
    } rows[] = {
        {"", false},
        {"{\"roles\":{\"owner\":[],\"admin\":[\"telegram:1\"],\"member\":[\"qq:2\"]}}", false},
        {"{\"roles\":{\"member\":[\"qq:2\"],\"owner\":[\"telegram:1\"]}}", true},
        {"{\"roles\":{\"owner\":[\"telegram:chat:-5:user:7\"]}}", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_access_roles *roles = NULL;
        struct sma_error error;
        CHECK_OK(sma_access_roles_parse(sma_str(rows[i].json), &roles, &error));
        CHECK(sma_access_roles_have_owner(roles) == rows[i].has_owner);
        sma_access_roles_destroy(roles);
    }
}

CASES_MAIN
