/*
 * ws_load_event.h — the events of bench_ws as bytes: WebSocket frames made once, with places for
 * what differs.
 */
#ifndef SMA_BENCH_WS_LOAD_EVENT_H
#define SMA_BENCH_WS_LOAD_EVENT_H

#include "ws_load.h"

#define EVENT_BYTES_MAX 4096

/** Make the frames; once, before the others. */
void event_prepare(void);
/** The frame of event `number` for this chat and sequence number (QQ). out: EVENT_BYTES_MAX.
 *  @return its bytes */
size_t event_put(enum ws_load_kind kind, uint64_t number, unsigned chat, uint64_t seq, char *out);
/** The number that a client's frame of Feishu acknowledges; 0: none. bytes end in NUL. */
uint64_t event_acknowledged(const char *bytes, size_t len);
/** Feishu's answer to a ping, as a WebSocket frame. */
size_t event_put_pong(char *out);
/** A server's frame with this text. */
size_t event_put_text(const char *text, char *out, size_t out_max);

#endif
