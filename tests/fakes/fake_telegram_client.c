/*
 * fake_telegram_client.c — commands for a fake Bot API in this process or elsewhere; an error ends the test.
 */
#include "fake_telegram.h"

#include "scenario/http_client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *ask(const struct telegram *telegram, json_t *command)
{
    if (telegram->fake != NULL)
        return fake_telegram_command(telegram->fake, command);
    char *text = json_dumps(command, JSON_COMPACT);
    struct http_answer answer = http_ask(telegram->port, "/control", "", text, 20000);
    json_t *tree = answer.status == 200 ? json_loadb(answer.body, answer.len, 0, NULL) : NULL;
    http_answer_fini(&answer);
    free(text);
    json_decref(command);
    return tree;
}

static json_t *run(const struct telegram *telegram, const char *format, va_list arguments)
{
    json_error_t wrong;
    json_t *command = json_vpack_ex(&wrong, 0, format, arguments);
    if (command == NULL) {
        fprintf(stderr, "telegram: the command %s cannot be made: %s\n", format, wrong.text);
        exit(1);
    }
    char *shown = json_dumps(command, JSON_COMPACT);
    json_t *answer = ask(telegram, command);
    const char *error = json_string_value(json_object_get(answer, "error"));
    if (answer == NULL || error != NULL) {
        fprintf(stderr, "telegram: %s: %s\n", shown, error == NULL ? "no answer" : error);
        exit(1);
    }
    free(shown);
    return answer;
}

json_t *telegram_do(const struct telegram *telegram, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *answer = run(telegram, format, arguments);
    va_end(arguments);
    return answer;
}

void telegram_tell(const struct telegram *telegram, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_decref(run(telegram, format, arguments));
    va_end(arguments);
}

int64_t telegram_number(const struct telegram *telegram, const char *member, const char *format,
                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *answer = run(telegram, format, arguments);
    va_end(arguments);
    int64_t number = json_integer_value(json_object_get(answer, member));
    json_decref(answer);
    return number;
}
