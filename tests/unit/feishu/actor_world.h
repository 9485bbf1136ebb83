/*
 * actor_world.h — the Feishu adapter on its thread, between a scripted platform and a core that does as it is told.
 *
 * The dispatcher is the real one. Store, agent, log and an HTTP adapter are stand-ins: they remember what they were
 * asked, and a test gives them orders. The platform (actor_platform.c) answers like Feishu until it is told otherwise.
 * Threads: the test's; everything here locks.
 */
#ifndef SMA_TEST_FEISHU_ACTOR_WORLD_H
#define SMA_TEST_FEISHU_ACTOR_WORLD_H

#include "adapters/feishu/feishu_frame.h"
#include "sma/messages.h"
#include "support/check.h"
#include "support/patience.h"
#include "support/ws_server.h"

#define WORLD_BOT "ou_bot0000000000000000000000000000"
#define WORLD_ADA "ou_ada0000000000000000000000000000"
#define WORLD_CHAT "oc_private"
#define WORLD_GROUP "oc_group"
#define WORLD_SECRET "s3cr3t-of-the-app"
#define WORLD_SERVICE 33554678

extern char world_dir[200]; /* the project */

/** Everything starts; members: further members of adapters.feishu, e.g. ",\"mode\":\"webhook\"". */
void world_open(const char *members);
void world_stop(
    void); /* orderly; checks the exit status, and that no log line held the secret or a token */
void world_clean(void); /* removes the project */
void world_close(void); /* both */

#define WORLD_WAIT_MS PATIENCE_AWAIT_MS
#define WORLD_WAIT(condition)                                                                      \
    do {                                                                                           \
        for (int world_ms_ = 0; !(condition); world_ms_++) {                                       \
            if (world_ms_ >= WORLD_WAIT_MS) {                                                      \
                fprintf(stderr, "%s:%d: waited in vain for %s\n", __FILE__, __LINE__, #condition); \
                exit(1);                                                                           \
            }                                                                                      \
            world_pause();                                                                         \
        }                                                                                          \
    } while (0)
void world_pause(void);       /* one look's time */
void world_rest(unsigned ms); /* long enough to see that nothing happens */

/* -- the store ---------------------------------------------------------------------------------------------------- */
struct world_event
{
    char text[256], chat_key[96], event_key[64], preparation[1024];
    uint8_t kind, control, addressed;
};
size_t world_event_count(void);
struct world_event world_event_at(size_t index);
void world_refuse(size_t count); /* the next `count` events */
void world_hold(bool is_held);   /* answer nothing; false answers what waits */
/** From now on presses are answered with this verdict and these words (kept by the caller). */
void world_answer_presses(enum sma_verdict verdict, const char *notice);
/** Of the deliveries that follow; enum sma_intent. */
void world_set_intent(uint8_t intent);

/** Hand a delivery to the dispatcher. reply, thread: "" = none. @return its outbox id */
uint64_t world_deliver(uint64_t seq, const char *chat, const char *chat_type, const char *reply,
                       const char *text);
/** Again, as after a crash: the part had been begun. */
void world_deliver_again(uint64_t outbox_id, uint64_t seq, const char *chat, const char *chat_type,
                         const char *reply, const char *text);
struct world_receipt
{
    uint8_t state; /* enum sma_delivery_state */
    char error[256], platform_id[64];
};
bool world_has_receipt(uint64_t outbox_id,
                       struct world_receipt *ret_receipt); /* whether the row has ended */

/** Ask the adapter to prepare. @return the seq it goes under */
uint64_t world_prepare(const char *preparation, const char *chat, const char *user,
                       bool wants_role);
struct world_prepared
{
    uint8_t role;
    char context[2048];
};
bool world_has_prepared(uint64_t seq, struct world_prepared *ret_prepared);

/* -- the agent, the HTTP adapter, the log --------------------------------------------------------------------------- */
void world_progress(uint64_t seq, enum sma_progress_kind kind, const char *chat, const char *text);
/** headers: lines with CR LF. @return the number of the request */
size_t world_webhook(const char *headers, const char *body);
bool world_has_webhook_answer(size_t number, int *ret_status, char body[1024]);
size_t world_log_count(const char *text); /* how many log lines contain this */

/* -- the platform (actor_platform.c) ---------------------------------------------------------------------------------- */
struct platform_request
{
    char method[8], path[512], token[64];
    char body[8192];
};
struct platform_ack
{
    char message_id[64];
    int code;
    char data[512]; /* base64 */
    unsigned conn;
    bool has_run_time;
};
void platform_start(void); /* by world_open, when there is none */
void platform_stop(void);
const char *platform_url(void);
struct ws_server *platform_server(void);

/** The next `count` requests of method on a path that begins so are answered like this; status 0 = no answer,
 *  -1 = the connection ends instead. */
void platform_script(const char *method, const char *prefix, size_t count, int status,
                     const char *headers, const char *body);
/** From now on: seconds of ClientConfig, life of tokens, refusal of upgrades (0 = none), pongs. */
void platform_config(unsigned interval_s, unsigned nonce_s, unsigned ping_s);
void platform_token_life(unsigned seconds);
void platform_refuse_upgrades(int status, const char *headers);
void platform_answer_pings(bool is_answered);
/** Every token so far is refused with 99991663. */
void platform_end_tokens(void);
void platform_pong(const char *payload); /* sent to the newest connection */

size_t platform_count(const char *method, const char *prefix);
struct platform_request platform_request_at(const char *method, const char *prefix, size_t index);
size_t platform_ack_count(void);
struct platform_ack platform_ack_at(size_t index);
size_t platform_ping_count(void);
bool platform_is_connected(void);

/** Send an event frame: payload in `parts` pieces, in the order given by `order` (NULL = 0, 1, ...). */
void platform_send_event(const char *message_id, const char *payload, size_t parts,
                         const size_t *order);
/** The JSON of a private text message. Static storage, one at a time. */
const char *platform_text_event(const char *message_id, const char *text);

#endif
