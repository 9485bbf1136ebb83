/*
 * Aim: a run with sub-agents, cut anywhere: it comes to its end with every part's report, no tool
 *      runs before the step that holds its call is durable, and none twice.
 * Method: two sub-agents at once, one of which asks people; the model answers by what a request
 *         holds. The run is cut after each event, with its actions carried out or lost, and handed
 *         out again as the store would.
 */
#include "unit/agent/run_driver.h"

static const struct driver_call parts[] = {
    {"p0", "agent_run", "{\"instructions\":\"PART-A\"}"},
    {"p1", "agent_run", "{\"instructions\":\"PART-B\",\"tools\":[\"exec_shell\",\"chat_send\"]}"},
    {"p2", "list_files", "{}"},
    {0}};
static const struct driver_call work_a[] = {{"a0", "read_file", "{\"path\":\"fa\"}"},
                                            {"a1", "list_files", "{\"path\":\"la\"}"},
                                            {"a2", "mcp__files__write", "{\"path\":\"ma\"}"},
                                            {0}};
static const struct driver_call work_b[] = {{"b0", "exec_shell", "{\"command\":\"ask B\"}"},
                                            {"b1", "chat_send", "{\"text\":\"from B\"}"},
                                            {0}};
static const char *const tools[] = {"fa", "la", "ask B", "\"ma\"", "{}"};

struct pending
{
    enum sma_run_action_kind kind;
    uint32_t call, number;
    uint8_t mode;
    bool is_parking;
    char arguments[64];
};
struct play
{
    struct driver d;
    struct pending queue[512];
    size_t head, tail, event_count;
    uint32_t durable_number, run_counts[SMA_COUNT_OF(tools)];
    bool is_over, is_parked, is_decided, is_handed_out;
};

/* Something is done outside: once, and after its step. */
static void check_done(struct play *play, struct sma_str arguments, bool is_approved)
{
    for (size_t i = 0; i < SMA_COUNT_OF(tools); i++) {
        if (memmem(arguments.ptr, arguments.len, tools[i], strlen(tools[i])) == NULL)
            continue;
        CHECK_INT(1, ++play->run_counts[i]);
        CHECK(is_approved == (i == 2));
        /* a step with these arguments is durable */
        bool is_held = false;
        const struct driver *d = &play->d;
        for (uint32_t k = 0; k < d->step_count && d->steps[k].number <= play->durable_number; k++)
            is_held |= memmem(d->steps[k].data.ptr, d->steps[k].data.len, tools[i],
                              strlen(tools[i])) != NULL;
        CHECK(is_held);
    }
}

static void perform(struct play *play)
{
    struct driver *d = &play->d;
    driver_store(d);
    for (uint32_t i = 0; i < d->actions.count; i++) {
        const struct sma_run_action *action = &d->actions.list[i];
        if (action->kind == SMA_RUN_PROGRESS)
            continue;
        CHECK(play->tail < SMA_COUNT_OF(play->queue));
        struct pending *pending = &play->queue[play->tail++];
        *pending = (struct pending){.kind = action->kind, .call = action->call};
        if (action->kind == SMA_RUN_STORE_STEP) {
            pending->number = action->step.number;
            pending->is_parking = action->step.request_json.len > 0;
            play->is_parked |= pending->is_parking;
        } else if (action->kind == SMA_RUN_ASK_SEND) {
            pending->number = (uint32_t)(action->outbox_id - 100);
        } else if (action->kind == SMA_RUN_STORE_DONE) {
            driver_done(d, false);
        } else if (action->kind == SMA_RUN_ASK_TOOL) {
            pending->mode = action->tool.mode;
            CHECK(action->tool.arguments.len < sizeof pending->arguments);
            memcpy(pending->arguments, action->tool.arguments.ptr, action->tool.arguments.len);
            if (action->tool.mode == SMA_TOOL_RUN)
                check_done(play, action->tool.arguments, action->tool.is_approved);
        } else if (action->kind == SMA_RUN_ASK_MCP) {
            CHECK_INT(action->call, action->mcp.call);
            check_done(play, action->mcp.arguments, false);
        }
    }
}

static void answer_model(struct driver *d, uint32_t call)
{
    d->asker = call;
    struct sma_model_ask ask;
    free(driver_request(d, &ask));
    if (call == 0 && ask.round == 0)
        driver_answer(d, "", SMA_FINISH_TOOLS, parts);
    else if (call == 0)
        driver_answer(d, "end", SMA_FINISH_STOP, NULL);
    else if (driver_request_has(d, "PART-A"))
        driver_answer(d, ask.round == 0 ? "" : "report A",
                      ask.round == 0 ? SMA_FINISH_TOOLS : SMA_FINISH_STOP,
                      ask.round == 0 ? work_a : NULL);
    else
        driver_answer(d, ask.round == 0 ? "" : "report B",
                      ask.round == 0 ? SMA_FINISH_TOOLS : SMA_FINISH_STOP,
                      ask.round == 0 ? work_b : NULL);
    d->asker = 0;
}

static void step(struct play *play)
{
    struct driver *d = &play->d;
    struct pending pending = play->queue[play->head++];
    struct sma_step_done durable = {.seq = 10, .verdict = SMA_STEP_DURABLE};
    d->actions.count = 0;
    switch (pending.kind) {
    case SMA_RUN_ASK_MODEL:
        answer_model(d, pending.call);
        break;
    case SMA_RUN_ASK_TOOL:
        if (pending.mode == SMA_TOOL_CHECK)
            driver_tool(d, pending.call, SMA_TOOL_ASKS, "Q");
        else
            driver_tool(d, pending.call, SMA_TOOL_ALLOWED, "{\"success\":true}");
        break;
    case SMA_RUN_ASK_MCP:
        driver_event(
            d, (struct sma_run_event){.kind = SMA_RUN_MCP,
                                      .call = pending.call,
                                      .mcp = &(struct sma_mcp_answer){.outcome = SMA_MCP_OK,
                                                                      .text = SMA_STR("written")}});
        break;
    case SMA_RUN_ASK_SEND:
        d->deliveries[pending.number].state = SMA_DELIVERY_SENT;
        driver_sent(d, pending.call, SMA_SEND_SENT, "");
        break;
    case SMA_RUN_STORE_STEP:
        play->durable_number = pending.number;
        driver_verdict(d, pending.number, pending.is_parking ? SMA_STEP_PARKED : SMA_STEP_DURABLE);
        break;
    case SMA_RUN_STORE_DONE:
        driver_event(d, (struct sma_run_event){.kind = SMA_RUN_DONE_DONE, .step = &durable});
        break;
    case SMA_RUN_END:
        play->is_over = true;
        break;
    default:
        CHECK(false);
    }
    play->event_count++;
}

static void hand_out(struct play *play)
{
    static const struct sma_stored_decision yes[] = {
        {.call = 0, .is_approved = true, .digest = {'Q'}}};
    struct driver *d = &play->d;
    driver_cut(d);
    play->head = play->tail = 0;
    if (play->is_parked && !play->is_decided) {
        driver_decide(d, yes, 1);
        play->is_decided = true;
    }
    d->order.is_decided = play->is_decided && !play->is_handed_out;
    play->is_handed_out |= play->is_decided;
    play->durable_number = d->step_count;
    sma_session_clear(d->sessions, d->session, UINT64_MAX);
    driver_start(d);
}

static void check_end(const struct play *play, bool is_whole)
{
    const struct driver *d = &play->d;
    CHECK_INT(SMA_OUTCOME_OK, d->done_outcome);
    CHECK_TEXT("end", d->done_output);
    CHECK(strstr(d->done_tool_calls, "report A") != NULL);
    CHECK(strstr(d->done_tool_calls, "report B") != NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(tools); i++)
        CHECK(play->run_counts[i] == 1 || (!is_whole && play->run_counts[i] == 0));
    CHECK_INT(1, d->delivery_count);
    CHECK_TEXT("from B", d->texts[0]);
    CHECK_INT(1, d->session->turn_count);
}

/* @return events of the whole run */
static size_t play_run(size_t cut_at, size_t cut_again, bool is_lost, int helpers)
{
    struct play *play = calloc(1, sizeof *play);
    CHECK(play != NULL);
    driver_init(&play->d, SMA_LLM_CHAT);
    play->d.config.agent_helpers = helpers;
    driver_offer(&play->d, "{\"mcp\":{\"allow\":[\"files:*\"]}}");
    driver_start(&play->d);
    perform(play);
    const size_t cuts[2] = {cut_at, cut_again};
    int cut_count = 0;
    while (!play->is_over || play->d.done_count == 0) {
        bool is_cut = cut_count < 2 && play->event_count == cuts[cut_count];
        if (is_cut || play->is_over) {
            cut_count += is_cut;
            play->is_over = false;
            hand_out(play);
            perform(play);
            continue;
        }
        CHECK(play->head < play->tail); /* the run always waits for something */
        step(play);
        is_cut = cut_count < 2 && play->event_count == cuts[cut_count];
        if (!(is_lost && is_cut))
            perform(play);
    }
    check_end(play, cut_at == SIZE_MAX);
    size_t events = play->event_count;
    driver_fini(&play->d);
    free(play);
    return events;
}

static void cut_after_every_event_nothing_is_done_twice(void)
{
    for (int helpers = 1; helpers <= 2; helpers++) {
        size_t events = play_run(SIZE_MAX, SIZE_MAX, false, helpers);
        CHECK(events > 20);
        for (size_t at = 0; at + 2 < events; at++) { /* before DONE is stored */
            play_run(at, SIZE_MAX, false, helpers);
            play_run(at, SIZE_MAX, true, helpers);
        }
    }
}

static void cut_twice_nothing_is_done_twice(void)
{
    size_t events = play_run(SIZE_MAX, SIZE_MAX, false, 2);
    for (size_t at = 0; at + 8 < events; at++)
        for (size_t more = 0; more < 6; more++)
            play_run(at, at + more, more % 2 == 0, 2);
}

int main(void)
{
    RUN(cut_after_every_event_nothing_is_done_twice);
    RUN(cut_twice_nothing_is_done_twice);
    return check_summary();
}
