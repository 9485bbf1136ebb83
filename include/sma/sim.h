/*
 * sim.h — the seeded single-thread scheduler: the same actors, virtual time, one seed = one run.
 *
 * Create the system with is_simulated = true, add actors, sma_system_start (runs every start()),
 * then step. Each step picks, by the seed, one runnable actor (mailbox not empty, or its wake time
 * has come) and lets it handle 1..n messages and its batch_end. When nobody is runnable, time jumps
 * to the earliest wake time. Every handled message adds (number, from, to, kind, ask_id) to the
 * trace hash.
 */
#ifndef SMA_SIM_H
#define SMA_SIM_H

#include "sma/actor.h"

/** One step. false: nothing runnable and no wake time set (the system is at rest). */
bool sma_sim_step(struct sma_system *system);
/** Step until at rest or `steps_max` steps or virtual time `until_ns`. @return steps done. */
size_t sma_sim_run(struct sma_system *system, size_t steps_max, uint64_t until_ns);
uint64_t sma_sim_now(const struct sma_system *system);
/** Move virtual time forward by ns without stepping. */
void sma_sim_advance(struct sma_system *system, uint64_t ns);
/** Shift the wall clock (not the monotonic one) by ms. */
void sma_sim_shift_wall(struct sma_system *system, int64_t ms);
uint64_t sma_sim_trace_hash(const struct sma_system *system);
/** Push a LIFE message as the supervisor would (ordered shutdown in a simulation). */
void sma_sim_life(struct sma_system *system, enum sma_actor_id to, unsigned phase);
/** Whether the actor has answered this phase with sma_ctx_life_done. */
bool sma_sim_life_is_done(const struct sma_system *system, enum sma_actor_id id, unsigned phase);
/** Drop all actors' mailboxes without stop(): a crash. The system must then be destroyed.
 *  (Destroying a simulated system that has not crashed calls every stop(), last started first.) */
void sma_sim_crash(struct sma_system *system);

#endif
