/*
 * Aim: what the person reads at the end of a run, and what stays of it in the conversation: the
 * final text is the answer, said once; every end keeps its turn; answers that are not the end are
 * followed up. Method: the driver plays all others.
 */
#include "unit/agent/run_driver.h"

static const struct driver_call send_wait[] = {
    {"c1", "chat_send", "{\"text\":\"One moment, I look into it.\"}"}, {0}};
static const struct driver_call look[] = {{"c2", "chat_load_history", "{}"}, {0}};
static const struct driver_call both[] = {
    {"c1", "chat_send", "{\"text\":\"One moment.\"}"}, {"c2", "chat_load_history", "{}"}, {0}};

static void begin(struct driver *d)
{
    driver_init(d, SMA_LLM_CHAT);
    d->first_state = SMA_DELIVERY_SENT;
    driver_start(d);
}

/* The model calls, the calls are carried out, the results are on their way to the disk. */
static void play_round(struct driver *d, enum sma_finish finish, const struct driver_call *calls)
{
    struct sma_history_lines none = {0};
    driver_answer(d, "", finish, calls);
    driver_durable(d);
    for (uint32_t i = 0; calls[i].id != NULL; i++)
        if (driver_find(d, SMA_RUN_ASK_MODEL) == NULL)
            driver_event(
                d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = i, .history = &none});
    CHECK(driver_find(d, SMA_RUN_ASK_MODEL) != NULL);
    if (driver_find(d, SMA_RUN_STORE_STEP) != NULL)
        driver_durable(d);
}

static void answer(struct driver *d, const char *text, enum sma_finish finish)
{
    driver_answer(d, text, finish, NULL);
    driver_done(d, true);
}

/* All that the next request holds of this chat. */
static bool session_has(const struct driver *d, const char *text)
{
    for (uint32_t i = 0; i < d->session->turn_count; i++) {
        struct sma_str bytes = d->session->turns[i]->bytes;
        if (memmem(bytes.ptr, bytes.len, text, strlen(text)) != NULL)
            return true;
    }
    return false;
}

/* -- the final text is the answer -------------------------------------------------------------- */
CASE(the_final_text_is_delivered_after_interim_messages)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    play_round(&d, SMA_FINISH_TOOLS, send_wait);
    play_round(&d, SMA_FINISH_TOOLS, look);
    answer(&d, "The build failed.", SMA_FINISH_STOP);
    CHECK_TEXT("The build failed.", d.done_text);
    CHECK_INT(SMA_INTENT_ASSISTANT_TEXT, d.done_intent);
    CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
}

CASE(a_final_text_that_repeats_the_last_message_is_not)
{
    static const struct
    {
        const char *final;
        bool is_wanted;
    } rows[] = {
        {"One moment, I look into it.", false},
        {"**one moment**, I look into it", false},
        {"One moment, I look into it. Found: nothing.", true},
        {"moment", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        begin(&d);
        play_round(&d, SMA_FINISH_TOOLS, send_wait);
        answer(&d, rows[i].final, SMA_FINISH_STOP);
        CHECK_INT(rows[i].is_wanted, d.done_text != NULL);
        CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
        driver_fini(&d);
    }
}

CASE(the_same_message_twice_in_a_row_is_sent_once)
{
    static const struct driver_call again[] = {
        {"c3", "chat_send", "{\"text\":\"one moment, I look into it!\"}"},
        {"c4", "chat_send", "{\"text\":\"Something else\"}"},
        {"c5", "chat_send", "{\"text\":\"*something else*\"}"},
        {0}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    play_round(&d, SMA_FINISH_TOOLS, send_wait);
    driver_answer(&d, "", SMA_FINISH_TOOLS, again);
    const struct sma_step *step = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(1, step->delivery_count);
    CHECK_STR("Something else", step->deliveries[0].text);
    driver_durable(&d);
    CHECK(driver_request_has(&d, "Already sent just before"));
}

/* -- answers that are not the end -------------------------------------------------------------- */
CASE(an_empty_answer_is_followed_up_once)
{
    struct driver d;
    begin(&d);
    play_round(&d, SMA_FINISH_TOOLS, look);
    driver_answer(&d, " \n", SMA_FINISH_STOP, NULL);
    driver_durable(&d);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    CHECK(driver_request_has(
        &d, "not from the user] Your answer was empty. Give the user your answer now."));
    CHECK(driver_request_has(
        &d, "{\"role\":\"assistant\",\"content\":\"[no words]\"},{\"role\":\"user\""));
    answer(&d, "Here it is.", SMA_FINISH_STOP);
    CHECK_TEXT("Here it is.", d.done_text);
    driver_fini(&d);

    begin(&d);
    driver_answer(&d, "", SMA_FINISH_STOP, NULL);
    driver_durable(&d);
    answer(&d, "", SMA_FINISH_STOP);
    CHECK_TEXT("I have no answer to that.", d.done_text);
    CHECK_INT(SMA_INTENT_NOTICE, d.done_intent);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome); /* said as it is */
    CHECK(session_has(&d, "hello") && session_has(&d, "[ended: without an answer]"));
    driver_fini(&d);
}

CASE(an_empty_end_after_the_last_word_is_the_end)
{
    struct driver d;
    begin(&d);
    play_round(&d, SMA_FINISH_TOOLS, look);
    play_round(&d, SMA_FINISH_TOOLS, send_wait);
    answer(&d, "", SMA_FINISH_STOP);
    CHECK(d.done_text == NULL);
    CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
    driver_fini(&d);

    begin(&d); /* tools ran beside the message: there may be more to say, but nobody is forced to */
    play_round(&d, SMA_FINISH_TOOLS, both);
    driver_answer(&d, "", SMA_FINISH_STOP, NULL);
    driver_durable(&d);
    CHECK(driver_request_has(&d, "if they have been sent all of it, answer nothing"));
    answer(&d, "", SMA_FINISH_STOP);
    CHECK(d.done_text == NULL);
    CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
    driver_fini(&d);
}

CASE(a_text_that_was_cut_off_is_continued_and_delivered_as_one)
{
    struct driver d;
    begin(&d);
    driver_answer(&d, "It begins her", SMA_FINISH_LENGTH, NULL);
    driver_durable(&d);
    CHECK(driver_request_has(&d, "Go on where it stopped"));
    CHECK(driver_request_has(&d, "It begins her"));
    driver_answer(&d, "here, goes ", SMA_FINISH_LENGTH, NULL); /* from the last word on */
    driver_durable(&d);
    answer(&d, "on and ends.", SMA_FINISH_STOP);
    CHECK_TEXT("It begins here, goes on and ends.", d.done_text);
    CHECK_TEXT("It begins here, goes on and ends.", d.done_output);
    CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
    driver_fini(&d);

    begin(&d); /* three times, then it is said */
    static const char *const more[] = {"one ", "two ", "three "};
    for (int i = 0; i < 3; i++) {
        driver_answer(&d, more[i], SMA_FINISH_LENGTH, NULL);
        driver_durable(&d);
    }
    answer(&d, "half an ans", SMA_FINISH_LENGTH);
    CHECK_TEXT("one two three half an ans\n[cut: the rest was too long]", d.done_text);
    driver_fini(&d);
}

CASE(parts_are_joined_without_what_they_repeat)
{
    static const struct
    {
        const char *first, *second, *whole;
    } rows[] = {
        {"It begins her", "here, and ends.", "It begins here, and ends."},
        {"It begins", "and ends.", "It begins and ends."},
        {"It begins ", "and ends.", "It begins and ends."},
        {"It begins ", "begins and ends.", "It begins and ends."},
        {"a line\n", "next line", "a line\nnext line"},
        {"It says (", "here)", "It says (here)"},
        {"Several words are repeated", "words are repeated here.",
         "Several words are repeated here."},
        {"\xe5\xa5\xbd\xe7\x9a\x84", "\xe6\x88\x91", "\xe5\xa5\xbd\xe7\x9a\x84\xe6\x88\x91"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        begin(&d);
        driver_answer(&d, rows[i].first, SMA_FINISH_LENGTH, NULL);
        driver_durable(&d);
        answer(&d, rows[i].second, SMA_FINISH_STOP);
        CHECK_TEXT(rows[i].whole, d.done_text);
        driver_fini(&d);
    }
}

/* Cut by a crash after each part: the parts are in the steps. */
CASE(parts_of_a_text_survive_a_crash)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    driver_answer(&d, "first ", SMA_FINISH_LENGTH, NULL);
    driver_durable(&d);
    driver_cut(&d);
    sma_session_clear(d.sessions, d.session, UINT64_MAX);
    driver_start(&d);
    CHECK(driver_request_has(&d, "Go on where it stopped"));
    driver_check_facts(&d);
    driver_answer(&d, "", SMA_FINISH_STOP, NULL); /* an empty one after a part ends it */
    driver_done(&d, true);
    CHECK_TEXT("first ", d.done_text);
}

CASE(calls_that_were_cut_off_go_back_as_errors_twice)
{
    static const struct driver_call write[] = {{"c1", "write_file", "\"path\":\"a\",\"cont"}, {0}};
    struct driver d;
    begin(&d);
    for (int i = 0; i < 2; i++) {
        driver_answer(&d, "", SMA_FINISH_LENGTH, write);
        CHECK(driver_find(&d, SMA_RUN_ASK_TOOL) == NULL);
        driver_durable(&d);
        CHECK(driver_request_has(&d, "Call again with less at once"));
        driver_durable(&d);
        driver_cut(&d); /* the count is in the steps */
        sma_session_clear(d.sessions, d.session, UINT64_MAX);
        driver_start(&d);
    }
    driver_answer(&d, "", SMA_FINISH_LENGTH, write);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK(strstr(d.done_text, "in smaller parts") != NULL);
    CHECK(session_has(&d, "[ended: "));
    driver_fini(&d);

    begin(&d); /* a message in a cut answer is not sent either */
    driver_answer(&d, "", SMA_FINISH_LENGTH, send_wait);
    CHECK_INT(0, driver_find(&d, SMA_RUN_STORE_STEP)->step.delivery_count);
    driver_durable(&d);
    CHECK(driver_request_has(&d, "cut off behind this call"));
    driver_fini(&d);
}

/* -- refusals ---------------------------------------------------------------------------------- */
CASE(a_refusal_is_told_and_not_sent_again)
{
    static const struct
    {
        enum sma_finish finish;
        const char *text, *told;
        enum sma_outcome outcome;
    } rows[] = {
        {SMA_FINISH_REFUSED, "", "The language model refused to answer this.", SMA_OUTCOME_FAILED},
        {SMA_FINISH_REFUSED, "I cannot help with that.", "I cannot help with that.",
         SMA_OUTCOME_OK},
        {SMA_FINISH_FILTERED, "", "A content filter of the language model stopped this answer.",
         SMA_OUTCOME_FAILED},
        {SMA_FINISH_FILTERED, "It is",
         "It is\n\nA content filter of the language model stopped this answer.",
         SMA_OUTCOME_FAILED},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        begin(&d);
        play_round(&d, SMA_FINISH_TOOLS, send_wait); /* even when something was said before */
        answer(&d, rows[i].text, rows[i].finish);
        CHECK_TEXT(rows[i].told, d.done_text);
        CHECK_INT(rows[i].outcome, d.done_outcome);
        CHECK_INT(1, d.session->turn_count);
        CHECK(!session_has(&d, "hello")); /* the words that were refused */
        CHECK(session_has(&d, "the model refused to answer it"));
        driver_fini(&d);
    }
}

CASE(calls_of_a_refused_answer_are_not_carried_out)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    driver_answer(&d, "", SMA_FINISH_FILTERED, send_wait);
    CHECK(driver_find(&d, SMA_RUN_STORE_STEP) == NULL);
    driver_done(&d, true);
    CHECK_INT(0, d.delivery_count);
}

/* -- every end keeps its turn ------------------------------------------------------------------ */
static void play_thirty(struct driver *d)
{
    begin(d);
    for (int round = 1; round <= SMA_RUN_STEP_COUNT_MAX; round++) {
        char arguments[32]; /* each asks for something else */
        snprintf(arguments, sizeof arguments, "{\"keyword\":\"%c%c\"}", 'a' + round / 26,
                 'a' + round % 26);
        const struct driver_call call[] = {{"c1", "chat_load_history", arguments}, {0}};
        play_round(d, SMA_FINISH_TOOLS, call);
    }
    CHECK(driver_request_has(d, "All steps of this run are used up"));
}

CASE(at_the_step_limit_the_model_sums_up_and_the_work_stays)
{
    struct driver d;
    play_thirty(&d);
    answer(&d, "Half of it is done.", SMA_FINISH_STOP);
    CHECK_TEXT("Half of it is done.\n\n[I stopped after 30 steps. Send \"continue\" and I go on.]",
               d.done_text);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK_INT(1, d.session->turn_count);
    CHECK(d.session->message_count > 10); /* the newest rounds as they were */
    CHECK(session_has(&d, "hello") && session_has(&d, "Half of it is done."));
    driver_fini(&d);

    play_thirty(&d); /* calls are not carried out any more, and nothing is asked again */
    driver_answer(&d, "", SMA_FINISH_TOOLS, look);
    driver_done(&d, true);
    CHECK_TEXT("[I stopped after 30 steps. Send \"continue\" and I go on.]", d.done_text);
    CHECK_INT(SMA_INTENT_NOTICE, d.done_intent);
    CHECK(session_has(&d, "[ended: the limit of steps was reached]"));
    driver_fini(&d);
}

/* -- loops ----------------------------------------------------------------------------------- */
/* Told at the third, summed up at the sixth; a run that gets on is left alone. */
CASE(the_same_call_with_the_same_result_ends)
{
    static const struct driver_call again[] = {{"c1", "chat_load_history", "{\"limit\":3}"}, {0}};
    static const struct driver_call turn[] = {{"c1", "chat_load_history", "{\"limit\":4}"}, {0}};
    for (int kind = 0; kind < 2; kind++) { /* one call; two calls in turn */
        struct driver d;
        begin(&d);
        int told = 0, rounds = 0;
        while (!driver_request_has(&d, "came again and again") && rounds < 20) {
            play_round(&d, SMA_FINISH_TOOLS, kind == 1 && rounds % 2 == 1 ? turn : again);
            rounds++;
            if (told == 0 && driver_request_has(&d, "The same call with the same result"))
                told = rounds;
        }
        CHECK_INT(kind == 0 ? 3 : 5, told);
        CHECK_INT(kind == 0 ? 6 : 11, rounds);
        answer(&d, "I could not find it.", SMA_FINISH_STOP);
        CHECK(strstr(d.done_text, "I could not find it.\n\n[I stopped: the same steps") != NULL);
        driver_fini(&d);
    }
}

/* A round of one call, and what it brings. */
static void play_call(struct driver *d, const char *name, const char *arguments, const char *result)
{
    const struct driver_call call[] = {{"c1", name, arguments}, {0}};
    driver_answer(d, "", SMA_FINISH_TOOLS, call);
    if (strcmp(name, "exec_shell") == 0)
        driver_tool(d, 0, SMA_TOOL_ALLOWED, "");
    driver_durable(d);
    driver_tool(d, 0, SMA_TOOL_ALLOWED, result);
    driver_durable(d);
}

/* Told at the sixth, summed up at the twelfth. What changes something is work, whatever it says. */
CASE(calls_that_differ_in_a_number_alone_end)
{
    static const struct
    {
        const char *name, *head, *tail; /* of the arguments, about a number or a letter */
        bool is_letter, differs;
        int told, rounds;
    } rows[] = {
        {"read_file", "{\"path\":\"part-", ".txt\"}", false, false, 6, 12},
        {"read_file", "{\"path\":\"part-", ".txt\"}", false, true, 0, 20},
        {"exec_shell", "{\"command\":\"mkdir d", "\"}", false, false, 0, 20},
        {"read_file", "{\"path\":\"part-", ".txt\"}", true, false, 0, 20},
    };
    for (size_t i = 0; i < 2 * SMA_COUNT_OF(rows); i++) {
        struct driver d;
        bool is_cut = i >= SMA_COUNT_OF(rows); /* counted from what is stored */
        const int k = (int)(i % SMA_COUNT_OF(rows));
        begin(&d);
        int told = 0, rounds = 0;
        while (!driver_request_has(&d, "came again and again") && rounds < 20) {
            char arguments[64], result[64];
            char number[8];
            snprintf(number, sizeof number, "%d", rounds + 1);
            number[0] = rows[k].is_letter ? (char)('A' + rounds) : number[0];
            snprintf(arguments, sizeof arguments, "%s%s%s", rows[k].head, number, rows[k].tail);
            snprintf(result, sizeof result, "{\"success\":true,\"text\":\"%d\"}",
                     rows[k].differs ? rounds : 0);
            play_call(&d, rows[k].name, arguments, result);
            rounds++;
            if (is_cut && rounds == 8) {
                driver_cut(&d);
                driver_start(&d);
            }
            if (told == 0 && driver_request_has(&d, "differ in a number alone"))
                told = rounds;
        }
        CHECK_INT(rows[k].told, told);
        CHECK_INT(rows[k].rounds, rounds);
        driver_fini(&d);
    }
}

CASE(unknown_tools_end)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    int rounds = 0;
    for (; !driver_request_has(&d, "came again and again") && rounds < 20; rounds++) {
        char name[32];
        snprintf(name, sizeof name, "no_such_tool_%d", rounds);
        const struct driver_call call[] = {{"c1", name, "{}"}, {0}};
        play_round(&d, SMA_FINISH_TOOLS, call);
    }
    CHECK_INT(6, rounds);
}

/* -- what is no answer ------------------------------------------------------------------------- */
CASE(a_closing_word_behind_what_was_sent_is_not_sent)
{
    static const struct
    {
        const char *text;
        bool is_sent;
    } cases[] = {{"Sent above.", false},
                 {"Done.", false},
                 {"I've sent the message.", false},
                 {"已发送。", false},
                 {"Done: 3 of 4.", true},
                 {"Sent. Anything else?", true},
                 {"Bob has it.", true},
                 {"Done", false},
                 {"Done! ✅", false},
                 {"✅ Sent.", false},
                 {"I’ve sent it to you 👍🏽", false},
                 {"消息已经发送给你了！", false},
                 {"已在上面回复，请查收。", false},
                 {"**Done.**", false},
                 {"(sent above)", false},
                 {"已发送给王芳。", true},
                 {"已发送，还需要什么吗？", true},
                 {"Sent to Carla.", true},
                 {"✅", true},
                 {"已发送 3 条", true},
                 {"发", true}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct driver d;
        begin(&d);
        d.first_state = SMA_DELIVERY_SENT;
        driver_answer(&d, "", SMA_FINISH_TOOLS, send_wait);
        driver_durable(&d);
        driver_answer(&d, cases[i].text, SMA_FINISH_STOP, NULL);
        driver_done(&d, true);
        CHECK_TEXT(cases[i].is_sent ? cases[i].text : "", d.done_text == NULL ? "" : d.done_text);
        driver_fini(&d);
    }
}

/* What was sent is queued (a late file) or in doubt: it may fail, and the closing word is all that
 * its person then has of the answer. */
CASE(a_closing_word_behind_what_may_not_have_arrived_is_sent)
{
    for (int i = 0; i < 4; i++) {
        SMA_AUTO(driver_fini) struct driver d;
        begin(&d);
        d.first_state = i % 2 == 1 ? SMA_DELIVERY_BEGUN : SMA_DELIVERY_UNKNOWN;
        driver_answer(&d, "", SMA_FINISH_TOOLS, send_wait);
        driver_durable(&d);
        if (i >= 2) {
            driver_cut(&d);
            driver_start(&d);
        }
        if (i % 2 == 1)
            driver_sent(&d, 0, SMA_SEND_QUEUED, "");
        answer(&d, "Done.", SMA_FINISH_STOP);
        CHECK_TEXT("Done.", d.done_text == NULL ? "" : d.done_text);
    }
}

static void answer_in_reasoning(struct driver *d, enum sma_finish finish)
{
    struct sma_model_answer empty = {.seq = d->order.seq,
                                     .status = SMA_MODEL_OK,
                                     .finish = (uint8_t)finish,
                                     .reasoning = SMA_STR("The train leaves at nine.")};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &empty});
}

CASE(an_answer_in_the_reasoning_is_given_when_it_says_nothing_else)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    answer_in_reasoning(&d, SMA_FINISH_STOP);
    driver_durable(&d); /* it is asked again first */
    answer_in_reasoning(&d, SMA_FINISH_STOP);
    driver_done(&d, true);
    CHECK_TEXT("The train leaves at nine.", d.done_text);
    CHECK(session_has(&d, "The train leaves at nine."));
}

/* -- budgets ----------------------------------------------------------------------------------- */
static const struct sma_budget_over OVER = {.scope = SMA_BUDGET_CHAT,
                                            .kind = SMA_BUDGET_TOKENS,
                                            .period = SMA_BUDGET_DAY,
                                            .left_ms = 3 * 3600000};
#define OVER_TEXT                                                                                  \
    "[The budget of this chat for today is used up (tokens), so I stop here. What I did is kept. " \
    "The budget is renewed in 3 hours; send \"continue\" then and I go on.]"

CASE(a_run_over_its_budget_carries_out_and_asks_no_more)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, look);
    CHECK(driver_find(&d, SMA_RUN_STORE_STEP) != NULL);
    driver_store(&d);
    struct sma_step_done done = {
        .seq = d.order.seq, .number = d.step_count, .verdict = SMA_STEP_DURABLE, .over = OVER};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STEP_DONE, .step = &done});
    struct sma_history_lines none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 0, .history = &none});
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) == NULL);
    driver_done(&d, true);
    CHECK_TEXT(OVER_TEXT, d.done_text);
    CHECK_INT(SMA_INTENT_NOTICE, d.done_intent);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK(session_has(&d, "hello") && session_has(&d, "[ended: its budget is used up]"));
}

CASE(a_resumed_run_over_its_budget_asks_no_more)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    play_round(&d, SMA_FINISH_TOOLS, look);
    driver_cut(&d);
    d.order.over = OVER;
    driver_start(&d);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) == NULL);
    driver_done(&d, true);
    CHECK_TEXT(OVER_TEXT, d.done_text);
}

CASE(a_run_that_fails_keeps_its_rounds)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    play_round(&d, SMA_FINISH_TOOLS, both);
    driver_model_status(&d, SMA_MODEL_FAILED, "gone");
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK_INT(1, d.session->turn_count);
    CHECK(session_has(&d, "hello") && session_has(&d, "chat_load_history"));
    CHECK(session_has(&d, "[ended: the language model could not be asked]"));
    CHECK(d.done_turn_len > 0);
}

/* A filter of the provider, say: with the words in the session it would refuse everything that is
 * asked later, too. */
CASE(what_a_provider_refuses_for_good_is_not_sent_again)
{
    static const struct
    {
        enum sma_model_failure trouble;
        int status;
        bool is_shown;
    } rows[] = {
        {SMA_MODEL_FAILURE_REQUEST, 400, false}, {SMA_MODEL_FAILURE_REQUEST, 400, false},
        {SMA_MODEL_FAILURE_REQUEST, 403, false}, {SMA_MODEL_FAILURE_SESSION, 400, false},
        {SMA_MODEL_FAILURE_SESSION, 400, false}, {SMA_MODEL_FAILURE_REQUEST, 200, true},
        {SMA_MODEL_FAILURE_MEMBER, 400, true},   {SMA_MODEL_FAILURE_AUTH, 401, true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        begin(&d);
        play_round(&d, SMA_FINISH_TOOLS, i % 2 == 0 ? send_wait : both);
        struct sma_model_answer refusal = {.seq = d.order.seq,
                                           .status = SMA_MODEL_FAILED,
                                           .trouble = (uint8_t)rows[i].trouble,
                                           .http_status = rows[i].status,
                                           .retry_after_ms = -1};
        for (int k = 0; k < 4 && driver_find(&d, SMA_RUN_STORE_DONE) == NULL; k++)
            driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &refusal});
        driver_done(&d, true);
        CHECK_INT(i % 2 == 0 ? SMA_OUTCOME_OK : SMA_OUTCOME_FAILED, d.done_outcome); /* answered? */
        CHECK_INT(1, d.session->turn_count);
        CHECK_INT(rows[i].is_shown, session_has(&d, "hello"));
        CHECK_INT(rows[i].is_shown, session_has(&d, "chat_send"));
        CHECK_INT(!rows[i].is_shown, session_has(&d, "chat_load_history has it"));
        CHECK(session_has(&d, "[ended: "));
        driver_fini(&d);
    }
}

CASE(a_run_that_fails_at_once_keeps_the_question)
{
    struct driver d;
    begin(&d);
    driver_model_status(&d, SMA_MODEL_FAILED, "gone");
    driver_done(&d, true);
    CHECK(session_has(&d, "hello") && session_has(&d, "[ended: "));
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT);
    d.settings->is_configured = false;
    driver_start(&d);
    driver_done(&d, true);
    CHECK(d.done_turn_len > 0); /* the session is not loaded: it comes from the store */
    CHECK_INT(0, d.session->turn_count);
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT);
    d.order.is_suspect = true;
    d.order.attempt = SMA_RUN_ATTEMPT_COUNT_MAX + 1;
    driver_start(&d);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_GIVEN_UP, d.done_outcome);
    CHECK(d.done_turn_len > 0);
    driver_fini(&d);
}

/* /stop: the store has ended the run already; what was done goes into the conversation all the
 * same. */
CASE(a_run_that_the_user_stopped_keeps_what_was_done)
{
    struct driver d;
    begin(&d);
    play_round(&d, SMA_FINISH_TOOLS, both);
    driver_answer(&d, "", SMA_FINISH_TOOLS, look);
    driver_durable(&d); /* the second look is under way */
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP, .is_by_user = true});
    const struct sma_run_action *done = driver_find(&d, SMA_RUN_STORE_DONE);
    CHECK(done != NULL && done->done.turn.len > 0 && done->done.delivery_count == 0);
    CHECK_INT(SMA_OUTCOME_CANCELLED, done->done.outcome);
    CHECK(driver_find(&d, SMA_RUN_END) != NULL);
    CHECK(session_has(&d, "[ended: the user stopped it]"));
    CHECK(session_has(&d, "it may have been done in part"));
    driver_fini(&d);

    begin(&d); /* /clear: nothing stays */
    play_round(&d, SMA_FINISH_TOOLS, both);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP});
    CHECK(driver_find(&d, SMA_RUN_STORE_DONE) == NULL);
    CHECK_INT(0, d.session->turn_count);
    driver_fini(&d);
}

CASE(a_message_too_long_to_keep_leaves_a_note)
{
    size_t len = SMA_TURN_BYTES_MAX;
    char *text = malloc(len);
    CHECK(text != NULL);
    memset(text, 'x', len);
    struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.order.text = (struct sma_str){text, len};
    driver_start(&d);
    driver_model_status(&d, SMA_MODEL_CONTEXT_LENGTH, "");
    driver_done(&d, true);
    CHECK(strstr(d.done_text, "too long for the language model") != NULL);
    CHECK_INT(1, d.session->turn_count);
    CHECK(session_has(&d, "too long to keep; chat_load_history has it"));
    driver_fini(&d);
    free(text);
}

/* -- what people are told of a failure --------------------------------------------------------- */
static void fail_for(struct driver *d, uint8_t standing, const char *chat_type, uint8_t trouble)
{
    driver_init(d, SMA_LLM_CHAT);
    d->order.standing = standing;
    d->order.route.chat_type = sma_str(chat_type);
    driver_start(d);
    struct sma_model_answer failed = {.seq = 10,
                                      .status = SMA_MODEL_FAILED,
                                      .trouble = trouble,
                                      .error = SMA_STR("https://api.x.test/v1 said 401 to key\n"
                                                       "sk-1 of model m-1; set llm.apiKey in "
                                                       "ship.json")};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &failed});
    driver_done(d, true);
}

CASE(details_of_a_failure_are_for_owners_alone)
{
    static const struct
    {
        uint8_t standing;
        const char *chat_type;
        bool is_told;
    } rows[] = {
        {SMA_STANDING_STRANGER, "private", false},
        {SMA_STANDING_MEMBER, "private", false},
        {SMA_STANDING_ADMIN, "private", false},
        {SMA_STANDING_OWNER, "private", true},
        {SMA_STANDING_OWNER, "", true},
        {SMA_STANDING_OWNER, "supergroup", false},
    };
    static const char *const secrets[] = {"api.x.test", "sk-1", "m-1", "ship.json", "401"};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        for (uint8_t trouble = 0; trouble <= SMA_MODEL_FAILURE_SETUP; trouble++) {
            struct driver d;
            fail_for(&d, rows[i].standing, rows[i].chat_type, trouble);
            CHECK_INT(SMA_INTENT_NOTICE, d.done_intent);
            CHECK(strstr(d.done_text, "The ") == d.done_text);
            for (size_t k = 0; k < SMA_COUNT_OF(secrets); k++)
                CHECK_INT(rows[i].is_told, strstr(d.done_text, secrets[k]) != NULL);
            CHECK(!session_has(&d, "ship.json"));
            driver_fini(&d);
        }
    }
}

CASE(each_kind_of_trouble_has_a_sentence_that_fits)
{
    static const struct
    {
        uint8_t trouble;
        const char *told;
    } rows[] = {
        {SMA_MODEL_FAILURE_TRANSIENT, "cannot be reached just now"},
        {SMA_MODEL_FAILURE_RATE, "takes no more requests"},
        {SMA_MODEL_FAILURE_QUOTA, "allowance"},
        {SMA_MODEL_FAILURE_AUTH, "not set up properly"},
        {SMA_MODEL_FAILURE_NO_MODEL, "not set up properly"},
        {SMA_MODEL_FAILURE_SETUP, "not set up properly"},
        {SMA_MODEL_FAILURE_REQUEST, "did not accept this request"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        fail_for(&d, SMA_STANDING_MEMBER, "private", rows[i].trouble);
        CHECK(strstr(d.done_text, rows[i].told) != NULL);
        driver_fini(&d);
    }
}

/* The remedy stands last: whatever the provider has to say, it is not cut off. */
CASE(a_long_reason_keeps_its_remedy)
{
    char reason[640];
    memset(reason, 'x', sizeof reason);
    snprintf(reason + 560, sizeof reason - 560, "; set llm.apiKey in ship.json");
    struct driver d;
    begin(&d);
    driver_model_status(&d, SMA_MODEL_FAILED, reason);
    driver_done(&d, true);
    CHECK(strstr(d.done_text, "; set llm.apiKey in ship.json") != NULL);
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT);
    d.settings->is_configured = false;
    driver_start(&d);
    driver_done(&d, true);
    CHECK(strstr(d.done_text, "llm.apiKey") != NULL);
    driver_fini(&d);
}

/* -- facts of the chat ------------------------------------------------------------------------- */
/* A message of its own in the same chat, after the one before has ended. */
static void next_message(struct driver *d)
{
    driver_cut(d);
    d->order.seq++;
    d->step_count = 0;
    driver_start(d);
}

CASE(what_is_the_same_for_a_chat_is_told_once)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    CHECK(driver_request_has(&d, "[facts of this chat] channel "));
    answer(&d, "one", SMA_FINISH_STOP);
    next_message(&d);
    struct sma_model_ask ask;
    char *bytes = driver_request(&d, &ask);
    CHECK(strstr(bytes, "[facts of this chat]") < bytes + ask.turn_offset);
    CHECK(strstr(bytes + ask.turn_offset, "[facts of this chat]") == NULL);
    free(bytes);
    answer(&d, "two", SMA_FINISH_STOP);
    CHECK(sma_session_shrink(d.sessions, d.session)); /* the first turn is cut off: told again */
    next_message(&d);
    bytes = driver_request(&d, &ask);
    CHECK(strstr(bytes + ask.turn_offset, "[facts of this chat]") != NULL);
    free(bytes);
}

CASES_MAIN
