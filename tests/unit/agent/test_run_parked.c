/*
 * Aim: a run with calls that need consent, cut anywhere: it comes to its end, no tool is run before
 *      its step is durable and (where people are asked) they have agreed, and nothing is done
 *      twice.
 * Method: a scripted model of four rounds, tools that ask, people who answer; the run is cut after
 *         each event, with the actions of that event carried out or lost, and handed out again as
 *         the store would.
 */
#include "unit/agent/run_driver.h"

static const struct driver_call rounds[3][5] = {
    {{"a0", "exec_shell", "{\"command\":\"ask one\"}"},
     {"a1", "chat_contact_send", "{\"username\":\"bob\",\"text\":\"yo\"}"},
     {"a2", "list_files", "{}"},
     {"a3", "chat_send", "{\"text\":\"one\"}"},
     {0}},
    {{"b0", "exec_shell", "{\"command\":\"free\"}"},
     {"b1", "send_file", "{\"path\":\"free.png\"}"},
     {0}},
    {{"c0", "exec_shell", "{\"command\":\"ask no\"}"},
     {"c1", "write_file", "{\"path\":\"never\",\"content\":\"\"}"},
     {"c2", "react", "{\"emoji\":\"ask\"}"},
     {"c3", "read_file", "{\"path\":\"x\"}"},
     {0}},
};

struct play
{
    struct driver_play p;
    uint32_t durable_number;    /* the run has been told */
    uint32_t answer_number;     /* the newest stored answer, */
    bool is_parked, is_decided; /* and whether people are asked, */
    bool is_handed_out;         /* and its decision has been started */
    uint32_t run_count[DRIVER_STEP_MAX][8], run_total, park_count;
};

static bool has(struct sma_str text, const char *word)
{
    return memmem(text.ptr, text.len, word, strlen(word)) != NULL;
}

static void check_run(struct play *play, const struct sma_tool_ask *ask)
{
    CHECK(play->durable_number >= play->answer_number);
    CHECK(!play->is_parked || play->is_decided);
    CHECK(!has(ask->arguments, "ask no") && !has(ask->arguments, "never"));
    CHECK(ask->is_approved == has(ask->arguments, "ask"));
    CHECK_INT(1, ++play->run_count[play->answer_number][ask->call]);
    play->run_total++;
}

static void note_step(struct play *play, const struct sma_step *step,
                      struct driver_pending *pending)
{
    pending->is_parking = step->request_json.len > 0;
    if (step->kind != SMA_STEP_ANSWER || step->number == play->answer_number)
        return;
    play->answer_number = step->number;
    play->is_parked = pending->is_parking;
    play->is_decided = play->is_handed_out = false;
}

static void note(struct driver_play *p, const struct sma_run_action *action,
                 struct driver_pending *pending)
{
    if (action->kind == SMA_RUN_STORE_STEP)
        note_step((struct play *)p, &action->step, pending);
    if (action->kind == SMA_RUN_ASK_TOOL && action->tool.mode == SMA_TOOL_RUN)
        check_run((struct play *)p, &action->tool);
}

static void answer_tool(struct driver_play *p, const struct driver_pending *pending)
{
    struct driver *d = &p->d;
    struct sma_str arguments = sma_str(pending->arguments);
    if (pending->mode == SMA_TOOL_RUN)
        driver_tool(d, pending->call, SMA_TOOL_ALLOWED, "{\"success\":true}");
    else if (has(arguments, "never"))
        driver_tool(d, pending->call, SMA_TOOL_REFUSED, "{\"success\":false}");
    else if (has(arguments, "ask") || has(arguments, "bob"))
        driver_tool(d, pending->call, SMA_TOOL_ASKS, "Q"); /* also when it was agreed to */
    else
        driver_tool(d, pending->call, SMA_TOOL_ALLOWED, "");
}

static void answer_model(struct driver_play *p, uint32_t call)
{
    (void)call;
    struct driver *d = &p->d;
    struct sma_model_ask ask;
    free(driver_request(d, &ask));
    if (ask.round < 3)
        driver_answer(d, "", SMA_FINISH_TOOLS, rounds[ask.round]);
    else
        driver_answer(d, "end", SMA_FINISH_STOP, NULL);
}

static void note_stored(struct driver_play *p, const struct driver_pending *pending)
{
    ((struct play *)p)->durable_number = pending->number;
}

static void decide(struct play *play)
{
    static const struct sma_stored_decision first[] = {
        {.call = 0, .is_approved = true, .digest = {'Q'}},
        {.call = 1, .is_approved = true, .digest = {'Q'}}};
    static const struct sma_stored_decision third[] = {
        {.call = 0, .response = SMA_STR("refused by Ann: no")},
        {.call = 2, .is_approved = true, .digest = {'Q'}}};
    driver_decide(&play->p.d, play->answer_number == 1 ? first : third, 2);
    play->is_decided = true;
    play->park_count++;
}

/* The store hands the run out (again): a decision counts as started with the first time. */
static void hand_out(struct play *play)
{
    struct driver *d = &play->p.d;
    play_cut(&play->p);
    if (play->is_parked && !play->is_decided)
        decide(play);
    d->order.is_decided = play->is_parked && play->is_decided && !play->is_handed_out &&
                          d->steps[d->step_count - 1].kind == SMA_STEP_DECISION;
    play->is_handed_out = true;
    play->durable_number = d->step_count;
    driver_start(d);
}

/* Of the two cuts the next one, SIZE_MAX when both are done. */
static size_t next_cut(const size_t cuts[2], int cut_count)
{
    return cut_count < 2 ? cuts[cut_count] : SIZE_MAX;
}

static bool is_parked_end(const struct play *play)
{
    return play->p.is_over && play->p.d.done_count == 0;
}

static uint32_t count_rows(const struct driver *d, const char *text)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->delivery_count; i++)
        count += strcmp(d->texts[i], text) == 0;
    return count;
}

static void check_end(const struct play *play, bool is_whole)
{
    const struct driver *d = &play->p.d;
    static const char *const rows[] = {"yo", "@attach photo free.png", "ask"};
    CHECK_INT(1, count_rows(d, "one"));
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(count_rows(d, rows[i]) == 1 || (!is_whole && count_rows(d, rows[i]) == 0));
    CHECK(play->run_total == 4 || (!is_whole && play->run_total < 4));
    CHECK_INT(2, play->park_count);
    CHECK_INT(SMA_OUTCOME_OK, d->done_outcome);
    CHECK_TEXT("end", d->done_output);
    CHECK(strstr(d->done_tool_calls, "refused by Ann: no") != NULL);
    CHECK_INT(1, d->session->turn_count);
}

/* @cut_at SIZE_MAX: never. @return events of the whole run */
static size_t play_run(size_t cut_at, size_t cut_again, bool is_lost)
{
    struct play play = {.p = {.note = note,
                              .answer_model = answer_model,
                              .answer_tool = answer_tool,
                              .stored = note_stored}};
    driver_init(&play.p.d, SMA_LLM_CHAT);
    driver_start(&play.p.d);
    play_perform(&play.p);
    const size_t cuts[2] = {cut_at, cut_again};
    int cut_count = 0;
    while (!play.p.is_over || is_parked_end(&play)) {
        bool is_cut = play.p.event_count == next_cut(cuts, cut_count);
        if (is_cut || play.p.is_over) {
            cut_count += is_cut;
            play.p.is_over = false;
            hand_out(&play);
            if (is_lost && cut_count == 1 && play.p.event_count == cut_again) {
                cut_count++; /* killed before anything of the start was done */
                hand_out(&play);
            }
            play_perform(&play.p);
            continue;
        }
        play_step(&play.p);
        is_cut = play.p.event_count == next_cut(cuts, cut_count);
        if (!(is_lost && is_cut))
            play_perform(&play.p);
    }
    check_end(&play, cut_at == SIZE_MAX);
    size_t events = play.p.event_count;
    driver_fini(&play.p.d);
    return events;
}

CASE(cut_after_every_event_nothing_is_done_twice)
{
    size_t events = play_run(SIZE_MAX, SIZE_MAX, false);
    CHECK(events > 30);
    for (size_t at = 0; at + 2 < events; at++) { /* before DONE is stored */
        play_run(at, SIZE_MAX, false);
        play_run(at, SIZE_MAX, true);
    }
}

/* Killed again soon after the restart, and while it starts. */
CASE(cut_twice_nothing_is_done_twice)
{
    size_t events = play_run(SIZE_MAX, SIZE_MAX, false);
    for (size_t at = 0; at + 10 < events; at++) {
        for (size_t more = 0; more < 6; more++) {
            play_run(at, at + more, false);
            play_run(at, at + more, true);
        }
    }
}

CASES_MAIN
