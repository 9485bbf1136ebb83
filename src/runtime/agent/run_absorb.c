/* run_absorb.c — results become what the session and the caller see. See run_priv.h. */
#include "run_priv.h"

#include "runtime/agent/session_view.h"

#include <jansson.h>

void run_set_result(struct run_call *call, bool is_error)
{
    call->has_result = true;
    call->is_error = is_error;
    if (call->result.err !=
        SMA_ERR_OK) { /* out of memory or absurdly large: still exactly one result */
        sma_buf_fini(&call->result);
        sma_buf_init(&call->result, SMA_STEP_BYTES_MAX);
        call->is_error = true;
        sma_tool_put_error(&call->result, SMA_STR("The result could not be kept."));
    }
}

void run_set_error(struct run_call *call, struct sma_str text)
{
    sma_tool_put_error(&call->result, text);
    run_set_result(call, true);
}

static void put_tool_call(struct sma_run *run, const struct sma_stored_call *call,
                          struct sma_str output)
{
    struct sma_buf *entry = &run->scratch;
    sma_buf_clear(entry);
    sma_buf_put_text(entry, run->tool_calls.len == 0 ? "[{\"tool\":" : ",{\"tool\":");
    sma_buf_put_json_string(entry, call->name);
    sma_buf_put_text(entry, ",\"input\":");
    if (call->is_invalid || call->arguments.len == 0)
        sma_buf_put_json_string(entry, call->arguments);
    else
        sma_buf_put_str(entry, call->arguments);
    sma_buf_put_text(entry, ",\"output\":");
    sma_buf_put_json_string(entry, output);
    sma_buf_put_char(entry, '}');
    /* Over the bound later calls are left out: the list stays valid JSON. */
    if (entry->err == SMA_ERR_OK && run->tool_calls.len + entry->len <= TOOL_CALLS_BYTES_MAX)
        sma_buf_put_str(&run->tool_calls, sma_buf_str(entry));
}

static void note_sent_text(struct sma_run *run, const struct sma_stored_call *call)
{
    struct sma_tool_args args;
    sma_buf_clear(&run->scratch);
    if (sma_tool_args_parse(SMA_TOOL_SEND, call->arguments, &args, &run->scratch) != SMA_ERR_OK)
        return;
    if (run->sent_texts.len > 0)
        sma_buf_put_text(&run->sent_texts, "\n\n");
    run->last_sent = run->sent_texts.len;
    sma_buf_put_str(&run->sent_texts, args.text);
    sma_tool_args_fini(&args);
}

/* All that the round sent is there, say the results: what is queued or in doubt may still fail. */
static bool is_all_there(const struct run_round *round)
{
    bool is_there = true;
    for (uint32_t i = 0; round != NULL && i < round->results.count; i++)
        is_there = is_there && sma_tool_has_arrived(round->results.results[i].content);
    return is_there;
}

/* The round told its own chat something and did nothing else: nobody waits for what would come of
 * it. A send that failed is still to be told in another way. */
static bool is_said_only(const struct sma_run *run, const struct run_round *round)
{
    bool is_said = false;
    for (uint32_t i = 0; round != NULL && i < round->results.count; i++) {
        const struct sma_stored_result *result = &round->results.results[i];
        enum sma_tool tool = sma_tool_find(round->answer.calls[i].name);
        if (!run_is_send(tool) || run_goes_elsewhere(run, &round->answer.calls[i]) ||
            result->is_error)
            return false;
        is_said |= result->is_delivered;
    }
    return is_said;
}

/* Its folder is what the result says, not the model. What does not fit carries no rules. */
static void note_skill(struct sma_run *run, struct sma_str result)
{
    json_t *root = json_loadb(result.ptr == NULL ? "" : result.ptr, result.len, 0, NULL);
    const char *place =
        json_string_value(json_object_get(json_object_get(root, "skill"), "directoryPath"));
    if (place != NULL && strchr(place, '\n') == NULL &&
        run->skills.len + strlen(place) + 1 < run->skills.max) {
        sma_buf_put_text(&run->skills, place);
        sma_buf_put_char(&run->skills, '\n');
    }
    json_decref(root);
}

void run_absorb(struct sma_run *run, struct sma_str results)
{
    struct run_round *round = run_add_round(run, results);
    run->is_answered = is_said_only(run, round) && run->parts.len == 0;
    run->is_shown = run->is_answered && is_all_there(round);
    for (uint32_t i = 0; round != NULL && i < round->results.count; i++)
        if (!round->results.results[i].is_error &&
            run_is_send(sma_tool_find(round->answer.calls[i].name)))
            run->has_worked = false; /* what the same answer did besides counts as later */
    bool has_news = round == NULL || round->results.count == 0;
    for (uint32_t i = 0; round != NULL && i < round->results.count; i++) {
        const struct sma_stored_call *call = &round->answer.calls[i];
        const struct sma_stored_result *result = &round->results.results[i];
        enum sma_tool tool = sma_tool_find(call->name);
        run->has_worked |= !run_is_send(tool);
        if (sma_tool_flow(tool) == SMA_FLOW_TELLS)
            run_content_came(run);
        run->has_shown |= !result->is_error && run_is_send(tool) && !run_goes_elsewhere(run, call);
        put_tool_call(run, call, result->content);
        run->child_total += tool == SMA_TOOL_AGENT_RUN;
        if (tool == SMA_TOOL_SKILLS_LOAD && !result->is_error)
            note_skill(run, result->content);
        if (tool == SMA_TOOL_LOAD_HISTORY)
            run_past_read(&run->past, result->content);
        has_news |= run_count_result(run, call, result->content, result->is_error);
        if (result->is_delivered) {
            run->has_delivered = true;
            note_sent_text(run, call);
        }
    }
    run->stale_count = has_news ? 0 : run->stale_count + 1;
    if (round != NULL)
        run_count_round(run, round);
}

/* One result alone must not crowd out everything else. */
static void cap_result(struct sma_run *run, struct run_call *call)
{
    size_t most = sma_context_result_bytes(run->target, &run->settings->known[run->target_index]);
    if (call->result.len <= most)
        return;
    struct sma_buf cut;
    sma_buf_init(&cut, call->result.max);
    if (sma_view_put_short(&cut, sma_buf_str(&call->result), most / 10 * 7, most / 10 * 2) &&
        cut.err == SMA_ERR_OK) {
        sma_buf_fini(&call->result);
        call->result = cut;
    } else {
        sma_buf_fini(&cut);
    }
}

bool run_put_results(struct sma_run *run)
{
    struct sma_stored_result *results = calloc((size_t)run->call_count + 1, sizeof *results);
    if (results == NULL) {
        run_finish_failed(run, "out of memory");
        return false;
    }
    uint32_t part_count = 0;
    for (uint32_t i = 0; i < run->call_count; i++)
        part_count += run->calls[i].part_count;
    struct sma_part *parts = part_count == 0 ? NULL : calloc(part_count, sizeof *parts);
    part_count = 0;
    for (uint32_t i = 0; i < run->call_count; i++)
        cap_result(run, &run->calls[i]);
    run_tell_repeated(run);
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct run_call *call = &run->calls[i];
        run_add_words(run, i);
        results[i] = (struct sma_stored_result){.call_id = run->answer.calls[i].id,
                                                .name = run->answer.calls[i].name,
                                                .content = sma_buf_str(&call->result),
                                                .is_error = call->is_error,
                                                .is_delivered = call->is_delivered};
        for (uint32_t k = 0; k < call->part_count && parts != NULL; k++)
            parts[part_count + k] = call->parts[k].part;
        results[i].parts = parts == NULL ? NULL : parts + part_count;
        results[i].part_count = parts == NULL ? 0 : call->part_count;
        part_count += results[i].part_count;
    }
    run->tells_time = false;
    sma_buf_clear(&run->results_data);
    sma_codec_put_results(&run->results_data, results, run->call_count);
    free(results);
    free(parts);
    if (run->results_data.err == SMA_ERR_OK)
        return true;
    run_finish_failed(run, sma_err_text(run->results_data.err));
    return false;
}

void run_absorb_open(struct sma_run *run)
{
    for (uint32_t i = 0; i < run->call_count; i++)
        if (!run->calls[i].has_result)
            run_set_error(&run->calls[i], SMA_STR("The user stopped this before it was finished; "
                                                  "it may have been done in part."));
    if (run_put_results(run))
        run_absorb(run, sma_buf_str(&run->results_data));
}
