/*
 * weather_faults.h — what can go wrong around the store, as a seed has it: the disk is full, writes
 * and syncs fail, memory is short. One test includes it: fsync and fdatasync are replaced for the
 * whole program, SQLite's memory too.
 */
#ifndef SMA_TEST_WEATHER_FAULTS_H
#define SMA_TEST_WEATHER_FAULTS_H

#include "support/check.h"

#include "runtime/chat/state_vfs.h"
#include "sma/sys.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

static uint64_t chance;
static bool is_full, is_history_full;
static bool is_failing;             /* writes of the WAL: EIO */
static bool is_copy_failing;        /* writes of the database at an orderly end */
static uint32_t short_of_memory_in; /* this many-th request of SQLite from now on fails; 0 = none */
static uint32_t short_total;

static uint64_t roll(uint64_t below)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance % below;
}

/* In a child only: nobody goes on after these but by starting anew. */
enum storm
{
    NO_STORM,
    STORM_SYNC,   /* fsync of a file of ours: the program ends */
    STORM_WRITE,  /* EIO of a history file */
    STORM_READ,   /* the same, when it is read */
    STORM_MEMORY, /* SQLite gets no memory for a while */
    STORM_COUNT
};
static enum storm storm;
static bool is_in_storm_life;
static bool has_sync_failed;

static enum sma_state_vfs_action fail_as_told(enum sma_state_vfs_role role,
                                              enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    if (call != SMA_STATE_VFS_WRITE)
        return SMA_STATE_VFS_PASS;
    if (!is_wal)
        return is_copy_failing ? SMA_STATE_VFS_FAIL_IO : SMA_STATE_VFS_PASS;
    if (is_full || is_failing)
        short_of_memory_in = 0; /* what a failed commit undoes is read again, or the store ends */
    return is_full      ? SMA_STATE_VFS_FAIL_FULL
           : is_failing ? SMA_STATE_VFS_FAIL_IO
                        : SMA_STATE_VFS_PASS;
}

static ssize_t write_when_there_is_room(void *self, int fd, const void *bytes, size_t len, off_t at)
{
    if (!is_history_full && storm != STORM_WRITE)
        return sma_sys_real()->pwrite(self, fd, bytes, len, at);
    errno = storm == STORM_WRITE ? EIO : ENOSPC;
    return -1;
}

static ssize_t read_when_it_can(void *self, int fd, void *bytes, size_t len, off_t at)
{
    if (storm != STORM_READ)
        return sma_sys_real()->pread(self, fd, bytes, len, at);
    errno = EIO;
    return -1;
}

/* SQLite's syncs and ours: no power is cut here, so none is needed; one may fail. */
static int sync_as_told(int fd)
{
    char link[64], name[256];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = storm == STORM_SYNC ? readlink(link, name, sizeof name - 1) : -1;
    name[len > 0 ? len : 0] = '\0';
    if (strstr(name, "/state.db") == NULL && strstr(name, ".jsonl") == NULL)
        return 0;
    has_sync_failed = true;
    errno = EIO;
    return -1;
}
int fsync(int fd)
{
    return sync_as_told(fd);
}
int fdatasync(int fd)
{
    return sync_as_told(fd);
}

static sqlite3_mem_methods real_memory;
static bool is_short_of_memory(void)
{
    if (storm == STORM_MEMORY)
        return roll(3) == 0;
    if (short_of_memory_in == 0 || --short_of_memory_in > 0)
        return false;
    short_total++;
    return true;
}
static void *allocate(int len)
{
    return is_short_of_memory() ? NULL : real_memory.xMalloc(len);
}
static void *allocate_again(void *old, int len)
{
    return is_short_of_memory() ? NULL : real_memory.xRealloc(old, len);
}

/* A tool of the sanitizers ends with 1, as a program that gives up does. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void)
{
    return "exitcode=99";
}
const char *__ubsan_default_options(void)
{
    return "exitcode=98";
}

static void set_up_failures(void)
{
    static sqlite3_mem_methods memory;
    CHECK_INT(SQLITE_OK, sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory));
    memory = real_memory;
    memory.xMalloc = allocate;
    memory.xRealloc = allocate_again;
    CHECK_INT(SQLITE_OK, sqlite3_config(SQLITE_CONFIG_MALLOC, &memory));
    sma_state_vfs_set_hook(fail_as_told);
}

#endif
