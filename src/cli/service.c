/*
 * service.c — wiring: which actors there are, in which order they start, who knows what of whom.
 *
 * Leaves first: log, store, model, tools, dispatcher, agent, then the adapters, so that whoever
 * takes a message in finds everything behind it ready.
 */
#include "service.h"

#include "adapters.h"
#include "adapters/http/http.h"
#include "bot_lock.h"
#include "chat_screen.h"
#include "lock.h"
#include "private.h"
#include "process_metrics.h"
#include "runtime/model/target.h"
#include "sma/actors.h"
#include "sma/chats.h"
#include "sma/links.h"
#include "sma/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTOR_COUNT_WANTED 8192
#define RELOAD_COUNT_MAX 64 /* old snapshots stay valid until the end; this bounds them */

struct sma_service
{
    struct sma_config *config;
    struct sma_config *reloaded[RELOAD_COUNT_MAX];
    size_t reloaded_count;
    struct sma_config_overrides overrides;
    int lock_fd;
    struct sma_bot_locks bot_locks;
    struct sma_buf start_lines; /* what was warned of before there was a log */
    struct sma_adapter adapters[SMA_ADAPTER_COUNT_MAX];
    struct sma_actor_ops actors[SMA_ADAPTER_COUNT_MAX]; /* the adapters', each under its name */
    char webhook_names[SMA_ADAPTER_COUNT_MAX][SMA_BOT_NAME_BYTES_MAX]; /* "telegram/support" */
    size_t adapter_count;
    struct sma_log *log;
    struct sma_store *store;
    struct sma_model *model;
    struct sma_tools *tools;
    struct sma_mcp *mcp; /* NULL: mcp.json names no server */
    struct sma_memory_actor *memory;
    struct sma_dispatcher *dispatcher;
    struct sma_agent *agent;
    struct sma_system *system;
};

const struct sma_params *const *sma_cli_platforms(void)
{
    static const struct sma_params *tables[SMA_ADAPTER_COUNT_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; count < SMA_ADAPTER_COUNT_MAX && sma_adapter_table[i].ops != NULL; i++)
        if (sma_adapter_table[i].ops->params != NULL)
            tables[count++] = sma_adapter_table[i].ops->params;
    return tables;
}

static void warn_on_stderr(void *user, const char *line)
{
    (void)user;
    struct sma_buf clean; /* the line quotes names of ship.json, which may hold anything */
    sma_buf_init(&clean, 8192);
    sma_chat_put_clean(&clean, sma_str(line));
    fprintf(stderr, "%sshipmyagent: %s\n", sma_sys_is_journal(STDERR_FILENO) ? "<4>" : "",
            clean.ptr == NULL ? "" : clean.ptr);
    sma_buf_fini(&clean);
}

/* What stands in the way of an answer is looked for in the log, later. */
static void warn_at_start(void *user, const char *line)
{
    struct sma_service *service = user;
    warn_on_stderr(NULL, line);
    sma_buf_put_text(&service->start_lines, line);
    sma_buf_put_char(&service->start_lines, '\n');
}

static void log_start_lines(struct sma_service *service)
{
    struct sma_str rest = sma_buf_str(&service->start_lines);
    for (const char *end; rest.len > 0 && (end = memchr(rest.ptr, '\n', rest.len)) != NULL;) {
        size_t len = (size_t)(end - rest.ptr);
        sma_log_note_warning(service->log, (struct sma_str){rest.ptr, len});
        rest = (struct sma_str){end + 1, rest.len - len - 1};
    }
    sma_buf_fini(&service->start_lines);
}

static void warn_without_credentials(struct sma_service *service, const char *name)
{
    char line[256];
    snprintf(
        line, sizeof line,
        "adapters.%s is enabled, but has no credentials; it is skipped. Give them in ship.json "
        "or .env, or set its \"enabled\" to false",
        name);
    warn_at_start(service, line);
}

/* http and terminal are part of the program: on unless switched off. Platforms are on when
 * enabled. */
static bool is_wanted(const struct sma_adapter_entry *entry, const struct sma_config_adapter *block,
                      const struct sma_service_options *options)
{
    if (entry->is_http && !options->has_http)
        return false;
    if (block == NULL)
        return entry->is_on_by_default;
    return block->is_enabled || (entry->is_on_by_default && !block->says_enabled);
}

static enum sma_err add_adapter(struct sma_service *service, const struct sma_adapter_ops *ops,
                                const struct sma_config_adapter *block, struct sma_error *error)
{
    static const struct sma_config_adapter no_block = {.name = "", .is_enabled = true, .json = ""};
    size_t place = service->adapter_count;
    if (place == SMA_ADAPTER_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "more than %d adapters are enabled",
                        SMA_ADAPTER_COUNT_MAX);
    struct sma_adapter *adapter = &service->adapters[place];
    *adapter =
        (struct sma_adapter){.ops = ops, .actor = (enum sma_actor_id)(SMA_ACTOR_ADAPTER_0 + place)};
    service->actors[place] = *ops->actor;
    if (block != NULL && sma_bot_id(sma_str(block->name)).len > 0)
        service->actors[place].name = adapter->bot = block->name;
    enum sma_err err =
        ops->create(service->config, block == NULL ? &no_block : block, &adapter->state, error);
    if (err == SMA_ERR_NOTFOUND) { /* skipped, as in the old program, but not in silence */
        warn_without_credentials(service, sma_adapter_name(adapter));
        return SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK)
        return err;
    service->adapter_count++;
    sma_link_down(sma_adapter_name(adapter), sma_sys_real()->wall_ms(NULL),
                  SMA_STR("")); /* not yet up */
    return SMA_ERR_OK;
}

/* The bots of a platform stand beside each other, as in ship.json. */
static enum sma_err add_adapters(struct sma_service *service,
                                 const struct sma_service_options *options, struct sma_error *error)
{
    const struct sma_config *config = service->config;
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++) {
        const struct sma_adapter_entry *entry = &sma_adapter_table[i];
        bool has_block = false;
        if (entry->is_of_hooks && config->hook_count > 0)
            SMA_TRY(add_adapter(service, entry->ops, NULL, error));
        if (entry->is_of_hooks)
            continue;
        for (size_t k = 0; k < config->adapter_count; k++) {
            const struct sma_config_adapter *block = &config->adapters[k];
            if (!sma_bot_is_of(sma_str(block->name), entry->ops->name))
                continue;
            has_block = true;
            if (is_wanted(entry, block, options))
                SMA_TRY(add_adapter(service, entry->ops, block, error));
        }
        if (!has_block && is_wanted(entry, NULL, options))
            SMA_TRY(add_adapter(service, entry->ops, NULL, error));
    }
    return SMA_ERR_OK;
}

/* A project may enable a platform that this build does not have: say so instead of staying
 * silent. */
static void warn_unknown_platforms(struct sma_service *service)
{
    const struct sma_config *config = service->config;
    for (size_t i = 0; i < config->adapter_count; i++) {
        bool is_known = false;
        for (size_t k = 0; sma_adapter_table[k].ops != NULL; k++)
            is_known = is_known || sma_bot_is_of(sma_str(config->adapters[i].name),
                                                 sma_adapter_table[k].ops->name);
        char line[512];
        snprintf(line, sizeof line,
                 "adapters.%.200s is enabled, but this version has no such adapter; it is skipped",
                 config->adapters[i].name);
        if (config->adapters[i].is_enabled && !is_known)
            warn_at_start(service, line);
    }
}

/* `status` lists them before the first question. */
static void name_targets(const struct sma_config *config)
{
    struct sma_target target;
    for (size_t i = 0; i < sma_models_count(config); i++) {
        sma_target_init(&target, sma_models_get(config, i));
        sma_target_known(sma_str(target.key));
    }
}

static void format_metrics(void *user, struct sma_buf *buf)
{
    const struct sma_service *service = user;
    sma_system_format_metrics(service->system, buf);
    sma_process_metrics_format(buf, service->config->state_dir);
}

static enum sma_err create_actors(struct sma_service *service,
                                  const struct sma_service_options *options,
                                  struct sma_error *error)
{
    struct sma_log_options log = {.config = service->config, .is_quiet = options->is_quiet};
    const char *debug = getenv("SMA_DEBUG");
    log.shows_debug = debug != NULL && debug[0] != '\0';
    sma_log_set_level(log.shows_debug ? SMA_LOG_DEBUG : SMA_LOG_INFO);
    SMA_TRY(sma_log_create(&log, &service->log, error));
    SMA_TRY(add_adapters(service, options, error));
    struct sma_store_options store = {service->config, service->adapters, service->adapter_count};
    SMA_TRY(sma_store_create(&store, &service->store, error));
    SMA_TRY(sma_model_create(service->config, &service->model, error));
    SMA_TRY(sma_tools_create(service->config, &service->tools, error));
    SMA_TRY(sma_mcp_create(service->config, &service->mcp, error));
    SMA_TRY(sma_memory_actor_create(service->config, &service->memory, error));
    struct sma_dispatcher_options dispatcher = {service->config, service->adapters,
                                                service->adapter_count};
    SMA_TRY(sma_dispatcher_create(&dispatcher, &service->dispatcher, error));
    return sma_agent_create(service->config, service->adapters, service->adapter_count,
                            &service->agent, error);
}

/* Tell http who takes webhooks. Without http nobody would ever receive one: better said now than
 * found out later. */
static enum sma_err wire_webhooks(struct sma_service *service, struct sma_error *error)
{
    void *http = NULL;
    for (size_t i = 0; i < service->adapter_count; i++)
        if (service->adapters[i].ops == &sma_http_adapter_ops)
            http = service->adapters[i].state;
    for (size_t i = 0; i < service->adapter_count; i++) {
        const struct sma_adapter *adapter = &service->adapters[i];
        if (adapter->ops->takes_webhooks == NULL || !adapter->ops->takes_webhooks(adapter->state))
            continue;
        if (http == NULL)
            return sma_fail(error, SMA_ERR_BADINPUT,
                            "ship.json: adapters.%s receives its events by webhook, but HTTP is "
                            "switched off; switch adapters.http on, or let %s fetch its events",
                            sma_adapter_name(adapter), sma_adapter_name(adapter));
        char *name = service->webhook_names[i];
        (void)snprintf(name, sizeof service->webhook_names[i], "%s", sma_adapter_name(adapter));
        name[strcspn(name, "@")] = name[strcspn(name, "@")] == '@' ? '/' : '\0';
        enum sma_err err = sma_http_add_webhook(http, name, adapter->actor);
        if (err != SMA_ERR_OK)
            return sma_fail(error, err, "HTTP takes no more webhooks: %s", name);
    }
    return SMA_ERR_OK;
}

static enum sma_err register_actors(struct sma_service *service)
{
    const struct
    {
        enum sma_actor_id id;
        const struct sma_actor_ops *ops;
        void *state;
    } actors[] = {
        {SMA_ACTOR_LOG, &sma_log_actor_ops, service->log},
        {SMA_ACTOR_STORE, &sma_store_actor_ops, service->store},
        {SMA_ACTOR_MODEL, &sma_model_actor_ops, service->model},
        {SMA_ACTOR_TOOLS, &sma_tools_actor_ops, service->tools},
        {SMA_ACTOR_MCP, &sma_mcp_actor_ops, service->mcp},
        {SMA_ACTOR_MEMORY, &sma_memory_actor_ops, service->memory},
        {SMA_ACTOR_DISPATCHER, &sma_dispatcher_actor_ops, service->dispatcher},
        {SMA_ACTOR_AGENT, &sma_agent_actor_ops, service->agent},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(actors); i++) {
        if (actors[i].state == NULL)
            continue;
        enum sma_err err =
            sma_system_add(service->system, actors[i].id, actors[i].ops, actors[i].state);
        if (err != SMA_ERR_OK)
            return err;
    }
    for (size_t i = 0; i < service->adapter_count; i++) {
        const struct sma_adapter *adapter = &service->adapters[i];
        enum sma_err err =
            sma_system_add(service->system, adapter->actor, &service->actors[i], adapter->state);
        if (err != SMA_ERR_OK)
            return err;
        if (adapter->ops == &sma_http_adapter_ops)
            sma_http_set_metrics_source(adapter->state, format_metrics, service);
    }
    return SMA_ERR_OK;
}

static enum sma_err fill(struct sma_service *service, const struct sma_service_options *options,
                         struct sma_error *error)
{
    service->overrides = options->overrides;
    service->overrides.platforms = sma_cli_platforms();
    enum sma_err err = sma_config_load(options->dir, &service->overrides, warn_at_start, service,
                                       &service->config, error);
    if (err != SMA_ERR_OK)
        return err;
    warn_unknown_platforms(service);
    name_targets(service->config);
    err = sma_lock_take(service->config->state_dir, &service->lock_fd, error);
    if (err != SMA_ERR_OK)
        return err;
    sma_private_close(service->config, warn_at_start, service);
    sma_bot_locks_take(&service->bot_locks, service->config, sma_cli_platforms(), warn_at_start,
                       service);
    /* The first mailbox registers for membarrier(), which takes the kernel 8 ms once there is a
     * second thread, and the store brings one. */
    struct sma_system_options system = {.sys = sma_sys_real()};
    service->system = sma_system_create(&system);
    if (service->system == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    err = create_actors(service, options, error);
    if (err == SMA_ERR_OK)
        err = wire_webhooks(service, error);
    if (err != SMA_ERR_OK)
        return err;
    err = register_actors(service);
    return err == SMA_ERR_OK
               ? err
               : sma_fail(error, err, "cannot make the actors: %s", sma_err_text(err));
}

enum sma_err sma_service_create(const struct sma_service_options *options,
                                struct sma_service **ret_service, struct sma_error *error)
{
    struct sma_service *service = calloc(1, sizeof *service);
    if (service == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    service->lock_fd = -1;
    sma_buf_init(&service->start_lines, 65536);
    enum sma_err err = fill(service, options, error);
    if (err != SMA_ERR_OK) {
        sma_service_destroy(service);
        return err;
    }
    log_start_lines(service);
    *ret_service = service;
    return SMA_ERR_OK;
}

/* A shell's usual soft limit, 1024, is used up by the connections of the HTTP adapter alone; then
 * the store could open no file. What the system allows more than the soft limit is ours to take. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTOR_COUNT_WANTED)
        return;
    limit.rlim_cur =
        limit.rlim_max < DESCRIPTOR_COUNT_WANTED ? limit.rlim_max : DESCRIPTOR_COUNT_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* cannot fail up to the hard limit */
}

enum sma_err sma_service_start(struct sma_service *service, struct sma_error *error)
{
    raise_descriptor_limit();
    enum sma_err err = sma_system_start(service->system, error);
    if (err != SMA_ERR_OK)
        sma_store_note_failed_start(service->store);
    return err;
}

/* -- SIGHUP ------------------------------------------------------------------------------------ */
/* On the supervisor's thread: the line stands in .ship/logs, too. */
static void warn_in_log(void *user, const char *line)
{
    struct sma_service *service = user;
    struct sma_buf clean; /* as warn_on_stderr */
    sma_buf_init(&clean, 8192);
    sma_chat_put_clean(&clean, sma_str(line));
    sma_ctx_log(sma_system_ctx(service->system, SMA_ACTOR_SUPERVISOR), SMA_LOG_WARN, "%s",
                clean.ptr == NULL ? "" : clean.ptr);
    sma_buf_fini(&clean);
}

/* Names of keys, never values. */
static void say_changed(struct sma_service *service, const struct sma_config *before,
                        const struct sma_config *fresh)
{
    struct sma_buf names;
    sma_buf_init(&names, 65536);
    sma_config_put_live(before, fresh, &names);
    bool is_same = names.len == 0 || names.err != SMA_ERR_OK;
    sma_ctx_log(sma_system_ctx(service->system, SMA_ACTOR_SUPERVISOR), SMA_LOG_INFO,
                "the configuration was read again: %s%s",
                is_same ? "nothing that counts at once has changed" : "changed from now on: ",
                is_same ? "" : names.ptr);
    sma_buf_fini(&names);
}

/* SIGHUP: a snapshot that can be read is handed to every actor; one that cannot leaves everything
 * as it is. */
static void reload(void *user)
{
    struct sma_service *service = user;
    struct sma_error error;
    struct sma_config *config = NULL;
    if (service->reloaded_count == RELOAD_COUNT_MAX) {
        warn_in_log(service, "the configuration was read again too often; restart to go on "
                             "changing it");
        return;
    }
    if (sma_config_load(service->config->project_dir, &service->overrides, warn_in_log, service,
                        &config, &error) != SMA_ERR_OK) {
        char line[sizeof error.text + 64];
        snprintf(line, sizeof line, "configuration kept as it was: %s", error.text);
        warn_in_log(service, line);
        return;
    }
    size_t count = service->reloaded_count;
    const struct sma_config *before = count == 0 ? service->config : service->reloaded[count - 1];
    service->reloaded[service->reloaded_count++] = config;
    name_targets(config);
    sma_system_reload(service->system, config);
    say_changed(service, before, config);
    sma_config_warn_late(service->config, config, warn_in_log, service);
}

int sma_service_run(struct sma_service *service, int stop_fd)
{
    struct sma_supervise_options options = {
        .on_reload = reload, .user = service, .stop_fd = stop_fd};
    return sma_system_supervise(service->system, &options);
}

void sma_service_destroy(struct sma_service *service)
{
    if (service == NULL)
        return;
    sma_system_destroy(service->system);
    for (size_t i = 0; i < service->adapter_count; i++)
        service->adapters[i].ops->destroy(service->adapters[i].state);
    sma_agent_destroy(service->agent);
    sma_dispatcher_destroy(service->dispatcher);
    sma_mcp_destroy(service->mcp);
    sma_memory_actor_destroy(service->memory);
    sma_tools_destroy(service->tools);
    sma_model_destroy(service->model);
    sma_store_destroy(service->store);
    sma_log_destroy(service->log);
    sma_bot_locks_release(&service->bot_locks);
    if (service->lock_fd >= 0)
        close(service->lock_fd);
    for (size_t i = 0; i < service->reloaded_count; i++)
        sma_config_destroy(service->reloaded[i]);
    sma_config_destroy(service->config);
    sma_buf_fini(&service->start_lines);
    free(service);
}

const struct sma_config *sma_service_config(const struct sma_service *service)
{
    return service->config;
}
