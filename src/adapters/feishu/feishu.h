/*
 * feishu.h — Feishu and Lark as an adapter: a long connection or webhooks in, one request an
 * attempt out.
 *
 * Promises. An event is acknowledged only after the store has finished with it, and never later
 * than the platform
 * waits: a refused or late one is delivered again by the platform and known by its claim. A
 * connection that has died, also silently, is noticed and replaced for ever. An attempt is answered
 * exactly once; a second request follows within it only when the first was certainly not carried
 * out (token ended, card refused, reply target gone). Downloads, role look-ups and progress never
 * hold up either direction.
 *
 * Configuration, adapters.feishu (or integrations.feishu): enabled, appId, appSecret (else
 * FEISHU_APP_ID, FEISHU_APP_SECRET of the environment), domain, mode, encryptKey,
 * verificationToken, caFile, limits, progress, attachmentBytesMax; for the core: adminUserIds,
 * groupAccess, followupWindowMs. Without id or secret: not configured.
 * Source: protocols/feishu.md; protocols/project.md §5.3, §6.3.
 */
#ifndef SMA_ADAPTERS_FEISHU_H
#define SMA_ADAPTERS_FEISHU_H

#include "sma/adapter.h"

/** On a libuv loop. */
extern const struct sma_adapter_ops sma_feishu_adapter_ops;

#endif
