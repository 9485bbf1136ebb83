/* init_secret.c — see init_secret.h. */
#include "init_secret.h"

#include "cli.h"
#include "sma/config.h"
#include "sma/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *init_secret_fault(const char *value)
{
    if (value[0] == '\0')
        return "it is empty";
    for (const unsigned char *at = (const unsigned char *)value; *at != '\0'; at++)
        if (*at <= 0x20 || *at >= 0x7F)
            return "it holds a blank or another character that no key has; copy it again";
        else if (*at == '\'' || *at == '"' || *at == '`' || *at == '\\')
            return "it holds a quote or a backslash; copy it without what stands around it";
    return strncmp(value, "${", 2) == 0 ? "that is the name of a variable, not its value" : NULL;
}

int init_secrets_put(struct init_secrets *secrets, const char *name, const char *value)
{
    struct init_secret *item = NULL;
    for (size_t i = 0; i < secrets->count; i++)
        if (strcmp(secrets->items[i].name, name) == 0)
            item = &secrets->items[i];
    if (item == NULL && secrets->count == INIT_SECRET_COUNT_MAX)
        return sma_cli_fail("init: more than %d keys and tokens", INIT_SECRET_COUNT_MAX);
    if (item == NULL)
        item = &secrets->items[secrets->count++];
    snprintf(item->name, sizeof item->name, "%s", name);
    snprintf(item->value, sizeof item->value, "%s", value);
    return 0;
}

void init_secrets_drop(struct init_secrets *secrets, const char *name)
{
    for (size_t i = 0; i < secrets->count; i++)
        if (strcmp(secrets->items[i].name, name) == 0) {
            secrets->items[i] = secrets->items[--secrets->count];
            explicit_bzero(&secrets->items[secrets->count], sizeof secrets->items[0]);
            return;
        }
}

bool init_secrets_find(const struct init_secrets *secrets, const char *dir, const char *name,
                       char *value, size_t room)
{
    const char *const names[] = {name, NULL};
    for (size_t i = 0; i < secrets->count; i++)
        if (strcmp(secrets->items[i].name, name) == 0) {
            snprintf(value, room, "%s", secrets->items[i].value);
            return true;
        }
    return sma_config_find_variable(dir, names, value, room);
}

bool init_secret_is_shadowed(const char *name, const char *value)
{
    const char *there = getenv(name);
    return there != NULL && strcmp(there, value) != 0;
}

static int refuse(const char *option, const char *source, const char *fault)
{
    return sma_cli_fail("init: %s %s gives no key: %s", option, source, fault);
}

int init_secret_read(const char *option, const char *path, char *value, size_t room)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (file == NULL)
        return refuse(option, path, strerror(errno));
    char line[INIT_SECRET_BYTES_MAX + 2];
    bool is_there = fgets(line, sizeof line, file) != NULL;
    if (!is_stdin)
        (void)fclose(file); /* it was read */
    struct sma_str text = sma_str_trim(sma_str(is_there ? line : ""));
    snprintf(value, room, "%.*s", (int)text.len, text.ptr);
    explicit_bzero(line, sizeof line);
    const char *fault = text.len >= room ? "it is too long" : init_secret_fault(value);
    return fault == NULL ? 0 : refuse(option, path, fault);
}

int init_secret_take(const char *option, const char *name, char *value, size_t room)
{
    const char *there = getenv(name);
    if (there == NULL)
        return refuse(option, name, "this variable is not set");
    const char *fault = strlen(there) >= room ? "it is too long" : init_secret_fault(there);
    if (fault != NULL)
        return refuse(option, name, fault);
    snprintf(value, room, "%s", there);
    return 0;
}

/* Does .env say so already? The environment must not answer for it. */
static bool is_in_file(const char *dir, const struct init_secret *item)
{
    const char *const names[] = {item->name, NULL};
    char value[INIT_SECRET_BYTES_MAX];
    return getenv(item->name) == NULL &&
           sma_config_find_variable(dir, names, value, sizeof value) &&
           strcmp(value, item->value) == 0;
}

void init_secrets_format(const struct init_secrets *secrets, const char *dir, struct sma_str before,
                         struct sma_buf *buf)
{
    sma_buf_put_str(buf, before);
    if (before.len > 0 && before.ptr[before.len - 1] != '\n')
        sma_buf_put_char(buf, '\n');
    for (size_t i = 0; i < secrets->count; i++) {
        const struct init_secret *item = &secrets->items[i];
        /* A later line of one name counts; '#' would begin a comment. */
        const char *quote = strchr(item->value, '#') != NULL ? "'" : "";
        if (!is_in_file(dir, item))
            sma_buf_printf(buf, "%s=%s%s%s\n", item->name, quote, item->value, quote);
    }
}
