/*
 * actor_world.h — the QQ adapter on its thread, between the simulated platform and a core that does as it is told.
 *
 * The dispatcher is the real one. Store, log and an HTTP adapter are stand-ins: they remember what they were asked, and a
 * test gives them orders. The store keeps the cursor, so that the service can be stopped and started again.
 * Threads: the test's; everything here locks.
 */
#ifndef SMA_TEST_QQ_ACTOR_WORLD_H
#define SMA_TEST_QQ_ACTOR_WORLD_H

#include "fakes/fake_qq.h"
#include "sma/messages.h"
#include "support/check.h"
#include "support/patience.h"

#define WORLD_C2C "c2c:A1B2"
#define WORLD_GROUP "group:G1"
#define WORLD_CHANNEL "channel:100010"

extern struct platform_client world_platform;
extern char world_dir[200];

/** The platform alone, for what is to be told to it before the service starts. */
void world_make_platform(void);
/** Platform (when there is none), project (when there is none) and service; members: further members of adapters.qq. */
void world_open(const char *members);
/** The service alone, orderly; checks the exit status, and that no log line held the secret or a token. */
void world_stop(void);
/** Everything. */
void world_close(void);
int world_port(void);

/* Wait for something, with patience. */
#define WORLD_WAIT(condition)                                                                      \
    do {                                                                                           \
        for (int world_ms_ = 0; !(condition); world_ms_++) {                                       \
            if (world_ms_ >= PATIENCE_AWAIT_MS) {                                                  \
                fprintf(stderr, "%s:%d: waited in vain for %s\n", __FILE__, __LINE__, #condition); \
                world_dump();                                                                      \
                exit(1);                                                                           \
            }                                                                                      \
            world_rest(1);                                                                         \
        }                                                                                          \
    } while (0)
void world_rest(unsigned ms);
void world_dump(void); /* the log so far, to stderr */

/* -- the store ---------------------------------------------------------------------------------------------------- */
struct world_event
{
    char text[256], chat_key[96], event_key[64], message_id[96], preparation[1024];
    int64_t cursor;
    uint8_t kind, addressed;
};
size_t world_event_count(void);
struct world_event world_event_at(size_t index);
size_t world_event_count_of(const char *text);
void world_refuse(size_t skip,
                  size_t count); /* let `skip` events pass, refuse the `count` after them */
void world_hold(bool is_held);   /* answer nothing; false answers what waits */
/** From now on presses are answered with this verdict and these words (kept by the caller). */
void world_answer_presses(enum sma_verdict verdict, const char *notice);
extern int64_t world_cursor; /* as last saved; 0 = nothing */

struct world_row
{
    const char *chat;  /* "c2c:A1B2" */
    const char *reply; /* message id, NULL = none */
    const char *text;
    uint32_t reply_count;
    int64_t message_wall_ms;
    uint8_t intent;
};
/** @return its outbox id */
uint64_t world_deliver(const struct world_row *row);
struct world_receipt
{
    uint8_t state; /* enum sma_delivery_state */
    char error[300], platform_id[64];
};
bool world_has_receipt(uint64_t outbox_id, struct world_receipt *ret_receipt);
/** Wait for the row's end and check its state. */
struct world_receipt world_await(uint64_t outbox_id, enum sma_delivery_state state);
/** Ask the adapter to prepare. @return the seq it goes under */
uint64_t world_prepare(const char *preparation);
bool world_has_prepared(uint64_t seq, char context[2048]);

/* -- the HTTP adapter, the log --------------------------------------------------------------------------------------- */
/** headers: whole lines. @return the number of the request */
size_t world_webhook(const char *headers, const char *body);
bool world_has_webhook_answer(size_t number, int *ret_status, char body[512]);
size_t world_log_count(const char *text);

/* -- the platform ---------------------------------------------------------------------------------------------------- */
void world_tell(const char *format, ...);
json_t *world_ask(const char *format, ...); /* the same, with the answer; decref */
/** A text of its usual speaker; the message's id until the next call. */
const char *world_say(const char *chat, const char *text);
int64_t world_counter(const char *name);
/** How many messages of ours with this text the chat shows. */
size_t world_shown(const char *chat, const char *text);
json_t *world_chat(const char *chat); /* as "list" gives it; decref */

#endif
