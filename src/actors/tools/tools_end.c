/*
 * tools_end.c — limits, deadlines, and the end of every process of a command.
 *
 * A sandboxed command ends with the first process of its pid namespace: the kernel kills the rest,
 * and its death is told only when they are gone. Without a sandbox the processes are found in /proc
 * (exec_processes.h), stopped first, so that none of them makes another meanwhile, and then killed.
 */
#include "tools_priv.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#define FREEZE_ROUND_COUNT_MAX 6
#define CLEAN_LOOK_COUNT 2
#define SCAN_SHARE 10 /* looks take at most one part in this of the time */

/* -- the table --------------------------------------------------------------------------------- */
struct roots
{
    struct sma_process_root items[SMA_EXEC_COUNT_MAX];
    struct tools_job *jobs[SMA_EXEC_COUNT_MAX];
    size_t count, open_count; /* open: without sandbox */
};

static bool is_live(const struct tools_job *job)
{
    return job->state == TOOLS_RUNS || job->state == TOOLS_ENDS;
}

static void collect(struct sma_tools *tools, struct roots *roots)
{
    roots->count = roots->open_count = 0;
    for (struct tools_job *job = tools->jobs.next; job != &tools->jobs; job = job->next) {
        if (!is_live(job))
            continue;
        SMA_ASSERT(roots->count < SMA_EXEC_COUNT_MAX);
        const struct tools_command *command = job->command;
        roots->items[roots->count] =
            (struct sma_process_root){command->pid, command->session, command->inside,
                                      job->plan.is_boxed ? NULL : command->marker};
        roots->jobs[roots->count++] = job;
        roots->open_count += job->plan.is_boxed ? 0 : 1;
    }
}

static void on_gone(void *user, pid_t pid)
{
    struct roots *roots = user;
    for (size_t i = 0; i < roots->count; i++)
        if (roots->jobs[i]->command->inside == pid)
            roots->jobs[i]->command->inside = 0;
}

/* @return false: /proc cannot be read now */
static bool look(struct sma_tools *tools, struct roots *roots)
{
    collect(tools, roots);
    if (sma_processes_scan(&tools->table) != SMA_ERR_OK)
        return false;
    sma_processes_own(&tools->table, roots->items, roots->count, roots->open_count == 1);
    sma_processes_reap(&tools->table, roots->items, roots->count, on_gone, roots);
    return true;
}

static int index_of(const struct roots *roots, const struct tools_job *job)
{
    for (size_t i = 0; i < roots->count; i++)
        if (roots->jobs[i] == job)
            return (int)i;
    return SMA_PROCESS_NONE;
}

/* -- ending ------------------------------------------------------------------------------------ */
static void kill_open(struct tools_job *job)
{
    struct sma_tools *tools = job->tools;
    struct roots roots;
    size_t before = 0;
    for (int round = 0; round < FREEZE_ROUND_COUNT_MAX; round++) {
        if (!look(tools, &roots))
            break;
        size_t count = sma_processes_signal(&tools->table, index_of(&roots, job), SIGSTOP, 0);
        if (count == before)
            break;
        before = count;
    }
    if (job->command->pid > 0)
        (void)kill(-job->command->session, SIGKILL); /* what the last look missed */
    (void)sma_processes_signal(&tools->table, index_of(&roots, job), SIGKILL, 0);
}

static void kill_all(struct tools_job *job)
{
    struct tools_command *command = job->command;
    uint64_t now = sma_ctx_now(job->tools->ctx);
    command->is_killed = true;
    if (command->give_up_ns == UINT64_MAX)
        command->give_up_ns = now + TOOLS_GIVE_UP_NS;
    if (!job->plan.is_boxed)
        kill_open(job);
    else if (command->inside > 0)
        (void)kill(command->inside, SIGKILL); /* gone already: as well */
    else if (command->pid > 0)
        (void)kill(command->pid, SIGKILL); /* still setting up: what is inside dies with it */
    tools_wake_by(job->tools, now + TOOLS_RETRY_NS);
}

void tools_end(struct tools_job *job, enum tools_reason reason, bool is_at_once)
{
    struct tools_command *command = job->command;
    SMA_ASSERT(is_live(job));
    if (command->reason == TOOLS_REASON_NONE)
        command->reason = reason;
    bool was_ending = job->state == TOOLS_ENDS;
    job->state = TOOLS_ENDS;
    bool is_setting_up = job->plan.is_boxed && command->inside == 0;
    if (is_at_once || is_setting_up) {
        if (!command->is_killed)
            kill_all(job);
        return;
    }
    if (was_ending)
        return;
    struct roots roots;
    if (look(job->tools, &roots))
        (void)sma_processes_signal(&job->tools->table, index_of(&roots, job), SIGTERM,
                                   job->plan.is_boxed ? command->pid : 0);
    else if (command->pid > 0 && !job->plan.is_boxed)
        (void)kill(-command->session, SIGTERM);
    command->kill_ns = sma_ctx_now(job->tools->ctx) + (uint64_t)SMA_EXEC_KILL_MS * TOOLS_MS;
    tools_wake_by(job->tools, command->kill_ns);
}

void tools_end_exited(struct tools_job *job)
{
    struct tools_command *command = job->command;
    uint64_t now = sma_ctx_now(job->tools->ctx);
    job->state = TOOLS_ENDS;
    command->exited_ns = now;
    command->grace_ns = now + TOOLS_GRACE_NS;
    if (command->kill_ns != UINT64_MAX && command->kill_ns > command->grace_ns)
        command->grace_ns =
            command->kill_ns; /* it was told to end: what it left has the same time */
    if (command->give_up_ns == UINT64_MAX)
        command->give_up_ns = command->grace_ns + TOOLS_GIVE_UP_NS;
    tools_wake_by(job->tools, now + TOOLS_SOON_NS);
    tools_exec_try_finish(job); /* last: the job may be gone */
}

bool tools_end_is_clean(struct tools_job *job)
{
    struct tools_command *command = job->command;
    if (sma_ctx_now(job->tools->ctx) >= command->give_up_ns)
        return true;
    if (job->plan.is_boxed) {
        if (command->inside > 0 && waitpid(command->inside, NULL, WNOHANG) != 0)
            command->inside = 0; /* waited for now, or by bubblewrap before */
        return command->inside == 0;
    }
    /* Twice: /proc is read by number, so that a process whose parent ends while it is read, and
     * whose own number has been passed already (numbers begin again), is in no single look. */
    struct roots roots;
    for (int i = 0; i < CLEAN_LOOK_COUNT; i++)
        if (!look(job->tools, &roots) ||
            sma_processes_measure(&job->tools->table, index_of(&roots, job), 0).count > 0)
            return false;
    return true;
}

/* -- watching ---------------------------------------------------------------------------------- */
/* Kill what the last look found; bubblewrap's outer process ends by itself when nothing is left
 * inside. */
static void signal_inside(struct tools_job *job, int owner)
{
    (void)sma_processes_signal(&job->tools->table, owner, SIGKILL,
                               job->plan.is_boxed ? job->command->pid : 0);
}

static void check_limits(struct tools_job *job, int owner)
{
    struct sma_tools *tools = job->tools;
    struct tools_command *command = job->command;
    /* bubblewrap's two processes and the shell around the command are not its own */
    size_t extra = job->plan.is_boxed ? 3 : 0;
    uint64_t bytes_max = (uint64_t)job->setup->options.memory_mb * 2 * 1024 * 1024;
    struct sma_process_load load = sma_processes_measure(&tools->table, owner, 0);
    if (load.count > SMA_EXEC_PROCESS_COUNT_MAX + extra) {
        /* Those who are known make no more of them from here on, however late they get to die of
         * it. */
        signal_inside(job, owner);
        tools_end(job, TOOLS_REASON_PROCESSES, true);
        return;
    }
    /* What lies in its /tmp and the like is memory of the machine, too. */
    uint64_t files =
        command->inside > 0 ? sma_sandbox_tmpfs_bytes(job->setup->config, command->inside) : 0;
    if (load.rss_bytes + files > bytes_max) { /* shared pages count several times: look closer */
        uint64_t exact = sma_processes_exact_bytes(&tools->table, owner);
        if (exact == 0 || exact + files > bytes_max)
            tools_end(job, TOOLS_REASON_MEMORY, true);
    }
    const char *breach = job->state == TOOLS_RUNS ? sma_sandbox_plan_breach(&job->plan) : NULL;
    if (breach != NULL) {
        const char *name = strrchr(breach, '/');
        snprintf(command->breach, sizeof command->breach, "%s", name == NULL ? breach : name + 1);
        tools_end(job, TOOLS_REASON_BREACH, true);
    }
}

/* Tasks on the machine, modulo 2^16. One number of the kernel, whatever their count. */
static uint16_t count_tasks(void)
{
    struct sysinfo info;
    return sysinfo(&info) == 0 ? info.procs : 0;
}

/* A look costs the more the more processes there are, and is made the more rarely: a fork bomb
 * would outrun it. A rise of the machine's tasks brings the next one at once. */
static bool has_risen(const struct sma_tools *tools)
{
    return (int16_t)(uint16_t)(count_tasks() - tools->task_count) > TOOLS_GLANCE_TASK_COUNT;
}

/* For root the kernel does not limit the number of processes, so the watcher does, and must not
 * wait for its turn behind hundreds of them. Whoever may not do this has the kernel's limit.
 * Children begin as usual. */
static void set_urgent(bool is_urgent)
{
    struct sched_param param = {.sched_priority = is_urgent ? 1 : 0};
    (void)sched_setscheduler(0, (is_urgent ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK, &param);
}

void tools_end_begin(struct sma_tools *tools)
{
    uint64_t now = sma_ctx_now(tools->ctx);
    if (tools->watch_ns == 0) {
        tools->watch_ns = now + TOOLS_WATCH_NS;
        tools->task_count = count_tasks();
        set_urgent(true);
    }
    tools_wake_by(tools, now + TOOLS_GLANCE_NS);
}

static void watch_processes(struct sma_tools *tools)
{
    tools->task_count = count_tasks();
    uint64_t begin = sma_ctx_sys(tools->ctx)->now_ns(sma_ctx_sys(tools->ctx)->self);
    struct roots roots;
    uint64_t pause = TOOLS_WATCH_NS;
    if (look(tools, &roots)) {
        for (size_t i = 0; i < roots.count; i++) {
            struct tools_job *job = roots.jobs[i];
            if (job->command->is_killed) {
                signal_inside(job, (int)i); /* those made since */
                continue;
            }
            check_limits(job, (int)i);
            if (job->command->is_killed && !look(tools, &roots)) /* ending it used the table */
                break;
        }
    }
    uint64_t end = sma_ctx_sys(tools->ctx)->now_ns(sma_ctx_sys(tools->ctx)->self);
    if ((end - begin) * SCAN_SHARE > pause)
        pause = (end - begin) * SCAN_SHARE;
    tools->watch_ns = end + pause;
}

/* Most commands leave nothing behind: they are answered soon. For those that do, looking gets
 * rarer. */
static uint64_t retry_ns(const struct tools_command *command, uint64_t now)
{
    uint64_t since = command->has_exited ? now - command->exited_ns : TOOLS_RETRY_NS;
    return since < TOOLS_SOON_NS ? TOOLS_SOON_NS : since < TOOLS_RETRY_NS ? since : TOOLS_RETRY_NS;
}

static void watch_job(struct tools_job *job, uint64_t now)
{
    struct sma_tools *tools = job->tools;
    struct tools_command *command = job->command;
    if (job->state == TOOLS_RUNS && now >= command->deadline_ns)
        tools_end(job, TOOLS_REASON_TIMEOUT, false);
    if (job->state == TOOLS_RUNS && !tools_person_count(job))
        tools_end(job, TOOLS_REASON_PERSON, false);
    if (job->state == TOOLS_ENDS && now >= command->kill_ns && !command->is_killed)
        kill_all(job);
    /* What only waits for its log or for its pipes to be read has left nothing behind. In a sandbox
     * the shell around the command has said what was left; later than this is the sandbox itself,
     * for whose end a busy kernel takes its time. */
    if (command->has_exited && now >= command->grace_ns && !tools_end_is_clean(job)) {
        if (!job->plan.is_boxed && command->reason == TOOLS_REASON_NONE)
            command->has_left = true;
        kill_all(job); /* again and again until nothing is left or it is given up */
    }
    if (now >= command->give_up_ns && !command->is_given_up) {
        command->is_given_up = true;
        sma_ctx_log(tools->ctx, SMA_LOG_WARN,
                    "tools: a command's processes do not end; it is answered without them");
        tools_exec_close_pipes(job);
    }
    uint64_t due = job->state == TOOLS_RUNS                    ? command->deadline_ns
                   : command->has_exited || command->is_killed ? now + retry_ns(command, now)
                                                               : command->kill_ns;
    tools_wake_by(tools, due);
    tools_exec_try_finish(job); /* last: the job may be gone */
}

void tools_end_watch(struct sma_tools *tools)
{
    uint64_t now = sma_ctx_now(tools->ctx);
    bool is_any = false;
    for (struct tools_job *job = tools->jobs.next; job != &tools->jobs; job = job->next)
        is_any = is_any || is_live(job);
    if (!is_any) {
        if (tools->watch_ns != 0)
            set_urgent(false);
        tools->watch_ns = 0;
        return;
    }
    if (now >= tools->watch_ns || has_risen(tools))
        watch_processes(tools);
    for (struct tools_job *job = tools->jobs.next, *next; job != &tools->jobs; job = next) {
        next = job->next;
        if (is_live(job))
            watch_job(job, now);
    }
    tools_wake_by(tools, now + TOOLS_GLANCE_NS);
}
