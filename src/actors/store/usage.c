/*
 * What models used: sums by day, chat, person, platform and target, written by the transaction that
 * stores the step or the end that brings it. A repeated step brings nothing.
 */
#include "budget_priv.h"
#include "record.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

static SMA_CHECKED enum sma_err count(struct sma_store *store, uint64_t seq,
                                      const struct sma_usage *usage, struct sma_str target,
                                      bool is_first)
{
    struct sma_state_head head;
    char person[STORE_NAME_BYTES];
    if (sma_usage_is_empty(usage))
        return SMA_ERR_OK;
    SMA_TRY(sma_state_head_get(store->state, seq, &head));
    const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, head.chat_id);
    if (chat == NULL)
        return SMA_ERR_NOTFOUND;
    struct sma_str channel = chat->channel;
    struct store_spender spender = {
        .seq = seq,
        .chat_id = chat->id,
        .person = sma_store_person_name(person, sizeof person, channel, head.user_id),
        .platform = sma_bot_platform(channel)};
    if (target.len > SMA_LEARNED_BYTES_MAX)
        target.len = SMA_LEARNED_BYTES_MAX;
    SMA_TRY(sma_state_usage_add(store->state,
                                &(struct sma_state_usage_key){.day = sma_store_today(store)->day,
                                                              .chat_id = spender.chat_id,
                                                              .person = spender.person,
                                                              .platform = sma_bot_platform(channel),
                                                              .target = target},
                                usage));
    return sma_store_share_spend(store, &spender, usage, is_first);
}

void sma_store_count_spent(struct sma_store *store, const struct sma_spent *spent)
{
    if (sma_store_disk_level(store) >= 2 || sma_store_is_retrying(store))
        return;
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_store_count_usage_of(store, spent->seq, &spent->usage, spent->target);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        sma_store_fail_batch(store, err);
}

enum sma_err sma_store_count_usage_of(struct sma_store *store, uint64_t seq,
                                      const struct sma_usage *usage, struct sma_str target)
{
    return count(store, seq, usage, target, false);
}

enum sma_err sma_store_count_usage(struct sma_store *store, struct store_run *run,
                                   const struct sma_usage *usage, struct sma_str target)
{
    if (sma_usage_is_empty(usage))
        return SMA_ERR_OK;
    bool is_first = sma_usage_is_empty(&run->usage);
    sma_usage_add(&run->usage, usage);
    return count(store, run->seq, usage, target, is_first);
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
