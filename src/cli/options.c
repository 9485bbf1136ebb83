/* options.c — the options of a command, read by its row; see commands.h. */
#include "cli.h"
#include "commands.h"

#include <getopt.h>

#define OPTION_COUNT_MAX 32

static size_t count_options(const struct sma_cli_command *command)
{
    size_t count = 0;
    while (command->options != NULL && command->options[count].name != NULL)
        count++;
    return count;
}

/* "$DIR" of a script that has not set it: it would be the root of the machine, or this folder. */
static bool names_nothing(const struct sma_cli_command *command, int argc, char **argv)
{
    bool has_folder = command->first == SMA_VALUE_FOLDER || command->second == SMA_VALUE_FOLDER;
    for (int i = optind; has_folder && i < argc; i++)
        if (argv[i][0] == '\0') {
            (void)sma_cli_fail("%s: an argument is empty; name a folder, or none for this one",
                               command->name);
            return true;
        }
    return false;
}

int sma_cli_option(const struct sma_cli_command *command, int argc, char **argv)
{
    struct option longs[OPTION_COUNT_MAX + 1] = {0};
    char letters[2 * OPTION_COUNT_MAX + 2] = ":"; /* no line of getopt's own */
    size_t len = 1, count = count_options(command);
    for (size_t i = 0; i < count && i < OPTION_COUNT_MAX; i++) {
        const struct sma_cli_command_option *option = &command->options[i];
        bool has_value = option->value != SMA_VALUE_NONE;
        longs[i].name = option->name;
        longs[i].val = option->key;
        longs[i].has_arg = !has_value                        ? no_argument
                           : option->value == SMA_VALUE_BOOL ? optional_argument
                                                             : required_argument;
        if (!option->is_short)
            continue;
        letters[len++] = (char)option->key;
        if (has_value)
            letters[len++] = ':';
    }
    opterr = 0;
    int key = getopt_long(argc, argv, letters, longs, NULL);
    if (key == -1 && names_nothing(command, argc, argv))
        return '?';
    if (key != '?' && key != ':')
        return key;
    (void)sma_cli_bad_option(argv, optind - 1, optopt, command->name);
    return '?';
}

/* NULL: not an option of this command. *ret_is_whole: its value does not stand in the same word. */
static const struct sma_cli_command_option *find_option(const struct sma_cli_command *command,
                                                        const char *word, bool *ret_is_whole)
{
    for (size_t i = 0; i < count_options(command); i++) {
        const struct sma_cli_command_option *option = &command->options[i];
        size_t len = strlen(option->name);
        *ret_is_whole = true;
        if (option->is_short && word[0] == '-' && word[1] == option->key) {
            *ret_is_whole = word[2] == '\0';
            return option;
        }
        if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, option->name, len) != 0)
            continue;
        *ret_is_whole = word[2 + len] == '\0';
        if (*ret_is_whole || word[2 + len] == '=')
            return option;
    }
    return NULL;
}

/* -h is the host of `start`, as it always was, when something follows that can be one. */
bool sma_cli_wants_help(const struct sma_cli_command *command, int argc, char **argv)
{
    int end = command->is_wrapper && argc > 2 ? 2 : argc;
    for (int i = 1; i < end && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return true;
        bool is_whole;
        const struct sma_cli_command_option *option = find_option(command, argv[i], &is_whole);
        if (strcmp(argv[i], "-h") == 0 &&
            (option == NULL || i + 1 == argc || argv[i + 1][0] == '-'))
            return true;
        if (option != NULL && option->value != SMA_VALUE_NONE && option->value != SMA_VALUE_BOOL &&
            is_whole)
            i++; /* its value, whatever that looks like */
    }
    return false;
}
