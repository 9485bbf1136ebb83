/*
 * history.h — the history files of one project: `.ship/chats/<name>.jsonl` and
 * `<name>.archive-<n>.jsonl`.
 *
 * A chat's history is a list of lines, oldest first: archives 1, 2, ... and then the main file. A
 * line is one entry, compact JSON with keys in a fixed order (protocols/project.md §7.1) and a
 * newline; it is never changed after it was written. Every line has a place: (generation, offset).
 * The generation counts the rotations of the chat that the caller has recorded; the offset is the
 * byte in the main file of that generation. How the store uses it:
 *
 *   accept:   format the line, `reserve` its place, commit row + place + bytes; a failed commit
 *   `release`s the place
 *   then:     `write` the bytes at the place (lines of one chat that stand together may be one
 *   write)
 *   sometimes `sync_begin` every chat, `sync_directory_begin`, and `sync_look` until all is
 *   durable; only then may the
 *             bytes leave the database
 *   start:    `rotate` every recorded plan, then `replay` every line that was not known to be
 *   synced, in order
 *   rotation: `is_rotation_due` -> `plan_rotation` -> commit the plan and generation + 1 ->
 *             `rotate` -> when the directory is synced, drop the plan
 *
 * File names: enc(chatKey) (protocols/project.md §1.3). If that is over SMA_FILE_NAME_BYTES_MAX, or
 * ends like the name of an archive (".archive-7"), it is cut to a prefix and "~" + 16 hex digits of
 * a fixed-key hash of the whole key follow.
 *
 * Invariants: one writer a directory; written <= reserved for every chat; bytes below `written`
 * never change.
 * Errors:     IO is the trouble of this chat's files alone, CORRUPT a sync that failed: fatal,
 * never repeated.
 * Effects:    every change of a file goes through struct sma_sys. Reading facts (fstat, readdir) is
 * direct.
 * Threads:    the owner only; one thread of ours syncs files. Everything here may block on the
 * disk.
 * Limits:     SMA_HISTORY_LINES_MAX, SMA_HISTORY_FILE_BYTES_MAX, SMA_HISTORY_BYTES_MAX,
 * SMA_SEARCH_SLICE_BYTES,
 *             SMA_FILE_NAME_BYTES_MAX (limits.h).
 */
#ifndef SMA_RUNTIME_CHAT_HISTORY_H
#define SMA_RUNTIME_CHAT_HISTORY_H

#include "sma/buf.h"
#include "sma/limits.h"
#include "sma/sys.h"

#define SMA_HISTORY_FD_COUNT_MAX 256 /* open main files; the least recently used is closed */
#define SMA_HISTORY_CHAT_COUNT_MAX \
    4096 /* chats remembered; the least recently used, idle one goes */
#define SMA_HISTORY_LINE_BYTES_MAX \
    (8 * 1024 * 1024)                      /* longer lines are damage: skipped and reported */
#define SMA_HISTORY_KEYWORD_BYTES_MAX 1024 /* longer keywords are BADINPUT */

/* -- entries ----------------------------------------------------------------------------------- */
struct sma_history_entry
{
    int64_t wall_ms;
    struct sma_str channel, chat_id, chat_key;
    struct sma_str user_id, message_id; /* empty = omitted */
    struct sma_str role;                /* "user" or "assistant" */
    struct sma_str text;
    /* raw JSON object without newlines, copied as it is; empty = omitted */
    struct sma_str meta_json;
};

/**
 * Append one line with its newline to buf, byte for byte as JSON.stringify would have written it.
 * A meta_json with a control character in it (a newline would break the file) is left out.
 * Errors: sticky in buf. Allocates: only buf.
 */
void sma_history_format(struct sma_buf *buf, const struct sma_history_entry *entry);

/** Append the file name of a chat without directory and ending, see above. Errors: sticky in
 *  buf. */
void sma_history_put_file_stem(struct sma_buf *buf, struct sma_str chat_key);

/* -- the directory ----------------------------------------------------------------------------- */
enum sma_history_report_kind
{
    SMA_HISTORY_TAIL_MOVED,     /* a torn last line was moved to <file>.damaged */
    SMA_HISTORY_TAIL_COMPLETED, /* a complete last line lacked its newline and got it */
    /* a line that is not an entry of this chat; left where it is, skipped by readers */
    SMA_HISTORY_LINE_DAMAGED,
    SMA_HISTORY_FILE_UNREADABLE, /* a walk left a chat out; path is the name without ending */
    SMA_HISTORY_LINE_MOVED, /* a line's place was taken by other bytes; it was appended instead */
};
struct sma_history_report
{
    enum sma_history_report_kind kind;
    const char *path;     /* file concerned */
    uint64_t offset;      /* byte in it */
    uint64_t line_number; /* 1.., 0 = not known */
    const char *text;     /* one line for people */
};
struct sma_history_options
{
    const struct sma_sys *sys;
    const char *directory;   /* ".../.ship/chats"; created when missing */
    uint32_t fd_count_max;   /* 0 = SMA_HISTORY_FD_COUNT_MAX */
    uint32_t chat_count_max; /* 0 = SMA_HISTORY_CHAT_COUNT_MAX */
    uint32_t lines_max;      /* 0 = SMA_HISTORY_LINES_MAX */
    uint64_t bytes_max;      /* 0 = SMA_HISTORY_FILE_BYTES_MAX */
    bool is_single_threaded; /* files are synced by the caller: simulation */
    void (*report)(
        void *self,
        const struct sma_history_report *report); /* may be NULL; must not call back in */
    void *self;
};
struct sma_history;

/**
 * Prepare a directory. Opens no history file and reads no directory.
 * @return OK | NOMEM | IO (the directory cannot be made)
 */
SMA_CHECKED enum sma_err sma_history_open(const struct sma_history_options *options,
                                          struct sma_history **ret_history,
                                          struct sma_error *error);
/** Close every file and free. Does not sync. Accepts NULL. */
void sma_history_close(struct sma_history *history);

/* -- writing ----------------------------------------------------------------------------------- */
/**
 * Give the next `len` bytes of the chat's main file to the caller. The first touch of a chat looks
 * at the end of its main file and repairs it when it is torn (see enum sma_history_report_kind).
 * len 0 asks for the end without reserving.
 * @ret_offset  offset of the place; the generation is the caller's
 * @return OK | TOOBIG (the key is over SMA_CHAT_KEY_BYTES_MAX) | NOMEM | IO | NOSPACE (while
 * repairing)
 */
SMA_CHECKED enum sma_err sma_history_reserve(struct sma_history *history, struct sma_str chat_key,
                                             size_t len, uint64_t *ret_offset,
                                             struct sma_error *error);
/** Forget what is open, promised and written of a chat: its file cannot be used now. Its lines are
 *  to be replayed. */
void sma_history_abandon(struct sma_history *history, struct sma_str chat_key);
/** One line with its newline, as `replay` wants it? */
bool sma_history_is_line(struct sma_str line);
/** Give back everything reserved from offset on (a commit failed). Nothing at or after offset may
 *  have been written. */
void sma_history_release(struct sma_history *history, struct sma_str chat_key, uint64_t offset);

enum sma_history_outcome
{
    SMA_HISTORY_WRITTEN, /* the bytes stand at the place now */
    /* they stood there (or, exactly so, elsewhere in this chat's files) already */
    SMA_HISTORY_SKIPPED,
    /* the place holds other bytes (somebody edited the file): appended and reported */
    SMA_HISTORY_APPENDED,
};
/**
 * Write whole lines at a reserved place. Places of one chat are written in order. After an error
 * the same call may be repeated; until it succeeds later places of the chat give BUSY.
 * @lines  one or more lines, each with its newline
 * @return OK | BUSY (earlier reserved lines of this chat are not written) | NOSPACE | IO | NOMEM
 */
SMA_CHECKED enum sma_err sma_history_write(struct sma_history *history, struct sma_str chat_key,
                                           uint64_t offset, struct sma_str lines,
                                           enum sma_history_outcome *ret_outcome,
                                           struct sma_error *error);
/**
 * At start, before the chat's first `reserve`: make sure that one committed line stands in the
 * files once. Lines of a chat are replayed in the order of their acceptance, after its recorded
 * rotation was finished. A line that stands there is written again: pages that were never written
 * look the same.
 * @generation          of the line's place
 * @current_generation  of the chat; when they differ the line is looked for in the archives made
 * since, too
 * @return OK | BADINPUT (the bytes are no line: damaged) | NOSPACE | IO | NOMEM | CORRUPT
 */
SMA_CHECKED enum sma_err sma_history_replay(struct sma_history *history, struct sma_str chat_key,
                                            uint64_t generation, uint64_t current_generation,
                                            uint64_t offset, struct sma_str line,
                                            enum sma_history_outcome *ret_outcome,
                                            struct sma_error *error);

/* -- durable ----------------------------------------------------------------------------------- */
/**
 * Make every written byte of one chat durable, on this thread: fdatasync when dirty, and the
 * directory when the file is new. @return OK | GONE (another file has the name: lines written since
 * the last sync may be in the other one only; replay them) | IO (it cannot be opened) | CORRUPT
 * (the sync failed: end the program; nothing may be taken as flushed)
 */
SMA_CHECKED enum sma_err sma_history_sync(struct sma_history *history, struct sma_str chat_key,
                                          struct sma_error *error);
/** The same for all dirty chats, the directory at most once. Afterwards every line written so far
 *  is durable. */
SMA_CHECKED enum sma_err sma_history_sync_all(struct sma_history *history, struct sma_error *error);
/** Hand one chat's file to the syncing thread. What is written from now on is dirty again. BUSY:
 *  later; else as `sync`. */
SMA_CHECKED enum sma_err sma_history_sync_begin(struct sma_history *history,
                                                struct sma_str chat_key, struct sma_error *error);
/** The same for the directory, when files were created or renamed. */
SMA_CHECKED enum sma_err sma_history_sync_directory_begin(struct sma_history *history,
                                                          struct sma_error *error);
/** What was handed over last. */
uint64_t sma_history_sync_ticket(const struct sma_history *history);
/** Is everything up to the ticket durable? Never blocks. @return OK | CORRUPT */
SMA_CHECKED enum sma_err sma_history_sync_look(const struct sma_history *history, uint64_t ticket,
                                               bool *ret_is_done, struct sma_error *error);
/** Chats with bytes not yet handed to a sync. */
uint32_t sma_history_dirty_count(const struct sma_history *history);

/* -- rotation ---------------------------------------------------------------------------------- */
struct sma_history_plan
{
    char chat_key[SMA_CHAT_KEY_BYTES_MAX + 1];
    uint64_t generation;     /* before the rotation; generation + 1 after it */
    uint32_t archive_number; /* what the main file becomes */
    uint64_t end_offset;     /* of the main file, for people who read the plan */
    /* Of an older version, which copied two halves; else 0. */
    uint64_t split_offset, archive_hash, rest_hash;
};
enum sma_history_rotation
{
    SMA_HISTORY_ROTATED, /* done */
    SMA_HISTORY_UNDONE,  /* a plan of halves only: the files are as before it */
};

/** A first look at a long file leaves its lines uncounted: should they be counted now? */
bool sma_history_needs_count(const struct sma_history *history, struct sma_str chat_key);
/** Count the lines of the next mebibyte. @return OK | NOMEM | IO (it is given up: the count is a
 *  guess) */
SMA_CHECKED enum sma_err sma_history_count_step(struct sma_history *history,
                                                struct sma_str chat_key, struct sma_error *error);
/** The chat has been touched, has more lines or bytes than allowed and nothing reserved that is not
 *  written. */
bool sma_history_is_rotation_due(const struct sma_history *history, struct sma_str chat_key);
/** The names of all archives are read once, in steps; plan_rotation reads the rest at once when
 *  this was not done. */
SMA_CHECKED enum sma_err sma_history_rotation_step(struct sma_history *history, bool *ret_is_ready,
                                                   struct sma_error *error);
/**
 * Describe the rotation of a chat: its main file becomes a new archive. Changes nothing.
 * @return OK | EMPTY (nothing to rotate) | BUSY (reserved lines are not written) | TOOBIG | IO |
 * NOMEM
 */
SMA_CHECKED enum sma_err sma_history_plan_rotation(struct sma_history *history,
                                                   struct sma_str chat_key, uint64_t generation,
                                                   struct sma_history_plan *ret_plan,
                                                   struct sma_error *error);
/** The plan was recorded by an older version: it did not record generation + 1 with it. */
bool sma_history_plan_is_of_halves(const struct sma_history_plan *plan);
/**
 * Carry out a plan that is durably recorded together with generation + 1, or finish one found at
 * start. Safe to repeat in every state it can leave behind. Between plan_rotation and this call
 * nothing may be reserved for the chat. The plan may be dropped when the directory is synced.
 * @return OK | IO, NOSPACE, NOMEM: keep the plan, do not use the chat's file, repeat later |
 * CORRUPT
 */
SMA_CHECKED enum sma_err sma_history_rotate(struct sma_history *history,
                                            const struct sma_history_plan *plan,
                                            enum sma_history_rotation *ret_rotation,
                                            struct sma_error *error);
/** Append the plan as one JSON object, for a database cell. */
void sma_history_plan_format(struct sma_buf *buf, const struct sma_history_plan *plan);
/** @return OK | BADINPUT */
SMA_CHECKED enum sma_err sma_history_plan_parse(struct sma_str json,
                                                struct sma_history_plan *ret_plan);

/* -- another key ------------------------------------------------------------------------------- */
/*
 * A chat goes on under another key: its files get the other name. Archives keep their order behind
 * those that the new name has; the main file stays the main file, or becomes the newest archive
 * when the new name has one of its own. Lines are not changed: they keep the key under which they
 * were said.
 */
struct sma_history_move
{
    char from_key[SMA_CHAT_KEY_BYTES_MAX + 1], to_key[SMA_CHAT_KEY_BYTES_MAX + 1];
    uint32_t archive_count; /* archives 1..count of the old name ... */
    uint32_t archive_base;  /* ... become base + 1 .. base + count */
    uint32_t main_number;   /* what its main file becomes: an archive, or 0 = the main file */
};
/**
 * Sync both and look at their files. Nothing may be reserved that is not written.
 * @return OK | BUSY | BADINPUT (a key with a NUL) | IO | NOMEM | GONE, CORRUPT as `sync`
 */
SMA_CHECKED enum sma_err sma_history_plan_move(struct sma_history *history, struct sma_str from_key,
                                               struct sma_str to_key,
                                               struct sma_history_move *ret_move,
                                               struct sma_error *error);
/** Carry out a plan that is durably recorded, or finish one found at start. Safe to repeat. Nothing
 *  may have touched either chat since the plan. @return OK (durable) | IO, NOMEM: keep the plan and
 *  stop */
SMA_CHECKED enum sma_err sma_history_move(struct sma_history *history,
                                          const struct sma_history_move *move,
                                          struct sma_error *error);
void sma_history_move_format(struct sma_buf *buf, const struct sma_history_move *move);
/** @return OK | BADINPUT (also for the plan of a rotation) */
SMA_CHECKED enum sma_err sma_history_move_parse(struct sma_str json,
                                                struct sma_history_move *ret_move);

/* -- removing ---------------------------------------------------------------------------------- */
/**
 * Remove a chat's files: archives, what was torn off, and at last the main file. Safe to repeat;
 * none there is OK. The next line of the chat begins a new main file. Readers that are open read
 * on.
 * @return OK | BUSY (lines are promised, or not synced) | IO | NOMEM | TOOBIG
 */
SMA_CHECKED enum sma_err sma_history_remove(struct sma_history *history, struct sma_str chat_key,
                                            struct sma_error *error);

/* -- reading: recent lines and search ---------------------------------------------------------- */
/* A place that may have moved into an archive since; translated by the archives made after its
 * generation. */
struct sma_history_place
{
    bool is_set;
    uint64_t generation, offset;
};
struct sma_history_query
{
    struct sma_str chat_key;
    bool accepts_any_key;   /* the chat had other keys: lines said under those are its own */
    struct sma_str keyword; /* empty = the most recent; else see sma_history_read_begin */
    uint32_t limit;         /* 1..SMA_HISTORY_LOAD_COUNT_MAX */
    bool is_raw; /* every valid entry, notices and other roles too; exclusions below still hold */
    uint64_t generation;             /* of the chat now; used with the places */
    struct sma_history_place before; /* lines at or after it are not given (the current message) */
    /* from it on: no assistant lines, no user lines of session_ids */
    struct sma_history_place session_first;
    uint32_t session_id_count;
    const struct sma_str *session_ids; /* message ids; copied */
    int64_t from_ms, to_ms;            /* bounds of ts, inclusive; 0 = none */
    /* sma_line_mark of lines that are not wanted again, 8 bytes each; copied */
    struct sma_str given;
    bool ends_at_clear;        /* nothing from before the newest /clear or /new */
    struct sma_str message_id; /* only the message with this id; empty = any; copied */
    /* only what people said with files that can be fetched (meta.files), or with the one that has
     * this path; copied */
    bool wants_attachments;
    struct sma_str attached_path;
};
struct sma_history_item
{
    int64_t wall_ms;
    bool is_user; /* else assistant, or another role when is_raw */
    struct sma_str role, user_id, user_name, message_id;
    struct sma_str text; /* its beginning when the line is over SMA_HISTORY_WHOLE_LINE_BYTES_MAX */
    /* The entry as it stands in the file, without newline; empty unless is_raw. A longer one has
     * "isShortened":true, and no meta when that is what is long. */
    struct sma_str line;
};
struct sma_history_reader;

/**
 * Start reading one chat from its newest line backwards, over main file and archives. What is
 * appended or rotated after this call is not seen. Keyword: a regular expression (PCRE2,
 * case-insensitive, with match limits); a plain case-insensitive substring when it does not
 * compile. Only user and assistant lines with text that are not notices (meta.notice true) are
 * given, unless is_raw.
 * @return OK | BADINPUT (keyword too long or not UTF-8) | IO | NOMEM
 */
SMA_CHECKED enum sma_err sma_history_read_begin(struct sma_history *history,
                                                const struct sma_history_query *query,
                                                struct sma_history_reader **ret_reader,
                                                struct sma_error *error);
/**
 * Read on for at most SMA_SEARCH_SLICE_BYTES or about two milliseconds. Other calls on the history
 * may come between.
 * @ret_is_done  true: nothing more to read; take the items
 * @return OK | TOOBIG (a line exceeded the pattern's match limit; error->text is fit for the model)
 * | IO | NOMEM
 */
SMA_CHECKED enum sma_err sma_history_read_step(struct sma_history_reader *reader, bool *ret_is_done,
                                               struct sma_error *error);
/**
 * The newest matches, oldest first, at most `limit` and SMA_HISTORY_BYTES_MAX of text (of lines
 * when is_raw). Valid until read_end. *ret_is_cut: more matched, or may match, than was allowed. A
 * line that is long in what is neither words nor meta is reported and passed over.
 */
const struct sma_history_item *sma_history_read_items(struct sma_history_reader *reader,
                                                      uint32_t *ret_count, bool *ret_is_cut);
/** Free. Accepts NULL. The history must still be open. */
void sma_history_read_end(struct sma_history_reader *reader);

/* -- rebuilding after the database was lost ---------------------------------------------------- */
struct sma_history_record
{
    struct sma_history_entry entry; /* decoded; meta_json is empty */
    bool is_notice;
    bool is_archived;  /* in an archive: has no place of its own any more */
    uint64_t offset;   /* in its file; in the main file the place is (0, offset) */
    size_t line_bytes; /* with newline */
};
/**
 * Give every valid entry of every chat to `each`: chats in the order of their file names, the
 * entries of one chat oldest first. Finishes a half-done rotation whose plan is lost and removes
 * temporaries. Damage is reported. A callback that returns an error ends the walk with that error.
 * The record is valid during the call only.
 * @return OK | IO | NOMEM | the callback's
 */
SMA_CHECKED enum sma_err
sma_history_walk(struct sma_history *history,
                 enum sma_err (*each)(void *self, const struct sma_history_record *record),
                 void *self, struct sma_error *error);

#endif
