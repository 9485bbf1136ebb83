/* sandbox_priv.h — what the files of sandbox.h share. */
#ifndef SMA_TOOLS_SANDBOX_PRIV_H
#define SMA_TOOLS_SANDBOX_PRIV_H

#include "sandbox.h"

/* Files and folders that are read-only because they are an owner's; with more no command runs. */
#define SANDBOX_KEPT_COUNT_MAX 192

/* Read-only for the command, and watched. What is not there is left alone. */
SMA_CHECKED enum sma_err sandbox_keep(struct sma_sandbox_plan *plan, const char *path,
                                      struct sma_error *error);
/* Its contents may be changed, its name may not. */
void sandbox_pin(struct sma_sandbox_plan *plan, const char *path);
/* Whatever only an owner may change (owner_files.h) in the project's folder, hooks and
 * configuration of its repository, and the scripts that rules run: see sandbox_owner.c. */
SMA_CHECKED enum sma_err sandbox_keep_owner_files(struct sma_sandbox_plan *plan,
                                                  const struct sma_config *config,
                                                  const struct sma_policy *policy,
                                                  struct sma_error *error);

#endif
