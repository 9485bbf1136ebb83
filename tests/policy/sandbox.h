/*
 * sandbox.h — the scratch system of the observer: namespaces, a read-only root, folders in memory.
 */
#ifndef SMA_TESTS_POLICY_SANDBOX_H
#define SMA_TESTS_POLICY_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/* Leave for namespaces of our own, as `uid` there. The next child is process 1 of its own process
 * namespace. */
bool sandbox_enter(unsigned uid, char *why, size_t why_size);
/* In process 1: its own /proc, or the one that is there where the kernel refuses. */
void sandbox_mount_proc(void);

#endif
