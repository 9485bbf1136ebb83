/*
 * bot_lock.h — one bot, one service: another project of this user on this machine that serves the
 * same bot is found at start and named.
 *
 * Two services with one token take each other's messages, and the platform tells at most that
 * somebody does. Each bot that is switched on holds a lock on a file whose name is a hash of its
 * account and addresses, in a folder of this user ($XDG_RUNTIME_DIR/shipmyagent, else
 * /tmp/shipmyagent-<uid>); the file names the project. The kernel lets go when the process ends, so
 * a file that was left behind means nothing. Where there is no such folder (another machine,
 * another user, a /tmp of one's own) nobody is found.
 * Threads: main. Limits: as many as bots in ship.json.
 */
#ifndef SMA_BOT_LOCK_H
#define SMA_BOT_LOCK_H

#include "sma/config.h"

struct sma_bot_locks
{
    int fds[32];
    size_t count;
};
/** Take those of all bots that are switched on; one line for each that somebody has. */
void sma_bot_locks_take(struct sma_bot_locks *locks, const struct sma_config *config,
                        const struct sma_params *const *platforms, sma_config_warn_fn *warn,
                        void *user);
void sma_bot_locks_release(struct sma_bot_locks *locks); /* accepts a zeroed struct */

#endif
