/*
 * roots.h — the folders that hold skills: each of skills.paths, then `.claude/skills` and
 * `.agents/skills`.
 *
 * `~` is the home of who runs this; other paths are relative to the project. A root that is not
 * called `skills` and has a folder of that name stands for it. A root whose real place is outside
 * the project is left out unless skills.allowExternalPaths. One that is not there is no fault.
 * Threads: any. Blocks: on the disk.
 */
#ifndef SMA_RUNTIME_SKILLS_ROOTS_H
#define SMA_RUNTIME_SKILLS_ROOTS_H

#include "sma/config.h"
#include "sma/limits.h"

#define SMA_SKILL_ROOT_COUNT_MAX (SMA_SKILL_PATH_COUNT_MAX + 2)

struct sma_skill_root
{
    char *said;    /* as the configuration has it */
    char *real;    /* absolute, without links; NULL: it is not used */
    int fd;        /* open folder; -1: not used */
    char *problem; /* why it is not used; NULL: it is not there, or all is well */
};
struct sma_skill_roots
{
    struct sma_skill_root list[SMA_SKILL_ROOT_COUNT_MAX];
    size_t count;
};
/** OK | NOMEM. A root that is the same folder as an earlier one is not listed. */
SMA_CHECKED enum sma_err sma_skill_roots_open(const struct sma_config *config,
                                              struct sma_skill_roots *ret_roots);
void sma_skill_roots_close(struct sma_skill_roots *roots); /* accepts a zeroed struct */

/** Is the real path `path` the project's folder, or in it? */
bool sma_skill_is_inside(const struct sma_config *config, const char *path);
/** The real path of an open folder; false: it cannot be told. */
bool sma_skill_real_path(int fd, char *ret_path, size_t size);

#endif
