/*
 * probe.h — the probes of the command line: does this model answer with this key, does the platform
 * take this bot? `doctor` runs them all at once, `init` one by one as things are entered.
 *
 * The requests are the product's own: its HTTP out, proxies, authorities and wire formats. A call
 * starts an actor with a loop on a thread of its own and returns when that has ended, after
 * SMA_PROBE_MS and a little at most.
 * Threads: the main one, while no service of ours runs in this process. Ctrl-C ends the process.
 */
#ifndef SMA_CLI_PROBE_H
#define SMA_CLI_PROBE_H

#include "runtime/model/models_list.h"
#include "sma/adapter.h"
#include "sma/config.h"
#include "sma/probe.h"

#define SMA_PROBE_COUNT_MAX 64

/** One short question to the model, with each of its keys. */
void sma_probe_model(const struct sma_config_llm *llm, struct sma_probe_result *ret_result);
/** What models the server has. @return whether *ret_list is one (sma_models_list_fini) */
SMA_CHECKED bool sma_probe_models_list(const struct sma_config_llm *llm,
                                       struct sma_models_list *ret_list,
                                       struct sma_probe_result *ret_result);
/**
 * Would the platform take this bot? The block is read as by `start`; what is wrong with it is a
 * line, too. Of config only project_dir and proxy are looked at.
 */
void sma_probe_platform(const struct sma_adapter_ops *ops, const struct sma_config *config,
                        const struct sma_config_adapter *block,
                        struct sma_probe_result *ret_result);

/** Who has sent the bot `code` in private? Their user id as who of the result; "" = nobody yet, or
 *  the platform cannot be asked. Takes no events away. */
void sma_probe_owner(const struct sma_adapter_ops *ops, const struct sma_config *config,
                     const struct sma_config_adapter *block, const char *code,
                     struct sma_probe_result *ret_result);

/** Only whether the block can be read and has its credentials: asks nobody. */
void sma_probe_settings(const struct sma_adapter_ops *ops, const struct sma_config *config,
                        const struct sma_config_adapter *block,
                        struct sma_probe_result *ret_result);

/* -- several at once --------------------------------------------------------------------------- */
struct sma_probes;
/** NULL when out of memory. */
struct sma_probes *sma_probes_create(void);
/** What is pointed to must stay until the run is over. More than SMA_PROBE_COUNT_MAX are left out.
 */
void sma_probes_add_model(struct sma_probes *probes, const struct sma_config_llm *llm,
                          struct sma_probe_result *result);
void sma_probes_add_platform(struct sma_probes *probes, const struct sma_adapter_ops *ops,
                             const struct sma_config *config,
                             const struct sma_config_adapter *block,
                             struct sma_probe_result *result);
/** Runs all of them and frees `probes`. Accepts NULL. */
void sma_probes_run(struct sma_probes *probes);

#endif
