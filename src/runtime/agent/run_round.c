/* run_round.c — one round of a run: the answer comes in, its results go out. See run.h. */
#include "run_priv.h"

#include "sma/text.h"

#include <stdlib.h>

/* -- the answer arrives ------------------------------------------------------------------------ */
bool run_open_answer(struct sma_run *run)
{
    enum sma_err err = run->answer_data.err;
    if (err == SMA_ERR_OK)
        err = sma_codec_get_answer(sma_buf_str(&run->answer_data), &run->answer);
    if (err == SMA_ERR_OK) {
        run->call_count = run->answer.call_count;
        run->calls = calloc(run->call_count + 1, sizeof *run->calls);
        run->deliveries = calloc(run->call_count + 1, sizeof *run->deliveries);
        if (run->calls == NULL || run->deliveries == NULL)
            err = SMA_ERR_NOMEM;
    }
    if (err != SMA_ERR_OK) {
        run->call_count = run->calls == NULL ? 0 : run->call_count;
        run_finish_failed(run, err == SMA_ERR_CORRUPT ? "the stored steps are damaged"
                                                      : sma_err_text(err));
        return false;
    }
    for (uint32_t i = 0; i < run->call_count; i++) {
        sma_buf_init(&run->calls[i].result, SMA_STEP_BYTES_MAX);
        sma_buf_init(&run->calls[i].route_text, SMA_STEP_BYTES_MAX);
        sma_buf_init(&run->calls[i].delivery_text, SMA_TEXT_BYTES_MAX);
        sma_buf_init(&run->calls[i].item, SMA_STEP_BYTES_MAX);
        run->calls[i].tool = sma_tool_find(run->answer.calls[i].name);
    }
    run->open_count = run->tool_open_count = run->delivery_count = 0;
    run_nudge_count(run);
    return true;
}

void run_drop_answer(struct sma_run *run)
{
    for (uint32_t i = 0; run->calls != NULL && i < run->call_count; i++) {
        sma_tool_args_fini(&run->calls[i].args);
        sma_buf_fini(&run->calls[i].result);
        sma_buf_fini(&run->calls[i].route_text);
        sma_buf_fini(&run->calls[i].delivery_text);
        sma_buf_fini(&run->calls[i].item);
    }
    free(run->calls);
    free(run->deliveries);
    run->calls = NULL;
    run->deliveries = NULL;
    run->call_count = run->open_count = run->tool_open_count = run->delivery_count = 0;
    run->is_parking = run->has_decisions = false;
    run->wait_ms = 0;
    run->note_number = 0;
    sma_stored_decisions_fini(&run->decisions);
    sma_stored_answer_fini(&run->answer);
    sma_buf_clear(&run->answer_data);
}

/* Calls become deliveries of the step, so that their outbox rows are in its transaction. When
 * people are asked about the answer only what goes to the chat itself goes out before they have
 * spoken. */
static void collect_deliveries(struct sma_run *run)
{
    run->delivery_count = 0;
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct run_call *call = &run->calls[i];
        bool goes_now =
            call->tool == SMA_TOOL_SEND || (run_is_send(call->tool) && !run->is_parking);
        if (!call->has_result && goes_now)
            run_put_delivery(run, i);
    }
}

/* The results that are known before the step is stored become part of it. */
static bool close_answer(struct sma_run *run)
{
    for (uint32_t i = 0; i < run->call_count; i++) {
        struct sma_stored_call *stored = &run->answer.calls[i];
        stored->has_result = run->calls[i].has_result;
        stored->is_error = run->calls[i].is_error;
        stored->result = sma_buf_str(&run->calls[i].result);
        stored->has_receiver =
            run->is_parking && !stored->has_result && run->calls[i].tool == SMA_TOOL_CONTACT_SEND;
        stored->receiver = run->calls[i].route;
    }
    sma_codec_put_known_results(&run->answer_data, run->answer.calls, run->call_count);
    sma_codec_put_receivers(&run->answer_data, run->answer.calls, run->call_count);
    sma_stored_answer_fini(&run->answer); /* its slices point into bytes that may have moved */
    enum sma_err err = run->answer_data.err;
    if (err == SMA_ERR_OK)
        err = sma_codec_get_answer(sma_buf_str(&run->answer_data), &run->answer);
    if (err == SMA_ERR_OK)
        return true;
    run_finish_failed(run, sma_err_text(err));
    return false;
}

void run_store_answer(struct sma_run *run)
{
    bool is_behind = run->results_number != 0 && !run->results_are_asked;
    run->answer_is_asked =
        !is_behind; /* numbers stay in order: RETRY stores the results first, then this */
    if (is_behind) {
        if (run->is_draining)
            run_end(run, false);
        return;
    }
    struct sma_run_action *action = run_act(run, SMA_RUN_STORE_STEP);
    action->step = (struct sma_step){.seq = run->order->seq,
                                     .number = run->answer_number,
                                     .kind = run->wait_ms > 0 ? SMA_STEP_WAIT : SMA_STEP_ANSWER,
                                     .wait_ms = run->wait_ms,
                                     .usage = run->usage,
                                     .target = run_usage_target(run),
                                     .data = sma_buf_str(&run->answer_data),
                                     .delivery_count = run->delivery_count,
                                     .deliveries = run->deliveries,
                                     .request_json = run->is_parking ? sma_buf_str(&run->request)
                                                                     : (struct sma_str){0}};
}

void run_store_wait(struct sma_run *run, uint32_t wait_ms, const struct sma_stored_wait *wait,
                    const struct sma_step_delivery *delivery)
{
    run_drop_answer(run);
    sma_codec_put_wait(&run->answer_data, wait);
    run->deliveries = calloc(1, sizeof *run->deliveries);
    if (run->answer_data.err != SMA_ERR_OK || run->deliveries == NULL) {
        run_finish_failed(run, "out of memory");
        return;
    }
    if (delivery != NULL)
        run->deliveries[run->delivery_count++] = *delivery;
    run->wait_ms = wait_ms;
    run->answer_number = run->next_number++;
    run->state = RUN_STORING;
    run_store_answer(run);
}

void run_resolved(struct sma_run *run)
{
    if (!run_build_request(run))
        return;
    collect_deliveries(run);
    if (!close_answer(run))
        return;
    run->answer_number = run->next_number++;
    run->state = RUN_STORING;
    run_store_answer(run);
}

bool run_begin_round(struct sma_run *run, const struct sma_model_answer *answer,
                     struct sma_str line)
{
    run->round++;
    run_drop_answer(run);
    struct sma_answer_extra extra = {.facts = run->round == 1 ? sma_buf_str(&run->facts)
                                                              : (struct sma_str){0},
                                     .key = sma_str(run->target->key),
                                     .line = line};
    sma_codec_put_answer(&run->answer_data, &extra, answer);
    return run_open_answer(run);
}

void run_on_answer(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (answer->fragment.len == 0) { /* its results would have nothing to belong to */
        run_finish_failed(run, "the model's answer could not be read");
        return;
    }
    if (!run_begin_round(run, answer, (struct sma_str){0}))
        return;
    for (uint32_t i = 0; i < run->call_count; i++)
        run_check_call(run, i);
    for (uint32_t i = 0; i < run->call_count; i++) {
        if (run->calls[i].has_result)
            continue;
        if (run->calls[i].tool == SMA_TOOL_CONTACT_SEND)
            run_ask_contact(run, i); /* and when it is known who that is: the check */
        else if (sma_tool_is_gated(run->calls[i].tool))
            run_ask_tool(run, i, SMA_TOOL_CHECK);
    }
    if (run->open_count > 0)
        run->state = RUN_CHECKING;
    else
        run_resolved(run);
}

/* -- the answer is durable: carry its calls out ------------------------------------------------ */
void run_carry_out(struct sma_run *run, const struct sma_step_done *step)
{
    if (run->is_parking || run->wait_ms > 0) { /* nobody was asked: nothing may be done */
        run_finish_failed(run, run->is_parking ? "consent could not be asked for"
                                               : "it could not be left waiting for the model");
        return;
    }
    if (run->is_draining) {
        run_end(run,
                /* its rows are the store's and the dispatcher's now; the rest is told on resume */
                false);
        return;
    }
    if (run->call_count == 0) {
        run_absorb(run, (struct sma_str){0});
        run_drop_answer(run);
        run_next(run);
        return;
    }
    run->state = RUN_TOOLS;
    for (uint32_t i = 0; i < run->call_count; i++) {
        struct run_call *call = &run->calls[i];
        if (call->has_result)
            continue;
        if (call->delivery == 0) {
            run_begin_call(run, i);
            continue;
        }
        run_progress(run, SMA_PROGRESS_TOOL, run->answer.calls[i].name);
        if (call->delivery > step->delivery_count)
            run_set_error(call, SMA_STR("The message could not be queued."));
        else
            run_delivery_state(run, i, &step->deliveries[call->delivery - 1]);
    }
    run_begin_commands(run);
    run_check_round(run);
}

/* -- the round is over ------------------------------------------------------------------------- */
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

/* The round told its own chat something and did nothing else: nobody waits for what would come of
 * it. A send that failed is still to be told in another way. */
static bool is_said_only(const struct run_round *round)
{
    bool is_said = false;
    for (uint32_t i = 0; round != NULL && i < round->results.count; i++) {
        const struct sma_stored_result *result = &round->results.results[i];
        enum sma_tool tool = sma_tool_find(round->answer.calls[i].name);
        if (!run_is_send(tool) || tool == SMA_TOOL_CONTACT_SEND || result->is_error)
            return false;
        is_said |= result->is_delivered;
    }
    return is_said;
}

void run_absorb(struct sma_run *run, struct sma_str results)
{
    struct run_round *round = run_add_round(run, results);
    run->is_answered = is_said_only(round) && run->parts.len == 0;
    for (uint32_t i = 0; round != NULL && i < round->results.count; i++)
        if (!round->results.results[i].is_error &&
            run_is_send(sma_tool_find(round->answer.calls[i].name)))
            run->has_worked = false; /* what the same answer did besides counts as later */
    for (uint32_t i = 0; round != NULL && i < round->results.count; i++) {
        const struct sma_stored_call *call = &round->answer.calls[i];
        const struct sma_stored_result *result = &round->results.results[i];
        enum sma_tool tool = sma_tool_find(call->name);
        run->has_worked |= !run_is_send(tool);
        run->has_shown |= !result->is_error && run_is_send(tool) && tool != SMA_TOOL_CONTACT_SEND;
        put_tool_call(run, call, result->content);
        run_count_result(run, call, result->is_error);
        if (result->is_delivered) {
            run->has_delivered = true;
            note_sent_text(run, call);
        }
    }
}

bool run_put_results(struct sma_run *run)
{
    struct sma_stored_result *results = calloc((size_t)run->call_count + 1, sizeof *results);
    if (results == NULL) {
        run_finish_failed(run, "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct run_call *call = &run->calls[i];
        run_add_words(run, i);
        results[i] = (struct sma_stored_result){run->answer.calls[i].id, run->answer.calls[i].name,
                                                sma_buf_str(&call->result), call->is_error,
                                                call->is_delivered};
    }
    run->tells_time = false;
    sma_buf_clear(&run->results_data);
    sma_codec_put_results(&run->results_data, results, run->call_count);
    free(results);
    if (run->results_data.err == SMA_ERR_OK)
        return true;
    run_finish_failed(run, sma_err_text(run->results_data.err));
    return false;
}

bool run_is_known_by_rows(const struct sma_run *run)
{
    uint32_t row_count = 0;
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct run_call *call = &run->calls[i];
        bool is_row =
            call->delivery != 0 && run_is_send(call->tool) && call->tool != SMA_TOOL_CONTACT_SEND;
        row_count += is_row;
        if (!is_row && !run->answer.calls[i].has_result)
            return false;
    }
    return row_count > 0 && !run->has_decisions;
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

static void close_round(struct sma_run *run)
{
    bool is_known = run_is_known_by_rows(run);
    SMA_ASSERT(run->results_number ==
               0); /* the answer in between was durable, so the ones before it are */
    if (!run_put_results(run))
        return;
    run_trace_calls(run);
    run_absorb(run, sma_buf_str(&run->results_data));
    run_drop_answer(run);
    if (!is_known) {
        run->results_number = run->next_number++;
        run_store_results(run);
    }
    if (!run->is_draining)
        run_next(run);
    else if (is_known)
        run_end(run, false);
    else
        run->state = RUN_SETTLING;
}

/* Draining: what only waits for a platform need not be waited for; its outbox row is the result. */
void run_check_round(struct sma_run *run)
{
    if (run->open_count == 0) {
        close_round(run);
        return;
    }
    if (!run->is_draining)
        return;
    for (uint32_t i = 0; i < run->call_count; i++) {
        enum call_stage stage = run->calls[i].stage;
        if (stage != CALL_IDLE && stage != CALL_SENT)
            return;
    }
    run_settle(run);
}
