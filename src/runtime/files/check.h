/*
 * check.h — may this call of a working tool be done, and what exactly would be agreed to?
 *
 * One function for exec_shell, write_file, edit_file, send_file, react and sends to another chat:
 * standing, `permissions` of ship.json, grants, and the state of the files it touches decide.
 * Nothing is done. The digest covers everything that makes the call what it is (command, directory,
 * scripts; path, old and new content; receiver and text), so that what was agreed to can be told
 * from what would be done now.
 * Defaults: strangers get no tool at all; read_repo true; write_repo asks; exec_shell asks with rm
 * refused; sends elsewhere ask (`permissions.send_elsewhere`: "ask" default, "allow", "refuse");
 * send_file and react in the own chat are allowed.
 * Threads: rules are constant and shared; everything else belongs to the caller. Blocks: reads
 * project files.
 */
#ifndef SMA_TOOLS_CHECK_H
#define SMA_TOOLS_CHECK_H

#include "runtime/policy/policy.h"
#include "sma/config.h"
#include "sma/messages.h"

struct sma_tool_rules;
/** OK | BADINPUT (*error names member and remedy) | NOMEM. */
SMA_CHECKED enum sma_err sma_tool_rules_create(const struct sma_config *config,
                                               struct sma_tool_rules **ret_rules,
                                               struct sma_error *error);
void sma_tool_rules_destroy(struct sma_tool_rules *rules); /* accepts NULL */
/** Say on cards between what walls commands run: one of SMA_REQUEST_SANDBOX_*, a constant. Before
 *  the rules are shared. */
void sma_tool_rules_set_sandbox(struct sma_tool_rules *rules, const char *walls);
/** Not every secret of the project could be hidden from commands: none runs unasked until one could
 *  be started in which they all were. Thread: any. */
void sma_tool_rules_set_unhidden(struct sma_tool_rules *rules, bool is_unhidden);
/** Of the configuration's `exec_shell`; lives as long as the rules. */
const struct sma_policy *sma_tool_rules_policy(const struct sma_tool_rules *rules);
/** Two lines for the start log and `status`, "commands: ..." and "files: ...", each ended by a
 *  newline. Appends. */
void sma_tool_rules_describe(const struct sma_tool_rules *rules, struct sma_buf *buf);

/** What the command policy says of `command` where nobody has granted anything: for the command
 *  line. Nothing is done.
 *  Blocks: on files that the command names. */
void sma_tool_rules_decide(const struct sma_tool_rules *rules, struct sma_shell *shell,
                           struct sma_str command, struct sma_policy_decision *ret_decision);

struct sma_tool_check
{
    enum sma_tool_verdict verdict; /* ALLOWED, ASKS, REFUSED */
    uint8_t digest[32];
    bool is_complete; /* false: the digest cannot tell all; agreed to once at most */
    struct sma_policy_decision decision; /* rule, program, reason: for the audit line */
    uint8_t leaves_to;                   /* ALLOWED: as in struct sma_tool_answer */
};
/**
 * @wall_ms   now, for grants
 * @item      ASKS: the item of request.h is appended (call 0)
 * @why       REFUSED or a bad argument: the sentence for the model is appended
 * @return OK | BADINPUT (an argument; *why says what was expected) | NOMEM
 */
SMA_CHECKED enum sma_err sma_tool_check(const struct sma_tool_rules *rules,
                                        const struct sma_tool_ask *ask, int64_t wall_ms,
                                        struct sma_shell *shell, struct sma_tool_check *ret_check,
                                        struct sma_buf *item, struct sma_buf *why);

#endif
