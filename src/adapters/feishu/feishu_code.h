/*
 * feishu_code.h — the head of the platform's answers, where more than a verdict is read of them.
 */
#ifndef SMA_FEISHU_CODE_H
#define SMA_FEISHU_CODE_H

#include "feishu_out.h"
#include "runtime/json/json_read.h"

struct feishu_reply
{
    json_t *root; /* NULL: not JSON, or no object */
    int64_t code; /* -1 = none */
};
/** Never fails: an answer that is not JSON has root NULL and code -1. json_decref(root) when
 *  done. */
struct feishu_reply feishu_reply_read(const struct sma_net_answer *answer);
/** A time of the platform as it came, in ms whatever its unit; 0 = none. */
int64_t feishu_raw_time_ms(const json_t *object, const char *key);

#endif
