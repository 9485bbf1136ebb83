/*
 * confine.h — how a helper program gives up what it does not need, before it reads what strangers
 * made.
 *
 * The programs beside the service (shrink-picture, fetch-page) hold nothing and may do little:
 * limits of memory and processor time, and a list of system calls that the kernel lets through. A
 * file cannot be opened, memory with code in it cannot be made, no program started; threads only
 * where they are allowed.
 * Threads: call both before any other thread is started. On machines other than x86-64 and ARM64
 *          there is no list: bubblewrap's walls and the limits are all there is.
 */
#ifndef SMA_CONFINE_H
#define SMA_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sma_confine_limits
{
    uint64_t memory_bytes; /* of its address space */
    uint64_t file_bytes;   /* it may write */
    unsigned cpu_s;
};
/** When memory runs out on the machine, the kernel ends it first. @return false: a limit could not
 *  be set */
bool sma_confine_limit(const struct sma_confine_limits *limits);

struct sma_confine_calls
{
    const uint16_t *more; /* system calls besides reading, writing, memory, time and the end */
    size_t more_count;
    bool has_threads;
    bool has_network; /* IPv4 and IPv6 sockets, no other family */
};
/** For ever. @return false: the kernel refused */
bool sma_confine_calls(const struct sma_confine_calls *calls);

#endif
