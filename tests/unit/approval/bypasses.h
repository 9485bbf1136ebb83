/* bypasses.h — commands that must never be allowed silently, and ordinary ones that must not be
 * asked about. */
#ifndef SMA_TEST_BYPASSES_H
#define SMA_TEST_BYPASSES_H

#include <stddef.h>

/* The policy both tables are judged by: a sensible one of a programmer's project. */
extern const char BYPASS_PERMISSIONS[];
extern const char *const BYPASSES[];
extern const size_t BYPASS_COUNT;
extern const char *const ORDINARY[];
extern const size_t ORDINARY_COUNT;

#endif
