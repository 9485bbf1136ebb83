/*
 * observe_priv.h — what observe.c and observe_calls.c share: the filter and the reading of one
 * call.
 */
#ifndef SMA_TESTS_POLICY_OBSERVE_PRIV_H
#define SMA_TESTS_POLICY_OBSERVE_PRIV_H

#include "observe.h"

#include <linux/seccomp.h>

/* Give this process and its children the filter; the descriptor that hears of the calls, or -1. */
int observe_install_filter(void);
/* Write down what the call would do. */
void observe_note(int outer_proc, const struct seccomp_notif *call, struct observation *seen);

#endif
