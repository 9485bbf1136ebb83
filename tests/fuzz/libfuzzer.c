/*
 * libfuzzer.c — what libFuzzer calls, for the one target of a program `fuzz_<name>`. A target has
 * a name of its own (SMA_FUZZ), so that they can also stand together in one program (replay.c).
 */
#include "fuzz.h"

int SMA_FUZZ(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    return SMA_FUZZ(bytes, len);
}
