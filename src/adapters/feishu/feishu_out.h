/*
 * feishu_out.h — answers on their way out: text to parts, parts to request bodies, the platform's
 * answers to outcomes.
 *
 * A part is one message: a plain text, a card holding Markdown, or a file. Text without Markdown
 * structure goes as plain text; text with structure as a card (schema 2.0). Parts are cut so that
 * the whole request body stays below the platform's limits however much JSON escaping (twice:
 * content is JSON inside JSON) makes of it: the split counts UTF-16 units, and no unit takes more
 * than FEISHU_BODY_BYTES_PER_UNIT bytes once control characters are gone. Lines `@attach <kind>
 * <target> [| caption]` become FILE parts behind the text, a caption becomes a text part before its
 * file (the platform has no captions). Only the assistant's own texts are read for such lines. A
 * request for consent is a card with buttons, whose outcome takes its place later; a reaction is a
 * part of its own. Mentions of everybody in the model's text are disarmed; images by URL in
 * Markdown become links (a card with an image that is not uploaded is refused whole).
 *
 * Threads: no state; any.
 * Source:  protocols/feishu.md §3, §7, §8, §9; protocols/project.md §6.1, §6.3.
 */
#ifndef SMA_FEISHU_OUT_H
#define SMA_FEISHU_OUT_H

#include "adapters/common/verdict.h"
#include "runtime/approval/card.h"
#include "sma/adapter.h"
#include "sma/buf.h"
#include "sma/messages.h"
#include "sma/net.h"

#define FEISHU_RENDERER_VERSION 2
#define FEISHU_TEXT_BODY_BYTES_MAX (150 * 1024) /* whole request body of a text message */
#define FEISHU_CARD_BODY_BYTES_MAX (30 * 1024)  /* whole request body of a card */
#define FEISHU_BODY_OVERHEAD_BYTES \
    2048 /* everything in a body that is not the text: ids, uuid, card frame */
#define FEISHU_BODY_BYTES_PER_UNIT 4
#define FEISHU_TEXT_UNITS_MAX \
    ((FEISHU_TEXT_BODY_BYTES_MAX - FEISHU_BODY_OVERHEAD_BYTES) / FEISHU_BODY_BYTES_PER_UNIT)
#define FEISHU_CARD_UNITS_MAX \
    ((FEISHU_CARD_BODY_BYTES_MAX - FEISHU_BODY_OVERHEAD_BYTES) / FEISHU_BODY_BYTES_PER_UNIT)
#define FEISHU_CARD_TABLE_COUNT_MAX \
    3 /* Markdown tables in one card; a text with more is cut before the next table */
#define FEISHU_UUID_BYTES_MAX 50
#define FEISHU_UUID_MORE_BYTES 2 /* "-2", where the platform knows the uuid from another chat */
#define FEISHU_MESSAGE_ID_BYTES_MAX 127
#define FEISHU_IMAGE_BYTES_MAX (10 * 1024 * 1024)
#define FEISHU_FILE_BYTES_MAX (30 * 1024 * 1024)

/* -- parts ------------------------------------------------------------------------------------- */
/** The adapter's render operation. @return OK | NOMEM */
SMA_CHECKED enum sma_err feishu_render(const struct sma_deliver *row, sma_part_fn *each,
                                       void *user);
/** The adapter's key operation: the uuid of a part, at most FEISHU_UUID_BYTES_MAX -
 *  FEISHU_UUID_MORE_BYTES bytes: "sma-<salt>-<part>"; of a row without salt "sma-<outbox
 *  id>-<part>", as it was before. */
void feishu_key(const struct sma_deliver *row, uint32_t part, struct sma_buf *buf);
/** The adapter's is_group operation: a chat type that is known and not p2p. */
bool feishu_is_group(const struct sma_route *route);

enum feishu_part_kind
{
    FEISHU_PART_TEXT,
    FEISHU_PART_CARD, /* text = Markdown */
    FEISHU_PART_FILE,
    FEISHU_PART_CONSENT,  /* text = a request or its outcome as JSON, for feishu_consent_open */
    FEISHU_PART_OWN_CARD, /* text = the model's card as JSON, checked (card_check.h) */
    FEISHU_PART_REACTION, /* text = an emoji as the model wrote it, see feishu_reaction_find */
};
struct feishu_part
{
    enum feishu_part_kind kind;
    struct sma_str text;      /* all but FILE */
    struct sma_str file_kind; /* FILE: "photo" "document" "voice" "audio" */
    struct sma_str
        /* FILE: path inside the project, or an http(s) URL; unchecked, as the model wrote it */
        target;
};
/** Slices point into part_bytes. @return OK | BADINPUT: not made by feishu_render */
SMA_CHECKED enum sma_err feishu_part_decode(struct sma_str part_bytes,
                                            struct feishu_part *ret_part);

/* How a FILE part is uploaded and then sent, decided from its kind and the target's extension. */
struct feishu_upload
{
    bool is_image; /* POST /open-apis/im/v1/images (image_type=message, image), else /files */
    const char *file_type; /* field file_type of /files: opus mp4 pdf doc xls ppt stream */
    const char *msg_type;  /* of the message that shows it: image, audio, media or file */
    const char *mime;
    uint64_t bytes_max;
};
struct feishu_upload feishu_upload_plan(const struct feishu_part *part);
/** image_key or file_key out of an upload's answer body. @return OK | BADINPUT. Copies at most
 *  key_size - 1 bytes. */
SMA_CHECKED enum sma_err feishu_upload_parse(struct sma_str body, char *ret_key, size_t key_size);

/* -- requests ---------------------------------------------------------------------------------- */
/* Where a message goes. Decided by feishu_target_make from the route, or by hand. */
struct feishu_target
{
    struct sma_str chat_id;
    struct sma_str reply_to; /* empty = a new message */
    bool is_in_thread;       /* with reply_to */
};
/** Reply when there is a message to reply to: in a topic always, else it would leave it; in a group
 *  with the first part alone. Else a new message. */
struct feishu_target feishu_target_make(const struct sma_route *route, uint32_t part);
/** Append the path and query below the domain: ".../im/v1/messages?receive_id_type=chat_id" or
 *  ".../{id}/reply". */
void feishu_put_send_path(struct sma_buf *buf, const struct feishu_target *target);
/** Append "/open-apis/im/v1/messages/{message_id}": PATCH it to change a card, DELETE to recall. */
void feishu_put_message_path(struct sma_buf *buf, struct sma_str message_id);
/** Append "/open-apis/im/v1/messages/{message_id}/resources/{file_key}?type=image|file". */
void feishu_put_resource_path(struct sma_buf *buf, const char *type, struct sma_str message_id,
                              struct sma_str file_key);

/* The JSON bodies of POST (new or reply). uuid may be empty. Errors stay in buf->err. */
void feishu_put_text(struct sma_buf *buf, const struct feishu_target *target, struct sma_str text,
                     struct sma_str uuid);
void feishu_put_card(struct sma_buf *buf, const struct feishu_target *target,
                     struct sma_str markdown, struct sma_str uuid);
/** @upload  of the part  @key  image_key or file_key */
void feishu_put_file(struct sma_buf *buf, const struct feishu_target *target,
                     const struct feishu_upload *upload, struct sma_str key, struct sma_str uuid);
/** TEXT and CARD parts; is_plain sends a card's Markdown as plain text (after is_card_refused). */
void feishu_put_part(struct sma_buf *buf, const struct feishu_target *target,
                     const struct feishu_part *part, bool is_plain, struct sma_str uuid);

/* A card with buttons (approvals), and the card of progress: PATCH replaces the whole card. */
struct feishu_button
{
    struct sma_str label;
    struct sma_str value_json; /* a JSON object: comes back as the callback's value */
    const char *type;          /* "default" "primary" "danger" */
    uint32_t row;              /* buttons of one row stand side by side */
};
enum feishu_card_mode
{
    FEISHU_CARD_WHOLE,
    FEISHU_CARD_STREAMING, /* of CardKit: its text is being typed */
    FEISHU_CARD_STREAMED,  /* the same, at its end */
};
struct feishu_card
{
    enum feishu_card_mode mode;
    struct sma_str title;    /* empty = no header */
    const char *template;    /* colour of the header: "blue" "orange" ...; NULL = blue */
    struct sma_str markdown; /* cut to what fits, visibly, by an ellipsis */
    const struct feishu_button *buttons;
    size_t button_count; /* at most 24 are written */
};
void feishu_put_card_json(struct sma_buf *buf, const struct feishu_card *card);
void feishu_put_card_message(struct sma_buf *buf, const struct feishu_target *target,
                             const struct feishu_card *card, struct sma_str uuid);
/* -- CardKit (feishu_kit.c); key and sequence: of the stream and the request ------------------- */
#define FEISHU_KIT_ELEMENT "answer"
#define FEISHU_KIT_CLOSED 300309   /* the card is not streaming any more (unconfirmed: docs) */
#define FEISHU_KIT_SEQUENCE 300317 /* the sequence has not grown (unconfirmed: docs) */
/** Of all cards, of a card, of its text. */
void feishu_put_kit_path(struct sma_buf *buf, struct sma_str card_id, bool is_content);
void feishu_put_kit_create(struct sma_buf *buf, struct sma_str markdown); /* POST */
/** PUT: type the text on. markdown is the whole of it. */
void feishu_put_kit_content(struct sma_buf *buf, struct sma_str markdown, struct sma_str key,
                            uint32_t sequence);
/** PUT: the whole card, which streams no more. */
void feishu_put_kit_card(struct sma_buf *buf, struct sma_str markdown, struct sma_str key,
                         uint32_t sequence);
/** POST messages: a card of the model's, as it is. */
void feishu_put_own_card(struct sma_buf *buf, const struct feishu_target *target,
                         struct sma_str json, struct sma_str uuid);
/** What people would read in a card of the model, line by line; nothing when it has no words. */
void feishu_put_own_card_words(struct sma_buf *buf, struct sma_str json);
/** POST messages: show the card. */
void feishu_put_kit_message(struct sma_buf *buf, const struct feishu_target *target,
                            struct sma_str card_id, struct sma_str uuid);
/** card_id of the answer to CREATE. OK | BADINPUT | NOMEM */
SMA_CHECKED enum sma_err feishu_kit_parse(struct sma_str body, char *ret_id, size_t id_size);

/** Body of PATCH messages/{id}. */
void feishu_put_card_patch(struct sma_buf *buf, const struct feishu_card *card);
/* A request for consent, or what became of it. */
#define FEISHU_CONSENT_VALUE "consent" /* member of a button's value that holds the core's data */
struct feishu_consent
{
    struct sma_card card;
    struct feishu_button buttons[SMA_CARD_BUTTON_COUNT_MAX];
    struct sma_buf markdown, plain; /* cleaned; plain says how to answer by words */
    struct sma_buf values;          /* of the buttons */
};
/** Read a CONSENT part. @return OK: release with feishu_consent_fini | BADINPUT | NOMEM */
SMA_CHECKED enum sma_err feishu_consent_open(const struct feishu_part *part,
                                             struct feishu_consent *ret_consent);
void feishu_consent_fini(struct feishu_consent *consent); /* accepts a zeroed struct */
/** As a card; slices are the consent's, which must not move meanwhile. */
struct feishu_card feishu_consent_card(const struct feishu_consent *consent);
/** Append text without control characters and calls to everybody; is_markdown: images become
 *  links. */
void feishu_put_clean_text(struct sma_buf *buf, struct sma_str text, bool is_markdown);

/** The platform's name (emoji_type) for an emoji, or for such a name in any case; NULL: it has
 *  none. Constant text. */
const char *feishu_reaction_find(struct sma_str emoji);
/** Append "/open-apis/im/v1/messages/{message_id}/reactions": POST feishu_put_reaction. */
void feishu_put_reaction_path(struct sma_buf *buf, struct sma_str message_id);
void feishu_put_reaction(struct sma_buf *buf, const char *emoji_type);

/** JSON answer to a callback: a toast. type: "info" "success" "warning" "error". */
void feishu_put_toast(struct sma_buf *buf, const char *type, struct sma_str text);

/* -- answers ----------------------------------------------------------------------------------- */
/* What an answer means (feishu_codes.c): sending, replying, patching, uploading, downloading that
 * gave JSON. A repeat under the same uuid is answered by the platform like the first time and is
 * SENT; so what nobody heard of may be repeated. */
extern const struct sma_verdicts feishu_verdicts;
/**
 * The message of a SENT outcome is in another chat than the one that was asked for: the platform
 * knew the uuid from there. Such a message is not ours to believe in, and above all not ours to
 * change.
 */
bool feishu_is_elsewhere(const struct sma_answered *answered, struct sma_str chat_id);

#endif
