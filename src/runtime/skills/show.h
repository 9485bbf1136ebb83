/*
 * show.h — what the model is told of skills: the section of the prompt, skills_list, skills_load.
 *
 * Only accepted skills are named. Of those that are held back the model learns how many there are,
 * so that it can tell its user what to do.
 * Threads: any. Blocks: sma_skill_put_loaded reads the skill.
 */
#ifndef SMA_RUNTIME_SKILLS_SHOW_H
#define SMA_RUNTIME_SKILLS_SHOW_H

#include "runtime/skills/scan.h"

/** Lines for the end of the system text; nothing without accepted skills. */
void sma_skills_put_prompt(struct sma_buf *buf, const struct sma_skills *skills);
/** {"success":true,"skills":[...]}, at most max bytes: what does not fit is counted. */
void sma_skills_put_list(struct sma_buf *buf, const struct sma_skills *skills, size_t max);
/**
 * The accepted skill of this id, else of this name, else the only one whose name holds it; without
 * case in the last step.
 * @return NULL: *why says what to do
 */
const struct sma_skill *sma_skills_find(const struct sma_skills *skills, struct sma_str name,
                                        struct sma_buf *why);
/**
 * {"success":true,"skill":{...},"content":...}, at most max bytes: a longer SKILL.md is cut and
 * that is said. The content is what was read just now and has the accepted digest.
 * @return OK | BADINPUT with a sentence in why | NOMEM
 */
SMA_CHECKED enum sma_err sma_skill_put_loaded(struct sma_buf *buf, const struct sma_config *config,
                                              const struct sma_skill *skill, size_t max,
                                              struct sma_buf *why);
#endif
