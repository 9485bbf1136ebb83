/*
 * oracle.h — may a command that was allowed have done what it was seen to do?
 *
 * A program may be started when the list of the policy's reader has it with these words, or when a
 * program of the list starts it by its own nature (git its helpers, tar gzip: a closed table). A
 * file may be written when it lies in the project, is none of those that people must agree to, and
 * is none that git or the service keeps.
 */
#ifndef SMA_TESTS_POLICY_ORACLE_H
#define SMA_TESTS_POLICY_ORACLE_H

#include "observe.h"

struct sma_shell;

struct violation
{
    char what[400];     /* one line: who did what */
    char signature[96]; /* the same for violations of one kind */
};

/* The first thing in `seen` that `shell` (what was allowed by the policy of this number) does not
 * account for; false: there is none. */
bool oracle_find(const struct sma_shell *shell, unsigned policy, const struct observation *seen,
                 struct violation *ret_violation);

#endif
