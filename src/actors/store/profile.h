/*
 * profile.h — CONTACT with wants_profile: what a platform says of a person. Part of the store; its
 * thread.
 */
#ifndef SMA_STORE_PROFILE_H
#define SMA_STORE_PROFILE_H

#include "store.h"

/** Answered now, or when its adapter has answered; then *msg is taken. */
void sma_store_profile(struct sma_store *store, struct sma_msg **msg);

#endif
