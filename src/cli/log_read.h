/*
 * log_read.h — the log files of a project, .ship/logs/<UTC date>.jsonl, read as they were written,
 * also while no service runs and while one writes.
 *
 * Only whole lines are read. What is no JSON object is passed over.
 * Threads: one. Limits: SMA_CLI_LOG_LINE_BYTES_MAX of a line, longer ones are passed over.
 */
#ifndef SMA_CLI_LOG_READ_H
#define SMA_CLI_LOG_READ_H

#include "sma/base.h"

#include <jansson.h>

#define SMA_CLI_LOG_LINE_BYTES_MAX (1024 * 1024)

/* What is NULL or 0 does not narrow. */
struct sma_cli_log_wanted
{
    const char *chat;    /* its key; `*` at the end: all that begin so */
    const char *run;     /* its number */
    const char *message; /* the platform's id */
    int64_t since_ms;    /* wall clock */
    int level;           /* enum sma_log_level, at least */
};
/** root: the line as an object, the callee's for the call. false: read no further. */
typedef bool sma_cli_log_fn(void *user, json_t *root);

/** The last count_max lines that are wanted, oldest first; SIZE_MAX: all. @return 0 | 1, one line
 *  was said */
SMA_CHECKED int sma_cli_log_each(const char *state_dir, const struct sma_cli_log_wanted *wanted,
                                 size_t count_max, sma_cli_log_fn *each, void *user);
/** The same, and then each line as it is written, over midnight's new file, until `each` says
 *  false. */
SMA_CHECKED int sma_cli_log_follow(const char *state_dir, const struct sma_cli_log_wanted *wanted,
                                   size_t count_max, sma_cli_log_fn *each, void *user);

/** "10m" (s, m, h, d) before now_ms, "2026-11-23T09:00:00Z", without Z or without the time: local
 *  time. */
bool sma_cli_log_parse_since(const char *text, int64_t now_ms, int64_t *ret_ms);
/** "2026-11-22T20:01:02.345Z"; 0 = it is none. */
int64_t sma_cli_log_parse_time(const char *text);
/** "2026-11-22 21:01:02", local time, of such a text; "?" of another, "" of none. */
void sma_cli_log_local_time(const char *text, char buf[32]);
/** Of a line or of its details; "" when it is not there. */
const char *sma_cli_log_text(const json_t *object, const char *name);
/** enum sma_log_level by its word; -1 = none. */
int sma_cli_log_level(const char *word);

#endif
