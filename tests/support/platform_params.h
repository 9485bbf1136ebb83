/*
 * platform_params.h — the tables of every adapter, in the order of the program's own list.
 */
#ifndef TESTS_PLATFORM_PARAMS_H
#define TESTS_PLATFORM_PARAMS_H

#include "adapters/feishu/feishu.h"
#include "adapters/http/http.h"
#include "adapters/qq/qq.h"
#include "adapters/telegram/telegram.h"
#include "adapters/terminal/terminal.h"

/** NULL at the end. */
static inline const struct sma_params *const *platform_params(void)
{
    static const struct sma_params *tables[6];
    tables[0] = sma_http_adapter_ops.params;
    tables[1] = sma_terminal_adapter_ops.params;
    tables[2] = sma_telegram_adapter_ops.params;
    tables[3] = sma_feishu_adapter_ops.params;
    tables[4] = sma_qq_adapter_ops.params;
    return tables;
}

#endif
