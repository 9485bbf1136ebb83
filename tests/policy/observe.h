/*
 * observe.h — run a shell command in a closed scratch system and see which programs it starts and
 * which files it changes.
 *
 * A worker process moves into namespaces of its own (user, mount, process, network): the system
 * read-only, a project in memory, no network. Commands inherit a seccomp filter that hands the
 * system calls of interest to the worker (SECCOMP_RET_USER_NOTIF); it reads their arguments, writes
 * them down and lets them go on. docs/adr/0013 says why so.
 *
 * Invariants: nothing a command starts outlives observer_run(); nothing outside the scratch system
 * is changed.
 * Threads:    one observer a process; observer_enter() changes the process for good.
 */
#ifndef SMA_TESTS_POLICY_OBSERVE_H
#define SMA_TESTS_POLICY_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBSERVER_PROJECT "/home/project"
#define OBSERVER_HOME "/home/user"
#define OBSERVER_PATH "/home/bin:/usr/bin:/bin"

#define SAW_ARG_COUNT_MAX 60 /* below the bits of a word: the oracle counts them so */
#define SAW_COUNT_MAX 256
#define SAW_ARENA_BYTES (256 * 1024)

enum saw_kind
{
    SAW_EXEC,    /* a program, or a script with its path */
    SAW_WRITE,   /* opened for writing or made */
    SAW_REMOVE,  /* unlinked or renamed away */
    SAW_CHANGE,  /* mode, owner, times, length, attributes */
    SAW_CODE,    /* mapped to be executed */
    SAW_CONNECT, /* path: the address as text */
};

struct saw
{
    enum saw_kind kind;
    const char *call; /* the system call */
    /* absolute; links in its folders resolved, and its own where the call follows them */
    const char *path;
    const char *by;      /* the program that asked, as an absolute path */
    const char *by_args; /* its words, each ended by NUL, by_len bytes */
    size_t by_len;
    uint32_t arg_count; /* of SAW_EXEC: all words, the first included */
    bool is_cut;        /* there were more */
    const char *args[SAW_ARG_COUNT_MAX];
};

struct observation
{
    uint32_t count;
    bool is_late; /* killed at the time limit */
    bool is_full; /* killed at SAW_COUNT_MAX */
    int status;   /* as of waitpid() */
    size_t arena_len;
    struct saw items[SAW_COUNT_MAX];
    char arena[SAW_ARENA_BYTES];
};

struct observer;

/* Move this process into a scratch system, as user `uid` there. NULL with one line in `why` where
 * the machine lets nobody do that. */
struct observer *observer_enter(unsigned uid, char *why, size_t why_size);
/* Run `text` by the shell at `shell` (with -c) in the project; what it did, without the start of
 * the shell itself. Blocks. */
void observer_run(struct observer *observer, const char *shell, const char *text,
                  struct observation *ret_seen);
void observer_leave(struct observer *observer);

const char *saw_kind_name(enum saw_kind kind);

#endif
