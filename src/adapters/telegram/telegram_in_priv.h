/*
 * telegram_in_priv.h — between the files telegram_in*.c only: reading JSON with suspicion, entity
 * ranges, the pieces of one event.
 *
 * Rule: a function that makes an event returns NULL when event->ingress is filled, else the
 * constant text that says why the update is ignored. Running out of memory is seen afterwards, in
 * the buffers.
 */
#ifndef SMA_ADAPTERS_TELEGRAM_IN_PRIV_H
#define SMA_ADAPTERS_TELEGRAM_IN_PRIV_H

#include "telegram_in.h"

#include "sma/buf.h"
#include "sma/limits.h"
#include "sma/reasons.h"
#include "sma/text.h"

#include <jansson.h>

#define TELEGRAM_UPDATE_ID_MAX INT64_C(9007199254740991) /* over it the number is none */
#define TELEGRAM_ID_TEXT_BYTES 24                        /* a 64-bit number in decimal */
#define TELEGRAM_KEY_TEXT_BYTES 128                      /* telegram:chat:<id>:topic:<id> */
#define TELEGRAM_QUOTED_NAME_BYTES_MAX 128               /* a name in words for the model; cut */
#define TELEGRAM_QUOTED_TEXT_BYTES_MAX 4096 /* a replied-to text in words for the model; cut */
#define TELEGRAM_ENTITY_COUNT_MAX 256       /* entities looked at (the platform sends 100) */
#define TELEGRAM_MENTION_COUNT_MAX 32       /* mentions of the bot taken out of one text */

/* One parse call: where the current event's slices live. Buffers are kept from one update to the
 * next. */
struct telegram_in
{
    const struct telegram_in_options *options;
    struct sma_buf text, context, meta, preparation; /* as in the ingress */
    /* a rich message's words; a text for the look at its command */
    struct sma_buf rich, stripped;
    struct sma_buf name; /* of who speaks: `First Last (@handle)`, or what there is of it */
    size_t file_count;   /* in preparation */
    char chat_id[TELEGRAM_ID_TEXT_BYTES], thread_id[TELEGRAM_ID_TEXT_BYTES];
    char message_id[TELEGRAM_ID_TEXT_BYTES], user_id[TELEGRAM_ID_TEXT_BYTES];
    char reply_to_id[TELEGRAM_ID_TEXT_BYTES];
    char chat_key[TELEGRAM_KEY_TEXT_BYTES], old_key[TELEGRAM_KEY_TEXT_BYTES];
    char event_key[TELEGRAM_KEY_TEXT_BYTES];
};

/* -- telegram_in_json.c ------------------------------------------------------------------------ */
struct telegram_span
{
    size_t start, end; /* bytes of the body */
    size_t depth;      /* deepest nesting inside; a scalar has 0 */
};
/** Find "ok" and the elements of "result" in one pass, without building anything.
 *  @spans  receives one struct telegram_span for every element. Returns OK | BADINPUT | NOMEM. */
SMA_CHECKED enum sma_err telegram_in_find_updates(struct sma_str body, struct sma_buf *spans,
                                                  struct sma_error *error);
/** Nesting of one JSON object that fills `json`, white space around it allowed; SIZE_MAX when it is
 *  none or cut off. */
size_t telegram_in_object_depth(struct sma_str json);
/** update_id of an Update that jansson cannot read: the member is looked for in the bytes. 0 =
 *  none. */
int64_t telegram_in_find_update_id(struct sma_str json);
/** Members of objects; every one accepts NULL and anything that is no object. 0, "", false, NULL
 *  when the member is absent or of another type: an id in a string or a fraction is no id. */
int64_t telegram_in_int(const json_t *object, const char *name);
struct sma_str telegram_in_str(const json_t *object, const char *name);
bool telegram_in_true(const json_t *object, const char *name);
const json_t *telegram_in_object(const json_t *object, const char *name);
const json_t *telegram_in_array(const json_t *object, const char *name);
/* present and not null, of any type */
bool telegram_in_has(const json_t *object, const char *name);

/* -- telegram_in_entity.c ---------------------------------------------------------------------- */
struct telegram_range
{
    size_t start, end; /* bytes */
};
/** UTF-16 offset and length into bytes of valid UTF-8 text. What lies outside the text is clipped,
 *  half of a surrogate pair at either end is left out. @return false when nothing remains;
 *  *ret_range is then untouched. */
bool telegram_in_range(struct sma_str text, int64_t offset, int64_t length,
                       struct telegram_range *ret_range);

struct telegram_marks
{
    /* the bot_command entity at offset 0, with its slash; empty = none */
    struct sma_str command;
    /* of the bot, sorted, not overlapping */
    struct telegram_range mentions[TELEGRAM_MENTION_COUNT_MAX];
    size_t mention_count;
};
/** Put a mention in its place; ignored when it overlaps one that is there, or when there are too
 *  many. */
void telegram_in_add_mention(struct telegram_marks *marks, struct telegram_range range);
/** Is this slice "@" and our name, in any case? */
bool telegram_in_is_bot_named(const struct telegram_bot *bot, struct sma_str mention);
/** Look through text's entities for what concerns the bot. */
void telegram_in_read_marks(const struct telegram_bot *bot, struct sma_str text,
                            const json_t *entities, struct telegram_marks *ret_marks);
/** Append text without the mentions; of the white space around each gap one side is kept, the one
 *  with more lines. */
void telegram_in_put_stripped(struct sma_buf *buf, struct sma_str text,
                              const struct telegram_marks *marks);

/* -- telegram_in_media.c ----------------------------------------------------------------------- */
struct telegram_origin
{
    int64_t chat_id, message_id, date_ms; /* make the path of a file its own */
};
/** Of a message without words: its content by the name the platform gives it. @return whether it
 *  has one */
bool telegram_in_put_unknown(const json_t *message, struct sma_buf *text);
/** Append the lines for everything in the message that is no text, and to in->preparation what must
 *  be fetched.
 *  @return the number of files to be fetched */
size_t telegram_in_put_media(struct telegram_in *in, const json_t *message,
                             const struct telegram_origin *origin, struct sma_buf *lines);
/** The files alone, of the message or of one that it answers: no more than SMA_ATTACHMENT_COUNT_MAX
 *  of one event. @return the number of files to be fetched */
size_t telegram_in_put_files(struct telegram_in *in, const json_t *message,
                             const struct telegram_origin *origin, struct sma_buf *lines);
/** What the message is besides text, for people: "a photo", "a sticker" ...; NULL = nothing
 *  known. */
const char *telegram_in_media_name(const json_t *message);

/* -- telegram_in_rich.c ------------------------------------------------------------------------ */
/** Append all the text of a rich message; blocks end in a newline, the last one does not. ret_marks
 *  points into buf's bytes and holds until the next append. */
void telegram_in_put_rich_text(const struct telegram_bot *bot, const json_t *rich_message,
                               struct sma_buf *buf, struct telegram_marks *ret_marks);

/* -- telegram_in_context.c --------------------------------------------------------------------- */
/** Is reply_to_message an answer of a person, not the one that every message of a topic carries? */
bool telegram_in_is_real_reply(const json_t *message);
/** Append in words: forwarded from whom, in reply to what, in whose name; with_files: and what
 *  of the answered message is to be fetched. */
void telegram_in_put_context(struct telegram_in *in, const json_t *message, bool with_files);
/** Append text as a JSON string, at most max bytes of it; what is left out is marked with an
 *  ellipsis. */
void telegram_in_put_quoted(struct sma_buf *buf, struct sma_str text, size_t bytes_max);

/* -- telegram_in_message.c, telegram_in_event.c ------------------------------------------------ */
struct telegram_chat
{
    int64_t id;
    struct sma_str type;
    bool is_private;
    bool is_direct; /* of a channel: each of its topics is a private talk with one subscriber */
};
/** @return NULL, or why this chat is none of ours. */
const char *telegram_in_read_chat(const json_t *object, struct telegram_chat *ret_chat);
/** Fill ingress->route's adapter, channel and chat members; thread_id 0 = none. */
void telegram_in_put_chat(struct telegram_in *in, const struct telegram_chat *chat,
                          int64_t thread_id, struct sma_ingress *ingress);
/** Fill route.user_id, user_name, language from a User. */
void telegram_in_put_user(struct telegram_in *in, const json_t *user, struct sma_ingress *ingress);
/** A number as decimal text in a caller's field. */
struct sma_str telegram_in_number(char field[TELEGRAM_ID_TEXT_BYTES], int64_t number);
/** An event's own key: what it is of, and a number. */
struct sma_str telegram_in_put_key(struct telegram_in *in, const char *prefix, int64_t number);
/** The topic that an answer may name, or 0. */
int64_t telegram_in_thread(const json_t *message);
/** Unix seconds to ms, never later than now, now when absent. */
int64_t telegram_in_date_ms(const struct telegram_in *in, int64_t date_s);
/** {"chatType":...} of the history line. */
void telegram_in_put_meta(struct telegram_in *in, const struct telegram_chat *chat,
                          int64_t thread_id, size_t file_count, struct sma_ingress *ingress);

const char *telegram_in_take_message(struct telegram_in *in, const json_t *message,
                                     struct telegram_event *event);
const char *telegram_in_take_callback(struct telegram_in *in, const json_t *query,
                                      struct telegram_event *event);
const char *telegram_in_take_edit(struct telegram_in *in, const json_t *message,
                                  struct telegram_event *event);
const char *telegram_in_take_member(struct telegram_in *in, const json_t *change,
                                    struct telegram_event *event);
const char *telegram_in_take_migration(struct telegram_in *in, const json_t *message,
                                       struct telegram_event *event);

#endif
