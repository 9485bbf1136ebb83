/* run_question.c — see run_question.h. */
#include "run_priv.h"

#include "runtime/agent/elicit_form.h"
#include "sma/text.h"

#define DELIVERY_CALL SMA_TOOL_CALL_COUNT_MAX /* of its row: none of the answer's calls */
#define ASKED_NOTE "question"
#define OVER_NOTE "question over"

/* -- answers to the server --------------------------------------------------------------------- */
static void answer(struct sma_run *run, uint32_t call, enum sma_mcp_action how,
                   struct sma_str content)
{
    struct sma_run_action *action = run_act(run, SMA_RUN_ELICITED);
    action->call = call;
    action->elicited = (struct sma_mcp_elicited){
        .seq = run->order->seq, .call = call, .action = (uint8_t)how, .content = content};
}

/* What the model is told with the result. */
static void note_answer(struct sma_run *run, const struct run_question *question,
                        enum sma_mcp_action how)
{
    static const char *const words[] = {[SMA_MCP_ACCEPT] = "answered",
                                        [SMA_MCP_DECLINE] = "declined",
                                        [SMA_MCP_DISMISS] = "gave no answer"};
    uint32_t number = question->call >> RUN_CHILD_SHIFT;
    uint32_t index = question->call & RUN_CHILD_CALL_MASK;
    struct run_child *child = number == 0 ? NULL : run_child_find(run, number);
    struct sma_run *asker = number == 0 ? run : child != NULL ? child->run : NULL;
    if (asker == NULL || index >= asker->call_count)
        return;
    asker->calls[index].asked_people = words[how];
}

static void take_first(struct sma_run *run)
{
    struct run_questions *questions = &run->questions;
    questions->count--;
    memmove(&questions->list[0], &questions->list[1], questions->count * sizeof questions->list[0]);
    questions->is_asked = false;
}

/* -- into the chat ----------------------------------------------------------------------------- */
/* run->questions.text as a delivery of a step of its own. false: out of memory. */
static bool put_note(struct sma_run *run, bool asks_words)
{
    struct run_questions *questions = &run->questions;
    questions->delivery = (struct sma_step_delivery){.call = DELIVERY_CALL,
                                                     .intent = SMA_INTENT_NOTICE,
                                                     .route = run->order->route,
                                                     .text = sma_buf_str(&questions->text),
                                                     .is_fallback = true};
    const struct sma_step note = {.seq = run->order->seq,
                                  .kind = SMA_STEP_NOTE,
                                  .data = asks_words ? SMA_STR(ASKED_NOTE) : SMA_STR(OVER_NOTE),
                                  .delivery_count = 1,
                                  .deliveries = &questions->delivery,
                                  .asks_words = asks_words};
    if (questions->text.err != SMA_ERR_OK || !run_child_put_note(run, &note))
        return false;
    questions->is_storing = true;
    questions->is_first_asked = asks_words;
    run->open_count++; /* the round waits for it */
    return true;
}

static void begin_text(struct sma_run *run)
{
    struct run_questions *questions = &run->questions;
    sma_buf_fini(&questions->text);
    sma_buf_init(&questions->text, SMA_ELICIT_QUESTION_BYTES_MAX);
}

/* What is not said to us there, we do not take for an answer. */
static void put_how_in_group(struct sma_run *run)
{
    if (!run->order->is_group && !sma_prompt_is_group(run->order->route.chat_type))
        return;
    sma_buf_put_char(&run->questions.text, '\n');
    sma_notice_format(&run->questions.text, run->language, SMA_NOTICE_ELICIT_GROUP);
}

/* The first that waits, when nothing of it is under way. */
static void ask_next(struct sma_run *run)
{
    struct run_questions *questions = &run->questions;
    while (questions->count > 0 && !questions->is_storing && !questions->is_asked) {
        const struct run_question *first = &questions->list[0];
        begin_text(run);
        sma_elicit_put_question(&questions->text, run->language, first->asked);
        put_how_in_group(run);
        if (put_note(run, true))
            return;
        answer(run, first->call, SMA_MCP_DISMISS, SMA_STR(""));
        take_first(run);
    }
}

/* The chat is told that the question is over, unless something is on its way to it. */
static void tell_over(struct sma_run *run, struct sma_str server)
{
    struct run_questions *questions = &run->questions;
    char *name = questions->over_server;
    size_t len = sma_utf8_cut(server, sizeof questions->over_server - 1);
    memmove(name, server.ptr, len);
    name[len] = '\0';
    if (questions->is_storing)
        return; /* behind it */
    begin_text(run);
    sma_notice_format(&questions->text, run->language, SMA_NOTICE_ELICIT_OVER, name);
    name[0] = '\0';
    (void)put_note(run, false); /* out of memory: it is only not told */
}

static bool has_call(const struct sma_run *run, uint32_t call)
{
    return sma_run_mcp_name(run, call).len > 0;
}

void run_question_ask(struct sma_run *run, uint32_t call, const struct sma_mcp_elicit *asked)
{
    struct run_questions *questions = &run->questions;
    bool can_ask =
        run->state == RUN_TOOLS && has_call(run, call) && !run->is_draining &&
        !run->channel.is_stored && /* its caller waits for one result, and says no more */
        questions->count < SMA_COUNT_OF(questions->list) && sma_elicit_can_ask(asked->schema);
    if (!can_ask) {
        answer(run, call, SMA_MCP_DISMISS, SMA_STR(""));
        return;
    }
    questions->list[questions->count++] = (struct run_question){.call = call, .asked = asked};
    ask_next(run);
}

void run_question_durable(struct sma_run *run)
{
    struct run_questions *questions = &run->questions;
    if (!questions->is_storing)
        return;
    questions->is_storing = false;
    SMA_ASSERT(run->open_count > 0);
    run->open_count--;
    if (run->state != RUN_TOOLS || run->is_draining)
        return;
    questions->is_asked = questions->is_first_asked;
    if (questions->over_server[0] != '\0')
        tell_over(run, sma_str(questions->over_server));
    ask_next(run);
}

/* -- what people do ---------------------------------------------------------------------------- */
static void close_first(struct sma_run *run, enum sma_mcp_action how, struct sma_str content)
{
    const struct run_question first = run->questions.list[0];
    note_answer(run, &first, how);
    answer(run, first.call, how, content);
    take_first(run);
    ask_next(run);
}

/* Again, with the reason. */
static void ask_again(struct sma_run *run, struct sma_str why)
{
    struct run_questions *questions = &run->questions;
    char reason[301];
    size_t len = sma_utf8_cut(why, sizeof reason - 1);
    memcpy(reason, why.ptr, len);
    reason[len] = '\0';
    begin_text(run);
    sma_notice_format(&questions->text, run->language, SMA_NOTICE_ELICIT_AGAIN, reason);
    put_how_in_group(run);
    if (put_note(run, true))
        questions->is_asked = false;
    else
        close_first(run, SMA_MCP_DISMISS, SMA_STR(""));
}

void run_question_words(struct sma_run *run, const struct sma_steer *steer)
{
    struct run_questions *questions = &run->questions;
    struct sma_buf content, why;
    if (!steer->is_answer || !questions->is_asked || run->state != RUN_TOOLS ||
        steer->message_count == 0)
        return;
    struct run_question *first = &questions->list[0];
    sma_buf_init(&content, SMA_ELICIT_CONTENT_BYTES_MAX);
    sma_buf_init(&why, 4096);
    enum sma_elicit_said said =
        sma_elicit_read(first->asked->schema, steer->messages[0].text, &content, &why);
    if (said == SMA_ELICIT_MISFIT && ++first->try_count < RUN_QUESTION_TRY_COUNT) {
        ask_again(run, sma_buf_str(&why));
    } else {
        sma_buf_clear(&run->scratch);
        sma_buf_put_str(&run->scratch, sma_buf_str(&content)); /* until the next event */
        close_first(run,
                    said == SMA_ELICIT_FITS       ? SMA_MCP_ACCEPT
                    : said == SMA_ELICIT_DECLINED ? SMA_MCP_DECLINE
                                                  : SMA_MCP_DISMISS,
                    said == SMA_ELICIT_FITS ? sma_buf_str(&run->scratch) : SMA_STR(""));
    }
    sma_buf_fini(&content);
    sma_buf_fini(&why);
}

static void drop(struct sma_run *run, uint32_t index)
{
    struct run_questions *questions = &run->questions;
    const struct run_question question = questions->list[index];
    bool is_shown = index == 0 && (questions->is_asked || questions->is_storing);
    note_answer(run, &question, SMA_MCP_DISMISS);
    answer(run, question.call, SMA_MCP_DISMISS, SMA_STR(""));
    if (index > 0) {
        questions->count--;
        memmove(&questions->list[index], &questions->list[index + 1],
                (questions->count - index) * sizeof questions->list[0]);
        return;
    }
    take_first(run);
    questions->is_first_asked = false;
    if (is_shown)
        tell_over(run, question.asked->server);
    ask_next(run);
}

void run_question_expire(struct sma_run *run, uint32_t call)
{
    for (uint32_t i = run->questions.count; i > 0; i--)
        if (run->questions.list[i - 1].call == call)
            drop(run, i - 1);
}

void run_question_before(struct sma_run *run, const struct sma_run_event *event)
{
    if (event->kind == SMA_RUN_MCP && run->state == RUN_TOOLS)
        run_question_expire(run, event->call);
}

void run_question_dismiss_all(struct sma_run *run)
{
    struct run_questions *questions = &run->questions;
    for (uint32_t i = 0; i < questions->count; i++)
        answer(run, questions->list[i].call, SMA_MCP_DISMISS, SMA_STR(""));
    questions->count = 0;
    questions->is_asked = questions->is_first_asked = false;
}

/* -- resuming ---------------------------------------------------------------------------------- */
void run_question_resume(struct sma_run *run, struct sma_str note)
{
    run->questions.was_asked = sma_str_is_equal(note, SMA_STR(ASKED_NOTE));
}

void run_question_tell_lost(struct sma_run *run)
{
    if (!run->questions.was_asked || run->state != RUN_TOOLS)
        return;
    run->questions.was_asked = false;
    begin_text(run);
    sma_notice_format(&run->questions.text, run->language, SMA_NOTICE_ELICIT_LOST);
    (void)put_note(run, false); /* out of memory: the result tells the model all the same */
}

void run_question_fini(struct sma_run *run)
{
    sma_buf_fini(&run->questions.text);
}
