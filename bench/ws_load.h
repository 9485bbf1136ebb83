/*
 * ws_load.h — the platforms of bench_ws, at the speed of the wire: the long connection of Feishu,
 * the gateway of QQ, as much of their REST as a bot needs, and a model server, all on one thread of
 * the benchmark.
 *
 * Events are real event JSON made once; a number, a chat and a sequence number are written into
 * each copy. What the bot sends back is looked at only where it says what was acknowledged. The
 * simulators check everything and would be what is measured.
 */
#ifndef SMA_BENCH_WS_LOAD_H
#define SMA_BENCH_WS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ws_load_kind
{
    WS_LOAD_FEISHU,
    WS_LOAD_QQ,
    WS_LOAD_SMALL, /* Feishu's path, frames of 64 bytes: for a client that only counts */
    WS_LOAD_KIND_COUNT
};

/** Start the thread. @return the port; ends the program when it cannot */
int ws_load_start(void);
/**
 * Events from now on, on every connection of the platform, spread over `chats` chats. window: so
 * many unacknowledged on each connection; 0: as many as the connection takes (QQ acknowledges
 * nothing, so always there).
 */
void ws_load_flood(enum ws_load_kind kind, size_t window, unsigned chats);
void ws_load_pause(void);
/** One event on the oldest connection of the platform. @return when it was written; *ret_number
 *  names it */
uint64_t ws_load_send_one(enum ws_load_kind kind, unsigned chat, uint64_t *ret_number);
/** A WebSocket ping on the oldest connection of the platform: what the way there and back costs
 *  without an event. */
uint64_t ws_load_ping_one(enum ws_load_kind kind, uint64_t *ret_number);
/** When the acknowledgement of Feishu's event, or the pong, came; waits up to two seconds. 0: it
 *  did not */
uint64_t ws_load_await_ack(uint64_t number);

/** Connections that may get events. */
size_t ws_load_ready_count(enum ws_load_kind kind);
uint64_t ws_load_sent_count(void);
uint64_t ws_load_acked_count(void);
uint64_t ws_load_reply_count(void); /* messages of the bot */
/** Latencies written -> acknowledged from here on, in ns; at most `max`. */
void ws_load_note_latencies(uint64_t *latencies_ns, size_t max);
/** Stop noting. @return how many */
size_t ws_load_noted_count(void);
/** Whether requests to the model are answered; else they wait until the connection ends. */
void ws_load_model_answers(bool is_answering);

#endif
