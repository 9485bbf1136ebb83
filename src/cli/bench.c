/*
 * bench.c — `shipmyagent bench` and `chaos`: become the programs that are installed with the
 * simulators.
 */
#include "cli.h"

#include "commands.h"

#include <limits.h>

#define ARGUMENT_COUNT_MAX 64

/* It cannot know which program it belongs to. */
static int become(const char *name, int argc, char **argv)
{
    char self[PATH_MAX], option[] = "--program";
    char *words[ARGUMENT_COUNT_MAX + 4] = {argv[0], option, self};
    if (!sma_cli_self(self, sizeof self))
        return sma_cli_fail("%s: cannot tell where this program is", name);
    if (argc > ARGUMENT_COUNT_MAX)
        return sma_cli_fail("%s: too many words", name);
    for (int i = 1; i < argc; i++)
        words[i + 2] = argv[i];
    return sma_cli_become(name, words);
}

static int run_bench(int argc, char **argv)
{
    return become("bench", argc, argv);
}

static int run_chaos(int argc, char **argv)
{
    return become("chaos", argc, argv);
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"platform", 'p', false, SMA_VALUE_WORDS, "telegram|feishu|qq|http", NULL,
     "whom the messages come from"},
    {"rate", 'r', false, SMA_VALUE_TEXT, NULL, "N",
     "open loop: N messages a second, whatever becomes of them"},
    {"closed", 'c', false, SMA_VALUE_TEXT, NULL, "N",
     "closed loop: N chats, each says the next when it is answered"},
    {"chats", 'n', false, SMA_VALUE_TEXT, NULL, "N", "chats of --rate (default: 50)"},
    {"duration", 'd', false, SMA_VALUE_TEXT, NULL, "S", "seconds (default: 10)"},
    {"model-ms", 'm', false, SMA_VALUE_TEXT, NULL, "MS",
     "the simulated model answers after MS (default: 0)"},
    {"json", 'j', false, SMA_VALUE_FILE, NULL, "FILE", "write what was measured there"},
    {"compare", 'b', false, SMA_VALUE_FILE, NULL, "FILE",
     "exit status 1 when it is worse than this file of --json"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_bench = {
    .name = "bench",
    .run = run_bench,
    .place = "[FOLDER]",
    .summary = "how fast a copy of this project is, under load from a simulated platform",
    .usage = "shipmyagent bench [FOLDER] --platform telegram|feishu|qq|http --rate N | --closed N "
             "[options]\n",
    .options = OPTIONS,
    .text =
        "Copies Agent.md and what ship.json says of the agent, queue, permissions and retention to "
        "a "
        "folder under\n"
        "TMPDIR (/var/tmp), without tokens, keys, people or .ship, and puts it under load between "
        "simulators on\n"
        "127.0.0.1. Latency counts from when a message was due: a stall is seen by every message "
        "due in it.\n"
        "Budgets and limits of people are left out, and each message has a run of its own "
        "(queue.mode serial).\n"
        "--compare allows 25 % more (p50, and at least 1 ms), 35 % (p90, 2 ms), 50 % (p99, 5 ms; "
        "all three at\n"
        "least the noise between quarters of a run), 25 % (processor, bytes, syncs a message), no "
        "more refusals.\n"
        "Exit status: 0; 1 worse, or messages without an answer; 2 it could not be measured.\n"
        "It is installed by `scripts/install --simulators`, or by the package "
        "shipmyagent-simulators.\n",
    .first = SMA_VALUE_FOLDER,
};

static const struct sma_cli_command_option CHAOS_OPTIONS[] = {
    {"kills", 'k', false, SMA_VALUE_TEXT, NULL, "N", "how often it is killed"},
    {"rate", 'r', false, SMA_VALUE_TEXT, NULL, "N", "messages a second (default: 20)"},
    {"seed", 's', false, SMA_VALUE_TEXT, NULL, "N",
     "of the moments; the one that was used is printed"},
    {"json", 'j', false, SMA_VALUE_FILE, NULL, "FILE", "write the report there"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_chaos = {
    .name = "chaos",
    .run = run_chaos,
    .place = "[FOLDER]",
    .summary = "kill a copy of this project again and again, and count the answers",
    .usage = "shipmyagent chaos [FOLDER] --kills N [options]\n",
    .options = CHAOS_OPTIONS,
    .text =
        "Copies the configuration as `bench` does, starts it between a simulated Telegram and a "
        "simulated model, and\n"
        "kills it (kill -9) N times at random moments, while it starts too, while people in 20 "
        "chats go on writing.\n"
        "Then it counts: messages answered once; more than once (may happen when it is killed "
        "between the\n"
        "platform's taking an answer and the note of it; elsewhere it is an error); lost. Says how "
        "long a start\n"
        "took and whether state.db is whole.\n"
        "Exit status: 0; 1 something was lost, repeated elsewhere or damaged; 2 it could not be "
        "done.\n"
        "It is installed by `scripts/install --simulators`, or by the package "
        "shipmyagent-simulators.\n",
    .first = SMA_VALUE_FOLDER,
};
