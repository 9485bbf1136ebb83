/*
 * oracle_names.h — see oracle_names.c.
 */
#ifndef SMA_TESTS_POLICY_ORACLE_NAMES_H
#define SMA_TESTS_POLICY_ORACLE_NAMES_H

#include "observe.h"

struct sma_shell;

/* Does a redirection or a touch of the list name the file of `saw`, or the folder that it lies
 * in? */
bool oracle_is_named(const struct sma_shell *shell, const struct saw *saw);

#endif
