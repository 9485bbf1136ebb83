/*
 * actor_world.h — the Telegram adapter in an adapter world (support/adapter_world.h), against the
 * simulated platform.
 */
#ifndef SMA_TEST_TELEGRAM_ACTOR_WORLD_H
#define SMA_TEST_TELEGRAM_ACTOR_WORLD_H

#include "support/adapter_world.h"
#include "telegram/fake_telegram.h"

#define WORLD_SECRET "0123456789abcdef-secret"
#define WORLD_ADA 501 /* people of every world: private chats with the bot */
#define WORLD_BOB 502
#define WORLD_GROUP (-1001)

extern struct telegram world_platform;
extern int64_t world_cursor; /* what the store knows as telegram.offset at start; 0 = nothing */

/** The platform alone, for what is to be there before the adapter starts. world_open makes one if
 *  there is none. */
void world_make_platform(void);
/** Everything starts; members: further members of adapters.telegram, e.g.
 *  ",\"mode\":\"webhook\"". */
void world_open(const char *members);
void world_stop(void);  /* world_end, and the platform */
void world_close(void); /* the project too */

/** Hand a delivery to the dispatcher. chat, thread, reply as text, "" = none. @return its outbox
 *  id */
uint64_t world_deliver(uint64_t seq, const char *chat, const char *thread, const char *reply,
                       const char *text);
/** world_webhook with the secret as Telegram brings it; NULL = without. */
size_t world_call_back(const char *secret, const char *body);

/* -- the platform ------------------------------------------------------------------------------ */
int64_t world_say(int64_t chat, int64_t user, const char *text); /* -> message id */
int64_t world_calls(const char *method); /* requests of a method so far, lower case */
bool world_is_polled(void);
json_t *world_chat(int64_t chat); /* as "list" gives it; decref */
/** How many messages of ours with this text the chat shows. */
size_t world_shown(int64_t chat, const char *text);

#endif
