/* Aim: a session is cut between whole turns only, at its bounds, and the table evicts only what may
 * go. */
#include "runtime/agent/session.h"
#include "support/check.h"

static const uint8_t key[16] = {9};
static uint64_t random_state = 42;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* A turn as user, (call, result)*, final; its bytes say where it begins and ends. */
static enum sma_err append(struct sma_sessions *sessions, struct sma_session *session, uint64_t seq,
                           uint32_t messages, size_t bytes)
{
    char *text = malloc(bytes + 1);
    CHECK(text != NULL);
    memset(text, 'x', bytes);
    text[0] = '<';
    text[bytes - 1] = '>';
    struct sma_str fragment = {text, bytes}, id = SMA_STR("id");
    struct sma_stored_turn turn = {.message_count = messages,
                                   .fragment_count = 1,
                                   .fragments = &fragment,
                                   .id_count = 1,
                                   .ids = &id};
    enum sma_err err = sma_session_append(sessions, session, seq, &turn);
    free(text);
    return err;
}

static void check_whole(const struct sma_session *session)
{
    uint32_t messages = 0;
    size_t bytes = 0;
    for (uint32_t i = 0; i < session->turn_count; i++) {
        const struct sma_session_turn *turn = session->turns[i];
        CHECK(turn->bytes.ptr[0] == '<' && turn->bytes.ptr[turn->bytes.len - 1] == '>');
        CHECK(i == 0 ||
              turn->seq == session->turns[i - 1]->seq + 1); /* no hole: cut at the old end only */
        messages += turn->message_count;
        bytes += turn->bytes.len;
    }
    CHECK_INT(messages, session->message_count);
    CHECK_INT(bytes, session->bytes);
    CHECK(session->turn_count <= SMA_SESSION_TURN_COUNT_MAX && bytes <= SMA_SESSION_BYTES_MAX);
}

ENDING(sma_sessions_destroy, struct sma_sessions)

CASE(random_turns_are_never_cut_inside)
{
    SMA_AUTO(sma_sessions_destroyp) struct sma_sessions *sessions = sma_sessions_create(key);
    struct sma_session *session = sma_session_pin(sessions, SMA_STR("c"), 1);
    for (uint64_t seq = 1; seq <= 5000; seq++) {
        uint32_t messages = (uint32_t)(next_random() % 12) + 1;
        size_t bytes =
            next_random() % 10 == 0 ? next_random() % 200000 + 2 : next_random() % 3000 + 2;
        CHECK_OK(append(sessions, session, seq, messages, bytes));
        check_whole(session);
        CHECK_INT(seq, session->turns[session->turn_count - 1]->seq); /* the newest always stays */
        if (next_random() % 50 == 0) {
            uint32_t before = session->turn_count;
            CHECK(sma_session_shrink(sessions, session));
            CHECK_INT(before / 2, session->turn_count);
            check_whole(session);
        }
    }
    CHECK_INT(session->bytes, sma_sessions_bytes(sessions));
    sma_session_clear(sessions, session, UINT64_MAX);
    CHECK_INT(0, sma_sessions_bytes(sessions));
    CHECK(!sma_session_shrink(sessions, session));
}

/* A session as it is read back: turns with what had left by then, and what a summary says of it. */
static struct sma_egress load(const uint32_t *turn_bytes, uint32_t count, uint32_t past_bytes)
{
    struct sma_sessions *sessions = sma_sessions_create(key);
    struct sma_session *session = sma_session_pin(sessions, SMA_STR("c"), 1);
    struct sma_buf turns[2], past;
    struct sma_turn list[2];
    struct sma_str fragment = SMA_STR("{}");
    for (uint32_t i = 0; i < count; i++) {
        sma_buf_init(&turns[i], 4096);
        sma_codec_put_turn(&turns[i], &(struct sma_stored_turn){.message_count = 1,
                                                                .fragment_count = 1,
                                                                .fragments = &fragment,
                                                                .egress = {true, turn_bytes[i]}});
        list[i] = (struct sma_turn){.seq = i + 1, .bytes = sma_buf_str(&turns[i])};
    }
    sma_buf_init(&past, 4096);
    if (past_bytes > 0)
        sma_codec_put_past(&past, &(struct sma_stored_past){.text = SMA_STR("summary"),
                                                            .note = SMA_STR("note"),
                                                            .egress = {true, past_bytes}});
    const struct sma_session_turns stored = {
        .turn_count = count, .turns = list, .past = sma_buf_str(&past)};
    CHECK_INT(0, sma_session_load(sessions, session, &stored));
    struct sma_egress egress = session->egress;
    sma_session_shrink(sessions, session); /* what is forgotten has left all the same */
    sma_session_shrink(sessions, session);
    CHECK_INT(egress.bytes, session->egress.bytes);
    sma_session_clear(sessions, session, UINT64_MAX); /* /clear: the model knows nothing any more */
    CHECK(!session->egress.has_read && session->egress.bytes == 0);
    for (uint32_t i = 0; i < count; i++)
        sma_buf_fini(&turns[i]);
    sma_buf_fini(&past);
    sma_sessions_destroy(sessions);
    return egress;
}

CASE(what_has_left_outlives_restarts_and_summaries)
{
    const uint32_t bytes[] = {10, 30};
    CHECK(!load(bytes, 0, 0).has_read);
    CHECK(load(bytes, 2, 0).has_read);
    CHECK_INT(30, load(bytes, 2, 0).bytes);
    CHECK_INT(20, load(bytes, 0, 20).bytes); /* all turns are summed up */
    CHECK_INT(30, load(bytes, 2, 20).bytes); /* there are newer ones */
}

CASE(bounds_of_turns)
{
    SMA_AUTO(sma_sessions_destroyp) struct sma_sessions *sessions = sma_sessions_create(key);
    struct sma_session *session = sma_session_pin(sessions, SMA_STR("c"), 1);
    for (uint64_t seq = 1; seq <= SMA_SESSION_TURN_COUNT_MAX; seq++)
        CHECK_OK(append(sessions, session, seq, 60, 10));
    CHECK_INT(SMA_SESSION_TURN_COUNT_MAX, session->turn_count); /* at the bound: nothing is cut */
    CHECK_OK(append(sessions, session, SMA_SESSION_TURN_COUNT_MAX + 1, 1, 10));
    CHECK_INT(SMA_SESSION_TURN_COUNT_MAX / 2, session->turn_count); /* over it: to half, once */
    check_whole(session);
}

CASE(bounds_of_bytes)
{
    SMA_AUTO(sma_sessions_destroyp) struct sma_sessions *sessions = sma_sessions_create(key);
    struct sma_session *session = sma_session_pin(sessions, SMA_STR("c"), 1);
    CHECK_OK(append(sessions, session, 1, 1, SMA_SESSION_BYTES_MAX - 1));
    CHECK_OK(append(sessions, session, 2, 1, 1));
    CHECK_INT(2, session->turn_count); /* exactly full */
    CHECK_INT(SMA_SESSION_BYTES_MAX, session->bytes);
    CHECK_OK(append(sessions, session, 3, 1, 2));
    CHECK_INT(2, session->turn_count);
    CHECK_INT(3, session->bytes);
    CHECK_OK(append(sessions, session, 4, 1, SMA_SESSION_BYTES_MAX));
    CHECK_INT(1, session->turn_count);
    CHECK_ERR(SMA_ERR_TOOBIG, append(sessions, session, 5, 1, SMA_SESSION_BYTES_MAX + 1));
    CHECK_INT(1, session->turn_count);
}

CASE(clear_and_remove_by_number)
{
    SMA_AUTO(sma_sessions_destroyp) struct sma_sessions *sessions = sma_sessions_create(key);
    struct sma_session *session = sma_session_pin(sessions, SMA_STR("c"), 1);
    for (uint64_t seq = 1; seq <= 5; seq++)
        CHECK_OK(append(sessions, session, seq, 1, 10));
    sma_session_remove(sessions, session, 9);
    CHECK_INT(5, session->turn_count);
    sma_session_clear(sessions, session, 3); /* a mark keeps what came at it or later */
    CHECK_INT(3, session->turn_count);
    CHECK_INT(3, session->turns[0]->seq);
    sma_session_remove(sessions, session, 4);
    CHECK_INT(2, session->turn_count);
    CHECK_INT(5, session->turns[1]->seq);
}

static struct sma_session *touch(struct sma_sessions *sessions, unsigned number, uint64_t now)
{
    char name[32];
    snprintf(name, sizeof name, "chat:%u", number);
    struct sma_session *session = sma_session_pin(sessions, sma_str(name), now);
    sma_session_unpin(sessions, session, now);
    return session;
}

CASE(eviction_takes_the_idlest_and_never_a_pinned_one)
{
    const uint64_t second = UINT64_C(1000000000);
    SMA_AUTO(sma_sessions_destroyp) struct sma_sessions *sessions = sma_sessions_create(key);
    struct sma_session *pinned = sma_session_pin(sessions, SMA_STR("pinned"), second);
    for (unsigned i = 0; i < SMA_SESSION_COUNT_MAX; i++)
        touch(sessions, i, 2 * second);
    CHECK_INT(SMA_SESSION_COUNT_MAX + 1, sma_sessions_count(sessions));
    touch(sessions, 0, 3 * second);
    sma_sessions_evict(sessions, 3 * second);
    CHECK_INT(SMA_SESSION_COUNT_MAX, sma_sessions_count(sessions));
    CHECK(sma_session_find(sessions, SMA_STR("chat:0")) != NULL);
    CHECK(sma_session_find(sessions, SMA_STR("chat:1")) == NULL);
    CHECK(sma_session_find(sessions, SMA_STR("pinned")) == pinned);
    sma_sessions_evict(sessions, (2 + SMA_SESSION_IDLE_S) * second - 1);
    CHECK_INT(SMA_SESSION_COUNT_MAX, sma_sessions_count(sessions));
    sma_sessions_evict(sessions, (2 + SMA_SESSION_IDLE_S) * second);
    CHECK_INT(2, sma_sessions_count(sessions)); /* the pinned one and the one touched later */
    sma_session_unpin(sessions, pinned, 4 * second);
    sma_sessions_evict(sessions, (5 + SMA_SESSION_IDLE_S) * second);
    CHECK_INT(0, sma_sessions_count(sessions));
}

CASE(total_bytes_are_bounded)
{
    SMA_AUTO(sma_sessions_destroyp) struct sma_sessions *sessions = sma_sessions_create(key);
    for (unsigned i = 0; i < 130; i++) {
        struct sma_session *session = touch(sessions, i, 1);
        CHECK_OK(append(sessions, session, i + 1, 1, SMA_TURN_BYTES_MAX));
        sma_sessions_evict(sessions, 1);
        CHECK(sma_sessions_bytes(sessions) <= SMA_SESSION_BYTES_TOTAL_MAX);
    }
    CHECK_INT(SMA_SESSION_BYTES_TOTAL_MAX / SMA_TURN_BYTES_MAX, sma_sessions_count(sessions));
    CHECK(sma_session_find(sessions, SMA_STR("chat:129")) != NULL);
}

CASES_MAIN
