/*
 * given.h — files that come with a message itself: as bytes, or as a path in the project.
 *
 * Platforms name files that are fetched later (fetch.h); an HTTP request and a terminal bring
 * theirs along. Bytes are kept in a folder of the adapter under their hash and the name they came
 * with, so the same file given twice is one file and a repeated message has the same path; each
 * grows beside its place and is renamed, so what is there is whole. Nothing is synced. A path goes
 * through the guard of read_file (runtime/files/guard.h). What a file is its bytes say, not its
 * name.
 *
 * Threads: no state; any.  Blocks: on the file system.
 * Limits: SMA_ATTACHMENT_BYTES_MAX of one file; who takes several bounds their number.
 */
#ifndef SMA_ADAPTERS_COMMON_GIVEN_H
#define SMA_ADAPTERS_COMMON_GIVEN_H

#include "sma/buf.h"
#include "sma/messages.h"

#define SMA_GIVEN_PATH_BYTES_MAX 1024
#define SMA_GIVEN_NAME_BYTES_MAX 255

struct sma_sys;
struct sma_given
{
    struct sma_part part; /* its slices point into this struct: sma_given_part gives it */
    uint64_t hash;        /* of what must be equal when the same message comes again */
    char path[SMA_GIVEN_PATH_BYTES_MAX + 1], name[SMA_GIVEN_NAME_BYTES_MAX + 1];
};

/**
 * A file of the project, by its path as somebody wrote it.
 * @return OK | BADINPUT, NOTFOUND, TOOBIG, IO with one line in *error
 */
SMA_CHECKED enum sma_err sma_given_path(const char *project_dir, struct sma_str path,
                                        struct sma_given *ret_given, struct sma_error *error);

/** By the first bytes of an open file: a picture, a PDF or a sound, which models are shown. */
bool sma_given_is_shown(int fd);

/* A file that is being given: opened, bytes put, and finished or dropped. */
struct sma_given_place
{
    const struct sma_sys *sys;
    const char *project_dir;
    const char *folder; /* relative to it, with a slash at its end */
};
struct sma_given_sink;
/** NULL with one line in *error: no space, no memory. place and what it names outlive the sink. */
struct sma_given_sink *sma_given_open(const struct sma_given_place *place, struct sma_error *error);
/** Any number of bytes; what goes wrong is said by finish. */
void sma_given_put(struct sma_given_sink *sink, const void *bytes, size_t len);
/**
 * It is whole. Frees the sink, also when it fails: nothing is left then.
 * @name    as its sender called it, untrusted; empty = "file"
 * @return  OK | BADINPUT (empty), TOOBIG, NOSPACE, IO, NOMEM with one line in *error
 */
SMA_CHECKED enum sma_err sma_given_finish(struct sma_given_sink *sink, struct sma_str name,
                                          struct sma_given *ret_given, struct sma_error *error);
void sma_given_drop(struct sma_given_sink *sink); /* accepts NULL */

/** Put what base64 (RFC 4648, white space allowed, padding or not) stands for. false: it is none.
 */
SMA_CHECKED bool sma_given_put_base64(struct sma_given_sink *sink, struct sma_str base64);

/** The part, as it can go into a message: points into *given. */
struct sma_part sma_given_part(const struct sma_given *given);
/** Append a message's text as history keeps it: a line for each file, an empty line, the words. */
void sma_given_put_text(struct sma_buf *buf, const struct sma_given *items, uint32_t count,
                        struct sma_str words);

#endif
