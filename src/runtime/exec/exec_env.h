/*
 * exec_env.h — the environment a command gets: what the service has, without what came from .env,
 * what looks like a secret, and what would change which program runs.
 *
 * Left out: config.dotenv_names; names with KEY, TOKEN, SECRET, PASS, AUTH ... in them; values that
 * hold a known secret or an address with a password; LD_*, BASH_ENV, GIT_*, NODE_OPTIONS and their
 * like; sockets and folders that are not there in the sandbox. `permissions.exec_shell.env` lets a
 * name through whatever it looks like.
 * Threads: any; reads environ, which nobody changes after the first configuration was loaded.
 */
#ifndef SMA_TOOLS_EXEC_ENV_H
#define SMA_TOOLS_EXEC_ENV_H

#include "exec_options.h"
#include "runtime/secrets/secrets.h"
#include "sma/config.h"

/** Would a command get this variable? */
bool sma_exec_env_is_kept(const struct sma_config *config, const struct sma_exec_options *options,
                          const struct sma_secrets *secrets, const char *name, const char *value);
/**
 * The environment as execve takes it: one allocation, freed with free().
 * @marker  value of SMA_EXEC_ID, by which the command's processes are known
 * @return NULL when out of memory
 */
char **sma_exec_env_create(const struct sma_config *config, const struct sma_exec_options *options,
                           const struct sma_secrets *secrets, const char *marker);
#define SMA_EXEC_MARKER "SMA_EXEC_ID"

/** scheme://user:password@host, as in a DATABASE_URL or a proxy's address. */
bool sma_exec_env_has_userinfo(const char *value);

#endif
