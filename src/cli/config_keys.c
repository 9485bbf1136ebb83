/*
 * config_keys.c — `shipmyagent config-keys docs|man|schema`: every key of ship.json, from the
 * tables that check it.
 */
#include "cli.h"

#include "adapters.h"
#include "commands.h"
#include "sma/buf.h"

#include <stdio.h>

#define TEXT_BYTES_MAX (1024 * 1024)

int sma_cli_config_keys(int argc, char **argv)
{
    static const struct
    {
        const char *name;
        void (*format)(struct sma_buf *buf, const struct sma_params *const *platforms);
    } forms[] = {{"docs", sma_config_format_docs},
                 {"man", sma_config_format_man},
                 {"schema", sma_config_format_schema}};
    for (size_t i = 0; argc == 2 && i < SMA_COUNT_OF(forms); i++) {
        if (strcmp(argv[1], forms[i].name) != 0)
            continue;
        struct sma_buf buf;
        sma_buf_init(&buf, TEXT_BYTES_MAX);
        forms[i].format(&buf, sma_cli_platforms());
        bool is_written = buf.err == SMA_ERR_OK && fwrite(buf.ptr, 1, buf.len, stdout) == buf.len;
        sma_buf_fini(&buf);
        return is_written ? 0 : sma_cli_fail("config-keys: cannot write them all");
    }
    return sma_cli_fail(
        "config-keys: which form? `shipmyagent config-keys docs`, `man` or `schema`");
}

const struct sma_cli_command sma_cli_command_config_keys = {.name = "config-keys",
                                                            .run = sma_cli_config_keys};
