/*
 * metrics.h — counters, gauges and latency histograms that any thread may bump and any thread may
 * read.
 *
 * All numbers are relaxed atomics in static storage: bumping is one add, reading never stops a
 * writer, and a set of numbers read together need not be of one instant. The list below is the
 * registry: a name here is an interface (documented, tested, on /metrics as sma_<name>). Histograms
 * are in nanoseconds, exported in seconds.
 */
#ifndef SMA_METRICS_H
#define SMA_METRICS_H

#include "sma/buf.h"

#define SMA_COUNTER_MAP(X)                                                                     \
    X(ingress_accepted_total, "messages accepted, durable")                                    \
    X(ingress_duplicate_total, "messages recognised as already accepted")                      \
    X(ingress_ignored_total, "messages recorded or dropped by policy, not run")                \
    X(ingress_refused_total, "messages refused, the platform delivers again")                  \
    X(ingress_busy_total, "messages claimed, recorded and visibly refused")                    \
    X(ingress_over_budget_total, "of these, for a budget that was used up")                    \
    X(ingress_too_fast_total, "of these, for limits.perPersonPerMinute")                       \
    X(runs_over_budget_total, "runs ended between two requests: a budget was used up")         \
    X(store_commits_total, "transactions committed and synced")                                \
    X(store_lazy_commits_total, "transactions committed whose sync rides on a later one")      \
    X(store_commit_failures_total, "transactions that failed and were undone")                 \
    X(store_syncs_total, "fdatasync and fsync calls of the commit path")                       \
    X(store_rotations_total, "history files rotated into archives")                            \
    X(runs_started_total, "runs started")                                                      \
    X(runs_done_total, "runs finished, any outcome")                                           \
    X(compactions_total, "summaries that took the place of older turns")                       \
    X(compactions_failed_total, "summaries that were asked for and not usable")                \
    X(context_clears_total, "times that old results of tools were cleared")                    \
    X(runs_failed_total, "runs finished with a failure")                                       \
    X(runs_resumed_total, "runs continued after a restart")                                    \
    X(runs_waited_total, "times a run began to wait because no model could be reached")        \
    X(runs_given_up_total, "runs given up after three attempts without a step")                \
    X(messages_withdrawn_total, "messages taken back before their run began")                  \
    X(messages_steered_total, "messages that went into a run that was open")                   \
    X(steps_total, "run steps made durable")                                                   \
    X(model_requests_total, "model requests sent")                                             \
    X(model_retries_total, "model requests repeated")                                          \
    X(model_errors_total, "model requests ended in an error")                                  \
    X(model_input_tokens_total, "tokens sent to the model, as the provider counted")           \
    X(model_cached_tokens_total, "of these, served from the provider's prompt cache")          \
    X(model_output_tokens_total, "tokens received from the model")                             \
    X(deliveries_sent_total, "deliveries the platform took")                                   \
    X(deliveries_failed_total, "deliveries given up, visibly")                                 \
    X(deliveries_unknown_total, "attempts whose outcome is unknown")                           \
    X(deliveries_repeated_total, "attempts repeated after a crash: the duplicate window")      \
    X(deliveries_retried_total, "attempts repeated after a refusal or rate limit")             \
    X(platform_events_total, "events received from chat platforms")                            \
    X(platform_failures_total, "polls and connections to chat platforms that failed")          \
    X(attachments_fetched_total, "attachments downloaded")                                     \
    X(attachments_failed_total, "attachments that could not be downloaded")                    \
    X(strangers_dropped_total, "messages of strangers beyond their bounds: claimed, not kept") \
    X(http_requests_total, "HTTP requests")                                                    \
    X(http_rejected_total, "HTTP requests refused before the core")                            \
    X(commands_total, "commands of exec_shell started")                                        \
    X(commands_ended_total, "commands ended by a limit, a timeout or a person")                \
    X(signals_dropped_total, "signals dropped because their lane was full")                    \
    X(log_dropped_total, "log lines dropped because the log lane was full")                    \
    X(log_blocks_dropped_total, "requests and answers of models not written to their log")

#define SMA_GAUGE_MAP(X)                                                                  \
    X(inbox_waiting, "accepted messages not yet started")                                 \
    X(runs_open, "runs in the agent")                                                     \
    X(runs_waiting_for_model, "runs that wait because no model can be reached")           \
    X(outbox_open, "deliveries not yet finished")                                         \
    X(claims, "claims held")                                                              \
    X(chats, "chats known")                                                               \
    X(sessions, "sessions in memory")                                                     \
    X(session_bytes, "bytes of sessions in memory")                                       \
    X(http_connections, "open HTTP connections")                                          \
    X(commands_running, "commands of exec_shell running")                                 \
    X(sandbox_on, "0 while commands of exec_shell would run without the sandbox, else 1") \
    X(budget_shares, "open messages that hold a share of a budget")                       \
    X(budget_reserved_tokens, "tokens that they hold")                                    \
    X(budget_used_tokens, "tokens used today, counted while there are budgets")           \
    X(budget_limit_tokens, "budgets.total.tokens.day; 0 = no limit")                      \
    X(approvals_waiting, "requests that wait for somebody's consent")                     \
    X(disk_degraded, "1 while intake is stopped for want of disk")                        \
    X(store_troubles, "damaged rows and chats that are set aside, see /api/status")

#define SMA_HISTOGRAM_MAP(X)                                                     \
    X(read_to_durable, "bytes read to durable")                                  \
    X(read_to_model, "bytes read to model request on the wire")                  \
    X(durable_to_model, "receipt durable to first model request, begun at once") \
    X(model_first_token, "model request out to first token")                     \
    X(model_total, "model request out to answer complete")                       \
    X(run_total, "run started to run finished")                                  \
    X(delivery_attempt, "delivery attempt to outcome")                           \
    X(read_to_reply, "bytes read to first reply accepted, if begun at once")     \
    X(store_commit, "one transaction's commit")                                  \
    X(http_request, "HTTP request read to answer written")

enum sma_counter
{
#define X(name, help) SMA_COUNTER_##name,
    SMA_COUNTER_MAP(X)
#undef X
        SMA_COUNTER_COUNT
};
enum sma_gauge
{
#define X(name, help) SMA_GAUGE_##name,
    SMA_GAUGE_MAP(X)
#undef X
        SMA_GAUGE_COUNT
};
enum sma_histogram
{
#define X(name, help) SMA_HISTOGRAM_##name,
    SMA_HISTOGRAM_MAP(X)
#undef X
        SMA_HISTOGRAM_COUNT
};

/* Short forms: SMA_METRIC_ADD(runs_done_total, 1). */
#define SMA_METRIC_ADD(name, n) sma_counter_add(SMA_COUNTER_##name, (n))
#define SMA_METRIC_SET(name, n) sma_gauge_set(SMA_GAUGE_##name, (n))
#define SMA_METRIC_TIME(name, ns) sma_histogram_add(SMA_HISTOGRAM_##name, (ns))

void sma_counter_add(enum sma_counter counter, uint64_t n);
uint64_t sma_counter_get(enum sma_counter counter);
void sma_gauge_set(enum sma_gauge gauge, int64_t n);
void sma_gauge_add(enum sma_gauge gauge, int64_t n);
int64_t sma_gauge_get(enum sma_gauge gauge);
/** Buckets are powers of two of 1 µs up to 1074 s. */
void sma_histogram_add(enum sma_histogram histogram, uint64_t ns);
/** Upper bound of the bucket that holds quantile q (0..1), in ns; 0 when empty. */
uint64_t sma_histogram_quantile(enum sma_histogram histogram, double q);
uint64_t sma_histogram_count(enum sma_histogram histogram);
/** Everything above in Prometheus text format 0.0.4 (actor metrics are appended by actors/). */
void sma_metrics_format(struct sma_buf *buf);
/** One JSON object {"<histogram>":{"count":n,"p50Ms":x,"p99Ms":x},...} of the histograms that hold
 *  anything. */
void sma_metrics_format_latencies(struct sma_buf *buf);
void sma_metrics_reset(void); /* tests only */

#endif
