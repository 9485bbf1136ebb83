/*
 * play_stage.h — what a script plays on: a project in a folder of its own, the model server, one
 * or two bots of the platform, the service.
 *
 * Whatever cannot be done ends the process by play_fail. Thread: one.
 */
#ifndef SMA_PLAY_STAGE_H
#define SMA_PLAY_STAGE_H

#include "play/play.h"

#include <limits.h>
#include <sys/types.h>

#define PLAY_BOTS_MAX 2

struct play_bot
{
    void *fake;
    struct platform_client client;
};
struct play_stage
{
    const struct fake_program *program;
    const struct play_options *options;
    struct play_bot bots[PLAY_BOTS_MAX];
    size_t bot_count, bot; /* how many; which one lines speak of */
    json_t *config;        /* ship.json as it is written at the next start */
    char *model_script;    /* NULL: answers of its own */
    char folder[PATH_MAX];
    pid_t model, service;
    int model_port, port;
    char token[128];
    bool is_open, may_complain;
};
/** Says where, what and what is there to see; ends the process. */
void play_fail(const char *format, ...) SMA_PRINTF(1, 2) __attribute__((noreturn));

/** Folder, platforms, model server and configuration; the service is not running. */
void stage_open(struct play_stage *stage, const struct fake_program *program,
                const struct play_options *options);
/** One more bot of the platform, before the start. */
void stage_add_bot(struct play_stage *stage);
/** The service must end well, keep its secrets, and have done nothing it must not. */
void stage_close(struct play_stage *stage);
/** Starts the service and waits until it answers, and is connected by so many of the bots, unless
 *  events are posted. */
void stage_start(struct play_stage *stage, size_t awaited);
/** SIGTERM; it must end well. */
void stage_stop(struct play_stage *stage);
void stage_kill(struct play_stage *stage);
/** It ends by itself. */
void stage_await_death(struct play_stage *stage);
/** A file or folder of the project. */
void stage_remove(const struct play_stage *stage, const char *name);
/** Writes ship.json; SIGHUP when the service runs. */
void stage_configure(struct play_stage *stage, bool is_running);
void stage_end_silence(const struct play_stage *stage);
/** Everything that is there to see, to stderr. `chat`: borrowed, NULL: none is meant. */
void stage_show(const struct play_stage *stage, const json_t *chat);

/** A command of the current bot's platform, taken over. @return its answer; an error ends all */
json_t *stage_tell(const struct play_stage *stage, json_t *command);
int64_t stage_counter(const struct play_stage *stage, const char *name);
/** Nothing waits at any bot's platform, in the service, or is to be sent. */
bool stage_is_at_rest(const struct play_stage *stage);
void stage_rest(const struct play_stage *stage);
/** A number of GET /metrics; -1: it is not there. */
long stage_metric(const struct play_stage *stage, const char *name);
/** "descriptors": files the service has open; "wakes": how often its threads went to sleep. */
long stage_process(const struct play_stage *stage, const char *what);
struct http_answer stage_ask(const struct play_stage *stage, const char *method, const char *path,
                             const char *body);
/** Runs the program in the project with these words. @return exit status; output malloc'ed */
int stage_run(const struct play_stage *stage, const char *words, char **ret_output);
/** The last file of the project that matches, malloc'ed and as seen from there; NULL: none. */
char *stage_find(const struct play_stage *stage, const char *pattern);
/** A file of the project as malloc'ed text; the last that matches a pattern; NULL: none. */
char *stage_read(const struct play_stage *stage, const char *pattern);
void stage_write(const struct play_stage *stage, const char *name, const char *text);
/** The requests to the model whose bodies hold `part`, oldest first; none it complains of. */
json_t *stage_requests(const struct play_stage *stage, const char *part);

/** Monotonic milliseconds of the machine; and of the clock that the service and the platforms
 * live by (sma/clock.h). */
long long play_real_ms(void);
long long play_clock_ms(void);
/** Waits a little between two looks. @return false: it is later than `until` (play_real_ms) */
bool play_look_again(long long until);

#endif
