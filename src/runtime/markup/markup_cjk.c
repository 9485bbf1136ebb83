/*
 * markup_cjk.c — emphasis beside Chinese, Japanese and Korean text.
 *
 * CommonMark decides by spaces and punctuation whether ** opens or closes. Text without spaces
 * defeats it: in "**注意：**这是" the second ** may not close, because it stands between punctuation and
 * a letter. Where one neighbour of a run of * is punctuation, the other a letter, and one of them
 * is of such a script, a punctuation sign that nobody uses is put on the letter's side: then the
 * run may open and close, and the nearest partner decides. The sign is taken out of everything md4c
 * gives back.
 */
#include "markup_priv.h"

#include <utf8proc.h>

static const char sign[] = "\xE2\xB8\xB1"; /* U+2E31 WORD SEPARATOR MIDDLE DOT */

static bool is_cjk(utf8proc_int32_t code)
{
    return (code >= 0x2E80 && code <= 0x9FFF) || (code >= 0xAC00 && code <= 0xD7A3) ||
           (code >= 0xF900 && code <= 0xFAFF) || (code >= 0xFE30 && code <= 0xFE4F) ||
           (code >= 0xFF00 && code <= 0xFFEF) || (code >= 0x20000 && code <= 0x3FFFF);
}

static bool is_space(utf8proc_int32_t code)
{
    return code <= ' ' || code == 0xA0 || utf8proc_category(code) == UTF8PROC_CATEGORY_ZS;
}

static bool is_punctuation(utf8proc_int32_t code)
{
    if (code < 0x80)
        return code > ' ' && code < 0x7F && !(code >= '0' && code <= '9') &&
               !((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
    utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

static utf8proc_int32_t code_at(struct sma_str text, size_t at)
{
    utf8proc_int32_t code = ' ';
    if (at < text.len && utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                          (utf8proc_ssize_t)(text.len - at), &code) <= 0)
        code = 0xFFFD;
    return code;
}

static utf8proc_int32_t code_before(struct sma_str text, size_t at)
{
    if (at == 0)
        return ' ';
    do
        at--;
    while (at > 0 && ((unsigned char)text.ptr[at] & 0xC0) == 0x80);
    return code_at(text, at);
}

/* Is emphasis beside such text possible at all? Most texts in other scripts end here. */
static bool may_need_signs(struct sma_str text)
{
    if (text.len == 0 || memchr(text.ptr, '*', text.len) == NULL)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0xE2)
            return memmem(text.ptr, text.len, sign, sizeof sign - 1) == NULL;
    return false;
}

bool sma_markup_put_signed(struct sma_buf *buf, struct sma_str text)
{
    if (!may_need_signs(text)) {
        sma_buf_put_str(buf, text);
        return false;
    }
    bool has_signs = false;
    size_t done = 0;
    const char *star;
    for (size_t at = 0;
         at < text.len && (star = memchr(text.ptr + at, '*', text.len - at)) != NULL;) {
        size_t from = (size_t)(star - text.ptr), to = from;
        while (to < text.len && text.ptr[to] == '*')
            to++;
        utf8proc_int32_t before = code_before(text, from), after = code_at(text, to);
        at = to;
        if ((!is_cjk(before) && !is_cjk(after)) || is_space(before) || is_space(after) ||
            is_punctuation(before) == is_punctuation(after))
            continue;
        size_t place = is_punctuation(before) ? to : from;
        sma_buf_put(buf, text.ptr + done, place - done);
        sma_buf_put(buf, sign, sizeof sign - 1);
        done = place;
        has_signs = true;
    }
    sma_buf_put(buf, text.ptr + done, text.len - done);
    return has_signs;
}

void sma_markup_put_unsigned(struct sma_buf *buf, struct sma_str text)
{
    const char *found;
    while (text.len > 0 && (found = memmem(text.ptr, text.len, sign, sizeof sign - 1)) != NULL) {
        size_t len = (size_t)(found - text.ptr);
        sma_buf_put(buf, text.ptr, len);
        text = (struct sma_str){found + sizeof sign - 1, text.len - len - (sizeof sign - 1)};
    }
    sma_buf_put_str(buf, text);
}
