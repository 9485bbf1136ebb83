/*
 * exec_options.h — what `permissions.exec_shell` of ship.json says about how commands run (policy.h
 * reads whether they may).
 *
 *   "exec_shell": { "sandbox": "auto" | "require" | "off", "network": false, "memoryMb": 2048,
 *   "env": ["NAME"] }
 * Threads: an instance is constant and may be shared.
 */
#ifndef SMA_TOOLS_EXEC_OPTIONS_H
#define SMA_TOOLS_EXEC_OPTIONS_H

#include "sma/base.h"

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
};

/**
 * @permissions_json  raw, "" or NULL: the defaults
 * @return OK | BADINPUT (*error names member and remedy) | NOMEM. Release with
 * sma_exec_options_fini.
 */
SMA_CHECKED enum sma_err sma_exec_options_parse(const char *permissions_json,
                                                struct sma_exec_options *ret_options,
                                                struct sma_error *error);
void sma_exec_options_fini(struct sma_exec_options *options); /* accepts a zeroed struct */

#endif
