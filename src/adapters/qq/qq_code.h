/*
 * qq_code.h — what the platform's codes mean, for qq_answer.c and qq_login.c only.
 * Source: protocols/qq.md §1.1, §1.2, §6.3, §6.7, §6.8.
 */
#ifndef SMA_QQ_CODE_H
#define SMA_QQ_CODE_H

#include "runtime/json/json_read.h"
#include "sma/net.h"

enum qq_code_act
{
    QQ_CODE_GIVE_UP, /* unknown codes too: the platform has refused */
    QQ_CODE_AGAIN,   /* the platform's own failure, nothing was sent */
    QQ_CODE_TOKEN,   /* fetch a new token, then again */
    QQ_CODE_RATE,    /* wait, then again; of the chat or the bot */
    QQ_CODE_RATE_CHAT,
    QQ_CODE_OFFLINE, /* nothing goes out until the bot is connected */
    QQ_CODE_QUOTA,   /* no answer any more when passive; later when active */
    QQ_CODE_BOT,     /* app id, right or ban: the owner must act */
    QQ_CODE_CHAT,    /* nothing arrives in this chat */
    QQ_CODE_WINDOW,  /* no answer to this message any more */
    QQ_CODE_ACTIVE,  /* no active message here */
    QQ_CODE_PLAIN,   /* text would be taken */
    QQ_CODE_LINK,    /* a link is not allowed */
    QQ_CODE_LONG,    /* too long */
    QQ_CODE_CONTENT, /* the words are not allowed */
    QQ_CODE_FILE,    /* the upload is stale */
    QQ_CODE_AUDIT,
    QQ_CODE_DUPLICATE,
};
struct qq_code
{
    int64_t code;
    enum qq_code_act act;
    const char *words; /* what is wrong and what to do */
};
/** Never NULL: an unknown code gives GIVE_UP with words "". */
const struct qq_code *qq_code_find(int64_t code);

/* The head of every answer. Slices point into root. */
struct qq_reply
{
    json_t *root;           /* NULL: no body, or no object */
    int64_t code;           /* err_code, else code; 0 = none */
    struct sma_str message; /* as the platform said it */
    bool is_unreadable;     /* there is a body, and it is no JSON object */
};
/** Never fails. json_decref(root) when done. */
struct qq_reply qq_reply_read(const struct sma_net_answer *answer);
/** One line into text: "<what> failed: <words> (code 304026: <message>; HTTP 400; trace ...)". */
void qq_reply_explain(const char *what, const struct sma_net_answer *answer,
                      const struct qq_reply *reply, char *text, size_t text_size);

#endif
