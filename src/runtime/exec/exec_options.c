/*
 * exec_options.c — permissions.exec_shell, the members that say how a command runs.
 */
#include "exec_options.h"

#include "sandbox.h"

#include "sma/limits.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINK_DEPTH_MAX 16 /* links that lead to links; beyond it a path is refused */

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

/* "~/x" is of HOME, as in a shell. Without "." and doubled slashes: else words would not compare.
 * NULL: it is no path of a file or folder that could be meant. */
static char *whole_path(const char *text)
{
    const char *home = getenv("HOME"), *rest = text;
    char *path = NULL;
    bool is_of_home = rest != NULL && rest[0] == '~' && (rest[1] == '/' || rest[1] == '\0');
    if (rest == NULL || (is_of_home && (home == NULL || home[0] != '/')))
        return NULL;
    if (is_of_home)
        rest++;
    size_t len = strlen(rest);
    if ((!is_of_home && rest[0] != '/') || strstr(rest, "/../") != NULL ||
        (len >= 3 && strcmp(rest + len - 3, "/..") == 0) ||
        asprintf(&path, "%s%s", is_of_home ? home : "", rest) < 0)
        return NULL;
    char *to = path;
    for (const char *at = path; *at != '\0';) {
        size_t word = strcspn(at + 1, "/");
        if (word > 0 && !(word == 1 && at[1] == '.')) {
            memmove(to, at, word + 1);
            to += word + 1;
        }
        at += word + 1;
    }
    *to = '\0';
    return path; /* "": the root */
}

/* Does any link on the way lie in the project? A command could put another in its place. */
static bool leads_through(const char *path, const char *project, int depth)
{
    char part[PATH_MAX], real[PATH_MAX], target[PATH_MAX], next[2 * PATH_MAX];
    size_t end = 0;
    if (depth == LINK_DEPTH_MAX || strlen(path) >= sizeof part)
        return true;
    do {
        end += 1 + strcspn(path + end + 1, "/");
        (void)snprintf(part, sizeof part, "%.*s", (int)end, path);
        if (realpath(part, real) == NULL)
            return false;
        ssize_t len = readlink(part, target, sizeof target - 1);
        if (len > 0) {
            target[len] = '\0';
            int above = (int)(strrchr(part, '/') - part);
            (void)snprintf(next, sizeof next, "%.*s/%s", above, part, target);
            if (leads_through(target[0] == '/' ? target : next, project, depth + 1))
                return true;
        }
        if (sma_sandbox_is_inside(real, project))
            return true;
    } while (path[end] != '\0');
    return false;
}

bool sma_exec_path_is_exchangeable(const char *path, const char *project_dir)
{
    char project[PATH_MAX];
    SMA_AUTO(sma_freep) char *whole = whole_path(path);
    return whole == NULL || realpath(project_dir, project) == NULL ||
           leads_through(whole, project, 0);
}

/* What `path` (by its words, or where it leads) may not be: NULL, or why. */
static const char *why_not(const char *path, const char *project)
{
    static const char *const whole[] = {"/tmp", "/var/tmp", "/run", "/sys"};
    const char *home = getenv("HOME");
    char real_home[PATH_MAX];
    if (path[0] == '\0' || strcmp(path, "/") == 0)
        return "the whole machine";
    for (size_t i = 0; i < SMA_COUNT_OF(whole); i++)
        if (strcmp(path, whole[i]) == 0)
            return "a folder that commands have for themselves or not at all";
    if (sma_sandbox_is_inside(path, "/proc") || sma_sandbox_is_inside(path, "/dev"))
        return "processes and devices";
    if (home != NULL && home[0] == '/' && home[1] != '\0' &&
        (sma_sandbox_is_inside(home, path) ||
         (realpath(home, real_home) != NULL && sma_sandbox_is_inside(real_home, path))))
        return "HOME, where the keys of everything lie";
    if (project[0] != '\0' && sma_sandbox_is_inside(path, project))
        return "in the project, which commands see anyway";
    if (project[0] != '\0' && sma_sandbox_is_inside(project, path))
        return "a folder that holds the project";
    return NULL;
}

static enum sma_err add_path(const char *text, const char *project_dir, size_t index,
                             struct sma_exec_options *options, struct sma_error *error)
{
    char project[PATH_MAX] = "", real[PATH_MAX];
    char *path = whole_path(text);
    if (path == NULL)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "ship.json: permissions.exec_shell.paths[%zu] must be a file or folder "
                        "by its whole path, like \"/opt/node\" or \"~/.cargo\"",
                        index);
    if (project_dir != NULL && realpath(project_dir, project) == NULL)
        (void)snprintf(project, sizeof project, "%s", project_dir);
    bool is_there = path[0] != '\0' && realpath(path, real) != NULL;
    const char *why = why_not(path, project);
    if (why == NULL && project_dir != NULL)
        why = why_not(path, project_dir);
    if (why == NULL && is_there)
        why = why_not(real, project);
    if (why == NULL && project[0] != '\0' && leads_through(path, project, 0))
        why = "behind a link in the project, which a command could exchange";
    if (why != NULL) {
        enum sma_err err = sma_fail(
            error, SMA_ERR_BADINPUT,
            "ship.json: permissions.exec_shell.paths[%zu] is %.200s, and that is %s: name the "
            "folder or file itself that commands need, like \"/opt/node\" or \"~/.cargo\"",
            index, text, why);
        free(path);
        return err;
    }
    options->paths[options->path_count] = path;
    options->real_paths[options->path_count++] = is_there ? strdup(real) : NULL;
    return SMA_ERR_OK;
}

static enum sma_err read_paths(const json_t *list, const char *project_dir,
                               struct sma_exec_options *options, struct sma_error *error)
{
    if (list == NULL)
        return SMA_ERR_OK;
    if (!json_is_array(list) || json_array_size(list) > SMA_EXEC_PATH_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "ship.json: permissions.exec_shell.paths is a list of at most %d files and "
                        "folders",
                        SMA_EXEC_PATH_COUNT_MAX);
    size_t index;
    const json_t *item;
    json_array_foreach(list, index, item)
        SMA_TRY(add_path(json_string_value(item), project_dir, index, options, error));
    return SMA_ERR_OK;
}

static enum sma_err read_members(const json_t *block, const char *project_dir,
                                 struct sma_exec_options *options, struct sma_error *error)
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
    SMA_TRY(read_mode(json_object_get(block, "sandbox"), options, error));
    SMA_TRY(read_paths(json_object_get(block, "paths"), project_dir, options, error));
    return read_names(json_object_get(block, "env"), options, error);
}

enum sma_err sma_exec_options_parse(const char *permissions_json, const char *project_dir,
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
    enum sma_err err =
        json_is_object(block) ? read_members(block, project_dir, &options, error) : SMA_ERR_OK;
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
    for (size_t i = 0; i < options->path_count; i++) {
        free(options->paths[i]);
        free(options->real_paths[i]);
    }
    options->env_count = options->path_count = 0;
}
