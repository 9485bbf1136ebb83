/*
 * help.c — what each command does, from the table: for the terminal, and the man page's sections.
 */
#include "cli.h"
#include "commands.h"

#include <stdio.h>

#define TEXT_BYTES_MAX (256 * 1024)
#define OPTION_COLUMN 32
#define OVERVIEW_COLUMN 21

void sma_cli_command_format_overview(struct sma_buf *buf)
{
    sma_buf_put_text(buf, "shipmyagent " SMA_VERSION
                          " - a folder with an Agent.md becomes a chat agent\n\n");
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++) {
        const struct sma_cli_command *command = sma_cli_commands[i];
        if (command->summary == NULL)
            continue;
        char words[80];
        bool is_start = strcmp(command->name, "start") == 0; /* need not be said */
        snprintf(words, sizeof words, "%s%s%s %s", is_start ? "[" : "", command->name,
                 is_start ? "]" : "", command->place);
        sma_buf_printf(buf, "  shipmyagent %-*s %s\n", OVERVIEW_COLUMN, words, command->summary);
    }
    sma_buf_put_text(buf,
                     "\n`shipmyagent help COMMAND` or `shipmyagent COMMAND --help` says more.\n");
}

static void put_option(struct sma_buf *buf, const struct sma_cli_command_option *option)
{
    char words[120];
    const char *meta = option->meta != NULL ? option->meta : option->words;
    bool has_value = option->value != SMA_VALUE_NONE && meta != NULL;
    int len =
        snprintf(words, sizeof words, "  %c%c%c --%s%s%s%s", option->is_short ? '-' : ' ',
                 option->is_short ? option->key : ' ', option->is_short ? ',' : ' ', option->name,
                 !has_value                        ? ""
                 : option->value == SMA_VALUE_BOOL ? " ["
                                                   : " ",
                 has_value ? meta : "", has_value && option->value == SMA_VALUE_BOOL ? "]" : "");
    sma_buf_put_text(buf, words);
    if (len >= OPTION_COLUMN) {
        sma_buf_put_char(buf, '\n');
        len = 0;
    }
    for (const char *at = option->text; at != NULL;) {
        size_t line = strcspn(at, "\n");
        sma_buf_printf(buf, "%*s%.*s\n", OPTION_COLUMN - len, "", (int)line, at);
        at = at[line] == '\n' ? at + line + 1 : NULL;
        len = 0;
    }
}

void sma_cli_command_format_help(struct sma_buf *buf, const struct sma_cli_command *command)
{
    sma_buf_printf(buf, "%s", command->usage);
    for (size_t i = 0; command->options != NULL && command->options[i].name != NULL; i++)
        if (command->options[i].text != NULL)
            put_option(buf, &command->options[i]);
    sma_buf_put_text(buf, command->text);
}

/* -- man page ---------------------------------------------------------------------------------- */
static void put_roff(struct sma_buf *buf, const char *text, size_t len)
{
    bool is_line_start = true;
    for (size_t i = 0; i < len; i++) {
        if (is_line_start && (text[i] == '.' || text[i] == '\''))
            sma_buf_put_text(buf, "\\&");
        is_line_start = text[i] == '\n';
        if (text[i] == '\\')
            sma_buf_put_text(buf, "\\e");
        else if (text[i] == '-')
            sma_buf_put_text(buf, "\\-");
        else if (text[i] == '`')
            sma_buf_put_text(buf, "\\(ga");
        else if (text[i] == '\'')
            sma_buf_put_text(buf, "\\(aq");
        else
            sma_buf_put_char(buf, text[i]);
    }
}

static void put_roff_option(struct sma_buf *buf, const struct sma_cli_command_option *option)
{
    const char *meta = option->meta != NULL ? option->meta : option->words;
    sma_buf_put_text(buf, ".TP\n.B ");
    if (option->is_short)
        sma_buf_printf(buf, "\\-%c, ", option->key);
    put_roff(buf, "--", 2);
    put_roff(buf, option->name, strlen(option->name));
    if (option->value != SMA_VALUE_NONE && meta != NULL) {
        sma_buf_put_text(buf, option->value == SMA_VALUE_BOOL ? " [" : " ");
        put_roff(buf, meta, strlen(meta));
        sma_buf_put_text(buf, option->value == SMA_VALUE_BOOL ? "]" : "");
    }
    sma_buf_put_char(buf, '\n');
    put_roff(buf, option->text, strlen(option->text));
    sma_buf_put_char(buf, '\n');
}

static void put_roff_command(struct sma_buf *buf, const struct sma_cli_command *command)
{
    sma_buf_printf(buf, ".SS %s\n", command->name);
    sma_buf_put_text(buf, ".nf\n");
    put_roff(buf, command->usage, strlen(command->usage));
    sma_buf_put_text(buf, ".fi\n");
    for (size_t i = 0; command->options != NULL && command->options[i].name != NULL; i++)
        if (command->options[i].text != NULL)
            put_roff_option(buf, &command->options[i]);
    if (command->text[0] == '\0')
        return;
    sma_buf_put_text(buf, ".PP\n");
    put_roff(buf, command->text, strlen(command->text));
}

void sma_cli_command_format_man(struct sma_buf *buf)
{
    sma_buf_put_text(buf, ".SH COMMANDS\n");
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++)
        if (sma_cli_commands[i]->summary != NULL)
            put_roff_command(buf, sma_cli_commands[i]);
}

/* -- commands ---------------------------------------------------------------------------------- */
int sma_cli_help(const char *name)
{
    const struct sma_cli_command *command = name == NULL ? NULL : sma_cli_command_find(name);
    if (name != NULL && (command == NULL || command->usage == NULL))
        return sma_cli_fail("help: there is no command %s; see `shipmyagent help`", name);
    struct sma_buf buf;
    sma_buf_init(&buf, TEXT_BYTES_MAX);
    if (command == NULL)
        sma_cli_command_format_overview(&buf);
    else
        sma_cli_command_format_help(&buf, command);
    bool is_written = buf.err == SMA_ERR_OK && fwrite(buf.ptr, 1, buf.len, stdout) == buf.len;
    sma_buf_fini(&buf);
    return is_written ? 0 : sma_cli_fail("help: cannot write it");
}

static int help(int argc, char **argv)
{
    return sma_cli_help(argc > 1 ? argv[1] : NULL);
}

static int version(int argc, char **argv)
{
    (void)argc, (void)argv;
    return puts(SMA_VERSION) < 0;
}

const struct sma_cli_command sma_cli_command_help = {
    .name = "help",
    .run = help,
    .place = "[COMMAND]",
    .summary = "more on one command",
    .usage = "shipmyagent help [COMMAND]\n"
             "shipmyagent COMMAND --help\n",
    .text = "Says what the program or one of its commands does. `-h` means help, too, but for "
            "`start -h HOST`.\n",
    .first = SMA_VALUE_COMMAND,
};

const struct sma_cli_command sma_cli_command_version = {
    .name = "version",
    .run = version,
    .place = "",
    .summary = "which version this is (also --version, -V)",
    .usage = "shipmyagent version\n",
    .text = "Prints the version of the program.\n",
};
