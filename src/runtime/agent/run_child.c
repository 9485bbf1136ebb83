/* run_child.c — sub-agents: begun, fed, ended. See run_child.h. */
#include "run_priv.h"

#include "sma/chats.h"

#include <stdlib.h>

#define BIT(index) (UINT32_C(1) << (index))

/* -- what a call may ask for ------------------------------------------------------------------- */
/* Those that write to people are only for a sub-agent whose call lists them. */
static uint32_t usual_tools(void)
{
    uint32_t tools = 0;
    for (int i = 0; i < SMA_TOOL_COUNT; i++)
        if (!run_is_send((enum sma_tool)i))
            tools |= BIT(i);
    return tools;
}

/* Never more than its run has, and no sub-agents of its own. */
static uint64_t offers_of(const struct sma_run *run, const struct sma_tool_args *args)
{
    uint64_t offers = run->offers;
    uint32_t tools = args->says_tools ? args->tools : usual_tools();
    for (int i = 0; i < SMA_TOOL_COUNT; i++)
        if (i == SMA_TOOL_AGENT_RUN || (tools >> i & 1) == 0)
            offers |= UINT64_C(1) << (SMA_TOOL_OFFER_REFUSED + i);
    return offers;
}

void run_child_check(struct sma_run *run, uint32_t index)
{
    struct run_call *call = &run->calls[index];
    struct sma_str model = call->args.model;
    uint32_t before = run->child_total;
    for (uint32_t i = 0; i < index; i++)
        before += run->calls[i].tool == SMA_TOOL_AGENT_RUN;
    if (before >= SMA_HELPER_TOTAL_MAX || run->next_number > SMA_HELPER_STEP_NUMBER_MAX)
        run_set_error(call, SMA_STR("Not carried out: there were as many sub-agents in this run as "
                                    "may be. Do the rest yourself, or tell the user what is "
                                    "left."));
    else if (model.len > 0 &&
             sma_models_find(run->settings->config, model) >= run->settings->model_count)
        run_set_error(call, SMA_STR("Not carried out: no model of this name is configured. Call "
                                    "again without \"model\"."));
}

/* -- one of them ------------------------------------------------------------------------------- */
static bool holds_back(const struct sma_step *step)
{
    return step->request_json.len > 0 || step->wait_ms > 0;
}

/* An action of a sub-agent as one of its run. false: there is none; *is_short: of memory. */
static bool take_action(struct sma_run *run, struct run_child *child, struct sma_run_action *action,
                        bool *is_short)
{
    switch (action->kind) {
    case SMA_RUN_ASK_MODEL:
    case SMA_RUN_CANCEL_MODEL:
    case SMA_RUN_ASK_CONTACT:
    case SMA_RUN_ASK_HISTORY:
    case SMA_RUN_ASK_MEMORY:
    case SMA_RUN_ASK_FETCH:
    case SMA_RUN_ASK_SEND:
    case SMA_RUN_ASK_TOOL: /* what people see and what is logged knows the run and its call */
    case SMA_RUN_ASK_ENCODE:
        action->call |= child->number << RUN_CHILD_SHIFT;
        return true;
    case SMA_RUN_ASK_MCP:
        action->call |= child->number << RUN_CHILD_SHIFT;
        action->mcp.call = action->call;
        return true;
    case SMA_RUN_LEARN:
        return true;
    case SMA_RUN_PROGRESS:
        return action->progress == SMA_PROGRESS_TOOL;
    case SMA_RUN_STORE_STEP:
        if (holds_back(&action->step)) {
            child->held = action->step;
            child->state = CHILD_HELD;
            return false;
        }
        *is_short |= !run_child_put_step(run, child, &action->step, action);
        return !*is_short;
    case SMA_RUN_STORE_DONE:
        child->state = CHILD_ENDING;
        *is_short |= !run_child_put_end(run, child, &action->done, action);
        return !*is_short;
    case SMA_RUN_CANCEL_MCP:
        run->children->has_cancelled_mcp = true;
        return false;
    case SMA_RUN_CANCEL_TOOLS: /* all of the run's at once, when it ends itself */
        run->children->has_cancelled = true;
        return false;
    case SMA_RUN_END:
        if (child->state != CHILD_ENDING)
            child->state = CHILD_LEFT;
        return false;
    case SMA_RUN_ELICITED: /* its run asks people for it */
    case SMA_RUN_ASK_SESSION:
    case SMA_RUN_WAIT:
        break;
    }
    return false;
}

void run_child_feed(struct sma_run *run, struct run_child *child, struct sma_run_event event)
{
    struct sma_run_actions *actions = run->actions;
    uint32_t from = actions->count, to = from;
    bool is_short = false;
    event.now_ns = run->now_ns;
    child->run->actions = actions;
    run->machine->handle(child->run, &event);
    for (uint32_t i = from; i < actions->count; i++) {
        struct sma_run_action action = actions->list[i];
        if (take_action(run, child, &action, &is_short))
            actions->list[to++] = action;
    }
    actions->count = to;
    if (is_short && run->state != RUN_FINISHING)
        run_finish_failed(run, "out of memory");
}

/* -- beginning --------------------------------------------------------------------------------- */
static void make_order(struct sma_run *run, struct run_child *child)
{
    const struct sma_run_order *from = run->order;
    const struct run_children *children = run->children;
    child->order =
        (struct sma_run_order){.seq = from->seq,
                               .route = from->route,
                               .text = run->calls[child->call].args.instructions,
                               .wall_ms = from->wall_ms,
                               .is_resumed = child->step_count > 0,
                               .is_group = from->is_group,
                               .attempt = 1,
                               .step_count = child->step_count,
                               .steps = child->steps,
                               .delivery_count = child->order.delivery_count,
                               .deliveries = child->deliveries,
                               .is_decided = from->is_decided && children->is_decision_newest &&
                                             children->asked_call == child->call,
                               .standing = from->standing,
                               .over = run->over,
                               .facts_word = from->facts_word,
                               .replies_left = from->replies_left,
                               .grant_count = from->grant_count,
                               .grants = from->grants,
                               .model = from->model,
                               .stamps = from->stamps};
}

static void choose_model(struct sma_run *made, struct sma_str name)
{
    const struct sma_run_settings *settings = made->settings;
    size_t index = name.len == 0 ? settings->model_count : sma_models_find(settings->config, name);
    if (index >= settings->model_count)
        return;
    made->chat.first = index;
    made->chat.skipped = ~(BIT(settings->target_count) - 1) | (index != 0 ? BIT(0) : 0);
    made->chat.skipped &= ~BIT(index);
}

static bool make_run(struct sma_run *run, struct run_child *child)
{
    uint8_t key[16];
    const struct sma_tool_args *args = &run->calls[child->call].args;
    if (!run_child_take_deliveries(run, child))
        return false;
    make_order(run, child);
    memcpy(key, run->random, sizeof key);
    child->sessions = sma_sessions_create(key);
    struct sma_session *session =
        child->sessions == NULL
            ? NULL
            : sma_session_pin(child->sessions, run->order->route.chat_key, run->now_ns);
    struct sma_run_options options = {.order = &child->order,
                                      .sessions = child->sessions,
                                      .session = session,
                                      .settings = run->settings,
                                      .has_files = run->has_files,
                                      .has_cards = run->has_cards,
                                      .has_reactions =
                                          (run->offers & SMA_TOOL_OFFER_REACTIONS) != 0,
                                      .has_markdown = run->channel.has_markdown,
                                      .is_stored = run->channel.is_stored,
                                      .part_chars_max = run->channel.part_chars_max,
                                      .wall_ms = sma_run_wall_ms(run, run->now_ns),
                                      .random = {run->random[0] ^ child->number, run->random[1]}};
    if (session == NULL || run->machine->create(&options, &child->run) != SMA_ERR_OK)
        return false;
    struct sma_run *made = child->run;
    int steps = run->settings->config->agent_helper_steps;
    made->parent = run;
    made->language = run->language;
    made->offers = offers_of(run, args);
    if (!run_mcp_inherit(made, args))
        return false;
    made->round_max = steps > 0 ? (uint32_t)steps : SMA_HELPER_STEP_COUNT;
    choose_model(made, args->model);
    return true;
}

static void begin(struct sma_run *run, struct run_child *child)
{
    child->number = ++run->child_number;
    child->state = CHILD_OPEN;
    if (make_run(run, child))
        run_child_feed(run, child, (struct sma_run_event){.kind = SMA_RUN_START});
    else
        run_finish_failed(run, "out of memory");
}

void run_child_begin(struct sma_run *run, uint32_t index)
{
    struct run_children *children = run_child_room(run);
    if (children == NULL || index >= SMA_TOOL_CALL_COUNT_MAX) {
        run_set_error(&run->calls[index], SMA_STR("Out of memory."));
        return;
    }
    run_open_call(run, index, CALL_CHILD);
    children->list[index].call = index;
    children->list[index].state = CHILD_WAITING;
    run_child_pump(run);
}

/* -- whose turn it is -------------------------------------------------------------------------- */
static uint32_t count(const struct run_children *children, enum run_child_state state)
{
    uint32_t counted = 0;
    for (uint32_t i = 0; i < SMA_TOOL_CALL_COUNT_MAX; i++)
        counted += children->list[i].state == state;
    return counted;
}

static struct run_child *first_of(struct run_children *children, enum run_child_state state)
{
    for (uint32_t i = 0; i < SMA_TOOL_CALL_COUNT_MAX; i++)
        if (children->list[i].state == state)
            return &children->list[i];
    return NULL;
}

/* Every open call is a sub-agent's, and of those nothing is on its way. */
static bool is_still(const struct sma_run *run)
{
    uint32_t own = 0;
    for (uint32_t i = 0; i < run->call_count; i++)
        own += run->calls[i].stage == CALL_CHILD;
    return own == run->open_count && run->children->first == NULL && run->note_number == 0 &&
           count(run->children, CHILD_OPEN) == 0 && count(run->children, CHILD_ENDING) == 0;
}

void run_child_pump(struct sma_run *run)
{
    struct run_children *children = run->children;
    uint32_t places = (uint32_t)run->settings->config->agent_helpers;
    if (places == 0)
        places = 1; /* switched off while it was open */
    while (run->state == RUN_TOOLS && !run->is_draining &&
           count(children, CHILD_OPEN) + count(children, CHILD_HELD) < places) {
        struct run_child *child = first_of(children, CHILD_WAITING);
        if (child == NULL)
            break;
        begin(run, child);
    }
    struct run_child *held = first_of(children, CHILD_HELD);
    if (held != NULL && run->state == RUN_TOOLS && is_still(run))
        run_child_park(run, held);
}

bool run_child_event(struct sma_run *run, const struct sma_run_event *event)
{
    bool is_answer = event->kind == SMA_RUN_MODEL || event->kind == SMA_RUN_CONTACT ||
                     event->kind == SMA_RUN_HISTORY || event->kind == SMA_RUN_SENT ||
                     event->kind == SMA_RUN_TOOL || event->kind == SMA_RUN_ENCODED ||
                     event->kind == SMA_RUN_MEMORY || event->kind == SMA_RUN_MCP ||
                     event->kind == SMA_RUN_FETCHED;
    uint32_t number = event->call >> RUN_CHILD_SHIFT;
    if (!is_answer || number == 0)
        return false;
    struct run_child *child = run_child_find(run, number);
    if (child == NULL || run->state != RUN_TOOLS)
        return true; /* it is over */
    struct sma_run_event own = *event;
    own.call = event->call & RUN_CHILD_CALL_MASK;
    run_child_feed(run, child, own);
    run_child_pump(run);
    if (run->state == RUN_TOOLS)
        run_check_round(run);
    return true;
}

void run_child_tell_all(struct sma_run *run, enum sma_run_event_kind kind)
{
    struct run_children *children = run->children;
    for (uint32_t i = 0; children != NULL && i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        struct run_child *child = &children->list[i];
        if (child->run != NULL && child->state != CHILD_LEFT)
            run_child_feed(run, child, (struct sma_run_event){.kind = kind});
    }
    if (children != NULL)
        run_child_pump(run);
}
