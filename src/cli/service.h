/*
 * service.h — the whole program around one project: configuration, lock, actors and adapters, from
 * start to clean exit.
 */
#ifndef SMA_SERVICE_H
#define SMA_SERVICE_H

#include "sma/config.h"

struct sma_service;

struct sma_service_options
{
    const char *dir;
    struct sma_config_overrides overrides;
    bool is_quiet; /* in-process chat: only warnings and errors on the terminal */
    bool has_http; /* false: in-process chat that should not take a port */
};

/**
 * Read the project, take its lock, open the store and make every actor. Nothing runs yet.
 * @return OK, or the reason with one line in *error: BUSY when another process serves this project
 */
SMA_CHECKED enum sma_err sma_service_create(const struct sma_service_options *options,
                                            struct sma_service **ret_service,
                                            struct sma_error *error);
/** Start the actors. On success the program answers on all its adapters. */
SMA_CHECKED enum sma_err sma_service_start(struct sma_service *service, struct sma_error *error);
/**
 * Supervise on the calling thread until SIGTERM, SIGINT or stop_fd becomes readable; then the
 * ordered shutdown.
 * @return the exit status
 */
SMA_CHECKED int sma_service_run(struct sma_service *service, int stop_fd);
/** After run, or instead of it when start failed. Accepts NULL. */
void sma_service_destroy(struct sma_service *service);
const struct sma_config *sma_service_config(const struct sma_service *service);

#endif
