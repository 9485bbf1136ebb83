/*
 * telegram.h — the Telegram Bot API as an adapter: long polling or a webhook in, one request an
 * attempt out.
 *
 * Promises. An update is confirmed (the next poll's offset passes it, the webhook is answered 200)
 * only after the store has finished with it, in the order of arrival; a refused update and
 * everything behind it comes again. An attempt is one request to the platform, answered exactly
 * once; a second one follows within the same attempt only when the first was certainly not sent
 * (markup refused, reply target gone, group migrated). Downloads, role look-ups, typing and drafts
 * never hold up either direction.
 *
 * Configuration, adapters.telegram (or integrations.telegram): enabled, botToken, apiRoot, mode,
 * webhookUrl, webhookSecret, backlog, followupWindowMs, groupAccess, limits, progress,
 * attachmentBytesMax, pollTimeoutS; chatId is accepted and has no effect. Absent botToken: not
 * configured.
 * Source: protocols/telegram.md; protocols/project.md §5.2, §6.2.
 */
#ifndef SMA_ADAPTERS_TELEGRAM_H
#define SMA_ADAPTERS_TELEGRAM_H

#include "sma/adapter.h"

/** On a libuv loop. */
extern const struct sma_adapter_ops sma_telegram_adapter_ops;

#endif
