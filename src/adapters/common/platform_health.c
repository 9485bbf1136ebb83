/* platform_health.c — see platform_health.h. */
#include "platform_health.h"

#include "sma/links.h"
#include "sma/metrics.h"
#include "sma/text.h"

#include <stdio.h>

void sma_adapter_health_init(struct sma_adapter_health *health, struct sma_ctx *ctx,
                             const char *name)
{
    *health = (struct sma_adapter_health){.ctx = ctx, .name = name};
    sma_health_set(name, SMA_STR(""));
}

/* -- what needs somebody ----------------------------------------------------------------------- */
static void show(const struct sma_adapter_health *health)
{
    const char *text = "";
    for (size_t i = 0; i < SMA_CAUSE_COUNT && text[0] == '\0'; i++)
        text = health->texts[i];
    sma_health_set(health->name, sma_str(text));
}

bool sma_adapter_health_has(const struct sma_adapter_health *health, enum sma_cause cause)
{
    return health->texts[cause][0] != '\0';
}

bool sma_adapter_health_set(struct sma_adapter_health *health, enum sma_cause cause,
                            const char *text)
{
    char *kept = health->texts[cause];
    size_t len = sma_utf8_cut(sma_str(text), SMA_HEALTH_BYTES_MAX - 1);
    if (strlen(kept) == len && memcmp(kept, text, len) == 0)
        return false;
    memcpy(kept, text, len);
    kept[len] = '\0';
    show(health);
    return len > 0;
}

void sma_adapter_health_heal(struct sma_adapter_health *health, enum sma_cause cause)
{
    (void)sma_adapter_health_set(health, cause, "");
}

/* -- the connection ---------------------------------------------------------------------------- */
void sma_adapter_health_up(struct sma_adapter_health *health)
{
    health->down_ns = 0;
    sma_adapter_health_heal(health, SMA_CAUSE_LINK);
    sma_adapter_health_heal(health, SMA_CAUSE_DOWN);
    sma_link_up(health->name, sma_ctx_wall(health->ctx));
}

void sma_adapter_health_down(struct sma_adapter_health *health, const char *why)
{
    uint64_t now_ns = sma_ctx_now(health->ctx);
    SMA_METRIC_ADD(platform_failures_total, 1);
    sma_link_down(health->name, sma_ctx_wall(health->ctx), sma_str(why));
    if (health->down_ns == 0)
        health->down_ns = now_ns;
    uint64_t down_s = (now_ns - health->down_ns) / SMA_NS_PER_S;
    if (down_s < SMA_ADAPTER_PATIENCE_S)
        return;
    char text[SMA_HEALTH_BYTES_MAX];
    snprintf(text, sizeof text, "no connection for %llu minutes: %s",
             (unsigned long long)(down_s / 60), why);
    (void)sma_adapter_health_set(health, SMA_CAUSE_DOWN, text);
}

void sma_adapter_health_error(struct sma_adapter_health *health, const char *why)
{
    SMA_METRIC_ADD(platform_failures_total, 1);
    sma_link_error(health->name, sma_ctx_wall(health->ctx), sma_str(why));
}

void sma_adapter_health_event(struct sma_adapter_health *health)
{
    SMA_METRIC_ADD(platform_events_total, 1);
    sma_link_event(health->name, sma_ctx_wall(health->ctx));
}
