/*
 * doctor_programs.c — programs that the owner names: in rules that forbid commands, where a
 * misspelt one forbids nothing, and as MCP servers, which cannot be started without theirs.
 */
#include "doctor_priv.h"

#include "runtime/decisive/accepted.h"
#include "runtime/decisive/decisive.h"
#include "runtime/exec/program.h"
#include "runtime/exec/sandbox.h"
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
    char word[64], near[256], file[PATH_MAX];
    const char *path = getenv("PATH");
    size_t len = strcspn(rule, " \t");
    if (len == 0 || len >= sizeof word || strspn(rule, WORD_CHARS) < len)
        return;
    snprintf(word, sizeof word, "%.*s", (int)len, rule);
    if (sma_program_find(word, path, doctor->config->project_dir, file) ||
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

/* Between the walls that the service makes for it. options: of it alone */
static void look_at_server(struct doctor *doctor, const struct sma_mcp_config_server *server,
                           struct sma_exec_options *options)
{
    char file[PATH_MAX], folder[PATH_MAX];
    if (server->transport != SMA_MCP_STDIO || server->trouble != NULL)
        return;
    const char *source = sma_program_source(server->command);
    sma_sandbox_show_named(doctor->config, options, server->command, server->args.items,
                           server->args.count, NULL, NULL);
    if (!sma_program_find(server->command, path_of(server), doctor->config->project_dir, file))
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "MCP",
                   source != NULL
                       ? source
                       : "install it, or correct \"command\" of the server in " SMA_MCP_CONFIG_FILE,
                   "%s cannot be started: there is no program %.200s here", server->name,
                   server->command);
    else if (server->is_sandboxed && sma_sandbox_hides(doctor->config, options, file, folder))
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "MCP",
                   "name that folder in permissions.exec_shell.paths of ship.json",
                   "%s: its program %.200s lies in %.300s, which is not there in the sandbox",
                   server->name, server->command, folder);
}

/* The walls cannot keep from commands what such a server may load. */
static void look_at_walls(struct doctor *doctor, const struct sma_mcp_config_server *server)
{
    const char *remedy = "", *warning = sma_decisive_warning(doctor->config, server, &remedy);
    if (server->trouble == NULL && warning != NULL)
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "MCP", remedy, "%s %s", server->name,
                   warning);
}

/* The service does not start it then. */
static void look_at_program(struct doctor *doctor, const struct sma_mcp_config_server *server)
{
    struct sma_program_look *look = NULL;
    enum sma_program_state state = SMA_PROGRAM_FOREIGN;
    struct sma_error error = {.code = SMA_ERR_OK};
    struct sma_buf changes, line;
    sma_buf_init(&changes, 1024 * 1024);
    sma_buf_init(&line, 8192);
    enum sma_err err = server->trouble != NULL
                           ? SMA_ERR_NOTFOUND
                           : sma_program_look(doctor->config->project_dir, server, &state, &changes,
                                              &look, &error);
    if (err == SMA_ERR_BADINPUT)
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "MCP", "", "%s: %s", server->name, error.text);
    if (err == SMA_ERR_OK && state == SMA_PROGRAM_CHANGED) {
        sma_program_put_changes(&line, sma_buf_str(&changes));
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "MCP",
                   "look at it, then run `shipmyagent mcp accept`",
                   "%s is not started: %.300s since it was accepted", server->name,
                   line.ptr == NULL ? "its program is another" : line.ptr);
    }
    sma_program_look_destroy(look);
    sma_buf_fini(&changes);
    sma_buf_fini(&line);
}

static void look_at_servers(struct doctor *doctor)
{
    const struct sma_mcp_config_options place = {.project_dir = doctor->config->project_dir,
                                                 .find = find_variable};
    struct sma_mcp_config *servers = NULL;
    struct sma_error error;
    if (sma_mcp_config_load(&place, &servers, &error) != SMA_ERR_OK) {
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "MCP", "", "%s", error.text);
        return;
    }
    for (size_t i = 0; i < servers->server_count; i++) {
        struct sma_exec_options options;
        /* what cannot be read is told by the line about the sandbox */
        if (sma_exec_options_parse(doctor->config->permissions_json, doctor->config->project_dir,
                                   &options, &error) != SMA_ERR_OK)
            break;
        look_at_server(doctor, &servers->servers[i], &options);
        sma_exec_options_fini(&options);
        look_at_walls(doctor, &servers->servers[i]);
        look_at_program(doctor, &servers->servers[i]);
    }
    sma_mcp_config_destroy(servers);
}

void doctor_look_at_programs(struct doctor *doctor)
{
    if (doctor->config == NULL)
        return;
    look_at_rules(doctor);
    look_at_servers(doctor);
}
