/* reference_ck.c — the references of bench_mailbox. OUT_OF_LINE keeps link-time optimisation from
 * inlining them. */
#include "reference_ck.h"

#include <ck_ring.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE __attribute__((noipa))
#endif

struct bare_ring
{
    ck_ring_t ring;
    ck_ring_buffer_t *slots;
};

struct bare_ring *bare_ring_create(unsigned size)
{
    struct bare_ring *ring = aligned_alloc(64, (sizeof *ring + 63) / 64 * 64);
    if (ring == NULL)
        abort();
    ring->slots = malloc(size * sizeof(*ring->slots));
    if (ring->slots == NULL)
        abort();
    ck_ring_init(&ring->ring, size);
    return ring;
}

void bare_ring_destroy(struct bare_ring *ring)
{
    free(ring->slots);
    free(ring);
}

OUT_OF_LINE bool bare_ring_push(struct bare_ring *ring, void *item)
{
    return ck_ring_enqueue_spsc(&ring->ring, ring->slots, item);
}

OUT_OF_LINE void *bare_ring_take(struct bare_ring *ring)
{
    void *item;
    return ck_ring_dequeue_spsc(&ring->ring, ring->slots, &item) ? item : NULL;
}

struct mutex_queue
{
    pthread_mutex_t lock;
    pthread_cond_t has_more;
    size_t size, head, count;
    void **slots;
};

struct mutex_queue *mutex_queue_create(size_t size)
{
    struct mutex_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        abort();
    queue->slots = calloc(size, sizeof(*queue->slots));
    if (queue->slots == NULL)
        abort();
    queue->size = size;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->has_more, NULL);
    return queue;
}

void mutex_queue_destroy(struct mutex_queue *queue)
{
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->has_more);
    free(queue->slots);
    free(queue);
}

OUT_OF_LINE bool mutex_queue_push(struct mutex_queue *queue, void *item)
{
    pthread_mutex_lock(&queue->lock);
    bool has_room = queue->count < queue->size;
    if (has_room)
        queue->slots[(queue->head + queue->count++) % queue->size] = item;
    pthread_cond_signal(&queue->has_more);
    pthread_mutex_unlock(&queue->lock);
    return has_room;
}

static void *take_locked(struct mutex_queue *queue)
{
    void *item = queue->slots[queue->head];
    queue->head = (queue->head + 1) % queue->size;
    queue->count--;
    return item;
}

OUT_OF_LINE void *mutex_queue_take(struct mutex_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    void *item = queue->count > 0 ? take_locked(queue) : NULL;
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void *mutex_queue_take_wait(struct mutex_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0)
        pthread_cond_wait(&queue->has_more, &queue->lock);
    void *item = take_locked(queue);
    pthread_mutex_unlock(&queue->lock);
    return item;
}
