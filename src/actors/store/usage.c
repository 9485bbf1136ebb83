/*
 * What models used: sums by day, chat, person, platform and target, written by the transaction that
 * stores the step or the end that brings it. A repeated step brings nothing.
 */
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#define DAY_MS INT64_C(86400000)

enum sma_err sma_store_count_usage_of(struct sma_store *store, uint64_t seq,
                                      const struct sma_usage *usage, struct sma_str target)
{
    struct sma_state_head head;
    char person[SMA_ID_BYTES_MAX * 2 + 2];
    if (sma_usage_is_empty(usage))
        return SMA_ERR_OK;
    SMA_TRY(sma_state_head_get(store->state, seq, &head));
    const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, head.chat_id);
    if (chat == NULL)
        return SMA_ERR_NOTFOUND;
    struct sma_str channel = chat->channel;
    int len = snprintf(person, sizeof person, "%.*s:%.*s", (int)channel.len, channel.ptr,
                       (int)head.user_id.len, head.user_id.ptr);
    if (target.len > SMA_LEARNED_BYTES_MAX)
        target.len = SMA_LEARNED_BYTES_MAX;
    return sma_state_usage_add(
        store->state,
        &(struct sma_state_usage_key){
            .day = sma_ctx_wall(store->ctx) / DAY_MS,
            .chat_id = chat->id,
            .person = {person, (size_t)len < sizeof person ? (size_t)len : sizeof person - 1},
            .platform = channel,
            .target = target},
        usage);
}

enum sma_err sma_store_count_usage(struct sma_store *store, struct store_run *run,
                                   const struct sma_usage *usage, struct sma_str target)
{
    if (sma_usage_is_empty(usage))
        return SMA_ERR_OK;
    sma_usage_add(&run->usage, usage);
    return sma_store_count_usage_of(store, run->seq, usage, target);
}

/* Members of an object that is open. */
void sma_store_put_usage_members(struct sma_buf *buf, const struct sma_usage *usage)
{
    sma_buf_put_json_number(buf, "requests", usage->request_count);
    sma_buf_put_json_number(buf, "input", usage->input);
    sma_buf_put_json_number(buf, "cached", usage->cached);
    sma_buf_put_json_number(buf, "written", usage->written);
    sma_buf_put_json_number(buf, "output", usage->output);
    sma_buf_put_json_number(buf, "reasoning", usage->reasoning);
    sma_buf_put_json_number(buf, "costNano", usage->cost_nano);
}
