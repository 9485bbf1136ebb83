/* run.c — the states of a run and what each event does in them. See run.h. */
#include "run_priv.h"

#include "runtime/agent/prompt.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define FACTS_BYTES_USUAL 480
#define TURN_BYTES_USUAL 256 /* besides the blocks: the wire's own words */

/* -- settings ----------------------------------------------------------------------------------------------------- */
/* Everything of a request before its messages, when these tools are offered. */
static void drop_heads(struct sma_run_settings *settings)
{
    for (size_t i = 0; i < SMA_TARGET_COUNT_MAX; i++)
        for (size_t k = 0; k < SMA_TOOL_OFFER_SETS; k++)
            sma_buf_fini(&settings->heads[i][k]);
}

static SMA_CHECKED enum sma_err find_head(struct sma_run_settings *settings, size_t target_index,
                                          uint32_t offers, uint64_t facts_word,
                                          const struct sma_buf **ret_head)
{
    SMA_ASSERT(offers < SMA_TOOL_OFFER_SETS);
    if (settings->facts_word != facts_word) { /* with the first run: the word is always the same */
        drop_heads(settings);
        settings->facts_word = facts_word;
    }
    const struct sma_target *target = &settings->targets[target_index];
    struct sma_buf *head = &settings->heads[target_index][offers];
    if (head->len == 0 || head->err != SMA_ERR_OK) {
        struct sma_tool_spec tools[SMA_TOOL_COUNT];
        size_t tool_count = sma_tool_specs_for(offers, tools);
        struct sma_buf system;
        sma_buf_init(&system, SMA_REQUEST_BYTES_MAX / 4);
        sma_prompt_put_system(&system, settings->config, facts_word);
        sma_buf_fini(head);
        sma_buf_init(head, SMA_REQUEST_BYTES_MAX / 2);
        target->wire->put_head(head, target, sma_buf_str(&system), tools, tool_count);
        enum sma_err err = system.err != SMA_ERR_OK ? system.err : head->err;
        sma_buf_fini(&system);
        if (err != SMA_ERR_OK) {
            sma_buf_fini(head);
            return err;
        }
    }
    *ret_head = head;
    return SMA_ERR_OK;
}

enum sma_err sma_run_settings_create(const struct sma_config *config,
                                     struct sma_run_settings **ret_settings)
{
    struct sma_run_settings *settings = calloc(1, sizeof *settings);
    if (settings == NULL)
        return SMA_ERR_NOMEM;
    const struct sma_config_llm *llm = &config->llm;
    settings->config = config;
    for (size_t i = 0; i < config->llm_target_count; i++)
        sma_target_init(&settings->targets[i], config->llm_targets[i]);
    if (config->llm_target_count == 0)
        sma_target_init(&settings->targets[0], llm);
    settings->target_count = config->llm_target_count == 0 ? 1 : config->llm_target_count;
    settings->is_configured = llm->api == SMA_LLM_OFFLINE || llm->model[0] != '\0';
    sma_buf_init(&settings->tail, SMA_REQUEST_BYTES_MAX / 2);
    settings->targets[0].wire->put_tail(&settings->tail, &settings->targets[0],
                                        (struct sma_str){0});
    const struct sma_buf *head; /* the largest: what is too large shows now */
    enum sma_err err = find_head(settings, 0, SMA_TOOL_OFFER_SETS - 1, 0, &head);
    if (err == SMA_ERR_OK)
        err = settings->tail.err;
    if (err != SMA_ERR_OK) {
        sma_run_settings_destroy(settings);
        return err;
    }
    *ret_settings = settings;
    return SMA_ERR_OK;
}

void sma_run_settings_destroy(struct sma_run_settings *settings)
{
    if (settings == NULL)
        return;
    drop_heads(settings);
    sma_buf_fini(&settings->tail);
    free(settings);
}

/* -- the object --------------------------------------------------------------------------------------------------- */
enum sma_err sma_run_create(const struct sma_run_options *options, struct sma_run **ret_run)
{
    uint32_t offers = (options->order->standing > SMA_STANDING_STRANGER ? SMA_TOOL_OFFER_WORK : 0) |
                      (options->has_files ? SMA_TOOL_OFFER_FILES : 0) |
                      (options->has_reactions ? SMA_TOOL_OFFER_REACTIONS : 0);
    const struct sma_buf *head;
    enum sma_err err = find_head(options->settings, 0, offers, options->order->facts_word, &head);
    struct sma_run *run = err == SMA_ERR_OK ? calloc(1, sizeof *run) : NULL;
    if (run == NULL)
        return err != SMA_ERR_OK ? err : SMA_ERR_NOMEM;
    run->magic = RUN_MAGIC;
    run->offers = offers;
    run->head = head;
    run->order = options->order;
    run->sessions = options->sessions;
    run->session = options->session;
    run->settings = options->settings;
    run->target = &options->settings->targets[0];
    run->wall_ms = options->wall_ms;
    memcpy(run->random, options->random, sizeof run->random);
    run->language =
        sma_notice_language(options->settings->config->language, options->order->route.language,
                            options->is_chinese_by_default);
    run->stamps = options->order->stamps;
    run->next_number = 1;
    sma_buf_init(&run->facts, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->earlier, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->masked, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->turn, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->tool_calls, TOOL_CALLS_BYTES_MAX + 2);
    sma_buf_init(&run->sent_texts, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&run->answer_data, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->results_data, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->final_text, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&run->done_text, SMA_TEXT_BYTES_MAX + 1024);
    sma_buf_init(&run->turn_data, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->scratch, SMA_STEP_BYTES_MAX);
    sma_buf_init(&run->request, SMA_STEP_BYTES_MAX);
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
    struct sma_buf *bufs[] = {&run->facts,      &run->earlier,    &run->turn,
                              &run->tool_calls, &run->sent_texts, &run->final_text,
                              &run->done_text,  &run->turn_data,  &run->results_data,
                              &run->scratch,    &run->request,    &run->masked};
    for (size_t i = 0; i < SMA_COUNT_OF(bufs); i++)
        sma_buf_fini(bufs[i]);
    sma_buf_fini(&run->answer_data);
    free(run->many_blocks);
    free(run->session_ids);
    free(run->failures);
    free(run);
}

const struct sma_run_order *sma_run_order_of(const struct sma_run *run)
{
    return run->order;
}

bool sma_run_waits_for_model(const struct sma_run *run)
{
    return run->state == RUN_MODEL;
}

/* -- small acts --------------------------------------------------------------------------------------------------- */
struct sma_run_action *run_act(struct sma_run *run, enum sma_run_action_kind kind)
{
    struct sma_run_actions *actions = run->actions;
    SMA_ASSERT(actions->count < SMA_RUN_ACTION_COUNT_MAX);
    struct sma_run_action *action = &actions->list[actions->count++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    return action;
}

void run_progress(struct sma_run *run, enum sma_progress_kind kind, struct sma_str text)
{
    struct sma_run_action *action = run_act(run, SMA_RUN_PROGRESS);
    action->progress = (uint8_t)kind;
    action->text = text;
}

void run_wait(struct sma_run *run)
{
    if (run->is_waiting)
        return;
    run->is_waiting = true;
    (void)run_act(run, SMA_RUN_WAIT);
}

/* What is being done is not waited for: commands end, late results are not wanted. */
void run_cancel_tools(struct sma_run *run)
{
    if (run->tool_open_count > 0)
        (void)run_act(run, SMA_RUN_CANCEL_TOOLS);
    run->tool_open_count = 0;
}

void run_end(struct sma_run *run, bool is_counted)
{
    run_cancel_tools(run);
    run->state = RUN_OVER;
    run_progress(run, SMA_PROGRESS_FINISHED, (struct sma_str){0});
    struct sma_run_action *action = run_act(run, SMA_RUN_END);
    action->outcome = run->outcome;
    action->is_counted = is_counted;
}

void run_settle(struct sma_run *run)
{
    run_cancel_tools(run);
    if (run->results_number != 0 && run->results_are_asked)
        run->state = RUN_SETTLING;
    else
        run_end(run, false);
}

void run_open_fragment(struct sma_run *run)
{
    SMA_ASSERT(run->fragment_count < FRAGMENT_COUNT_MAX);
    if (run->fragment_count > 0)
        sma_buf_put_char(&run->turn, ',');
    run->fragment_starts[run->fragment_count] = run->turn.len;
}

void run_close_fragment(struct sma_run *run, uint32_t message_count)
{
    run->fragment_ends[run->fragment_count++] = run->turn.len;
    run->message_count += message_count;
}

/* -- the request -------------------------------------------------------------------------------------------------- */
size_t sma_run_request_size(const struct sma_run *run)
{
    const struct sma_session *session = run->session;
    return run->head->len + session->bytes + session->turn_count + run->turn.len +
           run->settings->tail.len;
}

static char *copy(char *at, struct sma_str text)
{
    if (text.len > 0)
        memcpy(at, text.ptr, text.len);
    return at + text.len;
}

void sma_run_request_write(const struct sma_run *run, char *bytes, struct sma_model_ask *ask)
{
    const struct sma_session *session = run->session;
    char *at = copy(bytes, sma_buf_str(run->head));
    for (uint32_t i = 0; i < session->turn_count; i++) {
        at = copy(at, session->turns[i]->bytes);
        *at++ = ',';
    }
    ask->turn_offset = (uint32_t)(at - bytes);
    at = copy(at, sma_buf_str(&run->turn));
    ask->turn_end = (uint32_t)(at - bytes);
    at = copy(at, sma_buf_str(&run->settings->tail));
    SMA_ASSERT((size_t)(at - bytes) == sma_run_request_size(run));
    ask->llm = run->target->llm;
    ask->chat_key = run->order->route.chat_key;
    ask->seq = run->order->seq;
    ask->round = run->round;
    ask->read_ns = run->order->stamps.read_ns;
}

static bool shrink(struct sma_run *run)
{
    if (run->shrink_count >= SMA_SHRINK_COUNT_MAX)
        return false;
    run->shrink_count++;
    return sma_session_shrink(run->sessions, run->session);
}

void run_ask_model(struct sma_run *run)
{
    if (run->turn.err == SMA_ERR_NOMEM) {
        run_finish_failed(run, "out of memory");
        return;
    }
    while (run->turn.err != SMA_ERR_OK || sma_run_request_size(run) > SMA_REQUEST_BYTES_MAX) {
        if (run->turn.err != SMA_ERR_OK || !shrink(run)) {
            run_finish_too_long(run);
            return;
        }
    }
    run->state = RUN_MODEL;
    (void)run_act(run, SMA_RUN_ASK_MODEL);
}

/* Facts, then each earlier message, then context, then the text itself: blocks of one user message. */
static void fill_blocks(struct sma_run *run, const size_t *header_ends)
{
    const struct sma_run_order *order = run->order;
    run->blocks[run->block_count++] = sma_buf_str(&run->facts);
    for (uint32_t i = 0; i < order->collected_count; i++) {
        size_t start = i == 0 ? 0 : header_ends[i - 1];
        run->blocks[run->block_count++] =
            (struct sma_str){run->earlier.ptr + start, header_ends[i] - start};
        if (order->collected[i].context.len > 0)
            run->blocks[run->block_count++] = order->collected[i].context;
        if (order->collected[i].text.len > 0)
            run->blocks[run->block_count++] = order->collected[i].text;
    }
    if (order->context.len > 0)
        run->blocks[run->block_count++] = order->context;
    if (order->text.len > 0)
        run->blocks[run->block_count++] = order->text;
}

static bool is_within(const struct sma_buf *buf, struct sma_str text)
{
    return buf->ptr != NULL && text.ptr >= buf->ptr && text.ptr < buf->ptr + buf->len;
}

/* A model can be talked into telling the word that our blocks begin with. It still serves nobody: in what people write it is
 * crossed out, in the same way each time, so that the bytes of a session stay. */
static bool cross_out_word(struct sma_run *run)
{
    char word[17];
    size_t bytes = 0;
    if (run->order->facts_word == 0)
        return true;
    snprintf(word, sizeof word, "%016llx", (unsigned long long)run->order->facts_word);
    sma_buf_clear(&run->masked);
    for (uint32_t i = 0; i < run->block_count; i++)
        bytes += run->blocks[i].len;
    for (uint32_t i = 0; i < run->block_count; i++) {
        struct sma_str *block = &run->blocks[i];
        if (is_within(&run->facts, *block) || is_within(&run->earlier, *block) ||
            memmem(block->ptr, block->len, word, sizeof word - 1) == NULL)
            continue;
        if (run->masked.len == 0 && sma_buf_reserve(&run->masked, bytes) == NULL)
            return false; /* it must not move: blocks point into it */
        char *copy = run->masked.ptr + run->masked.len;
        sma_buf_put_str(&run->masked, *block);
        *block = (struct sma_str){copy, block->len};
        for (char *at = copy;
             (at = memmem(at, block->len - (size_t)(at - copy), word, sizeof word - 1)) != NULL;)
            memset(at, '-', sizeof word - 1);
    }
    return true;
}

/* One allocation instead of several while a buffer grows. What it was too small for still grows. */
static void make_room(struct sma_buf *buf, size_t bytes)
{
    (void)sma_buf_reserve(buf,
                          bytes); /* a failure stays in the buffer and is met at the next request */
}

static bool put_facts(struct sma_run *run, struct sma_str stored_facts, size_t *header_ends)
{
    const struct sma_run_order *order = run->order;
    make_room(&run->facts, stored_facts.len > 0 ? stored_facts.len : FACTS_BYTES_USUAL);
    if (stored_facts.len > 0)
        sma_buf_put_str(&run->facts, stored_facts);
    else
        sma_prompt_put_facts(&run->facts, order, run->wall_ms, run->random);
    for (uint32_t i = 0; i < order->collected_count; i++) {
        sma_prompt_put_earlier(&run->earlier, &order->collected[i], order->facts_word);
        header_ends[i] = run->earlier.len;
    }
    return run->facts.err == SMA_ERR_OK && run->earlier.err == SMA_ERR_OK;
}

void run_put_user(struct sma_run *run, struct sma_str stored_facts)
{
    uint32_t collected_count = run->order->collected_count;
    size_t *header_ends = NULL;
    run->blocks = run->few_blocks;
    if (collected_count > 0) {
        header_ends = calloc(collected_count, sizeof *header_ends);
        run->blocks = run->many_blocks =
            calloc(BLOCKS_FEW + 3 * (size_t)collected_count, sizeof *run->blocks);
    }
    bool has_memory = collected_count == 0 || (header_ends != NULL && run->many_blocks != NULL);
    if (!has_memory || !put_facts(run, stored_facts, header_ends)) {
        run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
        free(header_ends);
        return;
    }
    fill_blocks(run, header_ends);
    free(header_ends);
    if (!cross_out_word(run)) {
        run->turn.err = run->masked.err;
        return;
    }
    size_t bytes = TURN_BYTES_USUAL;
    for (uint32_t i = 0; i < run->block_count; i++)
        bytes += run->blocks[i].len + run->blocks[i].len / 8;
    make_room(&run->turn, bytes);
    run_open_fragment(run);
    run->target->wire->put_user(&run->turn, run->blocks, run->block_count);
    run_close_fragment(run, 1);
}

/* -- steps -------------------------------------------------------------------------------------------------------- */
void run_store_results(struct sma_run *run)
{
    run->results_are_asked = true;
    struct sma_run_action *action = run_act(run, SMA_RUN_STORE_STEP);
    action->step = (struct sma_step){.seq = run->order->seq,
                                     .number = run->results_number,
                                     .kind = SMA_STEP_RESULTS,
                                     .data = sma_buf_str(&run->results_data)};
}

/* Not stored for want of disk: in the order of the numbers again after a second, unless the program is ending. */
static void no_disk(struct sma_run *run, uint32_t number)
{
    if (run->results_number != 0 && number <= run->results_number)
        run->results_are_asked = false;
    if (run->state == RUN_STORING && number == run->answer_number)
        run->answer_is_asked = false;
    if (run->note_number != 0 && number == run->note_number)
        run->note_is_asked = false;
    if (run->is_draining && run->state != RUN_MODEL && run->state != RUN_FINISHING)
        run_end(run, false);
    else
        run_wait(run);
}

static void step_done(struct sma_run *run, const struct sma_step_done *step)
{
    if (run->state == RUN_FINISHING)
        return; /* the answer to DONE tells */
    if (step->verdict == SMA_STEP_STOPPED) {
        if (run->state == RUN_MODEL)
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
    if (run->results_number != 0 && run->results_number <= step->number)
        run->results_number = 0;
    if (run->state == RUN_SETTLING && run->results_number == 0)
        run_end(run, false);
    else if (run->state == RUN_STORING && step->number == run->answer_number)
        run_carry_out(run, step);
    else if (run->state == RUN_TOOLS && step->number == run->note_number)
        run_note_durable(run, step);
}

static void retry(struct sma_run *run)
{
    run->is_waiting = false;
    if (run->state == RUN_FINISHING) {
        if (!run->done_is_asked)
            run_store_done(run);
        return;
    }
    if (run->results_number != 0 && !run->results_are_asked)
        run_store_results(run);
    if (run->state == RUN_STORING && !run->answer_is_asked)
        run_store_answer(run);
    if (run->state == RUN_TOOLS && run->note_number != 0 && !run->note_is_asked)
        run_store_note(run);
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

/* -- the model ---------------------------------------------------------------------------------------------------- */
/* What the provider said, its address and, last, the remedy: a shorter line would lose just that. */
#define MODEL_REASON_BYTES_MAX 1000

static void model_failed(struct sma_run *run, const struct sma_model_answer *answer)
{
    struct sma_str why = sma_str_trim(answer->error);
    char text[MODEL_REASON_BYTES_MAX + 1] = "no reason given";
    size_t len = sma_utf8_cut(why, MODEL_REASON_BYTES_MAX);
    for (size_t i = 0; i < len; i++)
        text[i] = (unsigned char)why.ptr[i] < ' ' ? ' ' : why.ptr[i];
    if (len > 0)
        text[len] = '\0';
    sma_notice_format(&run->done_text, run->language, SMA_NOTICE_MODEL_FAILED, text);
    run_finish_notice(run, SMA_OUTCOME_FAILED);
}

static void model_answered(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (run->state != RUN_MODEL)
        return;
    if (run->stamps.model_out_ns == 0) {
        run->stamps.model_out_ns = answer->out_ns;
        run->stamps.first_token_ns = answer->first_token_ns;
    }
    if (answer->status == SMA_MODEL_OK) {
        if (answer->call_count == 0)
            run_finish_answer(run, answer);
        else
            run_take_answer(run, answer);
        return;
    }
    if (run->is_draining && answer->status != SMA_MODEL_FAILED) {
        run_settle(run);
        return;
    }
    if (answer->status != SMA_MODEL_CONTEXT_LENGTH)
        model_failed(run, answer);
    else if (shrink(run))
        run_ask_model(run);
    else
        run_finish_too_long(run);
}

/* -- beginning and ending ----------------------------------------------------------------------------------------- */
static void begin(struct sma_run *run)
{
    run->session->is_loaded = !run->settings->is_stale;
    if (run->order->step_count > 0) {
        run_resume(run);
        return;
    }
    run_put_user(run, (struct sma_str){0});
    run_ask_model(run);
}

static void start(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    run->stamps.run_ns = run->now_ns;
    run_progress(run, SMA_PROGRESS_STARTED, (struct sma_str){0});
    if (order->is_suspect && order->attempt > SMA_RUN_ATTEMPT_COUNT_MAX) {
        sma_notice_format(&run->done_text, run->language, SMA_NOTICE_GIVEN_UP);
        run_finish_notice(run, SMA_OUTCOME_GIVEN_UP);
    } else if (!run->settings->is_configured) {
        sma_notice_format(&run->done_text, run->language, SMA_NOTICE_MODEL_NOT_CONFIGURED);
        run_finish_notice(run, SMA_OUTCOME_FAILED);
    } else if (order->has_past && !run->session->is_loaded) {
        run->state = RUN_LOADING;
        run_act(run, SMA_RUN_ASK_SESSION)->session =
            (struct sma_session_ask){.chat_key = order->route.chat_key,
                                     .before_seq = order->seq,
                                     .turns_max = SMA_SESSION_MESSAGE_COUNT_MAX / 2,
                                     .bytes_max = SMA_SESSION_BYTES_MAX};
    } else {
        begin(run);
    }
}

/* A run whose DONE is asked waits for the verdict: only that tells whether it ended before it was stopped. */
static void stop(struct sma_run *run)
{
    if (run->state == RUN_FINISHING)
        return;
    if (run->state == RUN_MODEL)
        (void)run_act(run, SMA_RUN_CANCEL_MODEL);
    run->outcome = SMA_OUTCOME_CANCELLED;
    run_end(run, false);
}

static void drain(struct sma_run *run, bool is_hard)
{
    run->is_draining = true;
    bool is_first = run->state == RUN_NEW || run->state == RUN_LOADING;
    if (is_first || (run->is_waiting && run->state != RUN_MODEL)) {
        run_end(run, false);
    } else if (run->state == RUN_TOOLS && !is_hard) {
        run_check_round(run);
    } else if (is_hard &&
               (run->state == RUN_MODEL || run->state == RUN_TOOLS || run->state == RUN_CHECKING)) {
        if (run->state == RUN_MODEL)
            (void)run_act(run, SMA_RUN_CANCEL_MODEL);
        run_settle(run);
    }
}

void sma_run_event(struct sma_run *run, const struct sma_run_event *event,
                   struct sma_run_actions *actions)
{
    SMA_ASSERT(run->magic == RUN_MAGIC);
    actions->count = 0;
    run->actions = actions;
    run->now_ns = event->now_ns;
    if (run->state == RUN_OVER || (run->state == RUN_NEW) != (event->kind == SMA_RUN_START)) {
        if (run->state == RUN_NEW && (event->kind == SMA_RUN_STOP || event->kind == SMA_RUN_DRAIN))
            run_end(run, false);
        return;
    }
    switch (event->kind) {
    case SMA_RUN_START:
        start(run);
        break;
    case SMA_RUN_SESSION:
        if (run->state == RUN_LOADING) {
            /* In a format no longer spoken it would stay for the next run: this one goes without. */
            if (!run->settings->is_stale)
                (void)sma_session_load(run->sessions, run->session, run->target->wire,
                                       event->turns);
            begin(run);
        }
        break;
    case SMA_RUN_MODEL:
        model_answered(run, event->model);
        break;
    case SMA_RUN_CONTACT:
        run_contact(run, event->call, event->contact);
        break;
    case SMA_RUN_HISTORY:
        run_history(run, event->call, event->history);
        break;
    case SMA_RUN_SENT:
        run_sent(run, event->call, (enum sma_send_state)event->sent->state, event->sent->error);
        break;
    case SMA_RUN_TOOL:
        run_tool(run, event->call, event->tool);
        break;
    case SMA_RUN_STEP_DONE:
        step_done(run, event->step);
        break;
    case SMA_RUN_DONE_DONE:
        done_done(run, event->step);
        break;
    case SMA_RUN_RETRY:
        retry(run);
        break;
    case SMA_RUN_STOP:
        stop(run);
        break;
    case SMA_RUN_CLEARED:
        if (run->state == RUN_MODEL) {
            (void)run_act(run, SMA_RUN_CANCEL_MODEL);
            run_ask_model(run);
        }
        break;
    case SMA_RUN_DRAIN:
        drain(run, false);
        break;
    case SMA_RUN_DRAIN_HARD:
        drain(run, true);
        break;
    }
}
