/*
 * scan.h — the skills of a project: what is there, and what the owner has accepted of it.
 *
 * A skill is a folder in a root (roots.h) with a SKILL.md. It is ACCEPTED when the record holds the
 * digest of everything in it; else it is held back (NEW, CHANGED) and the agent learns nothing of
 * its words: not its name, not its description. BROKEN ones are said to the owner alone.
 *
 * A snapshot is constant; the next look may use it to read only what has changed.
 * Threads: any; a snapshot may be read by several. Blocks: on the disk.
 */
#ifndef SMA_RUNTIME_SKILLS_SCAN_H
#define SMA_RUNTIME_SKILLS_SCAN_H

#include "runtime/skills/front.h"
#include "runtime/skills/tree.h"
#include "sma/buf.h"
#include "sma/config.h"

enum sma_skill_state
{
    SMA_SKILL_ACCEPTED,
    SMA_SKILL_NEW,     /* never accepted */
    SMA_SKILL_CHANGED, /* another content was */
    SMA_SKILL_BROKEN,
};
const char *sma_skill_state_name(enum sma_skill_state state);

struct sma_skill
{
    char *id;    /* name of its folder */
    char *place; /* where it really is: relative to the project, or absolute */
    char *root;  /* as the configuration has it */
    struct sma_skill_front front;
    struct sma_skill_tree tree; /* text NULL */
    enum sma_skill_state state;
    bool has_front_error; /* why: of its front matter, of which nothing is used */
    char *why;            /* BROKEN, or has_front_error; else NULL */
};
struct sma_skills
{
    struct sma_skill *list; /* by name, then by id */
    size_t count;
    bool has_record, is_record_damaged;
    char *notes; /* roots that are not used, what was left out: lines for people; "" */
};
/** What it is called: by its front matter, else its id. */
const char *sma_skill_name(const struct sma_skill *skill);
size_t sma_skills_count(const struct sma_skills *skills, enum sma_skill_state state);

/** @before: an earlier look of the same configuration or another one, or NULL. OK | NOMEM. */
SMA_CHECKED enum sma_err sma_skills_scan(const struct sma_config *config,
                                         const struct sma_skills *before,
                                         struct sma_skills **ret_skills);
void sma_skills_destroy(struct sma_skills *skills); /* accepts NULL */

/** Read the skill again, whole, as it is now. @ret_tree: with its text. Errors as
 *  sma_skill_tree_read. */
SMA_CHECKED enum sma_err sma_skill_read(const struct sma_config *config,
                                        const struct sma_skill *skill,
                                        struct sma_skill_tree *ret_tree, struct sma_error *error);
/** Its folder, open. @return -1 with *error */
int sma_skill_open(const struct sma_config *config, const struct sma_skill *skill,
                   struct sma_error *error);

/**
 * At the start of the service: a project without a record gets one, which accepts what is there
 * (none is there: nothing), so that what comes later is held back.
 * @ret_accepted  how many; 0 also when there was a record
 * @return OK | IO, NOSPACE, BUSY, NOMEM with *error: skills are held back until it works
 */
SMA_CHECKED enum sma_err sma_skills_begin(const struct sma_config *config, size_t *ret_accepted,
                                          struct sma_error *error);
/**
 * Accept these contents of these skills, if they still are what was shown: each is read again.
 * @return OK | BADINPUT: one is another by now, none is accepted | IO, NOSPACE, BUSY, NOMEM
 */
SMA_CHECKED enum sma_err sma_skills_accept(const struct sma_config *config,
                                           const struct sma_skill *const *shown, size_t count,
                                           struct sma_error *error);

#endif
