/*
 * year.h — what the parts of the generator share: the plan of a year, and the rows that one event
 * leaves behind.
 *
 * A mould is what the real service wrote for one event, read from its database: a turn, a person, a
 * parked request, a stranger. It is multiplied by replacing what tells one event from another: ids
 * of chats, people, messages, requests and codes, row numbers, and times. So the rows are those the
 * service writes today, whatever their columns are.
 */
#ifndef SMA_BENCH_YEAR_H
#define SMA_BENCH_YEAR_H

#include "sma/base.h"

#include <sqlite3.h>
#include <stdio.h>

#define YEAR_CLASS_COUNT 3
#define YEAR_SEQ_FIRST \
    UINT64_C(10000001) /* eight digits, as in the mould: texts keep their length */
#define YEAR_MOULD_SEQ UINT64_C(70000001)
#define YEAR_ID_FIRST UINT64_C(5000000000)
#define YEAR_STRANGER_ID_FIRST UINT64_C(6000000000)
#define YEAR_OWNER_ID 1001

struct year_options
{
    const char *binary, *model, *out;
    uint64_t messages, chats, claims, grants, parked, people, strangers, deliveries;
    uint32_t turns;      /* kept a chat */
    uint32_t text_bytes; /* of what a person says; the answer repeats it */
    uint32_t days;
    bool has_history; /* false: no files, for a quick look at the database alone */
};

/* -- the mould --------------------------------------------------------------------------------- */
enum year_set
{
    YEAR_TURN,     /* a message and all that its answer left */
    YEAR_PERSON,   /* chat, contact, records of a person that was paired */
    YEAR_OWNER,    /* those of the owner */
    YEAR_PARK,     /* a message whose run waits for a decision */
    YEAR_STRANGER, /* somebody who was shown a code: chat, message, records */
    YEAR_SET_COUNT
};
enum year_patch_kind
{
    YEAR_PATCH_ID,
    YEAR_PATCH_MESSAGE,
    YEAR_PATCH_SEQ,
    YEAR_PATCH_TIME, /* decimal */
    YEAR_PATCH_TIME_BYTES,
    YEAR_PATCH_APPROVAL,
    YEAR_PATCH_CODE,
};
struct year_patch
{
    uint32_t at;
    enum year_patch_kind kind;
};
enum year_role /* of a column */
{
    YEAR_PLAIN,
    YEAR_SEQ,        /* a row number; 0 stays */
    YEAR_SEQ_STEP,   /* seq << 10 | number */
    YEAR_SEQ_OUTBOX, /* seq << 16 | ... */
    YEAR_CHAT,
    YEAR_DAY,
    YEAR_PLACE,
    YEAR_GENERATION,
    YEAR_OWN_ID, /* a number of its own */
    YEAR_TIME,
};
struct year_value
{
    enum year_role role;
    int type; /* SQLITE_* */
    int64_t number;
    char *bytes;
    uint32_t len, patch_count;
    struct year_patch *patches;
};
struct year_row
{
    sqlite3_stmt *insert; /* set when the target is open */
    char table[32];
    uint32_t value_count;
    struct year_value *values;
    uint32_t line; /* messages: the number of its line in the unit */
};
struct year_mould
{
    struct year_row *rows[YEAR_SET_COUNT];
    uint32_t counts[YEAR_SET_COUNT];
    uint64_t seq[YEAR_SET_COUNT];  /* first of the unit */
    uint32_t seqs[YEAR_SET_COUNT]; /* how many */
    uint64_t id[YEAR_SET_COUNT];   /* whose */
    int64_t time_ms;               /* about when */
    struct year_value lines[4];    /* history lines of a turn */
    uint32_t line_count;
    struct year_value stranger_line;
    char approval[40], code[16];
    char project[128];    /* the scratch project; the caller removes it */
    char (*meta)[2][256]; /* unused names are empty */
};
/** Let the real service do each of these once, in a scratch project. Ends the program when it
 *  cannot. */
void year_mould_make(const struct year_options *options, struct year_mould *ret_mould);
void year_mould_end(struct year_mould *mould);

/* What takes the place of the mould's. */
struct year_case
{
    uint64_t id, seq, message;
    int64_t time_ms;
    uint32_t chat;
    int64_t number; /* YEAR_OWN_ID; also makes request ids and codes */
    uint32_t generation;
    uint64_t places[4];
    const struct year_mould *mould;
    enum year_set set;
};
/** The bytes of a value with its patches made, in memory that lives until the next call. */
struct sma_str year_patched(const struct year_value *value, const struct year_case *of);

/* -- the plan ---------------------------------------------------------------------------------- */
/* Chats are of three classes; one of period p says something every p-th round. */
struct year_plan
{
    const struct year_options *options;
    uint64_t first[YEAR_CLASS_COUNT + 1]; /* first chat of each class */
    uint64_t period[YEAR_CLASS_COUNT];
    uint64_t rounds;
    uint64_t *before; /* messages before each round */
    int64_t start_ms, round_ms;
    uint32_t width; /* seqs of a turn */
};
void year_plan_make(const struct year_options *options, uint32_t width, struct year_plan *ret_plan);
void year_plan_end(struct year_plan *plan);
uint64_t year_count_of(const struct year_plan *plan, uint64_t chat);
/** The k-th message of a chat: its number among all, and its round. */
uint64_t year_index_of(const struct year_plan *plan, uint64_t chat, uint64_t k,
                       uint64_t *ret_round);
uint64_t year_next_chat(const struct year_plan *plan, uint64_t round, uint64_t from,
                        uint64_t *ret_k);
void year_case_of(const struct year_plan *plan, const struct year_mould *mould, uint64_t chat,
                  uint64_t k, struct year_case *ret_case);

/* -- writing ----------------------------------------------------------------------------------- */
void year_write_history(const struct year_plan *plan, const struct year_mould *mould);
/** The database: rows, then once opened and closed by the library, which makes its claims and
 *  marks. */
void year_write_database(const struct year_plan *plan, struct year_mould *mould);

SMA_PRINTF(1, 2) void year_die(const char *format, ...) __attribute__((noreturn));

#endif
