/* Multiplying the mould: rows into state.db, lines into the files of the history. */
#include "year.h"

#include "runtime/chat/state_priv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- one value --------------------------------------------------------------------------------- */
static void put_digits(char *to, uint64_t number, int count)
{
    for (int i = count; i-- > 0; number /= 10)
        to[i] = (char)('0' + number % 10);
}

static uint64_t digits_at(const char *from, int count)
{
    uint64_t number = 0;
    for (int i = 0; i < count; i++)
        number = number * 10 + (uint64_t)(from[i] - '0');
    return number;
}

static int64_t moved_time(const struct year_case *of, int64_t time_ms)
{
    return time_ms - of->mould->time_ms + of->time_ms;
}

static void patch(char *at, enum year_patch_kind kind, const struct year_case *of)
{
    static const char alphabet[] = "ACDEFGHJKMNPQRTUVWXY34679", hex[] = "0123456789abcdef";
    uint64_t left = (uint64_t)of->number;
    int64_t time_ms;
    switch (kind) {
    case YEAR_PATCH_ID:
        put_digits(at, of->id, 10);
        break;
    case YEAR_PATCH_MESSAGE:
        put_digits(at, of->message + digits_at(at, 8) % 1000, 8);
        break;
    case YEAR_PATCH_SEQ:
        put_digits(at, of->seq + digits_at(at, 8) - of->mould->seq[of->set], 8);
        break;
    case YEAR_PATCH_TIME:
        put_digits(at, (uint64_t)moved_time(of, (int64_t)digits_at(at, 13)), 13);
        break;
    case YEAR_PATCH_TIME_BYTES:
        memcpy(&time_ms, at, sizeof time_ms);
        time_ms = moved_time(of, time_ms);
        memcpy(at, &time_ms, sizeof time_ms);
        break;
    case YEAR_PATCH_APPROVAL:
        for (int i = 0; i < 32; i++) { /* as random as the service's */
            left = (left ^ left >> 29) * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)of->number;
            at[i] = hex[left >> 60];
        }
        break;
    case YEAR_PATCH_CODE:
        for (int i = 7; i >= 0; i--, left /= 25)
            at[i] = alphabet[left % 25];
        break;
    }
}

struct sma_str year_patched(const struct year_value *value, const struct year_case *of)
{
    static char bytes[1 << 20];
    if (value->patch_count == 0)
        return (struct sma_str){value->bytes, value->len};
    if (value->len > sizeof bytes)
        year_die("a row of the mould is too long");
    memcpy(bytes, value->bytes, value->len);
    for (uint32_t i = 0; i < value->patch_count; i++)
        patch(bytes + value->patches[i].at, value->patches[i].kind, of);
    return (struct sma_str){bytes, value->len};
}

static int64_t last_own_id;

static int64_t number_of(const struct year_row *row, const struct year_value *value,
                         const struct year_case *of)
{
    uint64_t first = of->mould->seq[of->set], number = (uint64_t)value->number;
    switch (value->role) {
    case YEAR_SEQ:
        return number == 0 ? 0 : (int64_t)(number - first + of->seq);
    case YEAR_SEQ_STEP:
        return (int64_t)(number - (first << 10) + (of->seq << 10));
    case YEAR_SEQ_OUTBOX:
        return (int64_t)(number - (first << 16) + (of->seq << 16));
    case YEAR_CHAT:
        return value->number <= 1 ? value->number : of->chat; /* 1: the owner's, 0: none */
    case YEAR_DAY:
        return of->time_ms / 86400000;
    case YEAR_PLACE:
        return (int64_t)of->places[row->line % 4];
    case YEAR_GENERATION:
        return of->generation;
    case YEAR_OWN_ID: /* a person may have several rows: one in each chat */
        return ++last_own_id;
    case YEAR_TIME:
        return moved_time(of, value->number);
    default:
        return value->number;
    }
}

/* -- rows -------------------------------------------------------------------------------------- */
static sqlite3 *db;

static void run_sql(const char *sql)
{
    char *error = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        year_die("%s: %s", sql, error);
}

static void prepare(struct year_mould *mould)
{
    for (int set = 0; set < YEAR_SET_COUNT; set++) {
        for (uint32_t i = 0; i < mould->counts[set]; i++) {
            struct year_row *row = &mould->rows[set][i];
            char sql[512];
            int len = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(?", row->table);
            for (uint32_t j = 1; j < row->value_count; j++)
                len += snprintf(sql + len, sizeof sql - (size_t)len, ",?");
            snprintf(sql + len, sizeof sql - (size_t)len, ")");
            if (sqlite3_prepare_v2(db, sql, -1, &row->insert, NULL) != SQLITE_OK)
                year_die("%s: %s", sql, sqlite3_errmsg(db));
        }
    }
}

static void finish(struct year_mould *mould)
{
    for (int set = 0; set < YEAR_SET_COUNT; set++)
        for (uint32_t i = 0; i < mould->counts[set]; i++)
            sqlite3_finalize(mould->rows[set][i].insert);
}

static void insert(const struct year_row *row, const struct year_case *of)
{
    for (uint32_t i = 0; i < row->value_count; i++) {
        const struct year_value *value = &row->values[i];
        int at = (int)i + 1;
        if (value->type == SQLITE_INTEGER) {
            sqlite3_bind_int64(row->insert, at, number_of(row, value, of));
        } else if (value->type == SQLITE_NULL) {
            sqlite3_bind_null(row->insert, at);
        } else {
            struct sma_str bytes = year_patched(value, of);
            if (value->type == SQLITE_TEXT)
                sqlite3_bind_text(row->insert, at, bytes.ptr, (int)bytes.len, SQLITE_TRANSIENT);
            else
                sqlite3_bind_blob(row->insert, at, bytes.ptr, (int)bytes.len, SQLITE_TRANSIENT);
        }
    }
    if (sqlite3_step(row->insert) != SQLITE_DONE)
        year_die("insert into %s: %s", row->table, sqlite3_errmsg(db));
    sqlite3_reset(row->insert);
}

/* table NULL: all of the set; else only this one, or (is_but) all others. */
static void insert_set(const struct year_mould *mould, enum year_set set, const char *table,
                       bool is_but, struct year_case *of)
{
    of->set = set;
    of->mould = mould;
    for (uint32_t i = 0; i < mould->counts[set]; i++)
        if (table == NULL || (strcmp(mould->rows[set][i].table, table) == 0) != is_but)
            insert(&mould->rows[set][i], of);
}

static void write_people(const struct year_plan *plan, const struct year_mould *mould)
{
    const struct year_options *options = plan->options;
    struct year_case of = {.chat = 1, .number = 1, .time_ms = mould->time_ms};
    insert_set(mould, YEAR_OWNER, NULL, false, &of);
    for (uint64_t chat = 0; chat < options->chats; chat++) {
        year_case_of(plan, mould, chat, year_count_of(plan, chat) - 1, &of);
        of.number = (int64_t)chat + 2;
        /* as the chat's record has it: rotations so far */
        uint64_t lines = year_count_of(plan, chat) * mould->line_count;
        of.generation = (uint32_t)(lines <= 1000 ? 0 : (lines - 1001) / 500 + 1);
        insert_set(mould, YEAR_PERSON, "usage", true, &of);
    }
    for (uint64_t person = options->chats; person < options->people; person++) {
        year_case_of(plan, mould, person % options->chats, 0, &of);
        of.id = YEAR_ID_FIRST + person;
        of.number = (int64_t)person + 2;
        insert_set(mould, YEAR_PERSON, "contacts", false, &of);
        insert_set(mould, YEAR_PERSON, "access", false, &of);
    }
}

/* A chat's record keeps the number of rotations: it is no column that a turn has. */
static void write_generations(const struct year_plan *plan)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, "UPDATE chats SET generation=?2 WHERE id=?1", -1, &stmt, NULL) !=
        SQLITE_OK)
        year_die("%s", sqlite3_errmsg(db));
    for (uint64_t chat = 0; chat < plan->options->chats; chat++) {
        uint64_t lines = year_count_of(plan, chat) * 2;
        if (lines <= 1000)
            break; /* classes come in order of how much they say */
        sqlite3_bind_int64(stmt, 1, (int64_t)chat + 2);
        sqlite3_bind_int64(stmt, 2, (int64_t)((lines - 1001) / 500 + 1));
        if (sqlite3_step(stmt) != SQLITE_DONE)
            year_die("%s", sqlite3_errmsg(db));
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
}

static void write_usage(const struct year_plan *plan, const struct year_mould *mould)
{
    for (uint32_t day = 0; day < plan->options->days; day++) {
        for (uint64_t i = 0; i < 1024 && i < plan->options->chats; i++) {
            struct year_case of;
            year_case_of(plan, mould, (day * 37 + i) % plan->options->chats, 0, &of);
            of.time_ms = plan->start_ms + (int64_t)day * 86400000;
            insert_set(mould, YEAR_PERSON, "usage", false, &of);
        }
    }
}

/* The newest messages are there whole. Of older ones only the turns are left. */
static void write_turns(const struct year_plan *plan, const struct year_mould *mould)
{
    const struct year_options *options = plan->options;
    uint64_t total = plan->before[plan->rounds];
    uint64_t first_kept = total > options->claims ? total - options->claims : 0;
    for (uint64_t round = 0; round < plan->rounds; round++) {
        uint64_t k, index = plan->before[round];
        for (uint64_t chat = 0; (chat = year_next_chat(plan, round, chat, &k)) < options->chats;
             chat++, index++) {
            bool has_turn = k + options->turns >= year_count_of(plan, chat);
            if (!has_turn && index < first_kept)
                continue;
            struct year_case of;
            year_case_of(plan, mould, chat, k, &of);
            if (index >= first_kept)
                insert_set(mould, YEAR_TURN, "turns", true, &of);
            if (has_turn)
                insert_set(mould, YEAR_TURN, "turns", false, &of);
        }
    }
}

/* In chats that say little, one each: what waits for a decision. @return the next free seq */
static uint64_t write_parked(const struct year_plan *plan, const struct year_mould *mould,
                             uint64_t seq)
{
    const struct year_options *options = plan->options;
    for (uint64_t i = 0; i < options->parked; i++) {
        struct year_case of;
        year_case_of(plan, mould, options->chats - 1 - i % options->chats, 0, &of);
        of.seq = seq;
        of.message = 95000000;
        of.time_ms = (int64_t)(plan->start_ms + (int64_t)options->days * 86400000 - 60000);
        of.number = (int64_t)i + 1;
        insert_set(mould, YEAR_PARK, NULL, false, &of);
        seq += mould->seqs[YEAR_PARK];
    }
    return seq;
}

static uint64_t write_strangers(const struct year_plan *plan, const struct year_mould *mould,
                                uint64_t seq)
{
    const struct year_options *options = plan->options;
    int64_t end_ms = plan->start_ms + (int64_t)options->days * 86400000;
    for (uint64_t i = 0; i < options->strangers; i++) {
        struct year_case of = {.id = YEAR_STRANGER_ID_FIRST + i,
                               .seq = seq,
                               .message = 10000000,
                               .time_ms = end_ms - (int64_t)(options->strangers - i) * 10,
                               .chat = (uint32_t)(options->chats + 2 + i),
                               .number = (int64_t)(options->people + options->chats + 2 + i)};
        bool is_paired_for = options->strangers - i <= SMA_PAIRING_COUNT_MAX;
        insert_set(mould, YEAR_STRANGER, is_paired_for ? NULL : "access", !is_paired_for, &of);
        seq += mould->seqs[YEAR_STRANGER];
    }
    return seq;
}

static void write_grants(const struct year_plan *plan)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db,
                           "INSERT INTO grants(id,chat,created,until,tool,rule,person) "
                           "SELECT ?1,id,?3,0,'exec_shell',?4,'telegram:1001' FROM chats "
                           "WHERE key=?2",
                           -1, &stmt, NULL) != SQLITE_OK)
        year_die("%s", sqlite3_errmsg(db));
    for (uint64_t i = 0; i < plan->options->grants; i++) {
        char id[40], key[64], rule[64];
        snprintf(id, sizeof id, "%032llx", (unsigned long long)i * 2654435761u);
        snprintf(key, sizeof key, "telegram:chat:%llu",
                 (unsigned long long)(YEAR_ID_FIRST + i % plan->options->chats));
        snprintf(rule, sizeof rule, "=git push %llu",
                 (unsigned long long)(i / plan->options->chats));
        sqlite3_bind_text(stmt, 1, id, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(stmt, 2, key, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(stmt, 3, plan->start_ms + (int64_t)i * 1000);
        sqlite3_bind_text(stmt, 4, rule, -1, SQLITE_TRANSIENT);
        if (sqlite3_step(stmt) != SQLITE_DONE || sqlite3_changes(db) != 1)
            year_die("a permission of %s: %s", key, sqlite3_errmsg(db));
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
}

static void write_meta(const struct year_mould *mould)
{
    for (int i = 0; i < 64 && mould->meta[i][0][0] != '\0'; i++) {
        char *sql = sqlite3_mprintf("INSERT OR REPLACE INTO meta(name,value) VALUES(%Q,%Q)",
                                    mould->meta[i][0], mould->meta[i][1]);
        run_sql(sql);
        sqlite3_free(sql);
    }
}

/* -- by the library ---------------------------------------------------------------------------- */
static struct sma_state *open_state(const char *path)
{
    struct sma_state *state = NULL;
    struct sma_error error = {0};
    struct sma_state_options options = {
        .path = path, .is_single_threaded = true, .is_durability_none = true};
    if (sma_state_open(&options, &state, &error) != SMA_ERR_OK)
        year_die("%s", error.text);
    return state;
}

/* The claims are made from the rows, the marks from both: nothing is open but what was written as
 * open. */
static void make_claims(const char *path, uint32_t days)
{
    struct sma_state *state = open_state(path);
    state->uptime_base_ms = (uint64_t)days * 86400000;
    sma_state_set_history_flushed(state, sma_state_next_seq(state) - 1);
    if (sma_state_begin(state) != SMA_ERR_OK ||
        sma_state_meta_set(state, SMA_STR("year.made"), SMA_STR("1")) != SMA_ERR_OK ||
        sma_state_commit(state) != SMA_ERR_OK)
        year_die("%s", sma_state_error(state)->text);
    sma_state_close(state, true);
}

void year_write_database(const struct year_plan *plan, struct year_mould *mould)
{
    char path[512], sql[256];
    snprintf(path, sizeof path, "%s/.ship/state.db", plan->options->out);
    sma_state_close(open_state(path), true); /* the schema */
    if (sqlite3_open(path, &db) != SQLITE_OK)
        year_die("%s: %s", path, sqlite3_errmsg(db));
    run_sql("PRAGMA journal_mode=OFF");
    run_sql("PRAGMA synchronous=OFF;PRAGMA cache_size=-262144;PRAGMA locking_mode=EXCLUSIVE;BEGIN");
    prepare(mould);
    write_meta(mould);
    write_people(plan, mould);
    write_generations(plan);
    write_usage(plan, mould);
    write_grants(plan);
    write_turns(plan, mould);
    uint64_t seq = YEAR_SEQ_FIRST + plan->before[plan->rounds] * plan->width;
    seq = write_strangers(plan, mould, seq);
    (void)write_parked(plan, mould, seq);
    snprintf(
        sql, sizeof sql,
        "UPDATE outbox SET state=0,begun=0,parts_done=0,parts=0,attempts=0,error='' WHERE id IN"
        "(SELECT id FROM outbox WHERE chat>1 ORDER BY id DESC LIMIT %llu)",
        (unsigned long long)plan->options->deliveries);
    run_sql(sql);
    finish(mould);
    run_sql("COMMIT");
    sqlite3_close(db);
    make_claims(path, plan->options->days);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        year_die("%s: %s", path, sqlite3_errmsg(db));
    /* Claims are as old as their messages. */
    run_sql("UPDATE claims SET uptime=max(0,uptime-(SELECT max(id) FROM claims)*60000+id*60000)");
    sqlite3_close(db);
}

/* -- history ----------------------------------------------------------------------------------- */
struct file
{
    char *bytes;
    size_t len, cap;
};

static void put_line(struct file *file, struct sma_str line)
{
    if (file->len + line.len > file->cap) {
        file->cap = (file->len + line.len) * 2;
        file->bytes = realloc(file->bytes, file->cap);
        if (file->bytes == NULL)
            year_die("no memory");
    }
    memcpy(file->bytes + file->len, line.ptr, line.len);
    file->len += line.len;
}

static void save(const struct year_options *options, uint64_t id, unsigned archive,
                 struct file *file)
{
    char path[600], ending[40] = "";
    if (archive > 0)
        snprintf(ending, sizeof ending, ".archive-%u", archive);
    snprintf(path, sizeof path, "%s/.ship/chats/telegram%%3Achat%%3A%llu%s.jsonl", options->out,
             (unsigned long long)id, ending);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, file->bytes, file->len) != (ssize_t)file->len)
        year_die("%s cannot be written", path);
    close(fd);
    file->len = 0;
}

static void write_chat(const struct year_plan *plan, const struct year_mould *mould, uint64_t chat,
                       struct file *file)
{
    uint64_t count = year_count_of(plan, chat), lines = count * mould->line_count, line = 0;
    uint64_t archives = lines <= 1000 ? 0 : (lines - 1001) / 500 + 1;
    unsigned archive = 1;
    for (uint64_t k = 0; k < count; k++) {
        struct year_case of;
        year_case_of(plan, mould, chat, k, &of);
        for (uint32_t i = 0; i < mould->line_count; i++, line++) {
            if (line > 0 && line % 500 == 0 && archive <= archives)
                save(plan->options, YEAR_ID_FIRST + chat, archive++, file);
            put_line(file, year_patched(&mould->lines[i], &of));
        }
    }
    if (file->len > 0)
        save(plan->options, YEAR_ID_FIRST + chat, 0, file);
}

void year_write_history(const struct year_plan *plan, const struct year_mould *mould)
{
    struct file file = {NULL, 0, 0};
    for (uint64_t chat = 0; chat < plan->options->chats; chat++)
        write_chat(plan, mould, chat, &file);
    for (uint64_t i = 0; i < plan->options->strangers; i++) {
        struct year_case of = {.id = YEAR_STRANGER_ID_FIRST + i,
                               .message = 10000000,
                               .time_ms = mould->time_ms,
                               .mould = mould,
                               .set = YEAR_STRANGER};
        put_line(&file, year_patched(&mould->stranger_line, &of));
        save(plan->options, of.id, 0, &file);
    }
    free(file.bytes);
}
