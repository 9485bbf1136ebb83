/*
 * Aim: what a message waits for before its run comes whatever the network does: a download that
 * stalls is begun again, a look-up that failed is asked again, and nothing holds a message for
 * long.
 * Method: a store that asks and an adapter whose platform, requests included, is this file, under
 * virtual time.
 */
#include "adapters/common/fetch.h"
#include "sma/actors.h"
#include "sma/metrics.h"
#include "sma/sim.h"
#include "support/check.h"

#include <stdlib.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define FOLDER ".ship/.cache/test/"
#define CALL_COUNT_MAX 64

/* What becomes of one request for a file. */
enum plan
{
    PLAN_DONE,    /* the file is there at once */
    PLAN_STALL,   /* it says nothing, for ever */
    PLAN_TRICKLE, /* a byte every 4 s, ten times, then it is whole */
    PLAN_TOKEN,   /* it waits 25 s for a token, then the file is there */
};
struct sma_call
{
    struct sma_fetch *fetch; /* NULL = free */
    enum plan plan;
    uint64_t due_ns;
    unsigned byte_count;
};
static struct
{
    struct sma_system *system;
    struct sma_fetches *fetches;
    char dir[64];
    enum plan plans[CALL_COUNT_MAX]; /* by the number of the request */
    struct sma_call calls[CALL_COUNT_MAX];
    size_t call_count, file_count;
    unsigned role_failure_count, role_ask_count; /* so many look-ups fail first */
    struct sma_fetch_job *role_job;
    struct sma_call role_call;
    uint64_t role_due_ns;
    bool role_hangs, is_role_open; /* the question has no answer; the message runs without */
    size_t answer_count;
    uint64_t answered_ns;
    uint8_t role;
    char context[2048], parts[512];
} world;

/* -- the platform ------------------------------------------------------------------------------ */
static bool is_good_file(const struct sma_file_item *item)
{
    return item->size != 0;
}

static const struct sma_file_shape file_shape = {.folder = FOLDER, .is_good = is_good_file};

static void start_call(void *user, struct sma_fetch *fetch, uint32_t left_ms)
{
    (void)user;
    CHECK(left_ms > 0 && left_ms <= SMA_FETCH_JOB_S * 1000);
    CHECK(world.call_count < CALL_COUNT_MAX);
    struct sma_call *call = &world.calls[world.call_count];
    *call = (struct sma_call){.fetch = fetch, .plan = world.plans[world.call_count++]};
    uint64_t now_ns = sma_sim_now(world.system);
    call->due_ns = call->plan == PLAN_DONE      ? now_ns
                   : call->plan == PLAN_TRICKLE ? now_ns + 4 * SECOND
                   : call->plan == PLAN_TOKEN   ? now_ns + 25 * SECOND
                                                : UINT64_MAX;
    fetch->call = call;
}

/* Instead of common/call.c's. */
void sma_call_cancel(struct sma_call *call)
{
    if (call == &world.role_call)
        world.role_due_ns = UINT64_MAX;
    else if (call != NULL)
        call->fetch = NULL;
}

bool sma_call_is_waiting(const struct sma_call *call)
{
    return call->plan == PLAN_TOKEN;
}

static struct sma_call *ask_role(void *user, struct sma_fetch_job *job,
                                 const struct sma_route *route, uint8_t *role)
{
    (void)user;
    (void)route;
    (void)role;
    world.role_ask_count++;
    world.role_job = job;
    world.role_due_ns = world.role_hangs ? UINT64_MAX : sma_sim_now(world.system) + SECOND / 100;
    return &world.role_call;
}

static const struct sma_fetch_ops fetch_ops = {
    .shape = &file_shape,
    .start = start_call,
    .ask_role = ask_role,
};

static void end_role(void)
{
    world.role_due_ns = UINT64_MAX;
    if (world.role_ask_count <= world.role_failure_count)
        sma_fetch_role_retry(world.role_job, 0);
    else
        sma_fetch_role(world.role_job, SMA_ROLE_ADMIN);
}

static void move_call(struct sma_call *call, uint64_t now_ns)
{
    struct sma_fetch *fetch = call->fetch;
    CHECK_INT(1, write(fetch->temp.fd, "x", 1));
    if (call->plan == PLAN_TRICKLE && ++call->byte_count < 10) {
        call->due_ns = now_ns + 4 * SECOND;
        return;
    }
    call->fetch = NULL;
    fetch->call = NULL;
    sma_fetch_done(fetch);
}

/* -- the adapter ------------------------------------------------------------------------------- */
static enum sma_err adapter_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)state;
    (void)error;
    static const struct sma_home bot = {.name = "test", .folder = FOLDER};
    world.fetches = sma_fetches_create(
        &(struct sma_fetch_home){.ctx = ctx, .project_dir = world.dir, .bot = &bot}, &fetch_ops);
    CHECK(world.fetches != NULL);
    return SMA_ERR_OK;
}

static void adapter_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
    if ((*msg)->kind == SMA_MSG_PREPARE)
        sma_fetches_on_message(world.fetches, msg);
}

static void adapter_batch_end(void *state, struct sma_ctx *ctx)
{
    uint64_t now_ns = sma_ctx_now(ctx), next_ns;
    (void)state;
    if (world.role_due_ns <= now_ns)
        end_role();
    for (size_t i = 0; i < world.call_count; i++)
        if (world.calls[i].fetch != NULL && world.calls[i].due_ns <= now_ns)
            move_call(&world.calls[i], now_ns);
    next_ns = sma_fetches_tick(world.fetches, now_ns);
    next_ns = world.role_due_ns < next_ns ? world.role_due_ns : next_ns;
    for (size_t i = 0; i < world.call_count; i++)
        if (world.calls[i].fetch != NULL && world.calls[i].due_ns < next_ns)
            next_ns = world.calls[i].due_ns;
    sma_ctx_wake_at(ctx, next_ns);
}

static void adapter_wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
}

static void adapter_stop(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
    sma_fetches_close(world.fetches);
    sma_fetches_destroy(world.fetches);
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind != SMA_MSG_PREPARED)
        return;
    const struct sma_prepared *prepared = SMA_MSG_BODY(*msg, struct sma_prepared);
    world.answer_count++;
    world.answered_ns = sma_ctx_now(ctx);
    world.role = prepared->role;
    world.parts[0] = '\0';
    for (uint32_t i = 0; i < prepared->part_count; i++) {
        const struct sma_part *part = &prepared->parts[i];
        size_t len = strlen(world.parts);
        snprintf(world.parts + len, sizeof world.parts - len, "%u:%.*s:%.*s:%.*s;", part->kind,
                 (int)part->path.len, part->path.ptr, (int)part->name.len, part->name.ptr,
                 (int)part->mime.len, part->mime.ptr);
    }
    snprintf(world.context, sizeof world.context, "%.*s", (int)prepared->context.len,
             prepared->context.ptr);
}

static const struct sma_actor_ops store_ops = {.name = "store", .handle = store_handle};
static const struct sma_actor_ops adapter_ops = {
    .name = "test",
    .start = adapter_start,
    .handle = adapter_handle,
    .batch_end = adapter_batch_end,
    .wake = adapter_wake,
    .stop = adapter_stop,
};

/* -- the world --------------------------------------------------------------------------------- */
static void open_world(void)
{
    memset(&world, 0, sizeof world);
    sma_metrics_reset();
    world.role_due_ns = UINT64_MAX;
    snprintf(world.dir, sizeof world.dir, "/tmp/test-fetch-XXXXXX");
    CHECK(mkdtemp(world.dir) != NULL);
    struct sma_system_options options = {.is_simulated = true, .seed = 7};
    struct sma_error error;
    world.system = sma_system_create(&options);
    CHECK(world.system != NULL);
    CHECK_OK(sma_system_add(world.system, SMA_ACTOR_STORE, &store_ops, &world));
    CHECK_OK(sma_system_add(world.system, SMA_ACTOR_ADAPTER_0, &adapter_ops, &world));
    CHECK_OK(sma_system_start(world.system, &error));
}

static void close_world(void)
{
    char command[128];
    sma_system_destroy(world.system);
    snprintf(command, sizeof command, "rm -r %s", world.dir);
    FILE *remover = popen(command, "r");
    CHECK(remover != NULL && pclose(remover) == 0);
}

/* "ab" = the files a and b. */
static void put_list(struct sma_buf *buf, const char *files)
{
    for (const char *at = files; *at != '\0'; at++)
        sma_buf_printf(buf, "%s{\"kind\":\"document\",\"path\":\"" FOLDER "%c\"}",
                       at == files ? "[" : ",", *at);
    sma_buf_put_text(buf, *files == '\0' ? "" : "]");
    CHECK_OK(buf->err);
}

/* number 0: of no message, asked for once more. */
static void ask_as(uint64_t number, const char *files, bool wants_role)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    put_list(&buf, files);
    struct sma_route route = {.adapter = SMA_ACTOR_ADAPTER_0,
                              .channel = SMA_STR("test"),
                              .chat_key = SMA_STR("test:chat:1"),
                              .chat_id = SMA_STR("1"),
                              .user_id = SMA_STR("2")};
    struct sma_str list = sma_buf_str(&buf);
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_PREPARE, struct sma_prepare, sma_route_space(&route) + list.len + 1);
    CHECK(msg != NULL);
    struct sma_prepare *prepare = SMA_MSG_BODY(msg, struct sma_prepare);
    *prepare = (struct sma_prepare){
        .seq = number, .wants_role = wants_role, .is_role_open = world.is_role_open};
    prepare->route = sma_route_dup(msg, &route);
    prepare->preparation = sma_msg_dup(msg, list);
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world.system, SMA_ACTOR_STORE), SMA_ACTOR_ADAPTER_0, &msg,
                         UINT64_MAX, NULL));
    sma_buf_fini(&buf);
}

static void ask(const char *files, bool wants_role)
{
    ask_as(++world.file_count, files, wants_role);
}

/* How many seconds all answers took; fails when one does not come. */
static unsigned answered_after_s(size_t count)
{
    uint64_t from_ns = sma_sim_now(world.system);
    (void)sma_sim_run(world.system, 1000000, from_ns + 100 * SECOND);
    CHECK_INT(count, world.answer_count);
    return (unsigned)((world.answered_ns - from_ns) / SECOND);
}

static bool has_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s%s", world.dir, FOLDER, name);
    return access(path, F_OK) == 0;
}

/* -- downloads --------------------------------------------------------------------------------- */
static void a_download_that_stalls_is_begun_again(void)
{
    open_world();
    world.plans[0] = PLAN_STALL;
    ask("a", false);
    unsigned after_s = answered_after_s(1);
    CHECK_TEXT("", world.context);
    CHECK(has_file("a"));
    CHECK_INT(2, world.call_count);
    CHECK(after_s >= SMA_FETCH_SILENT_S && after_s <= SMA_FETCH_SILENT_S + 2);
    close_world();
}

static void stalled_downloads_give_their_places_to_others(void)
{
    open_world();
    for (size_t i = 0; i < SMA_FETCH_COUNT_MAX; i++)
        world.plans[i] = PLAN_STALL;
    ask("abcd", false);
    ask("e", false);
    CHECK(answered_after_s(2) <= SMA_FETCH_SILENT_S + 2);
    CHECK_TEXT("", world.context);
    CHECK(has_file("a") && has_file("b") && has_file("c") && has_file("d") && has_file("e"));
    close_world();
}

static void what_is_asked_for_once_more_holds_up_nothing_that_arrives(void)
{
    open_world();
    for (size_t i = 0; i + 1 < SMA_FETCH_COUNT_MAX; i++)
        world.plans[i] = PLAN_STALL;
    ask_as(0, "abcdef", false);
    ask_as(0, "ghij", false);
    ask("xyz", false); /* all of it by the place that is kept, before what stands in line */
    uint64_t from_ns = sma_sim_now(world.system);
    (void)sma_sim_run(world.system, 1000000, from_ns + SECOND);
    CHECK_INT(1, world.answer_count);
    CHECK(has_file("x") && has_file("y") && has_file("z") && !has_file("d") && !has_file("g"));
    CHECK_INT(SMA_FETCH_COUNT_MAX - 1 + 3, world.call_count);
    (void)answered_after_s(3);
    CHECK(has_file("a") && has_file("f") && has_file("j"));
    close_world();
}

static void what_arrives_goes_before_what_is_asked_for_once_more(void)
{
    open_world();
    for (size_t i = 0; i < SMA_FETCH_COUNT_MAX; i++)
        world.plans[i] = i == 0 ? PLAN_TOKEN : PLAN_TRICKLE;
    for (size_t i = SMA_FETCH_COUNT_MAX + 1; i < CALL_COUNT_MAX; i++)
        world.plans[i] = PLAN_STALL;
    ask("wxyz", false);
    ask_as(0, "ab", false);
    ask("m", false);
    (void)sma_sim_run(world.system, 1000000, sma_sim_now(world.system) + 26 * SECOND);
    CHECK(has_file("w") && has_file("m") && !has_file("a"));
    close_world();
}

static void what_stalls_every_time_is_named(void)
{
    open_world();
    for (size_t i = 0; i < CALL_COUNT_MAX; i++)
        world.plans[i] = PLAN_STALL;
    ask("a", false);
    CHECK(answered_after_s(1) <= 40);
    CHECK_INT(SMA_FETCH_TRY_COUNT_MAX, world.call_count);
    CHECK(strstr(world.context, "the platform stopped sending it") != NULL);
    CHECK(!has_file("a"));
    close_world();
}

static void a_download_that_grows_is_left_alone(void)
{
    open_world();
    world.plans[0] = PLAN_TRICKLE;
    ask("a", false);
    CHECK_INT(40, answered_after_s(1));
    CHECK_INT(1, world.call_count);
    CHECK(has_file("a"));
    close_world();
}

static void waiting_for_a_token_is_no_stall(void)
{
    open_world();
    world.plans[0] = PLAN_TOKEN;
    ask("a", false);
    CHECK_INT(25, answered_after_s(1));
    CHECK_INT(1, world.call_count);
    CHECK_TEXT("", world.context);
    close_world();
}

/* -- roles ------------------------------------------------------------------------------------- */
static void a_role_that_was_not_answered_is_asked_for_again(void)
{
    open_world();
    world.role_failure_count = SMA_FETCH_TRY_COUNT_MAX - 1;
    ask("a", true);
    CHECK(answered_after_s(1) <= 5);
    CHECK_INT(SMA_ROLE_ADMIN, world.role);
    CHECK_INT(SMA_FETCH_TRY_COUNT_MAX, world.role_ask_count);
    close_world();
}

static void a_role_that_is_never_answered_stays_unknown(void)
{
    open_world();
    world.role_failure_count = 100;
    ask("", true);
    CHECK(answered_after_s(1) <= 10);
    CHECK_INT(SMA_ROLE_UNKNOWN, world.role);
    CHECK_INT(SMA_FETCH_TRY_COUNT_MAX, world.role_ask_count);
    close_world();
}

/* He may talk whatever he is: neither a question without an answer nor one that fails again and
 * again holds up his words. A file of the same message is still waited for. */
static void a_role_that_only_adds_rights_is_not_waited_for(void)
{
    for (unsigned i = 0; i < 3; i++) {
        open_world();
        world.role_hangs = i != 1;
        world.role_failure_count = 100;
        world.is_role_open = true;
        if (i == 2)
            world.plans[0] = PLAN_TRICKLE;
        ask(i == 2 ? "a" : "", true);
        unsigned after_s = answered_after_s(1);
        CHECK(i == 2 ? after_s > 30 && has_file("a") : after_s <= 2);
        CHECK_INT(SMA_ROLE_UNKNOWN, world.role);
        close_world();
    }
}

/* -- parts ------------------------------------------------------------------------------------- */
static void parts_are_what_is_there_and_nothing_else(void)
{
    open_world();
    for (size_t i = 0; i < CALL_COUNT_MAX; i++)
        world.plans[i] = i == 1 || i >= 3 ? PLAN_STALL : PLAN_DONE;
    ask("abc", false);
    (void)answered_after_s(1);
    CHECK_TEXT("2:" FOLDER "a::;2:" FOLDER "c::;", world.parts);
    CHECK(strstr(world.context, FOLDER "b") != NULL);
    close_world();
}

static void parts_are_there_when_it_is_asked_again(void)
{
    open_world();
    ask("ab", false);
    (void)answered_after_s(1);
    CHECK_TEXT("2:" FOLDER "a::;2:" FOLDER "b::;", world.parts);
    size_t call_count = world.call_count;
    world.parts[0] = '\0';
    ask("ab", false);
    (void)answered_after_s(2);
    CHECK_INT(call_count, world.call_count);
    CHECK_TEXT("2:" FOLDER "a::;2:" FOLDER "b::;", world.parts);
    close_world();
}

/* The same words of every platform mean the same kinds; a type that is no type says nothing. */
static void kinds_are_the_same_everywhere(void)
{
    static const struct
    {
        const char *kind, *mime, *wanted;
    } cases[] = {
        {"photo", "", "1:"},
        {"photo", "image/webp", "1:image/webp"},
        {"document", "", "2:"},
        {"document", "application/pdf", "2:application/pdf"},
        {"document", "image/png", "1:image/png"},
        {"document", "Image/PNG; x=1", "1:Image/PNG"},
        {"document", "image/", "2:"},
        {"document", "audio/mpeg", "3:audio/mpeg"},
        {"document", "video/mp4", "0:"},
        {"document", "ima\nge/png", "2:"},
        {"document", "a/b/c", "2:"},
        {"voice", "", "3:"},
        {"voice", "audio/ogg", "3:audio/ogg"},
        {"audio", "", "3:"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_file_item item = {.kind = sma_str(cases[i].kind),
                                     .path = SMA_STR("p"),
                                     .name = SMA_STR("n"),
                                     .mime = sma_str(cases[i].mime)};
        struct sma_part part = {0};
        char seen[128];
        bool is_part = sma_file_item_part(&item, &part);
        CHECK(is_part == (cases[i].wanted[0] != '0'));
        snprintf(seen, sizeof seen, "%u:%.*s", part.kind, (int)part.mime.len,
                 part.mime.ptr == NULL ? "" : part.mime.ptr);
        CHECK_TEXT(cases[i].wanted, seen);
        item.is_lookup = true;
        CHECK(!sma_file_item_part(&item, &part));
    }
}

int main(void)
{
    RUN(a_download_that_stalls_is_begun_again);
    RUN(stalled_downloads_give_their_places_to_others);
    RUN(what_is_asked_for_once_more_holds_up_nothing_that_arrives);
    RUN(what_arrives_goes_before_what_is_asked_for_once_more);
    RUN(what_stalls_every_time_is_named);
    RUN(a_download_that_grows_is_left_alone);
    RUN(waiting_for_a_token_is_no_stall);
    RUN(a_role_that_was_not_answered_is_asked_for_again);
    RUN(a_role_that_is_never_answered_stays_unknown);
    RUN(a_role_that_only_adds_rights_is_not_waited_for);
    RUN(parts_are_what_is_there_and_nothing_else);
    RUN(parts_are_there_when_it_is_asked_again);
    RUN(kinds_are_the_same_everywhere);
    return check_summary();
}
