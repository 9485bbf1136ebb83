/* run_trace.c — what a run notes of its life. See trace.h. */
#include "run_priv.h"

#include "sma/labels.h"
#include "sma/links.h"

struct sma_trace *sma_run_trace(struct sma_run *run)
{
    return &run->trace;
}

int64_t sma_run_wall_ms(const struct sma_run *run, uint64_t now_ns)
{
    return run->wall_ms +
           (now_ns < run->begun_ns ? 0 : (int64_t)((now_ns - run->begun_ns) / SMA_NS_PER_MS));
}

/* What a sub-agent does is noted as its run's. */
static struct sma_trace *trace_of(struct sma_run *run)
{
    return run->parent != NULL ? &run->parent->trace : &run->trace;
}

void run_trace_begin(struct sma_run *run)
{
    run->begun_ns = run->now_ns;
    if (run->parent != NULL)
        return;
    sma_trace_begin(&run->trace, run->wall_ms, run->now_ns, run->order);
}

/* By the target that was asked: there are as many as are configured. */
void run_count_answer(struct sma_str target, const struct sma_model_answer *answer, uint64_t ns)
{
    unsigned label = sma_label_place(SMA_LABEL_MODEL, target);
    unsigned word = answer->status; /* OK, CONTEXT_LENGTH, then FAILED by its trouble */
    _Static_assert(SMA_MODEL_OK == 0 && SMA_MODEL_CONTEXT_LENGTH == 1,
                   "words of model_calls_total");
    if (answer->status == SMA_MODEL_CANCELLED)
        word = 2;
    else if (answer->status == SMA_MODEL_FAILED)
        word = 3 + (answer->trouble <= SMA_MODEL_FAILURE_SETUP ? answer->trouble
                                                               : SMA_MODEL_FAILURE_TRANSIENT);
    SMA_FAMILY_ADD(model_calls_total, label, word, 1);
    SMA_FAMILY_ADD(model_seconds_total, label, 0, ns);
    const struct sma_usage *usage = &answer->usage;
    const uint64_t tokens[] = {usage->input, usage->cached, usage->written, usage->output,
                               usage->reasoning};
    for (unsigned i = 0; i < SMA_COUNT_OF(tokens); i++)
        SMA_FAMILY_ADD(model_tokens_total, label, i, tokens[i]);
    SMA_FAMILY_ADD(model_cost_total, label, 0, usage->cost_nano);
}

void run_trace_answer(struct sma_run *run, const struct sma_model_answer *answer)
{
    struct sma_trace_model about = {
        .round = run->round, .asked_ns = run->asked_ns, .now_ns = run->now_ns};
    if (run->target != NULL)
        about.target = sma_str(run->target->key);
    if (answer->status == SMA_MODEL_OK)
        sma_target_answered(about.target, sma_run_wall_ms(run, run->now_ns));
    else if (answer->status == SMA_MODEL_FAILED)
        sma_target_failed(about.target, sma_run_wall_ms(run, run->now_ns), 0, answer->error);
    run_count_answer(about.target, answer,
                     run->now_ns < run->asked_ns ? 0 : run->now_ns - run->asked_ns);
    sma_trace_model(trace_of(run), sma_run_wall_ms(run, run->now_ns), &about, answer);
}

void run_trace_cooled(const struct sma_run *run, uint64_t until_ns, struct sma_str why)
{
    sma_target_failed(sma_str(run->target->key), sma_run_wall_ms(run, run->now_ns),
                      sma_run_wall_ms(run, until_ns), why);
}

void run_trace_calls(struct sma_run *run)
{
    size_t count;
    const struct sma_tool_spec *specs = sma_tool_specs(&count);
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct run_call *call = &run->calls[i];
        /* What the model calls a tool that there is not is its own word. */
        struct sma_str name =
            (size_t)call->tool < count ? specs[call->tool].name : SMA_STR("unknown");
        if (call->tool == SMA_TOOL_MCP)
            name = SMA_STR("mcp"); /* one label, however many tools servers have */
        if (!sma_tool_is_work(call->tool))
            SMA_FAMILY_ADD(tool_calls_total, sma_label_place(SMA_LABEL_TOOL, name), call->is_error,
                           1);
        uint64_t end = call->begun_ns == 0 ? run->now_ns : call->ended_ns;
        if (call->tool == SMA_TOOL_MCP)
            name = run->answer.calls[i].name;
        sma_trace_tool(trace_of(run), sma_run_wall_ms(run, end), name,
                       call->begun_ns == 0 ? 0 : (end - call->begun_ns) / SMA_NS_PER_MS,
                       call->is_error);
        if (call->times >= SMA_REPEAT_COUNT_MAX)
            sma_trace_repeated(trace_of(run), sma_run_wall_ms(run, end), name, call->times);
    }
}
