/*
 * process_metrics.h — what /metrics tells of the process and its disk, by the names that Prometheus
 * has for them. Thread: any. Blocks: for some reads of /proc.
 */
#ifndef SMA_CLI_PROCESS_METRICS_H
#define SMA_CLI_PROCESS_METRICS_H

#include "sma/buf.h"

/** @param state_dir  whose disk is looked at. What cannot be read is left out. */
void sma_process_metrics_format(struct sma_buf *buf, const char *state_dir);

#endif
