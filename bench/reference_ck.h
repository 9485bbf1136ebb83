/*
 * reference_ck.h — what the mailbox is measured against: a bare SPSC ring behind a function call, a
 * queue with a mutex and a condition variable, and a bare futex hop. Bounded, pointers only, no
 * ownership.
 */
#ifndef SMA_BENCH_REFERENCE_CK_H
#define SMA_BENCH_REFERENCE_CK_H

#include <stdbool.h>
#include <stddef.h>

struct bare_ring;
struct bare_ring *bare_ring_create(unsigned size);
void bare_ring_destroy(struct bare_ring *ring);
bool bare_ring_push(struct bare_ring *ring, void *item);
void *bare_ring_take(struct bare_ring *ring); /* NULL when empty */

struct mutex_queue;
struct mutex_queue *mutex_queue_create(size_t size);
void mutex_queue_destroy(struct mutex_queue *queue);
bool mutex_queue_push(struct mutex_queue *queue, void *item);
void *mutex_queue_take(struct mutex_queue *queue);      /* NULL when empty */
void *mutex_queue_take_wait(struct mutex_queue *queue); /* sleeps until there is one */

#endif
