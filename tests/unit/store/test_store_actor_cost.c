/*
 * Aim: what one accepted message costs the store: allocations of its own code, and syncs per batch.
 * Method: the linker wraps malloc, calloc and realloc of the program (not of the libraries it uses)
 * with counters.
 */
#include "store_support.h"

#include "actors/store/batch_priv.h"
#include "actors/store/outbox_priv.h"
static struct world w;
static size_t allocation_count;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    allocation_count++;
    return __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes)
{
    allocation_count++;
    return __real_calloc(count, bytes);
}
void *__wrap_realloc(void *old, size_t bytes)
{
    allocation_count++;
    return __real_realloc(old, bytes);
}

static void say_many(const char *prefix, int count)
{
    for (int i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof id, "%s%d", prefix, i);
        (void)say_as(&w, API,
                     &(struct saying){
                         .chat = "a", .id = id, .text = "a text of some length, as people write"});
    }
    run(&w);
    drop_kept(&w.api);
}

AFTER_EACH(end_world(&w))

CASE(a_waiting_message_costs_its_answer)
{
    make_world(&w);
    w.config.queue_chat_waiting_max = 1000;
    open_world(&w);
    say_many("warm", 300); /* tables and scratch buffers have their size now */
    size_t before = allocation_count;
    say_many("m", 200);
    size_t per_message = allocation_count - before - 200; /* the INGRESS itself is the adapter's */
    fprintf(stderr, "%zu allocations for 200 accepted messages\n", per_message);
    CHECK(per_message >= 200 && per_message <= 200 + 10);
}

CASE(a_message_that_runs_at_once_costs_three)
{
    new_world(&w);
    size_t spent = 0;
    for (int i = 0; i < 120; i++) {
        char id[32];
        snprintf(id, sizeof id, "%d", i);
        size_t before = allocation_count;
        (void)say_as(&w, API, &(struct saying){.chat = "a", .id = id, .text = "hello"});
        run(&w);
        if (i >= 20)
            spent += allocation_count - before - 1;
        uint64_t seq = run_seq(&w);
        CHECK(seq != 0);
        done(&w, seq, "answer", NULL, 0);
        run(&w);
        drop_kept(&w.api);
        drop_kept(&w.agent);
    }
    fprintf(stderr, "%zu allocations for 100 messages that run at once\n", spent);
    CHECK(spent >= 200 && spent <= 300 + 10); /* ACCEPTED, RUN, the run's record */
}

CASE(a_batch_has_one_sync)
{
    make_world(&w);
    w.config.queue_chat_waiting_max = 1000;
    open_world(&w);
    struct sma_state_counts before, after;
    sma_state_counts(w.store->state, &before);
    say_many("m", 500);
    sma_state_counts(w.store->state, &after);
    uint64_t commits = after.commits - before.commits,
             restarts = after.wal_restarts - before.wal_restarts;
    CHECK(commits > 0 && commits < 500);
    CHECK(after.wal_syncs - before.wal_syncs <= commits + restarts);
    /* What only asks costs no commit. */
    await(&w, API, 1, true, "");
    say_many("m", 500); /* all known */
    struct sma_state_counts last;
    sma_state_counts(w.store->state, &last);
    CHECK(last.commits == after.commits && last.wal_syncs == after.wal_syncs);
}

/* One message, one plain answer, its receipt. */
static void a_turn(const char *id, unsigned adapter)
{
    (void)say_as(&w, adapter, &(struct saying){.chat = "turn", .id = id, .text = "question"});
    run(&w);
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    const struct delivery row = {.key = adapter == API ? "api:chat:turn" : "test:chat:turn",
                                 .text = "answer",
                                 .adapter = adapter};
    done(&w, seq, "answer", &row, 1);
    run(&w);
    struct sma_msg *msg = deliver(&w);
    CHECK((msg != NULL) == (adapter == TEST));
    if (msg == NULL)
        return;
    receipt(&w, &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id,
                                      .part_count = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true,
                                      .platform_message_id = SMA_STR("m")});
    sma_msg_destroy(msg);
    run(&w);
    CHECK_INT(1, count_kept(&w.dispatcher, SMA_MSG_RECEIPT_DONE));
    drop_kept(&w.dispatcher);
}

/* ... costs two commits and two syncs: it comes in, it is over. The receipt rides on the next one's
 * sync. */
CASE(a_turn_costs_two_commits)
{
    static const unsigned adapters[] = {TEST, API};
    for (size_t i = 0; i < SMA_COUNT_OF(adapters); i++) {
        new_world(&w);
        struct sma_state_counts before, after, idle;
        sma_state_counts(w.store->state, &before);
        for (int turn = 0; turn < 10; turn++) {
            char id[16];
            snprintf(id, sizeof id, "t%d", turn);
            a_turn(id, adapters[i]);
        }
        sma_state_counts(w.store->state, &after);
        uint64_t restarts = after.wal_restarts - before.wal_restarts;
        CHECK_INT(2 * 10, (int)(after.commits - before.commits));
        CHECK_INT(2 * 10, (int)(after.wal_syncs - before.wal_syncs - restarts));
        CHECK_INT(adapters[i] == TEST ? 10 : 0, (int)(after.lazy_commits - before.lazy_commits));
        CHECK_INT(10, count_of(history(&w, adapters[i] == TEST ? "test%3Achat%3Aturn"
                                                               : "api%3Achat%3Aturn"),
                               "answer"));
        pass(&w,
             /* when nothing more comes, one sync makes the last receipt durable, and then none */
             10);
        sma_state_counts(w.store->state, &idle);
        CHECK_INT(adapters[i] == TEST ? 1 : 0, (int)(idle.wal_syncs - after.wal_syncs));
        CHECK(idle.commits == after.commits && w.store->batch->lazy_ns == 0);
        end_world(&w);
    }
}

/* The program dies right behind it: what was written is with the operating system. */
CASE(a_receipt_that_rides_outlives_the_program)
{
    new_world(&w);
    a_turn("1", TEST);
    CHECK(w.store->batch->lazy_ns != 0);
    crash_world(&w);
    CHECK(deliver(&w) == NULL);
    CHECK_INT(0, (int)w.store->outbox->open_count);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aturn"), "answer"));
}

CASES_MAIN
