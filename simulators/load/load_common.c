/* load_common.c — the clock, messages, and Ctrl-C. */
#include "load.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

bool load_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

volatile int load_is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    load_is_interrupted = 1;
}

void load_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

uint64_t load_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

size_t load_run_add(struct load_run *run, uint64_t due_ns, unsigned chat)
{
    if (run->count == run->room) {
        run->room = run->room == 0 ? 1024 : run->room * 2;
        run->samples = realloc(run->samples, run->room * sizeof *run->samples);
        if (run->samples == NULL)
            abort();
    }
    run->samples[run->count] = (struct load_sample){.due_ns = due_ns, .chat = chat};
    return run->count++;
}
