/* memory_work.c — which chats are to be read for facts, over restarts. See memory_priv.h. */
#include "memory_priv.h"

#include "sma/text.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUOTE(x) #x
#define NUMBER(x) QUOTE(x)
#define COLUMNS                                                                                  \
    "key, channel, chat_id, chat_type, user_id, user_name, is_group, urgent, seq, count, fails," \
    " talked_ms, extracted_ms, until_ms, answer, speakers"

struct memory_work
{
    sqlite3 *db;
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS chats(key TEXT PRIMARY KEY, channel TEXT NOT NULL, chat_id TEXT NOT"
    " NULL, chat_type TEXT NOT NULL, user_id TEXT NOT NULL, user_name TEXT NOT NULL, is_group"
    " INTEGER NOT NULL, urgent INTEGER NOT NULL, seq INTEGER NOT NULL, count INTEGER NOT NULL,"
    " fails INTEGER NOT NULL, talked_ms INTEGER NOT NULL, extracted_ms INTEGER NOT NULL,"
    " until_ms INTEGER NOT NULL, answer TEXT NOT NULL, speakers TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS chats_talked ON chats(talked_ms);"
    "CREATE INDEX IF NOT EXISTS chats_waiting ON chats(count) WHERE count>0;"
    "CREATE TABLE IF NOT EXISTS old(name TEXT PRIMARY KEY, stamp TEXT NOT NULL);";

/* Later columns. dropped_seq: a summary stands for what was said before it; read_seq: read so far;
 * next_ms: not before. */
static const char later[] = "BEGIN IMMEDIATE;"
                            "ALTER TABLE chats ADD COLUMN dropped_seq INTEGER NOT NULL DEFAULT 0;"
                            "ALTER TABLE chats ADD COLUMN read_seq INTEGER NOT NULL DEFAULT 0;"
                            "ALTER TABLE chats ADD COLUMN next_ms INTEGER NOT NULL DEFAULT 0;"
                            "COMMIT;";

/* -- SQLite ------------------------------------------------------------------------------------ */
static enum sma_err fail(struct sma_memory_actor *actor)
{
    struct memory_work *work = actor->work;
    if (!actor->is_broken)
        sma_ctx_log(actor->ctx, SMA_LOG_WARN,
                    "memory: which conversations are to be read cannot be kept: %s",
                    work == NULL ? "out of memory" : sqlite3_errmsg(work->db));
    actor->is_broken = true;
    return SMA_ERR_IO;
}

void memory_work_close(struct memory_work *work)
{
    if (work == NULL)
        return;
    sqlite3_close(work->db);
    free(work);
}

static bool has_later(struct memory_work *work)
{
    sqlite3_stmt *statement = NULL;
    bool has = sqlite3_prepare_v2(work->db, "SELECT next_ms FROM chats", -1, &statement, NULL) ==
               SQLITE_OK;
    sqlite3_finalize(statement);
    return has;
}

static bool open_file(struct memory_work *work, const char *path)
{
    return sqlite3_open_v2(path, &work->db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                           NULL) == SQLITE_OK &&
           sqlite3_exec(work->db,
                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                        "PRAGMA cache_size=-512; PRAGMA secure_delete=ON;",
                        NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_exec(work->db, schema, NULL, NULL, NULL) == SQLITE_OK &&
           (has_later(work) || sqlite3_exec(work->db, later, NULL, NULL, NULL) == SQLITE_OK);
}

/* What is damaged is put aside: conversations are read once more at worst. */
enum sma_err memory_work_open(struct sma_memory_actor *actor, bool is_made)
{
    char folder[4096], path[4200], aside[4300];
    struct stat stat;
    struct sma_error error;
    if (actor->work != NULL)
        return SMA_ERR_OK;
    (void)snprintf(folder, sizeof folder, "%s/memory", actor->config->state_dir);
    (void)snprintf(path, sizeof path, "%s/work.db", folder);
    if (!is_made && lstat(path, &stat) != 0)
        return SMA_ERR_NOTFOUND;
    SMA_TRY(sma_sys_make_dirs(actor->sys, folder, &error));
    actor->work = calloc(1, sizeof *actor->work);
    if (actor->work == NULL)
        return SMA_ERR_NOMEM;
    if (!open_file(actor->work, path)) {
        (void)fail(actor);
        sqlite3_close(actor->work->db);
        (void)snprintf(aside, sizeof aside, "%s.damaged", path);
        (void)rename(path, aside);
        if (!open_file(actor->work, path)) {
            memory_work_close(actor->work);
            actor->work = NULL;
            return SMA_ERR_IO;
        }
    }
    (void)chmod(path, 0600); /* it holds what a model said of people, for a moment */
    return SMA_ERR_OK;
}

static void bind(sqlite3_stmt *statement, int place, struct sma_str text)
{
    (void)sqlite3_bind_text(statement, place, text.len == 0 ? "" : text.ptr, (int)text.len,
                            SQLITE_TRANSIENT);
}

static sqlite3_stmt *prepare(struct sma_memory_actor *actor, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(actor->work->db, sql, -1, &statement, NULL) != SQLITE_OK)
        (void)fail(actor);
    return statement;
}

static enum sma_err run(struct sma_memory_actor *actor, sqlite3_stmt *statement)
{
    int code = statement == NULL ? SQLITE_ERROR : sqlite3_step(statement);
    enum sma_err err = code == SQLITE_DONE || code == SQLITE_ROW ? SMA_ERR_OK : fail(actor);
    sqlite3_finalize(statement);
    return err;
}

/* -- rows -------------------------------------------------------------------------------------- */
void memory_chat_fini(struct memory_chat *chat)
{
    sma_buf_fini(&chat->bytes);
}

static struct sma_str place(struct memory_chat *chat, struct sma_str offset)
{
    return (struct sma_str){chat->bytes.ptr + (size_t)offset.ptr, offset.len};
}

static struct sma_str keep(struct memory_chat *chat, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    size_t len = text == NULL ? 0 : (size_t)sqlite3_column_bytes(row, column);
    size_t at = chat->bytes.len;
    sma_buf_put(&chat->bytes, text == NULL ? "" : text, len);
    sma_buf_put_char(&chat->bytes, '\0');
    return (struct sma_str){(const char *)at, len};
}

static enum sma_err read_row(sqlite3_stmt *row, struct memory_chat *chat)
{
    *chat = (struct memory_chat){.seq = (uint64_t)sqlite3_column_int64(row, 8)};
    sma_buf_init(&chat->bytes, 4 * SMA_MEMORY_EXTRACT_BYTES_MAX);
    struct sma_str *texts[] = {&chat->route.chat_key, &chat->route.channel,
                               &chat->route.chat_id,  &chat->route.chat_type,
                               &chat->route.user_id,  &chat->route.user_name};
    for (int i = 0; i < 6; i++)
        *texts[i] = keep(chat, row, i);
    chat->is_group = sqlite3_column_int(row, 6) != 0;
    chat->is_urgent = sqlite3_column_int(row, 7) != 0;
    chat->count = (uint32_t)sqlite3_column_int64(row, 9);
    chat->fail_count = (uint32_t)sqlite3_column_int64(row, 10);
    chat->talked_ms = sqlite3_column_int64(row, 11);
    chat->extracted_ms = sqlite3_column_int64(row, 12);
    chat->until_ms = sqlite3_column_int64(row, 13);
    chat->answer = keep(chat, row, 14);
    chat->speakers = keep(chat, row, 15);
    if (chat->bytes.err != SMA_ERR_OK)
        return chat->bytes.err;
    for (int i = 0; i < 6; i++)
        *texts[i] = place(chat, *texts[i]);
    chat->answer = place(chat, chat->answer);
    chat->speakers = place(chat, chat->speakers);
    return SMA_ERR_OK;
}

/* The first row. */
static enum sma_err take(struct sma_memory_actor *actor, sqlite3_stmt *statement,
                         struct memory_chat *ret_chat)
{
    int code = statement == NULL ? SQLITE_ERROR : sqlite3_step(statement);
    enum sma_err err = code == SQLITE_ROW    ? read_row(statement, ret_chat)
                       : code == SQLITE_DONE ? SMA_ERR_NOTFOUND
                                             : fail(actor);
    if (err != SMA_ERR_OK && code == SQLITE_ROW)
        memory_chat_fini(ret_chat);
    sqlite3_finalize(statement);
    return err;
}

/* -- what happens ------------------------------------------------------------------------------ */
static enum sma_err drop_oldest(struct sma_memory_actor *actor)
{
    return run(actor, prepare(actor, "DELETE FROM chats WHERE key IN (SELECT key FROM chats ORDER "
                                     "BY talked_ms DESC LIMIT -1 OFFSET " NUMBER(
                                         SMA_MEMORY_EXTRACT_CHAT_COUNT_MAX) ")"));
}

enum sma_err memory_work_talked(struct sma_memory_actor *actor, const struct sma_memory_ask *ask)
{
    SMA_TRY(memory_work_open(actor, true));
    sqlite3_stmt *put = prepare(
        actor,
        "INSERT INTO chats(" COLUMNS
        ", dropped_seq) VALUES(?1,?2,?3,?4,?5,?6,?7,max(?8,?12>0),?9,?10,0,?11,0,0,'','',?12)"
        " ON CONFLICT(key) DO UPDATE SET channel=?2, chat_id=?3, chat_type=?4, user_id=?5,"
        " user_name=?6, is_group=?7, urgent=max(urgent,?8,?12>read_seq), seq=?9,"
        " count=min(count+?10,1000000), talked_ms=?11, dropped_seq=?12");
    if (put == NULL)
        return SMA_ERR_IO;
    const struct sma_route *route = &ask->route;
    const struct sma_str texts[] = {route->chat_key,  route->channel, route->chat_id,
                                    route->chat_type, route->user_id, route->user_name};
    for (int i = 0; i < 6; i++)
        bind(put, i + 1, texts[i]);
    sqlite3_bind_int(put, 7, ask->is_group);
    sqlite3_bind_int(put, 8, ask->is_urgent);
    sqlite3_bind_int64(put, 9, (int64_t)ask->seq);
    sqlite3_bind_int64(put, 10, ask->count);
    sqlite3_bind_int64(put, 11, sma_ctx_wall(actor->ctx));
    sqlite3_bind_int64(put, 12, (int64_t)ask->dropped_seq);
    SMA_CRASH_POINT("memory.talked");
    SMA_TRY(run(actor, put));
    return ask->seq % 256 == 0 ? drop_oldest(actor) : SMA_ERR_OK;
}

/* When a chat's time comes: after a pause since it was read and a quiet time since somebody spoke;
 * at once when a summary takes the place of text. A clock that was set back delays by no more than
 * that. */
#define DUE                                                                           \
    "max(min(next_ms,?1+?3), CASE WHEN urgent THEN 0 ELSE max(min(talked_ms,?1)+?2, " \
    "min(extracted_ms,?1)+?3) END)"

enum sma_err memory_work_next(struct sma_memory_actor *actor, struct memory_chat *ret_chat,
                              int64_t *ret_due_ms)
{
    SMA_TRY(memory_work_open(actor, false));
    sqlite3_stmt *get =
        prepare(actor, "SELECT " COLUMNS ", " DUE " AS due FROM chats WHERE count>0 AND answer=''"
                       " AND (urgent OR count>=" NUMBER(
                           SMA_MEMORY_EXTRACT_MESSAGE_COUNT_MIN) ")"
                                                                 " ORDER BY due LIMIT 1");
    if (get == NULL)
        return SMA_ERR_IO;
    sqlite3_bind_int64(get, 1, sma_ctx_wall(actor->ctx));
    sqlite3_bind_int64(get, 2, actor->config->memory_quiet_s * 1000);
    sqlite3_bind_int64(get, 3, actor->config->memory_pause_s * 1000);
    int code = sqlite3_step(get);
    *ret_due_ms = code == SQLITE_ROW ? sqlite3_column_int64(get, 16) : 0;
    sqlite3_reset(get);
    return take(actor, get, ret_chat);
}

enum sma_err memory_work_unapplied(struct sma_memory_actor *actor, struct memory_chat *ret_chat)
{
    SMA_TRY(memory_work_open(actor, false));
    return take(actor, prepare(actor, "SELECT " COLUMNS " FROM chats WHERE answer<>'' LIMIT 1"),
                ret_chat);
}

enum sma_err memory_work_answered(struct sma_memory_actor *actor, const struct sma_memory_ask *ask)
{
    /* of a piece: the rest of the chat is read next, whatever else has become of it */
    const char *sql =
        ask->is_partial
            ? "UPDATE chats SET answer=?2, speakers=?3, until_ms=max(until_ms,?4), extracted_ms=?5,"
              " fails=0, next_ms=0 WHERE key=?1"
            : "UPDATE chats SET answer=?2, speakers=?3, until_ms=max(until_ms,?4), extracted_ms=?5,"
              " count=max(count-?6,0), urgent=dropped_seq>max(read_seq,?7), fails=0, next_ms=0,"
              " read_seq=max(read_seq,?7) WHERE key=?1";
    SMA_TRY(memory_work_open(actor, true));
    struct sma_buf speakers;
    sma_buf_init(&speakers, SMA_MEMORY_EXTRACT_BYTES_MAX);
    for (uint32_t i = 0; i < ask->speaker_count; i++) {
        sma_buf_put_str(&speakers, ask->speakers[i]);
        sma_buf_put_char(&speakers, '\n');
    }
    sqlite3_stmt *set = speakers.err != SMA_ERR_OK ? NULL : prepare(actor, sql);
    enum sma_err err = set == NULL ? SMA_ERR_IO : SMA_ERR_OK;
    if (set != NULL) {
        bind(set, 1, ask->route.chat_key);
        bind(set, 2, ask->text);
        bind(set, 3, sma_buf_str(&speakers));
        sqlite3_bind_int64(set, 4, ask->until_ms);
        sqlite3_bind_int64(set, 5, sma_ctx_wall(actor->ctx));
        sqlite3_bind_int64(set, 6, actor->asked_count);
        sqlite3_bind_int64(set, 7, (int64_t)actor->asked_seq);
        err = run(actor, set);
    }
    sma_buf_fini(&speakers);
    return err;
}

/* Sets a chat's columns by ?2 = now, ?3 = the pause, ?4 = the last message that was asked about. */
static enum sma_err set_later(struct sma_memory_actor *actor, struct sma_str key, const char *sql)
{
    SMA_TRY(memory_work_open(actor, false));
    sqlite3_stmt *set = prepare(actor, sql);
    if (set == NULL)
        return SMA_ERR_IO;
    bind(set, 1, key);
    sqlite3_bind_int64(set, 2, sma_ctx_wall(actor->ctx));
    sqlite3_bind_int64(set, 3, actor->config->memory_pause_s * 1000);
    (void)sqlite3_bind_int64(set, 4, (int64_t)actor->asked_seq); /* not every statement has it */
    return run(actor, set);
}

/* Three times: then what was said until now is not read any more. */
enum sma_err memory_work_failed(struct sma_memory_actor *actor, struct sma_str key)
{
    return set_later(
        actor, key,
        "UPDATE chats SET count=CASE WHEN fails>=2 THEN 0 ELSE count END,"
        " urgent=CASE WHEN fails>=2 THEN 0 ELSE urgent END,"
        " read_seq=CASE WHEN fails>=2 THEN max(read_seq,?4) ELSE read_seq END,"
        " fails=CASE WHEN fails>=2 THEN 0 ELSE fails+1 END, extracted_ms=?2, next_ms=?2+?3"
        " WHERE key=?1");
}

enum sma_err memory_work_put_off(struct sma_memory_actor *actor, struct sma_str key)
{
    return set_later(actor, key, "UPDATE chats SET next_ms=?2+?3 WHERE key=?1");
}

enum sma_err memory_work_applied(struct sma_memory_actor *actor, struct sma_str key)
{
    SMA_TRY(memory_work_open(actor, false));
    sqlite3_stmt *set = prepare(actor, "UPDATE chats SET answer='', speakers='' WHERE key=?1");
    if (set == NULL)
        return SMA_ERR_IO;
    bind(set, 1, key);
    return run(actor, set);
}

/* -- old files --------------------------------------------------------------------------------- */
bool memory_work_knows_old(struct sma_memory_actor *actor, struct sma_str name,
                           struct sma_str stamp)
{
    if (memory_work_open(actor, true) != SMA_ERR_OK)
        return true; /* it could not be noted: it would be offered again and again */
    sqlite3_stmt *get = prepare(actor, "SELECT 1 FROM old WHERE name=?1 AND stamp=?2");
    if (get == NULL)
        return true;
    bind(get, 1, name);
    bind(get, 2, stamp);
    bool is_known = sqlite3_step(get) != SQLITE_DONE;
    sqlite3_finalize(get);
    return is_known;
}

enum sma_err memory_work_note_old(struct sma_memory_actor *actor, struct sma_str name,
                                  struct sma_str stamp)
{
    sqlite3_stmt *put = prepare(actor, "INSERT OR REPLACE INTO old(name, stamp) VALUES(?1, ?2)");
    if (put == NULL)
        return SMA_ERR_IO;
    bind(put, 1, name);
    bind(put, 2, stamp);
    return run(actor, put);
}
