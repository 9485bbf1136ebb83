/*
 * Aim: what a reader gives belongs to the caller, whatever happens to the row afterwards; a row
 * that cannot be read is that row's misfortune and nobody else's.
 * Method: read, change everything, compare; damage rows with SQL and single pages of the file.
 */
#include "runtime/chat/state_priv.h"
#include "sma/messages.h"
#include "state_support.h"

#include <fcntl.h>

static void execute(struct fixture *f, const char *sql)
{
    CHECK_INT(SQLITE_OK, sqlite3_exec(f->state->db, sql, NULL, NULL, NULL));
}

static void add_delivery(struct fixture *f, uint64_t seq, uint32_t call, const char *text)
{
    struct sma_state_delivery delivery = {.outbox_id = sma_state_outbox_id(seq, 1, call),
                                          .chat = chat_named(f->state, "c"),
                                          .channel = SMA_STR("test"),
                                          .route = SMA_STR("route"),
                                          .text = sma_str(text),
                                          .made_ms = 5};
    CHECK_OK(sma_state_outbox_add(f->state, &delivery));
}

CASE(a_copy_outlives_its_row)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t seq = accept_event(f.state, "c", "first", SMA_ROW_WAITING);
    add_delivery(&f, seq, 0, "one");
    struct sma_state_rows rows = {0};
    struct sma_state_message message, again;
    struct sma_state_delivery delivery;
    CHECK_OK(sma_state_message_read(f.state, seq, &rows, &message));
    CHECK_OK(sma_state_delivery_read(f.state, sma_state_outbox_id(seq, 1, 0), &rows, &delivery));
    CHECK_OK(sma_state_set_facts(f.state, seq, SMA_STR("other facts, much longer than before")));
    CHECK_OK(sma_state_message_read(f.state, seq, &rows, &again));
    execute(&f, "DELETE FROM messages");
    execute(&f, "DELETE FROM outbox");
    CHECK_STR("first", message.event_key);
    CHECK_STR("user-1", message.user_id);
    CHECK_STR("{\"v\":1}\n", message.line);
    CHECK_STR("facts", message.facts);
    CHECK_INT(SMA_ROW_WAITING, message.state);
    CHECK_STR("other facts, much longer than before", again.facts);
    CHECK_STR("one", delivery.text);
    CHECK_STR("route", delivery.route);
    CHECK_INT(5, delivery.made_ms);
    CHECK(delivery.salt != 0);
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_message_read(f.state, seq, &rows, &message));
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_delivery_read(f.state, 3, &rows, &delivery));
    sma_state_rows_free(&rows);
    CHECK_OK(sma_state_commit(f.state));
}

static enum sma_err check_result(void *user, const struct sma_state_result *result)
{
    (void)user;
    CHECK_STR("output", result->output);
    CHECK_INT(7, result->usage->input);
    CHECK_INT(2, result->outcome);
    return SMA_ERR_OK;
}

CASE(a_run_is_read_whole)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t seq = accept_event(f.state, "c", "first", SMA_ROW_WAITING);
    uint64_t next = accept_event(f.state, "c", "second", SMA_ROW_WAITING);
    char data[16], text[16];
    for (uint32_t i = 1; i <= 40; i++) {
        snprintf(data, sizeof data, "step %u", i);
        CHECK_OK(sma_state_step_add(f.state, seq, i, (uint8_t)(i % 3), sma_str(data)));
        add_delivery(&f, seq, i, data);
    }
    CHECK_OK(sma_state_step_add(f.state, next, 1, 1, SMA_STR("of another run")));
    add_delivery(&f, next, 0, "of another run");
    struct sma_state_rows rows = {0};
    struct sma_state_steps steps;
    struct sma_state_deliveries deliveries;
    CHECK_OK(sma_state_steps_read(f.state, seq, &rows, &steps));
    CHECK_OK(sma_state_deliveries_read(f.state, seq, &rows, &deliveries));
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_result_get(f.state, seq, check_result, NULL));
    const struct sma_usage usage = {.request_count = 2, .input = 7};
    CHECK_OK(sma_state_finish(f.state, &(struct sma_state_finish){.seq = seq,
                                                                  .state = SMA_ROW_DONE,
                                                                  .outcome = 2,
                                                                  .is_success = true,
                                                                  .output = SMA_STR("output"),
                                                                  .tool_calls_json = SMA_STR("[]"),
                                                                  .usage = &usage}));
    CHECK_INT(40, steps.count);
    CHECK_INT(40, deliveries.count);
    for (uint32_t i = 1; i <= 40; i++) {
        snprintf(text, sizeof text, "step %u", i);
        CHECK_INT(i, steps.items[i - 1].number);
        CHECK_INT(i % 3, steps.items[i - 1].kind);
        CHECK_STR(text, steps.items[i - 1].data);
        CHECK_INT(i, sma_state_outbox_call(deliveries.items[i - 1].outbox_id));
        CHECK_STR(text, deliveries.items[i - 1].text);
    }
    CHECK_OK(sma_state_result_get(f.state, seq, check_result, NULL));
    CHECK_OK(sma_state_steps_read(f.state, seq, &rows, &steps));
    CHECK_INT(0, steps.count);
    sma_state_rows_free(&rows);
    CHECK_OK(sma_state_commit(f.state));
}

CASE(open_rows_and_lines_come_one_after_the_other)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    for (int i = 0; i < 6; i++) {
        char event[8];
        snprintf(event, sizeof event, "%d", i);
        accept_event(f.state, "c", event, i % 2 == 0 ? SMA_ROW_WAITING : SMA_ROW_DONE);
    }
    struct sma_state_message no_line = {.chat = chat_named(f.state, "c"),
                                        .state = SMA_ROW_DONE,
                                        .event_key = SMA_STR("no line"),
                                        .history_offset = SMA_STATE_NO_LINE};
    uint64_t seq;
    CHECK_OK(sma_state_accept(f.state, &no_line, &seq));
    accept_event(f.state, "c", "last", SMA_ROW_DONE);
    execute(&f, "UPDATE messages SET chat=99 WHERE seq=5");
    CHECK_INT(1, sma_state_open_next(f.state, 0));
    CHECK_INT(3, sma_state_open_next(f.state, 1));
    CHECK_INT(5, sma_state_open_next(f.state, 3));
    CHECK_OK(sma_state_set_row_state(f.state, 3, SMA_ROW_FAILED)); /* a walk may act */
    CHECK_INT(5, sma_state_open_next(f.state, 1));
    CHECK_INT(0, sma_state_open_next(f.state, 5));
    sma_state_set_history_flushed(f.state, 3);
    struct sma_state_rows rows = {0};
    struct sma_state_message message;
    CHECK_OK(
        sma_state_unflushed_next(f.state, sma_state_history_flushed(f.state), &rows, &message));
    CHECK_INT(4, message.seq);
    CHECK_ERR(SMA_ERR_CORRUPT, sma_state_unflushed_next(f.state, 4, &rows, &message));
    CHECK_INT(5, message.seq); /* whose line it is */
    CHECK_OK(sma_state_unflushed_next(f.state, 5, &rows, &message));
    CHECK_INT(6, message.seq);
    CHECK_OK(sma_state_unflushed_next(f.state, 6, &rows, &message));
    CHECK_INT(8, message.seq); /* 7 has no line */
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_unflushed_next(f.state, 8, &rows, &message));
    sma_state_rows_free(&rows);
    CHECK_OK(sma_state_commit(f.state));
}

CASE(open_deliveries_are_listed_and_damaged_ones_ended)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    for (uint64_t seq = 1; seq <= 300; seq++)
        add_delivery(&f, seq, 0, "text");
    execute(&f, "UPDATE outbox SET state=2 WHERE id>>16=2");
    execute(&f, "UPDATE outbox SET state=1 WHERE id>>16=3");
    execute(&f, "UPDATE outbox SET chat=99 WHERE id>>16=4");
    struct sma_state_rows rows = {0};
    struct sma_state_ids ids;
    struct sma_state_delivery delivery;
    struct sma_state_deliveries list;
    CHECK_OK(sma_state_outbox_open_read(f.state, &rows, &ids));
    CHECK_INT(299, ids.count);
    for (size_t i = 0; i < ids.count; i++)
        CHECK_INT(i + 1 + (i > 0), sma_state_outbox_seq(ids.items[i]));
    uint64_t bad = sma_state_outbox_id(4, 1, 0);
    CHECK_ERR(SMA_ERR_CORRUPT, sma_state_delivery_read(f.state, bad, &rows, &delivery));
    CHECK_ERR(SMA_ERR_CORRUPT, sma_state_deliveries_read(f.state, 4, &rows, &list));
    CHECK_OK(sma_state_outbox_fail(f.state, bad, SMA_STR("cannot be read"), 77));
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_outbox_fail(f.state, 1, SMA_STR("no such row"), 77));
    CHECK_OK(sma_state_outbox_open_read(f.state, &rows, &ids));
    CHECK_INT(298, ids.count);
    sma_state_rows_free(&rows);
    CHECK_OK(sma_state_commit(f.state));
    execute(&f, "UPDATE outbox SET chat=1 WHERE id>>16=4");
    CHECK_OK(sma_state_delivery_read(f.state, bad, &rows, &delivery));
    CHECK_INT(SMA_DELIVERY_FAILED, delivery.state);
    CHECK_STR("cannot be read", delivery.error);
    CHECK_INT(77, delivery.ended_ms);
    sma_state_rows_free(&rows);
}

CASE(requests_are_found_by_the_beginning_of_their_id)
{
    static const char *const names[] = {"aabb00", "aabb11", "aacc00"};
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    for (size_t i = 0; i < 3; i++)
        CHECK_OK(sma_state_approval_add(
            f.state, &(struct sma_state_approval){.id = sma_str(names[i]),
                                                  .run_seq = 9 - i,
                                                  .chat = chat_named(f.state, "c"),
                                                  .step = 3,
                                                  .request = SMA_STR("request")}));
    struct sma_state_rows rows = {0};
    struct sma_str ids[2];
    uint32_t count = 0;
    CHECK_OK(sma_state_approval_ids(f.state, SMA_STR("aac"), &rows, ids, &count));
    CHECK_INT(1, count);
    CHECK_STR("aacc00", ids[0]);
    CHECK_OK(sma_state_approval_ids(f.state, SMA_STR("aa"), &rows, ids, &count));
    CHECK_INT(2, count);
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_approval_ids(f.state, SMA_STR("b"), &rows, ids, &count));
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_approval_ids(f.state, SMA_STR(""), &rows, ids, &count));
    struct sma_state_approval approval;
    CHECK_OK(sma_state_approval_read(f.state, SMA_STR("aabb11"), &rows, &approval));
    CHECK_STR("request", approval.request);
    CHECK_INT(8, approval.run_seq);
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_approval_read(f.state, SMA_STR("aa"), &rows, &approval));
    approval.state = SMA_STATE_APPROVAL_DECIDED;
    CHECK_OK(sma_state_approval_update(f.state, &approval));
    execute(&f, "UPDATE approvals SET chat=99 WHERE id='aabb00'");
    struct sma_state_asked_list list;
    CHECK_OK(sma_state_asked_read(f.state, &rows, &list));
    CHECK_INT(2, list.count);
    CHECK_STR("aacc00", list.items[0].id); /* the oldest run */
    CHECK_STR("aabb00", list.items[1].id);
    CHECK_ERR(SMA_ERR_CORRUPT,
              sma_state_approval_read(f.state, list.items[1].id, &rows, &approval));
    CHECK_OK(sma_state_approval_read(f.state, list.items[0].id, &rows, &approval));
    sma_state_rows_free(&rows);
    CHECK_OK(sma_state_commit(f.state));
}

CASE(turns_are_read_within_bounds)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    for (int i = 0; i < 5; i++) {
        char event[8];
        snprintf(event, sizeof event, "%d", i);
        struct sma_state_finish finish = {.seq = accept_event(f.state, "c", event, SMA_ROW_WAITING),
                                          .state = SMA_ROW_DONE,
                                          .wire = SMA_STR("wire"),
                                          .message_id = sma_str(event),
                                          .turn = SMA_STR("four")};
        CHECK_OK(sma_state_finish(f.state, &finish));
    }
    struct sma_state_rows rows = {0};
    struct sma_state_turns turns;
    struct sma_state_turns_wanted wanted = {
        .chat = chat_named(f.state, "c"), .before_seq = 5, .bytes_max = 100, .turns_max = 10};
    CHECK_OK(sma_state_turns_read(f.state, &wanted, &rows, &turns));
    CHECK_INT(4, turns.count);
    CHECK_INT(1, turns.items[0].seq);
    CHECK_STR("wire", turns.items[3].wire);
    CHECK_STR("3", turns.items[3].message_id);
    CHECK_STR("four", turns.items[3].turn);
    wanted.bytes_max = 11;
    CHECK_OK(sma_state_turns_read(f.state, &wanted, &rows, &turns));
    CHECK_INT(2, turns.count);
    CHECK_INT(3, turns.items[0].seq);
    wanted.turns_max = 1;
    CHECK_OK(sma_state_turns_read(f.state, &wanted, &rows, &turns));
    CHECK_INT(1, turns.count);
    CHECK_INT(4, turns.items[0].seq);
    wanted.turns_max = 0;
    CHECK_OK(sma_state_turns_read(f.state, &wanted, &rows, &turns));
    CHECK_INT(0, turns.count);
    sma_state_rows_free(&rows);
    CHECK_OK(sma_state_commit(f.state));
}

/* Where a page of nothing but 'x' goes on is no page. */
static void break_overflow_page(const struct fixture *f)
{
    char page[SMA_STATE_PAGE_BYTES], full[SMA_STATE_PAGE_BYTES - 4];
    memset(full, 'x', sizeof full);
    int fd = open(f->path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    off_t at = 0;
    bool is_found = false;
    for (; !is_found && pread(fd, page, sizeof page, at) == (ssize_t)sizeof page;
         at += SMA_STATE_PAGE_BYTES)
        is_found = memcmp(page + 4, full, sizeof full) == 0;
    CHECK(is_found);
    CHECK_INT(4, pwrite(fd, "\xff\xff\xff\xff", 4, at - SMA_STATE_PAGE_BYTES));
    close(fd);
}

CASE(a_row_of_a_bad_page_stops_nobody_else)
{
    static char big[30000];
    memset(big, 'x', sizeof big);
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t good = accept_event(f.state, "c", "first", SMA_ROW_WAITING);
    uint64_t bad = accept_event(f.state, "c", "second", SMA_ROW_WAITING);
    CHECK_OK(sma_state_set_facts(f.state, bad, (struct sma_str){big, sizeof big}));
    CHECK_OK(sma_state_commit(f.state));
    execute(&f, "PRAGMA wal_checkpoint(TRUNCATE)");
    sma_state_close(f.state, true);
    break_overflow_page(&f);
    fixture_open(&f);
    struct sma_state_rows rows = {0};
    struct sma_state_message message;
    CHECK_OK(sma_state_begin(f.state));
    CHECK_ERR(SMA_ERR_CORRUPT, sma_state_message_read(f.state, bad, &rows, &message));
    CHECK(!sma_state_is_fatal(f.state));
    CHECK(strstr(sma_state_error(f.state)->text, "damaged") != NULL);
    CHECK_OK(sma_state_message_read(f.state, good, &rows, &message));
    CHECK_OK(sma_state_set_row_state(f.state, good, SMA_ROW_DONE));
    CHECK_OK(sma_state_commit(f.state));
    sma_state_rows_free(&rows);
}

CASES_MAIN
