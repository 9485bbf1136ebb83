/* prepare.c — which way a file goes: as it is, through the helper, or not at all. See prepare.h. */
#include "media_priv.h"

#include "sma/limits.h"
#include "sma/messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536u
#define MB (1024.0 * 1024.0)

static bool is_stopped(const struct sma_media_wish *wish)
{
    return wish->is_stopped != NULL && __atomic_load_n(wish->is_stopped, __ATOMIC_RELAXED) != 0;
}

static uint64_t base64_bytes(uint64_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

static bool is_too_long(const struct sma_media_wish *wish, uint64_t bytes)
{
    return wish->max_bytes > 0 && base64_bytes(bytes) > wish->max_bytes;
}

static bool is_too_wide(const struct sma_media_wish *wish, const struct sma_media *media)
{
    return wish->max_side > 0 && (media->width > wish->max_side || media->height > wish->max_side);
}

/* What the file is now is what it was when it was opened. */
static bool is_same(const struct sma_media_wish *wish, const struct stat *before)
{
    struct stat now;
    return fstat(wish->fd, &now) == 0 && now.st_size == before->st_size &&
           now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

static bool copy(const struct sma_media_wish *wish, struct media_sink *sink, struct sma_buf *why)
{
    uint64_t at = 0;
    char *bytes = malloc(READ_BYTES);
    if (bytes == NULL)
        return sma_buf_put_text(why, "memory is out"), false;
    while (at < wish->size && !is_stopped(wish)) {
        size_t len = wish->size - at < READ_BYTES ? (size_t)(wish->size - at) : READ_BYTES;
        ssize_t got = pread(wish->fd, bytes, len, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || !media_sink_put(sink, bytes, (size_t)got))
            break;
        at += (uint64_t)got;
    }
    free(bytes);
    return true; /* how far it came the caller sees by the length */
}

static void give_as_it_is(const struct sma_media_place *place, const struct sma_media_wish *wish,
                          struct sma_media_made *made, struct sma_buf *why)
{
    struct stat before;
    if (fstat(wish->fd, &before) != 0 || (uint64_t)before.st_size != wish->size) {
        sma_buf_put_text(why, "it is being changed while it is read");
        return;
    }
    struct media_sink *sink = media_sink_open(place->state_dir, why);
    if (sink == NULL)
        return;
    if (!copy(wish, sink, why)) {
        media_sink_drop(sink);
        return;
    }
    if (is_stopped(wish) || !is_same(wish, &before)) {
        sma_buf_put_text(why, is_stopped(wish) ? "the run was stopped"
                                               : "it is being changed while it is read");
        media_sink_drop(sink);
        return;
    }
    if (media_sink_finish(sink, made, why) && made->length != base64_bytes(wish->size)) {
        made->hash[0] = '\0';
        sma_buf_put_text(why, "it cannot be read to its end");
    }
}

struct memory
{
    const char *bytes;
    size_t len;
};

static ssize_t read_memory(void *user, uint64_t offset, void *bytes, size_t len)
{
    const struct memory *memory = user;
    if (offset >= memory->len)
        return 0;
    size_t left = memory->len - (size_t)offset;
    memcpy(bytes, memory->bytes + offset, len < left ? len : left);
    return (ssize_t)(len < left ? len : left);
}

static void give_scaled(const struct sma_media_place *place, const struct sma_media_wish *wish,
                        const struct sma_media *media, struct sma_media_made *made,
                        struct sma_buf *why)
{
    struct memory memory = {NULL, 0};
    char *bytes = media_scale(place, wish, media, &memory.len, why);
    if (bytes == NULL)
        return;
    memory.bytes = bytes;
    struct sma_media_source source = {read_memory, &memory, memory.len};
    struct sma_media out = sma_media_look(&source);
    struct media_sink *sink = NULL;
    if ((out.type != SMA_MEDIA_JPEG && out.type != SMA_MEDIA_PNG) || out.width == 0 ||
        is_too_wide(wish, &out) || is_too_long(wish, memory.len))
        sma_buf_put_text(why, "it could not be made small enough");
    else
        sink = media_sink_open(place->state_dir, why);
    if (sink != NULL) {
        (void)media_sink_put(sink, bytes, memory.len); /* finish says it */
        if (media_sink_finish(sink, made, why)) {
            made->type = out.type;
            made->width = out.width;
            made->height = out.height;
        }
    }
    free(bytes);
}

static void refuse_large(const struct sma_media_wish *wish, struct sma_buf *why)
{
    sma_buf_printf(why, "it has %.1f MB, and the model takes %.1f MB", (double)wish->size / MB,
                   (double)wish->max_bytes / 4 * 3 / MB);
}

static void prepare_picture(const struct sma_media_place *place, const struct sma_media_wish *wish,
                            const struct sma_media *media, struct sma_media_made *made,
                            struct sma_buf *why)
{
    uint64_t pixels = (uint64_t)media->width * media->height;
    if (pixels > SMA_PICTURE_PIXELS_MAX) {
        sma_buf_printf(why, "it has %u x %u pixels, and at most %u million are looked at",
                       media->width, media->height, (unsigned)(SMA_PICTURE_PIXELS_MAX / 1000000));
        return;
    }
    bool is_good =
        sma_media_is_given(media->type) && media->is_whole && pixels > 0 && media->orientation == 1;
    if (is_good && !is_too_wide(wish, media) && !is_too_long(wish, wish->size)) {
        made->width = media->width;
        made->height = media->height;
        give_as_it_is(place, wish, made, why);
        return;
    }
    give_scaled(place, wish, media, made, why);
}

void sma_media_prepare(const struct sma_media_place *place, const struct sma_media_wish *wish,
                       struct sma_media_made *ret_made, struct sma_buf *why)
{
    struct sma_media_source source = sma_media_of_fd(&wish->fd, wish->size);
    struct sma_media media = sma_media_look(&source);
    *ret_made = (struct sma_media_made){.type = media.type, .file_bytes = wish->size};
    if (wish->size > SMA_PART_FILE_BYTES_MAX) {
        sma_buf_printf(why, "it has %.0f MB, and at most %d MB are read", (double)wish->size / MB,
                       SMA_PART_FILE_BYTES_MAX / 1024 / 1024);
    } else if (place->is_full) {
        sma_buf_put_text(why,
                         "too many files were shown in the last days (.ship/.cache/parts is full)");
    } else if (sma_media_is_picture(media.type)) {
        prepare_picture(place, wish, &media, ret_made, why);
    } else if (media.type == SMA_MEDIA_TEXT) {
        sma_buf_put_text(why, "it is text: read_file shows it");
    } else if (media.type == SMA_MEDIA_EMPTY) {
        sma_buf_put_text(why, "it is empty");
    } else if (!sma_media_is_given(media.type)) {
        sma_buf_printf(why, "models take no %s", sma_media_name(media.type));
    } else if (is_too_long(wish, wish->size)) {
        refuse_large(wish, why);
    } else {
        ret_made->width = media.page_count;
        give_as_it_is(place, wish, ret_made, why);
    }
}
