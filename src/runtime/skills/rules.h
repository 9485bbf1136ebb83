/*
 * rules.h — what an accepted skill may let its own scripts do, when the owner says so.
 *
 * `allowed-tools` of its front matter is a wish. With the skill's id in skills.allowRules, entries
 * that name a command, `Bash(COMMAND)` or `exec_shell(COMMAND)`, become rules like those of
 * permissions.exec_shell.allow, but only for a script of the skill itself: COMMAND is
 * `scripts/x.py ...` or `python3 scripts/x.py ...` with the path of a file in the skill's folder.
 * Everything else of the list grants nothing. A rule never undoes a refusal (policy.h).
 * Threads: any. Blocks: on the disk.
 */
#ifndef SMA_RUNTIME_SKILLS_RULES_H
#define SMA_RUNTIME_SKILLS_RULES_H

#include "runtime/skills/scan.h"

/** Does skills.allowRules name it, and is it accepted? */
bool sma_skill_has_rules(const struct sma_config *config, const struct sma_skill *skill);
/** Append its rules, a line each, as commands of the project's folder are written:
 *  "python3 .claude/skills/x/scripts/x.py". Nothing where it has none. */
void sma_skill_put_rules(struct sma_buf *buf, const struct sma_config *config,
                         const struct sma_skill *skill);

#endif
