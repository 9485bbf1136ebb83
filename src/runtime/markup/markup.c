/* markup.c — the container of flat text and marks, and taking text as it is. See markup.h. */
#include "markup_priv.h"

#include "sma/text.h"

#include <stdlib.h>
#include <utf8proc.h>

#define REPLACEMENT SMA_STR("\xEF\xBF\xBD")

void sma_markup_init(struct sma_markup *markup)
{
    *markup = (struct sma_markup){0};
    sma_buf_init(&markup->text, SMA_MARKUP_TEXT_BYTES_MAX);
    sma_buf_init(&markup->details, SMA_MARKUP_TEXT_BYTES_MAX);
}

void sma_markup_fini(struct sma_markup *markup)
{
    sma_buf_fini(&markup->text);
    sma_buf_fini(&markup->details);
    free(markup->marks);
    *markup = (struct sma_markup){0};
}

void sma_markup_clear(struct sma_markup *markup)
{
    sma_buf_clear(&markup->text);
    sma_buf_clear(&markup->details);
    markup->mark_count = 0;
    markup->is_plain = false;
}

struct sma_mark *sma_markup_add(struct sma_markup *markup, enum sma_err *ret_err)
{
    if (markup->mark_count == SMA_MARKUP_COUNT_MAX) {
        *ret_err = SMA_ERR_TOOBIG;
        return NULL;
    }
    if (markup->mark_count == markup->mark_room) {
        uint32_t room = markup->mark_room == 0 ? 32 : markup->mark_room * 2;
        struct sma_mark *marks = realloc(markup->marks, room * sizeof *marks);
        if (marks == NULL) {
            *ret_err = SMA_ERR_NOMEM;
            return NULL;
        }
        markup->marks = marks;
        markup->mark_room = room;
    }
    return &markup->marks[markup->mark_count++];
}

void sma_markup_put_valid(struct sma_buf *buf, struct sma_str text, bool is_nul_bad)
{
    bool has_nul = is_nul_bad && text.len > 0 && memchr(text.ptr, '\0', text.len) != NULL;
    if (!has_nul && sma_utf8_is_valid(text)) {
        sma_buf_put_str(buf, text);
        return;
    }
    size_t good = 0; /* bytes before `at` that are not copied yet */
    for (size_t at = 0; at < text.len;) {
        utf8proc_int32_t code;
        utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                                (utf8proc_ssize_t)(text.len - at), &code);
        if (len > 0 && (code != 0 || !is_nul_bad)) {
            at += (size_t)len;
            good += (size_t)len;
            continue;
        }
        sma_buf_put(buf, text.ptr + at - good, good);
        sma_buf_put_str(buf, REPLACEMENT);
        good = 0;
        at++;
    }
    sma_buf_put(buf, text.ptr + text.len - good, good);
}

enum sma_err sma_markup_set_plain(struct sma_markup *markup, struct sma_str source)
{
    sma_markup_clear(markup);
    markup->is_plain = true;
    sma_markup_put_valid(&markup->text, source, true);
    return markup->text.err;
}

/* Nothing is seen of it: controls, spaces of every kind, joiners, direction marks, fillers. */
static bool is_code_blank(utf8proc_int32_t code)
{
    if (code <= 0x20 || (code >= 0x7F && code <= 0xA0))
        return true;
    switch (code) {
    case 0xAD:
    case 0x34F:
    case 0x61C:
    case 0x115F:
    case 0x1160:
    case 0x1680:
    case 0x17B4:
    case 0x17B5:
    case 0x180E:
    case 0x2800:
    case 0x3000:
    case 0x3164:
    case 0xFEFF:
    case 0xFFA0:
        return true;
    default:
        return (code >= 0x2000 && code <= 0x200F) || (code >= 0x2028 && code <= 0x202F) ||
               (code >= 0x205F && code <= 0x206F) || (code >= 0xFE00 && code <= 0xFE0F) ||
               (code >= 0xE0000 && code <= 0xE0FFF);
    }
}

bool sma_text_is_blank(struct sma_str text)
{
    for (size_t at = 0; at < text.len;) {
        utf8proc_int32_t code;
        utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                                (utf8proc_ssize_t)(text.len - at), &code);
        if (len <= 0 || !is_code_blank(code))
            return false; /* an invalid byte is shown as a replacement character */
        at += (size_t)len;
    }
    return true;
}
