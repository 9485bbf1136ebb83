/*
 * qq_code.h — the head of the platform's answers, where more than a verdict is read of them.
 */
#ifndef SMA_QQ_CODE_H
#define SMA_QQ_CODE_H

#include "qq_out.h"
#include "runtime/json/json_read.h"

struct qq_reply
{
    json_t *root; /* NULL: no body, or no object */
    int64_t code; /* err_code, else code; 0 = none */
};
/** Never fails. json_decref(root) when done. */
struct qq_reply qq_reply_read(const struct sma_net_answer *answer);

#endif
