/*
 * Aim: what the store actor promises while nothing fails: claims, order, queue bounds, notices,
 * commands, results, history on disk, its costs. Method: the store under the seeded scheduler
 * between actors that keep what they get.
 */
#include "store_support.h"

#include "sma/metrics.h"

#include "actors/store/record_priv.h"

static struct world w;

AFTER_EACH(end_world(&w))

CASE(a_message_runs_is_answered_and_recorded)
{
    new_world(&w);
    say(&w, "1", "m1", "hello \"you\"");
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_ACCEPTED, answer.verdict);
    CHECK(answer.durable_ns > 0);
    struct sma_msg *order = take(&w.agent, SMA_MSG_RUN);
    CHECK(order != NULL);
    const struct sma_run_order *body = SMA_MSG_BODY(order, struct sma_run_order);
    CHECK_STR("hello \"you\"", body->text);
    CHECK_STR("m1", body->route.message_id);
    CHECK(!body->is_resumed && !body->has_past && body->seq == answer.seq);
    sma_msg_destroy(order);

    step(&w, answer.seq, 1, &(struct delivery){.key = "test:chat:1", .text = "hi\nthere"}, 1);
    run(&w);
    struct sma_msg *row = deliver(&w);
    CHECK(row != NULL);
    struct sma_msg *stored = take(&w.agent, SMA_MSG_STEP_DONE);
    CHECK_INT(SMA_STEP_DURABLE, SMA_MSG_BODY(stored, struct sma_step_done)->verdict);
    CHECK_INT(SMA_DELIVERY_BEGUN, SMA_MSG_BODY(stored, struct sma_step_done)->deliveries[0].state);
    CHECK_STR("hi\nthere", SMA_MSG_BODY(row, struct sma_deliver)->text);
    CHECK(SMA_MSG_BODY(row, struct sma_deliver)->has_waiter);
    CHECK(!SMA_MSG_BODY(row, struct sma_deliver)->is_repeat);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(row, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    sma_msg_destroy(stored);
    sma_msg_destroy(row);
    done(&w, answer.seq, "final", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    await(&w, TEST, answer.seq, false, "");
    run(&w);
    struct sma_msg *result = take(&w.test, SMA_MSG_RESULT);
    CHECK_INT(SMA_RUN_DONE, SMA_MSG_BODY(result, struct sma_result)->state);
    CHECK_STR("hi\nthere", SMA_MSG_BODY(result, struct sma_result)->output);
    CHECK_STR("m1", SMA_MSG_BODY(result, struct sma_result)->message_id);
    CHECK_STR("1", SMA_MSG_BODY(result, struct sma_result)->chat_id);
    sma_msg_destroy(result);

    char expected[512];
    snprintf(expected, sizeof expected,
             "{\"v\":1,\"ts\":1700000000000,\"channel\":\"test\",\"chatId\":\"1\",\"chatKey\":"
             "\"test:chat:1\","
             "\"userId\":\"u1\",\"messageId\":\"m1\",\"role\":\"user\",\"text\":\"hello "
             "\\\"you\\\"\",\"meta\":{\"actorKey\":\"test:chat:1:user:u1\"}}\n");
    const char *text = history(&w, "test%3Achat%3A1");
    CHECK(strncmp(text, expected, strlen(expected)) == 0);
    CHECK(strstr(text, "\"chatKey\":\"test:chat:1\",\"userId\":\"bot\",\"role\":\"assistant\","
                       "\"text\":\"hi\\nthere\","
                       "\"meta\":{\"via\":\"tool\",\"channel\":\"test\"}}\n") != NULL);
    CHECK_INT(2, count_of(text, "\n"));

    say(&w, "1", "m2", "again");
    run(&w);
    order = take(&w.agent, SMA_MSG_RUN);
    CHECK(SMA_MSG_BODY(order, struct sma_run_order)->has_past);
    sma_msg_destroy(order);
}

/* Aim: a reader of the history sees what a tool has sent and what the program delivered itself. */
CASE(the_history_says_what_no_tool_sent)
{
    new_world(&w);
    say(&w, "1", "m1", "hello");
    run(&w);
    uint64_t seq = run_seq(&w);
    done(&w, seq, "the answer",
         &(struct delivery){.key = "test:chat:1", .text = "the answer", .is_fallback = true}, 1);
    run(&w);
    struct sma_msg *row = deliver(&w);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(row, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    sma_msg_destroy(row);
    run(&w);
    CHECK(
        strstr(history(&w, "test%3Achat%3A1"),
               "\"text\":\"the answer\",\"meta\":{\"via\":\"fallback\",\"channel\":\"test\"}}\n") !=
        NULL);
}

CASE(one_event_is_accepted_once)
{
    new_world(&w);
    (void)say_as(&w, TEST, &(struct saying){.chat = "1", .id = "m1", .text = "a", .body_hash = 5});
    (void)say_as(&w, TEST, &(struct saying){.chat = "1", .id = "m1", .text = "a", .body_hash = 5});
    (void)say_as(&w, TEST, &(struct saying){.chat = "1", .id = "m1", .text = "b", .body_hash = 6});
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = "1", .id = "m1", .text = "a", .body_hash = 5, .user = "u2"});
    (void)say_as(&w, TEST, &(struct saying){.chat = "2", .id = "m1", .text = "a", .body_hash = 5});
    run(&w);
    struct sma_accepted first = accepted(&w.test), second = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_ACCEPTED, first.verdict);
    CHECK_INT(SMA_VERDICT_DUPLICATE, second.verdict);
    CHECK(first.seq == second.seq && first.seq > 0);
    CHECK_INT(SMA_VERDICT_CONFLICT, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_CONFLICT, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
    restart_world(&w);
    say(&w, "1", "m1", "a");
    run(&w);
    second = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_DUPLICATE, second.verdict);
    CHECK(second.seq == first.seq);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3A1"), "\n"));
}

CASE(group_talk_is_recorded_and_a_later_mention_runs_it)
{
    new_world(&w);
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = "1", .id = "m1", .text = "a", .addressed = SMA_ADDRESSED_NONE});
    run(&w);
    struct sma_accepted first = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_IGNORED, first.verdict);
    CHECK_INT(0, (long long)run_seq(&w));
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = "1", .id = "m1", .text = "a", .addressed = SMA_ADDRESSED_MENTION});
    run(&w);
    struct sma_accepted second = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_ACCEPTED, second.verdict);
    CHECK(second.seq == first.seq && run_seq(&w) == first.seq);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3A1"), "\n"));
}

CASE(runs_start_in_order_never_two_of_one_chat)
{
    make_world(&w);
    w.config.agent_concurrency = 2;
    open_world(&w);
    say(&w, "a", "1", "a1");
    say(&w, "a", "2", "a2");
    say(&w, "b", "3", "b1");
    say(&w, "a", "4", "a3");
    run(&w);
    uint64_t a1 = accepted(&w.test).seq, a2 = accepted(&w.test).seq, b1 = accepted(&w.test).seq,
             a3 = accepted(&w.test).seq;
    CHECK(run_seq(&w) == a1 && run_seq(&w) == b1 && run_seq(&w) == 0);
    done(&w, b1, "x", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == 0); /* only chat a waits and it is busy */
    done(&w, a1, "x", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == a2 && run_seq(&w) == 0);
    done(&w, a2, "x", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == a3);
}

/* a a a b b: in the order they came, or in turns. */
CASE(the_order_is_as_configured)
{
    static const int orders[2][5] = {{0, 1, 2, 3, 4}, {0, 3, 1, 4, 2}};
    for (int is_fair = 0; is_fair < 2; is_fair++) {
        make_world(&w);
        w.config.queue_is_fair = is_fair;
        open_world(&w);
        uint64_t seqs[5];
        for (int i = 0; i < 5; i++) {
            char id[8];
            snprintf(id, sizeof id, "%d", i);
            say(&w, i < 3 ? "a" : "b", id, "x");
            run(&w);
            seqs[i] = accepted(&w.test).seq;
        }
        for (int i = 0; i < 5; i++) {
            uint64_t seq = run_seq(&w);
            CHECK(seq == seqs[orders[is_fair][i]]);
            done(&w, seq, "out", NULL, 0);
            run(&w);
        }
        end_world(&w);
    }
}

CASE(collect_gives_waiting_messages_to_one_run)
{
    make_world(&w);
    w.config.queue_mode = SMA_QUEUE_COLLECT;
    open_world(&w);
    say(&w, "a", "1", "one");
    run(&w);
    uint64_t first = run_seq(&w);
    say(&w, "a", "2", "two");
    say(&w, "a", "3", "three");
    say(&w, "a", "4", "four");
    run(&w);
    (void)accepted(&w.test);
    uint64_t two = accepted(&w.test).seq;
    done(&w, first, "x", NULL, 0);
    run(&w);
    struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK_STR("four", order->text);
    CHECK_INT(2, order->collected_count);
    CHECK_STR("two", order->collected[0].text);
    CHECK_STR("three", order->collected[1].text);
    CHECK(order->collected[0].seq == two);
    uint64_t seq = order->seq;
    sma_msg_destroy(msg);
    crash_world(&w); /* the group stays together */
    msg = take(&w.agent, SMA_MSG_RUN);
    order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK(order->seq == seq && order->is_resumed && order->collected_count == 2);
    sma_msg_destroy(msg);
    done(&w, seq, "answer", NULL, 0);
    await(&w, TEST, two, false, "");
    run(&w);
    msg = take(&w.test, SMA_MSG_RESULT);
    CHECK_INT(SMA_RUN_DONE, SMA_MSG_BODY(msg, struct sma_result)->state);
    CHECK_STR("answer", SMA_MSG_BODY(msg, struct sma_result)->output);
    sma_msg_destroy(msg);
}

CASE(queue_bounds_refuse_visibly_once_in_a_while)
{
    make_world(&w);
    w.config.queue_chat_waiting_max = 3;
    open_world(&w);
    char id[16];
    for (int i = 0; i < 7; i++) { /* one runs, three wait, three are too many */
        snprintf(id, sizeof id, "%d", i);
        say(&w, "a", id, "x");
        run(&w);
        struct sma_accepted answer = accepted(&w.test);
        CHECK_INT(i < 4 ? SMA_VERDICT_ACCEPTED : SMA_VERDICT_BUSY, answer.verdict);
        CHECK(answer.seq > 0 && (i < 4 || answer.retry_after_ms > 0));
    }
    /* One busy notice (for the second) and one for the full queue, not five; they wait for each
     * other in the chat. */
    struct sma_msg *row = deliver(&w);
    CHECK(row != NULL && deliver(&w) == NULL);
    CHECK_INT(SMA_INTENT_NOTICE, SMA_MSG_BODY(row, struct sma_deliver)->intent);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(row, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    sma_msg_destroy(row);
    run(&w);
    row = deliver(&w);
    CHECK(row != NULL);
    CHECK(strstr(SMA_MSG_BODY(row, struct sma_deliver)->text.ptr, "Too many") != NULL);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(row, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    sma_msg_destroy(row);
    run(&w);
    CHECK(deliver(&w) == NULL);
    sma_sim_advance(w.system, 31 * SECOND);
    say(&w, "a", "later", "x");
    run(&w);
    CHECK_INT(SMA_VERDICT_BUSY, accepted(&w.test).verdict);
    row = deliver(&w);
    CHECK(row != NULL);
    sma_msg_destroy(row);
    command(&w, "a", "c", SMA_CONTROL_STATUS); /* always accepted */
    expect_accepted(&w);
    CHECK_INT(8 + 1 + 2, count_of(history(&w, "test%3Achat%3Aa"), "\n"));
}

static void end_run(struct world *world)
{
    uint64_t seq = run_seq(world);
    CHECK(seq != 0);
    done(world, seq, "answer", NULL, 0);
    run(world);
}

/* Refused without a trace: a platform that reads later brings it again, and then it is taken. */
CASE(at_the_bound_of_all_chats_platforms_wait_and_nothing_is_kept)
{
    make_world(&w);
    w.config.queue_waiting_max = 2;
    open_world(&w);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "g",
                                  .id = "up",
                                  .text = "psst",
                                  .is_group = true,
                                  .addressed = SMA_ADDRESSED_NONE});
    run(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    static const char *const chats[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) { /* one runs, two wait */
        say(&w, chats[i], "1", "x");
        expect_accepted(&w);
    }
    for (int again = 0; again < 2; again++) {
        say(&w, "new", "2", "y");
        say(&w, "a", "2", "y");
        (void)say_as(&w, TEST,
                     &(struct saying){.chat = "g",
                                      .id = "up",
                                      .text = "psst",
                                      .is_group = true,
                                      .addressed = SMA_ADDRESSED_MENTION});
        run(&w);
        for (int i = 0; i < 3; i++) {
            struct sma_accepted answer = accepted(&w.test);
            CHECK_INT(SMA_VERDICT_REFUSED, answer.verdict);
            CHECK(answer.retry_after_ms > 0 && answer.seq == 0);
        }
    }
    CHECK(sma_state_chat_get(w.store->state, SMA_STR("test:chat:new")) == NULL);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aa"), "\n"));
    command(&w, "a", "c", SMA_CONTROL_STATUS); /* needs no place */
    expect_accepted(&w);
    for (int i = 0; i < 3; i++)
        end_run(&w);
    say(&w, "new", "2", "y");
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "g",
                                  .id = "up",
                                  .text = "psst",
                                  .is_group = true,
                                  .addressed = SMA_ADDRESSED_MENTION});
    expect_accepted(&w);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
}

/* 100 chats with 100 messages each, at once, with the bounds of the default configuration. */
CASE(a_burst_over_a_hundred_chats_is_taken_whole)
{
    make_world(&w);
    w.config.queue_chat_waiting_max = SMA_CHAT_WAITING_COUNT_MAX;
    w.config.queue_waiting_max = SMA_INBOX_WAITING_COUNT_MAX;
    open_world(&w);
    char chat[16], id[16];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 1000; i++) {
            snprintf(chat, sizeof chat, "c%d", i % 100);
            snprintf(id, sizeof id, "%d", round * 1000 + i);
            say(&w, chat, id, "x");
        }
        run(&w);
        for (int i = 0; i < 1000; i++)
            CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
    }
}

CASE(stop_cancels_and_nothing_stopped_comes_back)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    say(&w, "a", "2", "y");
    say(&w, "b", "3", "z");
    run(&w);
    uint64_t one = accepted(&w.test).seq, two = accepted(&w.test).seq,
             three = accepted(&w.test).seq;
    CHECK(run_seq(&w) == one);
    await(&w, TEST, one, false, "");
    await(&w, TEST, two, false, "");
    run(&w);
    CHECK(take(&w.test, SMA_MSG_RESULT) == NULL);
    drop_kept(&w.agent);
    command(&w, "a", "s", SMA_CONTROL_STOP);
    step(&w, one, 1, &(struct delivery){.key = "test:chat:a", .text = "too late"}, 1);
    done(&w, one, "too late", NULL, 0);
    run(&w);
    uint64_t stop_seq = accepted(&w.test).seq;
    for (int i = 0; i < 2; i++) {
        struct sma_msg *result = take(&w.test, SMA_MSG_RESULT);
        CHECK(result != NULL);
        /* The step may have been stored before the stop was read: then only its delivery is left to
         * be cancelled. */
        CHECK_INT(SMA_RUN_CANCELLED, SMA_MSG_BODY(result, struct sma_result)->state);
        sma_msg_destroy(result);
    }
    struct sma_msg *control = take(&w.agent, SMA_MSG_CONTROL);
    CHECK(control != NULL);
    CHECK(SMA_MSG_BODY(control, struct sma_control_order)->mark_seq == stop_seq);
    sma_msg_destroy(control);
    CHECK_INT(SMA_STEP_STOPPED, verdict(&w, SMA_MSG_DONE_DONE));
    CHECK(run_seq(&w) == three); /* the credit is free; the waiting message of chat a is gone */
    CHECK(strstr(history(&w, "test%3Achat%3Aa"), "too late") == NULL);
    done(&w, three, "x", NULL, 0);
    run(&w);
    crash_world(&w);
    CHECK(run_seq(&w) == 0);
}

CASE(clear_keeps_what_waits)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    say(&w, "a", "2", "y");
    run(&w);
    uint64_t one = accepted(&w.test).seq, two = accepted(&w.test).seq;
    CHECK(run_seq(&w) == one);
    command(&w, "a", "c", SMA_CONTROL_CLEAR);
    run(&w);
    size_t control_at = w.agent.count, run_at = w.agent.count;
    for (size_t i = 0; i < w.agent.count; i++) {
        if (w.agent.msgs[i]->kind == SMA_MSG_CONTROL)
            control_at = i;
        if (w.agent.msgs[i]->kind == SMA_MSG_RUN)
            run_at = i;
    }
    CHECK(control_at < run_at && run_at < w.agent.count); /* CONTROL first, then the next RUN */
    CHECK(run_seq(&w) == two);
    done(&w, one, "x", NULL, 0);
    run(&w);
    CHECK_INT(SMA_STEP_STOPPED, verdict(&w, SMA_MSG_DONE_DONE));
}

CASE(an_api_caller_gets_texts_results_and_command_replies)
{
    new_world(&w);
    (void)say_as(&w, API, &(struct saying){.chat = "x", .id = "m1", .text = "q", .user = "u1"});
    run(&w);
    uint64_t seq = accepted(&w.api).seq;
    CHECK(run_seq(&w) == seq);
    await(&w, API, seq, true, "u1");
    await(&w, API, seq, false, "u1");
    await(&w, API, seq, false, "somebody else");
    run(&w);
    struct sma_msg *result = take(&w.api, SMA_MSG_RESULT);
    CHECK_INT(SMA_RUN_RUNNING, SMA_MSG_BODY(result, struct sma_result)->state);
    sma_msg_destroy(result);
    result = take(&w.api, SMA_MSG_RESULT);
    CHECK_INT(SMA_RUN_UNKNOWN, SMA_MSG_BODY(result, struct sma_result)->state);
    sma_msg_destroy(result);
    struct delivery sent[] = {{.key = "api:chat:x", .text = "one", .adapter = API},
                              {.key = "test:chat:9", .text = "elsewhere", .call = 1},
                              {.key = "api:chat:x", .text = "two", .adapter = API, .call = 2}};
    step(&w, seq, 1, sent, 3);
    run(&w);
    struct sma_msg *stored = take(&w.agent, SMA_MSG_STEP_DONE);
    CHECK_INT(SMA_DELIVERY_SENT, SMA_MSG_BODY(stored, struct sma_step_done)->deliveries[0].state);
    CHECK_INT(SMA_DELIVERY_BEGUN, SMA_MSG_BODY(stored, struct sma_step_done)->deliveries[1].state);
    sma_msg_destroy(stored);
    done(&w, seq, "ignored", NULL, 0);
    run(&w);
    result = take(&w.api, SMA_MSG_RESULT);
    CHECK_STR("one\n\ntwo", SMA_MSG_BODY(result, struct sma_result)->output);
    CHECK(SMA_MSG_BODY(result, struct sma_result)->is_success);
    CHECK_STR("[]", SMA_MSG_BODY(result, struct sma_result)->tool_calls_json);
    sma_msg_destroy(result);
    CHECK_INT(3, count_of(history(&w, "api%3Achat%3Ax"), "\n"));

    (void)say_as(&w, API, &(struct saying){.chat = "x", .id = "m2", .text = "q", .user = "u1"});
    run(&w);
    seq = accepted(&w.api).seq;
    done(&w, seq, "plain", NULL, 0);
    await(&w, API, seq, false, "u1");
    run(&w);
    result = take(&w.api, SMA_MSG_RESULT);
    CHECK_STR("plain", SMA_MSG_BODY(result, struct sma_result)->output);
    sma_msg_destroy(result);
    CHECK(strstr(history(&w, "api%3Achat%3Ax"),
                 "\"userId\":\"bot\",\"messageId\":\"m2\",\"role\":\"assistant\","
                 "\"text\":\"plain\",\"meta\":{\"success\":true}}\n") != NULL);

    (void)say_as(&w, API,
                 &(struct saying){.chat = "x",
                                  .id = "m3",
                                  .text = "/help",
                                  .user = "u1",
                                  .kind = SMA_EVENT_CONTROL,
                                  .control = SMA_CONTROL_HELP});
    run(&w);
    await(&w, API, accepted(&w.api).seq, false, "u1");
    run(&w);
    result = take(&w.api, SMA_MSG_RESULT);
    CHECK(strncmp(SMA_MSG_BODY(result, struct sma_result)->output.ptr, "Commands:", 9) == 0);
    sma_msg_destroy(result);
}

CASE(questions_are_answered)
{
    make_world(&w);
    w.config.permissions_json =
        "{\"roles\":{\"member\":[\"test:u1\"]}}"; /* strangers are no contacts */
    open_world(&w);
    say(&w, "a", "1", "the first thing");
    run(&w);
    uint64_t one = run_seq(&w);
    step(&w, one, 1, &(struct delivery){.key = "test:chat:a", .text = "an answer"}, 1);
    done(&w, one, "x", NULL, 0);
    run(&w);
    struct sma_msg *row = deliver(&w);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(row, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_UNKNOWN,
                                      .is_final = true});
    sma_msg_destroy(row);
    say(&w, "a", "2", "the second thing");
    run(&w);
    uint64_t two = run_seq(&w);

    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_HISTORY, struct sma_history_ask, 256);
    struct sma_history_ask *ask = SMA_MSG_BODY(msg, struct sma_history_ask);
    ask->chat_key = sma_msg_dup(msg, SMA_STR("test:chat:a"));
    ask->limit = 10;
    ask->current_seq = two;
    ask_as_agent(&w, msg);
    msg = SMA_MSG_NEW(SMA_MSG_SESSION, struct sma_session_ask, 256);
    struct sma_session_ask *session = SMA_MSG_BODY(msg, struct sma_session_ask);
    session->chat_key = sma_msg_dup(msg, SMA_STR("test:chat:a"));
    session->before_seq = two;
    session->turns_max = 10;
    session->bytes_max = 10000;
    ask_as_agent(&w, msg);
    msg = SMA_MSG_NEW(SMA_MSG_CONTACT, struct sma_contact_ask, 64);
    SMA_MSG_BODY(msg, struct sma_contact_ask)->user_name = sma_msg_dup(msg, SMA_STR(" ann "));
    ask_as_agent(&w, msg);
    run(&w);

    msg = take(&w.agent, SMA_MSG_HISTORY_LINES);
    const struct sma_history_lines *lines = SMA_MSG_BODY(msg, struct sma_history_lines);
    CHECK_INT(2, lines->line_count);
    CHECK_STR("the first thing", lines->lines[0].text);
    CHECK(lines->lines[0].is_user && !lines->lines[1].is_user);
    CHECK_STR("an answer", lines->lines[1].text);
    sma_msg_destroy(msg);
    msg = take(&w.agent, SMA_MSG_SESSION_TURNS);
    const struct sma_session_turns *turns = SMA_MSG_BODY(msg, struct sma_session_turns);
    CHECK_INT(1, turns->turn_count);
    CHECK_STR("{\"turn\":1}", turns->turns[0].bytes);
    CHECK_STR("1", turns->turns[0].message_id);
    CHECK_STR("chat", turns->turns[0].wire);
    sma_msg_destroy(msg);
    msg = take(&w.agent, SMA_MSG_CONTACT_RESULT);
    const struct sma_contact_result *contact = SMA_MSG_BODY(msg, struct sma_contact_result);
    CHECK(contact->is_found);
    CHECK_STR("test:chat:a", contact->route.chat_key);
    CHECK_INT(TEST, contact->route.adapter);
    sma_msg_destroy(msg);

    for (int i = 0; i < 2; i++) {
        msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, 64);
        struct sma_query *query = SMA_MSG_BODY(msg, struct sma_query);
        query->kind = i == 0 ? SMA_QUERY_STATUS : SMA_QUERY_HISTORY;
        w.config.name = "bot";
        w.config.version = "7.1";
        w.config.description = "helps";
        query->limit = 2;
        query->chat_key = sma_msg_dup(msg, SMA_STR("test:chat:a"));
        CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, TEST), SMA_ACTOR_STORE, &msg, 0, NULL));
        run(&w);
        msg = take(&w.test, SMA_MSG_QUERY_RESULT);
        const char *json = SMA_MSG_BODY(msg, struct sma_query_result)->json.ptr;
        CHECK(strstr(json, i == 0 ? "\"open\":1,\"concurrency\":1,\"answered\":1"
                                  : "\"the second thing\"") != NULL);
        CHECK(json[0] == (i == 0 ? '{' : '['));
        CHECK(i != 0 || strstr(json, "\"project\":{\"name\":\"bot\",\"version\":\"7.1\","
                                     "\"description\":\"helps\"}") != NULL);
        sma_msg_destroy(msg);
    }
}

CASE(an_idle_store_wakes_for_retention_alone)
{
    make_world(&w);
    w.config.permissions_json =
        "{\"roles\":{\"member\":[\"test:u1\"]}}"; /* strangers are no contacts */
    open_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    done(&w, run_seq(&w), "x", NULL, 0);
    run(&w);
    CHECK(w.store->record->has_unflushed);
    run_for(&w, 60 * SECOND);
    /* Nobody has a time set but retention, which looks once an hour and lets go in a few slices. */
    CHECK_INT(0, sma_sim_run(w.system, 1000, sma_sim_now(w.system) + 500 * SECOND));
    size_t steps = sma_sim_run(w.system, 100000, sma_sim_now(w.system) + 10 * 3600 * SECOND);
    CHECK(steps > 0 && steps <= (size_t)10 * 32);
    CHECK(!w.store->record->has_unflushed);
    CHECK(sma_state_history_flushed(w.store->state) == sma_state_durable_seq(w.store->state));
    char path[128];
    snprintf(path, sizeof path, "%s/contacts.json", w.state_dir);
    CHECK(access(path, F_OK) == 0);
}

static int skip_sync(void *self, int fd)
{
    (void)self;
    (void)fd;
    return 0;
}

CASE(idle_chats_do_not_stay_in_memory)
{
    static struct sma_sys quick; /* thousands of files: their syncs are not what is tested */
    quick = *sma_sys_real();
    quick.fsync = quick.fdatasync = skip_sync;
    make_world(&w);
    w.sys = &quick;
    open_world(&w);
    sma_sim_advance(w.system, 60 * SECOND);
    for (int i = 0; i < 9000; i++) {
        char chat[16];
        snprintf(chat, sizeof chat, "%d", i);
        (void)say_as(&w, TEST,
                     &(struct saying){
                         .chat = chat, .id = "1", .text = "t", .addressed = SMA_ADDRESSED_NONE});
        if (i % 500 != 499)
            continue;
        run_for(&w, 3 * SECOND);
        drop_kept(&w.test);
    }
    CHECK(w.store->chats.count <= STORE_CHAT_KEPT_COUNT);
    say(&w, "17", "2", "still known");
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = "17", .id = "1", .text = "t", .addressed = SMA_ADDRESSED_NONE});
    expect_accepted(&w);
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.test).verdict);
    CHECK_INT(2, count_of(history(&w, "test%3Achat%3A17"), "\n"));
}

/* Old claims go with the commits of new messages, once they are over the bound and their lines are
 * on disk. */
CASE(claims_over_the_bound_expire)
{
    make_world(&w);
    w.config.durability_is_none = true;
    open_world(&w);
    for (int i = 0; i < 5000; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        (void)say_as(&w, TEST,
                     &(struct saying){.chat = "a", .id = id, .text = "x", .is_record_only = true});
        if (i % 500 != 499)
            continue;
        run(&w);
        drop_kept(&w.test);
    }
    run_for(&w, 5 * SECOND); /* the lines are synced */
    CHECK_INT(5000, sma_state_claim_count(w.store->state));
    sma_state_set_claim_bounds(w.store->state, 100, 1 << 20, 0);
    for (int i = 0; i < 10; i++) {
        char id[16];
        snprintf(id, sizeof id, "new %d", i);
        say(&w, "a", id, "x");
        run(&w);
    }
    CHECK(sma_state_claim_count(w.store->state) < 1000);
}

/* From the receipt's commit on, where the run began at once; what waited for others says nothing
 * of us. */
CASE(the_way_from_the_receipt_to_the_model_is_measured)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    sma_metrics_reset();
    say(&world, "a", "1", "now");
    say(&world, "a", "2", "later");
    run(&world);
    world.model_out_ns = sma_ctx_now(sma_system_ctx(world.system, TEST)) + 3000000;
    finish_next(&world);
    CHECK_INT(1, (long long)sma_histogram_count(SMA_HISTOGRAM_durable_to_model));
    uint64_t took_ns = sma_histogram_quantile(SMA_HISTOGRAM_durable_to_model, 1);
    CHECK(took_ns >= 3000000 && took_ns < 100000000);
    finish_next(&world);
    CHECK_INT(1, (long long)sma_histogram_count(SMA_HISTOGRAM_durable_to_model));
    world.model_out_ns = 0; /* no model was asked */
    say(&world, "a", "3", "now");
    run(&world);
    finish_next(&world);
    CHECK_INT(1, (long long)sma_histogram_count(SMA_HISTOGRAM_durable_to_model));
    world.model_out_ns = 1; /* it was asked before the commit */
    say(&world, "a", "4", "now");
    run(&world);
    finish_next(&world);
    CHECK_INT(2, (long long)sma_histogram_count(SMA_HISTOGRAM_durable_to_model));
}

CASES_MAIN
