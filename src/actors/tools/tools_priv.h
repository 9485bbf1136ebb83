/*
 * tools_priv.h — the state of the tools actor: one job per open question, and the commands that
 * run.
 *
 * A job WAITS (for a place of its kind, and for the writers of its file before it), WORKS (on a
 * libuv worker: the check, a file tool, the plan of a command), RUNS (a command's processes live),
 * ENDS (they are being ended) and is answered exactly once. It goes when it is answered and no
 * handle, worker or log write is left; that of a command whose process the kernel does not let go
 * stays until it has ended.
 *
 * Invariants: jobs of one kind start in the order they came; at most SMA_EXEC_COUNT_MAX commands
 *             hold a place; a job that works is touched by its worker alone, except is_stopped.
 *             Without commands there is no timer.
 * Threads:    the actor's; tools_work.c's work() runs on libuv's workers.
 */
#ifndef SMA_ACTORS_TOOLS_PRIV_H
#define SMA_ACTORS_TOOLS_PRIV_H

#include "runtime/exec/exec_options.h"
#include "runtime/exec/exec_output.h"
#include "runtime/exec/exec_processes.h"
#include "runtime/exec/sandbox.h"
#include "runtime/files/check.h"
#include "runtime/files/file_tools.h"
#include "runtime/media/prepare.h"
#include "runtime/secrets/secrets.h"
#include "runtime/skills/scan.h"
#include "runtime/web/rules.h"
#include "sma/actors.h"
#include "sma/messages.h"

#include <limits.h>
#include <uv.h>

#define TOOLS_MS 1000000u
#define TOOLS_WATCH_NS \
    (50 * (uint64_t)TOOLS_MS) /* between two looks at the processes of commands */
#define TOOLS_GLANCE_NS \
    (10 * (uint64_t)TOOLS_MS)      /* between two glances at the machine's number of tasks */
#define TOOLS_GLANCE_TASK_COUNT 64 /* so many more than at the last look: look now */
#define TOOLS_GRACE_NS \
    (200 * (uint64_t)TOOLS_MS) /* from the shell's end to that of what it left behind */
#define TOOLS_SOON_NS \
    ((uint64_t)       \
         TOOLS_MS) /* the first look after a command's end; the next ones after twice the time */
#define TOOLS_RETRY_NS \
    (10 * (uint64_t)TOOLS_MS) /* between two looks while processes are being ended */
#define TOOLS_GIVE_UP_NS \
    (5000 * (uint64_t)TOOLS_MS) /* the kernel does not let them go: answered all the same */
#define TOOLS_FILE_COUNT_MAX 3  /* file tools at work at once: checks find a worker beside them */
#define TOOLS_LOG_PENDING_BYTES_MAX \
    (1024 * 1024) /* not yet on disk; at it the command's pipes are not read */
#define TOOLS_READ_BYTES 65536
#define TOOLS_PRUNE_COUNT 64 /* commands from one look at old logs to the next */
#define TOOLS_CONFIG_COUNT_MAX \
    65 /* whose secrets are remembered: the first and as many reloads as the service takes */

/* Made of one configuration; replaced, not changed, on reload. */
struct tools_setup
{
    unsigned refs; /* the actor's thread only */
    const struct sma_config *config;
    struct sma_tool_rules *rules;
    struct sma_file_tools *files;
    struct sma_secrets *secrets;
    struct sma_exec_options options;
    struct sma_sandbox sandbox;
    struct sma_buf helper;     /* path of shrink-picture; empty: it is not installed */
    struct sma_buf web_helper; /* ... of fetch-page */
    struct sma_web_rules *web;
};

enum tools_kind
{
    TOOLS_KIND_CHECK,
    TOOLS_KIND_FILE,
    TOOLS_KIND_EXEC,
    TOOLS_KIND_WEB,
    TOOLS_KIND_COUNT
};
enum tools_state
{
    TOOLS_WAITS,
    TOOLS_WORKS,
    TOOLS_RUNS,
    TOOLS_ENDS,
    TOOLS_FETCHES, /* a thread of its own waits for the helper (tools_web.c) */
    TOOLS_ANSWERED,
};
/* Why a command was ended; what the answer says. */
enum tools_reason
{
    TOOLS_REASON_NONE,
    TOOLS_REASON_TIMEOUT,
    TOOLS_REASON_STOPPED,
    TOOLS_REASON_PROCESSES,
    TOOLS_REASON_MEMORY,
    TOOLS_REASON_BREACH,
    TOOLS_REASON_PERSON, /* the time of its person is used up */
    TOOLS_REASON_LOST,   /* no memory to go on */
};

struct tools_job;

/* One look at the skills; not changed after it was made. */
struct tools_look
{
    unsigned refs; /* the actor's thread only */
    struct sma_skills *skills;
};

/* The file under .ship/logs/exec: both streams as they come. */
struct tools_log
{
    char name[64];          /* the handle of read_more */
    int fd;                 /* -1 until the first byte */
    struct sma_buf pending; /* to be written next */
    struct sma_buf writing; /* the worker's while is_busy */
    uint64_t bytes;
    int last_stream; /* 0 out, 1 err, -1 none yet */
    bool is_busy, is_cut, has_failed;
    uv_work_t work;
};

struct tools_pipe
{
    uv_pipe_t handle;
    int stream; /* 0 out, 1 err, 2 what the sandbox says */
    bool is_open, is_paused;
};

struct tools_command
{
    bool is_started; /* the members below are in use; before, only the marker */
    pid_t pid;       /* 0 = waited for */
    pid_t session;   /* its first pid, for ever */
    pid_t inside;    /* first process in the sandbox; 0 = not known or gone */
    bool has_inside; /* was known once */
    bool has_exited, has_exit_code;
    int exit_code, signo;
    struct tools_pipe pipes[3];
    struct sma_exec_stream streams[2];
    struct sma_buf said; /* of pipe 2 */
    struct tools_log log;
    int64_t timeout_ms;
    uint64_t begin_ns, deadline_ns, kill_ns, grace_ns, give_up_ns; /* UINT64_MAX = none */
    uint64_t counted_ns; /* its time up to here is its person's */
    uint64_t exited_ns;  /* good when has_exited */
    bool is_killed;      /* SIGKILL has been sent */
    enum tools_reason reason;
    bool has_left;    /* it left processes behind */
    bool is_given_up; /* the kernel does not let them go: answered without them */
    char marker[40], breach[96];
};

struct tools_job
{
    struct tools_job *next, *previous;
    struct sma_tools *tools;
    struct tools_setup *setup;
    struct sma_msg *question;
    const struct sma_tool_ask *ask;
    enum tools_kind kind;
    enum tools_state state;
    bool holds_place;
    struct sma_buf target;   /* of a file that it writes: the path (tools_order.c); else empty */
    volatile int is_stopped; /* read by the worker */
    unsigned handles;        /* open libuv handles */
    uv_work_t work;

    /* results of the worker */
    enum sma_err err;
    struct sma_tool_check check;
    struct sma_buf item, why, result;
    struct sma_file_seen seen; /* by read_file: a picture or PDF that goes with the result */
    bool is_done, is_success;
    struct tools_look *look;   /* of skills, before this one; NULL: none yet */
    struct sma_skills *skills; /* found by it; NULL: it did not look */
    bool is_command;           /* start `plan` */
    bool is_unhidden;          /* not started: secrets of the project would be there; it is asked */
    bool is_pruning;           /* old logs are deleted on the way */
    struct sma_sandbox_plan plan;
    char **variables;
    int64_t timeout_ms;
    struct tools_command *command;
    struct tools_web *web; /* what a fetch or search needs (tools_web.c) */
};

/* Whose commands they are (tools_person.c). */
struct tools_person
{
    uint64_t who, begin_ns, used_ns; /* of the hour that began then */
    unsigned running;                /* commands that hold a place */
};

struct tools_encode;
/* Parts that are made ready for the model (tools_encode.c). */
struct tools_encodes
{
    struct tools_encode *first, *last; /* in the order they came */
    unsigned busy;                     /* at work, at most SMA_ENCODE_COUNT_MAX */
    unsigned begun_count;              /* the folder is tidied now and then */
    bool is_full;                      /* the folder was, when last looked at */
};

struct sma_tools
{
    uint32_t magic;
    struct sma_ctx *ctx;
    struct tools_setup *setup;
    const struct sma_config *configs[TOOLS_CONFIG_COUNT_MAX]; /* all so far */
    size_t config_count;
    struct tools_job jobs; /* head of a ring, in the order they came */
    size_t busy[TOOLS_KIND_COUNT];
    struct tools_person persons[SMA_EXEC_PERSON_COUNT_MAX];
    size_t person_count;
    struct tools_encodes encodes;
    struct tools_look *look; /* the newest; NULL: none yet */
    uint64_t told_skills;    /* hash of what was logged of them */
    unsigned placeholders;
    unsigned plan_count; /* commands planned */
    bool is_draining, has_drained;
    uint64_t wake_ns, watch_ns; /* next wake; next look at the processes */
    uint16_t task_count;        /* on the machine at the last look */
    struct sma_process_table table;
    char *read_bytes; /* TOOLS_READ_BYTES, for the pipes */
    char marker_prefix[20];
    uv_signal_t children;                    /* SIGCHLD: some command may be over */
    void (*on_leave)(struct tools_job *job); /* tools.c: tools_leave */
};

/* -- tools.c ----------------------------------------------------------------------------------- */
void tools_unref_setup(struct tools_setup *setup); /* accepts NULL */
/** Say that the drain is done, if it is. */
void tools_tell_drained(struct sma_tools *tools);

/* -- tools_encode.c ---------------------------------------------------------------------------- */
/** An ENCODE question: takes it. */
void tools_encode_take(struct sma_tools *tools, struct sma_msg **question);
/** Stop those of a run, or all: still answered. */
void tools_encode_stop(struct sma_tools *tools, uint64_t seq, bool are_all);
/** At the actor's end: free what is left. */
void tools_encode_fini(struct sma_tools *tools);

/* -- tools_job.c ------------------------------------------------------------------------------- */
/** Make sure that wake() comes at this time or earlier. */
void tools_wake_by(struct sma_tools *tools, uint64_t at_ns);
/** Answer with content (JSON); the job's state becomes ANSWERED. */
void tools_answer(struct tools_job *job, enum sma_tool_verdict verdict, bool is_error,
                  struct sma_str content);
/** {"success":false,"error":text} */
void tools_answer_error(struct tools_job *job, enum sma_tool_verdict verdict, const char *text);
/** Give the place back and let the next in; destroys the job when nothing of it is left. */
void tools_leave(struct tools_job *job);

/* -- tools_person.c ---------------------------------------------------------------------------- */
/** May one more command of this person begin beside his others? */
bool tools_person_has_place(const struct tools_job *job);
void tools_person_take_place(struct tools_job *job);
void tools_person_leave_place(struct tools_job *job);
/** Count the time of the command up to now. false: the person's time is used up. */
bool tools_person_count(struct tools_job *job);
/** That it is, and when there is time again: a clause for the model. */
void tools_person_describe(const struct tools_job *job, char *text, size_t size);

/* -- tools_skills.c ---------------------------------------------------------------------------- */
/** At the start: a project without a record of accepted skills gets one. Blocks. */
void tools_skills_begin(struct sma_tools *tools);
/** Is this job about skills? */
bool tools_skills_has(const struct tools_job *job);
/** On a worker: look, and make the result. */
void tools_skills_work(struct tools_job *job);
/** On the actor's thread, after it: keep the look, and log what is new. */
void tools_skills_done(struct tools_job *job);
void tools_unref_look(struct tools_look *look); /* accepts NULL */

/* -- tools_skills_files.c ---------------------------------------------------------------------- */
/** May this job need the files of skills outside the project? Then it gets the newest look. */
bool tools_skills_may_have_files(const struct tools_job *job);
/** On a worker: tools that read the folder of the accepted skill that the call's path lies in;
 *  NULL: it lies in none. The caller's to destroy. */
struct sma_file_tools *tools_skills_view(struct tools_job *job);
/** The folders of accepted skills outside the project, which live as long as the job's look.
 *  @return how many */
size_t tools_skills_put_shown(const struct tools_job *job, const char **folders, size_t max);
/* A question with the rules of the skills that its run has loaded, beside people's grants. */
struct tools_skill_rules
{
    struct sma_tool_ask ask;
    struct sma_grant grants[SMA_GRANT_COUNT_MAX + SMA_SKILL_RULE_COUNT_MAX];
    struct sma_buf lines; /* what the rules are slices of; fini it */
};
/** On a worker. Without such rules `ask` is the question as it is. */
void tools_skills_add_rules(struct tools_job *job, struct tools_skill_rules *rules);

/* -- tools_web.c ------------------------------------------------------------------------------- */
/** tools_work.c: answer with the job's result, or with why there is none. */
void tools_answer_run(struct tools_job *job);
/** Is it done there? */
static inline bool tools_web_has(struct sma_str name)
{
    return sma_str_is_equal(name, SMA_STR("web_fetch")) ||
           sma_str_is_equal(name, SMA_STR("web_search"));
}
/** On the worker, when the call is allowed: read its arguments, take what it needs. */
void tools_web_plan(struct tools_job *job);
/** The job FETCHES: a thread does it, and answers through the loop. */
void tools_web_start(struct tools_job *job);
/** Free what is left of it; a thread that is still at work is waited for. */
void tools_web_destroy(struct tools_job *job);
/* At the start: which helper programs are missing. */
void tools_web_begin(const struct sma_tools *tools);

/* -- tools_order.c ----------------------------------------------------------------------------- */
/** Take note of the file that a new job writes. */
void tools_order_take(struct tools_job *job);
/** No job that came before it writes the same file. */
bool tools_order_is_first(const struct tools_job *job);

/* -- tools_work.c ------------------------------------------------------------------------------ */
/** Let a worker do the job's check and what follows. */
void tools_work_start(struct tools_job *job);
/** On the actor's thread when the worker is done: audit, answer, or start the command. */
void tools_work_done(struct tools_job *job, bool is_cancelled);

/* -- tools_exec.c ------------------------------------------------------------------------------ */
/** Start the command of job->plan; answers with an error when that fails. */
void tools_exec_start(struct tools_job *job);
/** Free the command; all handles are closed. Accepts a job without. */
void tools_exec_destroy(struct tools_job *job);
/** Take note of the commands that have exited. */
void tools_exec_children(struct sma_tools *tools);
/** It is answered, and a process of it that could not be ended is still to be waited for. Accepts a
 *  job without. */
bool tools_exec_is_held(const struct tools_job *job);
/** Everything is over: answer and leave, if pipes, processes and log allow it. */
void tools_exec_try_finish(struct tools_job *job);
/** Stop reading: what still holds the pipes writes into nothing. */
void tools_exec_close_pipes(struct tools_job *job);
/** At the actor's end: kill and close without answers. */
void tools_exec_abandon(struct tools_job *job);

/* -- tools_end.c ------------------------------------------------------------------------------- */
/** End the command: SIGTERM, later SIGKILL; or SIGKILL at once. The first reason stays. */
void tools_end(struct tools_job *job, enum tools_reason reason, bool is_at_once);
/** Its shell has exited: give what it left a moment. */
void tools_end_exited(struct tools_job *job);
/** One look at all commands: limits, deadlines, survivors. Sets the next wake. */
/* A command has begun: watch from now on. */
void tools_end_begin(struct sma_tools *tools);
void tools_end_watch(struct sma_tools *tools);
/** Are all processes of an exited command gone? */
bool tools_end_is_clean(struct tools_job *job);

/* -- tools_log.c ------------------------------------------------------------------------------- */
void tools_log_init(struct tools_log *log, struct sma_ctx *ctx);
/** Add clean bytes of a stream and write when no write is under way. */
void tools_log_put(struct tools_job *job, int stream, struct sma_str text);
bool tools_log_is_full(const struct tools_log *log);
/** Delete the oldest files beyond what is kept. Blocks: a worker's. */
void tools_log_prune(const char *state_dir);
void tools_log_fini(struct tools_log *log);

#endif
