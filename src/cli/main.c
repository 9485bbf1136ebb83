/*
 * main.c — which command is meant. No command, a folder or an option means `start`, as in the old
 * program; a word that is neither is a mistake and is said to be one.
 */
#include "cli.h"

#include "commands.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Commands that other programs have, and what does it here. */
static const struct
{
    const char *word, *instead;
} ELSEWHERE[] = {
    {"stop", "press Ctrl-C where it runs, `systemctl stop` its unit, or `kill` the process that "
             "`shipmyagent status` names"},
    {"restart", "stop it with Ctrl-C and start it again, or `systemctl restart` its unit"},
    {"reload", "send SIGHUP to the process that `shipmyagent status` names, or `systemctl reload` "
               "its unit"},
};

static int refuse_word(const char *word)
{
    const char *nearest = NULL;
    /* a short word is near to everything */
    unsigned best = strlen(word) < 6 ? (unsigned)strlen(word) / 2 + 1 : 4;
    for (size_t i = 0; i < SMA_COUNT_OF(ELSEWHERE); i++)
        if (strcmp(word, ELSEWHERE[i].word) == 0)
            return sma_cli_fail("there is no command %s: %s", word, ELSEWHERE[i].instead);
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++) {
        if (sma_cli_commands[i]->summary == NULL)
            continue;
        unsigned distance = sma_text_distance(sma_str(word), sma_str(sma_cli_commands[i]->name));
        if (distance < best) {
            best = distance;
            nearest = sma_cli_commands[i]->name;
        }
    }
    if (nearest != NULL)
        return sma_cli_fail("%s is neither a command nor a folder; did you mean `shipmyagent %s`?",
                            word, nearest);
    return sma_cli_fail("%s is neither a command nor a folder; see `shipmyagent help`", word);
}

static bool is_version(const char *word)
{
    return strcmp(word, "-v") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0;
}

int main(int argc, char **argv)
{
    sma_crash_init();
    const char *word = argc > 1 ? argv[1] : "";
    if (is_version(word))
        return puts(SMA_VERSION) < 0;
    if (strcmp(word, "--help") == 0 || (strcmp(word, "-h") == 0 && argc == 2))
        return sma_cli_help(NULL);
    const struct sma_cli_command *command = sma_cli_command_find(word);
    if (command != NULL && command->usage != NULL &&
        sma_cli_wants_help(command, argc - 1, argv + 1))
        return sma_cli_help(word);
    if (command != NULL)
        return command->run(argc - 1, argv + 1);
    if (word[0] != '\0' && word[0] != '-' && !is_folder(word))
        return refuse_word(word);
    if (sma_cli_wants_help(&sma_cli_command_start, argc, argv))
        return sma_cli_help("start");
    return sma_cli_start(argc, argv);
}
