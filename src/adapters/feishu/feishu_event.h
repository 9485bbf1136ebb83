/*
 * feishu_event.h — the JSON of one event, from either transport, to at most one INGRESS.
 *
 * Envelopes: schema 2.0, the old 1.0 (uuid, event.type), and the bare body of the old card webhook.
 *
 *   im.message.receive_v1, message (1.0)        MESSAGE or CONTROL
 *   card.action.trigger, old card body          CALLBACK: text = the button's value (a string as it
 *   is, else its JSON)
 *   im.chat.member.bot.added_v1 / deleted_v1, add_bot / remove_bot (1.0)          NOTE
 *   im.chat.access_event.bot_p2p_chat_entered_v1 without an earlier message, p2p_chat_create (1.0)
 *   CONTROL: START; without a person, NOTE
 *   im.message.recalled_v1                                      NOTE: change, target_id
 *   everything else (read, reactions, unknown), messages of apps and bots, empty texts
 *   IGNORED
 * An IGNORED event is acknowledged like a handled one: the platform must not deliver it again.
 *
 * event_key of a message is its message_id. The sheet asks to dedupe by event_id as well, since the
 * same message can come under another event_id; the message_id covers both, because every event_id
 * of a message names that one message_id: same event_id => same message_id => same claim. Callbacks
 * and notes have no message of their own: their key is the event_id (1.0: uuid; neither: the
 * callback token).
 *
 * addressed: p2p => PRIVATE; else MENTION if one mention carries the bot's own open_id (1.0:
 * is_mention), else NONE. @all is not a mention of the bot. The bot's own placeholder is removed
 * from the text, every other becomes @Name.
 *
 * Text = one line `@attach <photo|document|voice> <path> | <name>` per attachment, an empty line,
 * then the text. Paths are decided here, as everywhere (runtime/text/attach.h):
 * .ship/.cache/feishu/<create_time ms>-<head of file_key>-<hash>-<name>. The files are fetched
 * later, as `preparation` says.
 *
 * Threads: no state; the caller's.  Blocks: no.
 * Limits:  FEISHU_EVENT_BYTES_MAX, SMA_JSON_DEPTH_MAX, SMA_TEXT_BYTES_MAX (longer text: IGNORED
 *          with its reason), SMA_ATTACHMENT_COUNT_MAX (further ones are named in the text, not
 *          fetched), SMA_ID_BYTES_MAX.
 * Source:  protocols/feishu.md §6, §9.4; protocols/project.md §5.1, §5.3.
 */
#ifndef SMA_FEISHU_EVENT_H
#define SMA_FEISHU_EVENT_H

#include "adapters/common/file_list.h"
#include "adapters/common/home.h"
#include "sma/buf.h"
#include "sma/messages.h"

#define FEISHU_EVENT_BYTES_MAX (4 * 1024 * 1024)
#define FEISHU_CACHE_FOLDER ".ship/.cache/feishu/"

struct json_t;
struct feishu_event_options
{
    const struct sma_home *home; /* names and folder of this bot; NULL = of the platform's first */
    struct sma_str
        /* of /bot/v3/info; empty: no group message counts as addressed, so learn it first */
        bot_open_id;
    struct sma_str
        /* own id; messages of this sender are ignored whatever their type says; may be empty */
        app_id;
    uint8_t adapter;     /* actor id, goes into the route */
    int64_t now_wall_ms; /* stamp of events without a time, and the latest time believed */
    uint64_t read_ns;    /* when the event's bytes were read */
    /* What a person is called: empty = nobody tells, without ptr = not known. NULL: nobody is. */
    struct sma_str (*find_name)(void *user, struct sma_str open_id);
    void *user;
    bool may_ask_names; /* a name that is not known is looked up */
};
enum feishu_event_kind
{
    FEISHU_EVENT_IGNORED,
    FEISHU_EVENT_INGRESS,
};
struct feishu_event
{
    enum feishu_event_kind kind;
    const char *why;           /* IGNORED: constant text; else "" */
    struct sma_str event_type; /* "im.message.receive_v1" ...; may be empty */
    struct sma_str event_id;   /* header.event_id or uuid; may be empty */
    bool is_callback; /* the platform waits for the answer of §9.5; it is not delivered again */
    /* "c-...": of a callback, for a late update of the card; may be empty */
    struct sma_str callback_token;
    /* INGRESS: every field but cursor_*; slices valid during the callback */
    struct sma_ingress ingress;
};
typedef void feishu_event_fn(void *user, const struct feishu_event *event);

/**
 * Parse one event and call each() once for it. Invalid UTF-8 is replaced by U+FFFD, never a reason
 * to refuse.
 * @return OK after each() | BADINPUT: not an event at all (not JSON, too deep, no type), with
 *         *error; each() not called | TOOBIG | NOMEM
 */
SMA_CHECKED enum sma_err feishu_event_parse(const struct feishu_event_options *options,
                                            struct sma_str body, feishu_event_fn *each, void *user,
                                            struct sma_error *error);

/* -- look-ups: what is read before the run, beside files --------------------------------------- */
#define FEISHU_LOOK_QUOTE "quoted message"       /* message_id; is_first: a topic's first message */
#define FEISHU_LOOK_FORWARD "forwarded messages" /* message_id: the message that holds them */
#define FEISHU_LOOK_NAME "name of its author"    /* user_id */

/* One message as GET /im/v1/messages/{id} tells it. */
struct feishu_item
{
    struct sma_str text;        /* what it says, without attachment lines */
    struct sma_str lines;       /* its `@attach` lines */
    struct sma_str preparation; /* as of an ingress: its files */
    struct sma_str sender_id;
    bool is_ours, is_program; /* ours: of this app */
    int64_t date_ms;
};
typedef void feishu_item_fn(void *user, const struct feishu_item *item);
/** Read one element of data.items and call each() for it. @return OK | BADINPUT: no message,
 *  deleted | TOOBIG | NOMEM */
SMA_CHECKED enum sma_err feishu_item_read(const struct feishu_event_options *options,
                                          const struct json_t *json, feishu_item_fn *each,
                                          void *user);

/* -- attachments ------------------------------------------------------------------------------- */
/* Of ingress.preparation: with "message_id" and "file_key", see feishu_put_resource_path. */
extern const struct sma_file_shape feishu_file_shape;

#endif
