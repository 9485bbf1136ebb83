/* Aim: claims over restarts, equal hashes, bounds, expiry and its clock. Method: a virtual clock
 * and a weak hash. */
#include "state_support.h"
#include "support/patience.h"

#include <time.h>

static void accept_many(struct sma_state *state, const char *prefix, int count, int row_state)
{
    for (int done = 0; done < count;) {
        CHECK_OK(sma_state_begin(state));
        for (int i = 0; i < 5000 && done < count; i++, done++) {
            char event[32], chat[32];
            snprintf(event, sizeof event, "%s-%d", prefix, done);
            snprintf(chat, sizeof chat, "chat-%d", done % 10);
            struct sma_state_message message =
                message_of(chat_named(state, chat), event, row_state);
            message.line.len = message.facts.len = 0;
            message.history_offset = SMA_STATE_NO_LINE;
            uint64_t seq = 0;
            CHECK_OK(sma_state_accept(state, &message, &seq));
        }
        CHECK_OK(sma_state_commit(state));
    }
}

static int count_claimed(struct sma_state *state, const char *prefix, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        char event[32], chat[32];
        snprintf(event, sizeof event, "%s-%d", prefix, i);
        snprintf(chat, sizeof chat, "chat-%d", i % 10);
        found += is_claimed(state, chat, event);
    }
    return found;
}

CASE(every_claim_survives_restarts)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    int total = 0;
    for (int round = 0; round < 4; round++) { /* generations and tails of many lengths */
        char prefix[8];
        snprintf(prefix, sizeof prefix, "r%d", round);
        accept_many(f.state, prefix, 4095 + round, SMA_ROW_DONE);
        total += 4095 + round;
        fixture_reopen(&f, round % 2 == 0);
        CHECK_INT(total, sma_state_claim_count(f.state));
        for (int old = 0; old <= round; old++) {
            snprintf(prefix, sizeof prefix, "r%d", old);
            CHECK_INT(4095 + old, count_claimed(f.state, prefix, 5000));
        }
    }
}

static uint64_t weak_hash(const void *bytes, size_t len)
{
    return ((const uint8_t *)bytes)[len - 1] % 4; /* four hashes for everything */
}

CASE(equal_hashes_are_told_apart_by_their_rows)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_claim_hash(f.state, weak_hash);
    accept_many(f.state, "same", 300, SMA_ROW_DONE);
    CHECK_INT(300, count_claimed(f.state, "same", 600));
    CHECK_OK(sma_state_begin(f.state));
    struct sma_state_head head;
    struct sma_state_chat *chat = chat_named(f.state, "chat-3");
    CHECK_OK(sma_state_claim_find(f.state, chat->claim_id, 0, SMA_STR("same-3"), &head));
    CHECK_INT(4, head.seq);
    CHECK_ERR(SMA_ERR_NOTFOUND,
              sma_state_claim_find(f.state, chat->claim_id, 1, SMA_STR("same-3"), &head));
    accept_event(f.state, "chat-3", "undone", SMA_ROW_DONE);
    CHECK(is_claimed(f.state, "chat-3", "undone"));
    sma_state_rollback(f.state);
    CHECK(!is_claimed(f.state, "chat-3", "undone"));
    CHECK_INT(300, count_claimed(f.state, "same", 300));
}

CASE(intake_stops_exactly_at_the_hard_bound)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_claim_bounds(f.state, 50, 100, 1000);
    accept_many(f.state, "a", 99, SMA_ROW_DONE);
    CHECK(!sma_state_is_claims_full(f.state));
    accept_many(f.state, "b", 1, SMA_ROW_DONE);
    CHECK(sma_state_is_claims_full(f.state));
    CHECK_OK(sma_state_begin(f.state));
    struct sma_state_message message = message_of(chat_named(f.state, "c"), "101", SMA_ROW_WAITING);
    uint64_t seq = 0;
    CHECK_ERR(SMA_ERR_FULL, sma_state_accept(f.state, &message, &seq));
    message.event_key.len = 0;
    message.state = SMA_ROW_LINE;
    CHECK_OK(sma_state_accept(f.state, &message, &seq)); /* lines need no claim: open runs go on */
    CHECK_OK(sma_state_commit(f.state));
}

#define HOUR_NS (UINT64_C(3600) * 1000000000)

static uint32_t expire_all(struct sma_state *state, uint32_t slice)
{
    uint32_t total = 0;
    for (int i = 0; i < 100000 && sma_state_is_expiry_due(state); i++) {
        uint32_t removed = 0;
        CHECK_OK(sma_state_begin(state));
        CHECK_OK(sma_state_expire(state, slice, &removed));
        CHECK(removed <= slice);
        CHECK_OK(sma_state_commit(state));
        total += removed;
    }
    CHECK(!sma_state_is_expiry_due(state));
    return total;
}

CASE(only_old_claims_over_the_bound_expire)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    accept_many(f.state, "old", 4096, SMA_ROW_DONE);
    f.now_ns += 71 * HOUR_NS;
    sma_state_set_claim_bounds(f.state, 5000, SMA_CLAIM_COUNT_MAX, 72 * 3600 * 1000);
    accept_many(f.state, "new", 4096, SMA_ROW_DONE);
    CHECK(!sma_state_is_expiry_due(f.state)); /* over the bound, not old enough */
    f.now_ns += 2 * HOUR_NS;
    CHECK(sma_state_is_expiry_due(f.state));
    sma_state_set_claim_bounds(f.state, 8192, SMA_CLAIM_COUNT_MAX, 72 * 3600 * 1000);
    CHECK(!sma_state_is_expiry_due(f.state)); /* old enough, not over the bound */
    sma_state_set_claim_bounds(f.state, 5000, SMA_CLAIM_COUNT_MAX, 72 * 3600 * 1000);
    CHECK_INT(4096, expire_all(f.state, 100));
    CHECK_INT(4096, sma_state_claim_count(f.state));
    CHECK_INT(0, count_claimed(f.state, "old", 4096));
    CHECK_INT(4096, count_claimed(f.state, "new", 4096));
    fixture_reopen(&f, false);
    CHECK_INT(4096, sma_state_claim_count(f.state));
    CHECK_INT(0, count_claimed(f.state, "old", 4096));
    CHECK_INT(4096, count_claimed(f.state, "new", 4096));
    CHECK_INT(8193, sma_state_next_seq(f.state));
}

static int64_t wall_of_another_century(void *self)
{
    (void)self;
    return INT64_C(9999999999999);
}

CASE(a_clock_jump_expires_nothing)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_claim_bounds(f.state, 10, SMA_CLAIM_COUNT_MAX, 72 * 3600 * 1000);
    accept_many(f.state, "a", 5000, SMA_ROW_DONE);
    f.sys.wall_ms = wall_of_another_century;
    CHECK(!sma_state_is_expiry_due(f.state));
    f.now_ns += 40 * HOUR_NS;
    sma_state_close(f.state, true);
    f.state = NULL;
    f.now_ns = 5; /* the machine was rebooted: monotonic time begins anew; uptime goes on */
    fixture_open(&f);
    sma_state_set_claim_bounds(f.state, 10, SMA_CLAIM_COUNT_MAX, 72 * 3600 * 1000);
    CHECK_INT(40 * 3600 * 1000, sma_state_uptime_ms(f.state));
    CHECK(!sma_state_is_expiry_due(f.state));
    f.now_ns += 32 * HOUR_NS;
    CHECK(sma_state_is_expiry_due(f.state));
}

CASE(what_is_needed_does_not_expire)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_claim_bounds(f.state, 0, SMA_CLAIM_COUNT_MAX, 0);
    CHECK_OK(sma_state_begin(f.state));
    uint64_t parked = accept_event(f.state, "chat-0", "parked", SMA_ROW_PARKED);
    uint64_t sending = accept_event(f.state, "chat-0", "sending", SMA_ROW_DONE);
    uint64_t unflushed = accept_event(f.state, "chat-0", "unflushed", SMA_ROW_DONE);
    struct sma_state_delivery delivery = {.outbox_id = sma_state_outbox_id(sending, 1, 1),
                                          .chat = chat_named(f.state, "chat-0")};
    CHECK_OK(sma_state_outbox_add(f.state, &delivery));
    CHECK_OK(sma_state_commit(f.state));
    accept_many(f.state, "old", 4093, SMA_ROW_DONE);
    sma_state_set_history_flushed(f.state, sending);
    CHECK_INT(4093, expire_all(f.state, 333));
    for (int round = 0; round < 2; round++) {
        CHECK_INT(3, sma_state_claim_count(f.state));
        CHECK(is_claimed(f.state, "chat-0", "parked") && is_claimed(f.state, "chat-0", "sending"));
        CHECK(is_claimed(f.state, "chat-0", "unflushed"));
        CHECK_INT(1, sma_state_open_count(f.state));
        fixture_reopen(&f, false);
    }
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_set_row_state(f.state, parked, SMA_ROW_CANCELLED));
    delivery.state = 3;
    CHECK_OK(sma_state_outbox_update(f.state, &delivery));
    CHECK_OK(sma_state_commit(f.state));
    sma_state_set_history_flushed(f.state, unflushed);
    sma_state_set_claim_bounds(f.state, 0, SMA_CLAIM_COUNT_MAX, 0);
    CHECK_INT(3, expire_all(f.state, 333));
    CHECK_INT(0, sma_state_claim_count(f.state));
    CHECK_INT(4097, sma_state_next_seq(f.state));
    fixture_reopen(&f, false);
    CHECK_INT(4097, sma_state_next_seq(f.state)); /* every row is gone, no number is used again */
}

CASE(an_undone_expiry_starts_over)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    accept_many(f.state, "old", 4096, SMA_ROW_DONE);
    sma_state_set_claim_bounds(f.state, 0, SMA_CLAIM_COUNT_MAX, 0);
    for (int slice = 1000; slice <= 5000; slice += 4000) { /* a part, and all with its generation */
        uint32_t removed = 0;
        CHECK_OK(sma_state_begin(f.state));
        CHECK_OK(sma_state_expire(f.state, (uint32_t)slice, &removed));
        CHECK(removed > 0);
        sma_state_rollback(f.state);
        CHECK_INT(4096, sma_state_claim_count(f.state));
        CHECK_INT(4096, count_claimed(f.state, "old", 4096));
    }
    CHECK_INT(4096, expire_all(f.state, 5000));
}

static uint64_t real_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

CASE(many_claims_are_loaded_quickly)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    accept_many(f.state, "many", 100000, SMA_ROW_DONE);
    sma_state_close(f.state, true);
    f.state = NULL;
    uint64_t before = real_now_ms();
    fixture_open(&f);
    uint64_t took = real_now_ms() - before;
    fprintf(stderr, "   start with 100,000 claims: %u ms\n", (unsigned)took);
    CHECK(took < 2000 * PATIENCE); /* generous: bench_store has the figure */
    CHECK_INT(100000, sma_state_claim_count(f.state));
}

#define HOUR_MS UINT64_C(3600000)

static void accept_done(struct fixture *f, const char *prefix, int count)
{
    CHECK_OK(sma_state_begin(f->state));
    for (int i = 0; i < count; i++) {
        char event[32];
        snprintf(event, sizeof event, "%s-%d", prefix, i);
        accept_event(f->state, "c", event, SMA_ROW_DONE);
    }
    CHECK_OK(sma_state_commit(f->state));
}

static void expire_due(struct fixture *f)
{
    for (int i = 0; i < 100 && sma_state_is_expiry_due(f->state); i++) {
        uint32_t removed = 0;
        CHECK_OK(sma_state_begin(f->state));
        CHECK_OK(sma_state_expire(f->state, 1024, &removed));
        sma_state_set_history_flushed(f->state, sma_state_next_seq(f->state));
        CHECK_OK(sma_state_commit(f->state));
    }
}

CASE(imported_claims_have_their_own_age_and_leave_room)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_claim_bounds(f.state, 1000, 100000, 72 * HOUR_MS);
    CHECK_OK(sma_state_begin(f.state));
    sma_state_make_room_for_ages(f.state);
    CHECK_OK(sma_state_commit(f.state));
    sma_state_set_claim_age(f.state, 1000 * HOUR_MS);
    accept_done(&f, "ancient", 4096);
    sma_state_set_claim_age(f.state, 73 * HOUR_MS);
    accept_done(&f, "old", 4096);
    sma_state_set_claim_age(f.state, 10 * HOUR_MS);
    accept_done(&f, "new", 4096);
    sma_state_set_claim_age(f.state, 0);
    fixture_reopen(&f, false);
    sma_state_set_claim_bounds(f.state, 1000, 100000, 72 * HOUR_MS);
    sma_state_set_history_flushed(f.state, sma_state_next_seq(f.state));
    expire_due(&f);
    CHECK_INT(4096, (long long)sma_state_claim_count(f.state));
    CHECK(!is_claimed(f.state, "c", "old-7") && is_claimed(f.state, "c", "new-7"));
    f.now_ns += 61 * HOUR_MS * 1000000;
    CHECK(!sma_state_is_expiry_due(f.state));
    f.now_ns += 2 * HOUR_MS * 1000000;
    CHECK(sma_state_is_expiry_due(f.state));
    CHECK_INT(0, (long long)sma_state_expired_early(f.state));
}

CASE(the_oldest_claims_go_early_before_intake_would_stop)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_claim_bounds(f.state, 1000, 16384, 72 * HOUR_MS);
    for (int i = 0; i < 12; i++) {
        char prefix[16];
        snprintf(prefix, sizeof prefix, "p%d", i);
        accept_done(&f, prefix, 4000);
        sma_state_set_history_flushed(f.state, sma_state_next_seq(f.state));
        expire_due(&f);
        CHECK(!sma_state_is_claims_full(f.state));
        CHECK(sma_state_claim_count(f.state) < 16384 - 2048);
        CHECK(is_claimed(f.state, "c", prefix[0] == 'p' ? "p0-0" : "") == (i < 3));
    }
    CHECK(sma_state_expired_early(f.state) > 0);
    CHECK(is_claimed(f.state, "c", "p11-3999") && is_claimed(f.state, "c", "p10-0"));
}

CASES_MAIN
