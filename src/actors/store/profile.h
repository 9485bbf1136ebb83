/*
 * profile.h — CONTACT with wants_profile: what a platform says of a person. Part of the store; its
 * thread.
 */
#ifndef SMA_STORE_PROFILE_H
#define SMA_STORE_PROFILE_H

#include "store.h"

/** Answered now, or when its adapter has answered; then *msg is taken. */
void sma_store_profile(struct sma_store *store, struct sma_msg **msg);
/** PREPARED: true when it was about a person and not about a message. */
bool sma_store_profile_said(struct sma_store *store, const struct sma_msg *msg);
/** What its adapter has left unanswered is answered. now: UINT64_MAX = everything, stopping. */
void sma_store_expire_profiles(struct sma_store *store, uint64_t now);
uint64_t sma_store_profiles_wake(const struct sma_store *store); /* UINT64_MAX: none is open */
/** At the end: nobody listens any more. */
void sma_store_drop_profiles(struct sma_store *store);

#endif
