/*
 * sandbox_probe.c — does bubblewrap work here? Found out by doing it: containers often forbid what
 * it needs.
 */
#include "exec_spawn.h"
#include "sandbox.h"
#include "sandbox_priv.h"

#include "sma/clock.h"
#include "sma/sys.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_MS 5000
#define PROBE_EXIT 23 /* of the trial command: no other failure says this */

/* What must not open for writing inside: as root each of these is the whole machine. Opened is
 * enough, nothing is written. The last line of what it says is the file. */
static const char PROBE[] =
    "for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hotplug "
    "/proc/sys/kernel/sysrq /proc/sysrq-trigger /proc/sys/vm/panic_on_oom "
    "/proc/sys/fs/binfmt_misc/register /proc/sys/net/core/somaxconn /proc/irq/default_smp_affinity "
    "/proc/mtrr /proc/pressure/cpu /sys/kernel/uevent_helper /sys/kernel/mm/ksm/run "
    "/sys/kernel/mm/transparent_hugepage/enabled /sys/devices/system/cpu/online "
    "/sys/devices/system/cpu/cpu1/online /sys/power/state /sys/fs/cgroup/cgroup.procs; do\n"
    "    [ -e $f ] && { true 4>>$f; } 2>/dev/null && { echo \"hole $f\"; break; }\n"
    "done\n"
    "exit 23";
static_assert(PROBE_EXIT == 23, "as in the command");

static bool find_program(const char *name, char *path, size_t size)
{
    static const char *const folders[] = {"/usr/bin", "/bin", "/usr/local/bin"};
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        snprintf(path, size, "%s/%s", folders[i], name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* The machine's time: it bounds a process that hangs. */
static uint64_t now_ms(void)
{
    return sma_clock_machine_ns(sma_clock_now_ns()) / 1000000;
}

/* Reads what it says until it is over or the time is up. */
static void listen_to(int fd, char *said, size_t size, uint64_t until_ms)
{
    size_t len = 0;
    for (uint64_t now = now_ms(); now < until_ms; now = now_ms()) {
        struct pollfd watch = {.fd = fd, .events = POLLIN};
        if (poll(&watch, 1, (int)(until_ms - now)) <= 0 && errno != EINTR)
            break;
        char bytes[512];
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        for (ssize_t i = 0; i < got && len + 1 < size; i++)
            said[len++] = bytes[i] == '\n' ? ' ' : bytes[i];
    }
    said[len] = '\0';
}

static bool spawn(const struct sma_sandbox_plan *plan, int out, int info, pid_t *ret_pid)
{
    static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    static char *const variables[] = {path, NULL};
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return false;
    struct sma_spawn spawn = {.arguments = plan->arguments,
                              .variables = variables,
                              .fds = {in, out, out, info, info},
                              .fd_count = SMA_SANDBOX_STATE_FD + 1};
    for (size_t i = 0; i < plan->data_count; i++)
        spawn.fds[spawn.fd_count++] = plan->data_fds[i];
    bool is_started = sma_spawn(&spawn, ret_pid) == 0;
    close(in);
    return is_started;
}

/* Its first process inside ends a moment behind bubblewrap, and is ours then where we are a
 * subreaper. Where we are not, whoever is takes it away, when it likes: a start that waits for that
 * stands still for seconds in a container whose first process seldom looks. */
static void wait_inside(const char *told, uint64_t until_ms)
{
    const char *child = strstr(told, "\"child-pid\":");
    int pid = 0;
    if (child == NULL || sscanf(child + 12, " %d", &pid) != 1 || pid <= 1)
        return;
    while (waitpid(pid, NULL, WNOHANG) == 0 && now_ms() < until_ms)
        (void)poll(NULL, 0, 1);
}

static bool run(const struct sma_sandbox_plan *plan, char *said, size_t size)
{
    int ends[2], told[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    if (pipe2(told, O_CLOEXEC) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    pid_t pid = 0;
    bool is_started = spawn(plan, ends[1], told[1], &pid);
    close(ends[1]);
    close(told[1]);
    int status = -1;
    if (is_started) {
        uint64_t until = now_ms() + PROBE_MS;
        listen_to(ends[0], said, size, until);
        pid_t got = 0;
        while ((got = waitpid(pid, &status, WNOHANG)) == 0 && now_ms() < until)
            (void)poll(NULL, 0, 1); /* its pipes are closed: it is about to end */
        if (got == 0) {
            kill(pid, SIGKILL);
            (void)waitpid(pid, &status, 0);
            status = -1;
        }
        char inside[512];
        listen_to(told[0], inside, sizeof inside, until);
        wait_inside(inside, until);
    }
    close(ends[0]);
    close(told[0]);
    return is_started && status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == PROBE_EXIT;
}

static enum sma_err try_one(const struct sma_config *config, const struct sma_exec_options *options,
                            struct sma_sandbox *sandbox, struct sma_error *error)
{
    struct sma_sandbox_plan plan;
    struct sma_sandbox_limits limits = {.cpu_s = 10, .is_agreed = true};
    sandbox->is_on = true;
    enum sma_err err =
        sma_sandbox_plan_create(config, options, sandbox, &limits, PROBE, &plan, error);
    if (err != SMA_ERR_OK)
        return err;
    char said[512] = "";
    sandbox->is_on = run(&plan, said, sizeof said);
    if (!sandbox->is_on)
        snprintf(sandbox->why, sizeof sandbox->why, "bubblewrap does not work here: %.160s",
                 said[0] == '\0' ? "it does not start" : said);
    const char *hole = sandbox->is_on ? strstr(said, "hole /") : NULL;
    sandbox->hole[0] = '\0';
    if (hole != NULL)
        snprintf(sandbox->hole, sizeof sandbox->hole, "%.*s", (int)strcspn(hole + 5, " "),
                 hole + 5);
    unsigned placeholders = plan.placeholders;
    sma_sandbox_plan_fini(&plan);
    sma_sandbox_remove_placeholders(config, placeholders);
    return SMA_ERR_OK;
}

/* With all belts; then without those that an older bubblewrap, the kernel or a container may
 * refuse. Why it does not work at all is said by the last. */
static enum sma_err probe(const struct sma_config *config, const struct sma_exec_options *options,
                          struct sma_sandbox *sandbox, struct sma_error *error)
{
    static const bool belts[][2] = {{true, true}, {true, false}, {false, true}, {false, false}};
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < SMA_COUNT_OF(belts) && err == SMA_ERR_OK && !sandbox->is_on; i++) {
        sandbox->is_filtered = belts[i][0];
        sandbox->is_userns_last = belts[i][1];
        if (sandbox->is_filtered) {
            int fd = sma_sandbox_filter_open();
            if (fd < 0)
                continue;
            close(fd);
        }
        err = try_one(config, options, sandbox, error);
    }
    return err;
}

/* In a folder of its own: a command may write the project, and what lies there must not decide
 * whether there are walls. Nor is anything shown that ship.json names. */
static enum sma_err probe_apart(const struct sma_config *config,
                                const struct sma_exec_options *options, struct sma_sandbox *sandbox,
                                struct sma_error *error)
{
    const char *places[] = {"/tmp", "/dev/shm", config->state_dir};
    struct sma_exec_options plain = *options;
    plain.path_count = 0;
    enum sma_err err = SMA_ERR_IO;
    /* the next one where a disk is full or may not be written */
    for (size_t i = 0; i < SMA_COUNT_OF(places) && err != SMA_ERR_OK && err != SMA_ERR_NOMEM; i++) {
        char dir[PATH_MAX], state_dir[PATH_MAX + 8], empty[PATH_MAX + 16];
        if (snprintf(dir, sizeof dir, "%s/shipmyagent-XXXXXX", places[i]) >= (int)sizeof dir ||
            mkdtemp(dir) == NULL) {
            err = sma_fail_os(error, errno, "no folder to try the sandbox in can be made in %s",
                              places[i]);
            continue;
        }
        (void)snprintf(state_dir, sizeof state_dir, "%s/.ship", dir);
        (void)snprintf(empty, sizeof empty, "%s/.empty", state_dir);
        const struct sma_config apart = {.project_dir = dir, .state_dir = state_dir};
        err = mkdir(state_dir, 0700) == 0
                  ? probe(&apart, &plain, sandbox, error)
                  : sma_fail_os(error, errno, "%s cannot be made", state_dir);
        (void)unlink(empty);
        (void)rmdir(state_dir);
        (void)rmdir(dir);
    }
    return err;
}

/* The walls stay whatever comes of it: without them nothing runs. */
static enum sma_err try_project(const struct sma_config *config,
                                const struct sma_exec_options *options, struct sma_sandbox *sandbox,
                                struct sma_error *error)
{
    struct sma_sandbox tried = *sandbox;
    struct sma_error detail = {.code = SMA_ERR_OK};
    enum sma_err err = try_one(config, options, &tried, &detail);
    if (err == SMA_ERR_NOMEM) {
        *error = detail;
        return err;
    }
    if (err != SMA_ERR_OK)
        snprintf(sandbox->why, sizeof sandbox->why, "%.250s", detail.text);
    else if (!tried.is_on)
        snprintf(sandbox->why, sizeof sandbox->why,
                 "commands are refused: the sandbox works, but not around this project or a folder "
                 "of permissions.exec_shell.paths (%.100s)",
                 strchr(tried.why, ':') + 2);
    sandbox->is_blocked = err != SMA_ERR_OK || !tried.is_on;
    return SMA_ERR_OK;
}

enum sma_err sma_sandbox_find(const struct sma_config *config,
                              const struct sma_exec_options *options,
                              struct sma_sandbox *ret_sandbox, struct sma_error *error)
{
    struct sma_sandbox sandbox = {.is_on = false};
    if (!options->is_possible || options->mode == SMA_SANDBOX_OFF) {
        snprintf(sandbox.why, sizeof sandbox.why,
                 "permissions.exec_shell.sandbox is \"off\" in ship.json");
        *ret_sandbox = sandbox;
        return SMA_ERR_OK;
    }
    if (!find_program("bwrap", sandbox.path, sizeof sandbox.path)) {
        snprintf(sandbox.why, sizeof sandbox.why,
                 "bubblewrap is not installed: apt install bubblewrap");
    } else {
        SMA_TRY(probe_apart(config, options, &sandbox, error));
        if (sandbox.is_on)
            SMA_TRY(try_project(config, options, &sandbox, error));
        if (sandbox.is_on)
            sandbox_find_private(&sandbox.private, config->project_dir);
    }
    bool has_hole = sandbox.is_on && sandbox.hole[0] != '\0';
    if (has_hole) /* what `why` is for here: the sandbox stays on, which is better than none */
        snprintf(sandbox.why, sizeof sandbox.why,
                 "its walls have a hole: %s opens for writing inside", sandbox.hole);
    if ((!sandbox.is_on || has_hole) && options->mode == SMA_SANDBOX_REQUIRE)
        return sma_fail(error, SMA_ERR_UNSUPPORTED, "%s, but %s",
                        options->says_mode
                            ? "ship.json: permissions.exec_shell.sandbox is \"require\""
                            : "the service is to start with a working sandbox only (--sandbox "
                              "require)",
                        sandbox.why);
    *ret_sandbox = sandbox;
    return SMA_ERR_OK;
}
