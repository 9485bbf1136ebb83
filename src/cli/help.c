/*
 * help.c — what each command does, for the terminal. The man page says the same at more length.
 */
#include "cli.h"

#include <stdio.h>

static const char OVERVIEW[] =
    "shipmyagent " SMA_VERSION " - a folder with an Agent.md becomes a chat agent\n"
    "\n"
    "  shipmyagent [start] [FOLDER]   serve the project in FOLDER (default: this folder)\n"
    "  shipmyagent chat [FOLDER]      talk to it in the terminal, or in a pipe\n"
    "  shipmyagent init [FOLDER]      make a project: Agent.md, ship.json, .ship/\n"
    "  shipmyagent status [FOLDER]    what the running service is doing\n"
    "  shipmyagent approvals          what waits for somebody's consent; give or refuse it\n"
    "  shipmyagent grants             what is allowed without a question; take it back\n"
    "  shipmyagent pair               let strangers in, by the code they were shown\n"
    "  shipmyagent trace RUN          what happened to one message, and how long it took\n"
    "  shipmyagent usage [FOLDER]     what the models used: tokens and cost\n"
    "  shipmyagent compact [FOLDER]   let go of what is over, and make state.db smaller\n"
    "  shipmyagent policy check       may this shell command run? (nothing is run)\n"
    "  shipmyagent simulate WHAT      a stand-in for telegram, feishu, qq or a model, to try a bot "
    "on\n"
    "  shipmyagent alias              add the short name `sma` to your shell\n"
    "  shipmyagent help [COMMAND]     more on one command\n"
    "  shipmyagent --version\n";

static const struct
{
    const char *name, *text;
} COMMANDS[] = {
    {"start",
     "shipmyagent [start] [FOLDER] [options]\n"
     "  -p, --port PORT               HTTP port (default: start.port of ship.json, else 3000; 0 = "
     "any free one)\n"
     "  -h, --host HOST               address to listen on (default: start.host, else 127.0.0.1);\n"
     "                                on any other than loopback put a TLS proxy in front\n"
     "      --provider NAME           use this provider instead of llm.provider (e.g. offline)\n"
     "      --sandbox auto|require    how commands run where ship.json does not say "
     "(permissions.exec_shell.sandbox);\n"
     "                                require: no start without a working sandbox (default: auto)\n"
     "      --interactive-web [BOOL]  accepted for old scripts; there is no such page\n"
     "      --interactive-port PORT   likewise\n"
     "SIGTERM or Ctrl-C stops in order: nothing accepted is lost. SIGHUP re-reads the "
     "configuration.\n"},
    {"chat", "shipmyagent chat [FOLDER] [options]\n"
             "  -n, --name NAME               name of the conversation (default: your login name)\n"
             "      --provider NAME           when a service has to be started: use this provider\n"
             "  -a, --attach FILE             with the first message; again for more files\n"
             "Talks to the running service of FOLDER, or starts one for the time of the chat.\n"
             "Ctrl-C stops the answer being written, a second one leaves. In a pipe, the whole "
             "input is one message:\n"
             "  echo 'What is in this folder?' | shipmyagent chat\n"
             "A picture, PDF or sound whose path is typed or dragged into the terminal goes with "
             "the message; a file\n"
             "outside of FOLDER is copied to .ship/.cache/cli:\n"
             "  echo 'What is wrong on this page?' | shipmyagent chat --attach page.png\n"},
    {"init",
     "shipmyagent init [FOLDER] [options]\n"
     "  -y, --yes                     ask nothing: take the options given and the defaults\n"
     "      --force                   overwrite an existing Agent.md and ship.json\n"
     "      --name NAME               name of the agent (default: name of the folder)\n"
     "      --provider NAME           anthropic, openai, gemini, deepseek, moonshot, qwen, zhipu,\n"
     "                                openrouter, ollama, custom, offline (default: by model)\n"
     "      --model NAME              e.g. claude-sonnet-5-5, gpt-6.1-sol, deepseek-flash\n"
     "      --base-url URL            where the provider answers\n"
     "      --adapter NAME            none (default), or the platform to connect\n"
     "      --qq-sandbox              use QQ's sandbox\n"},
    {"status", "shipmyagent status [FOLDER] [--json]\n"
               "Asks the running service. Exit status 0: running; 3: not running.\n"
               "The user who runs the service is let in by .ship/api-token; another one puts the "
               "API token\n"
               "into the variable SMA_API_TOKEN. The same holds for approvals, grants and pair.\n"},
    {"trace",
     "shipmyagent trace RUN|MESSAGE [FOLDER] [--message] [--json]\n"
     "The life of one message: read, claimed, begun, each answer of a model (target, time to the "
     "first token,\n"
     "tokens), each call, each wait, each delivery. RUN is the number in the log and in HTTP's "
     "runId; MESSAGE is\n"
     "the platform's id. No words of people are shown.\n"
     "      --message                 the number is a message's id of its platform\n"
     "Exit status 0: shown; 1: not known; 3: no service runs.\n"},
    {"usage",
     "shipmyagent usage [FOLDER] [--days N] [--by day|chat|person|platform|model] [--json]\n"
     "Requests, tokens and cost of the models (default: the last 30 days, by day; days are UTC).\n"
     "The cost is an estimate by llm.prices or a table of list prices, \"-\" where no price is "
     "known.\n"},
    {"approvals",
     "shipmyagent approvals [FOLDER] [--json]\n"
     "shipmyagent approvals approve ID [FOLDER] [--items 1,3] [--always | --for 10m] [--response "
     "TEXT]\n"
     "shipmyagent approvals reject ID [FOLDER] [--items 1,3] [--response TEXT]\n"
     "Lists what the agent asks consent for, and decides it; the first 6 characters of an ID do.\n"
     "      --items NUMBERS           only these items (default: all that are open)\n"
     "      --always                  and the same again without a question, in that chat\n"
     "      --for TIME                likewise, for a time: 30s 10m 2h 7d (30 days at most)\n"
     "      --response TEXT           said to the agent, e.g. why not\n"
     "Exit status 0: done; 1: not done; 3: no service runs.\n"},
    {"grants",
     "shipmyagent grants [list] [FOLDER] [--json]\n"
     "shipmyagent grants revoke ID [FOLDER]\n"
     "Lists what is allowed without a question, in which chat and until when; revoke takes it "
     "back.\n"},
    {"compact",
     "shipmyagent compact [FOLDER]\n"
     "Removes now what retention.* of ship.json lets go, and writes state.db anew without "
     "the space of it.\n"
     "The service removes by itself, in idle moments, and uses the space again; stop it "
     "for this command.\n"
     "Needs as much free disk as the smaller file takes. Exit status 0: done; 1: not "
     "done, nothing is lost.\n"},
    {"pair",
     "shipmyagent pair [list] [FOLDER] [--json]\n"
     "shipmyagent pair approve CODE|PERSON|GROUP [FOLDER] [--role member|admin|owner]\n"
     "shipmyagent pair reject CODE|PERSON|GROUP [FOLDER]\n"
     "Strangers are shown a code when they write first. `approve` lets the one with this code in, "
     "as a member\n"
     "(talks), an admin (also decides in chats of that platform) or an owner (decides "
     "everywhere). PERSON is\n"
     "somebody of the list, for example telegram:1001: `approve` changes the role, `reject` takes "
     "it away.\n"
     "A group that strangers take the bot into shows a code too: approved, the group is let in, "
     "and who administers it\n"
     "by its platform's word is an admin there. GROUP is for example telegram:chat:-1001234.\n"
     "The first owner: write to the bot, then `shipmyagent pair approve CODE --role owner`.\n"},
    {"simulate",
     "shipmyagent simulate telegram|feishu|qq [--port N] [--talk]\n"
     "shipmyagent simulate model [--port N] [--key KEY] [--profile NAME] [...]\n"
     "Runs a stand-in for the platform, or for a provider of models, on 127.0.0.1 until Ctrl-C. It "
     "is as strict\n"
     "as the real one, needs no account and no network, and prints what to put into ship.json and "
     ".env to\n"
     "point a bot at it.\n"
     "      --port N                  listen there (default: any free port)\n"
     "      --talk                    you are the person the bot talks to: type, and read it here\n"
     "      --help                    of one of them: its options, and all it can be told to do\n"
     "They are a package of their own, shipmyagent-simulators.\n"},
    {"alias", "shipmyagent alias [--shell zsh|bash|both] [--dry-run] [--print]\n"
              "Adds `alias sma=\"shipmyagent\"` to ~/.zshrc and ~/.bashrc in a marked block.\n"},
    {"policy",
     "shipmyagent policy check [FOLDER] -- COMMAND...\n"
     "Says what permissions.exec_shell of FOLDER's ship.json makes of a shell command: `allow`, "
     "`ask` or "
     "`refuse` on the\n"
     "first line, then the rule and the program that decided it. Nothing is run. One argument is a "
     "text "
     "for the shell,\n"
     "several are the words of one command:\n"
     "  shipmyagent policy check -- 'git log | head'\n"
     "Exit status 0: allow; 1: ask; 2: refuse; 3: the question or the configuration is wrong.\n"},
};

int sma_cli_help(const char *command)
{
    if (command == NULL) {
        fputs(OVERVIEW, stdout);
        return 0;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(COMMANDS); i++)
        if (strcmp(COMMANDS[i].name, command) == 0) {
            fputs(COMMANDS[i].text, stdout);
            return 0;
        }
    return sma_cli_fail("help: there is no command %s; see `shipmyagent help`", command);
}
