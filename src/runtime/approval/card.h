/*
 * card.h — how a request and its outcome are put to people, made once by the core and laid out by
 * each adapter with what its platform can do. The text of deliveries with intent APPROVAL_REQUEST
 * and APPROVAL_OUTCOME is a card as JSON.
 *
 * Button data is at most 64 bytes, says which request, which items and what, and is signed: "sa1:"
 * id(22) ":" item(1..2, "*" = all) ":" action(1) ":" signature(16, base64url of HMAC-SHA256 cut to
 * 96 bits). Items count from 1.
 * Untrusted: button data comes back from the platform; anybody may have made it up.
 * Threads: any; no state.
 */
#ifndef SMA_APPROVAL_CARD_H
#define SMA_APPROVAL_CARD_H

#include "runtime/approval/request.h"
#include "sma/config.h"

#define SMA_CARD_KEY_BYTES 32
#define SMA_CARD_DATA_BYTES_MAX 64
#define SMA_CARD_BUTTON_COUNT_MAX 24

enum sma_card_action
{
    SMA_CARD_APPROVE = 'y',
    SMA_CARD_REFUSE = 'n',
    SMA_CARD_TEN_MINUTES = 't', /* approve, and the same again for ten minutes */
    SMA_CARD_ALWAYS = 'a',      /* approve, and always in this chat */
    SMA_CARD_PROGRAM = 'p',     /* approve, and always whatever its program only reads */
};
struct sma_card_press
{
    uint8_t id[16]; /* of the request */
    uint32_t item;  /* 0 = all, else from 1 */
    enum sma_card_action action;
};
/** Data of a button into data (NUL-terminated). */
void sma_card_sign(const uint8_t key[SMA_CARD_KEY_BYTES], const struct sma_card_press *press,
                   char data[SMA_CARD_DATA_BYTES_MAX + 1]);
/** OK | BADINPUT: not ours, or not signed with this key (compared in constant time). */
SMA_CHECKED enum sma_err sma_card_verify(const uint8_t key[SMA_CARD_KEY_BYTES], struct sma_str data,
                                         struct sma_card_press *ret_press);
/** Does it look like data of ours at all? Other buttons are none of our business. */
bool sma_card_is_ours(struct sma_str data);

struct sma_card_button
{
    struct sma_str text, data;
    bool is_approval; /* for platforms that colour buttons */
    uint32_t row;     /* buttons of one row stand side by side */
};
struct sma_card
{
    struct sma_str id;    /* of the request, 32 hex digits */
    struct sma_str title; /* one line */
    struct sma_str text; /* Markdown: what is asked, item by item; or the outcome and who decided */
    struct sma_str plain; /* the same with how to answer by words, for where there are no buttons */
    struct sma_str
        /* outcome: the platform's id of the request's message; empty = send a new one */
        message_id;
    bool is_outcome;
    uint32_t button_count; /* 0 in an outcome */
    struct sma_card_button buttons[SMA_CARD_BUTTON_COUNT_MAX];
    void *root; /* owns the slices of a parsed card */
};
void sma_card_put(struct sma_buf *buf, const struct sma_card *card);
/** OK | BADINPUT | NOMEM. Release with sma_card_fini. */
SMA_CHECKED enum sma_err sma_card_parse(struct sma_str json, struct sma_card *ret_card);
void sma_card_fini(struct sma_card *card); /* accepts a zeroed struct */

/* What a card of a request is made of. */
struct sma_card_facts
{
    uint8_t id[16];
    const uint8_t *key; /* SMA_CARD_KEY_BYTES */
    const struct sma_request *request;
    enum sma_language language;
    struct sma_str asker; /* who wanted it, for people */
    struct sma_str place; /* where, when it is told elsewhere than where it was asked; else empty */
    int64_t expire_s;     /* 0 = never */
    bool offers_program;  /* its program was agreed to often enough */
    bool may_chat_decide; /* false: somebody else decides; the card says who and has no buttons */
};
/** Is what is asked for longer than a card shows? Then nobody who has read the card has read all of
 *  it: words do not agree to it, only the button does, or who decides where the whole is shown. */
bool sma_card_is_cut(const struct sma_request *request);
/** Append the card of a request as JSON. */
void sma_card_put_request(struct sma_buf *buf, const struct sma_card_facts *facts);
/** Append the card of an outcome. outcomes[i] of item i; by: who decided, empty for expiry. */
void sma_card_put_outcome(struct sma_buf *buf, const struct sma_card_facts *facts,
                          const enum sma_request_outcome *outcomes, struct sma_str by,
                          struct sma_str message_id);

/** Untrusted text for a line of a notice or a list: controls become blanks, what does not show or
 *  turns the writing is escaped. */
void sma_card_put_line(struct sma_buf *buf, struct sma_str text);

#endif
