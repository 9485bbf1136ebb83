/*
 * adapters.c — the one line per platform.
 */
#include "adapters.h"

#include "adapters/feishu/feishu.h"
#include "adapters/http/http.h"
#include "adapters/qq/qq.h"
#include "adapters/telegram/telegram.h"
#include "adapters/terminal/terminal.h"

const struct sma_adapter_entry sma_adapter_table[] = {
    {&sma_http_adapter_ops, .is_on_by_default = true, .is_http = true},
    {&sma_terminal_adapter_ops, .is_on_by_default = true},
    {.ops = &sma_telegram_adapter_ops},
    {.ops = &sma_feishu_adapter_ops},
    {.ops = &sma_qq_adapter_ops},
    {.ops = NULL},
};
