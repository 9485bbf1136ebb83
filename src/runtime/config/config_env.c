/*
 * config_env.c — variables: .env, and what the first load put into the environment.
 */
#include "config_load.h"

#include "sma/sys.h"
#include "sma/text.h"

#include <stdlib.h>

static struct env_variable *find_in(const struct env_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->items[i].name, name) == 0)
            return &table->items[i];
    return NULL;
}

static bool reserve_one(struct env_table *table)
{
    if (table->count < table->capacity)
        return true;
    size_t capacity = table->capacity == 0 ? 16 : table->capacity * 2;
    struct env_variable *items = realloc(table->items, capacity * sizeof *items);
    if (items == NULL)
        return false;
    table->items = items;
    table->capacity = capacity;
    return true;
}

/* dotenv: the last duplicate wins. */
static void set_variable(void *user, const char *name, const char *value)
{
    struct env_table *table = user;
    struct env_variable *variable = find_in(table, name);
    char *copy = strdup(value);
    if (variable != NULL && copy != NULL) {
        free(variable->value);
        variable->value = copy;
        return;
    }
    char *name_copy = copy != NULL && reserve_one(table) ? strdup(name) : NULL;
    if (name_copy == NULL) {
        free(copy);
        table->is_out_of_memory = true;
        return;
    }
    table->items[table->count++] = (struct env_variable){name_copy, copy};
}

void config_env_fini(struct env_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->items[i].name);
        free(table->items[i].value);
    }
    free(table->items);
}

/* What the first load put into the environment for the libraries that read it (proxies, say). Later
 * loads, which run beside other threads, must not touch the environment; they only have to know
 * which values of it are not the user's. */
static struct env_table exported;
static bool has_exported;

static void export_once(struct env_table *table)
{
    if (has_exported)
        return;
    has_exported = true;
    for (size_t i = 0; i < table->count; i++) {
        const struct env_variable *variable = &table->items[i];
        if (getenv(variable->name) != NULL)
            continue;
        if (setenv(variable->name, variable->value, 0) != 0)
            table->is_out_of_memory = true;
        set_variable(&exported, variable->name, variable->value);
    }
    table->is_out_of_memory = table->is_out_of_memory || exported.is_out_of_memory;
}

/* dotenv: a variable of the real environment wins over the file. */
const char *config_find_variable(void *user, const char *name)
{
    const struct loading *loading = user;
    const char *value = getenv(name);
    const struct env_variable *ours = value == NULL ? NULL : find_in(&exported, name);
    if (value != NULL && (ours == NULL || strcmp(ours->value, value) != 0))
        return value;
    const struct env_variable *variable = find_in(&loading->env, name);
    return variable == NULL ? NULL : variable->value;
}

/* The names of this .env and of the one that was exported, so that no child process gets what a
 * .env brought. */
static void keep_env_names(struct loading *loading)
{
    size_t count = loading->env.count + exported.count;
    const char **names = config_keep_room(loading, (count + 1) * sizeof *names);
    if (names == NULL)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < loading->env.count; i++)
        names[kept++] = config_keep_text(loading, loading->env.items[i].name);
    for (size_t i = 0; i < exported.count; i++)
        if (find_in(&loading->env, exported.items[i].name) == NULL)
            names[kept++] = config_keep_text(loading, exported.items[i].name);
    loading->config->dotenv_names = names;
    loading->config->dotenv_count = kept;
}

enum sma_err config_load_env(struct loading *loading)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    enum sma_err err = config_read_project_file(loading, ".env", &bytes, &len);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    if (err == SMA_ERR_OK)
        err = sma_env_parse((struct sma_str){bytes, len}, set_variable, &loading->env);
    export_once(&loading->env);
    keep_env_names(loading);
    return loading->env.is_out_of_memory ? SMA_ERR_NOMEM
           : err == SMA_ERR_NOTFOUND     ? SMA_ERR_OK
                                         : err;
}
