/*
 * adapter.h — what a platform is to the house: one folder, one of these tables, one line in
 * src/cli/adapters.c.
 *
 * An adapter is an actor. It turns platform events into INGRESS questions to the store (and
 * acknowledges the platform only after ACCEPTED), and ATTEMPT questions of the dispatcher into one
 * attempt each, classified. It never assembles prompts, never decides what to say, never retries a
 * send.
 */
#ifndef SMA_ADAPTER_H
#define SMA_ADAPTER_H

#include "sma/bot.h"
#include "sma/config.h"
#include "sma/messages.h"
#include "sma/param.h"

struct sma_capabilities
{
    bool has_markdown; /* Markdown of the model is shown as such */
    bool has_files;    /* files of the project can be sent: send_file is offered, in every chat */
    /* emoji can be put on messages (SMA_INTENT_REACTION): react is offered */
    bool has_reactions;
    bool has_cards; /* cards in the platform's JSON: send_card is offered, in every chat */
    bool has_topics_by_reply;  /* a topic is reached by a reply to one of its messages alone */
    bool has_profiles;         /* PREPARE: wants_profile is answered */
    bool has_idempotency;      /* repeating an attempt under the same key cannot send twice */
    bool is_stored_delivery;   /* delivery means stored in the result (http): no attempts at all */
    uint32_t part_chars_max;   /* UTF-16 units of one part; 0 = no limit */
    uint32_t chat_per_minute;  /* sends per chat, 0 = no limit */
    uint32_t chat_burst;       /* sends a chat may make at once before the rate counts; 0 = 1 */
    uint32_t group_per_minute; /* sends per group (see is_group), 0 = as chat_per_minute */
    uint32_t adapter_per_second; /* sends of the whole adapter, evenly spaced; 0 = no limit */
};

/* What `shipmyagent init` asks and writes for a platform. */
struct sma_adapter_setup
{
    const char
        *members; /* JSON members of its block, secrets as placeholders; NULL = no platform */
    const char
        *variables;     /* that .env must set, for people: "FEISHU_APP_ID and FEISHU_APP_SECRET" */
    const char *source; /* who gives them out: "@BotFather (/newbot)" */
    const char *switch_key, *switch_question; /* one more member, true or false; NULL = none */
};

struct sma_probing; /* sma/probe.h */

/* Called by render() for every part, in order. */
typedef void sma_part_fn(void *user, struct sma_str part_bytes);

struct sma_adapter_ops
{
    const char *name;                /* as in ship.json */
    const struct sma_params *params; /* the keys of its block, with the name */
    const char *channel;             /* as in history: "telegram", "api", "cli" ... */
    struct sma_adapter_setup setup;  /* for `shipmyagent init` */
    const struct sma_actor_ops *actor;
    struct sma_capabilities capabilities;
    uint32_t renderer_version;  /* raised whenever render() would split differently */
    bool is_chinese_by_default; /* language auto without a hint from the user */
    /**
     * Make the state. `json` of cfg is this adapter's block. NOTFOUND: silently not configured (old
     * projects). BADINPUT with *error: the program does not start.
     */
    SMA_CHECKED enum sma_err (*create)(const struct sma_config *config,
                                       const struct sma_config_adapter *block, void **ret_state,
                                       struct sma_error *error);
    void (*destroy)(void *state); /* after the actor has ended; accepts NULL */
    /** Instead of ever starting the actor: ask the platform whether it would take this bot. Changes
     *  nothing there. NULL: there is nobody to ask. */
    void (*probe)(void *state, struct sma_probing *probing);
    /** Likewise: who has sent the bot this code in private? Their user id is who of the result;
     *  without it nobody has. Takes no events away. NULL: the platform cannot be asked. */
    void (*find_owner)(void *state, const char *code, struct sma_probing *probing);
    /** Pure: text and intent into parts. Same input, same version: same parts. Runs on the
     *  dispatcher's thread. */
    SMA_CHECKED enum sma_err (*render)(const struct sma_deliver *row, sma_part_fn *each,
                                       void *user);
    /**
     * Pure: append to rest what so many parts of this row leave out of its text, to be sent as a
     * row of its own. On the store's thread. @return OK | NOTFOUND: render() cut nothing. NULL: it
     * never cuts by itself.
     */
    SMA_CHECKED enum sma_err (*rest)(const struct sma_deliver *row, uint32_t part_count,
                                     struct sma_buf *rest);
    /** Change the declared capabilities by what the configuration says (rates, rights); at the
     *  dispatcher's creation. May be NULL. */
    void (*configure)(const void *state, struct sma_capabilities *capabilities);
    /** Pure: how many messages the platform takes in answer to one of this chat: DELIVER says how
     *  often it was answered, the model how many are left. NULL: as many as you like. */
    uint32_t (*replies_max)(const struct sma_route *route);
    /** Pure: is this part, of render(), a file? When it is late words pass it. NULL = never. */
    bool (*is_file)(struct sma_str part_bytes);
    /** Pure: is this a place where several people talk? For group_per_minute. NULL = never. */
    bool (*is_group)(const struct sma_route *route);
    /** WEBHOOK questions are wanted: requests to /webhooks/<name>. The program then does not start
     *  without http. NULL = never. */
    bool (*takes_webhooks)(const void *state);
    /**
     * Pure: the idempotency key of a part, where the platform bounds its form; NULL = the core's
     * own. It must hold the row's
     * salt: ids begin anew with every new state. Salt 0: a row of an older version, whose keys must
     * stay as they were.
     */
    void (*key)(const struct sma_deliver *row, uint32_t part, struct sma_buf *buf);
};

/* One adapter in a running program. */
struct sma_adapter
{
    const struct sma_adapter_ops *ops;
    void *state;
    enum sma_actor_id actor;
    const char *bot; /* of several of one platform: "telegram@support"; NULL = the first */
};
/** As its block is called, for people, metrics and files. */
static inline const char *sma_adapter_name(const struct sma_adapter *adapter)
{
    return adapter->bot != NULL ? adapter->bot : adapter->ops->name;
}
/** As in routes and records. */
static inline const char *sma_adapter_channel(const struct sma_adapter *adapter)
{
    return adapter->bot != NULL ? adapter->bot : adapter->ops->channel;
}
/** Of the program's own page. */
static inline bool sma_channel_is_page(struct sma_str channel)
{
    return sma_str_is_equal(channel, SMA_STR("web"));
}
/** The channel whose adapter serves this one: rooms of the page are the HTTP API's. */
static inline struct sma_str sma_channel_home(struct sma_str channel)
{
    return sma_channel_is_page(channel) ? SMA_STR("api") : channel;
}

/**
 * Recognise a control command: the first word of text, with or without "@bot" already removed by
 * the adapter.
 * Known: /stop /clear /status /help /start and the Chinese forms of protocols/project.md §5.2.1
 * (/停止 /清除 /状态 /帮助).
 * @return NONE for ordinary text; UNKNOWN for a well-formed "/word" that is none of them
 */
enum sma_control sma_control_parse(struct sma_str text);

#endif
