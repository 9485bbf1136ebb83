/*
 * skills.h — what the files of `shipmyagent skills` share.
 *
 * Threads: the main thread of the command line.
 */
#ifndef SMA_CLI_SKILLS_H
#define SMA_CLI_SKILLS_H

#include "runtime/skills/scan.h"

struct sma_skills_options
{
    const char *verb, *what, *folder; /* what: of add and accept; NULL: not given */
    bool is_json, is_yes;
};
/** Everything that somebody who accepts a skill should see of it. @folder: open; @why_now: "new",
 *  "changed". Errors as sma_skill_tree_list. */
SMA_CHECKED enum sma_err sma_skills_print(const struct sma_skill *skill, int folder,
                                          const char *why_now, struct sma_error *error);
/** `skills add`: exit status. */
int sma_skills_add(const struct sma_config *config, const struct sma_skills_options *options);

#endif
