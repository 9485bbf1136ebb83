/* run_trace.c — what a run notes of its life. See trace.h. */
#include "run_priv.h"

#define NS_PER_MS 1000000

struct sma_trace *sma_run_trace(struct sma_run *run)
{
    return &run->trace;
}

int64_t sma_run_wall_ms(const struct sma_run *run, uint64_t now_ns)
{
    return run->wall_ms +
           (now_ns < run->begun_ns ? 0 : (int64_t)((now_ns - run->begun_ns) / NS_PER_MS));
}

void run_trace_begin(struct sma_run *run)
{
    run->begun_ns = run->now_ns;
    sma_trace_begin(&run->trace, run->wall_ms, run->now_ns, run->order);
}

void run_trace_answer(struct sma_run *run, const struct sma_model_answer *answer)
{
    struct sma_trace_model about = {
        .round = run->round, .asked_ns = run->asked_ns, .now_ns = run->now_ns};
    if (run->target != NULL)
        about.target = sma_str(run->target->key);
    sma_trace_model(&run->trace, sma_run_wall_ms(run, run->now_ns), &about, answer);
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
        uint64_t end = call->begun_ns == 0 ? run->now_ns : call->ended_ns;
        sma_trace_tool(&run->trace, sma_run_wall_ms(run, end), name,
                       call->begun_ns == 0 ? 0 : (end - call->begun_ns) / NS_PER_MS,
                       call->is_error);
    }
}
