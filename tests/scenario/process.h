/*
 * process.h — start the real binary (or a fake server) on a private folder, find its port, stop it.
 * For scenario tests.
 */
#ifndef SMA_TEST_PROCESS_H
#define SMA_TEST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct folder
{
    char path[128]; /* a project: Agent.md, ship.json */
};
/** Monotonic milliseconds of the machine: for patience. What the program promises is measured by
 *  clock_now_ms (support/clock.h). */
long long process_now_ms(void);
/** clock_rest: a pause in the program's time. */
void process_pause_ms(int ms);

/** A fresh private project with this ship.json. */
void folder_create(struct folder *folder, const char *ship_json);
void folder_write(const struct folder *folder, const char *name, const char *text);
/** Whole file as a malloc'ed string; NULL when it is not there. */
char *folder_read(const struct folder *folder, const char *name);
void folder_remove(struct folder *folder);

struct service
{
    pid_t pid;
    int port;
    char log[160]; /* what it printed */
};
/** `binary start folder --port 0`, until it answers. Ends the test when it does not come up. */
void service_start(struct service *service, const char *binary, const struct folder *folder);
/** SIGTERM and wait. @return exit status, or 128 + signal */
int service_stop(struct service *service);
void service_kill(struct service *service);

/** A port of 127.0.0.1 that nobody has at the moment, of those the kernel gives away. */
int process_free_port(void);
/** Start a server that prints `PORT n` first. @return its port */
int server_start(char *const *argv, pid_t *ret_pid);
void server_stop(pid_t pid);
/** Run to the end with `input` on stdin; output (stdout then stderr mixed) malloc'ed. @return exit
 *  status */
int run_to_end(char *const *argv, const char *input, char **ret_output, int timeout_ms);

#endif
