/*
 * init_owner.h — who is owner on a platform, found out by a code: whoever sends the bot what only
 * this terminal shows sits in front of it.
 *
 * Rejected: the first person who writes (a stranger may be first, and choose a name like yours),
 * and a question for the numeric id alone (nobody knows it). docs/adr/0046.
 */
#ifndef SMA_CLI_INIT_OWNER_H
#define SMA_CLI_INIT_OWNER_H

#include "init_secret.h"
#include "sma/adapter.h"

/**
 * Shows the code, waits until somebody has sent it or Enter is pressed.
 * @who    the bot's name there, "@helper_bot"; "" = not known
 * @owner  "telegram:1001"; "" = nobody, or the platform cannot be asked
 * @return true (a wait that ends without anybody is no failure)
 */
bool init_owner_ask(const struct sma_adapter_ops *ops, const struct sma_config *config,
                    const struct sma_config_adapter *block, const char *who,
                    char owner[INIT_NAME_BYTES_MAX]);

#endif
