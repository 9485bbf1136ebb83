/*
 * world.h — the dispatcher under the seeded scheduler, between a store and an agent that only keep
 * books.
 *
 * The store hands out rows in order as credits allow, marks what receipts say and checks on the
 * way: a receipt is for a row that is open, parts come in order, a final receipt comes once. The
 * agent asks and remembers answers.
 */
#ifndef SMA_TEST_DISPATCHER_WORLD_H
#define SMA_TEST_DISPATCHER_WORLD_H

#include "sma/actors.h"
#include "sma/metrics.h"
#include "sma/sim.h"
#include "support/check.h"
#include "support/fake_adapter.h"

#define WORLD_ROW_COUNT_MAX 4200
#define WORLD_SECOND 1000000000ull

struct world_row
{
    uint64_t id, seq;
    const char *chat, *text;
    uint8_t intent;
    uint32_t renderer_version, part_done_count, attempt_count;
    bool is_repeat, has_waiter;
    unsigned adapter; /* 0, 1 */
    /* books */
    bool is_handed, is_over;
    int64_t made_wall_ms;
    bool is_platform_held, is_content_refused;
    bool steps_aside;                               /* LATE came: others of its chat pass */
    bool is_given_back, is_attempted, is_cancelled; /* back in the store until due_ns; /stop came */
    uint64_t due_ns;
    uint32_t waited_ms, given_back_count;
    uint8_t state;
    uint32_t receipt_count, part_sent_count, waiting_count, part_count, attempts_told;
    uint32_t no_disk_count; /* the next receipts are answered NO_DISK */
    bool is_stopped;        /* the next receipt is answered STOPPED */
    char error[256], platform_id[64];
    uint64_t over_ns;
};
struct world_answer
{
    uint64_t outbox_id;
    uint8_t state;
    uint64_t at_ns;
    char error[256];
};
struct world
{
    struct sma_system *system;
    struct sma_dispatcher *dispatcher;
    struct fake_adapter *fakes[2];
    struct sma_adapter_ops ops[2];
    struct sma_adapter adapters[2];
    struct sma_config config;
    struct world_row rows[WORLD_ROW_COUNT_MAX];
    size_t row_count;
    unsigned credits[2], credits_least[2];
    bool hands_one_of_a_chat; /* as the store does: without it rows must not be given back */
    bool is_silent_store;     /* receipts are not answered */
    uint64_t held_asks[64];
    size_t held_count;
    struct world_answer answers[WORLD_ROW_COUNT_MAX * 2];
    size_t answer_count;
};

/** One or two fake platforms; capabilities apply to both. */
void world_open(struct world *world, uint64_t seed, struct sma_capabilities capabilities,
                fake_plan_fn *plan, void *user);
void world_close(struct world *world);
/** A new row, handed out when a credit is free. Its id is count + 1, its seq ten times that. */
struct world_row *world_add(struct world *world, const char *chat, const char *text);
/** Hand out what credits allow (called by every receipt too). */
void world_hand_out(struct world *world);
void world_ask_send(struct world *world, uint64_t outbox_id, uint64_t deadline_ns);
void world_cancel(struct world *world, const char *chat, uint64_t mark_seq);
/** Run for so much virtual time. */
void world_run(struct world *world, uint64_t ns);
/** Until every row is over; then nothing may be left of any. */
void world_run_all(struct world *world);
/** What the platform saw, the first is 0; fails the test when there is none. */
const struct fake_saw *world_saw_at(const struct world *world, unsigned adapter, size_t index);
uint64_t world_now(const struct world *world);
/** The only answer for this row; fails the test when there is none or more than one. */
const struct world_answer *world_answer_of(const struct world *world, uint64_t outbox_id);
size_t world_answer_count_of(const struct world *world, uint64_t outbox_id);

#endif
