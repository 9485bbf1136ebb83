/* feishu_trouble.c — what is wrong, for whoever can put it right. */
#include "feishu_priv.h"

#include "adapters/common/answers.h"

void feishu_trouble(struct feishu *feishu, enum sma_cause cause, const char *text)
{
    if (sma_adapter_health_set(&feishu->base.health, cause, text))
        sma_platform_log(&feishu->base, SMA_LOG_ERROR, "%s; trying again every %d minutes", text,
                         FEISHU_FATAL_S / 60);
}

void feishu_tell_scope(struct feishu *feishu, const char *error)
{
    (void)sma_adapter_health_set(&feishu->base.health, SMA_CAUSE_RIGHTS, error);
    if (sma_adapter_is_worth_telling(++feishu->scope_count))
        sma_platform_log(&feishu->base, SMA_LOG_WARN, "%s (%u times)", error, feishu->scope_count);
}
