/*
 * state_vfs.h — a thin SQLite file system layer over the default one: counts writes and syncs, and
 * lets a test decide what happens at each of them. Two names, so that the writer's calls and the
 * checkpointer's are counted apart.
 *
 * Threads: counters are relaxed atomics. The hook is set before any database is open and not
 * changed while one is.
 */
#ifndef SMA_CHAT_STATE_VFS_H
#define SMA_CHAT_STATE_VFS_H

#include "sma/base.h"

#define SMA_STATE_VFS_WRITER "sma-writer"
#define SMA_STATE_VFS_CHECKPOINTER "sma-checkpointer"

enum sma_state_vfs_role
{
    SMA_STATE_VFS_ROLE_WRITER,
    SMA_STATE_VFS_ROLE_CHECKPOINTER,
    SMA_STATE_VFS_ROLE_COUNT
};

struct sma_state_vfs_counts
{
    uint64_t wal_lazy_syncs; /* left out: the next real one covers them */
    uint64_t wal_writes, wal_bytes, wal_syncs;
    uint64_t wal_headers; /* writes at offset 0 of the WAL: it begins anew */
    uint64_t main_writes, main_syncs;
};

enum sma_state_vfs_call
{
    SMA_STATE_VFS_WRITE,
    SMA_STATE_VFS_SYNC,
    SMA_STATE_VFS_TRUNCATE,
};
enum sma_state_vfs_action
{
    SMA_STATE_VFS_PASS,
    SMA_STATE_VFS_FAIL_FULL, /* answer SQLITE_FULL, write nothing */
    SMA_STATE_VFS_FAIL_IO,   /* answer the call's SQLITE_IOERR_x */
    SMA_STATE_VFS_DIE,       /* _exit before the call */
    SMA_STATE_VFS_TEAR_DIE,  /* write the first half, then _exit */
};
/* Tests: asked before every write, sync and truncate of every file of these two layers. */
typedef enum sma_state_vfs_action sma_state_vfs_hook(enum sma_state_vfs_role role,
                                                     enum sma_state_vfs_call call, bool is_wal);

/* Tests: told after every write, sync and truncate that reached the real file, or that the hook let
 * fail (then ok is false; nothing of it was done). offset: of the bytes, or the new size. On the
 * thread that called. */
typedef void sma_state_vfs_watch(bool is_wal, enum sma_state_vfs_call call, bool is_good,
                                 int64_t offset, int len);

#define SMA_STATE_VFS_EXIT_STATUS 77 /* of a process that the hook ended */

struct sqlite3_file;
/** From now on (until set again) the sync that ends a commit is left out: what it wrote is with the
 *  operating system and outlives this process, and the next sync of the file covers it. The header
 *  of a WAL that begins anew is still synced. */
void sma_state_vfs_set_lazy(struct sqlite3_file *wal, bool is_lazy);
/** A sync was left out and none has come since. */
bool sma_state_vfs_is_unsynced(const struct sqlite3_file *wal);

/** Register both layers with SQLite, once a process; idempotent. OK | IO. */
SMA_CHECKED enum sma_err sma_state_vfs_register(void);
void sma_state_vfs_set_hook(sma_state_vfs_hook *hook); /* NULL = none */
void sma_state_vfs_set_watch(sma_state_vfs_watch *watch);
void sma_state_vfs_counts(enum sma_state_vfs_role role, struct sma_state_vfs_counts *ret_counts);

#endif
