/*
 * mailbox_ck.c — the only file that sees Concurrency Kit. See docs/notes/mailbox.md for the
 * argument.
 *
 * Built without the thread sanitizer, which cannot see CK's ordering; each message is announced to
 * it instead, at push and at its own delivery (once per batch would hide real races).
 */
#include "sma/clock.h"
#include "sma/limits.h"
#include "sma/mailbox.h"

#include <ck_pr.h>
#include <ck_ring.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef SMA_TSAN_ANNOTATE
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define ANNOTATE_PUSH(msg) __tsan_release(msg)
#define ANNOTATE_TAKE(msg) __tsan_acquire(msg)
#else
#define ANNOTATE_PUSH(msg) ((void)0)
#define ANNOTATE_TAKE(msg) ((void)0)
#endif

#define LINE_BYTES 64
#define MAILBOX_MAGIC 0x4D424F58u
/*
 * The consumer yields before it parks only under a stream: when messages came faster than this
 * since its last park. A yield gives up the rest of the time slice, which the scheduler remembers
 * at the next wake-up: after a single message it would make every hop several times slower.
 */
#define STREAM_NS_PER_MESSAGE 4000u
#define STREAM_COUNT 512u /* messages without a pause that make a stream */

/*
 * CK's ring keeps the consumer's index, the producer's index and the constants on lines of their
 * own; our constants follow its constants, and what only the producer touches has a last line for
 * itself.
 */
struct sma_lane
{
    ck_ring_t ring;
    ck_ring_buffer_t *slots;
    struct sma_mailbox *box;
    unsigned capacity; /* messages; the ring itself is larger, because CK leaves one slot empty */
    /* Pushes that certainly fit before the other side's index is read again. */
    _Alignas(LINE_BYTES) unsigned room;
};

struct sma_mailbox
{
    /* Written when the consumer parks, is woken or closes; read by every push. is_asleep: 1 =
     * announced; it is also the futex on which the consumer sleeps. */
    _Alignas(LINE_BYTES) unsigned is_asleep;
    unsigned is_closed;
    unsigned
        /* pushes do without a fence; set and cleared by the consumer while it is awake */
        is_stream;
    unsigned is_rung; /* a ring without a message, kept until the consumer has seen it */
    int fd;           /* EVENT_FD; -1 otherwise */
    /* The consumer's own. */
    _Alignas(LINE_BYTES) uint32_t magic;
    enum sma_doorbell_kind kind;
    struct sma_lane **lanes;
    unsigned lane_count;
    unsigned lane_at;
    unsigned burst_left;
    unsigned taken_count;  /* since last_look_ns */
    uint64_t last_look_ns; /* when the consumer last found nothing */
    uint64_t park_count;
};

/* One locked instruction on x86-64: a third of the price of mfence. It adds nothing to a word below
 * the stack pointer, so it changes no byte. */
static inline void fence_full(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lock; addl $0, -8(%%rsp)" ::: "memory", "cc");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * The push must come before its look at is_asleep, and the announcement before the re-check.
 * Normally both sides fence. A consumer that has taken STREAM_COUNT messages without finding its
 * lanes empty sets is_stream: pushes then keep only the compiler from reordering, and the next park
 * pays for all of them with membarrier(), which makes every running thread of the process pass a
 * full barrier (docs/adr/0008). A consumer that parks often never gets there: it would interrupt
 * the other cores each time.
 */
static bool has_membarrier; /* decided once, before any second thread exists */

static inline void fence_push(const struct sma_mailbox *box)
{
    if (ck_pr_load_uint(&box->is_stream) == 0)
        fence_full();
    else
        __asm__ volatile("" ::: "memory");
}

static void fence_park(struct sma_mailbox *box)
{
    if (box->is_stream == 0) {
        fence_full();
        return;
    }
    ck_pr_store_uint(&box->is_stream, 0);
    long done = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    SMA_ASSERT(done == 0); /* it was registered; going on without it would lose a wake-up */
}

/* SMA_MAILBOX_FENCE=full keeps to plain fences: the path of kernels without membarrier, for
 * tests. */
static void choose_fence(void)
{
    static bool is_chosen;
    if (is_chosen)
        return;
    is_chosen = true;
    const char *wish = getenv("SMA_MAILBOX_FENCE");
    if (wish != NULL && strcmp(wish, "full") == 0)
        return;
    has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* -- futex on the announcement itself ---------------------------------------------------------- */
/* Sleep while *word is 1, at most until deadline_ns. May return early for any reason: the caller
 * looks again. */
static void futex_wait(unsigned *word, uint64_t deadline_ns)
{
    uint64_t until_ns = sma_clock_machine_ns(deadline_ns);
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, 1,
                  deadline_ns == UINT64_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void futex_wake(unsigned *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* -- life -------------------------------------------------------------------------------------- */
struct sma_mailbox *sma_mailbox_create(enum sma_doorbell_kind kind)
{
    choose_fence();
    struct sma_mailbox *box = aligned_alloc(LINE_BYTES, sizeof *box);
    if (box == NULL)
        return NULL;
    memset(box, 0, sizeof *box);
    box->magic = MAILBOX_MAGIC;
    box->kind = kind;
    box->burst_left = SMA_LANE_BURST_COUNT;
    box->fd = -1;
    if (kind == SMA_DOORBELL_EVENT_FD) {
        box->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (box->fd < 0) {
            free(box);
            return NULL;
        }
    }
    return box;
}

void sma_mailbox_destroy(struct sma_mailbox *box)
{
    if (box == NULL)
        return;
    SMA_ASSERT(box->magic == MAILBOX_MAGIC);
    struct sma_msg *msg;
    while ((msg = sma_mailbox_take(box)) != NULL)
        sma_msg_destroy(msg);
    for (unsigned i = 0; i < box->lane_count; i++) {
        free(box->lanes[i]->slots);
        free(box->lanes[i]);
    }
    free(box->lanes);
    if (box->fd >= 0)
        (void)close(box->fd); /* an eventfd holds nothing that could fail to be written */
    box->magic = 0;
    free(box);
}

struct sma_lane *sma_mailbox_add_lane(struct sma_mailbox *box, size_t capacity)
{
    SMA_ASSERT(box->magic == MAILBOX_MAGIC);
    SMA_ASSERT(capacity >= 1 && capacity <= SMA_LANE_COUNT_MAX);
    unsigned rounded = 1;
    while (rounded < capacity)
        rounded *= 2;
    struct sma_lane **lanes = realloc(box->lanes, (box->lane_count + 1) * sizeof(*lanes));
    if (lanes == NULL)
        return NULL;
    box->lanes = lanes;
    struct sma_lane *lane = aligned_alloc(LINE_BYTES, sizeof *lane);
    /* The slots stay untouched until used, so that a large bound costs no memory while idle. */
    ck_ring_buffer_t *slots = malloc(2u * rounded * sizeof(*slots));
    if (lane == NULL || slots == NULL) {
        free(lane);
        free(slots);
        return NULL;
    }
    memset(lane, 0, sizeof *lane);
    ck_ring_init(&lane->ring, 2u * rounded);
    lane->slots = slots;
    lane->box = box;
    lane->capacity = lane->room = rounded;
    box->lanes[box->lane_count++] = lane;
    return lane;
}

/* -- doorbell ---------------------------------------------------------------------------------- */
static void write_fd(int fd)
{
    uint64_t one = 1;
    ssize_t done;
    do {
        done = write(fd, &one, sizeof one);
    } while (done < 0 && errno == EINTR);
    /* EAGAIN: the counter is at its maximum, so the descriptor is readable already. */
    SMA_ASSERT(done == (ssize_t)sizeof one || errno == EAGAIN);
}

static __attribute__((noinline, cold)) void wake_consumer(struct sma_mailbox *box)
{
    if (ck_pr_fas_uint(&box->is_asleep, 0) == 0)
        return; /* another producer rings */
    if (box->kind == SMA_DOORBELL_EVENT_FD)
        write_fd(box->fd);
    else
        futex_wake(&box->is_asleep);
}

void sma_mailbox_ring(struct sma_mailbox *box)
{
    ck_pr_store_uint(&box->is_rung, 1);
    fence_full();
    if (ck_pr_load_uint(&box->is_asleep) != 0)
        wake_consumer(box);
}

void sma_mailbox_close(struct sma_mailbox *box)
{
    ck_pr_store_uint(&box->is_closed, 1);
}

/* -- push and take ----------------------------------------------------------------------------- */
static bool has_room(struct sma_lane *lane)
{
    if (CK_CC_LIKELY(lane->room > 0))
        return true;
    lane->room = lane->capacity - ck_ring_size(&lane->ring);
    return lane->room > 0;
}

enum sma_err sma_lane_push(struct sma_lane *lane, struct sma_msg **msg)
{
    struct sma_mailbox *box = lane->box;
    if (CK_CC_UNLIKELY(ck_pr_load_uint(&box->is_closed) != 0))
        return SMA_ERR_GONE;
    if (CK_CC_UNLIKELY(!has_room(lane)))
        return SMA_ERR_FULL;
    ANNOTATE_PUSH(*msg);
    bool is_in = ck_ring_enqueue_spsc(&lane->ring, lane->slots, *msg);
    SMA_ASSERT(is_in); /* the ring is larger than the lane's capacity */
    lane->room--;
    *msg = NULL;
    fence_push(box);
    if (CK_CC_UNLIKELY(ck_pr_load_uint(&box->is_asleep) != 0))
        wake_consumer(box);
    return SMA_ERR_OK;
}

size_t sma_lane_count(const struct sma_lane *lane)
{
    return ck_ring_size(&lane->ring);
}

size_t sma_mailbox_count(const struct sma_mailbox *box)
{
    size_t count = 0;
    for (unsigned i = 0; i < box->lane_count; i++)
        count += ck_ring_size(&box->lanes[i]->ring);
    return count;
}

static inline struct sma_msg *take_from(struct sma_lane *lane)
{
    void *msg;
    if (!ck_ring_dequeue_spsc(&lane->ring, lane->slots, &msg))
        return NULL;
    ANNOTATE_TAKE(msg);
    return msg;
}

static inline void next_lane(struct sma_mailbox *box)
{
    box->lane_at = box->lane_at + 1 < box->lane_count ? box->lane_at + 1 : 0;
    box->burst_left = SMA_LANE_BURST_COUNT;
}

struct sma_msg *sma_mailbox_take(struct sma_mailbox *box)
{
    for (unsigned i = 0; i < box->lane_count; i++) {
        struct sma_msg *msg = take_from(box->lanes[box->lane_at]);
        if (msg == NULL) {
            next_lane(box);
            continue;
        }
        if (--box->burst_left == 0)
            next_lane(box);
        if (CK_CC_UNLIKELY(++box->taken_count == STREAM_COUNT) && has_membarrier)
            ck_pr_store_uint(&box->is_stream, 1);
        return msg;
    }
    return NULL;
}

/* -- parking ----------------------------------------------------------------------------------- */
static bool is_empty(const struct sma_mailbox *box)
{
    for (unsigned i = 0; i < box->lane_count; i++)
        if (ck_ring_size(&box->lanes[i]->ring) != 0)
            return false;
    return true;
}

static bool has_work(struct sma_mailbox *box)
{
    if (ck_pr_load_uint(&box->is_rung) != 0)
        return ck_pr_fas_uint(&box->is_rung, 0) != 0;
    return !is_empty(box);
}

/* Announce sleep, then look once more: the producer pushes, then looks at the announcement. One of
 * the two sees. */
static bool announce_sleep(struct sma_mailbox *box)
{
    ck_pr_store_uint(&box->is_asleep, 1);
    fence_park(box);
    if (!has_work(box))
        return true;
    ck_pr_store_uint(&box->is_asleep, 0);
    return false;
}

static bool is_streaming(struct sma_mailbox *box)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    uint64_t elapsed_ns = now_ns - box->last_look_ns, taken_count = box->taken_count;
    box->last_look_ns = now_ns;
    box->taken_count = 0;
    return taken_count * STREAM_NS_PER_MESSAGE > elapsed_ns;
}

/* A sender on this core gets the chance to add more: fewer, larger batches when senders outnumber
 * cores. */
static bool has_work_after_yield(struct sma_mailbox *box)
{
    if (has_work(box))
        return true;
    if (!is_streaming(box))
        return false;
    (void)sched_yield();
    return has_work(box);
}

static void count_park(struct sma_mailbox *box)
{
    __atomic_store_n(&box->park_count, box->park_count + 1, __ATOMIC_RELAXED);
}

void sma_mailbox_wait(struct sma_mailbox *box, uint64_t deadline_ns)
{
    SMA_ASSERT(box->kind == SMA_DOORBELL_EVENT_COUNT);
    if (has_work_after_yield(box))
        return;
    if (!announce_sleep(box))
        return;
    count_park(box);
    futex_wait(&box->is_asleep,
               deadline_ns); /* a producer that was faster has set the word to 0: no sleep */
    ck_pr_store_uint(&box->is_asleep, 0);
}

int sma_mailbox_fd(const struct sma_mailbox *box)
{
    SMA_ASSERT(box->kind == SMA_DOORBELL_EVENT_FD);
    return box->fd;
}

bool sma_mailbox_prepare_sleep(struct sma_mailbox *box)
{
    SMA_ASSERT(box->kind == SMA_DOORBELL_EVENT_FD);
    if (has_work_after_yield(box) || !announce_sleep(box))
        return false;
    count_park(box);
    return true;
}

void sma_mailbox_awake(struct sma_mailbox *box)
{
    uint64_t rings;
    ssize_t done;
    do {
        done = read(box->fd, &rings, sizeof rings);
    } while (done < 0 && errno == EINTR);
    /* EAGAIN: woken by something else; the announcement is withdrawn all the same. */
    ck_pr_store_uint(&box->is_asleep, 0);
}

uint64_t sma_mailbox_park_count(const struct sma_mailbox *box)
{
    return __atomic_load_n(&box->park_count, __ATOMIC_RELAXED);
}
