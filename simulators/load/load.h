/*
 * load.h — `shipmyagent bench`: a copy of a project's configuration between simulators, put under
 * load.
 *
 * Latency counts from when a message was due, not from when it was sent: a stall of the service, or
 * of this program, is seen by all messages that were due in it.
 *
 * Threads: one; a simulated platform has its own.
 */
#ifndef SMA_LOAD_H
#define SMA_LOAD_H

#include "sma/base.h"

#include <jansson.h>
#include <limits.h>
#include <sys/types.h>

#define LOAD_QUARTER_COUNT 4
#define LOAD_TOKEN "bench" /* stands before the number of a message in its text */

/* What was asked for. */
struct load_plan
{
    const char *program, *folder, *platform, *json, *baseline;
    bool is_open;
    double rate, seconds;
    unsigned chats;
    long model_ms, patience_ms;
};

/** One line on stderr, behind the name of the command. @return false */
bool load_complain(const char *format, ...) SMA_PRINTF(1, 2);

/* -- samples ----------------------------------------------------------------------------------- */
enum load_outcome
{
    LOAD_UNANSWERED,
    LOAD_ANSWERED,
    LOAD_REFUSED, /* with an answer that says so */
    LOAD_BROKEN,  /* the connection was closed before the answer */
};
struct load_sample
{
    uint64_t due_ns, sent_ns, done_ns; /* sent_ns 0: never sent */
    enum load_outcome outcome;
    unsigned chat;
    bool is_held; /* it was late because all connections waited for the service */
};
struct load_run
{
    struct load_sample *samples;
    size_t count, room;
    size_t first;     /* the number of the first message: no two of a bench are the same */
    size_t count_max; /* closed: stop here; 0: by the time alone */
    uint64_t start_ns, end_ns;
};
/** One more message. @return its index */
size_t load_run_add(struct load_run *run, uint64_t due_ns, unsigned chat);
uint64_t load_now_ns(void);
/** From now on SIGINT and SIGTERM are told by load_is_interrupted. */
void load_catch_interrupts(void);
extern volatile int load_is_interrupted;

/* -- the service and what stands around it ----------------------------------------------------- */
struct load_child
{
    pid_t pid;
    int port;
};
struct load_place
{
    char folder[PATH_MAX]; /* the copy */
    char token[33];
    struct load_child service, model;
    bool is_in_memory; /* the copy is on a file system without a disk */
};
/** @return false: said on stderr why */
SMA_CHECKED bool load_place_make(struct load_place *place);
SMA_CHECKED bool load_start_model(struct load_place *place, const struct load_plan *plan);
SMA_CHECKED bool load_start_service(struct load_place *place, const struct load_plan *plan);
/* Its parts, for who does not wait: begin, and look whether it can be asked. */
SMA_CHECKED bool load_spawn_service(struct load_place *place, const struct load_plan *plan);
SMA_CHECKED bool load_is_ready(struct load_place *place);
/** The end of what it printed, on stderr. */
void load_show_output(const struct load_place *place);
/** SIGTERM, and SIGKILL after a while. */
void load_stop(struct load_child *child);
/** Stops what runs and removes the copy. */
void load_place_remove(struct load_place *place);
/** Writes Agent.md and ship.json of the copy. `adapter`: the block of the platform, borrowed. */
SMA_CHECKED bool load_copy(const struct load_place *place, const struct load_plan *plan,
                           json_t *adapter);

/* -- the generators ---------------------------------------------------------------------------- */
/* Each fills run->samples until the time is over and every message has its answer, or patience
 * ends. */
void load_http_run(const struct load_place *place, const struct load_plan *plan,
                   struct load_run *run);
struct load_chats;
struct load_chats *load_chats_open(const struct load_plan *plan);
/** The block of "adapters"; decref it. */
json_t *load_chats_adapter(const struct load_chats *chats);
SMA_CHECKED bool load_chats_await_ready(const struct load_chats *chats);
void load_chats_run(struct load_chats *chats, const struct load_plan *plan, struct load_run *run);
/* Its parts. One message: */
void load_chats_say(struct load_chats *chats, struct load_run *run, size_t index);
/** Looks for answers until all are there, or for so long. @return are all there? */
SMA_CHECKED bool load_chats_await_all(struct load_chats *chats, struct load_run *run, long ms);
/** The service has confirmed all it was told. */
SMA_CHECKED bool load_chats_is_drained(const struct load_chats *chats);
/** The platform has read what a process that has ended had sent. */
void load_chats_catch_up(const struct load_chats *chats);
/** Every message of the bot, in the order of each chat; has_number: it repeats that of one. */
void load_chats_visit(const struct load_chats *chats,
                      void (*seen)(void *user, const char *text, bool has_number, size_t number,
                                   uint64_t ns),
                      void *user);
void load_chats_close(struct load_chats *chats);

/* -- what the service says of itself ----------------------------------------------------------- */
struct load_reading
{
    char *metrics; /* the text of GET /metrics */
    double cpu_s;
    uint64_t written_bytes;
};
SMA_CHECKED bool load_read(const struct load_place *place, struct load_reading *ret);
void load_reading_fini(struct load_reading *reading);
/** Nothing waits, runs or is sent. */
SMA_CHECKED bool load_is_quiet(const struct load_place *place);

/* -- the report -------------------------------------------------------------------------------- */
/** What was measured, as JSON; decref it. */
json_t *load_report(const struct load_plan *plan, const struct load_place *place,
                    const struct load_run *run, const struct load_reading readings[2]);
void load_print(const json_t *report);
/** 0: not worse than the baseline; 1: worse; 2: the two cannot be compared. Says which, and why. */
int load_compare(const json_t *baseline, const json_t *report);

#endif
