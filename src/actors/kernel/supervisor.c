/*
 * supervisor.c — the main thread: signals, heartbeat, systemd, and the ordered end.
 *
 * It sleeps in poll() over its doorbell, a signal descriptor and the caller's stop descriptor. Its
 * coarse look at the heartbeats (every SMA_HEARTBEAT_S, more often only under a systemd watchdog)
 * is the one periodic wake-up of an idle process.
 */
#include "kernel_priv.h"

#include "sma/clock.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* For one thread, when the time of all is over; only a stuck one takes it. */
#define STOP_TIMEOUT_MIN_MS 2000
#define NOTIFY_WAIT_S 1 /* for a manager that does not read */
/* Who stops a group of processes may signal the process and the group: both are one wish. */
#define STOP_TWIN_NS SMA_NS_PER_S

struct supervisor
{
    struct sma_system *system;
    struct sma_ctx *ctx;
    const struct sma_supervise_options *options;
    int signal_fd, stop_fd;
    bool is_stop_wanted, is_shutting_down;
    uint64_t stop_signal_ns; /* when the first signal asked for the end; 0 = none did */
    uint64_t watch_interval_ns, next_watch_ns;
    bool has_watchdog;
};

/* -- messages to the supervisor ---------------------------------------------------------------- */
static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)ctx;
    struct sma_system *system = state;
    if ((*msg)->kind != SMA_MSG_LIFE_DONE)
        return;
    unsigned phase = SMA_MSG_BODY(*msg, struct sma_life)->phase;
    SMA_ASSERT(phase < 32);
    system->actors[(*msg)->from]->phase_done |= 1u << phase;
}

const struct sma_actor_ops sma_kernel_supervisor_ops = {.name = "supervisor", .handle = handle};

/* -- systemd ----------------------------------------------------------------------------------- */
/* Source: sd_notify(3): one datagram to $NOTIFY_SOCKET; a leading '@' means the abstract name
 * space. */
static void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = path == NULL ? 0 : strlen(path);
    if (len < 2 || len >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    /* Nobody listening is no reason to fail: the service runs without a manager too. Nor is one
     * that does not read a reason to stand still: what comes again is left out. */
    bool is_repeated = strncmp(state, "WATCHDOG", 8) == 0;
    struct timeval patience = {.tv_sec = NOTIFY_WAIT_S};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | (is_repeated ? MSG_DONTWAIT : 0),
                 (const struct sockaddr *)&address, address_len);
    (void)close(fd);
}

/* Half of $WATCHDOG_USEC, as sd_watchdog_enabled(3) advises; 0 = no watchdog for this process. */
static uint64_t watchdog_interval_ns(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    unsigned long long value = strtoull(usec, NULL, 10);
    return value < 2 || value > UINT64_MAX / 1000
               ? 0
               : sma_clock_of_machine((uint64_t)value * 1000 / 2);
}

/* -- heartbeat --------------------------------------------------------------------------------- */
uint64_t sma_kernel_silence_of(struct sma_ctx *actor, uint64_t now_ns)
{
    uint64_t handled = atomic_load_explicit(&actor->handled_count, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&actor->busy_since_ns, memory_order_relaxed);
    /* A loop actor may hang in a callback of its own, outside any handler: then its mailbox does
     * not move. What waits counts from the look that saw it first; the actor may have been idle,
     * and in the right, until a moment ago. */
    bool is_waiting = sma_mailbox_count(actor->box) > 0;
    if (handled != actor->watch_handled || !is_waiting || !actor->watch_was_waiting) {
        actor->watch_handled = handled;
        actor->watch_since_ns = now_ns;
    }
    actor->watch_was_waiting = is_waiting;
    if (since == 0 || since > actor->watch_since_ns)
        since = actor->watch_since_ns;
    bool commits =
        atomic_load_explicit(&actor->activity, memory_order_relaxed) == ACTIVITY_BATCH_END;
    uint64_t limit_ns = sma_clock_of_machine(
        (uint64_t)(commits ? SMA_COMMIT_SUSPEND_S : SMA_HEARTBEAT_S) * SMA_NS_PER_S);
    return now_ns > since && now_ns - since > limit_ns ? now_ns - since : 0;
}

static void watch(struct supervisor *supervisor)
{
    uint64_t now = sma_ctx_now(supervisor->ctx);
    bool all_are_fine = true;
    for (size_t i = 0; i < supervisor->system->order_count; i++) {
        struct sma_ctx *actor = supervisor->system->actors[supervisor->system->order[i]];
        uint64_t silence = sma_kernel_silence_of(actor, now);
        if (silence > 0 && !actor->is_reported)
            sma_ctx_log(supervisor->ctx, SMA_LOG_ERROR,
                        "%s makes no progress for %llu s, %zu messages wait", actor->ops->name,
                        (unsigned long long)(silence / SMA_NS_PER_S),
                        sma_mailbox_count(actor->box));
        else if (silence == 0 && actor->is_reported)
            sma_ctx_log(supervisor->ctx, SMA_LOG_WARN, "%s makes progress again", actor->ops->name);
        actor->is_reported = silence > 0;
        all_are_fine = all_are_fine && silence == 0;
    }
    if (all_are_fine && supervisor->has_watchdog)
        notify(
            /* withheld while an actor hangs: the manager then restarts the service */
            "WATCHDOG=1");
    supervisor->next_watch_ns = now + supervisor->watch_interval_ns;
}

static void log_states(struct supervisor *supervisor)
{
    static const char *const words[] = {"idle", "handling", "committing"};
    for (size_t i = 0; i < supervisor->system->order_count; i++) {
        const struct sma_ctx *actor = supervisor->system->actors[supervisor->system->order[i]];
        sma_ctx_log(
            supervisor->ctx, SMA_LOG_INFO, "%s: %s, %llu handled, %zu waiting, %llu parks",
            actor->ops->name, words[atomic_load_explicit(&actor->activity, memory_order_relaxed)],
            (unsigned long long)atomic_load_explicit(&actor->handled_count, memory_order_relaxed),
            sma_mailbox_count(actor->box), (unsigned long long)sma_mailbox_park_count(actor->box));
    }
}

/* -- waiting for anything ---------------------------------------------------------------------- */
static void on_stop_signal(struct supervisor *supervisor, int signo)
{
    uint64_t now = sma_ctx_now(supervisor->ctx);
    if (!supervisor->is_stop_wanted) {
        supervisor->is_stop_wanted = true;
        supervisor->stop_signal_ns = now | 1;
    } else if (supervisor->stop_signal_ns == 0 ||
               now >= supervisor->stop_signal_ns + STOP_TWIN_NS) {
        fputs("second stop signal: leaving at once\n", stderr);
        _exit(128 + signo);
    }
}

static void on_signal(struct supervisor *supervisor, int signo)
{
    if (signo == SIGHUP) {
        if (supervisor->options->on_reload != NULL && !supervisor->is_shutting_down)
            supervisor->options->on_reload(supervisor->options->user);
    } else if (signo == SIGUSR2) {
        log_states(supervisor);
    } else {
        on_stop_signal(supervisor, signo);
    }
}

static void read_signals(struct supervisor *supervisor)
{
    struct signalfd_siginfo info;
    while (read(supervisor->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        on_signal(supervisor, (int)info.ssi_signo);
}

static int timeout_ms(uint64_t now_ns, uint64_t until_ns)
{
    if (until_ns <= now_ns)
        return 0;
    uint64_t wait_ms = (until_ns - now_ns + 999999) / 1000000;
    return wait_ms > 3600000 ? 3600000 : (int)wait_ms;
}

/* Handle whatever comes until something has come, or deadline_ns. */
static void pump(struct supervisor *supervisor, uint64_t deadline_ns)
{
    struct sma_mailbox *box = supervisor->ctx->box;
    uint64_t until =
        deadline_ns < supervisor->next_watch_ns ? deadline_ns : supervisor->next_watch_ns;
    bool may_sleep = sma_mailbox_prepare_sleep(box);
    struct pollfd fds[3] = {
        {.fd = sma_mailbox_fd(box), .events = POLLIN},
        {.fd = supervisor->signal_fd, .events = POLLIN}, /* poll skips negative ones */
        {.fd = supervisor->stop_fd, .events = POLLIN}};
    int ready = poll(
        fds, 3, may_sleep ? sma_clock_poll_ms(timeout_ms(sma_ctx_now(supervisor->ctx), until)) : 0);
    sma_mailbox_awake(box);
    (void)sma_kernel_drain(supervisor->ctx, SMA_BATCH_COUNT_MAX);
    sma_kernel_set_activity(supervisor->ctx, ACTIVITY_IDLE);
    if (ready > 0 && fds[1].revents != 0)
        read_signals(supervisor);
    if (ready > 0 && fds[2].revents != 0) {
        supervisor->is_stop_wanted = true;
        supervisor->stop_fd = -1; /* it stays readable */
    }
    if (sma_ctx_now(supervisor->ctx) >= supervisor->next_watch_ns)
        watch(supervisor);
}

/* -- the ordered end --------------------------------------------------------------------------- */
/* Who is told what, in which order, and the share of the whole time (percent) that has passed when
 * it is given up. */
struct stop_row
{
    unsigned actor; /* SMA_ACTOR_ADAPTER_0 = all adapters */
    unsigned phase, until_percent;
    const char *what;
};
static const struct stop_row stop_rows[] = {
    {SMA_ACTOR_ADAPTER_0, SMA_PHASE_INTAKE_OFF, 15, "stop accepting"},
    /* Before the tools: a result "stopped" must not reach a run that could still tell it to
     * somebody. */
    {SMA_ACTOR_AGENT, SMA_PHASE_DRAIN, 35, "bring its runs to a durable step"},
    {SMA_ACTOR_TOOLS, SMA_PHASE_DRAIN, 50, "end its commands"},
    {SMA_ACTOR_MCP, SMA_PHASE_DRAIN, 60, "end its servers"},
    {SMA_ACTOR_MEMORY, SMA_PHASE_DRAIN, 62, "end its questions"},
    {SMA_ACTOR_DISPATCHER, SMA_PHASE_DRAIN, 65, "wait for open receipts"},
    {SMA_ACTOR_MODEL, SMA_PHASE_DRAIN, 70, "end its requests"},
    {SMA_ACTOR_STORE, SMA_PHASE_DRAIN, 85, "commit"},
    {SMA_ACTOR_ADAPTER_0, SMA_PHASE_CLOSE, 90, "close"},
};

static bool is_meant(const struct stop_row *row, unsigned id)
{
    return row->actor == SMA_ACTOR_ADAPTER_0 ? sma_actor_is_adapter(id) : row->actor == id;
}

static void send_row(struct supervisor *supervisor, const struct stop_row *row)
{
    struct sma_system *system = supervisor->system;
    for (size_t i = 0; i < system->order_count; i++) {
        if (!is_meant(row, system->order[i]))
            continue;
        enum sma_err err = sma_kernel_send_life(system, system->order[i], row->phase);
        if (err != SMA_ERR_OK)
            sma_ctx_log(supervisor->ctx, SMA_LOG_ERROR, "cannot tell %s to %s: %s",
                        system->actors[system->order[i]]->ops->name, row->what, sma_err_text(err));
    }
}

static bool is_missing(const struct sma_ctx *actor, const struct stop_row *row)
{
    return is_meant(row, actor->id) && (actor->phase_done & 1u << row->phase) == 0;
}

static bool has_missing(const struct sma_system *system, const struct stop_row *row)
{
    for (size_t i = 0; i < system->order_count; i++)
        if (is_missing(system->actors[system->order[i]], row))
            return true;
    return false;
}

static void run_row(struct supervisor *supervisor, const struct stop_row *row, uint64_t deadline_ns)
{
    struct sma_system *system = supervisor->system;
    send_row(supervisor, row);
    while (has_missing(system, row) && sma_ctx_now(supervisor->ctx) < deadline_ns)
        pump(supervisor, deadline_ns);
    for (size_t i = 0; i < system->order_count; i++) {
        struct sma_ctx *actor = system->actors[system->order[i]];
        if (is_missing(actor, row))
            sma_ctx_log(supervisor->ctx, SMA_LOG_ERROR,
                        "%s did not %s in time: going on without it", actor->ops->name, row->what);
    }
}

/* Adapters first, the log last, the rest in between; each group last started first. */
static unsigned stop_rank(enum sma_actor_id id)
{
    return sma_actor_is_adapter(id) ? 0 : id == SMA_ACTOR_LOG ? 2 : 1;
}

static void stop_threads(struct supervisor *supervisor, uint64_t deadline_ns)
{
    struct sma_system *system = supervisor->system;
    bool has_stuck = false;
    for (unsigned rank = 0; rank <= 2; rank++) {
        for (size_t i = system->order_count; i-- > 0;) {
            struct sma_ctx *actor = system->actors[system->order[i]];
            if (stop_rank(actor->id) != rank)
                continue;
            uint64_t left_ms =
                sma_clock_wait_ms((uint64_t)timeout_ms(sma_ctx_now(supervisor->ctx), deadline_ns));
            if (sma_kernel_stop_thread(actor, left_ms < STOP_TIMEOUT_MIN_MS ? STOP_TIMEOUT_MIN_MS
                                                                            : left_ms))
                continue;
            fprintf(stderr, "%s did not end in time\n", actor->ops->name);
            has_stuck = true;
        }
    }
    if (has_stuck)
        _exit(1); /* a running thread cannot be taken apart; what is durable is durable */
}

static void shut_down(struct supervisor *supervisor)
{
    supervisor->is_shutting_down = true;
    notify("STOPPING=1");
    sma_ctx_log(supervisor->ctx, SMA_LOG_INFO, "stopping");
    unsigned drain_ms = supervisor->options->drain_ms;
    uint64_t whole_ns =
        drain_ms != 0 ? (uint64_t)drain_ms * 1000000 : (uint64_t)SMA_DRAIN_S * SMA_NS_PER_S;
    uint64_t begin = sma_ctx_now(supervisor->ctx);
    for (size_t i = 0; i < SMA_COUNT_OF(stop_rows); i++)
        run_row(supervisor, &stop_rows[i], begin + whole_ns / 100 * stop_rows[i].until_percent);
    stop_threads(supervisor, begin + whole_ns);
    sma_mailbox_close(supervisor->ctx->box);
}

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR2);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int sma_system_supervise(struct sma_system *system, const struct sma_supervise_options *options)
{
    SMA_ASSERT(!system->is_simulated && system->has_started);
    struct supervisor supervisor = {
        .system = system,
        .ctx = system->actors[SMA_ACTOR_SUPERVISOR],
        .options = options,
        .signal_fd = -1,
        .stop_fd = options->stop_fd,
        .watch_interval_ns = (uint64_t)SMA_HEARTBEAT_S * SMA_NS_PER_S,
    };
    if (!options->leaves_signals) {
        supervisor.signal_fd = open_signals();
        if (supervisor.signal_fd < 0)
            sma_ctx_fatal(supervisor.ctx, "cannot watch for signals: %s", strerror(errno));
    }
    uint64_t watchdog_ns = watchdog_interval_ns();
    supervisor.has_watchdog = watchdog_ns != 0;
    if (watchdog_ns != 0 && watchdog_ns < supervisor.watch_interval_ns)
        supervisor.watch_interval_ns = watchdog_ns;
    watch(&supervisor);
    notify("READY=1");
    while (!supervisor.is_stop_wanted)
        pump(&supervisor, UINT64_MAX);
    shut_down(&supervisor);
    if (supervisor.signal_fd >= 0)
        (void)close(supervisor.signal_fd);
    return 0;
}
