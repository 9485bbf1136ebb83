/* Aim: every rule of a run as events in, exact actions out. Method: the driver plays store, model,
 * dispatcher. */
#include "sma/text.h"
#include "unit/agent/run_driver.h"

#include "sma/notices.h"

static const struct driver_call send_hi[] = {{"c1", "chat_send", "{\"text\":\"hi\"}"}, {0}};

/* One request, one row, one turn. */
CASE(a_plain_answer_costs_one_request_and_is_delivered_once)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    driver_check_kinds(&d, "gM");
    CHECK(driver_request_has(&d, "\\n\\nhello \\\"there\\\"\\n\"}"));
    driver_answer(&d, "the answer", SMA_FINISH_STOP, NULL);
    driver_check_kinds(&d, "D");
    CHECK_INT(3, driver_find(&d, SMA_RUN_STORE_DONE)->done.stamps.model_out_ns);
    driver_done(&d, true);
    driver_check_kinds(&d, "gE");
    CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
    CHECK_TEXT("the answer", d.done_text);
    CHECK_TEXT("the answer", d.done_output);
    CHECK_TEXT("[]", d.done_tool_calls);
    CHECK_INT(SMA_INTENT_ASSISTANT_TEXT, d.done_intent);
    CHECK(d.done_turn_len > 0);
    CHECK_INT(1, d.session->turn_count);
    CHECK_INT(2, d.session->message_count);
}

CASE(no_effect_before_the_step_is_durable)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    driver_answer(&d, "thinking aloud", SMA_FINISH_TOOLS, send_hi);
    driver_check_kinds(&d, "P");
    const struct sma_step *step = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(1, step->number);
    CHECK_INT(SMA_STEP_ANSWER, step->kind);
    CHECK_INT(1, step->delivery_count);
    CHECK_STR("hi", step->deliveries[0].text);
    CHECK_STR("t:1", step->deliveries[0].route.chat_key);
    CHECK(!step->deliveries[0].is_fallback);
    driver_durable(&d);
    driver_check_kinds(&d, "gS");
    CHECK_INT(100, driver_find(&d, SMA_RUN_ASK_SEND)->outbox_id);
    driver_sent(&d, 0, SMA_SEND_SENT, "");
    driver_check_kinds(&d, "M"); /* the row is the result: no step of its own */
    CHECK(driver_request_has(&d, "{\\\"success\\\":true}"));
    driver_answer(&d, "that was it", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK_TEXT("that was it",
               d.done_text); /* the final text is the answer; the one beside calls is not */
    CHECK_TEXT("that was it", d.done_output);
    CHECK_TEXT("[{\"tool\":\"chat_send\",\"input\":{\"text\":\"hi\"},\"output\":\"{\\\"success\\\":"
               "true}\"}]",
               d.done_tool_calls);
    CHECK_INT(1, d.session->turn_count);
    CHECK_INT(4, d.session->message_count);
}

/* What certainly did not arrive was not said: then the same words are news at the end. */
CASE(each_send_state_is_told_and_counts)
{
    static const struct
    {
        enum sma_send_state state;
        const char *told;
        bool is_wanted_again;
    } rows[] = {
        {SMA_SEND_SENT, "{\\\"success\\\":true}", false},
        {SMA_SEND_QUEUED, "\\\"queued\\\":true", false},
        {SMA_SEND_UNKNOWN, "may have been sent", false},
        {SMA_SEND_FAILED, "{\\\"success\\\":false,\\\"error\\\":\\\"bot was blocked\\\"}", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        driver_init(&d, SMA_LLM_CHAT);
        driver_start(&d);
        driver_answer(&d, "", SMA_FINISH_TOOLS, send_hi);
        driver_durable(&d);
        driver_sent(&d, 0, rows[i].state, "bot was blocked");
        CHECK(driver_request_has(&d, rows[i].told));
        driver_answer(&d, "**Hi.**", SMA_FINISH_STOP, NULL);
        driver_done(&d, true);
        CHECK_INT(rows[i].is_wanted_again, d.done_text != NULL);
        driver_fini(&d);
    }
}

CASE(stored_delivery_needs_no_dispatcher)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.first_state = SMA_DELIVERY_SENT;
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, send_hi);
    driver_durable(&d);
    driver_check_kinds(&d, "gM");
}

CASE(wrong_calls_are_answered_and_the_run_goes_on)
{
    static const struct
    {
        const char *name, *arguments, *told;
    } rows[] = {
        {"exec", "{}",
         "There is no tool exec. The tools are: chat_contact_lookup, chat_contact_send, "
         "chat_load_history, chat_send, download_attachment, edit_file, exec_shell, "},
        {"chat_send", "not json", "not a JSON object"},
        {"chat_send", "{}", "Expected \\\\\\\"text\\\\\\\": a string"},
        {"chat_send", "{\"text\":5}", "Expected \\\\\\\"text\\\\\\\": a string"},
        {"chat_send", "{\"text\":\" \\n\"}", "blank: nothing was sent"},
        {"chat_load_history", "{\"limit\":0}", "an integer from 1 to 200"},
        {"chat_load_history", "{\"limit\":201}", "an integer from 1 to 200"},
        {"chat_load_history", "{\"limit\":1.5}", "an integer from 1 to 200"},
        {"chat_load_history", "{\"limit\":\"x\"}", "an integer from 1 to 200"},
        {"chat_load_history", "{\"keyword\":7}", "Expected \\\\\\\"keyword\\\\\\\": a string"},
        {"chat_contact_lookup", "{}", "Expected \\\\\\\"username\\\\\\\""},
        {"chat_contact_send", "{\"username\":\"bob\",\"text\":\"\"}", "blank: nothing was sent"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        driver_init(&d, SMA_LLM_CHAT);
        driver_start(&d);
        struct driver_call calls[] = {{"c1", rows[i].name, rows[i].arguments}, {0}};
        driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
        driver_check_kinds(&d, "P");
        CHECK_INT(0, driver_find(&d, SMA_RUN_STORE_STEP)->step.delivery_count);
        driver_durable(&d);
        driver_check_kinds(&d, "PM");
        if (!driver_request_has(&d, rows[i].told)) {
            struct sma_model_ask ask;
            fprintf(stderr, "%s\n", driver_request(&d, &ask));
        }
        CHECK(driver_request_has(&d, rows[i].told));
        driver_durable(&d);
        driver_answer(&d, "sorry", SMA_FINISH_STOP, NULL);
        driver_done(&d, true);
        CHECK_TEXT("sorry",
                   /* a blank chat_send has delivered nothing; tool errors are not for users */
                   d.done_text);
        driver_fini(&d);
    }
}

CASE(results_stand_in_the_order_of_the_calls)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    static const struct driver_call calls[] = {{"c1", "chat_send", "{\"text\":\"one\"}"},
                                               {"c2", "nope", "{}"},
                                               {"c3", "chat_load_history", "{}"},
                                               {"c4", "chat_send", "{\"text\":\"two\"}"},
                                               {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_durable(&d);
    driver_check_kinds(&d, "gSgHgS");
    driver_sent(&d, 3, SMA_SEND_SENT, "");
    driver_check_kinds(&d, "");
    struct sma_history_line line = {
        .is_user = true, .user_name = SMA_STR("Bob"), .text = SMA_STR("old words")};
    struct sma_history_lines lines = {.line_count = 1, .lines = &line};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 2, .history = &lines});
    driver_check_kinds(&d, "");
    driver_event(&d, (struct sma_run_event){
                         .kind = SMA_RUN_HISTORY, .call = 2, .history = &lines}); /* a second one */
    driver_check_kinds(&d, "");
    driver_sent(&d, 0, SMA_SEND_FAILED, "no");
    driver_check_kinds(&d, "PM");
    struct sma_model_ask ask;
    char *bytes = driver_request(&d, &ask);
    const char *at = bytes;
    for (int i = 1; i <= 4; i++) {
        char id[40];
        snprintf(id, sizeof id, "\"tool_call_id\":\"c%d\"", i);
        at = strstr(at, id);
        CHECK(at != NULL);
    }
    CHECK(
        strstr(bytes, "\\\"role\\\":\\\"user\\\",\\\"time\\\":\\\"1970-01-01T00:00:00.000Z\\\",") !=
        NULL);
    CHECK(strstr(bytes, "\\\"content\\\":\\\"old words\\\"}") != NULL);
    free(bytes);
}

CASE(calls_over_the_bound_are_refused)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    struct driver_call calls[SMA_TOOL_CALL_COUNT_MAX + 2] = {0};
    for (int i = 0; i <= SMA_TOOL_CALL_COUNT_MAX; i++) /* no text twice in a row */
        calls[i] = (struct driver_call){"c", "chat_send",
                                        i % 2 == 0 ? "{\"text\":\"x\"}" : "{\"text\":\"y\"}"};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    CHECK_INT(SMA_TOOL_CALL_COUNT_MAX, driver_find(&d, SMA_RUN_STORE_STEP)->step.delivery_count);
    driver_durable(&d);
    CHECK_INT(SMA_TOOL_CALL_COUNT_MAX, driver_count(&d, SMA_RUN_ASK_SEND));
    for (uint32_t i = 0; i < SMA_TOOL_CALL_COUNT_MAX; i++)
        driver_sent(&d, i, SMA_SEND_SENT, "");
    CHECK(driver_request_has(&d, "Too many calls"));
}

CASE(contact_send_resolves_before_the_step)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    static const struct driver_call calls[] = {
        {"c1", "chat_contact_send", "{\"username\":\"@bob\",\"text\":\"yo\"}"},
        {"c2", "chat_contact_send", "{\"username\":\"eve\",\"text\":\"hm\"}"},
        {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_check_kinds(&d, "CC");
    CHECK_STR("bob", driver_find(&d, SMA_RUN_ASK_CONTACT)->contact.user_name);
    struct sma_contact_result none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = 1, .contact = &none});
    driver_check_kinds(&d, "");
    char key[] = "t:77";
    struct sma_contact_result found = {
        .is_found = true, .route = {.adapter = 9, .channel = SMA_STR("qq"), .chat_key = {key, 4}}};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = 0, .contact = &found});
    memset(key, 'x', 4);         /* the message is gone */
    driver_check_kinds(&d, "T"); /* a send elsewhere is checked when it is known where that is */
    const struct sma_tool_ask *check = &driver_find(&d, SMA_RUN_ASK_TOOL)->tool;
    CHECK_INT(SMA_TOOL_CHECK, check->mode);
    CHECK_STR("t:77 bob", check->receiver);
    CHECK_STR("chat_contact_send", check->name);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_check_kinds(&d, "P");
    const struct sma_step *step = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(1, step->delivery_count);
    CHECK_STR("t:77", step->deliveries[0].route.chat_key);
    CHECK_STR("qq", step->deliveries[0].route.channel);
    CHECK_INT(9, step->deliveries[0].route.adapter);
    driver_durable(&d);
    driver_check_kinds(&d, "gS");
    driver_sent(&d, 0, SMA_SEND_SENT, "");
    CHECK(driver_request_has(&d, "No contact named eve"));
    driver_durable(&d);
    driver_answer(&d, "told Bob", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK_TEXT("told Bob", d.done_text); /* a message to somebody else does not answer the user */
}

CASE(lookup_comes_after_the_step)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    static const struct driver_call calls[] = {
        {"c1", "chat_contact_lookup", "{\"username\":\"bob\"}"}, {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "gC");
    struct sma_contact_result found = {.is_found = true,
                                       .contact_json = SMA_STR("{\"username\":\"bob\"}")};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = 0, .contact = &found});
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(
        &d, "{\\\"success\\\":true,\\\"contact\\\":{\\\"username\\\":\\\"bob\\\"}}"));
}

CASE(a_profile_is_asked_for_as_who_asks)
{
    static const struct
    {
        uint8_t standing;
        const char *arguments;
        bool is_trusted;
    } rows[] = {
        {SMA_STANDING_OWNER, "{\"userId\":\"7\",\"channel\":\"qq\"}", true},
        {SMA_STANDING_ADMIN, "{\"userId\":\"7\"}", true},
        {SMA_STANDING_ADMIN, "{\"userId\":\"7\",\"channel\":\"qq\"}", false},
        {SMA_STANDING_MEMBER, "{\"userId\":\"7\"}", false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        driver_init(&d, SMA_LLM_MESSAGES); /* it says what an error is */
        d.order.standing = rows[i].standing;
        driver_start(&d);
        const struct driver_call calls[] = {{"c1", "resolve_user_profile", rows[i].arguments}, {0}};
        driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
        driver_durable(&d);
        driver_check_kinds(&d, "gC");
        const struct sma_contact_ask *ask = &driver_find(&d, SMA_RUN_ASK_CONTACT)->contact;
        CHECK(ask->wants_profile);
        CHECK_INT(rows[i].is_trusted, ask->is_asker_trusted);
        CHECK_STR("7", ask->user_id);
        struct sma_contact_result said = {.is_found = i > 0,
                                          .contact_json = SMA_STR("{\"success\":\"?\"}")};
        if (i == 3)
            said = (struct sma_contact_result){.why = SMA_STR("Nobody")};
        driver_event(&d,
                     (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = 0, .contact = &said});
        CHECK(driver_request_has(&d, "\"is_error\":true") == !said.is_found);
        CHECK(driver_request_has(&d, i == 3 ? "Nobody" : "{\\\"success\\\":\\\"?\\\"}"));
        driver_fini(&d);
    }
}

CASE(namesakes_are_asked_about)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    static const struct driver_call calls[] = {
        {"c1", "chat_contact_send", "{\"username\":\"bob\",\"text\":\"yo\"}"}, {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    struct sma_contact_result both = {
        .count = 2,
        .contact_json = SMA_STR("[{\"username\":\"bob\",\"userId\":\"7\"},{\"userId\":\"8\"}]")};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = 0, .contact = &both});
    CHECK_INT(0, driver_find(&d, SMA_RUN_STORE_STEP)->step.delivery_count);
    driver_durable(&d);
    CHECK(driver_request_has(&d, "Several people are called bob"));
    CHECK(driver_request_has(&d, "\\\"userId\\\":\\\"8\\\""));
}

static void add_turns(struct driver *d, uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++) {
        struct sma_str fragments[] = {SMA_STR("{\"role\":\"user\",\"content\":\"q\"}"),
                                      SMA_STR("{\"role\":\"assistant\",\"content\":\"a\"}")};
        struct sma_str id = SMA_STR("mm");
        struct sma_stored_turn turn = {.message_count = 2,
                                       .fragment_count = 2,
                                       .key = sma_str(d->settings->targets[0].key),
                                       .fragments = fragments,
                                       .id_count = 1,
                                       .ids = &id};
        CHECK_OK(sma_session_append(d->sessions, d->session, i, &turn));
    }
}

CASE(context_length_shrinks_whole_turns_and_asks_again)
{
    struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    add_turns(&d, 9);
    driver_start(&d);
    static const uint32_t left[] = {4, 2, 1, 0};
    for (size_t i = 0; i < SMA_COUNT_OF(left); i++) {
        driver_model_status(&d, SMA_MODEL_CONTEXT_LENGTH, "");
        driver_check_kinds(&d, "M");
        CHECK_INT(left[i], d.session->turn_count);
    }
    driver_model_status(&d, SMA_MODEL_CONTEXT_LENGTH, "");
    driver_done(&d, true);
    CHECK(strstr(d.done_text, "/clear") == NULL); /* nothing of the past is left to forget */
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT); /* nothing to shrink: said at once */
    driver_start(&d);
    driver_model_status(&d, SMA_MODEL_CONTEXT_LENGTH, "");
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK(strstr(d.done_text, "/clear") == NULL); /* it would not help */
    CHECK_INT(1, d.session->turn_count);
    driver_fini(&d);
}

CASE(stop_ends_at_once_and_late_answers_change_nothing)
{
    struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP});
    driver_check_kinds(&d, "XgE");
    CHECK(!driver_find(&d, SMA_RUN_END)->is_counted);
    driver_answer(&d, "late", SMA_FINISH_STOP, NULL);
    driver_check_kinds(&d, "");
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT); /* while the step is stored */
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, send_hi);
    driver_store(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP});
    driver_check_kinds(&d, "gE");
    driver_verdict(&d, 1, SMA_STEP_DURABLE);
    driver_check_kinds(&d, "");
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT); /* the store says so first */
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, send_hi);
    driver_verdict(&d, 1, SMA_STEP_STOPPED);
    driver_check_kinds(&d, "gE");
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT); /* while DONE is open: the verdict decides, the turn goes */
    driver_start(&d);
    driver_answer(&d, "x", SMA_FINISH_STOP, NULL);
    CHECK_INT(1, d.session->turn_count);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP});
    driver_check_kinds(&d, "");
    struct sma_step_done stopped = {.seq = 10, .verdict = SMA_STEP_STOPPED};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DONE_DONE, .step = &stopped});
    driver_check_kinds(&d, "gE");
    CHECK_INT(0, d.session->turn_count);
    driver_fini(&d);
}

CASE(a_cleared_session_is_not_used_by_a_later_run)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    add_turns(&d, 2);
    driver_start(&d);
    CHECK(driver_request_has(&d, "\"q\""));
    sma_session_clear(d.sessions, d.session, 5);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_CLEARED});
    driver_check_kinds(&d, "XM");
    CHECK(!driver_request_has(&d, "\"q\""));
}

CASE(without_disk_steps_wait_and_keep_their_order)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    static const struct driver_call look[] = {{"c1", "chat_load_history", "{}"}, {0}};
    struct sma_history_lines none = {0};
    driver_answer(&d, "", SMA_FINISH_TOOLS, look);
    driver_verdict(&d, 1, SMA_STEP_NO_DISK);
    driver_check_kinds(&d, "W");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 0, .history = &none});
    driver_check_kinds(&d, "PM");
    driver_verdict(&d, 2, SMA_STEP_NO_DISK); /* the results */
    driver_check_kinds(&d, "W");
    static const struct driver_call send_bye[] = {{"c2", "chat_send", "{\"text\":\"bye\"}"}, {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, send_bye); /* the next answer must not overtake them */
    driver_check_kinds(&d, "");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    driver_check_kinds(&d, "PP");
    CHECK_INT(2, d.actions.list[0].step.number);
    CHECK_INT(3, d.actions.list[1].step.number);
    driver_store(&d);
    driver_verdict(&d, 2, SMA_STEP_NO_DISK); /* both refused with one batch: one wait */
    driver_check_kinds(&d, "W");
    driver_verdict(&d, 3, SMA_STEP_NO_DISK);
    driver_check_kinds(&d, "");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    driver_check_kinds(&d, "PP");
    driver_verdict(&d, 3, SMA_STEP_DURABLE); /* implies the one before */
    driver_check_kinds(&d, "gS");
    driver_sent(&d, 0, SMA_SEND_SENT, "");
    driver_answer(&d, "end", SMA_FINISH_STOP, NULL);
    struct sma_step_done no_disk = {.seq = 10, .verdict = SMA_STEP_NO_DISK};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DONE_DONE, .step = &no_disk});
    driver_check_kinds(&d, "W");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    driver_check_kinds(&d, "D");
    driver_done(&d, true);
    CHECK_INT(1, d.session->turn_count);
}

CASE(draining_reaches_a_durable_point_and_starts_nothing)
{
    struct driver d;
    driver_init(&d, SMA_LLM_CHAT); /* waits for the model, then gives up */
    driver_start(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_check_kinds(&d, "");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN_HARD});
    driver_check_kinds(&d, "XgE");
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT); /* an answer in time is stored, its calls are not carried out */
    driver_start(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_answer(&d, "", SMA_FINISH_TOOLS, send_hi);
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "gE");
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT); /* a final answer ends the run */
    driver_start(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_answer(&d, "bye", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    driver_fini(&d);

    driver_init(&d,
                SMA_LLM_CHAT); /* a send is the dispatcher's, a history question is waited for */
    driver_start(&d);
    static const struct driver_call calls[] = {
        {"c1", "chat_send", "{\"text\":\"x\"}"}, {"c2", "chat_load_history", "{}"}, {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_check_kinds(&d, "");
    struct sma_history_lines none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 1, .history = &none});
    driver_check_kinds(&d, "gE");
    driver_fini(&d);

    driver_init(&d, SMA_LLM_CHAT); /* all results there: stored before the end */
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls + 1);
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 0, .history = &none});
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "gE");
    driver_fini(&d);
}

CASE(a_past_is_loaded_before_the_first_request)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.order.has_past = true;
    driver_start(&d);
    driver_check_kinds(&d, "gL");
    struct sma_buf turn, plain;
    sma_buf_init(&turn, 4096);
    sma_buf_init(&plain, 4096);
    struct sma_str fragments[] = {SMA_STR("{\"role\":\"user\",\"content\":\"as sent\"}"),
                                  SMA_STR("{\"role\":\"assistant\",\"content\":\"as got\"}")};
    struct sma_str blocks[] = {SMA_STR("plain question")};
    struct sma_stored_turn stored = {.message_count = 2,
                                     .fragment_count = 2,
                                     .fragments = fragments,
                                     .block_count = 1,
                                     .blocks = blocks,
                                     .text = SMA_STR("plain answer")};
    sma_codec_put_turn(&turn, &stored);
    struct sma_turn turns[] = {
        {.seq = 1, .wire = SMA_STR("messages"), .bytes = sma_buf_str(&turn)},
        {.seq = 2, .wire = SMA_STR("chat"), .bytes = SMA_STR("damaged")},
        {.seq = 3, .wire = SMA_STR("chat"), .bytes = sma_buf_str(&turn)},
    };
    struct sma_session_turns list = {.turn_count = 3, .turns = turns};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_SESSION, .turns = &list});
    driver_check_kinds(&d, "M");
    CHECK_INT(2, d.session->turn_count);
    CHECK(driver_request_has(&d, "plain question"));
    CHECK(driver_request_has(&d, "{\"role\":\"assistant\",\"content\":\"plain answer\"}"));
    CHECK(driver_request_has(&d, "{\"role\":\"user\",\"content\":\"as "
                                 "sent\"},{\"role\":\"assistant\",\"content\":\"as got\"}"));
    sma_buf_fini(&turn);
    sma_buf_fini(&plain);
}

CASE(collected_messages_come_first_each_by_itself)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    struct sma_collected earlier[] = {
        {.seq = 7,
         .wall_ms = 5,
         .user_id = SMA_STR("u2"),
         .message_id = SMA_STR("m-7"),
         .text = SMA_STR("first")},
        {.seq = 8,
         .wall_ms = 6,
         .user_id = SMA_STR("u3"),
         .message_id = SMA_STR("m-8"),
         .text = SMA_STR("second"),
         .context = SMA_STR("quoted")},
    };
    d.order.collected = earlier;
    d.order.collected_count = 2;
    d.order.context = SMA_STR("attachment");
    driver_start(&d);
    struct sma_model_ask ask;
    char *bytes = driver_request(&d, &ask);
    static const char *const order[] = {
        "[facts] 20", "earlier message", "u2",         "\\nfirst\\n",    "earlier message",
        "u3",         "nquoted\\n",      "nsecond\\n", "nattachment\\n", "hello "};
    const char *at = bytes + ask.turn_offset;
    for (size_t i = 0; i < SMA_COUNT_OF(order); i++) {
        at = strstr(at, order[i]);
        CHECK(at != NULL);
    }
    free(bytes);
    static const struct driver_call calls[] = {{"c1", "chat_load_history", "{\"keyword\":\" x \"}"},
                                               {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_durable(&d);
    const struct sma_history_ask *history = &driver_find(&d, SMA_RUN_ASK_HISTORY)->history;
    CHECK_INT(7, history->session_first_seq);
    CHECK_INT(2, history->session_id_count);
    CHECK_STR("m-8", history->session_ids[1]);
    CHECK_INT(10, history->current_seq);
    CHECK_INT(30, history->limit);
    CHECK_STR("x", history->keyword);
}

CASE(history_excludes_what_the_session_holds)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    add_turns(&d, 3);
    driver_start(&d);
    static const struct driver_call calls[] = {
        {"c1", "chat_load_history", "{}"}, {"c2", "chat_load_history", "{\"limit\":200}"}, {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_durable(&d);
    driver_check_kinds(&d, "gHgH");
    for (uint32_t i = 1; i < 4; i += 2) {
        const struct sma_history_ask *history = &d.actions.list[i].history;
        CHECK_INT(1, history->session_first_seq);
        CHECK_INT(3, history->session_id_count);
        CHECK_STR("mm", history->session_ids[2]);
        CHECK_STR("t:1", history->chat_key);
    }
}

CASE(a_turn_of_many_messages_is_kept_whole)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    struct driver_call calls[22] = {0};
    for (int i = 0; i < 20; i++)
        calls[i] = (struct driver_call){
            "c", "chat_send", i % 2 == 0 ? "{\"text\":\"part\"}" : "{\"text\":\"other\"}"};
    d.first_state = SMA_DELIVERY_SENT;
    for (int round = 0; round < 3; round++) {
        driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
        driver_durable(&d);
    }
    driver_answer(&d, "end", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK_INT(1, d.session->turn_count);
    CHECK_INT(1 + 3 * 21 + 1, d.session->message_count);
}

CASES_MAIN
