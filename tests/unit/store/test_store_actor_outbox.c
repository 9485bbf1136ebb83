/*
 * Aim: deliveries leave in order, after they are durable, a bounded number at a time, and end in
 * history or visibly not.
 * Method: the store under the seeded scheduler; the test is the dispatcher.
 */
#include "store_support.h"

#include "actors/store/outbox_priv.h"
#include "actors/store/trouble.h"

#include "sma/metrics.h"

static struct world w;

static uint64_t begin_run(const char *chat, const char *id)
{
    say(&w, chat, id, "x");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(run_seq(&w) == seq);
    return seq;
}

static void finish_row(uint64_t outbox_id, enum sma_delivery_state state)
{
    receipt(&w, &(struct sma_receipt){.outbox_id = outbox_id,
                                      .part_count = 1,
                                      .state = (uint8_t)state,
                                      .is_final = true});
    run(&w);
}

/* The next DELIVER's id, 0 = none. */
static uint64_t next_id(bool *ret_is_repeat)
{
    struct sma_msg *row = deliver(&w);
    if (row == NULL)
        return 0;
    uint64_t id = SMA_MSG_BODY(row, struct sma_deliver)->outbox_id;
    if (ret_is_repeat != NULL)
        *ret_is_repeat = SMA_MSG_BODY(row, struct sma_deliver)->is_repeat;
    sma_msg_destroy(row);
    return id;
}

AFTER_EACH(end_world(&w))

CASE(rows_of_a_chat_go_one_after_the_other)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    struct delivery three[] = {{.key = "test:chat:a", .text = "one"},
                               {.key = "test:chat:a", .text = "two", .call = 1},
                               {.key = "test:chat:b", .text = "three", .call = 2}};
    step(&w, seq, 1, three, 3);
    run(&w);
    uint64_t one = next_id(NULL), three_id = next_id(NULL);
    CHECK(one == sma_state_outbox_id(seq, 1, 0) && three_id == sma_state_outbox_id(seq, 1, 2));
    CHECK(next_id(NULL) == 0);
    CHECK_INT(3, (long long)sma_gauge_get(SMA_GAUGE_outbox_open));
    finish_row(one, SMA_DELIVERY_FAILED);
    CHECK_INT(2, (long long)sma_gauge_get(SMA_GAUGE_outbox_open));
    uint64_t two = next_id(NULL);
    CHECK(two == sma_state_outbox_id(seq, 1, 1));
    finish_row(two, SMA_DELIVERY_SENT);
    const char *text = history(&w, "test%3Achat%3Aa");
    CHECK(strstr(text, "\"two\"") != NULL &&
          strstr(text, "\"one\"") == NULL); /* what failed was not said */
    receipt(&w,
            &(struct sma_receipt){.outbox_id = two, .state = SMA_DELIVERY_SENT, .is_final = true});
    run(&w);
    CHECK_INT(3, count_kept(&w.dispatcher, SMA_MSG_RECEIPT_DONE));
    drop_kept(&w.dispatcher);
    CHECK_INT(
        2, count_of(history(&w, "test%3Achat%3Aa"), "\n")); /* a second receipt changes nothing */
}

CASE(parts_are_kept_over_a_crash)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    step(&w, seq, 1, &(struct delivery){.key = "test:chat:a", .text = "long"}, 1);
    run(&w);
    uint64_t id = next_id(NULL);
    receipt(&w, &(struct sma_receipt){.outbox_id = id,
                                      .part = 0,
                                      .part_count = 3,
                                      .renderer_version = 4,
                                      .state = SMA_DELIVERY_SENT,
                                      .attempt_count = 2});
    run(&w);
    crash_world(&w);
    struct sma_msg *row = deliver(&w);
    const struct sma_deliver *body = SMA_MSG_BODY(row, struct sma_deliver);
    CHECK(body->outbox_id == id && body->is_repeat && body->part_done_count == 1);
    CHECK_INT(4, body->renderer_version);
    CHECK_STR("long", body->text);
    sma_msg_destroy(row);
    finish_row(id, SMA_DELIVERY_UNKNOWN);
    CHECK(strstr(history(&w, "test%3Achat%3Aa"), "\"long\"") != NULL);
    crash_world(&w);
    CHECK(next_id(NULL) == 0);
}

CASE(a_row_that_was_not_begun_is_no_repeat)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    struct delivery two[] = {{.key = "test:chat:a", .text = "one"},
                             {.key = "test:chat:a", .text = "two", .call = 1}};
    step(&w, seq, 1, two, 2);
    run(&w);
    CHECK(next_id(NULL) != 0);
    crash_world(&w);
    bool is_repeat = false;
    uint64_t one = next_id(&is_repeat);
    CHECK(is_repeat);
    finish_row(one, SMA_DELIVERY_SENT);
    CHECK(next_id(&is_repeat) == sma_state_outbox_id(seq, 1, 1) && !is_repeat);
}

CASE(credits_bound_what_is_out)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    char keys[48][32];
    uint64_t ids[2 * 48] = {0};
    for (uint32_t number = 1; number <= 2; number++) {
        struct delivery rows[48];
        for (uint32_t i = 0; i < 48; i++) {
            snprintf(keys[i], sizeof keys[i], "test:chat:%u-%u", number % 10, i % 48);
            rows[i] = (struct delivery){.key = keys[i], .text = "t", .call = i};
        }
        step(&w, seq, number, rows, 48);
        run(&w);
    }
    size_t out = 0;
    while ((ids[out] = next_id(NULL)) != 0)
        out++;
    CHECK_INT(SMA_DELIVER_CREDIT_COUNT, out);
    for (size_t i = 0; i < 10; i++)
        receipt(&w, &(struct sma_receipt){.outbox_id = ids[i],
                                          .part_count = 1,
                                          .state = SMA_DELIVERY_SENT,
                                          .is_final = true});
    run(&w);
    size_t more = 0;
    while (next_id(NULL) != 0)
        more++;
    CHECK_INT(10, more);
}

CASE(stop_gives_up_what_was_not_begun)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    struct delivery two[] = {{.key = "test:chat:a", .text = "one"},
                             {.key = "test:chat:a", .text = "two", .call = 1}};
    step(&w, seq, 1, two, 2);
    run(&w);
    uint64_t one = next_id(NULL);
    command(&w, "a", "s", SMA_CONTROL_STOP);
    run(&w);
    struct sma_msg *cancel = take(&w.dispatcher, SMA_MSG_CANCEL_DELIVER);
    CHECK(cancel != NULL);
    CHECK_STR("test:chat:a", SMA_MSG_BODY(cancel, struct sma_cancel_deliver)->chat_key);
    sma_msg_destroy(cancel);
    finish_row(one, SMA_DELIVERY_FAILED);
    struct sma_msg *row = deliver(&w);
    CHECK_STR("Stopped.", SMA_MSG_BODY(row, struct sma_deliver)->text);
    CHECK_STR("en", SMA_MSG_BODY(row, struct sma_deliver)->language);
    finish_row(SMA_MSG_BODY(row, struct sma_deliver)->outbox_id, SMA_DELIVERY_SENT);
    sma_msg_destroy(row);
    CHECK(strstr(history(&w, "test%3Achat%3Aa"),
                 "\"text\":\"Stopped.\",\"meta\":{\"notice\":true,"
                 "\"via\":\"tool\",\"channel\":\"test\"}}\n") != NULL);
    crash_world(&w);
    CHECK(next_id(NULL) == 0);
}

CASE(a_chat_holds_a_bounded_number_of_rows)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    uint32_t failed = 0, made = 0;
    for (uint32_t number = 1; made < SMA_OUTBOX_CHAT_COUNT_MAX + 1; number++) {
        struct delivery rows[41];
        for (uint32_t i = 0; i < 41; i++)
            rows[i] = (struct delivery){.key = "test:chat:a", .text = "t", .call = i};
        uint32_t count =
            SMA_OUTBOX_CHAT_COUNT_MAX + 1 - made < 41 ? SMA_OUTBOX_CHAT_COUNT_MAX + 1 - made : 41;
        step(&w, seq, number, rows, count);
        made += count;
        run(&w);
        struct sma_msg *stored = take(&w.agent, SMA_MSG_STEP_DONE);
        const struct sma_step_done *body = SMA_MSG_BODY(stored, struct sma_step_done);
        for (uint32_t i = 0; i < body->delivery_count; i++)
            failed += body->deliveries[i].state == SMA_DELIVERY_FAILED &&
                      body->deliveries[i].error.len > 0;
        sma_msg_destroy(stored);
    }
    CHECK_INT(1, failed); /* exactly the one over the bound */
}

/* The dispatcher counts what it holds: a row may not come before the answer that takes another one
 * from it. */
CASE(a_credit_comes_back_before_it_is_used_again)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    struct delivery two[] = {{.key = "test:chat:a", .text = "one"},
                             {.key = "test:chat:a", .text = "two", .call = 1}};
    step(&w, seq, 1, two, 2);
    run(&w);
    uint64_t one = next_id(NULL);
    CHECK_INT(0, w.dispatcher.count);
    finish_row(one, SMA_DELIVERY_SENT);
    CHECK_INT(2, w.dispatcher.count);
    CHECK_INT(SMA_MSG_RECEIPT_DONE, w.dispatcher.msgs[0]->kind);
    CHECK_INT(SMA_MSG_DELIVER, w.dispatcher.msgs[1]->kind);
}

/* Rows stand in the order they were made, not of the messages they answer: what users saw the
 * beginning of goes on. */
CASE(what_was_begun_goes_first_after_a_crash)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    step(&w, seq, 1, &(struct delivery){.key = "test:chat:a", .text = "one"}, 1);
    run(&w);
    uint64_t one = next_id(NULL);
    command(&w, "a", "2", SMA_CONTROL_STATUS);
    run(&w);
    uint64_t notice = sma_state_outbox_id(accepted(&w.test).seq, STORE_NOTICE_STEP, 0);
    step(&w, seq, 2, &(struct delivery){.key = "test:chat:a", .text = "two"}, 1);
    run(&w);
    finish_row(one, SMA_DELIVERY_SENT);
    CHECK(next_id(NULL) == notice);
    receipt(&w, &(struct sma_receipt){
                    .outbox_id = notice, .part_count = 2, .state = SMA_DELIVERY_SENT});
    run(&w);
    crash_world(&w);
    bool is_repeat = false;
    CHECK(next_id(&is_repeat) == notice && is_repeat);
    finish_row(notice, SMA_DELIVERY_SENT);
    CHECK(next_id(&is_repeat) == sma_state_outbox_id(seq, 2, 0) && !is_repeat);
}

static uint32_t four(const struct sma_route *route)
{
    (void)route;
    return 4;
}

/* A run of chat `chat` begins. @return what it hears of the answers that are left */
static uint32_t left_of(const char *chat, const char *id, uint64_t *ret_seq)
{
    say(&w, chat, id, "x");
    run(&w);
    struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
    CHECK(msg != NULL);
    uint32_t left = SMA_MSG_BODY(msg, struct sma_run_order)->replies_left;
    *ret_seq = SMA_MSG_BODY(msg, struct sma_run_order)->seq;
    sma_msg_destroy(msg);
    return left;
}

/* What the model is told to save with; nothing where a message may be answered at will. */
CASE(a_run_hears_how_many_answers_are_left)
{
    static const struct sma_adapter_ops counting = {
        .name = "test", .channel = "test", .replies_max = four};
    uint64_t seq;
    new_world(&w);
    CHECK_INT(0, left_of("b", "0", &seq));
    end_world(&w);
    make_world(&w);
    w.adapters[0].ops = &counting;
    open_world(&w);
    CHECK_INT(4, left_of("a", "1", &seq));
    const struct delivery said = {.key = "test:chat:a", .text = "one"};
    step(&w, seq, 1, &said, 1);
    run(&w);
    finish_row(next_id(NULL), SMA_DELIVERY_SENT);
    crash_world(&w);
    run(&w);
    struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
    CHECK(msg != NULL);
    CHECK_INT(3, SMA_MSG_BODY(msg, struct sma_run_order)->replies_left);
    sma_msg_destroy(msg);
}

/* A platform that lets a message be answered a few times only hears how often it was, in any life
 * of the program. */
CASE(answers_to_one_message_are_counted)
{
    static const struct sma_adapter_ops counting = {
        .name = "test", .channel = "test", .replies_max = four};
    make_world(&w);
    w.adapters[0].ops = &counting;
    open_world(&w);
    uint64_t seq = begin_run("a", "1");
    struct delivery three[] = {{.key = "test:chat:a", .text = "one"},
                               {.key = "test:chat:b", .text = "elsewhere", .call = 1},
                               {.key = "test:chat:a", .text = "two", .call = 2}};
    step(&w, seq, 1, three, 3);
    run(&w);
    uint64_t one = next_id(NULL), elsewhere = next_id(NULL);
    for (uint32_t part = 0; part < 2; part++) {
        receipt(&w, &(struct sma_receipt){.outbox_id = one,
                                          .part = part,
                                          .part_count = 2,
                                          .state = SMA_DELIVERY_SENT,
                                          .is_final = part == 1});
        run(&w);
    }
    finish_row(elsewhere, SMA_DELIVERY_SENT);
    for (int life = 0; life < 2; life++) {
        struct sma_msg *row = deliver(&w);
        CHECK(row != NULL);
        CHECK_INT(2, (int)SMA_MSG_BODY(row, struct sma_deliver)->reply_count);
        CHECK(SMA_MSG_BODY(row, struct sma_deliver)->made_wall_ms > 0);
        CHECK(SMA_MSG_BODY(row, struct sma_deliver)->is_interim); /* its run goes on */
        sma_msg_destroy(row);
        if (life == 0)
            crash_world(&w);
    }
}

/* The notice of a run that is given up is made while its message is read. */
CASE(the_notice_of_a_given_up_run_knows_when_it_was_made)
{
    static const struct sma_adapter_ops counting = {
        .name = "test", .channel = "test", .replies_max = four};
    make_world(&w);
    w.adapters[0].ops = &counting;
    open_world(&w);
    (void)begin_run("a", "1");
    for (uint32_t attempt = 0; attempt < SMA_RUN_ATTEMPT_COUNT_MAX; attempt++)
        crash_world(&w);
    run(&w);
    struct sma_msg *row = deliver(&w);
    CHECK(row != NULL);
    const struct sma_deliver *body = SMA_MSG_BODY(row, struct sma_deliver);
    CHECK_INT(SMA_INTENT_NOTICE, body->intent);
    CHECK(body->made_wall_ms > 0);
    CHECK(!body->is_interim);
    sma_msg_destroy(row);
}

/* -- given back -------------------------------------------------------------------------------- */
static uint64_t commit_count(void)
{
    struct sma_state_counts counts;
    sma_state_counts(w.store->state, &counts);
    return counts.commits;
}

static uint64_t deliver_to(const char *key, const char *id, uint32_t hold_ms)
{
    const struct delivery row = {.key = key, .text = id};
    say(&w, id, id, "x");
    run(&w);
    uint64_t seq = run_seq(&w);
    done(&w, seq, "ok", &row, 1);
    run(&w);
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    uint64_t outbox_id = SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id;
    CHECK(!SMA_MSG_BODY(msg, struct sma_deliver)->is_repeat);
    sma_msg_destroy(msg);
    if (hold_ms == 0)
        return outbox_id;
    receipt(&w, &(struct sma_receipt){.outbox_id = outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_WAITING,
                                      .is_held = true,
                                      .hold_ms = hold_ms,
                                      .waited_ms = 7000});
    run(&w);
    msg = take(&w.dispatcher, SMA_MSG_RECEIPT_DONE);
    CHECK(msg != NULL);
    CHECK_INT(SMA_STEP_DURABLE, SMA_MSG_BODY(msg, struct sma_receipt_done)->verdict);
    sma_msg_destroy(msg);
    return outbox_id;
}

/* Its credit is free, its chat waits behind it, it comes again in time, and none of it is
 * written. */
CASE(what_may_not_be_attempted_yet_holds_no_credit)
{
    new_world(&w);
    uint64_t id = deliver_to("test:chat:x", "1", 20000);
    CHECK_INT(SMA_DELIVER_CREDIT_COUNT, w.store->outbox->lanes[0].credits);
    const struct delivery behind = {.key = "test:chat:x", .text = "behind"};
    say(&w, "2", "2", "x");
    run(&w);
    done(&w, run_seq(&w), "ok", &behind, 1);
    pass(&w, 10);
    CHECK(deliver(&w) == NULL);
    uint64_t commits = commit_count();
    pass(&w, 11);
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    const struct sma_deliver *again = SMA_MSG_BODY(msg, struct sma_deliver);
    CHECK(again->outbox_id == id && !again->is_repeat);
    CHECK_INT(7000, (int)again->waited_ms);
    sma_msg_destroy(msg);
    CHECK(commits == commit_count());
    CHECK(deliver(&w) == NULL);
    receipt(&w,
            &(struct sma_receipt){
                .outbox_id = id, .part_count = 1, .state = SMA_DELIVERY_SENT, .is_final = true});
    run(&w);
    CHECK_TEXT("behind", next_delivery(&w));
}

/* As one that the dispatcher held: nobody knows any more that nothing of it was on its way. */
CASE(what_was_given_back_is_repeated_after_a_crash)
{
    new_world(&w);
    uint64_t id = deliver_to("test:chat:x", "1", 20000);
    crash_world(&w);
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    CHECK(SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id == id);
    CHECK(SMA_MSG_BODY(msg, struct sma_deliver)->is_repeat);
    sma_msg_destroy(msg);
}

/* A ban of hours is named to the owner once, and no more when its time has come. */
CASE(a_long_wait_is_told_to_the_owner_once)
{
    new_world(&w);
    uint64_t id = deliver_to("test:chat:x", "1", 599 * 1000);
    CHECK(!sma_store_has_trouble(w.store, "platform limit", SMA_STR("test:chat:x")));
    (void)deliver_to("test:chat:y", "2", 3600 * 1000);
    CHECK(sma_store_has_trouble(w.store, "platform limit", SMA_STR("test:chat:y")));
    pass(&w, 600);
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id == id);
    sma_msg_destroy(msg);
    receipt(&w, &(struct sma_receipt){.outbox_id = id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_WAITING,
                                      .is_held = true,
                                      .is_platform_held = true,
                                      .hold_ms = 3600 * 1000});
    run(&w);
    sma_msg_destroy(take(&w.dispatcher, SMA_MSG_RECEIPT_DONE));
    CHECK(sma_store_has_trouble(w.store, "platform limit", SMA_STR("test")));
    pass(&w, 3601);
    CHECK(!sma_store_has_trouble(w.store, "platform limit", SMA_STR("test")));
    CHECK(!sma_store_has_trouble(w.store, "platform limit", SMA_STR("test:chat:y")));
    while ((msg = deliver(&w)) != NULL)
        sma_msg_destroy(msg);
}

/* A late file is with the dispatcher or waits for its time; what the chat is to be sent behind it
 * is handed out meanwhile, and what comes later, too. */
CASE(a_late_file_lets_its_chat_go_on)
{
    new_world(&w);
    uint64_t file = deliver_to("test:chat:x", "1", 0);
    struct sma_msg *late = sma_msg_make_late(&(struct sma_late){.outbox_id = file});
    CHECK(late != NULL);
    sma_ctx_signal(sma_system_ctx(w.system, SMA_ACTOR_DISPATCHER), SMA_ACTOR_STORE, &late);
    run(&w);
    uint64_t while_out = deliver_to("test:chat:x", "0", 0);
    receipt(&w, &(struct sma_receipt){.outbox_id = while_out,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    run(&w);
    sma_msg_destroy(take(&w.dispatcher, SMA_MSG_RECEIPT_DONE));
    receipt(&w, &(struct sma_receipt){.outbox_id = file,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_WAITING,
                                      .is_held = true,
                                      .hold_ms = 20000});
    run(&w);
    sma_msg_destroy(take(&w.dispatcher, SMA_MSG_RECEIPT_DONE));
    uint64_t words = deliver_to("test:chat:x", "2", 0); /* handed out at once */
    receipt(&w,
            &(struct sma_receipt){
                .outbox_id = words, .part_count = 1, .state = SMA_DELIVERY_SENT, .is_final = true});
    run(&w);
    sma_msg_destroy(take(&w.dispatcher, SMA_MSG_RECEIPT_DONE));
    CHECK(deliver(&w) == NULL);
    pass(&w, 21);
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id == file &&
          SMA_MSG_BODY(msg, struct sma_deliver)->is_aside);
    sma_msg_destroy(msg);
}

/* -- refused for the words --------------------------------------------------------------------- */
static void refuse(uint64_t outbox_id)
{
    receipt(&w, &(struct sma_receipt){.outbox_id = outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_FAILED,
                                      .is_content_refused = true,
                                      .is_final = true,
                                      .error = SMA_STR("forbidden words")});
    run(&w);
    sma_msg_destroy(take(&w.dispatcher, SMA_MSG_RECEIPT_DONE));
}

/* Silence would be all that the person sees. Of a text before the end the model hears. */
CASE(an_answer_refused_for_its_words_is_followed_by_a_notice)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    const struct delivery interim = {.key = "test:chat:a", .text = "not yet"},
                          last = {.key = "test:chat:a", .text = "the end"};
    step(&w, seq, 1, &interim, 1);
    run(&w);
    refuse(next_id(NULL));
    CHECK(deliver(&w) == NULL);
    done(&w, seq, "ok", &last, 1);
    run(&w);
    refuse(next_id(NULL));
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    const struct sma_deliver *notice = SMA_MSG_BODY(msg, struct sma_deliver);
    CHECK(memmem(notice->text.ptr, notice->text.len, "refuses to show its words", 25) != NULL);
    uint64_t id = notice->outbox_id;
    sma_msg_destroy(msg);
    refuse(id); /* and that is the end of it */
    CHECK(deliver(&w) == NULL);
}

/* The chat "1" itself wrote /stop: what was never attempted is over, also when it is on its way
 * back. */
CASE(stop_ends_what_was_given_back)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        new_world(&w);
        uint64_t id = deliver_to("test:chat:1", "1", 0);
        const struct sma_receipt held = {.outbox_id = id,
                                         .part_count = 1,
                                         .state = SMA_DELIVERY_WAITING,
                                         .is_held = true,
                                         .hold_ms = 20000};
        if (!is_late) {
            receipt(&w, &held);
            run(&w);
        }
        command(&w, "1", "9", SMA_CONTROL_STOP);
        run(&w);
        if (is_late) {
            receipt(&w, &held);
            run(&w);
            struct sma_msg *msg = take(&w.dispatcher, SMA_MSG_RECEIPT_DONE);
            CHECK_INT(SMA_STEP_STOPPED, SMA_MSG_BODY(msg, struct sma_receipt_done)->verdict);
            sma_msg_destroy(msg);
        }
        struct sma_msg *msg = deliver(&w); /* what /stop says */
        CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id != id);
        sma_msg_destroy(msg);
        pass(&w, 30);
        CHECK(deliver(&w) == NULL);
        CHECK_INT(SMA_DELIVER_CREDIT_COUNT - 1, w.store->outbox->lanes[0].credits);
        end_world(&w);
    }
}

CASES_MAIN
