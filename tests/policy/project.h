/*
 * project.h — the scratch project that commands run in: like a real one, with traps.
 *
 * Traps are files that start the program `canary` when something runs them as code: scripts named
 * like programs, a repository with hooks; recipes of other folders start `folder-canary`. The
 * project's own recipes start `recipe-make` and the like.
 */
#ifndef SMA_TESTS_POLICY_PROJECT_H
#define SMA_TESTS_POLICY_PROJECT_H

#include "observe.h" /* the paths */

/* What the policy is loaded with, index below PROJECT_POLICY_COUNT. */
#define PROJECT_POLICY_COUNT 4
extern const char *const PROJECT_POLICIES[PROJECT_POLICY_COUNT];

/* Make the project in the scratch system and remember it. */
bool project_make(void);
/* Bring back every file that is not as project_make() left it. */
void project_reset(void);
/* Is the file, by its path in the project, one that a rule of this policy runs or that steers the
 * service? NULL: no. */
const char *project_guards(const char *path, unsigned policy);

#endif
