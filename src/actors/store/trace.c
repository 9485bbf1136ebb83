/*
 * The life of one message as JSON: what its run has noted (runtime/agent/trace.h), its deliveries,
 * where it stands. Read from
 * the rows: of an open run what its steps hold so far.
 */
#include "facts.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/agent/trace.h"
#include "runtime/chat/state_read.h"
#include "sma/reasons.h"

#define TRACE_LOOK_COUNT 100000 /* newest messages among which an id of a platform is looked for */

struct trace_facts
{
    struct sma_buf *json;
    int64_t accepted_ms, ended_ms;
    uint32_t count;
    enum sma_reason why; /* it was not answered when it came */
    bool has_result;
};

static void put_time(struct sma_buf *json, const char *key, int64_t wall_ms)
{
    if (wall_ms == 0)
        return;
    sma_buf_put_json_key(json, key);
    sma_buf_put_char(json, '"');
    sma_buf_put_iso_time(json, wall_ms);
    sma_buf_put_char(json, '"');
}

/* -- which one --------------------------------------------------------------------------------- */
/* "17" is a run; what is none may be a message as its platform names it, "m:17" is in any case. */
static SMA_CHECKED enum sma_err find_seq(struct sma_store *store, struct sma_str asked,
                                         uint64_t *ret_seq)
{
    int64_t seq;
    struct sma_state_head head;
    bool is_message = sma_str_starts_with(asked, SMA_STR("m:"));
    if (is_message)
        asked = (struct sma_str){asked.ptr + 2, asked.len - 2};
    if (!is_message && sma_parse_i64(asked, 1, INT64_MAX, &seq) == SMA_ERR_OK &&
        sma_state_head_get(store->state, (uint64_t)seq, &head) == SMA_ERR_OK &&
        head.state != SMA_ROW_LINE) {
        *ret_seq = (uint64_t)seq;
        return SMA_ERR_OK;
    }
    return sma_state_find_event(store->state, asked, TRACE_LOOK_COUNT, ret_seq);
}

/* -- its parts --------------------------------------------------------------------------------- */
static enum sma_err put_message(void *user, const struct sma_state_message *message)
{
    struct trace_facts *facts = user;
    struct store_facts stored = {0};
    if (sma_store_facts_get(message->facts, &stored) != SMA_ERR_OK)
        stored = (struct store_facts){0}; /* a claim without facts: the rest is still true */
    facts->accepted_ms = stored.accepted_ms;
    facts->why = sma_reason_of_word(stored.why);
    sma_buf_put_json_member(facts->json, "chatKey", message->chat->key);
    sma_buf_put_json_member(facts->json, "platform", message->chat->channel);
    sma_buf_put_json_member(facts->json, "messageId", message->event_key);
    sma_buf_put_json_member(facts->json, "userId", message->user_id);
    if (stored.route.user_name.len > 0)
        sma_buf_put_json_member(facts->json, "userName", stored.route.user_name);
    put_time(facts->json, "sentAt", stored.wall_ms);
    put_time(facts->json, "acceptedAt", stored.accepted_ms);
    return facts->json->err;
}

/* Of a message that is not answered. */
static void put_reason(struct sma_buf *json, enum sma_reason why)
{
    if (why == SMA_REASON_NONE)
        return;
    const struct sma_reason_text *text = sma_reason_text(why);
    sma_buf_put_json_member(json, "reason", sma_str(text->word));
    sma_buf_put_json_member(json, "reasonText", sma_str(text->sentence));
    sma_buf_put_json_member(json, "remedy", sma_str(text->remedy));
}

static enum sma_err put_result(void *user, const struct sma_state_result *result)
{
    struct trace_facts *facts = user;
    facts->has_result = true;
    struct sma_buf *json = facts->json;
    put_time(json, "endedAt", result->wall_ms);
    if (facts->accepted_ms != 0 && result->wall_ms >= facts->accepted_ms)
        sma_buf_put_json_number(json, "durationMs",
                                (uint64_t)(result->wall_ms - facts->accepted_ms));
    if (result->usage == NULL || sma_usage_is_empty(result->usage))
        return json->err;
    sma_buf_put_json_key(json, "usage");
    sma_buf_put_char(json, '{');
    sma_store_put_usage_members(json, result->usage);
    sma_buf_put_char(json, '}');
    return json->err;
}

static enum sma_err put_delivery(void *user, const struct sma_state_delivery *delivery)
{
    static const char *const states[] = {[SMA_DELIVERY_WAITING] = "waiting",
                                         [SMA_DELIVERY_BEGUN] = "begun",
                                         [SMA_DELIVERY_SENT] = "sent",
                                         [SMA_DELIVERY_FAILED] = "failed",
                                         [SMA_DELIVERY_UNKNOWN] = "unknown"};
    struct trace_facts *facts = user;
    struct sma_buf *json = facts->json;
    bool is_failure =
        delivery->state == SMA_DELIVERY_FAILED || delivery->state == SMA_DELIVERY_UNKNOWN;
    sma_buf_put_text(json, facts->count++ == 0 ? "{" : ",{");
    sma_buf_put_json_number(json, "outboxId", delivery->outbox_id);
    sma_buf_put_json_number(json, "step", sma_state_outbox_step(delivery->outbox_id));
    sma_buf_put_json_member(json, "platform", delivery->channel);
    sma_buf_put_json_member(
        json, "state",
        sma_str(delivery->state < SMA_COUNT_OF(states) ? states[delivery->state] : "unknown"));
    sma_buf_put_json_number(json, "attempts", delivery->attempt_count);
    sma_buf_put_json_number(json, "parts", delivery->part_count);
    put_time(json, "madeAt", delivery->made_ms);
    put_time(json, "endedAt", delivery->ended_ms);
    if (delivery->made_ms != 0 && delivery->ended_ms >= delivery->made_ms)
        sma_buf_put_json_number(json, "ms", (uint64_t)(delivery->ended_ms - delivery->made_ms));
    if (is_failure)
        sma_buf_put_json_member(json, "error", delivery->error);
    sma_buf_put_char(json, '}');
    return json->err;
}

const char *sma_store_state_name(const struct sma_store *store, const struct sma_state_head *head,
                                 uint64_t run)
{
    switch (head->state) {
    case SMA_ROW_WAITING:
        return "waiting";
    case SMA_ROW_RUNNING:
        return "running";
    case SMA_ROW_PARKED:
        return sma_store_is_waiting_run(store, run) ? "waiting_for_model" : "parked";
    case SMA_ROW_DONE:
        return "done";
    case SMA_ROW_CANCELLED:
        return "cancelled";
    case SMA_ROW_IGNORED:
        return "ignored";
    case SMA_ROW_BUSY:
        return "busy";
    default:
        return "failed";
    }
}

static SMA_CHECKED enum sma_err put_trace(struct sma_store *store, struct sma_buf *json,
                                          uint64_t seq)
{
    struct sma_state_head head;
    struct trace_facts facts = {.json = json};
    enum sma_err err = sma_state_head_get(store->state, seq, &head);
    if (err != SMA_ERR_OK)
        return err;
    uint64_t run = head.run_seq != 0 ? head.run_seq : seq;
    sma_buf_put_text(json, "{\"runId\":");
    sma_buf_printf(json, "\"%llu\"", (unsigned long long)run);
    if (run != seq)
        sma_buf_put_json_number(json, "messageSeq", seq);
    sma_buf_put_json_member(json, "status", sma_str(sma_store_state_name(store, &head, run)));
    err = sma_state_message_get(store->state, seq, put_message, &facts);
    if (err == SMA_ERR_OK)
        err = sma_state_result_get(store->state, run, put_result, &facts);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    bool is_refused = head.state == SMA_ROW_IGNORED || head.state == SMA_ROW_BUSY;
    if (is_refused || (!facts.has_result && !sma_row_is_open(head.state)))
        put_reason(json, facts.why);
    if (sma_row_is_open(head.state))
        sma_store_put_waits(store, json, &head);
    sma_buf_clear(&store->scratch.load);
    err = sma_state_trace_get(store->state, run, &store->scratch.load);
    if (err != SMA_ERR_OK)
        return err;
    sma_buf_put_text(json, ",\"stages\":[");
    sma_trace_put_json(json, sma_buf_str(&store->scratch.load));
    sma_buf_put_text(json, "],\"deliveries\":[");
    facts.count = 0;
    err = sma_state_each_delivery(store->state, run, put_delivery, &facts);
    sma_buf_put_text(json, "]}");
    return err == SMA_ERR_OK ? json->err : err;
}

void sma_store_put_trace(struct sma_store *store, struct sma_buf *json, struct sma_str asked)
{
    uint64_t seq;
    enum sma_err err = find_seq(store, asked, &seq);
    size_t begun = json->len;
    if (err == SMA_ERR_OK)
        err = put_trace(store, json, seq);
    if (err == SMA_ERR_OK)
        return;
    if (err != SMA_ERR_NOTFOUND)
        sma_ctx_log(store->ctx, SMA_LOG_WARN, "the trace of a message cannot be read: %s",
                    sma_state_error(store->state)->text);
    json->len = begun;
    json->err = SMA_ERR_OK;
    sma_buf_put_text(json, "{}");
}

void sma_store_put_delivery(struct sma_store *store, struct sma_buf *json, struct sma_str asked)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_delivery delivery;
    struct trace_facts facts = {.json = json};
    int64_t id;
    if (sma_parse_i64(asked, 1, INT64_MAX, &id) != SMA_ERR_OK ||
        sma_state_delivery_read(store->state, (uint64_t)id, &rows, &delivery) != SMA_ERR_OK) {
        sma_buf_put_text(json, "{}");
        return;
    }
    if (put_delivery(&facts, &delivery) != SMA_ERR_OK)
        return;
    json->len--; /* its brace */
    sma_buf_put_json_member(json, "chatKey", delivery.chat->key);
    sma_buf_put_char(json, '}');
}
