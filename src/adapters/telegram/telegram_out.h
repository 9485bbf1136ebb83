/*
 * telegram_out.h — texts into parts, parts into request bodies, answers into classes. Pure: no
 * actor, no network.
 *
 * A text of the assistant is read as Markdown and becomes parts of at most TELEGRAM_PART_UNITS
 * UTF-16 units, each with an HTML form (only tags that the platform knows) and a plain form.
 * Notices and errors have no HTML form. Lines `@attach <kind> <target> | <caption>` leave the text
 * and become FILE parts behind the text parts. A card (a request for consent, or its outcome) is
 * one part, cut rather than split: a message with buttons, and later the same message changed. A
 * reaction is one part.
 *
 * Source: protocols of the Bot API 10.3: sendMessage, formatting options, error answers;
 * protocols/project.md §6.2 for attachments.
 * Threads: any; nothing here has state.
 */
#ifndef SMA_TELEGRAM_OUT_H
#define SMA_TELEGRAM_OUT_H

#include "adapters/common/verdict.h"
#include "runtime/approval/card.h"
#include "sma/adapter.h"
#include "sma/net.h"

/* raised whenever telegram_render would cut or count parts differently */
#define TELEGRAM_RENDERER_VERSION 2
#define TELEGRAM_PART_UNITS 4000 /* what we cut at; the platform refuses over 4096 after parsing */
#define TELEGRAM_PART_BYTES_MAX 32000  /* of HTML; the server refuses over 32,768 before parsing */
#define TELEGRAM_CAPTION_UNITS_MAX 900 /* the platform's limit is 1024 */
#define TELEGRAM_CALLBACK_TEXT_UNITS_MAX 200
#define TELEGRAM_BUTTON_DATA_BYTES_MAX 64

/* -- parts ------------------------------------------------------------------------------------- */
enum telegram_part_kind
{
    TELEGRAM_PART_TEXT,
    TELEGRAM_PART_FILE,
    TELEGRAM_PART_CARD,
    TELEGRAM_PART_REACTION,
};
struct telegram_part
{
    enum telegram_part_kind kind;
    /* TEXT: for parse_mode HTML; empty = there is nothing to mark, send `plain` */
    struct sma_str html;
    struct sma_str plain;     /* TEXT: the same for people, without marks; never blank */
    struct sma_str file_kind; /* FILE: "photo" "document" "voice" "audio" */
    /* FILE: http(s) URL, or a path as the model wrote it: check it before use */
    struct sma_str target;
    struct sma_str caption;   /* FILE: plain text, may be empty */
    struct sma_str card_json; /* CARD: for telegram_card_open */
    struct sma_str emoji;     /* REACTION: as the model wrote it, see telegram_reaction_find */
};

/** The adapter's render(): see adapter.h. A blank text gives no part. OK | NOMEM | TOOBIG. */
SMA_CHECKED enum sma_err telegram_render(const struct sma_deliver *row, sma_part_fn *each,
                                         void *user);
/**
 * One part for text that is still being written (drafts, edits): the last part that the text would
 * be cut into now, without attachment lines, a half-written last one included. No call when nothing
 * is visible yet.
 */
SMA_CHECKED enum sma_err telegram_render_preview(struct sma_str text, sma_part_fn *each,
                                                 void *user);
/** Read what render gave. Slices point into part_bytes. BADINPUT: these are no such bytes. */
SMA_CHECKED enum sma_err telegram_part_decode(struct sma_str part_bytes,
                                              struct telegram_part *ret_part);

/* -- cards and reactions ----------------------------------------------------------------------- */
struct telegram_card
{
    struct sma_card card;
    struct sma_buf html, plain; /* as of a TEXT part; html empty = nothing to mark */
};
/** Read a CARD part. @return OK: release with telegram_card_fini; *ret_card borrows of the part |
 *  BADINPUT | NOMEM */
SMA_CHECKED enum sma_err telegram_card_open(const struct telegram_part *part,
                                            struct telegram_card *ret_card);
/** Its buttons were refused: `plain` becomes the form that says how to answer by words. Unchanged
 *  without memory. */
void telegram_card_without_buttons(struct telegram_card *card);
void telegram_card_fini(struct telegram_card *card); /* accepts a zeroed struct */
/** The platform's spelling of an emoji it takes as a reaction, else NULL. Skin tones and variation
 *  selectors are no matter. Constant text. */
const char *telegram_reaction_find(struct sma_str emoji);

/* -- where ------------------------------------------------------------------------------------- */
/** The adapter's is_group(): groups, supergroups and channels, by chat_type, else by the sign of
 *  the id. */
bool telegram_is_group(const struct sma_route *route);

/* -- request bodies: JSON, appended to *buf; errors stick to the buffer ------------------------ */
struct telegram_send
{
    const struct sma_route *route;
    const struct telegram_part *part;
    uint32_t part_index;         /* part 0 of an answer in a group replies to route->message_id */
    bool is_plain;               /* no HTML: the platform refused it */
    bool is_no_reply;            /* the message to reply to is gone */
    bool is_no_thread;           /* the topic is gone */
    bool is_captionless;         /* of a FILE: its caption was refused */
    const struct sma_card *card; /* its buttons stand below the text; NULL = none */
};
/** sendMessage of a TEXT part. */
void telegram_put_send_message(struct sma_buf *buf, const struct telegram_send *send);
/** editMessageText: message_id of the route's chat becomes this TEXT part, without buttons. */
void telegram_put_edit_message(struct sma_buf *buf, const struct telegram_send *send,
                               struct sma_str message_id);
/** deleteMessage. */
void telegram_put_delete(struct sma_buf *buf, const struct sma_route *route,
                         struct sma_str message_id);
/** setMessageReaction on the route's message; emoji as telegram_reaction_find gave it. */
void telegram_put_reaction(struct sma_buf *buf, const struct sma_route *route, const char *emoji);
/** sendMessageDraft of a TEXT part. draft_id is not 0. Private chats only. */
void telegram_put_draft(struct sma_buf *buf, const struct telegram_send *send, int64_t draft_id);
/** sendPhoto, sendDocument, sendVoice, sendAudio of a FILE part whose target is an URL. */
void telegram_put_send_file(struct sma_buf *buf, const struct telegram_send *send);
/** sendChatAction; action e.g. "typing". */
void telegram_put_chat_action(struct sma_buf *buf, const struct sma_route *route,
                              const char *action);
/** answerCallbackQuery; text is cut to what fits, may be empty. is_alert: it stays until it is
 *  closed, else it passes by. */
void telegram_put_callback_answer(struct sma_buf *buf, struct sma_str callback_id,
                                  struct sma_str text, bool is_alert);
/** setMyCommands. is_chinese: the list shown to users whose client speaks Chinese; else the one for
 *  everybody. */
void telegram_put_commands(struct sma_buf *buf, bool is_chinese);

/* For uploads, where the fields are a multipart form's: */
/** "reply_parameters" as JSON text; puts nothing when this part replies to nothing. */
void telegram_put_reply_parameters(struct sma_buf *buf, const struct telegram_send *send);
/** Is target fetched by the platform (http or https)? */
bool telegram_target_is_url(struct sma_str target);
/** Method of a FILE part, e.g. "sendPhoto", and the name of its field, e.g. "photo". Constant
 *  text. */
const char *telegram_file_method(struct sma_str file_kind);
const char *telegram_file_field(struct sma_str file_kind);
/** What a FILE part is sent as when it is refused as this kind; equal to the kind: there is nothing
 *  else. Constant text. */
const char *telegram_file_other_kind(struct sma_str file_kind, struct sma_str target);
/** MIME type by the extension of a path; "application/octet-stream" when it is none of ours.
 *  Constant text. */
const char *telegram_file_type(struct sma_str path);

/* -- answers ----------------------------------------------------------------------------------- */
/* What an answer means (telegram_codes.c). A success that nobody can read, and a 5xx but 503, may
 * have been one: the front of the platform lost the server behind it, and "Internal Server Error:
 * restart" is also given to requests that were on their way. 401 and 404 wait, for all: the
 * operator can mend them, and as retries they would use up every row's attempts. */
extern const struct sma_verdicts telegram_verdicts;

#endif
