/*
 * qq.h — the QQ bot platform (API v2) as an adapter: the gateway's WebSocket or a webhook in, one
 * REST message an attempt out.
 *
 * Promises. The sequence number from which a lost link is resumed passes an event only after the
 * store has finished with it; over a restart too: session id and number stand in
 * .ship/.cache/qq/session-<shard>.json and in the store's cursor qq.<shard>.seq. A webhook is
 * answered 200 only then. A refused event and everything behind it comes again. An attempt is
 * answered exactly once; a second message follows within it only when the first was certainly not
 * shown. The link is taken up again for ever.
 *
 * Configuration, adapters.qq (or integrations.qq): enabled, appId, appSecret, sandbox, mode,
 * apiRoot, tokenUrl, gatewayUrl, shards, intents, markdown, groupAccess, followupWindowMs, limits,
 * attachmentBytesMax, caFile. Environment: QQ_APP_ID, QQ_APP_SECRET, QQ_SANDBOX,
 * SHIP_QQ_CAPTURE_EVENTS, SHIP_QQ_CAPTURE_DIR. Absent appId: not configured.
 * Source: protocols/qq.md; protocols/project.md §5.4, §5.5, §6.4.
 */
#ifndef SMA_ADAPTERS_QQ_H
#define SMA_ADAPTERS_QQ_H

#include "sma/adapter.h"

/** On a libuv loop. */
extern const struct sma_adapter_ops sma_qq_adapter_ops;

#endif
