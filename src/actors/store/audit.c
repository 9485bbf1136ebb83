/* audit.c — the audit log, and in which language and by which name people are told. See
 * consent.h. */
#include "consent_priv.h"
#include "intake_priv.h"
#include "outbox.h"
#include "store.h"

void sma_store_audit(struct sma_store *store, const char *message, struct sma_str details_json)
{
    uint32_t len = (uint32_t)details_json.len;
    sma_buf_put(&store->intake->audit, message, strlen(message) + 1);
    sma_buf_put(&store->intake->audit, &len, sizeof len);
    sma_buf_put_str(&store->intake->audit, details_json);
}

enum sma_language sma_store_language(const struct sma_store *store, const struct sma_route *route)
{
    int adapter = sma_store_adapter_of(store, route);
    bool is_chinese = adapter >= 0 && store->adapters[adapter].adapter->ops->is_chinese_by_default;
    return sma_notice_language(store->config->language, route->language, is_chinese);
}

struct sma_str sma_store_name_of(const struct sma_route *route)
{
    if (route->user_name.len > 0)
        return route->user_name;
    return route->user_id.len > 0 ? route->user_id : route->channel;
}
