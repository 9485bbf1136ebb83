/*
 * write_judge.h — may a file of the project be written, whoever writes it: write_file, edit_file,
 * or a command?
 *
 * One verdict for one path: what only owners may change (owner_files.h, decisive.h, and the folders
 * of skills.paths) and scripts that rules run are always asked; the rest is for `write_repo` and
 * grants of people. Names that begin with a dot,
 * and the files of `public/` that the API serves (served.h), are asked about as well unless a
 * pattern of `write_repo` or a grant names them. Links and special files are not looked at here.
 * Threads: any; no state.
 */
#ifndef SMA_TOOLS_WRITE_JUDGE_H
#define SMA_TOOLS_WRITE_JUDGE_H

#include "runtime/files/file_rules.h"
#include "runtime/policy/policy.h"
#include "sma/messages.h"

struct sma_write_rules
{
    const struct sma_config *config; /* whose folders of skills are the owner's */
    const struct sma_policy *policy;
    const struct sma_file_rules *files;
    const struct sma_grant *grants;
    uint32_t grant_count;
    int64_t wall_ms; /* now, for grants */
};

struct sma_write_judgement
{
    enum sma_policy_write verdict;
    const char *rule, *reason; /* constant texts for people */
};

/** `path` as sma_guard_clean gives it. What no tool may write at all (sma_guard_classify) is
 *  REFUSED for tools and OWNER for commands; here it is OWNER. */
struct sma_write_judgement sma_write_judge(const struct sma_write_rules *rules,
                                           struct sma_str path);

#endif
