/* say.c — the lines that every command ends with when something is wrong; see cli.h. */
#include "cli.h"

#include "chat_screen.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
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
