#include "world.h"

#include "sma/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_COUNT_MAX 512

struct world
{
    struct sma_config config;
    struct sma_config *reloaded;
    char dir[64], state_dir[80];
    struct sma_tools *tools;
    struct sma_system *system;
    pthread_t supervisor;
    int stop_pipe[2];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct sma_msg *orders[WORLD_RECORD_COUNT_MAX * 2];
    size_t order_records[WORLD_RECORD_COUNT_MAX * 2];
    size_t order_begin, order_end;
    struct world_record records[WORLD_RECORD_COUNT_MAX];
    size_t record_count;
    char *kept[KEPT_COUNT_MAX];
    size_t kept_count;
    struct sma_buf log;
    bool is_stopped, is_abandoned;
};

/* -- the stand-in agent and log ---------------------------------------------------------------- */
static void take_answer(struct world *world, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_tool_answer *answer = SMA_MSG_BODY(msg, struct sma_tool_answer);
    for (size_t i = 0; i < world->record_count; i++) {
        struct world_record *record = &world->records[i];
        if (record->ask_id != msg->ask_id)
            continue;
        CHECK_INT(record->seq, answer->seq);
        CHECK(answer->content.len <= SMA_TOOL_RESULT_BYTES_MAX);
        record->answer_count++;
        record->verdict = answer->verdict;
        record->is_error = answer->is_error;
        free(record->content);
        record->content =
            strndup(answer->content.len == 0 ? "" : answer->content.ptr, answer->content.len);
        free(record->item);
        record->item =
            strndup(answer->item_json.len == 0 ? "" : answer->item_json.ptr, answer->item_json.len);
        free(record->part);
        record->part = NULL;
        if (answer->part_count > 0)
            CHECK(asprintf(&record->part, "%u: %d %s %s", answer->part_count, answer->parts[0].kind,
                           answer->parts[0].mime.ptr, answer->parts[0].path.ptr) > 0);
        record->answered_ns = sma_ctx_now(ctx);
    }
}

/* content: the note; item: what it is */
static void take_encoded(struct world *world, struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_encoded *encoded = SMA_MSG_BODY(msg, struct sma_encoded);
    const struct sma_part *part = &encoded->part;
    for (size_t i = 0; i < world->record_count; i++) {
        struct world_record *record = &world->records[i];
        if (record->ask_id != msg->ask_id)
            continue;
        CHECK_INT(record->seq, encoded->seq);
        CHECK_INT(7, encoded->index);
        record->answer_count++;
        free(record->content);
        free(record->item);
        record->content = strndup(part->note.ptr, part->note.len);
        CHECK(asprintf(&record->item, "%d %s %ux%u %llu %s", part->kind, part->mime.ptr,
                       part->width, part->height, (unsigned long long)part->length,
                       part->hash.ptr) > 0);
        record->answered_ns = sma_ctx_now(ctx);
    }
}

static void agent_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct world *world = state;
    pthread_mutex_lock(&world->lock);
    if ((*msg)->kind == SMA_MSG_TOOL_ANSWER)
        take_answer(world, *msg, ctx);
    if ((*msg)->kind == SMA_MSG_ENCODED)
        take_encoded(world, *msg, ctx);
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
        struct world_record *record = &world->records[world->order_records[world->order_begin]];
        if ((*msg)->kind == SMA_MSG_TOOL || (*msg)->kind == SMA_MSG_ENCODE) {
            record->asked_ns = sma_ctx_now(ctx);
            CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_TOOLS, msg, 0, &record->ask_id));
        } else {
            CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_TOOLS, msg));
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
    const struct sma_log_line *line = SMA_MSG_BODY(*msg, struct sma_log_line);
    pthread_mutex_lock(&world->lock);
    sma_buf_put_str(&world->log, line->text);
    sma_buf_put_str(&world->log, line->details_json);
    sma_buf_put_char(&world->log, '\n');
    pthread_mutex_unlock(&world->lock);
}

static const struct sma_actor_ops log_ops = {.name = "log", .handle = log_handle};

/* -- life -------------------------------------------------------------------------------------- */
static void on_reload(void *user)
{
    struct world *world = user;
    pthread_mutex_lock(&world->lock);
    const struct sma_config *config = world->reloaded;
    pthread_mutex_unlock(&world->lock);
    sma_system_reload(world->system, config);
}

static void *supervise(void *argument)
{
    struct world *world = argument;
    struct sma_supervise_options options = {.stop_fd = world->stop_pipe[0],
                                            .on_reload = on_reload,
                                            .user = world,
                                            .drain_ms = world->is_abandoned ? 1 : 30000 * PATIENCE};
    CHECK_INT(0, sma_system_supervise(world->system, &options));
    return NULL;
}

static void make_project(struct world *world)
{
    snprintf(world->dir, sizeof world->dir, "/tmp/sma-tools-XXXXXX");
    CHECK(mkdtemp(world->dir) != NULL);
    snprintf(world->state_dir, sizeof world->state_dir, "%s/.ship", world->dir);
    CHECK(mkdir(world->state_dir, 0700) == 0);
    world->config.project_dir = world->dir;
    world->config.state_dir = world->state_dir;
    world->config.llm.api_key = "sk-canary-0123456789";
    world->config.api_token = "";
    world->config.agent_md = world->config.name = "";
    world_put_file(world, "Agent.md", "# agent\n");
}

static struct world *create(const char *permissions, bool is_abandoned)
{
    struct world *world = calloc(1, sizeof *world);
    CHECK(world != NULL);
    world->is_abandoned = is_abandoned;
    make_project(world);
    sigset_t set; /* the supervisor takes it; threads started from here on leave it to that */
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    world->config.permissions_json = permissions;
    sma_buf_init(&world->log, 16 * 1024 * 1024);
    pthread_mutex_init(&world->lock, NULL);
    pthread_cond_init(&world->changed, NULL);
    CHECK(pipe2(world->stop_pipe, O_CLOEXEC) == 0);
    struct sma_system_options options = {0};
    struct sma_error error = {.code = SMA_ERR_OK};
    world->system = sma_system_create(&options);
    CHECK(world->system != NULL);
    enum sma_err err = sma_tools_create(&world->config, &world->tools, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_LOG, &log_ops, world));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_TOOLS, &sma_tools_actor_ops, world->tools));
    CHECK_OK(sma_system_add(world->system, SMA_ACTOR_AGENT, &agent_ops, world));
    CHECK_OK(sma_system_start(world->system, &error));
    CHECK(pthread_create(&world->supervisor, NULL, supervise, world) == 0);
    return world;
}

struct world *world_create(const char *permissions)
{
    return create(permissions, false);
}

struct world *world_create_hurried(const char *permissions)
{
    return create(permissions, true);
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *walk)
{
    (void)facts;
    (void)type;
    (void)walk;
    return remove(path);
}

void world_remove(const char *dir)
{
    CHECK(strncmp(dir, "/tmp/sma-tools-", 15) == 0);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void world_drain(struct world *world)
{
    CHECK(write(world->stop_pipe[1], "x", 1) == 1);
    world->is_stopped = true;
}

void world_destroy(struct world *world)
{
    if (!world->is_stopped)
        world_drain(world);
    pthread_join(world->supervisor, NULL);
    sma_system_destroy(world->system);
    sma_tools_destroy(world->tools);
    if (world->is_abandoned)
        world_await_no_process(world->dir);
    for (size_t i = 0; i < world->record_count; i++) {
        CHECK(world->is_abandoned || world->records[i].answer_count == 1);
        free(world->records[i].content);
        free(world->records[i].item);
        free(world->records[i].part);
    }
    CHECK_INT(0, world_count_processes(world->dir));
    CHECK(!world_has_file(world, ".env") || strstr(world_get_file(world, ".env"), "Empty") == NULL);
    for (size_t i = 0; i < world->kept_count; i++)
        free(world->kept[i]);
    world_remove(world->dir);
    free(world->reloaded);
    close(world->stop_pipe[0]);
    close(world->stop_pipe[1]);
    pthread_mutex_destroy(&world->lock);
    pthread_cond_destroy(&world->changed);
    sma_buf_fini(&world->log);
    free(world);
}

const char *world_dir(const struct world *world)
{
    return world->dir;
}

struct sma_config *world_config(struct world *world)
{
    return &world->config;
}

void world_describe(const struct world *world, char *text, size_t size)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 1024);
    sma_tools_describe(world->tools, &buf);
    snprintf(text, size, "%s", buf.ptr);
    sma_buf_fini(&buf);
}

bool world_is_boxed(const struct world *world)
{
    char text[512];
    world_describe(world, text, sizeof text);
    return strstr(text, "NOT sandboxed") == NULL;
}

void world_reload(struct world *world, const char *permissions)
{
    struct sma_config *config = calloc(1, sizeof *config);
    CHECK(config != NULL && world->reloaded == NULL);
    *config = world->config;
    config->permissions_json = permissions;
    pthread_mutex_lock(&world->lock);
    world->reloaded = config;
    pthread_mutex_unlock(&world->lock);
    CHECK(kill(getpid(), SIGHUP) == 0);
}

/* -- asking ------------------------------------------------------------------------------------ */
size_t world_ask(struct world *world, const struct sma_tool_ask *template)
{
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_TOOL, struct sma_tool_ask,
                    template->name.len + template->arguments.len + template->chat_key.len + 64);
    CHECK(msg != NULL);
    struct sma_tool_ask *ask = SMA_MSG_BODY(msg, struct sma_tool_ask);
    *ask = *template;
    ask->name = sma_msg_dup(msg, template->name);
    ask->arguments = sma_msg_dup(msg, template->arguments);
    ask->chat_key = sma_msg_dup(msg, template->chat_key);
    ask->receiver = sma_msg_dup(msg, template->receiver);
    pthread_mutex_lock(&world->lock);
    size_t record = world->record_count++;
    CHECK(record < WORLD_RECORD_COUNT_MAX);
    if (ask->seq == 0)
        ask->seq = record + 1;
    world->records[record].seq = ask->seq;
    world->order_records[world->order_end] = record;
    world->orders[world->order_end++] = msg;
    pthread_mutex_unlock(&world->lock);
    return record;
}

size_t world_encode(struct world *world, uint64_t seq, const char *path, uint32_t max_side)
{
    struct sma_msg *msg = sma_msg_make_encode(&(struct sma_encode_ask){
        .seq = seq,
        .index = 7,
        .max_side = max_side,
        .max_bytes = 1024 * 1024,
        .part = {.kind = SMA_PART_FILE, .path = sma_str(path)},
    });
    CHECK(msg != NULL);
    pthread_mutex_lock(&world->lock);
    size_t record = world->record_count++;
    CHECK(record < WORLD_RECORD_COUNT_MAX);
    world->records[record].seq = seq;
    world->order_records[world->order_end] = record;
    world->orders[world->order_end++] = msg;
    pthread_mutex_unlock(&world->lock);
    return record;
}

size_t world_run(struct world *world, const char *command, long timeout_ms)
{
    json_t *root = json_pack("{s:s}", "command", command);
    CHECK(root != NULL);
    if (timeout_ms >= 0)
        json_object_set_new(root, "timeout", json_integer(timeout_ms));
    char *text = json_dumps(root, JSON_COMPACT);
    struct sma_tool_ask ask = {.mode = SMA_TOOL_RUN,
                               .standing = SMA_STANDING_OWNER,
                               .name = SMA_STR("exec_shell"),
                               .arguments = sma_str(text),
                               .chat_key = SMA_STR("test:1")};
    size_t record = world_ask(world, &ask);
    free(text);
    json_decref(root);
    return record;
}

void world_cancel(struct world *world, uint64_t seq)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_TOOL_CANCEL, struct sma_tool_cancel, 0);
    SMA_MSG_BODY(msg, struct sma_tool_cancel)->seq = seq;
    pthread_mutex_lock(&world->lock);
    world->order_records[world->order_end] = 0;
    world->orders[world->order_end++] = msg;
    pthread_mutex_unlock(&world->lock);
}

const struct world_record *world_await(struct world *world, size_t record)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_AWAIT_MS / 1000;
    pthread_mutex_lock(&world->lock);
    while (world->records[record].answer_count == 0)
        CHECK_INT(0, pthread_cond_timedwait(&world->changed, &world->lock, &until));
    pthread_mutex_unlock(&world->lock);
    return &world->records[record];
}

void world_await_asked(struct world *world, size_t record)
{
    for (bool is_asked = false; !is_asked; usleep(1000)) {
        pthread_mutex_lock(&world->lock);
        is_asked = world->records[record].ask_id != 0;
        pthread_mutex_unlock(&world->lock);
    }
}

bool world_is_answered(struct world *world, size_t record)
{
    pthread_mutex_lock(&world->lock);
    bool is_answered = world->records[record].answer_count > 0;
    pthread_mutex_unlock(&world->lock);
    return is_answered;
}

const struct world_record *world_do(struct world *world, const char *command)
{
    return world_await(world, world_run(world, command, -1));
}

static const char *keep(struct world *world, char *text)
{
    CHECK(text != NULL && world->kept_count < KEPT_COUNT_MAX);
    world->kept[world->kept_count++] = text;
    return text;
}

const char *world_member(struct world *world, const struct world_record *record, const char *name)
{
    json_error_t where;
    json_t *root = json_loads(record->content, JSON_ALLOW_NUL, &where);
    if (root == NULL)
        fprintf(stderr, "not JSON (%s): %.300s\n", where.text, record->content);
    CHECK(root != NULL);
    const json_t *value = json_object_get(root, name);
    char *text = json_is_string(value) ? strdup(json_string_value(value))
                 : value == NULL       ? strdup("")
                                       : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(root);
    return keep(world, text);
}

bool world_has_logged(struct world *world, const char *part)
{
    bool is_there = false;
    for (int i = 0; i < 2000 && !is_there; i++) {
        pthread_mutex_lock(&world->lock);
        is_there = world->log.ptr != NULL && strstr(world->log.ptr, part) != NULL;
        pthread_mutex_unlock(&world->lock);
        if (!is_there)
            poll(NULL, 0, 1);
    }
    return is_there;
}

/* -- files and processes ----------------------------------------------------------------------- */
bool world_has_file(struct world *world, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world->dir, name);
    return access(path, F_OK) == 0;
}

void world_await_file(struct world *world, const char *name)
{
    for (int i = 0; i < PATIENCE_AWAIT_MS / 2 && !world_has_file(world, name); i++)
        poll(NULL, 0, 2);
    CHECK(world_has_file(world, name));
}

void world_put_file(struct world *world, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world->dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

const char *world_get_file(struct world *world, const char *name)
{
    char path[256], *bytes = NULL;
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s", world->dir, name);
    if (sma_sys_read_file(sma_sys_real(), path, 128 * 1024 * 1024, &bytes, &len, NULL) !=
        SMA_ERR_OK)
        return "";
    return keep(world, bytes);
}

size_t world_count_processes(const char *word)
{
    size_t count = 0;
    DIR *dir = opendir("/proc");
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[300], bytes[4096];
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            strtol(entry->d_name, NULL, 10) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
        if (fd >= 0)
            close(fd);
        count += len > 0 && memmem(bytes, (size_t)len, word, strlen(word)) != NULL;
    }
    closedir(dir);
    return count;
}

void world_await_no_process(const char *word)
{
    for (int i = 0; i < PATIENCE_AWAIT_MS / 5 && world_count_processes(word) > 0; i++)
        poll(NULL, 0, 5);
    CHECK_INT(0, world_count_processes(word));
}
