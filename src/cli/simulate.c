/*
 * simulate.c — `shipmyagent simulate`: becomes one of the simulators that are installed beside the
 * program.
 */
#include "cli.h"

#include "commands.h"
#include "sma/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* SMA_SIMULATORS_FROM_PROGRAM: where they are, seen from the folder of the program; CMake makes it.
 * */

static const char *const WHAT[] = {"telegram", "feishu", "qq", "model"};

static bool is_known(const char *what)
{
    for (size_t i = 0; i < SMA_COUNT_OF(WHAT); i++)
        if (strcmp(what, WHAT[i]) == 0)
            return true;
    return false;
}

bool sma_cli_self(char *ret_path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", ret_path, size - 1);
    if (len <= 0)
        return false;
    ret_path[len] = '\0';
    return true;
}

/* The folder of this program, whatever name or link it was started by. */
static bool find_program_folder(char *ret_folder, size_t size)
{
    char *slash = sma_cli_self(ret_folder, size) ? strrchr(ret_folder, '/') : NULL;
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

int sma_cli_become(const char *name, char **argv)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (!find_program_folder(folder, sizeof folder) ||
        snprintf(path, sizeof path, "%s/%s/%s", folder, SMA_SIMULATORS_FROM_PROGRAM, name) >=
            (int)sizeof path)
        return sma_cli_fail("cannot tell where this program is");
    execv(path, argv);
    if (errno == ENOENT)
        return sma_cli_fail("%s is not installed (%s is not there); run "
                            "`scripts/install --simulators` in the clone, or install the package "
                            "shipmyagent-simulators",
                            name, path);
    return sma_cli_fail("%s: %s", path, strerror(errno));
}

int sma_cli_simulate(int argc, char **argv)
{
    char name[64];
    if (argc < 2)
        return sma_cli_fail("simulate: name what to simulate: telegram, feishu, qq or model; see "
                            "`shipmyagent help simulate`");
    if (!is_known(argv[1]))
        return sma_cli_fail("simulate: there is no simulator of %s, only of telegram, feishu, qq "
                            "and model",
                            argv[1]);
    snprintf(name, sizeof name, "simulate-%s", argv[1]);
    bool is_play = false;
    for (int i = 2; i < argc; i++)
        is_play |= strncmp(argv[i], "--play", 6) == 0;
    if (!is_play)
        return sma_cli_become(name, argv + 1);
    char self[PATH_MAX], option[] = "--program";
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (words == NULL || !sma_cli_self(self, sizeof self))
        return sma_cli_fail("simulate: cannot tell where this program is");
    words[0] = argv[1];
    words[1] = option; /* the simulator cannot know which program plays its scripts */
    words[2] = self;
    memcpy(words + 3, argv + 2, (size_t)(argc - 2) * sizeof *words);
    int status = sma_cli_become(name, words); /* does not come back */
    free(words);
    return status;
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"port", 'p', false, SMA_VALUE_TEXT, NULL, "N", "listen there (default: any free port)"},
    {"talk", 't', false, SMA_VALUE_NONE, NULL, NULL,
     "you are the person the bot talks to: type, and read it here"},
    {"play", '\0', false, SMA_VALUE_FILE, NULL, "FILE",
     "play a script of what people say and must see (docs/notes/talks.md), and end"},
    {"project", '\0', false, SMA_VALUE_FOLDER, NULL, "FOLDER",
     "with --play: a copy of this project's configuration"},
    {"case", '\0', false, SMA_VALUE_TEXT, NULL, "NAME",
     "with --play: only the cases whose names hold this"},
    {"patience", '\0', false, SMA_VALUE_TEXT, NULL, "S",
     "with --play: how many seconds each wait may take (default: 20)"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_simulate = {
    .name = "simulate",
    .run = sma_cli_simulate,
    .place = "WHAT",
    .summary = "a stand-in for telegram, feishu, qq or a model, to try a bot on",
    .usage = "shipmyagent simulate telegram|feishu|qq [--port N] [--talk]\n"
             "shipmyagent simulate telegram|feishu|qq --play FILE [--project FOLDER]\n"
             "                     [--case NAME] [--patience S]\n"
             "shipmyagent simulate model [--port N] [--key KEY] [--profile NAME] [...]\n",
    .options = OPTIONS,
    .text = "Runs a stand-in for the platform, or for a provider of models, on 127.0.0.1 until "
            "Ctrl-C. It is as strict\n"
            "as the real one, needs no account and no network, and prints what to put into "
            "ship.json and .env to\n"
            "point a bot at it. `simulate telegram --help` lists its options, and all it can be "
            "told to do.\n"
            "With --talk each line typed is said to the bot and its messages are shown; a line "
            "!LABEL presses a button.\n"
            "With --play a script says what people say and what they must see; it is played on a "
            "service of its own\n"
            "between simulators, with a copy of your project's configuration if you name one. Exit "
            "status 0: all of\n"
            "it came true. A script is the best part of a bug report; docs/notes/talks.md teaches "
            "the language.\n"
            "The simulators are installed by `scripts/install --simulators`, or are the package\n"
            "shipmyagent-simulators.\n",
    .verbs = "telegram|feishu|qq|model",
    .is_wrapper = true,
};
