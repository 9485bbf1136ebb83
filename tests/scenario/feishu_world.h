/*
 * feishu_world.h — the service between a Feishu in this process and a model server. For scenario
 * tests.
 */
#ifndef SMA_TEST_FEISHU_WORLD_H
#define SMA_TEST_FEISHU_WORLD_H

#include "feishu/fake_feishu.h"
#include "scenario/talk.h"
#include "scenario/world.h"
#include "support/patience.h"

#define ANN "ou_ann" /* speaks first in the tests */
#define BOB "ou_bob"
#define EVE "ou_eve" /* owns TEAM and TOPICS */
#define ANN_CHAT "oc_ann"
#define BOB_CHAT "oc_bob"
#define TEAM "oc_team"
#define TOPICS "oc_topics"
#define AWAIT_MS PATIENCE_AWAIT_MS

struct feishu_world
{
    struct world world;
    struct fake_feishu *fake;
    struct platform_client feishu;
    bool may_complain; /* the platform may find fault with the service: set by the test */
};

/* What a test sets before it starts; zeroed is the ordinary case. */
struct feishu_options
{
    const char *members; /* more of adapters.feishu: ",\"groupAccess\":\"anyone\"" */
    const char *script;  /* of the model server: see fake_model */
    const char *root;    /* more of ship.json: ",\"permissions\":{...}" */
    /* instead of everything in adapters.feishu; "%d" in it is the platform's port */
    const char *block;
    const char *access;  /* as JSON; NULL = "\"anyone\"" */
    bool knows_no_group; /* else ship.json lets TEAM and TOPICS in */
};
struct feishu_message
{
    char id[64];
};

/** Folder, both servers, people and chats; redelivery 60 times faster. The service is not running
 *  yet. */
void feishu_world_create(struct feishu_world *world, const char *fake_model,
                         const struct feishu_options *options);
/** create, and the service is connected (or ready, with a webhook). */
void feishu_world_start(struct feishu_world *world, const char *binary, const char *fake_model,
                        const struct feishu_options *options);
/** Ends all; the service must end well, keep its secrets to itself, and have done nothing the
 *  platform refuses. */
void feishu_world_stop(struct feishu_world *world);
void feishu_world_await_connection(const struct feishu_world *world);

/** Somebody says something. "@{bot}" in the text mentions the bot. */
struct feishu_message feishu_say(const struct feishu_world *world, const char *chat,
                                 const char *user, const char *text);
/** How many messages of ours in the chat contain this text. */
size_t feishu_count(const struct feishu_world *world, const char *chat, const char *part);
/** Until one of ours contains it. @return the newest such message as the server lists it; decref
 *  it */
json_t *feishu_await(const struct feishu_world *world, const char *chat, const char *part);
void feishu_expect(const struct feishu_world *world, const char *chat, const char *part);
/** What the chat holds, what the platform complains of and the service's log, to stderr. */
void feishu_show(const struct feishu_world *world, const char *chat);
/** Until every event is acknowledged, nothing waits, runs or is to be sent. */
void feishu_settle(const struct feishu_world *world);
/** Messages of ours in a chat. */
size_t feishu_sent(const struct feishu_world *world, const char *chat);
/** The bodies of the model's requests that hold `part`: how many. */
size_t feishu_asked(const struct feishu_world *world, const char *part);
int64_t feishu_counter(const struct feishu_world *world, const char *name);
/** Until a counter of the platform is at least this. */
void feishu_await_counter(const struct feishu_world *world, const char *name, int64_t wanted);
/** Until the service's output holds `part`. */
void feishu_await_log(const struct feishu_world *world, const char *part);
bool feishu_log_has(const struct feishu_world *world, const char *part);

#endif
