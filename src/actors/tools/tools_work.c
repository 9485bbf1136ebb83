/*
 * tools_work.c — what a libuv worker does for a job (check, file tool, plan of a command), and the
 * audit line of it.
 */
#include "tools_priv.h"

#include "runtime/exec/exec_env.h"
#include "runtime/policy/shell.h"
#include "sma/metrics.h"
#include "sma/text.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AUDIT_COMMAND_BYTES_MAX 300

/* -- on the worker ----------------------------------------------------------------------------- */
/* Approved to the letter: what would be done now is what people agreed to. An approval comes with
 * one RUN, so that one that cannot be told apart later (is_complete false) is used once like any
 * other. */
static bool is_agreed(const struct tools_job *job)
{
    return job->check.verdict == SMA_TOOL_ASKS && job->ask->is_approved &&
           memcmp(job->check.digest, job->ask->digest, sizeof job->check.digest) == 0;
}

static int64_t read_timeout(const json_t *arguments)
{
    const json_t *value = json_object_get(arguments, "timeout");
    if (!json_is_number(value))
        return SMA_EXEC_TIMEOUT_MS;
    double ms = json_number_value(value);
    if (!(ms >= 1) || ms > SMA_EXEC_TIMEOUT_MS_MAX)
        return ms < 0 ? SMA_EXEC_TIMEOUT_MS : SMA_EXEC_TIMEOUT_MS_MAX;
    return (int64_t)ms;
}

static void fail_job(struct tools_job *job, const char *text)
{
    sma_buf_clear(&job->result);
    sma_buf_put_text(&job->result, "{\"success\":false,\"error\":");
    sma_buf_put_json_string(&job->result, sma_str(text));
    sma_buf_put_char(&job->result, '}');
    job->is_done = true;
    job->is_success = false;
}

static void plan_command(struct tools_job *job, const char *command, const char *marker)
{
    const struct tools_setup *setup = job->setup;
    const char *shown[SMA_SKILL_SHOWN_COUNT_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct sma_sandbox_limits limits = {
        .cpu_s = (job->timeout_ms / 1000 + 1) * (processors < 1 ? 1 : processors) + 5,
        .is_by_owner = is_agreed(job) ? job->ask->is_by_owner : job->check.decision.is_owner_ruled,
        .is_agreed = is_agreed(job),
        .shows_keys = is_agreed(job) && job->ask->is_by_owner,
        .shown = shown,
        .shown_count = tools_skills_put_shown(job, shown, SMA_COUNT_OF(shown))};
    if (geteuid() != 0) {
        struct sma_process_table table = {.items = NULL};
        if (sma_processes_scan(&table) == SMA_ERR_OK)
            limits.task_count =
                sma_processes_user_tasks(&table) + (size_t)4 * SMA_EXEC_PROCESS_COUNT_MAX;
        sma_processes_fini(&table);
    }
    struct sma_error error = {.code = SMA_ERR_OK};
    enum sma_err err = SMA_ERR_OK;
    job->variables = sma_exec_env_create(setup->config, &setup->options, setup->secrets, marker);
    if (job->variables != NULL && setup->sandbox.is_on)
        err = sma_sandbox_refuse_links(setup->config, &error);
    if (job->variables != NULL && err == SMA_ERR_OK)
        err = sma_sandbox_plan_create(setup->config, &setup->options, &setup->sandbox, &limits,
                                      command, &job->plan, &error);
    job->is_unhidden = err == SMA_ERR_FULL;
    sma_tool_rules_set_unhidden(setup->rules, job->is_unhidden || job->plan.is_cut);
    if (job->is_unhidden)
        return; /* people are asked instead */
    if (job->variables == NULL || err != SMA_ERR_OK) {
        fail_job(job, job->variables == NULL ? "out of memory" : error.text);
        return;
    }
    job->is_command = true;
}

static void plan(struct tools_job *job)
{
    json_t *arguments = json_loadb(job->ask->arguments.ptr, job->ask->arguments.len, 0, NULL);
    const json_t *command = json_object_get(arguments, "command");
    const char *text = json_string_value(command);
    job->timeout_ms = read_timeout(arguments);
    if (text == NULL || strlen(text) != json_string_length(command)) {
        fail_job(job, "exec_shell: command must be text without NUL characters");
    } else if (sma_str_trim(sma_str(text)).len == 0) {
        sma_buf_put_text(&job->result, "{\"success\":true,\"exitCode\":0,\"stdout\":\"\","
                                       "\"stderr\":\"\",\"timedOut\":false,\"truncated\":false}");
        job->is_done = job->is_success = true;
    } else {
        plan_command(job, text, job->command->marker);
    }
    json_decref(arguments);
}

static void run_file_tool(struct tools_job *job, struct sma_file_call call)
{
    struct sma_file_tools *view = tools_skills_view(job);
    if (view != NULL)
        call.seen = NULL; /* pictures go with a result by their path in the project */
    job->is_success =
        sma_file_tools_run(view == NULL ? job->setup->files : view, &call, &job->result);
    job->is_done = true;
    sma_file_tools_destroy(view);
}

static void work(uv_work_t *request)
{
    struct tools_job *job = request->data;
    if (job->ask->mode == SMA_TOOL_SKILLS) {
        tools_skills_work(job);
        return;
    }
    struct sma_shell *shell = sma_shell_create();
    if (shell == NULL) {
        job->err = SMA_ERR_NOMEM;
        return;
    }
    struct tools_skill_rules rules;
    tools_skills_add_rules(job, &rules);
    job->err = sma_tool_check(job->setup->rules, &rules.ask, sma_sys_real()->wall_ms(NULL), shell,
                              &job->check, &job->item, &job->why);
    bool is_exec = job->kind == TOOLS_KIND_EXEC && job->ask->mode != SMA_TOOL_CHECK;
    if (is_exec && job->err == SMA_ERR_OK &&
        (job->check.verdict == SMA_TOOL_ALLOWED || is_agreed(job))) {
        if (job->is_pruning)
            tools_log_prune(job->setup->config->state_dir);
        plan(job);
        if (job->is_unhidden)
            job->err = sma_tool_check(job->setup->rules, &rules.ask, sma_sys_real()->wall_ms(NULL),
                                      shell, &job->check, &job->item, &job->why);
    }
    sma_buf_fini(&rules.lines);
    sma_shell_destroy(shell);
    if (is_exec || job->err != SMA_ERR_OK || job->ask->mode == SMA_TOOL_CHECK ||
        (job->check.verdict != SMA_TOOL_ALLOWED && !is_agreed(job)))
        return;
    if (tools_skills_has(job)) {
        tools_skills_work(job);
    } else if (job->kind == TOOLS_KIND_WEB) {
        tools_web_plan(job);
    } else if (sma_file_tools_has(job->ask->name)) {
        const struct sma_file_call call = {
            .name = job->ask->name,
            .arguments = job->ask->arguments,
            .agreed = is_agreed(job) ? job->check.digest : NULL,
            .is_stopped = &job->is_stopped,
            .seen = &job->seen,
        };
        run_file_tool(job, call);
    } else {
        fail_job(job, "this tool is not carried out here");
    }
}

static void after(uv_work_t *request, int status)
{
    tools_work_done(request->data, status == UV_ECANCELED);
}

void tools_work_start(struct tools_job *job)
{
    job->work.data = job;
    if (job->kind == TOOLS_KIND_EXEC) {
        job->command = calloc(1, sizeof *job->command);
        if (job->command == NULL)
            sma_ctx_fatal(job->tools->ctx, "out of memory: a command cannot be started");
        job->is_pruning = ++job->tools->plan_count % TOOLS_PRUNE_COUNT == 0;
        uint64_t random = sma_ctx_random(job->tools->ctx);
        snprintf(job->command->marker, sizeof job->command->marker, "%s%016llx",
                 job->tools->marker_prefix, (unsigned long long)random);
    }
    if ((tools_skills_has(job) || tools_skills_may_have_files(job)) && job->tools->look != NULL) {
        job->look = job->tools->look;
        job->look->refs++;
    }
    int status = uv_queue_work(sma_ctx_loop(job->tools->ctx), &job->work, work, after);
    SMA_ASSERT(status == 0); /* fails only without a function */
}

/* -- the audit line ---------------------------------------------------------------------------- */
static bool is_audited(struct sma_str name)
{
    return !sma_str_starts_with(name, SMA_STR("read_")) &&
           !sma_str_starts_with(name, SMA_STR("list_")) &&
           !sma_str_starts_with(name, SMA_STR("search_")) &&
           !sma_str_starts_with(name, SMA_STR("skills"));
}

/* The command, the path, or the receiver. */
static void put_object(struct sma_buf *buf, const struct sma_tool_ask *ask)
{
    static const char *const members[] = {"command", "path", "emoji", "url", "query"};
    json_t *arguments = json_loadb(ask->arguments.ptr, ask->arguments.len, 0, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        struct sma_str text = sma_str(json_string_value(json_object_get(arguments, members[i])));
        if (text.len == 0)
            continue;
        sma_buf_put_json_key(buf, members[i]);
        text.len = sma_utf8_cut(text, AUDIT_COMMAND_BYTES_MAX);
        sma_buf_put_json_string(buf, text);
    }
    json_decref(arguments);
    if (ask->receiver.len > 0) {
        sma_buf_put_json_key(buf, "receiver");
        sma_buf_put_json_string(buf, ask->receiver);
    }
}

static void audit(struct tools_job *job)
{
    static const char *const verdicts[] = {"allowed", "asks", "refused", "stopped"};
    static const char *const standings[] = {"stranger", "member", "admin", "owner"};
    const struct sma_tool_ask *ask = job->ask;
    const struct sma_tool_check *check = &job->check;
    if (!is_audited(ask->name) && check->verdict == SMA_TOOL_ALLOWED && job->err == SMA_ERR_OK)
        return;
    bool is_run = ask->mode == SMA_TOOL_RUN;
    const char *verdict = job->err != SMA_ERR_OK     ? "refused"
                          : is_run && is_agreed(job) ? "approved"
                                                     : verdicts[check->verdict & 3];
    struct sma_buf details;
    sma_buf_init(&details, 16384);
    sma_buf_put_char(&details, '{');
    sma_buf_put_json_key(&details, "chat");
    sma_buf_put_json_string(&details, ask->chat_key);
    sma_buf_put_json_key(&details, "standing");
    sma_buf_put_json_string(&details, sma_str(standings[ask->standing & 3]));
    sma_buf_put_json_key(&details, "mode");
    sma_buf_put_text(&details, is_run ? "\"run\"" : "\"check\"");
    const char *const facts[][2] = {{"rule", check->decision.rule},
                                    {"program", check->decision.program},
                                    {"reason", check->decision.reason}};
    for (size_t i = 0; i < SMA_COUNT_OF(facts); i++) {
        if (facts[i][1][0] == '\0')
            continue;
        sma_buf_put_json_key(&details, facts[i][0]);
        sma_buf_put_json_string(&details, sma_str(facts[i][1]));
    }
    put_object(&details, ask);
    sma_buf_put_char(&details, '}');
    char line[128];
    snprintf(line, sizeof line, "policy: %s %.*s", verdict,
             (int)(ask->name.len > 64 ? 64 : ask->name.len), ask->name.ptr);
    sma_ctx_log_details(job->tools->ctx, SMA_LOG_ACTION, sma_str(line),
                        details.err == SMA_ERR_OK ? sma_buf_str(&details)
                                                  : (struct sma_str){NULL, 0});
    sma_buf_fini(&details);
}

/* -- the worker is done ------------------------------------------------------------------------ */
static void answer_text(struct tools_job *job, enum sma_tool_verdict verdict, const char *otherwise)
{
    sma_buf_put_char(&job->why, '\0'); /* the sentence as a C string; the limit is far away */
    bool has_why = job->why.err == SMA_ERR_OK && job->why.len > 1;
    tools_answer_error(job, verdict, has_why ? job->why.ptr : otherwise);
}

static void answer_check(struct tools_job *job)
{
    if (job->check.verdict == SMA_TOOL_REFUSED)
        answer_text(job, SMA_TOOL_REFUSED, "refused by the project's permissions");
    else if (job->item.err != SMA_ERR_OK)
        tools_answer_error(job, SMA_TOOL_REFUSED, "too large to be shown to people for consent");
    else
        tools_answer(job, (enum sma_tool_verdict)job->check.verdict, false,
                     (struct sma_str){NULL, 0});
}

void tools_answer_run(struct tools_job *job)
{
    if (job->is_done && job->result.err == SMA_ERR_OK)
        tools_answer(job, SMA_TOOL_ALLOWED, !job->is_success, sma_buf_str(&job->result));
    else if (job->is_done)
        tools_answer_error(job, SMA_TOOL_ALLOWED, "the result is too large or memory is out");
    else if (job->check.verdict == SMA_TOOL_ASKS)
        tools_answer_error(job, SMA_TOOL_ASKS,
                           job->ask->is_approved
                               ? "Not done: it is not what was agreed to any more; something it "
                                 "uses has changed since. Call again to ask for consent anew."
                               : "Not done: people must agree to it first. Call again.");
    else
        answer_text(job, SMA_TOOL_REFUSED, "refused by the project's permissions");
}

void tools_work_done(struct tools_job *job, bool is_cancelled)
{
    SMA_ASSERT(job->state == TOOLS_WORKS);
    struct sma_tools *tools = job->tools;
    tools->placeholders |= job->plan.placeholders;
    if (!is_cancelled) {
        tools_skills_done(job);
        audit(job);
    }
    if (is_cancelled || job->is_stopped != 0)
        tools_answer_error(job, SMA_TOOL_STOPPED,
                           job->is_done ? "stopped; it had been done" : "stopped before it began");
    else if (job->err != SMA_ERR_OK)
        answer_text(job, SMA_TOOL_REFUSED, sma_err_text(job->err));
    else if (job->ask->mode == SMA_TOOL_CHECK)
        answer_check(job);
    else if (job->is_command)
        tools_exec_start(job);
    else if (job->web != NULL)
        tools_web_start(job);
    else
        tools_answer_run(job);
    if (job->state == TOOLS_ANSWERED)
        tools_leave(job);
}
