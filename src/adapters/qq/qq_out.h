/*
 * qq_out.h — answers on their way out: text to parts, parts to request bodies, the platform's
 * answers to outcomes.
 *
 * A part is one message. A text part has a plain form (Markdown read and flattened, link targets
 * written out) and, when the text has structure, a Markdown form; which one is sent is the
 * configuration's and the platform's affair. Lines `@attach <kind> <target> [| caption]` of the
 * assistant's texts become FILE parts behind the text. The platform allows few answers to one
 * message (QQ_REPLIES_*). A text that would need more parts than are left of them is cut into
 * larger ones, and if these are still too many, after the last one, with a visible note. Calls to
 * everybody in the model's text are disarmed; images in Markdown become links (the platform fetches
 * images and refuses the whole message when it cannot).
 *
 * Threads: no state; any.
 * Source:  protocols/qq.md §1.2, §5, §6; protocols/project.md §6.2 (the @attach line), §6.4.
 */
#ifndef SMA_QQ_OUT_H
#define SMA_QQ_OUT_H

#include "adapters/common/verdict.h"
#include "runtime/approval/card.h"
#include "sma/adapter.h"
#include "sma/net.h"

#define QQ_RENDERER_VERSION 2
#define QQ_PART_UNITS 2000 /* UTF-16 units of a part; the platform does not document its limit */
#define QQ_PART_UNITS_LARGE 4000 /* of a part when there would be too many of the size above */
#define QQ_CAPTION_UNITS_MAX 500
#define QQ_REPLIES_C2C 4   /* answers to one message */
#define QQ_REPLIES_OTHER 5 /* group; channel and dm, where no number is documented */
#define QQ_WINDOW_C2C_S (60 * 60)
#define QQ_WINDOW_OTHER_S (5 * 60)
#define QQ_WINDOW_MARGIN_S 10 /* a reply sent in the last seconds arrives too late */
#define QQ_MESSAGE_ID_BYTES_MAX 255
#define QQ_FILE_INFO_BYTES_MAX 4095

/* -- parts ------------------------------------------------------------------------------------- */
/**
 * The adapter's render operation. Uses text, intent, language, reply_count and the route's
 * chat_type and message_id. A blank text gives no part. @return OK | NOMEM | TOOBIG
 */
SMA_CHECKED enum sma_err qq_render(const struct sma_deliver *row, sma_part_fn *each, void *user);
/** The adapter's rest operation: what the answers that were left had no room for. */
SMA_CHECKED enum sma_err qq_rest(const struct sma_deliver *row, uint32_t part_count,
                                 struct sma_buf *rest);
/** The adapter's replies_max operation: QQ_REPLIES_*. */
uint32_t qq_replies_max(const struct sma_route *route);
/** The adapter's is_group operation: chat types group and channel. */
bool qq_is_group(const struct sma_route *route);

enum qq_part_kind
{
    QQ_PART_TEXT,
    QQ_PART_FILE,
    QQ_PART_CARD,
    QQ_PART_REACTION, /* the platform has none where bots talk */
};
struct qq_part
{
    enum qq_part_kind kind;
    struct sma_str markdown;  /* TEXT; empty = the plain form says it all */
    struct sma_str plain;     /* TEXT; never blank */
    struct sma_str file_kind; /* FILE: "photo" "document" "voice" "audio" */
    /* FILE: http(s) URL, or a path as the model wrote it: check it before use */
    struct sma_str target;
    struct sma_str caption;   /* FILE: plain text, may be empty */
    struct sma_str card_json; /* CARD: for qq_card_open */
};
/** Slices point into part_bytes. @return OK | BADINPUT: not made by qq_render */
SMA_CHECKED enum sma_err qq_part_decode(struct sma_str part_bytes, struct qq_part *ret_part);

/* -- passive or active ------------------------------------------------------------------------- */
enum qq_way
{
    QQ_PASSIVE, /* with msg_id or event_id */
    QQ_ACTIVE,  /* without: the window is over, the answers are used up, or nothing is answered */
};
/**
 * How to send this part first: as an answer while any is left. Whether it is too late for one the
 * platform says: its clock is not ours, and to be refused costs nothing.
 */
enum qq_way qq_way_choose(const struct sma_attempt *attempt);
/**
 * This part never takes the last answer that a message allows, which is for the run's end: a text
 * before it, a notice, the outcome of a request. Such texts and notices go as active messages, such
 * an outcome is left out (whoever decided has seen it).
 */
bool qq_is_answer_kept(const struct sma_attempt *attempt);
/**
 * msg_seq, in 1..2^31-1: the same for every attempt of this part in this form, over restarts too,
 * and different for all others of the run (an outbox id is the run's number << 16 and the row's
 * place in it). Two runs that answer the same message, by a contact, start at places of their own:
 * that these meet has a chance of one in a hundred million. It is not a count of the answers so
 * far: two rows can be under way at once, and a count would have to be stored before each attempt.
 * @form  0 = as it was meant, 1 = its second form (plain after Markdown was refused), ...: the
 *        platform may have noted the
 *        numbers of what it refused.
 */
#define QQ_FORM_COUNT_MAX 12 /* steps of a text */
uint32_t qq_msg_seq(uint64_t outbox_id, uint32_t part, uint32_t form);

/* -- requests: path below the API root, JSON body, appended to *buf; errors stay in buf->err --- */
/** POST. "/v2/groups/{id}/messages", "/v2/users/…", "/channels/…", "/dms/…" by the route's
 *  chat_type. */
void qq_put_send_path(struct sma_buf *buf, const struct sma_route *route);
/** POST; group and c2c only. what: "files", "upload_prepare" or "upload_part_finish". */
void qq_put_media_path(struct sma_buf *buf, const struct sma_route *route, const char *what);
/** PUT: "/interactions/{id}", with body qq_put_interaction (code 0 = done). */
void qq_put_interaction_path(struct sma_buf *buf, struct sma_str interaction_id);
void qq_put_interaction(struct sma_buf *buf, int code);

struct qq_button
{
    struct sma_str id, label, data; /* label is cut to 10 characters */
    bool is_primary;
    uint32_t row; /* buttons of one row stand side by side, as far as the rows suffice */
};
#define QQ_BUTTON_COUNT_MAX 25 /* five rows of five; further ones are left out */
#define QQ_BUTTON_LABEL_CHARS_MAX 10
struct qq_send
{
    const struct sma_route *route;
    const struct qq_part *part;
    enum qq_way way;
    uint32_t msg_seq;    /* of QQ_PASSIVE in c2c and group */
    bool is_markdown;    /* send the Markdown form, if the part has one */
    bool is_captionless; /* the file alone */
    const struct qq_button *buttons;
    size_t button_count;
};
/** A TEXT part. */
void qq_put_message(struct sma_buf *buf, const struct qq_send *send);
/** A FILE part that was uploaded, in c2c and group. */
void qq_put_media_message(struct sma_buf *buf, const struct qq_send *send,
                          struct sma_str file_info);
/** A photo by its URL, in channel and dm. */
void qq_put_image_message(struct sma_buf *buf, const struct qq_send *send);
/** input_notify, c2c only: the bot "is typing" for so many seconds, at most 60. */
void qq_put_typing(struct sma_buf *buf, const struct qq_send *send, unsigned seconds);

/* -- cards ------------------------------------------------------------------------------------- */
/* A request for consent, or its outcome. Buttons need Markdown; the plain form says how to answer
 * by words. */
struct qq_card
{
    struct sma_card card;
    struct sma_buf markdown, plain; /* of a TEXT part; markdown empty when there are no buttons */
    struct qq_button buttons[SMA_CARD_BUTTON_COUNT_MAX]; /* without ids: see qq_card_put_buttons */
    char ids[SMA_CARD_BUTTON_COUNT_MAX][2];
};
/** Read a CARD part. @return OK: release with qq_card_fini; borrows of the part | BADINPUT |
 *  NOMEM */
SMA_CHECKED enum sma_err qq_card_open(const struct qq_part *part, struct qq_card *ret_card);
void qq_card_fini(struct qq_card *card); /* accepts a zeroed struct */
/** Fill `buttons` (room for SMA_CARD_BUTTON_COUNT_MAX); slices are the card's. @return how many */
size_t qq_card_put_buttons(const struct qq_card *card, struct qq_button *buttons);
/** Append text without control characters and calls to everybody; is_markdown: images become
 *  links. */
void qq_put_clean_text(struct sma_buf *buf, struct sma_str text, bool is_markdown);

/* -- files ------------------------------------------------------------------------------------- */
/* What a FILE part is to the platform, by its kind and the target's extension. */
struct qq_media
{
    int file_type;       /* 1 image, 2 video, 3 voice, 4 file */
    uint64_t bytes_max;  /* soft limit of that type; a larger one goes as file_type 4 */
    struct sma_str name; /* last component of the target */
    bool is_url;         /* the platform can fetch it itself */
};
#define QQ_FILE_BYTES_MAX (200 * 1024 * 1024) /* of any type */
struct qq_media qq_media_of(const struct qq_part *part);
/** Body of "files": the platform fetches the target. */
void qq_put_upload_url(struct sma_buf *buf, const struct qq_media *media, struct sma_str url);
/** Body of "files" with the content inside (base64): accepted in practice, not documented. */
void qq_put_upload_data(struct sma_buf *buf, const struct qq_media *media, struct sma_str bytes);
/* The documented way without a public URL: prepare, PUT each block to its address, finish each
 * block, then "files". */
struct qq_digests
{
    struct sma_str md5_hex, sha1_hex, md5_10m_hex; /* the last: of the first QQ_DIGEST_10M_BYTES */
};
#define QQ_DIGEST_10M_BYTES 10002432
#define QQ_UPLOAD_BLOCK_COUNT_MAX 64
struct qq_upload
{
    struct sma_str upload_id;
    size_t block_count;
    struct qq_block
    {
        int64_t index;          /* as the platform counts */
        uint64_t from, size;    /* bytes of the file */
        struct sma_str put_url; /* no Authorization there */
    } blocks[QQ_UPLOAD_BLOCK_COUNT_MAX];
    void *json; /* owns the slices */
};
void qq_put_upload_prepare(struct sma_buf *buf, const struct qq_media *media, uint64_t file_size,
                           const struct qq_digests *digests);
/** Answer to it. @return OK (release with qq_upload_fini) | BADINPUT: blocks that do not make up
 *  the file, or no such answer | NOMEM */
SMA_CHECKED enum sma_err qq_upload_parse(struct sma_str body, uint64_t file_size,
                                         struct qq_upload *ret_upload);
void qq_upload_fini(struct qq_upload *upload); /* accepts a zeroed struct */
void qq_put_upload_part_finish(struct sma_buf *buf, struct sma_str upload_id,
                               const struct qq_block *block, struct sma_str md5_hex);
void qq_put_upload_finish(struct sma_buf *buf, const struct qq_media *media,
                          struct sma_str upload_id);
/** file_info out of the answer of "files". @return OK | BADINPUT. ret_info holds
 *  QQ_FILE_INFO_BYTES_MAX + 1 bytes. */
SMA_CHECKED enum sma_err qq_file_info_parse(struct sma_str body, char *ret_info);

/* -- answers ----------------------------------------------------------------------------------- */
/* What an answer means (qq_codes.c), also of uploads, interactions and everything else that answers
 * in the API's form. A 5xx may have been a success; msg_seq makes the repeat harmless: 40054005
 * (this msg_seq was used already) is SENT when the part may have been sent before. */
#define QQ_WHEN_ACTIVE 1 /* without a message to answer */
#define QQ_WHEN_REPEAT 2 /* it may have been sent before */
extern const struct sma_verdicts qq_verdicts;

#endif
