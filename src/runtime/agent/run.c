/* run.c — the states of a run and what each event does in them. See run.h. */
#include "run_priv.h"

#include <stdlib.h>

#define PARTS_TURN_COUNT 3 /* the newest turns, whose pictures are sent again */

/* -- the object -------------------------------------------------------------------------------- */
static const struct run_machine machine = {
    .create = sma_run_create, .handle = run_handle, .destroy = sma_run_destroy};

/* The same for everybody in the chat: tools come first in a request, and what a provider has
 * cached ends where they change. What somebody may not do is refused when it is called. */
static uint64_t offers_of(const struct sma_run_options *options)
{
    bool sends_files = options->has_files || options->has_files_elsewhere;
    bool sends_cards = options->has_cards || options->has_cards_elsewhere;
    return (sends_files ? SMA_TOOL_OFFER_FILES : 0) |
           (options->has_files ? SMA_TOOL_OFFER_FETCH : 0) |
           (options->has_reactions ? SMA_TOOL_OFFER_REACTIONS : 0) |
           (sends_cards ? SMA_TOOL_OFFER_CARDS : 0) |
           (options->settings->config->has_skills ? SMA_TOOL_OFFER_SKILLS : 0) |
           (options->settings->config->agent_helpers > 0 ? SMA_TOOL_OFFER_HELPERS : 0) |
           (options->settings->config->web.has_fetch ? SMA_TOOL_OFFER_WEB : 0) |
           (options->settings->config->web.has_search ? SMA_TOOL_OFFER_SEARCH : 0);
}

enum sma_err sma_run_create(const struct sma_run_options *options, struct sma_run **ret_run)
{
    uint64_t offers = offers_of(options);
    struct sma_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return SMA_ERR_NOMEM;
    run->magic = RUN_MAGIC;
    run->own_order = *options->order;
    run->order = &run->own_order;
    run_added_init(run);
    run->sessions = options->sessions;
    run->session = options->session;
    run->settings = options->settings;
    run->has_files = options->has_files;
    run->has_cards = options->has_cards;
    run_chat_init(run, offers);
    run->target_index = run->chat.first;
    run->target = &options->settings->targets[run->target_index];
    enum sma_err err = run_take_head(run);
    if (err != SMA_ERR_OK) {
        run_mcp_fini(run);
        free(run);
        return err;
    }
    run->wall_ms = options->wall_ms;
    run->channel = (struct sma_prompt_channel){
        .has_markdown = options->has_markdown,
        .is_stored = options->is_stored,
        .sends_files = run->has_files && sma_tool_is_offered(SMA_TOOL_SEND_FILE, run->offers),
        .has_reactions = sma_tool_is_offered(SMA_TOOL_REACT, run->offers),
        .part_chars_max = options->part_chars_max};
    memcpy(run->random, options->random, sizeof run->random);
    run->language =
        sma_notice_language(options->settings->config->language, options->order->route.language,
                            options->is_chinese_by_default);
    run->stamps = options->order->stamps;
    run->next_number = 1;
    run->machine = &machine;
    run->round_max = SMA_RUN_STEP_COUNT_MAX;
    sma_buf_init(&run->facts, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->earlier, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->masked, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->turn, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->tool_calls, TOOL_CALLS_BYTES_MAX + 2);
    sma_buf_init(&run->sent_texts, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->parts, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->answer_data, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->results_data, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->final_text, 2 * SMA_REQUEST_BYTES_MAX); /* of several parts */
    sma_buf_init(&run->done_text, SMA_TEXT_BYTES_MAX + 4096);  /* and a notice behind it */
    sma_buf_init(&run->turn_data, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->scratch, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->skills, SMA_SKILL_LOADED_BYTES_MAX);
    sma_buf_init(&run->request, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->notice, 4096);
    run_parts_init(&run->see);
    run_compact_init(&run->compact);
    run_recall_init(&run->recall);
    sma_buf_init(&run->prompt.text, SMA_MCP_PROMPT_BYTES_MAX + 256);
    *ret_run = run;
    return SMA_ERR_OK;
}

void sma_run_destroy(struct sma_run *run)
{
    if (run == NULL)
        return;
    SMA_ASSERT(run->magic == RUN_MAGIC);
    run->magic = 0;
    run_drop_answer(run);
    run_child_drop(run);
    run_drop_rounds(run);
    run_added_fini(run);
    run_parts_fini(&run->see);
    struct sma_buf *bufs[] = {
        &run->facts,        &run->earlier,    &run->turn,      &run->tool_calls,
        &run->sent_texts,   &run->final_text, &run->done_text, &run->turn_data,
        &run->results_data, &run->scratch,    &run->request,   &run->masked,
        &run->notice,       &run->parts,      &run->skills,    &run->prompt.text};
    for (size_t i = 0; i < SMA_COUNT_OF(bufs); i++)
        sma_buf_fini(bufs[i]);
    sma_buf_fini(&run->answer_data);
    run_compact_fini(&run->compact);
    run_question_fini(run);
    run_mcp_fini(run);
    free(run->many_blocks);
    free(run->session_ids);
    run_past_fini(&run->past);
    run_recall_fini(&run->recall);
    free(run->failures);
    free(run);
}

const struct sma_run_order *sma_run_order_of(const struct sma_run *run)
{
    return run->order;
}

const char *sma_run_target_key(const struct sma_run *run)
{
    return run->target->key;
}

const struct sma_stored_past *sma_run_past(const struct sma_run *run)
{
    return &run->compact.past;
}

bool sma_run_waits_for_model(const struct sma_run *run)
{
    return run->state == RUN_MODEL;
}

/* -- small acts -------------------------------------------------------------------------------- */

static bool asks_model(const struct sma_run *run)
{
    return run->state == RUN_MODEL || run->state == RUN_COMPACTING;
}

/* The model is asked, or llm.vision. */
static bool has_question(const struct sma_run *run)
{
    return asks_model(run) || (run->state == RUN_PREPARING && run->see.is_looking);
}

/* -- steps ------------------------------------------------------------------------------------- */

/* Not stored for want of disk: in the order of the numbers again after a second, unless the program
 * is ending. */
static void no_disk(struct sma_run *run, uint32_t number)
{
    run_child_no_disk(run, number);
    if (run->results_number != 0 && number <= run->results_number)
        run->results_are_asked = false;
    if (run->state == RUN_STORING && number == run->answer_number)
        run->answer_is_asked = false;
    if (run->note_number != 0 && number == run->note_number)
        run->note_is_asked = false;
    if (run->is_draining && !asks_model(run) && run->state != RUN_FINISHING)
        run_end(run, false);
    else
        run_wait(run);
}

static void step_done(struct sma_run *run, const struct sma_step_done *step)
{
    if (run->state == RUN_FINISHING)
        return; /* the answer to DONE tells */
    if (step->verdict == SMA_STEP_STOPPED) {
        if (has_question(run))
            (void)run_act(run, SMA_RUN_CANCEL_MODEL);
        run->outcome = SMA_OUTCOME_CANCELLED;
        run_end(run, false);
        return;
    }
    if (step->verdict == SMA_STEP_PARKED) { /* stored, and people are asked: it comes again */
        run_end(run, false);
        return;
    }
    if (step->verdict != SMA_STEP_DURABLE) {
        no_disk(run, step->number);
        return;
    }
    if (step->over.scope != SMA_BUDGET_NONE)
        run->over = step->over;
    if (run->results_number != 0 && run->results_number <= step->number)
        run->results_number = 0;
    if (run->state == RUN_STORING && step->number == run->answer_number)
        run->usage = (struct sma_usage){0}; /* told */
    if (run->state == RUN_SETTLING && run->results_number == 0)
        run_end(run, false);
    else if (run->state == RUN_STORING && step->number == run->answer_number)
        run_carry_out(run, step);
    else if (run->state == RUN_TOOLS && step->number == run->note_number)
        run_note_durable(run, step);
    else if (run->state == RUN_TOOLS)
        run_child_durable(run, step);
}

static void begin_anew(struct sma_run *run)
{
    run_put_user(run, (struct sma_str){0});
    run_ask_model(run);
}

/* What belongs to the message is fetched, then the model is asked. */
static void prepare_anew(struct sma_run *run)
{
    if (!run_prompt_ask(run) && !run_recall_ask(run))
        begin_anew(run);
}

/* The memory's answer, to a run that begins or to one of its calls. */
static void memory_came(struct sma_run *run, const struct sma_run_event *event)
{
    if (!run->recall.is_open) {
        run_memory(run, event->call, event->memory);
        return;
    }
    run_recall_came(run, event->memory);
    if (run->state == RUN_LOADING)
        begin_anew(run);
}

static void retry(struct sma_run *run)
{
    run->is_waiting = false;
    if (run->recall.is_open && run->state == RUN_LOADING) {
        memory_came(run, &(struct sma_run_event){.kind = SMA_RUN_MEMORY});
        return;
    }
    if (run->state == RUN_FINISHING) {
        if (!run->done_is_asked)
            run_store_done(run);
        return;
    }
    if (run->results_number != 0 && !run->results_are_asked)
        run_store_results(run);
    if (run->state == RUN_STORING && !run->answer_is_asked)
        run_store_answer(run);
    /* in the order of their numbers */
    if (run->state == RUN_TOOLS && run->note_number != 0 && !run->note_is_asked) {
        run_child_store_again(run, run->note_number);
        run_store_note(run);
    }
    run_child_store_again(run, UINT32_MAX);
}

static void done_done(struct sma_run *run, const struct sma_step_done *step)
{
    if (run->state != RUN_FINISHING)
        return;
    if (step->verdict == SMA_STEP_DURABLE) {
        run_end(run, true);
        return;
    }
    if (step->verdict == SMA_STEP_STOPPED) {
        sma_session_remove(run->sessions, run->session, run->order->seq);
        run->outcome = SMA_OUTCOME_CANCELLED;
        run_end(run, false);
        return;
    }
    run->done_is_asked = false;
    if (run->is_draining)
        run_end(run, false);
    else
        run_wait(run);
}

/* -- beginning and ending ---------------------------------------------------------------------- */
static void begin(struct sma_run *run)
{
    run->session->is_loaded = true;
    /* here and nowhere else: what a provider has cached of a talk ends where it changes */
    (void)sma_session_hide_parts(run->session, PARTS_TURN_COUNT);
    run_pick_target(run);
    if (run->order->is_compaction) {
        run_command_begin(run);
        return;
    }
    if (run->order->step_count > 0) {
        run_resume(run);
        return;
    }
    prepare_anew(run);
}

/* Of a part of the messages, or of a call's result. */
static void encoded(struct sma_run *run, uint32_t index, const struct sma_part *part)
{
    if (index >= RUN_PART_OF_CALL) {
        run_call_encoded(run, index, part);
    } else if (run->state == RUN_PREPARING && run_parts_encoded(run, index, part)) {
        run_rebuild(run);
        run_ask_model(run);
    }
}

static void looked(struct sma_run *run, const struct sma_model_answer *answer)
{
    run_parts_looked(run, answer);
    run_rebuild(run);
    run_ask_model(run);
}

/* The session is there. In a group others may have spoken since. */
static void loaded(struct sma_run *run)
{
    run->session->is_loaded = true;
    if (run->parent != NULL || !run_past_ask_chatter(run)) {
        begin(run);
        return;
    }
    run->state = RUN_LOADING;
}

static void load(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    if (order->has_past && !run->session->is_loaded) {
        run->state = RUN_LOADING;
        run_act(run, SMA_RUN_ASK_SESSION)->session =
            (struct sma_session_ask){.chat_key = order->route.chat_key,
                                     .before_seq = order->seq,
                                     .turns_max = SMA_SESSION_TURN_COUNT_MAX,
                                     .bytes_max = SMA_SESSION_BYTES_MAX};
    } else if (order->has_lines && !run->session->is_loaded) {
        run->state = RUN_LOADING;
        run_act(run, SMA_RUN_ASK_HISTORY)->history =
            (struct sma_history_ask){.chat_key = order->route.chat_key,
                                     .limit = SMA_HISTORY_LOAD_COUNT_MAX,
                                     .current_seq = order->seq,
                                     .is_session = true};
    } else {
        loaded(run);
    }
}

/* What lies there now; the tools read the disk. */
static void ask_skills(struct sma_run *run)
{
    run->state = RUN_LOADING;
    run->asks_skills = true;
    run_act(run, SMA_RUN_ASK_TOOL)->tool =
        (struct sma_tool_ask){.seq = run->order->seq,
                              .mode = SMA_TOOL_SKILLS,
                              .name = SMA_STR("skills"),
                              .chat_key = run->order->route.chat_key};
}

/* Nobody could look: what is known stays. */
static void skills_came(struct sma_run *run, const struct sma_tool_answer *answer)
{
    run->asks_skills = false;
    if (answer->verdict == SMA_TOOL_ALLOWED && !answer->is_error)
        sma_run_settings_set_skills(run->settings, answer->content);
    enum sma_err err = run_take_head(run);
    if (err == SMA_ERR_OK)
        load(run);
    else
        run_finish_failed(run, sma_err_text(err));
}

static void start(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    run->stamps.run_ns = run->now_ns;
    run->over = order->over;
    run_trace_begin(run);
    run_progress(run, SMA_PROGRESS_STARTED, (struct sma_str){0});
    if (order->is_suspect && order->attempt > SMA_RUN_ATTEMPT_COUNT_MAX) {
        sma_notice_format(&run->done_text, run->language, SMA_NOTICE_GIVEN_UP);
        run_finish_notice(run, SMA_OUTCOME_GIVEN_UP, "the program was interrupted three times");
    } else if (!run->settings->is_configured) {
        run_finish_model_failed(run, NULL);
    } else if (run->settings->config->has_skills) {
        ask_skills(run);
    } else {
        load(run);
    }
}

/* A run whose DONE is asked waits for the verdict: only that tells whether it ended before it was
 * stopped. */
static void stop(struct sma_run *run, bool is_by_user)
{
    if (run->state == RUN_FINISHING)
        return;
    if (has_question(run))
        (void)run_act(run, SMA_RUN_CANCEL_MODEL);
    run->outcome = SMA_OUTCOME_CANCELLED;
    if (is_by_user)
        run_finish_stopped(run);
    run_end(run, false);
}

static void drain(struct sma_run *run, bool is_hard)
{
    run->is_draining = true;
    run_question_dismiss_all(run);
    run_child_tell_all(run, is_hard ? SMA_RUN_DRAIN_HARD : SMA_RUN_DRAIN);
    if (run->state == RUN_OVER)
        return;
    bool is_first = run->state == RUN_NEW || run->state == RUN_LOADING;
    if (run->state == RUN_PREPARING) { /* what it prepares is prepared again */
        if (has_question(run))
            (void)run_act(run, SMA_RUN_CANCEL_MODEL);
        run_settle(run);
    } else if (is_first || (run->is_waiting && !asks_model(run))) {
        run_end(run, false);
    } else if (run->state == RUN_TOOLS && !is_hard) {
        run_check_round(run);
    } else if (is_hard &&
               (asks_model(run) || run->state == RUN_TOOLS || run->state == RUN_CHECKING)) {
        if (asks_model(run))
            (void)run_act(run, SMA_RUN_CANCEL_MODEL);
        run_settle(run);
    }
}

static void answered(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (run->state == RUN_PREPARING && run->see.is_looking)
        looked(run, answer);
    else
        run_model_answered(run, answer);
}

/* The session lost its turns: what was asked with them is asked without. */
static void cleared(struct sma_run *run)
{
    run_compact_cleared(run);
    if (run->state != RUN_FINISHING) {
        run_mark_moved(run, 0);
        run_rebuild(run);
    }
    if (!asks_model(run))
        return;
    (void)run_act(run, SMA_RUN_CANCEL_MODEL);
    if (run->order->is_compaction)
        run_command_failed(run);
    else
        run_ask_model(run);
}

static void session_came(struct sma_run *run, const struct sma_session_turns *turns)
{
    if (run->state != RUN_LOADING)
        return;
    /* goes on without those it cannot read */
    (void)sma_session_load(run->sessions, run->session, turns);
    loaded(run);
}

/* Of a call, or of what was said before the run. */
static void history_came(struct sma_run *run, const struct sma_run_event *event)
{
    if (run->state != RUN_LOADING) {
        run_history(run, event->call, event->history);
    } else if (run->past.asks_chatter) {
        run_past_put_chatter(run, event->history);
        begin(run);
    } else {
        run_past_fill(run, event->history);
        loaded(run);
    }
}

static void tool_came(struct sma_run *run, const struct sma_run_event *event)
{
    if (run->asks_skills)
        skills_came(run, event->tool);
    else
        run_tool(run, event->call, event->tool);
}

static void prompt_came(struct sma_run *run, const struct sma_mcp_answer *answer)
{
    if (run->state == RUN_LOADING && run_prompt_came(run, answer))
        prepare_anew(run);
}

static void on_server(struct sma_run *run, const struct sma_run_event *event)
{
    if (event->kind == SMA_RUN_ELICIT)
        run_question_ask(run, event->call, event->elicit);
    else if (event->kind == SMA_RUN_ELICIT_END)
        run_question_expire(run, event->call);
    else if (run->prompt.is_open)
        prompt_came(run, event->mcp);
    else
        run_mcp_answered(run, event->call, event->mcp);
}

static void added(struct sma_run *run, const struct sma_steer *steer)
{
    run_added_take(run, steer);
    run_question_words(run, steer);
}

void sma_run_event(struct sma_run *run, const struct sma_run_event *event,
                   struct sma_run_actions *actions)
{
    actions->count = 0;
    run->actions = actions;
    run_handle(run, event);
}

/* What a call has asked somebody of this program is answered. */
static void call_answered(struct sma_run *run, const struct sma_run_event *event)
{
    switch (event->kind) {
    case SMA_RUN_CONTACT:
        run_contact(run, event->call, event->contact);
        break;
    case SMA_RUN_HISTORY:
        history_came(run, event);
        break;
    case SMA_RUN_FETCHED:
        run_fetched(run, event->call, event->fetched);
        break;
    case SMA_RUN_MEMORY:
        memory_came(run, event);
        break;
    case SMA_RUN_SENT:
        run_sent(run, event->call, (enum sma_send_state)event->sent->state, event->sent->error);
        break;
    default:
        SMA_ASSERT(event->kind == SMA_RUN_TOOL);
        tool_came(run, event);
        break;
    }
}

void run_handle(struct sma_run *run, const struct sma_run_event *event)
{
    SMA_ASSERT(run->magic == RUN_MAGIC);
    run->now_ns = event->now_ns;
    if (run->state == RUN_OVER || (run->state == RUN_NEW) != (event->kind == SMA_RUN_START)) {
        if (run->state == RUN_NEW && (event->kind == SMA_RUN_STOP || event->kind == SMA_RUN_DRAIN))
            run_end(run, false);
        return;
    }
    run_question_before(run, event);
    if (run_child_event(run, event))
        return;
    switch (event->kind) {
    case SMA_RUN_START:
        start(run);
        break;
    case SMA_RUN_SESSION:
        session_came(run, event->turns);
        break;
    case SMA_RUN_MODEL:
        answered(run, event->model);
        break;
    case SMA_RUN_ENCODED:
        encoded(run, event->call, event->part);
        break;
    case SMA_RUN_CONTACT:
    case SMA_RUN_HISTORY:
    case SMA_RUN_FETCHED:
    case SMA_RUN_MEMORY:
    case SMA_RUN_SENT:
    case SMA_RUN_TOOL:
        call_answered(run, event);
        break;
    case SMA_RUN_ELICIT:
    case SMA_RUN_ELICIT_END:
    case SMA_RUN_MCP:
        on_server(run, event);
        break;
    case SMA_RUN_STEP_DONE:
        step_done(run, event->step);
        break;
    case SMA_RUN_DONE_DONE:
        done_done(run, event->step);
        break;
    case SMA_RUN_ADDED:
        added(run, event->steer);
        break;
    case SMA_RUN_RETRY:
        retry(run);
        break;
    case SMA_RUN_STOP:
        stop(run, event->is_by_user);
        break;
    case SMA_RUN_CLEARED:
        cleared(run);
        break;
    case SMA_RUN_DRAIN:
    case SMA_RUN_DRAIN_HARD:
        drain(run, event->kind == SMA_RUN_DRAIN_HARD);
        break;
    }
}
