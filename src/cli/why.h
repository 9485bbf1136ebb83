/*
 * why.h — `shipmyagent why`, in two parts: what the service knows (why.c) and what the log tells
 * (why_log.c).
 */
#ifndef SMA_CLI_WHY_H
#define SMA_CLI_WHY_H

#include "sma/base.h"

/* "2026-11-23 10:01:02", local; blank when it is none. */
void sma_cli_why_print_time(const char *time);
/** Sentence and remedy of a reason's word, indented. Nothing when it is unknown. */
void sma_cli_why_explain(const char *word);
/** By the platform's id, or by the chat's key (then the last count of it). *ret_count: lines that
 *  were printed. has_rows: what has a row was told already. @return 0 | 1, one line was said */
struct sma_cli_why_log
{
    const char *message, *chat; /* NULL: any; not both */
    size_t count;
    bool has_rows;
};
SMA_CHECKED int sma_cli_why_log(const char *state_dir, const struct sma_cli_why_log *asked,
                                size_t *ret_count);

#endif
