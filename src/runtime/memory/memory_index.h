/*
 * memory_index.h — the index of memory files: rows by audience and their words (FTS5).
 *
 * An audience is who may read a fact: "" everybody, "p:<person>" that person in private,
 * "g:<chat key>" those in that group. Every question names its audiences.
 *
 * Invariants: it can be thrown away at any time; a damaged one is.
 * Threads:    the owner of the memory.
 */
#ifndef SMA_RUNTIME_MEMORY_INDEX_H
#define SMA_RUNTIME_MEMORY_INDEX_H

#include "runtime/memory/memory.h"

#include <sqlite3.h>

#define MEMORY_AUDIENCE_COUNT_MAX 2
#define MEMORY_STAMP_BYTES 96

enum memory_statement
{
    MEMORY_GET_FILE,
    MEMORY_PUT_FILE,
    MEMORY_DROP_FILE,
    MEMORY_ALL_FILES,
    MEMORY_FILES_OF_AUDIENCE,
    MEMORY_GET_AUDIENCE,
    MEMORY_ADD_AUDIENCE,
    MEMORY_KNOWN,
    MEMORY_FACT,
    MEMORY_FACT_AT,
    MEMORY_LAST,
    MEMORY_ADD_FACT,
    MEMORY_SET_FACT,
    MEMORY_DROP_FACT,
    MEMORY_ADD_WORDS,
    MEMORY_DROP_WORDS,
    MEMORY_POSTINGS,
    MEMORY_SIZE,
    MEMORY_ROW,
    MEMORY_FIND_IMPORTANT,
    MEMORY_LIST,
    MEMORY_LIST_OWN,
    MEMORY_LIST_FILE,
    MEMORY_STATEMENT_COUNT
};

struct memory_index
{
    sqlite3 *db; /* NULL = not open */
    sqlite3_stmt *statements[MEMORY_STATEMENT_COUNT];
    bool is_damaged;  /* found while asking: it is made anew before the next question */
    bool is_guest;    /* another one keeps it: nothing is thrown away */
    bool wants_merge; /* facts were dropped since it was scrubbed, or many were added */
    uint32_t added_count;
    uint32_t change_limit, change_count; /* facts that may be added and dropped; 0 = any number */
};

/** Open, or make; a damaged one and one of another version is thrown away first.
 *  @return OK | UNSUPPORTED (SQLite without FTS5) | IO | NOMEM */
SMA_CHECKED enum sma_err memory_index_open(struct memory_index *index, const char *path,
                                           struct sma_error *error);
void memory_index_close(struct memory_index *index); /* accepts a zeroed struct */
/** The prepared statement, reset and without values. NULL: *error. */
sqlite3_stmt *memory_statement(struct memory_index *index, enum memory_statement which,
                               struct sma_error *error);
/** What SQLite's code means here; sets is_damaged. */
enum sma_err memory_index_fail(struct memory_index *index, int code, struct sma_error *error);
SMA_CHECKED enum sma_err memory_index_run(struct memory_index *index, const char *sql,
                                          struct sma_error *error);
/** Step a statement that gives no rows. */
SMA_CHECKED enum sma_err memory_index_step(struct memory_index *index, sqlite3_stmt *statement,
                                           struct sma_error *error);
void memory_bind(sqlite3_stmt *statement, int place, struct sma_str text);
struct sma_str memory_column(sqlite3_stmt *statement, int column); /* until its next step */

/** The number of an audience. is_made: made when it is new. NOTFOUND */
SMA_CHECKED enum sma_err memory_index_audience(struct memory_index *index, struct sma_str name,
                                               bool is_made, int64_t *ret_audience,
                                               struct sma_error *error);
struct memory_file
{
    struct sma_str name, person, stamp, bytes; /* name: relative to the folder */
};
/** The rows of a file become its lines; its stamp is kept. In one transaction.
 *  BUSY: more would change than may here; nothing did. */
SMA_CHECKED enum sma_err memory_index_put_file(struct memory_index *index,
                                               const struct memory_file *file,
                                               const struct sma_secrets *secrets,
                                               struct sma_error *error);
/** It is gone. */
SMA_CHECKED enum sma_err memory_index_drop_file(struct memory_index *index, struct sma_str name,
                                                struct sma_error *error);
/** A piece of throwing away what is left of deleted facts. */
SMA_CHECKED enum sma_err memory_index_scrub(struct memory_index *index, bool is_first,
                                            bool *ret_is_done, struct sma_error *error);

/* The number of a row holds what ranking asks of it, so that no row is read for one that is not
 * given: where it comes in the order of writing, its length in eighths, its importance. Numbers
 * grow, since FTS5 ends a segment whenever one does not. */
#define MEMORY_NUMBER_BITS 12
static inline int64_t memory_number(int64_t order, size_t len, uint8_t importance)
{
    return order << MEMORY_NUMBER_BITS | (int64_t)(len / 8 > 255 ? 255 : len / 8) << 4 |
           (importance & 15);
}
static inline uint32_t memory_number_len(int64_t number)
{
    return (uint32_t)(number >> 4 & 255) * 8;
}
static inline uint32_t memory_number_importance(int64_t number)
{
    return (uint32_t)(number & 15);
}

uint64_t memory_fact_id(struct sma_str person, struct sma_str group, struct sma_str text);
/** The audience of a line of a person's file, as text. */
void memory_put_audience(struct sma_buf *buf, struct sma_str person, struct sma_str group);

#endif
