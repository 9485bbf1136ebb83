/*
 * request_scan.h — what a log says about a request body, without parsing it: counts, and where its
 * system text stands.
 *
 * One pass at about the speed of memchr; the body is ours, so it is well formed. What is not comes
 * out as zeros.
 * Threads: any; no state.
 */
#ifndef SMA_MODEL_REQUEST_SCAN_H
#define SMA_MODEL_REQUEST_SCAN_H

#include "sma/base.h"

struct sma_request_facts
{
    /* message_count: with a system message that stands among them */
    size_t tool_count, message_count;
    struct sma_str tools;  /* their JSON; empty = none */
    struct sma_str system; /* its JSON, as it stands there; empty = none */
};

void sma_request_scan(struct sma_str body, struct sma_request_facts *ret_facts);

#endif
