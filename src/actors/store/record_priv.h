/*
 * record_priv.h — what the files of the part "record" share. Thread: the store's.
 */
#ifndef SMA_STORE_RECORD_PRIV_H
#define SMA_STORE_RECORD_PRIV_H

#include "record.h"

#define STORE_FLUSH_LINE_COUNT 16384             /* history lines written before files are synced */
#define STORE_FLUSH_BYTES (32 * 1024 * 1024)     /* ... or so many bytes */
#define STORE_FLUSH_IDLE_NS UINT64_C(2000000000) /* ... or this long after the last one */
#define STORE_FLUSH_SLICE_NS \
    UINT64_C(2000000) /* files are synced for this long between two batches */
#define STORE_FLUSH_PAUSE_NS UINT64_C(8000000)    /* ... and then not for this long */
#define STORE_DISK_PERIOD_NS UINT64_C(1000000000) /* free space is looked at this often, */
#define STORE_DISK_COMMIT_COUNT 64                /* ... and every so many commits */

struct store_line
{
    struct store_chat *chat;
    uint64_t offset;
    size_t start, len; /* in line_bytes */
};

enum store_flush
{
    STORE_FLUSH_NONE,
    STORE_FLUSH_FILES, /* files are handed to the syncing thread */
    STORE_FLUSH_WAIT,  /* it has all of them, and the directory */
};

struct store_record
{
    struct store_line *lines;
    uint32_t line_count, line_cap;
    struct sma_buf line_bytes;
    bool is_history_stuck;          /* a history write met a full disk; repeated each second */
    struct store_chat *dirty_first; /* written since their last sync */
    struct store_chat *flush_first; /* what is left of the flush under way */
    struct store_chat *rotate_first;
    uint32_t lines_since_flush;
    uint64_t bytes_since_flush;
    enum store_flush flush;
    uint64_t last_line_ns, flush_resume_ns, flush_seq, flush_ticket;
    bool has_unflushed;
    uint32_t
        *planned; /* chats whose rotation is done and recorded still; the first are in the flush */
    uint32_t planned_count, planned_cap, planned_ready;
    uint64_t stuck_ns; /* when a full disk is tried again */
    store_disk_fn *disk;
    void *disk_user;
    uint64_t disk_checked_ns, disk_free;
    uint32_t disk_commits;
    int disk_level; /* 0 plenty, 1 no intake, 2 no effects either */
};

void sma_store_mark_dirty(struct sma_store *store, struct store_chat *chat);

#endif
