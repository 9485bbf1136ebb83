/*
 * telegram_in.h — Bot API JSON into events of the core: what was said, where, to whom, and what is
 * to be fetched.
 *
 * Pure: no clock, no file, no network; the same bytes and options give the same events, in the
 * order of the updates. Nothing that a platform or a person sends makes it crash, hang or lose the
 * way: what cannot be understood becomes an IGNORED event that still carries its update_id, so that
 * the offset can pass it.
 *
 * Untrusted: every text, name and id. Names and quoted texts reach the model in `context` as JSON
 * strings, cut; never in `text`. Ids are taken only from JSON integers, never from strings or
 * fractions.
 * Threads: any; no state.   Blocks: never.   Allocates: yes.
 * Source: protocols/telegram.md §3-§5, protocols/project.md §5.2.
 */
#ifndef SMA_ADAPTERS_TELEGRAM_IN_H
#define SMA_ADAPTERS_TELEGRAM_IN_H

#include "adapters/common/file_list.h"
#include "adapters/common/home.h"
#include "sma/messages.h"

#define TELEGRAM_DIRECT \
    "direct" /* chat_type of a channel's direct messages; thread_id: the topic */
#define TELEGRAM_UPDATES_COUNT_MAX \
    1024 /* of one getUpdates answer (the platform sends 100); over it BADINPUT */
#define TELEGRAM_CALLBACK_BYTES_MAX \
    64 /* of a button's data; over it the press is answered and not handed on */
#define TELEGRAM_FILE_ID_BYTES_MAX 512 /* over it the file is named, not fetched */
#define TELEGRAM_CACHE_FOLDER \
    ".ship/.cache/telegram/" /* where attachments go, relative to the project */

/* Who we are, from getMe. An empty user name: no mention and no "/command@name" is ours. */
struct telegram_bot
{
    int64_t id;
    struct sma_str username; /* without '@' */
    bool joins_groups;       /* can_join_groups: anybody may take it into a group */
    bool
        /* can_read_all_group_messages: a bare unknown command in a group may be another bot's */
        reads_all;
};

struct telegram_in_options
{
    const struct telegram_bot *bot;
    const struct sma_home *home; /* names and folder of this bot; NULL = of the platform's first */
    uint8_t adapter;             /* route.adapter of every event */
    int64_t now_wall_ms;         /* "now" for ages; a date in the future counts as this */
    uint64_t read_ns;            /* stamps.read_ns of every event */
    size_t
        /* a file said to be larger is named in the text, not fetched; 0 = the default */
        attachment_bytes_max;
};

enum telegram_event_kind
{
    /* nothing for the store; only the offset moves (and a callback is answered) */
    TELEGRAM_IGNORED,
    TELEGRAM_INGRESS, /* ingress is filled */
};

/*
 * One update. What the members of ingress hold:
 * - route: channel "telegram", of a further bot "telegram@<its id>"; chat_key
 *   <channel>:chat:<id>[:topic:<n>], the topic only when is_topic_message is true; chat_type as
 *   the platform says; user_id = who speaks: from.id, or
 *   sender_chat.id when somebody speaks in the name of a chat (equal to chat_id: an anonymous
 *   administrator of it); user_name = `First Last (@handle)`, or what there is. message_id of a
 *   callback is the message the button belongs to.
 * - text: `@attach <kind> <path> | <description>` lines, `[...]` lines for what is no file and no
 *   text (a location, a sticker, a file too large), a blank line, then the text or caption.
 *   Mentions of the bot are taken out in groups. Never empty for a MESSAGE. For a CONTROL it is the
 *   text as received; for a CALLBACK the button's data; for a NOTE empty.
 * - context: replies, quotes, forwards, in words for the model.
 * - kind, control, addressed: as protocols §4 orders the tests. NOTE: this bot was added, removed,
 *   blocked (my_chat_member), or the group became a supergroup (route of the new chat,
 *   migrated_from the old chat's key).
 * - event_key: message id; callback id; "migrate:<old chat id>" (one for the two service messages);
 *   "u<update_id>".
 * - cursor_name, cursor_value, stamps.parsed_ns are left to the actor.
 */
struct telegram_event
{
    int64_t update_id; /* > 0; 0 = the update carries none */
    enum telegram_event_kind kind;
    const char *why;            /* IGNORED: constant text for logs; "" otherwise */
    struct sma_ingress ingress; /* slices are valid during the callback only */
    /* IGNORED: where it stood, as far as the update says; for logs */
    struct sma_str chat_key, user_id, message_id;
    /* to be answered with answerCallbackQuery, also when IGNORED; "" = none */
    struct sma_str callback_id;
};
typedef void telegram_event_fn(void *user, const struct telegram_event *event);

/**
 * Parse the whole body of a getUpdates answer, {"ok":true,"result":[...]}. `each` is called once
 * for every element, in order, and only after the whole envelope has been found sound.
 * @return  OK | BADINPUT  not such an envelope (cut off, HTML, ok:false, over
 *        TELEGRAM_UPDATES_COUNT_MAX); *error says what;
 *                    `each` was not called
 *        | NOMEM     `each` was called for the updates before the one that did not fit; ask again
 *        from that offset
 */
SMA_CHECKED enum sma_err telegram_updates_parse(const struct telegram_in_options *options,
                                                struct sma_str body, telegram_event_fn *each,
                                                void *user, struct sma_error *error);

/**
 * Parse one Update object, the body of a webhook request. `each` is called exactly once on OK.
 * @return  OK        also for an object that is broken inside: IGNORED, or the platform would send
 * it for a day
 *        | BADINPUT  not an object, or cut off: `each` was not called
 *        | NOMEM
 */
SMA_CHECKED enum sma_err telegram_update_parse(const struct telegram_in_options *options,
                                               struct sma_str body, telegram_event_fn *each,
                                               void *user, struct sma_error *error);

/* Of ingress.preparation: with "fileId", for getFile. */
extern const struct sma_file_shape telegram_file_shape;

#endif
