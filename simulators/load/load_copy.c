/*
 * load_copy.c — the configuration that is measured: the user's, without what names a person, holds
 * a secret or reaches anybody.
 *
 * What is copied is a list, not what is left out: a key that is not known here stays where it is.
 */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const TOP[] = {"language",  "durability", "agent",      "queue",
                                  "retention", "approvals",  "permissions"};
static const char *const LLM[] = {"stream",   "maxTokens",   "contextTokens",
                                  "timeouts", "logMessages", "patienceS"};
static const char *const ADAPTER[] = {"streaming", "progress", "groupAccess", "followupWindowMs",
                                      "markdown",  "keyboard", "pollTimeoutS"};

static bool fail(const char *path)
{
    load_complain("%s: %s", path, strerror(errno));
    return false;
}

/* A value with a placeholder would need the user's .env: it is left out. */
static json_t *without_secrets(const json_t *value)
{
    const char *text = json_string_value(value);
    if (text != NULL)
        return strstr(text, "${") == NULL ? json_string(text) : NULL;
    if (!json_is_object(value) && !json_is_array(value))
        return json_deep_copy(value);
    json_t *made = json_is_object(value) ? json_object() : json_array(), *member;
    const char *name;
    size_t i;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, name, member)
        {
            json_t *kept = without_secrets(member);
            if (kept != NULL)
                json_object_set_new(made, name, kept);
        }
        return made;
    }
    json_array_foreach(value, i, member)
    {
        json_t *kept = without_secrets(member);
        if (kept != NULL)
            json_array_append_new(made, kept);
    }
    return made;
}

static void take(json_t *to, const json_t *from, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(from, names[i]);
        json_t *kept = value == NULL ? NULL : without_secrets(value);
        if (kept != NULL)
            json_object_set_new(to, names[i], kept);
    }
}

/* The wire is the user's; who answers is the simulator. */
static json_t *make_llm(const json_t *from, int port)
{
    char url[64];
    const char *provider = json_string_value(json_object_get(from, "provider")),
               *api = json_string_value(json_object_get(from, "api"));
    if (api == NULL)
        api = provider == NULL || strcmp(provider, "anthropic") == 0 ? "messages" : "chat";
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", port);
    json_t *llm = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "provider", "custom", "model", "m", "api",
                            api, "apiKey", "k", "baseUrl", url, "proxy", "none");
    take(llm, from, LLM, SMA_COUNT_OF(LLM));
    return llm;
}

/* One message, one answer: what is said while a run is open has a run of its own. */
static void make_serial(json_t *config)
{
    json_t *queue = json_object_get(config, "queue");
    if (!json_is_object(queue)) {
        queue = json_object();
        json_object_set_new(config, "queue", queue);
    }
    json_object_set_new(queue, "mode", json_string("serial"));
}

static json_t *make_config(const struct load_place *place, const struct load_plan *plan,
                           const json_t *users, json_t *adapter)
{
    json_t *adapters = json_object_get(users, "adapters");
    if (adapters == NULL)
        adapters = json_object_get(users, "integrations");
    json_t *config =
        json_pack("{s:s,s:s,s:s}", "name", "bench", "access", "anyone", "proxy", "none");
    take(config, users, TOP, SMA_COUNT_OF(TOP));
    json_t *permissions = json_object_get(config, "permissions");
    if (json_is_object(permissions))
        json_object_del(permissions, "roles");
    make_serial(config);
    json_object_set_new(config, "llm", make_llm(json_object_get(users, "llm"), place->model.port));
    json_object_set_new(config, "api", json_pack("{s:s}", "token", place->token));
    json_t *blocks = json_pack("{s:{s:b},s:{s:b}}", "terminal", "enabled", 0, "http", "enabled", 1);
    if (adapter != NULL) {
        json_t *block = json_object(), *own = json_object_get(adapters, plan->platform);
        if (json_is_array(own)) /* several bots: the first */
            own = json_array_get(own, 0);
        take(block, own, ADAPTER, SMA_COUNT_OF(ADAPTER));
        json_object_update(block, adapter);
        json_object_set_new(blocks, plan->platform, block);
    }
    json_object_set_new(config, "adapters", blocks);
    return config;
}

static bool copy_file(const char *from, const char *to, const char *otherwise)
{
    char bytes[65536];
    FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    if (out == NULL || (in == NULL && errno != ENOENT)) {
        fail(out == NULL ? to : from);
        if (in != NULL)
            fclose(in);
        if (out != NULL)
            fclose(out);
        return false;
    }
    if (in == NULL)
        fputs(otherwise, out);
    for (size_t len; in != NULL && (len = fread(bytes, 1, sizeof bytes, in)) > 0;)
        fwrite(bytes, 1, len, out);
    if (in != NULL)
        fclose(in);
    return fclose(out) == 0 || fail(to);
}

/* No ship.json: the defaults. @return NULL: said on stderr why */
static json_t *read_config(const char *path)
{
    json_error_t error;
    if (access(path, F_OK) != 0)
        return json_object();
    json_t *tree = json_load_file(path, 0, &error);
    if (tree != NULL && json_is_object(tree))
        return tree;
    json_decref(tree);
    load_complain("%s, line %d: %s", path, tree == NULL ? error.line : 1,
                  tree == NULL ? error.text : "is no object");
    return NULL;
}

static bool is_project(const char *folder)
{
    char agent[PATH_MAX + 16], config[PATH_MAX + 16];
    snprintf(agent, sizeof agent, "%s/Agent.md", folder);
    snprintf(config, sizeof config, "%s/ship.json", folder);
    return access(agent, F_OK) == 0 || access(config, F_OK) == 0;
}

bool load_copy(const struct load_place *place, const struct load_plan *plan, json_t *adapter)
{
    char from[PATH_MAX + 16], to[PATH_MAX + 16];
    if (!is_project(plan->folder))
        return load_complain("%s is no project: there is neither Agent.md nor ship.json",
                             plan->folder);
    snprintf(from, sizeof from, "%s/Agent.md", plan->folder);
    snprintf(to, sizeof to, "%s/Agent.md", place->folder);
    if (!copy_file(from, to, "You are helpful.\n"))
        return false;
    snprintf(from, sizeof from, "%s/ship.json", plan->folder);
    snprintf(to, sizeof to, "%s/ship.json", place->folder);
    json_t *users = read_config(from);
    if (users == NULL)
        return false;
    json_t *config = make_config(place, plan, users, adapter);
    bool is_done = json_dump_file(config, to, JSON_INDENT(2)) == 0;
    json_decref(config);
    json_decref(users);
    return is_done || fail(to);
}
