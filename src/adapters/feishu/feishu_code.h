/*
 * feishu_code.h — what the platform's codes mean, for feishu_answer.c, feishu_login.c and
 * feishu_files.c only.
 * Source: protocols/feishu.md §3, §9.6.
 */
#ifndef SMA_FEISHU_CODE_H
#define SMA_FEISHU_CODE_H

#include "runtime/json/json_read.h"
#include "sma/net.h"

enum feishu_code_act
{
    FEISHU_CODE_GIVE_UP,   /* unknown codes too: the platform has refused */
    FEISHU_CODE_TOKEN,     /* fetch a new token, then again */
    FEISHU_CODE_RATE,      /* wait, then again; holds for the app */
    FEISHU_CODE_RATE_CHAT, /* wait, then again; holds for the chat */
    FEISHU_CODE_SOON,      /* still being worked on: again in a moment */
    FEISHU_CODE_NO_REPLY,  /* the message replied to is gone */
    FEISHU_CODE_CHAT,      /* nothing arrives in this chat, or of this app */
    FEISHU_CODE_CONTENT,   /* the words are not allowed */
    FEISHU_CODE_LONG,      /* too long */
    FEISHU_CODE_NO_CARD,   /* the card is refused, its text would not be */
    FEISHU_CODE_SCOPE,     /* the app lacks a right */
    FEISHU_CODE_BUSY,      /* the platform's fault: later */
};
struct feishu_code
{
    int64_t code;
    enum feishu_code_act act;
    const char *words; /* what is wrong and what to do */
};
/** Never NULL: an unknown code gives GIVE_UP with words "". */
const struct feishu_code *feishu_code_find(int64_t code);

/* The head of every answer. Slices point into root. */
struct feishu_reply
{
    json_t *root;       /* NULL: not JSON, or no object */
    int64_t code;       /* -1 = none */
    struct sma_str msg; /* as the platform said it */
};
/** Never fails: an answer that is not JSON has root NULL and code -1. json_decref(root) when
 *  done. */
struct feishu_reply feishu_reply_read(const struct sma_net_answer *answer);
/** One line into text: "<what> failed: <words> (code 230002: <msg>; HTTP 400; log id ...)". */
void feishu_reply_explain(const char *what, const struct sma_net_answer *answer,
                          const struct feishu_reply *reply, char *text, size_t text_size);

/** A time of the platform as it came, in ms whatever its unit; 0 = none. */
int64_t feishu_raw_time_ms(const json_t *object, const char *key);

#endif
