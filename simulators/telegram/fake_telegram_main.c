/*
 * fake_telegram_main.c — the fake Bot API as a program: prints PORT n and serves; commands by POST
 * /control.
 *   fake_telegram [--port N]
 */
#include "fake_telegram.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    int port = 0;
    if (argc == 3 && strcmp(argv[1], "--port") == 0) {
        port = (int)strtol(argv[2], NULL, 10);
    } else if (argc != 1) {
        fprintf(stderr, "usage: fake_telegram [--port N]\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* never outlives its test */
    signal(SIGPIPE, SIG_IGN);
    struct fake_telegram *fake = fake_telegram_create(port);
    printf("PORT %d\n", fake_telegram_port(fake));
    fflush(stdout);
    fake_telegram_run(fake);
    fake_telegram_stop(fake);
    return 0;
}
