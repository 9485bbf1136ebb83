/*
 * bench_mailbox — the mailbox against a bare SPSC ring, a mutex+condvar queue and a bare futex.
 *
 * Every figure and its reference are taken alternately in the same run, several times; the table
 * shows medians, ratios are medians of the ratios of neighbouring runs, because machines are noisy.
 * Messages are made once and passed round, so that malloc is not measured.
 */
#include "bench.h"
#include "reference_ck.h"
#include "sma/mailbox.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define LANE_COUNT_MAX 8
#define RUN_COUNT_MAX 9

static int run_count(void)
{
    return bench_is_quick ? 3 : RUN_COUNT_MAX;
}

static struct sma_msg *new_msg(void)
{
    struct sma_msg *msg = sma_msg_create(1, 16, 0);
    if (msg == NULL)
        abort();
    return msg;
}

static void must(enum sma_err err)
{
    if (err != SMA_ERR_OK) {
        fprintf(stderr, "push failed: %s\n", sma_err_name(err));
        abort();
    }
}

/* -- push and take on one thread --------------------------------------------------------------- */
static double pair_mailbox(unsigned lane_count, unsigned rounds)
{
    struct sma_mailbox *box = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT);
    struct sma_lane *lanes[LANE_COUNT_MAX];
    struct sma_msg *msg = new_msg();
    for (unsigned i = 0; i < lane_count; i++)
        lanes[i] = sma_mailbox_add_lane(box, 1024);
    uint64_t begin = bench_now_ns();
    for (unsigned i = 0; i < rounds; i++) {
        must(sma_lane_push(lanes[i % lane_count], &msg));
        msg = sma_mailbox_take(box);
    }
    uint64_t took = bench_now_ns() - begin;
    sma_msg_destroy(msg);
    sma_mailbox_destroy(box);
    return (double)took / rounds;
}

static double pair_bare(unsigned lane_count, unsigned rounds)
{
    (void)lane_count;
    struct bare_ring *ring = bare_ring_create(1024);
    int item;
    void *at = &item;
    uint64_t begin = bench_now_ns();
    for (unsigned i = 0; i < rounds; i++) {
        if (!bare_ring_push(ring, at))
            abort();
        at = bare_ring_take(ring);
    }
    uint64_t took = bench_now_ns() - begin;
    bare_ring_destroy(ring);
    return (double)took / rounds;
}

static double pair_mutex(unsigned lane_count, unsigned rounds)
{
    (void)lane_count;
    struct mutex_queue *queue = mutex_queue_create(1024);
    int item;
    void *at = &item;
    uint64_t begin = bench_now_ns();
    for (unsigned i = 0; i < rounds; i++) {
        if (!mutex_queue_push(queue, at))
            abort();
        at = mutex_queue_take(queue);
    }
    uint64_t took = bench_now_ns() - begin;
    mutex_queue_destroy(queue);
    return (double)took / rounds;
}

/* -- many senders, one receiver ---------------------------------------------------------------- */
struct flood
{
    struct sma_mailbox *box; /* or: */
    struct bare_ring *rings[LANE_COUNT_MAX];
    struct mutex_queue *queue;
    struct sma_lane *lanes[LANE_COUNT_MAX];
    struct sma_msg **pool; /* messages of all senders, count each */
    unsigned sender_count, count;
};

struct flood_sender
{
    struct flood *flood;
    unsigned number;
};

static bool flood_push(struct flood *flood, unsigned number, struct sma_msg *msg)
{
    if (flood->box != NULL)
        return sma_lane_push(flood->lanes[number], &msg) == SMA_ERR_OK;
    if (flood->queue != NULL)
        return mutex_queue_push(flood->queue, msg);
    return bare_ring_push(flood->rings[number], msg);
}

static void *flood_send(void *argument)
{
    struct flood_sender *sender = argument;
    struct flood *flood = sender->flood;
    for (unsigned i = 0; i < flood->count; i++)
        while (!flood_push(flood, sender->number, flood->pool[i]))
            sched_yield();
    return NULL;
}

static void flood_receive(struct flood *flood)
{
    size_t wanted = (size_t)flood->sender_count * flood->count, received = 0;
    unsigned at = 0, empty = 0;
    while (received < wanted) {
        void *item;
        if (flood->box != NULL) {
            item = sma_mailbox_take(flood->box);
            if (item == NULL)
                sma_mailbox_wait(flood->box, UINT64_MAX);
        } else if (flood->queue != NULL) {
            item = mutex_queue_take_wait(flood->queue);
        } else { /* the bare pairs: take all of a ring, then the next; yield when all are empty */
            item = bare_ring_take(flood->rings[at]);
            if (item == NULL) {
                at = (at + 1) % flood->sender_count;
                if (++empty >= flood->sender_count) {
                    sched_yield();
                    empty = 0;
                }
            }
        }
        if (item != NULL) {
            received++;
            empty = 0;
        }
    }
}

enum flood_kind
{
    FLOOD_MAILBOX,
    FLOOD_BARE,
    FLOOD_MUTEX,
};

/* Million messages a second. The same few messages are pushed again and again: nobody looks
 * inside. */
static double flood_run(enum flood_kind kind, unsigned sender_count, unsigned count)
{
    struct flood flood = {.sender_count = sender_count, .count = count};
    struct sma_msg *msg = new_msg();
    flood.pool = malloc(count * sizeof(*flood.pool));
    for (unsigned i = 0; i < count; i++)
        flood.pool[i] = msg;
    if (kind == FLOOD_MAILBOX)
        flood.box = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT);
    if (kind == FLOOD_MUTEX)
        flood.queue = mutex_queue_create(1024);
    struct flood_sender senders[LANE_COUNT_MAX];
    pthread_t threads[LANE_COUNT_MAX];
    for (unsigned i = 0; i < sender_count; i++) {
        senders[i] = (struct flood_sender){&flood, i};
        if (kind == FLOOD_MAILBOX)
            flood.lanes[i] = sma_mailbox_add_lane(flood.box, 1024);
        else if (kind == FLOOD_BARE)
            flood.rings[i] = bare_ring_create(1024);
    }
    uint64_t begin = bench_now_ns();
    for (unsigned i = 0; i < sender_count; i++)
        pthread_create(&threads[i], NULL, flood_send, &senders[i]);
    flood_receive(&flood);
    uint64_t took = bench_now_ns() - begin;
    for (unsigned i = 0; i < sender_count; i++)
        pthread_join(threads[i], NULL);
    sma_mailbox_destroy(flood.box);
    if (flood.queue != NULL)
        mutex_queue_destroy(flood.queue);
    for (unsigned i = 0; i < sender_count; i++)
        if (flood.rings[i] != NULL)
            bare_ring_destroy(flood.rings[i]);
    free(flood.pool);
    sma_msg_destroy(msg);
    return (double)sender_count * count * 1e3 / (double)took;
}

/* -- one parked hop ---------------------------------------------------------------------------- */
enum hop_kind
{
    HOP_MAILBOX,
    HOP_FUTEX,
    HOP_MUTEX,
};

struct hop
{
    enum hop_kind kind;
    struct sma_mailbox *box;
    struct sma_lane *lane;
    struct mutex_queue *queue;
    _Atomic unsigned word; /* bare futex: number of the last send */
    _Atomic uint64_t sent_ns;
    unsigned count;
    uint64_t *latencies;
    struct sma_msg *msg;
    _Atomic unsigned received; /* also the way back of the message */
};

static void *hop_receive(void *argument)
{
    struct hop *hop = argument;
    for (unsigned i = 0; i < hop->count; i++) {
        if (hop->kind == HOP_MAILBOX) {
            struct sma_msg *msg;
            while ((msg = sma_mailbox_take(hop->box)) == NULL)
                sma_mailbox_wait(hop->box, UINT64_MAX);
            hop->msg = msg; /* back to the sender, which reads it after `received` */
        } else if (hop->kind == HOP_MUTEX) {
            (void)mutex_queue_take_wait(hop->queue);
        } else {
            while (atomic_load(&hop->word) == i)
                syscall(SYS_futex, &hop->word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
        }
        hop->latencies[i] = bench_now_ns() - atomic_load(&hop->sent_ns);
        atomic_store(&hop->received, i + 1);
    }
    return NULL;
}

static void hop_send(struct hop *hop)
{
    atomic_store(&hop->sent_ns, bench_now_ns());
    if (hop->kind == HOP_MAILBOX) {
        struct sma_msg *msg = hop->msg;
        must(sma_lane_push(hop->lane, &msg));
    } else if (hop->kind == HOP_MUTEX) {
        (void)mutex_queue_push(hop->queue, hop);
    } else {
        atomic_fetch_add(&hop->word, 1);
        syscall(SYS_futex, &hop->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

/* Sends so far apart that the receiver is parked each time. Fills sorted latencies. */
static void hop_run(enum hop_kind kind, unsigned count, uint64_t *latencies)
{
    struct hop hop = {.kind = kind, .count = count, .latencies = latencies, .msg = new_msg()};
    hop.box = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT);
    hop.lane = sma_mailbox_add_lane(hop.box, 64);
    hop.queue = mutex_queue_create(64);
    pthread_t thread;
    pthread_create(&thread, NULL, hop_receive, &hop);
    for (unsigned i = 0; i < count; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        while (atomic_load(&hop.received) != i)
            sched_yield();
        hop_send(&hop);
    }
    pthread_join(thread, NULL);
    sma_mailbox_destroy(hop.box);
    mutex_queue_destroy(hop.queue);
    sma_msg_destroy(hop.msg);
    bench_sort(latencies, count);
}

/* -- an idle actor ----------------------------------------------------------------------------- */
struct idle
{
    struct sma_mailbox *box;
    _Atomic int tid;
};

static void *idle_wait(void *argument)
{
    struct idle *idle = argument;
    atomic_store(&idle->tid, (int)syscall(SYS_gettid));
    sma_mailbox_wait(idle->box, UINT64_MAX);
    return NULL;
}

static long switches_of(int tid)
{
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *file = fopen(path, "re");
    long total = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
            total = strtol(line + 24, NULL, 10);
    if (file != NULL)
        fclose(file);
    return total;
}

static void idle_report(void)
{
    unsigned settle_s = bench_is_quick ? 1 : 5, watch_s = bench_is_quick ? 1 : 5;
    struct idle idle = {.box = sma_mailbox_create(SMA_DOORBELL_EVENT_COUNT)};
    (void)sma_mailbox_add_lane(idle.box, 8);
    pthread_t thread;
    pthread_create(&thread, NULL, idle_wait, &idle);
    sleep(settle_s);
    long before = switches_of(atomic_load(&idle.tid));
    sleep(watch_s);
    long after = switches_of(atomic_load(&idle.tid));
    sma_mailbox_ring(idle.box);
    pthread_join(thread, NULL);
    sma_mailbox_destroy(idle.box);
    bench_row("wake-ups of an idle actor", before < 0 ? NAN : (double)(after - before), "", NAN,
              NAN, "<=0 wake-ups");
}

/* -- report ------------------------------------------------------------------------------------ */
typedef double measure_fn(unsigned lanes, unsigned rounds);

static void pair_report(const char *name, unsigned lanes, measure_fn *reference, const char *target)
{
    unsigned rounds = bench_is_quick ? 2000000 : 5000000;
    double ours[RUN_COUNT_MAX], theirs[RUN_COUNT_MAX], ratios[RUN_COUNT_MAX];
    for (int i = 0; i < run_count(); i++) {
        theirs[i] = reference(lanes, rounds);
        ours[i] = pair_mailbox(lanes, rounds);
        ratios[i] = ours[i] / theirs[i];
    }
    double value = bench_median(ours, (size_t)run_count());
    bench_row(name, value, "ns/msg", bench_median(theirs, (size_t)run_count()),
              bench_median(ratios, (size_t)run_count()), target);
    if (target != NULL)
        bench_row("  the same, absolute", value, "ns/msg", NAN, NAN, "<=15 ns");
}

static void flood_report(const char *name, unsigned senders, enum flood_kind reference,
                         const char *target)
{
    unsigned count = (bench_is_quick ? 2000000 : 8000000) / senders;
    if (reference == FLOOD_MUTEX)
        count /= 4;
    double ours[RUN_COUNT_MAX], theirs[RUN_COUNT_MAX], ratios[RUN_COUNT_MAX], worst = INFINITY;
    for (int i = 0; i < run_count(); i++) {
        theirs[i] = flood_run(reference, senders, count);
        ours[i] = flood_run(FLOOD_MAILBOX, senders, count);
        ratios[i] = ours[i] / theirs[i];
        worst = ours[i] < worst ? ours[i] : worst;
    }
    bench_row(name, bench_median(ours, (size_t)run_count()), "M/s",
              bench_median(theirs, (size_t)run_count()), bench_median(ratios, (size_t)run_count()),
              target);
    if (target != NULL)
        bench_row("  slowest run of ours", worst, "M/s", NAN, NAN, NULL);
}

static void hop_report(const char *name, const double *ours_in, const double *theirs_in,
                       const char *target)
{
    double ours[RUN_COUNT_MAX], theirs[RUN_COUNT_MAX]; /* copies: the median sorts */
    memcpy(ours, ours_in, sizeof ours);
    memcpy(theirs, theirs_in, sizeof theirs);
    double ratios[RUN_COUNT_MAX];
    for (int i = 0; i < run_count(); i++)
        ratios[i] = ours[i] / theirs[i];
    bench_row(name, bench_median(ours, (size_t)run_count()), "us",
              bench_median(theirs, (size_t)run_count()), bench_median(ratios, (size_t)run_count()),
              target);
}

static void hops_report(void)
{
    static const double quantiles[] = {0.5, 0.99, 0.999};
    static const char *const names[] = {"parked hop p50, against bare futex",
                                        "parked hop p99, against bare futex",
                                        "parked hop p99.9, against bare futex"};
    unsigned count = bench_is_quick ? 2000 : 5000;
    uint64_t *latencies = malloc(count * sizeof(*latencies));
    double figures[3][3][RUN_COUNT_MAX] = {0}; /* kind, quantile, run */
    static const enum hop_kind order[] = {HOP_FUTEX, HOP_MAILBOX, HOP_MUTEX};
    for (int run = 0; run < run_count(); run++)
        for (int k = 0; k < 3; k++) {
            hop_run(order[k], count, latencies);
            for (int q = 0; q < 3; q++)
                figures[order[k]][q][run] =
                    (double)bench_quantile(latencies, count, quantiles[q]) / 1e3;
        }
    for (int q = 0; q < 3; q++)
        hop_report(names[q], figures[HOP_MAILBOX][q], figures[HOP_FUTEX][q],
                   q == 0 ? "<=1.2" : NULL);
    hop_report("parked hop p50, against mutex+condvar", figures[HOP_MAILBOX][0],
               figures[HOP_MUTEX][0], NULL);
    free(latencies);
}

int main(int argc, char **argv)
{
    bench_open(argc, argv, "mailbox");
    pair_report("push+take, 1 lane, against bare ring", 1, pair_bare, "<=3");
    pair_report("push+take, 8 lanes, against bare ring", 8, pair_bare, "<=3");
    pair_report("push+take, 1 lane, against mutex+condvar", 1, pair_mutex, NULL);
    flood_report("1 saturated sender, against a bare pair", 1, FLOOD_BARE, NULL);
    flood_report("8 saturated senders, against bare pairs", 8, FLOOD_BARE, ">=0.5");
    flood_report("8 saturated senders, against mutex+condvar", 8, FLOOD_MUTEX, NULL);
    hops_report();
    idle_report();
    return bench_close();
}
