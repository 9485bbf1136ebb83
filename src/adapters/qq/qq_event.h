/*
 * qq_event.h — one dispatched payload, from the gateway or a webhook, to at most one INGRESS. Pure.
 *
 *   C2C_MESSAGE_CREATE, GROUP_AT_MESSAGE_CREATE, GROUP_MESSAGE_CREATE, AT_MESSAGE_CREATE,
 *   MESSAGE_CREATE,
 *   DIRECT_MESSAGE_CREATE                                          MESSAGE or CONTROL
 *   INTERACTION_CREATE                                             CALLBACK: text = the button's
 *   data
 *   FRIEND_ADD                                                     CONTROL: START
 *   FRIEND_DEL, GROUP_ADD_ROBOT/DEL_ROBOT, *_MSG_REJECT/RECEIVE    NOTE
 *   MESSAGE_DELETE, PUBLIC_MESSAGE_DELETE, DIRECT_MESSAGE_DELETE   NOTE: change, target_id
 *   everything else, messages of bots, messages without text and attachment   IGNORED
 * An IGNORED event is finished like a stored one: its sequence number may be passed.
 *
 * chat_key qq:<group|c2c|channel|dm>:<id> (of a further bot qq@<its id>:...), chat_type the word in
 * it. event_key: the message's own
 * id (the same message may come as GROUP_AT_MESSAGE_CREATE and as GROUP_MESSAGE_CREATE); for all
 * others the outer event id. route.message_id: what a passive reply names: the message's id, or
 * "event:<event id>" for callbacks and notes.
 * Text: `@attach` lines, an empty line, then what was said: the bot's own mention and blanks around
 * taken out, other mentions as @name, HTML entities of guild texts undone. Quotes go to `context`.
 * role: administrators and owners of a group or guild are told by the event itself.
 *
 * Source: protocols/qq.md §4; protocols/project.md §5.1, §5.4.  Threads: no state.
 */
#ifndef SMA_QQ_EVENT_H
#define SMA_QQ_EVENT_H

#include "adapters/common/file_list.h"
#include "adapters/common/home.h"
#include "qq_frame.h"
#include "sma/messages.h"

#define QQ_CACHE_FOLDER ".ship/.cache/qq/"
#define QQ_EVENT_REPLY_PREFIX "event:"
#define QQ_URL_BYTES_MAX 4096

struct qq_event_options
{
    const struct sma_home *home; /* names and folder of this bot; NULL = of the platform's first */
    struct sma_str bot_id; /* READY's user.id: whose mention is ours in guilds; may be empty */
    uint8_t adapter;       /* actor id, for the route */
    int64_t now_wall_ms;   /* stamp of events without a time, and the latest time believed */
    uint64_t read_ns;
};
enum qq_event_kind
{
    QQ_EVENT_IGNORED,
    QQ_EVENT_INGRESS,
};
struct qq_event
{
    enum qq_event_kind kind;
    const char *why;            /* IGNORED: constant text; else "" */
    bool is_audit_refused;      /* IGNORED: of a message of ours, which nobody sees now */
    struct sma_str audit_place; /* with it: the channel's id; may be empty */
    /* to be acknowledged with PUT /interactions/{id}; may be empty */
    struct sma_str interaction_id;
    struct sma_ingress ingress; /* every field but cursor_*; slices valid during the callback */
};
typedef void qq_event_fn(void *user, const struct qq_event *event);

/** "timestamp" of an event or an answer in any of its forms. @return ms, 0 = none that can be
 *  read */
int64_t qq_timestamp_ms(const json_t *object);

/** Read one dispatch; each() is called exactly once on OK. frame->op must be DISPATCH. @return OK |
 *  NOMEM */
SMA_CHECKED enum sma_err qq_event_parse(const struct qq_event_options *options,
                                        const struct qq_frame *frame, qq_event_fn *each,
                                        void *user);

/* Of ingress.preparation: with "url", http or https. */
extern const struct sma_file_shape qq_file_shape;

#endif
