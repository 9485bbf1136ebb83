/* Sums of what models used, by day, chat, person, platform and target. */
#include "runtime/chat/state_priv.h"

#include "sma/messages.h"

#define NUMBER_COUNT 7 /* of struct sma_usage, in its order */
_Static_assert(NUMBER_COUNT * sizeof(uint64_t) == SMA_STATE_USAGE_BYTES, "a column holds them all");
_Static_assert(sizeof(struct sma_usage) == SMA_STATE_USAGE_BYTES, "it has no other members");

/* -- the numbers ------------------------------------------------------------------------------- */
static void spread(const struct sma_usage *usage, uint64_t numbers[NUMBER_COUNT])
{
    const uint64_t list[NUMBER_COUNT] = {usage->request_count, usage->input,  usage->cached,
                                         usage->written,       usage->output, usage->reasoning,
                                         usage->cost_nano};
    memcpy(numbers, list, sizeof list);
}

static struct sma_usage gather(const uint64_t numbers[NUMBER_COUNT])
{
    return (struct sma_usage){.request_count = numbers[0],
                              .input = numbers[1],
                              .cached = numbers[2],
                              .written = numbers[3],
                              .output = numbers[4],
                              .reasoning = numbers[5],
                              .cost_nano = numbers[6]};
}

struct sma_str sma_state_usage_put(const struct sma_usage *usage, char bytes[SMA_STATE_USAGE_BYTES])
{
    uint64_t numbers[NUMBER_COUNT];
    if (usage == NULL || sma_usage_is_empty(usage))
        return SMA_STR("");
    spread(usage, numbers);
    for (size_t i = 0; i < SMA_STATE_USAGE_BYTES; i++)
        bytes[i] = (char)(numbers[i / 8] >> i % 8 * 8 & 0xff);
    return (struct sma_str){bytes, SMA_STATE_USAGE_BYTES};
}

void sma_state_usage_get(struct sma_str bytes, struct sma_usage *ret_usage)
{
    uint64_t numbers[NUMBER_COUNT] = {0};
    for (size_t i = 0; i < SMA_STATE_USAGE_BYTES && bytes.len == SMA_STATE_USAGE_BYTES; i++)
        numbers[i / 8] |= (uint64_t)(unsigned char)bytes.ptr[i] << i % 8 * 8;
    *ret_usage = gather(numbers);
}

/* -- adding ------------------------------------------------------------------------------------ */
/* What a server says is not believed without end: a sum of sums must stay a number. */
static void bind_int(sqlite3_stmt *stmt, int index, uint64_t number)
{
    uint64_t max = UINT64_C(1) << 44;
    (void)sqlite3_bind_int64(stmt, index, (sqlite3_int64)(number < max ? number : max));
}

static SMA_CHECKED enum sma_err write_sums(struct sma_state *state, enum sma_state_sql sql,
                                           const struct sma_state_usage_key *key,
                                           const struct sma_usage *usage, bool *ret_is_written)
{
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    if (stmt == NULL)
        return state->error.code;
    uint64_t numbers[NUMBER_COUNT];
    spread(usage, numbers);
    (void)sqlite3_bind_int64(stmt, 1, key->day); /* a valid index cannot fail */
    bind_int(stmt, 2, key->chat_id);
    sma_state_bind(stmt, 3, key->person, true);
    sma_state_bind(stmt, 4, key->platform, true);
    sma_state_bind(stmt, 5, key->target, true);
    for (int i = 0; i < NUMBER_COUNT; i++)
        bind_int(stmt, 6 + i, numbers[i]);
    enum sma_err err = sma_state_run(state, stmt);
    *ret_is_written = err == SMA_ERR_OK && sqlite3_changes(state->db) > 0;
    return err;
}

/* How many rows the day has; with the first look at a day old ones go. */
static SMA_CHECKED enum sma_err begin_day(struct sma_state *state, int64_t day)
{
    if (state->is_usage_counted && state->usage_day == day)
        return SMA_ERR_OK;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_USAGE_FORGET);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, day - SMA_USAGE_DAYS);
    enum sma_err err = sma_state_run(state, stmt);
    stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_USAGE_COUNT) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    (void)sqlite3_bind_int64(stmt, 1, day);
    int rc = sqlite3_step(stmt);
    uint32_t count = rc == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(stmt, 0) : 0;
    sma_state_done(stmt);
    if (rc != SQLITE_ROW)
        return sma_state_fail(state, rc, "count sums of usage");
    state->usage_day = day;
    state->usage_row_count = count;
    state->is_usage_counted = true;
    return SMA_ERR_OK;
}

enum sma_err sma_state_usage_add(struct sma_state *state, const struct sma_state_usage_key *key,
                                 const struct sma_usage *usage)
{
    const struct sma_state_usage_key others = {.day = key->day};
    bool is_written = false;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = begin_day(state, key->day);
    if (err == SMA_ERR_OK)
        err = write_sums(state, SMA_SQL_USAGE_UPDATE, key, usage, &is_written);
    if (err != SMA_ERR_OK || is_written)
        return err;
    bool has_room = state->usage_row_count < SMA_USAGE_DAY_ROW_COUNT_MAX;
    if (!has_room)
        err = write_sums(state, SMA_SQL_USAGE_UPDATE, &others, usage, &is_written);
    if (err != SMA_ERR_OK || is_written)
        return err;
    state->usage_row_count += has_room;
    return write_sums(state, SMA_SQL_USAGE_INSERT, has_room ? key : &others, usage, &is_written);
}

/* -- asking ------------------------------------------------------------------------------------ */
enum sma_err sma_state_each_usage(struct sma_state *state,
                                  const struct sma_state_usage_query *query,
                                  sma_state_usage_fn *each, void *user)
{
    static const enum sma_state_sql statements[SMA_STATE_USAGE_BY_COUNT] = {
        [SMA_STATE_USAGE_BY_DAY] = SMA_SQL_USAGE_BY_DAY,
        [SMA_STATE_USAGE_BY_CHAT] = SMA_SQL_USAGE_BY_CHAT,
        [SMA_STATE_USAGE_BY_PERSON] = SMA_SQL_USAGE_BY_PERSON,
        [SMA_STATE_USAGE_BY_PLATFORM] = SMA_SQL_USAGE_BY_PLATFORM,
        [SMA_STATE_USAGE_BY_TARGET] = SMA_SQL_USAGE_BY_TARGET,
        [SMA_STATE_USAGE_TOTAL] = SMA_SQL_USAGE_TOTAL,
    };
    SMA_ASSERT(query->by < SMA_STATE_USAGE_BY_COUNT);
    sqlite3_stmt *stmt = sma_state_statement(state, statements[query->by]);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, query->from_day);
    bind_int(stmt, 2, query->chat_id);
    bind_int(stmt, 3, query->row_max);
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    state->live_reads++;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t numbers[NUMBER_COUNT];
        for (int i = 0; i < NUMBER_COUNT; i++)
            numbers[i] = (uint64_t)sqlite3_column_int64(stmt, 2 + i);
        struct sma_usage usage = gather(numbers);
        err = each(user, sqlite3_column_int64(stmt, 0), sma_state_column(stmt, 1), &usage);
    }
    state->live_reads--;
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read sums of usage");
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_usage_of_day(struct sma_state *state, int64_t day, uint32_t chat_id,
                                    sma_state_usage_row_fn *each, void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_USAGE_OF_DAY);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, day);
    bind_int(stmt, 2, chat_id);
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    state->live_reads++;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t numbers[NUMBER_COUNT];
        for (int i = 0; i < NUMBER_COUNT; i++)
            numbers[i] = (uint64_t)sqlite3_column_int64(stmt, 4 + i);
        struct sma_usage usage = gather(numbers);
        struct sma_state_usage_key key = {.day = day,
                                          .chat_id = (uint32_t)sqlite3_column_int64(stmt, 0),
                                          .person = sma_state_column(stmt, 1),
                                          .platform = sma_state_column(stmt, 2),
                                          .target = sma_state_column(stmt, 3)};
        err = each(user, &key, &usage);
    }
    state->live_reads--;
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read sums of usage");
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_usage_of_person(struct sma_state *state, int64_t from_day,
                                       struct sma_str person, struct sma_usage *ret_usage)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_USAGE_OF_PERSON);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, from_day);
    sma_state_bind(stmt, 2, person, true);
    int rc = sqlite3_step(stmt); /* one row, always; NULL counts as 0 */
    uint64_t numbers[NUMBER_COUNT] = {0};
    for (int i = 0; i < NUMBER_COUNT && rc == SQLITE_ROW; i++)
        numbers[i] = (uint64_t)sqlite3_column_int64(stmt, i);
    *ret_usage = gather(numbers);
    sma_state_done(stmt);
    return rc == SQLITE_ROW ? SMA_ERR_OK : sma_state_fail(state, rc, "read usage of a person");
}
