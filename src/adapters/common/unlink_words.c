/* unlink_words.c — see unlink_words.h. */
#include "unlink_words.h"

#include "sma/notices.h"
#include "sma/text.h"

/* What stands for the dot of an address: people can read it, and nothing takes it for a link. A
 * full-width full stop would be one to whoever normalises addresses. */
#define DOT_CHINESE "点"
#define DOT_OTHERS "[.]"

static bool take_scheme(struct sma_str text, size_t *ret_len)
{
    static const char *const schemes[] = {"https://", "http://", "ftp://"};
    for (size_t i = 0; i < SMA_COUNT_OF(schemes); i++) {
        size_t len = strlen(schemes[i]);
        if (text.len > len &&
            sma_str_is_equal_nocase((struct sma_str){text.ptr, len}, sma_str(schemes[i]))) {
            *ret_len = len;
            return true;
        }
    }
    return false;
}

static bool is_label_byte(char byte)
{
    unsigned char lower = (unsigned char)byte | 0x20;
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == '-';
}

/* From `at` on: labels with dots between them. @return its end; *ret_is_name: it may be the name of
 * a host */
static size_t host_end(struct sma_str text, size_t at, bool *ret_is_name)
{
    size_t dot_count = 0, letter_count = 0, from = at;
    for (; at < text.len; at++) {
        bool is_dot = text.ptr[at] == '.' && at > from && is_label_byte(text.ptr[at - 1]) &&
                      at + 1 < text.len && is_label_byte(text.ptr[at + 1]);
        if (!is_dot && !is_label_byte(text.ptr[at]))
            break;
        dot_count += is_dot;
        letter_count = is_dot ? 0 : letter_count + (text.ptr[at] < '0' || text.ptr[at] > '9');
    }
    /* The last label of a name has letters; four numbers are an address. 3.14 and 1.2.3 are
     * neither. */
    *ret_is_name = dot_count > 0 && (letter_count >= 2 || dot_count == 3);
    return at;
}

/* Addresses without their scheme, the dots of their hosts written out; paths stay, so that people
 * can type them. */
void sma_adapter_put_unlinked(struct sma_buf *buf, struct sma_str text, struct sma_str language)
{
    bool is_chinese = sma_notice_language(SMA_LANGUAGE_AUTO, language, true) == SMA_LANGUAGE_ZH;
    size_t at = 0, scheme_len;
    while (at < text.len) {
        struct sma_str rest = {text.ptr + at, text.len - at};
        bool has_scheme = take_scheme(rest, &scheme_len), is_name;
        at += has_scheme ? scheme_len : 0;
        size_t end = host_end(text, at, &is_name);
        for (; at < end; at++) {
            if (text.ptr[at] == '.' && (is_name || has_scheme))
                sma_buf_put_text(buf, is_chinese ? DOT_CHINESE : DOT_OTHERS);
            else
                sma_buf_put_char(buf, text.ptr[at]);
        }
        bool is_foreign_dot = at > 0 && at + 1 < text.len && text.ptr[at] == '.' &&
                              (unsigned char)text.ptr[at - 1] >= 0x80 &&
                              is_label_byte(text.ptr[at + 1]); /* 例子.com */
        if (is_foreign_dot)
            sma_buf_put_text(buf, is_chinese ? DOT_CHINESE : DOT_OTHERS);
        else if (at < text.len && !has_scheme)
            sma_buf_put_char(buf, text.ptr[at]);
        at += at < text.len && (is_foreign_dot || !has_scheme);
    }
}
