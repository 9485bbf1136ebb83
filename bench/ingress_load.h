/*
 * ingress_load.h — the load driver of bench_ingress: keep-alive HTTP connections on one epoll loop,
 * and a sink that plays the model server and notes when a request's first byte came.
 */
#ifndef SMA_BENCH_INGRESS_LOAD_H
#define SMA_BENCH_INGRESS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_result
{
    double per_second;      /* answers with a 2xx status */
    uint64_t *latencies_ns; /* sorted; of those answers; freed by load_fini */
    size_t count, refused_count;
};
/** Closed loop: every connection sends its next message when the answer has come. */
struct load_result load_run(int port, unsigned connections, double seconds);
/** One connection, one message every pause_us. */
struct load_result load_paced(int port, unsigned count, unsigned pause_us);
void load_fini(struct load_result *result);

int load_connect(int port);
/** Send one message (respond-async) and read the answer. @return its status; ret_run_id may be
 *  NULL. */
int load_post(int fd, int port, const char *chat, char ret_run_id[32]);
/** One GET; body into answer. @return its status */
int load_get(int fd, int port, const char *path, char *answer, size_t answer_max);

/* Cumulative buckets of one histogram on /metrics, in seconds. */
struct load_histogram
{
    double bounds[64], counts[64];
    size_t count;
};
struct load_histogram load_histogram_read(int port, const char *name);
/** Quantile of what was added between two readings, interpolated inside its bucket;
 *  microseconds. */
double load_histogram_quantile(const struct load_histogram *before,
                               const struct load_histogram *after, double q);

/** Start the sink thread. @return its port */
int sink_start(void);
/** When the first byte of the newest request came; waits up to two seconds for one after
 *  `after_ns`. 0 = none came. */
uint64_t sink_wait(uint64_t after_ns);

#endif
