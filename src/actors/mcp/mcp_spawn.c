/* mcp_spawn.c — a server's process: sandbox, environment, descriptors. */
#include "mcp_priv.h"

#include "runtime/decisive/accepted.h"
#include "runtime/decisive/decisive.h"
#include "runtime/exec/exec_env.h"
#include "runtime/exec/exec_processes.h"
#include "runtime/exec/exec_spawn.h"
#include "runtime/exec/program.h"
#include "runtime/files/file_tools.h"
#include "runtime/policy/policy.h"
#include "sma/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define WORD_COUNT_MAX 1024
#define DIFF_LINES_MAX 40 /* of what changed in a program, for its owner */

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

/* A server may keep data beside its program: of its own folders only the files that it runs are
 * read-only for it. What it puts there is found before its next start. *ret_items: to be freed */
static struct sma_config own_may_write(const struct mcp_server *server,
                                       struct sma_decisive **ret_items)
{
    struct sma_config config = *server->mcp->config;
    struct sma_decisive *items = calloc(config.decisive_count + 1, sizeof *items);
    size_t count = 0;
    for (size_t i = 0; items != NULL && i < config.decisive_count; i++) {
        const struct sma_decisive *item = &config.decisive[i];
        bool is_own = item->server != NULL && strcmp(item->server, server->name) == 0;
        if (!is_own || item->suffixes == NULL)
            items[count++] = *item;
    }
    if (items != NULL) {
        config.decisive = items;
        config.decisive_count = count;
    }
    *ret_items = items;
    return config;
}

/* The owner is asked where he talks with the bot. Not sent: at the next look. */
static void ask_owner(struct mcp_server *server, const struct sma_program_look *look,
                      struct sma_str changes)
{
    char digest[SMA_PROGRAM_DIGEST_BYTES];
    sma_program_look_digest(look, digest);
    struct sma_buf clean;
    sma_buf_init(&clean, 2 * 1024 * 1024);
    sma_secrets_put(server->mcp->secrets, &clean, changes);
    const struct sma_mcp_held held = {
        .server = sma_str(server->name), .digest = sma_str(digest), .changes = sma_buf_str(&clean)};
    struct sma_msg *msg =
        digest[0] == '\0' || clean.err != SMA_ERR_OK ? NULL : sma_msg_make_mcp_held(&held);
    sma_buf_fini(&clean);
    if (msg != NULL && sma_ctx_ask(server->mcp->ctx, SMA_ACTOR_STORE, &msg, 0, NULL) != SMA_ERR_OK)
        sma_msg_destroy(msg);
}

void mcp_spawn_ruled(struct mcp_server *server, struct sma_str accepted_digest)
{
    struct sma_program_look *look = NULL;
    enum sma_program_state state = SMA_PROGRAM_FOREIGN;
    struct sma_error error = {.code = SMA_ERR_OK};
    char digest[SMA_PROGRAM_DIGEST_BYTES] = "";
    enum sma_err err = sma_program_look(server->mcp->config->project_dir, server->config, &state,
                                        NULL, &look, &error);
    if (err == SMA_ERR_OK)
        sma_program_look_digest(look, digest);
    if (err == SMA_ERR_OK && state == SMA_PROGRAM_CHANGED &&
        sma_str_is_equal(sma_str(digest), accepted_digest)) {
        err = sma_program_accept(look, &error);
        if (err == SMA_ERR_OK)
            mcp_log(server, SMA_LOG_INFO, "its owner has accepted its program");
    }
    if (err != SMA_ERR_OK)
        mcp_log(server, SMA_LOG_ERROR, "its program cannot be accepted: %s", error.text);
    else /* of another digest the owner is asked anew */
        server->due_ns = sma_ctx_now(server->mcp->ctx);
    sma_program_look_destroy(look);
}

/* Is its program the one that was accepted? The first look at an entry accepts what lies there. */
static enum sma_err check_program(struct mcp_server *server, struct sma_error *error)
{
    struct sma_program_look *look = NULL;
    enum sma_program_state state = SMA_PROGRAM_FOREIGN;
    struct sma_buf changes, line;
    sma_buf_init(&changes, 1024 * 1024);
    sma_buf_init(&line, 4096);
    enum sma_err err = sma_program_look(server->mcp->config->project_dir, server->config, &state,
                                        &changes, &look, error);
    if (err == SMA_ERR_OK && (state == SMA_PROGRAM_NEW || state == SMA_PROGRAM_CHANGED))
        sma_program_put_changes(&line, sma_buf_str(&changes));
    if (err == SMA_ERR_BADINPUT) {
        server->is_held = true;
    } else if (err == SMA_ERR_OK &&
               (state == SMA_PROGRAM_NEW ||
                (state == SMA_PROGRAM_FOREIGN && !sma_program_is_recorded(look)))) {
        err = sma_program_accept(look, error);
    } else if (err == SMA_ERR_OK && state == SMA_PROGRAM_CHANGED) {
        server->is_held = true;
        sma_program_put_diffs(look, sma_file_tools_put_diff, DIFF_LINES_MAX, &changes);
        ask_owner(server, look, sma_buf_str(&changes));
        err = sma_fail(error, SMA_ERR_UNSUPPORTED,
                       "not started: %s since it was accepted; look at it, then run `shipmyagent "
                       "mcp accept %s`",
                       line.ptr == NULL ? "its program is another" : line.ptr, server->name);
    }
    sma_program_look_destroy(look);
    sma_buf_fini(&changes);
    sma_buf_fini(&line);
    return err;
}

/* ship.json as it is now: a reload may have changed what is shown and which scripts rules run. */
struct walls
{
    struct sma_exec_options options;
    struct sma_sandbox sandbox;
};

/* The rules of ship.json, parsed once for each configuration: they are asked before every call. */
static SMA_CHECKED enum sma_err load_rules(struct sma_mcp *mcp, struct sma_error *error)
{
    if (mcp->rules_config == mcp->config)
        return SMA_ERR_OK;
    sma_policy_destroy(mcp->rules);
    mcp->rules = NULL;
    mcp->rules_config = NULL;
    SMA_TRY(sma_policy_load(mcp->config->permissions_json, &mcp->rules, error));
    mcp->rules_config = mcp->config;
    return SMA_ERR_OK;
}

/* mcp.json is the owner's: what it names by its whole path is there for that server alone. */
static void tell_named(void *user, size_t index, const char *path, bool is_shown)
{
    struct mcp_server *server = user;
    if (!is_shown)
        mcp_log(server, SMA_LOG_WARN,
                "%.300s leads out of the project through a link of it, which a command could "
                "exchange: it is not there in its sandbox; name in mcp.json what it leads to",
                path);
    else if (index > 0)
        mcp_log(server, SMA_LOG_INFO,
                "argument %zu, %.300s, is there in its sandbox, to be read; what lies beside it is "
                "not unless permissions.exec_shell.paths of ship.json names it",
                index, path);
}

/* What permissions.exec_shell.paths shows besides. */
static uint64_t digest_shown(const struct sma_exec_options *options)
{
    static const uint8_t key[16];
    uint64_t digest = options->path_count;
    for (size_t i = 0; i < options->path_count; i++) {
        const char *real = options->real_paths[i];
        digest = digest * 31 + (real == NULL ? 0 : sma_siphash(key, real, strlen(real)));
    }
    return digest;
}

bool mcp_spawn_is_outgrown(struct mcp_server *server, struct sma_sandbox_plan *plan,
                           char ret_path[PATH_MAX])
{
    struct sma_exec_options options = {.paths = {NULL}};
    struct sma_decisive *items = NULL;
    const struct sma_config *config = server->mcp->config;
    struct sma_error error = {.code = SMA_ERR_OK};
    struct sma_config own = own_may_write(server, &items);
    bool is_new = config != server->walls_config;
    if (is_new)
        plan->top_stamp = 0;
    bool is_outgrown = load_rules(server->mcp, &error) == SMA_ERR_OK &&
                       sma_sandbox_plan_is_outgrown(plan, &own, server->mcp->rules, ret_path);
    if (!is_outgrown && is_new &&
        sma_exec_options_parse(config->permissions_json, config->project_dir, &options, &error) ==
            SMA_ERR_OK) {
        is_outgrown = digest_shown(&options) != server->walls_shown;
        (void)snprintf(ret_path, PATH_MAX, "permissions.exec_shell.paths");
    }
    if (!is_outgrown)
        server->walls_config = config;
    free(items);
    sma_exec_options_fini(&options);
    return is_outgrown;
}

static enum sma_err make_walls(struct mcp_server *server, struct walls *walls,
                               struct sma_error *error)
{
    struct sma_mcp *mcp = server->mcp;
    const struct sma_mcp_config_server *config = server->config;
    SMA_TRY(sma_exec_options_parse(mcp->config->permissions_json, mcp->config->project_dir,
                                   &walls->options, error));
    SMA_TRY(load_rules(mcp, error));
    SMA_TRY(find_sandbox(mcp, error));
    walls->options.has_network = config->has_network;
    walls->options.memory_mb = SMA_MCP_MEMORY_MB;
    server->walls_config = mcp->config;
    server->walls_shown = digest_shown(&walls->options);
    sma_sandbox_show_named(mcp->config, &walls->options, config->command, config->args.items,
                           config->args.count, tell_named, server);
    walls->sandbox = mcp->sandbox;
    walls->sandbox.policy = mcp->rules;
    walls->sandbox.is_on = mcp->sandbox.is_on && config->is_sandboxed;
    if (!walls->sandbox.is_on)
        mcp_log(
            server, SMA_LOG_WARN,
            "runs without a sandbox (%s): it can read what this user can, and reach the network",
            config->is_sandboxed ? mcp->sandbox.why : "sandbox.enabled is false in mcp.json");
    const char *remedy = "", *warning = sma_decisive_warning(mcp->config, config, &remedy);
    if (warning != NULL)
        mcp_log(server, SMA_LOG_WARN, "%s; %s", warning, remedy);
    return SMA_ERR_OK;
}

/* Within a sandbox the program would only end at once, without a word of why. */
static enum sma_err find_program(const struct mcp_server *server, const struct walls *walls,
                                 const char *const *variables, struct sma_error *error)
{
    const char *command = server->config->command, *path = NULL;
    const struct sma_config *config = server->mcp->config;
    char file[PATH_MAX], folder[PATH_MAX];
    for (size_t i = 0; variables[i] != NULL && path == NULL; i++)
        if (strncmp(variables[i], "PATH=", 5) == 0)
            path = variables[i] + 5;
    if (!sma_program_find(command, path, config->project_dir, file)) {
        const char *source = sma_program_source(command);
        return sma_fail(error, SMA_ERR_NOTFOUND, "there is no program %.200s here: %s", command,
                        source != NULL ? source : "install it, or correct its \"command\"");
    }
    if (walls->sandbox.is_on && sma_sandbox_hides(config, &walls->options, file, folder))
        return sma_fail(error, SMA_ERR_NOTFOUND,
                        "its program %.200s lies in %.300s, which is not there in the sandbox: "
                        "name that folder in permissions.exec_shell.paths of ship.json",
                        command, folder);
    return SMA_ERR_OK;
}

static enum sma_err make_plan(struct mcp_server *server, const struct walls *walls,
                              struct sma_sandbox_plan *ret_plan, struct sma_error *error)
{
    struct sma_mcp *mcp = server->mcp;
    const struct sma_mcp_config_server *config = server->config;
    if (walls->sandbox.is_on)
        SMA_TRY(sma_sandbox_refuse_links(mcp->config, error));
    if (config->args.count + 2 > WORD_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "it has more than %d arguments", WORD_COUNT_MAX - 2);
    const char *words[WORD_COUNT_MAX] = {config->command};
    for (size_t i = 0; i < config->args.count; i++)
        words[i + 1] = config->args.items[i];
    const char *named[WORD_COUNT_MAX] = {NULL}; /* values of its variables */
    for (size_t i = 0; i < config->env.count && i + 1 < WORD_COUNT_MAX; i++)
        named[i] = config->env.items[i];
    struct sma_decisive *items = NULL;
    struct sma_config own = own_may_write(server, &items);
    enum sma_err err = items == NULL
                           ? sma_fail(error, SMA_ERR_NOMEM, "out of memory")
                           : sma_sandbox_plan_create_program(&own, &walls->options, &walls->sandbox,
                                                             words, named, ret_plan, error);
    free(items);
    return err;
}

enum sma_err mcp_spawn(struct mcp_server *server, const int ends[4],
                       struct sma_sandbox_plan *ret_plan, pid_t *ret_pid, struct sma_error *error)
{
    struct sma_sandbox_plan plan;
    struct walls walls = {.options = {.paths = {NULL}}};
    char **base = NULL;
    enum sma_err err = check_program(server, error);
    if (err == SMA_ERR_OK)
        err = make_walls(server, &walls, error);
    if (err == SMA_ERR_OK)
        err = make_plan(server, &walls, &plan, error);
    if (err != SMA_ERR_OK) {
        sma_exec_options_fini(&walls.options);
        return err;
    }
    if (!plan.is_boxed) /* of a program that was killed: two would do everything twice */
        (void)mcp_spawn_end_marked(server, NULL, 0);
    const char **variables = make_variables(server, &base);
    err = variables == NULL ? SMA_ERR_OK : find_program(server, &walls, variables, error);
    sma_exec_options_fini(&walls.options);
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
