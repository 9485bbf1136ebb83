/*
 * observe.c — see observe.h. The process that enters is the observer; its first child, process 1 of
 * the scratch system, has the filter and starts the commands, so that whatever they leave behind
 * becomes its child and ends with the run.
 */
#include "observe.h"

#include "observe_priv.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES_MAX 65536
#define TIME_MS_MAX 4000
#define GRACE_MS 1000 /* for what a command leaves running behind it */

struct observer
{
    int listener, channel, outer_proc;
    pid_t starter;
};

static char request[TEXT_BYTES_MAX + 256];

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* -- process 1: starts commands and buries them ------------------------------------------------ */
static void send_listener(int channel, int listener)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    union
    {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &listener, sizeof listener);
    if (sendmsg(channel, &message, 0) != 1)
        _exit(1);
}

static int receive_listener(int channel)
{
    char byte;
    struct iovec part = {&byte, 1};
    union
    {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    int listener = -1;
    if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1 || CMSG_FIRSTHDR(&message) == NULL)
        return -1;
    memcpy(&listener, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof listener);
    return listener;
}

static pid_t start_command(const char *shell, const char *text)
{
    static const char *const environment[] = {"PATH=" OBSERVER_PATH,   "HOME=" OBSERVER_HOME,
                                              "LANG=C.UTF-8",          "PYTHONDONTWRITEBYTECODE=1",
                                              "GIT_TERMINAL_PROMPT=0", NULL};
    const char *words[] = {shell, "-c", text, NULL};
    pid_t child = vfork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        execve(shell, (char **)(uintptr_t)words, (char **)(uintptr_t)environment);
        _exit(127);
    }
    return child;
}

/* Reap until nobody is left; after `grace` (when the command itself has ended) or a word from the
 * observer everybody goes. */
static int bury(int channel, int signals, pid_t child)
{
    int status = 0;
    long deadline = -1;
    for (;;) {
        int one;
        pid_t dead = waitpid(-1, &one, WNOHANG);
        if (dead < 0)
            return status;
        if (dead == child) {
            status = one;
            deadline = now_ms() + GRACE_MS;
        }
        if (dead > 0)
            continue;
        struct pollfd waits[] = {{.fd = signals, .events = POLLIN},
                                 {.fd = channel, .events = POLLIN}};
        long left = deadline < 0 ? -1 : deadline - now_ms();
        if (left != 0)
            (void)poll(waits, 2, left < -1 ? 0 : (int)left);
        if ((waits[0].revents & POLLIN) != 0) {
            struct signalfd_siginfo info;
            (void)!read(signals, &info, sizeof info); /* waitpid() tells the rest */
        }
        if ((waits[1].revents & POLLIN) != 0 || (deadline >= 0 && now_ms() >= deadline)) {
            if ((waits[1].revents & POLLIN) != 0)
                (void)recv(channel, request, sizeof request, 0);
            kill(-1, SIGKILL);
            while ((dead = waitpid(-1, &one, 0)) > 0)
                if (dead == child)
                    status = one;
            return status;
        }
    }
}

/* A message is the shell's path, NUL, the text, NUL; an answer is the status. */
static _Noreturn void start_commands(int channel)
{
    struct rlimit processor = {2, 2}, file = {4 << 20, 4 << 20}, core = {0, 0};
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sandbox_mount_proc();
    sigprocmask(SIG_BLOCK, &children, NULL);
    int signals = signalfd(-1, &children, SFD_CLOEXEC);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setrlimit(RLIMIT_CPU, &processor);
    setrlimit(RLIMIT_FSIZE, &file);
    setrlimit(RLIMIT_CORE, &core);
    bool is_quiet = getenv("OBSERVER_SHOW") == NULL;
    if (signals < 0 || dup2(nothing, 0) < 0 ||
        (is_quiet && (dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0)))
        _exit(1);
    int listener = observe_install_filter();
    if (listener < 0)
        _exit(1);
    send_listener(channel, listener);
    close(listener);
    for (;;) {
        ssize_t len = recv(channel, request, sizeof request - 1, 0);
        if (len <= 0)
            _exit(0);
        request[len] = '\0';
        int status = 0;
        if (chdir(OBSERVER_PROJECT) == 0 || chdir("/home") == 0)
            status = bury(channel, signals, start_command(request, request + strlen(request) + 1));
        if (chdir("/") != 0 || send(channel, &status, sizeof status, 0) != sizeof status)
            _exit(1);
    }
}

/* -- the observer ------------------------------------------------------------------------------ */
struct observer *observer_enter(unsigned uid, char *why, size_t why_size)
{
    struct observer *observer = calloc(1, sizeof *observer);
    int ends[2];
    snprintf(why, why_size, "no memory or no file descriptors");
    if (observer == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    int room = 1 << 18;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    observer->outer_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!sandbox_enter(uid, why, why_size))
        return NULL;
    observer->channel = ends[0];
    observer->starter = fork();
    if (observer->starter == 0) {
        close(ends[0]);
        start_commands(ends[1]);
    }
    close(ends[1]);
    observer->listener = receive_listener(observer->channel);
    snprintf(why, why_size, "the kernel hands out no system calls (seccomp)");
    if (observer->listener < 0)
        return NULL;
/* Linux 6.6: both on one processor, no waking of another; only faster */
#ifdef SECCOMP_IOCTL_NOTIF_SET_FLAGS
    (void)ioctl(observer->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, 1UL);
#else
    (void)ioctl(observer->listener, SECCOMP_IOW(4, __u64), 1UL);
#endif
    return observer;
}

void observer_leave(struct observer *observer)
{
    close(observer->channel);
    close(observer->listener);
    (void)waitpid(observer->starter, NULL, 0);
    close(observer->outer_proc);
    free(observer);
}

static void handle_call(struct observer *observer, struct observation *seen)
{
    struct seccomp_notif call;
    memset(&call, 0, sizeof call); /* the kernel insists */
    if (ioctl(observer->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
        return; /* killed meanwhile */
    observe_note(observer->outer_proc, &call, seen);
    struct seccomp_notif_resp answer = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    (void)ioctl(observer->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* likewise */
}

void observer_run(struct observer *observer, const char *shell, const char *text,
                  struct observation *ret_seen)
{
    size_t shell_len = strlen(shell) + 1, text_len = strlen(text) + 1;
    ret_seen->count = 0;
    ret_seen->arena_len = 0;
    ret_seen->is_late = ret_seen->is_full = false;
    ret_seen->status = -1;
    if (shell_len + text_len > sizeof request)
        return;
    memcpy(request, shell, shell_len);
    memcpy(request + shell_len, text, text_len);
    if (send(observer->channel, request, shell_len + text_len, 0) < 0)
        return;
    long deadline = now_ms() + TIME_MS_MAX;
    bool is_stopped = false;
    for (;;) {
        struct pollfd waits[] = {{.fd = observer->listener, .events = POLLIN},
                                 {.fd = observer->channel, .events = POLLIN}};
        int ready = poll(waits, 2, 50);
        if ((waits[0].revents & POLLIN) != 0)
            handle_call(observer, ret_seen);
        else if ((waits[1].revents & (POLLIN | POLLHUP)) != 0) {
            if (recv(observer->channel, &ret_seen->status, sizeof ret_seen->status, 0) <= 0)
                ret_seen->status = -1;
            break;
        }
        ret_seen->is_late |= ready >= 0 && now_ms() > deadline;
        if (!is_stopped && (ret_seen->is_late || ret_seen->is_full)) {
            is_stopped = true;
            (void)send(observer->channel, "", 1, 0);
        }
    }
    /* the first is the shell itself */
    if (ret_seen->count > 0) {
        ret_seen->count--;
        memmove(&ret_seen->items[0], &ret_seen->items[1], ret_seen->count * sizeof(struct saw));
    }
}
