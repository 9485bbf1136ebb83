/* Aim: a damaged, foreign or newer file is one clear line, never a crash. Method: write such files,
 * then open. */
#include "state_support.h"

#include <fcntl.h>
#include <sqlite3.h>

static void damage(const struct fixture *f, const char *bytes, size_t len, off_t offset)
{
    int fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(len, pwrite(fd, bytes, len, offset));
    close(fd);
}

static void refuse(struct fixture *f, enum sma_err expected, const char *word)
{
    struct sma_error error = {0};
    CHECK_ERR(expected, fixture_try_open(f, &error));
    fprintf(stderr, "   %s\n", error.text);
    CHECK_INT(expected, error.code);
    CHECK(strstr(error.text, f->path) != NULL);
    CHECK(strstr(error.text, word) != NULL);
}

static void make_database(struct fixture *f)
{
    fixture_open(f);
    CHECK_OK(sma_state_begin(f->state));
    for (int i = 0; i < 2000; i++) {
        char event[16];
        snprintf(event, sizeof event, "%d", i);
        accept_event(f->state, "c", event, SMA_ROW_WAITING);
    }
    CHECK_OK(sma_state_commit(f->state));
    sma_state_close(f->state, true);
    f->state = NULL;
}

static void execute(const struct fixture *f, const char *sql)
{
    sqlite3 *db = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_open(f->path, &db));
    CHECK_INT(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
}

CASE(a_file_of_something_else_is_named_with_the_remedy)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    damage(&f, "this is a letter to a friend, and not at all a database", 55, 0);
    refuse(&f, SMA_ERR_CORRUPT, "move it");
}

CASE(a_damaged_page_is_named_with_the_remedy)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    make_database(&f);
    static char noise[200 * 4096];
    memset(noise, 0xa5, sizeof noise);
    damage(&f, noise, sizeof noise, 4096); /* everything but the first page */
    refuse(&f, SMA_ERR_CORRUPT, "move it");
}

CASE(a_newer_schema_is_not_touched)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    make_database(&f);
    execute(&f, "PRAGMA user_version=99");
    refuse(&f, SMA_ERR_UNSUPPORTED, "newer");
    execute(&f, "PRAGMA user_version=9");
    fixture_open(&f);
    CHECK_INT(2000, sma_state_open_count(f.state));
}

/* Marks are only hints, a chat that moved nowhere is where it was, and a claim of nothing claims
 * nothing. */
CASE(what_can_be_done_without_stops_nobody)
{
    static const char *const damages[] = {
        "UPDATE meta SET value=x'0102' WHERE name='state.marks'",
        "UPDATE chats SET moved=9 WHERE id=1",
        "UPDATE chats SET moved=1 WHERE id=1",
        "INSERT INTO claims VALUES(1,1,1,x'00112233')",
        "INSERT INTO claims VALUES(1,1,1,zeroblob(14))",
        "INSERT INTO claims VALUES(1,1,1,zeroblob(100000))",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(damages); i++) {
        struct fixture f;
        struct sma_error error = {0};
        fixture_init(&f);
        make_database(&f);
        execute(&f, damages[i]);
        CHECK_OK(fixture_try_open(&f, &error));
        CHECK(sma_state_next_seq(f.state) > 1);
        sma_state_close(f.state, true);
        f.state = NULL;
        fixture_fini(&f);
    }
}

/* Without its key no claim of before would be found. */
CASE(a_damaged_key_is_noticed)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    make_database(&f);
    execute(&f, "UPDATE meta SET value=x'0102' WHERE name='state.key'");
    refuse(&f, SMA_ERR_CORRUPT, "move it");
}

CASE(an_unreachable_file_is_an_error)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    char good[sizeof f.path];
    memcpy(good, f.path, sizeof good);
    snprintf(f.path, sizeof f.path, "%s/none/state.db", f.dir);
    refuse(&f, SMA_ERR_NOTFOUND, "open");
    memcpy(f.path, good, sizeof good);
}

CASES_MAIN
