/*
 * beneath.h — the one way to open a file of the project: beneath its folder, by handle, through no
 * link.
 *
 * A name in the project may be exchanged for a link by whoever may write there; what is read
 * through it would be another file's words (a key as the text of a prompt). So no part of a name is
 * followed where it is a link, and none leads out. The folder itself may be reached through links:
 * it is the owner's word.
 * Source: openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS; Linux before 5.6 and filters that do
 * not know the call get the same part by part.
 * Threads: any; no state. Blocks: on the disk.
 */
#ifndef SMA_BENEATH_H
#define SMA_BENEATH_H

#include "sma/base.h"

/** May links be followed that stay beneath? */
enum sma_beneath_links
{
    SMA_BENEATH_NO_LINKS,
    SMA_BENEATH_INNER_LINKS, /* only where the kernel has openat2 */
};

/**
 * Open `path` beneath the folder `root`; "" is the folder itself. O_CLOEXEC, and without O_PATH
 * O_NONBLOCK and O_NOCTTY, are added to `flags`.
 * @return a descriptor, or -1 and errno: ELOOP a link, EXDEV it leads out, as openat otherwise
 */
int sma_open_beneath(int root, const char *path, int flags, enum sma_beneath_links links);
/** The same without openat2, and without links; sma_open_beneath falls back to it. */
int sma_open_by_parts(int root, const char *path, int flags);
/** As sma_open_beneath without links, beneath the folder of this name. */
int sma_open_in(const char *folder, const char *path, int flags);

/**
 * Read a whole regular file of at most `max` bytes that lies in `folder`.
 * @return OK and *ret_bytes (malloc'ed, NUL-terminated) | NOTFOUND | TOOBIG | NOMEM | IO |
 * BADINPUT: a link on the way, or no regular file (*error says which name and what to do)
 */
SMA_CHECKED enum sma_err sma_read_beneath(const char *folder, const char *path, size_t max,
                                          char **ret_bytes, size_t *ret_len,
                                          struct sma_error *error);

#endif
