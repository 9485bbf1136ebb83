/* commands.c — the table of commands; see commands.h. */
#include "commands.h"

#define X(name) &sma_cli_command_##name,
const struct sma_cli_command *const sma_cli_commands[] = {SMA_CLI_COMMAND_ROWS(X) NULL};
#undef X

const struct sma_cli_command *sma_cli_command_find(const char *name)
{
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++)
        if (strcmp(sma_cli_commands[i]->name, name) == 0)
            return sma_cli_commands[i];
    return NULL;
}
