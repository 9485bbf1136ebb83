/*
 * memory_put.c — the rows of a file become its lines. See memory_index.h.
 *
 * What the index knows of the file is read once; then only what differs is written, since files
 * mostly change by a line.
 */
#include "runtime/memory/memory_index.h"

#include "runtime/memory/memory_words.h"
#include "runtime/secrets/secrets.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <stdlib.h>

#define MERGE_COUNT_MIN 1000 /* facts that were added: a word stands in many segments by then */

/* A row that is there. */
struct known
{
    int64_t number, id, place;
    uint64_t tags; /* their hash */
    int kind;
    bool is_seen;
};

struct putting
{
    struct memory_index *index;
    int64_t file, order, place; /* order: of the last row, 0 = not yet asked; place: likewise */
    struct sma_str person;
    struct known *known; /* by id */
    uint32_t known_count, known_room;
    struct sma_error *error;
};

static uint64_t hash_of(struct sma_str text)
{
    static const uint8_t key[16] = "tags of a fact..";
    return text.len == 0 ? 0 : sma_siphash(key, text.ptr, text.len);
}

/* -- what is known ----------------------------------------------------------------------------- */
static int compare_ids(const void *a, const void *b)
{
    int64_t x = ((const struct known *)a)->id, y = ((const struct known *)b)->id;
    return (x > y) - (x < y);
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = ((const struct known *)a)->number, y = ((const struct known *)b)->number;
    return (x > y) - (x < y);
}

static SMA_CHECKED enum sma_err add_known(struct putting *put, sqlite3_stmt *row)
{
    if (put->known_count == put->known_room) {
        uint32_t room = put->known_room == 0 ? 64 : 2 * put->known_room;
        struct known *more = realloc(put->known, room * sizeof *more);
        if (more == NULL)
            return sma_fail(put->error, SMA_ERR_NOMEM, "out of memory");
        put->known = more;
        put->known_room = room;
    }
    put->known[put->known_count++] = (struct known){.number = sqlite3_column_int64(row, 0),
                                                    .id = sqlite3_column_int64(row, 1),
                                                    .place = sqlite3_column_int64(row, 2),
                                                    .kind = sqlite3_column_int(row, 3),
                                                    .tags = hash_of(memory_column(row, 4))};
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_known(struct putting *put)
{
    sqlite3_stmt *rows = memory_statement(put->index, MEMORY_KNOWN, put->error);
    if (rows == NULL)
        return put->error->code;
    sqlite3_bind_int64(rows, 1, put->file);
    enum sma_err err = SMA_ERR_OK;
    int code = SQLITE_DONE;
    while (err == SMA_ERR_OK && (code = sqlite3_step(rows)) == SQLITE_ROW)
        err = add_known(put, rows);
    sqlite3_reset(rows);
    if (err == SMA_ERR_OK && code != SQLITE_DONE)
        return memory_index_fail(put->index, code, put->error);
    if (put->known_count > 0)
        qsort(put->known, put->known_count, sizeof *put->known, compare_ids);
    return err;
}

/* -- rows -------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err count_change(struct putting *put)
{
    uint32_t limit = put->index->change_limit;
    return limit == 0 || ++put->index->change_count <= limit ? SMA_ERR_OK : SMA_ERR_BUSY;
}

/* Lines keep their places as long as these grow, though bytes before them have come or gone. */
static int64_t next_place(struct putting *put, const struct sma_memory_line *line)
{
    int64_t start = (int64_t)line->start;
    put->place = start > put->place ? start : put->place + 1;
    return put->place;
}

static SMA_CHECKED enum sma_err put_words(struct memory_index *index, enum memory_statement which,
                                          int64_t number, int64_t audience, struct sma_str text,
                                          struct sma_str tags, struct sma_error *error)
{
    struct sma_buf words;
    sma_buf_init(&words, 8 * SMA_MEMORY_FILE_BYTES_MAX);
    sma_memory_put_words(&words, audience, text);
    sma_memory_put_words(&words, audience, tags);
    sqlite3_stmt *statement = memory_statement(index, which, error);
    enum sma_err err = statement == NULL ? error->code : words.err;
    if (err == SMA_ERR_OK) {
        sqlite3_bind_int64(statement, 1, number);
        memory_bind(statement, 2, sma_buf_str(&words));
        err = memory_index_step(index, statement, error);
    }
    sma_buf_fini(&words);
    return err;
}

static SMA_CHECKED enum sma_err next_number(struct putting *put, const struct sma_memory_line *line,
                                            int64_t *ret_number)
{
    if (put->order == 0) {
        sqlite3_stmt *last = memory_statement(put->index, MEMORY_LAST, put->error);
        if (last == NULL)
            return put->error->code;
        int code = sqlite3_step(last);
        if (code == SQLITE_ROW)
            put->order = sqlite3_column_int64(last, 0) >> MEMORY_NUMBER_BITS;
        sqlite3_reset(last);
        if (code != SQLITE_ROW)
            return memory_index_fail(put->index, code, put->error);
    }
    *ret_number = memory_number(++put->order, line->text.len, line->importance);
    return SMA_ERR_OK;
}

/* What is taken out of the words must be said as it was put in: of the row itself. */
static SMA_CHECKED enum sma_err drop_fact(struct putting *put, int64_t number)
{
    struct memory_index *index = put->index;
    struct sma_error *error = put->error;
    SMA_TRY(count_change(put));
    sqlite3_stmt *get = memory_statement(index, MEMORY_FACT_AT, error);
    if (get == NULL)
        return error->code;
    sqlite3_bind_int64(get, 1, number);
    int code = sqlite3_step(get);
    if (code != SQLITE_ROW) {
        sqlite3_reset(get);
        return code == SQLITE_DONE ? SMA_ERR_OK : memory_index_fail(index, code, error);
    }
    enum sma_err err = put_words(index, MEMORY_DROP_WORDS, number, sqlite3_column_int64(get, 0),
                                 memory_column(get, 2), memory_column(get, 1), error);
    sqlite3_reset(get);
    SMA_TRY(err);
    sqlite3_stmt *drop = memory_statement(index, MEMORY_DROP_FACT, error);
    if (drop == NULL)
        return error->code;
    sqlite3_bind_int64(drop, 1, number);
    index->wants_merge = true;
    return memory_index_step(index, drop, error);
}

static SMA_CHECKED enum sma_err add_fact(struct putting *put, int64_t id,
                                         const struct sma_memory_line *line)
{
    int64_t audience = 0;
    SMA_TRY(count_change(put));
    struct sma_buf name;
    sma_buf_init(&name, 2 * SMA_MEMORY_FILE_BYTES_MAX);
    memory_put_audience(&name, put->person, line->group);
    enum sma_err err = name.err;
    if (err == SMA_ERR_OK)
        err = memory_index_audience(put->index, sma_buf_str(&name), true, &audience, put->error);
    sma_buf_fini(&name);
    SMA_TRY(err);
    int64_t number = 0;
    SMA_TRY(next_number(put, line, &number));
    sqlite3_stmt *add = memory_statement(put->index, MEMORY_ADD_FACT, put->error);
    if (add == NULL)
        return put->error->code;
    sqlite3_bind_int64(add, 1, number);
    sqlite3_bind_int64(add, 2, id);
    sqlite3_bind_int64(add, 3, audience);
    sqlite3_bind_int64(add, 4, put->file);
    sqlite3_bind_int64(add, 5, (int64_t)next_place(put, line));
    sqlite3_bind_int(add, 6, (int)line->kind);
    sqlite3_bind_int(add, 7, line->importance);
    memory_bind(add, 8, line->group);
    memory_bind(add, 9, line->tags);
    memory_bind(add, 10, line->text);
    SMA_TRY(memory_index_step(put->index, add, put->error));
    put->index->wants_merge |= ++put->index->added_count >= MERGE_COUNT_MIN;
    return put_words(put->index, MEMORY_ADD_WORDS, number, audience, line->text, line->tags,
                     put->error);
}

/* The same words twice in one file are one fact. Of another file they cannot be: the person is part
 * of the id. */
static SMA_CHECKED enum sma_err add_line(struct putting *put, int64_t id,
                                         const struct sma_memory_line *line)
{
    sqlite3_stmt *get = memory_statement(put->index, MEMORY_FACT, put->error);
    if (get == NULL)
        return put->error->code;
    sqlite3_bind_int64(get, 1, id);
    int code = sqlite3_step(get);
    sqlite3_reset(get);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return memory_index_fail(put->index, code, put->error);
    return code == SQLITE_ROW ? SMA_ERR_OK : add_fact(put, id, line);
}

static SMA_CHECKED enum sma_err put_fact(struct putting *put, const struct sma_memory_line *line)
{
    const struct known key = {.id = (int64_t)memory_fact_id(put->person, line->group, line->text)};
    struct known *known = put->known_count == 0 ? NULL
                                                : bsearch(&key, put->known, put->known_count,
                                                          sizeof key, compare_ids);
    if (known == NULL)
        return add_line(put, key.id, line);
    if (known->is_seen)
        return SMA_ERR_OK;
    known->is_seen = true;
    if (known->tags != hash_of(line->tags) ||
        memory_number_importance(known->number) != line->importance) {
        SMA_TRY(drop_fact(put, known->number));
        return add_fact(put, key.id, line);
    }
    if (known->place > put->place && known->kind == (int)line->kind) {
        put->place = known->place;
        return SMA_ERR_OK;
    }
    sqlite3_stmt *set = memory_statement(put->index, MEMORY_SET_FACT, put->error);
    if (set == NULL)
        return put->error->code;
    put->place = known->place > put->place ? known->place : put->place + 1;
    sqlite3_bind_int64(set, 1, known->number);
    sqlite3_bind_int64(set, 2, put->place);
    sqlite3_bind_int(set, 3, (int)line->kind);
    return memory_index_step(put->index, set, put->error);
}

/* Lines that are not there any more; in the order of their numbers, as FTS5 likes it. */
static SMA_CHECKED enum sma_err drop_missing(struct putting *put)
{
    if (put->known_count > 0)
        qsort(put->known, put->known_count, sizeof *put->known, compare_numbers);
    for (uint32_t i = 0; i < put->known_count; i++)
        if (!put->known[i].is_seen)
            SMA_TRY(drop_fact(put, put->known[i].number));
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err put_lines(struct putting *put, struct sma_str bytes,
                                          const struct sma_secrets *secrets)
{
    struct sma_memory_reader reader;
    struct sma_memory_line line;
    put->place = -1;
    enum sma_err err = read_known(put);
    sma_memory_reader_init(&reader, bytes);
    for (uint32_t count = 0; err == SMA_ERR_OK && count < SMA_MEMORY_FILE_FACT_COUNT_MAX &&
                             sma_memory_reader_next(&reader, &line);
         count++)
        if (secrets == NULL || !sma_secrets_has(secrets, line.text))
            err = put_fact(put, &line);
    sma_memory_reader_fini(&reader);
    err = err == SMA_ERR_OK ? drop_missing(put) : err;
    free(put->known);
    return err;
}

static SMA_CHECKED enum sma_err put_file_row(struct memory_index *index, struct sma_str name,
                                             struct sma_str person, struct sma_str stamp,
                                             int64_t *ret_file, struct sma_error *error)
{
    sqlite3_stmt *statement = memory_statement(index, MEMORY_PUT_FILE, error);
    if (statement == NULL)
        return error->code;
    memory_bind(statement, 1, name);
    memory_bind(statement, 2, person);
    memory_bind(statement, 3, stamp);
    SMA_TRY(memory_index_step(index, statement, error));
    sqlite3_stmt *get = memory_statement(index, MEMORY_GET_FILE, error);
    if (get == NULL)
        return error->code;
    memory_bind(get, 1, name);
    int code = sqlite3_step(get);
    if (code == SQLITE_ROW)
        *ret_file = sqlite3_column_int64(get, 0);
    sqlite3_reset(get);
    return code == SQLITE_ROW ? SMA_ERR_OK : memory_index_fail(index, code, error);
}

/* In one transaction, or not at all. */
static enum sma_err end(struct memory_index *index, enum sma_err err, struct sma_error *error)
{
    if (err == SMA_ERR_OK)
        err = memory_index_run(index, "COMMIT", error);
    if (err != SMA_ERR_OK)
        sqlite3_exec(index->db, "ROLLBACK", NULL, NULL, NULL); /* the first error counts */
    return err;
}

enum sma_err memory_index_put_file(struct memory_index *index, const struct memory_file *file,
                                   const struct sma_secrets *secrets, struct sma_error *error)
{
    struct putting put = {.index = index, .person = file->person, .error = error};
    SMA_TRY(memory_index_run(index, "BEGIN", error));
    enum sma_err err = put_file_row(index, file->name, file->person, file->stamp, &put.file, error);
    if (err == SMA_ERR_OK)
        err = put_lines(&put, file->bytes, secrets);
    return end(index, err, error);
}

enum sma_err memory_index_drop_file(struct memory_index *index, struct sma_str name,
                                    struct sma_error *error)
{
    const struct memory_file none = {.name = name, .person = SMA_STR(""), .stamp = SMA_STR("-")};
    SMA_TRY(memory_index_put_file(index, &none, NULL, error));
    sqlite3_stmt *drop = memory_statement(index, MEMORY_DROP_FILE, error);
    if (drop == NULL)
        return error->code;
    memory_bind(drop, 1, name);
    return memory_index_step(index, drop, error);
}
