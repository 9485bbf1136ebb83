/* memory_index.c — see memory_index.h. */
#include "runtime/memory/memory_index.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VERSION 2
#define GUEST_WAIT_MS 200
#define QUOTE(x) #x
#define NUMBER(x) QUOTE(x)

/* words: contentless, so that no text stands in the file twice; what is taken out of it is said
 * again. */
static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE files(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, person TEXT NOT NULL,"
    " stamp TEXT NOT NULL);"
    "CREATE TABLE audiences(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "CREATE TABLE facts(number INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, audience"
    " INTEGER NOT NULL, file INTEGER NOT NULL, place INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " importance INTEGER NOT NULL, grp TEXT NOT NULL, tags TEXT NOT NULL, text TEXT NOT NULL);"
    "CREATE INDEX facts_audience ON facts(audience, importance);"
    "CREATE INDEX facts_file ON facts(file, place);"
    "CREATE VIRTUAL TABLE words USING fts5(w, content='', tokenize='porter unicode61');"
    "PRAGMA user_version=" NUMBER(VERSION) ";"
                                           "COMMIT;";

#define FACT "f.id, f.kind, f.importance, f.text, f.tags, l.person, f.grp"
#define OF_FILE " FROM facts f JOIN files l ON l.id=f.file "

static const char *const sql[MEMORY_STATEMENT_COUNT] = {
    [MEMORY_GET_FILE] = "SELECT id, stamp FROM files WHERE name=?1",
    [MEMORY_PUT_FILE] = "INSERT INTO files(name, person, stamp) VALUES(?1, ?2, ?3)"
                        " ON CONFLICT(name) DO UPDATE SET person=?2, stamp=?3",
    [MEMORY_DROP_FILE] = "DELETE FROM files WHERE name=?1",
    [MEMORY_ALL_FILES] = "SELECT name FROM files ORDER BY id",
    [MEMORY_FILES_OF_AUDIENCE] =
        "SELECT name, person FROM files WHERE id IN (SELECT file FROM facts WHERE audience=?1)",
    [MEMORY_GET_AUDIENCE] = "SELECT id FROM audiences WHERE name=?1",
    [MEMORY_ADD_AUDIENCE] = "INSERT INTO audiences(name) VALUES(?1)",
    [MEMORY_KNOWN] = "SELECT number, id, place, kind, tags FROM facts WHERE file=?1",
    [MEMORY_FACT] = "SELECT number, audience, tags FROM facts WHERE id=?1",
    [MEMORY_FACT_AT] = "SELECT audience, tags, text FROM facts WHERE number=?1",
    [MEMORY_LAST] = "SELECT max(number) FROM facts",
    [MEMORY_ADD_FACT] = "INSERT INTO facts(number, id, audience, file, place, kind, importance,"
                        " grp, tags, text) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [MEMORY_SET_FACT] = "UPDATE facts SET place=?2, kind=?3 WHERE number=?1",
    [MEMORY_DROP_FACT] = "DELETE FROM facts WHERE number=?1",
    [MEMORY_ADD_WORDS] = "INSERT INTO words(rowid, w) VALUES(?1, ?2)",
    [MEMORY_DROP_WORDS] = "INSERT INTO words(words, rowid, w) VALUES('delete', ?1, ?2)",
    [MEMORY_POSTINGS] = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid<?2"
                        " ORDER BY rowid DESC LIMIT ?3",
    [MEMORY_SIZE] = "SELECT count(*) FROM (SELECT 1 FROM facts WHERE audience=?1 LIMIT ?2)",
    [MEMORY_ROW] = "SELECT " FACT OF_FILE "WHERE f.number=?1 AND f.audience IN (?2, ?3)",
    [MEMORY_FIND_IMPORTANT] = "SELECT " FACT OF_FILE "WHERE f.audience=?1 AND f.importance>=?2"
                              " ORDER BY f.importance DESC, f.place DESC LIMIT ?3",
    [MEMORY_LIST] = "SELECT " FACT OF_FILE "WHERE f.audience IN (?1, ?2)"
                    " ORDER BY f.file, f.place LIMIT ?4 OFFSET ?3",
    [MEMORY_LIST_OWN] = "SELECT " FACT OF_FILE "WHERE f.audience=?1 AND l.person=?2"
                        " ORDER BY f.place LIMIT ?4 OFFSET ?3",
    [MEMORY_LIST_FILE] = "SELECT " FACT OF_FILE "WHERE l.name=?1 ORDER BY f.place",
};

/* -- SQLite ------------------------------------------------------------------------------------ */
enum sma_err memory_index_fail(struct memory_index *index, int code, struct sma_error *error)
{
    const char *text = index->db != NULL ? sqlite3_errmsg(index->db) : sqlite3_errstr(code);
    enum sma_err err = SMA_ERR_IO;
    switch (code & 0xFF) {
    case SQLITE_NOMEM:
        err = SMA_ERR_NOMEM;
        break;
    case SQLITE_FULL:
        err = SMA_ERR_NOSPACE;
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* tables of ours that are not there */
    case SQLITE_CONSTRAINT:
        index->is_damaged = true;
        err = SMA_ERR_CORRUPT;
        break;
    default:
        break;
    }
    return sma_fail(error, err, "the index of the memory: %s", text);
}

sqlite3_stmt *memory_statement(struct memory_index *index, enum memory_statement which,
                               struct sma_error *error)
{
    sqlite3_stmt **statement = &index->statements[which];
    if (*statement != NULL) {
        sqlite3_reset(*statement);
        sqlite3_clear_bindings(*statement);
        return *statement;
    }
    int code =
        sqlite3_prepare_v3(index->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    if (code != SQLITE_OK)
        (void)memory_index_fail(index, code, error); /* NULL says it */
    return *statement;
}

void memory_bind(sqlite3_stmt *statement, int place, struct sma_str text)
{
    /* a failure leaves NULL there, which fits nothing */
    (void)sqlite3_bind_text(statement, place, text.len == 0 ? "" : text.ptr, (int)text.len,
                            SQLITE_STATIC);
}

struct sma_str memory_column(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return (struct sma_str){text,
                            text == NULL ? 0 : (size_t)sqlite3_column_bytes(statement, column)};
}

enum sma_err memory_index_run(struct memory_index *index, const char *text, struct sma_error *error)
{
    int code = sqlite3_exec(index->db, text, NULL, NULL, NULL);
    return code == SQLITE_OK ? SMA_ERR_OK : memory_index_fail(index, code, error);
}

enum sma_err memory_index_step(struct memory_index *index, sqlite3_stmt *statement,
                               struct sma_error *error)
{
    if (statement == NULL)
        return error->code;
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SMA_ERR_OK
                                                     : memory_index_fail(index, code, error);
}

void memory_index_close(struct memory_index *index)
{
    for (int i = 0; i < MEMORY_STATEMENT_COUNT; i++)
        sqlite3_finalize(index->statements[i]);
    sqlite3_close(index->db);
    *index = (struct memory_index){.is_guest = index->is_guest};
}

static int version_of(struct memory_index *index)
{
    sqlite3_stmt *statement = NULL;
    int version = -1;
    if (sqlite3_prepare_v2(index->db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        version = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return version;
}

/* Its owner alone holds it open: no other process waits for it, and none may change it. */
static SMA_CHECKED enum sma_err open_once(struct memory_index *index, const char *path,
                                          struct sma_error *error)
{
    int code = sqlite3_open_v2(
        path, &index->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return memory_index_fail(index, code, error);
    sqlite3_busy_timeout(index->db, index->is_guest ? GUEST_WAIT_MS : 2000);
    SMA_TRY(memory_index_run(index,
                             "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                             "PRAGMA cache_size=-4096; PRAGMA temp_store=MEMORY;"
                             "PRAGMA secure_delete=ON;",
                             error));
    int version = version_of(index);
    if (version == 0) {
        /* another one may have made it just now: then this fails, and the version tells */
        code = sqlite3_exec(index->db, schema, NULL, NULL, NULL);
        if (code != SQLITE_OK)
            sqlite3_exec(index->db, "ROLLBACK", NULL, NULL, NULL);
        version = version_of(index);
        if (version != VERSION)
            return memory_index_fail(index, code, error);
    }
    return version == VERSION ? SMA_ERR_OK
                              : sma_fail(error, SMA_ERR_CORRUPT, "%s is of another version", path);
}

static void remove_files(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < SMA_COUNT_OF(endings); i++) {
        char name[4096];
        if (snprintf(name, sizeof name, "%s%s", path, endings[i]) < (int)sizeof name)
            (void)unlink(name); /* not there, or opening fails again and says why */
    }
}

enum sma_err memory_index_open(struct memory_index *index, const char *path,
                               struct sma_error *error)
{
    if (sqlite3_compileoption_used("ENABLE_FTS5") == 0)
        return sma_fail(error, SMA_ERR_UNSUPPORTED,
                        "this SQLite has no full-text search (FTS5): memory is off");
    enum sma_err err = open_once(index, path, error);
    if (err == SMA_ERR_CORRUPT && !index->is_guest) {
        memory_index_close(index);
        remove_files(path);
        err = open_once(index, path, error);
    }
    if (err != SMA_ERR_OK)
        memory_index_close(index);
    return err;
}

/* -- audiences --------------------------------------------------------------------------------- */
void memory_put_audience(struct sma_buf *buf, struct sma_str person, struct sma_str group)
{
    if (group.len > 0) {
        sma_buf_put_text(buf, "g:");
        sma_buf_put_str(buf, group);
    } else if (person.len > 0) {
        sma_buf_put_text(buf, "p:");
        sma_buf_put_str(buf, person);
    }
}

enum sma_err memory_index_audience(struct memory_index *index, struct sma_str name, bool is_made,
                                   int64_t *ret_audience, struct sma_error *error)
{
    sqlite3_stmt *get = memory_statement(index, MEMORY_GET_AUDIENCE, error);
    if (get == NULL)
        return error->code;
    memory_bind(get, 1, name);
    int code = sqlite3_step(get);
    if (code == SQLITE_ROW)
        *ret_audience = sqlite3_column_int64(get, 0);
    sqlite3_reset(get);
    if (code == SQLITE_ROW)
        return SMA_ERR_OK;
    if (code != SQLITE_DONE)
        return memory_index_fail(index, code, error);
    if (!is_made)
        return SMA_ERR_NOTFOUND;
    sqlite3_stmt *add = memory_statement(index, MEMORY_ADD_AUDIENCE, error);
    if (add == NULL)
        return error->code;
    memory_bind(add, 1, name);
    SMA_TRY(memory_index_step(index, add, error));
    *ret_audience = sqlite3_last_insert_rowid(index->db);
    return SMA_ERR_OK;
}

/* Deleted words stay in old segments of FTS5 until those are merged: all of them are, page by page.
 * A question looks into every segment, so that one alone is also what makes it fast.
 * A call that changes nothing but its own row was the last. */
enum sma_err memory_index_scrub(struct memory_index *index, bool is_first, bool *ret_is_done,
                                struct sma_error *error)
{
    int before = sqlite3_total_changes(index->db);
    SMA_TRY(memory_index_run(index,
                             is_first ? "INSERT INTO words(words, rank) VALUES('merge', -300)"
                                      : "INSERT INTO words(words, rank) VALUES('merge', 300)",
                             error));
    *ret_is_done = !is_first && sqlite3_total_changes(index->db) - before < 2;
    if (!*ret_is_done)
        return SMA_ERR_OK;
    index->wants_merge = false;
    index->added_count = 0;
    /* busy: a reader is at it, and what it reads goes with the next checkpoint */
    (void)sqlite3_wal_checkpoint_v2(index->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return SMA_ERR_OK;
}

uint64_t memory_fact_id(struct sma_str person, struct sma_str group, struct sma_str text)
{
    static const uint8_t key[16] = "memory of people";
    uint64_t parts[3] = {sma_siphash(key, person.len == 0 ? "" : person.ptr, person.len),
                         sma_siphash(key, group.len == 0 ? "" : group.ptr, group.len),
                         sma_siphash(key, text.len == 0 ? "" : text.ptr, text.len)};
    uint64_t id = sma_siphash(key, parts, sizeof parts) >> 1;
    return id == 0 ? 1 : id;
}
