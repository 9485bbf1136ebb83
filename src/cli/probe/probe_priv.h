/*
 * probe_priv.h — what a kind of probe is to those that run them.
 *
 * Threads: begin and every done on the actor's; make and destroy on the caller's.
 */
#ifndef SMA_CLI_PROBE_PRIV_H
#define SMA_CLI_PROBE_PRIV_H

#include "probe.h"

/* One probe; `user` is what its kind keeps. */
struct probe_job
{
    char name[SMA_PROBE_NAME_BYTES_MAX];
    void (*begin)(void *user, struct sma_probing *probing);
    void (*destroy)(void *user);
    void *user;
    struct sma_probe_result *result;
};

/** A line that needs no asking. */
void probe_say(struct sma_probe_result *result, enum sma_probe_state state, const char *name,
               const char *seen, const char *remedy);
/** false: the result says why there is no probe. */
SMA_CHECKED bool probe_model_make(const struct sma_config_llm *llm, struct sma_probe_result *result,
                                  struct probe_job *ret_job);
SMA_CHECKED bool probe_list_make(const struct sma_config_llm *llm, struct sma_models_list *list,
                                 bool *is_there, struct sma_probe_result *result,
                                 struct probe_job *ret_job);
/** Run them all, on an actor of their own. */
void probe_run(struct probe_job *jobs, size_t count);

#endif
