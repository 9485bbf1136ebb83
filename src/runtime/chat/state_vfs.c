#include "runtime/chat/state_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define HELD_BYTES (128 * 1024)

struct counters
{
    _Atomic uint64_t wal_writes, wal_bytes, wal_syncs, wal_headers, main_writes, main_syncs;
    _Atomic uint64_t wal_lazy_syncs;
};

/*
 * One of our files: the real one follows in the same allocation (SQLite gives szOsFile bytes).
 *
 * SQLite writes each frame of the WAL in two pieces, its header and its page. Nobody looks at them
 * before the sync that ends the commit, so neighbouring pieces are held and written in one call: by
 * that sync, and before anything else that could see the file. A write that then fails fails the
 * sync, and with it the commit. Only a file that is synced at all (durability is not "none") holds
 * anything.
 */
struct shim_file
{
    sqlite3_file base;
    struct counters *counters;
    enum sma_state_vfs_role role;
    bool is_wal, is_synced;
    bool is_lazy, is_unsynced; /* syncs are left out; one was */
    bool has_new_header;       /* written and not synced */
    char *held;                /* NULL until something was held */
    int held_len, failed_rc;
    sqlite3_int64 held_at,
        failed_at; /* failed_rc holds until the bytes from there on are written anew */
    _Alignas(8) unsigned char real[]; /* SQLite aligns files to 8 */
};

static struct counters role_counters[SMA_STATE_VFS_ROLE_COUNT];
static sqlite3_vfs role_vfs[SMA_STATE_VFS_ROLE_COUNT];
static sma_state_vfs_hook *test_hook;
static sma_state_vfs_watch *test_watch;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return (sqlite3_file *)(void *)((struct shim_file *)(void *)file)->real;
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void tell_watch(const struct shim_file *shim, enum sma_state_vfs_call call, bool is_good,
                       sqlite3_int64 offset, int len)
{
    if (__builtin_expect(test_watch != NULL, 0))
        test_watch(shim->is_wal, call, is_good, offset, len);
}

static int write_real(struct shim_file *shim, const void *bytes, int len, sqlite3_int64 offset)
{
    sqlite3_file *real = real_of(&shim->base);
    int rc = real->pMethods->xWrite(real, bytes, len, offset);
    tell_watch(shim, SMA_STATE_VFS_WRITE, rc == SQLITE_OK, offset, len);
    return rc;
}

/* Write what is held. @return SQLITE_OK, or how this or an earlier try failed. */
static int write_held(struct shim_file *shim)
{
    if (__builtin_expect(shim->held_len == 0, 0))
        return shim->failed_rc;
    int len = shim->held_len;
    shim->held_len = 0;
    int rc = write_real(shim, shim->held, len, shim->held_at);
    if (rc != SQLITE_OK) {
        shim->failed_rc = rc;
        shim->failed_at = shim->held_at;
    }
    return rc;
}

static int hold(struct shim_file *shim, const void *bytes, int len, sqlite3_int64 offset)
{
    bool is_next = offset == shim->held_at + shim->held_len && len <= HELD_BYTES - shim->held_len;
    int rc = shim->held_len > 0 && !is_next ? write_held(shim) : shim->failed_rc;
    if (rc != SQLITE_OK)
        return rc;
    if (shim->held == NULL)
        shim->held = malloc(HELD_BYTES);
    if (shim->held == NULL || len > HELD_BYTES)
        return write_real(shim, bytes, len, offset);
    if (shim->held_len == 0)
        shim->held_at = offset;
    memcpy(shim->held + shim->held_len, bytes, (size_t)len);
    shim->held_len += len;
    return SQLITE_OK;
}

/* The hook's answer as a SQLite code; ends the process when it says so. */
static int ask_hook(struct shim_file *shim, enum sma_state_vfs_call call, int io_code,
                    const void *bytes, int len, sqlite3_int64 offset)
{
    if (__builtin_expect(test_hook == NULL, 1))
        return SQLITE_OK;
    enum sma_state_vfs_action action = test_hook(shim->role, call, shim->is_wal);
    if (action == SMA_STATE_VFS_DIE || action == SMA_STATE_VFS_TEAR_DIE)
        (void)write_held(
            shim); /* the process ends as if each piece had been written when it came */
    if (action == SMA_STATE_VFS_TEAR_DIE && bytes != NULL) {
        sqlite3_file *real = real_of(&shim->base);
        (void)real->pMethods->xWrite(real, bytes, len / 2,
                                     offset); /* the process ends: nobody reads the result */
    }
    if (action == SMA_STATE_VFS_DIE || action == SMA_STATE_VFS_TEAR_DIE)
        _exit(SMA_STATE_VFS_EXIT_STATUS);
    if (action == SMA_STATE_VFS_FAIL_FULL)
        return SQLITE_FULL;
    return action == SMA_STATE_VFS_FAIL_IO ? io_code : SQLITE_OK;
}

static int shim_close(sqlite3_file *file)
{
    struct shim_file *shim = (struct shim_file *)(void *)file;
    sqlite3_file *real = real_of(file);
    int held_rc =
        write_held(shim); /* empty but after a commit that failed: nobody misses those bytes */
    free(shim->held);
    shim->held = NULL;
    int rc = real->pMethods == NULL ? SQLITE_OK : real->pMethods->xClose(real);
    return rc != SQLITE_OK ? rc : held_rc;
}

static int shim_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 offset)
{
    struct shim_file *shim = (struct shim_file *)(void *)file;
    int rc = write_held(shim);
    if (rc != SQLITE_OK && offset + len > shim->failed_at)
        return rc; /* what is before that is good, and is read while the transaction is undone */
    sqlite3_file *real = real_of(file);
    return real->pMethods->xRead(real, bytes, len, offset);
}

static int shim_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 offset)
{
    struct shim_file *shim = (struct shim_file *)(void *)file;
    int rc = ask_hook(shim, SMA_STATE_VFS_WRITE, SQLITE_IOERR_WRITE, bytes, len, offset);
    if (rc != SQLITE_OK)
        return rc;
    count(shim->is_wal ? &shim->counters->wal_writes : &shim->counters->main_writes, 1);
    if (shim->is_wal) {
        count(&shim->counters->wal_bytes, (uint64_t)len);
        count(&shim->counters->wal_headers, offset == 0);
        shim->has_new_header = shim->has_new_header || offset == 0;
    }
    if (offset <= shim->failed_at)
        shim->failed_rc =
            SQLITE_OK; /* the transaction of the failed write is gone, its place is used anew */
    if (shim->is_synced && shim->is_wal && shim->role == SMA_STATE_VFS_ROLE_WRITER)
        return hold(shim, bytes, len, offset);
    return write_real(shim, bytes, len, offset);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct shim_file *shim = (struct shim_file *)(void *)file;
    int rc = write_held(shim);
    if (rc == SQLITE_OK)
        rc = ask_hook(shim, SMA_STATE_VFS_TRUNCATE, SQLITE_IOERR_TRUNCATE, NULL, 0, 0);
    sqlite3_file *real = real_of(file);
    if (rc == SQLITE_OK)
        rc = real->pMethods->xTruncate(real, size);
    tell_watch(shim, SMA_STATE_VFS_TRUNCATE, rc == SQLITE_OK, size, 0);
    return rc;
}

static int shim_sync(sqlite3_file *file, int flags)
{
    struct shim_file *shim = (struct shim_file *)(void *)file;
    int rc = write_held(shim);
    if (rc == SQLITE_OK && shim->is_lazy && !shim->has_new_header) {
        shim->is_unsynced = true;
        count(&shim->counters->wal_lazy_syncs, 1);
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK)
        rc = ask_hook(shim, SMA_STATE_VFS_SYNC, SQLITE_IOERR_FSYNC, NULL, 0, 0);
    tell_watch(shim, SMA_STATE_VFS_SYNC, rc == SQLITE_OK, 0, 0);
    if (rc != SQLITE_OK)
        return rc;
    shim->is_synced = true;
    shim->is_unsynced = shim->has_new_header = false; /* a sync that fails ends the program */
    count(shim->is_wal ? &shim->counters->wal_syncs : &shim->counters->main_syncs, 1);
    sqlite3_file *real = real_of(file);
    return real->pMethods->xSync(real, flags);
}

static int shim_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    int rc = write_held((struct shim_file *)(void *)file);
    sqlite3_file *real = real_of(file);
    return rc != SQLITE_OK ? rc : real->pMethods->xFileSize(real, size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xLock(real, level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xUnlock(real, level);
}

static int shim_check_lock(sqlite3_file *file, int *is_reserved)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xCheckReservedLock(real, is_reserved);
}

static int shim_control(sqlite3_file *file, int op, void *argument)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xFileControl(real, op, argument);
}

static int shim_sector_size(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xSectorSize(real);
}

static int shim_characteristics(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xDeviceCharacteristics(real);
}

static int shim_shm_map(sqlite3_file *file, int page, int size, int is_extend, void volatile **ret)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xShmMap(real, page, size, is_extend, ret);
}

static int shim_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xShmLock(real, offset, n, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    real->pMethods->xShmBarrier(real);
}

static int shim_shm_unmap(sqlite3_file *file, int is_delete)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xShmUnmap(real, is_delete);
}

/* Version 2: no xFetch, so the database is never mapped into memory. */
static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_file_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_characteristics,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static int shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    struct shim_file *shim = (struct shim_file *)(void *)file;
    sqlite3_vfs *base = vfs->pAppData;
    shim->role = vfs == &role_vfs[SMA_STATE_VFS_ROLE_WRITER] ? SMA_STATE_VFS_ROLE_WRITER
                                                             : SMA_STATE_VFS_ROLE_CHECKPOINTER;
    shim->counters = &role_counters[shim->role];
    shim->is_wal = (flags & SQLITE_OPEN_WAL) != 0;
    shim->is_lazy = shim->is_unsynced = shim->has_new_header = false;
    shim->is_synced = false; /* the memory is SQLite's, and not zeroed by contract */
    shim->held = NULL;
    shim->held_len = shim->failed_rc = 0;
    shim->held_at = shim->failed_at = 0;
    sqlite3_file *real = real_of(file);
    real->pMethods = NULL;
    int rc = base->xOpen(base, name, real, flags, ret_flags);
    file->pMethods = real->pMethods == NULL ? NULL : &shim_methods;
    return rc;
}

/* The other calls of a VFS get the VFS as first argument: the default one expects itself. */
static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    sqlite3_vfs *base = vfs->pAppData;
    return base->xDelete(base, name, sync_dir);
}

static int shim_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    sqlite3_vfs *base = vfs->pAppData;
    return base->xAccess(base, name, flags, ret);
}

static int shim_full_path(sqlite3_vfs *vfs, const char *name, int len, char *path)
{
    sqlite3_vfs *base = vfs->pAppData;
    return base->xFullPathname(base, name, len, path);
}

static pthread_once_t register_once = PTHREAD_ONCE_INIT;
static bool is_registered;

static void register_both(void)
{
    static const char *const names[] = {SMA_STATE_VFS_WRITER, SMA_STATE_VFS_CHECKPOINTER};
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS,
                         0); /* nobody asks; refused when SQLite is in use already */
    if (sqlite3_initialize() != SQLITE_OK)
        return;
    sqlite3_vfs *base = sqlite3_vfs_find(NULL);
    if (base == NULL)
        return;
    is_registered = true;
    for (unsigned i = 0; i < SMA_STATE_VFS_ROLE_COUNT; i++) {
        role_vfs[i] =
            *base; /* time, randomness, sleep: as they are, they look at nothing of ours */
        role_vfs[i].pNext = NULL;
        role_vfs[i].zName = names[i];
        role_vfs[i].pAppData = base;
        role_vfs[i].szOsFile = (int)sizeof(struct shim_file) + base->szOsFile;
        role_vfs[i].xOpen = shim_open;
        role_vfs[i].xDelete = shim_delete;
        role_vfs[i].xAccess = shim_access;
        role_vfs[i].xFullPathname = shim_full_path;
        is_registered = is_registered && sqlite3_vfs_register(&role_vfs[i], 0) == SQLITE_OK;
    }
}

enum sma_err sma_state_vfs_register(void)
{
    (void)pthread_once(&register_once, register_both); /* fails only for a bad control block */
    return is_registered ? SMA_ERR_OK : SMA_ERR_IO;
}

void sma_state_vfs_set_lazy(sqlite3_file *wal, bool is_lazy)
{
    ((struct shim_file *)(void *)wal)->is_lazy = is_lazy;
}

bool sma_state_vfs_is_unsynced(const sqlite3_file *wal)
{
    return ((const struct shim_file *)(const void *)wal)->is_unsynced;
}

void sma_state_vfs_set_hook(sma_state_vfs_hook *hook)
{
    test_hook = hook;
}

void sma_state_vfs_set_watch(sma_state_vfs_watch *watch)
{
    test_watch = watch;
}

void sma_state_vfs_counts(enum sma_state_vfs_role role, struct sma_state_vfs_counts *ret_counts)
{
    struct counters *from = &role_counters[role];
    ret_counts->wal_writes = atomic_load_explicit(&from->wal_writes, memory_order_relaxed);
    ret_counts->wal_bytes = atomic_load_explicit(&from->wal_bytes, memory_order_relaxed);
    ret_counts->wal_syncs = atomic_load_explicit(&from->wal_syncs, memory_order_relaxed);
    ret_counts->wal_headers = atomic_load_explicit(&from->wal_headers, memory_order_relaxed);
    ret_counts->wal_lazy_syncs = atomic_load_explicit(&from->wal_lazy_syncs, memory_order_relaxed);
    ret_counts->main_writes = atomic_load_explicit(&from->main_writes, memory_order_relaxed);
    ret_counts->main_syncs = atomic_load_explicit(&from->main_syncs, memory_order_relaxed);
}
