/*
 * policy.h — may this shell command run, must somebody be asked, or is it refused?
 *
 * Source: `permissions` of ship.json, protocols/project.md §10.1 and §10.2, both eras:
 *   "exec_shell": true | false "exec_shell": { "deny": [rule], "allow": [rule], "requiresApproval":
 *   bool, "denyRequiresApproval": bool }
 * A rule is the first words of a command: "git status" means `git status` and whatever follows.
 * "git status *" says the same with a star; "=git status" means these words and no other.
 * docs/notes/policy.md has the whole of it.
 *
 * Invariants: deny beats allow beats ask; what is not understood is never allowed.
 * Threads:    a loaded policy is constant and may be shared; everything else belongs to the caller.
 */
#ifndef SMA_APPROVAL_POLICY_H
#define SMA_APPROVAL_POLICY_H

#include "sma/base.h"

struct sma_buf;
struct sma_shell;
struct sma_policy;

#define SMA_POLICY_RULE_COUNT_MAX \
    1024 /* deny and allow together; beyond it the policy is refused */
#define SMA_POLICY_RULE_BYTES_MAX 4096 /* of one rule; beyond it the policy is refused */
#define SMA_POLICY_SCRIPT_BYTES_MAX (4 * 1024 * 1024) /* beyond it a binding is incomplete */
#define SMA_POLICY_SCRIPT_COUNT_MAX 64                /* likewise, modules and recipes among them */
#define SMA_POLICY_BOUND_BYTES_MAX (16 * 1024 * 1024) /* of all of them together; likewise */
/* a file that a word names, and that is larger, is bound by its inode, size and times of change */
#define SMA_POLICY_NAMED_BYTES_MAX (1024 * 1024)
#define SMA_POLICY_NAMED_COUNT_MAX 1024 /* names looked at in one command; beyond: "unnamed" */
#define SMA_POLICY_FOLDER_COUNT_MAX 24  /* looked into for them; likewise */
#define SMA_POLICY_FOLDER_NAME_COUNT_MAX 4096 /* in one of them; likewise */

enum sma_policy_verdict
{
    SMA_POLICY_ALLOW,
    SMA_POLICY_ASK,
    SMA_POLICY_REFUSE,
};

/** "allow", "ask" or "refuse". */
const char *sma_policy_verdict_name(enum sma_policy_verdict verdict);

struct sma_policy_decision
{
    enum sma_policy_verdict verdict;
    char rule[160];    /* the rule that decided, as written, cut at a character; "" when none did */
    char program[160]; /* the program that decided, with the word that did, "" when none is known */
    char reason[160];  /* one clause for people: why */
    size_t at;         /* where in the command text doubt arose; 0 otherwise */
    bool is_owner_only; /* ASK: it writes what only an owner may agree to (owner_files.h) */
    bool
        /* ALLOW: one program alone, and a rule names a write of it that may meet such files (`git
         * pull`) */
        is_owner_ruled;
};

/* Does `path` (relative to the project) lead to something inside the project, symbolic links
 * included? false: it leaves it, or cannot be told. May be NULL in the query: then names alone
 * decide. */
typedef bool sma_policy_stays_fn(void *user, struct sma_str path);

/* How may a file be written, by any program or tool? In the order of what stands in the way. */
enum sma_policy_write
{
    SMA_POLICY_WRITE_FREE,
    SMA_POLICY_WRITE_ASKED,
    SMA_POLICY_WRITE_OWNER,   /* asked, and only an owner may agree */
    SMA_POLICY_WRITE_REFUSED, /* `write_repo` does not permit it */
};
/* What `write_repo` and the like say about `path`: relative to the project, without "..". NULL in
 * the query: asked, as where there is no `write_repo`. */
typedef enum sma_policy_write sma_policy_may_write_fn(void *user, struct sma_str path);

struct sma_policy_query
{
    struct sma_str command;     /* text for `sh -c` */
    struct sma_str project_dir; /* absolute, without a slash at its end; the command starts there */
    sma_policy_stays_fn *stays;
    sma_policy_may_write_fn *may_write;
    void *user;
};

/**
 * Read `permissions` as JSON text; "" or NULL stands for none: everything is asked.
 * @return OK and *ret_policy (destroy it) | BADINPUT with one line that names the rule and the
 * remedy | NOMEM
 * Thread: any.   Blocks: never.
 */
SMA_CHECKED enum sma_err sma_policy_load(const char *permissions_json,
                                         struct sma_policy **ret_policy, struct sma_error *error);
void sma_policy_destroy(struct sma_policy *policy); /* accepts NULL */
/** One clause for the start log, like "asked, but for 3 allow rules; refused: rm". Appends; an
 *  error stays in buf. */
void sma_policy_describe(const struct sma_policy *policy, struct sma_buf *buf);

/**
 * Decide about one command. Nothing is run; `shell` is working memory whose former contents are
 * lost and which then holds what the command was read as.
 * Thread: the owner of `shell`.   Blocks: only in query->stays.   Allocates: no.
 */
void sma_policy_decide(const struct sma_policy *policy, struct sma_shell *shell,
                       const struct sma_policy_query *query,
                       struct sma_policy_decision *ret_decision);

/**
 * The same when people have allowed more for a while: `grants` (rules, as in "allow") count as
 * allowed without asking. They never undo a refusal.
 */
void sma_policy_decide_granted(const struct sma_policy *policy, struct sma_shell *shell,
                               const struct sma_policy_query *query, const struct sma_str *grants,
                               size_t grant_count, struct sma_policy_decision *ret_decision);
/**
 * What is the file `path` (relative to the project) to the scripts that allow rules run? OWNER: one
 * of them, a folder above it, or what it may load (modules of its folder and below). ASKED: another
 * file of its folder. Writing them would allow anything.
 */
enum sma_policy_write sma_policy_judge_script(const struct sma_policy *policy, struct sma_str path);
/** The same for one grant's rule, by its words: rather too often than too seldom. */
enum sma_policy_write sma_policy_grant_judge_script(struct sma_str rule, struct sma_str path);
size_t sma_policy_allow_count(const struct sma_policy *policy);
/** The script or program file that allow rule `index` lets run, as written there; NULL: none. */
const char *sma_policy_script(const struct sma_policy *policy, size_t index);
/** May this rule be recorded as a grant? BADINPUT with one line: it is empty, no rule, or lets a
 *  shell, an interpreter or a launcher run anything. */
SMA_CHECKED enum sma_err sma_policy_check_grant(struct sma_str rule, struct sma_error *error);
/** Call `use` with each rule for a program that only looks (read_rules.h) and that some word of
 *  `command` may name; until it returns true. @return the rule, a constant; NULL: none. */
const char *sma_policy_find_read_rule(struct sma_str command,
                                      bool (*use)(void *user, struct sma_str rule), void *user);
/** The rule that allows exactly the command in `shell` ("=git status"); one program, constant
 *  words. NOTFOUND: no rule can say it, or it may not be recorded. Appends to buf. */
SMA_CHECKED enum sma_err sma_policy_put_grant(const struct sma_shell *shell, struct sma_buf *buf);

/* What an approval was given for. Two commands are the same when digest and is_complete are. */
struct sma_policy_binding
{
    uint8_t digest
        /* SHA-256 over the command text, every word that would run, the directory and the
         * scripts */
        [32];
    uint32_t script_count;
    bool
        /* false: something that would run could not be read, so that an approval holds once only */
        is_complete;
    /* it reads files that cannot be named: by words whose meaning is not known, by folders */
    bool reads_unnamed;
    /* what it starts looks for code and data by itself (make, npm, interpreters, git commit) */
    bool loads_beside;
};

/* What is at a path, links followed. */
struct sma_policy_file_facts
{
    bool is_folder;
    bool is_plain; /* a regular file: it may be read */
    uint64_t size;
    uint8_t identity[56]; /* device, inode, size, times of change: differs when it was changed */
};
/* NOTFOUND | IO (it is there and cannot be looked at). */
typedef enum sma_err sma_policy_look_fn(void *user, const char *path,
                                        struct sma_policy_file_facts *ret_facts);

/* The bytes of a script named by the command, `path` as written or joined to the directory.
 * NOTFOUND | TOOBIG | IO | NOMEM;
 * *ret_bytes is malloc'ed and freed by the caller. */
typedef enum sma_err sma_policy_read_fn(void *user, const char *path, size_t max, char **ret_bytes,
                                        size_t *ret_len);

/* The names in a folder, in any order, "." and ".." left out, those of folders with a slash at the
 * end; `path` as for read.
 * *ret_names is a malloc'ed list of NUL-terminated texts, ended by an empty one. NOTFOUND (no
 * folder) | TOOBIG (more names than max) | IO | NOMEM. */
typedef enum sma_err sma_policy_list_fn(void *user, const char *path, size_t max, char **ret_names);

struct sma_policy_files
{
    sma_policy_read_fn *read;
    sma_policy_list_fn *list;
    sma_policy_look_fn *look; /* NULL: words name no files */
    void *user;
};

/**
 * Bind an approval to the command in `shell` (after sma_policy_decide), the directory and the
 * contents of what it runs: the scripts it names, what interpreters may load beside them, the
 * recipes of its programs (the Makefile of `make`) in the directory, where it goes with cd, and in
 * folders it names, and every file that a constant word, a redirection or a variable names (`sh <
 * f`, `cat f | sh`, `-f f`). What does not exist is bound as missing; what cannot be read,
 * or is beyond the limits, leaves the binding incomplete. Programs found by PATH or in a folder of
 * the system are bound by name.
 * @return OK | NOMEM
 * Thread: the owner of `shell`.   Blocks: only in read and list.
 */
SMA_CHECKED enum sma_err sma_policy_bind(const struct sma_shell *shell, struct sma_str directory,
                                         const struct sma_policy_files *files,
                                         struct sma_policy_binding *ret_binding);

#endif
