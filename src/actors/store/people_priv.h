/*
 * people.h — what people.c, pairing.c, paired.c, people_list.c and known.c know of people and
 * groups. Records of state.db (table access):
 *
 *   person/<channel>/<user id>   {"standing","via","since"}; via: "paired" "history" "config"
 *   "rejected"
 *   alias/<channel>/<user id>    the id that an older project knows him by (alias.c)
 *   home/<channel>/<user id>     where an owner or administrator last wrote in private:
 *   {"chatKey","chatId",...}
 *   pair/<code>                  {"created",...}: who waits for a pairing, and which of his
 *   messages are kept
 *   pairing/<channel>/<user id>  the code of that person
 *   group/<channel>/<chat id>    a group of which an owner or administrator has said something:
 *   {"via","by","since"}; via:
 *                                "paired" "spoke" "history" (let in), "rejected"
 *   grouping/<channel>/<chat id> the code of that group
 *   program/<MCP server>         the question to owners about its program: {"code",...}
 *                                (program_held.c)
 *   stranger/<chat key>          a private chat that a stranger began: {"channel","userId",...};
 *   until he is paired, or leaves
 *
 * They change with the open transaction and are undone with it. Persons and homes that were read
 * are remembered in
 * memory: a change forgets the one, an undo forgets all.
 */
#ifndef SMA_STORE_PEOPLE_PRIV_H
#define SMA_STORE_PEOPLE_PRIV_H

#include "people.h"

#include <jansson.h>

#define STORE_PERSON_COUNT 4096 /* people remembered; a newer one takes the place of an older */
#define STORE_PAIRED_CALL 2u /* outbox keys, with step 0: the notice that a pairing is confirmed */
#define STORE_PAIR_NEW_CALL \
    3u /* ... and those that tell owners of a new code, 3 .. 3 + HOME_COUNT_MAX - 1 */
#define STORE_HELD_CALL 8u /* ... and of programs that are held: the first free one up to 15 */

enum store_group_word
{
    STORE_GROUP_UNKNOWN, /* nobody of the owner's side has said anything of it */
    STORE_GROUP_LET_IN,
    STORE_GROUP_REJECTED,
};
struct store_person
{
    enum sma_access_standing standing;
    bool is_from_history, is_rejected;
    char alias[64]; /* the id that an older project knows him by; "" = none */
};
struct store_known
{
    uint64_t hash; /* of channel and user id; 0 = free */
    struct store_person person;
    uint64_t home_hash; /* 0 = not looked at */
};
#define STORE_ROLE_COUNT 4096 /* roles remembered; a newer one takes the place of an older */

struct store_role
{
    uint64_t hash, until_ns; /* of chat and person */
    uint8_t role;
};

/* Where the round over all records is, and what it has found. */
struct store_people_round
{
    struct sma_buf after; /* the last key that was looked at; empty: a round begins */
    uint64_t due_ns;      /* of the next slice */
    bool is_resting;      /* between two rounds */
    bool has_owner, is_owner_told;
};

#define STORE_SILENT_DAYS 1024 /* days of silence that are told apart */

/* Strangers who leave: where the stage of the pass is. */
struct store_strangers_pass
{
    unsigned phase;                     /* of strangers_keep.c */
    uint32_t today;                     /* days since 1970 */
    struct sma_buf after;               /* the last key that was looked at; empty: a phase begins */
    uint32_t silent[STORE_SILENT_DAYS]; /* how many wrote so many days ago */
    uint32_t limit_day;                 /* who wrote before this many days is one too many ... */
    uint64_t limit_left;                /* ... and of those who did then, so many */
    uint64_t removed;
    bool is_told; /* that a history could not be removed */
};

struct store_people
{
    struct sma_access_rules *default_rules, *rules[SMA_ADAPTER_COUNT_MAX]; /* as store->adapters */
    /* of entries of `chats`: [adapter * chat_count + entry]; NULL = says nothing of access */
    struct sma_access_rules **chat_rules;
    size_t chat_count;
    struct sma_access_roles *named;    /* permissions.roles */
    struct store_strangers *strangers; /* counted today: store_stranger.c */
    struct store_role roles[STORE_ROLE_COUNT];
    struct store_known known[STORE_PERSON_COUNT];
    bool has_told, has_aliases;
    uint64_t told_ns; /* when owners were last told of a new code */
    struct sma_buf key, value;
    struct store_people_round round;
    struct store_strangers_pass leaving;
};

/** Read a person's record; a STRANGER when there is none. @return OK | IO | CORRUPT | NOMEM */
SMA_CHECKED enum sma_err sma_store_person_get(struct sma_store *store, struct sma_str channel,
                                              struct sma_str user_id,
                                              struct store_person *ret_person);
/** Write it, in the open transaction. */
SMA_CHECKED enum sma_err sma_store_person_put(struct sma_store *store, struct sma_str channel,
                                              struct sma_str user_id,
                                              enum sma_access_standing standing, const char *via);
/** "<prefix><channel>/<user id>" into people->key. */
SMA_CHECKED enum sma_err sma_store_people_key(struct sma_store *store, const char *prefix,
                                              struct sma_str channel, struct sma_str user_id);
/** The record under people->key into people->value. @return OK | NOTFOUND | ... */
SMA_CHECKED enum sma_err sma_store_people_read(struct sma_store *store);
/** Write `value` (empty deletes) under people->key. */
SMA_CHECKED enum sma_err sma_store_people_write(struct sma_store *store, struct sma_str value);
/** Append the members "chatKey" ... "language" of a route. */
void sma_store_people_put_route(struct sma_buf *buf, const struct sma_route *route);
/** Read them back; slices point into object. */
struct sma_route sma_store_people_get_route(const json_t *object);
/** Remember where this person can be reached, in the open transaction; written when it is new. */
SMA_CHECKED enum sma_err sma_store_note_home(struct sma_store *store,
                                             const struct sma_route *route);
/** Standing by configuration and pairing, and is_rejected. */
SMA_CHECKED enum sma_err sma_store_find_person(struct sma_store *store,
                                               const struct sma_route *route,
                                               struct sma_access_facts *facts);
/** What the owner's side has said of this group: by configuration or a record. @return OK | IO |
 *  CORRUPT | NOMEM */
SMA_CHECKED enum sma_err sma_store_group_word(struct sma_store *store,
                                              const struct sma_route *route,
                                              enum store_group_word *ret_word);
/** Let it in, or (via "rejected") not; by may be NULL. Audited. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_group_say(struct sma_store *store, const struct sma_route *route,
                                             const char *via, const struct sma_route *by);
/** The record of one that was there before groups were let in; nothing when there is one.
 *  *ret_is_new: written. */
SMA_CHECKED enum sma_err sma_store_group_keep(struct sma_store *store, struct sma_str channel,
                                              struct sma_str chat_id, bool *ret_is_new);
/** The platform's role is remembered. */
/** Of a person on a platform: channel and user id. */
uint64_t sma_store_hash_person(const struct sma_store *store, const struct store_chat *chat,
                               struct sma_str user_id);
bool sma_store_find_role(const struct sma_store *store, const struct store_chat *chat,
                         struct sma_str user_id, enum sma_role *ret_role);
const struct sma_access_rules *sma_store_rules_of(const struct sma_store *store,
                                                  const struct sma_route *route);
void sma_store_free_strangers(struct sma_store *store);
/* -- strangers_keep.c */
/** He began a private chat. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_stranger_note(struct sma_store *store,
                                                 const struct sma_route *route);
/** He is paired: his chat stays. Likewise. */
SMA_CHECKED enum sma_err sma_store_stranger_stays(struct sma_store *store, struct sma_str chat_key);
/* -- alias.c */
SMA_CHECKED enum sma_err sma_store_read_alias(struct sma_store *store, struct sma_str channel,
                                              struct sma_str user_id, struct store_person *person);
/** At start: are there any? */
SMA_CHECKED enum sma_err sma_store_look_for_aliases(struct sma_store *store);
/* -- people_keep.c */
SMA_CHECKED enum sma_err sma_store_people_expire(struct sma_store *store);
uint64_t sma_store_people_wake(const struct sma_store *store);

#include "pairing_priv.h"

/* -- access_chats.c ---------------------------------------------------------------------------- */
/** The rules of chats that have their own, made anew from the configuration. */
SMA_CHECKED enum sma_err sma_store_load_chat_rules(struct sma_store *store);
void sma_store_free_chat_rules(struct sma_store *store);
/** Those of this chat; NULL = it has none of its own. */
const struct sma_access_rules *sma_store_chat_rules(const struct sma_store *store, size_t adapter,
                                                    const struct sma_route *route);
/** The block of a platform with what a chat says in place of its members. @name: for messages */
struct sma_str sma_store_block_of(const struct sma_config *config, const char *name);
SMA_CHECKED enum sma_err sma_store_load_rules_of(struct sma_store *store, struct sma_str json,
                                                 const char *name, struct sma_access_rules **rules);

#endif
