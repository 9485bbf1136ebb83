/*
 * scale.c — the helper program that decodes pictures: started, fed, bounded, waited for.
 *
 * Decoders of pictures are what hostile files are made for. The helper has no more than the open
 * file and a pipe: bubblewrap's walls where commands have them, limits of memory and time, and a
 * filter that leaves it reading, writing and computing (src/picture). Whatever becomes of it, all
 * that is taken is a head that counts its bytes, and those bytes.
 */
#include "media_priv.h"

#include "runtime/exec/helper.h"
#include "sma/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define HELPER_MS 20000u
#define HEAD_BYTES 8u /* "SMAP", and 4 bytes little-endian how many follow */

bool sma_media_find_helper(struct sma_buf *ret_path)
{
    return sma_helper_find("shrink-picture", ret_path);
}

static bool start(const struct sma_media_place *place, const struct sma_media_wish *wish,
                  const struct sma_media *media, struct sma_helper *helper)
{
    char side[16], bytes[24], orientation[8];
    snprintf(side, sizeof side, "%u", wish->max_side);
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)(wish->max_bytes / 4 * 3));
    snprintf(orientation, sizeof orientation, "%u", media->orientation);
    const char *const arguments[] = {side, bytes, orientation, NULL};
    const struct sma_helper_place where = {.program = place->helper,
                                           .bubblewrap = place->bubblewrap,
                                           .is_userns_last = place->is_userns_last};
    helper->is_stopped = wish->is_stopped;
    return sma_helper_start(&where, arguments, wish->fd, HELPER_MS, helper);
}

static void say_why(const struct sma_media *media, const struct sma_helper *helper, int code,
                    struct sma_buf *why)
{
    if (code == 2)
        sma_buf_printf(why, "it is damaged, or no %s after all", sma_media_name(media->type));
    else if (code == 3)
        sma_buf_put_text(why, "it could not be made small enough");
    else if (sma_helper_is_late(helper))
        sma_buf_put_text(why, "it takes too long to decode");
    else
        sma_buf_put_text(why, "it takes too much memory or time to decode, or is made to do harm");
}

char *media_scale(const struct sma_media_place *place, const struct sma_media_wish *wish,
                  const struct sma_media *media, size_t *ret_len, struct sma_buf *why)
{
    struct sma_helper helper = {.pid = 0};
    uint8_t head[HEAD_BYTES];
    if (place->helper == NULL || !start(place, wish, media, &helper)) {
        sma_buf_put_text(why, "it has to be made smaller or into another format, and the program "
                              "for that (shrink-picture) is not installed");
        return NULL;
    }
    size_t len = 0;
    char *bytes = NULL;
    bool is_whole = sma_helper_read(&helper, (char *)head, sizeof head) == sizeof head &&
                    memcmp(head, "SMAP", 4) == 0;
    if (is_whole) {
        len =
            (size_t)head[4] | (size_t)head[5] << 8 | (size_t)head[6] << 16 | (size_t)head[7] << 24;
        bytes = len == 0 || len > SMA_PART_FILE_BYTES_MAX ? NULL : malloc(len);
        is_whole = bytes != NULL && sma_helper_read(&helper, bytes, len) == len;
    }
    int code = sma_helper_end(&helper);
    if (is_whole && (code == 0 || code == -1)) { /* -1: somebody else has waited for it */
        *ret_len = len;
        return bytes;
    }
    free(bytes);
    say_why(media, &helper, code, why);
    return NULL;
}
