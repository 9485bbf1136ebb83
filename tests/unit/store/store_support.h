/*
 * store_support.h — the store actor under the seeded scheduler, between actors that only keep what
 * they get. The test speaks in their place: it asks through their contexts and takes what came
 * back.
 */
#ifndef SMA_TEST_STORE_SUPPORT_H
#define SMA_TEST_STORE_SUPPORT_H

#include "actors/store/hooks.h"
#include "actors/store/store.h"
#include "sma/sim.h"
#include "support/check.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everybody may talk, and these groups are let in. */
#define EVERYBODY "{\"access\":\"anyone\",\"groups\":[\"g\"]}"
#define KEPT_COUNT_MAX 8192
#define TEST SMA_ACTOR_ADAPTER_0
#define API (SMA_ACTOR_ADAPTER_0 + 1)
#define SECOND UINT64_C(1000000000)

struct keeper
{
    struct sma_msg *msgs[KEPT_COUNT_MAX];
    size_t count;
};

struct world
{
    bool has_threads; /* checkpoints and syncs of history files */
    char dir[64], state_dir[80];
    struct sma_config config;
    struct sma_adapter adapters[2];
    struct sma_store *store;
    struct sma_system *system;
    struct keeper agent, dispatcher, test, api, mcp;
    uint64_t disk_free, seed;
    const struct sma_sys *sys; /* for the store's files; NULL = real */
    const char *test_json;     /* ship.json's block of the platform "test"; NULL: EVERYBODY */
    uint64_t model_out_ns;     /* of DONE: when the first request left; 0 = nobody says */
};

/* -- actors that keep -------------------------------------------------------------------------- */
void drop_kept(struct keeper *keeper);

/* Oldest kept message of this kind, taken out; NULL when there is none. The caller destroys it. */
struct sma_msg *take(struct keeper *keeper, unsigned kind);
size_t count_kept(const struct keeper *keeper, unsigned kind);

/* What the platform "test" can do. */
extern const struct sma_adapter_ops test_adapter;

/* -- the world --------------------------------------------------------------------------------- */
bool fake_disk(void *user, uint64_t *ret_free_bytes);
void make_world(struct world *world);

/* Let everything happen that happens within `ns` from now. */
void run_for(struct world *world, uint64_t ns);
void run(struct world *world);

void new_world(struct world *world); /* made and opened */
/* The first batch, which hands out what is open, has not run yet. */
void open_world_only(struct world *world);
void open_world(struct world *world);
void close_system(struct world *world);

/* The process ends without a word; the page cache stays. Opens again. */
void crash_world(struct world *world);
void stop_world(struct world *world);
void restart_world(struct world *world);
void remove_tree(const char *path);
void end_world(struct world *world); /* or what is left of it, also nothing */

/* -- speaking ---------------------------------------------------------------------------------- */
struct saying
{
    const char *chat, *id, *text, *user;
    uint8_t kind, control, addressed, role;
    uint64_t body_hash;
    int64_t cursor;
    bool is_record_only, is_group;
    const char *alias;                 /* another id of the same person */
    const char *display_name, *handle; /* of who speaks; NULL: "Ann" is all that is known */
    const char *preparation, *group_key, *context, *migrated_from;
    const char *reply_to; /* "?": a reply, and nobody says to what */
    int64_t sent_ms;
    bool is_forward, is_behind, is_edited, has_joined;
    uint8_t change; /* NOTE: of the message `target` */
    const char *target;
    struct sma_part *parts; /* outlive the message */
    uint32_t part_count;
};
struct sma_route route_of(unsigned adapter, const char *key);
uint64_t say_as(struct world *world, unsigned adapter, const struct saying *saying);
void say(struct world *world, const char *chat, const char *id, const char *text);
void command(struct world *world, const char *chat, const char *id, enum sma_control control);

/* The next ACCEPTED of an adapter, by value (its reason is static text). */
struct sma_accepted accepted(struct keeper *keeper);
/* All happens, and what was said on "test" is accepted. */
void expect_accepted(struct world *world);

/* The next RUN's seq; 0 when none came. */
uint64_t run_seq(struct world *world);

struct delivery
{
    const char *key, *text;
    uint32_t call;
    unsigned adapter; /* 0 = TEST */
    bool is_fallback;
};
struct sma_step_delivery *put_deliveries(struct sma_msg *msg, const struct delivery *from,
                                         uint32_t count);
void ask_as_agent(struct world *world, struct sma_msg *msg);
void step(struct world *world, uint64_t seq, uint32_t number, const struct delivery *from,
          uint32_t count);
void done(struct world *world, uint64_t seq, const char *output, const struct delivery *from,
          uint32_t count);

/* Verdict of the next STEP_DONE or DONE_DONE. */
int verdict(struct world *world, unsigned kind);
/* All happens, and the answer of this kind is: durable. */
void expect_durable(struct world *world, unsigned kind);

/* The next PREPARE, taken and answered; its seq, 0 when there was none. */
uint64_t prepare(struct world *world, enum sma_role role, const char *context);

/* Answer the next PREPARE with what was fetched. @return its seq, 0 = there is none */
uint64_t prepare_parts(struct world *world, struct sma_part *parts, uint32_t count);

/* The next RUN; the caller destroys it. */
struct sma_msg *next_run(struct world *world);

/* The text of the next DELIVER, or "" when there is none, in static memory. */
const char *next_delivery(struct world *world);

/* The next DELIVER; the caller destroys it. */
struct sma_msg *deliver(struct world *world);
void receipt(struct world *world, const struct sma_receipt *facts);
void await(struct world *world, unsigned adapter, uint64_t seq, bool is_peek, const char *user);

/* The history file of a chat as text, in static memory. */
const char *history(const struct world *world, const char *file);
size_t count_of(const char *text, const char *needle);

/* What is open is done, time passes, what follows is done. */
void pass(struct world *world, uint64_t seconds);

/* The next run ends well; it is an error if there is none. */
void finish_next(struct world *world);

#endif
