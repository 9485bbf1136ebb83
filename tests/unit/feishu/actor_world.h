/*
 * actor_world.h — the Feishu adapter in an adapter world (support/adapter_world.h), against a
 * scripted platform.
 *
 * The platform (actor_platform.c) answers like Feishu until it is told otherwise. Threads: the
 * test's.
 */
#ifndef SMA_TEST_FEISHU_ACTOR_WORLD_H
#define SMA_TEST_FEISHU_ACTOR_WORLD_H

#include "adapters/feishu/feishu_frame.h"
#include "platform/ws_server.h"
#include "support/adapter_world.h"

#define WORLD_BOT "ou_bot0000000000000000000000000000"
#define WORLD_ADA "ou_ada0000000000000000000000000000"
#define WORLD_CHAT "oc_private"
#define WORLD_GROUP "oc_group"
#define WORLD_SECRET "s3cr3t-of-the-app"
#define WORLD_SERVICE 33554678

/** Everything starts; members: further members of adapters.feishu, e.g. ",\"mode\":\"webhook\"". */
void world_open(const char *members);
void world_stop(void);  /* world_end; the platform stays */
void world_clean(void); /* removes platform and project */
void world_close(void); /* both */

/** Hand a delivery to the dispatcher. reply: "" = none. @return its outbox id */
uint64_t world_deliver(uint64_t seq, const char *chat, const char *chat_type, const char *reply,
                       const char *text);
/** Again, as after a crash: the part had been begun. */
void world_deliver_again(uint64_t outbox_id, uint64_t seq, const char *chat, const char *chat_type,
                         const char *reply, const char *text);

/* -- the platform (actor_platform.c) ----------------------------------------------------------- */
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

/** The next `count` requests of method on a path that begins so are answered like this; status 0 =
 *  no answer,
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

/** Send an event frame: payload in `parts` pieces, in the order given by `order` (NULL = 0, 1,
 *  ...). */
void platform_send_event(const char *message_id, const char *payload, size_t parts,
                         const size_t *order);
/** The JSON of a private text message. Static storage, one at a time. */
const char *platform_text_event(const char *message_id, const char *text);

#endif
