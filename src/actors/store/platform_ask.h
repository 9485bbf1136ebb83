/*
 * platform_ask.h — PREPARE of no message (seq 0): what a platform is asked for a question to the
 * store. Part of the store; its thread.
 *
 * In memory only: a restart ends the call that asked, and nothing waits for it.
 */
#ifndef SMA_STORE_PLATFORM_ASK_H
#define SMA_STORE_PLATFORM_ASK_H

#include "store.h"

/** Answers question. said NULL: nothing came, and why says so. kept as it was given. */
typedef void store_platform_done(struct sma_store *store, const struct sma_msg *question,
                                 struct sma_str kept, const struct sma_prepared *said,
                                 struct sma_str why);

/** OK: *question is taken, and done is called once. BUSY: *question stays; done's kind has
 *  SMA_PLATFORM_ASK_COUNT_MAX open, or the adapter is not there, full or stopping. kept is copied.
 */
SMA_CHECKED enum sma_err sma_store_ask_platform(struct sma_store *store, struct sma_msg **question,
                                                const struct sma_prepare *prepare,
                                                uint64_t patience_ns, struct sma_str kept,
                                                store_platform_done *done);
/** PREPARED: true when it was the answer to one of them. */
bool sma_store_platform_said(struct sma_store *store, struct sma_msg *msg);
/** What its adapter has left unanswered until now is told so. */
void sma_store_expire_platform_asks(struct sma_store *store);
uint64_t sma_store_platform_asks_wake(const struct sma_store *store); /* UINT64_MAX: none is open */
void sma_store_refuse_platform_asks(struct sma_store *store);         /* stopping: each is told */
void sma_store_drop_platform_asks(struct sma_store *store);           /* unanswered */

#endif
