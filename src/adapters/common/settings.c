/* settings.c — see settings.h. */
#include "settings.h"

#include "sma/buf.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum sma_err sma_settings_open(struct sma_settings *settings, const char *name, const char *json,
                               struct sma_error *error)
{
    *settings = (struct sma_settings){.name = name, .error = error};
    if (json == NULL || json[0] == '\0')
        return SMA_ERR_NOTFOUND;
    settings->root = json_loads(json, 0, NULL);
    if (json_is_object(settings->root))
        return SMA_ERR_OK;
    sma_settings_close(settings);
    return sma_fail(error, SMA_ERR_BADINPUT, "ship.json: adapters.%s must be an object", name);
}

void sma_settings_close(struct sma_settings *settings)
{
    json_decref(settings->root);
    settings->root = NULL;
}

enum sma_err sma_settings_refuse(const struct sma_settings *settings, const char *key,
                                 const char *remedy)
{
    return sma_fail(settings->error, SMA_ERR_BADINPUT, "ship.json: adapters.%s.%s %s",
                    settings->name, key, remedy);
}

enum sma_err sma_settings_refuse_ca_file(const char *name, struct sma_error *error)
{
    char remedy[sizeof error->text + 64];
    snprintf(remedy, sizeof remedy, "cannot be used: %s; leave it out to trust the system's",
             error->text);
    return sma_settings_refuse(&(struct sma_settings){.name = name, .error = error}, "caFile",
                               remedy);
}

/* The "a" of "a.b"; the whole block for a key without a dot. NULL when it is not there. */
static const json_t *parent_of(const struct sma_settings *settings, const char *key,
                               char object[64])
{
    const char *dot = strchr(key, '.');
    if (dot == NULL)
        return settings->root;
    snprintf(object, 64, "%.*s", (int)(dot - key), key);
    return json_object_get(settings->root, object);
}

/* The member "a" or "a.b"; NULL when it is not there. */
static const json_t *find(const struct sma_settings *settings, const char *key)
{
    char object[64];
    const char *dot = strchr(key, '.');
    return json_object_get(parent_of(settings, key, object), dot == NULL ? key : dot + 1);
}

enum sma_err sma_settings_text(const struct sma_settings *settings, const char *key,
                               char **ret_text)
{
    const json_t *value = find(settings, key);
    if (value != NULL && !json_is_string(value) && !json_is_null(value))
        return sma_settings_refuse(settings, key, "must be a string");
    const char *text = json_string_value(value);
    char *copy = strdup(text == NULL ? "" : text);
    if (copy == NULL)
        return sma_fail(settings->error, SMA_ERR_NOMEM, "out of memory");
    sma_settings_wipe(ret_text);
    *ret_text = copy;
    return SMA_ERR_OK;
}

enum sma_err sma_settings_word(const struct sma_settings *settings, const char *key,
                               const char *const *words, unsigned *ret_index)
{
    const json_t *value = find(settings, key);
    if (value == NULL)
        return SMA_ERR_OK;
    const char *text = json_string_value(value);
    for (unsigned i = 0; text != NULL && words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0) {
            *ret_index = i;
            return SMA_ERR_OK;
        }
    struct sma_buf remedy;
    sma_buf_init(&remedy, 200);
    sma_buf_put_text(&remedy, "must be ");
    for (unsigned i = 0; words[i] != NULL; i++)
        sma_buf_printf(&remedy, "%s\"%s\"", i == 0 ? "" : " or ", words[i]);
    enum sma_err err = sma_settings_refuse(
        settings, key, remedy.err == SMA_ERR_OK ? remedy.ptr : "is not a word that is known");
    sma_buf_fini(&remedy);
    return err;
}

/* A placeholder yields a string, so a number written in one is a number too. */
static bool read_whole(const json_t *value, int64_t *number)
{
    struct sma_str text = {json_string_value(value), json_string_length(value)};
    if (json_is_string(value))
        return sma_parse_i64(text, INT64_MIN, INT64_MAX, number) == SMA_ERR_OK;
    if (json_is_real(value) && json_real_value(value) >= 0 && json_real_value(value) < 9e15) {
        *number = (int64_t)json_real_value(value);
        return (double)*number == json_real_value(value);
    }
    *number = json_integer_value(value);
    return json_is_integer(value);
}

enum sma_err sma_settings_number(const struct sma_settings *settings, const char *key, int64_t low,
                                 int64_t high, int64_t *ret_number)
{
    char object[64];
    const json_t *parent = parent_of(settings, key, object);
    if (parent != NULL && !json_is_object(parent)) {
        char remedy[128];
        snprintf(remedy, sizeof remedy, "must be an object: {\"%s\": %lld}", strchr(key, '.') + 1,
                 (long long)*ret_number);
        return sma_settings_refuse(settings, object, remedy);
    }
    const json_t *value = find(settings, key);
    if (value == NULL)
        return SMA_ERR_OK;
    int64_t number = 0;
    if (!read_whole(value, &number) || number < low || number > high)
        return sma_fail(settings->error, SMA_ERR_BADINPUT,
                        "ship.json: adapters.%s.%s must be a whole number from %lld to %lld",
                        settings->name, key, (long long)low, (long long)high);
    *ret_number = number;
    return SMA_ERR_OK;
}

bool sma_settings_is_http_url(const char *url)
{
    size_t skip = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    if (skip == 0 || url[skip] == '\0' || url[skip] == '/')
        return false;
    for (const char *at = url; *at != '\0'; at++)
        if ((unsigned char)*at <= 0x20 || *at == 0x7f)
            return false;
    return strlen(url) < 1024 && strchr(url, '?') == NULL && strchr(url, '#') == NULL;
}

void sma_settings_trim_slashes(char *url)
{
    for (size_t len = strlen(url); len > 0 && url[len - 1] == '/'; len--)
        url[len - 1] = '\0';
}

void sma_settings_wipe(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}
