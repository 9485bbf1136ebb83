/*
 * A copy of the database while somebody writes it: one read transaction holds a moment, and the
 * pages of that moment are copied. A checkpoint of the writer waits meanwhile, nothing else does.
 */
#include "runtime/chat/state_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

static SMA_CHECKED enum sma_err refuse(int rc, const char *path, const char *copy,
                                       struct sma_error *error)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return sma_fail(error, SMA_ERR_NOSPACE, "no room for a copy of %s at %s", path, copy);
    case SQLITE_NOMEM:
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory while copying %s", path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return sma_fail(error, SMA_ERR_CORRUPT, "%s is damaged: %s", path, sqlite3_errstr(rc));
    default:
        return sma_fail(error, SMA_ERR_IO, "%s cannot be copied to %s: %s (%d)", path, copy,
                        sqlite3_errstr(rc), rc);
    }
}

/* Nothing of the file or its WAL may change with our leaving: what an unclean end left is the next
 * start's to judge. */
static int open_source(const char *path, sqlite3 **ret_db)
{
    int rc = sqlite3_open_v2(path, ret_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return rc;
    int is_persistent = 1;
    (void)sqlite3_file_control(*ret_db, "main", SQLITE_FCNTL_PERSIST_WAL, &is_persistent);
    (void)sqlite3_db_config(*ret_db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_extended_result_codes(*ret_db, 1); /* none of the three can fail here */
    (void)sqlite3_busy_timeout(*ret_db, 5000);
    return sqlite3_exec(*ret_db, "PRAGMA query_only=1", NULL, NULL, NULL);
}

static int open_copy(const char *path, sqlite3 **ret_db)
{
    int rc = sqlite3_open_v2(
        path, ret_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    /* half of a copy is good for nothing: it needs no journal */
    return rc != SQLITE_OK
               ? rc
               : sqlite3_exec(*ret_db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL,
                              NULL, NULL);
}

/* One step takes all pages, under one read lock. */
static int copy_pages(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (backup == NULL)
        return sqlite3_extended_errcode(to);
    int rc = sqlite3_backup_step(backup, -1);
    int end = sqlite3_backup_finish(backup);
    return rc == SQLITE_DONE ? end : rc;
}

/* "ok", or what SQLite found first. */
static int check(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        rc = strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0 ? SQLITE_OK
                                                                           : SQLITE_CORRUPT;
    (void)sqlite3_finalize(stmt); /* was only read */
    return rc;
}

enum sma_err sma_state_snapshot(const char *path, const char *copy, struct sma_error *error)
{
    sqlite3 *from = NULL, *to = NULL;
    if (access(path, R_OK) != 0)
        return sma_fail_os(error, errno, "cannot read %s", path);
    int fd = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return sma_fail_os(error, errno, "cannot make %s", copy);
    (void)close(fd); /* empty; SQLite opens it again */
    int rc = open_source(path, &from);
    if (rc == SQLITE_OK)
        rc = open_copy(copy, &to);
    if (rc == SQLITE_OK)
        rc = copy_pages(from, to);
    if (rc == SQLITE_OK)
        rc = check(to);
    (void)sqlite3_close(to); /* no statement is open on either */
    (void)sqlite3_close(from);
    if (rc == SQLITE_OK)
        return SMA_ERR_OK;
    (void)unlink(copy);
    return refuse(rc, path, copy, error);
}

enum sma_err sma_state_check(const char *path, struct sma_error *error)
{
    sqlite3 *db = NULL;
    int rc = open_source(path, &db);
    if (rc == SQLITE_OK)
        rc = check(db);
    (void)sqlite3_close(db); /* no statement is open on it */
    return rc == SQLITE_OK
               ? SMA_ERR_OK
               : sma_fail(error, SMA_ERR_CORRUPT, "%s is damaged: %s", path, sqlite3_errstr(rc));
}
