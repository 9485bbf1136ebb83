/*
 * memory.h — what people want remembered: Markdown files, and the index that finds in them.
 *
 * The files are the truth: `<folder>/project.md` and `<folder>/users/<userKey>.md`, userKey being
 * the person ("telegram:1001") as a file name. People edit them. `<folder>/index.db` (SQLite, FTS5)
 * is made from them, follows them, and is made anew whenever it is missing or damaged (adr 0062).
 *
 * Who may read a fact is decided when it is written, and is part of every question to the index:
 *   project.md                    everybody
 *   users/X.md                    X, in private
 *   ... a line with `in <group>`  those who are in that group, in that group
 * A scope names one person and at most one group. In a group the private facts of its people are in
 * no scope at all. The words of the index carry their audience, so that a question touches no other
 * facts (memory_words.h), and the rows are asked for by audience, too.
 *
 * What cannot be read (no UTF-8, too large, not a plain file) is neither recalled nor written over.
 *
 * Threads: an instance belongs to one thread. Blocks: on the disk.
 * Limits:  SMA_MEMORY_*_MAX (limits.h).
 */
#ifndef SMA_RUNTIME_MEMORY_MEMORY_H
#define SMA_RUNTIME_MEMORY_MEMORY_H

#include "runtime/memory/memory_text.h"
#include "sma/sys.h"

struct sma_memory;
struct sma_secrets;

/* For whom something is asked or written. */
struct sma_memory_scope
{
    struct sma_str person; /* "telegram:1001"; "" = nobody is known: project facts only */
    struct sma_str group;  /* chat key of the group that it happens in; "" = in private */
    bool is_project;       /* of a new fact: for everybody; lists: these alone */
    bool is_here;          /* lists: without those for everybody */
    bool is_own;           /* lists, forgetting: only what stands in this person's file */
};

struct sma_memory_fact
{
    uint64_t id; /* the same for the same words of the same scope */
    enum sma_memory_kind kind;
    uint8_t importance;
    struct sma_str text, tags, person, group; /* person "" = of the project */
};
/** One fact; its texts live until it returns. An error ends the walk. */
typedef enum sma_err sma_memory_each_fn(void *user, const struct sma_memory_fact *fact);

struct sma_memory_options
{
    const char *folder;
    const struct sma_sys *sys;
    const struct sma_secrets *secrets; /* borrowed; NULL = none. A line that holds one is passed
                                          over, a fact that does is refused */
    /* for a moment, beside another process or actor that keeps the index: follows the files that
     * it is asked about alone, and of them a few changes; throws nothing away, waits for nobody */
    bool is_guest;
    bool is_thorough; /* a guest that nobody waits for: follows as much as it is asked about */
};
/** Nothing is opened before something is asked and there is a file to be asked about. OK | NOMEM */
SMA_CHECKED enum sma_err sma_memory_create(const struct sma_memory_options *options,
                                           struct sma_memory **ret_memory);
void sma_memory_destroy(struct sma_memory *memory); /* accepts NULL */
/** What was wrong with the last call that failed, or with a file that was passed over; cleared by
 *  reading it. "" = nothing. */
struct sma_str sma_memory_trouble(struct sma_memory *memory);

/** Follow what people changed: every file whose size, time or place is another one by now. */
SMA_CHECKED enum sma_err sma_memory_look(struct sma_memory *memory);
/** A guest that is not thorough: more has changed than it may take into the index. It has answered
 *  of what the index knew; who keeps the index is to look. */
bool sma_memory_is_behind(const struct sma_memory *memory);
/** May there be something to recall? Costs no system call but once in SMA_MEMORY_LOOK_S. */
bool sma_memory_has_any(struct sma_memory *memory, uint64_t now_ns);

/**
 * What of this scope fits the text best, at most limit: by words (bm25) and importance; what is of
 * importance 8 and more fills up. Of words that very many facts hold, the newest of these count.
 * Follows the files of the scope first.
 */
SMA_CHECKED enum sma_err sma_memory_recall(struct sma_memory *memory,
                                           const struct sma_memory_scope *scope,
                                           struct sma_str text, uint32_t limit,
                                           sma_memory_each_fn *each, void *user);
/** The same by words alone; none of them: nothing. */
SMA_CHECKED enum sma_err sma_memory_search(struct sma_memory *memory,
                                           const struct sma_memory_scope *scope,
                                           struct sma_str text, uint32_t limit,
                                           sma_memory_each_fn *each, void *user);
/** All of it in the order of the files, from the offset-th on. */
SMA_CHECKED enum sma_err sma_memory_list(struct sma_memory *memory,
                                         const struct sma_memory_scope *scope, uint32_t offset,
                                         uint32_t limit, sma_memory_each_fn *each, void *user);
/** Likewise of one file, whatever group its lines are of: person "" = project.md. For owners. */
SMA_CHECKED enum sma_err sma_memory_list_file(struct sma_memory *memory, struct sma_str person,
                                              sma_memory_each_fn *each, void *user);

/* What is to be remembered. */
struct sma_memory_new
{
    struct sma_str text, tags;
    enum sma_memory_kind kind;
    uint8_t importance; /* 0 = usual */
    uint64_t replaces;  /* the id of an own fact whose place it takes; 0 = none */
    bool is_question;   /* nothing is written: OK = it would be */
    bool merges;        /* one of the same kind that holds its words, or whose words it holds, is
                           the same fact: the longer one stays */
    int64_t wall_ms;
};
/**
 * Write a fact into its file; durable when this returns.
 * @return OK, *ret_id | EXISTS: it is there already, *ret_id | BADINPUT (blank, or a secret) |
 *         TOOBIG (the text) | FULL (the file) | NOTFOUND (what it replaces) | CORRUPT (the file is
 *         left alone) | IO | NOSPACE | NOMEM
 */
SMA_CHECKED enum sma_err sma_memory_upsert(struct sma_memory *memory,
                                           const struct sma_memory_scope *scope,
                                           const struct sma_memory_new *fact, uint64_t *ret_id);
/** Delete these lines of the scope's own file (project.md with is_project); durable when this
 *  returns. Unknown ids are passed over. */
SMA_CHECKED enum sma_err sma_memory_forget(struct sma_memory *memory,
                                           const struct sma_memory_scope *scope,
                                           const uint64_t *ids, uint32_t count,
                                           uint32_t *ret_count);
/** Is this fact there, and may this scope read it? Of what was followed already. */
SMA_CHECKED enum sma_err sma_memory_has(struct sma_memory *memory,
                                        const struct sma_memory_scope *scope, uint64_t id,
                                        bool *ret_is_there);
/** Something was deleted here or by a guest: what is left of it in the index is to go, too. */
void sma_memory_want_scrub(struct sma_memory *memory);
/** Is there such work? Also after many facts were added: a merged index is asked faster. */
bool sma_memory_wants_scrub(const struct sma_memory *memory);
/**
 * A short piece of that work. *ret_is_done: there is nothing left to do. What is deleted is gone
 * from tables and WAL then, as far as SQLite can tell (secure_delete).
 */
SMA_CHECKED enum sma_err sma_memory_scrub(struct sma_memory *memory, bool *ret_is_done);
/** The name of a person's file, without folder: enc(person) and ".md"; of a long one its hash. */
void sma_memory_put_file_name(struct sma_buf *buf, struct sma_str person);

#endif
