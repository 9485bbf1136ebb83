/*
 * exec_options.c — permissions.exec_shell, the members that say how a command runs.
 */
#include "exec_options.h"

#include "sma/limits.h"

#include <jansson.h>
#include <stdlib.h>

static enum sma_err read_mode(const json_t *value, struct sma_exec_options *options,
                              struct sma_error *error)
{
    static const char *const words[] = {"auto", "require", "off"};
    const char *text = value == NULL ? "auto" : json_string_value(value);
    for (size_t i = 0; text != NULL && i < SMA_COUNT_OF(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            options->says_mode = value != NULL;
            options->mode = (enum sma_sandbox_mode)i;
            return SMA_ERR_OK;
        }
    }
    return sma_fail(
        error, SMA_ERR_BADINPUT,
        "ship.json: permissions.exec_shell.sandbox is \"auto\", \"require\" or \"off\"");
}

static enum sma_err read_names(const json_t *list, struct sma_exec_options *options,
                               struct sma_error *error)
{
    if (list == NULL)
        return SMA_ERR_OK;
    if (!json_is_array(list) || json_array_size(list) > SMA_EXEC_ENV_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "ship.json: permissions.exec_shell.env is a list of at most %d names of "
                        "variables",
                        SMA_EXEC_ENV_COUNT_MAX);
    size_t index;
    const json_t *name;
    json_array_foreach(list, index, name)
    {
        const char *text = json_string_value(name);
        if (text == NULL || text[0] == '\0' || strchr(text, '=') != NULL)
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "ship.json: permissions.exec_shell.env[%zu] must be the name of a "
                            "variable, like \"CI\"",
                            index);
        options->env_names[options->env_count] = strdup(text);
        if (options->env_names[options->env_count] == NULL)
            return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
        options->env_count++;
    }
    return SMA_ERR_OK;
}

static enum sma_err read_members(const json_t *block, struct sma_exec_options *options,
                                 struct sma_error *error)
{
    const json_t *network = json_object_get(block, "network");
    const json_t *memory = json_object_get(block, "memoryMb");
    if (network != NULL && !json_is_boolean(network))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "ship.json: permissions.exec_shell.network is true or false");
    if (memory != NULL &&
        (!json_is_integer(memory) || json_integer_value(memory) < SMA_EXEC_MEMORY_MB_MIN ||
         json_integer_value(memory) > SMA_EXEC_MEMORY_MB_MAX))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "ship.json: permissions.exec_shell.memoryMb is a whole number from %d to "
                        "%d",
                        SMA_EXEC_MEMORY_MB_MIN, SMA_EXEC_MEMORY_MB_MAX);
    options->has_network = json_is_true(network);
    if (memory != NULL)
        options->memory_mb = json_integer_value(memory);
    enum sma_err err = read_mode(json_object_get(block, "sandbox"), options, error);
    return err == SMA_ERR_OK ? read_names(json_object_get(block, "env"), options, error) : err;
}

enum sma_err sma_exec_options_parse(const char *permissions_json,
                                    struct sma_exec_options *ret_options, struct sma_error *error)
{
    struct sma_exec_options options = {.is_possible = true, .memory_mb = SMA_EXEC_MEMORY_MB};
    if (permissions_json == NULL || permissions_json[0] == '\0') {
        *ret_options = options;
        return SMA_ERR_OK;
    }
    json_t *root = json_loads(permissions_json, JSON_REJECT_DUPLICATES, NULL);
    if (root == NULL)
        return sma_fail(error, SMA_ERR_BADINPUT, "ship.json: permissions cannot be read");
    const json_t *block = json_object_get(root, "exec_shell");
    options.is_possible = !json_is_false(block);
    enum sma_err err = json_is_object(block) ? read_members(block, &options, error) : SMA_ERR_OK;
    json_decref(root);
    if (err != SMA_ERR_OK) {
        sma_exec_options_fini(&options);
        return err;
    }
    *ret_options = options;
    return SMA_ERR_OK;
}

void sma_exec_options_fini(struct sma_exec_options *options)
{
    for (size_t i = 0; i < options->env_count; i++)
        free(options->env_names[i]);
    options->env_count = 0;
}
