/*
 * actors.h — the core actors: how each is made. One ops table and one create function an actor;
 * src/cli/service.c wires them. States are opaque; create before the system starts, destroy after
 * all actors have ended.
 */
#ifndef SMA_ACTORS_H
#define SMA_ACTORS_H

#include "sma/actor.h"
#include "sma/adapter.h"
#include "sma/config.h"

/* -- store ------------------------------------------------------------------------------------- */
struct sma_store;
struct sma_store_options
{
    const struct sma_config *config;
    /* for capabilities (stored delivery, idempotency, language) by actor id */
    const struct sma_adapter *adapters;
    size_t adapter_count;
};
/** Opens and recovers `.ship` (takes no lock: the project lock is the command line's). Everything
 *  found damaged or repaired is logged at start(). Errors: CORRUPT, IO, NOSPACE, NOMEM with one
 *  line in *error. */
SMA_CHECKED enum sma_err sma_store_create(const struct sma_store_options *options,
                                          struct sma_store **ret_store, struct sma_error *error);
void sma_store_destroy(struct sma_store *store);
/** The service did not come up, so its threads have ended: a state that was clean and in which
 *  nothing was done since stays clean when the store is destroyed. */
void sma_store_note_failed_start(struct sma_store *store);
extern const struct sma_actor_ops sma_store_actor_ops;

/* -- dispatcher -------------------------------------------------------------------------------- */
struct sma_dispatcher;
struct sma_dispatcher_options
{
    const struct sma_config *config;
    const struct sma_adapter *adapters;
    size_t adapter_count;
};
SMA_CHECKED enum sma_err sma_dispatcher_create(const struct sma_dispatcher_options *options,
                                               struct sma_dispatcher **ret_dispatcher,
                                               struct sma_error *error);
void sma_dispatcher_destroy(struct sma_dispatcher *dispatcher);
extern const struct sma_actor_ops sma_dispatcher_actor_ops;

/* -- agent ------------------------------------------------------------------------------------- */
struct sma_agent;
SMA_CHECKED enum sma_err sma_agent_create(const struct sma_config *config,
                                          const struct sma_adapter *adapters, size_t adapter_count,
                                          struct sma_agent **ret_agent, struct sma_error *error);
void sma_agent_destroy(struct sma_agent *agent);
extern const struct sma_actor_ops sma_agent_actor_ops;

/* -- model ------------------------------------------------------------------------------------- */
struct sma_model;
SMA_CHECKED enum sma_err sma_model_create(const struct sma_config *config,
                                          struct sma_model **ret_model, struct sma_error *error);
void sma_model_destroy(struct sma_model *model);
/** On a libuv loop; libcurl is opened with the first target on the network, so that a reload may
 *  bring one. */
extern const struct sma_actor_ops sma_model_actor_ops;
/** The offline model alone, without loop and network: for the simulation. Same state. */
extern const struct sma_actor_ops sma_model_offline_actor_ops;

/* -- tools ------------------------------------------------------------------------------------- */
struct sma_tools;
/** Reads permissions: BADINPUT with one line when a rule is wrong; UNSUPPORTED when sandbox
 *  "require" cannot be had. */
SMA_CHECKED enum sma_err sma_tools_create(const struct sma_config *config,
                                          struct sma_tools **ret_tools, struct sma_error *error);
void sma_tools_destroy(struct sma_tools *tools);
/** What holds commands, and who is asked about what: lines "exec_shell: ...", "commands: ...",
 *  "files: ...", each ended by a newline, for the start log and `status`. Appends; an error stays
 *  in buf. */
void sma_tools_describe(const struct sma_tools *tools, struct sma_buf *buf);
extern const struct sma_actor_ops sma_tools_actor_ops;

/* -- mcp --------------------------------------------------------------------------------------- */
struct sma_mcp;
/** Starts nothing yet. BADINPUT with one line when permissions are wrong. */
SMA_CHECKED enum sma_err sma_mcp_create(const struct sma_config *config, struct sma_mcp **ret_mcp,
                                        struct sma_error *error);
void sma_mcp_destroy(struct sma_mcp *mcp);
extern const struct sma_actor_ops sma_mcp_actor_ops;

/* -- memory ------------------------------------------------------------------------------------ */
struct sma_memory_actor;
/** Opens nothing before it is asked. NOMEM with one line. */
SMA_CHECKED enum sma_err sma_memory_actor_create(const struct sma_config *config,
                                                 struct sma_memory_actor **ret_actor,
                                                 struct sma_error *error);
void sma_memory_actor_destroy(struct sma_memory_actor *actor);
extern const struct sma_actor_ops sma_memory_actor_ops;

/* -- log --------------------------------------------------------------------------------------- */
struct sma_log;
struct sma_log_options
{
    const struct sma_config *config;
    bool is_quiet; /* only warnings and errors on stderr (in-process chat) */
    bool shows_debug;
};
SMA_CHECKED enum sma_err sma_log_create(const struct sma_log_options *options,
                                        struct sma_log **ret_log, struct sma_error *error);
/** Before the actor starts: a warning that was shown already, into the file alone. */
void sma_log_note_warning(struct sma_log *log, struct sma_str text);
void sma_log_destroy(struct sma_log *log);
extern const struct sma_actor_ops sma_log_actor_ops;

#endif
