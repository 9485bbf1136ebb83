/*
 * fake_telegram_client.c — commands for a fake Bot API in this process or elsewhere; an error ends
 * the test.
 */
#include "fake_telegram.h"
#include "platform/fake_platform.h"

static json_t *run(void *fake, json_t *command)
{
    return fake_telegram_command(fake, command);
}

static struct platform_client client_of(const struct telegram *telegram)
{
    return (struct platform_client){telegram->fake == NULL ? NULL : run, telegram->fake,
                                    telegram->port};
}

json_t *telegram_do(const struct telegram *telegram, const char *format, ...)
{
    struct platform_client client = client_of(telegram);
    va_list arguments;
    va_start(arguments, format);
    json_t *answer = platform_vdo(&client, format, arguments);
    va_end(arguments);
    return answer;
}

void telegram_tell(const struct telegram *telegram, const char *format, ...)
{
    struct platform_client client = client_of(telegram);
    va_list arguments;
    va_start(arguments, format);
    json_decref(platform_vdo(&client, format, arguments));
    va_end(arguments);
}

int64_t telegram_number(const struct telegram *telegram, const char *member, const char *format,
                        ...)
{
    struct platform_client client = client_of(telegram);
    va_list arguments;
    va_start(arguments, format);
    json_t *answer = platform_vdo(&client, format, arguments);
    va_end(arguments);
    int64_t number = json_integer_value(json_object_get(answer, member));
    json_decref(answer);
    return number;
}
