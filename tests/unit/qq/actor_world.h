/*
 * actor_world.h — the QQ adapter in an adapter world (support/adapter_world.h), against the
 * simulated platform.
 *
 * The store keeps the cursor, so that the service can be stopped and started again. Threads: the
 * test's.
 */
#ifndef SMA_TEST_QQ_ACTOR_WORLD_H
#define SMA_TEST_QQ_ACTOR_WORLD_H

#include "qq/fake_qq.h"
#include "support/adapter_world.h"

#define WORLD_C2C "c2c:A1B2"
#define WORLD_GROUP "group:G1"
#define WORLD_CHANNEL "channel:100010"

extern struct platform_client world_platform;
extern int64_t world_cursor; /* as last saved; 0 = nothing */

/** The platform alone, for what is to be told to it before the service starts. */
void world_make_platform(void);
/** Platform (when there is none), project (when there is none) and service; members: further
 *  members of adapters.qq. */
void world_open(const char *members);
void world_stop(void);  /* world_end; the platform stays */
void world_close(void); /* everything */
int world_port(void);

struct world_row
{
    const char *chat;  /* "c2c:A1B2" */
    const char *reply; /* message id, NULL = none */
    const char *text;
    uint32_t reply_count;
    bool is_interim;
    uint8_t intent;
};
/** @return its outbox id */
uint64_t world_deliver(const struct world_row *row);
/** Wait for the row's end and check its state. */
struct world_receipt world_await(uint64_t outbox_id, enum sma_delivery_state state);

/* -- the platform ------------------------------------------------------------------------------ */
void world_tell(const char *format, ...);
json_t *world_ask(const char *format, ...); /* the same, with the answer; decref */
/** A text of its usual speaker; the message's id until the next call. */
const char *world_say(const char *chat, const char *text);
int64_t world_counter(const char *name);
/** How many messages of ours with this text the chat shows. */
size_t world_shown(const char *chat, const char *text);
json_t *world_chat(const char *chat); /* as "list" gives it; decref */

#endif
