/*
 * http.h — the HTTP adapter: API, health, status and metrics over HTTP/1.1; channel "api".
 *
 * Delivery means "stored in the result": the adapter makes no attempts. What callers send goes
 * through the store like the messages of every platform; callers wait on the stored result.
 * docs/http-api.md is the user's view.
 * Threads:    the state belongs to the actor's thread; create, destroy and set_metrics_source
 * happen before the
 *             system starts and after it has ended; sma_http_port from any thread.
 * Limits:     SMA_HTTP_* of limits.h.
 */
#ifndef SMA_HTTP_H
#define SMA_HTTP_H

#include "sma/adapter.h"

extern const struct sma_adapter_ops sma_http_adapter_ops;

/** Who adds to GET /metrics what sma_metrics_format does not know (the actors' numbers). Before the
 *  system starts. */
void sma_http_set_metrics_source(void *state, void (*format)(void *user, struct sma_buf *buf),
                                 void *user);
/**
 * Requests to /webhooks/<name> become WEBHOOK questions to this actor. Before the system starts.
 * @name   borrowed, outlives the state
 * @return OK | FULL: more than SMA_ADAPTER_COUNT_MAX
 */
SMA_CHECKED enum sma_err sma_http_add_webhook(void *state, const char *name,
                                              enum sma_actor_id actor);
/** The port the adapter listens on, 0 before start(). Thread: any. */
int sma_http_port(const void *state);

#endif
