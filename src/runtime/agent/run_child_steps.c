/* run_child_steps.c — steps of sub-agents on their way to the disk, and back. See run_child.h. */
#include "run_priv.h"

#include "sma/text.h"

#include <stdlib.h>

/* -- to the disk ------------------------------------------------------------------------------- */
static void free_step(struct run_child_step *step)
{
    sma_buf_fini(&step->bytes);
    free(step);
}

static void link(struct run_children *children, struct run_child_step *step)
{
    step->is_asked = true;
    if (children->last != NULL)
        children->last->next = step;
    else
        children->first = step;
    children->last = step;
}

/* `from` as a step of the run; its data is what `stored` says. NULL: out of memory. */
static struct run_child_step *append(struct sma_run *run, struct run_child *child,
                                     const struct sma_step *from,
                                     const struct sma_stored_child *stored)
{
    struct run_children *children = run->children;
    struct run_child_step *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    sma_buf_init(&made->bytes, SMA_STEP_BYTES_MAX);
    sma_codec_put_child(&made->bytes, stored);
    if (made->bytes.err != SMA_ERR_OK) {
        free_step(made);
        return NULL;
    }
    made->step = *from;
    made->step.seq = run->order->seq;
    made->step.number = run->next_number++;
    made->step.kind = SMA_STEP_CHILD;
    made->step.opens_calls = stored->kind == SMA_STEP_ANSWER;
    made->step.data = sma_buf_str(&made->bytes);
    made->child = child;
    made->local = stored->number;
    made->is_end = stored->kind == SMA_CHILD_END;
    link(children, made);
    return made;
}

static void say_step(struct sma_run_action *action, const struct run_child_step *step)
{
    memset(action, 0, sizeof *action);
    action->kind = SMA_RUN_STORE_STEP;
    action->step = step->step;
}

static struct run_child_step *append_step(struct sma_run *run, struct run_child *child,
                                          const struct sma_step *from)
{
    const struct sma_stored_child stored = {.call = child->call,
                                            .number = from->number,
                                            .kind = from->kind,
                                            .asks = from->request_json.len > 0,
                                            .data = from->data};
    return append(run, child, from, &stored);
}

bool run_child_put_step(struct sma_run *run, struct run_child *child, const struct sma_step *from,
                        struct sma_run_action *action)
{
    const struct run_child_step *made = append_step(run, child, from);
    if (made != NULL)
        say_step(action, made);
    return made != NULL;
}

/* Why it is not what was asked for; empty: it is. */
static struct sma_str error_of(const struct sma_run *made, const struct sma_done *done)
{
    struct sma_str notice = sma_str_trim(sma_buf_str(&made->done_text));
    if (done->outcome == SMA_OUTCOME_OK)
        return (struct sma_str){0};
    if (made->is_summing)
        return SMA_STR("Its steps were used up before it was finished; its output says how far it "
                       "came.");
    return notice.len > 0 ? notice : SMA_STR("The sub-agent failed.");
}

bool run_child_put_end(struct sma_run *run, struct run_child *child, const struct sma_done *done,
                       struct sma_run_action *action)
{
    sma_buf_init(&child->result, SMA_STEP_BYTES_MAX);
    sma_tool_put_report(&child->result, done->output, error_of(child->run, done));
    child->is_error = done->outcome != SMA_OUTCOME_OK;
    const struct sma_step from = {
        .usage = done->usage, .target = done->target, .delivery_count = 0};
    const struct sma_stored_child stored = {.call = child->call,
                                            .number = child->run->next_number,
                                            .kind = SMA_CHILD_END,
                                            .is_error = child->is_error,
                                            .data = sma_buf_str(&child->result)};
    const struct run_child_step *made =
        child->result.err != SMA_ERR_OK ? NULL : append(run, child, &from, &stored);
    if (made != NULL)
        say_step(action, made);
    return made != NULL;
}

/* Results of other calls that no step and no row has: the run is handed out without them. */
static bool store_results(struct sma_run *run)
{
    static const struct sma_step plain;
    for (uint32_t i = 0; i < run->call_count && i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        const struct run_call *call = &run->calls[i];
        if (!call->has_result || run->answer.calls[i].has_result || call->delivery != 0 ||
            call->tool == SMA_TOOL_AGENT_RUN)
            continue;
        const struct sma_stored_child stored = {.call = i,
                                                .number = 1,
                                                .kind = SMA_CHILD_END,
                                                .is_error = call->is_error,
                                                .data = sma_buf_str(&call->result)};
        const struct run_child_step *made = append(run, NULL, &plain, &stored);
        if (made == NULL)
            return false;
        say_step(run_act(run, SMA_RUN_STORE_STEP), made);
    }
    return true;
}

bool run_child_put_note(struct sma_run *run, const struct sma_step *note)
{
    struct run_children *children = run_child_room(run);
    struct run_child_step *made = children == NULL ? NULL : calloc(1, sizeof *made);
    if (made == NULL)
        return false;
    made->step = *note;
    made->step.number = run->next_number++;
    made->is_note = true;
    link(children, made);
    say_step(run_act(run, SMA_RUN_STORE_STEP), made);
    return true;
}

void run_child_park(struct sma_run *run, struct run_child *child)
{
    const struct run_child_step *made =
        store_results(run) ? append_step(run, child, &child->held) : NULL;
    if (made == NULL) {
        run_finish_failed(run, "out of memory");
        return;
    }
    child->state = CHILD_OPEN;
    say_step(run_act(run, SMA_RUN_STORE_STEP), made);
}

/* -- the store has answered -------------------------------------------------------------------- */
static struct run_child_step *take(struct run_children *children, uint32_t number)
{
    struct run_child_step **link = &children->first, *before = NULL;
    while (*link != NULL && (*link)->step.number != number) {
        before = *link;
        link = &before->next;
    }
    struct run_child_step *taken = *link;
    if (taken == NULL)
        return NULL;
    *link = taken->next;
    if (children->last == taken)
        children->last = before;
    return taken;
}

static void end(struct sma_run *run, struct run_child *child)
{
    struct run_call *call = run_close_call(run, child->call, CALL_CHILD);
    if (call == NULL)
        return;
    sma_buf_put_str(&call->result, sma_buf_str(&child->result));
    run_set_result(call, child->is_error);
    child->state = CHILD_NONE; /* its bytes stay until the round is over */
}

void run_child_durable(struct sma_run *run, const struct sma_step_done *step)
{
    struct run_child_step *stored =
        run->children == NULL ? NULL : take(run->children, step->number);
    if (stored == NULL)
        return;
    struct run_child *child = stored->child;
    struct sma_step_done own = *step;
    own.number = stored->local;
    if (stored->is_note)
        run_question_durable(run);
    else if (child != NULL && stored->is_end)
        end(run, child);
    else if (child != NULL && child->state != CHILD_LEFT)
        run_child_feed(run, child, (struct sma_run_event){.kind = SMA_RUN_STEP_DONE, .step = &own});
    free_step(stored);
    if (run->state != RUN_TOOLS)
        return;
    run_child_pump(run);
    if (run->state == RUN_TOOLS)
        run_check_round(run);
}

void run_child_no_disk(struct sma_run *run, uint32_t number)
{
    if (run->children == NULL)
        return;
    for (struct run_child_step *at = run->children->first; at != NULL; at = at->next)
        if (at->step.number == number)
            at->is_asked = false;
}

void run_child_store_again(struct sma_run *run, uint32_t below)
{
    if (run->children == NULL || run->state != RUN_TOOLS)
        return;
    for (struct run_child_step *at = run->children->first; at != NULL; at = at->next) {
        if (at->is_asked || at->step.number >= below)
            continue;
        at->is_asked = true;
        say_step(run_act(run, SMA_RUN_STORE_STEP), at);
    }
}

/* -- from the disk ----------------------------------------------------------------------------- */
static bool add_stored(struct run_child *child, const struct sma_stored_step *step)
{
    if (child->step_count == child->step_room) {
        uint32_t room = child->step_room * 2 + 8;
        struct sma_stored_step *more = realloc(child->steps, room * sizeof *more);
        if (more == NULL)
            return false;
        child->steps = more;
        child->step_room = room;
    }
    child->steps[child->step_count++] = *step;
    return true;
}

bool run_child_resume(struct sma_run *run, const struct sma_stored_step *step)
{
    struct run_children *children = run_child_room(run);
    struct sma_stored_child stored;
    if (children == NULL || sma_codec_get_child(step->data, &stored) != SMA_ERR_OK ||
        stored.call >= run->call_count || stored.call >= SMA_TOOL_CALL_COUNT_MAX)
        return false;
    struct run_child *child = &children->list[stored.call];
    child->call = stored.call;
    children->is_decision_newest = false;
    children->has_asked = stored.asks;
    children->asked_call = stored.call;
    if (stored.kind == SMA_CHILD_END) {
        child->has_end = true;
        child->is_error = stored.is_error;
        child->end = stored.data;
        return true;
    }
    struct sma_stored_answer answer;
    if (stored.kind == SMA_STEP_ANSWER &&
        sma_codec_get_answer(stored.data, &answer) == SMA_ERR_OK) {
        run_egress_resume(run, &answer.egress); /* it may be over, and then nobody reads it again */
        sma_stored_answer_fini(&answer);
    }
    return run->calls[stored.call].tool == SMA_TOOL_AGENT_RUN &&
           add_stored(child, &(struct sma_stored_step){.number = stored.number,
                                                       .kind = stored.kind,
                                                       .data = stored.data});
}

bool run_child_decided(struct sma_run *run, const struct sma_stored_step *step)
{
    struct run_children *children = run->children;
    if (children == NULL || !children->has_asked)
        return false;
    struct run_child *child = &children->list[children->asked_call];
    struct sma_stored_step own = *step;
    own.number = child->step_count == 0 ? 1 : child->steps[child->step_count - 1].number + 1;
    children->has_asked = false;
    children->is_decision_newest = true;
    if (!add_stored(child, &own))
        run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
    return true;
}

bool run_child_is_decided(const struct sma_run *run)
{
    return run->children != NULL && run->children->is_decision_newest;
}

bool run_child_resume_end(struct sma_run *run, uint32_t index)
{
    struct run_call *call = &run->calls[index];
    if (run->children == NULL || index >= SMA_TOOL_CALL_COUNT_MAX ||
        !run->children->list[index].has_end)
        return false;
    sma_buf_put_str(&call->result, run->children->list[index].end);
    run_set_result(call, run->children->list[index].is_error);
    return true;
}

static const struct sma_stored_step *find_step(const struct sma_run *run, uint32_t number)
{
    const struct sma_run_order *order = run->order;
    for (uint32_t i = 0; i < order->step_count; i++)
        if (order->steps[i].number == number)
            return order->steps[i].kind == SMA_STEP_CHILD ? &order->steps[i] : NULL;
    return NULL;
}

bool run_child_has_step(const struct sma_run *run, uint32_t number)
{
    return find_step(run, number) != NULL;
}

bool run_child_take_deliveries(struct sma_run *run, struct run_child *child)
{
    const struct sma_run_order *order = run->order;
    uint32_t kept = 0;
    if (child->step_count == 0 || order->delivery_count == 0)
        return true;
    child->deliveries = calloc(order->delivery_count, sizeof *child->deliveries);
    if (child->deliveries == NULL)
        return false;
    for (uint32_t i = 0; i < order->delivery_count; i++) {
        struct sma_stored_child stored;
        struct sma_step_delivery_state delivery = order->deliveries[i];
        const struct sma_stored_step *step =
            delivery.step > run->answer_number ? find_step(run, delivery.step) : NULL;
        if (step == NULL || sma_codec_get_child(step->data, &stored) != SMA_ERR_OK ||
            stored.call != child->call)
            continue;
        delivery.step = stored.number;
        child->deliveries[kept++] = delivery;
    }
    child->order.delivery_count = kept;
    return true;
}
