/* say.c — the lines that every command ends with when something is wrong; see cli.h. */
#include "cli.h"

#include "chat_screen.h"
#include "commands.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* Of "--prot", or "--prot=1": "port". NULL: none is near, or it is one, and lacks its value. */
static const char *find_nearest_option(const char *command, const char *word)
{
    const char *nearest = NULL;
    word += strspn(word, "-");
    size_t len = strcspn(word, "=");
    unsigned best = len < 6 ? (unsigned)len / 2 + 1 : 4;
    for (size_t i = 0; sma_cli_commands[i] != NULL; i++) {
        const struct sma_cli_command_option *option = sma_cli_commands[i]->options;
        if (strcmp(sma_cli_commands[i]->name, command) != 0 || option == NULL)
            continue;
        for (; option->name != NULL; option++) {
            unsigned distance =
                sma_text_distance((struct sma_str){word, len}, sma_str(option->name));
            if (distance == 0)
                return NULL;
            if (distance < best) {
                best = distance;
                nearest = option->name;
            }
        }
    }
    return nearest;
}

int sma_cli_bad_option(char **argv, int index, int option, const char *command)
{
    /* getopt's optopt names a short option; a long one is the argument itself. */
    if (option > 0 && option < 128)
        return sma_cli_fail(
            "%s: option -%c is unknown or lacks its value; see `shipmyagent help %s`", command,
            option, command);
    const char *nearest = find_nearest_option(command, argv[index]);
    if (nearest != NULL)
        return sma_cli_fail("%s: option %s is unknown; did you mean --%s?", command, argv[index],
                            nearest);
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
