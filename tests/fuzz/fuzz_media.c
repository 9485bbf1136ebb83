/*
 * The beginning of any file that somebody sends. The first byte says how much the file claims to be
 * larger than what can be read of it.
 * Promises: a type, an orientation that exists, a part's kind; a bounded number of reads, none
 * longer than 64 KiB; nothing is whole that has no size.
 */
#include "fuzz.h"

#include "runtime/media/media.h"
#include "sma/messages.h"

#include <stdlib.h>

struct input
{
    const uint8_t *bytes;
    size_t len;
    size_t read_count;
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static ssize_t read_at(void *user, uint64_t offset, void *bytes, size_t len)
{
    struct input *input = user;
    require(len > 0 && len <= 64 * 1024 && ++input->read_count < 10000);
    if (offset >= input->len)
        return 0;
    size_t left = input->len - (size_t)offset, size = len < left ? len : left;
    memcpy(bytes, input->bytes + offset, size);
    return (ssize_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct input input = {bytes + 1, len - 1, 0};
    struct sma_media_source source = {read_at, &input, input.len};
    if ((bytes[0] & 1) != 0)
        source.size += (uint64_t)bytes[0] << 40;
    struct sma_media media = sma_media_look(&source);
    require(media.type < SMA_MEDIA_TYPE_COUNT);
    require(media.orientation >= 1 && media.orientation <= 8);
    require(media.part_kind == sma_media_part_kind(media.type));
    require(sma_media_mime(media.type)[0] != '\0' && sma_media_name(media.type)[0] != '\0');
    require(!sma_media_is_picture(media.type) || media.part_kind == SMA_PART_IMAGE);
    return 0;
}
