/* What is seen of messages and runs from outside: counters and lines of traffic. */
#include "intake.h"
#include "intake_priv.h"
#include "people.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "actors/kernel/traffic.h"
#include "sma/labels.h"

enum message_word
{
    MESSAGE_ACCEPTED, /* in the order of platform_messages_total */
    MESSAGE_DUPLICATE,
    MESSAGE_IGNORED,
    MESSAGE_BUSY,
    MESSAGE_REFUSED,
};

static void count_message(const struct sma_store *store, unsigned actor, enum message_word word)
{
    unsigned label = 0;
    for (uint32_t i = 0; i < store->adapter_count; i++)
        if (store->adapters[i].adapter->actor == (enum sma_actor_id)actor)
            label = store->adapters[i].label;
    SMA_FAMILY_ADD(platform_messages_total, label, word, 1);
}

void sma_store_log_unanswered(struct sma_store *store, unsigned actor,
                              const struct sma_unanswered *unanswered)
{
    struct sma_unanswered it = *unanswered;
    for (uint32_t i = 0; i < store->adapter_count; i++)
        if (store->adapters[i].adapter->actor == (enum sma_actor_id)actor)
            it.platform = sma_str(sma_adapter_name(store->adapters[i].adapter));
    sma_reason_say(&store->intake->reasons, store->ctx, &it);
}

void sma_store_count_refused(const struct sma_store *store, unsigned actor)
{
    count_message(store, actor, MESSAGE_REFUSED);
}

/* Which budget is used up; NULL: none is. */
static const char *whose_budget(const struct sma_accepted *accepted)
{
    static const char *const words[SMA_BUDGET_SCOPE_COUNT] = {
        [SMA_BUDGET_PERSON] = "of the person",
        [SMA_BUDGET_CHAT] = "of the chat",
        [SMA_BUDGET_PLATFORM] = "of the platform",
        [SMA_BUDGET_TOTAL] = "of all chats together"};
    SMA_ASSERT(accepted->over.scope < SMA_BUDGET_SCOPE_COUNT);
    return accepted->why == SMA_REASON_BUDGET ? words[accepted->over.scope] : NULL;
}

void sma_store_log_accepted(struct sma_store *store, const struct store_accepted_log *log)
{
    static const uint8_t counts[] = {
        [SMA_VERDICT_ACCEPTED] = MESSAGE_ACCEPTED,  [SMA_VERDICT_DUPLICATE] = MESSAGE_DUPLICATE,
        [SMA_VERDICT_IGNORED] = MESSAGE_IGNORED,    [SMA_VERDICT_BUSY] = MESSAGE_BUSY,
        [SMA_VERDICT_CONFLICT] = MESSAGE_DUPLICATE, [SMA_VERDICT_REFUSED] = MESSAGE_REFUSED,
        [SMA_VERDICT_NO_CHAT] = MESSAGE_REFUSED};
    const struct sma_accepted *accepted = SMA_MSG_BODY(log->answer, struct sma_accepted);
    count_message(store, log->to, (enum message_word)counts[accepted->verdict]);
    if (accepted->verdict == SMA_VERDICT_NO_CHAT)
        return; /* the program that asked has been told */
    if (accepted->verdict != SMA_VERDICT_ACCEPTED) {
        sma_store_log_unanswered(store, log->to,
                                 &(struct sma_unanswered){.reason = (enum sma_reason)accepted->why,
                                                          .more = whose_budget(accepted),
                                                          .seq = accepted->seq,
                                                          .chat_key = accepted->chat_key,
                                                          .user_id = accepted->user_id,
                                                          .message_id = accepted->message_id});
        return;
    }
    struct sma_traffic line;
    if (!sma_traffic_begin(&line, store->ctx, SMA_LOG_INFO, "message_accepted", accepted->seq,
                           accepted->chat_key))
        return;
    sma_traffic_str(&line, "userId", accepted->user_id);
    sma_traffic_str(&line, "messageId", accepted->message_id);
    sma_traffic_str(&line, "verdict", SMA_STR("accepted"));
    if (accepted->position > 0)
        sma_traffic_u64(&line, "position", accepted->position);
    sma_traffic_ms(&line, "ms", log->read_ns, log->now);
    sma_traffic_end(&line);
}

void sma_store_log_end(struct sma_store *store, const struct store_run *run)
{
    static const char *const words[] = {
        [STORE_END_STOPPED] = "stopped",   [STORE_END_OK] = "ok",
        [STORE_END_FAILED] = "failed",     [STORE_END_CANCELLED] = "cancelled",
        [STORE_END_GIVEN_UP] = "given_up", [STORE_END_ASKS] = "approval",
        [STORE_END_WAITS] = "model"};
    bool is_parked = run->end >= STORE_END_ASKS;
    uint64_t now = sma_ctx_now(store->ctx);
    struct sma_traffic line;
    if (!sma_traffic_begin(&line, store->ctx, SMA_LOG_INFO, is_parked ? "run_parked" : "run_ended",
                           run->seq, sma_store_chat_key(run->chat)))
        return;
    sma_traffic_str(&line, is_parked ? "reason" : "outcome", sma_str(words[run->end]));
    if (!is_parked)
        sma_traffic_ms(&line, "ms", run->stamps.read_ns, now);
    sma_traffic_ms(&line, "runMs", run->started_ns, now);
    sma_traffic_u64(&line, "steps", run->last_step);
    const struct sma_usage *usage = &run->usage;
    if (usage->request_count > 0) {
        sma_traffic_u64(&line, "requests", usage->request_count);
        sma_traffic_u64(&line, "input", usage->input + usage->written);
        sma_traffic_u64(&line, "cached", usage->cached);
        sma_traffic_u64(&line, "output", usage->output);
    }
    if (usage->cost_nano > 0)
        sma_traffic_u64(&line, "costNano", usage->cost_nano);
    sma_traffic_end(&line);
}
