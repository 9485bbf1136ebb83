/*
 * The marks: small facts that would cost a page in every commit and may be a little old after a
 * crash, written together every SMA_STATE_MARKS_COMMITS commits or SMA_STATE_MARKS_ROWS rows and at
 * close. Reading an old one costs only work: a few more rows are scanned, a few lines are compared
 * with their file again, claims look a little younger.
 */
#include "runtime/chat/state_priv.h"
#include "sma/text.h"

enum
{
    MARK_UPTIME_MS,
    MARK_NEXT_SEQ, /* expiry may delete the highest row: seqs are never used again */
    MARK_HISTORY_FLUSHED,
    MARK_LOW, /* open rows below it are listed, all others below it are finished */
    MARK_OPEN_COUNT,
    MARK_FIXED_COUNT /* then the open rows, then a hash of it all: a seq that a damaged byte changed
                        would be a message that is never answered */
};
#define MARK_BYTES_MAX (8 * (MARK_FIXED_COUNT + SMA_STATE_OPEN_LIST_MAX + 1))

static void put_u64(uint8_t *bytes, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t get_u64(const char *bytes)
{
    uint64_t number = 0;
    for (int i = 7; i >= 0; i--)
        number = number << 8 | (uint8_t)bytes[i];
    return number;
}

/* -- written with commits ---------------------------------------------------------------------- */

static enum sma_err write_marks(struct sma_state *state)
{
    uint8_t bytes[MARK_BYTES_MAX];
    const uint64_t *open = state->open.items + state->open_head;
    size_t open_count = state->open.count - state->open_head;
    uint64_t low = state->next_seq;
    if (open_count > SMA_STATE_OPEN_LIST_MAX) {
        open_count = SMA_STATE_OPEN_LIST_MAX;
        low = open[open_count];
    }
    put_u64(bytes + 8 * MARK_UPTIME_MS, sma_state_uptime_ms(state));
    put_u64(bytes + 8 * MARK_NEXT_SEQ, state->next_seq);
    put_u64(bytes + 8 * MARK_HISTORY_FLUSHED, state->history_flushed);
    put_u64(bytes + 8 * MARK_LOW, low);
    put_u64(bytes + 8 * MARK_OPEN_COUNT, open_count);
    for (size_t i = 0; i < open_count; i++)
        put_u64(bytes + 8 * (MARK_FIXED_COUNT + i), open[i]);
    size_t len = 8 * (MARK_FIXED_COUNT + open_count);
    put_u64(bytes + len, sma_siphash(state->key, bytes, len));
    return sma_state_meta_write(state, SMA_STR("state.marks"),
                                (struct sma_str){(const char *)bytes, len + 8});
}

enum sma_err sma_state_marks_write(struct sma_state *state, bool is_forced)
{
    enum sma_err err = SMA_ERR_OK;
    if (!state->is_unclean_written)
        err = sma_state_meta_write(state, SMA_STR("state.clean"), SMA_STR("0"));
    bool is_due = is_forced || state->marks_commits + 1 >= SMA_STATE_MARKS_COMMITS ||
                  state->next_seq - state->marks_seq >= SMA_STATE_MARKS_ROWS;
    if (err != SMA_ERR_OK || !is_due)
        return err;
    err = sma_state_contacts_flush(state, SMA_STATE_CONTACT_FLUSH_MAX);
    if (err == SMA_ERR_OK)
        err = write_marks(state);
    state->is_marks_taken = err == SMA_ERR_OK;
    return err;
}

void sma_state_marks_committed(struct sma_state *state)
{
    state->marks_commits++;
    if (!state->is_marks_taken)
        return;
    state->is_marks_taken = state->is_marks_dirty = false;
    state->marks_commits = 0;
    state->marks_seq = state->next_seq;
}

/* -- read at start ----------------------------------------------------------------------------- */

static enum sma_err load_key(struct sma_state *state)
{
    size_t len = 0;
    enum sma_err err = sma_state_meta_read(state, SMA_STR("state.key"), (char *)state->key,
                                           sizeof state->key, &len);
    if (err == SMA_ERR_OK && len == sizeof state->key)
        return err;
    if (err != SMA_ERR_NOTFOUND)
        return err != SMA_ERR_OK ? err : sma_state_fail(state, SQLITE_CORRUPT, "read the hash key");
    /* Autocommitted: whatever is hashed with it comes later. */
    state->sys->random_bytes(state->sys->self, state->key, sizeof state->key);
    return sma_state_meta_write(state, SMA_STR("state.key"),
                                (struct sma_str){(const char *)state->key, sizeof state->key});
}

static enum sma_err load_open_list(struct sma_state *state, const char *bytes, size_t count)
{
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < count && err == SMA_ERR_OK; i++) {
        uint64_t seq = get_u64(bytes + 8 * (MARK_FIXED_COUNT + i));
        struct sma_state_head head;
        err = sma_state_head_get(state, seq, &head);
        if (err == SMA_ERR_OK && sma_row_is_open(head.state))
            err = sma_state_open_add(state, seq);
        if (err == SMA_ERR_NOTFOUND)
            err = SMA_ERR_OK; /* expired since */
    }
    return err;
}

/* Marks without a hash at their end were written by a program that did not write one. */
static bool are_marks_sound(const struct sma_state *state, const char *bytes, size_t len)
{
    if (len < 8 * MARK_FIXED_COUNT)
        return false;
    uint64_t open_count = get_u64(bytes + 8 * MARK_OPEN_COUNT);
    size_t hashed = len - 8;
    bool has_hash = len == 8 * (MARK_FIXED_COUNT + open_count + 1);
    if (has_hash ? get_u64(bytes + hashed) != sma_siphash(state->key, bytes, hashed)
                 : len != 8 * (MARK_FIXED_COUNT + open_count))
        return false;
    uint64_t next = get_u64(bytes + 8 * MARK_NEXT_SEQ);
    return next > 0 && next <= SMA_STATE_SEQ_MAX / 2 && get_u64(bytes + 8 * MARK_LOW) <= next &&
           get_u64(bytes + 8 * MARK_HISTORY_FLUSHED) < next;
}

static enum sma_err load_marks(struct sma_state *state)
{
    char bytes[MARK_BYTES_MAX];
    size_t len = 0;
    enum sma_err err =
        sma_state_meta_read(state, SMA_STR("state.marks"), bytes, sizeof bytes, &len);
    state->marks_seq = 1;
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK; /* nothing was committed yet, or not enough to need marks */
    if (err != SMA_ERR_OK)
        return err;
    if (!are_marks_sound(state, bytes, len))
        /* damaged: as if there were none. All rows are read, all lines looked at */
        return SMA_ERR_OK;
    state->uptime_base_ms = get_u64(bytes + 8 * MARK_UPTIME_MS);
    state->next_seq = get_u64(bytes + 8 * MARK_NEXT_SEQ);
    state->history_flushed = get_u64(bytes + 8 * MARK_HISTORY_FLUSHED);
    state->marks_seq = get_u64(bytes + 8 * MARK_LOW); /* for the scan of the tail */
    return load_open_list(state, bytes, get_u64(bytes + 8 * MARK_OPEN_COUNT));
}

enum sma_err sma_state_marks_load(struct sma_state *state)
{
    char clean[2] = "1";
    size_t len = 0;
    enum sma_err err = sma_state_meta_read(state, SMA_STR("state.clean"), clean, 1, &len);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    state->was_clean = clean[0] == '1';
    err = load_key(state);
    return err == SMA_ERR_OK ? load_marks(state) : err;
}

/* -- the caller's part ------------------------------------------------------------------------- */

void sma_state_set_history_flushed(struct sma_state *state, uint64_t seq)
{
    if (seq <= state->history_flushed)
        return;
    state->history_flushed = seq;
    state->is_marks_dirty = true;
}

uint64_t sma_state_history_flushed(const struct sma_state *state)
{
    return state->history_flushed;
}
