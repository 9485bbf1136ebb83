/* run_results.c — what calls resulted in, and what becomes of it: stored, counted, in the session.
 * See run_priv.h. */
#include "run_priv.h"
#include "sma/text.h"

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

bool run_is_send(enum sma_tool tool)
{
    return tool == SMA_TOOL_SEND || tool == SMA_TOOL_CONTACT_SEND || tool == SMA_TOOL_SEND_FILE ||
           tool == SMA_TOOL_REACT;
}

/* Of the name and of the arguments whatever order and spacing they have. */
static uint64_t hash_call(const struct sma_run *run, const struct sma_stored_call *call)
{
    uint8_t key[16];
    memcpy(key, run->random, sizeof key);
    uint64_t name = sma_siphash(key, call->name.ptr, call->name.len);
    json_t *root = call->is_invalid || call->arguments.len == 0
                       ? NULL
                       : json_loadb(call->arguments.ptr, call->arguments.len, 0, NULL);
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t arguments = text != NULL ? sma_siphash(key, text, strlen(text))
                                      : sma_siphash(key, call->arguments.ptr, call->arguments.len);
    free(text);
    json_decref(root);
    memcpy(key, &name, sizeof name);
    return sma_siphash(key, &arguments, sizeof arguments);
}

static struct run_failure *find_failure(const struct sma_run *run, uint64_t hash)
{
    for (uint32_t i = 0; i < run->failure_count; i++) {
        if (run->failures[i].hash == hash)
            return &run->failures[i];
    }
    return NULL;
}

bool run_is_repeated(struct sma_run *run, const struct sma_stored_call *call)
{
    if (run->failure_count == 0)
        return false;
    const struct run_failure *failure = find_failure(run, hash_call(run, call));
    return failure != NULL && failure->count >= SMA_REPEAT_COUNT_MAX;
}

/* After a change of a file the same command may well end otherwise: `make` is not stopped while
 * somebody mends. */
static bool is_change(struct sma_str name)
{
    enum sma_tool tool = sma_tool_find(name);
    return tool == SMA_TOOL_EDIT_FILE || tool == SMA_TOOL_WRITE_FILE;
}

void run_count_result(struct sma_run *run, const struct sma_stored_call *call, bool is_error)
{
    if (!is_error && is_change(call->name))
        run->failure_count = 0;
    if (!is_error && run->failure_count == 0)
        return;
    uint64_t hash = hash_call(run, call);
    struct run_failure *failure = find_failure(run, hash);
    if (!is_error) {
        if (failure != NULL)
            failure->count = 0;
        return;
    }
    if (failure == NULL) {
        if (run->failure_count == run->failure_room) {
            uint32_t room = run->failure_room * 2 + 8;
            struct run_failure *more = realloc(run->failures, room * sizeof *more);
            if (more == NULL)
                return; /* not counted: it may be tried once more than it should */
            run->failures = more;
            run->failure_room = room;
        }
        failure = &run->failures[run->failure_count++];
        *failure = (struct run_failure){.hash = hash};
    }
    failure->count++;
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

void run_add_words(struct sma_run *run, uint32_t index)
{
    struct run_call *call = &run->calls[index];
    bool has_words = call->is_approved && call->agreed->response.len > 0;
    bool tells_time = run->tells_time && index == 0;
    if (!has_words && !tells_time)
        return;
    sma_buf_clear(&run->scratch);
    sma_buf_put_char(&run->scratch, '{');
    if (tells_time) {
        sma_buf_put_text(&run->scratch, "\"timeNow\":\"");
        sma_prompt_put_time(&run->scratch, sma_run_wall_ms(run, run->now_ns));
        sma_buf_put_text(&run->scratch, "\",");
    }
    if (has_words) {
        sma_buf_put_text(&run->scratch, "\"agreedWithTheWords\":");
        sma_buf_put_json_string(&run->scratch, call->agreed->response);
        sma_buf_put_char(&run->scratch, ',');
    }
    sma_buf_put_text(&run->scratch, "\"result\":");
    sma_buf_put_str(&run->scratch, sma_buf_str(&call->result));
    sma_buf_put_char(&run->scratch, '}');
    if (run->scratch.err != SMA_ERR_OK)
        return; /* the result alone */
    sma_buf_clear(&call->result);
    sma_buf_put_str(&call->result, sma_buf_str(&run->scratch));
    run_set_result(call, call->is_error);
}
