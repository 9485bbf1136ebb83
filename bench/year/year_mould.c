/* The mould: the real service, a Bot API server and a model server in a scratch project; each event
 * once. */
#include "year.h"

#include "runtime/chat/state_priv.h"
#include "scenario/approval_world.h"
#include "support/check.h"

#include <sys/stat.h>

#define PERSON UINT64_C(7100000001)
#define ASKER UINT64_C(7100000002)
#define STRANGER UINT64_C(7100000003)
#define MESSAGE_OFFSET UINT64_C(81000000)
#define AROUND_MS 3600000

/* -- events ------------------------------------------------------------------------------------ */
static void number_rows_high(const struct platform_world *world)
{
    char path[256];
    snprintf(path, sizeof path, "%s/.ship", world->world.folder.path);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/.ship/state.db", world->world.folder.path);
    struct sma_state *state = NULL;
    struct sma_error error = {0};
    struct sma_state_options options = {.path = path, .is_single_threaded = true};
    if (sma_state_open(&options, &state, &error) != SMA_ERR_OK)
        year_die("%s", error.text);
    state->next_seq = YEAR_MOULD_SEQ;
    CHECK_OK(sma_state_begin(state));
    CHECK_OK(sma_state_meta_set(state, SMA_STR("year.mould"), SMA_STR("1")));
    CHECK_OK(sma_state_commit(state));
    sma_state_close(state, true);
}

static void add_person(const struct platform_world *world, uint64_t id)
{
    char name[32], user_name[32];
    snprintf(name, sizeof name, "Person%llu", (unsigned long long)id);
    snprintf(user_name, sizeof user_name, "p%llu", (unsigned long long)id);
    platform_tell(&world->client, "{s:s,s:I,s:s,s:s,s:s,s:I}", "do", "user", "id", (json_int_t)id,
                  "first_name", name, "username", user_name, "language", "en", "id_offset",
                  (json_int_t)MESSAGE_OFFSET);
}

static sqlite3 *open_mould(const struct platform_world *world)
{
    char path[256];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/.ship/state.db", world->world.folder.path);
    CHECK_INT(SQLITE_OK, sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL));
    return db;
}

static uint64_t newest_seq(const struct platform_world *world)
{
    sqlite3 *db = open_mould(world);
    sqlite3_stmt *stmt = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(db, "SELECT max(seq) FROM messages", -1, &stmt, NULL));
    CHECK_INT(SQLITE_ROW, sqlite3_step(stmt));
    uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return seq;
}

/* The event and what follows from it; notes the rows of it. */
static void begin_unit(const struct platform_world *world, struct year_mould *mould,
                       enum year_set set, uint64_t id)
{
    platform_settle(world);
    mould->seq[set] = newest_seq(world) + 1;
    mould->id[set] = id;
}

static void end_unit(const struct platform_world *world, struct year_mould *mould,
                     enum year_set set)
{
    platform_settle(world);
    mould->seqs[set] = (uint32_t)(newest_seq(world) + 1 - mould->seq[set]);
}

static void take_code(const struct platform_world *world, uint64_t id, char code[16])
{
    json_t *answer = chat_await(world, (int64_t)id, "pair approve ");
    const char *at = strstr(talk_text(answer, "text"), "pair approve ");
    snprintf(code, 16, "%.8s", at + strlen("pair approve "));
    json_decref(answer);
}

static void pair(const struct platform_world *world, const char *binary, uint64_t id)
{
    char code[16], line[600], *output = NULL;
    (void)chat_say(world, (int64_t)id, (int64_t)id, "let me in");
    take_code(world, id, code);
    snprintf(line, sizeof line, "cd '%s' && exec '%s' pair approve %s", world->world.folder.path,
             binary, code);
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", line, NULL};
    CHECK_INT(0, run_to_end(argv, "", &output, 30000));
    free(output);
    chat_expect(world, (int64_t)id, "You said: let me in");
    platform_settle(world);
}

static void live(const struct platform_world *world, const struct year_options *options,
                 struct year_mould *mould)
{
    char *text = calloc(1, options->text_bytes + 1);
    CHECK(text != NULL);
    (void)chat_say(world, ANN, ANN, "hello");
    chat_expect(world, ANN, "You said: hello");
    mould->id[YEAR_OWNER] = ANN;
    pair(world, options->binary, PERSON);
    mould->id[YEAR_PERSON] = PERSON;
    static const char words[] = "and then we went on to the next one ";
    for (uint32_t i = 0; i < options->text_bytes; i++)
        text[i] = words[i % (sizeof words - 1)];
    begin_unit(world, mould, YEAR_TURN, PERSON);
    (void)chat_say(world, (int64_t)PERSON, (int64_t)PERSON, text);
    chat_expect(world, (int64_t)PERSON, "You said: and then");
    end_unit(world, mould, YEAR_TURN);
    pair(world, options->binary, ASKER);
    begin_unit(world, mould, YEAR_PARK, ASKER);
    (void)chat_say(world, (int64_t)ASKER, (int64_t)ASKER, WANT_COUNT);
    json_decref(approval_await_card(world, ANN, COUNT_COMMAND));
    platform_await_receipts(world);
    end_unit(world, mould, YEAR_PARK);
    begin_unit(world, mould, YEAR_STRANGER, STRANGER);
    (void)chat_say(world, (int64_t)STRANGER, (int64_t)STRANGER, "hello, who is there?");
    take_code(world, STRANGER, mould->code);
    end_unit(world, mould, YEAR_STRANGER);
    free(text);
}

/* -- patches ----------------------------------------------------------------------------------- */
static void add_patch(struct year_value *value, uint32_t at, enum year_patch_kind kind)
{
    value->patches = realloc(value->patches, (value->patch_count + 1) * sizeof *value->patches);
    CHECK(value->patches != NULL);
    value->patches[value->patch_count++] = (struct year_patch){at, kind};
}

static void find_text(struct year_value *value, const char *text, enum year_patch_kind kind)
{
    size_t len = strlen(text);
    for (uint32_t at = 0; len > 0 && at + len <= value->len; at++)
        if (memcmp(value->bytes + at, text, len) == 0)
            add_patch(value, at, kind);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void find_numbers(const struct year_mould *mould, enum year_set set,
                         struct year_value *value)
{
    for (uint32_t at = 0; at < value->len; at++) {
        if (value->len - at >= 8) {
            int64_t number;
            memcpy(&number, value->bytes + at, sizeof number);
            if (number > mould->time_ms - AROUND_MS && number < mould->time_ms + AROUND_MS)
                add_patch(value, at, YEAR_PATCH_TIME_BYTES);
        }
        if (!is_digit(value->bytes[at]) || (at > 0 && is_digit(value->bytes[at - 1])))
            continue;
        uint32_t end = at;
        char digits[24] = "";
        while (end < value->len && end - at < 20 && is_digit(value->bytes[end]))
            end++;
        memcpy(digits, value->bytes + at, end - at);
        uint64_t number = strtoull(digits, NULL, 10);
        if (end - at == 13 && (int64_t)number > mould->time_ms - AROUND_MS &&
            (int64_t)number < mould->time_ms + AROUND_MS)
            add_patch(value, at, YEAR_PATCH_TIME);
        if (end - at == 8 && number > MESSAGE_OFFSET && number < MESSAGE_OFFSET + 1000)
            add_patch(value, at, YEAR_PATCH_MESSAGE);
        if (end - at == 8 && number >= mould->seq[set] &&
            number < mould->seq[set] + mould->seqs[set])
            add_patch(value, at, YEAR_PATCH_SEQ);
    }
}

static void find_patches(const struct year_mould *mould, enum year_set set,
                         struct year_value *value)
{
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)mould->id[set]);
    if (mould->id[set] > UINT32_MAX)
        find_text(value, id, YEAR_PATCH_ID);
    if (set == YEAR_PARK)
        find_text(value, mould->approval, YEAR_PATCH_APPROVAL);
    if (set == YEAR_STRANGER)
        find_text(value, mould->code, YEAR_PATCH_CODE);
    if (set != YEAR_OWNER)
        find_numbers(mould, set, value);
}

/* -- rows -------------------------------------------------------------------------------------- */
static enum year_role role_of(const char *table, const char *column)
{
    static const struct
    {
        const char *table, *column;
        enum year_role role;
    } known[] = {
        {"messages", "seq", YEAR_SEQ},
        {"messages", "run", YEAR_SEQ},
        {"messages", "chat", YEAR_CHAT},
        {"messages", "place", YEAR_PLACE},
        {"messages", "generation", YEAR_GENERATION},
        {"runs", "seq", YEAR_SEQ},
        {"turns", "seq", YEAR_SEQ},
        {"turns", "chat", YEAR_CHAT},
        {"steps", "id", YEAR_SEQ_STEP},
        {"outbox", "id", YEAR_SEQ_OUTBOX},
        {"outbox", "chat", YEAR_CHAT},
        {"approvals", "run", YEAR_SEQ},
        {"approvals", "chat", YEAR_CHAT},
        {"waits", "run", YEAR_SEQ},
        {"usage", "day", YEAR_DAY},
        {"usage", "chat", YEAR_CHAT},
        {"chats", "id", YEAR_CHAT},
        {"contacts", "id", YEAR_OWN_ID},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(known); i++)
        if (strcmp(known[i].table, table) == 0 && strcmp(known[i].column, column) == 0)
            return known[i].role;
    return YEAR_PLAIN;
}

static void read_value(const struct year_mould *mould, enum year_set set, sqlite3_stmt *stmt, int i,
                       struct year_value *value)
{
    value->type = sqlite3_column_type(stmt, i);
    value->number = sqlite3_column_int64(stmt, i);
    if (value->type == SQLITE_INTEGER && value->role == YEAR_PLAIN &&
        value->number > mould->time_ms - AROUND_MS && value->number < mould->time_ms + AROUND_MS)
        value->role = YEAR_TIME;
    if (value->type != SQLITE_TEXT && value->type != SQLITE_BLOB)
        return;
    value->len = (uint32_t)sqlite3_column_bytes(stmt, i);
    value->bytes = malloc(value->len + 1);
    CHECK(value->bytes != NULL);
    if (value->len > 0)
        memcpy(value->bytes, sqlite3_column_blob(stmt, i), value->len);
    find_patches(mould, set, value);
}

/* Every row of the table that the condition names becomes part of the set. */
static void read_rows(sqlite3 *db, struct year_mould *mould, enum year_set set, const char *table,
                      const char *where)
{
    char sql[1024];
    sqlite3_stmt *stmt = NULL;
    snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE %s", table, where);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        year_die("%s: %s", sql, sqlite3_errmsg(db));
    uint32_t line = 0;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        mould->rows[set] =
            realloc(mould->rows[set], (mould->counts[set] + 1) * sizeof *mould->rows[set]);
        CHECK(mould->rows[set] != NULL);
        struct year_row *row = &mould->rows[set][mould->counts[set]++];
        *row =
            (struct year_row){.value_count = (uint32_t)sqlite3_column_count(stmt), .line = line++};
        snprintf(row->table, sizeof row->table, "%s", table);
        row->values = calloc(row->value_count, sizeof *row->values);
        CHECK(row->values != NULL);
        for (uint32_t i = 0; i < row->value_count; i++) {
            row->values[i].role = role_of(table, sqlite3_column_name(stmt, (int)i));
            read_value(mould, set, stmt, (int)i, &row->values[i]);
        }
    }
    sqlite3_finalize(stmt);
}

static void read_unit(sqlite3 *db, struct year_mould *mould, enum year_set set)
{
    unsigned long long from = mould->seq[set], to = from + mould->seqs[set];
    static const struct
    {
        const char *table, *column;
        int shift;
    } tables[] = {{"messages", "seq", 0}, {"runs", "seq", 0},   {"turns", "seq", 0},
                  {"steps", "id", 10},    {"outbox", "id", 16}, {"approvals", "run", 0},
                  {"waits", "run", 0}};
    char where[128];
    for (size_t i = 0; i < SMA_COUNT_OF(tables); i++) {
        snprintf(where, sizeof where, "%s>=%llu AND %s<%llu ORDER BY %s", tables[i].column,
                 from << tables[i].shift, tables[i].column, to << tables[i].shift,
                 tables[i].column);
        read_rows(db, mould, set, tables[i].table, where);
    }
}

static void read_person(sqlite3 *db, struct year_mould *mould, enum year_set set)
{
    char where[256];
    unsigned long long id = mould->id[set];
    snprintf(where, sizeof where, "key LIKE '%%:%llu'", id);
    read_rows(db, mould, set, "chats", where);
    snprintf(where, sizeof where, "person='%llu'", id);
    read_rows(db, mould, set, "contacts", where);
    if (set == YEAR_OWNER)
        snprintf(where, sizeof where, "key LIKE '%%/%llu'", id);
    else
        snprintf(where, sizeof where, "key LIKE '%%%llu%%' OR value LIKE '%%%llu%%'", id, id);
    read_rows(db, mould, set, "access", where);
    if (set != YEAR_PERSON)
        return;
    snprintf(where, sizeof where, "person LIKE '%%%llu%%'", id);
    read_rows(db, mould, set, "usage", where);
}

static void read_meta(sqlite3 *db, struct year_mould *mould)
{
    sqlite3_stmt *stmt = NULL;
    mould->meta = calloc(64, sizeof *mould->meta);
    CHECK(mould->meta != NULL &&
          sqlite3_prepare_v2(db,
                             "SELECT name,value FROM meta WHERE name NOT LIKE 'state.%' LIMIT 64",
                             -1, &stmt, NULL) == SQLITE_OK);
    for (int i = 0; sqlite3_step(stmt) == SQLITE_ROW; i++)
        for (int j = 0; j < 2; j++)
            snprintf(mould->meta[i][j], sizeof mould->meta[i][j], "%s",
                     (const char *)sqlite3_column_text(stmt, j));
    sqlite3_finalize(stmt);
}

static void read_text(sqlite3 *db, const char *sql, char *text, size_t max)
{
    sqlite3_stmt *stmt = NULL;
    CHECK(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
          sqlite3_step(stmt) == SQLITE_ROW);
    snprintf(text, max, "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

/* The last `count` lines of a chat's file. */
static void read_lines(const struct platform_world *world, struct year_mould *mould,
                       enum year_set set, struct year_value *lines, uint32_t count)
{
    char name[96];
    snprintf(name, sizeof name, ".ship/chats/telegram%%3Achat%%3A%llu.jsonl",
             (unsigned long long)mould->id[set]);
    char *text = folder_read(&world->world.folder, name);
    CHECK(text != NULL);
    char *end = text + strlen(text);
    while (count > 0) {
        char *start = end - 1;
        while (start > text && start[-1] != '\n')
            start--;
        struct year_value *line = &lines[--count];
        line->len = (uint32_t)(end - start);
        line->bytes = strndup(start, line->len);
        CHECK(line->bytes != NULL && line->len > 1);
        find_patches(mould, set, line);
        end = start;
    }
    free(text);
}

static void read_mould(const struct platform_world *world, struct year_mould *mould)
{
    sqlite3 *db = open_mould(world);
    read_text(db, "SELECT id FROM approvals", mould->approval, sizeof mould->approval);
    read_meta(db, mould);
    read_person(db, mould, YEAR_OWNER);
    read_person(db, mould, YEAR_PERSON);
    read_person(db, mould, YEAR_STRANGER);
    read_unit(db, mould, YEAR_TURN);
    read_unit(db, mould, YEAR_PARK);
    read_unit(db, mould, YEAR_STRANGER);
    mould->line_count = 2;
    read_lines(world, mould, YEAR_TURN, mould->lines, 2);
    read_lines(world, mould, YEAR_STRANGER, &mould->stranger_line, 1);
    sqlite3_close(db);
}

void year_mould_make(const struct year_options *options, struct year_mould *ret_mould)
{
    struct platform_world world;
    struct year_mould mould = {.time_ms = 0};
    approval_create(&world, options->model, &(struct approval_options){.permissions = NULL});
    number_rows_high(&world);
    add_person(&world, PERSON);
    add_person(&world, ASKER);
    add_person(&world, STRANGER);
    mould.time_ms = (int64_t)time(NULL) * 1000;
    service_start(&world.world.service, options->binary, &world.world.folder);
    platform_world_await_ready(&world);
    live(&world, options, &mould);
    CHECK_INT(0, service_stop(&world.world.service));
    read_mould(&world, &mould);
    CHECK(mould.seqs[YEAR_TURN] > 0 && mould.seqs[YEAR_PARK] > 0 && mould.seqs[YEAR_STRANGER] > 0);
    server_stop(world.world.fake);
    fake_telegram_stop(world.client.fake);
    folder_remove(&world.world.folder);
    *ret_mould = mould;
}

static void free_value(struct year_value *value)
{
    free(value->bytes);
    free(value->patches);
}

void year_mould_end(struct year_mould *mould)
{
    for (int set = 0; set < YEAR_SET_COUNT; set++) {
        for (uint32_t i = 0; i < mould->counts[set]; i++) {
            for (uint32_t j = 0; j < mould->rows[set][i].value_count; j++)
                free_value(&mould->rows[set][i].values[j]);
            free(mould->rows[set][i].values);
        }
        free(mould->rows[set]);
    }
    for (uint32_t i = 0; i < mould->line_count; i++)
        free_value(&mould->lines[i]);
    free_value(&mould->stranger_line);
    free(mould->meta);
}
