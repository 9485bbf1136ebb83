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

#endif
