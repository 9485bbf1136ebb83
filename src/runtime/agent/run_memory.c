/* run_memory.c — the calls that look into what is remembered, and add to it. See run.h. */
#include "run_priv.h"

#include "runtime/memory/memory_text.h"
#include "sma/text.h"

#include <jansson.h>

static struct sma_str join_tags(struct sma_run *run, const json_t *tags)
{
    sma_buf_clear(&run->scratch);
    for (size_t i = 0; i < json_array_size(tags); i++) {
        const json_t *tag = json_array_get(tags, i);
        if (i > 0)
            sma_buf_put_char(&run->scratch, ' ');
        /* one word each: a blank would make two of it */
        for (size_t k = 0; k < json_string_length(tag); k++) {
            char byte = json_string_value(tag)[k];
            sma_buf_put_char(&run->scratch, (unsigned char)byte <= ' ' ? '-' : byte);
        }
    }
    return sma_buf_str(&run->scratch);
}

void run_ask_memory(struct sma_run *run, uint32_t index)
{
    const struct sma_run_order *order = run->order;
    const struct sma_tool_args *args = &run->calls[index].args;
    bool is_upsert = run->calls[index].tool == SMA_TOOL_MEMORY_UPSERT;
    enum sma_memory_kind kind = SMA_MEMORY_FACT;
    (void)sma_memory_kind_find(args->kind, &kind); /* checked; none = a fact */
    struct sma_str tags = is_upsert ? join_tags(run, args->tags) : SMA_STR("");
    if (is_upsert && run->scratch.err != SMA_ERR_OK) {
        run_set_error(&run->calls[index], SMA_STR("Out of memory."));
        return;
    }
    run_open_call(run, index, CALL_MEMORY);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_MEMORY);
    action->call = index;
    action->memory = (struct sma_memory_ask){
        .route = order->route,
        .is_group = order->is_group || sma_prompt_is_group(order->route.chat_type),
        .is_upsert = is_upsert,
        .text = is_upsert ? args->content : args->query,
        .is_project = sma_str_is_equal(args->scope, SMA_STR("project")),
        .kind = (uint8_t)kind,
        .importance = (uint8_t)args->importance,
        .tags = tags,
        .replaces = args->replaces,
        .limit = args->limit};
}

void run_memory(struct sma_run *run, uint32_t index, const struct sma_memory_result *result)
{
    if (run->state != RUN_TOOLS)
        return;
    struct run_call *call = run_close_call(run, index, CALL_MEMORY);
    if (call == NULL)
        return;
    if (result->content.len > 0)
        sma_buf_put_str(&call->result, result->content);
    else
        sma_tool_put_error(&call->result, SMA_STR("Out of memory."));
    run_set_result(call, result->is_error || result->content.len == 0);
    run_check_round(run);
}
