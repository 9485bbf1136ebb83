/*
 * Aim: calls that need consent, working tools, files and reactions, strangers, calls that keep
 * failing: events in, exact actions out. Method: the driver plays store, model, dispatcher and
 * tools.
 */
#include "unit/agent/run_driver.h"

static const struct driver_call shell[] = {{"x1", "exec_shell", "{\"command\":\"make\"}"}, {0}};
/* Something of everything: a message to the chat, a command, a free read, a send elsewhere, a past,
 * a file. */
static const struct driver_call mixed[] = {
    {"c0", "chat_send", "{\"text\":\"working on it\"}"},
    {"c1", "exec_shell", "{\"command\":\"rm x\"}"},
    {"c2", "read_file", "{\"path\":\"a.md\"}"},
    {"c3", "chat_contact_send", "{\"username\":\"bob\",\"text\":\"yo\"}"},
    {"c4", "chat_load_history", "{}"},
    {"c5", "send_file", "{\"path\":\"out/a.png\",\"caption\":\"the\\nplot\"}"},
    {0}};

static void begin(struct driver *d, const struct driver_call *calls)
{
    driver_init(d, SMA_LLM_CHAT);
    driver_start(d);
    driver_answer(d, "", SMA_FINISH_TOOLS, calls);
}

static void found(struct driver *d, uint32_t call)
{
    struct sma_contact_result bob = {.is_found = true,
                                     .route = {.adapter = 9,
                                               .channel = SMA_STR("qq"),
                                               .chat_key = SMA_STR("t:bob"),
                                               .user_name = SMA_STR("Bob")}};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = call, .contact = &bob});
}

static void finish(struct driver *d)
{
    driver_durable(d); /* the results */
    driver_answer(d, "done", SMA_FINISH_STOP, NULL);
    driver_done(d, true);
    CHECK_INT(SMA_OUTCOME_OK, d->done_outcome);
}

/* -- allowed, refused -------------------------------------------------------------------------- */
CASE(an_allowed_call_is_run_after_its_step)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, shell);
    driver_check_kinds(&d, "T");
    const struct sma_tool_ask *ask = driver_tool_ask(&d, 0);
    CHECK_INT(SMA_TOOL_CHECK, ask->mode);
    CHECK_INT(SMA_STANDING_OWNER, ask->standing);
    CHECK_INT(10, ask->seq);
    CHECK(!ask->is_approved);
    CHECK_STR("exec_shell", ask->name);
    CHECK_STR("{\"command\":\"make\"}", ask->arguments);
    CHECK_STR("t:1", ask->chat_key);
    CHECK_STR("", ask->receiver);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_check_kinds(&d, "P");
    CHECK_INT(0, driver_find(&d, SMA_RUN_STORE_STEP)->step.request_json.len);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "{\"late\":1}"); /* nothing is open: nothing happens */
    driver_check_kinds(&d, "");
    driver_verdict(&d, 1, SMA_STEP_NO_DISK);
    driver_check_kinds(&d, "W"); /* not durable: not run */
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "gT");
    CHECK_INT(SMA_TOOL_RUN, driver_tool_ask(&d, 0)->mode);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "{\"success\":true,\"stdout\":\"built\"}");
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "\\\"stdout\\\":\\\"built\\\""));
    finish(&d);
    CHECK_TEXT("done", d.done_text);
}

CASE(a_refused_call_has_its_result_before_the_step)
{
    struct driver d;
    begin(&d, shell);
    driver_tool(&d, 0, SMA_TOOL_REFUSED, "{\"success\":false,\"error\":\"rm is refused\"}");
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "rm is refused"));
    finish(&d);
    driver_fini(&d);

    begin(&d, shell); /* the tools end while they are asked, or say nothing */
    driver_tool(&d, 0, SMA_TOOL_STOPPED, "");
    driver_durable(&d);
    CHECK(driver_request_has(&d, "the program is stopping"));
    driver_fini(&d);

    begin(&d, shell);
    driver_tool(&d, 0, SMA_TOOL_REFUSED, "");
    driver_durable(&d);
    CHECK(driver_request_has(&d, "it is not allowed"));
    driver_fini(&d);
}

CASE(calls_run_side_by_side_and_each_answer_finds_its_call)
{
    static const struct driver_call calls[] = {{"c0", "exec_shell", "{\"command\":\"a\"}"},
                                               {"c1", "list_files", "{}"},
                                               {"c2", "exec_shell", "{\"command\":\"b\"}"},
                                               {0}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, calls);
    driver_check_kinds(&d, "TT"); /* reading needs no check */
    driver_tool(&d, 2, SMA_TOOL_ALLOWED, "");
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_durable(&d);
    driver_check_kinds(&d, "gTgTgT");
    driver_tool(&d, 2, SMA_TOOL_STOPPED, "");
    driver_check_kinds(&d, "");
    driver_tool(&d, 1, SMA_TOOL_ALLOWED, "{\"files\":[]}");
    driver_tool(&d, 7, SMA_TOOL_ALLOWED, "{}");
    driver_check_kinds(&d, "");
    driver_tool(&d, 0, SMA_TOOL_ASKS, "{\"changed\":1}");
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "{\\\"changed\\\":1}"));
    CHECK(driver_request_has(&d, "Stopped before it was finished"));
    CHECK(driver_request_has(&d, "{\\\"files\\\":[]}"));
}

/* Else a script that people agreed to could be exchanged between the look at it and its start. */
CASE(commands_wait_for_files_of_the_same_answer)
{
    static const struct driver_call calls[] = {
        {"c0", "exec_shell", "{\"command\":\"sh x.sh\"}"},
        {"c1", "write_file", "{\"path\":\"x.sh\",\"content\":\"b\"}"},
        {"c2", "exec_shell", "{\"command\":\"b\"}"},
        {"c3", "edit_file", "{\"path\":\"y\",\"old_text\":\"a\",\"new_text\":\"b\"}"},
        {0}};
    for (int is_draining = 0; is_draining < 2; is_draining++) {
        struct driver d;
        begin(&d, calls);
        driver_check_kinds(&d, "TTTT");
        for (uint32_t i = 0; i < 4; i++)
            driver_tool(&d, i, SMA_TOOL_ALLOWED, "");
        driver_durable(&d);
        driver_check_kinds(&d, "gTgT"); /* the files */
        driver_tool(&d, 3, SMA_TOOL_ALLOWED, "{}");
        driver_check_kinds(&d, "");
        if (is_draining)
            driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
        driver_tool(&d, 1, SMA_TOOL_ALLOWED, "{}");
        if (!is_draining) {
            driver_check_kinds(&d, "gTgT"); /* the commands */
            driver_tool(&d, 0, SMA_TOOL_ALLOWED, "{}");
            driver_tool(&d, 2, SMA_TOOL_ALLOWED, "{}");
            driver_check_kinds(&d, "PM");
        } else {
            driver_check_kinds(&d, "ggP");
        }
        driver_fini(&d);
    }
}

/* -- files and reactions ----------------------------------------------------------------------- */
static void is_of_this_chat(struct driver *d, uint32_t call)
{
    struct sma_contact_result here = {.is_found = true, .route = {.chat_key = SMA_STR("t:1")}};
    driver_event(d,
                 (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = call, .contact = &here});
}

CASE(files_and_reactions_are_deliveries)
{
    static const struct driver_call calls[] = {
        {"c0", "send_file", "{\"path\":\"out/my plot.png\",\"caption\":\" the\\nplot \"}"},
        {"c1", "react", "{\"emoji\":\"👍\"}"},
        {"c2", "react", "{\"emoji\":\"🎉\",\"message_id\":\"m0\"}"},
        {"c3", "send_file", "{\"path\":\"a|b.txt\"}"},
        {"c4", "send_file", "{\"path\":\"http://x/y.png\"}"},
        {0}};
    struct driver d;
    begin(&d, calls);
    driver_check_kinds(&d, "TTC"); /* is m0 a message of this chat? */
    const struct sma_contact_ask *ask = &driver_find(&d, SMA_RUN_ASK_CONTACT)->contact;
    CHECK_STR("t:1", ask->chat_id);
    CHECK_STR("m0", ask->message_id);
    is_of_this_chat(&d, 2);
    for (uint32_t i = 0; i < 3; i++)
        driver_tool(&d, i, SMA_TOOL_ALLOWED, "");
    const struct sma_step *step = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(3, step->delivery_count);
    CHECK_STR("@attach photo out/my plot.png | the plot", step->deliveries[0].text);
    CHECK_INT(SMA_INTENT_ASSISTANT_TEXT, step->deliveries[0].intent);
    CHECK_STR("t:1", step->deliveries[0].route.chat_key);
    CHECK_STR("👍", step->deliveries[1].text);
    CHECK_INT(SMA_INTENT_REACTION, step->deliveries[1].intent);
    CHECK_STR("m1", step->deliveries[1].route.message_id);
    CHECK_STR("m0", step->deliveries[2].route.message_id);
    driver_durable(&d);
    driver_check_kinds(&d, "gSgSgS");
    for (uint32_t i = 0; i < 3; i++)
        driver_sent(&d, i, SMA_SEND_SENT, "");
    CHECK(driver_request_has(&d, "Only a file of the project can be sent"));
    driver_answer(&d, " ", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK(d.done_text == NULL); /* a file is an answer: no notice that there is none */
    CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
    CHECK_INT(1, d.session->turn_count);
    driver_fini(&d);

    begin(&d, calls + 1); /* a reaction that failed is none */
    is_of_this_chat(&d, 1);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_tool(&d, 1, SMA_TOOL_REFUSED, "");
    driver_durable(&d);
    driver_sent(&d, 0, SMA_SEND_FAILED, "no such emoji");
    driver_answer(&d, "", SMA_FINISH_STOP, NULL);
    driver_durable(&d); /* it is asked for its answer once */
    driver_answer(&d, "", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK_TEXT("I have no answer to that.", d.done_text);
    driver_fini(&d);

    begin(&d, calls + 1); /* words beside a reaction still reach the user */
    is_of_this_chat(&d, 1);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_tool(&d, 1, SMA_TOOL_ALLOWED, "");
    driver_durable(&d);
    driver_sent(&d, 0, SMA_SEND_SENT, "");
    driver_sent(&d, 1, SMA_SEND_SENT, "");
    driver_answer(&d, "done", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK_TEXT("done", d.done_text);
    driver_fini(&d);
}

CASE(strangers_only_talk)
{
    static const struct driver_call calls[] = {
        {"c0", "exec_shell", "{\"command\":\"id\"}"},
        {"c1", "read_file", "{\"path\":\"a\"}"},
        {"c2", "chat_contact_lookup", "{\"username\":\"bob\"}"},
        {"c3", "chat_contact_send", "{\"username\":\"bob\",\"text\":\"x\"}"},
        {"c4", "send_file", "{\"path\":\"a\"}"},
        {"c5", "react", "{\"emoji\":\"x\"}"},
        {"c6", "chat_load_history", "{}"},
        {"c7", "chat_send", "{\"text\":\"hi\"}"},
        {0}};
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.order.standing = SMA_STANDING_STRANGER;
    driver_start(&d);
    CHECK(driver_request_has(&d, "(id \\\"u1\\\", stranger)"));
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_check_kinds(&d, "P"); /* nobody is asked anything */
    CHECK_INT(1, driver_find(&d, SMA_RUN_STORE_STEP)->step.delivery_count);
    driver_durable(&d);
    driver_check_kinds(&d, "gHgS");
    struct sma_history_lines none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 6, .history = &none});
    driver_sent(&d, 7, SMA_SEND_SENT, "");
    CHECK(driver_request_has(&d, "may only talk"));
}

/* -- consent ----------------------------------------------------------------------------------- */
/* Up to the parked step: calls 1 and 3 are asked, 5 is allowed. */
static void park(struct driver *d)
{
    begin(d, mixed);
    driver_check_kinds(d, "TCT");
    found(d, 3);
    driver_check_kinds(d, "T");
    CHECK_STR("t:bob Bob", driver_tool_ask(d, 3)->receiver);
    driver_tool(d, 1, SMA_TOOL_ASKS, "A");
    driver_tool(d, 5, SMA_TOOL_ALLOWED, "");
    driver_check_kinds(d, "");
    driver_tool(d, 3, SMA_TOOL_ASKS, "B");
    driver_check_kinds(d, "P");
}

CASE(a_call_that_must_be_asked_parks_the_run)
{
    SMA_AUTO(driver_fini) struct driver d;
    park(&d);
    const struct sma_step *step = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(1, step->delivery_count); /* only what goes to the chat itself */
    CHECK_STR("working on it", step->deliveries[0].text);
    struct sma_request request;
    CHECK_OK(sma_request_parse(step->request_json, &request));
    CHECK_INT(2, request.item_count);
    CHECK_INT(1, request.items[0].call);
    CHECK_INT('A', request.items[0].digest[0]);
    CHECK_INT(3, request.items[1].call);
    CHECK_INT('B', request.items[1].digest[0]);
    sma_request_fini(&request);
    driver_verdict(&d, 1, SMA_STEP_NO_DISK);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    CHECK(driver_find(&d, SMA_RUN_STORE_STEP)->step.request_json.len > 0); /* asked again whole */
    driver_store(&d);
    driver_verdict(&d, 1, SMA_STEP_PARKED);
    driver_check_kinds(&d, "gE");
    CHECK_INT(SMA_PROGRESS_FINISHED, d.actions.list[0].progress);
    CHECK(!driver_find(&d, SMA_RUN_END)->is_counted);
}

CASE(a_store_that_does_not_ask_gets_no_effect)
{
    SMA_AUTO(driver_fini) struct driver d;
    park(&d);
    driver_durable(&d);
    driver_check_kinds(&d, "D");
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK(strstr(d.done_text, "consent could not be asked for") != NULL);
}

CASE(an_unreadable_item_is_a_refusal)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, shell);
    driver_tool(&d, 0, SMA_TOOL_ASKS, "{}"); /* no item */
    driver_check_kinds(&d, "P");
    CHECK_INT(0, driver_find(&d, SMA_RUN_STORE_STEP)->step.request_json.len);
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "people could not be asked"));
}

/* As many as an answer may have: each of them is put to people, none goes by unseen. */
CASE(every_call_that_must_be_asked_is_asked_about)
{
    struct driver_call calls[SMA_TOOL_CALL_COUNT_MAX + 1] = {{0}};
    char ids[SMA_TOOL_CALL_COUNT_MAX][8];
    SMA_AUTO(driver_fini) struct driver d;
    for (uint32_t i = 0; i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        snprintf(ids[i], sizeof ids[i], "c%u", i);
        calls[i] = (struct driver_call){ids[i], "exec_shell", "{\"command\":\"make\"}"};
    }
    begin(&d, calls);
    for (uint32_t i = 0; i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        const char digest[] = {(char)('A' + i), '\0'};
        driver_tool(&d, i, SMA_TOOL_ASKS, digest);
    }
    driver_check_kinds(&d, "P");
    struct sma_request request;
    CHECK_OK(sma_request_parse(driver_find(&d, SMA_RUN_STORE_STEP)->step.request_json, &request));
    CHECK_INT(SMA_TOOL_CALL_COUNT_MAX, request.item_count);
    for (uint32_t i = 0; i < request.item_count; i++) {
        CHECK_INT(i, request.items[i].call);
        CHECK_INT('A' + i, request.items[i].digest[0]);
    }
    sma_request_fini(&request);
}

/* The tools look once more before they begin: what would be asked about now was not agreed to. */
CASE(what_must_be_asked_at_its_start_is_not_carried_out)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, shell);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_durable(&d);
    driver_check_kinds(&d, "gT");
    CHECK_INT(SMA_TOOL_RUN, driver_tool_ask(&d, 0)->mode);
    driver_tool(&d, 0, SMA_TOOL_ASKS, "Z");
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "it is not what was agreed to any more"));
}

static void park_and_decide(struct driver *d, const struct sma_stored_decision *decisions,
                            uint32_t count)
{
    park(d);
    driver_store(d);
    driver_verdict(d, 1, SMA_STEP_PARKED);
    driver_cut(d);
    d->deliveries[0].state = SMA_DELIVERY_SENT;
    driver_decide(d, decisions, count);
    driver_start(d);
}

CASE(what_was_agreed_to_is_done_once)
{
    static const struct sma_stored_decision both[] = {
        {.call = 1, .is_approved = true, .digest = {'A'}, .response = SMA_STR("be quick")},
        {.call = 3, .is_approved = true, .digest = {'B'}}};
    SMA_AUTO(driver_fini) struct driver d;
    park_and_decide(&d, both, 2);
    driver_check_kinds(&d, "ggTgTgTgHgT");
    const struct sma_tool_ask *ask = driver_tool_ask(&d, 1);
    CHECK_INT(SMA_TOOL_RUN, ask->mode);
    CHECK(ask->is_approved);
    CHECK_INT('A', ask->digest[0]);
    CHECK_INT(SMA_TOOL_RUN, driver_tool_ask(&d, 2)->mode); /* the free read waited with the rest */
    CHECK(!driver_tool_ask(&d, 2)->is_approved);
    CHECK_INT(SMA_TOOL_CHECK, driver_tool_ask(&d, 3)->mode);
    CHECK_INT('B', driver_tool_ask(&d, 3)->digest[0]);
    CHECK_STR("t:bob Bob",
              driver_tool_ask(&d, 3)->receiver); /* the place people saw, not a new lookup */
    CHECK_INT(SMA_TOOL_CHECK, driver_tool_ask(&d, 5)->mode);
    driver_tool(&d, 1, SMA_TOOL_ALLOWED, "{\"exitCode\":0}");
    driver_tool(&d, 2, SMA_TOOL_ALLOWED, "{\"text\":\"a\"}");
    driver_tool(&d, 3, SMA_TOOL_ASKS, "B"); /* still the same question: it has its answer */
    driver_check_kinds(&d, "");
    driver_tool(&d, 5, SMA_TOOL_ALLOWED, "");
    driver_check_kinds(&d, "P");
    const struct sma_step *note = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(SMA_STEP_NOTE, note->kind);
    CHECK_INT(3, note->number);
    CHECK_INT(2, note->delivery_count);
    CHECK_INT(3, note->deliveries[0].call);
    CHECK_STR("yo", note->deliveries[0].text);
    CHECK_STR("t:bob", note->deliveries[0].route.chat_key);
    CHECK_INT(9, note->deliveries[0].route.adapter);
    CHECK_STR("@attach photo out/a.png | the plot", note->deliveries[1].text);
    driver_verdict(&d, 3, SMA_STEP_NO_DISK);
    driver_check_kinds(&d, "W");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    driver_check_kinds(&d, "P");
    CHECK_INT(2, driver_find(&d, SMA_RUN_STORE_STEP)->step.delivery_count);
    driver_durable(&d);
    driver_check_kinds(&d, "SS");
    driver_sent(&d, 3, SMA_SEND_SENT, "");
    driver_sent(&d, 5, SMA_SEND_SENT, "");
    struct sma_history_lines none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 4, .history = &none});
    driver_check_kinds(&d, "PM");
    CHECK_INT(4, driver_find(&d, SMA_RUN_STORE_STEP)->step.number);
    CHECK(driver_request_has(&d, "{\\\"agreedWithTheWords\\\":\\\"be quick\\\",\\\"result\\\":{"));
    driver_check_facts(&d); /* as first sent */
    finish(&d);
    CHECK_TEXT("done", d.done_text); /* "working on it" was not the answer */
    CHECK_INT(3, d.delivery_count);
}

CASE(a_refusal_reaches_the_model_with_its_reason)
{
    static const struct sma_stored_decision mixed_up[] = {
        {.call = 3, .response = SMA_STR("expired")},
        {.call = 1, .response = SMA_STR("refused by Ann: \"not now\"")}};
    SMA_AUTO(driver_fini) struct driver d;
    park_and_decide(&d, mixed_up, 2);
    driver_check_kinds(&d, "ggTgHgT"); /* what nobody was asked about is done now */
    driver_tool(&d, 2, SMA_TOOL_ALLOWED, "{}");
    driver_tool(&d, 5, SMA_TOOL_REFUSED, "{\"success\":false,\"error\":\"gone\"}");
    struct sma_history_lines none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 4, .history = &none});
    driver_check_kinds(&d, "PM"); /* no note without deliveries */
    CHECK(driver_request_has(
        &d, "Not carried out: refused by Ann: \\\\\\\"not now\\\\\\\". Do not try"));
    CHECK(driver_request_has(&d, "Not carried out: expired."));
    CHECK(driver_request_has(&d, "gone"));
    finish(&d);
    CHECK_INT(1, d.delivery_count);
}

CASE(what_has_changed_since_is_not_done)
{
    static const struct sma_stored_decision both[] = {
        {.call = 1, .is_approved = true, .digest = {'A'}},
        {.call = 3, .is_approved = true, .digest = {'B'}}};
    SMA_AUTO(driver_fini) struct driver d;
    park_and_decide(&d, both, 2);
    driver_tool(&d, 3, SMA_TOOL_ASKS, "C"); /* another question than the one that was answered */
    driver_tool(&d, 5, SMA_TOOL_ASKS, "D"); /* was allowed, must be asked now */
    driver_check_kinds(&d, "");
    driver_tool(&d, 1, SMA_TOOL_ASKS, "{\"success\":false,\"error\":\"changed\"}");
    driver_tool(&d, 2, SMA_TOOL_ALLOWED, "{}");
    struct sma_history_lines none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 4, .history = &none});
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "Not sent: it is not what was agreed to any more"));
    CHECK(driver_request_has(&d, "changed"));
    CHECK_INT(1, d.delivery_count);
}

CASE(started_and_interrupted_is_never_repeated)
{
    static const struct sma_stored_decision both[] = {
        {.call = 1, .is_approved = true, .digest = {'A'}},
        {.call = 3, .is_approved = true, .digest = {'B'}}};
    struct driver d;
    park_and_decide(&d, both, 2);
    driver_tool(&d, 3, SMA_TOOL_ALLOWED, "");
    driver_tool(&d, 5, SMA_TOOL_ALLOWED, "");
    driver_store(&d); /* the note is durable, its answer is lost with the program */
    driver_cut(&d);
    d.deliveries[1].state = SMA_DELIVERY_SENT;
    d.deliveries[2].state = SMA_DELIVERY_FAILED;
    d.order.is_decided = false;
    driver_start(&d);
    driver_check_kinds(&d, "gPM");
    CHECK(driver_request_has(&d, "It was agreed to, but interrupted by a restart"));
    CHECK(driver_request_has(&d, "The platform refused the message"));
    CHECK_INT(4, driver_find(&d, SMA_RUN_STORE_STEP)->step.number);
    finish(&d);
    driver_fini(&d);

    park_and_decide(&d, both, 2); /* before the note: nothing was sent, and nothing is */
    driver_cut(&d);
    d.order.is_decided = false;
    driver_start(&d);
    driver_check_kinds(&d, "gPM");
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_TOOL));
    finish(&d);
    CHECK_INT(1, d.delivery_count);
    driver_fini(&d);

    park(&d); /* handed out although nobody has spoken: nothing is done either */
    driver_store(&d);
    driver_cut(&d);
    d.order.is_decided = true;
    d.deliveries[0].state = SMA_DELIVERY_SENT;
    driver_start(&d);
    driver_check_kinds(&d, "gPM");
    driver_fini(&d);
}

CASE(a_run_may_be_parked_more_than_once)
{
    static const struct sma_stored_decision yes[] = {
        {.call = 0, .is_approved = true, .digest = {'A'}}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, shell);
    for (int i = 0; i < 3; i++) {
        if (i > 0) {
            driver_durable(&d);
            driver_answer(&d, "", SMA_FINISH_TOOLS, shell);
        }
        driver_tool(&d, 0, SMA_TOOL_ASKS, "A");
        driver_store(&d);
        driver_verdict(&d, d.step_count, SMA_STEP_PARKED);
        driver_check_kinds(&d, "gE");
        driver_cut(&d);
        driver_decide(&d, yes, 1);
        driver_start(&d);
        driver_check_kinds(&d, "ggT");
        CHECK_INT(3 * (uint32_t)i + 2, d.step_count);
        driver_tool(&d, 0, SMA_TOOL_ALLOWED, "{\"exitCode\":0}");
        driver_check_kinds(&d, "PM");
    }
    finish(&d);
    CHECK_INT(1, d.session->turn_count);
}

CASE(damaged_decisions_allow_nothing)
{
    static const struct sma_stored_decision unknown = {.call = 9, .is_approved = true};
    static const struct sma_stored_decision twice[] = {{.call = 1, .is_approved = true},
                                                       {.call = 1, .is_approved = true}};
    for (int i = 0; i < 6; i++) {
        struct driver d;
        park(&d);
        driver_store(&d);
        driver_cut(&d);
        if (i == 0)
            driver_decide(&d, &unknown, 1);
        if (i == 1)
            driver_decide(&d, twice, 2);
        if (i == 2) { /* two decisions about one answer */
            driver_decide(&d, twice, 1);
            driver_decide(&d, twice, 1);
        }
        if (i == 3) { /* before any answer */
            struct sma_stored_step answer = d.steps[0];
            d.step_count = 0;
            driver_decide(&d, twice, 1);
            d.steps[d.step_count++] = answer;
        }
        if (i == 4) { /* cut short */
            driver_decide(&d, twice, 1);
            d.steps[1].data.len--;
        }
        if (i == 5) { /* neither yes nor no */
            driver_decide(&d, twice, 1);
            ((char *)(uintptr_t)d.steps[1].data.ptr)[13] = 3;
        }
        driver_start(&d);
        driver_check_kinds(&d, "gD");
        driver_done(&d, true);
        CHECK_TEXT("I could not finish this: the stored steps are damaged", d.done_text);
        driver_fini(&d);
    }
}

/* -- ends -------------------------------------------------------------------------------------- */
CASE(stop_ends_what_the_tools_do)
{
    struct driver d;
    begin(&d, shell); /* while it is checked */
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP});
    driver_check_kinds(&d, "KgE");
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_check_kinds(&d, "");
    driver_fini(&d);

    begin(&d, shell); /* while it runs */
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP});
    driver_check_kinds(&d, "KgE"); /* cleared: nothing stays */
    driver_fini(&d);

    begin(&d, shell); /* nothing is open there */
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP});
    driver_check_kinds(&d, "gE");
    driver_fini(&d);

    static const struct sma_stored_decision both[] = {
        {.call = 1, .is_approved = true, .digest = {'A'}},
        {.call = 3, .is_approved = true, .digest = {'B'}}};
    park_and_decide(&d, both, 2); /* the store says so first, at the note */
    driver_tool(&d, 3, SMA_TOOL_ALLOWED, "");
    driver_tool(&d, 5, SMA_TOOL_ALLOWED, "");
    driver_verdict(&d, 3, SMA_STEP_STOPPED);
    driver_check_kinds(&d, "KgE");
    driver_fini(&d);
}

CASE(draining_waits_for_tools_and_then_leaves_them)
{
    struct driver d;
    begin(&d, shell);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_check_kinds(&d, "");
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "{}");
    driver_check_kinds(&d, "P"); /* in time: stored */
    driver_durable(&d);
    driver_check_kinds(&d, "gE");
    driver_fini(&d);

    begin(&d, shell);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN_HARD});
    driver_check_kinds(&d, "KgE");
    driver_cut(&d);
    driver_start(&d);
    CHECK(driver_request_has(&d, "Interrupted by a restart; the outcome is unknown"));
    driver_fini(&d);

    begin(&d, shell); /* a check in time parks, one that is late is dropped */
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_tool(&d, 0, SMA_TOOL_ASKS, "A");
    driver_check_kinds(&d, "P");
    driver_verdict(&d, 1, SMA_STEP_PARKED);
    driver_check_kinds(&d, "gE");
    driver_fini(&d);

    begin(&d, shell);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN_HARD});
    driver_check_kinds(&d, "KgE");
    driver_fini(&d);

    static const struct sma_stored_decision both[] = {
        {.call = 1, .response = SMA_STR("no")}, {.call = 3, .is_approved = true, .digest = {'B'}}};
    park_and_decide(&d, both, 2); /* an agreed send is not lost to the end of the program */
    driver_tool(&d, 2, SMA_TOOL_ALLOWED, "{}");
    struct sma_history_lines none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 4, .history = &none});
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_check_kinds(&d, "");
    driver_tool(&d, 5, SMA_TOOL_REFUSED, "");
    driver_tool(&d, 3, SMA_TOOL_ALLOWED, "");
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "SgE"); /* its row is the dispatcher's */
    CHECK_INT(2, d.delivery_count);
    driver_fini(&d);
}

/* -- calls that keep failing ------------------------------------------------------------------- */
static const struct driver_call twice_spelled[2][2] = {
    {{"r", "exec_shell", "{\"command\":\"make\",\"timeout\":5}"}, {0}},
    {{"r", "exec_shell", "{ \"timeout\": 5, \"command\": \"make\" }"}, {0}}};

static void fail_once(struct driver *d, const struct driver_call *calls, const char *result)
{
    driver_answer(d, "", SMA_FINISH_TOOLS, calls);
    driver_tool(d, 0, SMA_TOOL_ALLOWED, "");
    driver_durable(d);
    CHECK_INT(SMA_TOOL_RUN, driver_tool_ask(d, 0)->mode);
    driver_tool(d, 0, SMA_TOOL_ALLOWED, result);
    driver_durable(d);
}

CASE(the_fourth_identical_failing_call_is_not_carried_out)
{
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        struct driver d;
        driver_init(&d, SMA_LLM_CHAT);
        driver_start(&d);
        for (int i = 0; i < SMA_REPEAT_COUNT_MAX; i++)
            fail_once(&d, twice_spelled[i % 2], "{\"success\":false}");
        if (is_cut) { /* counted from what is stored */
            driver_cut(&d);
            driver_start(&d);
        }
        driver_answer(&d, "", SMA_FINISH_TOOLS, twice_spelled[1]);
        driver_check_kinds(&d, "P"); /* not even checked */
        driver_durable(&d);
        CHECK(driver_request_has(&d, "this very call has failed 3 times already"));
        driver_durable(&d);
        fail_once(&d, shell, "{\"success\":false}"); /* another one is another one */
        driver_fini(&d);
    }
}

CASE(a_success_or_a_changed_file_counts_anew)
{
    static const struct driver_call edit[] = {
        {"w", "write_file", "{\"path\":\"a\",\"content\":\"b\"}"}, {0}};
    for (int is_edit = 0; is_edit < 2; is_edit++) {
        struct driver d;
        driver_init(&d, SMA_LLM_CHAT);
        driver_start(&d);
        for (int i = 0; i < 3; i++)
            fail_once(&d, shell, i < 2 || is_edit ? "{\"success\":false}" : "{\"success\":true}");
        if (is_edit)
            fail_once(&d, edit, "{\"success\":true}");
        for (int i = 0; i < 3; i++)
            fail_once(&d, shell, "{\"success\":false}");
        driver_answer(&d, "", SMA_FINISH_TOOLS, shell);
        driver_check_kinds(&d, "P");
        driver_fini(&d);
    }
}

CASES_MAIN
