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

struct play
{
    struct driver_play p;
    uint32_t durable_number, run_counts[SMA_COUNT_OF(tools)];
    bool is_parked, is_decided, is_handed_out;
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
        const struct driver *d = &play->p.d;
        for (uint32_t k = 0; k < d->step_count && d->steps[k].number <= play->durable_number; k++)
            is_held |= memmem(d->steps[k].data.ptr, d->steps[k].data.len, tools[i],
                              strlen(tools[i])) != NULL;
        CHECK(is_held);
    }
}

static void note(struct driver_play *p, const struct sma_run_action *action,
                 struct driver_pending *pending)
{
    struct play *play = (struct play *)p;
    if (action->kind == SMA_RUN_STORE_STEP) {
        pending->is_parking = action->step.request_json.len > 0;
        play->is_parked |= pending->is_parking;
    } else if (action->kind == SMA_RUN_ASK_TOOL && action->tool.mode == SMA_TOOL_RUN) {
        check_done(play, action->tool.arguments, action->tool.is_approved);
    } else if (action->kind == SMA_RUN_ASK_MCP) {
        CHECK_INT(action->call, action->mcp.call);
        check_done(play, action->mcp.arguments, false);
    }
}

static void answer_model(struct driver_play *p, uint32_t call)
{
    struct driver *d = &p->d;
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

static void answer_tool(struct driver_play *p, const struct driver_pending *pending)
{
    if (pending->mode == SMA_TOOL_CHECK)
        driver_tool(&p->d, pending->call, SMA_TOOL_ASKS, "Q");
    else
        driver_tool(&p->d, pending->call, SMA_TOOL_ALLOWED, "{\"success\":true}");
}

static void note_stored(struct driver_play *p, const struct driver_pending *pending)
{
    ((struct play *)p)->durable_number = pending->number;
}

static void hand_out(struct play *play)
{
    static const struct sma_stored_decision yes[] = {
        {.call = 0, .is_approved = true, .digest = {'Q'}}};
    struct driver *d = &play->p.d;
    play_cut(&play->p);
    if (play->is_parked && !play->is_decided) {
        driver_decide(d, yes, 1);
        play->is_decided = true;
    }
    d->order.is_decided = play->is_decided && !play->is_handed_out;
    play->is_handed_out |= play->is_decided;
    play->durable_number = d->step_count;
    driver_start(d);
}

static void check_end(const struct play *play, bool is_whole)
{
    const struct driver *d = &play->p.d;
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
    play->p.note = note;
    play->p.answer_model = answer_model;
    play->p.answer_tool = answer_tool;
    play->p.stored = note_stored;
    driver_init(&play->p.d, SMA_LLM_CHAT);
    play->p.d.config.agent_helpers = helpers;
    driver_offer(&play->p.d, "{\"mcp\":{\"allow\":[\"files:*\"]}}");
    driver_start(&play->p.d);
    play_perform(&play->p);
    const size_t cuts[2] = {cut_at, cut_again};
    int cut_count = 0;
    while (!play->p.is_over || play->p.d.done_count == 0) {
        bool is_cut = cut_count < 2 && play->p.event_count == cuts[cut_count];
        if (is_cut || play->p.is_over) {
            cut_count += is_cut;
            play->p.is_over = false;
            hand_out(play);
            play_perform(&play->p);
            continue;
        }
        play_step(&play->p);
        is_cut = cut_count < 2 && play->p.event_count == cuts[cut_count];
        if (!(is_lost && is_cut))
            play_perform(&play->p);
    }
    check_end(play, cut_at == SIZE_MAX);
    size_t events = play->p.event_count;
    driver_fini(&play->p.d);
    free(play);
    return events;
}

CASE(cut_after_every_event_nothing_is_done_twice)
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

CASE(cut_twice_nothing_is_done_twice)
{
    size_t events = play_run(SIZE_MAX, SIZE_MAX, false, 2);
    for (size_t at = 0; at + 8 < events; at++)
        for (size_t more = 0; more < 6; more++)
            play_run(at, at + more, more % 2 == 0, 2);
}

CASES_MAIN
