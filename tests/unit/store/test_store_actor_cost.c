/*
 * Aim: what one accepted message costs the store: allocations of its own code, and syncs per batch.
 * Method: the linker wraps malloc, calloc and realloc of the program (not of the libraries it uses) with counters.
 */
#include "store_support.h"

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

static void a_waiting_message_costs_its_answer(void)
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
    end_world(&w);
}

static void a_message_that_runs_at_once_costs_three(void)
{
    make_world(&w);
    open_world(&w);
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
    end_world(&w);
}

static void a_batch_has_one_sync(void)
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
    end_world(&w);
}

int main(void)
{
    RUN(a_waiting_message_costs_its_answer);
    RUN(a_message_that_runs_at_once_costs_three);
    RUN(a_batch_has_one_sync);
    return check_summary();
}
