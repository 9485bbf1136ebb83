/*
 * fake_feishu_frame.h — the long connection's protobuf frame as the platform writes and reads it;
 * shares no code with what it tests.
 *
 * Source: protocols/feishu.md §4.3.
 */
#ifndef FAKE_FEISHU_FRAME_H
#define FAKE_FEISHU_FRAME_H

#include "sma/buf.h"

#define FAKE_FRAME_HEADERS_MAX 16

struct fake_frame
{
    uint64_t seq_id, log_id;
    int32_t service, method;
    struct
    {
        struct sma_str key, value;
    } headers[FAKE_FRAME_HEADERS_MAX];
    size_t header_count;
    struct sma_str payload_encoding, payload_type, payload, log_id_new; /* ptr NULL: not there */
};
/** Slices point into bytes. @return NULL, or what a strict platform says is wrong */
const char *fake_frame_decode(struct sma_str bytes, struct fake_frame *ret_frame);
void fake_frame_encode(const struct fake_frame *frame, struct sma_buf *buf);
struct sma_str fake_frame_header(const struct fake_frame *frame, const char *key);
void fake_frame_add(struct fake_frame *frame, const char *key, struct sma_str value);

#endif
