/* The schema as a list of migrations, and the prepared statements. */
#include "runtime/chat/state_priv.h"

#include <stdlib.h>

/*
 * Migration i brings user_version i to i + 1. Never change one that was released: append.
 *
 * messages: small columns first, so that scans of heads never follow overflow pages. place NULL =
 * no line. steps.id = seq << 10 | number, outbox.id = seq << 16 | step << 6 | call: neighbours on
 * disk, appended in order. chats.moved: the chat that goes on under another key, of which this
 * record only keeps the former one; claims: the id that claims under this record's key are made
 * with, 0 = its own; place: the chat id since the last such change. outbox.salt: random, part of
 * the row's idempotency keys; 0 = of a version without it. outbox_open holds open deliveries only,
 * approvals_open open requests; no index beside the keys is part of accepting a message.
 * approvals.request goes when the request is decided; doc says who decided.
 * waits: parked runs that wait for a model. usage: sums, chat 0 = what found no room; usage of
 * steps and runs: what they used (state_usage.c), NULL = nothing; trace: what happened
 * (runtime/agent/trace.h), of a run once it is over. outbox.made, ended: wall ms, 0 = not known.
 * chats.seen: the day somebody wrote in it last. chats_rotating: those with a plan under way.
 * contacts_name: ASCII letters count as equal in both cases, as for people. turns_chat: with seq as
 * its second key, so that the newest turns of a chat are neighbours in it. chats_moved: records of
 * former keys. approvals_ended: requests that were decided, by when. asides: chats whose history
 * file cannot be written, and from which row on their lines wait. hours: the first seq of each hour
 * (since 1970): how old a row is (state_keep.h). runs.total: bytes of all results so far, this one
 * included; 0 = of a version without it.
 * grants: permissions that last (state_grants.h); until 0 = for good. They were records
 * "grant/<id>" of access. spent, shares: budgets (state_budget.h).
 * pasts: what was before the turns of a chat (runtime/agent/codec.h): seq of the run that made it,
 * first: of the oldest turn that it stands for.
 */
static const char *const migrations[] = {
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;"
    "CREATE TABLE chats(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, channel TEXT NOT NULL,"
    " generation INTEGER NOT NULL, stop_mark INTEGER NOT NULL, clear_mark INTEGER NOT NULL, "
    "rotation BLOB);"
    "CREATE TABLE messages(seq INTEGER PRIMARY KEY, chat INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " state INTEGER NOT NULL, attempt INTEGER NOT NULL, generation INTEGER NOT NULL, place INTEGER,"
    " run INTEGER NOT NULL, body INTEGER NOT NULL, event TEXT NOT NULL, person TEXT NOT NULL, line "
    "BLOB, facts BLOB);"
    "CREATE TABLE claims(id INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, uptime INTEGER NOT "
    "NULL,"
    " pairs BLOB NOT NULL);"
    "CREATE TABLE steps(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, data BLOB NOT NULL);"
    "CREATE TABLE runs(seq INTEGER PRIMARY KEY, outcome INTEGER NOT NULL, success INTEGER NOT NULL,"
    " wall INTEGER NOT NULL, output TEXT NOT NULL, tools TEXT NOT NULL);"
    "CREATE TABLE turns(seq INTEGER PRIMARY KEY, chat INTEGER NOT NULL, wire TEXT NOT NULL, "
    "message TEXT NOT NULL,"
    " turn BLOB NOT NULL);"
    "CREATE TABLE outbox(id INTEGER PRIMARY KEY, state INTEGER NOT NULL, begun INTEGER NOT NULL,"
    " renderer INTEGER NOT NULL, parts_done INTEGER NOT NULL, parts INTEGER NOT NULL, attempts "
    "INTEGER NOT NULL,"
    " chat INTEGER NOT NULL, intent INTEGER NOT NULL, channel TEXT NOT NULL, error TEXT NOT NULL,"
    " route BLOB NOT NULL, text TEXT NOT NULL);"
    "CREATE INDEX outbox_open ON outbox(state) WHERE state<=1;"
    "CREATE TABLE cursors(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE contacts(id INTEGER PRIMARY KEY, channel TEXT NOT NULL, name TEXT NOT NULL, chat "
    "TEXT NOT NULL,"
    " key TEXT NOT NULL, type TEXT NOT NULL, thread TEXT NOT NULL, person TEXT NOT NULL, message "
    "TEXT NOT NULL,"
    " wall INTEGER NOT NULL);"
    "CREATE TABLE access(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;",
    "ALTER TABLE chats ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE chats ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE chats ADD COLUMN place TEXT NOT NULL DEFAULT '';",
    "CREATE TABLE approvals(id TEXT PRIMARY KEY, run INTEGER NOT NULL, chat INTEGER NOT NULL,"
    " state INTEGER NOT NULL, step INTEGER NOT NULL, created INTEGER NOT NULL, left_ms INTEGER "
    "NOT NULL, responded INTEGER NOT NULL, request BLOB NOT NULL, doc BLOB NOT NULL);"
    "CREATE INDEX approvals_open ON approvals(run) WHERE state=0;",
    "ALTER TABLE outbox ADD COLUMN salt INTEGER NOT NULL DEFAULT 0;",
    "CREATE TABLE waits(run INTEGER PRIMARY KEY, due INTEGER NOT NULL, length INTEGER NOT NULL);"
    "CREATE TABLE learned(target TEXT NOT NULL, member TEXT NOT NULL, seen INTEGER NOT NULL,"
    " PRIMARY KEY(target,member)) WITHOUT ROWID;"
    "CREATE TABLE usage(day INTEGER NOT NULL, chat INTEGER NOT NULL, person TEXT NOT NULL,"
    " platform TEXT NOT NULL, target TEXT NOT NULL, requests INTEGER NOT NULL,"
    " input INTEGER NOT NULL, cached INTEGER NOT NULL, written INTEGER NOT NULL,"
    " output INTEGER NOT NULL, reasoning INTEGER NOT NULL, cost INTEGER NOT NULL,"
    " PRIMARY KEY(day,chat,person,platform,target)) WITHOUT ROWID;"
    "ALTER TABLE steps ADD COLUMN usage BLOB;"
    "ALTER TABLE runs ADD COLUMN usage BLOB;"
    "ALTER TABLE steps ADD COLUMN trace BLOB;"
    "ALTER TABLE runs ADD COLUMN trace BLOB;"
    "ALTER TABLE outbox ADD COLUMN made INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE outbox ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;",
    "CREATE INDEX turns_chat ON turns(chat);"
    "CREATE INDEX approvals_ended ON approvals(responded) WHERE state<>0;"
    "CREATE INDEX chats_moved ON chats(moved) WHERE moved<>0;"
    "CREATE TABLE asides(chat INTEGER PRIMARY KEY, from_seq INTEGER NOT NULL);"
    "CREATE TABLE hours(hour INTEGER PRIMARY KEY, seq INTEGER NOT NULL);"
    "ALTER TABLE runs ADD COLUMN total INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE chats ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;"
    "UPDATE chats SET seen=strftime('%s','now')/86400;"
    "CREATE INDEX chats_rotating ON chats(id) WHERE length(rotation)>0;"
    "CREATE INDEX contacts_name ON contacts(name COLLATE NOCASE);"
    "CREATE INDEX contacts_person ON contacts(person,channel);"
    "CREATE INDEX contacts_chat ON contacts(key);"
    "CREATE TABLE grants(seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, chat INTEGER NOT NULL,"
    " created INTEGER NOT NULL, until INTEGER NOT NULL, tool TEXT NOT NULL, rule TEXT NOT NULL,"
    " person TEXT NOT NULL);"
    "CREATE INDEX grants_chat ON grants(chat);"
    "CREATE INDEX grants_until ON grants(until) WHERE until>0;"
    "INSERT OR IGNORE INTO grants(id,chat,created,until,tool,rule,person)"
    " SELECT substr(key,7),chat,created,until,tool,rule,person FROM"
    " (SELECT a.key AS key,c.id AS chat,json_extract(a.value,'$.created') AS created,"
    "  json_extract(a.value,'$.until') AS until,json_extract(a.value,'$.tool') AS tool,"
    "  json_extract(a.value,'$.rule') AS rule,json_extract(a.value,'$.by') AS person"
    "  FROM access a JOIN chats c"
    "  ON c.key=CASE WHEN json_valid(a.value) THEN json_extract(a.value,'$.chatKey') END"
    "  WHERE a.key>='grant/' AND a.key<'grant0') ORDER BY created;"
    "DELETE FROM access WHERE key>='grant/' AND key<'grant0';",
    "CREATE TABLE spent(scope INTEGER NOT NULL, name TEXT NOT NULL, day INTEGER NOT NULL,"
    " tokens INTEGER NOT NULL, cost INTEGER NOT NULL, runs INTEGER NOT NULL,"
    " PRIMARY KEY(scope,name,day)) WITHOUT ROWID;"
    "CREATE INDEX spent_day ON spent(day);"
    "CREATE TABLE shares(seq INTEGER PRIMARY KEY, chat INTEGER NOT NULL, person TEXT NOT NULL,"
    " platform TEXT NOT NULL, tokens INTEGER NOT NULL, cost INTEGER NOT NULL,"
    " runs INTEGER NOT NULL);",
    "CREATE TABLE pasts(chat INTEGER PRIMARY KEY, seq INTEGER NOT NULL, first INTEGER NOT NULL,"
    " data BLOB NOT NULL);"
    "CREATE INDEX pasts_seq ON pasts(seq);",
    /* for /usage: of one person or chat, without the rows of all */
    "CREATE INDEX usage_person ON usage(person,day);"
    "CREATE INDEX usage_chat ON usage(chat,day);",
};
#define SCHEMA_VERSION ((int)SMA_COUNT_OF(migrations))

static const char *const statement_texts[SMA_SQL_COUNT] = {
#define X(name, sql) sql,
    SMA_STATE_SQL_MAP(X)
#undef X
};

static enum sma_err read_version(struct sma_state *state, int *ret_version)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(state->db, "PRAGMA user_version", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    int version = rc == SQLITE_ROW ? sqlite3_column_int(stmt, 0) : 0;
    (void)sqlite3_finalize(stmt); /* repeats the error of step */
    if (rc != SQLITE_ROW)
        return sma_state_fail(state, rc, "read the schema version");
    *ret_version = version;
    return SMA_ERR_OK;
}

static enum sma_err apply(struct sma_state *state, int version)
{
    char bump[64];
    sqlite3_snprintf(sizeof bump, bump, "PRAGMA user_version=%d", version + 1);
    const char *const parts[] = {"BEGIN IMMEDIATE", migrations[version], bump, "COMMIT"};
    for (size_t i = 0; i < SMA_COUNT_OF(parts); i++) {
        int rc = sqlite3_exec(state->db, parts[i], NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            continue;
        enum sma_err err = sma_state_fail(state, rc, "bring the schema up to date");
        (void)sqlite3_exec(state->db, "ROLLBACK", NULL, NULL,
                           NULL); /* fails when SQLite has rolled back itself */
        return err;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_state_migrate(struct sma_state *state)
{
    int version = 0;
    enum sma_err err = read_version(state, &version);
    if (err != SMA_ERR_OK)
        return err;
    if (version > SCHEMA_VERSION || version < 0)
        return sma_fail(
            &state->error, SMA_ERR_UNSUPPORTED,
            "%s has schema version %d, this program knows up to %d: it was written by a newer "
            "version; "
            "start that version, or move the file away (claims are rebuilt from history)",
            state->path, version, SCHEMA_VERSION);
    state->is_new = version == 0;
    for (; err == SMA_ERR_OK && version < SCHEMA_VERSION; version++)
        err = apply(state, version);
    return err;
}

sqlite3_stmt *sma_state_statement(struct sma_state *state, enum sma_state_sql sql)
{
    /* A reader that is entered again from its own callback would bind a statement in use, fail, and
     * take the row for missing; its reset frees what the outer reader still looks at. */
    SMA_ASSERT(state->statements[sql] == NULL || !sqlite3_stmt_busy(state->statements[sql]));
    if (state->statements[sql] == NULL) {
        int rc = sqlite3_prepare_v3(state->db, statement_texts[sql], -1, SQLITE_PREPARE_PERSISTENT,
                                    &state->statements[sql], NULL);
        if (rc != SQLITE_OK) {
            (void)sma_state_fail(state, rc,
                                 "prepare a statement"); /* the caller returns state->error.code */
            return NULL;
        }
    }
    return state->statements[sql];
}

void sma_state_done(sqlite3_stmt *stmt)
{
    (void)sqlite3_reset(stmt); /* repeats the error of step, which was seen there */
}

enum sma_err sma_state_run(struct sma_state *state, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_DONE) {
        (void)sqlite3_reset(stmt); /* cannot fail after DONE */
        return SMA_ERR_OK;
    }
    enum sma_err err = sma_state_fail(state, rc, sqlite3_sql(stmt));
    (void)sqlite3_reset(stmt); /* repeats the error */
    return err;
}

char *sma_state_own(struct sma_str *const *slices, size_t count)
{
    size_t bytes = 1; /* a row without text is owned too */
    for (size_t i = 0; i < count; i++)
        bytes += slices[i]->len;
    char *own = malloc(bytes);
    char *at = own;
    for (size_t i = 0; own != NULL && i < count; i++) {
        if (slices[i]->len > 0)
            memcpy(at, slices[i]->ptr, slices[i]->len);
        slices[i]->ptr = at;
        at += slices[i]->len;
    }
    return own;
}

void sma_state_bind(sqlite3_stmt *stmt, int index, struct sma_str bytes, bool is_text)
{
    /* Borrowed for the length of one step; binding to a valid index with a static pointer cannot
     * fail. */
    if (is_text)
        (void)sqlite3_bind_text64(stmt, index, bytes.len == 0 ? "" : bytes.ptr, bytes.len,
                                  SQLITE_STATIC, SQLITE_UTF8);
    else
        (void)sqlite3_bind_blob64(stmt, index, bytes.len == 0 ? "" : bytes.ptr, bytes.len,
                                  SQLITE_STATIC);
}

struct sma_str sma_state_column(sqlite3_stmt *stmt, int index)
{
    const char *ptr = sqlite3_column_blob(stmt, index);
    return (struct sma_str){ptr, ptr == NULL ? 0 : (size_t)sqlite3_column_bytes(stmt, index)};
}

enum sma_err sma_state_ask_pragma(struct sma_state *state, const char *text, uint64_t *ret_number)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(state->db, text, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    *ret_number = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    (void)sqlite3_finalize(stmt); /* repeats the error of step */
    return rc == SQLITE_ROW ? SMA_ERR_OK : sma_state_fail(state, rc, text);
}

void sma_state_close_connection(sqlite3 *db, bool is_fatal)
{
    if (is_fatal)
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    (void)sqlite3_close(db); /* BUSY only with open statements: there are none */
}

enum sma_err sma_state_ask_number(struct sma_state *state, sqlite3_stmt *stmt, uint64_t *ret_number)
{
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret_number = (uint64_t)sqlite3_column_int64(stmt, 0);
    sma_state_done(stmt);
    return rc == SQLITE_ROW    ? SMA_ERR_OK
           : rc == SQLITE_DONE ? SMA_ERR_NOTFOUND
                               : sma_state_fail(state, rc, "ask for a number");
}
