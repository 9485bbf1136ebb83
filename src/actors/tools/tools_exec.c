/*
 * tools_exec.c — one command: its start, its pipes, its answer.
 */
#include "tools_priv.h"

#include "runtime/exec/exec_spawn.h"
#include "sma/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OOM_SCORE "500"
#define NICENESS 5 /* the service stays reachable beside a command that takes all processors */
#define SAID_BYTES_MAX 4096
#define CLEAN_BYTES_MAX ((size_t)8 * TOOLS_READ_BYTES)

/* -- pipes ------------------------------------------------------------------------------------- */
static void on_closed(uv_handle_t *handle)
{
    struct tools_job *job = handle->data;
    job->handles--;
    tools_leave(job);
}

static void close_pipe(struct tools_pipe *slot)
{
    if (!slot->is_open)
        return;
    slot->is_open = false;
    uv_close((uv_handle_t *)&slot->handle, on_closed);
}

void tools_exec_close_pipes(struct tools_job *job)
{
    for (size_t i = 0; i < SMA_COUNT_OF(job->command->pipes); i++)
        close_pipe(&job->command->pipes[i]);
}

static void lend_bytes(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    const struct tools_job *job = handle->data;
    (void)wanted;
    *buf = uv_buf_init(job->tools->read_bytes, TOOLS_READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf);

/* Pipes are read while their log keeps up. */
static void pace(struct tools_job *job)
{
    bool is_full = tools_log_is_full(&job->command->log);
    for (size_t i = 0; i < 2; i++) {
        struct tools_pipe *slot = &job->command->pipes[i];
        if (!slot->is_open || slot->is_paused == is_full)
            continue;
        slot->is_paused = is_full;
        if (is_full)
            (void)uv_read_stop((uv_stream_t *)&slot->handle); /* always 0 */
        else if (uv_read_start((uv_stream_t *)&slot->handle, lend_bytes, on_read) != 0)
            close_pipe(slot);
    }
}

/* bubblewrap's JSON first, then lines of the shell around the command. */
static void hear(struct tools_command *command, struct sma_str text)
{
    sma_buf_put_str(&command->said, text);
    if (command->said.ptr == NULL || command->said.err != SMA_ERR_OK)
        return;
    const char *child = strstr(command->said.ptr, "\"child-pid\":");
    int pid = 0;
    if (!command->has_inside && child != NULL && sscanf(child + 12, " %d%*[,}\n ]", &pid) == 1 &&
        pid > 1 && strpbrk(child + 12, ",}\n") != NULL) {
        command->inside = pid;
        command->has_inside = true;
    }
    command->has_left = command->has_left || strstr(command->said.ptr, "\nleft ") != NULL;
}

static void take(struct tools_job *job, int stream, struct sma_str piece, bool is_end)
{
    struct sma_buf clean;
    sma_buf_init(&clean, CLEAN_BYTES_MAX);
    sma_exec_stream_put(&job->command->streams[stream], job->setup->secrets, piece, is_end, &clean);
    if (clean.err == SMA_ERR_OK)
        tools_log_put(job, stream, sma_buf_str(&clean));
    else
        tools_end(job, TOOLS_REASON_LOST, true);
    sma_buf_fini(&clean);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct tools_job *job = stream->data;
    struct tools_pipe *slot = NULL;
    for (size_t i = 0; i < 3; i++)
        if ((uv_stream_t *)&job->command->pipes[i].handle == stream)
            slot = &job->command->pipes[i];
    SMA_ASSERT(slot != NULL);
    if (len == 0)
        return;
    struct sma_str piece = {buf->base, len < 0 ? 0 : (size_t)len};
    if (slot->stream == 2)
        hear(job->command, piece);
    else
        take(job, slot->stream, piece, len < 0);
    if (len < 0) {
        close_pipe(slot);
        tools_exec_try_finish(job);
    } else {
        pace(job);
    }
}

/* -- start ------------------------------------------------------------------------------------- */
/* Ends for the child; ours are taken over by the loop. */
struct ends
{
    int null, child[3], own[3];
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_ends(struct ends *ends)
{
    close_fd(&ends->null);
    for (size_t i = 0; i < 3; i++) {
        close_fd(&ends->child[i]);
        close_fd(&ends->own[i]);
    }
}

static bool open_ends(struct ends *ends)
{
    *ends = (struct ends){-1, {-1, -1, -1}, {-1, -1, -1}};
    ends->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool is_open = ends->null >= 0;
    for (size_t i = 0; i < 3 && is_open; i++) {
        int pair[2];
        is_open = pipe2(pair, O_CLOEXEC) == 0;
        if (is_open) {
            ends->own[i] = pair[0];
            ends->child[i] = pair[1];
        }
    }
    if (!is_open)
        close_ends(ends);
    return is_open;
}

static void open_pipes(struct tools_job *job, struct ends *ends)
{
    for (int i = 0; i < 3; i++) {
        struct tools_pipe *slot = &job->command->pipes[i];
        slot->stream = i;
        SMA_ASSERT(uv_pipe_init(sma_ctx_loop(job->tools->ctx), &slot->handle, 0) == 0);
        slot->handle.data = job;
        slot->is_open = true;
        job->handles++;
        if (uv_pipe_open(&slot->handle, ends->own[i]) != 0) {
            close_pipe(slot);
            continue;
        }
        ends->own[i] = -1;
        if (uv_read_start((uv_stream_t *)&slot->handle, lend_bytes, on_read) != 0)
            close_pipe(slot);
    }
}

static void on_exit_of(struct tools_job *job, bool is_known, int status)
{
    struct tools_command *command = job->command;
    command->has_exited = true;
    command->has_exit_code = is_known && WIFEXITED(status);
    command->exit_code = command->has_exit_code ? WEXITSTATUS(status) : 0;
    command->signo = is_known && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    command->pid = 0;
    tools_end_exited(job); /* last: the job may be gone */
}

bool tools_exec_is_held(const struct tools_job *job)
{
    const struct tools_command *command = job->command;
    return job->state == TOOLS_ANSWERED && command != NULL && command->is_given_up &&
           (command->pid > 0 || command->inside > 0);
}

/* One that could not be ended may have ended now: nobody waits for its answer any more. */
static bool is_let_go(struct tools_job *job)
{
    struct tools_command *command = job->command;
    if (command->pid > 0 && waitpid(command->pid, NULL, WNOHANG) != 0)
        command->pid = 0;
    if (command->pid == 0 && command->inside > 0 && waitpid(command->inside, NULL, WNOHANG) != 0)
        command->inside = 0;
    if (tools_exec_is_held(job))
        return false;
    sma_ctx_log(job->tools->ctx, SMA_LOG_INFO,
                "tools: a command that could not be ended has ended");
    tools_leave(job);
    return true;
}

static bool is_over(struct tools_job *job)
{
    struct tools_command *command = job->command;
    if (tools_exec_is_held(job))
        return is_let_go(job);
    if (command == NULL || !command->is_started || command->pid <= 0)
        return false;
    int status = 0;
    pid_t pid = waitpid(command->pid, &status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno != ECHILD))
        return false;
    on_exit_of(job, pid > 0, status);
    return true;
}

/* Several ends make one signal, so everybody is looked at. From the beginning after each: an
 * answered job is gone. */
void tools_exec_children(struct sma_tools *tools)
{
    struct tools_job *job = tools->jobs.next;
    while (job != &tools->jobs)
        job = is_over(job) ? tools->jobs.next : job->next;
}

/* When processors or memory are short, the service goes first. Kindnesses, not walls: they may
 * fail. */
static void give_way(pid_t pid)
{
    (void)setpriority(PRIO_PROCESS, (id_t)pid, NICENESS);
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t len = write(fd, OOM_SCORE, sizeof OOM_SCORE - 1);
    (void)len;
    close(fd);
}

static int spawn(struct tools_job *job, const struct ends *ends)
{
    struct tools_command *command = job->command;
    struct sma_spawn spawn = {
        .arguments = job->plan.arguments,
        .variables = job->variables,
        .dir = job->setup->config->project_dir,
        .fds = {ends->null, ends->child[0], ends->child[1], ends->child[2], ends->child[2]},
        .fd_count = job->plan.is_boxed ? SMA_SANDBOX_STATE_FD + 1 : 3,
        .has_session = true};
    for (size_t i = 0; i < job->plan.data_count; i++)
        spawn.fds[spawn.fd_count++] = job->plan.data_fds[i];
    int status = sma_spawn(&spawn, &command->pid);
    if (status != 0) {
        command->pid = 0;
        return status;
    }
    command->session = command->pid;
    give_way(command->pid);
    return 0;
}

static void init_command(struct tools_job *job)
{
    struct tools_command *command = job->command;
    command->is_started = true;
    sma_exec_stream_init(&command->streams[0]);
    sma_exec_stream_init(&command->streams[1]);
    sma_buf_init(&command->said, SAID_BYTES_MAX);
    tools_log_init(&command->log, job->tools->ctx);
    command->timeout_ms = job->timeout_ms;
    command->begin_ns = command->counted_ns = sma_ctx_now(job->tools->ctx);
    command->deadline_ns = command->begin_ns + (uint64_t)job->timeout_ms * TOOLS_MS;
    command->kill_ns = command->grace_ns = command->give_up_ns = UINT64_MAX;
}

void tools_exec_start(struct tools_job *job)
{
    struct sma_tools *tools = job->tools;
    struct ends ends;
    if (!tools_person_count(job)) {
        char why[256], text[320];
        tools_person_describe(job, why, sizeof why);
        snprintf(text, sizeof text, "Not run: %s", why);
        tools_answer_error(job, SMA_TOOL_REFUSED, text);
        return;
    }
    init_command(job);
    if (!open_ends(&ends)) {
        tools_answer_error(job, SMA_TOOL_ALLOWED,
                           "the command could not be started: no file descriptor is free");
        return;
    }
    int status = spawn(job, &ends);
    if (status != 0) {
        char text[160];
        snprintf(text, sizeof text, "the command could not be started: %s", strerror(status));
        close_ends(&ends);
        tools_answer_error(job, SMA_TOOL_ALLOWED, text);
        return;
    }
    job->state = TOOLS_RUNS;
    SMA_METRIC_ADD(commands_total, 1);
    sma_gauge_add(SMA_GAUGE_commands_running, 1);
    open_pipes(job, &ends);
    close_ends(&ends);
    tools_end_begin(tools);
    tools_wake_by(tools, job->command->deadline_ns);
}

/* -- end --------------------------------------------------------------------------------------- */
/* Who proposes `npm install` and who agrees to it learns why it came to nothing. */
static bool has_failed_inside(const struct tools_job *job)
{
    const struct tools_command *command = job->command;
    return job->plan.is_boxed && command->has_inside && command->has_exit_code &&
           command->exit_code != 0;
}

static bool misses_network(const struct tools_job *job)
{
    const struct tools_command *command = job->command;
    if (!job->plan.is_boxed || job->setup->options.has_network || !command->has_inside)
        return false;
    return command->reason == TOOLS_REASON_TIMEOUT || /* it may have waited for it */
           (has_failed_inside(job) && (sma_exec_stream_misses_network(&command->streams[0]) ||
                                       sma_exec_stream_misses_network(&command->streams[1])));
}

static bool meets_read_only(const struct tools_job *job)
{
    return has_failed_inside(job) && (sma_exec_stream_meets_read_only(&job->command->streams[0]) ||
                                      sma_exec_stream_meets_read_only(&job->command->streams[1]));
}

static bool misses_login(const struct tools_job *job)
{
    return job->plan.hides_login && has_failed_inside(job) &&
           (sma_exec_stream_misses_login(&job->command->streams[0]) ||
            sma_exec_stream_misses_login(&job->command->streams[1]));
}

/* A program of this machine that the sandbox does not show: an owner meets it once, so his log says
 * it, too. */
static size_t describe_hidden(const struct tools_job *job, char *note, size_t size, bool is_first)
{
    const struct tools_setup *setup = job->setup;
    const struct sma_exec_stream *streams = job->command->streams;
    char program[PATH_MAX], folder[PATH_MAX];
    const char *path = NULL;
    for (char *const *entry = job->variables; entry != NULL && *entry != NULL; entry++)
        if (strncmp(*entry, "PATH=", 5) == 0)
            path = *entry + 5;
    for (size_t i = 0; i < 2; i++) {
        if (!has_failed_inside(job) || !sma_exec_stream_misses_file(&streams[i]) ||
            !sma_sandbox_find_hidden(setup->config, &setup->options, path,
                                     sma_buf_str(&streams[i].head), program, folder))
            continue;
        sma_ctx_log(job->tools->ctx, SMA_LOG_WARN,
                    "exec_shell: %.64s lies in %.300s, which commands in the sandbox do not see: "
                    "permissions.exec_shell.paths of ship.json shows it to them",
                    program, folder);
        return (size_t)snprintf(note, size,
                                "%s%.64s lies in %.200s, which commands in the sandbox do not see; "
                                "the owner may show it (permissions.exec_shell.paths in "
                                "ship.json).",
                                is_first ? "" : " ", program, folder);
    }
    return 0;
}

static void describe(const struct tools_job *job, char *note, size_t size)
{
    const struct tools_command *command = job->command;
    const char *left =
        command->is_given_up
            ? " It could not be ended: the system does not let go of its processes, as with a "
              "disk or a server that does not answer. What it did so far may go on later."
        : command->has_left ? " Processes it had left behind were ended with it."
                            : "";
    note[0] = '\0';
    switch (command->reason) {
    case TOOLS_REASON_TIMEOUT:
        snprintf(note, size, "Ended: it took longer than %lld ms.", (long long)command->timeout_ms);
        break;
    case TOOLS_REASON_STOPPED:
        snprintf(note, size, "Stopped while it ran.");
        break;
    case TOOLS_REASON_PROCESSES:
        snprintf(note, size, "Ended: it had more than %d processes.", SMA_EXEC_PROCESS_COUNT_MAX);
        break;
    case TOOLS_REASON_MEMORY:
        snprintf(note, size, "Ended: its processes held more than %lld MB of memory together.",
                 (long long)job->setup->options.memory_mb * 2);
        break;
    case TOOLS_REASON_BREACH:
        snprintf(note, size, "Ended: %s was changed from outside while it ran. Run it again.",
                 command->breach);
        break;
    case TOOLS_REASON_PERSON: {
        char why[256];
        tools_person_describe(job, why, sizeof why);
        snprintf(note, size, "Ended: %s", why);
        break;
    }
    case TOOLS_REASON_LOST:
        snprintf(note, size, "Ended: the service is out of memory.");
        break;
    case TOOLS_REASON_NONE:
        if (job->plan.is_boxed && !command->has_inside)
            snprintf(
                note, size,
                "The sandbox could not be set up: the command did not run. What lies in the "
                "project's folder (a link .env*?) or permissions.exec_shell.paths of "
                "ship.json keeps it from starting; stderr names the file, and the owner should "
                "take it away.");
        break;
    }
    size_t len = strlen(note);
    len += (size_t)snprintf(note + len, size - len, "%s",
                            len == 0 && left[0] != '\0' ? left + 1 : left);
    if (len < size && misses_network(job))
        len += (size_t)snprintf(note + len, size - len,
                                "%sThere is no network in the sandbox%s; the owner may permit it "
                                "(permissions.exec_shell.network in ship.json).",
                                len == 0 ? "" : " ",
                                command->reason == TOOLS_REASON_TIMEOUT ? ", if it waited for one"
                                                                        : "");
    if (len < size)
        len += describe_hidden(job, note + len, size - len, len == 0);
    if (len < size && misses_login(job))
        len += (size_t)snprintf(note + len, size - len,
                                "%sThe login in .git/config is hidden (or that of .npmrc and the "
                                "like): a command sees it when an owner has agreed to it.",
                                len == 0 ? "" : " ");
    if (len < size && meets_read_only(job))
        snprintf(
            note + len, size - len, "%s%s", len == 0 ? "" : " ",
            job->plan.is_read_only
                ? "In the sandbox all of the project but .git is read-only: git includes settings "
                  "by a link or from a folder that is missing, or more files of its owner "
                  "(recipes, settings, CI) lie right in its folder than can be guarded one by one. "
                  "Write with write_file; the owner should put them into a folder."
                : "Outside of the project, and for recipes, hooks and other files of its owner, "
                  "the sandbox is read-only; write_file asks the owner to change one of those.");
}

static void answer(struct tools_job *job)
{
    struct tools_command *command = job->command;
    char note[1024];
    describe(job, note, sizeof note);
    struct sma_exec_outcome outcome = {
        .has_exit_code = command->has_exit_code && command->reason == TOOLS_REASON_NONE,
        .exit_code = command->exit_code,
        .is_timed_out = command->reason == TOOLS_REASON_TIMEOUT,
        .is_log_cut = command->log.is_cut,
        .log = command->log.fd < 0 ? SMA_STR("") : sma_str(command->log.name),
        .note = sma_str(note)};
    bool is_success =
        sma_exec_put_result(&job->result, &command->streams[0], &command->streams[1], &outcome);
    if (command->reason != TOOLS_REASON_NONE)
        SMA_METRIC_ADD(commands_ended_total, 1);
    sma_gauge_add(SMA_GAUGE_commands_running, -1);
    enum sma_tool_verdict verdict =
        command->reason == TOOLS_REASON_STOPPED ? SMA_TOOL_STOPPED : SMA_TOOL_ALLOWED;
    if (job->result.err == SMA_ERR_OK)
        tools_answer(job, verdict, !is_success, sma_buf_str(&job->result));
    else
        tools_answer_error(job, verdict, "the result could not be kept: out of memory");
}

void tools_exec_try_finish(struct tools_job *job)
{
    struct tools_command *command = job->command;
    if (job->state == TOOLS_ANSWERED)
        return;
    pace(job); /* the log may have caught up */
    if (!command->has_exited && !command->is_given_up)
        return;
    for (size_t i = 0; i < 3; i++)
        if (command->pipes[i].is_open)
            return;
    if (command->log.is_busy || command->log.pending.len > 0 || !tools_end_is_clean(job))
        return;
    answer(job);
    tools_leave(job);
}

void tools_exec_abandon(struct tools_job *job)
{
    struct tools_command *command = job->command;
    if (command == NULL || !command->is_started)
        return;
    if (command->inside > 0)
        (void)kill(command->inside, SIGKILL); /* gone already: as well */
    if (command->pid > 0) {
        (void)kill(-command->session, SIGKILL);
        (void)kill(command->pid, SIGKILL);
    }
    if (!job->plan.is_boxed)
        (void)sma_processes_end_marked(command->marker); /* those of sessions of their own */
    tools_exec_close_pipes(job);
}

void tools_exec_destroy(struct tools_job *job)
{
    struct tools_command *command = job->command;
    if (command == NULL)
        return;
    if (command->is_started) {
        sma_exec_stream_fini(&command->streams[0]);
        sma_exec_stream_fini(&command->streams[1]);
        sma_buf_fini(&command->said);
        tools_log_fini(&command->log);
    }
    free(command);
    job->command = NULL;
}
