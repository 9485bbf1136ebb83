/* status.c — what GET /api/status and the pages are told. */
#include "http_priv.h"

#include "sma/health.h"
#include "sma/metrics.h"

#include <unistd.h>

void http_put_timestamp(struct sma_http *http, struct sma_buf *buf)
{
    sma_buf_put_json_key(buf, "timestamp");
    sma_buf_put_char(buf, '"');
    sma_buf_put_iso_time(buf, sma_ctx_wall(http->ctx));
    sma_buf_put_char(buf, '"');
}

/* Why not all is well; empty when it is. */
static void put_reasons(const struct sma_http *http, struct sma_buf *buf)
{
    const char *reasons[4];
    size_t count = 0;
    if (sma_gauge_get(SMA_GAUGE_disk_degraded) != 0)
        reasons[count++] = "the disk is almost full: no new messages are accepted";
    if (http->is_intake_off)
        reasons[count++] = "the service is stopping";
    if (sma_gauge_get(SMA_GAUGE_store_troubles) != 0)
        reasons[count++] = "something stored is damaged or cannot be reached: see store.troubles";
    if (sma_health_count() != 0)
        reasons[count++] = "a platform or a model waits for somebody to act: see store.trouble";
    for (size_t i = 0; i < count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_buf_put_json_string(buf, sma_str(reasons[i]));
    }
}

/* A word of each for everybody: "disk", "stopping", "store", or the platform or "model" that waits
 * for somebody. */
void http_put_parts(const struct sma_http *http, struct sma_buf *buf)
{
    const char *words[3];
    size_t count = 0, put = 0;
    if (sma_gauge_get(SMA_GAUGE_disk_degraded) != 0)
        words[count++] = "disk";
    if (http->is_intake_off)
        words[count++] = "stopping";
    if (sma_gauge_get(SMA_GAUGE_store_troubles) != 0)
        words[count++] = "store";
    sma_buf_put_text(buf, ",\"reasons\":[");
    for (; put < count; put++) {
        sma_buf_put_text(buf, put == 0 ? "" : ",");
        sma_buf_put_json_string(buf, sma_str(words[put]));
    }
    sma_health_put_parts(buf, &put);
    sma_buf_put_char(buf, ']');
}

/* Which model is asked first, and where we are. */
static void put_place(const struct sma_http *http, struct sma_buf *body)
{
    sma_buf_put_text(body, ",\"llm\":{");
    sma_buf_put_json_member(body, "provider", sma_str(http->config->llm.provider));
    sma_buf_put_json_member(body, "model", sma_str(http->config->llm.model));
    sma_buf_put_char(body, '}');
    sma_buf_put_json_number(body, "pid", (uint64_t)getpid());
}

/* What pages of the old program show: there are no tasks, and the store says how many runs wait for
 * people. */
static void put_old_counts(struct sma_buf *body, struct sma_str store_json)
{
    static const char mark[] = "\"parked\":";
    const char *at =
        store_json.len == 0 ? NULL : memmem(store_json.ptr, store_json.len, mark, sizeof mark - 1);
    int64_t count = 0;
    if (at != NULL) {
        at += sizeof mark - 1;
        size_t len = strspn(at, "0123456789");
        if (sma_parse_i64((struct sma_str){at, len}, 0, INT64_MAX, &count) != SMA_ERR_OK)
            count = 0;
    }
    sma_buf_put_json_number(body, "tasksCount", 0);
    sma_buf_put_json_number(body, "pendingApprovalsCount", (uint64_t)count);
}

/* The members of the old program first, then the store's own. */
void http_put_status(struct sma_http *http, struct sma_buf *body, struct sma_str store_json)
{
    sma_buf_put_text(body, "{\"name\":\"shipmyagent\",\"status\":\"running\"");
    sma_buf_put_text(body, sma_gauge_get(SMA_GAUGE_sandbox_on) != 0 ? ",\"sandbox\":\"on\""
                                                                    : ",\"sandbox\":\"off\"");
    http_put_timestamp(http, body);
    sma_buf_put_json_key(body, "agent");
    sma_buf_put_json_string(body, sma_str(http->config->name));
    sma_buf_put_json_key(body, "version");
    sma_buf_put_json_string(body, SMA_STR(SMA_VERSION));
    sma_buf_put_json_key(body, "degraded");
    sma_buf_put_char(body, '[');
    put_reasons(http, body);
    sma_buf_put_char(body, ']');
    put_old_counts(body, store_json);
    sma_buf_put_json_key(body, "connections");
    sma_buf_put_u64(body, http->open_count);
    put_place(http, body);
    http_put_seen(http, body);
    sma_buf_put_json_key(body, "store");
    sma_buf_put_str(body, store_json.len > 0 ? store_json : SMA_STR("{}"));
    sma_buf_put_json_key(body, "latency");
    sma_metrics_format_latencies(body);
    sma_buf_put_char(body, '}');
}
