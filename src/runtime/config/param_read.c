/*
 * param_read.c — the values of a table's rows into the struct that they are for.
 */
#include "param_priv.h"

#include "sma/bot.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define PATH_BYTES_MAX 256

static bool is_text(const struct sma_param *row)
{
    return row->type <= SMA_PARAM_TYPE_PROXY;
}

/* The member "a.b" below root; NULL when it is not there. */
static const json_t *find(const json_t *root, const char *path)
{
    char name[PATH_BYTES_MAX];
    for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        (void)snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
        root = json_object_get(root, name);
    }
    const json_t *value = json_object_get(root, path);
    return json_is_null(value) ? NULL : value; /* null: as if it were not there */
}

/* -- targets ----------------------------------------------------------------------------------- */
static void put_integer(const struct sma_param *row, void *target, int64_t number)
{
    char *at = (char *)target + row->offset;
    uint8_t number8 = (uint8_t)number;
    uint16_t number16 = (uint16_t)number;
    uint32_t number32 = (uint32_t)number;
    const void *from = row->size == 1   ? (const void *)&number8
                       : row->size == 2 ? (const void *)&number16
                       : row->size == 4 ? (const void *)&number32
                                        : (const void *)&number;
    memcpy(at, from, row->size);
}

void sma_param_wipe(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

/* Overwritten first: many are secrets. */
static void wipe_text(const struct sma_param *row, void *target)
{
    char *text;
    memcpy(&text, (char *)target + row->offset, sizeof text);
    sma_param_wipe(&text);
    memset((char *)target + row->offset, 0, row->size);
}

static enum sma_err put_text(const struct sma_param *row, const struct sma_param_source *source,
                             const char *text, void *target)
{
    char *copy = source->keep == NULL ? strdup(text) : source->keep(source->user, text);
    if (copy == NULL)
        return sma_fail(source->error, SMA_ERR_NOMEM, "out of memory");
    if (source->keep == NULL)
        wipe_text(row, target);
    memcpy((char *)target + row->offset, &copy, sizeof copy);
    return SMA_ERR_OK;
}

static enum sma_err put_default(const struct sma_param *row, const struct sma_param_source *source,
                                void *target)
{
    if (is_text(row))
        return put_text(row, source, row->text == NULL ? "" : row->text, target);
    if (row->type == SMA_PARAM_TYPE_NUMBER)
        memcpy((char *)target + row->offset, &row->standard, sizeof row->standard);
    else if (row->type != SMA_PARAM_TYPE_IDS)
        put_integer(row, target, (int64_t)row->standard);
    return SMA_ERR_OK;
}

/* -- texts ------------------------------------------------------------------------------------- */
/* "${}" and other leftovers of a placeholder count as not configured. */
static bool is_given(const struct sma_param *row, const char *text)
{
    bool may_be_left =
        row->env != NULL || row->type == SMA_PARAM_TYPE_URL || row->type == SMA_PARAM_TYPE_SOCKET;
    return text != NULL && text[0] != '\0' && strcmp(text, "${}") != 0 &&
           !(may_be_left && text[0] == '$');
}

static enum sma_err refuse(const struct sma_param_source *source, const char *path,
                           const char *remedy)
{
    return sma_fail(source->error, SMA_ERR_BADINPUT, "%s: %s%s%s %s", source->file, source->place,
                    source->place[0] == '\0' ? "" : ".", path, remedy);
}

/* Variables are the first bot's: another one that took them would be the same account. */
static const char *variable_of(const struct sma_param *row, const struct sma_param_source *source)
{
    return row->env == NULL || source->is_further_bot ? NULL : getenv(row->env);
}

static enum sma_err put_url(const struct sma_param *row, const struct sma_param_source *source,
                            const char *text, void *target)
{
    char remedy[1200];
    (void)snprintf(remedy, sizeof remedy, "must be an http:// or https:// URL without query%s%s",
                   row->text == NULL ? "" : ", e.g. ", row->text == NULL ? "" : row->text);
    if (!sma_param_is_url(text))
        return refuse(source, row->path, remedy);
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '/')
        len--;
    char trimmed[1024];
    (void)snprintf(trimmed, sizeof trimmed, "%.*s", (int)len, text);
    return put_text(row, source, trimmed, target);
}

static enum sma_err put_file(const struct sma_param *row, const struct sma_param_source *source,
                             const char *text, void *target)
{
    char full[4096];
    if (text[0] == '/')
        return put_text(row, source, text, target);
    if ((size_t)snprintf(full, sizeof full, "%s/%s", source->project_dir, text) >= sizeof full)
        return refuse(source, row->path, "is too long");
    return put_text(row, source, full, target);
}

static enum sma_err read_text(const struct sma_param *row, const struct sma_param_source *source,
                              const json_t *value, void *target)
{
    const char *text = json_string_value(value);
    if (!is_given(row, text))
        text = variable_of(row, source);
    if (!is_given(row, text))
        return SMA_ERR_OK;
    if (row->type == SMA_PARAM_TYPE_URL)
        return put_url(row, source, text, target);
    if (row->type == SMA_PARAM_TYPE_FILE)
        return put_file(row, source, text, target);
    if (row->type == SMA_PARAM_TYPE_SOCKET && !config_is_socket_url(text))
        return refuse(source, row->path, "must be a ws:// or wss:// URL");
    return put_text(row, source, text, target);
}

/* -- others ------------------------------------------------------------------------------------ */
static void read_flag(const struct sma_param *row, const struct sma_param_source *source,
                      const json_t *value, void *target)
{
    const char *text = json_string_value(value);
    if (!config_is_flag(value) && (text == NULL || strcasecmp(text, "true") != 0)) {
        text = variable_of(row, source);
        if (text == NULL)
            return;
    }
    bool is_true = json_is_true(value) || (text != NULL && strcasecmp(text, "true") == 0);
    put_integer(row, target, is_true);
}

static void read_words(const struct sma_param *row, const json_t *list, void *target)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        bits |= UINT32_C(1) << config_word_index(row->words,
                                                 json_string_value(json_array_get(list, i)));
    put_integer(row, target, bits);
}

static void read_ids(const struct sma_param *row, const json_t *list, void *target)
{
    json_t *old, *fresh = json_is_array(list) ? json_incref((json_t *)(uintptr_t)list) : NULL;
    memcpy(&old, (char *)target + row->offset, sizeof old);
    json_decref(old);
    memcpy((char *)target + row->offset, &fresh, sizeof fresh);
}

static void read_number(const struct sma_param *row, const json_t *value, void *target)
{
    double number;
    if (!sma_param_number(value, &number))
        return;
    if (row->type == SMA_PARAM_TYPE_NUMBER)
        memcpy((char *)target + row->offset, &number, sizeof number);
    else
        put_integer(row, target, (int64_t)number);
}

static enum sma_err read_row(const struct sma_param *row, const struct sma_param_source *source,
                             const json_t *value, void *target)
{
    if (row->has_offset != 0)
        memcpy((char *)target + row->has_offset, &(bool){value != NULL}, sizeof(bool));
    if (is_text(row))
        return read_text(row, source, value, target);
    if (row->type == SMA_PARAM_TYPE_FLAG)
        read_flag(row, source, value, target);
    if (value == NULL)
        return SMA_ERR_OK;
    if (row->type == SMA_PARAM_TYPE_WORD)
        put_integer(row, target, config_word_index(row->words, json_string_value(value)));
    else if (row->type == SMA_PARAM_TYPE_WORDS)
        read_words(row, value, target);
    else if (row->type == SMA_PARAM_TYPE_IDS)
        read_ids(row, value, target);
    else if (row->type == SMA_PARAM_TYPE_INTEGER || row->type == SMA_PARAM_TYPE_NUMBER)
        read_number(row, value, target);
    return SMA_ERR_OK;
}

/* -- tables ------------------------------------------------------------------------------------ */
enum sma_err sma_params_set_defaults(const struct sma_params *table,
                                     const struct sma_param_source *source, void *target)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].size > 0)
            SMA_TRY(put_default(&table->rows[i], source, target));
    return SMA_ERR_OK;
}

/* Checked; with target == NULL that is all: somebody else reads it. */
static enum sma_err read_checked(const struct sma_param *row, const struct sma_param_source *source,
                                 void *target)
{
    const json_t *value = find(source->root, row->path);
    char shown[PATH_BYTES_MAX];
    (void)snprintf(shown, sizeof shown, "%s%s%s", source->place,
                   source->place[0] == '\0' ? "" : ".", row->path);
    if (value != NULL)
        SMA_TRY(sma_param_check(row, source->file, shown, value, source->error));
    return target == NULL || row->size == 0 ? SMA_ERR_OK : read_row(row, source, value, target);
}

enum sma_err sma_params_read(const struct sma_params *table, const struct sma_param_source *source,
                             void *target)
{
    for (size_t i = 0; i < table->count; i++)
        SMA_TRY(read_checked(&table->rows[i], source, target));
    for (const struct sma_params *at = table->shared; at != NULL; at = at->shared)
        for (size_t i = 0; i < at->count; i++)
            SMA_TRY(read_checked(&at->rows[i], source, NULL));
    return SMA_ERR_OK;
}

enum sma_err sma_params_read_block(const struct sma_params *table, const char *json,
                                   const char *project_dir, void *target, struct sma_error *error)
{
    char place[64];
    struct sma_param_source source = {
        .file = "ship.json", .place = place, .project_dir = project_dir, .error = error};
    if (json == NULL || json[0] == '\0')
        return SMA_ERR_NOTFOUND;
    source.root = json_loads(json, 0, NULL);
    const char *id = json_string_value(json_object_get(source.root, "id"));
    source.is_further_bot = id != NULL;
    (void)snprintf(place, sizeof place, "adapters.%s%s%.*s", table->name, id == NULL ? "" : "@",
                   SMA_BOT_ID_BYTES_MAX, id == NULL ? "" : id);
    enum sma_err err = SMA_ERR_OK;
    if (!json_is_object(source.root))
        err = sma_fail(error, SMA_ERR_BADINPUT, "ship.json: adapters.%s must be an object",
                       table->name);
    if (err == SMA_ERR_OK)
        err = sma_params_set_defaults(table, &source, target);
    if (err == SMA_ERR_OK)
        err = sma_params_read(table, &source, target);
    json_decref(source.root);
    return err;
}

void sma_params_free(const struct sma_params *table, void *target)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct sma_param *row = &table->rows[i];
        if (row->size > 0 && is_text(row))
            wipe_text(row, target);
        if (row->size > 0 && row->type == SMA_PARAM_TYPE_IDS)
            read_ids(row, NULL, target);
    }
}

enum sma_err sma_params_refuse(const struct sma_params *table, const char *path, const char *remedy,
                               struct sma_error *error)
{
    return sma_fail(error, SMA_ERR_BADINPUT, "ship.json: adapters.%s.%s %s", table->name, path,
                    remedy);
}

enum sma_err sma_params_refuse_ca_file(const char *name, struct sma_error *error)
{
    char remedy[sizeof error->text + 64];
    (void)snprintf(remedy, sizeof remedy, "cannot be used: %s; leave it out to trust the system's",
                   error->text);
    return sma_params_refuse(&(struct sma_params){.name = name}, "caFile", remedy, error);
}
