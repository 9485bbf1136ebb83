/*
 * fetch_place.h — an adapter's folder of attachments: what is there, and files on their way there.
 *
 * A file grows under another name and gets its own when it is whole, so what is there under its
 * name is complete.
 * Threads: the actor's. Blocks: on the file system, shortly (names, never contents).
 */
#ifndef SMA_ADAPTERS_COMMON_FETCH_PLACE_H
#define SMA_ADAPTERS_COMMON_FETCH_PLACE_H

#include "sma/base.h"

#define SMA_FETCH_PATH_BYTES_MAX 4096

struct sma_ctx;
struct sma_fetch_place
{
    struct sma_ctx *ctx;
    const char *project_dir;
    const char *folder; /* relative to the project, with a slash at its end */
};
/* A file that grows; {.fd = -1} = none. */
struct sma_fetch_temp
{
    int fd;
    char name[48]; /* in the folder */
};

/** Remove what an unclean end left half fetched. */
void sma_fetch_place_clean(const struct sma_fetch_place *place);
/** Whether the file is there whole. path: relative to the project. size: in bytes, -1 = not
 *  known. */
bool sma_fetch_place_has(const struct sma_fetch_place *place, struct sma_str path, int64_t size);
/** A new file, readable by its owner only; makes the folder. @return false: drop it all the same */
SMA_CHECKED bool sma_fetch_place_open(const struct sma_fetch_place *place,
                                      struct sma_fetch_temp *temp);
/** Where it grows. @return false: the path is too long */
SMA_CHECKED bool sma_fetch_place_path(const struct sma_fetch_place *place,
                                      const struct sma_fetch_temp *temp,
                                      char path[SMA_FETCH_PATH_BYTES_MAX]);
/** It is whole: it gets its own name, relative to the project. Drop it afterwards, also when it
 *  could not be. */
SMA_CHECKED bool sma_fetch_place_keep(const struct sma_fetch_place *place,
                                      struct sma_fetch_temp *temp, struct sma_str path);
/** Closed, and removed unless it was kept. */
void sma_fetch_place_drop(const struct sma_fetch_place *place, struct sma_fetch_temp *temp);

#endif
