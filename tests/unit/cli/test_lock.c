/*
 * Aim: one process serves a project; asking whether one does never keeps another from starting.
 * Method: a child takes the lock, or asks for it in a tight loop, while the parent takes it.
 */
#include "cli/lock.h"
#include "support/check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-lock-XXXXXX";

/* A failed check ends the parent: its children must not stay. */
static void end_with_parent(void)
{
    (void)alarm(20);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() == 1)
        _exit(1);
}

CASE(the_holder_is_named)
{
    struct sma_error error = {0};
    int fd = -1, other = -1;
    char wanted[64];
    CHECK(!sma_lock_is_held(dir));
    CHECK_OK(sma_lock_take(dir, &fd, &error));
    CHECK(sma_lock_is_held(dir));
    CHECK_ERR(SMA_ERR_BUSY, sma_lock_take(dir, &other, &error));
    snprintf(wanted, sizeof wanted, "(process %ld)", (long)getpid());
    CHECK(strstr(error.text, wanted) != NULL && other == -1);
    close(fd);
    CHECK(!sma_lock_is_held(dir));
}

CASE(a_dead_holder_holds_nothing)
{
    int ready[2];
    CHECK_INT(0, pipe(ready));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        end_with_parent();
        int fd;
        _exit(sma_lock_take(dir, &fd, NULL) == SMA_ERR_OK && write(ready[1], "1", 1) == 1 ? pause()
                                                                                          : 1);
    }
    char byte;
    CHECK_INT(1, read(ready[0], &byte, 1));
    CHECK(sma_lock_is_held(dir));
    CHECK_INT(0, kill(child, SIGKILL));
    CHECK_INT(child, waitpid(child, NULL, 0));
    int fd = -1;
    CHECK(!sma_lock_is_held(dir));
    CHECK_OK(sma_lock_take(dir, &fd, NULL));
    close(fd);
    close(ready[0]);
    close(ready[1]);
}

CASE(asking_keeps_nobody_out)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        end_with_parent();
        for (;;)
            (void)sma_lock_is_held(dir); /* until killed */
    }
    struct sma_error error = {0};
    for (int i = 0; i < 3000; i++) {
        int fd = -1;
        CHECK_OK(sma_lock_take(dir, &fd, &error));
        close(fd);
    }
    CHECK_INT(0, kill(child, SIGKILL));
    CHECK_INT(child, waitpid(child, NULL, 0));
}

int main(void)
{
    char path[64];
    CHECK(mkdtemp(dir) != NULL);
    check_run_cases(NULL);
    snprintf(path, sizeof path, "%s/lock", dir);
    CHECK_INT(0, unlink(path));
    CHECK_INT(0, rmdir(dir));
    return check_summary();
}
