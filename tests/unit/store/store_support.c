/* store_support.c — the store actor between actors that only keep what they get. */
#include "store_support.h"

static void keep_msg(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)ctx;
    struct keeper *keeper = state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        return;
    CHECK(keeper->count < KEPT_COUNT_MAX);
    keeper->msgs[keeper->count++] = *msg;
    *msg = NULL;
}

static const struct sma_actor_ops keeper_ops = {.name = "keeper", .handle = keep_msg};

const struct sma_adapter_ops test_adapter = {
    .name = "test", .channel = "test", .capabilities = {.has_profiles = true}};

static const struct sma_adapter_ops api_adapter = {
    .name = "http", .channel = "api", .capabilities = {.is_stored_delivery = true}};

void drop_kept(struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->count; i++)
        sma_msg_destroy(keeper->msgs[i]);
    keeper->count = 0;
}

struct sma_msg *take(struct keeper *keeper, unsigned kind)
{
    for (size_t i = 0; i < keeper->count; i++) {
        if (keeper->msgs[i]->kind != kind)
            continue;
        struct sma_msg *msg = keeper->msgs[i];
        memmove(&keeper->msgs[i], &keeper->msgs[i + 1],
                (keeper->count - i - 1) * sizeof(struct sma_msg *));
        keeper->count--;
        return msg;
    }
    return NULL;
}

size_t count_kept(const struct keeper *keeper, unsigned kind)
{
    size_t count = 0;
    for (size_t i = 0; i < keeper->count; i++)
        count += keeper->msgs[i]->kind == kind;
    return count;
}

bool fake_disk(void *user, uint64_t *ret_free_bytes)
{
    *ret_free_bytes = ((struct world *)user)->disk_free;
    return true;
}

void make_world(struct world *world)
{
    memset(world, 0, sizeof *world);
    snprintf(world->dir, sizeof world->dir, "/tmp/sma-store-XXXXXX");
    CHECK(mkdtemp(world->dir) != NULL);
    snprintf(world->state_dir, sizeof world->state_dir, "%s/.ship", world->dir);
    world->config = (struct sma_config){.project_dir = world->dir,
                                        .state_dir = world->state_dir,
                                        .agent_concurrency = 1,
                                        .queue_chat_waiting_max = 64,
                                        .queue_waiting_max = 1000,
                                        .language = SMA_LANGUAGE_EN};
    world->adapters[0] = (struct sma_adapter){.ops = &test_adapter, .actor = TEST};
    world->adapters[1] = (struct sma_adapter){.ops = &api_adapter, .actor = API};
    world->disk_free = UINT64_C(1) << 40;
    world->seed = 1;
}

void run_for(struct world *world, uint64_t ns)
{
    (void)sma_sim_run(world->system, 200000, sma_sim_now(world->system) + ns);
}

void run(struct world *world)
{
    run_for(world, 50 * UINT64_C(1000000));
}

void open_world_only(struct world *world)
{
    struct sma_error error = {0};
    const char *json = world->test_json != NULL ? world->test_json : EVERYBODY;
    world->config.adapters[0] = (struct sma_config_adapter){.name = "test", .json = json};
    world->config.adapter_count = 1;
    struct sma_store_options options = {
        .config = &world->config, .adapters = world->adapters, .adapter_count = 2};
    struct sma_store_hooks hooks = {.sys = world->sys,
                                    .is_single_threaded = !world->has_threads,
                                    .disk = fake_disk,
                                    .disk_user = world};
    if (sma_store_create_hooked(&options, &hooks, &world->store, &error) != SMA_ERR_OK) {
        fprintf(stderr, "create: %s\n", error.text);
        exit(1);
    }
    struct sma_system_options system = {.is_simulated = true, .seed = world->seed++};
    world->system = sma_system_create(&system);
    CHECK(world->system != NULL);
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_AGENT, &keeper_ops, &world->agent));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_DISPATCHER, &keeper_ops, &world->dispatcher));
    CHECK_OK(sma_system_add(world->system, TEST, &keeper_ops, &world->test));
    CHECK_OK(sma_system_add(world->system, API, &keeper_ops, &world->api));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_MCP, &keeper_ops, &world->mcp));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_STORE, &sma_store_actor_ops, world->store));
    CHECK_OK(sma_system_start(world->system, &error));
}

void open_world(struct world *world)
{
    open_world_only(world);
    run(world);
}

void new_world(struct world *world)
{
    make_world(world);
    open_world(world);
}

void close_system(struct world *world)
{
    drop_kept(&world->agent);
    drop_kept(&world->dispatcher);
    drop_kept(&world->test);
    drop_kept(&world->api);
    drop_kept(&world->mcp);
    sma_store_destroy(world->store);
    sma_system_destroy(world->system);
    world->system = NULL;
}

void crash_world(struct world *world)
{
    sma_sim_crash(world->system);
    close_system(world);
    open_world(world);
}

void stop_world(struct world *world)
{
    sma_sim_life(world->system, SMA_ACTOR_STORE, SMA_PHASE_DRAIN);
    run(world);
    CHECK(sma_sim_life_is_done(world->system, SMA_ACTOR_STORE, SMA_PHASE_DRAIN));
}

void restart_world(struct world *world)
{
    stop_world(world);
    close_system(world);
    open_world(world);
}

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void end_world(struct world *world)
{
    if (world->system != NULL)
        close_system(world);
    if (world->dir[0] != '\0')
        remove_tree(world->dir);
    world->dir[0] = '\0';
}

struct sma_route route_of(unsigned adapter, const char *key)
{
    return (struct sma_route){.adapter = (uint8_t)adapter,
                              .channel = adapter == API ? SMA_STR("api") : SMA_STR("test"),
                              .chat_key = sma_str(key),
                              .chat_id = sma_str(strrchr(key, ':') + 1)};
}

static struct sma_str dup_or_empty(struct sma_msg *msg, const char *text)
{
    return text == NULL ? SMA_STR("") : sma_msg_dup(msg, sma_str(text));
}

uint64_t say_as(struct world *world, unsigned adapter, const struct saying *saying)
{
    char key[128];
    snprintf(key, sizeof key, "%s:chat:%s", adapter == API ? "api" : "test", saying->chat);
    struct sma_route route = route_of(adapter, key);
    route.user_id = sma_str(saying->user != NULL ? saying->user : "u1");
    route.user_name = SMA_STR("Ann");
    size_t space = sma_route_space(&route) + strlen(saying->id) + strlen(saying->text) + 1024;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_INGRESS, struct sma_ingress, space);
    struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    in->route = sma_route_dup(msg, &route);
    in->event_key = sma_msg_dup(msg, sma_str(saying->id));
    in->text = sma_msg_dup(msg, sma_str(saying->text));
    in->kind = saying->kind;
    in->control = saying->control;
    in->addressed = saying->addressed;
    in->body_hash = saying->body_hash;
    in->is_record_only = saying->is_record_only;
    in->is_group = saying->is_group;
    in->role = saying->role;
    in->user_alias = dup_or_empty(msg, saying->alias);
    in->display_name = dup_or_empty(msg, saying->display_name);
    in->handle = dup_or_empty(msg, saying->handle);
    in->preparation = dup_or_empty(msg, saying->preparation);
    in->group_key = dup_or_empty(msg, saying->group_key);
    in->context = dup_or_empty(msg, saying->context);
    in->migrated_from = dup_or_empty(msg, saying->migrated_from);
    bool is_named = saying->reply_to != NULL && strcmp(saying->reply_to, "?") != 0;
    in->is_reply = saying->reply_to != NULL;
    in->reply_to_id = dup_or_empty(msg, is_named ? saying->reply_to : NULL);
    in->sent_ms = saying->sent_ms;
    in->is_forward = saying->is_forward;
    in->is_behind = saying->is_behind;
    in->is_edited = saying->is_edited;
    in->change = saying->change;
    in->has_joined = saying->has_joined;
    in->target_id = dup_or_empty(msg, saying->target);
    in->parts = saying->parts;
    in->part_count = saying->part_count;
    in->wall_ms = saying->sent_ms != 0 ? saying->sent_ms : 1700000000000;
    if (saying->cursor != 0) {
        in->cursor_name = sma_msg_dup(msg, SMA_STR("test.offset"));
        in->cursor_value = saying->cursor;
    }
    uint64_t ask_id = 0;
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, (enum sma_actor_id)adapter), SMA_ACTOR_STORE,
                         &msg, 0, &ask_id));
    return ask_id;
}

void say(struct world *world, const char *chat, const char *id, const char *text)
{
    (void)say_as(world, TEST, &(struct saying){.chat = chat, .id = id, .text = text});
}

void command(struct world *world, const char *chat, const char *id, enum sma_control control)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = chat,
                                  .id = id,
                                  .text = "/x",
                                  .kind = SMA_EVENT_CONTROL,
                                  .control = (uint8_t)control});
}

struct sma_accepted accepted(struct keeper *keeper)
{
    struct sma_msg *msg = take(keeper, SMA_MSG_ACCEPTED);
    CHECK(msg != NULL);
    struct sma_accepted answer = *SMA_MSG_BODY(msg, struct sma_accepted);
    sma_msg_destroy(msg);
    return answer;
}

void expect_accepted(struct world *world)
{
    run(world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&world->test).verdict);
}

uint64_t run_seq(struct world *world)
{
    struct sma_msg *msg = take(&world->agent, SMA_MSG_RUN);
    if (msg == NULL)
        return 0;
    uint64_t seq = SMA_MSG_BODY(msg, struct sma_run_order)->seq;
    sma_msg_destroy(msg);
    return seq;
}

struct sma_step_delivery *put_deliveries(struct sma_msg *msg, const struct delivery *from,
                                         uint32_t count)
{
    struct sma_step_delivery *to = sma_msg_space(msg, count * sizeof *to);
    for (uint32_t i = 0; i < count; i++) {
        struct sma_route route =
            route_of(from[i].adapter == 0 ? TEST : from[i].adapter, from[i].key);
        to[i] = (struct sma_step_delivery){.call = from[i].call,
                                           .intent = SMA_INTENT_ASSISTANT_TEXT,
                                           .route = sma_route_dup(msg, &route),
                                           .text = sma_msg_dup(msg, sma_str(from[i].text)),
                                           .is_fallback = from[i].is_fallback};
    }
    return to;
}

void ask_as_agent(struct world *world, struct sma_msg *msg)
{
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, SMA_ACTOR_AGENT), SMA_ACTOR_STORE, &msg, 0,
                         NULL));
}

void step(struct world *world, uint64_t seq, uint32_t number, const struct delivery *from,
          uint32_t count)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096 + count * 1024);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = number;
    body->kind = SMA_STEP_ANSWER;
    body->data = sma_msg_dup(msg, SMA_STR("step data"));
    body->delivery_count = count;
    body->deliveries = put_deliveries(msg, from, count);
    ask_as_agent(world, msg);
}

void done(struct world *world, uint64_t seq, const char *output, const struct delivery *from,
          uint32_t count)
{
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_DONE, struct sma_done, 4096 + count * 1024 + strlen(output));
    struct sma_done *body = SMA_MSG_BODY(msg, struct sma_done);
    body->seq = seq;
    body->outcome = SMA_OUTCOME_OK;
    body->output = sma_msg_dup(msg, sma_str(output));
    body->tool_calls_json = sma_msg_dup(msg, SMA_STR("[]"));
    body->turn = sma_msg_dup(msg, SMA_STR("{\"turn\":1}"));
    body->wire = sma_msg_dup(msg, SMA_STR("chat"));
    body->delivery_count = count;
    body->deliveries = put_deliveries(msg, from, count);
    body->stamps.model_out_ns = world->model_out_ns;
    ask_as_agent(world, msg);
}

int verdict(struct world *world, unsigned kind)
{
    struct sma_msg *msg = take(&world->agent, kind);
    CHECK(msg != NULL);
    int answer = SMA_MSG_BODY(msg, struct sma_step_done)->verdict;
    sma_msg_destroy(msg);
    return answer;
}

void expect_durable(struct world *world, unsigned kind)
{
    run(world);
    CHECK_INT(SMA_STEP_DURABLE, verdict(world, kind));
}

uint64_t prepare(struct world *world, enum sma_role role, const char *context)
{
    struct sma_msg *question = take(&world->test, SMA_MSG_PREPARE);
    if (question == NULL)
        return 0;
    uint64_t seq = SMA_MSG_BODY(question, struct sma_prepare)->seq;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PREPARED, struct sma_prepared, strlen(context) + 1);
    struct sma_prepared *body = SMA_MSG_BODY(msg, struct sma_prepared);
    body->seq = seq;
    body->role = (uint8_t)role;
    body->context = sma_msg_dup(msg, sma_str(context));
    sma_ctx_answer(sma_system_ctx(world->system, TEST), question, &msg);
    sma_msg_destroy(question);
    return seq;
}

uint64_t prepare_parts(struct world *world, struct sma_part *parts, uint32_t count)
{
    struct sma_msg *question = take(&world->test, SMA_MSG_PREPARE);
    if (question == NULL)
        return 0;
    uint64_t seq = SMA_MSG_BODY(question, struct sma_prepare)->seq;
    struct sma_msg *msg = sma_msg_make_prepared(
        &(struct sma_prepared){.seq = seq, .parts = parts, .part_count = count});
    CHECK(msg != NULL);
    sma_ctx_answer(sma_system_ctx(world->system, TEST), question, &msg);
    sma_msg_destroy(question);
    return seq;
}

struct sma_msg *next_run(struct world *world)
{
    return take(&world->agent, SMA_MSG_RUN);
}

const char *next_delivery(struct world *world)
{
    static char text[4096];
    struct sma_msg *msg = take(&world->dispatcher, SMA_MSG_DELIVER);
    text[0] = '\0';
    if (msg == NULL)
        return text;
    struct sma_str from = SMA_MSG_BODY(msg, struct sma_deliver)->text;
    snprintf(text, sizeof text, "%.*s", (int)from.len, from.ptr);
    sma_msg_destroy(msg);
    return text;
}

struct sma_msg *deliver(struct world *world)
{
    return take(&world->dispatcher, SMA_MSG_DELIVER);
}

void receipt(struct world *world, const struct sma_receipt *facts)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RECEIPT, struct sma_receipt, 1024);
    struct sma_receipt *body = SMA_MSG_BODY(msg, struct sma_receipt);
    *body = *facts;
    body->platform_message_id = sma_msg_dup(msg, facts->platform_message_id);
    body->reply_id = sma_msg_dup(msg, facts->reply_id);
    body->error = sma_msg_dup(msg, facts->error);
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, SMA_ACTOR_DISPATCHER), SMA_ACTOR_STORE, &msg,
                         0, NULL));
}

void await(struct world *world, unsigned adapter, uint64_t seq, bool is_peek, const char *user)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_AWAIT, struct sma_await, 64);
    struct sma_await *body = SMA_MSG_BODY(msg, struct sma_await);
    body->seq = seq;
    body->is_peek = is_peek;
    body->user_id = sma_msg_dup(msg, sma_str(user));
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, (enum sma_actor_id)adapter), SMA_ACTOR_STORE,
                         &msg, 0, NULL));
}

const char *history(const struct world *world, const char *file)
{
    static char text[1 << 22];
    char path[600];
    snprintf(path, sizeof path, "%s/chats/%s.jsonl", world->state_dir, file);
    FILE *in = fopen(path, "r");
    size_t len = in != NULL ? fread(text, 1, sizeof text - 1, in) : 0;
    if (in != NULL)
        fclose(in);
    text[len] = '\0';
    return text;
}

size_t count_of(const char *text, const char *needle)
{
    size_t count = 0;
    for (const char *at = strstr(text, needle); at != NULL; at = strstr(at + 1, needle))
        count++;
    return count;
}

void pass(struct world *world, uint64_t seconds)
{
    run(world);
    sma_sim_advance(world->system, seconds * SECOND);
    run(world);
}

void finish_next(struct world *world)
{
    uint64_t seq = run_seq(world);
    CHECK(seq != 0);
    done(world, seq, "ok", NULL, 0);
    expect_durable(world, SMA_MSG_DONE_DONE);
}
