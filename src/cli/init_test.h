/* init_test.h — what a test of `shipmyagent init` found, and what to do when it failed. */
#ifndef SMA_CLI_INIT_TEST_H
#define SMA_CLI_INIT_TEST_H

#include "sma/probe.h"

enum init_step
{
    INIT_STEP_AGAIN,  /* the same once more */
    INIT_STEP_CHANGE, /* enter something else */
    INIT_STEP_KEEP,   /* take it as it is */
    INIT_STEP_LEAVE,  /* not this one at all */
};

/** "Asking NAME ...": a test may take seconds. */
void init_test_begin(const char *name);
/** One line for each of its lines, control characters of others made visible. */
void init_test_show(const struct sma_probe_result *result);
/** After a failure. other: what to enter instead: "another key"; leave: what else may be done
 *  ("choose another provider"). false: the input ended. */
bool init_test_ask_step(const char *other, const char *leave, enum init_step *ret_step);

#endif
