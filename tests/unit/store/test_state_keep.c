/*
 * Aim: what is old leaves in slices and what is needed stays; sizes say about what there is; a
 * compacted file is smaller and whole, whenever the process dies.
 * Method: a clock of the test's own; tables filled by the library and by SQL; death before each
 * step on the disk.
 */
#include "runtime/chat/state_priv.h"
#include "state_support.h"
#include "turn_count.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define HOUR INT64_C(3600000)

static int64_t wall_now;
static int64_t test_wall(void *self)
{
    (void)self;
    return wall_now;
}

static void start(struct fixture *f)
{
    fixture_init(f);
    wall_now = 500000 * HOUR;
    f->sys.wall_ms = test_wall;
    fixture_open(f);
}

static void execute(struct fixture *f, const char *sql)
{
    CHECK_INT(SQLITE_OK, sqlite3_exec(f->state->db, sql, NULL, NULL, NULL));
}

static long long number_of(struct fixture *f, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(f->state->db, sql, -1, &stmt, NULL));
    CHECK_INT(SQLITE_ROW, sqlite3_step(stmt));
    long long number = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return number;
}

/* A message that was answered. */
static uint64_t answer(struct fixture *f, const char *chat, struct sma_str output)
{
    static int count;
    char event[24];
    snprintf(event, sizeof event, "event %d", count++);
    uint64_t seq = accept_event(f->state, chat, event, SMA_ROW_WAITING);
    CHECK_OK(sma_state_finish(f->state, &(struct sma_state_finish){.seq = seq,
                                                                   .state = SMA_ROW_DONE,
                                                                   .output = output,
                                                                   .turn = SMA_STR("turn")}));
    struct sma_state_delivery delivery = {.outbox_id = sma_state_outbox_id(seq, 1, 0),
                                          .chat = chat_named(f->state, chat),
                                          .channel = SMA_STR("test"),
                                          .text = output};
    CHECK_OK(sma_state_outbox_add(f->state, &delivery));
    return seq;
}

static void answer_many(struct fixture *f, const char *chat, int count)
{
    CHECK_OK(sma_state_begin(f->state));
    for (int i = 0; i < count; i++)
        answer(f, chat, SMA_STR("an answer of some length"));
    CHECK_OK(sma_state_commit(f->state));
}

static uint64_t seq_of_age(struct fixture *f, int64_t age_ms)
{
    uint64_t seq = 99;
    CHECK_OK(sma_state_seq_of_age(f->state, wall_now, age_ms, &seq));
    return seq;
}

CASE(the_age_of_a_row_is_known_by_the_hour)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    start(&f);
    CHECK_INT(0, seq_of_age(&f, 0)); /* nothing is known of anything */
    for (int hour = 0; hour < 10; hour++, wall_now += HOUR)
        answer_many(&f, "c", 3);
    CHECK_INT(31, seq_of_age(&f, 0));
    CHECK_INT(28, seq_of_age(&f, HOUR)); /* 1 to 27 are older than an hour */
    CHECK_INT(4, seq_of_age(&f, 9 * HOUR));
    CHECK_INT(1, seq_of_age(&f, 10 * HOUR));
    CHECK_INT(1, seq_of_age(&f, 1000 * HOUR));
    fixture_reopen(&f, true);
    answer_many(&f, "c", 1);
    CHECK_INT(28, seq_of_age(&f, HOUR));
    CHECK_OK(sma_state_begin(f.state)); /* an hour that is undone is noted with the next row */
    wall_now += HOUR;
    answer(&f, "c", SMA_STR("x"));
    sma_state_rollback(f.state);
    answer_many(&f, "c", 2);
    CHECK_INT(32, seq_of_age(&f, 0));
    wall_now += 401 * 24 * HOUR;
    answer_many(&f, "c", 1);
    CHECK_INT(1, number_of(&f, "SELECT count(*) FROM hours"));
}

typedef enum sma_err slice_fn(struct sma_state *state, uint64_t before_seq, uint32_t rows_max,
                              uint32_t *ret_removed);

/* Slices of 7 rows, each in a commit of its own. @return how many commits */
static int let_go(struct fixture *f, slice_fn *slice, uint64_t before_seq)
{
    int commits = 0;
    for (uint32_t removed = 7; removed == 7; commits++) {
        CHECK_OK(sma_state_begin(f->state));
        CHECK_OK(slice(f->state, before_seq, 7, &removed));
        CHECK(removed <= 7);
        CHECK_OK(sma_state_commit(f->state));
    }
    return commits;
}

CASE(old_turns_go_in_slices)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    start(&f);
    answer_many(&f, "a", 20);
    answer_many(&f, "b", 20);
    CHECK_INT(4, let_go(&f, sma_state_keep_turns, 26)); /* 25 rows: 7, 7, 7, 4 */
    CHECK_INT(15, number_of(&f, "SELECT count(*) FROM turns"));
    CHECK_INT(26, number_of(&f, "SELECT min(seq) FROM turns"));
    CHECK(!sma_state_has_past(f.state, chat_named(f.state, "a")));
    CHECK_INT(15, turn_count_of(f.state, chat_named(f.state, "b")));
}

CASE(deliveries_that_wait_stay)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    start(&f);
    answer_many(&f, "a", 30);
    execute(&f, "UPDATE outbox SET state=2 WHERE (id>>16)%3<>0");
    CHECK_INT(3, let_go(&f, sma_state_keep_deliveries, 28)); /* 18 of 27 */
    CHECK_INT(12, number_of(&f, "SELECT count(*) FROM outbox"));
    CHECK_INT(0, number_of(&f, "SELECT count(*) FROM outbox WHERE id>>16<28 AND state>1"));
    CHECK_INT(10, number_of(&f, "SELECT count(*) FROM outbox WHERE state<=1"));
}

static enum sma_err results_by_age(struct sma_state *state, uint64_t before_seq, uint32_t rows_max,
                                   uint32_t *ret_removed)
{
    return sma_state_keep_results(state, before_seq, UINT64_MAX, rows_max, ret_removed);
}
static uint64_t bytes_max;
static enum sma_err results_by_bytes(struct sma_state *state, uint64_t before_seq,
                                     uint32_t rows_max, uint32_t *ret_removed)
{
    return sma_state_keep_results(state, before_seq, bytes_max, rows_max, ret_removed);
}

static uint64_t result_bytes(struct fixture *f)
{
    struct sma_state_sizes sizes;
    CHECK_OK(sma_state_sizes(f->state, &sizes));
    return sizes.result_bytes;
}

CASE(results_go_by_age_and_by_bytes)
{
    static char big[1000 - 64];
    memset(big, 'x', sizeof big);
    SMA_AUTO(fixture_fini) struct fixture f;
    start(&f);
    for (int i = 0; i < 10; i++) {
        CHECK_OK(sma_state_begin(f.state));
        for (int j = 0; j < 5; j++)
            answer(&f, "a", (struct sma_str){big, sizeof big});
        if (i == 4) { /* what is undone is not counted */
            sma_state_rollback(f.state);
            continue;
        }
        CHECK_OK(sma_state_savepoint(f.state));
        answer(&f, "a", (struct sma_str){big, sizeof big});
        CHECK_OK(sma_state_savepoint_back(f.state));
        CHECK_OK(sma_state_commit(f.state));
        if (i == 6)
            fixture_reopen(&f, false);
    }
    CHECK_INT(45000, result_bytes(&f));
    CHECK_INT(2, let_go(&f, results_by_age, 11));
    CHECK_INT(11, number_of(&f, "SELECT min(seq) FROM runs"));
    CHECK_INT(35000, result_bytes(&f));
    bytes_max = 12500;
    CHECK_INT(4, let_go(&f, results_by_bytes, 0));
    CHECK_INT(12, number_of(&f, "SELECT count(*) FROM runs"));
    CHECK_INT(12000, result_bytes(&f));
    CHECK_INT(1, let_go(&f, results_by_bytes, 0));
    bytes_max = 0; /* even so the claim stays */
    CHECK_INT(2, let_go(&f, results_by_bytes, 0));
    CHECK_INT(0, number_of(&f, "SELECT count(*) FROM runs"));
    CHECK_INT(0, result_bytes(&f));
    CHECK_INT(45, sma_state_claim_count(f.state));
}

/* Their bytes are in no sum: not to be told as if they were, and the first to go. */
CASE(results_of_the_version_before_go_first)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    start(&f);
    answer_many(&f, "a", 10);
    execute(&f, "UPDATE runs SET total=0");
    fixture_reopen(&f, true);
    answer_many(&f, "a", 10);
    CHECK_INT(10 * (24 + 64), result_bytes(&f));
    bytes_max = 1000;
    CHECK_INT(1, let_go(&f, results_by_bytes, 0));
    CHECK_INT(20, number_of(&f, "SELECT count(*) FROM runs"));
    bytes_max = 800;
    CHECK_INT(2, let_go(&f, results_by_bytes, 0)); /* ten of before, and one */
    CHECK_INT(9, number_of(&f, "SELECT count(*) FROM runs"));
}

CASE(lines_go_when_their_file_is_safe)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    start(&f);
    answer_many(&f, "a", 12);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t open = accept_event(f.state, "a", "open", SMA_ROW_WAITING);
    CHECK_OK(sma_state_commit(f.state));
    answer_many(&f, "b", 5);
    answer_many(&f, "a", 12);
    execute(&f, "INSERT INTO asides VALUES(2,16)"); /* lines of b from 16 on wait */
    sma_state_set_history_flushed(f.state, 28);
    CHECK_INT(5, let_go(&f, sma_state_keep_messages, 1000)); /* 28 rows are looked at */
    CHECK_INT(
        0, number_of(&f, "SELECT count(*) FROM messages WHERE seq<=15 AND facts<>'' AND seq<>13"));
    CHECK_INT(1, number_of(&f, "SELECT facts<>'' AND line<>'' FROM messages WHERE seq=13"));
    CHECK_INT(3, number_of(&f, "SELECT count(*) FROM messages WHERE chat=2 AND line<>''"));
    CHECK_INT(2, number_of(&f, "SELECT count(*) FROM messages WHERE seq>28 AND line<>''"));
    CHECK_INT(13, open);
    fixture_reopen(&f, true);
    struct sma_state_rows rows = {0};
    struct sma_state_message message;
    CHECK_OK(sma_state_message_read(f.state, 3, &rows, &message));
    CHECK_INT(0, message.line.len + message.facts.len);
    CHECK_INT(0, message.history_offset); /* its place is known still */
    sma_state_rows_free(&rows);
    CHECK(is_claimed(f.state, "a", "open"));
    CHECK_INT(30, sma_state_claim_count(f.state));
    CHECK_INT(1, let_go(&f, sma_state_keep_messages, 1000)); /* it knows how far it was */
}

static enum sma_err approvals(struct sma_state *state, uint64_t before, uint32_t rows_max,
                              uint32_t *ret_removed)
{
    return sma_state_keep_approvals(state, (int64_t)before, rows_max, ret_removed);
}
static enum sma_err usage(struct sma_state *state, uint64_t before, uint32_t rows_max,
                          uint32_t *ret_removed)
{
    return sma_state_keep_usage(state, (int64_t)before, rows_max, ret_removed);
}

CASE(requests_and_sums_go_by_their_time)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    start(&f);
    execute(&f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<40)"
                "INSERT INTO approvals SELECT 'id'||i,i,1,i%2,1,1,1,i,'','' FROM n;");
    execute(&f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<40)"
                "INSERT INTO usage SELECT i/2,i,'p','p','t',1,1,1,1,1,1,1 FROM n");
    CHECK_INT(3, let_go(&f, approvals, 31)); /* 15 decided ones */
    CHECK_INT(25, number_of(&f, "SELECT count(*) FROM approvals"));
    CHECK_INT(20, number_of(&f, "SELECT count(*) FROM approvals WHERE state=0"));
    CHECK_INT(3, let_go(&f, usage, 8)); /* 15 rows of days 0 to 7 */
    CHECK_INT(25, number_of(&f, "SELECT count(*) FROM usage"));
    CHECK_INT(8, number_of(&f, "SELECT min(day) FROM usage"));
}

static void check_near(uint64_t expected, uint64_t found)
{
    CHECK(found * 10 >= expected * 8 && found * 10 <= expected * 12);
}

CASE(sizes_are_about_true)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct sma_state_sizes sizes;
    start(&f);
    CHECK_OK(sma_state_sizes(f.state, &sizes));
    CHECK_INT(0, sizes.messages.rows);
    for (int i = 0; i < 100; i++) {
        char chat[16];
        snprintf(chat, sizeof chat, "chat %d", i % 50);
        answer_many(&f, chat, 100);
    }
    CHECK_OK(sma_state_sizes(f.state, &sizes));
    check_near(10000, sizes.messages.rows);
    check_near(10000, sizes.results.rows);
    check_near(10000, sizes.deliveries.rows);
    check_near((uint64_t)number_of(&f, "SELECT sum(length(event)+length(person)+length(line)+"
                                       "length(facts)+32) FROM messages"),
               sizes.messages.bytes);
    CHECK_INT(10000 * (24 + 64), sizes.result_bytes);
    CHECK(sizes.file_bytes > 1000000 && sizes.wal_bytes > 0);
    CHECK_INT(0, sizes.free_bytes);
    execute(&f, "DELETE FROM runs");
    CHECK_OK(sma_state_sizes(f.state, &sizes));
    CHECK(sizes.free_bytes > 100000);
}

/* -- compacting -------------------------------------------------------------------------------- */
static void fill_and_empty(struct fixture *f)
{
    start(f);
    for (int i = 0; i < 20; i++)
        answer_many(f, "c", 100);
    let_go(f, sma_state_keep_deliveries, 0);
    execute(f, "UPDATE outbox SET state=2");
    execute(f, "DELETE FROM runs WHERE seq<1900");
    sma_state_close(f->state, true);
    f->state = NULL;
}

static void check_filled(struct fixture *f)
{
    fixture_open(f);
    CHECK_INT(2000, sma_state_claim_count(f->state));
    CHECK_INT(101, number_of(f, "SELECT count(*) FROM runs"));
    CHECK_INT(2000, turn_count_of(f->state, chat_named(f->state, "c")));
    CHECK_INT(1, number_of(f, "SELECT integrity_check='ok' FROM pragma_integrity_check"));
    answer_many(f, "c", 3);
    sma_state_close(f->state, true);
    f->state = NULL;
}

CASE(a_compacted_file_is_smaller_and_whole)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct sma_state_compacted result;
    struct sma_error error = {0};
    fill_and_empty(&f);
    struct stat before, after;
    CHECK_INT(0, stat(f.path, &before));
    CHECK_OK(sma_state_compact(f.path, &result, &error));
    CHECK_INT(0, stat(f.path, &after));
    CHECK(after.st_size < before.st_size);
    CHECK_INT(after.st_size, result.bytes_after);
    CHECK(result.bytes_before > result.bytes_after);
    CHECK_INT(0600, after.st_mode & 0777);
    char copy[200];
    snprintf(copy, sizeof copy, "%s.compact", f.path);
    CHECK(access(copy, F_OK) != 0);
    check_filled(&f);
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_compact("/nowhere/state.db", &result, &error));
}

/* Somebody keeps state.db on another disk: that file is made smaller, the link stays one. */
CASE(a_link_is_compacted_where_it_leads)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct sma_state_compacted result;
    struct sma_error error = {0};
    fill_and_empty(&f);
    char link[200];
    struct stat before, after;
    snprintf(link, sizeof link, "%s.link", f.path);
    CHECK_INT(0, stat(f.path, &before));
    CHECK_INT(0, symlink(f.path, link));
    CHECK_OK(sma_state_compact(link, &result, &error));
    CHECK(lstat(link, &after) == 0 && S_ISLNK(after.st_mode));
    CHECK_INT(0, stat(f.path, &after));
    CHECK(after.st_size < before.st_size && result.bytes_after == (uint64_t)after.st_size);
    CHECK_INT(0, unlink(link));
    check_filled(&f);
}

/* One of 4096-byte pages, as versions before made it, is used as it is and gets today's by
 * compacting. */
CASE(pages_of_the_version_before_are_kept_until_compacted)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct sma_state_compacted result;
    struct sma_error error = {0};
    fill_and_empty(&f);
    sqlite3 *db = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_open(f.path, &db));
    CHECK_INT(SQLITE_OK, sqlite3_exec(db,
                                      "PRAGMA journal_mode=DELETE; PRAGMA page_size=4096; VACUUM;"
                                      "PRAGMA journal_mode=WAL",
                                      NULL, NULL, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
    fixture_open(&f);
    CHECK_INT(4096, number_of(&f, "PRAGMA page_size"));
    CHECK_INT(256 * 1024 / (4096 + 24), f.state->wal_frames_grown);
    sma_state_close(f.state, true);
    CHECK_OK(sma_state_compact(f.path, &result, &error));
    fixture_open(&f);
    CHECK_INT(SMA_STATE_PAGE_BYTES, number_of(&f, "PRAGMA page_size"));
    CHECK_INT(256 * 1024 / (SMA_STATE_PAGE_BYTES + 24), f.state->wal_frames_grown);
    sma_state_close(f.state, true);
    f.state = NULL;
    check_filled(&f);
}

static unsigned long long written_bytes(void)
{
    char line[128];
    unsigned long long bytes = 0;
    FILE *io = fopen("/proc/self/io", "re");
    while (io != NULL && fgets(line, sizeof line, io) != NULL)
        if (strncmp(line, "write_bytes:", 12) == 0)
            bytes = strtoull(line + 12, NULL, 10);
    if (io != NULL)
        fclose(io);
    return bytes;
}

/* What the disk is given, as the kernel counts it; a file system in memory counts nothing. */
CASE(a_small_commit_writes_little)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    setenv("TMPDIR", "/tmp", 0);
    fixture_init(&f);
    f.is_durable = true;
    fixture_open(&f);
    answer_many(&f, "c", 20);
    unsigned long long before = written_bytes();
    for (int i = 0; i < 50; i++)
        answer_many(&f, "c", 1);
    unsigned long long each = (written_bytes() - before) / 50;
    fprintf(stderr, "   %llu bytes a commit of a whole turn\n", each);
    CHECK(each < 20000);
}

CASE(a_file_in_use_is_not_compacted)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct sma_state_compacted result;
    struct sma_error error = {0};
    start(&f);
    answer_many(&f, "c", 3);
    CHECK_ERR(SMA_ERR_BUSY, sma_state_compact(f.path, &result, &error));
    CHECK(strstr(error.text, "stop the service") != NULL);
    answer_many(&f, "c", 3);
    CHECK_INT(6, sma_state_claim_count(f.state));
}

/* Half a copy that somebody left is no hindrance, and the file is whole whenever the process is
 * killed. */
CASE(a_kill_while_compacting_harms_nothing)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fill_and_empty(&f);
    char copy[200];
    snprintf(copy, sizeof copy, "%s.compact", f.path);
    int fd = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "half", 4) == 4);
    close(fd);
    for (int us = 0; us < 20000; us += 1000) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            struct sma_state_compacted result;
            _exit(sma_state_compact(f.path, &result, NULL) == SMA_ERR_OK ? 0 : 1);
        }
        usleep((useconds_t)us);
        kill(child, SIGKILL);
        int status;
        CHECK_INT(child, waitpid(child, &status, 0));
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        fixture_open(&f);
        CHECK_INT(2000, sma_state_claim_count(f.state));
        CHECK_INT(1, number_of(&f, "SELECT integrity_check='ok' FROM pragma_integrity_check"));
        sma_state_close(f.state, true);
        f.state = NULL;
    }
    struct sma_state_compacted result;
    struct sma_error error = {0};
    CHECK_OK(sma_state_compact(f.path, &result, &error));
    check_filled(&f);
}

CASES_MAIN
