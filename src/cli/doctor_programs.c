/*
 * doctor_programs.c — programs that the owner names: in rules that forbid commands, where a
 * misspelt one forbids nothing, and as MCP servers, which cannot be started without theirs.
 */
#include "doctor_priv.h"

#include "runtime/exec/program.h"
#include "runtime/mcp/mcp_config.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define WORD_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-"

/* -- rules ------------------------------------------------------------------------------------- */
/* A rule for a program that is not here is a good one: only what reads as a slip is told. */
static void look_at_rule(struct doctor *doctor, const char *rule)
{
    char word[64], near[256];
    const char *path = getenv("PATH");
    size_t len = strcspn(rule, " \t");
    if (len == 0 || len >= sizeof word || strspn(rule, WORD_CHARS) < len)
        return;
    snprintf(word, sizeof word, "%.*s", (int)len, rule);
    if (sma_program_is_there(word, path, doctor->config->project_dir) ||
        !sma_program_near(word, path, near, sizeof near))
        return;
    doctor_say(&doctor->report, SMA_PROBE_WARNING, "rules",
               "correct permissions.exec_shell.deny in ship.json: a rule for another word forbids "
               "nothing",
               "the deny rule \"%.100s\" names no program that is here; did you mean %s?", rule,
               near);
}

static void look_at_rules(struct doctor *doctor)
{
    const char *text = doctor->config->permissions_json;
    json_t *root = text == NULL ? NULL : json_loads(text, 0, NULL), *rule;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(root, "exec_shell"), "deny"), i, rule)
    {
        if (json_is_string(rule))
            look_at_rule(doctor, json_string_value(rule));
    }
    json_decref(root);
}

/* -- MCP servers ------------------------------------------------------------------------------- */
static const char *find_variable(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

static const char *path_of(const struct sma_mcp_config_server *server)
{
    for (size_t i = 0; i < server->env.count; i++)
        if (strncmp(server->env.items[i], "PATH=", 5) == 0)
            return server->env.items[i] + 5;
    return getenv("PATH");
}

static void look_at_server(struct doctor *doctor, const struct sma_mcp_config_server *server)
{
    if (server->transport != SMA_MCP_STDIO || server->trouble != NULL ||
        sma_program_is_there(server->command, path_of(server), doctor->config->project_dir))
        return;
    const char *source = sma_program_source(server->command);
    doctor_say(
        &doctor->report, SMA_PROBE_ERROR, "MCP",
        source != NULL ? source
                       : "install it, or correct \"command\" of the server in " SMA_MCP_CONFIG_FILE,
        "%s cannot be started: there is no program %.200s here", server->name, server->command);
}

static void look_at_servers(struct doctor *doctor)
{
    const struct sma_mcp_config_options options = {.project_dir = doctor->config->project_dir,
                                                   .find = find_variable};
    struct sma_mcp_config *servers = NULL;
    struct sma_error error;
    if (sma_mcp_config_load(&options, &servers, &error) != SMA_ERR_OK) {
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "MCP", "", "%s", error.text);
        return;
    }
    for (size_t i = 0; i < servers->server_count; i++)
        look_at_server(doctor, &servers->servers[i]);
    sma_mcp_config_destroy(servers);
}

void doctor_look_at_programs(struct doctor *doctor)
{
    if (doctor->config == NULL)
        return;
    look_at_rules(doctor);
    look_at_servers(doctor);
}
