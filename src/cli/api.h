/*
 * api.h — the running service of a project, asked over its own HTTP API.
 */
#ifndef SMA_CLI_API_H
#define SMA_CLI_API_H

#include "sma/buf.h"

#include <jansson.h>

#define SMA_CLI_NOT_RUNNING 3 /* exit status */
#define SMA_CLI_ANSWER_BYTES_MAX (16 * 1024 * 1024)

struct sma_cli_api
{
    char state_dir[4096 + 16];
    char base[512];   /* "http://127.0.0.1:3000" */
    char token[4097]; /* empty: none */
    long wait_ms;     /* for an answer; 0: 30 s */
};

/**
 * Find the service that serves `folder`.
 * @command whose name stands before an error
 * @return 0 | SMA_CLI_NOT_RUNNING, nothing was said | 1, one line was said
 */
SMA_CHECKED int sma_cli_api_open(const char *command, const char *folder, struct sma_cli_api *api);
/** The line "not running: FOLDER", or what stands in the way of ever running there. */
void sma_cli_api_say_not_running(const char *folder);
/**
 * One request; waits for 30 s at most. The answer's body is appended.
 * @json  body of a POST; NULL: a GET
 * @return 0, whatever the service answered (*ret_status) | 1, one line was said
 */
SMA_CHECKED int sma_cli_api_call(const struct sma_cli_api *api, const char *command,
                                 const char *path, const char *json, struct sma_buf *answer,
                                 long *ret_status);
/**
 * GET path as a JSON object. answer receives its text.
 * @ret_root  a new reference; NULL: the service answered 404 (*ret_status)
 * @return 0 | 1, one line was said
 */
SMA_CHECKED int sma_cli_api_get(const struct sma_cli_api *api, const char *command,
                                const char *path, json_t **ret_root, struct sma_buf *answer,
                                long *ret_status);
/** As in a query: letters, digits and -._~ stay, everything else is %XX. Source: RFC 3986, 2.3. */
void sma_cli_put_encoded(struct sma_buf *buf, const char *text);
/** On stdout: `text` with every control character taken out, line ends as blanks. */
void sma_cli_print_clean(struct sma_str text);
/** The same of several lines, at most `max` of them, and how many more there are. */
void sma_cli_print_lines(struct sma_str text, const char *indent, size_t max);

#endif
