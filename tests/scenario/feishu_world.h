/*
 * feishu_world.h — the people and chats of Feishu in a platform world. Redelivery is 60 times
 * faster than in life.
 */
#ifndef SMA_TEST_FEISHU_WORLD_H
#define SMA_TEST_FEISHU_WORLD_H

#include "feishu/fake_feishu.h"
#include "platform_world.h"

#define ANN "ou_ann" /* speaks first in the tests */
#define BOB "ou_bob"
#define EVE "ou_eve" /* owns TEAM and TOPICS */
#define ANN_CHAT "oc_ann"
#define BOB_CHAT "oc_bob"
#define TEAM "oc_team"
#define TOPICS "oc_topics"

extern const struct platform_kind feishu_kind;

#endif
