/*
 * fake_qq_main.c — the fake QQ platform as a program: prints PORT n and serves; commands by POST
 * /control.
 *   fake_qq [--port N]
 */
#include "fake_qq.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    int port = 0, caught;
    if (argc == 3 && strcmp(argv[1], "--port") == 0) {
        port = (int)strtol(argv[2], NULL, 10);
    } else if (argc != 1) {
        fprintf(stderr, "usage: fake_qq [--port N]\n");
        return 2;
    }
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* the threads inherit it: only sigwait sees them */
    prctl(PR_SET_PDEATHSIG, SIGTERM);        /* never outlives its test */
    signal(SIGPIPE, SIG_IGN);
    struct fake_qq *fake = fake_qq_start(port);
    printf("PORT %d\n", fake_qq_port(fake));
    fflush(stdout);
    sigwait(&ends, &caught);
    fake_qq_stop(fake);
    return 0;
}
