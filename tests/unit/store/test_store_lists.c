/*
 * Aim: however much a year has left, no answer to a question makes anybody wait: a long one is made
 *      in steps that read so many rows, a short one reads no more than the rows of a day; and what
 *      is answered is whole and right.
 * Method: SQL between two lives of the program makes the rows; SQLite counts what a step reads. No
 * time is measured.
 */
#include "people_support.h"

#include "actors/store/lists.h"
#include "actors/store/query_priv.h"
#include "actors/store/record_priv.h"
#include "runtime/chat/state_priv.h"

#include <sqlite3.h>

#define ROWS_OF_A_STEP 300
#define ROWS_OF_A_DAY (SMA_USAGE_DAY_ROW_COUNT_MAX + 16)
#define USAGE_DAYS 40
#define USAGE_CHATS 1000

static struct world w;
static unsigned row_count;

static int count_row(unsigned what, void *user, void *stmt, void *more)
{
    (void)user, (void)stmt, (void)more;
    row_count += what == SQLITE_TRACE_ROW;
    return 0;
}

static void open_with(const char *sql)
{
    sqlite3 *db;
    char path[256];
    new_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    stop_world(&w);
    close_system(&w);
    snprintf(path, sizeof path, "%s/state.db", w.state_dir);
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &db));
    CHECK_INT(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
    open_world(&w);
    CHECK_INT(SQLITE_OK, sqlite3_trace_v2(w.store->state->db, SQLITE_TRACE_ROW, count_row, NULL));
}

struct made
{
    unsigned steps, rows_max;
    json_t *root;
};

static void ask_for(const struct sma_query *wanted, const struct store_list_kind *kind)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_QUERY, struct sma_query, 256);
    struct sma_query *query = SMA_MSG_BODY(msg, struct sma_query);
    query->limit = wanted->limit;
    query->filter = wanted->filter;
    query->before = wanted->before;
    query->chat_key = sma_msg_dup(msg, wanted->chat_key);
    sma_store_list(w.store, &msg, kind);
}

/* What sma_store_list_slice does, step by step. */
static struct made make(const struct sma_query *wanted, const struct store_list_kind *kind)
{
    struct made made = {0};
    ask_for(wanted, kind);
    struct store_list *list = w.store->query->lists;
    sma_buf_init(&list->json, STORE_LIST_BYTES_MAX);
    list->has_begun = true;
    list->kind->begin(w.store, list);
    for (bool is_whole = false; !is_whole; made.steps++) {
        row_count = 0;
        is_whole = list->kind->step(w.store, list);
        made.rows_max = row_count > made.rows_max ? row_count : made.rows_max;
    }
    CHECK_OK(list->json.err);
    made.root = json_loadb(list->json.ptr, list->json.len, 0, NULL);
    CHECK(made.root != NULL);
    sma_store_drop_lists(w.store);
    return made;
}

static int number(const json_t *root, const char *name)
{
    return (int)json_integer_value(json_object_get(root, name));
}

static size_t size(const json_t *root, const char *name)
{
    return json_array_size(json_object_get(root, name));
}

/* -- usage ------------------------------------------------------------------------------------- */
/* Each chat 1 token a day, chat n of person n; chat 7 has 3. */
#define MAKE_USAGE                                                                                \
    "INSERT INTO chats(id,key,channel,generation,stop_mark,clear_mark) "                          \
    "VALUES(7,'test:chat:seven','test',0,0,0);"                                                   \
    "WITH RECURSIVE d(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM d WHERE i<39),"                   \
    "c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<1000) "                                \
    "INSERT INTO usage SELECT %lld-d.i,c.i,'test:'||c.i,'test','t',1,1+2*(c.i=7),0,0,0,0,0 FROM " \
    "d,c"

static int64_t today(void)
{
    return sma_ctx_wall(w.store->ctx) / 86400000;
}

static void open_with_usage(void)
{
    char sql[1024];
    new_world(&w);
    int64_t day = today();
    end_world(&w);
    snprintf(sql, sizeof sql, MAKE_USAGE, (long long)day);
    open_with(sql);
    CHECK_INT(day, today());
}

AFTER_EACH(end_world(&w))

CASE(usage_of_a_year_is_added_up_in_steps)
{
    open_with_usage();
    struct made made = make(&(struct sma_query){.limit = 400}, &sma_store_list_of_usage);
    CHECK(made.rows_max <= ROWS_OF_A_DAY && made.steps >= USAGE_DAYS);
    const json_t *total = json_object_get(made.root, "total");
    CHECK_INT(USAGE_DAYS * (USAGE_CHATS + 2), number(total, "input"));
    CHECK_INT(USAGE_DAYS * USAGE_CHATS, number(total, "requests"));
    CHECK_INT(USAGE_DAYS, (int)size(made.root, "days"));
    CHECK_INT(100, (int)size(made.root, "chats"));
    CHECK_INT(100, (int)size(made.root, "persons"));
    CHECK_INT(1, (int)size(made.root, "platforms"));
    const json_t *dearest = json_array_get(json_object_get(made.root, "chats"), 0);
    CHECK_TEXT("test:chat:seven", json_string_value(json_object_get(dearest, "chatKey")));
    CHECK_INT(3 * USAGE_DAYS, number(dearest, "input"));
    dearest = json_array_get(json_object_get(made.root, "persons"), 0);
    CHECK_TEXT("test:7", json_string_value(json_object_get(dearest, "person")));
    json_decref(made.root);
    made = make(&(struct sma_query){.limit = 2, .chat_key = SMA_STR("test:chat:seven")},
                &sma_store_list_of_usage);
    CHECK_INT(6, number(json_object_get(made.root, "total"), "input"));
    CHECK_INT(1, (int)size(made.root, "chats"));
    CHECK_INT(2, (int)size(made.root, "days"));
    json_decref(made.root);
    made = make(&(struct sma_query){.chat_key = SMA_STR("test:chat:nobody")},
                &sma_store_list_of_usage);
    CHECK_INT(0, number(json_object_get(made.root, "total"), "input"));
    json_decref(made.root);
}

/* -- people ------------------------------------------------------------------------------------ */
CASE(people_are_listed_in_steps)
{
    open_with("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) "
              "INSERT INTO access(key,value) SELECT printf('person/test/p%05d',i),"
              "'{\"standing\":\"member\",\"via\":\"paired\",\"since\":1}' FROM n;"
              "INSERT INTO access(key,value) VALUES('group/test/g1','{\"via\":\"paired\"}')");
    struct made made = make(&(struct sma_query){0}, &sma_store_list_of_people);
    CHECK(made.rows_max <= ROWS_OF_A_STEP && made.steps > 2000 / ROWS_OF_A_STEP);
    CHECK_INT(0, (int)size(made.root, "pairings"));
    CHECK(size(made.root, "people") >= 2000 && size(made.root, "people") < 2100);
    CHECK_INT(1, (int)size(made.root, "groups"));
    json_decref(made.root);
}

/* -- runs -------------------------------------------------------------------------------------- */
static const char *word(const json_t *root, size_t index, const char *name)
{
    const json_t *run = json_array_get(json_object_get(root, "runs"), index);
    const char *text = json_string_value(json_object_get(run, name));
    return text == NULL ? "" : text;
}

/* "x" of chat a is answered first; then one message each is open, waits behind it, is only
 * recorded. */
static void say_some(void)
{
    new_world(&w);
    say(&w, "a", "m1", "words of people");
    run(&w);
    done(&w, run_seq(&w), "final words", NULL, 0);
    run(&w);
    say(&w, "a", "m2", "words of people");
    say(&w, "a", "m3", "words of people");
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = "b", .id = "m4", .text = "x", .addressed = SMA_ADDRESSED_NONE});
    run(&w);
}

CASE(runs_tell_what_became_of_messages_and_what_they_wait_for)
{
    say_some();
    struct made made = make(&(struct sma_query){0}, &sma_store_list_of_runs);
    CHECK_INT(4, (int)size(made.root, "runs"));
    CHECK_TEXT("m4", word(made.root, 0, "messageId"));
    CHECK_TEXT("ignored", word(made.root, 0, "status"));
    CHECK_TEXT("not_addressed", word(made.root, 0, "reason"));
    CHECK_TEXT("test:chat:b", word(made.root, 0, "chatKey"));
    CHECK_TEXT("m3", word(made.root, 1, "messageId"));
    CHECK_TEXT("waiting", word(made.root, 1, "status"));
    char waits[64];
    snprintf(waits, sizeof waits, "run %s of this chat", word(made.root, 2, "runId"));
    CHECK_TEXT(waits, word(made.root, 1, "waitsFor"));
    CHECK_TEXT("running", word(made.root, 2, "status"));
    CHECK_TEXT("", word(made.root, 2, "waitsFor"));
    CHECK_TEXT("done", word(made.root, 3, "status"));
    CHECK_TEXT("u1", word(made.root, 3, "userId"));
    CHECK_INT(24, (int)strlen(word(made.root, 3, "endedAt")));
    char *text = json_dumps(made.root, 0);
    CHECK(strstr(text, "words") == NULL);
    free(text);
    json_decref(made.root);
    made = make(&(struct sma_query){.filter = SMA_RUNS_OPEN}, &sma_store_list_of_runs);
    CHECK_INT(2, (int)size(made.root, "runs"));
    json_decref(made.root);
    made = make(&(struct sma_query){.filter = SMA_RUNS_DONE, .chat_key = SMA_STR("test:chat:b")},
                &sma_store_list_of_runs);
    CHECK_INT(0, (int)size(made.root, "runs"));
    json_decref(made.root);
    made =
        make(&(struct sma_query){.chat_key = SMA_STR("test:chat:none")}, &sma_store_list_of_runs);
    CHECK_INT(0, (int)size(made.root, "runs"));
    json_decref(made.root);
}

/* Page by page each message comes once. */
CASE(runs_are_listed_in_pages)
{
    say_some();
    static const char *const ids[] = {"m4", "m3", "m2", "m1"};
    uint64_t before = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(ids); i++) {
        struct made made =
            make(&(struct sma_query){.limit = 1, .before = before}, &sma_store_list_of_runs);
        CHECK_INT(1, (int)size(made.root, "runs"));
        CHECK_TEXT(ids[i], word(made.root, 0, "messageId"));
        const char *next = json_string_value(json_object_get(made.root, "next"));
        CHECK((next != NULL) == (i + 1 < SMA_COUNT_OF(ids)));
        before = next == NULL ? 0 : strtoull(next, NULL, 10);
        json_decref(made.root);
    }
}

CASE(many_runs_are_looked_through_in_steps)
{
    open_with("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) "
              "INSERT INTO messages SELECT 1000+i,1,0,5,0,0,NULL,0,0,printf('e%d',i),'u9',NULL,"
              "NULL FROM n");
    struct made made =
        make(&(struct sma_query){.filter = SMA_RUNS_FAILED}, &sma_store_list_of_runs);
    CHECK(made.rows_max <= ROWS_OF_A_STEP && made.steps > 5000 / ROWS_OF_A_STEP);
    CHECK_INT(0, (int)size(made.root, "runs"));
    json_decref(made.root);
    made = make(&(struct sma_query){.limit = 200}, &sma_store_list_of_runs);
    CHECK(made.rows_max <= ROWS_OF_A_STEP);
    CHECK_INT(200, (int)size(made.root, "runs"));
    json_decref(made.root);
}

/* -- files that cannot be used ----------------------------------------------------------------- */
#define BAD_COUNT 50

static uint32_t tries(void)
{
    uint32_t sum = 0;
    for (const struct store_file_aside *at = w.store->record->asides; at != NULL; at = at->next)
        sum += at->tries;
    return sum;
}

CASE(files_set_aside_are_tried_in_steps)
{
    char name[16], path[256];
    new_world(&w);
    for (int i = 0; i < BAD_COUNT; i++) {
        snprintf(name, sizeof name, "c%d", i);
        snprintf(path, sizeof path, "%s/chats/test%%3Achat%%3A%s.jsonl", w.state_dir, name);
        CHECK_INT(0, mkdir(path, 0700));
        say(&w, name, name, "x");
        run(&w);
        uint64_t seq = run_seq(&w);
        done(&w, seq, "ok", NULL, 0);
        run(&w);
    }
    CHECK_INT(BAD_COUNT, w.store->record->aside_count);
    CHECK(!w.store->record->is_trying);
    uint32_t before = tries(), first = before, slices = 0;
    uint64_t later = sma_sim_now(w.system) + 3600 * SECOND; /* all are due */
    do {
        sma_store_heal_slice(w.store, later);
        CHECK(tries() - before <= STORE_ASIDE_TRY_COUNT);
        before = tries();
        slices++;
    } while (w.store->record->is_trying && slices < 1000);
    CHECK_INT(BAD_COUNT, before - first);
    CHECK(slices >= BAD_COUNT / STORE_ASIDE_TRY_COUNT);
    for (int i = 0; i < BAD_COUNT; i++) {
        snprintf(path, sizeof path, "%s/chats/test%%3Achat%%3Ac%d.jsonl", w.state_dir, i);
        CHECK_INT(0, rmdir(path));
    }
    run_for(&w, 3600 * SECOND);
    CHECK_INT(0, w.store->record->aside_count);
    for (int i = 0; i < BAD_COUNT; i++) {
        snprintf(path, sizeof path, "test%%3Achat%%3Ac%d", i);
        CHECK_INT(1, (int)count_of(history(&w, path), "\"messageId\""));
    }
}

CASES_MAIN
