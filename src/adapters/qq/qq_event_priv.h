/*
 * qq_event_priv.h — one event while it is read: shared by qq_event.c, qq_message.c, qq_said.c and
 * qq_attach.c only.
 */
#ifndef SMA_QQ_EVENT_PRIV_H
#define SMA_QQ_EVENT_PRIV_H

#include "qq_event.h"

#include "runtime/json/json_read.h"
#include "sma/reasons.h"
#include "sma/text.h"

#define QQ_QUOTE_BYTES_MAX 2000

struct qq_reading
{
    const struct qq_event_options *options;
    const struct qq_frame *frame;
    const json_t *data, *author;
    struct qq_event event;
    struct sma_buf chat_key, reply_id, lines, said, text, context, meta, preparation;
    int64_t date_ms;
    size_t file_count, own_file_count; /* own: without those of quotes */
};

enum qq_place
{
    QQ_PLACE_GROUP,
    QQ_PLACE_C2C,
    QQ_PLACE_CHANNEL,
    QQ_PLACE_DM,
};

/** why: constant text, SMA_WHY_... first. */
static inline void qq_ignore(struct qq_reading *in, const char *why)
{
    in->event.kind = QQ_EVENT_IGNORED;
    in->event.why = why;
}
/** The first of these members that is a string with something in it. */
struct sma_str qq_first_of(const json_t *object, const char *const *keys, size_t count);
bool qq_is_id(struct sma_str id);
/** false: the chat id is unusable, the event is IGNORED. */
bool qq_fill_route(struct qq_reading *in, enum qq_place place, struct sma_str chat_id,
                   struct sma_str user_id);

/* -- qq_message.c */
void qq_read_message(struct qq_reading *in, enum qq_place place, bool is_addressed);
bool qq_is_mentioned(const struct qq_reading *in);

/* -- qq_said.c */
/** Is this mention, or this author of a quoted message, the bot? */
bool qq_is_us(const struct qq_reading *in, const json_t *person);
/** Append content as people read it: mentions by name and the bot's own left out, faces as
 *  [表情:…], HTML entities undone. */
void qq_put_said(const struct qq_reading *in, struct sma_str content, struct sma_buf *buf);
/** Append `[card: "…", …]` for ark_data, an object or its JSON. @return whether there was one */
bool qq_put_card(struct sma_buf *buf, const json_t *ark_data);
/** What people call the bot here; "bot" when nobody says. */
struct sma_str qq_our_name(const struct qq_reading *in);

/* -- qq_attach.c */
/** The attachments of the message itself, or of one that it quotes: lines and what must be
 *  fetched. */
void qq_put_files(struct qq_reading *in, const json_t *message, struct sma_buf *lines);

#endif
