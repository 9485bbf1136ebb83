/*
 * Aim: what a crash leaves and what start-up does with it, row by row of the table in
 * docs/notes/store-actor.md.
 * Method: crash the simulated system between two messages, open the same folder again.
 */
#include "store_support.h"

#include "actors/store/runs_priv.h"

static struct world w;

AFTER_EACH(end_world(&w))

CASE(what_was_not_committed_comes_again)
{
    new_world(&w);
    say(&w, "a", "1", "x"); /* in the mailbox only */
    crash_world(&w);
    CHECK(run_seq(&w) == 0);
    CHECK(w.store->runs
              ->is_cautious); /* it must not end the program before its commit again and again */
    say(&w, "a", "1", "x");
    expect_accepted(&w);
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aa"), "\n"));
    step(&w, seq, 1, NULL, 0);
    run(&w);
    CHECK(!w.store->runs->is_cautious);
}

CASE(a_run_continues_after_its_last_step)
{
    new_world(&w);
    say(&w, "a", "1", "first");
    say(&w, "a", "2", "second");
    run(&w);
    uint64_t one = accepted(&w.test).seq, two = accepted(&w.test).seq;
    CHECK(run_seq(&w) == one);
    step(&w, one, 1, &(struct delivery){.key = "test:chat:b", .text = "hi"}, 1);
    step(&w, one, 2, NULL, 0);
    run(&w);
    crash_world(&w);
    say(&w, "c", "3", "third"); /* nothing starts before the suspect has proved itself */
    run(&w);
    CHECK_INT(1, count_kept(&w.agent, SMA_MSG_RUN));
    struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK(order->seq == one && order->is_resumed && order->is_suspect && order->attempt == 1);
    CHECK_STR("first", order->text);
    CHECK_STR("a", order->route.chat_id);
    CHECK_INT(TEST, order->route.adapter);
    CHECK_INT(2, order->step_count);
    CHECK_INT(2, order->steps[1].number);
    CHECK_STR("step data", order->steps[0].data);
    CHECK_INT(1, order->delivery_count);
    CHECK_INT(1, order->deliveries[0].step);
    CHECK_INT(SMA_DELIVERY_BEGUN, order->deliveries[0].state);
    sma_msg_destroy(msg);
    struct sma_msg *row = deliver(&w);
    CHECK(row != NULL);
    CHECK(SMA_MSG_BODY(row, struct sma_deliver)->is_repeat); /* may have been attempted */
    sma_msg_destroy(row);
    step(&w, one, 2, NULL, 0); /* asked again: as stored */
    expect_durable(&w, SMA_MSG_STEP_DONE);
    done(&w, one, "x", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == two);
}

CASE(three_attempts_without_a_step_are_enough)
{
    new_world(&w);
    say(&w, "a", "1", "poison");
    say(&w, "b", "2", "good");
    run(&w);
    uint64_t poison = accepted(&w.test).seq, good = accepted(&w.test).seq;
    CHECK(run_seq(&w) == poison);
    for (uint32_t attempt = 2; attempt <= 3; attempt++) {
        crash_world(&w);
        struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
        CHECK(msg != NULL);
        CHECK(SMA_MSG_BODY(msg, struct sma_run_order)->seq == poison);
        CHECK_INT(attempt, SMA_MSG_BODY(msg, struct sma_run_order)->attempt);
        sma_msg_destroy(msg);
        CHECK(run_seq(&w) == 0); /* one at a time */
    }
    crash_world(&w);
    CHECK(run_seq(&w) == good);
    await(&w, TEST, poison, false, "");
    run(&w);
    struct sma_msg *result = take(&w.test, SMA_MSG_RESULT);
    CHECK_INT(SMA_RUN_FAILED, SMA_MSG_BODY(result, struct sma_result)->state);
    CHECK(!SMA_MSG_BODY(result, struct sma_result)->is_success);
    sma_msg_destroy(result);
    bool is_told = false;
    for (struct sma_msg *row = deliver(&w); row != NULL; row = deliver(&w)) {
        is_told = is_told ||
                  strstr(SMA_MSG_BODY(row, struct sma_deliver)->text.ptr, "given it up") != NULL;
        sma_msg_destroy(row);
    }
    CHECK(is_told);
}

/* The user has the answer already; a notice to send the message again would be wrong. */
CASE(who_has_an_answer_is_not_told_to_send_again)
{
    new_world(&w);
    say(&w, "a", "1", "poison after the answer");
    run(&w);
    uint64_t seq = run_seq(&w);
    const struct delivery answer = {.key = "test:chat:a", .text = "the answer"};
    step(&w, seq, 1, &answer, 1);
    run(&w);
    struct sma_msg *row = deliver(&w);
    CHECK(row != NULL);
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(row, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    sma_msg_destroy(row);
    run(&w);
    for (uint32_t attempt = 1; attempt <= SMA_RUN_ATTEMPT_COUNT_MAX; attempt++) {
        crash_world(&w);
        CHECK(run_seq(&w) == seq);
    }
    crash_world(&w);
    CHECK(run_seq(&w) == 0);
    await(&w, TEST, seq, false, "");
    run(&w);
    struct sma_msg *result = take(&w.test, SMA_MSG_RESULT);
    CHECK_INT(SMA_RUN_FAILED, SMA_MSG_BODY(result, struct sma_result)->state);
    CHECK_STR("the answer", SMA_MSG_BODY(result, struct sma_result)->output);
    sma_msg_destroy(result);
    CHECK(deliver(&w) == NULL);
}

CASE(a_step_resets_the_attempts_and_clean_restarts_do_not_count)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    uint64_t one = accepted(&w.test).seq;
    crash_world(&w);
    (void)run_seq(&w);
    step(&w, one, 1, NULL, 0);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    say(&w, "b", "2", "y");
    run(&w);
    for (int i = 0; i < 5; i++) {
        restart_world(&w);
        struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
        const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
        CHECK(order->seq == one && order->is_resumed && !order->is_suspect &&
              order->step_count == 1);
        sma_msg_destroy(msg);
    }
    crash_world(&w);
    struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
    CHECK_INT(1, SMA_MSG_BODY(msg, struct sma_run_order)->attempt);
    CHECK(SMA_MSG_BODY(msg, struct sma_run_order)->is_suspect);
    sma_msg_destroy(msg);
}

CASE(a_stored_result_outlives_the_caller_and_the_process)
{
    new_world(&w);
    struct saying question = {.chat = "x", .id = "m1", .text = "q", .user = "u1", .body_hash = 7};
    (void)say_as(&w, API, &question);
    run(&w);
    uint64_t seq = accepted(&w.api).seq;
    step(&w, seq, 1, &(struct delivery){.key = "api:chat:x", .text = "the answer", .adapter = API},
         1);
    done(&w, seq, "x", NULL, 0);
    run(&w);
    crash_world(&w);
    (void)say_as(&w, API, &question);
    await(&w, API, seq, false, "u1");
    run(&w);
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.api).verdict);
    struct sma_msg *result = take(&w.api, SMA_MSG_RESULT);
    CHECK_STR("the answer", SMA_MSG_BODY(result, struct sma_result)->output);
    sma_msg_destroy(result);
    CHECK_INT(2, count_of(history(&w, "api%3Achat%3Ax"), "\n"));
}

/* The power fails: the page cache is gone, the file ends after `cut` bytes. */
static long lose_tail_at(long cut)
{
    char before[8192], path[160];
    new_world(&w);
    for (int i = 0; i < 8; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        say(&w, "a", id, "text");
    }
    run(&w);
    snprintf(path, sizeof path, "%s/chats/test%%3Achat%%3Aa.jsonl", w.state_dir);
    const char *text = history(&w, "test%3Achat%3Aa");
    CHECK(strlen(text) < sizeof before);
    memcpy(before, text, strlen(text) + 1);
    sma_sim_crash(w.system);
    close_system(&w);
    CHECK(truncate(path, cut) == 0);
    open_world(&w);
    CHECK_TEXT(before, history(&w, "test%3Achat%3Aa"));
    end_world(&w);
    return (long)strlen(before);
}

CASE(lines_that_never_reached_the_file_are_written_at_start)
{
    long len = lose_tail_at(0);
    CHECK(len > 800);
    for (long cut = 61; cut < len; cut += 127)
        CHECK_INT(len, lose_tail_at(cut));
}

CASE(claims_are_rebuilt_when_the_database_is_lost)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    say(&w, "a", "2", "y");
    run(&w);
    restart_world(&w);
    stop_world(&w);
    close_system(&w);
    char path[160];
    const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", w.state_dir, names[i]);
        unlink(path);
    }
    open_world(&w);
    CHECK(run_seq(&w) == 0); /* listed, not run */
    say(&w, "a", "2", "y");
    say(&w, "a", "3", "z");
    run(&w);
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
    CHECK_INT(3, count_of(history(&w, "test%3Achat%3Aa"), "\n"));
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    CHECK(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
}

CASE(what_the_old_program_left_is_honoured_once)
{
    make_world(&w);
    char path[300];
    struct sma_error error = {0};
    snprintf(path, sizeof path, "%s/.cache/ingress/telegram/telegram%%3Achat%%3A7", w.state_dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, &error));
    snprintf(path, sizeof path, "%s/.cache/ingress/telegram/telegram%%3Achat%%3A7/42.json",
             w.state_dir);
    write_file(path, "{\"v\":1,\"channel\":\"telegram\",\"chatKey\":\"telegram:chat:7\","
                     "\"messageId\":\"42\",\"claimedAt\":1}");
    open_world(&w);
    struct sma_state_chat *chat = sma_state_chat_get(w.store->state, SMA_STR("telegram:chat:7"));
    CHECK(chat != NULL);
    struct sma_state_head head;
    CHECK_OK(sma_state_claim_find(w.store->state, chat->claim_id, SMA_EVENT_MESSAGE, SMA_STR("42"),
                                  &head));
    restart_world(&w);
    CHECK_INT(1, (long long)sma_state_claim_count(w.store->state));
}

CASE(a_long_file_is_rotated_and_stays_whole)
{
    make_world(&w);
    w.config.queue_chat_waiting_max = 2000;
    w.config.queue_waiting_max = 2000;
    open_world(&w);
    for (int i = 0; i < 1010; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        (void)say_as(
            &w, TEST,
            &(struct saying){.chat = "a", .id = id, .text = "t", .addressed = SMA_ADDRESSED_NONE});
        if (i % 100 == 99)
            run(&w);
    }
    run(&w);
    drop_kept(&w.test);
    size_t archived = count_of(history(&w, "test%3Achat%3Aa.archive-1"), "\n");
    size_t kept = count_of(history(&w, "test%3Achat%3Aa"), "\n");
    CHECK(archived >= 500 && archived + kept == 1010);
    crash_world(&w);
    CHECK_INT(1010, count_of(history(&w, "test%3Achat%3Aa.archive-1"), "\n") +
                        count_of(history(&w, "test%3Achat%3Aa"), "\n"));
    say(&w, "a", "1009", "t");
    run(&w);
}

CASE(a_stop_reaches_what_an_unresumed_run_had_collected)
{
    make_world(&w);
    w.config.queue_mode = SMA_QUEUE_COLLECT;
    w.config.agent_concurrency = 2;
    open_world(&w);
    say(&w, "a", "1", "one");
    say(&w, "b", "2", "two");
    run(&w);
    (void)run_seq(&w);
    uint64_t first_of_b = run_seq(&w);
    say(&w, "b", "3", "three");
    say(&w, "b", "4", "four");
    run(&w);
    done(&w, first_of_b, "x", NULL, 0);
    run(&w);
    CHECK_INT(3, sma_state_open_count(w.store->state));
    crash_world(
        /* chat a's run has to prove itself first, chat b's waits with the message it collected */
        &w);
    command(&w, "b", "5", SMA_CONTROL_STOP);
    run(&w);
    CHECK_INT(1, sma_state_open_count(w.store->state));
}

CASE(a_stop_does_not_fail_what_may_have_been_seen)
{
    new_world(&w);
    say(&w, "a", "1", "one");
    run(&w);
    uint64_t seq = run_seq(&w);
    const struct delivery both[] = {{.key = "test:chat:a", .text = "shown"},
                                    {.key = "test:chat:a", .text = "waits", .call = 1}};
    step(&w, seq, 1, both, 2);
    run(&w);
    struct sma_msg *row = deliver(&w);
    CHECK(row != NULL);
    sma_msg_destroy(row);
    sma_sim_crash(w.system);
    close_system(&w);
    open_world_only(&w);
    command(&w, "a", "2", SMA_CONTROL_STOP); /* comes before anything was handed out again */
    run(&w);
    row = deliver(&w);
    CHECK(row != NULL);
    const struct sma_deliver *body = SMA_MSG_BODY(row, struct sma_deliver);
    CHECK_STR("shown", body->text);
    CHECK(body->is_repeat);
    receipt(&w, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    sma_msg_destroy(row);
    run(&w);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aa"), "\"shown\""));
    row = deliver(&w); /* the second was not begun: given up; this is the reply to the command */
    CHECK(row != NULL);
    CHECK_INT(SMA_INTENT_NOTICE, SMA_MSG_BODY(row, struct sma_deliver)->intent);
    sma_msg_destroy(row);
}

/* Whoever asks while the store ends, or after it has, gets an answer: nobody may hang on a service
 * that stops. */
CASE(a_stopping_store_answers_everybody)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    await(&w, TEST, seq, false, "");
    run(&w);
    CHECK_INT(0, w.test.count);
    stop_world(&w);
    await(&w, TEST, seq, false, "");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, 64);
    *SMA_MSG_BODY(msg, struct sma_query) =
        (struct sma_query){.kind = SMA_QUERY_HISTORY, .limit = 5, .chat_key = SMA_STR("test:a")};
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, TEST), SMA_ACTOR_STORE, &msg, 0, NULL));
    say(&w, "a", "2", "y");
    run(&w);
    CHECK_INT(2, count_kept(&w.test, SMA_MSG_RESULT));
    CHECK_INT(1, count_kept(&w.test, SMA_MSG_QUERY_RESULT));
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    msg = take(&w.test, SMA_MSG_RESULT);
    CHECK_INT(SMA_RUN_RUNNING, SMA_MSG_BODY(msg, struct sma_result)->state);
    sma_msg_destroy(msg);
}

CASES_MAIN
