/*
 * home.h — what is a bot's own among several of its platform: the name it goes by in routes, chat
 * keys and records (sma/bot.h), and the folder of its files.
 *
 * Threads: constant after home_init.
 */
#ifndef SMA_ADAPTERS_COMMON_HOME_H
#define SMA_ADAPTERS_COMMON_HOME_H

#include "sma/bot.h"

#define SMA_HOME_FOLDER_BYTES_MAX (SMA_BOT_NAME_BYTES_MAX + 16)

struct sma_home
{
    char name[SMA_BOT_NAME_BYTES_MAX]; /* "telegram", "telegram@support" */
    /* ".ship/.cache/telegram@support/", below the project's folder */
    char folder[SMA_HOME_FOLDER_BYTES_MAX];
    char webhook[SMA_HOME_FOLDER_BYTES_MAX]; /* "/webhooks/telegram/support" */
};

/** name: as its block is called; NULL or "" = the platform's first bot. */
void sma_home_init(struct sma_home *home, const char *platform, const char *name);

#endif
