/*
 * adapters.h — the table of adapters: adding a platform is one folder and
 * one word in SMA_PLATFORMS of CMakeLists.txt.
 */
#ifndef SMA_CLI_ADAPTERS_H
#define SMA_CLI_ADAPTERS_H

#include "sma/adapter.h"

struct sma_adapter_entry
{
    const struct sma_adapter_ops *ops;
    bool is_on_by_default; /* runs without a block in ship.json */
    bool is_http;          /* takes a port */
    bool is_of_hooks; /* runs when `hooks` of ship.json names any, without a block of its own */
};
/** The tables of their keys in ship.json, NULL at the end. */
const struct sma_params *const *sma_cli_platforms(void);
extern const struct sma_adapter_entry sma_adapter_table[]; /* ends with ops == NULL */

#endif
