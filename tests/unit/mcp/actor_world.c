/* actor_world.c — see actor_world.h. */
#include "actor_world.h"

#include "sma/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ORDER_COUNT_MAX (WORLD_CALL_COUNT_MAX * 2)

struct world
{
    struct sma_config config, configs[2];
    const struct sma_config *newest; /* that world_permit made; NULL: none yet */
    bool is_second;
    char dir[64], state_dir[80];
    struct sma_mcp *mcp;
    struct sma_system *system;
    pthread_t supervisor;
    int stop_pipe[2];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct sma_msg *orders[ORDER_COUNT_MAX];
    size_t order_calls[ORDER_COUNT_MAX];
    size_t order_begin, order_end;
    struct world_call calls[WORLD_CALL_COUNT_MAX];
    size_t call_count;
    const struct sma_mcp_catalogue *catalogue;
    struct sma_buf log, progress;
    unsigned sample_count;
};

/* -- the stand-in agent and log ---------------------------------------------------------------- */
static void take_answer(struct world *world, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_mcp_answer *answer = SMA_MSG_BODY(msg, struct sma_mcp_answer);
    for (size_t i = 0; i < world->call_count; i++) {
        struct world_call *call = &world->calls[i];
        if (call->ask_id != msg->ask_id)
            continue;
        CHECK_INT(call->seq, answer->seq);
        CHECK(answer->text.len <= SMA_TOOL_RESULT_BYTES_MAX);
        call->answer_count++;
        call->outcome = answer->outcome;
        call->text = strndup(answer->text.len == 0 ? "" : answer->text.ptr, answer->text.len);
        if (answer->part_count > 0)
            CHECK(asprintf(&call->part, "%u: %d %s %s", answer->part_count, answer->parts[0].kind,
                           answer->parts[0].mime.ptr, answer->parts[0].path.ptr) > 0);
        call->answered_ns = sma_ctx_now(ctx);
    }
}

unsigned world_agent_pause_ms;

static void take_catalogue(struct world *world, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_mcp_offer *offer = SMA_MSG_BODY(msg, struct sma_mcp_offer);
    if (world_agent_pause_ms > 0) {
        pthread_mutex_unlock(&world->lock);
        usleep(world_agent_pause_ms * 1000); /* it is at something else */
        pthread_mutex_lock(&world->lock);
    }
    CHECK(world->catalogue == NULL || offer->catalogue->version > world->catalogue->version);
    sma_mcp_catalogue_unref(world->catalogue);
    world->catalogue = sma_mcp_catalogue_ref(offer->catalogue);
    struct sma_mcp_taken taken = {.version = offer->catalogue->version};
    struct sma_msg *answer = sma_msg_make_mcp_taken(&taken);
    CHECK(answer != NULL);
    sma_ctx_answer(ctx, msg, &answer);
}

static void take_question(struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_mcp_elicit *asked = SMA_MSG_BODY(msg, struct sma_mcp_elicit);
    CHECK_STR("Who are you?", asked->text);
    CHECK_STR("a", asked->server);
    CHECK_STR("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},"
              "\"required\":[\"name\"]}",
              asked->schema);
    struct sma_mcp_elicited elicited = {.seq = asked->seq,
                                        .call = asked->call,
                                        .action = SMA_MCP_ACCEPT,
                                        .content = SMA_STR("{\"name\":\"Ann\"}")};
    struct sma_msg *answer = sma_msg_make_mcp_elicited(&elicited);
    CHECK(answer != NULL);
    sma_ctx_answer(ctx, msg, &answer);
}

static void take_sample(struct world *world, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_mcp_sample *asked = SMA_MSG_BODY(msg, struct sma_mcp_sample);
    struct sma_mcp_sampled sampled = {.seq = asked->seq,
                                      .call = asked->call,
                                      .text = SMA_STR("words of the model"),
                                      .model = SMA_STR("small-1")};
    CHECK_STR("You serve a box.", asked->system);
    CHECK_INT(1, asked->line_count);
    CHECK_INT(3, asked->call);
    CHECK_INT(200, asked->tokens_max);
    world->sample_count++;
    struct sma_msg *answer = sma_msg_make_mcp_sampled(&sampled);
    CHECK(answer != NULL);
    sma_ctx_answer(ctx, msg, &answer);
}

static void agent_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct world *world = state;
    pthread_mutex_lock(&world->lock);
    if ((*msg)->kind == SMA_MSG_MCP_ANSWER)
        take_answer(world, *msg, ctx);
    if ((*msg)->kind == SMA_MSG_MCP_CATALOGUE)
        take_catalogue(world, *msg, ctx);
    if ((*msg)->kind == SMA_MSG_MCP_ELICIT)
        take_question(*msg, ctx);
    if ((*msg)->kind == SMA_MSG_MCP_SAMPLE)
        take_sample(world, *msg, ctx);
    if ((*msg)->kind == SMA_MSG_MCP_PROGRESS) {
        sma_buf_put_str(&world->progress, SMA_MSG_BODY(*msg, struct sma_mcp_progress)->text);
        sma_buf_put_char(&world->progress, '\n');
    }
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
}

static void agent_wake(void *state, struct sma_ctx *ctx)
{
    struct world *world = state;
    pthread_mutex_lock(&world->lock);
    for (; world->order_begin < world->order_end; world->order_begin++) {
        struct sma_msg **msg = &world->orders[world->order_begin];
        struct world_call *call = &world->calls[world->order_calls[world->order_begin]];
        if ((*msg)->kind == SMA_MSG_MCP_CALL) {
            call->asked_ns = sma_ctx_now(ctx);
            CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_MCP, msg, 0, &call->ask_id));
        } else {
            CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_MCP, msg));
        }
    }
    pthread_mutex_unlock(&world->lock);
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + 1000000);
}

static enum sma_err agent_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)state;
    (void)error;
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + 1000000);
    return SMA_ERR_OK;
}

static const struct sma_actor_ops agent_ops = {
    .name = "agent", .start = agent_start, .handle = agent_handle, .wake = agent_wake};

static void log_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct world *world = state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
    if ((*msg)->kind != SMA_MSG_LOG)
        return;
    pthread_mutex_lock(&world->lock);
    sma_buf_put_str(&world->log, SMA_MSG_BODY(*msg, struct sma_log_line)->text);
    sma_buf_put_char(&world->log, '\n');
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
}

static const struct sma_actor_ops log_ops = {.name = "log", .handle = log_handle};

/* -- life -------------------------------------------------------------------------------------- */
static void on_reload(void *user)
{
    struct world *world = user;
    pthread_mutex_lock(&world->lock);
    const struct sma_config *config = world->newest == NULL ? &world->config : world->newest;
    pthread_mutex_unlock(&world->lock);
    sma_system_reload(world->system, config);
}

static void *supervise(void *argument)
{
    struct world *world = argument;
    struct sma_supervise_options options = {.stop_fd = world->stop_pipe[0],
                                            .on_reload = on_reload,
                                            .user = world,
                                            .drain_ms = 30000 * PATIENCE};
    CHECK_INT(0, sma_system_supervise(world->system, &options));
    return NULL;
}

/* "http://..." is of type http, "sse:http://..." of type sse. */
static void write_remote(struct sma_buf *text, const char *name, const char *url, const char *more)
{
    bool is_sse = strncmp(url, "sse:", 4) == 0;
    sma_buf_printf(text, "%s\"%s\":{\"type\":\"%s\",\"url\":\"%s\"%s}",
                   text->ptr[text->len - 1] == '{' ? "" : ",", name, is_sse ? "sse" : "http",
                   url + (is_sse ? 4 : 0), more);
}

static void write_servers(const struct world *world, const char *const *servers, const char *more)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    char path[PATH_MAX];
    sma_buf_init(&text, 1024 * 1024);
    sma_buf_put_text(&text, "{\"servers\":{");
    for (size_t i = 0; servers[i] != NULL; i += 2) {
        if (strstr(servers[i + 1], "://") != NULL) {
            write_remote(&text, servers[i], servers[i + 1], more);
            continue;
        }
        if (servers[i + 1][0] == '{') {
            sma_buf_printf(&text, "%s\"%s\":%s", text.ptr[text.len - 1] == '{' ? "" : ",",
                           servers[i], servers[i + 1]);
            continue;
        }
        sma_buf_printf(&text,
                       "%s\"%s\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"%s\",\"%s\"]"
                       ",\"env\":{\"GIVEN\":\"yes\",\"MY_TOKEN\":\"canary-0123456789\"}%s}",
                       text.ptr[text.len - 1] == '{' ? "" : ",", servers[i], SMA_FAKE_MCP,
                       servers[i + 1], world->dir, more);
    }
    sma_buf_put_text(&text, "}}");
    CHECK_OK(text.err);
    snprintf(path, sizeof path, "%s/mcp", world->state_dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, NULL));
    snprintf(path, sizeof path, "%s/mcp/mcp.json", world->state_dir);
    CHECK_OK(sma_sys_write_file_unsynced(sma_sys_real(), path, sma_buf_str(&text), 0600, NULL));
}

/* What chats left in .ship: a file x in each of these folders. */
static void put_private(const struct world *world)
{
    static const char *const folders[] = {"anything-new", "output", ".cache/parts", ".cache/mcp"};
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", world->state_dir, folders[i]);
        CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, NULL));
        snprintf(path, sizeof path, "%s/%s/x", world->state_dir, folders[i]);
        CHECK_OK(
            sma_sys_write_file_unsynced(sma_sys_real(), path, SMA_STR(WORLD_PRIVATE), 0600, NULL));
    }
}

static void make_project(struct world *world)
{
    snprintf(world->dir, sizeof world->dir, "/tmp/sma-mcp-XXXXXX");
    CHECK(mkdtemp(world->dir) != NULL);
    snprintf(world->state_dir, sizeof world->state_dir, "%s/.ship", world->dir);
    world->config.project_dir = world->dir;
    world->config.state_dir = world->state_dir;
    world->config.llm.api_key = "sk-canary-0123456789";
    world->config.api_token = world->config.agent_md = world->config.name = "";
    world->config.permissions_json = "{\"exec_shell\":{\"allow\":[\"sh t/run.sh\"]}}";
}

/* A recipe and a script that the rule above runs. */
static void put_owner_files(const struct world *world)
{
    static const char *const names[] = {"t/run.sh", "Makefile"};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/t", world->dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, NULL));
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", world->dir, names[i]);
        CHECK_OK(
            sma_sys_write_file_unsynced(sma_sys_real(), path, SMA_STR(WORLD_PRIVATE), 0600, NULL));
    }
}

struct world *world_create(const char *const *servers, const char *more)
{
    return world_create_through(NULL, servers, more);
}

struct world *world_create_through(const char *proxy, const char *const *servers, const char *more)
{
    struct world *world = calloc(1, sizeof *world);
    CHECK(world != NULL);
    make_project(world);
    world->config.proxy = proxy;
    write_servers(world, servers, more);
    put_private(world);
    put_owner_files(world);
    sigset_t set; /* the supervisor takes it; threads started from here on leave it to that */
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    sma_buf_init(&world->log, 16 * 1024 * 1024);
    sma_buf_init(&world->progress, 16 * 1024 * 1024);
    pthread_mutex_init(&world->lock, NULL);
    pthread_cond_init(&world->changed, NULL);
    CHECK(pipe2(world->stop_pipe, O_CLOEXEC) == 0);
    struct sma_system_options options = {0};
    struct sma_error error = {.code = SMA_ERR_OK};
    world->system = sma_system_create(&options);
    CHECK(world->system != NULL);
    CHECK_OK(sma_mcp_create(&world->config, &world->mcp, &error));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_LOG, &log_ops, world));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_MCP, &sma_mcp_actor_ops, world->mcp));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_AGENT, &agent_ops, world));
    CHECK_OK(sma_system_start(world->system, &error));
    CHECK(pthread_create(&world->supervisor, NULL, supervise, world) == 0);
    return world;
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *walk)
{
    (void)facts;
    (void)type;
    (void)walk;
    return remove(path);
}

void world_destroy(struct world *world)
{
    CHECK(write(world->stop_pipe[1], "x", 1) == 1);
    pthread_join(world->supervisor, NULL);
    CHECK_INT(0, world_count_processes(world));
    CHECK(waitpid(-1, NULL, WNOHANG) < 0); /* no zombie of ours */
    sma_system_destroy(world->system);
    sma_mcp_destroy(world->mcp);
    sma_mcp_catalogue_unref(world->catalogue);
    for (size_t i = 0; i < world->call_count; i++) {
        CHECK_INT(1, world->calls[i].answer_count);
        free(world->calls[i].text);
        free(world->calls[i].part);
    }
    for (size_t i = world->order_begin; i < world->order_end; i++)
        sma_msg_destroy(world->orders[i]);
    CHECK(strstr(world->log.ptr == NULL ? "" : world->log.ptr, "canary") == NULL);
    sma_buf_fini(&world->log);
    sma_buf_fini(&world->progress);
    pthread_mutex_destroy(&world->lock);
    pthread_cond_destroy(&world->changed);
    close(world->stop_pipe[0]);
    close(world->stop_pipe[1]);
    CHECK(strncmp(world->dir, "/tmp/sma-mcp-", 13) == 0);
    nftw(world->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(world);
}

const char *world_dir(const struct world *world)
{
    return world->dir;
}

void world_reload(struct world *world, const char *const *servers, const char *more)
{
    write_servers(world, servers, more);
    CHECK(kill(getpid(), SIGHUP) == 0);
}

void world_permit(struct world *world, const char *permissions_json)
{
    world->configs[world->is_second] = world->config;
    world->configs[world->is_second].permissions_json = permissions_json;
    pthread_mutex_lock(&world->lock);
    world->newest = &world->configs[world->is_second];
    pthread_mutex_unlock(&world->lock);
    world->is_second = !world->is_second;
    CHECK(kill(getpid(), SIGHUP) == 0);
}

/* -- waiting ----------------------------------------------------------------------------------- */
/* Under the lock. Ends the test when it does not come. */
static void await(struct world *world, bool (*is_so)(struct world *world, const void *what),
                  const void *what, const char *name)
{
    struct timespec until;
    CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
    until.tv_sec += PATIENCE_AWAIT_MS / 1000;
    pthread_mutex_lock(&world->lock);
    while (!is_so(world, what)) {
        if (pthread_cond_timedwait(&world->changed, &world->lock, &until) != 0) {
            fprintf(stderr, "%s did not come. The log:\n%s\n", name,
                    world->log.ptr == NULL ? "" : world->log.ptr);
            exit(1);
        }
    }
    pthread_mutex_unlock(&world->lock);
}

struct wanted
{
    const char *name;
    enum sma_mcp_state state;
    bool is_there;
};

static bool has_state(struct world *world, const void *what)
{
    const struct wanted *wanted = what;
    const struct sma_mcp_server *server =
        world->catalogue == NULL
            ? NULL
            : sma_mcp_catalogue_find_server(world->catalogue, sma_str(wanted->name));
    return server != NULL && server->state == wanted->state;
}

static bool has_tool(struct world *world, const void *what)
{
    const struct wanted *wanted = what;
    return world->catalogue != NULL &&
           (sma_mcp_catalogue_find_shown(world->catalogue, sma_str(wanted->name)) != NULL) ==
               wanted->is_there;
}

static bool is_gone(struct world *world, const void *what)
{
    const struct wanted *wanted = what;
    return world->catalogue != NULL &&
           sma_mcp_catalogue_find_server(world->catalogue, sma_str(wanted->name)) == NULL;
}

static bool has_logged(struct world *world, const void *part)
{
    return world->log.ptr != NULL && strstr(world->log.ptr, part) != NULL;
}

static bool has_progress(struct world *world, const void *part)
{
    return world->progress.ptr != NULL && strstr(world->progress.ptr, part) != NULL;
}

static bool is_answered(struct world *world, const void *call)
{
    return world->calls[*(const size_t *)call].answer_count > 0;
}

void world_await_state(struct world *world, const char *server, enum sma_mcp_state state)
{
    struct wanted wanted = {.name = server, .state = state};
    await(world, has_state, &wanted, sma_mcp_state_name(state));
}

void world_await_tool(struct world *world, const char *shown, bool is_there)
{
    struct wanted wanted = {.name = shown, .is_there = is_there};
    await(world, has_tool, &wanted, shown);
}

void world_await_gone(struct world *world, const char *server)
{
    struct wanted wanted = {.name = server};
    await(world, is_gone, &wanted, server);
}

void world_await_log(struct world *world, const char *part)
{
    await(world, has_logged, part, part);
}

void world_await_progress(struct world *world, const char *part)
{
    await(world, has_progress, part, part);
}

const struct sma_mcp_server *world_server(struct world *world, const char *server)
{
    pthread_mutex_lock(&world->lock);
    const struct sma_mcp_server *found =
        world->catalogue == NULL ? NULL
                                 : sma_mcp_catalogue_find_server(world->catalogue, sma_str(server));
    pthread_mutex_unlock(&world->lock);
    return found;
}

size_t world_count_others(struct world *world)
{
    pthread_mutex_lock(&world->lock);
    const struct sma_mcp_catalogue *now = world->catalogue;
    size_t count = now == NULL ? 0 : now->resource_count + now->prompt_count;
    pthread_mutex_unlock(&world->lock);
    return count;
}

const struct sma_mcp_tool *world_tool(struct world *world, const char *shown)
{
    pthread_mutex_lock(&world->lock);
    const struct sma_mcp_tool *tool =
        world->catalogue == NULL ? NULL
                                 : sma_mcp_catalogue_find_shown(world->catalogue, sma_str(shown));
    pthread_mutex_unlock(&world->lock);
    CHECK(tool != NULL);
    return tool;
}

/* -- asking ------------------------------------------------------------------------------------ */
static void order(struct world *world, struct sma_msg *msg, size_t call)
{
    CHECK(msg != NULL && world->order_end < ORDER_COUNT_MAX);
    world->orders[world->order_end] = msg;
    world->order_calls[world->order_end++] = call;
}

static size_t ask(struct world *world, enum sma_mcp_call_kind kind, const char *server,
                  const char *tool, const char *arguments, uint32_t timeout_ms)
{
    pthread_mutex_lock(&world->lock);
    CHECK(world->call_count < WORLD_CALL_COUNT_MAX);
    size_t call = world->call_count++;
    world->calls[call] = (struct world_call){.seq = call + 1};
    struct sma_mcp_call asked = {.seq = call + 1,
                                 .call = 3,
                                 .kind = kind,
                                 .server = sma_str(server),
                                 .name = sma_str(tool),
                                 .arguments = sma_str(arguments),
                                 .timeout_ms = timeout_ms};
    order(world, sma_msg_make_mcp_call(&asked), call);
    pthread_mutex_unlock(&world->lock);
    return call;
}

size_t world_ask(struct world *world, const char *server, const char *tool, const char *arguments,
                 uint32_t timeout_ms)
{
    return ask(world, SMA_MCP_TOOL, server, tool, arguments, timeout_ms);
}

size_t world_ask_kind(struct world *world, enum sma_mcp_call_kind kind, const char *server,
                      const char *name, const char *arguments)
{
    return ask(world, kind, server, name, arguments, 0);
}

const struct world_call *world_await(struct world *world, size_t call)
{
    await(world, is_answered, &call, "an answer");
    return &world->calls[call];
}

const struct world_call *world_do(struct world *world, const char *server, const char *tool,
                                  const char *arguments)
{
    return world_await(world, world_ask(world, server, tool, arguments, 0));
}

void world_cancel(struct world *world, size_t call)
{
    pthread_mutex_lock(&world->lock);
    struct sma_mcp_cancel cancel = {.seq = world->calls[call].seq, .call = SMA_MCP_CALL_ALL};
    order(world, sma_msg_make_mcp_cancel(&cancel), call);
    pthread_mutex_unlock(&world->lock);
}

unsigned world_sample_count(struct world *world)
{
    pthread_mutex_lock(&world->lock);
    unsigned count = world->sample_count;
    pthread_mutex_unlock(&world->lock);
    return count;
}

bool world_is_answered(struct world *world, size_t call)
{
    pthread_mutex_lock(&world->lock);
    bool is_so = world->calls[call].answer_count > 0;
    pthread_mutex_unlock(&world->lock);
    return is_so;
}

/* -- processes --------------------------------------------------------------------------------- */
static bool names_world(const char *pid, const char *dir)
{
    char path[300], bytes[8192];
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    FILE *file = fopen(path, "re");
    size_t len = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
    if (file != NULL)
        fclose(file);
    return len > 0 && memmem(bytes, len, dir, strlen(dir)) != NULL;
}

size_t world_count_processes(const struct world *world)
{
    DIR *dir = opendir("/proc");
    CHECK(dir != NULL);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                 names_world(entry->d_name, world->dir);
    closedir(dir);
    return count;
}
