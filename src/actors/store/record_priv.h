/*
 * record_priv.h — what the files of the part "record" share. Thread: the store's.
 */
#ifndef SMA_STORE_RECORD_PRIV_H
#define SMA_STORE_RECORD_PRIV_H

#include "map.h"
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

/*
 * A chat whose history file cannot be used now. New lines of it get no place: they wait in their
 * rows. When the file can be used again everything above from_seq is replayed, in order; with the
 * next flush the chat is as any other.
 */
enum store_aside_state
{
    STORE_ASIDE_WAITS, /* for next_ns */
    STORE_ASIDE_HEALS, /* its lines are being written; new ones still wait behind them */
    STORE_ASIDE_SYNCS, /* all are written: it is over when they are durable */
};
struct store_file_aside
{
    struct store_file_aside *next;
    uint32_t chat_id, tries;
    enum store_aside_state state;
    uint64_t from_seq, next_ns;
    bool is_recorded; /* in state.db: until it is, the watermark may not pass its lines */
    bool is_disk;     /* the disk is full: no trouble of this chat */
    bool is_in_flush; /* SYNCS: the flush under way makes it durable */
    char reason[200];
    char key[]; /* of the chat */
};
#define STORE_ASIDE_PAUSE_NS \
    UINT64_C(1000000000) /* before a file is tried again; then twice as long ... */
#define STORE_ASIDE_PAUSE_MAX_NS UINT64_C(300000000000) /* ... up to this */
#define STORE_ASIDE_TRY_COUNT 16                        /* files that are tried in a slice */
#define STORE_ASIDE_END_COUNT 256                       /* chats that leave with a flush */
#define STORE_HEAL_BATCH_COUNT 64 /* lines that get their places in one commit */
#define STORE_HEAL_BATCH_BYTES (1024 * 1024)

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
    struct store_file_aside *asides;
    struct store_map aside_map; /* chat id -> aside */
    uint32_t aside_count;
    bool is_trying;                  /* a round over those whose pause is over is under way */
    struct store_file_aside *try_at; /* ... and has come so far */
    uint64_t aside_due_ns;           /* no file is to be tried before */
    bool has_lost_aside;             /* no memory for one, at start */
    bool is_healing; /* some of them heal: rows above heal_seq are still to be looked at */
    uint64_t heal_seq;
    struct store_chat *dirty_first; /* written since their last sync */
    struct store_chat *flush_first; /* what is left of the flush under way */
    struct store_chat *rotate_first;
    uint32_t lines_since_flush;
    uint64_t bytes_since_flush;
    enum store_flush flush;
    uint64_t last_line_ns, flush_resume_ns, flush_seq, flush_ticket;
    bool has_unflushed;
    /* chats whose rotation is done and recorded still; the first are in the flush */
    uint32_t *planned;
    uint32_t planned_count, planned_cap, planned_ready;
    store_disk_fn *disk;
    void *disk_user;
    uint64_t disk_checked_ns, disk_free;
    uint32_t disk_commits;
    int disk_level; /* 0 plenty, 1 no intake, 2 no effects either */
};

void sma_store_mark_dirty(struct sma_store *store, struct store_chat *chat);

/* -- lines.c ----------------------------------------------------------------------------------- */
/** A line of the open transaction that has a place; written after the commit. */
SMA_CHECKED enum sma_err sma_store_push_line(struct sma_store *store, struct store_chat *chat,
                                             uint64_t offset, struct sma_str line);
/** The transaction is undone: all but the first `count` lines are. */
void sma_store_forget_lines(struct sma_store *store, uint32_t count);
/** The bytes of a stored line are none: its row is left as it is. */
void sma_store_report_damage(struct sma_store *store, uint64_t seq, struct sma_str chat_key);

/* -- asides.c ---------------------------------------------------------------------------------- */
struct store_file_aside *sma_store_aside(const struct sma_store *store, uint32_t chat_id);
/** New lines of this chat have no place now. */
bool sma_store_is_placeless(const struct sma_store *store, uint32_t chat_id);
/** The file of this chat cannot be used now. err: NOSPACE = the disk's fault; GONE = try at
 *  once. */
void sma_store_set_aside(struct sma_store *store, const struct sma_state_chat *chat,
                         enum sma_err err, const char *reason);
/** Between batches: try files again, replay. */
void sma_store_heal_slice(struct sma_store *store, uint64_t now);
/** A flush begins; has come to its end. false: what has to be recorded could not be, the watermark
 *  may not rise. */
void sma_store_asides_begin_flush(struct sma_store *store);
SMA_CHECKED bool sma_store_asides_end_flush(struct sma_store *store);
uint64_t sma_store_asides_wake(const struct sma_store *store);
/** At start: what is recorded. */
SMA_CHECKED enum sma_err sma_store_read_asides(struct sma_store *store);
/** A transaction was undone, and chats that it made with it. */
void sma_store_check_asides(struct sma_store *store);
void sma_store_free_asides(struct sma_store *store);
/** Carry out a recorded plan of a chat's files. NOSPACE, IO: later. */
SMA_CHECKED enum sma_err sma_store_finish_plan(struct sma_store *store, struct sma_state_chat *chat,
                                               struct sma_error *error);
void sma_store_note_planned(struct sma_store *store, uint32_t chat_id);

#endif
