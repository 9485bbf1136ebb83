/*
 * Aim: the promises of mailbox.h: order, exact bounds, ownership, fairness, parking without a lost
 * wake-up.
 * Method: single-threaded cases first; then eight senders, saturated and paced, over both
 * doorbells, every message numbered and summed. A lost wake-up shows as a deadline that passes.
 */
#include "sma/limits.h"
#include "sma/mailbox.h"
#include "support/check.h"
#include "support/patience.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SENDER_COUNT 8

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SMA_NS_PER_S + (uint64_t)now.tv_nsec;
}

struct number
{
    uint64_t sender, value;
};

static struct sma_msg *number_msg(uint64_t sender, uint64_t value)
{
    struct sma_msg *msg = SMA_MSG_NEW(1, struct number, 0);
    CHECK(msg != NULL);
    *SMA_MSG_BODY(msg, struct number) = (struct number){sender, value};
    return msg;
}

static void push_ok(struct sma_lane *lane, uint64_t sender, uint64_t value)
{
    struct sma_msg *msg = number_msg(sender, value);
    CHECK_OK(sma_lane_push(lane, &msg));
    CHECK(msg == NULL);
}

static struct number take_one(struct sma_mailbox *box)
{
    struct sma_msg *msg = sma_mailbox_take(box);
    CHECK(msg != NULL);
    struct number number = *SMA_MSG_BODY(msg, struct number);
    sma_msg_destroy(msg);
    return number;
}

/* -- one thread -------------------------------------------------------------------------------- */
CASE(a_message_holds_its_own_strings)
{
    struct sma_msg *msg = sma_msg_create(7, 24, 6 + 1 + 15 + 32);
    CHECK(msg != NULL);
    CHECK_INT(7, msg->kind);
    struct sma_str text = sma_msg_dup(msg, SMA_STR("hello"));
    struct sma_str none = sma_msg_dup(msg, sma_str(NULL));
    uint64_t *room = sma_msg_space(msg, 32);
    CHECK_STR("hello", text);
    CHECK_INT(0, (long long)none.len);
    CHECK(none.ptr != NULL && none.ptr[0] == '\0');
    CHECK_INT(0, (long long)((uintptr_t)room % 16));
    for (int i = 0; i < 4; i++)
        CHECK_INT(0, (long long)room[i]);
    sma_msg_destroyp(&msg);
    CHECK(msg == NULL);
    sma_msg_destroy(NULL);
    CHECK(sma_msg_create(1, SIZE_MAX, 0) == NULL);
    CHECK(sma_msg_create(1, 8, (size_t)UINT32_MAX) == NULL);
}

/* max - 1, max, max + 1 on several capacities, and again after the indices have moved on. */
CASE(a_lane_holds_exactly_its_capacity)
{
    static const size_t capacities[][2] = {{1, 1}, {2, 2}, {3, 4}, {64, 64}, {100, 128}};
    for (size_t i = 0; i < SMA_COUNT_OF(capacities); i++) {
        struct sma_mailbox *box = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT);
        struct sma_lane *lane = sma_mailbox_add_lane(box, capacities[i][0]);
        uint64_t next = 0, wanted = 0;
        for (int round = 0; round < 5; round++) {
            while (sma_lane_count(lane) < capacities[i][1])
                push_ok(lane, 0, next++);
            struct sma_msg *extra = number_msg(0, 99), *same = extra;
            CHECK_ERR(SMA_ERR_FULL, sma_lane_push(lane, &extra));
            CHECK(extra == same); /* still the sender's */
            sma_msg_destroy(extra);
            CHECK_INT((long long)capacities[i][1], (long long)sma_mailbox_count(box));
            CHECK_INT((long long)wanted++, (long long)take_one(box).value);
            push_ok(lane, 0, next++); /* one taken, one fits */
            while (sma_mailbox_count(box) > 0)
                CHECK_INT((long long)wanted++, (long long)take_one(box).value);
            CHECK(sma_mailbox_take(box) == NULL);
        }
        sma_mailbox_destroy(box);
    }
}

CASE(a_closed_box_refuses_and_cleans_up)
{
    struct sma_mailbox *box = sma_mailbox_create(SMA_DOORBELL_EVENT_FD);
    struct sma_lane *lane = sma_mailbox_add_lane(box, 8);
    push_ok(lane, 0, 1); /* destroyed with the box: the leak checker looks */
    sma_mailbox_close(box);
    struct sma_msg *msg = number_msg(0, 2);
    CHECK_ERR(SMA_ERR_GONE, sma_lane_push(lane, &msg));
    CHECK(msg != NULL);
    sma_msg_destroy(msg);
    sma_mailbox_destroy(box);
    sma_mailbox_destroy(NULL);
}

/* A full lane delays a message of another lane by at most one burst a lane. */
CASE(no_lane_starves_another)
{
    struct sma_mailbox *box = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT);
    struct sma_lane *lanes[4];
    for (int i = 0; i < 4; i++)
        lanes[i] = sma_mailbox_add_lane(box, 1024);
    for (int i = 0; i < 3; i++)
        for (int n = 0; n < 1024; n++)
            push_ok(lanes[i], (uint64_t)i, (uint64_t)n);
    push_ok(lanes[3], 3, 0);
    int taken = 0;
    while (take_one(box).sender != 3)
        taken++;
    CHECK_INT(3 * SMA_LANE_BURST_COUNT, taken);
    uint64_t last = 99;
    int run = 0;
    for (int n = 0; n < 6 * SMA_LANE_BURST_COUNT; n++) { /* and so on in equal turns */
        struct number number = take_one(box);
        run = number.sender == last ? run + 1 : 1;
        last = number.sender;
        CHECK(run <= SMA_LANE_BURST_COUNT);
    }
    sma_mailbox_destroy(box);
}

CASE(a_ring_and_a_deadline_end_the_wait)
{
    struct sma_mailbox *box = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT);
    (void)sma_mailbox_add_lane(box, 8);
    sma_mailbox_ring(box); /* before the wait: must not be lost */
    sma_mailbox_wait(box, UINT64_MAX);
    uint64_t begin = now_ns();
    sma_mailbox_wait(box, begin + 20000000);
    uint64_t took = now_ns() - begin;
    CHECK(took >= 20000000 &&
          took <
              UINT64_C(800000000) * PATIENCE); /* late by scheduling at most, not by a back-off */
    CHECK_INT(1, (long long)sma_mailbox_park_count(box));
    sma_mailbox_destroy(box);
}

/* -- threads ----------------------------------------------------------------------------------- */
struct sender
{
    struct sma_lane *lane;
    uint64_t number, count;
    uint64_t pause_ns; /* 0 = saturated */
};

static void *send_all(void *argument)
{
    struct sender *sender = argument;
    for (uint64_t i = 0; i < sender->count; i++) {
        struct sma_msg *msg = number_msg(sender->number, i);
        while (sma_lane_push(sender->lane, &msg) == SMA_ERR_FULL)
            sched_yield();
        CHECK(msg == NULL);
        if (sender->pause_ns != 0) {
            uint64_t jitter = (i * 7919 + sender->number * 104729) % sender->pause_ns;
            nanosleep(&(struct timespec){.tv_nsec = (long)(sender->pause_ns + jitter) / 2}, NULL);
        }
    }
    return NULL;
}

struct receiver
{
    struct sma_mailbox *box;
    enum sma_doorbell_kind kind;
    uint64_t wanted, received;
    uint64_t next[SENDER_COUNT], sum;
};

/* Wait with a deadline that only a lost wake-up can reach. */
static void wait_for_more(struct receiver *receiver)
{
    uint64_t begin = now_ns();
    if (receiver->kind == SMA_DOORBELL_EVENT_COUNT) {
        sma_mailbox_wait(receiver->box, begin + 10 * SMA_NS_PER_S);
    } else if (sma_mailbox_prepare_sleep(receiver->box)) {
        struct pollfd fd = {.fd = sma_mailbox_fd(receiver->box), .events = POLLIN};
        CHECK(poll(&fd, 1, 10000) == 1);
        sma_mailbox_awake(receiver->box);
    }
    CHECK(now_ns() - begin < 10 * SMA_NS_PER_S);
}

static void receive_all(struct receiver *receiver)
{
    while (receiver->received < receiver->wanted) {
        struct sma_msg *msg = sma_mailbox_take(receiver->box);
        if (msg == NULL) {
            wait_for_more(receiver);
            continue;
        }
        struct number number = *SMA_MSG_BODY(msg, struct number);
        sma_msg_destroy(msg);
        CHECK(number.sender < SENDER_COUNT);
        CHECK(number.value == receiver->next[number.sender]); /* each sender's order */
        receiver->next[number.sender]++;
        receiver->sum += number.value;
        receiver->received++;
    }
}

static uint64_t exchange(enum sma_doorbell_kind kind, uint64_t count, uint64_t pause_ns)
{
    struct sma_mailbox *box = sma_mailbox_create(kind);
    CHECK(box != NULL);
    struct sender senders[SENDER_COUNT];
    pthread_t threads[SENDER_COUNT];
    for (uint64_t i = 0; i < SENDER_COUNT; i++)
        senders[i] = (struct sender){.lane = sma_mailbox_add_lane(box, 256),
                                     .number = i,
                                     .count = count,
                                     .pause_ns = pause_ns};
    for (int i = 0; i < SENDER_COUNT; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, send_all, &senders[i]));
    struct receiver receiver = {.box = box, .kind = kind, .wanted = count * SENDER_COUNT};
    receive_all(&receiver);
    for (int i = 0; i < SENDER_COUNT; i++)
        CHECK_INT(0, pthread_join(threads[i], NULL));
    CHECK(sma_mailbox_take(box) == NULL);
    CHECK(receiver.sum == SENDER_COUNT * (count * (count - 1) / 2));
    uint64_t parks = sma_mailbox_park_count(box);
    sma_mailbox_destroy(box);
    return parks;
}

CASE(eight_saturated_senders_lose_nothing)
{
    (void)exchange(SMA_DOORBELL_EVENT_COUNT, 50000, 0);
    (void)exchange(SMA_DOORBELL_EVENT_FD, 50000, 0);
}

/* Paced, so that the receiver really parks: unpaced senders hardly ever let it. */
CASE(no_wake_up_is_lost)
{
    CHECK(exchange(SMA_DOORBELL_EVENT_COUNT, 1500, 100000) > 100);
    CHECK(exchange(SMA_DOORBELL_EVENT_FD, 1500, 100000) > 100);
}

/* One message at a time, there and back: every hop is a park and a wake-up. */
struct player
{
    struct sma_mailbox *box;
    struct sma_lane *out;
    uint64_t count;
};

static void *play(void *argument)
{
    struct player *player = argument;
    for (uint64_t i = 0; i < player->count; i++) {
        struct sma_msg *msg;
        while ((msg = sma_mailbox_take(player->box)) == NULL) {
            uint64_t begin = now_ns();
            sma_mailbox_wait(player->box, begin + 10 * SMA_NS_PER_S);
            CHECK(now_ns() - begin < 10 * SMA_NS_PER_S);
        }
        CHECK(SMA_MSG_BODY(msg, struct number)->value == i);
        sma_msg_destroy(msg);
        push_ok(player->out, 0, i);
    }
    return NULL;
}

CASE(ping_pong_never_hangs)
{
    struct sma_mailbox *boxes[2];
    struct sma_lane *lanes[2];
    for (int i = 0; i < 2; i++) {
        boxes[i] = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT);
        lanes[i] = sma_mailbox_add_lane(boxes[i], 4);
    }
    struct player player = {boxes[0], lanes[1], 20000};
    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, play, &player));
    for (uint64_t i = 0; i < player.count; i++) {
        push_ok(lanes[0], 0, i);
        struct sma_msg *msg;
        while ((msg = sma_mailbox_take(boxes[1])) == NULL) {
            uint64_t begin = now_ns();
            sma_mailbox_wait(boxes[1], begin + 10 * SMA_NS_PER_S);
            CHECK(now_ns() - begin < 10 * SMA_NS_PER_S);
        }
        CHECK(SMA_MSG_BODY(msg, struct number)->value == i);
        sma_msg_destroy(msg);
    }
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK(sma_mailbox_park_count(boxes[0]) > 0);
    sma_mailbox_destroy(boxes[0]);
    sma_mailbox_destroy(boxes[1]);
}

/* An idle receiver parks once and stays parked; its thread is not scheduled. */
struct idler
{
    struct sma_mailbox *box;
    _Atomic int is_ready;
    long switches;
};

static void *idle(void *argument)
{
    struct idler *idler = argument;
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    atomic_store(&idler->is_ready, 1);
    sma_mailbox_wait(idler->box, UINT64_MAX);
    getrusage(RUSAGE_THREAD, &after);
    idler->switches = after.ru_nvcsw - before.ru_nvcsw;
    return NULL;
}

CASE(an_idle_receiver_parks_once)
{
    struct idler idler = {.box = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT)};
    (void)sma_mailbox_add_lane(idler.box, 8);
    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, idle, &idler));
    while (sma_mailbox_park_count(idler.box) == 0)
        sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = 700000000},
              NULL); /* the thing measured is that nothing happens */
    CHECK_INT(1, (long long)sma_mailbox_park_count(idler.box));
    sma_mailbox_ring(idler.box);
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK(idler.switches <= 1);
    sma_mailbox_destroy(idler.box);
}

CASES_MAIN
