/* fuzz.h — the one function of a fuzz target; libFuzzer or replay.c calls it. */
#ifndef SMA_TEST_FUZZ_H
#define SMA_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#endif
