/*
 * sandbox.h — the walls around a command: bubblewrap's arguments, the limits in front of the shell,
 * and whether it works here.
 *
 * In the sandbox: / read-only, the project writable, /tmp /var/tmp /run /dev/shm private, no other
 * process to be seen, no network unless permitted, no capabilities. Not there: `.env*`, .ship's
 * database, token, approvals and sockets, the folders of keys in HOME. Read-only: ship.json, the
 * rest of .ship, and, unless an owner has agreed to the command, what only owners may change
 * (sandbox_owner.c). `.ship` is laid out anew for each command, so that what appears in it later is
 * not there either; for `.env` and `ship.json` an empty file is put into the project while commands
 * run when there is none, so that no command can make one. Everything in it ends with the first
 * process of its pid namespace, and that with the service.
 * Threads: any; no state. sma_sandbox_find and sma_sandbox_plan_create block on files and, the
 * former, on a trial run.
 */
#ifndef SMA_TOOLS_SANDBOX_H
#define SMA_TOOLS_SANDBOX_H

#include "exec_options.h"
#include "runtime/secrets/secrets.h"
#include "sma/buf.h"
#include "sma/config.h"
#include <sys/types.h>

#define SMA_SANDBOX_INFO_FD 3 /* bubblewrap says there who is inside */
#define SMA_SANDBOX_DATA_COUNT_MAX 2
#define SMA_SANDBOX_STATE_FD 4 /* our shell around the command says there what it left behind */

struct sma_policy;

struct sma_sandbox
{
    bool is_on;
    bool is_filtered;    /* commands are refused system calls (sandbox_filter.c) */
    bool is_userns_last; /* they cannot make user namespaces either */
    char path[256];      /* of bubblewrap */
    char why[256];       /* off: one clause, why */
    /* ship.json is shown without them; NULL: without what is called one */
    const struct sma_secrets *secrets;
};

/**
 * Find bubblewrap and try it on this project, as commands will run.
 * @return OK with is_on or why | UNSUPPORTED: "require" and it does not work (*error says why and
 * what to do) | NOMEM
 */
SMA_CHECKED enum sma_err sma_sandbox_find(const struct sma_config *config,
                                          const struct sma_exec_options *options,
                                          struct sma_sandbox *ret_sandbox, struct sma_error *error);

#define SMA_SANDBOX_GUARD_COUNT_MAX 256
/* A file that a command must not change or see, as it was when the command began. */
struct sma_sandbox_guard
{
    char *path;
    dev_t device;
    ino_t inode;
    bool is_missing;
};
enum sma_sandbox_placeholder
{
    SMA_PLACEHOLDER_ENV = 1,
    SMA_PLACEHOLDER_SHIP = 2,
    SMA_PLACEHOLDER_COMMONDIR = 4,
};

/* How to start one command. */
struct sma_sandbox_plan
{
    char **arguments; /* NULL-terminated */
    size_t argument_count, argument_capacity;
    struct sma_sandbox_guard guards[SMA_SANDBOX_GUARD_COUNT_MAX];
    size_t guard_count;
    unsigned placeholders; /* enum sma_sandbox_placeholder: made just now */
    int data_fds
        /* the child's descriptors behind SMA_SANDBOX_STATE_FD; ours */
        [SMA_SANDBOX_DATA_COUNT_MAX];
    size_t data_count;
    bool is_boxed;
    bool is_out_of_memory;
};

struct sma_sandbox_limits
{
    int64_t cpu_s;     /* 0 = it runs for long: no limit, and memory_mb is of what it writes */
    size_t task_count; /* 0 = no limit (root is exempt anyway) */
    bool
        /* an owner has agreed to it: what only he may change is writable, but .env, .ship and
         * ship.json */
        is_by_owner;
    const struct sma_policy *policy; /* whose scripts are kept; may be NULL */
    /* folders outside the project that are there to be read, wherever they lie; real paths */
    const char *const *shown;
    size_t shown_count;
};

/**
 * A link in the project's folder can be exchanged by a command, whatever is mounted over where it
 * leads: with it the permissions of the next start. UNSUPPORTED (*error names it and the remedy)
 * when `.env`, ship.json, Agent.md or .ship is one | OK
 */
SMA_CHECKED enum sma_err sma_sandbox_refuse_links(const struct sma_config *config,
                                                  struct sma_error *error);
/** OK | NOMEM | IO with the sentence for the model in *error | TOOBIG (too many files to hide).
 *  Release with _fini. */
SMA_CHECKED enum sma_err
sma_sandbox_plan_create(const struct sma_config *config, const struct sma_exec_options *options,
                        const struct sma_sandbox *sandbox, const struct sma_sandbox_limits *limits,
                        const char *command, struct sma_sandbox_plan *ret_plan,
                        struct sma_error *error);
/** The same for a program that runs as long as it likes, an MCP server.
 *  @words  the program and its arguments, NULL at the end: no shell reads them */
SMA_CHECKED enum sma_err sma_sandbox_plan_create_program(const struct sma_config *config,
                                                         const struct sma_exec_options *options,
                                                         const struct sma_sandbox *sandbox,
                                                         const char *const *words,
                                                         struct sma_sandbox_plan *ret_plan,
                                                         struct sma_error *error);
void sma_sandbox_plan_fini(struct sma_sandbox_plan *plan); /* accepts a zeroed struct */
/** Has a guarded file been replaced from outside? Then the walls may have a hole. @return its path
 *  or NULL */
const char *sma_sandbox_plan_breach(const struct sma_sandbox_plan *plan);
/** Take placeholders away again, if they still are what was put there. No command may be
 *  running. */
void sma_sandbox_remove_placeholders(const struct sma_config *config, unsigned placeholders);

/** The filter for --seccomp, to be read once. @return a descriptor, -1: not on this architecture or
 *  no memory */
int sma_sandbox_filter_open(void);
/** Bytes in memory behind a descriptor, to be read from the beginning. @return -1: no memory */
int sma_sandbox_data_open(const void *bytes, size_t len);
/** ship.json as commands may see it. *ret_text: NULL = as it is, it holds no secret (or there is
 *  none); free() it. OK | NOMEM. Blocks: reads the file. */
SMA_CHECKED enum sma_err sma_sandbox_show_ship(const char *path, const struct sma_secrets *secrets,
                                               char **ret_text);
/** The folders in memory that a command may write: path, and the share of its memory that it may
 *  fill. */
size_t sma_sandbox_tmpfs_count(void);
const char *sma_sandbox_tmpfs(size_t index, int64_t memory_mb, char size[24]);
/** What those of a running command hold. @inside  the first process in there */
uint64_t sma_sandbox_tmpfs_bytes(pid_t inside);

/** "bubblewrap (no network), memory 2048 MB, ..." or "NOT sandboxed (why)". */
void sma_sandbox_describe(const struct sma_sandbox *sandbox, const struct sma_exec_options *options,
                          struct sma_buf *buf);

#endif
