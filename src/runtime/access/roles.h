/*
 * roles.h — who somebody is, by configuration: `permissions.roles` and
 * `adapters.<platform>.access`.
 *
 *   "permissions": {"roles": {"owner": ["telegram:1001"], "admin": ["feishu:ou_x"], "member":
 *   ["qq:..."]}}
 * An actor key is "<channel>:<user id>"; the long form of old files,
 * "<channel>:chat:<id>:user:<user id>", is read too and means that person in that chat alone.
 * Channels that stand behind the API token or the machine's own user ("api", "cli", "web") are
 * owners.
 * Threads: rules are constant.
 */
#ifndef SMA_ACCESS_ROLES_H
#define SMA_ACCESS_ROLES_H

#include "sma/base.h"

/* The same order as enum sma_standing of messages.h. */
enum sma_access_standing
{
    SMA_ACCESS_STRANGER,
    SMA_ACCESS_MEMBER,
    SMA_ACCESS_ADMIN,
    SMA_ACCESS_OWNER,
};
const char *sma_access_standing_name(
    enum sma_access_standing standing); /* "stranger" "member" "admin" "owner" */
bool sma_access_standing_read(struct sma_str name, enum sma_access_standing *ret_standing);

struct sma_access_roles;
/** `permissions` as JSON text; empty: nobody is anything. OK | BADINPUT (*error names the entry and
 *  the remedy) | NOMEM. */
SMA_CHECKED enum sma_err sma_access_roles_parse(struct sma_str permissions_json,
                                                struct sma_access_roles **ret_roles,
                                                struct sma_error *error);
void sma_access_roles_destroy(struct sma_access_roles *roles); /* accepts NULL */
/** The highest role the configuration gives; STRANGER when it names nobody such. */
enum sma_access_standing sma_access_roles_find(const struct sma_access_roles *roles,
                                               struct sma_str channel, struct sma_str chat_id,
                                               struct sma_str user_id);

/** Does the configuration name an owner, of anything? */
bool sma_access_roles_have_owner(const struct sma_access_roles *roles);

/** The parts of an actor key; chat is empty in the short form. false: it names nobody. Slices point
 *  into key. */
bool sma_access_key_split(struct sma_str key, struct sma_str *ret_channel, struct sma_str *ret_chat,
                          struct sma_str *ret_user);
/** Whoever comes by this channel holds the API token or sits at the machine: "api" "cli" "web". */
bool sma_access_is_trusted_channel(struct sma_str channel);

#endif
