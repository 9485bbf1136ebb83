/* Aim: every table of the state database, over restarts. Method: change, reopen, read. */
#include "runtime/chat/state_priv.h"
#include "state_support.h"
#include "turn_count.h"

#include <signal.h>
#include <sys/wait.h>

CASE(a_new_database_is_empty_and_clean)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK(sma_state_was_clean(f.state));
    CHECK_INT(1, sma_state_next_seq(f.state));
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_commit(f.state));
    struct sma_state_counts counts;
    sma_state_counts(f.state, &counts);
    CHECK_INT(0, counts.commits);
    fixture_reopen(&f, true);
}

CASE(clean_flag_tells_the_truth)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    accept_event(f.state, "c", "1", SMA_ROW_DONE);
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, true);
    CHECK(sma_state_was_clean(f.state));
    CHECK_OK(sma_state_begin(f.state));
    accept_event(f.state, "c", "2", SMA_ROW_DONE);
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, false);
    CHECK(!sma_state_was_clean(f.state));
    fixture_reopen(&f, true);
    CHECK(sma_state_was_clean(f.state));
}

static enum sma_err check_whole_row(void *user, const struct sma_state_message *message)
{
    ++*(unsigned *)user;
    CHECK_STR("telegram:chat:7", message->chat->key);
    CHECK_STR("telegram", message->chat->channel);
    CHECK_INT(SMA_ROW_WAITING, message->state);
    CHECK_INT(2, message->kind);
    CHECK_INT(3, message->attempt);
    CHECK_INT(99, message->run_seq);
    CHECK(message->body_hash == UINT64_C(0xfedcba9876543210));
    CHECK_STR("m-1", message->event_key);
    CHECK_STR("u", message->user_id);
    CHECK_INT(4, message->generation);
    CHECK_INT(123456, message->history_offset);
    CHECK_STR("line\n", message->line);
    CHECK_STR("facts", message->facts);
    return SMA_ERR_OK;
}

CASE(an_accepted_row_comes_back_whole)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    struct sma_state_chat *chat = NULL;
    CHECK_OK(sma_state_chat_open(f.state, SMA_STR("telegram:chat:7"), SMA_STR("telegram"), &chat));
    struct sma_state_message message = {
        .chat = chat,
        .kind = 2,
        .state = SMA_ROW_WAITING,
        .run_seq = 99,
        .body_hash = UINT64_C(0xfedcba9876543210),
        .event_key = SMA_STR("m-1"),
        .user_id = SMA_STR("u"),
        .generation = 4,
        .history_offset = 123456,
        .line = SMA_STR("line\n"),
        .facts = SMA_STR("facts"),
    };
    uint64_t seq = 0;
    CHECK_OK(sma_state_accept(f.state, &message, &seq));
    CHECK_INT(0, sma_state_durable_seq(f.state));
    CHECK_OK(sma_state_set_attempt(f.state, seq, 3));
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_set_attempt(f.state, 77, 3));
    CHECK_OK(sma_state_commit(f.state));
    CHECK_INT(1, sma_state_durable_seq(f.state));
    for (int round = 0; round < 2; round++) {
        unsigned count = 0;
        CHECK_OK(each_open(f.state, check_whole_row, &count));
        CHECK_OK(each_unflushed(f.state, check_whole_row, &count));
        CHECK_INT(2, count);
        struct sma_state_head head;
        chat = sma_state_chat_get(f.state, SMA_STR("telegram:chat:7"));
        CHECK_OK(sma_state_claim_find(f.state, chat->claim_id, 2, SMA_STR("m-1"), &head));
        CHECK_INT(seq, head.seq);
        CHECK_STR("u", head.user_id);
        CHECK_ERR(SMA_ERR_NOTFOUND,
                  sma_state_claim_find(f.state, chat->claim_id, 1, SMA_STR("m-1"), &head));
        CHECK_INT(2, sma_state_next_seq(f.state));
        fixture_reopen(&f, round == 0);
    }
    sma_state_set_history_flushed(f.state, seq);
    fixture_reopen(&f, true);
    CHECK_INT(seq, sma_state_history_flushed(f.state));
    unsigned count = 0;
    CHECK_OK(each_unflushed(f.state, check_whole_row, &count));
    CHECK_INT(0, count);
}

CASE(bad_rows_are_refused_without_harm)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    struct sma_state_chat *chat = NULL;
    static char big[SMA_CHAT_KEY_BYTES_MAX + 1];
    memset(big, 'x', sizeof big);
    CHECK_ERR(SMA_ERR_BADINPUT, sma_state_chat_open(f.state, SMA_STR(""), SMA_STR("t"), &chat));
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_state_chat_open(f.state, (struct sma_str){big, sizeof big}, SMA_STR("t"), &chat));
    CHECK_OK(
        sma_state_chat_open(f.state, (struct sma_str){big, sizeof big - 1}, SMA_STR("t"), &chat));
    struct sma_state_message message = message_of(chat, "", SMA_ROW_WAITING);
    uint64_t seq = 0;
    message.event_key = (struct sma_str){big, SMA_ID_BYTES_MAX + 1};
    CHECK_ERR(SMA_ERR_BADINPUT, sma_state_accept(f.state, &message, &seq));
    message.event_key.len = SMA_ID_BYTES_MAX;
    message.history_offset = SMA_STATE_NO_LINE;
    CHECK_ERR(SMA_ERR_BADINPUT, sma_state_accept(f.state, &message, &seq));
    message.line.len = 0;
    CHECK_OK(sma_state_accept(f.state, &message, &seq));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_state_step_add(f.state, seq, 0, 1, SMA_STR("x")));
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_state_step_add(f.state, seq, SMA_STATE_STEP_NUMBER_MAX + 1, 1, SMA_STR("x")));
    CHECK_OK(sma_state_step_add(f.state, seq, SMA_STATE_STEP_NUMBER_MAX, 1, SMA_STR("x")));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_state_meta_set(f.state, SMA_STR("state.clean"), SMA_STR("x")));
    CHECK_OK(sma_state_commit(f.state));
    CHECK_INT(1, sma_state_open_count(f.state));
}

CASE(an_ignored_claim_is_upgraded_and_found_open_after_a_crash)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t old = accept_event(f.state, "c", "old", SMA_ROW_IGNORED);
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, true); /* the watermark is above it now */
    CHECK_OK(sma_state_begin(f.state));
    accept_event(f.state, "c", "new", SMA_ROW_DONE);
    struct sma_state_message message = message_of(chat_named(f.state, "c"), "old", SMA_ROW_WAITING);
    message.seq = old;
    message.facts = SMA_STR("addressed");
    CHECK_OK(sma_state_upgrade(f.state, &message));
    message.seq = 1000;
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_upgrade(f.state, &message));
    CHECK_OK(sma_state_commit(f.state));
    sma_state_close(f.state, false);
    f.state = NULL;
    fixture_open(&f);
    CHECK_INT(1, sma_state_open_count(f.state));
    struct sma_state_head head;
    CHECK_OK(find_event(f.state, "c", "old", &head));
    CHECK_INT(SMA_ROW_WAITING, head.state);
    CHECK_INT(2, sma_state_claim_count(f.state));
}

static enum sma_err collect_step(void *user, uint32_t number, uint8_t kind, struct sma_str data)
{
    char *text = user;
    snprintf(text + strlen(text), 64, "%u/%u/%.*s ", number, kind, (int)data.len, data.ptr);
    return SMA_ERR_OK;
}

static enum sma_err check_result(void *user, const struct sma_state_result *result)
{
    ++*(unsigned *)user;
    CHECK_INT(1, result->outcome);
    CHECK(result->is_success);
    CHECK_INT(1234, result->wall_ms);
    CHECK_STR("out", result->output);
    CHECK_STR("[]", result->tool_calls_json);
    return SMA_ERR_OK;
}

CASE(a_run_is_steps_then_a_result)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t one = accept_event(f.state, "c", "1", SMA_ROW_WAITING),
             two = accept_event(f.state, "c", "2", SMA_ROW_WAITING);
    CHECK_OK(sma_state_step_add(f.state, one, 1, 1, SMA_STR("a")));
    CHECK_OK(sma_state_step_add(f.state, two, 1, 1, SMA_STR("other")));
    CHECK_OK(sma_state_step_add(f.state, one, 2, 2, SMA_STR("b")));
    CHECK_ERR(SMA_ERR_EXISTS, sma_state_step_add(f.state, one, 2, 3, SMA_STR("changed")));
    CHECK_OK(sma_state_set_row_state(f.state, one, SMA_ROW_RUNNING));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, false);
    char text[256] = "";
    uint32_t last = 0;
    CHECK_OK(each_step(f.state, one, collect_step, text));
    CHECK_TEXT("1/1/a 2/2/b ", text);
    CHECK_OK(sma_state_step_last(f.state, one, &last));
    CHECK_INT(2, last);
    CHECK_OK(sma_state_begin(f.state));
    struct sma_state_finish finish = {.seq = one,
                                      .state = SMA_ROW_DONE,
                                      .outcome = 1,
                                      .is_success = true,
                                      .output = SMA_STR("out"),
                                      .tool_calls_json = SMA_STR("[]"),
                                      .wall_ms = 1234};
    CHECK_OK(sma_state_finish(f.state, &finish));
    CHECK_ERR(SMA_ERR_EXISTS, sma_state_finish(f.state, &finish));
    finish.seq = 50;
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_finish(f.state, &finish));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, true);
    unsigned count = 0;
    CHECK_OK(sma_state_result_get(f.state, one, check_result, &count));
    CHECK_INT(1, count);
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_result_get(f.state, two, check_result, &count));
    CHECK_OK(sma_state_step_last(f.state, one, &last));
    CHECK_INT(0, last);
    CHECK_OK(sma_state_step_last(f.state, two, &last));
    CHECK_INT(1, last);
    CHECK_INT(1, sma_state_open_count(f.state));
}

static enum sma_err collect_turn(void *user, uint64_t seq, struct sma_str wire,
                                 struct sma_str message_id, struct sma_str turn)
{
    char *text = user;
    CHECK_STR("chat", wire);
    CHECK_STR("mid", message_id);
    snprintf(text + strlen(text), 32, "%u:%zu ", (unsigned)seq, turn.len);
    return SMA_ERR_OK;
}

static uint64_t make_turn(struct sma_state *state, const char *chat, const char *event,
                          struct sma_str turn)
{
    CHECK_OK(sma_state_begin(state));
    struct sma_state_finish finish = {.seq = accept_event(state, chat, event, SMA_ROW_WAITING),
                                      .state = SMA_ROW_DONE,
                                      .wire = SMA_STR("chat"),
                                      .turn = turn,
                                      .message_id = SMA_STR("mid")};
    CHECK_OK(sma_state_finish(state, &finish));
    CHECK_OK(sma_state_commit(state));
    return finish.seq;
}

CASE(a_session_is_rebuilt_from_the_last_turns)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    make_turn(f.state, "c", "1", SMA_STR("a"));     /* seq 1 */
    make_turn(f.state, "d", "1", SMA_STR("other")); /* seq 2 */
    make_turn(f.state, "c", "2", SMA_STR("bb"));    /* seq 3 */
    make_turn(f.state, "c", "3", SMA_STR("ccc"));   /* seq 4 */
    for (int round = 0; round < 2; round++) {
        const struct sma_state_chat *chat = sma_state_chat_get(f.state, SMA_STR("c"));
        char text[256] = "";
        CHECK_INT(3, turn_count_of(f.state, chat));
        CHECK_OK(sma_state_each_turn(f.state, chat, 100, 10, 1000, collect_turn, text));
        CHECK_TEXT("1:1 3:2 4:3 ", text);
        text[0] = '\0';
        CHECK_OK(sma_state_each_turn(f.state, chat, 4, 10, 1000, collect_turn, text));
        CHECK_TEXT("1:1 3:2 ", text);
        text[0] = '\0';
        CHECK_OK(sma_state_each_turn(f.state, chat, 100, 2, 1000, collect_turn, text));
        CHECK_TEXT("3:2 4:3 ", text);
        text[0] = '\0';
        CHECK_OK(sma_state_each_turn(f.state, chat, 100, 10, 5, collect_turn, text));
        CHECK_TEXT("3:2 4:3 ", text);
        fixture_reopen(&f, true);
    }
    CHECK_OK(sma_state_begin(f.state));
    struct sma_state_chat *chat = chat_named(f.state, "c");
    CHECK_OK(sma_state_chat_set_clear_mark(f.state, chat, 4));
    CHECK_INT(1, turn_count_of(f.state, chat));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, false);
    chat = sma_state_chat_get(f.state, SMA_STR("c"));
    CHECK_INT(1, turn_count_of(f.state, chat));
    CHECK_INT(4, chat->clear_mark);
    char text[64] = "";
    CHECK_OK(sma_state_each_turn(f.state, chat, 100, 10, 1000, collect_turn, text));
    CHECK_TEXT("4:3 ", text);
}

static int count_rows(struct sma_state *state, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(state->db, sql, -1, &stmt, NULL));
    CHECK_INT(SQLITE_ROW, sqlite3_step(stmt));
    int count = sqlite3_column_int(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return count;
}

CASE(only_the_last_turns_of_a_chat_are_kept)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    char event[16];
    for (int i = 0; i < SMA_STATE_TURN_COUNT_MAX + 400; i++) {
        snprintf(event, sizeof event, "%d", i);
        make_turn(f.state, "c", event, SMA_STR("turn"));
    }
    fixture_reopen(&f, true);
    const struct sma_state_chat *chat = sma_state_chat_get(f.state, SMA_STR("c"));
    CHECK_INT(SMA_STATE_TURN_COUNT_MAX, turn_count_of(f.state, chat));
    CHECK_INT(0, count_rows(f.state, "SELECT count(*)>4096+16 FROM turns"));
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_chat_set_clear_mark(f.state, chat_named(f.state, "c"),
                                           sma_state_next_seq(f.state)));
    CHECK_OK(sma_state_commit(f.state));
    CHECK_INT(0, count_rows(f.state, "SELECT count(*) FROM turns"));
}

/* A start reads claims and open rows: turns are a year's work and none of its business. */
CASE(a_start_does_not_look_at_turns)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    make_turn(f.state, "c", "first", SMA_STR("turn"));
    fixture_reopen(&f, true);
    for (int sql = SMA_SQL_TURN_INSERT; sql <= SMA_SQL_TURN_CLEAR; sql++)
        CHECK(f.state->statements[sql] == NULL);
    CHECK(sma_state_has_past(f.state, sma_state_chat_get(f.state, SMA_STR("c"))));
}

/* As a database of schema 5 was: without what 6 added. */
CASE(turns_of_the_version_before_are_found)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    make_turn(f.state, "c", "first", SMA_STR("turn"));
    make_turn(f.state, "d", "second", SMA_STR("turn"));
    make_turn(f.state, "c", "third", SMA_STR("turn"));
    CHECK_INT(SQLITE_OK, sqlite3_exec(f.state->db, DOWNGRADE_TO_5, NULL, NULL, NULL));
    fixture_reopen(&f, true);
    CHECK_INT(2, turn_count_of(f.state, sma_state_chat_get(f.state, SMA_STR("c"))));
    CHECK_INT(1, turn_count_of(f.state, sma_state_chat_get(f.state, SMA_STR("d"))));
    make_turn(f.state, "d", "fourth", SMA_STR("turn"));
    CHECK_INT(2, turn_count_of(f.state, sma_state_chat_get(f.state, SMA_STR("d"))));
}

static enum sma_err check_delivery(void *user, const struct sma_state_delivery *delivery)
{
    ++*(unsigned *)user;
    CHECK_STR("c", delivery->chat->key);
    CHECK_STR("telegram", delivery->channel);
    CHECK_STR("route", delivery->route);
    CHECK_STR("hello", delivery->text);
    CHECK_INT(1, delivery->state);
    CHECK_INT(2, delivery->intent);
    CHECK(delivery->is_part_begun);
    CHECK_INT(5, delivery->renderer_version);
    CHECK_INT(1, delivery->part_done_count);
    CHECK_INT(3, delivery->part_count);
    CHECK_INT(4, delivery->attempt_count);
    CHECK_STR("slow down", delivery->error);
    return SMA_ERR_OK;
}

static enum sma_err note_salt(void *user, const struct sma_state_delivery *delivery)
{
    *(uint64_t *)user = delivery->salt;
    return SMA_ERR_OK;
}

static uint64_t salt_of(struct fixture *f, uint64_t id)
{
    uint64_t salt = 0;
    CHECK_OK(sma_state_outbox_get(f->state, id, note_salt, &salt));
    return salt;
}

/* Two databases give out the same outbox ids; a platform that remembers keys must not take one for
 * the other's. */
CASE(rows_of_two_databases_have_different_salts)
{
    struct fixture f;
    uint64_t salts[2], id = 0;
    for (size_t i = 0; i < 2; i++) {
        fixture_init(&f);
        f.sys.random_bytes = sma_sys_real()->random_bytes;
        fixture_open(&f);
        CHECK_OK(sma_state_begin(f.state));
        uint64_t seq = accept_event(f.state, "c", "1", SMA_ROW_WAITING);
        struct sma_state_delivery delivery = {.outbox_id = sma_state_outbox_id(seq, 1, 0),
                                              .chat = chat_named(f.state, "c"),
                                              .channel = SMA_STR("feishu"),
                                              .text = SMA_STR("hello")};
        CHECK(i == 0 || id == delivery.outbox_id);
        id = delivery.outbox_id;
        CHECK_OK(sma_state_outbox_add(f.state, &delivery));
        CHECK_OK(sma_state_commit(f.state));
        salts[i] = salt_of(&f, id);
        CHECK(delivery.salt == salts[i]); /* the first attempt comes under the key of the others */
        CHECK_OK(sma_state_begin(f.state));
        CHECK_ERR(SMA_ERR_EXISTS, sma_state_outbox_add(f.state, &delivery));
        delivery.is_part_begun = true;
        CHECK_OK(sma_state_outbox_update(f.state, &delivery));
        CHECK_OK(sma_state_commit(f.state));
        fixture_reopen(&f, false);
        CHECK(salt_of(&f, id) == salts[i]); /* a repeat after a crash comes under the same key */
        fixture_fini(&f);
    }
    CHECK(salts[0] != 0 && salts[1] != 0 && salts[0] != salts[1]);
}

CASE(deliveries_are_idempotent_and_found_while_open)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t seq = accept_event(f.state, "c", "1", SMA_ROW_WAITING);
    uint64_t id = sma_state_outbox_id(seq, 1023, 63);
    CHECK_INT(seq, sma_state_outbox_seq(id));
    CHECK_INT(1023, sma_state_outbox_step(id));
    CHECK_INT(63, sma_state_outbox_call(id));
    struct sma_state_delivery delivery = {.outbox_id = id,
                                          .chat = chat_named(f.state, "c"),
                                          .intent = 2,
                                          .channel = SMA_STR("telegram"),
                                          .route = SMA_STR("route"),
                                          .text = SMA_STR("hello")};
    CHECK_OK(sma_state_outbox_add(f.state, &delivery));
    delivery.text = SMA_STR("other");
    CHECK_ERR(SMA_ERR_EXISTS, sma_state_outbox_add(f.state, &delivery));
    delivery.state = 1;
    delivery.is_part_begun = true;
    delivery.renderer_version = 5;
    delivery.part_done_count = 1;
    delivery.part_count = 3;
    delivery.attempt_count = 4;
    delivery.error = SMA_STR("slow down");
    CHECK_OK(sma_state_outbox_update(f.state, &delivery));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, false);
    unsigned count = 0;
    CHECK_OK(sma_state_outbox_get(f.state, id, check_delivery, &count));
    CHECK_OK(sma_state_each_delivery(f.state, seq, check_delivery, &count));
    CHECK_OK(sma_state_each_outbox_open(f.state, check_delivery, &count));
    CHECK_INT(3, count);
    CHECK_OK(sma_state_begin(f.state));
    delivery.state = 2;
    CHECK_OK(sma_state_outbox_update(f.state, &delivery));
    delivery.outbox_id = id - 1;
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_outbox_update(f.state, &delivery));
    CHECK_OK(sma_state_commit(f.state));
    CHECK_OK(sma_state_each_outbox_open(f.state, check_delivery, &count));
    CHECK_INT(3, count);
}

/* -- readers in readers ------------------------------------------------------------------------ */
struct reentry
{
    struct sma_state *state;
    uint64_t seq;
    char outer[64], inner[64];
};

static enum sma_err copy_facts(void *user, const struct sma_state_message *message)
{
    struct reentry *it = user;
    snprintf(it->inner, sizeof it->inner, "%.*s", (int)message->facts.len, message->facts.ptr);
    return SMA_ERR_OK;
}

static enum sma_err act_on_row(void *user, const struct sma_state_message *message)
{
    struct reentry *it = user;
    CHECK_OK(sma_state_set_facts(it->state, message->seq, SMA_STR("changed")));
    CHECK_OK(sma_state_message_get(it->state, message->seq, copy_facts, it));
    CHECK_OK(sma_state_message_get(it->state, it->seq, copy_facts, it));
    snprintf(it->outer, sizeof it->outer, "%.*s", (int)message->facts.len, message->facts.ptr);
    return SMA_ERR_OK;
}

CASE(a_row_is_owned_by_who_read_it)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t one = accept_event(f.state, "c", "1", SMA_ROW_WAITING);
    uint64_t two = accept_event(f.state, "c", "2", SMA_ROW_WAITING);
    CHECK_OK(sma_state_set_facts(f.state, one, SMA_STR("facts of one")));
    CHECK_OK(sma_state_set_facts(f.state, two, SMA_STR("facts of two")));
    struct reentry it = {.state = f.state, .seq = two};
    CHECK_OK(sma_state_message_get(f.state, one, act_on_row, &it));
    CHECK_TEXT("facts of one", it.outer);
    CHECK_TEXT("facts of two", it.inner);
    CHECK_OK(sma_state_commit(f.state));
}

static enum sma_err change_under_read(void *user, struct sma_str key, struct sma_str value)
{
    (void)value;
    return sma_state_access_set(user, key, SMA_STR("changed"));
}

static enum sma_err keep_pair(void *user, struct sma_str key, struct sma_str value)
{
    (void)user;
    (void)key;
    (void)value;
    return SMA_ERR_OK;
}

static enum sma_err read_in_read(void *user, struct sma_str key, struct sma_str value)
{
    (void)key;
    (void)value;
    return sma_state_each_access_under(user, SMA_STR("x/"), keep_pair, NULL);
}

/* @return the signal that ended a child which reads with this callback */
static int signal_of(struct sma_state *state, sma_state_pair_fn *each)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        signal(SIGABRT, SIG_DFL);
        (void)!sma_state_each_access_under(state, SMA_STR("x/"), each, state);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

CASE(who_acts_under_a_live_row_is_stopped)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_access_set(f.state, SMA_STR("x/k"), SMA_STR("v")));
    CHECK_INT(0, signal_of(f.state, keep_pair));
    CHECK_INT(SIGABRT, signal_of(f.state, change_under_read));
    CHECK_INT(SIGABRT, signal_of(f.state, read_in_read));
    CHECK_OK(sma_state_commit(f.state));
}

static enum sma_err collect_pair(void *user, struct sma_str key, struct sma_str value)
{
    char *text = user;
    snprintf(text + strlen(text), 64, "%.*s=%.*s ", (int)key.len, key.ptr, (int)value.len,
             value.ptr);
    return SMA_ERR_OK;
}

CASE(cursors_access_and_meta_are_kept)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    int64_t value = 0;
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_cursor_get(f.state, SMA_STR("telegram.offset"), &value));
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_cursor_set(f.state, SMA_STR("telegram.offset"), INT64_MAX));
    CHECK_OK(sma_state_cursor_set(f.state, SMA_STR("telegram.offset"), -5));
    CHECK_OK(sma_state_access_set(f.state, SMA_STR("x/b"), SMA_STR("{}")));
    CHECK_OK(sma_state_access_set(f.state, SMA_STR("x/a"), SMA_STR("1")));
    CHECK_OK(sma_state_access_set(f.state, SMA_STR("x/a"), SMA_STR("2")));
    CHECK_OK(sma_state_access_set(f.state, SMA_STR("x/x"), SMA_STR("2")));
    CHECK_OK(sma_state_access_set(f.state, SMA_STR("x/x"), SMA_STR("")));
    CHECK_OK(sma_state_meta_set(f.state, SMA_STR("import.done"), SMA_STR("yes")));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, true);
    CHECK_OK(sma_state_cursor_get(f.state, SMA_STR("telegram.offset"), &value));
    CHECK_INT(-5, value);
    char text[128] = "", small[3];
    CHECK_OK(sma_state_each_access_under(f.state, SMA_STR("x/"), collect_pair, text));
    CHECK_TEXT("x/a=2 x/b={} ", text);
    CHECK_OK(sma_state_meta_get(f.state, SMA_STR("import.done"), small, sizeof small));
    CHECK_TEXT("ye", small);
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_meta_get(f.state, SMA_STR("no"), small, sizeof small));
}

static void put_contact(struct sma_state *state, const char *channel, const char *name,
                        const char *chat, const char *message_id, int64_t wall_ms)
{
    struct sma_state_contact contact = {.channel = sma_str(channel),
                                        .user_name = sma_str(name),
                                        .chat_id = sma_str(chat),
                                        .chat_key = sma_str(chat),
                                        .message_id = sma_str(message_id),
                                        .wall_ms = wall_ms};
    CHECK_OK(sma_state_contact_put(state, &contact));
}

CASE(the_last_place_of_a_contact_wins)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    struct sma_state_contact found;
    CHECK_OK(sma_state_begin(f.state));
    put_contact(f.state, "telegram", "Ann", "1", "m1", 10);
    put_contact(f.state, "qq", "ann", "2", "m2", 20);
    put_contact(f.state, "telegram", " ANN ", "3", "m3", 30);
    put_contact(f.state, "", "ANN", "4", "m4", 40);
    CHECK_OK(sma_state_commit(f.state));
    CHECK_OK(sma_state_begin(f.state));
    put_contact(f.state, "telegram", "ANN", "3", "m5",
                50); /* only a newer message: rides on a later commit */
    CHECK_OK(sma_state_commit(f.state));
    CHECK_OK(sma_state_begin(f.state));
    put_contact(f.state, "telegram", "ANN", "9", "m6", 60);
    put_contact(f.state, "telegram", "Bob", "9", "m6", 60);
    sma_state_rollback(f.state);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(sma_state_contact_find(f.state, SMA_STR(""), SMA_STR("aNN"), &found));
        CHECK_STR("3", found.chat_id);
        CHECK_STR("m5", found.message_id);
        CHECK_INT(50, found.wall_ms);
        CHECK_OK(sma_state_contact_find(f.state, SMA_STR("qq"), SMA_STR("Ann"), &found));
        CHECK_STR("2", found.chat_id);
        CHECK_ERR(SMA_ERR_NOTFOUND,
                  sma_state_contact_find(f.state, SMA_STR("web"), SMA_STR("Ann"), &found));
        CHECK_ERR(SMA_ERR_NOTFOUND,
                  sma_state_contact_find(f.state, SMA_STR(""), SMA_STR("Bob"), &found));
        fixture_reopen(&f, true);
    }
}

CASE(chats_keep_marks_generation_and_rotation)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    for (int i = 0; i < 300; i++) { /* over the first size of the table */
        char key[32];
        snprintf(key, sizeof key, "chat-%d", i);
        CHECK_INT(i + 1, chat_named(f.state, key)->id);
    }
    struct sma_state_chat *chat = chat_named(f.state, "chat-7");
    CHECK_OK(sma_state_chat_set_stop_mark(f.state, chat, 70));
    CHECK_OK(sma_state_chat_set_stop_mark(f.state, chat, 60));
    CHECK_OK(sma_state_chat_set_rotation(f.state, chat, SMA_STR("{\"from\":1}")));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, true);
    CHECK(sma_state_chat_get(f.state, SMA_STR("chat-300")) == NULL);
    CHECK(sma_state_chat_by_id(f.state, 0) == NULL);
    CHECK(sma_state_chat_by_id(f.state, 301) == NULL);
    chat = sma_state_chat_get(f.state, SMA_STR("chat-7"));
    CHECK(chat == sma_state_chat_by_id(f.state, 8));
    CHECK_INT(70, chat->stop_mark);
    CHECK_STR("{\"from\":1}", chat->rotation);
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_chat_set_generation(f.state, chat, 3));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, true);
    chat = sma_state_chat_get(f.state, SMA_STR("chat-7"));
    CHECK_INT(3, chat->generation);
    CHECK_INT(0, chat->rotation.len);
}

CASE(two_batches_commit_one_after_the_other)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    f.is_durable = f.is_threaded = true;
    fixture_open(&f);
    char event[32];
    for (int batch = 0; batch < 2; batch++) {
        CHECK_OK(sma_state_begin(f.state));
        for (int i = 0; i < 100; i++) {
            snprintf(event, sizeof event, "%d.%d", batch, i);
            CHECK(!is_claimed(f.state, "c", event));
            accept_event(f.state, "c", event, SMA_ROW_WAITING);
            CHECK(is_claimed(f.state, "c", event)); /* also before the commit */
        }
        CHECK_OK(sma_state_commit(f.state));
        CHECK_INT((batch + 1) * 100, sma_state_durable_seq(f.state));
    }
    fixture_reopen(&f, false);
    CHECK_INT(200, sma_state_open_count(f.state));
    CHECK_INT(200, sma_state_claim_count(f.state));
}

CASES_MAIN
