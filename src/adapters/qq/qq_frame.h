/*
 * qq_frame.h — one payload of the gateway (or of a webhook), and what we write to the gateway.
 * Pure.
 *
 * Source: protocols/qq.md §2.2–§2.6. Members of another type than documented read as absent.
 */
#ifndef SMA_QQ_FRAME_H
#define SMA_QQ_FRAME_H

#include <jansson.h>

#include "sma/buf.h"

#define QQ_FRAME_BYTES_MAX (2 * 1024 * 1024) /* a message over it ends the connection */
#define QQ_SESSION_ID_BYTES_MAX 256
#define QQ_SEQ_NONE INT64_C(-1)

enum qq_op
{
    QQ_OP_DISPATCH = 0,
    QQ_OP_HEARTBEAT = 1,
    QQ_OP_IDENTIFY = 2,
    QQ_OP_RESUME = 6,
    QQ_OP_RECONNECT = 7,
    QQ_OP_INVALID_SESSION = 9,
    QQ_OP_HELLO = 10,
    QQ_OP_HEARTBEAT_ACK = 11,
    QQ_OP_CALLBACK_ACK = 12,
    QQ_OP_VALIDATION = 13,
};
struct qq_frame
{
    int op;
    int64_t seq;         /* "s"; QQ_SEQ_NONE = absent */
    struct sma_str type; /* "t" of a dispatch, else empty */
    struct sma_str id;   /* event id, may be empty */
    const json_t *data;  /* "d", any type; NULL = absent or null */
    json_t *root;        /* owns everything above */
};
/** @return OK (release with qq_frame_fini) | BADINPUT: not JSON, or no integer op | TOOBIG |
 *  NOMEM */
SMA_CHECKED enum sma_err qq_frame_parse(struct sma_str bytes, struct qq_frame *ret_frame);
void qq_frame_fini(struct qq_frame *frame); /* accepts a zeroed struct */

/** {"op":1,"d":seq or null} */
void qq_put_heartbeat(struct sma_buf *buf, int64_t seq);
void qq_put_identify(struct sma_buf *buf, struct sma_str token, uint32_t intents, unsigned shard,
                     unsigned shard_count);
void qq_put_resume(struct sma_buf *buf, struct sma_str token, struct sma_str session_id,
                   int64_t seq);

#endif
