/*
 * Claims on disk: compact generations of SMA_STATE_BLOCK_COUNT pairs, written with a commit
 * whenever that many are pending; at start the generations are read, and the messages above the
 * last one.
 *
 * Expiry takes the oldest generation: first the finished rows of its range, a slice per call, then
 * its claims and the generation itself. Claims of unfinished rows stay in a smaller generation. A
 * crash in between leaves claims whose row
 * is gone: a hit on one is not verified, so it is no claim any more.
 */
#include "runtime/chat/state_priv.h"
#include "sma/text.h"

#include <stdlib.h>

uint64_t sma_state_claim_hash(const struct sma_state *state, uint32_t chat_id, uint8_t kind,
                              struct sma_str event_key)
{
    uint8_t bytes[5 + SMA_ID_BYTES_MAX];
    size_t len = event_key.len < SMA_ID_BYTES_MAX ? event_key.len : SMA_ID_BYTES_MAX;
    memcpy(bytes, &chat_id, 4); /* the id stands for channel and chat key */
    bytes[4] = kind;
    if (len > 0)
        memcpy(bytes + 5, event_key.ptr, len);
    return state->test_hash != NULL ? state->test_hash(bytes, len + 5)
                                    : sma_siphash(state->key, bytes, len + 5);
}

/* Also used while loading, outside of a transaction: then nothing is there to undo. */
enum sma_err sma_state_claim_add(struct sma_state *state, uint64_t hash, uint64_t seq)
{
    if (SMA_STATE_RESERVE(state->pending) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    if (state->is_in_transaction) {
        enum sma_err err = sma_state_undo_push(
            state, (struct sma_state_undo){.kind = SMA_UNDO_CLAIM_ADD, .a = hash, .b = seq});
        if (err != SMA_ERR_OK)
            return err;
    }
    enum sma_err err = sma_claims_add(&state->claims, hash, seq);
    if (err != SMA_ERR_OK) {
        state->undo.count -= state->is_in_transaction;
        return err;
    }
    SMA_STATE_PUSH(state->pending, (struct sma_state_pair){hash, seq});
    return SMA_ERR_OK;
}

enum sma_err sma_state_claim_find(struct sma_state *state, uint32_t claim_id, uint8_t kind,
                                  struct sma_str event_key, struct sma_state_head *ret_head)
{
    uint64_t hash = sma_state_claim_hash(state, claim_id, kind, event_key);
    struct sma_claims_cursor cursor = {0};
    for (uint64_t seq; (seq = sma_claims_next(&state->claims, hash, &cursor)) != 0;) {
        struct sma_state_head head;
        enum sma_err err = sma_state_head_get(state, seq, &head);
        if (err == SMA_ERR_NOTFOUND)
            continue; /* its row has expired */
        if (err != SMA_ERR_OK)
            return err;
        if (head.claim_id == claim_id && head.kind == kind && head.state != SMA_ROW_LINE &&
            sma_str_is_equal(head.event_key, event_key)) {
            *ret_head = head;
            return SMA_ERR_OK;
        }
    }
    return SMA_ERR_NOTFOUND;
}

/* -- generations on disk ----------------------------------------------------------------------- */

static void put_pair(uint8_t *bytes, struct sma_state_pair pair)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(pair.hash >> 8 * i);
    for (int i = 0; i < 6; i++)
        bytes[8 + i] = (uint8_t)(pair.seq >> 8 * i);
}

static struct sma_state_pair get_pair(const char *bytes)
{
    uint64_t hash = 0, seq = 0;
    memcpy(&hash, bytes, 8);
    memcpy(&seq, bytes + 8, 6);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    hash = __builtin_bswap64(hash);
    seq = __builtin_bswap64(seq);
#endif
    return (struct sma_state_pair){hash, seq};
}

static struct sma_str pack(struct sma_state *state, const struct sma_state_pair *pairs,
                           size_t count)
{
    SMA_ASSERT(count <= SMA_STATE_BLOCK_COUNT);
    for (size_t i = 0; i < count; i++)
        put_pair(state->block_bytes + i * SMA_STATE_BLOCK_PAIR_BYTES, pairs[i]);
    return (struct sma_str){(const char *)state->block_bytes, count * SMA_STATE_BLOCK_PAIR_BYTES};
}

static uint64_t made_at(const struct sma_state *state)
{
    uint64_t uptime_ms = sma_state_uptime_ms(state);
    return uptime_ms > state->claims_age_ms ? uptime_ms - state->claims_age_ms : 0;
}

static enum sma_err write_block(struct sma_state *state, const struct sma_state_pair *pairs)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_BLOCK_INSERT);
    if (stmt == NULL)
        return state->error.code;
    if (SMA_STATE_RESERVE(state->blocks) != SMA_ERR_OK)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    struct sma_state_block block = {
        .id = state->blocks.count == 0 ? 1 : state->blocks.items[state->blocks.count - 1].id + 1,
        .last_seq = pairs[SMA_STATE_BLOCK_COUNT - 1].seq,
        .uptime_ms = made_at(state),
    };
    (void)sqlite3_bind_int64(stmt, 1, block.id); /* valid indexes cannot fail */
    (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)block.last_seq);
    (void)sqlite3_bind_int64(stmt, 3, (sqlite3_int64)block.uptime_ms);
    sma_state_bind(stmt, 4, pack(state, pairs, SMA_STATE_BLOCK_COUNT), false);
    enum sma_err err = sma_state_run(state, stmt);
    if (err == SMA_ERR_OK)
        SMA_STATE_PUSH(state->blocks, block);
    return err;
}

enum sma_err sma_state_blocks_write(struct sma_state *state)
{
    enum sma_err err = SMA_ERR_OK;
    size_t taken = 0;
    for (; err == SMA_ERR_OK && state->pending.count - taken >= SMA_STATE_BLOCK_COUNT;
         taken += SMA_STATE_BLOCK_COUNT)
        err = write_block(state, state->pending.items + taken);
    state->pending_taken = taken;
    return err;
}

void sma_state_blocks_committed(struct sma_state *state)
{
    if (state->pending_taken > 0) {
        state->pending.count -= state->pending_taken;
        memmove(state->pending.items, state->pending.items + state->pending_taken,
                state->pending.count * sizeof *state->pending.items);
        state->pending_taken = 0;
    }
    if (state->expiry.is_block_done) {
        size_t index = state->expiry.index;
        if (state->expiry.is_block_removed) {
            state->blocks.count--;
            memmove(state->blocks.items + index, state->blocks.items + index + 1,
                    (state->blocks.count - index) * sizeof *state->blocks.items);
        } else {
            state->expiry.index++;
        }
        state->expiry.next_seq = 0;
        state->expiry.kept.count = 0;
    }
    state->expiry.is_touched = state->expiry.is_block_done = state->expiry.is_block_removed = false;
}

void sma_state_blocks_undone(struct sma_state *state)
{
    state->pending.count = state->pending_at_begin;
    state->pending_taken = 0;
    state->blocks.count = state->blocks_at_begin;
    if (state
            ->expiry
            /* look at the range again from its start: rows that are gone cost nothing */
            .is_touched) {
        state->expiry.next_seq = 0;
        state->expiry.kept.count = 0;
    }
    state->expiry.is_touched = state->expiry.is_block_done = state->expiry.is_block_removed = false;
}

/* The whole pairs of a row. What is behind them, or too much, is damage: it claims nothing. */
static size_t pair_bytes_of(struct sma_str pairs)
{
    const size_t max = (size_t)SMA_STATE_BLOCK_COUNT * SMA_STATE_BLOCK_PAIR_BYTES;
    return pairs.len > max ? max : pairs.len - pairs.len % SMA_STATE_BLOCK_PAIR_BYTES;
}

static bool is_sound(struct sma_state_pair pair)
{
    return pair.seq != 0 && pair.seq <= SMA_STATE_SEQ_MAX;
}

/* A damaged pair is one event's misfortune: like one whose hash was changed it claims nothing, and
 * stops nobody. */
static enum sma_err load_block(struct sma_state *state, sqlite3_stmt *stmt, uint64_t *ret_covered)
{
    struct sma_str pairs = sma_state_column(stmt, 3);
    if (SMA_STATE_RESERVE(state->blocks) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    SMA_STATE_PUSH(state->blocks,
                   (struct sma_state_block){.id = sqlite3_column_int64(stmt, 0),
                                            .last_seq = (uint64_t)sqlite3_column_int64(stmt, 1),
                                            .uptime_ms = (uint64_t)sqlite3_column_int64(stmt, 2)});
    *ret_covered = state->blocks.items[state->blocks.count - 1].last_seq;
    enum sma_err err = SMA_ERR_OK;
    size_t bytes = pair_bytes_of(pairs);
    for (size_t at = 0; at < bytes && err == SMA_ERR_OK; at += SMA_STATE_BLOCK_PAIR_BYTES) {
        struct sma_state_pair pair = get_pair(pairs.ptr + at);
        if (is_sound(pair))
            err = sma_claims_add(&state->claims, pair.hash, pair.seq);
    }
    return err;
}

enum sma_err sma_state_blocks_load(struct sma_state *state, uint64_t *ret_covered)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_BLOCK_EACH);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = load_block(state, stmt, ret_covered);
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read claims");
    sma_state_done(stmt);
    return err;
}

/* -- bounds ------------------------------------------------------------------------------------ */

uint64_t sma_state_claim_count(const struct sma_state *state)
{
    return state->claims.count;
}

bool sma_state_is_claims_full(const struct sma_state *state)
{
    return state->claims.count >= state->claims_hard;
}

void sma_state_set_claim_bounds(struct sma_state *state, uint64_t soft, uint64_t hard,
                                uint64_t age_min_ms)
{
    state->claims_soft = soft;
    state->claims_hard = hard;
    state->claims_age_min_ms = age_min_ms;
}

void sma_state_set_claim_hash(struct sma_state *state,
                              uint64_t (*hash)(const void *bytes, size_t len))
{
    SMA_ASSERT(state->claims.count == 0);
    state->test_hash = hash;
}

/* -- expiry ------------------------------------------------------------------------------------ */

static bool is_old_enough(const struct sma_state *state)
{
    return sma_state_uptime_ms(state) >=
           state->blocks.items[state->expiry.index].uptime_ms + state->claims_age_min_ms;
}

/* The last eighth below the hard bound is for what comes while older ones go: people expect that
 * intake does not stop, and no platform repeats a message after a day (docs/adr/0024). */
static bool is_nearly_full(const struct sma_state *state)
{
    return state->claims.count >= state->claims_hard - state->claims_hard / 8;
}

bool sma_state_is_expiry_due(const struct sma_state *state)
{
    if (state->claims.count <= state->claims_soft || state->expiry.index >= state->blocks.count)
        return false;
    return is_old_enough(state) || is_nearly_full(state);
}

uint64_t sma_state_expired_early(const struct sma_state *state)
{
    return state->expired_early;
}

void sma_state_set_claim_age(struct sma_state *state, uint64_t age_ms)
{
    state->claims_age_ms = age_ms;
}

void sma_state_make_room_for_ages(struct sma_state *state)
{
    if (state->claims.count > 0 || sma_state_uptime_ms(state) > state->claims_age_min_ms)
        return;
    state->uptime_base_ms += state->claims_age_min_ms;
    state->is_marks_forced = state->is_marks_dirty = true;
}

static enum sma_err delete_range(struct sma_state *state, enum sma_state_sql sql, uint64_t from,
                                 uint64_t to)
{
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)from); /* valid indexes cannot fail */
    if (to != 0)
        (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)to);
    return sma_state_run(state, stmt);
}

static enum sma_err delete_row(struct sma_state *state, uint64_t seq)
{
    SMA_TRY(delete_range(state, SMA_SQL_MESSAGE_DELETE, seq, 0));
    SMA_TRY(delete_range(state, SMA_SQL_RUN_DELETE, seq, 0));
    return delete_range(state, SMA_SQL_OUTBOX_DELETE, seq << 16, (seq + 1) << 16);
}

static enum sma_err has_open_delivery(struct sma_state *state, uint64_t seq, bool *ret_has)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_OUTBOX_IS_OPEN);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)(seq << 16)); /* valid indexes cannot fail */
    (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)((seq + 1) << 16));
    int rc = sqlite3_step(stmt);
    sma_state_done(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return sma_state_fail(state, rc, "look for open deliveries");
    *ret_has = rc == SQLITE_ROW;
    return SMA_ERR_OK;
}

/* One row of the range: delete it, or keep its claim when something still needs it. */
static enum sma_err expire_row(struct sma_state *state, sqlite3_stmt *stmt, uint32_t *removed)
{
    uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    int row_state = sqlite3_column_int(stmt, 1);
    bool has_unflushed_line =
        sqlite3_column_type(stmt, 5) != SQLITE_NULL && seq > state->history_flushed;
    bool is_needed = sma_row_is_open(row_state) || has_unflushed_line;
    SMA_TRY(is_needed ? SMA_ERR_OK : has_open_delivery(state, seq, &is_needed));
    if (!is_needed)
        SMA_TRY(sma_state_line_is_aside(state, (uint32_t)sqlite3_column_int64(stmt, 3), seq,
                                        &is_needed));
    if (!is_needed) {
        (*removed)++;
        state->expired_early += !is_old_enough(state);
        return delete_row(state, seq);
    }
    struct sma_str event = sma_state_column(stmt, 4);
    if (row_state == SMA_ROW_LINE || event.len == 0)
        return SMA_ERR_OK;
    if (SMA_STATE_RESERVE(state->expiry.kept) != SMA_ERR_OK)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    uint64_t hash = sma_state_claim_hash(state, (uint32_t)sqlite3_column_int64(stmt, 3),
                                         (uint8_t)sqlite3_column_int(stmt, 2), event);
    SMA_STATE_PUSH(state->expiry.kept, (struct sma_state_pair){hash, seq});
    return SMA_ERR_OK;
}

static bool is_kept(const struct sma_state *state, uint64_t seq)
{
    size_t low = 0, high = state->expiry.kept.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (state->expiry.kept.items[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < state->expiry.kept.count && state->expiry.kept.items[low].seq == seq;
}

static enum sma_err remove_claim(struct sma_state *state, struct sma_state_pair pair)
{
    if (!is_sound(pair) || is_kept(state, pair.seq) ||
        !sma_claims_remove(&state->claims, pair.hash, pair.seq))
        return SMA_ERR_OK;
    enum sma_err err = sma_state_undo_push(
        state,
        (struct sma_state_undo){.kind = SMA_UNDO_CLAIM_REMOVE, .a = pair.hash, .b = pair.seq});
    if (err != SMA_ERR_OK && sma_claims_add(&state->claims, pair.hash, pair.seq) != SMA_ERR_OK)
        state->is_fatal = true; /* cannot be: its slot has just become free */
    return err;
}

/* All rows of the range were looked at: the claims of the removed ones go, the generation shrinks
 * or goes. */
static enum sma_err finish_block(struct sma_state *state, const struct sma_state_block *block)
{
    sqlite3_stmt *get = sma_state_statement(state, SMA_SQL_BLOCK_GET);
    if (get == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(get, 1, block->id); /* valid index */
    int rc = sqlite3_step(get);
    enum sma_err err =
        rc == SQLITE_ROW
            ? SMA_ERR_OK
            : sma_state_fail(state, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, "read claims");
    struct sma_str pairs = err == SMA_ERR_OK ? sma_state_column(get, 0) : (struct sma_str){NULL, 0};
    for (size_t at = 0; at + SMA_STATE_BLOCK_PAIR_BYTES <= pairs.len && err == SMA_ERR_OK;
         at += SMA_STATE_BLOCK_PAIR_BYTES)
        err = remove_claim(state, get_pair(pairs.ptr + at));
    sma_state_done(get);
    if (err != SMA_ERR_OK)
        return err;
    state->expiry.is_block_done = true;
    state->expiry.is_block_removed = state->expiry.kept.count == 0;
    if (state->expiry.is_block_removed)
        return delete_range(state, SMA_SQL_BLOCK_DELETE, (uint64_t)block->id, 0);
    sqlite3_stmt *update = sma_state_statement(state, SMA_SQL_BLOCK_UPDATE);
    if (update == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(update, 1, block->id); /* valid index */
    sma_state_bind(update, 2, pack(state, state->expiry.kept.items, state->expiry.kept.count),
                   false);
    return sma_state_run(state, update);
}

/* Look at the next rows_max rows of the range. */
static enum sma_err expire_slice(struct sma_state *state, uint64_t last_seq, uint32_t rows_max,
                                 uint32_t *removed, bool *ret_is_end)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_SLICE);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1,
                             (sqlite3_int64)state->expiry.next_seq); /* valid indexes cannot fail */
    (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)last_seq);
    (void)sqlite3_bind_int64(stmt, 3, rows_max);
    enum sma_err err = SMA_ERR_OK;
    uint32_t seen = 0;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
        err = expire_row(state, stmt, removed);
        state->expiry.next_seq = seq + 1;
        seen++;
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read old messages");
    sma_state_done(stmt);
    *ret_is_end = seen < rows_max;
    return err;
}

enum sma_err sma_state_expire(struct sma_state *state, uint32_t rows_max, uint32_t *ret_removed)
{
    uint32_t removed = 0;
    if (!sma_state_is_expiry_due(state) || state->expiry.is_block_done || rows_max == 0) {
        *ret_removed = 0;
        return SMA_ERR_OK;
    }
    enum sma_err err = sma_state_change(state);
    if (err != SMA_ERR_OK)
        return err;
    const struct sma_state_block block = state->blocks.items[state->expiry.index];
    state->expiry.is_touched = true;
    if (state->expiry.next_seq == 0)
        state->expiry.next_seq = state->expiry.index == 0
                                     ? 1
                                     : state->blocks.items[state->expiry.index - 1].last_seq + 1;
    bool is_end = false;
    err = expire_slice(state, block.last_seq, rows_max, &removed, &is_end);
    /* The commit must say how far seqs were used: the highest row may be among the deleted ones. */
    state->is_marks_forced = true;
    if (err == SMA_ERR_OK && is_end)
        err = finish_block(state, &block);
    if (err == SMA_ERR_OK)
        *ret_removed = removed;
    return err;
}
