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

static void random_turns_are_never_cut_inside(void)
{
    struct sma_sessions *sessions = sma_sessions_create(key);
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
    sma_sessions_destroy(sessions);
}

static void bounds_of_turns(void)
{
    struct sma_sessions *sessions = sma_sessions_create(key);
    struct sma_session *session = sma_session_pin(sessions, SMA_STR("c"), 1);
    for (uint64_t seq = 1; seq <= SMA_SESSION_TURN_COUNT_MAX; seq++)
        CHECK_OK(append(sessions, session, seq, 60, 10));
    CHECK_INT(SMA_SESSION_TURN_COUNT_MAX, session->turn_count); /* at the bound: nothing is cut */
    CHECK_OK(append(sessions, session, SMA_SESSION_TURN_COUNT_MAX + 1, 1, 10));
    CHECK_INT(SMA_SESSION_TURN_COUNT_MAX / 2, session->turn_count); /* over it: to half, once */
    check_whole(session);
    sma_sessions_destroy(sessions);
}

static void bounds_of_bytes(void)
{
    struct sma_sessions *sessions = sma_sessions_create(key);
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
    sma_sessions_destroy(sessions);
}

static void clear_and_remove_by_number(void)
{
    struct sma_sessions *sessions = sma_sessions_create(key);
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
    sma_sessions_destroy(sessions);
}

static struct sma_session *touch(struct sma_sessions *sessions, unsigned number, uint64_t now)
{
    char name[32];
    snprintf(name, sizeof name, "chat:%u", number);
    struct sma_session *session = sma_session_pin(sessions, sma_str(name), now);
    sma_session_unpin(sessions, session, now);
    return session;
}

static void eviction_takes_the_idlest_and_never_a_pinned_one(void)
{
    const uint64_t second = UINT64_C(1000000000);
    struct sma_sessions *sessions = sma_sessions_create(key);
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
    sma_sessions_destroy(sessions);
}

static void total_bytes_are_bounded(void)
{
    struct sma_sessions *sessions = sma_sessions_create(key);
    for (unsigned i = 0; i < 130; i++) {
        struct sma_session *session = touch(sessions, i, 1);
        CHECK_OK(append(sessions, session, i + 1, 1, SMA_TURN_BYTES_MAX));
        sma_sessions_evict(sessions, 1);
        CHECK(sma_sessions_bytes(sessions) <= SMA_SESSION_BYTES_TOTAL_MAX);
    }
    CHECK_INT(SMA_SESSION_BYTES_TOTAL_MAX / SMA_TURN_BYTES_MAX, sma_sessions_count(sessions));
    CHECK(sma_session_find(sessions, SMA_STR("chat:129")) != NULL);
    sma_sessions_destroy(sessions);
}

int main(void)
{
    RUN(random_turns_are_never_cut_inside);
    RUN(bounds_of_turns);
    RUN(bounds_of_bytes);
    RUN(clear_and_remove_by_number);
    RUN(eviction_takes_the_idlest_and_never_a_pinned_one);
    RUN(total_bytes_are_bounded);
    return check_summary();
}
