/*
 * commands.h — what a command of the program is: one row, from which come its start, its help, its
 * options, the man page and the completions of the shells.
 *
 * A new command is a file of its own, with a row sma_cli_command_NAME at its end, and a line
 * X(NAME) below. Then run scripts/generate.
 */
#ifndef SMA_CLI_COMMANDS_H
#define SMA_CLI_COMMANDS_H

#include "sma/base.h"
#include "sma/buf.h"

/* What a value is, so that a shell can complete it. */
enum sma_value
{
    SMA_VALUE_NONE, /* an option without a value; nothing stands here */
    SMA_VALUE_TEXT,
    SMA_VALUE_FILE,
    SMA_VALUE_FOLDER,
    SMA_VALUE_WORDS, /* one of the row's words */
    SMA_VALUE_BOOL,  /* true or false, and may be left out: --name[=BOOL] */
    SMA_VALUE_PROVIDER,
    SMA_VALUE_ADAPTER,
    SMA_VALUE_MODEL, /* one of the models that the wizard offers, or any other */
    SMA_VALUE_COMMAND,
    SMA_VALUE_APPROVAL, /* from here on the running service is asked: a row each in values.c */
    SMA_VALUE_GRANT,
    SMA_VALUE_PAIRING,
    SMA_VALUE_RUN,
    SMA_VALUE_CHAT,
};

struct sma_cli_command_option
{
    const char *name;     /* without the dashes; NULL ends the list */
    int key;              /* what sma_cli_option returns for it, a letter */
    bool is_short;        /* the letter is an option, too */
    enum sma_value value; /* NONE: it takes none */
    const char *words;    /* of SMA_VALUE_WORDS: "auto|require" */
    const char *meta;     /* what help calls the value, e.g. "PORT"; NULL: the words */
    const char *text;     /* what it does; "\n" begins a new line; NULL: not shown anywhere */
};

struct sma_cli_command
{
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
    const char *place;                 /* what follows the name in the overview, e.g. "[FOLDER]" */
    const char *summary;               /* one line; NULL: a command for machines, not shown */
    const char *usage;                 /* lines that begin with the program's name */
    const struct sma_cli_command_option *options; /* NULL: none */
    const char *text;                             /* lines below the options; "" is allowed */
    const char *verbs;                            /* words of the first place: "approve|reject" */
    enum sma_value first;                         /* what else may stand there */
    enum sma_value second;                        /* what follows a verb */
    bool is_wrapper; /* what follows its first word is another program's, `-h` too */
};

extern const struct sma_cli_command
    *const sma_cli_commands[]; /* in the order of the overview; ends with
                                                          NULL */
/** NULL: there is none of this name. */
const struct sma_cli_command *sma_cli_command_find(const char *name);

/** getopt_long by the row of the command: the key of the next option, its value in optarg; -1 at
 *  the end, optind at the first word that is none; '?' after an unknown one, which one line was
 *  said about: the command ends with exit status 1. */
int sma_cli_option(const struct sma_cli_command *command, int argc, char **argv);
/** Is there a --help among the words, or a -h that means it? */
bool sma_cli_wants_help(const struct sma_cli_command *command, int argc, char **argv);

void sma_cli_command_format_overview(struct sma_buf *buf);
void sma_cli_command_format_help(struct sma_buf *buf, const struct sma_cli_command *command);
void sma_cli_command_format_man(struct sma_buf *buf); /* SYNOPSIS and COMMANDS of the man page */
/** @return false when it is none of bash, zsh, fish, man */
SMA_CHECKED bool sma_cli_command_format(struct sma_buf *buf, const char *form);
/** The words of a value, blank-separated; nothing for other kinds. */
void sma_cli_command_put_words(struct sma_buf *buf, enum sma_value value, const char *words);

#define SMA_CLI_COMMAND_ROWS(X) \
    X(start)                    \
    X(chat)                     \
    X(init)                     \
    X(status)                   \
    X(page)                     \
    X(doctor)                   \
    X(approvals)                \
    X(grants)                   \
    X(pair)                     \
    X(why)                      \
    X(runs)                     \
    X(logs)                     \
    X(trace)                    \
    X(usage)                    \
    X(compact)                  \
    X(mcp_serve)                \
    X(backup)                   \
    X(restore)                  \
    X(export)                   \
    X(policy)                   \
    X(skills)                   \
    X(mcp)                      \
    X(memory)                   \
    X(simulate)                 \
    X(bench)                    \
    X(chaos)                    \
    X(alias)                    \
    X(completion)               \
    X(help)                     \
    X(version)                  \
    X(config_keys)              \
    X(values)
#define X(name) extern const struct sma_cli_command sma_cli_command_##name;
SMA_CLI_COMMAND_ROWS(X)
#undef X

#endif
