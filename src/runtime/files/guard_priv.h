/* guard_priv.h — what guard.c, guard_write.c and guard_walk.c share. */
#ifndef SMA_TOOLS_GUARD_PRIV_H
#define SMA_TOOLS_GUARD_PRIV_H

#include "runtime/files/guard.h"

#include <limits.h>

struct sma_guard
{
    char *root;
    int root_fd;
    bool has_openat2, follows_no_link;
};

/* `path` and a reason in why. BADINPUT. */
enum sma_err guard_refuse(struct sma_buf *why, struct sma_str path, const char *reason);
enum sma_err guard_refuse_protected(struct sma_buf *why, struct sma_str path);
/* The sentence for errno. */
enum sma_err guard_tell_errno(struct sma_buf *why, struct sma_str path);
/* Through no link at all. Empty path: the root. -1 and errno. */
int guard_open_plain(const struct sma_guard *guard, const char *path, int flags);
/* Is the regular file a hard link of one that is protected from this use (or may it be)? */
bool guard_is_protected_link(const struct sma_guard *guard, const struct stat *stat,
                             enum sma_guard_use use);
/* File or folder; links inside the project are followed. */
enum sma_err guard_open_any(const struct sma_guard *guard, struct sma_str path, int flags,
                            enum sma_guard_use use, int *ret_fd, struct sma_buf *why);

/* -- guard_names.c ----------------------------------------------------------------------------- */
/** The path as it is on disk, where only the form of its letters differs (NFC, NFD). Appended to
 *  *found, an empty buffer. @return false: there is none */
bool guard_find_name(const struct sma_guard *guard, struct sma_str path, struct sma_buf *found);

#endif
