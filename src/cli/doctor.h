/*
 * doctor.h — the part of `doctor` that every start runs: cheap, without the network, and silent
 * about what start says itself.
 */
#ifndef SMA_CLI_DOCTOR_H
#define SMA_CLI_DOCTOR_H

#include "sma/config.h"

/** Warnings and errors alone, a line each. */
void sma_doctor_at_start(const struct sma_config *config, sma_config_warn_fn *warn, void *user);

#endif
