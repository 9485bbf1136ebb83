/* charset.c — see charset.h. */
#include "page/charset.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define META_BYTES_MAX 4096
#define LABEL_BYTES_MAX 64
#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* clang-format off */
static const struct row { const char *label; const char *name; } rows[] = {
    {"utf-8", NULL}, {"utf8", NULL}, {"unicode-1-1-utf-8", NULL}, {"us-ascii", "CP1252"},
    {"ascii", "CP1252"}, {"iso-8859-1", "CP1252"}, {"latin1", "CP1252"}, {"cp1252", "CP1252"},
    {"windows-1252", "CP1252"},
    {"iso-8859-15", "ISO-8859-15"}, {"iso-8859-2", "ISO-8859-2"}, {"iso-8859-5", "ISO-8859-5"},
    {"iso-8859-7", "ISO-8859-7"}, {"iso-8859-9", "CP1254"}, {"windows-1250", "CP1250"},
    {"windows-1251", "CP1251"}, {"cp1251", "CP1251"}, {"windows-1253", "CP1253"},
    {"windows-1254", "CP1254"}, {"windows-1255", "CP1255"}, {"windows-1256", "CP1256"},
    {"windows-1257", "CP1257"}, {"windows-1258", "CP1258"}, {"windows-874", "CP874"},
    {"tis-620", "CP874"}, {"koi8-r", "KOI8-R"}, {"koi8-u", "KOI8-U"}, {"gb2312", "GB18030"},
    {"gbk", "GB18030"}, {"gb18030", "GB18030"}, {"x-gbk", "GB18030"}, {"gb_2312-80", "GB18030"},
    {"big5", "BIG5-HKSCS"}, {"big5-hkscs", "BIG5-HKSCS"}, {"shift_jis", "CP932"},
    {"shift-jis", "CP932"}, {"sjis", "CP932"}, {"windows-31j", "CP932"}, {"euc-jp", "EUC-JP-MS"},
    {"iso-2022-jp", "ISO-2022-JP"}, {"euc-kr", "CP949"}, {"ks_c_5601-1987", "CP949"},
    {"utf-16", "UTF-16LE"}, {"utf-16le", "UTF-16LE"}, {"utf-16be", "UTF-16BE"},
};
/* clang-format on */

static struct
{
    const char *name;
    iconv_t converter;
} loaded[COUNT_OF(rows)];
static size_t loaded_count;

static iconv_t find(const char *name)
{
    for (size_t i = 0; i < loaded_count; i++)
        if (strcmp(loaded[i].name, name) == 0)
            return loaded[i].converter;
    return (iconv_t)-1;
}

void sma_charset_load(void)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].name == NULL || find(rows[i].name) != (iconv_t)-1)
            continue;
        iconv_t converter = iconv_open("UTF-8", rows[i].name);
        if (converter == (iconv_t)-1)
            continue; /* a system without it: such pages are read as windows-1252 */
        loaded[loaded_count].name = rows[i].name;
        loaded[loaded_count++].converter = converter;
    }
}

/* -- which it is ------------------------------------------------------------------------------- */
/* Bytes of a valid UTF-8 sequence; 0: none begins here. */
static size_t sequence(const uint8_t *at, size_t len)
{
    if (at[0] < 0x80)
        return 1;
    size_t count = at[0] >= 0xc2 && at[0] <= 0xdf ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : 0;
    if (at[0] >= 0xf0 && at[0] <= 0xf4)
        count = 4;
    if (count == 0 || count > len)
        return 0;
    for (size_t i = 1; i < count; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return count;
}

/* The last of several sequences may have been cut. */
static bool is_utf8(const char *bytes, size_t len)
{
    bool has_sequence = false;
    for (size_t at = 0; at < len;) {
        size_t count = sequence((const uint8_t *)bytes + at, len - at);
        if (count == 0)
            return has_sequence && len - at < 4 && ((uint8_t)bytes[at] & 0xc0) == 0xc0;
        has_sequence = has_sequence || count > 1;
        at += count;
    }
    return true;
}

static const struct row *find_row(const char *label, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strlen(rows[i].label) == len && strncasecmp(rows[i].label, label, len) == 0)
            return &rows[i];
    return NULL;
}

static bool is_label_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '-' || byte == '_';
}

/* charset="..." of a <meta> near the beginning, both spellings of it. */
static const struct row *find_in_page(const char *bytes, size_t len)
{
    size_t most = len < META_BYTES_MAX ? len : META_BYTES_MAX;
    bool is_in_meta = false;
    for (size_t i = 0; i + 8 < most; i++) {
        if (strncasecmp(bytes + i, "<meta", 5) == 0)
            is_in_meta = true;
        if (bytes[i] == '>')
            is_in_meta = false;
        if (!is_in_meta || strncasecmp(bytes + i, "charset", 7) != 0)
            continue;
        size_t at = i + 7;
        while (at < most && (isspace((unsigned char)bytes[at]) || bytes[at] == '='))
            at++;
        if (at < most && (bytes[at] == '"' || bytes[at] == '\''))
            at++;
        size_t end = at;
        while (end < most && end - at < LABEL_BYTES_MAX && is_label_byte(bytes[end]))
            end++;
        const struct row *row = find_row(bytes + at, end - at);
        if (row != NULL) /* it could be read so far: it is no UTF-16 */
            return row->name != NULL && strncmp(row->name, "UTF-16", 6) == 0 ? &rows[0] : row;
    }
    return NULL;
}

/* NULL: UTF-8. */
static const char *choose(const char *bytes, size_t len, const char *label, bool is_html,
                          size_t *ret_skip)
{
    *ret_skip = 0;
    if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        *ret_skip = 3;
        return NULL;
    }
    if (len >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) {
        *ret_skip = 2;
        return bytes[0] == '\xff' ? "UTF-16LE" : "UTF-16BE";
    }
    const struct row *row = label == NULL ? NULL : find_row(label, strlen(label));
    if (row == NULL && is_html)
        row = find_in_page(bytes, len);
    if (row != NULL)
        return row->name;
    return is_utf8(bytes, len) ? NULL : "CP1252";
}

/* -- converted --------------------------------------------------------------------------------- */
static size_t put_replacement(char *out)
{
    memcpy(out, "\xef\xbf\xbd", 3);
    return 3;
}

static size_t copy_utf8(const char *bytes, size_t len, char *out)
{
    size_t done = 0;
    for (size_t at = 0; at < len;) {
        size_t count = sequence((const uint8_t *)bytes + at, len - at);
        if (count == 0) {
            done += put_replacement(out + done);
            at++;
            continue;
        }
        memcpy(out + done, bytes + at, count);
        done += count;
        at += count;
    }
    return done;
}

static size_t convert(iconv_t converter, char *bytes, size_t len, char *out, size_t room)
{
    char *at = out;
    (void)iconv(converter, NULL, NULL, NULL, NULL);
    while (len > 0) {
        size_t got = iconv(converter, &bytes, &len, &at, &room);
        if (got != (size_t)-1)
            break;
        if (errno == E2BIG || room < 3)
            break;                 /* there is room for the worst; then it is enough */
        at += put_replacement(at); /* EILSEQ; EINVAL: cut in a character */
        room -= 3;
        bytes++;
        len--;
    }
    (void)iconv(converter, NULL, NULL, &at, &room);
    return (size_t)(at - out);
}

char *sma_charset_to_utf8(const char *bytes, size_t len, const char *label, bool is_html,
                          size_t *ret_len)
{
    size_t skip;
    const char *name = choose(bytes, len, label, is_html, &skip);
    size_t room = (len - skip) * 4 + 16;
    char *out = malloc(room + 1), *copy;
    if (out == NULL)
        return NULL;
    iconv_t converter = name == NULL ? (iconv_t)-1 : find(name);
    size_t done = 0;
    if (converter == (iconv_t)-1) {
        done = copy_utf8(bytes + skip, len - skip, out);
    } else if (len > skip) {
        copy = malloc(len - skip); /* iconv does not say that it leaves its input as it is */
        if (copy == NULL) {
            free(out);
            return NULL;
        }
        memcpy(copy, bytes + skip, len - skip);
        done = convert(converter, copy, len - skip, out, room);
        free(copy);
    }
    for (size_t i = 0; i < done; i++)
        if (out[i] == '\0')
            out[i] = ' ';
    out[done] = '\0';
    *ret_len = done;
    return out;
}
