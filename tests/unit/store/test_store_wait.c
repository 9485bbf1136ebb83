/*
 * Aim: a run whose model cannot be reached waits durably: its slot is free, its chat is not, it
 *      goes on when it is due, over restarts, crashes and clocks that were set, and people can end
 *      it.
 * Method: the store actor under virtual time between actors that keep what they get.
 */
#include "approval_support.h"

#include "actors/store/runs_priv.h"
#include "runtime/chat/state_vfs.h"

static struct world w;
static bool is_full;

static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                            : SMA_STATE_VFS_PASS;
}

static void wait_step_of(uint64_t seq, uint32_t number, uint32_t wait_ms,
                         const struct delivery *notice, uint8_t intent)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = number;
    body->kind = SMA_STEP_WAIT;
    body->data = sma_msg_dup(msg, SMA_STR("wait data"));
    body->wait_ms = wait_ms;
    if (notice != NULL) {
        body->delivery_count = 1;
        struct sma_step_delivery *put = put_deliveries(msg, notice, 1);
        put->intent = intent;
        body->deliveries = put;
    }
    ask_as_agent(&w, msg);
    run(&w);
}

static void wait_step(uint64_t seq, uint32_t number, uint32_t wait_ms,
                      const struct delivery *notice)
{
    wait_step_of(seq, number, wait_ms, notice, SMA_INTENT_ASSISTANT_TEXT);
}

static void begin_world(void)
{
    new_world(&w);
}

/* A message of this chat comes and its run waits. @return its seq */
static uint64_t wait_in(const char *chat, const char *id, uint32_t wait_ms)
{
    say(&w, chat, id, "question");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(run_seq(&w) == seq);
    wait_step(seq, 1, wait_ms, NULL);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    return seq;
}

/* The run is handed out again with its steps, as one that was never in doubt. */
static void expect_again(uint64_t seq, uint32_t step_count)
{
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK(order->seq == seq);
    CHECK(order->is_resumed && !order->is_suspect && !order->is_decided);
    CHECK_INT(1, order->attempt);
    CHECK_INT(step_count, order->step_count);
    CHECK_INT(SMA_STEP_WAIT, order->steps[step_count - 1].kind);
    CHECK_STR("wait data", order->steps[step_count - 1].data);
    sma_msg_destroy(msg);
}

static int peek(unsigned adapter, uint64_t seq)
{
    await(&w, adapter, seq, true, "");
    run(&w);
    struct sma_msg *msg = take(adapter == API ? &w.api : &w.test, SMA_MSG_RESULT);
    CHECK(msg != NULL);
    int state = SMA_MSG_BODY(msg, struct sma_result)->state;
    sma_msg_destroy(msg);
    return state;
}

AFTER_EACH(end_world(&w))

CASE(the_slot_is_free_and_the_chat_is_not)
{
    begin_world();
    uint64_t seq = wait_in("a", "1", 15000);
    say(&w, "a", "2", "behind it");
    say(&w, "b", "3", "another chat");
    run(&w);
    uint64_t behind = accepted(&w.test).seq, other = accepted(&w.test).seq;
    CHECK(run_seq(&w) == other); /* concurrency is 1 */
    CHECK(run_seq(&w) == 0);
    done(&w, other, "ok", NULL, 0);
    pass(&w, 14);
    CHECK(run_seq(&w) == 0);
    CHECK_INT(SMA_RUN_WAITS_FOR_MODEL, peek(TEST, seq));
    pass(&w, 1);
    expect_again(seq, 1);
    CHECK_INT(SMA_RUN_RUNNING, peek(TEST, seq));
    CHECK(run_seq(&w) == 0);
    done(&w, seq, "answered", NULL, 0);
    run(&w);
    CHECK(run_seq(&w) == behind);
}

CASE(it_may_wait_again_and_again)
{
    begin_world();
    uint64_t seq = wait_in("a", "1", 5000);
    for (uint32_t number = 2; number < 6; number++) {
        pass(&w, 5);
        expect_again(seq, number - 1);
        wait_step(seq, number, 5000, NULL);
        CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    }
    pass(&w, 5);
    expect_again(seq, 5);
    CHECK_INT(0, (int)w.store->runs->wait_count);
}

CASE(its_notice_goes_out_with_it)
{
    begin_world();
    say(&w, "a", "1", "question");
    run(&w);
    uint64_t seq = run_seq(&w);
    wait_step(seq, 1, 15000, &(struct delivery){.key = CHAT_A, .text = "a moment"});
    CHECK_TEXT("a moment", next_delivery(&w));
}

/* Nothing of it becomes a file: the run goes on. What it asks people is not in passing, nor is the
 * notice of its end (test_store_actor_outbox: the_notice_of_a_given_up_run_...). */
CASE(its_notice_is_in_passing)
{
    static const struct
    {
        uint32_t call;
        bool is_interim;
    } rows[] = {{0, true}, {SMA_TOOL_CALL_COUNT_MAX - 1, true}, {SMA_TOOL_CALL_COUNT_MAX, false}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        begin_world();
        say(&w, "a", "1", "question");
        run(&w);
        wait_step_of(run_seq(&w), 1, 15000,
                     &(struct delivery){.key = CHAT_A, .text = "a moment", .call = rows[i].call},
                     SMA_INTENT_NOTICE);
        struct sma_msg *row = take(&w.dispatcher, SMA_MSG_DELIVER);
        CHECK(row != NULL);
        CHECK_INT(rows[i].is_interim, SMA_MSG_BODY(row, struct sma_deliver)->is_interim);
        sma_msg_destroy(row);
        end_world(&w);
    }
}

CASE(nothing_wakes_up_when_nothing_waits)
{
    begin_world();
    uint64_t seq = wait_in("a", "1", 3600000);
    pass(&w, 10); /* the history is synced by then */
    CHECK(sma_store_waits_wake(w.store) > sma_sim_now(w.system) + 3500 * SECOND);
    uint64_t commits = 0;
    struct sma_state_counts counts;
    sma_state_counts(w.store->state, &counts);
    commits = counts.commits;
    pass(&w, 3000);
    sma_state_counts(w.store->state, &counts);
    CHECK_INT((int)commits, (int)counts.commits);
    pass(&w, 600);
    expect_again(seq, 1);
    CHECK(sma_store_waits_wake(w.store) == UINT64_MAX);
}

/* Orderly and not; the time that passed while the service was down counts. */
CASE(it_waits_over_a_restart)
{
    for (int is_crash = 0; is_crash < 2; is_crash++) {
        begin_world();
        uint64_t seq = wait_in("a", "1", 60000);
        pass(&w, 10);
        int64_t wall_ms = sma_ctx_wall(w.store->ctx);
        if (!is_crash)
            stop_world(&w);
        close_system(&w);
        open_world_only(&w);
        sma_sim_shift_wall(w.system, wall_ms + 20000 - sma_ctx_wall(w.store->ctx));
        run(&w);
        CHECK(run_seq(&w) == 0);
        CHECK_INT(SMA_RUN_WAITS_FOR_MODEL, peek(TEST, seq));
        say(&w, "a", "2", "behind it");
        pass(&w, 28);
        CHECK(run_seq(&w) == 0);
        pass(&w, 3);
        expect_again(seq, 1);
        end_world(&w);
    }
}

CASE(a_past_time_is_now_and_a_clock_set_back_makes_it_no_longer)
{
    static const int64_t shifts_ms[] = {86400000, -86400000};
    for (int i = 0; i < 2; i++) {
        begin_world();
        uint64_t seq = wait_in("a", "1", 60000);
        int64_t wall_ms = sma_ctx_wall(w.store->ctx);
        close_system(&w);
        open_world_only(&w);
        sma_sim_shift_wall(w.system, wall_ms + shifts_ms[i] - sma_ctx_wall(w.store->ctx));
        run(&w);
        if (shifts_ms[i] < 0) {
            CHECK(run_seq(&w) == 0);
            pass(&w, 61);
        }
        expect_again(seq, 1);
        end_world(&w);
    }
    begin_world(); /* while it runs, the wall clock is of no interest */
    uint64_t seq = wait_in("a", "1", 60000);
    sma_sim_shift_wall(w.system, 86400000);
    pass(&w, 50);
    CHECK(run_seq(&w) == 0);
    pass(&w, 11);
    expect_again(seq, 1);
}

/* Handed out and cut: it is a begun run again, and its wait is gone. */
CASE(a_crash_after_it_was_handed_out_resumes_it)
{
    begin_world();
    uint64_t seq = wait_in("a", "1", 5000);
    pass(&w, 5);
    expect_again(seq, 1);
    crash_world(&w);
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    CHECK(SMA_MSG_BODY(msg, struct sma_run_order)->seq == seq);
    CHECK(SMA_MSG_BODY(msg, struct sma_run_order)->is_suspect);
    sma_msg_destroy(msg);
    CHECK_INT(0, (int)w.store->runs->wait_count);
}

/* However often the program dies while it waits. */
CASE(waiting_counts_as_no_attempt)
{
    begin_world();
    uint64_t seq = wait_in("a", "1", 5000);
    for (int i = 0; i < 6; i++)
        crash_world(&w);
    pass(&w, 6);
    expect_again(seq, 1);
}

CASE(stop_and_clear_end_it)
{
    static const enum sma_control controls[] = {SMA_CONTROL_STOP, SMA_CONTROL_CLEAR};
    for (int i = 0; i < 4; i++) {
        begin_world();
        uint64_t seq = wait_in("a", "1", 5000);
        if (i >= 2) { /* it is due, and another run has the slot */
            say(&w, "b", "2", "long");
            run(&w);
            CHECK(run_seq(&w) != 0);
            pass(&w, 6);
            CHECK(run_seq(&w) == 0);
        }
        command(&w, "a", "9", controls[i % 2]);
        run(&w);
        CHECK_INT(SMA_RUN_CANCELLED, peek(TEST, seq));
        CHECK_INT(0, (int)w.store->runs->wait_count);
        if (i < 2) {
            say(&w, "a", "3", "next");
            run(&w);
            CHECK(run_seq(&w) != 0); /* the chat is free */
        }
        pass(&w, 10);
        CHECK(run_seq(&w) == 0);
        crash_world(&w);
        pass(&w, 10);
        struct sma_msg *msg = next_run(&w);
        CHECK(msg == NULL || SMA_MSG_BODY(msg, struct sma_run_order)->seq != seq);
        sma_msg_destroyp(&msg);
        end_world(&w);
    }
}

CASE(status_counts_it)
{
    begin_world();
    (void)wait_in("a", "1", 5000);
    command(&w, "a", "2", SMA_CONTROL_STATUS);
    run(&w);
    CHECK(strstr(next_delivery(&w), "waiting for the model: 1,") != NULL);
    CHECK(strstr(query(&w, SMA_QUERY_STATUS, ""), "\"waitingForModel\":1") != NULL);
}

CASE(collected_messages_stay_with_it)
{
    make_world(&w);
    w.config.queue_mode = SMA_QUEUE_COLLECT;
    open_world(&w);
    say(&w, "b", "0", "keeps the slot");
    run(&w);
    uint64_t other = run_seq(&w);
    say(&w, "a", "1", "one");
    say(&w, "a", "2", "two");
    run(&w);
    done(&w, other, "ok", NULL, 0);
    run(&w);
    uint64_t seq = run_seq(&w);
    wait_step(seq, 1, 5000, NULL);
    CHECK_INT(SMA_RUN_WAITS_FOR_MODEL, peek(TEST, seq - 1));
    for (int is_crash = 0; is_crash < 2; is_crash++) {
        if (is_crash)
            crash_world(&w);
        say(&w, "a", is_crash ? "4" : "3", "comes later");
        pass(&w, 6);
        struct sma_msg *msg = next_run(&w);
        CHECK(msg != NULL);
        const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
        CHECK(order->seq == seq);
        CHECK_INT(1, order->collected_count);
        CHECK_STR("one", order->collected[0].text);
        sma_msg_destroy(msg);
        wait_step(seq, is_crash ? 3 : 2, 5000, NULL);
    }
    command(&w, "a", "9", SMA_CONTROL_STOP);
    run(&w);
    CHECK_INT(SMA_RUN_CANCELLED, peek(TEST, seq - 1));
}

/* Who waits for the result is not told "pending": it goes on by itself. */
CASE(a_waiting_caller_gets_the_answer)
{
    begin_world();
    (void)say_as(&w, API, &(struct saying){.chat = "a", .id = "1", .text = "question"});
    run(&w);
    uint64_t seq = accepted(&w.api).seq;
    CHECK(run_seq(&w) == seq);
    await(&w, API, seq, false, "");
    wait_step(seq, 1, 5000, NULL);
    CHECK(take(&w.api, SMA_MSG_RESULT) == NULL);
    await(&w, API, seq, false, ""); /* and one who comes later */
    pass(&w, 5);
    CHECK(take(&w.api, SMA_MSG_RESULT) == NULL);
    CHECK(run_seq(&w) == seq);
    done(&w, seq, "answer", NULL, 0);
    run(&w);
    for (int i = 0; i < 2; i++) {
        struct sma_msg *msg = take(&w.api, SMA_MSG_RESULT);
        CHECK(msg != NULL);
        const struct sma_result *result = SMA_MSG_BODY(msg, struct sma_result);
        CHECK_INT(SMA_RUN_DONE, result->state);
        CHECK_STR("answer", result->output);
        CHECK(result->duration_ms >= 5000 && result->duration_ms < 6000);
        sma_msg_destroy(msg);
    }
}

CASE(a_failed_transaction_leaves_the_run_where_it_was)
{
    begin_world();
    say(&w, "a", "1", "question");
    run(&w);
    uint64_t seq = run_seq(&w);
    is_full = true;
    wait_step(seq, 1, 5000, NULL);
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK_INT(0, (int)w.store->runs->wait_count);
    is_full = false;
    pass(&w, 2);
    wait_step(seq, 1, 5000, NULL);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    pass(&w, 5);
    expect_again(seq, 1);
}

CASE(waits_of_two_chats_that_become_one_both_go_on)
{
    begin_world();
    uint64_t one = wait_in("old", "1", 5000), two = wait_in("new", "2", 8000);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "new",
                                  .id = "3",
                                  .text = "moved",
                                  .kind = SMA_EVENT_NOTE,
                                  .migrated_from = "test:chat:old"});
    run(&w);
    CHECK_INT(2, (int)w.store->runs->wait_count);
    pass(&w, 9);
    uint64_t first = run_seq(&w);
    CHECK(first == one || first == two);
    CHECK(run_seq(&w) == 0);
    done(&w, first, "ok", NULL, 0);
    run(&w);
    expect_again(first == one ? two : one, 1);
}

#define MANY 2000
CASE(many_that_are_due_go_one_after_the_other)
{
    begin_world();
    CHECK_OK(sma_state_begin(w.store->state));
    for (int i = 0; i < MANY; i++) {
        char key[64];
        struct sma_state_chat *chat;
        uint64_t seq;
        snprintf(key, sizeof key, "test:chat:m%d", i);
        CHECK_OK(sma_state_chat_open(w.store->state, sma_str(key), SMA_STR("test"), &chat));
        sma_buf_clear(&w.store->scratch.facts);
        struct sma_route route = route_of(TEST, key);
        sma_store_facts_put(
            &w.store->scratch.facts,
            &(struct store_facts){.route = route, .has_text = true, .text = SMA_STR("x")});
        CHECK_OK(sma_state_accept(
            w.store->state,
            &(struct sma_state_message){.chat = chat,
                                        .state = SMA_ROW_PARKED,
                                        .event_key = sma_str(key),
                                        .history_offset = SMA_STATE_NO_LINE,
                                        .facts = sma_buf_str(&w.store->scratch.facts)},
            &seq));
        CHECK_OK(sma_state_step_add(w.store->state, seq, 1, SMA_STEP_WAIT, SMA_STR("wait data")));
        CHECK_OK(sma_state_wait_set(w.store->state,
                                    &(struct sma_state_wait){.run_seq = seq, .length_ms = 1000}));
    }
    CHECK_OK(sma_state_commit(w.store->state));
    w.config.agent_concurrency = 8;
    crash_world(&w);
    uint64_t last = 0;
    for (int i = 0; i < MANY; i++) {
        CHECK(count_kept(&w.agent, SMA_MSG_RUN) <= 8);
        uint64_t seq = run_seq(&w);
        CHECK(seq > last); /* the oldest first */
        last = seq;
        done(&w, seq, "ok", NULL, 0);
        run(&w);
        drop_kept(&w.dispatcher);
        sma_msg_destroy(take(&w.agent, SMA_MSG_DONE_DONE));
    }
    CHECK(run_seq(&w) == 0);
    CHECK_INT(0, (int)w.store->runs->wait_count);
}

/* -- what targets refuse ----------------------------------------------------------------------- */
static void learn(const char *target, const char *member)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_LEARN, struct sma_learned, 4096);
    struct sma_learned *body = SMA_MSG_BODY(msg, struct sma_learned);
    body->facts = sma_msg_space(msg, sizeof *body->facts);
    body->fact_count = 1;
    body->facts[0] = (struct sma_learned_fact){.target = sma_msg_dup(msg, sma_str(target)),
                                               .member = sma_msg_dup(msg, sma_str(member))};
    CHECK_OK(sma_ctx_send(sma_system_ctx(w.system, SMA_ACTOR_AGENT), SMA_ACTOR_STORE, &msg));
    run(&w);
}

/* "target member;" of the LEARNED that stands before every RUN; "" when there is none. */
static const char *taught(void)
{
    static char text[65536];
    text[0] = '\0';
    if (w.agent.count == 0)
        return text;
    CHECK_INT(SMA_MSG_LEARNED, w.agent.msgs[0]->kind);
    struct sma_msg *msg = take(&w.agent, SMA_MSG_LEARNED);
    const struct sma_learned *learned = SMA_MSG_BODY(msg, struct sma_learned);
    size_t len = 0;
    for (uint32_t i = 0; i < learned->fact_count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s %.*s;",
                                (int)learned->facts[i].target.len, learned->facts[i].target.ptr,
                                (int)learned->facts[i].member.len, learned->facts[i].member.ptr);
    sma_msg_destroy(msg);
    return text;
}

CASE(what_targets_refuse_is_known_before_the_first_run)
{
    begin_world();
    CHECK_TEXT("", taught());
    learn("chat host m1", "top_p");
    learn("chat host m1", "temperature");
    learn("chat host m1", "temperature");
    learn("chat host m2", "user");
    learn("", "nothing");
    CHECK(strstr(query(&w, SMA_QUERY_STATUS, ""),
                 "\"learned\":{\"chat host m1\":[\"temperature\",\"top_p\"],"
                 "\"chat host m2\":[\"user\"]}") != NULL);
    say(&w, "a", "1", "question");
    run(&w);
    crash_world(&w);
    CHECK_TEXT("chat host m1 temperature;chat host m1 top_p;chat host m2 user;", taught());
    CHECK(run_seq(&w) != 0);
    CHECK_TEXT("", taught());
}

CASE(what_was_learned_long_ago_is_tried_again)
{
    begin_world();
    learn("t", "old");
    sma_sim_shift_wall(w.system, INT64_C(86400000) * (SMA_LEARNED_DAYS - 1));
    int64_t wall_ms = sma_ctx_wall(w.store->ctx);
    learn("t", "new");
    close_system(&w);
    open_world_only(&w);
    sma_sim_shift_wall(w.system, wall_ms + 2 * INT64_C(86400000) - sma_ctx_wall(w.store->ctx));
    run(&w);
    CHECK_TEXT("t new;", taught());
}

/* -- usage ------------------------------------------------------------------------------------- */
static void used_step(uint64_t seq, uint32_t number, uint64_t input, const char *target)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = number;
    body->kind = SMA_STEP_ANSWER;
    body->data = sma_msg_dup(msg, SMA_STR("step data"));
    body->usage = (struct sma_usage){.request_count = 1, .input = input, .cost_nano = 7};
    body->target = sma_msg_dup(msg, sma_str(target));
    ask_as_agent(&w, msg);
    run(&w);
}

static const char *used(const char *chat_key)
{
    return query(&w, SMA_QUERY_USAGE, chat_key);
}

#define SUM(requests, input, cost)                                                \
    "\"requests\":" #requests ",\"input\":" #input ",\"cached\":0,\"written\":0," \
    "\"output\":0,\"reasoning\":0,\"costNano\":" #cost "}"

CASE(usage_is_summed_once)
{
    begin_world();
    say(&w, "a", "1", "question");
    run(&w);
    uint64_t seq = run_seq(&w);
    used_step(seq, 1, 100, "chat h m1");
    used_step(seq, 1, 100, "chat h m1"); /* asked again: answered as stored */
    used_step(seq, 2, 20, "chat h m2");
    CHECK(strstr(used(""), "\"total\":{" SUM(2, 120, 14)) != NULL);
    CHECK(strstr(used(""), "{\"target\":\"chat h m1\"," SUM(1, 100, 7)) != NULL);
    CHECK(strstr(used(""), "{\"chatKey\":\"test:chat:a\"," SUM(2, 120, 14)) != NULL);
    CHECK(strstr(used(""), "{\"person\":\"test:u1\"," SUM(2, 120, 14)) != NULL);
    CHECK(strstr(used(""), "{\"platform\":\"test\"," SUM(2, 120, 14)) != NULL);
    CHECK(strstr(used("test:chat:a"), "\"total\":{" SUM(2, 120, 14)) != NULL);
    CHECK(strstr(used("test:chat:b"), "\"total\":{" SUM(0, 0, 0)) != NULL);
    crash_world(&w);
    CHECK(run_seq(&w) == seq);
    CHECK(strstr(used(""), "\"total\":{" SUM(2, 120, 14)) != NULL);
    used_step(seq, 3, 3, "chat h m1");
    done(&w, seq, "answer", NULL, 0);
    run(&w);
    await(&w, TEST, seq, true, "");
    run(&w);
    struct sma_msg *msg = take(&w.test, SMA_MSG_RESULT);
    const struct sma_usage *usage = &SMA_MSG_BODY(msg, struct sma_result)->usage;
    CHECK(usage->request_count == 3 && usage->input == 123 && usage->cost_nano == 21);
    sma_msg_destroy(msg);
}

/* Sums over a year are made between batches: who says something meanwhile is answered before
 * them. */
CASE(a_year_of_usage_holds_nobody_up)
{
    begin_world();
    struct sma_state_chat *chats[3];
    int64_t today = sma_ctx_wall(sma_system_ctx(w.system, TEST)) / 86400000;
    CHECK_OK(sma_store_begin(w.store));
    for (int i = 0; i < 3; i++) {
        char key[32];
        snprintf(key, sizeof key, "test:chat:y%d", i);
        CHECK_OK(sma_state_chat_open(w.store->state, sma_str(key), SMA_STR("test"), &chats[i]));
    }
    for (int day = 0; day < SMA_USAGE_DAYS; day++)
        for (int i = 0; i < 30; i++) {
            char person[16];
            snprintf(person, sizeof person, "test:p%d", i);
            CHECK_OK(sma_state_usage_add(
                w.store->state,
                &(struct sma_state_usage_key){.day = today - SMA_USAGE_DAYS + 1 + day,
                                              .chat_id = chats[i % 3]->id,
                                              .person = sma_str(person),
                                              .platform = SMA_STR("test"),
                                              .target = SMA_STR("t")},
                &(struct sma_usage){.request_count = 1, .input = 2, .cost_nano = (uint64_t)i}));
        }
    sma_store_end_batch(w.store);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, 16);
    SMA_MSG_BODY(msg, struct sma_query)->kind = SMA_QUERY_USAGE;
    SMA_MSG_BODY(msg, struct sma_query)->limit = SMA_USAGE_DAYS;
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, TEST), SMA_ACTOR_STORE, &msg, 0, NULL));
    say(&w, "a", "1", "behind it");
    run_for(&w, 5 * SECOND);
    CHECK(w.test.count >= 2 && w.test.msgs[0]->kind == SMA_MSG_ACCEPTED);
    msg = take(&w.test, SMA_MSG_QUERY_RESULT);
    CHECK(msg != NULL);
    struct sma_str json = SMA_MSG_BODY(msg, struct sma_query_result)->json;
    char *text = strndup(json.ptr, json.len);
    CHECK(strstr(text, "\"total\":{" SUM(12000, 24000, 174000)) != NULL);
    CHECK(strstr(text, "\"chats\":[{\"chatKey\":\"test:chat:y2\"," SUM(4000, 8000, 62000)) != NULL);
    CHECK(strstr(text, "\"persons\":[{\"person\":\"test:p29\"," SUM(400, 800, 11600)) != NULL);
    CHECK_INT(SMA_USAGE_DAYS, (int)count_of(text, "\"day\":"));
    free(text);
    sma_msg_destroy(msg);
}

CASE(usage_of_a_cut_batch_is_not_counted)
{
    begin_world();
    say(&w, "a", "1", "question");
    run(&w);
    uint64_t seq = run_seq(&w);
    is_full = true;
    used_step(seq, 1, 100, "m");
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_STEP_DONE));
    is_full = false;
    pass(&w, 2);
    used_step(seq, 1, 100, "m");
    CHECK(strstr(used(""), "\"total\":{" SUM(1, 100, 7)) != NULL);
}

int main(void)
{
    sma_state_vfs_set_hook(fail_when_full);
    check_run_cases(NULL);
    return check_summary();
}
