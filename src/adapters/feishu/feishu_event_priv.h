/*
 * feishu_event_priv.h — one event while it is read: shared by feishu_event.c, feishu_message.c,
 * feishu_mention.c, feishu_post.c, feishu_attach.c and feishu_reading.c only.
 *
 * Invariants: slices in `event` point into the JSON trees, the buffers or constant text; all live
 * until each() is through.
 */
#ifndef SMA_FEISHU_EVENT_PRIV_H
#define SMA_FEISHU_EVENT_PRIV_H

#include "feishu_event.h"
#include "runtime/json/json_arena.h"
#include "sma/reasons.h"

#define FEISHU_MENTION_COUNT_MAX 128 /* whose names are resolved; all are looked at for the bot */
#define FEISHU_PATH_BYTES_MAX 320

struct feishu_mention
{
    struct sma_str key, name; /* "@_user_1", as displayed */
    bool is_bot;
};
struct feishu_reading
{
    const struct feishu_event_options *options;
    json_t *root, *content;
    struct feishu_event event;
    struct feishu_mention mentions[FEISHU_MENTION_COUNT_MAX];
    size_t mention_count;
    bool is_forward_of_many, is_reply_to_first, wants_name;
    bool is_bot_mentioned, is_bot_removed; /* removed: its placeholder stood in the text */
    /* attachments */
    struct sma_str message_id;
    int64_t date_ms;
    size_t attachment_count;
    char paths[SMA_ATTACHMENT_COUNT_MAX][FEISHU_PATH_BYTES_MAX];
    struct sma_buf lines, preparation;
    struct sma_buf body;                          /* the text below the attachment lines */
    struct sma_buf text, chat_key, meta, context; /* of the ingress */
};

/** Stop with an IGNORED event. why: constant text, SMA_WHY_... first. */
static inline void feishu_ignore(struct feishu_reading *reading, const char *why)
{
    reading->event.kind = FEISHU_EVENT_IGNORED;
    reading->event.why = why;
}
/* -- feishu_reading.c -- */
/** An id that may stand in keys and URLs: printable ASCII without URL syntax, not only dots. */
bool feishu_id_is_good(struct sma_str id);
/** Who speaks is only compared and stored, so any visible text will do. */
bool feishu_is_user_id(struct sma_str id);
/** Append the key of this chat, of the bot that the event came to. */
void feishu_put_chat_key(struct feishu_reading *reading, struct sma_str chat_id);
/** Route and what all ingresses share. false: the chat id is unusable, the event is IGNORED. */
bool feishu_fill_route(struct feishu_reading *reading, struct sma_str chat_id,
                       struct sma_str chat_type, struct sma_str user_id);
/** The same for an author with all his ids; tenant: whose they are, empty = not said. */
struct feishu_author
{
    const json_t *ids;
    struct sma_str tenant;
};
bool feishu_fill_route_of(struct feishu_reading *reading, struct sma_str chat_id,
                          struct sma_str chat_type, const struct feishu_author *author);
/** The first present of open_id, user_id, union_id: an open_id is there whatever rights the app
 *  has. */
struct sma_str feishu_actor_id(const json_t *ids);
/** "ts" of the old envelope in ms; 0 = it says none. */
int64_t feishu_envelope_time_ms(const json_t *root);
/** Milliseconds of a time given as text or number in s, ms or us; not later than now; now when
 *  there is none. */
int64_t feishu_time_ms(const struct feishu_reading *reading, const json_t *object, const char *key);

struct feishu_reading *feishu_reading_create(const struct feishu_event_options *options);
void feishu_reading_destroy(struct feishu_reading *reading);
enum sma_err feishu_reading_err(const struct feishu_reading *reading);

/* -- feishu_message.c -------------------------------------------------------------------------- */
void feishu_read_message(struct feishu_reading *reading, const json_t *event);
void feishu_read_message_v1(struct feishu_reading *reading, const json_t *event);

/* -- feishu_mention.c -- */
bool feishu_is_bot_id(const struct feishu_reading *reading, struct sma_str open_id);
void feishu_read_mentions(struct feishu_reading *reading, const json_t *mentions);
/** Append text with placeholders and <at> tags resolved, the bot's own removed. */
void feishu_put_resolved(struct feishu_reading *reading, struct sma_buf *buf, struct sma_str text);
/** Append "@Name" for a mention key or an open_id; the bot's own: nothing. name: what else is
 *  known, may be empty. */
void feishu_put_mention(struct feishu_reading *reading, struct sma_buf *buf, struct sma_str who,
                        struct sma_str name);

/* -- feishu_post.c ----------------------------------------------------------------------------- */
/** Rich text (or a card's reduced form) as Markdown into reading->body. */
void feishu_put_post(struct feishu_reading *reading, const json_t *content);

/* -- feishu_visible.c -------------------------------------------------------------------------- */
/** A card: its words, line by line; what has none is named. */
void feishu_put_card_words(struct feishu_reading *reading, const json_t *content);
/** A type without a rule: its name and all values that people see. @return whether there is one */
bool feishu_put_other(struct feishu_reading *reading, struct sma_str type);
/** A message that somebody sent and nobody can read; words: its content where that is no JSON. */
void feishu_put_unread(struct feishu_reading *reading, struct sma_str type, struct sma_str words);

/* -- feishu_attach.c --------------------------------------------------------------------------- */
/** Note one look-up: kind is FEISHU_LOOK_*, id its message or person. */
void feishu_look(struct feishu_reading *reading, const char *kind, struct sma_str id,
                 bool is_first);
#define FEISHU_VIDEO "video"
/**
 * Note one attachment: its @attach line and its preparation. The same file twice in a message is
 * fetched once. kind: "photo" "document" "voice", or FEISHU_VIDEO, which is a document.
 * @return its number in the message, from 1; 0: not fetched, because there are
 *         SMA_ATTACHMENT_COUNT_MAX already or the key is unusable
 */
size_t feishu_attach(struct feishu_reading *reading, const char *kind, struct sma_str file_key,
                     struct sma_str name);

#endif
