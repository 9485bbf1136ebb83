/*
 * record.h — which skills the owner has accepted: `.ship/skills.json`, a digest (tree.h) for each
 * place.
 *
 * `.ship` is out of reach of commands in the sandbox and of file tools. The file is replaced whole
 * (new file, fsync, rename), under a lock, so that a kill leaves the old or the new one. A damaged
 * record accepts nothing: the skills are held back until they are accepted again, none is lost.
 * Threads: an instance belongs to one thread. Blocks: on the disk.
 */
#ifndef SMA_RUNTIME_SKILLS_RECORD_H
#define SMA_RUNTIME_SKILLS_RECORD_H

#include "sma/base.h"

struct sma_skill_record;
enum sma_skill_accepted
{
    SMA_SKILL_UNKNOWN,
    SMA_SKILL_OTHER, /* another content of it was accepted */
    SMA_SKILL_SAME,
};
/** OK | NOTFOUND: there never was one | BADINPUT: damaged | IO | NOMEM, with *error. */
SMA_CHECKED enum sma_err sma_skill_record_load(const char *state_dir,
                                               struct sma_skill_record **ret_record,
                                               struct sma_error *error);
/** An empty one. NOMEM. */
SMA_CHECKED enum sma_err sma_skill_record_create(struct sma_skill_record **ret_record);
void sma_skill_record_destroy(struct sma_skill_record *record); /* accepts NULL */
enum sma_skill_accepted sma_skill_record_find(const struct sma_skill_record *record,
                                              const char *place, const uint8_t digest[32]);
/** NOMEM. */
SMA_CHECKED enum sma_err sma_skill_record_put(struct sma_skill_record *record, const char *place,
                                              const uint8_t digest[32]);
/** OK | IO | NOSPACE | NOMEM | TOOBIG with *error. The lock is held. */
SMA_CHECKED enum sma_err sma_skill_record_save(const struct sma_skill_record *record,
                                               const char *state_dir, struct sma_error *error);
/** One at a time reads, changes and saves. @return a descriptor, to be closed | -1 with *error:
 *  another one holds it (after `wait_ms`), or the folder cannot be written */
int sma_skill_record_lock(const char *state_dir, int wait_ms, struct sma_error *error);

#endif
