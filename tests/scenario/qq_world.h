/*
 * qq_world.h — the people and chats of QQ in a platform world, and its sessions. Here a chat says
 * who speaks.
 */
#ifndef SMA_TEST_QQ_WORLD_H
#define SMA_TEST_QQ_WORLD_H

#include "platform_world.h"
#include "qq/fake_qq.h"

#define ANN "c2c:A1B2C3D4E5F60718293A4B5C6D7E8F90" /* speaks first in the tests */
#define BOB "c2c:B0B2C3D4E5F60718293A4B5C6D7E8F91"
#define TEAM "group:B2C3D4E5F60718293A4B5C6D7E8F90A1"
#define PLACE "channel:100010"
#define DIRECT "dm:900001"

extern const struct platform_kind qq_kind;

/** The platform posts events to the service from now on. */
void qq_set_webhook(const struct platform_world *world);
/** The counter has this value, and a session is up, within RECOVERY_MS after `ended`; then people
 *  are answered. */
void qq_recovers(const struct platform_world *world, const char *counter, int64_t value,
                 long long ended);
/** ANN says so many things while nobody may be connected; the session still lives. */
void qq_say_meanwhile(const struct platform_world *world, size_t count);
/** Each of them is answered once. */
void qq_expect_meanwhile(const struct platform_world *world, size_t count);

#endif
