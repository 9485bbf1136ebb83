/*
 * sizes.h — how much room the files of a project take.
 */
#ifndef SMA_CLI_SIZES_H
#define SMA_CLI_SIZES_H

/** Print one line for each folder of .ship that grows. Blocks: looks at every file. */
void sma_cli_print_sizes(const char *state_dir);

#endif
