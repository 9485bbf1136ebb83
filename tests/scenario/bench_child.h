/*
 * bench_child.h — `shipmyagent bench` or `chaos` while it runs. For scenario tests.
 */
#ifndef SMA_TEST_BENCH_CHILD_H
#define SMA_TEST_BENCH_CHILD_H

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

struct bench
{
    pid_t pid, service; /* service: 0 when it was not told */
    FILE *out;
    char copy[256]; /* folder of the copy */
};
/** words: what follows the program's name; ends with NULL. */
void bench_start(struct bench *bench, const char *binary, const char *const *words);
/** Reads what it prints up to a line that begins so. */
void bench_await(struct bench *bench, const char *line);
/** Shows the rest. @return exit status */
int bench_finish(struct bench *bench);
/** The JSON it wrote; decref it. */
json_t *bench_read_json(const char *path);
/** A number of it; block NULL: at the top. */
double bench_number(const json_t *report, const char *block, const char *name);

#endif
