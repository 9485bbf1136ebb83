/* phases.c — which phase of the end is over. */
#include "http_priv.h"

void http_report_when_done(struct sma_http *http)
{
    if (http->is_intake_off && !http->is_intake_reported && http->pending_ingress_count == 0) {
        http->is_intake_reported = true;
        sma_ctx_life_done(http->ctx, SMA_PHASE_INTAKE_OFF);
    }
    if (http->is_closing && !http->is_close_reported && http->pages.leave_count == 0) {
        http->is_close_reported = true;
        sma_ctx_life_done(http->ctx, SMA_PHASE_CLOSE);
    }
}
