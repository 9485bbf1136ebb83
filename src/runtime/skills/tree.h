/*
 * tree.h — everything that lies in a skill's folder, as one digest.
 *
 * SHA-256 over the names, kinds and contents of all files, in the order of their names: what has
 * the same digest is what the owner has accepted. Only files, folders, and links that stay in the
 * folder may be there; a pipe, a socket, a device or a link that leads out makes the skill broken.
 * Nothing is opened by following a link, and nothing that could block is opened.
 *
 * Reading is bounded (limits.h). A tree whose facts (inodes, sizes, times) are those of an earlier
 * look, and were older than its clock could blur, is not read again: its digest is the earlier one.
 * Threads: any. Blocks: on the disk.
 */
#ifndef SMA_RUNTIME_SKILLS_TREE_H
#define SMA_RUNTIME_SKILLS_TREE_H

#include "sma/base.h"

struct sma_skill_tree
{
    uint32_t entry_count; /* files, folders, links */
    uint64_t bytes;       /* of the files */
    uint8_t digest[32];
    uint64_t stamp;    /* of the facts of all entries */
    int64_t newest_ns; /* the newest change of any of them, wall time */
    int64_t looked_ns; /* when it was read, wall time */
    char *text;        /* SKILL.md, NUL-terminated; NULL: it was not read again */
    size_t text_len;
};
/* What one look at all skills may still read. */
struct sma_skill_budget
{
    uint32_t entries;
    uint64_t bytes;
};
/**
 * @folder    open; its position is not used
 * @before    an earlier look at it, or NULL: read it in any case
 * @return    OK (free ret_tree->text) | BADINPUT with *error: the skill is broken | NOMEM
 */
SMA_CHECKED enum sma_err sma_skill_tree_read(int folder, const struct sma_skill_tree *before,
                                             struct sma_skill_budget *budget,
                                             struct sma_skill_tree *ret_tree,
                                             struct sma_error *error);
/** "a/b\n" for each file, in order, at most `max` of them: for people. BADINPUT | NOMEM. */
struct sma_buf;
SMA_CHECKED enum sma_err sma_skill_tree_list(int folder, size_t max, struct sma_buf *buf,
                                             struct sma_error *error);

#endif
