/* budget_support.h — what the tests of budgets share: runs that use something, and the sums of the
 * database compared with those in memory. */
#ifndef SMA_TEST_BUDGET_SUPPORT_H
#define SMA_TEST_BUDGET_SUPPORT_H

#include "store_support.h"

#include "actors/store/budget_priv.h"
#include "actors/store/runs_priv.h"
#include "runtime/chat/state_priv.h"

#include <time.h>

uint64_t ask_db(struct world *world, const char *sql);

/* What the store said since the last look; "" = nothing. */
const char *said(struct world *world);

/* A STEP whose request used so many tokens; cost is ten of a token. */
void use_step(struct world *world, uint64_t seq, uint32_t number, uint64_t tokens);
void use_done(struct world *world, uint64_t seq, uint64_t tokens, uint8_t outcome);

/* What the next STEP_DONE says of its budget. */
struct sma_budget_over step_over(struct world *world);

/* What is reserved in memory is the sum of the rows, and only open messages have one. */
void check_shares(struct world *world);

/* Every scope has spent the same, and that is what usage says. */
void check_spent(struct world *world);
void set_zone(const char *zone);

/* The wall clock shows this local time. */
void set_clock(struct world *world, int year, int month, int day, int hour, int minute);

void reload(struct world *world);

#endif
