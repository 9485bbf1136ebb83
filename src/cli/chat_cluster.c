/* chat_cluster.c — see chat_cluster.h. */
#include "chat_cluster.h"

#include <utf8proc.h>

#define VARIATION_EMOJI 0xFE0F
#define FLAG_FIRST 0x1F1E6
#define FLAG_LAST 0x1F1FF
#define LOOK_BACK_BYTES 256 /* a longer cluster is cut: nobody types one */

/* Length of the code point at text[at]; *ret_code U+FFFD for an invalid byte. */
static size_t step(struct sma_str text, size_t at, utf8proc_int32_t *ret_code)
{
    utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                            (utf8proc_ssize_t)(text.len - at), ret_code);
    if (len > 0)
        return (size_t)len;
    *ret_code = 0xFFFD;
    return 1;
}

static unsigned width_of(utf8proc_int32_t code)
{
    if (code == VARIATION_EMOJI || (code >= FLAG_FIRST && code <= FLAG_LAST))
        return 2;
    int width = utf8proc_charwidth(code);
    return width < 0 ? 0 : (unsigned)width;
}

size_t sma_cluster_next(struct sma_str text, size_t at, unsigned *ret_width)
{
    utf8proc_int32_t code, next, state = 0;
    size_t end = at + step(text, at, &code);
    unsigned width = width_of(code);
    while (end < text.len) {
        size_t len = step(text, end, &next);
        if (utf8proc_grapheme_break_stateful(code, next, &state))
            break;
        if (width_of(next) > width)
            width = width_of(next);
        code = next;
        end += len;
    }
    if (ret_width != NULL)
        *ret_width = width;
    return end - at;
}

size_t sma_cluster_begin(struct sma_str text, size_t at)
{
    size_t from = at > LOOK_BACK_BYTES ? at - LOOK_BACK_BYTES : 0;
    while (from > 0 && ((unsigned char)text.ptr[from] & 0xC0) == 0x80)
        from--; /* not into the middle of a character */
    for (size_t begin = from;;) {
        size_t end = begin + sma_cluster_next(text, begin, NULL);
        if (end >= at)
            return begin;
        begin = end;
    }
}

unsigned sma_cluster_width(struct sma_str text)
{
    unsigned width = 0, own;
    for (size_t at = 0; at < text.len; width += own)
        at += sma_cluster_next(text, at, &own);
    return width;
}
