/*
 * status_head.h — what `shipmyagent status` says first: where the service is, who it is, what it is
 * doing.
 */
#ifndef SMA_CLI_STATUS_HEAD_H
#define SMA_CLI_STATUS_HEAD_H

#include "api.h"

/** root: the answer of /api/status. More is asked of the service: owners, open runs. */
void sma_cli_status_head(const struct sma_cli_api *api, const json_t *root);
/** "42.9 GB"; text has room for 32 bytes. */
void sma_cli_format_bytes(long long bytes, char *text);
/** "3 h 12 min". */
void sma_cli_format_duration(long long ms, char *text);

#endif
