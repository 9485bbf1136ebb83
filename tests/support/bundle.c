/*
 * bundle.c — the main of a program in which the tests of a folder stand together: the first
 * argument names one of them, which gets the rest. One process runs one test; what they share is a
 * file on disk and the time of the linker.
 */
#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wstrict-prototypes" /* some take arguments, some do not */
#define X(name) int main_##name();
#include SMA_BUNDLE
#undef X

static const struct
{
    const char *name;
    int (*run)();
} tests[] = {
#define X(name) {#name, main_##name},
#include SMA_BUNDLE
#undef X
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0)
            return tests[i].run(argc - 1, argv + 1);
    fprintf(stderr, "usage: %s TEST [ARGUMENT...]; TEST is one of\n", argv[0]);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        fprintf(stderr, "  %s\n", tests[i].name);
    return 2;
}
