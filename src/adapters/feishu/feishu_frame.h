/*
 * feishu_frame.h — one frame of Feishu's long connection: protobuf bytes to plain fields and back.
 *
 * The schema is feishu_frame.proto; the code for it is made by protoc-c at build time. Ids keep all
 * 64 bits. Unknown fields, of the frame and of its headers, are kept and written again behind the
 * known ones. A frame that came in the platform's own field order encodes to the very bytes it came
 * in.
 *
 * Threads: no state; the caller's.
 * Limits:  FEISHU_FRAME_BYTES_MAX, FEISHU_FRAME_HEADER_COUNT_MAX: beyond, decode answers TOOBIG.
 *          Memory used by a decode is bounded by a multiple of the frame's own size.
 * Source:  protocols/feishu.md §4.3–§4.7.
 */
#ifndef SMA_FEISHU_FRAME_H
#define SMA_FEISHU_FRAME_H

#include "sma/buf.h"

#define FEISHU_FRAME_BYTES_MAX (4 * 1024 * 1024)
#define FEISHU_FRAME_HEADER_COUNT_MAX 64

enum feishu_method
{
    FEISHU_METHOD_CONTROL = 0,
    FEISHU_METHOD_DATA = 1,
};
enum feishu_frame_type
{
    FEISHU_FRAME_OTHER, /* no answer, nothing to do */
    FEISHU_FRAME_PING,  /* control */
    FEISHU_FRAME_PONG,  /* control; payload may be a client configuration */
    FEISHU_FRAME_EVENT, /* data: events and card callbacks */
    FEISHU_FRAME_CARD,  /* data, of old: the platform's own clients drop it without an answer */
};
struct feishu_frame_header
{
    struct sma_str key, value;
    const void *unknown; /* decode's: unknown fields of this header; NULL in frames made by hand */
};
/* Optional members: ptr NULL = not on the wire; ptr set and len 0 = there, but empty. */
struct feishu_frame
{
    uint64_t seq_id, log_id;
    int32_t service, method;
    const struct feishu_frame_header *headers; /* in wire order */
    size_t header_count;
    struct sma_str payload_encoding, payload_type, payload, log_id_new;
    void *message; /* decode's: owns the bytes and unknown fields; NULL in frames made by hand */
    struct feishu_frame_header *owned_headers;
    void *block; /* decode's: where these three are, as far as they fit */
};

/**
 * Bytes of one binary WebSocket message to a frame. The frame borrows nothing from bytes.
 * @ret_frame  on OK the caller's until feishu_frame_fini; untouched otherwise
 * @return     OK | BADINPUT: not a frame, or a required field is missing | TOOBIG: over a limit |
 * NOMEM
 */
SMA_CHECKED enum sma_err feishu_frame_decode(struct sma_str bytes, struct feishu_frame *ret_frame);
/** Free what decode made. Accepts a zeroed frame and frames made by hand. */
void feishu_frame_fini(struct feishu_frame *frame);

enum feishu_frame_type feishu_frame_type(const struct feishu_frame *frame);
/** Value of the first header with this key; ptr NULL when there is none. */
struct sma_str feishu_frame_header(const struct feishu_frame *frame, const char *key);

/** Append the frame's bytes. Fields 1 to 4 are always written. @return OK | NOMEM | TOOBIG (also
 *  kept in buf->err) */
SMA_CHECKED enum sma_err feishu_frame_encode(const struct feishu_frame *frame, struct sma_buf *buf);
/** Append a ping: ids 0, one header type=ping, no payload. */
SMA_CHECKED enum sma_err feishu_frame_put_ping(struct sma_buf *buf, int32_t service);

/*
 * The answer to a completed message. It is the frame that completed it, echoed, with header biz_rt
 * appended and the payload replaced. Between arrival and the commit only the small *stub* need be
 * kept: the frame without payload.
 */
struct feishu_ack
{
    bool is_failed;        /* {"code":500}: the platform delivers again; else {"code":200} */
    struct sma_str result; /* JSON answer to a callback, sent as base64 in "data"; empty = none */
    uint64_t handled_ms;   /* biz_rt: time from reading the frame to this answer */
};
/** Append the encoded frame without its payload. */
SMA_CHECKED enum sma_err feishu_frame_put_stub(const struct feishu_frame *frame,
                                               struct sma_buf *buf);
/**
 * Append the bytes of the answer.
 * @stub    what feishu_frame_put_stub made (a whole frame's bytes do as well)
 * @return  OK | BADINPUT: stub is not a frame | NOMEM | TOOBIG
 */
SMA_CHECKED enum sma_err feishu_frame_put_ack(struct sma_str stub, const struct feishu_ack *ack,
                                              struct sma_buf *buf);

#endif
