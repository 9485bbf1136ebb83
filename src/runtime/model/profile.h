/*
 * profile.h — what a model takes and gives: one table by provider, host and model pattern.
 *
 * Unknown models get careful defaults: no sampling or reasoning members beyond what was configured, a small window.
 * Source: protocols/models.md §1-§5. Threads: any; no state.
 */
#ifndef SMA_MODEL_PROFILE_H
#define SMA_MODEL_PROFILE_H

#include "sma/config.h"

struct sma_profile
{
    uint32_t window_tokens; /* input and output together */
    uint32_t output_max;    /* most tokens of one answer; 0 = not known */
};

/** Never fails: the careful row when nothing fits. */
void sma_profile_find(const struct sma_config_llm *llm, struct sma_profile *ret_profile);

#endif
