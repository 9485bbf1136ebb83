/* keep.c — the table of retention. Its numbers are retention.* of ship.json. */
#include "runtime/chat/keep.h"
#include "runtime/chat/state_budget.h"
#include "runtime/chat/state_grants.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define USAGE_DAY_COUNT 400

/* What is older leaves; 0 = nothing does. */
static SMA_CHECKED enum sma_err seq_of(const struct sma_keep *keep, struct sma_state *state,
                                       int64_t age_ms, uint64_t *ret_seq)
{
    *ret_seq = 0;
    if (keep->now_ms == 0 || age_ms <= 0)
        return SMA_ERR_OK;
    return sma_state_seq_of_age(state, keep->now_ms, age_ms, ret_seq);
}

static enum sma_err keep_turns(const struct sma_keep *keep, struct sma_state *state, uint32_t max,
                               uint32_t *ret_removed)
{
    uint64_t seq;
    enum sma_err err = seq_of(keep, state, keep->retention.turn_days * DAY_MS, &seq);
    if (err != SMA_ERR_OK || seq == 0)
        return err;
    return sma_state_keep_turns(state, seq, max, ret_removed);
}

static enum sma_err keep_results(const struct sma_keep *keep, struct sma_state *state, uint32_t max,
                                 uint32_t *ret_removed)
{
    uint64_t seq;
    SMA_TRY(seq_of(keep, state, keep->retention.result_hours * HOUR_MS, &seq));
    uint64_t bytes_max =
        keep->retention.result_mb > 0 ? (uint64_t)keep->retention.result_mb << 20 : UINT64_MAX;
    return sma_state_keep_results(state, seq, bytes_max, max, ret_removed);
}

typedef enum sma_err keep_rows_fn(struct sma_state *state, uint64_t before_seq, uint32_t rows_max,
                                  uint32_t *ret_removed);

/* Texts and deliveries go with the results they led to. */
static SMA_CHECKED enum sma_err keep_with_results(const struct sma_keep *keep,
                                                  struct sma_state *state, keep_rows_fn *remove,
                                                  uint32_t max, uint32_t *ret_removed)
{
    uint64_t seq;
    enum sma_err err = seq_of(keep, state, keep->retention.result_hours * HOUR_MS, &seq);
    return err != SMA_ERR_OK || seq == 0 ? err : remove(state, seq, max, ret_removed);
}

static enum sma_err keep_messages(const struct sma_keep *keep, struct sma_state *state,
                                  uint32_t max, uint32_t *ret_removed)
{
    return keep_with_results(keep, state, sma_state_keep_messages, max, ret_removed);
}

static enum sma_err keep_deliveries(const struct sma_keep *keep, struct sma_state *state,
                                    uint32_t max, uint32_t *ret_removed)
{
    return keep_with_results(keep, state, sma_state_keep_deliveries, max, ret_removed);
}

static enum sma_err keep_requests(const struct sma_keep *keep, struct sma_state *state,
                                  uint32_t max, uint32_t *ret_removed)
{
    if (keep->now_ms == 0 || keep->retention.request_days <= 0)
        return SMA_ERR_OK;
    return sma_state_keep_approvals(state, keep->now_ms - keep->retention.request_days * DAY_MS,
                                    max, ret_removed);
}

/* They are given to nobody from their end on; a day later a clock that is put right does not bring
 * them back. */
static enum sma_err keep_grants(const struct sma_keep *keep, struct sma_state *state, uint32_t max,
                                uint32_t *ret_removed)
{
    return keep->now_ms == 0
               ? SMA_ERR_OK
               : sma_state_grants_forget(state, keep->now_ms - DAY_MS, max, ret_removed);
}

static enum sma_err keep_usage(const struct sma_keep *keep, struct sma_state *state, uint32_t max,
                               uint32_t *ret_removed)
{
    if (keep->now_ms == 0)
        return SMA_ERR_OK;
    return sma_state_keep_usage(state, keep->now_ms / DAY_MS - USAGE_DAY_COUNT, max, ret_removed);
}

static enum sma_err keep_spent(const struct sma_keep *keep, struct sma_state *state, uint32_t max,
                               uint32_t *ret_removed)
{
    if (keep->now_ms == 0)
        return SMA_ERR_OK;
    return sma_state_keep_spent(state, keep->now_ms / DAY_MS - SMA_SPENT_DAYS, max, ret_removed);
}

static const struct rule
{
    const char *name;
    enum sma_err (*remove)(const struct sma_keep *keep, struct sma_state *state, uint32_t max,
                           uint32_t *ret_removed);
} rules[SMA_KEEP_KIND_COUNT] = {
    [SMA_KEEP_TURNS] = {"turns", keep_turns},
    [SMA_KEEP_RESULTS] = {"results", keep_results},
    [SMA_KEEP_MESSAGES] = {"texts of messages", keep_messages},
    [SMA_KEEP_DELIVERIES] = {"deliveries", keep_deliveries},
    [SMA_KEEP_REQUESTS] = {"decided requests", keep_requests},
    [SMA_KEEP_GRANTS] = {"permissions that ended", keep_grants},
    [SMA_KEEP_USAGE] = {"sums of usage", keep_usage},
    [SMA_KEEP_SPENT] = {"sums of budgets", keep_spent},
};

void sma_keep_begin(struct sma_keep *keep, const struct sma_config_retention *retention,
                    int64_t now_ms)
{
    *keep = (struct sma_keep){.retention = *retention, .now_ms = now_ms};
}

enum sma_err sma_keep_slice(struct sma_keep *keep, struct sma_state *state, uint32_t rows_max,
                            bool *ret_is_over)
{
    enum sma_err err = SMA_ERR_OK;
    while (keep->kind < SMA_KEEP_KIND_COUNT && err == SMA_ERR_OK) {
        uint32_t removed = 0;
        err = rules[keep->kind].remove(keep, state, rows_max, &removed);
        if (err != SMA_ERR_OK)
            break;
        keep->removed[keep->kind] += removed;
        if (removed >= rows_max)
            break;
        keep->kind++;
        if (removed > 0)
            break;
    }
    *ret_is_over = keep->kind == SMA_KEEP_KIND_COUNT;
    return err;
}

void sma_keep_format(const struct sma_keep *keep, struct sma_buf *buf)
{
    const char *between = "";
    for (unsigned i = 0; i < SMA_KEEP_KIND_COUNT; i++) {
        if (keep->removed[i] == 0)
            continue;
        sma_buf_printf(buf, "%s%llu %s", between, (unsigned long long)keep->removed[i],
                       rules[i].name);
        between = ", ";
    }
}
