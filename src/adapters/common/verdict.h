/*
 * verdict.h — what a platform's answer means: rows say it, the first one that fits counts.
 *
 * A row fits by a code (the platform's own, else the HTTP status) and, where it names some, by
 * words of the description. It says what to do (act), where on the ladder of plainer forms to begin
 * (mend, see sending.h), and the line for people. What no row knows is judged by the status alone:
 * a definite refusal is one of this form, never of the answer. Rows of right, chat and person are
 * SMA_ACT_FINAL: nothing plainer would arrive there.
 *
 * Threads: any; no state.
 */
#ifndef SMA_ADAPTERS_COMMON_VERDICT_H
#define SMA_ADAPTERS_COMMON_VERDICT_H

#include "sma/messages.h"
#include "sma/net.h"

struct json_t;

enum sma_act
{
    SMA_ACT_REFUSED, /* not in this form: the ladder goes on */
    SMA_ACT_WORDS,   /* these words in no form: only other ones would be taken */
    SMA_ACT_FINAL,   /* a right, the chat, the person: nothing would be taken */
    SMA_ACT_SENT,
    SMA_ACT_RETRY,
    SMA_ACT_WAIT,      /* as long as it says; whom the limit is for the dispatcher judges */
    SMA_ACT_WAIT_CHAT, /* this chat alone */
    SMA_ACT_WAIT_ALL,  /* every chat */
    SMA_ACT_BUSY,      /* refused, so certainly not sent: wait where it says so, else retry */
    SMA_ACT_OWNER,     /* only the owner can mend it: every chat waits, shown in status */
    SMA_ACT_UNKNOWN,   /* it may have been done */
    SMA_ACT_LIKELY_UNSENT,
};
/* What may be changed before the same part goes out again. The first ones are the ladder, from the
 * least loss to the greatest. */
enum sma_mend
{
    SMA_MEND_EDIT = 1 << 0,    /* no change of an earlier message: one of its own */
    SMA_MEND_BUTTONS = 1 << 1, /* without buttons */
    SMA_MEND_REPLY = 1 << 2,   /* answers no message */
    SMA_MEND_MARKS = 1 << 3,   /* without marks, or no card */
    SMA_MEND_KIND = 1 << 4,    /* the file as another kind of file */
    SMA_MEND_LINKS = 1 << 5,   /* addresses written so that none is one */
    SMA_MEND_CUT = 1 << 6,     /* in pieces */
    SMA_MEND_CAPTION = 1 << 7, /* the file alone; its caption follows */
    SMA_MEND_INSTEAD = 1 << 8, /* words in place of the file */
    SMA_MEND_FILE = 1 << 9,    /* the words as a file */
    SMA_MEND_LADDER = (1 << 10) - 1,
    /* only where a row says so: */
    SMA_MEND_THREAD = 1 << 10, /* into the group itself */
    SMA_MEND_MOVED = 1 << 11,  /* to where the chat is now */
    SMA_MEND_UPLOAD = 1 << 12, /* the uploaded file is forgotten */
    SMA_MEND_ANSWER = 1 << 13, /* only as an answer */
    SMA_MEND_ACTIVE = 1 << 14, /* no answer any more: as a message of its own */
    SMA_MEND_KEY = 1 << 15,    /* the key is known from elsewhere: under another one */
    SMA_MEND_REST = 1 << 20,   /* never asked for: the caption of a file that has arrived alone */
    /* not steps, but what is to be known about the refusal: */
    SMA_MEND_METHOD = 1 << 16, /* the server does not know the call */
    SMA_MEND_TOKEN = 1 << 17,
    SMA_MEND_TELL_OWNER = 1 << 18,
    SMA_MEND_HOURS = 1 << 19, /* the bot may not do that at all: not asked again for hours */
};
struct sma_verdict_row
{
    int64_t low, high; /* codes */
    const char *says;  /* "a|b": one of these stands in the description; NULL = any */
    uint8_t act;       /* enum sma_act */
    uint32_t mend;     /* bits of enum sma_mend */
    const char *words; /* what is wrong and what to do; NULL = what the platform says is enough */
    uint8_t wait_s;    /* where the platform does not say it; 0 = 1 */
    uint8_t when;      /* only where the caller says one of these bits; 0 = always */
};
/* What the platform said, read by its own code. Slices point into the answer. */
struct sma_said
{
    bool is_success;
    bool is_silent; /* nothing that could be read */
    int64_t code;   /* 0 = the status counts */
    struct sma_str words, trace;
    int64_t retry_ms; /* -1 = not said */
    int64_t moved_to; /* where the chat is now; 0 = where it was */
};
struct sma_answered
{
    uint8_t attempt_class; /* enum sma_attempt_class */
    uint8_t act;           /* enum sma_act */
    uint32_t mend;
    bool is_adapter_wide, is_chat_only; /* of RETRY_AFTER; neither: the dispatcher judges */
    bool is_content_refused;            /* of GIVE_UP: the person is to be told */
    /* UNKNOWN, but the server itself says that it failed: worth more than one repeat */
    bool is_likely_unsent;
    uint32_t retry_after_ms; /* of RETRY_AFTER, else 0 */
    int64_t code;            /* the platform's, else the HTTP status */
    int64_t sent_ms;         /* of SENT; 0 = not said */
    int64_t moved_to;
    char message_id[256], reply_id[256], chat_id[128]; /* of SENT; "" = not said */
    char error[256]; /* "" for SENT; else one line for people, valid UTF-8 */
};
struct sma_verdicts
{
    const char *platform; /* for people */
    const char *trace;    /* how the platform calls the number of a request */
    const char *doubt;    /* behind what may have been done all the same; NULL = nothing */
    const struct sma_verdict_row *rows;
    size_t count;
    bool is_busy_wide; /* BUSY with a time is the whole platform's */
    /** root may be NULL, or no object. */
    void (*read)(const struct json_t *root, const struct sma_net_answer *answer,
                 struct sma_said *said);
    /** Of a success: message_id, chat_id, sent_ms ... */
    void (*note)(const struct json_t *root, struct sma_answered *answered);
};
/* `when`: bits of the platform's own rows, and this one: nothing was sent that may have arrived. */
#define SMA_WHEN_QUESTION 128
/** @what NULL = "sending to <platform>". Never fails: what cannot be read is classified as such. */
void sma_verdict(const struct sma_verdicts *verdicts, const char *what,
                 const struct sma_net_answer *answer, uint8_t when,
                 struct sma_answered *ret_answered);
/** What the row of this code says to people; "" = there is none. Constant text. */
const char *sma_verdict_words(const struct sma_verdicts *verdicts, int64_t code);
/** Copy an id of the platform; "" where it is too long or holds a NUL. */
void sma_verdict_copy(char *to, size_t size, struct sma_str from);

#endif
