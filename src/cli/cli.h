/*
 * cli.h — the command line: each command is one function that returns the exit status.
 */
#ifndef SMA_CLI_H
#define SMA_CLI_H

#include "sma/base.h"

int sma_cli_start(int argc, char **argv);
int sma_cli_init(int argc, char **argv);
int sma_cli_chat(int argc, char **argv);
int sma_cli_status(int argc, char **argv);
/* 0: all is well; 1: errors; 2: warnings alone */
int sma_cli_doctor(int argc, char **argv);
int sma_cli_alias(int argc, char **argv);
int sma_cli_policy(int argc, char **argv); /* 0 allow, 1 ask, 2 refuse, 3 an error */
int sma_cli_approvals(int argc, char **argv);
int sma_cli_grants(int argc, char **argv);
int sma_cli_pair(int argc, char **argv);
int sma_cli_trace(int argc, char **argv);
int sma_cli_usage(int argc, char **argv);
int sma_cli_compact(int argc, char **argv);
int sma_cli_config_keys(int argc, char **argv);
int sma_cli_simulate(int argc, char **argv); /* returns only when it failed */
/** Becomes a program of the package of simulators; argv[0] is its name. Returns only when it
 *  failed: the exit status. */
int sma_cli_become(const char *name, char **argv);
/** The file of this program, whatever name or link it was started by. */
SMA_CHECKED bool sma_cli_self(char *ret_path, size_t size);
int sma_cli_values(int argc, char **argv); /* ids, for completion */
int sma_cli_help(const char *command);     /* NULL: the overview */

/* One line on stderr, "shipmyagent: ...", and the exit status 1 to return. */
int sma_cli_fail(const char *format, ...) SMA_PRINTF(1, 2);
/* getopt_long met something it does not know: one line naming it. Returns 1. */
int sma_cli_bad_option(char **argv, int index, int option, const char *command);
/** Words for booleans on the command line (protocols/project.md §3): true 1 yes y on / false 0 no n
 *  off, any case. */
bool sma_cli_parse_bool(const char *text, bool *ret_value);

#endif
