/*
 * scripted_adapters.c — the adapter table of the crash loop's binary: the program's own and the
 * scripted platform.
 */
#include "adapters/http/http.h"
#include "adapters/terminal/terminal.h"
#include "cli/adapters.h"
#include "support/scripted_adapter.h"

const struct sma_adapter_entry sma_adapter_table[] = {
    {&sma_http_adapter_ops, .is_on_by_default = true, .is_http = true},
    {&sma_terminal_adapter_ops, .is_on_by_default = true},
    {&scripted_adapter_ops, .is_on_by_default = false},
    {.ops = NULL},
};
