/* metrics.c — the numbers, and their Prometheus text. */
#include "sma/metrics.h"

#include <stdatomic.h>

/* Upper bounds 1 µs, 2 µs, ... 2^30 µs (18 min); the last bucket takes everything above. */
#define BUCKET_COUNT 32
#define BUCKET_BOUND_NS(i) ((uint64_t)1000 << (i))
#define BUCKET_FIRST_SHOWN 4 /* 16 µs: nothing that is measured here is faster */

struct histogram
{
    _Atomic uint64_t buckets[BUCKET_COUNT];
    _Atomic uint64_t sum_ns;
};

static _Atomic uint64_t counters[SMA_COUNTER_COUNT];
static _Atomic int64_t gauges[SMA_GAUGE_COUNT];
static struct histogram histograms[SMA_HISTOGRAM_COUNT];

void sma_counter_add(enum sma_counter counter, uint64_t n)
{
    SMA_ASSERT(counter < SMA_COUNTER_COUNT);
    atomic_fetch_add_explicit(&counters[counter], n, memory_order_relaxed);
}

uint64_t sma_counter_get(enum sma_counter counter)
{
    SMA_ASSERT(counter < SMA_COUNTER_COUNT);
    return atomic_load_explicit(&counters[counter], memory_order_relaxed);
}

void sma_gauge_set(enum sma_gauge gauge, int64_t n)
{
    SMA_ASSERT(gauge < SMA_GAUGE_COUNT);
    atomic_store_explicit(&gauges[gauge], n, memory_order_relaxed);
}

void sma_gauge_add(enum sma_gauge gauge, int64_t n)
{
    SMA_ASSERT(gauge < SMA_GAUGE_COUNT);
    atomic_fetch_add_explicit(&gauges[gauge], n, memory_order_relaxed);
}

int64_t sma_gauge_get(enum sma_gauge gauge)
{
    SMA_ASSERT(gauge < SMA_GAUGE_COUNT);
    return atomic_load_explicit(&gauges[gauge], memory_order_relaxed);
}

static unsigned bucket_of(uint64_t ns)
{
    if (ns <= 1000)
        return 0;
    uint64_t scaled = (ns - 1) / 1000; /* in (2^(i-1), 2^i] µs falls into bucket i */
    unsigned i = 64 - (unsigned)__builtin_clzll(scaled);
    return i < BUCKET_COUNT - 1 ? i : BUCKET_COUNT - 1;
}

void sma_histogram_add(enum sma_histogram histogram, uint64_t ns)
{
    SMA_ASSERT(histogram < SMA_HISTOGRAM_COUNT);
    struct histogram *h = &histograms[histogram];
    atomic_fetch_add_explicit(&h->buckets[bucket_of(ns)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_ns, ns, memory_order_relaxed);
}

static uint64_t bucket_get(enum sma_histogram histogram, unsigned i)
{
    return atomic_load_explicit(&histograms[histogram].buckets[i], memory_order_relaxed);
}

uint64_t sma_histogram_count(enum sma_histogram histogram)
{
    SMA_ASSERT(histogram < SMA_HISTOGRAM_COUNT);
    uint64_t count = 0;
    for (unsigned i = 0; i < BUCKET_COUNT; i++)
        count += bucket_get(histogram, i);
    return count;
}

uint64_t sma_histogram_quantile(enum sma_histogram histogram, double q)
{
    uint64_t count = sma_histogram_count(histogram);
    if (count == 0)
        return 0;
    uint64_t rank =
        (uint64_t)(q * (double)count); /* 1-based rank of the wanted value, rounded up */
    if ((double)rank < q * (double)count || rank == 0)
        rank++;
    if (rank > count)
        rank = count;
    uint64_t seen = 0;
    unsigned i = 0;
    for (; i < BUCKET_COUNT - 1; i++) {
        seen += bucket_get(histogram, i);
        if (seen >= rank)
            break;
    }
    return BUCKET_BOUND_NS(i);
}

static const char *const counter_names[] = {
#define X(name, help) #name,
    SMA_COUNTER_MAP(X)
#undef X
};
static const char *const counter_help[] = {
#define X(name, help) help,
    SMA_COUNTER_MAP(X)
#undef X
};
static const char *const gauge_names[] = {
#define X(name, help) #name,
    SMA_GAUGE_MAP(X)
#undef X
};
static const char *const gauge_help[] = {
#define X(name, help) help,
    SMA_GAUGE_MAP(X)
#undef X
};
static const char *const histogram_names[] = {
#define X(name, help) #name,
    SMA_HISTOGRAM_MAP(X)
#undef X
};
static const char *const histogram_help[] = {
#define X(name, help) help,
    SMA_HISTOGRAM_MAP(X)
#undef X
};

static void format_histogram(struct sma_buf *buf, enum sma_histogram histogram)
{
    const char *name = histogram_names[histogram];
    sma_buf_printf(buf, "# HELP sma_%s_seconds %s\n# TYPE sma_%s_seconds histogram\n", name,
                   histogram_help[histogram], name);
    uint64_t seen = 0;
    for (unsigned i = 0; i < BUCKET_COUNT - 1; i++) {
        seen += bucket_get(histogram, i);
        if (i < BUCKET_FIRST_SHOWN)
            continue;
        sma_buf_printf(buf, "sma_%s_seconds_bucket{le=\"%.9g\"} %llu\n", name,
                       (double)BUCKET_BOUND_NS(i) / 1e9, (unsigned long long)seen);
    }
    seen += bucket_get(histogram, BUCKET_COUNT - 1);
    uint64_t sum = atomic_load_explicit(&histograms[histogram].sum_ns, memory_order_relaxed);
    sma_buf_printf(buf,
                   "sma_%s_seconds_bucket{le=\"+Inf\"} %llu\nsma_%s_seconds_sum %.9f\n"
                   "sma_%s_seconds_count %llu\n",
                   name, (unsigned long long)seen, name, (double)sum / 1e9, name,
                   (unsigned long long)seen);
}

void sma_metrics_format(struct sma_buf *buf)
{
    for (int i = 0; i < SMA_COUNTER_COUNT; i++)
        sma_buf_printf(buf, "# HELP sma_%s %s\n# TYPE sma_%s counter\nsma_%s %llu\n",
                       counter_names[i], counter_help[i], counter_names[i], counter_names[i],
                       (unsigned long long)sma_counter_get((enum sma_counter)i));
    for (int i = 0; i < SMA_GAUGE_COUNT; i++)
        sma_buf_printf(buf, "# HELP sma_%s %s\n# TYPE sma_%s gauge\nsma_%s %lld\n", gauge_names[i],
                       gauge_help[i], gauge_names[i], gauge_names[i],
                       (long long)sma_gauge_get((enum sma_gauge)i));
    for (int i = 0; i < SMA_HISTOGRAM_COUNT; i++)
        format_histogram(buf, (enum sma_histogram)i);
}

void sma_metrics_reset(void)
{
    for (int i = 0; i < SMA_COUNTER_COUNT; i++)
        atomic_store_explicit(&counters[i], 0, memory_order_relaxed);
    for (int i = 0; i < SMA_GAUGE_COUNT; i++)
        atomic_store_explicit(&gauges[i], 0, memory_order_relaxed);
    for (int i = 0; i < SMA_HISTOGRAM_COUNT; i++) {
        for (unsigned j = 0; j < BUCKET_COUNT; j++)
            atomic_store_explicit(&histograms[i].buckets[j], 0, memory_order_relaxed);
        atomic_store_explicit(&histograms[i].sum_ns, 0, memory_order_relaxed);
    }
}

void sma_metrics_format_latencies(struct sma_buf *buf)
{
    sma_buf_put_char(buf, '{');
    for (unsigned i = 0; i < SMA_HISTOGRAM_COUNT; i++) {
        uint64_t count = sma_histogram_count((enum sma_histogram)i);
        if (count == 0)
            continue;
        sma_buf_put_json_key(buf, histogram_names[i]);
        sma_buf_printf(buf, "{\"count\":%llu,\"p50Ms\":%.3f,\"p99Ms\":%.3f}",
                       (unsigned long long)count,
                       (double)sma_histogram_quantile((enum sma_histogram)i, 0.5) / 1e6,
                       (double)sma_histogram_quantile((enum sma_histogram)i, 0.99) / 1e6);
    }
    sma_buf_put_char(buf, '}');
}
