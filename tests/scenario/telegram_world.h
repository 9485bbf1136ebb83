/*
 * telegram_world.h — the people and chats of Telegram in a platform world.
 */
#ifndef SMA_TEST_TELEGRAM_WORLD_H
#define SMA_TEST_TELEGRAM_WORLD_H

#include "platform_world.h"
#include "telegram/fake_telegram.h"

#define ANN 1001 /* speaks first in the tests; has a user name */
#define BOB 1002
#define EVE 1003 /* administrator of TEAM and FORUM */
#define TEAM (-1001234567890)
#define FORUM (-1001234567891)

extern const struct platform_kind telegram_kind;

#endif
