/*
 * qq_world.h — the service between a QQ platform in this process and a model server. For scenario
 * tests.
 */
#ifndef SMA_TEST_QQ_WORLD_H
#define SMA_TEST_QQ_WORLD_H

#include "qq/fake_qq.h"
#include "scenario/talk.h"
#include "scenario/world.h"
#include "support/patience.h"

#define ANN "c2c:A1B2C3D4E5F60718293A4B5C6D7E8F90" /* speaks first in the tests */
#define BOB "c2c:B0B2C3D4E5F60718293A4B5C6D7E8F91"
#define TEAM "group:B2C3D4E5F60718293A4B5C6D7E8F90A1"
#define PLACE "channel:100010"
#define DIRECT "dm:900001"
#define AWAIT_MS PATIENCE_AWAIT_MS
#define RECOVERY_MS (5000 * PATIENCE) /* from the end of a fault to an answer */

struct qq_world
{
    struct world world;
    struct fake_qq *fake;
    struct platform_client qq;
};

/* What a test sets before it starts; zeroed is the ordinary case. */
struct qq_options
{
    const char *members; /* more of adapters.qq: ",\"markdown\":false" */
    const char *script;  /* of the model server: see fake_model */
    const char *root;    /* more of the root: ",\"a\":1" */
    const char *access;  /* as JSON; NULL = "\"anyone\"" */
    bool knows_no_group; /* else ship.json lets TEAM in */
};

/** Folder, both servers, people and chats; the service is not running yet. */
void qq_world_create(struct qq_world *world, const char *fake_model,
                     const struct qq_options *options);
/** create, and the service is connected to the gateway (or ready, with a webhook, which is told to
 *  the platform). */
void qq_world_start(struct qq_world *world, const char *binary, const char *fake_model,
                    const struct qq_options *options);
/** Ends all; the service must end well, keep its secrets to itself, and have sent no token where
 *  none is due. */
void qq_world_stop(struct qq_world *world);
/** Until a session is up. */
void qq_world_await_ready(const struct qq_world *world);
/** The platform posts events to the service from now on. */
void qq_world_set_webhook(const struct qq_world *world);

/** Somebody says it. @return the message's id; free it */
char *qq_said(const struct qq_world *world, const char *chat, const char *text);
void qq_say(const struct qq_world *world, const char *chat, const char *text);
/** How many messages of ours in the chat contain this text. */
size_t qq_count(const struct qq_world *world, const char *chat, const char *part);
/** Until one of ours contains it. @return the newest such message as the platform lists it; decref
 *  it */
json_t *qq_await(const struct qq_world *world, const char *chat, const char *part);
/** The same, answer dropped. */
void qq_expect(const struct qq_world *world, const char *chat, const char *part);
/** Messages of ours. */
size_t qq_sent(const struct qq_world *world, const char *chat);
/** All of ours in the chat, a list; decref it. */
json_t *qq_ours(const struct qq_world *world, const char *chat);
/** What the chat holds and the service's log, to stderr. */
void qq_show(const struct qq_world *world, const char *chat);
/** Until nothing waits, runs or is to be sent. */
void qq_settle(const struct qq_world *world);
int64_t qq_counter(const struct qq_world *world, const char *name);
/** How often a REST call was made. */
int64_t qq_calls(const struct qq_world *world, const char *name);
/** Until the counter has this value at least. */
void qq_await_counter(const struct qq_world *world, const char *name, int64_t value);
/** The bodies of the model's requests that hold `part`: how many. */
size_t qq_asked(const struct qq_world *world, const char *part);
int64_t qq_member(const json_t *tree, const char *name);
/** Until the service's log holds it. */
void qq_await_log(const struct qq_world *world, const char *part);
/** {do:"fault", ...} of a REST call, so many times. */
void qq_fault(const struct qq_world *world, const char *method, const char *kind, int times);
/** The same with kind "status". */
void qq_status(const struct qq_world *world, const char *method, int status, int code, int times);
/** Until the service has met every fault. */
void qq_await_faults(const struct qq_world *world);
/** ANN says something new and is answered `low` to `high` times, the first time within
 *  RECOVERY_MS. */
void qq_talk(const struct qq_world *world, size_t low, size_t high);
/** The counter has this value, and a session is up, within RECOVERY_MS after `ended`; then people
 *  are answered. */
void qq_recovers(const struct qq_world *world, const char *counter, int64_t value, long long ended);
/** ANN says so many things while nobody may be connected; the session still lives. */
void qq_say_meanwhile(const struct qq_world *world, size_t count);
/** Each of them is answered once. */
void qq_expect_meanwhile(const struct qq_world *world, size_t count);

#endif
