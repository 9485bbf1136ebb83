/* trace.c — see trace.h. */
#include "runtime/agent/trace.h"

#include "runtime/agent/codec.h"
#include "sma/text.h"

enum trace_kind
{
    TRACE_CUT, /* records were left out here */
    TRACE_BEGIN,
    TRACE_MODEL,
    TRACE_TOOL,
    TRACE_WAIT,
    TRACE_DURABLE,
    TRACE_END,
    TRACE_COMPACTION,
    TRACE_REPEATED,
};
#define RECORD_BYTES_MAX (2 + 255)
#define NUMBER_MAX (UINT64_C(1) << 53) /* what JSON's readers hold exactly */
#define UNKNOWN 0                      /* a number is stored plus one where it may be unknown */

/* -- writing ----------------------------------------------------------------------------------- */
struct record
{
    size_t len;
    char bytes[RECORD_BYTES_MAX];
};

static void put_byte(struct record *record, unsigned byte)
{
    if (record->len < sizeof record->bytes)
        record->bytes[record->len] = (char)byte;
    record->len++; /* beyond the room: seen in keep() */
}

static void put_number(struct record *record, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        put_byte(record, (unsigned)(number & 0x7f) | 0x80);
    put_byte(record, (unsigned)number);
}

/* Between two moments, in microseconds, plus one. */
static void put_span(struct record *record, uint64_t from_ns, uint64_t to_ns)
{
    put_number(record, from_ns == 0 || to_ns < from_ns ? UNKNOWN : (to_ns - from_ns) / 1000 + 1);
}

static void put_name(struct record *record, struct sma_str name)
{
    size_t len = sma_utf8_cut(name, SMA_TRACE_NAME_BYTES_MAX);
    put_number(record, len);
    for (size_t i = 0; i < len; i++)
        put_byte(record, (unsigned char)name.ptr[i]);
}

static struct record make(enum trace_kind kind, int64_t wall_ms)
{
    struct record record = {.len = 0};
    put_byte(&record, kind);
    put_byte(&record, 0); /* the size, in keep() */
    put_number(&record, wall_ms < 0 ? 0 : (uint64_t)wall_ms);
    return record;
}

/* Two bytes are left for the record that says that something was left out. */
static void keep(struct sma_trace *trace, struct record *record)
{
    SMA_ASSERT(record->len <= sizeof record->bytes);
    record->bytes[1] = (char)(unsigned char)(record->len - 2);
    if (trace->is_cut)
        return;
    if (trace->len + record->len + 2 > sizeof trace->bytes) {
        trace->is_cut = true;
        trace->bytes[trace->len++] = TRACE_CUT;
        trace->bytes[trace->len++] = 0;
        return;
    }
    memcpy(trace->bytes + trace->len, record->bytes, record->len);
    trace->len += (uint32_t)record->len;
}

void sma_trace_begin(struct sma_trace *trace, int64_t wall_ms, uint64_t now_ns,
                     const struct sma_run_order *order)
{
    const struct sma_stamps *stamps = &order->stamps;
    struct record record = make(TRACE_BEGIN, wall_ms);
    put_number(&record, order->attempt);
    put_number(&record, order->step_count);
    put_span(&record, stamps->read_ns, now_ns);
    put_span(&record, stamps->parsed_ns, now_ns);
    put_span(&record, stamps->claimed_ns, now_ns);
    put_span(&record, stamps->run_ns, now_ns);
    keep(trace, &record);
}

void sma_trace_model(struct sma_trace *trace, int64_t wall_ms, const struct sma_trace_model *about,
                     const struct sma_model_answer *answer)
{
    const struct sma_usage *usage = &answer->usage;
    struct record record = make(TRACE_MODEL, wall_ms);
    put_number(&record, about->round);
    put_number(&record, answer->status);
    put_number(&record, answer->status == SMA_MODEL_FAILED ? answer->trouble : answer->finish);
    put_span(&record, about->asked_ns, about->now_ns);
    put_span(&record, about->asked_ns, answer->out_ns);
    put_span(&record, answer->out_ns, answer->first_token_ns);
    put_number(&record, usage->input);
    put_number(&record, usage->cached);
    put_number(&record, usage->written);
    put_number(&record, usage->output);
    put_number(&record, usage->reasoning);
    put_name(&record, about->target);
    keep(trace, &record);
}

void sma_trace_tool(struct sma_trace *trace, int64_t wall_ms, struct sma_str tool, uint64_t ms,
                    bool is_error)
{
    struct record record = make(TRACE_TOOL, wall_ms);
    put_number(&record, ms);
    put_number(&record, is_error);
    put_name(&record, tool);
    keep(trace, &record);
}

void sma_trace_repeated(struct sma_trace *trace, int64_t wall_ms, struct sma_str tool,
                        uint32_t times)
{
    struct record record = make(TRACE_REPEATED, wall_ms);
    put_number(&record, times);
    put_name(&record, tool);
    keep(trace, &record);
}

void sma_trace_wait(struct sma_trace *trace, int64_t wall_ms, uint64_t wait_ms)
{
    struct record record = make(TRACE_WAIT, wall_ms);
    put_number(&record, wait_ms);
    keep(trace, &record);
}

void sma_trace_durable(struct sma_trace *trace, int64_t wall_ms)
{
    struct record record = make(TRACE_DURABLE, wall_ms);
    keep(trace, &record);
}

void sma_trace_compaction(struct sma_trace *trace, int64_t wall_ms,
                          const struct sma_stored_past *past, bool is_done)
{
    struct record record = make(TRACE_COMPACTION, wall_ms);
    put_number(&record, is_done);
    put_number(&record, past->turn_count);
    put_number(&record, past->round_count);
    put_number(&record, past->tokens_before);
    put_number(&record, past->tokens_after);
    keep(trace, &record);
}

void sma_trace_end(struct sma_trace *trace, int64_t wall_ms, uint8_t outcome)
{
    struct record record = make(TRACE_END, wall_ms);
    put_number(&record, outcome);
    keep(trace, &record);
}

/* -- reading ----------------------------------------------------------------------------------- */
struct reader
{
    const unsigned char *at, *end;
};

static uint64_t take_number(struct reader *reader)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (reader->at == reader->end)
            break;
        unsigned byte = *reader->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number <= NUMBER_MAX ? number : 0;
    }
    return 0; /* none of ours */
}

static struct sma_str take_name(struct reader *reader)
{
    uint64_t len = take_number(reader);
    struct sma_str name = {(const char *)reader->at, (size_t)len};
    if (len > (uint64_t)(reader->end - reader->at))
        return SMA_STR("");
    reader->at += len;
    return name;
}

static void put_u64(struct sma_buf *json, const char *key, uint64_t number)
{
    sma_buf_put_json_key(json, key);
    sma_buf_put_u64(json, number);
}

/* Microseconds plus one, as milliseconds with three places. */
static void put_ms(struct sma_buf *json, const char *key, uint64_t span)
{
    if (span == UNKNOWN)
        return;
    sma_buf_put_json_key(json, key);
    sma_buf_printf(json, "%llu.%03llu", (unsigned long long)((span - 1) / 1000),
                   (unsigned long long)((span - 1) % 1000));
}

static void open_stage(struct sma_buf *json, const char *stage)
{
    if (json->len > 0 && json->ptr[json->len - 1] == '}')
        sma_buf_put_char(json, ',');
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "stage", sma_str(stage));
}

static void put_at(struct sma_buf *json, uint64_t wall_us)
{
    sma_buf_put_json_key(json, "at");
    sma_buf_put_char(json, '"');
    sma_buf_put_iso_time(json, (int64_t)(wall_us / 1000));
    sma_buf_put_char(json, '"');
    put_u64(json, "atUs", wall_us);
}

/* What came before the run begins, as stages of their own: `before` ago. */
static void put_before(struct sma_buf *json, const char *stage, uint64_t wall_us, uint64_t before)
{
    if (before == UNKNOWN || before - 1 > wall_us)
        return;
    open_stage(json, stage);
    put_at(json, wall_us - (before - 1));
    sma_buf_put_char(json, '}');
}

static void put_begin(struct sma_buf *json, struct reader *reader, uint64_t wall_us)
{
    uint64_t attempt = take_number(reader), steps = take_number(reader);
    static const char *const stages[] = {"read", "parsed", "claimed", "handed_over"};
    for (size_t i = 0; i < SMA_COUNT_OF(stages); i++)
        put_before(json, stages[i], wall_us, take_number(reader));
    open_stage(json, "begun");
    put_at(json, wall_us);
    if (attempt > 1)
        put_u64(json, "attempt", attempt);
    if (steps > 0)
        put_u64(json, "steps", steps);
}

static const char *outcome_of(uint64_t status, uint64_t detail)
{
    static const char *const finishes[] = {
        [SMA_FINISH_STOP] = "ok",         [SMA_FINISH_TOOLS] = "ok",
        [SMA_FINISH_LENGTH] = "cut",      [SMA_FINISH_FILTERED] = "filtered",
        [SMA_FINISH_REFUSED] = "refused",
    };
    static const char *const troubles[] = {
        [SMA_MODEL_FAILURE_TRANSIENT] = "transient", [SMA_MODEL_FAILURE_RATE] = "rate",
        [SMA_MODEL_FAILURE_QUOTA] = "quota",         [SMA_MODEL_FAILURE_AUTH] = "auth",
        [SMA_MODEL_FAILURE_NO_MODEL] = "no_model",   [SMA_MODEL_FAILURE_MEMBER] = "member",
        [SMA_MODEL_FAILURE_SESSION] = "session",     [SMA_MODEL_FAILURE_REQUEST] = "request",
        [SMA_MODEL_FAILURE_SETUP] = "setup",         [SMA_MODEL_FAILURE_PICTURE] = "picture",
        [SMA_MODEL_FAILURE_FILE] = "file",
    };
    if (status == SMA_MODEL_OK)
        return detail < SMA_COUNT_OF(finishes) ? finishes[detail] : "ok";
    if (status == SMA_MODEL_CONTEXT_LENGTH)
        return "context_length";
    if (status == SMA_MODEL_CANCELLED)
        return "cancelled";
    return detail < SMA_COUNT_OF(troubles) ? troubles[detail] : "failed";
}

static void put_model(struct sma_buf *json, struct reader *reader, uint64_t wall_us)
{
    static const char *const tokens[] = {"input", "cached", "written", "output", "reasoning"};
    uint64_t round = take_number(reader), status = take_number(reader),
             detail = take_number(reader), total = take_number(reader),
             queued = take_number(reader), first = take_number(reader);
    open_stage(json, "model");
    put_at(json, wall_us);
    put_u64(json, "round", round);
    sma_buf_put_json_member(json, "outcome", sma_str(outcome_of(status, detail)));
    put_ms(json, "ms", total);
    put_ms(json, "queuedMs", queued);
    put_ms(json, "firstTokenMs", first);
    for (size_t i = 0; i < SMA_COUNT_OF(tokens); i++)
        put_u64(json, tokens[i], take_number(reader));
    sma_buf_put_json_member(json, "target", take_name(reader));
}

static void put_tool(struct sma_buf *json, struct reader *reader, uint64_t wall_us)
{
    uint64_t ms = take_number(reader), is_error = take_number(reader);
    open_stage(json, "tool");
    put_at(json, wall_us);
    sma_buf_put_json_member(json, "tool", take_name(reader));
    put_u64(json, "ms", ms);
    sma_buf_put_json_key(json, "isError");
    sma_buf_put_text(json, is_error != 0 ? "true" : "false");
}

static void put_compaction(struct sma_buf *json, struct reader *reader, uint64_t wall_us)
{
    uint64_t is_done = take_number(reader);
    open_stage(json, "compaction");
    put_at(json, wall_us);
    sma_buf_put_json_member(json, "outcome", is_done != 0 ? SMA_STR("ok") : SMA_STR("failed"));
    put_u64(json, "turns", take_number(reader));
    put_u64(json, "rounds", take_number(reader));
    put_u64(json, "tokensBefore", take_number(reader));
    put_u64(json, "tokensAfter", take_number(reader));
}

static void put_end(struct sma_buf *json, struct reader *reader, uint64_t wall_us)
{
    static const char *const outcomes[] = {[SMA_OUTCOME_OK] = "ok",
                                           [SMA_OUTCOME_FAILED] = "failed",
                                           [SMA_OUTCOME_CANCELLED] = "cancelled",
                                           [SMA_OUTCOME_GIVEN_UP] = "given_up"};
    uint64_t outcome = take_number(reader);
    open_stage(json, "ended");
    put_at(json, wall_us);
    sma_buf_put_json_member(
        json, "outcome", sma_str(outcome < SMA_COUNT_OF(outcomes) ? outcomes[outcome] : "failed"));
}

static void put_record(struct sma_buf *json, unsigned kind, struct reader *reader)
{
    uint64_t wall_us = kind == TRACE_CUT ? 0 : take_number(reader) * 1000, number;
    switch (kind) {
    case TRACE_CUT:
        open_stage(json, "left_out");
        break;
    case TRACE_BEGIN:
        put_begin(json, reader, wall_us);
        break;
    case TRACE_MODEL:
        put_model(json, reader, wall_us);
        break;
    case TRACE_TOOL:
        put_tool(json, reader, wall_us);
        break;
    case TRACE_WAIT:
        number = take_number(reader);
        open_stage(json, "waits");
        put_at(json, wall_us);
        if (number > 0)
            put_u64(json, "waitMs", number);
        break;
    case TRACE_DURABLE:
        open_stage(json, "durable");
        put_at(json, wall_us);
        break;
    case TRACE_COMPACTION:
        put_compaction(json, reader, wall_us);
        break;
    case TRACE_REPEATED:
        number = take_number(reader);
        open_stage(json, "repeated");
        put_at(json, wall_us);
        sma_buf_put_json_member(json, "tool", take_name(reader));
        put_u64(json, "times", number);
        break;
    case TRACE_END:
        put_end(json, reader, wall_us);
        break;
    default:
        return;
    }
    sma_buf_put_char(json, '}');
}

void sma_trace_put_json(struct sma_buf *json, struct sma_str bytes)
{
    size_t at = 0;
    while (bytes.len - at >= 2) {
        unsigned kind = (unsigned char)bytes.ptr[at], size = (unsigned char)bytes.ptr[at + 1];
        if (size > bytes.len - at - 2)
            return;
        const unsigned char *payload = (const unsigned char *)bytes.ptr + at + 2;
        struct reader reader = {.at = payload, .end = payload + size};
        put_record(json, kind, &reader);
        at += 2 + size;
    }
}
