/*
 * hook_health.c — how the receivers stand. One that fails again and again is named by /health,
 * `status` and `doctor`, until it takes an event; the first failure, the recovery and each refused
 * event are lines in the log.
 */
#include "hook_priv.h"

#include "adapters/common/answers.h"
#include "sma/health.h"
#include "sma/links.h"
#include "sma/text.h"

#include <stdio.h>

static bool is_failing(const struct hook_standing *standing)
{
    return standing->failure_count >= SMA_HOOK_FAILING_COUNT;
}

/* All that fail, in one line. */
static void show(const struct hooks *hooks)
{
    struct sma_buf line;
    sma_buf_init(&line, SMA_HOOK_COUNT_MAX * (HOOK_ERROR_BYTES + 100));
    for (size_t i = 0; i < hooks->config->hook_count; i++) {
        const struct hook_standing *standing = &hooks->standings[i];
        if (!is_failing(standing))
            continue;
        sma_buf_put_text(&line, line.len > 0 ? "; hook " : "hook ");
        sma_buf_put_text(&line, hooks->config->hooks[i].name);
        sma_buf_put_text(&line, " takes no event since ");
        sma_buf_put_iso_time(&line, standing->since_ms);
        sma_buf_printf(&line, " (%u attempts): %s", standing->failure_count, standing->error);
    }
    sma_health_set("hooks", line.err == SMA_ERR_OK ? sma_buf_str(&line) : SMA_STR("some fail"));
    sma_buf_fini(&line);
}

void hook_note_taken(struct hooks *hooks, size_t index)
{
    struct hook_standing *standing = &hooks->standings[index];
    unsigned before = standing->failure_count;
    sma_link_event("hooks", sma_ctx_wall(hooks->ctx));
    if (before == 0)
        return;
    standing->failure_count = 0;
    sma_ctx_log(hooks->ctx, SMA_LOG_INFO, "hooks: %s takes events again, after %u failed attempts",
                hooks->config->hooks[index].name, before);
    show(hooks);
}

static void keep_error(struct hooks *hooks, size_t index, const char *error)
{
    struct hook_standing *standing = &hooks->standings[index];
    char line[HOOK_ERROR_BYTES + 64];
    (void)snprintf(standing->error, sizeof standing->error, "%s", error);
    (void)snprintf(line, sizeof line, "hook %s: %s", hooks->config->hooks[index].name, error);
    sma_link_error("hooks", sma_ctx_wall(hooks->ctx), sma_str(line));
}

uint32_t hook_note_failed(struct hooks *hooks, size_t index, int64_t said_ms, const char *error)
{
    struct hook_standing *standing = &hooks->standings[index];
    const int64_t most_ms = SMA_HOOK_RETRY_S_MAX * INT64_C(1000);
    keep_error(hooks, index, error);
    if (standing->failure_count == 0) {
        standing->since_ms = sma_ctx_wall(hooks->ctx);
        sma_ctx_log(hooks->ctx, SMA_LOG_WARN,
                    "hooks: %s did not take an event; it is tried again: "
                    "%s",
                    hooks->config->hooks[index].name, error);
    }
    standing->failure_count++;
    show(hooks);
    if (said_ms > 0)
        return (uint32_t)(said_ms > most_ms ? most_ms : said_ms);
    return (uint32_t)(sma_adapter_backoff_ns(hooks->ctx, standing->failure_count + 1,
                                             SMA_HOOK_RETRY_S_MAX) /
                      SMA_NS_PER_MS);
}

void hook_note_refused(struct hooks *hooks, size_t index, const char *error)
{
    hooks->standings[index].refused_count++;
    keep_error(hooks, index, error);
    sma_ctx_log(hooks->ctx, SMA_LOG_WARN,
                "hooks: %s refused an event for good; the next one is "
                "sent: %s",
                hooks->config->hooks[index].name, error);
}
