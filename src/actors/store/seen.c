/* What is seen of messages and runs from outside: counters, lines of traffic, sums of what was
 * used. */
#include "intake.h"
#include "people.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "actors/kernel/traffic.h"
#include "sma/labels.h"

#include <time.h>

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

void sma_store_count_refused(const struct sma_store *store, unsigned actor)
{
    count_message(store, actor, MESSAGE_REFUSED);
}

/* Traffic that is not answered is of interest to who looks for it: DEBUG. */
void sma_store_log_accepted(struct sma_store *store, const struct store_accepted_log *log)
{
    static const char *const words[] = {
        [SMA_VERDICT_ACCEPTED] = "accepted", [SMA_VERDICT_DUPLICATE] = "duplicate",
        [SMA_VERDICT_IGNORED] = "ignored",   [SMA_VERDICT_BUSY] = "busy",
        [SMA_VERDICT_CONFLICT] = "conflict", [SMA_VERDICT_REFUSED] = "refused"};
    static const uint8_t counts[] = {
        [SMA_VERDICT_ACCEPTED] = MESSAGE_ACCEPTED,  [SMA_VERDICT_DUPLICATE] = MESSAGE_DUPLICATE,
        [SMA_VERDICT_IGNORED] = MESSAGE_IGNORED,    [SMA_VERDICT_BUSY] = MESSAGE_BUSY,
        [SMA_VERDICT_CONFLICT] = MESSAGE_DUPLICATE, [SMA_VERDICT_REFUSED] = MESSAGE_REFUSED};
    const struct sma_accepted *accepted = SMA_MSG_BODY(log->answer, struct sma_accepted);
    count_message(store, log->to, (enum message_word)counts[accepted->verdict]);
    bool is_usual =
        accepted->verdict == SMA_VERDICT_ACCEPTED || accepted->verdict == SMA_VERDICT_BUSY;
    struct sma_traffic line;
    if (!sma_traffic_begin(&line, store->ctx, is_usual ? SMA_LOG_INFO : SMA_LOG_DEBUG,
                           "message_accepted", accepted->seq, accepted->chat_key))
        return;
    sma_traffic_str(&line, "userId", accepted->user_id);
    sma_traffic_str(&line, "verdict", sma_str(words[accepted->verdict]));
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

/* -- /usage ------------------------------------------------------------------------------------ */
#define DAY_MS INT64_C(86400000)

static enum sma_err take_sum(void *user, int64_t key, struct sma_str name,
                             const struct sma_usage *usage)
{
    (void)key;
    (void)name;
    *(struct sma_usage *)user = *usage;
    return SMA_ERR_OK;
}

/* "12 requests and 34567 tokens, about 0.1234 in cost". Days are UTC, as they are kept. */
static void format_sum(struct sma_store *store, enum sma_language language, int64_t from_day,
                       uint32_t chat_id, struct sma_buf *out)
{
    struct sma_usage usage = {0};
    struct sma_state_usage_query query = {
        .by = SMA_STATE_USAGE_TOTAL, .from_day = from_day, .chat_id = chat_id, .row_max = 1};
    char requests[24], tokens[24], cost[32];
    if (sma_state_each_usage(store->state, &query, take_sum, &usage) != SMA_ERR_OK)
        usage = (struct sma_usage){0};
    uint64_t all = usage.input + usage.cached + usage.written + usage.output;
    snprintf(requests, sizeof requests, "%llu", (unsigned long long)usage.request_count);
    snprintf(tokens, sizeof tokens, "%llu", (unsigned long long)all);
    snprintf(cost, sizeof cost, "%.4f", (double)usage.cost_nano / 1e9);
    sma_notice_format(out, language, SMA_NOTICE_USAGE_SUM, requests, tokens);
    if (usage.cost_nano > 0)
        sma_notice_format(out, language, SMA_NOTICE_USAGE_COST, cost);
}

static void put_sums(struct sma_store *store, struct sma_buf *text, enum sma_language language,
                     const struct store_chat *chat)
{
    int64_t wall_ms = sma_ctx_wall(store->ctx), day = wall_ms / DAY_MS;
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm utc;
    struct sma_buf today, month;
    (void)gmtime_r(&seconds, &utc);
    sma_buf_init(&today, 256);
    sma_buf_init(&month, 256);
    uint32_t chat_id = chat == NULL ? 0 : chat->id;
    format_sum(store, language, day, chat_id, &today);
    format_sum(store, language, day - utc.tm_mday + 1, chat_id, &month);
    sma_notice_format(text, language, chat == NULL ? SMA_NOTICE_USAGE_ALL : SMA_NOTICE_USAGE,
                      today.ptr, month.ptr);
    sma_buf_fini(&today);
    sma_buf_fini(&month);
}

void sma_store_put_usage_notice(struct sma_store *store, struct sma_buf *text,
                                const struct store_chat *chat, const struct sma_ingress *in)
{
    enum sma_language language = sma_store_language(store, &in->route);
    put_sums(store, text, language, chat);
    /* In a group the others would read it, too. */
    if (in->is_group || sma_store_standing(store, chat, &in->route, false) < SMA_STANDING_ADMIN)
        return;
    sma_buf_put_char(text, '\n');
    put_sums(store, text, language, NULL);
}

void sma_store_put_usage_today(struct sma_store *store, struct sma_buf *json)
{
    struct sma_usage usage = {0};
    struct sma_state_usage_query query = {
        .by = SMA_STATE_USAGE_TOTAL, .from_day = sma_ctx_wall(store->ctx) / DAY_MS, .row_max = 1};
    if (sma_state_each_usage(store->state, &query, take_sum, &usage) != SMA_ERR_OK)
        usage = (struct sma_usage){0};
    sma_buf_put_json_key(json, "usageToday");
    sma_buf_put_char(json, '{');
    sma_store_put_usage_members(json, &usage);
    sma_buf_put_char(json, '}');
}
