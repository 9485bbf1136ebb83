/*
 * Aim: one damaged byte in state.db concerns its own chat: the service starts, and everybody else
 * is answered.
 * Method: a small database with every kind of row; one byte of one value of one row is changed
 *         (through SQL: pages are SQLite's to guard), a child opens the store on it, plays
 *         everybody, and lives until a chat that was not touched and one that is new have their
 *         answers. A sample by seed; SMA_FLIP_EVERY=1 does them all, =n every n-th, SMA_FLIP_SEED
 *         starts elsewhere.
 */
#include "approval_support.h"

#include <sqlite3.h>
#include <sys/wait.h>

#define SAMPLE_COUNT 150
#define HEALTHY "h"

static struct world w;
static char base_path[128];
static struct sma_buf base;

/* -- the database ------------------------------------------------------------------------------ */
static sqlite3 *open_database(void)
{
    sqlite3 *db = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_open(base_path, &db));
    return db;
}

static void wait_for_model(uint64_t seq)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 256);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = 1;
    body->kind = SMA_STEP_WAIT;
    body->data = sma_msg_dup(msg, SMA_STR("wait data"));
    body->wait_ms = 3600000;
    ask_as_agent(&w, msg);
    run(&w);
}

static uint64_t begin_run(const char *chat, const char *id)
{
    say(&w, chat, id, "x");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(seq != 0 && run_seq(&w) == seq);
    return seq;
}

static uint64_t say_in_api(const char *chat, const char *id)
{
    (void)say_as(&w, API, &(struct saying){.chat = chat, .id = id, .text = "x", .cursor = 7});
    run(&w);
    return accepted(&w.api).seq;
}

static void learn(void)
{
    sqlite3 *db = open_database();
    CHECK_INT(SQLITE_OK,
              sqlite3_exec(
                  db,
                  "INSERT INTO learned VALUES('model','temperature',strftime('%s','now')*1000);"
                  "INSERT INTO usage VALUES(20000,1,'u1','test','m',1,2,3,4,5,6,7);"
                  "INSERT INTO grants(id,chat,created,until,tool,rule,person)"
                  " VALUES('0123456789abcdef0123456789abcdef',1,1,0,'exec_shell','=x','test:boss');"
                  "PRAGMA wal_checkpoint(TRUNCATE)",
                  NULL, NULL, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
}

static void make_base(void)
{
    open_people(&w);
    w.config.agent_concurrency = 8;
    snprintf(base_path, sizeof base_path, "%s/state.db", w.state_dir);
    done(&w, begin_run("a", "1"), "said", &(struct delivery){.key = "test:chat:a", .text = "one"},
         1);
    run(&w);
    uint64_t begun = begin_run("b", "2");
    const struct delivery rows[] = {{.key = "test:chat:b", .text = "two"},
                                    {.key = "test:chat:b", .text = "three", .call = 1}};
    step(&w, begun, 1, rows, 2);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    say(&w, "b", "3", "waiting");
    run(&w);
    (void)accepted(&w.test);
    (void)park(&w, "p", "4", one_command, 1);
    wait_for_model(begin_run("m", "5"));
    (void)say_as(&w, TEST, &(struct saying){.chat = "q", .id = "6", .text = "x", .user = "new"});
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "r", .id = "7", .text = "x", .preparation = "{\"p\":1}"});
    run(&w);
    CHECK(say_in_api(HEALTHY, "8") != 0);
    sma_sim_crash(w.system);
    close_system(&w);
    learn();
    sma_buf_init(&base, (size_t)64 * 1024 * 1024);
    FILE *in = fopen(base_path, "r");
    CHECK(in != NULL);
    char bytes[65536];
    for (size_t len; (len = fread(bytes, 1, sizeof bytes, in)) > 0;)
        sma_buf_put(&base, bytes, len);
    fclose(in);
    CHECK_OK(base.err);
}

/* The child works in a directory of its own. */
static void lay_down_base(void)
{
    CHECK(mkdtemp(strcpy(w.dir, "/tmp/sma-store-XXXXXX")) != NULL);
    snprintf(w.state_dir, sizeof w.state_dir, "%s/.ship", w.dir);
    CHECK_INT(0, mkdir(w.state_dir, 0700));
    snprintf(base_path, sizeof base_path, "%s/state.db", w.state_dir);
    FILE *out = fopen(base_path, "w");
    CHECK(out != NULL);
    CHECK_INT(1, (long long)fwrite(base.ptr, base.len, 1, out));
    CHECK_INT(0, fclose(out));
}

/* -- cells ------------------------------------------------------------------------------------- */
struct cell
{
    char table[24], column[24], key[64];
    uint32_t row, bytes;
};
static struct cell cells[4096];
static uint32_t cell_count;

/* How many bytes of damage each value of a column can have. */
static void list_column(sqlite3 *db, const char *table, const char *key, const char *column)
{
    char sql[512];
    sqlite3_stmt *stmt = NULL;
    bool is_healthy_known = strcmp(table, "messages") == 0 || strcmp(table, "chats") == 0;
    snprintf(sql, sizeof sql,
             "SELECT CASE typeof(%s) WHEN 'integer' THEN 8 ELSE length(CAST(%s AS "
             "BLOB)) END,%s FROM %s ORDER BY %s",
             column, column,
             !is_healthy_known                ? "0"
             : strcmp(table, "messages") == 0 ? "event='8'"
                                              : "key='api:chat:" HEALTHY "'",
             table, key);
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL));
    for (uint32_t row = 0; sqlite3_step(stmt) == SQLITE_ROW; row++) {
        uint32_t bytes = (uint32_t)sqlite3_column_int(stmt, 0);
        if (bytes == 0 || sqlite3_column_int(stmt, 1) != 0)
            continue;
        CHECK(cell_count < SMA_COUNT_OF(cells));
        struct cell *cell = &cells[cell_count++];
        *cell = (struct cell){.row = row, .bytes = bytes};
        snprintf(cell->table, sizeof cell->table, "%s", table);
        snprintf(cell->column, sizeof cell->column, "%s", column);
        snprintf(cell->key, sizeof cell->key, "%s", key);
    }
    (void)sqlite3_finalize(stmt);
}

static void list_table(sqlite3 *db, const char *table)
{
    char sql[256], key[64] = "";
    sqlite3_stmt *stmt = NULL;
    snprintf(sql, sizeof sql, "SELECT group_concat(name) FROM pragma_table_info('%s') WHERE pk>0",
             table);
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL));
    CHECK_INT(SQLITE_ROW, sqlite3_step(stmt));
    snprintf(key, sizeof key, "%s", (const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_info('%s')", table);
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL));
    while (sqlite3_step(stmt) == SQLITE_ROW)
        list_column(db, table, key, (const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
}

static void list_cells(void)
{
    sqlite3 *db = open_database();
    sqlite3_stmt *stmt = NULL;
    CHECK_INT(SQLITE_OK,
              sqlite3_prepare_v2(db,
                                 "SELECT name FROM sqlite_master WHERE type='table' AND name NOT "
                                 "LIKE 'sqlite_%' ORDER BY name",
                                 -1, &stmt, NULL));
    while (sqlite3_step(stmt) == SQLITE_ROW)
        list_table(db, (const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
}

/* -- one flip ---------------------------------------------------------------------------------- */
static void bind_flipped(sqlite3_stmt *update, sqlite3_stmt *value, uint32_t at, uint8_t mask)
{
    if (sqlite3_column_type(value, 0) == SQLITE_INTEGER) {
        uint64_t number = (uint64_t)sqlite3_column_int64(value, 0);
        (void)sqlite3_bind_int64(update, 1, (sqlite3_int64)(number ^ (uint64_t)mask << (at * 8)));
        return;
    }
    static char bytes[1 << 20];
    bool is_text = sqlite3_column_type(value, 0) == SQLITE_TEXT;
    const void *from = sqlite3_column_blob(value, 0);
    int len = sqlite3_column_bytes(value, 0);
    CHECK(len > 0 && len < (int)sizeof bytes);
    memcpy(bytes, from, (size_t)len);
    bytes[at] = (char)(bytes[at] ^ mask);
    if (is_text)
        (void)sqlite3_bind_text(update, 1, bytes, len, SQLITE_TRANSIENT);
    else
        (void)sqlite3_bind_blob(update, 1, bytes, len, SQLITE_TRANSIENT);
}

/* false: the table does not allow it (a key that is there already). */
static bool flip(const struct cell *cell, uint32_t at, uint8_t mask)
{
    char sql[512];
    sqlite3 *db = open_database();
    sqlite3_stmt *value = NULL, *update = NULL;
    snprintf(sql, sizeof sql, "SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %u", cell->column,
             cell->table, cell->key, cell->row);
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &value, NULL));
    CHECK_INT(SQLITE_ROW, sqlite3_step(value));
    snprintf(sql, sizeof sql,
             "UPDATE %s SET %s=?1 WHERE (%s) IN (SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %u)",
             cell->table, cell->column, cell->key, cell->key, cell->table, cell->key, cell->row);
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &update, NULL));
    bind_flipped(update, value, at, mask);
    (void)sqlite3_finalize(value);
    bool is_done = sqlite3_step(update) == SQLITE_DONE;
    (void)sqlite3_finalize(update);
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
    return is_done;
}

/* -- everybody --------------------------------------------------------------------------------- */
static void drop_all(struct keeper *keeper, unsigned kind)
{
    for (struct sma_msg *msg; (msg = take(keeper, kind)) != NULL;)
        sma_msg_destroy(msg);
}

/* Every run ends, every delivery arrives, every question of an adapter has its answer. */
static void play_everybody(bool *has_healthy, bool *has_new)
{
    for (struct sma_msg *msg; (msg = next_run(&w)) != NULL;) {
        const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
        *has_healthy =
            *has_healthy || sma_str_is_equal(order->route.chat_key, SMA_STR("api:chat:" HEALTHY));
        *has_new = *has_new || sma_str_is_equal(order->route.chat_key, SMA_STR("api:chat:new"));
        done(&w, order->seq, "ok", NULL, 0);
        sma_msg_destroy(msg);
        run(&w);
    }
    show_all(&w);
    while (prepare(&w, SMA_ROLE_UNKNOWN, "") != 0)
        run(&w);
    drop_all(&w.agent, SMA_MSG_DONE_DONE);
}

static void live(void)
{
    open_world(&w);
    CHECK(say_in_api("new", "new") != 0);
    bool has_healthy = false, has_new = false;
    for (int i = 0; i < 40 && !(has_healthy && has_new); i++) {
        play_everybody(&has_healthy, &has_new);
        pass(&w, 5);
    }
    CHECK(has_healthy);
    CHECK(has_new);
    for (int i = 0; i < 3; i++) {
        play_everybody(&has_healthy, &has_new);
        pass(&w, 5);
    }
    stop_world(&w);
    close_system(&w);
}

static bool survives(const struct cell *cell, uint32_t at, uint8_t mask)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)alarm(60); /* nobody is answered by going in circles, either */
        lay_down_base();
        if (flip(cell, at, mask))
            live();
        remove_tree(w.dir);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    fprintf(stderr, "   not survived: %s.%s of row %u, byte %u ^ %02x (status %x)\n", cell->table,
            cell->column, cell->row, at, mask, (unsigned)status);
    return false;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

CASE(one_damaged_byte_stops_nobody_else)
{
    const char *every = getenv("SMA_FLIP_EVERY"), *seed = getenv("SMA_FLIP_SEED");
    uint64_t random = seed != NULL ? strtoull(seed, NULL, 10) : 11, count = 0;
    uint32_t failed = 0, place = 0;
    make_base();
    char made_in[sizeof w.dir];
    memcpy(made_in, w.dir, sizeof made_in);
    list_cells();
    for (uint32_t i = 0; i < cell_count; i++)
        count += cells[i].bytes;
    uint64_t stride = every != NULL ? strtoull(every, NULL, 10) : count / SAMPLE_COUNT;
    CHECK(count > 2000 && stride > 0);
    uint64_t next = next_random(&random) % stride;
    for (uint32_t i = 0; i < cell_count; i++)
        for (uint32_t at = 0; at < cells[i].bytes; at++, place++) {
            /* Who a chat is, is always tried: all its rows hang on it. */
            bool is_key = at == 0 && strcmp(cells[i].table, "chats") == 0 &&
                          strcmp(cells[i].column, "id") == 0;
            if (place < next && !is_key)
                continue;
            next += place >= next ? stride : 0;
            uint8_t mask = (uint8_t)(1 + next_random(&random) % 255);
            failed += !survives(&cells[i], at, mask);
        }
    fprintf(stderr, "   %llu bytes, every %llu-th\n", (unsigned long long)count,
            (unsigned long long)stride);
    remove_tree(made_in);
    sma_buf_fini(&base);
    CHECK_INT(0, failed);
}

CASES_MAIN
