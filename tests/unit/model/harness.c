#include "harness.h"
#include "runtime/model/target.h"

#include "sma/actors.h"
#include "sma/wire.h"
#include "support/check.h"
#include "support/patience.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 500000u
#define WAIT_S (PATIENCE_AWAIT_MS / 1000)

struct order
{
    struct sma_msg *msg; /* MODEL; or NULL: cancel */
    size_t record;
};

struct harness
{
    struct sma_config config;
    char base_url[128], directory[64], log_path[128];
    pid_t fake_pid;
    struct sma_model *model;
    struct sma_system *system;
    pthread_t supervisor;
    int stop_pipe[2];
    const struct sma_config *next_config;
    struct sma_buf log;
    char *log_copy;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct order orders[HARNESS_RECORD_COUNT_MAX];
    size_t order_begin, order_end;
    struct harness_record *records;
    size_t record_count;
};

/* -- the stand-in agent ------------------------------------------------------------------------ */
static void copy(char *to, size_t size, struct sma_str text)
{
    snprintf(to, size, "%.*s", (int)text.len, text.len == 0 ? "" : text.ptr);
}

static void take_answer(struct harness *harness, const struct sma_msg *msg, struct sma_ctx *ctx)
{
    const struct sma_model_answer *answer = sma_msg_body((struct sma_msg *)msg, sizeof *answer);
    for (size_t i = 0; i < harness->record_count; i++) {
        struct harness_record *record = &harness->records[i];
        if (record->ask_id != msg->ask_id)
            continue;
        record->answer_count++;
        record->is_answered = true;
        record->answered_ns = sma_ctx_now(ctx);
        record->status = answer->status;
        record->finish = answer->finish;
        record->http_status = answer->http_status;
        record->call_count = answer->call_count;
        record->out_ns = answer->out_ns;
        record->first_token_ns = answer->first_token_ns;
        record->input_tokens = answer->usage.input;
        record->trouble = answer->trouble;
        snprintf(record->refused, sizeof record->refused, "%.*s", (int)answer->refused_member.len,
                 answer->refused_member.len > 0 ? answer->refused_member.ptr : "");
        record->retry_after_ms = answer->retry_after_ms;
        record->usage = answer->usage;
        copy(record->text, sizeof record->text, answer->text);
        copy(record->error, sizeof record->error, answer->error);
        copy(record->fragment, sizeof record->fragment, answer->fragment);
        if (answer->call_count > 0) {
            copy(record->call_name, sizeof record->call_name, answer->calls[0].name);
            copy(record->call_arguments, sizeof record->call_arguments, answer->calls[0].arguments);
        }
    }
}

static void take_delta(struct harness *harness, const struct sma_msg *msg)
{
    const struct sma_model_delta *delta = sma_msg_body((struct sma_msg *)msg, sizeof *delta);
    CHECK(delta->seq >= 1 && delta->seq <= harness->record_count);
    struct harness_record *record = &harness->records[delta->seq - 1];
    record->delta_count++;
    record->is_delta_send = delta->is_send_text;
    copy(record->delta, sizeof record->delta, delta->text);
}

static void agent_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct harness *harness = state;
    pthread_mutex_lock(&harness->lock);
    if ((*msg)->kind == SMA_MSG_MODEL_ANSWER)
        take_answer(harness, *msg, ctx);
    else if ((*msg)->kind == SMA_MSG_MODEL_DELTA)
        take_delta(harness, *msg);
    pthread_cond_broadcast(&harness->changed);
    pthread_mutex_unlock(&harness->lock);
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
}

static void agent_wake(void *state, struct sma_ctx *ctx)
{
    struct harness *harness = state;
    pthread_mutex_lock(&harness->lock);
    for (; harness->order_begin < harness->order_end; harness->order_begin++) {
        struct order *order = &harness->orders[harness->order_begin];
        struct harness_record *record = &harness->records[order->record];
        if (order->msg == NULL) {
            struct sma_msg *cancel = SMA_MSG_NEW(SMA_MSG_MODEL_CANCEL, struct sma_model_cancel, 0);
            SMA_MSG_BODY(cancel, struct sma_model_cancel)->ask_id = record->ask_id;
            CHECK_OK(sma_ctx_send(ctx, SMA_ACTOR_MODEL, &cancel));
            continue;
        }
        record->asked_ns = sma_ctx_now(ctx);
        CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_MODEL, &order->msg, 0, &record->ask_id));
    }
    pthread_mutex_unlock(&harness->lock);
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + POLL_NS);
}

static enum sma_err agent_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)state;
    (void)error;
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + POLL_NS);
    return SMA_ERR_OK;
}

static const struct sma_actor_ops agent_ops = {
    .name = "agent", .start = agent_start, .handle = agent_handle, .wake = agent_wake};

/* -- the stand-in log -------------------------------------------------------------------------- */
static void log_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct harness *harness = state;
    (void)ctx;
    pthread_mutex_lock(&harness->lock);
    if ((*msg)->kind == SMA_MSG_LOG) {
        const struct sma_log_line *line = SMA_MSG_BODY(*msg, struct sma_log_line);
        sma_buf_printf(&harness->log, "%d ", line->level);
        sma_buf_put_str(&harness->log, line->text);
        sma_buf_put_char(&harness->log, ' ');
        if (line->details_json.len > 0)
            sma_buf_put_str(&harness->log, line->details_json);
        sma_buf_put_char(&harness->log, '\n');
    }
    pthread_cond_broadcast(&harness->changed);
    pthread_mutex_unlock(&harness->lock);
}

static const struct sma_actor_ops log_ops = {.name = "log", .handle = log_handle};

static void on_reload(void *user)
{
    struct harness *harness = user;
    pthread_mutex_lock(&harness->lock);
    const struct sma_config *config = harness->next_config;
    pthread_mutex_unlock(&harness->lock);
    sma_system_reload(harness->system, config);
}

/* -- the fake ---------------------------------------------------------------------------------- */
static void start_fake(struct harness *harness, const char *const *options)
{
    int out[2];
    const char *arguments[24] = {SMA_FAKE_MODEL, "--log", harness->log_path};
    size_t count = 3;
    for (; options != NULL && *options != NULL && count < 23; options++)
        arguments[count++] = *options;
    CHECK(pipe(out) == 0);
    harness->fake_pid = fork();
    CHECK(harness->fake_pid >= 0);
    if (harness->fake_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* else it outlives a failed check, with its output */
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        execv(SMA_FAKE_MODEL, (char *const *)arguments);
        _exit(127);
    }
    close(out[1]);
    char line[64] = "";
    size_t len = 0;
    while (len < sizeof line - 1 && strchr(line, '\n') == NULL) {
        ssize_t got = read(out[0], line + len, sizeof line - 1 - len);
        CHECK(got > 0);
        len += (size_t)got;
        line[len] = '\0';
    }
    close(out[0]);
    int port = 0;
    CHECK(sscanf(line, "PORT %d", &port) == 1);
    snprintf(harness->base_url, sizeof harness->base_url, "http://127.0.0.1:%d/v1", port);
}

static void *supervise(void *argument)
{
    struct harness *harness = argument;
    struct sma_supervise_options options = {
        .stop_fd = harness->stop_pipe[0], .on_reload = on_reload, .user = harness};
    CHECK_INT(0, sma_system_supervise(harness->system, &options));
    return NULL;
}

struct harness *harness_create(const struct sma_config_llm *llm, const char *const *fake_options)
{
    struct harness *harness = calloc(1, sizeof *harness);
    CHECK(harness != NULL);
    harness->records = calloc(HARNESS_RECORD_COUNT_MAX, sizeof *harness->records);
    CHECK(harness->records != NULL);
    sigset_t
        /* for every thread started from here: the supervisor reads it from its descriptor */
        hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    CHECK(pthread_sigmask(SIG_BLOCK, &hangup, NULL) == 0);
    sma_buf_init(&harness->log, 64u << 20);
    strncpy(harness->directory, "/tmp/sma-model-XXXXXX", sizeof harness->directory - 1);
    CHECK(mkdtemp(harness->directory) != NULL);
    snprintf(harness->log_path, sizeof harness->log_path, "%s/log", harness->directory);
    start_fake(harness, fake_options);
    harness->config.llm = *llm;
    if (llm->base_url == NULL)
        harness->config.llm.base_url = harness->base_url;
    pthread_mutex_init(&harness->lock, NULL);
    pthread_cond_init(&harness->changed, NULL);
    CHECK(pipe(harness->stop_pipe) == 0);
    struct sma_system_options options = {0};
    struct sma_error error = {0};
    harness->system = sma_system_create(&options);
    CHECK(harness->system != NULL);
    CHECK_OK(sma_model_create(&harness->config, &harness->model, &error));
    CHECK_OK(
        sma_system_add(harness->system, SMA_ACTOR_MODEL, &sma_model_actor_ops, harness->model));
    CHECK_OK(sma_system_add(harness->system, SMA_ACTOR_AGENT, &agent_ops, harness));
    CHECK_OK(sma_system_add(harness->system, SMA_ACTOR_LOG, &log_ops, harness));
    CHECK_OK(sma_system_start(harness->system, &error));
    CHECK(pthread_create(&harness->supervisor, NULL, supervise, harness) == 0);
    return harness;
}

void harness_kill_fake(struct harness *harness)
{
    if (harness->fake_pid == 0)
        return;
    kill(harness->fake_pid, SIGKILL);
    waitpid(harness->fake_pid, NULL, 0);
    harness->fake_pid = 0;
}

void harness_destroy(struct harness *harness)
{
    CHECK(write(harness->stop_pipe[1], "x", 1) == 1);
    pthread_join(harness->supervisor, NULL);
    sma_system_destroy(harness->system);
    sma_model_destroy(harness->model);
    for (size_t i = 0; i < harness->record_count; i++)
        CHECK_INT(1, harness->records[i].answer_count);
    harness_kill_fake(harness);
    unlink(harness->log_path);
    rmdir(harness->directory);
    close(harness->stop_pipe[0]);
    close(harness->stop_pipe[1]);
    pthread_mutex_destroy(&harness->lock);
    pthread_cond_destroy(&harness->changed);
    sma_buf_fini(&harness->log);
    free(harness->log_copy);
    free(harness->records);
    free(harness);
}

/* -- the test's side --------------------------------------------------------------------------- */
static size_t add_order(struct harness *harness, struct sma_msg *msg, size_t record)
{
    CHECK(harness->order_end < HARNESS_RECORD_COUNT_MAX);
    harness->orders[harness->order_end++] = (struct order){msg, record};
    return record;
}

struct question
{
    const struct sma_config_llm *llm;
    const char *chat_key;
    struct sma_str body;
    size_t turn_offset, turn_end;
    const struct harness_file *files;
    size_t file_count;
};

/* One text each: as the table's own copy would have them. */
static void put_files(struct sma_msg *msg, struct sma_model_ask *ask,
                      const struct question *question)
{
    if (question->file_count == 0)
        return;
    ask->files = sma_msg_space(msg, question->file_count * sizeof *ask->files);
    ask->file_count = (uint32_t)question->file_count;
    for (size_t i = 0; i < question->file_count; i++)
        ask->files[i] =
            (struct sma_body_file){.offset = question->files[i].offset,
                                   .path = sma_msg_dup(msg, sma_str(question->files[i].path)),
                                   .length = question->files[i].length};
}

static size_t put_question(struct harness *harness, const struct question *question)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_MODEL, struct sma_model_ask,
                                      question->body.len + strlen(question->chat_key) + 2 +
                                          4400 * question->file_count);
    CHECK(msg != NULL);
    struct sma_model_ask *ask = SMA_MSG_BODY(msg, struct sma_model_ask);
    ask->body = sma_msg_dup(msg, question->body);
    ask->chat_key = sma_msg_dup(msg, sma_str(question->chat_key));
    put_files(msg, ask, question);
    ask->turn_offset = (uint32_t)question->turn_offset;
    ask->turn_end = (uint32_t)question->turn_end;
    pthread_mutex_lock(&harness->lock);
    size_t record = harness->record_count++;
    CHECK(record < HARNESS_RECORD_COUNT_MAX);
    ask->llm = question->llm;
    ask->seq = record + 1;
    add_order(harness, msg, record);
    pthread_mutex_unlock(&harness->lock);
    return record;
}

size_t harness_ask_body(struct harness *harness, struct sma_str body)
{
    struct question question = {.llm = &harness->config.llm, .chat_key = "", .body = body};
    return put_question(harness, &question);
}

size_t harness_ask_files(struct harness *harness, const struct sma_config_llm *llm,
                         struct sma_str body, const struct harness_file *files, size_t count)
{
    struct question question = {.llm = llm,
                                .chat_key = "",
                                .body = body,
                                .turn_end = body.len,
                                .files = files,
                                .file_count = count};
    return put_question(harness, &question);
}

size_t harness_ask_at(struct harness *harness, const struct sma_config_llm *llm,
                      const char *chat_key, const char *text)
{
    enum sma_llm_api api = llm->api == SMA_LLM_OFFLINE ? SMA_LLM_CHAT : llm->api;
    const struct sma_wire *wire = sma_wire_get(api);
    struct sma_str block = sma_str(text);
    struct sma_buf body;
    sma_buf_init(&body, SMA_REQUEST_BYTES_MAX);
    struct sma_target target;
    sma_target_init(&target, llm);
    struct question question = {.llm = llm, .chat_key = chat_key};
    wire->put_head(&body, &target, SMA_STR("You are a test."), NULL, 0);
    question.turn_offset = body.len;
    wire->put_user(&body, &target, &block, 1);
    question.turn_end = body.len;
    wire->put_tail(&body, &target, (struct sma_str){0});
    CHECK_INT(SMA_ERR_OK, body.err);
    question.body = sma_buf_str(&body);
    size_t record = put_question(harness, &question);
    sma_buf_fini(&body);
    return record;
}

size_t harness_ask(struct harness *harness, const char *text)
{
    return harness_ask_at(harness, &harness->config.llm, "", text);
}

const char *harness_url(const struct harness *harness)
{
    return harness->base_url;
}

static struct timespec deadline(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    return until;
}

void harness_reload(struct harness *harness, const struct sma_config *config)
{
    static const char said[] = "new requests go to";
    struct timespec pause = {.tv_nsec = 1000000};
    size_t before = harness_log_count(harness, said);
    pthread_mutex_lock(&harness->lock);
    harness->next_config = config;
    pthread_mutex_unlock(&harness->lock);
    CHECK(kill(getpid(), SIGHUP) == 0);
    for (int i = 0; i < WAIT_S * 1000 && harness_log_count(harness, said) == before; i++)
        nanosleep(&pause, NULL);
    CHECK(harness_log_count(harness, said) == before + 1);
}

const char *harness_log(struct harness *harness)
{
    pthread_mutex_lock(&harness->lock);
    free(harness->log_copy);
    harness->log_copy = strndup(harness->log.len == 0 ? "" : harness->log.ptr, harness->log.len);
    CHECK(harness->log_copy != NULL);
    pthread_mutex_unlock(&harness->lock);
    return harness->log_copy;
}

size_t harness_log_count(struct harness *harness, const char *text)
{
    size_t count = 0;
    for (const char *at = harness_log(harness); (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

void harness_wait_log(struct harness *harness, const char *text)
{
    struct timespec until = deadline();
    pthread_mutex_lock(&harness->lock);
    while (harness->log.len == 0 ||
           memmem(harness->log.ptr, harness->log.len, text, strlen(text)) == NULL) {
        bool is_late = pthread_cond_timedwait(&harness->changed, &harness->lock, &until) != 0;
        if (is_late)
            fprintf(stderr, "  not logged: %s; but:\n%.*s", text, (int)harness->log.len,
                    harness->log.len == 0 ? "" : harness->log.ptr);
        CHECK(!is_late);
    }
    pthread_mutex_unlock(&harness->lock);
}

void harness_cancel(struct harness *harness, size_t record)
{
    pthread_mutex_lock(&harness->lock);
    add_order(harness, NULL, record);
    pthread_mutex_unlock(&harness->lock);
}

const struct harness_record *harness_get(struct harness *harness, size_t record)
{
    return &harness->records[record];
}

const struct harness_record *harness_wait(struct harness *harness, size_t record)
{
    struct timespec until = deadline();
    pthread_mutex_lock(&harness->lock);
    while (!harness->records[record].is_answered)
        CHECK(pthread_cond_timedwait(&harness->changed, &harness->lock, &until) == 0);
    pthread_mutex_unlock(&harness->lock);
    return &harness->records[record];
}

void harness_wait_delta(struct harness *harness, size_t record)
{
    struct timespec until = deadline();
    pthread_mutex_lock(&harness->lock);
    while (harness->records[record].delta_count == 0)
        CHECK(pthread_cond_timedwait(&harness->changed, &harness->lock, &until) == 0);
    pthread_mutex_unlock(&harness->lock);
}

size_t harness_requests(struct harness *harness, size_t *ret_connections)
{
    bool seen[4096] = {false};
    size_t count = 0, connections = 0;
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(harness->log_path, "re");
    while (file != NULL && getline(&line, &size, file) > 0) {
        unsigned long long number = 0, connection = 0;
        if (sscanf(line, "{\"n\":%llu,\"connection\":%llu", &number, &connection) != 2)
            continue;
        count++;
        connections += connection < 4096 && !seen[connection];
        seen[connection % 4096] = true;
    }
    if (file != NULL)
        fclose(file);
    free(line);
    if (ret_connections != NULL)
        *ret_connections = connections;
    return count;
}

void harness_wait_requests(struct harness *harness, size_t count)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < WAIT_S * 1000; i++) {
        if (harness_requests(harness, NULL) >= count)
            return;
        nanosleep(&pause, NULL); /* the log file is the only event there is */
    }
    CHECK(!"the fake was not asked in time");
}

long harness_wakeups(struct harness *harness)
{
    (void)harness;
    long wakeups = -1;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[512], line[256];
        bool is_model = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            is_model |= strcmp(line, "Name:\tmodel\n") == 0;
            if (is_model)
                (void)sscanf(line, "voluntary_ctxt_switches: %ld", &wakeups);
        }
        if (file != NULL)
            fclose(file);
    }
    closedir(tasks);
    CHECK(wakeups >= 0);
    return wakeups;
}

/* -- what most cases need ---------------------------------------------------------------------- */
struct sma_config_llm harness_llm(enum sma_llm_api api)
{
    return (struct sma_config_llm){
        .api = api,
        .provider = "custom",
        .model = "m-1",
        .api_key = "sk-secret-key",
        .anthropic_version = "2023-06-01",
        .is_stream = true,
        .connect_ms = 600 * PATIENCE,
        .first_byte_ms = 600 * PATIENCE,
        .idle_ms = 600 * PATIENCE,
        .total_ms = 15000,
    };
}

void harness_check_said(const struct harness_record *record, const char *text)
{
    char wanted[600];
    snprintf(wanted, sizeof wanted, "{\"text\":\"You said: %s\"}", text);
    if (record->status != SMA_MODEL_OK)
        fprintf(stderr, "  %s\n", record->error);
    CHECK_INT(SMA_MODEL_OK, record->status);
    CHECK_TEXT("chat_send", record->call_name);
    CHECK_TEXT(wanted, record->call_arguments);
    CHECK_INT(SMA_FINISH_TOOLS, record->finish);
}
