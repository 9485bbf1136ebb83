/* memory_find.c — questions to the memory: recall, search, lists. See memory.h. */
#include "runtime/memory/memory_priv.h"

#include "sma/limits.h"
#include "sma/text.h"

#define IMPORTANT 8        /* from here on it is recalled without a word in common */
#define NO_AUDIENCE (-1)   /* of nobody: rows have numbers from 1 on */
#define SEEN_COUNT_MAX 256 /* as many as a recall may give */

/* Who may read: everybody's facts, and those of the one place that the scope is in. */
struct audience
{
    int64_t project, own;
};

static SMA_CHECKED enum sma_err find_audience(struct sma_memory *memory, struct sma_str person,
                                              struct sma_str group, int64_t *ret_audience)
{
    struct sma_buf name;
    sma_buf_init(&name, 2 * SMA_MEMORY_FILE_BYTES_MAX);
    memory_put_audience(&name, person, group);
    enum sma_err err = name.err;
    if (err == SMA_ERR_OK)
        err = memory_index_audience(&memory->index, sma_buf_str(&name), false, ret_audience,
                                    &memory->error);
    sma_buf_fini(&name);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    *ret_audience = NO_AUDIENCE;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err find_audiences(struct sma_memory *memory,
                                               const struct sma_memory_scope *scope,
                                               struct audience *ret_audience)
{
    struct audience audience = {NO_AUDIENCE, NO_AUDIENCE};
    SMA_TRY(find_audience(memory, SMA_STR(""), SMA_STR(""), &audience.project));
    if (scope->group.len > 0 || scope->person.len > 0)
        SMA_TRY(find_audience(memory, scope->person, scope->group, &audience.own));
    *ret_audience = audience;
    return SMA_ERR_OK;
}

/* -- following --------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err follow_person(struct sma_memory *memory, struct sma_str person)
{
    struct sma_buf name;
    sma_buf_init(&name, MEMORY_PATH_BYTES_MAX);
    memory_put_name(&name, person);
    enum sma_err err = name.err;
    if (err == SMA_ERR_OK)
        err = memory_follow(memory, sma_buf_str(&name), person);
    sma_buf_fini(&name);
    return err;
}

/* Whoever has said something in this group: what they took back counts at once. */
static SMA_CHECKED enum sma_err follow_group(struct sma_memory *memory, int64_t audience)
{
    struct sma_buf names; /* name, NUL, person, NUL: a walk cannot go on under a change */
    sma_buf_init(&names, SMA_MEMORY_FILE_BYTES_MAX);
    sqlite3_stmt *files =
        memory_statement(&memory->index, MEMORY_FILES_OF_AUDIENCE, &memory->error);
    if (files == NULL)
        return memory->error.code;
    sqlite3_bind_int64(files, 1, audience);
    int code;
    while ((code = sqlite3_step(files)) == SQLITE_ROW)
        for (int i = 0; i < 2; i++) {
            sma_buf_put_str(&names, memory_column(files, i));
            sma_buf_put_char(&names, '\0');
        }
    sqlite3_reset(files);
    enum sma_err err =
        code != SQLITE_DONE ? memory_index_fail(&memory->index, code, &memory->error) : names.err;
    for (size_t at = 0; err == SMA_ERR_OK && at < names.len;) {
        struct sma_str name = sma_str(names.ptr + at);
        struct sma_str person = sma_str(name.ptr + name.len + 1);
        at += name.len + person.len + 2;
        err = memory_follow(memory, name, person);
    }
    sma_buf_fini(&names);
    return err;
}

static SMA_CHECKED enum sma_err follow(struct sma_memory *memory,
                                       const struct sma_memory_scope *scope)
{
    SMA_TRY(memory_open(memory));
    if (!memory->has_looked)
        return sma_memory_look(memory);
    int64_t group = NO_AUDIENCE;
    SMA_TRY(follow_person(memory, SMA_STR("")));
    if (scope->person.len > 0)
        SMA_TRY(follow_person(memory, scope->person));
    if (scope->group.len == 0)
        return SMA_ERR_OK;
    SMA_TRY(find_audience(memory, SMA_STR(""), scope->group, &group));
    return follow_group(memory, group);
}

/* -- giving ------------------------------------------------------------------------------------ */
struct giving
{
    struct sma_memory *memory;
    sma_memory_each_fn *each;
    void *user;
    uint64_t seen[SEEN_COUNT_MAX];
    uint32_t count, limit;
};

static bool is_seen(const struct giving *giving, uint64_t id)
{
    for (uint32_t i = 0; i < giving->count && i < SEEN_COUNT_MAX; i++)
        if (giving->seen[i] == id)
            return true;
    return false;
}

static SMA_CHECKED enum sma_err give(struct giving *giving, sqlite3_stmt *rows)
{
    enum sma_err err = SMA_ERR_OK;
    int code = SQLITE_DONE;
    while (err == SMA_ERR_OK && giving->count < giving->limit &&
           (code = sqlite3_step(rows)) == SQLITE_ROW) {
        struct sma_memory_fact fact = {.id = (uint64_t)sqlite3_column_int64(rows, 0),
                                       .kind = (enum sma_memory_kind)sqlite3_column_int(rows, 1),
                                       .importance = (uint8_t)sqlite3_column_int(rows, 2),
                                       .text = memory_column(rows, 3),
                                       .tags = memory_column(rows, 4),
                                       .person = memory_column(rows, 5),
                                       .group = memory_column(rows, 6)};
        if (is_seen(giving, fact.id))
            continue;
        if (giving->count < SEEN_COUNT_MAX)
            giving->seen[giving->count] = fact.id;
        giving->count++;
        err = giving->each(giving->user, &fact);
    }
    sqlite3_reset(rows);
    if (err == SMA_ERR_OK && code != SQLITE_DONE && code != SQLITE_ROW)
        err = memory_index_fail(&giving->memory->index, code, &giving->memory->error);
    return err;
}

static SMA_CHECKED enum sma_err give_best(struct giving *giving, const struct audience *audience,
                                          struct sma_str text)
{
    struct sma_memory *memory = giving->memory;
    int64_t audiences[MEMORY_AUDIENCE_COUNT_MAX];
    uint32_t count = 0;
    if (audience->own != NO_AUDIENCE)
        audiences[count++] = audience->own;
    if (audience->project != NO_AUDIENCE)
        audiences[count++] = audience->project;
    int64_t best[MEMORY_BEST_COUNT_MAX];
    uint32_t best_count = giving->limit < SMA_COUNT_OF(best) ? giving->limit : SMA_COUNT_OF(best);
    enum sma_err err = memory_rank(memory, audiences, count, text, best, &best_count);
    for (uint32_t i = 0; err == SMA_ERR_OK && i < best_count; i++) {
        sqlite3_stmt *row = memory_statement(&memory->index, MEMORY_ROW, &memory->error);
        if (row == NULL)
            return memory->error.code;
        sqlite3_bind_int64(row, 1, best[i]);
        sqlite3_bind_int64(row, 2, audience->own);
        sqlite3_bind_int64(row, 3, audience->project);
        err = give(giving, row);
    }
    return err;
}

/* In one transaction: its many short questions lock the file once. */
static SMA_CHECKED enum sma_err give_fitting(struct giving *giving, const struct audience *audience,
                                             struct sma_str text)
{
    struct sma_memory *memory = giving->memory;
    SMA_TRY(memory_index_run(&memory->index, "BEGIN", &memory->error));
    enum sma_err err = give_best(giving, audience, text);
    sqlite3_exec(memory->index.db, "END", NULL, NULL, NULL); /* it has read only */
    return err;
}

static SMA_CHECKED enum sma_err give_important(struct giving *giving, int64_t audience)
{
    struct sma_memory *memory = giving->memory;
    if (audience == NO_AUDIENCE || giving->count >= giving->limit)
        return SMA_ERR_OK;
    sqlite3_stmt *rows = memory_statement(&memory->index, MEMORY_FIND_IMPORTANT, &memory->error);
    if (rows == NULL)
        return memory->error.code;
    sqlite3_bind_int64(rows, 1, audience);
    sqlite3_bind_int(rows, 2, IMPORTANT);
    sqlite3_bind_int64(rows, 3, giving->limit);
    return give(giving, rows);
}

static SMA_CHECKED enum sma_err find(struct sma_memory *memory,
                                     const struct sma_memory_scope *scope, struct sma_str text,
                                     bool fills_up, struct giving *giving)
{
    struct audience audience;
    SMA_TRY(follow(memory, scope));
    SMA_TRY(find_audiences(memory, scope, &audience));
    SMA_TRY(give_fitting(giving, &audience, text));
    if (!fills_up)
        return SMA_ERR_OK;
    SMA_TRY(give_important(giving, audience.own));
    return give_important(giving, audience.project);
}

enum sma_err sma_memory_recall(struct sma_memory *memory, const struct sma_memory_scope *scope,
                               struct sma_str text, uint32_t limit, sma_memory_each_fn *each,
                               void *user)
{
    struct giving giving = {.memory = memory, .each = each, .user = user, .limit = limit};
    return find(memory, scope, text, true, &giving);
}

enum sma_err sma_memory_search(struct sma_memory *memory, const struct sma_memory_scope *scope,
                               struct sma_str text, uint32_t limit, sma_memory_each_fn *each,
                               void *user)
{
    struct giving giving = {.memory = memory, .each = each, .user = user, .limit = limit};
    return find(memory, scope, text, false, &giving);
}

/* -- lists ------------------------------------------------------------------------------------- */
/* Of the person's own lines when only those are asked for; project facts are nobody's own but the
 * project's. */
static SMA_CHECKED enum sma_err bind_list(struct sma_memory *memory,
                                          const struct sma_memory_scope *scope,
                                          const enum memory_statement *either,
                                          sqlite3_stmt **ret_rows)
{
    struct audience audience;
    SMA_TRY(follow(memory, scope));
    SMA_TRY(find_audiences(memory, scope, &audience));
    sqlite3_stmt *rows = memory_statement(&memory->index, either[scope->is_own], &memory->error);
    if (rows == NULL)
        return memory->error.code;
    sqlite3_bind_int64(rows, 1, scope->is_project ? NO_AUDIENCE : audience.own);
    if (scope->is_own)
        memory_bind(rows, 2, scope->person);
    else
        sqlite3_bind_int64(rows, 2, scope->is_here ? NO_AUDIENCE : audience.project);
    *ret_rows = rows;
    return SMA_ERR_OK;
}

enum sma_err sma_memory_list(struct sma_memory *memory, const struct sma_memory_scope *scope,
                             uint32_t offset, uint32_t limit, sma_memory_each_fn *each, void *user)
{
    static const enum memory_statement either[] = {MEMORY_LIST, MEMORY_LIST_OWN};
    struct giving giving = {.memory = memory, .each = each, .user = user, .limit = limit};
    sqlite3_stmt *rows = NULL;
    SMA_TRY(bind_list(memory, scope, either, &rows));
    sqlite3_bind_int64(rows, 3, offset);
    sqlite3_bind_int64(rows, 4, limit);
    return give(&giving, rows);
}

enum sma_err sma_memory_has(struct sma_memory *memory, const struct sma_memory_scope *scope,
                            uint64_t id, bool *ret_is_there)
{
    struct audience audience;
    SMA_TRY(memory_open(memory));
    SMA_TRY(find_audiences(memory, scope, &audience));
    sqlite3_stmt *row = memory_statement(&memory->index, MEMORY_FACT, &memory->error);
    if (row == NULL)
        return memory->error.code;
    sqlite3_bind_int64(row, 1, (int64_t)id);
    int code = sqlite3_step(row);
    int64_t found = code == SQLITE_ROW ? sqlite3_column_int64(row, 1) : NO_AUDIENCE;
    sqlite3_reset(row);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return memory_index_fail(&memory->index, code, &memory->error);
    *ret_is_there = code == SQLITE_ROW && (found == audience.own || found == audience.project);
    return SMA_ERR_OK;
}

enum sma_err sma_memory_list_file(struct sma_memory *memory, struct sma_str person,
                                  sma_memory_each_fn *each, void *user)
{
    struct giving giving = {.memory = memory, .each = each, .user = user, .limit = UINT32_MAX};
    SMA_TRY(memory_open(memory));
    SMA_TRY(follow_person(memory, person));
    struct sma_buf name;
    sma_buf_init(&name, MEMORY_PATH_BYTES_MAX);
    memory_put_name(&name, person);
    sqlite3_stmt *rows = memory_statement(&memory->index, MEMORY_LIST_FILE, &memory->error);
    enum sma_err err = rows == NULL ? memory->error.code : name.err;
    if (err == SMA_ERR_OK) {
        memory_bind(rows, 1, sma_buf_str(&name));
        err = give(&giving, rows);
    }
    sma_buf_fini(&name);
    return err;
}
