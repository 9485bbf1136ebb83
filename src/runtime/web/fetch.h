/*
 * fetch.h — web_fetch and web_search carried out: the program fetch-page is asked, redirects are
 * judged, and the result is written for the model.
 *
 * Each hop is a process of its own and is judged like the first address: where the rules would ask
 * a person or refuse, it ends there and the model is told where it leads. What is taken of the
 * helper is bounded JSON; whatever it sent besides is not read.
 * Threads: any; nothing is shared but constants. Blocks: until SMA_WEB_MS is over.
 */
#ifndef SMA_RUNTIME_WEB_FETCH_H
#define SMA_RUNTIME_WEB_FETCH_H

#include "runtime/secrets/secrets.h"
#include "runtime/web/rules.h"

struct sma_web_place
{
    const struct sma_web_rules *rules;
    const struct sma_secrets *secrets;
    const char *program;    /* fetch-page; NULL: it is not installed */
    const char *bubblewrap; /* NULL: no walls but its own */
    bool is_userns_last;
    const char *proxy; /* as configured: "", "environment", scheme://... */
    /* ... and what it comes to for an address: scheme://... is appended; nothing = none */
    void (*put_proxy)(const char *proxy, const struct sma_web_url *url, struct sma_buf *ret_proxy);
    const volatile int *is_stopped;
};

/**
 * The result of web_fetch as JSON: {success, from, note, url, title, content, truncated}, or
 * {success:false, error, url?}.
 * @url    judged and allowed before
 * @words  as in sma_web_rules_judge, for redirects
 * @max    bytes of the page's text
 * @return did it succeed? *result may be too small: result->err.
 */
bool sma_web_fetch(const struct sma_web_place *place, const struct sma_web_url *url,
                   struct sma_str words, size_t max, struct sma_buf *result);
/** The result of web_search: {success, from, note, query, results: [{title, url, snippet}]}. */
bool sma_web_search(const struct sma_web_place *place, struct sma_str query, unsigned count,
                    struct sma_buf *result);

#endif
