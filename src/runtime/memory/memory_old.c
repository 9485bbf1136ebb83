/* memory_old.c — see memory_old.h. */
#include "runtime/memory/memory_old.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES_MAX 4400
#define LOOKED_AT_MAX 10000

bool sma_memory_old_is_name(const char *name)
{
    size_t len = strlen(name);
    return len > 5 && name[0] != '.' && strcmp(name + len - 5, ".json") == 0;
}

bool sma_memory_old_stamp(const char *path, char stamp[MEMORY_OLD_STAMP_BYTES])
{
    struct stat facts;
    if (lstat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
        return false;
    (void)snprintf(stamp, MEMORY_OLD_STAMP_BYTES, "%lld %lld", (long long)facts.st_size,
                   (long long)facts.st_mtim.tv_sec);
    return true;
}

/* NULL: nothing was noted yet. Without a service nobody has the WAL's index, and opening would make
 * one: then the file alone is read. */
static sqlite3_stmt *open_notes(const char *folder, sqlite3 **ret_db)
{
    char path[PATH_BYTES_MAX], uri[2 * PATH_BYTES_MAX];
    sqlite3_stmt *get = NULL;
    *ret_db = NULL;
    if (snprintf(path, sizeof path, "%s/work.db-shm", folder) >= (int)sizeof path ||
        strpbrk(folder, "?#%") != NULL)
        return NULL;
    bool is_used = access(path, F_OK) == 0;
    (void)snprintf(uri, sizeof uri, "file:%s/work.db?%s", folder,
                   is_used ? "mode=ro" : "mode=ro&immutable=1");
    if (sqlite3_open_v2(uri, ret_db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK)
        (void)sqlite3_prepare_v2(*ret_db, "SELECT 1 FROM old WHERE name=?1 AND stamp=?2", -1, &get,
                                 NULL); /* NULL: no such table */
    return get;
}

static bool is_noted(sqlite3_stmt *get, const char *name, const char *stamp)
{
    if (get == NULL)
        return false;
    (void)sqlite3_bind_text(get, 1, name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(get, 2, stamp, -1, SQLITE_STATIC);
    bool is_there = sqlite3_step(get) == SQLITE_ROW;
    sqlite3_reset(get);
    return is_there;
}

uint32_t sma_memory_old_count(const char *folder)
{
    sqlite3 *db;
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return 0;
    sqlite3_stmt *get = open_notes(folder, &db);
    const struct dirent *entry;
    for (int i = 0; i < LOOKED_AT_MAX && (entry = readdir(dir)) != NULL; i++) {
        char path[PATH_BYTES_MAX], stamp[MEMORY_OLD_STAMP_BYTES];
        if (sma_memory_old_is_name(entry->d_name) &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path &&
            sma_memory_old_stamp(path, stamp))
            count += !is_noted(get, entry->d_name, stamp);
    }
    sqlite3_finalize(get);
    sqlite3_close(db);
    (void)closedir(dir); /* was only read */
    return count;
}
