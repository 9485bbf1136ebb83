/*
 * login_probe.h — first steps of a probe of a platform with access tokens: fetch one, as token.c
 * does, and ask with it. See sma/probe.h.
 *
 * A token that is fetched twice is the same one at every platform so far, so a service that runs
 * keeps its own.
 * Threads: the prober's.
 */
#ifndef SMA_ADAPTERS_COMMON_LOGIN_PROBE_H
#define SMA_ADAPTERS_COMMON_LOGIN_PROBE_H

#include "call.h"
#include "sma/probe.h"

struct sma_login_probe
{
    const struct sma_call_ops *ops;
    void *state;        /* of the adapter; user of every done */
    const char *remedy; /* when the platform does not take the credentials */
    /* There is a token: ask on. */
    void (*go_on)(void *state, struct sma_probing *probing);
};
/** Fetch the token. What goes wrong is a line "token". */
void sma_login_probe_begin(struct sma_probing *probing, const struct sma_login_probe *login);
/** GET below the platform's root, with the token. */
void sma_login_probe_get(struct sma_probing *probing, const char *path, sma_probe_fn *done);
/** POST this body (taken) there without one. */
void sma_login_probe_post(struct sma_probing *probing, const char *path, struct sma_buf *body,
                          sma_probe_fn *done);
/** What such a step comes to, as a line of this name. @return whether it is OK */
bool sma_login_probe_judge(struct sma_probing *probing, enum sma_login login,
                           const struct sma_login_error *error, const char *name,
                           const char *remedy);

#endif
