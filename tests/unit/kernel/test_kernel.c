/*
 * Aim: the promises of the actor runtime on threads: an ask is answered once and counted, bounds
 * refuse, signals may be lost but are counted, wake and batch_end come when due, a loop actor is an
 * actor, and the end is ordered.
 * Method: fake store, agent and adapters made of function pointers; a thread supervises, stopped
 * through a pipe.
 */
#include "actors/kernel/kernel_priv.h"
#include "sma/actor.h"
#include "sma/messages.h"
#include "sma/metrics.h"
#include "sma/sim.h"
#include "support/check.h"
#include "support/patience.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

static uint64_t now_ns(void)
{
    return sma_sys_real()->now_ns(NULL);
}

/* -- what the fakes did, in order -------------------------------------------------------------- */
static pthread_mutex_t note_lock = PTHREAD_MUTEX_INITIALIZER;
static char notes[4096];

static void note(const char *actor, const char *what, unsigned phase)
{
    pthread_mutex_lock(&note_lock);
    size_t len = strlen(notes);
    snprintf(notes + len, sizeof notes - len, "%s:%s%u ", actor, what, phase);
    pthread_mutex_unlock(&note_lock);
}

struct fake
{
    const char *name;
    bool answers_life, must_keep, must_hold;
    struct sma_msg *kept[8192];
    size_t kept_count;
    _Atomic unsigned handled, batches, wakes, answers, signals;
    _Atomic uint64_t woken_at;
    _Atomic bool is_released;
    uint64_t wake_at;
    uv_timer_t timer;
    bool has_timer;
    void (*on_start)(struct fake *fake, struct sma_ctx *ctx);
};

static void answer_one(struct sma_ctx *ctx, struct sma_msg *question)
{
    unsigned kind = question->kind == SMA_MSG_INGRESS ? SMA_MSG_ACCEPTED : SMA_MSG_SESSION_TURNS;
    struct sma_msg *answer = sma_msg_create(kind, sizeof(struct sma_accepted), 0);
    sma_ctx_answer(ctx, question, &answer);
    CHECK(answer == NULL);
}

static enum sma_err fake_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    struct fake *fake = state;
    note(fake->name, "start", 0);
    if (fake->on_start != NULL)
        fake->on_start(fake, ctx);
    return SMA_ERR_OK;
}

static void fake_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct fake *fake = state;
    atomic_fetch_add(&fake->handled, 1);
    switch ((*msg)->kind) {
    case SMA_MSG_LIFE:
        note(fake->name, "life", SMA_MSG_BODY(*msg, struct sma_life)->phase);
        if (fake->answers_life)
            sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        break;
    case SMA_MSG_INGRESS:
    case SMA_MSG_SESSION:
        if (fake->must_keep) {
            fake->kept[fake->kept_count++] = *msg;
            *msg = NULL;
        } else {
            answer_one(ctx, *msg);
        }
        break;
    case SMA_MSG_ACCEPTED:
    case SMA_MSG_SESSION_TURNS:
        atomic_fetch_add(&fake->answers, 1);
        break;
    case SMA_MSG_MODEL_DELTA:
        atomic_fetch_add(&fake->signals, 1);
        break;
    default:
        break;
    }
    while (fake->must_hold && !atomic_load(&fake->is_released))
        sched_yield();
}

static void fake_batch_end(void *state, struct sma_ctx *ctx)
{
    struct fake *fake = state;
    atomic_fetch_add(&fake->batches, 1);
    if (atomic_load(&fake->is_released))
        while (fake->kept_count > 0) {
            struct sma_msg *question = fake->kept[--fake->kept_count];
            answer_one(ctx, question);
            sma_msg_destroy(question);
        }
}

static void fake_wake(void *state, struct sma_ctx *ctx)
{
    struct fake *fake = state;
    atomic_store(&fake->woken_at, sma_ctx_now(ctx));
    if (atomic_fetch_add(&fake->wakes, 1) < 2 || fake->must_keep)
        sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + 2000000);
}

static void fake_stop(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    struct fake *fake = state;
    note(fake->name, "stop", 0);
    for (size_t i = 0; i < fake->kept_count; i++)
        sma_msg_destroy(fake->kept[i]);
    if (fake->has_timer)
        uv_close((uv_handle_t *)&fake->timer, NULL);
}

#define FAKE_OPS(variable, actor_name, on_loop)    \
    static const struct sma_actor_ops variable = { \
        .name = (actor_name),                      \
        .is_on_loop = (on_loop),                   \
        .start = fake_start,                       \
        .handle = fake_handle,                     \
        .batch_end = fake_batch_end,               \
        .wake = fake_wake,                         \
        .stop = fake_stop,                         \
    }
FAKE_OPS(store_ops, "store", false);
FAKE_OPS(agent_ops, "agent", false);
FAKE_OPS(model_ops, "model", true);
FAKE_OPS(dispatcher_ops, "dispatcher", false);
FAKE_OPS(adapter_ops, "adapter", true);
FAKE_OPS(log_ops, "log", false);

/* -- the house of one test --------------------------------------------------------------------- */
struct house
{
    struct sma_system *system;
    struct fake log, store, model, dispatcher, agent, adapter;
    int stop_pipe[2];
    pthread_t thread;
    unsigned drain_ms;
    int status;
};

static struct house *house_create(void)
{
    struct house *house = calloc(1, sizeof *house);
    CHECK(house != NULL);
    notes[0] = '\0';
    CHECK_INT(0, pipe(house->stop_pipe));
    house->system = sma_system_create(&(struct sma_system_options){0});
    CHECK(house->system != NULL);
    struct
    {
        struct fake *fake;
        const char *name;
        enum sma_actor_id id;
        const struct sma_actor_ops *ops;
    } rows[] = {{&house->log, "log", SMA_ACTOR_LOG, &log_ops},
                {&house->store, "store", SMA_ACTOR_STORE, &store_ops},
                {&house->model, "model", SMA_ACTOR_MODEL, &model_ops},
                {&house->dispatcher, "dispatcher", SMA_ACTOR_DISPATCHER, &dispatcher_ops},
                {&house->agent, "agent", SMA_ACTOR_AGENT, &agent_ops},
                {&house->adapter, "adapter", SMA_ACTOR_ADAPTER_0, &adapter_ops}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        rows[i].fake->name = rows[i].name;
        rows[i].fake->answers_life = true;
        CHECK_OK(sma_system_add(house->system, rows[i].id, rows[i].ops, rows[i].fake));
    }
    return house;
}

static void *supervise(void *argument)
{
    struct house *house = argument;
    house->status = sma_system_supervise(
        house->system, &(struct sma_supervise_options){.stop_fd = house->stop_pipe[0],
                                                       .leaves_signals = true,
                                                       .drain_ms = house->drain_ms});
    return NULL;
}

static void house_start(struct house *house)
{
    struct sma_error error = {0};
    CHECK_OK(sma_system_start(house->system, &error));
    CHECK_INT(0, pthread_create(&house->thread, NULL, supervise, house));
}

static void house_stop(struct house *house)
{
    CHECK_INT(1, write(house->stop_pipe[1], "x", 1));
    CHECK_INT(0, pthread_join(house->thread, NULL));
    CHECK_INT(0, house->status);
}

static void house_destroy(struct house *house)
{
    sma_system_destroy(house->system);
    close(house->stop_pipe[0]);
    close(house->stop_pipe[1]);
    free(house);
}

/* Wait for a number to reach a value, with a deadline; no fixed sleep decides anything. */
static void await(const char *what, _Atomic unsigned *number, unsigned at_least)
{
    uint64_t until = now_ns() + 10ull * SMA_NS_PER_S;
    while (atomic_load(number) < at_least) {
        if (now_ns() > until) {
            fprintf(stderr, "%s: %u, wanted %u\n", what, atomic_load(number), at_least);
            exit(1);
        }
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

/* -- cases ------------------------------------------------------------------------------------- */
static void ask_hundred(struct fake *fake, struct sma_ctx *ctx)
{
    (void)fake;
    for (uint64_t i = 1; i <= 100; i++) {
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_INGRESS, struct sma_ingress, 0);
        uint64_t ask_id = 0;
        CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, &ask_id));
        CHECK(msg == NULL);
        CHECK_INT((long long)i, (long long)ask_id);
    }
}

ENDING(house_destroy, struct house)

ENDING(sma_system_destroy, struct sma_system)

CASE(an_ask_is_answered_and_counted)
{
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    house->adapter.on_start = ask_hundred;
    house_start(house);
    await("answers", &house->adapter.answers, 100);
    house_stop(house);
    CHECK_INT(100, atomic_load(&house->adapter.answers));
    CHECK_INT(SMA_ASK_INGRESS_COUNT_MAX + SMA_ASK_AWAIT_COUNT_MAX,
              (long long)sma_ctx_ask_room(sma_system_ctx(house->system, SMA_ACTOR_ADAPTER_0),
                                          SMA_ACTOR_STORE));
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 20);
    sma_system_format_metrics(house->system, &buf);
    CHECK(buf.err == SMA_ERR_OK);
    CHECK(strstr(buf.ptr, "sma_actor_handled_total{actor=\"store\"} 101\n") !=
          NULL); /* 100 and LIFE */
    CHECK(strstr(buf.ptr, "sma_actor_mailbox_depth{actor=\"adapter\"} 0\n") != NULL);
    sma_buf_fini(&buf);
}

#define ASKS_MAX (SMA_ASK_INGRESS_COUNT_MAX + SMA_ASK_AWAIT_COUNT_MAX)

static void ask_to_the_bound(struct fake *fake, struct sma_ctx *ctx)
{
    (void)fake;
    for (unsigned i = 0; i <= ASKS_MAX; i++) {
        CHECK_INT((long long)(ASKS_MAX - (i < ASKS_MAX ? i : ASKS_MAX)),
                  (long long)sma_ctx_ask_room(ctx, SMA_ACTOR_STORE));
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_INGRESS, struct sma_ingress, 0);
        if (i < ASKS_MAX) {
            CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, NULL));
            continue;
        }
        CHECK_ERR(SMA_ERR_FULL, sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, NULL));
        CHECK(msg != NULL); /* still ours */
        sma_msg_destroy(msg);
    }
}

static void signal_five_hundred(struct fake *fake, struct sma_ctx *ctx)
{
    (void)fake;
    for (int i = 0; i < 500; i++) {
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_MODEL_DELTA, struct sma_model_delta, 0);
        sma_ctx_signal(ctx, SMA_ACTOR_AGENT, &msg);
        CHECK(msg == NULL);
    }
}

/* The agent starts after the model, so the lane fills before anybody takes from it. */
CASE(a_full_signal_lane_drops_and_counts)
{
    sma_metrics_reset();
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    house->model.on_start = signal_five_hundred;
    house_start(house);
    await("signals", &house->agent.signals, SMA_SIGNAL_COUNT_MAX);
    house_stop(house);
    CHECK_INT(SMA_SIGNAL_COUNT_MAX, atomic_load(&house->agent.signals));
    CHECK_INT(500 - SMA_SIGNAL_COUNT_MAX,
              (long long)sma_counter_get(SMA_COUNTER_signals_dropped_total));
}

static void ask_for_wake(struct fake *fake, struct sma_ctx *ctx)
{
    fake->wake_at = sma_ctx_now(ctx) + 5000000;
    sma_ctx_wake_at(ctx, fake->wake_at);
}

/* All questions open at once, all answered at once: every answer finds room. */
CASE(the_bound_refuses_and_all_answers_find_room)
{
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    house->adapter.on_start = ask_to_the_bound;
    house->store.must_keep = true;
    house->store.on_start = ask_for_wake;
    house_start(house);
    await("questions", &house->store.handled, ASKS_MAX);
    CHECK_INT(0, atomic_load(&house->adapter.answers));
    atomic_store(&house->store.is_released, true);
    await("answers", &house->adapter.answers, ASKS_MAX);
    house_stop(house);
    CHECK_INT(ASKS_MAX, atomic_load(&house->adapter.answers));
}

CASE(wake_comes_when_due_and_ends_a_batch)
{
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    house->agent.on_start = ask_for_wake;   /* plain thread */
    house->adapter.on_start = ask_for_wake; /* libuv loop */
    house_start(house);
    await("agent wakes", &house->agent.wakes, 3);
    await("adapter wakes", &house->adapter.wakes, 3);
    CHECK(atomic_load(&house->agent.woken_at) >= house->agent.wake_at + 4000000);
    CHECK(atomic_load(&house->adapter.woken_at) >= house->adapter.wake_at + 4000000);
    await("agent batches", &house->agent.batches, 3);
    await("adapter batches", &house->adapter.batches, 3);
    house_stop(house);
}

static struct sma_ctx *timer_ctx;

static void on_own_timer(uv_timer_t *timer)
{
    (void)timer;
    sma_ctx_request_batch_end(timer_ctx);
}

static void start_own_timer(struct fake *fake, struct sma_ctx *ctx)
{
    CHECK(sma_ctx_loop(ctx) != NULL);
    timer_ctx = ctx;
    CHECK_INT(0, uv_timer_init(sma_ctx_loop(ctx), &fake->timer));
    CHECK_INT(0, uv_timer_start(&fake->timer, on_own_timer, 1, 1));
    fake->has_timer = true;
}

CASE(a_loop_callback_can_ask_for_batch_end)
{
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    house->adapter.on_start = start_own_timer;
    house_start(house);
    await("batches", &house->adapter.batches, 5);
    house_stop(house);
    CHECK_INT(2, atomic_load(&house->adapter.handled)); /* only the two LIFE messages */
}

CASE(the_end_is_ordered)
{
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    house_start(house);
    house_stop(house);
    CHECK_TEXT("log:start0 store:start0 model:start0 dispatcher:start0 agent:start0 adapter:start0 "
               "adapter:life1 agent:life2 dispatcher:life2 model:life2 store:life2 adapter:life3 "
               "adapter:stop0 agent:stop0 dispatcher:stop0 model:stop0 store:stop0 log:stop0 ",
               notes);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_INGRESS, struct sma_ingress, 0);
    struct sma_ctx *adapter = sma_system_ctx(house->system, SMA_ACTOR_ADAPTER_0);
    CHECK_ERR(SMA_ERR_GONE, sma_ctx_ask(adapter, SMA_ACTOR_STORE, &msg, 0, NULL));
    CHECK(msg != NULL);
    sma_msg_destroy(msg);
}

CASE(a_silent_actor_is_passed_over)
{
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    house->agent.answers_life = false;
    house->drain_ms = 3000; /* the others answer in their shares of it, on a busy machine too */
    uint64_t begin = now_ns();
    house_start(house);
    house_stop(house);
    uint64_t took_ms = (now_ns() - begin) / 1000000;
    CHECK(took_ms >= 900 && took_ms < 3000 * PATIENCE);
    CHECK(strstr(notes, "agent:life2 dispatcher:life2 model:life2 store:life2 adapter:life3") !=
          NULL);
}

static enum sma_err refuse_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)state;
    (void)ctx;
    return sma_fail(error, SMA_ERR_BUSY, "port taken");
}

CASE(a_failed_start_stops_what_runs)
{
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    struct sma_actor_ops bad = adapter_ops;
    bad.start = refuse_start;
    CHECK_OK(sma_system_add(house->system, SMA_ACTOR_ADAPTER_0 + 1, &bad, &house->adapter));
    CHECK_ERR(SMA_ERR_EXISTS, sma_system_add(house->system, SMA_ACTOR_STORE, &store_ops, NULL));
    struct sma_error error = {0};
    CHECK_ERR(SMA_ERR_BUSY, sma_system_start(house->system, &error));
    CHECK_TEXT("port taken", error.text);
    CHECK(strstr(notes,
                 "adapter:stop0 agent:stop0 dispatcher:stop0 model:stop0 store:stop0 log:stop0") !=
          NULL);
}

static void log_a_lot(struct fake *fake, struct sma_ctx *ctx)
{
    (void)fake;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sma_ctx_log(ctx, SMA_LOG_INFO, "%s", text);
    for (int i = 0; i < 10000; i++)
        sma_ctx_log(ctx, SMA_LOG_DEBUG, "line %d", i);
}

CASE(log_lines_arrive_or_are_counted)
{
    sma_metrics_reset();
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    house->agent.on_start = log_a_lot;
    house_start(house);
    house_stop(house);
    unsigned dropped = (unsigned)sma_counter_get(SMA_COUNTER_log_dropped_total);
    CHECK_INT(10002, atomic_load(&house->log.handled) +
                         dropped); /* 10001 and the supervisor's "stopping" */
}

/* Systemd's protocol, on a socket of our own. */
CASE(the_manager_is_told)
{
    char directory[] = "/tmp/sma-notify-XXXXXX";
    CHECK(mkdtemp(directory) != NULL);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", directory);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK_INT(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    CHECK_INT(0, setenv("NOTIFY_SOCKET", address.sun_path, 1));
    CHECK_INT(0, setenv("WATCHDOG_USEC", "20000", 1));
    struct house *house = house_create();
    house_start(house);
    char text[64];
    int watchdogs = 0, readies = 0;
    for (int i = 0; i < 4; i++) {
        ssize_t len = recv(fd, text, sizeof text - 1, 0);
        CHECK(len > 0);
        text[len] = '\0';
        watchdogs += strcmp(text, "WATCHDOG=1") == 0;
        readies += strcmp(text, "READY=1") == 0;
    }
    CHECK_INT(1, readies);
    CHECK_INT(3, watchdogs);
    house_stop(house);
    bool has_stopping = false;
    for (ssize_t len; (len = recv(fd, text, sizeof text - 1, MSG_DONTWAIT)) > 0;) {
        text[len] = '\0';
        has_stopping = has_stopping || strcmp(text, "STOPPING=1") == 0;
    }
    CHECK(has_stopping);
    house_destroy(house);
    CHECK_INT(0, unsetenv("NOTIFY_SOCKET"));
    CHECK_INT(0, unsetenv("WATCHDOG_USEC"));
    close(fd);
    unlink(address.sun_path);
    rmdir(directory);
}

/* -- the heartbeat, on a clock of our own ------------------------------------------------------ */
static _Atomic uint64_t clock_offset_ns;

static uint64_t shifted_now_ns(void *self)
{
    (void)self;
    return now_ns() + atomic_load(&clock_offset_ns);
}

static struct sma_sys shifted_sys(void)
{
    struct sma_sys sys = *sma_sys_real();
    sys.now_ns = shifted_now_ns;
    return sys;
}

/* The log lines that came, one after the other. */
static char said[8192];

static void listen_to_lines(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    if ((*msg)->kind == SMA_MSG_LOG) {
        pthread_mutex_lock(&note_lock);
        struct sma_str text = SMA_MSG_BODY(*msg, struct sma_log_line)->text;
        size_t len = strlen(said);
        snprintf(said + len, sizeof said - len, "%.*s\n", (int)text.len, text.ptr);
        pthread_mutex_unlock(&note_lock);
    }
    fake_handle(state, msg, ctx);
}

static bool was_said(const char *text)
{
    pthread_mutex_lock(&note_lock);
    bool is_there = strstr(said, text) != NULL;
    pthread_mutex_unlock(&note_lock);
    return is_there;
}

static void await_said(const char *text)
{
    uint64_t until = now_ns() + 10ull * SMA_NS_PER_S;
    while (!was_said(text)) {
        if (now_ns() > until) {
            fprintf(stderr, "never said: %s; but: %s\n", text, said);
            exit(1);
        }
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

static int open_manager(struct sockaddr_un *address, char *directory)
{
    CHECK(mkdtemp(directory) != NULL);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "%s/notify", directory);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK_INT(0, bind(fd, (struct sockaddr *)address, sizeof *address));
    CHECK_INT(0, setenv("NOTIFY_SOCKET", address->sun_path, 1));
    CHECK_INT(0, setenv("WATCHDOG_USEC", "10000", 1)); /* a look every 5 ms */
    return fd;
}

static void close_manager(int fd, const struct sockaddr_un *address, const char *directory)
{
    CHECK_INT(0, unsetenv("NOTIFY_SOCKET"));
    CHECK_INT(0, unsetenv("WATCHDOG_USEC"));
    close(fd);
    unlink(address->sun_path);
    rmdir(directory);
}

/* A manager that reads nothing, and whose socket is full, holds up neither the start nor the watch
 * nor the end. */
CASE(a_manager_that_does_not_read_holds_up_nothing)
{
    char directory[] = "/tmp/sma-notify-XXXXXX";
    struct sockaddr_un address;
    int fd = open_manager(&address, directory), sender = socket(AF_UNIX, SOCK_DGRAM, 0);
    while (sendto(sender, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&address, sizeof address) == 1)
        ;
    CHECK_INT(EAGAIN, errno);
    struct house *house = house_create();
    house_start(house);
    usleep(100000);    /* some looks of the watchdog */
    house_stop(house); /* asserts that it ends */
    house_destroy(house);
    close(sender);
    close_manager(fd, &address, directory);
}

static void drain_manager(int fd)
{
    char text[64];
    while (recv(fd, text, sizeof text, MSG_DONTWAIT) > 0)
        ;
}

static struct house *house_with_clock(struct sma_sys *sys)
{
    struct house *house = house_create();
    sma_system_destroy(house->system);
    said[0] = '\0';
    atomic_store(&clock_offset_ns, 0);
    house->system = sma_system_create(&(struct sma_system_options){.sys = sys});
    CHECK(house->system != NULL);
    static struct sma_actor_ops listening;
    listening = log_ops;
    listening.handle = listen_to_lines;
    CHECK_OK(sma_system_add(house->system, SMA_ACTOR_LOG, &listening, &house->log));
    CHECK_OK(sma_system_add(house->system, SMA_ACTOR_STORE, &store_ops, &house->store));
    CHECK_OK(sma_system_add(house->system, SMA_ACTOR_AGENT, &agent_ops, &house->agent));
    return house;
}

static void ask_session(struct fake *fake, struct sma_ctx *ctx)
{
    (void)fake;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_SESSION, struct sma_session_ask, 0);
    CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, NULL));
}

/* An actor that hangs in one message is named, the manager hears no more of us, and both are taken
 * back after it. */
CASE(a_stuck_actor_is_reported)
{
    char directory[] = "/tmp/sma-heart-XXXXXX", text[64];
    struct sockaddr_un address;
    int fd = open_manager(&address, directory);
    struct sma_sys sys = shifted_sys();
    struct house *house = house_with_clock(&sys);
    house->store.must_hold = true;
    house->agent.on_start = ask_session;
    house_start(house);
    await("questions", &house->store.handled, 1);
    do /* READY=1 follows the first look: what comes later is a beat */
        CHECK(recv(fd, text, sizeof text, 0) > 0);
    while (memcmp(text, "READY=1", 7) != 0);
    CHECK(!was_said("makes no progress"));
    atomic_fetch_add(&clock_offset_ns, (SMA_HEARTBEAT_S + 1ull) * SMA_NS_PER_S);
    await_said("store makes no progress for 1");
    drain_manager(fd);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* ten looks */
    CHECK(recv(fd, text, sizeof text, MSG_DONTWAIT) < 0);
    CHECK(!was_said("agent makes no progress") && !was_said("log makes no progress"));
    atomic_store(&house->store.is_released, true);
    await_said("store makes progress again");
    CHECK(recv(fd, text, sizeof text, 0) > 0);
    house_stop(house);
    house_destroy(house);
    close_manager(fd, &address, directory);
}

/* A message that was not there at the last look is no sign of a hang, however long the actor had
 * nothing to do; one that still waits at the next look is. */
CASE(a_message_just_come_is_no_alarm)
{
    struct sma_error error = {0};
    struct fake store = {.name = "store"}, agent = {.name = "agent"};
    SMA_AUTO(sma_system_destroyp)
    struct sma_system *system =
        sma_system_create(&(struct sma_system_options){.is_simulated = true, .seed = 1});
    CHECK(system != NULL);
    CHECK_OK(sma_system_add(system, SMA_ACTOR_STORE, &store_ops, &store));
    CHECK_OK(sma_system_add(system, SMA_ACTOR_AGENT, &agent_ops, &agent));
    CHECK_OK(sma_system_start(system, &error));
    struct sma_ctx *ctx = sma_system_ctx(system, SMA_ACTOR_STORE);
    const uint64_t step = SMA_HEARTBEAT_S * (uint64_t)SMA_NS_PER_S + 1000000;
    CHECK_INT(0, (long long)sma_kernel_silence_of(ctx, step));
    ask_session(&agent, sma_system_ctx(system, SMA_ACTOR_AGENT));
    CHECK_INT(0, (long long)sma_kernel_silence_of(ctx, 2 * step));
    CHECK(sma_kernel_silence_of(ctx, 3 * step) > 0);
    (void)sma_sim_run(system, 100, UINT64_MAX);
    sma_kernel_set_activity(ctx, ACTIVITY_IDLE); /* a thread does so after each round */
    CHECK_INT(0, (long long)sma_kernel_silence_of(ctx, 4 * step));
}

static _Atomic unsigned reload_count;

static void on_reload(void *user)
{
    (void)user;
    atomic_fetch_add(&reload_count, 1);
}

static void *signal_later(void *argument)
{
    (void)argument;
    (void)kill(getpid(), SIGHUP);
    await("reloads", &reload_count, 1);
    (void)kill(getpid(), SIGTERM);
    return NULL;
}

CASE(signals_reload_and_stop)
{
    SMA_AUTO(house_destroyp) struct house *house = house_create();
    struct sma_error error = {0};
    CHECK_OK(sma_system_start(house->system, &error));
    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, signal_later, NULL));
    CHECK_INT(0, sma_system_supervise(house->system, &(struct sma_supervise_options){
                                                         .on_reload = on_reload, .stop_fd = -1}));
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK_INT(1, atomic_load(&reload_count));
}

/* The second signal comes while the agent keeps the end waiting. */
static void *signal_twice(void *argument)
{
    const uint64_t *gap_ns = argument;
    (void)kill(getpid(), SIGTERM);
    await_said("stopping");
    atomic_fetch_add(&clock_offset_ns, *gap_ns);
    (void)kill(getpid(), SIGINT);
    return NULL;
}

static int stop_twice(uint64_t gap_ns, unsigned drain_ms)
{
    struct sma_sys sys = shifted_sys();
    struct house *house = house_with_clock(&sys);
    struct sma_error error = {0};
    house->agent.answers_life = false;
    CHECK_OK(sma_system_start(house->system, &error));
    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, signal_twice, &gap_ns));
    int status = sma_system_supervise(
        house->system, &(struct sma_supervise_options){.stop_fd = -1, .drain_ms = drain_ms});
    CHECK_INT(0, pthread_join(thread, NULL));
    house_destroy(house);
    return status;
}

/* As timeout(1) does it: one to the process, one to its group. */
CASE(two_stop_signals_at_once_are_one)
{
    CHECK_INT(0, stop_twice(0, 1000));
    CHECK(was_said("agent did not bring its runs to a durable step in time"));
}

CASE(a_later_stop_signal_ends_at_once)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(stop_twice(SMA_NS_PER_S, 60000));
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_INT(128 + SIGINT, WEXITSTATUS(status));
}

CASES_MAIN
