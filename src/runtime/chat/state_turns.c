/*
 * Turns, found by chat through the index turns_chat: nothing about them is in memory. The turns of
 * a chat that has moved stay under the ids of its records, which are looked through together.
 */
#include "runtime/chat/state_keep.h"
#include "runtime/chat/state_priv.h"

/* More than are ever given are kept for a moment, so that rows go several at a time. */
#define SLACK 16
#define TRIM_MAX 64 /* rows removed at once */

/* -- changes ----------------------------------------------------------------------------------- */

static SMA_CHECKED enum sma_err run_bound(struct sma_state *state, enum sma_state_sql sql,
                                          uint64_t first, uint64_t second)
{
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, first);
    sma_state_bind_int(stmt, 2, second);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_turns_clear(struct sma_state *state, const struct sma_state_chat *chat,
                                   uint64_t below)
{
    enum sma_err err = SMA_ERR_OK;
    for (; chat != NULL && err == SMA_ERR_OK; chat = sma_state_chat_next_former(chat))
        err = run_bound(state, SMA_SQL_TURN_CLEAR, chat->id, below);
    return err;
}

/* -- what was before them ---------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err clear_pasts(struct sma_state *state,
                                            const struct sma_state_chat *chat, uint64_t below)
{
    for (; chat != NULL; chat = sma_state_chat_next_former(chat))
        SMA_TRY(run_bound(state, SMA_SQL_PAST_CLEAR, chat->id, below));
    return SMA_ERR_OK;
}

enum sma_err sma_state_past_set(struct sma_state *state, const struct sma_state_chat *chat,
                                const struct sma_state_past *past)
{
    SMA_TRY(sma_state_change(state));
    bool is_cleared = past->first < chat->clear_mark && chat->clear_mark > 0;
    if (is_cleared && past->below > 0)
        return SMA_ERR_OK; /* since it was read: nobody is to see it again */
    SMA_TRY(clear_pasts(state, chat, SMA_STATE_SEQ_MAX));
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_PAST_SET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, chat->id);
    sma_state_bind_int(stmt, 2, past->seq);
    sma_state_bind_int(stmt, 3, past->first);
    sma_state_bind(stmt, 4, past->data, false);
    SMA_TRY(sma_state_run(state, stmt));
    return past->below == 0 ? SMA_ERR_OK : sma_state_turns_clear(state, chat, past->below);
}

enum sma_err sma_state_past_get(struct sma_state *state, const struct sma_state_chat *chat,
                                struct sma_buf *out)
{
    for (; chat != NULL; chat = sma_state_chat_next_former(chat)) {
        sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_PAST_GET);
        if (stmt == NULL)
            return state->error.code;
        sma_state_bind_int(stmt, 1, chat->id);
        int rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            sma_buf_put_str(out, sma_state_column(stmt, 0));
        sma_state_done(stmt);
        if (rc == SQLITE_ROW)
            return out->err;
        if (rc != SQLITE_DONE)
            return sma_state_fail(state, rc, "look for a summary");
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err write_turn(struct sma_state *state, uint32_t chat_id,
                                           const struct sma_state_finish *finish)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_INSERT);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, finish->seq);
    sma_state_bind_int(stmt, 2, chat_id);
    sma_state_bind(stmt, 3, finish->wire, true);
    sma_state_bind(stmt, 4, finish->message_id, true);
    sma_state_bind(stmt, 5, finish->turn, false);
    return sma_state_run(state, stmt);
}

/* The first row of a bound statement: whether there is one, and its number. */
static SMA_CHECKED enum sma_err first_number(struct sma_state *state, sqlite3_stmt *stmt,
                                             bool *ret_is_there, uint64_t *ret_number)
{
    int rc = sqlite3_step(stmt);
    *ret_is_there = rc == SQLITE_ROW;
    *ret_number = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    sma_state_done(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SMA_ERR_OK
                                                 : sma_state_fail(state, rc, "look for turns");
}

static SMA_CHECKED enum sma_err trim(struct sma_state *state, uint32_t chat_id)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_NTH);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, chat_id);
    sma_state_bind_int(stmt, 2, state->turn_count_max + SLACK - 1);
    bool is_over = false;
    uint64_t seq = 0;
    enum sma_err err = first_number(state, stmt, &is_over, &seq);
    if (err != SMA_ERR_OK || !is_over)
        return err;
    stmt = sma_state_statement(state, SMA_SQL_TURN_TRIM);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, chat_id);
    sma_state_bind_int(stmt, 2, TRIM_MAX);
    sma_state_bind_int(stmt, 3, state->turn_count_max);
    return sma_state_run(state, stmt);
}

void sma_state_set_turn_count(struct sma_state *state, uint32_t count_max)
{
    bool is_usable = count_max > 0 && count_max <= SMA_STATE_TURN_COUNT_MAX;
    state->turn_count_max = is_usable ? count_max : SMA_STATE_TURN_COUNT_MAX;
}

enum sma_err sma_state_turn_add(struct sma_state *state, const struct sma_state_chat *chat,
                                const struct sma_state_finish *finish)
{
    if (finish->turn.len == 0 || finish->seq < chat->clear_mark)
        return SMA_ERR_OK;
    enum sma_err err = write_turn(state, chat->id, finish);
    return err == SMA_ERR_OK ? trim(state, chat->id) : err;
}

enum sma_err sma_state_late_turn(struct sma_state *state, const struct sma_state_finish *finish)
{
    struct sma_state_head head;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = sma_state_head_get(state, finish->seq, &head);
    if (err != SMA_ERR_OK)
        return err;
    if (head.state != SMA_ROW_CANCELLED)
        return SMA_ERR_EXISTS;
    struct sma_state_chat *chat = sma_state_chat_by_id(state, head.chat_id);
    if (chat == NULL)
        return sma_state_damaged(state, "keep a late turn: its chat is not there");
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_SIZE);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, finish->seq);
    bool is_there = false;
    uint64_t size;
    err = first_number(state, stmt, &is_there, &size);
    if (err != SMA_ERR_OK || is_there)
        return err == SMA_ERR_OK ? SMA_ERR_EXISTS : err;
    return sma_state_turn_add(state, chat, finish);
}

/* -- reading ----------------------------------------------------------------------------------- */

/* The newest seqs of a chat, newest first. */
struct newest
{
    uint64_t seqs[SMA_STATE_TURN_COUNT_MAX];
    uint32_t count, max;
};

static void note_seq(struct newest *newest, uint64_t seq)
{
    uint32_t at = newest->count;
    while (at > 0 && newest->seqs[at - 1] < seq)
        at--;
    if (at == newest->max)
        return;
    newest->count += newest->count < newest->max;
    memmove(newest->seqs + at + 1, newest->seqs + at,
            (newest->count - at - 1) * sizeof newest->seqs[0]);
    newest->seqs[at] = seq;
}

static SMA_CHECKED enum sma_err find_newest(struct sma_state *state,
                                            const struct sma_state_turns_wanted *wanted,
                                            struct newest *newest)
{
    for (const struct sma_state_chat *record = wanted->chat; record != NULL;
         record = sma_state_chat_next_former(record)) {
        sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_NEWEST);
        if (stmt == NULL)
            return state->error.code;
        sma_state_bind_int(stmt, 1, record->id);
        sma_state_bind_int(stmt, 2, wanted->chat->clear_mark);
        sma_state_bind_int(stmt, 3, wanted->before_seq);
        sma_state_bind_int(stmt, 4, newest->max);
        int rc;
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
            note_seq(newest, (uint64_t)sqlite3_column_int64(stmt, 0));
        sma_state_done(stmt);
        if (rc != SQLITE_DONE)
            return sma_state_fail(state, rc, "look for turns");
    }
    return SMA_ERR_OK;
}

bool sma_state_has_past(struct sma_state *state, const struct sma_state_chat *chat)
{
    const struct sma_state_turns_wanted wanted = {.chat = chat, .before_seq = SMA_STATE_SEQ_MAX};
    struct newest newest; /* large: only what is found is written */
    newest.count = 0;
    newest.max = 1;
    if (find_newest(state, &wanted, &newest) == SMA_ERR_OK && newest.count > 0)
        return true;
    bool is_there = false;
    uint64_t ignored;
    for (; chat != NULL && !is_there; chat = sma_state_chat_next_former(chat)) {
        sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_PAST_GET);
        if (stmt == NULL)
            return false;
        sma_state_bind_int(stmt, 1, chat->id);
        if (first_number(state, stmt, &is_there, &ignored) != SMA_ERR_OK)
            return false;
    }
    return is_there;
}

/* NOTFOUND: too big for what is left of *bytes. */
static SMA_CHECKED enum sma_err read_turn(struct sma_state *state, uint64_t seq, uint64_t *bytes,
                                          struct sma_state_rows *rows, struct sma_state_turn *turn)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_SIZE);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, seq);
    bool is_there = false;
    uint64_t size = 0;
    enum sma_err err = first_number(state, stmt, &is_there, &size);
    if (err != SMA_ERR_OK || size > *bytes)
        return err == SMA_ERR_OK ? SMA_ERR_NOTFOUND : err;
    *bytes -= size;
    stmt = sma_state_statement(state, SMA_SQL_TURN_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, seq);
    int rc = sqlite3_step(stmt);
    *turn = (struct sma_state_turn){seq, sma_state_column(stmt, 0), sma_state_column(stmt, 1),
                                    sma_state_column(stmt, 2)};
    struct sma_str *const slices[] = {&turn->wire, &turn->message_id, &turn->turn};
    err = rc == SQLITE_ROW    ? sma_state_rows_own(rows, slices, SMA_COUNT_OF(slices))
          : rc == SQLITE_DONE ? sma_state_damaged(state, "read a turn: it is not there")
                              : sma_state_fail_row(state, rc, "read a turn");
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_turns_read(struct sma_state *state,
                                  const struct sma_state_turns_wanted *wanted,
                                  struct sma_state_rows *rows, struct sma_state_turns *ret_turns)
{
    struct newest newest;
    newest.count = 0;
    newest.max =
        wanted->turns_max < state->turn_count_max ? wanted->turns_max : state->turn_count_max;
    enum sma_err err = newest.max == 0 ? SMA_ERR_OK : find_newest(state, wanted, &newest);
    struct sma_state_turn *turns =
        sma_state_rows_take(rows, (newest.count + (size_t)1) * sizeof *turns);
    if (err == SMA_ERR_OK && turns == NULL)
        err = SMA_ERR_NOMEM;
    uint64_t bytes = wanted->bytes_max;
    uint32_t at = newest.count; /* filled from the end: oldest first at last */
    for (uint32_t i = 0; i < newest.count && err == SMA_ERR_OK; i++) {
        err = read_turn(state, newest.seqs[i], &bytes, rows, &turns[at - 1]);
        if (err == SMA_ERR_OK)
            at--;
        if (err == SMA_ERR_CORRUPT && !state->is_fatal)
            err = SMA_ERR_OK; /* a chat goes on without the turn that is damaged */
    }
    *ret_turns = (struct sma_state_turns){turns + at, newest.count - at};
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err sma_state_each_turn(struct sma_state *state, const struct sma_state_chat *chat,
                                 uint64_t before_seq, uint32_t turns_max, uint64_t bytes_max,
                                 sma_state_turn_fn *each, void *user)
{
    const struct sma_state_turns_wanted wanted = {chat, before_seq, bytes_max, turns_max};
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_turns turns;
    enum sma_err err = sma_state_turns_read(state, &wanted, &rows, &turns);
    for (size_t i = 0; i < turns.count && err == SMA_ERR_OK; i++)
        err = each(user, turns.items[i].seq, turns.items[i].wire, turns.items[i].message_id,
                   turns.items[i].turn);
    return err;
}

enum sma_err sma_state_chat_set_clear_mark(struct sma_state *state, struct sma_state_chat *chat,
                                           uint64_t seq)
{
    enum sma_err err = sma_state_chat_begin(state, chat);
    if (err != SMA_ERR_OK || seq <= chat->clear_mark)
        return err;
    chat->clear_mark = seq;
    err = sma_state_chat_write(state, chat);
    if (err == SMA_ERR_OK)
        err = clear_pasts(state, chat, seq);
    return err == SMA_ERR_OK ? sma_state_turns_clear(state, chat, seq) : err;
}
