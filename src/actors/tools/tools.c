/*
 * tools.c — the tools actor: questions in, places given, answers out, life cycle.
 */
#include "tools_priv.h"

#include "actors/kernel/traffic.h"
#include "runtime/approval/request.h"
#include "runtime/exec/helper.h"
#include "runtime/files/guard.h"
#include "sma/health.h"
#include "sma/labels.h"
#include "sma/metrics.h"
#include "sma/text.h"

#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TOOLS_MAGIC 0x746f6f6cu
#define PREFIX_KEY "shipmyagent exec"

/* -- set-up ------------------------------------------------------------------------------------ */
void tools_unref_setup(struct tools_setup *setup)
{
    if (setup == NULL || --setup->refs > 0)
        return;
    sma_tool_rules_destroy(setup->rules);
    sma_file_tools_destroy(setup->files);
    sma_secrets_destroy(setup->secrets);
    sma_exec_options_fini(&setup->options);
    sma_buf_fini(&setup->helper);
    sma_buf_fini(&setup->web_helper);
    sma_web_rules_destroy(setup->web);
    free(setup);
}

/* The rules know members of `permissions`; people have to know in which file those stand. */
static enum sma_err name_file(enum sma_err err, struct sma_error *error)
{
    if (err != SMA_ERR_BADINPUT)
        return err;
    struct sma_error detail = *error;
    return sma_fail(error, err, "ship.json: %s", detail.text);
}

static enum sma_err fill_setup(struct tools_setup *setup, const struct sma_tools *tools,
                               struct sma_error *error)
{
    enum sma_err err = sma_exec_options_parse(setup->config->permissions_json,
                                              setup->config->project_dir, &setup->options, error);
    if (err == SMA_ERR_OK && !setup->options.says_mode && setup->config->sandbox != NULL &&
        strcmp(setup->config->sandbox, "require") == 0)
        setup->options.mode = SMA_SANDBOX_REQUIRE; /* the unit starts the service so */
    if (err == SMA_ERR_OK)
        err = name_file(sma_tool_rules_create(setup->config, &setup->rules, error), error);
    if (err == SMA_ERR_OK)
        err = name_file(sma_file_tools_create(setup->config, &setup->files, error), error);
    if (err == SMA_ERR_OK)
        err = name_file(sma_web_rules_parse(setup->config->permissions_json,
                                            setup->config->web.json, &setup->web, error),
                        error);
    if (err != SMA_ERR_OK)
        return err;
    if (sma_secrets_create(setup->config, &setup->secrets) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    /* what was a secret before a reload stays one */
    for (size_t i = 0; i < tools->config_count; i++)
        if (sma_secrets_add_config(setup->secrets, tools->configs[i]) != SMA_ERR_OK)
            return sma_fail(error, SMA_ERR_FULL, "too many secrets to keep them out of outputs");
    err = sma_sandbox_find(setup->config, &setup->options, &setup->sandbox, error);
    setup->sandbox.secrets = setup->secrets;
    setup->sandbox.policy = sma_tool_rules_policy(setup->rules);
    sma_tool_rules_set_sandbox(setup->rules, !setup->sandbox.is_on ? SMA_REQUEST_SANDBOX_NONE
                                             : setup->options.has_network
                                                 ? SMA_REQUEST_SANDBOX_ONLINE
                                                 : SMA_REQUEST_SANDBOX_OFFLINE);
    return err;
}

static enum sma_err create_setup(struct sma_tools *tools, const struct sma_config *config,
                                 struct tools_setup **ret_setup, struct sma_error *error)
{
    struct tools_setup *setup = calloc(1, sizeof *setup);
    if (setup == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    setup->refs = 1;
    setup->config = config;
    sma_buf_init(&setup->helper, PATH_MAX * 2);
    if (!sma_media_find_helper(&setup->helper))
        sma_buf_clear(&setup->helper);
    sma_buf_init(&setup->web_helper, PATH_MAX * 2);
    if (!sma_helper_find("fetch-page", &setup->web_helper))
        sma_buf_clear(&setup->web_helper);
    enum sma_err err = fill_setup(setup, tools, error);
    if (err != SMA_ERR_OK) {
        tools_unref_setup(setup);
        return err;
    }
    if (tools->config_count < TOOLS_CONFIG_COUNT_MAX)
        tools->configs[tools->config_count++] = config;
    *ret_setup = setup;
    return SMA_ERR_OK;
}

static void leave(struct tools_job *job);

/* -- life -------------------------------------------------------------------------------------- */
enum sma_err sma_tools_create(const struct sma_config *config, struct sma_tools **ret_tools,
                              struct sma_error *error)
{
    struct sma_tools *tools = calloc(1, sizeof *tools);
    if (tools == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the tools actor");
    tools->magic = TOOLS_MAGIC;
    tools->jobs.next = tools->jobs.previous = &tools->jobs;
    tools->wake_ns = UINT64_MAX;
    tools->on_leave = leave;
    tools->read_bytes = malloc(TOOLS_READ_BYTES);
    enum sma_err err = tools->read_bytes == NULL
                           ? sma_fail(error, SMA_ERR_NOMEM, "no memory for the tools actor")
                           : create_setup(tools, config, &tools->setup, error);
    if (err != SMA_ERR_OK) {
        sma_tools_destroy(tools);
        return err;
    }
    static const uint8_t key[16] = PREFIX_KEY;
    snprintf(
        tools->marker_prefix, sizeof tools->marker_prefix, "%016llx-",
        (unsigned long long)sma_siphash(key, config->project_dir, strlen(config->project_dir)));
    *ret_tools = tools;
    return SMA_ERR_OK;
}

static void destroy_job(struct tools_job *job)
{
    job->previous->next = job->next;
    job->next->previous = job->previous;
    tools_exec_destroy(job);
    tools_web_destroy(job);
    sma_sandbox_plan_fini(&job->plan);
    free(job->variables);
    sma_buf_fini(&job->target);
    sma_buf_fini(&job->item);
    sma_buf_fini(&job->why);
    sma_buf_fini(&job->result);
    sma_buf_fini(&job->seen.path);
    tools_unref_look(job->look);
    sma_skills_destroy(job->skills);
    sma_msg_destroy(job->question);
    tools_unref_setup(job->setup);
    free(job);
}

void sma_tools_destroy(struct sma_tools *tools)
{
    if (tools == NULL)
        return;
    SMA_ASSERT(tools->magic == TOOLS_MAGIC);
    while (tools->jobs.next != &tools->jobs)
        destroy_job(tools->jobs.next);
    tools_encode_fini(tools);
    tools_unref_look(tools->look);
    tools_unref_setup(tools->setup);
    sma_processes_fini(&tools->table);
    free(tools->read_bytes);
    tools->magic = 0;
    free(tools);
}

void sma_tools_describe(const struct sma_tools *tools, struct sma_buf *buf)
{
    sma_sandbox_describe(&tools->setup->sandbox, &tools->setup->options, buf);
    sma_buf_put_char(buf, '\n');
    sma_tool_rules_describe(tools->setup->rules, buf);
}

static void put_belts_path(const struct sma_tools *tools, char *path, size_t size)
{
    snprintf(path, size, "%s/belts", tools->setup->config->state_dir); /* `status` shows it */
}

/* The service was killed: an orderly end takes the file away. */
static bool was_killed(const struct sma_tools *tools)
{
    char path[PATH_MAX];
    put_belts_path(tools, path, sizeof path);
    return access(path, F_OK) == 0;
}

static bool shows_secrets(const struct tools_setup *setup)
{
    char path[PATH_MAX];
    SMA_AUTO(sma_freep) char *text = NULL;
    if (snprintf(path, sizeof path, "%s/ship.json", setup->config->project_dir) >= PATH_MAX)
        return false;
    return sma_sandbox_show_ship(path, setup->secrets, &text) == SMA_ERR_OK && text != NULL;
}

static void say_belts(struct sma_tools *tools)
{
    const struct tools_setup *setup = tools->setup;
    struct sma_buf lines;
    sma_buf_init(&lines, 8192);
    sma_tools_describe(tools, &lines);
    char path[PATH_MAX];
    put_belts_path(tools, path, sizeof path);
    if (lines.err != SMA_ERR_OK ||
        sma_sys_write_file_unsynced(sma_ctx_sys(tools->ctx), path, sma_buf_str(&lines), 0600,
                                    NULL) != SMA_ERR_OK)
        sma_ctx_log(tools->ctx, SMA_LOG_WARN, "tools: %s cannot be written", path);
    bool is_open = setup->options.is_possible && !setup->sandbox.is_on;
    SMA_METRIC_SET(sandbox_on, !is_open);
    /* Switched off is the owner's word; this is not. */
    bool has_hole = setup->sandbox.is_on && setup->sandbox.hole[0] != '\0';
    bool is_blocked = setup->sandbox.is_on && setup->sandbox.is_blocked;
    bool has_fallen =
        (is_open && setup->options.mode == SMA_SANDBOX_AUTO) || has_hole || is_blocked;
    if (is_blocked)
        sma_ctx_log(tools->ctx, SMA_LOG_WARN, "tools: %s", setup->sandbox.why);
    sma_health_set("sandbox", has_fallen ? sma_str(setup->sandbox.why) : SMA_STR(""));
    const char *more =
        is_open ? "; commands can read what this user can read, and reach the network" : "";
    for (char *at = lines.ptr, *end; at != NULL && (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        bool is_first = at == lines.ptr;
        sma_ctx_log(tools->ctx, is_first && (is_open || has_hole) ? SMA_LOG_WARN : SMA_LOG_INFO,
                    "%s%s", at, is_first ? more : "");
    }
    sma_buf_fini(&lines);
    if (geteuid() == 0 && setup->options.is_possible)
        sma_ctx_log(tools->ctx, SMA_LOG_WARN,
                    "the service runs as root: whatever gets out of the sandbox has the whole "
                    "machine; run it as a user of its own (`shipmyagent doctor` says how)");
    if (is_open && shows_secrets(setup))
        sma_ctx_log(
            tools->ctx, SMA_LOG_WARN,
            "ship.json holds secrets in plain text, and without a sandbox commands can read "
            "it: write them into .env and ${NAME} in their place, and install bubblewrap");
}

/* What the service itself was started with. Programs of ours get what they are given alone
 * (exec_spawn.h): this is for those that a library may start. */
static void keep_descriptors(void)
{
    (void)close_range(3, ~0u, CLOSE_RANGE_CLOEXEC); /* kernels before 5.11 do not have it */
}

static void on_child(uv_signal_t *handle, int signo)
{
    (void)signo;
    tools_exec_children(handle->data);
}

static enum sma_err watch_children(struct sma_tools *tools, struct sma_error *error)
{
    int status = uv_signal_init(sma_ctx_loop(tools->ctx), &tools->children);
    if (status == 0) {
        tools->children.data = tools;
        status = uv_signal_start(&tools->children, on_child, SIGCHLD);
        if (status != 0)
            uv_close((uv_handle_t *)&tools->children, NULL);
    }
    return status == 0
               ? SMA_ERR_OK
               : sma_fail(error, SMA_ERR_IO, "cannot wait for commands: %s", uv_strerror(status));
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_tools *tools = state;
    SMA_ASSERT(tools->magic == TOOLS_MAGIC);
    tools->ctx = ctx;
    keep_descriptors();
    /* What a command leaves behind becomes our child, so that it is found and waited for. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return sma_fail(error, SMA_ERR_IO, "cannot become the parent of what commands leave");
    SMA_TRY(watch_children(tools, error));
    /* A bwrap whose parent is killed before it has made its namespaces waits for that parent for
     * ever. */
    if (tools->setup->options.is_possible && (!tools->setup->sandbox.is_on || was_killed(tools))) {
        size_t count = sma_processes_end_marked(tools->marker_prefix);
        if (count > 0)
            sma_ctx_log(ctx, SMA_LOG_WARN, "ended %zu processes that commands had left behind",
                        count);
    }
    tools_log_prune(tools->setup->config->state_dir);
    say_belts(tools);
    tools_skills_begin(tools);
    tools_web_begin(tools);
    return SMA_ERR_OK;
}

/* -- places ------------------------------------------------------------------------------------ */
static size_t place_count(enum tools_kind kind)
{
    return kind == TOOLS_KIND_EXEC   ? SMA_EXEC_COUNT_MAX
           : kind == TOOLS_KIND_FILE ? TOOLS_FILE_COUNT_MAX
           : kind == TOOLS_KIND_WEB  ? SMA_WEB_COUNT_MAX
                                     : SMA_ASK_TOOL_COUNT_MAX;
}

static void let_in(struct sma_tools *tools)
{
    if (tools->is_draining)
        return;
    for (struct tools_job *job = tools->jobs.next; job != &tools->jobs; job = job->next) {
        if (job->state != TOOLS_WAITS || tools->busy[job->kind] >= place_count(job->kind) ||
            !tools_order_is_first(job) ||
            (job->kind == TOOLS_KIND_EXEC && !tools_person_has_place(job)))
            continue;
        job->state = TOOLS_WORKS;
        job->holds_place = true;
        tools->busy[job->kind]++;
        if (job->kind == TOOLS_KIND_EXEC)
            tools_person_take_place(job);
        tools_work_start(job);
    }
}

void tools_tell_drained(struct sma_tools *tools)
{
    if (!tools->is_draining || tools->has_drained || tools->encodes.first != NULL)
        return;
    for (const struct tools_job *job = tools->jobs.next; job != &tools->jobs; job = job->next)
        if (!tools_exec_is_held(job))
            return;
    tools->has_drained = true;
    sma_ctx_life_done(tools->ctx, SMA_PHASE_DRAIN);
}

static void leave(struct tools_job *job)
{
    struct sma_tools *tools = job->tools;
    if (job->state != TOOLS_ANSWERED)
        return;
    bool is_in_use = job->handles > 0 || (job->command != NULL && job->command->log.is_busy);
    if (!is_in_use && !tools_exec_is_held(job))
        destroy_job(job);
    if (!is_in_use)
        tools_tell_drained(tools);
    let_in(tools);
}

/* -- questions --------------------------------------------------------------------------------- */
static struct tools_job *create_job(struct sma_tools *tools, struct sma_msg **question)
{
    struct tools_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        sma_ctx_fatal(tools->ctx, "out of memory: a tool's question cannot be taken");
    job->tools = tools;
    job->setup = tools->setup;
    job->setup->refs++;
    job->question = *question;
    *question = NULL;
    job->ask = SMA_MSG_BODY(job->question, struct sma_tool_ask);
    job->kind = job->ask->mode != SMA_TOOL_RUN                            ? TOOLS_KIND_CHECK
                : sma_str_is_equal(job->ask->name, SMA_STR("exec_shell")) ? TOOLS_KIND_EXEC
                : tools_web_has(job->ask->name)                           ? TOOLS_KIND_WEB
                                                                          : TOOLS_KIND_FILE;
    tools_order_take(job);
    sma_buf_init(&job->item, 1024 * 1024);
    sma_buf_init(&job->why, 16384);
    sma_buf_init(&job->result, SMA_TOOL_RESULT_BYTES_MAX);
    sma_buf_init(&job->seen.path, SMA_GUARD_PATH_BYTES_MAX + 1);
    job->next = &tools->jobs;
    job->previous = tools->jobs.previous;
    job->previous->next = tools->jobs.previous = job;
    return job;
}

/* "Killed, still answered": at once when nothing has begun, else when it is over. */
static void stop_job(struct tools_job *job)
{
    __atomic_store_n(&job->is_stopped, 1, __ATOMIC_RELAXED);
    if (job->state == TOOLS_WAITS) {
        tools_answer_error(job, SMA_TOOL_STOPPED, "stopped before it began");
        tools_leave(job);
    } else if (job->state == TOOLS_WORKS) {
        (void)uv_cancel((uv_req_t *)&job->work); /* it works already: its end answers */
    } else if (job->state == TOOLS_RUNS || job->state == TOOLS_ENDS) {
        tools_end(job, TOOLS_REASON_STOPPED, false);
    }
}

static void stop_jobs(struct sma_tools *tools, uint64_t seq, bool are_all)
{
    for (struct tools_job *job = tools->jobs.next, *next; job != &tools->jobs; job = next) {
        next = job->next;
        if (are_all || job->ask->seq == seq)
            stop_job(job);
    }
    tools_encode_stop(tools, seq, are_all);
}

static void reload(struct sma_tools *tools, const struct sma_config *config)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    struct tools_setup *setup = NULL;
    if (create_setup(tools, config, &setup, &error) != SMA_ERR_OK) {
        sma_ctx_log(tools->ctx, SMA_LOG_ERROR, "tools: the rules stay as they were: %s",
                    error.text);
        return;
    }
    tools_unref_setup(tools->setup);
    tools->setup = setup;
    say_belts(tools);
}

static void live(struct sma_tools *tools, unsigned phase)
{
    if (phase != SMA_PHASE_DRAIN) {
        sma_ctx_life_done(tools->ctx, phase);
        return;
    }
    tools->is_draining = true;
    stop_jobs(tools, 0, true); /* the last one to go says that it is done */
    tools_tell_drained(tools);
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_tools *tools = state;
    SMA_ASSERT(tools->magic == TOOLS_MAGIC);
    switch ((*msg)->kind) {
    case SMA_MSG_TOOL: {
        struct tools_job *job = create_job(tools, msg);
        if (tools->is_draining)
            stop_job(job);
        else
            let_in(tools);
        return;
    }
    case SMA_MSG_ENCODE:
        tools_encode_take(tools, msg);
        return;
    case SMA_MSG_TOOL_CANCEL:
        stop_jobs(tools, SMA_MSG_BODY(*msg, struct sma_tool_cancel)->seq, false);
        return;
    case SMA_MSG_RELOAD:
        reload(tools, SMA_MSG_BODY(*msg, struct sma_reload)->config);
        return;
    case SMA_MSG_LIFE:
        live(tools, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        return;
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "tools: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
}

static void wake(void *state, struct sma_ctx *ctx)
{
    struct sma_tools *tools = state;
    (void)ctx;
    tools->wake_ns = UINT64_MAX;
    tools_end_watch(tools);
}

/* Without an ordered end: nothing of a command may stay. */
static void stop(void *state, struct sma_ctx *ctx)
{
    struct sma_tools *tools = state;
    (void)ctx;
    for (struct tools_job *job = tools->jobs.next; job != &tools->jobs; job = job->next) {
        __atomic_store_n(&job->is_stopped, 1, __ATOMIC_RELAXED);
        tools_exec_abandon(job);
        sma_sandbox_plan_leave(&job->plan);
    }
    tools_encode_stop(tools, 0, true);
    uv_close((uv_handle_t *)&tools->children, NULL);
    if (tools->placeholders != 0)
        sma_sandbox_remove_placeholders(tools->setup->config, tools->placeholders);
    char path[PATH_MAX];
    put_belts_path(tools, path, sizeof path);
    (void)unlink(path); /* left behind, the next start looks for processes in vain */
}

const struct sma_actor_ops sma_tools_actor_ops = {.name = "tools",
                                                  .is_on_loop = true,
                                                  .start = start,
                                                  .handle = handle,
                                                  .wake = wake,
                                                  .stop = stop};
