/* helper.c — see helper.h. */
#include "helper.h"

#include "exec_spawn.h"
#include "sandbox_priv.h"
#include "sma/clock.h"
#include "sma/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define GLANCE_MS 100
#define INFO_BYTES_MAX 512
#define INFO_MS 1000 /* bubblewrap has written it long ago */

/* SMA_HELPER_FROM_PROGRAM: where they are, seen from the folder of the program; CMake makes it. */
bool sma_helper_find(const char *name, struct sma_buf *ret_path)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return false;
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    size_t before = ret_path->len;
    sma_buf_printf(ret_path, "%s/%s/%s", path, SMA_HELPER_FROM_PROGRAM, name);
    return ret_path->err == SMA_ERR_OK && access(ret_path->ptr + before, X_OK) == 0;
}

/* The machine's time: it bounds a process that hangs or computes. */
static uint64_t now_ms(void)
{
    return sma_clock_machine_ns(sma_clock_now_ns()) / 1000000;
}

/* -- started ----------------------------------------------------------------------------------- */
/* The walls of commands, without a project, HOME and anything to write to. */
static void add_walls(struct sma_sandbox_plan *plan, const struct sma_helper_place *place)
{
    struct sma_sandbox walls = {.is_userns_last = place->is_userns_last};
    (void)snprintf(walls.path, sizeof walls.path, "%s", place->bubblewrap);
    sandbox_add_machine(plan, &walls, place->has_network);
    sandbox_add_system(plan, NULL, "", place->has_network);
    char real[PATH_MAX];
    if (realpath(place->program, real) != NULL)
        sandbox_show(plan, place->program, real);
    sandbox_add_all(plan, (const char *const[]){"--remount-ro", "/", "--info-fd", "3", "--", NULL});
}

static int spawn(const struct sma_helper_place *place, const struct sma_sandbox_plan *plan,
                 const int *fds, pid_t *ret_pid)
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char *const variables[] = {path, NULL};
    const struct sma_spawn spawn = {.arguments = plan->arguments,
                                    .variables = variables,
                                    .dir = "/",
                                    .fds = {fds[0], fds[1], fds[2], fds[3]},
                                    .fd_count = place->bubblewrap == NULL ? 3 : 4};
    return sma_spawn(&spawn, ret_pid);
}

bool sma_helper_start(const struct sma_helper_place *place, const char *const *arguments, int in,
                      uint32_t wait_ms, struct sma_helper *helper)
{
    struct sma_sandbox_plan plan = {.arguments = NULL};
    int out[2] = {-1, -1}, info[2] = {-1, -1}, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (place->bubblewrap != NULL)
        add_walls(&plan, place);
    sandbox_add(&plan, place->program);
    for (size_t i = 0; arguments[i] != NULL && i < SMA_HELPER_ARGUMENT_COUNT_MAX; i++)
        sandbox_add(&plan, arguments[i]);
    bool is_started = !plan.is_out_of_memory && null >= 0 && pipe2(out, O_CLOEXEC) == 0 &&
                      pipe2(info, O_CLOEXEC) == 0;
    if (is_started)
        is_started =
            spawn(place, &plan, (const int[]){in, out[1], null, info[1]}, &helper->pid) == 0;
    const int ours[] = {null, out[1], info[1]}, theirs[] = {out[0], info[0]};
    for (size_t i = 0; i < SMA_COUNT_OF(ours); i++)
        if (ours[i] >= 0)
            close(ours[i]);
    for (size_t i = 0; i < SMA_COUNT_OF(theirs) && !is_started; i++)
        if (theirs[i] >= 0)
            close(theirs[i]);
    sma_sandbox_plan_fini(&plan);
    helper->out = out[0];
    helper->info = info[0];
    helper->until_ms = now_ms() + wait_ms;
    return is_started;
}

/* -- read and ended ---------------------------------------------------------------------------- */
static bool is_unwanted(const struct sma_helper *helper)
{
    return helper->is_stopped != NULL && __atomic_load_n(helper->is_stopped, __ATOMIC_RELAXED) != 0;
}

bool sma_helper_is_late(const struct sma_helper *helper)
{
    return now_ms() >= helper->until_ms;
}

size_t sma_helper_read(struct sma_helper *helper, char *bytes, size_t len)
{
    size_t done = 0;
    while (done < len && !sma_helper_is_late(helper) && !is_unwanted(helper)) {
        struct pollfd watch = {.fd = helper->out, .events = POLLIN};
        if (poll(&watch, 1, GLANCE_MS) <= 0)
            continue;
        ssize_t got = read(helper->out, bytes + done, len - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

void sma_helper_reap_inside(int info)
{
    char said[INFO_BYTES_MAX];
    size_t len = 0;
    struct pollfd watch = {.fd = info, .events = POLLIN};
    while (len + 1 < sizeof said && poll(&watch, 1, INFO_MS) > 0) {
        ssize_t got = read(info, said + len, sizeof said - 1 - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        len += (size_t)got;
        if (memchr(said, '}', len) != NULL)
            break;
    }
    said[len] = '\0';
    const char *child = strstr(said, "\"child-pid\":");
    int pid = 0, status;
    if (child == NULL || sscanf(child + 12, " %d", &pid) != 1 || pid <= 1)
        return;
    /* Not our child (ECHILD): bubblewrap has waited for it. Ours and alive: only then is its number
     * certainly its own. */
    if (waitpid(pid, &status, WNOHANG) == 0) {
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
}

int sma_helper_end(struct sma_helper *helper)
{
    int status = 0;
    pid_t got = 0;
    close(helper->out);
    while ((got = waitpid(helper->pid, &status, WNOHANG)) == 0 && !sma_helper_is_late(helper) &&
           !is_unwanted(helper))
        (void)poll(NULL, 0, 1); /* its pipe is closed: it is about to exit */
    if (got == 0) {
        (void)kill(helper->pid, SIGKILL);
        while ((got = waitpid(helper->pid, &status, 0)) < 0 && errno == EINTR)
            ;
    }
    sma_helper_reap_inside(helper->info);
    close(helper->info);
    return got == helper->pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
