/*
 * notes.c — what the next request of somebody is to be told: that he edited or withdrew a message
 * which a run has begun with. Rows of kind NOTE that wait; outside of the queue, for nothing starts
 * because of them. See change.c.
 */
#include "facts.h"
#include "item.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

static void remove_at(struct store_runs *runs, uint32_t place)
{
    struct store_note *note = &runs->notes[place];
    note->chat->held_count--;
    memmove(note, note + 1, (--runs->note_count - place) * sizeof *note);
}

void sma_store_reset_notes(struct sma_store *store)
{
    while (store->runs->note_count > 0)
        remove_at(store->runs, store->runs->note_count - 1);
}

/* Nobody is told any more. */
static SMA_CHECKED enum sma_err end_note(struct sma_store *store, uint64_t seq)
{
    enum sma_err err = sma_state_finish(
        store->state, &(struct sma_state_finish){.seq = seq,
                                                 .state = SMA_ROW_DONE,
                                                 .outcome = SMA_OUTCOME_OK,
                                                 .is_success = true,
                                                 .wall_ms = sma_ctx_wall(store->ctx)});
    if (err == SMA_ERR_OK)
        sma_store_note_finished(store, seq);
    return err == SMA_ERR_EXISTS ? SMA_ERR_OK : err;
}

/* -- a register: the newest state of each message, once ---------------------------------------- */
static uint64_t hash_target(const struct sma_store *store, struct sma_str message_id)
{
    return message_id.len == 0 ? 0
                               : sma_siphash(store->hash_key, message_id.ptr, message_id.len) | 1;
}

/* The note of this message that waits and that no open run has been told; NULL = none. */
static struct store_note *find_note(struct sma_store *store, struct store_chat *chat,
                                    uint64_t target)
{
    for (uint32_t i = store->runs->note_count; target != 0 && i-- > 0;) {
        struct store_note *note = &store->runs->notes[i];
        if (note->chat == chat && note->target == target && !sma_store_is_addition(chat, note->seq))
            return note;
    }
    return NULL;
}

bool sma_store_wants_note_line(struct sma_store *store, struct store_chat *chat,
                               struct sma_str message_id)
{
    const struct store_note *note = find_note(store, chat, hash_target(store, message_id));
    return note == NULL || sma_ctx_wall(store->ctx) - note->lined_ms >= STORE_NOTE_LINE_MS;
}

/* Of the chat's, the oldest: nobody else's is touched. */
static SMA_CHECKED enum sma_err drop_oldest(struct sma_store *store, struct store_chat *chat)
{
    struct store_runs *runs = store->runs;
    uint32_t place = 0;
    while (runs->notes[place].chat != chat)
        place++;
    uint64_t oldest = runs->notes[place].seq;
    remove_at(runs, place);
    runs->note_dropped_count++;
    if ((runs->note_dropped_count & (runs->note_dropped_count - 1)) == 0)
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "%s: more than %d changed messages wait to be told; the oldest is not told any "
                    "more (%u so far)",
                    chat->key, STORE_NOTE_COUNT_MAX, runs->note_dropped_count);
    return end_note(store, oldest);
}

enum sma_err sma_store_add_note(struct sma_store *store, struct store_chat *chat, uint64_t seq,
                                struct sma_str message_id)
{
    struct store_runs *runs = store->runs;
    uint64_t target = hash_target(store, message_id);
    struct store_note *known = find_note(store, chat, target);
    bool may_end = sma_state_is_in_transaction(store->state); /* else it is the start, by row */
    bool is_lined = may_end && sma_store_wants_note_line(store, chat, message_id);
    struct store_note note = {.chat = chat,
                              .seq = seq,
                              .target = target,
                              .lined_ms = is_lined        ? sma_ctx_wall(store->ctx)
                                          : known != NULL ? known->lined_ms
                                                          : 0};
    if (!sma_store_grow(&runs->notes, runs->note_count, &runs->note_cap, sizeof *runs->notes))
        return SMA_ERR_NOMEM;
    known = find_note(store, chat, target); /* the list may have moved */
    if (known != NULL && may_end) {
        uint64_t older = known->seq;
        remove_at(runs, (uint32_t)(known - runs->notes));
        SMA_TRY(end_note(store, older));
    }
    runs->notes[runs->note_count++] = note;
    chat->held_count++;
    sma_store_note_addition(store, chat);
    bool is_full = may_end && sma_store_count_notes(store, chat) > STORE_NOTE_COUNT_MAX;
    return is_full ? drop_oldest(store, chat) : SMA_ERR_OK;
}

bool sma_store_has_notes(const struct sma_store *store, const struct store_chat *chat)
{
    for (uint32_t i = 0; i < store->runs->note_count; i++)
        if (store->runs->notes[i].chat == chat)
            return true;
    return false;
}

uint32_t sma_store_count_notes(const struct sma_store *store, const struct store_chat *chat)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->runs->note_count; i++)
        count += store->runs->notes[i].chat == chat;
    return count;
}

bool sma_store_take_note(struct sma_store *store, uint64_t seq)
{
    struct store_runs *runs = store->runs;
    for (uint32_t i = 0; i < runs->note_count; i++) {
        if (runs->notes[i].seq != seq)
            continue;
        remove_at(runs, i);
        return true;
    }
    return false;
}

/* Its author and what it says. false: it cannot be read, or is not this person's. */
static SMA_CHECKED enum sma_err read_note(struct sma_store *store, uint64_t seq,
                                          struct sma_str author, uint8_t *ret_change,
                                          bool *ret_is_his)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct store_facts facts;
    *ret_is_his = false;
    enum sma_err err = sma_state_message_read(store->state, seq, &rows, &message);
    if (err == SMA_ERR_OK)
        err = sma_store_facts_get(message.facts, &facts);
    if (err != SMA_ERR_OK)
        return sma_store_is_damage(store, err) ? SMA_ERR_OK : err;
    *ret_change = facts.change;
    *ret_is_his = message.state == SMA_ROW_WAITING && sma_str_is_equal(message.user_id, author);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err author_of(struct sma_store *store, uint64_t seq,
                                          char author[SMA_ID_BYTES_MAX], struct sma_str *ret_author)
{
    struct sma_state_head head;
    *ret_author = SMA_STR("");
    enum sma_err err = sma_state_head_get(store->state, seq, &head);
    if (err != SMA_ERR_OK)
        return sma_store_is_damage(store, err) ? SMA_ERR_OK : err;
    if (head.user_id.len == 0 || head.user_id.len > SMA_ID_BYTES_MAX)
        return SMA_ERR_OK;
    memcpy(author, head.user_id.ptr, head.user_id.len);
    *ret_author = (struct sma_str){author, head.user_id.len};
    return SMA_ERR_OK;
}

enum sma_err sma_store_adopt_notes(struct sma_store *store, struct store_run *run)
{
    struct store_runs *runs = store->runs;
    char author[SMA_ID_BYTES_MAX];
    struct sma_str user_id;
    if (runs->note_count == 0)
        return SMA_ERR_OK;
    SMA_TRY(author_of(store, run->seq, author, &user_id));
    for (uint32_t i = 0; user_id.len > 0 && i < runs->note_count;) {
        uint64_t seq = runs->notes[i].seq;
        uint8_t change;
        bool is_his = false;
        if (runs->notes[i].chat == run->chat)
            SMA_TRY(read_note(store, seq, user_id, &change, &is_his));
        if (!is_his || run->collected_count == STORE_COLLECT_COUNT_MAX) {
            i++;
            continue;
        }
        remove_at(runs, i);
        if (change == SMA_CHANGE_RECALL) /* its run is over: nothing is gone on with */
            SMA_TRY(end_note(store, seq));
        else
            run->collected[run->collected_count++] = seq;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_tell_notes(struct sma_store *store, struct store_run *run,
                                  struct sma_str author)
{
    struct store_runs *runs = store->runs;
    for (uint32_t i = 0; i < runs->note_count; i++) {
        struct store_note *note = &runs->notes[i];
        uint8_t change;
        bool is_his;
        if (note->chat != run->chat || note->seq <= run->steering.told_note_seq)
            continue;
        SMA_TRY(read_note(store, note->seq, author, &change, &is_his));
        struct sma_msg *msg = NULL;
        enum sma_err err =
            is_his ? sma_store_steer_from_row(store, run, note->seq, &msg) : SMA_ERR_OK;
        if (err != SMA_ERR_OK && !sma_store_is_damage(store, err))
            return err;
        if (msg == NULL)
            continue;
        if (!sma_store_note_told(run, note->seq)) {
            sma_msg_destroy(msg);
            return SMA_ERR_OK;
        }
        run->steering.told_note_seq = note->seq;
        sma_store_send_later(store, SMA_ACTOR_AGENT, &msg);
    }
    return SMA_ERR_OK;
}
