/* session.c — sessions: a hash table, a list from the most to the least recently used, and arrays
 * of turns. */
#include "runtime/agent/session.h"

#include "runtime/agent/session_parts.h"
#include "sma/text.h"

#include <stdlib.h>

#define BUCKET_COUNT 4096 /* a power of two, about one session each at the bound */

struct sma_sessions
{
    uint8_t hash_key[16];
    size_t count, bytes;
    struct sma_session *newest, *oldest;
    struct sma_session *buckets[BUCKET_COUNT];
};

struct sma_sessions *sma_sessions_create(const uint8_t hash_key[16])
{
    struct sma_sessions *sessions = calloc(1, sizeof *sessions);
    if (sessions != NULL)
        memcpy(sessions->hash_key, hash_key, sizeof sessions->hash_key);
    return sessions;
}

static struct sma_session **bucket_of(struct sma_sessions *sessions, struct sma_str chat_key)
{
    uint64_t hash = sma_siphash(sessions->hash_key, chat_key.ptr, chat_key.len);
    return &sessions->buckets[hash & (BUCKET_COUNT - 1)];
}

/* -- turns of one session ---------------------------------------------------------------------- */
static size_t lists_length(const struct sma_stored_turn *turn)
{
    size_t len = turn->text.len + turn->key.len;
    for (uint32_t i = 0; i < turn->block_count; i++)
        len += turn->blocks[i].len;
    return len + sma_session_parts_bytes(turn);
}

/* What it takes of the total bound. */
static size_t memory_of(const struct sma_session_turn *turn)
{
    return turn->joined.len + turn->view.len + lists_length(&turn->stored);
}

static void drop_turns(struct sma_sessions *sessions, struct sma_session *session, uint32_t first,
                       uint32_t count)
{
    SMA_ASSERT(first + count <= session->turn_count);
    if (count == 0)
        return;
    session->measure = (struct sma_context_measure){0};
    for (uint32_t i = first; i < first + count; i++) {
        struct sma_session_turn *turn = session->turns[i];
        session->message_count -= turn->message_count;
        session->bytes -= turn->bytes.len;
        sessions->bytes -= memory_of(turn);
        sma_buf_fini(&turn->view);
        free(turn);
    }
    memmove(&session->turns[first], &session->turns[first + count],
            (session->turn_count - first - count) * sizeof session->turns[0]);
    session->turn_count -= count;
}

static struct sma_str copy(char **at, struct sma_str text)
{
    struct sma_str kept = {*at, text.len};
    if (text.len > 0)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return kept;
}

/* One allocation: the struct, its three lists, the joined fragments, the bytes of the other
 * strings. */
static struct sma_session_turn *make_turn(uint64_t seq, const struct sma_stored_turn *stored,
                                          size_t joined_len)
{
    size_t len = joined_len + lists_length(stored);
    size_t count = (size_t)stored->id_count + stored->block_count + stored->fragment_count;
    for (uint32_t i = 0; i < stored->id_count; i++)
        len += stored->ids[i].len;
    size_t parts_offset = sizeof(struct sma_session_turn) + count * sizeof(struct sma_str);
    struct sma_session_turn *turn =
        malloc(parts_offset + stored->part_count * sizeof(struct sma_stored_part) + len);
    if (turn == NULL)
        return NULL;
    *turn = (struct sma_session_turn){.seq = seq,
                                      .clear_gain = UINT32_MAX,
                                      .message_count = stored->message_count,
                                      .id_count = stored->id_count,
                                      .stored = *stored};
    struct sma_str *lists = (struct sma_str *)(turn + 1);
    turn->ids = turn->stored.ids = lists;
    turn->stored.blocks = lists + stored->id_count;
    turn->stored.fragments = turn->stored.blocks + stored->block_count;
    turn->stored.storage = NULL;
    turn->stored.parts = (struct sma_stored_part *)(void *)((char *)turn + parts_offset);
    turn->stored.part_storage = NULL;
    turn->stored.refused = NULL; /* said to the turns when they were loaded */
    turn->stored.refused_count = 0;
    char *at = (char *)(turn->stored.parts + stored->part_count);
    turn->bytes = turn->joined = (struct sma_str){at, joined_len};
    for (uint32_t i = 0; i < stored->fragment_count; i++) {
        if (i > 0)
            *at++ = ',';
        turn->stored.fragments[i] = copy(&at, stored->fragments[i]);
    }
    for (uint32_t i = 0; i < stored->id_count; i++)
        turn->ids[i] = copy(&at, stored->ids[i]);
    for (uint32_t i = 0; i < stored->block_count; i++)
        turn->stored.blocks[i] = copy(&at, stored->blocks[i]);
    turn->stored.text = copy(&at, stored->text);
    turn->stored.key = copy(&at, stored->key);
    sma_session_copy_parts(&at, stored, &turn->stored);
    sma_buf_init(&turn->view, SMA_SESSION_BYTES_MAX);
    return turn;
}

static size_t joined_length(const struct sma_stored_turn *turn)
{
    size_t len = turn->fragment_count == 0 ? 0 : turn->fragment_count - 1;
    for (uint32_t i = 0; i < turn->fragment_count; i++)
        len += turn->fragments[i].len;
    return len;
}

static void mark_moved(struct sma_session *session)
{
    session->measure = (struct sma_context_measure){0};
    for (uint32_t i = 0; i < session->turn_count; i++)
        session->turns[i]->state.is_moved = true;
}

static uint32_t summary_count(const struct sma_session *session)
{
    return session->turn_count > 0 && session->turns[0]->is_summary;
}

/* Over a bound: to half of it in one go; the summary and the newest turn stay. */
static void cut(struct sma_sessions *sessions, struct sma_session *session)
{
    uint32_t first = summary_count(session), count = 0;
    if (session->turn_count <= SMA_SESSION_TURN_COUNT_MAX &&
        session->bytes <= SMA_SESSION_BYTES_MAX)
        return;
    size_t bytes = session->bytes;
    while (first + count + 1 < session->turn_count &&
           (session->turn_count - count > SMA_SESSION_TURN_COUNT_MAX / 2 ||
            bytes > SMA_SESSION_BYTES_MAX / 2)) {
        bytes -= session->turns[first + count]->bytes.len;
        count++;
    }
    drop_turns(sessions, session, first, count);
    mark_moved(session);
}

static bool make_room(struct sma_session *session)
{
    if (session->turn_count < session->turn_room)
        return true;
    uint32_t room = session->turn_room * 2 + 8;
    struct sma_session_turn **more = realloc(session->turns, room * sizeof(*more));
    if (more == NULL)
        return false;
    session->turns = more;
    session->turn_room = room;
    return true;
}

static void put_turn(struct sma_sessions *sessions, struct sma_session *session, uint32_t at,
                     struct sma_session_turn *turn)
{
    memmove(&session->turns[at + 1], &session->turns[at],
            (session->turn_count - at) * sizeof(session->turns[0]));
    session->turns[at] = turn;
    session->turn_count++;
    session->message_count += turn->message_count;
    session->bytes += turn->bytes.len;
    sessions->bytes += memory_of(turn);
}

enum sma_err sma_session_append(struct sma_sessions *sessions, struct sma_session *session,
                                uint64_t seq, const struct sma_stored_turn *stored)
{
    SMA_ASSERT(stored->fragment_count > 0 || stored->block_count > 0);
    size_t joined_len = joined_length(stored);
    if (stored->message_count == 0 || joined_len > SMA_SESSION_BYTES_MAX)
        return SMA_ERR_TOOBIG;
    struct sma_session_turn *turn = make_room(session) ? make_turn(seq, stored, joined_len) : NULL;
    if (turn == NULL)
        return SMA_ERR_NOMEM;
    put_turn(sessions, session, session->turn_count, turn);
    session->egress = stored->egress;
    cut(sessions, session);
    SMA_ASSERT(session->turn_count <= SMA_SESSION_TURN_COUNT_MAX);
    SMA_ASSERT(session->bytes <= SMA_SESSION_BYTES_MAX);
    return SMA_ERR_OK;
}

/* -- what was before them ---------------------------------------------------------------------- */
/* The summary as a turn: what the program says of it, the summary itself, and a short answer, so
 * that two messages of one side never meet. It has no fragments: each target gets the plain
 * form. */
static struct sma_session_turn *make_summary(const struct sma_stored_past *past)
{
    struct sma_str blocks[] = {past->note, past->text, past->chat};
    struct sma_stored_turn stored = {.message_count = 2,
                                     .block_count = past->chat.len > 0 ? 3 : 2,
                                     .blocks = blocks,
                                     .text = SMA_STR("I go on from this summary.")};
    struct sma_session_turn *turn = make_turn(0, &stored, 0);
    if (turn != NULL) {
        turn->is_summary = true;
        turn->clear_gain = 0;
    }
    return turn;
}

static void set_states(struct sma_session *session)
{
    for (uint32_t i = summary_count(session); i < session->turn_count; i++) {
        struct sma_session_turn *turn = session->turns[i];
        turn->state.is_cleared |= turn->seq < session->past.cleared;
        turn->state.is_moved |= turn->seq < session->past.moved;
    }
}

/* What it was is dropped: turns before it, and the summary that it takes the place of. */
static void drop_before(struct sma_sessions *sessions, struct sma_session *session, uint64_t below)
{
    uint32_t count = summary_count(session);
    drop_turns(sessions, session, 0, count);
    for (count = 0; count < session->turn_count && session->turns[count]->seq < below;)
        count++;
    drop_turns(sessions, session, 0, count);
}

enum sma_err sma_session_set_past(struct sma_sessions *sessions, struct sma_session *session,
                                  struct sma_str data)
{
    struct sma_buf copy;
    struct sma_stored_past past;
    sma_buf_init(&copy, SMA_STEP_BYTES_MAX);
    sma_buf_put_str(&copy, data);
    enum sma_err err = copy.err;
    if (err == SMA_ERR_OK)
        err = sma_codec_get_past(sma_buf_str(&copy), &past);
    struct sma_session_turn *summary = NULL;
    if (err == SMA_ERR_OK && past.text.len > 0) {
        summary = make_room(session) ? make_summary(&past) : NULL;
        err = summary == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK) {
        sma_buf_fini(&copy);
        return err;
    }
    sma_buf_fini(&session->past_data);
    session->past_data = copy;
    session->past = past;
    drop_before(sessions, session, past.below);
    if (summary != NULL)
        put_turn(sessions, session, 0, summary);
    set_states(session);
    session->measure = (struct sma_context_measure){0};
    return SMA_ERR_OK;
}

size_t sma_session_clear_gain(struct sma_session *session, uint32_t count)
{
    size_t gain = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sma_session_turn *turn = session->turns[i];
        if (turn->clear_gain == UINT32_MAX)
            turn->clear_gain = (uint32_t)sma_view_clear_gain(&turn->stored);
        if (!turn->state.is_cleared && !turn->state.is_plain)
            gain += turn->clear_gain;
    }
    return gain;
}

uint32_t sma_session_load(struct sma_sessions *sessions, struct sma_session *session,
                          const struct sma_session_turns *turns)
{
    uint32_t skipped = 0;
    session->is_loaded = true;
    session->egress = (struct sma_egress){0};
    for (uint32_t i = 0; i < turns->turn_count; i++) {
        const struct sma_turn *turn = &turns->turns[i];
        struct sma_stored_turn stored;
        enum sma_err err = sma_codec_get_turn(turn->bytes, &stored);
        if (err == SMA_ERR_OK) {
            stored.key = turn->wire;
            if (stored.is_break)
                sma_session_make_plain(session);
            err = sma_session_append(sessions, session, turn->seq, &stored);
            for (uint32_t k = 0; k < stored.refused_count; k++)
                (void)sma_session_hide_part(session, stored.refused[k]);
            sma_stored_turn_fini(&stored);
        }
        if (err != SMA_ERR_OK)
            skipped++;
    }
    if (turns->past.len > 0 && sma_session_set_past(sessions, session, turns->past) != SMA_ERR_OK)
        skipped++;
    if (turns->turn_count == 0 && skipped == 0)
        session->egress = session->past.egress;
    session->egress.has_read |= skipped > 0; /* what cannot be read may have said so */
    return skipped;
}

/* -- what was deleted -------------------------------------------------------------------------- */
/* From the dash of its line to the end of `end`, both of which stay out of it. The line begins with
 * a line feed, in a request with its escape; its text holds neither. */
static bool blank_in(struct sma_str text, struct sma_str end)
{
    bool is_changed = false;
    char *bytes = (char *)text.ptr; /* the turn's own memory */
    size_t at = 0;
    for (const char *found;
         at < text.len && (found = memmem(bytes + at, text.len - at, end.ptr, end.len)) != NULL;) {
        size_t stop = (size_t)(found - bytes) + end.len - 1, start = stop;
        while (start > at && memcmp(bytes + start, "n- ", 3) != 0 &&
               memcmp(bytes + start, "\n- ", 3) != 0)
            start--;
        if (start > at || memcmp(bytes + start, "\n- ", 3) == 0) {
            memset(bytes + start + 3, ' ', stop - start - 3);
            is_changed = true;
        }
        at = stop;
    }
    return is_changed;
}

void sma_session_blank(struct sma_session *session, struct sma_str end)
{
    bool is_changed = false;
    for (uint32_t i = 0; i < session->turn_count; i++) {
        struct sma_session_turn *turn = session->turns[i];
        is_changed |= blank_in(turn->joined, end);
        is_changed |= blank_in(sma_buf_str(&turn->view), end);
        for (uint32_t k = 0; k < turn->stored.block_count; k++)
            is_changed |= blank_in(turn->stored.blocks[k], end);
    }
    if (is_changed)
        mark_moved(session);
}

/* -- as a target takes it ---------------------------------------------------------------------- */
void sma_session_make_plain(struct sma_session *session)
{
    for (uint32_t i = 0; i < session->turn_count; i++)
        session->turns[i]->state.is_plain = true;
}

bool sma_session_shorten(struct sma_session *session)
{
    bool is_new = false;
    for (uint32_t i = 0; i < session->turn_count; i++) {
        struct sma_session_turn *turn = session->turns[i];
        bool has_results =
            turn->stored.fragment_count > 2 && !turn->state.is_plain && !turn->state.is_cleared;
        is_new |= has_results && !turn->state.is_short;
        turn->state.is_short |= has_results;
    }
    if (is_new)
        mark_moved(session);
    return is_new;
}

/* OK: bytes are what the target takes | NOMEM | anything else: there is no such form of this
 * turn */
static enum sma_err fit_turn(struct sma_session_turn *turn, const struct sma_target *target,
                             bool is_plain)
{
    struct sma_view_state state = turn->state;
    state.is_plain |= is_plain;
    enum sma_view_form form = sma_view_form_for(&turn->stored, target, &state);
    uint64_t parts_key = sma_view_parts_key(&turn->stored, target);
    if (form == SMA_VIEW_STORED && parts_key == 0) {
        turn->bytes = turn->joined;
        return SMA_ERR_OK;
    }
    if (turn->view.len == 0 || turn->view_form != form || turn->view_parts != parts_key ||
        strcmp(turn->view_key, target->key) != 0) {
        sma_buf_fini(&turn->view);
        sma_buf_init(&turn->view, SMA_SESSION_BYTES_MAX + SMA_SESSION_BYTES_MAX / 8);
        enum sma_err err = sma_view_put(&turn->view, &turn->stored, target, form);
        if (err != SMA_ERR_OK) {
            sma_buf_fini(&turn->view);
            return err;
        }
        turn->view_form = (uint8_t)form;
        turn->view_parts = parts_key;
        memcpy(turn->view_key, target->key, sizeof turn->view_key);
    }
    turn->bytes = sma_buf_str(&turn->view);
    return SMA_ERR_OK;
}

enum sma_err sma_session_fit(struct sma_sessions *sessions, struct sma_session *session,
                             const struct sma_target *target, bool is_plain)
{
    for (uint32_t i = 0; i < session->turn_count;) {
        struct sma_session_turn *turn = session->turns[i];
        size_t memory = memory_of(turn), bytes = turn->bytes.len;
        enum sma_err err = fit_turn(turn, target, is_plain);
        if (err != SMA_ERR_OK)
            turn->bytes = turn->joined; /* the view is gone */
        session->bytes += turn->bytes.len - bytes;
        sessions->bytes += memory_of(turn) - memory;
        if (err == SMA_ERR_NOMEM)
            return err;
        if (err == SMA_ERR_OK)
            i++;
        else
            drop_turns(sessions, session, i, 1);
    }
    return SMA_ERR_OK;
}

void sma_session_clear(struct sma_sessions *sessions, struct sma_session *session,
                       uint64_t before_seq)
{
    uint32_t count = 0; /* turns are in the order of their seq: one run of a chat at a time */
    while (count < session->turn_count && session->turns[count]->seq < before_seq)
        count++;
    drop_turns(sessions, session, 0, count);
    sma_buf_fini(&session->past_data);
    session->past = (struct sma_stored_past){0};
    if (session->turn_count == 0)
        session->egress = (struct sma_egress){0};
}

void sma_session_remove(struct sma_sessions *sessions, struct sma_session *session, uint64_t seq)
{
    for (uint32_t i = 0; i < session->turn_count; i++) {
        if (session->turns[i]->seq == seq) {
            drop_turns(sessions, session, i, 1);
            return;
        }
    }
}

bool sma_session_shrink(struct sma_sessions *sessions, struct sma_session *session)
{
    uint32_t first = summary_count(session), count = session->turn_count - first;
    if (count == 0)
        return false;
    drop_turns(sessions, session, first, (count + 1) / 2);
    mark_moved(session);
    return true;
}

/* -- the table --------------------------------------------------------------------------------- */
static void unlink_use(struct sma_sessions *sessions, struct sma_session *session)
{
    if (session->newer != NULL)
        session->newer->older = session->older;
    else
        sessions->newest = session->older;
    if (session->older != NULL)
        session->older->newer = session->newer;
    else
        sessions->oldest = session->newer;
    session->newer = session->older = NULL;
}

static void link_newest(struct sma_sessions *sessions, struct sma_session *session)
{
    session->older = sessions->newest;
    if (sessions->newest != NULL)
        sessions->newest->newer = session;
    else
        sessions->oldest = session;
    sessions->newest = session;
}

static void destroy_session(struct sma_sessions *sessions, struct sma_session *session)
{
    struct sma_session **link = bucket_of(sessions, session->chat_key);
    while (*link != session)
        link = &(*link)->hash_next;
    *link = session->hash_next;
    unlink_use(sessions, session);
    drop_turns(sessions, session, 0, session->turn_count);
    sessions->count--;
    sma_buf_fini(&session->past_data);
    free(session->turns);
    free(session);
}

struct sma_session *sma_session_find(struct sma_sessions *sessions, struct sma_str chat_key)
{
    struct sma_session *session = *bucket_of(sessions, chat_key);
    while (session != NULL && !sma_str_is_equal(session->chat_key, chat_key))
        session = session->hash_next;
    return session;
}

struct sma_session *sma_session_pin(struct sma_sessions *sessions, struct sma_str chat_key,
                                    uint64_t now_ns)
{
    struct sma_session *session = sma_session_find(sessions, chat_key);
    if (session == NULL) {
        session = calloc(1, sizeof *session + chat_key.len + 1);
        if (session == NULL)
            return NULL;
        char *key = (char *)(session + 1);
        if (chat_key.len > 0)
            memcpy(key, chat_key.ptr, chat_key.len);
        session->chat_key = (struct sma_str){key, chat_key.len};
        sma_buf_init(&session->past_data, SMA_STEP_BYTES_MAX);
        struct sma_session **bucket = bucket_of(sessions, chat_key);
        session->hash_next = *bucket;
        *bucket = session;
        link_newest(sessions, session);
        sessions->count++;
    } else {
        unlink_use(sessions, session);
        link_newest(sessions, session);
    }
    session->used_ns = now_ns;
    session->pin_count++;
    return session;
}

void sma_session_unpin(struct sma_sessions *sessions, struct sma_session *session, uint64_t now_ns)
{
    SMA_ASSERT(session->pin_count > 0);
    session->pin_count--;
    session->used_ns = now_ns;
    unlink_use(sessions, session);
    link_newest(sessions, session);
}

void sma_sessions_evict(struct sma_sessions *sessions, uint64_t now_ns)
{
    struct sma_session *session = sessions->oldest;
    while (session != NULL) {
        bool is_idle = now_ns >= session->used_ns + SMA_SESSION_IDLE_S * SMA_NS_PER_S;
        bool is_over = sessions->count > SMA_SESSION_COUNT_MAX ||
                       sessions->bytes > SMA_SESSION_BYTES_TOTAL_MAX;
        if (!is_idle && !is_over)
            return;
        struct sma_session *next = session->newer;
        if (session->pin_count == 0)
            destroy_session(sessions, session);
        session = next;
    }
}

void sma_sessions_destroy(struct sma_sessions *sessions)
{
    if (sessions == NULL)
        return;
    while (sessions->oldest != NULL)
        destroy_session(sessions, sessions->oldest);
    free(sessions);
}

size_t sma_sessions_count(const struct sma_sessions *sessions)
{
    return sessions->count;
}

size_t sma_sessions_bytes(const struct sma_sessions *sessions)
{
    return sessions->bytes;
}
