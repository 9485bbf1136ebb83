/*
 * sandbox.h — the walls around a command: bubblewrap's arguments, the limits in front of the shell,
 * and whether it works here.
 *
 * In the sandbox: folders of the system read-only, those of a table (sandbox_machine.c) and those
 * that permissions.exec_shell.paths names, the project writable, HOME /tmp /var/tmp /run /dev/shm
 * private and empty, no other process to be seen, settings of the kernel read-only, no network
 * unless permitted, no capabilities. Not there: whatever else lies on the machine, `.env*` and
 * other secrets (secret_names.h) at any depth, .ship's database, token, approvals and sockets.
 * Read-only: ship.json, the rest of .ship, and, unless an owner has agreed to the command, what
 * only owners may change
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

#include <limits.h>
#include <sys/types.h>

#define SMA_SANDBOX_INFO_FD 3               /* bubblewrap says there who is inside */
#define SMA_SANDBOX_PRIVATE_BYTES_MAX 24576 /* with more they are looked for at each start */
#define SMA_SANDBOX_DATA_COUNT_MAX 11
#define SMA_SANDBOX_SECRET_COUNT_MAX 512 /* files that are hidden; with more nothing is unasked */
#define SMA_SANDBOX_STATE_FD 4 /* our shell around the command says there what it left behind */

struct sma_policy;

/* What of /etc (and of /usr/local, under root) is not for everybody, as it was at the last look:
 * names with a letter before each (sandbox_machine.c). It holds while the folders are the same. */
struct sma_sandbox_private
{
    uint64_t stamp; /* of the folders */
    size_t len;     /* 0: not known */
    char names[SMA_SANDBOX_PRIVATE_BYTES_MAX];
};

struct sma_sandbox
{
    bool is_on;
    bool is_filtered;    /* commands are refused system calls (sandbox_filter.c) */
    bool is_userns_last; /* they cannot make user namespaces either */
    char path[256];      /* of bubblewrap */
    /* walls work on this machine, but not around this project as it lies there: commands are
     * refused until that is cured, and never run without them */
    bool is_blocked;
    char why[256]; /* off, blocked, or with a hole: one clause, why */
    /* /proc or /sys have a hole: this opens for writing inside; "" = none was found */
    char hole[64];
    struct sma_sandbox_private private;
    /* ship.json is shown without them; NULL: without what is called one */
    const struct sma_secrets *secrets;
    const struct sma_policy *policy; /* whose scripts are kept; NULL: no rule runs any */
};

/**
 * Find bubblewrap and try it: in an empty folder, which decides whether there are walls, and on
 * this project, as commands will run.
 * @return OK with is_on, is_blocked, hole or why | UNSUPPORTED: "require" and it does not work or
 * has a hole
 * (*error says why and what to do) | NOMEM
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
    SMA_PLACEHOLDER_WORKTREE = 8,
    SMA_PLACEHOLDER_DECISIVE = 16, /* any of decisive.h */
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
    bool needs_placeholders; /* those that lie there stay until it leaves */
    bool is_out_of_memory;
    uint64_t secrets[SMA_SANDBOX_SECRET_COUNT_MAX]; /* of the project: digests of their paths */
    size_t secret_count;
    bool hides_login;   /* in settings that are shown without it, as .git/config */
    bool is_read_only;  /* the project is, as a whole: too much in it is its owner's */
    bool is_cut;        /* not every file of the project was looked at: others may hold secrets */
    uint64_t top_stamp; /* of the project's folder when all in it was known; 0: list it again */
};

struct sma_sandbox_limits
{
    int64_t cpu_s;     /* 0 = it runs for long: no limit, and memory_mb is of what it writes */
    size_t task_count; /* 0 = no limit (root is exempt anyway) */
    bool
        /* an owner has agreed to it: what only he may change is writable, but .env, .ship and
         * ship.json */
        is_by_owner;
    bool is_agreed; /* people have agreed to this very command: it may run where not every secret
                      * could be hidden */
    bool
        shows_keys; /* ... and an owner did: keys, and .env below the project's folder, are there */
    /* texts that name secrets which are there all the same; NULL at the end, or none */
    const char *const *words, *const *named;
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
/** OK | NOMEM | IO with the sentence for the model in *error | TOOBIG (too many files to hide) |
 *  FULL (too many to look through for secrets, and nobody has agreed to the command: ask).
 *  Release with _fini. */
SMA_CHECKED enum sma_err
sma_sandbox_plan_create(const struct sma_config *config, const struct sma_exec_options *options,
                        const struct sma_sandbox *sandbox, const struct sma_sandbox_limits *limits,
                        const char *command, struct sma_sandbox_plan *ret_plan,
                        struct sma_error *error);
/** The same walls for a program that runs as long as it likes, an MCP server.
 *  @words  the program and its arguments, NULL at the end: no shell reads them
 *  @named  values of its variables: secrets that they or the words name are there. NULL at the end
 */
SMA_CHECKED enum sma_err sma_sandbox_plan_create_program(
    const struct sma_config *config, const struct sma_exec_options *options,
    const struct sma_sandbox *sandbox, const char *const *words, const char *const *named,
    struct sma_sandbox_plan *ret_plan, struct sma_error *error);
void sma_sandbox_plan_fini(struct sma_sandbox_plan *plan); /* accepts a zeroed struct */
/** Has a guarded file been replaced from outside? Then the walls may have a hole. @return its path
 *  or NULL */
const char *sma_sandbox_plan_breach(const struct sma_sandbox_plan *plan);
/** Has something come that would be kept from what is started now, and that this one's walls do not
 *  know: a file of the owner's, a script of a rule, a secret at any depth? @config, @policy  as
 *  they are now, for the same program: with another one plan->top_stamp is to be 0; *ret_path:
 *  what it is. Where nothing has changed no folder is listed: each is asked for its time alone.
 *  Blocks: on files of the project. */
bool sma_sandbox_plan_is_outgrown(struct sma_sandbox_plan *plan, const struct sma_config *config,
                                  const struct sma_policy *policy, char ret_path[PATH_MAX]);
/** What was started with it has ended: placeholders may go. fini does this as well. Any thread. */
void sma_sandbox_plan_leave(struct sma_sandbox_plan *plan);
/** Take placeholders away again, if they still are what was put there: at once, or with the first
 *  call after every plan of the process has left. Any thread. */
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
/** The last is HOME; "": there is none in there. */
const char *sma_sandbox_tmpfs(size_t index, const struct sma_config *config, int64_t memory_mb,
                              char size[24]);
/** What those of a running command hold. @inside  the first process in there */
uint64_t sma_sandbox_tmpfs_bytes(const struct sma_config *config, pid_t inside);
/** HOME, which is an empty folder in there; "" where it is none or a folder that is shown. */
const char *sma_sandbox_home(const struct sma_config *config);
/** Is this file or folder there for commands? What does not exist is not. Blocks: on files. */
bool sma_sandbox_shows(const struct sma_config *config, const struct sma_exec_options *options,
                       const char *path);
/** Is it there on the machine, and not for commands: by its name, or by where that leads?
 *  *ret_folder then: what permissions.exec_shell.paths would have to name. Blocks: on files. */
bool sma_sandbox_hides(const struct sma_config *config, const struct sma_exec_options *options,
                       const char *path, char ret_folder[PATH_MAX]);
/** What an entry of mcp.json names by its whole path is there for its server alone, to be read: the
 *  program with its folder, arguments as they are. Added to *options. Not what is private, nor the
 *  whole of a machine or of HOME by a program in it, nor (told with is_shown false) what lies
 *  behind a link of the project.
 *  @tell  each of them: 0 the program, from 1 arguments; may be NULL. Blocks: on files. */
typedef void sma_sandbox_named_fn(void *user, size_t index, const char *path, bool is_shown);
void sma_sandbox_show_named(const struct sma_config *config, struct sma_exec_options *options,
                            const char *command, const char *const *args, size_t arg_count,
                            sma_sandbox_named_fn *tell, void *user);
/** Does a program say that it misses one of PATH that is there on the machine, but hidden?
 *  @path  of the command;  @said  what it wrote, of which the beginning is looked at */
bool sma_sandbox_find_hidden(const struct sma_config *config,
                             const struct sma_exec_options *options, const char *path,
                             struct sma_str said, char ret_program[PATH_MAX],
                             char ret_folder[PATH_MAX]);
/** Is the path the folder itself, or below it? By its words. */
bool sma_sandbox_is_inside(const char *path, const char *folder);

/** "bubblewrap (no network), memory 2048 MB, ..." or "NOT sandboxed (why)". */
void sma_sandbox_describe(const struct sma_sandbox *sandbox, const struct sma_exec_options *options,
                          struct sma_buf *buf);

#endif
