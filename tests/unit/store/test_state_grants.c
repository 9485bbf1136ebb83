/*
 * Aim: permissions belong to a chat and follow it, are found by the beginning of their id, bounded
 * a chat, undone with their transaction and removed by age; those of a database of the version
 * before are kept.
 * Method: the state database alone; SQL to make an old file.
 */
#include "runtime/chat/state_grants.h"
#include "state_support.h"

#include <sqlite3.h>

static void add_with(struct fixture *f, const char *chat, const char *id, const char *rule,
                     int64_t until_ms)
{
    CHECK_OK(
        sma_state_grant_add(f->state, &(struct sma_state_grant){.id = sma_str(id),
                                                                .chat = chat_named(f->state, chat),
                                                                .created_ms = 5,
                                                                .until_ms = until_ms,
                                                                .tool = SMA_STR("exec_shell"),
                                                                .rule = sma_str(rule),
                                                                .by = SMA_STR("Eve")}));
}

static void add(struct fixture *f, const char *chat, const char *id)
{
    add_with(f, chat, id, id, 0);
}

/* "id,id," */
static const char *text_of(struct sma_state_rows *rows, const struct sma_state_grants *list)
{
    static char text[16384];
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s,", (int)list->items[i].id.len,
                                list->items[i].id.ptr);
    sma_state_rows_free(rows);
    return text;
}

static const char *of_chat(struct fixture *f, const char *chat)
{
    struct sma_state_rows rows = {0};
    struct sma_state_grants list;
    CHECK_OK(sma_state_grants_read(f->state, chat_named(f->state, chat), &rows, &list));
    return text_of(&rows, &list);
}

static const char *found(struct fixture *f, const char *beginning)
{
    struct sma_state_rows rows = {0};
    struct sma_state_grants list;
    CHECK_OK(sma_state_grants_find(f->state, sma_str(beginning), &rows, &list));
    return text_of(&rows, &list);
}

static const char *slice(struct fixture *f, uint64_t *after, uint32_t count_max)
{
    struct sma_state_rows rows = {0};
    struct sma_state_grants list;
    CHECK_OK(sma_state_grants_next(f->state, *after, count_max, &rows, &list));
    if (list.count > 0)
        *after = list.items[list.count - 1].seq;
    return text_of(&rows, &list);
}

static void execute(struct fixture *f, const char *sql)
{
    sqlite3 *db;
    char *error = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_open(f->path, &db));
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        CHECK_TEXT("", error);
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
}

CASE(each_chat_has_its_own)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    uint64_t after = 0;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    add(&f, "a", "aa11");
    add(&f, "b", "aa22");
    add(&f, "a", "bb33");
    CHECK_ERR(SMA_ERR_EXISTS, sma_state_grant_add(f.state, &(struct sma_state_grant){
                                                               .id = SMA_STR("aa22"),
                                                               .chat = chat_named(f.state, "c")}));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, false);
    CHECK_TEXT("aa11,bb33,", of_chat(&f, "a"));
    CHECK_TEXT("aa22,", of_chat(&f, "b"));
    CHECK_TEXT("", of_chat(&f, "c"));
    CHECK_TEXT("aa11,aa22,", found(&f, "aa"));
    CHECK_TEXT("aa22,", found(&f, "aa2"));
    CHECK_TEXT("", found(&f, ""));
    CHECK_TEXT("", found(&f, "c"));
    CHECK_TEXT("aa11,aa22,", slice(&f, &after, 2));
    CHECK_TEXT("bb33,", slice(&f, &after, 2));
    CHECK_TEXT("", slice(&f, &after, 2));
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_grant_remove(f.state, SMA_STR("aa11")));
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_grant_remove(f.state, SMA_STR("aa1")));
    CHECK_TEXT("bb33,", of_chat(&f, "a"));
    sma_state_rollback(f.state);
    CHECK_TEXT("aa11,bb33,", of_chat(&f, "a"));
}

CASE(they_follow_their_chat)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    add(&f, "old", "11");
    add(&f, "new", "22");
    add(&f, "old", "33");
    CHECK_OK(sma_state_chat_move(f.state, chat_named(f.state, "old"), chat_named(f.state, "new"),
                                 SMA_STR("9")));
    CHECK_OK(sma_state_commit(f.state));
    CHECK_TEXT("11,22,33,", of_chat(&f, "new"));
    fixture_reopen(&f, true);
    CHECK_TEXT("11,22,33,", of_chat(&f, "new"));
}

CASE(the_same_rule_and_the_oldest_make_room)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    char id[16];
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    add_with(&f, "a", "f0", "=git push", 0);
    add_with(&f, "b", "f1", "=git push", 0);
    add_with(&f, "a", "f2", "=git push", 100);
    CHECK_TEXT("f2,", of_chat(&f, "a"));
    CHECK_TEXT("f1,", of_chat(&f, "b"));
    for (int i = 0; i < SMA_GRANT_COUNT_MAX - 1; i++) {
        snprintf(id, sizeof id, "a%04d", i);
        add(&f, "a", id);
    }
    CHECK(strncmp(of_chat(&f, "a"), "f2,a0000,", 9) == 0);
    add(&f, "a", "b0");
    CHECK(strncmp(of_chat(&f, "a"), "a0000,a0001,", 12) == 0);
    add_with(&f, "a", "b1", "a0001", 0); /* takes the place of its like: nobody else goes */
    CHECK(strncmp(of_chat(&f, "a"), "a0000,a0002,", 12) == 0);
    CHECK_OK(sma_state_commit(f.state));
}

CASE(ended_ones_are_removed_in_slices)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    uint32_t removed;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    add_with(&f, "a", "1", "1", 300);
    add_with(&f, "b", "2", "2", 100);
    add_with(&f, "c", "3", "3", 0); /* for good */
    add_with(&f, "d", "4", "4", 200);
    add_with(&f, "e", "5", "5", 301);
    CHECK_OK(sma_state_grants_forget(f.state, 300, 2, &removed));
    CHECK_INT(2, removed);
    CHECK_TEXT("1,", of_chat(&f, "a"));
    CHECK_TEXT("", of_chat(&f, "b"));
    CHECK_TEXT("", of_chat(&f, "d"));
    CHECK_OK(sma_state_grants_forget(f.state, 300, 2, &removed));
    CHECK_INT(1, removed);
    CHECK_TEXT("3,", of_chat(&f, "c"));
    CHECK_TEXT("5,", of_chat(&f, "e"));
    CHECK_OK(sma_state_commit(f.state));
}

CASE(records_of_the_version_before_become_rows)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct sma_state_rows rows = {0};
    struct sma_state_grants list;
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
    (void)chat_named(f.state, "a");
    CHECK_OK(sma_state_commit(f.state));
    sma_state_close(f.state, true);
    f.state = NULL;
    execute(
        &f, DOWNGRADE_TO_5
        "; INSERT INTO access VALUES('grant/22','{\"chatKey\":\"a\",\"tool\":\"t\",\"rule\":\"=x\","
        "\"by\":\"Eve\",\"until\":9000000000000,\"created\":8}'),"
        "('grant/11','{\"chatKey\":\"a\",\"tool\":\"t\",\"rule\":\"=y\",\"by\":\"Eve\","
        "\"until\":0,\"created\":9}'),"
        "('grant/33','{\"chatKey\":\"nowhere\",\"tool\":\"t\",\"rule\":\"=y\",\"by\":\"Eve\","
        "\"until\":0,\"created\":9}'),"
        "('grant/44','{\"chatKey\":\"a\",\"tool'),"
        "('grant/55','{\"chatKey\":\"a\"}'),"
        "('initiator:a','\"u\"')");
    fixture_open(&f);
    CHECK_OK(sma_state_grants_read(f.state, chat_named(f.state, "a"), &rows, &list));
    CHECK_INT(2, (int)list.count);
    CHECK_STR("22", list.items[0].id);
    CHECK_STR("=x", list.items[0].rule);
    CHECK_STR("Eve", list.items[0].by);
    CHECK(list.items[0].until_ms == INT64_C(9000000000000) && list.items[0].created_ms == 8);
    CHECK_STR("11", list.items[1].id);
    sma_state_rows_free(&rows);
    struct sma_buf value;
    sma_buf_init(&value, 64);
    CHECK_OK(sma_state_access_get(f.state, SMA_STR("initiator:a"), &value));
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_state_access_get(f.state, SMA_STR("grant/22"), &value));
    sma_buf_fini(&value);
}

CASES_MAIN
