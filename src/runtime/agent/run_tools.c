/* run_tools.c — working tools and consent: checks, requests, what was decided, and calls that keep
 * failing. See run.h. */
#include "run_priv.h"

#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

static const char stopped_text[] =
    "Stopped before it was finished; it may have been done in part. It was not repeated: look "
    "before you do it again.";

bool run_is_send(enum sma_tool tool)
{
    return tool == SMA_TOOL_SEND || tool == SMA_TOOL_CONTACT_SEND || tool == SMA_TOOL_SEND_FILE ||
           tool == SMA_TOOL_REACT;
}

/* -- questions to the tools -------------------------------------------------------------------- */
/* "<chat key> <name> (<who>)", for sends elsewhere. The chat key is the same for the check, the
 * request and the check after consent; who it is a resumed run does not know. */
static struct sma_str put_receiver(struct sma_run *run, const struct run_call *call)
{
    sma_buf_clear(&run->scratch);
    if (call->tool != SMA_TOOL_CONTACT_SEND)
        return (struct sma_str){0};
    const struct sma_route *route = &call->route;
    sma_buf_put_str(&run->scratch, route->chat_key);
    sma_buf_put_char(&run->scratch, ' ');
    sma_buf_put_str(&run->scratch,
                    route->user_name.len > 0 ? route->user_name : call->args.user_name);
    if (call->whom.len > 0) {
        sma_buf_put_text(&run->scratch, " (");
        sma_buf_put_str(&run->scratch, call->whom);
        sma_buf_put_char(&run->scratch, ')');
    }
    return sma_buf_str(&run->scratch);
}

/* Several questions of one event may be open: each receiver needs bytes of its own until the next
 * event. */
static bool keep_receiver(struct sma_run *run, struct run_call *call, struct sma_str *ret_receiver)
{
    struct sma_str text = put_receiver(run, call);
    sma_buf_clear(&call->delivery_text);
    sma_buf_put_str(&call->delivery_text, text);
    *ret_receiver = sma_buf_str(&call->delivery_text);
    return run->scratch.err == SMA_ERR_OK && call->delivery_text.err == SMA_ERR_OK;
}

void run_ask_tool(struct sma_run *run, uint32_t index, enum sma_tool_mode mode)
{
    struct run_call *call = &run->calls[index];
    const struct sma_stored_call *stored = &run->answer.calls[index];
    struct sma_str receiver;
    if (!keep_receiver(run, call, &receiver)) {
        run_set_error(call, SMA_STR("Out of memory."));
        return;
    }
    run_open_call(run, index, mode == SMA_TOOL_RUN ? CALL_RUN : CALL_CHECK);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_TOOL);
    action->call = index;
    action->tool = (struct sma_tool_ask){.seq = run->order->seq,
                                         .call = index,
                                         .mode = (uint8_t)mode,
                                         .standing = run->order->standing,
                                         .is_approved = call->is_approved,
                                         .name = stored->name,
                                         .arguments = stored->arguments,
                                         .chat_key = run->order->route.chat_key,
                                         .receiver = receiver,
                                         .is_receiver_doubtful = call->is_doubtful,
                                         .grant_count = run->order->grant_count,
                                         .grants = run->order->grants};
    if (call->is_approved) {
        memcpy(action->tool.digest, call->agreed->digest, sizeof action->tool.digest);
        action->tool.is_by_owner = call->agreed->is_by_owner;
    }
}

/* What the tools said, as the result. */
static void on_content(struct run_call *call, struct sma_str content, const char *otherwise,
                       bool is_error)
{
    if (content.len > 0)
        sma_buf_put_str(&call->result, content);
    else
        sma_tool_put_error(&call->result, sma_str(otherwise));
    run_set_result(call, is_error || content.len == 0);
}

static void on_refusal(struct run_call *call, const struct sma_tool_answer *answer)
{
    if (answer->verdict == SMA_TOOL_STOPPED)
        run_set_error(call, SMA_STR("Not carried out: the program is stopping."));
    else
        on_content(call, answer->content, "Not carried out: it is not allowed.", true);
}

/* -- before the answer is stored --------------------------------------------------------------- */
static void checked(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer)
{
    struct run_call *call = run_close_call(run, index, CALL_CHECK);
    if (call == NULL)
        return;
    if (answer->verdict == SMA_TOOL_STOPPED && run->is_draining) {
        run_settle(run); /* the answer is not stored yet: the model is asked again */
        return;
    }
    if (answer->verdict == SMA_TOOL_ASKS) {
        call->is_asked = true;
        sma_buf_put_str(&call->item, answer->item_json);
        if (call->item.err != SMA_ERR_OK)
            run_set_error(call, SMA_STR("Out of memory."));
    } else if (answer->verdict != SMA_TOOL_ALLOWED) {
        on_refusal(call, answer);
    }
    if (run->open_count == 0)
        run_resolved(run);
}

/* No item that cannot be read goes to the store: its call is refused instead. */
static enum sma_err put_request(struct sma_run *run, struct sma_str *items, uint32_t *calls,
                                uint32_t *ret_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->call_count && i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        if (run->calls[i].has_result || !run->calls[i].is_asked)
            continue;
        items[count] = sma_buf_str(&run->calls[i].item);
        calls[count++] = i;
    }
    *ret_count = count;
    sma_buf_clear(&run->request);
    if (count == 0)
        return SMA_ERR_OK;
    enum sma_err err = sma_request_put(&run->request, items, calls, count);
    return err != SMA_ERR_OK ? err : run->request.err;
}

bool run_build_request(struct sma_run *run)
{
    struct sma_str items[SMA_TOOL_CALL_COUNT_MAX];
    uint32_t calls[SMA_TOOL_CALL_COUNT_MAX], count;
    enum sma_err err = put_request(run, items, calls, &count);
    if (err == SMA_ERR_NOMEM) {
        run_finish_failed(run, sma_err_text(err));
        return false;
    }
    for (uint32_t i = 0; err != SMA_ERR_OK && i < count; i++)
        run_set_error(&run->calls[calls[i]],
                      SMA_STR("Not carried out: it needs consent, and people could not be asked."));
    run->is_parking = err == SMA_ERR_OK && count > 0;
    return true;
}

/* -- carried out ------------------------------------------------------------------------------- */
static void ran(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer)
{
    struct run_call *call = run_close_call(run, index, CALL_RUN);
    if (call == NULL)
        return;
    if (answer->verdict == SMA_TOOL_STOPPED && run->is_draining) {
        run_settle(
            run); /* the next start says "interrupted": that is true then, "stopping" is not */
        return;
    }
    if (answer->verdict == SMA_TOOL_STOPPED)
        run_set_error(call, sma_str(stopped_text));
    else if (answer->verdict == SMA_TOOL_ALLOWED)
        on_content(call, answer->content, "The tool gave no result.", answer->is_error);
    else if (answer->verdict == SMA_TOOL_ASKS)
        on_content(call, answer->content,
                   "Not carried out: it is not what was agreed to any more. Call again if it is "
                   "still wanted; people are then asked anew.",
                   true);
    else
        on_refusal(call, answer);
    run_begin_commands(run);
    run_check_round(run);
}

/* -- sends that were agreed to ----------------------------------------------------------------- */
/* Would people be asked for exactly what they have agreed to? */
static bool is_agreed(struct sma_run *run, const struct run_call *call, struct sma_str item_json)
{
    struct sma_request request;
    uint32_t zero = 0;
    if (!call->is_approved)
        return false;
    sma_buf_clear(&run->scratch);
    if (sma_request_put(&run->scratch, &item_json, &zero, 1) != SMA_ERR_OK ||
        sma_request_parse(sma_buf_str(&run->scratch), &request) != SMA_ERR_OK)
        return false;
    bool is_same = request.item_count == 1 && memcmp(request.items[0].digest, call->agreed->digest,
                                                     sizeof call->agreed->digest) == 0;
    sma_request_fini(&request);
    return is_same;
}

/* All checks are there: the sends that may go become deliveries of one step. */
static void gather_note(struct sma_run *run)
{
    run->delivery_count = 0;
    for (uint32_t i = 0; i < run->call_count; i++) {
        if (run->calls[i].stage == CALL_CHECK)
            return;
    }
    for (uint32_t i = 0; i < run->call_count; i++) {
        if (run->calls[i].stage == CALL_NOTE)
            run_put_delivery(run, i);
    }
    if (run->delivery_count == 0)
        return;
    run->note_number = run->next_number++;
    run_store_note(run);
}

static void checked_again(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer)
{
    struct run_call *call = run_close_call(run, index, CALL_CHECK);
    if (call == NULL)
        return;
    if (answer->verdict == SMA_TOOL_ALLOWED ||
        (answer->verdict == SMA_TOOL_ASKS && is_agreed(run, call, answer->item_json)))
        run_open_call(run, index, CALL_NOTE);
    else if (answer->verdict == SMA_TOOL_ASKS)
        run_set_error(call, SMA_STR("Not sent: it is not what was agreed to any more. Call again "
                                    "if it is still wanted; people are then asked anew."));
    else
        on_refusal(call, answer);
    gather_note(run);
    run_check_round(run);
}

void run_store_note(struct sma_run *run)
{
    run->note_is_asked = true;
    struct sma_run_action *action = run_act(run, SMA_RUN_STORE_STEP);
    action->step = (struct sma_step){.seq = run->order->seq,
                                     .number = run->note_number,
                                     .kind = SMA_STEP_NOTE,
                                     .data = SMA_STR("sent after consent"),
                                     .delivery_count = run->delivery_count,
                                     .deliveries = run->deliveries};
}

void run_note_durable(struct sma_run *run, const struct sma_step_done *step)
{
    run->note_number = 0;
    for (uint32_t i = 0; i < run->call_count; i++) {
        struct run_call *call = run_close_call(run, i, CALL_NOTE);
        if (call == NULL)
            continue;
        if (call->delivery == 0 || call->delivery > step->delivery_count)
            run_set_error(call, SMA_STR("The message could not be queued."));
        else
            run_delivery_state(run, i, &step->deliveries[call->delivery - 1]);
    }
    run_check_round(run);
}

void run_tool(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer)
{
    if (index >= run->call_count)
        return;
    if (run->state == RUN_CHECKING)
        checked(run, index, answer);
    else if (run->state == RUN_TOOLS && run->calls[index].stage == CALL_CHECK)
        checked_again(run, index, answer);
    else if (run->state == RUN_TOOLS)
        ran(run, index, answer);
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

/* -- calls that keep failing ------------------------------------------------------------------- */
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
