/*
 * exec_options.h — what `permissions.exec_shell` of ship.json says about how commands run (policy.h
 * reads whether they may).
 *
 *   "exec_shell": { "sandbox": "auto" | "require" | "off", "network": false, "memoryMb": 2048,
 *   "env": ["NAME"], "paths": ["/opt/node", "~/.cargo"] }
 * Threads: an instance is constant and may be shared.
 */
#ifndef SMA_TOOLS_EXEC_OPTIONS_H
#define SMA_TOOLS_EXEC_OPTIONS_H

#include "sma/base.h"

#define SMA_EXEC_PATH_COUNT_MAX 64 /* in permissions.exec_shell.paths; beyond it start refuses */
#define SMA_EXEC_ENV_COUNT_MAX 64 /* names in permissions.exec_shell.env; beyond it start refuses */

enum sma_sandbox_mode
{
    SMA_SANDBOX_AUTO,    /* bubblewrap when it works here */
    SMA_SANDBOX_REQUIRE, /* or else the program does not start */
    SMA_SANDBOX_OFF,
};

struct sma_exec_options
{
    bool is_possible; /* false: exec_shell is switched off */
    enum sma_sandbox_mode mode;
    bool says_mode; /* the member is there */
    bool has_network;
    int64_t memory_mb;
    char *env_names[SMA_EXEC_ENV_COUNT_MAX]; /* that a command gets whatever they look like */
    size_t env_count;
    /* whole paths outside the project that commands may read besides those of the system */
    char *paths[SMA_EXEC_PATH_COUNT_MAX];
    /* where each led when it was read: what a name leads to later is not shown. NULL: nowhere */
    char *real_paths[SMA_EXEC_PATH_COUNT_MAX];
    size_t path_count;
};

/**
 * @permissions_json  raw, "" or NULL: the defaults
 * @project_dir  in which, and through which, paths may not lead; NULL: not looked at
 * @return OK | BADINPUT (*error names member and remedy) | NOMEM. Release with
 * sma_exec_options_fini.
 */
SMA_CHECKED enum sma_err sma_exec_options_parse(const char *permissions_json,
                                                const char *project_dir,
                                                struct sma_exec_options *ret_options,
                                                struct sma_error *error);
/** Does a whole path lie in the project, or is a link of the project on its way? A command could
 *  put another in its place. Blocks: on files. */
bool sma_exec_path_is_exchangeable(const char *path, const char *project_dir);
void sma_exec_options_fini(struct sma_exec_options *options); /* accepts a zeroed struct */

#endif
