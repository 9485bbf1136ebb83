/*
 * media.h — what a file is by its bytes, and what of it a model can be given.
 *
 * The beginning of a file says its type, and for pictures their size; nothing is decoded here.
 * Names and what a platform says of a file are not asked. Every parser reads a bounded number of
 * small pieces, whatever lengths the file claims.
 * Threads: any; no state. Blocks: on the source's reads.
 */
#ifndef SMA_RUNTIME_MEDIA_H
#define SMA_RUNTIME_MEDIA_H

#include "sma/base.h"

#include <sys/types.h>

enum sma_media_type
{
    SMA_MEDIA_UNKNOWN, /* binary */
    SMA_MEDIA_EMPTY,
    SMA_MEDIA_TEXT, /* has no NUL: read_file shows it */
    SMA_MEDIA_PNG,
    SMA_MEDIA_JPEG,
    SMA_MEDIA_GIF,
    SMA_MEDIA_WEBP,
    SMA_MEDIA_BMP,
    SMA_MEDIA_TIFF,
    SMA_MEDIA_HEIC,
    SMA_MEDIA_AVIF,
    SMA_MEDIA_PDF,
    SMA_MEDIA_WAV,
    SMA_MEDIA_MP3,
    SMA_MEDIA_OGG,
    SMA_MEDIA_M4A,
    SMA_MEDIA_AMR,
    SMA_MEDIA_SILK,
    SMA_MEDIA_VIDEO,
    SMA_MEDIA_TYPE_COUNT
};

/* Bytes [offset, offset + len) of a file; fewer at its end. @return how many, -1 on an error */
struct sma_media_source
{
    ssize_t (*read_at)(void *user, uint64_t offset, void *bytes, size_t len);
    void *user;
    uint64_t size; /* of the file when it was opened */
};
/** A source over an open file; `fd` must live as long as the source is used. */
struct sma_media_source sma_media_of_fd(const int *fd, uint64_t size);

struct sma_media
{
    enum sma_media_type type;
    uint8_t part_kind;      /* enum sma_part_kind: what it is to a model */
    uint32_t width, height; /* of pictures, as they are stored; 0 = the header does not say */
    uint8_t orientation;    /* EXIF: 1..8; 1 = as it is stored */
    bool is_whole;          /* pictures: it ends as its format does */
    uint32_t page_count;    /* PDF, counted roughly; 0 = not known */
};

/** Look at a file. Never an error: what cannot be told is UNKNOWN. */
struct sma_media sma_media_look(const struct sma_media_source *source);
/** "image/png"; "application/octet-stream" for UNKNOWN. */
const char *sma_media_mime(enum sma_media_type type);
/** "PNG picture", "Ogg sound", for sentences. */
const char *sma_media_name(enum sma_media_type type);
/** enum sma_part_kind: what a file of this type is to a model. */
uint8_t sma_media_part_kind(enum sma_media_type type);
/** Models take this as it is. */
bool sma_media_is_given(enum sma_media_type type);
/** A picture that the helper program can turn into one that models take. */
bool sma_media_is_picture(enum sma_media_type type);

#endif
