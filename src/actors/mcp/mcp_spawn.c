/* mcp_spawn.c — a server's process: sandbox, environment, descriptors. */
#include "mcp_priv.h"

#include "runtime/exec/exec_env.h"
#include "runtime/exec/exec_processes.h"
#include "runtime/exec/exec_spawn.h"
#include "runtime/exec/program.h"

#include <stdio.h>
#include <stdlib.h>

#define WORD_COUNT_MAX 1024

/* Looked for when the first server starts: the trial costs time, and start() waits for nobody. */
static enum sma_err find_sandbox(struct sma_mcp *mcp, struct sma_error *error)
{
    if (mcp->has_sandbox)
        return SMA_ERR_OK;
    struct sma_exec_options options = mcp->options;
    options.is_possible = true; /* exec_shell may be switched off: servers are not it */
    options.memory_mb = SMA_MCP_MEMORY_MB;
    if (!options.says_mode && mcp->config->sandbox != NULL &&
        strcmp(mcp->config->sandbox, "require") == 0)
        options.mode = SMA_SANDBOX_REQUIRE;
    SMA_TRY(sma_sandbox_find(mcp->config, &options, &mcp->sandbox, error));
    mcp->sandbox.secrets = mcp->secrets;
    mcp->has_sandbox = true;
    return SMA_ERR_OK;
}

static void put_marker(const struct mcp_server *server, char marker[128])
{
    /* ":" is in no name: or "a" would end what belongs to "ab" */
    (void)snprintf(marker, 128, "%.*s" SMA_PROCESS_SERVER_MARK "%s:",
                   (int)strlen(server->mcp->marker_prefix) - 1, server->mcp->marker_prefix,
                   server->name);
}

static bool is_given(const struct sma_mcp_words *env, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], entry, len + 1) == 0)
            return true;
    return false;
}

/* What commands get, and what mcp.json gives. @return an array to be freed; *ret_base as well */
static const char **make_variables(struct mcp_server *server, char ***ret_base)
{
    char marker[128];
    struct sma_mcp *mcp = server->mcp;
    const struct sma_mcp_words *env = &server->config->env;
    put_marker(server, marker);
    char **base = sma_exec_env_create(mcp->config, &mcp->options, mcp->secrets, marker);
    size_t base_count = 0, count = 0;
    while (base != NULL && base[base_count] != NULL)
        base_count++;
    const char **all = base == NULL ? NULL : calloc(base_count + env->count + 1, sizeof *all);
    for (size_t i = 0; all != NULL && i < env->count; i++)
        all[count++] = env->items[i];
    for (size_t i = 0; all != NULL && i < base_count; i++)
        if (!is_given(env, base[i]))
            all[count++] = base[i];
    if (all == NULL)
        free(base);
    else
        *ret_base = base;
    return all;
}

static enum sma_err make_plan(struct mcp_server *server, struct sma_sandbox_plan *ret_plan,
                              struct sma_error *error)
{
    struct sma_mcp *mcp = server->mcp;
    const struct sma_mcp_config_server *config = server->config;
    SMA_TRY(find_sandbox(mcp, error));
    struct sma_exec_options options = mcp->options;
    struct sma_sandbox sandbox = mcp->sandbox;
    options.has_network = config->has_network;
    options.memory_mb = SMA_MCP_MEMORY_MB;
    sandbox.is_on = sandbox.is_on && config->is_sandboxed;
    if (!sandbox.is_on)
        mcp_log(
            server, SMA_LOG_WARN,
            "runs without a sandbox (%s): it can read what this user can, and reach the network",
            config->is_sandboxed ? mcp->sandbox.why : "sandbox.enabled is false in mcp.json");
    if (sandbox.is_on)
        SMA_TRY(sma_sandbox_refuse_links(mcp->config, error));
    if (config->args.count + 2 > WORD_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "it has more than %d arguments", WORD_COUNT_MAX - 2);
    const char *words[WORD_COUNT_MAX] = {config->command};
    for (size_t i = 0; i < config->args.count; i++)
        words[i + 1] = config->args.items[i];
    return sma_sandbox_plan_create_program(mcp->config, &options, &sandbox, words, ret_plan, error);
}

/* Within a sandbox the program would only end at once, without a word of why. */
static enum sma_err find_program(const struct mcp_server *server, const char *const *variables,
                                 struct sma_error *error)
{
    const char *command = server->config->command, *path = NULL;
    for (size_t i = 0; variables[i] != NULL && path == NULL; i++)
        if (strncmp(variables[i], "PATH=", 5) == 0)
            path = variables[i] + 5;
    if (sma_program_is_there(command, path, server->mcp->config->project_dir))
        return SMA_ERR_OK;
    const char *source = sma_program_source(command);
    return sma_fail(error, SMA_ERR_NOTFOUND, "there is no program %.200s here: %s", command,
                    source != NULL ? source : "install it, or correct its \"command\"");
}

enum sma_err mcp_spawn(struct mcp_server *server, const int ends[4],
                       struct sma_sandbox_plan *ret_plan, pid_t *ret_pid, struct sma_error *error)
{
    struct sma_sandbox_plan plan;
    char **base = NULL;
    SMA_TRY(make_plan(server, &plan, error));
    if (!plan.is_boxed) /* of a program that was killed: two would do everything twice */
        (void)mcp_spawn_end_marked(server, NULL, 0);
    const char **variables = make_variables(server, &base);
    enum sma_err err = variables == NULL ? SMA_ERR_OK : find_program(server, variables, error);
    int status = ENOMEM;
    if (variables != NULL && err == SMA_ERR_OK) {
        struct sma_spawn spawn = {.arguments = plan.arguments,
                                  .variables = (char *const *)(uintptr_t)variables,
                                  .dir = server->mcp->config->project_dir,
                                  .fds = {ends[0], ends[1], ends[2], ends[3], ends[3]},
                                  .fd_count = SMA_SANDBOX_STATE_FD + 1,
                                  .has_group = true};
        for (size_t i = 0; i < plan.data_count; i++)
            spawn.fds[spawn.fd_count++] = plan.data_fds[i];
        status = sma_spawn(&spawn, ret_pid);
    }
    free(variables);
    free(base);
    server->mcp->placeholders |= plan.placeholders;
    if (status != 0) {
        sma_sandbox_plan_fini(&plan);
        return err != SMA_ERR_OK ? err : sma_fail_os(error, status, "it cannot be started");
    }
    *ret_plan = plan;
    return SMA_ERR_OK;
}

size_t mcp_spawn_end_marked(struct mcp_server *server, pid_t *pids, size_t pid_count_max)
{
    char marker[128];
    put_marker(server, marker);
    size_t count = sma_processes_end_marked_to(marker, pids, pid_count_max);
    sma_processes_reap_strays(); /* of another session, dead before: they carry no mark any more */
    if (count > 0)
        mcp_log(server, SMA_LOG_INFO, "ended %zu process%s that it had left behind", count,
                count == 1 ? "" : "es");
    return count < pid_count_max ? count : pid_count_max;
}
