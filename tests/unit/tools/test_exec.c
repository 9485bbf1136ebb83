/*
 * test_exec.c — commands as they run by default: in the sandbox where bubblewrap works, else like
 * test_exec_open.c.
 */
#define PERMISSIONS ""
#define SMALL_PERMISSIONS "{\"exec_shell\":{\"memoryMb\":128}}"
#include "exec_cases.h"
