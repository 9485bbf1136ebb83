/*
 * sim.c — the seeded single-thread scheduler. Same contexts, same mailboxes, no threads, virtual
 * time.
 *
 * Everything that decides is drawn from the seed: who runs, how many messages, how long it seems to
 * take.
 */
#include "sma/sim.h"
#include "kernel_priv.h"

#define SIM_START_NS 1000000000u        /* not 0: a zero stamp means "not yet" */
#define SIM_START_WALL_MS 1767225600000 /* 2026-01-01T00:00:00Z */
#define SIM_BURST_COUNT_MAX 8
#define SIM_STEP_NS_MAX 20000 /* what one step seems to take, at most */

void sma_kernel_sim_init(struct sma_system *system)
{
    system->sim.now_ns = SIM_START_NS;
    system->sim.trace_hash = 0xcbf29ce484222325u; /* FNV-1a offset basis */
    sma_kernel_seed(&system->sim.random, system->seed);
}

/* -- the table: virtual clock and chance, everything else passed on ---------------------------- */
static const struct sma_sys *below(void *self)
{
    struct sma_ctx *ctx = self;
    return ctx->system->sys;
}

static uint64_t sim_now_ns(void *self)
{
    struct sma_ctx *ctx = self;
    return ctx->system->sim.now_ns;
}

static int64_t sim_wall_ms(void *self)
{
    struct sma_ctx *ctx = self;
    const struct simulation *sim = &ctx->system->sim;
    return SIM_START_WALL_MS + (int64_t)((sim->now_ns - SIM_START_NS) / 1000000) +
           sim->wall_shift_ms;
}

static void sim_random_bytes(void *self, void *bytes, size_t len)
{
    struct sma_ctx *ctx = self;
    unsigned char *at = bytes;
    while (len > 0) {
        uint64_t word = sma_kernel_random(&ctx->random);
        size_t part = len < sizeof word ? len : sizeof word;
        memcpy(at, &word, part);
        at += part;
        len -= part;
    }
}

static int sim_open(void *self, const char *path, int flags, mode_t mode)
{
    return below(self)->open(below(self)->self, path, flags, mode);
}

static int sim_close(void *self, int fd)
{
    return below(self)->close(below(self)->self, fd);
}

static ssize_t sim_pread(void *self, int fd, void *bytes, size_t len, off_t offset)
{
    return below(self)->pread(below(self)->self, fd, bytes, len, offset);
}

static ssize_t sim_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    return below(self)->pwrite(below(self)->self, fd, bytes, len, offset);
}

static int sim_ftruncate(void *self, int fd, off_t len)
{
    return below(self)->ftruncate(below(self)->self, fd, len);
}

static int sim_fdatasync(void *self, int fd)
{
    return below(self)->fdatasync(below(self)->self, fd);
}

static int sim_fsync(void *self, int fd)
{
    return below(self)->fsync(below(self)->self, fd);
}

static int sim_rename(void *self, const char *from, const char *to)
{
    return below(self)->rename(below(self)->self, from, to);
}

static int sim_unlink(void *self, const char *path)
{
    return below(self)->unlink(below(self)->self, path);
}

static int sim_mkdir(void *self, const char *path, mode_t mode)
{
    return below(self)->mkdir(below(self)->self, path, mode);
}

void sma_kernel_sim_init_ctx(struct sma_ctx *ctx)
{
    ctx->sys = (struct sma_sys){
        .self = ctx,
        .now_ns = sim_now_ns,
        .wall_ms = sim_wall_ms,
        .random_bytes = sim_random_bytes,
        .open = sim_open,
        .close = sim_close,
        .pread = sim_pread,
        .pwrite = sim_pwrite,
        .ftruncate = sim_ftruncate,
        .fdatasync = sim_fdatasync,
        .fsync = sim_fsync,
        .rename = sim_rename,
        .unlink = sim_unlink,
        .mkdir = sim_mkdir,
    };
}

/* -- stepping ---------------------------------------------------------------------------------- */
static bool is_runnable(const struct sma_ctx *ctx, uint64_t now_ns)
{
    return ctx->is_batch_end_wanted || ctx->wake_at_ns <= now_ns || sma_mailbox_count(ctx->box) > 0;
}

static struct sma_ctx *pick(struct sma_system *system)
{
    struct sma_ctx *runnable[SMA_ACTOR_COUNT_MAX];
    size_t count = 0;
    for (size_t id = 0; id < SMA_ACTOR_COUNT_MAX; id++)
        if (system->actors[id] != NULL && is_runnable(system->actors[id], system->sim.now_ns))
            runnable[count++] = system->actors[id];
    return count == 0 ? NULL : runnable[sma_kernel_random(&system->sim.random) % count];
}

static uint64_t earliest_wake(const struct sma_system *system)
{
    uint64_t earliest = UINT64_MAX;
    for (size_t id = 0; id < SMA_ACTOR_COUNT_MAX; id++)
        if (system->actors[id] != NULL && system->actors[id]->wake_at_ns < earliest)
            earliest = system->actors[id]->wake_at_ns;
    return earliest;
}

static void trace(struct simulation *sim, uint64_t number)
{
    for (int i = 0; i < 8; i++) {
        sim->trace_hash = (sim->trace_hash ^ (number & 0xff)) * 0x100000001b3u;
        number >>= 8;
    }
}

static void run_burst(struct sma_ctx *ctx)
{
    struct simulation *sim = &ctx->system->sim;
    uint64_t burst = 1 + sma_kernel_random(&sim->random) % SIM_BURST_COUNT_MAX;
    struct sma_msg *msg;
    for (uint64_t i = 0; i < burst && (msg = sma_mailbox_take(ctx->box)) != NULL; i++) {
        trace(sim, ++sim->handled_count);
        trace(sim, (uint64_t)msg->from << 32 | (uint64_t)msg->to << 16 | msg->kind);
        trace(sim, msg->ask_id);
        sma_kernel_deliver(ctx, msg);
    }
}

/* One step, without moving time beyond until_ns. */
static bool step_until(struct sma_system *system, uint64_t until_ns)
{
    SMA_ASSERT(system->is_simulated && system->has_started);
    struct simulation *sim = &system->sim;
    if (sim->has_crashed)
        return false;
    struct sma_ctx *ctx = pick(system);
    if (ctx == NULL) {
        uint64_t next = earliest_wake(system);
        if (next == UINT64_MAX)
            return false;
        if (next > until_ns) {
            sim->now_ns = until_ns;
            return false;
        }
        sim->now_ns = next;
        ctx = pick(system);
        SMA_ASSERT(ctx != NULL);
    }
    run_burst(ctx);
    sma_kernel_wake_if_due(ctx);
    sma_kernel_batch_end(ctx);
    sim->now_ns += 1 + sma_kernel_random(&sim->random) % SIM_STEP_NS_MAX;
    return true;
}

bool sma_sim_step(struct sma_system *system)
{
    return step_until(system, UINT64_MAX);
}

size_t sma_sim_run(struct sma_system *system, size_t steps_max, uint64_t until_ns)
{
    size_t steps = 0;
    while (steps < steps_max && system->sim.now_ns < until_ns && step_until(system, until_ns))
        steps++;
    return steps;
}

uint64_t sma_sim_now(const struct sma_system *system)
{
    return system->sim.now_ns;
}

void sma_sim_advance(struct sma_system *system, uint64_t ns)
{
    system->sim.now_ns += ns;
}

void sma_sim_shift_wall(struct sma_system *system, int64_t ms)
{
    system->sim.wall_shift_ms += ms;
}

uint64_t sma_sim_trace_hash(const struct sma_system *system)
{
    return system->sim.trace_hash;
}

void sma_sim_life(struct sma_system *system, enum sma_actor_id to, unsigned phase)
{
    SMA_ASSERT(system->is_simulated);
    enum sma_err err = sma_kernel_send_life(system, to, phase);
    SMA_ASSERT(err == SMA_ERR_OK);
}

bool sma_sim_life_is_done(const struct sma_system *system, enum sma_actor_id id, unsigned phase)
{
    const struct sma_ctx *ctx = system->actors[id];
    return ctx != NULL && (ctx->phase_done & 1u << phase) != 0;
}

void sma_sim_crash(struct sma_system *system)
{
    SMA_ASSERT(system->is_simulated);
    system->sim.has_crashed = true;
    for (size_t id = 0; id < SMA_ACTOR_COUNT_MAX; id++) {
        if (system->actors[id] == NULL)
            continue;
        struct sma_msg *msg;
        while ((msg = sma_mailbox_take(system->actors[id]->box)) != NULL)
            sma_msg_destroy(msg);
        sma_mailbox_close(system->actors[id]->box);
    }
}
