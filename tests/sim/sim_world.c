/* sim_world.c — the program under test and its lives; see sim.h. */
#include "sim.h"

#include "actors/kernel/kernel_priv.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_BYTES 512
#define WALL_START_MS 1767225600000 /* where the scheduler's clocks begin */
#define NOW_START_NS SECOND

uint64_t world_now(const struct world *world)
{
    return world->system == NULL ? world->idle_ns : sma_sim_now(world->system);
}

/* -- the folder -------------------------------------------------------------------------------- */
static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[65536];
    static const char zeros[sizeof bytes];
    int in = open(from, O_RDONLY | O_CLOEXEC),
        out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    SMA_ASSERT(in >= 0 && out >= 0);
    ssize_t len;
    off_t size = 0;
    while ((len = read(in, bytes, sizeof bytes)) > 0) {
        /* the database keeps a large empty log: leave holes */
        bool is_empty = memcmp(bytes, zeros, (size_t)len) == 0;
        SMA_ASSERT(is_empty || pwrite(out, bytes, (size_t)len, size) == len);
        size += len;
    }
    SMA_ASSERT(len == 0 && ftruncate(out, size) == 0);
    close(in);
    close(out);
}

static char copy_from[PATH_MAX_BYTES], copy_to[PATH_MAX_BYTES];

static int copy_entry(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)place;
    char to[PATH_MAX_BYTES * 2];
    snprintf(to, sizeof to, "%s%s", copy_to, path + strlen(copy_from));
    if (kind == FTW_D)
        SMA_ASSERT(mkdir(to, 0700) == 0);
    else
        copy_file(path, to);
    return 0;
}

static void drain_actor(struct sma_ctx *ctx)
{
    struct sma_msg *msg;
    while ((msg = sma_mailbox_take(ctx->box)) != NULL)
        sma_kernel_deliver(ctx, msg);
    sma_kernel_batch_end(ctx);
}

/* The store is in the middle of something. On threads the others could act on all that it has sent
 * until now. */
static void let_others_act(struct world *world)
{
    static const enum sma_actor_id others[] = {SMA_ACTOR_AGENT,     SMA_ACTOR_MODEL,
                                               SMA_ACTOR_TOOLS,     SMA_ACTOR_DISPATCHER,
                                               SMA_ACTOR_ADAPTER_0, SMA_ACTOR_ADAPTER_0 + 1};
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < SMA_COUNT_OF(others); i++)
            drain_actor(sma_system_ctx(world->system, others[i]));
}

/* The folder as another process would find it now. */
static void take_snapshot(struct world *world)
{
    if (world->has_snapshot)
        return;
    if (world->is_storing && draw(&world->chance, 2) == 0)
        let_others_act(world);
    world->has_snapshot = true;
    snprintf(copy_from, sizeof copy_from, "%s", world->life_dir);
    snprintf(copy_to, sizeof copy_to, "%s/life-%u", world->dir, world->life + 1);
    SMA_ASSERT(nftw(copy_from, copy_entry, 16, FTW_PHYS) == 0);
}

static void enter_folder(struct world *world)
{
    snprintf(world->life_dir, sizeof world->life_dir, "%s/life-%u", world->dir, world->life);
    snprintf(world->state_dir, sizeof world->state_dir, "%s/.ship", world->life_dir);
    world->config.project_dir = world->life_dir;
    world->config.state_dir = world->state_dir;
}

/* -- system calls of the store ----------------------------------------------------------------- */
static bool is_torn_here(struct world *world)
{
    return world->torn_countdown > 0 && --world->torn_countdown == 0;
}

static uint64_t virtual_now(void *self)
{
    struct world *world = self;
    if (is_torn_here(world))
        take_snapshot(world); /* some way into a transaction */
    return world_now(world);
}

static int64_t virtual_wall(void *self)
{
    struct world *world = self;
    if (world->system == NULL)
        return WALL_START_MS + world->wall_offset_ms;
    return sma_ctx_wall(sma_system_ctx(world->system, SMA_ACTOR_STORE));
}

static void seeded_bytes(void *self, void *bytes, size_t len)
{
    struct world *world = self;
    for (size_t i = 0; i < len; i++) {
        world->sys_random = world->sys_random * 6364136223846793005u + 1442695040888963407u;
        ((unsigned char *)bytes)[i] = (unsigned char)(world->sys_random >> 56);
    }
}

static ssize_t torn_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    struct world *world = self;
    const struct sma_sys *real = sma_sys_real();
    if (is_torn_here(world)) {
        size_t half = (size_t)draw(&world->chance, len + 1);
        if (half > 0)
            SMA_ASSERT(real->pwrite(real->self, fd, bytes, half, offset) == (ssize_t)half);
        take_snapshot(world);
    }
    return real->pwrite(real->self, fd, bytes, len, offset);
}

static int torn_rename(void *self, const char *from, const char *to)
{
    struct world *world = self;
    if (is_torn_here(world))
        take_snapshot(world);
    return sma_sys_real()->rename(sma_sys_real()->self, from, to);
}

static int torn_fdatasync(void *self, int fd)
{
    struct world *world = self;
    if (is_torn_here(world))
        take_snapshot(world);
    return sma_sys_real()->fdatasync(sma_sys_real()->self, fd);
}

static bool drawn_disk(void *user, uint64_t *ret_free_bytes)
{
    struct world *world = user;
    if (is_torn_here(world))
        take_snapshot(world);
    *ret_free_bytes = world->disk_free;
    return true;
}

/* -- making ------------------------------------------------------------------------------------ */
/* The owner's side has let in every group, under both of its ids. */
#define LET_IN "\"access\":\"anyone\",\"groups\":[1,3,5,7,9,11]"

/* Two platforms, or two bots of one: the store knows them by their channels alone. */
static bool has_bots(const struct world *world)
{
    return world->options.seed >= 5000 && world->options.seed % 4 == 3;
}

const char *world_channel(const struct world *world, size_t platform)
{
    return platform == 0 ? "fake" : has_bots(world) ? "fake@i" : "fakei";
}

/* Drawn only for some seeds, so that older ones keep what they draw. */
static void draw_people(struct world *world)
{
    uint64_t seed = world->options.seed;
    for (size_t i = 0; i < PLATFORM_COUNT; i++)
        world->config.adapters[i] =
            (struct sma_config_adapter){.name = world_channel(world, i), .json = "{" LET_IN "}"};
    world->config.adapter_count = PLATFORM_COUNT;
    budget_draw(world);
    world->has_people = seed % 4 == 1 || (seed >= 1000 && seed % 2 == 1);
    if (!world->has_people)
        return;
    world->is_strict = draw(&world->chance, 3) > 0;
    world->silent_percent = draw(&world->chance, 3) == 0 ? 10 : 0;
    world->has_moves = draw(&world->chance, 2) == 0;
    for (size_t i = 0; i < PLATFORM_COUNT && !world->is_strict; i++)
        world->config.adapters[i].json = "{" LET_IN ",\"groupAccess\":\"anyone\"}";
}

/* Two models, and everybody may choose; of later seeds only, as above. */
static void draw_choices(struct world *world)
{
    static const struct sma_chat_rule rule = {
        .pattern = "*", .says_choice = true, .is_choice_free = true};
    world->has_choices = world->options.seed >= 5000 && world->options.seed % 3 == 0;
    if (!world->has_choices)
        return;
    world->second = world->config.llm;
    world->second.name = "second";
    world->second.model = "offline-2";
    world->config.models[0] = &world->config.llm;
    world->config.models[1] = &world->second;
    world->config.model_count = 2;
    world->config.chats = &rule;
    world->config.chat_count = 1;
}

/* What comes while a run is open; of later seeds only, as above, and without a draw. */
static void choose_mode(struct world *world)
{
    uint64_t seed = world->options.seed;
    if (seed >= 5000 && seed % 4 == 2)
        world->config.queue_mode = SMA_QUEUE_STEER;
    if (seed >= 5000 && seed % 4 == 3)
        world->config.queue_quiet_ms = 1500;
}

/* A model that holds a few messages: older ones become summaries all the time. Of later seeds. */
static void draw_window(struct world *world)
{
    world->has_small_window = world->options.seed >= 5000 && world->options.seed % 5 < 2;
    if (world->has_small_window)
        world->config.llm.context_tokens = 4500; /* head and tools take most of it */
}

static void draw_settings(struct world *world)
{
    static const int concurrencies[] = {1, 3, 16}, bounds[] = {64, 64, 3};
    struct chance *chance = &world->chance;
    world->config = (struct sma_config){
        .project_dir = "",
        .state_dir = "",
        .name = "sim",
        .version = "",
        .description = "",
        .agent_md = "You are a test.",
        .start_host = "127.0.0.1",
        .api_token = "",
        .llm = {.api = SMA_LLM_OFFLINE,
                .provider = "offline",
                .model = "offline",
                .base_url = "",
                .api_key = "",
                .anthropic_version = "",
                .is_stream = true},
        .llm_patience_s = 604800, /* longer than any leap of time: what waits is answered */
        .agent_concurrency = concurrencies[draw(chance, 3)],
        .queue_is_fair = draw(chance, 2) == 0,
        .queue_mode = draw(chance, 4) == 0 ? SMA_QUEUE_COLLECT : SMA_QUEUE_SERIAL,
        .queue_chat_waiting_max = bounds[draw(chance, 3)],
        .queue_waiting_max = 1000,
        .language = draw(chance, 2) == 0 ? SMA_LANGUAGE_EN : SMA_LANGUAGE_ZH,
        .permissions_json =
            "{\"roles\":{\"owner\":[\"fake:u0\",\"fakei:u0\",\"fake@i:u0\"],\"member\":["
            "\"fake:u1\",\"fake:u2\",\"fake:u3\",\"fake:u4\","
            "\"fakei:u1\",\"fakei:u2\",\"fakei:u3\",\"fakei:u4\","
            "\"fake@i:u1\",\"fake@i:u2\",\"fake@i:u3\",\"fake@i:u4\"]}}",
    };
    world->chat_count = 1 + (uint32_t)draw(chance, CHAT_COUNT_MAX);
    world->life_count = 1 + (world->options.crashes >= 0 ? (uint32_t)world->options.crashes
                                                         : (uint32_t)draw(chance, 7));
    if (world->life_count > LIFE_COUNT_MAX)
        world->life_count = LIFE_COUNT_MAX;
    world->fault_percent = (uint32_t)draw(chance, 3) * 15;
    world->late_percent = draw(chance, 4) == 0 ? 5 : 0;
    world->event_period = 2 + (uint32_t)draw(chance, 40);
    world->shift_percent = draw(chance, 2) == 0 ? 0 : 1;
    world->disk_percent = draw(chance, 3) == 0 ? 4 : 0;
    world->is_chatty = draw(chance, 3) == 0;
    draw_people(world);
    draw_window(world);
    draw_choices(world);
    choose_mode(world);
    world->has_consent = world->options.seed % 3 == 2 || world->options.seed >= 1000;
    world->has_outages = world->options.seed >= 1000 && world->options.seed % 3 != 0;
    world->has_changes = world->options.seed >= 70000 && world->options.seed % 5 != 1;
    if (world->has_changes) {
        world->has_moves = false;
        world->has_consent = world->options.seed % 2 == 1;
    }
}

static void set_adapters(struct world *world)
{
    for (size_t i = 0; i < PLATFORM_COUNT; i++) {
        world->adapter_ops[i] = fake_adapter_ops;
        world->adapter_ops[i].name = world->adapter_ops[i].channel =
            has_bots(world) ? "fake" : world_channel(world, i);
        world->adapter_ops[i].capabilities.has_idempotency = i == 1;
        if (draw(&world->chance, 3) == 0)
            world->adapter_ops[i].capabilities.chat_per_minute = 20;
        if (draw(&world->chance, 3) == 0)
            world->adapter_ops[i].capabilities.adapter_per_second = 5;
        world->adapters[i] = (struct sma_adapter){
            .ops = &world->adapter_ops[i], .actor = (enum sma_actor_id)(SMA_ACTOR_ADAPTER_0 + i)};
        if (has_bots(world) && i > 0)
            world->adapters[i].bot = world_channel(world, i);
    }
}

void world_make(struct world *world)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(world->dir, sizeof world->dir, "%s/sma_sim_XXXXXX", base);
    SMA_ASSERT(mkdtemp(world->dir) != NULL);
    world->chance.state = world->options.seed * 2 + 1;
    world->sys_random = world->options.seed;
    for (int i = 0; i < 4; i++)
        (void)draw(&world->chance, 2);
    draw_settings(world);
    set_adapters(world);
    world->disk_free = UINT64_C(1) << 40;
    world->sys = *sma_sys_real();
    world->sys.self = world;
    world->sys.now_ns = virtual_now;
    world->sys.wall_ms = virtual_wall;
    world->sys.random_bytes = seeded_bytes;
    world->sys.pwrite = torn_pwrite;
    world->sys.rename = torn_rename;
    world->sys.fdatasync = torn_fdatasync;
    enter_folder(world);
    SMA_ASSERT(mkdir(world->life_dir, 0700) == 0);
}

/* -- a life ------------------------------------------------------------------------------------ */
static void take_log(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)ctx;
    const struct world *world = state;
    if ((*msg)->kind != SMA_MSG_LOG || !world->options.is_verbose)
        return;
    const struct sma_log_line *line = SMA_MSG_BODY(*msg, struct sma_log_line);
    fprintf(stderr, "%u/%.3f %.*s\n", world->life, (double)world_now(world) / 1e9,
            (int)line->text.len, line->text.ptr);
}
static const struct sma_actor_ops log_ops = {.name = "log", .handle = take_log};

static void must(enum sma_err err, const struct sma_error *error)
{
    if (err == SMA_ERR_OK)
        return;
    fprintf(stderr, "sim_run: the program does not start: %s: %s\n", sma_err_name(err),
            error->text);
    exit(1);
}

/* The fake platform, and a person who answers PREPARE when the load says so. */
static struct world *the_world;

static void handle_platform(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    if ((*msg)->kind == SMA_MSG_PREPARE)
        load_take_prepare(the_world, (unsigned)sma_ctx_self(ctx) - SMA_ACTOR_ADAPTER_0, msg);
    else if ((*msg)->kind == SMA_MSG_DECIDED)
        consent_take(the_world, (unsigned)sma_ctx_self(ctx) - SMA_ACTOR_ADAPTER_0, *msg);
    else
        fake_adapter_handle(state, msg, ctx);
}
static const struct sma_actor_ops platform_ops = {
    .name = "platform", .handle = handle_platform, .wake = fake_adapter_wake};

static void make_actors(struct world *world)
{
    struct sma_error error = {0};
    struct sma_store_options store = {
        .config = &world->config, .adapters = world->adapters, .adapter_count = PLATFORM_COUNT};
    struct sma_store_hooks hooks = {
        .sys = &world->sys, .is_single_threaded = true, .disk = drawn_disk, .disk_user = world};
    must(sma_store_create_hooked(&store, &hooks, &world->store, &error), &error);
    struct sma_dispatcher_options dispatcher = {
        .config = &world->config, .adapters = world->adapters, .adapter_count = PLATFORM_COUNT};
    must(sma_dispatcher_create(&dispatcher, &world->dispatcher, &error), &error);
    must(sma_agent_create(&world->config, world->adapters, PLATFORM_COUNT, &world->agent, &error),
         &error);
    must(sma_model_create(&world->config, &world->model, &error), &error);
    world->tools =
        fake_tools_create(&(struct fake_tools_options){.rule = consent_rule, .user = world});
    for (size_t i = 0; i < PLATFORM_COUNT; i++) {
        world->fakes[i] = fake_adapter_create(&(struct fake_options){.is_idempotent = i == 1,
                                                                     .plan = load_plan,
                                                                     .on_accepted = load_accepted,
                                                                     .user = world});
        world->adapters[i].state = world->fakes[i];
    }
}

/* The model is away for 16 of 64 seconds: the program must wait durably and answer everybody in the
 * end. */
static bool is_model_away(const struct world *world, uint64_t now)
{
    return world->has_outages && now / SECOND % 64 < 16;
}

/* Notes of a conversation; one in eight is not what was asked for. */
static bool takes_notes(struct sma_msg *msg, struct sma_ctx *ctx)
{
    static const char notes[] = "## Goal\nto talk\n## Facts\nnone\n## Done\nnone\n"
                                "## Decisions\nnone\n## Open\nnone\n## Identifiers\nnone";
    const struct sma_model_ask *ask = SMA_MSG_BODY(msg, struct sma_model_ask);
    if (!the_world->has_small_window ||
        memmem(ask->body.ptr, ask->body.len, "<conversation>", 14) == NULL)
        return false;
    struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_MODEL_ANSWER, struct sma_model_answer, 512);
    SMA_ASSERT(answer != NULL);
    struct sma_model_answer *body = SMA_MSG_BODY(answer, struct sma_model_answer);
    the_world->notes_count++;
    body->seq = ask->seq;
    body->text =
        sma_msg_dup(answer, the_world->notes_count % 8 == 0 ? SMA_STR("Hello!") : sma_str(notes));
    sma_ctx_answer(ctx, msg, &answer);
    return true;
}

static void model_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    if ((*msg)->kind == SMA_MSG_MODEL && takes_notes(*msg, ctx))
        return;
    if ((*msg)->kind == SMA_MSG_MODEL)
        parts_judge_request(the_world, SMA_MSG_BODY(*msg, struct sma_model_ask));
    if ((*msg)->kind != SMA_MSG_MODEL || !is_model_away(the_world, sma_ctx_now(ctx))) {
        sma_model_offline_actor_ops.handle(state, msg, ctx);
        return;
    }
    struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_MODEL_ANSWER, struct sma_model_answer, 16);
    SMA_ASSERT(answer != NULL);
    struct sma_model_answer *body = SMA_MSG_BODY(answer, struct sma_model_answer);
    body->seq = SMA_MSG_BODY(*msg, struct sma_model_ask)->seq;
    body->status = SMA_MODEL_FAILED;
    body->trouble = SMA_MODEL_FAILURE_TRANSIENT;
    body->retry_after_ms = -1;
    body->error = SMA_STR("away");
    the_world->outage_count++;
    sma_ctx_answer(ctx, *msg, &answer);
}

static enum sma_err add_model(struct world *world, struct sma_system *system)
{
    static struct sma_actor_ops ops;
    ops = sma_model_offline_actor_ops;
    ops.handle = model_handle;
    return sma_system_add(system, SMA_ACTOR_MODEL, &ops, world->model);
}

/* The agent, behind a judge of the runs that it is given. */
static struct world *watched;
static struct sma_actor_ops watching_ops;

static void watch_runs(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    if ((*msg)->kind == SMA_MSG_RUN)
        parts_judge(watched, SMA_MSG_BODY(*msg, struct sma_run_order));
    if ((*msg)->kind == SMA_MSG_STEER) {
        const struct sma_steer *steer = SMA_MSG_BODY(*msg, struct sma_steer);
        for (uint32_t i = 0; i < steer->message_count; i++)
            change_judge(watched, &steer->messages[i]);
    }
    sma_agent_actor_ops.handle(state, msg, ctx);
}

void world_open(struct world *world)
{
    SMA_ASSERT(world->system == NULL);
    the_world = world;
    world->idle_ns = NOW_START_NS; /* as after a reboot */
    make_actors(world);
    struct sma_error error = {0};
    struct sma_system_options options = {.is_simulated = true,
                                         .seed = draw(&world->chance, UINT32_MAX)};
    struct sma_system *system = sma_system_create(&options);
    SMA_ASSERT(system != NULL);
    must(sma_system_add(system, SMA_ACTOR_LOG, &log_ops, world), &error);
    for (size_t i = 0; i < PLATFORM_COUNT; i++)
        must(sma_system_add(system, world->adapters[i].actor, &platform_ops, world->fakes[i]),
             &error);
    must(add_model(world, system), &error);
    must(sma_system_add(system, SMA_ACTOR_TOOLS, &fake_tools_ops, world->tools), &error);
    must(sma_system_add(system, SMA_ACTOR_DISPATCHER, &sma_dispatcher_actor_ops, world->dispatcher),
         &error);
    watched = world;
    watching_ops = sma_agent_actor_ops;
    watching_ops.handle = watch_runs;
    must(sma_system_add(system, SMA_ACTOR_AGENT, &watching_ops, world->agent), &error);
    must(sma_system_add(system, SMA_ACTOR_STORE, &sma_store_actor_ops, world->store), &error);
    sma_sim_shift_wall(system, world->wall_offset_ms);
    world->system = system;
    must(sma_system_start(system, &error), &error);
    world->is_storing = true;
}

static void drop_actors(struct world *world)
{
    for (size_t i = 0; i < PLATFORM_COUNT; i++)
        fake_adapter_destroy(world->fakes[i]);
    sma_model_destroy(world->model);
    fake_tools_destroy(world->tools);
    sma_agent_destroy(world->agent);
    sma_dispatcher_destroy(world->dispatcher);
    sma_store_destroy(world->store);
}

static void end_life(struct world *world, bool is_crash)
{
    SMA_ASSERT(world->life < LIFE_COUNT_MAX);
    world->lives[world->life] = (struct life){.is_crash = is_crash, .end_ns = world_now(world)};
    world->trace_hash = (world->trace_hash ^ sma_sim_trace_hash(world->system)) * 0x100000001b3u;
    world->wall_offset_ms = virtual_wall(world) - WALL_START_MS + 1500;
    world->idle_ns = world_now(world);
    world->is_storing = false;
    struct sma_system *system = world->system;
    world->system = NULL;
    sma_system_destroy(system);
    drop_actors(world);
    world->torn_countdown = 0;
    load_forget_questions(world);
    consent_forget(world);
    world->life++;
    world->crash_count += is_crash;
}

void world_crash(struct world *world)
{
    char old[sizeof world->life_dir];
    world->is_storing = false;
    take_snapshot(world);
    snprintf(old, sizeof old, "%s", world->life_dir);
    sma_sim_crash(world->system);
    end_life(world, true); /* what it still writes goes into the old folder */
    remove_tree(old);
    world->has_snapshot = false;
    enter_folder(world);
}

static void run_phase(struct world *world, enum sma_actor_id actor, enum sma_phase phase)
{
    sma_sim_life(world->system, actor, phase);
    for (int i = 0; i < 2000000 && !sma_sim_life_is_done(world->system, actor, phase); i++)
        if (!sma_sim_step(world->system))
            break;
    if (!sma_sim_life_is_done(world->system, actor, phase))
        complain(world, "actor %d did not finish phase %d of an ordered stop", (int)actor,
                 (int)phase);
}

void world_stop(struct world *world)
{
    for (unsigned i = 0; i < PLATFORM_COUNT; i++)
        run_phase(world, world->adapters[i].actor, SMA_PHASE_INTAKE_OFF);
    run_phase(world, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    run_phase(world, SMA_ACTOR_TOOLS, SMA_PHASE_DRAIN);
    run_phase(world, SMA_ACTOR_DISPATCHER, SMA_PHASE_DRAIN);
    run_phase(world, SMA_ACTOR_MODEL, SMA_PHASE_DRAIN);
    run_phase(world, SMA_ACTOR_STORE, SMA_PHASE_DRAIN);
    for (unsigned i = 0; i < PLATFORM_COUNT; i++)
        run_phase(world, world->adapters[i].actor, SMA_PHASE_CLOSE);
    end_life(world, false);
}

void world_end(struct world *world)
{
    remove_tree(world->dir);
    for (size_t i = 0; i < ROW_COUNT_MAX; i++)
        for (size_t part = 0; part < PART_COUNT_MAX; part++)
            free(world->rows[i].parts[part].text);
}
