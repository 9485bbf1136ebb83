/*
 * Aim: counters add up over threads, quantiles are the upper bound of the right bucket, the text is
 * Prometheus text.
 */
#include "sma/metrics.h"
#include "support/check.h"

#include <pthread.h>

static void *bump(void *argument)
{
    (void)argument;
    for (int i = 0; i < 10000; i++) {
        SMA_METRIC_ADD(steps_total, 1);
        SMA_METRIC_TIME(run_total, 5000);
        sma_gauge_add(SMA_GAUGE_runs_open, i % 2 == 0 ? 1 : -1);
    }
    return NULL;
}

CASE(threads_add_up)
{
    sma_metrics_reset();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, bump, NULL));
    for (int i = 0; i < 4; i++)
        CHECK_INT(0, pthread_join(threads[i], NULL));
    CHECK_INT(40000, (long long)sma_counter_get(SMA_COUNTER_steps_total));
    CHECK_INT(40000, (long long)sma_histogram_count(SMA_HISTOGRAM_run_total));
    CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_runs_open));
}

static uint64_t bound_of(uint64_t ns)
{
    sma_metrics_reset();
    SMA_METRIC_TIME(store_commit, ns);
    return sma_histogram_quantile(SMA_HISTOGRAM_store_commit, 0.5);
}

CASE(quantiles_are_bucket_bounds)
{
    sma_metrics_reset();
    CHECK_INT(0, (long long)sma_histogram_quantile(SMA_HISTOGRAM_store_commit, 0.99));
    CHECK_INT(1000, (long long)bound_of(0));
    CHECK_INT(1000, (long long)bound_of(1000));
    CHECK_INT(2000, (long long)bound_of(1001));
    CHECK_INT(2000, (long long)bound_of(2000));
    CHECK_INT(4000, (long long)bound_of(2001));
    CHECK_INT(1024000, (long long)bound_of(1000000));
    CHECK(bound_of(134217728000u) == 134217728000u);
    CHECK(bound_of(UINT64_MAX) > 134217728000u);
    sma_metrics_reset();
    for (int i = 0; i < 90; i++)
        SMA_METRIC_TIME(store_commit, 900);
    for (int i = 0; i < 10; i++)
        SMA_METRIC_TIME(store_commit, 100000);
    CHECK_INT(1000, (long long)sma_histogram_quantile(SMA_HISTOGRAM_store_commit, 0.5));
    CHECK_INT(1000, (long long)sma_histogram_quantile(SMA_HISTOGRAM_store_commit, 0.9));
    CHECK_INT(128000, (long long)sma_histogram_quantile(SMA_HISTOGRAM_store_commit, 0.91));
    CHECK_INT(128000, (long long)sma_histogram_quantile(SMA_HISTOGRAM_store_commit, 1));
    CHECK_INT(1000, (long long)sma_histogram_quantile(SMA_HISTOGRAM_store_commit, 0));
}

CASE(the_text_is_prometheus_text)
{
    sma_metrics_reset();
    SMA_METRIC_ADD(runs_done_total, 7);
    SMA_METRIC_SET(claims, -3);
    SMA_METRIC_TIME(store_commit, 1500);
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 1 << 20);
    sma_metrics_format(&buf);
    CHECK(buf.err == SMA_ERR_OK);
    static const char *const wanted[] = {
        "# HELP sma_runs_done_total runs finished, any outcome\n# TYPE sma_runs_done_total "
        "counter\nsma_runs_done_total 7\n",
        "\n# TYPE sma_claims gauge\nsma_claims -3\n",
        "\n# TYPE sma_store_commit_seconds "
        "histogram\nsma_store_commit_seconds_bucket{le=\"1.6e-05\"} 1\n"
        "sma_store_commit_seconds_bucket{le=\"3.2e-05\"} 1\n",
        "sma_store_commit_seconds_bucket{le=\"+Inf\"} 1\nsma_store_commit_seconds_sum 0.000001500\n"
        "sma_store_commit_seconds_count 1\n"};
    for (size_t i = 0; i < SMA_COUNT_OF(wanted); i++)
        CHECK(strstr(buf.ptr, wanted[i]) != NULL);
}

CASE(latencies_name_only_what_was_measured)
{
    sma_metrics_reset();
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    sma_metrics_format_latencies(&buf);
    CHECK_STR("{}", sma_buf_str(&buf));
    sma_buf_clear(&buf);
    SMA_METRIC_TIME(run_total, 1500000);
    SMA_METRIC_TIME(store_commit, 3000);
    sma_metrics_format_latencies(&buf);
    CHECK_STR("{\"run_total\":{\"count\":1,\"p50Ms\":2.048,\"p99Ms\":2.048},"
              "\"store_commit\":{\"count\":1,\"p50Ms\":0.004,\"p99Ms\":0.004}}",
              sma_buf_str(&buf));
}

CASES_MAIN
