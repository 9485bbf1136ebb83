/*
 * file_rules.h — `permissions.read_repo`, `write_repo` and `send_elsewhere` of ship.json, and
 * patterns of paths.
 *
 *   "read_repo":  true (default) | false | {"paths": [pattern]} "write_repo": true | false |
 *   {"paths": [pattern], "requiresApproval": bool (default true)}; absent: every write asks
 *   "send_elsewhere": "ask" (default) | "allow" | "refuse"
 * A pattern is a path: * and ? stand for characters within a name, a name of two stars for any
 * number of folders (src and two
 * stars: everything below src), {a,b} for either. A pattern without a slash but with a star means a
 * name anywhere; "docs/" is everything below docs.
 * Source: protocols/project.md §10.1, §10.3, §2.3 (both eras).
 * Threads: an instance is constant and may be shared.
 */
#ifndef SMA_TOOLS_FILE_RULES_H
#define SMA_TOOLS_FILE_RULES_H

#include "sma/base.h"

struct sma_buf;

#define SMA_FILE_RULES_PATTERN_COUNT_MAX 1024 /* of one list; beyond it start refuses */
#define SMA_FILE_RULES_PATTERN_BYTES_MAX 1000

enum sma_file_verdict
{
    SMA_FILE_ALLOW,
    SMA_FILE_ASK,
    SMA_FILE_REFUSE,
};

struct sma_file_rules;
/** @permissions_json  raw, "" or NULL: the defaults. OK | BADINPUT (*error names member and remedy)
 *  | NOMEM. */
SMA_CHECKED enum sma_err sma_file_rules_parse(const char *permissions_json,
                                              struct sma_file_rules **ret_rules,
                                              struct sma_error *error);
void sma_file_rules_destroy(struct sma_file_rules *rules); /* accepts NULL */
/** ALLOW or REFUSE. `path` as sma_guard_clean gives it. */
enum sma_file_verdict sma_file_rules_read(const struct sma_file_rules *rules, struct sma_str path);
enum sma_file_verdict sma_file_rules_write(const struct sma_file_rules *rules, struct sma_str path);
enum sma_file_verdict sma_file_rules_send(const struct sma_file_rules *rules);
/** Do patterns say which files are read? */
bool sma_file_rules_names_read(const struct sma_file_rules *rules);
/** Do patterns say which files are written? */
bool sma_file_rules_names_written(const struct sma_file_rules *rules);
/** Is no file at all to be read? */
bool sma_file_rules_reads_nothing(const struct sma_file_rules *rules);

/** One clause for the start log, like "read freely, written after asking; messages to other chats
 *  are asked". Appends. */
void sma_file_rules_describe(const struct sma_file_rules *rules, struct sma_buf *buf);

/** Does the pattern fit the path (both relative, clean)? Time is bounded by the product of their
 *  lengths. */
bool sma_glob_fits(struct sma_str pattern, struct sma_str path);

#endif
