/*
 * history_priv.h — what the history_*.c files share: chats in memory, parsed lines, file helpers.
 */
#ifndef SMA_RUNTIME_CHAT_HISTORY_PRIV_H
#define SMA_RUNTIME_CHAT_HISTORY_PRIV_H

#include "runtime/chat/history.h"

#include <dirent.h>
#include <jansson.h>
#include <sys/stat.h>

#define HISTORY_BLOCK_BYTES (256 * 1024)
#define HISTORY_PATH_BYTES_MAX 8192
#define HISTORY_REPORT_MEMORY 256 /* damaged lines remembered, so that each is reported once */

/* One chat whose main file has been touched. Kept in a hash table and in a list ordered by use. */
struct history_chat
{
    struct history_chat *hash_next;
    struct history_chat *newer, *older;           /* list by use */
    struct history_chat *open_newer, *open_older; /* list of the open files, by use */
    uint64_t hash;                                /* of the stem */
    char *stem;                                   /* file name without ending */
    char *key;                                    /* chat key, NUL-terminated; key_len bytes */
    size_t key_len;
    int fd;           /* main file, -1 = closed */
    dev_t device;     /* of the file that was opened last ... */
    ino_t inode;      /* ... 0 = none was: another one under the same name is another file */
    bool is_checked;  /* end repaired: the ends below are true */
    bool is_dirty;    /* bytes written and not synced; the file may be closed */
    bool is_replaced; /* dirty bytes went to a file that has this name no more */
    uint64_t written; /* end of the places that were dealt with */
    uint64_t
        /* end of the places that were promised; equal to written when nothing is outstanding */
        reserved;
    /* Newlines in [0, counted_to) and behind count_end: all of them when the two have met. */
    uint64_t line_count, counted_to, count_end;
};

/* Highest archive number of a stem; only chats that have archives. hash 0 = a free place of the
 * table. */
struct history_archive
{
    uint64_t hash;
    uint32_t number_max;
};

/* How many lines a main file had when its chat was forgotten: a count need not be made twice. May
 * be overwritten. */
struct history_count
{
    uint64_t hash, size;
    uint32_t line_count;
};
#define HISTORY_COUNT_MEMORY 65536

struct history_syncer;

struct sma_history
{
    uint32_t magic;
    struct sma_history_options options;
    const struct sma_sys *sys;
    char *directory;
    struct history_chat **table;
    size_t table_mask;
    uint32_t chat_count, fd_count, dirty_count;
    struct history_chat *newest, *oldest;
    struct history_chat *newest_open, *oldest_open;
    bool is_directory_dirty; /* a file was created or renamed and the directory is not synced */
    bool is_archive_index_read;
    DIR *index_directory;             /* open while the index is being read */
    uint32_t index_count;             /* names seen */
    struct history_archive *archives; /* open addressing; capacity is a power of two */
    size_t archive_count, archive_capacity;
    struct history_count *counts;             /* HISTORY_COUNT_MEMORY of them, or NULL */
    struct history_syncer *syncer;            /* NULL = files are synced by the caller */
    uint64_t reported[HISTORY_REPORT_MEMORY]; /* hashes of damaged lines already reported */
};

/* One line, parsed. Slices point into root. */
struct history_parsed
{
    json_t *root;
    struct sma_history_entry entry;
    struct sma_str user_name; /* meta.username */
    bool is_clear;            /* a command that ended the conversation so far */
    bool is_aside;            /* a command, or the answer to a request: nothing for the model */
    bool is_notice;
};

/* -- history_line.c -- */
/** Parse one line (no newline) and apply the V1 check. chat_key.ptr NULL = any key. BADINPUT |
 *  NOMEM | OK; json_decref(root) after OK. */
SMA_CHECKED enum sma_err history_parse(struct sma_str line, struct sma_str chat_key,
                                       struct history_parsed *ret_parsed);
/** Line without a trailing carriage return and, at the start of a file, without a byte order
 *  mark. */
struct sma_str history_trim_line(struct sma_str line, bool is_first);
uint64_t history_hash(const void *bytes, size_t len);

/* -- history.c -- */
SMA_CHECKED enum sma_err history_get_chat(struct sma_history *history, struct sma_str chat_key,
                                          struct history_chat **ret_chat);
struct history_chat *history_find_chat(const struct sma_history *history, struct sma_str chat_key);
/** Open the main file if it is not open. NOTFOUND when it does not exist and create is false. */
SMA_CHECKED enum sma_err history_open_main(struct sma_history *history, struct history_chat *chat,
                                           bool create, struct sma_error *error);
void history_close_main(struct sma_history *history, struct history_chat *chat);
/** The name stands for another file than the open one, or for none. */
bool history_is_main_replaced(struct sma_history *history, const struct history_chat *chat);
/** Nothing is known of the main file any more, and nothing promised; its dirty bytes are the
 *  caller's. */
void history_forget_main(struct sma_history *history, struct history_chat *chat);
void history_note_dirty(struct sma_history *history, struct history_chat *chat);
void history_note_clean(struct sma_history *history, struct history_chat *chat);

/* -- history_sync.c -- */
/** Fill *error; CORRUPT. */
enum sma_err history_sync_failed(struct sma_error *error, int os_errno);
/** Sync on the caller's thread. CORRUPT when it fails: fatal. */
SMA_CHECKED enum sma_err history_sync_chat(struct sma_history *history, struct history_chat *chat,
                                           struct sma_error *error);
SMA_CHECKED enum sma_err history_sync_directory(struct sma_history *history,
                                                struct sma_error *error);
/** Let the thread sync this file, or do it here when there is none. CORRUPT: fatal. */
SMA_CHECKED enum sma_err history_sync_file(struct sma_history *history, int fd,
                                           struct sma_error *error);
SMA_CHECKED enum sma_err history_syncer_start(struct sma_history *history, struct sma_error *error);
void history_syncer_stop(struct sma_history *history);

/* -- history_files.c -- */
/** Append "<directory>/<stem><ending>" with a NUL to buf, e.g. ending ".jsonl". */
void history_put_path(struct sma_buf *buf, const struct sma_history *history, const char *stem,
                      const char *ending);
/** The same for an archive: "<directory>/<stem>.archive-<number>.jsonl<ending>". */
void history_put_archive_path(struct sma_buf *buf, const struct sma_history *history,
                              const char *stem, uint32_t number, const char *ending);
void history_report(struct sma_history *history, enum sma_history_report_kind kind,
                    const char *path, uint64_t offset, uint64_t line_number, const char *text);
/** Number of the line that starts at offset; 0 = not known. */
uint64_t history_line_number(const struct sma_history *history, int fd, uint64_t offset);
/** Report a damaged line once in the life of this history. */
void history_report_line(struct sma_history *history, const char *path, int fd, uint64_t offset);
/** Open a history file for reading or changing: never blocks, and IO for what is no regular
 *  file. */
SMA_CHECKED enum sma_err history_open_file(struct sma_history *history, const char *path, int flags,
                                           int *ret_fd, struct sma_error *error);
/** Read some names of the directory. *ret_is_read: the index is whole. */
SMA_CHECKED enum sma_err history_index_step(struct sma_history *history, bool *ret_is_read,
                                            struct sma_error *error);
void history_index_drop(struct sma_history *history);
/** Highest archive number of the chat, 0 = none; reads the rest of the directory at once when it
 *  was not read. */
SMA_CHECKED enum sma_err history_archive_max(struct sma_history *history, const char *stem,
                                             uint32_t *ret_number, struct sma_error *error);
/** An archive with this number exists now. */
void history_archive_note(struct sma_history *history, const char *stem, uint32_t number);
/** "<stem>.archive-<n>.jsonl": length of the stem, and n. */
bool history_parse_archive_name(struct sma_str name, size_t *ret_stem_len, uint32_t *ret_number);
/** Bytes of an open file. */
SMA_CHECKED enum sma_err history_file_size(int fd, uint64_t *ret_size, struct sma_error *error);
/** Read exactly len bytes at offset; IO when the file ends before. */
SMA_CHECKED enum sma_err history_read_exact(const struct sma_sys *sys, int fd, void *bytes,
                                            size_t len, uint64_t offset, struct sma_error *error);

/* -- history_place.c -- */
uint64_t history_count_newlines(struct sma_str bytes);

/* -- history_repair.c -- */
/** Repair the end of an open main file, whose other lines are counted later. *ret_end is its size
 *  afterwards. */
SMA_CHECKED enum sma_err history_check_main(struct sma_history *history, struct history_chat *chat,
                                            uint64_t *ret_end, struct sma_error *error);

/* -- history_rotate_old.c -- */
/** Finish what an older version planned: copies of two halves. Fills a plan's hashes are those of
 *  the files. */
SMA_CHECKED enum sma_err history_rotate_halves(struct sma_history *history,
                                               const struct sma_history_plan *plan,
                                               struct history_chat *chat,
                                               enum sma_history_rotation *ret_rotation,
                                               struct sma_error *error);
/** Its plan is lost: when the archive is, whole, the head of the main file, it is removed. */
SMA_CHECKED enum sma_err history_undo_halves(struct sma_history *history, struct sma_str chat_key,
                                             uint32_t number, struct sma_error *error);

/* -- history_match.c -- */
/* A compiled keyword. */
struct history_matcher;
/** BADINPUT (too long, not UTF-8) | NOMEM. A keyword that is no pattern is taken as plain text. */
SMA_CHECKED enum sma_err history_matcher_create(struct sma_str keyword,
                                                struct history_matcher **ret_matcher,
                                                struct sma_error *error);
void history_matcher_destroy(struct history_matcher *matcher);
/** False when the text of this raw line cannot match: no need to parse it. */
bool history_matcher_may_match(const struct history_matcher *matcher, struct sma_str line);
/**
 * Does the decoded text match? Looks at one window from *at on and moves *at behind it; *at ==
 * text.len: all was seen.
 * @return OK | TOOBIG: the pattern needs too much work | NOMEM
 */
SMA_CHECKED enum sma_err history_matcher_match(struct history_matcher *matcher, struct sma_str text,
                                               size_t *at, bool *ret_matches,
                                               struct sma_error *error);

#endif
