/*
 * Aim: a delivery that cannot be read, or that nobody can deliver now, concerns its own chat; what
 *      may still be delivered by another start is kept and named.
 * Method: the store under the seeded scheduler; the test is the dispatcher, and changes rows
 * between two lives.
 */
#include "store_support.h"

#include "actors/store/outbox_priv.h"

#include <sqlite3.h>

static struct world w;
static const struct sma_adapter_ops other_adapter = {.name = "other", .channel = "other"};

static sqlite3 *open_database(void)
{
    char path[128];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/state.db", w.state_dir);
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &db));
    return db;
}

static void execute(const char *sql)
{
    sqlite3 *db = open_database();
    CHECK_INT(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
}

static int64_t number_of(const char *sql)
{
    sqlite3 *db = open_database();
    sqlite3_stmt *stmt = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL));
    CHECK_INT(SQLITE_ROW, sqlite3_step(stmt));
    int64_t number = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
    return number;
}

static void die(void)
{
    sma_sim_crash(w.system);
    close_system(&w);
}

static uint64_t begin_run(const char *chat, const char *id)
{
    say(&w, chat, id, "x");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(run_seq(&w) == seq);
    return seq;
}

static void finish_row(uint64_t outbox_id)
{
    receipt(&w, &(struct sma_receipt){.outbox_id = outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true});
    run(&w);
    struct sma_msg *msg = take(&w.dispatcher, SMA_MSG_RECEIPT_DONE);
    CHECK(msg != NULL);
    CHECK_INT(SMA_STEP_DURABLE, SMA_MSG_BODY(msg, struct sma_receipt_done)->verdict);
    sma_msg_destroy(msg);
}

/* The next DELIVER, which says this; its id. */
static uint64_t expect(const char *text)
{
    struct sma_msg *msg = deliver(&w);
    CHECK(msg != NULL);
    const struct sma_deliver *row = SMA_MSG_BODY(msg, struct sma_deliver);
    CHECK_STR(text, row->text);
    uint64_t id = row->outbox_id;
    sma_msg_destroy(msg);
    return id;
}

/* Chat a: "one" is begun, "two" and "three" wait. Chat b: "other" is begun. Then the program
 * dies. */
static uint64_t leave_rows(void)
{
    new_world(&w);
    uint64_t seq = begin_run("a", "1");
    const struct delivery rows[] = {{.key = "test:chat:a", .text = "one"},
                                    {.key = "test:chat:a", .text = "two", .call = 1},
                                    {.key = "test:chat:a", .text = "three", .call = 2},
                                    {.key = "test:chat:b", .text = "other", .call = 3}};
    step(&w, seq, 1, rows, 4);
    run(&w);
    die();
    return seq;
}

static const char *status(void)
{
    static char text[65536];
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, 16);
    SMA_MSG_BODY(msg, struct sma_query)->kind = SMA_QUERY_STATUS;
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(&w);
    msg = take(&w.api, SMA_MSG_QUERY_RESULT);
    CHECK(msg != NULL);
    struct sma_str json = SMA_MSG_BODY(msg, struct sma_query_result)->json;
    snprintf(text, sizeof text, "%.*s", (int)json.len, json.ptr);
    sma_msg_destroy(msg);
    return text;
}

AFTER_EACH(end_world(&w))

/* -- damage ------------------------------------------------------------------------------------ */
CASE(a_damaged_delivery_concerns_its_own_chat)
{
    static const char *const damages[] = {
        "UPDATE outbox SET route=x'81'||substr(route,2) WHERE text='two'",
        "UPDATE outbox SET route=substr(route,1,20) WHERE text='two'",
        "UPDATE outbox SET route=x'' WHERE text='two'",
        "UPDATE outbox SET route='text' WHERE text='two'",
        "UPDATE outbox SET intent=133 WHERE text='two'",
        "UPDATE outbox SET chat=129 WHERE text='two'",
        "UPDATE outbox SET intent=4,text='two' WHERE id&63=1",
        "UPDATE outbox SET chat=(SELECT chat FROM outbox WHERE text='other') WHERE text='two'",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(damages); i++) {
        fprintf(stderr, "   %s\n", damages[i]);
        bool is_elsewhere = strstr(damages[i], "'other'") != NULL;
        bool is_nowhere = strstr(damages[i], "129") != NULL; /* its run cannot go on, and says so */
        (void)leave_rows();
        execute(damages[i]);
        open_world(&w);
        uint64_t one = expect("one"), other = expect("other");
        uint64_t seq = run_seq(&w);
        CHECK((seq == 0) == is_nowhere);
        if (seq != 0)
            done(&w, seq, "ok", NULL, 0);
        finish_row(one);
        (void)expect("three");
        finish_row(other);
        if (is_elsewhere) /* well-formed: nothing tells that it is not b's */
            (void)expect("two");
        CHECK(is_nowhere || deliver(&w) == NULL);
        CHECK(is_elsewhere || strstr(status(), "cannot be read and was given up") != NULL);
        say(&w, "c", "9", "x"); /* anybody is answered */
        run(&w);
        CHECK(run_seq(&w) != 0);
        die();
        CHECK_INT(is_elsewhere ? 0 : 1,
                  number_of("SELECT count(*) FROM outbox WHERE state=3 AND error='damaged'"));
        open_world(&w); /* it does not come again */
        CHECK_INT(0, w.store->outbox->lost_count);
        end_world(&w);
    }
}

/* The first row of the chat, which is begun, is as bad as any other. */
CASE(a_damaged_begun_delivery_lets_the_next_go)
{
    (void)leave_rows();
    execute("UPDATE outbox SET route=x'7f' WHERE text='one'");
    open_world(&w);
    uint64_t other = 0, two = 0;
    for (int i = 0; i < 2; i++) {
        struct sma_msg *msg = deliver(&w);
        CHECK(msg != NULL);
        const struct sma_deliver *row = SMA_MSG_BODY(msg, struct sma_deliver);
        *(sma_str_is_equal(row->text, SMA_STR("two")) ? &two : &other) = row->outbox_id;
        sma_msg_destroy(msg);
    }
    CHECK(two != 0 && other != 0);
    finish_row(two);
    (void)expect("three");
}

/* While it was on its way: it was sent, and the receipt counts. */
CASE(a_receipt_counts_whatever_its_row_says_by_now)
{
    (void)leave_rows();
    open_world(&w);
    uint64_t one = expect("one"), other = expect("other");
    execute("UPDATE outbox SET route=x'7f' WHERE text='one'");
    finish_row(one);
    finish_row(other);
    (void)expect("two");
    die();
    CHECK_INT(2, number_of("SELECT count(*) FROM outbox WHERE state=2"));
    open_world(&w);
}

/* A downgrade: not damaged, and not to be destroyed. */
CASE(a_delivery_of_a_newer_version_waits_for_it)
{
    (void)leave_rows();
    execute("UPDATE outbox SET route=CAST(x'04'||substr(route,2) AS BLOB) WHERE text='two'");
    open_world(&w);
    uint64_t one = expect("one");
    (void)expect("other");
    finish_row(one);
    uint64_t three = expect("three");
    finish_row(three);
    CHECK(deliver(&w) == NULL);
    CHECK_INT(1, w.store->outbox->aside_rows);
    die();
    CHECK_INT(1, number_of("SELECT count(*) FROM outbox WHERE state=0 AND text='two'"));
    execute("UPDATE outbox SET route=CAST(x'01'||substr(CAST(route AS BLOB),2) AS BLOB) WHERE "
            "text='two'");
    open_world(&w);
    (void)expect("two");
    (void)expect("other");
}

/* -- a platform that is not configured --------------------------------------------------------- */
static uint64_t say_in_api(const char *chat, const char *id)
{
    (void)say_as(&w, API, &(struct saying){.chat = chat, .id = id, .text = "x"});
    run(&w);
    return accepted(&w.api).seq;
}

/* No model is paid for what nobody can get; everybody else is answered; when the platform is back,
 * it goes on. */
CASE(messages_of_a_missing_platform_wait_for_it)
{
    for (int is_clean = 0; is_clean < 2; is_clean++) {
        new_world(&w);
        uint64_t begun = begin_run("a", "1");
        for (const char *id = "234"; *id != '\0'; id++)
            say(&w, "b", (char[]){*id, '\0'}, "x");
        run(&w);
        if (is_clean)
            stop_world(&w);
        else
            sma_sim_crash(w.system);
        close_system(&w);
        w.adapters[0].ops = &other_adapter;
        for (int life = 0; life < 2; life++) {
            open_world(&w);
            CHECK(run_seq(&w) == 0);
            uint64_t api = say_in_api("x", life == 0 ? "p" : "q");
            CHECK(run_seq(&w) == api);
            done(&w, api, "ok", NULL, 0);
            pass(&w, 10);
            CHECK(run_seq(&w) == 0);
            CHECK_INT(0, count_kept(&w.dispatcher, SMA_MSG_DELIVER));
            CHECK(strstr(status(), "the platform \\\"test\\\" is not configured: 4 messages and "
                                   "1 deliveries wait for it") != NULL);
            CHECK(strstr(status(), "\"waitingForPlatform\":[{\"channel\":\"test\",\"messages\":4,"
                                   "\"deliveries\":1}]") != NULL); /* "next, when I am done" */
            die();
        }
        w.adapters[0].ops = &test_adapter;
        open_world(&w);
        CHECK(run_seq(&w) == begun);
        drop_kept(&w.dispatcher);
        done(&w, begun, "ok", &(struct delivery){.key = "test:chat:a", .text = "answer"}, 1);
        run(&w);
        (void)expect("answer");
        for (int i = 0; i < 3; i++)
            finish_next(&w);
        CHECK(strstr(status(), "\"waitingForPlatform\":[]") != NULL);
        end_world(&w);
    }
}

/* A card for an owner elsewhere, a notice: it is kept for the return of the platform. A tool's
 * caller hears the truth. */
CASE(deliveries_to_a_missing_platform_wait_for_it)
{
    (void)leave_rows();
    w.adapters[0].ops = &other_adapter;
    open_world(&w);
    CHECK(deliver(&w) == NULL);
    uint64_t seq = say_in_api("x", "p");
    CHECK(run_seq(&w) == seq);
    const struct delivery rows[] = {
        {.key = "test:chat:a", .text = "by a tool"},
        {.key = "test:chat:a", .text = "a card", .call = STORE_CARD_CALL}};
    step(&w, seq, 1, rows, 2);
    run(&w);
    struct sma_msg *msg = take(&w.agent, SMA_MSG_STEP_DONE);
    const struct sma_step_done *told = SMA_MSG_BODY(msg, struct sma_step_done);
    CHECK_INT(SMA_DELIVERY_FAILED, told->deliveries[0].state);
    CHECK_STR("this channel is not configured", told->deliveries[0].error);
    CHECK_INT(SMA_DELIVERY_WAITING, told->deliveries[1].state);
    sma_msg_destroy(msg);
    CHECK(strstr(status(), "\"deliveries\":5}]") != NULL);
    CHECK(strstr(status(), "\"open\":0,\"held\":0") != NULL);
    w.adapters[0].ops = &test_adapter;
    crash_world(&w);
    uint64_t one = expect("one");
    (void)expect("other");
    finish_row(one);
    finish_row(expect("two"));
    finish_row(expect("three"));
    (void)expect("a card");
}

/* Nobody waits for ever: what is older than the promise is given up, the rest stays. */
CASE(what_waited_too_long_is_given_up)
{
    (void)leave_rows();
    execute("UPDATE outbox SET made=1 WHERE text='two'");
    execute("UPDATE outbox SET made=0 WHERE text='three'");
    w.adapters[0].ops = &other_adapter;
    open_world(&w);
    CHECK_INT(3, w.store->outbox->aside_rows);
    die();
    CHECK_INT(1, number_of("SELECT count(*) FROM outbox WHERE state=3 AND text='two'"));
    open_world(&w);
    CHECK_INT(3, w.store->outbox->aside_rows);
}

CASES_MAIN
