/* run_memory.c — what is remembered: recalled facts in the turn, and the calls that look and write.
 * See run.h. */
#include "run_priv.h"

#include "runtime/memory/memory_text.h"
#include "sma/text.h"

#include <jansson.h>

/* -- recalled facts ---------------------------------------------------------------------------- */
static struct sma_str memory_mark(struct sma_run *run)
{
    sma_buf_clear(&run->scratch);
    sma_prompt_put_memory_mark(&run->scratch, run->order->facts_word);
    return sma_buf_str(&run->scratch);
}

static const char *find(struct sma_str text, struct sma_str word)
{
    return text.len == 0 || word.len == 0 ? NULL : memmem(text.ptr, text.len, word.ptr, word.len);
}

size_t run_find_recalled(struct sma_run *run)
{
    struct sma_str facts = sma_buf_str(&run->facts), mark = memory_mark(run);
    for (const char *at; (at = find(facts, mark)) != NULL;) {
        if (at > run->facts.ptr && at[-1] == '\n')
            return (size_t)(at - run->facts.ptr) - 1;
        size_t passed = (size_t)(at - facts.ptr) + mark.len;
        facts = (struct sma_str){facts.ptr + passed, facts.len - passed};
    }
    return run->facts.len;
}

/* Does a turn that is sent along hold this fact? Looked for behind the mark only: few turns have
 * one. */
static bool is_told(const struct sma_run *run, struct sma_str mark, uint64_t id)
{
    char name[18];
    snprintf(name, sizeof name, "m%016llx", (unsigned long long)id);
    for (uint32_t i = 0; i < run->session->turn_count; i++) {
        struct sma_str turn = run->session->turns[i]->bytes;
        const char *at = find(turn, mark);
        if (at == NULL)
            continue;
        struct sma_str behind = {at, turn.len - (size_t)(at - turn.ptr)};
        if (find(behind, (struct sma_str){name, sizeof name - 1}) != NULL)
            return true;
    }
    return false;
}

void run_put_recalled(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    struct sma_str mark = memory_mark(run);
    bool has_any = false;
    for (uint32_t i = 0; i < order->recalled_count; i++) {
        if (is_told(run, mark, order->recalled[i].id))
            continue;
        if (!has_any)
            sma_prompt_put_memory(&run->facts, order);
        has_any = true;
        size_t at = run->facts.len;
        sma_prompt_put_recalled(&run->facts, &order->recalled[i]);
        /* a model can be talked into remembering the word that our blocks begin with */
        if (run->facts.err == SMA_ERR_OK)
            run_cross_out(run, run->facts.ptr + at, run->facts.len - at);
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
