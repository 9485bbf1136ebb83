/*
 * guard.h — the project's files for tools, and no other: everything is opened beneath the root by
 * handle.
 *
 * A path is relative to the project (an absolute one inside it is accepted), has no ".." and is
 * checked three times: by its name, by the kernel while it is opened (openat2 RESOLVE_BENEATH;
 * component by component without links where the kernel lacks it), and by the real name of what was
 * opened. Swapping a component for a link in between changes nothing that is read
 * or written: it fails.
 *
 * Not there for tools: `.env*` (but .env.example, .env.sample, .env.template), `.ship` (but
 * `.ship/.cache`, `.ship/public` and `.ship/logs/exec` for reading), git's config and credentials,
 * and what is a hard link of one of them. Not written: anything in `.git`. Written only after
 * people agreed: `ship.json`, `Agent.md`. Only regular files and folders are opened.
 * Threads: an instance is constant and may be shared. Blocks: on the disk; never on pipes or
 * devices.
 */
#ifndef SMA_TOOLS_GUARD_H
#define SMA_TOOLS_GUARD_H

#include "sma/buf.h"

#include <sys/stat.h>

#define SMA_GUARD_PATH_BYTES_MAX 4000
#define SMA_GUARD_LINK_SCAN_COUNT_MAX \
    50000 /* entries looked at to know a hard link; beyond it hard links are refused */
#define SMA_GUARD_FOLDER_ENTRY_COUNT_MAX 20000 /* of one folder; the rest is left out and said */
#define SMA_GUARD_DEPTH_MAX 64

struct sma_guard;
/** Open the project's folder. OK | NOTFOUND | IO | NOMEM. */
SMA_CHECKED enum sma_err sma_guard_create(const char *project_dir, struct sma_guard **ret_guard,
                                          struct sma_error *error);
void sma_guard_destroy(struct sma_guard *guard); /* accepts NULL */

/** From now on follow no link, not even one that stays inside: where rules name paths, another name
 *  would get around them. Before the instance is shared. */
void sma_guard_refuse_links(struct sma_guard *guard);

enum sma_guard_use
{
    SMA_GUARD_READ, /* read_file, read_more */
    SMA_GUARD_LIST, /* found by walking: what one chat was told the name of is not (.cache, logs) */
    SMA_GUARD_SEND, /* given out as it is: ship.json is not */
    SMA_GUARD_WRITE,
    /* sent by the delivery that it was made for: files of .ship/output, nothing else. Never for a
     * tool or for words of a model. */
    SMA_GUARD_OUTPUT,
};
enum sma_guard_class
{
    SMA_GUARD_PLAIN,
    SMA_GUARD_CAREFUL,   /* WRITE of ship.json or Agent.md: people must agree */
    SMA_GUARD_PROTECTED, /* not there for tools */
};
/** By name alone. `path` as sma_guard_clean gives it. Thread: any. */
enum sma_guard_class sma_guard_classify(struct sma_str path, enum sma_guard_use use);

/**
 * The one way to write a path: relative, without ".", empty parts and a slash at its end. Empty:
 * the project's folder.
 * @return OK and the path appended to ret_path | BADINPUT with a sentence in why
 */
SMA_CHECKED enum sma_err sma_guard_clean(const struct sma_guard *guard, struct sma_str path,
                                         struct sma_buf *ret_path, struct sma_buf *why);

/**
 * Open a regular file for reading (links inside the project are followed). `path` is clean.
 * @return OK and *ret_fd, *ret_stat | NOTFOUND | BADINPUT (not allowed, no regular file) | IO |
 * NOMEM, with a sentence in why
 */
SMA_CHECKED enum sma_err sma_guard_open(const struct sma_guard *guard, struct sma_str path,
                                        enum sma_guard_use use, int *ret_fd, struct stat *ret_stat,
                                        struct sma_buf *why);
/** Read a whole file of at most max bytes. *ret_bytes is malloc'ed, NUL-terminated. Errors as open
 *  | TOOBIG. */
SMA_CHECKED enum sma_err sma_guard_read(const struct sma_guard *guard, struct sma_str path,
                                        enum sma_guard_use use, size_t max, char **ret_bytes,
                                        size_t *ret_len, struct sma_buf *why);
/** Read a whole open file from its beginning; its position stays. TOOBIG | IO | NOMEM. */
SMA_CHECKED enum sma_err sma_guard_read_fd(int fd, size_t max, char **ret_bytes, size_t *ret_len);
/**
 * Replace a file, or make it with the folders above it: a new file beside it, fsync, renamed over
 * it, mode kept. Follows no link anywhere. OK | BADINPUT | NOSPACE | IO | NOMEM, with a sentence in
 * why.
 * @ret_is_new  may be NULL
 */
SMA_CHECKED enum sma_err sma_guard_write(const struct sma_guard *guard, struct sma_str path,
                                         struct sma_str bytes, bool *ret_is_new,
                                         struct sma_buf *why);

/**
 * The same, but only over what was seen: `seen` is what the file held (ptr NULL: there was none),
 * compared right before it is replaced. BUSY: it holds something else by now; nothing was written.
 * Other errors as sma_guard_write.
 */
SMA_CHECKED enum sma_err sma_guard_write_over(const struct sma_guard *guard, struct sma_str path,
                                              struct sma_str seen, struct sma_str bytes,
                                              struct sma_buf *why);

/* One entry of a walk. */
struct sma_guard_entry
{
    struct sma_str path; /* relative to the project; lives until the visitor returns */
    int folder_fd;       /* open the entry with it and `name`, O_NOFOLLOW */
    const char *name;
    const struct stat *stat; /* of the entry itself: a link is a link */
};
enum sma_guard_step
{
    SMA_GUARD_GO_ON, /* into it, when it is a folder */
    SMA_GUARD_SKIP,  /* not into it */
    SMA_GUARD_END,
};
typedef enum sma_guard_step sma_guard_visit_fn(void *user, const struct sma_guard_entry *entry);
/**
 * Visit what is below the folder `path` in order of name, folders before what they hold. Protected
 * entries are left out, links are not followed. *ret_is_cut: a folder had too many entries, was too
 * deep or could not be read. Errors as open. Thread: any.
 */
SMA_CHECKED enum sma_err sma_guard_walk(const struct sma_guard *guard, struct sma_str path,
                                        sma_guard_visit_fn *visit, void *user, bool *ret_is_cut,
                                        struct sma_buf *why);
/** Does `path` (relative, as somebody wrote it) lead to something inside the project that is not
 *  protected, links included? What does not exist counts by the folder it would lie in. For
 *  sma_policy_query. */
bool sma_guard_stays(const struct sma_guard *guard, struct sma_str path);
enum sma_guard_place
{
    /* a file, a folder, or nothing yet: a program that writes it writes it and nothing else */
    SMA_GUARD_ITSELF,
    SMA_GUARD_ANOTHER, /* through a link, one name of several, or no regular file */
    SMA_GUARD_NOWHERE, /* below a file: it cannot be written */
};
/** What would a program write that opens `path` (clean) for writing? */
enum sma_guard_place sma_guard_look(const struct sma_guard *guard, struct sma_str path);
/** May this path be written, as far as can be told without writing? Errors as sma_guard_write. */
SMA_CHECKED enum sma_err sma_guard_may_write(const struct sma_guard *guard, struct sma_str path,
                                             struct sma_buf *why);

#endif
