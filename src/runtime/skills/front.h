/*
 * front.h — the front matter of a SKILL.md: YAML between two lines of dashes, read by libyaml.
 *
 * It is untrusted: one pass over libyaml's events, without recursion; aliases and merges are
 * refused (a few lines of them stand for gigabytes), and depth, values and bytes are bounded
 * (limits.h).
 * Threads: any; no state. Blocks: never.
 */
#ifndef SMA_RUNTIME_SKILLS_FRONT_H
#define SMA_RUNTIME_SKILLS_FRONT_H

#include "sma/base.h"

/* NULL: it does not say. Of `allowed-tools`, `allowedTools`, `allowed_tools` the first counts. */
struct sma_skill_front
{
    char *name, *description, *license;
    char *allowed_tools, *metadata; /* whatever they are, as JSON */
};
/**
 * @text    the whole file; UTF-8, or it is refused
 * @return  OK (also without front matter: everything NULL) | BADINPUT with *error (nothing is taken
 *          from it) | NOMEM
 */
SMA_CHECKED enum sma_err sma_skill_front_parse(struct sma_str text,
                                               struct sma_skill_front *ret_front,
                                               struct sma_error *error);
void sma_skill_front_fini(struct sma_skill_front *front); /* accepts a zeroed struct */

#endif
