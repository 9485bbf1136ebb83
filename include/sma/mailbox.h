/*
 * mailbox.h — bounded inbox of one actor: a bundle of lanes and one doorbell.
 *
 * A lane is one single-producer single-consumer ck_ring between one sender and one receiver. Lanes
 * are served round-robin, up to SMA_LANE_BURST_COUNT messages a lane, so that no sender starves
 * another.
 *
 * Invariants: 0 <= lane count <= lane capacity; each sender's order is kept; a push that succeeded
 *             is taken exactly once; no wake-up is lost (the consumer announces sleep, re-checks,
 *             then parks; the producer rings only when sleep is announced).
 * Threads:    push from the lane's one sender; everything else from the owning actor, except
 * create/destroy, which
 *             happen before the threads start and after they have ended.
 * Limits:     lane capacities are given at creation (powers of two); SMA_LANE_COUNT_MAX.
 */
#ifndef SMA_MAILBOX_H
#define SMA_MAILBOX_H

#include "sma/msg.h"

struct sma_mailbox;
struct sma_lane;

enum sma_doorbell_kind
{
    SMA_DOORBELL_EVENT_COUNT, /* futex: actors without I/O park in sma_mailbox_wait */
    SMA_DOORBELL_EVENT_FD,    /* an eventfd that the actor's event loop watches */
};

/** @return NULL when out of memory or, for EVENT_FD, without a descriptor. Allocates. */
struct sma_mailbox *sma_mailbox_create(enum sma_doorbell_kind kind);
/** Destroys messages still inside. Accepts NULL. */
void sma_mailbox_destroy(struct sma_mailbox *box);
/**
 * Add a lane able to hold `capacity` messages (rounded up to a power of two). Only before the first
 * push.
 * @return borrowed, lives as long as the mailbox; NULL when out of memory.
 */
struct sma_lane *sma_mailbox_add_lane(struct sma_mailbox *box, size_t capacity);

/**
 * Put *msg into the lane and ring the doorbell if the consumer sleeps.
 * @msg     moved: NULL on success; untouched and still the caller's on any error
 * @return  OK | FULL | GONE (closed by the consumer)
 * Thread: the lane's sender.  Blocks: never.  Allocates: no.
 */
SMA_CHECKED enum sma_err sma_lane_push(struct sma_lane *lane, struct sma_msg **msg);
/** Messages in the lane, a snapshot. Thread: any. */
size_t sma_lane_count(const struct sma_lane *lane);

/** Next message in round-robin order, or NULL when all lanes are empty. Thread: owner. Blocks:
 *  never. */
struct sma_msg *sma_mailbox_take(struct sma_mailbox *box);
/** Messages waiting in all lanes, a snapshot. Thread: any. */
size_t sma_mailbox_count(const struct sma_mailbox *box);
/**
 * Park until a message may be there or deadline_ns (monotonic; UINT64_MAX = none) has come.
 * EVENT_COUNT only.
 * Thread: owner.
 */
void sma_mailbox_wait(struct sma_mailbox *box, uint64_t deadline_ns);
/** EVENT_FD only: the descriptor to watch for POLLIN. */
int sma_mailbox_fd(const struct sma_mailbox *box);
/** EVENT_FD only: announce sleep and re-check. true: go back to the loop; false: messages arrived
 *  meanwhile. */
bool sma_mailbox_prepare_sleep(struct sma_mailbox *box);
/** EVENT_FD only: after the descriptor became readable: clear it and withdraw the announcement. */
void sma_mailbox_awake(struct sma_mailbox *box);
/** Ring without a message (supervisor: stop). Thread: any. */
void sma_mailbox_ring(struct sma_mailbox *box);
/** Refuse further pushes with GONE. Thread: owner. */
void sma_mailbox_close(struct sma_mailbox *box);
/** How often the consumer has really parked (tests: an idle actor parks once and stays). Thread:
 *  any. */
uint64_t sma_mailbox_park_count(const struct sma_mailbox *box);

#endif
