/*
 * Aim: a streamed message is written down before it is asked for and before it becomes a part, is
 * kept for that part until its row is over, is asked for within its rates, and costs nothing when
 * nothing is streamed.
 * Method: a platform of a few lines; its requests (sma_call_start stands below) are answered at
 * once; the actor runs under virtual time.
 */
#include "adapters/common/stream.h"

#include "sma/actors.h"
#include "sma/sim.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define REQUEST_COUNT_MAX 2048
#define PER_SECOND 10
#define STREAMS "streams.json"

struct sma_call
{
    uint64_t seq;
    sma_call_fn *done;
    void *user;
    bool is_open;
};
static struct
{
    struct sma_system *system;
    struct sma_ctx *ctx;
    struct sma_streams streams;
    struct sma_call calls[REQUEST_COUNT_MAX];
    char bodies[REQUEST_COUNT_MAX][32];
    uint64_t at_ns[REQUEST_COUNT_MAX];
    size_t call_count, rested_count;
    uint8_t answer; /* enum sma_attempt_class of every answer */
    uint32_t retry_after_ms;
    bool is_for_all, is_silent;
    bool was_written; /* at the last MAKE its line was in the file */
    uint64_t due_ns;  /* what the last tick said */
    char dir[64];
} world;

/* -- the file ---------------------------------------------------------------------------------- */
static bool file_holds(const char *part)
{
    char path[128], text[65536];
    snprintf(path, sizeof path, "%s/" STREAMS, world.dir);
    FILE *file = fopen(path, "r");
    size_t len = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    if (file != NULL)
        (void)fclose(file);
    text[len] = '\0';
    return strstr(text, part) != NULL;
}

/* -- requests ---------------------------------------------------------------------------------- */
struct sma_call *sma_call_start(struct sma_calls *calls, const struct sma_call_options *options)
{
    (void)calls;
    CHECK(world.call_count < REQUEST_COUNT_MAX);
    struct sma_call *call = &world.calls[world.call_count];
    world.at_ns[world.call_count] = sma_ctx_now(world.ctx);
    snprintf(world.bodies[world.call_count++], sizeof world.bodies[0], "%.*s",
             (int)options->path.len, options->path.ptr);
    *call = (struct sma_call){.done = options->done, .user = options->user, .is_open = true};
    return call;
}

void sma_call_cancel(struct sma_call *call)
{
    if (call != NULL)
        call->is_open = false;
}

static size_t count_of(const char *what)
{
    size_t count = 0;
    for (size_t i = 0; i < world.call_count; i++)
        count += strcmp(world.bodies[i], what) == 0;
    return count;
}

/* Most requests in any second. */
static size_t densest(void)
{
    size_t most = 0, from = 0;
    for (size_t i = 0; i < world.call_count; i++) {
        while (world.at_ns[from] + SECOND <= world.at_ns[i])
            from++;
        most = i - from + 1 > most ? i - from + 1 : most;
    }
    return most;
}

/* -- the platform ------------------------------------------------------------------------------ */
static bool shows(const void *state, const struct sma_progress *progress)
{
    CHECK(state == &world);
    return progress->kind == SMA_PROGRESS_TEXT;
}

static const char *put(struct sma_stream *stream, enum sma_stream_step step, struct sma_buf *path,
                       struct sma_buf *body)
{
    static const char *const names[] = {"prepare", "make", "change", "end"};
    char seq[32];
    if (step == SMA_STREAM_PREPARE)
        return NULL;
    snprintf(seq, sizeof seq, "\"seq\":%llu,", (unsigned long long)stream->seq);
    if (step == SMA_STREAM_MAKE)
        world.was_written = file_holds(seq);
    sma_buf_put_text(path, names[step]);
    sma_buf_put_str(body, sma_buf_str(&stream->text));
    return "POST";
}

static void read_answer(struct sma_stream *stream, enum sma_stream_step step,
                        const struct sma_net_answer *answer, struct sma_stream_outcome *ret_outcome)
{
    (void)answer;
    if (step == SMA_STREAM_MAKE && world.answer == SMA_ATTEMPT_SENT)
        SMA_STREAM_SET(stream->handle, SMA_STR("m1"));
    *ret_outcome = (struct sma_stream_outcome){.attempt_class = world.answer,
                                               .retry_after_ms = world.retry_after_ms,
                                               .is_for_all = world.is_for_all};
}

static const struct sma_stream_ops stream_ops = {
    .file = STREAMS,
    .first_ms = 1000,
    .change_ms = 1000,
    .rest_ms = 500,
    .per_second = PER_SECOND,
    .shows = shows,
    .put = put,
    .read = read_answer,
};

static void rested(void *state, uint64_t seq)
{
    (void)state;
    (void)seq;
    world.rested_count++;
}

/* -- the actor --------------------------------------------------------------------------------- */
static enum sma_err actor_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    world.ctx = ctx;
    struct sma_stream_home home = {.ctx = ctx,
                                   .state = state,
                                   .name = "test",
                                   .folder = "",
                                   .project_dir = world.dir,
                                   .ops = &stream_ops,
                                   .rested = rested};
    return sma_streams_open(&world.streams, &home);
}

static void actor_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)msg;
    (void)ctx;
}

static void actor_batch_end(void *state, struct sma_ctx *ctx)
{
    (void)state;
    world.due_ns = sma_streams_tick(&world.streams, sma_ctx_now(ctx));
    for (size_t i = 0; i < world.call_count && !world.is_silent; i++) {
        if (!world.calls[i].is_open)
            continue;
        world.calls[i].is_open = false;
        world.calls[i].done(&world, world.calls[i].user, &(struct sma_net_answer){.error = ""});
        world.due_ns = sma_streams_tick(&world.streams, sma_ctx_now(ctx));
    }
    sma_ctx_wake_at(ctx, world.due_ns);
}

static void actor_wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
}

static void actor_stop(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
    sma_streams_close(&world.streams);
    sma_streams_fini(&world.streams);
}

static const struct sma_actor_ops actor_ops = {
    .name = "test",
    .start = actor_start,
    .handle = actor_handle,
    .batch_end = actor_batch_end,
    .wake = actor_wake,
    .stop = actor_stop,
};

static void start(void)
{
    struct sma_system_options options = {.is_simulated = true, .seed = 11};
    struct sma_error error;
    world.call_count = world.rested_count = 0;
    world.system = sma_system_create(&options);
    CHECK(world.system != NULL);
    CHECK_OK(sma_system_add(world.system, SMA_ACTOR_ADAPTER_0, &actor_ops, &world));
    CHECK_OK(sma_system_start(world.system, &error));
}

static void open_world(void)
{
    memset(&world, 0, sizeof world);
    snprintf(world.dir, sizeof world.dir, "/tmp/test_stream.XXXXXX");
    CHECK(mkdtemp(world.dir) != NULL);
    world.answer = SMA_ATTEMPT_SENT;
    start();
}

static void close_world(void)
{
    char path[128];
    sma_system_destroy(world.system);
    snprintf(path, sizeof path, "%s/" STREAMS, world.dir);
    (void)unlink(path);
    CHECK(rmdir(world.dir) == 0);
}

static void run_ms(uint64_t ms)
{
    sma_ctx_wake_at(world.ctx, sma_sim_now(world.system)); /* look at once */
    (void)sma_sim_run(world.system, 1000000, sma_sim_now(world.system) + ms * SECOND / 1000);
}

/* -- doing ------------------------------------------------------------------------------------- */
static void tell(uint64_t seq, uint8_t kind, const char *text)
{
    sma_streams_take(&world.streams, &(struct sma_progress){.seq = seq,
                                                            .kind = kind,
                                                            .route = {.chat_id = SMA_STR("room")},
                                                            .text = sma_str(text)});
    run_ms(0);
}

static struct sma_attempt attempt_of(uint64_t seq)
{
    return (struct sma_attempt){
        .outbox_id = seq << 16, .seq = seq, .route = {.chat_id = SMA_STR("room")}};
}

static enum sma_stream_claim claim(uint64_t seq)
{
    struct sma_attempt attempt = attempt_of(seq);
    return sma_streams_claim(&world.streams, &attempt, true);
}

static void settle(uint64_t seq, uint8_t attempt_class)
{
    struct sma_attempt attempt = attempt_of(seq);
    sma_streams_settle(&world.streams, &attempt, attempt_class);
}

static void begin(uint64_t seq)
{
    tell(seq, SMA_PROGRESS_TEXT, "once");
    run_ms(1600); /* made, and at rest */
    CHECK_INT(1, count_of("make"));
}

/* -- the promises ------------------------------------------------------------------------------ */
static void nothing_is_asked_before_it_is_written_down(void)
{
    open_world();
    begin(7);
    CHECK(world.was_written);
    CHECK(file_holds("\"card\":\"m1\""));
    CHECK(!file_holds("\"outbox\":458752"));
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(7));
    CHECK(file_holds("\"outbox\":458752")); /* before the part is sent */
    close_world();
}

static void what_cannot_be_written_down_is_not_shown(void)
{
    open_world();
    snprintf(world.dir + strlen(world.dir), 3, "/x"); /* a folder below a file cannot be made */
    char file[64];
    snprintf(file, sizeof file, "%s", world.dir);
    FILE *blocked = fopen(file, "w");
    CHECK(blocked != NULL && fclose(blocked) == 0);
    tell(7, SMA_PROGRESS_TEXT, "once");
    run_ms(3000);
    CHECK_INT(0, world.call_count);
    CHECK_INT(SMA_STREAM_CLAIM_NONE, claim(7));
    CHECK(unlink(file) == 0);
    world.dir[strlen(world.dir) - 2] = '\0';
    close_world();
}

/* An order to wait outlasts any pause between two tries; then it is still the same message. */
static void a_claim_is_kept_until_its_row_is_over(void)
{
    open_world();
    begin(7);
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(7));
    settle(7, SMA_ATTEMPT_RETRY_AFTER);
    tell(7, SMA_PROGRESS_FINISHED, "");
    run_ms(3600 * 1000);
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(7));
    struct sma_attempt attempt = attempt_of(7);
    CHECK_TEXT("m1", sma_streams_of(&world.streams, &attempt)->handle);
    CHECK_INT(0, count_of("end"));
    settle(7, SMA_ATTEMPT_GIVE_UP); /* the row has failed: nobody wants it */
    run_ms(2000);
    CHECK_INT(1, count_of("end"));
    close_world();
}

/* It may have arrived as a message of its own, before there was a stream. */
static void a_repeat_that_claimed_none_becomes_none(void)
{
    open_world();
    begin(7);
    struct sma_attempt attempt = attempt_of(7);
    attempt.is_repeat = true;
    CHECK_INT(SMA_STREAM_CLAIM_NONE, sma_streams_claim(&world.streams, &attempt, true));
    run_ms(2000);
    CHECK_INT(1, count_of("end"));
    tell(8, SMA_PROGRESS_TEXT, "once");
    run_ms(1600);
    attempt = attempt_of(8);
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, sma_streams_claim(&world.streams, &attempt, true));
    attempt.is_repeat = true;
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, sma_streams_claim(&world.streams, &attempt, true));
    close_world();
}

static void a_claim_outlives_the_program(void)
{
    open_world();
    begin(7);
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(7));
    sma_system_destroy(world.system);
    start();
    run_ms(1000);
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(7));
    struct sma_attempt attempt = attempt_of(7);
    CHECK_TEXT("m1", sma_streams_of(&world.streams, &attempt)->handle);
    close_world();
}

static void a_stream_that_a_crash_left_is_taken_back_or_goes_on(void)
{
    open_world();
    begin(7);
    sma_system_destroy(world.system);
    start();
    tell(7, SMA_PROGRESS_TEXT, "once upon");
    run_ms(3000);
    CHECK_INT(1, count_of("change"));
    CHECK_INT(0, count_of("make"));
    sma_system_destroy(world.system);
    start();
    run_ms(89 * 1000);
    CHECK_INT(0, count_of("end"));
    run_ms(2000); /* its run did not go on */
    CHECK_INT(1, count_of("end"));
    close_world();
}

/* Without a key nobody finds it; its run begins no second one. */
static void one_whose_answer_was_never_heard_is_not_made_twice(void)
{
    open_world();
    world.answer = SMA_ATTEMPT_UNKNOWN;
    tell(7, SMA_PROGRESS_TEXT, "once");
    run_ms(2000);
    world.answer = SMA_ATTEMPT_SENT;
    for (int i = 0; i < 20; i++) {
        tell(7, SMA_PROGRESS_TEXT, "once upon");
        run_ms(500);
    }
    CHECK_INT(1, count_of("make"));
    CHECK_INT(SMA_STREAM_CLAIM_NONE, claim(7));
    close_world();
}

static void a_part_waits_for_its_streams_request_and_its_rest(void)
{
    open_world();
    begin(7);
    world.is_silent = true;
    tell(7, SMA_PROGRESS_TEXT, "once upon");
    run_ms(1000);
    CHECK_INT(1, count_of("change"));
    CHECK_INT(SMA_STREAM_CLAIM_WAIT, claim(7));
    size_t before = world.rested_count;
    world.is_silent = false;
    run_ms(10);
    CHECK_INT(before + 1, world.rested_count);
    CHECK_INT(SMA_STREAM_CLAIM_WAIT, claim(7)); /* half a second between two changes */
    run_ms(600);
    CHECK_INT(before + 2, world.rested_count);
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(7));
    close_world();
}

static void streams_keep_to_their_rates(void)
{
    open_world();
    for (int ms = 0; ms < 20000; ms += 100) {
        for (uint64_t seq = 1; seq <= 50; seq++)
            tell(seq, SMA_PROGRESS_TEXT, "more and more");
        run_ms(100);
    }
    CHECK_INT(50, count_of("make"));
    CHECK(densest() <= PER_SECOND + 1);
    CHECK(world.call_count >= 19 * PER_SECOND - 10); /* and use them */
    close_world();
}

static void a_limit_pauses_one_stream_or_all(void)
{
    for (int is_for_all = 0; is_for_all < 2; is_for_all++) {
        open_world();
        begin(7);
        world.is_for_all = is_for_all == 1;
        world.answer = SMA_ATTEMPT_RETRY_AFTER;
        world.retry_after_ms = 30000;
        tell(7, SMA_PROGRESS_TEXT, "once upon");
        run_ms(1000);
        CHECK_INT(1, count_of("change"));
        world.answer = SMA_ATTEMPT_SENT;
        tell(8, SMA_PROGRESS_TEXT, "another");
        run_ms(5000);
        CHECK_INT(is_for_all == 1 ? 1 : 2, count_of("make"));
        CHECK_INT(1, count_of("change"));
        tell(7, SMA_PROGRESS_TEXT, "once upon a time");
        run_ms(26000);
        CHECK_INT(2, count_of("make"));
        CHECK_INT(2, count_of("change"));
        CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(7));
        close_world();
    }
}

static void a_run_whose_end_was_not_heard_is_over_in_time(void)
{
    open_world();
    begin(7);
    run_ms(290 * 1000);
    CHECK_INT(0, count_of("end"));
    run_ms(15 * 1000);
    CHECK_INT(1, count_of("end"));
    close_world();
}

/* A platform that streams nothing waits for nothing. */
static void at_rest_there_is_no_timer(void)
{
    open_world();
    run_ms(1000);
    CHECK(world.due_ns == UINT64_MAX);
    begin(7);
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(7));
    settle(7, SMA_ATTEMPT_SENT);
    tell(7, SMA_PROGRESS_FINISHED, "");
    tell(8, SMA_PROGRESS_TEXT, "short");
    tell(8, SMA_PROGRESS_FINISHED, "");
    run_ms(121 * 1000);
    CHECK(world.due_ns == UINT64_MAX);
    CHECK_INT(0, world.streams.count);
    close_world();
}

/* Of more runs than places the further ones show none, and the first ones are not hurt. */
static void beyond_the_places_a_run_shows_none(void)
{
    open_world();
    for (uint64_t seq = 1; seq <= SMA_STREAM_COUNT_MAX + 3; seq++)
        tell(seq, SMA_PROGRESS_TEXT, "once");
    CHECK_INT(SMA_STREAM_COUNT_MAX, world.streams.count);
    run_ms(30000);
    CHECK_INT(SMA_STREAM_COUNT_MAX, count_of("make"));
    CHECK_INT(SMA_STREAM_CLAIM_TAKEN, claim(1));
    settle(1, SMA_ATTEMPT_SENT);
    tell(500, SMA_PROGRESS_TEXT, "once"); /* its place is free: its part is sent */
    run_ms(3000);
    CHECK_INT(SMA_STREAM_COUNT_MAX + 1, count_of("make"));
    close_world();
}

int main(void)
{
    RUN(nothing_is_asked_before_it_is_written_down);
    RUN(what_cannot_be_written_down_is_not_shown);
    RUN(a_claim_is_kept_until_its_row_is_over);
    RUN(a_repeat_that_claimed_none_becomes_none);
    RUN(a_claim_outlives_the_program);
    RUN(a_stream_that_a_crash_left_is_taken_back_or_goes_on);
    RUN(one_whose_answer_was_never_heard_is_not_made_twice);
    RUN(a_part_waits_for_its_streams_request_and_its_rest);
    RUN(streams_keep_to_their_rates);
    RUN(a_limit_pauses_one_stream_or_all);
    RUN(a_run_whose_end_was_not_heard_is_over_in_time);
    RUN(at_rest_there_is_no_timer);
    RUN(beyond_the_places_a_run_shows_none);
    return check_summary();
}
