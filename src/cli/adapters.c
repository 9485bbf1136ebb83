/*
 * adapters.c — the adapters of this program: its own three, and every platform of SMA_PLATFORMS in
 * CMakeLists.txt, in that order.
 */
#include "adapters.h"

#include "adapters/http/http.h"
#include "adapters/terminal/terminal.h"

extern const struct sma_adapter_ops sma_hook_adapter_ops;
#define X(name) extern const struct sma_adapter_ops sma_##name##_adapter_ops;
#include "platforms.inc"
#undef X

const struct sma_adapter_entry sma_adapter_table[] = {
    {&sma_http_adapter_ops, .is_on_by_default = true, .is_http = true},
    {&sma_terminal_adapter_ops, .is_on_by_default = true},
    {&sma_hook_adapter_ops, .is_of_hooks = true},
#define X(name) {.ops = &sma_##name##_adapter_ops},
#include "platforms.inc"
#undef X
    {.ops = NULL},
};
