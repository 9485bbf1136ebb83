/* run_results.c — what calls resulted in is counted, and a round whose calls all have results ends.
 * See run_priv.h. */
#include "run_priv.h"
#include "sma/text.h"

#include <jansson.h>

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
