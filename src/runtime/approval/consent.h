/*
 * consent.h — the rules of consent: which request words mean, who may decide which item of it, what
 * follows from what he says, and which permissions hold. No store, no clock, no I/O: they are
 * functions of what they are told.
 * Story: docs/notes/approvals.md. Threads: any. Allocates: only sma_card_mark_put and
 * sma_consent_put_response, in buf.
 */
#ifndef SMA_APPROVAL_CONSENT_H
#define SMA_APPROVAL_CONSENT_H

#include "runtime/approval/answer.h"
#include "runtime/approval/request.h"
#include "sma/messages.h"

/* -- which request words mean ------------------------------------------------------------------ */

/* What is kept of the receipt of a card: the ids by which the platform knows it, and its date. */
struct sma_card_mark
{
    struct sma_str id, reply_id;
    int64_t sent_ms; /* 0 = nobody knows: the receipt is of an older version */
    bool is_our_clock;
};
void sma_card_mark_put(struct sma_buf *buf, const struct sma_receipt *receipt, int64_t wall_ms);
/** Slices into text. What cannot be read names nothing and has no date. */
struct sma_card_mark sma_card_mark_parse(struct sma_str text);

/* What a message says of itself, as in INGRESS. */
struct sma_said
{
    struct sma_str reply_to_id;
    int64_t sent_ms;
    uint8_t addressed;
    bool is_group, is_reply, is_forward, is_edited;
};
/** Is it one's own, said once? What is forwarded or edited means no request. */
bool sma_said_is_own(const struct sma_said *said);
/** Was it said when the card was there? Where our clock dated the card, five seconds of
 *  tolerance. */
bool sma_said_is_after(const struct sma_said *said, const struct sma_card_mark *mark);
/** Does it answer this very card? */
bool sma_said_answers(const struct sma_said *said, const struct sma_card_mark *mark);

enum sma_meant
{
    SMA_MEANT_CARD,           /* it answers the card */
    SMA_MEANT_BELOW,          /* in private, nothing of ours since the card */
    SMA_MEANT_MENTION,        /* in a group, said to us, an answer to nothing: it may refuse */
    SMA_MEANT_TALK,           /* in a group, among people */
    SMA_MEANT_BURIED,         /* in private, and we said something else since */
    SMA_MEANT_ONE_OF_SEVERAL, /* the oldest of several requests */
};
/** How words mean the one request, or the oldest of `count`, that is shown where they are said and
 *  that they do not answer. */
enum sma_meant sma_said_means(const struct sma_said *said, uint32_t count, bool is_fresh);

/* -- who may decide what ----------------------------------------------------------------------- */

struct sma_consent_person
{
    enum sma_standing standing; /* where it was asked, if he is of that platform */
    bool is_same_platform;
    bool is_asker; /* it was asked for him, and for nobody else */
};
/** The items that are his to decide. */
uint64_t sma_consent_permitted(const struct sma_request *request,
                               const struct sma_consent_person *person);

struct sma_consent_word
{
    uint64_t approved, refused; /* items, as said */
    uint64_t permitted, open;   /* items that are his, and that nobody has decided */
    bool is_out_of_time;
};
enum sma_consent_verdict
{
    SMA_CONSENT_DECIDES,
    SMA_CONSENT_TOO_LATE,
    SMA_CONSENT_NOT_YOURS,
    SMA_CONSENT_ALREADY, /* what he may decide of it is decided */
};
/** *ret_word: what of it counts. An item that is both approved and refused is refused. */
enum sma_consent_verdict sma_consent_rule(const struct sma_consent_word *word,
                                          struct sma_consent_word *ret_word);

/* Words in a chat with an open request. */
struct sma_words
{
    enum sma_answer_kind kind;
    uint64_t approved, refused, permitted; /* items */
    enum sma_meant meant;
    bool is_addressed; /* said to us, or an answer to the card */
    bool is_role_open; /* the platform may know that he may decide more */
    bool is_cut;       /* it would agree to what its card does not show */
    bool may_run;      /* as an ordinary message it starts a run */
    bool asks_role;    /* ... if the platform says so */
    bool is_full;      /* the agent reads as many as it can */
};
enum sma_words_fate
{
    SMA_WORDS_ORDINARY,
    SMA_WORDS_DECIDE,
    SMA_WORDS_WAIT_FOR_ROLE,
    SMA_WORDS_JUDGED,
    SMA_WORDS_REFUSED,    /* ordinary, and their author is told that he may not */
    SMA_WORDS_UNCLEAR,    /* ordinary, and their author is asked which request he means */
    SMA_WORDS_TOO_LITTLE, /* ordinary, and their author is told how to decide */
};
/** Would they decide something, if it is clear what they mean? */
bool sma_words_decide(const struct sma_words *words);
enum sma_words_fate sma_words_weigh(const struct sma_words *words);

/* -- what the run is told ---------------------------------------------------------------------- */

/** The reason of a refusal names who refused: the model is to know that it was not the clock. */
void sma_consent_put_response(struct sma_buf *buf, enum sma_request_outcome outcome,
                              struct sma_str by, struct sma_str response);

/* -- permissions that last --------------------------------------------------------------------- */

/** Until when one holds that is given now for length_s seconds (SMA_GRANT_ALWAYS: 0, for good). Ten
 *  years at most; a negative length ends at once. */
int64_t sma_grant_until(int64_t now_ms, int64_t length_s);
/** Does it hold? A clock that was set back gives nobody more time than he was given. */
bool sma_grant_holds(int64_t created_ms, int64_t until_ms, int64_t now_ms);

#endif
