/* pty.c — see pty.h. */
#include "pty.h"

#include "process.h"
#include "support/check.h"
#include "support/patience.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void pty_start(struct pty *pty, char *const *argv, void (*before)(void))
{
    struct winsize size = {.ws_row = 50, .ws_col = 200};
    pty->len = pty->seen = 0;
    pty->text[0] = '\0';
    pty->pid = forkpty(&pty->fd, NULL, NULL, &size);
    CHECK(pty->pid >= 0);
    if (pty->pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (before != NULL)
        before();
    execv(argv[0], argv);
    _exit(127);
}

/* false: the program has closed its terminal. */
static bool read_some(struct pty *pty, int timeout_ms)
{
    struct pollfd ready = {.fd = pty->fd, .events = POLLIN};
    if (poll(&ready, 1, timeout_ms) <= 0)
        return true;
    CHECK(pty->len < sizeof pty->text - 1);
    ssize_t done = read(pty->fd, pty->text + pty->len, sizeof pty->text - 1 - pty->len);
    if (done <= 0)
        return false;
    pty->len += (size_t)done;
    pty->text[pty->len] = '\0';
    return true;
}

const char *pty_await(struct pty *pty, const char *part)
{
    bool is_open = true;
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;;) {
        const char *found = strstr(pty->text + pty->seen, part);
        if (found != NULL) {
            pty->seen = (size_t)(found - pty->text) + strlen(part);
            return found;
        }
        if (!is_open || process_now_ms() > until)
            break;
        is_open = read_some(pty, 200);
    }
    fprintf(stderr, "waited in vain for \"%s\"; the screen:\n%s\n", part, pty->text);
    exit(1);
}

void pty_press(struct pty *pty, const char *bytes)
{
    size_t len = strlen(bytes);
    CHECK(write(pty->fd, bytes, len) == (ssize_t)len);
}

void pty_answer(struct pty *pty, const char *question, const char *line)
{
    (void)pty_await(pty, question);
    pty_press(pty, line);
    pty_press(pty, "\r");
}

bool pty_has(const struct pty *pty, const char *part)
{
    return strstr(pty->text, part) != NULL;
}

int pty_end(struct pty *pty)
{
    int status;
    long long until = process_now_ms() + PATIENCE_AWAIT_MS;
    while (process_now_ms() < until && read_some(pty, 200))
        continue;
    if (process_now_ms() >= until)
        kill(pty->pid, SIGKILL);
    CHECK(waitpid(pty->pid, &status, 0) == pty->pid);
    close(pty->fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
