/*
 * main.c — which command is meant. No command, a folder or an option means `start`, as in the old
 * program; a word that is neither is a mistake and is said to be one.
 */
#include "cli.h"

#include "chat_screen.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

static const struct
{
    const char *name;
    int (*run)(int argc, char **argv);
} COMMANDS[] = {
    {"start", sma_cli_start},
    {"chat", sma_cli_chat},
    {"init", sma_cli_init},
    {"status", sma_cli_status},
    {"alias", sma_cli_alias},
    {"policy", sma_cli_policy},
    {"approvals", sma_cli_approvals},
    {"grants", sma_cli_grants},
    {"pair", sma_cli_pair},
    {"trace", sma_cli_trace},
    {"usage", sma_cli_usage},
    {"compact", sma_cli_compact},
    {"config-keys", sma_cli_config_keys},
    {"simulate", sma_cli_simulate},
};

int sma_cli_fail(const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    struct sma_buf clean; /* the line quotes files and answers, which may hold anything */
    sma_buf_init(&clean, sizeof line + 1);
    sma_chat_put_clean(&clean, sma_str(line));
    fprintf(stderr, "shipmyagent: %s\n", clean.ptr == NULL ? "" : clean.ptr);
    sma_buf_fini(&clean);
    return 1;
}

int sma_cli_bad_option(char **argv, int index, int option, const char *command)
{
    /* getopt's optopt names a short option; a long one is the argument itself. */
    if (option > 0 && option < 128)
        return sma_cli_fail(
            "%s: option -%c is unknown or lacks its value; see `shipmyagent help %s`", command,
            option, command);
    return sma_cli_fail("%s: option %s is unknown or lacks its value; see `shipmyagent help %s`",
                        command, argv[index], command);
}

bool sma_cli_parse_bool(const char *text, bool *ret_value)
{
    static const char *const words[][2] = {
        {"true", "false"}, {"1", "0"}, {"yes", "no"}, {"y", "n"}, {"on", "off"}};
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        for (size_t k = 0; k < 2; k++)
            if (strcasecmp(text, words[i][k]) == 0) {
                *ret_value = k == 0;
                return true;
            }
    return false;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int refuse_word(const char *word)
{
    const char *nearest = NULL;
    unsigned best = 4;
    for (size_t i = 0; i < SMA_COUNT_OF(COMMANDS); i++) {
        unsigned distance = sma_text_distance(sma_str(word), sma_str(COMMANDS[i].name));
        if (distance < best) {
            best = distance;
            nearest = COMMANDS[i].name;
        }
    }
    if (nearest != NULL)
        return sma_cli_fail("%s is neither a command nor a folder; did you mean `shipmyagent %s`?",
                            word, nearest);
    return sma_cli_fail("%s is neither a command nor a folder; see `shipmyagent help`", word);
}

int main(int argc, char **argv)
{
    sma_crash_init();
    if (argc < 2)
        return sma_cli_start(argc, argv);
    const char *word = argv[1];
    if (strcmp(word, "-v") == 0 || strcmp(word, "--version") == 0) {
        puts(SMA_VERSION);
        return 0;
    }
    if (strcmp(word, "--help") == 0)
        return sma_cli_help(NULL);
    if (strcmp(word, "help") == 0)
        return sma_cli_help(argc > 2 ? argv[2] : NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(COMMANDS); i++)
        if (strcmp(word, COMMANDS[i].name) == 0)
            return argc == 3 && strcmp(argv[2], "--help") == 0
                       ? sma_cli_help(word)
                       : COMMANDS[i].run(argc - 1, argv + 1);
    if (word[0] != '-' && !is_folder(word))
        return refuse_word(word);
    return sma_cli_start(argc, argv);
}
