/* run_memory.c — the calls that look into what is remembered, and add to it. See run.h. */
#include "run_priv.h"

#include "runtime/memory/memory_text.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>

/* -- recall ------------------------------------------------------------------------------------ */
void run_recall_init(struct run_recall *recall)
{
    sma_buf_init(&recall->texts, 2 * SMA_MEMORY_RECALL_BYTES_MAX);
    sma_buf_init(&recall->told, SMA_MEMORY_TOLD_COUNT_MAX * sizeof(uint64_t));
}

void run_recall_fini(struct run_recall *recall)
{
    sma_buf_fini(&recall->texts);
    sma_buf_fini(&recall->told);
}

bool run_recall_ask(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    if (!order->has_memory || run->parent != NULL || run->recall.is_asked)
        return false;
    run->recall.is_asked = run->recall.is_open = true;
    run->state = RUN_LOADING;
    run_find_told(run);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_MEMORY);
    action->memory = (struct sma_memory_ask){
        .op = SMA_MEMORY_RECALL,
        .route = order->route,
        .is_group = order->is_group || sma_prompt_is_group(order->route.chat_type),
        .text = order->text,
        .told = run->recall.told.err == SMA_ERR_OK ? sma_buf_str(&run->recall.told)
                                                   : (struct sma_str){0}};
    run_wait(run); /* a second, then it goes without */
    return true;
}

static void keep_recalled(struct run_recall *recall, const struct sma_recalled *from)
{
    struct sma_recalled fact = *from;
    if (recall->count >= SMA_MEMORY_RECALL_COUNT_MAX)
        return;
    fact.text.ptr = (const char *)recall->texts.len;
    sma_buf_put_str(&recall->texts, from->text);
    if (recall->texts.err == SMA_ERR_OK)
        recall->facts[recall->count++] = fact;
}

void run_recall_came(struct sma_run *run, const struct sma_memory_result *result)
{
    run->recall.is_open = false;
    if (result == NULL)
        return;
    for (uint32_t i = 0; i < result->recalled_count; i++)
        keep_recalled(&run->recall, &result->recalled[i]);
    for (size_t at = 0; at + sizeof(uint64_t) <= result->gone.len; at += sizeof(uint64_t)) {
        uint64_t id;
        char name[24];
        memcpy(&id, result->gone.ptr + at, sizeof id);
        snprintf(name, sizeof name, ", m%016llx)", (unsigned long long)id);
        sma_session_blank(run->session, sma_str(name));
    }
}

/* -- calls ------------------------------------------------------------------------------------- */
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
        .op = is_upsert ? SMA_MEMORY_UPSERT : SMA_MEMORY_SEARCH,
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
