/*
 * fake_feishu_main.c — the fake Feishu as a program: prints PORT n and serves; commands by POST
 * /control.
 *   fake_feishu [--port N]
 */
#include "fake_feishu.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    int port = 0, number;
    sigset_t signals;
    if (argc == 3 && strcmp(argv[1], "--port") == 0) {
        port = (int)strtol(argv[2], NULL, 10);
    } else if (argc != 1) {
        fprintf(stderr, "usage: fake_feishu [--port N]\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* never outlives its test */
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals,
                NULL); /* before the server's thread begins: it must not take them */
    struct fake_feishu *fake = fake_feishu_start(port);
    printf("PORT %d\n", fake_feishu_port(fake));
    fflush(stdout);
    sigwait(&signals, &number);
    fake_feishu_stop(fake);
    return 0;
}
