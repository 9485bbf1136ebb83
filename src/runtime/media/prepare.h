/*
 * prepare.h — a file made ready for a request to a model: its base64 in the folder of parts.
 *
 * What models take is given as it is. A picture that is over the limits, lies on its side (EXIF),
 * is not whole or has a format that models do not take goes through the helper program
 * (src/picture), which runs between the walls of commands. What cannot be given has a sentence
 * instead; nothing is an error.
 *
 * The folder .ship/.cache/parts holds <sha256 of the bytes the model gets>.b64, each written beside
 * its place and renamed: the same bytes have one file, and a reader sees all of it or none. Nothing
 * is synced: a file that a crash has spoilt has another length than is remembered of it, and is
 * made again.
 * Threads: any worker; no state. Blocks: on files, and up to MEDIA_HELPER_MS on the helper.
 */
#ifndef SMA_RUNTIME_MEDIA_PREPARE_H
#define SMA_RUNTIME_MEDIA_PREPARE_H

#include "runtime/media/media.h"
#include "sma/buf.h"

#define SMA_MEDIA_HASH_BYTES 65 /* sha256 in hex and its NUL */
#define SMA_MEDIA_WHY_BYTES_MAX 600

/* Where things are; constant. */
struct sma_media_place
{
    const char *state_dir;  /* .ship, absolute */
    const char *helper;     /* the program; NULL = it is not installed */
    const char *bubblewrap; /* NULL: no walls but the helper's own */
    bool is_userns_last;    /* bubblewrap can forbid further user namespaces */
    bool is_full;           /* the folder of parts: nothing is added */
};

struct sma_media_wish
{
    int fd;             /* open for reading; stays the caller's */
    uint64_t size;      /* when it was opened */
    uint32_t max_side;  /* pixels; 0 = any */
    uint64_t max_bytes; /* of the base64; 0 = any */
    const volatile int *is_stopped;
};

struct sma_media_made
{
    enum sma_media_type type;        /* of what the model gets; of the file when there is a why */
    char hash[SMA_MEDIA_HASH_BYTES]; /* "" when there is a why */
    uint64_t length;                 /* of the base64 */
    uint32_t width, height;          /* of the picture as it is given; width: pages of a PDF */
    uint64_t file_bytes;             /* of the original, as read */
};

/**
 * @why  appended: why it cannot be given, a sentence that goes on after "..., because"; empty: it
 *       can, and *ret_made says as what
 */
void sma_media_prepare(const struct sma_media_place *place, const struct sma_media_wish *wish,
                       struct sma_media_made *ret_made, struct sma_buf *why);

/**
 * Keep the folder of parts within its bounds: what was not used for 30 days goes, and over
 * SMA_PARTS_BYTES_SOFT the oldest that was not used for two days. @return bytes that are left.
 */
uint64_t sma_media_tidy(const char *state_dir, int64_t now_s);

/** The helper beside this program, if it is installed: path appended to *ret_path. */
bool sma_media_find_helper(struct sma_buf *ret_path);

#endif
