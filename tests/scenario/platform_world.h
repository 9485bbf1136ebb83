/*
 * platform_world.h — the service between a simulated platform in this process and a model server;
 * what people say there,
 * and what they see. For scenario tests.
 *
 * A test names its platform once, by the kind (telegram_world.h, feishu_world.h, qq_world.h), and
 * its chats and people as
 * the platform does: by numbers or by texts. Waiting is for an event with a deadline; in vain, it
 * ends the test.
 */
#ifndef SMA_TEST_PLATFORM_WORLD_H
#define SMA_TEST_PLATFORM_WORLD_H

#include "platform/fake_platform.h"
#include "scenario/talk.h"
#include "scenario/world.h"
#include "support/clock.h"
#include "support/patience.h"

#define AWAIT_MS PATIENCE_AWAIT_MS
#define RECOVERY_MS clock_bound_ms(5000 * PATIENCE) /* from the end of a fault to an answer */

struct platform_world;

/* What is one platform's own. */
struct platform_kind
{
    const char *name; /* as in "adapters" */
    void *(*start)(int port);
    void (*stop)(void *fake);
    struct platform_client (*client)(void *fake);
    const char *const *people; /* commands that make people and chats; ends with NULL */
    const char *ann;           /* who speaks first, in private: {"chat":..,"user":..} */
    const char *block;         /* members of the adapter; each "%d" is the platform's port */
    const char *groups;        /* the groups that are let in, as one more member */
    const char *root;          /* more of ship.json */
    const char *ready;         /* the counter that says that the service is connected */
    const char *queued;        /* the counter of what the platform still has to deliver */
    const char *wrong;      /* the counter of what the service did that it must not; NULL = none */
    const char *hidden;     /* the member that hides a message; NULL = none */
    const char *secrets[5]; /* what nothing the service wrote may hold; ends with NULL */
    const char *views[5];   /* commands whose answers tell what went wrong; ends with NULL */
    /* With a webhook: what else there is to do before events come. NULL = nothing. */
    void (*hook)(const struct platform_world *world);
};

struct platform_world
{
    struct world world;
    struct platform_client client;
    const struct platform_kind *kind;
    void *fake;
    bool may_complain; /* the platform may find fault with the service: set by the test */
};

/* What a test sets before it starts; zeroed is the ordinary case. */
struct platform_options
{
    const char *members; /* more of the adapter: ",\"backlog\":\"record\"" */
    const char *block; /* instead of everything in the adapter; "%d" in it is the platform's port */
    const char *script;      /* of the model server: see simulators/model */
    const char *concurrency; /* of the agent; NULL = "4" */
    const char *access;      /* as JSON; NULL = "\"anyone\"" */
    const char *root;        /* more of ship.json: ",\"permissions\":{...}" */
    const char *llm;         /* more of its "llm": ",\"api\":\"messages\"" */
    bool knows_no_group;     /* else ship.json lets the groups of the kind in */
};

/** Folder, both servers, people and chats; the service is not running yet. */
void platform_world_create(struct platform_world *world, const struct platform_kind *kind,
                           const char *fake_model, const struct platform_options *options);
/** create, and the service is connected (or ready, with a webhook). */
void platform_world_start(struct platform_world *world, const struct platform_kind *kind,
                          const char *binary, const char *fake_model,
                          const struct platform_options *options);
/** Ends all; the service must end well, keep its secrets to itself, and have done nothing it must
 *  not. */
void platform_world_stop(struct platform_world *world);
/** Until the service is connected. */
void platform_world_await_ready(const struct platform_world *world);

/* -- chats: an id is a number or a text; NULL where the platform needs none ------------------- */
json_t *chat_text_id(const char *id);
json_t *chat_number_id(int64_t id);
json_t *chat_no_id(const void *id);
#define CHAT_ID(id) \
    _Generic((id), char * : chat_text_id, const char * : chat_text_id, void * : chat_no_id, \
             default : chat_number_id)(id)
struct chat_message
{
    char id[128];
    int64_t number; /* where ids are numbers */
};
/** Somebody says something. */
#define chat_say(world, chat, user, text) chat_say_as(world, CHAT_ID(chat), CHAT_ID(user), text)
struct chat_message chat_say_as(const struct platform_world *world, json_t *chat, json_t *user,
                                const char *text);
/** How many messages of ours in the chat contain this text. */
#define chat_count(world, chat, part) chat_count_in(world, CHAT_ID(chat), part)
size_t chat_count_in(const struct platform_world *world, json_t *chat, const char *part);
/** Messages of ours. */
#define chat_sent(world, chat) chat_count_in(world, CHAT_ID(chat), "")
/** Until one of ours contains it. @return the newest such message as the platform lists it; decref
 *  it */
#define chat_await(world, chat, part) chat_await_in(world, CHAT_ID(chat), part)
json_t *chat_await_in(const struct platform_world *world, json_t *chat, const char *part);
/** The same, answer dropped. */
#define chat_expect(world, chat, part) json_decref(chat_await_in(world, CHAT_ID(chat), part))
/** What the chat holds, what the platform says of the service and the service's log, to stderr. */
#define chat_show(world, chat) chat_show_of(world, CHAT_ID(chat))
void chat_show_of(const struct platform_world *world, json_t *chat);

/* -- the platform ----------------------------------------------------------------------------- */
int64_t platform_counter(const struct platform_world *world, const char *name);
/** How often a call was made. */
int64_t platform_calls(const struct platform_world *world, const char *name);
/** Until the counter has this value at least. */
void platform_await_counter(const struct platform_world *world, const char *name, int64_t value);
/** The same with kind "status". */
void platform_status(const struct platform_world *world, const char *method, int status, int code,
                     int times);

/* -- the service ------------------------------------------------------------------------------ */
/** Until every event is taken, nothing waits, runs or is to be sent. */
void platform_settle(const struct platform_world *world);
/** The bodies of the model's requests that hold `part`: how many. */
size_t platform_asked(const struct platform_world *world, const char *part);
bool platform_log_has(const struct platform_world *world, const char *part);
/** Until the service's output holds `part`. */
void platform_await_log(const struct platform_world *world, const char *part);
/** Lines of a file of the project; 0 when it is not there. */
size_t platform_lines(const struct platform_world *world, const char *name);
/** Until it is stored where every message stands: what is said to one before that is not yet known
 *  to be. */
void platform_await_receipts(const struct platform_world *world);

#endif
