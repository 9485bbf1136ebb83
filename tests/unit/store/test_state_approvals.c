/*
 * Aim: requests to people are kept, found by the beginning of their id, undone with their
 * transaction, and forgotten when they were decided long ago; a database of the version before gets
 * the table.
 * Method: the state database alone; a failing write below SQLite; SQL to make an old file.
 */
#include "runtime/chat/state_keep.h"
#include "runtime/chat/state_read.h"
#include "state_support.h"

#include <sqlite3.h>

struct found
{
    char ids[4][40], request[32], doc[32];
    unsigned count;
    struct sma_state_approval last;
};

static void note(const struct sma_state_approval *row, struct found *found)
{
    CHECK(found->count < 4);
    snprintf(found->ids[found->count++], 40, "%.*s", (int)row->id.len, row->id.ptr);
    snprintf(found->request, 32, "%.*s", (int)row->request.len,
             row->request.len == 0 ? "" : row->request.ptr);
    snprintf(found->doc, 32, "%.*s", (int)row->doc.len, row->doc.len == 0 ? "" : row->doc.ptr);
    found->last = *row;
}

static void note_read(struct fixture *f, struct sma_str id, struct found *found)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_approval row;
    CHECK_OK(sma_state_approval_read(f->state, id, &rows, &row));
    note(&row, found);
}

static enum sma_err find(struct fixture *f, struct sma_str beginning, struct found *found)
{
    struct sma_state_rows rows = {0};
    struct sma_str ids[2];
    uint32_t count = 0;
    enum sma_err err = sma_state_approval_ids(f->state, beginning, &rows, ids, &count);
    for (uint32_t i = 0; i < count; i++)
        note_read(f, ids[i], found);
    sma_state_rows_free(&rows);
    return err;
}

static struct found open_ones(struct fixture *f)
{
    struct found found = {0};
    struct sma_state_rows rows = {0};
    struct sma_state_asked_list list;
    CHECK_OK(sma_state_asked_read(f->state, &rows, &list));
    for (size_t i = 0; i < list.count; i++)
        note_read(f, list.items[i].id, &found);
    sma_state_rows_free(&rows);
    return found;
}

static void add(struct fixture *f, const char *id, const char *chat, uint64_t run_seq)
{
    CHECK_OK(sma_state_approval_add(f->state,
                                    &(struct sma_state_approval){.id = sma_str(id),
                                                                 .run_seq = run_seq,
                                                                 .chat = chat_named(f->state, chat),
                                                                 .step = 3,
                                                                 .created_ms = 17,
                                                                 .left_ms = -1,
                                                                 .request = SMA_STR("request")}));
}

CASE(requests_are_kept_and_found)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct found found = {0};
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    add(&f, "aabbcc00", "a", 9);
    add(&f, "aabbcc11", "b", 5);
    CHECK_ERR(SMA_ERR_EXISTS,
              sma_state_approval_add(
                  f.state, &(struct sma_state_approval){.id = SMA_STR("aabbcc11"),
                                                        .chat = chat_named(f.state, "a")}));
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_state_approval_add(
                  f.state, &(struct sma_state_approval){.chat = chat_named(f.state, "a")}));
    CHECK_OK(sma_state_commit(f.state));
    sma_state_close(f.state, true);
    fixture_open(&f);
    found = open_ones(&f);
    CHECK_INT(2, found.count);
    CHECK_TEXT("aabbcc11", found.ids[0]); /* the older run first */
    CHECK_TEXT("request", found.request);
    CHECK(found.last.run_seq == 9 && found.last.step == 3 && found.last.left_ms == -1);
    CHECK(found.last.chat == chat_named(f.state, "a"));
    found = (struct found){0};
    CHECK_OK(find(&f, SMA_STR("aabbcc"), &found));
    CHECK_INT(2, found.count);
    found = (struct found){0};
    CHECK_OK(find(&f, SMA_STR("aabbcc0"), &found));
    CHECK_INT(1, found.count);
    CHECK_ERR(SMA_ERR_NOTFOUND, find(&f, SMA_STR("ab"), &found));
    CHECK_ERR(SMA_ERR_NOTFOUND, find(&f, SMA_STR(""), &found));
    CHECK_ERR(SMA_ERR_NOTFOUND, find(&f, SMA_STR("a%"), &found));
}

CASE(decided_ones_lose_their_request_and_go_by_and_by)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct found found = {0};
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    add(&f, "aa", "a", 1);
    add(&f, "bb", "a", 2);
    struct sma_state_approval update = {.id = SMA_STR("aa"), .left_ms = 5, .doc = SMA_STR("half")};
    CHECK_OK(sma_state_approval_update(f.state, &update));
    CHECK_OK(find(&f, SMA_STR("aa"), &found));
    CHECK_TEXT("request", found.request);
    CHECK_TEXT("half", found.doc);
    update.state = SMA_STATE_APPROVAL_DECIDED;
    update.responded_ms = 1000;
    update.doc = SMA_STR("all");
    CHECK_OK(sma_state_approval_update(f.state, &update));
    found = (struct found){0};
    CHECK_OK(find(&f, SMA_STR("aa"), &found));
    CHECK_TEXT("", found.request);
    CHECK_TEXT("all", found.doc);
    CHECK_INT(SMA_STATE_APPROVAL_DECIDED, found.last.state);
    update.id = SMA_STR("cc");
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_approval_update(f.state, &update));
    CHECK_OK(sma_state_approval_set_left(f.state, SMA_STR("bb"), 77));
    CHECK_INT(77, open_ones(&f).last.left_ms);
    uint32_t removed = 0;
    CHECK_OK(sma_state_keep_approvals(f.state, 1000, 10, &removed));
    CHECK_OK(find(&f, SMA_STR("aa"), &found));
    CHECK_OK(sma_state_keep_approvals(f.state, 1001, 10, &removed));
    CHECK_ERR(SMA_ERR_NOTFOUND, find(&f, SMA_STR("aa"), &found));
    CHECK_OK(sma_state_keep_approvals(f.state, INT64_MAX, 10, &removed)); /* open ones stay */
    CHECK_INT(1, open_ones(&f).count);
    CHECK_OK(sma_state_commit(f.state));
}

static bool is_full;
static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                            : SMA_STATE_VFS_PASS;
}

CASE(changes_are_undone_with_their_transaction)
{
    struct fixture f;
    sma_state_vfs_set_hook(fail_when_full);
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    add(&f, "aa", "a", 1);
    CHECK_OK(sma_state_commit(f.state));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(sma_state_begin(f.state));
        add(&f, "bb", "a", 2);
        CHECK_OK(sma_state_approval_update(
            f.state, &(struct sma_state_approval){.id = SMA_STR("aa"),
                                                  .state = SMA_STATE_APPROVAL_EXPIRED}));
        is_full = i == 0;
        if (i == 0)
            CHECK_ERR(SMA_ERR_NOSPACE, sma_state_commit(f.state));
        else
            sma_state_rollback(f.state);
        is_full = false;
        struct found found = open_ones(&f);
        CHECK_INT(1, found.count);
        CHECK_TEXT("aa", found.ids[0]);
        CHECK_TEXT("request", found.request);
    }
    fixture_fini(&f);
    sma_state_vfs_set_hook(NULL);
}

static void execute(struct fixture *f, const char *sql)
{
    sqlite3 *db;
    CHECK_INT(SQLITE_OK, sqlite3_open(f->path, &db));
    CHECK_INT(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
}

static enum sma_err note_salt(void *user, const struct sma_state_delivery *delivery)
{
    *(uint64_t *)user = delivery->salt;
    return SMA_ERR_OK;
}

CASE(a_database_of_the_version_before_gets_the_table)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t seq = accept_event(f.state, "a", "1", SMA_ROW_WAITING), salt = 1;
    struct sma_state_delivery begun = {.outbox_id = sma_state_outbox_id(seq, 1, 0),
                                       .chat = chat_named(f.state, "a"),
                                       .is_part_begun = true,
                                       .text = SMA_STR("hello")};
    CHECK_OK(sma_state_outbox_add(f.state, &begun));
    CHECK_OK(sma_state_commit(f.state));
    sma_state_close(f.state, true);
    execute(&f, DOWNGRADE_TO_5
            "; DROP TABLE approvals; ALTER TABLE outbox DROP COLUMN salt;"
            "DROP TABLE waits; DROP TABLE learned; DROP TABLE usage;"
            "ALTER TABLE steps DROP COLUMN usage; ALTER TABLE runs DROP COLUMN usage;"
            "ALTER TABLE steps DROP COLUMN trace; ALTER TABLE runs DROP COLUMN trace;"
            "ALTER TABLE outbox DROP COLUMN made; ALTER TABLE outbox DROP COLUMN ended;"
            "PRAGMA user_version=2");
    fixture_open(&f);
    CHECK(is_claimed(f.state, "a", "1"));
    /* what that version began may be on its way: its key must not change */
    CHECK_OK(sma_state_outbox_get(f.state, begun.outbox_id, note_salt, &salt));
    CHECK_INT(0, (long long)salt);
    CHECK_OK(sma_state_begin(f.state));
    add(&f, "aa", "a", seq);
    CHECK_OK(sma_state_commit(f.state));
    CHECK_INT(1, open_ones(&f).count);
}

CASES_MAIN
