/*
 * history_priv.h — what the history_*.c files share: chats in memory, parsed lines, file helpers.
 */
#ifndef SMA_RUNTIME_CHAT_HISTORY_PRIV_H
#define SMA_RUNTIME_CHAT_HISTORY_PRIV_H

#include "runtime/chat/history.h"

#include <jansson.h>

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
    bool is_checked;  /* lines counted, end repaired: the ends below are true */
    bool is_dirty;    /* bytes written and not synced; the file may be closed */
    uint64_t written; /* end of the places that were dealt with */
    uint64_t
        reserved; /* end of the places that were promised; equal to written when nothing is outstanding */
    uint64_t line_count; /* newlines in the file */
};

/* Highest archive number of a stem; only chats that have archives. Sorted by hash. */
struct history_archive
{
    uint64_t hash;
    uint32_t number_max;
};

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
    struct history_archive *archives;
    size_t archive_count, archive_capacity;
    uint64_t reported[HISTORY_REPORT_MEMORY]; /* hashes of damaged lines already reported */
};

/* One line, parsed. Slices point into root. */
struct history_parsed
{
    json_t *root;
    struct sma_history_entry entry;
    struct sma_str user_name; /* meta.username */
    bool is_notice;
};

/* -- history_line.c -- */
/** Parse one line (no newline) and apply the V1 check. chat_key.ptr NULL = any key. BADINPUT | NOMEM | OK; json_decref(root) after OK. */
SMA_CHECKED enum sma_err history_parse(struct sma_str line, struct sma_str chat_key,
                                       struct history_parsed *ret_parsed);
/** Line without a trailing carriage return and, at the start of a file, without a byte order mark. */
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
SMA_CHECKED enum sma_err history_sync_chat(struct sma_history *history, struct history_chat *chat,
                                           struct sma_error *error);
SMA_CHECKED enum sma_err history_sync_directory(struct sma_history *history,
                                                struct sma_error *error);
/* -- history_files.c -- */
/** Append "<directory>/<stem><ending>" with a NUL to buf, e.g. ending ".jsonl". */
void history_put_path(struct sma_buf *buf, const struct sma_history *history, const char *stem,
                      const char *ending);
/** The same for an archive: "<directory>/<stem>.archive-<number>.jsonl<ending>". */
void history_put_archive_path(struct sma_buf *buf, const struct sma_history *history,
                              const char *stem, uint32_t number, const char *ending);
void history_report(struct sma_history *history, enum sma_history_report_kind kind,
                    const char *path, uint64_t offset, uint64_t line_number, const char *text);
/** Report a damaged line once in the life of this history. */
void history_report_line(struct sma_history *history, const char *path, int fd, uint64_t offset);
/** Highest archive number of the chat, 0 = none; reads the directory once. */
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

/* -- history_repair.c -- */
/** Repair the end of an open main file; set line_count and is_checked. *ret_end is its size afterwards. */
SMA_CHECKED enum sma_err history_check_main(struct sma_history *history, struct history_chat *chat,
                                            uint64_t *ret_end, struct sma_error *error);

/* -- history_rotate.c -- */
/** The plan of a rotation that was cut between its renames, guessed from the files. EMPTY when it is not so. */
SMA_CHECKED enum sma_err history_guess_plan(struct sma_history *history, struct sma_str chat_key,
                                            uint32_t number, struct sma_history_plan *ret_plan,
                                            struct sma_error *error);

/* -- history_match.c -- */
/* A compiled keyword. */
struct history_matcher;
/** BADINPUT (too long, not UTF-8) | NOMEM. A keyword that is no pattern is taken as plain text. */
SMA_CHECKED enum sma_err history_matcher_create(const struct sma_sys *sys, struct sma_str keyword,
                                                struct history_matcher **ret_matcher,
                                                struct sma_error *error);
void history_matcher_destroy(struct history_matcher *matcher);
/** False when the text of this raw line cannot match: no need to parse it. */
bool history_matcher_may_match(const struct history_matcher *matcher, struct sma_str line);
/** Does the decoded text match? TOOBIG: the pattern needs too much work. */
SMA_CHECKED enum sma_err history_matcher_match(struct history_matcher *matcher, struct sma_str text,
                                               bool *ret_matches, struct sma_error *error);

#endif
