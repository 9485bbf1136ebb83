/* Turns: each chat knows the seqs of its last ones; older ones are deleted a few at a time with later commits. */
#include "runtime/chat/state_priv.h"

#include <stdlib.h>

static struct sma_state_chat_entry *entry_of(const struct sma_state_chat *chat)
{
    return (struct sma_state_chat_entry *)(uintptr_t)chat;
}

/* Index of the first turn with seq >= the given one. Turns come in order, so the search starts at the end. */
static uint32_t find(const struct sma_state_chat_entry *chat, uint64_t seq)
{
    uint32_t at = chat->pub.turn_count;
    while (at > 0 && chat->turns[at - 1] >= seq)
        at--;
    return at;
}

enum sma_err sma_state_turn_insert(struct sma_state_chat_entry *chat, uint64_t seq)
{
    if (chat->pub.turn_count == chat->turn_capacity) {
        uint32_t wanted = chat->turn_capacity == 0 ? 4 : chat->turn_capacity * 2;
        uint64_t *turns = realloc(chat->turns, wanted * sizeof *turns);
        if (turns == NULL)
            return SMA_ERR_NOMEM;
        chat->turns = turns;
        chat->turn_capacity = wanted;
    }
    uint32_t at = find(chat, seq);
    memmove(chat->turns + at + 1, chat->turns + at,
            (chat->pub.turn_count - at) * sizeof *chat->turns);
    chat->turns[at] = seq;
    chat->pub.turn_count++;
    return SMA_ERR_OK;
}

void sma_state_turn_remove(struct sma_state_chat_entry *chat, uint64_t seq)
{
    uint32_t at = find(chat, seq);
    SMA_ASSERT(at < chat->pub.turn_count && chat->turns[at] == seq);
    chat->pub.turn_count--;
    memmove(chat->turns + at, chat->turns + at + 1,
            (chat->pub.turn_count - at) * sizeof *chat->turns);
}

/* The turn leaves the chat now and its row with one of the next commits. */
static enum sma_err drop(struct sma_state *state, struct sma_state_chat_entry *chat, uint64_t seq)
{
    if (SMA_STATE_RESERVE(state->prune) != SMA_ERR_OK)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    enum sma_err err = sma_state_undo_push(
        state, (struct sma_state_undo){.kind = SMA_UNDO_TURN_REMOVE, .a = seq, .p = chat});
    if (err != SMA_ERR_OK)
        return err;
    SMA_STATE_PUSH(state->prune, seq);
    sma_state_turn_remove(chat, seq);
    return SMA_ERR_OK;
}

enum sma_err sma_state_turns_clear(struct sma_state *state, struct sma_state_chat *chat,
                                   uint64_t below)
{
    struct sma_state_chat_entry *entry = entry_of(chat);
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && chat->turn_count > 0 && entry->turns[0] < below)
        err = drop(state, entry, entry->turns[0]);
    return err;
}

enum sma_err sma_state_turn_give(struct sma_state *state, struct sma_state_chat_entry *from,
                                 struct sma_state_chat_entry *to)
{
    while (from->pub.turn_count > 0) {
        uint64_t seq = from->turns[0];
        enum sma_err err = sma_state_undo_push(
            state, (struct sma_state_undo){.kind = SMA_UNDO_TURN_REMOVE, .a = seq, .p = from});
        if (err != SMA_ERR_OK)
            return err;
        sma_state_turn_remove(from, seq);
        err = sma_state_undo_push(
            state, (struct sma_state_undo){.kind = SMA_UNDO_TURN_ADD, .a = seq, .p = to});
        if (err != SMA_ERR_OK)
            return err;
        if (sma_state_turn_insert(to, seq) != SMA_ERR_OK) {
            state->undo.count--; /* nothing to undo */
            return sma_state_fail_change(state, SMA_ERR_NOMEM);
        }
    }
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && to->pub.turn_count > SMA_STATE_TURN_COUNT_MAX)
        err = drop(state, to, to->turns[0]);
    return err;
}

static enum sma_err write_turn(struct sma_state *state, uint32_t chat_id,
                               const struct sma_state_finish *finish)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_INSERT);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)finish->seq); /* valid indexes cannot fail */
    (void)sqlite3_bind_int64(stmt, 2, chat_id);
    sma_state_bind(stmt, 3, finish->wire, true);
    sma_state_bind(stmt, 4, finish->message_id, true);
    sma_state_bind(stmt, 5, finish->turn, false);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_turn_add(struct sma_state *state, struct sma_state_chat *chat,
                                const struct sma_state_finish *finish)
{
    struct sma_state_chat_entry *entry = entry_of(chat);
    if (finish->turn.len == 0 || finish->seq < chat->clear_mark)
        return SMA_ERR_OK;
    enum sma_err err = write_turn(state, chat->id, finish);
    if (err == SMA_ERR_OK)
        err = sma_state_undo_push(
            state,
            (struct sma_state_undo){.kind = SMA_UNDO_TURN_ADD, .a = finish->seq, .p = entry});
    if (err != SMA_ERR_OK)
        return err;
    if (sma_state_turn_insert(entry, finish->seq) != SMA_ERR_OK) {
        state->undo.count--; /* nothing to undo */
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    }
    return chat->turn_count > SMA_STATE_TURN_COUNT_MAX ? drop(state, entry, entry->turns[0])
                                                       : SMA_ERR_OK;
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
    struct sma_state_chat_entry *entry = entry_of(chat);
    uint32_t at = find(entry, finish->seq);
    bool is_there = at < chat->turn_count && entry->turns[at] == finish->seq;
    return is_there ? SMA_ERR_EXISTS : sma_state_turn_add(state, chat, finish);
}

enum sma_err sma_state_turns_prune(struct sma_state *state)
{
    /* In batches: deleting one old turn per new one would dirty a random page each time. */
    bool is_due =
        state->prune_at_begin >= SMA_STATE_PRUNE_COUNT_MAX ||
        (state->prune_at_begin > 0 && state->marks_commits + 1 >= SMA_STATE_MARKS_COMMITS);
    if (!is_due)
        return SMA_ERR_OK;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_DELETE);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = SMA_ERR_OK;
    size_t count = 0;
    while (err == SMA_ERR_OK && count < state->prune_at_begin &&
           count < SMA_STATE_PRUNE_COUNT_MAX) {
        (void)sqlite3_bind_int64(stmt, 1,
                                 (sqlite3_int64)state->prune.items[count]); /* valid index */
        err = sma_state_run(state, stmt);
        count++;
    }
    state->prune_taken = count;
    return err;
}

static enum sma_err load_head(struct sma_state *state, uint64_t seq, uint32_t chat_id)
{
    struct sma_state_chat *chat = sma_state_chat_by_id(state, chat_id);
    uint64_t oldest = seq;
    if (chat != NULL && seq >= chat->clear_mark) {
        struct sma_state_chat_entry *entry = entry_of(chat);
        if (sma_state_turn_insert(entry, seq) != SMA_ERR_OK)
            return SMA_ERR_NOMEM;
        if (chat->turn_count <= SMA_STATE_TURN_COUNT_MAX)
            return SMA_ERR_OK;
        oldest = entry->turns[0];
        sma_state_turn_remove(entry, oldest);
    }
    if (SMA_STATE_RESERVE(state->prune) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    SMA_STATE_PUSH(state->prune, oldest);
    return SMA_ERR_OK;
}

enum sma_err sma_state_turns_load(struct sma_state *state)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_HEADS);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = load_head(state, (uint64_t)sqlite3_column_int64(stmt, 0),
                        (uint32_t)sqlite3_column_int64(stmt, 1));
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read turns");
    sma_state_done(stmt);
    return err;
}

/* How many of the turns before `end` fit, newest first. */
static enum sma_err count_fitting(struct sma_state *state, const struct sma_state_chat_entry *chat,
                                  uint32_t end, uint32_t turns_max, uint64_t bytes_max,
                                  uint32_t *ret_count)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_SIZE);
    if (stmt == NULL)
        return state->error.code;
    uint64_t bytes = 0;
    uint32_t count = 0;
    while (count < end && count < turns_max) {
        (void)sqlite3_bind_int64(stmt, 1,
                                 (sqlite3_int64)chat->turns[end - 1 - count]); /* valid index */
        int rc = sqlite3_step(stmt);
        bytes += rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
        sma_state_done(stmt);
        if (rc != SQLITE_ROW)
            return sma_state_fail(state, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc,
                                  "read the size of a turn");
        if (bytes > bytes_max)
            break;
        count++;
    }
    *ret_count = count;
    return SMA_ERR_OK;
}

enum sma_err sma_state_each_turn(struct sma_state *state, const struct sma_state_chat *chat,
                                 uint64_t before_seq, uint32_t turns_max, uint64_t bytes_max,
                                 sma_state_turn_fn *each, void *user)
{
    const struct sma_state_chat_entry *entry = entry_of(chat);
    uint32_t end = find(entry, before_seq), count = 0;
    enum sma_err err = count_fitting(state, entry, end, turns_max, bytes_max, &count);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_TURN_GET) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    for (uint32_t at = end - count; at < end && err == SMA_ERR_OK; at++) {
        uint64_t seq = entry->turns[at];
        (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)seq); /* valid index */
        int rc = sqlite3_step(stmt);
        state->live_reads++;
        if (rc == SQLITE_ROW)
            err = each(user, seq, sma_state_column(stmt, 0), sma_state_column(stmt, 1),
                       sma_state_column(stmt, 2));
        else
            err = sma_state_fail(state, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, "read a turn");
        state->live_reads--;
        sma_state_done(stmt);
    }
    return err;
}

struct copying
{
    struct sma_state_rows *rows;
    struct sma_state_turns *turns;
};

static enum sma_err copy_turn(void *user, uint64_t seq, struct sma_str wire,
                              struct sma_str message_id, struct sma_str turn)
{
    const struct copying *copying = user;
    struct sma_state_turn copy = {seq, wire, message_id, turn};
    struct sma_str *const slices[] = {&copy.wire, &copy.message_id, &copy.turn};
    enum sma_err err = sma_state_rows_own(copying->rows, slices, SMA_COUNT_OF(slices));
    copying->turns->items[copying->turns->count++] = copy;
    return err;
}

enum sma_err sma_state_turns_read(struct sma_state *state,
                                  const struct sma_state_turns_wanted *wanted,
                                  struct sma_state_rows *rows, struct sma_state_turns *ret_turns)
{
    uint32_t max =
        wanted->turns_max < SMA_STATE_TURN_COUNT_MAX ? wanted->turns_max : SMA_STATE_TURN_COUNT_MAX;
    *ret_turns = (struct sma_state_turns){
        .items = sma_state_rows_take(rows, (max + 1) * sizeof *ret_turns->items)};
    if (ret_turns->items == NULL)
        return SMA_ERR_NOMEM;
    struct copying copying = {rows, ret_turns};
    return sma_state_each_turn(state, wanted->chat, wanted->before_seq, max, wanted->bytes_max,
                               copy_turn, &copying);
}
