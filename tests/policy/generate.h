/*
 * generate.h — one number, one shell command: random texts from the grammar of sh and bash.
 *
 * Half of them are made of what an ordinary policy allows, with ordinary words; the other half mix
 * in what attacks are made
 * of: options that run programs, words composed of variables, patterns that match files named like
 * options, code in subscripts, names of protected files. The same seed gives the same text.
 */
#ifndef SMA_TESTS_POLICY_GENERATE_H
#define SMA_TESTS_POLICY_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#define GENERATE_BYTES_MAX 4096

/* The text of this seed and the policy it is decided by (below PROJECT_POLICY_COUNT). */
void generate(uint64_t seed, char text[GENERATE_BYTES_MAX], unsigned *ret_policy);

#endif
