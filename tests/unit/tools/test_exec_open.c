/*
 * test_exec_open.c — commands without a sandbox: the same promises, kept with sessions, markers and
 * /proc.
 */
#define PERMISSIONS "{\"exec_shell\":{\"sandbox\":\"off\"}}"
#define SMALL_PERMISSIONS "{\"exec_shell\":{\"sandbox\":\"off\",\"memoryMb\":128}}"
#include "exec_cases.h"
