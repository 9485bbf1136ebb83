/*
 * telegram_world.h — the service between a Bot API server in this process and a model server. For
 * scenario tests.
 */
#ifndef SMA_TEST_TELEGRAM_WORLD_H
#define SMA_TEST_TELEGRAM_WORLD_H

#include "scenario/talk.h"
#include "scenario/world.h"
#include "support/patience.h"
#include "telegram/fake_telegram.h"

#define ANN 1001 /* speaks first in the tests; has a user name */
#define BOB 1002
#define EVE 1003 /* administrator of TEAM and FORUM */
#define TEAM (-1001234567890)
#define FORUM (-1001234567891)
#define AWAIT_MS PATIENCE_AWAIT_MS

struct telegram_world
{
    struct world world;
    struct telegram telegram;
};

/* What a test sets before it starts; zeroed is the ordinary case. */
struct telegram_options
{
    const char *members;     /* more of adapters.telegram: ",\"backlog\":\"record\"" */
    const char *script;      /* of the model server: see fake_model */
    const char *concurrency; /* of the agent; NULL = "4" */
    const char *access;      /* as JSON; NULL = "\"anyone\"" */
    const char *root;        /* more of ship.json: ",\"permissions\":{...}" */
    bool knows_no_group;     /* else ship.json lets TEAM and FORUM in */
};

/** Folder, both servers, people and chats; the service is not running yet. */
void telegram_world_create(struct telegram_world *world, const char *fake_model,
                           const struct telegram_options *options);
/** create, and the service is polling (or ready, with a webhook). */
void telegram_world_start(struct telegram_world *world, const char *binary, const char *fake_model,
                          const struct telegram_options *options);
/** Ends all; the service must end well and keep the bot's token and the API key to itself. */
void telegram_world_stop(struct telegram_world *world);
/** Until a poll waits at the server. */
void telegram_world_await_poll(const struct telegram_world *world);

/** A user says something. @return the message's id */
int64_t telegram_say(const struct telegram_world *world, int64_t chat, int64_t user,
                     const char *text);
/** How many messages of ours in the chat contain this text. */
size_t telegram_count(const struct telegram_world *world, int64_t chat, const char *part);
/** Until one of ours contains it. @return the newest such message as the server lists it; decref
 *  it */
json_t *telegram_await(const struct telegram_world *world, int64_t chat, const char *part);
/** The same, answer dropped. */
void telegram_expect(const struct telegram_world *world, int64_t chat, const char *part);
/** What the chat holds and the service's log, to stderr. */
void telegram_show(const struct telegram_world *world, int64_t chat);
/** Until every update is confirmed, nothing waits, runs or is to be sent. */
void telegram_settle(const struct telegram_world *world);
/** Messages of ours in a chat. */
size_t telegram_sent(const struct telegram_world *world, int64_t chat);
/** The bodies of the model's requests that hold `part`: how many. */
size_t telegram_asked(const struct telegram_world *world, const char *part);
int64_t telegram_member(const json_t *tree, const char *name);

#endif
